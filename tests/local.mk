# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests stand in the fragment of the folder they test. Here: the lints
# and the tests of the tools, which run once, in the plain build.

cw_lints = \
	tests/lint/clock \
	tests/lint/dist \
	tests/lint/includes \
	tests/lint/man \
	tests/lint/shell \
	tests/lint/spdx \
	tests/lint/symbols \
	tests/lint/words

if !SANITIZE
TESTS += $(cw_lints) tests/tools/test-hardening tests/tools/test-tally tests/tools/test-unit
endif

EXTRA_DIST += \
	$(cw_lints) \
	tests/lint/lint.py \
	tests/bench \
	tests/demo \
	tests/fuzz \
	tests/interop \
	tests/lab \
	tests/system \
	tests/tools/build \
	tests/tools/check \
	tests/tools/common.sh \
	tests/tools/deps \
	tests/tools/tally \
	tests/tools/test-hardening \
	tests/tools/test-tally \
	tests/tools/test-unit

# Folders are distributed whole; what an interpreter left in them is not.
dist-hook:
	find $(distdir) -name __pycache__ -prune -exec rm -rf {} +
