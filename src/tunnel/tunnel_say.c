/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tunnel says to the log. The first of its kind is news and is said aloud, with its
 * remedy; the hundredth is not. What a peer can bring about at will is said once a minute.
 */
#include "tunnel/tunnel_priv.h"

#include <stdarg.h>
#include <stdio.h>

#define SAME_LINE_US 600000000LL /* the same failure is said aloud again after so long */
#define PEER_LINE_US 60000000LL
#define JUST_NOW_US 500000LL

struct cw_tunnel_action *cw_tunnel_add(
	struct cw_tunnel_actions *out, enum cw_tunnel_action_kind kind)
{
	if (out->n == CW_TUNNEL_ACTIONS_MAX) {
		out->full = true;
		return NULL;
	}
	out->v[out->n] = (struct cw_tunnel_action){ .kind = kind };
	return &out->v[out->n++];
}

__attribute__((format(printf, 4, 5))) static void say(struct cw_tunnel_actions *out,
	enum cw_log_level level, enum cw_log_id id, const char *fmt, ...)
{
	struct cw_tunnel_action *a = cw_tunnel_add(out, CW_TA_LOG);
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

/* "the peer refused our key or identity (AUTHENTICATION_FAILED)" */
struct because {
	char text[2 * CW_IKE_TEXT_MAX + 64];
};

static struct because because(enum cw_cause cause, const char *detail)
{
	struct because b;

	snprintf(b.text, sizeof(b.text), "%s%s%s%s", cw_cause_text(cause), detail[0] ? " (" : "",
		detail, detail[0] ? ")" : "");
	return b;
}

/* What to do, as the end of a line. */
static struct because remedy(const struct cw_tunnel *t, enum cw_cause cause)
{
	struct because b;
	const char *text = cw_tunnel_private_id(t) ? cw_cause_remedy_private(cause)
						   : cw_cause_remedy(cause);

	snprintf(b.text, sizeof(b.text), "%s%s", text[0] ? "; " : "", text);
	return b;
}

static bool is_news(struct cw_time *said_at, int64_t again_us, struct cw_time now)
{
	if (!cw_time_is_never(*said_at) && cw_time_diff_us(now, *said_at) < again_us)
		return false;
	*said_at = now;
	return true;
}

static bool cause_is_news(struct cw_tunnel *t, enum cw_cause cause, struct cw_time now)
{
	return (unsigned)cause >= CW_CAUSE_COUNT || is_news(&t->said_at[cause], SAME_LINE_US, now);
}

void cw_tunnel_say_anew(struct cw_tunnel *t)
{
	for (size_t i = 0; i < CW_CAUSE_COUNT; i++)
		t->said_at[i] = CW_TIME_NEVER;
}

/* "next try in 1.5 s" */
static struct because next_try(const struct cw_tunnel *t, struct cw_time now)
{
	struct because b;
	int64_t ms = cw_time_diff_us(t->act_due, now) / 1000;

	snprintf(b.text, sizeof(b.text), "next try in %lld.%lld s", (long long)(ms / 1000),
		(long long)(ms % 1000 / 100));
	return b;
}

void cw_tunnel_say_try_failed(
	struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	bool first = (unsigned)t->why < CW_CAUSE_COUNT && cw_time_is_never(t->said_at[t->why]);
	bool news = cause_is_news(t, t->why, now);

	say(out, news ? CW_LOG_WARNING : CW_LOG_INFO, log_id_of(t->why), "try %u failed: %s; %s%s%s",
		t->failures, because(t->why, t->detail).text, next_try(t, now).text,
		news ? remedy(t, t->why).text : "",
		first ? "; of tries that fail alike, one in 10 minutes is logged" : "");
}

void cw_tunnel_say_child_refused(
	struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	bool news = cause_is_news(t, t->why, now);

	say(out, news ? CW_LOG_WARNING : CW_LOG_INFO, log_id_of(t->why), "no CHILD_SA: %s%s",
		because(t->why, t->detail).text, news ? remedy(t, t->why).text : "");
}

void cw_tunnel_say_child_lost(
	struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out)
{
	say(out, cause_is_news(t, t->why, now) ? CW_LOG_WARNING : CW_LOG_INFO, CW_LOG_TUNNEL_DOWN,
		"a CHILD_SA is gone: %s; asking for it again", because(t->why, t->detail).text);
}

void cw_tunnel_say_peer_failed(struct cw_tunnel *t, const struct cw_ike_event *ev,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	if (is_news(&t->peer_said_at, PEER_LINE_US, now))
		say(out, CW_LOG_WARNING, log_id_of(ev->cause), "the peer's try failed: %s%s",
			because(ev->cause, ev->detail).text, remedy(t, ev->cause).text);
}

void cw_tunnel_say_rekey_failed(struct cw_tunnel *t, const struct cw_ike_event *ev, bool again,
	struct cw_time now, struct cw_tunnel_actions *out)
{
	if (!again)
		t->rekey_said_at = CW_TIME_NEVER;
	say(out, is_news(&t->rekey_said_at, SAME_LINE_US, now) ? CW_LOG_WARNING : CW_LOG_INFO,
		CW_LOG_REKEY_FAILED,
		"rekey of the %s_SA failed: %s; the old one is used until it expires",
		ev->is_child ? "CHILD" : "IKE", because(ev->cause, ev->detail).text);
}

void cw_tunnel_say_rekeyed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	bool child = ev->kind == CW_IKE_EV_CHILD_REKEYED;
	struct cw_time *said_at = child ? &t->child_rekeyed_said_at : &t->ike_rekeyed_said_at;
	const char *proposal = child ? ev->child.proposal : ev->ike.proposal;

	say(out, is_news(said_at, PEER_LINE_US, now) ? CW_LOG_NOTICE : CW_LOG_INFO, CW_LOG_REKEYED,
		"%s_SA rekeyed%s%s", child ? "CHILD" : "IKE", proposal[0] ? ", " : "", proposal);
}

void cw_tunnel_say_duplicate(
	const struct ike_entry *closed, const struct ike_entry *kept, struct cw_tunnel_actions *out)
{
	say(out, CW_LOG_INFO, CW_LOG_DUPLICATE_SA,
		"a second IKE_SA (%016llx_i) is closed, %016llx_i is kept",
		(unsigned long long)closed->info.spi_i, (unsigned long long)kept->info.spi_i);
}

void cw_tunnel_say_repair(
	const struct pair_entry *p, struct cw_time now, struct cw_tunnel_actions *out)
{
	say(out, p->repairs ? CW_LOG_INFO : CW_LOG_NOTICE, CW_LOG_ONE_WAY,
		"no data has come in for %lld s while some goes out; rekeying the CHILD_SA, in case "
		"the peer has lost it",
		(long long)(cw_time_diff_us(now, p->quiet_since) / 1000000));
}

/* "10.20.0.0/16, 10.21.0.0/16 and 3 more" */
static const char *selectors(const struct cw_prefix *ts, size_t n, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && i < CW_IKE_TS_MAX && used < size; i++) {
		char text[CW_PREFIX_TEXT_MAX];

		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
			cw_prefix_print(&ts[i], text, sizeof(text)));
	}
	if (n > CW_IKE_TS_MAX && used < size)
		snprintf(buf + used, size - used, " and %zu more", n - CW_IKE_TS_MAX);
	return buf;
}

void cw_tunnel_say_narrowed(const struct cw_child_info *child, struct cw_tunnel_actions *out)
{
	char ours[224], theirs[224];

	say(out, CW_LOG_NOTICE, CW_LOG_SELECTORS_NARROWED,
		"the peer narrowed the selectors; only this passes: %s === %s",
		selectors(child->local_ts, child->n_local_ts, ours, sizeof(ours)),
		selectors(child->remote_ts, child->n_remote_ts, theirs, sizeof(theirs)));
}

bool cw_tunnel_is_trying(enum cw_tunnel_state s)
{
	return s == CW_TUNNEL_RESOLVING || s == CW_TUNNEL_CONNECTING || s == CW_TUNNEL_WAITING;
}

/* Its IKE_SA stayed, so "down" was not said: a line that has both. */
static void say_up_again(
	const struct cw_tunnel *t, int64_t without_us, struct cw_tunnel_actions *out)
{
	enum cw_cause cause = t->history[(t->n_steps - 1) % CW_VIEW_HISTORY_MAX].cause;
	bool known = cause != CW_CAUSE_NONE;

	say(out, CW_LOG_NOTICE, CW_LOG_TUNNEL_UP, "up again, after %lld.%lld s without all its CHILD_SAs%s%s",
		(long long)(without_us / 1000000), (long long)(without_us % 1000000 / 100000),
		known ? ": " : "", known ? cw_cause_text(cause) : "");
}

void cw_tunnel_say_move(struct cw_tunnel *t, enum cw_tunnel_state from, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);
	int64_t lasted_us = cw_time_diff_us(now, t->since);
	enum cw_log_level level = CW_LOG_WARNING;
	struct because next = { "" };
	char peer[CW_ADDR_TEXT_MAX];

	if (t->state == CW_TUNNEL_UP && t->said_up) {
		say_up_again(t, lasted_us, out);
		return;
	}
	if (t->state == CW_TUNNEL_UP && ike) {
		t->said_up = true;
		say(out, CW_LOG_NOTICE, CW_LOG_TUNNEL_UP, "up: IKEv%u with %s%s, %s; %s",
			ike->version, cw_addr_print(&ike->remote, peer, sizeof(peer)),
			ike->encap ? " (UDP encapsulated)" : "", ike->proposal,
			ike->initiator ? "we started it" : "the peer started it");
		return;
	}
	/* Children go before their IKE_SA. If the IKE_SA stays, asking for them again is what is
	 * said. */
	if (t->state == CW_TUNNEL_IKE_ONLY || (from != CW_TUNNEL_UP && from != CW_TUNNEL_IKE_ONLY))
		return;
	if (from == CW_TUNNEL_IKE_ONLY && lasted_us < JUST_NOW_US &&
		t->history[(t->n_steps - 1) % CW_VIEW_HISTORY_MAX].from == CW_TUNNEL_UP) {
		from = CW_TUNNEL_UP;
		lasted_us = cw_time_diff_us(now, t->up_since);
	}
	if (from == CW_TUNNEL_UP && lasted_us > CW_TUNNEL_WELL_UP_US)
		cw_tunnel_say_anew(t);
	if (t->why == CW_CAUSE_OPERATOR || t->why == CW_CAUSE_STOPPING)
		level = CW_LOG_NOTICE;
	else if (from == CW_TUNNEL_IKE_ONLY && !cause_is_news(t, t->why, now) && !t->said_up)
		level = CW_LOG_INFO; /* it was never up: one of many tries */
	t->said_up = false;
	if (t->state == CW_TUNNEL_WAITING)
		next = next_try(t, now);
	else if (t->state != CW_TUNNEL_DOWN && t->want == WANT_UP)
		snprintf(next.text, sizeof(next.text), "trying again");
	say(out, level, CW_LOG_TUNNEL_DOWN, "down after %lld s %s: %s%s%s",
		(long long)(lasted_us / 1000000), cw_tunnel_state_name(from),
		because(t->why, t->detail).text, next.text[0] ? "; " : "", next.text);
}
