/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp_priv.h"
#include "wire/bgp_update.h"

#define SAFI_UNICAST 1
/* Always with the extended length: it is known when the last prefix is in. */
#define MP_FLAGS (CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_EXTENDED)

/* ---- attributes for a peer without 4-octet numbers, RFC 6793 4.2.2 ---- */

/* A confederation's segments are not asked: AS4_PATH has none. */
static bool fits_two_octets(struct cw_span path)
{
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;

	while (cw_bgp_segment_get(&c, 4, &segment)) {
		struct cw_cursor asns = cw_cursor_of(segment.asns);

		if (segment.type > CW_BGP_AS_SEQUENCE)
			continue;
		while (cw_cursor_left(&asns))
			if (cw_get_u32(&asns) > UINT16_MAX)
				return false;
	}
	return true;
}

static void put_path2(struct cw_writer *w, struct cw_span path)
{
	size_t at = cw_bgp_attr_begin(w, CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_AS_PATH);

	cw_bgp_path_convert(w, path, 4, 2);
	cw_bgp_attr_end(w, at);
}

/* All of the path but a confederation's segments, which stay out of AS4_PATH. */
static void put_as4_path(struct cw_writer *w, struct cw_span path)
{
	size_t at = cw_bgp_attr_begin(
		w, CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_AS4_PATH);
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;

	while (cw_bgp_segment_get(&c, 4, &segment)) {
		if (segment.type > CW_BGP_AS_SEQUENCE)
			continue;
		cw_put_u8(w, segment.type);
		cw_put_u8(w, segment.n);
		cw_put_bytes(w, segment.asns.p, segment.asns.n);
	}
	cw_bgp_attr_end(w, at);
}

struct as4_parts {
	struct cw_span path, aggregator; /* to be sent as AS4_PATH and AS4_AGGREGATOR; empty: not */
};

static void put_as4_parts(struct cw_writer *w, struct as4_parts *parts)
{
	if (parts->path.n)
		put_as4_path(w, parts->path);
	if (parts->aggregator.n)
		cw_bgp_attr_put(w, CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE,
			CW_BGP_ATTR_AS4_AGGREGATOR, parts->aggregator);
	*parts = (struct as4_parts){ 0 };
}

static void put_aggregator2(
	struct cw_writer *w, const struct cw_bgp_attr *attr, struct as4_parts *parts)
{
	struct cw_cursor c = cw_cursor_of(attr->value);
	uint32_t asn = cw_get_u32(&c);

	cw_bgp_attr_put_header(w, attr->flags, CW_BGP_ATTR_AGGREGATOR, 6);
	cw_put_u16(w, asn > UINT16_MAX ? CW_BGP_AS_TRANS : (uint16_t)asn);
	cw_put_u32(w, cw_get_u32(&c));
	if (asn > UINT16_MAX)
		parts->aggregator = attr->value;
}

/* The canonical attributes as this peer reads them, with NEXT_HOP where it belongs (NULL: not). */
static void put_attrs(struct cw_writer *w, const struct cw_bgp_codec *codec, struct cw_span attrs,
	const struct cw_addr *next_hop)
{
	struct cw_cursor c = cw_cursor_of(attrs);
	struct as4_parts parts = { 0 };
	struct cw_bgp_attr attr;
	bool more;

	do {
		more = cw_bgp_attr_get(&c, &attr) == CW_BGP_GET_ONE;
		if (next_hop && (!more || attr.type > CW_BGP_ATTR_NEXT_HOP)) {
			cw_bgp_attr_put(w, CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_NEXT_HOP,
				(struct cw_span){ .p = next_hop->bytes, .n = 4 });
			next_hop = NULL;
		}
		if (!more || attr.type > CW_BGP_ATTR_AS4_PATH)
			put_as4_parts(w, &parts);
		if (!more)
			break;
		if (codec->as4 ||
			(attr.type != CW_BGP_ATTR_AS_PATH && attr.type != CW_BGP_ATTR_AGGREGATOR)) {
			cw_put_bytes(w, attr.whole.p, attr.whole.n);
		} else if (attr.type == CW_BGP_ATTR_AGGREGATOR) {
			put_aggregator2(w, &attr, &parts);
		} else {
			put_path2(w, attr.value);
			if (!fits_two_octets(attr.value))
				parts.path = attr.value;
		}
	} while (more);
}

/* ---- messages ---- */

static size_t begin(struct cw_bgp_encoder *e, const struct cw_bgp_codec *codec,
	enum cw_bgp_family family, bool withdraw, uint8_t *buf)
{
	*e = (struct cw_bgp_encoder){
		.w = cw_writer_of(buf, codec->max), .family = family, .withdraw = withdraw
	};
	cw_bgp_header_put(&e->w, CW_BGP_UPDATE);
	e->withdrawn_len_at = cw_writer_len(&e->w);
	cw_put_u16(&e->w, 0);
	return cw_writer_len(&e->w);
}

/* The head of a multiprotocol attribute, up to the family. */
static void begin_mp(struct cw_bgp_encoder *e, uint8_t type)
{
	cw_put_u8(&e->w, MP_FLAGS);
	cw_put_u8(&e->w, type);
	e->mp_len_at = cw_writer_len(&e->w);
	cw_put_u16(&e->w, 0);
	cw_put_u16(&e->w, cw_bgp_afi(e->family));
	cw_put_u8(&e->w, SAFI_UNICAST);
}

/* Octets at the end of the buffer that no prefix may take. */
static void reserve(struct cw_bgp_encoder *e, size_t n)
{
	if (n > cw_writer_room(&e->w))
		e->w.failed = true;
	else
		e->w.end -= n;
}

enum cw_rc cw_bgp_encode_announce(struct cw_bgp_encoder *e, const struct cw_bgp_codec *codec,
	enum cw_bgp_family family, struct cw_span attrs, const struct cw_addr *next_hop,
	uint8_t *buf)
{
	unsigned bits = family == CW_BGP_IPV4 ? 32 : 128;

	e->attrs_len_at = begin(e, codec, family, false, buf);
	cw_put_u16(&e->w, 0);
	if (family == CW_BGP_IPV4 && next_hop->family == CW_FAMILY_IPV4) {
		size_t at = cw_writer_len(&e->w);

		put_attrs(&e->w, codec, attrs, next_hop);
		cw_patch_u16(&e->w, e->attrs_len_at, (uint16_t)(cw_writer_len(&e->w) - at));
	} else {
		size_t n = cw_family_bits(next_hop->family) / 8;
		struct cw_writer tail;

		begin_mp(e, CW_BGP_ATTR_MP_REACH);
		cw_put_u8(&e->w, (uint8_t)n);
		cw_put_bytes(&e->w, next_hop->bytes, n);
		cw_put_u8(&e->w, 0); /* reserved */
		/* MP_REACH_NLRI comes first (RFC 7606 5.1), so the others wait at the end of the
		 * buffer until its length is known. */
		tail = cw_writer_of(e->w.at, cw_writer_room(&e->w));
		put_attrs(&tail, codec, attrs, NULL);
		e->tail_len = cw_writer_len(&tail);
		if (!cw_writer_ok(&tail))
			e->w.failed = true;
		reserve(e, e->tail_len);
		if (cw_writer_ok(&e->w))
			memmove(e->w.end, e->w.at, e->tail_len);
	}
	if (cw_writer_room(&e->w) < cw_bgp_prefix_size((uint8_t)bits)) {
		e->w.failed = true;
		return CW_E_TOO_BIG;
	}
	return CW_OK;
}

void cw_bgp_encode_withdraw(struct cw_bgp_encoder *e, const struct cw_bgp_codec *codec,
	enum cw_bgp_family family, uint8_t *buf)
{
	size_t at = begin(e, codec, family, true, buf);

	if (family == CW_BGP_IPV4) {
		reserve(e, 2); /* the length of no attributes */
		return;
	}
	e->attrs_len_at = at;
	cw_put_u16(&e->w, 0);
	begin_mp(e, CW_BGP_ATTR_MP_UNREACH);
}

bool cw_bgp_encode_prefix(struct cw_bgp_encoder *e, const struct cw_prefix *prefix)
{
	if (cw_bgp_prefix_size(prefix->len) > cw_writer_room(&e->w))
		return false;
	cw_bgp_prefix_put(&e->w, prefix);
	e->any = true;
	return true;
}

size_t cw_bgp_encode_finish(struct cw_bgp_encoder *e)
{
	struct cw_writer *w = &e->w;

	if (!e->any || !cw_writer_ok(w))
		return 0;
	if (e->mp_len_at) {
		cw_patch_u16(w, e->mp_len_at, (uint16_t)(cw_writer_len(w) - e->mp_len_at - 2));
		memmove(w->at, w->end, e->tail_len);
		w->at += e->tail_len;
		w->end += e->tail_len;
		cw_patch_u16(
			w, e->attrs_len_at, (uint16_t)(cw_writer_len(w) - e->attrs_len_at - 2));
	} else if (e->withdraw) {
		cw_patch_u16(w, e->withdrawn_len_at,
			(uint16_t)(cw_writer_len(w) - e->withdrawn_len_at - 2));
		w->end += 2;
		cw_put_u16(w, 0);
	}
	return cw_bgp_message_end(w);
}

size_t cw_bgp_end_of_rib_encode(enum cw_bgp_family family, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);

	cw_bgp_header_put(&w, CW_BGP_UPDATE);
	cw_put_u16(&w, 0);
	if (family == CW_BGP_IPV4) {
		cw_put_u16(&w, 0);
	} else {
		cw_put_u16(&w, 6);
		cw_bgp_attr_put_header(&w, CW_BGP_FLAG_OPTIONAL, CW_BGP_ATTR_MP_UNREACH, 3);
		cw_put_u16(&w, cw_bgp_afi(family));
		cw_put_u8(&w, SAFI_UNICAST);
	}
	return cw_bgp_message_end(&w);
}
