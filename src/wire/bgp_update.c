/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp_update.h"

#include "wire/bgp_priv.h"

/* Attribute types that one message can hold. */
#define TYPES 256

/* What is known of a message while it is read. */
struct reading {
	const struct cw_bgp_codec *codec;
	struct cw_bgp_update *update;
	struct cw_bgp_fault gravest; /* the first of those with the message's verdict */
	uint32_t seen[TYPES / 32];   /* by type, well-formed or not */
	bool broken;                 /* the attributes end in the middle of one */
	bool reachable;              /* routes are announced, of whatever family */
	/* Attributes to keep, as they came; ascending while `sorted`. */
	bool sorted;
	unsigned n;
	struct {
		uint8_t flags, type;
		struct cw_span value;
	} kept[TYPES];
	struct cw_span as4_path, as4_aggregator; /* empty: none that counts */
};

static bool seen(const struct reading *r, uint8_t type)
{
	return r->seen[type / 32] >> type % 32 & 1;
}

static void note_fault(struct reading *r, const struct cw_bgp_attr *attr,
	enum cw_bgp_verdict verdict, uint8_t subcode, const char *why)
{
	struct cw_bgp_update *u = r->update;
	struct cw_bgp_fault fault = { .type = attr->type,
		.flags = attr->flags,
		.verdict = verdict,
		.subcode = subcode,
		.bytes = attr->whole,
		.why = why };

	if (u->n_faults < CW_BGP_FAULTS_MAX)
		u->faults[u->n_faults] = fault;
	u->n_faults++;
	if (verdict > u->verdict) {
		u->verdict = verdict;
		r->gravest = fault;
	}
}

/* ---- attributes with routes ---- */

static struct cw_addr addr_of(enum cw_family family, struct cw_span octets)
{
	struct cw_addr addr = { .family = (uint8_t)family };

	memcpy(addr.bytes, octets.p, octets.n);
	return addr;
}

/* Next hop of MP_REACH_NLRI: RFC 4760 3, 2545 3, 8950 3. False: its length is none that we expect.
 */
static bool read_mp_next_hop(struct reading *r, enum cw_bgp_family family, struct cw_span octets)
{
	struct cw_bgp_update *u = r->update;

	if (family == CW_BGP_IPV4 && octets.n == 4) {
		u->reach.next_hop = addr_of(CW_FAMILY_IPV4, octets);
		return true;
	}
	if ((octets.n != 16 && octets.n != 32) ||
		(family == CW_BGP_IPV4 && !r->codec->ext_next_hop))
		return false;
	u->reach.next_hop = addr_of(CW_FAMILY_IPV6, (struct cw_span){ .p = octets.p, .n = 16 });
	if (octets.n == 32) {
		struct cw_addr second =
			addr_of(CW_FAMILY_IPV6, (struct cw_span){ .p = octets.p + 16, .n = 16 });

		/* Some send the global one twice. */
		if (cw_addr_is_link_local(&second))
			u->reach.link_local = second;
	}
	return true;
}

/* Family of a multiprotocol attribute; CW_BGP_FAMILIES where the session has not agreed on it. */
static enum cw_bgp_family get_family(const struct reading *r, struct cw_cursor *c)
{
	uint16_t afi = cw_get_u16(c);
	enum cw_bgp_family family = cw_bgp_family_of(afi, cw_get_u8(c));

	return family < CW_BGP_FAMILIES && r->codec->family[family] ? family : CW_BGP_FAMILIES;
}

static const char *read_mp_reach(struct reading *r, struct cw_span value)
{
	struct cw_cursor c = cw_cursor_of(value);
	struct cw_bgp_update *u = r->update;
	struct cw_span next_hop, nlri;
	size_t bad_at;

	u->reach.present = true;
	u->reach.family = get_family(r, &c);
	next_hop = cw_get_span(&c, cw_get_u8(&c));
	cw_get_u8(&c); /* reserved: to be ignored */
	nlri = cw_get_span(&c, cw_cursor_left(&c));
	r->reachable |= nlri.n > 0;
	/* Nothing is known of how a family that nobody agreed on looks inside. */
	if (u->reach.family == CW_BGP_FAMILIES)
		return NULL;
	if (!cw_cursor_ok(&c) || !read_mp_next_hop(r, u->reach.family, next_hop))
		return "the length of the next hop can't be";
	if (!cw_bgp_prefixes_check(nlri, u->reach.family, &bad_at))
		return "a prefix that is too long or cut off";
	u->reach.nlri = nlri;
	return NULL;
}

static const char *read_mp_unreach(struct reading *r, struct cw_span value)
{
	struct cw_cursor c = cw_cursor_of(value);
	struct cw_bgp_update *u = r->update;
	struct cw_span nlri;
	size_t bad_at;

	u->unreach.present = true;
	u->unreach.family = get_family(r, &c);
	nlri = cw_get_span(&c, cw_cursor_left(&c));
	if (u->unreach.family == CW_BGP_FAMILIES)
		return NULL;
	if (!cw_bgp_prefixes_check(nlri, u->unreach.family, &bad_at))
		return "a prefix that is too long or cut off";
	u->unreach.nlri = nlri;
	return NULL;
}

/* ---- one attribute ---- */

/* What is wrong with the content of an attribute whose length is right; NULL: nothing. */
static const char *content_fault(struct reading *r, const struct cw_bgp_attr *attr)
{
	struct cw_cursor c = cw_cursor_of(attr->value);
	size_t width = r->codec->as4 ? 4 : 2;

	switch (attr->type) {
	case CW_BGP_ATTR_ORIGIN:
		return cw_get_u8(&c) > CW_BGP_ORIGIN_INCOMPLETE ? "an ORIGIN of no known value"
								: NULL;
	case CW_BGP_ATTR_AS_PATH:
		return cw_bgp_path_fault(attr->value, width, !r->codec->ibgp);
	case CW_BGP_ATTR_AS4_PATH:
		return cw_bgp_path_fault(attr->value, 4, false);
	case CW_BGP_ATTR_AGGREGATOR:
		return cw_bgp_asn_get(&c, width) == 0 ? "AS 0 as aggregator" : NULL;
	case CW_BGP_ATTR_AS4_AGGREGATOR:
		return cw_get_u32(&c) == 0 ? "AS 0 as aggregator" : NULL;
	case CW_BGP_ATTR_MP_REACH:
		return read_mp_reach(r, attr->value);
	case CW_BGP_ATTR_MP_UNREACH:
		return read_mp_unreach(r, attr->value);
	default:
		return NULL;
	}
}

static bool length_fits(const struct reading *r, const struct cw_bgp_attr_rule *rule, size_t n)
{
	if (rule->as2_len && !r->codec->as4)
		return n == rule->as2_len;
	return n >= rule->min && n <= rule->max && n % rule->unit == 0;
}

static void keep(struct reading *r, const struct cw_bgp_attr *attr, uint8_t flags)
{
	if (r->n && r->kept[r->n - 1].type > attr->type)
		r->sorted = false;
	r->kept[r->n].flags = flags;
	r->kept[r->n].type = attr->type;
	r->kept[r->n].value = attr->value;
	r->n++;
}

/* An attribute that we know and that is well-formed. */
static void take_known(
	struct reading *r, const struct cw_bgp_attr *attr, const struct cw_bgp_attr_rule *rule)
{
	uint8_t flags = rule->flags;

	switch (attr->type) {
	case CW_BGP_ATTR_NEXT_HOP:
		r->update->next_hop = addr_of(CW_FAMILY_IPV4, attr->value);
		return;
	case CW_BGP_ATTR_AS4_PATH:
		r->as4_path = attr->value;
		return;
	case CW_BGP_ATTR_AS4_AGGREGATOR:
		r->as4_aggregator = attr->value;
		return;
	case CW_BGP_ATTR_MP_REACH:
	case CW_BGP_ATTR_MP_UNREACH:
		return;
	default:
		/* RFC 4271 4.3: Partial means something on optional transitive ones alone. */
		if (flags == (CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE))
			flags |= attr->flags & CW_BGP_FLAG_PARTIAL;
		keep(r, attr, flags);
	}
}

static void take_unknown(struct reading *r, const struct cw_bgp_attr *attr)
{
	if (!(attr->flags & CW_BGP_FLAG_OPTIONAL)) /* RFC 4271 6.3 */
		note_fault(r, attr, CW_BGP_RESET, CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN,
			"a well-known attribute that we don't know");
	else if (attr->flags & CW_BGP_FLAG_TRANSITIVE) /* RFC 4271 5: passed on, marked */
		keep(r, attr, CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE | CW_BGP_FLAG_PARTIAL);
}

static void take_attr(struct reading *r, const struct cw_bgp_attr *attr)
{
	const uint8_t transitivity = CW_BGP_FLAG_OPTIONAL | CW_BGP_FLAG_TRANSITIVE;
	const struct cw_bgp_attr_rule *rule = cw_bgp_attr_rule(attr->type);
	const char *why;

	if (seen(r, attr->type)) { /* RFC 7606 3 g */
		bool mp =
			attr->type == CW_BGP_ATTR_MP_REACH || attr->type == CW_BGP_ATTR_MP_UNREACH;

		note_fault(r, attr, mp ? CW_BGP_RESET : CW_BGP_DISCARD, CW_BGP_UPDATE_BAD_LIST,
			"the attribute is there a second time");
		return;
	}
	r->seen[attr->type / 32] |= UINT32_C(1) << attr->type % 32;
	if (!rule) {
		take_unknown(r, attr);
		return;
	}
	if (rule->internal_only && !r->codec->ibgp) {
		note_fault(r, attr, CW_BGP_DISCARD, rule->subcode,
			"an external peer does not send this attribute");
		return;
	}
	if (r->codec->as4 && (attr->type == CW_BGP_ATTR_AS4_PATH ||
				     attr->type == CW_BGP_ATTR_AS4_AGGREGATOR)) { /* RFC 6793 6 */
		note_fault(r, attr, CW_BGP_DISCARD, rule->subcode,
			"a peer with 4-octet numbers does not send this attribute");
		return;
	}
	if ((attr->flags & transitivity) != rule->flags) { /* RFC 7606 3 c */
		note_fault(r, attr, rule->bad_flags, CW_BGP_UPDATE_BAD_FLAGS,
			"Optional and Transitive are not as they must be for this attribute");
		return;
	}
	if (!length_fits(r, rule, attr->value.n)) {
		note_fault(r, attr, rule->bad_value, CW_BGP_UPDATE_BAD_ATTR_LENGTH,
			"the attribute can't have this length");
		return;
	}
	why = content_fault(r, attr);
	if (why)
		note_fault(r, attr, rule->bad_value, rule->subcode, why);
	else
		take_known(r, attr, rule);
}

/* RFC 7606 4: an attribute that runs out of the list. */
static void take_broken(struct reading *r, const struct cw_bgp_attr *attr)
{
	/* Routes that can't be read can't be withdrawn either: 3 j. */
	bool mp = attr->type == CW_BGP_ATTR_MP_REACH || attr->type == CW_BGP_ATTR_MP_UNREACH;

	r->broken = true;
	note_fault(r, attr, mp ? CW_BGP_RESET : CW_BGP_WITHDRAW, CW_BGP_UPDATE_BAD_LIST,
		"the attribute is longer than what is left of the attributes");
}

static void take_attrs(struct reading *r, struct cw_span attrs)
{
	struct cw_cursor c = cw_cursor_of(attrs);
	struct cw_bgp_attr attr;

	for (;;) {
		switch (cw_bgp_attr_get(&c, &attr)) {
		case CW_BGP_GET_ONE:
			take_attr(r, &attr);
			break;
		case CW_BGP_GET_BROKEN:
			take_broken(r, &attr);
			return;
		case CW_BGP_GET_END:
			return;
		}
	}
}

/* RFC 7606 3 d; NEXT_HOP only goes with NLRI (RFC 4760 3). */
static void check_missing(struct reading *r)
{
	static const uint8_t mandatory[] = { CW_BGP_ATTR_ORIGIN, CW_BGP_ATTR_AS_PATH,
		CW_BGP_ATTR_NEXT_HOP };

	if (r->broken || !r->reachable)
		return;
	for (size_t i = 0; i < sizeof(mandatory); i++) {
		const struct cw_bgp_attr missing = { .type = mandatory[i] };

		if (seen(r, mandatory[i]) ||
			(mandatory[i] == CW_BGP_ATTR_NEXT_HOP && !r->update->nlri.n))
			continue;
		note_fault(r, &missing, CW_BGP_WITHDRAW, CW_BGP_UPDATE_MISSING_WELL_KNOWN,
			"a mandatory attribute is missing");
	}
}

static void check_list(struct reading *r, struct cw_span list)
{
	struct cw_bgp_attr rest = { 0 };
	size_t bad_at;

	if (cw_bgp_prefixes_check(list, CW_BGP_IPV4, &bad_at))
		return;
	rest.whole = (struct cw_span){ .p = list.p + bad_at, .n = list.n - bad_at };
	note_fault(r, &rest, CW_BGP_RESET, CW_BGP_UPDATE_BAD_NETWORK,
		"a prefix that is too long or cut off");
}

/* ---- the canonical form ---- */

/* RFC 6793 4.2.3: which of two pairs counts. */
static void judge_as4(struct reading *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct cw_cursor c;

		if (r->kept[i].type != CW_BGP_ATTR_AGGREGATOR)
			continue;
		c = cw_cursor_of(r->kept[i].value);
		if (r->as4_aggregator.n && cw_get_u16(&c) != CW_BGP_AS_TRANS) {
			/* The route was aggregated after these two were made. */
			r->as4_aggregator = (struct cw_span){ 0 };
			r->as4_path = (struct cw_span){ 0 };
		}
		return;
	}
	r->as4_aggregator = (struct cw_span){ 0 };
}

static void put_path2(struct cw_writer *w, const struct reading *r, struct cw_span path)
{
	size_t at = cw_bgp_attr_begin(w, CW_BGP_FLAG_TRANSITIVE, CW_BGP_ATTR_AS_PATH);

	if (r->as4_path.n)
		cw_bgp_path_merge(w, path, r->as4_path);
	else
		cw_bgp_path_convert(w, path, 2, 4);
	cw_bgp_attr_end(w, at);
}

static void put_aggregator2(
	struct cw_writer *w, const struct reading *r, uint8_t flags, struct cw_span value)
{
	struct cw_cursor c = cw_cursor_of(value);

	if (r->as4_aggregator.n) {
		cw_bgp_attr_put(w, flags, CW_BGP_ATTR_AGGREGATOR, r->as4_aggregator);
		return;
	}
	cw_bgp_attr_put_header(w, flags, CW_BGP_ATTR_AGGREGATOR, 8);
	cw_put_u32(w, cw_get_u16(&c));
	cw_put_u32(w, cw_get_u32(&c));
}

/* False: longer than an attribute can be once it has 4-octet numbers. */
static bool put_kept(struct cw_writer *w, const struct reading *r, unsigned i)
{
	uint8_t flags = r->kept[i].flags, type = r->kept[i].type;
	struct cw_span value = r->kept[i].value;

	if (type == CW_BGP_ATTR_AS_PATH && !r->codec->as4)
		put_path2(w, r, value);
	else if (type == CW_BGP_ATTR_AGGREGATOR && !r->codec->as4)
		put_aggregator2(w, r, flags, value);
	else if (type == CW_BGP_ATTR_LARGE_COMMUNITIES)
		cw_bgp_large_communities_put(w, flags, value, (struct cw_span){ 0 });
	else
		cw_bgp_attr_put(w, flags, type, value);
	return cw_writer_ok(w);
}

static void sort_kept(struct reading *r)
{
	for (unsigned i = 1; i < r->n; i++)
		for (unsigned j = i; j && r->kept[j - 1].type > r->kept[j].type; j--) {
			typeof(r->kept[0]) moved = r->kept[j];

			r->kept[j] = r->kept[j - 1];
			r->kept[j - 1] = moved;
		}
}

static void make_canonical(struct reading *r)
{
	struct cw_bgp_update *u = r->update;
	struct cw_writer w = cw_writer_of(u->scratch, sizeof(u->scratch));

	if (!r->codec->as4)
		judge_as4(r);
	if (!r->sorted)
		sort_kept(r);
	for (unsigned i = 0; i < r->n; i++) {
		uint8_t *at = w.at;
		struct cw_bgp_attr attr;
		struct cw_cursor c;

		if (!put_kept(&w, r, i)) {
			attr = (struct cw_bgp_attr){ .type = r->kept[i].type,
				.flags = r->kept[i].flags,
				.whole = r->kept[i].value };
			note_fault(r, &attr, CW_BGP_WITHDRAW, CW_BGP_UPDATE_BAD_ATTR_LENGTH,
				"the attribute is too long once it has 4-octet numbers");
			u->attrs = (struct cw_bgp_attrs_view){ 0 };
			return;
		}
		c = cw_cursor_of((struct cw_span){ .p = at, .n = (size_t)(w.at - at) });
		if (cw_bgp_attr_get(&c, &attr) == CW_BGP_GET_ONE)
			cw_bgp_attrs_note(&u->attrs, attr.type, attr.value);
	}
	u->attrs.wire = (struct cw_span){ .p = u->scratch, .n = cw_writer_len(&w) };
}

/* ---- the message ---- */

/* All but the scratch, which is long. */
static void reset_update(struct cw_bgp_update *u)
{
	u->withdrawn = u->nlri = (struct cw_span){ 0 };
	u->next_hop = (struct cw_addr){ 0 };
	u->reach = (typeof(u->reach)){ .family = CW_BGP_FAMILIES };
	u->unreach = (typeof(u->unreach)){ .family = CW_BGP_FAMILIES };
	u->end_of_rib = false;
	u->eor_family = CW_BGP_FAMILIES;
	u->attrs = (struct cw_bgp_attrs_view){ 0 };
	u->verdict = CW_BGP_ACCEPT;
	u->n_faults = 0;
}

/* RFC 4724 2: nothing in it at all, or nothing but MP_UNREACH_NLRI without routes. */
static void judge_end_of_rib(struct reading *r, struct cw_span attrs)
{
	struct cw_bgp_update *u = r->update;
	struct cw_cursor c = cw_cursor_of(attrs);
	struct cw_bgp_attr attr;

	if (u->withdrawn.n || u->nlri.n)
		return;
	if (attrs.n == 0) {
		u->end_of_rib = true;
		u->eor_family = r->codec->family[CW_BGP_IPV4] ? CW_BGP_IPV4 : CW_BGP_FAMILIES;
		return;
	}
	if (!u->unreach.present || cw_bgp_attr_get(&c, &attr) != CW_BGP_GET_ONE ||
		cw_cursor_left(&c) || attr.value.n != 3)
		return;
	u->end_of_rib = true;
	u->eor_family = u->unreach.family;
}

/* NOTIFICATION data: the attribute where RFC 4271 6.3 wants it. */
static struct cw_span data_of(const struct cw_bgp_fault *fault)
{
	switch ((enum cw_bgp_sub_update)fault->subcode) {
	case CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN:
	case CW_BGP_UPDATE_BAD_FLAGS:
	case CW_BGP_UPDATE_BAD_ATTR_LENGTH:
	case CW_BGP_UPDATE_BAD_ORIGIN:
	case CW_BGP_UPDATE_BAD_NEXT_HOP:
	case CW_BGP_UPDATE_BAD_OPTIONAL:
		return fault->bytes;
	default:
		return (struct cw_span){ 0 };
	}
}

enum cw_rc cw_bgp_update_decode(struct cw_span in, const struct cw_bgp_codec *codec,
	struct cw_bgp_update *ret_update, struct cw_bgp_err *reterr)
{
	struct cw_cursor c = cw_cursor_of(in);
	struct cw_bgp_update *u = ret_update;
	struct cw_span attrs;
	struct reading r; /* long: set part by part */
	const struct cw_bgp_fault *gravest = &r.gravest;

	r.codec = codec;
	r.update = u;
	memset(r.seen, 0, sizeof(r.seen));
	r.broken = false;
	r.reachable = false;
	r.sorted = true;
	r.n = 0;
	r.as4_path = r.as4_aggregator = (struct cw_span){ 0 };
	reset_update(u);

	u->withdrawn = cw_get_span(&c, cw_get_u16(&c));
	attrs = cw_get_span(&c, cw_get_u16(&c));
	if (!cw_cursor_ok(&c)) { /* RFC 4271 6.3, RFC 7606 3 b */
		const struct cw_bgp_attr all = { .whole = in };

		u->withdrawn = (struct cw_span){ 0 };
		note_fault(&r, &all, CW_BGP_RESET, CW_BGP_UPDATE_BAD_LIST,
			"the lengths of withdrawn routes and attributes exceed the message");
	} else {
		u->nlri = cw_get_span(&c, cw_cursor_left(&c));
		r.reachable = u->nlri.n > 0;
		check_list(&r, u->withdrawn);
		take_attrs(&r, attrs);
		check_list(&r, u->nlri);
		check_missing(&r);
		judge_end_of_rib(&r, attrs);
	}
	/* RFC 7606 5.2: without routes to withdraw, who knows what was lost. */
	if (u->verdict == CW_BGP_WITHDRAW && !r.reachable)
		u->verdict = CW_BGP_RESET;
	if (u->verdict == CW_BGP_RESET)
		return cw_bgp_fail(reterr, CW_BGP_E_UPDATE, gravest->subcode,
			gravest->bytes.p ? (size_t)(gravest->bytes.p - in.p) : 0, data_of(gravest),
			gravest->why);
	if (!codec->family[CW_BGP_IPV4])
		u->withdrawn = u->nlri = (struct cw_span){ 0 };
	if (u->verdict <= CW_BGP_DISCARD && (u->nlri.n || u->reach.nlri.n))
		make_canonical(&r);
	return CW_OK;
}
