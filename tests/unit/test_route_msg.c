/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * route_msg against golden bytes: what iproute2 sends for the same objects, and what a kernel
 * answers. Each file in tests/vectors/route says which command or kernel it was taken from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "nl/route_msg.h"
#include "vector.h"

#define ID 0x63770001u

static struct cw_addr addr(const char *text)
{
	struct cw_addr ret;

	assert_int_equal(cw_addr_parse(text, &ret), CW_OK);
	return ret;
}

static struct cw_prefix prefix(const char *text)
{
	struct cw_prefix ret;

	assert_int_equal(cw_prefix_parse(text, &ret), CW_OK);
	return ret;
}

static size_t build(const char *name, uint8_t *buf, size_t size)
{
	const struct cw_link xfrm = {
		.ifname = "cw-test", .kind = CW_LINK_XFRM, .id = ID, .mtu = 1400
	};
	const struct cw_link vti = { .ifname = "cw-test",
		.kind = CW_LINK_VTI,
		.id = ID,
		.mtu = 1400,
		.vti_local = addr("192.0.2.1"),
		.vti_remote = addr("203.0.113.11") };
	const struct cw_link vti6 = { .ifname = "cw-test",
		.kind = CW_LINK_VTI,
		.id = ID,
		.vti_local = addr("2001:db8::1"),
		.vti_remote = addr("2001:db8::2") };
	const struct cw_nl_route route4 = {
		.dst = prefix("10.99.0.0/16"), .metric = 100, .ifindex = 1, .src = addr("127.0.0.1")
	};
	const struct cw_nl_route route4u = { .dst = prefix("10.98.0.0/16"),
		.kind = CW_ROUTE_UNREACHABLE,
		.metric = CW_UNREACHABLE_METRIC };
	const struct cw_nl_route route6 = {
		.dst = prefix("2001:db8:7::/48"), .metric = 100, .ifindex = 1
	};
	const struct cw_nl_route route6u = { .dst = prefix("2001:db8:8::/48"),
		.kind = CW_ROUTE_UNREACHABLE,
		.metric = CW_UNREACHABLE_METRIC };
	const struct cw_nl_route gone = {
		.dst = prefix("10.99.0.0/16"), .metric = 100, .ifindex = 1
	};
	const struct cw_prefix addr4 = prefix("10.1.2.3/30"), addr6 = prefix("2001:db8:9::1/64");

	if (!strcmp(name, "link_xfrm"))
		return cw_nl_build_newlink(&xfrm, buf, size);
	if (!strcmp(name, "link_vti"))
		return cw_nl_build_newlink(&vti, buf, size);
	if (!strcmp(name, "link_vti6"))
		return cw_nl_build_newlink(&vti6, buf, size);
	if (!strcmp(name, "linkup"))
		return cw_nl_build_setlink(1, 1400, true, buf, size);
	if (!strcmp(name, "addr4"))
		return cw_nl_build_newaddr(1, &addr4, buf, size);
	if (!strcmp(name, "addr6"))
		return cw_nl_build_newaddr(1, &addr6, buf, size);
	if (!strcmp(name, "addrdel"))
		return cw_nl_build_deladdr(1, &addr4, buf, size);
	if (!strcmp(name, "route4"))
		return cw_nl_build_newroute(&route4, CW_NL_ROUTE_ALONE, buf, size);
	if (!strcmp(name, "route4u"))
		return cw_nl_build_newroute(&route4u, CW_NL_ROUTE_ALONE, buf, size);
	if (!strcmp(name, "route6"))
		return cw_nl_build_newroute(&route6, CW_NL_ROUTE_ALONE, buf, size);
	if (!strcmp(name, "route6u"))
		return cw_nl_build_newroute(&route6u, CW_NL_ROUTE_ALONE, buf, size);
	if (!strcmp(name, "routedel"))
		return cw_nl_build_delroute(&gone, buf, size);
	fail_msg("no object for %s", name);
	return 0;
}

/* What differs from iproute2 on purpose: acks are the sender's business. */
static void adapt(uint8_t *golden)
{
	((struct nlmsghdr *)golden)->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
}

static const char *const built[] = {
	"link_xfrm",
	"link_vti",
	"link_vti6",
	"linkup",
	"addr4",
	"addr6",
	"addrdel",
	"route4",
	"route4u",
	"route6",
	"route6u",
	"routedel",
};

#define N_BUILT (sizeof(built) / sizeof(built[0]))

static void test_golden(void **state)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX], golden[TEST_VECTOR_MAX];
	char file[64];

	(void)state;
	for (size_t i = 0; i < N_BUILT; i++) {
		size_t want, len;

		snprintf(file, sizeof(file), "route/%s", built[i]);
		want = test_vector_load(file, golden);
		adapt(golden);
		memset(buf, 0x5a, sizeof(buf));
		len = build(built[i], buf, sizeof(buf));
		if (len != want || memcmp(buf, golden, len) != 0) {
			for (size_t at = 0; at < len && at < want; at++)
				if (buf[at] != golden[at])
					print_message("%s: byte %zu is %02x, should be %02x\n",
						built[i], at, buf[at], golden[at]);
			fail_msg("%s differs from its vector (%zu bytes, should be %zu)", built[i],
				len, want);
		}
	}
}

static void test_small_buffers(void **state)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];

	(void)state;
	for (size_t i = 0; i < N_BUILT; i++) {
		size_t len = build(built[i], buf, sizeof(buf));

		for (size_t size = 0; size < len; size++) {
			memset(buf, 0x5a, sizeof(buf));
			assert_int_equal(build(built[i], buf, size), 0);
			for (size_t at = size; at < sizeof(buf); at++)
				assert_int_equal(buf[at], 0x5a);
		}
		assert_int_equal(build(built[i], buf, len), len);
	}
}

static void test_refused(void **state)
{
	struct cw_nl_route route = { .dst = prefix("10.0.0.0/8") };
	struct cw_prefix none = { .len = 8 };
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];

	(void)state;
	assert_int_equal(cw_nl_build_newroute(&route, CW_NL_ROUTE_ALONE, buf, sizeof(buf)), 0);
	route.ifindex = 1;
	assert_int_not_equal(cw_nl_build_newroute(&route, CW_NL_ROUTE_ALONE, buf, sizeof(buf)), 0);
	route.src = addr("2001:db8::1");
	assert_int_equal(cw_nl_build_newroute(&route, CW_NL_ROUTE_ALONE, buf, sizeof(buf)), 0);
	route = (struct cw_nl_route){ .ifindex = 1 };
	assert_int_equal(cw_nl_build_newroute(&route, CW_NL_ROUTE_ALONE, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_newaddr(1, &none, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_dellink(0, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_route_dump(CW_FAMILY_NONE, buf, sizeof(buf)), 0);
}

/* ---- round trips ---- */

static void test_link_round_trip(void **state)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_link link = {
		.ifname = "cw-azure-weu", .kind = CW_LINK_XFRM, .id = ID, .mtu = 1400
	};
	struct cw_nl_link got;
	size_t len;

	(void)state;
	len = cw_nl_build_newlink(&link, buf, sizeof(buf));
	((struct ifinfomsg *)mnl_nlmsg_get_payload((struct nlmsghdr *)buf))->ifi_index = 7;
	assert_true(cw_nl_parse_link(buf, len, &got));
	assert_int_equal(got.ifindex, 7);
	assert_string_equal(got.ifname, "cw-azure-weu");
	assert_string_equal(got.kind, "xfrm");
	assert_int_equal(got.mtu, 1400);
	assert_true(cw_nl_link_fits(&got, &link));
	link.kind = CW_LINK_VTI;
	assert_false(cw_nl_link_fits(&got, &link));

	link.vti_local = addr("2001:db8::1");
	len = cw_nl_build_setvti(9, &link, buf, sizeof(buf));
	assert_true(len > 0);
	assert_false(cw_nl_parse_link(buf, len, &got)); /* it has no name */
	len = cw_nl_build_newlink(&link, buf, sizeof(buf));
	((struct ifinfomsg *)mnl_nlmsg_get_payload((struct nlmsghdr *)buf))->ifi_index = 7;
	assert_true(cw_nl_parse_link(buf, len, &got));
	assert_string_equal(got.kind, "vti6");
	assert_int_equal(got.id, ID);
	assert_int_equal(got.okey, ID);
	assert_true(cw_addr_equal(&got.vti_local, &link.vti_local));
	assert_int_equal(got.vti_remote.family, CW_FAMILY_NONE);
	assert_true(cw_nl_link_fits(&got, &link));
}

static void test_route_round_trip(void **state)
{
	struct cw_nl_route routes[] = {
		{ .dst = prefix("0.0.0.0/0"), .metric = 0, .ifindex = 3 },
		{ .dst = prefix("10.20.0.0/16"),
			.metric = 100,
			.ifindex = 3,
			.src = addr("10.10.0.1") },
		{ .dst = prefix("10.20.0.0/16"),
			.metric = CW_UNREACHABLE_METRIC,
			.kind = CW_ROUTE_UNREACHABLE },
		{ .dst = prefix("::/0"), .metric = 1024, .ifindex = 3 },
		{ .dst = prefix("2001:db8::/32"),
			.metric = 1,
			.ifindex = 99,
			.src = addr("2001:db8::1") },
		{ .dst = prefix("203.0.113.11/32"), .metric = 5, .ifindex = 1 },
	};
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_nl_route got;

	(void)state;
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		size_t len = cw_nl_build_newroute(
			&routes[i], (enum cw_nl_route_mode)(i % 3), buf, sizeof(buf));

		assert_true(cw_nl_parse_route(buf, len, &got));
		assert_int_equal(cw_nl_route_compare(&routes[i], &got), 0);
	}
}

static void test_route_order(void **state)
{
	/* In order; each differs from the one before in one thing. */
	const struct cw_nl_route routes[] = {
		{ .dst = prefix("10.0.0.0/8") },
		{ .dst = prefix("10.0.0.0/8"), .src = addr("10.0.0.1") },
		{ .dst = prefix("10.0.0.0/8"), .ifindex = 1 },
		{ .dst = prefix("10.0.0.0/8"), .kind = CW_ROUTE_UNREACHABLE },
		{ .dst = prefix("10.0.0.0/8"), .metric = 1 },
		{ .dst = prefix("11.0.0.0/8") },
		{ .dst = prefix("::/0") },
	};
	size_t n = sizeof(routes) / sizeof(routes[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			int got = cw_nl_route_compare(&routes[i], &routes[j]);

			assert_int_equal((got > 0) - (got < 0), (i > j) - (i < j));
		}
}

/* Protocol, table and type are what makes a route ours. */
static void test_foreign_routes(void **state)
{
	const struct cw_nl_route route = { .dst = prefix("10.0.0.0/8"), .ifindex = 1 };
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct rtmsg *rtm = mnl_nlmsg_get_payload((struct nlmsghdr *)buf);
	size_t len = cw_nl_build_newroute(&route, CW_NL_ROUTE_ALONE, buf, sizeof(buf));
	struct cw_nl_route got;
	struct cw_prefix want;

	(void)state;
	assert_true(cw_nl_parse_route(buf, len, &got));
	rtm->rtm_protocol = RTPROT_STATIC;
	assert_false(cw_nl_parse_route(buf, len, &got));
	rtm->rtm_protocol = CW_ROUTE_PROTOCOL;
	rtm->rtm_table = RT_TABLE_LOCAL;
	assert_false(cw_nl_parse_route(buf, len, &got));
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_type = RTN_BLACKHOLE;
	assert_false(cw_nl_parse_route(buf, len, &got));
	rtm->rtm_type = RTN_UNICAST;
	rtm->rtm_flags = RTM_F_CLONED;
	assert_false(cw_nl_parse_route(buf, len, &got));
	rtm->rtm_flags = 0;
	rtm->rtm_dst_len = 4; /* the host bits that this leaves are no part of the destination */
	want = prefix("0.0.0.0/4");
	assert_true(cw_nl_parse_route(buf, len, &got));
	assert_int_equal(cw_prefix_compare(&got.dst, &want), 0);
}

static void test_ours(void **state)
{
	static const struct {
		struct cw_nl_link link;
		bool ours;
	} cases[] = {
		{ { .kind = "xfrm", .id = ID }, true },
		{ { .kind = "xfrm", .id = 99 }, false },
		{ { .kind = "xfrm", .id = CW_IF_ID_BASE + CW_IF_ID_SPAN }, false },
		{ { .kind = "vti", .id = ID, .okey = ID }, true },
		{ { .kind = "vti6", .id = ID, .okey = ID }, true },
		{ { .kind = "vti", .id = ID, .okey = ID + 1 }, false },
		{ { .kind = "dummy", .id = ID, .okey = ID }, false },
		{ { .kind = "", .id = ID }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(cw_nl_link_ours(&cases[i].link), cases[i].ours);
}

/* ---- what kernels say ---- */

static void test_kernel_links(void **state)
{
	_Alignas(8) uint8_t msg[TEST_VECTOR_MAX];
	struct cw_addr local = addr("192.0.2.1"), remote = addr("203.0.113.11");
	struct cw_nl_link got;
	size_t len;

	(void)state;
	len = test_vector_load("route/kernel_link_xfrm", msg);
	assert_true(cw_nl_parse_link(msg, len, &got));
	assert_string_equal(got.ifname, "cw-x");
	assert_string_equal(got.kind, "xfrm");
	assert_int_equal(got.id, ID);
	assert_int_equal(got.mtu, 1400);
	assert_true(got.up && !got.gone && cw_nl_link_ours(&got));

	len = test_vector_load("route/kernel_link_vti", msg);
	assert_true(cw_nl_parse_link(msg, len, &got));
	assert_string_equal(got.kind, "vti");
	assert_int_equal(got.id, ID);
	assert_int_equal(got.okey, ID);
	assert_true(cw_addr_equal(&got.vti_local, &local));
	assert_true(cw_addr_equal(&got.vti_remote, &remote));
	assert_true(cw_nl_link_ours(&got));
	/* What a new interface has by itself. */
	assert_int_equal(got.conf[CW_NL_CONF4_RP_FILTER], 0);
	assert_int_equal(got.conf[CW_NL_CONF4_DISABLE_POLICY], 0);
	assert_int_equal(got.conf[CW_NL_CONF4_PROMOTE_SECONDARIES], 0);
	assert_int_equal(got.conf[CW_NL_CONF6_DISABLE_POLICY], 0);
	assert_int_equal(got.conf[CW_NL_CONF6_KEEP_ADDR_ON_DOWN], 0);
	assert_int_equal(got.conf[CW_NL_CONF6_ACCEPT_RA], 1);
	assert_int_equal(got.conf[CW_NL_CONF6_AUTOCONF], 1);
	assert_int_equal(got.conf[CW_NL_CONF6_ADDR_GEN_MODE], 0);

	len = test_vector_load("route/kernel_link_dummy", msg);
	assert_true(cw_nl_parse_link(msg, len, &got));
	assert_string_equal(got.kind, "dummy");
	assert_false(cw_nl_link_ours(&got));
}

static void test_kernel_routes(void **state)
{
	_Alignas(8) uint8_t msg[TEST_VECTOR_MAX];
	struct cw_prefix want = prefix("10.9.0.0/16"), want6 = prefix("2001:db8:9::/48");
	struct cw_prefix want_addr = prefix("10.1.2.3/30");
	struct cw_nl_ifaddr ifaddr;
	struct cw_nl_route got;
	size_t len;

	(void)state;
	len = test_vector_load("route/kernel_route4", msg);
	assert_true(cw_nl_parse_route(msg, len, &got));
	assert_int_equal(cw_prefix_compare(&got.dst, &want), 0);
	assert_int_equal(got.metric, 50);
	assert_int_equal(got.kind, CW_ROUTE_UNICAST);
	assert_true(got.ifindex > 0);

	len = test_vector_load("route/kernel_route6", msg);
	assert_true(cw_nl_parse_route(msg, len, &got));
	assert_int_equal(cw_prefix_compare(&got.dst, &want6), 0);
	assert_int_equal(got.metric, CW_UNREACHABLE_METRIC);
	assert_int_equal(got.kind, CW_ROUTE_UNREACHABLE);
	assert_int_equal(got.ifindex, 0);

	len = test_vector_load("route/kernel_addr4", msg);
	assert_true(cw_nl_parse_addr(msg, len, &ifaddr));
	assert_int_equal(cw_prefix_compare(&ifaddr.prefix, &want_addr), 0);
	assert_false(ifaddr.kernel_made);
}

/* The route that is found may be anybody's; a cache entry, which old kernels answer with, is none. */
static void test_way(void **state)
{
	static const struct {
		const char *vector;
		bool unicast;
		uint32_t metric;
	} v[] = { { "route/kernel_route4", true, 50 }, { "route/kernel_route6", false, CW_UNREACHABLE_METRIC } };
	_Alignas(8) uint8_t msg[TEST_VECTOR_MAX];
	const struct cw_addr to = addr("10.9.37.37"), to6 = addr("2001:db8:9::5"), none = { 0 };
	struct rtmsg *rtm = mnl_nlmsg_get_payload((struct nlmsghdr *)msg);
	struct cw_nl_way way;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		len = test_vector_load(v[i].vector, msg);
		assert_true(cw_nl_parse_way(msg, len, &way));
		assert_int_equal(way.protocol, CW_ROUTE_PROTOCOL);
		assert_int_equal(way.metric, v[i].metric);
		assert_int_equal(way.unicast, v[i].unicast);
		assert_int_equal(way.table, RT_TABLE_MAIN);
		rtm->rtm_protocol = RTPROT_STATIC;
		assert_true(cw_nl_parse_way(msg, len, &way));
		assert_int_equal(way.protocol, RTPROT_STATIC);
		rtm->rtm_flags |= RTM_F_CLONED;
		assert_false(cw_nl_parse_way(msg, len, &way));
	}
	len = cw_nl_build_route_get(&to, msg, sizeof(msg));
	assert_int_equal(len, NLMSG_HDRLEN + sizeof(*rtm) + 8);
	assert_int_equal(rtm->rtm_dst_len, 32);
	assert_int_equal(rtm->rtm_flags, RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE);
	assert_int_equal(cw_nl_build_route_get(&to6, msg, sizeof(msg)), len + 12);
	assert_int_equal(rtm->rtm_dst_len, 128);
	for (size_t size = 0; size < len + 12; size++)
		assert_int_equal(cw_nl_build_route_get(&to6, msg, size), 0);
	assert_int_equal(cw_nl_build_route_get(&none, msg, sizeof(msg)), 0);
	assert_int_equal(cw_nl_build_rename(0, "cw-a", msg, sizeof(msg)), 0);
	len = cw_nl_build_rename(3, "cw-a", msg, sizeof(msg));
	assert_true(len > 0);
	for (size_t size = 0; size < len; size++)
		assert_int_equal(cw_nl_build_rename(3, "cw-a", msg, size), 0);
}

/* ---- broken bytes ---- */

static void read_all(const void *msg, size_t len)
{
	struct cw_nl_ifaddr ifaddr;
	struct cw_nl_route route;
	struct cw_nl_link link;
	struct cw_nl_way way;

	if (cw_nl_parse_link(msg, len, &link)) {
		assert_true(strlen(link.ifname) < sizeof(link.ifname));
		assert_true(strlen(link.kind) < sizeof(link.kind));
	}
	if (cw_nl_parse_addr(msg, len, &ifaddr))
		assert_true(ifaddr.prefix.len <= cw_family_bits(ifaddr.prefix.addr.family));
	if (cw_nl_parse_route(msg, len, &route))
		assert_true(route.dst.len <= cw_family_bits(route.dst.addr.family));
	if (cw_nl_parse_way(msg, len, &way))
		assert_true(way.dst.len <= cw_family_bits(way.dst.addr.family));
}

static void break_one(const char *name, const uint8_t *msg, size_t len)
{
	(void)name;
	test_vector_break(msg, len, read_all);
}

static void test_broken(void **state)
{
	(void)state;
	test_vector_each("route", break_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_small_buffers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_link_round_trip),
		cmocka_unit_test(test_route_round_trip),
		cmocka_unit_test(test_route_order),
		cmocka_unit_test(test_foreign_routes),
		cmocka_unit_test(test_ours),
		cmocka_unit_test(test_kernel_links),
		cmocka_unit_test(test_kernel_routes),
		cmocka_unit_test(test_way),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
