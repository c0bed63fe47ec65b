/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_request: what is accepted, what is refused and how, and what the port is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ctl/ctl_request.h"
#include "ctl_sample.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static void test_accepted(void **state)
{
	static const struct {
		const char *text;
		struct cw_ctl_request want;
	} rows[] = {
		{ "{\"cmd\":\"status\"}", { .cmd = CW_CTL_STATUS, .lines = 50 } },
		{ "{\"cmd\":\"status\",\"tunnel\":\"a\"}", { .cmd = CW_CTL_STATUS, .tunnel = "a", .lines = 50 } },
		{ " { \"tunnel\" : \"a-1\", \"cmd\":\"up\" } \r", { .cmd = CW_CTL_UP, .tunnel = "a-1", .lines = 50 } },
		{ "{\"cmd\":\"down\",\"tunnel\":\"a-1\"}", { .cmd = CW_CTL_DOWN, .tunnel = "a-1", .lines = 50 } },
		{ "{\"cmd\":\"restart\",\"tunnel\":\"a-1\"}",
			{ .cmd = CW_CTL_RESTART, .tunnel = "a-1", .lines = 50 } },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"a\",\"what\":\"ike\"}",
			{ .cmd = CW_CTL_REKEY, .tunnel = "a", .lines = 50 } },
		{ "{\"cmd\":\"rekey\",\"what\":\"child\",\"tunnel\":\"a\"}",
			{ .cmd = CW_CTL_REKEY, .tunnel = "a", .child = true, .lines = 50 } },
		{ "{\"cmd\":\"log\"}", { .cmd = CW_CTL_LOG, .lines = 50 } },
		{ "{\"cmd\":\"log\",\"lines\":7}", { .cmd = CW_CTL_LOG, .lines = 7 } },
		{ "{\"cmd\":\"log\",\"lines\":999999}",
			{ .cmd = CW_CTL_LOG, .lines = CW_LOG_RING } },
		{ "{\"cmd\":\"version\"}", { .cmd = CW_CTL_VERSION, .lines = 50 } },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_ctl_request req;
		char err[256] = "";

		if (cw_ctl_request_parse(
			    rows[i].text, strlen(rows[i].text), &req, err, sizeof(err)))
			fail_msg("%s: %s", rows[i].text, err);
		assert_int_equal(req.cmd, rows[i].want.cmd);
		assert_string_equal(req.tunnel, rows[i].want.tunnel);
		assert_int_equal(req.child, rows[i].want.child);
		assert_int_equal(req.lines, rows[i].want.lines);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "no JSON" },
		{ "status", "no JSON" },
		{ "{\"cmd\":\"status\"", "no JSON" },
		{ "{\"cmd\":\"status\"} {}", "no JSON" },
		{ "{\"cmd\":\"status\",\"cmd\":\"down\"}", "duplicate" },
		{ "{\"cmd\":\"st\xff\"}", "no JSON" },
		{ "{\"cmd\":\"a\\u0000b\"}", "no JSON" },
		{ "[]", "one JSON object" },
		{ "{}", "\"cmd\" is missing" },
		{ "{\"cmd\":1}", "\"cmd\" is missing" },
		{ "{\"cmd\":\"reload\"}", "unknown command \"reload\"; known are status" },
		{ "{\"cmd\":\"status\",\"tunel\":\"a\"}", "no member \"tunel\"" },
		{ "{\"cmd\":\"status\",\"tunnel\":1}", "must be a name" },
		{ "{\"cmd\":\"status\",\"tunnel\":\"\"}", "must be a name" },
		{ "{\"cmd\":\"status\",\"tunnel\":"
		  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaa\"}",
			"a name has at most 56" },
		{ "{\"cmd\":\"up\"}", "needs a \"tunnel\"" },
		{ "{\"cmd\":\"rekey\",\"what\":\"ike\"}", "needs a \"tunnel\"" },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"a\"}", "needs \"what\"" },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"a\",\"what\":\"both\"}",
			"\"ike\" or \"child\"" },
		{ "{\"cmd\":\"up\",\"tunnel\":\"a\",\"what\":\"ike\"}", "no member \"what\"" },
		{ "{\"cmd\":\"log\",\"lines\":0}", "at least 1" },
		{ "{\"cmd\":\"log\",\"lines\":-3}", "at least 1" },
		{ "{\"cmd\":\"log\",\"lines\":1.5}", "whole number" },
		{ "{\"cmd\":\"log\",\"lines\":\"9\"}", "whole number" },
		{ "{\"cmd\":\"log\",\"lines\":99999999999999999999}", "no JSON" },
		{ "{\"cmd\":\"version\",\"tunnel\":\"a\"}", "no member \"tunnel\"" },
		{ "{\"cmd\":\"bgp\",\"peer\":\"\"}", "a tunnel's name or a neighbour's address" },
		{ "{\"cmd\":\"bgp\",\"tunnel\":\"a\"}", "no member \"tunnel\"" },
		{ "{\"cmd\":\"bgp-reset\"}", "needs a \"peer\"" },
		{ "{\"cmd\":\"bgp-refresh\"}", "needs a \"peer\"" },
		{ "{\"cmd\":\"routes\",\"peer\":\"a\"}", "no member \"peer\"" },
		{ "{\"cmd\":\"routes\",\"prefix\":\"10.0.0.0/33\"}", "must be a prefix" },
		{ "{\"cmd\":\"routes\",\"prefix\":7}", "must be a prefix" },
		{ "{\"cmd\":\"routes\",\"after\":\"x\"}", "\"after\" must be a prefix" },
		{ "{\"cmd\":\"routes\",\"best\":false}", "\"best\" must be true" },
		{ "{\"cmd\":\"routes\",\"best\":true,\"received\":\"a\"}", "at a time" },
		{ "{\"cmd\":\"routes\",\"received\":\"a\",\"advertised\":\"a\"}", "at a time" },
		{ "{\"cmd\":\"routes\",\"received\":true}", "must be a tunnel's name" },
		{ "{\"cmd\":\"routes\",\"max\":0}", "from 1 to 1000" },
		{ "{\"cmd\":\"routes\",\"max\":1001}", "from 1 to 1000" },
		{ "{\"cmd\":\"routes\",\"attributes\":1}", "\"attributes\" must be true" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_ctl_request req = { .lines = 12345 };
		char err[256] = "";

		assert_int_equal(cw_ctl_request_parse(rows[i].text, strlen(rows[i].text), &req, err,
					 sizeof(err)),
			CW_E_INVALID);
		if (!strstr(err, rows[i].says))
			fail_msg("%s: says \"%s\", not \"%s\"", rows[i].text, err, rows[i].says);
		assert_int_equal(req.lines, 12345); /* untouched */
	}
}

static void test_deep_nesting(void **state)
{
	struct cw_ctl_request req;
	char text[4096], err[256];

	(void)state;
	memset(text, '[', sizeof(text));
	assert_int_equal(
		cw_ctl_request_parse(text, sizeof(text), &req, err, sizeof(err)), CW_E_INVALID);
}

/* Parses, asks, checks that the answer is one line of plain ASCII, and gives it as JSON. */
static json_t *ask(struct sample *sample, const char *text, enum cw_rc want)
{
	struct cw_ctl_port port = sample_port(sample);
	struct cw_ctl_request req;
	char err[256] = "", *line;
	enum cw_rc rc;
	json_t *json;

	if (cw_ctl_request_parse(text, strlen(text), &req, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	line = cw_ctl_request_answer(&req, &port, &rc);
	assert_int_equal(rc, want);
	assert_non_null(line);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	for (const char *p = line; *p != '\n'; p++)
		assert_in_range(*p, ' ', '~');
	json = json_loads(line, 0, NULL);
	assert_non_null(json);
	free(line);
	return json;
}

static void test_status(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *first;
	} rows[] = {
		{ "{\"cmd\":\"status\"}", 5, "azure-weu-1" },
		{ "{\"cmd\":\"status\",\"tunnel\":\"azure-weu-2\"}", 1, "azure-weu-2" },
		{ "{\"cmd\":\"status\",\"tunnel\":\"azure-weu\"}", 2, "azure-weu-1" },
		{ "{\"cmd\":\"status\",\"tunnel\":\"oldsite\"}", 1, "oldsite" },
	};
	struct sample sample = { .n_tunnels = SAMPLE_TUNNELS };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		json_t *json = ask(&sample, rows[i].text, CW_OK);
		const json_t *tunnels = json_object_get(json, "tunnels");

		assert_true(json_is_true(json_object_get(json, "ok")));
		assert_string_equal(json_string_value(json_object_get(
					    json_object_get(json, "gateway"), "name")),
			"homelab");
		assert_int_equal(json_array_size(tunnels), rows[i].n);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(tunnels, 0), "name")),
			rows[i].first);
		json_decref(json);
	}
}

static void expect_refusal(json_t *json, const char *code, const char *says)
{
	const char *error = json_string_value(json_object_get(json, "error"));

	assert_true(json_is_false(json_object_get(json, "ok")));
	assert_string_equal(json_string_value(json_object_get(json, "code")), code);
	assert_non_null(error);
	if (!strstr(error, says))
		fail_msg("says \"%s\", not \"%s\"", error, says);
	json_decref(json);
}

static void test_status_not_found(void **state)
{
	struct sample sample = { .n_tunnels = SAMPLE_TUNNELS };

	(void)state;
	expect_refusal(ask(&sample, "{\"cmd\":\"status\",\"tunnel\":\"azure\"}", CW_E_NOT_FOUND),
		"not-found",
		"no tunnel or site \"azure\"; there are: azure-weu-1, azure-weu-2, branch");
	sample.n_tunnels = 0;
	expect_refusal(ask(&sample, "{\"cmd\":\"status\",\"tunnel\":\"x\"}", CW_E_NOT_FOUND),
		"not-found", "none is configured");
	/* More names than the message has room for. */
	sample.n_tunnels = 400;
	expect_refusal(ask(&sample, "{\"cmd\":\"status\",\"tunnel\":\"x\"}", CW_E_NOT_FOUND),
		"not-found", ", ...");
	/* Nothing is configured: an empty list, no error. */
	sample.n_tunnels = 0;
	json_decref(ask(&sample, "{\"cmd\":\"status\"}", CW_OK));
}

static void test_orders(void **state)
{
	static const struct {
		const char *text, *order;
		bool child;
	} rows[] = {
		{ "{\"cmd\":\"up\",\"tunnel\":\"lab\"}", "up", false },
		{ "{\"cmd\":\"down\",\"tunnel\":\"lab\"}", "down", false },
		{ "{\"cmd\":\"restart\",\"tunnel\":\"lab\"}", "restart", false },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"lab\",\"what\":\"ike\"}", "rekey", false },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"lab\",\"what\":\"child\"}", "rekey", true },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct sample sample = { .n_tunnels = SAMPLE_TUNNELS };
		json_t *json = ask(&sample, rows[i].text, CW_OK);

		assert_string_equal(sample.order, rows[i].order);
		assert_string_equal(sample.tunnel, "lab");
		assert_int_equal(sample.child, rows[i].child);
		assert_true(json_is_true(json_object_get(json, "ok")));
		assert_string_equal(json_string_value(json_object_get(json, "tunnel")), "lab");
		json_decref(json);
	}
}

static void test_order_refused(void **state)
{
	static const struct {
		enum cw_rc rc;
		const char *text, *code, *says;
	} rows[] = {
		{ CW_E_NOT_FOUND, NULL, "not-found", "there is no tunnel \"lab\"" },
		{ CW_E_INVALID, "it has no CHILD_SA", "invalid", "it has no CHILD_SA" },
		{ CW_E_UNSUPPORTED, NULL, "invalid", "not supported" },
		{ CW_E_BUSY, "still starting", "busy", "still starting" },
		{ CW_E_BUG, NULL, "internal", "internal error" },
		{ CW_E_INVALID, "peer says \xff\x1b[2J", "invalid", "peer says \\xff\x1b[2J" },
		{ CW_E_INVALID, "peer says \x7f\x7f.", "invalid", "peer says \x7f\x7f." },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct sample sample = { .answer = rows[i].rc, .answer_text = rows[i].text };

		expect_refusal(ask(&sample, "{\"cmd\":\"up\",\"tunnel\":\"lab\"}", rows[i].rc),
			rows[i].code, rows[i].says);
	}
}

static void test_log_and_version(void **state)
{
	struct sample sample = { 0 };
	const json_t *lines;
	json_t *json;

	(void)state;
	cw_log_set_sink(-1, 0);
	for (int i = 0; i < 5; i++)
		cw_log(CW_LOG_NOTICE, CW_LOG_TUNNEL_UP, "tunnel a", "line %d \x1b[2J", i);
	json = ask(&sample, "{\"cmd\":\"log\",\"lines\":2}", CW_OK);
	lines = json_object_get(json, "lines");
	assert_int_equal(json_array_size(lines), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(lines, 1), "text")),
		"tunnel a: line 4 \\x1b[2J [CW-1301]");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(lines, 1), "level")), "notice");
	assert_true(json_integer_value(json_object_get(json_array_get(lines, 0), "at-wall-s")) > 0);
	json_decref(json);

	json = ask(&sample, "{\"cmd\":\"version\"}", CW_OK);
	assert_string_equal(json_string_value(json_object_get(json, "version")), "0.1.0");
	assert_string_equal(
		json_string_value(json_object_get(json, "ike-engine")), "libcharon 5.9.8");
	json_decref(json);
}

static void test_orders_known(void **state)
{
	static const struct {
		const char *name;
		bool order;
	} rows[CW_CTL_CMD_COUNT] = {
		[CW_CTL_STATUS] = { "status", false },
		[CW_CTL_UP] = { "up", true },
		[CW_CTL_DOWN] = { "down", true },
		[CW_CTL_RESTART] = { "restart", true },
		[CW_CTL_REKEY] = { "rekey", true },
		[CW_CTL_LOG] = { "log", false },
		[CW_CTL_VERSION] = { "version", false },
		[CW_CTL_BGP] = { "bgp", false },
		[CW_CTL_BGP_REFRESH] = { "bgp-refresh", true },
		[CW_CTL_BGP_RESET] = { "bgp-reset", true },
		[CW_CTL_ROUTES] = { "routes", false },
	};

	(void)state;
	for (unsigned i = 0; i < CW_CTL_CMD_COUNT; i++) {
		assert_string_equal(cw_ctl_cmd_name((enum cw_ctl_cmd)i), rows[i].name);
		assert_int_equal(cw_ctl_cmd_is_order((enum cw_ctl_cmd)i), rows[i].order);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_not_found),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_order_refused),
		cmocka_unit_test(test_log_and_version),
		cmocka_unit_test(test_orders_known),
	};

	return cmocka_run_group_tests_name("ctl_request", tests, NULL, NULL);
}
