/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/route_msg.h"

#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "nl/nl_buf.h"

static uint8_t af_of(uint8_t family)
{
	return family == CW_FAMILY_IPV4 ? AF_INET : family == CW_FAMILY_IPV6 ? AF_INET6 : AF_UNSPEC;
}

static bool put_addr(struct nlmsghdr *nlh, size_t size, uint16_t type, const struct cw_addr *addr)
{
	return cw_nl_put(nlh, size, type, addr->bytes, cw_family_bits(addr->family) / 8);
}

/* No address where the attribute is absent or short. */
static struct cw_addr get_addr(const struct nlattr *attr, uint8_t af)
{
	size_t len = af == AF_INET ? 4 : 16;
	const void *data = cw_nl_attr_data(attr, len);
	struct cw_addr addr = { 0 };

	if (!data || (af != AF_INET && af != AF_INET6))
		return addr;
	addr.family = af == AF_INET ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
	memcpy(addr.bytes, data, len);
	return addr;
}

/* ---- addresses ---- */

static size_t build_addr(uint16_t type, uint16_t flags, int ifindex, const struct cw_prefix *addr,
	void *buf, size_t size)
{
	struct ifaddrmsg ifa = {
		.ifa_family = af_of(addr->addr.family),
		.ifa_prefixlen = addr->len,
		/* Nobody else is on a tunnel, and an address that is still being
		 * probed for duplicates can't be a source. */
		.ifa_flags = addr->addr.family == CW_FAMILY_IPV6 ? IFA_F_NODAD : 0,
		.ifa_index = (unsigned)ifindex,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, flags, sizeof(ifa));

	if (!nlh || ifa.ifa_family == AF_UNSPEC)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &ifa, sizeof(ifa));
	if (!put_addr(nlh, size, IFA_LOCAL, &addr->addr) ||
		!put_addr(nlh, size, IFA_ADDRESS, &addr->addr))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_newaddr(int ifindex, const struct cw_prefix *addr, void *buf, size_t size)
{
	return build_addr(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, addr, buf, size);
}

size_t cw_nl_build_deladdr(int ifindex, const struct cw_prefix *addr, void *buf, size_t size)
{
	return build_addr(RTM_DELADDR, 0, ifindex, addr, buf, size);
}

size_t cw_nl_build_addr_dump(int ifindex, void *buf, size_t size)
{
	struct ifaddrmsg ifa = { .ifa_index = (unsigned)ifindex };
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_GETADDR, NLM_F_DUMP, sizeof(ifa));

	if (!nlh)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &ifa, sizeof(ifa));
	return nlh->nlmsg_len;
}

bool cw_nl_parse_addr(const void *msg, size_t len, struct cw_nl_ifaddr *ret_addr)
{
	const struct nlattr *attrs[IFA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_ifaddr addr = { 0 };
	struct ifaddrmsg ifa;

	if (!cw_nl_head(msg, len, &ifa, sizeof(ifa)) ||
		(nlh->nlmsg_type != RTM_NEWADDR && nlh->nlmsg_type != RTM_DELADDR))
		return false;
	cw_nl_attrs(nlh, sizeof(ifa), attrs, IFA_MAX + 1);
	/* IPv4 tells our end as LOCAL and, point to point, the far one as ADDRESS. */
	addr.prefix.addr =
		get_addr(attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS], ifa.ifa_family);
	addr.prefix.len = ifa.ifa_prefixlen;
	if (addr.prefix.addr.family == CW_FAMILY_NONE ||
		addr.prefix.len > cw_family_bits(addr.prefix.addr.family))
		return false;
	addr.ifindex = (int)ifa.ifa_index;
	addr.kernel_made =
		addr.prefix.addr.family == CW_FAMILY_IPV6 && ifa.ifa_scope == RT_SCOPE_LINK;
	*ret_addr = addr;
	return true;
}

/* ---- routes ---- */

static uint16_t mode_flags(enum cw_nl_route_mode mode)
{
	switch (mode) {
	case CW_NL_ROUTE_ALONE:
		return NLM_F_CREATE | NLM_F_EXCL;
	case CW_NL_ROUTE_BESIDE:
		return NLM_F_CREATE | NLM_F_APPEND;
	case CW_NL_ROUTE_REPLACE:
		return NLM_F_CREATE | NLM_F_REPLACE;
	}
	return 0;
}

static size_t build_route(uint16_t type, uint16_t flags, uint8_t scope,
	const struct cw_nl_route *route, void *buf, size_t size)
{
	bool unreachable = route->kind == CW_ROUTE_UNREACHABLE;
	struct rtmsg rtm = {
		.rtm_family = af_of(route->dst.addr.family),
		.rtm_dst_len = route->dst.len,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = CW_ROUTE_PROTOCOL,
		.rtm_scope = scope,
		.rtm_type = unreachable ? RTN_UNREACHABLE : RTN_UNICAST,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, flags, sizeof(rtm));

	if (!nlh || rtm.rtm_family == AF_UNSPEC || (!unreachable && route->ifindex <= 0))
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &rtm, sizeof(rtm));
	if ((route->dst.len && !put_addr(nlh, size, RTA_DST, &route->dst.addr)) ||
		(route->metric && !cw_nl_put_u32(nlh, size, RTA_PRIORITY, route->metric)))
		return 0;
	if (unreachable)
		return nlh->nlmsg_len;
	if (route->src.family != CW_FAMILY_NONE &&
		(route->src.family != route->dst.addr.family ||
			!put_addr(nlh, size, RTA_PREFSRC, &route->src)))
		return 0;
	if (!cw_nl_put_u32(nlh, size, RTA_OIF, (uint32_t)route->ifindex))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_newroute(
	const struct cw_nl_route *route, enum cw_nl_route_mode mode, void *buf, size_t size)
{
	/* IPv4: what is on a device without a gateway has link scope. IPv6 knows no scopes. */
	bool link = route->dst.addr.family == CW_FAMILY_IPV4 && route->kind == CW_ROUTE_UNICAST;

	return build_route(RTM_NEWROUTE, mode_flags(mode), link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
		route, buf, size);
}

size_t cw_nl_build_delroute(const struct cw_nl_route *route, void *buf, size_t size)
{
	return build_route(RTM_DELROUTE, 0, RT_SCOPE_NOWHERE, route, buf, size);
}

size_t cw_nl_build_route_dump(enum cw_family family, void *buf, size_t size)
{
	struct rtmsg rtm = {
		.rtm_family = af_of((uint8_t)family),
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = CW_ROUTE_PROTOCOL,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_GETROUTE, NLM_F_DUMP, sizeof(rtm));

	if (!nlh || rtm.rtm_family == AF_UNSPEC)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &rtm, sizeof(rtm));
	return nlh->nlmsg_len;
}

bool cw_nl_parse_route(const void *msg, size_t len, struct cw_nl_route *ret_route)
{
	const struct nlattr *attrs[RTA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_route route = { 0 };
	struct rtmsg rtm;

	if (!cw_nl_head(msg, len, &rtm, sizeof(rtm)) ||
		(nlh->nlmsg_type != RTM_NEWROUTE && nlh->nlmsg_type != RTM_DELROUTE) ||
		rtm.rtm_protocol != CW_ROUTE_PROTOCOL || (rtm.rtm_flags & RTM_F_CLONED) ||
		(rtm.rtm_family != AF_INET && rtm.rtm_family != AF_INET6))
		return false;
	cw_nl_attrs(nlh, sizeof(rtm), attrs, RTA_MAX + 1);
	if (cw_nl_attr_u32(attrs[RTA_TABLE], rtm.rtm_table) != RT_TABLE_MAIN)
		return false;
	if (rtm.rtm_type == RTN_UNREACHABLE)
		route.kind = CW_ROUTE_UNREACHABLE;
	else if (rtm.rtm_type == RTN_UNICAST)
		route.kind = CW_ROUTE_UNICAST;
	else
		return false;
	route.dst.addr = get_addr(attrs[RTA_DST], rtm.rtm_family);
	route.dst.addr.family = rtm.rtm_family == AF_INET ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
	route.dst.len = rtm.rtm_dst_len;
	if (route.dst.len > cw_family_bits(route.dst.addr.family) ||
		(route.dst.len && !attrs[RTA_DST]))
		return false;
	route.dst = cw_prefix_network(&route.dst);
	route.metric = cw_nl_attr_u32(attrs[RTA_PRIORITY], 0);
	/* IPv6 shows unreachable routes on lo, with whatever source that has. */
	if (route.kind == CW_ROUTE_UNICAST) {
		route.ifindex = (int)cw_nl_attr_u32(attrs[RTA_OIF], 0);
		route.src = get_addr(attrs[RTA_PREFSRC], rtm.rtm_family);
	}
	*ret_route = route;
	return true;
}

size_t cw_nl_build_route_get(const struct cw_addr *addr, void *buf, size_t size)
{
	struct rtmsg rtm = {
		.rtm_family = af_of(addr->family),
		.rtm_dst_len = (uint8_t)cw_family_bits((enum cw_family)addr->family),
		/* IPv6 tells the table unasked, and takes the second flag for an error. */
		.rtm_flags = addr->family == CW_FAMILY_IPV4 ? RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE
							    : RTM_F_FIB_MATCH,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_GETROUTE, 0, sizeof(rtm));

	if (!nlh || rtm.rtm_family == AF_UNSPEC)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &rtm, sizeof(rtm));
	return put_addr(nlh, size, RTA_DST, addr) ? nlh->nlmsg_len : 0;
}

bool cw_nl_parse_way(const void *msg, size_t len, struct cw_nl_way *ret_way)
{
	const struct nlattr *attrs[RTA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_way way = { 0 };
	struct rtmsg rtm;

	if (!cw_nl_head(msg, len, &rtm, sizeof(rtm)) || nlh->nlmsg_type != RTM_NEWROUTE ||
		(rtm.rtm_flags & RTM_F_CLONED) ||
		(rtm.rtm_family != AF_INET && rtm.rtm_family != AF_INET6))
		return false;
	cw_nl_attrs(nlh, sizeof(rtm), attrs, RTA_MAX + 1);
	way.dst.addr = get_addr(attrs[RTA_DST], rtm.rtm_family);
	way.dst.addr.family = rtm.rtm_family == AF_INET ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
	way.dst.len = rtm.rtm_dst_len;
	if (way.dst.len > cw_family_bits((enum cw_family)way.dst.addr.family) ||
		(way.dst.len && !attrs[RTA_DST]))
		return false;
	way.dst = cw_prefix_network(&way.dst);
	way.protocol = rtm.rtm_protocol;
	way.unicast = rtm.rtm_type == RTN_UNICAST;
	way.ifindex = (int)cw_nl_attr_u32(attrs[RTA_OIF], 0);
	way.metric = cw_nl_attr_u32(attrs[RTA_PRIORITY], 0);
	way.table = cw_nl_attr_u32(attrs[RTA_TABLE], rtm.rtm_table);
	*ret_way = way;
	return true;
}

int cw_nl_route_compare(const struct cw_nl_route *a, const struct cw_nl_route *b)
{
	int diff = cw_prefix_compare(&a->dst, &b->dst);

	if (diff)
		return diff;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->ifindex != b->ifindex)
		return a->ifindex < b->ifindex ? -1 : 1;
	return cw_addr_compare(&a->src, &b->src);
}
