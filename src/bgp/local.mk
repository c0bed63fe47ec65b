# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_bgp.a
libcw_bgp_a_SOURCES = \
	src/bgp/bgp_decide.h \
	src/bgp/bgp_out.h \
	src/bgp/bgp_policy.c \
	src/bgp/bgp_policy.h \
	src/bgp/bgp_rib.h \
	src/bgp/bgp_store.h \
	src/bgp/bgp_table.h
