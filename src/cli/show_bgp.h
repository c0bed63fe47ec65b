/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_bgp: the daemon's answers to "bgp" and "routes" as a person reads them on 80 columns.
 *
 * Pure: JSON in, text out. A member that is missing (an older daemon) is left out, never guessed.
 */
#ifndef CW_CLI_SHOW_BGP_H
#define CW_CLI_SHOW_BGP_H

#include <stdbool.h>
#include <stddef.h>

struct cw_text;
struct json_t;

/* One line a neighbour, and one more that says why where its session is not there. */
void cw_show_neighbours(struct cw_text *out, const struct json_t *answer, bool color);

/* All there is to know of each neighbour in the answer. */
void cw_show_neighbour(struct cw_text *out, const struct json_t *answer, bool color);

/* How wide the columns of the last page were; begin with zeros. */
struct cw_show_columns {
	size_t prefix, hop, name, med;
	bool six, below, again; /* IPv6; AS paths stand on lines of their own; a table was begun */
};

/* One page of routes. advertised: they are what a neighbour has from us. A header stands before the first, and
 * where the columns change. */
void cw_show_routes(struct cw_text *out, const struct json_t *answer, bool advertised, struct cw_show_columns *columns);
/* What the marks mean, or that there is no route. */
void cw_show_routes_end(struct cw_text *out, bool advertised, const struct cw_show_columns *columns);

#endif
