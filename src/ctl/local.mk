# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_ctl.a
libcw_ctl_a_SOURCES = \
	src/ctl/ctl.h \
	src/ctl/ctl_bgp.c \
	src/ctl/ctl_bgp.h \
	src/ctl/ctl_request.c \
	src/ctl/ctl_request.h \
	src/ctl/ctl_server.c \
	src/ctl/ctl_show.c \
	src/ctl/ctl_show.h
libcw_ctl_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

cw_ctl_tests = \
	tests/unit/test_ctl_bgp \
	tests/unit/test_ctl_request \
	tests/unit/test_ctl_server \
	tests/unit/test_ctl_show
check_PROGRAMS += $(cw_ctl_tests)
TESTS += $(cw_ctl_tests)
cw_ctl_test_libs = libcw_ctl.a libcw_io.a libcw_tunnel.a libcw_bgp.a libcw_wire.a libcw_base.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_ctl_bgp_SOURCES = \
	tests/unit/test_ctl_bgp.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_ctl_bgp_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ctl_bgp_LDADD = $(cw_ctl_test_libs)

tests_unit_test_ctl_request_SOURCES = \
	tests/unit/test_ctl_request.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_ctl_request_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ctl_request_LDADD = $(cw_ctl_test_libs)

tests_unit_test_ctl_server_SOURCES = \
	tests/unit/test_ctl_server.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_ctl_server_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ctl_server_LDADD = $(cw_ctl_test_libs)

tests_unit_test_ctl_show_SOURCES = \
	tests/unit/test_ctl_show.c \
	tests/unit/ctl_sample.c \
	tests/unit/ctl_sample.h
tests_unit_test_ctl_show_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ctl_show_LDADD = $(cw_ctl_test_libs)
