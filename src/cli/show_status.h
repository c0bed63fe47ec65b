/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_status: the daemon's answer to "status" as a person reads it on 80 columns.
 *
 * Pure: JSON in, text out. A member that is missing (an older daemon) is left out, never guessed.
 */
#ifndef CW_CLI_SHOW_STATUS_H
#define CW_CLI_SHOW_STATUS_H

#include <stdbool.h>

struct cw_text;
struct json_t;

/* One line a tunnel, and for those that are not as wanted a second one that says why. */
void cw_show_overview(struct cw_text *out, const struct json_t *answer, bool color);

/* All there is to know of each tunnel in the answer. */
void cw_show_detail(struct cw_text *out, const struct json_t *answer, bool color);

/* Is every tunnel in the answer that is wanted up really up? */
bool cw_show_all_well(const struct json_t *answer);

#endif
