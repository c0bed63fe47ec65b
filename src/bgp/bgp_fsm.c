/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events and timers (RFC 4271 8), and the gate through which the state moves. */
#include "bgp/bgp_peer_priv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/backoff.h"

#define BIT(state) (1u << CW_BGP_STATE_##state)

struct cw_bgp_action *cw_bgp_add(struct turn *t, enum cw_bgp_action_kind kind)
{
	struct cw_bgp_action *a = &t->out->v[t->out->n];

	assert(t->out->n < CW_BGP_ACTIONS_MAX);
	t->out->n++;
	*a = (struct cw_bgp_action){ .kind = kind };
	return a;
}

/* ---- the gate ---- */

/* Where each state may lead. Before ESTABLISHED there are two connections: when the further one is
 * lost, the state falls back to that of the other. */
static const unsigned legal[CW_BGP_STATE_COUNT] = {
	[CW_BGP_STATE_IDLE] = BIT(CONNECT) | BIT(ACTIVE),
	[CW_BGP_STATE_CONNECT] = BIT(IDLE) | BIT(ACTIVE) | BIT(OPEN_SENT) | BIT(OPEN_CONFIRM),
	[CW_BGP_STATE_ACTIVE] = BIT(IDLE) | BIT(CONNECT) | BIT(OPEN_SENT) | BIT(OPEN_CONFIRM),
	[CW_BGP_STATE_OPEN_SENT] = BIT(IDLE) | BIT(CONNECT) | BIT(ACTIVE) | BIT(OPEN_CONFIRM),
	[CW_BGP_STATE_OPEN_CONFIRM] =
		BIT(IDLE) | BIT(CONNECT) | BIT(ACTIVE) | BIT(OPEN_SENT) | BIT(ESTABLISHED),
	[CW_BGP_STATE_ESTABLISHED] = BIT(IDLE),
};

static bool is_trying(enum cw_bgp_state s)
{
	return s == CW_BGP_STATE_CONNECT || s == CW_BGP_STATE_ACTIVE;
}

void cw_bgp_enter(struct turn *t, enum cw_bgp_state to)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_state from = p->state;

	if (to == from)
		return;
	assert(legal[from] & 1u << to);
	p->state = to;
	p->since = t->now;
	/* A peer that is away for a day is no day of history. */
	if (is_trying(from) && is_trying(to))
		return;
	p->history[p->n_steps++ % CW_BGP_VIEW_HISTORY_MAX] =
		(struct step){ .at = t->now, .from = from, .to = to, .cause = p->cause };
}

static enum cw_bgp_state state_of(const struct cw_bgp_peer *p)
{
	enum phase best = PH_NONE;

	for (unsigned i = 0; i < CW_BGP_CONNS; i++)
		best = p->conn[i].phase > best ? p->conn[i].phase : best;
	if (best == PH_ESTABLISHED)
		return CW_BGP_STATE_ESTABLISHED;
	if (best == PH_OPEN_CONFIRM)
		return CW_BGP_STATE_OPEN_CONFIRM;
	if (best == PH_OPEN_SENT)
		return CW_BGP_STATE_OPEN_SENT;
	if (p->conn[CW_BGP_CONN_OURS].phase != PH_NONE)
		return CW_BGP_STATE_CONNECT;
	return p->wait == CW_BGP_WAIT_NONE ? CW_BGP_STATE_ACTIVE : CW_BGP_STATE_IDLE;
}

static bool is_error(enum cw_bgp_cause cause)
{
	return cause != CW_BGP_CAUSE_NONE && cause != CW_BGP_CAUSE_OPERATOR &&
	       cause != CW_BGP_CAUSE_RESET && cause != CW_BGP_CAUSE_CONF_CHANGED &&
	       cause != CW_BGP_CAUSE_COLLISION;
}

void cw_bgp_set_cause(struct turn *t, enum cw_bgp_cause cause, const char *why)
{
	struct cw_bgp_peer *p = t->p;

	p->cause = cause;
	snprintf(p->why, sizeof(p->why), "%s", why ? why : "");
	if (!is_error(cause))
		return;
	p->last_error = cause;
	p->last_error_at = t->now;
	snprintf(p->last_error_text, sizeof(p->last_error_text), "%s", p->why);
}

/* ---- trying and pausing ---- */

int64_t cw_bgp_jitter_us(struct cw_bgp_peer *p, int64_t us)
{
	return us - us / 4 * (cw_backoff_random(&p->random) & 0xffff) / 0x10000;
}

void cw_bgp_retry_later(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	p->retry_due = p->conf.active
			       ? cw_time_add_us(t->now,
					 cw_bgp_jitter_us(p, p->conf.connect_retry_s * 1000000LL))
			       : CW_TIME_NEVER;
}

void cw_bgp_try_connect(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	cw_bgp_add(t, CW_BGP_ACT_CONNECT)->conn = CW_BGP_CONN_OURS;
	p->conn[CW_BGP_CONN_OURS] = cw_bgp_conn_none;
	p->conn[CW_BGP_CONN_OURS].phase = PH_CONNECTING;
	cw_bgp_retry_later(t);
}

/* ManualStart and AutomaticStart, also the passive ones: events 1, 3, 4, 5. */
void cw_bgp_begin(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	p->idle_due = CW_TIME_NEVER;
	p->wait = !p->started   ? CW_BGP_WAIT_START
		  : p->net_down ? CW_BGP_WAIT_NET
				: CW_BGP_WAIT_NONE;
	if (p->wait == CW_BGP_WAIT_NONE && p->conf.active)
		cw_bgp_try_connect(t);
}

void cw_bgp_pause(struct turn *t, bool counts)
{
	struct cw_bgp_peer *p = t->p;
	uint32_t tries, cap_s = p->conf.idle_hold_max_s;

	if (counts && p->failures < UINT16_MAX)
		p->failures++;
	tries = p->failures ? p->failures : 1;
	if (p->same_bad) {
		tries += p->same_bad;
		cap_s *= CW_BGP_SAME_BAD_CAP;
	}
	p->retry_due = CW_TIME_NEVER;
	p->wait = CW_BGP_WAIT_PAUSE;
	p->idle_due = cw_time_add_ms(t->now, cw_backoff_ms(p->conf.idle_hold_min_s, cap_s, tries,
						     cw_backoff_random(&p->random)));
}

/* ---- connections ---- */

static void lost(struct turn *t, enum cw_bgp_conn which, int err_no, bool connecting)
{
	const struct conn *c = &t->p->conn[which];
	struct ending e = {
		.cause = connecting ? CW_BGP_CAUSE_CONNECT_FAILED : CW_BGP_CAUSE_CONNECTION_LOST,
		.why = err_no       ? strerrordesc_np(err_no)
		       : connecting ? NULL
				    : "closed by the peer",
		.closed = true,
		/* RFC 4271 8.2.2, event 18: up to OPEN_SENT we listen on, from OPEN_CONFIRM it is a
		   failure. */
		.after = c->phase >= PH_OPEN_CONFIRM ? AFTER_PAUSE : AFTER_RETRY,
	};

	cw_bgp_conn_end(t, which, &e);
}

/* RFC 9687 3: from the first octet that waits; each that goes begins it anew. */
static void send_blocked(struct turn *t, enum cw_bgp_conn which, bool blocked, bool progress)
{
	struct conn *c = &t->p->conn[which];

	if (!cw_bgp_tcp_is_up(c))
		return;
	c->blocked = blocked;
	if (!blocked || c->phase != PH_ESTABLISHED || !c->hold_s)
		c->send_due = CW_TIME_NEVER;
	else if (progress || cw_time_is_never(c->send_due))
		c->send_due = cw_time_add_s(t->now, cw_bgp_send_hold_s(c));
}

static void header_error(struct turn *t, const struct cw_bgp_event *ev)
{
	t->p->messages.in[0]++;
	cw_bgp_conn_end(t, ev->conn,
		&(struct ending){ .cause = CW_BGP_CAUSE_BAD_HEADER,
			.why = ev->err->why,
			.notify = true,
			.code = ev->err->code,
			.subcode = ev->err->subcode,
			.data = ev->err->data,
			.after = AFTER_PAUSE,
			.bad = cw_bgp_hash(CW_BGP_E_HEADER, ev->body) });
}

static void update_error(struct turn *t, const struct cw_bgp_event *ev)
{
	enum cw_bgp_conn up = cw_bgp_peer_established(t->p);

	if (up == CW_BGP_CONNS)
		return;
	cw_bgp_conn_end(t, up,
		&(struct ending){ .cause = CW_BGP_CAUSE_BAD_UPDATE,
			.why = ev->err->why,
			.notify = true,
			.code = ev->err->code,
			.subcode = ev->err->subcode,
			.data = ev->err->data,
			.after = AFTER_PAUSE,
			.bad = cw_bgp_hash(CW_BGP_E_UPDATE, ev->body) });
}

/* ---- timers ---- */

static void conn_timers(struct turn *t, enum cw_bgp_conn which)
{
	struct conn *c = &t->p->conn[which];

	if (cw_time_reached(c->send_due, t->now)) {
		/* Its NOTIFICATION (8/0) would wait behind what is stuck. */
		cw_bgp_conn_end(t, which,
			&(struct ending){ .cause = CW_BGP_CAUSE_SEND_HOLD,
				.discard = true,
				.after = AFTER_PAUSE });
		return;
	}
	if (cw_time_reached(c->hold_due, t->now)) {
		cw_bgp_conn_end(t, which,
			&(struct ending){ .cause = CW_BGP_CAUSE_HOLD_EXPIRED,
				.notify = true,
				.code = CW_BGP_E_HOLD,
				.after = AFTER_PAUSE });
		return;
	}
	if (cw_time_reached(c->keepalive_due, t->now))
		cw_bgp_keepalive(t, which);
	if (cw_time_reached(c->open_due, t->now))
		cw_bgp_conn_open(t, which);
}

/* The ConnectRetryTimer: an attempt that hangs is given up, and another is made unless the peer has
 * come. */
static void retry_timer(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;
	bool was_connecting = p->conn[CW_BGP_CONN_OURS].phase == PH_CONNECTING;
	struct ending e = {
		.cause = CW_BGP_CAUSE_CONNECT_FAILED, .why = "no answer", .after = AFTER_ORDER
	};

	if (!cw_time_reached(p->retry_due, t->now))
		return;
	p->retry_due = CW_TIME_NEVER;
	if (was_connecting)
		cw_bgp_conn_end(t, CW_BGP_CONN_OURS, &e);
	if (p->conf.active && p->conn[CW_BGP_CONN_OURS].phase == PH_NONE &&
		p->conn[CW_BGP_CONN_THEIRS].phase == PH_NONE)
		cw_bgp_try_connect(t);
	if (was_connecting)
		cw_bgp_say_ended(t, false, t->now, &e);
}

static void timers(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	for (unsigned i = 0; i < CW_BGP_CONNS; i++)
		conn_timers(t, (enum cw_bgp_conn)i);
	retry_timer(t);
	cw_bgp_restart_timers(t);
	if (cw_time_reached(p->idle_due, t->now))
		cw_bgp_begin(t);
}

struct cw_time cw_bgp_peer_next_due(const struct cw_bgp_peer *p)
{
	struct cw_time due =
		cw_time_min(cw_time_min(p->retry_due, p->idle_due), cw_bgp_restart_due(p));

	for (unsigned i = 0; i < CW_BGP_CONNS; i++) {
		const struct conn *c = &p->conn[i];

		due = cw_time_min(due, cw_time_min(c->hold_due, c->keepalive_due));
		due = cw_time_min(due, cw_time_min(c->send_due, c->open_due));
	}
	return due;
}

/* ---- events ---- */

static bool is_up(const struct cw_bgp_peer *p, enum cw_bgp_family family)
{
	return cw_bgp_peer_established(p) < CW_BGP_CONNS && family < CW_BGP_FAMILIES &&
	       p->family[family].agreed;
}

static void handle(struct turn *t, const struct cw_bgp_event *ev)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_conn conn = ev->conn < CW_BGP_CONNS ? ev->conn : CW_BGP_CONN_OURS;
	enum phase phase = p->conn[conn].phase;

	switch (ev->kind) {
	case CW_BGP_EV_START:
		cw_bgp_order_start(t, ev);
		break;
	case CW_BGP_EV_STOP:
		cw_bgp_order_stop(t, ev);
		break;
	case CW_BGP_EV_RESET:
		cw_bgp_order_reset(t, ev);
		break;
	case CW_BGP_EV_CONF_CHANGED:
		cw_bgp_order_conf(t, ev->conf);
		break;
	case CW_BGP_EV_NET_DOWN:
		cw_bgp_order_net_down(t);
		break;
	case CW_BGP_EV_NET_UP:
		cw_bgp_order_net_up(t);
		break;
	case CW_BGP_EV_CONNECTED:
		if (p->conn[CW_BGP_CONN_OURS].phase == PH_CONNECTING)
			cw_bgp_conn_up(t, CW_BGP_CONN_OURS);
		break;
	case CW_BGP_EV_CONNECT_FAILED:
		if (p->conn[CW_BGP_CONN_OURS].phase == PH_CONNECTING)
			lost(t, CW_BGP_CONN_OURS, ev->err_no, true);
		break;
	case CW_BGP_EV_ACCEPTED:
		cw_bgp_conn_accept(t);
		break;
	case CW_BGP_EV_CLOSED:
		if (phase != PH_NONE)
			lost(t, conn, ev->err_no, phase == PH_CONNECTING);
		break;
	case CW_BGP_EV_SEND_BLOCKED:
		send_blocked(t, conn, true, false);
		break;
	case CW_BGP_EV_SEND_PROGRESS:
		send_blocked(t, conn, ev->blocked, true);
		break;
	case CW_BGP_EV_MESSAGE:
		cw_bgp_conn_message(t, conn, ev->type, ev->body);
		break;
	case CW_BGP_EV_HEADER_ERROR:
		if (phase >= PH_WAITING)
			header_error(t, ev);
		break;
	case CW_BGP_EV_UPDATE_ERROR:
		update_error(t, ev);
		break;
	case CW_BGP_EV_EOR:
		if (is_up(p, ev->family))
			cw_bgp_restart_eor(t, ev->family);
		break;
	case CW_BGP_EV_PREFIXES:
		if (ev->family < CW_BGP_FAMILIES) {
			p->family[ev->family].prefixes = ev->count;
			cw_bgp_look_at_prefixes(t, ev->family);
		}
		break;
	case CW_BGP_EV_SENT_ALL:
		if (is_up(p, ev->family))
			cw_bgp_restart_sent_all(t, ev->family);
		break;
	case CW_BGP_EV_TIMER:
		timers(t);
		break;
	case CW_BGP_EV_COUNT:
		break;
	}
}

void cw_bgp_peer_step(struct cw_bgp_peer *peer, const struct cw_bgp_event *ev, struct cw_time now,
	struct cw_bgp_actions *out)
{
	struct turn t = { .p = peer, .now = now, .out = out };

	out->n = 0;
	out->n_bytes = 0;
	handle(&t, ev);
	cw_bgp_enter(&t, state_of(peer));
}
