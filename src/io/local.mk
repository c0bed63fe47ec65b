# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_io.a
libcw_io_a_SOURCES = \
	src/io/loop.c \
	src/io/loop.h \
	src/io/mailbox.c \
	src/io/mailbox.h
libcw_io_a_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(CAPNG_CFLAGS)

cw_io_tests = \
	tests/unit/test_loop \
	tests/unit/test_mailbox
check_PROGRAMS += $(cw_io_tests)
TESTS += $(cw_io_tests)

tests_unit_test_loop_SOURCES = tests/unit/test_loop.c
tests_unit_test_loop_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(CMOCKA_CFLAGS)
tests_unit_test_loop_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_mailbox_SOURCES = tests/unit/test_mailbox.c
tests_unit_test_mailbox_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mailbox_LDADD = libcw_io.a libcw_base.a $(CMOCKA_LIBS)
