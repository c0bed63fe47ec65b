/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What concerns all routes at once: taking over, reading again, removing.
 *
 * What is read and does not belong, a stray, is kept as the message that deletes it until the
 * reading is complete, since one socket can't do both at a time.
 */
#include "nl/fib_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#define RESYNC_TRIES 4

struct strays {
	uint8_t *msgs;
	size_t len, room, n;
	bool no_memory;
};

/* How a route that was read is judged: true when it may stay. */
struct reading {
	struct cw_fib *fib;
	uint8_t family;
	bool (*stays)(struct reading *r, const struct cw_nl_learned *route);
	void (*restart)(struct reading *r);
	struct strays *strays;
	size_t strays_before; /* bytes, of the other family */
	size_t n_before;
};

static void stray_add(struct strays *s, const struct cw_nl_learned *route)
{
	uint8_t *grown;
	size_t len;

	if (s->room - s->len < CW_NEXTHOP_MSG_MAX) {
		s->room = s->room * 2 + CW_NEXTHOP_MSG_MAX * 2;
		grown = realloc(s->msgs, s->room);
		if (!grown) {
			s->room = s->len;
			s->no_memory = true;
			return;
		}
		s->msgs = grown;
	}
	len = cw_nl_build_dellearned(route, s->msgs + s->len, s->room - s->len);
	s->len += MNL_ALIGN(len);
	s->n += len > 0;
}

static void on_route(const struct nlmsghdr *nlh, void *arg)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	struct cw_nl_learned route;
	struct reading *r = arg;
	uint8_t protocol;

	if (!cw_nl_parse_learned(nlh, nlh->nlmsg_len, &route, hops, &protocol) ||
		protocol != CW_LEARNED_PROTOCOL || route.dst.addr.family != r->family)
		return;
	if (route.table != r->fib->conf.table || route.metric != r->fib->conf.metric ||
		(route.nexthop != 0) != r->fib->groups_work || !r->stays(r, &route))
		stray_add(r->strays, &route);
}

static void on_restart(void *arg)
{
	struct reading *r = arg;

	r->strays->len = r->strays_before;
	r->strays->n = r->n_before;
	r->restart(r);
}

static enum cw_rc read_routes(struct cw_fib *fib,
	bool (*stays)(struct reading *r, const struct cw_nl_learned *route),
	void (*again)(struct reading *r), struct strays *strays, struct cw_kernel_err *reterr)
{
	static const enum cw_family families[] = { CW_FAMILY_IPV4, CW_FAMILY_IPV6 };

	for (size_t i = 0; i < 2; i++) {
		_Alignas(8) uint8_t buf[64];
		struct reading r = {
			.fib = fib,
			.family = (uint8_t)families[i],
			.stays = stays,
			.restart = again,
			.strays = strays,
			.strays_before = strays->len,
			.n_before = strays->n,
		};
		size_t len = cw_nl_build_learned_dump(families[i], buf, sizeof(buf));
		enum cw_rc rc = cw_nl_dump(fib->sock, buf, len, on_route, on_restart, &r, reterr);

		/* IPv6 may be missing altogether. */
		if (rc != CW_OK && rc != CW_E_UNSUPPORTED && rc != CW_E_NOT_FOUND)
			return rc;
	}
	if (strays->no_memory)
		return cw_fib_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "");
	return CW_OK;
}

/* Calls fn for each entry; fn says whether it goes. */
static void each(struct cw_fib *fib,
	bool (*fn)(struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark,
		void *arg),
	void *arg)
{
	for (size_t f = 0; f < 2; f++) {
		struct cw_fib_table *t = &fib->tables[f];

		for (size_t i = 0; i < t->cap;) {
			struct cw_prefix prefix;
			struct cw_fib_mark *mark = cw_fib_table_at(t, i, &prefix);

			if (mark && fn(fib, &prefix, mark, arg))
				cw_fib_forget(fib, t, mark);
			else
				i++;
		}
	}
}

/* ---- one group again ---- */

struct resend {
	unsigned group;
	const struct cw_nl_learned *from;
};

static bool resend_one(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	const struct resend *r = arg;
	struct cw_nl_learned from = *r->from;

	from.dst = *prefix;
	if (mark->group == r->group && !(mark->flags & CW_FIB_FAILED))
		cw_fib_queue_move(fib, prefix, &from, r->group);
	return false;
}

enum cw_rc cw_fib_resend(struct cw_fib *fib, unsigned group, const struct cw_nl_learned *from,
	struct cw_kernel_err *reterr)
{
	struct resend r = { .group = group, .from = from };

	cw_fib_send(fib);
	each(fib, resend_one, &r);
	return cw_fib_send_all(fib, reterr);
}

/* ---- strays ---- */

/* Removes strays; where the kernel holds one in the place of a route that was set, the right one
 * comes first. */
static void strays_out(struct cw_fib *fib, const struct strays *s)
{
	for (size_t at = 0; at < s->len;) {
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)(s->msgs + at);
		struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
		struct cw_nl_learned route;
		struct cw_fib_mark *mark;
		uint8_t protocol;

		at += MNL_ALIGN((size_t)nlh->nlmsg_len);
		if (!cw_nl_parse_learned(nlh, nlh->nlmsg_len, &route, hops, &protocol))
			continue;
		mark = cw_fib_table_find(fib_table(fib, route.dst.addr.family), &route.dst);
		if (mark && !(mark->flags & CW_FIB_SEEN) && route.table == fib->conf.table &&
			route.metric == fib->conf.metric) {
			mark->flags |= CW_FIB_SEEN;
			cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
			cw_fib_queue_move(fib, &route.dst, &route, mark->group);
		} else {
			cw_fib_queue(fib, FIB_OP_DEL, &route);
		}
	}
}

/* ---- adopt ---- */

static bool adopt_stays(struct reading *r, const struct cw_nl_learned *route)
{
	struct cw_fib *fib = r->fib;
	struct fib_group *g = NULL;
	struct cw_fib_mark *mark;
	unsigned number = 0;
	bool made;

	if (fib->groups_work) {
		g = cw_fib_group_of(fib, route->nexthop, &number);
	} else {
		number = cw_fib_group_for_hops(fib, r->family, route->hops, route->n);
		g = fib->groups[number];
	}
	if (!g || (g->routes && g->family != r->family))
		return false;
	mark = cw_fib_table_put(fib_table(fib, r->family), &route->dst, &made);
	if (!mark) {
		r->strays->no_memory = true;
		return true;
	}
	if (!made)
		return false;
	/* A gateway's family does not tell the routes'. */
	g->family = r->family;
	g->routes++;
	mark->group = (uint16_t)number;
	cw_fib_set_flag(fib, mark, CW_FIB_ADOPTED, true);
	return true;
}

static void adopt_restart(struct reading *r)
{
	struct cw_fib_table *t = fib_table(r->fib, r->family);

	for (size_t i = 0; i < t->cap;) {
		struct cw_fib_mark *mark = cw_fib_table_at(t, i, NULL);

		if (mark)
			cw_fib_forget(r->fib, t, mark);
		else
			i++;
	}
}

struct telling {
	void (*fn)(const struct cw_prefix *prefix, uint32_t group, void *arg);
	void *arg;
};

static bool tell(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	const struct telling *t = arg;

	(void)fib;
	t->fn(prefix, fib_group_id(mark->group), t->arg);
	return false;
}

enum cw_rc cw_fib_adopt(struct cw_fib *fib,
	void (*fn)(const struct cw_prefix *prefix, uint32_t group, void *arg), void *arg,
	struct cw_kernel_err *reterr)
{
	struct telling t = { .fn = fn, .arg = arg };
	struct strays strays = { 0 };
	enum cw_rc rc;

	if (fib->tables[0].n || fib->tables[1].n)
		return cw_fib_fail(reterr, CW_E_INVALID, EINVAL, "routes were set already");
	rc = cw_fib_nexthops_read(fib, true, reterr);
	if (rc == CW_OK)
		rc = read_routes(fib, adopt_stays, adopt_restart, &strays, reterr);
	if (rc == CW_OK) {
		strays_out(fib, &strays);
		rc = cw_fib_send_all(fib, reterr);
	}
	free(strays.msgs);
	if (rc == CW_OK && fn)
		each(fib, tell, &t);
	return rc;
}

/* ---- sweep ---- */

static bool sweep_one(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	struct cw_nl_learned route = { .dst = *prefix };
	size_t *removed = arg;

	if (!(mark->flags & CW_FIB_ADOPTED))
		return false;
	cw_fib_way(fib, mark->group, &route);
	cw_fib_queue(fib, FIB_OP_DEL, &route);
	++*removed;
	return true;
}

static bool count_claimed(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	bool *claimed = arg;

	(void)fib;
	(void)prefix;
	if (!(mark->flags & CW_FIB_ADOPTED))
		claimed[mark->group] = true;
	return false;
}

enum cw_rc cw_fib_sweep(struct cw_fib *fib, size_t *ret_removed, struct cw_kernel_err *reterr)
{
	bool claimed[CW_FIB_GROUPS_MAX + 1] = { false };
	enum cw_rc rc = CW_OK;
	size_t removed = 0;

	cw_fib_bury(fib);
	/* Groups of which nobody set a route go in one piece. */
	each(fib, count_claimed, claimed);
	for (unsigned i = 1; rc == CW_OK && i <= CW_FIB_GROUPS_MAX; i++)
		if (fib->groups[i] && fib->groups[i]->routes && !claimed[i])
			rc = cw_fib_group_drop(fib, fib_group_id(i), &removed, reterr);
	if (fib->n_adopted)
		each(fib, sweep_one, &removed);
	*ret_removed = removed;
	return rc == CW_OK ? cw_fib_flush(fib, reterr) : rc;
}

/* ---- resync ---- */

static bool resync_stays(struct reading *r, const struct cw_nl_learned *route)
{
	struct cw_fib *fib = r->fib;
	struct cw_fib_mark *mark = cw_fib_table_find(fib_table(fib, r->family), &route->dst);
	struct cw_nl_learned want = { .dst = route->dst };

	if (!mark || mark->flags & CW_FIB_SEEN)
		return false;
	cw_fib_way(fib, mark->group, &want);
	if (want.nexthop != route->nexthop)
		return false;
	if (!fib->groups_work && !cw_fib_same_hops(r->family, &want, route))
		return false;
	mark->flags |= CW_FIB_SEEN;
	cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
	return true;
}

static void resync_restart(struct reading *r)
{
	struct cw_fib_table *t = fib_table(r->fib, r->family);

	for (size_t i = 0; i < t->cap; i++) {
		struct cw_fib_mark *mark = cw_fib_table_at(t, i, NULL);

		if (mark)
			mark->flags &= (uint8_t)~CW_FIB_SEEN;
	}
}

static bool add_unseen(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	struct cw_nl_learned route = { .dst = *prefix };

	(void)arg;
	if (mark->flags & CW_FIB_SEEN)
		return false;
	/* Left by an earlier run and gone: nobody asks for it. */
	if (mark->flags & CW_FIB_ADOPTED)
		return true;
	cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
	cw_fib_way(fib, mark->group, &route);
	cw_fib_queue(fib, FIB_OP_ADD, &route);
	return false;
}

static enum cw_rc resync_once(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	struct strays strays = { 0 };
	enum cw_rc rc = cw_fib_nexthops_mend(fib, reterr);

	if (rc == CW_OK)
		rc = read_routes(fib, resync_stays, resync_restart, &strays, reterr);
	if (rc == CW_OK) {
		strays_out(fib, &strays);
		each(fib, add_unseen, NULL);
		rc = cw_fib_send_all(fib, reterr);
	}
	free(strays.msgs);
	return rc;
}

enum cw_rc cw_fib_resync(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_E_BUSY;

	cw_fib_send_all(fib, NULL); /* what became of it will be seen */
	fib->resyncs++;
	fib->routes_lost = false;
	for (int try = 0; try < RESYNC_TRIES && rc == CW_E_BUSY; try++)
		rc = resync_once(fib, reterr);
	if (rc == CW_OK)
		fib->routes_lost = false;
	if (rc == CW_OK && fib->garbage)
		cw_fib_nexthops_collect(fib);
	return rc;
}

/* ---- what was refused ---- */

static bool add_failed(
	struct cw_fib *fib, const struct cw_prefix *prefix, struct cw_fib_mark *mark, void *arg)
{
	struct cw_nl_learned route = { .dst = *prefix };

	(void)arg;
	if (!(mark->flags & CW_FIB_FAILED))
		return false;
	cw_fib_set_flag(fib, mark, CW_FIB_FAILED, false);
	cw_fib_way(fib, mark->group, &route);
	cw_fib_queue(fib, FIB_OP_ADD, &route);
	return false;
}

enum cw_rc cw_fib_retry(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	if (fib->n_failed)
		each(fib, add_failed, NULL);
	return cw_fib_flush(fib, reterr);
}

/* ---- clear ---- */

static bool nothing_stays(struct reading *r, const struct cw_nl_learned *route)
{
	(void)r;
	(void)route;
	return false;
}

static void nothing_restart(struct reading *r)
{
	(void)r;
}

enum cw_rc cw_fib_clear(struct cw_fib *fib, size_t *ret_removed, struct cw_kernel_err *reterr)
{
	struct strays strays = { 0 };
	size_t known;
	enum cw_rc rc;

	cw_fib_send_all(fib, NULL);
	known = fib->tables[0].n + fib->tables[1].n - fib->n_failed;
	rc = cw_fib_nexthops_clear(fib, reterr);
	/* What is left went over no group of ours; without groups that is all of it. */
	cw_fib_table_clear(&fib->tables[0]);
	cw_fib_table_clear(&fib->tables[1]);
	fib->n_failed = fib->n_adopted = fib->n_dead = 0;
	if (rc == CW_OK)
		rc = read_routes(fib, nothing_stays, nothing_restart, &strays, reterr);
	if (rc == CW_OK) {
		strays_out(fib, &strays);
		rc = cw_fib_send_all(fib, reterr);
	}
	*ret_removed = fib->groups_work ? known + strays.n : strays.n;
	free(strays.msgs);
	return rc;
}
