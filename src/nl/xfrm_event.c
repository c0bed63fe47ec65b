/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/xfrm_msg.h"

#include <arpa/inet.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "nl/nl_buf.h"
#include "nl/xfrm_wire.h"

static bool parse_acquire(
	const struct nlmsghdr *nlh, size_t len, struct cw_kernel_event *ev, uint32_t *if_id)
{
	const struct nlattr *attrs[XFRMA_MAX + 1];
	struct xfrm_user_acquire acquire;
	struct xfrm_user_tmpl tmpl;
	const void *data;

	if (!cw_nl_head(nlh, len, &acquire, sizeof(acquire)))
		return false;
	cw_nl_attrs(nlh, sizeof(acquire), attrs, XFRMA_MAX + 1);
	data = cw_nl_attr_data(attrs[XFRMA_TMPL], sizeof(tmpl));
	/* The message has no family for its addresses but the template's. */
	if (!data || !cw_xfrm_get_selector(&acquire.sel, &ev->sel))
		return false;
	memcpy(&tmpl, data, sizeof(tmpl));
	ev->kind = CW_KEV_ACQUIRE;
	ev->reqid = tmpl.reqid;
	ev->spi = ntohl(acquire.id.spi);
	ev->proto = acquire.id.proto;
	ev->src = cw_xfrm_get_addr(&acquire.saddr, tmpl.family);
	ev->dst = cw_xfrm_get_addr(&acquire.id.daddr, tmpl.family);
	*if_id = cw_nl_attr_u32(attrs[XFRMA_IF_ID], 0);
	return true;
}

static bool parse_expire(
	const struct nlmsghdr *nlh, size_t len, struct cw_kernel_event *ev, uint32_t *if_id)
{
	const struct nlattr *attrs[XFRMA_MAX + 1];
	struct xfrm_user_expire expire;

	if (!cw_nl_head(nlh, len, &expire, sizeof(expire)))
		return false;
	cw_nl_attrs(nlh, sizeof(expire), attrs, XFRMA_MAX + 1);
	ev->kind = CW_KEV_EXPIRE;
	ev->reqid = expire.state.reqid;
	ev->spi = ntohl(expire.state.id.spi);
	ev->proto = expire.state.id.proto;
	ev->src = cw_xfrm_get_addr(&expire.state.saddr, expire.state.family);
	ev->dst = cw_xfrm_get_addr(&expire.state.id.daddr, expire.state.family);
	ev->hard = expire.hard;
	*if_id = cw_nl_attr_u32(attrs[XFRMA_IF_ID], 0);
	return true;
}

static bool parse_mapping(
	const struct nlmsghdr *nlh, size_t len, struct cw_kernel_event *ev, uint32_t *if_id)
{
	struct xfrm_user_mapping mapping;

	if (!cw_nl_head(nlh, len, &mapping, sizeof(mapping)))
		return false;
	ev->kind = CW_KEV_MAPPING;
	ev->reqid = mapping.reqid;
	ev->spi = ntohl(mapping.id.spi);
	ev->proto = mapping.id.proto;
	ev->src = cw_xfrm_get_addr(&mapping.old_saddr, mapping.id.family);
	ev->dst = cw_xfrm_get_addr(&mapping.id.daddr, mapping.id.family);
	ev->new_addr = cw_xfrm_get_addr(&mapping.new_saddr, mapping.id.family);
	ev->new_port = ntohs(mapping.new_sport);
	*if_id = 0;
	return true;
}

bool cw_xfrm_parse_event(
	const void *msg, size_t len, struct cw_kernel_event *ret_ev, uint32_t *ret_if_id)
{
	struct cw_kernel_event ev = { 0 };
	const struct nlmsghdr *nlh = msg;
	uint32_t if_id = 0;
	bool ok = false;

	if (!cw_nl_whole(msg, len, 0))
		return false;
	switch (nlh->nlmsg_type) {
	case XFRM_MSG_ACQUIRE:
		ok = parse_acquire(nlh, len, &ev, &if_id);
		break;
	case XFRM_MSG_EXPIRE:
		ok = parse_expire(nlh, len, &ev, &if_id);
		break;
	case XFRM_MSG_MAPPING:
		ok = parse_mapping(nlh, len, &ev, &if_id);
		break;
	}
	if (!ok)
		return false;
	*ret_ev = ev;
	*ret_if_id = if_id;
	return true;
}
