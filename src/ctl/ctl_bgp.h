/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl_bgp: neighbours and routes of BGP as JSON, and the requests about them.
 *
 * Member names are listed in causewayctl(8); like the others they are stable.
 */
#ifndef CW_CTL_CTL_BGP_H
#define CW_CTL_CTL_BGP_H

#include <stddef.h>

#include "base/rc.h"

struct cw_ctl_port;
struct cw_ctl_request;
struct json_t;

/* The answer to CW_CTL_BGP, BGP_REFRESH, BGP_RESET and ROUTES; a new reference, NULL when memory is out.
 * On a refusal *ret_rc is not CW_OK, the result NULL and reterr the reason. */
struct json_t *cw_ctl_bgp_answer(const struct cw_ctl_request *req, const struct cw_ctl_port *port,
	enum cw_rc *ret_rc, char *reterr, size_t size);

#endif
