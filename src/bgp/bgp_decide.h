/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_decide: which of the paths to one prefix is the best, and at which step each of the others lost.
 *
 * RFC 4271 9.1.2.2 with RFC 4456 section 9: each step takes out every path that is worse than the best of those
 * still there. MED is compared among paths by the same neighbouring AS alone; since all are looked at together
 * and not two by two, the order in which they came plays no part. RFC 5004 (stay with the older) is not
 * used: the same paths give the same best, always.
 */
#ifndef CW_BGP_DECIDE_H
#define CW_BGP_DECIDE_H

#include "bgp/bgp_store.h"

#define CW_BGP_MULTIPATH_MAX 8

enum cw_bgp_step { /* the number is the step's in bgp_decide.c, in tests and for people */
	CW_BGP_STEP_NONE = 0,	     /* did not lose: the best */
	CW_BGP_STEP_USABLE = 1,	     /* policy refused it, or its source is gone */
	CW_BGP_STEP_OWN = 2,	     /* routes of this gateway come before learned ones */
	CW_BGP_STEP_LOCAL_PREF = 3,  /* highest LOCAL_PREF; RFC 4271 9.1.1 */
	CW_BGP_STEP_PATH_LEN = 4,    /* shortest AS_PATH; 9.1.2.2 a */
	CW_BGP_STEP_ORIGIN = 5,	     /* lowest ORIGIN; b */
	CW_BGP_STEP_MED = 6,	     /* lowest MED among the same neighbouring AS; c */
	CW_BGP_STEP_EBGP = 7,	     /* eBGP before iBGP; d */
	CW_BGP_STEP_COST = 8,	     /* lowest interior cost; e. Multipath: equal up to here */
	CW_BGP_STEP_ROUTER_ID = 9,   /* lowest BGP Identifier, or ORIGINATOR_ID; f */
	CW_BGP_STEP_CLUSTER_LEN = 10, /* shortest CLUSTER_LIST; RFC 4456 9 */
	CW_BGP_STEP_ADDRESS = 11,    /* lowest peer address; g */
	CW_BGP_STEPS = 12,
};

/* "longer AS path": why a path lost, in words. Never NULL. */
const char *cw_bgp_step_name(enum cw_bgp_step step);

/* Who a path is from, as far as decision minds. */
struct cw_bgp_source_conf {
	bool own;		/* this gateway itself; the rest but cost is not looked at */
	bool ibgp;
	bool balance;		/* multipath among the sources of its group */
	uint16_t group;		/* multipath only within one: the site */
	uint32_t asn;
	uint32_t router_id;	/* host order */
	uint32_t cost;		/* the tunnel's metric, taken as interior cost */
	struct cw_addr address; /* of the peer */
};

struct cw_bgp_candidate {
	const struct cw_bgp_set *set;
	const struct cw_bgp_source_conf *source;
	uint16_t index;		 /* the source's: the last tie-break, where addresses are equal */
	bool usable;
	/* results */
	uint8_t lost_at;	 /* enum cw_bgp_step */
	bool multipath;		 /* used beside the best, or the best itself where there are others */
};

/* Fills in the results. Returns the index of the best; n where no path is usable. At most
 * CW_BGP_MULTIPATH_MAX get `multipath`, the best of them by the later steps. */
size_t cw_bgp_decide(struct cw_bgp_candidate *c, size_t n);

#endif
