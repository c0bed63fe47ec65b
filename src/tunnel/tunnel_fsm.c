/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine: what the engine reports goes into the sets, settle() compares them with what is
 * wanted.
 */
#include "tunnel/tunnel.h"

#include <stdio.h>
#include <string.h>

#include "base/backoff.h"
#include "tunnel/tunnel_priv.h"

#define RESOLVE_DOUBT_S 30   /* a lookup that says nothing for so long has failed */
#define DUP_GRACE_V2_MS 1000 /* see tunnel.h, two IKE_SAs */
#define DUP_GRACE_V1_MS 5000
#define CHILD_TRIES_MAX 6 /* then the IKE_SA is made anew */
#define CHILD_TRIES_GROUP 2 /* the same where a new one is what helps */
#define DUP_QUICK 3       /* so many duplicates in a row are closed after the plain grace */
#define DUP_SLOWEST 6     /* then it doubles, so many times */
#define DUP_PEACE_S 120
#define LISTEN_REFRESH_S 60 /* a listening tunnel looks for the peer's address again */
#define ROOM_FOR_REST 4     /* of the list of actions, for what ends a step */

void cw_tunnel_set_error(
	struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now)
{
	t->last_error = cause;
	snprintf(t->last_error_detail, sizeof(t->last_error_detail), "%s", detail ? detail : "");
	t->last_error_at = now;
}

void cw_tunnel_set_why(
	struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now)
{
	t->why = cause;
	t->why_is_child = false;
	snprintf(t->detail, sizeof(t->detail), "%s", detail ? detail : "");
	if (cause != CW_CAUSE_NONE && cause != CW_CAUSE_OPERATOR && cause != CW_CAUSE_STOPPING)
		cw_tunnel_set_error(t, cause, detail, now);
}

static bool well_up(const struct cw_tunnel *t, struct cw_time now)
{
	return t->state == CW_TUNNEL_UP && cw_time_diff_us(now, t->since) > CW_TUNNEL_WELL_UP_US;
}

/* ---- trying ---- */

void cw_tunnel_act(
	struct cw_tunnel *t, enum activity activity, struct cw_time now, struct cw_time due)
{
	t->activity = activity;
	t->act_at = now;
	t->act_due = due;
	t->unseen = 0;
}

static void begin(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	if (!cw_tunnel_add(out, CW_TA_RESOLVE))
		return;
	if (t->why == CW_CAUSE_OPERATOR)
		cw_tunnel_set_why(t, CW_CAUSE_NONE, NULL, now);
	cw_tunnel_act(t, ACT_RESOLVING, now, cw_time_add_s(now, RESOLVE_DOUBT_S));
}

static bool is_auth(enum cw_cause cause)
{
	return cause == CW_CAUSE_AUTH_BY_PEER || cause == CW_CAUSE_AUTH_BY_US;
}

void cw_tunnel_pause(
	struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now)
{
	const struct cw_tunnel_conf *c = t->conf;
	uint32_t random = cw_backoff_random(&t->random), pause_ms;

	t->failures++;
	pause_ms = is_auth(cause)
			   ? cw_backoff_ms(c->retry_auth_s, c->retry_auth_s, 1, random)
			   : cw_backoff_ms(c->retry_min_s, c->retry_max_s, t->failures, random);
	/* Waiting for an answer was a pause already. */
	if (t->activity == ACT_CONNECTING || t->activity == ACT_RESOLVING) {
		int64_t left_ms = pause_ms - cw_time_diff_us(now, t->act_at) / 1000,
			least_ms = c->retry_min_s * 750LL;

		pause_ms = (uint32_t)(left_ms > least_ms ? left_ms : least_ms);
	}
	cw_tunnel_set_why(t, cause, detail, now);
	cw_tunnel_act(t, ACT_WAITING, now, cw_time_add_ms(now, pause_ms));
}

static void try_failed(struct cw_tunnel *t, enum cw_cause cause, const char *detail,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	cw_tunnel_pause(t, cause, detail, now);
	cw_tunnel_say_try_failed(t, now, out);
}

void cw_tunnel_attempt_failed(struct cw_tunnel *t, enum cw_cause cause, const char *detail,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	if (t->activity == ACT_CONNECTING && t->want == WANT_UP && !cw_tunnel_ike_live(t))
		try_failed(t, cause, detail, now, out);
	else
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
}

/* ---- the gate ---- */

static void enter(struct cw_tunnel *t, enum cw_tunnel_state to, enum cw_cause cause,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	enum cw_tunnel_state from = t->state;

	t->cause = cause;
	if (to == from)
		return;
	t->state = to;
	if (cw_tunnel_is_trying(from) && cw_tunnel_is_trying(to))
		return;
	cw_tunnel_say_move(t, from, now, out);
	t->since = now;
	if (to == CW_TUNNEL_UP)
		t->up_since = now;
	t->history[t->n_steps++ % CW_VIEW_HISTORY_MAX] =
		(struct step){ .at = now, .from = from, .to = to, .cause = cause };
}

static enum cw_tunnel_state state_of_absent(const struct cw_tunnel *t)
{
	if (t->want == WANT_UP && t->activity == ACT_RESOLVING)
		return t->conf->remote_addr.family == CW_FAMILY_NONE ? CW_TUNNEL_RESOLVING
								     : CW_TUNNEL_CONNECTING;
	if (t->want == WANT_UP && t->activity == ACT_CONNECTING)
		return CW_TUNNEL_CONNECTING;
	if (t->want == WANT_UP && t->activity == ACT_WAITING)
		return CW_TUNNEL_WAITING;
	if (t->activity == ACT_ABANDONING || cw_tunnel_ike_closing(t))
		return CW_TUNNEL_CLOSING;
	return t->want == WANT_UP ? CW_TUNNEL_CONNECTING : CW_TUNNEL_DOWN;
}

/* A pair that goes while another comes is told too. */
static void tell_carrying(struct cw_tunnel *t, struct cw_tunnel_actions *out)
{
	bool changed = false;

	for (uint32_t i = 0; i < t->pairs; i++)
		changed |= t->pair[i].carries != t->pair[i].told;
	if (!changed || !cw_tunnel_add(out, CW_TA_CARRYING))
		return;
	for (uint32_t i = 0; i < t->pairs; i++)
		t->pair[i].told = t->pair[i].carries;
}

/* The first children come right behind their IKE_SA, in the same exchange: until one is late or refused
 * that is still the attempt, and no state of its own to tell people of. */
static bool children_on_their_way(const struct cw_tunnel *t)
{
	if (t->state == CW_TUNNEL_UP || t->state == CW_TUNNEL_IKE_ONLY || t->why_is_child)
		return false;
	for (uint32_t i = 0; i < t->pairs; i++) {
		if (!t->pair[i].kept && (!t->pair[i].coming || t->pair[i].tries))
			return false;
	}
	return true;
}

static void derive(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	uint32_t carrying = cw_tunnel_pairs_refresh(t);

	if (t->want == WANT_DOWN) {
		enter(t,
			t->n_ikes || t->activity == ACT_ABANDONING ? CW_TUNNEL_CLOSING
								   : CW_TUNNEL_DOWN,
			t->stopping ? CW_CAUSE_STOPPING : CW_CAUSE_OPERATOR, now, out);
	} else if (cw_tunnel_ike_live(t) && carrying == t->pairs) {
		if (t->state != CW_TUNNEL_UP)
			t->times_up++;
		cw_tunnel_set_why(t, CW_CAUSE_NONE, NULL, now);
		enter(t, CW_TUNNEL_UP, CW_CAUSE_NONE, now, out);
	} else if (cw_tunnel_ike_live(t)) {
		enter(t, children_on_their_way(t) ? CW_TUNNEL_CONNECTING : CW_TUNNEL_IKE_ONLY,
			t->why, now, out);
	} else {
		enter(t, state_of_absent(t), t->why, now, out);
	}

	tell_carrying(t, out);
}

/* ---- comparing ---- */

void cw_tunnel_order(struct cw_tunnel_actions *out, enum cw_tunnel_action_kind kind, uint32_t id)
{
	struct cw_tunnel_action *a = cw_tunnel_add(out, kind);

	if (a)
		a->id = id;
}

bool cw_tunnel_has_room(const struct cw_tunnel_actions *out)
{
	return out->n + ROOM_FOR_REST < CW_TUNNEL_ACTIONS_MAX;
}

void cw_tunnel_close_ike(
	struct ike_entry *e, bool force, struct cw_time now, struct cw_tunnel_actions *out)
{
	struct cw_tunnel_action *a = cw_tunnel_add(out, CW_TA_TERMINATE_IKE);

	if (!a)
		return;
	a->id = e->info.ike_id;
	a->force = force;
	e->closing = true;
	e->close_at = cw_time_add_s(now, CW_TUNNEL_CLOSE_PATIENCE_S);
}

/* Ends what we asked to end and what did not listen. */
static void press_closing(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	bool pressed = false;

	for (size_t i = 0; i < t->n_ikes; i++) {
		if (!t->ikes[i].closing || !cw_time_reached(t->ikes[i].close_at, now))
			continue;
		cw_tunnel_close_ike(&t->ikes[i], true, now, out);
		pressed = true;
	}
	/* It may be gone and the report lost. */
	if (pressed)
		cw_tunnel_add(out, CW_TA_POLL);
}

/* Without an IKE_SA there is nothing to do about children. */
static void forget_children(struct cw_tunnel *t)
{
	for (uint32_t i = 0; i < t->pairs; i++)
		t->pair[i].due = CW_TIME_NEVER;
	t->child_dup_at = CW_TIME_NEVER;
}

/* Orders the end of everything that is not ending yet. */
static void close_all(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	bool attempt_known = false;

	for (size_t i = 0; i < t->n_ikes; i++) {
		struct ike_entry *e = &t->ikes[i];
		bool half_open = e->info.state == CW_IKE_SA_CONNECTING;

		attempt_known |= half_open;
		if (!e->closing)
			cw_tunnel_close_ike(e, half_open, now, out);
	}
	if (t->activity == ACT_CONNECTING && !attempt_known) {
		/* Only a snapshot tells its id; the first may be too early to show it. */
		cw_tunnel_add(out, CW_TA_POLL);
		t->activity = ACT_ABANDONING;
		t->act_due = cw_time_add_s(now, CW_TUNNEL_ORDER_LAG_S);
	} else if (t->activity != ACT_ABANDONING) {
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
	}
	forget_children(t);
	t->dup_at = CW_TIME_NEVER;
}

/* A peer may answer the end of a duplicate with another one. Two do no harm, closing one each
 * second does: so be slower the more often, and forget about it when there was peace for a while.
 */
void cw_tunnel_round_add(struct rounds *r, struct cw_time now)
{
	if (cw_time_diff_us(now, r->at) > DUP_PEACE_S * 1000000LL)
		r->n = 0;
	r->n++;
	r->at = now;
}

static struct cw_time dup_due(const struct rounds *r, int64_t grace_ms, struct cw_time now)
{
	if (r->n > DUP_QUICK && cw_time_diff_us(now, r->at) <= DUP_PEACE_S * 1000000LL)
		grace_ms <<= r->n - DUP_QUICK > DUP_SLOWEST ? DUP_SLOWEST : r->n - DUP_QUICK;
	return cw_time_add_ms(now, grace_ms);
}

static void settle_duplicates(
	struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *keep = cw_tunnel_ike_pick(t);
	bool waiting = false;

	if (cw_tunnel_ike_live(t) < 2) {
		t->dup_at = CW_TIME_NEVER;
		return;
	}
	if (cw_time_is_never(t->dup_at))
		t->dup_at = dup_due(&t->dup_rounds,
			keep->info.version == 1 ? DUP_GRACE_V1_MS : DUP_GRACE_V2_MS, now);
	for (size_t i = 0; i < t->n_ikes; i++) {
		struct ike_entry *e = &t->ikes[i];
		/* What the peer says it does not have needs neither grace nor DELETE, RFC 7296 2.4.
		 * Crossing ones were each the first when it was said. */
		bool forgotten = keep->initial_contact && !cw_tunnel_ike_crossed(e, keep);

		if (e == keep || e->closing || e->info.state != CW_IKE_SA_ESTABLISHED)
			continue;
		if (!forgotten && !cw_time_reached(t->dup_at, now)) {
			waiting = true;
			continue;
		}
		cw_tunnel_say_duplicate(e, keep, out);
		cw_tunnel_close_ike(e, forgotten, now, out);
	}
	if (waiting)
		return;
	t->dup_at = CW_TIME_NEVER;
	cw_tunnel_round_add(&t->dup_rounds, now);
	/* Both ends chose by the same rule; make sure that the other really has the one we kept. */
	cw_tunnel_order(out, CW_TA_CHECK_ALIVE, keep->info.ike_id);
}

/* More than one child of a pair is harmless to traffic, but each is rekeyed for ever. The decision
 * falls in close_doubled(), on what the engine has just shown. */
static void settle_child_duplicates(
	struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	bool doubled = false;

	for (uint32_t i = 0; i < t->pairs; i++)
		doubled |= t->pair[i].installed > 1;
	if (!doubled) {
		t->child_dup_at = CW_TIME_NEVER;
		t->child_dup_asked = false;
	} else if (cw_time_is_never(t->child_dup_at)) {
		t->child_dup_at = dup_due(&t->child_dup_rounds, CW_TUNNEL_CHILD_DUP_S * 1000, now);
	} else if (cw_time_reached(t->child_dup_at, now) && cw_tunnel_add(out, CW_TA_POLL)) {
		t->child_dup_at = cw_time_add_s(now, CW_TUNNEL_CHILD_DUP_S);
		t->child_dup_asked = true;
	}
}

int64_t cw_tunnel_child_grace_ms(const struct cw_ike_sa_info *ike)
{
	return ike->initiator ? CW_TUNNEL_CHILD_GRACE_MS : 2 * CW_TUNNEL_CHILD_GRACE_MS;
}

/* The first child of an IKEv2 SA has no DH exchange of its own (RFC 7296 1.2), so where the two sides' groups
 * differ it comes up, its rekey fails, and only a new IKE_SA brings it back: then don't ask for long. */
static uint32_t child_tries_max(const struct cw_tunnel *t, const struct ike_entry *ike)
{
	bool group = t->why == CW_CAUSE_DH_GROUP || t->why == CW_CAUSE_NO_ESP_PROPOSAL;
	bool was_up = t->times_up && t->up_since.us >= ike->up_at.us;

	return t->why_is_child && group && was_up ? CHILD_TRIES_GROUP : CHILD_TRIES_MAX;
}

static void settle_children(struct cw_tunnel *t, struct ike_entry *ike, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	bool any = cw_tunnel_pairs_refresh(t) > 0, tired = !any, due = false, lost = false;

	for (uint32_t i = 0; i < t->pairs; i++) {
		struct pair_entry *p = &t->pair[i];

		if (p->kept) {
			p->due = CW_TIME_NEVER;
			p->tries = well_up(t, now) ? 0 : p->tries;
			continue;
		}
		if (cw_time_is_never(p->due)) {
			p->due = cw_time_add_ms(now, cw_tunnel_child_grace_ms(&ike->info));
			p->coming = true;
		}
		due |= cw_time_reached(p->due, now);
		tired &= p->tries >= child_tries_max(t, ike);
	}
	/* Pairs that carry are never given up for one that does not. */
	if (due && tired) {
		cw_tunnel_close_ike(ike, false, now, out);
		for (uint32_t i = 0; i < t->pairs; i++) {
			t->pair[i].due = CW_TIME_NEVER;
			t->pair[i].tries = 0;
			t->pair[i].coming = false;
		}
		return;
	}
	for (uint32_t i = 0; due && i < t->pairs; i++) {
		struct pair_entry *p = &t->pair[i];

		if (!cw_time_reached(p->due, now))
			continue;
		if (!cw_tunnel_has_room(out)) {
			out->full = true;
			break;
		}
		cw_tunnel_add(out, CW_TA_INITIATE)->pair = i;
		if (p->tries++ == 0 && t->why_is_child)
			lost = true;
		p->due = cw_time_add_s(now, CW_TUNNEL_CHILD_GUARD_S);
		p->coming = true;
	}
	if (lost)
		cw_tunnel_say_child_lost(t, now, out);
	settle_child_duplicates(t, now, out);
}

static void settle_absent(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	/* First what is ending, so that the engine can't mistake it for the new one. */
	if (t->activity != ACT_IDLE || cw_tunnel_ike_closing(t))
		return;
	/* Listening: the engine must know us, and the peer's address and ours may move. */
	if (t->want == WANT_UP || cw_time_is_never(t->act_due))
		begin(t, now, out);
}

static void settle(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *ike;

	if (!t->started)
		return;
	press_closing(t, now, out);
	if (t->want == WANT_DOWN) {
		if (t->engine_set && cw_tunnel_add(out, CW_TA_ENGINE_REMOVE))
			t->engine_set = false;
		close_all(t, now, out);
	} else {
		settle_duplicates(t, now, out);
		ike = cw_tunnel_ike_pick(t);
		if (ike) {
			if (t->activity == ACT_WAITING || t->activity == ACT_IDLE)
				cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
			if (well_up(t, now))
				t->failures = 0;
			settle_children(t, ike, now, out);
			cw_tunnel_repair_settle(t, &ike->info, now, out);
		}
		if (!cw_tunnel_ike_live(t)) {
			forget_children(t);
			settle_absent(t, now, out);
		}
	}
	derive(t, now, out);
	t->more = out->full;
	t->stepped_at = now;
}

/* ---- orders and deadlines ---- */

static void resolved(struct cw_tunnel *t, const struct cw_tunnel_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	if (t->activity != ACT_RESOLVING)
		return;
	t->remote = ev->remote;
	t->local = ev->local;
	cw_tunnel_add(out, CW_TA_ENGINE_SET);
	t->engine_set = true;
	if (t->want != WANT_UP) {
		cw_tunnel_act(t, ACT_IDLE, now, cw_time_add_s(now, LISTEN_REFRESH_S));
	} else if (cw_tunnel_ike_live(t)) {
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
	} else {
		cw_tunnel_act(t, ACT_CONNECTING, now, cw_time_add_s(now, CW_TUNNEL_ATTEMPT_DOUBT_S));
		cw_tunnel_add(out, CW_TA_INITIATE);
	}
}

/* Without settings the peer is refused, so a listening tunnel tries to set them again in its own time. Those of
 * an earlier try the engine may still have: engine_set stays, so that DOWN takes them away. */
static void engine_refused(struct cw_tunnel *t, const struct cw_tunnel_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	if (t->activity == ACT_CONNECTING)
		cw_tunnel_attempt_failed(t, ev->cause, ev->detail, now, out);
	else
		cw_tunnel_set_why(t, ev->cause, ev->detail, now);
}

static void timer(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	if (!cw_time_reached(t->act_due, now))
		return;
	switch (t->activity) {
	case ACT_IDLE: /* listening */
	case ACT_WAITING:
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
		break;
	case ACT_RESOLVING:
		try_failed(t, CW_CAUSE_RESOLVE, "the resolver does not answer", now, out);
		break;
	case ACT_CONNECTING:
	case ACT_ABANDONING:
		t->act_due = cw_time_add_s(now, CW_TUNNEL_ORDER_LAG_S);
		cw_tunnel_add(out, CW_TA_POLL);
		break;
	}
}

static void order_up(struct cw_tunnel *t, struct cw_time now)
{
	t->want = WANT_UP;
	t->failures = 0;
	for (uint32_t i = 0; i < t->pairs; i++)
		t->pair[i].tries = 0;
	cw_tunnel_say_anew(t);
	if (t->activity == ACT_WAITING || t->activity == ACT_IDLE)
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
}

static void order_down(struct cw_tunnel *t, enum cw_cause cause, struct cw_time now)
{
	t->want = WANT_DOWN;
	cw_tunnel_set_why(t, cause, NULL, now);
}

/* Down and up again: what there is ends first, an attempt too. */
static void order_restart(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	if (t->n_ikes || t->activity == ACT_CONNECTING)
		cw_tunnel_set_why(t, CW_CAUSE_OPERATOR, "restart", now);
	close_all(t, now, out);
	order_up(t, now);
}

void cw_tunnel_step(struct cw_tunnel *t, const struct cw_tunnel_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	const struct cw_ike_sa_info *primary = cw_tunnel_primary(t);

	out->n = 0;
	out->full = false;
	switch (ev->kind) {
	case CW_TEV_START:
		t->started = true;
		t->want = t->conf->start ? WANT_UP : WANT_LISTEN;
		break;
	case CW_TEV_UP:
		if (!t->stopping)
			order_up(t, now);
		break;
	case CW_TEV_RESTART:
		if (!t->stopping)
			order_restart(t, now, out);
		break;
	case CW_TEV_STOP:
		t->stopping = true;
		order_down(t, CW_CAUSE_STOPPING, now);
		break;
	case CW_TEV_DOWN:
		if (!t->stopping)
			order_down(t, CW_CAUSE_OPERATOR, now);
		break;
	case CW_TEV_RESOLVED:
		resolved(t, ev, now, out);
		break;
	case CW_TEV_RESOLVE_FAILED:
		if (t->activity == ACT_RESOLVING)
			try_failed(t, ev->cause, ev->detail, now, out);
		break;
	case CW_TEV_IKE:
		cw_tunnel_hear_event(t, ev->ike, now, out);
		break;
	case CW_TEV_SNAPSHOT:
		cw_tunnel_hear_snapshot(t, ev->ike, now, out);
		break;
	case CW_TEV_SNAPSHOT_END:
		cw_tunnel_hear_snapshot_end(t, ev->poll_at, now, out);
		break;
	case CW_TEV_CHILD_BROKEN:
		if (cw_tunnel_child_find(t, ev->child_id))
			cw_tunnel_order(out, CW_TA_TERMINATE_CHILD, ev->child_id);
		break;
	case CW_TEV_SILENCE:
		if (primary)
			cw_tunnel_order(out, CW_TA_CHECK_ALIVE, primary->ike_id);
		break;
	case CW_TEV_KERNEL_FAILED: /* the daemon says it; it knows the interface */
		cw_tunnel_set_why(t, CW_CAUSE_KERNEL, ev->detail, now);
		break;
	case CW_TEV_ENGINE_REFUSED:
		engine_refused(t, ev, now, out);
		break;
	case CW_TEV_TIMER:
		timer(t, now, out);
		break;
	}
	settle(t, now, out);
}
