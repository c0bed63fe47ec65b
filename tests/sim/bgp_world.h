/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_world: two BGP session machines, each with an owner in small, joined by TCP connections of a made-up network.
 *
 * Connections are set up, carry whole messages in order, and end like TCP's: what is on its way when the path is
 * cut arrives after it is mended; who crashed answers with a reset. The owner has for routes no more than
 * whether it has the peer's, by family, and whether they are stale. It checks at each action that it may be
 * asked for: bgp_bad() says what went wrong, and the world remembers.
 */
#ifndef CW_TESTS_BGP_WORLD_H
#define CW_TESTS_BGP_WORLD_H

#include "bgp/bgp_peer.h"

#define BGP_LINKS_MAX 1024
#define BGP_MAIL_MAX 16384
#define BGP_NO_LINK (-1)

struct bgp_link {
	bool used;
	bool open[2];		/* at this end there is a socket */
	struct cw_time last[2]; /* of what is on its way to this end */
};

enum bgp_mail_kind { MAIL_SYN, MAIL_SYN_ACK, MAIL_DATA, MAIL_FIN, MAIL_RST };

struct bgp_mail {
	enum bgp_mail_kind kind;
	struct cw_time at;
	uint64_t no;
	int link, to;
	uint8_t data[512];
	size_t n;
};

struct bgp_host {
	int end;
	struct cw_bgp_peer_conf conf;
	struct cw_bgp_peer *p; /* NULL: crashed */
	uint64_t seed;
	int link[CW_BGP_CONNS];
	bool up;		       /* as the owner was told */
	struct {
		bool has, stale, sending, marked;
	} family[CW_BGP_FAMILIES];
	uint32_t ups, downs, timers, lines, sends_all;
	bool slow;		       /* answers SEND_ALL only when asked: bgp_finish() */
	enum cw_bgp_cause last_down;
	bool kept;		       /* by the last DOWN, of any family */
};

struct bgp_world {
	struct cw_time now;
	uint64_t random, mail_no;
	int64_t delay_us, jitter_us;
	bool cut;
	struct bgp_host hosts[2];
	struct bgp_link links[BGP_LINKS_MAX];
	struct bgp_mail *mail; /* BGP_MAIL_MAX */
	size_t n_mail;
	bool bad, loud;
	uint64_t seed; /* for messages */
};

/* Hosts as conf has them, not started. */
struct bgp_world *bgp_world_new(const struct cw_bgp_peer_conf conf[2], uint64_t seed);
void bgp_world_free(struct bgp_world *w);
uint32_t bgp_dice(struct bgp_world *w, uint32_t n);

void bgp_step(struct bgp_world *w, int end, const struct cw_bgp_event *ev);
void bgp_order(struct bgp_world *w, int end, enum cw_bgp_event_kind kind);
/* Lets time go by: mail and timers, in order. */
void bgp_pass_ms(struct bgp_world *w, int64_t ms);
/* Until both are established on one connection, or ms are over. Returns how long it took; -1: never. */
int64_t bgp_until_up_ms(struct bgp_world *w, int64_t ms);
/* Both established, each by the same connection, with all routes and nothing stale. */
bool bgp_is_well(const struct bgp_world *w);
/* The path is cut, or mended: what waited comes now. */
void bgp_cut(struct bgp_world *w, bool cut);
/* The host's memory is gone, without a word to anybody. */
void bgp_crash(struct bgp_world *w, int end);
/* It is there again. */
void bgp_boot(struct bgp_world *w, int end, bool restarting, bool forwarding);
/* An UPDATE, as some change of its routes would bring it; nothing while it is down. */
void bgp_announce(struct bgp_world *w, int end);
/* A slow host's first round is sent. */
void bgp_finish(struct bgp_world *w, int end);
/* Bytes as if from the host's peer, on the connection. */
void bgp_inject(struct bgp_world *w, int end, enum cw_bgp_conn conn, enum cw_bgp_type type,
		const void *body, size_t n);
/* The connection breaks, and both ends hear of it. */
void bgp_break(struct bgp_world *w, int end, enum cw_bgp_conn conn);
struct cw_bgp_peer_view bgp_view(const struct bgp_world *w, int end);

void bgp_bad(struct bgp_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
