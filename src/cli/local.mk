# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_cli.a
libcw_cli_a_SOURCES = \
	src/cli/ctl_client.c \
	src/cli/ctl_client.h \
	src/cli/dump_mrt.c \
	src/cli/dump_mrt.h \
	src/cli/show_bgp.c \
	src/cli/show_bgp.h \
	src/cli/show_common.c \
	src/cli/show_detail.c \
	src/cli/show_overview.c \
	src/cli/show_priv.h \
	src/cli/show_routes.c \
	src/cli/show_status.h \
	src/cli/text.c \
	src/cli/text.h
libcw_cli_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

sbin_PROGRAMS += causewayctl
causewayctl_SOURCES = src/cli/causewayctl.c
causewayctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
causewayctl_LDADD = libcw_cli.a libcw_wire.a libcw_base.a $(JANSSON_LIBS)

cw_cli_tests = \
	tests/unit/test_causewayctl \
	tests/unit/test_show_bgp \
	tests/unit/test_show_status
check_PROGRAMS += $(cw_cli_tests)
TESTS += $(cw_cli_tests)

tests_unit_test_causewayctl_SOURCES = \
	tests/unit/test_causewayctl.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_causewayctl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_causewayctl_LDADD = $(cw_ctl_test_libs)

tests_unit_test_show_bgp_SOURCES = \
	tests/unit/test_show_bgp.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_show_bgp_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_show_bgp_LDADD = libcw_cli.a $(cw_ctl_test_libs)

tests_unit_test_show_status_SOURCES = tests/unit/test_show_status.c
tests_unit_test_show_status_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_show_status_LDADD = libcw_cli.a libcw_base.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

EXTRA_DIST += \
	tests/vectors/cli/azure-weu.txt \
	tests/vectors/cli/bgp-azure-weu-1.txt \
	tests/vectors/cli/bgp-azure-weu-2.txt \
	tests/vectors/cli/bgp-branch.txt \
	tests/vectors/cli/bgp-color.txt \
	tests/vectors/cli/bgp.txt \
	tests/vectors/cli/branch.txt \
	tests/vectors/cli/lab.txt \
	tests/vectors/cli/oldsite.txt \
	tests/vectors/cli/overview-color.txt \
	tests/vectors/cli/overview.txt \
	tests/vectors/cli/routes.txt \
	tests/vectors/cli/status.json
