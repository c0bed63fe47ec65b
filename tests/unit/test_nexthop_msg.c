/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nexthop_msg against golden bytes: what iproute2 sends for the same objects, and what a kernel
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

#include "nl/nexthop_msg.h"
#include "vector.h"

#define HOP1 0x63770001u
#define HOP2 0x63770002u
#define GROUP 0x63778001u

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

static size_t build_nexthop(const char *name, uint8_t *buf, size_t size)
{
	struct cw_nl_nexthop nh = {
		.id = HOP1,
		.protocol = CW_LEARNED_PROTOCOL,
		.kind = CW_NL_NEXTHOP_HOP,
		.family = CW_FAMILY_IPV4,
		.hop = { .ifindex = 1 },
	};

	if (!strcmp(name, "nexthop_del"))
		return cw_nl_build_delnexthop(GROUP, buf, size);
	if (!strcmp(name, "nexthop_gw")) {
		nh.id = HOP2;
		nh.hop.gateway = addr("192.0.2.7");
		nh.hop.onlink = true;
	} else if (!strcmp(name, "nexthop_gw6")) {
		nh.id = 0x63770003;
		nh.hop.gateway = addr("2001:db8::7"); /* its family is the nexthop's */
	} else if (!strcmp(name, "nexthop_drop")) {
		nh.id = 0x63770004;
		nh.kind = CW_NL_NEXTHOP_BLACKHOLE;
		nh.family = CW_FAMILY_IPV6;
	} else if (!strcmp(name, "nexthop_group")) {
		nh.id = GROUP;
		nh.kind = CW_NL_NEXTHOP_GROUP;
		nh.n = 2;
		nh.members[0] = (struct cw_nl_member){ HOP1, 1 };
		nh.members[1] = (struct cw_nl_member){ HOP2, 3 };
		return cw_nl_build_newnexthop(&nh, true, buf, size);
	}
	return cw_nl_build_newnexthop(&nh, false, buf, size);
}

static size_t build_learned(const char *name, uint8_t *buf, size_t size)
{
	const struct cw_fib_hop gw = {
		.ifindex = 1, .gateway = addr("192.0.2.7"), .onlink = true, .weight = 3
	};
	const struct cw_fib_hop via6 = { .ifindex = 1, .gateway = addr("2001:db8::7") };
	const struct cw_fib_hop two[2] = { { .ifindex = 1 }, gw };
	const struct cw_fib_hop two6[2] = { via6,
		{ .ifindex = 1, .gateway = addr("2001:db8::8"), .weight = 2 } };
	struct cw_nl_learned route = {
		.dst = prefix(strncmp(name, "learned6", 8) ? "10.99.0.0/16" : "2001:db8:7::/48"),
		.table = RT_TABLE_MAIN,
		.metric = 20,
	};

	if (!strcmp(name, "learned4_plain")) {
		route.hops = two;
		route.n = 1;
	} else if (!strcmp(name, "learned4_plain_gw")) {
		route.hops = &gw;
		route.n = 1;
	} else if (!strcmp(name, "learned4_plain_via6")) {
		route.hops = &via6;
		route.n = 1;
	} else if (!strcmp(name, "learned4_plain_two")) {
		route.hops = two;
		route.n = 2;
	} else if (!strcmp(name, "learned6_plain_two")) {
		route.hops = two6;
		route.n = 2;
	} else if (strcmp(name, "learned4_plain_drop")) {
		route.nexthop = GROUP;
	}
	if (!strcmp(name, "learned4_del"))
		return cw_nl_build_dellearned(&route, buf, size);
	if (!strcmp(name, "learned4_table")) {
		route.table = 5000;
		return cw_nl_build_newlearned(&route, CW_NL_LEARNED_BESIDE, buf, size);
	}
	return cw_nl_build_newlearned(&route, CW_NL_LEARNED_ALONE, buf, size);
}

static size_t build(const char *name, uint8_t *buf, size_t size)
{
	return strncmp(name, "nexthop", 7) ? build_learned(name, buf, size)
					   : build_nexthop(name, buf, size);
}

static const char *const built[] = {
	"nexthop_dev",
	"nexthop_gw",
	"nexthop_gw6",
	"nexthop_drop",
	"nexthop_group",
	"nexthop_del",
	"learned4",
	"learned6",
	"learned4_table",
	"learned4_del",
	"learned4_plain",
	"learned4_plain_gw",
	"learned4_plain_via6",
	"learned4_plain_two",
	"learned6_plain_two",
	"learned4_plain_drop",
};

#define N_BUILT (sizeof(built) / sizeof(built[0]))

static size_t load(const char *name, uint8_t *buf)
{
	char file[64];

	snprintf(file, sizeof(file), "route/%s", name);
	return test_vector_load(file, buf);
}

static void test_golden(void **state)
{
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX], golden[TEST_VECTOR_MAX];
	size_t bad = 0;

	(void)state;
	for (size_t i = 0; i < N_BUILT; i++) {
		size_t want = load(built[i], golden), len;

		/* acks are the sender's business; and ours names the type of what it deletes */
		((struct nlmsghdr *)golden)->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
		if (!strcmp(built[i], "learned4_del"))
			((struct rtmsg *)mnl_nlmsg_get_payload((struct nlmsghdr *)golden))
				->rtm_type = RTN_UNICAST;
		memset(buf, 0x5a, sizeof(buf));
		len = build(built[i], buf, sizeof(buf));
		if (len == want && !memcmp(buf, golden, len))
			continue;
		bad++;
		print_message("%s differs from its vector (%zu bytes, should be %zu)\n", built[i],
			len, want);
		for (size_t at = 0; at < len && at < want; at++)
			if (buf[at] != golden[at])
				print_message("  byte %zu is %02x, should be %02x\n", at, buf[at],
					golden[at]);
	}
	assert_int_equal(bad, 0);
}

static void test_small_buffers(void **state)
{
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX];

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

/* The largest message that can be asked for fits the room that the header promises. */
static void test_largest(void **state)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_nl_learned route = {
		.dst = prefix("10.0.0.0/8"), .table = 5000, .metric = 20, .hops = hops
	};
	struct cw_nl_nexthop nh = {
		.id = GROUP, .kind = CW_NL_NEXTHOP_GROUP, .n = CW_FIB_HOPS_MAX
	};
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX];

	(void)state;
	for (size_t i = 0; i < CW_FIB_HOPS_MAX; i++) {
		hops[i] = (struct cw_fib_hop){ .ifindex = 1, .gateway = addr("2001:db8::7") };
		nh.members[i] = (struct cw_nl_member){ HOP1 + (uint32_t)i, 256 };
	}
	route.n = CW_FIB_HOPS_MAX;
	assert_int_not_equal(
		cw_nl_build_newlearned(&route, CW_NL_LEARNED_ALONE, buf, sizeof(buf)), 0);
	assert_int_not_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	route.n++;
	assert_int_equal(cw_nl_build_newlearned(&route, CW_NL_LEARNED_ALONE, buf, sizeof(buf)), 0);
	nh.n++;
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
}

static void test_refused(void **state)
{
	struct cw_nl_nexthop nh = { .id = HOP1, .family = CW_FAMILY_IPV4 };
	struct cw_fib_hop none = { .ifindex = 0 };
	struct cw_nl_learned route = { .dst = prefix("10.0.0.0/8"), .hops = &none, .n = 1 };
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX];

	(void)state;
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0); /* no device */
	nh.hop.ifindex = 1;
	assert_int_not_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	nh.family = CW_FAMILY_NONE;
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	nh = (struct cw_nl_nexthop){ .id = GROUP, .kind = CW_NL_NEXTHOP_GROUP };
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0); /* no member */
	nh.n = 1;
	nh.members[0] = (struct cw_nl_member){ HOP1, 257 };
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	nh.members[0].weight = 0;
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	nh.kind = CW_NL_NEXTHOP_OTHER;
	assert_int_equal(cw_nl_build_newnexthop(&nh, false, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_delnexthop(0, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_newlearned(&route, CW_NL_LEARNED_ALONE, buf, sizeof(buf)), 0);
	route.dst.addr.family = CW_FAMILY_NONE;
	route.nexthop = GROUP;
	assert_int_equal(cw_nl_build_dellearned(&route, buf, sizeof(buf)), 0);
	assert_int_equal(cw_nl_build_learned_dump(CW_FAMILY_NONE, buf, sizeof(buf)), 0);
}

/* ---- what a kernel says ---- */

static void test_kernel_nexthops(void **state)
{
	_Alignas(8) uint8_t msg[TEST_VECTOR_MAX];
	struct cw_nl_nexthop nh;

	(void)state;
	assert_true(cw_nl_parse_nexthop(msg, load("kernel_nexthop_hop", msg), &nh));
	assert_int_equal(nh.id, HOP2);
	assert_int_equal(nh.kind, CW_NL_NEXTHOP_HOP);
	assert_int_equal(nh.family, CW_FAMILY_IPV4);
	assert_int_equal(nh.hop.ifindex, 3);
	assert_true(cw_addr_equal(&nh.hop.gateway, &(struct cw_addr){ 4, { 192, 0, 2, 7 } }));
	assert_true(cw_nl_nexthop_ours(&nh));
	nh.protocol = 12;
	assert_false(cw_nl_nexthop_ours(&nh));
	nh.protocol = CW_LEARNED_PROTOCOL;
	nh.id = 5;
	assert_false(cw_nl_nexthop_ours(&nh));

	assert_true(cw_nl_parse_nexthop(msg, load("kernel_nexthop_group", msg), &nh));
	assert_int_equal(nh.kind, CW_NL_NEXTHOP_GROUP);
	assert_int_equal(nh.n, 2);
	assert_int_equal(nh.members[0].id, HOP1);
	assert_int_equal(nh.members[0].weight, 2);
	assert_int_equal(nh.members[1].id, HOP2);
	assert_int_equal(nh.members[1].weight, 1);
}

static void test_kernel_routes(void **state)
{
	_Alignas(8) uint8_t msg[TEST_VECTOR_MAX];
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_prefix want = prefix("10.99.0.0/16");
	struct cw_nl_learned route;
	uint8_t protocol;
	size_t len;

	(void)state;
	/* a nexthop's id counts, not what the kernel says of its hops besides */
	len = load("kernel_learned4", msg);
	assert_true(cw_nl_parse_learned(msg, len, &route, hops, &protocol));
	assert_int_equal(protocol, CW_LEARNED_PROTOCOL);
	assert_int_equal(cw_prefix_compare(&route.dst, &want), 0);
	assert_int_equal(route.table, RT_TABLE_MAIN);
	assert_int_equal(route.metric, 20);
	assert_int_equal(route.nexthop, GROUP);
	assert_int_equal(route.n, 0);

	len = load("kernel_learned4_plain", msg);
	assert_true(cw_nl_parse_learned(msg, len, &route, hops, &protocol));
	assert_int_equal(route.nexthop, 0);
	assert_int_equal(route.n, 2);
	assert_int_equal(hops[0].ifindex, 3);
	assert_int_equal(hops[0].gateway.family, CW_FAMILY_NONE);
	assert_int_equal(hops[0].weight, 1);
	assert_int_equal(hops[1].gateway.family, CW_FAMILY_IPV4);
	assert_int_equal(hops[1].weight, 3);
	((struct rtmsg *)mnl_nlmsg_get_payload((struct nlmsghdr *)msg))->rtm_flags |= RTM_F_CLONED;
	assert_false(cw_nl_parse_learned(msg, len, &route, hops, &protocol));
}

/* What is built is read as it was. */
static void test_round_trip(void **state)
{
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX], again[CW_NEXTHOP_MSG_MAX];
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_nl_learned route;
	struct cw_nl_nexthop nh;
	uint8_t protocol;

	(void)state;
	for (size_t i = 0; i < N_BUILT; i++) {
		size_t len = build(built[i], buf, sizeof(buf)), len_again;

		if (!strcmp(built[i], "nexthop_del")) {
			assert_true(cw_nl_parse_nexthop(buf, len, &nh));
			assert_int_equal(nh.id, GROUP);
			continue;
		}
		if (!strncmp(built[i], "nexthop", 7)) {
			assert_true(cw_nl_parse_nexthop(buf, len, &nh));
			len_again = cw_nl_build_newnexthop(
				&nh, !strcmp(built[i], "nexthop_group"), again, sizeof(again));
		} else {
			assert_true(cw_nl_parse_learned(buf, len, &route, hops, &protocol));
			if (!strcmp(built[i], "learned4_del"))
				len_again = cw_nl_build_dellearned(&route, again, sizeof(again));
			else
				len_again = cw_nl_build_newlearned(&route,
					!strcmp(built[i], "learned4_table") ? CW_NL_LEARNED_BESIDE
									    : CW_NL_LEARNED_ALONE,
					again, sizeof(again));
		}
		assert_int_equal(len, len_again);
		assert_memory_equal(buf, again, len);
	}
}

/* ---- broken ones ---- */

static void read_any(const void *msg, size_t len)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_nl_learned route;
	struct cw_nl_nexthop nh;
	uint8_t protocol;

	cw_nl_parse_nexthop(msg, len, &nh);
	cw_nl_parse_learned(msg, len, &route, hops, &protocol);
}

static void break_one(const char *name, const uint8_t *msg, size_t len)
{
	(void)name;
	test_vector_break(msg, len, read_any);
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
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kernel_nexthops),
		cmocka_unit_test(test_kernel_routes),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
