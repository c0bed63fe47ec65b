/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers that fall silent. */
#include "pair.h"

static void case_peer_silent(void)
{
	struct side_tunnel ta = plain('a');
	const struct cw_ike_event *ev;
	int64_t began = now_ms();

	set(&a, &ta);
	freeze(&b);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ANSWER && ev->by_us && !ev->is_child);
	CHECK(now_ms() - began >= 1500 && now_ms() - began < 3000);
	settle(&a, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 1);
	bare(&a);
	/* One attempt an order: the next is as good. */
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ANSWER);
}

static void peer_dead(unsigned version)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	int64_t began;

	ta.version = tb.version = version;
	ta.dpd_delay_s = 1;
	ta.dpd_timeout_s = 2;
	both(&ta, &tb);
	up();
	freeze(&b);
	began = now_ms();
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, 8000);
	CHECK(ev->cause == CW_CAUSE_PEER_DEAD && !ev->by_us);
	CHECK(now_ms() - began >= 1900 && now_ms() - began < 5000);
	settle(&a, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 0 && count(&a, CW_IKE_EV_CHILD_DOWN) == 1);
	CHECK(count(&a, CW_IKE_EV_IKE_DOWN) == 1);
	bare(&a);
}

static void case_peer_dead(void)
{
	peer_dead(2);
}

static void case_peer_dead_ikev1(void)
{
	peer_dead(1);
}

static void check_alive(unsigned version)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa;

	ta.version = tb.version = version;
	ta.dpd_timeout_s = 1;
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_ALIVE, pa.ike_id);
	pa = settle(&a, 1, 1);
	freeze(&b);
	simple(&a, SIDE_ALIVE, pa.ike_id); /* the delay is 60 s: only the order asks */
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DEAD);
}

static void case_check_alive(void)
{
	check_alive(2);
}

static void case_check_alive_ikev1(void)
{
	check_alive(1);
}

/* A question that is lost is asked again, so it takes more than one lost packet to end an IKE_SA. */
static void case_lost_question_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct picture pa;

	ta.version = tb.version = 1;
	ta.dpd_timeout_s = 2;
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	ip(&b, "link set cw0 down");
	simple(&a, SIDE_ALIVE, pa.ike_id);
	quiet(&a, 700);
	ip(&b, "link set cw0 up");
	quiet(&a, 2500);
	/* And the peer counts along. */
	simple(&a, SIDE_ALIVE, pa.ike_id);
	quiet(&a, 2500);
	settle(&a, 1, 1);
}

const struct pair_case pair_alive[] = {
	{ "peer-silent", case_peer_silent },
	{ "peer-dead", case_peer_dead },
	{ "peer-dead-ikev1", case_peer_dead_ikev1 },
	{ "check-alive", case_check_alive },
	{ "check-alive-ikev1", case_check_alive_ikev1 },
	{ "lost-question-ikev1", case_lost_question_ikev1 },
	{ 0 },
};
