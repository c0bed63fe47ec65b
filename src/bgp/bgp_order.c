/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people and settings want: start, stop, reset, new settings, the limit of prefixes, the
 * tunnel beneath. */
#include "bgp/bgp_peer_priv.h"

#include <stdio.h>
#include <string.h>

/* ---- the prefix limit ---- */

static uint32_t trip_pause_s(const struct cw_bgp_peer *p)
{
	uint64_t s = p->conf.max_prefixes_restart_s;

	for (uint32_t i = 1; i < p->trips && s < CW_BGP_TRIPS_MAX_S; i++)
		s *= 2;
	return (uint32_t)(s < CW_BGP_TRIPS_MAX_S ? s : CW_BGP_TRIPS_MAX_S);
}

static void trip(struct turn *t, enum cw_bgp_family family)
{
	struct cw_bgp_peer *p = t->p;
	uint32_t limit = p->conf.max_prefixes, count = p->family[family].prefixes;
	uint8_t data[7]; /* RFC 4486 4: AFI, SAFI, the limit */
	struct cw_writer w = cw_writer_of(data, sizeof(data));
	char why[CW_BGP_VIEW_TEXT_MAX];

	cw_put_u16(&w, cw_bgp_afi(family));
	cw_put_u8(&w, 1);
	cw_put_u32(&w, limit);
	snprintf(
		why, sizeof(why), "%s: limit %u, got %u", cw_bgp_family_name(family), limit, count);
	p->trip_family = family;
	p->trip_count = count;
	if (cw_time_diff_us(t->now, p->up_at) >= p->conf.stable_s * 1000000LL * CW_BGP_LONG_STABLE)
		p->trips = 0;
	p->trips++;
	p->wait = CW_BGP_WAIT_PREFIXES;
	p->idle_due = p->conf.max_prefixes_restart_s ? cw_time_add_s(t->now, trip_pause_s(p))
						     : CW_TIME_NEVER;
	cw_bgp_conn_end_all(t, &(struct ending){ .cause = CW_BGP_CAUSE_PREFIX_LIMIT,
				       .why = why,
				       .notify = true,
				       .code = CW_BGP_E_CEASE,
				       .subcode = CW_BGP_CEASE_MAX_PREFIXES,
				       .data = { .p = data, .n = cw_writer_len(&w) },
				       .hard = true,
				       .after = AFTER_ORDER });
}

void cw_bgp_look_at_prefixes(struct turn *t, enum cw_bgp_family family)
{
	struct cw_bgp_peer *p = t->p;
	struct family_state *f = &p->family[family];
	uint64_t limit = p->conf.max_prefixes, warn = limit * p->conf.max_prefixes_warn / 100;

	if (cw_bgp_peer_established(p) == CW_BGP_CONNS || !f->agreed)
		return;
	if (limit && f->prefixes > limit) {
		trip(t, family);
		return;
	}
	if (!limit || !warn || f->prefixes < warn) {
		f->warned = false;
	} else if (!f->warned) {
		f->warned = true;
		cw_bgp_say(t, CW_LOG_WARNING, CW_LOG_BGP_PREFIX_WARNING,
			"%u %s prefixes, and the session ends above %u (max-prefixes)", f->prefixes,
			cw_bgp_family_name(family), (unsigned)limit);
	}
}

/* ---- orders ---- */

/* RFC 9003 2: a length of one octet, and UTF-8 that is not cut within a character. */
static struct cw_span shutdown_text(const char *text, uint8_t buf[static 256])
{
	size_t n = text ? strlen(text) : 0;

	if (!n)
		return (struct cw_span){ 0 };
	if (n > 255) {
		n = 255;
		while (n && ((uint8_t)text[n] & 0xc0) == 0x80)
			n--;
	}
	buf[0] = (uint8_t)n;
	memcpy(buf + 1, text, n);
	return (struct cw_span){ .p = buf, .n = n + 1 };
}

static void forget_failures(struct cw_bgp_peer *p)
{
	p->failures = p->same_bad = p->trips = 0;
	p->bad_hash = 0;
	memset(p->said, 0, sizeof(p->said));
	p->plain_next = false;
}

void cw_bgp_order_start(struct turn *t, const struct cw_bgp_event *ev)
{
	struct cw_bgp_peer *p = t->p;

	if (p->started)
		return;
	p->started = true;
	forget_failures(p);
	p->restarting = ev->restarting && p->conf.gr;
	p->forwarding = ev->forwarding;
	p->defer_due = p->restarting ? cw_time_add_s(t->now, p->conf.gr_defer_s) : CW_TIME_NEVER;
	cw_bgp_set_cause(t, CW_BGP_CAUSE_NONE, NULL);
	cw_bgp_begin(t);
}

void cw_bgp_order_stop(struct turn *t, const struct cw_bgp_event *ev)
{
	struct cw_bgp_peer *p = t->p;
	uint8_t buf[256];
	bool quiet = ev->quiet && p->gr && cw_bgp_peer_established(p) < CW_BGP_CONNS;

	p->started = false;
	p->wait = CW_BGP_WAIT_START;
	p->retry_due = p->idle_due = p->defer_due = CW_TIME_NEVER;
	cw_bgp_conn_end_all(t, &(struct ending){ .cause = CW_BGP_CAUSE_OPERATOR,
				       .why = ev->text,
				       .notify = !quiet,
				       .code = CW_BGP_E_CEASE,
				       .subcode = ev->subcode,
				       .data = shutdown_text(ev->text, buf),
				       .hard = true,
				       .after = AFTER_ORDER });
	cw_bgp_set_cause(t, CW_BGP_CAUSE_OPERATOR, ev->text);
	cw_bgp_sweep_all(t);
}

static void reset_hard(struct turn *t, const char *text)
{
	struct cw_bgp_peer *p = t->p;
	uint8_t buf[256];

	cw_bgp_conn_end_all(t, &(struct ending){ .cause = CW_BGP_CAUSE_RESET,
				       .why = text,
				       .notify = true,
				       .code = CW_BGP_E_CEASE,
				       .subcode = CW_BGP_CEASE_RESET,
				       .data = shutdown_text(text, buf),
				       .hard = true,
				       .after = AFTER_ORDER });
	cw_bgp_set_cause(t, CW_BGP_CAUSE_RESET, text);
	cw_bgp_sweep_all(t);
	forget_failures(p);
	cw_bgp_begin(t);
}

void cw_bgp_order_reset(struct turn *t, const struct cw_bgp_event *ev)
{
	struct cw_bgp_peer *p = t->p;
	bool up = cw_bgp_peer_established(p) < CW_BGP_CONNS;

	if (ev->reset == CW_BGP_RESET_HARD) {
		reset_hard(t, ev->text);
	} else if (!up) {
		cw_bgp_say(t, CW_LOG_INFO, CW_LOG_NONE, "no session to be refreshed");
	} else if (ev->reset == CW_BGP_RESET_SOFT_IN && !p->refresh) {
		cw_bgp_say(t, CW_LOG_WARNING, CW_LOG_NONE,
			"the peer can't send its routes again (no route refresh); a hard reset "
			"would");
	} else {
		for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
			if (ev->reset == CW_BGP_RESET_SOFT_IN)
				cw_bgp_ask_all(t, (enum cw_bgp_family)f);
			else
				cw_bgp_send_all(t, (enum cw_bgp_family)f, false);
		}
	}
}

void cw_bgp_order_net_down(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	p->net_down = true;
	if (!p->started)
		return;
	/* A peer that announced too much does so again, whatever its way here does meanwhile. */
	if (p->wait != CW_BGP_WAIT_PREFIXES) {
		p->wait = CW_BGP_WAIT_NET;
		p->idle_due = CW_TIME_NEVER;
	}
	p->retry_due = CW_TIME_NEVER;
	cw_bgp_conn_end_all(t, &(struct ending){ .cause = CW_BGP_CAUSE_NET_DOWN,
				       .hard = true,
				       .discard = true,
				       .after = AFTER_ORDER });
	if (p->wait == CW_BGP_WAIT_NET)
		cw_bgp_set_cause(t, CW_BGP_CAUSE_NET_DOWN, NULL);
	cw_bgp_sweep_all(t);
}

void cw_bgp_order_net_up(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;

	if (!p->net_down)
		return;
	p->net_down = false;
	if (p->wait != CW_BGP_WAIT_NET)
		return;
	p->failures = 0;
	cw_bgp_begin(t);
}

/* ---- new settings ---- */

/* Would the session as it is be refused by the present settings? */
static bool must_renew(const struct cw_bgp_peer *p)
{
	struct open_fault fault;

	for (unsigned i = 0; i < CW_BGP_CONNS; i++) {
		const struct conn *c = &p->conn[i];

		if (c->has_open && !cw_bgp_open_check(p, &c->open, &fault))
			return true;
	}
	return false;
}

static void renew(struct turn *t, enum cw_bgp_peer_change change, const char *names)
{
	struct cw_bgp_peer *p = t->p;
	char why[CW_BGP_VIEW_TEXT_MAX];

	snprintf(why, sizeof(why), "%s", names);
	/* Another peer's routes are no use; the same peer's may be kept. */
	cw_bgp_conn_end_all(t, &(struct ending){ .cause = CW_BGP_CAUSE_CONF_CHANGED,
				       .why = why,
				       .notify = true,
				       .code = CW_BGP_E_CEASE,
				       .subcode = CW_BGP_CEASE_CONFIG_CHANGE,
				       .hard = change == CW_BGP_CHANGE_SOCKET,
				       .after = AFTER_ORDER });
	if (change == CW_BGP_CHANGE_SOCKET)
		cw_bgp_sweep_all(t);
	if (!p->started || p->net_down)
		return;
	cw_bgp_set_cause(t, CW_BGP_CAUSE_CONF_CHANGED, why);
	forget_failures(p);
	cw_bgp_begin(t);
}

/* What may not go on by the new settings, or may now, though no session needs renewing. */
static void apply_live(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;
	struct conn *ours = &p->conn[CW_BGP_CONN_OURS], *theirs = &p->conn[CW_BGP_CONN_THEIRS];

	if (p->wait == CW_BGP_WAIT_PREFIXES &&
		(!p->conf.max_prefixes || p->conf.max_prefixes >= p->trip_count)) {
		p->trips = 0;
		cw_bgp_begin(t);
		return;
	}
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++)
		cw_bgp_look_at_prefixes(t, (enum cw_bgp_family)f);
	if (p->wait != CW_BGP_WAIT_NONE)
		return;
	if (!p->conf.active && ours->phase == PH_CONNECTING)
		cw_bgp_conn_end(t, CW_BGP_CONN_OURS,
			&(struct ending){
				.cause = CW_BGP_CAUSE_CONF_CHANGED, .after = AFTER_ORDER });
	if (!p->conf.active)
		p->retry_due = CW_TIME_NEVER;
	else if (ours->phase == PH_NONE && theirs->phase == PH_NONE)
		cw_bgp_try_connect(t);
}

void cw_bgp_order_conf(struct turn *t, const struct cw_bgp_peer_conf *conf)
{
	struct cw_bgp_peer *p = t->p;
	char names[128];
	enum cw_bgp_peer_change change =
		cw_bgp_peer_conf_diff(&p->conf, conf, names, sizeof(names));

	if (change == CW_BGP_CHANGE_NONE)
		return;
	/* The old settings are what the session and its NOTIFICATION belong to, in agreed values
	 * alone. */
	p->conf = *conf;
	if (change == CW_BGP_CHANGE_LIVE && must_renew(p))
		change = CW_BGP_CHANGE_OPEN;
	cw_bgp_say(t, CW_LOG_NOTICE, CW_LOG_BGP_SETTINGS, "changed: %s%s", names,
		change == CW_BGP_CHANGE_LIVE ? "" : "; the session begins anew");
	if (change == CW_BGP_CHANGE_LIVE)
		apply_live(t);
	else
		renew(t, change, names);
}
