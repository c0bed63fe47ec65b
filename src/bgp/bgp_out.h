/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_out: what one neighbour has been told (Adj-RIB-Out), and what it is still to be told.
 *
 * Works by difference: a prefix is told again only when what is to be said differs from what was said, and
 * a change taken back before it was sent is not sent (BL-127). Each prefix is pending once at most, so a peer
 * that stops reading costs no more than one entry per prefix. Prefixes with the same attributes go out together,
 * in messages as full as they can be; withdrawals go first.
 *
 * The owner tells what changed with cw_bgp_out_update(), lets long walks go on with cw_bgp_out_work(), and pulls
 * whole messages with cw_bgp_out_next() when its socket has room. Until the first walk is through, announcements
 * wait, so that they can be packed.
 *
 * Pure; one thread. Borrowed and outliving it: rib, store, export policy.
 */
#ifndef CW_BGP_OUT_H
#define CW_BGP_OUT_H

#include "bgp/bgp_rib.h"
#include "wire/bgp_update.h"

/*
 * Export policy, in two halves. Both return 0 to go on or the reason of refusal (bgp_policy.h), keep nothing
 * they are given and give the same answer to the same question until cw_bgp_out_policy_changed().
 */
struct cw_bgp_export {
	void *user;
	/* May this prefix with this best path be announced? ret_class: any number that map() shall know, such as the
	 * row of `announce` that matched; 0 unless set. Called for every prefix. */
	uint8_t (*admit)(void *user, const struct cw_prefix *prefix, const struct cw_bgp_winner *best,
			 uint8_t *ret_class);
	/* What is to be said: writes canonical attributes to buf, their length to ret_len, and the next hop. Called
	 * once for a source, attribute set and class, then remembered while there is use for it. */
	uint8_t (*map)(void *user, uint16_t source, const struct cw_bgp_attrs_view *attrs,
		       const struct cw_addr *next_hop, enum cw_bgp_family family, uint8_t class,
		       uint8_t *buf, size_t size, size_t *ret_len, struct cw_addr *ret_next_hop);
};

struct cw_bgp_out;

/* Not started. source: the neighbour's own index in the rib; its paths are never sent back to it. */
struct cw_bgp_out *cw_bgp_out_new(struct cw_bgp_rib *rib, struct cw_bgp_store *store,
				  uint16_t source, const struct cw_bgp_export *export);
void cw_bgp_out_free(struct cw_bgp_out *out); /* takes NULL */

/* The session is up: walk the rib and tell all of it, End-of-RIB after that, for each agreed family. limit: prefixes
 * per family that the peer shall have at most, 0: no limit; the surplus is kept back and counted. codec is copied. */
void cw_bgp_out_start(struct cw_bgp_out *out, const struct cw_bgp_codec *codec, uint32_t limit);
/* The session is down: all is forgotten (in slices, by cw_bgp_out_work()). */
void cw_bgp_out_stop(struct cw_bgp_out *out);
/* Another limit, in force at once: a lower one withdraws what is beyond it. */
void cw_bgp_out_set_limit(struct cw_bgp_out *out, uint32_t limit);

/* The rib's best path of this prefix has changed (cw_bgp_rib_next_change()). CW_E_NO_MEMORY: the prefix is not
 * pending; tell it again. */
enum cw_rc cw_bgp_out_update(struct cw_bgp_out *out, const struct cw_bgp_change *change);
/* The export policy answers otherwise now: walk the rib again and send the difference. */
void cw_bgp_out_policy_changed(struct cw_bgp_out *out);
/* The peer asked for all routes of a family again (RFC 2918). enhanced: RFC 7313 is agreed, mark begin and end. */
void cw_bgp_out_refresh(struct cw_bgp_out *out, enum cw_bgp_family family, bool enhanced);

/* Goes on with walks, about `budget` prefixes (4,096: 1 to 3 ms). False: none is under way or wanted. With
 * budget 0 it only tells. What lacked memory is tried again with the next call. */
bool cw_bgp_out_work(struct cw_bgp_out *out, size_t budget);

/* The next message, whole, with its header; 0: nothing to be sent now. buf: codec.max octets or more. What was
 * returned counts as sent. */
size_t cw_bgp_out_next(struct cw_bgp_out *out, uint8_t *buf, size_t size);
bool cw_bgp_out_pending(const struct cw_bgp_out *out); /* would next() return a message? */

struct cw_bgp_out_count {
	uint32_t sent;		/* prefixes the peer has now from us */
	uint32_t pending;	/* announcements and withdrawals to be sent */
	uint32_t surplus;	/* kept back by the limit */
	uint64_t announced;	/* prefixes in all messages so far */
	uint64_t withdrawn;
	bool end_of_rib;	/* sent */
};
const struct cw_bgp_out_count *cw_bgp_out_count(const struct cw_bgp_out *out,
						enum cw_bgp_family family);

enum cw_bgp_out_state {
	CW_BGP_OUT_NONE,    /* not to be announced */
	CW_BGP_OUT_PENDING, /* will be sent, or withdrawn */
	CW_BGP_OUT_SENT,
	CW_BGP_OUT_SURPLUS, /* beyond the limit */
};
/* What the neighbour knows of a prefix. ret_attrs: of what was last sent (borrowed), 0: nothing; may be NULL.
 * For a list in order, walk the rib and ask. */
enum cw_bgp_out_state cw_bgp_out_find(struct cw_bgp_out *out, const struct cw_prefix *prefix,
				      uint32_t *ret_attrs);
size_t cw_bgp_out_memory(const struct cw_bgp_out *out); /* octets */

#endif
