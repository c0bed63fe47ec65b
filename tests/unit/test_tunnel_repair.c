/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that goes out while none comes back: what the machine makes of the counters it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "unit/tunnel_rig.h"

struct talk {
	struct rig *r;
	uint64_t in[8], out[8]; /* of children 101 and on */
};

static struct talk *talk_new(uint32_t pairs, bool initiator)
{
	struct talk *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->r = rig_new(true, pairs);
	t->r->conf.dpd_delay_s = 5;
	t->r->conf.dpd_timeout_s = 8;
	rig_step(t->r, CW_TEV_START);
	hear_resolved(t->r);
	hear_ike_up(t->r, 1, initiator);
	for (uint32_t i = 0; i < pairs; i++)
		hear_child_up(t->r, 101 + i, 1, i);
	assert_state(t->r, CW_TUNNEL_UP);
	rig_pass_ms(t->r, 60000);
	rig_forget(t->r);
	return t;
}

static void talk_free(struct talk *t)
{
	rig_free(t->r);
	free(t);
}

/* Each two seconds so many packets on one child. */
static void talk_for(struct talk *t, uint32_t child, uint32_t in, uint32_t out, uint32_t seconds)
{
	for (uint32_t i = 0; i < seconds; i += 2) {
		rig_pass_ms(t->r, 2000);
		t->in[child - 101] += in;
		t->out[child - 101] += out;
		cw_tunnel_child_counters(t->r->t, child, t->in[child - 101] * 100, t->in[child - 101],
			t->out[child - 101] * 100, t->out[child - 101], t->r->now);
	}
}

/* The rekey works: the next child takes its place. */
static uint32_t rekeyed(struct talk *t, uint32_t pair)
{
	uint32_t old = rig_last(t->r, CW_TA_REKEY_CHILD)->id;

	hear_child_rekeyed(t->r, old, old + 1, 1, pair);
	hear_child_down(t->r, old, 1, CW_CAUSE_NONE);
	rig_forget(t->r);
	return old + 1;
}

static void test_answered(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	talk_for(t, 101, 1, 100, 3600);
	/* A packet now and then is an answer too. */
	for (int i = 0; i < 100; i++) {
		talk_for(t, 101, 0, 3, 16);
		talk_for(t, 101, 1, 3, 2);
	}
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_free(t);
}

static void test_nothing_back(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	talk_for(t, 101, 0, 2, 20);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_for(t, 101, 0, 2, 4);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	assert_int_equal(rig_last(t->r, CW_TA_REKEY_CHILD)->id, 101);
	assert_int_equal(rig_last(t->r, CW_TA_LOG)->log_id, CW_LOG_ONE_WAY);
	/* It helps, and that is all. */
	talk_for(t, rekeyed(t, 0), 2, 2, 3600);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	assert_state(t->r, CW_TUNNEL_UP);
	talk_free(t);
}

/* The responder lets the initiator go first. */
static void test_responder_waits(void **state)
{
	struct talk *t = talk_new(1, false);

	(void)state;
	talk_for(t, 101, 0, 2, 30);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_for(t, 101, 0, 2, 4);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	talk_free(t);
}

/* A peer that DPD would find dead later is not bothered before. */
static void test_slow_dpd(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	t->r->conf.dpd_delay_s = 30;
	t->r->conf.dpd_timeout_s = 120;
	talk_for(t, 101, 0, 2, 152);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_for(t, 101, 0, 2, 6);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	talk_free(t);
}

static void test_few_packets(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	talk_for(t, 101, 0, 2, 4); /* four, and nobody asks again */
	talk_for(t, 101, 0, 0, 600);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	/* Many, but whoever asked has given up before it was time. */
	talk_for(t, 101, 0, 50, 4);
	talk_for(t, 101, 0, 0, 600);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_free(t);
}

/* Syslog and the like: a rekey does no harm, but it comes ever more seldom. */
static void test_meant_one_way(void **state)
{
	static const uint32_t after_s[] = { 22, 300, 600, 1200, 2400, 3600, 3600 };
	struct talk *t = talk_new(1, true);
	uint32_t child = 101;

	(void)state;
	for (size_t i = 0; i < sizeof(after_s) / sizeof(after_s[0]); i++) {
		struct cw_time since = t->r->now;

		while (!rig_did(t->r, CW_TA_REKEY_CHILD))
			talk_for(t, child, 0, 10, 2);
		assert_in_range(cw_time_diff_us(t->r->now, since) / 1000000, after_s[i], after_s[i] + 2);
		assert_int_equal(rig_last(t->r, CW_TA_REKEY_CHILD)->id, child);
		assert_int_equal(rig_lines(t->r), i == 0);
		child = rekeyed(t, 0);
	}
	talk_free(t);
}

/* Mended, it may break again, but not before five minutes are over. */
static void test_again(void **state)
{
	struct talk *t = talk_new(1, true);
	uint32_t child;

	(void)state;
	talk_for(t, 101, 0, 2, 24);
	child = rekeyed(t, 0);
	talk_for(t, child, 2, 2, 30);
	talk_for(t, child, 0, 2, 260);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_for(t, child, 0, 2, 20);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	child = rekeyed(t, 0);
	talk_for(t, child, 2, 2, 400);
	talk_for(t, child, 0, 2, 24);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	talk_free(t);
}

/* What the others carry does not hide that one is dead. */
static void test_one_of_four(void **state)
{
	struct talk *t = talk_new(4, true);

	(void)state;
	for (int i = 0; i < 12; i++) {
		for (uint32_t child = 101; child < 105; child++) {
			rig_pass_ms(t->r, 0);
			t->in[child - 101] += child != 103;
			t->out[child - 101]++;
			cw_tunnel_child_counters(t->r->t, child, 0, t->in[child - 101], 0,
				t->out[child - 101], t->r->now);
		}
		rig_pass_ms(t->r, 2000);
	}
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 1);
	assert_int_equal(rig_last(t->r, CW_TA_REKEY_CHILD)->id, 103);
	talk_free(t);
}

/* The pair has a second child: what comes in by it is an answer to what goes out by the other. */
static void test_two_children(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	hear_child_up(t->r, 102, 1, 0);
	for (int i = 0; i < 30; i++) {
		talk_for(t, 101, 1, 0, 2);
		talk_for(t, 102, 0, 1, 2);
	}
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_free(t);
}

static void test_down(void **state)
{
	struct talk *t = talk_new(1, true);

	(void)state;
	talk_for(t, 101, 0, 2, 18);
	rig_step(t->r, CW_TEV_DOWN);
	rig_pass_ms(t->r, 3000);
	hear_ike_down(t->r, 1, CW_CAUSE_NONE);
	rig_pass_ms(t->r, 600000);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	/* And the next child begins afresh. */
	rig_step(t->r, CW_TEV_UP);
	hear_resolved(t->r);
	hear_ike_up(t->r, 2, true);
	hear_child_up(t->r, 102, 2, 0);
	talk_for(t, 102, 0, 2, 18);
	assert_int_equal(rig_did(t->r, CW_TA_REKEY_CHILD), 0);
	talk_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answered),
		cmocka_unit_test(test_nothing_back),
		cmocka_unit_test(test_responder_waits),
		cmocka_unit_test(test_slow_dpd),
		cmocka_unit_test(test_few_packets),
		cmocka_unit_test(test_meant_one_way),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_one_of_four),
		cmocka_unit_test(test_two_children),
		cmocka_unit_test(test_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
