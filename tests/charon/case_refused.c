/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attempts that are refused: each end says why. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

static void refused(const struct side_tunnel *ta, const struct side_tunnel *tb, enum cw_cause at_a,
		    enum cw_cause at_b, const char *detail_a)
{
	const struct cw_ike_event *ev;

	both(ta, tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != at_a || !ev->by_us || ev->index != 3))
		fail("at a: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)at_a);
	if (!failed && !strstr(ev->detail, detail_a))
		fail("at a: detail \"%s\" lacks \"%s\"", ev->detail, detail_a);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != at_b || ev->by_us || ev->index != 3))
		fail("at b: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)at_b);
}

static void gone_without_trace(void)
{
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	bare(&a);
	bare(&b);
	/* To b each retransmission is another try: it keeps nothing of those that it refused. */
	CHECK(count(&a, CW_IKE_EV_FAILED) == 1 && count(&b, CW_IKE_EV_FAILED) >= 1);
}

static void case_wrong_psk(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.psk, "another");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "192.0.2.2");
	CHECK(!count(&a, CW_IKE_EV_IKE_UP) && !count(&b, CW_IKE_EV_IKE_UP));
	CHECK(!count(&b, CW_IKE_EV_INITIAL_CONTACT));
	gone_without_trace();
}

static void case_wrong_psk_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.psk, "another");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "");
}

static void case_wrong_id(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.local_id, "a.example");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "a.example");
	gone_without_trace();
}

static void case_wrong_ike_proposal(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.ike, "aes128-sha384-modp2048");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "AES_CBC_256");
	gone_without_trace();
}

static void case_wrong_ike_proposal_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.ike, "aes128-sha384-modp2048");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "AES_CBC_256");
	gone_without_trace();
}

static void case_wrong_dh_group(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	/* b has the rest in common with a, so it asks for its own group. */
	SET(tb.ike, "aes256-sha256-ecp384");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "MODP_2048");
	gone_without_trace();
}

/* The IKE_SA stays, its child is refused. */
static void child_refused(const struct side_tunnel *ta, const struct side_tunnel *tb, enum cw_cause cause)
{
	const struct cw_ike_event *ev;

	both(ta, tb);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != cause || !ev->is_child || !ev->by_us))
		fail("at a: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)cause);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != cause || !ev->is_child || ev->by_us))
		fail("at b: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)cause);
	settle(&a, 1, 0);
	/* Asked again on the same IKE_SA, it is refused again. */
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == cause && ev->is_child);
	settle(&a, 1, 0);
	CHECK(kernel(&a).larval == 0 && kernel(&a).policies == 0);
}

static void case_wrong_esp_proposal(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.esp, "aes128gcm16");
	child_refused(&ta, &tb, CW_CAUSE_NO_ESP_PROPOSAL);
}

static void case_wrong_esp_proposal_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.esp, "aes128gcm16");
	child_refused(&ta, &tb, CW_CAUSE_NO_ESP_PROPOSAL);
}

static void case_ts_mismatch(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.near[0], "10.1.0.0/16");
	SET(ta.far[0], "10.2.0.0/16");
	SET(tb.near[0], "10.9.0.0/16");
	SET(tb.far[0], "10.1.0.0/16");
	child_refused(&ta, &tb, CW_CAUSE_TS_UNACCEPTABLE);
}

static void case_kernel_refuses(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	both(&ta, &tb);
	simple(&b, SIDE_REFUSE, 1);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_KERNEL && ev->is_child);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ESP_PROPOSAL); /* all that IKE can say */
	simple(&a, SIDE_REFUSE, 1);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_KERNEL && ev->is_child);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	settle(&a, 1, 1);
}

static void case_nat_forbidden(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	ta.nat = 2; /* never */
	tb.nat = 1; /* forced: looks like a NAT from the other side */
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NAT_FORBIDDEN);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	simple(&b, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NAT_FORBIDDEN && !ev->by_us);
}

static void case_no_route(void)
{
	struct side_tunnel ta = plain('a');
	const struct cw_ike_event *ev;

	SET(ta.local, "");
	SET(ta.remote, "198.51.100.9");
	set(&a, &ta);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ROUTE && ev->by_us && ev->index == 3);
	settle(&a, 0, 0);
}

const struct pair_case pair_refused[] = {
	{ "wrong-psk", case_wrong_psk },
	{ "wrong-psk-ikev1", case_wrong_psk_ikev1 },
	{ "wrong-id", case_wrong_id },
	{ "wrong-ike-proposal", case_wrong_ike_proposal },
	{ "wrong-ike-proposal-ikev1", case_wrong_ike_proposal_ikev1 },
	{ "wrong-dh-group", case_wrong_dh_group },
	{ "wrong-esp-proposal", case_wrong_esp_proposal },
	{ "wrong-esp-proposal-ikev1", case_wrong_esp_proposal_ikev1 },
	{ "ts-mismatch", case_ts_mismatch },
	{ "kernel-refuses", case_kernel_refuses },
	{ "nat-forbidden", case_nat_forbidden },
	{ "no-route", case_no_route },
	{ 0 },
};
