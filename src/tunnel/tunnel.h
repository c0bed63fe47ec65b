/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel: one object per configured tunnel, with its whole story, and the machine that drives it.
 *
 * Pure: cw_tunnel_step() takes an event and the time, changes the object and appends what is to be done
 * to a bounded list; it calls nobody, so no action can free what is being stepped. All moves of the
 * state pass one gate (enter() in tunnel_fsm.c), which records since when and why. Loop thread only.
 *
 * How it works. The state is not moved by events, it is derived: events and snapshots keep a set of the
 * IKE_SAs and CHILD_SAs that the engine has for this tunnel, orders set what is wanted, and after
 * each event settle() compares the two and asks for the difference. A lost event is therefore only a
 * delay: the next snapshot shows the truth and settle() acts on it.
 *
 *   wanted UP, nothing there      resolve, then initiate; on failure pause (base/backoff.h) and again, for ever
 *   wanted UP, IKE_SA, no child   ask for the missing children; if none at all can be had, make the IKE_SA
 *                                 anew, but never give up a pair that carries for one that does not
 *   two IKE_SAs established       keep one, close the others with DELETE:
 *                                 - made within CROSSING of each other by different initiators: the one with
 *                                   the lower initiator SPI, which both ends know, so both keep the same;
 *                                 - otherwise the newer: the peer has likely forgotten the older. If it says
 *                                   so (INITIAL_CONTACT) the older goes at once and without DELETE.
 *                                 After a short while only, so that an IKEv1 reauthentication can move
 *                                 its children and a crossing second IKE_SA can appear; and after longer
 *                                 and longer if the peer makes another one each time.
 *   two children of one pair      keep one likewise, after a snapshot has shown both
 *   a pair's data goes out and    rekey its child, in case the peer has lost it; seldom, see tunnel_repair.c
 *   none comes back
 *   wanted DOWN                   close everything, an attempt too, and make the engine refuse the peer
 *   restart                       the same without the refusing, then wanted UP
 *   wanted LISTEN                 let the peer come (start = false)
 *
 * An IKE_SA that is closing at our wish is seen to its end (with force after a while) before a new one is
 * begun. An attempt has no id before a snapshot shows it, so its end is asked for when one does.
 *
 * Ownership: conf is borrowed and must outlive the object.
 */
#ifndef CW_TUNNEL_TUNNEL_H
#define CW_TUNNEL_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/time.h"
#include "tunnel/ike_port.h"
#include "tunnel/tunnel_view.h"

struct cw_tunnel;
struct cw_tunnel_conf;

enum cw_tunnel_event_kind {
	CW_TEV_START,	     /* the daemon is ready: begin as configured */
	CW_TEV_UP,	     /* order: be up */
	CW_TEV_DOWN,	     /* order: be down until UP or RESTART */
	CW_TEV_RESTART,	     /* order: close, then up at once */
	CW_TEV_STOP,	     /* the daemon stops */
	CW_TEV_RESOLVED,     /* remote, local: the addresses to use now */
	CW_TEV_RESOLVE_FAILED, /* cause, detail */
	CW_TEV_IKE,	     /* ike: an event of the engine but SNAPSHOT */
	CW_TEV_SNAPSHOT,     /* ike: one snapshot record of this tunnel */
	CW_TEV_SNAPSHOT_END, /* the poll ordered at poll_at is complete; what it did not show is gone. Not to be
			      * given if a letter was lost since poll_at: it may have been a record */
	CW_TEV_CHILD_BROKEN, /* child_id: installed for the engine, but its SA is not in the kernel */
	CW_TEV_SILENCE,	     /* data goes out and none comes back */
	CW_TEV_KERNEL_FAILED, /* the interface can't be made; detail */
	CW_TEV_ENGINE_REFUSED, /* ENGINE_SET did not work, so INITIATE was not tried; cause, detail */
	CW_TEV_TIMER,	     /* a deadline of cw_tunnel_next_due() is reached */
};

struct cw_tunnel_event {
	enum cw_tunnel_event_kind kind;
	struct cw_addr remote, local;
	enum cw_cause cause;
	const char *detail; /* NULL: none */
	const struct cw_ike_event *ike;
	struct cw_time poll_at;
	uint32_t child_id;
};

enum cw_tunnel_action_kind {
	CW_TA_RESOLVE,	       /* find the peer's address, answer with RESOLVED or RESOLVE_FAILED */
	CW_TA_ENGINE_SET,      /* make the engine know the tunnel with remote and local */
	CW_TA_ENGINE_REMOVE,   /* make it forget: the peer is refused */
	CW_TA_INITIATE,	       /* pair */
	CW_TA_TERMINATE_IKE,   /* id, force */
	CW_TA_TERMINATE_CHILD, /* id */
	CW_TA_REKEY_CHILD,     /* id */
	CW_TA_CHECK_ALIVE,     /* id: of the IKE_SA */
	CW_TA_POLL,	       /* ask the engine for a snapshot soon */
	CW_TA_CARRYING,	       /* cw_tunnel_pair_carries() changed for some pair: set routes right */
	CW_TA_LOG,	       /* level, log_id, text */
};

#define CW_TUNNEL_TEXT_MAX 512

struct cw_tunnel_action {
	enum cw_tunnel_action_kind kind;
	uint32_t id, pair;
	bool force;
	enum cw_log_level level;
	enum cw_log_id log_id;
	char text[CW_TUNNEL_TEXT_MAX];
};

/* What one step may ask for. A step that wants more sets `full`, and cw_tunnel_next_due() is at once: the rest
 * comes with the next TIMER. */
#define CW_TUNNEL_ACTIONS_MAX 16

struct cw_tunnel_actions {
	struct cw_tunnel_action v[CW_TUNNEL_ACTIONS_MAX];
	size_t n;
	bool full;
};

/*
 * A tunnel in state DOWN; START begins. pairs: CHILD_SAs wanted (1 for any-any). seed: for jitter; any
 * value. NULL when memory is out.
 */
struct cw_tunnel *cw_tunnel_new(const struct cw_tunnel_conf *conf, uint32_t index, uint32_t generation,
				uint32_t pairs, uint64_t seed, struct cw_time now);
void cw_tunnel_free(struct cw_tunnel *tunnel);

void cw_tunnel_step(struct cw_tunnel *tunnel, const struct cw_tunnel_event *ev, struct cw_time now,
		    struct cw_tunnel_actions *out);

/* When TIMER is due at the latest; CW_TIME_NEVER when nothing is awaited. */
struct cw_time cw_tunnel_next_due(const struct cw_tunnel *tunnel);

const struct cw_tunnel_conf *cw_tunnel_conf(const struct cw_tunnel *tunnel);
uint32_t cw_tunnel_generation(const struct cw_tunnel *tunnel);
enum cw_tunnel_state cw_tunnel_state(const struct cw_tunnel *tunnel);
/* Does at least one CHILD_SA carry traffic? Stays true over rekeys. */
bool cw_tunnel_carries(const struct cw_tunnel *tunnel);
/* The same for one selector pair. */
bool cw_tunnel_pair_carries(const struct cw_tunnel *tunnel, uint32_t pair);
/* No IKE_SA, no CHILD_SA, no attempt. */
bool cw_tunnel_is_idle(const struct cw_tunnel *tunnel);

/* The addresses in use; family NONE before the first RESOLVED. */
struct cw_addr cw_tunnel_remote(const struct cw_tunnel *tunnel);
struct cw_addr cw_tunnel_local(const struct cw_tunnel *tunnel);

/* The IKE_SA that counts (see above), or NULL. Valid until the next step. */
const struct cw_ike_sa_info *cw_tunnel_primary(const struct cw_tunnel *tunnel);
/* The children the tunnel has; valid until the next step. */
size_t cw_tunnel_children(const struct cw_tunnel *tunnel);
const struct cw_child_info *cw_tunnel_child(const struct cw_tunnel *tunnel, size_t i);

/* Counters of a child, read from the kernel just now; kept with it and summed when it goes. To be given
 * every few seconds: they show what brings nothing back, see above. */
void cw_tunnel_child_counters(struct cw_tunnel *tunnel, uint32_t child_id, uint64_t bytes_in,
			      uint64_t packets_in, uint64_t bytes_out, uint64_t packets_out,
			      struct cw_time now);

/* Fills what the tunnel knows; interface and routes are the daemon's to add. wall_us:
 * now, for people, in microseconds since 1970. */
void cw_tunnel_view(const struct cw_tunnel *tunnel, struct cw_time now, int64_t wall_us,
		    struct cw_tunnel_view *ret_view);

#endif
