/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_route_view: copies of neighbours and routes, for whoever shows them. Values only, no pointers but in a
 * query and to a route's octets; texts that came from a peer are printable already. Holds no secret.
 */
#ifndef CW_BGP_BGP_ROUTE_VIEW_H
#define CW_BGP_BGP_ROUTE_VIEW_H

#include "bgp/bgp_peer_view.h"

#define CW_BGP_VIEW_REFUSALS_MAX 24

/* Stable name of a reason why routes are refused, "own-as". Never NULL. */
const char *cw_bgp_view_refusal_name(size_t i);

/* How many prefixes of one family went which way. */
struct cw_bgp_view_routes {
	uint32_t received;  /* that the peer has announced */
	uint32_t accepted;  /* and we use, or could */
	uint32_t selected;  /* the best, or used beside it */
	uint32_t stale;
	uint32_t announced; /* that it has from us */
	uint32_t pending;   /* to be sent */
	uint32_t surplus;   /* held back by announce-limit */
	uint32_t refused[CW_BGP_VIEW_REFUSALS_MAX]; /* index: enum cw_bgp_refusal */
};

/* One neighbour: its session, and its routes. */
struct cw_bgp_neighbour_view {
	struct cw_bgp_peer_view peer;
	char site[CW_NAME_MAX + 1];
	char ifname[CW_IFNAME_SIZE];
	bool net_up;		 /* its tunnel carries traffic */
	bool own_networks;	 /* there is something to announce */
	struct cw_bgp_view_routes routes[CW_BGP_FAMILIES];
	/* faults in its UPDATEs, by what RFC 7606 made of them */
	uint64_t attrs_discarded, treated_as_withdrawn;
	char last_fault[CW_BGP_VIEW_TEXT_MAX]; /* attribute, what was wrong, its octets; "" for none */
	int64_t last_fault_wall_s;
};

enum cw_bgp_route_kind {
	CW_BGP_ROUTES_ALL,	  /* every path, the best first */
	CW_BGP_ROUTES_BEST,	  /* those in use */
	CW_BGP_ROUTES_RECEIVED,	  /* what one neighbour announced, refused ones too */
	CW_BGP_ROUTES_ADVERTISED, /* what one neighbour has from us */
};

struct cw_bgp_route_query {
	enum cw_bgp_route_kind kind;
	bool has_peer;
	size_t peer;		 /* index of the neighbour; RECEIVED and ADVERTISED need one */
	bool has_prefix;
	struct cw_prefix prefix; /* this one, what is inside it, and the longest that covers it */
	bool has_after;
	struct cw_prefix after;	 /* the page begins behind this one; IPv4 comes before IPv6 */
	size_t max;		 /* prefixes in a page, 1 to 1000 */
};

#define CW_BGP_ROUTE_PATH_TEXT_MAX 512
#define CW_BGP_ROUTE_COMMUNITIES_TEXT_MAX 512

struct cw_bgp_route_view {
	struct cw_prefix prefix;
	bool own;			 /* this gateway's */
	char neighbour[CW_TUNNEL_NAME_MAX + 1]; /* "" for our own */
	struct cw_addr from;		 /* the neighbour's address */
	struct cw_addr next_hop;
	bool best, multipath, stale, installed;
	bool foreign;			 /* not installed: somebody else's route is in the way */
	uint8_t refused; /* enum cw_bgp_refusal: policy does not want it; 0: it does */
	/* why it is not used: "" for one that is; "longer AS path", "accept does not name it" */
	char why_not[CW_BGP_VIEW_TEXT_MAX];
	uint8_t origin;
	bool has_med, has_local_pref;
	uint32_t med, local_pref;
	char as_path[CW_BGP_ROUTE_PATH_TEXT_MAX];
	char communities[CW_BGP_ROUTE_COMMUNITIES_TEXT_MAX];
	char large_communities[CW_BGP_ROUTE_COMMUNITIES_TEXT_MAX];
	struct cw_span attrs; /* canonical, without the next hop; good until the callee returns */
};

#endif
