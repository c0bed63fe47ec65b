/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * charon_compat: libcharon's headers, and the only place that asks for its version.
 *
 * VERSION comes from the build: it is the version of the libraries found by configure, whose headers
 * these are. Built and run with 5.9.8 (Debian 12).
 */
#ifndef CW_CHARON_COMPAT_H
#define CW_CHARON_COMPAT_H

#include <daemon.h>
#include <library.h>

#include <bus/listeners/listener.h>
#include <bus/listeners/logger.h>
#include <config/backend.h>
#include <config/child_cfg.h>
#include <config/ike_cfg.h>
#include <config/peer_cfg.h>
#include <credentials/credential_set.h>
#include <credentials/keys/shared_key.h>
#include <encoding/message.h>
#include <encoding/payloads/delete_payload.h>
#include <encoding/payloads/ke_payload.h>
#include <encoding/payloads/notify_payload.h>
#include <encoding/payloads/sa_payload.h>
#include <kernel/kernel_ipsec.h>
#include <processing/jobs/callback_job.h>
#include <sa/child_sa.h>
#include <sa/ike_sa.h>

#ifndef VERSION
#error VERSION must hold the version of strongSwan whose headers are used
#endif

/* The struct that embeds one of libcharon's interfaces. */
#define CW_OUTER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
