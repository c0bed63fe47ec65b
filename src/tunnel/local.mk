# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_tunnel.a
libcw_tunnel_a_SOURCES = \
	src/tunnel/backoff.c \
	src/tunnel/backoff.h \
	src/tunnel/cause.c \
	src/tunnel/cause.h \
	src/tunnel/ike_port.h \
	src/tunnel/kernel_port.h \
	src/tunnel/tunnel.c \
	src/tunnel/tunnel.h \
	src/tunnel/tunnel_fsm.c \
	src/tunnel/tunnel_hear.c \
	src/tunnel/tunnel_priv.h \
	src/tunnel/tunnel_sas.c \
	src/tunnel/tunnel_say.c \
	src/tunnel/tunnel_view.h
