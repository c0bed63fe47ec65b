/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_int: what the parts of src/conf share while a file is read. Not for others.
 *
 * Beside each struct of the result stands a "source": on which line of the text each setting was
 * set, 0 where it was not. Rows are indices of the schema.
 */
#ifndef CW_CONF_CONF_INT_H
#define CW_CONF_CONF_INT_H

#include "conf/conf.h"
#include "conf/profile.h"
#include "conf/report.h"
#include "conf/schema.h"
#include "conf/text.h"

#define CW_VALUE_TEXT_MAX 96 /* of a value in a finding */

struct cw_tunnel_source {
	unsigned line;			 /* where its group begins */
	unsigned set[CW_SETTINGS_MAX];	 /* by the tunnel itself or by its site */
};

struct cw_site_source {
	unsigned line;
	unsigned set[CW_SETTINGS_MAX];
	struct cw_tunnel_source *tunnels;
};

struct cw_reader {
	struct cw_reporter rep;
	struct cw_text text;
	struct cw_conf *conf;
	char *folder; /* of the main file, with the slash; "" for the current one */
	unsigned gateway_line;
	unsigned gateway_set[CW_SETTINGS_MAX];
	struct cw_site_source *sites;
};

/* Whom a finding is about: a group by its indices, and a setting in it. */
struct cw_subject {
	int site;	  /* -1: not in a site */
	int tunnel;	  /* -1: not in a tunnel */
	bool gateway;
	unsigned line;	  /* of the text */
	const char *name; /* of the setting; "" for the group itself */
	int element;	  /* of a list; -1: none */
};

/* Reports. reason and remedy are formatted into the pool of the report by cw_say(). */
const char *cw_say(struct cw_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cw_report(struct cw_reader *r, enum cw_conf_severity severity,
	       const struct cw_subject *subject, const char *value, const char *reason,
	       const char *remedy);

/* The setting name of tunnel k of site i; k -1: of the site itself; i -1 too: of the gateway. A
 * value that a tunnel has from its site is found there. */
struct cw_subject cw_subject_of(const struct cw_reader *r, int i, int k, const char *name);
/* A finding about that setting. */
void cw_report_at(struct cw_reader *r, int i, int k, enum cw_conf_severity severity, const char *name,
		  const char *value, const char *reason, const char *remedy);
/* An address as a text in the pool of the report. */
const char *cw_say_addr(struct cw_reader *r, const struct cw_addr *addr);
/* Whether that setting was written at all. */
bool cw_subject_set(const struct cw_reader *r, int i, int k, const char *name);

/* Rules within the gateway, a site, a tunnel (conf_check.c) and between them (conf_cross.c).
 * Everything that could be read is in r->conf. */
void cw_conf_check(struct cw_reader *r);
void cw_conf_check_cross(struct cw_reader *r);

/* Those about BGP (conf_bgp.c). */
void cw_conf_check_bgp_gateway(struct cw_reader *r);
void cw_conf_check_bgp_site(struct cw_reader *r, int i);
void cw_conf_check_bgp_tunnel(struct cw_reader *r, int i, int k);

/* The identity that we show to a tunnel's peer: local-id, else the public, else the local address;
 * "" when it is not known before the route is looked up. */
const char *cw_conf_local_id(struct cw_reader *r, const struct cw_tunnel_conf *t);

/* Fills in our end of a tunnel's BGP session and what is announced over it, where the tunnel does not say:
 * the inside address, what the gateway says, the router id; the gateway's announce, its networks. */
void cw_conf_complete_bgp(const struct cw_conf *conf, struct cw_tunnel_conf *t);

/* The name of the site's tunnel k (from 0). */
void cw_conf_derive_name(const char *site_name, size_t k,
			 char ret_name[static CW_TUNNEL_NAME_MAX + 1]);
/* The tunnel's interface from its name; at most 15 characters. */
void cw_conf_derive_ifname(const char *tunnel_name, char ret_ifname[static CW_IFNAME_SIZE]);

#endif
