/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_bgp: the answers to "bgp" and "routes" as a person sees them, to the letter, on 80 columns; and the routes
 * as an MRT table, octet by octet. CW_GOLDEN=write in the environment writes the texts anew, to be looked at.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/dump_mrt.h"
#include "cli/show_bgp.h"
#include "cli/text.h"
#include "ctl/ctl_request.h"
#include "ctl_sample.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static json_t *ask(const char *text)
{
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	struct cw_ctl_port port = sample_port(&sample);
	struct cw_ctl_request req;
	char err[256] = "", *answer;
	enum cw_rc rc;
	json_t *json;

	if (cw_ctl_request_parse(text, strlen(text), &req, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	answer = cw_ctl_request_answer(&req, &port, &rc);
	json = json_loads(answer, 0, NULL);
	assert_non_null(json);
	free(answer);
	return json;
}

static void expect_file(const struct cw_text *text, const char *name)
{
	const char *top = getenv("CW_SRCDIR"), *golden = getenv("CW_GOLDEN");
	char path[512], want[16384];
	FILE *f;
	size_t n;

	assert_false(text->failed);
	snprintf(path, sizeof(path), "%s/tests/vectors/cli/%s", top ? top : ".", name);
	f = fopen(path, golden && strcmp(golden, "write") == 0 ? "w+e" : "re");
	if (!f)
		fail_msg("can't open %s", path);
	if (golden && strcmp(golden, "write") == 0) {
		fputs(text->s, f);
		rewind(f);
	}
	n = fread(want, 1, sizeof(want) - 1, f);
	fclose(f);
	want[n] = '\0';
	if (strcmp(text->s, want) != 0)
		fail_msg("not as in %s, but:\n%s", path, text->s);
}

/* Lines of at most 80 columns that end in no blank, but where a prefix and its next hop alone are longer. */
static void expect_narrow(const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");

		if (n > 80 && !memmem(s, n, "2001:db8:1234", 13) && !memmem(s, n, "PREFIX         ", 15))
			fail_msg("%zu columns: %.*s", n, (int)n, s);
		if (n && s[n - 1] == ' ')
			fail_msg("blanks at the end of: %.*s", (int)n, s);
		s += n + (s[n] == '\n');
	}
}

static void test_golden(void **state)
{
	static const struct {
		const char *request, *file;
		void (*show)(struct cw_text *out, const json_t *answer, bool color);
		bool color;
	} rows[] = {
		{ "{\"cmd\":\"bgp\"}", "bgp.txt", cw_show_neighbours, false },
		{ "{\"cmd\":\"bgp\"}", "bgp-color.txt", cw_show_neighbours, true },
		{ "{\"cmd\":\"bgp\",\"peer\":\"azure-weu-1\"}", "bgp-azure-weu-1.txt", cw_show_neighbour, false },
		{ "{\"cmd\":\"bgp\",\"peer\":\"azure-weu-2\"}", "bgp-azure-weu-2.txt", cw_show_neighbour, false },
		{ "{\"cmd\":\"bgp\",\"peer\":\"branch\"}", "bgp-branch.txt", cw_show_neighbour, false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text text = { 0 };
		json_t *answer = ask(rows[i].request);

		rows[i].show(&text, answer, rows[i].color);
		expect_file(&text, rows[i].file);
		if (!rows[i].color)
			expect_narrow(text.s);
		cw_text_free(&text);
		json_decref(answer);
	}
}

static void test_routes(void **state)
{
	struct cw_show_columns columns = { 0 };
	struct cw_text text = { 0 };
	json_t *answer = ask("{\"cmd\":\"routes\"}");

	(void)state;
	cw_show_routes(&text, answer, false, &columns);
	cw_show_routes_end(&text, false, &columns);
	expect_file(&text, "routes.txt");
	expect_narrow(text.s);
	cw_text_free(&text);
	json_decref(answer);
}

/* Pages have one header, unless columns grow. */
static void test_pages(void **state)
{
	struct cw_show_columns columns = { 0 }, none = { 0 };
	struct cw_text text = { 0 };
	json_t *answer = ask("{\"cmd\":\"routes\",\"max\":5}");
	const char *first;

	(void)state;
	cw_show_routes(&text, answer, false, &columns);
	cw_show_routes(&text, answer, false, &columns);
	first = strstr(text.s, "PREFIX");
	assert_non_null(first);
	assert_null(strstr(first + 1, "PREFIX"));
	json_decref(answer);
	answer = ask("{\"cmd\":\"routes\"}");
	cw_show_routes(&text, answer, false, &columns);
	first = strstr(first + 1, "PREFIX"); /* IPv6 */
	assert_non_null(first);
	cw_text_free(&text);
	json_decref(answer);

	answer = json_loads("{\"ok\":true,\"routes\":[]}", 0, NULL);
	cw_show_routes(&text, answer, false, &none);
	cw_show_routes_end(&text, false, &none);
	assert_string_equal(text.s, "no route\n");
	cw_text_free(&text);
	json_decref(answer);
}

/* Answers of a daemon that knows fewer members, or of something else. */
static void test_missing_members(void **state)
{
	static const char *const answers[] = {
		"{}",
		"{\"peers\":[{}]}",
		"{\"peers\":[null,1,\"x\",[]]}",
		"{\"peers\":[{\"tunnel\":\"\\u001b[2J\",\"peer\":\"\\u001b[2J\",\"state\":\"\\u009b\"}]}",
		"{\"peers\":[{\"our-capabilities\":{\"families\":[1,null,\"\\u001b\"]}}]}",
		"{\"routes\":[{}]}",
		"{\"routes\":[null,1,{\"prefix\":\"::\\u001b\",\"as-path\":[[],[[]],\"x\",null],\"tunnel\":\"\\u001b\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < N(answers); i++) {
		json_t *answer = json_loads(answers[i], 0, NULL);
		struct cw_show_columns columns = { 0 };
		struct cw_text text = { 0 };

		assert_non_null(answer);
		cw_show_neighbours(&text, answer, false);
		cw_show_neighbour(&text, answer, false);
		cw_show_routes(&text, answer, false, &columns);
		cw_show_routes_end(&text, false, &columns);
		assert_false(text.failed);
		assert_null(strchr(text.s, '\x1b'));
		cw_text_free(&text);
		json_decref(answer);
	}
}

static char *dump(const json_t *peers, const json_t *routes, size_t *ret_n, enum cw_rc want)
{
	struct cw_mrt_dump *d = NULL;
	char *buf = NULL;
	FILE *f = open_memstream(&buf, ret_n);

	assert_non_null(f);
	assert_int_equal(cw_mrt_dump_new(f, peers, 0x60000000, &d), CW_OK);
	assert_int_equal(cw_mrt_dump_routes(d, routes), want);
	cw_mrt_dump_free(d);
	fclose(f);
	return buf;
}

static void test_mrt(void **state)
{
	static const char route1[] = /* 10.20.0.0/16 by two peers, behind the record of our own network */
		"\x60\0\0\0\0\x0d\0\2\0\0\0\x41\0\0\0\1\x10\x0a\x14\0\2"
		"\0\1\x69\x2d\x56\xb8\0\x14\x40\3\4\xa9\xfe\x15\1\x40\1\1\0\x40\2\6\2\1\0\0\xff\xeb"
		"\0\2\x69\x2d\x82\xc3\0\x14\x40\3\4\xa9\xfe\x16\1\x40\1\1\0\x40\2\6\2\1\0\0\xff\xeb";
	json_t *peers = ask("{\"cmd\":\"bgp\"}"), *routes = ask("{\"cmd\":\"routes\",\"attributes\":true}");
	json_t *bare = ask("{\"cmd\":\"routes\"}");
	size_t n = 0, records = 0;
	char *buf = dump(peers, routes, &n, CW_OK);

	(void)state;
	for (size_t at = 0; at < n; records++) {
		const uint8_t *p = (const uint8_t *)buf + at;

		assert_true(n - at >= 12);
		at += 12 + ((size_t)p[8] << 24 | (size_t)p[9] << 16 | (size_t)p[10] << 8 | p[11]);
	}
	assert_int_equal(records, 1 + 6);
	assert_non_null(memmem(buf, n, route1, sizeof(route1) - 1));
	free(buf);
	free(dump(peers, bare, &n, CW_E_INVALID));
	free(dump(peers, peers, &n, CW_E_INVALID));
	json_decref(peers);
	json_decref(routes);
	json_decref(bare);
}

/* causewayctl(8) shows what the program prints, and lists every member of the JSON. */
static void expect_members(const char *man, const json_t *value)
{
	const json_t *item;
	const char *key;
	json_t *member;
	size_t i;

	json_array_foreach(value, i, item)
		expect_members(man, item);
	if (!json_is_object(value))
		return;
	json_object_foreach((json_t *)(uintptr_t)value, key, member) {
		if (!strstr(man, key))
			fail_msg("causewayctl(8) does not know the member \"%s\"", key);
		if (strcmp(key, "refused") != 0) /* by reason: those are many */
			expect_members(man, member);
	}
}

static void test_man(void **state)
{
	const char *top = getenv("CW_SRCDIR");
	char path[512], *man = calloc(1, 1 << 18);
	json_t *peers = ask("{\"cmd\":\"bgp\"}"), *routes = ask("{\"cmd\":\"routes\",\"attributes\":true}");
	struct cw_show_columns columns = { 0 };
	struct cw_text text = { 0 };
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/man/causewayctl.8", top ? top : ".");
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(man);
	assert_true(fread(man, 1, (1 << 18) - 1, f) > 0);
	fclose(f);
	expect_members(man, peers);
	expect_members(man, routes);
	cw_show_neighbours(&text, peers, false);
	assert_non_null(strstr(man, text.s));
	cw_text_free(&text);
	cw_show_routes(&text, routes, false, &columns);
	assert_non_null(strstr(man, text.s));
	cw_text_free(&text);
	json_decref(peers);
	json_decref(routes);
	free(man);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_missing_members),
		cmocka_unit_test(test_mrt),
		cmocka_unit_test(test_man),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests_name("show_bgp", tests, NULL, NULL);
}
