/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim: two hosts with a tunnel machine each, or one of them a peer of another make, joined by fake engines.
 * sim_host.c is the daemon around a machine in small, sim_check.c says whether all is well, sim_pair.c
 * and sim_lost.c are the stories.
 */
#ifndef CW_TESTS_SIM_H
#define CW_TESTS_SIM_H

#include "conf/conf.h"
#include "fake/fake_ike.h"
#include "fake/fake_world.h"
#include "tunnel/tunnel.h"

extern bool sim_loud; /* tell the whole story */

/* A peer of another make has no machine: it does what its settings say. */
struct stock {
	bool is;
	bool starts;          /* at load; tries for ever */
	bool restarts_dead;   /* dpd_action = restart */
	bool restarts_closed; /* close_action = start */
	bool stubborn;        /* and that even if it has another IKE_SA */
};

struct host {
	struct fake_world *world;
	struct fake_ike ike;
	struct stock stock;
	struct cw_site_conf site;
	struct cw_tunnel_conf conf;
	struct cw_tunnel *tunnel;
	uint32_t life; /* grows with each start; mail of an earlier life is void */
	uint64_t seed;
	/* mailbox */
	uint32_t mail_loss_permille, resolver_fails_permille;
	struct cw_time mail_at;
	bool lost, lost_since_poll;
	/* snapshots, as the daemon asks for them */
	uint32_t poll_no;
	bool poll_running;
	struct cw_time poll_at, poll_due;
	uint64_t wake_no;
	/* what the daemon knows from actions */
	bool carrying;
	uint32_t carrying_changes, lines;
	uint32_t repairs; /* rekeys that the machine asked for */
};

struct sim {
	struct fake_world *world;
	struct host hosts[2];
	uint64_t seed;
	const char *what;
};

/* ---- sim_host.c ---- */

struct cw_time sim_now(const struct host *h);
void sim_note(const struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_step(struct host *h, const struct cw_tunnel_event *ev);
/* The engine's mail: lost at the host's rate, late, in order. For struct fake_ike. */
void sim_post(void *arg, const struct cw_ike_event *ev);
/* Whatever is due now, and when to look again. */
void sim_turn(struct host *h);
void sim_order(struct host *h, enum cw_tunnel_event_kind kind);
void sim_start(struct host *h);
void sim_crash(struct host *h);
void sim_paths(struct sim *s, uint32_t loss_permille, uint32_t delay_us, bool cut0, bool cut1);

/* ---- sim_check.c ---- */

/* Says it; true. */
bool sim_bad(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True: something is wrong, and was said. early: IKEv1 may still be finding out what is there twice. */
bool sim_check(struct sim *s, const char *when, bool early);
/* A rekey in flight has two children for a moment: look again a little later. */
bool sim_check_soon(struct sim *s, const char *when, bool early);

/* ---- stories ---- */

/* Two hosts as the seed has it; not started. */
void sim_set_up(struct sim *s);
/* True: it went wrong. */
bool sim_lost_child(uint8_t version);

#endif
