# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that link libcw_conf.a also need libcw_base.a and $(CONFIG_LIBS).

noinst_LIBRARIES += libcw_conf.a
libcw_conf_a_SOURCES = \
	src/conf/conf.c \
	src/conf/conf.h \
	src/conf/conf_check.c \
	src/conf/conf_cross.c \
	src/conf/conf_int.h \
	src/conf/conf_print.c \
	src/conf/conf_read.c \
	src/conf/key.c \
	src/conf/key.h \
	src/conf/pool.c \
	src/conf/pool.h \
	src/conf/profile.c \
	src/conf/profile.h \
	src/conf/proposal.c \
	src/conf/proposal.h \
	src/conf/report.c \
	src/conf/report.h \
	src/conf/schema.c \
	src/conf/schema.h \
	src/conf/text.c \
	src/conf/text.h \
	src/conf/value.c \
	src/conf/value.h
libcw_conf_a_CPPFLAGS = $(AM_CPPFLAGS) $(CONFIG_CFLAGS)
