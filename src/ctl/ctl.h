/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl: the control socket's conversation, and the port through which it reaches the daemon.
 *
 * A Unix stream socket. The client sends one JSON object and a newline; the daemon answers with one
 * JSON object and a newline and closes. Requests:
 *   {"cmd":"status","tunnel":"NAME"?}   {"cmd":"up"|"down"|"restart","tunnel":"NAME"}
 *   {"cmd":"rekey","tunnel":"NAME","what":"ike"|"child"}
 *   {"cmd":"log","lines":N?}   {"cmd":"version"}
 *   {"cmd":"bgp","peer":"P"?}   {"cmd":"bgp-refresh"|"bgp-reset","peer":"P"}
 *   {"cmd":"routes","prefix":"…"?,"best":true | "received":"P" | "advertised":"P","after":"…"?,"max":N?,
 *    "attributes":true?}
 * P: a tunnel's name or its neighbour's address. Routes come in pages: "after" of an answer, unless it is null, goes
 * into the next request. With "attributes" each route has the octets of its path attributes in hex, in the order of
 * their codes and without NEXT_HOP and MP_REACH_NLRI: for MRT.
 * tunnel: for status a site's name will do too, and means all of its tunnels. The end of what the
 * client sends ends a request as a newline does; what follows the newline is not read.
 *
 * Answers: {"ok":true, …} or {"ok":false,"error":"…","code":"…"}; code is one of "not-found",
 * "invalid", "denied", "busy", "internal".
 *   status:  "gateway":{…}, "tunnels":[{…}]: always every configured tunnel
 *   orders:  "cmd", "tunnel": the order is taken; status shows how it goes on
 *   log:     "lines":[{"at-wall-s","level","text"}], oldest first; 50 if no number is named
 *   version: "version", "ike-engine", "kernel"
 * Members of a gateway and a tunnel are the fields of tunnel_view.h with '-' for '_', times in
 * seconds, bytes as integers, unknown values null, SPIs as "0x…". Where they differ:
 *   cause with detail, last_error, last_rekey_error:
 *              null or {"name","text","remedy","detail"}, last-error with "at-wall-s" too;
 *              names and texts are those of cause.h
 *   ike        null or the fields of struct cw_ike_sa_info
 *   children   a list with the fields of struct cw_child_info; local-ts, remote-ts: lists
 *   interface  null or {"name","kind":"xfrm"|"vti","ok","if-id","mtu","inside-addr"}
 *   routes     [{"dst","installed","metric"}]
 *   history    [{"at-wall-s","from","to","cause":null or a cause's name}], newest first
 * Names are stable: members are added, never renamed. JSON from causewayctl --json is the answer as
 * it came.
 *
 * root and members of the socket's group may ask status, log and version; orders need uid 0 or the
 * daemon's own uid (SO_PEERCRED).
 *
 * Limits: a request is at most 4096 bytes; 32 clients at once; a client that sends no request or takes
 * nothing of its answer for 10 s is dropped. Nothing blocks the loop.
 */
#ifndef CW_CTL_CTL_H
#define CW_CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"
#include "base/time.h"
#include "bgp/bgp_route_view.h"
#include "tunnel/tunnel_view.h"

struct cw_loop;
struct cw_ctl_server;

/* Implemented by the daemon; called on the loop thread. */
struct cw_ctl_port {
	void (*gateway_view)(void *arg, struct cw_gateway_view *ret_view);
	size_t (*tunnel_count)(void *arg);
	/* View number i. */
	void (*tunnel_view)(void *arg, size_t i, struct cw_tunnel_view *ret_view);
	/* Orders; tunnel is a tunnel's name, or a site's for all of its tunnels. CW_E_NOT_FOUND: no such tunnel; CW_E_INVALID: not possible in its state, reterr
	 * says why. */
	enum cw_rc (*up)(void *arg, const char *tunnel, char *reterr, size_t size);
	enum cw_rc (*down)(void *arg, const char *tunnel, char *reterr, size_t size);
	enum cw_rc (*restart)(void *arg, const char *tunnel, char *reterr, size_t size);
	enum cw_rc (*rekey)(void *arg, const char *tunnel, bool child, char *reterr, size_t size);

	/* BGP. Why there is none at all, in a sentence ("bgp is \"external\" ..."); NULL: there is, and only
	 * then may the others be called. NULL as a pointer: there is none, and no reason to tell. */
	const char *(*bgp_off)(void *arg);
	size_t (*bgp_count)(void *arg);
	void (*bgp_view)(void *arg, size_t i, struct cw_bgp_neighbour_view *ret_view);
	/* By a tunnel's name or the neighbour's address. CW_E_NOT_FOUND. */
	enum cw_rc (*bgp_find)(void *arg, const char *name, size_t *ret_i);
	void (*bgp_reset)(void *arg, size_t i, enum cw_bgp_reset reset);
	/* A page of routes: as cw_speaker_routes(). */
	bool (*bgp_routes)(void *arg, struct cw_bgp_route_query *query,
		void (*fn)(void *fn_arg, const struct cw_bgp_route_view *view), void *fn_arg);
	void *arg;
};

/* Listens at path (mode 0660; its folder is made if missing, mode 0755). A stale socket of a dead
 * daemon is replaced; a live one is CW_E_EXISTS: another causewayd runs. port is copied; reterr
 * gets the reason. */
enum cw_rc cw_ctl_server_new(struct cw_loop *loop, const char *path, const struct cw_ctl_port *port,
	struct cw_ctl_server **ret_server, char *reterr, size_t size);
/* Closes clients, removes the socket. NULL is fine. */
void cw_ctl_server_free(struct cw_ctl_server *server);

/* Drops clients that are over time. Returns the next deadline. */
struct cw_time cw_ctl_server_turn(struct cw_ctl_server *server, struct cw_time now);

#endif
