/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/speaker_priv.h"

#include <stdlib.h>
#include <string.h>

#define PATHS_MAX 64 /* of one prefix, shown */

size_t cw_speaker_count(const struct cw_speaker *sp)
{
	return sp->n;
}

static void fill_routes(const struct cw_speaker *sp, const struct neighbour *nb, enum cw_bgp_family f,
			struct cw_bgp_view_routes *ret)
{
	const struct cw_bgp_rib_count *in = cw_bgp_rib_count(sp->rib, nb->source, f);
	const struct cw_bgp_out_count *out = cw_bgp_out_count(nb->out, f);

	*ret = (struct cw_bgp_view_routes){
		.received = in->received,
		.accepted = in->accepted,
		.selected = in->selected,
		.stale = in->stale,
		.announced = out->sent,
		.pending = out->pending,
		.surplus = out->surplus,
	};
	for (size_t i = 0; i < CW_BGP_REFUSAL_COUNT && i < CW_BGP_VIEW_REFUSALS_MAX; i++)
		ret->refused[i] = in->refused[i];
}

void cw_speaker_view(const struct cw_speaker *sp, size_t i, struct cw_bgp_neighbour_view *ret_view)
{
	const struct neighbour *nb = &sp->v[i];

	*ret_view = (struct cw_bgp_neighbour_view){
		.net_up = nb->net_up,
		.own_networks = nb->conf->bgp.announce.n > 0,
		.attrs_discarded = nb->attrs_discarded,
		.treated_as_withdrawn = nb->treated_as_withdrawn,
		.last_fault_wall_s = nb->last_fault_wall_s,
	};
	cw_bgp_peer_view(nb->machine, cw_speaker_now(sp), cw_loop_wall_us(sp->loop), &ret_view->peer);
	memcpy(ret_view->site, nb->conf->site->name, sizeof(ret_view->site));
	snprintf(ret_view->ifname, sizeof(ret_view->ifname), "%s", nb->ifname);
	memcpy(ret_view->last_fault, nb->last_fault, sizeof(ret_view->last_fault));
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		fill_routes(sp, nb, (enum cw_bgp_family)f, &ret_view->routes[f]);
}

enum cw_rc cw_speaker_find(const struct cw_speaker *sp, const char *name, size_t *ret_i)
{
	struct cw_addr addr = { 0 };
	bool by_addr = cw_addr_parse(name, &addr) == CW_OK;

	for (size_t i = 0; i < sp->n; i++) {
		const struct cw_tunnel_conf *t = sp->v[i].conf;

		if (strcmp(t->name, name) != 0 && !(by_addr && cw_addr_equal(&t->bgp.peer, &addr)))
			continue;
		*ret_i = i;
		return CW_OK;
	}
	return CW_E_NOT_FOUND;
}

/* ---- routes ---- */

static void fill_attrs(struct cw_speaker *sp, uint32_t attrs, struct cw_bgp_route_view *v)
{
	struct cw_bgp_attrs_view view;

	cw_bgp_store_view(sp->store, attrs, &view);
	v->next_hop = cw_bgp_set_next_hop(cw_bgp_store_set(sp->store, attrs));
	v->attrs = cw_bgp_set_wire(cw_bgp_store_set(sp->store, attrs));
	v->origin = view.origin;
	v->has_med = view.has_med;
	v->med = view.med;
	v->has_local_pref = view.has_local_pref;
	v->local_pref = view.local_pref;
	cw_bgp_path_print(view.as_path, v->as_path, sizeof(v->as_path));
	cw_bgp_communities_print(view.communities, v->communities, sizeof(v->communities));
	cw_bgp_large_communities_print(view.large_communities, v->large_communities,
				       sizeof(v->large_communities));
}

static void fill_source(const struct cw_speaker *sp, uint16_t source, struct cw_bgp_route_view *v)
{
	v->own = source == 0;
	if (v->own)
		return;
	snprintf(v->neighbour, sizeof(v->neighbour), "%s", sp->v[source - 1].conf->name);
	v->from = sp->v[source - 1].conf->bgp.peer;
}

struct page {
	struct cw_speaker *sp;
	const struct cw_bgp_route_query *query;
	void (*fn)(void *arg, const struct cw_bgp_route_view *view);
	void *arg;
};

static void show_paths(const struct page *pg, const struct cw_bgp_change *state)
{
	struct cw_speaker *sp = pg->sp;
	struct cw_bgp_path paths[PATHS_MAX];
	size_t n = cw_bgp_rib_paths(sp->rib, &state->prefix, paths, PATHS_MAX);

	for (size_t i = 0; i < n && i < PATHS_MAX; i++) {
		const struct cw_bgp_path *p = &paths[i];
		struct cw_bgp_route_view v = { .prefix = state->prefix, .stale = p->stale, .refused = p->refused };

		if (pg->query->has_peer && p->source != sp->v[pg->query->peer].source)
			continue;
		v.best = !p->refused && !p->lost_at;
		v.multipath = p->multipath;
		if (pg->query->kind == CW_BGP_ROUTES_BEST && !v.best && !v.multipath)
			continue;
		v.installed = (v.best || v.multipath) && p->source && state->fib &&
			      cw_fib_route_in_kernel(sp->fib, &state->prefix) == state->fib;
		fill_source(sp, p->source, &v);
		fill_attrs(sp, p->attrs, &v);
		if (p->refused)
			snprintf(v.why_not, sizeof(v.why_not), "%s",
				 cw_bgp_refusal_text((enum cw_bgp_refusal)p->refused));
		else if (p->lost_at && !p->multipath)
			snprintf(v.why_not, sizeof(v.why_not), "%s",
				 cw_bgp_step_name((enum cw_bgp_step)p->lost_at));
		else if (p->source && state->fib && !v.installed)
			snprintf(v.why_not, sizeof(v.why_not), "the kernel did not take it; see the log");
		pg->fn(pg->arg, &v);
	}
}

static void show_advertised(const struct page *pg, const struct cw_bgp_change *state)
{
	struct cw_speaker *sp = pg->sp;
	struct neighbour *nb = &sp->v[pg->query->peer];
	struct cw_bgp_route_view v = { .prefix = state->prefix };
	uint32_t attrs = 0;
	enum cw_bgp_out_state out = cw_bgp_out_find(nb->out, &state->prefix, &attrs);

	if (out == CW_BGP_OUT_NONE)
		return;
	if (state->n)
		fill_source(sp, state->winners[0].source, &v);
	if (attrs)
		fill_attrs(sp, attrs, &v);
	v.best = out == CW_BGP_OUT_SENT;
	if (out == CW_BGP_OUT_PENDING)
		snprintf(v.why_not, sizeof(v.why_not), "to be sent");
	else if (out == CW_BGP_OUT_SURPLUS)
		snprintf(v.why_not, sizeof(v.why_not), "beyond announce-limit");
	pg->fn(pg->arg, &v);
}

static void show(const struct page *pg, const struct cw_bgp_change *state)
{
	if (pg->query->kind == CW_BGP_ROUTES_ADVERTISED)
		show_advertised(pg, state);
	else
		show_paths(pg, state);
}

static enum cw_bgp_family family_of(const struct cw_prefix *prefix)
{
	return prefix->addr.family == CW_FAMILY_IPV6 ? CW_BGP_IPV6 : CW_BGP_IPV4;
}

static bool show_prefix(const struct page *pg, struct cw_bgp_route_query *q)
{
	struct cw_speaker *sp = pg->sp;
	struct cw_bgp_change state;
	struct cw_prefix at = q->has_after ? q->after : q->prefix;
	size_t n = 0;

	if (!q->has_after) {
		/* Itself, else the one that a packet to it would take. */
		if (cw_bgp_rib_find(sp->rib, &q->prefix, &state) ||
		    cw_bgp_rib_cover(sp->rib, &q->prefix, &state)) {
			show(pg, &state);
			n++;
		}
	}
	while (cw_bgp_rib_next(sp->rib, family_of(&q->prefix), &at, &state)) {
		at = state.prefix;
		if (!cw_prefix_covers(&q->prefix, &at))
			return false;
		if (n++ >= q->max)
			return true;
		show(pg, &state);
		q->has_after = true;
		q->after = at;
	}
	return false;
}

bool cw_speaker_routes(struct cw_speaker *sp, struct cw_bgp_route_query *q,
		       void (*fn)(void *arg, const struct cw_bgp_route_view *view), void *arg)
{
	const struct page pg = { .sp = sp, .query = q, .fn = fn, .arg = arg };
	enum cw_bgp_family f = q->has_after ? family_of(&q->after) : CW_BGP_IPV4;
	const struct cw_prefix *after = q->has_after ? &q->after : NULL;
	struct cw_bgp_change state;
	size_t n = 0;

	if (q->has_prefix)
		return show_prefix(&pg, q);
	for (; f < CW_BGP_FAMILIES; f++, after = NULL) {
		while (cw_bgp_rib_next(sp->rib, f, after, &state)) {
			if (n++ >= q->max)
				return true;
			show(&pg, &state);
			q->has_after = true;
			q->after = state.prefix;
			after = &q->after;
		}
	}
	return false;
}
