/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speaker: BGP as the daemon runs it: owns sockets, sessions, routes and the learned part of the kernel's
 * routing table, and carries out what the pure parts of src/bgp ask for.
 *
 * Wiring, no rules of its own. Bytes go from a socket to the codec, to the neighbour's machine and to the RIB; a
 * changed prefix goes to the kernel (nl/fib.h) and to what each neighbour is to be told (bgp/bgp_out.h). Work that
 * can be long is done in slices, so that no turn of the loop takes more than a few milliseconds.
 *
 * Loop thread only. One neighbour for each tunnel with a bgp-peer.
 */
#ifndef CW_DAEMON_SPEAKER_H
#define CW_DAEMON_SPEAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/rc.h"
#include "base/time.h"
#include "bgp/bgp_peer.h"
#include "bgp/bgp_route_view.h"

struct cw_conf;
struct cw_loop;
struct cw_speaker;
struct cw_tunnel_conf;

/* A way to a neighbour. */
struct cw_speaker_tunnel {
	const struct cw_tunnel_conf *conf; /* with a bgp.peer; borrowed */
	const char *ifname;		   /* of the interface that leads there; borrowed */
	uint32_t cost;			   /* of this tunnel among others; lower is preferred */
};

struct cw_speaker_parts {
	const struct cw_conf *conf; /* borrowed, as the loop */
	struct cw_loop *loop;
	const struct cw_speaker_tunnel *tunnels; /* copied */
	size_t n_tunnels;
	uint16_t port;	 /* CW_BGP_PORT, but in tests */
	uint64_t seed;
};

/*
 * Listens, takes over the learned routes that an earlier run left. On failure reterr has a sentence and nothing
 * is left.
 */
enum cw_rc cw_speaker_new(const struct cw_speaker_parts *parts, struct cw_speaker **ret_speaker,
			  char *reterr, size_t size);

/* Ends the sessions (Cease 6/2), takes every learned route out of the kernel, frees. NULL is fine. */
void cw_speaker_free(struct cw_speaker *speaker);

/* The tunnel began or stopped to carry traffic. i: its place in parts.tunnels. */
void cw_speaker_net(struct cw_speaker *speaker, size_t i, bool up);

/*
 * Addresses of the far ends of all tunnels outside, those without a neighbour too: no learned route may lead
 * packets to them into a tunnel. Copied; routes that are held already are judged by the new ones. Cheap where they
 * are the same as last time.
 */
void cw_speaker_guard(struct cw_speaker *speaker, const struct cw_addr *outer, size_t n);

/* Once a turn: timers, slices of work, what is to be written. Returns the next deadline. */
struct cw_time cw_speaker_turn(struct cw_speaker *speaker, struct cw_time now);

/* ---- for the control socket ---- */

size_t cw_speaker_count(const struct cw_speaker *speaker);
void cw_speaker_view(const struct cw_speaker *speaker, size_t i, struct cw_bgp_neighbour_view *ret_view);

/* name: a tunnel's, or the neighbour's address. CW_E_NOT_FOUND: there is none. */
enum cw_rc cw_speaker_find(const struct cw_speaker *speaker, const char *name, size_t *ret_i);
void cw_speaker_reset(struct cw_speaker *speaker, size_t i, enum cw_bgp_reset reset);

/*
 * Routes in order, in pages. query->after: where the last page ended. fn is called for each route; it must not
 * call the speaker. Returns whether there are more, and where this page ended in query->after.
 */
bool cw_speaker_routes(struct cw_speaker *speaker, struct cw_bgp_route_query *query,
		       void (*fn)(void *arg, const struct cw_bgp_route_view *view), void *arg);

#endif
