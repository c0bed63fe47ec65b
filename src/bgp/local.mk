# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_bgp.a
libcw_bgp_a_SOURCES = \
	src/bgp/bgp_cause.c \
	src/bgp/bgp_conn.c \
	src/bgp/bgp_decide.c \
	src/bgp/bgp_decide.h \
	src/bgp/bgp_fsm.c \
	src/bgp/bgp_open.c \
	src/bgp/bgp_order.c \
	src/bgp/bgp_out.c \
	src/bgp/bgp_out.h \
	src/bgp/bgp_out_entry.c \
	src/bgp/bgp_out_map.c \
	src/bgp/bgp_out_priv.h \
	src/bgp/bgp_peer.c \
	src/bgp/bgp_peer.h \
	src/bgp/bgp_peer_conf.c \
	src/bgp/bgp_peer_conf.h \
	src/bgp/bgp_peer_priv.h \
	src/bgp/bgp_peer_view.h \
	src/bgp/bgp_policy.c \
	src/bgp/bgp_policy.h \
	src/bgp/bgp_restart.c \
	src/bgp/bgp_rib.c \
	src/bgp/bgp_rib.h \
	src/bgp/bgp_rib_entry.c \
	src/bgp/bgp_rib_priv.h \
	src/bgp/bgp_rib_sweep.c \
	src/bgp/bgp_say.c \
	src/bgp/bgp_store.c \
	src/bgp/bgp_store.h \
	src/bgp/bgp_table.c \
	src/bgp/bgp_table.h

cw_bgp_policy_tests = tests/unit/test_bgp_policy
check_PROGRAMS += $(cw_bgp_policy_tests)
TESTS += $(cw_bgp_policy_tests)

tests_unit_test_bgp_policy_SOURCES = tests/unit/test_bgp_policy.c
tests_unit_test_bgp_policy_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bgp_policy_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)
