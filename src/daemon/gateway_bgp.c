/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway's side of BGP: which tunnels have a neighbour, when the way to it is there, and what its
 * session needs of the kernel: an address of ours and a host route.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
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

/* Field case BL-135: which of the three layers is it? IKE and the child are told of already. */
static void say_why(const struct slot *s, const struct cw_bgp_peer_view *p, char *buf, size_t size)
{
	enum cw_bgp_cause cause = p->last_error ? p->last_error : p->cause;
	const char *detail = p->last_error ? p->last_error_text : p->why;
	char peer[CW_ADDR_TEXT_MAX], local[CW_ADDR_TEXT_MAX];

	if (cause == CW_BGP_CAUSE_NONE)
		return;
	cw_addr_print(&s->conf->bgp.peer, peer, sizeof(peer));
	cw_addr_print(&s->conf->bgp.local, local, sizeof(local));
	if (cause == CW_BGP_CAUSE_CONNECT_FAILED &&
	    (strcmp(detail, "no answer") == 0 || strcmp(detail, "Connection timed out") == 0))
		snprintf(buf, size,
			 "IKE and child are up, but %s answers no SYN over %s: do the selectors take in %s and %s, "
			 "and are these the addresses inside the tunnel that the peer has too?",
			 peer, s->conf->ifname, local, peer);
	else
		snprintf(buf, size, "%s%s%s%s%s%s", cw_bgp_cause_text(cause), *detail ? " (" : "", detail,
			 *detail ? ")" : "", *cw_bgp_cause_remedy(cause) ? "; " : "", cw_bgp_cause_remedy(cause));
}

void cw_gateway_bgp_view(const struct cw_gateway *gw, const struct slot *s, struct cw_view_bgp *ret_bgp)
{
	struct cw_bgp_neighbour_view *v;

	*ret_bgp = (struct cw_view_bgp){ 0 };
	v = s->neighbour && gw->speaker ? malloc(sizeof(*v)) : NULL;
	if (!v)
		return;
	cw_speaker_view(gw->speaker, s->neighbour - 1, v);
	ret_bgp->peer = s->conf->bgp.peer;
	ret_bgp->established = v->peer.state == CW_BGP_STATE_ESTABLISHED;
	snprintf(ret_bgp->state, sizeof(ret_bgp->state), "%s", cw_bgp_state_name(v->peer.state));
	ret_bgp->for_s = v->peer.for_s;
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		ret_bgp->received += v->routes[f].received;
		ret_bgp->selected += v->routes[f].selected;
		ret_bgp->announced += v->routes[f].announced;
	}
	if (!ret_bgp->established && v->net_up)
		say_why(s, &v->peer, ret_bgp->why, sizeof(ret_bgp->why));
	free(v);
}

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
