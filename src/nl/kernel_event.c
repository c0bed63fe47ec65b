/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#define EVENTS_A_CALL 256 /* datagrams of each socket before the loop gets its turn again */

static enum cw_rc watch(
	struct kernel_nl *k, const struct cw_nl_sock *sock, struct cw_kernel_err *reterr)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, cw_nl_fd(sock), &ev) < 0)
		return cw_kernel_nl_fail(reterr, cw_rc_from_errno(errno), errno, "epoll_ctl");
	return CW_OK;
}

/* Of routes only the end of one of ours is heard: a routing daemon beside us may change thousands in a
 * second. BPF reads in network order. Where a kernel takes no filter we hear them all. */
static void hear_few_routes(const struct cw_nl_sock *sock)
{
	struct sock_filter ops[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 2),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct rtmsg, rtm_protocol)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CW_ROUTE_PROTOCOL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { .len = MNL_ARRAY_SIZE(ops), .filter = ops };

	(void)setsockopt(cw_nl_fd(sock), SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

enum cw_rc cw_kernel_nl_events_open(struct kernel_nl *k, struct cw_kernel_err *reterr)
{
	static const unsigned groups[] = {
		XFRMNLGRP_ACQUIRE,
		XFRMNLGRP_EXPIRE,
		XFRMNLGRP_MAPPING,
		XFRMNLGRP_POLICY,
	};
	static const unsigned route_groups[] = {
		RTNLGRP_LINK,
		RTNLGRP_IPV4_IFADDR,
		RTNLGRP_IPV6_IFADDR,
		RTNLGRP_IPV4_ROUTE,
		RTNLGRP_IPV6_ROUTE,
	};
	enum cw_rc rc;

	k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (k->epoll_fd < 0)
		return cw_kernel_nl_fail(reterr, cw_rc_from_errno(errno), errno, "epoll_create1");
	rc = cw_nl_open(NETLINK_ROUTE, &k->route_events, reterr);
	if (rc == CW_OK)
		hear_few_routes(k->route_events);
	for (size_t i = 0; rc == CW_OK && i < sizeof(route_groups) / sizeof(route_groups[0]); i++)
		rc = cw_nl_join(k->route_events, route_groups[i], reterr);
	if (rc == CW_OK)
		rc = watch(k, k->route_events, reterr);
	if (rc != CW_OK || !k->xfrm)
		return rc;
	rc = cw_nl_open(NETLINK_XFRM, &k->xfrm_events, reterr);
	for (size_t i = 0; rc == CW_OK && i < sizeof(groups) / sizeof(groups[0]); i++) {
		rc = cw_nl_join(k->xfrm_events, groups[i], reterr);
		/* XFRM's groups need CAP_NET_ADMIN. Without it nothing can be made that would have
		 * events; probe() says so. */
		if (rc == CW_E_DENIED)
			return CW_OK;
	}
	return rc == CW_OK ? watch(k, k->xfrm_events, reterr) : rc;
}

int cw_kernel_nl_event_fd(struct cw_kernel *k)
{
	return kernel_nl(k)->epoll_fd;
}

struct reader {
	const struct kernel_nl *k;
	void (*fn)(const struct cw_kernel_event *ev, void *arg);
	void *arg;
};

static void on_xfrm(const struct nlmsghdr *nlh, void *arg)
{
	const struct reader *r = arg;
	struct cw_kernel_event ev = { .kind = CW_KEV_TAKEN };
	uint32_t if_id;

	if (nlh->nlmsg_type == XFRM_MSG_DELPOLICY || nlh->nlmsg_type == XFRM_MSG_FLUSHPOLICY) {
		if (nlh->nlmsg_pid != cw_nl_portid(r->k->xfrm))
			r->fn(&ev, r->arg);
		return;
	}
	if (cw_xfrm_parse_event(nlh, nlh->nlmsg_len, &ev, &if_id) &&
		(cw_xfrm_reqid_ours(ev.reqid) || cw_xfrm_id_ours(if_id)))
		r->fn(&ev, r->arg);
}

static bool name_like_ours(const char *ifname)
{
	return strncmp(ifname, "cw-", 3) == 0;
}

/* An address that went: with its last one an interface loses its routes (BL-058). */
static bool lost_address(const struct nlmsghdr *nlh, char ifname[IF_NAMESIZE])
{
	struct ifaddrmsg msg;

	if (nlh->nlmsg_type != RTM_DELADDR || mnl_nlmsg_get_payload_len(nlh) < sizeof(msg))
		return false;
	memcpy(&msg, mnl_nlmsg_get_payload(nlh), sizeof(msg));
	/* An interface that is gone has no name, and an event of its own. */
	return if_indextoname(msg.ifa_index, ifname) && name_like_ours(ifname);
}

static bool route_of_ours(const struct nlmsghdr *nlh)
{
	struct rtmsg msg;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(msg))
		return false;
	memcpy(&msg, mnl_nlmsg_get_payload(nlh), sizeof(msg));
	return msg.rtm_protocol == CW_ROUTE_PROTOCOL;
}

static void on_route(const struct nlmsghdr *nlh, void *arg)
{
	struct cw_kernel_event ev = { .kind = CW_KEV_LINK };
	char address_of[IF_NAMESIZE] = "";
	const struct reader *r = arg;
	struct cw_nl_link link;

	if (nlh->nlmsg_type == RTM_DELROUTE && route_of_ours(nlh) &&
		nlh->nlmsg_pid != cw_nl_portid(r->k->route)) {
		ev.kind = CW_KEV_TAKEN;
		r->fn(&ev, r->arg);
		return;
	}
	/* A foreign one with a name of ours counts: once it has gone, ours can be made. */
	if (cw_nl_parse_link(nlh, nlh->nlmsg_len, &link) &&
		(cw_nl_link_ours(&link) || name_like_ours(link.ifname)))
		snprintf(ev.ifname, sizeof(ev.ifname), "%s", link.ifname);
	else if (lost_address(nlh, address_of))
		snprintf(ev.ifname, sizeof(ev.ifname), "%s", address_of);
	else
		return;
	r->fn(&ev, r->arg);
}

void cw_kernel_nl_events_read(
	struct cw_kernel *base, void (*fn)(const struct cw_kernel_event *ev, void *arg), void *arg)
{
	struct kernel_nl *k = kernel_nl(base);
	struct reader r = { .k = k, .fn = fn, .arg = arg };
	bool lost;

	lost = cw_nl_events(k->route_events, EVENTS_A_CALL, on_route, &r);
	if (k->xfrm_events && cw_nl_events(k->xfrm_events, EVENTS_A_CALL, on_xfrm, &r))
		lost = true;
	if (lost)
		fn(&(struct cw_kernel_event){ .kind = CW_KEV_RESYNC }, arg);
}
