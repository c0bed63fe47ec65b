/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_status.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show_priv.h"
#include "cli/text.h"

#define NAME_MOST 20  /* a longer name is shown whole and pushes its line: people type it */
#define PEER_LEAST 15 /* an IPv4 address; longer peers are cut where the line is full */
#define OTHERS 33     /* columns of a line beside name, state and peer */

static void note(struct cw_text *out, bool *first, bool color, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void note(struct cw_text *out, bool *first, bool color, const char *fmt, ...)
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
	if (*first)
		cw_text_add(out, "\n");
	*first = false;
	cw_text_add(out, color ? "\x1b[33mnote:\x1b[0m " : "note: ");
	cw_text_wrap(out, 6, CW_SHOW_COLUMNS, text);
	free(text);
}

static bool any_ipv6_route(const json_t *tunnels)
{
	const json_t *tunnel, *route;
	size_t i, k;

	json_array_foreach(tunnels, i, tunnel) {
		json_array_foreach(json_object_get(tunnel, "routes"), k, route) {
			if (strchr(cw_show_text(route, "dst"), ':'))
				return true;
		}
	}
	return false;
}

/* What the kernel dropped, by its counters in /proc/net/xfrm_stat, and what that hints at. */
static const struct {
	const char *key, *text;
} drops[] = {
	{ "xfrm-in-no-pols",
		"packets out of a tunnel that no policy wants (XfrmInNoPols): is a policy "
		"of ours missing? causewayctl restart TUNNEL makes them anew" },
	{ "xfrm-in-tmpl-mismatch",
		"packets that came in the clear but should not (XfrmInTmplMismatch)" },
	{ "xfrm-in-state-seq-error",
		"packets outside the replay window (XfrmInStateSeqError): if many, "
		"raise replay-window" },
	{ "xfrm-in-no-states",
		"ESP packets of unknown SPI (XfrmInNoStates): a peer still uses SAs that "
		"are gone here" },
	{ "xfrm-out-no-states", "packets for a tunnel without SAs (XfrmOutNoStates)" },
	{ "xfrm-in-state-proto-error",
		"packets that failed their integrity check "
		"(XfrmInStateProtoError): are both sides' proposals the same?" },
};

void cw_show_notes(struct cw_text *out, const json_t *answer, bool color)
{
	const json_t *gw = json_object_get(answer, "gateway");
	uint64_t errors = cw_show_count(gw, "n-conf-errors");
	bool first = true;

	if (errors)
		note(out, &first, color, "%" PRIu64 " error%s in %s: causewayd -n -f %s lists %s",
			errors, errors == 1 ? "" : "s", cw_show_text(gw, "conf-path"),
			cw_show_text(gw, "conf-path"), errors == 1 ? "it" : "them");
	if (json_is_false(json_object_get(gw, "forwarding4")))
		note(out, &first, color,
			"the kernel forwards no IPv4 packets, so hosts behind this gateway can't "
			"use the tunnels: sysctl -w net.ipv4.ip_forward=1");
	if (json_is_false(json_object_get(gw, "forwarding6")) &&
		any_ipv6_route(json_object_get(answer, "tunnels")))
		note(out, &first, color,
			"the kernel forwards no IPv6 packets, so hosts behind this gateway can't "
			"use the tunnels: sysctl -w net.ipv6.conf.all.forwarding=1");
	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		uint64_t n = cw_show_count(gw, drops[i].key);

		if (n)
			note(out, &first, color, "the kernel dropped %" PRIu64 " %s", n,
				drops[i].text);
	}
}

static void add_gateway(struct cw_text *out, const json_t *answer, size_t n_wanted, size_t n_up)
{
	const json_t *gw = json_object_get(answer, "gateway");
	size_t n = json_array_size(json_object_get(answer, "tunnels"));
	char up[CW_TEXT_SHORT], line[512];

	snprintf(line, sizeof(line), "%s: causeway %s, up %s; %zu tunnel%s, %zu wanted up, %zu up",
		cw_show_text(gw, "name"), cw_show_text(gw, "version"),
		cw_text_duration(cw_show_number(gw, "up-for-s"), up, sizeof(up)), n,
		n == 1 ? "" : "s", n_wanted, n_up);
	cw_text_wrap(out, 0, CW_SHOW_COLUMNS, line);
	snprintf(line, sizeof(line), "%s on Linux %s; data plane: %s",
		cw_show_text(gw, "ike-engine"), cw_show_text(gw, "kernel"),
		cw_show_text(gw, "data-plane"));
	cw_text_wrap(out, 0, CW_SHOW_COLUMNS, line);
	cw_text_add(out, "\n");
}

struct widths {
	size_t name, state, peer;
};

static void widen(size_t *width, const char *s, size_t most)
{
	size_t n = cw_text_width(s);

	if (n > most)
		n = most;
	if (n > *width)
		*width = n;
}

static void add_right(struct cw_text *out, const char *s, size_t width)
{
	for (size_t n = cw_text_width(s); n < width; n++)
		cw_text_add(out, " ");
	cw_text_add(out, s);
}

/* A paragraph under a tunnel's line. */
static void add_below(struct cw_text *out, const char *line, size_t indent)
{
	for (size_t n = 0; n < indent; n++)
		cw_text_add(out, " ");
	cw_text_wrap(out, indent, CW_SHOW_COLUMNS, line);
}

static void add_why(struct cw_text *out, const json_t *tunnel, size_t indent)
{
	const json_t *cause = json_object_get(tunnel, "cause");
	const char *conf_error = cw_show_text(tunnel, "conf-error");
	const char *text = conf_error[0] ? conf_error : cw_show_text(cause, "text");
	const char *detail = conf_error[0] ? "" : cw_show_text(cause, "detail");
	char next[64], line[1024];

	cw_show_next_try(tunnel, next, sizeof(next));
	if (!text[0] && !detail[0] && !next[0])
		return;
	snprintf(line, sizeof(line), "%s%s%s%s%s%s", text, detail[0] && text[0] ? " (" : "", detail,
		detail[0] && text[0] ? ")" : "", next[0] && (text[0] || detail[0]) ? "; " : "",
		next);
	add_below(out, line, indent);
}

static void add_line(struct cw_text *out, const json_t *tunnel, const struct widths *w, bool color)
{
	const char *remote = cw_show_text(tunnel, "remote");
	char buf[CW_TEXT_SHORT], path[CW_SHOW_PATH];

	cw_text_add_safe(out, cw_show_text(tunnel, "name"), w->name);
	cw_text_add(out, "  ");
	cw_show_state(out, tunnel, color, w->state);
	cw_text_add(out, "  ");
	cw_text_add_safe(
		out, cw_text_duration(cw_show_number(tunnel, "for-s"), buf, sizeof(buf)), 7);
	cw_text_add(out, "  ");
	/* The file may name none that can be read. */
	cw_text_add_cut(out, remote[0] ? remote : "-", w->peer);
	cw_text_add(out, "  ");
	add_right(out, cw_text_bytes(cw_show_count(tunnel, "bytes-in"), buf, sizeof(buf)), 8);
	cw_text_add(out, "  ");
	add_right(out, cw_text_bytes(cw_show_count(tunnel, "bytes-out"), buf, sizeof(buf)), 8);
	cw_text_add(out, "\n");
	if (strcmp(cw_show_text(tunnel, "state"), "up") != 0 ||
		json_is_object(json_object_get(tunnel, "cause")))
		add_why(out, tunnel, w->name + 2);
	for (size_t i = 0; i < CW_SHOW_PATHS; i++) {
		if (cw_show_path(tunnel, i, path, sizeof(path))[0])
			add_below(out, path, w->name + 2);
	}
}

void cw_show_overview(struct cw_text *out, const struct json_t *answer, bool color)
{
	const json_t *tunnels = json_object_get(answer, "tunnels");
	struct widths w = { .name = 4, .state = 5, .peer = 4 };
	size_t i, n_wanted = 0, n_up = 0;
	const json_t *tunnel;

	json_array_foreach(tunnels, i, tunnel) {
		widen(&w.name, cw_show_text(tunnel, "name"), NAME_MOST);
		widen(&w.state, cw_show_text(tunnel, "state"), SIZE_MAX);
		widen(&w.peer, cw_show_text(tunnel, "remote"), CW_SHOW_COLUMNS);
		n_wanted += cw_show_bool(tunnel, "wanted-up");
		n_up += strcmp(cw_show_text(tunnel, "state"), "up") == 0;
	}
	if (OTHERS + w.name + w.state + w.peer > CW_SHOW_COLUMNS) {
		size_t used = OTHERS + w.name + w.state;

		w.peer = used + PEER_LEAST < CW_SHOW_COLUMNS ? CW_SHOW_COLUMNS - used : PEER_LEAST;
	}
	add_gateway(out, answer, n_wanted, n_up);
	if (json_array_size(tunnels) == 0) {
		cw_text_add(out, "no tunnel is configured\n");
		cw_show_notes(out, answer, color);
		return;
	}
	cw_text_add_safe(out, "NAME", w.name);
	cw_text_add(out, "  ");
	cw_text_add_safe(out, "STATE", w.state);
	cw_text_add(out, "  FOR      ");
	cw_text_add_safe(out, "PEER", w.peer);
	cw_text_add(out, "        IN       OUT\n");
	json_array_foreach(tunnels, i, tunnel)
		add_line(out, tunnel, &w, color);
	cw_show_notes(out, answer, color);
}
