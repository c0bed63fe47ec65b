/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way packets to the sites' networks go, asked of the kernel: a route of somebody else with the same
 * destination, or a rule, may lead them past the tunnels, and nobody tells us when it comes or goes.
 */
#include "daemon/gateway_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LOOK_PAUSE_MS 1000 /* between two looks that are asked for */
#define SITES_A_TURN 16    /* so that the control socket is heard in between */
#define MAIN_TABLE 254
#define BY_TEXT_MAX 96

/* The networks of one site that runs and has interfaces. */
struct site_ways {
	const struct cw_site_conf *site;
	struct cw_route_look *v; /* one for each of its networks */
	size_t n_foreign;
	uint32_t best_metric; /* of its tunnels */
	uint32_t said;	      /* checksum of the foreign ones last told of; 0: none */
	struct cw_time at;    /* of the last look */
};

enum cw_rc cw_gateway_ways_new(struct cw_gateway *gw)
{
	gw->ways = calloc(gw->n_slots + 1, sizeof(*gw->ways));
	if (!gw->ways)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];
		struct site_ways *w = gw->n_ways ? &gw->ways[gw->n_ways - 1] : NULL;
		uint32_t metric = s->conf->metric + s->in_site;

		if (s->unusable || !cw_gateway_has_link(s))
			continue;
		if (!w || w->site != s->conf->site) {
			w = &gw->ways[gw->n_ways];
			w->v = calloc(s->conf->site->networks.n + 1, sizeof(*w->v));
			if (!w->v)
				return CW_E_NO_MEMORY;
			w->site = s->conf->site;
			w->best_metric = metric;
			gw->n_ways++;
			for (size_t k = 0; k < w->site->networks.n; k++)
				w->v[k].dst = w->site->networks.v[k];
		}
		if (metric < w->best_metric)
			w->best_metric = metric;
		s->ways = w;
	}
	gw->ways_due = gw->ways_at = gw->ways_touched_at = gw->started_at;
	return CW_OK;
}

void cw_gateway_ways_free(struct cw_gateway *gw)
{
	for (size_t i = 0; i < gw->n_ways; i++)
		free(gw->ways[i].v);
	free(gw->ways);
}

/* Routes that other parts of ours make by a tunnel's interface are ours as well. */
static bool is_foreign(const struct cw_gateway *gw, const struct cw_route_look *look)
{
	return look->way == CW_WAY_FOREIGN && !cw_gateway_slot_of(gw, look->ifname);
}

/* linux/rtnetlink.h and iproute2's rt_protos; a number where there is no name. */
static const char *protocol_name(uint8_t protocol, char *buf, size_t size)
{
	static const char *const names[] = {
		[0] = "unspec", [1] = "redirect", [2] = "kernel", [3] = "boot", [4] = "static", [9] = "ra",
		[11] = "zebra", [12] = "bird", [16] = "dhcp", [18] = "keepalived", [42] = "babel",
		[CW_ROUTE_PROTOCOL] = "causeway", [186] = "bgp", [187] = "isis", [188] = "ospf", [189] = "rip",
	};

	if (protocol < sizeof(names) / sizeof(names[0]) && names[protocol])
		snprintf(buf, size, "%s", names[protocol]);
	else
		snprintf(buf, size, "protocol %u", protocol);
	return buf;
}

/* ---- saying it ---- */

static const char *by_text(const struct cw_route_look *look, char *buf, size_t size)
{
	char protocol[16], where[32];

	if (look->table == MAIN_TABLE)
		snprintf(where, sizeof(where), "metric %" PRIu32, look->metric);
	else
		snprintf(where, sizeof(where), "table %" PRIu32, look->table);
	snprintf(buf, size, "%s (%s, %s)", look->ifname[0] ? look->ifname : "several interfaces",
		 protocol_name(look->protocol, protocol, sizeof(protocol)), where);
	return buf;
}

static const char *remedy(const struct site_ways *w, const struct cw_route_look *look, char *buf, size_t size)
{
	if (look->table != MAIN_TABLE)
		snprintf(buf, size, "a rule leads to table %" PRIu32 ": see ip rule", look->table);
	else if (look->in_parts)
		snprintf(buf, size, "more specific routes cover all of it: remove them");
	else if (look->metric > w->best_metric)
		snprintf(buf, size, "no tunnel is up, and it takes the place of our unreachable one: remove it");
	else
		snprintf(buf, size, "remove it, or give it a metric above %" PRIu32, w->best_metric);
	return buf;
}

/* Of everything that a line would say; never 0. */
static uint32_t mix(uint32_t sum, const void *bytes, size_t n)
{
	for (const uint8_t *p = bytes; n; n--, p++)
		sum = (sum ^ *p) * 16777619u;
	return sum ? sum : 1;
}

static void say(const struct cw_gateway *gw, struct site_ways *w)
{
	const struct cw_route_look *first = NULL;
	char dst[CW_PREFIX_TEXT_MAX], by[BY_TEXT_MAX], what[96], others[40] = "";
	uint32_t sum = 2166136261u;

	for (size_t k = 0; k < w->site->networks.n; k++) {
		const struct cw_route_look *look = &w->v[k];

		if (!is_foreign(gw, look))
			continue;
		first = first ? first : look;
		sum = mix(sum, &look->dst, sizeof(look->dst));
		sum = mix(sum, look->ifname, strlen(look->ifname));
		sum = mix(sum, &look->metric, sizeof(look->metric));
		sum = mix(sum, &look->table, sizeof(look->table));
	}
	if (first && sum != w->said) {
		if (w->n_foreign > 1)
			snprintf(others, sizeof(others), " and %zu more network%s", w->n_foreign - 1,
				 w->n_foreign == 2 ? "" : "s");
		cw_log(CW_LOG_WARNING, CW_LOG_ROUTE_SHADOWED, w->site->name,
		       "packets to %s%s go past its tunnels: a route that is not ours wins, by %s; %s",
		       cw_prefix_print(&first->dst, dst, sizeof(dst)), others, by_text(first, by, sizeof(by)),
		       remedy(w, first, what, sizeof(what)));
	} else if (!first && w->said) {
		cw_log(CW_LOG_NOTICE, CW_LOG_ROUTE_SHADOWED, w->site->name,
		       "no route of others takes its packets any more");
	}
	w->said = first ? sum : 0;
}

/* ---- looking ---- */

static void look(struct cw_gateway *gw, struct site_ways *w)
{
	w->at = cw_gateway_now(gw);
	gw->kernel->ops->routes_look(gw->kernel, w->v, w->site->networks.n);
	w->n_foreign = 0;
	for (size_t k = 0; k < w->site->networks.n; k++)
		w->n_foreign += is_foreign(gw, &w->v[k]);
	say(gw, w);
}

void cw_gateway_ways_touched(struct cw_gateway *gw)
{
	gw->ways_touched_at = cw_gateway_now(gw);
	if (!gw->ways_next)
		gw->ways_due = cw_time_min(gw->ways_due, cw_time_add_ms(gw->ways_at, LOOK_PAUSE_MS));
}

/* A round goes over all sites, some in each turn. */
void cw_gateway_ways_turn(struct cw_gateway *gw, struct cw_time now)
{
	if (!cw_time_reached(gw->ways_due, now))
		return;
	if (!gw->ways_next)
		gw->ways_at = now;
	for (size_t i = 0; i < SITES_A_TURN && gw->ways_next < gw->n_ways; i++)
		look(gw, &gw->ways[gw->ways_next++]);
	if (gw->ways_next < gw->n_ways)
		return;
	gw->ways_next = 0;
	gw->ways_due = gw->ways_touched_at.us > gw->ways_at.us ? cw_time_add_ms(gw->ways_at, LOOK_PAUSE_MS) :
								 cw_time_add_s(now, CW_GATEWAY_RECONCILE_S);
}

/* ---- showing ---- */

static enum cw_view_route_state state_of(const struct cw_gateway *gw, const struct slot *s,
					 const struct cw_route_look *at)
{
	bool carries = s->link_ok && cw_tunnel_carries(s->tunnel);

	if (is_foreign(gw, at))
		return CW_VIEW_ROUTE_SHADOWED;
	if (at->way == CW_WAY_NOWHERE)
		return carries ? CW_VIEW_ROUTE_MISSING : CW_VIEW_ROUTE_CLOSED;
	if (at->way != CW_WAY_UNKNOWN && at->ifname[0] && strcmp(at->ifname, s->conf->ifname) != 0)
		return CW_VIEW_ROUTE_STANDBY;
	return carries ? CW_VIEW_ROUTE_INSTALLED : CW_VIEW_ROUTE_CLOSED;
}

void cw_gateway_ways_view(struct cw_gateway *gw, const struct slot *s, struct cw_tunnel_view *v)
{
	const struct cw_prefixes *nets = &s->conf->site->networks;

	if (!s->ways)
		return;
	/* As it is now: who looks has perhaps just removed what was in the way. */
	if (gw->ways_touched_at.us >= s->ways->at.us ||
	    cw_time_reached(cw_time_add_ms(s->ways->at, LOOK_PAUSE_MS), cw_gateway_now(gw)))
		look(gw, s->ways);
	v->n_shadowed = s->ways->n_foreign;
	for (size_t k = 0; k < nets->n && v->n_routes < CW_VIEW_ROUTES_MAX; k++) {
		const struct cw_route_look *at = &s->ways->v[k];
		struct cw_view_route *r = &v->routes[v->n_routes++];

		r->dst = nets->v[k];
		r->metric = s->conf->metric + s->in_site;
		r->state = state_of(gw, s, at);
		r->installed = s->link_ok && cw_tunnel_carries(s->tunnel) &&
			       (r->state == CW_VIEW_ROUTE_INSTALLED || r->state == CW_VIEW_ROUTE_STANDBY);
		memcpy(r->by.ifname, at->ifname, sizeof(r->by.ifname));
		protocol_name(at->protocol, r->by.protocol, sizeof(r->by.protocol));
		r->by.metric = at->metric;
		r->by.table = at->table;
	}
}
