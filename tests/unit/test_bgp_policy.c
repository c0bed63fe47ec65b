/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policy of routes: what is taken, what is told. Rows name the field case where there is one. */
#include "bgp/bgp_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OURS 65010
#define PEER 65515

static struct cw_addr addr(const char *text)
{
	struct cw_addr a = { 0 };

	assert_int_equal(cw_addr_parse(text, &a), CW_OK);
	return a;
}

static struct cw_prefix prefix(const char *text)
{
	struct cw_prefix p = { 0 };

	assert_int_equal(cw_prefix_parse(text, &p), CW_OK);
	return p;
}

/* Canonical attributes: ORIGIN IGP, AS_PATH of these numbers, and what `more` holds. */
static struct cw_bgp_attrs_view attrs(uint8_t *buf, size_t size, const uint32_t *path, size_t n,
				      const uint8_t *more, size_t n_more)
{
	static const uint8_t origin[] = { 0x40, 1, 1, 0 };
	struct cw_writer w = cw_writer_of(buf, size);
	struct cw_bgp_attrs_view view;

	cw_put_bytes(&w, origin, sizeof(origin));
	cw_put_u8(&w, 0x40);
	cw_put_u8(&w, 2);
	cw_put_u8(&w, (uint8_t)(n ? 2 + 4 * n : 0));
	if (n) {
		cw_put_u8(&w, 2);
		cw_put_u8(&w, (uint8_t)n);
	}
	for (size_t i = 0; i < n; i++)
		cw_put_u32(&w, path[i]);
	cw_put_bytes(&w, more, n_more);
	assert_true(cw_writer_ok(&w));
	assert_int_equal(cw_bgp_attrs_read((struct cw_span){ buf, cw_writer_len(&w) }, &view), CW_OK);
	return view;
}

static const uint8_t otc_peer[] = { 0xc0, 35, 4, 0, 0, 0xff, 0xeb };  /* 65515 */
static const uint8_t otc_other[] = { 0xc0, 35, 4, 0, 0, 0xfd, 0xfc }; /* 65020 */
static const uint8_t no_export[] = { 0xc0, 8, 4, 0xff, 0xff, 0xff, 0x01 };
static const uint8_t no_advertise[] = { 0xc0, 8, 4, 0xff, 0xff, 0xff, 0x02 };
static const uint8_t med_50[] = { 0x80, 4, 4, 0, 0, 0, 50 };
static const uint8_t local_pref_7[] = { 0x40, 5, 4, 0, 0, 0, 7 };

struct fixture {
	struct cw_addr outer[2], own[1];
	struct cw_prefixes aggregates;
	struct cw_prefix aggregate[1];
	struct cw_prefix announced[2];
	struct cw_bgp_policy_common common;
	struct cw_addr peers[2];
	struct cw_bgp_conf conf;
	struct cw_site_conf azure, branch;
	struct cw_bgp_policy policy;
	const char *transit[1];
};

/* Source 0 is ours, 1 azure's, 2 the branch's. */
static const struct cw_site_conf *site_of(void *arg, uint16_t source)
{
	struct fixture *f = arg;

	return source == 0 ? NULL : source == 1 ? &f->azure : &f->branch;
}

static void make(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->outer[0] = addr("203.0.113.11");
	f->outer[1] = addr("2001:db8:ffff::11");
	f->own[0] = addr("10.10.255.1");
	f->peers[0] = addr("10.20.255.4");
	f->peers[1] = addr("2001:db8:20::4");
	f->aggregate[0] = prefix("10.0.0.0/8");
	f->aggregates = (struct cw_prefixes){ f->aggregate, 1 };
	f->announced[0] = prefix("10.10.0.0/16");
	f->announced[1] = prefix("2001:db8:10::/48");
	f->common = (struct cw_bgp_policy_common){ .asn = OURS, .outer = f->outer, .n_outer = 2, .own = f->own,
						   .n_own = 1, .peers = f->peers, .n_peers = 2,
						   .aggregates = &f->aggregates };
	f->conf = (struct cw_bgp_conf){ .peer = addr("10.20.255.4"), .local = addr("10.10.255.1"),
					.check_first_as = true, .local_pref = 100, .med = CW_BGP_MED_NONE,
					};
	snprintf(f->azure.name, sizeof(f->azure.name), "azure");
	snprintf(f->branch.name, sizeof(f->branch.name), "branch");
	f->policy = (struct cw_bgp_policy){ .common = &f->common, .conf = &f->conf, .site = &f->azure,
					    .announce = { f->announced, 2 }, .peer_asn = PEER, .next_hop[CW_BGP_IPV4] = addr("10.10.255.1"),
					    .site_of = site_of, .arg = f };
}

static void test_import_shared(void **state)
{
	static const struct {
		const char *what;
		uint32_t path[3];
		size_t n;
		const char *next_hop;
		const uint8_t *more;
		size_t n_more;
		enum cw_bgp_role_conf role;
		enum cw_bgp_refusal want;
	} rows[] = {
		{ "the usual", { PEER, 65020 }, 2, "10.20.255.4", NULL, 0, 0, CW_BGP_ADMITTED },
		{ "BL-119: our own AS", { PEER, OURS }, 2, "10.20.255.4", NULL, 0, 0, CW_BGP_REFUSED_OWN_AS },
		{ "BL-119: first AS is another's", { 65020 }, 1, "10.20.255.4", NULL, 0, 0, CW_BGP_REFUSED_FIRST_AS },
		{ "an empty path from outside", { 0 }, 0, "10.20.255.4", NULL, 0, 0, CW_BGP_REFUSED_FIRST_AS },
		{ "BL-105: 0.0.0.0", { PEER }, 1, "0.0.0.0", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP },
		{ "BL-105: loopback", { PEER }, 1, "127.0.0.1", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP },
		{ "BL-105: multicast", { PEER }, 1, "224.0.0.5", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP },
		{ "BL-105: our own", { PEER }, 1, "10.10.255.1", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP_OWN },
		{ "BL-105: APIPA is good", { PEER }, 1, "169.254.21.2", NULL, 0, 0, CW_BGP_ADMITTED },
		{ "class E", { PEER }, 1, "255.255.255.255", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP },
		{ "::", { PEER }, 1, "::", NULL, 0, 0, CW_BGP_REFUSED_NEXT_HOP },
		{ "RFC 9234: a customer leaks", { PEER }, 1, "10.20.255.4", otc_other, 7, CW_BGP_ROLE_CONF_PROVIDER,
		  CW_BGP_REFUSED_LEAK },
		{ "RFC 9234: a peer's own", { PEER }, 1, "10.20.255.4", otc_peer, 7, CW_BGP_ROLE_CONF_PEER,
		  CW_BGP_ADMITTED },
		{ "RFC 9234: a peer leaks", { PEER }, 1, "10.20.255.4", otc_other, 7, CW_BGP_ROLE_CONF_PEER,
		  CW_BGP_REFUSED_LEAK },
		{ "RFC 9234: from a provider", { PEER }, 1, "10.20.255.4", otc_other, 7, CW_BGP_ROLE_CONF_CUSTOMER,
		  CW_BGP_ADMITTED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cw_addr hop = addr(rows[i].next_hop);
		struct cw_bgp_attrs_view in, out;
		uint8_t buf[256], changed[256];
		struct fixture f;

		make(&f);
		f.conf.role = rows[i].role;
		in = attrs(buf, sizeof(buf), rows[i].path, rows[i].n, rows[i].more, rows[i].n_more);
		if (cw_bgp_policy_import(&f.policy, &in, &hop, changed, sizeof(changed), &out) != rows[i].want)
			fail_msg("%s", rows[i].what);
	}
}

static void test_import_changes(void **state)
{
	static const uint32_t path[] = { PEER };
	struct cw_addr hop = addr("10.20.255.4");
	struct cw_bgp_attrs_view in, out;
	uint8_t buf[256], changed[256];
	struct fixture f;

	(void)state;
	make(&f);
	/* RFC 4271 5.1.5: an external peer's LOCAL_PREF does not count, ours does. */
	in = attrs(buf, sizeof(buf), path, 1, local_pref_7, sizeof(local_pref_7));
	assert_int_equal(cw_bgp_policy_import(&f.policy, &in, &hop, changed, sizeof(changed), &out), 0);
	assert_false(out.has_local_pref);
	f.conf.local_pref = 200;
	assert_int_equal(cw_bgp_policy_import(&f.policy, &in, &hop, changed, sizeof(changed), &out), 0);
	assert_true(out.has_local_pref);
	assert_int_equal(out.local_pref, 200);
	/* RFC 9234 5: what comes from a provider is noted as such. */
	f.conf.role = CW_BGP_ROLE_CONF_CUSTOMER;
	assert_int_equal(cw_bgp_policy_import(&f.policy, &in, &hop, changed, sizeof(changed), &out), 0);
	assert_true(out.has_otc);
	assert_int_equal(out.otc, PEER);
	/* No room: refused, and what came is shown. */
	assert_int_equal(cw_bgp_policy_import(&f.policy, &in, &hop, changed, 8, &out), CW_BGP_REFUSED_TOO_LONG);
	assert_ptr_equal(out.wire.p, in.wire.p);
	/* Nothing to change: no copy. */
	make(&f);
	in = attrs(buf, sizeof(buf), path, 1, NULL, 0);
	assert_int_equal(cw_bgp_policy_import(&f.policy, &in, &hop, changed, sizeof(changed), &out), 0);
	assert_ptr_equal(out.wire.p, in.wire.p);
}

static void test_import_prefix(void **state)
{
	static const struct {
		const char *prefix;
		bool accept_default, lists, guarded;
		enum cw_bgp_refusal want;
	} rows[] = {
		{ "10.20.0.0/16", false, false, false, CW_BGP_ADMITTED },
		{ "0.0.0.0/0", false, false, false, CW_BGP_REFUSED_DEFAULT }, /* BL-136 */
		{ "0.0.0.0/1", false, false, false, CW_BGP_REFUSED_DEFAULT },
		{ "128.0.0.0/1", false, false, false, CW_BGP_REFUSED_DEFAULT },
		{ "::/0", false, false, false, CW_BGP_REFUSED_DEFAULT },
		{ "0.0.0.0/0", true, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "0.0.0.0/0", true, false, true, CW_BGP_ADMITTED },
		{ "128.0.0.0/1", true, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "0.0.0.0/1", true, false, false, CW_BGP_ADMITTED },
		{ "::/0", true, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "203.0.113.0/24", false, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "203.0.113.11/32", false, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "203.0.113.12/32", false, false, false, CW_BGP_ADMITTED },
		{ "2001:db8:ffff::/48", false, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "10.20.255.4/32", false, false, false, CW_BGP_REFUSED_SWALLOWS }, /* a neighbour's host route */
		{ "10.20.255.4/32", false, false, true, CW_BGP_REFUSED_SWALLOWS },
		{ "2001:db8:20::4/128", false, false, false, CW_BGP_REFUSED_SWALLOWS },
		{ "10.20.255.4/31", false, false, false, CW_BGP_ADMITTED }, /* BL-123: ours is longer */
		{ "10.20.255.5/32", false, false, false, CW_BGP_ADMITTED },
		{ "127.0.0.0/8", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "224.0.0.0/24", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "240.0.0.0/4", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "0.0.0.0/8", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "fe80::/10", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "ff00::/8", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "::1/128", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "::ffff:10.0.0.0/104", false, false, false, CW_BGP_REFUSED_MARTIAN },
		{ "2000::/3", false, false, true, CW_BGP_ADMITTED },
		{ "169.254.21.0/30", false, false, false, CW_BGP_ADMITTED },
		/* accept 10.20.0.0/16 le 24 and 192.168.7.0/24 exact; refuse 10.20.99.0/24 */
		{ "10.20.0.0/16", false, true, false, CW_BGP_ADMITTED },
		{ "10.20.1.0/24", false, true, false, CW_BGP_ADMITTED },
		{ "10.20.1.0/25", false, true, false, CW_BGP_REFUSED_NOT_LISTED },
		{ "10.20.99.0/24", false, true, false, CW_BGP_REFUSED_LISTED },
		{ "10.0.0.0/8", false, true, false, CW_BGP_REFUSED_NOT_LISTED },
		{ "192.168.7.0/24", false, true, false, CW_BGP_ADMITTED },
		{ "192.168.7.0/25", false, true, false, CW_BGP_REFUSED_NOT_LISTED },
		{ "0.0.0.0/0", true, true, true, CW_BGP_ADMITTED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cw_prefix p = prefix(rows[i].prefix);
		struct cw_filter accept[2] = { { prefix("10.20.0.0/16"), 16, 24 },
					       { prefix("192.168.7.0/24"), 24, 24 } };
		struct cw_filter refuse[1] = { { prefix("10.20.99.0/24"), 24, 32 } };
		struct fixture f;

		make(&f);
		f.conf.accept_default = rows[i].accept_default;
		f.common.outer_guarded = rows[i].guarded;
		if (rows[i].lists) {
			f.conf.accept = (struct cw_filters){ accept, 2 };
			f.conf.refuse = (struct cw_filters){ refuse, 1 };
		}
		if (cw_bgp_policy_import_prefix(&f.policy, &p) != rows[i].want)
			fail_msg("row %zu, %s: %s", i, rows[i].prefix,
				 cw_bgp_refusal_name(cw_bgp_policy_import_prefix(&f.policy, &p)));
	}
}

static void test_admit(void **state)
{
	static const struct {
		const char *prefix;
		uint16_t source;
		bool transit;
		enum cw_bgp_refusal want;
	} rows[] = {
		{ "10.10.0.0/16", 0, false, CW_BGP_ADMITTED },
		{ "10.11.0.0/16", 0, false, CW_BGP_REFUSED_NOT_ANNOUNCED },
		{ "10.0.0.0/8", 0, false, CW_BGP_ADMITTED }, /* the aggregate */
		{ "10.30.0.0/16", 1, true, CW_BGP_REFUSED_SAME_SITE },
		{ "10.30.0.0/16", 2, false, CW_BGP_REFUSED_NO_TRANSIT },
		{ "10.30.0.0/16", 2, true, CW_BGP_REFUSED_AGGREGATED },
		{ "192.168.7.0/24", 2, true, CW_BGP_ADMITTED },
		{ "10.0.0.0/8", 2, true, CW_BGP_ADMITTED }, /* learned, the same as the aggregate */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cw_bgp_winner best = { .source = rows[i].source, .attrs = 1 };
		struct cw_prefix p = prefix(rows[i].prefix);
		struct fixture f;
		uint8_t class;

		make(&f);
		f.transit[0] = "branch";
		if (rows[i].transit)
			f.conf.transit = (struct cw_names){ f.transit, 1 };
		if (cw_bgp_policy_admit(&f.policy, &p, &best, &class) != rows[i].want)
			fail_msg("row %zu, %s", i, rows[i].prefix);
	}
}

static uint8_t map(struct fixture *f, const struct cw_bgp_attrs_view *in, enum cw_bgp_family family,
		   uint8_t *buf, size_t size, struct cw_bgp_attrs_view *ret_out, struct cw_addr *ret_hop)
{
	struct cw_addr hop = addr("10.20.255.4");
	size_t len = 0;
	uint8_t rc = cw_bgp_policy_map(&f->policy, 1, in, &hop, family, 0, buf, size, &len, ret_hop);

	if (rc == 0)
		assert_int_equal(cw_bgp_attrs_read((struct cw_span){ buf, len }, ret_out), CW_OK);
	return rc;
}

static void test_map(void **state)
{
	static const uint32_t path[] = { 65020 }, with_peer[] = { 65020, PEER };
	static uint8_t communities[] = { 0xfd, 0xf2, 0, 100 };
	static uint8_t large[] = { 0, 0, 0xfd, 0xf2, 0, 0, 0, 1, 0, 0, 0, 2 };
	struct cw_bgp_attrs_view in, out;
	uint8_t buf[256], changed[256];
	struct cw_addr hop, want = addr("10.10.255.1");
	struct fixture f;

	(void)state;
	make(&f);
	in = attrs(buf, sizeof(buf), path, 1, med_50, sizeof(med_50));
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), 0);
	assert_true(cw_addr_equal(&hop, &want));
	assert_int_equal(out.path_len, 2);
	assert_int_equal(out.first_as, OURS);
	assert_false(out.has_med); /* RFC 4271 5.1.4 */
	assert_false(out.has_local_pref);
	/* prepend, MED, communities of ours */
	f.conf.prepend = 2;
	f.conf.med = 0;
	f.conf.communities = (struct cw_octets){ communities, sizeof(communities) };
	f.conf.large_communities = (struct cw_octets){ large, sizeof(large) };
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), 0);
	assert_int_equal(cw_bgp_path_count(out.as_path, OURS), 3);
	assert_true(out.has_med);
	assert_int_equal(out.med, 0);
	assert_int_equal(out.communities.n, sizeof(communities));
	assert_memory_equal(out.communities.p, communities, sizeof(communities));
	assert_int_equal(out.large_communities.n, sizeof(large));
	/* no IPv6 next hop of ours */
	assert_int_equal(map(&f, &in, CW_BGP_IPV6, changed, sizeof(changed), &out, &hop), CW_BGP_REFUSED_NEXT_HOP);
	/* BL-104: no empty attribute where nothing is left of the communities */
	make(&f);
	in = attrs(buf, sizeof(buf), path, 1, NULL, 0);
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), 0);
	assert_int_equal(out.communities.n, 0);
	assert_int_equal(out.wire.n, 4 + 3 + 2 + 8);
	/* RFC 1997 */
	in = attrs(buf, sizeof(buf), path, 1, no_export, sizeof(no_export));
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), CW_BGP_REFUSED_NO_ADVERTISE);
	in = attrs(buf, sizeof(buf), path, 1, no_advertise, sizeof(no_advertise));
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), CW_BGP_REFUSED_NO_ADVERTISE);
	in = attrs(buf, sizeof(buf), with_peer, 2, NULL, 0);
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), CW_BGP_REFUSED_PEER_AS);
	/* RFC 9234 5, egress */
	in = attrs(buf, sizeof(buf), path, 1, otc_other, sizeof(otc_other));
	f.conf.role = CW_BGP_ROLE_CONF_CUSTOMER;
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), CW_BGP_REFUSED_OTC);
	f.conf.role = CW_BGP_ROLE_CONF_PROVIDER;
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), 0);
	assert_int_equal(out.otc, 65020);
	in = attrs(buf, sizeof(buf), path, 1, NULL, 0);
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, sizeof(changed), &out, &hop), 0);
	assert_int_equal(out.otc, OURS);
	assert_int_equal(map(&f, &in, CW_BGP_IPV4, changed, 8, &out, &hop), CW_BGP_REFUSED_TOO_LONG);
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CW_BGP_REFUSAL_COUNT; i++) {
		assert_non_null(cw_bgp_refusal_name((enum cw_bgp_refusal)i));
		assert_true(*cw_bgp_refusal_text((enum cw_bgp_refusal)i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(cw_bgp_refusal_name((enum cw_bgp_refusal)i),
						cw_bgp_refusal_name((enum cw_bgp_refusal)k));
	}
	assert_string_equal(cw_bgp_refusal_name(CW_BGP_REFUSAL_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_import_shared), cmocka_unit_test(test_import_changes),
		cmocka_unit_test(test_import_prefix), cmocka_unit_test(test_admit),
		cmocka_unit_test(test_map),	      cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
