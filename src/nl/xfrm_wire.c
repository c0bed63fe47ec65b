/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/xfrm_wire.h"

#include <arpa/inet.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "nl/nl_buf.h"
#include "nl/xfrm_msg.h"

bool cw_xfrm_id_ours(uint32_t if_id)
{
	return if_id - CW_IF_ID_BASE < CW_IF_ID_SPAN;
}

bool cw_xfrm_reqid_ours(uint32_t reqid)
{
	return reqid - CW_REQID_BASE < CW_REQID_SPAN;
}

uint16_t cw_xfrm_af(uint8_t family)
{
	switch (family) {
	case CW_FAMILY_IPV4:
		return AF_INET;
	case CW_FAMILY_IPV6:
		return AF_INET6;
	default:
		return AF_UNSPEC;
	}
}

void cw_xfrm_put_addr(const struct cw_addr *addr, xfrm_address_t *ret)
{
	_Static_assert(sizeof(*ret) == sizeof(addr->bytes), "an xfrm address is 16 bytes");
	memcpy(ret, addr->bytes, sizeof(*ret));
}

struct cw_addr cw_xfrm_get_addr(const xfrm_address_t *addr, uint16_t af)
{
	struct cw_addr ret = { 0 };

	if (af == AF_INET) {
		ret.family = CW_FAMILY_IPV4;
		memcpy(ret.bytes, addr, 4);
	} else if (af == AF_INET6) {
		ret.family = CW_FAMILY_IPV6;
		memcpy(ret.bytes, addr, 16);
	}
	return ret;
}

bool cw_xfrm_put_selector(const struct cw_selector *sel, struct xfrm_selector *ret)
{
	unsigned bits = cw_family_bits(sel->src.addr.family);

	if (bits == 0 || sel->src.addr.family != sel->dst.addr.family || sel->src.len > bits ||
		sel->dst.len > bits)
		return false;
	*ret = (struct xfrm_selector){
		.family = cw_xfrm_af(sel->src.addr.family),
		.prefixlen_s = sel->src.len,
		.prefixlen_d = sel->dst.len,
		.proto = sel->proto,
		.sport = htons(sel->sport),
		.sport_mask = htons(sel->sport_mask),
		.dport = htons(sel->dport),
		.dport_mask = htons(sel->dport_mask),
	};
	cw_xfrm_put_addr(&sel->src.addr, &ret->saddr);
	cw_xfrm_put_addr(&sel->dst.addr, &ret->daddr);
	return true;
}

bool cw_xfrm_get_selector(const struct xfrm_selector *sel, struct cw_selector *ret)
{
	*ret = (struct cw_selector){
		.src = { cw_xfrm_get_addr(&sel->saddr, sel->family), sel->prefixlen_s },
		.dst = { cw_xfrm_get_addr(&sel->daddr, sel->family), sel->prefixlen_d },
		.proto = sel->proto,
		.sport = ntohs(sel->sport),
		.sport_mask = ntohs(sel->sport_mask),
		.dport = ntohs(sel->dport),
		.dport_mask = ntohs(sel->dport_mask),
	};
	return ret->src.len <= cw_family_bits(ret->src.addr.family) &&
	       ret->dst.len <= cw_family_bits(ret->dst.addr.family);
}

bool cw_xfrm_put_mark(struct nlmsghdr *nlh, size_t size, uint32_t mark, uint32_t mask)
{
	struct xfrm_mark m = { .v = mark, .m = mask };

	return (mark == 0 && mask == 0) || cw_nl_put(nlh, size, XFRMA_MARK, &m, sizeof(m));
}

void cw_xfrm_get_mark(const struct nlattr *attr, uint32_t *ret_mark, uint32_t *ret_mask)
{
	const void *data = cw_nl_attr_data(attr, sizeof(struct xfrm_mark));
	struct xfrm_mark m = { 0 };

	if (data)
		memcpy(&m, data, sizeof(m));
	*ret_mark = m.v;
	*ret_mask = m.m;
}
