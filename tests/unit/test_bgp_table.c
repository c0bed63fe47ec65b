/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bgp_table: random stories against a sorted array, the shapes of trees (ascending, descending, nested), covering,
 * marks, walks that delete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp/bgp_table.h"

#define MODEL_MAX 6000

struct item {
	struct cw_prefix prefix;
	uint32_t value;
	bool marked;
};

struct world {
	struct cw_bgp_table *table;
	enum cw_bgp_family family;
	uint64_t random;
	struct item items[MODEL_MAX];
	size_t n;
};

static uint32_t roll(struct world *w, uint32_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 20) % below;
}

/* spread: how many different octets there are at each place; few make prefixes that nest and meet again. */
static struct cw_prefix some_prefix(struct world *w, uint32_t spread)
{
	bool v6 = w->family == CW_BGP_IPV6;
	struct cw_prefix p = { .addr.family = v6 ? CW_FAMILY_IPV6 : CW_FAMILY_IPV4 };

	for (int i = 0; i < (v6 ? 16 : 4); i++)
		p.addr.bytes[i] = (uint8_t)(roll(w, spread) * 255 / (spread > 1 ? spread - 1 : 1));
	p.len = (uint8_t)roll(w, v6 ? 129 : 33);
	return cw_prefix_network(&p);
}

static size_t place_of(const struct world *w, const struct cw_prefix *prefix)
{
	size_t low = 0, n = w->n;

	while (n) {
		size_t half = n / 2;

		if (cw_prefix_compare(&w->items[low + half].prefix, prefix) < 0) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

static struct item *item_of(struct world *w, const struct cw_prefix *prefix)
{
	size_t at = place_of(w, prefix);

	return at < w->n && !cw_prefix_compare(&w->items[at].prefix, prefix) ? &w->items[at] : NULL;
}

static void take_out(struct world *w, size_t at)
{
	memmove(&w->items[at], &w->items[at + 1], (w->n - at - 1) * sizeof(w->items[0]));
	w->n--;
}

static void insert(struct world *w, const struct cw_prefix *prefix)
{
	struct item *there = item_of(w, prefix);
	bool is_new = !there;
	uint32_t *value = cw_bgp_table_insert(w->table, prefix, &is_new);
	size_t at = place_of(w, prefix);

	assert_non_null(value);
	assert_int_equal(is_new, !there);
	assert_int_equal(*value, there ? there->value : 0);
	if (!there) {
		memmove(&w->items[at + 1], &w->items[at], (w->n - at) * sizeof(w->items[0]));
		w->items[at] = (struct item){ .prefix = *prefix };
		w->n++;
	}
	w->items[at].value = *value = roll(w, 1000000);
}

static void delete(struct world *w, const struct cw_prefix *prefix)
{
	bool there = item_of(w, prefix);

	assert_int_equal(cw_bgp_table_delete(w->table, prefix), there);
	if (there)
		take_out(w, place_of(w, prefix));
}

static size_t marks(const struct world *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->items[i].marked;
	return n;
}

static void check_cover(struct world *w, const struct cw_prefix *prefix)
{
	struct cw_prefix want = *prefix, found;
	const struct item *cover = item_of(w, &want);
	uint32_t *value;

	while (!cover && cw_bgp_table_wider(&want))
		cover = item_of(w, &want);
	value = cw_bgp_table_cover(w->table, prefix, &found);
	assert_int_equal(value != NULL, cover != NULL);
	if (!cover)
		return;
	assert_int_equal(*value, cover->value);
	assert_int_equal(cw_prefix_compare(&found, &cover->prefix), 0);
	assert_true(cw_bgp_table_covers(&found, prefix));
}

static void check_all(struct world *w)
{
	struct cw_prefix at;
	uint32_t *value = cw_bgp_table_next(w->table, NULL, &at);

	assert_int_equal(cw_bgp_table_count(w->table), w->n);
	assert_int_equal(cw_bgp_table_marked(w->table), marks(w));
	for (size_t i = 0; i < w->n; i++) {
		assert_non_null(value);
		assert_int_equal(cw_prefix_compare(&at, &w->items[i].prefix), 0);
		assert_int_equal(*value, w->items[i].value);
		assert_int_equal(cw_bgp_table_is_marked(w->table, &at), w->items[i].marked);
		value = cw_bgp_table_next(w->table, &at, &at);
	}
	assert_null(value);
}

struct walk {
	struct world *w;
	size_t at; /* in the items: what has to come next */
	uint32_t keep; /* of ten */
};

static enum cw_bgp_visit visit(void *user, const struct cw_prefix *prefix, void *value, bool marked)
{
	struct walk *walk = user;
	struct world *w = walk->w;
	struct item *item = &w->items[walk->at];

	assert_true(walk->at < w->n);
	assert_int_equal(cw_prefix_compare(prefix, &item->prefix), 0);
	assert_int_equal(*(uint32_t *)value, item->value);
	assert_int_equal(marked, item->marked);
	if (roll(w, 10) >= walk->keep) {
		take_out(w, walk->at);
		return CW_BGP_VISIT_DELETE;
	}
	walk->at++;
	switch (roll(w, 20)) {
	case 0:
		item->marked = true;
		return CW_BGP_VISIT_MARK;
	case 1:
		return CW_BGP_VISIT_STOP;
	default:
		return CW_BGP_VISIT_KEEP;
	}
}

/* In slices of some size, with other things done to the table in between. */
static void walk_all(struct world *w, uint32_t keep, size_t budget, uint32_t spread)
{
	struct walk walk = { .w = w, .keep = keep };
	struct cw_prefix last;
	bool more = cw_bgp_table_walk(w->table, NULL, budget, visit, &walk, &last);

	while (more) {
		struct cw_prefix p = some_prefix(w, spread);

		if (roll(w, 2))
			insert(w, &p);
		else
			delete(w, &p);
		walk.at = place_of(w, &last);
		if (walk.at < w->n && !cw_prefix_compare(&w->items[walk.at].prefix, &last))
			walk.at++;
		more = cw_bgp_table_walk(w->table, &last, budget, visit, &walk, &last);
	}
	assert_int_equal(walk.at, w->n);
}

static void step(struct world *w, uint32_t spread)
{
	struct cw_prefix p = some_prefix(w, spread), found;
	uint32_t *value;
	struct item *item;

	/* A part of the steps takes up what is there, since large prefixes are not met by chance. */
	if (w->n && roll(w, 3) == 0)
		p = w->items[roll(w, (uint32_t)w->n)].prefix;
	item = item_of(w, &p);
	switch (roll(w, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		insert(w, &p);
		break;
	case 5:
	case 6:
		delete(w, &p);
		break;
	case 7:
		value = cw_bgp_table_find(w->table, &p);
		assert_int_equal(value != NULL, item != NULL);
		assert_true(!item || *value == item->value);
		break;
	case 8:
		check_cover(w, &p);
		break;
	case 9:
		assert_int_equal(cw_bgp_table_mark(w->table, &p), item && !item->marked);
		if (item)
			item->marked = true;
		break;
	case 10:
		value = cw_bgp_table_take_marked(w->table, &found);
		assert_int_equal(value != NULL, marks(w) != 0);
		if (!value)
			break;
		item = item_of(w, &found);
		assert_non_null(item);
		assert_true(item->marked && item->value == *value);
		item->marked = false;
		break;
	default:
		value = cw_bgp_table_next(w->table, &p, &found);
		item = &w->items[place_of(w, &p)];
		if (item < w->items + w->n && !cw_prefix_compare(&item->prefix, &p))
			item++;
		assert_int_equal(value != NULL, item < w->items + w->n);
		assert_true(!value || !cw_prefix_compare(&found, &item->prefix));
		break;
	}
}

static struct world *world_new(enum cw_bgp_family family, uint64_t seed)
{
	static struct world w;

	w = (struct world){ .family = family, .random = seed * 0x9e3779b97f4a7c15ULL | 1 };
	w.table = cw_bgp_table_new(family, sizeof(uint32_t));
	assert_non_null(w.table);
	return &w;
}

static void world_end(struct world *w)
{
	check_all(w);
	while (w->n)
		delete(w, &w->items[roll(w, (uint32_t)w->n)].prefix);
	check_all(w);
	/* Nothing is kept for an empty table. */
	assert_true(cw_bgp_table_memory(w->table) < 512);
	cw_bgp_table_free(w->table);
}

static void test_stories(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct world *w = world_new(seed % 2 ? CW_BGP_IPV4 : CW_BGP_IPV6, seed);
		uint32_t spread = 1 + roll(w, 4), steps = 20 + roll(w, 300);

		while (steps--)
			step(w, spread);
		check_all(w);
		walk_all(w, roll(w, 11), 1 + roll(w, 50), spread);
		world_end(w);
	}
}

/* Enough for splits, merges and neighbours that give and take. */
static void test_large(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world *w = world_new(seed % 2 ? CW_BGP_IPV4 : CW_BGP_IPV6, seed);

		for (int i = 0; i < 9000; i++)
			step(w, 256);
		check_all(w);
		walk_all(w, 3, 100, 256);
		check_all(w);
		for (int i = 0; i < 3000; i++)
			step(w, 256);
		walk_all(w, 0, 1000, 256);
		world_end(w);
	}
}

static struct cw_prefix number(uint32_t n, uint8_t len)
{
	struct cw_prefix p = { .addr.family = CW_FAMILY_IPV4, .len = len };

	for (int i = 0; i < 4; i++)
		p.addr.bytes[i] = (uint8_t)(n >> (24 - 8 * i));
	return p;
}

static void test_orders(void **state)
{
	(void)state;
	for (int descending = 0; descending < 2; descending++) {
		struct world *w = world_new(CW_BGP_IPV4, 7);

		for (uint32_t i = 0; i < 5000; i++) {
			struct cw_prefix p = number((descending ? 5000 - i : i) << 8, 24);

			insert(w, &p);
		}
		check_all(w);
		/* Ascending: blocks are left behind full. */
		if (!descending)
			assert_true(cw_bgp_table_memory(w->table) / 5000 < 12);
		world_end(w);
	}
}

/* A default route, its halves, and 30 prefixes one in the other. */
static void test_nested(void **state)
{
	struct world *w = world_new(CW_BGP_IPV4, 3);
	struct cw_prefix p;

	(void)state;
	for (uint8_t len = 0; len <= 32; len++) {
		p = number(len ? 0xffffffffU << (32 - len) : 0, len);
		insert(w, &p);
	}
	for (uint8_t len = 0; len <= 32; len++) {
		p = number(len ? 0xfffffff0U & 0xffffffffU << (32 - len) : 0, len);
		check_cover(w, &p);
	}
	p = number(0x01020300, 24); /* only the default route covers it */
	check_cover(w, &p);
	p = number(0x80000000, 1);
	assert_true(cw_bgp_table_wider(&p));
	assert_int_equal(p.len, 0);
	assert_int_equal(p.addr.bytes[0], 0);
	assert_false(cw_bgp_table_wider(&p));
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests_name("bgp_table", tests, NULL, NULL);
}
