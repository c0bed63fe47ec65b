/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_policy.h"

#include <stdlib.h>
#include <string.h>

#include "bgp/bgp_route_view.h"

static const struct {
	const char *name, *text;
} refusals[CW_BGP_REFUSAL_COUNT] = {
	[CW_BGP_ADMITTED] = { "none", "it is not refused" },
	[CW_BGP_REFUSED_OWN_AS] = { "own-as", "our own AS number is in its path" },
	[CW_BGP_REFUSED_FIRST_AS] = { "first-as", "its path does not begin with the peer's AS number" },
	[CW_BGP_REFUSED_NEXT_HOP] = { "next-hop", "its next hop is no address a neighbour can have" },
	[CW_BGP_REFUSED_NEXT_HOP_OWN] = { "next-hop-own", "its next hop is an address of ours" },
	[CW_BGP_REFUSED_LEAK] = { "leak", "a route leak: it is marked as only for customers (RFC 9234)" },
	[CW_BGP_REFUSED_MARTIAN] = { "martian", "no network can have this prefix" },
	[CW_BGP_REFUSED_DEFAULT] = { "default", "a default route, or half of one, and accept-default is off" },
	[CW_BGP_REFUSED_LISTED] = { "listed", "refuse names it" },
	[CW_BGP_REFUSED_NOT_LISTED] = { "not-listed", "accept does not name it" },
	[CW_BGP_REFUSED_SWALLOWS] = { "swallows", "it would lead the packets of a tunnel into a tunnel" },
	[CW_BGP_REFUSED_NOT_ANNOUNCED] = { "not-announced", "announce does not name it for this neighbour" },
	[CW_BGP_REFUSED_NO_TRANSIT] = { "no-transit", "transit does not name the site it is from" },
	[CW_BGP_REFUSED_SAME_SITE] = { "same-site", "it is from the very site" },
	[CW_BGP_REFUSED_AGGREGATED] = { "aggregated", "an aggregate is announced in its place" },
	[CW_BGP_REFUSED_NO_ADVERTISE] = { "no-advertise", "its communities forbid it (RFC 1997)" },
	[CW_BGP_REFUSED_OTC] = { "otc", "it is only for customers (RFC 9234)" },
	[CW_BGP_REFUSED_PEER_AS] = { "peer-as", "the neighbour's AS number is in its path" },
	[CW_BGP_REFUSED_TOO_LONG] = { "too-long", "its attributes don't fit a message" },
};

_Static_assert(CW_BGP_REFUSAL_COUNT <= CW_BGP_REFUSALS_MAX, "the RIB keeps six bits of them");

const char *cw_bgp_refusal_name(enum cw_bgp_refusal refusal)
{
	return (unsigned)refusal < CW_BGP_REFUSAL_COUNT ? refusals[refusal].name : "unknown";
}

const char *cw_bgp_refusal_text(enum cw_bgp_refusal refusal)
{
	return (unsigned)refusal < CW_BGP_REFUSAL_COUNT ? refusals[refusal].text : "unknown";
}

_Static_assert(CW_BGP_REFUSAL_COUNT <= CW_BGP_VIEW_REFUSALS_MAX, "a view holds them all");

const char *cw_bgp_view_refusal_name(size_t i)
{
	return i < CW_BGP_REFUSAL_COUNT ? refusals[i].name : "unknown";
}

bool cw_bgp_filters_match(const struct cw_filters *filters, const struct cw_prefix *prefix)
{
	for (size_t i = 0; i < filters->n; i++) {
		const struct cw_filter *f = &filters->v[i];

		if (prefix->len >= f->ge && prefix->len <= f->le && cw_prefix_covers(&f->prefix, prefix))
			return true;
	}
	return false;
}

/* ---- in ---- */

/* RFC 9234 5, ingress: who may hand us a route that is only for customers? */
static bool is_leak(const struct cw_bgp_policy *p, const struct cw_bgp_attrs_view *view)
{
	if (!view->has_otc)
		return false;
	switch (p->conf->role) {
	case CW_BGP_ROLE_CONF_PROVIDER: /* from a customer */
	case CW_BGP_ROLE_CONF_RS:	/* from a route server's client */
		return true;
	case CW_BGP_ROLE_CONF_PEER:
		return view->otc != p->peer_asn;
	default:
		return false;
	}
}

/* RFC 9234 5, ingress: from a provider, peer or route server without OTC, the peer's number is noted. */
static bool takes_otc(const struct cw_bgp_policy *p, const struct cw_bgp_attrs_view *view)
{
	return !view->has_otc && (p->conf->role == CW_BGP_ROLE_CONF_CUSTOMER ||
				  p->conf->role == CW_BGP_ROLE_CONF_PEER ||
				  p->conf->role == CW_BGP_ROLE_CONF_RS_CLIENT);
}

static enum cw_bgp_refusal judge_next_hop(const struct cw_bgp_policy *p, const struct cw_addr *hop)
{
	static const uint8_t limited[4] = { 255, 255, 255, 255 };

	if (hop->family == CW_FAMILY_NONE || cw_addr_is_unspecified(hop) ||
	    cw_addr_is_loopback(hop) || cw_addr_is_multicast(hop))
		return CW_BGP_REFUSED_NEXT_HOP;
	/* 0.0.0.0/8 and 240.0.0.0/4: RFC 1122 3.2.1.3, RFC 1112 4. 169.254.0.0/16 is what APIPA peers have. */
	if (hop->family == CW_FAMILY_IPV4 &&
	    (hop->bytes[0] == 0 || hop->bytes[0] >= 240 || !memcmp(hop->bytes, limited, 4)))
		return CW_BGP_REFUSED_NEXT_HOP;
	if (cw_addr_equal(hop, &p->conf->local))
		return CW_BGP_REFUSED_NEXT_HOP_OWN;
	for (size_t i = 0; i < p->common->n_own; i++) {
		if (cw_addr_equal(hop, &p->common->own[i]))
			return CW_BGP_REFUSED_NEXT_HOP_OWN;
	}
	return CW_BGP_ADMITTED;
}

static enum cw_bgp_refusal judge(const struct cw_bgp_policy *p, const struct cw_bgp_attrs_view *view,
				 const struct cw_addr *next_hop)
{
	bool ibgp = p->peer_asn == p->common->asn;

	if (cw_bgp_path_has(view->as_path, p->common->asn))
		return CW_BGP_REFUSED_OWN_AS;
	if (!ibgp && p->conf->check_first_as && view->first_as != p->peer_asn)
		return CW_BGP_REFUSED_FIRST_AS;
	if (!ibgp && is_leak(p, view))
		return CW_BGP_REFUSED_LEAK;
	return judge_next_hop(p, next_hop);
}

enum cw_bgp_refusal cw_bgp_policy_import(const struct cw_bgp_policy *policy,
					 const struct cw_bgp_attrs_view *view,
					 const struct cw_addr *next_hop, uint8_t *buf, size_t size,
					 struct cw_bgp_attrs_view *ret_view)
{
	bool ibgp = policy->peer_asn == policy->common->asn;
	struct cw_bgp_attrs_edit edit = {
		/* RFC 4271 5.1.5: what an external peer says of it does not count */
		.drop_local_pref = !ibgp,
		.set_local_pref = !ibgp && policy->conf->local_pref != CW_BGP_LOCAL_PREF_DEFAULT,
		.local_pref = policy->conf->local_pref,
		.drop_reflector = !ibgp,
		.set_otc = !ibgp && takes_otc(policy, view),
		.otc = policy->peer_asn,
	};
	size_t len;

	*ret_view = *view;
	/* The usual case costs no copy: nothing to set, and nothing there to take away. */
	if (edit.set_local_pref || edit.set_otc || (edit.drop_local_pref && view->has_local_pref) ||
	    (edit.drop_reflector && (view->has_originator || view->cluster_list.n))) {
		len = cw_bgp_attrs_edit(view->wire, &edit, buf, size);
		if (!len || cw_bgp_attrs_read((struct cw_span){ buf, len }, ret_view) != CW_OK) {
			*ret_view = *view;
			return CW_BGP_REFUSED_TOO_LONG;
		}
	}
	return judge(policy, view, next_hop);
}

/* RFC 6890 and its like: what can't be a network somewhere else. Private and shared space can. */
static bool is_martian(const struct cw_prefix *prefix)
{
	const struct cw_addr *a = &prefix->addr;

	if (cw_addr_is_multicast(a) || cw_addr_is_loopback(a))
		return true;
	if (a->family == CW_FAMILY_IPV4)
		return (a->bytes[0] == 0 && prefix->len >= 8) || a->bytes[0] >= 240;
	/* ::/128 and what is mapped or was "compatible" IPv4; fe80::/10 means nothing beyond a link */
	return (cw_addr_is_unspecified(a) && prefix->len > 8) || cw_addr_is_link_local(a) ||
	       (prefix->len >= 96 && !memcmp(a->bytes, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12));
}

/* The whole of a family, or one of its two halves, which do the same together (BL-136). */
static bool is_default(const struct cw_prefix *prefix)
{
	return prefix->len == 0 ||
	       (prefix->len == 1 && prefix->addr.family == CW_FAMILY_IPV4);
}

static bool swallows(const struct cw_bgp_policy_common *common, const struct cw_prefix *prefix)
{
	/* What covers a neighbour is longer in our host route; one as long could take that one's place. */
	for (size_t i = 0; prefix->len == cw_family_bits(prefix->addr.family) && i < common->n_peers; i++) {
		if (cw_addr_equal(&common->peers[i], &prefix->addr))
			return true;
	}
	if (common->outer_guarded)
		return false;
	for (size_t i = 0; i < common->n_outer; i++) {
		if (common->outer[i].family == prefix->addr.family &&
		    cw_prefix_contains(prefix, &common->outer[i]))
			return true;
	}
	return false;
}

enum cw_bgp_refusal cw_bgp_policy_import_prefix(const struct cw_bgp_policy *policy,
						const struct cw_prefix *prefix)
{
	const struct cw_bgp_conf *conf = policy->conf;

	if (is_default(prefix)) {
		if (!conf->accept_default)
			return CW_BGP_REFUSED_DEFAULT;
	} else if (is_martian(prefix)) {
		return CW_BGP_REFUSED_MARTIAN;
	}
	if (conf->refuse.n && cw_bgp_filters_match(&conf->refuse, prefix))
		return CW_BGP_REFUSED_LISTED;
	/* accept-default stands beside accept: the default route need not be named twice. */
	if (conf->accept.n && !is_default(prefix) && !cw_bgp_filters_match(&conf->accept, prefix))
		return CW_BGP_REFUSED_NOT_LISTED;
	return swallows(policy->common, prefix) ? CW_BGP_REFUSED_SWALLOWS : CW_BGP_ADMITTED;
}

/* ---- out ---- */

static int by_prefix(const void *a, const void *b)
{
	return cw_prefix_compare(a, b);
}

static bool announced(const struct cw_prefixes *sorted, const struct cw_prefix *prefix)
{
	return sorted->n && bsearch(prefix, sorted->v, sorted->n, sizeof(*sorted->v), by_prefix);
}

static bool named(const struct cw_prefixes *list, const struct cw_prefix *prefix)
{
	for (size_t i = 0; i < list->n; i++) {
		if (cw_prefix_compare(&list->v[i], prefix) == 0)
			return true;
	}
	return false;
}

static bool inside(const struct cw_prefixes *list, const struct cw_prefix *prefix)
{
	for (size_t i = 0; i < list->n; i++) {
		if (cw_prefix_covers(&list->v[i], prefix))
			return true;
	}
	return false;
}

static bool is_transit(const struct cw_bgp_policy *p, const struct cw_site_conf *from)
{
	for (size_t i = 0; i < p->conf->transit.n; i++) {
		if (strcmp(p->conf->transit.v[i], from->name) == 0)
			return true;
	}
	return false;
}

uint8_t cw_bgp_policy_admit(void *user, const struct cw_prefix *prefix,
			    const struct cw_bgp_winner *best, uint8_t *ret_class)
{
	const struct cw_bgp_policy *p = user;
	const struct cw_prefixes *aggregates = p->common->aggregates;
	const struct cw_site_conf *from = p->site_of(p->arg, best->source);
	bool aggregate = named(aggregates, prefix);

	*ret_class = 0;
	if (!from) {
		if (aggregate)
			return CW_BGP_ADMITTED;
		if (!announced(&p->announce, prefix))
			return CW_BGP_REFUSED_NOT_ANNOUNCED;
		/* What `announce` names goes out, also where an aggregate covers it. */
		return CW_BGP_ADMITTED;
	}
	if (from == p->site)
		return CW_BGP_REFUSED_SAME_SITE;
	if (!is_transit(p, from))
		return CW_BGP_REFUSED_NO_TRANSIT;
	if (!aggregate && inside(aggregates, prefix))
		return CW_BGP_REFUSED_AGGREGATED;
	return CW_BGP_ADMITTED;
}

static bool has_community(const struct cw_bgp_attrs_view *view, uint32_t wanted)
{
	struct cw_cursor c = cw_cursor_of(view->communities);

	while (cw_cursor_left(&c) >= 4) {
		if (cw_get_u32(&c) == wanted)
			return true;
	}
	return false;
}

/* RFC 1997, and NO_EXPORT_SUBCONFED, which without confederations says the same */
static bool forbidden(const struct cw_bgp_attrs_view *view, bool ibgp)
{
	return has_community(view, 0xffffff02) ||
	       (!ibgp && (has_community(view, 0xffffff01) || has_community(view, 0xffffff03)));
}

/* RFC 9234 5, egress: nothing that is only for customers goes to a provider, a peer or a route server. */
static bool otc_forbids(const struct cw_bgp_policy *p, const struct cw_bgp_attrs_view *view)
{
	return view->has_otc && (p->conf->role == CW_BGP_ROLE_CONF_CUSTOMER ||
				 p->conf->role == CW_BGP_ROLE_CONF_PEER ||
				 p->conf->role == CW_BGP_ROLE_CONF_RS_CLIENT);
}

/* RFC 9234 5, egress: to a customer, a peer or a route server's client, our number is put on. */
static bool gives_otc(const struct cw_bgp_policy *p, const struct cw_bgp_attrs_view *view)
{
	return !view->has_otc && (p->conf->role == CW_BGP_ROLE_CONF_PROVIDER ||
				  p->conf->role == CW_BGP_ROLE_CONF_PEER ||
				  p->conf->role == CW_BGP_ROLE_CONF_RS);
}

uint8_t cw_bgp_policy_map(void *user, uint16_t source, const struct cw_bgp_attrs_view *attrs,
			  const struct cw_addr *next_hop, enum cw_bgp_family family, uint8_t class,
			  uint8_t *buf, size_t size, size_t *ret_len, struct cw_addr *ret_next_hop)
{
	const struct cw_bgp_policy *p = user;
	const struct cw_bgp_conf *conf = p->conf;
	bool ibgp = p->peer_asn == p->common->asn;
	struct cw_bgp_attrs_edit edit = {
		.prepend_asn = p->common->asn,
		.prepend_n = ibgp ? 0 : 1 + conf->prepend,
		/* RFC 4271 5.1.4: a MED is for the neighbour it was given to */
		.drop_med = !ibgp,
		.set_med = conf->med != CW_BGP_MED_NONE,
		.med = (uint32_t)conf->med,
		.drop_local_pref = !ibgp,
		.set_local_pref = ibgp && !attrs->has_local_pref,
		.local_pref = CW_BGP_LOCAL_PREF_DEFAULT,
		.drop_unknown_non_transitive = true,
		.add_communities = { conf->communities.v, conf->communities.n },
		.add_large_communities = { conf->large_communities.v, conf->large_communities.n },
		.set_otc = !ibgp && gives_otc(p, attrs),
		.otc = p->common->asn,
		.drop_reflector = !ibgp,
	};

	(void)source;
	(void)class;
	(void)next_hop; /* ourselves, always: the tunnels' far ends know no other way */
	if (p->next_hop[family].family == CW_FAMILY_NONE)
		return CW_BGP_REFUSED_NEXT_HOP;
	if (forbidden(attrs, ibgp))
		return CW_BGP_REFUSED_NO_ADVERTISE;
	if (!ibgp && otc_forbids(p, attrs))
		return CW_BGP_REFUSED_OTC;
	if (!ibgp && cw_bgp_path_has(attrs->as_path, p->peer_asn))
		return CW_BGP_REFUSED_PEER_AS;
	*ret_len = cw_bgp_attrs_edit(attrs->wire, &edit, buf, size);
	if (!*ret_len)
		return CW_BGP_REFUSED_TOO_LONG;
	*ret_next_hop = p->next_hop[family];
	return CW_BGP_ADMITTED;
}
