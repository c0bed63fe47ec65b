/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/nexthop_msg.h"

#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "nl/nl_buf.h"

static uint8_t af_of(uint8_t family)
{
	return family == CW_FAMILY_IPV4 ? AF_INET : family == CW_FAMILY_IPV6 ? AF_INET6 : AF_UNSPEC;
}

static uint8_t family_of(uint8_t af)
{
	return af == AF_INET ? CW_FAMILY_IPV4 : af == AF_INET6 ? CW_FAMILY_IPV6 : CW_FAMILY_NONE;
}

static bool put_addr(struct nlmsghdr *nlh, size_t size, uint16_t type, const struct cw_addr *addr)
{
	return cw_nl_put(nlh, size, type, addr->bytes, cw_family_bits(addr->family) / 8);
}

/* No address where the attribute is absent or as long as that of no family. */
static struct cw_addr get_addr(const struct nlattr *attr)
{
	size_t len = cw_nl_attr_len(attr);
	const void *data = cw_nl_attr_data(attr, len);
	struct cw_addr addr = { 0 };

	if (!data || (len != 4 && len != 16))
		return addr;
	addr.family = len == 4 ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
	memcpy(addr.bytes, data, len);
	return addr;
}

static uint16_t weight_of(const struct cw_fib_hop *hop)
{
	return hop->weight ? hop->weight : 1;
}

/* ---- nexthops ---- */

bool cw_nl_nexthop_ours(const struct cw_nl_nexthop *nh)
{
	return nh->protocol == CW_LEARNED_PROTOCOL &&
	       nh->id - CW_NEXTHOP_ID_BASE < CW_NEXTHOP_ID_SPAN;
}

static bool put_members(struct nlmsghdr *nlh, size_t size, const struct cw_nl_nexthop *nh)
{
	struct nexthop_grp members[CW_FIB_HOPS_MAX] = { 0 };

	if (nh->n == 0 || nh->n > CW_FIB_HOPS_MAX)
		return false;
	for (size_t i = 0; i < nh->n; i++) {
		if (nh->members[i].weight < 1 || nh->members[i].weight > 256)
			return false;
		members[i].id = nh->members[i].id;
		members[i].weight = (uint8_t)(nh->members[i].weight - 1);
	}
	return cw_nl_put(nlh, size, NHA_GROUP, members, nh->n * sizeof(members[0]));
}

static bool put_hop(struct nlmsghdr *nlh, size_t size, const struct cw_fib_hop *hop)
{
	return hop->ifindex > 0 &&
	       (hop->gateway.family == CW_FAMILY_NONE ||
		       put_addr(nlh, size, NHA_GATEWAY, &hop->gateway)) &&
	       cw_nl_put_u32(nlh, size, NHA_OIF, (uint32_t)hop->ifindex);
}

static bool put_nexthop(struct nlmsghdr *nlh, size_t size, const struct cw_nl_nexthop *nh)
{
	switch (nh->kind) {
	case CW_NL_NEXTHOP_HOP:
		return put_hop(nlh, size, &nh->hop);
	case CW_NL_NEXTHOP_BLACKHOLE:
		return cw_nl_put(nlh, size, NHA_BLACKHOLE, NULL, 0);
	case CW_NL_NEXTHOP_GROUP:
		return put_members(nlh, size, nh);
	case CW_NL_NEXTHOP_OTHER:
		break;
	}
	return false;
}

size_t cw_nl_build_newnexthop(const struct cw_nl_nexthop *nh, bool replace, void *buf, size_t size)
{
	bool gateway = nh->kind == CW_NL_NEXTHOP_HOP && nh->hop.gateway.family != CW_FAMILY_NONE;
	struct nhmsg msg = {
		.nh_family = nh->kind == CW_NL_NEXTHOP_GROUP
				     ? AF_UNSPEC
				     : af_of(gateway ? nh->hop.gateway.family : nh->family),
		.nh_protocol = nh->protocol,
		.nh_flags = gateway && nh->hop.onlink ? RTNH_F_ONLINK : 0,
	};
	uint16_t flags = NLM_F_CREATE | (replace ? NLM_F_REPLACE : NLM_F_EXCL);
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_NEWNEXTHOP, flags, sizeof(msg));

	if (!nlh || nh->id == 0 || (nh->kind != CW_NL_NEXTHOP_GROUP && msg.nh_family == AF_UNSPEC))
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &msg, sizeof(msg));
	if (!cw_nl_put_u32(nlh, size, NHA_ID, nh->id) || !put_nexthop(nlh, size, nh))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_delnexthop(uint32_t id, void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_DELNEXTHOP, 0, sizeof(struct nhmsg));

	if (!nlh || id == 0 || !cw_nl_put_u32(nlh, size, NHA_ID, id))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_nexthop_dump(void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		cw_nl_begin(buf, size, RTM_GETNEXTHOP, NLM_F_DUMP, sizeof(struct nhmsg));

	return nlh ? nlh->nlmsg_len : 0;
}

static void get_members(const struct nlattr *attr, struct cw_nl_nexthop *nh)
{
	size_t n = cw_nl_attr_len(attr) / sizeof(struct nexthop_grp);
	const char *data = cw_nl_attr_data(attr, 0);
	struct nexthop_grp member;

	nh->kind = n && n <= CW_FIB_HOPS_MAX ? CW_NL_NEXTHOP_GROUP : CW_NL_NEXTHOP_OTHER;
	for (size_t i = 0; nh->kind == CW_NL_NEXTHOP_GROUP && i < n; i++) {
		memcpy(&member, data + i * sizeof(member), sizeof(member));
		/* The upper byte of weights is younger than groups; it is in resvd1 and was 0. */
		if (member.resvd1)
			nh->kind = CW_NL_NEXTHOP_OTHER;
		nh->members[nh->n++] = (struct cw_nl_member){
			.id = member.id,
			.weight = (uint16_t)(member.weight + 1),
		};
	}
}

bool cw_nl_parse_nexthop(const void *msg, size_t len, struct cw_nl_nexthop *ret_nh)
{
	const struct nlattr *attrs[NHA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_nexthop nh = { 0 };
	struct nhmsg head;

	if (!cw_nl_head(msg, len, &head, sizeof(head)) ||
		(nlh->nlmsg_type != RTM_NEWNEXTHOP && nlh->nlmsg_type != RTM_DELNEXTHOP))
		return false;
	cw_nl_attrs(nlh, sizeof(head), attrs, NHA_MAX + 1);
	nh.id = cw_nl_attr_u32(attrs[NHA_ID], 0);
	if (nh.id == 0)
		return false;
	nh.protocol = head.nh_protocol;
	nh.family = family_of(head.nh_family);
	if (attrs[NHA_GROUP]) {
		get_members(attrs[NHA_GROUP], &nh);
	} else if (attrs[NHA_BLACKHOLE]) {
		nh.kind = CW_NL_NEXTHOP_BLACKHOLE;
	} else {
		nh.hop.ifindex = (int)cw_nl_attr_u32(attrs[NHA_OIF], 0);
		nh.hop.gateway = get_addr(attrs[NHA_GATEWAY]);
		nh.hop.onlink = head.nh_flags & RTNH_F_ONLINK;
		nh.kind = nh.hop.ifindex > 0 && !attrs[NHA_ENCAP] && !attrs[NHA_FDB]
				  ? CW_NL_NEXTHOP_HOP
				  : CW_NL_NEXTHOP_OTHER;
	}
	*ret_nh = nh;
	return true;
}

/* ---- routes ---- */

/* RTA_GATEWAY, or RTA_VIA where its family is not the route's. */
static bool put_gateway(
	struct nlmsghdr *nlh, size_t size, uint8_t family, const struct cw_addr *gateway)
{
	uint8_t via[sizeof(struct rtvia) + sizeof(gateway->bytes)];
	size_t len = cw_family_bits(gateway->family) / 8;
	struct rtvia head = { .rtvia_family = af_of(gateway->family) };

	if (gateway->family == CW_FAMILY_NONE)
		return true;
	if (gateway->family == family)
		return put_addr(nlh, size, RTA_GATEWAY, gateway);
	memcpy(via, &head, sizeof(head));
	memcpy(via + sizeof(head), gateway->bytes, len);
	return cw_nl_put(nlh, size, RTA_VIA, via, sizeof(head) + len);
}

static bool put_ways(struct nlmsghdr *nlh, size_t size, const struct cw_nl_learned *route)
{
	struct nlattr *all = cw_nl_nest(nlh, size, RTA_MULTIPATH);

	for (size_t i = 0; all && i < route->n; i++) {
		const struct cw_fib_hop *hop = &route->hops[i];
		struct rtnexthop way = {
			.rtnh_flags = hop->onlink && hop->gateway.family ? RTNH_F_ONLINK : 0,
			.rtnh_hops = (uint8_t)(weight_of(hop) - 1),
			.rtnh_ifindex = hop->ifindex,
		};
		size_t at = nlh->nlmsg_len;

		if (hop->ifindex <= 0 || size - at < sizeof(way))
			return false;
		nlh->nlmsg_len += (uint32_t)sizeof(way);
		if (!put_gateway(nlh, size, route->dst.addr.family, &hop->gateway))
			return false;
		way.rtnh_len = (uint16_t)(nlh->nlmsg_len - at);
		memcpy((char *)nlh + at, &way, sizeof(way));
	}
	if (!all)
		return false;
	cw_nl_nest_end(nlh, all);
	return true;
}

/* The way in two parts, around what else a route has: iproute2's order, so that bytes compare. */
static bool put_first_part(struct nlmsghdr *nlh, size_t size, const struct cw_nl_learned *route)
{
	if (route->nexthop)
		return cw_nl_put_u32(nlh, size, RTA_NH_ID, route->nexthop);
	return route->n != 1 ||
	       put_gateway(nlh, size, route->dst.addr.family, &route->hops->gateway);
}

static bool put_last_part(struct nlmsghdr *nlh, size_t size, const struct cw_nl_learned *route)
{
	if (route->nexthop || route->n == 0)
		return true;
	if (route->n > 1)
		return put_ways(nlh, size, route);
	return route->hops->ifindex > 0 &&
	       cw_nl_put_u32(nlh, size, RTA_OIF, (uint32_t)route->hops->ifindex);
}

/* IPv4: what is on a device without a gateway has link scope. */
static uint8_t scope_of(const struct cw_nl_learned *route)
{
	if (route->dst.addr.family != CW_FAMILY_IPV4 || route->nexthop || route->n == 0)
		return RT_SCOPE_UNIVERSE;
	for (size_t i = 0; i < route->n; i++)
		if (route->hops[i].gateway.family != CW_FAMILY_NONE)
			return RT_SCOPE_UNIVERSE;
	return RT_SCOPE_LINK;
}

static size_t build_learned(
	uint16_t type, uint16_t flags, const struct cw_nl_learned *route, void *buf, size_t size)
{
	bool drop = !route->nexthop && route->n == 0;
	struct rtmsg rtm = {
		.rtm_family = af_of(route->dst.addr.family),
		.rtm_dst_len = route->dst.len,
		.rtm_table = route->table < 256 ? (uint8_t)route->table : RT_TABLE_UNSPEC,
		.rtm_protocol = CW_LEARNED_PROTOCOL,
		.rtm_scope = type == RTM_DELROUTE ? RT_SCOPE_NOWHERE : scope_of(route),
		.rtm_type = drop ? RTN_BLACKHOLE : RTN_UNICAST,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, flags, sizeof(rtm));

	if (!nlh || rtm.rtm_family == AF_UNSPEC || route->n > CW_FIB_HOPS_MAX)
		return 0;
	if (!route->nexthop && route->n == 1 && route->hops->onlink &&
		route->hops->gateway.family != CW_FAMILY_NONE)
		rtm.rtm_flags = RTNH_F_ONLINK;
	memcpy(mnl_nlmsg_get_payload(nlh), &rtm, sizeof(rtm));
	if ((route->dst.len && !put_addr(nlh, size, RTA_DST, &route->dst.addr)) ||
		!put_first_part(nlh, size, route) ||
		(route->metric && !cw_nl_put_u32(nlh, size, RTA_PRIORITY, route->metric)) ||
		(route->table > 255 && !cw_nl_put_u32(nlh, size, RTA_TABLE, route->table)) ||
		!put_last_part(nlh, size, route))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_newlearned(
	const struct cw_nl_learned *route, enum cw_nl_learned_mode mode, void *buf, size_t size)
{
	uint16_t how = mode == CW_NL_LEARNED_ALONE ? NLM_F_EXCL : NLM_F_APPEND;

	return build_learned(RTM_NEWROUTE, NLM_F_CREATE | how, route, buf, size);
}

size_t cw_nl_build_dellearned(const struct cw_nl_learned *route, void *buf, size_t size)
{
	return build_learned(RTM_DELROUTE, 0, route, buf, size);
}

size_t cw_nl_build_learned_dump(enum cw_family family, void *buf, size_t size)
{
	struct rtmsg rtm = {
		.rtm_family = af_of((uint8_t)family),
		.rtm_protocol = CW_LEARNED_PROTOCOL,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, RTM_GETROUTE, NLM_F_DUMP, sizeof(rtm));

	if (!nlh || rtm.rtm_family == AF_UNSPEC)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &rtm, sizeof(rtm));
	return nlh->nlmsg_len;
}

static struct cw_addr get_gateway(const struct nlattr *const *attrs)
{
	struct cw_addr addr = get_addr(attrs[RTA_GATEWAY]);
	size_t len = cw_nl_attr_len(attrs[RTA_VIA]);
	const uint8_t *via = cw_nl_attr_data(attrs[RTA_VIA], sizeof(struct rtvia));

	if (addr.family == CW_FAMILY_NONE && via && len >= sizeof(struct rtvia) + 16) {
		addr.family = CW_FAMILY_IPV6;
		memcpy(addr.bytes, via + sizeof(struct rtvia), 16);
	}
	return addr;
}

/* False where they don't fit. The attributes of each way follow its struct rtnexthop. */
static bool get_ways(const struct nlattr *attr, struct cw_nl_learned *route,
	struct cw_fib_hop hops[static CW_FIB_HOPS_MAX])
{
	const char *at = cw_nl_attr_data(attr, 0);
	size_t left = cw_nl_attr_len(attr);
	_Alignas(4) char one[UINT8_MAX];

	while (left >= sizeof(struct rtnexthop)) {
		const struct nlattr *attrs[RTA_MAX + 1];
		struct nlattr *nest = (struct nlattr *)one;
		struct rtnexthop way;
		size_t len, step;

		memcpy(&way, at, sizeof(way));
		len = way.rtnh_len;
		if (len < sizeof(way) || len > left || route->n == CW_FIB_HOPS_MAX ||
			len - sizeof(way) + sizeof(*nest) > sizeof(one))
			return false;
		nest->nla_len = (uint16_t)(len - sizeof(way) + sizeof(*nest));
		nest->nla_type = 0;
		memcpy(one + sizeof(*nest), at + sizeof(way), len - sizeof(way));
		cw_nl_attrs_nested(nest, attrs, RTA_MAX + 1);
		hops[route->n++] = (struct cw_fib_hop){
			.ifindex = way.rtnh_ifindex,
			.gateway = get_gateway(attrs),
			.onlink = way.rtnh_flags & RTNH_F_ONLINK,
			.weight = (uint16_t)(way.rtnh_hops + 1),
		};
		step = MNL_ALIGN(len);
		if (step >= left)
			break;
		at += step;
		left -= step;
	}
	return true;
}

bool cw_nl_parse_learned(const void *msg, size_t len, struct cw_nl_learned *ret_route,
	struct cw_fib_hop hops[static CW_FIB_HOPS_MAX], uint8_t *ret_protocol)
{
	const struct nlattr *attrs[RTA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_learned route = { .hops = hops };
	struct rtmsg rtm;

	if (!cw_nl_head(msg, len, &rtm, sizeof(rtm)) ||
		(nlh->nlmsg_type != RTM_NEWROUTE && nlh->nlmsg_type != RTM_DELROUTE) ||
		(rtm.rtm_flags & RTM_F_CLONED))
		return false;
	route.dst.addr.family = family_of(rtm.rtm_family);
	route.dst.len = rtm.rtm_dst_len;
	if (route.dst.addr.family == CW_FAMILY_NONE ||
		route.dst.len > cw_family_bits(route.dst.addr.family))
		return false;
	cw_nl_attrs(nlh, sizeof(rtm), attrs, RTA_MAX + 1);
	if (route.dst.len) {
		struct cw_addr dst = get_addr(attrs[RTA_DST]);

		if (dst.family != route.dst.addr.family)
			return false;
		route.dst.addr = dst;
		route.dst = cw_prefix_network(&route.dst);
	}
	route.table = cw_nl_attr_u32(attrs[RTA_TABLE], rtm.rtm_table);
	route.metric = cw_nl_attr_u32(attrs[RTA_PRIORITY], 0);
	route.nexthop = cw_nl_attr_u32(attrs[RTA_NH_ID], 0);
	if (!route.nexthop && rtm.rtm_type == RTN_UNICAST) {
		if (attrs[RTA_MULTIPATH] && !get_ways(attrs[RTA_MULTIPATH], &route, hops))
			return false;
		if (!attrs[RTA_MULTIPATH]) {
			hops[0] = (struct cw_fib_hop){
				.ifindex = (int)cw_nl_attr_u32(attrs[RTA_OIF], 0),
				.gateway = get_gateway(attrs),
				.onlink = rtm.rtm_flags & RTNH_F_ONLINK,
				.weight = 1,
			};
			route.n = 1;
		}
	}
	*ret_route = route;
	*ret_protocol = rtm.rtm_protocol;
	return true;
}
