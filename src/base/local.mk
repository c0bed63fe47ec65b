# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_base.a
libcw_base_a_SOURCES =
