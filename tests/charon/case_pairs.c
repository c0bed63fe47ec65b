/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CHILD_SAs of selector pairs. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

/* Field case BL-052 (c). */
static void case_networks(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	unsigned pairs = 0;
	struct picture pa;

	SET(ta.near[0], "10.1.0.0/16");
	SET(ta.near[1], "10.3.0.0/16");
	SET(ta.far[0], "10.2.0.0/16");
	SET(ta.far[1], "10.4.0.0/16");
	memcpy(tb.near, ta.far, sizeof(tb.near));
	memcpy(tb.far, ta.near, sizeof(tb.far));
	ta.number = 0; /* plain policies are fine with selectors of their own */
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	for (unsigned i = 0; i < 4; i++) {
		const struct cw_ike_event *ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);

		pairs |= 1u << ev->child.pair;
		CHECK(ev->child.reqid == CW_REQID_BASE + 99 * 256 + ev->child.pair);
	}
	CHECK(pairs == 0xf);
	pa = settle(&a, 1, 4);
	CHECK(kernel(&a).policies == 12);
	/* One is lost; only that one is made again. */
	simple(&a, SIDE_TERMINATE_CHILD, pa.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	settle(&a, 1, 3);
	for (uint32_t pair = 0; pair < 4; pair++)
		order(&a, &(struct side_request){ .order = SIDE_INITIATE, .id = 3, .pair = pair });
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	settle(&a, 1, 4);
}

static void case_narrowed(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	SET(tb.near[0], "10.2.0.0/16");
	SET(tb.far[0], "10.1.0.0/16");
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.narrowed && ev->child.n_remote_ts == 1 && ev->child.remote_ts[0].len == 16);
	ev = wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(!ev->child.narrowed);
}

/* a wants four pairs, b has but three of them: the one in IPv6 is refused. */
static void one_refused(unsigned version, uint32_t refused)
{
	static const char *const ours[] = { "10.1.0.0/16", "10.3.0.0/16", "10.5.0.0/16" };
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	unsigned n = 0;

	ta.version = tb.version = version;
	ta.number = tb.number = 0;
	for (uint32_t pair = 0; pair < 4; pair++)
		SET(ta.near[pair], pair == refused ? "fd01::/64" : ours[n++]);
	for (n = 0; n < 3; n++)
		SET(tb.far[n], ours[n]);
	SET(ta.far[0], "10.2.0.0/16");
	SET(ta.far[1], "fd02::/64");
	SET(tb.near[0], "10.2.0.0/16");
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->is_child && ev->by_us && ev->child.pair == refused && ev->ike_id);
	CHECK(ev->cause == CW_CAUSE_TS_UNACCEPTABLE);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->is_child && !ev->by_us && ev->child.pair == CW_IKE_PAIR_UNKNOWN);
	settle(&a, 1, 3);
	settle(&b, 1, 3);
	/* Asked for all, it asks the peer for that one only. */
	for (uint32_t pair = 0; pair < 4; pair++)
		order(&a, &(struct side_request){ .order = SIDE_INITIATE, .id = 3, .pair = pair });
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->child.pair == refused);
	wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	settle(&a, 1, 3);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 2 && count(&b, CW_IKE_EV_FAILED) == 2);
	CHECK(count(&a, CW_IKE_EV_CHILD_UP) == 3 && count(&a, CW_IKE_EV_IKE_UP) == 1);
	CHECK(!count(&a, CW_IKE_EV_CHILD_DOWN) && kernel(&a).policies == 9 && kernel(&a).larval == 0);
}

static void case_first_pair_refused(void)
{
	one_refused(2, 0);
}

static void case_one_pair_refused(void)
{
	one_refused(2, 2);
}

static void case_first_pair_refused_ikev1(void)
{
	one_refused(1, 0);
}

static void case_one_pair_refused_ikev1(void)
{
	one_refused(1, 2);
}

const struct pair_case pair_pairs[] = {
	{ "BL-052-networks", case_networks },
	{ "narrowed", case_narrowed },
	{ "first-pair-refused", case_first_pair_refused },
	{ "one-pair-refused", case_one_pair_refused },
	{ "first-pair-refused-ikev1", case_first_pair_refused_ikev1 },
	{ "one-pair-refused-ikev1", case_one_pair_refused_ikev1 },
	{ 0 },
};
