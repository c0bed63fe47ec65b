/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/profile.h"
#include "conf/report.h"
#include "conf/schema.h"

static char folder[] = "/tmp/cw-test-conf-XXXXXX";
static char conf_path[64], key_path[64];

static struct cw_conf *conf;
static struct cw_conf_report report;

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), 0600), 0);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(conf_path, sizeof(conf_path), "%s/c.conf", folder);
	snprintf(key_path, sizeof(key_path), "%s/k.psk", folder);
	put(key_path, "0xS3cr3t\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(conf_path);
	unlink(key_path);
	return rmdir(folder);
}

static enum cw_rc read_text(const char *text)
{
	put(conf_path, text);
	return cw_conf_read(conf_path, &conf, &report);
}

static void done(void)
{
	cw_conf_free(conf);
	cw_conf_report_free(&report);
	conf = NULL;
}

#define GATEWAY "gateway = { networks = [ \"10.10.0.0/16\" ]; asn = 4200000000; };\n"

static void a_tunnel_is_complete(void **state)
{
	const struct cw_tunnel_conf *t;
	const uint8_t *key;
	size_t len;

	(void)state;
	assert_int_equal(
		read_text(
			GATEWAY
			"sites = ( { name = \"azure-weu\"; profile = \"azure\"; psk-file = "
			"\"k.psk\"; asn = 65515L;\n"
			"  networks = [ \"10.20.0.0/16\" ]; mtu = 1380;\n"
			"  tunnels = ( { remote = \"203.0.113.11\"; },\n"
			"              { remote = \"gw.example.net\"; mtu = 1300; psk = \"own\";\n"
			"                child-lifetime-bytes = 104857600000; } ); } );\n"),
		CW_OK);
	assert_int_equal(report.n, 0);
	assert_int_equal(report.n_errors, 0);
	assert_int_equal(conf->gateway.asn, 4200000000u);
	assert_string_equal(conf->gateway.control_socket, "/run/causeway/control");
	assert_int_equal(conf->gateway.log_level, CW_LOG_NOTICE);
	assert_int_equal(conf->n_sites, 1);
	assert_true(conf->sites[0].enabled);
	assert_false(conf->sites[0].bad);
	assert_int_equal(conf->sites[0].line, 2);

	t = cw_conf_tunnel(conf, "azure-weu-1");
	assert_non_null(t);
	assert_ptr_equal(t->site, &conf->sites[0]);
	assert_string_equal(t->ifname, "cw-azure-weu-1");
	assert_int_equal(t->remote_addr.family, CW_FAMILY_IPV4);
	assert_int_equal(t->mtu, 1380);
	assert_int_equal(t->ike_version, CW_IKE_V2);
	assert_int_equal(t->esp_proposals.n, 2);
	assert_string_equal(t->esp_proposals.v[1], "aes256-sha256");
	assert_int_equal(t->child_lifetime.time_s, 27000);
	assert_int_equal(t->child_lifetime.bytes, 0);
	key = cw_secret_bytes(t->psk, &len);
	assert_int_equal(len, 8);
	assert_memory_equal(key, "0xS3cr3t", 8);
	assert_string_equal(t->psk_path, key_path);

	t = cw_conf_tunnel(conf, "azure-weu-2");
	assert_non_null(t);
	assert_int_equal(t->remote_addr.family, CW_FAMILY_NONE);
	assert_string_equal(t->remote, "gw.example.net");
	assert_int_equal(t->mtu, 1300);
	assert_true(t->child_lifetime.bytes == UINT64_C(104857600000));
	assert_int_equal(cw_secret_len(t->psk), 3);
	assert_null(t->psk_path);
	assert_null(cw_conf_tunnel(conf, "azure-weu-3"));
	done();
}

/* BL-075: a site that is wrong is marked, and the others run. */
static void one_bad_site(void **state)
{
	(void)state;
	assert_int_equal(read_text(GATEWAY "sites = (\n"
		"{ name = \"good\"; psk-file = \"k.psk\"; networks = [ \"10.20.0.0/16\" ];\n"
		"  tunnels = ( { remote = \"203.0.113.11\"; } ); },\n"
		"{ name = \"bad\"; psk-file = \"k.psk\"; networks = [ \"10.21.0.0/16\" ];\n"
		"  tunnels = ( { remote = \"300.1.1.1\"; } ); } );\n"), CW_E_INVALID);
	assert_non_null(conf);
	assert_false(report.fatal);
	assert_int_equal(report.n_errors, 1);
	assert_int_equal(conf->n_sites, 2);
	assert_false(conf->sites[0].bad);
	assert_null(conf->sites[0].bad_reason);
	assert_true(conf->sites[1].bad);
	assert_non_null(strstr(conf->sites[1].bad_reason, "c.conf:6: sites[1].tunnels[0].remote"));
	assert_string_equal(conf->sites[1].name, "bad");
	assert_string_equal(conf->sites[1].tunnels[0].name, "bad-1");
	done();
}

static void an_error_of_the_gateway_is_fatal(void **state)
{
	(void)state;
	assert_int_equal(
		read_text("gateway = { networks = [ \"x\" ]; };\nsites = ( { name = \"a\"; } );\n"),
		CW_E_INVALID);
	assert_null(conf);
	assert_true(report.fatal);
	assert_true(report.v[0].fatal);
	assert_int_equal(report.v[0].line, 1);
	done();
}

static void a_file_that_cannot_be_read(void **state)
{
	(void)state;
	assert_int_equal(cw_conf_read("/nonexistent/c.conf", &conf, &report), CW_E_NOT_FOUND);
	assert_null(conf);
	assert_true(report.fatal);
	assert_int_equal(report.n, 1);
	done();
	assert_int_equal(cw_conf_read(folder, &conf, &report), CW_E_INVALID);
	assert_null(conf);
	done();
}

/* BL-007, BL-009: the rekey comes before the end, whatever the lifetime. */
static void rekey_before_the_end(void **state)
{
	static const struct {
		const char *profile;
		unsigned life_s;
		unsigned margin_s, jitter_s;
	} v[] = {
		{ "azure", 3600, 360, 180 },  { "azure", 300, 30, 15 }, { "azure", 60, 6, 3 },
		{ "azure", 27000, 2700, 1350 }, { "aws", 60, 20, 5 },	{ "generic", 61, 9, 3 },
		{ "azure-policy", 604800, 90720, 30240 },
	};
	const struct cw_profile *p;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		const struct cw_lifetime_conf *l;
		char text[512];

		snprintf(text, sizeof(text),
			 GATEWAY
			 "sites = ( { name = \"a\"; profile = \"%s\"; psk = \"Abcdefg.1\"; "
			 "networks = "
			 "[ \"10.20.0.0/16\" ]; child-lifetime = %u; tunnels = ( { remote = "
			 "\"203.0.113.11\"; } ); } );\n",
			 v[i].profile, v[i].life_s);
		assert_int_equal(read_text(text), CW_OK);
		l = &conf->sites[0].tunnels[0].child_lifetime;
		assert_int_equal(l->time_s, v[i].life_s);
		assert_int_equal(l->rekey_margin_s, v[i].margin_s);
		assert_int_equal(l->rekey_jitter_s, v[i].jitter_s);
		done();
	}
	for (size_t i = 0; (p = cw_profile_at(i)) != NULL; i++) {
		const struct cw_lifetime_conf *l[] = { &p->values.ike_lifetime,
						       &p->values.child_lifetime };

		for (size_t k = 0; k < 2; k++) {
			assert_true(l[k]->rekey_margin_s > l[k]->rekey_jitter_s);
			assert_true(l[k]->rekey_margin_s + l[k]->rekey_jitter_s < l[k]->time_s);
		}
		/* Azure replaces an IKE_SA at 95 % of 28,800 s, AWS starts 1,080 s before the end.
		 */
		if (p->cloud == CW_CLOUD_AZURE)
			assert_true(l[0]->time_s - l[0]->rekey_margin_s < 28800 * 95 / 100);
		if (p->cloud == CW_CLOUD_AWS)
			assert_true(l[0]->time_s - l[0]->rekey_margin_s < 28800 - 1080 &&
				    l[1]->time_s - l[1]->rekey_margin_s < 3600 - 1080);
	}
}

static void interface_names(void **state)
{
	const struct cw_tunnel_conf *t;

	(void)state;
	assert_int_equal(read_text(GATEWAY "sites = (\n"
					   "{ name = \"site-with-a-long-name-1\"; psk = \"k\"; "
					   "networks = [ \"10.20.0.0/16\" ];\n"
					   "  tunnels = ( { remote = \"203.0.113.11\"; }, { remote "
					   "= \"203.0.113.12\"; } ); } );\n"),
			 CW_OK);
	t = conf->sites[0].tunnels;
	assert_int_equal(strlen(t[0].ifname), CW_IFNAME_SIZE - 1);
	assert_int_equal(strncmp(t[0].ifname, "cw-site-wi-", 11), 0);
	assert_string_not_equal(t[0].ifname, t[1].ifname);
	done();
}

static void selector_pairs(void **state)
{
	static const struct cw_prefix none;
	struct cw_prefix ours[3], theirs[3];
	static const struct {
		const char *our, *their;
	} want[] = {
		{ "10.10.0.0/16", "10.20.0.0/16" },
		{ "10.10.0.0/16", "10.21.0.0/16" },
		{ "2001:db8:a::/48", "2001:db8:b::/48" },
		{ "10.11.0.0/16", "10.20.0.0/16" },
		{ "10.11.0.0/16", "10.21.0.0/16" },
	};
	struct cw_pair_walk walk = { .ours = ours, .n_ours = 3, .theirs = theirs, .n_theirs = 3 };
	char text[CW_PREFIX_TEXT_MAX];
	size_t n = 0;

	(void)state;
	assert_int_equal(cw_prefix_parse("10.10.0.0/16", &ours[0]), CW_OK);
	assert_int_equal(cw_prefix_parse("2001:db8:a::/48", &ours[1]), CW_OK);
	assert_int_equal(cw_prefix_parse("10.11.0.0/16", &ours[2]), CW_OK);
	assert_int_equal(cw_prefix_parse("10.20.0.0/16", &theirs[0]), CW_OK);
	assert_int_equal(cw_prefix_parse("2001:db8:b::/48", &theirs[1]), CW_OK);
	assert_int_equal(cw_prefix_parse("10.21.0.0/16", &theirs[2]), CW_OK);
	for (; cw_pair_next(&walk); n++) {
		assert_true(n < 5);
		assert_string_equal(cw_prefix_print(walk.our, text, sizeof(text)), want[n].our);
		assert_string_equal(cw_prefix_print(walk.their, text, sizeof(text)), want[n].their);
	}
	assert_int_equal(n, 5);
	assert_false(cw_pair_next(&walk));
	assert_int_equal(cw_pair_count(&(struct cw_prefixes){ ours, 3 }, &(struct cw_prefixes){ theirs, 3 }), 5);
	assert_int_equal(cw_pair_count(&(struct cw_prefixes){ ours, 1 }, &(struct cw_prefixes){ &theirs[1], 1 }), 0);
	walk = (struct cw_pair_walk){ .ours = &none, .theirs = theirs, .n_theirs = 3 };
	assert_false(cw_pair_next(&walk));
}

static void issue_text(void **state)
{
	struct cw_conf_issue issue = {
		.severity = CW_CONF_ERROR, .file = "f\n.conf", .line = 3, .setting = "a.b",
		.value = "x\x1b\xc3", .reason = "is wrong", .remedy = "write y",
	};
	char buf[128], tiny[12];

	(void)state;
	assert_string_equal(cw_conf_issue_print(&issue, buf, sizeof(buf)),
			    "f\\x0a.conf:3: error: a.b: \"x\\x1b\\xc3\" is wrong; write y");
	issue = (struct cw_conf_issue){ .severity = CW_CONF_WARNING, .file = "f", .setting = "",
					.value = "", .reason = "odd", .remedy = "" };
	assert_string_equal(cw_conf_issue_print(&issue, buf, sizeof(buf)), "f: warning: odd");
	assert_string_equal(cw_conf_issue_print_bare(&issue, buf, sizeof(buf)), "f: odd");
	assert_string_equal(cw_conf_issue_print(&issue, tiny, sizeof(tiny)), "f: warning:");
}

static void nearest(void **state)
{
	static const char *const names[] = { "name",	     "networks", "psk",	      "psk-file",
					     "ike-lifetime", NULL,	 "dpd-delay", "remote" };
	static const struct {
		const char *in, *out;
	} v[] = {
		{ "nmae", "name" },
		{ "network", "networks" },
		{ "pks", "psk" },
		{ "psk_file", "psk-file" },
		{ "lifetme", "ike-lifetime" },
		{ "DPD-DELAY", "dpd-delay" },
		{ "remot", "remote" },
		{ "zzz", NULL },
		{ "", NULL },
		{ "x", NULL },
		{ "a-name-that-is-far-longer-than-any-setting-could-be", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		const char *got = cw_nearest(v[i].in, names, sizeof(names) / sizeof(names[0]));

		if (v[i].out)
			assert_string_equal(got, v[i].out);
		else
			assert_null(got);
	}
}

/* No two rows claim one name at one level, and every row is whole. */
static void schema_is_sound(void **state)
{
	const struct cw_setting *a, *b;

	(void)state;
	for (size_t i = 0; (a = cw_setting_at(i)) != NULL; i++) {
		assert_true(a->levels != 0);
		assert_non_null(a->help);
		assert_true(a->max >= a->min);
		assert_int_equal(a->type == CW_TYPE_CHOICE, a->choices != NULL);
		for (size_t k = 0; k < i; k++) {
			b = cw_setting_at(k);
			if ((a->levels & b->levels) && strcmp(a->name, b->name) == 0)
				fail_msg("%s is there twice", a->name);
		}
	}
	assert_int_equal(cw_setting_find("remote", CW_LEVEL_SITE), -1);
	assert_string_equal(cw_selectors_name(CW_SEL_NETWORKS), "networks");
	assert_string_equal(cw_nat_traversal_name(CW_NAT_NEVER), "never");
	assert_string_equal(cw_interface_mode_name(CW_IF_POLICY), "policy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunnel_is_complete),
		cmocka_unit_test(one_bad_site),
		cmocka_unit_test(an_error_of_the_gateway_is_fatal),
		cmocka_unit_test(a_file_that_cannot_be_read),
		cmocka_unit_test(rekey_before_the_end),
		cmocka_unit_test(interface_names),
		cmocka_unit_test(selector_pairs),
		cmocka_unit_test(issue_text),
		cmocka_unit_test(nearest),
		cmocka_unit_test(schema_is_sound),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
