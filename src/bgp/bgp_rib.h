/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_rib: the routes: what each neighbour announced (Adj-RIB-In, after policy) and the best of it (Loc-RIB).
 *
 * A path is (prefix, source): an attribute set in the store, and whether policy refused it. Refused paths are
 * kept, so that people see them and their reason; they count as received. Source 0 is this gateway itself.
 *
 * Changes. A prefix whose best path or multipath set changed is queued, once, until cw_bgp_rib_next_change()
 * takes it; what that returns is the state at that time, which may be what was there before. Each entry holds a
 * `fib` tag that belongs to the caller: what is in the kernel for it, 0 for nothing. An entry without paths
 * stays until its tag is 0 and its change is taken.
 *
 * Long work is done in slices by cw_bgp_rib_work(): forgetting a source's routes, the stale ones, deciding anew
 * after its cost changed. Their start is O(1).
 *
 * 500,000 mixed IPv4 prefixes of one source take 22 (sorted) to 28 (random order) octets each, FIB tag and path
 * included, and their 62,500 attribute sets 6.6 MB: tests/bench/bgp_tables.c measures it.
 * Pure; one thread. Caps: paths per source and family (max_paths), sources (CW_BGP_SOURCES_MAX).
 */
#ifndef CW_BGP_RIB_H
#define CW_BGP_RIB_H

#include "bgp/bgp_decide.h"
#include "bgp/bgp_store.h"

#define CW_BGP_SOURCES_MAX 1024
#define CW_BGP_REFUSALS_MAX 64 /* reasons of refusal: 1 to 63; 0: accepted. Named by bgp_policy.h */

struct cw_bgp_rib;

/* store: borrowed, outlives the rib. NULL: no memory. */
struct cw_bgp_rib *cw_bgp_rib_new(struct cw_bgp_store *store);
void cw_bgp_rib_free(struct cw_bgp_rib *rib); /* gives all references back; takes NULL */

/* ---- sources ---- */

/* A source given to a call must exist. */

/* Per source and family. */
struct cw_bgp_rib_count {
	uint32_t received; /* all paths, refused ones too */
	uint32_t accepted;
	uint32_t selected; /* best, or used beside it */
	uint32_t stale;	   /* not heard again since cw_bgp_rib_stale() or _drop() */
	uint32_t refused[CW_BGP_REFUSALS_MAX];
};

/* A new source; index 0 exists from the start as own. max_paths: per family; 0: no cap. CW_E_TOO_BIG: too many. */
enum cw_rc cw_bgp_rib_add_source(struct cw_bgp_rib *rib, const struct cw_bgp_source_conf *conf,
				 uint32_t max_paths, uint16_t *ret_source);
/* Another conf for a source: router id and cost become known or change. Where decision minds, its prefixes are
 * decided anew by cw_bgp_rib_work(). */
void cw_bgp_rib_set_source(struct cw_bgp_rib *rib, uint16_t source,
			   const struct cw_bgp_source_conf *conf, uint32_t max_paths);
const struct cw_bgp_source_conf *cw_bgp_rib_source(const struct cw_bgp_rib *rib, uint16_t source);
/* Its index may be given to another after this. CW_E_BUSY: it still has paths; drop them and work on. */
enum cw_rc cw_bgp_rib_remove_source(struct cw_bgp_rib *rib, uint16_t source);
const struct cw_bgp_rib_count *cw_bgp_rib_count(const struct cw_bgp_rib *rib, uint16_t source,
						enum cw_bgp_family family);

/* ---- paths ---- */

enum cw_bgp_rib_what {
	CW_BGP_RIB_NEW,
	CW_BGP_RIB_REPLACED,
	CW_BGP_RIB_SAME, /* it was there already, not stale any more */
};

/*
 * attrs: a handle that the caller holds; the rib takes a reference of its own. refused: the reason, 0: accepted.
 * CW_E_TOO_BIG: beyond the source's max_paths; nothing changed. CW_E_NO_MEMORY: nothing changed.
 */
enum cw_rc cw_bgp_rib_set(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint16_t source,
			  uint32_t attrs, uint8_t refused, enum cw_bgp_rib_what *ret_what);
/* False: there was no such path. */
bool cw_bgp_rib_withdraw(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint16_t source);

/* ---- a source comes and goes ---- */

/* All paths of the source become stale (RFC 4724): still used, until they are set again or swept. O(1). */
void cw_bgp_rib_stale(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family);
/* The stale paths are to go; cw_bgp_rib_work() does it. What is set from now on is not touched. O(1). */
void cw_bgp_rib_sweep(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family);
/* All paths are to go: stale() and sweep() in one. */
void cw_bgp_rib_drop(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family);
/* Is anything of this source still to be swept or decided anew? */
bool cw_bgp_rib_busy(const struct cw_bgp_rib *rib, uint16_t source);
/* Looks at about `budget` entries (4,096: 1 to 2 ms when all of them go). False: nothing is left to do. */
bool cw_bgp_rib_work(struct cw_bgp_rib *rib, size_t budget);

/* ---- changes ---- */

struct cw_bgp_winner {
	uint16_t source;
	uint32_t attrs; /* borrowed: held by the rib until the prefix changes again */
};

struct cw_bgp_change {
	struct cw_prefix prefix;
	uint32_t fib;	/* the caller's tag */
	size_t n;	/* 0: no usable path */
	struct cw_bgp_winner winners[CW_BGP_MULTIPATH_MAX]; /* the best first, then the others by source */
};

/* Takes a change; false: none is queued. */
bool cw_bgp_rib_next_change(struct cw_bgp_rib *rib, struct cw_bgp_change *ret_change);
size_t cw_bgp_rib_changes(const struct cw_bgp_rib *rib); /* queued */
/* Queues a prefix again, as if it had changed: the caller could not carry it out. False: it is not there. */
bool cw_bgp_rib_touch(struct cw_bgp_rib *rib, const struct cw_prefix *prefix);
/* The tag of an entry; CW_E_NOT_FOUND where there is none (then nothing may be in the kernel for it). An entry
 * without paths goes with tag 0. */
enum cw_rc cw_bgp_rib_set_fib(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint32_t fib);

/* ---- looking ---- */

struct cw_bgp_path {
	uint16_t source;
	uint32_t attrs;	  /* borrowed, as above */
	uint8_t refused;  /* 0: accepted */
	uint8_t lost_at;  /* enum cw_bgp_step; 0: the best */
	bool multipath;	  /* used, though it may have lost at a later step than CW_BGP_STEP_COST */
	bool stale;
};

/* The state of one prefix, as a change. False: it is not there. */
bool cw_bgp_rib_find(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
		     struct cw_bgp_change *ret_state);
/* All paths to a prefix with the step where each lost, the used ones first. Returns how many there are, of which
 * the first `max` were written. */
size_t cw_bgp_rib_paths(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
			struct cw_bgp_path *paths, size_t max);
/* The next entry in order (bgp_table.h); after: NULL for the first. False at the end. */
bool cw_bgp_rib_next(struct cw_bgp_rib *rib, enum cw_bgp_family family,
		     const struct cw_prefix *after, struct cw_bgp_change *ret_state);
/* The longest prefix with a usable path that covers this one. False: none. */
bool cw_bgp_rib_cover(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
		      struct cw_bgp_change *ret_state);
/* Entries, and octets of memory (the store's not counted). */
size_t cw_bgp_rib_entries(const struct cw_bgp_rib *rib, enum cw_bgp_family family);
size_t cw_bgp_rib_memory(const struct cw_bgp_rib *rib);

#endif
