/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learned routes on a real kernel, with nexthop groups and without, in a network namespace of its
 * own. Exits 77 where it may not make one. usage: test_fib
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl/fib.h"

#define METRIC 20
#define SKIP 77
#define OURS "proto 120"

static struct cw_kernel_err err;
static struct cw_fib_conf conf = { .metric = METRIC };

/* ---- what the FIB tells ---- */

static struct {
	size_t n;
	struct cw_prefix prefix;
	uint32_t group;
	enum cw_rc rc;
	struct cw_kernel_err err;
} refused;

static void on_failed(const struct cw_prefix *prefix_, uint32_t group, enum cw_rc rc,
	const struct cw_kernel_err *why, void *arg)
{
	(void)arg;
	refused.n++;
	refused.prefix = *prefix_;
	refused.group = group;
	refused.rc = rc;
	refused.err = *why;
}

static struct {
	size_t hops, taken, resync;
	struct cw_fib_event last_taken;
} heard;

static void on_event(const struct cw_fib_event *ev, void *arg)
{
	(void)arg;
	switch (ev->kind) {
	case CW_FIB_EV_HOPS:
		heard.hops++;
		break;
	case CW_FIB_EV_TAKEN:
		heard.taken++;
		heard.last_taken = *ev;
		break;
	case CW_FIB_EV_RESYNC:
		heard.resync++;
		break;
	}
}

/* Takes what the kernel has said until then; waits for the first of it. */
static void hear(struct cw_fib *fib)
{
	struct pollfd p = { .fd = cw_fib_fd(fib), .events = POLLIN };

	memset(&heard, 0, sizeof(heard));
	CHECK(poll(&p, 1, 5000) == 1);
	do
		cw_fib_read(fib, on_event, NULL);
	while (poll(&p, 1, 0) == 1);
}

/* ---- the world ---- */

static struct cw_fib_hop hop(const char *ifname)
{
	return (struct cw_fib_hop){ .ifindex = (int)if_nametoindex(ifname) };
}

/* Two ways out, a0 and b0, each with its far end here too; and what belongs to others. */
static void world(void)
{
	CHECK(sh("ip link set lo up") == 0);
	CHECK(sh("ip link add a0 type veth peer name a1; ip link add b0 type veth peer name b1;"
		 "for i in a0 a1 b0 b1; do ip link set $i up; done;"
		 "ip addr add 192.0.2.1/24 dev a0; ip addr add 2001:db8:a::1/64 dev a0 nodad;"
		 "for i in $(seq 100); do ip -br link show a0 | grep -q LOWER_UP && "
		 "ip -br link show b0 | grep -q LOWER_UP && exit 0; done; exit 1") == 0);
	CHECK(sh("ip route add 198.51.100.0/24 dev b0 proto bird metric 32;"
		 "ip route add 10.0.5.0/24 dev b0 proto 119 metric 10;"
		 "ip -6 route add 2001:db8:ff::/48 dev b0 proto zebra metric 20") == 0);
}

#define FOREIGN_ROUTES 3

static void check_foreign(const char *when)
{
	long n = sh_number("(ip route show; ip -6 route show) | "
			   "grep -cE '(bird|proto 119|zebra)'");

	if (!CHECK(n == FOREIGN_ROUTES))
		printf("  %s: %ld routes of others\n", when, n);
}

static long count(const char *family)
{
	return sh_number("ip %s route show table all " OURS " | grep -vc '^\t'", family);
}

static long count_matching(const char *pattern)
{
	return sh_number(
		"(ip route show " OURS "; ip -6 route show " OURS ") | grep -c -- '%s'", pattern);
}

static struct cw_prefix nth(enum cw_family family, unsigned i)
{
	struct cw_prefix p = { .addr.family = (uint8_t)family };

	if (family == CW_FAMILY_IPV4) {
		p.addr.bytes[0] = 10;
		p.addr.bytes[1] = (uint8_t)(i >> 8);
		p.addr.bytes[2] = (uint8_t)i;
		p.len = 24;
	} else {
		memcpy(p.addr.bytes, "\x20\x01\x0d\xb8", 4);
		p.addr.bytes[4] = (uint8_t)(0x80 | i >> 8);
		p.addr.bytes[5] = (uint8_t)i;
		p.len = 48;
	}
	return p;
}

static void set_many(
	struct cw_fib *fib, enum cw_family family, unsigned from, unsigned to, uint32_t group)
{
	for (unsigned i = from; i < to; i++) {
		struct cw_prefix p = nth(family, i);

		if (!CHECK(cw_fib_route_set(fib, &p, group) == CW_OK))
			return;
	}
}

static void del_many(struct cw_fib *fib, enum cw_family family, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct cw_prefix p = nth(family, i);

		CHECK(cw_fib_route_del(fib, &p) == CW_OK);
	}
}

static struct cw_fib *open_fib(void)
{
	struct cw_fib *fib = NULL;

	memset(&refused, 0, sizeof(refused));
	if (!CHECK_RC(cw_fib_new(&conf, on_failed, NULL, &fib, &err), CW_OK))
		exit(1);
	CHECK(cw_fib_has_groups(fib) != conf.plain);
	return fib;
}

static uint64_t requests(const struct cw_fib *fib)
{
	struct cw_fib_stats stats;

	cw_fib_stats(fib, &stats);
	return stats.requests;
}

static size_t failed_now(const struct cw_fib *fib)
{
	struct cw_fib_stats stats;

	cw_fib_stats(fib, &stats);
	return stats.failed;
}

/* ---- cases ---- */

static void test_new(void)
{
	struct cw_fib_conf bad = { .metric = 0 };
	struct cw_fib *fib = NULL;
	struct cw_fib_hop h = hop("a0");
	uint32_t id;

	CHECK_RC(cw_fib_new(&bad, NULL, NULL, &fib, &err), CW_E_INVALID);
	CHECK(!fib);
	cw_fib_free(NULL);
	fib = open_fib();
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_NONE, &h, 1, &id, &err), CW_E_INVALID);
	h.ifindex = 0;
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &h, 1, &id, &err), CW_E_INVALID);
	h = hop("a0");
	h.gateway = addr("192.0.2.9");
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV6, &h, 1, &id, &err), CW_E_INVALID);
	CHECK(cw_fib_group_hops(fib, 7, &h, 1) == 0);
	cw_fib_group_put(fib, 0);
	cw_fib_free(fib);
}

static void test_setting(enum cw_family family)
{
	const char *opt = family == CW_FAMILY_IPV4 ? "-4" : "-6";
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0"), both[2] = { hop("b0"), hop("a0") };
	struct cw_fib_hop again[3] = { hop("a0"), hop("b0"), hop("b0") };
	struct pollfd p = { .fd = cw_fib_fd(fib), .events = POLLIN };
	struct cw_prefix one = nth(family, 7), bad = one;
	uint32_t one_way, two_ways, same;
	uint64_t before;

	CHECK_RC(cw_fib_group_get(fib, family, &a, 1, &one_way, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, family, both, 2, &two_ways, &err), CW_OK);
	again[0].weight = again[1].weight = 1;
	CHECK_RC(cw_fib_group_get(fib, family, again, 2, &same, &err), CW_OK);
	CHECK(same == two_ways && one_way != two_ways);
	CHECK_RC(cw_fib_group_get(fib, family, again, 3, &same, &err), CW_OK);
	CHECK(same != two_ways); /* 1:2 */
	cw_fib_group_put(fib, same);

	/* more than a batch */
	set_many(fib, family, 0, 3000, one_way);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 3000);
	CHECK(count_matching("dev a0") == 3000);
	/* our own doing is not told to us */
	cw_fib_read(fib, on_event, NULL);
	CHECK(poll(&p, 1, 0) == 0);

	before = requests(fib);
	set_many(fib, family, 0, 3000, one_way);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(requests(fib) == before);

	set_many(fib, family, 0, 1000, two_ways);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 3000);
	/* IPv6 shares among gateways alone, where it has no groups */
	if (cw_fib_has_groups(fib) || family == CW_FAMILY_IPV4)
		CHECK(sh_number("ip %s route show " OURS " | grep -c 'dev b0'", opt) >= 1000);
	CHECK(cw_fib_route_get(fib, &one) == two_ways);

	del_many(fib, family, 500, 2500);
	del_many(fib, family, 500, 510); /* there are none */
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 1000);
	one = nth(family, 600);
	CHECK(cw_fib_route_get(fib, &one) == 0);
	CHECK(refused.n == 0);

	CHECK(cw_fib_route_set(fib, &one, 12345) == CW_E_INVALID);
	bad.addr.bytes[15 - (family == CW_FAMILY_IPV4 ? 12 : 0)] = 1;
	CHECK(cw_fib_route_set(fib, &bad, one_way) == CW_E_INVALID);

	/* within one batch, one prefix: the last word counts */
	CHECK(cw_fib_route_set(fib, &one, one_way) == CW_OK);
	CHECK(cw_fib_route_set(fib, &one, two_ways) == CW_OK);
	CHECK(cw_fib_route_del(fib, &one) == CW_OK);
	CHECK(cw_fib_route_set(fib, &one, two_ways) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(refused.n == 0);
	CHECK(count(opt) == 1001);

	/* a default route is a prefix as any */
	one = (struct cw_prefix){ .addr.family = (uint8_t)family };
	CHECK(cw_fib_route_set(fib, &one, one_way) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count_matching("^default") == 1);

	size_t removed = 0;
	CHECK_RC(cw_fib_group_drop(fib, one_way, &removed, &err), CW_OK);
	CHECK(removed == 501);
	CHECK(count(opt) == 501);
	CHECK(cw_fib_route_set(fib, &one, one_way) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 502);
	check_foreign("before clearing");
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(removed == 502);
	CHECK(count(opt) == 0);
	CHECK(sh("ip nexthop show " OURS " | grep -q .") != 0);
	check_foreign("after clearing");
	cw_fib_free(fib);
}

/* Deleting few and many, some and all of a group. */
static void test_deleting(enum cw_family family)
{
	const char *opt = family == CW_FAMILY_IPV4 ? "-4" : "-6";
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0"), b = hop("b0");
	struct cw_prefix wide = nth(family, 0), one = nth(family, 8500);
	struct cw_fib_stats stats;
	uint32_t ga, gb;
	uint64_t before;
	size_t removed;

	CHECK_RC(cw_fib_group_get(fib, family, &a, 1, &ga, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, family, &b, 1, &gb, &err), CW_OK);
	set_many(fib, family, 0, 9000, ga);
	wide.len = family == CW_FAMILY_IPV4 ? 9 : 33;
	CHECK(cw_fib_route_set(fib, &wide, ga) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 9001);
	/* second thoughts cost nothing */
	before = requests(fib);
	del_many(fib, family, 0, 9000);
	CHECK(cw_fib_route_get(fib, &one) == 0);
	set_many(fib, family, 0, 9000, ga);
	CHECK(cw_fib_route_get(fib, &one) == ga);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(requests(fib) == before);
	/* most of it, and one that goes elsewhere instead */
	del_many(fib, family, 0, 9000);
	CHECK(cw_fib_route_set(fib, &one, gb) == CW_OK);
	cw_fib_stats(fib, &stats);
	CHECK(stats.routes == 2);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 2 && cw_fib_route_get(fib, &wide) == ga);
	CHECK(count_matching("dev b0") == 1);
	/* all of it */
	set_many(fib, family, 0, 6000, ga);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	before = requests(fib);
	del_many(fib, family, 0, 6000);
	CHECK(cw_fib_route_del(fib, &wide) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(requests(fib) - before == (cw_fib_has_groups(fib) ? 0 : 6001));
	CHECK(count(opt) == 1);
	set_many(fib, family, 0, 100, ga);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 101);
	/* deleted, but not sent, when something else comes */
	del_many(fib, family, 0, 50);
	CHECK_RC(cw_fib_group_replace(fib, ga, &b, 1, &err), CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 51);
	del_many(fib, family, 50, 60);
	CHECK_RC(cw_fib_resync(fib, &err), CW_OK);
	CHECK(count(opt) == 41);
	del_many(fib, family, 60, 70);
	removed = 0;
	CHECK_RC(cw_fib_group_drop(fib, ga, &removed, &err), CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 1 && cw_fib_route_del(fib, &one) == CW_OK);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	cw_fib_stats(fib, &stats);
	CHECK(stats.routes == 0 && stats.failed == 0 && stats.unclaimed == 0 && stats.groups == 0);
	CHECK(count(opt) == 0 && refused.n == 0);
	cw_fib_free(fib);
}

/* Somebody else's route is never replaced, moved or deleted. */
static void test_foreign(enum cw_family family)
{
	const char *opt = family == CW_FAMILY_IPV4 ? "-4" : "-6";
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0"), b = hop("b0");
	struct cw_prefix taken = nth(family, 3), other = nth(family, 4);
	char text[CW_PREFIX_TEXT_MAX], text2[CW_PREFIX_TEXT_MAX];
	uint32_t ga, gb;
	size_t removed;

	cw_prefix_print(&taken, text, sizeof(text));
	cw_prefix_print(&other, text2, sizeof(text2));
	CHECK_RC(cw_fib_group_get(fib, family, &a, 1, &ga, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, family, &b, 1, &gb, &err), CW_OK);
	CHECK(sh("ip %s route add %s dev b0 proto 77 metric %d", opt, text, METRIC) == 0);
	CHECK(sh("ip %s route add %s dev b0 proto 77 metric %d", opt, text2, METRIC + 1) == 0);
	set_many(fib, family, 0, 10, ga);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(refused.n == 1 && refused.rc == CW_E_EXISTS && refused.group == ga);
	CHECK(!cw_prefix_compare(&refused.prefix, &taken));
	CHECK(refused.err.err == EEXIST);
	CHECK(failed_now(fib) == 1);
	CHECK(count(opt) == 9);
	/* set again: tried again; added and moved in one batch: not sneaked in */
	CHECK(cw_fib_route_set(fib, &taken, ga) == CW_OK);
	CHECK(cw_fib_route_set(fib, &taken, gb) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(refused.n == 3 && refused.group == gb);
	CHECK(count(opt) == 9);
	CHECK(sh_number("ip %s route show %s | grep -c 'proto 77'", opt, text) == 1);
	/* and given up: theirs stays */
	CHECK(cw_fib_route_del(fib, &taken) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(failed_now(fib) == 0);
	CHECK(sh_number("ip %s route show %s | grep -c 'proto 77'", opt, text) == 1);
	CHECK(sh("ip %s route del %s proto 77", opt, text) == 0);
	CHECK(cw_fib_route_set(fib, &taken, ga) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(refused.n == 3 && count(opt) == 10);

	/* put before or behind ours while it stands (IPv4 can): moving and deleting touch ours
	 * alone */
	if (family == CW_FAMILY_IPV4) {
		CHECK(sh("ip route prepend %s dev b0 proto 77 metric %d", text, METRIC) == 0);
		CHECK(sh("ip route append %s dev a0 proto 78 metric %d", text, METRIC) == 0);
		CHECK(cw_fib_route_set(fib, &taken, gb) == CW_OK);
		CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
		CHECK(sh_number("ip route show %s | grep -cE 'proto (77|78|120)'", text) == 3);
		CHECK(cw_fib_route_del(fib, &taken) == CW_OK);
		CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
		CHECK(sh_number("ip route show %s | grep -cE 'proto (77|78)'", text) == 2);
		CHECK(sh_number("ip route show %s | grep -cE 'proto 120'", text) == 0);
		CHECK(sh("ip route del %s proto 77; ip route del %s proto 78", text, text) == 0);
	}
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(sh("ip %s route del %s proto 77", opt, text2) == 0);
	CHECK(count(opt) == 0);
	check_foreign("foreign");
	cw_fib_free(fib);
}

/* One message moves all routes; with no hop left they drop. */
static void test_replace(enum cw_family family)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop both[2] = { hop("a0"), hop("b0") }, got[4];
	struct cw_fib_stats stats;
	uint32_t id, same;
	size_t removed;

	CHECK_RC(cw_fib_group_get(fib, family, both, 2, &id, &err), CW_OK);
	set_many(fib, family, 0, 100, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 2);
	CHECK_RC(cw_fib_group_replace(fib, id, &both[1], 1, &err), CW_OK);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 1 && got[0].ifindex == both[1].ifindex);
	CHECK(count_matching("dev a0") == 0 && count_matching("dev b0") == 100);
	/* its name is still that of the two */
	CHECK_RC(cw_fib_group_get(fib, family, both, 2, &same, &err), CW_OK);
	CHECK(same == id);
	CHECK_RC(cw_fib_group_replace(fib, id, NULL, 0, &err), CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 0);
	CHECK(count_matching("blackhole") == 100);
	CHECK(sh("ip %s route get %s", family == CW_FAMILY_IPV4 ? "-4" : "-6",
		      family == CW_FAMILY_IPV4 ? "10.0.0.1" : "2001:db8:8000::1") != 0);
	CHECK_RC(cw_fib_group_replace(fib, id, both, 2, &err), CW_OK);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 2);
	CHECK(count_matching("blackhole") == 0);
	CHECK_RC(cw_fib_group_replace(fib, 99, both, 2, &err), CW_E_INVALID);
	/* without use and routes it goes, and its hops */
	del_many(fib, family, 0, 100);
	cw_fib_group_put(fib, id);
	cw_fib_group_put(fib, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	cw_fib_stats(fib, &stats);
	CHECK(stats.groups == 0 && stats.hops == 0 && stats.routes == 0);
	CHECK(sh("ip nexthop show " OURS " | grep -q .") != 0);
	CHECK(refused.n == 0);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(removed == 0);
	cw_fib_free(fib);
}

static void test_gateways(void)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop gw = hop("a0"), off = hop("b0"), six = hop("a0");
	struct cw_prefix p4 = nth(CW_FAMILY_IPV4, 1), p6 = nth(CW_FAMILY_IPV6, 1);
	uint32_t id;
	size_t removed;

	gw.gateway = addr("192.0.2.7");
	off.gateway = addr("203.0.113.9");
	off.onlink = true;
	off.weight = 3;
	six.gateway = addr("2001:db8:a::7");
	CHECK_RC(cw_fib_group_get(
			 fib, CW_FAMILY_IPV4, (struct cw_fib_hop[]){ gw, off }, 2, &id, &err),
		CW_OK);
	CHECK(cw_fib_route_set(fib, &p4, id) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(sh("ip route show 10.0.1.0/24 | tr '\\n' ' ' | grep -q 'via 192.0.2.7 dev a0 weight "
		 "1 .*"
		 "via 203.0.113.9 dev b0 weight 3 onlink'") == 0);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV6, &six, 1, &id, &err), CW_OK);
	CHECK(cw_fib_route_set(fib, &p6, id) == CW_OK);
	/* RFC 8950 */
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &six, 1, &id, &err), CW_OK);
	p4 = nth(CW_FAMILY_IPV4, 2);
	CHECK(cw_fib_route_set(fib, &p4, id) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count_matching("via 2001:db8:a::7 dev a0") == 1);
	CHECK(count_matching("via inet6 2001:db8:a::7 dev a0") == 1);
	CHECK(refused.n == 0);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(removed == 3);
	cw_fib_free(fib);
}

/* Devices go down, come back, and are deleted. */
static void test_devices(enum cw_family family)
{
	const char *opt = family == CW_FAMILY_IPV4 ? "-4" : "-6";
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop both[2] = { hop("a0"), hop("b0") }, got[4];
	size_t removed;
	uint32_t id;

	CHECK_RC(cw_fib_group_get(fib, family, both, 2, &id, &err), CW_OK);
	set_many(fib, family, 0, 100, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(sh("ip link set b1 down") == 0); /* no carrier */
	hear(fib);
	CHECK(heard.hops == 1 && heard.resync == 0);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 1 && got[0].ifindex == both[0].ifindex);
	CHECK(count(opt) == 100);
	/* a group made meanwhile has the one that is up, and gets the other later */
	CHECK(sh("ip link set a0 down") == 0);
	hear(fib);
	CHECK(heard.hops == 1 && heard.resync == 1);
	CHECK_RC(cw_fib_resync(fib, &err), CW_OK);
	CHECK(count_matching("blackhole") == 100);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 0);
	CHECK(sh("ip link set a0 up; ip link set b1 up") == 0);
	do
		hear(fib);
	while (cw_fib_group_hops(fib, id, got, 4) < 2);
	CHECK(count(opt) == 100);
	CHECK(count_matching("blackhole") == 0);
	/* one deleted for good */
	CHECK(sh("ip link del b0") == 0);
	hear(fib);
	CHECK(cw_fib_group_hops(fib, id, got, 4) == 1);
	CHECK(count(opt) == 100);
	CHECK(refused.n == 0);
	CHECK(sh("ip link add b0 type veth peer name b1; ip link set b0 up; ip link set b1 up;"
		 "ip route add 198.51.100.0/24 dev b0 proto bird metric 32;"
		 "ip route add 10.0.5.0/24 dev b0 proto 119 metric 10;"
		 "ip -6 route add 2001:db8:ff::/48 dev b0 proto zebra metric 20;"
		 "ip addr replace 2001:db8:a::1/64 dev a0 nodad") == 0);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(removed == 100);
	cw_fib_free(fib);
}

static void test_taken(enum cw_family family)
{
	const char *opt = family == CW_FAMILY_IPV4 ? "-4" : "-6";
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0");
	struct cw_prefix p = nth(family, 9);
	char text[CW_PREFIX_TEXT_MAX];
	size_t removed;
	uint32_t id;

	cw_prefix_print(&p, text, sizeof(text));
	CHECK_RC(cw_fib_group_get(fib, family, &a, 1, &id, &err), CW_OK);
	set_many(fib, family, 0, 20, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(sh("ip %s route del %s " OURS, opt, text) == 0);
	hear(fib);
	CHECK(heard.taken == 1 && !cw_prefix_compare(&heard.last_taken.prefix, &p));
	CHECK(heard.last_taken.group == id && heard.resync == 0);
	CHECK(cw_fib_route_set(fib, &p, id) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count(opt) == 20 && refused.n == 0);
	/* replaced */
	CHECK(sh("ip %s route replace %s dev b0 proto 77 metric %d", opt, text, METRIC) == 0);
	hear(fib);
	CHECK(heard.taken == 1);
	CHECK(cw_fib_route_set(fib, &p, id) == CW_OK);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(refused.n == 1 && refused.rc == CW_E_EXISTS);
	CHECK(sh("ip %s route del %s proto 77", opt, text) == 0);
	/* the nexthops behind our back */
	if (cw_fib_has_groups(fib)) {
		CHECK(sh("ip nexthop del id %" PRIu32, id) == 0);
		CHECK(count(opt) == 0);
		hear(fib);
		CHECK(heard.resync == 1);
	}
	CHECK_RC(cw_fib_resync(fib, &err), CW_OK);
	CHECK(count(opt) == 20 && failed_now(fib) == 0);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	cw_fib_free(fib);
}

/* ---- after a crash ---- */

static size_t adopted;

static void on_adopted(const struct cw_prefix *p, uint32_t group, void *arg)
{
	const struct cw_fib *fib = arg;

	adopted += cw_fib_route_get(fib, p) == group;
}

static void test_crash(void)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0"), both[2] = { hop("b0"), hop("a0") };
	uint32_t a4, both4, both6, x;
	struct cw_fib_stats stats;
	uint64_t before;
	size_t removed;

	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &a, 1, &a4, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, both, 2, &both4, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV6, both, 2, &both6, &err), CW_OK);
	set_many(fib, CW_FAMILY_IPV4, 0, 1000, a4);
	set_many(fib, CW_FAMILY_IPV4, 1000, 3000, both4);
	set_many(fib, CW_FAMILY_IPV6, 0, 2000, both6);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	cw_fib_free(fib);
	/* of another configuration, and by another's hand */
	CHECK(sh("ip route add 10.200.0.0/16 dev a0 " OURS " metric 99;"
		 "ip route add 10.201.0.0/16 dev a0 " OURS " metric %d table 5",
		      METRIC) == 0);

	fib = open_fib();
	before = requests(fib);
	adopted = 0;
	CHECK_RC(cw_fib_adopt(fib, on_adopted, fib, &err), CW_OK);
	CHECK(adopted == 5000);
	cw_fib_stats(fib, &stats);
	CHECK(stats.routes == 5000 && stats.unclaimed == 5000 && stats.groups == 3);
	CHECK(requests(fib) == before + 2); /* those two go */
	CHECK(count("-4") == 3000 && count("-6") == 2000);
	before = requests(fib);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &a, 1, &x, &err), CW_OK);
	CHECK(!cw_fib_has_groups(fib) || x == a4);
	set_many(fib, CW_FAMILY_IPV4, 0, 700, x);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV6, both, 2, &x, &err), CW_OK);
	CHECK(!cw_fib_has_groups(fib) || x == both6);
	set_many(fib, CW_FAMILY_IPV6, 500, 2000, x);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	/* Of the two hops the plain IPv6 routes had one. */
	CHECK(requests(fib) - before == (cw_fib_has_groups(fib) ? 0 : 2 * 1500));
	cw_fib_stats(fib, &stats);
	CHECK(stats.unclaimed == 2800);
	CHECK_RC(cw_fib_sweep(fib, &removed, &err), CW_OK);
	CHECK(removed == 2800);
	CHECK(count("-4") == 700 && count("-6") == 1500);
	cw_fib_stats(fib, &stats);
	CHECK(stats.unclaimed == 0 && stats.groups == 2 && stats.routes == 2200);
	CHECK(refused.n == 0);
	CHECK_RC(cw_fib_adopt(fib, NULL, NULL, &err), CW_E_INVALID);
	check_foreign("crash");
	cw_fib_free(fib);
	/* stop without having adopted */
	fib = open_fib();
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(count("-4") == 0 && count("-6") == 0);
	CHECK(sh("ip nexthop show " OURS " | grep -q .") != 0);
	check_foreign("clear");
	cw_fib_free(fib);
}

/* ---- losses ---- */

/* Makes the answers to one batch of refusals more than the sockets hold. */
static void narrow(void)
{
	int size = 0, domain;
	socklen_t len;

	for (int fd = 3; fd < 64; fd++) {
		len = sizeof(domain);
		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
			domain == AF_NETLINK)
			CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) == 0);
	}
}

static void test_lost_answers(void)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0");
	struct cw_fib_stats stats;
	size_t removed;
	uint32_t id;

	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &a, 1, &id, &err), CW_OK);
	CHECK(sh("for i in $(seq 100 199); do echo route add 10.0.$i.0/24 dev b0 proto 77 metric "
		 "%d;"
		 "done | ip -batch -",
		      METRIC) == 0);
	narrow();
	set_many(fib, CW_FAMILY_IPV4, 0, 1100, id);
	/* The re-reading's own answers are lost too as long as there is no room for them. */
	CHECK_RC(cw_fib_flush(fib, &err), CW_E_BUSY);
	cw_fib_stats(fib, &stats);
	CHECK(stats.resyncs >= 1);
	CHECK(count("-4") == 1000);
	CHECK(sh("ip route flush proto 77") == 0);
	CHECK_RC(cw_fib_resync(fib, &err), CW_OK);
	CHECK(count("-4") == 1100);
	CHECK(failed_now(fib) == 0);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(removed == 1100);
	cw_fib_free(fib);
}

static void test_lost_events(void)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0");
	size_t removed;
	uint32_t id;

	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &a, 1, &id, &err), CW_OK);
	set_many(fib, CW_FAMILY_IPV4, 0, 2000, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	narrow();
	/* (Flushing would say the nexthop twice, which the kernel refuses.) */
	CHECK(sh("for i in $(seq 0 999); do echo route del 10.$((i / 256)).$((i %% 256)).0/24 " OURS
		 "; done | ip -batch -") == 0);
	hear(fib);
	CHECK(heard.resync >= 1);
	CHECK_RC(cw_fib_resync(fib, &err), CW_OK);
	CHECK(count("-4") == 2000);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	cw_fib_free(fib);
}

/* ---- ids that others have ---- */

static void test_foreign_nexthops(void)
{
	struct cw_fib *fib = open_fib();
	struct cw_fib_hop a = hop("a0");
	size_t removed;
	uint32_t id;

	CHECK(sh("ip nexthop add id 0x63770001 dev b0 protocol bird;"
		 "ip nexthop add id 0x63778001 group 0x63770001 protocol bird;"
		 "ip nexthop add id 5 dev a0 protocol 120") == 0);
	CHECK_RC(cw_fib_adopt(fib, NULL, NULL, &err), CW_OK);
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV4, &a, 1, &id, &err), CW_OK);
	CHECK(id != 0x63778001);
	set_many(fib, CW_FAMILY_IPV4, 0, 10, id);
	CHECK_RC(cw_fib_flush(fib, &err), CW_OK);
	CHECK(count_matching("dev a0") == 10);
	cw_fib_free(fib);
	/* not known by reading, but by the kernel's refusal */
	fib = open_fib();
	CHECK_RC(cw_fib_group_get(fib, CW_FAMILY_IPV6, &a, 1, &id, &err), CW_OK);
	CHECK(id != 0x63778001);
	CHECK_RC(cw_fib_clear(fib, &removed, &err), CW_OK);
	CHECK(count("-4") == 0);
	CHECK(sh_number("ip nexthop show | wc -l") == 3);
	CHECK(sh("ip nexthop del id 0x63778001; ip nexthop del id 0x63770001; ip nexthop del id "
		 "5") == 0);
	cw_fib_free(fib);
}

static void test_compat_mode(void)
{
	int before = cw_fib_compat_mode();

	CHECK(before == 0 || before == 1);
	CHECK(cw_fib_set_compat_mode(false) == CW_OK && cw_fib_compat_mode() == 0);
	CHECK(cw_fib_set_compat_mode(true) == CW_OK && cw_fib_compat_mode() == 1);
	CHECK(cw_fib_set_compat_mode(before) == CW_OK);
}

static bool has_nexthops(void)
{
	struct cw_fib *fib = NULL;
	bool has = cw_fib_new(&conf, NULL, NULL, &fib, &err) == CW_OK && cw_fib_has_groups(fib);

	cw_fib_free(fib);
	return has;
}

static void test_all(void)
{
	static const enum cw_family families[] = { CW_FAMILY_IPV4, CW_FAMILY_IPV6 };

	test_new();
	for (size_t i = 0; i < 2; i++) {
		test_setting(families[i]);
		test_deleting(families[i]);
		test_foreign(families[i]);
		test_replace(families[i]);
		if (!conf.plain)
			test_devices(families[i]);
		test_taken(families[i]);
	}
	test_gateways();
	test_crash();
	test_lost_answers();
	test_lost_events();
}

int main(void)
{
	if (unshare(CLONE_NEWNET) < 0) {
		printf("skip: no network namespace of our own: %s\n", strerror(errno));
		return SKIP;
	}
	world();
	if (has_nexthops()) {
		printf("-- over nexthop groups\n");
		test_all();
		test_foreign_nexthops();
		test_compat_mode();
	} else {
		printf("skip: nexthop groups, which this kernel lacks\n");
	}
	conf.plain = true;
	printf("-- plain routes\n");
	test_all();
	return check_end();
}
