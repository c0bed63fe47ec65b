/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_rib_priv: what the files of the rib share: bgp_rib.c (sources, paths, changes), bgp_rib_entry.c (the paths
 * of one entry and the best of them), bgp_rib_sweep.c (long work in slices).
 */
#ifndef CW_BGP_RIB_PRIV_H
#define CW_BGP_RIB_PRIV_H

#include "bgp/bgp_rib.h"
#include "bgp/bgp_table.h"

/* 12 octets: there are as many as routes. */
struct cw_rib_path {
	uint32_t attrs; /* 0 in an entry: it has no path */
	uint32_t more;	/* the next path, a number in the pool; 0: the last */
	uint16_t source;
	uint8_t refused : 6;
	uint8_t selected : 1;
	uint8_t age_mark; /* the source's `now` when it was heard last */
};

/* A value in the table. Selected paths come first, the best before the others; where none is selected, none
 * is usable. */
struct cw_rib_entry {
	struct cw_rib_path path;
	uint32_t fib;
};

/* Paths beyond an entry's first. Numbers begin at 1. */
struct cw_rib_pool {
	struct cw_rib_path **chunks;
	uint32_t n_chunks, fresh, free_path; /* free ones are chained by `more` */
	uint32_t used;
};

/* One family of a source. A path's age is now - age_mark: 0 is fresh, more is stale; from dead_age on, where
 * that is not 0, it is as good as gone. */
struct cw_rib_side {
	struct cw_bgp_rib_count count;
	uint8_t now, dead_age;
	uint8_t oldest;	     /* no path is older */
	uint32_t dead;	     /* paths */
	uint32_t sweep_pass; /* the pass in whose end none is dead any more */
	uint32_t redecide_pass; /* decide anew what this source has a path to, until the end of this pass; 0: no */
};

struct cw_rib_source {
	struct cw_bgp_source_conf conf;
	uint32_t max_paths;
	struct cw_rib_side side[CW_BGP_FAMILIES];
};

/* A walk over a whole table, in slices. */
struct cw_rib_pass {
	uint32_t number; /* of the one that is running or was the last */
	bool running, again;
	bool begun;
	struct cw_prefix at; /* with begun: how far it is */
};

struct cw_bgp_rib {
	struct cw_bgp_store *store;
	struct cw_bgp_table *table[CW_BGP_FAMILIES];
	struct cw_rib_pass pass[CW_BGP_FAMILIES];
	struct cw_rib_source **sources; /* NULL: number free */
	uint16_t n_sources, sources_room;
	struct cw_rib_pool pool;
	struct cw_bgp_candidate *candidates; /* room for a path of each source */
	struct cw_rib_path *scratch;	     /* likewise */
};

enum cw_bgp_family cw_rib_family(const struct cw_prefix *prefix);
bool cw_rib_is_stale(const struct cw_bgp_rib *rib, enum cw_bgp_family family,
		     const struct cw_rib_path *path);
bool cw_rib_is_dead(const struct cw_bgp_rib *rib, enum cw_bgp_family family,
		    const struct cw_rib_path *path);

/* The path of a source; NULL: none. */
struct cw_rib_path *cw_rib_entry_find(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
				      uint16_t source);
/* The path after this one; NULL: it is the last. */
struct cw_rib_path *cw_rib_path_next(struct cw_bgp_rib *rib, const struct cw_rib_path *path);
/* Adds a copy of path, which takes the reference to its attrs over. False: no memory. */
bool cw_rib_entry_add(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
		      const struct cw_rib_path *path);
/* Takes a path out; the reference to its attrs is given back. path and all others of the entry may have moved. */
void cw_rib_entry_remove(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
			 struct cw_rib_path *path);
/* Chooses among the paths. touched: one that was selected is gone or has other attributes. True: what is best, or
 * used beside it, has changed. */
bool cw_rib_entry_decide(struct cw_bgp_rib *rib, enum cw_bgp_family family,
			 struct cw_rib_entry *entry, bool touched);
/* Fills rib->candidates and rib->scratch from the entry, decides; returns how many, and the best's index. */
size_t cw_rib_entry_judge(struct cw_bgp_rib *rib, enum cw_bgp_family family,
			  struct cw_rib_entry *entry, size_t *ret_best);
void cw_rib_pool_free(struct cw_rib_pool *pool);
size_t cw_rib_pool_memory(const struct cw_rib_pool *pool);

/* Takes a path out of its source's counters, or (n = 1) into them. selected is counted by decide(). */
void cw_rib_count(struct cw_bgp_rib *rib, enum cw_bgp_family family, const struct cw_rib_path *path,
		  int n);
/* A pass that begins after this call, or at once; returns its number. */
uint32_t cw_rib_need_pass(struct cw_bgp_rib *rib, enum cw_bgp_family family);

#endif
