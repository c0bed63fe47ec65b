/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl_show: a view as JSON, the one form in which the daemon shows itself.
 *
 * Pure: the view in, a JSON object out. Member names are stable and follow the fields of
 * tunnel_view.h, with '-' for '_'; ctl.h lists where they differ, causewayctl(8) has them all.
 */
#ifndef CW_CTL_CTL_SHOW_H
#define CW_CTL_CTL_SHOW_H

struct json_t;
struct cw_gateway_view;
struct cw_tunnel_view;

/* New references; NULL when memory is out. */
struct json_t *cw_ctl_show_gateway(const struct cw_gateway_view *view);
struct json_t *cw_ctl_show_tunnel(const struct cw_tunnel_view *view);

/* A JSON string from text that may hold anything: bytes that are no UTF-8 become \xNN. */
struct json_t *cw_ctl_show_text(const char *text);

#endif
