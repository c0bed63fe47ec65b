/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deleting many routes.
 *
 * When a leaf goes, Linux looks through its node's children for the longest suffix (the shortest
 * prefix) that is left, and stops at the first that is as long as the one that went
 * (update_suffix() in net/ipv4/fib_trie.c). With a node of 2^17 children and few short prefixes
 * that is 10 us a route: half a million in random order took 4 to 6 s of processor time, from the
 * longest prefix to the shortest 0.9 s. A group that loses all its routes goes as a whole, which is
 * quicker still.
 */
#include "nl/fib_priv.h"

#include <stdlib.h>

#define LENS 129       /* 0..128 */
#define WHOLE_MIN 1000 /* routes for which a group is made anew */

void cw_fib_kill(struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark)
{
	if (mark->flags & CW_FIB_DEAD)
		return;
	cw_fib_set_flag(fib, mark, CW_FIB_DEAD, true);
	if (fib->n_listed < FIB_DEAD_LIST)
		fib->dead[fib->n_listed] = *prefix;
	if (fib->n_listed <= FIB_DEAD_LIST)
		fib->n_listed++;
}

static int longest_first(const void *a, const void *b)
{
	return ((const struct cw_prefix *)b)->len - ((const struct cw_prefix *)a)->len;
}

static void queue_del(
	struct cw_fib *fib, const struct cw_prefix *prefix, const struct cw_fib_mark *mark)
{
	struct cw_nl_learned route = { .dst = *prefix };

	cw_fib_way(fib, mark->group, &route);
	cw_fib_queue(fib, FIB_OP_DEL, &route);
}

static void bury_listed(struct cw_fib *fib)
{
	qsort(fib->dead, fib->n_listed, sizeof(fib->dead[0]), longest_first);
	for (size_t i = 0; i < fib->n_listed; i++) {
		struct cw_fib_table *t = fib_table(fib, fib->dead[i].addr.family);
		struct cw_fib_mark *mark = cw_fib_table_find(t, &fib->dead[i]);

		/* It may have been set again, or be here twice. */
		if (!mark || !(mark->flags & CW_FIB_DEAD))
			continue;
		queue_del(fib, &fib->dead[i], mark);
		cw_fib_forget(fib, t, mark);
	}
}

/* Groups of which all goes: they are taken from the kernel, and whole[] says so. */
static void bury_groups(struct cw_fib *fib, bool *whole)
{
	for (unsigned i = 1; fib->groups_work && i <= CW_FIB_GROUPS_MAX; i++) {
		const struct fib_group *g = fib->groups[i];

		if (g && g->dead >= WHOLE_MIN && g->dead == g->routes)
			whole[i] = cw_fib_group_unmake(fib, i, NULL) == CW_OK;
	}
}

static void queue_slot(struct cw_fib *fib, const struct cw_fib_table *t, size_t slot)
{
	struct cw_prefix prefix;
	const struct cw_fib_mark *mark = cw_fib_table_at(t, slot, &prefix);

	queue_del(fib, &prefix, mark);
}

/* Queues what is dead, sorted by counting; nothing moves in the table meanwhile. */
static void bury_table(struct cw_fib *fib, const struct cw_fib_table *t, const bool *whole)
{
	size_t at[LENS + 1] = { 0 };
	uint32_t *slots = malloc((fib->n_dead + 1) * sizeof(*slots));
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < t->cap; i++) {
			const struct cw_fib_mark *mark = cw_fib_table_at(t, i, NULL);

			if (!mark || !(mark->flags & CW_FIB_DEAD) || whole[mark->group])
				continue;
			if (!slots)
				queue_slot(fib, t, i);
			else if (pass == 0)
				at[LENS - mark->len]++;
			else
				slots[at[LENS - 1 - mark->len]++] = (uint32_t)i;
		}
		if (!slots)
			return; /* no memory: any order does */
		if (pass)
			break;
		for (size_t len = 1; len <= LENS; len++)
			at[len] += at[len - 1];
		n = at[LENS];
	}
	for (size_t i = 0; i < n; i++)
		queue_slot(fib, t, slots[i]);
	free(slots);
}

static void forget_dead(struct cw_fib *fib, struct cw_fib_table *t)
{
	for (size_t i = 0; i < t->cap && fib->n_dead;) {
		struct cw_fib_mark *mark = cw_fib_table_at(t, i, NULL);

		if (mark && mark->flags & CW_FIB_DEAD)
			cw_fib_forget(fib, t, mark);
		else
			i++;
	}
}

static void bury_marked(struct cw_fib *fib)
{
	bool whole[CW_FIB_GROUPS_MAX + 1] = { false };

	bury_groups(fib, whole);
	for (size_t f = 0; f < 2; f++)
		bury_table(fib, &fib->tables[f], whole);
	for (size_t f = 0; f < 2; f++)
		forget_dead(fib, &fib->tables[f]);
	/* One that can't be made again now is missing at the next reading, which has it made. */
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++)
		if (whole[i] && cw_fib_group_remake(fib, i, NULL) != CW_OK)
			fib->check_hops = true;
}

void cw_fib_bury(struct cw_fib *fib)
{
	if (fib->n_dead && fib->n_listed > FIB_DEAD_LIST)
		bury_marked(fib);
	else if (fib->n_dead)
		bury_listed(fib);
	fib->n_listed = 0;
}
