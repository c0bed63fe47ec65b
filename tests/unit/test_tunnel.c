/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tunnel machine: trying, pausing, orders, and what it says about itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unit/tunnel_rig.h"

/* ---- trying ---- */

static void test_start(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_view v;

	(void)state;
	assert_state(r, CW_TUNNEL_DOWN);
	assert_true(cw_time_is_never(cw_tunnel_next_due(r->t)));
	rig_step(r, CW_TEV_START);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	hear_resolved(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	/* Known to the engine first, or it could not begin. */
	assert_int_equal(r->did[1].kind, CW_TA_ENGINE_SET);
	assert_int_equal(r->did[2].kind, CW_TA_INITIATE);
	assert_int_equal(cw_tunnel_remote(r->t).bytes[3], 11);
	assert_int_equal(cw_tunnel_local(r->t).bytes[3], 2);
	rig_forget(r);
	hear_ike_up(r, 1, true);
	/* Its child is right behind. */
	assert_state(r, CW_TUNNEL_CONNECTING);
	assert_false(cw_tunnel_carries(r->t));
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 0);
	hear_child_up(r, 101, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	assert_true(cw_tunnel_carries(r->t));
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	assert_int_equal(rig_lines(r), 1);
	assert_int_equal(rig_last(r, CW_TA_LOG)->log_id, CW_LOG_TUNNEL_UP);
	v = rig_view(r);
	assert_int_equal(v.cause, CW_CAUSE_NONE);
	assert_int_equal(v.last_error, CW_CAUSE_NONE);
	assert_int_equal(v.times_up, 1);
	assert_int_equal(v.n_children, 1);
	/* And then there is nothing to do. */
	rig_forget(r);
	rig_pass_ms(r, 3600 * 1000);
	assert_int_equal(r->n_did, 0);
	rig_free(r);
}

static void test_literal_address_is_not_resolving(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	r->conf.remote_addr =
		(struct cw_addr){ .family = CW_FAMILY_IPV4, .bytes = { 203, 0, 113, 11 } };
	rig_step(r, CW_TEV_START);
	assert_state(r, CW_TUNNEL_CONNECTING);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	rig_free(r);
}

/* BL-035: no resolver at boot. */
static void test_resolve_fails(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_view v;

	(void)state;
	rig_step(r, CW_TEV_START);
	for (int i = 0; i < 12; i++) {
		rig_step(r, CW_TEV_RESOLVE_FAILED);
		assert_state(r, CW_TUNNEL_WAITING);
		rig_pass_ms(r, 10001);
		assert_state(r, CW_TUNNEL_RESOLVING);
	}
	/* Nobody could come in meanwhile. */
	assert_int_equal(rig_did(r, CW_TA_ENGINE_SET), 0);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 13);
	assert_int_equal(rig_lines(r), 1);
	v = rig_view(r);
	assert_int_equal(v.cause, CW_CAUSE_RESOLVE);
	assert_int_equal(v.attempt, 13);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	/* A second answer, of an earlier question, changes nothing. */
	hear_resolved(r);
	rig_step(r, CW_TEV_RESOLVE_FAILED);
	assert_state(r, CW_TUNNEL_CONNECTING);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	rig_free(r);
}

static void test_resolver_is_silent(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	rig_pass_ms(r, 29000);
	assert_state(r, CW_TUNNEL_RESOLVING);
	rig_pass_ms(r, 1500);
	assert_state(r, CW_TUNNEL_WAITING);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_RESOLVE);
	rig_free(r);
}

/* BL-029: refused keys are tried again, more slowly. */
static void test_failed_try(void **state)
{
	static const struct {
		enum cw_cause cause;
		enum cw_log_id id;
		int64_t least_ms, most_ms;
	} cases[] = {
		{ CW_CAUSE_NO_ROUTE, CW_LOG_TUNNEL_RETRY, 751, 1000 },
		{ CW_CAUSE_NO_ANSWER, CW_LOG_TUNNEL_RETRY, 751, 1000 },
		{ CW_CAUSE_AUTH_BY_PEER, CW_LOG_AUTH_FAILED, 45001, 60000 },
		{ CW_CAUSE_AUTH_BY_US, CW_LOG_AUTH_FAILED, 45001, 60000 },
		{ CW_CAUSE_NO_IKE_PROPOSAL, CW_LOG_NO_PROPOSAL, 751, 1000 },
		{ CW_CAUSE_DH_GROUP, CW_LOG_NO_PROPOSAL, 751, 1000 },
		{ CW_CAUSE_PEER_DELETE, CW_LOG_TUNNEL_RETRY, 751, 1000 },
		{ CW_CAUSE_KERNEL, CW_LOG_KERNEL_REFUSED, 751, 1000 },
		{ CW_CAUSE_NAT_FORBIDDEN, CW_LOG_NAT_FOUND, 751, 1000 },
		{ CW_CAUSE_PROTOCOL, CW_LOG_TUNNEL_RETRY, 751, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *r = rig_new(true, 1);
		const struct cw_tunnel_action *line;
		struct cw_tunnel_view v;

		rig_step(r, CW_TEV_START);
		hear_resolved(r);
		rig_forget(r);
		hear_failed(r, cases[i].cause, true, "NOTIFY");
		assert_state(r, CW_TUNNEL_WAITING);
		assert_in_range(cw_time_diff_us(cw_tunnel_next_due(r->t), r->now) / 1000,
			cases[i].least_ms - 1, cases[i].most_ms);
		line = rig_last(r, CW_TA_LOG);
		assert_int_equal(line->level, CW_LOG_WARNING);
		assert_int_equal(line->log_id, cases[i].id);
		assert_non_null(strstr(line->text, cw_cause_text(cases[i].cause)));
		assert_non_null(strstr(line->text, cw_cause_remedy(cases[i].cause)));
		assert_non_null(strstr(line->text, "(NOTIFY)"));
		v = rig_view(r);
		assert_int_equal(v.cause, cases[i].cause);
		assert_int_equal(v.last_error, cases[i].cause);
		assert_string_equal(v.detail, "NOTIFY");
		assert_true(v.next_try_in_s > 0);
		assert_int_equal(v.attempt, 2);
		/* The name is looked up anew for each try (BL-036). */
		rig_forget(r);
		rig_pass_ms(r, cases[i].most_ms);
		assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
		rig_free(r);
	}
}

/* Behind a NAT with public-address forgotten: a refusal names it. */
static void test_private_identity(void **state)
{
	static const struct cw_addr private = { .family = CW_FAMILY_IPV4, .bytes = { 192, 168, 1, 20 } },
				    public = { .family = CW_FAMILY_IPV4, .bytes = { 198, 51, 100, 2 } },
				    peer = { .family = CW_FAMILY_IPV4, .bytes = { 203, 0, 113, 11 } },
				    near = { .family = CW_FAMILY_IPV4, .bytes = { 192, 168, 1, 1 } };
	static const struct {
		struct cw_addr local, remote, public_addr;
		const char *local_id;
		bool told;
	} cases[] = {
		{ private, peer, { 0 }, NULL, true },
		{ public, peer, { 0 }, NULL, false },
		{ private, near, { 0 }, NULL, false },
		{ private, peer, public, NULL, false },
		{ private, peer, { 0 }, "gw.example.net", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig *r = rig_new(true, 1);
		struct cw_tunnel_event ev = {
			.kind = CW_TEV_RESOLVED, .remote = cases[i].remote, .local = cases[i].local
		};
		struct cw_tunnel_actions actions;

		r->conf.public_addr = cases[i].public_addr;
		r->conf.local_id = cases[i].local_id;
		rig_step(r, CW_TEV_START);
		cw_tunnel_step(r->t, &ev, r->now, &actions);
		hear_failed(r, CW_CAUSE_AUTH_BY_PEER, true, "");
		assert_int_equal(
			strstr(rig_last(r, CW_TA_LOG)->text, "public-address") != NULL, cases[i].told);
		assert_int_equal(rig_view(r).private_id, cases[i].told);
		rig_free(r);
	}
}

/* BL-025, BL-027: for ever, capped, jittered; and said once, not ten thousand times (BL-031). */
static void test_for_ever(void **state)
{
	struct rig *r = rig_new(true, 1);
	int64_t cap_us = 10000000, last_us = 0;
	size_t lines = 0, distinct = 0;

	(void)state;
	rig_step(r, CW_TEV_START);
	for (int i = 1; i <= 10000; i++) {
		int64_t pause_us, base_us = i > 4 ? cap_us : 1000000LL << (i - 1);

		hear_resolved(r);
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
		hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
		pause_us = cw_time_diff_us(cw_tunnel_next_due(r->t), r->now);
		assert_in_range(pause_us, base_us * 3 / 4, base_us);
		distinct += pause_us != last_us;
		last_us = pause_us;
		lines += rig_lines(r);
		/* Only the first says what becomes of the others. */
		assert_int_equal(i == 1, strstr(rig_last(r, CW_TA_LOG)->text, "one in 10 minutes") != NULL);
		rig_forget(r);
		rig_pass_ms(r, pause_us / 1000 + 1);
		assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	}
	assert_true(distinct > 9000);
	/* A day of it: 9 or 10 s a try, a line each ten minutes. */
	assert_in_range(lines, 100, 160);
	assert_int_equal(rig_view(r).attempt, 10001);
	rig_free(r);
}

/* The time that a try waited for an answer counts as pause, but never all of it. */
static void test_pause_counts_from_the_start_of_the_try(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	for (int i = 0; i < 10; i++) {
		hear_resolved(r);
		rig_pass_ms(r, 8000);
		hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
		assert_in_range(
			cw_time_diff_us(cw_tunnel_next_due(r->t), r->now) / 1000, 750, 2000);
		rig_pass_ms(r, 2001);
		assert_state(r, CW_TUNNEL_RESOLVING);
	}
	rig_free(r);
}

static void test_attempt_forgotten_by_the_engine(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	/* Too early to show it, however many: a busy engine begins late. */
	for (int i = 0; i < 9; i++) {
		snap_begin(r);
		snap_end(r);
		assert_state(r, CW_TUNNEL_CONNECTING);
		rig_pass_ms(r, 1000);
	}
	rig_forget(r);
	rig_pass_ms(r, 1001);
	assert_int_equal(rig_did(r, CW_TA_POLL), 1);
	snap_begin(r);
	snap_end(r);
	assert_state(r, CW_TUNNEL_CONNECTING); /* one is none */
	rig_pass_ms(r, 2001);
	assert_int_equal(rig_did(r, CW_TA_POLL), 2);
	snap_begin(r);
	snap_ike(r, 5, CW_IKE_SA_CONNECTING, true, NULL);
	snap_end(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	rig_pass_ms(r, 2001);
	snap_begin(r);
	snap_end(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	rig_pass_ms(r, 2001);
	snap_begin(r);
	snap_end(r);
	assert_state(r, CW_TUNNEL_WAITING);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_LOST);
	rig_free(r);
}

static void test_peer_comes_first(void **state)
{
	/* Whatever we are doing, what the peer made is taken. */
	enum { RESOLVING, CONNECTING, WAITING, LAST } when;

	(void)state;
	for (when = RESOLVING; when < LAST; when++) {
		struct rig *r = rig_new(true, 1);

		rig_step(r, CW_TEV_START);
		if (when >= CONNECTING)
			hear_resolved(r);
		if (when == WAITING)
			hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
		hear_ike_up(r, 9, false);
		hear_child_up(r, 101, 9, 0);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(rig_view(r).cause, CW_CAUSE_NONE);
		rig_forget(r);
		/* Our own try, if there is one, may fail now: no news. */
		if (when == RESOLVING)
			hear_resolved(r);
		hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
		rig_pass_ms(r, 60000);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
		assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
		assert_int_equal(rig_lines(r), 0);
		rig_free(r);
	}
}

/* ---- losing it ---- */

/* BL-026: whatever took it down, it comes again; and at once if it was well up. */
static void test_loss(void **state)
{
	static const enum cw_cause causes[] = {
		CW_CAUSE_PEER_DEAD,
		CW_CAUSE_PEER_DELETE,
		CW_CAUSE_EXPIRED,
		CW_CAUSE_AUTH_BY_US,
		CW_CAUSE_PROTOCOL,
		CW_CAUSE_LOST,
		CW_CAUSE_NONE,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		struct rig *r = rig_new(true, 1);
		struct cw_tunnel_view v;

		rig_bring_up(r);
		hear_child_down(r, 101, 1, causes[i]);
		assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
		assert_false(cw_tunnel_carries(r->t));
		hear_ike_down(r, 1, causes[i]);
		assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
		/* Not one attempt for the child and one for the IKE_SA. */
		assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
		/* Children go first, but it is one loss and one line. */
		assert_int_equal(rig_lines(r), 1);
		assert_int_equal(rig_last(r, CW_TA_LOG)->level, CW_LOG_WARNING);
		assert_non_null(strstr(rig_last(r, CW_TA_LOG)->text, "down after 60 s up"));
		v = rig_view(r);
		assert_int_equal(v.cause, causes[i] == CW_CAUSE_NONE ? CW_CAUSE_LOST : causes[i]);
		/* It fails during recovery, and comes back all the same. */
		hear_resolved(r);
		hear_failed(r, causes[i], true, "");
		rig_pass_ms(r, 60000);
		hear_resolved(r);
		hear_ike_up(r, 2, true);
		hear_child_up(r, 102, 2, 0);
		assert_state(r, CW_TUNNEL_UP);
		assert_int_equal(rig_view(r).times_up, 2);
		rig_free(r);
	}
}

static void test_short_life_makes_no_storm(void **state)
{
	struct rig *r = rig_new(true, 1);
	size_t begun = 0;
	int64_t begin_us;

	(void)state;
	rig_step(r, CW_TEV_START);
	begin_us = r->now.us;
	for (uint32_t id = 1; r->now.us - begin_us < 600 * 1000000LL; id++) {
		hear_resolved(r);
		begun += rig_did(r, CW_TA_INITIATE);
		rig_pass_ms(r, 20);
		hear_ike_up(r, id, true);
		hear_child_up(r, 1000 + id, id, 0);
		assert_state(r, CW_TUNNEL_UP);
		rig_pass_ms(r, 20);
		hear_child_down(r, 1000 + id, id, CW_CAUSE_PEER_DELETE);
		hear_ike_down(r, id, CW_CAUSE_PEER_DELETE);
		assert_state(r, CW_TUNNEL_WAITING);
		rig_forget(r);
		rig_pass_ms(r, cw_time_diff_us(cw_tunnel_next_due(r->t), r->now) / 1000 + 1);
	}
	assert_in_range(begun, 60, 85);
	rig_free(r);
}

/* A peer found dead is asked at once even if it was not up for long: finding out took its time. */
static void test_dead_peer_is_tried_at_once(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	rig_pass_ms(r, 8000);
	rig_forget(r);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DEAD);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	rig_free(r);
}

/* ---- orders ---- */

static void test_down(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_view v;

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_DOWN);
	assert_state(r, CW_TUNNEL_CLOSING);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_REMOVE), 1);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 1);
	assert_false(rig_last(r, CW_TA_TERMINATE_IKE)->force);
	assert_false(cw_tunnel_is_idle(r->t));
	/* Once is enough while the peer has time to answer. */
	rig_step(r, CW_TEV_DOWN);
	rig_pass_ms(r, 3000);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
	hear_child_down(r, 101, 1, CW_CAUSE_NONE);
	hear_ike_down(r, 1, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_true(cw_tunnel_is_idle(r->t));
	v = rig_view(r);
	assert_int_equal(v.cause, CW_CAUSE_OPERATOR);
	assert_int_equal(v.last_error, CW_CAUSE_NONE); /* wanted, so no error */
	assert_false(v.wanted_up);
	assert_int_equal(rig_lines(r), 1);
	assert_int_equal(rig_last(r, CW_TA_LOG)->level, CW_LOG_NOTICE);
	/* It sticks. */
	rig_forget(r);
	rig_pass_ms(r, 86400 * 1000);
	assert_int_equal(r->n_did, 0);
	rig_step(r, CW_TEV_UP);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_NONE);
	hear_resolved(r);
	/* The engine had forgotten us. */
	assert_int_equal(rig_did(r, CW_TA_ENGINE_SET), 1);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	rig_free(r);
}

static void test_down_with_a_dead_peer(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_DOWN);
	rig_pass_ms(r, 4001);
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 2);
	assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
	/* The report of its end may be lost as well: a snapshot tells. */
	assert_int_equal(rig_did(r, CW_TA_POLL), 1);
	snap_begin(r);
	snap_end(r);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(rig_did(r, CW_TA_CARRYING), 1);
	rig_free(r);
}

/* An attempt has no id until a snapshot shows it. */
static void test_down_during_an_attempt(void **state)
{
	enum { SEEN, ESTABLISHED, FAILED, NEVER_SEEN, LAST } how;

	(void)state;
	for (how = SEEN; how < LAST; how++) {
		struct rig *r = rig_new(true, 1);

		rig_step(r, CW_TEV_START);
		hear_resolved(r);
		rig_pass_ms(r, 500);
		rig_step(r, CW_TEV_DOWN);
		assert_state(r, CW_TUNNEL_CLOSING);
		assert_false(cw_tunnel_is_idle(r->t));
		assert_int_equal(rig_did(r, CW_TA_POLL), 1);
		if (how == SEEN) {
			snap_begin(r);
			snap_ike(r, 4, CW_IKE_SA_CONNECTING, true, NULL);
			snap_end(r);
			assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
			assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 4);
			hear_ike_down(r, 4, CW_CAUSE_NONE);
		} else if (how == ESTABLISHED) {
			hear_ike_up(r, 4, true);
			assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 4);
			hear_ike_down(r, 4, CW_CAUSE_NONE);
		} else if (how == FAILED) {
			hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
		} else {
			snap_begin(r); /* too early to prove anything */
			snap_end(r);
			assert_state(r, CW_TUNNEL_CLOSING);
			rig_pass_ms(r, 2001);
			assert_int_equal(rig_did(r, CW_TA_POLL), 2);
			snap_begin(r);
			snap_end(r);
		}
		assert_state(r, CW_TUNNEL_DOWN);
		assert_true(cw_tunnel_is_idle(r->t));
		rig_free(r);
	}
}

/* Known from a snapshot already: it is ended without another. */
static void test_down_during_a_known_attempt(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	rig_pass_ms(r, 500);
	snap_begin(r);
	snap_ike(r, 77, CW_IKE_SA_CONNECTING, true, NULL);
	snap_end(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	rig_forget(r);
	rig_step(r, CW_TEV_DOWN);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 77);
	assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
	assert_int_equal(rig_did(r, CW_TA_POLL), 0);
	hear_failed(r, CW_CAUSE_NONE, true, "");
	assert_state(r, CW_TUNNEL_DOWN);
	assert_true(cw_tunnel_is_idle(r->t));
	rig_free(r);
}

/* A snapshot that shows what is known changes no story. */
static void test_snapshot_keeps_the_cause(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_RESTART);
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, (const uint32_t[]){ 101, 0 });
	snap_end(r);
	assert_state(r, CW_TUNNEL_CLOSING);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_OPERATOR);
	assert_string_equal(rig_view(r).detail, "restart");
	rig_free(r);
}

/* BL-074: reset is down and up, from wherever it is. */
static void test_restart(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_RESTART);
	assert_state(r, CW_TUNNEL_CLOSING);
	rig_pass_ms(r, 50);
	rig_step(r, CW_TEV_RESTART); /* twice within 100 ms */
	assert_int_equal(rig_did(r, CW_TA_TERMINATE_IKE), 1);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_REMOVE), 0);
	hear_child_down(r, 101, 1, CW_CAUSE_NONE);
	hear_ike_down(r, 1, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_NONE);
	rig_free(r);
}

static void test_restart_with_the_peer_dead(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_RESTART);
	rig_pass_ms(r, 4001);
	assert_true(rig_last(r, CW_TA_TERMINATE_IKE)->force);
	hear_ike_down(r, 1, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_false(cw_tunnel_carries(r->t));
	rig_free(r);
}

static void test_restart_while_not_up(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	/* down */
	rig_step(r, CW_TEV_START);
	rig_step(r, CW_TEV_DOWN);
	rig_step(r, CW_TEV_RESTART);
	assert_state(r, CW_TUNNEL_RESOLVING);
	/* resolving */
	rig_step(r, CW_TEV_RESTART);
	assert_state(r, CW_TUNNEL_RESOLVING);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	/* waiting: now, not after the pause */
	hear_failed(r, CW_CAUSE_AUTH_BY_PEER, true, "");
	assert_state(r, CW_TUNNEL_WAITING);
	rig_step(r, CW_TEV_RESTART);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_int_equal(rig_view(r).attempt, 1);
	hear_resolved(r);
	/* connecting: the attempt ends first */
	rig_forget(r);
	rig_step(r, CW_TEV_RESTART);
	assert_state(r, CW_TUNNEL_CLOSING);
	rig_step(r, CW_TEV_RESTART);
	snap_begin(r);
	snap_ike(r, 3, CW_IKE_SA_CONNECTING, true, NULL);
	snap_end(r);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 3);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
	hear_ike_down(r, 3, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_RESOLVING);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	/* A late word about the old attempt is not about the new one. */
	hear_failed(r, CW_CAUSE_NO_ANSWER, false, "");
	assert_state(r, CW_TUNNEL_CONNECTING);
	rig_free(r);
}

static void test_down_and_up_again(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_DOWN);
	rig_step(r, CW_TEV_UP);
	assert_state(r, CW_TUNNEL_CLOSING);
	hear_ike_down(r, 1, CW_CAUSE_NONE);
	hear_resolved(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_REMOVE), 1);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_SET), 1);
	/* down while the name is looked up: the answer comes too late */
	rig_step(r, CW_TEV_DOWN);
	hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
	rig_step(r, CW_TEV_UP);
	rig_step(r, CW_TEV_DOWN);
	rig_forget(r);
	hear_resolved(r);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(r->n_did, 0);
	rig_free(r);
}

static void test_up_while_waiting_is_at_once(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	hear_failed(r, CW_CAUSE_AUTH_BY_PEER, true, "");
	rig_forget(r);
	rig_step(r, CW_TEV_UP);
	assert_state(r, CW_TUNNEL_RESOLVING);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	rig_free(r);
}

static void test_stop_is_final(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	rig_step(r, CW_TEV_STOP);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_STOPPING);
	rig_step(r, CW_TEV_UP);
	rig_step(r, CW_TEV_RESTART);
	rig_step(r, CW_TEV_DOWN);
	hear_ike_down(r, 1, CW_CAUSE_STOPPING);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_STOPPING);
	assert_true(cw_tunnel_is_idle(r->t));
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
	rig_free(r);
}

static void test_peer_comes_while_down(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	rig_step(r, CW_TEV_DOWN);
	rig_forget(r);
	hear_ike_up(r, 5, false);
	assert_int_equal(rig_last(r, CW_TA_TERMINATE_IKE)->id, 5);
	assert_state(r, CW_TUNNEL_CLOSING);
	hear_ike_down(r, 5, CW_CAUSE_NONE);
	assert_state(r, CW_TUNNEL_DOWN);
	rig_free(r);
}

/* ---- listening ---- */

static void test_listen(void **state)
{
	struct rig *r = rig_new(false, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	rig_step(r, CW_TEV_RESOLVE_FAILED);
	rig_pass_ms(r, 1001);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 2);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_SET), 1);
	/* The name may move: looked up again each minute, and no word about it. */
	rig_forget(r);
	for (int i = 0; i < 10; i++) {
		rig_pass_ms(r, 60001);
		hear_resolved(r);
	}
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 10);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	assert_int_equal(rig_lines(r), 0);
	assert_int_equal(rig_view(r).n_history, 0);
	assert_false(rig_view(r).wanted_up);
	hear_ike_up(r, 1, false);
	hear_child_up(r, 101, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	rig_forget(r);
	rig_pass_ms(r, 600000);
	assert_int_equal(r->n_did, 0);
	/* Lost: back to listening, with a fresh look at the name, and nothing begun. */
	hear_child_down(r, 101, 1, CW_CAUSE_PEER_DEAD);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DEAD);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_PEER_DEAD);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	hear_resolved(r);
	rig_pass_ms(r, 30000);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 0);
	rig_step(r, CW_TEV_UP);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_INITIATE), 1);
	rig_free(r);
}

/* ---- the story ---- */

static void test_history(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_view v;

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	rig_pass_ms(r, 8000);
	hear_failed(r, CW_CAUSE_NO_ANSWER, true, "");
	rig_pass_ms(r, 1000);
	hear_resolved(r);
	v = rig_view(r);
	/* Trying is one thing, however often: since it began, not since the last try. */
	assert_int_equal(v.n_history, 1);
	assert_int_equal(v.for_s, 9);
	assert_int_equal(v.state, CW_TUNNEL_CONNECTING);
	assert_int_equal(v.cause, CW_CAUSE_NO_ANSWER);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, 0);
	rig_pass_ms(r, 30000);
	v = rig_view(r);
	assert_int_equal(v.n_history, 2);
	assert_int_equal(v.history[0].from, CW_TUNNEL_CONNECTING);
	assert_int_equal(v.history[0].to, CW_TUNNEL_UP);
	assert_int_equal(v.history[1].from, CW_TUNNEL_DOWN);
	assert_int_equal(v.history[1].to, CW_TUNNEL_RESOLVING);
	assert_int_equal(v.since_wall_s, v.history[0].at_wall_s);
	assert_int_equal(v.for_s, 30);
	/* The error is remembered after it was mended, and why is not. */
	assert_int_equal(v.cause, CW_CAUSE_NONE);
	assert_int_equal(v.last_error, CW_CAUSE_NO_ANSWER);
	assert_int_equal(v.last_error_wall_s, v.since_wall_s - 1);
	/* SAs grow older with the clock. */
	assert_int_equal(v.ike.established_s_ago, 30);
	assert_int_equal(v.ike.rekey_in_s, 970);
	assert_int_equal(v.children[0].expires_in_s, 570);
	assert_int_equal(v.children[0].last_in_s_ago, -1);
	for (uint32_t i = 2; i < 40; i++) {
		hear_ike_down(r, i - 1, CW_CAUSE_PEER_DEAD);
		hear_resolved(r);
		hear_ike_up(r, i, true);
		hear_child_up(r, 100 + i, i, 0);
	}
	v = rig_view(r);
	assert_int_equal(v.n_history, CW_VIEW_HISTORY_MAX);
	assert_int_equal(v.history[0].to, CW_TUNNEL_UP);
	assert_int_equal(v.times_up, 39);
	rig_free(r);
}

static void test_counters(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_view v;

	(void)state;
	rig_bring_up(r);
	cw_tunnel_child_counters(r->t, 101, 1000, 10, 2000, 20, r->now);
	cw_tunnel_child_counters(r->t, 999, 5, 5, 5, 5, r->now); /* unknown */
	hear_child_rekeyed(r, 101, 102, 1, 0);
	cw_tunnel_child_counters(r->t, 102, 1, 1, 1, 1, r->now);
	/* A snapshot with older numbers does not turn them back. */
	snap_begin(r);
	snap_ike(r, 1, CW_IKE_SA_ESTABLISHED, true, (const uint32_t[]){ 102, 0 });
	snap_end(r);
	v = rig_view(r);
	assert_int_equal(v.bytes_in, 1001);
	assert_int_equal(v.packets_in, 11);
	assert_int_equal(v.bytes_out, 2001);
	assert_int_equal(v.packets_out, 21);
	hear_ike_down(r, 1, CW_CAUSE_PEER_DEAD);
	v = rig_view(r);
	assert_int_equal(v.n_children, 0);
	assert_int_equal(v.bytes_in, 1001);
	rig_free(r);
}

/* BL-031: an hour of a peer that refuses us, then hours of peace. */
static void test_lines_of_a_bad_peer(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	/* A peer's failures can come at any rate. */
	for (int i = 0; i < 3600; i++) {
		hear_failed(r, i % 2 ? CW_CAUSE_AUTH_BY_US : CW_CAUSE_NO_IKE_PROPOSAL, false, "");
		hear_child_failed(r, 0, CW_CAUSE_TS_UNACCEPTABLE, false);
		rig_pass_ms(r, 1000);
	}
	assert_in_range(rig_lines(r), 50, 61);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_NONE);
	assert_int_equal(rig_view(r).last_error, CW_CAUSE_TS_UNACCEPTABLE);
	rig_forget(r);
	/* A rekey that fails each quarter of a minute. */
	for (int i = 0; i < 240; i++) {
		hear_rekey_failed(r, CW_CAUSE_DH_GROUP, true);
		rig_pass_ms(r, 15000);
	}
	assert_in_range(rig_lines(r), 6, 7);
	assert_non_null(strstr(rig_last(r, CW_TA_LOG)->text, "MODP_1024"));
	rig_free(r);
}

static void test_rekey_error_is_shown_until_it_works(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_bring_up(r);
	hear_rekey_failed(r, CW_CAUSE_DH_GROUP, true);
	assert_int_equal(rig_view(r).last_rekey_error, CW_CAUSE_DH_GROUP);
	assert_string_equal(rig_view(r).last_rekey_detail, "ours MODP_2048, theirs MODP_1024");
	/* That the IKE_SA can be rekeyed says nothing about the child. */
	hear_ike_rekeyed(r, 1, 2);
	assert_int_equal(rig_view(r).last_rekey_error, CW_CAUSE_DH_GROUP);
	hear_child_rekeyed(r, 101, 102, 2, 0);
	assert_int_equal(rig_view(r).last_rekey_error, CW_CAUSE_NONE);
	rig_free(r);
}

static void test_kernel_failed(void **state)
{
	struct rig *r = rig_new(true, 1);
	struct cw_tunnel_event ev = { .kind = CW_TEV_KERNEL_FAILED, .detail = "EPERM" };
	struct cw_tunnel_actions out;

	(void)state;
	rig_step(r, CW_TEV_START);
	cw_tunnel_step(r->t, &ev, r->now, &out);
	assert_int_equal(out.n, 0);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_KERNEL);
	assert_string_equal(rig_view(r).detail, "EPERM");
	/* It goes on trying: the interface may come. */
	hear_resolved(r);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	assert_int_equal(rig_view(r).last_error, CW_CAUSE_KERNEL);
	rig_free(r);
}

/* The engine does not take the settings: said and shown as a failed try, and tried again. */
static void test_engine_refuses(void **state)
{
	struct cw_tunnel_event ev = {
		.kind = CW_TEV_ENGINE_REFUSED, .cause = CW_CAUSE_ENGINE, .detail = "no memory",
	};
	struct cw_tunnel_actions out;
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	assert_state(r, CW_TUNNEL_CONNECTING);
	cw_tunnel_step(r->t, &ev, r->now, &out);
	assert_state(r, CW_TUNNEL_WAITING);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_ENGINE);
	assert_string_equal(rig_view(r).detail, "no memory");
	assert_true(rig_view(r).next_try_in_s > 0);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.v[0].kind, CW_TA_LOG);
	assert_int_equal(out.v[0].level, CW_LOG_WARNING);
	assert_non_null(strstr(out.v[0].text, "does not take the tunnel's settings (no memory)"));
	rig_forget(r);
	rig_pass_ms(r, 10000);
	hear_resolved(r);
	assert_int_equal(rig_did(r, CW_TA_ENGINE_SET), 1);
	hear_ike_up(r, 1, true);
	hear_child_up(r, 101, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);

	/* One that listens has nothing that could fail, but says why no peer can come, and sets them again. */
	r = rig_new(false, 1);
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	cw_tunnel_step(r->t, &ev, r->now, &out);
	assert_state(r, CW_TUNNEL_DOWN);
	assert_int_equal(rig_view(r).cause, CW_CAUSE_ENGINE);
	rig_forget(r);
	rig_pass_ms(r, 59000);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 0);
	rig_pass_ms(r, 2000);
	assert_int_equal(rig_did(r, CW_TA_RESOLVE), 1);
	rig_free(r);
}

/* Between two lines that say "up" stands one that says it was not, at the same level. */
static void test_no_up_twice(void **state)
{
	struct rig *r = rig_new(true, 1);
	const char *line;

	(void)state;
	rig_bring_up(r);
	hear_child_down(r, 101, 1, CW_CAUSE_CHILD_DELETE);
	assert_state(r, CW_TUNNEL_IKE_ONLY);
	rig_pass_ms(r, 100);
	/* The peer makes it anew by itself, before we ask. */
	hear_child_up(r, 102, 1, 0);
	assert_state(r, CW_TUNNEL_UP);
	line = rig_last(r, CW_TA_LOG)->text;
	assert_int_equal(rig_lines(r), 1);
	assert_non_null(strstr(line, "up again, after 0.1 s without"));
	assert_non_null(strstr(line, "the peer closed the CHILD_SA"));

	/* Its children go, and a while later, for a cause that was said before, the IKE_SA. */
	for (int i = 0; i < 2; i++) {
		rig_forget(r);
		hear_child_down(r, 102, 1 + (uint32_t)i, CW_CAUSE_CHILD_DELETE);
		rig_pass_ms(r, 2000);
		hear_ike_down(r, 1 + (uint32_t)i, CW_CAUSE_PEER_DELETE);
		line = rig_last(r, CW_TA_LOG)->text;
		assert_non_null(strstr(line, "down after 2 s ike-only"));
		assert_true(rig_last(r, CW_TA_LOG)->level <= CW_LOG_NOTICE);
		rig_pass_ms(r, 30000);
		hear_resolved(r);
		rig_forget(r);
		hear_ike_up(r, 2 + (uint32_t)i, true);
		hear_child_up(r, 102, 2 + (uint32_t)i, 0);
		assert_state(r, CW_TUNNEL_UP);
		assert_non_null(strstr(rig_last(r, CW_TA_LOG)->text, "up: IKEv2"));
	}
	rig_free(r);
}

static void test_silence(void **state)
{
	struct rig *r = rig_new(true, 1);

	(void)state;
	rig_step(r, CW_TEV_SILENCE);
	assert_int_equal(r->n_did, 0);
	rig_bring_up(r);
	rig_step(r, CW_TEV_SILENCE);
	assert_int_equal(rig_did(r, CW_TA_CHECK_ALIVE), 1);
	assert_int_equal(rig_last(r, CW_TA_CHECK_ALIVE)->id, 1);
	assert_state(r, CW_TUNNEL_UP);
	rig_free(r);
}

static void test_free_takes_null(void **state)
{
	(void)state;
	cw_tunnel_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_literal_address_is_not_resolving),
		cmocka_unit_test(test_resolve_fails),
		cmocka_unit_test(test_resolver_is_silent),
		cmocka_unit_test(test_failed_try),
		cmocka_unit_test(test_private_identity),
		cmocka_unit_test(test_for_ever),
		cmocka_unit_test(test_pause_counts_from_the_start_of_the_try),
		cmocka_unit_test(test_attempt_forgotten_by_the_engine),
		cmocka_unit_test(test_peer_comes_first),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_short_life_makes_no_storm),
		cmocka_unit_test(test_dead_peer_is_tried_at_once),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_down_with_a_dead_peer),
		cmocka_unit_test(test_down_during_an_attempt),
		cmocka_unit_test(test_down_during_a_known_attempt),
		cmocka_unit_test(test_snapshot_keeps_the_cause),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_restart_with_the_peer_dead),
		cmocka_unit_test(test_restart_while_not_up),
		cmocka_unit_test(test_down_and_up_again),
		cmocka_unit_test(test_up_while_waiting_is_at_once),
		cmocka_unit_test(test_stop_is_final),
		cmocka_unit_test(test_peer_comes_while_down),
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_lines_of_a_bad_peer),
		cmocka_unit_test(test_rekey_error_is_shown_until_it_works),
		cmocka_unit_test(test_kernel_failed),
		cmocka_unit_test(test_engine_refuses),
		cmocka_unit_test(test_no_up_twice),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_free_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
