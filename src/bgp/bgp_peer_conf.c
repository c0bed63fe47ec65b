/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_peer_conf.h"

#include <stdio.h>
#include <string.h>

#define ROW(field, cost)                                                                           \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct cw_bgp_peer_conf, field),                \
		.size = sizeof(((struct cw_bgp_peer_conf *)0)->field),                             \
		.change = CW_BGP_CHANGE_##cost                                                     \
	}

/* Every field stands here once; a test counts their bytes. */
static const struct cw_bgp_peer_conf_row rows[] = {
	ROW(name, LIVE),
	ROW(local_asn, SOCKET),
	ROW(remote_asn, SOCKET),
	ROW(router_id, OPEN),
	ROW(local, SOCKET),
	ROW(remote, SOCKET),
	ROW(active, LIVE),
	ROW(passive, LIVE),
	ROW(family, OPEN),
	ROW(hold_s, OPEN),
	ROW(hold_min_s, LIVE), /* but what is agreed may be too little: looked at by itself */
	ROW(connect_retry_s, LIVE),
	ROW(delay_open_s, LIVE),
	ROW(idle_hold_min_s, LIVE),
	ROW(idle_hold_max_s, LIVE),
	ROW(stable_s, LIVE),
	ROW(ext_message, OPEN),
	ROW(ext_next_hop, OPEN),
	ROW(role, OPEN),
	ROW(role_strict, LIVE), /* for the next OPEN */
	ROW(gr, OPEN),
	ROW(gr_time_s, OPEN),
	ROW(gr_time_max_s, LIVE),
	ROW(gr_stale_s, LIVE),
	ROW(gr_defer_s, LIVE),
	ROW(max_prefixes, LIVE),
	ROW(max_prefixes_warn, LIVE),
	ROW(max_prefixes_restart_s, LIVE),
	ROW(ttl, SOCKET),
	ROW(gtsm, SOCKET),
	ROW(md5_generation, SOCKET),
	ROW(check_first_as, LIVE),
};

const struct cw_bgp_peer_conf_row *cw_bgp_peer_conf_row(size_t i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

static bool differs(const struct cw_bgp_peer_conf_row *row, const struct cw_bgp_peer_conf *a,
	const struct cw_bgp_peer_conf *b)
{
	if (row->offset == offsetof(struct cw_bgp_peer_conf, name))
		return strncmp(a->name, b->name, sizeof(a->name)) != 0;
	return memcmp((const char *)a + row->offset, (const char *)b + row->offset, row->size) != 0;
}

enum cw_bgp_peer_change cw_bgp_peer_conf_diff(const struct cw_bgp_peer_conf *old_conf,
	const struct cw_bgp_peer_conf *new_conf, char *ret_names, size_t size)
{
	enum cw_bgp_peer_change gravest = CW_BGP_CHANGE_NONE;
	const struct cw_bgp_peer_conf_row *row;
	size_t at = 0;

	for (size_t i = 0; (row = cw_bgp_peer_conf_row(i)); i++) {
		if (row->change > gravest && differs(row, old_conf, new_conf))
			gravest = row->change;
	}
	if (!ret_names || !size)
		return gravest;
	ret_names[0] = '\0';
	for (size_t i = 0; gravest != CW_BGP_CHANGE_NONE && (row = cw_bgp_peer_conf_row(i)); i++) {
		const char *before = at ? ", " : "";
		size_t need = strlen(before) + strlen(row->name);

		if (row->change != gravest || !differs(row, old_conf, new_conf))
			continue;
		if (at + need + sizeof(", ...") > size) {
			snprintf(ret_names + at, size - at, "%s...", before);
			break;
		}
		snprintf(ret_names + at, size - at, "%s%s", before, row->name);
		at += need;
	}
	return gravest;
}
