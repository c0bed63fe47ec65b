/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ID (CW_IF_ID_BASE + 7)

static struct cw_kernel_err err;
static size_t removed;

static struct cw_link wanted(enum cw_link_kind kind)
{
	struct cw_link link = {
		.ifname = "cw-t",
		.kind = kind,
		.id = ID,
		.mtu = 1400,
		.addrs = { prefix("169.254.21.1/30"), prefix("2001:db8:21::1/64") },
		.n_addrs = 2,
		.up = true,
	};

	if (kind == CW_LINK_VTI)
		link.vti_local = addr("192.0.2.1");
	return link;
}

static struct cw_link_info ensure(struct cw_kernel *k, const struct cw_link *link)
{
	struct cw_link_info info = { 0 };

	CHECK_RC(k->ops->link_ensure(k, link, &info, &err), CW_OK);
	return info;
}

static long sysctl_of(const char *family, const char *name)
{
	return sh_number("cat /proc/sys/net/%s/conf/cw-t/%s", family, name);
}

static void test_create(struct cw_kernel *k, enum cw_link_kind kind)
{
	struct cw_link link = wanted(kind);
	struct cw_kernel_event ev;
	struct cw_link_info info;

	drain_events(k, CW_KEV_LINK);
	info = ensure(k, &link);
	CHECK(info.ifindex > 0 && info.changed && !info.adopted);
	CHECK(wait_event(k, CW_KEV_LINK, 5, &ev));
	CHECK(!strcmp(ev.ifname, "cw-t"));
	CHECK(sh("ip link show cw-t up | grep -q 'mtu 1400'") == 0);
	CHECK(sh_number("ip -4 addr show cw-t | grep -c '169.254.21.1/30'") == 1);
	CHECK(sh_number("ip -6 addr show cw-t | grep -c '2001:db8:21::1/64'") == 1);
	CHECK(sh_number("ip -6 addr show cw-t | grep -c tentative") == 0);
	CHECK(sysctl_of("ipv4", "rp_filter") == 2);
	CHECK(sysctl_of("ipv6", "accept_ra") == 0);
	CHECK(sysctl_of("ipv4", "disable_policy") == (kind == CW_LINK_VTI));
	CHECK(k->ops->link_id(k, "cw-t") == ID);
	CHECK(k->ops->link_id(k, "v0") == 0 && k->ops->link_id(k, "nosuch") == 0);

	/* Once more: nothing is written, so nobody hears of it. */
	drain_events(k, CW_KEV_LINK);
	info = ensure(k, &link);
	CHECK(info.adopted && !info.changed);
	CHECK(drain_events(k, CW_KEV_LINK) == 0);
	/* What a person changed is set right. */
	sh("ip link set cw-t mtu 1300; ip addr add 10.66.0.1/24 dev cw-t; "
	   "ip addr del 169.254.21.1/30 dev cw-t; sysctl -qw net.ipv4.conf.cw-t.rp_filter=1");
	info = ensure(k, &link);
	CHECK(info.adopted && info.changed);
	CHECK(sh("ip link show cw-t | grep -q 'mtu 1400'") == 0);
	CHECK(sh_number("ip -4 addr show cw-t | grep -c inet") == 1);
	CHECK(sysctl_of("ipv4", "rp_filter") == 2);
	/* BL-062: addresses stay over down and up. */
	link.up = false;
	ensure(k, &link);
	CHECK(sh("ip link show cw-t up | grep -q cw-t") != 0);
	sh("ip link set cw-t up; ip link set cw-t down; ip link set cw-t up");
	CHECK(sh_number("ip -6 addr show cw-t | grep -c '2001:db8:21::1/64'") == 1);
	CHECK(sh_number("ip -4 addr show cw-t | grep -c '169.254.21.1/30'") == 1);
	/* No link-local address where IPv6 is not wanted. */
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
	link.n_addrs = 1;
	link.up = true;
	ensure(k, &link);
	CHECK(sh_number("ip -6 addr show cw-t | grep -c inet6") == 0);
	/* BL-063: deleted by somebody. */
	drain_events(k, CW_KEV_LINK);
	sh("ip link del cw-t");
	CHECK(wait_event(k, CW_KEV_LINK, 5, &ev));
	CHECK(k->ops->link_id(k, "cw-t") == 0);
	info = ensure(k, &link);
	CHECK(!info.adopted && info.changed);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
}

/* BL-058: no route of others is lost when addresses change, also within one subnet. */
static void test_addresses(struct cw_kernel *k, enum cw_link_kind kind)
{
	static const char *const steps[] = { "169.254.22.1/30", "169.254.22.2/30",
		"169.254.22.1/30", "10.99.0.1/24" };
	struct cw_link link = wanted(kind);

	link.n_addrs = 1;
	ensure(k, &link);
	CHECK(sh("ip route add 10.50.0.0/16 dev cw-t proto static") == 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		link.addrs[0] = prefix(steps[i]);
		ensure(k, &link);
		CHECK(sh_number("ip -4 addr show cw-t | grep -c inet") == 1);
		CHECK(sh_number("ip -4 addr show cw-t | grep -c '%s'", steps[i]) == 1);
		CHECK(sh_number("ip route show 10.50.0.0/16 | grep -c cw-t") == 1);
	}
	link.n_addrs = 0;
	ensure(k, &link);
	CHECK(sh_number("ip -4 addr show cw-t | grep -c inet") == 0);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
}

static void test_foreign(struct cw_kernel *k, enum cw_link_kind kind)
{
	static const char *const others[] = {
		"ip link add cw-t type dummy",
		"ip link add cw-t type veth peer name cw-u",
		"ip link add cw-t type xfrm if_id 99",
		"ip link add cw-t type vti local 192.0.2.1 remote 192.0.2.2 key 99",
	};
	struct cw_link link = wanted(kind);
	struct cw_link_info info;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (sh("%s 2>/dev/null", others[i]) != 0)
			continue;
		sh("ip addr add 10.77.0.1/24 dev cw-t");
		CHECK_RC(k->ops->link_ensure(k, &link, &info, &err), CW_E_EXISTS);
		CHECK(strstr(err.text, "not ours") && strstr(err.text, "cw-t"));
		CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_E_EXISTS);
		CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
		CHECK(sh_number("ip -4 addr show cw-t | grep -c 10.77.0.1") == 1);
		sh("ip link del cw-t");
	}
	link.id = 99;
	CHECK_RC(k->ops->link_ensure(k, &link, &info, &err), CW_E_INVALID);

	/* Another one of ours under that name is made anew. */
	link = wanted(kind);
	link.id = ID + 1;
	ensure(k, &link);
	link.id = ID;
	info = ensure(k, &link);
	CHECK(info.changed && !info.adopted && k->ops->link_id(k, "cw-t") == ID);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
}

/* One that somebody renamed gets its name back and is the same interface; a foreign one that has the name by
 * then is named and left alone, and so is ours beside it. */
static void test_renamed(struct cw_kernel *k, enum cw_link_kind kind)
{
	struct cw_link link = wanted(kind);
	struct cw_link_info info;
	int index;

	info = ensure(k, &link);
	CHECK(info.missing && !info.renamed_from[0]);
	index = info.ifindex;
	info = ensure(k, &link);
	CHECK(!info.missing && !info.changed && !info.renamed_from[0]);
	CHECK(sh("ip link set cw-t down && ip link set cw-t name mine && ip link set mine up") == 0);
	info = ensure(k, &link);
	CHECK(info.ifindex == index && info.changed && !info.missing);
	CHECK(!strcmp(info.renamed_from, "mine"));
	CHECK(sh("ip link show cw-t up | grep -q 'mtu 1400'") == 0);
	CHECK(sh("ip link show mine 2>/dev/null") != 0);
	CHECK(sh_number("ip -6 addr show cw-t | grep -c '2001:db8:21::1/64'") == 1);

	CHECK(sh("ip link set cw-t down && ip link set cw-t name mine && "
		 "ip link add cw-t type dummy") == 0);
	CHECK_RC(k->ops->link_ensure(k, &link, &info, &err), CW_E_EXISTS);
	CHECK(strstr(err.text, "not ours") != NULL);
	CHECK(sh("ip link show mine >/dev/null && ip link del cw-t") == 0);
	CHECK(ensure(k, &link).ifindex == index);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
}

static void test_vti_ends(struct cw_kernel *k)
{
	static const struct {
		const char *local, *remote;
		bool v6;
	} steps[] = {
		{ "192.0.2.1", NULL, false },
		{ "192.0.2.1", "192.0.2.2", false },
		{ "192.0.2.1", "192.0.2.3", false },
		{ "192.0.2.99", "192.0.2.3", false },
		{ NULL, "192.0.2.3", false },
		{ "2001:db8::1", NULL, true },
		{ "2001:db8::1", "2001:db8::2", true },
		{ "2001:db8::1", "2001:db8::3", true },
	};
	struct cw_link link = wanted(CW_LINK_VTI);
	struct cw_link_info info;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		link.vti_local = steps[i].local ? addr(steps[i].local) : (struct cw_addr){ 0 };
		link.vti_remote = steps[i].remote ? addr(steps[i].remote) : (struct cw_addr){ 0 };
		info = ensure(k, &link);
		CHECK(info.changed);
		CHECK(sh_number("ip -d link show cw-t | grep -c 'vti%s remote %s local %s'",
			      steps[i].v6 ? "6" : "", steps[i].remote ? steps[i].remote : "any",
			      steps[i].local ? steps[i].local : "any") == 1);
		CHECK(sh("ip link show cw-t | grep -q 'mtu 1400'") == 0);
		CHECK(sh_number("ip -4 addr show cw-t | grep -c inet") == 1);
		info = ensure(k, &link);
		CHECK(info.adopted && !info.changed);
	}
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
	/* The kernel tells VTIs apart by their ends alone; ip_vti0 has none. */
	link.vti_local = link.vti_remote = (struct cw_addr){ 0 };
	CHECK_RC(k->ops->link_ensure(k, &link, &info, &err), CW_E_EXISTS);
	CHECK(strstr(err.text, "outer addresses") != NULL);
}

static enum cw_link_look look(struct cw_kernel *k, const struct cw_link *link)
{
	enum cw_link_look ret = CW_LINK_BLOCKED;

	CHECK_RC(k->ops->links_look(k, link, 1, &ret, &err), CW_OK);
	return ret;
}

/* links_look() sees all that link_ensure() would set right, and what it could not. */
static void test_look(struct cw_kernel *k, enum cw_link_kind kind)
{
	static const char *const spoils[] = {
		"ip link set cw-t mtu 1300",
		"ip link set cw-t down",
		"ip addr add 10.66.0.1/24 dev cw-t",
		"ip addr del 169.254.21.1/30 dev cw-t",
		"ip addr del 2001:db8:21::1/64 dev cw-t",
		"sysctl -qw net.ipv4.conf.cw-t.rp_filter=1",
		"sysctl -qw net.ipv4.conf.cw-t.promote_secondaries=0",
		"sysctl -qw net.ipv6.conf.cw-t.accept_ra=1",
		"sysctl -qw net.ipv6.conf.cw-t.autoconf=1",
		"sysctl -qw net.ipv6.conf.cw-t.keep_addr_on_down=0",
		"ip link del cw-t",
	};
	struct cw_link link = wanted(kind), others[3];
	enum cw_link_look looks[3];

	CHECK(look(k, &link) == CW_LINK_DIFFERS);
	ensure(k, &link);
	CHECK(look(k, &link) == CW_LINK_FITS);
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		CHECK(sh("%s", spoils[i]) == 0);
		if (!CHECK(look(k, &link) == CW_LINK_DIFFERS))
			fprintf(stderr, "after \"%s\"\n", spoils[i]);
		ensure(k, &link);
		CHECK(look(k, &link) == CW_LINK_FITS);
	}
	if (kind == CW_LINK_VTI) {
		CHECK(sh("sysctl -qw net.ipv4.conf.cw-t.disable_policy=0") == 0);
		CHECK(look(k, &link) == CW_LINK_DIFFERS);
		ensure(k, &link);
	}
	/* Many at once: one that is there, one whose id and ends another of ours has, one whose name is another's. */
	others[0] = others[1] = others[2] = link;
	snprintf(others[1].ifname, sizeof(others[1].ifname), "cw-twin");
	snprintf(others[2].ifname, sizeof(others[2].ifname), "v0");
	CHECK_RC(k->ops->links_look(k, others, 3, looks, &err), CW_OK);
	CHECK(looks[0] == CW_LINK_FITS && looks[1] == CW_LINK_DIFFERS && looks[2] == CW_LINK_BLOCKED);
	CHECK_RC(k->ops->link_remove(k, "cw-t", &err), CW_OK);
	CHECK(look(k, &others[1]) == CW_LINK_DIFFERS);
}

static void test_clean(struct cw_kernel *k, enum cw_link_kind kind)
{
	static const char *const keep[] = { "cw-2", "cw-nosuch" };
	struct cw_link link = wanted(kind);
	struct cw_route route = { .dst = prefix("10.60.0.0/16"),
		.kind = CW_ROUTE_UNREACHABLE,
		.metric = CW_UNREACHABLE_METRIC };

	for (uint32_t i = 1; i <= 3; i++) {
		snprintf(link.ifname, sizeof(link.ifname), "cw-%u", i);
		link.id = CW_IF_ID_BASE + i;
		link.n_addrs = 0;
		if (kind == CW_LINK_VTI)
			link.vti_remote.bytes[3] = (uint8_t)i;
		ensure(k, &link);
	}
	CHECK(sh("ip link add foreign type veth peer name foreign2") == 0);
	CHECK_RC(k->ops->routes_sync(k, &route, 1, &err), CW_OK);
	CHECK_RC(k->ops->clean(k, keep, 2, &removed, &err), CW_OK);
	CHECK(removed == 2);
	CHECK(sh("ip link show cw-2 >/dev/null && ip link show foreign >/dev/null") == 0);
	CHECK(sh_number("ip route show 10.60.0.0/16 | grep -c unreachable") == 1);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 2);
	CHECK(sh_number("ip -o link | grep -c cw-") == 0);
	CHECK(sh_number("ip route show 10.60.0.0/16 | grep -c unreachable") == 0);
	CHECK(sh("ip link show foreign >/dev/null") == 0);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 0);
	sh("ip link del foreign");
}

void test_links(struct cw_kernel *k, enum cw_link_kind kind)
{
	test_create(k, kind);
	test_addresses(k, kind);
	test_foreign(k, kind);
	test_look(k, kind);
	test_renamed(k, kind);
	if (kind == CW_LINK_VTI)
		test_vti_ends(k);
	test_clean(k, kind);
}

/* ---- routes ---- */

static struct cw_route route(const char *dst, const char *ifname, uint32_t metric, const char *src)
{
	struct cw_route ret = { .dst = prefix(dst), .metric = metric };

	if (!ifname) {
		ret.kind = CW_ROUTE_UNREACHABLE;
		return ret;
	}
	snprintf(ret.ifname, sizeof(ret.ifname), "%s", ifname);
	if (src)
		ret.src = addr(src);
	return ret;
}

static long ours(void)
{
	return sh_number("(ip route show proto 119; ip -6 route show proto 119) | grep -c .");
}

static void test_sync(struct cw_kernel *k)
{
	struct cw_route first[] = {
		route("10.20.0.0/16", "cw-a", 100, NULL),
		route("10.20.0.0/16", "cw-b", 200, "10.1.1.1"),
		route("10.20.0.0/16", NULL, CW_UNREACHABLE_METRIC, NULL),
		route("10.21.0.5/16", "cw-a", 0, NULL), /* host bits are dropped */
		route("2001:db8:20::/48", "cw-a", 100, "2001:db8:a::1"),
		route("2001:db8:20::/48", NULL, CW_UNREACHABLE_METRIC, NULL),
		route("2001:db8:21::/48", "cw-b", 0, NULL),
		route("2001:db8:21::/48", "cw-b", 0, NULL), /* twice */
	};
	struct cw_route second[] = {
		route("10.20.0.0/16", "cw-b", 100, NULL), /* other device */
		route("10.20.0.0/16", "cw-b", 200, NULL), /* other source */
		route("10.20.0.0/16", NULL, CW_UNREACHABLE_METRIC, NULL),
		route("10.21.0.0/16", NULL, 0, NULL), /* other kind, same metric */
		route("2001:db8:20::/48", "cw-a", 100, "2001:db8:a::2"), /* other source */
		route("2001:db8:20::/48", NULL, CW_UNREACHABLE_METRIC, NULL),
		route("2001:db8:21::/48", "cw-a", 0, NULL), /* other device */
		route("10.22.0.0/16", "cw-a", 5, NULL),     /* new */
	};

	CHECK_RC(k->ops->routes_sync(k, first, 8, &err), CW_OK);
	CHECK(ours() == 7);
	CHECK(sh_number(
		      "ip route show 10.20.0.0/16 | grep -c 'dev cw-b.*src 10.1.1.1 metric 200'") ==
		1);
	CHECK(sh_number("ip -6 route show 2001:db8:21::/48 | grep -c 'metric 1024'") == 1);
	CHECK(sh("ip -6 route show proto 119 > /tmp/cw-nl-6") == 0);
	CHECK_RC(k->ops->routes_sync(k, first, 8, &err), CW_OK);
	CHECK(ours() == 7);

	CHECK_RC(k->ops->routes_sync(k, second, 8, &err), CW_OK);
	CHECK(ours() == 8);
	CHECK(sh_number("ip route show 10.20.0.0/16 | grep -c 'dev cw-b.*metric 100'") == 1);
	CHECK(sh_number("ip route show 10.20.0.0/16 | grep -c 'cw-a'") == 0);
	CHECK(sh_number("ip route show 10.20.0.0/16 | grep -c 'src 10.1.1.1'") == 0);
	CHECK(sh_number("ip route show 10.21.0.0/16 | grep -c unreachable") == 1);
	CHECK(sh_number("ip -6 route show 2001:db8:20::/48 | grep -c 'src 2001:db8:a::2'") == 1);
	CHECK(sh_number("ip -6 route show 2001:db8:21::/48 | grep -c 'dev cw-a'") == 1);
	CHECK(sh_number("ip -6 route show 2001:db8:21::/48 | grep -c .") == 1);
	/* And back, and nothing is left. */
	CHECK_RC(k->ops->routes_sync(k, first, 8, &err), CW_OK);
	CHECK(ours() == 7);
	CHECK(sh("ip -6 route show proto 119 | cmp - /tmp/cw-nl-6 && rm -f /tmp/cw-nl-6") == 0);
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
	CHECK(ours() == 0);
}

/* Others' routes are neither changed nor removed, and one bad route does not stop the rest. */
static void test_sync_foreign(struct cw_kernel *k)
{
	struct cw_route want[] = {
		route("10.30.0.0/16", "cw-a", 100, NULL), /* a foreign one has it */
		route("10.31.0.0/16", "cw-nosuch", 100, NULL),
		route("10.32.0.0/16", "cw-a", 100, NULL),
		route("2001:db8:30::/48", "cw-a", 100, NULL), /* a foreign one has it */
		route("2001:db8:32::/48", "cw-a", 100, NULL),
	};

	CHECK(sh("ip route add 10.30.0.0/16 dev v0 metric 100 proto static && "
		 "ip -6 route add 2001:db8:30::/48 dev v0 metric 100 proto static && "
		 "ip route add 10.33.0.0/16 dev cw-a proto static && "
		 "ip route add 10.34.0.0/16 dev cw-a proto 119 table 77 && "
		 "ip route add blackhole 10.35.0.0/16 proto 119") == 0);
	CHECK(k->ops->routes_sync(k, want, 5, &err) == CW_E_NOT_FOUND);
	CHECK(strstr(err.text, "10.31.0.0/16") && strstr(err.text, "cw-nosuch"));
	CHECK_RC(k->ops->routes_sync(k, &want[0], 1, &err), CW_E_EXISTS);
	CHECK(strstr(err.text, "10.30.0.0/16") && strstr(err.text, "not ours"));
	CHECK_RC(k->ops->routes_sync(k, &want[2], 3, &err), CW_E_EXISTS);
	CHECK(strstr(err.text, "2001:db8:30::/48") != NULL);
	CHECK(sh_number("ip route show 10.32.0.0/16 | grep -c cw-a") == 1);
	CHECK(sh_number("ip -6 route show 2001:db8:32::/48 | grep -c cw-a") == 1);
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
	CHECK(sh_number("ip route show 10.30.0.0/16 | grep -c v0") == 1);
	CHECK(sh_number("ip -6 route show 2001:db8:30::/48 | grep -c v0") == 1);
	CHECK(sh_number("ip route show 10.33.0.0/16 | grep -c cw-a") == 1);
	CHECK(sh_number("ip route show table 77 | grep -c 10.34.0.0/16") == 1);
	CHECK(sh_number("ip route show 10.35.0.0/16 | grep -c blackhole") == 1);
	sh("ip route del 10.30.0.0/16 metric 100; ip -6 route del 2001:db8:30::/48 metric 100; "
	   "ip route flush table 77; ip route del blackhole 10.35.0.0/16");
}

/* A few by themselves; what is in the way is told, and the rest done. */
static void test_change(struct cw_kernel *k)
{
	struct cw_route base[] = {
		route("10.20.0.0/16", NULL, CW_UNREACHABLE_METRIC, NULL),
		route("10.21.0.0/16", NULL, CW_UNREACHABLE_METRIC, NULL),
	};
	struct cw_route some[] = {
		route("10.20.0.0/16", "cw-a", 100, "10.1.2.1"),
		route("2001:db8:20::/48", "cw-b", 100, NULL),
		route("10.21.0.0/16", "cw-b", 100, NULL),
	};

	CHECK_RC(k->ops->routes_sync(k, base, 2, &err), CW_OK);
	CHECK_RC(k->ops->routes_change(k, some, 2, NULL, 0, &err), CW_OK);
	CHECK(ours() == 4);
	CHECK(sh_number("ip route show 10.20.0.0/16 | grep -c 'dev cw-a.*src 10.1.2.1 metric 100'") == 1);
	CHECK(k->ops->routes_change(k, some, 3, NULL, 0, &err) == CW_E_EXISTS);
	CHECK(ours() == 5);
	CHECK_RC(k->ops->routes_change(k, NULL, 0, some, 2, &err), CW_OK);
	CHECK_RC(k->ops->routes_change(k, NULL, 0, some, 2, &err), CW_OK);
	CHECK(ours() == 3);
	/* Another's is not taken for ours, nor away. */
	CHECK(sh("ip route add 10.20.0.0/16 dev cw-a metric 100 proto static") == 0);
	CHECK(k->ops->routes_change(k, some, 1, NULL, 0, &err) == CW_E_EXISTS);
	CHECK_RC(k->ops->routes_change(k, NULL, 0, some, 1, &err), CW_OK);
	CHECK(sh("ip route del 10.20.0.0/16 dev cw-a metric 100 proto static") == 0);
	snprintf(some[0].ifname, sizeof(some[0].ifname), "cw-nosuch");
	CHECK(k->ops->routes_change(k, some, 1, NULL, 0, &err) == CW_E_NOT_FOUND);
	CHECK_RC(k->ops->routes_change(k, NULL, 0, some, 1, &err), CW_OK);
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Azure's 4,000 and more, many batches long. links: of ours, which clean() removes too. */
static void test_sync_many(struct cw_kernel *k, size_t links)
{
	enum { N = 10000 };
	struct cw_route *want = calloc(N, sizeof(*want));
	double t[4];

	for (uint32_t i = 0; i < N; i++) {
		want[i] = route("100.64.0.0/24", "cw-a", 50, NULL);
		want[i].dst.addr.bytes[1] = (uint8_t)(64 + (i >> 8));
		want[i].dst.addr.bytes[2] = (uint8_t)i;
	}
	t[0] = seconds();
	CHECK_RC(k->ops->routes_sync(k, want, N, &err), CW_OK);
	t[1] = seconds() - t[0];
	CHECK(ours() == N);
	t[0] = seconds();
	CHECK_RC(k->ops->routes_sync(k, want, N, &err), CW_OK);
	t[2] = seconds() - t[0];
	for (uint32_t i = 0; i < N; i++)
		snprintf(want[i].ifname, sizeof(want[i].ifname), "cw-b");
	t[0] = seconds();
	CHECK_RC(k->ops->routes_sync(k, want, N, &err), CW_OK);
	t[3] = seconds() - t[0];
	CHECK(sh_number("ip route show proto 119 dev cw-b | grep -c .") == N);
	printf("%d routes: added in %.3f s, compared in %.3f s, moved in %.3f s\n", N, t[1], t[2],
		t[3]);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	/* The kernel takes an interface's routes away with it. */
	CHECK(removed == (links ? links : N));
	CHECK(ours() == 0);
	free(want);
}

/* Where packets go is the kernel's own answer: ours, another's with the same or a better metric, another
 * table's, or nowhere; what takes a part of a network is another matter. */
static void test_ways(struct cw_kernel *k)
{
	static const char *const dsts[] = { "10.30.0.0/16", "2001:db8:30::/48", "10.30.4.4/32", "0.0.0.0/0" };
	struct cw_route_look look;

	for (size_t i = 0; i < sizeof(dsts) / sizeof(dsts[0]); i++) {
		struct cw_route want[2] = { route(dsts[i], "cw-a", 100, NULL), route(dsts[i], "cw-b", 101, NULL) };
		const char *six = strchr(dsts[i], ':') ? "-6" : "-4";

		look = (struct cw_route_look){ .dst = prefix(dsts[i]) };
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_NOWHERE);
		CHECK_RC(k->ops->routes_sync(k, want, 2, &err), CW_OK);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_OURS && !strcmp(look.ifname, "cw-a") && look.metric == 100);
		CHECK_RC(k->ops->routes_sync(k, &want[1], 1, &err), CW_OK);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_OURS && !strcmp(look.ifname, "cw-b") && look.metric == 101);

		CHECK(sh("ip %s route add %s dev v0 metric 7 proto static", six, dsts[i]) == 0);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_FOREIGN && !strcmp(look.ifname, "v0") && look.metric == 7);
		CHECK(look.protocol == 4 && look.table == 254);
		CHECK(sh("ip %s route del %s dev v0 metric 7", six, dsts[i]) == 0);
		CHECK(sh("ip %s route replace unreachable %s metric 8", six, dsts[i]) == 0);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_NOWHERE);
		CHECK(sh("ip %s route del unreachable %s metric 8", six, dsts[i]) == 0);

		CHECK(sh("ip %s route add %s dev v0 table 77 && ip %s rule add pref 900 lookup 77", six,
			 dsts[i], six) == 0);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_FOREIGN && look.table == 77);
		CHECK(sh("ip %s rule del pref 900 && ip %s route flush table 77", six, six) == 0);
		k->ops->routes_look(k, &look, 1);
		CHECK(look.way == CW_WAY_OURS);
		CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
	}

	/* Parts: the first address asked is in the foreign one, the others are not; then all are. */
	look = (struct cw_route_look){ .dst = prefix("10.30.0.0/16") };
	CHECK_RC(k->ops->routes_sync(k, &(struct cw_route){ .dst = look.dst, .ifname = "cw-a", .metric = 100 }, 1,
				     &err), CW_OK);
	CHECK(sh("ip route add 10.30.37.0/24 dev v0") == 0);
	k->ops->routes_look(k, &look, 1);
	CHECK(look.way == CW_WAY_OURS && !strcmp(look.ifname, "cw-a"));
	CHECK(sh("ip route add 10.30.0.0/17 dev v0 && ip route add 10.30.128.0/17 dev v0") == 0);
	k->ops->routes_look(k, &look, 1);
	CHECK(look.way == CW_WAY_FOREIGN && !strcmp(look.ifname, "v0") && look.in_parts);
	sh("ip route flush dev v0 root 10.30.0.0/16");
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
}

/* Routes that others take from us are told, one by one; our own doing is not, nor what is others'. */
static void test_taken(struct cw_kernel *k)
{
	struct cw_route want[] = {
		{ .dst = prefix("10.66.0.0/16"), .kind = CW_ROUTE_UNREACHABLE, .metric = 5 },
		{ .dst = prefix("fd66::/64"), .kind = CW_ROUTE_UNREACHABLE, .metric = 5 },
	};

	drain_events(k, CW_KEV_TAKEN);
	CHECK_RC(k->ops->routes_sync(k, want, 2, &err), CW_OK);
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
	CHECK_RC(k->ops->routes_sync(k, want, 2, &err), CW_OK);
	CHECK(sh("ip route add unreachable 10.67.0.0/16 && ip route del unreachable 10.67.0.0/16") == 0);
	CHECK(drain_events(k, CW_KEV_TAKEN) == 0);
	CHECK(sh("ip route flush proto 119 && ip -6 route flush proto 119") == 0);
	CHECK(drain_events(k, CW_KEV_TAKEN) == 2);
	CHECK_RC(k->ops->routes_sync(k, NULL, 0, &err), CW_OK);
}

void test_routes(struct cw_kernel *k, enum cw_link_kind kind)
{
	struct cw_link link = wanted(kind);

	snprintf(link.ifname, sizeof(link.ifname), "cw-a");
	link.addrs[0] = prefix("10.1.2.1/24");
	link.addrs[1] = prefix("2001:db8:a::1/64");
	link.addrs[2] = prefix("2001:db8:a::2/64");
	link.n_addrs = 3;
	ensure(k, &link);
	snprintf(link.ifname, sizeof(link.ifname), "cw-b");
	link.id++;
	link.vti_local = kind == CW_LINK_VTI ? addr("192.0.2.99") : link.vti_local;
	link.addrs[0] = prefix("10.1.1.1/24");
	link.n_addrs = 1;
	ensure(k, &link);
	test_sync(k);
	test_sync_foreign(k);
	test_change(k);
	test_ways(k);
	test_taken(k);
	test_sync_many(k, 2);
}

void test_plain_routes(struct cw_kernel *k)
{
	CHECK(sh("ip link add cw-a type veth peer name cw-b && ip addr add 10.1.2.1/24 dev cw-a && "
		 "ip addr add 2001:db8:a::1/64 dev cw-a nodad && ip link set cw-a up && "
		 "ip addr add 2001:db8:a::2/64 dev cw-a nodad && ip addr add 10.1.1.1/24 dev cw-b "
		 "&& "
		 "ip link set cw-b up") == 0);
	test_sync(k);
	test_sync_foreign(k);
	test_change(k);
	test_ways(k);
	test_sync_many(k, 0);
	test_taken(k);
	sh("ip link del cw-a");
}
