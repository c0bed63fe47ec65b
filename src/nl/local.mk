# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_nl.a
libcw_nl_a_SOURCES = \
	src/nl/fib.c \
	src/nl/fib.h \
	src/nl/fib_dead.c \
	src/nl/fib_event.c \
	src/nl/fib_group.c \
	src/nl/fib_priv.h \
	src/nl/fib_sync.c \
	src/nl/fib_table.c \
	src/nl/fib_table.h \
	src/nl/kernel.c \
	src/nl/kernel.h \
	src/nl/kernel_addr.c \
	src/nl/kernel_clean.c \
	src/nl/kernel_event.c \
	src/nl/kernel_link.c \
	src/nl/kernel_look.c \
	src/nl/kernel_move.c \
	src/nl/kernel_policy.c \
	src/nl/kernel_priv.h \
	src/nl/kernel_probe.c \
	src/nl/kernel_proc.c \
	src/nl/kernel_route.c \
	src/nl/kernel_sa.c \
	src/nl/kernel_way.c \
	src/nl/link_msg.c \
	src/nl/nexthop_msg.c \
	src/nl/nexthop_msg.h \
	src/nl/nl_buf.c \
	src/nl/nl_buf.h \
	src/nl/nl_sock.c \
	src/nl/nl_sock.h \
	src/nl/route_msg.c \
	src/nl/route_msg.h \
	src/nl/xfrm_algo.c \
	src/nl/xfrm_algo.h \
	src/nl/xfrm_event.c \
	src/nl/xfrm_move.c \
	src/nl/xfrm_msg.c \
	src/nl/xfrm_msg.h \
	src/nl/xfrm_policy_msg.c \
	src/nl/xfrm_wire.c \
	src/nl/xfrm_wire.h
libcw_nl_a_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)

cw_nl_tests = \
	tests/unit/test_fib_table \
	tests/unit/test_kernel_sa \
	tests/unit/test_nexthop_msg \
	tests/unit/test_nl_sock \
	tests/unit/test_route_msg \
	tests/unit/test_xfrm_msg
check_PROGRAMS += $(cw_nl_tests)
TESTS += $(cw_nl_tests)

cw_nl_test_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(MNL_CFLAGS)
cw_nl_test_libs = libcw_nl.a libcw_base.a $(MNL_LIBS) $(CMOCKA_LIBS)

tests_unit_test_fib_table_SOURCES = tests/unit/test_fib_table.c
tests_unit_test_fib_table_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_fib_table_LDADD = $(cw_nl_test_libs)

tests_unit_test_nexthop_msg_SOURCES = tests/unit/test_nexthop_msg.c tests/unit/vector.c tests/unit/vector.h
tests_unit_test_nexthop_msg_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_nexthop_msg_LDADD = $(cw_nl_test_libs)

tests_unit_test_kernel_sa_SOURCES = tests/unit/test_kernel_sa.c
tests_unit_test_kernel_sa_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_kernel_sa_LDADD = $(cw_nl_test_libs)

# Errors that a socket pair can't make are put in the place of recvmsg(2).
tests_unit_test_nl_sock_SOURCES = tests/unit/test_nl_sock.c
tests_unit_test_nl_sock_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_nl_sock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=recvmsg
tests_unit_test_nl_sock_LDADD = $(cw_nl_test_libs)

tests_unit_test_route_msg_SOURCES = tests/unit/test_route_msg.c tests/unit/vector.c tests/unit/vector.h
tests_unit_test_route_msg_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_route_msg_LDADD = $(cw_nl_test_libs)

tests_unit_test_xfrm_msg_SOURCES = tests/unit/test_xfrm_msg.c tests/unit/vector.c tests/unit/vector.h
tests_unit_test_xfrm_msg_CPPFLAGS = $(cw_nl_test_cppflags)
tests_unit_test_xfrm_msg_LDADD = $(cw_nl_test_libs)

# Exercises the whole port on a real kernel; tests/system/110-kernel-nl.py runs it in guests.
check_PROGRAMS += tests/nl/test_kernel
tests_nl_test_kernel_SOURCES = \
	tests/nl/check.c \
	tests/nl/check.h \
	tests/nl/test_kernel.c \
	tests/nl/test_kernel_links.c \
	tests/nl/test_kernel_sas.c
tests_nl_test_kernel_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
tests_nl_test_kernel_LDADD = libcw_nl.a libcw_base.a $(MNL_LIBS)

# Learned routes need nothing that this machine's kernel lacks, but a network namespace.
check_PROGRAMS += tests/nl/test_fib
TESTS += tests/nl/test_fib
check_PROGRAMS += tests/nl/bench_fib
tests_nl_bench_fib_SOURCES = tests/nl/bench_fib.c tests/nl/check.c tests/nl/check.h
tests_nl_bench_fib_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
tests_nl_bench_fib_LDADD = libcw_nl.a libcw_base.a $(MNL_LIBS)
tests_nl_test_fib_SOURCES = tests/nl/check.c tests/nl/check.h tests/nl/test_fib.c
tests_nl_test_fib_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
tests_nl_test_fib_LDADD = libcw_nl.a libcw_base.a $(MNL_LIBS)

EXTRA_DIST += \
	tests/vectors/route \
	tests/vectors/xfrm
