/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_rib.h"

#include "bgp/bgp_rib_priv.h"

#include <stdlib.h>

enum cw_bgp_family cw_rib_family(const struct cw_prefix *prefix)
{
	return prefix->addr.family == CW_FAMILY_IPV6 ? CW_BGP_IPV6 : CW_BGP_IPV4;
}

struct cw_bgp_rib *cw_bgp_rib_new(struct cw_bgp_store *store)
{
	static const struct cw_bgp_source_conf own = { .own = true };
	struct cw_bgp_rib *rib = calloc(1, sizeof(*rib));
	uint16_t source;

	if (!rib)
		return NULL;
	rib->store = store;
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		rib->table[f] = cw_bgp_table_new((enum cw_bgp_family)f, sizeof(struct cw_rib_entry));
		if (!rib->table[f])
			goto fail;
	}
	if (cw_bgp_rib_add_source(rib, &own, 0, &source) != CW_OK)
		goto fail;
	return rib;
fail:
	cw_bgp_rib_free(rib);
	return NULL;
}

static enum cw_bgp_visit visit_free(void *user, const struct cw_prefix *prefix, void *value,
				    bool marked)
{
	struct cw_bgp_rib *rib = user;
	struct cw_rib_entry *entry = value;

	(void)prefix;
	(void)marked;
	while (entry->path.attrs)
		cw_rib_entry_remove(rib, entry, &entry->path);
	return CW_BGP_VISIT_KEEP;
}

void cw_bgp_rib_free(struct cw_bgp_rib *rib)
{
	struct cw_prefix last;

	if (!rib)
		return;
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		if (rib->table[f])
			cw_bgp_table_walk(rib->table[f], NULL, SIZE_MAX, visit_free, rib, &last);
		cw_bgp_table_free(rib->table[f]);
	}
	cw_rib_pool_free(&rib->pool);
	for (uint16_t i = 0; i < rib->n_sources; i++)
		free(rib->sources[i]);
	free(rib->sources);
	free(rib->candidates);
	free(rib->scratch);
	free(rib);
}

/* ---- sources ---- */

static bool grow_sources(struct cw_bgp_rib *rib)
{
	size_t room = rib->sources_room ? rib->sources_room * 2U : 8;
	struct cw_rib_source **sources;
	struct cw_bgp_candidate *candidates;
	struct cw_rib_path *scratch;

	sources = realloc(rib->sources, room * sizeof(struct cw_rib_source *));
	if (!sources)
		return false;
	rib->sources = sources;
	candidates = realloc(rib->candidates, room * sizeof(*candidates));
	if (!candidates)
		return false;
	rib->candidates = candidates;
	scratch = realloc(rib->scratch, room * sizeof(*scratch));
	if (!scratch)
		return false;
	rib->scratch = scratch;
	rib->sources_room = (uint16_t)room;
	return true;
}

enum cw_rc cw_bgp_rib_add_source(struct cw_bgp_rib *rib, const struct cw_bgp_source_conf *conf,
				 uint32_t max_paths, uint16_t *ret_source)
{
	struct cw_rib_source *source;
	uint16_t i = 0;

	while (i < rib->n_sources && rib->sources[i])
		i++;
	if (i == CW_BGP_SOURCES_MAX)
		return CW_E_TOO_BIG;
	if (i == rib->sources_room && !grow_sources(rib))
		return CW_E_NO_MEMORY;
	source = calloc(1, sizeof(*source));
	if (!source)
		return CW_E_NO_MEMORY;
	source->conf = *conf;
	source->max_paths = max_paths;
	rib->sources[i] = source;
	if (i == rib->n_sources)
		rib->n_sources++;
	*ret_source = i;
	return CW_OK;
}

static bool same_conf(const struct cw_bgp_source_conf *a, const struct cw_bgp_source_conf *b)
{
	return a->own == b->own && a->ibgp == b->ibgp && a->balance == b->balance &&
	       a->group == b->group && a->router_id == b->router_id && a->cost == b->cost &&
	       cw_addr_equal(&a->address, &b->address);
}

void cw_bgp_rib_set_source(struct cw_bgp_rib *rib, uint16_t source,
			   const struct cw_bgp_source_conf *conf, uint32_t max_paths)
{
	struct cw_rib_source *s = rib->sources[source];
	bool same = same_conf(&s->conf, conf);

	s->conf = *conf;
	s->max_paths = max_paths;
	for (int f = 0; !same && f < CW_BGP_FAMILIES; f++)
		if (s->side[f].count.accepted)
			s->side[f].redecide_pass = cw_rib_need_pass(rib, (enum cw_bgp_family)f);
}

const struct cw_bgp_source_conf *cw_bgp_rib_source(const struct cw_bgp_rib *rib, uint16_t source)
{
	return &rib->sources[source]->conf;
}

enum cw_rc cw_bgp_rib_remove_source(struct cw_bgp_rib *rib, uint16_t source)
{
	struct cw_rib_source *s = rib->sources[source];

	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		if (s->side[f].count.received)
			return CW_E_BUSY;
	free(s);
	rib->sources[source] = NULL;
	while (rib->n_sources && !rib->sources[rib->n_sources - 1])
		rib->n_sources--;
	return CW_OK;
}

const struct cw_bgp_rib_count *cw_bgp_rib_count(const struct cw_bgp_rib *rib, uint16_t source,
						enum cw_bgp_family family)
{
	return &rib->sources[source]->side[family].count;
}

void cw_rib_count(struct cw_bgp_rib *rib, enum cw_bgp_family family, const struct cw_rib_path *path,
		  int n)
{
	struct cw_rib_side *side = &rib->sources[path->source]->side[family];
	uint32_t by = (uint32_t)n; /* -1 wraps to the right thing */

	side->count.received += by;
	side->count.refused[path->refused] += by;
	if (!path->refused)
		side->count.accepted += by;
	if (cw_rib_is_stale(rib, family, path))
		side->count.stale += by;
	if (cw_rib_is_dead(rib, family, path))
		side->dead += by;
	if (path->selected)
		side->count.selected += by;
}

/* ---- paths ---- */

/* An entry without use goes, a changed one is queued. Its pointer is not good any more. */
static void settle(struct cw_bgp_table *table, const struct cw_prefix *prefix,
		   const struct cw_rib_entry *entry, bool changed)
{
	if (changed)
		cw_bgp_table_mark(table, prefix);
	else if (!entry->path.attrs && !entry->fib && !cw_bgp_table_is_marked(table, prefix))
		cw_bgp_table_delete(table, prefix);
}

/* The source has said it again, maybe otherwise. */
static enum cw_bgp_rib_what replace(struct cw_bgp_rib *rib, enum cw_bgp_family family,
				    struct cw_rib_path *path, uint32_t attrs, uint8_t refused,
				    bool *ret_touched)
{
	bool same = path->attrs == attrs && path->refused == refused;

	*ret_touched = path->selected && path->attrs != attrs;
	cw_rib_count(rib, family, path, -1);
	path->age_mark = rib->sources[path->source]->side[family].now;
	if (!same) {
		cw_bgp_store_ref(rib->store, attrs);
		cw_bgp_store_unref(rib->store, path->attrs);
		path->attrs = attrs;
		path->refused = refused & 63;
	}
	cw_rib_count(rib, family, path, 1);
	return same ? CW_BGP_RIB_SAME : CW_BGP_RIB_REPLACED;
}

enum cw_rc cw_bgp_rib_set(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint16_t source,
			  uint32_t attrs, uint8_t refused, enum cw_bgp_rib_what *ret_what)
{
	enum cw_bgp_family family = cw_rib_family(prefix);
	struct cw_bgp_table *table = rib->table[family];
	struct cw_rib_source *s = rib->sources[source];
	struct cw_rib_entry *entry = cw_bgp_table_insert(table, prefix, NULL);
	struct cw_rib_path *path, new = {
		.attrs = attrs,
		.source = source,
		.refused = refused & 63,
		.age_mark = s->side[family].now,
	};
	enum cw_rc rc = CW_OK;
	bool touched = false;

	if (!entry)
		return CW_E_NO_MEMORY;
	path = cw_rib_entry_find(rib, entry, source);
	if (path) {
		if (path->attrs == attrs && path->refused == refused &&
		    path->age_mark == new.age_mark) {
			*ret_what = CW_BGP_RIB_SAME;
			return CW_OK;
		}
		*ret_what = replace(rib, family, path, attrs, refused, &touched);
	} else {
		if (s->max_paths && s->side[family].count.received >= s->max_paths)
			rc = CW_E_TOO_BIG;
		else if (!cw_rib_entry_add(rib, entry, &new))
			rc = CW_E_NO_MEMORY;
		if (rc != CW_OK) {
			settle(table, prefix, entry, false);
			return rc;
		}
		cw_bgp_store_ref(rib->store, attrs);
		cw_rib_count(rib, family, &new, 1);
		*ret_what = CW_BGP_RIB_NEW;
	}
	settle(table, prefix, entry, cw_rib_entry_decide(rib, family, entry, touched));
	return CW_OK;
}

bool cw_bgp_rib_withdraw(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint16_t source)
{
	enum cw_bgp_family family = cw_rib_family(prefix);
	struct cw_bgp_table *table = rib->table[family];
	struct cw_rib_entry *entry = cw_bgp_table_find(table, prefix);
	struct cw_rib_path *path = entry ? cw_rib_entry_find(rib, entry, source) : NULL;
	bool touched;

	if (!path)
		return false;
	touched = path->selected;
	cw_rib_count(rib, family, path, -1);
	cw_rib_entry_remove(rib, entry, path);
	settle(table, prefix, entry, cw_rib_entry_decide(rib, family, entry, touched));
	return true;
}

/* ---- changes ---- */

static void state_of(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
		     const struct cw_rib_entry *entry, struct cw_bgp_change *ret)
{
	const struct cw_rib_path *path = &entry->path;

	ret->prefix = *prefix;
	ret->fib = entry->fib;
	ret->n = 0;
	for (; path && path->selected; path = cw_rib_path_next(rib, path))
		ret->winners[ret->n++] = (struct cw_bgp_winner){
			.source = path->source,
			.attrs = path->attrs,
		};
}

bool cw_bgp_rib_next_change(struct cw_bgp_rib *rib, struct cw_bgp_change *ret_change)
{
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_prefix prefix;
		struct cw_rib_entry *entry = cw_bgp_table_take_marked(rib->table[f], &prefix);

		if (!entry)
			continue;
		state_of(rib, &prefix, entry, ret_change);
		settle(rib->table[f], &prefix, entry, false);
		return true;
	}
	return false;
}

size_t cw_bgp_rib_changes(const struct cw_bgp_rib *rib)
{
	size_t n = 0;

	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		n += cw_bgp_table_marked(rib->table[f]);
	return n;
}

bool cw_bgp_rib_touch(struct cw_bgp_rib *rib, const struct cw_prefix *prefix)
{
	struct cw_bgp_table *table = rib->table[cw_rib_family(prefix)];

	if (!cw_bgp_table_find(table, prefix))
		return false;
	cw_bgp_table_mark(table, prefix);
	return true;
}

enum cw_rc cw_bgp_rib_set_fib(struct cw_bgp_rib *rib, const struct cw_prefix *prefix, uint32_t fib)
{
	struct cw_bgp_table *table = rib->table[cw_rib_family(prefix)];
	struct cw_rib_entry *entry = cw_bgp_table_find(table, prefix);

	if (!entry)
		return CW_E_NOT_FOUND;
	entry->fib = fib;
	settle(table, prefix, entry, false);
	return CW_OK;
}

/* ---- looking ---- */

bool cw_bgp_rib_find(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
		     struct cw_bgp_change *ret_state)
{
	struct cw_rib_entry *entry = cw_bgp_table_find(rib->table[cw_rib_family(prefix)], prefix);

	if (!entry)
		return false;
	state_of(rib, prefix, entry, ret_state);
	return true;
}

size_t cw_bgp_rib_paths(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
			struct cw_bgp_path *paths, size_t max)
{
	enum cw_bgp_family family = cw_rib_family(prefix);
	struct cw_rib_entry *entry = cw_bgp_table_find(rib->table[family], prefix);
	size_t n, best;

	if (!entry)
		return 0;
	n = cw_rib_entry_judge(rib, family, entry, &best);
	for (size_t i = 0; i < n && i < max; i++)
		paths[i] = (struct cw_bgp_path){
			.source = rib->scratch[i].source,
			.attrs = rib->scratch[i].attrs,
			.refused = rib->scratch[i].refused,
			.lost_at = rib->candidates[i].lost_at,
			.multipath = rib->candidates[i].multipath,
			.stale = cw_rib_is_stale(rib, family, &rib->scratch[i]),
		};
	return n;
}

bool cw_bgp_rib_next(struct cw_bgp_rib *rib, enum cw_bgp_family family,
		     const struct cw_prefix *after, struct cw_bgp_change *ret_state)
{
	struct cw_prefix prefix;
	struct cw_rib_entry *entry = cw_bgp_table_next(rib->table[family], after, &prefix);

	if (!entry)
		return false;
	state_of(rib, &prefix, entry, ret_state);
	return true;
}

bool cw_bgp_rib_cover(struct cw_bgp_rib *rib, const struct cw_prefix *prefix,
		      struct cw_bgp_change *ret_state)
{
	struct cw_prefix want = *prefix;

	do {
		struct cw_rib_entry *entry =
			cw_bgp_table_cover(rib->table[cw_rib_family(prefix)], &want, &want);

		if (!entry)
			return false;
		if (entry->path.selected) {
			state_of(rib, &want, entry, ret_state);
			return true;
		}
	} while (cw_bgp_table_wider(&want));
	return false;
}

size_t cw_bgp_rib_entries(const struct cw_bgp_rib *rib, enum cw_bgp_family family)
{
	return cw_bgp_table_count(rib->table[family]);
}

size_t cw_bgp_rib_memory(const struct cw_bgp_rib *rib)
{
	size_t n = sizeof(*rib) + cw_rib_pool_memory(&rib->pool) +
		   rib->n_sources * sizeof(struct cw_rib_source);

	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		n += cw_bgp_table_memory(rib->table[f]);
	return n;
}
