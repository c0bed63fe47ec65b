/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine: what the engine reports goes into the sets, settle() compares them with what is wanted.
 */
#include "tunnel/tunnel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tunnel/backoff.h"
#include "tunnel/tunnel_priv.h"

#define WELL_UP_S 10	     /* up this long: the next loss starts counting anew */
#define RESOLVE_DOUBT_S 30   /* a lookup that says nothing for so long has failed */
#define ATTEMPT_DOUBT_S 10   /* an attempt that says nothing: look whether it is still there */
#define CLOSE_PATIENCE_S 4   /* a DELETE without an answer: don't wait any longer */
#define DUP_GRACE_V2_MS 1000 /* see tunnel.h, two IKE_SAs */
#define DUP_GRACE_V1_MS 5000
#define CHILD_GRACE_MS 2000  /* the children that come with the IKE_SA */
#define CHILD_GUARD_S 12     /* an asked-for child that says nothing */
#define CHILD_TRIES_MAX 6    /* then the IKE_SA is made anew */
#define LISTEN_REFRESH_S 60  /* a listening tunnel looks its peer's name up again */
#define SAME_LINE_S 600	     /* the same failure is logged again after so long */
#define PEER_LINE_S 60	     /* failures that a peer can cause at will: one line a minute */

static struct cw_tunnel_action *add(struct cw_tunnel_actions *out, enum cw_tunnel_action_kind kind)
{
	if (out->n == CW_TUNNEL_ACTIONS_MAX) {
		out->full = true;
		return NULL;
	}
	out->v[out->n] = (struct cw_tunnel_action){ .kind = kind };
	return &out->v[out->n++];
}

__attribute__((format(printf, 4, 5))) static void say(struct cw_tunnel_actions *out,
						      enum cw_log_level level, enum cw_log_id id,
						      const char *fmt, ...)
{
	struct cw_tunnel_action *a = add(out, CW_TA_LOG);
	va_list args;

	if (!a)
		return;
	a->level = level;
	a->log_id = id;
	va_start(args, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, args);
	va_end(args);
}

static enum cw_log_id log_id_of(enum cw_cause cause)
{
	switch (cause) {
	case CW_CAUSE_AUTH_BY_PEER:
	case CW_CAUSE_AUTH_BY_US:
		return CW_LOG_AUTH_FAILED;
	case CW_CAUSE_NO_IKE_PROPOSAL:
	case CW_CAUSE_NO_ESP_PROPOSAL:
	case CW_CAUSE_DH_GROUP:
		return CW_LOG_NO_PROPOSAL;
	case CW_CAUSE_TS_UNACCEPTABLE:
		return CW_LOG_TS_UNACCEPTABLE;
	case CW_CAUSE_RESOLVE:
		return CW_LOG_RESOLVE_FAILED;
	case CW_CAUSE_NAT_FORBIDDEN:
		return CW_LOG_NAT_FOUND;
	case CW_CAUSE_KERNEL:
		return CW_LOG_KERNEL_REFUSED;
	default:
		return CW_LOG_TUNNEL_RETRY;
	}
}

static void set_why(struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now)
{
	t->why = cause;
	snprintf(t->detail, sizeof(t->detail), "%s", detail ? detail : "");
	if (cause == CW_CAUSE_NONE || cause == CW_CAUSE_OPERATOR || cause == CW_CAUSE_STOPPING)
		return;
	t->last_error = cause;
	snprintf(t->last_error_detail, sizeof(t->last_error_detail), "%s", t->detail);
	t->last_error_at = now;
}

/* ---- trying ---- */

static void act(struct cw_tunnel *t, enum activity activity, struct cw_time now, struct cw_time due)
{
	t->activity = activity;
	t->act_at = now;
	t->act_due = due;
}

static void begin(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	act(t, ACT_RESOLVING, now, cw_time_add_s(now, RESOLVE_DOUBT_S));
	t->missing = 0;
	add(out, CW_TA_RESOLVE);
}

static bool is_auth(enum cw_cause cause)
{
	return cause == CW_CAUSE_AUTH_BY_PEER || cause == CW_CAUSE_AUTH_BY_US;
}

static void pause_after(struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now,
			struct cw_tunnel_actions *out)
{
	const struct cw_tunnel_conf *c = t->conf;
	uint32_t random = cw_backoff_random(&t->random), pause_ms;
	bool same;

	t->failures++;
	pause_ms = is_auth(cause) ? cw_backoff_ms(c->retry_auth_s, c->retry_auth_s, 1, random) :
				    cw_backoff_ms(c->retry_min_s, c->retry_max_s, t->failures, random);
	set_why(t, cause, detail, now);
	act(t, ACT_WAITING, now, cw_time_add_ms(now, pause_ms));

	/* The first of its kind is news, the hundredth is not. */
	same = cause == t->logged_cause && !cw_time_is_never(t->logged_at) &&
	       cw_time_diff_us(now, t->logged_at) < SAME_LINE_S * 1000000LL;
	if (!same) {
		t->logged_cause = cause;
		t->logged_at = now;
	}
	say(out, same ? CW_LOG_INFO : CW_LOG_WARNING, log_id_of(cause), "try %u failed: %s%s%s%s; next in %u.%u s%s%s%s",
	    t->failures, cw_cause_text(cause), t->detail[0] ? " (" : "", t->detail, t->detail[0] ? ")" : "",
	    pause_ms / 1000, pause_ms % 1000 / 100, same || !cw_cause_remedy(cause)[0] ? "" : "; ",
	    same ? "" : cw_cause_remedy(cause), "");
}

/* ---- the gate ---- */

/* States in which nothing is up and we are on our way; moving among them is no news. */
static bool is_trying(enum cw_tunnel_state s)
{
	return s == CW_TUNNEL_RESOLVING || s == CW_TUNNEL_CONNECTING || s == CW_TUNNEL_WAITING;
}

static void log_move(const struct cw_tunnel *t, enum cw_tunnel_state from, struct cw_time now,
		     struct cw_tunnel_actions *out)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);
	char peer[CW_ADDR_TEXT_MAX];

	if (t->state == CW_TUNNEL_UP && ike) {
		say(out, CW_LOG_NOTICE, CW_LOG_TUNNEL_UP, "up: IKEv%u with %s%s, %s; %s", ike->version,
		    cw_addr_print(&ike->remote, peer, sizeof(peer)),
		    ike->encap ? " (UDP encapsulated)" : "", ike->proposal,
		    ike->initiator ? "we started it" : "the peer started it");
	} else if (from == CW_TUNNEL_UP || (from == CW_TUNNEL_IKE_ONLY && t->state != CW_TUNNEL_UP)) {
		int64_t lasted_s = cw_time_diff_us(now, t->since) / 1000000;

		say(out, t->why == CW_CAUSE_OPERATOR || t->why == CW_CAUSE_STOPPING ? CW_LOG_NOTICE : CW_LOG_WARNING,
		    CW_LOG_TUNNEL_DOWN, "%s after %lld s %s: %s%s%s%s%s",
		    t->state == CW_TUNNEL_IKE_ONLY ? "no CHILD_SA" : "down", (long long)lasted_s,
		    cw_tunnel_state_name(from), cw_cause_text(t->why), t->detail[0] ? " (" : "",
		    t->detail, t->detail[0] ? ")" : "",
		    is_trying(t->state) || t->state == CW_TUNNEL_IKE_ONLY ? "; it is tried again" : "");
	}
}

static void enter(struct cw_tunnel *t, enum cw_tunnel_state to, enum cw_cause cause, struct cw_time now,
		  struct cw_tunnel_actions *out)
{
	enum cw_tunnel_state from = t->state;

	t->cause = cause;
	if (to == from)
		return;
	t->state = to;
	if (is_trying(from) && is_trying(to))
		return;
	log_move(t, from, now, out);
	t->since = now;
	t->history[t->n_steps++ % CW_VIEW_HISTORY_MAX] =
		(struct step){ .at = now, .from = from, .to = to, .cause = cause };
}

static void derive(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	uint32_t carrying = cw_tunnel_pairs_carrying(t);
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);

	if (t->want == WANT_DOWN) {
		enter(t, t->n_ikes ? CW_TUNNEL_CLOSING : CW_TUNNEL_DOWN,
		      t->stopping ? CW_CAUSE_STOPPING : CW_CAUSE_OPERATOR, now, out);
	} else if (ike && carrying == t->pairs) {
		if (t->state != CW_TUNNEL_UP)
			t->times_up++;
		t->why = CW_CAUSE_NONE;
		t->detail[0] = '\0';
		t->logged_cause = CW_CAUSE_NONE;
		enter(t, CW_TUNNEL_UP, CW_CAUSE_NONE, now, out);
	} else if (ike) {
		enter(t, CW_TUNNEL_IKE_ONLY, t->why, now, out);
	} else if (t->restarting) {
		enter(t, CW_TUNNEL_CLOSING, CW_CAUSE_OPERATOR, now, out);
	} else if (t->activity == ACT_RESOLVING && t->conf->remote_addr.family == CW_FAMILY_NONE) {
		enter(t, CW_TUNNEL_RESOLVING, t->why, now, out);
	} else if (t->activity == ACT_RESOLVING || t->activity == ACT_CONNECTING) {
		enter(t, t->want == WANT_UP ? CW_TUNNEL_CONNECTING : CW_TUNNEL_DOWN, t->why, now, out);
	} else if (t->activity == ACT_WAITING && t->want == WANT_UP) {
		enter(t, CW_TUNNEL_WAITING, t->why, now, out);
	} else {
		enter(t, CW_TUNNEL_DOWN, t->why, now, out);
	}

	if (carrying != t->carrying_pairs) {
		t->carrying_pairs = carrying;
		t->carrying = carrying > 0;
		add(out, CW_TA_CARRYING);
	}
}

/* ---- comparing ---- */

static void close_ike(struct cw_tunnel *t, struct ike_entry *e, bool force, struct cw_time now,
		      struct cw_tunnel_actions *out)
{
	struct cw_tunnel_action *a = add(out, CW_TA_TERMINATE_IKE);

	(void)t;
	if (!a)
		return;
	a->id = e->info.ike_id;
	a->force = force;
	e->closing = true;
	e->close_at = cw_time_add_s(now, CLOSE_PATIENCE_S);
}

/* Ends what we asked to end and what did not listen. */
static void press_closing(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	for (size_t i = 0; i < t->n_ikes; i++) {
		if (t->ikes[i].closing && cw_time_reached(t->ikes[i].close_at, now))
			close_ike(t, &t->ikes[i], true, now, out);
	}
}

static void close_all(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	for (size_t i = 0; i < t->n_ikes; i++) {
		if (!t->ikes[i].closing)
			close_ike(t, &t->ikes[i], false, now, out);
	}
	/* An attempt without an answer is known to the engine only; a snapshot shows it. */
	if (t->activity == ACT_CONNECTING)
		add(out, CW_TA_POLL);
	act(t, ACT_IDLE, now, CW_TIME_NEVER);
	t->child_due = CW_TIME_NEVER;
}

static void settle_duplicates(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *keep;
	struct cw_tunnel_action *a;

	if (cw_tunnel_ike_live(t) < 2) {
		t->dup_at = CW_TIME_NEVER;
		return;
	}
	if (cw_time_is_never(t->dup_at))
		t->dup_at = cw_time_add_ms(now, t->conf->ike_version == CW_IKE_V1 ? DUP_GRACE_V1_MS :
										     DUP_GRACE_V2_MS);
	if (!cw_time_reached(t->dup_at, now))
		return;
	t->dup_at = CW_TIME_NEVER;
	keep = cw_tunnel_ike_pick(t);
	for (size_t i = 0; i < t->n_ikes; i++) {
		struct ike_entry *e = &t->ikes[i];

		if (e == keep || e->closing || e->info.state != CW_IKE_SA_ESTABLISHED)
			continue;
		say(out, CW_LOG_INFO, CW_LOG_DUPLICATE_SA,
		    "a second IKE_SA (%016llx_i) is closed, %016llx_i is kept",
		    (unsigned long long)e->info.spi_i, (unsigned long long)keep->info.spi_i);
		close_ike(t, e, false, now, out);
	}
	/* Both ends chose by the same rule; make sure that the other really has the one we kept. */
	a = add(out, CW_TA_CHECK_ALIVE);
	if (a)
		a->id = keep->info.ike_id;
}

static void settle_children(struct cw_tunnel *t, const struct ike_entry *ike, struct cw_time now,
			    struct cw_tunnel_actions *out)
{
	struct cw_tunnel_action *a;

	if (cw_tunnel_pairs_carrying(t) == t->pairs) {
		t->child_due = CW_TIME_NEVER;
		if (cw_time_diff_us(now, t->since) > WELL_UP_S * 1000000LL && t->state == CW_TUNNEL_UP)
			t->child_failures = 0;
		return;
	}
	if (cw_time_is_never(t->child_due))
		t->child_due = cw_time_add_ms(now, CHILD_GRACE_MS);
	if (!cw_time_reached(t->child_due, now))
		return;
	if (t->child_failures >= CHILD_TRIES_MAX) {
		t->child_failures = 0;
		t->child_due = CW_TIME_NEVER;
		close_ike(t, cw_tunnel_ike_find(t, ike->info.ike_id), false, now, out);
		return;
	}
	for (uint32_t pair = 0; pair < t->pairs; pair++) {
		if (cw_tunnel_pair_carries(t, pair))
			continue;
		a = add(out, CW_TA_INITIATE);
		if (!a)
			break;
		a->pair = pair;
	}
	t->child_failures++;
	t->child_due = cw_time_add_s(now, CHILD_GUARD_S);
}

/* The end of a restart, or the next try. */
static void settle_absent(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	if (t->restarting) {
		if (t->n_ikes)
			return;
		t->restarting = false;
		t->failures = 0;
	}
	if (t->activity == ACT_IDLE && t->want == WANT_UP) {
		begin(t, now, out);
	} else if (t->activity == ACT_IDLE && cw_time_is_never(t->act_due)) {
		/* Listening: the engine must know us, and the name may move. */
		begin(t, now, out);
	}
}

static void settle(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *ike;

	if (!t->started)
		return;
	press_closing(t, now, out);
	if (t->want == WANT_DOWN) {
		if (t->engine_set && add(out, CW_TA_ENGINE_REMOVE))
			t->engine_set = false;
		close_all(t, now, out);
	} else {
		settle_duplicates(t, now, out);
		ike = cw_tunnel_ike_pick(t);
		if (ike) {
			if (t->activity == ACT_WAITING)
				act(t, ACT_IDLE, now, CW_TIME_NEVER);
			if (t->state == CW_TUNNEL_UP && cw_time_diff_us(now, t->since) > WELL_UP_S * 1000000LL)
				t->failures = 0;
			settle_children(t, ike, now, out);
		} else {
			settle_absent(t, now, out);
		}
	}
	derive(t, now, out);
}

/* ---- what the engine says ---- */

static void lost_ike(struct cw_tunnel *t, uint32_t ike_id, enum cw_cause cause, const char *detail,
		     struct cw_time now, struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ike_id);
	bool counted, well;

	if (!e)
		return;
	/* Losing one of two, or one we closed ourselves, is no loss of the tunnel. */
	counted = e == cw_tunnel_ike_pick(t);
	well = counted && cw_time_diff_us(now, e->up_at) > WELL_UP_S * 1000000LL;
	cw_tunnel_ike_drop(t, ike_id);
	if (!counted || cw_tunnel_ike_live(t))
		return;
	t->child_due = CW_TIME_NEVER;
	set_why(t, cause, detail, now);
	if (t->want != WANT_UP || t->restarting || t->activity == ACT_CONNECTING || t->activity == ACT_RESOLVING)
		return;
	if (well) {
		t->failures = 0;
		act(t, ACT_IDLE, now, CW_TIME_NEVER); /* settle() begins at once */
	} else {
		/* It had hardly come up: at once again would make a storm. */
		pause_after(t, cause, detail, now, out);
	}
}

static void failed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
		   struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->ike_id);

	if (e && !ev->is_child && e->info.state == CW_IKE_SA_CONNECTING)
		cw_tunnel_ike_drop(t, ev->ike_id);
	if (ev->is_child) {
		uint32_t ms = cw_backoff_ms(t->conf->retry_min_s, t->conf->retry_max_s, t->child_failures + 1,
					    cw_backoff_random(&t->random));

		set_why(t, ev->cause, ev->detail, now);
		if (ev->by_us && cw_tunnel_ike_live(t))
			t->child_due = cw_time_add_ms(now, ms);
		if (ev->cause != t->logged_cause) {
			t->logged_cause = ev->cause;
			t->logged_at = now;
			say(out, CW_LOG_WARNING, log_id_of(ev->cause), "CHILD_SA refused: %s%s%s%s; %s",
			    cw_cause_text(ev->cause), t->detail[0] ? " (" : "", t->detail,
			    t->detail[0] ? ")" : "", cw_cause_remedy(ev->cause));
		}
		return;
	}
	if (!ev->by_us) {
		t->last_error = ev->cause;
		snprintf(t->last_error_detail, sizeof(t->last_error_detail), "%s", ev->detail);
		t->last_error_at = now;
		if (cw_time_is_never(t->peer_failure_logged_at) ||
		    cw_time_diff_us(now, t->peer_failure_logged_at) >= PEER_LINE_S * 1000000LL) {
			t->peer_failure_logged_at = now;
			say(out, CW_LOG_WARNING, log_id_of(ev->cause), "the peer's try failed: %s%s%s%s; %s",
			    cw_cause_text(ev->cause), ev->detail[0] ? " (" : "", ev->detail,
			    ev->detail[0] ? ")" : "", cw_cause_remedy(ev->cause));
		}
		return;
	}
	if (t->activity != ACT_CONNECTING)
		return;
	act(t, ACT_IDLE, now, CW_TIME_NEVER);
	if (t->want == WANT_UP && !cw_tunnel_ike_live(t) && !t->restarting)
		pause_after(t, ev->cause, ev->detail, now, out);
}

static void ike_up(struct cw_tunnel *t, const struct cw_ike_sa_info *info, struct cw_time now,
		   struct cw_tunnel_actions *out)
{
	bool is_new;
	struct ike_entry *e = cw_tunnel_ike_put(t, info, now, &is_new);
	struct cw_tunnel_action *a;

	if (!e) {
		a = add(out, CW_TA_TERMINATE_IKE);
		if (a) {
			a->id = info->ike_id;
			a->force = true;
		}
		return;
	}
	if (info->state == CW_IKE_SA_ESTABLISHED && info->initiator && t->activity == ACT_CONNECTING)
		act(t, ACT_IDLE, now, CW_TIME_NEVER);
	if (info->state == CW_IKE_SA_ESTABLISHED && is_new)
		t->child_due = cw_time_add_ms(now, CHILD_GRACE_MS);
}

static void ike_rekeyed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now)
{
	struct ike_entry *old = cw_tunnel_ike_find(t, ev->old_id), *e;
	struct cw_time up_at = old ? old->up_at : now;
	bool is_new;

	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.ike_id == ev->old_id)
			t->children[i].info.ike_id = ev->ike.ike_id;
	}
	cw_tunnel_ike_drop(t, ev->old_id);
	e = cw_tunnel_ike_put(t, &ev->ike, now, &is_new);
	if (e)
		e->up_at = up_at;
	t->last_rekey_error = CW_CAUSE_NONE;
}

static void child_up(struct cw_tunnel *t, const struct cw_child_info *info, struct cw_time now,
		     struct cw_tunnel_actions *out)
{
	bool is_new = !cw_tunnel_child_find(t, info->child_id);
	struct child_entry *c = cw_tunnel_child_put(t, info, now);

	if (!c || !is_new || !info->narrowed)
		return;
	say(out, CW_LOG_NOTICE, CW_LOG_SELECTORS_NARROWED,
	    "the peer narrowed the selectors; only traffic within what status shows passes");
}

static void child_down(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now)
{
	struct child_entry *c = cw_tunnel_child_find(t, ev->child.child_id);
	uint32_t pair;

	if (!c)
		return;
	pair = c->info.pair;
	cw_tunnel_child_put(t, &ev->child, now);
	cw_tunnel_child_drop(t, ev->child.child_id);
	if (cw_tunnel_pair_carries(t, pair) || !cw_tunnel_ike_live(t))
		return;
	/* At once the first time; the pause grows with what comes of it. */
	set_why(t, ev->cause, ev->detail, now);
	t->child_due = t->child_failures ? cw_time_add_ms(now, cw_backoff_ms(t->conf->retry_min_s,
									     t->conf->retry_max_s,
									     t->child_failures,
									     cw_backoff_random(&t->random))) :
					   now;
}

static void engine_event(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
			 struct cw_tunnel_actions *out)
{
	struct ike_entry *e;
	bool is_new;

	switch (ev->kind) {
	case CW_IKE_EV_IKE_UP:
		ike_up(t, &ev->ike, now, out);
		break;
	case CW_IKE_EV_IKE_DOWN:
		lost_ike(t, ev->ike_id, ev->cause, ev->detail, now, out);
		break;
	case CW_IKE_EV_IKE_REKEYED:
		ike_rekeyed(t, ev, now);
		break;
	case CW_IKE_EV_CHILD_UP:
		child_up(t, &ev->child, now, out);
		break;
	case CW_IKE_EV_CHILD_REKEYED:
		/* The old one goes on for late packets; CHILD_DOWN or a snapshot ends it. */
		if (cw_tunnel_child_find(t, ev->old_id))
			cw_tunnel_child_find(t, ev->old_id)->info.state = CW_CHILD_REKEYED;
		child_up(t, &ev->child, now, out);
		t->last_rekey_error = CW_CAUSE_NONE;
		break;
	case CW_IKE_EV_CHILD_DOWN:
		child_down(t, ev, now);
		break;
	case CW_IKE_EV_FAILED:
		failed(t, ev, now, out);
		break;
	case CW_IKE_EV_REKEY_FAILED:
		t->last_rekey_error = ev->cause;
		snprintf(t->last_rekey_detail, sizeof(t->last_rekey_detail), "%s", ev->detail);
		say(out, CW_LOG_WARNING, CW_LOG_REKEY_FAILED,
		    "rekey of the %s_SA failed: %s%s%s%s; the old one is used until it expires",
		    ev->is_child ? "CHILD" : "IKE", cw_cause_text(ev->cause), ev->detail[0] ? " (" : "",
		    ev->detail, ev->detail[0] ? ")" : "");
		break;
	case CW_IKE_EV_INITIAL_CONTACT:
		e = cw_tunnel_ike_find(t, ev->ike_id);
		if (e)
			e->initial_contact = true;
		break;
	case CW_IKE_EV_NAT_MAPPED:
		cw_tunnel_ike_put(t, &ev->ike, now, &is_new);
		break;
	case CW_IKE_EV_SNAPSHOT:
		break;
	}
}

static void snapshot(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
		     struct cw_tunnel_actions *out)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ev->ike.ike_id);

	if (!e || e->info.state != ev->ike.state) {
		ike_up(t, &ev->ike, now, out);
	} else {
		e->info = ev->ike;
		e->info_at = now;
	}
	e = cw_tunnel_ike_find(t, ev->ike.ike_id);
	if (!e)
		return;
	e->seen_at = now;
	for (size_t i = 0; i < ev->n_children; i++) {
		struct child_entry *c = cw_tunnel_child_put(t, &ev->children[i], now);

		if (c)
			c->seen_at = now;
	}
}

static void snapshot_end(struct cw_tunnel *t, struct cw_time poll_at, struct cw_time now,
			 struct cw_tunnel_actions *out)
{
	bool attempt_seen = false;

	for (size_t i = t->n_ikes; i-- > 0;) {
		struct ike_entry *e = &t->ikes[i];

		attempt_seen |= e->info.state == CW_IKE_SA_CONNECTING && e->info.initiator;
		if (e->known_at.us < poll_at.us && e->seen_at.us < poll_at.us)
			lost_ike(t, e->info.ike_id, CW_CAUSE_LOST, "", now, out);
	}
	for (size_t i = t->n_children; i-- > 0;) {
		const struct child_entry *c = &t->children[i];
		struct cw_ike_event gone = {
			.kind = CW_IKE_EV_CHILD_DOWN, .child = c->info, .cause = CW_CAUSE_LOST,
		};

		if (c->known_at.us < poll_at.us && c->seen_at.us < poll_at.us)
			child_down(t, &gone, now);
	}
	/* An attempt that the engine forgot: twice in a row, since the order may be on its way. */
	if (t->activity != ACT_CONNECTING || attempt_seen || t->act_at.us >= poll_at.us) {
		t->missing = 0;
	} else if (++t->missing >= 2) {
		act(t, ACT_IDLE, now, CW_TIME_NEVER);
		if (t->want == WANT_UP && !cw_tunnel_ike_live(t))
			pause_after(t, CW_CAUSE_LOST, "", now, out);
	}
}

/* ---- the rest ---- */

static void resolved(struct cw_tunnel *t, const struct cw_tunnel_event *ev, struct cw_time now,
		     struct cw_tunnel_actions *out)
{
	struct cw_tunnel_action *a;

	if (t->activity != ACT_RESOLVING)
		return;
	t->remote = ev->remote;
	t->local = ev->local;
	add(out, CW_TA_ENGINE_SET);
	t->engine_set = true;
	if (t->want != WANT_UP) {
		act(t, ACT_IDLE, now,
		    t->conf->remote_addr.family == CW_FAMILY_NONE ? cw_time_add_s(now, LISTEN_REFRESH_S) :
								    cw_time_add_s(now, 86400));
		return;
	}
	if (cw_tunnel_ike_live(t)) {
		act(t, ACT_IDLE, now, CW_TIME_NEVER);
		return;
	}
	act(t, ACT_CONNECTING, now, cw_time_add_s(now, ATTEMPT_DOUBT_S));
	a = add(out, CW_TA_INITIATE);
	if (a)
		a->pair = 0;
}

static void timer(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	if (!cw_time_reached(t->act_due, now))
		return;
	switch (t->activity) {
	case ACT_IDLE: /* listening: look the name up again */
	case ACT_WAITING:
		act(t, ACT_IDLE, now, CW_TIME_NEVER);
		break;
	case ACT_RESOLVING:
		pause_after(t, CW_CAUSE_RESOLVE, "the resolver does not answer", now, out);
		break;
	case ACT_CONNECTING:
		t->act_due = cw_time_add_s(now, ATTEMPT_DOUBT_S);
		add(out, CW_TA_POLL);
		break;
	}
}

static void order_up(struct cw_tunnel *t, struct cw_time now)
{
	t->want = WANT_UP;
	t->failures = 0;
	t->child_failures = 0;
	t->logged_cause = CW_CAUSE_NONE;
	if (t->activity == ACT_WAITING || t->activity == ACT_IDLE)
		act(t, ACT_IDLE, now, CW_TIME_NEVER);
}

static void silence(struct cw_tunnel *t, struct cw_tunnel_actions *out)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);
	struct cw_tunnel_action *a = ike ? add(out, CW_TA_CHECK_ALIVE) : NULL;

	if (a)
		a->id = ike->ike_id;
}

void cw_tunnel_step(struct cw_tunnel *t, const struct cw_tunnel_event *ev, struct cw_time now,
		    struct cw_tunnel_actions *out)
{
	struct cw_tunnel_action *a;

	out->n = 0;
	out->full = false;
	switch (ev->kind) {
	case CW_TEV_START:
		t->started = true;
		t->want = t->conf->start ? WANT_UP : WANT_LISTEN;
		break;
	case CW_TEV_UP:
		order_up(t, now);
		break;
	case CW_TEV_DOWN:
	case CW_TEV_STOP:
		t->stopping = ev->kind == CW_TEV_STOP;
		t->want = WANT_DOWN;
		t->restarting = false;
		set_why(t, t->stopping ? CW_CAUSE_STOPPING : CW_CAUSE_OPERATOR, NULL, now);
		break;
	case CW_TEV_RESTART:
		t->restarting = t->n_ikes > 0;
		if (t->restarting) {
			set_why(t, CW_CAUSE_OPERATOR, "restart", now);
			close_all(t, now, out);
		}
		order_up(t, now);
		break;
	case CW_TEV_RESOLVED:
		resolved(t, ev, now, out);
		break;
	case CW_TEV_RESOLVE_FAILED:
		if (t->activity == ACT_RESOLVING)
			pause_after(t, ev->cause, ev->detail, now, out);
		break;
	case CW_TEV_IKE:
		engine_event(t, ev->ike, now, out);
		break;
	case CW_TEV_SNAPSHOT:
		snapshot(t, ev->ike, now, out);
		break;
	case CW_TEV_SNAPSHOT_END:
		snapshot_end(t, ev->poll_at, now, out);
		break;
	case CW_TEV_CHILD_BROKEN:
		a = cw_tunnel_child_find(t, ev->child_id) ? add(out, CW_TA_TERMINATE_CHILD) : NULL;
		if (a)
			a->id = ev->child_id;
		break;
	case CW_TEV_SILENCE:
		silence(t, out);
		break;
	case CW_TEV_KERNEL_FAILED:
		set_why(t, CW_CAUSE_KERNEL, ev->detail, now);
		break;
	case CW_TEV_TIMER:
		timer(t, now, out);
		break;
	}
	settle(t, now, out);
}

struct cw_time cw_tunnel_next_due(const struct cw_tunnel *t)
{
	struct cw_time due = cw_time_min(cw_time_min(t->act_due, t->child_due), t->dup_at);

	for (size_t i = 0; i < t->n_ikes; i++) {
		if (t->ikes[i].closing)
			due = cw_time_min(due, t->ikes[i].close_at);
	}
	return due;
}
