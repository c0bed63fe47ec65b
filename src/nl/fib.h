/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fib: learned routes in the kernel, over nexthop objects and groups.
 *
 * A route points at a group, a group at hops; groups with equal hops are one, so that a handful of
 * them carries any number of routes, and one message that gives a group other hops moves all its
 * routes. Kernels before 5.3 know no groups: there the routes carry the hops themselves, the calls
 * are the same, and replacing a group sends every route of it again. (IPv6 routes over several
 * devices without a gateway then use the first, for such a kernel can't share among them.)
 *
 * Whose: routes with protocol CW_LEARNED_PROTOCOL, the configured metric and table; nexthops with
 * that protocol and an id in CW_NEXTHOP_ID_BASE..+SPAN. Nothing else is changed, replaced or
 * removed. One struct cw_fib a network namespace. (Deleting a nexthop takes every route that uses
 * it, so also one that an administrator has pointed at a nexthop of ours.)
 *
 * Want and have: what was set is kept in a table (8 bytes an IPv4 route, 20 an IPv6 one, at a load
 * of 1/2 to 7/8), so that setting a route to what it is costs no message and all can be set right
 * after a loss. Routes are sent many to a message and the kernel answers for those alone that it
 * refuses; refusals come through cw_fib_failed_fn.
 *
 * Hops whose device is gone, down or without carrier are refused by the kernel. They are left out
 * of the group for as long (all of them: the group drops what is sent to it, fail closed) and come
 * back with the device, inside cw_fib_read().
 *
 * One thread. Calls block for as long as the kernel works on them: about a microsecond a route.
 */
#ifndef CW_NL_FIB_H
#define CW_NL_FIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/kernel_port.h"

#define CW_FIB_HOPS_MAX 32     /* in a group */
#define CW_FIB_GROUPS_MAX 4096 /* of one struct cw_fib */

/* One way on: a device, and on it a gateway or nothing (point to point). */
struct cw_fib_hop {
	int ifindex;
	struct cw_addr
		gateway; /* family NONE: none. An IPv6 one serves IPv4 routes too (RFC 8950). */
	bool onlink;     /* the gateway is on the device, whatever the addresses say */
	uint16_t weight; /* share of the traffic, 1..256; 0 stands for 1 */
};

struct cw_fib_conf {
	uint32_t table;     /* 0: the main table */
	uint32_t metric;    /* not 0: 0 is what people's own routes have */
	bool plain;         /* no nexthop objects, as on old kernels */
	size_t batch_bytes; /* 0: what measures best */
};

/* A route that the kernel refused. rc CW_E_EXISTS: somebody else's with the same destination and
 * metric is there. The route is then not in the kernel and is tried again when it is set again and
 * in cw_fib_resync(). group 0: it was to be deleted. May call nothing here. */
typedef void cw_fib_failed_fn(const struct cw_prefix *prefix, uint32_t group, enum cw_rc rc,
	const struct cw_kernel_err *err, void *arg);

struct cw_fib;

/* Opens sockets in the calling thread's network namespace and looks what the kernel can do. Changes
 * nothing in it. CW_E_INVALID: the conf makes no sense. failed may be NULL. */
enum cw_rc cw_fib_new(const struct cw_fib_conf *conf, cw_fib_failed_fn *failed, void *arg,
	struct cw_fib **ret_fib, struct cw_kernel_err *reterr);

/* Closes; what is in the kernel stays. What waits to be sent is not. NULL is fine. */
void cw_fib_free(struct cw_fib *fib);

/* False: plain routes, for want of nexthop objects or by the conf. */
bool cw_fib_has_groups(const struct cw_fib *fib);

/* ---- groups ---- */

/* The group for these hops, in any order, made when there is none; counts a use. n 0: one that
 * drops everything. family: of the routes that will use it. *ret_id: never 0. CW_E_INVALID: a hop
 * makes no sense. CW_E_TOO_BIG: too many hops or groups. CW_E_SYSTEM and others: the kernel's
 * refusal of something else than a device that is not up. */
enum cw_rc cw_fib_group_get(struct cw_fib *fib, enum cw_family family,
	const struct cw_fib_hop *hops, size_t n, uint32_t *ret_id, struct cw_kernel_err *reterr);

/* Makes the group lead over other hops; its routes move with it in one step, without a gap. It
 * keeps its name: cw_fib_group_get() with the hops that it was made with still gives it. n 0:
 * drops. */
enum cw_rc cw_fib_group_replace(struct cw_fib *fib, uint32_t id, const struct cw_fib_hop *hops,
	size_t n, struct cw_kernel_err *reterr);

/* Gives a use back. The group goes when there is neither use nor route of it. 0 is fine. */
void cw_fib_group_put(struct cw_fib *fib, uint32_t id);

/* Withdraws all routes that point at the group, in one step where the kernel has groups: the quick
 * end of a session. Uses stay; a route may be set to it again. Adds their number to *ret_removed
 * (may be NULL). */
enum cw_rc cw_fib_group_drop(
	struct cw_fib *fib, uint32_t id, size_t *ret_removed, struct cw_kernel_err *reterr);

/* Hops that the group has now, at most max of them: the usable ones. Returns how many; 0 also for
 * none such. */
size_t cw_fib_group_hops(
	const struct cw_fib *fib, uint32_t id, struct cw_fib_hop *ret_hops, size_t max);

/* ---- routes ---- */

/* Has the prefix lead to the group. Sent when the batch is full or with cw_fib_flush(); an error of
 * sending is the flush's. The old way is taken back after the new one is in. Order of prefixes:
 * sorted is quicker. CW_E_INVALID: not a prefix of the group's family, or no such group.
 * CW_E_NO_MEMORY. */
enum cw_rc cw_fib_route_set(struct cw_fib *fib, const struct cw_prefix *prefix, uint32_t id);

/* CW_OK also where there is none. Waits for cw_fib_flush(), for the order matters: the kernel's
 * IPv4 table gives up its longest prefixes five times as quickly when the short ones are still
 * there, and all routes of a group in one step. So flush often, but not after every few: when
 * nothing more is to be read, or after some 50 ms. Setting the prefix again before costs nothing.
 */
enum cw_rc cw_fib_route_del(struct cw_fib *fib, const struct cw_prefix *prefix);

/* Group that the prefix was set to, 0: none. */
uint32_t cw_fib_route_get(const struct cw_fib *fib, const struct cw_prefix *prefix);

/* The same, but 0 too where the kernel does not have the route, as far as is known. */
uint32_t cw_fib_route_in_kernel(const struct cw_fib *fib, const struct cw_prefix *prefix);

/* Sends what waits. On return all of it is in the kernel but what was told as failed. CW_E_BUSY:
 * the kernel's answers were lost; cw_fib_resync() finds out. Others: as it stands nothing can be
 * sent. */
enum cw_rc cw_fib_flush(struct cw_fib *fib, struct cw_kernel_err *reterr);

/* ---- as a whole ---- */

/* At start, with nothing set yet: takes over what an earlier run left. fn (may be NULL) hears of
 * each route. Setting a route claims it; its group is found by cw_fib_group_get(). */
enum cw_rc cw_fib_adopt(struct cw_fib *fib,
	void (*fn)(const struct cw_prefix *prefix, uint32_t group, void *arg), void *arg,
	struct cw_kernel_err *reterr);

/* Removes adopted routes that nobody has set since, and groups that nobody uses. */
enum cw_rc cw_fib_sweep(struct cw_fib *fib, size_t *ret_removed, struct cw_kernel_err *reterr);

/* Reads the kernel and sends the difference: what is missing is added, routes and nexthops of ours
 * that nobody set are removed. After CW_FIB_EV_RESYNC and CW_E_BUSY. */
enum cw_rc cw_fib_resync(struct cw_fib *fib, struct cw_kernel_err *reterr);

/* Sends again what the kernel refused, which is told anew where it still does: what was in the way
 * may be gone. Returns as cw_fib_flush(). */
enum cw_rc cw_fib_retry(struct cw_fib *fib, struct cw_kernel_err *reterr);

/* At stop: removes all of ours, known or not, routes before nexthops. Ids of groups end. */
enum cw_rc cw_fib_clear(struct cw_fib *fib, size_t *ret_removed, struct cw_kernel_err *reterr);

/* ---- events ---- */

enum cw_fib_event_kind {
	CW_FIB_EV_HOPS,   /* devices went or came, and the group's hops with them */
	CW_FIB_EV_TAKEN,  /* somebody took the route away; set it again to have it back */
	CW_FIB_EV_RESYNC, /* routes are missing, or events were lost: cw_fib_resync() */
};

struct cw_fib_event {
	enum cw_fib_event_kind kind;
	uint32_t group;          /* HOPS, TAKEN */
	struct cw_prefix prefix; /* TAKEN */
};

/* To poll for reading. */
int cw_fib_fd(const struct cw_fib *fib);

/* Takes what waits, bounded; mends groups. fn may call anything here but cw_fib_free(). */
void cw_fib_read(
	struct cw_fib *fib, void (*fn)(const struct cw_fib_event *ev, void *arg), void *arg);

/* ---- figures, settings ---- */

struct cw_fib_stats {
	size_t routes;    /* set, failed ones too */
	size_t failed;    /* of these: not in the kernel */
	size_t unclaimed; /* adopted and not set yet */
	size_t groups;
	size_t hops;       /* nexthop objects below the groups */
	size_t bytes;      /* of memory for all this */
	uint64_t requests; /* messages sent */
	uint64_t batches;
	uint64_t refused;
	uint64_t resyncs;
};

void cw_fib_stats(const struct cw_fib *fib, struct cw_fib_stats *ret_stats);

/* net.ipv4.nexthop_compat_mode of the calling thread's network namespace. On (the kernel's
 * default), replacing a group makes the kernel tell of each of its routes, which takes it 0.6 us a
 * route; off, others who listen hear of the group alone. -1: there is no such setting. */
int cw_fib_compat_mode(void);
/* CW_E_DENIED: the settings can't be written. */
enum cw_rc cw_fib_set_compat_mode(bool on);

#endif
