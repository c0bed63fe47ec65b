/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AS paths: what is in them, between two and four octets, and the notation for people.
 */
#include <stdio.h>

#include "wire/bgp_priv.h"

bool cw_bgp_segment_get(struct cw_cursor *c, size_t width, struct cw_bgp_segment *ret_segment)
{
	struct cw_bgp_segment segment;

	if (c->failed || cw_cursor_left(c) == 0)
		return false;
	segment.type = cw_get_u8(c);
	segment.n = cw_get_u8(c);
	segment.asns = cw_get_span(c, segment.n * width);
	if (c->failed)
		return false;
	*ret_segment = segment;
	return true;
}

/* AS numbers of a segment as decision counts them. */
static unsigned units_of(const struct cw_bgp_segment *segment)
{
	switch (segment->type) {
	case CW_BGP_AS_SEQUENCE:
		return segment->n;
	case CW_BGP_AS_SET:
		return 1;
	default:
		return 0;
	}
}

static bool is_confed(uint8_t type)
{
	return type == CW_BGP_AS_CONFED_SEQUENCE || type == CW_BGP_AS_CONFED_SET;
}

const char *cw_bgp_path_fault(struct cw_span path, size_t width, bool external)
{
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;

	while (cw_bgp_segment_get(&c, width, &segment)) {
		struct cw_cursor asns = cw_cursor_of(segment.asns);

		if (segment.type < CW_BGP_AS_SET || segment.type > CW_BGP_AS_CONFED_SET)
			return "a path segment of no known type";
		if (external && is_confed(segment.type)) /* RFC 5065 5 */
			return "a confederation's path segment from outside of it";
		if (segment.n == 0)
			return "an empty path segment";
		while (cw_cursor_left(&asns))
			if (cw_bgp_asn_get(&asns, width) == 0)
				return "AS 0 in the path";
	}
	return cw_cursor_ok(&c) ? NULL : "a path segment is longer than the attribute";
}

unsigned cw_bgp_path_units(struct cw_span path, size_t width)
{
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;
	unsigned n = 0;

	while (cw_bgp_segment_get(&c, width, &segment))
		n += units_of(&segment);
	return n;
}

static void put_asn(struct cw_writer *w, uint32_t asn, size_t width)
{
	if (width == 4)
		cw_put_u32(w, asn);
	else
		cw_put_u16(w, asn > UINT16_MAX ? CW_BGP_AS_TRANS : (uint16_t)asn);
}

/* The first n numbers of a segment as a segment of its own. */
static void put_segment(struct cw_writer *w, const struct cw_bgp_segment *segment, uint8_t n,
	size_t from, size_t to)
{
	struct cw_cursor asns = cw_cursor_of(segment->asns);

	cw_put_u8(w, segment->type);
	cw_put_u8(w, n);
	for (unsigned i = 0; i < n; i++)
		put_asn(w, cw_bgp_asn_get(&asns, from), to);
}

void cw_bgp_path_convert(struct cw_writer *w, struct cw_span path, size_t from, size_t to)
{
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;

	if (from == to) {
		cw_put_bytes(w, path.p, path.n);
		return;
	}
	while (cw_bgp_segment_get(&c, from, &segment))
		put_segment(w, &segment, segment.n, from, to);
}

/* The next segment of AS4_PATH; a confederation's are discarded (RFC 6793 6). */
static bool as4_segment_get(struct cw_cursor *c, struct cw_bgp_segment *ret_segment)
{
	while (cw_bgp_segment_get(c, 4, ret_segment))
		if (!is_confed(ret_segment->type))
			return true;
	return false;
}

void cw_bgp_path_merge(struct cw_writer *w, struct cw_span path2, struct cw_span as4_path)
{
	struct cw_cursor c = cw_cursor_of(path2), c4 = cw_cursor_of(as4_path);
	unsigned have = cw_bgp_path_units(path2, 2), have4 = cw_bgp_path_units(as4_path, 4), lead;
	struct cw_bgp_segment segment, segment4;
	size_t head_at;

	if (have < have4) { /* made up by somebody in between: as if it were not there */
		cw_bgp_path_convert(w, path2, 2, 4);
		return;
	}
	/* The leading part is what old speakers have prepended. A confederation's segments count
	 * nothing, and go along when they lead or stand next to what is taken. */
	for (lead = have - have4; cw_bgp_segment_get(&c, 2, &segment); lead -= units_of(&segment)) {
		if (units_of(&segment) > lead)
			break;
		put_segment(w, &segment, segment.n, 2, 4);
	}
	/* Where it ends within a sequence, the rest of that comes from AS4_PATH, as one with it. */
	if (lead && cw_cursor_ok(&c)) {
		head_at = cw_writer_len(w);
		put_segment(w, &segment, (uint8_t)lead, 2, 4);
		if (as4_segment_get(&c4, &segment4)) {
			if (segment4.type == CW_BGP_AS_SEQUENCE &&
				lead + segment4.n <= CW_BGP_SEGMENT_MAX && cw_writer_ok(w)) {
				w->start[head_at + 1] = (uint8_t)(lead + segment4.n);
				cw_put_bytes(w, segment4.asns.p, segment4.asns.n);
			} else {
				put_segment(w, &segment4, segment4.n, 4, 4);
			}
		}
	}
	while (as4_segment_get(&c4, &segment4))
		put_segment(w, &segment4, segment4.n, 4, 4);
}

/* ---- questions about a canonical path ---- */

unsigned cw_bgp_path_count(struct cw_span as_path, uint32_t asn)
{
	struct cw_cursor c = cw_cursor_of(as_path);
	struct cw_bgp_segment segment;
	unsigned n = 0;

	while (cw_bgp_segment_get(&c, 4, &segment)) {
		struct cw_cursor asns = cw_cursor_of(segment.asns);

		while (cw_cursor_left(&asns))
			n += cw_get_u32(&asns) == asn;
	}
	return n;
}

bool cw_bgp_path_has(struct cw_span as_path, uint32_t asn)
{
	return cw_bgp_path_count(as_path, asn) > 0;
}

/* ---- for people ---- */

static const struct {
	const char *open, *between, *close;
} marks[] = {
	[CW_BGP_AS_SET] = { .open = "{", .between = " ", .close = "}" },
	[CW_BGP_AS_SEQUENCE] = { .open = "", .between = " ", .close = "" },
	[CW_BGP_AS_CONFED_SEQUENCE] = { .open = "(", .between = " ", .close = ")" },
	[CW_BGP_AS_CONFED_SET] = { .open = "[", .between = " ", .close = "]" },
};

const char *cw_bgp_path_print(struct cw_span as_path, char *buf, size_t size)
{
	struct cw_bgp_text text = cw_bgp_text_of(buf, size);
	struct cw_cursor c = cw_cursor_of(as_path);
	struct cw_bgp_segment segment;
	const char *before = "";

	while (cw_bgp_segment_get(&c, 4, &segment)) {
		struct cw_cursor asns = cw_cursor_of(segment.asns);
		unsigned mark = segment.type <= CW_BGP_AS_CONFED_SET ? segment.type : 0;
		const char *between = marks[mark].open ? marks[mark].open : "?";

		while (cw_cursor_left(&asns)) {
			cw_bgp_text_add(&text, "%s%s%u", before, between, cw_get_u32(&asns));
			before = "";
			between = " ";
		}
		if (marks[mark].close)
			cw_bgp_text_add(&text, "%s", marks[mark].close);
		before = " ";
	}
	return buf;
}
