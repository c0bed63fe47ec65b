/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ipaddr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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

static void addr_parse_and_print(void **state)
{
	static const struct {
		const char *in, *out; /* out NULL: no address */
	} v[] = {
		{ "203.0.113.11", "203.0.113.11" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "fe80::1", "fe80::1" },
		{ "::ffff:192.0.2.1", "::ffff:192.0.2.1" },
		{ "", NULL },
		{ "300.1.1.1", NULL },
		{ "1.2.3", NULL },
		{ "1.2.3.4.5", NULL },
		{ "01.2.3.4", NULL },
		{ "1.2.3.4 ", NULL },
		{ " 1.2.3.4", NULL },
		{ "1.2.3.4/32", NULL },
		{ "fe80::1%eth0", NULL },
		{ "1::2::3", NULL },
		{ "12345::", NULL },
		{ "localhost", NULL },
		{ "0x7f000001", NULL },
		{ "-1.2.3.4", NULL },
	};
	char buf[CW_ADDR_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_addr a = { 0 };
		enum cw_rc rc = cw_addr_parse(v[i].in, &a);

		assert_int_equal(rc, v[i].out ? CW_OK : CW_E_INVALID);
		if (v[i].out)
			assert_string_equal(cw_addr_print(&a, buf, sizeof(buf)), v[i].out);
		else
			assert_int_equal(a.family, CW_FAMILY_NONE);
	}
	assert_string_equal(cw_addr_print(&(struct cw_addr){ 0 }, buf, sizeof(buf)), "none");
}

static void prefix_parse_and_print(void **state)
{
	static const struct {
		const char *in, *out,
			*network; /* out NULL: no prefix; network NULL: no host bits */
	} v[] = {
		{ "10.10.0.0/16", "10.10.0.0/16", NULL },
		{ "10.10.0.1/16", "10.10.0.1/16", "10.10.0.0/16" },
		{ "10.10.0.1", "10.10.0.1/32", NULL },
		{ "0.0.0.0/0", "0.0.0.0/0", NULL },
		{ "128.0.0.0/1", "128.0.0.0/1", NULL },
		{ "255.255.255.255/31", "255.255.255.255/31", "255.255.255.254/31" },
		{ "2001:db8::/33", "2001:db8::/33", NULL },
		{ "2001:db8:8000::/32", "2001:db8:8000::/32", "2001:db8::/32" },
		{ "::1/128", "::1/128", NULL },
		{ "::1", "::1/128", NULL },
		{ "10.0.0.0/33", NULL, NULL },
		{ "::/129", NULL, NULL },
		{ "10.0.0.0/", NULL, NULL },
		{ "10.0.0.0/08", NULL, NULL },
		{ "10.0.0.0/-1", NULL, NULL },
		{ "10.0.0.0/+8", NULL, NULL },
		{ "10.0.0.0/8 ", NULL, NULL },
		{ "10.0.0.0/8/8", NULL, NULL },
		{ "/8", NULL, NULL },
		{ "", NULL, NULL },
		{ "10.0.0.0/99999999999999999999", NULL, NULL },
		{ "10.0.0.0/4294967304", NULL, NULL }, /* 8, if it wrapped */
		{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/8", NULL, NULL },
	};
	char buf[CW_PREFIX_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_prefix p = { 0 }, net;
		enum cw_rc rc = cw_prefix_parse(v[i].in, &p);

		assert_int_equal(rc, v[i].out ? CW_OK : CW_E_INVALID);
		if (!v[i].out)
			continue;
		assert_string_equal(cw_prefix_print(&p, buf, sizeof(buf)), v[i].out);
		assert_int_equal(cw_prefix_has_host_bits(&p), v[i].network != NULL);
		net = cw_prefix_network(&p);
		assert_string_equal(cw_prefix_print(&net, buf, sizeof(buf)),
				    v[i].network ? v[i].network : v[i].out);
		assert_false(cw_prefix_has_host_bits(&net));
	}
	assert_string_equal(cw_prefix_print(&(struct cw_prefix){ 0 }, buf, sizeof(buf)), "none");
}

static void addr_kinds(void **state)
{
	static const struct {
		const char *text,
			*kinds; /* u loopback multicast private linklocal: "ulmpk" letters */
	} v[] = {
		{ "0.0.0.0", "u" },	    { "::", "u" },	     { "127.0.0.1", "l" },
		{ "127.255.0.1", "l" },	    { "::1", "l" },	     { "224.0.0.1", "m" },
		{ "239.1.2.3", "m" },	    { "240.0.0.1", "" },     { "ff02::1", "m" },
		{ "10.0.0.1", "p" },	    { "11.0.0.1", "" },	     { "172.16.0.1", "p" },
		{ "172.31.255.255", "p" },  { "172.32.0.1", "" },    { "172.15.0.1", "" },
		{ "192.168.1.20", "p" },    { "192.169.0.1", "" },   { "100.64.0.1", "p" },
		{ "100.127.255.255", "p" }, { "100.128.0.1", "" },   { "fd00::1", "p" },
		{ "fc00::1", "p" },	    { "fe80::1", "k" },	     { "febf::1", "k" },
		{ "fec0::1", "" },	    { "169.254.21.1", "k" }, { "169.253.0.1", "" },
		{ "198.51.100.10", "" },    { "2001:db8::1", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_addr a = addr(v[i].text);

		assert_int_equal(cw_addr_is_unspecified(&a), strchr(v[i].kinds, 'u') != NULL);
		assert_int_equal(cw_addr_is_loopback(&a), strchr(v[i].kinds, 'l') != NULL);
		assert_int_equal(cw_addr_is_multicast(&a), strchr(v[i].kinds, 'm') != NULL);
		assert_int_equal(cw_addr_is_private(&a), strchr(v[i].kinds, 'p') != NULL);
		assert_int_equal(cw_addr_is_link_local(&a), strchr(v[i].kinds, 'k') != NULL);
	}
	assert_true(cw_addr_is_unspecified(&(struct cw_addr){ 0 }));
	assert_false(cw_addr_is_private(&(struct cw_addr){ 0 }));
}

static void addr_unfit(void **state)
{
	static const struct {
		const char *text, *why; /* a word of it; NULL: fit */
	} v[] = {
		{ "0.0.0.0", "no address" },	      { "::", "no address" },
		{ "0.0.0.1", "this network" },	      { "1.0.0.0", NULL },
		{ "127.1.2.3", "loopback" },	      { "::1", "loopback" },
		{ "224.0.0.0", "multicast" },	      { "239.255.255.255", "multicast" },
		{ "ff02::1", "multicast" },	      { "240.0.0.0", "reserved" },
		{ "255.255.255.254", "reserved" },    { "255.255.255.255", "broadcast" },
		{ "fe80::1", "link-local" },	      { "febf::1", "link-local" },
		{ "fe7f::1", "reserved" },	      { "fec0::1", NULL },
		{ "::ffff:192.0.2.1", "notation" },   { "::192.0.2.1", "reserved" },
		{ "::ffff:0:192.0.2.1", NULL },	      { "64:ff9b::192.0.2.1", NULL },
		{ "192.0.2.1", NULL },		      { "169.254.21.1", NULL },
		{ "10.0.0.1", NULL },		      { "100.64.0.1", NULL },
		{ "2001:db8::1", NULL },	      { "fd00::1", NULL },
		{ "223.255.255.255", NULL },	      { "2000::", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_addr a = addr(v[i].text);
		const char *why = cw_addr_unfit(&a);

		if (!v[i].why != !why || (why && !strstr(why, v[i].why)))
			fail_msg("%s: %s", v[i].text, why ? why : "fit");
	}
	assert_non_null(cw_addr_unfit(&(struct cw_addr){ 0 }));
}

static void prefix_contains_and_overlaps(void **state)
{
	static const struct {
		const char *a, *b;
		bool contains, overlaps; /* a contains the address of b */
	} v[] = {
		{ "10.0.0.0/16", "10.0.0.0/8", true, true },
		{ "10.0.0.0/8", "10.20.0.0/16", true, true },
		{ "10.20.0.0/16", "10.0.0.0/8", false, true },
		{ "10.20.0.0/16", "10.21.0.0/16", false, false },
		{ "10.20.0.0/15", "10.21.0.0/16", true, true },
		{ "0.0.0.0/0", "203.0.113.1/32", true, true },
		{ "0.0.0.0/0", "::/0", false, false },
		{ "10.0.0.1/32", "10.0.0.1/32", true, true },
		{ "10.0.0.1/32", "10.0.0.2/32", false, false },
		{ "2001:db8::/32", "2001:db8:ffff::/48", true, true },
		{ "2001:db8::/33", "2001:db8:8000::/33", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct cw_prefix a = prefix(v[i].a), b = prefix(v[i].b);

		assert_int_equal(cw_prefix_contains(&a, &b.addr), v[i].contains);
		assert_int_equal(cw_prefix_overlaps(&a, &b), v[i].overlaps);
		assert_int_equal(cw_prefix_overlaps(&b, &a), v[i].overlaps);
		/* Covered is what overlaps and is not wider. */
		assert_int_equal(cw_prefix_covers(&a, &b), v[i].overlaps && b.len >= a.len);
	}
}

static void order(void **state)
{
	static const char *const sorted[] = { "0.0.0.0/0",    "10.0.0.0/8",  "10.0.0.0/16",
					      "10.1.0.0/16",  "255.0.0.0/8", "::/0",
					      "2001:db8::/32" };

	(void)state;
	for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]); i++) {
		for (size_t k = 0; k < sizeof(sorted) / sizeof(sorted[0]); k++) {
			struct cw_prefix a = prefix(sorted[i]), b = prefix(sorted[k]);
			int o = cw_prefix_compare(&a, &b);

			assert_int_equal((o > 0) - (o < 0), (i > k) - (i < k));
		}
	}
	assert_true(cw_addr_equal(&(struct cw_addr){ 0 }, &(struct cw_addr){ 0 }));
	assert_int_equal(cw_family_bits(CW_FAMILY_NONE), 0);
	assert_int_equal(cw_family_bits(CW_FAMILY_IPV4), 32);
	assert_int_equal(cw_family_bits(CW_FAMILY_IPV6), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addr_parse_and_print),
		cmocka_unit_test(prefix_parse_and_print),
		cmocka_unit_test(addr_kinds),
		cmocka_unit_test(addr_unfit),
		cmocka_unit_test(prefix_contains_and_overlaps),
		cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
