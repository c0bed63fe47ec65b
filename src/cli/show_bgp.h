/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_bgp: the daemon's answers to "bgp" and "routes" as a person reads them on 80 columns.
 *
 * Pure: JSON in, text out. A member that is missing (an older daemon) is left out, never guessed.
 */
#ifndef CW_CLI_SHOW_BGP_H
#define CW_CLI_SHOW_BGP_H

#include <stdbool.h>

struct cw_text;
struct json_t;

/* One line a neighbour, and one more that says why where its session is not there. */
void cw_show_neighbours(struct cw_text *out, const struct json_t *answer, bool color);

/* All there is to know of each neighbour in the answer. */
void cw_show_neighbour(struct cw_text *out, const struct json_t *answer, bool color);

/* advertised: they are what a neighbour has from us. */
void cw_show_routes(struct cw_text *out, const struct json_t *answer, bool advertised);

#endif
