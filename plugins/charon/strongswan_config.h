/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strongswan_config: stands in for the config.h that strongSwan's own configure
 * makes. Its headers read it, and some of their structs change with it, so it
 * must say what the distribution's build of libcharon said. The compiler takes
 * it in before anything else (-include), in plugins/charon alone. VERSION comes
 * from our configure, which checks that headers and libraries are of one version.
 */
#ifndef CW_CHARON_STRONGSWAN_CONFIG_H
#define CW_CHARON_STRONGSWAN_CONFIG_H

#include <features.h>

/* library.h refuses to go on without it. */
#define CONFIG_H_INCLUDED		1

/* Debian and Ubuntu configure with these. ME and USE_IKEV1 change structs:
 * ike_sa_t, peer_cfg_t and child_cfg_t have members and methods more. */
#define ME				1
#define USE_IKEV1			1
#define USE_IKEV2			1
#define CAPABILITIES			1
#define CAPABILITIES_LIBCAP		1

/* What any Linux with glibc has, as far as the headers ask. Without the two
 * on atomics, ref_get() would be a function that libstrongswan does not have. */
#define HAVE_GCC_ATOMIC_OPERATIONS	1
#define HAVE_GCC_SYNC_OPERATIONS	1
#define HAVE_ALLOCA_H			1
#define HAVE_CLOCK_GETTIME		1
#define HAVE_CONDATTR_CLOCK_MONOTONIC	1
#define HAVE_EXPLICIT_BZERO		1
#define HAVE_FMEMOPEN			1
#define HAVE_MEMRCHR			1
#define HAVE_SIGWAITINFO		1
#define HAVE_STDBOOL_H			1
#define HAVE__BOOL			1
#define HAVE_SYS_PARAM_H		1

/* closefrom(3) came with glibc 2.34; declared again it would clash. */
#if __GLIBC_PREREQ(2, 34)
#define HAVE_CLOSEFROM			1
#endif

#ifdef __SIZEOF_INT128__
#define HAVE_INT128			1
#endif

#endif
