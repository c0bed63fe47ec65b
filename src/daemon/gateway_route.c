/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the gateway sends traffic to the sites' networks: routes, and drop policies where there is no
 * interface.
 *
 * When one tunnel comes or goes only its own routes are changed. All of them are compared with the kernel's
 * every CW_GATEWAY_RECONCILE_S, when somebody took some away, and when a change was refused.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/source.h"

#define SYNC_PAUSE_MS 250 /* between two comparings that events ask for */
#define SOURCES_OLD_S 1	  /* addresses of this machine are read again after that */

/* ---- drop policies ---- */

/* Of traffic to a network of the site, whoever sends it: it shall not leave in the clear where an SA's own
 * policy does not take it. The selector differs from that policy's, since the kernel holds one policy for a
 * selector whatever the priority: where a network of ours is the whole family, halves stand for it. */
static size_t add_drops(const struct slot *s, const struct cw_prefix *dst, bool halves, struct cw_policy *want)
{
	struct cw_policy p = {
		.sel = { .src.addr.family = dst->addr.family, .src.len = halves ? 1 : 0, .dst = *dst },
		.dir = CW_DIR_OUT,
		.action = CW_POLICY_DROP,
		.priority = CW_DROP_PRIORITY,
		.reqid = CW_REQID_BASE + s->number * 256,
	};

	want[0] = p;
	if (!halves)
		return 1;
	p.sel.src.addr.bytes[0] = 0x80;
	want[1] = p;
	return 2;
}

static bool have_whole(const struct cw_prefixes *ours, enum cw_family family)
{
	for (size_t i = 0; i < ours->n; i++) {
		if (ours->v[i].addr.family == family && ours->v[i].len == 0)
			return true;
	}
	return false;
}

/* Keeps tunnels without interface closed while they have no SA. */
void cw_gateway_drops(struct cw_gateway *gw)
{
	const struct cw_prefixes *ours = &gw->parts.conf->gateway.networks;
	struct cw_kernel_err err = { 0 };
	struct cw_policy *want;
	size_t max = 0, n = 0;
	enum cw_rc rc;

	for (size_t i = 0; i < gw->n_slots; i++) {
		if (gw->slots[i].mode == CW_IF_POLICY && !gw->slots[i].unusable)
			max += gw->slots[i].conf->site->networks.n;
	}
	if (!max && gw->drops_done)
		return;
	want = calloc(2 * max + 1, sizeof(*want));
	if (!want)
		return; /* asked for again by the next reconcile */
	for (size_t i = 0; i < gw->n_slots; i++) {
		const struct slot *s = &gw->slots[i];
		const struct cw_prefixes *theirs = &s->conf->site->networks;

		for (size_t k = 0; s->mode == CW_IF_POLICY && !s->unusable && k < theirs->n; k++)
			n += add_drops(s, &theirs->v[k], have_whole(ours, theirs->v[k].addr.family), &want[n]);
	}
	rc = gw->kernel->ops->drops_sync(gw->kernel, want, n, &err);
	gw->drops_done = rc == CW_OK;
	if (rc != CW_OK && gw->drops_err_logged != (int)rc)
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
		       "of %zu policies that close tunnels while they are down at least one could not be set: %s", n,
		       cw_kernel_err_text(rc, &err));
	gw->drops_err_logged = (int)rc;
	free(want);
}

/* ---- routes ---- */

static int by_dst(const void *a, const void *b)
{
	const struct cw_route *x = a, *y = b;

	return cw_prefix_compare(&x->dst, &y->dst);
}

/* One unreachable route per prefix, though several tunnels lead there. */
static size_t unique_unreachable(struct cw_route *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_dst);
	for (size_t i = 0; i < n; i++) {
		if (!kept || cw_prefix_compare(&v[kept - 1].dst, &v[i].dst) != 0)
			v[kept++] = v[i];
	}
	return kept;
}

/* The gateway's own packets into a tunnel should come from an address that the far side knows. */
static void read_sources(struct cw_gateway *gw)
{
	const struct cw_prefixes *ours = &gw->parts.conf->gateway.networks;

	gw->src4 = gw->src6 = (struct cw_addr){ 0 };
	cw_source_within(ours->v, ours->n, CW_FAMILY_IPV4, &gw->src4);
	cw_source_within(ours->v, ours->n, CW_FAMILY_IPV6, &gw->src6);
	gw->sources_at = cw_gateway_now(gw);
}

/* Policies are looked up for packets that have a route (Linux xfrm_lookup), and where there is no default route,
 * as is common with IPv6, those to the site have none. Which one it is does not matter: the policy's takes its
 * place. So it is by the interface to the peer, and only while the policies are there. */
static bool needs_outlet(const struct slot *s)
{
	const struct cw_prefixes *nets = &s->conf->site->networks;

	for (size_t k = 0; s->mode == CW_IF_POLICY && k < nets->n; k++) {
		if (nets->v[k].addr.family == CW_FAMILY_IPV6)
			return true;
	}
	return false;
}

static void find_outlet(const struct cw_gateway *gw, struct slot *s)
{
	struct cw_route_look look = { .dst.addr = cw_tunnel_remote(s->tunnel) };

	look.dst.len = (uint8_t)cw_family_bits((enum cw_family)look.dst.addr.family);
	if (look.dst.addr.family == CW_FAMILY_NONE)
		return;
	gw->kernel->ops->routes_look(gw->kernel, &look, 1);
	memcpy(s->outlet, look.ifname, sizeof(s->outlet));
}

static bool shall_have_routes(const struct cw_gateway *gw, struct slot *s)
{
	if (s->unusable || !cw_tunnel_carries(s->tunnel))
		return false;
	if (cw_gateway_has_link(s))
		return s->link_ok;
	if (!needs_outlet(s))
		return false;
	find_outlet(gw, s);
	return s->outlet[0];
}

/* Where the tunnel leads by its settings: its site's networks, and its BGP neighbour. At most max_dsts(). */
static bool dst_at(const struct slot *s, size_t k, struct cw_prefix *ret_dst)
{
	const struct cw_prefixes *nets = &s->conf->site->networks;

	if (k < nets->n) {
		*ret_dst = nets->v[k];
		return true;
	}
	return k == nets->n && cw_gateway_bgp_host(s, ret_dst);
}

static size_t max_dsts(const struct slot *s)
{
	return s->conf->site->networks.n + 1;
}

/* The tunnel's own routes; returns their number. */
static size_t add_unicast(const struct cw_gateway *gw, const struct slot *s, struct cw_route *ret_routes)
{
	bool link = cw_gateway_has_link(s);
	struct cw_prefix dst;
	size_t n = 0;

	for (size_t k = 0; dst_at(s, k, &dst); k++) {
		bool v6 = dst.addr.family == CW_FAMILY_IPV6;
		struct cw_route *r = &ret_routes[n];

		if (!link && !v6)
			continue;
		n++;
		*r = (struct cw_route){
			.dst = dst,
			.kind = CW_ROUTE_UNICAST,
			.metric = s->conf->metric + s->in_site,
			.src = v6 ? gw->src6 : gw->src4,
		};
		memcpy(r->ifname, link ? s->conf->ifname : s->outlet, sizeof(r->ifname));
	}
	return n;
}

void cw_gateway_routes_soon(struct cw_gateway *gw)
{
	gw->routes_due = cw_time_min(gw->routes_due, cw_time_add_ms(gw->routes_at, SYNC_PAUSE_MS));
}

void cw_gateway_routes_again(struct cw_gateway *gw, struct slot *s)
{
	s->routes_in = false;
	cw_gateway_todo(gw, s, TODO_ROUTES);
}

/* Each other thing that is wrong once, and that all is well again. */
static void say_sync(struct cw_gateway *gw, enum cw_rc rc, const char *why, size_t n, size_t n_closed)
{
	char said[sizeof(gw->route_err_text)];

	snprintf(said, sizeof(said), "%s", rc == CW_OK ? "" : why);
	if (rc != CW_OK && strcmp(said, gw->route_err_text) != 0)
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
		       "of %zu routes (%zu unreachable beneath) at least one could not be set: %s", n, n_closed, why);
	else if (rc == CW_OK && gw->route_err_text[0])
		cw_log(CW_LOG_NOTICE, CW_LOG_KERNEL_REFUSED, "gateway", "all routes could be set now");
	snprintf(gw->route_err_text, sizeof(gw->route_err_text), "%s", said);
}

void cw_gateway_routes(struct cw_gateway *gw)
{
	struct cw_kernel_err err = { 0 };
	struct cw_route *want;
	size_t max = 0, n = 0, closed;
	enum cw_rc rc;

	gw->routes_at = cw_gateway_now(gw);
	gw->routes_due = CW_TIME_NEVER;
	for (size_t i = 0; i < gw->n_slots; i++)
		max += max_dsts(&gw->slots[i]);
	want = calloc(2 * max + 1, sizeof(*want));
	if (!want)
		return; /* asked for again by the next reconcile */
	while (cw_gateway_todo_take(gw, TODO_ROUTES))
		;
	for (size_t i = 0; i < gw->n_slots; i++) {
		const struct slot *s = &gw->slots[i];
		struct cw_prefix dst;

		if (s->unusable || !cw_gateway_has_link(s))
			continue;
		for (size_t k = 0; dst_at(s, k, &dst); k++)
			want[n++] = (struct cw_route){
				.dst = dst,
				.kind = CW_ROUTE_UNREACHABLE,
				.metric = CW_UNREACHABLE_METRIC,
			};
	}
	closed = n = unique_unreachable(want, n);
	read_sources(gw);
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];

		s->routes_in = shall_have_routes(gw, s);
		if (s->routes_in)
			n += add_unicast(gw, s, &want[n]);
	}
	rc = gw->kernel->ops->routes_sync(gw->kernel, want, n, &err);
	say_sync(gw, rc, cw_kernel_err_text(rc, &err), n - closed, closed);
	cw_gateway_ways_touched(gw);
	free(want);
}

/* Those of the tunnels that changed. False: all have to be compared. */
static bool change_routes(struct cw_gateway *gw)
{
	size_t n = cw_gateway_todo_count(gw, TODO_ROUTES), max = 0, n_add = 0, n_del = 0;
	struct cw_route *add, *del;
	struct slot *s;
	enum cw_rc rc;

	for (size_t i = 0; i < n; i++)
		max += max_dsts(cw_gateway_todo_at(gw, TODO_ROUTES, i));
	add = calloc(max + 1, sizeof(*add));
	del = calloc(max + 1, sizeof(*del));
	if (!add || !del) {
		free(add);
		free(del);
		return false;
	}
	if (cw_time_reached(cw_time_add_s(gw->sources_at, SOURCES_OLD_S), cw_gateway_now(gw)))
		read_sources(gw);
	while ((s = cw_gateway_todo_take(gw, TODO_ROUTES))) {
		bool was_in = s->routes_in;

		s->routes_in = shall_have_routes(gw, s);
		if (s->routes_in && !was_in)
			n_add += add_unicast(gw, s, &add[n_add]);
		else if (!s->routes_in && was_in)
			n_del += add_unicast(gw, s, &del[n_del]);
	}
	rc = n_add || n_del ? gw->kernel->ops->routes_change(gw->kernel, add, n_add, del, n_del, NULL) : CW_OK;
	free(add);
	free(del);
	cw_gateway_ways_touched(gw);
	return rc == CW_OK;
}

void cw_gateway_routes_turn(struct cw_gateway *gw, struct cw_time now)
{
	bool all = cw_time_reached(gw->routes_due, now);
	bool some = cw_gateway_todo_count(gw, TODO_ROUTES) > 0;

	if (!all && some)
		all = !change_routes(gw);
	if (all)
		cw_gateway_routes(gw);
	if (all || some)
		cw_gateway_bgp_nets(gw);
}

void cw_gateway_forwarding(struct cw_gateway *gw)
{
	if (gw->forwarding_warned || !gw->n_slots || gw->kernel->ops->forwarding(gw->kernel, CW_FAMILY_IPV4))
		return;
	gw->forwarding_warned = true;
	cw_log(CW_LOG_WARNING, CW_LOG_NO_FORWARDING, "gateway",
	       "net.ipv4.ip_forward is 0: hosts behind this machine can't use the tunnels; set it to 1");
}
