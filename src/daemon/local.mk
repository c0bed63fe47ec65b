# SPDX-License-Identifier: GPL-2.0-or-later

# BGP as the daemon runs it; by itself, so that it can be tried without tunnels.
noinst_LIBRARIES += libcw_speaker.a
libcw_speaker_a_SOURCES = \
	src/daemon/speaker.c \
	src/daemon/speaker.h \
	src/daemon/speaker_conn.c \
	src/daemon/speaker_mrt.c \
	src/daemon/speaker_priv.h \
	src/daemon/speaker_route.c \
	src/daemon/speaker_view.c

cw_gateway_sources = \
	src/daemon/gateway.c \
	src/daemon/gateway.h \
	src/daemon/gateway_bgp.c \
	src/daemon/gateway_link.c \
	src/daemon/gateway_order.c \
	src/daemon/gateway_priv.h \
	src/daemon/gateway_route.c \
	src/daemon/gateway_sample.c \
	src/daemon/gateway_try.c \
	src/daemon/gateway_view.c \
	src/daemon/gateway_way.c \
	src/daemon/gateway_work.c

# Between a kernel, an engine and a loop that the test has in its hand.
check_PROGRAMS += tests/unit/test_gateway
TESTS += tests/unit/test_gateway
tests_unit_test_gateway_SOURCES = tests/unit/test_gateway.c $(cw_gateway_sources)
tests_unit_test_gateway_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gateway_LDADD = \
	libcw_speaker.a \
	libcw_ctl.a \
	libcw_nl.a \
	libcw_tunnel.a \
	libcw_bgp.a \
	libcw_wire.a \
	libcw_conf.a \
	libcw_io.a \
	libcw_base.a \
	$(MNL_LIBS) \
	$(CONFIG_LIBS) \
	$(JANSSON_LIBS) \
	$(CMOCKA_LIBS) \
	-lpthread

if WITH_CHARON
sbin_PROGRAMS += causewayd
causewayd_SOURCES = $(cw_gateway_sources) src/daemon/main.c
causewayd_CPPFLAGS = $(AM_CPPFLAGS) -DCW_SYSCONFDIR='"$(sysconfdir)"'
causewayd_LDFLAGS = $(CW_CHARON_LINK)
causewayd_LDADD = \
	libcw_speaker.a \
	libcw_ctl.a \
	libcw_charon.a \
	libcw_nl.a \
	libcw_tunnel.a \
	libcw_bgp.a \
	libcw_wire.a \
	libcw_conf.a \
	libcw_io.a \
	libcw_base.a \
	$(CW_CHARON_LIBS) \
	$(MNL_LIBS) \
	$(CONFIG_LIBS) \
	$(JANSSON_LIBS) \
	$(CAPNG_LIBS) \
	-lpthread
endif
