/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fib_table: prefixes of one family, each with a group and marks, in as little memory as will do.
 *
 * Open addressing with linear probing; a slot is the address, then struct cw_fib_mark. Pointers to
 * marks hold until the next put or del. Seeded, so that whoever sends us prefixes can't choose ones
 * that collide. Pure.
 */
#ifndef CW_NL_FIB_TABLE_H
#define CW_NL_FIB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"

#define CW_FIB_USED 0x01    /* the slot has an entry; the table's own */
#define CW_FIB_ADOPTED 0x02 /* found in the kernel, set by nobody yet */
#define CW_FIB_FAILED 0x04  /* not in the kernel */
#define CW_FIB_SEEN 0x08    /* met in the reading that goes on */
#define CW_FIB_DEAD 0x10    /* to be deleted with the next batch */

struct cw_fib_mark {
	uint8_t len; /* of the prefix; the table's own */
	uint8_t flags;
	uint16_t group;
};

struct cw_fib_table {
	uint8_t family; /* enum cw_family */
	uint8_t addr_bytes, stride;
	uint64_t seed;
	uint8_t *slots;
	size_t n, cap;
};

void cw_fib_table_init(struct cw_fib_table *t, enum cw_family family, uint64_t seed);
void cw_fib_table_clear(struct cw_fib_table *t);

uint32_t cw_fib_table_hash(const struct cw_fib_table *t, const struct cw_prefix *prefix);

/* NULL: there is none. The prefix has no host bits. */
struct cw_fib_mark *cw_fib_table_find(const struct cw_fib_table *t, const struct cw_prefix *prefix);
/* The entry, made with zeroed marks when there is none. NULL: no memory. */
struct cw_fib_mark *cw_fib_table_put(
	struct cw_fib_table *t, const struct cw_prefix *prefix, bool *ret_made);
void cw_fib_table_del(struct cw_fib_table *t, struct cw_fib_mark *mark);

/* The entry in slot i, 0..cap-1, and its prefix (may be NULL); NULL: the slot is empty. After del
 * of it look at i again: another may have moved there. */
struct cw_fib_mark *cw_fib_table_at(
	const struct cw_fib_table *t, size_t i, struct cw_prefix *ret_prefix);

#endif
