/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removing what an earlier run left, and everything at the end. Only what the kernel shows with a
 * sign of ours is touched.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* SPIs given to larval entries so that they can be deleted: "cw" in the upper half. */
#define CLAIM_SPI_MIN 0x63770000u
#define CLAIM_SPI_MAX 0x6377ffffu

struct sweep {
	bool drops_only; /* of the policies */
	bool no_drops;
	struct cw_xfrm_state *states;
	size_t n_states, room_states;
	struct cw_policy *policies;
	size_t n_policies, room_policies;
	bool no_memory;
};

/* Room for one more of `size` bytes each. */
static bool grow(struct sweep *s, void **array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return true;
	grown = reallocarray(*array, more, size);
	if (!grown) {
		s->no_memory = true;
		return false;
	}
	*array = grown;
	*room = more;
	return true;
}

static void sweep_restart(void *arg)
{
	struct sweep *s = arg;

	s->n_states = 0;
	s->n_policies = 0;
}

static void on_state(const struct nlmsghdr *nlh, void *arg)
{
	struct cw_xfrm_state state;
	struct sweep *s = arg;
	void *array = s->states;

	if (!cw_xfrm_parse_sa(nlh, nlh->nlmsg_len, &state) || !cw_xfrm_state_ours(&state) ||
		!grow(s, &array, s->n_states, &s->room_states, sizeof(state)))
		return;
	s->states = array;
	state.sa.enc_key = state.sa.integ_key = NULL; /* in a buffer that will be wiped */
	s->states[s->n_states++] = state;
}

/* A policy that closes a tunnel without interface, not one of libcharon's own. */
static bool is_drop(const struct cw_policy *policy)
{
	return policy->action == CW_POLICY_DROP && policy->priority == CW_DROP_PRIORITY;
}

static void on_policy(const struct nlmsghdr *nlh, void *arg)
{
	struct sweep *s = arg;
	struct cw_xfrm_pol pol;
	void *array = s->policies;

	if (!cw_xfrm_parse_policy(nlh, nlh->nlmsg_len, &pol) || !cw_xfrm_policy_ours(&pol) ||
		(s->drops_only && !is_drop(&pol.policy)) || (s->no_drops && is_drop(&pol.policy)) ||
		!grow(s, &array, s->n_policies, &s->room_policies, sizeof(pol.policy)))
		return;
	s->policies = array;
	s->policies[s->n_policies++] = pol.policy;
}

static void on_claimed(const struct nlmsghdr *nlh, void *arg)
{
	struct cw_xfrm_state *ret = arg, state;

	if (cw_xfrm_parse_sa(nlh, nlh->nlmsg_len, &state))
		ret->sa.key.spi = state.sa.key.spi;
}

static enum cw_rc remove_state(
	struct kernel_nl *k, struct cw_xfrm_state *state, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len;
	enum cw_rc rc;

	if (state->sa.key.spi == 0) {
		len = cw_xfrm_build_claim(state, CLAIM_SPI_MIN, CLAIM_SPI_MAX, buf, sizeof(buf));
		rc = cw_nl_request(k->xfrm, buf, len, on_claimed, state, reterr);
		if (rc != CW_OK)
			return rc;
	}
	return cw_kernel_nl_sa_del_locked(k, &state->sa.key, reterr);
}

static void keep_first(enum cw_rc *first, enum cw_rc rc)
{
	if (*first == CW_OK)
		*first = rc;
}

/* Policies go first: without its SA a policy would ask for one. */
static enum cw_rc clean_xfrm(
	struct kernel_nl *k, bool keep_drops, size_t *removed, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct sweep s = { .no_drops = keep_drops };
	enum cw_rc first = CW_OK, rc;

	rc = cw_nl_dump(k->xfrm, buf, cw_xfrm_build_policy_dump(buf, sizeof(buf)), on_policy,
		sweep_restart, &s, reterr);
	keep_first(&first, rc);
	for (size_t i = 0; i < s.n_policies; i++) {
		rc = cw_kernel_nl_policy_del_locked(
			k, &s.policies[i], first == CW_OK ? reterr : NULL);
		keep_first(&first, rc);
		*removed += rc == CW_OK;
	}
	rc = cw_nl_dump(k->xfrm, buf, cw_xfrm_build_sa_dump(buf, sizeof(buf)), on_state,
		sweep_restart, &s, first == CW_OK ? reterr : NULL);
	keep_first(&first, rc);
	for (size_t i = 0; i < s.n_states; i++) {
		rc = remove_state(k, &s.states[i], first == CW_OK ? reterr : NULL);
		keep_first(&first, rc);
		*removed += rc == CW_OK;
	}
	free(s.states);
	free(s.policies);
	if (s.no_memory && first == CW_OK)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	return first;
}

static int by_key(const void *a, const void *b)
{
	const struct cw_policy *x = a, *y = b;
	const uint32_t kx[] = { x->dir, x->if_id, x->mark }, ky[] = { y->dir, y->if_id, y->mark };
	int diff = cw_prefix_compare(&x->sel.src, &y->sel.src);

	if (!diff)
		diff = cw_prefix_compare(&x->sel.dst, &y->sel.dst);
	for (size_t i = 0; !diff && i < 3; i++)
		diff = (kx[i] > ky[i]) - (kx[i] < ky[i]);
	return diff;
}

static bool among(const struct cw_policy *list, size_t n, const struct cw_policy *policy)
{
	return n && bsearch(policy, list, n, sizeof(*list), by_key);
}

static enum cw_rc drops_sync_locked(
	struct kernel_nl *k, struct cw_policy *want, size_t n, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct sweep s = { .drops_only = true };
	enum cw_rc first, rc;

	first = cw_nl_dump(k->xfrm, buf, cw_xfrm_build_policy_dump(buf, sizeof(buf)), on_policy,
		sweep_restart, &s, reterr);
	if (n)
		qsort(want, n, sizeof(*want), by_key);
	if (s.n_policies)
		qsort(s.policies, s.n_policies, sizeof(*s.policies), by_key);
	for (size_t i = 0; i < n; i++) {
		if (among(s.policies, s.n_policies, &want[i]))
			continue;
		rc = cw_kernel_nl_policy_add_locked(k, &want[i], first == CW_OK ? reterr : NULL);
		keep_first(&first, rc);
	}
	for (size_t i = 0; i < s.n_policies; i++) {
		if (among(want, n, &s.policies[i]))
			continue;
		rc = cw_kernel_nl_policy_del_locked(
			k, &s.policies[i], first == CW_OK ? reterr : NULL);
		keep_first(&first, rc);
	}
	free(s.policies);
	if (s.no_memory && first == CW_OK)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	return first;
}

enum cw_rc cw_kernel_nl_drops_sync(struct cw_kernel *base, const struct cw_policy *want, size_t n,
	struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);
	struct cw_policy *sorted;

	for (size_t i = 0; rc == CW_OK && i < n; i++)
		if (!is_drop(&want[i]) || !cw_xfrm_reqid_ours(want[i].reqid))
			rc = cw_kernel_nl_fail(
				reterr, CW_E_INVALID, EINVAL, "not a drop policy of ours");
	if (rc != CW_OK)
		return rc;
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	if (n)
		memcpy(sorted, want, n * sizeof(*sorted));
	pthread_mutex_lock(&k->xfrm_lock);
	rc = drops_sync_locked(k, sorted, n, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	free(sorted);
	return rc;
}

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* keep: sorted. */
static bool kept(const char *ifname, const char **keep, size_t n)
{
	return n && bsearch(&ifname, keep, n, sizeof(const char *), by_text);
}

static enum cw_rc clean_links(struct kernel_nl *k, const char *const *keep, size_t n_keep,
	size_t *removed, struct cw_kernel_err *reterr)
{
	const char **sorted = calloc(n_keep + 1, sizeof(const char *));
	struct cw_kernel_links list;
	enum cw_rc first, rc;

	if (!sorted)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	for (size_t i = 0; i < n_keep; i++)
		sorted[i] = keep[i];
	qsort(sorted, n_keep, sizeof(const char *), by_text);
	first = cw_kernel_nl_links_locked(k, false, &list, reterr);
	for (size_t i = 0; i < list.n; i++) {
		if (kept(list.links[i].ifname, sorted, n_keep))
			continue;
		rc = cw_kernel_nl_link_del_locked(
			k, list.links[i].ifindex, first == CW_OK ? reterr : NULL);
		keep_first(&first, rc);
		*removed += rc == CW_OK;
	}
	free(list.links);
	free(sorted);
	return first;
}

enum cw_rc cw_kernel_nl_clean(struct cw_kernel *base, const char *const *keep, size_t n_keep,
	size_t *ret_removed, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	enum cw_rc first = CW_OK;
	size_t removed = 0;

	if (k->xfrm) {
		pthread_mutex_lock(&k->xfrm_lock);
		first = clean_xfrm(k, keep, &removed, reterr);
		pthread_mutex_unlock(&k->xfrm_lock);
	}
	pthread_mutex_lock(&k->route_lock);
	/* Links go before the unreachable routes beneath: nothing leaves in the clear meanwhile. */
	keep_first(&first, clean_links(k, keep, n_keep, &removed, first == CW_OK ? reterr : NULL));
	if (!keep)
		keep_first(&first, cw_kernel_nl_routes_clean_locked(
					   k, &removed, first == CW_OK ? reterr : NULL));
	pthread_mutex_unlock(&k->route_lock);
	/* What was counted was found and removed, whatever else failed. */
	*ret_removed = removed;
	return first;
}
