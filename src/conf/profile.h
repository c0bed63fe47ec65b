/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: what we know of each kind of peer, as data: one complete struct cw_tunnel_conf of values
 * to start from, and which cloud's own rules are checked.
 */
#ifndef CW_CONF_PROFILE_H
#define CW_CONF_PROFILE_H

#include "conf/conf.h"

enum cw_cloud { CW_CLOUD_NONE, CW_CLOUD_AZURE, CW_CLOUD_AWS };

struct cw_profile {
	const char *name;
	const char *about; /* one line, for the man page */
	enum cw_cloud cloud;
	struct cw_tunnel_conf values; /* ends and key unset */
};

/* Table of the profiles; NULL past its end. */
const struct cw_profile *cw_profile_at(size_t i);
/* By name; NULL if there is none. */
const struct cw_profile *cw_profile_find(const char *name);

/*
 * The margin or jitter that goes with a lifetime which was set while the margin was not: the
 * profile's own share of the lifetime, so that the rekey always comes before the end.
 */
uint32_t cw_profile_scale(uint32_t profile_part_s, uint32_t profile_time_s, uint32_t time_s);

#endif
