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
	src/bgp/bgp_route_view.h \
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

# The session. CW_SIM_SEEDS=N and CW_SIM_SEED=S as with sim_pair.
cw_bgp_session_tests = \
	tests/sim/sim_bgp \
	tests/unit/test_bgp_fsm \
	tests/unit/test_bgp_restart \
	tests/unit/test_bgp_session
check_PROGRAMS += $(cw_bgp_session_tests)
TESTS += $(cw_bgp_session_tests)

cw_bgp_rig = \
	tests/unit/bgp_rig.c \
	tests/unit/bgp_rig.h

cw_bgp_world = \
	tests/sim/bgp_world.c \
	tests/sim/bgp_world.h

tests_sim_sim_bgp_SOURCES = tests/sim/sim_bgp.c $(cw_bgp_world)
tests_sim_sim_bgp_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_sim_sim_bgp_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a

tests_unit_test_bgp_fsm_SOURCES = tests/unit/test_bgp_fsm.c $(cw_bgp_rig)
tests_unit_test_bgp_fsm_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_bgp_fsm_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_restart_SOURCES = tests/unit/test_bgp_restart.c $(cw_bgp_rig) $(cw_bgp_world)
tests_unit_test_bgp_restart_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_bgp_restart_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_session_SOURCES = tests/unit/test_bgp_session.c $(cw_bgp_rig) $(cw_bgp_world)
tests_unit_test_bgp_session_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_bgp_session_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

# Tables: what is stored, chosen and told.
cw_bgp_table_tests = \
	tests/unit/test_bgp_decide \
	tests/unit/test_bgp_out \
	tests/unit/test_bgp_rib \
	tests/unit/test_bgp_store \
	tests/unit/test_bgp_table
check_PROGRAMS += $(cw_bgp_table_tests)
TESTS += $(cw_bgp_table_tests)

tests_unit_test_bgp_decide_SOURCES = tests/unit/test_bgp_decide.c
tests_unit_test_bgp_decide_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bgp_decide_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_out_SOURCES = tests/unit/test_bgp_out.c
tests_unit_test_bgp_out_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bgp_out_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_rib_SOURCES = \
	tests/unit/rib_story.c \
	tests/unit/rib_story.h \
	tests/unit/test_bgp_rib.c
tests_unit_test_bgp_rib_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_bgp_rib_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_store_SOURCES = tests/unit/test_bgp_store.c
tests_unit_test_bgp_store_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bgp_store_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_bgp_table_SOURCES = tests/unit/test_bgp_table.c
tests_unit_test_bgp_table_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bgp_table_LDADD = libcw_bgp.a libcw_base.a $(CMOCKA_LIBS)

# Measures, and judges nothing: make bench-bgp-tables
EXTRA_PROGRAMS = tests/bench/bgp_tables
CLEANFILES += tests/bench/bgp_tables
tests_bench_bgp_tables_SOURCES = tests/bench/bgp_tables.c
tests_bench_bgp_tables_LDADD = libcw_bgp.a libcw_wire.a libcw_base.a

bench-bgp-tables: tests/bench/bgp_tables
	tests/bench/bgp_tables
.PHONY: bench-bgp-tables
