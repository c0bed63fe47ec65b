/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tunnel machine: rekeys, missing and doubled children, more than one IKE_SA, snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unit/tunnel_rig.h"

#define IDS(...) ((const uint32_t[]){ __VA_ARGS__, 0 })

/* ---- rekeys ---- */

/* Nothing was asked for, and each rekey was said; aloud once in a minute. */
static void assert_only_said(const struct rig *r, const char *text, size_t n)
{
	assert_int_equal(rig_did(r, CW_TA_LOG), n);
	assert_int_equal(r->n_did, n);
	assert_int_equal(rig_lines(r), 1);
	assert_int_equal(rig_last(r, CW_TA_LOG)->log_id, CW_LOG_REKEYED);
	assert_int_equal(strncmp(rig_last(r, CW_TA_LOG)->text, text, strlen(text)), 0);
}

static void test_ike_rekey(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	for (uint32_t id = 1; id < 10; id++) {
		hear_ike_rekeyed(r, id, id + 1);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(cw_tunnel_primary(r->t)->ike_id, id + 1);
		assert_int_equal(cw_tunnel_child(r->t, 0)->ike_id, id + 1);
	}
	assert_only_said(r, "IKE_SA rekeyed, ", 9);
	assert_int_equal(rig_view(r).times_up, 1);
	/* The old one is nobody's loss, the new one is. */
	hear_ike_down(r, 9, CW_CAUSE_PEER_DELETE);
	assert_state(r, CW_TUNNEL_UP);
	hear_ike_down(r, 10, CW_CAUSE_PEER_DELETE);
	assert_state(r, CW_TUNNEL_RESOLVING);
	rig_free(r);
}

/* BL-021: what depends on the tunnel does not flap at a rekey. */
static void test_child_rekeys(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	for (uint32_t id = 101; id < 111; id++) {
		hear_child_rekeyed(r, id, id + 1, 1, 0);
		assert_true(cw_tunnel_carries(r->t));
		rig_pass_ms(r, 10);
		if (id % 2) /* engines may or may not say that the old one has gone */
			hear_child_down(r, id, 1, CW_CAUSE_CHILD_DELETE);
		assert_true(cw_tunnel_carries(r->t));
		assert_state(r, CW_TUNNEL_UP);
		rig_pass_ms(r, 1000);
	}
	assert_only_said(r, "CHILD_SA rekeyed", 10);
	/* A peer that does it for ever is not told of each time. */
	rig_pass_ms(r, 60000);
	rig_forget(r);
	hear_child_rekeyed(r, 111, 112, 1, 0);
	assert_int_equal(rig_lines(r), 1);
	rig_free(r);
}

/* A peer that rekeys faster than what was replaced goes: the one in use is never the one without room. */
static void test_child_rekeyed_many_times(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	for (uint32_t id = 101; id < 161; id++) {
		hear_child_rekeyed(r, id, id + 1, 1, 0);
		assert_true(cw_tunnel_carries(r->t));
		assert_state(r, CW_TUNNEL_UP);
		rig_pass_ms(r, 10);
	}
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(161));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	rig_free(r);
}

/* A restart that crosses a rekey of what it closes closes the new one. */
static void test_rekey_of_a_closing_ike(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_RESTART);
	hear_ike_rekeyed(r, 1, 2);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 2);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 2);
	assert_state(r, CW_TUNNEL_CLOSING);
	rig_free(r);
}

/* ---- children ---- */

static void test_child_missing(void **state)
{
	static const struct {
		bool initiator;
		int64_t quiet_ms;
	} cases[] = { { true, 1900 }, { false, 3900 } }; /* the initiator brings it along */

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *r = rig_new(true, 1);

		rig_step(r, CW_TEV_START);
		hear_resolved(r);
		hear_ike_up(r, 1, cases[i].initiator);
		rig_forget(r);
		rig_pass_ms(r, cases[i].quiet_ms);
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
		rig_pass_ms(r, 200);
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
		assert_state(r, CW_TUNNEL_IKE_ONLY);
		/* Asked for; it may take its time. */
		rig_pass_ms(r, 11000);
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
		hear_child_up(r, 101, 1, 0);
		assert_state(r, CW_TUNNEL_UP);
		rig_free(r);
	}
}

/* A refused child is asked for more and more slowly, then the IKE_SA is made anew. BL-016: at most
 * ten tries a minute, for ever. */
static void test_child_refused(void **state)
{
	struct rig *r = rig_new(true, 1);
	size_t asked = 0, remade = 0, aloud = 0;
	uint32_t ike = 1;

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, ike, true);
	hear_child_failed(r, 0, CW_CAUSE_NO_ESP_PROPOSAL, true);
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_NO_ESP_PROPOSAL);
	assert_in_range(rig_view(r).next_try_in_s, 0, 1);
	assert_non_null(strstr(rig_last(r, CW_TA_LOG)->text, "PFS"));
	for (int ms = 0; ms < 600 * 1000; ms += 100) {
		size_t now_asked, now_closed;

		rig_forget(r);
		rig_pass_ms(r, 100);
		now_asked = rig_did(r, CW_TA_INITIATE);
		now_closed = rig_did(r, CW_TA_TERMINATE_IKE);
		asked += now_asked;
		if (now_asked)
			hear_child_failed(r, 0, CW_CAUSE_NO_ESP_PROPOSAL, true);
		if (now_closed) {
			remade++;
			hear_ike_down(r, ike, CW_CAUSE_NONE);
			hear_resolved(r);
			hear_ike_up(r, ++ike, true);
			hear_child_failed(r, 0, CW_CAUSE_NO_ESP_PROPOSAL, true);
		}
		aloud += rig_lines(r);
	}
	assert_in_range(asked, 40, 100);
	assert_in_range(remade, 8, 20);
	assert_in_range(aloud, 0, 2);
	hear_child_up(r, 101, ike, 0);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);
}

/* BL-002: where the PFS groups differ a new IKE_SA brings the child back, and asking again does not. */
static void test_child_needs_a_new_ike(void **state)
{
	static const enum cw_cause causes[] = { CW_CAUSE_DH_GROUP, CW_CAUSE_NO_ESP_PROPOSAL };

	(void)state;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct rig *r = rig_new(true, 1);
		size_t asked = 0;
		int ms;

		rig_bring_up(r);
		hear_child_down(r, 101, 1, CW_CAUSE_EXPIRED);
		for (ms = 0; ms < 60000; ms += 100) {
			rig_forget(r);
			rig_pass_ms(r, 100);
			if (rig_did(r, CW_TA_TERMINATE_IKE))
				break;
			if (!rig_did(r, CW_TA_INITIATE))
				continue;
			asked++;
			hear_child_failed(r, 0, causes[i], true);
		}
		assert_int_equal(asked, 2);
		assert_in_range(ms, 0, 5000);
		rig_free(r);
	}
}

/* BL-026 */
static void test_child_deleted_by_the_peer(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	hear_child_down(r, 101, 1, CW_CAUSE_CHILD_DELETE);
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_CHILD_DELETE);
	assert_false(cw_tunnel_carries(r->t));
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	rig_pass_ms(r, 250);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	assert_int_equal(rig_lines(r), 1);
	assert_non_null(strstr(rig_last(r, CW_TA_LOG)->text, cw_cause_text(CW_CAUSE_CHILD_DELETE)));
	/* A peer that does so again and again makes no storm. */
	for (uint32_t id = 102; id < 140; id++) {
		hear_child_up(r, id, 1, 0);
		rig_pass_ms(r, 10);
		hear_child_down(r, id, 1, CW_CAUSE_CHILD_DELETE);
		rig_forget(r);
		rig_pass_ms(r, 10000);
		assert_in_range(rig_did(r, CW_TA_INITIATE), 0, 1);
		if (rig_did(r, CW_TA_TERMINATE_IKE))
			break;
	}
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
	rig_free(r);
}

static void test_child_broken(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_event ev = { .kind = CW_TEV_CHILD_BROKEN, .child_id = 101 };
	struct cw_tunnel_actions out;

	(void)state;
	rig_bring_up(r);
	cw_tunnel_step(r->t, &ev, r->now, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.v[0].kind, CW_TA_TERMINATE_CHILD);
	assert_int_equal(out.v[0].id, 101);
	ev.child_id = 555;
	cw_tunnel_step(r->t, &ev, r->now, &out);
	assert_int_equal(out.n, 0);
	hear_child_down(r, 101, 1, CW_CAUSE_NONE);
	rig_pass_ms(r, 250);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_LOST);
	rig_free(r);
}

static void test_pairs(void **state)
{
	struct rig *r = rig_new(true, 3);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, 0);
	hear_child_up(r, 103, 1, 2);
	/* One is missing, but not late yet. */
	assert_state(r, CW_TUNNEL_CONNECTING);
	assert_true(cw_tunnel_carries(r->t));
	assert_true(cw_tunnel_pair_carries(r->t, 2));
	assert_false(cw_tunnel_pair_carries(r->t, 1));
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 2);
	rig_forget(r);
	rig_pass_ms(r, 5000);
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	assert_int_equal(rig_last(r, CW_TA_INITIATE)->pair, 1);
	hear_child_up(r, 102, 1, 1);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_view(r).n_children_wanted, 3);
	/* A pair that nobody wants is shown and counts for nothing. */
	hear_child_up(r, 104, 1, 9);
	assert_int_equal(cw_tunnel_children(r->t), 4);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);
}

/* With one pair any child is its child: the peer may have narrowed it beyond recognition. */
static void test_pair_unknown(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, UINT32_MAX);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);
}

/* One refused pair does not take the others down, nor ask for them again. */
static void test_one_pair_refused(void **state)
{
	struct rig *r = rig_new(true, 50);
	size_t asked = 0;

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	rig_forget(r);
	for (uint32_t pair = 0; pair < 50; pair++) {
		if (pair == 3)
			hear_child_failed(r, pair, CW_CAUSE_TS_UNACCEPTABLE, true);
		else
			hear_child_up(r, 101 + pair, 1, pair);
		/* 200 ms each: the last come long after the refused one is due again */
		rig_pass_ms(r, 200);
		for (size_t i = 0; i < r->n_did; i++)
			assert_true(r->did[i].kind != CW_TA_INITIATE || r->did[i].pair == 3);
	}
	for (int i = 0; i < 3600; i++) {
		rig_forget(r);
		rig_pass_ms(r, 1000);
		asked += rig_did(r, CW_TA_INITIATE);
		assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 0);
		if (rig_did(r, CW_TA_INITIATE))
			hear_child_failed(r, 3, CW_CAUSE_TS_UNACCEPTABLE, true);
	}
	assert_in_range(asked, 350, 520);
	assert_true(cw_tunnel_carries(r->t));
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_TS_UNACCEPTABLE);
	rig_free(r);
}

/* Where the engine can't say which pair was refused, none is put off. */
static void test_some_pair_refused(void **state)
{
	struct rig *r = rig_new(true, 4);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 102, 1, 1);
	rig_forget(r);
	hear_child_failed(r, CW_IKE_PAIR_UNKNOWN, CW_CAUSE_PROTOCOL, true);
	assert_int_equal(rig_view(r).last_error, CW_CAUSE_PROTOCOL);
	rig_pass_ms(r, 13000);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 3);
	rig_free(r);
}

/* More to ask for than one step can hold: the rest comes in the next steps, each pair once. */
static void test_hundred_pairs(void **state)
{
	struct rig *r = rig_new(true, 100);
	uint8_t asked[100] = { 0 };

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	rig_forget(r);
	rig_pass_ms(r, 2001);
	for (size_t i = 0; i < r->n_did; i++) {
		if (r->did[i].kind == CW_TA_INITIATE)
			asked[r->did[i].pair]++;
	}
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(asked[i], 1);
	/* They come one after another, a second each: slowly, but they come. */
	rig_forget(r);
	for (uint32_t pair = 0; pair < 100; pair++) {
		hear_child_up(r, 101 + pair, 1, pair);
		rig_pass_ms(r, 1000);
	}
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 100);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_view(r).n_children, 100);
	/* All lost at once. */
	rig_forget(r);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DEAD);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	assert_false(cw_tunnel_carries(r->t));
	rig_free(r);
}

/* Both ends asked at once, both got it: one is closed, after a look. */
static void test_child_doubled(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_UP);
	rig_forget(r);
	hear_child_up(r, 150, 1, 0);
	rig_pass_ms(r, 4000);
	assert_int_equal(r->n_did, 0); /* a rekey whose event was lost looks the same */
	rig_pass_ms(r, 1500);
	assert_int_equal(rig_did(r, CW_TA_POLL), 1);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101, 150));
	snap_end(r);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_CHILD), 1);
	assert_int_equal(
		rig_last(r, CW_TA_TERMINATE_CHILD)->id, 101); /* long before: the newer stays */
	hear_child_down(r, 101, 1, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	/* At the same time: the lower SPI stays, at both ends. */
	rig_forget(r);
	hear_child_down(r, 150, 1, CW_CAUSE_NONE);
	hear_child_up(r, 170, 1, 0);
	hear_child_up(r, 160, 1, 0);
	rig_pass_ms(r, 5500);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(160, 170));
	snap_end(r);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_CHILD)->id, 170);
	rig_free(r);
}

/* A record written before a rekey and read after it does not make two of one. */
static void test_rekey_is_no_double(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	snap_begin(r);
	hear_child_rekeyed(r, 101, 102, 1, 0);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101));
	snap_end(r);
	rig_pass_ms(r, 60000);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(102));
	snap_end(r);
	assert_only_said(r, "CHILD_SA rekeyed", 1);
	assert_int_equal(cw_tunnel_children(r->t), 1);
	rig_free(r);
}

/* ---- two IKE_SAs ---- */

/* Crossing: both ends must keep the same one, so the rule may not depend on who looks. */
static void test_crossing(void **state)
{
	static const struct {
		uint64_t spi_ours, spi_theirs;
		int64_t apart_ms;
		bool theirs_first;
		uint32_t closed;
	} cases[] = {
		{ 10, 20, 100, false, 2 },
		{ 20, 10, 100, false, 1 },
		{ 10, 20, 100, true, 2 },
		{ 20, 10, 100, true, 1 },
		{ 10, 20, 0, true, 2 },
		{ 10, 20, 1900, false, 2 },
		/* not crossing: the peer has likely forgotten the older */
		{ 10, 20, 5000, false, 1 },
		{ 10, 20, 5000, true, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *r = rig_new(true, 1);

		rig_step(r, CW_TEV_START);
		hear_resolved(r);
		for (int second = 0; second < 2; second++) {
			bool theirs = cases[i].theirs_first != (second == 1);

			hear_ike_up_spi(r, theirs ? 2 : 1, !theirs,
				theirs ? cases[i].spi_theirs : cases[i].spi_ours);
			if (theirs)
				hear_initial_contact(r, 2);
			hear_child_up(r, theirs ? 102 : 101, theirs ? 2 : 1, 0);
			if (second)
				break;
			rig_pass_ms(r, cases[i].apart_ms);
			rig_forget(r);
		}
		rig_pass_ms(r, 1500);
		assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
		assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, cases[i].closed);
		/* The other may have decided before us and against us: look at once whether the
		 * kept one lives. */
		assert_int_equal(rig_last(r, CW_TA_CHECK_ALIVE)->id, 3 - cases[i].closed);
		assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
		hear_child_down(r, 100 + cases[i].closed, cases[i].closed, CW_CAUSE_NONE);
		hear_ike_down(r, cases[i].closed, CW_CAUSE_NONE);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
		rig_pass_ms(r, 60000);
		assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
		rig_free(r);
	}
}

/* A rekey between the crossing and the decision changes SPIs, and who began. */
static void test_crossing_with_a_rekey(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up_spi(r, 2, false, 20);
	hear_ike_up_spi(r, 1, true, 10);
	hear_ike_rekeyed(r, 1, 30);
	rig_pass_ms(r, 1100);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 2);
	rig_free(r);
}

/* BL-034: the peer restarted and says that it knows nothing else. */
static void test_initial_contact(void **state)
{
	enum { AFTER_UP, BEFORE_UP, LAST } order;

	(void)state;
	for (order = AFTER_UP; order < LAST; order++) {
		struct rig *r = rig_new(true, 1);

		rig_bring_up(r);
		if (order == BEFORE_UP)
			hear_initial_contact(r, 2);
		hear_ike_up(r, 2, false);
		if (order == AFTER_UP)
			hear_initial_contact(r, 2);
		/* No grace, and no DELETE that nobody would answer. */
		assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
		assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 1);
		assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
		hear_child_up(r, 102, 2, 0);
		hear_child_down(r, 101, 1, CW_CAUSE_NONE);
		hear_ike_down(r, 1, CW_CAUSE_NONE);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
		rig_free(r);
	}
}

/* BL-023: an old duplicate goes while the newer carries. */
static void test_old_duplicate_goes(void **state)
{
	enum { OLD_BY_PEER, OLD_DEAD, NEW_BY_PEER, LAST } what;

	(void)state;
	for (what = OLD_BY_PEER; what < LAST; what++) {
		struct rig *r = rig_new(true, 1);
		uint32_t going = what == NEW_BY_PEER ? 2 : 1;

		rig_bring_up(r);
		hear_ike_up(r, 2, false);
		hear_child_up(r, 102, 2, 0);
		rig_forget(r);
		hear_child_down(r, 100 + going, going, CW_CAUSE_PEER_DELETE);
		hear_ike_down(
			r, going, what == OLD_DEAD ? CW_CAUSE_PEER_DEAD : CW_CAUSE_PEER_DELETE);
		assert_state(r, CW_TUNNEL_UP);
		assert_true(cw_tunnel_carries(r->t));
		rig_pass_ms(r, 60000);
		assert_int_equal(r->n_did, 0);
		assert_int_equal(rig_view(r).last_error, CW_CAUSE_NONE);
		rig_free(r);
	}
}

/* IKEv1: the children go over to the new ISAKMP SA; that the old one ends is no loss. */
static void test_v1_children_are_inherited(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	r->conf.ike_version = CW_IKE_V1;
	rig_bring_up(r);
	hear_ike_up(r, 2, false);
	rig_forget(r);
	rig_pass_ms(r, 3000);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 0);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DELETE);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	/* Was it so? */
	assert_int_equal(rig_did(r, CW_TA_POLL), 1);
	snap_begin(r);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, false, IDS(101));
	snap_end(r);
	assert_true(cw_tunnel_carries(r->t));
	rig_pass_ms(r, 1000);
	snap_begin(r);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, false, NULL);
	snap_end(r);
	assert_false(cw_tunnel_carries(r->t));
	rig_free(r);
}

/* BL-017: a peer that makes one after another. */
static void test_too_many(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	for (uint32_t id = 2; id <= 14; id++)
		hear_ike_up(r, id, false);
	/* Eight are kept in mind; the rest is ended unseen. */
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 6);
	for (size_t i = 0; i < r->n_did; i++)
		assert_true(r->did[i].kind != CW_TA_TERMINATE_IKE ||
			    (r->did[i].id > 8 && r->did[i].force));
	rig_forget(r);
	rig_pass_ms(r, 1100);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 7);
	assert_state(r, CW_TUNNEL_UP);
	for (uint32_t id = 1; id < 8; id++)
		hear_ike_down(r, id, CW_CAUSE_NONE);
	assert_int_equal(cw_tunnel_primary(r->t)->ike_id, 8);
	rig_free(r);
}

/* Half-open ones from outside cost a forged packet each: they take no place. */
static void test_half_open_takes_no_place(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	snap_begin(r);
	for (uint32_t id = 20; id < 40; id++)
		snap_ike(r, id, CW_IKE_SA_CONNECTING, false, NULL);
	snap_end(r);
	rig_forget(r);
	hear_ike_up(r, 50, false);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 0);
	assert_int_equal(cw_tunnel_primary(r->t)->ike_id, 50);
	rig_free(r);
}

/* ---- snapshots ---- */

static void test_lost_events_are_healed(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	rig_pass_ms(r, 3000);
	/* came up unheard */
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	assert_true(cw_tunnel_carries(r->t));
	/* child rekeyed unheard */
	rig_pass_ms(r, 60000);
	rig_forget(r);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(102));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	/* IKE_SA rekeyed unheard */
	rig_pass_ms(r, 60000);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_REKEYED, true, NULL);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, true, IDS(102));
	snap_end(r);
	rig_pass_ms(r, 5000);
	snap_begin(r);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, true, IDS(102));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(cw_tunnel_primary(r->t)->ike_id, 2);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	/* child gone unheard */
	rig_pass_ms(r, 5000);
	snap_begin(r);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, true, NULL);
	snap_end(r);
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_LOST);
	rig_pass_ms(r, 300);
	assert_int_equal(rig_last(r, CW_TA_INITIATE)->pair, 0);
	/* all gone unheard */
	rig_pass_ms(r, 5000);
	snap_begin(r);
	snap_end(r);
	assert_state(r, CW_TUNNEL_RESOLVING);
	rig_free(r);
}

static void test_snapshot_races(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	/* came up between the order and the record, not in it */
	snap_begin(r);
	hear_ike_up(r, 2, false);
	hear_child_up(r, 102, 2, 0);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101));
	snap_end(r);
	assert_int_equal(cw_tunnel_children(r->t), 2);
	/* went between the record's writing and its reading: it does not come back */
	rig_forget(r);
	snap_begin(r);
	hear_child_down(r, 101, 1, CW_CAUSE_PEER_DELETE);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DELETE);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101));
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, false, IDS(102));
	snap_end(r);
	assert_int_equal(cw_tunnel_children(r->t), 1);
	assert_int_equal(cw_tunnel_primary(r->t)->ike_id, 2);
	/* the IKE_SA was replaced after its record was written: the child lives on, and on the new
	 * one */
	rig_pass_ms(r, 5000);
	snap_begin(r);
	hear_ike_rekeyed(r, 2, 3);
	snap_ike(r, 2, CW_IKE_SA_ESTABLISHED, false, IDS(102));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(cw_tunnel_child(r->t, 0)->ike_id, 3);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	/* a replaced one without its successor in sight is no loss yet */
	rig_pass_ms(r, 5000);
	snap_begin(r);
	snap_ike(r, 3, CW_IKE_SA_REKEYED, false, IDS(102));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	hear_ike_rekeyed(r, 3, 4);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
	rig_free(r);
}

/* The engine ends it and its peer does not answer: that is not waited for. */
static void test_snapshot_shows_it_ending(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_DELETING, true, NULL);
	snap_end(r);
	assert_false(cw_tunnel_carries(r->t));
	assert_state(r, CW_TUNNEL_CLOSING);
	rig_pass_ms(r, 4001);
	assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
	hear_ike_down(r, 1, CW_CAUSE_EXPIRED);
	assert_state(r, CW_TUNNEL_RESOLVING);
	rig_free(r);
}

/* A child of an IKE_SA that we did not hear of. */
static void test_orphan_child(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	rig_forget(r);
	hear_child_up(r, 101, 1, 0);
	assert_int_equal(rig_did(r, CW_TA_POLL), 1);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, IDS(101));
	snap_end(r);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);

	/* Nor did we hear of its end: with the IKE_SA goes the child. */
	r = rig_new(true, 1);
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_child_up(r, 101, 1, 0);
	assert_true(cw_tunnel_carries(r->t));
	hear_ike_down(r, 1, CW_CAUSE_PEER_DELETE);
	assert_false(cw_tunnel_carries(r->t));
	rig_free(r);
}

/* The list of one step is bounded; what did not fit is asked for in the next. */
static void test_nothing_is_forgotten_when_the_list_is_full(void **state)
{
	struct rig *r = rig_new(true, 100);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	for (uint32_t id = 2; id <= 8; id++) {
		hear_ike_up(r, id, false);
		hear_child_up(r, 100 + id, id, id);
	}
	rig_forget(r);
	/* Seven to close, each with its line, and a hundred pairs due at once. */
	rig_pass_ms(r, 3000);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 7);
	assert_int_equal(rig_did(r, CW_TA_CHECK_ALIVE), 1);
	rig_forget(r);
	rig_step(r, CW_TEV_DOWN);
	rig_pass_ms(r, 1);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_REMOVE), 1);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
	for (uint32_t id = 1; id <= 8; id++)
		hear_ike_down(r, id, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_false(cw_tunnel_carries(r->t));
	assert_true(rig_did(r, CW_TA_CARRYING) >= 1);
	rig_free(r);
}

/* CARRYING moves routes: it may come a step later, but it comes, and at once. */
static void test_carrying_waits_for_room(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	for (uint32_t id = 1; id <= 8; id++)
		hear_ike_up(r, id, false);
	rig_forget(r);
	/* Late: the decision on the eight falls in the very step in which the child comes. */
	r->now = cw_time_add_ms(r->now, 1500);
	hear_child_narrowed(r, 101, 8, 0);
	assert_int_equal(r->n_did, CW_TUNNEL_ACTIONS_MAX);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	assert_true(cw_tunnel_next_due(r->t).us <= r->now.us);
	rig_pass_ms(r, 0);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 7);
	assert_true(cw_tunnel_next_due(r->t).us > r->now.us);
	rig_free(r);
}

/* As many pairs carry as before, but not the same ones. */
static void test_carrying_of_another_pair(void **state)
{
	struct rig *r = rig_new(true, 2);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, 0);
	rig_forget(r);
	hear_child_rekeyed(r, 101, 102, 1, 1);
	assert_false(cw_tunnel_pair_carries(r->t, 0));
	assert_true(cw_tunnel_pair_carries(r->t, 1));
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	rig_free(r);
}

/* Less than we asked for is said once for each child, and only then. */
static void test_narrowed(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	rig_forget(r);
	hear_child_narrowed(r, 101, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(r->did[0].log_id, CW_LOG_SELECTORS_NARROWED);
	rig_forget(r);
	hear_child_narrowed(r, 101, 1, 0);
	assert_int_equal(r->n_did, 0);
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ike_rekey),
		cmocka_unit_test(test_child_rekeys),
		cmocka_unit_test(test_child_rekeyed_many_times),
		cmocka_unit_test(test_rekey_of_a_closing_ike),
		cmocka_unit_test(test_child_missing),
		cmocka_unit_test(test_child_refused),
		cmocka_unit_test(test_child_needs_a_new_ike),
		cmocka_unit_test(test_child_deleted_by_the_peer),
		cmocka_unit_test(test_child_broken),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_pair_unknown),
		cmocka_unit_test(test_one_pair_refused),
		cmocka_unit_test(test_some_pair_refused),
		cmocka_unit_test(test_hundred_pairs),
		cmocka_unit_test(test_child_doubled),
		cmocka_unit_test(test_rekey_is_no_double),
		cmocka_unit_test(test_crossing),
		cmocka_unit_test(test_crossing_with_a_rekey),
		cmocka_unit_test(test_initial_contact),
		cmocka_unit_test(test_old_duplicate_goes),
		cmocka_unit_test(test_v1_children_are_inherited),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_half_open_takes_no_place),
		cmocka_unit_test(test_lost_events_are_healed),
		cmocka_unit_test(test_snapshot_races),
		cmocka_unit_test(test_snapshot_shows_it_ending),
		cmocka_unit_test(test_orphan_child),
		cmocka_unit_test(test_nothing_is_forgotten_when_the_list_is_full),
		cmocka_unit_test(test_carrying_waits_for_room),
		cmocka_unit_test(test_carrying_of_another_pair),
		cmocka_unit_test(test_narrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
