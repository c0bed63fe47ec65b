/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bgp_decide: each step by its number, in every order of arrival; MED that depends on no order; multipath. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bgp/bgp_decide.h"

#define PATHS_MAX 6

struct path {
	struct cw_bgp_set set;
	struct cw_bgp_source_conf source;
	bool refused;
};

/* SET is what most paths have: local preference 100, one AS in the path. What is not named is 0. */
#define SET SET_OF(100, 1, 65515)
#define SET_OF(pref, len, as) .set.local_pref = (pref), .set.path_len = (len), .set.first_as = (as)
#define FROM(n) .source.router_id = 10 + (n), .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, (n) } }

struct row {
	const char *what;
	size_t n;
	struct path paths[PATHS_MAX];
	size_t best;
	uint8_t lost_at[PATHS_MAX];
};

/* The path that wins is worse in all later steps. */
static const struct row rows[] = {
	{ "1: a refused path", 2,
	  { { SET, FROM(1) }, { SET_OF(900, 1, 65515), FROM(2), .refused = true } },
	  0, { 0, CW_BGP_STEP_USABLE } },
	{ "2: own routes", 2,
	  { { SET_OF(5, 9, 65515), FROM(9), .source.own = true },
	    { SET_OF(900, 1, 65515), FROM(1) } },
	  0, { 0, CW_BGP_STEP_OWN } },
	{ "3: local preference", 2,
	  { { SET_OF(101, 9, 65515), .set.origin = 2, FROM(9) }, { SET, FROM(1) } },
	  0, { 0, CW_BGP_STEP_LOCAL_PREF } },
	{ "3: the highest there is", 2,
	  { { SET_OF(UINT32_MAX, 1, 65515), FROM(9) }, { SET_OF(0, 1, 65515), FROM(1) } },
	  0, { 0, CW_BGP_STEP_LOCAL_PREF } },
	{ "4: length of the path", 2,
	  { { SET, .set.origin = 2, .set.med = 9, FROM(9) }, { SET_OF(100, 2, 65515), FROM(1) } },
	  0, { 0, CW_BGP_STEP_PATH_LEN } },
	{ "5: origin", 3,
	  { { SET, .set.med = 9, .source.ibgp = true, FROM(9) }, { SET, .set.origin = 1, FROM(1) },
	    { SET, .set.origin = 2, FROM(2) } },
	  0, { 0, CW_BGP_STEP_ORIGIN, CW_BGP_STEP_ORIGIN } },
	{ "6: MED, the same neighbouring AS", 2,
	  { { SET, .set.med = 1, .source.ibgp = true, .source.cost = 9, FROM(9) }, { SET, .set.med = 2, FROM(1) } },
	  0, { 0, CW_BGP_STEP_MED } },
	{ "6: without a MED counts as 0", 2,
	  { { SET, .set.med = 0, .source.cost = 9, FROM(9) }, { SET, .set.med = 1, FROM(1) } },
	  0, { 0, CW_BGP_STEP_MED } },
	{ "6: MED of different neighbours does not count", 2,
	  { { SET, .set.med = 1000, FROM(1) }, { SET_OF(100, 1, 65020), .set.med = 0, FROM(2) } },
	  0, { 0, CW_BGP_STEP_ROUTER_ID } },
	{ "6: from inside our AS is a group of its own", 3,
	  { { SET_OF(100, 1, 0), .set.med = 5, .source.ibgp = true, FROM(1) },
	    { SET_OF(100, 1, 0), .set.med = 6, .source.ibgp = true, FROM(2) },
	    { SET_OF(100, 1, 65020), .set.med = 7, .source.ibgp = true, FROM(3) } },
	  0, { 0, CW_BGP_STEP_MED, CW_BGP_STEP_ROUTER_ID } },
	/* The classic: A beats B by MED, B would beat C by router ID, C beats A. Two by two there is a ring. */
	{ "6: no ring of three", 3,
	  { { SET, .set.med = 1, FROM(7) }, { SET, .set.med = 2, FROM(1) }, { SET_OF(100, 1, 65020), FROM(4) } },
	  2, { CW_BGP_STEP_ROUTER_ID, CW_BGP_STEP_MED, 0 } },
	{ "7: external before internal", 2,
	  { { SET, .source.cost = 9, FROM(9) }, { SET, .source.ibgp = true, FROM(1) } },
	  0, { 0, CW_BGP_STEP_EBGP } },
	{ "8: interior cost", 2,
	  { { SET, FROM(9) }, { SET, .source.cost = 1, FROM(1) } },
	  0, { 0, CW_BGP_STEP_COST } },
	{ "9: router ID", 2,
	  { { SET, .set.cluster_len = 3, .source.router_id = 10, .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, 9 } } },
	    { SET, FROM(1) } },
	  0, { 0, CW_BGP_STEP_ROUTER_ID } },
	{ "9: the originator's instead", 2,
	  { { SET, .set.has_originator = true, .set.originator_id = 1, FROM(200) }, { SET, FROM(1) } },
	  0, { 0, CW_BGP_STEP_ROUTER_ID } },
	{ "10: cluster list", 2,
	  { { SET, .source.router_id = 7, .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, 9 } } },
	    { SET, .set.cluster_len = 1, .source.router_id = 7, .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, 1 } } } },
	  0, { 0, CW_BGP_STEP_CLUSTER_LEN } },
	{ "11: address of the peer", 2,
	  { { SET, .source.router_id = 7, .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, 1 } } },
	    { SET, .source.router_id = 7, .source.address = { CW_FAMILY_IPV4, { 10, 0, 0, 2 } } } },
	  0, { 0, CW_BGP_STEP_ADDRESS } },
	{ "no path is usable", 2,
	  { { SET, FROM(1), .refused = true }, { SET, FROM(2), .refused = true } },
	  2, { CW_BGP_STEP_USABLE, CW_BGP_STEP_USABLE } },
	{ "a single path", 1, { { SET, FROM(1) } }, 0, { 0 } },
};

static void fill(struct cw_bgp_candidate *c, const struct path *path, size_t index)
{
	*c = (struct cw_bgp_candidate){
		.set = &path->set,
		.source = &path->source,
		.index = (uint16_t)index,
		.usable = !path->refused,
	};
}

/* The next order of n numbers; false after the last. */
static bool next_order(size_t *order, size_t n)
{
	size_t i = n - 1, j = n - 1, swap;

	while (i && order[i - 1] >= order[i])
		i--;
	if (!i)
		return false;
	while (order[j] <= order[i - 1])
		j--;
	swap = order[j];
	order[j] = order[i - 1];
	order[i - 1] = swap;
	for (j = n - 1; i < j; i++, j--) {
		swap = order[j];
		order[j] = order[i];
		order[i] = swap;
	}
	return true;
}

static void check_row(const struct row *row)
{
	size_t order[PATHS_MAX];

	for (size_t i = 0; i < row->n; i++)
		order[i] = i;
	do {
		struct cw_bgp_candidate c[PATHS_MAX];
		size_t best;

		for (size_t i = 0; i < row->n; i++)
			fill(&c[i], &row->paths[order[i]], order[i]);
		best = cw_bgp_decide(c, row->n);
		if ((best == row->n ? row->n : order[best]) != row->best)
			fail_msg("%s: best is %zu, not %zu", row->what, order[best], row->best);
		for (size_t i = 0; i < row->n; i++)
			if (c[i].lost_at != row->lost_at[order[i]])
				fail_msg("%s: path %zu lost at %u, not %u", row->what, order[i], c[i].lost_at,
					 row->lost_at[order[i]]);
	} while (row->n > 1 && next_order(order, row->n));
}

static void test_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* Many sets of paths that meet in all values: every order gives the same best, and the same reasons. */
static void test_no_order(void **state)
{
	uint64_t random = 88172645463325252ULL;
	struct row row = { .what = "random paths" };

	(void)state;
	for (int round = 0; round < 1500; round++) {
		struct cw_bgp_candidate c[PATHS_MAX];

		row.n = 2 + (size_t)round % 4;
		for (size_t i = 0; i < row.n; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			row.paths[i] = (struct path){
				.set.local_pref = 100,
				.set.path_len = (uint16_t)(random >> 20 & 1),
				.set.med = random >> 24 & 3,
				.set.first_as = 65000 + (random >> 28 & 1),
				.source.ibgp = random >> 32 & 1,
				.source.cost = random >> 36 & 1,
				.source.router_id = random >> 40 & 1,
				.refused = (random >> 44 & 7) == 0,
			};
			fill(&c[i], &row.paths[i], i);
		}
		row.best = cw_bgp_decide(c, row.n);
		for (size_t i = 0; i < row.n; i++)
			row.lost_at[i] = c[i].lost_at;
		assert_true(row.best == row.n || c[row.best].lost_at == CW_BGP_STEP_NONE);
		check_row(&row);
	}
}

static void test_multipath(void **state)
{
	static const struct {
		const char *what;
		struct path paths[PATHS_MAX];
		size_t n, best;
		bool used[PATHS_MAX];
	} cases[] = {
		{ "two tunnels of a site",
		  { { SET, .source.balance = true, .source.group = 1, FROM(2) },
		    { SET, .source.balance = true, .source.group = 1, FROM(1) } },
		  2, 1, { true, true } },
		{ "without balance", { { SET, .source.group = 1, FROM(2) }, { SET, .source.group = 1, FROM(1) } },
		  2, 1, { false, false } },
		{ "of two sites",
		  { { SET, .source.balance = true, .source.group = 1, FROM(2) },
		    { SET, .source.balance = true, .source.group = 2, FROM(1) } },
		  2, 1, { false, false } },
		{ "another cost",
		  { { SET, .source.balance = true, .source.group = 1, FROM(2) },
		    { SET, .source.balance = true, .source.group = 1, .source.cost = 1, FROM(1) } },
		  2, 0, { false, false } },
		{ "a worse one, a refused one, and another site's between equal ones",
		  { { SET, .set.med = 1, .source.balance = true, .source.group = 1, FROM(1) },
		    { SET, .source.balance = true, .source.group = 1, FROM(3) },
		    { SET, .source.balance = true, .source.group = 1, FROM(4), .refused = true },
		    { SET, .source.balance = true, .source.group = 2, FROM(5) },
		    { SET, .source.balance = true, .source.group = 1, FROM(6) } },
		  5, 1, { false, true, false, false, true } },
		{ "own routes are not balanced",
		  { { SET, .source.own = true, .source.balance = true }, { SET, .source.balance = true, FROM(1) } },
		  2, 0, { false, false } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cw_bgp_candidate c[PATHS_MAX];

		for (size_t p = 0; p < cases[i].n; p++)
			fill(&c[p], &cases[i].paths[p], p);
		if (cw_bgp_decide(c, cases[i].n) != cases[i].best)
			fail_msg("%s: not the expected best", cases[i].what);
		for (size_t p = 0; p < cases[i].n; p++)
			if (c[p].multipath != cases[i].used[p])
				fail_msg("%s: path %zu", cases[i].what, p);
	}
}

/* Eight at most, those that the later steps like best. */
static void test_multipath_cap(void **state)
{
	static struct path paths[12];
	struct cw_bgp_candidate c[12];

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		paths[i] = (struct path){
			.set.local_pref = 100,
			.source = { .balance = true, .group = 1, .router_id = (uint32_t)(100 - i) },
		};
		fill(&c[i], &paths[i], i);
	}
	assert_int_equal(cw_bgp_decide(c, 12), 11);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(c[i].multipath, i >= 12 - CW_BGP_MULTIPATH_MAX);
}

static void test_names(void **state)
{
	(void)state;
	for (int i = 0; i < CW_BGP_STEPS; i++)
		assert_string_not_equal(cw_bgp_step_name((enum cw_bgp_step)i), "unknown");
	assert_string_equal(cw_bgp_step_name(CW_BGP_STEPS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_no_order),
		cmocka_unit_test(test_multipath),
		cmocka_unit_test(test_multipath_cap),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("bgp_decide", tests, NULL, NULL);
}
