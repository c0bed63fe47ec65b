/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_out_priv.h"

#include <stdlib.h>

void cw_out_map_forget(struct cw_bgp_out *out)
{
	struct cw_out_memory *m = &out->memory;

	for (size_t i = 0; i < m->size; i++) {
		cw_bgp_store_unref(out->store, m->places[i].attrs);
		cw_bgp_store_unref(out->store, m->places[i].mapped);
	}
	free(m->places);
	*m = (struct cw_out_memory){ 0 };
}

#define WINDOW 8 /* places that a key may be in */

static bool is_key(const struct cw_out_mapped *place, const struct cw_out_mapped *key)
{
	return place->attrs == key->attrs && place->source == key->source &&
	       place->class == key->class && place->family == key->family;
}

/* Where a key is, or the first free place that it may have; NULL: all are taken. */
static struct cw_out_mapped *place_of(const struct cw_out_memory *m, const struct cw_out_mapped *key)
{
	uint64_t h = (uint64_t)key->attrs << 32 | (uint64_t)key->source << 16 |
		     (uint64_t)key->class << 8 | key->family;
	struct cw_out_mapped *free_place = NULL;

	h *= 0x9e3779b97f4a7c15ULL;
	for (size_t i = 0; i < WINDOW && i < m->size; i++) {
		struct cw_out_mapped *place = &m->places[((h >> 40) + i) & (m->size - 1)];

		if (is_key(place, key))
			return place;
		if (!place->attrs && !free_place)
			free_place = place;
	}
	return free_place;
}

static void set_place(struct cw_bgp_out *out, struct cw_out_mapped *place,
		      const struct cw_out_mapped *key)
{
	if (key->attrs) {
		cw_bgp_store_ref(out->store, key->attrs);
		cw_bgp_store_ref(out->store, key->mapped);
	}
	cw_bgp_store_unref(out->store, place->attrs);
	cw_bgp_store_unref(out->store, place->mapped);
	*place = *key;
}

/* As large as there are different things asked, within bounds. It works with what it has where memory lacks. */
static void grow(struct cw_bgp_out *out)
{
	struct cw_out_memory *m = &out->memory, old = *m;
	size_t size = m->size ? m->size * 4 : CW_OUT_MAP_MIN;
	struct cw_out_mapped *places;

	if (size > CW_OUT_MAP_MAX)
		return;
	places = calloc(size, sizeof(*places));
	if (!places)
		return;
	*m = (struct cw_out_memory){ .places = places, .size = size };
	for (size_t i = 0; i < old.size; i++) {
		struct cw_out_mapped *to = old.places[i].attrs ? place_of(m, &old.places[i]) : NULL;

		if (to)
			set_place(out, to, &old.places[i]);
		set_place(out, &old.places[i], &(struct cw_out_mapped){ 0 });
	}
	free(old.places);
}

/* Grows until the key has a place; at the largest size it takes another's. */
static void remember(struct cw_bgp_out *out, const struct cw_out_mapped *key)
{
	struct cw_out_memory *m = &out->memory;
	struct cw_out_mapped *place = place_of(m, key);

	for (size_t before = SIZE_MAX; !place && before != m->size; place = place_of(m, key)) {
		before = m->size;
		grow(out);
	}
	if (!place && m->size)
		place = &m->places[key->attrs & (m->size - 1)];
	if (place)
		set_place(out, place, key);
}

static enum cw_rc ask(struct cw_bgp_out *out, const struct cw_out_mapped *key, uint32_t *ret_mapped)
{
	struct cw_addr hop = cw_bgp_set_next_hop(cw_bgp_store_set(out->store, key->attrs)), to;
	size_t size = out->codec.max, len = 0; /* longer ones could not be sent */
	uint8_t *buf = malloc(size);
	struct cw_bgp_attrs_view view, mapped;
	enum cw_rc rc = CW_OK;

	*ret_mapped = 0;
	if (!buf)
		return CW_E_NO_MEMORY;
	cw_bgp_store_view(out->store, key->attrs, &view);
	if (out->export.map(out->export.user, key->source, &view, &hop,
			    (enum cw_bgp_family)key->family, key->class, buf, size, &len, &to))
		goto end;
	rc = cw_bgp_attrs_read((struct cw_span){ .p = buf, .n = len }, &mapped);
	if (rc == CW_OK)
		rc = cw_bgp_store_intern(out->store, &mapped, &to, ret_mapped);
	if (rc != CW_E_NO_MEMORY)
		rc = CW_OK; /* not canonical, or beyond the store's cap: not to be announced */
end:
	free(buf);
	return rc;
}

enum cw_rc cw_out_map(struct cw_bgp_out *out, enum cw_bgp_family family,
		      const struct cw_bgp_change *change, uint32_t *ret_wanted)
{
	const struct cw_bgp_winner *best = &change->winners[0];
	struct cw_out_mapped key = { .family = (uint8_t)family };
	const struct cw_out_mapped *place;
	enum cw_rc rc;

	*ret_wanted = 0;
	if (!change->n || best->source == out->source)
		return CW_OK;
	if (out->export.admit(out->export.user, &change->prefix, best, &key.class))
		return CW_OK;
	key.attrs = best->attrs;
	key.source = best->source;
	place = place_of(&out->memory, &key);
	if (place && place->attrs) {
		*ret_wanted = cw_bgp_store_ref(out->store, place->mapped);
		return CW_OK;
	}
	rc = ask(out, &key, &key.mapped);
	if (rc != CW_OK)
		return rc;
	*ret_wanted = key.mapped;
	remember(out, &key);
	return CW_OK;
}
