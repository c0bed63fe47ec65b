/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cw_charon: libcharon as the IKE engine behind ike_port.h. No type of libcharon shows here.
 *
 * One per process, since libcharon is full of globals. cw_charon_start() and ops->stop() are called
 * by the same thread; the other orders by the loop thread. libcharon runs on threads of its own with
 * every signal blocked. It reads no file: neither strongswan.conf nor strongswan.d, and no variable
 * of the environment.
 *
 * Letters in the mailbox are struct cw_ike_event. What the events say beyond ike_port.h:
 * - An IKE_SA that never came up ends with one FAILED (is_child false). A CHILD_SA that could not be
 *   made on an IKE_SA that is up, or in the exchange that brought it up, is one FAILED with is_child.
 *   After the latter the IKE_SA stays, without a child.
 * - IKE_DOWN and CHILD_DOWN caused by an order have by_us set and cause NONE, at stop STOPPING.
 * - An IKE_SA that was replaced by a rekey (IKE_REKEYED named it as old_id) ends silently, and so does a
 *   replaced CHILD_SA. An IKEv1 reauthentication is told as IKE_REKEYED too.
 * - FAILED with by_us false and a tunnel whose identity was not proved yet is matched by address: with
 *   two tunnels to one address it may name the other one.
 * - INITIAL_CONTACT is told after the peer proved its identity, right after IKE_UP.
 *
 * Selector pairs (CW_SEL_NETWORKS): for each gateway network in the order given, for each network of
 * the site of the same family, one CHILD_SA; numbered from 0 in this order. CW_SEL_ANY is 0.0.0.0/0,
 * and ::/0 beside it when a network or the inside address of the config is IPv6; with IKEv1 0.0.0.0/0
 * alone, since a Quick Mode has one selector a side.
 *
 * Time limits. libcharon has one retransmission setting for everything, so its own giving up is put an
 * hour away and the limits are kept here, by a watch on each request that is waiting for its
 * answer: an attempt of ours ends attempt_ms after it began; an established peer is dead when a
 * request is unanswered for the tunnel's dpd_timeout_s and nothing else came from it meanwhile; the
 * answer to a DELETE is awaited attempt_ms. Retransmissions go on at most retransmit_limit_s apart,
 * so a path that comes back is used within that time.
 */
#ifndef CW_CHARON_CW_CHARON_H
#define CW_CHARON_CW_CHARON_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/rc.h"

struct cw_ike;
struct cw_kernel;
struct cw_mailbox;

struct cw_charon_options {
	unsigned threads;	    /* of libcharon's pool; at least 6: five are bound to fixed work */
	uint16_t port, port_nat_t;  /* UDP; 500 and 4500 */
	enum cw_log_level log_level; /* NOTICE or above: libcharon is silent; INFO: its steps; DEBUG: more */
	uint32_t attempt_ms;	    /* from the first message of an attempt to its end */
	uint32_t retransmit_ms;	    /* wait before the first retransmission */
	double retransmit_base;	    /* each further wait is this much longer */
	uint32_t retransmit_limit_s; /* longest wait between two */
	uint32_t keepalive_s;	    /* NAT keepalives, RFC 3948 2.3; 0: none */
	uint32_t half_open_s;	    /* a peer that began must have finished by then */
	uint32_t cookie_threshold;  /* half-open IKE_SAs before cookies are asked for, RFC 7296 2.6 */
};

#define CW_CHARON_OPTIONS_DEFAULT                                                              \
	((struct cw_charon_options){                                                           \
		.threads = 16,                                                                 \
		.port = 500,                                                                   \
		.port_nat_t = 4500,                                                            \
		.log_level = CW_LOG_NOTICE,                                                    \
		.attempt_ms = 12000,                                                           \
		.retransmit_ms = 1000,                                                         \
		.retransmit_base = 1.6,                                                        \
		.retransmit_limit_s = 4,                                                       \
		.keepalive_s = 20,                                                             \
		.half_open_s = 30,                                                             \
		.cookie_threshold = 100,                                                       \
	})

/*
 * Are both UDP ports free? Changes nothing; to be asked before anything of an earlier run is cleared away.
 * cw_charon_start() asks again. Its errors are CW_E_BUSY, CW_E_DENIED and those of cw_rc_from_errno(), with
 * a sentence in reterr.
 */
enum cw_rc cw_charon_ports_check(uint16_t port, uint16_t port_nat_t, char *reterr, size_t size);

/*
 * Makes the engine, which works from ops->begin on. kernel and box are borrowed and must outlive it.
 *
 * Returns CW_OK with *ret_ike (ended by ops->stop), or
 * CW_E_BUSY	another program holds a UDP port (reterr names it where /proc tells),
 * CW_E_UNSUPPORTED	the libraries are of another version than the headers that this was built with,
 * CW_E_DENIED	a port may not be bound,
 * CW_E_EXISTS	an engine runs in this process already,
 * CW_E_SYSTEM, CW_E_NO_MEMORY.
 * On failure reterr has a sentence for people.
 */
enum cw_rc cw_charon_start(const struct cw_charon_options *opt, struct cw_kernel *kernel,
			   struct cw_mailbox *box, struct cw_ike **ret_ike, char *reterr, size_t size);

#endif
