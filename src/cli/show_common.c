/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_priv.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show_status.h"
#include "cli/text.h"

#define MAIN_TABLE 254 /* RT_TABLE_MAIN, where the daemon's routes are */

void cw_show_row(struct cw_text *out, const char *label, const char *fmt, ...)
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
	cw_text_add(out, "  ");
	cw_text_add_safe(out, label, CW_SHOW_LABEL - 2);
	cw_text_wrap(out, CW_SHOW_LABEL, CW_SHOW_COLUMNS, text);
	free(text);
}

const char *cw_show_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

bool cw_show_bool(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

int64_t cw_show_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

uint64_t cw_show_count(const json_t *object, const char *key)
{
	int64_t n = cw_show_number(object, key);

	return n > 0 ? (uint64_t)n : 0;
}

static bool is_well(const json_t *tunnel)
{
	const json_t *link = json_object_get(tunnel, "interface");
	bool passes = (!json_is_object(link) || cw_show_bool(link, "ok")) &&
		      !cw_show_count(tunnel, "n-routes-shadowed") &&
		      !cw_show_count(tunnel, "n-not-covered");

	return (strcmp(cw_show_text(tunnel, "state"), "up") == 0 && passes) ||
	       !cw_show_bool(tunnel, "wanted-up");
}

static const char *color_of(const json_t *tunnel)
{
	const char *state = cw_show_text(tunnel, "state");

	if (strcmp(state, "up") == 0)
		return is_well(tunnel) ? "\x1b[32m" : "\x1b[31m"; /* green, red */
	if (!cw_show_bool(tunnel, "wanted-up"))
		return "\x1b[2m"; /* faint */
	if (strcmp(state, "config-error") == 0 || strcmp(state, "waiting") == 0)
		return "\x1b[31m"; /* red */
	return "\x1b[33m";         /* yellow */
}

void cw_show_state(struct cw_text *out, const json_t *tunnel, bool color, size_t width)
{
	const char *state = cw_show_text(tunnel, "state");

	if (color)
		cw_text_add(out, color_of(tunnel));
	cw_text_add_safe(out, state, 0);
	if (color)
		cw_text_add(out, "\x1b[0m");
	for (size_t n = cw_text_width(state); n < width; n++)
		cw_text_add(out, " ");
}

static bool is_trying(const json_t *tunnel)
{
	const char *state = cw_show_text(tunnel, "state");

	return strcmp(state, "connecting") == 0 || strcmp(state, "resolving") == 0;
}

const char *cw_show_next_try(const json_t *tunnel, char *buf, size_t size)
{
	int64_t in_s = cw_show_number(tunnel, "next-try-in-s");
	char when[CW_TEXT_SHORT];

	buf[0] = '\0';
	if (in_s < 0) {
		if (is_trying(tunnel) && cw_show_count(tunnel, "attempt"))
			snprintf(buf, size, "try %" PRIu64 " is on its way", cw_show_count(tunnel, "attempt"));
		return buf;
	}
	cw_text_duration(in_s, when, sizeof(when));
	/* There the IKE_SA stands, and no new try is meant. */
	if (strcmp(cw_show_text(tunnel, "state"), "ike-only") == 0)
		snprintf(buf, size, "asked for again %s%s", in_s ? "in " : "now", in_s ? when : "");
	else
		snprintf(buf, size, "try %" PRIu64 " %s%s", cw_show_count(tunnel, "attempt"),
			in_s ? "in " : "now", in_s ? when : "");
	return buf;
}

const char *cw_show_by(const json_t *route, char *buf, size_t size)
{
	const json_t *by = json_object_get(route, "by");
	const char *ifname = cw_show_text(by, "interface");
	uint64_t table = cw_show_count(by, "table");
	char where[48];

	if (table == MAIN_TABLE || !table)
		snprintf(where, sizeof(where), "metric %" PRIu64, cw_show_count(by, "metric"));
	else
		snprintf(where, sizeof(where), "table %" PRIu64 ", by a rule", table);
	snprintf(buf, size, "%s (%s, %s)", ifname[0] ? ifname : "several interfaces",
		cw_show_text(by, "protocol"), where);
	return buf;
}

static bool is_up(const json_t *tunnel)
{
	return strcmp(cw_show_text(tunnel, "state"), "up") == 0;
}

/* The first route in that state. */
static const json_t *route_in(const json_t *tunnel, const char *state, size_t *ret_n)
{
	const json_t *route, *first = NULL;
	size_t i;

	*ret_n = 0;
	json_array_foreach(json_object_get(tunnel, "routes"), i, route) {
		if (strcmp(cw_show_text(route, "state"), state) != 0)
			continue;
		first = first ? first : route;
		++*ret_n;
	}
	return first;
}

/* "", or " and 3 more networks". */
static const char *more(uint64_t n, const char *what, char *buf, size_t size)
{
	buf[0] = '\0';
	if (n > 1)
		snprintf(buf, size, " and %" PRIu64 " more %s%s", n - 1, what, n == 2 ? "" : "s");
	return buf;
}

static void say_shadowed(const json_t *tunnel, char *buf, size_t size)
{
	char by[96], others[40];
	size_t shown;
	const json_t *route = route_in(tunnel, "shadowed", &shown);

	if (route)
		snprintf(buf, size,
			"packets to %s%s do not take it: a route that is not ours wins, by %s",
			cw_show_text(route, "dst"),
			more(cw_show_count(tunnel, "n-routes-shadowed"), "network", others, sizeof(others)),
			cw_show_by(route, by, sizeof(by)));
}

static void say_missing(const json_t *tunnel, char *buf, size_t size)
{
	char others[40];
	size_t n;
	const json_t *route = route_in(tunnel, "missing", &n);

	if (route)
		snprintf(buf, size, "packets to %s%s find no route: see causewayctl log",
			cw_show_text(route, "dst"), more(n, "network", others, sizeof(others)));
}

static void say_gaps(const json_t *tunnel, char *buf, size_t size)
{
	const json_t *gap = json_array_get(json_object_get(tunnel, "not-covered"), 0);
	const char *ours = cw_show_text(gap, "ours"), *theirs = cw_show_text(gap, "theirs");
	char others[40];

	if (is_up(tunnel) && json_is_object(gap))
		snprintf(buf, size, "nothing passes between %s and %s%s: the peer agreed to less",
			ours[0] ? ours : "here", theirs[0] ? theirs : "there",
			more(cw_show_count(tunnel, "n-not-covered"), "pair", others, sizeof(others)));
}

static void say_one_way(const json_t *tunnel, char *buf, size_t size)
{
	int64_t for_s = cw_show_number(tunnel, "one-way-s");
	bool encap = cw_show_bool(json_object_get(tunnel, "ike"), "encap");
	char age[CW_TEXT_SHORT];

	if (for_s > 0)
		snprintf(buf, size,
			"IKE answers, but nothing comes back for %s: does %s pass both ways, and "
			"does the far side route back?",
			cw_text_duration(for_s, age, sizeof(age)), encap ? "UDP 4500" : "ESP (IP protocol 50)");
}

/* With several tunnels to one site one carries, and the others wait until it is needed. */
static void say_standby(const json_t *tunnel, char *buf, size_t size)
{
	size_t n;
	const json_t *route = route_in(tunnel, "standby", &n);

	if (is_up(tunnel) && route && n == json_array_size(json_object_get(tunnel, "routes")))
		snprintf(buf, size, "ready, standing by: packets take %s",
			cw_show_text(json_object_get(route, "by"), "interface"));
}

/* IKE and child are content, and still no route comes. */
static void say_bgp(const json_t *tunnel, char *buf, size_t size)
{
	const json_t *bgp = json_object_get(tunnel, "bgp");

	if (is_up(tunnel) && *cw_show_text(bgp, "why"))
		snprintf(buf, size, "no BGP session with %s: %s; see causewayctl bgp", cw_show_text(bgp, "peer"),
			cw_show_text(bgp, "state"));
}

const char *cw_show_path(const json_t *tunnel, size_t i, char *buf, size_t size)
{
	static void (*const say[CW_SHOW_PATHS])(const json_t *tunnel, char *buf, size_t size) = {
		say_shadowed, say_missing, say_gaps, say_one_way, say_standby, say_bgp,
	};

	buf[0] = '\0';
	if (i < CW_SHOW_PATHS)
		say[i](tunnel, buf, size);
	return buf;
}

bool cw_show_all_well(const struct json_t *answer)
{
	const json_t *tunnels = json_object_get(answer, "tunnels");
	const json_t *tunnel;
	size_t i;

	json_array_foreach(tunnels, i, tunnel) {
		if (!is_well(tunnel))
			return false;
	}
	return true;
}
