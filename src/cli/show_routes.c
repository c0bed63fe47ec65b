/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_bgp.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show_priv.h"
#include "cli/text.h"

static void widen(size_t *width, const char *s)
{
	size_t n = cw_text_width(s);

	*width = n > *width ? n : *width;
}

/* A paragraph under a route. */
static void below(struct cw_text *out, const char *what, const char *s)
{
	struct cw_text text = { 0 };

	cw_text_add(&text, what);
	cw_text_add(&text, s);
	cw_text_add(out, "    ");
	cw_text_wrap(out, 4, CW_SHOW_COLUMNS, text.s ? text.s : "");
	out->failed |= text.failed;
	cw_text_free(&text);
}

#define PATH_LEAST 14 /* columns for an AS path, else it stands below its route */

/* To be freed. */
static char *path_text(const json_t *path)
{
	struct cw_text text = { 0 };
	const json_t *e, *in;
	char number[24];
	size_t i, k;

	json_array_foreach(path, i, e) {
		if (i)
			cw_text_add(&text, " ");
		if (json_is_array(e)) {
			cw_text_add(&text, "{");
			json_array_foreach(e, k, in) {
				snprintf(number, sizeof(number), "%s%" PRId64, k ? " " : "",
					(int64_t)json_integer_value(in));
				cw_text_add(&text, number);
			}
			cw_text_add(&text, "}");
		} else if (json_is_integer(e)) {
			snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(e));
			cw_text_add(&text, number);
		} else {
			cw_text_add(&text, "...");
		}
	}
	return text.s;
}

static const char *mark(const json_t *route, bool advertised)
{
	if (advertised)
		return cw_show_bool(route, "best") ? " " : "!";
	if (cw_show_bool(route, "best"))
		return cw_show_bool(route, "own") || cw_show_bool(route, "installed") ? "*" : "!";
	return cw_show_bool(route, "multipath") ? "=" : " ";
}

static const char *neighbour_of(const json_t *route)
{
	return cw_show_bool(route, "own") ? "(own)" : cw_show_text(route, "tunnel");
}

static const char *med_of(const json_t *route, char *buf, size_t size)
{
	int64_t med = cw_show_number(route, "med");

	buf[0] = '\0';
	if (med >= 0)
		snprintf(buf, size, "%" PRId64, med);
	return buf;
}

static bool is_six(const json_t *route)
{
	return strchr(cw_show_text(route, "prefix"), ':') != NULL;
}

/* Widths for the routes of one family, from place i on. */
static void route_widths(const json_t *routes, size_t i, struct cw_show_columns *w)
{
	bool six = is_six(json_array_get(routes, i));
	char buf[24];

	w->six = six;
	for (; i < json_array_size(routes) && is_six(json_array_get(routes, i)) == six; i++) {
		const json_t *route = json_array_get(routes, i);

		widen(&w->prefix, cw_show_text(route, "prefix"));
		widen(&w->hop, cw_show_text(route, "next-hop"));
		widen(&w->name, neighbour_of(route));
		widen(&w->med, med_of(route, buf, sizeof(buf)));
	}
}

static void begin_table(struct cw_text *out, const struct cw_show_columns *w)
{
	if (w->again)
		cw_text_add(out, "\n");
	cw_text_add(out, "  ");
	cw_text_add_safe(out, "PREFIX", w->prefix);
	cw_text_add(out, "  ");
	cw_text_add_safe(out, "NEXT HOP", w->hop);
	cw_text_add(out, "  ");
	cw_text_add_safe(out, "NEIGHBOUR", w->name);
	for (size_t n = 0; n + 1 < w->med; n++)
		cw_text_add(out, " ");
	cw_text_add(out, w->below ? "MED\n" : "MED  AS PATH\n");
}

static bool same_columns(const struct cw_show_columns *a, const struct cw_show_columns *b)
{
	return a->again && a->six == b->six && a->below == b->below && a->prefix == b->prefix && a->hop == b->hop &&
	       a->name == b->name && a->med == b->med;
}

static void add_path(struct cw_text *out, const json_t *route, const struct cw_show_columns *w, size_t used)
{
	char *path = path_text(json_object_get(route, "as-path"));

	if (path && !w->below) {
		cw_text_add(out, "  ");
		if (cw_text_width(path) > CW_SHOW_COLUMNS - used)
			cw_text_add_cut(out, path, CW_SHOW_COLUMNS - used);
		else
			cw_text_add(out, path);
	}
	while (out->len && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	cw_text_add(out, "\n");
	if (path && w->below)
		below(out, "AS path ", path);
	free(path);
}

static void add_route(struct cw_text *out, const json_t *route, const struct cw_show_columns *w, bool advertised)
{
	char med[24];
	size_t used = 2;

	cw_text_add(out, mark(route, advertised));
	cw_text_add(out, " ");
	used += cw_text_add_safe(out, cw_show_text(route, "prefix"), w->prefix) + 2;
	cw_text_add(out, "  ");
	used += cw_text_add_safe(out, cw_show_text(route, "next-hop"), w->hop) + 2;
	cw_text_add(out, "  ");
	used += cw_text_add_safe(out, neighbour_of(route), w->name) + 2 + w->med + 2;
	cw_text_add(out, "  ");
	for (size_t n = strlen(med_of(route, med, sizeof(med))); n < w->med; n++)
		cw_text_add(out, " ");
	cw_text_add(out, med);
	add_path(out, route, w, used);
	if (*cw_show_text(route, "why-not"))
		below(out, advertised ? "" : "not used: ", cw_show_text(route, "why-not"));
	else if (!advertised && cw_show_bool(route, "best") && !cw_show_bool(route, "own") &&
		 !cw_show_bool(route, "installed"))
		below(out, "", "the best, but not in the kernel: see causewayctl log");
	if (cw_show_bool(route, "stale"))
		below(out, "", "kept from the last session");
}

void cw_show_routes(struct cw_text *out, const json_t *answer, bool advertised, struct cw_show_columns *columns)
{
	const json_t *routes = json_object_get(answer, "routes"), *route;
	struct cw_show_columns w = { .prefix = 14, .hop = 8, .name = 9, .med = 3 };
	size_t i;

	json_array_foreach(routes, i, route) {
		if (!columns->again || columns->six != is_six(route) || i == 0) {
			struct cw_show_columns old = *columns;

			if (columns->again && columns->six == is_six(route))
				w = *columns;
			else
				w = (struct cw_show_columns){ .prefix = 14, .hop = 8, .name = 9, .med = 3 };
			w.again = columns->again;
			route_widths(routes, i, &w);
			w.below = 2 + w.prefix + 2 + w.hop + 2 + w.name + 2 + w.med + 2 + PATH_LEAST >
				  CW_SHOW_COLUMNS;
			if (!same_columns(&old, &w))
				begin_table(out, &w);
			*columns = w;
			columns->again = true;
		}
		add_route(out, route, columns, advertised);
	}
}

void cw_show_routes_end(struct cw_text *out, bool advertised, const struct cw_show_columns *columns)
{
	if (!columns->again)
		cw_text_add(out, "no route\n");
	else
		cw_text_add(out, advertised ? "! not sent\n" :
					      "* in use, = used beside it, ! the best but not in the kernel\n");
}
