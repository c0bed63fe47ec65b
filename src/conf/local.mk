# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_conf.a
libcw_conf_a_SOURCES =
libcw_conf_a_CPPFLAGS = $(AM_CPPFLAGS) $(CONFIG_CFLAGS)
