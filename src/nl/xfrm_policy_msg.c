/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/xfrm_msg.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "nl/nl_buf.h"
#include "nl/xfrm_wire.h"

/* A policy that passes or drops has no template and so no reqid to know it by. Its packet limit
 * stands in: the kernel keeps it and shows it, and never counts packets of a policy. "cw", then the
 * reqid. */
#define TAG_HIGH 0x63770000ull

_Static_assert((int)CW_DIR_IN == XFRM_POLICY_IN && (int)CW_DIR_OUT == XFRM_POLICY_OUT &&
		       (int)CW_DIR_FWD == XFRM_POLICY_FWD,
	"directions have the kernel's numbers");

static uint64_t tag_of(uint32_t reqid)
{
	return TAG_HIGH << 32 | reqid;
}

bool cw_xfrm_policy_ours(const struct cw_xfrm_pol *pol)
{
	return !pol->socket &&
	       (cw_xfrm_id_ours(pol->policy.if_id) || cw_xfrm_id_ours(pol->policy.mark) ||
		       cw_xfrm_reqid_ours(pol->policy.reqid) || pol->tagged);
}

static bool put_template(struct nlmsghdr *nlh, size_t size, const struct cw_policy *policy)
{
	struct xfrm_user_tmpl tmpl = {
		.id = { .spi = htonl(policy->tmpl_spi), .proto = IPPROTO_ESP },
		.family = cw_xfrm_af(policy->tmpl_src.family),
		.reqid = policy->reqid,
		.mode = policy->tunnel_mode ? XFRM_MODE_TUNNEL : XFRM_MODE_TRANSPORT,
		/* Any algorithm: the SA was negotiated, the kernel need not choose. */
		.aalgos = UINT32_MAX,
		.ealgos = UINT32_MAX,
		.calgos = UINT32_MAX,
	};

	if (tmpl.family == AF_UNSPEC || policy->tmpl_src.family != policy->tmpl_dst.family)
		return false;
	cw_xfrm_put_addr(&policy->tmpl_src, &tmpl.saddr);
	cw_xfrm_put_addr(&policy->tmpl_dst, &tmpl.id.daddr);
	return cw_nl_put(nlh, size, XFRMA_TMPL, &tmpl, sizeof(tmpl));
}

static bool put_ids(struct nlmsghdr *nlh, size_t size, const struct cw_policy *policy)
{
	return cw_xfrm_put_mark(nlh, size, policy->mark, policy->mark_mask) &&
	       (!policy->if_id || cw_nl_put_u32(nlh, size, XFRMA_IF_ID, policy->if_id));
}

size_t cw_xfrm_build_policy(const struct cw_policy *policy, bool update, void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		cw_nl_begin(buf, size, update ? XFRM_MSG_UPDPOLICY : XFRM_MSG_NEWPOLICY, 0,
			sizeof(struct xfrm_userpolicy_info));
	bool protect = policy->action == CW_POLICY_PROTECT;
	struct xfrm_userpolicy_info info = {
		.lft = { .soft_byte_limit = XFRM_INF,
			.hard_byte_limit = XFRM_INF,
			.soft_packet_limit = XFRM_INF,
			.hard_packet_limit = protect ? XFRM_INF : tag_of(policy->reqid) },
		.priority = policy->priority,
		.dir = (uint8_t)policy->dir,
		.action = policy->action == CW_POLICY_DROP ? XFRM_POLICY_BLOCK : XFRM_POLICY_ALLOW,
	};

	if (!nlh || !cw_xfrm_put_selector(&policy->sel, &info.sel))
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &info, sizeof(info));
	if ((protect && !put_template(nlh, size, policy)) || !put_ids(nlh, size, policy))
		return 0;
	return nlh->nlmsg_len;
}

static size_t build_policy_id(uint16_t type, const struct cw_policy *policy, void *buf, size_t size)
{
	struct xfrm_userpolicy_id id = { .dir = (uint8_t)policy->dir };
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, 0, sizeof(id));

	if (!nlh || !cw_xfrm_put_selector(&policy->sel, &id.sel))
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), &id, sizeof(id));
	if (!put_ids(nlh, size, policy))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_xfrm_build_delpolicy(const struct cw_policy *policy, void *buf, size_t size)
{
	return build_policy_id(XFRM_MSG_DELPOLICY, policy, buf, size);
}

size_t cw_xfrm_build_getpolicy(const struct cw_policy *policy, void *buf, size_t size)
{
	return build_policy_id(XFRM_MSG_GETPOLICY, policy, buf, size);
}

size_t cw_xfrm_build_policy_dump(void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, XFRM_MSG_GETPOLICY, NLM_F_DUMP, 0);

	return nlh ? nlh->nlmsg_len : 0;
}

bool cw_xfrm_parse_policy(const void *msg, size_t len, struct cw_xfrm_pol *ret_pol)
{
	const struct nlattr *attrs[XFRMA_MAX + 1];
	const struct nlmsghdr *nlh = msg;
	struct xfrm_userpolicy_info info;
	struct cw_xfrm_pol pol = { 0 };
	struct xfrm_user_tmpl tmpl;
	const void *data;

	if (!cw_nl_head(msg, len, &info, sizeof(info)) ||
		(nlh->nlmsg_type != XFRM_MSG_NEWPOLICY && nlh->nlmsg_type != XFRM_MSG_UPDPOLICY) ||
		!cw_xfrm_get_selector(&info.sel, &pol.policy.sel))
		return false;
	cw_nl_attrs(nlh, sizeof(info), attrs, XFRMA_MAX + 1);

	pol.socket = info.dir >= XFRM_POLICY_MAX;
	pol.policy.dir = (enum cw_dir)(info.dir % XFRM_POLICY_MAX);
	pol.policy.priority = info.priority;
	pol.policy.if_id = cw_nl_attr_u32(attrs[XFRMA_IF_ID], 0);
	cw_xfrm_get_mark(attrs[XFRMA_MARK], &pol.policy.mark, &pol.policy.mark_mask);
	pol.policy.action = info.action == XFRM_POLICY_BLOCK ? CW_POLICY_DROP : CW_POLICY_PASS;
	pol.last_use_s = info.curlft.use_time;
	data = cw_nl_attr_data(attrs[XFRMA_TMPL], sizeof(tmpl));
	if (data) {
		memcpy(&tmpl, data, sizeof(tmpl));
		if (pol.policy.action == CW_POLICY_PASS)
			pol.policy.action = CW_POLICY_PROTECT;
		pol.policy.tmpl_src = cw_xfrm_get_addr(&tmpl.saddr, tmpl.family);
		pol.policy.tmpl_dst = cw_xfrm_get_addr(&tmpl.id.daddr, tmpl.family);
		pol.policy.tmpl_spi = ntohl(tmpl.id.spi);
		pol.policy.reqid = tmpl.reqid;
		pol.policy.tunnel_mode = tmpl.mode == XFRM_MODE_TUNNEL;
	} else if (info.lft.hard_packet_limit >> 32 == TAG_HIGH) {
		pol.tagged = true;
		pol.policy.reqid = (uint32_t)info.lft.hard_packet_limit;
	}
	*ret_pol = pol;
	return true;
}
