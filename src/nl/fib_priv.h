/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fib_priv: what the files of the FIB share. For src/nl/fib*.c alone.
 *
 * fib.c: routes one by one, and batches of them. fib_group.c: groups, the hops below them, and how
 * both are brought in line with the kernel. fib_sync.c: what concerns all routes at once.
 * fib_event.c: what the kernel tells.
 */
#ifndef CW_NL_FIB_PRIV_H
#define CW_NL_FIB_PRIV_H

#include "nl/fib.h"
#include "nl/fib_table.h"
#include "nl/nexthop_msg.h"
#include "nl/nl_sock.h"

/* Ids: the base, plus 1..HOPS - 1 for hops, plus GROUPS_AT + 1.. for groups. */
#define FIB_GROUPS_AT (CW_NEXTHOP_ID_SPAN / 2)
#define FIB_HOPS 2048
#define FIB_ADDED_BITS 32768
#define FIB_DEAD_LIST 4096

/* A nexthop object that is no group. */
struct fib_hop {
	bool used;    /* the slot is taken */
	bool foreign; /* the id is somebody else's */
	bool there;   /* in the kernel */
	bool blackhole;
	uint8_t family;        /* of its routes, or of its gateway */
	struct cw_fib_hop hop; /* weight 0 */
};

struct fib_group {
	bool there;    /* in the kernel */
	bool moved;    /* its hops changed by themselves; to be told */
	bool nameless; /* adopted with members that aren't ours: found by nobody, and goes */
	uint8_t family;
	uint32_t uses;
	size_t routes;
	size_t dead; /* of these: to be deleted */
	size_t n_key, n_want;
	struct cw_fib_hop key[CW_FIB_HOPS_MAX];  /* sorted: what it was made with */
	struct cw_fib_hop want[CW_FIB_HOPS_MAX]; /* what it shall lead over */
	uint16_t below[CW_FIB_HOPS_MAX];         /* number of each one's nexthop object */
	size_t n_have;                           /* what the kernel has */
	struct cw_nl_member have[CW_FIB_HOPS_MAX];
};

struct cw_fib {
	struct cw_fib_conf conf;
	bool groups_work;
	cw_fib_failed_fn *failed;
	void *failed_arg;
	struct cw_nl_sock *sock, *events;

	struct cw_fib_table tables[2]; /* IPv4, IPv6 */
	struct fib_hop hops[FIB_HOPS];
	struct fib_group *groups[CW_FIB_GROUPS_MAX + 1]; /* by number, from 1 */
	bool foreign_group[CW_FIB_GROUPS_MAX + 1];       /* ids that somebody else has */
	size_t n_groups;
	bool garbage;     /* groups or hops may be without use */
	bool routes_lost; /* the kernel took routes away; to be told */
	bool check_hops;  /* devices changed, or somebody touched nexthops */

	/* the batch */
	uint8_t *batch;
	size_t batch_len, batch_n;
	enum cw_rc sent_rc; /* of batches since the last flush: the first error */
	struct cw_kernel_err sent_err;
	/* Prefixes added in this batch, by hash: what comes next for one of them waits until it is
	 * known whether the kernel took it. */
	uint8_t added[FIB_ADDED_BITS / 8];
	bool adds;

	/* Routes to be deleted: as a list while they are few, else by their mark alone. */
	struct cw_prefix dead[FIB_DEAD_LIST];
	size_t n_listed; /* FIB_DEAD_LIST + 1: more than fit */

	uint64_t requests, batches, refused, resyncs;
	size_t n_failed, n_adopted, n_dead;
};

static inline uint32_t fib_group_id(unsigned number)
{
	return CW_NEXTHOP_ID_BASE + FIB_GROUPS_AT + number;
}

static inline uint32_t fib_hop_id(unsigned number)
{
	return CW_NEXTHOP_ID_BASE + number;
}

static inline struct cw_fib_table *fib_table(struct cw_fib *fib, uint8_t family)
{
	return &fib->tables[family == CW_FAMILY_IPV6];
}

enum cw_rc cw_fib_fail(struct cw_kernel_err *reterr, enum cw_rc rc, int err, const char *text);

/* ---- fib.c ---- */

/* Marks, with the counters kept. */
void cw_fib_set_flag(struct cw_fib *fib, struct cw_fib_mark *mark, uint8_t flag, bool on);
/* Takes an entry out, its group's count with it. */
void cw_fib_forget(struct cw_fib *fib, struct cw_fib_table *t, struct cw_fib_mark *mark);

enum cw_fib_op {
	FIB_OP_ADD,    /* where none is */
	FIB_OP_BESIDE, /* beside one of ours, which then goes */
	FIB_OP_DEL,
};

/* The way of a group as a route has it. */
void cw_fib_way(struct cw_fib *fib, unsigned group, struct cw_nl_learned *route);
/* Appends to the batch, sending it before when it is full. */
void cw_fib_queue(struct cw_fib *fib, enum cw_fib_op op, const struct cw_nl_learned *route);
/* Has a prefix of the table that the kernel holds over `from` go over `to`. */
void cw_fib_queue_move(struct cw_fib *fib, const struct cw_prefix *prefix,
	const struct cw_nl_learned *from, unsigned to);
/* Sends the batch; keeps the first error in sent_rc. */
void cw_fib_send(struct cw_fib *fib);
/* Sends the batch and takes the first error since last time. */
enum cw_rc cw_fib_send_all(struct cw_fib *fib, struct cw_kernel_err *reterr);

/* ---- fib_group.c ---- */

/* The group with this id, NULL: none such. */
struct fib_group *cw_fib_group_of(const struct cw_fib *fib, uint32_t id, unsigned *ret_number);
/* Reads the nexthops of the kernel into `there` and `have`. adopt: makes those that aren't known.
 */
enum cw_rc cw_fib_nexthops_read(struct cw_fib *fib, bool adopt, struct cw_kernel_err *reterr);
/* Reads, then makes the kernel's nexthops be as wanted. Sets moved of groups and routes_lost. */
enum cw_rc cw_fib_nexthops_mend(struct cw_fib *fib, struct cw_kernel_err *reterr);
/* Removes groups and hops without use. */
void cw_fib_nexthops_collect(struct cw_fib *fib);
/* Removes all of ours from the kernel and forgets them; their routes go with them. */
enum cw_rc cw_fib_nexthops_clear(struct cw_fib *fib, struct cw_kernel_err *reterr);
/* The group (by number) that plain routes over these hops belong to, made if need be; 0: none. */
unsigned cw_fib_group_for_hops(
	struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hops, size_t n);
/* Do two plain routes go over the same hops, in whatever order? */
bool cw_fib_same_hops(uint8_t family, const struct cw_nl_learned *a, const struct cw_nl_learned *b);
void cw_fib_groups_free(struct cw_fib *fib);

/* Has a group that was deleted with its routes again, when it is still in use. */
enum cw_rc cw_fib_group_remake(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr);
/* Takes a group and its routes from the kernel; what is known of them stays. */
enum cw_rc cw_fib_group_unmake(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr);

/* ---- fib_dead.c ---- */

/* Marks a route of the kernel to be deleted. */
void cw_fib_kill(struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark);
/* Queues their deletion. */
void cw_fib_bury(struct cw_fib *fib);

/* ---- fib_sync.c ---- */

/* Sends all routes of a group again, whose way was `from`: where there are no groups. */
enum cw_rc cw_fib_resend(struct cw_fib *fib, unsigned group, const struct cw_nl_learned *from,
	struct cw_kernel_err *reterr);

/* ---- fib_event.c ---- */
enum cw_rc cw_fib_events_open(struct cw_fib *fib, struct cw_kernel_err *reterr);

#endif
