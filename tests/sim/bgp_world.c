/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sim/bgp_world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"

#define ROUTES_BODY 5 /* what the owners send for an UPDATE with routes: 4 zeros and the family */

static struct cw_bgp_actions out; /* big; one thread */

void bgp_bad(struct bgp_world *w, const char *fmt, ...)
{
	va_list args;

	printf("seed %" PRIu64 " at %" PRId64 " ms: ", w->seed, w->now.us / 1000);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	w->bad = true;
}

__attribute__((format(printf, 3, 4))) static void tell(
	const struct bgp_world *w, int end, const char *fmt, ...)
{
	va_list args;

	if (!w->loud)
		return;
	printf("%8" PRId64 " %c ", w->now.us / 1000, 'A' + end);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

uint32_t bgp_dice(struct bgp_world *w, uint32_t n)
{
	return n ? cw_backoff_random(&w->random) % n : 0;
}

struct bgp_world *bgp_world_new(const struct cw_bgp_peer_conf conf[2], uint64_t seed)
{
	struct bgp_world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->mail = calloc(BGP_MAIL_MAX, sizeof(*w->mail));
	if (!w->mail)
		abort();
	w->seed = seed;
	w->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (int i = 0; i < 10; i++)
		cw_backoff_random(&w->random);
	w->now.us = 1000000;
	w->delay_us = 10000;
	for (int end = 0; end < 2; end++) {
		struct bgp_host *h = &w->hosts[end];

		h->end = end;
		h->conf = conf[end];
		h->seed = w->random + (uint64_t)end;
		h->link[0] = h->link[1] = BGP_NO_LINK;
		h->p = cw_bgp_peer_new(&h->conf, h->seed, w->now);
		if (!h->p)
			abort();
	}
	return w;
}

void bgp_world_free(struct bgp_world *w)
{
	cw_bgp_peer_free(w->hosts[0].p);
	cw_bgp_peer_free(w->hosts[1].p);
	free(w->mail);
	free(w);
}

/* ---- the network ---- */

static void post(
	struct bgp_world *w, enum bgp_mail_kind kind, int link, int to, struct cw_span data)
{
	struct bgp_mail *m = &w->mail[w->n_mail];
	struct bgp_link *l = &w->links[link];
	int64_t delay_us = w->delay_us + bgp_dice(w, (uint32_t)w->jitter_us);

	if (w->n_mail == BGP_MAIL_MAX || data.n > sizeof(m->data)) {
		bgp_bad(w, "too much mail");
		return;
	}
	w->n_mail++;
	*m = (struct bgp_mail){
		.kind = kind, .no = w->mail_no++, .link = link, .to = to, .n = data.n
	};
	if (data.n)
		memcpy(m->data, data.p, data.n);
	m->at = cw_time_add_us(w->now, delay_us);
	if (m->at.us < l->last[to].us)
		m->at = l->last[to];
	l->last[to] = m->at;
}

/* -1: nothing is due at all. */
static int first_mail(const struct bgp_world *w)
{
	int best = -1;

	for (size_t i = 0; i < w->n_mail && !w->cut; i++) {
		const struct bgp_mail *m = &w->mail[i], *b = best < 0 ? NULL : &w->mail[best];

		if (!b || m->at.us < b->at.us || (m->at.us == b->at.us && m->no < b->no))
			best = (int)i;
	}
	return best;
}

static int new_link(struct bgp_world *w)
{
	for (int i = 0; i < BGP_LINKS_MAX; i++) {
		bool in_mail = false;

		for (size_t j = 0; j < w->n_mail; j++)
			in_mail |= w->mail[j].link == i;
		if (w->links[i].open[0] || w->links[i].open[1] || in_mail)
			continue;
		w->links[i] = (struct bgp_link){ .used = true };
		return i;
	}
	bgp_bad(w, "too many connections");
	return 0;
}

static enum cw_bgp_conn conn_of(const struct bgp_host *h, int link)
{
	return h->link[CW_BGP_CONN_OURS] == link     ? CW_BGP_CONN_OURS
	       : h->link[CW_BGP_CONN_THEIRS] == link ? CW_BGP_CONN_THEIRS
						     : CW_BGP_CONNS;
}

/* ---- the owner ---- */

static void send_message(struct bgp_world *w, int end, int link, struct cw_span bytes)
{
	if (link == BGP_NO_LINK || !w->links[link].open[end])
		bgp_bad(w, "%c sends on no connection", 'A' + end);
	else
		post(w, MAIL_DATA, link, !end, bytes);
}

static void close_link(struct bgp_world *w, int end, int link, bool discard)
{
	w->links[link].open[end] = false;
	post(w, discard ? MAIL_RST : MAIL_FIN, link, !end, (struct cw_span){ 0 });
}

static void send_routes(struct bgp_world *w, int end, enum cw_bgp_family family)
{
	struct bgp_host *h = &w->hosts[end];
	enum cw_bgp_conn up = cw_bgp_peer_established(h->p);
	uint8_t update[CW_BGP_HEADER_LEN + ROUTES_BODY];

	memset(update, 0xff, 16);
	memset(update + 16, 0, sizeof(update) - 16);
	update[17] = sizeof(update);
	update[18] = CW_BGP_UPDATE;
	update[CW_BGP_HEADER_LEN + 4] = (uint8_t)family;
	send_message(w, end, h->link[up], (struct cw_span){ update, sizeof(update) });
	cw_bgp_peer_sent(h->p, CW_BGP_UPDATE, 1, w->now);
}

static void went_down(struct bgp_world *w, struct bgp_host *h, const struct cw_bgp_action *a)
{
	if (!h->up)
		bgp_bad(w, "%c: DOWN, and it was not up", 'A' + h->end);
	h->up = false;
	h->downs++;
	h->last_down = a->cause;
	h->kept = false;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		h->kept |= a->keep[f];
		if (a->keep[f])
			h->family[f].stale = h->family[f].has;
		else
			h->family[f].has = h->family[f].stale = false;
		h->family[f].sending = false;
	}
	tell(w, h->end, "DOWN %s%s", cw_bgp_cause_name(a->cause), h->kept ? ", routes kept" : "");
}

/* What one step asked for; update: the body of the MESSAGE that it was. Later steps are returned,
 * in ev. */
static void carry_out(struct bgp_world *w, int end, int pending)
{
	struct bgp_host *h = &w->hosts[end];

	for (size_t i = 0; i < out.n; i++) {
		const struct cw_bgp_action *a = &out.v[i];
		int *link = &h->link[a->conn];

		switch (a->kind) {
		case CW_BGP_ACT_CONNECT:
			if (*link != BGP_NO_LINK)
				bgp_bad(w, "%c connects and has a connection", 'A' + end);
			*link = new_link(w);
			w->links[*link].open[end] = true;
			post(w, MAIL_SYN, *link, !end, (struct cw_span){ 0 });
			break;
		case CW_BGP_ACT_ACCEPT:
			if (pending == BGP_NO_LINK || h->link[CW_BGP_CONN_THEIRS] != BGP_NO_LINK)
				bgp_bad(w, "%c accepts nothing, or over another", 'A' + end);
			h->link[CW_BGP_CONN_THEIRS] = pending;
			pending = BGP_NO_LINK;
			break;
		case CW_BGP_ACT_REFUSE:
			if (pending == BGP_NO_LINK) {
				bgp_bad(w, "%c refuses nothing", 'A' + end);
				break;
			}
			if (a->bytes.n)
				post(w, MAIL_DATA, pending, !end, a->bytes);
			close_link(w, end, pending, false);
			pending = BGP_NO_LINK;
			break;
		case CW_BGP_ACT_SEND:
			tell(w, end, "sends %s on %d", cw_bgp_type_name(a->bytes.p[18]), *link);
			send_message(w, end, *link, a->bytes);
			break;
		case CW_BGP_ACT_CLOSE:
			if (*link == BGP_NO_LINK)
				bgp_bad(w, "%c closes nothing", 'A' + end);
			else
				close_link(w, end, *link, a->discard);
			*link = BGP_NO_LINK;
			break;
		case CW_BGP_ACT_UP:
			if (h->up)
				bgp_bad(w, "%c: UP twice", 'A' + end);
			h->up = true;
			h->ups++;
			tell(w, end, "UP");
			break;
		case CW_BGP_ACT_DOWN:
			went_down(w, h, a);
			break;
		case CW_BGP_ACT_SEND_ALL:
			if (!h->up || h->family[a->family].sending)
				bgp_bad(w, "%c: SEND_ALL while down or sending", 'A' + end);
			h->family[a->family].sending = true;
			h->family[a->family].marked = a->marked;
			h->sends_all++;
			break;
		case CW_BGP_ACT_STALE_MARK:
			h->family[a->family].stale = h->family[a->family].has;
			break;
		case CW_BGP_ACT_STALE_SWEEP:
			tell(w, end, "sweeps %s", cw_bgp_family_name(a->family));
			if (h->family[a->family].stale)
				h->family[a->family].has = h->family[a->family].stale = false;
			break;
		case CW_BGP_ACT_DELIVER_UPDATE:
			if (!h->up)
				bgp_bad(w, "%c: an UPDATE while down", 'A' + end);
			break;
		case CW_BGP_ACT_LOG:
			h->lines++;
			tell(w, end, "%s: %s", cw_log_level_name(a->level), a->text);
			break;
		}
	}
	if (pending != BGP_NO_LINK)
		bgp_bad(w, "%c neither accepts nor refuses", 'A' + end);
}

static bool delivers(void)
{
	for (size_t i = 0; i < out.n; i++) {
		if (out.v[i].kind == CW_BGP_ACT_DELIVER_UPDATE)
			return true;
	}
	return false;
}

static void raw_step(struct bgp_world *w, int end, const struct cw_bgp_event *ev, int pending)
{
	struct bgp_host *h = &w->hosts[end];
	enum cw_bgp_conn up;

	cw_bgp_peer_step(h->p, ev, w->now, &out);
	carry_out(w, end, pending);
	up = cw_bgp_peer_established(h->p);
	if ((up < CW_BGP_CONNS) != h->up)
		bgp_bad(w, "%c is told otherwise than it is", 'A' + end);
	if ((cw_bgp_peer_state(h->p) == CW_BGP_STATE_ESTABLISHED) != h->up)
		bgp_bad(w, "%c: the state is %s", 'A' + end,
			cw_bgp_state_name(cw_bgp_peer_state(h->p)));
	if (h->up && h->link[up == CW_BGP_CONN_OURS ? CW_BGP_CONN_THEIRS : CW_BGP_CONN_OURS] !=
			     BGP_NO_LINK)
		bgp_bad(w, "%c is established and has another connection", 'A' + end);
	if (ev->kind == CW_BGP_EV_TIMER && cw_time_reached(cw_bgp_peer_next_due(h->p), w->now))
		bgp_bad(w, "%c: a timer is due again at once", 'A' + end);
}

void bgp_announce(struct bgp_world *w, int end)
{
	if (w->hosts[end].p && w->hosts[end].up)
		send_routes(w, end, CW_BGP_IPV4);
}

static void send_refresh(struct bgp_world *w, int end, enum cw_bgp_family family,
	enum cw_bgp_refresh_kind kind)
{
	struct bgp_host *h = &w->hosts[end];
	uint8_t buf[64];
	size_t n = cw_bgp_refresh_encode(family, kind, buf, sizeof(buf));

	send_message(w, end, h->link[cw_bgp_peer_established(h->p)], (struct cw_span){ buf, n });
}

static void send_end(struct bgp_world *w, int end, enum cw_bgp_family family)
{
	struct bgp_host *h = &w->hosts[end];
	uint8_t buf[64];
	size_t n = cw_bgp_end_of_rib_encode(family, buf, sizeof(buf));

	send_message(w, end, h->link[cw_bgp_peer_established(h->p)], (struct cw_span){ buf, n });
}

static void send_all(struct bgp_world *w, int end, enum cw_bgp_family family)
{
	bool marked = w->hosts[end].family[family].marked;

	if (marked)
		send_refresh(w, end, family, CW_BGP_REFRESH_BEGIN);
	send_routes(w, end, family);
	if (marked)
		send_refresh(w, end, family, CW_BGP_REFRESH_END);
	else
		send_end(w, end, family);
}

void bgp_finish(struct bgp_world *w, int end)
{
	struct bgp_host *h = &w->hosts[end];

	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		while (h->p && h->up && h->family[f].sending) {
			send_all(w, end, (enum cw_bgp_family)f);
			h->family[f].sending = false;
			raw_step(w, end,
				&(struct cw_bgp_event){ .kind = CW_BGP_EV_SENT_ALL,
					.family = (enum cw_bgp_family)f },
				BGP_NO_LINK);
		}
	}
}

void bgp_step(struct bgp_world *w, int end, const struct cw_bgp_event *ev)
{
	if (!w->hosts[end].p)
		return;
	raw_step(w, end, ev, BGP_NO_LINK);
	if (!w->hosts[end].slow)
		bgp_finish(w, end);
}

void bgp_order(struct bgp_world *w, int end, enum cw_bgp_event_kind kind)
{
	bgp_step(w, end, &(struct cw_bgp_event){ .kind = kind });
}

void bgp_inject(struct bgp_world *w, int end, enum cw_bgp_conn conn, enum cw_bgp_type type,
	const void *body, size_t n)
{
	struct bgp_host *h = &w->hosts[end];
	const uint8_t *b = body;
	struct cw_bgp_event ev = {
		.kind = CW_BGP_EV_MESSAGE, .conn = conn, .type = (uint8_t)type, .body = { body, n }
	};

	if (!h->p)
		return;
	raw_step(w, end, &ev, BGP_NO_LINK);
	if (type == CW_BGP_UPDATE && delivers()) {
		ev = (struct cw_bgp_event){ .kind = CW_BGP_EV_EOR };
		if (n == ROUTES_BODY) {
			h->family[b[4] & 1].has = true;
			h->family[b[4] & 1].stale = false;
			ev = (struct cw_bgp_event){ .kind = CW_BGP_EV_PREFIXES, .count = 1 };
			ev.family = (enum cw_bgp_family)(b[4] & 1);
		} else if (n > 4) {
			ev.family = CW_BGP_IPV6;
		}
		raw_step(w, end, &ev, BGP_NO_LINK);
	}
	if (!h->slow)
		bgp_finish(w, end);
}

/* ---- deliveries ---- */

static void arrive_syn(struct bgp_world *w, const struct bgp_mail *m)
{
	struct bgp_host *h = &w->hosts[m->to];

	if (!h->p) {
		post(w, MAIL_RST, m->link, !m->to, (struct cw_span){ 0 });
		return;
	}
	w->links[m->link].open[m->to] = true;
	post(w, MAIL_SYN_ACK, m->link, !m->to, (struct cw_span){ 0 });
	tell(w, m->to, "is connected to, %d", m->link);
	raw_step(w, m->to,
		&(struct cw_bgp_event){ .kind = CW_BGP_EV_ACCEPTED, .conn = CW_BGP_CONN_THEIRS },
		m->link);
}

static void arrive(struct bgp_world *w, const struct bgp_mail *m)
{
	struct bgp_host *h = &w->hosts[m->to];
	enum cw_bgp_conn conn = conn_of(h, m->link);
	bool open = w->links[m->link].open[m->to];
	struct cw_bgp_header header;
	struct cw_bgp_err err;
	struct cw_bgp_event ev = { .conn = conn };

	if (m->kind == MAIL_SYN) {
		arrive_syn(w, m);
		return;
	}
	if (!open || conn == CW_BGP_CONNS) {
		/* To nobody: the sender is told, if it is still there. */
		if (m->kind == MAIL_DATA || m->kind == MAIL_SYN_ACK)
			post(w, MAIL_RST, m->link, !m->to, (struct cw_span){ 0 });
		return;
	}
	switch (m->kind) {
	case MAIL_SYN_ACK:
		ev.kind = CW_BGP_EV_CONNECTED;
		break;
	case MAIL_DATA:
		if (cw_bgp_header_decode((struct cw_span){ m->data, m->n }, CW_BGP_MSG_MAX, &header,
			    &err) != CW_OK)
			bgp_bad(w, "%c gets what is no message", 'A' + m->to);
		tell(w, m->to, "gets %s on %d", cw_bgp_type_name(header.type), m->link);
		bgp_inject(w, m->to, conn, (enum cw_bgp_type)header.type,
			m->data + CW_BGP_HEADER_LEN, m->n - CW_BGP_HEADER_LEN);
		return;
	default:
		w->links[m->link].open[m->to] = false;
		h->link[conn] = BGP_NO_LINK;
		ev.kind = CW_BGP_EV_CLOSED;
		ev.err_no = m->kind == MAIL_RST ? ECONNRESET : 0;
	}
	bgp_step(w, m->to, &ev);
}

void bgp_pass_ms(struct bgp_world *w, int64_t ms)
{
	struct cw_time end = cw_time_add_ms(w->now, ms);

	for (;;) {
		int m = first_mail(w), who = -1;
		struct cw_time due = m < 0 ? CW_TIME_NEVER : w->mail[m].at;

		/* Sockets are read before timers are looked at. */
		for (int i = 0; i < 2; i++) {
			struct cw_time t =
				w->hosts[i].p ? cw_bgp_peer_next_due(w->hosts[i].p) : CW_TIME_NEVER;

			if (t.us < due.us) {
				due = t;
				who = i;
			}
		}
		if (cw_time_is_never(due) || due.us > end.us || w->bad)
			break;
		if (due.us > w->now.us)
			w->now = due;
		if (who >= 0) {
			w->hosts[who].timers++;
			bgp_order(w, who, CW_BGP_EV_TIMER);
		} else {
			struct bgp_mail mail = w->mail[m];

			w->mail[m] = w->mail[--w->n_mail];
			arrive(w, &mail);
		}
	}
	w->now = end;
}

bool bgp_is_well(const struct bgp_world *w)
{
	const struct bgp_host *a = &w->hosts[0], *b = &w->hosts[1];

	if (!a->p || !b->p || !a->up || !b->up)
		return false;
	if (a->link[cw_bgp_peer_established(a->p)] != b->link[cw_bgp_peer_established(b->p)])
		return false;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		if (!cw_bgp_peer_codec(a->p)->family[f])
			continue;
		if (!a->family[f].has || a->family[f].stale || !b->family[f].has ||
			b->family[f].stale)
			return false;
	}
	return true;
}

int64_t bgp_until_up_ms(struct bgp_world *w, int64_t ms)
{
	for (int64_t t = 0; t <= ms; t += 10) {
		if (bgp_is_well(w))
			return t;
		bgp_pass_ms(w, 10);
	}
	return -1;
}

/* ---- trouble ---- */

void bgp_cut(struct bgp_world *w, bool cut)
{
	w->cut = cut;
}

void bgp_crash(struct bgp_world *w, int end)
{
	struct bgp_host *h = &w->hosts[end];

	tell(w, end, "crashes");
	for (int i = 0; i < BGP_LINKS_MAX; i++)
		w->links[i].open[end] = false;
	cw_bgp_peer_free(h->p);
	h->p = NULL;
	h->up = false;
	h->link[0] = h->link[1] = BGP_NO_LINK;
	memset(h->family, 0, sizeof(h->family));
}

void bgp_boot(struct bgp_world *w, int end, bool restarting, bool forwarding)
{
	struct bgp_host *h = &w->hosts[end];

	if (h->p)
		return;
	tell(w, end, "boots");
	h->p = cw_bgp_peer_new(&h->conf, ++h->seed, w->now);
	if (!h->p)
		abort();
	bgp_step(w, end,
		&(struct cw_bgp_event){ .kind = CW_BGP_EV_START,
			.restarting = restarting,
			.forwarding = forwarding });
}

void bgp_break(struct bgp_world *w, int end, enum cw_bgp_conn conn)
{
	int link = w->hosts[end].link[conn];

	if (!w->hosts[end].p || link == BGP_NO_LINK)
		return;
	tell(w, end, "%d breaks", link);
	w->links[link].open[end] = false;
	w->hosts[end].link[conn] = BGP_NO_LINK;
	post(w, MAIL_RST, link, !end, (struct cw_span){ 0 });
	bgp_step(w, end,
		&(struct cw_bgp_event){
			.kind = CW_BGP_EV_CLOSED, .conn = conn, .err_no = ECONNRESET });
}

struct cw_bgp_peer_view bgp_view(const struct bgp_world *w, int end)
{
	struct cw_bgp_peer_view v;

	cw_bgp_peer_view(w->hosts[end].p, w->now, 1700000000000000, &v);
	return v;
}
