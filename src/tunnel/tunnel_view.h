/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel_view: a copy of a tunnel's whole story, for whoever shows it.
 *
 * Values only; strings inside are arrays. Made on the loop thread by the daemon from the tunnel
 * object, printed by src/ctl. One for every configured tunnel, also for those that are down or whose
 * site has an error. Holds no secret.
 */
#ifndef CW_TUNNEL_TUNNEL_VIEW_H
#define CW_TUNNEL_TUNNEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/name.h"
#include "tunnel/cause.h"
#include "tunnel/ike_port.h"
#include "tunnel/kernel_port.h"

enum cw_tunnel_state {
	CW_TUNNEL_CONF_ERROR, /* its site has an error in the file */
	CW_TUNNEL_DOWN,	      /* wanted down: by the operator or by start = false */
	CW_TUNNEL_RESOLVING,  /* the peer's name is being looked up */
	CW_TUNNEL_CONNECTING, /* an attempt is on its way */
	CW_TUNNEL_WAITING,    /* pause before the next attempt */
	CW_TUNNEL_IKE_ONLY,   /* IKE_SA established, a child is missing */
	CW_TUNNEL_UP,	      /* IKE_SA and every child installed */
	CW_TUNNEL_CLOSING,    /* DELETE sent, waiting for the end */
	CW_TUNNEL_STATE_COUNT,
};

/* "up", "connecting", … as in JSON. Never NULL. */
const char *cw_tunnel_state_name(enum cw_tunnel_state state);

#define CW_VIEW_CHILDREN_MAX 128
#define CW_VIEW_ROUTES_MAX 64
#define CW_VIEW_HISTORY_MAX 16
#define CW_VIEW_GAPS_MAX 8

struct cw_view_step {
	int64_t at_wall_s;
	enum cw_tunnel_state from, to;
	enum cw_cause cause;
};

/* What has become of a route that the tunnel wants. */
enum cw_view_route_state {
	CW_VIEW_ROUTE_CLOSED,	 /* the tunnel does not carry, and unreachable stands for it */
	CW_VIEW_ROUTE_INSTALLED, /* packets take it */
	CW_VIEW_ROUTE_STANDBY,	 /* packets take that of another tunnel of ours, `by` */
	CW_VIEW_ROUTE_SHADOWED,	 /* packets take a route that is not ours, `by` */
	CW_VIEW_ROUTE_MISSING,	 /* the kernel does not have it, though it should */
	CW_VIEW_ROUTE_STATE_COUNT,
};

/* "closed", "installed", … as in JSON. Never NULL. */
const char *cw_view_route_state_name(enum cw_view_route_state state);

struct cw_view_route {
	struct cw_prefix dst;
	bool installed; /* in the kernel by way of the tunnel, and no foreign one wins over it */
	uint32_t metric;
	enum cw_view_route_state state;
	struct {
		char ifname[CW_IFNAME_SIZE]; /* "": by several interfaces */
		char protocol[16];	     /* "static", "kernel", "zebra", … or a number */
		uint32_t metric, table;	     /* table 254: main */
	} by;
};

/* Networks between which nothing can pass, though the tunnel is up: the peer agreed to less. */
struct cw_view_gap {
	struct cw_prefix ours, theirs; /* family NONE: any */
};

/* The BGP session over the tunnel, in short. */
struct cw_view_bgp {
	struct cw_addr peer; /* family NONE: no neighbour of ours is there */
	bool established;
	char state[16]; /* "open-sent" */
	int64_t for_s;
	uint32_t received, selected, announced; /* prefixes */
	char why[512]; /* not established though the tunnel is up: what is wrong, and what to look at; else "" */
};

struct cw_tunnel_view {
	char name[CW_TUNNEL_NAME_MAX + 1];
	char site[CW_NAME_MAX + 1];
	char profile[32];
	char remote[256]; /* as configured */
	struct cw_addr remote_addr, local_addr; /* in use; family NONE: not known yet */

	enum cw_tunnel_state state;
	bool wanted_up;
	int64_t since_wall_s;	/* of the state */
	int64_t for_s;		/* how long it has been in the state, by the monotonic clock */
	enum cw_cause cause;	/* why it is in this state; NONE when all is well */
	char detail[CW_IKE_TEXT_MAX];
	bool private_id;	/* our identity is a private address and the peer's address is not */
	enum cw_cause last_error; /* the newest failure, also after it was mended; NONE: never */
	char last_error_detail[CW_IKE_TEXT_MAX];
	int64_t last_error_wall_s;
	uint32_t attempt;	/* number of the running or next try since it was last up */
	int64_t next_try_in_s;	/* -1: none planned */
	enum cw_cause last_rekey_error;
	char last_rekey_detail[CW_IKE_TEXT_MAX];

	bool has_ike;
	struct cw_ike_sa_info ike;
	struct cw_child_info children[CW_VIEW_CHILDREN_MAX];
	size_t n_children, n_children_wanted;

	enum cw_link_kind link_kind;
	bool has_link; /* false: plain policies */
	bool link_ok;  /* it is in the kernel as wanted */
	char ifname[CW_IFNAME_SIZE];
	uint32_t if_id, mtu;
	struct cw_prefix inside_addr;

	struct cw_view_route routes[CW_VIEW_ROUTES_MAX];
	size_t n_routes;
	size_t n_shadowed; /* of all routes, those not shown too */

	/* Up, and no CHILD_SA covers these. n_gaps counts them all. */
	struct cw_view_gap gaps[CW_VIEW_GAPS_MAX];
	size_t n_gaps;

	struct cw_view_bgp bgp;

	/* Newest first. */
	struct cw_view_step history[CW_VIEW_HISTORY_MAX];
	size_t n_history;

	/* Totals since the daemon's start, over all children this tunnel ever had. */
	uint64_t bytes_in, bytes_out, packets_in, packets_out;
	uint32_t times_up;
	uint32_t dead_after_s; /* a peer that fell silent is noticed within so long: dpd-delay + dpd-timeout */
	uint32_t one_way_s; /* data goes out and none has come back for so long, though IKE lives; 0: all is well */

	/* CW_TUNNEL_CONF_ERROR: the error, with file:line. */
	char conf_error[256];
};

/* The gateway itself. */
struct cw_gateway_view {
	char name[CW_NAME_MAX + 1];
	char version[32];
	char ike_engine[64];
	char kernel[65];
	char conf_path[256];
	char data_plane[16];
	char data_plane_why[160];
	int64_t started_wall_s, up_for_s;
	bool forwarding4, forwarding6;
	uint64_t xfrm_in_no_pols, xfrm_in_tmpl_mismatch, xfrm_in_state_seq_error, xfrm_in_no_states,
		xfrm_out_no_states, xfrm_in_state_proto_error;
	uint32_t n_conf_errors;
};

#endif
