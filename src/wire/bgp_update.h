/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_update: the UPDATE message in both directions.
 *
 * Decoding judges by RFC 7606 and 7607: the message is read to its end whatever is wrong inside, each
 * fault is noted with its attribute, place and verdict, and the gravest verdict is the message's. Only what
 * breaks the framing costs the session. Own AS in the path, first AS, odd next hops and limits are policy and
 * belong to src/bgp.
 */
#ifndef CW_WIRE_BGP_UPDATE_H
#define CW_WIRE_BGP_UPDATE_H

#include "wire/bgp_attr.h"

/* What the session has agreed on; the bytes mean different things with it. */
struct cw_bgp_codec {
	bool as4;			 /* both sides said capability 65 */
	bool ibgp;
	bool family[CW_BGP_FAMILIES];	 /* agreed by both */
	bool ext_next_hop;		 /* RFC 8950, agreed by both */
	size_t max;			 /* longest message: CW_BGP_MSG_MAX or the extended one */
};

struct cw_bgp_fault {
	uint8_t type, flags;	  /* of the attribute; type 0: not in an attribute */
	enum cw_bgp_verdict verdict;
	uint8_t subcode;	  /* of CW_BGP_E_UPDATE, for a NOTIFICATION or the log */
	struct cw_span bytes;	  /* the attribute whole, or what could be read of it */
	const char *why;	  /* static */
};

#define CW_BGP_FAULTS_MAX 8

struct cw_bgp_update {
	/* IPv4, checked: cw_bgp_prefix_get() will not fail on them; empty where IPv4 is not agreed */
	struct cw_span withdrawn, nlri;
	struct cw_addr next_hop;	/* NEXT_HOP; family NONE: not there */
	struct {
		bool present;
		enum cw_bgp_family family; /* CW_BGP_FAMILIES: not agreed, to be ignored */
		struct cw_addr next_hop;   /* the global one */
		struct cw_addr link_local; /* of a 32-octet next hop; family NONE: none */
		struct cw_span nlri;	   /* checked */
	} reach;
	struct {
		bool present;
		enum cw_bgp_family family;
		struct cw_span nlri;
	} unreach;
	bool end_of_rib;		/* RFC 4724 2 */
	enum cw_bgp_family eor_family;	/* CW_BGP_FAMILIES: not agreed */

	/* Its spans point into `scratch`; set when there are routes to take: of an agreed family, and
	 * with a verdict of DISCARD or better. */
	struct cw_bgp_attrs_view attrs;
	/* The gravest of the faults; where that is WITHDRAW and no routes are announced, RESET: the routes
	 * meant may be what was lost (RFC 7606 5.2). */
	enum cw_bgp_verdict verdict;
	struct cw_bgp_fault faults[CW_BGP_FAULTS_MAX];
	size_t n_faults;		/* all of them, also those beyond the array */
	/* The canonical attributes can be longer than the message: 2-octet paths double. */
	uint8_t scratch[2 * CW_BGP_MSG_EXTENDED_MAX];
};

/*
 * in: the body, after the header. CW_OK: ret_update is whole; look at its verdict (ACCEPT, DISCARD or
 * WITHDRAW: then treat nlri and reach as withdrawn too). CW_E_PEER: RESET; reterr says what to notify
 * and ret_update->faults why. The result is large: keep one per thread, not on the stack.
 */
enum cw_rc cw_bgp_update_decode(struct cw_span in, const struct cw_bgp_codec *codec,
				struct cw_bgp_update *ret_update, struct cw_bgp_err *reterr);

/* ---- encoding: prefixes that share attributes, packed into as few messages as it takes ---- */

struct cw_bgp_encoder {
	struct cw_writer w;
	enum cw_bgp_family family;
	bool withdraw;
	size_t attrs_len_at, mp_len_at, withdrawn_len_at, tail_len; /* private */
	bool any;
};

/*
 * Begins a message in buf (codec->max octets or more). attrs: canonical; next_hop: for announcements. IPv4 with an
 * IPv4 next hop uses NLRI, everything else MP_REACH_NLRI. Toward a peer without 4-octet numbers AS_PATH gets
 * AS_TRANS and AS4_PATH is added (RFC 6793 4.2.2). CW_E_TOO_BIG: the attributes leave no room for a prefix.
 */
enum cw_rc cw_bgp_encode_announce(struct cw_bgp_encoder *e, const struct cw_bgp_codec *codec,
				  enum cw_bgp_family family, struct cw_span attrs,
				  const struct cw_addr *next_hop, uint8_t *buf);
void cw_bgp_encode_withdraw(struct cw_bgp_encoder *e, const struct cw_bgp_codec *codec,
			    enum cw_bgp_family family, uint8_t *buf);
/* Host bits are cleared. False: it does not fit any more; finish and begin another. */
bool cw_bgp_encode_prefix(struct cw_bgp_encoder *e, const struct cw_prefix *prefix);
/* Length of the message with its header; 0 when it holds no prefix. Multiprotocol routes come first in the
 * attributes, RFC 7606 5.1. */
size_t cw_bgp_encode_finish(struct cw_bgp_encoder *e);
size_t cw_bgp_end_of_rib_encode(enum cw_bgp_family family, uint8_t *buf, size_t size);

#endif
