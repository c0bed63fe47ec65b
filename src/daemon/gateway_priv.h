/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway_priv: the gateway from inside; for gateway*.c alone.
 *
 * gateway.c starts, stops and steps; gateway_try.c has what a try needs; gateway_link.c and gateway_route.c
 * keep interfaces and routes as wanted; gateway_work.c says for which tunnels something is to be done;
 * gateway_way.c looks where packets go; gateway_sample.c reads the counters of SAs; gateway_view.c and gateway_order.c answer the control socket.
 *
 * Nothing here takes longer for an event than for its own tunnel. What looks at all tunnels has a clock of
 * its own, and reads the kernel once for all.
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

/* Work that a tunnel may wait for. */
enum todo {
	TODO_LOOK,   /* its interface was touched: is it still as wanted? */
	TODO_LINK,   /* set the interface right */
	TODO_TRY,    /* the peer's address is found: go on with the try */
	TODO_INITIATE, /* begin the attempt, when the engine has hands free */
	TODO_ROUTES, /* its routes may have to come or go; in the same turn */
	TODO_COUNT,
};

/* A ring with room for every slot. */
struct todo_list {
	struct slot **v;
	size_t first, n;
};

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
	int link_err_logged; /* enum cw_rc of the last logged failure, to say it once */
	struct cw_addr vti_remote, vti_local; /* outer ends that it was last made with */
	bool link_asked; /* to be set right, by TODO_LINK or a try that waits */
	bool routes_in; /* its own routes were set, as far as we know */
	char outlet[CW_IFNAME_SIZE]; /* policies alone: the interface to the peer, which its routes are by */
	struct site_ways *ways; /* of its site; NULL: it has no interface */
	bool todo[TODO_COUNT];
	bool nat_hint_given;
	bool bgp_needs_addr; /* the address that it speaks BGP from is on no interface of others */
	size_t neighbour;    /* place in the speaker, from 1; 0: no BGP of ours */

	struct cw_secret *psk;	      /* owned: the newest good one of its psk-file; NULL: conf's */
	const char *psk_fault_logged; /* what is wrong with that file now, said once; NULL: nothing */

	uint32_t resolve_round;
	struct cw_addr found;	 /* the peer's address for the next try */
	bool engine_refused;	 /* the engine did not take the settings in the running step */
	enum cw_rc engine_rc;

	/* data-path samples */
	uint64_t seen_in, seen_out;
	struct cw_time silent_since; /* NEVER: it is not */
	struct cw_time asked_at;     /* last SILENCE */
	struct cw_time one_way_since; /* of the first packet that nothing came back after; NEVER: none */
	struct cw_time last_out_at;
	uint64_t one_way_packets; /* out since then */
	bool one_way_said;
	uint32_t gaps_of;   /* checksum of the children when it was last looked at what they cover */
	size_t n_gaps_said; /* pairs of networks not covered, as last told */
	uint32_t broken_child;	     /* missing in the kernel at the last look; 0: none */
};

struct cw_gateway {
	struct cw_gateway_parts parts;
	struct cw_kernel *kernel;
	struct cw_ike *ike; /* NULL before start */
	bool begun;	    /* the engine may work */
	struct cw_resolver *resolver;
	struct cw_ctl_server *ctl;
	struct cw_speaker *speaker; /* NULL: BGP is left to others */
	struct cw_kernel_caps caps;
	struct cw_time started_at;
	int64_t started_wall_s;

	struct slot *slots;
	size_t n_slots;
	struct slot **by_ifname;
	struct todo_list todo[TODO_COUNT];

	struct cw_time tunnels_due; /* of the tunnels' deadlines none is before it */
	struct cw_time reconcile_due, sample_due, poll_due;
	size_t sample_next;
	bool look_all;
	struct cw_time look_due, looked_at;
	struct cw_time routes_due, routes_at; /* of comparing all */
	struct cw_addr src4, src6;	      /* preferred sources of routes */
	struct cw_time sources_at;
	bool drops_now;
	uint32_t poll_no;
	bool poll_running;
	struct cw_time poll_at;
	char route_err_text[sizeof(((struct cw_kernel_err *)NULL)->text)]; /* last logged; "": all is well */
	int drops_err_logged;
	struct site_ways *ways;
	size_t n_ways;
	size_t ways_next; /* of the running round of looking where packets go; 0: none runs */
	struct cw_time ways_due, ways_at, ways_touched_at; /* ways_at: when the last round began */
	bool drops_done; /* set once, so that those of an earlier run are gone */
	bool forwarding_warned;
};

struct cw_time cw_gateway_now(const struct cw_gateway *gw);
void cw_gateway_step(struct cw_gateway *gw, struct slot *s, const struct cw_tunnel_event *ev);

/* ---- gateway_try.c ---- */

/* Finds the peer's address; the try goes on by TODO_TRY. */
void cw_gateway_resolve(struct cw_gateway *gw, struct slot *s);
struct cw_resolve_answer;
void cw_gateway_resolved(void *arg, const struct cw_resolve_answer *answer);
/* The tunnel's answer to RESOLVE: which address of the peer and which of ours. */
void cw_gateway_try(struct cw_gateway *gw, struct slot *s);
void cw_gateway_engine_set(struct cw_gateway *gw, struct slot *s);
/* Tells the tunnel, after the step in which it happened. */
void cw_gateway_engine_refused(struct cw_gateway *gw, struct slot *s);

/* ---- gateway_link.c ---- */

/* Settles each slot's number and interface mode; marks those that the kernel can't carry. */
enum cw_rc cw_gateway_place(struct cw_gateway *gw, char *reterr, size_t size);
/* Makes the tunnel's interface be as wanted. */
void cw_gateway_link(struct cw_gateway *gw, struct slot *s);
/* The same where it is a VTI whose ends are other ones now. */
void cw_gateway_link_ends(struct cw_gateway *gw, struct slot *s);
/* An interface of that name came, changed or went. */
void cw_gateway_link_touched(struct cw_gateway *gw, const char *ifname);
/* Look at all of them in the next cw_gateway_links_turn(). */
void cw_gateway_links_all(struct cw_gateway *gw);
void cw_gateway_links_turn(struct cw_gateway *gw, struct cw_time now);
/* Whose interface has that name; NULL: none of ours. */
struct slot *cw_gateway_slot_of(const struct cw_gateway *gw, const char *ifname);
uint32_t cw_gateway_if_id(const struct slot *s);
uint32_t cw_gateway_mark(const struct slot *s);
bool cw_gateway_has_link(const struct slot *s);

/* ---- gateway_route.c ---- */

/* Compares all routes with the kernel's and sets them right. */
void cw_gateway_routes(struct cw_gateway *gw);
/* The same in one of the next turns. */
void cw_gateway_routes_soon(struct cw_gateway *gw);
/* The tunnel's own may be gone: sets them again if it shall have them. */
void cw_gateway_routes_again(struct cw_gateway *gw, struct slot *s);
void cw_gateway_routes_turn(struct cw_gateway *gw, struct cw_time now);
/* Keeps tunnels without interface closed while they have no SA. */
void cw_gateway_drops(struct cw_gateway *gw);
void cw_gateway_forwarding(struct cw_gateway *gw);

/* ---- gateway_way.c ---- */

enum cw_rc cw_gateway_ways_new(struct cw_gateway *gw);
void cw_gateway_ways_free(struct cw_gateway *gw);
/* Routes of ours changed: look again soon. */
void cw_gateway_ways_touched(struct cw_gateway *gw);
void cw_gateway_ways_turn(struct cw_gateway *gw, struct cw_time now);
/* Adds the tunnel's routes, as the kernel has them now. */
void cw_gateway_ways_view(struct cw_gateway *gw, const struct slot *s, struct cw_tunnel_view *v);

/* ---- gateway_work.c ---- */

enum cw_rc cw_gateway_todo_new(struct cw_gateway *gw);
void cw_gateway_todo_free(struct cw_gateway *gw);
void cw_gateway_todo(struct cw_gateway *gw, struct slot *s, enum todo kind);
size_t cw_gateway_todo_count(const struct cw_gateway *gw, enum todo kind);
/* i < count. */
struct slot *cw_gateway_todo_at(const struct cw_gateway *gw, enum todo kind, size_t i);
/* The one that waits longest; NULL: none. */
struct slot *cw_gateway_todo_take(struct cw_gateway *gw, enum todo kind);

/* ---- gateway_bgp.c ---- */

/* Finds out which tunnels' interfaces need the address that BGP is spoken from. */
void cw_gateway_bgp_place(struct cw_gateway *gw);
/* That address, for the interface; false: none is needed. */
bool cw_gateway_bgp_addr(const struct slot *s, struct cw_prefix *ret_addr);
/* The neighbour's address, to which a host route leads; false: there is no neighbour. */
bool cw_gateway_bgp_host(const struct slot *s, struct cw_prefix *ret_host);
enum cw_rc cw_gateway_bgp_new(struct cw_gateway *gw, uint64_t seed, char *reterr, size_t size);
/* Tells the speaker which ways are there. After the routes are set. */
void cw_gateway_bgp_nets(struct cw_gateway *gw);
void cw_gateway_bgp_port(struct cw_ctl_port *port);
/* The session over one tunnel, for its view. */
void cw_gateway_bgp_view(const struct cw_gateway *gw, const struct slot *s, struct cw_view_bgp *ret_bgp);

/* ---- gateway_sample.c ---- */

/* Looks at the tunnel's SAs: are they still there, and does data that goes out come back? */
void cw_gateway_sample(struct cw_gateway *gw, struct slot *s);
/* Networks that no CHILD_SA covers though the tunnel is up; returns how many, see tunnel/cover.h. */
size_t cw_gateway_gaps(const struct cw_gateway *gw, const struct slot *s, struct cw_view_gap *ret_gaps, size_t max);
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
