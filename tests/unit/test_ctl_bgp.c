/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_bgp: neighbours and routes as JSON, what a query becomes, orders, refusals, and pages that are whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_request.h"
#include "ctl_sample.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static json_t *ask(struct sample *sample, const char *text, enum cw_rc want)
{
	struct cw_ctl_port port = sample_port(sample);
	struct cw_ctl_request req;
	char err[256] = "", *answer;
	enum cw_rc rc;
	json_t *json;

	if (cw_ctl_request_parse(text, strlen(text), &req, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	answer = cw_ctl_request_answer(&req, &port, &rc);
	assert_int_equal(rc, want);
	assert_non_null(answer);
	json = json_loads(answer, 0, NULL);
	assert_non_null(json);
	assert_int_equal(json_is_true(json_object_get(json, "ok")), want == CW_OK);
	free(answer);
	return json;
}

/* The value at a path such as "peers.0.ipv4.received", as compact JSON text. */
static void expect(const json_t *root, const char *path, const char *want)
{
	char part[32], got[512];
	const char *p = path;
	size_t n;

	while (*p) {
		size_t len = strcspn(p, ".");

		assert_true(len < sizeof(part));
		memcpy(part, p, len);
		part[len] = '\0';
		root = json_is_array(root) ? json_array_get(root, strtoul(part, NULL, 10))
					   : json_object_get(root, part);
		if (!root)
			fail_msg("%s: no member \"%s\"", path, part);
		p += len + (p[len] == '.');
	}
	n = json_dumpb(root, got, sizeof(got) - 1, JSON_ENCODE_ANY | JSON_COMPACT);
	assert_true(n > 0 && n < sizeof(got));
	got[n] = '\0';
	if (strcmp(got, want) != 0)
		fail_msg("%s: got %s, want %s", path, got, want);
}

static void test_neighbours(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "0.tunnel", "\"azure-weu-1\"" },
		{ "0.site", "\"azure-weu\"" },
		{ "0.interface", "\"cw-azure-weu-1\"" },
		{ "0.peer", "\"169.254.21.1\"" },
		{ "0.local", "\"169.254.21.2\"" },
		{ "0.asn", "65515" },
		{ "0.local-asn", "64999" },
		{ "0.router-id", "\"10.0.0.4\"" },
		{ "0.peer-router-id", "\"169.254.21.1\"" },
		{ "0.tunnel-up", "true" },
		{ "0.state", "\"established\"" },
		{ "0.for-s", "11400" },
		{ "0.waits-for", "null" },
		{ "0.next-try-in-s", "null" },
		{ "0.cause", "null" },
		{ "0.last-error.name", "\"notification\"" },
		{ "0.last-error.detail", "\"Cease, Administrative Shutdown (6/2): maintenance\"" },
		{ "0.times-up", "2" },
		{ "0.opened-by-us", "true" },
		{ "0.hold-s", "180" },
		{ "0.keepalive-s", "60" },
		{ "0.hold-left-s", "171" },
		{ "0.restart-left-s", "null" },
		{ "0.our-capabilities", "{\"families\":[\"ipv4\",\"ipv6\"],\"as4\":true,\"refresh\":true,"
			"\"enhanced-refresh\":true,\"extended-message\":true,\"extended-next-hop\":true,"
			"\"role\":null,\"graceful-restart-s\":120,\"codes\":[1,2,65]}" },
		{ "0.peer-capabilities.families", "[\"ipv4\"]" },
		{ "0.peer-capabilities.role", "3" },
		{ "0.messages-in.update", "9" },
		{ "0.messages-out.open", "2" },
		{ "0.messages-out.route-refresh", "0" },
		{ "0.notification-sent", "null" },
		{ "0.notification-received.code", "6" },
		{ "0.notification-received.data", "\"0b6d61696e74656e616e6365\"" },
		{ "0.notification-received.data-length", "12" },
		{ "0.attributes-discarded", "2" },
		{ "0.treated-as-withdrawn", "1" },
		{ "0.ipv4.received", "14" },
		{ "0.ipv4.accepted", "12" },
		{ "0.ipv4.selected", "11" },
		{ "0.ipv4.announced", "3" },
		{ "0.ipv4.surplus", "1" },
		{ "0.ipv4.agreed", "true" },
		{ "0.ipv6.agreed", "false" },
		{ "0.history.1.cause", "\"notification\"" },
		{ "1.state", "\"connect\"" },
		{ "1.hold-s", "null" },
		{ "1.our-capabilities", "null" },
		{ "1.peer-router-id", "null" },
		{ "1.last-error.name", "\"connect-failed\"" },
		{ "2.waits-for", "\"prefix-limit\"" },
		{ "2.asn", "4200000001" },
		{ "2.notification-sent.subcode", "1" },
		{ "3.tunnel-up", "false" },
		{ "3.waits-for", "\"tunnel-down\"" },
	};
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	json_t *json = ask(&sample, "{\"cmd\":\"bgp\"}", CW_OK);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(json, "peers")), SAMPLE_NEIGHBOURS);
	for (size_t i = 0; i < N(rows); i++)
		expect(json_object_get(json, "peers"), rows[i].path, rows[i].want);
	/* each reason by its name, and nothing that is 0 */
	assert_int_equal(json_object_size(json_object_get(
		json_object_get(json_array_get(json_object_get(json, "peers"), 0), "ipv4"), "refused")), 2);
	json_decref(json);
}

static void test_one(void **state)
{
	static const char *const names[] = { "branch", "2001:db8:7777:8888:9999:aaaa:bbbb:cccc" };
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	char text[128];

	(void)state;
	for (size_t i = 0; i < N(names); i++) {
		json_t *json;

		snprintf(text, sizeof(text), "{\"cmd\":\"bgp\",\"peer\":\"%s\"}", names[i]);
		json = ask(&sample, text, CW_OK);
		assert_int_equal(json_array_size(json_object_get(json, "peers")), 1);
		expect(json, "peers.0.tunnel", "\"branch\"");
		json_decref(json);
	}
}

static void test_orders(void **state)
{
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	json_t *json = ask(&sample, "{\"cmd\":\"bgp-refresh\",\"peer\":\"azure-weu-2\"}", CW_OK);

	(void)state;
	expect(json, "", "{\"ok\":true,\"cmd\":\"bgp-refresh\",\"peer\":\"azure-weu-2\"}");
	assert_int_equal(sample.reset_i, 1);
	assert_int_equal(sample.resets[CW_BGP_RESET_SOFT_IN], 1);
	assert_int_equal(sample.resets[CW_BGP_RESET_SOFT_OUT], 1);
	assert_int_equal(sample.resets[CW_BGP_RESET_HARD], 0);
	json_decref(json);
	json_decref(ask(&sample, "{\"cmd\":\"bgp-reset\",\"peer\":\"10.99.0.1\"}", CW_OK));
	assert_int_equal(sample.reset_i, 3);
	assert_int_equal(sample.resets[CW_BGP_RESET_SOFT_IN], 1);
	assert_int_equal(sample.resets[CW_BGP_RESET_HARD], 1);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		enum cw_rc rc;
		const char *code, *says;
	} rows[] = {
		{ "{\"cmd\":\"bgp\"}", 0, CW_E_UNSUPPORTED, "invalid", "no tunnel has a bgp-peer" },
		{ "{\"cmd\":\"routes\"}", 0, CW_E_UNSUPPORTED, "invalid", "no tunnel has a bgp-peer" },
		{ "{\"cmd\":\"bgp-reset\",\"peer\":\"lab\"}", 0, CW_E_UNSUPPORTED, "invalid", "bgp-peer" },
		{ "{\"cmd\":\"bgp\",\"peer\":\"x\"}", 4, CW_E_NOT_FOUND, "not-found", "no tunnel \"x\" has a BGP" },
		{ "{\"cmd\":\"bgp-reset\",\"peer\":\"x\"}", 4, CW_E_NOT_FOUND, "not-found", "none has that address" },
		{ "{\"cmd\":\"routes\",\"received\":\"x\"}", 4, CW_E_NOT_FOUND, "not-found", "no tunnel \"x\"" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct sample sample = { .n_neighbours = rows[i].n };
		json_t *json = ask(&sample, rows[i].text, rows[i].rc);

		assert_string_equal(json_string_value(json_object_get(json, "code")), rows[i].code);
		assert_non_null(strstr(json_string_value(json_object_get(json, "error")), rows[i].says));
		assert_int_equal(sample.resets[CW_BGP_RESET_HARD], 0);
		json_decref(json);
	}
}

/* What the speaker is asked. */
static void test_queries(void **state)
{
	static const struct {
		const char *text;
		enum cw_bgp_route_kind kind;
		size_t peer, max;
		const char *prefix, *after;
	} rows[] = {
		{ "{\"cmd\":\"routes\"}", CW_BGP_ROUTES_ALL, 99, 1000, NULL, NULL },
		{ "{\"cmd\":\"routes\",\"best\":true,\"max\":7}", CW_BGP_ROUTES_BEST, 99, 7, NULL, NULL },
		{ "{\"cmd\":\"routes\",\"received\":\"azure-weu-2\"}", CW_BGP_ROUTES_RECEIVED, 1, 1000, NULL, NULL },
		{ "{\"cmd\":\"routes\",\"advertised\":\"10.99.0.1\"}", CW_BGP_ROUTES_ADVERTISED, 3, 1000, NULL, NULL },
		{ "{\"cmd\":\"routes\",\"prefix\":\"10.20.1.2/16\"}", CW_BGP_ROUTES_ALL, 99, 1000, "10.20.0.0/16", NULL },
		{ "{\"cmd\":\"routes\",\"prefix\":\"10.20.1.2\"}", CW_BGP_ROUTES_ALL, 99, 1000, "10.20.1.2/32", NULL },
		{ "{\"cmd\":\"routes\",\"after\":\"2001:db8::/32\"}", CW_BGP_ROUTES_ALL, 99, 1000, NULL, "2001:db8::/32" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
		char text[CW_PREFIX_TEXT_MAX];

		json_decref(ask(&sample, rows[i].text, CW_OK));
		assert_int_equal(sample.query.kind, rows[i].kind);
		assert_int_equal(sample.query.max, rows[i].max);
		assert_int_equal(sample.query.has_peer, rows[i].peer != 99);
		if (rows[i].peer != 99)
			assert_int_equal(sample.query.peer, rows[i].peer);
		assert_int_equal(sample.query.has_prefix, rows[i].prefix != NULL);
		if (rows[i].prefix)
			assert_string_equal(cw_prefix_print(&sample.query.prefix, text, sizeof(text)), rows[i].prefix);
		assert_int_equal(sample.query.has_after, rows[i].after != NULL);
		if (rows[i].after)
			assert_string_equal(cw_prefix_print(&sample.query.after, text, sizeof(text)), rows[i].after);
	}
}

static void test_routes(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "0", "{\"prefix\":\"10.10.0.0/16\",\"own\":true,\"tunnel\":null,\"from\":null,\"next-hop\":null,"
		       "\"best\":true,\"multipath\":false,\"stale\":false,\"installed\":false,\"refused\":null,"
		       "\"why-not\":null,\"origin\":\"igp\",\"med\":null,\"local-pref\":null,\"as-path\":[],"
		       "\"communities\":[],\"large-communities\":[]}" },
		{ "1.tunnel", "\"azure-weu-1\"" },
		{ "1.next-hop", "\"169.254.21.1\"" },
		{ "1.as-path", "[65515]" },
		{ "1.communities", "[\"65515:1\",\"no-export\"]" },
		{ "2.why-not", "\"longer AS path\"" },
		{ "2.med", "100" },
		{ "3.as-path", "[65515,[64512,64513]]" },
		{ "4.multipath", "true" },
		{ "4.stale", "true" },
		{ "5.as-path", "[4200000001,4200000002,4200000003,4200000004,4200000005]" },
		{ "6.prefix", "\"2001:db8:1234:5678:9abc:def0:1234:0/112\"" },
	};
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	json_t *json = ask(&sample, "{\"cmd\":\"routes\"}", CW_OK);
	const json_t *routes = json_object_get(json, "routes");

	(void)state;
	assert_int_equal(json_array_size(routes), SAMPLE_ROUTES);
	expect(json, "after", "null");
	for (size_t i = 0; i < N(rows); i++)
		expect(routes, rows[i].path, rows[i].want);
	assert_true(json_is_string(json_object_get(json_array_get(routes, 5), "refused")));
	json_decref(json);
	json = ask(&sample, "{\"cmd\":\"routes\",\"attributes\":true}", CW_OK);
	expect(json, "routes.1.attributes", "\"4001010040020602010000ffeb\"");
	json_decref(json);
}

/* Page by page comes what comes at once. */
static void test_pages(void **state)
{
	struct sample sample = { .n_neighbours = SAMPLE_NEIGHBOURS };
	json_t *whole = ask(&sample, "{\"cmd\":\"routes\"}", CW_OK), *parts = json_array();
	char text[256] = "{\"cmd\":\"routes\",\"max\":2}";
	unsigned pages = 0;

	(void)state;
	for (const char *after = ""; after; pages++) {
		json_t *page = ask(&sample, text, CW_OK);

		json_array_extend(parts, json_object_get(page, "routes"));
		after = json_string_value(json_object_get(page, "after"));
		if (after)
			snprintf(text, sizeof(text), "{\"cmd\":\"routes\",\"max\":2,\"after\":\"%s\"}", after);
		json_decref(page);
	}
	assert_int_equal(pages, 3); /* of 6 prefixes */
	assert_true(json_equal(parts, json_object_get(whole, "routes")));
	json_decref(parts);
	json_decref(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests_name("ctl_bgp", tests, NULL, NULL);
}
