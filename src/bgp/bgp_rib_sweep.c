/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_rib.h"

#include "bgp/bgp_rib_priv.h"

/*
 * Nothing is written into paths when a source's routes become stale: the source's `now` goes on, and all that
 * was marked with an earlier one is older. A pass over the table then takes out what is dead; one pass does it
 * for all sources that asked before it began.
 */

#define AGE_MAX 250 /* ages are octets; beyond, the paths are marked anew */

static uint8_t age_of(const struct cw_bgp_rib *rib, enum cw_bgp_family family,
		      const struct cw_rib_path *path)
{
	return (uint8_t)(rib->sources[path->source]->side[family].now - path->age_mark);
}

bool cw_rib_is_stale(const struct cw_bgp_rib *rib, enum cw_bgp_family family,
		     const struct cw_rib_path *path)
{
	return age_of(rib, family, path) != 0;
}

bool cw_rib_is_dead(const struct cw_bgp_rib *rib, enum cw_bgp_family family,
		    const struct cw_rib_path *path)
{
	uint8_t dead_age = rib->sources[path->source]->side[family].dead_age;

	return dead_age && age_of(rib, family, path) >= dead_age;
}

struct remark {
	struct cw_bgp_rib *rib;
	enum cw_bgp_family family;
	uint16_t source;
};

/* Three ages are told apart: dead, stale, fresh. */
static enum cw_bgp_visit visit_remark(void *user, const struct cw_prefix *prefix, void *value,
				      bool marked)
{
	const struct remark *r = user;
	struct cw_rib_path *path = cw_rib_entry_find(r->rib, value, r->source);

	(void)prefix;
	(void)marked;
	if (path && cw_rib_is_stale(r->rib, r->family, path)) {
		uint8_t age = cw_rib_is_dead(r->rib, r->family, path) ? 2 : 1;

		path->age_mark = (uint8_t)(r->rib->sources[r->source]->side[r->family].now - age);
	}
	return CW_BGP_VISIT_KEEP;
}

/* A source has gone and come 250 times, and some of its paths were neither heard again nor swept. */
static void remark(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family)
{
	struct cw_rib_side *side = &rib->sources[source]->side[family];
	struct remark r = { .rib = rib, .family = family, .source = source };
	struct cw_prefix last;

	cw_bgp_table_walk(rib->table[family], NULL, SIZE_MAX, visit_remark, &r, &last);
	if (side->dead_age)
		side->dead_age = 2;
	side->oldest = 2;
}

uint32_t cw_rib_need_pass(struct cw_bgp_rib *rib, enum cw_bgp_family family)
{
	struct cw_rib_pass *pass = &rib->pass[family];

	if (!pass->running) {
		pass->running = true;
		pass->begun = false;
		pass->number++;
		return pass->number;
	}
	if (!pass->begun)
		return pass->number;
	pass->again = true;
	return pass->number + 1;
}

void cw_bgp_rib_stale(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family)
{
	struct cw_rib_side *side = &rib->sources[source]->side[family];

	if (!side->count.stale)
		side->oldest = 0;
	if (side->oldest == AGE_MAX)
		remark(rib, source, family);
	side->now++;
	side->oldest++;
	if (side->dead_age) /* what is being swept has grown older too; the rest is not to be swept */
		side->dead_age++;
	side->count.stale = side->count.received;
}

void cw_bgp_rib_sweep(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family)
{
	struct cw_rib_side *side = &rib->sources[source]->side[family];

	if (!side->count.stale)
		return;
	side->dead_age = 1;
	side->dead = side->count.stale;
	side->sweep_pass = cw_rib_need_pass(rib, family);
}

void cw_bgp_rib_drop(struct cw_bgp_rib *rib, uint16_t source, enum cw_bgp_family family)
{
	cw_bgp_rib_stale(rib, source, family);
	cw_bgp_rib_sweep(rib, source, family);
}

bool cw_bgp_rib_busy(const struct cw_bgp_rib *rib, uint16_t source)
{
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		const struct cw_rib_side *side = &rib->sources[source]->side[f];

		if (side->dead || side->redecide_pass)
			return true;
	}
	return false;
}

struct work {
	struct cw_bgp_rib *rib;
	enum cw_bgp_family family;
};

static enum cw_bgp_visit visit_sweep(void *user, const struct cw_prefix *prefix, void *value,
				     bool marked)
{
	const struct work *work = user;
	struct cw_bgp_rib *rib = work->rib;
	struct cw_rib_entry *entry = value;
	struct cw_rib_path *path = entry->path.attrs ? &entry->path : NULL;
	bool touched = false, decide = false;

	(void)prefix;
	while (path) {
		decide |= rib->sources[path->source]->side[work->family].redecide_pass != 0;
		if (!cw_rib_is_dead(rib, work->family, path)) {
			path = cw_rib_path_next(rib, path);
			continue;
		}
		decide = true;
		touched |= path->selected;
		cw_rib_count(rib, work->family, path, -1);
		cw_rib_entry_remove(rib, entry, path);
		path = entry->path.attrs ? &entry->path : NULL; /* from the start: they have moved */
	}
	if (decide && cw_rib_entry_decide(rib, work->family, entry, touched))
		return CW_BGP_VISIT_MARK;
	return entry->path.attrs || entry->fib || marked ? CW_BGP_VISIT_KEEP : CW_BGP_VISIT_DELETE;
}

/* Ends what the pass was for, or what has nothing left to do. True: somebody needs the pass still. */
static bool close_pass(struct cw_bgp_rib *rib, enum cw_bgp_family family, bool ended)
{
	uint32_t number = rib->pass[family].number;
	bool needed = false;

	for (uint16_t i = 0; i < rib->n_sources; i++) {
		struct cw_rib_side *side = rib->sources[i] ? &rib->sources[i]->side[family] : NULL;

		if (!side)
			continue;
		if (side->dead_age && (!side->dead || (ended && side->sweep_pass == number)))
			side->dead_age = 0;
		if (ended && side->redecide_pass == number)
			side->redecide_pass = 0;
		needed |= side->dead_age || side->redecide_pass;
	}
	return needed;
}

bool cw_bgp_rib_work(struct cw_bgp_rib *rib, size_t budget)
{
	bool more = false;

	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_rib_pass *pass = &rib->pass[f];
		struct work work = { .rib = rib, .family = (enum cw_bgp_family)f };
		bool unfinished;

		if (!pass->running)
			continue;
		unfinished = cw_bgp_table_walk(rib->table[f], pass->begun ? &pass->at : NULL, budget,
					       visit_sweep, &work, &pass->at);
		pass->begun = true;
		if (!close_pass(rib, work.family, !unfinished)) {
			pass->running = pass->again = false;
		} else if (!unfinished) {
			pass->running = pass->again;
			pass->again = false;
			pass->begun = false;
			pass->number += pass->running;
		}
		more |= pass->running;
	}
	return more;
}
