/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the session says to the log, and NOTIFICATIONs in words. The first of its kind is news; what
 * fails alike again is said aloud seldom. */
#include "bgp/bgp_peer_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAME_LINE_US 600000000LL
#define NEWS_US 60000000LL /* one more line may be news after that */
#define HEX_MAX 24 /* octets of a bad message that are shown */

void cw_bgp_say(struct turn *t, enum cw_log_level level, enum cw_log_id id, const char *fmt, ...)
{
	struct cw_bgp_action *a = cw_bgp_add(t, CW_BGP_ACT_LOG);
	va_list args;

	a->level = level;
	a->log_id = id;
	va_start(args, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, args);
	va_end(args);
}

/* ---- NOTIFICATIONs ---- */

void cw_bgp_notification_words(
	const struct cw_bgp_notification *n, const char *why, char *buf, size_t size)
{
	char text[160];
	int at = snprintf(buf, size, "%s", cw_bgp_error_name(n->code));

	if (at > 0 && (size_t)at < size && n->subcode)
		at += snprintf(buf + at, size - (size_t)at, ", %s",
			cw_bgp_suberror_name(n->code, n->subcode));
	if (at > 0 && (size_t)at < size)
		at += snprintf(buf + at, size - (size_t)at, " (%u/%u)", n->code, n->subcode);
	if (!why && cw_bgp_shutdown_text(n, text, sizeof(text)))
		why = text;
	if (why && at > 0 && (size_t)at < size)
		snprintf(buf + at, size - (size_t)at, ": %s", why);
}

void cw_bgp_keep_notification(struct kept_notification *kept, const struct cw_bgp_notification *n,
	bool hard, const char *why, struct cw_time now)
{
	*kept = (struct kept_notification){ .present = true,
		.hard = hard,
		.at = now,
		.code = n->code,
		.subcode = n->subcode,
		.n_data = n->data.n };
	if (n->data.n)
		memcpy(kept->data, n->data.p,
			n->data.n < sizeof(kept->data) ? n->data.n : sizeof(kept->data));
	cw_bgp_notification_words(n, why, kept->text, sizeof(kept->text));
}

/* ---- up ---- */

static void families(const struct cw_bgp_peer *p, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned f = 0; f < CW_BGP_FAMILIES && at < size; f++) {
		if (p->family[f].agreed)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? " and " : "",
				cw_bgp_family_name((enum cw_bgp_family)f));
	}
}

void cw_bgp_say_up(struct turn *t)
{
	struct cw_bgp_peer *p = t->p;
	char names[48], hold[64] = "no hold time";

	memset(p->said, 0, sizeof(p->said));
	families(p, names, sizeof(names));
	if (p->hold_s)
		snprintf(hold, sizeof(hold), "hold time %u s", p->hold_s);
	cw_bgp_say(t, CW_LOG_NOTICE, CW_LOG_BGP_UP, "established with AS %u; %s, %s",
		p->peer_open.asn, hold, names);
}

/* ---- down ---- */

static enum cw_log_id log_id_of(enum cw_bgp_cause cause, bool was_up)
{
	switch (cause) {
	case CW_BGP_CAUSE_BAD_OPEN:
		return CW_LOG_BGP_REFUSED;
	case CW_BGP_CAUSE_BAD_HEADER:
	case CW_BGP_CAUSE_BAD_UPDATE:
	case CW_BGP_CAUSE_BAD_REFRESH:
	case CW_BGP_CAUSE_UNEXPECTED:
		return CW_LOG_BGP_BAD_MESSAGE;
	case CW_BGP_CAUSE_PREFIX_LIMIT:
		return CW_LOG_BGP_PREFIX_LIMIT;
	default:
		return was_up ? CW_LOG_BGP_DOWN : CW_LOG_BGP_RETRY;
	}
}

/* Orders and what mends itself are no reason to call a person. */
static enum cw_log_level level_of(enum cw_bgp_cause cause)
{
	switch (cause) {
	case CW_BGP_CAUSE_OPERATOR:
	case CW_BGP_CAUSE_RESET:
	case CW_BGP_CAUSE_CONF_CHANGED:
	case CW_BGP_CAUSE_NET_DOWN:
	case CW_BGP_CAUSE_CONNECT_FAILED:
	case CW_BGP_CAUSE_COLLISION:
	case CW_BGP_CAUSE_PEER_RESTARTED:
		return CW_LOG_NOTICE;
	default:
		return CW_LOG_WARNING;
	}
}

/* "; next try in 12 s" */
static void what_next(const struct cw_bgp_peer *p, struct cw_time now, char *buf, size_t size)
{
	struct cw_time due = p->wait == CW_BGP_WAIT_NONE ? p->retry_due : p->idle_due;

	buf[0] = '\0';
	if (p->wait == CW_BGP_WAIT_START || p->wait == CW_BGP_WAIT_NET)
		return;
	if (p->conn[CW_BGP_CONN_OURS].phase == PH_CONNECTING)
		snprintf(buf, size, "; trying again");
	else if (!cw_time_is_never(due))
		snprintf(buf, size, "; next try in %" PRId64 " s",
			(cw_time_diff_us(due, now) + 999999) / 1000000);
	else if (p->wait == CW_BGP_WAIT_PREFIXES)
		snprintf(buf, size,
			"; not tried again before max-prefixes is raised or "
			"causewayctl bgp reset");
	else if (p->wait == CW_BGP_WAIT_NONE)
		snprintf(buf, size, "; waits for the peer");
}

static void hex(struct cw_span bytes, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	if (!bytes.n)
		return;
	at += (size_t)snprintf(buf, size, "; bytes ");
	for (size_t i = 0; i < bytes.n && i < HEX_MAX; i++)
		at += (size_t)snprintf(buf + at, size - at, "%02x", bytes.p[i]);
	if (bytes.n > HEX_MAX)
		snprintf(buf + at, size - at, "...");
}

/* "3 s", "5 min", "27 h" */
static void age(int64_t us, char *buf, size_t size)
{
	int64_t s = us / 1000000;

	if (s < 120)
		snprintf(buf, size, "%" PRId64 " s", s);
	else if (s < 7200)
		snprintf(buf, size, "%" PRId64 " min", s / 60);
	else
		snprintf(buf, size, "%" PRId64 " h", s / 3600);
}

static bool is_news(struct turn *t, const struct ending *e)
{
	struct cw_bgp_peer *p = t->p;
	const char *why = e->why ? e->why : "";
	uint64_t hash = cw_bgp_hash((uint64_t)e->cause,
		(struct cw_span){ .p = (const uint8_t *)why, .n = strlen(why) });

	for (size_t i = 0; i < SAID_MAX; i++) {
		if (hash == p->said[i].hash && cw_time_diff_us(t->now, p->said[i].at) < SAME_LINE_US)
			return false;
	}
	/* The eldest makes room, unless it is young: who has always another reason is no news either. */
	if (p->said[p->n_said % SAID_MAX].hash &&
		cw_time_diff_us(t->now, p->said[p->n_said % SAID_MAX].at) < NEWS_US)
		return false;
	p->said[p->n_said++ % SAID_MAX] = (struct said){ .hash = hash, .at = t->now };
	return true;
}

void cw_bgp_say_ended(struct turn *t, bool was_up, struct cw_time up_at, const struct ending *e)
{
	char after[32] = "", next[96], bytes[2 * HEX_MAX + 16];
	bool has_why = e->why && e->why[0], news = is_news(t, e);
	const char *remedy = news ? cw_bgp_cause_remedy(e->cause) : "";

	what_next(t->p, t->now, next, sizeof(next));
	hex(e->notify && e->bad ? e->data : (struct cw_span){ 0 }, bytes, sizeof(bytes));
	if (was_up)
		age(cw_time_diff_us(t->now, up_at), after, sizeof(after));
	cw_bgp_say(t, was_up || news ? level_of(e->cause) : CW_LOG_INFO,
		log_id_of(e->cause, was_up), "%s%s%s%s%s%s%s%s%s%s%s", was_up ? "down after " : "",
		after, was_up ? ": " : "", cw_bgp_cause_text(e->cause), has_why ? " (" : "",
		has_why ? e->why : "", has_why ? ")" : "", bytes, next, remedy[0] ? "; " : "",
		remedy);
}
