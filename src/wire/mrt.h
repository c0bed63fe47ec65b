/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mrt: records of BGP messages and tables for other tools to read, RFC 6396.
 *
 * Each function writes one record with its header and returns its length, 0 where it does not fit.
 * Nothing is read back. Time is the wall clock's, since 1970; the caller has it.
 */
#ifndef CW_WIRE_MRT_H
#define CW_WIRE_MRT_H

#include "wire/bgp_update.h"

struct cw_mrt_time {
	uint32_t s, us;
};

/* One session, as every record of its messages names it. */
struct cw_mrt_session {
	uint32_t peer_asn, local_asn;
	struct cw_addr peer, local; /* of one family */
	bool as4;                   /* agreed: says how wide the numbers in the message are */
};

enum cw_mrt_state { /* RFC 6396 4.4.1 */
	CW_MRT_IDLE = 1,
	CW_MRT_CONNECT = 2,
	CW_MRT_ACTIVE = 3,
	CW_MRT_OPEN_SENT = 4,
	CW_MRT_OPEN_CONFIRM = 5,
	CW_MRT_ESTABLISHED = 6,
};

/* Room that a record takes beyond the message in it. */
#define CW_MRT_MESSAGE_HEAD_MAX 64

/* BGP4MP_ET, MESSAGE_AS4 (MESSAGE where the session has 2-octet numbers). message: whole, with its
 * header. sent: by us, for the _LOCAL kinds of RFC 6396 4.4.4. */
size_t cw_mrt_message(struct cw_mrt_time when, const struct cw_mrt_session *session, bool sent,
	struct cw_span message, uint8_t *buf, size_t size);

/* BGP4MP_ET, STATE_CHANGE_AS4. */
size_t cw_mrt_state_change(struct cw_mrt_time when, const struct cw_mrt_session *session,
	enum cw_mrt_state from, enum cw_mrt_state to, uint8_t *buf, size_t size);

struct cw_mrt_peer {
	uint32_t id; /* BGP identifier, host order */
	uint32_t asn;
	struct cw_addr addr;
};

/* TABLE_DUMP_V2, PEER_INDEX_TABLE: the first record of a table; its entries name peers by their
 * place here. */
size_t cw_mrt_peer_index(uint32_t when_s, uint32_t collector_id, const char *view,
	const struct cw_mrt_peer *peers, size_t n_peers, uint8_t *buf, size_t size);

/* TABLE_DUMP_V2, RIB_IPV4_UNICAST or RIB_IPV6_UNICAST: one prefix with its paths. */
struct cw_mrt_rib {
	struct cw_writer w;
	size_t count_at; /* private */
	uint16_t n;
};

/* seq: 0, 1, 2 … over the records of a table. */
void cw_mrt_rib_begin(struct cw_mrt_rib *rib, uint32_t when_s, uint32_t seq,
	const struct cw_prefix *prefix, uint8_t *buf, size_t size);
/* attrs: canonical. since_s: when the path came. False, and nothing is added: it does not fit. */
bool cw_mrt_rib_add(struct cw_mrt_rib *rib, uint16_t peer, uint32_t since_s, struct cw_span attrs,
	const struct cw_addr *next_hop);
/* 0 where there is no path in it, too. */
size_t cw_mrt_rib_end(struct cw_mrt_rib *rib);

#endif
