/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp_attr.h"

#include <stdarg.h>
#include <stdio.h>

#include "wire/bgp_priv.h"

#define WELL_KNOWN CW_BGP_FLAG_TRANSITIVE
#define OPTIONAL CW_BGP_FLAG_OPTIONAL
#define OPTIONAL_TRANSITIVE (CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE)

/* Least and most octets, and what the length is a multiple of. */
#define OCTETS(n) (n), (n), 1
#define AT_LEAST(n, unit) (n), UINT16_MAX, (unit)
#define LIST_OF(n) AT_LEAST((n), (n))

#define DISCARD CW_BGP_DISCARD
#define WITHDRAW CW_BGP_WITHDRAW
#define RESET CW_BGP_RESET
#define BAD_OPTIONAL CW_BGP_UPDATE_BAD_OPTIONAL

/*
 * Each row with its section of RFC 7606, or the RFC of the attribute. 3 c there is the verdict on
 * flags; those of MP_REACH_NLRI and MP_UNREACH_NLRI are the framing of routes. Lengths are those of
 * the canonical form.
 */
/* clang-format off */
static const struct cw_bgp_attr_rule rules[] = {
	/* name, flags, only from inside, length, as 2 octets, bad flags, bad value, its subcode */
	[CW_BGP_ATTR_ORIGIN] = { "ORIGIN", /* 7.1 */
		WELL_KNOWN, false, OCTETS(1), 0, WITHDRAW, WITHDRAW, CW_BGP_UPDATE_BAD_ORIGIN },
	[CW_BGP_ATTR_AS_PATH] = { "AS_PATH", /* 7.2, RFC 7607 */
		WELL_KNOWN, false, AT_LEAST(0, 1), 0, WITHDRAW, WITHDRAW, CW_BGP_UPDATE_BAD_AS_PATH },
	[CW_BGP_ATTR_NEXT_HOP] = { "NEXT_HOP", /* 7.3 */
		WELL_KNOWN, false, OCTETS(4), 0, WITHDRAW, WITHDRAW, CW_BGP_UPDATE_BAD_NEXT_HOP },
	[CW_BGP_ATTR_MED] = { "MULTI_EXIT_DISC", /* 7.4 */
		OPTIONAL, false, OCTETS(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_LOCAL_PREF] = { "LOCAL_PREF", /* 7.5 */
		WELL_KNOWN, true, OCTETS(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_ATOMIC_AGGREGATE] = { "ATOMIC_AGGREGATE", /* 7.6 */
		WELL_KNOWN, false, OCTETS(0), 0, WITHDRAW, DISCARD, BAD_OPTIONAL },
	[CW_BGP_ATTR_AGGREGATOR] = { "AGGREGATOR", /* 7.7, RFC 7607 */
		OPTIONAL_TRANSITIVE, false, OCTETS(8), 6, WITHDRAW, DISCARD, BAD_OPTIONAL },
	[CW_BGP_ATTR_COMMUNITIES] = { "COMMUNITIES", /* 7.8 */
		OPTIONAL_TRANSITIVE, false, LIST_OF(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_ORIGINATOR_ID] = { "ORIGINATOR_ID", /* 7.9 */
		OPTIONAL, true, OCTETS(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_CLUSTER_LIST] = { "CLUSTER_LIST", /* 7.10 */
		OPTIONAL, true, LIST_OF(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_MP_REACH] = { "MP_REACH_NLRI", /* 5.3, 7.11 */
		OPTIONAL, false, AT_LEAST(5, 1), 0, RESET, RESET, BAD_OPTIONAL },
	[CW_BGP_ATTR_MP_UNREACH] = { "MP_UNREACH_NLRI", /* 5.3, 7.12 */
		OPTIONAL, false, AT_LEAST(3, 1), 0, RESET, RESET, BAD_OPTIONAL },
	[CW_BGP_ATTR_EXT_COMMUNITIES] = { "EXTENDED COMMUNITIES", /* 7.14 */
		OPTIONAL_TRANSITIVE, false, LIST_OF(8), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_AS4_PATH] = { "AS4_PATH", /* RFC 6793 6 */
		OPTIONAL_TRANSITIVE, false, AT_LEAST(6, 2), 0, WITHDRAW, DISCARD, BAD_OPTIONAL },
	[CW_BGP_ATTR_AS4_AGGREGATOR] = { "AS4_AGGREGATOR", /* RFC 6793 6 */
		OPTIONAL_TRANSITIVE, false, OCTETS(8), 0, WITHDRAW, DISCARD, BAD_OPTIONAL },
	[CW_BGP_ATTR_IPV6_EXT_COMMUNITIES] = { "IPv6 EXTENDED COMMUNITIES", /* 7.15 */
		OPTIONAL_TRANSITIVE, false, LIST_OF(20), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_LARGE_COMMUNITIES] = { "LARGE_COMMUNITY", /* RFC 8092 5 */
		OPTIONAL_TRANSITIVE, false, LIST_OF(12), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
	[CW_BGP_ATTR_OTC] = { "ONLY_TO_CUSTOMER", /* RFC 9234 5 */
		OPTIONAL_TRANSITIVE, false, OCTETS(4), 0, WITHDRAW, WITHDRAW, BAD_OPTIONAL },
};
/* clang-format on */

const struct cw_bgp_attr_rule *cw_bgp_attr_rule(uint8_t type)
{
	if (type >= sizeof(rules) / sizeof(rules[0]) || !rules[type].name)
		return NULL;
	return &rules[type];
}

const char *cw_bgp_attr_name(uint8_t type)
{
	const struct cw_bgp_attr_rule *rule = cw_bgp_attr_rule(type);

	return rule ? rule->name : "unknown";
}

const char *cw_bgp_verdict_name(enum cw_bgp_verdict verdict)
{
	static const char *const names[] = {
		[CW_BGP_ACCEPT] = "accept",
		[CW_BGP_DISCARD] = "attribute discard",
		[CW_BGP_WITHDRAW] = "treat-as-withdraw",
		[CW_BGP_RESET] = "session reset",
	};

	return (unsigned)verdict < sizeof(names) / sizeof(names[0]) ? names[verdict] : "unknown";
}

/* ---- framing ---- */

enum cw_bgp_get cw_bgp_attr_get(struct cw_cursor *c, struct cw_bgp_attr *ret_attr)
{
	struct cw_span rest = { .p = c->at, .n = cw_cursor_left(c) };
	struct cw_bgp_attr attr = { 0 };
	size_t len;

	if (rest.n == 0)
		return CW_BGP_GET_END;
	attr.flags = cw_get_u8(c);
	attr.type = cw_get_u8(c);
	len = attr.flags & CW_BGP_FLAG_EXTENDED ? cw_get_u16(c) : cw_get_u8(c);
	attr.value = cw_get_span(c, len);
	attr.whole = rest;
	if (cw_cursor_ok(c))
		attr.whole.n = rest.n - cw_cursor_left(c);
	*ret_attr = attr;
	return cw_cursor_ok(c) ? CW_BGP_GET_ONE : CW_BGP_GET_BROKEN;
}

void cw_bgp_attr_put_header(struct cw_writer *w, uint8_t flags, uint8_t type, size_t len)
{
	bool extended = len > UINT8_MAX;

	if (len > UINT16_MAX) {
		w->failed = true;
		return;
	}
	flags &= (uint8_t)~CW_BGP_FLAG_EXTENDED;
	cw_put_u8(w, extended ? flags | CW_BGP_FLAG_EXTENDED : flags);
	cw_put_u8(w, type);
	if (extended)
		cw_put_u16(w, (uint16_t)len);
	else
		cw_put_u8(w, (uint8_t)len);
}

void cw_bgp_attr_put(struct cw_writer *w, uint8_t flags, uint8_t type, struct cw_span value)
{
	cw_bgp_attr_put_header(w, flags, type, value.n);
	cw_put_bytes(w, value.p, value.n);
}

#define LONG_HEADER_LEN 4

size_t cw_bgp_attr_begin(struct cw_writer *w, uint8_t flags, uint8_t type)
{
	size_t at = cw_writer_len(w);

	cw_bgp_attr_put_header(w, flags, type, UINT8_MAX + 1);
	return at;
}

void cw_bgp_attr_end(struct cw_writer *w, size_t at)
{
	size_t n = cw_writer_len(w) - at - LONG_HEADER_LEN;
	uint8_t *head = w->start + at, *value = head + LONG_HEADER_LEN;

	if (!cw_writer_ok(w))
		return;
	w->at = head;
	cw_bgp_attr_put_header(w, head[0], head[1], n);
	if (cw_writer_ok(w)) {
		memmove(w->at, value, n);
		w->at += n;
	}
}

/* ---- the canonical form ---- */

static void note_path(struct cw_bgp_attrs_view *view, struct cw_span path)
{
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment segment;
	bool first = true;

	view->as_path = path;
	view->path_len = (uint16_t)cw_bgp_path_units(path, 4);
	while (cw_bgp_segment_get(&c, 4, &segment)) {
		struct cw_cursor asns = cw_cursor_of(segment.asns);

		view->origin_as = 0;
		if (segment.type == CW_BGP_AS_SEQUENCE && segment.n) {
			if (first)
				view->first_as = cw_get_u32(&asns);
			asns.at = asns.end - 4;
			view->origin_as = cw_get_u32(&asns);
		}
		first = false;
	}
}

void cw_bgp_attrs_note(struct cw_bgp_attrs_view *view, uint8_t type, struct cw_span value)
{
	struct cw_cursor c = cw_cursor_of(value);

	switch (type) {
	case CW_BGP_ATTR_ORIGIN:
		view->origin = cw_get_u8(&c);
		break;
	case CW_BGP_ATTR_AS_PATH:
		note_path(view, value);
		break;
	case CW_BGP_ATTR_MED:
		view->has_med = true;
		view->med = cw_get_u32(&c);
		break;
	case CW_BGP_ATTR_LOCAL_PREF:
		view->has_local_pref = true;
		view->local_pref = cw_get_u32(&c);
		break;
	case CW_BGP_ATTR_ATOMIC_AGGREGATE:
		view->atomic = true;
		break;
	case CW_BGP_ATTR_COMMUNITIES:
		view->communities = value;
		break;
	case CW_BGP_ATTR_ORIGINATOR_ID:
		view->has_originator = true;
		view->originator_id = cw_get_u32(&c);
		break;
	case CW_BGP_ATTR_CLUSTER_LIST:
		view->cluster_list = value;
		break;
	case CW_BGP_ATTR_EXT_COMMUNITIES:
		view->ext_communities = value;
		break;
	case CW_BGP_ATTR_LARGE_COMMUNITIES:
		view->large_communities = value;
		break;
	case CW_BGP_ATTR_OTC:
		view->has_otc = true;
		view->otc = cw_get_u32(&c);
		break;
	default:
		break;
	}
}

/* Could the decoder have left this one in a canonical form? */
static bool is_canonical(const struct cw_bgp_attr *attr)
{
	const struct cw_bgp_attr_rule *rule = cw_bgp_attr_rule(attr->type);
	bool extended = attr->flags & CW_BGP_FLAG_EXTENDED;
	size_t n = attr->value.n;

	if (extended != (n > UINT8_MAX))
		return false;
	if (!rule)
		return attr->flags & CW_BGP_FLAG_OPTIONAL;
	if ((attr->flags & OPTIONAL_TRANSITIVE) != rule->flags || n < rule->min || n > rule->max ||
		n % rule->unit)
		return false;
	switch (attr->type) {
	case CW_BGP_ATTR_ORIGIN:
		return attr->value.p[0] <= CW_BGP_ORIGIN_INCOMPLETE;
	case CW_BGP_ATTR_AS_PATH:
		return !cw_bgp_path_fault(attr->value, 4, false);
	case CW_BGP_ATTR_NEXT_HOP:
	case CW_BGP_ATTR_MP_REACH:
	case CW_BGP_ATTR_MP_UNREACH:
	case CW_BGP_ATTR_AS4_PATH:
	case CW_BGP_ATTR_AS4_AGGREGATOR:
		return false;
	default:
		return true;
	}
}

enum cw_rc cw_bgp_attrs_read(struct cw_span wire, struct cw_bgp_attrs_view *ret_view)
{
	struct cw_bgp_attrs_view view = { .wire = wire };
	struct cw_cursor c = cw_cursor_of(wire);
	struct cw_bgp_attr attr;
	unsigned last = 0;
	enum cw_bgp_get got;

	while ((got = cw_bgp_attr_get(&c, &attr)) == CW_BGP_GET_ONE) {
		if ((last && attr.type <= last) || !is_canonical(&attr))
			return CW_E_INVALID;
		last = attr.type;
		cw_bgp_attrs_note(&view, attr.type, attr.value);
	}
	if (got == CW_BGP_GET_BROKEN)
		return CW_E_INVALID;
	*ret_view = view;
	return CW_OK;
}

size_t cw_bgp_attrs_own(uint8_t *buf, size_t size)
{
	static const uint8_t igp = CW_BGP_ORIGIN_IGP;
	struct cw_writer w = cw_writer_of(buf, size);

	cw_bgp_attr_put(&w, WELL_KNOWN, CW_BGP_ATTR_ORIGIN, (struct cw_span){ .p = &igp, .n = 1 });
	cw_bgp_attr_put(&w, WELL_KNOWN, CW_BGP_ATTR_AS_PATH, (struct cw_span){ 0 });
	return cw_writer_ok(&w) ? cw_writer_len(&w) : 0;
}

/* ---- for people ---- */

struct cw_bgp_text cw_bgp_text_of(char *buf, size_t size)
{
	if (size)
		buf[0] = '\0';
	return (struct cw_bgp_text){ .buf = buf, .size = size, .full = size == 0 };
}

void cw_bgp_text_add(struct cw_bgp_text *text, const char *format, ...)
{
	static const char ellipsis[] = "...";
	va_list args;
	int n;

	if (text->full)
		return;
	va_start(args, format);
	n = vsnprintf(text->buf + text->at, text->size - text->at, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < text->size - text->at) {
		text->at += (size_t)n;
		return;
	}
	text->full = true;
	if (text->size >= sizeof(ellipsis)) {
		if (text->at > text->size - sizeof(ellipsis))
			text->at = text->size - sizeof(ellipsis);
		memcpy(text->buf + text->at, ellipsis, sizeof(ellipsis));
	}
}

/* RFC 1997 and those in IANA's registry of well-known ones that people meet. */
static const struct {
	uint32_t value;
	const char *name;
} well_known[] = {
	{ 0xffff0000, "graceful-shutdown" },
	{ 0xffff0006, "llgr-stale" },
	{ 0xffff0007, "no-llgr" },
	{ 0xffff029a, "blackhole" },
	{ 0xffffff01, "no-export" },
	{ 0xffffff02, "no-advertise" },
	{ 0xffffff03, "no-export-subconfed" },
	{ 0xffffff04, "no-peer" },
};

const char *cw_bgp_communities_print(struct cw_span communities, char *buf, size_t size)
{
	struct cw_bgp_text text = cw_bgp_text_of(buf, size);
	struct cw_cursor c = cw_cursor_of(communities);
	const char *before = "";

	while (cw_cursor_left(&c) >= 4) {
		uint32_t value = cw_get_u32(&c);
		const char *name = NULL;

		for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++)
			if (well_known[i].value == value)
				name = well_known[i].name;
		if (name)
			cw_bgp_text_add(&text, "%s%s", before, name);
		else
			cw_bgp_text_add(&text, "%s%u:%u", before, value >> 16, value & 0xffff);
		before = " ";
	}
	return buf;
}

const char *cw_bgp_large_communities_print(struct cw_span communities, char *buf, size_t size)
{
	struct cw_bgp_text text = cw_bgp_text_of(buf, size);
	struct cw_cursor c = cw_cursor_of(communities);
	const char *before = "";

	while (cw_cursor_left(&c) >= 12) {
		uint32_t global = cw_get_u32(&c), first = cw_get_u32(&c), second = cw_get_u32(&c);

		cw_bgp_text_add(&text, "%s%u:%u:%u", before, global, first, second);
		before = " ";
	}
	return buf;
}
