/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: on loopback, where the answer is known on every machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "io/source.h"

static void test_source(void **state)
{
	static const struct {
		const char *remote;
		enum cw_rc want;
		const char *local;
	} rows[] = {
		{ "127.0.0.1", CW_OK, "127.0.0.1" },
		{ "127.9.9.9", CW_OK, "127.0.0.1" },
		{ "0.0.0.0", CW_E_INVALID, NULL },
		{ "::", CW_E_INVALID, NULL },
		{ "::1", CW_OK, "::1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cw_addr remote, local = { .family = 99 };
		char text[CW_ADDR_TEXT_MAX];
		enum cw_rc rc;

		assert_int_equal(cw_addr_parse(rows[i].remote, &remote), CW_OK);
		rc = cw_source_address(&remote, &local);
		/* A machine without IPv6 says so, and that is right too. */
		if (remote.family == CW_FAMILY_IPV6 &&
			(rc == CW_E_NOT_FOUND || rc == CW_E_UNSUPPORTED)) {
			print_message("no IPv6 on loopback here: %s not asked\n", rows[i].remote);
			continue;
		}
		assert_int_equal(rc, rows[i].want);
		if (rc == CW_OK)
			assert_string_equal(
				cw_addr_print(&local, text, sizeof(text)), rows[i].local);
		else
			assert_int_equal(local.family, 99); /* untouched */
	}
}

static void test_none(void **state)
{
	const struct cw_addr none = { 0 };
	struct cw_addr local;

	(void)state;
	assert_int_equal(cw_source_address(&none, &local), CW_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
