/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cause: each has a name of its own fit for JSON, a sentence, and a remedy where a person can do
 * something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "tunnel/cause.h"
#include "tunnel/tunnel_view.h"

static bool is_name(const char *text)
{
	if (!islower((unsigned char)text[0]) || text[strlen(text) - 1] == '-')
		return false;
	for (; *text; text++) {
		if (!islower((unsigned char)*text) && *text != '-')
			return false;
	}
	return true;
}

/* Part of a line: no capital, no full stop, no line end. */
static bool is_clause(const char *text)
{
	size_t len = strlen(text);

	return len > 5 && len < 200 && !isupper((unsigned char)text[0]) && text[len - 1] != '.' &&
	       !strpbrk(text, "\n\t");
}

static void test_all(void **state)
{
	(void)state;
	for (int i = 0; i < CW_CAUSE_COUNT; i++) {
		enum cw_cause c = (enum cw_cause)i;

		assert_true(is_name(cw_cause_name(c)));
		assert_true(is_clause(cw_cause_text(c)));
		assert_true(cw_cause_remedy(c)[0] == '\0' || is_clause(cw_cause_remedy(c)));
		assert_true(cw_cause_remedy_private(c) == cw_cause_remedy(c) ||
			    is_clause(cw_cause_remedy_private(c)));
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(cw_cause_name(c), cw_cause_name((enum cw_cause)j));
			assert_string_not_equal(cw_cause_text(c), cw_cause_text((enum cw_cause)j));
		}
	}
}

static void test_remedies(void **state)
{
	/* What nobody did wrong, or what mends itself, has none. */
	static const enum cw_cause none[] = {
		CW_CAUSE_NONE,
		CW_CAUSE_STOPPING,
		CW_CAUSE_DUPLICATE,
		CW_CAUSE_LOST,
		CW_CAUSE_RECONFIGURED,
	};
	unsigned without = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_string_equal(cw_cause_remedy(none[i]), "");
	for (int i = 0; i < CW_CAUSE_COUNT; i++)
		without += cw_cause_remedy((enum cw_cause)i)[0] == '\0';
	assert_int_equal(without, sizeof(none) / sizeof(none[0]));
}

static void test_names_are_stable(void **state)
{
	(void)state;
	assert_string_equal(cw_cause_name(CW_CAUSE_AUTH_BY_PEER), "auth-by-peer");
	assert_string_equal(cw_cause_name(CW_CAUSE_NO_ANSWER), "no-answer");
	assert_string_equal(cw_cause_name(CW_CAUSE_PEER_DEAD), "peer-dead");
	assert_string_equal(cw_cause_name(CW_CAUSE_OPERATOR), "operator");
}

static void test_out_of_range(void **state)
{
	static const int bad[] = { -1, CW_CAUSE_COUNT, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_string_equal(cw_cause_name((enum cw_cause)bad[i]), "unknown");
		assert_non_null(cw_cause_text((enum cw_cause)bad[i]));
		assert_string_equal(cw_cause_remedy((enum cw_cause)bad[i]), "");
		assert_string_equal(cw_tunnel_state_name((enum cw_tunnel_state)bad[i]), "unknown");
	}
}

static void test_states(void **state)
{
	(void)state;
	for (int i = 0; i < CW_TUNNEL_STATE_COUNT; i++) {
		assert_true(is_name(cw_tunnel_state_name((enum cw_tunnel_state)i)));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(cw_tunnel_state_name((enum cw_tunnel_state)i),
				cw_tunnel_state_name((enum cw_tunnel_state)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_names_are_stable),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
