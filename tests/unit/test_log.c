/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int sink[2]; /* a pipe: [0] to read what was logged */

static const char *read_sink(void)
{
	static char buf[8192];
	ssize_t n = read(sink[0], buf, sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static int set_up(void **state)
{
	(void)state;
	if (pipe2(sink, O_NONBLOCK) != 0)
		return -1;
	cw_log_set_sink(sink[1], 0);
	cw_log_set_level(CW_LOG_NOTICE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cw_log_set_sink(-1, 0);
	close(sink[0]);
	close(sink[1]);
	return 0;
}

static void one_line(void **state)
{
	(void)state;
	cw_log(CW_LOG_ERROR, CW_LOG_AUTH_FAILED, "tunnel t-1", "refused %d times", 3);
	assert_string_equal(read_sink(), "error: tunnel t-1: refused 3 times [CW-1304]\n");
	cw_log(CW_LOG_NOTICE, CW_LOG_NONE, NULL, "up");
	assert_string_equal(read_sink(), "notice: up\n");
	cw_log_set_sink(sink[1], 1);
	cw_log(CW_LOG_WARNING, CW_LOG_NONE, "x", "y");
	assert_string_equal(read_sink(), "<4>x: y\n");
}

static void levels(void **state)
{
	(void)state;
	cw_log(CW_LOG_INFO, CW_LOG_NONE, NULL, "hidden");
	assert_string_equal(read_sink(), "");
	cw_log_set_level(CW_LOG_DEBUG);
	cw_log(CW_LOG_DEBUG, CW_LOG_NONE, NULL, "seen");
	assert_string_equal(read_sink(), "debug: seen\n");
	for (int i = 0; i < CW_LOG_LEVEL_COUNT; i++)
		assert_int_equal(cw_log_level_parse(cw_log_level_name(i)), i);
	assert_int_equal(cw_log_level_parse("loud"), -1);
	assert_int_equal(cw_log_level_parse(""), -1);
	assert_string_equal(cw_log_level_name(CW_LOG_LEVEL_COUNT), "unknown");
}

/* No text of a peer makes a second line or drives a terminal. */
static void escapes(void **state)
{
	static const struct {
		const char *in, *out;
	} v[] = {
		{ "a\nerror: forged", "a\\x0aerror: forged" },
		{ "\x1b[31mred", "\\x1b[31mred" },
		{ "\r\t\x7f", "\\x0d\\x09\\x7f" },
		{ "gr\xc3\xbc\xc3\x9f"
		  "e",
		  "gr\xc3\xbc\xc3\x9f"
		  "e" },
		{ "\xc2\x9b"
		  "1m",
		  "\\xc2\\x9b1m" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "\xc3", "\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "%n%s", "%n%s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char want[128];

		snprintf(want, sizeof(want), "error: %s\n", v[i].out);
		cw_log(CW_LOG_ERROR, CW_LOG_NONE, NULL, "%s", v[i].in);
		assert_string_equal(read_sink(), want);
	}
}

static void long_line_is_cut(void **state)
{
	char text[4 * CW_LOG_LINE_MAX];
	const char *line;

	(void)state;
	memset(text, '\n', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	cw_log(CW_LOG_ERROR, CW_LOG_NONE, "o", "%s", text);
	line = read_sink();
	assert_true(strlen(line) < CW_LOG_LINE_MAX + 16);
	assert_string_equal(line + strlen(line) - 4, "...\n");
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

struct seen {
	size_t n;
	char first[64], last[64];
};

static void see(int64_t wall_s, enum cw_log_level level, const char *line, void *arg)
{
	struct seen *seen = arg;

	assert_true(wall_s > 0);
	assert_int_equal(level, CW_LOG_NOTICE);
	if (seen->n++ == 0)
		snprintf(seen->first, sizeof(seen->first), "%s", line);
	snprintf(seen->last, sizeof(seen->last), "%s", line);
}

static void ring_keeps_the_newest(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	cw_log_set_sink(-1, 0);
	for (int i = 0; i < CW_LOG_RING + 10; i++)
		cw_log(CW_LOG_NOTICE, CW_LOG_NONE, "n", "%d", i);
	cw_log_each(SIZE_MAX, see, &seen);
	assert_int_equal(seen.n, CW_LOG_RING);
	assert_string_equal(seen.first, "n: 10");
	assert_string_equal(seen.last, "n: 521");
	seen = (struct seen){ 0 };
	cw_log_each(3, see, &seen);
	assert_int_equal(seen.n, 3);
	assert_string_equal(seen.first, "n: 519");
	seen = (struct seen){ 0 };
	cw_log_each(0, see, &seen);
	assert_int_equal(seen.n, 0);
}

static void ids_are_explained(void **state)
{
	static const int numbers[] = {
#define CW_LOG_ID(name, number, meaning, remedy) number,
#include "base/log_ids.h"
#undef CW_LOG_ID
	};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_non_null(cw_log_id_meaning((enum cw_log_id)numbers[i]));
		assert_non_null(cw_log_id_remedy((enum cw_log_id)numbers[i]));
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(numbers[i], numbers[k]);
	}
	assert_null(cw_log_id_meaning(CW_LOG_NONE));
	assert_null(cw_log_id_remedy(CW_LOG_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(levels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(escapes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_line_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ring_keeps_the_newest, set_up, tear_down),
		cmocka_unit_test(ids_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
