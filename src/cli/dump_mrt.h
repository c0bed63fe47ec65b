/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump_mrt: the daemon's routes as a table in MRT format (RFC 6396 4.3, TABLE_DUMP_V2), for bgpdump and its like.
 *
 * Written by causewayctl, not by the daemon: pages of routes are slices of work already, and the file belongs to
 * whoever asks, wherever that user may write. A path's time is that since when its session is up.
 */
#ifndef CW_CLI_DUMP_MRT_H
#define CW_CLI_DUMP_MRT_H

#include <stdint.h>
#include <stdio.h>

#include "base/rc.h"

struct cw_mrt_dump;
struct json_t;

/* peers: the answer to "bgp". Writes the first record. Place 0 of its peers is this gateway. CW_E_NO_MEMORY. */
enum cw_rc cw_mrt_dump_new(FILE *to, const struct json_t *peers, uint32_t now_s, struct cw_mrt_dump **ret_dump);
/* A page of "routes" with "attributes". CW_E_INVALID: an answer that is none. */
enum cw_rc cw_mrt_dump_routes(struct cw_mrt_dump *dump, const struct json_t *answer);
void cw_mrt_dump_free(struct cw_mrt_dump *dump); /* takes NULL; the file stays open */

#endif
