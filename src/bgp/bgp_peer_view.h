/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_peer_view: a copy of a neighbour's whole story, for whoever shows it.
 *
 * Values only, no pointers. Texts that came from the peer are escaped already. Holds no secret.
 */
#ifndef CW_BGP_BGP_PEER_VIEW_H
#define CW_BGP_BGP_PEER_VIEW_H

#include "bgp/bgp_peer_conf.h"

enum cw_bgp_state { /* RFC 4271 8.2.2 */
	CW_BGP_STATE_IDLE,
	CW_BGP_STATE_CONNECT,
	CW_BGP_STATE_ACTIVE,
	CW_BGP_STATE_OPEN_SENT,
	CW_BGP_STATE_OPEN_CONFIRM,
	CW_BGP_STATE_ESTABLISHED,
	CW_BGP_STATE_COUNT,
};

/* "idle", "open-sent", ... as in JSON. Never NULL. */
const char *cw_bgp_state_name(enum cw_bgp_state state);

/* An order that a person may give. */
enum cw_bgp_reset {
	CW_BGP_RESET_SOFT_IN,  /* ask for the peer's routes again */
	CW_BGP_RESET_SOFT_OUT, /* send ours again */
	CW_BGP_RESET_HARD,     /* end the session with Cease 6/4, begin at once; also ends any pause */
};

/* Why the session is where it is, or why it was lost. */
enum cw_bgp_cause {
	CW_BGP_CAUSE_NONE,
	CW_BGP_CAUSE_OPERATOR,	      /* STOP */
	CW_BGP_CAUSE_RESET,	      /* RESET */
	CW_BGP_CAUSE_CONF_CHANGED,
	CW_BGP_CAUSE_NET_DOWN,	      /* the tunnel under it */
	CW_BGP_CAUSE_CONNECT_FAILED,  /* TCP could not be set up */
	CW_BGP_CAUSE_CONNECTION_LOST, /* TCP closed or reset by the other end, or timed out */
	CW_BGP_CAUSE_HOLD_EXPIRED,
	CW_BGP_CAUSE_SEND_HOLD,	      /* RFC 9687: the peer reads nothing */
	CW_BGP_CAUSE_BAD_HEADER,
	CW_BGP_CAUSE_BAD_OPEN,	      /* its OPEN is malformed or not what is configured */
	CW_BGP_CAUSE_BAD_UPDATE,
	CW_BGP_CAUSE_BAD_REFRESH,
	CW_BGP_CAUSE_UNEXPECTED,      /* a message that does not belong into the state */
	CW_BGP_CAUSE_NOTIFICATION,    /* the peer ended it and said why */
	CW_BGP_CAUSE_PREFIX_LIMIT,
	CW_BGP_CAUSE_COLLISION,	      /* closed in favour of the other connection */
	CW_BGP_CAUSE_PEER_RESTARTED,  /* it opened a new connection over an established one: RFC 4724 5 */
	CW_BGP_CAUSE_COUNT,
};

/* Stable name such as "hold-expired". Never NULL. */
const char *cw_bgp_cause_name(enum cw_bgp_cause cause);
/* One short sentence for people. Never NULL. */
const char *cw_bgp_cause_text(enum cw_bgp_cause cause);
/* What to look at or do; "" where there is nothing to do. Never NULL. */
const char *cw_bgp_cause_remedy(enum cw_bgp_cause cause);

/* What an idle neighbour waits for. */
enum cw_bgp_wait {
	CW_BGP_WAIT_NONE,     /* it is not idle */
	CW_BGP_WAIT_START,    /* STOP was ordered, or START not yet */
	CW_BGP_WAIT_NET,      /* the tunnel under it */
	CW_BGP_WAIT_PAUSE,    /* idle hold after a failure */
	CW_BGP_WAIT_PREFIXES, /* it announced too many */
};

const char *cw_bgp_wait_name(enum cw_bgp_wait wait);

#define CW_BGP_VIEW_HISTORY_MAX 16
#define CW_BGP_VIEW_TEXT_MAX 256
#define CW_BGP_VIEW_DATA_MAX 64

/* A NOTIFICATION that was sent or received. */
struct cw_bgp_view_notification {
	bool present;
	int64_t at_wall_s;
	uint8_t code, subcode; /* of a hard reset (RFC 8538): those inside */
	bool hard;
	uint8_t data[CW_BGP_VIEW_DATA_MAX]; /* its beginning */
	size_t n_data;			    /* the whole length */
	char text[CW_BGP_VIEW_TEXT_MAX];    /* in words: names, and the shutdown text of RFC 9003 */
};

struct cw_bgp_view_step {
	int64_t at_wall_s;
	enum cw_bgp_state from, to;
	enum cw_bgp_cause cause;
};

struct cw_bgp_view_message_counts { /* index: enum cw_bgp_type, 0: with a bad header */
	uint64_t in[CW_BGP_ROUTE_REFRESH + 1], out[CW_BGP_ROUTE_REFRESH + 1];
};

struct cw_bgp_view_family {
	bool offered, received, agreed;
	uint32_t prefixes;	 /* as last told by PREFIXES */
	bool eor_in;		 /* the peer's first round is complete */
	bool sending;		 /* our round is under way */
	bool deferred;		 /* restarted: ours waits for the peer's */
	bool stale;		 /* routes of the last session, or before a refresh, are still kept */
	int64_t stale_left_s;	 /* then: until they go; -1: no limit of time runs */
};

struct cw_bgp_peer_view {
	struct cw_bgp_peer_conf conf;
	enum cw_bgp_state state;
	enum cw_bgp_wait wait;
	int64_t for_s, since_wall_s;
	enum cw_bgp_cause cause;
	char why[CW_BGP_VIEW_TEXT_MAX]; /* details of the cause; "prefix limit (limit 100, got 101)" */
	enum cw_bgp_cause last_error;
	char last_error_text[CW_BGP_VIEW_TEXT_MAX];
	int64_t last_error_wall_s; /* meaningful when last_error is set */
	int64_t next_try_in_s;	   /* -1: none is planned */
	uint32_t failures;	   /* in a row; RFC 4271's ConnectRetryCounter */
	uint32_t same_bad;	   /* how often the last bad message came again */
	uint32_t times_up;
	bool ours;		   /* established: we opened the connection */

	/* agreed; meaningful while established, else of the last session */
	uint32_t hold_s, keepalive_s;
	bool as4, ext_message, ext_next_hop, refresh, enhanced_refresh, gr, gr_notification;
	uint32_t peer_id; /* host order; 0: not known yet */
	bool has_peer_caps, has_our_caps;
	struct cw_bgp_caps peer_caps, our_caps; /* as in the last OPEN of each */

	int64_t hold_left_s, keepalive_left_s, send_hold_left_s, restart_left_s; /* -1: does not run */
	struct cw_bgp_view_family family[CW_BGP_FAMILIES];
	struct cw_bgp_view_message_counts messages;
	struct cw_bgp_view_notification sent, received;
	size_t n_history;
	struct cw_bgp_view_step history[CW_BGP_VIEW_HISTORY_MAX]; /* newest first */
};

#endif
