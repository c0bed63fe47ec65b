# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_tunnel.a
libcw_tunnel_a_SOURCES =
