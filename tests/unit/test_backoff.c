/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backoff: growth, cap, the bounds of the jitter, and that the generator does not stand still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/backoff.h"

static void test_growth(void **state)
{
	static const struct {
		uint32_t min_s, max_s, tries, random, want_ms;
	} cases[] = {
		{ 1, 10, 1, 0, 1000 }, { 1, 10, 2, 0, 2000 }, { 1, 10, 3, 0, 4000 },
		{ 1, 10, 4, 0, 8000 }, { 1, 10, 5, 0, 10000 }, /* not 16 */
		{ 1, 10, 1000000, 0, 10000 },                  /* never 0 by wrapping */
		{ 1, 10, UINT32_MAX, 0, 10000 }, { 60, 60, 1, 0, 60000 },
		{ 5, 3, 1, 0, 3000 }, /* the cap is a promise, whatever the first pause */
		{ 0, 10, UINT32_MAX, 0, 0 }, { 1, UINT32_MAX, UINT32_MAX, 0, UINT32_MAX },
		{ 1, 10, 1, 0xffff, 1000 - 249 }, { 1, 10, 9, 0xffff, 10000 - 2499 },
		{ 1, 10, 1, 0x8000, 1000 - 125 },
		{ 1, 10, 1, 0x10000, 1000 }, /* the low half alone counts */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cw_backoff_ms(cases[i].min_s, cases[i].max_s, cases[i].tries,
					 cases[i].random),
			cases[i].want_ms);
}

static void test_jitter(void **state)
{
	uint64_t random = 1;
	uint32_t low = UINT32_MAX, high = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint32_t ms = cw_backoff_ms(1, 8, 9, cw_backoff_random(&random));

		assert_in_range(ms, 6001, 8000);
		low = ms < low ? ms : low;
		high = ms > high ? ms : high;
	}
	/* All of the range is used. */
	assert_true(low < 6020 && high > 7980);
}

static void test_random(void **state)
{
	uint64_t a = 1, b = 2;
	unsigned same = 0, bits = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint32_t x = cw_backoff_random(&a), y = cw_backoff_random(&b);

		same += x == y;
		bits += (unsigned)__builtin_popcount(x);
	}
	assert_true(same < 3);
	assert_in_range(bits, 15500, 16500);
	assert_true(a != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
