/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show_status: tests/vectors/cli/status.json as a person sees it, to the letter, on 80 columns. */
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

#include "cli/show_status.h"
#include "cli/text.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *vector_path(const char *name, char *buf, size_t size)
{
	const char *top = getenv("CW_SRCDIR");

	snprintf(buf, size, "%s/tests/vectors/cli/%s", top ? top : ".", name);
	return buf;
}

static json_t *load_answer(void)
{
	char path[512];
	json_error_t error;
	json_t *answer = json_load_file(vector_path("status.json", path, sizeof(path)), 0, &error);

	if (!answer)
		fail_msg("%s:%d: %s", path, error.line, error.text);
	return answer;
}

/* Leaves only the tunnels of that site. */
static void keep_site(json_t *answer, const char *site)
{
	json_t *tunnels = json_object_get(answer, "tunnels");

	for (size_t i = json_array_size(tunnels); i-- > 0;) {
		const json_t *name = json_object_get(json_array_get(tunnels, i), "site");

		if (strcmp(json_string_value(name), site) != 0)
			json_array_remove(tunnels, i);
	}
}

static json_t *tunnel_number(json_t *answer, size_t i)
{
	return json_array_get(json_object_get(answer, "tunnels"), i);
}

static void expect_file(const struct cw_text *text, const char *name)
{
	char path[512], want[16384];
	FILE *f = fopen(vector_path(name, path, sizeof(path)), "re");
	size_t n;

	if (!f)
		fail_msg("can't open %s", path);
	n = fread(want, 1, sizeof(want) - 1, f);
	fclose(f);
	want[n] = '\0';
	assert_false(text->failed);
	if (strcmp(text->s, want) != 0)
		fail_msg("not as in %s, but:\n%s", path, text->s);
}

static void expect_narrow(const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");

		if (n > 80)
			fail_msg("%zu columns: %.*s", n, (int)n, s);
		s += n + (s[n] == '\n');
	}
}

/* Words stand in a text in this order, whatever the white space between them. */
static void expect_words(const char *s, const char *words)
{
	char *flat = calloc(1, strlen(s) + 1);
	size_t n = 0;

	assert_non_null(flat);
	for (; *s; s++) {
		bool blank = *s == ' ' || *s == '\n';

		if (!blank || (n && flat[n - 1] != ' '))
			flat[n++] = blank ? ' ' : *s;
	}
	if (!strstr(flat, words))
		fail_msg("no \"%s\" in: %s", words, flat);
	free(flat);
}

static void test_golden(void **state)
{
	static const struct {
		const char *site, *file;
		bool color;
	} rows[] = {
		{ NULL, "overview.txt", false },
		{ NULL, "overview-color.txt", true },
		{ "azure-weu", "azure-weu.txt", false },
		{ "branch", "branch.txt", false },
		{ "lab", "lab.txt", false },
		{ "oldsite", "oldsite.txt", false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text text = { 0 };
		json_t *answer = load_answer();

		if (rows[i].site) {
			keep_site(answer, rows[i].site);
			cw_show_detail(&text, answer, rows[i].color);
		} else {
			cw_show_overview(&text, answer, rows[i].color);
		}
		expect_file(&text, rows[i].file);
		if (!rows[i].color)
			expect_narrow(text.s);
		cw_text_free(&text);
		json_decref(answer);
	}
}

/* Each child's end and its use, as people are told of them. */
static void test_child_words(void **state)
{
	static const struct {
		const char *children, *want, *never;
	} rows[] = {
		{ "{\"state\":\"rekeyed\",\"rekey-in-s\":60}", "replaced, being removed", "rekey in" },
		{ "{\"state\":\"deleting\",\"expires-in-s\":60}", " being removed", "replaced" },
		{ "{\"state\":\"installed\"},{\"state\":\"deleting\"}", "replaced, being removed", " deleting" },
		{ "{\"state\":\"installed\",\"pair\":1},{\"state\":\"deleting\",\"pair\":0}", " being removed",
			"replaced" },
		{ "{\"packets-in\":0,\"last-in-s-ago\":null}", "0 packets, never used; SPI", "last" },
		{ "{\"packets-in\":7,\"packets-out\":7}", "7 packets; SPI", "never used" },
		{ "{\"packets-in\":7,\"packets-out\":7,\"last-in-s-ago\":5}", "7 packets, last 5s ago; SPI", "never used" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text text = { 0 };
		char in[512];
		json_t *answer;

		snprintf(in, sizeof(in), "{\"tunnels\":[{\"children\":[%s]}]}", rows[i].children);
		answer = json_loads(in, 0, NULL);
		assert_non_null(answer);
		cw_show_detail(&text, answer, false);
		if (!strstr(text.s, rows[i].want) || strstr(text.s, rows[i].never))
			fail_msg("row %zu: %s", i, text.s);
		cw_text_free(&text);
		json_decref(answer);
	}
}

static void test_all_well(void **state)
{
	json_t *answer = load_answer();

	(void)state;
	assert_false(cw_show_all_well(answer));
	keep_site(answer, "lab"); /* down, as wanted */
	assert_true(cw_show_all_well(answer));
	json_decref(answer);
	answer = load_answer();
	keep_site(answer, "branch"); /* IKE alone is not up (field case BL-079) */
	assert_false(cw_show_all_well(answer));
	json_decref(answer);
	answer = load_answer();
	keep_site(answer, "azure-weu");
	assert_false(cw_show_all_well(answer));
	json_array_remove(json_object_get(answer, "tunnels"), 1);
	assert_true(cw_show_all_well(answer));
	json_decref(answer);
}

/* A gateway with nothing to say, and answers of a daemon that knows fewer members. */
static void test_missing_members(void **state)
{
	static const char *const answers[] = {
		"{}",
		"{\"ok\":true,\"gateway\":{},\"tunnels\":[]}",
		"{\"ok\":true,\"tunnels\":[{}]}",
		"{\"ok\":true,\"tunnels\":[null,1,\"x\",[]]}",
		"{\"tunnels\":[{\"ike\":{},\"children\":[{},{}],\"interface\":{},\"routes\":[{}],"
		"\"history\":[{}],\"cause\":{},\"last-error\":{},\"next-try-in-s\":0}]}",
		"{\"tunnels\":[{\"name\":1,\"for-s\":\"x\",\"bytes-in\":-5,\"children\":{\"a\":1}}]"
		"}",
	};

	(void)state;
	for (size_t i = 0; i < N(answers); i++) {
		json_t *answer = json_loads(answers[i], 0, NULL);
		struct cw_text text = { 0 };

		assert_non_null(answer);
		cw_show_overview(&text, answer, true);
		cw_show_detail(&text, answer, true);
		assert_false(text.failed);
		assert_non_null(text.s);
		cw_text_free(&text);
		json_decref(answer);
	}
	json_t *answer = json_loads(answers[1], 0, NULL);
	struct cw_text text = { 0 };

	cw_show_overview(&text, answer, false);
	assert_non_null(strstr(text.s, "no tunnel is configured\n"));
	cw_text_free(&text);
	json_decref(answer);
}

/* What a peer says of itself can't move the cursor, in either view. */
static void test_hostile_texts(void **state)
{
	static const char *const members[] = { "name", "site", "remote", "state", "local-addr" };
	static const char evil[] = "a\x1b[2J\nb\r\xc2\x9b"
				   "31m\xe2\x80\xae"
				   "c\x7f";
	json_t *answer = load_answer();
	struct cw_text text = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		json_t *tunnel = tunnel_number(answer, i);

		for (size_t k = 0; k < N(members); k++)
			json_object_set_new(tunnel, members[k], json_string(evil));
		if (json_is_object(json_object_get(tunnel, "ike")))
			json_object_set_new(
				json_object_get(tunnel, "ike"), "remote-id", json_string(evil));
		if (json_is_object(json_object_get(tunnel, "cause")))
			json_object_set_new(
				json_object_get(tunnel, "cause"), "detail", json_string(evil));
	}
	cw_show_overview(&text, answer, false);
	cw_show_detail(&text, answer, false);
	for (const char *p = text.s; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
	assert_non_null(strstr(text.s, "a\\x1b[2J\\x0ab\\x0d\\xc2\\x9b31m\\xe2\\x80\\xaec\\x7f"));
	cw_text_free(&text);
	json_decref(answer);
}

static void test_long_names(void **state)
{
	static const char longest[] = "a-name-of-fifty-six-characters-is-as-long-as-they-can-be";
	json_t *answer = load_answer();
	struct cw_text text = { 0 };

	(void)state;
	json_object_set_new(tunnel_number(answer, 3), "name", json_string(longest));
	cw_show_overview(&text, answer, false);
	assert_non_null(strstr(text.s, longest)); /* whole: one must be able to type it */
	cw_text_free(&text);
	json_decref(answer);
}

/* Whatever the peers' names are, a line stays within 80 columns. */
static void test_long_peers(void **state)
{
	static const struct {
		const char *name, *remote, *want;
	} rows[] = {
		{ "a", "2001:db8:1234:5678:9abc:def0:1234:5678",
			" 2001:db8:1234:5678:9abc:def0...  " },
		{ "twenty-letters-long1", "vpn-gateway.example.net", " vpn-gateway.... " },
		{ "twenty-letters-long1", "203.0.113.111", " 203.0.113.111   " },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		json_t *answer = load_answer();
		struct cw_text text = { 0 };

		keep_site(answer, "oldsite");
		json_object_set_new(tunnel_number(answer, 0), "name", json_string(rows[i].name));
		json_object_set_new(
			tunnel_number(answer, 0), "remote", json_string(rows[i].remote));
		cw_show_overview(&text, answer, false);
		if (!strstr(text.s, rows[i].want))
			fail_msg("no \"%s\" in:\n%s", rows[i].want, text.s);
		expect_narrow(text.s);
		cw_text_free(&text);
		json_decref(answer);
	}
}

/* A tunnel that is up and whose data does not come back has a line for that in both forms. */
static void test_one_way(void **state)
{
	static const char want[] = "but nothing comes back for";
	void (*const show[])(struct cw_text *, const json_t *, bool) = { cw_show_overview, cw_show_detail };

	(void)state;
	for (size_t i = 0; i < N(show); i++) {
		for (int64_t for_s = 0; for_s <= 25; for_s += 25) {
			json_t *answer = load_answer();
			struct cw_text text = { 0 };

			keep_site(answer, "azure-weu");
			json_object_set_new(tunnel_number(answer, 0), "one-way-s", json_integer(for_s));
			show[i](&text, answer, false);
			assert_int_equal(for_s != 0, strstr(text.s, want) != NULL);
			expect_narrow(text.s);
			cw_text_free(&text);
			json_decref(answer);
		}
	}
}

/* What is up, and whose packets go elsewhere or nowhere, is not well and is told in both forms; what stands by
 * is. */
static void test_paths(void **state)
{
	static const struct {
		const char *more, *overview, *detail;
		bool well;
	} rows[] = {
		{ "\"bgp\":{\"peer\":\"169.254.60.1\",\"state\":\"connect\",\"for-s\":125,\"why\":\"IKE and child are up, "
		  "but 169.254.60.1 answers no SYN over cw-aws-1\"}",
			"no BGP session with 169.254.60.1: connect; see causewayctl bgp",
			"BGP no session with 169.254.60.1: connect for 2m05s IKE and child are up, but 169.254.60.1 answers "
			"no SYN over cw-aws-1", true },
		{ "\"bgp\":{\"peer\":\"169.254.60.1\",\"state\":\"established\",\"for-s\":7200,\"received\":12,\"why\":null}",
			"far-1 up",
			"BGP established with 169.254.60.1 for 2h00m; 12 prefixes received, 0 used, 0 sent", true },
		{ "\"routes\":[{\"dst\":\"10.20.0.0/16\",\"metric\":100,\"state\":\"shadowed\",\"by\":{"
		  "\"interface\":\"eth0\",\"protocol\":\"static\",\"metric\":0,\"table\":254}}],"
		  "\"n-routes-shadowed\":3",
			"packets to 10.20.0.0/16 and 2 more networks do not take it", "by eth0 (static, metric 0);",
			false },
		{ "\"routes\":[{\"dst\":\"0.0.0.0/0\",\"metric\":100,\"state\":\"shadowed\",\"by\":{"
		  "\"interface\":null,\"protocol\":\"boot\",\"metric\":0,\"table\":52}}],"
		  "\"n-routes-shadowed\":1",
			"to 0.0.0.0/0 do not take it", "several interfaces (boot, table 52, by a rule)", false },
		{ "\"routes\":[{\"dst\":\"10.20.0.0/16\",\"metric\":101,\"installed\":true,\"state\":\"standby\",\"by\":{"
		  "\"interface\":\"cw-far-1\",\"protocol\":\"causeway\",\"metric\":100,\"table\":254}}]",
			"standing by: packets take cw-far-1", "standing by: packets take cw-far-1 (causeway, metric 100)",
			true },
		{ "\"routes\":[{\"dst\":\"10.20.0.0/16\",\"metric\":100,\"state\":\"missing\",\"by\":null}]",
			"packets to 10.20.0.0/16 find no route", "NOT in the kernel", true },
		{ "\"not-covered\":[{\"ours\":\"10.10.0.0/16\",\"theirs\":\"10.20.0.0/16\"}],\"n-not-covered\":2",
			"between 10.10.0.0/16 and 10.20.0.0/16 and 1 more pair:",
			"not covered 10.10.0.0/16 === 10.20.0.0/16", false },
		{ "\"not-covered\":[{\"ours\":null,\"theirs\":\"10.20.0.0/16\"}],\"n-not-covered\":1",
			"between here and 10.20.0.0/16:", "any === 10.20.0.0/16", false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text overview = { 0 }, detail = { 0 };
		char in[1024];
		json_t *answer;

		snprintf(in, sizeof(in), "{\"tunnels\":[{\"name\":\"far-1\",\"state\":\"up\",\"wanted-up\":true,%s}]}",
			rows[i].more);
		answer = json_loads(in, 0, NULL);
		assert_non_null(answer);
		assert_int_equal(cw_show_all_well(answer), rows[i].well);
		cw_show_overview(&overview, answer, false);
		cw_show_detail(&detail, answer, false);
		expect_narrow(overview.s);
		expect_narrow(detail.s);
		for (char *p = overview.s; *p; p++)
			*p = *p == '\n' ? ' ' : *p;
		expect_words(overview.s, rows[i].overview);
		expect_words(detail.s, rows[i].detail);
		cw_text_free(&overview);
		cw_text_free(&detail);
		json_decref(answer);
	}
}

/* A try that is on its way has its number, and why the last one failed. */
static void test_connecting(void **state)
{
	json_t *answer = json_loads("{\"tunnels\":[{\"name\":\"far-1\",\"state\":\"connecting\",\"attempt\":3,"
				    "\"wanted-up\":true,\"cause\":{\"text\":\"the peer does not answer\"}}]}",
		0, NULL);
	struct cw_text text = { 0 };

	(void)state;
	cw_show_overview(&text, answer, false);
	expect_words(text.s, "the peer does not answer; try 3 is on its way");
	cw_show_detail(&text, answer, false);
	expect_words(text.s, "next try 3 is on its way");
	cw_text_free(&text);
	json_decref(answer);
}

/* Of a site with an error there may be no peer to show: its place is not left blank. */
static void test_no_peer(void **state)
{
	json_t *answer = load_answer();
	struct cw_text text = { 0 };

	(void)state;
	keep_site(answer, "oldsite");
	json_object_set_new(tunnel_number(answer, 0), "remote", json_null());
	cw_show_overview(&text, answer, false);
	expect_words(text.s, "oldsite config-error 1d0h - 0 0");
	cw_text_free(&text);
	json_decref(answer);
}

/* A file of the tree, zero-terminated; to be freed. */
static char *read_file(const char *rel)
{
	const char *top = getenv("CW_SRCDIR");
	char path[512], *buf = calloc(1, 1 << 18);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", rel);
	f = fopen(path, "re");
	if (!f)
		fail_msg("can't open %s", path);
	assert_non_null(buf);
	assert_true(fread(buf, 1, (1 << 18) - 1, f) > 0);
	fclose(f);
	return buf;
}

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
		expect_members(man, member);
	}
}

/* causewayctl(8) shows what the program prints, and lists every member of the JSON. */
static void test_man(void **state)
{
	char *man = read_file("man/causewayctl.8");
	char *overview = read_file("tests/vectors/cli/overview.txt");
	char *detail = read_file("tests/vectors/cli/azure-weu.txt");
	json_t *answer = load_answer();
	char *second = strstr(detail, "\n\n");

	(void)state;
	assert_non_null(second);
	second[1] = '\0'; /* the page shows the first of the site's tunnels */
	assert_non_null(strstr(man, overview));
	assert_non_null(strstr(man, detail));
	expect_members(man, answer);
	json_decref(answer);
	free(man);
	free(overview);
	free(detail);
}

static void test_durations(void **state)
{
	static const struct {
		int64_t s;
		const char *want;
	} rows[] = {
		{ -1, "?" },
		{ 0, "0s" },
		{ 59, "59s" },
		{ 60, "1m00s" },
		{ 245, "4m05s" },
		{ 599, "9m59s" },
		{ 600, "10m" },
		{ 3599, "59m" },
		{ 3600, "1h00m" },
		{ 11520, "3h12m" },
		{ 86399, "23h59m" },
		{ 86400, "1d0h" },
		{ 93600, "1d2h" },
		{ 31536000, "365d0h" },
	};
	char buf[CW_TEXT_SHORT];

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		assert_string_equal(cw_text_duration(rows[i].s, buf, sizeof(buf)), rows[i].want);
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t n;
		const char *want;
	} rows[] = {
		{ 0, "0" },
		{ 1, "1 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 102348, "99.9 KiB" },
		{ 102400, "100 KiB" },
		{ 1047000, "1022 KiB" },
		{ 1048575, "1.0 MiB" },
		{ 5368709120, "5.0 GiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char buf[CW_TEXT_SHORT];

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		cw_text_bytes(rows[i].n, buf, sizeof(buf));
		assert_string_equal(buf, rows[i].want);
		assert_true(strlen(buf) <= 8);
	}
}

static void test_wrap(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "\n" },
		{ "one", "one\n" },
		{ "one two three", "one two\n  three\n" },
		{ "one  two", "one  two\n" },
		{ "averyverylongword and", "averyverylongword\n  and\n" },
		{ "a averyverylongword", "a\n  averyverylongword\n" },
		{ "m\xc3\xbc m\xc3\xbc m\xc3\xbc m\xc3\xbc",
			"m\xc3\xbc m\xc3\xbc m\xc3\xbc\n  m\xc3\xbc\n" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text text = { 0 };

		cw_text_wrap(&text, 2, 10, rows[i].text);
		assert_string_equal(text.s, rows[i].want);
		cw_text_free(&text);
	}
}

static void test_safe(void **state)
{
	static const struct {
		const char *text, *want;
		size_t width;
	} rows[] = {
		{ "plain", "plain   ", 8 },
		{ "m\xc3\xbcnchen", "m\xc3\xbcnchen ", 8 },
		{ "\xff", "\\xff", 0 },
		{ "\xc3", "\\xc3", 0 },                   /* cut short */
		{ "\xc0\x80", "\\xc0\\x80", 0 },          /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", 0 }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 0 },
		{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6", 0 }, /* bidi isolate */
		{ "\xf0\x9f\x90\xa2", "\xf0\x9f\x90\xa2", 0 },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_text text = { 0 };

		cw_text_add_safe(&text, rows[i].text, rows[i].width);
		assert_string_equal(text.s, rows[i].want);
		cw_text_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_child_words),
		cmocka_unit_test(test_all_well),
		cmocka_unit_test(test_missing_members),
		cmocka_unit_test(test_hostile_texts),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_long_peers),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_connecting),
		cmocka_unit_test(test_no_peer),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_man),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests_name("show_status", tests, NULL, NULL);
}
