# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_base.a
libcw_base_a_SOURCES = \
	src/base/ipaddr.c \
	src/base/ipaddr.h \
	src/base/log.c \
	src/base/log.h \
	src/base/log_ids.h \
	src/base/name.h \
	src/base/rc.c \
	src/base/rc.h \
	src/base/secret.c \
	src/base/secret.h \
	src/base/time.h
