/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema: the one table of settings. Parser, checks, canonical print and man page are fed from it.
 *
 * A row says where a setting may stand (levels), in which struct its value lies (home, offset), and
 * what it may be. A setting of a tunnel may stand at its site too, for all tunnels of it; what
 * stands nowhere comes from the profile.
 */
#ifndef CW_CONF_SCHEMA_H
#define CW_CONF_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#define CW_SETTINGS_MAX 128 /* rows, at most */

enum cw_level {
	CW_LEVEL_TOP = 1,
	CW_LEVEL_GATEWAY = 2,
	CW_LEVEL_SITE = 4,
	CW_LEVEL_TUNNEL = 8,
};

/* The struct that holds the value. */
enum cw_home {
	CW_HOME_NONE,	 /* handled by conf_read.c itself */
	CW_HOME_GATEWAY, /* struct cw_gateway_conf */
	CW_HOME_SITE,	 /* struct cw_site_conf */
	CW_HOME_TUNNEL,	 /* struct cw_tunnel_conf */
};

enum cw_setting_type {
	CW_TYPE_GROUP,	   /* { … } */
	CW_TYPE_GROUPS,	   /* ( { … }, … ) */
	CW_TYPE_NAME,	   /* char[]; base/name.h; max: characters */
	CW_TYPE_IFNAME,	   /* char[CW_IFNAME_SIZE] */
	CW_TYPE_PROFILE,   /* const char *, a name from the profile table */
	CW_TYPE_ID,	   /* const char *, an IKE identity */
	CW_TYPE_PATH,	   /* const char *, the control socket */
	CW_TYPE_TEXT,	   /* const char *, printable */
	CW_TYPE_SECRET,	   /* a key */
	CW_TYPE_KEY_FILE,  /* path of a file with a key */
	CW_TYPE_HOST,	   /* const char *: address or DNS name */
	CW_TYPE_ADDR,	   /* struct cw_addr */
	CW_TYPE_ADDR4,	   /* struct cw_addr, IPv4 alone */
	CW_TYPE_ADDR_LEN,  /* struct cw_prefix with host bits */
	CW_TYPE_NETWORKS,  /* struct cw_prefixes without host bits */
	CW_TYPE_NUMBER32,  /* uint32_t */
	CW_TYPE_NUMBER64,  /* uint64_t */
	CW_TYPE_BOOL,	   /* bool */
	CW_TYPE_CHOICE,	   /* an enum; choices: its names, NULL-ended, in order from 0 */
	CW_TYPE_IKE_PROPOSALS, /* struct cw_proposals */
	CW_TYPE_ESP_PROPOSALS,
	CW_TYPE_FILTERS,	   /* struct cw_filters */
	CW_TYPE_COMMUNITIES,	   /* struct cw_octets, 4 each */
	CW_TYPE_LARGE_COMMUNITIES, /* struct cw_octets, 12 each */
	CW_TYPE_NAMES,		   /* struct cw_names */
	CW_TYPE_COUNT,
};

struct cw_setting {
	const char *name;
	unsigned levels; /* of enum cw_level */
	enum cw_home home;
	enum cw_setting_type type;
	size_t offset;
	uint64_t min, max; /* of a number, or of a text's length */
	const char *unit;  /* of a number; NULL: none */
	const char *const *choices;
	const char *dflt; /* as it would be written; NULL: none, or the profile's */
	const char *help; /* whole sentences, for the man page */
};

/* Row i; NULL past the end. */
const struct cw_setting *cw_setting_at(size_t i);

/* Index of the row with this name at this level, or -1. */
int cw_setting_find(const char *name, enum cw_level level);

const char *cw_level_name(enum cw_level level);
/* What a person writes for a type, as "a text in quotes". */
const char *cw_type_wanted(enum cw_setting_type type);
/* Its short name in the man page. */
const char *cw_type_name(enum cw_setting_type type);

/* Name tables of the enums in conf.h, NULL-ended. */
extern const char *const cw_names_nat_traversal[];
extern const char *const cw_names_interface_mode[];
extern const char *const cw_names_selectors[];
extern const char *const cw_names_log_level[];
extern const char *const cw_names_bgp_by[];
extern const char *const cw_names_bgp_connect[];
extern const char *const cw_names_bgp_role[];

#endif
