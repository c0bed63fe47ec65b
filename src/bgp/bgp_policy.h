/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_policy: which routes are taken from a neighbour, and what is told to it.
 *
 * Import looks at an UPDATE twice: once at what its routes share (attributes, next hop), once at each
 * prefix. Export is the struct cw_bgp_export of bgp_out.h: a prefix may go out if it is one of the neighbour's
 * `announce`, an aggregate, or was learned from a site that its `transit` names (RFC 8212: nothing else, so
 * that no accident makes us the way between two sites).
 *
 * A refusal is a number below CW_BGP_REFUSALS_MAX with a name and a sentence. Refused routes are kept in the
 * RIB with it, for people.
 *
 * Pure; loop thread. What the structs point to is borrowed.
 */
#ifndef CW_BGP_BGP_POLICY_H
#define CW_BGP_BGP_POLICY_H

#include "bgp/bgp_out.h"
#include "conf/conf.h"

enum cw_bgp_refusal {
	CW_BGP_ADMITTED = 0,
	/* in: what the routes of an UPDATE share */
	CW_BGP_REFUSED_OWN_AS,	   /* our AS number is in the path (RFC 4271 9.1.2) */
	CW_BGP_REFUSED_FIRST_AS,   /* the path does not begin with the peer's (RFC 4271 6.3) */
	CW_BGP_REFUSED_NEXT_HOP,   /* no machine can have that next hop, or it is missing */
	CW_BGP_REFUSED_NEXT_HOP_OWN, /* it is one of our addresses */
	CW_BGP_REFUSED_LEAK,	   /* OTC says that the route should not come from there (RFC 9234 5) */
	/* in: one prefix */
	CW_BGP_REFUSED_MARTIAN,	   /* loopback, link-local, multicast, reserved */
	CW_BGP_REFUSED_DEFAULT,	   /* a default route, or half of one, without accept-default */
	CW_BGP_REFUSED_LISTED,	   /* `refuse` names it */
	CW_BGP_REFUSED_NOT_LISTED, /* `accept` does not */
	CW_BGP_REFUSED_SWALLOWS,   /* it would lead a tunnel's outer address into a tunnel */
	/* out */
	CW_BGP_REFUSED_NOT_ANNOUNCED, /* an own network that is not for this neighbour */
	CW_BGP_REFUSED_NO_TRANSIT, /* learned, and `transit` does not name the site */
	CW_BGP_REFUSED_SAME_SITE,  /* learned from the very site */
	CW_BGP_REFUSED_AGGREGATED, /* an aggregate is announced in its place */
	CW_BGP_REFUSED_NO_ADVERTISE, /* community no-advertise, or no-export toward another AS (RFC 1997) */
	CW_BGP_REFUSED_OTC,	   /* only to customers (RFC 9234 5) */
	CW_BGP_REFUSED_PEER_AS,	   /* the peer's AS number is in the path: it would refuse it */
	CW_BGP_REFUSED_TOO_LONG,   /* the attributes don't fit a message */
	CW_BGP_REFUSAL_COUNT,
};

/* "own-as", and "our own AS number is in the path". Never NULL. */
const char *cw_bgp_refusal_name(enum cw_bgp_refusal refusal);
const char *cw_bgp_refusal_text(enum cw_bgp_refusal refusal);

/* Does the list hold the prefix? */
bool cw_bgp_filters_match(const struct cw_filters *filters, const struct cw_prefix *prefix);

/* What all neighbours share. */
struct cw_bgp_policy_common {
	uint32_t asn;			   /* ours */
	const struct cw_addr *outer;	   /* tunnels' outer addresses of the peers, now */
	size_t n_outer;
	bool outer_guarded;		   /* learned routes can't catch them: they are in a table of their own */
	const struct cw_addr *peers;	   /* of all neighbours, each of which has a host route of ours */
	size_t n_peers;
	const struct cw_addr *own;	   /* addresses of this machine that a peer could name as next hop */
	size_t n_own;
	const struct cw_prefixes *aggregates;
};

/* One neighbour. */
struct cw_bgp_policy {
	const struct cw_bgp_policy_common *common;
	const struct cw_bgp_conf *conf;
	const struct cw_site_conf *site;
	struct cw_prefixes announce; /* of the conf, in the order of cw_prefix_compare() */
	uint32_t peer_asn;
	struct cw_addr next_hop[CW_BGP_FAMILIES]; /* that we announce: ourselves; family NONE: can't */
	/* site of a source of the rib; NULL: our own routes */
	const struct cw_site_conf *(*site_of)(void *arg, uint16_t source);
	void *arg;
};

/* ---- in ---- */

/*
 * What the routes of one message share. next_hop: of the family's routes. buf: for the attributes as they
 * go into the RIB: LOCAL_PREF of ours set (eBGP), OTC added where RFC 9234 says so. Returns the refusal, or
 * ADMITTED; ret_view is the changed attributes in both cases, so that a refused route can be shown.
 * CW_BGP_REFUSED_TOO_LONG: buf is too small, ret_view is the view as it came.
 */
enum cw_bgp_refusal cw_bgp_policy_import(const struct cw_bgp_policy *policy,
					 const struct cw_bgp_attrs_view *view,
					 const struct cw_addr *next_hop, uint8_t *buf, size_t size,
					 struct cw_bgp_attrs_view *ret_view);

/* One prefix of it. */
enum cw_bgp_refusal cw_bgp_policy_import_prefix(const struct cw_bgp_policy *policy,
						const struct cw_prefix *prefix);

/* ---- out ---- */

/* The halves of struct cw_bgp_export; user: struct cw_bgp_policy. */
uint8_t cw_bgp_policy_admit(void *user, const struct cw_prefix *prefix,
			    const struct cw_bgp_winner *best, uint8_t *ret_class);
uint8_t cw_bgp_policy_map(void *user, uint16_t source, const struct cw_bgp_attrs_view *attrs,
			  const struct cw_addr *next_hop, enum cw_bgp_family family, uint8_t class,
			  uint8_t *buf, size_t size, size_t *ret_len, struct cw_addr *ret_next_hop);

#endif
