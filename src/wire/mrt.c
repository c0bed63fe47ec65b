/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/mrt.h"

#include "wire/bgp_priv.h"

enum { /* RFC 6396 4 */
	TYPE_TABLE_DUMP_V2 = 13,
	TYPE_BGP4MP_ET = 17,
};

enum { /* RFC 6396 4.3 */
	PEER_INDEX_TABLE = 1,
	RIB_IPV4_UNICAST = 2,
	RIB_IPV6_UNICAST = 4,
};

enum { /* RFC 6396 4.4 */
	BGP4MP_MESSAGE = 1,
	BGP4MP_MESSAGE_AS4 = 4,
	BGP4MP_STATE_CHANGE_AS4 = 5,
	BGP4MP_MESSAGE_LOCAL = 6,
	BGP4MP_MESSAGE_AS4_LOCAL = 7,
};

/* RFC 6396 4.3.1 */
#define PEER_IPV6 0x01
#define PEER_AS4 0x02

#define HEAD_LEN 12
#define LEN_AT 8

static void put_head(struct cw_writer *w, uint32_t when_s, uint16_t type, uint16_t subtype)
{
	cw_put_u32(w, when_s);
	cw_put_u16(w, type);
	cw_put_u16(w, subtype);
	cw_put_u32(w, 0); /* length, which end() writes */
}

static size_t end(struct cw_writer *w)
{
	size_t n = cw_writer_len(w);

	if (!cw_writer_ok(w) || n - HEAD_LEN > UINT32_MAX)
		return 0;
	cw_patch_u16(w, LEN_AT, (uint16_t)((n - HEAD_LEN) >> 16));
	cw_patch_u16(w, LEN_AT + 2, (uint16_t)(n - HEAD_LEN));
	return n;
}

static void put_addr(struct cw_writer *w, const struct cw_addr *addr)
{
	cw_put_bytes(w, addr->bytes, cw_family_bits(addr->family) / 8);
}

/* ---- messages ---- */

static void put_session(struct cw_writer *w, struct cw_mrt_time when, uint16_t subtype, bool as4,
	const struct cw_mrt_session *session)
{
	bool six = session->peer.family == CW_FAMILY_IPV6;

	if (session->peer.family != session->local.family)
		w->failed = true;
	put_head(w, when.s, TYPE_BGP4MP_ET, subtype);
	cw_put_u32(w, when.us);
	if (as4) {
		cw_put_u32(w, session->peer_asn);
		cw_put_u32(w, session->local_asn);
	} else {
		cw_put_u16(w, session->peer_asn > UINT16_MAX ? CW_BGP_AS_TRANS
							     : (uint16_t)session->peer_asn);
		cw_put_u16(w, session->local_asn > UINT16_MAX ? CW_BGP_AS_TRANS
							      : (uint16_t)session->local_asn);
	}
	cw_put_u16(w, 0); /* no interface in particular */
	cw_put_u16(w, cw_bgp_afi(six ? CW_BGP_IPV6 : CW_BGP_IPV4));
	put_addr(w, &session->peer);
	put_addr(w, &session->local);
}

size_t cw_mrt_message(struct cw_mrt_time when, const struct cw_mrt_session *session, bool sent,
	struct cw_span message, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);
	uint16_t subtype;

	if (session->as4)
		subtype = sent ? BGP4MP_MESSAGE_AS4_LOCAL : BGP4MP_MESSAGE_AS4;
	else
		subtype = sent ? BGP4MP_MESSAGE_LOCAL : BGP4MP_MESSAGE;
	put_session(&w, when, subtype, session->as4, session);
	cw_put_bytes(&w, message.p, message.n);
	return end(&w);
}

size_t cw_mrt_state_change(struct cw_mrt_time when, const struct cw_mrt_session *session,
	enum cw_mrt_state from, enum cw_mrt_state to, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);

	put_session(&w, when, BGP4MP_STATE_CHANGE_AS4, true, session);
	cw_put_u16(&w, (uint16_t)from);
	cw_put_u16(&w, (uint16_t)to);
	return end(&w);
}

/* ---- tables ---- */

size_t cw_mrt_peer_index(uint32_t when_s, uint32_t collector_id, const char *view,
	const struct cw_mrt_peer *peers, size_t n_peers, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);
	size_t view_len = strlen(view);

	if (n_peers > UINT16_MAX || view_len > UINT16_MAX)
		return 0;
	put_head(&w, when_s, TYPE_TABLE_DUMP_V2, PEER_INDEX_TABLE);
	cw_put_u32(&w, collector_id);
	cw_put_u16(&w, (uint16_t)view_len);
	cw_put_bytes(&w, view, view_len);
	cw_put_u16(&w, (uint16_t)n_peers);
	for (size_t i = 0; i < n_peers; i++) {
		bool six = peers[i].addr.family == CW_FAMILY_IPV6;

		cw_put_u8(&w, six ? PEER_IPV6 | PEER_AS4 : PEER_AS4);
		cw_put_u32(&w, peers[i].id);
		/* A peer of no address, the gateway itself, is 0.0.0.0. */
		cw_put_bytes(&w, peers[i].addr.bytes, six ? 16 : 4);
		cw_put_u32(&w, peers[i].asn);
	}
	return end(&w);
}

void cw_mrt_rib_begin(struct cw_mrt_rib *rib, uint32_t when_s, uint32_t seq,
	const struct cw_prefix *prefix, uint8_t *buf, size_t size)
{
	bool six = prefix->addr.family == CW_FAMILY_IPV6;

	*rib = (struct cw_mrt_rib){ .w = cw_writer_of(buf, size) };
	put_head(&rib->w, when_s, TYPE_TABLE_DUMP_V2, six ? RIB_IPV6_UNICAST : RIB_IPV4_UNICAST);
	cw_put_u32(&rib->w, seq);
	cw_bgp_prefix_put(&rib->w, prefix);
	rib->count_at = cw_writer_len(&rib->w);
	cw_put_u16(&rib->w, 0);
}

/* NEXT_HOP, or MP_REACH_NLRI in the short form of RFC 6396 4.3.4: the next hop alone. */
static void put_next_hop(struct cw_writer *w, const struct cw_addr *next_hop)
{
	const uint8_t len = 16;

	if (next_hop->family == CW_FAMILY_IPV6) {
		cw_bgp_attr_put_header(w, CW_BGP_FLAG_OPTIONAL, CW_BGP_ATTR_MP_REACH, 1u + len);
		cw_put_u8(w, len);
	} else {
		cw_bgp_attr_put_header(w, CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_NEXT_HOP, 4);
	}
	put_addr(w, next_hop);
}

bool cw_mrt_rib_add(struct cw_mrt_rib *rib, uint16_t peer, uint32_t since_s, struct cw_span attrs,
	const struct cw_addr *next_hop)
{
	struct cw_writer w = rib->w;
	size_t len_at, n;

	cw_put_u16(&w, peer);
	cw_put_u32(&w, since_s);
	len_at = cw_writer_len(&w);
	cw_put_u16(&w, 0);
	if (next_hop->family != CW_FAMILY_NONE)
		put_next_hop(&w, next_hop);
	cw_put_bytes(&w, attrs.p, attrs.n);
	n = cw_writer_len(&w) - len_at - 2;
	if (!cw_writer_ok(&w) || n > UINT16_MAX || rib->n == UINT16_MAX)
		return false;
	cw_patch_u16(&w, len_at, (uint16_t)n);
	cw_patch_u16(&w, rib->count_at, ++rib->n);
	rib->w = w;
	return true;
}

size_t cw_mrt_rib_end(struct cw_mrt_rib *rib)
{
	return rib->n ? end(&rib->w) : 0;
}
