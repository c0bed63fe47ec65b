/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_peer: the session of one neighbour, as a pure machine.
 *
 * An event and the time go in; the object changes and what is to be done comes out as a bounded list. It
 * calls nobody and reads no clock. RFC 4271 8 with its optional DelayOpen, damping of oscillations and
 * NOTIFICATIONs without OPEN; RFC 6286, 4486, 6608, 8538, 9003, 9687. Loop thread only.
 *
 * Connections. There are two at most, ours (we connected) and theirs (they did). Until one is established
 * each has RFC 4271's states by itself, and the neighbour's state is that of the further one:
 *
 *   IDLE          not started, or pausing (enum cw_bgp_wait); the peer's connections are refused
 *   CONNECT       ours is being set up, or is up and waits with its OPEN (DelayOpen, or see below)
 *   ACTIVE        waits for the peer, or until it is time to connect again
 *   OPEN_SENT, OPEN_CONFIRM, ESTABLISHED
 *
 * Collision (RFC 4271 6.8, 6286 2.3). With both in OPEN_SENT, the first OPEN decides: the connection opened
 * by the side with the higher identifier stays, of equal ones by the one with the higher AS number. Once
 * one is in OPEN_CONFIRM, the other's OPEN is held back until that one is established (then the other goes) or
 * lost (then it proceeds): so neither end can give up the connection that the other has just chosen. An
 * established one always wins. The loser gets Cease 6/7 and it counts as no failure. (A KEEPALIVE on the winner
 * then shows whether the peer still has it: if not, TCP's reset comes long before the hold timer.)
 *
 * Where RFC 4271 leaves a choice or was given up by practice:
 *   - a connection that fails before our OPEN leads to ACTIVE also without DelayOpen: the peer may come meanwhile;
 *   - no NOTIFICATION answers a NOTIFICATION, in no state;
 *   - with a hold time of 0, OPEN_CONFIRM still ends after the 4 minutes of OPEN_SENT.
 *
 * The owner
 *   - sets up and accepts TCP connections, frames messages (cw_bgp_header_decode() with cw_bgp_peer_max()) and
 *     gives each as MESSAGE; carries actions out in their order;
 *   - after CLOSE(conn) gives no event of that connection any more, also not for bytes already read;
 *   - reads its sockets before it gives TIMER, so that a busy moment of its own costs no session;
 *   - on DELIVER_UPDATE decodes (cw_bgp_peer_codec()), and tells UPDATE_ERROR, EOR and PREFIXES;
 *   - with an agreed hold time of 0 sees to it that TCP itself finds out about a dead peer (keepalives), or accepts
 *     that nobody does;
 *   - for each SEND_ALL sends its routes and marks, then SENT_ALL; cw_bgp_peer_sent() for what it sends itself;
 *   - keeps, marks and sweeps stale routes as DOWN, STALE_MARK and STALE_SWEEP say.
 */
#ifndef CW_BGP_BGP_PEER_H
#define CW_BGP_BGP_PEER_H

#include "base/log.h"
#include "base/time.h"
#include "bgp/bgp_peer_view.h"
#include "wire/bgp_update.h"

struct cw_bgp_peer;

enum cw_bgp_conn {
	CW_BGP_CONN_OURS,   /* we connected */
	CW_BGP_CONN_THEIRS, /* they did */
	CW_BGP_CONNS,
};

enum cw_bgp_event_kind {
	/* orders */
	CW_BGP_EV_START,	/* restarting, forwarding: see below. Ends a STOP */
	CW_BGP_EV_STOP,		/* subcode (enum cw_bgp_sub_cease), text (RFC 9003) or NULL; quiet */
	CW_BGP_EV_RESET,	/* reset, text or NULL */
	CW_BGP_EV_CONF_CHANGED, /* conf: compared with the present one; copied */
	CW_BGP_EV_NET_DOWN,	/* the way to the peer is gone: all its routes go at once, stale ones too (a gap
				 * that is to be ridden out is simply not told) */
	CW_BGP_EV_NET_UP,	/* it is there again: begins at once. The state before the first NET_DOWN */
	/* connections */
	CW_BGP_EV_CONNECTED,	  /* what CONNECT asked for */
	CW_BGP_EV_CONNECT_FAILED, /* err_no */
	CW_BGP_EV_ACCEPTED,	  /* the peer connected; answered by ACCEPT or REFUSE */
	CW_BGP_EV_CLOSED,	  /* conn, err_no (0: closed in order): by the peer or the network */
	CW_BGP_EV_SEND_BLOCKED,	  /* conn: bytes wait that TCP does not take */
	CW_BGP_EV_SEND_PROGRESS,  /* conn: TCP took some; blocked: others still wait */
	/* what came in */
	CW_BGP_EV_MESSAGE,	/* conn, type, body (after the header) */
	CW_BGP_EV_HEADER_ERROR, /* conn, err, body: the header as it came, 19 octets */
	CW_BGP_EV_UPDATE_ERROR, /* err, body: an UPDATE of the established connection has verdict RESET */
	CW_BGP_EV_EOR,		/* family: End-of-RIB */
	CW_BGP_EV_PREFIXES,	/* family, count: prefixes of the peer now, each once */
	/* what went out */
	CW_BGP_EV_SENT_ALL,	/* family: what SEND_ALL asked for has been sent or queued */
	CW_BGP_EV_TIMER,	/* a deadline of cw_bgp_peer_next_due() is reached */
	CW_BGP_EV_COUNT,
};

/* "start", "update-error", ... Never NULL. */
const char *cw_bgp_event_name(enum cw_bgp_event_kind kind);

struct cw_bgp_event {
	enum cw_bgp_event_kind kind;
	enum cw_bgp_conn conn;
	uint8_t type;
	struct cw_span body;
	const struct cw_bgp_err *err;
	int err_no;
	bool blocked;
	enum cw_bgp_family family;
	uint32_t count;
	uint8_t subcode;
	const char *text;
	enum cw_bgp_reset reset;
	/* STOP: close without a NOTIFICATION, so that a peer with graceful restart keeps our routes
	 * (RFC 4724 4.1): we come back. Without it agreed on, a NOTIFICATION goes out all the same. */
	bool quiet;
	/* START: we ran before and the peer may hold our routes; forwarding: their state was kept */
	bool restarting, forwarding;
	const struct cw_bgp_peer_conf *conf;
};

enum cw_bgp_action_kind {
	CW_BGP_ACT_CONNECT,	   /* ours: to conf->remote from conf->local; answer CONNECTED or CONNECT_FAILED */
	CW_BGP_ACT_ACCEPT,	   /* the connection of this ACCEPTED is now theirs */
	CW_BGP_ACT_REFUSE,	   /* it is not: send bytes (if any) on it and close it */
	CW_BGP_ACT_SEND,	   /* conn, bytes: one whole message; to the end of the queue */
	CW_BGP_ACT_CLOSE,	   /* conn: close it when what is queued has been sent, or soon anyway; discard: now */
	CW_BGP_ACT_UP,		   /* established: cw_bgp_peer_codec() and the view say what was agreed on */
	CW_BGP_ACT_DOWN,	   /* it was: cause, text (details). Routes of families with keep are now stale, others go */
	CW_BGP_ACT_DELIVER_UPDATE, /* the UPDATE of this MESSAGE is to be decoded and used */
	CW_BGP_ACT_SEND_ALL,	   /* family: send every route and End-of-RIB, or when marked all of them again between
				    * BoRR and EoRR (RFC 7313); then SENT_ALL. Never twice at once */
	CW_BGP_ACT_STALE_MARK,	   /* family: all routes of the peer are stale until announced again */
	CW_BGP_ACT_STALE_SWEEP,	   /* family: those that still are go */
	CW_BGP_ACT_LOG,		   /* level, log_id, text */
};

#define CW_BGP_ACTION_TEXT_MAX 512

struct cw_bgp_action {
	enum cw_bgp_action_kind kind;
	enum cw_bgp_conn conn;
	struct cw_span bytes; /* in the list's own memory: valid until its next use */
	bool discard;
	enum cw_bgp_family family;
	bool marked;
	enum cw_bgp_cause cause;
	bool keep[CW_BGP_FAMILIES];
	enum cw_log_level level;
	enum cw_log_id log_id;
	char text[CW_BGP_ACTION_TEXT_MAX];
};

/* No step fills these: what one event can bring about is bounded below them (asserted). */
#define CW_BGP_ACTIONS_MAX 24
#define CW_BGP_ACTIONS_BYTES (2 * CW_BGP_MSG_MAX + 1024)

struct cw_bgp_actions {
	struct cw_bgp_action v[CW_BGP_ACTIONS_MAX];
	size_t n;
	uint8_t bytes[CW_BGP_ACTIONS_BYTES];
	size_t n_bytes;
};

/* Idle until START. conf is copied. seed: for jitter; any value. NULL when memory is out. */
struct cw_bgp_peer *cw_bgp_peer_new(const struct cw_bgp_peer_conf *conf, uint64_t seed,
				    struct cw_time now);
void cw_bgp_peer_free(struct cw_bgp_peer *peer);

/* out is emptied first. */
void cw_bgp_peer_step(struct cw_bgp_peer *peer, const struct cw_bgp_event *ev, struct cw_time now,
		      struct cw_bgp_actions *out);

/* When TIMER is due at the latest; CW_TIME_NEVER when nothing is awaited. */
struct cw_time cw_bgp_peer_next_due(const struct cw_bgp_peer *peer);

/* The owner sent n messages of a type on the established connection: they are counted, and an UPDATE is a sign of
 * life like a KEEPALIVE (RFC 4271 4.4). */
void cw_bgp_peer_sent(struct cw_bgp_peer *peer, enum cw_bgp_type type, uint32_t n, struct cw_time now);

const struct cw_bgp_peer_conf *cw_bgp_peer_conf(const struct cw_bgp_peer *peer);
enum cw_bgp_state cw_bgp_peer_state(const struct cw_bgp_peer *peer);
/* The connection that is established; CW_BGP_CONNS: none. */
enum cw_bgp_conn cw_bgp_peer_established(const struct cw_bgp_peer *peer);
/* How to read and write UPDATEs; NULL unless established. */
const struct cw_bgp_codec *cw_bgp_peer_codec(const struct cw_bgp_peer *peer);
/* The longest message that may come on a connection. */
size_t cw_bgp_peer_max(const struct cw_bgp_peer *peer, enum cw_bgp_conn conn);
/* The peer's identifier and AS number as decision compares them; 0 before its first OPEN. */
uint32_t cw_bgp_peer_id(const struct cw_bgp_peer *peer);
/* Restarted and established: has the peer said End-of-RIB of the family, or need it not? For whoever defers
 * the selection of routes until all peers have (RFC 4724 4.1). */
bool cw_bgp_peer_is_synced(const struct cw_bgp_peer *peer, enum cw_bgp_family family);

/* wall_us: now, for people, in microseconds since 1970. */
void cw_bgp_peer_view(const struct cw_bgp_peer *peer, struct cw_time now, int64_t wall_us,
		      struct cw_bgp_peer_view *ret_view);

#endif
