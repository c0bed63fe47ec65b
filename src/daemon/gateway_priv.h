/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_priv: the gateway from inside; for gateway*.c alone.
 *
 * gateway.c starts, stops and steps; gateway_kernel.c keeps interfaces and routes as wanted;
 * gateway_sample.c reads the counters of SAs;
 * gateway_view.c and gateway_order.c answer the control socket.
 */
#ifndef CW_DAEMON_GATEWAY_PRIV_H
#define CW_DAEMON_GATEWAY_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "conf/conf.h"
#include "ctl/ctl.h"
#include "daemon/gateway.h"
#include "io/loop.h"
#include "io/resolve.h"
#include "tunnel/ike_port.h"
#include "tunnel/kernel_port.h"
#include "tunnel/tunnel.h"

/* A tunnel with its place in the kernel. */
struct slot {
	struct cw_tunnel *tunnel;
	const struct cw_tunnel_conf *conf;
	uint32_t index;
	uint32_t number;   /* 1-based; if_id and reqids follow from it */
	uint32_t in_site;  /* place among its site's tunnels, for the metric */
	uint32_t pairs;
	enum cw_interface_mode mode; /* AUTO settled */
	bool unusable;	   /* the kernel can't do what it needs: not started */
	char unusable_why[CW_IKE_TEXT_MAX];
	bool link_ok;
	char link_why[CW_IKE_TEXT_MAX]; /* why it is not */
	int link_err_logged; /* errno of the last logged failure, to say it once */
	bool nat_hint_given;

	struct cw_secret *psk;	      /* owned: the newest good one of its psk-file; NULL: conf's */
	const char *psk_fault_logged; /* what is wrong with that file now, said once; NULL: nothing */

	bool resolve_pending; /* answer for a literal address, given after the running step */
	uint32_t resolve_round;
	char resolve_text[CW_IKE_TEXT_MAX];

	/* data-path samples */
	uint64_t seen_in, seen_out;
	struct cw_time silent_since; /* NEVER: it is not */
	struct cw_time asked_at;     /* last SILENCE */
	struct cw_time one_way_since; /* of the first packet that nothing came back after; NEVER: none */
	struct cw_time last_out_at;
	uint64_t one_way_packets; /* out since then */
	bool one_way_said;
	uint32_t broken_child;	     /* missing in the kernel at the last look; 0: none */
};

struct cw_gateway {
	struct cw_gateway_parts parts;
	struct cw_kernel *kernel;
	struct cw_ike *ike; /* NULL before start */
	struct cw_resolver *resolver;
	struct cw_ctl_server *ctl;
	struct cw_kernel_caps caps;
	struct cw_time started_at;
	int64_t started_wall_s;

	struct slot *slots;
	size_t n_slots;

	bool reconcile_now, routes_now;
	struct cw_time reconcile_due, sample_due, poll_due;
	uint32_t poll_no;
	bool poll_running;
	struct cw_time poll_at;
	int route_err_logged, drops_err_logged;
	bool drops_done; /* set once, so that those of an earlier run are gone */
	bool forwarding_warned;
};

struct cw_time cw_gateway_now(const struct cw_gateway *gw);
void cw_gateway_step(struct cw_gateway *gw, struct slot *s, const struct cw_tunnel_event *ev);

/* ---- gateway_kernel.c ---- */

/* Settles each slot's number and interface mode; marks those that the kernel can't carry. */
enum cw_rc cw_gateway_place(struct cw_gateway *gw, char *reterr, size_t size);
void cw_gateway_link(struct cw_gateway *gw, struct slot *s);
void cw_gateway_routes(struct cw_gateway *gw);
void cw_gateway_reconcile(struct cw_gateway *gw);
/* What went wrong, for people: the kernel's own words, else its errno. */
const char *cw_gateway_kernel_text(enum cw_rc rc, const struct cw_kernel_err *err);
uint32_t cw_gateway_if_id(const struct slot *s);
uint32_t cw_gateway_mark(const struct slot *s);
bool cw_gateway_has_link(const struct slot *s);

/* ---- gateway_sample.c ---- */

/* Looks at all SAs: whether they are there, and whether what goes out comes back. */
void cw_gateway_sample(struct cw_gateway *gw);
/* Reads the counters of a tunnel's SAs from the kernel into the tunnel. */
void cw_gateway_counters(struct cw_gateway *gw, struct slot *s);
/* For how long data has gone out and none has come back, once that is worth a word; else 0. */
uint32_t cw_gateway_one_way_s(const struct cw_gateway *gw, const struct slot *s);

/* ---- gateway_view.c ---- */

void cw_gateway_ctl_port(struct cw_gateway *gw, struct cw_ctl_port *ret_port);
/* Tunnels of sites that don't run (an error in the file, or enabled = false): how many, and number i. */
size_t cw_gateway_idle_count(const struct cw_gateway *gw);
void cw_gateway_idle_view(const struct cw_gateway *gw, size_t i, struct cw_tunnel_view *ret_view);

/* ---- gateway_order.c: struct cw_ctl_port's orders ---- */

enum cw_rc cw_gateway_order_up(void *arg, const char *name, char *reterr, size_t size);
enum cw_rc cw_gateway_order_down(void *arg, const char *name, char *reterr, size_t size);
enum cw_rc cw_gateway_order_restart(void *arg, const char *name, char *reterr, size_t size);
enum cw_rc cw_gateway_order_rekey(void *arg, const char *name, bool child, char *reterr, size_t size);

#endif
