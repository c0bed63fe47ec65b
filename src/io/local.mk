# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_io.a
libcw_io_a_SOURCES = \
	src/io/device.c \
	src/io/device.h \
	src/io/loop.c \
	src/io/loop.h \
	src/io/mailbox.c \
	src/io/mailbox.h \
	src/io/notify.c \
	src/io/notify.h \
	src/io/priv.c \
	src/io/priv.h \
	src/io/resolve.c \
	src/io/resolve.h \
	src/io/sockaddr.c \
	src/io/sockaddr.h \
	src/io/source.c \
	src/io/source.h \
	src/io/tcp.c \
	src/io/tcp.h
libcw_io_a_CPPFLAGS = $(AM_CPPFLAGS) $(CAPNG_CFLAGS)

cw_io_tests = \
	tests/unit/test_loop \
	tests/unit/test_mailbox \
	tests/unit/test_notify \
	tests/unit/test_priv \
	tests/unit/test_resolve \
	tests/unit/test_source \
	tests/unit/test_tcp
check_PROGRAMS += $(cw_io_tests)
TESTS += $(cw_io_tests)

tests_unit_test_loop_SOURCES = tests/unit/test_loop.c
tests_unit_test_loop_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_loop_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_mailbox_SOURCES = tests/unit/test_mailbox.c
tests_unit_test_mailbox_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mailbox_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_notify_SOURCES = tests/unit/test_notify.c
tests_unit_test_notify_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_notify_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_priv_SOURCES = tests/unit/test_priv.c
tests_unit_test_priv_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(CAPNG_CFLAGS)
tests_unit_test_priv_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS) $(CAPNG_LIBS)

tests_unit_test_resolve_SOURCES = tests/unit/test_resolve.c
tests_unit_test_resolve_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_resolve_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_source_SOURCES = tests/unit/test_source.c
tests_unit_test_source_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_source_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_tcp_SOURCES = tests/unit/test_tcp.c
tests_unit_test_tcp_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tcp_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)
