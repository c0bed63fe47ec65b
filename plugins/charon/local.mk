# SPDX-License-Identifier: GPL-2.0-or-later
# The one place that sees strongSwan's headers. They are system headers to the
# compiler, since their warnings are not ours to fix.

CW_CHARON_CPPFLAGS = $(AM_CPPFLAGS) \
	-include $(top_srcdir)/plugins/charon/strongswan_config.h \
	-DVERSION='"$(STRONGSWAN_VERSION)"' \
	-isystem $(STRONGSWAN_SOURCE)/src/libstrongswan \
	-isystem $(STRONGSWAN_SOURCE)/src/libcharon
CW_CHARON_LIBS = \
	$(STRONGSWAN_LIBDIR)/libcharon.so.0 \
	$(STRONGSWAN_LIBDIR)/libstrongswan.so.0
CW_CHARON_LINK = $(AM_LDFLAGS) -Wl,-rpath,$(STRONGSWAN_LIBDIR)

EXTRA_DIST += plugins/charon/strongswan_config.h

if WITH_CHARON
noinst_LIBRARIES += libcw_charon.a
libcw_charon_a_SOURCES = \
	plugins/charon/charon_alert.c \
	plugins/charon/charon_alive.c \
	plugins/charon/charon_blame.c \
	plugins/charon/charon_clock.c \
	plugins/charon/charon_compat.h \
	plugins/charon/charon_conf.c \
	plugins/charon/charon_creds.c \
	plugins/charon/charon_job.c \
	plugins/charon/charon_kernel.c \
	plugins/charon/charon_listener.c \
	plugins/charon/charon_log.c \
	plugins/charon/charon_mend.c \
	plugins/charon/charon_message.c \
	plugins/charon/charon_message_v1.c \
	plugins/charon/charon_orders.c \
	plugins/charon/charon_policy.c \
	plugins/charon/charon_pair.c \
	plugins/charon/charon_poll.c \
	plugins/charon/charon_ports.c \
	plugins/charon/charon_priv.h \
	plugins/charon/charon_roam.c \
	plugins/charon/charon_sas.c \
	plugins/charon/charon_version.c \
	plugins/charon/charon_view.c \
	plugins/charon/charon_watch.c \
	plugins/charon/cw_charon.c \
	plugins/charon/cw_charon.h
libcw_charon_a_CPPFLAGS = $(CW_CHARON_CPPFLAGS)
# strongSwan takes names and literals as char *, and does not write to them.
libcw_charon_a_CFLAGS = $(AM_CFLAGS) -Wno-write-strings

# Two engines against each other in network namespaces.
check_PROGRAMS += tests/charon/ike_pair
tests_charon_ike_pair_SOURCES = \
	tests/charon/case_alive.c \
	tests/charon/case_end.c \
	tests/charon/case_move.c \
	tests/charon/case_pairs.c \
	tests/charon/case_refused.c \
	tests/charon/case_rekey.c \
	tests/charon/case_up.c \
	tests/charon/fake_kernel.c \
	tests/charon/fake_kernel.h \
	tests/charon/ike_pair.c \
	tests/charon/lose.c \
	tests/charon/lose.h \
	tests/charon/pair.c \
	tests/charon/pair.h \
	tests/charon/side.c \
	tests/charon/side.h
tests_charon_ike_pair_CPPFLAGS = $(CW_CHARON_CPPFLAGS)
tests_charon_ike_pair_LDFLAGS = $(CW_CHARON_LINK)
tests_charon_ike_pair_LDADD = \
	libcw_charon.a \
	libcw_conf.a \
	libcw_io.a \
	libcw_base.a \
	$(CW_CHARON_LIBS) \
	$(CONFIG_LIBS) \
	-lpthread
TESTS += tests/charon/run
endif

EXTRA_DIST += tests/charon/run
