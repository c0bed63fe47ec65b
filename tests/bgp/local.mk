# SPDX-License-Identifier: GPL-2.0-or-later

check_PROGRAMS += tests/bgp/speaker
tests_bgp_speaker_SOURCES = tests/bgp/speaker.c
tests_bgp_speaker_LDADD = \
	libcw_speaker.a \
	libcw_ctl.a \
	libcw_nl.a \
	libcw_bgp.a \
	libcw_wire.a \
	libcw_tunnel.a \
	libcw_conf.a \
	libcw_io.a \
	libcw_base.a \
	$(MNL_LIBS) \
	$(CONFIG_LIBS) \
	$(JANSSON_LIBS) \
	$(CAPNG_LIBS) \
	-lpthread
