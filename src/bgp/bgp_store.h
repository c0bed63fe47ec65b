/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_store: attribute sets of routes, each kept once.
 *
 * A set is the canonical attributes (wire/bgp_attr.h) and a next hop. Who holds one holds a handle, a
 * number that is not 0, and a reference; equal sets have the same handle, so that comparing routes is
 * comparing numbers. What decision looks at is read once, when the set comes in.
 *
 * Sets lie in slabs, one size class each: 500,000 prefixes with 62,500 sets of 60 octets take 6.6 MB here.
 * A slab is given back when its last set goes. Pure; one thread. The octets of all sets together are capped,
 * since a peer chooses how long its attributes are.
 */
#ifndef CW_BGP_STORE_H
#define CW_BGP_STORE_H

#include "wire/bgp_attr.h"

#define CW_BGP_SET_MAX 65535 /* octets of attributes in one set: none longer can be sent on */

/* What decision looks at. */
struct cw_bgp_set {
	uint32_t refs;		/* private */
	uint32_t hash;		/* private */
	uint32_t local_pref;	/* CW_BGP_LOCAL_PREF_DEFAULT where there is none */
	uint32_t med;		/* 0 where there is none: RFC 4271 9.1.2.2 c */
	uint32_t first_as;	/* the neighbouring AS; 0: empty path or a leading set */
	uint32_t originator_id; /* RFC 4456; valid with has_originator */
	uint16_t wire_len;
	uint16_t path_len;
	uint16_t cluster_len; /* identifiers in the CLUSTER_LIST */
	uint8_t origin;
	uint8_t hop_family : 4; /* enum cw_family of the next hop */
	uint8_t has_originator : 1;
	uint8_t data[]; /* next hop, then attributes; private */
};

struct cw_bgp_store;

/* seed: any number that peers can't know, against chosen collisions. max_octets: cap of all sets together.
 * NULL: no memory. */
struct cw_bgp_store *cw_bgp_store_new(uint64_t seed, size_t max_octets);
void cw_bgp_store_free(struct cw_bgp_store *store); /* whatever is still held; takes NULL */

/*
 * The handle of this set, with one reference for the caller. view: what cw_bgp_attrs_read() or the decoder
 * filled in; its wire is copied. next_hop: family NONE where there is none.
 * CW_E_TOO_BIG: longer than CW_BGP_SET_MAX or beyond the store's cap. CW_E_NO_MEMORY.
 */
enum cw_rc cw_bgp_store_intern(struct cw_bgp_store *store, const struct cw_bgp_attrs_view *view,
			       const struct cw_addr *next_hop, uint32_t *ret_handle);
/* One more reference; returns the handle. 0 is taken and does nothing, here and below. */
uint32_t cw_bgp_store_ref(struct cw_bgp_store *store, uint32_t handle);
void cw_bgp_store_unref(struct cw_bgp_store *store, uint32_t handle);

/* The handle must be held. Pointers are good as long as it is, and the set never moves. */
const struct cw_bgp_set *cw_bgp_store_set(const struct cw_bgp_store *store, uint32_t handle);
struct cw_span cw_bgp_set_wire(const struct cw_bgp_set *set);
struct cw_addr cw_bgp_set_next_hop(const struct cw_bgp_set *set);
/* All of the attributes, read again: for policy and for people. */
void cw_bgp_store_view(const struct cw_bgp_store *store, uint32_t handle,
		       struct cw_bgp_attrs_view *ret_view);

size_t cw_bgp_store_count(const struct cw_bgp_store *store);
size_t cw_bgp_store_octets(const struct cw_bgp_store *store); /* of all sets: what the cap is about */
size_t cw_bgp_store_memory(const struct cw_bgp_store *store); /* octets of memory, all in all */

#endif
