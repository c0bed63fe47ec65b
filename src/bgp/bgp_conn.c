/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two connections: what each message means in each state, which of two stays, and how one ends.
 */
#include "bgp/bgp_peer_priv.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct conn cw_bgp_conn_none = {
	.open_due = { INT64_MAX },
	.hold_due = { INT64_MAX },
	.keepalive_due = { INT64_MAX },
	.send_due = { INT64_MAX },
};

/* FNV-1a: tells one bad message from another, no more. Never 0. */
uint64_t cw_bgp_hash(uint64_t tag, struct cw_span bytes)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ tag;

	for (size_t i = 0; i < bytes.n; i++)
		h = (h ^ bytes.p[i]) * 0x100000001b3ULL;
	return h ? h : 1;
}

/* ---- sending ---- */

uint8_t *cw_bgp_room(struct turn *t, size_t *ret_size)
{
	*ret_size = sizeof(t->out->bytes) - t->out->n_bytes;
	return t->out->bytes + t->out->n_bytes;
}

static struct cw_span take_room(struct turn *t, size_t len)
{
	struct cw_span bytes = { .p = t->out->bytes + t->out->n_bytes, .n = len };

	assert(len && len <= sizeof(t->out->bytes) - t->out->n_bytes);
	t->out->n_bytes += len;
	return bytes;
}

void cw_bgp_conn_send(struct turn *t, enum cw_bgp_conn which, enum cw_bgp_type type, size_t len)
{
	struct cw_bgp_action *a = cw_bgp_add(t, CW_BGP_ACT_SEND);

	a->conn = which;
	a->bytes = take_room(t, len);
	t->p->messages.out[type]++;
}

struct cw_time cw_bgp_keepalive_due(struct cw_bgp_peer *p, const struct conn *c, struct cw_time now)
{
	int64_t us = cw_bgp_jitter_us(p, c->hold_s / 3 * 1000000LL);

	/* RFC 4271 4.4: not more than one a second, jitter or not. */
	return c->hold_s ? cw_time_add_us(now, us < 1000000 ? 1000000 : us) : CW_TIME_NEVER;
}

void cw_bgp_keepalive(struct turn *t, enum cw_bgp_conn which)
{
	struct conn *c = &t->p->conn[which];
	size_t size;
	uint8_t *buf = cw_bgp_room(t, &size);

	cw_bgp_conn_send(t, which, CW_BGP_KEEPALIVE, cw_bgp_keepalive_encode(buf, size));
	c->keepalive_due = cw_bgp_keepalive_due(t->p, c, t->now);
}

static void send_open(struct turn *t, enum cw_bgp_conn which)
{
	struct cw_bgp_peer *p = t->p;
	struct conn *c = &p->conn[which];
	struct cw_bgp_open open;
	size_t size;
	uint8_t *buf = cw_bgp_room(t, &size);

	c->plain = p->plain_next && cw_bgp_open_can_be_plain(p);
	open = cw_bgp_open_make(p, c->plain, t->now);
	cw_bgp_conn_send(t, which, CW_BGP_OPEN, cw_bgp_open_encode(&open, buf, size));
	p->our_caps = open.caps;
	p->has_our_caps = true;
	c->phase = PH_OPEN_SENT;
	c->open_due = CW_TIME_NEVER;
	c->hold_due = cw_time_add_s(t->now, CW_BGP_OPEN_HOLD_S);
}

/* Data that don't fit a message of the usual size are cut: OPEN may not have been exchanged yet. */
static size_t encode_notification(struct turn *t, const struct cw_bgp_notification *n)
{
	struct cw_bgp_notification cut = *n;
	size_t size, most = CW_BGP_MSG_MAX - CW_BGP_HEADER_LEN - 2;
	uint8_t *buf = cw_bgp_room(t, &size);

	if (cut.data.n > most)
		cut.data.n = most;
	return cw_bgp_notification_encode(&cut, buf, size);
}

static void notify(struct turn *t, enum cw_bgp_conn which, const struct ending *e)
{
	struct cw_bgp_peer *p = t->p;
	struct cw_bgp_notification n = { .code = e->code, .subcode = e->subcode, .data = e->data };
	bool hard = e->hard && p->conn[which].phase == PH_ESTABLISHED && p->gr_notification;
	uint8_t inside[CW_BGP_MSG_MAX];

	cw_bgp_keep_notification(&p->sent, &n, hard, e->why, t->now);
	if (hard) { /* RFC 8538 3.1 */
		struct cw_writer w = cw_writer_of(inside, sizeof(inside));

		cw_put_u8(&w, n.code);
		cw_put_u8(&w, n.subcode);
		cw_put_bytes(&w, n.data.p,
			n.data.n < sizeof(inside) - 2 ? n.data.n : sizeof(inside) - 2);
		n = (struct cw_bgp_notification){ .code = CW_BGP_E_CEASE,
			.subcode = CW_BGP_CEASE_HARD_RESET,
			.data = { .p = inside, .n = cw_writer_len(&w) } };
	}
	cw_bgp_conn_send(t, which, CW_BGP_NOTIFICATION, encode_notification(t, &n));
}

/* ---- the end of a connection ---- */

static void close_conn(struct turn *t, enum cw_bgp_conn which, bool discard)
{
	struct cw_bgp_action *a = cw_bgp_add(t, CW_BGP_ACT_CLOSE);

	a->conn = which;
	a->discard = discard;
}

/* An established session is over: what was learned in it goes or is kept. */
static void session_down(struct turn *t, const struct ending *e)
{
	struct cw_bgp_peer *p = t->p;
	int64_t up_us = cw_time_diff_us(t->now, p->up_at), stable_us = p->conf.stable_s * 1000000LL;

	if (up_us >= stable_us)
		p->failures = 0;
	if (up_us >= stable_us * CW_BGP_LONG_STABLE) {
		p->bad_hash = 0;
		p->same_bad = 0;
	}
	cw_bgp_restart_down(t, e);
	cw_bgp_enter(t, CW_BGP_STATE_IDLE);
}

/* The connection that was waiting for the other one may go on. */
static void release(struct turn *t, enum cw_bgp_conn which);

static void note_bad(struct cw_bgp_peer *p, uint64_t bad)
{
	if (!bad)
		return;
	p->same_bad = bad == p->bad_hash ? p->same_bad + 1 : 0;
	p->bad_hash = bad;
}

void cw_bgp_conn_end(struct turn *t, enum cw_bgp_conn which, const struct ending *e)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_conn other = cw_bgp_other(which);
	struct conn *c = &p->conn[which];
	bool was_up = c->phase == PH_ESTABLISHED;
	struct cw_time up_at = p->up_at;

	if (c->phase == PH_NONE)
		return;
	if (e->notify && cw_bgp_tcp_is_up(c) && !e->closed)
		notify(t, which, e);
	if (!e->closed)
		close_conn(t, which, e->discard || !cw_bgp_tcp_is_up(c));
	if (e->cause != CW_BGP_CAUSE_COLLISION || !cw_bgp_tcp_is_up(&p->conn[other]))
		cw_bgp_set_cause(t, e->cause, e->why);
	*c = cw_bgp_conn_none;
	note_bad(p, e->bad);
	if (was_up)
		session_down(t, e);
	if (e->after == AFTER_ORDER) {
		if (was_up)
			cw_bgp_say_ended(t, was_up, up_at, e);
		return;
	}
	if (cw_bgp_tcp_is_up(&p->conn[other])) {
		release(t, other);
		return;
	}
	if (e->after == AFTER_RETRY) {
		if (p->conn[other].phase == PH_NONE)
			cw_bgp_retry_later(t);
	} else {
		if (p->conn[other].phase == PH_CONNECTING) {
			close_conn(t, other, true);
			p->conn[other] = cw_bgp_conn_none;
		}
		cw_bgp_pause(t, e->after == AFTER_PAUSE);
	}
	cw_bgp_say_ended(t, was_up, up_at, e);
}

void cw_bgp_conn_end_all(struct turn *t, const struct ending *e)
{
	for (unsigned i = 0; i < CW_BGP_CONNS; i++)
		cw_bgp_conn_end(t, (enum cw_bgp_conn)i, e);
}

static void lose_collision(struct turn *t, enum cw_bgp_conn which)
{
	cw_bgp_conn_end(t, which,
		&(struct ending){ .cause = CW_BGP_CAUSE_COLLISION,
			.notify = true,
			.code = CW_BGP_E_CEASE,
			.subcode = CW_BGP_CEASE_COLLISION,
			.after = AFTER_RETRY });
}

/* ---- collision ---- */

/* Does the connection that we opened stay? RFC 4271 6.8, with equal identifiers RFC 6286 2.3. */
static bool ours_stays(const struct cw_bgp_peer *p, uint32_t peer_id)
{
	if (p->conf.router_id != peer_id)
		return p->conf.router_id > peer_id;
	return p->conf.local_asn > p->conf.remote_asn;
}

static bool must_wait(const struct cw_bgp_peer *p, enum cw_bgp_conn which)
{
	return p->conn[cw_bgp_other(which)].phase >= PH_OPEN_CONFIRM;
}

/* ---- OPEN and KEEPALIVE ---- */

static void answer_open(struct turn *t, enum cw_bgp_conn which)
{
	struct conn *c = &t->p->conn[which];

	if (c->phase == PH_WAITING) /* RFC 4271 8.2.2: an OPEN that comes in the delay ends it */
		send_open(t, which);
	c->hold_s = cw_bgp_open_hold_s(t->p, &c->open);
	c->phase = PH_OPEN_CONFIRM;
	if (c->hold_s)
		c->hold_due = cw_time_add_s(t->now, c->hold_s);
	cw_bgp_keepalive(t, which);
}

static void hear_open(struct turn *t, enum cw_bgp_conn which, struct cw_span body)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_conn other = cw_bgp_other(which);
	struct conn *c = &p->conn[which];
	struct open_fault fault;
	struct cw_bgp_err err = { 0 };

	if (cw_bgp_open_decode(body, &c->open, &err) != CW_OK) {
		cw_bgp_conn_end(t, which,
			&(struct ending){ .cause = CW_BGP_CAUSE_BAD_OPEN,
				.why = err.why,
				.notify = true,
				.code = err.code,
				.subcode = err.subcode,
				.data = err.data,
				.after = AFTER_PAUSE,
				.bad = cw_bgp_hash(CW_BGP_OPEN, body) });
		return;
	}
	p->peer_open = c->open;
	p->has_peer_open = true;
	if (!cw_bgp_open_check(p, &c->open, &fault)) {
		cw_bgp_conn_end(t, which,
			&(struct ending){ .cause = CW_BGP_CAUSE_BAD_OPEN,
				.why = fault.why,
				.notify = true,
				.code = CW_BGP_E_OPEN,
				.subcode = fault.subcode,
				.data = { .p = fault.data, .n = fault.n_data },
				.after = AFTER_PAUSE,
				.bad = cw_bgp_hash(CW_BGP_OPEN, body) });
		return;
	}
	c->has_open = true;
	if (must_wait(p, which))
		return;
	if (p->conn[other].phase == PH_OPEN_SENT) {
		bool stays = ours_stays(p, c->open.id) == (which == CW_BGP_CONN_OURS);

		/* What goes releases the other; which then is this one's answer, or its wait for
		 * OPEN. */
		lose_collision(t, stays ? other : which);
		if (!stays)
			return;
	}
	if (c->phase != PH_OPEN_CONFIRM)
		answer_open(t, which);
}

static void establish(struct turn *t, enum cw_bgp_conn which)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_conn other = cw_bgp_other(which);
	struct conn *c = &p->conn[which];

	c->phase = PH_ESTABLISHED;
	c->hold_due = c->hold_s ? cw_time_add_s(t->now, c->hold_s) : CW_TIME_NEVER;
	if (p->conn[other].phase != PH_NONE)
		cw_bgp_conn_end(t, other,
			&(struct ending){ .cause = CW_BGP_CAUSE_COLLISION,
				.notify = true,
				.code = CW_BGP_E_CEASE,
				.subcode = CW_BGP_CEASE_COLLISION,
				.after = AFTER_ORDER });
	p->retry_due = CW_TIME_NEVER;
	p->plain_next = c->plain;
	cw_bgp_open_agree(p, c, t->now);
	p->up_at = t->now;
	p->times_up++;
	cw_bgp_set_cause(t, CW_BGP_CAUSE_NONE, NULL);
	cw_bgp_enter(t, CW_BGP_STATE_ESTABLISHED);
	cw_bgp_add(t, CW_BGP_ACT_UP);
	cw_bgp_say_up(t);
	if (c->blocked && c->hold_s)
		c->send_due = cw_time_add_s(t->now, cw_bgp_send_hold_s(c));
	cw_bgp_restart_up(t);
}

static void release(struct turn *t, enum cw_bgp_conn which)
{
	struct conn *c = &t->p->conn[which];

	if (c->phase != PH_WAITING || must_wait(t->p, which))
		return;
	if (c->has_open)
		answer_open(t, which);
	else if (cw_time_is_never(c->open_due))
		send_open(t, which);
}

/* ---- a new connection ---- */

static void begin_conn(struct turn *t, enum cw_bgp_conn which)
{
	struct cw_bgp_peer *p = t->p;
	struct conn *c = &p->conn[which];

	*c = cw_bgp_conn_none;
	c->phase = PH_WAITING;
	if (p->conf.delay_open_s)
		c->open_due = cw_time_add_s(t->now, p->conf.delay_open_s);
	release(t, which);
}

void cw_bgp_conn_up(struct turn *t, enum cw_bgp_conn which)
{
	t->p->retry_due = CW_TIME_NEVER;
	begin_conn(t, which);
}

void cw_bgp_conn_open(struct turn *t, enum cw_bgp_conn which)
{
	t->p->conn[which].open_due = CW_TIME_NEVER;
	release(t, which);
}

/* subcode 0: without a word. */
static void refuse(struct turn *t, uint8_t subcode)
{
	struct cw_bgp_action *a = cw_bgp_add(t, CW_BGP_ACT_REFUSE);
	struct cw_bgp_notification n = { .code = CW_BGP_E_CEASE, .subcode = subcode };

	if (!subcode)
		return;
	a->bytes = take_room(t, encode_notification(t, &n));
	t->p->messages.out[CW_BGP_NOTIFICATION]++;
}

/*
 * A second connection over an established one. A peer that has agreed on graceful restart has
 * restarted: the old one is dead, and its routes are kept (RFC 4724 5, events 16 and 17). Not so
 * soon after the session began, where it is a late collision.
 */
static bool has_restarted(const struct turn *t)
{
	const struct cw_bgp_peer *p = t->p;
	bool any = false;

	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++)
		any |= p->gr && p->peer_open.caps.gr_family[f];
	return any && cw_time_diff_us(t->now, p->up_at) >= CW_BGP_RESTARTED_MIN_S * 1000000LL;
}

/*
 * A peer that connects again has perhaps lost its end of the old connection: a sign of life on it
 * then brings TCP's reset at once, long before the hold time is over. Not more than one a second,
 * RFC 4271 4.4.
 */
static void probe(struct turn *t, enum cw_bgp_conn up)
{
	struct cw_bgp_peer *p = t->p;

	if (cw_time_is_never(p->probed_at) || cw_time_diff_us(t->now, p->probed_at) >= 1000000) {
		p->probed_at = t->now;
		cw_bgp_keepalive(t, up);
	}
}

void cw_bgp_conn_accept(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_conn up = cw_bgp_peer_established(p);
	struct conn *c = &p->conn[CW_BGP_CONN_THEIRS];

	if (!p->conf.passive || p->wait == CW_BGP_WAIT_START || p->wait == CW_BGP_WAIT_PREFIXES) {
		refuse(t, CW_BGP_CEASE_REJECTED);
		return;
	}
	/* A word would count as a failure at the peer, which has done nothing wrong. */
	if (p->wait != CW_BGP_WAIT_NONE) {
		refuse(t, 0);
		return;
	}
	if (up < CW_BGP_CONNS) {
		if (!has_restarted(t)) {
			refuse(t, CW_BGP_CEASE_COLLISION);
			probe(t, up);
			return;
		}
		cw_bgp_conn_end(t, up,
			&(struct ending){ .cause = CW_BGP_CAUSE_PEER_RESTARTED,
				.discard = true,
				.after = AFTER_ORDER });
		cw_bgp_enter(t, CW_BGP_STATE_ACTIVE);
	} else if (c->phase == PH_OPEN_CONFIRM) {
		refuse(t, CW_BGP_CEASE_COLLISION);
		return;
	} else if (c->phase != PH_NONE) {
		/* The peer has given the earlier one up, or it would not connect again. */
		cw_bgp_conn_end(t, CW_BGP_CONN_THEIRS,
			&(struct ending){ .cause = CW_BGP_CAUSE_COLLISION,
				.notify = true,
				.code = CW_BGP_E_CEASE,
				.subcode = CW_BGP_CEASE_COLLISION,
				.after = AFTER_ORDER });
	}
	cw_bgp_add(t, CW_BGP_ACT_ACCEPT)->conn = CW_BGP_CONN_THEIRS;
	if (p->conn[CW_BGP_CONN_OURS].phase == PH_NONE)
		p->retry_due = CW_TIME_NEVER;
	begin_conn(t, CW_BGP_CONN_THEIRS);
}

/* ---- messages ---- */

static void unexpected(struct turn *t, enum cw_bgp_conn which, const uint8_t *type)
{
	/* RFC 6608 3: which state, and the type of the message as data. */
	static const uint8_t subcodes[] = {
		[PH_OPEN_SENT] = CW_BGP_FSM_IN_OPEN_SENT,
		[PH_OPEN_CONFIRM] = CW_BGP_FSM_IN_OPEN_CONFIRM,
		[PH_ESTABLISHED] = CW_BGP_FSM_IN_ESTABLISHED,
	};
	static const enum cw_bgp_state states[] = {
		[PH_WAITING] = CW_BGP_STATE_ACTIVE,
		[PH_OPEN_SENT] = CW_BGP_STATE_OPEN_SENT,
		[PH_OPEN_CONFIRM] = CW_BGP_STATE_OPEN_CONFIRM,
		[PH_ESTABLISHED] = CW_BGP_STATE_ESTABLISHED,
	};
	enum phase phase = t->p->conn[which].phase;
	char why[64];

	snprintf(why, sizeof(why), "%s in state %s", cw_bgp_type_name(*type),
		cw_bgp_state_name(states[phase]));
	cw_bgp_conn_end(t, which,
		&(struct ending){ .cause = CW_BGP_CAUSE_UNEXPECTED,
			.why = why,
			.notify = true,
			.code = CW_BGP_E_FSM,
			.subcode = subcodes[phase],
			.data = { .p = type, .n = 1 },
			.after = AFTER_PAUSE,
			.bad = cw_bgp_hash(CW_BGP_E_FSM, (struct cw_span){ .p = type, .n = 1 }) });
}

static void hear_notification(struct turn *t, enum cw_bgp_conn which, struct cw_span body)
{
	struct cw_bgp_peer *p = t->p;
	struct conn *c = &p->conn[which];
	struct cw_bgp_notification n = { 0 };
	struct cw_bgp_err err;
	struct ending e = { .cause = CW_BGP_CAUSE_NOTIFICATION, .after = AFTER_PAUSE };

	if (cw_bgp_notification_decode(body, &n, &err) != CW_OK) {
		/* RFC 4271 6.4: its errors are told to nobody but our own log. */
		e.cause = CW_BGP_CAUSE_BAD_HEADER;
		e.why = err.why;
		cw_bgp_conn_end(t, which, &e);
		return;
	}
	/* What it does not like in us is likely the same next time; a Cease passes. */
	if (n.code != CW_BGP_E_CEASE)
		e.bad = cw_bgp_hash(CW_BGP_NOTIFICATION, body);
	if (n.code == CW_BGP_E_CEASE && n.subcode == CW_BGP_CEASE_HARD_RESET) {
		struct cw_cursor in = cw_cursor_of(n.data);

		e.hard = true;
		n.code = cw_get_u8(&in);
		n.subcode = cw_get_u8(&in);
		n.data = cw_get_span(&in, cw_cursor_left(&in));
	}
	cw_bgp_keep_notification(&p->received, &n, e.hard, NULL, t->now);
	e.why = p->received.text;
	if (n.code == CW_BGP_E_CEASE && n.subcode == CW_BGP_CEASE_COLLISION) {
		e.cause = CW_BGP_CAUSE_COLLISION;
		/* One that ends sessions so could do it all day long. */
		if (c->phase != PH_ESTABLISHED)
			e.after = AFTER_RETRY;
	} else if (n.code == CW_BGP_E_OPEN && n.subcode == CW_BGP_OPEN_BAD_VERSION) {
		e.after = AFTER_PAUSE_UNCOUNTED; /* RFC 4271 8.2.2, event 24 */
	} else if (n.code == CW_BGP_E_OPEN && c->phase >= PH_OPEN_SENT &&
		   (n.subcode == CW_BGP_OPEN_BAD_PARAMETER ||
			   n.subcode == CW_BGP_OPEN_NEEDS_CAPABILITY)) {
		p->plain_next = !c->plain && cw_bgp_open_can_be_plain(p); /* RFC 5492 3 */
	}
	cw_bgp_conn_end(t, which, &e);
}

static void hear_refresh(struct turn *t, enum cw_bgp_conn which, struct cw_span body)
{
	struct cw_bgp_refresh refresh;
	struct cw_bgp_err err = { 0 };
	uint8_t whole[CW_BGP_HEADER_LEN + 64];
	struct cw_writer w = cw_writer_of(whole, sizeof(whole));

	if (!t->p->refresh)
		return;
	if (cw_bgp_refresh_decode(body, &refresh, &err) == CW_OK) {
		cw_bgp_refresh_in(t, &refresh);
		return;
	}
	/* RFC 7313 5: the data are the whole message. */
	for (unsigned i = 0; i < 16; i++)
		cw_put_u8(&w, 0xff);
	cw_put_u16(&w, (uint16_t)(CW_BGP_HEADER_LEN + body.n));
	cw_put_u8(&w, CW_BGP_ROUTE_REFRESH);
	cw_put_bytes(&w, body.p, body.n < 64 ? body.n : 64);
	cw_bgp_conn_end(t, which,
		&(struct ending){ .cause = CW_BGP_CAUSE_BAD_REFRESH,
			.why = err.why,
			.notify = true,
			.code = err.code,
			.subcode = err.subcode,
			.data = { .p = whole, .n = cw_writer_len(&w) },
			.after = AFTER_PAUSE,
			.bad = cw_bgp_hash(CW_BGP_ROUTE_REFRESH, body) });
}

static void alive(struct turn *t, struct conn *c)
{
	if (c->hold_s)
		c->hold_due = cw_time_add_s(t->now, c->hold_s);
}

void cw_bgp_conn_message(struct turn *t, enum cw_bgp_conn which, uint8_t type, struct cw_span body)
{
	struct conn *c = &t->p->conn[which];
	enum phase phase = c->phase;

	if (phase < PH_WAITING || type < CW_BGP_OPEN || type > CW_BGP_ROUTE_REFRESH)
		return;
	t->p->messages.in[type]++;
	if (type == CW_BGP_NOTIFICATION) {
		hear_notification(t, which, body);
	} else if (type == CW_BGP_OPEN && phase <= PH_OPEN_SENT && !c->has_open) {
		hear_open(t, which, body);
	} else if (type == CW_BGP_KEEPALIVE && phase == PH_OPEN_CONFIRM) {
		establish(t, which);
	} else if (type == CW_BGP_KEEPALIVE && phase == PH_ESTABLISHED) {
		alive(t, c);
	} else if (type == CW_BGP_UPDATE && phase == PH_ESTABLISHED) {
		alive(t, c);
		cw_bgp_add(t, CW_BGP_ACT_DELIVER_UPDATE)->conn = which;
	} else if (type == CW_BGP_ROUTE_REFRESH && phase == PH_ESTABLISHED) {
		hear_refresh(t, which, body);
	} else {
		unexpected(t, which, &type);
	}
}
