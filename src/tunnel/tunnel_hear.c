/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine says, in events and in snapshots, put into the two sets. What is to be asked for
 * in return is settle()'s to find out, but for the pause after a failed try.
 */
#include "tunnel/tunnel_priv.h"

#include <stdio.h>

#include "base/backoff.h"

/* From the loss of a CHILD_SA until it is asked for again: the IKE_SA's initiator goes first, so
 * that the two ends don't make one each. */
#define CHILD_LOST_INITIATOR_MS 200
#define CHILD_LOST_RESPONDER_MS 1200

/* The tunnel's only IKE_SA is gone, or as good as gone. */
static void loss(struct cw_tunnel *t, struct cw_time up_at, enum cw_cause cause, const char *detail,
	struct cw_time now)
{
	bool well;

	cw_tunnel_set_why(t, cause == CW_CAUSE_NONE ? CW_CAUSE_LOST : cause, detail, now);
	if (t->want != WANT_UP || (t->activity != ACT_IDLE && t->activity != ACT_WAITING))
		return;
	well = cw_time_diff_us(now, up_at) > CW_TUNNEL_WELL_UP_US;
	if (well)
		t->failures = 0;
	/* Once more at once, unless it had hardly come up: that would make a storm. To find a peer
	 * dead takes its time. */
	if (well || cause == CW_CAUSE_PEER_DEAD)
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
	else
		cw_tunnel_pause(t, cause, detail, now);
}

static void lost_ike(struct cw_tunnel *t, uint32_t ike_id, enum cw_cause cause, const char *detail,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ike_id), *other;
	/* Losing one of two, or one we closed ourselves, is no loss of the tunnel. */
	bool counted = e && e == cw_tunnel_ike_pick(t);
	struct cw_time up_at = e ? e->up_at : now;
	bool inherited = e && e->info.version == 1 && cause != CW_CAUSE_PEER_DEAD;

	if (e)
		e->closing = true;
	other = cw_tunnel_ike_pick(t);
	if (inherited && other) {
		/* IKEv1's children outlive their IKE_SA and go over to the next one. If they did
		 * not, a snapshot shows it. */
		for (size_t i = 0; i < t->n_children; i++) {
			if (t->children[i].info.ike_id != ike_id)
				continue;
			t->children[i].info.ike_id = other->info.ike_id;
			if (cw_tunnel_has_room(out))
				cw_tunnel_add(out, CW_TA_POLL);
		}
	}
	cw_tunnel_ike_drop(t, ike_id);
	if (counted && !other)
		loss(t, up_at, cause, detail, now);
}

static void child_failed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	/* With one pair every child is its child. */
	uint32_t pair = t->pairs == 1 ? 0 : ev->child.pair;
	struct pair_entry *p;

	/* If it is not known which, those that are missing are asked for again in their own time. */
	if (pair >= t->pairs || cw_tunnel_pair_carries(t, pair)) {
		cw_tunnel_set_error(t, ev->cause, ev->detail, now);
		return;
	}
	p = &t->pair[pair];
	/* The one that came with the IKE_SA was a try too. */
	if (p->tries == 0)
		p->tries = 1;
	p->due = cw_time_add_ms(now, cw_backoff_ms(t->conf->retry_min_s, t->conf->retry_max_s,
					     p->tries, cw_backoff_random(&t->random)));
	p->coming = false;
	cw_tunnel_set_why(t, ev->cause, ev->detail, now);
	t->why_is_child = true;
	cw_tunnel_say_child_refused(t, now, out);
}

static void failed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->ike_id);

	if (!ev->by_us) {
		cw_tunnel_set_error(t, ev->cause, ev->detail, now);
		cw_tunnel_say_peer_failed(t, ev, now, out);
	} else if (ev->is_child) {
		child_failed(t, ev, now, out);
	} else if (e) {
		/* Seen in a snapshot before; it counts unless we ended it ourselves. */
		bool closing = e->closing;

		if (e->info.state == CW_IKE_SA_ESTABLISHED && !closing)
			return;
		cw_tunnel_ike_drop(t, ev->ike_id);
		cw_tunnel_gone_add(&t->gone_ikes, ev->ike_id);
		if (!closing)
			cw_tunnel_attempt_failed(t, ev->cause, ev->detail, now, out);
	} else if ((t->activity == ACT_CONNECTING || t->activity == ACT_ABANDONING) &&
		   !cw_tunnel_gone_has(&t->gone_ikes, ev->ike_id)) {
		cw_tunnel_attempt_failed(t, ev->cause, ev->detail, now, out);
	}
}

static void ike_seen(struct cw_tunnel *t, const struct cw_ike_sa_info *info, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, info->ike_id);
	bool was_up = e && e->info.state == CW_IKE_SA_ESTABLISHED, is_new, is_up;
	struct cw_tunnel_action *a;

	/* Half open from outside: whoever can forge an address makes as many as he likes. */
	if (info->state == CW_IKE_SA_CONNECTING && !info->initiator)
		return;
	e = cw_tunnel_ike_put(t, info, now, &is_new);
	if (!e) {
		a = cw_tunnel_add(out, CW_TA_TERMINATE_IKE);
		if (a) {
			a->id = info->ike_id;
			a->force = true;
		}
		return;
	}
	if (t->contact_id == info->ike_id)
		e->initial_contact = true;
	is_up = info->state == CW_IKE_SA_ESTABLISHED && !was_up;
	/* What kept it from being up is over, unless it is about the child. */
	if (is_up && !e->closing && !t->why_is_child && t->want != WANT_DOWN)
		cw_tunnel_set_why(t, CW_CAUSE_NONE, NULL, now);
	if (!info->initiator || !(is_new || is_up))
		return;
	if (t->activity == ACT_ABANDONING) {
		cw_tunnel_close_ike(e, info->state == CW_IKE_SA_CONNECTING, now, out);
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
	} else if (t->activity == ACT_CONNECTING && is_up) {
		cw_tunnel_act(t, ACT_IDLE, now, CW_TIME_NEVER);
	}
}

static void ike_rekeyed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->old_id), old = { 0 };
	bool known = e, is_new;

	if (e)
		old = *e;
	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.ike_id == ev->old_id)
			t->children[i].info.ike_id = ev->ike.ike_id;
	}
	cw_tunnel_ike_drop(t, ev->old_id);
	cw_tunnel_gone_add(&t->gone_ikes, ev->old_id);
	e = cw_tunnel_ike_put(t, &ev->ike, now, &is_new);
	if (e && known) {
		e->up_at = old.up_at;
		e->first_spi_i = old.first_spi_i;
		e->first_initiator = old.first_initiator;
	}
	if (e && old.closing)
		cw_tunnel_close_ike(e, false, now, out);
	if (!t->last_rekey_is_child)
		t->last_rekey_error = CW_CAUSE_NONE;
}

/* Children come one after another: while one comes, the others are on their way still. */
static void children_coming(struct cw_tunnel *t, struct cw_time now)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);

	for (uint32_t i = 0; ike && i < t->pairs; i++) {
		struct pair_entry *p = &t->pair[i];
		struct cw_time later =
			p->tries ? cw_time_add_s(now, CW_TUNNEL_CHILD_GUARD_S)
				 : cw_time_add_ms(now, 2 * cw_tunnel_child_grace_ms(ike));

		if (p->coming && !cw_time_is_never(p->due) && p->due.us < later.us)
			p->due = later;
	}
}

static void child_up(struct cw_tunnel *t, const struct cw_child_info *info, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	bool is_new = !cw_tunnel_child_find(t, info->child_id);
	struct child_entry *c = cw_tunnel_child_put(t, info, now);

	/* An IKE_SA that we did not hear of. */
	if (!cw_tunnel_ike_find(t, info->ike_id))
		cw_tunnel_add(out, CW_TA_POLL);
	if (!c || !is_new)
		return;
	if (info->narrowed)
		cw_tunnel_say_narrowed(info, out);
}

static void lost_child(struct cw_tunnel *t, uint32_t child_id, enum cw_cause cause,
	const char *detail, struct cw_time now)
{
	struct child_entry *c = cw_tunnel_child_find(t, child_id);
	struct pair_entry *p;
	uint32_t pair, ms;

	if (!c)
		return;
	pair = c->info.pair;
	cw_tunnel_child_drop(t, child_id);
	if (pair >= t->pairs || cw_tunnel_pair_carries(t, pair) || !cw_tunnel_primary(t))
		return;
	/* Soon the first time, but not before its IKE_SA can be told as gone as well; then the
	 * pause grows with what comes of it. */
	cw_tunnel_set_why(t, cause == CW_CAUSE_NONE ? CW_CAUSE_LOST : cause, detail, now);
	t->why_is_child = true;
	p = &t->pair[pair];
	ms = cw_tunnel_primary(t)->initiator ? CHILD_LOST_INITIATOR_MS : CHILD_LOST_RESPONDER_MS;
	if (p->tries)
		ms = cw_backoff_ms(t->conf->retry_min_s, t->conf->retry_max_s, p->tries,
			cw_backoff_random(&t->random));
	p->due = cw_time_add_ms(now, ms);
	p->coming = ms == CHILD_LOST_RESPONDER_MS;
}

void cw_tunnel_hear_event(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->ike.ike_id);
	struct cw_time line_at;
	struct child_entry *c;
	bool is_new;

	switch (ev->kind) {
	case CW_IKE_EV_IKE_UP:
		if (!cw_tunnel_gone_has(&t->gone_ikes, ev->ike.ike_id))
			ike_seen(t, &ev->ike, now, out);
		break;
	case CW_IKE_EV_IKE_DOWN:
		lost_ike(t, ev->ike_id, ev->cause, ev->detail, now, out);
		cw_tunnel_gone_add(&t->gone_ikes, ev->ike_id);
		break;
	case CW_IKE_EV_IKE_REKEYED:
		ike_rekeyed(t, ev, now, out);
		cw_tunnel_say_rekeyed(t, ev, now, out);
		break;
	case CW_IKE_EV_CHILD_UP:
		child_up(t, &ev->child, now, out);
		children_coming(t, now);
		break;
	case CW_IKE_EV_CHILD_REKEYED:
		/* The old one goes on for late packets; CHILD_DOWN or a snapshot ends it. */
		c = cw_tunnel_child_find(t, ev->old_id);
		line_at = c ? c->line_at : now;
		if (c)
			c->info.state = CW_CHILD_REKEYED;
		child_up(t, &ev->child, now, out);
		c = cw_tunnel_child_find(t, ev->child.child_id);
		if (c)
			c->line_at = line_at;
		cw_tunnel_say_rekeyed(t, ev, now, out);
		if (t->last_rekey_is_child)
			t->last_rekey_error = CW_CAUSE_NONE;
		break;
	case CW_IKE_EV_CHILD_DOWN:
		/* It has the last counters. */
		if (cw_tunnel_child_find(t, ev->child.child_id))
			cw_tunnel_child_put(t, &ev->child, now);
		lost_child(t, ev->child.child_id, ev->cause, ev->detail, now);
		cw_tunnel_gone_add(&t->gone_children, ev->child.child_id);
		break;
	case CW_IKE_EV_FAILED:
		failed(t, ev, now, out);
		break;
	case CW_IKE_EV_REKEY_FAILED:
		cw_tunnel_say_rekey_failed(t, ev, ev->cause == t->last_rekey_error, now, out);
		t->last_rekey_error = ev->cause;
		t->last_rekey_is_child = ev->is_child;
		snprintf(t->last_rekey_detail, sizeof(t->last_rekey_detail), "%s", ev->detail);
		break;
	case CW_IKE_EV_INITIAL_CONTACT:
		t->contact_id = ev->ike_id;
		e = cw_tunnel_ike_find(t, ev->ike_id);
		if (e)
			e->initial_contact = true;
		break;
	case CW_IKE_EV_NAT_MAPPED:
		if (e)
			cw_tunnel_ike_put(t, &ev->ike, now, &is_new);
		break;
	case CW_IKE_EV_SNAPSHOT:
		break;
	}
}

static void snapshot_children(
	struct cw_tunnel *t, const struct cw_ike_event *ev, bool stale, struct cw_time now)
{
	for (size_t i = 0; i < ev->n_children; i++) {
		const struct cw_child_info *info = &ev->children[i];
		struct child_entry *c = cw_tunnel_child_find(t, info->child_id);

		if (cw_tunnel_gone_has(&t->gone_children, info->child_id))
			continue;
		/* What was replaced since the record was written does not come back either. */
		if (!stale && (!c || cw_tunnel_child_live(c) || info->state > CW_CHILD_REKEYING))
			c = cw_tunnel_child_put(t, info, now);
		if (c)
			c->seen_at = now;
	}
}

void cw_tunnel_hear_snapshot(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	/* Written before the engine told its end: it brings nothing back. But if the IKE_SA was
	 * replaced, its children live on. */
	bool stale = cw_tunnel_gone_has(&t->gone_ikes, ev->ike.ike_id);
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->ike.ike_id);
	bool was_primary = e && e == cw_tunnel_ike_pick(t);
	struct cw_ike_sa_info info = ev->ike;

	/* Its successor is about to be told, by an event or in this very snapshot. */
	if (was_primary && cw_tunnel_ike_live(t) == 1 && info.state == CW_IKE_SA_REKEYED)
		info.state = CW_IKE_SA_ESTABLISHED;
	if (!stale)
		ike_seen(t, &info, now, out);
	snapshot_children(t, ev, stale, now);
	e = cw_tunnel_ike_find(t, ev->ike.ike_id);
	if (!e)
		return;
	e->seen_at = now;
	if (was_primary && info.state == CW_IKE_SA_DELETING && !e->closing) {
		/* Ending, and not by us. See it to its end, but don't wait for that. */
		e->closing = true;
		e->close_at = cw_time_add_s(now, CW_TUNNEL_CLOSE_PATIENCE_S);
		if (!cw_tunnel_ike_live(t))
			loss(t, e->up_at, CW_CAUSE_LOST, "", now);
	}
}

/* Both were there long before the snapshot, and it shows them. */
static bool surely_doubled(
	const struct child_entry *c, const struct child_entry *d, struct cw_time poll_at)
{
	struct cw_time settled_at = cw_time_add_s(poll_at, -CW_TUNNEL_CHILD_DUP_S + 1);

	return c != d && c->info.pair == d->info.pair && c->info.ike_id == d->info.ike_id &&
	       c->info.state == CW_CHILD_INSTALLED && d->info.state == CW_CHILD_INSTALLED &&
	       c->seen_at.us >= poll_at.us && d->seen_at.us >= poll_at.us &&
	       c->line_at.us < settled_at.us && d->line_at.us < settled_at.us;
}

/* Of two children of one pair, closes one; see settle_child_duplicates() in tunnel_fsm.c. */
static void close_doubled(struct cw_tunnel *t, struct cw_time poll_at, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	const struct cw_ike_sa_info *primary = cw_tunnel_primary(t);
	bool any = false;

	if (!t->child_dup_asked)
		return;
	cw_tunnel_pairs_refresh(t);
	for (size_t i = 0; primary && i < t->n_children; i++) {
		const struct child_entry *c = &t->children[i];
		bool loses = false;

		if (c->info.pair >= t->pairs || t->pair[c->info.pair].installed < 2 ||
			c->info.ike_id != primary->ike_id)
			continue;
		for (size_t j = 0; j < t->n_children; j++) {
			const struct child_entry *d = &t->children[j];

			loses |= surely_doubled(c, d, poll_at) &&
				 cw_tunnel_child_wins(d, c, primary->version);
		}
		if (!loses)
			continue;
		if (!cw_tunnel_has_room(out)) {
			t->child_dup_at = cw_time_add_s(now, 1); /* the rest on another snapshot */
			return;
		}
		cw_tunnel_order(out, CW_TA_TERMINATE_CHILD, c->info.child_id);
		any = true;
	}
	if (any)
		cw_tunnel_round_add(&t->child_dup_rounds, now);
}

/* An attempt that the engine forgot, or whose end was told and not heard. A busy engine begins it late, so
 * one that is wanted gets the time that one which is to end does not. */
static bool attempt_is_lost(struct cw_tunnel *t, struct cw_time poll_at)
{
	int64_t age_us = cw_time_diff_us(poll_at, t->act_at);

	if (t->activity == ACT_ABANDONING)
		return age_us >= CW_TUNNEL_ORDER_LAG_S * 1000000LL;
	if (t->activity != ACT_CONNECTING || age_us < CW_TUNNEL_ATTEMPT_DOUBT_S * 1000000LL)
		return false;
	return ++t->unseen >= CW_TUNNEL_UNSEEN_MAX;
}

void cw_tunnel_hear_snapshot_end(struct cw_tunnel *t, struct cw_time poll_at, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	bool attempt_seen = false;

	for (size_t i = t->n_ikes; i-- > 0;) {
		struct ike_entry *e = &t->ikes[i];

		if (e->known_at.us < poll_at.us && e->seen_at.us < poll_at.us)
			lost_ike(t, e->info.ike_id, CW_CAUSE_LOST, "", now, out);
		else
			attempt_seen |= e->info.state == CW_IKE_SA_CONNECTING && e->info.initiator;
	}
	for (size_t i = t->n_children; i-- > 0;) {
		const struct child_entry *c = &t->children[i];

		if (c->known_at.us < poll_at.us && c->seen_at.us < poll_at.us)
			lost_child(t, c->info.child_id, CW_CAUSE_LOST, "", now);
	}
	close_doubled(t, poll_at, now, out);
	if (attempt_seen)
		t->unseen = 0;
	else if (attempt_is_lost(t, poll_at))
		cw_tunnel_attempt_failed(t, CW_CAUSE_LOST, "", now, out);
}
