/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_out_priv.h"

#include <stdlib.h>

#define CHUNK_BITS 9
#define CHUNK (1U << CHUNK_BITS)

/* ---- the slab ---- */

struct cw_out_entry *cw_out_entry_at(const struct cw_out_side *side, uint32_t number)
{
	uint8_t *chunk = side->chunks[(number - 1) >> CHUNK_BITS];

	return (struct cw_out_entry *)(void *)(chunk + ((number - 1) & (CHUNK - 1)) * side->entry_size);
}

void cw_out_entry_prefix(const struct cw_out_side *side, const struct cw_out_entry *entry,
			 struct cw_prefix *ret_prefix)
{
	bool v6 = side->family == CW_BGP_IPV6;

	*ret_prefix = (struct cw_prefix){
		.addr.family = v6 ? CW_FAMILY_IPV6 : CW_FAMILY_IPV4,
		.len = entry->len,
	};
	memcpy(ret_prefix->addr.bytes, entry->addr, v6 ? 16 : 4);
}

static uint32_t slab_take(struct cw_out_side *side)
{
	uint32_t number = side->free_entry;

	if (number) {
		side->free_entry = cw_out_entry_at(side, number)->next;
		return number;
	}
	if (side->fresh == side->n_chunks * CHUNK) {
		uint8_t **chunks, *chunk;

		chunks = realloc(side->chunks, (side->n_chunks + 1) * sizeof(uint8_t *));
		if (!chunks)
			return 0;
		side->chunks = chunks;
		chunk = malloc(CHUNK * side->entry_size);
		if (!chunk)
			return 0;
		side->chunks[side->n_chunks++] = chunk;
	}
	return ++side->fresh;
}

static void slab_give(struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);

	entry->place = CW_OUT_FREE;
	entry->next = side->free_entry;
	side->free_entry = number;
}

/* ---- groups ---- */

static uint32_t *bucket_of(struct cw_out_side *side, uint32_t attrs)
{
	return &side->buckets[(attrs * 0x9e3779b1U >> 7) & (side->groups_room - 1)];
}

static struct cw_out_group *group_at(struct cw_out_side *side, uint32_t number)
{
	return &side->groups[number - 1];
}

static bool grow_groups(struct cw_out_side *side)
{
	uint32_t room = side->groups_room ? side->groups_room * 2 : 16;
	struct cw_out_group *groups = realloc(side->groups, room * sizeof(*groups));
	uint32_t *buckets;

	if (!groups)
		return false;
	side->groups = groups;
	buckets = calloc(room, sizeof(*buckets));
	if (!buckets)
		return false;
	free(side->buckets);
	side->buckets = buckets;
	side->groups_room = room;
	for (uint32_t i = side->first_group; i; i = group_at(side, i)->next) {
		uint32_t *bucket = bucket_of(side, group_at(side, i)->attrs);

		group_at(side, i)->chain = *bucket;
		*bucket = i;
	}
	return true;
}

/* The group of these attributes, made if need be; NULL: no memory. */
static struct cw_out_group *group_for(struct cw_out_side *side, uint32_t attrs)
{
	struct cw_out_group *group;
	uint32_t number = side->buckets ? *bucket_of(side, attrs) : 0;

	for (; number; number = group->chain) {
		group = group_at(side, number);
		if (group->attrs == attrs)
			return group;
	}
	number = side->free_group;
	if (number) {
		side->free_group = group_at(side, number)->chain;
	} else {
		if (side->groups_fresh == side->groups_room && !grow_groups(side))
			return NULL;
		number = ++side->groups_fresh;
	}
	group = group_at(side, number);
	*group = (struct cw_out_group){
		.attrs = attrs,
		.chain = *bucket_of(side, attrs),
		.prev = side->last_group,
	};
	*bucket_of(side, attrs) = number;
	if (side->last_group)
		group_at(side, side->last_group)->next = number;
	else
		side->first_group = number;
	side->last_group = number;
	return group;
}

static void free_groups(struct cw_out_side *side)
{
	free(side->groups);
	free(side->buckets);
	side->groups = NULL;
	side->buckets = NULL;
	side->groups_room = side->groups_fresh = side->free_group = 0;
	side->first_group = side->last_group = 0;
}

static void group_drop(struct cw_out_side *side, uint32_t attrs)
{
	uint32_t *link = bucket_of(side, attrs), number;
	struct cw_out_group *group;

	while (group_at(side, *link)->attrs != attrs)
		link = &group_at(side, *link)->chain;
	number = *link;
	group = group_at(side, number);
	*link = group->chain;
	if (group->prev)
		group_at(side, group->prev)->next = group->next;
	else
		side->first_group = group->next;
	if (group->next)
		group_at(side, group->next)->prev = group->prev;
	else
		side->last_group = group->prev;
	group->chain = side->free_group;
	side->free_group = number;
	if (!side->first_group)
		free_groups(side);
}

/* ---- lists ---- */

static void push(struct cw_out_side *side, uint32_t *head, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);

	entry->prev = 0;
	entry->next = *head;
	if (*head)
		cw_out_entry_at(side, *head)->prev = number;
	*head = number;
}

static void pull(struct cw_out_side *side, uint32_t *head, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);

	if (entry->prev)
		cw_out_entry_at(side, entry->prev)->next = entry->next;
	else
		*head = entry->next;
	if (entry->next)
		cw_out_entry_at(side, entry->next)->prev = entry->prev;
}

/* Out of its list and out of the counters; place() comes next. */
static void lift(struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);

	switch ((enum cw_out_place)entry->place) {
	case CW_OUT_ANNOUNCE: {
		struct cw_out_group *group = group_for(side, entry->wanted); /* it is there */

		pull(side, &group->head, number);
		if (!group->head)
			group_drop(side, entry->wanted);
		side->n_counted--;
		side->count.pending--;
		break;
	}
	case CW_OUT_WITHDRAW:
		pull(side, &side->withdraw, number);
		side->count.pending--;
		side->count.surplus -= entry->wanted != 0;
		break;
	case CW_OUT_SURPLUS:
		pull(side, &side->surplus, number);
		side->count.surplus--;
		break;
	case CW_OUT_IDLE:
		side->n_counted--;
		break;
	case CW_OUT_FREE:
		break;
	}
	entry->place = CW_OUT_FREE;
}

static void drop_entry(struct cw_out_side *side, uint32_t number)
{
	struct cw_prefix prefix;

	cw_out_entry_prefix(side, cw_out_entry_at(side, number), &prefix);
	cw_bgp_table_delete(side->index, &prefix);
	slab_give(side, number);
	side->n_entries--;
}

/* Puts an entry where what is sent and what is wanted say. Where memory lacks for a group it becomes surplus,
 * until promote(); that happens only to what the peer has not, since other callers have a group ready. */
static void place(struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);
	struct cw_out_group *group;
	bool room;

	if (!entry->wanted && !entry->sent) {
		drop_entry(side, number);
		return;
	}
	room = entry->wanted && (!side->limit || side->n_counted < side->limit);
	if (room && entry->wanted == entry->sent && !entry->again) {
		side->n_counted++;
		entry->place = CW_OUT_IDLE;
		return;
	}
	group = room ? group_for(side, entry->wanted) : NULL;
	if (group) {
		side->n_counted++;
		side->count.pending++;
		entry->place = CW_OUT_ANNOUNCE;
		push(side, &group->head, number);
		return;
	}
	side->count.surplus += entry->wanted != 0;
	side->count.pending += entry->sent != 0;
	entry->place = entry->sent ? CW_OUT_WITHDRAW : CW_OUT_SURPLUS;
	push(side, entry->sent ? &side->withdraw : &side->surplus, number);
}

/* Fills the room that the limit leaves. Where memory lacks they stay surplus. */
static void promote(struct cw_out_side *side)
{
	while (side->surplus && (!side->limit || side->n_counted < side->limit)) {
		uint32_t number = side->surplus;

		if (!group_for(side, cw_out_entry_at(side, number)->wanted))
			return;
		lift(side, number);
		place(side, number);
	}
}

/* A group that was made ready and then had no use. */
static void drop_unused(struct cw_out_side *side, uint32_t attrs)
{
	uint32_t number = attrs && side->buckets ? *bucket_of(side, attrs) : 0;

	while (number && group_at(side, number)->attrs != attrs)
		number = group_at(side, number)->chain;
	if (number && !group_at(side, number)->head)
		group_drop(side, attrs);
}

/* ---- what is wanted ---- */

static struct cw_out_entry *add_entry(struct cw_out_side *side, const struct cw_prefix *prefix,
				      uint32_t *number)
{
	struct cw_out_entry *entry;

	*number = slab_take(side);
	if (!*number)
		return NULL;
	entry = cw_out_entry_at(side, *number);
	*entry = (struct cw_out_entry){ .len = prefix->len };
	memcpy(entry->addr, prefix->addr.bytes, side->family == CW_BGP_IPV6 ? 16 : 4);
	side->n_entries++;
	return entry;
}

/* The number of a prefix that has to be added; 0: no memory. */
static uint32_t insert(struct cw_out_side *side, const struct cw_prefix *prefix)
{
	uint32_t *number;

	if (!side->index)
		side->index = cw_bgp_table_new(side->family, sizeof(*number));
	number = side->index ? cw_bgp_table_insert(side->index, prefix, NULL) : NULL;
	if (!number)
		return 0;
	if (!add_entry(side, prefix, number)) {
		cw_bgp_table_delete(side->index, prefix);
		return 0;
	}
	return *number;
}

enum cw_rc cw_out_want(struct cw_bgp_out *out, struct cw_out_side *side,
		       const struct cw_prefix *prefix, uint32_t wanted)
{
	const uint32_t *there = side->index ? cw_bgp_table_find(side->index, prefix) : NULL;
	uint32_t number = there ? *there : 0, old;
	struct cw_out_entry *entry;

	if (number ? cw_out_entry_at(side, number)->wanted == wanted : !wanted)
		return CW_OK;
	/* First all that can fail. */
	if (wanted && !group_for(side, wanted))
		return CW_E_NO_MEMORY;
	if (!number)
		number = insert(side, prefix);
	if (!number) {
		drop_unused(side, wanted);
		return CW_E_NO_MEMORY;
	}
	lift(side, number);
	entry = cw_out_entry_at(side, number);
	old = entry->wanted;
	entry->wanted = cw_bgp_store_ref(out->store, wanted);
	place(side, number);
	cw_bgp_store_unref(out->store, old);
	drop_unused(side, wanted);
	promote(side);
	return CW_OK;
}

enum cw_rc cw_out_again(struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);

	if (entry->place == CW_OUT_FREE || !entry->sent)
		return CW_OK;
	if (entry->place == CW_OUT_IDLE && !group_for(side, entry->wanted))
		return CW_E_NO_MEMORY;
	entry->again = true; /* also where it waits: a withdrawal may be taken back */
	if (entry->place == CW_OUT_IDLE) {
		lift(side, number);
		place(side, number);
	}
	return CW_OK;
}

void cw_out_sent(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);
	bool announce = entry->place == CW_OUT_ANNOUNCE;
	uint32_t old = entry->sent;

	lift(side, number);
	side->count.sent += (announce ? 1U : 0U) - (old ? 1U : 0U);
	if (announce)
		side->count.announced++;
	else
		side->count.withdrawn++;
	entry->sent = announce ? cw_bgp_store_ref(out->store, entry->wanted) : 0;
	entry->again = false;
	cw_bgp_store_unref(out->store, old);
	place(side, number);
	promote(side);
}

void cw_out_refuse(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t number)
{
	struct cw_out_entry *entry = cw_out_entry_at(side, number);
	uint32_t old = entry->wanted;

	lift(side, number);
	entry->wanted = 0;
	cw_bgp_store_unref(out->store, old);
	place(side, number);
	promote(side);
}

void cw_out_set_limit(struct cw_out_side *side, uint32_t limit)
{
	side->limit = limit;
	/* What the peer has not goes first. */
	for (int round = 0; limit && round < 2; round++)
		for (uint32_t i = side->fresh; i && side->n_counted > limit; i--) {
			const struct cw_out_entry *entry = cw_out_entry_at(side, i);

			if (entry->place != CW_OUT_ANNOUNCE && entry->place != CW_OUT_IDLE)
				continue;
			if (!round && entry->sent)
				continue;
			lift(side, i);
			side->limit = side->n_counted; /* no room for this one */
			place(side, i);
			side->limit = limit;
		}
	promote(side);
}

bool cw_out_clear(struct cw_bgp_out *out, struct cw_out_side *side, uint32_t n)
{
	for (; n && side->cleared < side->fresh; n--) {
		const struct cw_out_entry *entry = cw_out_entry_at(side, ++side->cleared);

		if (entry->place == CW_OUT_FREE)
			continue;
		cw_bgp_store_unref(out->store, entry->sent);
		cw_bgp_store_unref(out->store, entry->wanted);
	}
	if (side->cleared < side->fresh)
		return true;
	for (uint32_t i = 0; i < side->n_chunks; i++)
		free(side->chunks[i]);
	free(side->chunks);
	cw_bgp_table_free(side->index);
	free_groups(side);
	*side = (struct cw_out_side){
		.family = side->family,
		.entry_size = side->entry_size,
	};
	return false;
}

size_t cw_out_side_memory(const struct cw_out_side *side)
{
	return (side->index ? cw_bgp_table_memory(side->index) : 0) +
	       side->n_chunks * (CHUNK * side->entry_size + sizeof(uint8_t *)) +
	       side->groups_room * (sizeof(*side->groups) + sizeof(*side->buckets));
}
