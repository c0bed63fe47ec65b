/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tunnel/tunnel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tunnel/tunnel_priv.h"

static const char *const state_names[CW_TUNNEL_STATE_COUNT] = {
	[CW_TUNNEL_CONF_ERROR] = "config-error",
	[CW_TUNNEL_DOWN] = "down",
	[CW_TUNNEL_RESOLVING] = "resolving",
	[CW_TUNNEL_CONNECTING] = "connecting",
	[CW_TUNNEL_WAITING] = "waiting",
	[CW_TUNNEL_IKE_ONLY] = "ike-only",
	[CW_TUNNEL_UP] = "up",
	[CW_TUNNEL_CLOSING] = "closing",
};

const char *cw_tunnel_state_name(enum cw_tunnel_state state)
{
	return (unsigned)state < CW_TUNNEL_STATE_COUNT ? state_names[state] : "unknown";
}

static const char *const route_names[CW_VIEW_ROUTE_STATE_COUNT] = {
	[CW_VIEW_ROUTE_CLOSED] = "closed",
	[CW_VIEW_ROUTE_INSTALLED] = "installed",
	[CW_VIEW_ROUTE_STANDBY] = "standby",
	[CW_VIEW_ROUTE_SHADOWED] = "shadowed",
	[CW_VIEW_ROUTE_MISSING] = "missing",
};

const char *cw_view_route_state_name(enum cw_view_route_state state)
{
	return (unsigned)state < CW_VIEW_ROUTE_STATE_COUNT ? route_names[state] : "unknown";
}

struct cw_tunnel *cw_tunnel_new(const struct cw_tunnel_conf *conf, uint32_t index,
	uint32_t generation, uint32_t pairs, uint64_t seed, struct cw_time now)
{
	struct cw_tunnel *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	/* Per pair one child in use and one that is being replaced, on two IKE_SAs at most. */
	t->max_children = 4 * (size_t)pairs + 4;
	t->children = calloc(t->max_children, sizeof(*t->children));
	t->pair = calloc(pairs ? pairs : 1, sizeof(*t->pair));
	if (!t->children || !t->pair) {
		cw_tunnel_free(t);
		return NULL;
	}
	t->conf = conf;
	t->index = index;
	t->generation = generation;
	t->pairs = pairs;
	t->random = seed ? seed : 1;
	t->state = CW_TUNNEL_DOWN;
	t->since = now;
	t->act_due = t->dup_at = t->child_dup_at = CW_TIME_NEVER;
	for (uint32_t i = 0; i < pairs; i++)
		t->pair[i].due = t->pair[i].quiet_since = t->pair[i].repair_at = CW_TIME_NEVER;
	t->rekey_said_at = t->peer_said_at = CW_TIME_NEVER;
	t->ike_rekeyed_said_at = t->child_rekeyed_said_at = CW_TIME_NEVER;
	cw_tunnel_say_anew(t);
	return t;
}

void cw_tunnel_free(struct cw_tunnel *tunnel)
{
	if (!tunnel)
		return;
	free(tunnel->children);
	free(tunnel->pair);
	free(tunnel);
}

const struct cw_tunnel_conf *cw_tunnel_conf(const struct cw_tunnel *tunnel)
{
	return tunnel->conf;
}

uint32_t cw_tunnel_generation(const struct cw_tunnel *tunnel)
{
	return tunnel->generation;
}

enum cw_tunnel_state cw_tunnel_state(const struct cw_tunnel *tunnel)
{
	return tunnel->state;
}

bool cw_tunnel_is_idle(const struct cw_tunnel *tunnel)
{
	return tunnel->n_ikes == 0 && tunnel->n_children == 0 &&
	       (tunnel->activity == ACT_IDLE || tunnel->activity == ACT_WAITING);
}

struct cw_addr cw_tunnel_remote(const struct cw_tunnel *tunnel)
{
	return tunnel->remote;
}

struct cw_addr cw_tunnel_local(const struct cw_tunnel *tunnel)
{
	return tunnel->local;
}

bool cw_tunnel_private_id(const struct cw_tunnel *t)
{
	return !t->conf->local_id && t->conf->public_addr.family == CW_FAMILY_NONE &&
	       cw_addr_is_private(&t->local) && t->remote.family != CW_FAMILY_NONE &&
	       !cw_addr_is_private(&t->remote);
}

const struct cw_ike_sa_info *cw_tunnel_primary(const struct cw_tunnel *tunnel)
{
	const struct ike_entry *e = cw_tunnel_ike_best(tunnel);

	return e ? &e->info : NULL;
}

size_t cw_tunnel_children(const struct cw_tunnel *tunnel)
{
	return tunnel->n_children;
}

const struct cw_child_info *cw_tunnel_child(const struct cw_tunnel *tunnel, size_t i)
{
	return i < tunnel->n_children ? &tunnel->children[i].info : NULL;
}

void cw_tunnel_child_counters(struct cw_tunnel *tunnel, uint32_t child_id, uint64_t bytes_in,
	uint64_t packets_in, uint64_t bytes_out, uint64_t packets_out, struct cw_time now)
{
	struct child_entry *c = cw_tunnel_child_find(tunnel, child_id);

	if (!c)
		return;
	c->info.bytes_in = bytes_in;
	c->info.packets_in = packets_in;
	c->info.bytes_out = bytes_out;
	c->info.packets_out = packets_out;
	cw_tunnel_repair_note(tunnel, c, packets_in, packets_out, now);
}

static int64_t age_s(struct cw_time then, struct cw_time now)
{
	return cw_time_diff_us(now, then) / 1000000;
}

static int64_t wall_s_of(struct cw_time then, struct cw_time now, int64_t wall_us)
{
	return (wall_us - cw_time_diff_us(now, then)) / 1000000;
}

/* A "seconds left" that was true `age` ago; -1 stays -1, and what is overdue is 0. */
static int64_t left_s(int64_t was_s, int64_t age)
{
	if (was_s < 0)
		return -1;
	return was_s > age ? was_s - age : 0;
}

/* Rounded up, so that 0 means now. */
static int64_t due_in_s(struct cw_time due, struct cw_time now)
{
	return cw_time_reached(due, now) ? 0 : (cw_time_diff_us(due, now) + 999999) / 1000000;
}

static int64_t ago_s(int64_t was_s, int64_t age)
{
	return was_s < 0 ? -1 : was_s + age;
}

/* When a missing child is asked for next; NEVER: none is missing. */
static struct cw_time child_due(const struct cw_tunnel *t)
{
	struct cw_time due = CW_TIME_NEVER;

	for (uint32_t i = 0; i < t->pairs; i++)
		due = cw_time_min(due, t->pair[i].due);
	return due;
}

struct cw_time cw_tunnel_next_due(const struct cw_tunnel *t)
{
	struct cw_time due = cw_time_min(t->act_due, cw_time_min(t->dup_at, t->child_dup_at));

	if (t->more)
		return t->stepped_at;
	for (size_t i = 0; i < t->n_ikes; i++) {
		if (t->ikes[i].closing)
			due = cw_time_min(due, t->ikes[i].close_at);
	}
	return cw_time_min(due, cw_time_min(child_due(t), cw_tunnel_repair_due(t)));
}

static void view_sas(const struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_view *v)
{
	const struct ike_entry *e = cw_tunnel_ike_best(t);

	/* While nothing is established, show the attempt or the one that is closing. */
	if (!e && t->n_ikes)
		e = &t->ikes[0];
	if (e) {
		int64_t age = age_s(e->info_at, now);

		v->has_ike = true;
		v->ike = e->info;
		v->ike.established_s_ago = (uint32_t)ago_s(e->info.established_s_ago, age);
		v->ike.rekey_in_s = left_s(e->info.rekey_in_s, age);
		v->ike.expires_in_s = left_s(e->info.expires_in_s, age);
	}
	v->bytes_in = t->gone_bytes_in;
	v->bytes_out = t->gone_bytes_out;
	v->packets_in = t->gone_packets_in;
	v->packets_out = t->gone_packets_out;
	for (size_t i = 0; i < t->n_children; i++) {
		const struct child_entry *c = &t->children[i];
		int64_t age = age_s(c->info_at, now);
		struct cw_child_info *out;

		v->bytes_in += c->info.bytes_in;
		v->bytes_out += c->info.bytes_out;
		v->packets_in += c->info.packets_in;
		v->packets_out += c->info.packets_out;
		if (v->n_children == CW_VIEW_CHILDREN_MAX)
			continue;
		out = &v->children[v->n_children++];
		*out = c->info;
		out->installed_s_ago = (uint32_t)ago_s(c->info.installed_s_ago, age);
		out->rekey_in_s = left_s(c->info.rekey_in_s, age);
		out->expires_in_s = left_s(c->info.expires_in_s, age);
		out->last_in_s_ago = ago_s(c->info.last_in_s_ago, age);
		out->last_out_s_ago = ago_s(c->info.last_out_s_ago, age);
	}
}

void cw_tunnel_view(const struct cw_tunnel *t, struct cw_time now, int64_t wall_us,
	struct cw_tunnel_view *ret_view)
{
	struct cw_tunnel_view *v = ret_view;

	memset(v, 0, sizeof(*v));
	snprintf(v->name, sizeof(v->name), "%s", t->conf->name);
	snprintf(v->site, sizeof(v->site), "%s", t->conf->site->name);
	snprintf(v->profile, sizeof(v->profile), "%s", t->conf->site->profile);
	snprintf(v->remote, sizeof(v->remote), "%s", t->conf->remote);
	v->remote_addr = t->remote;
	v->local_addr = t->local;
	v->state = t->state;
	v->wanted_up = t->want == WANT_UP;
	v->for_s = age_s(t->since, now);
	v->since_wall_s = wall_s_of(t->since, now, wall_us);
	v->cause = t->cause;
	if (t->cause != CW_CAUSE_NONE && t->cause == t->why)
		snprintf(v->detail, sizeof(v->detail), "%s", t->detail);
	v->private_id = cw_tunnel_private_id(t);
	v->last_error = t->last_error;
	snprintf(v->last_error_detail, sizeof(v->last_error_detail), "%s", t->last_error_detail);
	if (t->last_error != CW_CAUSE_NONE)
		v->last_error_wall_s = wall_s_of(t->last_error_at, now, wall_us);
	v->attempt = t->state == CW_TUNNEL_UP || t->want != WANT_UP ? 0 : t->failures + 1;
	v->next_try_in_s = -1;
	if (t->activity == ACT_WAITING && t->want == WANT_UP)
		v->next_try_in_s = due_in_s(t->act_due, now);
	else if (t->state == CW_TUNNEL_IKE_ONLY && !cw_time_is_never(child_due(t)))
		v->next_try_in_s = due_in_s(child_due(t), now);
	v->last_rekey_error = t->last_rekey_error;
	snprintf(v->last_rekey_detail, sizeof(v->last_rekey_detail), "%s", t->last_rekey_detail);
	view_sas(t, now, v);
	v->n_children_wanted = t->pairs;
	v->times_up = t->times_up;
	v->dead_after_s = t->conf->dpd_delay_s + t->conf->dpd_timeout_s;
	for (size_t i = 0; i < t->n_steps && i < CW_VIEW_HISTORY_MAX; i++) {
		const struct step *s = &t->history[(t->n_steps - 1 - i) % CW_VIEW_HISTORY_MAX];

		v->history[v->n_history++] = (struct cw_view_step){
			.at_wall_s = wall_s_of(s->at, now, wall_us),
			.from = s->from,
			.to = s->to,
			.cause = s->cause,
		};
	}
}
