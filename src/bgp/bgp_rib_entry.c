/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_rib_priv.h"

#include <stdlib.h>

#define CHUNK_BITS 10
#define CHUNK (1U << CHUNK_BITS)

/* ---- the pool ---- */

static struct cw_rib_path *pool_at(const struct cw_rib_pool *pool, uint32_t number)
{
	return &pool->chunks[(number - 1) >> CHUNK_BITS][(number - 1) & (CHUNK - 1)];
}

/* 0: no memory. */
static uint32_t pool_take(struct cw_rib_pool *pool)
{
	uint32_t number = pool->free_path;

	if (number) {
		pool->free_path = pool_at(pool, number)->more;
	} else {
		if (pool->fresh == pool->n_chunks * CHUNK) {
			struct cw_rib_path **chunks, *chunk;

			chunks = realloc(pool->chunks, (pool->n_chunks + 1) * sizeof(struct cw_rib_path *));
			if (!chunks)
				return 0;
			pool->chunks = chunks;
			chunk = malloc(CHUNK * sizeof(*chunk));
			if (!chunk)
				return 0;
			pool->chunks[pool->n_chunks++] = chunk;
		}
		number = ++pool->fresh;
	}
	pool->used++;
	return number;
}

static void pool_give(struct cw_rib_pool *pool, uint32_t number)
{
	if (!--pool->used) {
		cw_rib_pool_free(pool);
		return;
	}
	pool_at(pool, number)->more = pool->free_path;
	pool->free_path = number;
}

void cw_rib_pool_free(struct cw_rib_pool *pool)
{
	for (uint32_t i = 0; i < pool->n_chunks; i++)
		free(pool->chunks[i]);
	free(pool->chunks);
	*pool = (struct cw_rib_pool){ 0 };
}

size_t cw_rib_pool_memory(const struct cw_rib_pool *pool)
{
	return pool->n_chunks * (CHUNK * sizeof(struct cw_rib_path) + sizeof(struct cw_rib_path *));
}

/* ---- the paths of an entry ---- */

struct cw_rib_path *cw_rib_path_next(struct cw_bgp_rib *rib, const struct cw_rib_path *path)
{
	return path->more ? pool_at(&rib->pool, path->more) : NULL;
}

struct cw_rib_path *cw_rib_entry_find(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
				      uint16_t source)
{
	struct cw_rib_path *path = entry->path.attrs ? &entry->path : NULL;

	while (path && path->source != source)
		path = cw_rib_path_next(rib, path);
	return path;
}

bool cw_rib_entry_add(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
		      const struct cw_rib_path *path)
{
	struct cw_rib_path *head = &entry->path;
	uint32_t number;

	if (!head->attrs) {
		*head = *path;
		head->more = 0;
		return true;
	}
	number = pool_take(&rib->pool);
	if (!number)
		return false;
	while (head->more) /* to the end: selected paths stay in front */
		head = pool_at(&rib->pool, head->more);
	head->more = number;
	*pool_at(&rib->pool, number) = *path;
	pool_at(&rib->pool, number)->more = 0;
	return true;
}

void cw_rib_entry_remove(struct cw_bgp_rib *rib, struct cw_rib_entry *entry,
			 struct cw_rib_path *path)
{
	uint32_t number = path->more;

	cw_bgp_store_unref(rib->store, path->attrs);
	if (path != &entry->path) {
		struct cw_rib_path *before = &entry->path;

		while (pool_at(&rib->pool, before->more) != path)
			before = pool_at(&rib->pool, before->more);
		number = before->more;
		before->more = path->more;
	} else if (number) { /* the next one moves into the entry */
		*path = *pool_at(&rib->pool, number);
	} else {
		*path = (struct cw_rib_path){ 0 };
		return;
	}
	pool_give(&rib->pool, number);
}

/* ---- the best ---- */

size_t cw_rib_entry_judge(struct cw_bgp_rib *rib, enum cw_bgp_family family,
			  struct cw_rib_entry *entry, size_t *ret_best)
{
	struct cw_rib_path *path = entry->path.attrs ? &entry->path : NULL;
	size_t n = 0;

	for (; path; path = cw_rib_path_next(rib, path)) {
		rib->scratch[n] = *path;
		rib->candidates[n++] = (struct cw_bgp_candidate){
			.set = cw_bgp_store_set(rib->store, path->attrs),
			.source = &rib->sources[path->source]->conf,
			.index = path->source,
			.usable = !path->refused && !cw_rib_is_dead(rib, family, path),
		};
	}
	*ret_best = cw_bgp_decide(rib->candidates, n);
	return n;
}

/* Puts a path in its place in the list, which keeps its links. */
static struct cw_rib_path *place(struct cw_bgp_rib *rib, struct cw_rib_path *at,
				 const struct cw_rib_path *path, bool selected)
{
	uint32_t more = at->more;

	*at = *path;
	at->more = more;
	at->selected = selected;
	return cw_rib_path_next(rib, at);
}

static bool decide_many(struct cw_bgp_rib *rib, enum cw_bgp_family family,
			struct cw_rib_entry *entry, bool changed)
{
	struct cw_rib_path *at = &entry->path;
	size_t best, n = cw_rib_entry_judge(rib, family, entry, &best);
	uint32_t last = 0; /* source + 1 of the one placed last */

	changed |= best < n && best != 0;
	for (size_t i = 0; i < n; i++) {
		bool selected = i == best || rib->candidates[i].multipath;

		if (selected == rib->scratch[i].selected)
			continue;
		changed = true;
		rib->sources[rib->scratch[i].source]->side[family].count.selected +=
			selected ? 1U : UINT32_MAX;
	}
	if (!changed)
		return false;
	if (best < n)
		at = place(rib, at, &rib->scratch[best], true);
	for (;;) { /* those beside the best, by source */
		size_t next = n;

		for (size_t i = 0; i < n; i++)
			if (i != best && rib->candidates[i].multipath &&
			    rib->scratch[i].source >= last &&
			    (next == n || rib->scratch[i].source < rib->scratch[next].source))
				next = i;
		if (next == n)
			break;
		last = rib->scratch[next].source + 1U;
		at = place(rib, at, &rib->scratch[next], true);
	}
	for (size_t i = 0; i < n; i++)
		if (i != best && !rib->candidates[i].multipath)
			at = place(rib, at, &rib->scratch[i], false);
	return true;
}

bool cw_rib_entry_decide(struct cw_bgp_rib *rib, enum cw_bgp_family family,
			 struct cw_rib_entry *entry, bool touched)
{
	struct cw_rib_path *only = &entry->path;
	bool usable;

	if (only->more)
		return decide_many(rib, family, entry, touched);
	if (!only->attrs)
		return touched;
	usable = !only->refused && !cw_rib_is_dead(rib, family, only);
	if (usable == only->selected)
		return touched;
	only->selected = usable;
	rib->sources[only->source]->side[family].count.selected += usable ? 1U : UINT32_MAX;
	return true;
}
