# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that link libcw_conf.a also need libcw_base.a and $(CONFIG_LIBS).

noinst_LIBRARIES += libcw_conf.a
libcw_conf_a_SOURCES = \
	src/conf/conf.c \
	src/conf/conf.h \
	src/conf/conf_bgp.c \
	src/conf/conf_check.c \
	src/conf/conf_cross.c \
	src/conf/conf_int.h \
	src/conf/conf_print.c \
	src/conf/conf_read.c \
	src/conf/key.c \
	src/conf/key.h \
	src/conf/pool.c \
	src/conf/pool.h \
	src/conf/profile.c \
	src/conf/profile.h \
	src/conf/proposal.c \
	src/conf/proposal.h \
	src/conf/report.c \
	src/conf/report.h \
	src/conf/schema.c \
	src/conf/schema.h \
	src/conf/text.c \
	src/conf/text.h \
	src/conf/text_scan.c \
	src/conf/text_scan.h \
	src/conf/value.c \
	src/conf/value.h \
	src/conf/value_bgp.c \
	src/conf/value_read.c
libcw_conf_a_CPPFLAGS = $(AM_CPPFLAGS) $(CONFIG_CFLAGS)

# Golden files of the check, and the tables in the man page.
check_PROGRAMS += tests/conf/check_conf tests/conf/print_man
TESTS += tests/conf/run
EXTRA_DIST += tests/conf

tests_conf_check_conf_SOURCES = tests/conf/check_conf.c
tests_conf_check_conf_LDADD = libcw_conf.a libcw_base.a $(CONFIG_LIBS)

tests_conf_print_man_SOURCES = tests/conf/print_man.c
tests_conf_print_man_LDADD = libcw_conf.a libcw_base.a $(CONFIG_LIBS)

cw_conf_tests = \
	tests/unit/test_conf \
	tests/unit/test_proposal
check_PROGRAMS += $(cw_conf_tests)
TESTS += $(cw_conf_tests)

tests_unit_test_conf_SOURCES = tests/unit/test_conf.c
tests_unit_test_conf_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_conf_LDADD = libcw_conf.a libcw_base.a $(CONFIG_LIBS) $(CMOCKA_LIBS)

tests_unit_test_proposal_SOURCES = tests/unit/test_proposal.c
tests_unit_test_proposal_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_proposal_LDADD = libcw_conf.a libcw_base.a $(CONFIG_LIBS) $(CMOCKA_LIBS)
