/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bgp_rib: random stories beside a naive model (rib_story.c), and the few that random ones seldom tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp/bgp_rib.h"
#include "unit/rib_story.h"

#define STORIES 2000

static void test_stories(void **state)
{
	static uint8_t bytes[4000];

	(void)state;
	for (uint64_t seed = 1; seed <= STORIES; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15ULL | 1;
		size_t n = 50 + (size_t)seed * 37 % 2000;
		const char *why;

		for (size_t i = 0; i < n; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[i] = (uint8_t)(random >> 30);
		}
		why = rib_story_run(bytes, n);
		if (why)
			fail_msg("story %u: %s", (unsigned)seed, why);
	}
}

struct rig {
	struct cw_bgp_store *store;
	struct cw_bgp_rib *rib;
	uint32_t attrs; /* held */
	uint16_t source;
};

static struct rig rig_new(uint32_t max_paths)
{
	static const uint8_t wire[] = { 0x40, 1, 1, 0, 0x40, 2, 0 };
	static const struct cw_addr hop = { CW_FAMILY_IPV4, { 10, 20, 255, 4 } };
	static const struct cw_bgp_source_conf conf = { .router_id = 1 };
	const struct cw_bgp_attrs_view view = { .wire = { wire, sizeof(wire) } };
	struct rig r = { .store = cw_bgp_store_new(1, SIZE_MAX) };

	r.rib = cw_bgp_rib_new(r.store);
	assert_int_equal(cw_bgp_store_intern(r.store, &view, &hop, &r.attrs), CW_OK);
	assert_int_equal(cw_bgp_rib_add_source(r.rib, &conf, max_paths, &r.source), CW_OK);
	assert_int_equal(r.source, 1);
	return r;
}

static void rig_end(struct rig *r)
{
	cw_bgp_rib_free(r->rib);
	cw_bgp_store_unref(r->store, r->attrs);
	assert_int_equal(cw_bgp_store_count(r->store), 0);
	cw_bgp_store_free(r->store);
}

static struct cw_prefix prefix_of(uint32_t i)
{
	return (struct cw_prefix){
		.addr = { CW_FAMILY_IPV4, { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } },
		.len = 32,
	};
}

static enum cw_rc set(struct rig *r, uint32_t i, uint8_t refused)
{
	enum cw_bgp_rib_what what;
	struct cw_prefix prefix = prefix_of(i);

	return cw_bgp_rib_set(r->rib, &prefix, r->source, r->attrs, refused, &what);
}

static const struct cw_bgp_rib_count *count(const struct rig *r)
{
	return cw_bgp_rib_count(r->rib, r->source, CW_BGP_IPV4);
}

/* A prefix withdrawn stays until it is out of the kernel, and no longer. */
static void test_fib_tag(void **state)
{
	struct rig r = rig_new(0);
	struct cw_prefix prefix = prefix_of(1);
	struct cw_bgp_change change;

	(void)state;
	assert_int_equal(set(&r, 1, 0), CW_OK);
	assert_true(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(change.n, 1);
	assert_int_equal(change.winners[0].source, r.source);
	assert_int_equal(change.fib, 0);
	assert_false(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(cw_bgp_rib_set_fib(r.rib, &prefix, 77), CW_OK);
	assert_true(cw_bgp_rib_withdraw(r.rib, &prefix, r.source));
	assert_false(cw_bgp_rib_withdraw(r.rib, &prefix, r.source));
	assert_true(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(change.n, 0);
	assert_int_equal(change.fib, 77);
	assert_int_equal(cw_bgp_rib_entries(r.rib, CW_BGP_IPV4), 1);
	/* The kernel would not: once more. */
	assert_true(cw_bgp_rib_touch(r.rib, &prefix));
	assert_true(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(change.fib, 77);
	assert_int_equal(cw_bgp_rib_set_fib(r.rib, &prefix, 0), CW_OK);
	assert_int_equal(cw_bgp_rib_entries(r.rib, CW_BGP_IPV4), 0);
	assert_int_equal(cw_bgp_rib_set_fib(r.rib, &prefix, 1), CW_E_NOT_FOUND);
	assert_false(cw_bgp_rib_touch(r.rib, &prefix));
	rig_end(&r);
}

/* Refused routes are received, count for the cap, are shown, and nobody is told of them. */
static void test_refused(void **state)
{
	struct rig r = rig_new(3);
	struct cw_prefix prefix = prefix_of(1);
	struct cw_bgp_change change;
	struct cw_bgp_path path;

	(void)state;
	assert_int_equal(set(&r, 1, 5), CW_OK);
	assert_int_equal(set(&r, 2, 5), CW_OK);
	assert_int_equal(set(&r, 3, 6), CW_OK);
	assert_int_equal(set(&r, 4, 0), CW_E_TOO_BIG);
	assert_int_equal(set(&r, 3, 6), CW_OK); /* said again: no growth */
	assert_int_equal(count(&r)->received, 3);
	assert_int_equal(count(&r)->accepted, 0);
	assert_int_equal(count(&r)->refused[5], 2);
	assert_int_equal(cw_bgp_rib_entries(r.rib, CW_BGP_IPV4), 3);
	assert_false(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(cw_bgp_rib_paths(r.rib, &prefix, &path, 1), 1);
	assert_int_equal(path.refused, 5);
	assert_int_equal(path.lost_at, CW_BGP_STEP_USABLE);
	assert_false(cw_bgp_rib_cover(r.rib, &prefix, &change));
	/* Policy has changed its mind. */
	assert_int_equal(set(&r, 1, 0), CW_OK);
	assert_int_equal(count(&r)->refused[5], 1);
	assert_true(cw_bgp_rib_next_change(r.rib, &change));
	assert_true(cw_bgp_rib_cover(r.rib, &prefix, &change));
	rig_end(&r);
}

/* Taken back before anybody looked: one change, and nothing stays. */
static void test_flap(void **state)
{
	struct rig r = rig_new(0);
	struct cw_prefix prefix = prefix_of(9);
	struct cw_bgp_change change;

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(set(&r, 9, 0), CW_OK);
		assert_true(cw_bgp_rib_withdraw(r.rib, &prefix, r.source));
	}
	assert_int_equal(cw_bgp_rib_changes(r.rib), 1);
	assert_true(cw_bgp_rib_next_change(r.rib, &change));
	assert_int_equal(change.n, 0);
	assert_int_equal(cw_bgp_rib_entries(r.rib, CW_BGP_IPV4), 0);
	rig_end(&r);
}

/* Sessions that come and go more often than an age can count, with routes of the first that nobody sweeps. */
static void test_many_restarts(void **state)
{
	struct rig r = rig_new(0);
	struct cw_bgp_path path;
	struct cw_prefix old = prefix_of(1), new = prefix_of(2);

	(void)state;
	assert_int_equal(set(&r, 1, 0), CW_OK);
	for (int i = 0; i < 1000; i++) {
		cw_bgp_rib_stale(r.rib, r.source, CW_BGP_IPV4);
		assert_int_equal(set(&r, 2, 0), CW_OK);
		assert_int_equal(count(&r)->stale, 1);
		assert_int_equal(cw_bgp_rib_paths(r.rib, &old, &path, 1), 1);
		assert_true(path.stale);
		assert_int_equal(cw_bgp_rib_paths(r.rib, &new, &path, 1), 1);
		assert_false(path.stale);
	}
	cw_bgp_rib_sweep(r.rib, r.source, CW_BGP_IPV4);
	while (cw_bgp_rib_work(r.rib, 1))
		;
	assert_int_equal(count(&r)->received, 1);
	assert_int_equal(cw_bgp_rib_paths(r.rib, &new, &path, 1), 1);
	rig_end(&r);
}

/* While the routes of a lost session are dropped in slices, the next session brings the same ones again. */
static void test_back_while_dropped(void **state)
{
	struct rig r = rig_new(0);
	uint32_t slices = 0;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(set(&r, i, 0), CW_OK);
	cw_bgp_rib_drop(r.rib, r.source, CW_BGP_IPV4);
	assert_true(cw_bgp_rib_busy(r.rib, r.source));
	assert_int_equal(cw_bgp_rib_remove_source(r.rib, r.source), CW_E_BUSY);
	for (uint32_t before = 5000; cw_bgp_rib_work(r.rib, 100); slices++) {
		/* A slice is a slice. */
		assert_in_range(before - count(&r)->received, 0, 200);
		assert_int_equal(set(&r, 4999 - slices, 0), CW_OK);
		before = count(&r)->received;
	}
	assert_true(slices > 10);
	assert_false(cw_bgp_rib_busy(r.rib, r.source));
	assert_int_equal(count(&r)->received, slices);
	assert_int_equal(count(&r)->stale, 0);
	rig_end(&r);
}

/* A session lost again while the stale routes of the loss before are swept: those of the second loss stay. */
static void test_lost_twice(void **state)
{
	struct rig r = rig_new(0);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(set(&r, i, 0), CW_OK);
	cw_bgp_rib_stale(r.rib, r.source, CW_BGP_IPV4);
	for (uint32_t i = 0; i < 600; i++)
		assert_int_equal(set(&r, i, 0), CW_OK);
	cw_bgp_rib_sweep(r.rib, r.source, CW_BGP_IPV4); /* End-of-RIB */
	cw_bgp_rib_work(r.rib, 10);
	cw_bgp_rib_stale(r.rib, r.source, CW_BGP_IPV4); /* and gone again */
	while (cw_bgp_rib_work(r.rib, 64))
		;
	assert_int_equal(count(&r)->received, 600);
	assert_int_equal(count(&r)->stale, 600);
	rig_end(&r);
}

static void test_sources(void **state)
{
	struct rig r = rig_new(0);
	const struct cw_bgp_source_conf conf = { .router_id = 2 };
	uint16_t source;

	(void)state;
	assert_true(cw_bgp_rib_source(r.rib, 0)->own);
	for (int i = 2; i < CW_BGP_SOURCES_MAX; i++)
		assert_int_equal(cw_bgp_rib_add_source(r.rib, &conf, 0, &source), CW_OK);
	assert_int_equal(cw_bgp_rib_add_source(r.rib, &conf, 0, &source), CW_E_TOO_BIG);
	/* A number that is free is given out again. */
	assert_int_equal(cw_bgp_rib_remove_source(r.rib, 7), CW_OK);
	assert_int_equal(cw_bgp_rib_add_source(r.rib, &conf, 0, &source), CW_OK);
	assert_int_equal(source, 7);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_fib_tag),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flap),
		cmocka_unit_test(test_many_restarts),
		cmocka_unit_test(test_back_while_dropped),
		cmocka_unit_test(test_lost_twice),
		cmocka_unit_test(test_sources),
	};

	return cmocka_run_group_tests_name("bgp_rib", tests, NULL, NULL);
}
