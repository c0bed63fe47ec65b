/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speaker_priv: the speaker from inside; for speaker*.c alone.
 *
 * speaker.c      starts, stops, carries actions of the neighbours' machines out, slices the work
 * speaker_conn.c sockets: what comes in is framed, what goes out is queued
 * speaker_route.c UPDATEs into the RIB, changes of the RIB into the kernel and to the neighbours
 * speaker_view.c copies for the control socket
 */
#ifndef CW_DAEMON_SPEAKER_PRIV_H
#define CW_DAEMON_SPEAKER_PRIV_H

#include "bgp/bgp_out.h"
#include "bgp/bgp_peer.h"
#include "bgp/bgp_policy.h"
#include "bgp/bgp_rib.h"
#include "bgp/bgp_store.h"
#include "conf/conf.h"
#include "daemon/speaker.h"
#include "io/loop.h"
#include "io/tcp.h"
#include "nl/fib.h"

#define CONN_IN_SIZE (128u << 10)  /* at least one message of the longest kind, read many at once */
#define CONN_OUT_SIZE (128u << 10) /* UPDATEs are pulled while less than half is queued */
#define CLOSERS_MAX 64
#define CLOSER_S 2
#define ACCEPTS_A_TURN 16
#define ACCEPT_PAUSE_S 1 /* after accept() failed for want of descriptors or memory */
#define LATER_MAX 32

/* One TCP connection of a neighbour. */
struct conn {
	struct cw_speaker *speaker;
	size_t peer;	    /* index of the neighbour */
	enum cw_bgp_conn which;
	int fd;		    /* -1: none */
	unsigned generation; /* another one with each opening and closing */
	bool connecting;    /* ours, not decided yet */
	bool blocked;	    /* TCP does not take what is queued */
	bool watched_write;
	uint8_t *in, *out;  /* allocated with the connection */
	size_t n_in, out_at, n_out;
};

struct neighbour {
	const struct cw_tunnel_conf *conf;
	const char *ifname;
	uint32_t cost;
	struct cw_bgp_peer *machine;
	struct cw_bgp_out *out;
	struct cw_bgp_policy policy;
	struct cw_prefix *announce; /* owned: for the policy, sorted */
	struct cw_bgp_export export;
	uint16_t source; /* in the rib */
	struct conn conns[CW_BGP_CONNS];

	bool net_up, up;
	bool out_started;		  /* since the session is up */
	bool first_round[CW_BGP_FAMILIES]; /* is to be sent by bgp_out by itself */
	struct cw_time last_update_at;
	bool end_of_rib[CW_BGP_FAMILIES]; /* the neighbour said it */
	bool sending[CW_BGP_FAMILIES];	  /* SEND_ALL is under way */
	struct cw_fib_hop hop;		  /* ifindex 0: no device */
	bool hop_by_gateway;		  /* the device has neighbours: next hops matter */
	uint32_t told[CW_BGP_FAMILIES];	  /* by PREFIXES */

	/* faults in what it sends */
	uint64_t attrs_discarded, treated_as_withdrawn;
	char last_fault[CW_BGP_VIEW_TEXT_MAX];
	int64_t last_fault_wall_s;
	struct cw_time fault_logged_at;
	uint32_t faults_unlogged;
	bool surplus_said;
	bool loss_said; /* since the session is up */
	uint64_t refusals_logged; /* bit: this reason was said since the session is up */
};

struct listener {
	struct cw_speaker *speaker;
	struct cw_addr addr;
	int fd;
};

/* A connection that is closed from our side and waits for the other's end, so that it reads what we said last. */
struct closer {
	struct cw_speaker *speaker;
	int fd; /* -1: free */
	struct cw_time until;
};

struct cw_speaker {
	const struct cw_conf *conf;
	struct cw_loop *loop;
	uint16_t port;
	struct neighbour *v;
	size_t n;
	struct listener *listeners;
	size_t n_listeners;
	struct cw_time accept_again; /* NEVER: accepting */
	struct closer closers[CLOSERS_MAX];

	struct cw_bgp_store *store;
	struct cw_bgp_rib *rib;
	struct cw_bgp_policy_common common;
	struct cw_addr *outer; /* common.n_outer of them: cw_speaker_guard() */
	struct cw_addr *own, *peers; /* one per neighbour */
	size_t n_sources; /* site_of() */
	const struct cw_site_conf **site_of; /* by source */
	uint32_t *aggregate_parts; /* learned routes inside each aggregate */

	struct cw_fib *fib;
	uint32_t cached_group; /* of cached_hops; one use is held */
	struct cw_fib_hop cached_hops[CW_BGP_MULTIPATH_MAX];
	size_t n_cached_hops;
	enum cw_family cached_family;
	bool resync, fib_dirty;
	bool fib_failed_logged;
	struct cw_time foreign_logged_at;
	bool retrying;
	struct cw_time retry_at; /* what the kernel refused is tried again; NEVER: nothing is refused */
	size_t adopted;
	struct cw_time sweep_at; /* adopted routes that nobody claimed go; NEVER: done */

	int accepted_fd; /* what ACCEPT or REFUSE is about; -1: nothing */
	struct cw_time unknown_logged_at; /* a stranger connected */
	int mrt_fd; /* -1: none */
	uint8_t *mrt;
	size_t n_mrt;
	bool stopping;

	/* Events that came while a machine was being stepped: they carry no octets. */
	bool stepping;
	struct {
		size_t peer;
		struct cw_bgp_event ev;
	} later[LATER_MAX];
	size_t n_later;

	/* one turn's scratch; large */
	struct cw_bgp_actions actions;
	struct cw_bgp_update update;
	uint8_t attrs[CW_BGP_MSG_EXTENDED_MAX];
};

/* ---- speaker.c ---- */

/* Gives a neighbour's machine an event and carries out what it asks for. */
void cw_speaker_step(struct cw_speaker *sp, size_t peer, const struct cw_bgp_event *ev);
struct cw_time cw_speaker_now(const struct cw_speaker *sp);

/* ---- speaker_conn.c ---- */

enum cw_rc cw_speaker_listen(struct cw_speaker *sp, char *reterr, size_t size);
/* Accepts again after a pause. */
void cw_speaker_listeners_turn(struct cw_speaker *sp, struct cw_time now);
void cw_speaker_conn_connect(struct cw_speaker *sp, size_t peer);
/* Takes an accepted socket over as theirs. */
void cw_speaker_conn_take(struct cw_speaker *sp, size_t peer, int fd);
void cw_speaker_conn_send(struct cw_speaker *sp, struct conn *c, struct cw_span bytes);
/* Writes what is queued, pulls more UPDATEs as there is room. True: it could go on at once. */
bool cw_speaker_conn_pump(struct cw_speaker *sp, struct conn *c);
/* discard: with RST, whatever is queued. */
void cw_speaker_conn_close(struct cw_speaker *sp, struct conn *c, bool discard);
/* Closes our half and waits a little for the other: the peer reads what we said last. */
void cw_speaker_close_gently(struct cw_speaker *sp, int fd);
void cw_speaker_closers_turn(struct cw_speaker *sp, struct cw_time now, bool all);
struct cw_time cw_speaker_closers_due(const struct cw_speaker *sp);

/* ---- speaker_route.c ---- */

enum cw_rc cw_speaker_routes_new(struct cw_speaker *sp, char *reterr, size_t size);
void cw_speaker_routes_free(struct cw_speaker *sp);
enum cw_rc cw_speaker_watch_fib(struct cw_speaker *sp);
/* An UPDATE of an established session. */
void cw_speaker_on_update(struct cw_speaker *sp, size_t peer, struct cw_span body);
/* The session came up, went, or its routes are to be marked or swept. */
void cw_speaker_on_up(struct cw_speaker *sp, size_t peer);
void cw_speaker_on_down(struct cw_speaker *sp, size_t peer, const bool *keep);
/* marked: between RFC 7313's marks. */
void cw_speaker_send_all(struct cw_speaker *sp, size_t peer, enum cw_bgp_family family, bool marked);
/* The way to a neighbour came or went: its device is looked up. */
void cw_speaker_on_net(struct cw_speaker *sp, size_t peer);
/* A slice of work. Returns true where more waits. */
bool cw_speaker_work(struct cw_speaker *sp, struct cw_time now);

/* ---- MRT (speaker_mrt.c) ---- */

void cw_speaker_mrt_open(struct cw_speaker *sp);
void cw_speaker_mrt_message(struct cw_speaker *sp, size_t peer, struct cw_span message);
void cw_speaker_mrt_state(struct cw_speaker *sp, size_t peer, enum cw_bgp_state from, enum cw_bgp_state to);
void cw_speaker_mrt_flush(struct cw_speaker *sp);
void cw_speaker_mrt_close(struct cw_speaker *sp);

#endif
