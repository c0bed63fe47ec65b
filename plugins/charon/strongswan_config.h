/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strongswan_config: stands in for the config.h that strongSwan's own configure makes, for those who
 * only read its headers. Some of its structs differ by these, so they say what Debian and Ubuntu
 * build with: mediation, IKEv1, IKEv2, libcap.
 */
#ifndef CW_STRONGSWAN_CONFIG_H
#define CW_STRONGSWAN_CONFIG_H

/* The headers ask for it. */
#define CONFIG_H_INCLUDED 1

#define ME 1
#define USE_IKEV1 1
#define USE_IKEV2 1
#define CAPABILITIES 1
#define CAPABILITIES_LIBCAP 1

/* Its log macros leave levels above this out; keys appear at 4. */
#define DEBUG_LEVEL 3

#define HAVE_ALLOCA_H 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_CLOSEFROM 1
#define HAVE_CONDATTR_CLOCK_MONOTONIC 1
#define HAVE_EXPLICIT_BZERO 1
#define HAVE_FMEMOPEN 1
#define HAVE_GCC_ATOMIC_OPERATIONS 1
#define HAVE_MEMRCHR 1
#define HAVE_PRINTF_SPECIFIER 1
#define HAVE_SIGWAITINFO 1
#define HAVE_STDBOOL_H 1
#define HAVE_SYS_PARAM_H 1

#endif
