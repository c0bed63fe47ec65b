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

#define FIELD 14 /* columns before a value in the long form */

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

static void field(struct cw_text *out, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void field(struct cw_text *out, const char *name, const char *fmt, ...)
{
	char *text = NULL, head[FIELD + 8];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		out->failed = true;
		return;
	}
	snprintf(head, sizeof(head), "  %-*s", FIELD - 2, name);
	cw_text_add(out, head);
	cw_text_wrap(out, FIELD, CW_SHOW_COLUMNS, text);
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

static void state(struct cw_text *out, const json_t *peer, bool color, size_t width)
{
	const char *s = cw_show_text(peer, "state");

	if (color)
		cw_text_add(out, is_up(peer) ? "\x1b[32m" : "\x1b[33m");
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
	snprintf(buf, size, "%s%s%s%s%s%s", *detail ? detail : cw_show_text(cause, "text"),
		*cw_show_text(cause, "remedy") ? "; " : "", cw_show_text(cause, "remedy"),
		next >= 0 ? "; next try in " : "", next >= 0 ? cw_text_duration(next, when, sizeof(when)) : "",
		strcmp(cw_show_text(peer, "waits-for"), "prefixes") == 0 ? "; causewayctl bgp reset ends the wait" :
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

void cw_show_neighbours(struct cw_text *out, const json_t *answer, bool color)
{
	const json_t *peers = json_object_get(answer, "peers"), *peer;
	size_t name_width = 9, peer_width = 4, i;
	char text[512], when[CW_TEXT_SHORT];

	json_array_foreach(peers, i, peer) {
		size_t n = cw_text_width(cw_show_text(peer, "tunnel"));
		size_t p = cw_text_width(cw_show_text(peer, "peer"));

		name_width = n > name_width ? n : name_width;
		peer_width = p > peer_width ? p : peer_width;
	}
	snprintf(text, sizeof(text), "%-*s  %-*s  %-10s  %-12s  %-7s %8s %6s %6s\n", (int)name_width, "NEIGHBOUR",
		(int)peer_width, "PEER", "AS", "STATE", "FOR", "RECEIVED", "USED", "SENT");
	cw_text_add(out, text);
	json_array_foreach(peers, i, peer) {
		cw_text_add_safe(out, cw_show_text(peer, "tunnel"), name_width);
		cw_text_add(out, "  ");
		cw_text_add_safe(out, cw_show_text(peer, "peer"), peer_width);
		snprintf(text, sizeof(text), "  %-10" PRId64 "  ", cw_show_number(peer, "asn"));
		cw_text_add(out, text);
		state(out, peer, color, 12);
		snprintf(text, sizeof(text), "  %-7s %8" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
			cw_text_duration(cw_show_number(peer, "for-s"), when, sizeof(when)),
			sum(peer, "received"), sum(peer, "selected"), sum(peer, "announced"));
		cw_text_add(out, text);
		if (*why_not(peer, text, sizeof(text)))
			line(out, 2, "%s", text);
		if (*no_routes(peer))
			line(out, 2, "%s", no_routes(peer));
	}
}

/* ---- one neighbour ---- */

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
	char text[512] = "";
	const json_t *family;
	size_t used = 0, i;

	if (!json_is_object(caps))
		return;
	json_array_foreach(json_object_get(caps, "families"), i, family)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
			json_string_value(family));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (cw_show_bool(caps, words[i].key) && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				words[i].text);
	}
	if (cw_show_number(caps, "graceful-restart-s") >= 0 && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sgraceful restart %" PRId64 "s",
			used ? ", " : "", cw_show_number(caps, "graceful-restart-s"));
	if (cw_show_number(caps, "role") >= 0 && used < sizeof(text)) {
		static const char *const roles[] = { "provider", "rs", "rs-client", "customer", "peer" };
		int64_t role = cw_show_number(caps, "role");

		snprintf(text + used, sizeof(text) - used, "%srole %s", used ? ", " : "",
			role < 5 ? roles[role] : "unknown");
	}
	field(out, whose, "%s", text);
}

static void counts(struct cw_text *out, const json_t *peer)
{
	for (size_t i = 0; i < 2; i++) {
		const json_t *f = json_object_get(peer, families[i]), *n;
		const char *reason;

		if (!cw_show_bool(f, "offered") && !cw_show_count(f, "received"))
			continue;
		field(out, families[i],
			"received %" PRIu64 ", accepted %" PRIu64 ", used %" PRIu64 "; announced %" PRIu64 "%s%s",
			cw_show_count(f, "received"), cw_show_count(f, "accepted"), cw_show_count(f, "selected"),
			cw_show_count(f, "announced"), cw_show_bool(f, "agreed") ? "" : "; not agreed on",
			cw_show_bool(f, "stale") ? "; routes of the last session are kept" : "");
		if (cw_show_count(f, "surplus"))
			line(out, FIELD, "%" PRIu64 " held back by announce-limit", cw_show_count(f, "surplus"));
		json_object_foreach(json_object_get(f, "refused"), reason, n) {
			line(out, FIELD, "%" PRId64 " not used: %s", (int64_t)json_integer_value(n), reason);
		}
	}
}

static void messages(struct cw_text *out, const char *name, const json_t *n)
{
	field(out, name,
		"%" PRIu64 " OPEN, %" PRIu64 " UPDATE, %" PRIu64 " KEEPALIVE, %" PRIu64 " NOTIFICATION, %" PRIu64
		" ROUTE-REFRESH",
		cw_show_count(n, "open"), cw_show_count(n, "update"), cw_show_count(n, "keepalive"),
		cw_show_count(n, "notification"), cw_show_count(n, "route-refresh"));
}

static void notification(struct cw_text *out, const char *name, const json_t *n)
{
	char when[CW_TEXT_SHORT];

	if (!json_is_object(n))
		return;
	field(out, name, "%s (%" PRId64 "/%" PRId64 ") at %s", cw_show_text(n, "text"), cw_show_number(n, "code"),
		cw_show_number(n, "subcode"),
		cw_text_time(cw_show_number(n, "at-wall-s"), when, sizeof(when)));
	if (*cw_show_text(n, "data"))
		line(out, FIELD, "octets %s", cw_show_text(n, "data"));
}

static void history(struct cw_text *out, const json_t *peer)
{
	const json_t *step;
	char when[CW_TEXT_SHORT];
	size_t i;

	json_array_foreach(json_object_get(peer, "history"), i, step) {
		const char *cause = cw_show_text(step, "cause");

		field(out, i ? "" : "history", "%s  %s -> %s%s%s",
			cw_text_time(cw_show_number(step, "at-wall-s"), when, sizeof(when)),
			cw_show_text(step, "from"), cw_show_text(step, "to"), *cause ? ": " : "", cause);
	}
}

static void one(struct cw_text *out, const json_t *peer, bool color)
{
	char text[512], when[CW_TEXT_SHORT];

	cw_text_add_safe(out, cw_show_text(peer, "tunnel"), 0);
	cw_text_add(out, ": ");
	state(out, peer, color, 0);
	snprintf(text, sizeof(text), " for %s, since %s\n",
		cw_text_duration(cw_show_number(peer, "for-s"), when, sizeof(when)),
		cw_text_time(cw_show_number(peer, "since-wall-s"), text + 400, 100));
	cw_text_add(out, text);
	if (*why_not(peer, text, sizeof(text)))
		field(out, "why", "%s", text);
	field(out, "peer", "%s, AS %" PRId64 "%s%s", cw_show_text(peer, "peer"), cw_show_number(peer, "asn"),
		*cw_show_text(peer, "peer-router-id") ? ", identifier " : "",
		cw_show_text(peer, "peer-router-id"));
	field(out, "us", "%s, AS %" PRId64 ", identifier %s, through %s", cw_show_text(peer, "local"),
		cw_show_number(peer, "local-asn"), cw_show_text(peer, "router-id"),
		cw_show_text(peer, "interface"));
	if (is_up(peer))
		field(out, "session",
			"opened by %s; hold time %" PRId64 "s (%" PRId64 "s left), keepalive %" PRId64
			"s; up %" PRIu64 " time%s",
			cw_show_bool(peer, "opened-by-us") ? "us" : "the peer", cw_show_number(peer, "hold-s"),
			cw_show_number(peer, "hold-left-s"), cw_show_number(peer, "keepalive-s"),
			cw_show_count(peer, "times-up"), cw_show_count(peer, "times-up") == 1 ? "" : "s");
	capabilities(out, "we offer", json_object_get(peer, "our-capabilities"));
	capabilities(out, "it offers", json_object_get(peer, "peer-capabilities"));
	counts(out, peer);
	if (*no_routes(peer))
		line(out, FIELD, "%s", no_routes(peer));
	messages(out, "in", json_object_get(peer, "messages-in"));
	messages(out, "out", json_object_get(peer, "messages-out"));
	notification(out, "we said", json_object_get(peer, "notification-sent"));
	notification(out, "it said", json_object_get(peer, "notification-received"));
	if (cw_show_count(peer, "attributes-discarded") || cw_show_count(peer, "treated-as-withdrawn"))
		field(out, "faults", "%" PRIu64 " attributes discarded, %" PRIu64
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

/* ---- routes ---- */

static void path_text(const json_t *path, char *buf, size_t size)
{
	const json_t *e, *in;
	size_t i, k, used = 0;

	buf[0] = '\0';
	json_array_foreach(path, i, e) {
		if (used >= size)
			return;
		if (json_is_array(e)) {
			used += (size_t)snprintf(buf + used, size - used, "%s{", used ? " " : "");
			json_array_foreach(e, k, in) {
				if (used < size)
					used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, k ? " " : "",
						(int64_t)json_integer_value(in));
			}
			if (used < size)
				used += (size_t)snprintf(buf + used, size - used, "}");
		} else if (json_is_integer(e)) {
			used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, used ? " " : "",
				(int64_t)json_integer_value(e));
		} else {
			used += (size_t)snprintf(buf + used, size - used, " ...");
		}
	}
}

static const char *mark(const json_t *route, bool advertised)
{
	if (advertised)
		return cw_show_bool(route, "best") ? " " : "!";
	if (cw_show_bool(route, "best"))
		return cw_show_bool(route, "own") || cw_show_bool(route, "installed") ? "*" : "!";
	return cw_show_bool(route, "multipath") ? "=" : " ";
}

void cw_show_routes(struct cw_text *out, const json_t *answer, bool advertised)
{
	const json_t *routes = json_object_get(answer, "routes"), *route;
	char text[700], path[400];
	size_t i;

	if (json_array_size(routes) == 0) {
		cw_text_add(out, "no route\n");
		return;
	}
	snprintf(text, sizeof(text), "  %-20s %-15s %-15s %6s  %s\n", "PREFIX", "NEXT HOP", "NEIGHBOUR", "MED",
		"AS PATH");
	cw_text_add(out, text);
	json_array_foreach(routes, i, route) {
		int64_t med = cw_show_number(route, "med");
		char number[24] = "";

		if (med >= 0)
			snprintf(number, sizeof(number), "%" PRId64, med);
		path_text(json_object_get(route, "as-path"), path, sizeof(path));
		snprintf(text, sizeof(text), "%s %-20s %-15s %-15s %6s  %s\n", mark(route, advertised),
			cw_show_text(route, "prefix"), cw_show_text(route, "next-hop"),
			cw_show_bool(route, "own") ? "(own)" : cw_show_text(route, "tunnel"), number, path);
		cw_text_add(out, text);
		if (*cw_show_text(route, "why-not"))
			line(out, 4, "not used: %s", cw_show_text(route, "why-not"));
		else if (!advertised && cw_show_bool(route, "best") && !cw_show_bool(route, "own") &&
			 !cw_show_bool(route, "installed"))
			line(out, 4, "the best, but not in the kernel");
		if (cw_show_bool(route, "stale"))
			line(out, 4, "kept from the last session");
	}
	cw_text_add(out, advertised ? "" : "* in use, = used beside it\n");
}
