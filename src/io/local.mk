# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_io.a
libcw_io_a_SOURCES =
