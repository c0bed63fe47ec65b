/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept over the end of a session (RFC 4724, 8538), and what is sent and asked for again
 * (RFC 2918, 7313).
 */
#include "bgp/bgp_peer_priv.h"

#include <stdio.h>

static enum cw_bgp_family family_at(unsigned i)
{
	return (enum cw_bgp_family)i;
}

static void family_action(struct turn *t, enum cw_bgp_action_kind kind, enum cw_bgp_family family)
{
	cw_bgp_add(t, kind)->family = family;
}

static void sweep(struct turn *t, enum cw_bgp_family family)
{
	struct family_state *f = &t->p->family[family];

	if (f->stale == STALE_NONE)
		return;
	f->stale = STALE_NONE;
	f->stale_due = CW_TIME_NEVER;
	family_action(t, CW_BGP_ACT_STALE_SWEEP, family);
}

void cw_bgp_sweep_all(struct turn *t)
{
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		sweep(t, family_at(i));
	t->p->restart_due = CW_TIME_NEVER;
}

/* ---- sending everything ---- */

void cw_bgp_send_all(struct turn *t, enum cw_bgp_family family, bool first)
{
	struct family_state *f = &t->p->family[family];
	struct cw_bgp_action *a;

	if (!f->agreed || (f->deferred && !first))
		return; /* the first round will bring it */
	if (f->sending) {
		f->again = true;
		return;
	}
	f->deferred = false;
	f->sending = true;
	/* RFC 7313 4: only after End-of-RIB, which ends the first round. */
	a = cw_bgp_add(t, CW_BGP_ACT_SEND_ALL);
	a->family = family;
	a->marked = !first && t->p->enhanced;
}

void cw_bgp_restart_sent_all(struct turn *t, enum cw_bgp_family family)
{
	struct family_state *f = &t->p->family[family];

	if (!f->sending)
		return;
	f->sending = false;
	if (f->again) {
		f->again = false;
		cw_bgp_send_all(t, family, false);
	}
}

void cw_bgp_ask_all(struct turn *t, enum cw_bgp_family family)
{
	size_t size;
	uint8_t *buf = cw_bgp_room(t, &size);

	if (t->p->family[family].agreed)
		cw_bgp_conn_send(t, cw_bgp_peer_established(t->p), CW_BGP_ROUTE_REFRESH,
			cw_bgp_refresh_encode(family, CW_BGP_REFRESH_REQUEST, buf, size));
}

void cw_bgp_refresh_in(struct turn *t, const struct cw_bgp_refresh *refresh)
{
	struct cw_bgp_peer *p = t->p;
	enum cw_bgp_family family = refresh->family;
	struct family_state *f;

	if (family >= CW_BGP_FAMILIES || !p->family[family].agreed)
		return;
	f = &p->family[family];
	/* RFC 7313 4: without its capability the octet was reserved, and is not looked at. */
	switch (p->enhanced ? refresh->kind : CW_BGP_REFRESH_REQUEST) {
	case CW_BGP_REFRESH_REQUEST:
		cw_bgp_send_all(t, family, false);
		break;
	case CW_BGP_REFRESH_BEGIN:
		/* A peer that restarts gracefully may not begin before its End-of-RIB. */
		if (p->gr && !f->eor_in)
			break;
		f->stale = STALE_REFRESH;
		f->stale_due = cw_time_add_s(t->now, p->conf.gr_stale_s);
		family_action(t, CW_BGP_ACT_STALE_MARK, family);
		break;
	case CW_BGP_REFRESH_END:
		if (f->stale == STALE_REFRESH)
			sweep(t, family);
		break;
	}
}

/* ---- the session begins and ends ---- */

/* The peer came back and kept what it forwards by, so its old routes may stay until it has
 * announced. */
static bool still_good(const struct cw_bgp_peer *p, enum cw_bgp_family family)
{
	const struct cw_bgp_caps *caps = &p->peer_open.caps;

	return p->family[family].agreed && p->gr && caps->gr_family[family] &&
	       caps->gr_forwarding[family];
}

/* RFC 4724 4.1: who has just restarted waits for the routes of peers that have not. */
static bool must_defer(const struct turn *t)
{
	const struct cw_bgp_peer *p = t->p;

	return p->restarting && p->gr && !p->peer_open.caps.gr_restarting &&
	       !cw_time_reached(p->defer_due, t->now);
}

void cw_bgp_restart_up(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;
	bool defer = must_defer(t);

	p->restart_due = CW_TIME_NEVER;
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		struct family_state *f = &p->family[i];

		if (f->stale != STALE_NONE && !still_good(p, family_at(i)))
			sweep(t, family_at(i));
		else if (f->stale != STALE_NONE)
			f->stale_due = cw_time_add_s(t->now, p->conf.gr_stale_s);
		if (!f->agreed)
			continue;
		if (defer)
			f->deferred = true;
		else
			cw_bgp_send_all(t, family_at(i), true);
	}
	p->restarting = false;
	p->forwarding = true;
	if (!defer)
		p->defer_due = CW_TIME_NEVER;
}

/* Are the peer's routes kept, in case it comes back? */
static bool keeps(const struct cw_bgp_peer *p, enum cw_bgp_family family, const struct ending *e)
{
	bool by_notification = e->notify || e->cause == CW_BGP_CAUSE_NOTIFICATION ||
			       (e->cause == CW_BGP_CAUSE_COLLISION && !e->closed);
	const struct cw_bgp_caps *caps = &p->peer_open.caps;

	if (!p->gr || e->hard || !p->family[family].agreed || !caps->gr_family[family])
		return false;
	return caps->gr_time_s && (!by_notification || p->gr_notification);
}

void cw_bgp_restart_down(struct turn *t, const struct ending *e)
{
	struct cw_bgp_peer *p = t->p;
	uint32_t restart_s = p->peer_open.caps.gr_time_s;
	struct cw_bgp_action *down;
	bool keep[CW_BGP_FAMILIES], any = false;

	/* What the session before left and this one did not renew has had its time: RFC 4724 4.2.
	 */
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		if (p->family[i].stale == STALE_SESSION)
			sweep(t, family_at(i));
	}
	down = cw_bgp_add(t, CW_BGP_ACT_DOWN);
	down->cause = e->cause;
	snprintf(down->text, sizeof(down->text), "%s", e->why ? e->why : "");
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		struct family_state *f = &p->family[i];
		uint32_t prefixes;

		down->keep[i] = keep[i] = keeps(p, family_at(i), e);
		any |= keep[i];
		prefixes = keep[i] ? f->prefixes : 0;
		*f = (struct family_state){ .prefixes = prefixes,
			.stale_due = CW_TIME_NEVER,
			.stale = keep[i] ? STALE_SESSION : STALE_NONE };
	}
	p->defer_due = CW_TIME_NEVER;
	if (restart_s > p->conf.gr_time_max_s)
		restart_s = p->conf.gr_time_max_s;
	p->restart_due = any ? cw_time_add_s(t->now, restart_s) : CW_TIME_NEVER;
}

void cw_bgp_restart_eor(struct turn *t, enum cw_bgp_family family)
{
	struct family_state *f = &t->p->family[family];

	f->eor_in = true;
	if (f->stale == STALE_SESSION)
		sweep(t, family);
	if (f->deferred)
		cw_bgp_send_all(t, family, true);
}

/* ---- timers ---- */

void cw_bgp_restart_timers(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	if (cw_time_reached(p->restart_due, t->now)) {
		cw_bgp_say(t, CW_LOG_NOTICE, CW_LOG_BGP_DOWN,
			"the peer is not back in its restart time; its routes go");
		cw_bgp_sweep_all(t);
	}
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		if (cw_time_reached(p->family[i].stale_due, t->now))
			sweep(t, family_at(i));
	}
	if (!cw_time_reached(p->defer_due, t->now))
		return;
	p->defer_due = CW_TIME_NEVER;
	p->restarting = false;
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++) {
		if (p->family[i].deferred)
			cw_bgp_send_all(t, family_at(i), true);
	}
}

struct cw_time cw_bgp_restart_due(const struct cw_bgp_peer *p)
{
	struct cw_time due = cw_time_min(p->restart_due, p->defer_due);

	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		due = cw_time_min(due, p->family[i].stale_due);
	return due;
}
