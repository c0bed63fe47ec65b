/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/fib.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/random.h>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "nl/fib_priv.h"

/* A route is about 52 bytes. Larger ones gain nothing that can be measured, smaller ones cost up to
 * 8 % more; while one is worked on, 2 ms, nobody else has the loop. */
#define BATCH_BYTES 65536
#define BATCH_BYTES_MIN CW_NEXTHOP_MSG_MAX
#define BATCH_BYTES_MAX (1 << 20)
/* The kernel's answer to a refused request takes about 1.3 KiB of its accounting: room for a batch
 * of nothing but those. */
#define ROOM_A_REQUEST 2048
#define REQUEST_BYTES_MIN 44
#define COMPAT_MODE "/proc/sys/net/ipv4/nexthop_compat_mode"

enum cw_rc cw_fib_fail(struct cw_kernel_err *reterr, enum cw_rc rc, int err, const char *text)
{
	if (reterr) {
		reterr->err = err;
		snprintf(reterr->text, sizeof(reterr->text), "%s", text);
	}
	return rc;
}

static void ignore(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	(void)arg;
}

static void restart(void *arg)
{
	(void)arg;
}

/* Does the kernel know nexthop objects? */
static enum cw_rc probe(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[64];
	struct cw_kernel_err err = { 0 };
	size_t len = cw_nl_build_nexthop_dump(buf, sizeof(buf));
	enum cw_rc rc = cw_nl_dump(fib->sock, buf, len, ignore, restart, NULL, &err);

	if (rc != CW_OK && rc != CW_E_UNSUPPORTED && err.err != EINVAL) {
		if (reterr)
			*reterr = err;
		return rc;
	}
	fib->groups_work = rc == CW_OK;
	return CW_OK;
}

static enum cw_rc open_all(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	size_t bytes = fib->conf.batch_bytes;
	uint64_t seed;
	enum cw_rc rc;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return cw_fib_fail(reterr, CW_E_SYSTEM, errno, "getrandom");
	cw_fib_table_init(&fib->tables[0], CW_FAMILY_IPV4, seed);
	cw_fib_table_init(&fib->tables[1], CW_FAMILY_IPV6, seed);
	fib->batch = calloc(1, bytes);
	if (!fib->batch)
		return cw_fib_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "");
	rc = cw_nl_open(NETLINK_ROUTE, &fib->sock, reterr);
	if (rc != CW_OK)
		return rc;
	cw_nl_room(
		fib->sock, (int)bytes * 2, (int)(bytes / REQUEST_BYTES_MIN + 1) * ROOM_A_REQUEST);
	if (!fib->conf.plain)
		rc = probe(fib, reterr);
	return rc == CW_OK ? cw_fib_events_open(fib, reterr) : rc;
}

enum cw_rc cw_fib_new(const struct cw_fib_conf *conf, cw_fib_failed_fn *failed, void *arg,
	struct cw_fib **ret_fib, struct cw_kernel_err *reterr)
{
	struct cw_fib *fib;
	enum cw_rc rc;

	if (conf->metric == 0 ||
		(conf->batch_bytes && (conf->batch_bytes < BATCH_BYTES_MIN ||
					      conf->batch_bytes > BATCH_BYTES_MAX)))
		return cw_fib_fail(reterr, CW_E_INVALID, EINVAL, "metric or size of batches");
	fib = calloc(1, sizeof(*fib));
	if (!fib)
		return cw_fib_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "");
	fib->conf = *conf;
	fib->failed = failed;
	fib->failed_arg = arg;
	if (fib->conf.table == 0)
		fib->conf.table = RT_TABLE_MAIN;
	if (fib->conf.batch_bytes == 0)
		fib->conf.batch_bytes = BATCH_BYTES;
	rc = open_all(fib, reterr);
	if (rc != CW_OK) {
		cw_fib_free(fib);
		return rc;
	}
	*ret_fib = fib;
	return CW_OK;
}

void cw_fib_free(struct cw_fib *fib)
{
	if (!fib)
		return;
	cw_nl_close(fib->sock);
	cw_nl_close(fib->events);
	cw_fib_groups_free(fib);
	cw_fib_table_clear(&fib->tables[0]);
	cw_fib_table_clear(&fib->tables[1]);
	free(fib->batch);
	free(fib);
}

bool cw_fib_has_groups(const struct cw_fib *fib)
{
	return fib->groups_work;
}

/* ---- marks ---- */

void cw_fib_set_flag(struct cw_fib *fib, struct cw_fib_mark *mark, uint8_t flag, bool on)
{
	bool is = mark->flags & flag;
	size_t *count = flag == CW_FIB_FAILED ? &fib->n_failed
			: flag == CW_FIB_DEAD ? &fib->n_dead
					      : &fib->n_adopted;

	if (is == on)
		return;
	mark->flags ^= flag;
	*count += on ? 1 : (size_t)-1;
	if (flag == CW_FIB_DEAD)
		fib->groups[mark->group]->dead += on ? 1 : (size_t)-1;
}

void cw_fib_forget(struct cw_fib *fib, struct cw_fib_table *t, struct cw_fib_mark *mark)
{
	cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
	cw_fib_set_flag(fib, mark, CW_FIB_ADOPTED, false);
	cw_fib_set_flag(fib, mark, CW_FIB_DEAD, false);
	if (fib->groups[mark->group] && --fib->groups[mark->group]->routes == 0)
		fib->garbage = true;
	cw_fib_table_del(t, mark);
}

/* ---- the batch ---- */

/* What the kernel has said no to. */
static void on_refused(
	size_t index, const struct nlmsghdr *request, const struct cw_kernel_err *err, void *arg)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_nl_learned route;
	struct cw_fib_mark *mark;
	struct cw_fib *fib = arg;
	uint8_t protocol;
	bool del = request->nlmsg_type == RTM_DELROUTE;
	enum cw_rc rc = cw_rc_from_errno(err->err);

	(void)index;
	/* Gone is gone; and what is to stand beside an equal one stands. */
	if ((del && err->err == ESRCH) ||
		(!del && err->err == EEXIST && !(request->nlmsg_flags & NLM_F_EXCL)))
		return;
	fib->refused++;
	if (!cw_nl_parse_learned(request, request->nlmsg_len, &route, hops, &protocol))
		return;
	mark = cw_fib_table_find(fib_table(fib, route.dst.addr.family), &route.dst);
	/* It may have been set to another group since. */
	if (!del && mark && (!fib->groups_work || route.nexthop == fib_group_id(mark->group)))
		cw_fib_set_flag(fib, mark, CW_FIB_FAILED, true);
	if (fib->failed)
		fib->failed(&route.dst, del || !mark ? 0 : fib_group_id(mark->group), rc, err,
			fib->failed_arg);
}

void cw_fib_send(struct cw_fib *fib)
{
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc;

	if (fib->batch_n == 0)
		return;
	rc = cw_nl_bulk(fib->sock, fib->batch, fib->batch_len, fib->batch_n, on_refused, fib, &err);
	fib->requests += fib->batch_n;
	fib->batches++;
	fib->batch_len = fib->batch_n = 0;
	if (fib->adds)
		memset(fib->added, 0, sizeof(fib->added));
	fib->adds = false;
	if (rc != CW_OK && fib->sent_rc == CW_OK) {
		fib->sent_rc = rc;
		fib->sent_err = err;
	}
}

enum cw_rc cw_fib_send_all(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	enum cw_rc rc;

	cw_fib_bury(fib);
	cw_fib_send(fib);
	rc = fib->sent_rc;
	if (rc != CW_OK && reterr)
		*reterr = fib->sent_err;
	fib->sent_rc = CW_OK;
	return rc;
}

void cw_fib_way(struct cw_fib *fib, unsigned group, struct cw_nl_learned *route)
{
	const struct fib_group *g = fib->groups[group];

	route->table = fib->conf.table;
	route->metric = fib->conf.metric;
	route->nexthop = fib->groups_work ? fib_group_id(group) : 0;
	route->hops = g->want;
	route->n = fib->groups_work ? 0 : g->n_want;
	/* IPv6 balances over gateways alone, unless it has groups; it would make several routes. */
	for (size_t i = 0; g->family == CW_FAMILY_IPV6 && i < route->n; i++)
		if (g->want[i].gateway.family == CW_FAMILY_NONE)
			route->n = 1;
}

static size_t build(struct cw_fib *fib, enum cw_fib_op op, const struct cw_nl_learned *route)
{
	uint8_t *at = fib->batch + fib->batch_len;
	size_t room = fib->conf.batch_bytes - fib->batch_len;

	if (op == FIB_OP_DEL)
		return cw_nl_build_dellearned(route, at, room);
	return cw_nl_build_newlearned(
		route, op == FIB_OP_ADD ? CW_NL_LEARNED_ALONE : CW_NL_LEARNED_BESIDE, at, room);
}

void cw_fib_queue(struct cw_fib *fib, enum cw_fib_op op, const struct cw_nl_learned *route)
{
	static const struct cw_kernel_err err = {
		.err = EINVAL,
		.text = "a route that can't be told to the kernel",
	};
	size_t len = build(fib, op, route);

	if (len == 0 && fib->batch_n) {
		cw_fib_send(fib);
		len = build(fib, op, route);
	}
	if (len == 0) {
		if (fib->failed)
			fib->failed(&route->dst, 0, CW_E_BUG, &err, fib->failed_arg);
		return;
	}
	fib->batch_len += MNL_ALIGN(len);
	fib->batch_n++;
}

static uint32_t added_bit(struct cw_fib *fib, const struct cw_prefix *prefix)
{
	return cw_fib_table_hash(fib_table(fib, prefix->addr.family), prefix) % FIB_ADDED_BITS;
}

static void queue_add(struct cw_fib *fib, const struct cw_prefix *prefix, unsigned group)
{
	uint32_t bit = added_bit(fib, prefix);
	struct cw_nl_learned route = { .dst = *prefix };

	cw_fib_way(fib, group, &route);
	cw_fib_queue(fib, FIB_OP_ADD, &route);
	fib->added[bit / 8] |= (uint8_t)(1u << bit % 8);
	fib->adds = true;
}

void cw_fib_queue_move(struct cw_fib *fib, const struct cw_prefix *prefix,
	const struct cw_nl_learned *from, unsigned to)
{
	struct cw_nl_learned route = { .dst = *prefix };

	cw_fib_way(fib, to, &route);
	/* Without groups IPv6 would make one route of the two. */
	if (!fib->groups_work && prefix->addr.family == CW_FAMILY_IPV6) {
		cw_fib_queue(fib, FIB_OP_DEL, from);
		cw_fib_queue(fib, FIB_OP_ADD, &route);
		return;
	}
	cw_fib_queue(fib, FIB_OP_BESIDE, &route);
	cw_fib_queue(fib, FIB_OP_DEL, from);
}

/* ---- routes ---- */

enum cw_rc cw_fib_route_set(struct cw_fib *fib, const struct cw_prefix *prefix, uint32_t id)
{
	struct cw_fib_table *t = fib_table(fib, prefix->addr.family);
	struct cw_nl_learned from = { .dst = *prefix };
	struct cw_fib_mark *mark;
	struct fib_group *g;
	unsigned number, old;
	bool made, add;

	g = cw_fib_group_of(fib, id, &number);
	if (!g || g->family != prefix->addr.family || prefix->len > cw_family_bits(g->family) ||
		cw_prefix_has_host_bits(prefix))
		return CW_E_INVALID;
	mark = cw_fib_table_put(t, prefix, &made);
	if (!mark)
		return CW_E_NO_MEMORY;
	old = mark->group;
	cw_fib_set_flag(fib, mark, CW_FIB_ADOPTED, false);
	cw_fib_set_flag(fib, mark, CW_FIB_DEAD, false);
	if (!made && old == number && !(mark->flags & CW_FIB_FAILED))
		return CW_OK;
	/* Should the kernel refuse the one that is to be moved, "beside" would sneak it in. */
	if (!made && fib->added[added_bit(fib, prefix) / 8] & 1u << added_bit(fib, prefix) % 8)
		cw_fib_send(fib);
	add = made || mark->flags & CW_FIB_FAILED;
	cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
	if (!made && --fib->groups[old]->routes == 0)
		fib->garbage = true;
	mark->group = (uint16_t)number;
	g->routes++;
	if (add) {
		queue_add(fib, prefix, number);
	} else {
		cw_fib_way(fib, old, &from);
		cw_fib_queue_move(fib, prefix, &from, number);
	}
	return CW_OK;
}

enum cw_rc cw_fib_route_del(struct cw_fib *fib, const struct cw_prefix *prefix)
{
	struct cw_fib_table *t = fib_table(fib, prefix->addr.family);
	struct cw_fib_mark *mark = cw_fib_table_find(t, prefix);

	if (prefix->addr.family != t->family || !mark)
		return CW_OK;
	cw_fib_set_flag(fib, mark, CW_FIB_ADOPTED, false);
	if (mark->flags & CW_FIB_FAILED)
		cw_fib_forget(fib, t, mark);
	else
		cw_fib_kill(fib, prefix, mark);
	return CW_OK;
}

uint32_t cw_fib_route_get(const struct cw_fib *fib, const struct cw_prefix *prefix)
{
	const struct cw_fib_table *t = &fib->tables[prefix->addr.family == CW_FAMILY_IPV6];
	const struct cw_fib_mark *mark = cw_fib_table_find(t, prefix);

	return mark && !(mark->flags & CW_FIB_DEAD) ? fib_group_id(mark->group) : 0;
}

uint32_t cw_fib_route_in_kernel(const struct cw_fib *fib, const struct cw_prefix *prefix)
{
	const struct cw_fib_table *t = &fib->tables[prefix->addr.family == CW_FAMILY_IPV6];
	const struct cw_fib_mark *mark = cw_fib_table_find(t, prefix);

	return mark && !(mark->flags & (CW_FIB_DEAD | CW_FIB_FAILED)) ? fib_group_id(mark->group) : 0;
}

enum cw_rc cw_fib_flush(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = cw_fib_send_all(fib, reterr);

	if (rc == CW_E_BUSY)
		rc = cw_fib_resync(fib, reterr);
	if (rc == CW_OK && fib->garbage)
		cw_fib_nexthops_collect(fib);
	return rc;
}

/* ---- figures, settings ---- */

void cw_fib_stats(const struct cw_fib *fib, struct cw_fib_stats *ret_stats)
{
	struct cw_fib_stats stats = {
		.routes = fib->tables[0].n + fib->tables[1].n - fib->n_dead,
		.failed = fib->n_failed,
		.unclaimed = fib->n_adopted,
		.groups = fib->n_groups,
		.bytes = sizeof(*fib) + fib->conf.batch_bytes +
			 fib->n_groups * sizeof(struct fib_group) +
			 fib->tables[0].cap * fib->tables[0].stride +
			 fib->tables[1].cap * fib->tables[1].stride,
		.requests = fib->requests,
		.batches = fib->batches,
		.refused = fib->refused,
		.resyncs = fib->resyncs,
	};

	for (unsigned i = 1; i < FIB_HOPS; i++)
		stats.hops += fib->hops[i].used && fib->hops[i].there;
	*ret_stats = stats;
}

int cw_fib_compat_mode(void)
{
	char text[16] = "";
	int fd = open(COMPAT_MODE, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? text[0] != '0' : -1;
}

enum cw_rc cw_fib_set_compat_mode(bool on)
{
	int fd = open(COMPAT_MODE, O_WRONLY | O_CLOEXEC);
	enum cw_rc rc = CW_OK;

	if (fd < 0)
		return cw_rc_from_errno(errno);
	if (write(fd, on ? "1" : "0", 1) != 1)
		rc = cw_rc_from_errno(errno);
	close(fd);
	return rc;
}
