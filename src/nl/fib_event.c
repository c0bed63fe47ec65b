/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells of routes and nexthops that others, or it itself, took away.
 *
 * The half million routes that we set ourselves are told too, to every socket of the group; a
 * filter in the kernel keeps them out of ours. When a nexthop goes with its device the kernel says
 * nothing of it: so each device that changes has the nexthops read again, which are few.
 */
#include "nl/fib_priv.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#define EVENTS_A_CALL 256
#define LOOPBACK 1 /* what drops is on it, and its number is the same everywhere */

#define LOAD_TYPE BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type))
#define LOAD_FLAGS BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_flags))
#define LOAD_PID BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_pid))
#define LOAD_RTM(field)                                                                            \
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct rtmsg, field))
#define LOAD_NHM(field)                                                                            \
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct nhmsg, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define IF_BITS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (value), (yes), (no))
#define HEAR BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)
#define PASS_OVER BPF_STMT(BPF_RET | BPF_K, 0)

/* Heard: links; nexthops of our protocol that are not our doing; the end of a route of ours by
 * another process (the kernel itself takes those whose device or nexthop went, and that is heard of
 * otherwise); a route of our table put in the place of another by somebody else. BPF reads in
 * network order. Where a kernel takes no filter we hear them all, and judge again. */
static void hear_few(const struct cw_fib *fib)
{
	uint32_t us = htonl(cw_nl_portid(fib->sock));
	uint8_t table = (uint8_t)(fib->conf.table < 256 ? fib->conf.table : RT_TABLE_COMPAT);
	struct sock_filter ops[] = {
		LOAD_TYPE,
		IF_EQUAL(htons(RTM_DELROUTE), 5, 0),
		IF_EQUAL(htons(RTM_NEWROUTE), 9, 0),
		IF_EQUAL(htons(RTM_NEWNEXTHOP), 15, 0),
		IF_EQUAL(htons(RTM_DELNEXTHOP), 14, 0),
		HEAR,
		PASS_OVER,
		/* 7: DELROUTE */
		LOAD_RTM(rtm_protocol),
		IF_EQUAL(CW_LEARNED_PROTOCOL, 0, 9),
		LOAD_PID,
		IF_EQUAL(0, 7, 0),
		IF_EQUAL(us, 6, 11),
		/* 12: NEWROUTE */
		LOAD_FLAGS,
		IF_BITS(htons(NLM_F_REPLACE), 0, 4),
		LOAD_RTM(rtm_protocol),
		IF_EQUAL(CW_LEARNED_PROTOCOL, 2, 0),
		LOAD_RTM(rtm_table),
		IF_EQUAL(table, 5, 0),
		PASS_OVER,
		/* 19: nexthops */
		LOAD_NHM(nh_protocol),
		IF_EQUAL(CW_LEARNED_PROTOCOL, 0, 3),
		LOAD_PID,
		IF_EQUAL(us, 1, 0),
		HEAR,
		PASS_OVER,
	};
	struct sock_fprog prog = { .len = MNL_ARRAY_SIZE(ops), .filter = ops };

	(void)setsockopt(cw_nl_fd(fib->events), SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

enum cw_rc cw_fib_events_open(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	static const unsigned groups[] = {
		RTNLGRP_LINK,
		RTNLGRP_IPV4_ROUTE,
		RTNLGRP_IPV6_ROUTE,
	};
	enum cw_rc rc = cw_nl_open(NETLINK_ROUTE, &fib->events, reterr);

	if (rc == CW_OK)
		hear_few(fib);
	for (size_t i = 0; rc == CW_OK && i < MNL_ARRAY_SIZE(groups); i++)
		rc = cw_nl_join(fib->events, groups[i], reterr);
	if (rc == CW_OK && fib->groups_work)
		rc = cw_nl_join(fib->events, RTNLGRP_NEXTHOP, reterr);
	return rc;
}

int cw_fib_fd(const struct cw_fib *fib)
{
	return cw_nl_fd(fib->events);
}

struct reader {
	struct cw_fib *fib;
	void (*fn)(const struct cw_fib_event *ev, void *arg);
	void *arg;
};

/* Is it a device that a hop of ours is on? */
static bool device_matters(const struct cw_fib *fib, int ifindex)
{
	if (fib->groups_work) {
		for (unsigned i = 1; i < FIB_HOPS; i++)
			if (fib->hops[i].used &&
				(fib->hops[i].hop.ifindex == ifindex ||
					(fib->hops[i].blackhole && ifindex == LOOPBACK)))
				return true;
		return false;
	}
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++)
		for (size_t j = 0; fib->groups[i] && j < fib->groups[i]->n_want; j++)
			if (fib->groups[i]->want[j].ifindex == ifindex)
				return true;
	return false;
}

static void on_link(struct cw_fib *fib, const struct nlmsghdr *nlh)
{
	struct ifinfomsg ifi;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(ifi))
		return;
	memcpy(&ifi, mnl_nlmsg_get_payload(nlh), sizeof(ifi));
	if (!device_matters(fib, ifi.ifi_index))
		return;
	fib->check_hops = true;
	if (!fib->groups_work)
		fib->routes_lost = true;
}

static void on_route(const struct reader *r, const struct nlmsghdr *nlh)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_fib_event ev = { .kind = CW_FIB_EV_TAKEN };
	bool del = nlh->nlmsg_type == RTM_DELROUTE;
	struct cw_nl_learned route;
	struct cw_fib_mark *mark;
	uint8_t protocol;

	if (nlh->nlmsg_pid == cw_nl_portid(r->fib->sock) || (del && nlh->nlmsg_pid == 0) ||
		!cw_nl_parse_learned(nlh, nlh->nlmsg_len, &route, hops, &protocol) ||
		route.table != r->fib->conf.table || route.metric != r->fib->conf.metric)
		return;
	if (del != (protocol == CW_LEARNED_PROTOCOL) ||
		(!del && !(nlh->nlmsg_flags & NLM_F_REPLACE)))
		return;
	mark = cw_fib_table_find(fib_table(r->fib, route.dst.addr.family), &route.dst);
	if (!mark || mark->flags & (CW_FIB_FAILED | CW_FIB_DEAD))
		return;
	ev.group = fib_group_id(mark->group);
	if (del && r->fib->groups_work && route.nexthop != ev.group)
		return;
	/* What waits may be about it. */
	cw_fib_send(r->fib);
	cw_fib_set_flag(r->fib, mark, CW_FIB_FAILED, true);
	ev.prefix = route.dst;
	r->fn(&ev, r->arg);
}

static void on_message(const struct nlmsghdr *nlh, void *arg)
{
	const struct reader *r = arg;
	struct cw_nl_nexthop nh;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		on_link(r->fib, nlh);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		on_route(r, nlh);
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		if (nlh->nlmsg_pid != cw_nl_portid(r->fib->sock) &&
			cw_nl_parse_nexthop(nlh, nlh->nlmsg_len, &nh) && cw_nl_nexthop_ours(&nh))
			r->fib->check_hops = true;
		break;
	default:
		break;
	}
}

/* Tells of groups that moved by themselves. */
static void tell_groups(const struct reader *r)
{
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		struct cw_fib_event ev = { .kind = CW_FIB_EV_HOPS, .group = fib_group_id(i) };

		if (!r->fib->groups[i] || !r->fib->groups[i]->moved)
			continue;
		r->fib->groups[i]->moved = false;
		r->fn(&ev, r->arg);
	}
}

void cw_fib_read(
	struct cw_fib *fib, void (*fn)(const struct cw_fib_event *ev, void *arg), void *arg)
{
	struct reader r = { .fib = fib, .fn = fn, .arg = arg };
	const struct cw_fib_event resync = { .kind = CW_FIB_EV_RESYNC };
	bool lost = cw_nl_events(fib->events, EVENTS_A_CALL, on_message, &r);

	/* A kernel that can't be read now is read when the caller has it all read. */
	if (fib->check_hops && cw_fib_nexthops_mend(fib, NULL) != CW_OK)
		lost = true;
	tell_groups(&r);
	if (lost || fib->routes_lost) {
		fib->routes_lost = false;
		fn(&resync, arg);
	}
}
