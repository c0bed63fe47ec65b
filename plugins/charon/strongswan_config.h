/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CW_STRONGSWAN_CONFIG_H
#define CW_STRONGSWAN_CONFIG_H

/* strongswan_config: stands in for the config.h that strongSwan's own configure
 * would make. Its headers read it, and some of their structs change with it, so
 * it must say what the distribution's build of libcharon said: Debian and
 * Ubuntu configure with mediation, IKEv1, IKEv2 and libcap. The compiler takes
 * it in before anything else (-include) in plugins/charon alone; VERSION comes
 * from configure, which checks that headers and libraries are of one version. */

#define ME			1	/* ike_sa_t, peer_cfg_t: mediation fields */
#define USE_IKEV1		1
#define USE_IKEV2		1
#define CAPABILITIES		1
#define CAPABILITIES_LIBCAP	1

#define HAVE_DLADDR		1
#define HAVE_BACKTRACE		1
#define HAVE_CLOCK_GETTIME	1
#define HAVE_CONDATTR_CLOCK_MONOTONIC 1
#define HAVE_PTHREAD_SPIN_INIT	1
#define HAVE_PTHREAD_CONDATTR_INIT 1
#define HAVE_SEM_TIMEDWAIT	1
#define HAVE_PRCTL		1
#define HAVE_GETTID		1
#define HAVE_STDBOOL_H		1
#define HAVE_SYS_PARAM_H	1
#define HAVE_NETINET_IP6_H	1
#define HAVE_IN6ADDR_ANY	1
#define HAVE_IN6_PKTINFO	1
#define HAVE_STRUCT_SADB_X_POLICY_SADB_X_POLICY_PRIORITY 1
#define HAVE_LINUX_FIB_RULES_H	1
#define HAVE_ASPRINTF		1

/* strongSwan's <utils/types.h> guards its own with these. */
#define HAVE_INT8_T		1

#define PLUGINDIR		"/usr/lib/ipsec/plugins"

#endif
