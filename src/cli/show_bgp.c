/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_bgp.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show_priv.h"
#include "cli/text.h"


static const char *const families[] = { "ipv4", "ipv6" };

static void line(struct cw_text *out, size_t indent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void line(struct cw_text *out, size_t indent, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < indent; i++)
		cw_text_add(out, " ");
	cw_text_wrap(out, indent, CW_SHOW_COLUMNS, text);
	free(text);
}

static bool is_up(const json_t *peer)
{
	return strcmp(cw_show_text(peer, "state"), "established") == 0;
}

static uint64_t sum(const json_t *peer, const char *key)
{
	uint64_t n = 0;

	for (size_t i = 0; i < 2; i++)
		n += cw_show_count(json_object_get(peer, families[i]), key);
	return n;
}

/* Green is up, red needs a look, yellow is on its way, faint waits for its tunnel or for a person. */
static const char *color_of(const json_t *peer)
{
	const char *wait = cw_show_text(peer, "waits-for");

	if (is_up(peer))
		return "\x1b[32m";
	if (!cw_show_bool(peer, "tunnel-up") || strcmp(wait, "stopped") == 0)
		return "\x1b[2m";
	return *wait || cw_show_count(peer, "failures") ? "\x1b[31m" : "\x1b[33m";
}

static void state(struct cw_text *out, const json_t *peer, bool color, size_t width)
{
	const char *s = cw_show_text(peer, "state");

	if (color)
		cw_text_add(out, color_of(peer));
	cw_text_add_safe(out, s, 0);
	if (color)
		cw_text_add(out, "\x1b[0m");
	for (size_t n = cw_text_width(s); n < width; n++)
		cw_text_add(out, " ");
}

/* Why there is no session, and what comes next; "" where there is one. */
static const char *why_not(const json_t *peer, char *buf, size_t size)
{
	const json_t *cause = json_object_get(peer, "last-error");
	const char *detail;
	int64_t next = cw_show_number(peer, "next-try-in-s");
	char when[CW_TEXT_SHORT];

	buf[0] = '\0';
	if (is_up(peer))
		return buf;
	if (!cw_show_bool(peer, "tunnel-up")) {
		snprintf(buf, size, "the tunnel is not up: causewayctl status %s", cw_show_text(peer, "tunnel"));
		return buf;
	}
	if (!json_is_object(cause))
		cause = json_object_get(peer, "cause");
	detail = cw_show_text(cause, "detail");
	snprintf(buf, size, "%s%s%s%s%s%s%s%s%s", cw_show_text(cause, "text"), *detail ? " (" : "", detail,
		*detail ? ")" : "", *cw_show_text(cause, "remedy") ? "; " : "", cw_show_text(cause, "remedy"),
		next >= 0 ? "; next try in " : "", next >= 0 ? cw_text_duration(next, when, sizeof(when)) : "",
		strcmp(cw_show_text(peer, "waits-for"), "prefix-limit") == 0 ? "; causewayctl bgp reset ends the wait" :
										"");
	return buf;
}

/* BL-133: a session without routes says why. */
static const char *no_routes(const json_t *peer)
{
	if (!is_up(peer) || sum(peer, "announced") || sum(peer, "pending"))
		return "";
	return cw_show_bool(peer, "own-networks") ? "" : "0 sent: no networks are configured in gateway";
}

#define PEER_LEAST 15 /* an IPv4 address; a longer one is cut where the line is full */

/* The columns of the overview; the last four are numbers, and stand at the right. */
enum { NAME, PEER, AS, STATE, FOR, RECEIVED, USED, SENT, COLUMNS };

static const char *const titles[COLUMNS] = { "NEIGHBOUR", "PEER", "AS", "STATE", "FOR", "RCVD", "USED", "SENT" };

static const char *cell(const json_t *peer, int column, char *buf, size_t size)
{
	static const char *const counts[] = { "received", "selected", "announced" };

	switch (column) {
	case NAME:
		return cw_show_text(peer, "tunnel");
	case PEER:
		return cw_show_text(peer, "peer");
	case AS:
		snprintf(buf, size, "%" PRIu64, cw_show_count(peer, "asn"));
		return buf;
	case STATE:
		return cw_show_text(peer, "state");
	case FOR:
		return cw_text_duration(cw_show_number(peer, "for-s"), buf, size);
	default:
		snprintf(buf, size, "%" PRIu64, sum(peer, counts[column - RECEIVED]));
		return buf;
	}
}

static void widen(size_t *width, const char *s)
{
	size_t n = cw_text_width(s);

	*width = n > *width ? n : *width;
}

static void add_cell(struct cw_text *out, int column, const char *s, size_t width)
{
	if (column)
		cw_text_add(out, "  ");
	if (column >= RECEIVED)
		for (size_t n = cw_text_width(s); n < width; n++)
			cw_text_add(out, " ");
	if (column == PEER)
		cw_text_add_cut(out, s, width);
	else
		cw_text_add_safe(out, s, column >= RECEIVED ? 0 : width);
}

static size_t measure(const json_t *peers, size_t *widths)
{
	const json_t *peer;
	char buf[CW_TEXT_SHORT];
	size_t i, all = 2 * (COLUMNS - 1);

	for (int c = 0; c < COLUMNS; c++) {
		widths[c] = strlen(titles[c]);
		json_array_foreach(peers, i, peer)
			widen(&widths[c], cell(peer, c, buf, sizeof(buf)));
		all += widths[c];
	}
	return all;
}

void cw_show_neighbours(struct cw_text *out, const json_t *answer, bool color)
{
	const json_t *peers = json_object_get(answer, "peers"), *peer;
	size_t widths[COLUMNS], all = measure(peers, widths), i;
	char text[1024];

	if (all > CW_SHOW_COLUMNS && widths[PEER] > PEER_LEAST) {
		size_t over = all - CW_SHOW_COLUMNS;

		widths[PEER] = widths[PEER] > PEER_LEAST + over ? widths[PEER] - over : PEER_LEAST;
	}
	for (int c = 0; c < COLUMNS; c++)
		add_cell(out, c, titles[c], widths[c]);
	cw_text_add(out, "\n");
	json_array_foreach(peers, i, peer) {
		for (int c = 0; c < COLUMNS; c++) {
			char buf[CW_TEXT_SHORT];

			if (c == STATE) {
				cw_text_add(out, "  ");
				state(out, peer, color, widths[c]);
			} else {
				add_cell(out, c, cell(peer, c, buf, sizeof(buf)), widths[c]);
			}
		}
		cw_text_add(out, "\n");
		if (*why_not(peer, text, sizeof(text)))
			line(out, 4, "%s", text);
		if (*no_routes(peer))
			line(out, 4, "%s", no_routes(peer));
	}
}

/* ---- one neighbour ---- */

static void add_word(struct cw_text *text, const char *word)
{
	if (text->len)
		cw_text_add(text, ", ");
	cw_text_add(text, word);
}

/* The words of those capabilities that an OPEN holds. */
static void capabilities(struct cw_text *out, const char *whose, const json_t *caps)
{
	static const struct {
		const char *key, *text;
	} words[] = { { "as4", "4-octet AS" },
		      { "refresh", "route refresh" },
		      { "enhanced-refresh", "enhanced refresh" },
		      { "extended-message", "extended messages" },
		      { "extended-next-hop", "IPv6 next hops" } };
	struct cw_text text = { 0 };
	char buf[64];
	const json_t *family;
	int64_t role = cw_show_number(caps, "role");
	size_t i;

	if (!json_is_object(caps))
		return;
	json_array_foreach(json_object_get(caps, "families"), i, family)
		add_word(&text, json_is_string(family) ? json_string_value(family) : "?");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (cw_show_bool(caps, words[i].key))
			add_word(&text, words[i].text);
	}
	if (cw_show_number(caps, "graceful-restart-s") >= 0) {
		snprintf(buf, sizeof(buf), "graceful restart %" PRId64 "s",
			cw_show_number(caps, "graceful-restart-s"));
		add_word(&text, buf);
	}
	if (role >= 0) {
		static const char *const roles[] = { "provider", "rs", "rs-client", "customer", "peer" };

		snprintf(buf, sizeof(buf), "role %s", role < 5 ? roles[role] : "unknown");
		add_word(&text, buf);
	}
	cw_show_row(out, whose, "%s", text.s ? text.s : "nothing");
	out->failed |= text.failed;
	cw_text_free(&text);
}

static void counts(struct cw_text *out, const json_t *peer)
{
	for (size_t i = 0; i < 2; i++) {
		const json_t *f = json_object_get(peer, families[i]), *n;
		const char *reason;

		if (!cw_show_bool(f, "offered") && !cw_show_count(f, "received"))
			continue;
		cw_show_row(out, families[i],
			"received %" PRIu64 ", accepted %" PRIu64 ", used %" PRIu64 "; announced %" PRIu64 "%s%s",
			cw_show_count(f, "received"), cw_show_count(f, "accepted"), cw_show_count(f, "selected"),
			cw_show_count(f, "announced"), cw_show_bool(f, "agreed") ? "" : "; not agreed on",
			cw_show_bool(f, "stale") ? "; routes of the last session are kept" : "");
		if (cw_show_count(f, "surplus"))
			line(out, CW_SHOW_LABEL, "%" PRIu64 " held back by announce-limit", cw_show_count(f, "surplus"));
		json_object_foreach(json_object_get(f, "refused"), reason, n) {
			line(out, CW_SHOW_LABEL, "%" PRId64 " not used: %s", (int64_t)json_integer_value(n), reason);
		}
	}
}

static void messages(struct cw_text *out, const char *name, const json_t *counts)
{
	static const struct {
		const char *key, *text;
	} kinds[] = { { "open", "OPEN" },
		      { "update", "UPDATE" },
		      { "keepalive", "KEEPALIVE" },
		      { "notification", "NOTIFICATION" },
		      { "route-refresh", "ROUTE-REFRESH" } };
	struct cw_text text = { 0 };
	char buf[48];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(buf, sizeof(buf), "%" PRIu64 " %s", cw_show_count(counts, kinds[i].key), kinds[i].text);
		if (cw_show_count(counts, kinds[i].key))
			add_word(&text, buf);
	}
	cw_show_row(out, name, "%s", text.s ? text.s : "no message");
	out->failed |= text.failed;
	cw_text_free(&text);
}

static void notification(struct cw_text *out, const char *name, const json_t *n)
{
	char when[CW_TEXT_SHORT];

	if (!json_is_object(n))
		return;
	cw_show_row(out, name, "%s, at %s", cw_show_text(n, "text"),
		cw_text_time(cw_show_number(n, "at-wall-s"), when, sizeof(when)));
	if (*cw_show_text(n, "data"))
		line(out, CW_SHOW_LABEL, "octets %s", cw_show_text(n, "data"));
}

static void history(struct cw_text *out, const json_t *peer)
{
	const json_t *step;
	char when[CW_TEXT_SHORT];
	size_t i;

	json_array_foreach(json_object_get(peer, "history"), i, step) {
		const char *cause = cw_show_text(step, "cause");

		cw_show_row(out, i ? "" : "history", "%s  %s -> %s%s%s",
			cw_text_time(cw_show_number(step, "at-wall-s"), when, sizeof(when)),
			cw_show_text(step, "from"), cw_show_text(step, "to"), *cause ? ": " : "", cause);
	}
}

static void one(struct cw_text *out, const json_t *peer, bool color)
{
	char text[1024], when[CW_TEXT_SHORT];

	cw_text_add_safe(out, cw_show_text(peer, "tunnel"), 0);
	cw_text_add(out, ": ");
	state(out, peer, color, 0);
	cw_text_add(out, " for ");
	cw_text_add(out, cw_text_duration(cw_show_number(peer, "for-s"), when, sizeof(when)));
	cw_text_add(out, ", since ");
	cw_text_add(out, cw_text_time(cw_show_number(peer, "since-wall-s"), when, sizeof(when)));
	cw_text_add(out, "\n");
	if (*why_not(peer, text, sizeof(text)))
		cw_show_row(out, "why", "%s", text);
	cw_show_row(out, "peer", "%s, AS %" PRId64 "%s%s", cw_show_text(peer, "peer"), cw_show_number(peer, "asn"),
		*cw_show_text(peer, "peer-router-id") ? ", identifier " : "",
		cw_show_text(peer, "peer-router-id"));
	cw_show_row(out, "us", "%s, AS %" PRId64 ", identifier %s, through %s", cw_show_text(peer, "local"),
		cw_show_number(peer, "local-asn"), cw_show_text(peer, "router-id"),
		cw_show_text(peer, "interface"));
	if (is_up(peer))
		cw_show_row(out, "session",
			"opened by %s; hold time %" PRId64 "s (%" PRId64 "s left), keepalive %" PRId64
			"s; up %" PRIu64 " time%s",
			cw_show_bool(peer, "opened-by-us") ? "us" : "the peer", cw_show_number(peer, "hold-s"),
			cw_show_number(peer, "hold-left-s"), cw_show_number(peer, "keepalive-s"),
			cw_show_count(peer, "times-up"), cw_show_count(peer, "times-up") == 1 ? "" : "s");
	capabilities(out, "we offer", json_object_get(peer, "our-capabilities"));
	capabilities(out, "it offers", json_object_get(peer, "peer-capabilities"));
	counts(out, peer);
	if (*no_routes(peer))
		cw_show_row(out, "", "%s", no_routes(peer));
	messages(out, "in", json_object_get(peer, "messages-in"));
	messages(out, "out", json_object_get(peer, "messages-out"));
	notification(out, "we said", json_object_get(peer, "notification-sent"));
	notification(out, "it said", json_object_get(peer, "notification-received"));
	if (cw_show_count(peer, "attributes-discarded") || cw_show_count(peer, "treated-as-withdrawn"))
		cw_show_row(out, "faults", "%" PRIu64 " attributes discarded, %" PRIu64
			" UPDATEs treated as withdrawn; the last: %s",
			cw_show_count(peer, "attributes-discarded"), cw_show_count(peer, "treated-as-withdrawn"),
			cw_show_text(peer, "last-fault"));
	history(out, peer);
}

void cw_show_neighbour(struct cw_text *out, const json_t *answer, bool color)
{
	const json_t *peer;
	size_t i;

	json_array_foreach(json_object_get(answer, "peers"), i, peer) {
		if (i)
			cw_text_add(out, "\n");
		one(out, peer, color);
	}
}
