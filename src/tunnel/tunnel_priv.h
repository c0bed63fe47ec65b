/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel_priv: the tunnel object from inside; for tunnel*.c alone.
 *
 * tunnel_sas.c keeps the two sets (what the engine has), tunnel_fsm.c decides (what to ask for),
 * tunnel.c makes, frees and shows.
 */
#ifndef CW_TUNNEL_TUNNEL_PRIV_H
#define CW_TUNNEL_TUNNEL_PRIV_H

#include "conf/conf.h"
#include "tunnel/tunnel.h"

/* More IKE_SAs than this for one tunnel are closed unseen: a peer can't grow the set. */
#define CW_TUNNEL_IKES_MAX 8

enum want { WANT_DOWN, WANT_LISTEN, WANT_UP };

/* What this side is doing about an IKE_SA of its own. */
enum activity { ACT_IDLE, ACT_RESOLVING, ACT_CONNECTING, ACT_WAITING };

struct ike_entry {
	struct cw_ike_sa_info info;
	struct cw_time info_at;	 /* when info was true */
	struct cw_time known_at; /* first heard of under this id */
	struct cw_time seen_at;	 /* last snapshot that showed it */
	struct cw_time up_at;	 /* established; kept over rekeys; meaningless while connecting */
	struct cw_time close_at; /* closing: when to ask again, harder */
	bool closing;		 /* we asked for its end */
	bool initial_contact;	 /* the peer said that it has no other */
};

struct child_entry {
	struct cw_child_info info;
	struct cw_time info_at, known_at, seen_at;
};

struct cw_tunnel {
	const struct cw_tunnel_conf *conf;
	uint32_t index, generation, pairs;
	uint64_t random;

	/* Written by enter() alone. */
	enum cw_tunnel_state state;
	struct cw_time since;
	enum cw_cause cause;
	struct step {
		struct cw_time at;
		enum cw_tunnel_state from, to;
		enum cw_cause cause;
	} history[CW_VIEW_HISTORY_MAX]; /* newest at history[n_steps - 1 mod MAX] */
	size_t n_steps;

	enum want want;
	bool started, stopping, restarting;
	bool engine_set; /* the engine knows us and answers the peer */

	enum activity activity;
	struct cw_time act_at;	/* when it began */
	struct cw_time act_due; /* WAITING: next try; RESOLVING, CONNECTING: when to doubt */
	uint32_t failures;	/* tries that came to nothing since it was last well up */
	unsigned missing;	/* snapshots in a row that did not show our attempt */

	uint32_t child_failures;
	struct cw_time child_due; /* missing children are asked for again then */

	struct cw_time dup_at; /* two established IKE_SAs: decide then; NEVER: there is one */

	struct cw_addr remote, local;

	struct ike_entry ikes[CW_TUNNEL_IKES_MAX];
	size_t n_ikes;
	struct child_entry *children; /* room for max_children */
	size_t n_children, max_children;

	/* The story */
	enum cw_cause why;	       /* of the newest loss or failure that is not mended */
	char detail[CW_IKE_TEXT_MAX];
	enum cw_cause last_error;
	char last_error_detail[CW_IKE_TEXT_MAX];
	struct cw_time last_error_at;
	enum cw_cause last_rekey_error;
	char last_rekey_detail[CW_IKE_TEXT_MAX];
	enum cw_cause logged_cause; /* of the newest failure line, to say the same only once */
	struct cw_time logged_at;
	struct cw_time peer_failure_logged_at;
	bool carrying;		/* as told by the last CW_TA_CARRYING */
	uint32_t carrying_pairs; /* how many pairs did */
	uint32_t times_up;
	uint64_t gone_bytes_in, gone_bytes_out, gone_packets_in, gone_packets_out; /* of children that went */
};

/* ---- tunnel_sas.c ---- */

struct ike_entry *cw_tunnel_ike_find(struct cw_tunnel *t, uint32_t ike_id);
/* Adds or refreshes; NULL when the set is full. ret_new: it was not known. */
struct ike_entry *cw_tunnel_ike_put(struct cw_tunnel *t, const struct cw_ike_sa_info *info,
				    struct cw_time now, bool *ret_new);
/* Removes an IKE_SA with its children. */
void cw_tunnel_ike_drop(struct cw_tunnel *t, uint32_t ike_id);
/* The established ones that we don't close. */
size_t cw_tunnel_ike_live(const struct cw_tunnel *t);
/* The one that counts among them (rule in tunnel.h), or NULL. */
struct ike_entry *cw_tunnel_ike_pick(struct cw_tunnel *t);

struct child_entry *cw_tunnel_child_find(struct cw_tunnel *t, uint32_t child_id);
struct child_entry *cw_tunnel_child_put(struct cw_tunnel *t, const struct cw_child_info *info,
					struct cw_time now);
void cw_tunnel_child_drop(struct cw_tunnel *t, uint32_t child_id);
bool cw_tunnel_child_live(const struct child_entry *c);
uint32_t cw_tunnel_pairs_carrying(const struct cw_tunnel *t);

#endif
