/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All interfaces compared with what is wanted, in two dumps however many they are.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What the kernel has, with two orders to find a link by. */
struct have {
	struct cw_kernel_links links;
	const struct cw_nl_link **by_name, **by_claim;
	struct cw_nl_ifaddr *addrs; /* by interface */
	size_t n_addrs, room;
	bool no_memory;
};

static void restart(void *arg)
{
	struct have *have = arg;

	have->n_addrs = 0;
}

static void on_addr(const struct nlmsghdr *nlh, void *arg)
{
	struct have *have = arg;
	struct cw_nl_ifaddr addr, *grown;
	size_t room;

	if (!cw_nl_parse_addr(nlh, nlh->nlmsg_len, &addr) || addr.kernel_made)
		return;
	if (have->n_addrs == have->room) {
		room = have->room ? have->room * 2 : 64;
		grown = reallocarray(have->addrs, room, sizeof(*grown));
		if (!grown) {
			have->no_memory = true;
			return;
		}
		have->addrs = grown;
		have->room = room;
	}
	have->addrs[have->n_addrs++] = addr;
}

/* ---- orders ---- */

static int by_name(const void *a, const void *b)
{
	const struct cw_nl_link *const *x = a, *const *y = b;

	return strcmp((*x)->ifname, (*y)->ifname);
}

/* By what the kernel lets only one interface have: an if_id, or a VTI's outer ends. */
static int by_claim(const void *a, const void *b)
{
	const struct cw_nl_link *const *x = a, *const *y = b;
	int diff = strcmp((*x)->kind, (*y)->kind);

	if (!diff)
		diff = cw_addr_compare(&(*x)->vti_remote, &(*y)->vti_remote);
	if (!diff)
		diff = cw_addr_compare(&(*x)->vti_local, &(*y)->vti_local);
	if (!diff && !strcmp((*x)->kind, "xfrm"))
		diff = ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
	return diff;
}

static int by_ifindex(const void *a, const void *b)
{
	const struct cw_nl_ifaddr *x = a, *y = b;

	return (x->ifindex > y->ifindex) - (x->ifindex < y->ifindex);
}

static const struct cw_nl_link *find(const struct have *have, const struct cw_nl_link **order,
	const struct cw_nl_link *like, int (*compare)(const void *a, const void *b))
{
	const struct cw_nl_link *const *found =
		bsearch(&like, order, have->links.n, sizeof(const struct cw_nl_link *), compare);

	return found ? *found : NULL;
}

static enum cw_rc read_all(struct kernel_nl *k, struct have *have, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	size_t len = cw_nl_build_addr_dump(0, buf, sizeof(buf));
	enum cw_rc rc = cw_kernel_nl_links_locked(k, true, &have->links, reterr);

	if (rc == CW_OK)
		rc = cw_nl_dump(k->route, buf, len, on_addr, restart, have, reterr);
	if (rc != CW_OK)
		return rc;
	have->by_name = calloc(have->links.n + 1, sizeof(const struct cw_nl_link *));
	have->by_claim = calloc(have->links.n + 1, sizeof(const struct cw_nl_link *));
	if (have->no_memory || !have->by_name || !have->by_claim)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	for (size_t i = 0; i < have->links.n; i++)
		have->by_name[i] = have->by_claim[i] = &have->links.links[i];
	qsort(have->by_name, have->links.n, sizeof(const struct cw_nl_link *), by_name);
	qsort(have->by_claim, have->links.n, sizeof(const struct cw_nl_link *), by_claim);
	if (have->n_addrs)
		qsort(have->addrs, have->n_addrs, sizeof(*have->addrs), by_ifindex);
	return CW_OK;
}

/* ---- comparing ---- */

static bool addrs_fit(const struct have *have, int ifindex, const struct cw_link *want)
{
	const struct cw_nl_ifaddr like = { .ifindex = ifindex };
	const struct cw_nl_ifaddr *at = NULL, *end = have->addrs + have->n_addrs;
	size_t n = 0;

	if (have->n_addrs)
		at = bsearch(&like, have->addrs, have->n_addrs, sizeof(like), by_ifindex);
	while (at && at > have->addrs && at[-1].ifindex == ifindex)
		at--;
	for (; at && at < end && at->ifindex == ifindex; at++) {
		bool wanted = false;

		for (size_t i = 0; i < want->n_addrs; i++)
			wanted |= cw_prefix_compare(&want->addrs[i], &at->prefix) == 0;
		if (!wanted)
			return false;
		n++;
	}
	return n == want->n_addrs;
}

/* Who has what the kernel lets only one have, or NULL. */
static const struct cw_nl_link *claimer(const struct have *have, const struct cw_link *want)
{
	struct cw_nl_link like = { .id = want->id };

	memcpy(like.kind, cw_nl_link_kind(want), strlen(cw_nl_link_kind(want)) + 1);
	if (want->kind == CW_LINK_VTI && !cw_addr_is_unspecified(&want->vti_remote))
		like.vti_remote = want->vti_remote;
	if (want->kind == CW_LINK_VTI && !cw_addr_is_unspecified(&want->vti_local))
		like.vti_local = want->vti_local;
	return find(have, have->by_claim, &like, by_claim);
}

static enum cw_link_look look(const struct have *have, const struct cw_link *want)
{
	struct cw_nl_link like = { 0 };
	const struct cw_nl_link *link, *other;

	memcpy(like.ifname, want->ifname, sizeof(like.ifname));
	link = find(have, have->by_name, &like, by_name);
	if (!link) {
		/* What was renamed is given its name back. */
		other = claimer(have, want);
		return other && !cw_nl_link_fits(other, want) ? CW_LINK_BLOCKED : CW_LINK_DIFFERS;
	}
	if (!cw_nl_link_ours(link))
		return CW_LINK_BLOCKED;
	if (!cw_nl_link_fits(link, want) || cw_nl_link_vti_differs(link, want) ||
		(want->mtu && link->mtu != want->mtu) || link->up != want->up ||
		!cw_kernel_nl_settings_fit(want, link) || !addrs_fit(have, link->ifindex, want))
		return CW_LINK_DIFFERS;
	return CW_LINK_FITS;
}

enum cw_rc cw_kernel_nl_links_look(struct cw_kernel *base, const struct cw_link *want, size_t n,
	enum cw_link_look *ret_looks, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct have have = { 0 };
	enum cw_rc rc;

	pthread_mutex_lock(&k->route_lock);
	rc = read_all(k, &have, reterr);
	pthread_mutex_unlock(&k->route_lock);
	for (size_t i = 0; rc == CW_OK && i < n; i++)
		ret_looks[i] = look(&have, &want[i]);
	free(have.links.links);
	free(have.by_name);
	free(have.by_claim);
	free(have.addrs);
	return rc;
}
