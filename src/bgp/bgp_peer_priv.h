/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_peer_priv: the session from inside; for bgp_peer.c, bgp_fsm.c, bgp_order.c, bgp_conn.c, bgp_open.c,
 * bgp_restart.c and bgp_say.c alone.
 *
 * bgp_fsm.c takes events and timers, and has the gate through which the state moves. bgp_order.c carries
 * out what people and settings want. bgp_conn.c has the two connections: messages by state, collision, and
 * the ways a connection ends. bgp_open.c makes our OPEN and judges the peer's. bgp_restart.c has what is
 * kept over the end of a session and what is sent again. bgp_say.c words it. bgp_peer.c makes, frees and
 * shows.
 */
#ifndef CW_BGP_BGP_PEER_PRIV_H
#define CW_BGP_BGP_PEER_PRIV_H

#include "bgp/bgp_peer.h"

#define CW_BGP_OPEN_HOLD_S 240	  /* RFC 4271 8.2.2: a large hold time until the peer's is known */
#define CW_BGP_SEND_HOLD_MIN_S 480 /* RFC 9687 4 */
#define CW_BGP_LONG_STABLE 60	  /* times stable_s: then a bad message and a tripped limit are forgotten too */
#define CW_BGP_SAME_BAD_CAP 10	  /* times idle_hold_max_s */
#define CW_BGP_TRIPS_MAX_S 86400  /* longest pause after a limit tripped */
#define CW_BGP_RESTARTED_MIN_S 5  /* a second connection sooner than this is a collision, not a restart */
#define SAID_MAX 4

enum phase { /* of a connection */
	PH_NONE,
	PH_CONNECTING,
	PH_WAITING, /* TCP is up, our OPEN is held back */
	PH_OPEN_SENT,
	PH_OPEN_CONFIRM,
	PH_ESTABLISHED,
};

struct conn {
	enum phase phase;
	bool blocked;	  /* TCP takes nothing */
	bool has_open;	  /* open is the peer's; in WAITING it is kept until we may answer it */
	bool plain;	  /* our OPEN had no capabilities */
	struct cw_bgp_open open;
	uint32_t hold_s;	  /* agreed, from OPEN_CONFIRM on */
	struct cw_time open_due;  /* WAITING: DelayOpen; NEVER: the other connection decides */
	struct cw_time hold_due, keepalive_due, send_due;
};

enum stale { STALE_NONE, STALE_SESSION, STALE_REFRESH };

struct family_state {
	bool agreed;
	uint32_t prefixes;
	bool warned;
	bool eor_in;
	bool sending, again; /* SEND_ALL: runs; once more after it */
	bool deferred;
	enum stale stale;
	struct cw_time stale_due;
};

struct kept_notification {
	bool present, hard;
	struct cw_time at;
	uint8_t code, subcode;
	uint8_t data[CW_BGP_VIEW_DATA_MAX];
	size_t n_data;
	char text[CW_BGP_VIEW_TEXT_MAX];
};

struct cw_bgp_peer {
	struct cw_bgp_peer_conf conf;
	uint64_t random;

	/* Written by the gate alone. */
	enum cw_bgp_state state;
	struct cw_time since;
	struct step {
		struct cw_time at;
		enum cw_bgp_state from, to;
		enum cw_bgp_cause cause;
	} history[CW_BGP_VIEW_HISTORY_MAX]; /* newest at history[n_steps - 1 mod MAX] */
	size_t n_steps;

	enum cw_bgp_wait wait;
	bool started, net_down;
	struct conn conn[CW_BGP_CONNS];
	struct cw_time retry_due; /* ConnectRetryTimer */
	struct cw_time idle_due;  /* wait is PAUSE or PREFIXES; NEVER: an order ends it */

	/* trouble */
	uint32_t failures;
	uint64_t bad_hash; /* of the last bad message; 0: none */
	uint32_t same_bad;
	bool plain_next;	/* the peer can't take capabilities: RFC 5492 3 */
	uint32_t trips;		/* of the prefix limit */
	enum cw_bgp_family trip_family;
	uint32_t trip_count;

	/* the session, or the last one */
	struct cw_time up_at;
	struct cw_time probed_at; /* another connection made us ask whether the first still lives */
	uint32_t times_up;
	struct cw_bgp_codec codec;
	bool refresh, enhanced, gr, gr_notification;
	uint32_t hold_s;
	struct cw_bgp_open peer_open; /* the last acceptable one */
	bool has_peer_open, has_our_caps;
	struct cw_bgp_caps our_caps;
	struct family_state family[CW_BGP_FAMILIES];

	/* graceful restart */
	bool restarting, forwarding; /* ours */
	struct cw_time defer_due;    /* Selection_Deferral_Timer, from START */
	struct cw_time restart_due;  /* the peer's: its stale routes go */

	/* the story */
	enum cw_bgp_cause cause; /* of where it is now */
	char why[CW_BGP_VIEW_TEXT_MAX];
	enum cw_bgp_cause last_error;
	char last_error_text[CW_BGP_VIEW_TEXT_MAX];
	struct cw_time last_error_at;
	struct cw_bgp_view_message_counts messages;
	struct kept_notification sent, received;
	struct said { /* the last failures that were said aloud */
		uint64_t hash; /* 0: none */
		struct cw_time at;
	} said[SAID_MAX];
	size_t n_said;
};

/* What every function of one step needs. */
struct turn {
	struct cw_bgp_peer *p;
	struct cw_time now;
	struct cw_bgp_actions *out;
};

enum after {
	AFTER_RETRY,	      /* listen, connect again by and by */
	AFTER_PAUSE,	      /* idle hold; counts as a failure */
	AFTER_PAUSE_UNCOUNTED,
	AFTER_ORDER,	      /* the caller sees to it */
};

/* How a connection ends. */
struct ending {
	enum cw_bgp_cause cause;
	const char *why; /* details in words; NULL: none */
	bool notify;
	uint8_t code, subcode;
	struct cw_span data;
	bool hard;    /* routes are not kept (RFC 8538: a NOTIFICATION says so) */
	bool closed;  /* TCP is gone: nothing can be sent or closed */
	bool discard; /* nothing will get through */
	enum after after;
	uint64_t bad; /* hash of the bad message; 0: none */
};

/* ---- bgp_fsm.c ---- */

struct cw_bgp_action *cw_bgp_add(struct turn *t, enum cw_bgp_action_kind kind);
/* The one place where the state moves. */
void cw_bgp_enter(struct turn *t, enum cw_bgp_state to);
/* Why it is where it is; an error too unless somebody wanted it so. */
void cw_bgp_set_cause(struct turn *t, enum cw_bgp_cause cause, const char *why);
/* Idle hold. */
void cw_bgp_pause(struct turn *t, bool counts);
/* Sets the ConnectRetryTimer, jittered (RFC 4271 10). */
void cw_bgp_retry_later(struct turn *t);
/* Begins to try, unless something else is waited for. */
void cw_bgp_begin(struct turn *t);
void cw_bgp_try_connect(struct turn *t);
/* Less a random part of up to a quarter. */
int64_t cw_bgp_jitter_us(struct cw_bgp_peer *p, int64_t us);

/* ---- bgp_order.c ---- */

void cw_bgp_order_start(struct turn *t, const struct cw_bgp_event *ev);
void cw_bgp_order_stop(struct turn *t, const struct cw_bgp_event *ev);
void cw_bgp_order_reset(struct turn *t, const struct cw_bgp_event *ev);
void cw_bgp_order_net_down(struct turn *t);
void cw_bgp_order_net_up(struct turn *t);
void cw_bgp_order_conf(struct turn *t, const struct cw_bgp_peer_conf *conf);
/* Warns, or ends the session, if there are too many. */
void cw_bgp_look_at_prefixes(struct turn *t, enum cw_bgp_family family);

/* ---- bgp_conn.c ---- */

extern const struct conn cw_bgp_conn_none;
static inline enum cw_bgp_conn cw_bgp_other(enum cw_bgp_conn which)
{
	return which == CW_BGP_CONN_OURS ? CW_BGP_CONN_THEIRS : CW_BGP_CONN_OURS;
}
static inline bool cw_bgp_tcp_is_up(const struct conn *c)
{
	return c->phase >= PH_WAITING;
}
/* RFC 9687 4 */
static inline int64_t cw_bgp_send_hold_s(const struct conn *c)
{
	int64_t twice_s = 2 * (int64_t)c->hold_s;

	return twice_s > CW_BGP_SEND_HOLD_MIN_S ? twice_s : CW_BGP_SEND_HOLD_MIN_S;
}
void cw_bgp_conn_up(struct turn *t, enum cw_bgp_conn which);
void cw_bgp_conn_accept(struct turn *t);
void cw_bgp_conn_message(struct turn *t, enum cw_bgp_conn which, uint8_t type, struct cw_span body);
void cw_bgp_conn_end(struct turn *t, enum cw_bgp_conn which, const struct ending *e);
/* Both; e->after is ORDER. */
void cw_bgp_conn_end_all(struct turn *t, const struct ending *e);
/* DelayOpen is over. */
void cw_bgp_conn_open(struct turn *t, enum cw_bgp_conn which);
void cw_bgp_conn_send(struct turn *t, enum cw_bgp_conn which, enum cw_bgp_type type, size_t len);
/* Where the next message of this step is to be written, and how much fits. */
uint8_t *cw_bgp_room(struct turn *t, size_t *ret_size);
/* Sends one, and sets the KeepaliveTimer: a third of the hold time, jittered. */
void cw_bgp_keepalive(struct turn *t, enum cw_bgp_conn which);
struct cw_time cw_bgp_keepalive_due(struct cw_bgp_peer *p, const struct conn *c, struct cw_time now);
uint64_t cw_bgp_hash(uint64_t tag, struct cw_span bytes);

/* ---- bgp_open.c ---- */

/* Our OPEN; plain: without capabilities. */
struct cw_bgp_open cw_bgp_open_make(const struct cw_bgp_peer *p, bool plain, struct cw_time now);
/* Can OPEN do without capabilities here? */
bool cw_bgp_open_can_be_plain(const struct cw_bgp_peer *p);

struct open_fault {
	uint8_t subcode;
	uint8_t data[4 + 6 * CW_BGP_FAMILIES];
	size_t n_data;
	char why[CW_BGP_VIEW_TEXT_MAX];
};
/* Is it the peer that is configured, and can we be its? False: ret_fault says why. */
bool cw_bgp_open_check(const struct cw_bgp_peer *p, const struct cw_bgp_open *open,
		       struct open_fault *ret_fault);
uint32_t cw_bgp_open_hold_s(const struct cw_bgp_peer *p, const struct cw_bgp_open *open);
/* Fills what both sides have agreed on. */
void cw_bgp_open_agree(struct cw_bgp_peer *p, const struct conn *c, struct cw_time now);

/* ---- bgp_restart.c ---- */

/* The session begins or ends. */
void cw_bgp_restart_up(struct turn *t);
void cw_bgp_restart_down(struct turn *t, const struct ending *e);
/* The peer's routes that are kept go. */
void cw_bgp_sweep_all(struct turn *t);
void cw_bgp_restart_eor(struct turn *t, enum cw_bgp_family family);
void cw_bgp_restart_sent_all(struct turn *t, enum cw_bgp_family family);
void cw_bgp_restart_timers(struct turn *t);
struct cw_time cw_bgp_restart_due(const struct cw_bgp_peer *p);
/* Sends all routes of a family again, or for the first time. */
void cw_bgp_send_all(struct turn *t, enum cw_bgp_family family, bool first);
/* Asks the peer for all of its. */
void cw_bgp_ask_all(struct turn *t, enum cw_bgp_family family);
void cw_bgp_refresh_in(struct turn *t, const struct cw_bgp_refresh *refresh);

/* ---- bgp_say.c ---- */

__attribute__((format(printf, 4, 5))) void cw_bgp_say(struct turn *t, enum cw_log_level level,
						      enum cw_log_id id, const char *fmt, ...);
void cw_bgp_say_up(struct turn *t);
/* The session ended, or a try did; the next step is decided. */
void cw_bgp_say_ended(struct turn *t, bool was_up, struct cw_time up_at, const struct ending *e);
/* "hold timer expired (4/0)" with names; data and why of it where there are. */
void cw_bgp_notification_words(const struct cw_bgp_notification *n, const char *why, char *buf,
			       size_t size);
void cw_bgp_keep_notification(struct kept_notification *kept, const struct cw_bgp_notification *n,
			      bool hard, const char *why, struct cw_time now);

#endif
