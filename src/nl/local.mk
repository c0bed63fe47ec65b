# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_nl.a
libcw_nl_a_SOURCES =
libcw_nl_a_CPPFLAGS = $(AM_CPPFLAGS) $(MNL_CFLAGS)
