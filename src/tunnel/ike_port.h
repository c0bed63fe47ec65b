/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ike_port: orders to an IKE engine and reports from it, in plain structs.
 *
 * plugins/charon implements it over libcharon; tests implement it in memory.
 *
 * Orders: from the loop thread only; they return at once and never wait for the network. Whether an
 * order worked is seen from the reports alone. Orders name a tunnel by its index in the daemon's
 * table plus a generation, which the engine hands back in each report; strings are copied.
 *
 * Reports: the engine posts struct cw_ike_event values into the mailbox from any of its threads.
 * Reports may be lost (mailbox full); CW_IKE_EV_SNAPSHOT, asked for by poll(), tells the whole truth
 * again, so the tunnel machine works from snapshots as well as from events.
 *
 * The engine itself never retries, never starts, never re-establishes and never closes duplicates:
 * one attempt per initiate(). It rekeys by the lifetimes it is given, answers the peer, does DPD.
 */
#ifndef CW_TUNNEL_IKE_PORT_H
#define CW_TUNNEL_IKE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/rc.h"
#include "tunnel/cause.h"

struct cw_secret;
struct cw_tunnel_conf;
struct cw_kernel_event;

#define CW_IKE_TEXT_MAX 128
#define CW_IKE_ALG_MAX 80
#define CW_IKE_TS_MAX 4	      /* selectors shown of each side; n_ tells how many there are */
#define CW_IKE_PAIR_UNKNOWN UINT32_MAX
#define CW_IKE_CHILDREN_MAX 8 /* children carried in one snapshot record; more come in further records */

/* A tunnel as the engine shall know it. Replaces what it knew under this index. */
struct cw_ike_tunnel {
	uint32_t index;
	uint32_t generation;
	const struct cw_tunnel_conf *conf; /* read during the call only */
	const struct cw_secret *psk;	   /* the key as it is now, borrowed likewise; NULL: conf->psk */
	const struct cw_prefix *gateway_networks; /* selectors NETWORKS: our side */
	size_t n_gateway_networks;
	struct cw_addr remote; /* resolved */
	struct cw_addr local;  /* family NONE: the engine asks the routing table */
	uint32_t if_id;	       /* 0: plain policies */
	uint32_t mark;	       /* VTI; 0: none */
	uint32_t reqid_base;   /* child c has reqid_base + c */
};

enum cw_ike_sa_state {
	CW_IKE_SA_CONNECTING,
	CW_IKE_SA_ESTABLISHED,
	CW_IKE_SA_REKEYED, /* replaced, its deletion is under way */
	CW_IKE_SA_DELETING,
};

struct cw_ike_sa_info {
	uint32_t ike_id;      /* the engine's number; changes with an IKE rekey */
	uint64_t spi_i, spi_r;
	enum cw_ike_sa_state state;
	uint8_t version;      /* 1 or 2 */
	bool initiator;	      /* we started this IKE_SA */
	bool nat_local, nat_remote;
	bool encap;	      /* UDP encapsulation in use or forced */
	struct cw_addr local, remote;
	uint16_t local_port, remote_port;
	char local_id[CW_IKE_TEXT_MAX], remote_id[CW_IKE_TEXT_MAX]; /* escaped text */
	char proposal[CW_IKE_ALG_MAX]; /* "AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048" */
	uint32_t established_s_ago;
	int64_t rekey_in_s;   /* -1: none planned */
	int64_t expires_in_s; /* -1: none planned */
};

enum cw_child_state {
	CW_CHILD_CONNECTING,
	CW_CHILD_INSTALLED,
	CW_CHILD_REKEYING, /* installed, its successor is being made */
	CW_CHILD_REKEYED,  /* replaced; inbound kept for late packets */
	CW_CHILD_DELETING,
};

struct cw_child_info {
	uint32_t child_id; /* the engine's number */
	uint32_t ike_id;
	uint32_t pair;	   /* 0-based selector pair; 0 with any-any */
	uint32_t reqid;
	uint32_t spi_in, spi_out; /* host order */
	enum cw_child_state state;
	bool encap;
	char proposal[CW_IKE_ALG_MAX]; /* "AES_CBC_256/HMAC_SHA2_256_128/MODP_2048": with the DH group of its rekey, if any */
	bool pfs;			/* made with a DH exchange of its own */
	struct cw_prefix local_ts[CW_IKE_TS_MAX], remote_ts[CW_IKE_TS_MAX];
	size_t n_local_ts, n_remote_ts;
	bool narrowed; /* less than we asked for */
	uint64_t bytes_in, bytes_out, packets_in, packets_out;
	int64_t last_in_s_ago, last_out_s_ago; /* -1: never */
	uint32_t installed_s_ago;
	int64_t rekey_in_s, expires_in_s; /* -1: none planned */
};

enum cw_ike_event_kind {
	CW_IKE_EV_IKE_UP,      /* ike: an IKE_SA is established (either side started it) */
	CW_IKE_EV_IKE_DOWN,    /* ike_id is gone; cause */
	CW_IKE_EV_IKE_REKEYED, /* ike: the new one; old_id */
	CW_IKE_EV_CHILD_UP,    /* child: installed in the kernel */
	CW_IKE_EV_CHILD_DOWN,  /* child; cause */
	CW_IKE_EV_CHILD_REKEYED, /* child: the new one; old_id */
	CW_IKE_EV_FAILED,      /* an attempt of ours (or the peer's, if !by_us) came to nothing; cause, detail; is_child: at
				* a CHILD_SA only. If by_us, child.pair names the one that was refused, and that one
				* alone is to be asked for again; else it is CW_IKE_PAIR_UNKNOWN: the peer's
				* selectors may be none of ours. */
	CW_IKE_EV_REKEY_FAILED, /* cause, detail names both sides' groups where known; is_child */
	CW_IKE_EV_INITIAL_CONTACT, /* the peer says on ike_id that it has no other IKE_SA with us */
	CW_IKE_EV_NAT_MAPPED,  /* the peer's address or port moved; ike */
	CW_IKE_EV_SNAPSHOT,    /* one record of a poll: ike and children[0..n_children); `first`, `last` mark the ends */
};

struct cw_ike_event {
	enum cw_ike_event_kind kind;
	uint32_t index, generation; /* of the tunnel; index UINT32_MAX: belongs to none (empty snapshot) */
	uint32_t ike_id, old_id;
	bool by_us;
	bool is_child;
	bool no_ike;		    /* SNAPSHOT record without an IKE_SA (the poll found none at all) */
	bool first, last;	    /* SNAPSHOT */
	uint32_t poll;		    /* SNAPSHOT: number given to poll() */
	enum cw_cause cause;
	char detail[CW_IKE_TEXT_MAX]; /* more on the cause: notify name, offered proposals, groups; escaped; may be "" */
	struct cw_ike_sa_info ike;
	struct cw_child_info child;
	struct cw_child_info children[CW_IKE_CHILDREN_MAX];
	size_t n_children;
};

struct cw_ike;

struct cw_ike_ops {
	/* Lets the engine work; before, it takes orders and does nothing of them, and what peers send stays in its
	 * sockets. Called once, when it knows the tunnels: a peer that it did not know yet would be told that
	 * there is no proposal for it (RFC 7296 2.6), and may take that for final. */
	void (*begin)(struct cw_ike *ike);
	/* Makes the engine know the tunnel: it can then answer the peer. psk and proposals are copied. */
	enum cw_rc (*tunnel_set)(struct cw_ike *ike, const struct cw_ike_tunnel *t);
	/* Forgets it; existing SAs go on until terminated. */
	void (*tunnel_remove)(struct cw_ike *ike, uint32_t index);
	/* One attempt at an IKE_SA with all children, or, if the tunnel has an established IKE_SA, at child
	 * `pair` on it. */
	void (*initiate)(struct cw_ike *ike, uint32_t index, uint32_t pair);
	/* How much work waits for one of the engine's threads: while there is much, another attempt would only
	 * make those under way slower. */
	size_t (*backlog)(struct cw_ike *ike);
	/* Closes one IKE_SA with DELETE; with force, without waiting for the answer. */
	void (*terminate_ike)(struct cw_ike *ike, uint32_t ike_id, bool force);
	void (*terminate_child)(struct cw_ike *ike, uint32_t child_id);
	void (*rekey_ike)(struct cw_ike *ike, uint32_t ike_id);
	void (*rekey_child)(struct cw_ike *ike, uint32_t child_id);
	/* Asks whether the peer of an IKE_SA is alive, now (an empty INFORMATIONAL, RFC 7296 1.4; R_U_THERE, RFC
	 * 3706). Without an answer IKE_DOWN comes after dpd_timeout_s. */
	void (*check_alive)(struct cw_ike *ike, uint32_t ike_id);
	/* Asks for a snapshot of all IKE_SAs; poll comes back in its records. */
	void (*poll)(struct cw_ike *ike, uint32_t poll);
	/* Hands ACQUIRE, EXPIRE and MAPPING on. */
	void (*kernel_event)(struct cw_ike *ike, const struct cw_kernel_event *ev);
	/* Closes everything (DELETE to each peer, waiting at most wait_ms), stops threads, frees. */
	void (*stop)(struct cw_ike *ike, uint32_t wait_ms);
	/* Name and version of the engine, such as "libcharon 5.9.8". */
	const char *(*version)(struct cw_ike *ike);
};

/* An implementation embeds this as its first member. */
struct cw_ike {
	const struct cw_ike_ops *ops;
};

#endif
