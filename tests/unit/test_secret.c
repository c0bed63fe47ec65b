/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void secret_keeps_bytes(void **state)
{
	static const char in[] = "a\0b\nc";
	struct cw_secret *s = cw_secret_new(in, sizeof(in));
	size_t len = 0;

	(void)state;
	assert_non_null(s);
	assert_int_equal(cw_secret_len(s), sizeof(in));
	assert_memory_equal(cw_secret_bytes(s, &len), in, sizeof(in));
	assert_int_equal(len, sizeof(in));
	assert_ptr_not_equal(cw_secret_bytes(s, &len), in);
	cw_secret_free(s);
	cw_secret_free(NULL);
}

static void secret_may_be_empty(void **state)
{
	struct cw_secret *a = cw_secret_new(NULL, 0), *b = cw_secret_new("", 0);

	(void)state;
	assert_non_null(a);
	assert_int_equal(cw_secret_len(a), 0);
	assert_true(cw_secret_equal(a, b));
	cw_secret_free(a);
	cw_secret_free(b);
}

static void secret_equality(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} v[] = {
		{ "abc", "abc", true },	 { "abc", "abd", false }, { "abc", "xbc", false },
		{ "abc", "ab", false },	 { "", "a", false },	  { "abc", "ABC", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_secret *a = cw_secret_new(v[i].a, strlen(v[i].a));
		struct cw_secret *b = cw_secret_new(v[i].b, strlen(v[i].b));

		assert_int_equal(cw_secret_equal(a, b), v[i].equal);
		assert_int_equal(cw_secret_equal(b, a), v[i].equal);
		cw_secret_free(a);
		cw_secret_free(b);
	}
}

static void secret_wipe_leaves_zeros(void **state)
{
	unsigned char buf[16], zero[16] = { 0 };

	(void)state;
	memset(buf, 0xa5, sizeof(buf));
	cw_secret_wipe(buf, sizeof(buf) - 1);
	assert_memory_equal(buf, zero, sizeof(buf) - 1);
	assert_int_equal(buf[15], 0xa5);
	cw_secret_wipe(buf, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secret_keeps_bytes),
		cmocka_unit_test(secret_may_be_empty),
		cmocka_unit_test(secret_equality),
		cmocka_unit_test(secret_wipe_leaves_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
