/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/fib_table.h"

#include <stdlib.h>
#include <string.h>

#define CAP_MIN 64

void cw_fib_table_init(struct cw_fib_table *t, enum cw_family family, uint64_t seed)
{
	size_t addr_bytes = cw_family_bits(family) / 8;

	*t = (struct cw_fib_table){
		.family = (uint8_t)family,
		.addr_bytes = (uint8_t)addr_bytes,
		.stride = (uint8_t)(addr_bytes + sizeof(struct cw_fib_mark)),
		.seed = seed,
	};
}

void cw_fib_table_clear(struct cw_fib_table *t)
{
	free(t->slots);
	t->slots = NULL;
	t->n = t->cap = 0;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

static uint32_t hash_of(const struct cw_fib_table *t, const uint8_t *addr, uint8_t len)
{
	uint64_t high, low;
	uint32_t four;

	if (t->addr_bytes == 4) {
		memcpy(&four, addr, sizeof(four));
		return (uint32_t)mix(((uint64_t)len << 32 | four) + t->seed);
	}
	memcpy(&high, addr, sizeof(high));
	memcpy(&low, addr + sizeof(high), sizeof(low));
	return (uint32_t)mix(mix(high + t->seed) + low + len * 0x9e3779b97f4a7c15u);
}

uint32_t cw_fib_table_hash(const struct cw_fib_table *t, const struct cw_prefix *prefix)
{
	return hash_of(t, prefix->addr.bytes, prefix->len);
}

static uint8_t *slot_at(const struct cw_fib_table *t, size_t i)
{
	return t->slots + i * t->stride;
}

static struct cw_fib_mark *mark_of(const struct cw_fib_table *t, uint8_t *slot)
{
	return (struct cw_fib_mark *)(slot + t->addr_bytes);
}

/* A hash's place in a table of any size, rising with the hash: so a table that grows is filled from
 * one end to the other. */
static size_t home(const struct cw_fib_table *t, uint32_t hash)
{
	return (size_t)((uint64_t)hash * t->cap >> 32);
}

/* The prefix's slot, or the empty one where it belongs. The table is never full. */
static uint8_t *probe(const struct cw_fib_table *t, const uint8_t *addr, uint8_t len)
{
	size_t i = home(t, hash_of(t, addr, len));

	for (;;) {
		uint8_t *slot = slot_at(t, i);
		const struct cw_fib_mark *mark = mark_of(t, slot);

		if (!mark->flags || (mark->len == len && !memcmp(slot, addr, t->addr_bytes)))
			return slot;
		if (++i == t->cap)
			i = 0;
	}
}

struct cw_fib_mark *cw_fib_table_find(const struct cw_fib_table *t, const struct cw_prefix *prefix)
{
	struct cw_fib_mark *mark;

	if (t->n == 0)
		return NULL;
	mark = mark_of(t, probe(t, prefix->addr.bytes, prefix->len));
	return mark->flags ? mark : NULL;
}

static bool grow(struct cw_fib_table *t)
{
	struct cw_fib_table old = *t;
	size_t cap = old.cap ? old.cap + old.cap / 2 : CAP_MIN;

	if (cap > UINT32_MAX)
		return false;
	t->slots = calloc(cap, t->stride);
	if (!t->slots) {
		t->slots = old.slots;
		return false;
	}
	t->cap = cap;
	for (size_t i = 0; i < old.cap; i++) {
		uint8_t *slot = slot_at(&old, i);
		struct cw_fib_mark *mark = mark_of(&old, slot);

		if (mark->flags)
			memcpy(probe(t, slot, mark->len), slot, t->stride);
	}
	free(old.slots);
	return true;
}

struct cw_fib_mark *cw_fib_table_put(
	struct cw_fib_table *t, const struct cw_prefix *prefix, bool *ret_made)
{
	struct cw_fib_mark *mark;
	uint8_t *slot;

	if (t->n >= t->cap - t->cap / 8 && !grow(t))
		return NULL;
	slot = probe(t, prefix->addr.bytes, prefix->len);
	mark = mark_of(t, slot);
	*ret_made = !mark->flags;
	if (*ret_made) {
		memcpy(slot, prefix->addr.bytes, t->addr_bytes);
		*mark = (struct cw_fib_mark){ .len = prefix->len, .flags = CW_FIB_USED };
		t->n++;
	}
	return mark;
}

void cw_fib_table_del(struct cw_fib_table *t, struct cw_fib_mark *mark)
{
	uint8_t *hole = (uint8_t *)mark - t->addr_bytes;
	size_t at = (size_t)(hole - t->slots) / t->stride, i = at;

	/* What stands behind, up to the next empty slot, moves up where its home allows. */
	for (;;) {
		uint8_t *slot;
		size_t want;

		if (++i == t->cap)
			i = 0;
		slot = slot_at(t, i);
		if (!mark_of(t, slot)->flags)
			break;
		want = home(t, hash_of(t, slot, mark_of(t, slot)->len));
		if (at <= i ? at < want && want <= i : at < want || want <= i)
			continue;
		memcpy(hole, slot, t->stride);
		hole = slot;
		at = i;
	}
	memset(hole, 0, t->stride);
	t->n--;
}

struct cw_fib_mark *cw_fib_table_at(
	const struct cw_fib_table *t, size_t i, struct cw_prefix *ret_prefix)
{
	uint8_t *slot = slot_at(t, i);
	struct cw_fib_mark *mark = mark_of(t, slot);

	if (!mark->flags)
		return NULL;
	if (ret_prefix) {
		*ret_prefix = (struct cw_prefix){ .addr.family = t->family, .len = mark->len };
		memcpy(ret_prefix->addr.bytes, slot, t->addr_bytes);
	}
	return mark;
}
