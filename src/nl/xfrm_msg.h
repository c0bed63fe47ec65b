/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfrm_msg: XFRM messages built and parsed in memory.
 *
 * Build functions write one whole message into the caller's buffer and return its length, or 0 when
 * it does not fit or the object can't be told to the kernel (families that differ, an algorithm or
 * key length that does not exist). Sequence number and ack flag are the sender's business
 * (nl_sock). A buffer that held an SA has keys in it: the caller wipes it.
 *
 * Parse functions take one message and return false when it is not what they read, is cut short or
 * makes no sense; attributes that they don't know are passed over.
 *
 * Pure: no socket, no clock, no allocation; any thread. Formats: linux/xfrm.h.
 */
#ifndef CW_NL_XFRM_MSG_H
#define CW_NL_XFRM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/kernel_port.h"

#define CW_XFRM_MSG_MAX 2048 /* room for any message that is built here */

/* The kernel's longest replay window, in packets (XFRMA_REPLAY_ESN_MAX). */
#define CW_XFRM_WINDOW_MAX 4096u

/* An SA as the kernel tells it. Kernels that don't keep the time of the last use (6.1 does not)
 * tell that of the first in stats.last_use_s; the counters show whether it was used since.
 * sa.inbound is unknown to it and false; the key pointers point into the message. An algorithm that
 * we have no row for is CW_ENC_NONE or CW_INTEG_NONE. */
struct cw_xfrm_state {
	struct cw_sa sa;
	struct cw_sa_stats stats;
	uint8_t proto; /* 50: ESP */
	bool larval;   /* an SPI or an acquire without keys yet */
};

struct cw_xfrm_pol {
	struct cw_policy policy;
	uint64_t last_use_s;
	bool socket; /* belongs to one socket, not to the host */
	bool tagged; /* carries the mark of ours that a policy without template has */
};

struct cw_xfrm_move {
	struct cw_addr src, dst;
	bool encap;
	uint16_t sport, dport;
	/* Sequence numbers that an outbound SA leaves out: what it may have sent after it was read.
	 * None is ever used twice, which RFC 4303 2.2 demands and GCM's safety rests on. */
	uint32_t skip;
};

/* Which of ours is it? By if_id, by mark (VTI), by reqid. */
bool cw_xfrm_id_ours(uint32_t if_id);
bool cw_xfrm_reqid_ours(uint32_t reqid);
bool cw_xfrm_state_ours(const struct cw_xfrm_state *state);
bool cw_xfrm_policy_ours(const struct cw_xfrm_pol *pol);

/* ---- SAs ---- */

size_t cw_xfrm_build_allocspi(const struct cw_addr *src, const struct cw_addr *dst, uint32_t reqid,
	uint32_t min, uint32_t max, void *buf, size_t size);

/* Gives an SPI to a larval entry that has none, as an acquire leaves one, so that it can be named
 * and deleted: an ALLOCSPI that fits it in everything finds it and makes no other. */
size_t cw_xfrm_build_claim(
	const struct cw_xfrm_state *larval, uint32_t min, uint32_t max, void *buf, size_t size);

/* update: fill the larval entry of the SPI, else add. window: sa->replay_window or what replaces
 * it. */
size_t cw_xfrm_build_sa(
	const struct cw_sa *sa, bool update, uint32_t window, void *buf, size_t size);
size_t cw_xfrm_build_delsa(const struct cw_sa_key *key, void *buf, size_t size);
size_t cw_xfrm_build_getsa(const struct cw_sa_key *key, void *buf, size_t size);
size_t cw_xfrm_build_sa_dump(void *buf, size_t size);

/* From an answer to GETSA: the same SA at other addresses or ports, with its keys, lifetimes,
 * counters, replay state and every attribute, known or not. update: the kernel's entry keeps its
 * addresses and only takes the ports. 0 also when the kernel does not show the keys (lockdown). */
size_t cw_xfrm_build_moved(const void *got, size_t got_len, const struct cw_xfrm_move *move,
	bool update, void *buf, size_t size);

bool cw_xfrm_parse_sa(const void *msg, size_t len, struct cw_xfrm_state *ret_state);

/* ---- policies ---- */

/* update: replace an existing one, else an existing one is an error. */
size_t cw_xfrm_build_policy(const struct cw_policy *policy, bool update, void *buf, size_t size);
size_t cw_xfrm_build_delpolicy(const struct cw_policy *policy, void *buf, size_t size);
size_t cw_xfrm_build_getpolicy(const struct cw_policy *policy, void *buf, size_t size);
size_t cw_xfrm_build_policy_dump(void *buf, size_t size);
bool cw_xfrm_parse_policy(const void *msg, size_t len, struct cw_xfrm_pol *ret_pol);

/* ---- events ---- */

/* ACQUIRE, EXPIRE or MAPPING. ret_if_id: of the SA or policy, 0 where the message has none. */
bool cw_xfrm_parse_event(
	const void *msg, size_t len, struct cw_kernel_event *ret_ev, uint32_t *ret_if_id);

#endif
