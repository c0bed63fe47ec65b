/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_table: prefixes of one family, in order, each with a small value of fixed size and a mark.
 *
 * Order is by address, then by length: what covers comes before what it covers. A cursor is a prefix, so that a
 * walk in slices stays right whatever was inserted or deleted meanwhile. The value is for the owner of the table,
 * aligned to 4 octets, zero at first; pointers to it are good until the next insert or delete. Marks are a set of
 * entries to be visited: one bit each, taken one by one in no stated order.
 *
 * Pure; one thread; no cap of its own.
 */
#ifndef CW_BGP_TABLE_H
#define CW_BGP_TABLE_H

#include "wire/bgp.h"

struct cw_bgp_table;

/* value_size: octets, a multiple of 4. NULL: no memory. */
struct cw_bgp_table *cw_bgp_table_new(enum cw_bgp_family family, size_t value_size);
void cw_bgp_table_free(struct cw_bgp_table *table); /* takes NULL */

/* Prefixes given here have the table's family; host bits are not looked at but must be clear. */

void *cw_bgp_table_find(struct cw_bgp_table *table, const struct cw_prefix *prefix); /* NULL: not there */
/* Finds or inserts. ret_new tells which; may be NULL. NULL: no memory, and nothing changed. */
void *cw_bgp_table_insert(struct cw_bgp_table *table, const struct cw_prefix *prefix, bool *ret_new);
/* False: not there. Its mark goes with it. */
bool cw_bgp_table_delete(struct cw_bgp_table *table, const struct cw_prefix *prefix);
size_t cw_bgp_table_count(const struct cw_bgp_table *table);
size_t cw_bgp_table_memory(const struct cw_bgp_table *table); /* octets */

/* The first entry after this one in order, whether or not it is there; NULL: the first of all. Returns its
 * value and its prefix; NULL at the end. after and ret_prefix may be the same. */
void *cw_bgp_table_next(struct cw_bgp_table *table, const struct cw_prefix *after,
			struct cw_prefix *ret_prefix);
/* The longest entry that covers this prefix, itself included. For the next shorter one ask with the length
 * of the answer less one (cw_bgp_table_wider()). NULL: none. */
void *cw_bgp_table_cover(struct cw_bgp_table *table, const struct cw_prefix *prefix,
			 struct cw_prefix *ret_cover);
/* prefix with one bit less and that bit cleared, in place; false: it was /0. */
bool cw_bgp_table_wider(struct cw_prefix *prefix);
/* Entries covered by a prefix are those that follow it with cw_bgp_table_next() as long as this holds. */
bool cw_bgp_table_covers(const struct cw_prefix *cover, const struct cw_prefix *prefix);

enum cw_bgp_visit {
	CW_BGP_VISIT_KEEP,
	CW_BGP_VISIT_MARK,   /* keep it and set its mark */
	CW_BGP_VISIT_DELETE, /* its mark goes with it */
	CW_BGP_VISIT_STOP,   /* keep it and end here; the walk goes on after it */
};

/*
 * A walk over many entries in slices, quicker than next(): calls visit() for entries in order, beginning after
 * `after` (NULL: the first of all), until it has seen `budget` of them (up to a block more) or is told to
 * stop. visit() may change the value and must not touch the table otherwise. Returns true with *ret_last set where
 * there may be more; false at the end. after and ret_last may be the same.
 */
bool cw_bgp_table_walk(struct cw_bgp_table *table, const struct cw_prefix *after, size_t budget,
		       enum cw_bgp_visit (*visit)(void *user, const struct cw_prefix *prefix,
						  void *value, bool marked),
		       void *user, struct cw_prefix *ret_last);

/* Sets the mark of an entry that is there. True: it was not marked before. */
bool cw_bgp_table_mark(struct cw_bgp_table *table, const struct cw_prefix *prefix);
bool cw_bgp_table_is_marked(struct cw_bgp_table *table, const struct cw_prefix *prefix);
/* Takes a marked entry and clears its mark; NULL: none is marked. */
void *cw_bgp_table_take_marked(struct cw_bgp_table *table, struct cw_prefix *ret_prefix);
size_t cw_bgp_table_marked(const struct cw_bgp_table *table);

#endif
