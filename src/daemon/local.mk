# SPDX-License-Identifier: GPL-2.0-or-later

if WITH_CHARON
sbin_PROGRAMS += causewayd
causewayd_SOURCES = \
	src/daemon/gateway.c \
	src/daemon/gateway.h \
	src/daemon/gateway_link.c \
	src/daemon/gateway_order.c \
	src/daemon/gateway_priv.h \
	src/daemon/gateway_route.c \
	src/daemon/gateway_sample.c \
	src/daemon/gateway_try.c \
	src/daemon/gateway_view.c \
	src/daemon/gateway_work.c \
	src/daemon/main.c
causewayd_CPPFLAGS = $(AM_CPPFLAGS) -DCW_SYSCONFDIR='"$(sysconfdir)"'
causewayd_LDFLAGS = $(CW_CHARON_LINK)
causewayd_LDADD = \
	libcw_ctl.a \
	libcw_charon.a \
	libcw_nl.a \
	libcw_tunnel.a \
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
