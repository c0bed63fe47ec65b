/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_show: every field of a view is in the JSON, under its name, with unknown ones null. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_show.h"
#include "ctl_sample.h"

static json_t *show(size_t i)
{
	struct cw_tunnel_view *view = calloc(1, sizeof(*view));
	json_t *json;

	assert_non_null(view);
	sample_view(i, view);
	json = cw_ctl_show_tunnel(view);
	assert_non_null(json);
	free(view);
	return json;
}

/* The value at a path such as "children.0.spi-in", as compact JSON text. */
static void expect(const json_t *root, const char *path, const char *want)
{
	char part[32], got[256];
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

struct row {
	const char *path, *want;
};

static void expect_all(const json_t *json, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect(json, rows[i].path, rows[i].want);
}

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

/* A refusal that public-address would likely have spared. */
static void test_remedy_of_a_private_identity(void **state)
{
	static const bool rows[] = { false, true };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		static struct cw_tunnel_view view;
		const char *remedy;
		json_t *json;

		sample_view(1, &view);
		view.private_id = rows[i];
		json = cw_ctl_show_tunnel(&view);
		remedy = json_string_value(json_object_get(json_object_get(json, "cause"), "remedy"));
		assert_int_equal(strstr(remedy, "public-address") != NULL, rows[i]);
		json_decref(json);
	}
}

static void test_up(void **state)
{
	static const struct row rows[] = {
		{ "name", "\"azure-weu-1\"" },
		{ "site", "\"azure-weu\"" },
		{ "profile", "\"azure\"" },
		{ "remote", "\"203.0.113.11\"" },
		{ "remote-addr", "\"203.0.113.11\"" },
		{ "local-addr", "\"10.0.0.4\"" },
		{ "state", "\"up\"" },
		{ "wanted-up", "true" },
		{ "since-wall-s", "1764578880" },
		{ "for-s", "11520" },
		{ "cause", "null" },
		{ "last-error.name", "\"no-answer\"" },
		{ "last-error.detail", "\"5 requests in 62 s\"" },
		{ "last-error.at-wall-s", "1764578700" },
		{ "attempt", "0" },
		{ "next-try-in-s", "null" },
		{ "last-rekey-error", "null" },
		{ "ike.ike-id", "7" },
		{ "ike.state", "\"established\"" },
		{ "ike.version", "2" },
		{ "ike.initiator", "true" },
		{ "ike.spi-i", "\"0x1122334455667788\"" },
		{ "ike.spi-r", "\"0x99aabbccddeeff00\"" },
		{ "ike.local", "\"10.0.0.4\"" },
		{ "ike.local-port", "4500" },
		{ "ike.remote", "\"203.0.113.11\"" },
		{ "ike.remote-port", "4500" },
		{ "ike.local-id", "\"198.51.100.7\"" },
		{ "ike.remote-id", "\"203.0.113.11\"" },
		{ "ike.nat-local", "true" },
		{ "ike.nat-remote", "false" },
		{ "ike.encap", "true" },
		{ "ike.proposal", "\"AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048\"" },
		{ "ike.established-s-ago", "11520" },
		{ "ike.rekey-in-s", "13380" },
		{ "ike.expires-in-s", "17280" },
		{ "n-children-wanted", "1" },
		{ "children.0.child-id", "12" },
		{ "children.0.ike-id", "7" },
		{ "children.0.pair", "0" },
		{ "children.0.state", "\"installed\"" },
		{ "children.0.reqid", "1660944640" },
		{ "children.0.spi-in", "\"0xc1a2b3d4\"" },
		{ "children.0.spi-out", "\"0x00beef01\"" },
		{ "children.0.encap", "true" },
		{ "children.0.proposal", "\"AES_CBC_256/HMAC_SHA2_256_128/MODP_2048\"" },
		{ "children.0.pfs", "true" },
		{ "children.0.local-ts", "[\"0.0.0.0/0\"]" },
		{ "children.0.n-local-ts", "1" },
		{ "children.0.remote-ts", "[\"0.0.0.0/0\"]" },
		{ "children.0.n-remote-ts", "1" },
		{ "children.0.narrowed", "false" },
		{ "children.0.bytes-in", "1288490188" },
		{ "children.0.bytes-out", "96468992" },
		{ "children.0.packets-in", "912345" },
		{ "children.0.packets-out", "498001" },
		{ "children.0.last-in-s-ago", "0" },
		{ "children.0.last-out-s-ago", "3" },
		{ "children.0.installed-s-ago", "1260" },
		{ "children.0.rekey-in-s", "1740" },
		{ "children.0.expires-in-s", "2340" },
		{ "interface.name", "\"cw-azure-weu-1\"" },
		{ "interface.kind", "\"xfrm\"" },
		{ "interface.ok", "true" },
		{ "interface.if-id", "1668743169" },
		{ "interface.mtu", "1400" },
		{ "interface.inside-addr", "\"169.254.21.2/30\"" },
		{ "routes.0", "{\"dst\":\"10.20.0.0/16\",\"installed\":true,\"metric\":100,"
			      "\"state\":\"installed\",\"by\":null}" },
		{ "n-routes-shadowed", "0" },
		{ "bgp", "{\"peer\":\"169.254.21.1\",\"state\":\"established\",\"for-s\":11400,\"received\":14,"
			 "\"selected\":11,\"announced\":3,\"why\":null}" },
		{ "not-covered", "[]" },
		{ "n-not-covered", "0" },
		{ "routes.1.dst", "\"fd00:20::/48\"" },
		{ "history.0.at-wall-s", "1764578880" },
		{ "history.0.from", "\"connecting\"" },
		{ "history.0.to", "\"up\"" },
		{ "history.0.cause", "null" },
		{ "history.2.cause", "\"no-answer\"" },
		{ "bytes-in", "5368709120" },
		{ "bytes-out", "402653184" },
		{ "packets-in", "3801438" },
		{ "packets-out", "2075004" },
		{ "times-up", "1" },
		{ "dead-after-s", "13" },
		{ "one-way-s", "0" },
		{ "conf-error", "null" },
	};
	json_t *json = show(0);

	(void)state;
	expect_all(json, rows, N(rows));
	json_decref(json);
}

static void test_not_up(void **state)
{
	static const struct row waiting[] = {
		{ "state", "\"waiting\"" },
		{ "cause.name", "\"auth-by-peer\"" },
		{ "cause.detail", "\"AUTHENTICATION_FAILED in IKE_AUTH\"" },
		{ "attempt", "7" },
		{ "next-try-in-s", "42" },
		{ "ike", "null" },
		{ "children", "[]" },
		{ "interface.inside-addr", "null" },
		{ "routes.0.installed", "false" },
		{ "routes.0.state", "\"closed\"" },
		{ "bgp", "null" },
	};
	static const struct row ike_only[] = {
		{ "state", "\"ike-only\"" },
		{ "remote-addr", "\"2001:db8:7::1\"" },
		{ "ike.state", "\"established\"" },
		{ "n-children-wanted", "2" },
		{ "children.0.pair", "1" },
		{ "children.0.n-remote-ts", "6" },
		{ "children.0.remote-ts.3", "\"192.168.11.0/24\"" },
		{ "children.0.last-in-s-ago", "null" },
		{ "children.0.rekey-in-s", "null" },
		{ "last-rekey-error.name", "\"dh-group\"" },
		{ "last-rekey-error.detail", "\"we offer ECP_384, the peer wants MODP_2048\"" },
		{ "interface", "null" },
	};
	static const struct row down[] = {
		{ "state", "\"down\"" },
		{ "wanted-up", "false" },
		{ "cause.name", "\"operator\"" },
		{ "last-error", "null" },
		{ "remote-addr", "null" },
	};
	static const struct row conf_error[] = {
		{ "state", "\"config-error\"" },
		{ "cause.name", "\"config\"" },
		{ "conf-error", "\"causeway.conf:31: remote \\\"192.0.2.300\\\" is no address and "
				"no name\"" },
	};
	json_t *json;

	(void)state;
	json = show(1);
	expect_all(json, waiting, N(waiting));
	assert_non_null(
		json_string_value(json_object_get(json_object_get(json, "cause"), "remedy")));
	json_decref(json);
	json = show(2);
	expect_all(json, ike_only, N(ike_only));
	json_decref(json);
	json = show(3);
	expect_all(json, down, N(down));
	json_decref(json);
	json = show(4);
	expect_all(json, conf_error, N(conf_error));
	json_decref(json);
}

/* All states, SA states and child states have a name of their own. */
static void test_state_names(void **state)
{
	static const char *const ike[] = { "\"connecting\"", "\"established\"", "\"rekeyed\"",
		"\"deleting\"" };
	static const char *const child[] = { "\"connecting\"", "\"installed\"", "\"rekeying\"",
		"\"rekeyed\"", "\"deleting\"" };
	struct cw_tunnel_view *view = calloc(1, sizeof(*view));
	json_t *json;

	(void)state;
	assert_non_null(view);
	sample_view(0, view);
	for (unsigned i = 0; i < N(child); i++) {
		view->children[0].state = (enum cw_child_state)i;
		view->ike.state = (enum cw_ike_sa_state)(i % N(ike));
		view->link_kind = i ? CW_LINK_VTI : CW_LINK_XFRM;
		json = cw_ctl_show_tunnel(view);
		expect(json, "children.0.state", child[i]);
		expect(json, "ike.state", ike[i % N(ike)]);
		expect(json, "interface.kind", i ? "\"vti\"" : "\"xfrm\"");
		json_decref(json);
	}
	free(view);
}

static void test_gateway(void **state)
{
	static const struct row rows[] = {
		{ "name", "\"homelab\"" },
		{ "version", "\"0.1.0\"" },
		{ "ike-engine", "\"libcharon 5.9.8\"" },
		{ "kernel", "\"6.1.0-18-amd64\"" },
		{ "conf-path", "\"/etc/causeway/causeway.conf\"" },
		{ "data-plane", "\"kernel\"" },
		{ "data-plane-why", "\"ESP and xfrm interfaces\"" },
		{ "started-wall-s", "1764496800" },
		{ "up-for-s", "93600" },
		{ "forwarding4", "true" },
		{ "forwarding6", "false" },
		{ "xfrm-in-no-pols", "3" },
		{ "xfrm-in-tmpl-mismatch", "0" },
		{ "xfrm-in-state-seq-error", "0" },
		{ "xfrm-in-no-states", "0" },
		{ "xfrm-out-no-states", "0" },
		{ "xfrm-in-state-proto-error", "0" },
		{ "n-conf-errors", "1" },
	};
	struct cw_gateway_view view;
	json_t *json;

	(void)state;
	sample_gateway(&view);
	json = cw_ctl_show_gateway(&view);
	assert_non_null(json);
	expect_all(json, rows, N(rows));
	assert_int_equal(json_object_size(json), N(rows));
	json_decref(json);
}

static void test_hostile_text(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "plain", "\"plain\"" },
		{ "", "\"\"" },
		{ "quote \" and \\", "\"quote \\\" and \\\\\"" },
		{ "esc \x1b[31m", "\"esc \\u001B[31m\"" },
		{ "m\xc3\xbcnchen", "\"m\xc3\xbcnchen\"" },
		{ "bad \xff\xc3", "\"bad \\\\xff\\\\xc3\"" },
		{ "cut \xe2\x82", "\"cut \\\\xe2\\\\x82\"" },
	};
	struct cw_tunnel_view *view = calloc(1, sizeof(*view));
	json_t *json;

	(void)state;
	assert_non_null(view);
	for (size_t i = 0; i < N(rows); i++) {
		json = cw_ctl_show_text(rows[i].text);
		expect(json, "", rows[i].want);
		json_decref(json);
	}
	sample_view(0, view);
	snprintf(view->ike.remote_id, sizeof(view->ike.remote_id), "\xfe\xfe");
	view->bytes_in = UINT64_MAX;
	view->children[0].n_local_ts = 1000;
	json = cw_ctl_show_tunnel(view);
	expect(json, "ike.remote-id", "\"\\\\xfe\\\\xfe\"");
	expect(json, "bytes-in", "9223372036854775807");
	expect(json, "children.0.n-local-ts", "1000");
	json_decref(json);
	free(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up),
		cmocka_unit_test(test_not_up),
		cmocka_unit_test(test_state_names),
		cmocka_unit_test(test_gateway),
		cmocka_unit_test(test_remedy_of_a_private_identity),
		cmocka_unit_test(test_hostile_text),
	};

	return cmocka_run_group_tests_name("ctl_show", tests, NULL, NULL);
}
