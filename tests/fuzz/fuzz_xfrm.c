/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is one netlink message of XFRM or of links, addresses and routes. Nothing is read behind
 * it. What is built from what was read fits its buffer, and is read as the same object.
 */
#include "fuzz.h"

#include <linux/netlink.h>

#include "nl/nl_buf.h"
#include "nl/route_msg.h"
#include "nl/xfrm_msg.h"

/* Builds into blocks of every size that could be too small by a little, too. */
static _Alignas(struct nlmsghdr) uint8_t out[CW_XFRM_MSG_MAX * 4];

static void try_sa(const void *msg, size_t len)
{
	struct cw_xfrm_move move = {
		.src = { .family = CW_FAMILY_IPV4, .bytes = { 192, 0, 2, 1 } },
		.dst = { .family = CW_FAMILY_IPV4, .bytes = { 203, 0, 113, 11 } },
		.encap = true, .sport = 4500, .dport = 4501, .skip = 1 << 20,
	};
	struct cw_xfrm_state state, again;
	size_t n;

	for (int update = 0; update < 2; update++) {
		n = cw_xfrm_build_moved(msg, len, &move, update, out, sizeof(out));
		must(n <= sizeof(out), "moved: %zu bytes", n);
		if (n) {
			must(n == ((struct nlmsghdr *)out)->nlmsg_len, "moved: length %zu", n);
			must(cw_xfrm_parse_sa(out, n, &again), "a moved SA can't be read");
		}
	}
	if (!cw_xfrm_parse_sa(msg, len, &state))
		return;
	cw_xfrm_state_ours(&state);
	cw_xfrm_build_claim(&state, 0xc0000000, 0xcfffffff, out, sizeof(out));
	cw_xfrm_build_delsa(&state.sa.key, out, sizeof(out));
	/* Keys have the lengths of the message, which need not fit an algorithm. */
	n = cw_xfrm_build_sa(&state.sa, false, state.sa.replay_window, out, CW_XFRM_MSG_MAX);
	must(n <= CW_XFRM_MSG_MAX, "SA: %zu bytes", n);
	if (!n)
		return;
	must(cw_xfrm_parse_sa(out, n, &again), "a built SA can't be read");
	must(again.sa.key.spi == state.sa.key.spi && again.sa.key.if_id == state.sa.key.if_id &&
	     again.sa.key.mark == state.sa.key.mark && again.sa.reqid == state.sa.reqid &&
	     again.sa.tunnel_mode == state.sa.tunnel_mode && again.sa.enc == state.sa.enc &&
	     again.sa.integ == state.sa.integ && again.sa.encap_dport == state.sa.encap_dport &&
	     again.sa.enc_key_len == state.sa.enc_key_len &&
	     again.sa.life.hard_s == state.sa.life.hard_s && again.sa.life.soft_bytes == state.sa.life.soft_bytes,
	     "SA %08x comes back as another", state.sa.key.spi);
	must(!state.sa.enc_key_len || memcmp(again.sa.enc_key, state.sa.enc_key, state.sa.enc_key_len) == 0,
	     "SA %08x has another key", state.sa.key.spi);
}

static void try_policy(const void *msg, size_t len)
{
	struct cw_xfrm_pol pol, again;
	size_t n;

	if (!cw_xfrm_parse_policy(msg, len, &pol))
		return;
	cw_xfrm_policy_ours(&pol);
	cw_xfrm_build_delpolicy(&pol.policy, out, sizeof(out));
	n = cw_xfrm_build_policy(&pol.policy, true, out, CW_XFRM_MSG_MAX);
	must(n <= CW_XFRM_MSG_MAX, "policy: %zu bytes", n);
	if (!n)
		return;
	must(cw_xfrm_parse_policy(out, n, &again), "a built policy can't be read");
	must(again.policy.dir == pol.policy.dir && again.policy.priority == pol.policy.priority &&
	     again.policy.reqid == pol.policy.reqid && again.policy.if_id == pol.policy.if_id &&
	     again.policy.sel.src.len == pol.policy.sel.src.len &&
	     cw_prefix_compare(&again.policy.sel.dst, &pol.policy.sel.dst) == 0,
	     "a policy comes back as another");
}

static void try_route(const void *msg, size_t len)
{
	struct cw_nl_route route, again;
	size_t n;

	if (!cw_nl_parse_route(msg, len, &route))
		return;
	must(cw_nl_route_compare(&route, &route) == 0, "a route is not itself");
	cw_nl_build_delroute(&route, out, sizeof(out));
	n = cw_nl_build_newroute(&route, CW_NL_ROUTE_REPLACE, out, CW_ROUTE_MSG_MAX);
	must(n <= CW_ROUTE_MSG_MAX, "route: %zu bytes", n);
	if (n) {
		must(cw_nl_parse_route(out, n, &again), "a built route can't be read");
		must(cw_nl_route_compare(&route, &again) == 0, "a route comes back as another");
	}
}

static void try_link(const void *msg, size_t len)
{
	static const struct cw_link want = { .ifname = "cw-a", .kind = CW_LINK_VTI, .id = 0x63770001, .mtu = 1400 };
	struct cw_nl_ifaddr addr, addr_again;
	struct cw_nl_link link;
	size_t n;

	if (cw_nl_parse_link(msg, len, &link)) {
		must(memchr(link.ifname, 0, sizeof(link.ifname)) && memchr(link.kind, 0, sizeof(link.kind)),
		     "a name without its end");
		cw_nl_link_ours(&link);
		cw_nl_link_fits(&link, &want);
		if (link.ifindex > 0)
			cw_nl_build_setvti(link.ifindex, &want, out, sizeof(out));
	}
	if (cw_nl_parse_addr(msg, len, &addr)) {
		n = cw_nl_build_newaddr(addr.ifindex, &addr.prefix, out, CW_ROUTE_MSG_MAX);
		must(!n || (cw_nl_parse_addr(out, n, &addr_again) && addr_again.ifindex == addr.ifindex &&
			    addr_again.prefix.len == addr.prefix.len &&
			    cw_addr_compare(&addr_again.prefix.addr, &addr.prefix.addr) == 0),
		     "an address comes back as another");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cw_kernel_event ev;
	uint32_t if_id;
	void *msg;

	if (size < sizeof(struct nlmsghdr))
		return 0;
	/* As long as the input, so that a byte read behind it is seen, and aligned as sockets' buffers. */
	msg = malloc(size);
	must(msg, "no memory");
	memcpy(msg, data, size);
	try_sa(msg, size);
	try_policy(msg, size);
	try_route(msg, size);
	try_link(msg, size);
	if (cw_xfrm_parse_event(msg, size, &ev, &if_id))
		must(ev.kind <= CW_KEV_RESYNC, "an event of no kind");
	free(msg);
	return 0;
}
