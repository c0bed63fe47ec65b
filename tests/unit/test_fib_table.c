/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fib_table against a plain list of the same entries, through many random steps, and its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nl/fib_table.h"

#define POOL 512
#define STEPS 60000

static uint32_t seed;

static uint32_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* The i-th of a pool; some share their address and differ in length alone. */
static struct cw_prefix nth(enum cw_family family, unsigned i)
{
	struct cw_prefix p = { .addr.family = (uint8_t)family, .len = (uint8_t)(16 + i % 3) };

	p.addr.bytes[0] = (uint8_t)(i / 3 >> 8);
	p.addr.bytes[1] = (uint8_t)(i / 3);
	return p;
}

static void check_all(const struct cw_fib_table *t, const uint16_t *want)
{
	size_t n = 0, met = 0;

	for (unsigned i = 0; i < POOL; i++) {
		struct cw_prefix p = nth((enum cw_family)t->family, i);
		const struct cw_fib_mark *mark = cw_fib_table_find(t, &p);

		assert_int_equal(mark != NULL, want[i] != 0);
		if (!mark)
			continue;
		assert_int_equal(mark->group, want[i]);
		assert_int_equal(mark->len, p.len);
		n++;
	}
	assert_int_equal(t->n, n);
	for (size_t i = 0; i < t->cap; i++) {
		struct cw_prefix p;
		const struct cw_fib_mark *mark = cw_fib_table_at(t, i, &p);

		if (!mark)
			continue;
		assert_ptr_equal(cw_fib_table_find(t, &p), mark);
		met++;
	}
	assert_int_equal(met, n);
}

static void random_steps(enum cw_family family)
{
	uint16_t want[POOL] = { 0 };
	struct cw_fib_table t;

	seed = 2463534242u;
	cw_fib_table_init(&t, family, 42);
	for (int step = 0; step < STEPS; step++) {
		unsigned i = next() % POOL;
		struct cw_prefix p = nth(family, i);
		/* fills, then empties, then fills again */
		bool put = next() % 8 < (step / 10000 % 2 ? 2u : 6u);
		struct cw_fib_mark *mark;
		bool made;

		if (put) {
			mark = cw_fib_table_put(&t, &p, &made);
			assert_non_null(mark);
			assert_int_equal(made, want[i] == 0);
			want[i] = mark->group = (uint16_t)(1 + next() % 1000);
		} else {
			mark = cw_fib_table_find(&t, &p);
			assert_int_equal(mark != NULL, want[i] != 0);
			if (mark)
				cw_fib_table_del(&t, mark);
			want[i] = 0;
		}
		if (step % 1000 == 0)
			check_all(&t, want);
	}
	check_all(&t, want);
	/* deleting while walking: every entry is met */
	for (size_t i = 0; i < t.cap;) {
		struct cw_fib_mark *mark = cw_fib_table_at(&t, i, NULL);

		if (mark)
			cw_fib_table_del(&t, mark);
		else
			i++;
	}
	assert_int_equal(t.n, 0);
	cw_fib_table_clear(&t);
}

static void test_random_ipv4(void **state)
{
	(void)state;
	random_steps(CW_FAMILY_IPV4);
}

static void test_random_ipv6(void **state)
{
	(void)state;
	random_steps(CW_FAMILY_IPV6);
}

/* What fib.h promises of its memory. */
static void test_size(void **state)
{
	struct cw_fib_table t;
	bool made;

	(void)state;
	cw_fib_table_init(&t, CW_FAMILY_IPV4, 42);
	assert_int_equal(t.stride, 8);
	for (uint32_t i = 0; i < 200000; i++) {
		struct cw_prefix p = { .addr.family = CW_FAMILY_IPV4, .len = 24 };

		p.addr.bytes[0] = (uint8_t)(i >> 16);
		p.addr.bytes[1] = (uint8_t)(i >> 8);
		p.addr.bytes[2] = (uint8_t)i;
		assert_non_null(cw_fib_table_put(&t, &p, &made));
		assert_true(made);
		if (t.n > 64)
			assert_true(t.n * 2 >= t.cap);
		assert_true(t.n <= t.cap - t.cap / 8);
	}
	cw_fib_table_clear(&t);
	cw_fib_table_clear(&t);
	cw_fib_table_init(&t, CW_FAMILY_IPV6, 42);
	assert_int_equal(t.stride, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_ipv4),
		cmocka_unit_test(test_random_ipv6),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
