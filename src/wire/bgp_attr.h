/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_attr: path attributes: one table of what each must look like, and their canonical form.
 *
 * The table in bgp_attr.c has a row for each attribute: flags, lengths, and what RFC 7606 section 7 does
 * when they are wrong. Decoder, printer and test read it.
 *
 * Canonical form. The attributes of a route as octets, for storing, comparing and sending: ascending by
 * type, each once, AS_PATH and AGGREGATOR with 4-octet numbers (AS4_PATH and AS4_AGGREGATOR merged in
 * and gone, RFC 6793 4.2.3), extended length only where it is needed, Partial set on optional transitive
 * ones that we don't know. Without NEXT_HOP, MP_REACH_NLRI and MP_UNREACH_NLRI, which belong to the message.
 */
#ifndef CW_WIRE_BGP_ATTR_H
#define CW_WIRE_BGP_ATTR_H

#include "wire/bgp.h"

enum cw_bgp_attr_type {
	CW_BGP_ATTR_ORIGIN = 1,
	CW_BGP_ATTR_AS_PATH = 2,
	CW_BGP_ATTR_NEXT_HOP = 3,
	CW_BGP_ATTR_MED = 4,
	CW_BGP_ATTR_LOCAL_PREF = 5,
	CW_BGP_ATTR_ATOMIC_AGGREGATE = 6,
	CW_BGP_ATTR_AGGREGATOR = 7,
	CW_BGP_ATTR_COMMUNITIES = 8,	      /* RFC 1997 */
	CW_BGP_ATTR_ORIGINATOR_ID = 9,	      /* RFC 4456 */
	CW_BGP_ATTR_CLUSTER_LIST = 10,
	CW_BGP_ATTR_MP_REACH = 14,
	CW_BGP_ATTR_MP_UNREACH = 15,
	CW_BGP_ATTR_EXT_COMMUNITIES = 16,     /* RFC 4360 */
	CW_BGP_ATTR_AS4_PATH = 17,
	CW_BGP_ATTR_AS4_AGGREGATOR = 18,
	CW_BGP_ATTR_IPV6_EXT_COMMUNITIES = 25, /* RFC 5701 */
	CW_BGP_ATTR_LARGE_COMMUNITIES = 32,   /* RFC 8092 */
	CW_BGP_ATTR_OTC = 35,		      /* RFC 9234 */
};

#define CW_BGP_FLAG_OPTIONAL 0x80
#define CW_BGP_FLAG_TRANSITIVE 0x40
#define CW_BGP_FLAG_PARTIAL 0x20
#define CW_BGP_FLAG_EXTENDED 0x10

enum cw_bgp_origin { CW_BGP_ORIGIN_IGP, CW_BGP_ORIGIN_EGP, CW_BGP_ORIGIN_INCOMPLETE };

/* What RFC 7606 does about a fault, the weakest first. */
enum cw_bgp_verdict {
	CW_BGP_ACCEPT,	 /* nothing wrong */
	CW_BGP_DISCARD,	 /* the attribute is left out, the routes stay */
	CW_BGP_WITHDRAW, /* all routes of the message are treated as withdrawn */
	CW_BGP_RESET,	 /* the session ends with a NOTIFICATION */
};

/* One route's attributes, read: what decision and policy look at. */
struct cw_bgp_attrs_view {
	struct cw_span wire; /* the canonical form; everything below was read from it */
	uint8_t origin;
	bool has_med, has_local_pref, has_otc, atomic, has_originator;
	uint32_t med, local_pref, otc, originator_id;
	uint16_t path_len;	  /* AS_PATH as decision counts it: a set is 1, confederations 0 */
	uint32_t first_as;	  /* leftmost of a leading sequence; 0: none */
	uint32_t origin_as;	  /* rightmost of a closing sequence; 0: none */
	struct cw_span as_path;	  /* value: segments with 4-octet numbers */
	struct cw_span communities, ext_communities, large_communities, cluster_list; /* values */
};

/* Reads a canonical form again. CW_E_INVALID: it is none. */
enum cw_rc cw_bgp_attrs_read(struct cw_span wire, struct cw_bgp_attrs_view *ret_view);

/* Is this AS number anywhere in the path, sets included? */
bool cw_bgp_path_has(struct cw_span as_path, uint32_t asn);
/* How often it stands there. */
unsigned cw_bgp_path_count(struct cw_span as_path, uint32_t asn);

/* "65515 65020 {1 2}"; cut to size with an ellipsis. Returns buf. */
const char *cw_bgp_path_print(struct cw_span as_path, char *buf, size_t size);
/* Communities in their usual notations, separated by blanks. */
const char *cw_bgp_communities_print(struct cw_span communities, char *buf, size_t size);
const char *cw_bgp_large_communities_print(struct cw_span communities, char *buf, size_t size);
const char *cw_bgp_attr_name(uint8_t type);   /* "AS_PATH"; "attribute 213" is for the caller */
const char *cw_bgp_verdict_name(enum cw_bgp_verdict verdict);

/* Changes on the way out (or in); each writes a new canonical form and returns its length, 0: no room. Always
 * enough: the lengths of wire and of what is added, CW_BGP_EDIT_ROOM, and 4 octets for each AS prepended with 2 for
 * each 255 of them. */
#define CW_BGP_EDIT_ROOM 64
struct cw_bgp_attrs_edit {
	uint32_t prepend_asn;	/* put before the path ... */
	unsigned prepend_n;	/* ... so often */
	bool drop_med, set_med;
	uint32_t med;
	bool drop_local_pref, set_local_pref;
	uint32_t local_pref;
	bool drop_unknown_non_transitive; /* always so toward others: RFC 4271 5 */
	bool drop_communities;	/* 8, 16, 25 and 32 */
	bool drop_non_transitive_ext; /* of 16: not across a border between ASes (RFC 4360 6) */
	struct cw_span add_communities; /* values of attribute 8 to be added, 4 octets each */
	struct cw_span add_large_communities; /* 12 octets each */
	bool set_otc; /* where there is none yet (RFC 9234 5) */
	uint32_t otc;
	bool drop_reflector; /* ORIGINATOR_ID and CLUSTER_LIST: not for eBGP */
};
size_t cw_bgp_attrs_edit(struct cw_span wire, const struct cw_bgp_attrs_edit *edit, uint8_t *buf,
			 size_t size);
/* A route of our own: origin IGP, empty path. */
size_t cw_bgp_attrs_own(uint8_t *buf, size_t size);

#endif
