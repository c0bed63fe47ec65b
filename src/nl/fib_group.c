/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups and the hops below them: interned, made in the kernel and taken from it again.
 *
 * A group has hops that it wants, and the kernel has those whose devices are up. When a device goes
 * down, the kernel takes its nexthops out of their groups without a word, and an emptied group and
 * its routes with them; therefore nexthops are read again whenever a device changed.
 */
#include "nl/fib_priv.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- hops ---- */

static int compare_hops(const void *a, const void *b)
{
	const struct cw_fib_hop *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	if (x->onlink != y->onlink)
		return x->onlink ? 1 : -1;
	return cw_addr_compare(&x->gateway, &y->gateway);
}

static bool hop_sane(const struct cw_fib_hop *hop, uint8_t family)
{
	if (hop->ifindex <= 0 || hop->weight > 256)
		return false;
	/* Routes of IPv6 can't go through a gateway of IPv4. */
	return hop->gateway.family == CW_FAMILY_NONE || hop->gateway.family == CW_FAMILY_IPV6 ||
	       (hop->gateway.family == CW_FAMILY_IPV4 && family == CW_FAMILY_IPV4);
}

/* One form for hops that mean the same: sorted, each once, with a weight. */
static enum cw_rc normalize(uint8_t family, const struct cw_fib_hop *hops, size_t n,
	struct cw_fib_hop ret[static CW_FIB_HOPS_MAX], size_t *ret_n)
{
	size_t kept = 0;

	if (family != CW_FAMILY_IPV4 && family != CW_FAMILY_IPV6)
		return CW_E_INVALID;
	if (n > CW_FIB_HOPS_MAX)
		return CW_E_TOO_BIG;
	for (size_t i = 0; i < n; i++) {
		if (!hop_sane(&hops[i], family))
			return CW_E_INVALID;
		ret[i] = hops[i];
		if (ret[i].gateway.family == CW_FAMILY_NONE)
			ret[i].onlink = false;
		if (ret[i].weight == 0)
			ret[i].weight = 1;
	}
	if (n)
		qsort(ret, n, sizeof(*ret), compare_hops);
	for (size_t i = 1; i < n; i++) {
		if (compare_hops(&ret[kept], &ret[i])) {
			ret[++kept] = ret[i];
			continue;
		}
		ret[kept].weight = (uint16_t)(ret[kept].weight + ret[i].weight);
		if (ret[kept].weight > 256)
			ret[kept].weight = 256;
	}
	*ret_n = n ? kept + 1 : 0;
	return CW_OK;
}

static bool same_hops(
	const struct cw_fib_hop *a, size_t n_a, const struct cw_fib_hop *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (compare_hops(&a[i], &b[i]) || a[i].weight != b[i].weight)
			return false;
	return true;
}

bool cw_fib_same_hops(uint8_t family, const struct cw_nl_learned *a, const struct cw_nl_learned *b)
{
	struct cw_fib_hop x[CW_FIB_HOPS_MAX], y[CW_FIB_HOPS_MAX];
	size_t n_x, n_y;

	return normalize(family, a->hops, a->n, x, &n_x) == CW_OK &&
	       normalize(family, b->hops, b->n, y, &n_y) == CW_OK && same_hops(x, n_x, y, n_y);
}

static bool is_hop(
	const struct fib_hop *h, bool blackhole, uint8_t family, const struct cw_fib_hop *hop)
{
	return h->used && h->blackhole == blackhole && h->family == family &&
	       (blackhole || !compare_hops(&h->hop, hop));
}

/* The number of the object for a hop (NULL: of the one that drops), 0: there is no room. */
static uint16_t hop_number(struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hop)
{
	uint16_t free_one = 0;

	if (hop && hop->gateway.family != CW_FAMILY_NONE)
		family = hop->gateway.family;
	for (uint16_t i = FIB_HOPS - 1; i > 0; i--) {
		if (is_hop(&fib->hops[i], !hop, family, hop))
			return i;
		if (!fib->hops[i].used && !fib->hops[i].foreign)
			free_one = i;
	}
	if (free_one) {
		struct fib_hop *h = &fib->hops[free_one];

		*h = (struct fib_hop){ .used = true, .blackhole = !hop, .family = family };
		if (hop)
			h->hop = *hop;
		h->hop.weight = 0;
	}
	return free_one;
}

static enum cw_rc send_nexthop(struct cw_fib *fib, const struct cw_nl_nexthop *nh, bool replace,
	struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX];
	size_t len = cw_nl_build_newnexthop(nh, replace, buf, sizeof(buf));

	return cw_nl_request(fib->sock, buf, len, NULL, NULL, reterr);
}

static enum cw_rc delete_nexthop(struct cw_fib *fib, uint32_t id, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_NEXTHOP_MSG_MAX];
	size_t len = cw_nl_build_delnexthop(id, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(fib->sock, buf, len, NULL, NULL, reterr);

	return rc == CW_E_NOT_FOUND ? CW_OK : rc;
}

/* Is the refusal about the device's state, and will pass with it? */
static bool not_up(const struct fib_hop *h, int err)
{
	char ifname[IF_NAMESIZE];

	switch (err) {
	case ENETDOWN:
	case ENODEV:
	case ENETUNREACH:
	case EHOSTUNREACH:
		return true;
	case EINVAL:
		return !if_indextoname((unsigned)h->hop.ifindex, ifname);
	default:
		return false;
	}
}

/* CW_OK also for a hop that can't be now. CW_E_EXISTS: the id is somebody else's. */
static enum cw_rc make_hop(struct cw_fib *fib, uint16_t number, struct cw_kernel_err *reterr)
{
	struct fib_hop *h = &fib->hops[number];
	struct cw_nl_nexthop nh = {
		.id = fib_hop_id(number),
		.protocol = CW_LEARNED_PROTOCOL,
		.kind = h->blackhole ? CW_NL_NEXTHOP_BLACKHOLE : CW_NL_NEXTHOP_HOP,
		.family = h->family,
		.hop = h->hop,
	};
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc;

	if (h->there)
		return CW_OK;
	rc = send_nexthop(fib, &nh, false, &err);
	if (rc == CW_OK)
		h->there = true;
	else if (!h->blackhole && not_up(h, err.err))
		rc = CW_OK;
	else if (reterr)
		*reterr = err;
	return rc;
}

/* The number of a hop's object, which is in the kernel if it can be. */
static enum cw_rc ensure_hop(struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hop,
	uint16_t *ret_number, struct cw_kernel_err *reterr)
{
	enum cw_rc rc;

	do {
		*ret_number = hop_number(fib, family, hop);
		if (!*ret_number)
			return cw_fib_fail(reterr, CW_E_TOO_BIG, 0, "too many nexthops");
		rc = make_hop(fib, *ret_number, reterr);
		if (rc == CW_E_EXISTS)
			fib->hops[*ret_number] = (struct fib_hop){ .foreign = true };
	} while (rc == CW_E_EXISTS);
	return rc;
}

/* ---- groups ---- */

struct fib_group *cw_fib_group_of(const struct cw_fib *fib, uint32_t id, unsigned *ret_number)
{
	uint32_t number = id - fib_group_id(0);

	if (number == 0 || number > CW_FIB_GROUPS_MAX)
		return NULL;
	*ret_number = number;
	return fib->groups[number];
}

static bool same_members(const struct fib_group *g, const struct cw_nl_member *members, size_t n)
{
	if (g->n_have != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (g->have[i].id != members[i].id || g->have[i].weight != members[i].weight)
			return false;
	return true;
}

static void take_members(struct fib_group *g, const struct cw_nl_nexthop *nh)
{
	g->there = true;
	g->n_have = nh->n;
	memcpy(g->have, nh->members, sizeof(g->have));
}

/* Makes the kernel's group lead over those wanted hops that are there. */
static enum cw_rc program(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr)
{
	struct fib_group *g = fib->groups[number];
	struct cw_nl_nexthop nh = {
		.id = fib_group_id(number),
		.protocol = CW_LEARNED_PROTOCOL,
		.kind = CW_NL_NEXTHOP_GROUP,
	};
	enum cw_rc rc;

	for (size_t i = 0; i < g->n_want; i++)
		if (fib->hops[g->below[i]].there)
			nh.members[nh.n++] = (struct cw_nl_member){
				.id = fib_hop_id(g->below[i]),
				.weight = g->want[i].weight,
			};
	if (nh.n == 0) {
		uint16_t drop;

		rc = ensure_hop(fib, g->family, NULL, &drop, reterr);
		if (rc != CW_OK)
			return rc;
		nh.members[nh.n++] = (struct cw_nl_member){ .id = fib_hop_id(drop), .weight = 1 };
	}
	if (g->there && same_members(g, nh.members, nh.n))
		return CW_OK;
	rc = send_nexthop(fib, &nh, g->there, reterr);
	if (rc == CW_OK)
		take_members(g, &nh);
	return rc;
}

/* Objects for the wanted hops, then the group over them. What the kernel took away meanwhile
 * without our having heard is found by reading, once. */
static enum cw_rc realize(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr)
{
	struct fib_group *g = fib->groups[number];
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc = CW_OK;

	if (!fib->groups_work)
		return CW_OK;
	for (size_t i = 0; rc == CW_OK && i < g->n_want; i++)
		rc = ensure_hop(fib, g->family, &g->want[i], &g->below[i], reterr);
	if (rc != CW_OK)
		return rc;
	rc = program(fib, number, &err);
	if (rc == CW_E_INVALID || rc == CW_E_NOT_FOUND)
		rc = cw_fib_nexthops_mend(fib, &err);
	if (rc != CW_OK && reterr)
		*reterr = err;
	return rc;
}

static void want(struct fib_group *g, const struct cw_fib_hop *hops, size_t n)
{
	g->n_want = n;
	if (n)
		memcpy(g->want, hops, n * sizeof(*hops));
	memset(g->below, 0, sizeof(g->below));
}

/* 0: no memory, or no room. */
static unsigned new_group(
	struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hops, size_t n)
{
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		struct fib_group *g;

		if (fib->groups[i] || fib->foreign_group[i])
			continue;
		g = calloc(1, sizeof(*g));
		if (!g)
			return 0;
		g->family = family;
		g->n_key = n;
		if (n)
			memcpy(g->key, hops, n * sizeof(*hops));
		want(g, hops, n);
		fib->groups[i] = g;
		fib->n_groups++;
		return i;
	}
	return 0;
}

static void free_group(struct cw_fib *fib, unsigned number)
{
	free(fib->groups[number]);
	fib->groups[number] = NULL;
	fib->n_groups--;
	fib->garbage = true; /* the hops below it */
}

static unsigned find_group(
	const struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hops, size_t n)
{
	for (unsigned i = 1, left = (unsigned)fib->n_groups; left; i++) {
		const struct fib_group *g = fib->groups[i];

		if (!g)
			continue;
		if (!g->nameless && g->family == family && same_hops(g->key, g->n_key, hops, n))
			return i;
		left--;
	}
	return 0;
}

/* Makes a new group be in the kernel, under another number where somebody has its id. */
static enum cw_rc found(struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hops, size_t n,
	unsigned *ret_number, struct cw_kernel_err *reterr)
{
	enum cw_rc rc;

	do {
		*ret_number = new_group(fib, family, hops, n);
		if (!*ret_number)
			return cw_fib_fail(reterr, CW_E_TOO_BIG, 0, "too many groups");
		rc = realize(fib, *ret_number, reterr);
		if (rc == CW_OK)
			return CW_OK;
		free_group(fib, *ret_number);
		fib->foreign_group[*ret_number] = rc == CW_E_EXISTS;
	} while (rc == CW_E_EXISTS);
	cw_fib_nexthops_collect(fib);
	return rc;
}

enum cw_rc cw_fib_group_get(struct cw_fib *fib, enum cw_family family,
	const struct cw_fib_hop *hops, size_t n, uint32_t *ret_id, struct cw_kernel_err *reterr)
{
	struct cw_fib_hop sorted[CW_FIB_HOPS_MAX];
	enum cw_rc rc = normalize((uint8_t)family, hops, n, sorted, &n);
	unsigned number;

	if (rc != CW_OK)
		return cw_fib_fail(reterr, rc, EINVAL, "hops that can't be");
	number = find_group(fib, (uint8_t)family, sorted, n);
	if (!number)
		rc = found(fib, (uint8_t)family, sorted, n, &number, reterr);
	if (rc != CW_OK)
		return rc;
	fib->groups[number]->uses++;
	*ret_id = fib_group_id(number);
	return CW_OK;
}

unsigned cw_fib_group_for_hops(
	struct cw_fib *fib, uint8_t family, const struct cw_fib_hop *hops, size_t n)
{
	struct cw_fib_hop sorted[CW_FIB_HOPS_MAX];
	unsigned number;

	if (normalize(family, hops, n, sorted, &n) != CW_OK)
		return 0;
	number = find_group(fib, family, sorted, n);
	return number ? number : new_group(fib, family, sorted, n);
}

enum cw_rc cw_fib_group_replace(struct cw_fib *fib, uint32_t id, const struct cw_fib_hop *hops,
	size_t n, struct cw_kernel_err *reterr)
{
	struct cw_fib_hop sorted[CW_FIB_HOPS_MAX];
	struct fib_group old, *g;
	struct cw_nl_learned from = { 0 };
	unsigned number;
	enum cw_rc rc;

	g = cw_fib_group_of(fib, id, &number);
	if (!g)
		return cw_fib_fail(reterr, CW_E_INVALID, ENOENT, "no such group");
	rc = normalize(g->family, hops, n, sorted, &n);
	if (rc != CW_OK)
		return cw_fib_fail(reterr, rc, EINVAL, "hops that can't be");
	if (same_hops(g->want, g->n_want, sorted, n))
		return CW_OK;
	/* What is to be deleted without groups is named by the old hops. */
	if (!fib->groups_work)
		cw_fib_bury(fib);
	old = *g;
	want(g, sorted, n);
	fib->garbage = true;
	if (!fib->groups_work) {
		from = (struct cw_nl_learned){
			.table = fib->conf.table,
			.metric = fib->conf.metric,
			.hops = old.want,
			.n = old.n_want,
		};
		return cw_fib_resend(fib, number, &from, reterr);
	}
	rc = realize(fib, number, reterr);
	if (rc != CW_OK) {
		want(g, old.want, old.n_want);
		memcpy(g->below, old.below, sizeof(g->below));
	}
	return rc;
}

void cw_fib_group_put(struct cw_fib *fib, uint32_t id)
{
	unsigned number;
	struct fib_group *g = cw_fib_group_of(fib, id, &number);

	if (g && g->uses && --g->uses == 0)
		fib->garbage = true;
}

size_t cw_fib_group_hops(
	const struct cw_fib *fib, uint32_t id, struct cw_fib_hop *ret_hops, size_t max)
{
	unsigned number;
	const struct fib_group *g = cw_fib_group_of(fib, id, &number);
	size_t n = 0;

	for (size_t i = 0; g && i < g->n_want && n < max; i++)
		if (!fib->groups_work || fib->hops[g->below[i]].there)
			ret_hops[n++] = g->want[i];
	return n;
}

enum cw_rc cw_fib_group_unmake(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_OK;

	/* What waits may add routes to it. */
	cw_fib_send(fib);
	if (fib->groups_work)
		rc = delete_nexthop(fib, fib_group_id(number), reterr);
	if (rc == CW_OK)
		fib->groups[number]->there = false;
	return rc;
}

enum cw_rc cw_fib_group_remake(struct cw_fib *fib, unsigned number, struct cw_kernel_err *reterr)
{
	return fib->groups[number]->uses ? realize(fib, number, reterr) : CW_OK;
}

enum cw_rc cw_fib_group_drop(
	struct cw_fib *fib, uint32_t id, size_t *ret_removed, struct cw_kernel_err *reterr)
{
	unsigned number;
	struct fib_group *g = cw_fib_group_of(fib, id, &number);
	struct cw_fib_table *t;
	enum cw_rc rc;

	if (!g)
		return cw_fib_fail(reterr, CW_E_INVALID, ENOENT, "no such group");
	if (g->routes == 0)
		return CW_OK;
	rc = cw_fib_group_unmake(fib, number, reterr);
	if (rc != CW_OK)
		return rc;
	t = fib_table(fib, g->family);
	for (size_t i = 0; i < t->cap && g->routes;) {
		struct cw_nl_learned route = { 0 };
		struct cw_fib_mark *mark = cw_fib_table_at(t, i, &route.dst);

		if (!mark || mark->group != number) {
			i++;
			continue;
		}
		if (!fib->groups_work && !(mark->flags & CW_FIB_FAILED)) {
			cw_fib_way(fib, number, &route);
			cw_fib_queue(fib, FIB_OP_DEL, &route);
		}
		cw_fib_forget(fib, t, mark);
		if (ret_removed)
			++*ret_removed;
	}
	if (!fib->groups_work)
		cw_fib_send(fib);
	return cw_fib_group_remake(fib, number, reterr);
}

/* ---- the kernel's nexthops ---- */

struct reading {
	struct cw_nl_nexthop *nhs; /* with an id in our range */
	size_t n, room;
	bool no_memory;
};

static void reading_restart(void *arg)
{
	((struct reading *)arg)->n = 0;
}

static void reading_add(const struct nlmsghdr *nlh, void *arg)
{
	struct reading *r = arg;
	struct cw_nl_nexthop nh, *grown;

	if (!cw_nl_parse_nexthop(nlh, nlh->nlmsg_len, &nh) ||
		nh.id - CW_NEXTHOP_ID_BASE >= CW_NEXTHOP_ID_SPAN)
		return;
	if (r->n == r->room) {
		r->room = r->room ? r->room * 2 : 32;
		grown = realloc(r->nhs, r->room * sizeof(*grown));
		if (!grown) {
			r->room = r->n;
			r->no_memory = true;
			return;
		}
		r->nhs = grown;
	}
	r->nhs[r->n++] = nh;
}

static enum cw_rc read_nexthops(struct cw_fib *fib, struct reading *r, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[64];
	size_t len = cw_nl_build_nexthop_dump(buf, sizeof(buf));
	enum cw_rc rc = cw_nl_dump(fib->sock, buf, len, reading_add, reading_restart, r, reterr);

	if (rc == CW_OK && r->no_memory)
		rc = cw_fib_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "");
	return rc;
}

/* Takes a hop as it was read; false: nobody knows it. */
static bool take_hop(struct cw_fib *fib, const struct cw_nl_nexthop *nh, bool adopt)
{
	uint32_t number = nh->id - CW_NEXTHOP_ID_BASE;
	struct fib_hop *h;

	if (number == 0 || number >= FIB_HOPS ||
		(nh->kind != CW_NL_NEXTHOP_HOP && nh->kind != CW_NL_NEXTHOP_BLACKHOLE))
		return false;
	h = &fib->hops[number];
	if (!h->used && adopt)
		*h = (struct fib_hop){
			.used = true,
			.blackhole = nh->kind == CW_NL_NEXTHOP_BLACKHOLE,
			.family = nh->family,
			.hop = nh->hop,
		};
	if (!is_hop(h, nh->kind == CW_NL_NEXTHOP_BLACKHOLE, nh->family, &nh->hop))
		return false;
	h->there = true;
	return true;
}

/* What an adopted group leads over is what it was made for, as far as can be told. */
static void name_group(struct cw_fib *fib, struct fib_group *g, const struct cw_nl_nexthop *nh)
{
	struct cw_fib_hop hops[CW_FIB_HOPS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < nh->n; i++) {
		uint32_t number = nh->members[i].id - CW_NEXTHOP_ID_BASE;

		if (number == 0 || number >= FIB_HOPS || !fib->hops[number].there) {
			g->nameless = true;
			return;
		}
		if (g->family != CW_FAMILY_IPV4)
			g->family = fib->hops[number].family;
		if (fib->hops[number].blackhole)
			continue;
		hops[n] = fib->hops[number].hop;
		hops[n++].weight = nh->members[i].weight;
	}
	if (normalize(g->family, hops, n, g->key, &g->n_key) != CW_OK) {
		g->nameless = true;
		return;
	}
	want(g, g->key, g->n_key);
	for (size_t i = 0; i < g->n_want; i++)
		g->below[i] = hop_number(fib, g->family, &g->want[i]);
}

static bool take_group(struct cw_fib *fib, const struct cw_nl_nexthop *nh, bool adopt)
{
	unsigned number;
	struct fib_group *g = cw_fib_group_of(fib, nh->id, &number);

	if (nh->kind != CW_NL_NEXTHOP_GROUP || nh->id - fib_group_id(1) >= CW_FIB_GROUPS_MAX)
		return false;
	if (!g && adopt) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return false;
		fib->groups[nh->id - fib_group_id(0)] = g;
		fib->n_groups++;
		fib->garbage = true;
		name_group(fib, g, nh);
		take_members(g, nh);
	}
	if (!g)
		return false;
	if (!same_members(g, nh->members, nh->n))
		g->moved = true;
	take_members(g, nh);
	return true;
}

static bool in_groups(const struct cw_nl_nexthop *nh)
{
	return nh->id >= fib_group_id(0);
}

static void note_foreign(struct cw_fib *fib, const struct cw_nl_nexthop *nh)
{
	uint32_t number = nh->id - (in_groups(nh) ? fib_group_id(0) : CW_NEXTHOP_ID_BASE);

	if (in_groups(nh) && number <= CW_FIB_GROUPS_MAX)
		fib->foreign_group[number] = true;
	else if (!in_groups(nh) && number < FIB_HOPS && !fib->hops[number].used)
		fib->hops[number].foreign = true;
}

/* Hops before groups, since groups are told by the hops below them. */
static void take_all(struct cw_fib *fib, struct reading *r, bool adopt)
{
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < r->n; i++) {
			const struct cw_nl_nexthop *nh = &r->nhs[i];

			if (in_groups(nh) != (pass == 1))
				continue;
			if (!cw_nl_nexthop_ours(nh))
				note_foreign(fib, nh);
			else if (!(pass ? take_group(fib, nh, adopt) : take_hop(fib, nh, adopt)))
				delete_nexthop(fib, nh->id, NULL);
		}
}

enum cw_rc cw_fib_nexthops_read(struct cw_fib *fib, bool adopt, struct cw_kernel_err *reterr)
{
	struct reading r = { 0 };
	enum cw_rc rc;

	if (!fib->groups_work)
		return CW_OK;
	rc = read_nexthops(fib, &r, reterr);
	if (rc == CW_OK) {
		for (unsigned i = 1; i < FIB_HOPS; i++) {
			fib->hops[i].there = false;
			fib->hops[i].foreign = false;
		}
		memset(fib->foreign_group, 0, sizeof(fib->foreign_group));
		for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++)
			if (fib->groups[i])
				fib->groups[i]->there = false;
		take_all(fib, &r, adopt);
	}
	free(r.nhs);
	return rc;
}

static void keep_first(enum cw_rc *first, enum cw_rc rc)
{
	if (*first == CW_OK)
		*first = rc;
}

enum cw_rc cw_fib_nexthops_mend(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = cw_fib_nexthops_read(fib, false, reterr), first = CW_OK;

	if (!fib->groups_work || rc != CW_OK)
		return rc;
	fib->check_hops = false;
	for (uint16_t i = 1; i < FIB_HOPS; i++)
		if (fib->hops[i].used && !fib->hops[i].blackhole)
			keep_first(&first, make_hop(fib, i, first == CW_OK ? reterr : NULL));
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		struct fib_group *g = fib->groups[i];
		struct fib_group old;

		if (!g || g->nameless)
			continue;
		old = *g;
		keep_first(&first, program(fib, i, first == CW_OK ? reterr : NULL));
		if (!old.there && g->routes)
			fib->routes_lost = true;
		if (!old.there || !same_members(g, old.have, old.n_have))
			g->moved = true;
	}
	return first;
}

/* ---- without use ---- */

static bool hop_used(const struct cw_fib *fib, uint16_t number)
{
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		const struct fib_group *g = fib->groups[i];

		for (size_t j = 0; g && j < g->n_want; j++)
			if (g->below[j] == number)
				return true;
		for (size_t j = 0; g && j < g->n_have; j++)
			if (g->have[j].id == fib_hop_id(number))
				return true;
	}
	return false;
}

void cw_fib_nexthops_collect(struct cw_fib *fib)
{
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		struct fib_group *g = fib->groups[i];

		if (!g || g->uses || g->routes)
			continue;
		/* One that can't be deleted is met again at the next reading. */
		if (g->there)
			delete_nexthop(fib, fib_group_id(i), NULL);
		free_group(fib, i);
	}
	for (uint16_t i = 1; i < FIB_HOPS; i++) {
		if (!fib->hops[i].used || hop_used(fib, i))
			continue;
		if (fib->hops[i].there)
			delete_nexthop(fib, fib_hop_id(i), NULL);
		fib->hops[i] = (struct fib_hop){ 0 };
	}
	fib->garbage = false;
}

void cw_fib_groups_free(struct cw_fib *fib)
{
	for (unsigned i = 1; i <= CW_FIB_GROUPS_MAX; i++) {
		free(fib->groups[i]);
		fib->groups[i] = NULL;
	}
	fib->n_groups = 0;
	memset(fib->hops, 0, sizeof(fib->hops));
}

enum cw_rc cw_fib_nexthops_clear(struct cw_fib *fib, struct cw_kernel_err *reterr)
{
	struct reading r = { 0 };
	enum cw_rc rc = CW_OK;

	if (fib->groups_work)
		rc = read_nexthops(fib, &r, reterr);
	for (int pass = 0; rc == CW_OK && pass < 2; pass++)
		for (size_t i = 0; i < r.n; i++)
			if (cw_nl_nexthop_ours(&r.nhs[i]) && in_groups(&r.nhs[i]) == (pass == 0))
				keep_first(&rc, delete_nexthop(fib, r.nhs[i].id, reterr));
	free(r.nhs);
	if (rc == CW_OK)
		cw_fib_groups_free(fib);
	return rc;
}
