# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_base.a
libcw_base_a_SOURCES = \
	src/base/backoff.c \
	src/base/backoff.h \
	src/base/ipaddr.c \
	src/base/ipaddr.h \
	src/base/log.c \
	src/base/log.h \
	src/base/log_ids.h \
	src/base/name.h \
	src/base/rc.c \
	src/base/rc.h \
	src/base/secret.c \
	src/base/secret.h \
	src/base/span.h \
	src/base/time.h

cw_base_tests = \
	tests/unit/test_backoff \
	tests/unit/test_ipaddr \
	tests/unit/test_log \
	tests/unit/test_rc \
	tests/unit/test_secret
check_PROGRAMS += $(cw_base_tests)
TESTS += $(cw_base_tests)

tests_unit_test_backoff_SOURCES = tests/unit/test_backoff.c
tests_unit_test_backoff_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_backoff_LDADD = libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_ipaddr_SOURCES = tests/unit/test_ipaddr.c
tests_unit_test_ipaddr_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_ipaddr_LDADD = libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_log_SOURCES = tests/unit/test_log.c
tests_unit_test_log_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_log_LDADD = libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_rc_SOURCES = tests/unit/test_rc.c
tests_unit_test_rc_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_rc_LDADD = libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_secret_SOURCES = tests/unit/test_secret.c
tests_unit_test_secret_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_secret_LDADD = libcw_base.a $(CMOCKA_LIBS)
