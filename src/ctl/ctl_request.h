/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl_request: one request of a control client, from text to answer.
 *
 * Knows no socket and no client: text in, a request out; a request and the port in, text out.
 * Unknown members and commands are refused, so that a misspelt "tunel" never means "all tunnels".
 */
#ifndef CW_CTL_CTL_REQUEST_H
#define CW_CTL_CTL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/name.h"
#include "base/rc.h"
#include "bgp/bgp_route_view.h"

struct cw_ctl_port;

enum cw_ctl_cmd {
	CW_CTL_STATUS,
	CW_CTL_UP,
	CW_CTL_DOWN,
	CW_CTL_RESTART,
	CW_CTL_REKEY,
	CW_CTL_LOG,
	CW_CTL_VERSION,
	CW_CTL_BGP,
	CW_CTL_BGP_REFRESH,
	CW_CTL_BGP_RESET,
	CW_CTL_ROUTES,
	CW_CTL_CMD_COUNT,
};

#define CW_CTL_ROUTES_MAX 1000 /* prefixes in one answer */
#define CW_CTL_LOG_LINES 50 /* where the request names no number */

struct cw_ctl_request {
	enum cw_ctl_cmd cmd;
	char tunnel[CW_TUNNEL_NAME_MAX + 1]; /* "": none named. For status a site's name will do. */
	bool child;                          /* REKEY: the CHILD_SAs, else the IKE_SA */
	size_t lines;                        /* LOG */
	char peer[CW_TUNNEL_NAME_MAX + 1];   /* BGP...: a tunnel's name or an address; "": none named */
	struct cw_bgp_route_query query;     /* ROUTES */
	bool attributes;                     /* ROUTES: with the octets of each route's attributes */
};

const char *cw_ctl_cmd_name(enum cw_ctl_cmd cmd);
/* Does it change anything? */
bool cw_ctl_cmd_is_order(enum cw_ctl_cmd cmd);

/* text: one JSON object, len bytes. CW_E_INVALID: reterr says what is wrong. */
enum cw_rc cw_ctl_request_parse(const char *text, size_t len, struct cw_ctl_request *ret_request,
	char *reterr, size_t size);

/* Carries the request out. The answer is one line with its newline, to be freed; NULL when memory
 * is out. ret_rc: how it went, for the log. */
char *cw_ctl_request_answer(
	const struct cw_ctl_request *request, const struct cw_ctl_port *port, enum cw_rc *ret_rc);

/* The answer {"ok":false,…} for a failure; NULL when memory is out. */
char *cw_ctl_refusal(enum cw_rc rc, const char *error);

#endif
