/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Routes: wanted and present are two sorted lists, and the kernel gets the difference.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#define PASSES_MAX 3             /* when acks are lost, look again */
#define IPV6_METRIC_DEFAULT 1024 /* what the kernel makes of 0 */

struct route_list {
	struct cw_nl_route *routes;
	size_t n, room;
	bool no_memory;
};

static void list_add(struct route_list *list, const struct cw_nl_route *route)
{
	struct cw_nl_route *grown;
	size_t room;

	if (list->n == list->room) {
		room = list->room ? list->room * 2 : 256;
		grown = realloc(list->routes, room * sizeof(*grown));
		if (!grown) {
			list->no_memory = true;
			return;
		}
		list->routes = grown;
		list->room = room;
	}
	list->routes[list->n++] = *route;
}

static int compare(const void *a, const void *b)
{
	return cw_nl_route_compare(a, b);
}

static void list_sort(struct route_list *list)
{
	size_t n = 0;

	if (list->n < 2)
		return;
	qsort(list->routes, list->n, sizeof(*list->routes), compare);
	for (size_t i = 1; i < list->n; i++)
		if (cw_nl_route_compare(&list->routes[n], &list->routes[i]))
			list->routes[++n] = list->routes[i];
	list->n = n + 1;
}

/* The first error is the one that is told. */
struct outcome {
	enum cw_rc rc;
	struct cw_kernel_err *reterr;
	bool again; /* acks were lost: what happened has to be looked up */
};

static void note(struct outcome *out, enum cw_rc rc, const struct cw_nl_route *route,
	const struct cw_kernel_err *err)
{
	char text[CW_PREFIX_TEXT_MAX];

	if (out->rc != CW_OK)
		return;
	out->rc = rc;
	cw_kernel_nl_fail(out->reterr, rc, err->err, "route %s metric %" PRIu32 ": %s",
		cw_prefix_print(&route->dst, text, sizeof(text)), route->metric,
		rc == CW_E_EXISTS ? "one that is not ours is there"
		: err->text[0]    ? err->text
				  : strerror(err->err));
}

/* ---- wanted ---- */

/* Names that were looked up. From the second on, all are read in one go. */
struct ifnames {
	bool asked;
	char first[CW_IFNAME_SIZE];
	int first_ifindex;
	struct cw_kernel_links all; /* by name */
};

static int by_ifname(const void *a, const void *b)
{
	const struct cw_nl_link *x = a, *y = b;

	return strcmp(x->ifname, y->ifname);
}

static int look_up(struct kernel_nl *k, struct ifnames *names, const char *ifname)
{
	struct cw_nl_link like = { 0 };
	const struct cw_nl_link *found;

	if (!names->all.links) {
		if (cw_kernel_nl_links_locked(k, true, &names->all, NULL) != CW_OK ||
			!names->all.links)
			return 0;
		qsort(names->all.links, names->all.n, sizeof(*names->all.links), by_ifname);
	}
	snprintf(like.ifname, sizeof(like.ifname), "%s", ifname);
	found = bsearch(&like, names->all.links, names->all.n, sizeof(like), by_ifname);
	return found ? found->ifindex : 0;
}

/* 0: there is none. */
static int ifindex_of(struct kernel_nl *k, struct ifnames *names, const char *ifname)
{
	struct cw_nl_link link = { 0 };

	if (names->asked && !strcmp(names->first, ifname))
		return names->first_ifindex;
	if (names->asked)
		return look_up(k, names, ifname);
	names->asked = true;
	snprintf(names->first, sizeof(names->first), "%s", ifname);
	if (cw_kernel_nl_link_get_locked(k, ifname, &link, NULL) == CW_OK)
		names->first_ifindex = link.ifindex;
	return names->first_ifindex;
}

static void list_want(struct kernel_nl *k, const struct cw_route *want, size_t n,
	struct route_list *list, struct outcome *out)
{
	struct cw_kernel_err err = { .err = ENODEV };
	struct ifnames names = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct cw_nl_route route = {
			.dst = cw_prefix_network(&want[i].dst),
			.kind = want[i].kind,
			.metric = want[i].metric,
		};

		if (route.metric == 0 && route.dst.addr.family == CW_FAMILY_IPV6)
			route.metric = IPV6_METRIC_DEFAULT;
		if (route.kind == CW_ROUTE_UNICAST) {
			route.src = want[i].src;
			route.ifindex = ifindex_of(k, &names, want[i].ifname);
			if (route.ifindex == 0) {
				snprintf(err.text, sizeof(err.text), "no interface %s",
					want[i].ifname);
				note(out, CW_E_NOT_FOUND, &route, &err);
				continue;
			}
		}
		list_add(list, &route);
	}
	free(names.all.links);
	list_sort(list);
}

/* ---- present ---- */

struct reading {
	struct route_list *list;
	size_t start; /* routes of the other family are before this */
};

static void have_restart(void *arg)
{
	struct reading *r = arg;

	r->list->n = r->start;
}

static void have_add(const struct nlmsghdr *nlh, void *arg)
{
	struct reading *r = arg;
	struct cw_nl_route route;

	if (cw_nl_parse_route(nlh, nlh->nlmsg_len, &route))
		list_add(r->list, &route);
}

static enum cw_rc list_have(
	struct kernel_nl *k, struct route_list *list, struct cw_kernel_err *reterr)
{
	static const enum cw_family families[] = { CW_FAMILY_IPV4, CW_FAMILY_IPV6 };
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_kernel_err err = { 0 };

	list->n = 0;
	for (size_t i = 0; i < 2; i++) {
		struct reading r = { .list = list, .start = list->n };
		size_t len = cw_nl_build_route_dump(families[i], buf, sizeof(buf));
		enum cw_rc rc = cw_nl_dump(k->route, buf, len, have_add, have_restart, &r, &err);

		/* A main table that nobody has put a route in is not there (ENOENT), and IPv6 may
		 * be missing altogether. */
		if (rc == CW_OK || rc == CW_E_NOT_FOUND || rc == CW_E_UNSUPPORTED)
			continue;
		if (reterr)
			*reterr = err;
		return rc;
	}
	if (list->no_memory)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	list_sort(list);
	return CW_OK;
}

/* ---- the difference ---- */

struct op {
	const struct cw_nl_route *route;
	enum cw_nl_route_mode mode;
	bool del;
};

static void judge(const struct op *op, const struct cw_kernel_err *ack, struct outcome *out)
{
	enum cw_rc rc = cw_rc_from_errno(ack->err);

	if (ack->err == ENOBUFS)
		out->again = true;
	else if (rc != CW_OK && !(op->del && rc == CW_E_NOT_FOUND))
		note(out, rc, op->route, ack);
}

/* Carries out ops[0..n) in order, many to a datagram. */
static void carry_out(struct kernel_nl *k, const struct op *ops, size_t n, struct outcome *out)
{
	_Alignas(8) uint8_t buf[CW_NL_BATCH_BYTES];
	struct cw_kernel_err acks[CW_NL_BATCH_MAX];
	const struct cw_kernel_err not_built = { .err = EINVAL };
	const struct op *batch[CW_NL_BATCH_MAX];
	size_t done = 0;

	while (done < n) {
		size_t len = 0, count = 0;
		enum cw_rc rc;

		for (; done < n && count < CW_NL_BATCH_MAX; done++) {
			const struct op *op = &ops[done];
			size_t one, room = sizeof(buf) - len;

			if (room < CW_ROUTE_MSG_MAX)
				break;
			one = op->del ? cw_nl_build_delroute(op->route, buf + len, room)
				      : cw_nl_build_newroute(op->route, op->mode, buf + len, room);
			if (one == 0) {
				note(out, CW_E_INVALID, op->route, &not_built);
				continue;
			}
			len += MNL_ALIGN(one);
			batch[count++] = op;
		}
		rc = cw_nl_batch(k->route, buf, len, acks, count);
		for (size_t i = 0; i < count; i++)
			judge(batch[i], &acks[i], out);
		if (rc != CW_OK && rc != CW_E_BUSY)
			return;
	}
}

/* First of ours that shares dst and metric with the route, or list->n. */
static size_t find_rival(const struct route_list *list, const struct cw_nl_route *route)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct cw_nl_route *at = &list->routes[mid];
		int diff = cw_prefix_compare(&at->dst, &route->dst);

		if (diff < 0 || (diff == 0 && at->metric < route->metric))
			low = mid + 1;
		else
			high = mid;
	}
	if (low < list->n && cw_prefix_compare(&list->routes[low].dst, &route->dst) == 0 &&
		list->routes[low].metric == route->metric)
		return low;
	return list->n;
}

/* How to add where a route of ours that has to go is in the way. A foreign one in the way is an
 * error, so plain adding is the rule. IPv4 can hold both for a moment, and deleting names the old
 * one to the last detail; IPv6 deletes by device alone, and so must replace. */
static enum cw_nl_route_mode mode_of(
	const struct cw_nl_route *route, const struct route_list *have, bool *replaced)
{
	size_t i = find_rival(have, route);

	if (i == have->n)
		return CW_NL_ROUTE_ALONE;
	if (route->dst.addr.family == CW_FAMILY_IPV4)
		return CW_NL_ROUTE_BESIDE;
	replaced[i] = true;
	return CW_NL_ROUTE_REPLACE;
}

static bool listed(const struct route_list *list, const struct cw_nl_route *route)
{
	return list->n && bsearch(route, list->routes, list->n, sizeof(*list->routes), compare);
}

/* Order: unreachable ones in, unicast in, unicast out, unreachable out. At no time is a prefix
 * without a route that it had and shall have. */
static enum cw_rc apply(struct kernel_nl *k, const struct route_list *want,
	const struct route_list *have, struct outcome *out)
{
	static const enum cw_route_kind in[] = { CW_ROUTE_UNREACHABLE, CW_ROUTE_UNICAST };
	static const enum cw_route_kind gone[] = { CW_ROUTE_UNICAST, CW_ROUTE_UNREACHABLE };
	struct op *ops = calloc(want->n + have->n + 1, sizeof(*ops));
	bool *replaced = calloc(have->n + 1, sizeof(*replaced));
	size_t n = 0;

	if (!ops || !replaced) {
		free(ops);
		free(replaced);
		return CW_E_NO_MEMORY;
	}
	for (int p = 0; p < 2; p++)
		for (size_t i = 0; i < want->n; i++)
			if (want->routes[i].kind == in[p] && !listed(have, &want->routes[i]))
				ops[n++] = (struct op){
					.route = &want->routes[i],
					.mode = mode_of(&want->routes[i], have, replaced),
				};
	for (int p = 0; p < 2; p++)
		for (size_t i = 0; i < have->n; i++)
			if (have->routes[i].kind == gone[p] && !replaced[i] &&
				!listed(want, &have->routes[i]))
				ops[n++] = (struct op){ .route = &have->routes[i], .del = true };
	carry_out(k, ops, n, out);
	free(ops);
	free(replaced);
	return CW_OK;
}

static enum cw_rc sync_locked(struct kernel_nl *k, const struct cw_route *want, size_t n,
	size_t *had, struct cw_kernel_err *reterr)
{
	struct route_list wanted = { 0 }, have = { 0 };
	struct outcome first = { .reterr = reterr }, out;
	enum cw_rc rc = CW_OK;

	list_want(k, want, n, &wanted, &first);
	if (wanted.no_memory)
		rc = CW_E_NO_MEMORY;
	out = first;
	for (int pass = 0; pass < PASSES_MAX && rc == CW_OK; pass++) {
		rc = list_have(k, &have, first.rc == CW_OK ? reterr : NULL);
		if (pass == 0)
			*had = have.n;
		out = first;
		if (rc == CW_OK)
			rc = apply(k, &wanted, &have, &out);
		if (!out.again)
			break;
	}
	free(wanted.routes);
	free(have.routes);
	if (rc == CW_E_NO_MEMORY)
		return cw_kernel_nl_fail(reterr, rc, ENOMEM, "%s", "");
	if (rc == CW_OK && out.rc == CW_OK && out.again)
		return cw_kernel_nl_fail(
			reterr, CW_E_BUSY, ENOBUFS, "the kernel's answers about routes were lost");
	return out.rc != CW_OK ? out.rc : rc;
}

enum cw_rc cw_kernel_nl_routes_sync(
	struct cw_kernel *base, const struct cw_route *want, size_t n, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	size_t had = 0;
	enum cw_rc rc;

	pthread_mutex_lock(&k->route_lock);
	rc = sync_locked(k, want, n, &had, reterr);
	pthread_mutex_unlock(&k->route_lock);
	return rc;
}

/* ---- some of them ---- */

static enum cw_rc change_locked(struct kernel_nl *k, const struct route_list *add,
	const struct route_list *del, struct outcome *out)
{
	struct op *ops = calloc(add->n + del->n + 1, sizeof(*ops));
	size_t n = 0;

	if (!ops)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < add->n; i++)
		ops[n++] = (struct op){ .route = &add->routes[i], .mode = CW_NL_ROUTE_ALONE };
	for (size_t i = 0; i < del->n; i++)
		ops[n++] = (struct op){ .route = &del->routes[i], .del = true };
	carry_out(k, ops, n, out);
	free(ops);
	return out->rc == CW_OK && out->again ? CW_E_BUSY : out->rc;
}

enum cw_rc cw_kernel_nl_routes_change(struct cw_kernel *base, const struct cw_route *add,
	size_t n_add, const struct cw_route *del, size_t n_del, struct cw_kernel_err *reterr)
{
	struct outcome out = { .reterr = reterr }, gone = { .rc = CW_OK };
	struct route_list adds = { 0 }, dels = { 0 };
	struct kernel_nl *k = kernel_nl(base);
	enum cw_rc rc = CW_E_NO_MEMORY;

	pthread_mutex_lock(&k->route_lock);
	list_want(k, add, n_add, &adds, &out);
	/* With its interface a route is gone too. */
	list_want(k, del, n_del, &dels, &gone);
	if (!adds.no_memory && !dels.no_memory)
		rc = change_locked(k, &adds, &dels, &out);
	pthread_mutex_unlock(&k->route_lock);
	free(adds.routes);
	free(dels.routes);
	if (rc == CW_E_NO_MEMORY)
		return cw_kernel_nl_fail(reterr, rc, ENOMEM, "%s", "");
	return rc;
}

enum cw_rc cw_kernel_nl_routes_clean_locked(
	struct kernel_nl *k, size_t *removed, struct cw_kernel_err *reterr)
{
	size_t had = 0;
	enum cw_rc rc = sync_locked(k, NULL, 0, &had, reterr);

	*removed += had;
	return rc;
}
