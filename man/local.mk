# SPDX-License-Identifier: GPL-2.0-or-later

dist_man_MANS += man/causeway.conf.5 man/causewayctl.8 man/causewayd.8
