/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_out_priv: what the files of the Adj-RIB-Out share: bgp_out.c (walks, messages), bgp_out_entry.c (entries and
 * the lists they wait in), bgp_out_map.c (export policy with a memory).
 */
#ifndef CW_BGP_OUT_PRIV_H
#define CW_BGP_OUT_PRIV_H

#include "bgp/bgp_out.h"
#include "bgp/bgp_table.h"

enum cw_out_place {
	CW_OUT_FREE,	 /* of the slab; chained by next */
	CW_OUT_IDLE,	 /* the peer has what it shall have */
	CW_OUT_ANNOUNCE, /* waits in the group of its attributes */
	CW_OUT_WITHDRAW, /* waits; with `wanted` it is surplus after that */
	CW_OUT_SURPLUS,	 /* the peer has it not; waits for room under the limit */
};

/* A prefix that the peer has, or shall have. Handles are held. */
struct cw_out_entry {
	uint32_t sent;	 /* attributes as last sent; 0: the peer has it not */
	uint32_t wanted; /* as they shall be; 0: it shall not have it */
	uint32_t next, prev; /* in its list; numbers, 0: end */
	uint8_t place;	 /* enum cw_out_place */
	bool again;	 /* to be sent though nothing changed: a refresh */
	uint8_t len;
	uint8_t addr[]; /* 4 or 16 octets */
};

/* Announcements with the same attributes. */
struct cw_out_group {
	uint32_t attrs;
	uint32_t head;	 /* of its entries */
	uint32_t chain;	 /* in its bucket, or of free groups */
	uint32_t next, prev; /* in the queue of groups */
};

struct cw_out_side {
	enum cw_bgp_family family;
	struct cw_bgp_out_count count;
	/* entries: a slab in chunks, found through the index */
	struct cw_bgp_table *index; /* prefix -> number */
	uint8_t **chunks;
	size_t entry_size;
	uint32_t n_chunks, fresh, free_entry, n_entries;
	uint32_t n_counted; /* idle or to be announced: what the limit is about */
	uint32_t limit;	    /* 0: none */
	/* lists */
	uint32_t withdraw, surplus; /* heads */
	struct cw_out_group *groups; /* numbers from 1 */
	uint32_t *buckets;	     /* as many as there is room for groups: a power of two */
	uint32_t groups_room, groups_fresh, free_group;
	uint32_t first_group, last_group;
	/* what goes on */
	bool agreed;	 /* the session carries the family */
	uint32_t cleared; /* entries forgotten so far, after a session */
	bool walking, walk_begun;
	struct cw_prefix walk_at;
	bool refresh_wanted, refresh_enhanced; /* begins after End-of-RIB */
	uint32_t refresh_at; /* the next entry to be queued again; 0: no such walk */
	bool begin_due, end_due; /* RFC 7313: BoRR, EoRR */
	bool end_of_rib_due;
};

#define CW_OUT_MAP_MIN 64
#define CW_OUT_MAP_MAX 65536

struct cw_out_mapped {
	uint32_t attrs, mapped; /* held; attrs 0: empty; mapped 0: refused */
	uint16_t source;
	uint8_t class, family;
};

/* Remembers what map() said. */
struct cw_out_memory {
	struct cw_out_mapped *places;
	size_t size; /* a power of two, or 0 */
};

struct cw_bgp_out {
	struct cw_bgp_rib *rib;
	struct cw_bgp_store *store;
	struct cw_bgp_export export;
	uint16_t source;
	bool running;  /* between start() and stop() */
	bool clearing; /* forgets an earlier session; start() waits for it */
	struct cw_bgp_codec codec;
	uint32_t limit;
	struct cw_out_side side[CW_BGP_FAMILIES];
	struct cw_out_memory memory;
};

/* ---- entries ---- */

struct cw_out_entry *cw_out_entry_at(const struct cw_out_side *side, uint32_t number);
void cw_out_entry_prefix(const struct cw_out_side *side, const struct cw_out_entry *entry,
			 struct cw_prefix *ret_prefix);
/* The peer shall have this prefix with these attributes (a handle, which is referenced if kept), 0: not. */
enum cw_rc cw_out_want(struct cw_bgp_out *out, struct cw_out_side *side,
		       const struct cw_prefix *prefix, uint32_t wanted);
/* What the peer has is to be sent again; a number without an entry is taken. */
enum cw_rc cw_out_again(struct cw_out_side *side, uint32_t number);
/* What an entry waited for is in a message now. */
void cw_out_sent(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t number);
/* It can't be sent: as if policy had refused it. */
void cw_out_refuse(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t number);
void cw_out_set_limit(struct cw_out_side *side, uint32_t limit);
/* Forgets up to n entries; true: some are left. At the end the side is as new, its family and sizes kept. */
bool cw_out_clear(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t n);
size_t cw_out_side_memory(const struct cw_out_side *side);

/* ---- policy ---- */

/* What is to be said to the peer of this state of a prefix: a handle with a reference for the caller; 0: nothing. */
enum cw_rc cw_out_map(struct cw_bgp_out *out, enum cw_bgp_family family,
		      const struct cw_bgp_change *change, uint32_t *ret_wanted);
void cw_out_map_forget(struct cw_bgp_out *out);

#endif
