/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tunnel/cover.h"

static bool in_use(const struct cw_child_info *c)
{
	return c->state == CW_CHILD_INSTALLED || c->state == CW_CHILD_REKEYING;
}

/* Family NONE: any, and so held by each. */
static bool holds(const struct cw_prefix *ts, size_t n, const struct cw_prefix *net)
{
	if (net->addr.family == CW_FAMILY_NONE)
		return true;
	for (size_t i = 0; i < n; i++) {
		if (cw_prefix_covers(&ts[i], net))
			return true;
	}
	return false;
}

static bool covered(const struct cw_child_info *const *children, size_t n, const struct cw_view_gap *pair)
{
	for (size_t i = 0; i < n; i++) {
		const struct cw_child_info *c = children[i];

		if (in_use(c) && holds(c->local_ts, c->n_local_ts, &pair->ours) &&
			holds(c->remote_ts, c->n_remote_ts, &pair->theirs))
			return true;
	}
	return false;
}

size_t cw_cover_gaps(const struct cw_child_info *const *children, size_t n_children, const struct cw_prefixes *ours,
	const struct cw_prefixes *theirs, struct cw_view_gap *ret_gaps, size_t max)
{
	static struct cw_prefix any;
	const struct cw_prefixes one = { .v = &any, .n = 1 };
	size_t n = 0;

	for (size_t i = 0; i < n_children; i++) {
		if (in_use(children[i]) && (children[i]->n_local_ts > CW_IKE_TS_MAX ||
						   children[i]->n_remote_ts > CW_IKE_TS_MAX))
			return 0;
	}
	ours = ours->n ? ours : &one;
	theirs = theirs->n ? theirs : &one;
	for (size_t i = 0; i < ours->n; i++) {
		for (size_t k = 0; k < theirs->n; k++) {
			struct cw_view_gap pair = { ours->v[i], theirs->v[k] };
			uint8_t a = pair.ours.addr.family, b = pair.theirs.addr.family;

			if ((a != b && a != CW_FAMILY_NONE && b != CW_FAMILY_NONE) ||
				covered(children, n_children, &pair))
				continue;
			if (n < max)
				ret_gaps[n] = pair;
			n++;
		}
	}
	return n;
}
