/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/bgp_peer_priv.h"

struct cw_bgp_peer *cw_bgp_peer_new(
	const struct cw_bgp_peer_conf *conf, uint64_t seed, struct cw_time now)
{
	struct cw_bgp_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->conf = *conf;
	p->random = seed ? seed : 1;
	p->since = now;
	p->wait = CW_BGP_WAIT_START;
	p->retry_due = p->idle_due = p->defer_due = p->restart_due = p->probed_at = CW_TIME_NEVER;
	p->codec.max = CW_BGP_MSG_MAX;
	for (unsigned i = 0; i < CW_BGP_CONNS; i++)
		p->conn[i] = cw_bgp_conn_none;
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		p->family[i].stale_due = CW_TIME_NEVER;
	return p;
}

void cw_bgp_peer_free(struct cw_bgp_peer *peer)
{
	free(peer);
}

void cw_bgp_peer_sent(
	struct cw_bgp_peer *peer, enum cw_bgp_type type, uint32_t n, struct cw_time now)
{
	enum cw_bgp_conn up = cw_bgp_peer_established(peer);
	struct conn *c;

	if (up == CW_BGP_CONNS || type < CW_BGP_OPEN || type > CW_BGP_ROUTE_REFRESH || !n)
		return;
	peer->messages.out[type] += n;
	c = &peer->conn[up];
	if (type == CW_BGP_UPDATE || type == CW_BGP_KEEPALIVE)
		c->keepalive_due = cw_bgp_keepalive_due(peer, c, now);
}

const struct cw_bgp_peer_conf *cw_bgp_peer_conf(const struct cw_bgp_peer *peer)
{
	return &peer->conf;
}

enum cw_bgp_state cw_bgp_peer_state(const struct cw_bgp_peer *peer)
{
	return peer->state;
}

enum cw_bgp_conn cw_bgp_peer_established(const struct cw_bgp_peer *peer)
{
	unsigned i = 0;

	while (i < CW_BGP_CONNS && peer->conn[i].phase != PH_ESTABLISHED)
		i++;
	return (enum cw_bgp_conn)i;
}

const struct cw_bgp_codec *cw_bgp_peer_codec(const struct cw_bgp_peer *peer)
{
	return cw_bgp_peer_established(peer) < CW_BGP_CONNS ? &peer->codec : NULL;
}

size_t cw_bgp_peer_max(const struct cw_bgp_peer *peer, enum cw_bgp_conn conn)
{
	return cw_bgp_peer_established(peer) == conn ? peer->codec.max : CW_BGP_MSG_MAX;
}

uint32_t cw_bgp_peer_id(const struct cw_bgp_peer *peer)
{
	return peer->has_peer_open ? peer->peer_open.id : 0;
}

bool cw_bgp_peer_is_synced(const struct cw_bgp_peer *peer, enum cw_bgp_family family)
{
	const struct cw_bgp_caps *caps = &peer->peer_open.caps;

	if (cw_bgp_peer_established(peer) == CW_BGP_CONNS)
		return false;
	return !peer->family[family].agreed || peer->family[family].eor_in || !peer->gr ||
	       caps->gr_restarting;
}

/* ---- the view ---- */

static int64_t wall_s_of(struct cw_time then, struct cw_time now, int64_t wall_us)
{
	return (wall_us - cw_time_diff_us(now, then)) / 1000000;
}

/* Rounded up, so that 0 means now; -1: never. */
static int64_t left_s(struct cw_time due, struct cw_time now)
{
	if (cw_time_is_never(due))
		return -1;
	return cw_time_reached(due, now) ? 0 : (cw_time_diff_us(due, now) + 999999) / 1000000;
}

static void view_notification(const struct kept_notification *kept, struct cw_time now,
	int64_t wall_us, struct cw_bgp_view_notification *out)
{
	if (!kept->present)
		return;
	out->present = true;
	out->at_wall_s = wall_s_of(kept->at, now, wall_us);
	out->code = kept->code;
	out->subcode = kept->subcode;
	out->hard = kept->hard;
	out->n_data = kept->n_data;
	memcpy(out->data, kept->data, sizeof(out->data));
	snprintf(out->text, sizeof(out->text), "%s", kept->text);
}

static void view_families(
	const struct cw_bgp_peer *p, struct cw_time now, struct cw_bgp_peer_view *v)
{
	const struct cw_bgp_caps *caps = &p->peer_open.caps;

	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		const struct family_state *f = &p->family[i];

		v->family[i] = (struct cw_bgp_view_family){
			.offered = p->conf.family[i],
			.received =
				p->has_peer_open && (caps->mp_any ? caps->mp[i] : i == CW_BGP_IPV4),
			.agreed = f->agreed,
			.prefixes = f->prefixes,
			.eor_in = f->eor_in,
			.sending = f->sending,
			.deferred = f->deferred,
			.stale = f->stale != STALE_NONE,
			.stale_left_s =
				left_s(f->stale == STALE_SESSION && !f->agreed ? p->restart_due
									       : f->stale_due,
					now),
		};
	}
}

static void view_session(
	const struct cw_bgp_peer *p, struct cw_time now, struct cw_bgp_peer_view *v)
{
	enum cw_bgp_conn up = cw_bgp_peer_established(p);
	struct cw_time hold = CW_TIME_NEVER;

	for (unsigned i = 0; i < CW_BGP_CONNS; i++)
		hold = cw_time_min(hold, p->conn[i].hold_due);
	v->hold_left_s = left_s(hold, now);
	v->keepalive_left_s = v->send_hold_left_s = -1;
	if (up < CW_BGP_CONNS) {
		v->keepalive_left_s = left_s(p->conn[up].keepalive_due, now);
		v->send_hold_left_s = left_s(p->conn[up].send_due, now);
	}
	v->restart_left_s = left_s(p->restart_due, now);
	v->ours = up == CW_BGP_CONN_OURS;
	v->hold_s = p->hold_s;
	v->keepalive_s = p->hold_s / 3;
	v->as4 = p->codec.as4;
	v->ext_message = p->codec.max > CW_BGP_MSG_MAX;
	v->ext_next_hop = p->codec.ext_next_hop;
	v->refresh = p->refresh;
	v->enhanced_refresh = p->enhanced;
	v->gr = p->gr;
	v->gr_notification = p->gr_notification;
	v->peer_id = cw_bgp_peer_id(p);
	v->has_peer_caps = p->has_peer_open;
	v->peer_caps = p->peer_open.caps;
	v->has_our_caps = p->has_our_caps;
	v->our_caps = p->our_caps;
}

void cw_bgp_peer_view(const struct cw_bgp_peer *p, struct cw_time now, int64_t wall_us,
	struct cw_bgp_peer_view *ret_view)
{
	struct cw_bgp_peer_view *v = ret_view;
	bool stable = p->state == CW_BGP_STATE_ESTABLISHED &&
		      cw_time_diff_us(now, p->up_at) >= p->conf.stable_s * 1000000LL;

	memset(v, 0, sizeof(*v));
	v->conf = p->conf;
	v->state = p->state;
	v->wait = p->wait;
	v->for_s = cw_time_diff_us(now, p->since) / 1000000;
	v->since_wall_s = wall_s_of(p->since, now, wall_us);
	v->cause = p->cause;
	snprintf(v->why, sizeof(v->why), "%s", p->why);
	v->last_error = p->last_error;
	snprintf(v->last_error_text, sizeof(v->last_error_text), "%s", p->last_error_text);
	if (p->last_error != CW_BGP_CAUSE_NONE)
		v->last_error_wall_s = wall_s_of(p->last_error_at, now, wall_us);
	v->next_try_in_s = left_s(p->wait == CW_BGP_WAIT_NONE ? p->retry_due : p->idle_due, now);
	v->failures = stable ? 0 : p->failures;
	v->same_bad = p->same_bad;
	v->times_up = p->times_up;
	view_session(p, now, v);
	view_families(p, now, v);
	v->messages = p->messages;
	view_notification(&p->sent, now, wall_us, &v->sent);
	view_notification(&p->received, now, wall_us, &v->received);
	for (size_t i = 0; i < p->n_steps && i < CW_BGP_VIEW_HISTORY_MAX; i++) {
		const struct step *s = &p->history[(p->n_steps - 1 - i) % CW_BGP_VIEW_HISTORY_MAX];

		v->history[v->n_history++] = (struct cw_bgp_view_step){
			.at_wall_s = wall_s_of(s->at, now, wall_us),
			.from = s->from,
			.to = s->to,
			.cause = s->cause,
		};
	}
}
