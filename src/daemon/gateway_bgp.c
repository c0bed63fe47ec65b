/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway's side of BGP: which tunnels have a neighbour, when the way to it is there, and what its
 * session needs of the kernel: an address of ours and a host route.
 */
#include "daemon/gateway_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/speaker.h"
#include "io/device.h"

static bool has_neighbour(const struct slot *s)
{
	return s->conf->bgp.peer.family != CW_FAMILY_NONE && !s->unusable && cw_gateway_has_link(s);
}

static bool is_ours(const struct cw_gateway *gw)
{
	return gw->parts.conf->gateway.bgp == CW_BGP_BY_US;
}

bool cw_gateway_bgp_addr(const struct slot *s, struct cw_prefix *ret_addr)
{
	const struct cw_addr *local = &s->conf->bgp.local;

	if (!has_neighbour(s) || !s->bgp_needs_addr)
		return false;
	*ret_addr = (struct cw_prefix){ .addr = *local,
					.len = (uint8_t)cw_family_bits((enum cw_family)local->family) };
	return true;
}

bool cw_gateway_bgp_host(const struct slot *s, struct cw_prefix *ret_host)
{
	const struct cw_addr *peer = &s->conf->bgp.peer;

	if (!has_neighbour(s))
		return false;
	*ret_host = (struct cw_prefix){ .addr = *peer,
					.len = (uint8_t)cw_family_bits((enum cw_family)peer->family) };
	return true;
}

void cw_gateway_bgp_place(struct cw_gateway *gw)
{
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];
		const struct cw_addr *local = &s->conf->bgp.local;

		/* On an interface of somebody's it is as good as on ours; on ours, of an earlier run, it stays. */
		s->bgp_needs_addr = has_neighbour(s) &&
				    !cw_addr_equal(local, &s->conf->inside_addr.addr) &&
				    !cw_device_has(local, "cw-");
	}
}

enum cw_rc cw_gateway_bgp_new(struct cw_gateway *gw, uint64_t seed, char *reterr, size_t size)
{
	struct cw_speaker_tunnel *tunnels = calloc(gw->n_slots + 1, sizeof(*tunnels));
	struct cw_speaker_parts parts = {
		.conf = gw->parts.conf,
		.loop = gw->parts.loop,
		.tunnels = tunnels,
		.port = CW_BGP_PORT,
		.seed = seed,
	};
	enum cw_rc rc = CW_OK;

	if (!tunnels)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];

		if (!has_neighbour(s) || !is_ours(gw))
			continue;
		s->neighbour = parts.n_tunnels + 1;
		tunnels[parts.n_tunnels++] = (struct cw_speaker_tunnel){
			.conf = s->conf,
			.ifname = s->conf->ifname,
			/* The first tunnel is preferred, unless all shall carry. */
			.cost = s->conf->metric + (s->conf->site->balance ? 0 : s->in_site),
		};
	}
	/* Also without a neighbour: learned routes of an earlier run must go. */
	if (is_ours(gw))
		rc = cw_speaker_new(&parts, &gw->speaker, reterr, size);
	free(tunnels);
	return rc;
}

/* Tunnels without BGP can be caught by what others learn as well. */
static void guard_outer(struct cw_gateway *gw)
{
	struct cw_addr *outer = calloc(gw->n_slots + 1, sizeof(*outer));
	size_t n = 0;

	if (!outer)
		return;
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct cw_addr far = cw_tunnel_remote(gw->slots[i].tunnel);

		if (far.family != CW_FAMILY_NONE)
			outer[n++] = far;
	}
	cw_speaker_guard(gw->speaker, outer, n);
	free(outer);
}

void cw_gateway_bgp_nets(struct cw_gateway *gw)
{
	if (!gw->speaker || !cw_speaker_count(gw->speaker))
		return;
	guard_outer(gw);
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];

		if (s->neighbour)
			cw_speaker_net(gw->speaker, s->neighbour - 1, s->routes_in);
	}
}

/* ---- for the control socket ---- */

static const char *off(void *arg)
{
	const struct cw_gateway *gw = arg;

	if (!is_ours(gw))
		return "bgp is \"external\" in gateway: another daemon speaks it, ask that one";
	if (!cw_speaker_count(gw->speaker))
		return "no tunnel has a bgp-peer; causeway.conf(5) tells what BGP needs";
	return NULL;
}

static size_t count(void *arg)
{
	return cw_speaker_count(((const struct cw_gateway *)arg)->speaker);
}

static void view(void *arg, size_t i, struct cw_bgp_neighbour_view *ret_view)
{
	cw_speaker_view(((const struct cw_gateway *)arg)->speaker, i, ret_view);
}

static enum cw_rc find(void *arg, const char *name, size_t *ret_i)
{
	return cw_speaker_find(((const struct cw_gateway *)arg)->speaker, name, ret_i);
}

static void reset(void *arg, size_t i, enum cw_bgp_reset kind)
{
	cw_speaker_reset(((struct cw_gateway *)arg)->speaker, i, kind);
}

static bool routes(void *arg, struct cw_bgp_route_query *query,
		   void (*fn)(void *fn_arg, const struct cw_bgp_route_view *view), void *fn_arg)
{
	return cw_speaker_routes(((struct cw_gateway *)arg)->speaker, query, fn, fn_arg);
}

void cw_gateway_bgp_port(struct cw_ctl_port *port)
{
	port->bgp_off = off;
	port->bgp_count = count;
	port->bgp_view = view;
	port->bgp_find = find;
	port->bgp_reset = reset;
	port->bgp_routes = routes;
}
