/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bgp_store: equal is the same handle and different is not, references, caps, memory that comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp/bgp_store.h"

static const struct cw_addr no_hop;
static const struct cw_addr hop4 = { CW_FAMILY_IPV4, { 10, 20, 255, 4 } };
static const struct cw_addr hop6 = { CW_FAMILY_IPV6, { 0xfe, 0x80, [15] = 1 } };

/* A canonical form of some length with a number in it, that only the store has to like. */
static struct cw_span octets(uint8_t *buf, size_t n, uint32_t number)
{
	memset(buf, 0, n);
	memcpy(buf, &number, n < sizeof(number) ? n : sizeof(number));
	return (struct cw_span){ .p = buf, .n = n };
}

static uint32_t intern(struct cw_bgp_store *store, struct cw_span wire, const struct cw_addr *hop)
{
	struct cw_bgp_attrs_view view = { .wire = wire };
	uint32_t handle = 0;

	assert_int_equal(cw_bgp_store_intern(store, &view, hop, &handle), CW_OK);
	assert_int_not_equal(handle, 0);
	return handle;
}

static void test_same(void **state)
{
	struct cw_bgp_store *store = cw_bgp_store_new(1, 100000);
	uint8_t a[60], b[60];
	uint32_t first, other;

	(void)state;
	assert_non_null(store);
	first = intern(store, octets(a, 60, 7), &hop4);
	assert_int_equal(intern(store, octets(b, 60, 7), &hop4), first);
	assert_int_equal(cw_bgp_store_count(store), 1);
	/* Another octet, length, next hop, or family of it is another set. */
	other = intern(store, octets(b, 60, 8), &hop4);
	assert_int_not_equal(other, first);
	assert_int_not_equal(intern(store, octets(b, 59, 7), &hop4), first);
	assert_int_not_equal(intern(store, octets(b, 60, 7), &hop6), first);
	assert_int_not_equal(intern(store, octets(b, 60, 7), &no_hop), first);
	assert_int_not_equal(intern(store, (struct cw_span){ 0 }, &no_hop), first);
	assert_int_equal(cw_bgp_store_count(store), 6);
	/* Two references have to go. */
	cw_bgp_store_unref(store, first);
	assert_int_equal(cw_bgp_store_count(store), 6);
	cw_bgp_store_unref(store, cw_bgp_store_ref(store, first));
	cw_bgp_store_unref(store, first);
	assert_int_equal(cw_bgp_store_count(store), 5);
	assert_memory_equal(cw_bgp_set_wire(cw_bgp_store_set(store, other)).p, octets(b, 60, 8).p, 60);
	cw_bgp_store_unref(store, 0);
	assert_int_equal(cw_bgp_store_ref(store, 0), 0);
	cw_bgp_store_free(store);
	cw_bgp_store_free(NULL);
}

static void test_fields(void **state)
{
	static const uint8_t wire[] = {
		0x40, 1, 1, 2,					/* ORIGIN incomplete */
		0x40, 2, 10, 2, 2, 0, 0, 0xff, 0xeb, 0, 0, 0xfd, 0xfc, /* AS_PATH 65515 65020 */
		0x80, 4, 4, 0, 0, 0, 9,				/* MED 9 */
		0x40, 5, 4, 0, 0, 0, 200,			/* LOCAL_PREF 200 */
		0x80, 9, 4, 192, 0, 2, 1,			/* ORIGINATOR_ID */
		0x80, 10, 8, 0, 0, 0, 1, 0, 0, 0, 2,		/* CLUSTER_LIST of two */
	};
	struct cw_bgp_store *store = cw_bgp_store_new(2, 100000);
	struct cw_bgp_attrs_view view, again;
	const struct cw_bgp_set *set;
	struct cw_addr hop;
	uint32_t handle;

	(void)state;
	assert_int_equal(cw_bgp_attrs_read((struct cw_span){ wire, sizeof(wire) }, &view), CW_OK);
	assert_int_equal(cw_bgp_store_intern(store, &view, &hop6, &handle), CW_OK);
	set = cw_bgp_store_set(store, handle);
	assert_int_equal(set->local_pref, 200);
	assert_int_equal(set->med, 9);
	assert_int_equal(set->first_as, 65515);
	assert_int_equal(set->path_len, 2);
	assert_int_equal(set->origin, CW_BGP_ORIGIN_INCOMPLETE);
	assert_true(set->has_originator);
	assert_int_equal(set->originator_id, 0xc0000201);
	assert_int_equal(set->cluster_len, 2);
	hop = cw_bgp_set_next_hop(set);
	assert_true(cw_addr_equal(&hop, &hop6));
	cw_bgp_store_view(store, handle, &again);
	assert_int_equal(again.wire.n, sizeof(wire));
	assert_memory_equal(again.wire.p, wire, sizeof(wire));
	assert_int_equal(again.origin_as, 65020);
	cw_bgp_store_unref(store, handle);
	/* Without MED and LOCAL_PREF there are values that decision can use. */
	assert_int_equal(cw_bgp_attrs_read((struct cw_span){ wire, 17 }, &view), CW_OK);
	assert_int_equal(cw_bgp_store_intern(store, &view, &hop4, &handle), CW_OK);
	assert_int_equal(cw_bgp_store_set(store, handle)->local_pref, CW_BGP_LOCAL_PREF_DEFAULT);
	assert_int_equal(cw_bgp_store_set(store, handle)->med, 0);
	cw_bgp_store_free(store);
}

#define SETS 3000

/* Sets of all lengths come and go in random order; what is held stays as it was, and in the end nothing is left. */
static void test_churn(void **state)
{
	static struct {
		uint32_t handle, refs, number;
		size_t len;
	} sets[SETS];
	static uint8_t buf[CW_BGP_SET_MAX];
	struct cw_bgp_store *store = cw_bgp_store_new(3, SIZE_MAX);
	uint64_t random = 88172645463325252ULL;
	size_t held = 0;

	(void)state;
	for (uint32_t i = 0; i < SETS; i++) {
		sets[i].number = i;
		sets[i].len = 4 + i % 97 * (i % 31 ? 1 : 13) + (i % 500 ? 0 : 9000);
	}
	for (int step = 0; step < 200000; step++) {
		uint32_t i;
		bool up;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		i = (uint32_t)(random >> 20) % SETS;
		/* It fills, then it empties. */
		up = (random >> 60) < (step < 100000 ? 12 : 4);
		if (up && sets[i].refs < 3) {
			uint32_t handle = intern(store, octets(buf, sets[i].len, i), i % 2 ? &hop4 : &no_hop);

			assert_true(!sets[i].refs || handle == sets[i].handle);
			sets[i].handle = handle;
			held += !sets[i].refs++;
		} else if (!up && sets[i].refs) {
			struct cw_span wire = cw_bgp_set_wire(cw_bgp_store_set(store, sets[i].handle));

			assert_int_equal(wire.n, sets[i].len);
			assert_memory_equal(wire.p, octets(buf, sets[i].len, i).p, wire.n);
			held -= !--sets[i].refs;
			cw_bgp_store_unref(store, sets[i].handle);
		}
		assert_int_equal(cw_bgp_store_count(store), held);
	}
	for (uint32_t i = 0; i < SETS; i++)
		while (sets[i].refs && sets[i].refs--)
			cw_bgp_store_unref(store, sets[i].handle);
	assert_int_equal(cw_bgp_store_count(store), 0);
	assert_int_equal(cw_bgp_store_octets(store), 0);
	assert_true(cw_bgp_store_memory(store) < 100000); /* numbers of slabs; no slab, no table */
	cw_bgp_store_free(store);
}

static void test_caps(void **state)
{
	static uint8_t buf[CW_BGP_SET_MAX + 1];
	struct cw_bgp_store *store = cw_bgp_store_new(4, 1000);
	struct cw_bgp_attrs_view view = { .wire = octets(buf, CW_BGP_SET_MAX + 1, 1) };
	uint32_t handle, first;

	(void)state;
	assert_int_equal(cw_bgp_store_intern(store, &view, &hop4, &handle), CW_E_TOO_BIG);
	first = intern(store, octets(buf, 900, 1), &hop4);
	view.wire = octets(buf, 900, 2);
	assert_int_equal(cw_bgp_store_intern(store, &view, &hop4, &handle), CW_E_TOO_BIG);
	/* What is there already needs no room. */
	assert_int_equal(intern(store, octets(buf, 900, 1), &hop4), first);
	cw_bgp_store_unref(store, first);
	cw_bgp_store_unref(store, first);
	view.wire = octets(buf, 900, 2);
	assert_int_equal(cw_bgp_store_intern(store, &view, &hop4, &handle), CW_OK);
	cw_bgp_store_free(store);
}

/* The promise of lean storage. */
static void test_memory(void **state)
{
	struct cw_bgp_store *store = cw_bgp_store_new(5, SIZE_MAX);
	uint8_t buf[60];

	(void)state;
	for (uint32_t i = 0; i < 62500; i++)
		intern(store, octets(buf, 60, i), &hop4);
	assert_int_equal(cw_bgp_store_count(store), 62500);
	assert_true(cw_bgp_store_memory(store) < 7000000);
	cw_bgp_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("bgp_store", tests, NULL, NULL);
}
