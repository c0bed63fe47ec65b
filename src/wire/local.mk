# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_wire.a
libcw_wire_a_SOURCES = \
	src/wire/bgp.c \
	src/wire/bgp.h \
	src/wire/bgp_attr.c \
	src/wire/bgp_attr.h \
	src/wire/bgp_attr_edit.c \
	src/wire/bgp_caps.c \
	src/wire/bgp_caps.h \
	src/wire/bgp_encode.c \
	src/wire/bgp_msg.c \
	src/wire/bgp_msg.h \
	src/wire/bgp_path.c \
	src/wire/bgp_priv.h \
	src/wire/bgp_update.c \
	src/wire/bgp_update.h
