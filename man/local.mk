# SPDX-License-Identifier: GPL-2.0-or-later

dist_man_MANS += man/causewayd.8
