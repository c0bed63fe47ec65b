/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel_priv: the tunnel object from inside; for tunnel*.c alone.
 *
 * tunnel_sas.c keeps the two sets (what the engine has), tunnel_hear.c fills them from what the engine
 * reports, tunnel_fsm.c decides (what to ask for), tunnel_repair.c looks after children that bring nothing
 * back, tunnel_say.c words it for the log, tunnel.c makes, frees and shows.
 */
#ifndef CW_TUNNEL_TUNNEL_PRIV_H
#define CW_TUNNEL_TUNNEL_PRIV_H

#include "conf/conf.h"
#include "tunnel/tunnel.h"

/* More IKE_SAs than this for one tunnel are closed unseen: a peer can't grow the set. */
#define CW_TUNNEL_IKES_MAX 8

/* Up for longer than this, a loss is a new story: tried at once, counted and logged from the start. */
#define CW_TUNNEL_WELL_UP_US 10000000

#define CW_TUNNEL_ORDER_LAG_S 2	   /* an order to the engine has had its effect after so long */
#define CW_TUNNEL_ATTEMPT_DOUBT_S 10 /* an attempt that says nothing: look whether it is still there */
#define CW_TUNNEL_UNSEEN_MAX 2	   /* so many snapshots after that do not show it: it is not */
#define CW_TUNNEL_CLOSE_PATIENCE_S 4 /* a DELETE without an answer: don't wait any longer */
#define CW_TUNNEL_CHILD_GRACE_MS 2000 /* the children that come with the IKE_SA */
#define CW_TUNNEL_CHILD_GUARD_S 12    /* an asked-for child that says nothing */
#define CW_TUNNEL_CHILD_DUP_S 5 /* two children of one pair for longer than a rekey takes: one is too many */

enum want { WANT_DOWN, WANT_LISTEN, WANT_UP };

/* What this side is doing about an IKE_SA of its own. */
enum activity {
	ACT_IDLE,
	ACT_RESOLVING,
	ACT_CONNECTING,
	ACT_WAITING,
	ACT_ABANDONING, /* an attempt that is not wanted any more, but that the engine may still have */
};

struct ike_entry {
	struct cw_ike_sa_info info;
	struct cw_time info_at;	 /* when info was true */
	struct cw_time known_at; /* first heard of under this id */
	struct cw_time seen_at;	 /* last snapshot that showed it */
	struct cw_time up_at;	 /* established; kept over rekeys; meaningless while connecting */
	uint64_t first_spi_i;	 /* spi_i and initiator of the first of its line; kept over rekeys */
	bool first_initiator;
	struct cw_time close_at; /* closing: when to ask again, harder */
	bool closing;		 /* we asked for its end */
	bool initial_contact;	 /* the peer said that it has no other */
};

struct child_entry {
	struct cw_child_info info;
	struct cw_time info_at, known_at, seen_at;
	struct cw_time line_at; /* when the first of its line was made; kept over rekeys */
	uint64_t sampled_in, sampled_out; /* packets, as of the last sample of the kernel's counters */
};

/* One wanted selector pair. */
struct pair_entry {
	bool carries;	      /* a live child */
	bool told;	      /* carries, as of the last CW_TA_CARRYING */
	bool kept;	      /* a live child on an IKE_SA that we don't close */
	uint32_t installed;   /* how many on the primary IKE_SA; more than one is one too many */
	struct cw_time due;   /* missing: ask for it then; NEVER: not missing */
	bool coming;	      /* it was asked for, or comes with the IKE_SA: due is for doubt only */
	uint32_t tries;	      /* asked for, since it was last well up */

	/* tunnel_repair.c */
	struct cw_time quiet_since;  /* the first packet out that none has come in after; NEVER: none */
	struct cw_time quiet_out_at; /* the last one */
	uint64_t quiet_packets;	     /* how many */
	uint32_t repairs;	     /* rekeys since something came in */
	struct cw_time repair_at;    /* of the last; NEVER: none yet */
};

/* Ids whose end the engine has told, newest over oldest. The engine never uses an id again, so a
 * snapshot record that was written before the end and read after it can't bring one back. */
#define CW_TUNNEL_GONE_MAX 16

struct gone_ids {
	uint32_t v[CW_TUNNEL_GONE_MAX];
	size_t n; /* ever added */
};

struct cw_tunnel {
	const struct cw_tunnel_conf *conf;
	uint32_t index, generation, pairs;
	uint64_t random;

	/* Written by enter() alone. */
	enum cw_tunnel_state state;
	struct cw_time since;
	struct cw_time up_since; /* when it was last entered UP */
	enum cw_cause cause;
	struct step {
		struct cw_time at;
		enum cw_tunnel_state from, to;
		enum cw_cause cause;
	} history[CW_VIEW_HISTORY_MAX]; /* newest at history[n_steps - 1 mod MAX] */
	size_t n_steps;

	enum want want;
	bool started, stopping;
	bool engine_set; /* the engine may know us, and then answers the peer */

	enum activity activity;
	struct cw_time act_at;	/* when it began; ABANDONING: when the attempt began */
	struct cw_time act_due; /* WAITING: next try; IDLE: LISTEN's next look-up; else when to doubt */
	uint32_t unseen;	/* CONNECTING: snapshots in a row, none too early, that did not show the attempt */
	uint32_t failures;	/* tries that came to nothing since it was last well up */

	struct cw_time dup_at;	     /* two established IKE_SAs: decide then; NEVER: there is one */
	struct cw_time child_dup_at; /* two children of one pair: look at them then; NEVER: there is one */
	bool child_dup_asked;	     /* the snapshot to decide on is on its way */
	struct rounds {
		uint32_t n;	   /* how often it was decided */
		struct cw_time at; /* the last time */
	} dup_rounds, child_dup_rounds;
	bool more;		     /* the last step had more to ask for than its list could hold */
	struct cw_time stepped_at;

	struct cw_addr remote, local;

	struct ike_entry ikes[CW_TUNNEL_IKES_MAX];
	size_t n_ikes;
	struct child_entry *children; /* room for max_children */
	size_t n_children, max_children;
	struct pair_entry *pair; /* pairs of them */
	struct gone_ids gone_ikes, gone_children;
	uint32_t contact_id; /* INITIAL_CONTACT was said on it before it was up */

	/* The story */
	enum cw_cause why;	       /* of the newest loss or failure that is not mended */
	bool why_is_child;	   /* it is about a child, not about the IKE_SA */
	char detail[CW_IKE_TEXT_MAX];
	enum cw_cause last_error;
	char last_error_detail[CW_IKE_TEXT_MAX];
	struct cw_time last_error_at;
	enum cw_cause last_rekey_error;
	bool last_rekey_is_child;
	char last_rekey_detail[CW_IKE_TEXT_MAX];
	struct cw_time said_at[CW_CAUSE_COUNT]; /* when a failure was last said aloud; NEVER: not yet */
	bool said_up; /* the newest word on it was "up" */
	struct cw_time rekey_said_at, peer_said_at, ike_rekeyed_said_at, child_rekeyed_said_at;
	uint32_t times_up;
	uint64_t gone_bytes_in, gone_bytes_out, gone_packets_in, gone_packets_out; /* of children that went */
};

/* ---- tunnel.c ---- */

/* Is our identity a private address, while the peer's address is not? */
bool cw_tunnel_private_id(const struct cw_tunnel *t);

/* ---- tunnel_sas.c ---- */

struct ike_entry *cw_tunnel_ike_find(struct cw_tunnel *t, uint32_t ike_id);
/* Adds or refreshes; NULL when the set is full. ret_new: it was not known. */
struct ike_entry *cw_tunnel_ike_put(struct cw_tunnel *t, const struct cw_ike_sa_info *info,
				    struct cw_time now, bool *ret_new);
/* Removes an IKE_SA, if it is known, and its children. */
void cw_tunnel_ike_drop(struct cw_tunnel *t, uint32_t ike_id);
/* The established ones that we don't close. */
size_t cw_tunnel_ike_live(const struct cw_tunnel *t);
/* The one that counts among them (rule in tunnel.h), or NULL. */
const struct ike_entry *cw_tunnel_ike_best(const struct cw_tunnel *t);
struct ike_entry *cw_tunnel_ike_pick(struct cw_tunnel *t); /* the same, to change it */
/* Were the two made at once by both ends, neither knowing of the other's? */
bool cw_tunnel_ike_crossed(const struct ike_entry *a, const struct ike_entry *b);
/* Is one on its way out because we asked? */
bool cw_tunnel_ike_closing(const struct cw_tunnel *t);

struct child_entry *cw_tunnel_child_find(struct cw_tunnel *t, uint32_t child_id);
struct child_entry *cw_tunnel_child_put(struct cw_tunnel *t, const struct cw_child_info *info,
					struct cw_time now);
void cw_tunnel_child_drop(struct cw_tunnel *t, uint32_t child_id);
bool cw_tunnel_child_live(const struct child_entry *c);
/* Does a stay rather than b, two children of one pair? Both ends come to the same answer. */
bool cw_tunnel_child_wins(const struct child_entry *a, const struct child_entry *b, uint8_t ike_version);
/* Sets carries, kept and installed of every pair. Returns how many pairs carry. */
uint32_t cw_tunnel_pairs_refresh(struct cw_tunnel *t);

void cw_tunnel_gone_add(struct gone_ids *g, uint32_t id);
bool cw_tunnel_gone_has(const struct gone_ids *g, uint32_t id);

/* ---- tunnel_fsm.c ---- */

void cw_tunnel_set_error(struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now);
/* Why it is where it is; an error too unless somebody wanted it so. */
void cw_tunnel_set_why(struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now);
void cw_tunnel_act(struct cw_tunnel *t, enum activity activity, struct cw_time now, struct cw_time due);
/* Counts a failed try and sets the next. */
void cw_tunnel_pause(struct cw_tunnel *t, enum cw_cause cause, const char *detail, struct cw_time now);
/* An attempt of ours came to its end without an IKE_SA. */
void cw_tunnel_attempt_failed(struct cw_tunnel *t, enum cw_cause cause, const char *detail,
			      struct cw_time now, struct cw_tunnel_actions *out);
/* Orders the end of an IKE_SA; without force and an answer, again later with force. */
void cw_tunnel_close_ike(struct ike_entry *e, bool force, struct cw_time now, struct cw_tunnel_actions *out);
/* Adds an action on an SA. */
void cw_tunnel_order(struct cw_tunnel_actions *out, enum cw_tunnel_action_kind kind, uint32_t id);
/* How long children may take to come by themselves. The initiator of the IKE_SA brings them along; the
 * responder gives it twice the time. */
int64_t cw_tunnel_child_grace_ms(const struct cw_ike_sa_info *ike);
/* One more decision about duplicates. */
void cw_tunnel_round_add(struct rounds *r, struct cw_time now);
/* Is there room for orders beside what ends a step? */
bool cw_tunnel_has_room(const struct cw_tunnel_actions *out);

/* ---- tunnel_hear.c ---- */

void cw_tunnel_hear_event(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
			  struct cw_tunnel_actions *out);
void cw_tunnel_hear_snapshot(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
			     struct cw_tunnel_actions *out);
void cw_tunnel_hear_snapshot_end(struct cw_tunnel *t, struct cw_time poll_at, struct cw_time now,
				 struct cw_tunnel_actions *out);

/* ---- tunnel_repair.c ---- */

/* A sample of the kernel's counters of a child. */
void cw_tunnel_repair_note(struct cw_tunnel *t, struct child_entry *c, uint64_t packets_in,
	uint64_t packets_out, struct cw_time now);
/* When a child is to be rekeyed; NEVER: none. */
struct cw_time cw_tunnel_repair_due(const struct cw_tunnel *t);
/* Rekeys those that are due; ike: the one that counts. */
void cw_tunnel_repair_settle(struct cw_tunnel *t, const struct cw_ike_sa_info *ike, struct cw_time now,
	struct cw_tunnel_actions *out);

/* ---- tunnel_say.c ---- */

/* An empty action of the kind; NULL, and `full` set, when the list has no room. */
struct cw_tunnel_action *cw_tunnel_add(struct cw_tunnel_actions *out, enum cw_tunnel_action_kind kind);

/* A try came to nothing; t has the cause and the next try. */
void cw_tunnel_say_try_failed(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out);
void cw_tunnel_say_child_refused(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out);
/* A child went while the IKE_SA stays; it is being asked for again. */
void cw_tunnel_say_child_lost(struct cw_tunnel *t, struct cw_time now, struct cw_tunnel_actions *out);
void cw_tunnel_say_peer_failed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
			       struct cw_tunnel_actions *out);
/* again: the newest rekey failed for the same cause. */
void cw_tunnel_say_rekey_failed(struct cw_tunnel *t, const struct cw_ike_event *ev, bool again,
				struct cw_time now, struct cw_tunnel_actions *out);
/* A rekey of either kind worked. */
void cw_tunnel_say_rekeyed(struct cw_tunnel *t, const struct cw_ike_event *ev, struct cw_time now,
			   struct cw_tunnel_actions *out);
void cw_tunnel_say_duplicate(const struct ike_entry *closed, const struct ike_entry *kept,
			     struct cw_tunnel_actions *out);
void cw_tunnel_say_repair(
	const struct pair_entry *p, struct cw_time now, struct cw_tunnel_actions *out);
void cw_tunnel_say_narrowed(const struct cw_child_info *child, struct cw_tunnel_actions *out);
/* The state has moved; t->since is still when `from` began. */
void cw_tunnel_say_move(struct cw_tunnel *t, enum cw_tunnel_state from, struct cw_time now,
			struct cw_tunnel_actions *out);
/* What failed before is news again. */
void cw_tunnel_say_anew(struct cw_tunnel *t);

/* States in which nothing is up and we are on our way; moving among them is no news. */
bool cw_tunnel_is_trying(enum cw_tunnel_state s);

#endif
