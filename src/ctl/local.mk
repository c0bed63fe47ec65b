# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_ctl.a
libcw_ctl_a_SOURCES =
