/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_decide.h"

static const char *const step_names[CW_BGP_STEPS] = {
	[CW_BGP_STEP_NONE] = "best",
	[CW_BGP_STEP_USABLE] = "not usable",
	[CW_BGP_STEP_OWN] = "own route comes first",
	[CW_BGP_STEP_LOCAL_PREF] = "lower local preference",
	[CW_BGP_STEP_PATH_LEN] = "longer AS path",
	[CW_BGP_STEP_ORIGIN] = "worse origin",
	[CW_BGP_STEP_MED] = "higher MED",
	[CW_BGP_STEP_EBGP] = "internal, not external",
	[CW_BGP_STEP_COST] = "higher metric of its tunnel",
	[CW_BGP_STEP_ROUTER_ID] = "higher router ID",
	[CW_BGP_STEP_CLUSTER_LEN] = "longer cluster list",
	[CW_BGP_STEP_ADDRESS] = "higher peer address",
};

const char *cw_bgp_step_name(enum cw_bgp_step step)
{
	return (unsigned)step < CW_BGP_STEPS ? step_names[step] : "unknown";
}

/* What a step compares: the lower, the better. MED is not here, since it does not compare all with all. */
static uint64_t rank(const struct cw_bgp_candidate *c, enum cw_bgp_step step)
{
	switch (step) {
	case CW_BGP_STEP_USABLE:
		return !c->usable;
	case CW_BGP_STEP_OWN:
		return !c->source->own;
	case CW_BGP_STEP_LOCAL_PREF:
		return UINT32_MAX - c->set->local_pref;
	case CW_BGP_STEP_PATH_LEN:
		return c->set->path_len;
	case CW_BGP_STEP_ORIGIN:
		return c->set->origin;
	case CW_BGP_STEP_EBGP:
		return c->source->ibgp;
	case CW_BGP_STEP_COST:
		return c->source->cost;
	case CW_BGP_STEP_ROUTER_ID:
		return c->set->has_originator ? c->set->originator_id : c->source->router_id;
	case CW_BGP_STEP_CLUSTER_LEN:
		return c->set->cluster_len;
	case CW_BGP_STEP_NONE:
	case CW_BGP_STEP_MED:
	case CW_BGP_STEP_ADDRESS:
	case CW_BGP_STEPS:
		break;
	}
	return 0;
}

/* The last step; no two paths are equal here, since a source has one. */
static bool address_less(const struct cw_bgp_candidate *a, const struct cw_bgp_candidate *b)
{
	int order = cw_addr_compare(&a->source->address, &b->source->address);

	return order ? order < 0 : a->index < b->index;
}

/* Still in the running. One path at least is, at any time. */
static bool is_in(const struct cw_bgp_candidate *c)
{
	return c->lost_at == CW_BGP_STEP_NONE;
}

/* RFC 4271 9.1.2.2 c. The neighbouring AS of a path without one (from inside our AS) is 0, ours. The one
 * with the lowest MED of its AS stays to the end and beats all others, so the order of looking plays no part. */
static void step_med(struct cw_bgp_candidate *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_in(&c[i]))
			continue;
		for (size_t j = 0; j < n; j++)
			if (is_in(&c[j]) && c[j].set->first_as == c[i].set->first_as &&
			    c[j].set->med < c[i].set->med)
				c[i].lost_at = CW_BGP_STEP_MED;
	}
}

static void step_rank(struct cw_bgp_candidate *c, size_t n, enum cw_bgp_step step)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (is_in(&c[i]) && rank(&c[i], step) < least)
			least = rank(&c[i], step);
	for (size_t i = 0; i < n; i++)
		if (is_in(&c[i]) && rank(&c[i], step) != least)
			c[i].lost_at = (uint8_t)step;
}

static size_t step_address(struct cw_bgp_candidate *c, size_t n)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (is_in(&c[i]) && (best == n || address_less(&c[i], &c[best])))
			best = i;
	for (size_t i = 0; i < n; i++)
		if (is_in(&c[i]) && i != best)
			c[i].lost_at = CW_BGP_STEP_ADDRESS;
	return best;
}

/* Order by the steps after the cost: is a better than b? */
static bool tie_less(const struct cw_bgp_candidate *a, const struct cw_bgp_candidate *b)
{
	static const enum cw_bgp_step steps[] = { CW_BGP_STEP_ROUTER_ID, CW_BGP_STEP_CLUSTER_LEN };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (rank(a, steps[i]) != rank(b, steps[i]))
			return rank(a, steps[i]) < rank(b, steps[i]);
	return address_less(a, b);
}

/* Paths that were as good as the best up to the cost, in its group: the best few of them. */
static void choose_multipath(struct cw_bgp_candidate *c, size_t n, size_t best)
{
	size_t chosen = 1;

	if (!c[best].source->balance || c[best].source->own)
		return;
	for (; chosen < CW_BGP_MULTIPATH_MAX; chosen++) {
		size_t next = n;

		for (size_t i = 0; i < n; i++)
			if (c[i].lost_at > CW_BGP_STEP_COST && !c[i].multipath &&
			    c[i].source->balance && c[i].source->group == c[best].source->group &&
			    (next == n || tie_less(&c[i], &c[next])))
				next = i;
		if (next == n)
			break;
		c[next].multipath = true;
	}
	c[best].multipath = chosen > 1;
}

size_t cw_bgp_decide(struct cw_bgp_candidate *c, size_t n)
{
	size_t usable = 0, best;

	for (size_t i = 0; i < n; i++) {
		c[i].lost_at = c[i].usable ? CW_BGP_STEP_NONE : CW_BGP_STEP_USABLE;
		c[i].multipath = false;
		usable += c[i].usable;
	}
	if (!usable)
		return n;
	for (int step = CW_BGP_STEP_OWN; step < CW_BGP_STEP_ADDRESS; step++) {
		if (step == CW_BGP_STEP_MED)
			step_med(c, n);
		else
			step_rank(c, n, (enum cw_bgp_step)step);
	}
	best = step_address(c, n);
	choose_multipath(c, n, best);
	return best;
}
