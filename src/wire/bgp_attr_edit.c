/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What policy changes in the attributes of a route, from one canonical form to another.
 */
#include "wire/bgp_attr.h"

#include "wire/bgp_priv.h"

#define OPTIONAL_TRANSITIVE (CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE)
#define COMMUNITY_LEN 4
#define EXT_COMMUNITY_LEN 8
#define LARGE_COMMUNITY_LEN 12
#define EXT_NON_TRANSITIVE 0x40 /* RFC 4360 2 */

/* ---- large communities: a set, held in order ---- */

static int compare_large(const uint8_t *list, size_t a, size_t b)
{
	return memcmp(list + a * LARGE_COMMUNITY_LEN, list + b * LARGE_COMMUNITY_LEN,
		LARGE_COMMUNITY_LEN);
}

static void swap_large(uint8_t *list, size_t a, size_t b)
{
	uint8_t held[LARGE_COMMUNITY_LEN];

	memcpy(held, list + a * LARGE_COMMUNITY_LEN, sizeof(held));
	memmove(list + a * LARGE_COMMUNITY_LEN, list + b * LARGE_COMMUNITY_LEN, sizeof(held));
	memcpy(list + b * LARGE_COMMUNITY_LEN, held, sizeof(held));
}

/* Lets the entry at `root` sink to its place in a heap of n. */
static void sink(uint8_t *list, size_t root, size_t n)
{
	size_t child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && compare_large(list, child, child + 1) < 0)
			child++;
		if (compare_large(list, root, child) >= 0)
			return;
		swap_large(list, root, child);
		root = child;
	}
}

static bool is_large_set(const uint8_t *list, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (compare_large(list, i - 1, i) >= 0)
			return false;
	return true;
}

/* Ascending, each once (RFC 8092 3); returns how many. A heap sort: a peer chooses the order, and
 * qsort(3) may allocate. */
static size_t make_large_set(uint8_t *list, size_t n)
{
	size_t unique = 1;

	if (is_large_set(list, n))
		return n;
	for (size_t i = n / 2; i > 0; i--)
		sink(list, i - 1, n);
	for (size_t i = n - 1; i > 0; i--) {
		swap_large(list, 0, i);
		sink(list, 0, i);
	}
	for (size_t i = 1; i < n; i++) {
		if (compare_large(list, unique - 1, i) == 0)
			continue;
		swap_large(list, unique, i);
		unique++;
	}
	return unique;
}

void cw_bgp_large_communities_put(
	struct cw_writer *w, uint8_t flags, struct cw_span value, struct cw_span more)
{
	size_t at = cw_bgp_attr_begin(w, flags, CW_BGP_ATTR_LARGE_COMMUNITIES), n;
	uint8_t *list = w->at;

	cw_put_bytes(w, value.p, value.n);
	cw_put_bytes(w, more.p, more.n);
	if (cw_writer_ok(w)) {
		n = (size_t)(w->at - list) / LARGE_COMMUNITY_LEN;
		w->at = list + make_large_set(list, n) * LARGE_COMMUNITY_LEN;
	}
	cw_bgp_attr_end(w, at);
}

/* ---- the others ---- */

static void put_u32_attr(struct cw_writer *w, uint8_t flags, uint8_t type, uint32_t value)
{
	cw_bgp_attr_put_header(w, flags, type, 4);
	cw_put_u32(w, value);
}

static void put_sequence(struct cw_writer *w, unsigned n, uint32_t asn)
{
	cw_put_u8(w, CW_BGP_AS_SEQUENCE);
	cw_put_u8(w, (uint8_t)n);
	for (unsigned i = 0; i < n; i++)
		cw_put_u32(w, asn);
}

/* RFC 4271 5.1.2: into the leading sequence as far as it has room, then into new ones before it. */
static void put_path(struct cw_writer *w, struct cw_span path, uint32_t asn, unsigned n)
{
	size_t at = cw_bgp_attr_begin(w, CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_AS_PATH);
	struct cw_cursor c = cw_cursor_of(path);
	struct cw_bgp_segment first;
	unsigned within = 0, before;

	if (cw_bgp_segment_get(&c, 4, &first) && first.type == CW_BGP_AS_SEQUENCE) {
		within = CW_BGP_SEGMENT_MAX - first.n;
		if (within > n)
			within = n;
	} else {
		c = cw_cursor_of(path);
	}
	for (before = n - within; before && cw_writer_ok(w);) {
		unsigned now = before % CW_BGP_SEGMENT_MAX ? before % CW_BGP_SEGMENT_MAX
							   : CW_BGP_SEGMENT_MAX;

		put_sequence(w, now, asn);
		before -= now;
	}
	if (c.at != c.start) {
		put_sequence(w, within, asn);
		if (cw_writer_ok(w))
			w->at[-1 - (ptrdiff_t)(4 * within)] = (uint8_t)(within + first.n);
		cw_put_bytes(w, first.asns.p, first.asns.n);
	}
	cw_put_bytes(w, c.at, cw_cursor_left(&c));
	cw_bgp_attr_end(w, at);
}

static bool has_community(const uint8_t *list, const uint8_t *end, const uint8_t *value)
{
	for (; list < end; list += COMMUNITY_LEN)
		if (memcmp(list, value, COMMUNITY_LEN) == 0)
			return true;
	return false;
}

static void put_communities(
	struct cw_writer *w, uint8_t flags, struct cw_span value, struct cw_span more)
{
	size_t at = cw_bgp_attr_begin(w, flags, CW_BGP_ATTR_COMMUNITIES);
	const uint8_t *list = w->at;

	cw_put_bytes(w, value.p, value.n);
	for (size_t i = 0; i + COMMUNITY_LEN <= more.n && cw_writer_ok(w); i += COMMUNITY_LEN)
		if (!has_community(list, w->at, more.p + i))
			cw_put_bytes(w, more.p + i, COMMUNITY_LEN);
	cw_bgp_attr_end(w, at);
}

/* RFC 4360 6: those that do not cross a border between ASes are left out. */
static void put_transitive_ext(struct cw_writer *w, uint8_t flags, struct cw_span value)
{
	size_t at = cw_bgp_attr_begin(w, flags, CW_BGP_ATTR_EXT_COMMUNITIES);
	const uint8_t *list = w->at;

	for (size_t i = 0; i + EXT_COMMUNITY_LEN <= value.n; i += EXT_COMMUNITY_LEN)
		if (!(value.p[i] & EXT_NON_TRANSITIVE))
			cw_put_bytes(w, value.p + i, EXT_COMMUNITY_LEN);
	if (w->at == list && cw_writer_ok(w))
		w->at = w->start + at; /* never an empty one */
	else
		cw_bgp_attr_end(w, at);
}

/* ---- one attribute after the other ---- */

/* Attributes that an edit may add or change, ascending. */
static const uint8_t editable[] = {
	CW_BGP_ATTR_AS_PATH,
	CW_BGP_ATTR_MED,
	CW_BGP_ATTR_LOCAL_PREF,
	CW_BGP_ATTR_COMMUNITIES,
	CW_BGP_ATTR_EXT_COMMUNITIES,
	CW_BGP_ATTR_LARGE_COMMUNITIES,
	CW_BGP_ATTR_OTC,
};

#define N_EDITABLE (sizeof(editable) / sizeof(editable[0]))

/* Flags of an optional transitive attribute that is new: RFC 4271 5 wants Partial where somebody
 * other than the origin of the route attaches it. */
static uint8_t new_flags(bool ours)
{
	return ours ? OPTIONAL_TRANSITIVE : OPTIONAL_TRANSITIVE | CW_BGP_FLAG_PARTIAL;
}

/* Writes what becomes of an editable attribute. old: as it is, all empty where it is not there. */
static void put_editable(struct cw_writer *w, const struct cw_bgp_attrs_edit *edit, uint8_t type,
	const struct cw_bgp_attr *old, bool ours)
{
	uint8_t flags = old->whole.n ? old->flags : new_flags(ours);
	struct cw_span value = edit->drop_communities ? (struct cw_span){ 0 } : old->value;
	bool drop = false;

	if (edit->drop_communities && type != CW_BGP_ATTR_OTC)
		flags = new_flags(ours);
	switch (type) {
	case CW_BGP_ATTR_AS_PATH:
		if (edit->prepend_n) {
			put_path(w, old->value, edit->prepend_asn, edit->prepend_n);
			return;
		}
		break;
	case CW_BGP_ATTR_MED:
		if (edit->set_med) {
			put_u32_attr(w, CW_BGP_FLAG_OPTIONAL, type, edit->med);
			return;
		}
		drop = edit->drop_med;
		break;
	case CW_BGP_ATTR_LOCAL_PREF:
		if (edit->set_local_pref) {
			put_u32_attr(w, CW_BGP_FLAG_TRANSITIVE, type, edit->local_pref);
			return;
		}
		drop = edit->drop_local_pref;
		break;
	case CW_BGP_ATTR_COMMUNITIES:
		if (edit->add_communities.n) {
			put_communities(w, flags, value, edit->add_communities);
			return;
		}
		drop = edit->drop_communities;
		break;
	case CW_BGP_ATTR_EXT_COMMUNITIES:
		if (edit->drop_non_transitive_ext && value.n) {
			put_transitive_ext(w, old->flags, value);
			return;
		}
		drop = edit->drop_communities;
		break;
	case CW_BGP_ATTR_LARGE_COMMUNITIES:
		if (edit->add_large_communities.n) {
			cw_bgp_large_communities_put(w, flags, value, edit->add_large_communities);
			return;
		}
		drop = edit->drop_communities;
		break;
	case CW_BGP_ATTR_OTC:
		if (edit->set_otc && !old->whole.n) {
			put_u32_attr(w, flags, type, edit->otc);
			return;
		}
		break;
	default:
		break;
	}
	if (!drop)
		cw_put_bytes(w, old->whole.p, old->whole.n);
}

static bool is_dropped(const struct cw_bgp_attrs_edit *edit, const struct cw_bgp_attr *attr)
{
	switch (attr->type) {
	case CW_BGP_ATTR_ORIGINATOR_ID:
	case CW_BGP_ATTR_CLUSTER_LIST:
		return edit->drop_reflector;
	case CW_BGP_ATTR_IPV6_EXT_COMMUNITIES:
		return edit->drop_communities;
	default:
		return edit->drop_unknown_non_transitive && !cw_bgp_attr_rule(attr->type) &&
		       !(attr->flags & CW_BGP_FLAG_TRANSITIVE);
	}
}

/* A route of our own has not been anywhere yet. */
static bool is_ours(struct cw_span wire)
{
	struct cw_cursor c = cw_cursor_of(wire);
	struct cw_bgp_attr attr;

	while (cw_bgp_attr_get(&c, &attr) == CW_BGP_GET_ONE)
		if (attr.type == CW_BGP_ATTR_AS_PATH)
			return attr.value.n == 0;
	return true;
}

size_t cw_bgp_attrs_edit(
	struct cw_span wire, const struct cw_bgp_attrs_edit *edit, uint8_t *buf, size_t size)
{
	static const struct cw_bgp_attr absent = { 0 };
	struct cw_writer w = cw_writer_of(buf, size);
	struct cw_cursor c = cw_cursor_of(wire);
	bool ours = is_ours(wire), more;
	struct cw_bgp_attr attr;
	size_t next = 0;

	do {
		more = cw_bgp_attr_get(&c, &attr) == CW_BGP_GET_ONE;
		for (; next < N_EDITABLE && (!more || editable[next] < attr.type); next++)
			put_editable(&w, edit, editable[next], &absent, ours);
		if (!more)
			break;
		if (next < N_EDITABLE && editable[next] == attr.type)
			put_editable(&w, edit, editable[next++], &attr, ours);
		else if (!is_dropped(edit, &attr))
			cw_put_bytes(&w, attr.whole.p, attr.whole.n);
	} while (more);
	return cw_writer_ok(&w) ? cw_writer_len(&w) : 0;
}
