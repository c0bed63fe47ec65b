# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_tunnel.a
libcw_tunnel_a_SOURCES = \
	src/tunnel/cause.c \
	src/tunnel/cause.h \
	src/tunnel/cover.c \
	src/tunnel/cover.h \
	src/tunnel/ike_port.h \
	src/tunnel/kernel_port.h \
	src/tunnel/tunnel.c \
	src/tunnel/tunnel.h \
	src/tunnel/tunnel_fsm.c \
	src/tunnel/tunnel_hear.c \
	src/tunnel/tunnel_priv.h \
	src/tunnel/tunnel_repair.c \
	src/tunnel/tunnel_sas.c \
	src/tunnel/tunnel_say.c \
	src/tunnel/tunnel_view.h

cw_tunnel_tests = \
	tests/sim/sim_pair \
	tests/unit/test_cause \
	tests/unit/test_cover \
	tests/unit/test_tunnel \
	tests/unit/test_tunnel_repair \
	tests/unit/test_tunnel_sas
check_PROGRAMS += $(cw_tunnel_tests)
TESTS += $(cw_tunnel_tests)

tests_unit_test_cause_SOURCES = tests/unit/test_cause.c
tests_unit_test_cause_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cause_LDADD = libcw_tunnel.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_cover_SOURCES = tests/unit/test_cover.c
tests_unit_test_cover_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cover_LDADD = libcw_tunnel.a libcw_base.a $(CMOCKA_LIBS)

cw_tunnel_rig = \
	tests/unit/tunnel_rig.c \
	tests/unit/tunnel_rig.h

tests_unit_test_tunnel_SOURCES = tests/unit/test_tunnel.c $(cw_tunnel_rig)
tests_unit_test_tunnel_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_tunnel_LDADD = libcw_tunnel.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_tunnel_repair_SOURCES = tests/unit/test_tunnel_repair.c $(cw_tunnel_rig)
tests_unit_test_tunnel_repair_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_tunnel_repair_LDADD = libcw_tunnel.a libcw_base.a $(CMOCKA_LIBS)

tests_unit_test_tunnel_sas_SOURCES = tests/unit/test_tunnel_sas.c $(cw_tunnel_rig)
tests_unit_test_tunnel_sas_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_unit_test_tunnel_sas_LDADD = libcw_tunnel.a libcw_base.a $(CMOCKA_LIBS)

# CW_SIM_SEEDS=N for more orders than the fixed ones, CW_SIM_SEED=S to be told the story of one.
tests_sim_sim_pair_SOURCES = \
	tests/fake/fake_ike.c \
	tests/fake/fake_ike.h \
	tests/fake/fake_ike_port.c \
	tests/fake/fake_ike_priv.h \
	tests/fake/fake_world.c \
	tests/fake/fake_world.h \
	tests/sim/sim.h \
	tests/sim/sim_check.c \
	tests/sim/sim_host.c \
	tests/sim/sim_lost.c \
	tests/sim/sim_pair.c
tests_sim_sim_pair_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_sim_sim_pair_LDADD = libcw_tunnel.a libcw_base.a
