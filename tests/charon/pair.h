/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair: two engines, a and b, each in a process and a network namespace of its own (side.h), joined by a
 * veth pair. A case gives orders, waits for events and looks at snapshots; the first thing that is not
 * as it should be ends it.
 */
#ifndef CW_TESTS_CHARON_PAIR_H
#define CW_TESTS_CHARON_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "side.h"

#define EVENTS_MAX 512
#define SOON_MS 4000

struct peer {
	char which;
	pid_t pid;
	int fd;
	struct cw_ike_event events[EVENTS_MAX];
	size_t n, seen; /* wait_for() looks from `seen` on */
	struct cw_ike_event records[16]; /* of the newest poll */
	size_t n_records;
	struct side_report last;
	bool answered, dead;
	uint32_t polls;
};

extern struct peer a, b;
/* Of the running case. */
extern char why[300];
extern bool failed, verbose;

#define CHECK(cond)                                                        \
	do {                                                               \
		if (!(cond))                                               \
			fail("%s:%d: %s", __FILE_NAME__, __LINE__, #cond); \
	} while (0)

/* For the arrays of a request. */
#define SET(field, text) snprintf(field, sizeof(field), "%s", text)

struct pair_case {
	const char *name; /* NULL: the end of the table */
	void (*run)(void);
};

extern const struct pair_case pair_up[], pair_refused[], pair_pairs[], pair_alive[], pair_rekey[], pair_end[],
	pair_move[];

int64_t now_ms(void);
/* The first reason is the one that counts. */
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- processes ---- */

bool launch(struct peer *p);
/* From here on it is silent for good. */
void freeze(struct peer *p);
void leave(struct peer *p);
void order(struct peer *p, const struct side_request *q);
/* An order that has an answer; its rc. */
int ask(struct peer *p, const struct side_request *q);
/* Runs ip(8) in its namespace, with these words. */
void ip(struct peer *p, const char *words);
/* An order with a number and no more to it. */
void simple(struct peer *p, enum side_order o, uint32_t id);

/* ---- events ---- */

void tell(const struct peer *p, const struct cw_ike_event *ev);
/* Takes one letter, if it comes in time. */
void take(struct peer *p, int wait_ms);
/* Nothing may be told for so long: what must not happen can only be waited out. */
void quiet(struct peer *p, int ms);
/* The next event of the kind since the last one waited for. If none comes the case has failed; never NULL. */
const struct cw_ike_event *wait_for(struct peer *p, enum cw_ike_event_kind kind, int ms);
unsigned count(const struct peer *p, enum cw_ike_event_kind kind);

/* ---- what is there ---- */

/* A snapshot. ike and child, and their numbers, are those of the last one that is up. */
struct picture {
	unsigned ikes, established, installed;
	uint64_t spi_i[8], spi_r[8];
	uint32_t ike_id, child_id, spi_in, spi_out;
	struct cw_child_info child;
	struct cw_ike_sa_info ike;
};


struct picture look(struct peer *p);
/* Snapshots until there are just so many IKE_SAs and installed CHILD_SAs; the last one. */
struct picture settle(struct peer *p, unsigned ikes, unsigned children);
struct fake_kernel_counts kernel(struct peer *p);
/* The kernel's part goes right after the IKE_SA, not with it. */
void bare(struct peer *p);

/* ---- the usual tunnel: index 3 ---- */

struct side_tunnel plain(char which);
void set(struct peer *p, const struct side_tunnel *t);
void start_engine(struct peer *p);
void both(const struct side_tunnel *ta, const struct side_tunnel *tb);
/* a begins; both have it. */
void up(void);
void both_plain_up(void);

#endif
