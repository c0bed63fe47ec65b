/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How SAs and engines end. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

#include "base/rc.h"

static void case_peer_delete(void)
{
	const struct cw_ike_event *ev;
	struct picture pb;

	both_plain_up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_TERMINATE_CHILD, pb.child_id);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_CHILD_DELETE && !ev->by_us && ev->child.spi_in);
	ev = wait_for(&b, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->by_us && ev->cause == CW_CAUSE_NONE);
	settle(&a, 1, 0);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	simple(&b, SIDE_TERMINATE, pb.ike_id);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_CHILD_DELETE);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE && !ev->by_us);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 0);
}

static void case_peer_delete_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pb;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_TERMINATE, pb.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
}

static void case_expiry(void)
{
	struct side_request q = { .order = SIDE_EXPIRE, .addr = "192.0.2.1" };
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	pa = settle(&a, 1, 1);
	q.id = pa.spi_in;
	order(&a, &q); /* soft: a rekey */
	ev = wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	CHECK(ev->old_id == pa.child_id);
	q.id = ev->child.spi_in;
	q.force = true;
	order(&a, &q);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_EXPIRED && !ev->by_us);
}

static void case_removed(void)
{
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	simple(&a, SIDE_REMOVE, 3);
	pa = settle(&a, 1, 1); /* what is there goes on */
	simple(&a, SIDE_TERMINATE, pa.ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	settle(&b, 0, 0);
	simple(&b, SIDE_INITIATE, 3); /* and nothing new comes */
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_IKE_PROPOSAL || ev->cause == CW_CAUSE_AUTH_BY_PEER);
}

static void case_stop(void)
{
	const struct cw_ike_event *ev;

	both_plain_up();
	CHECK(ask(&b, &(struct side_request){ .order = SIDE_STOP }) == 0);
	CHECK(b.last.counts.sas == 0 && b.last.counts.policies == 0 && b.last.counts.larval == 0);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE);
	ev = wait_for(&b, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_STOPPING && ev->by_us);
	/* And it can be started again in the same process. */
	start_engine(&b);
	both_plain_up();
}

/* The end comes while IKE_SAs are being closed by either side, or made. */
static void case_stop_in_the_middle(void)
{
	for (unsigned i = 0; i < 12 && !failed; i++) {
		struct picture pa, pb;

		both_plain_up();
		pa = settle(&a, 1, 1);
		pb = settle(&b, 1, 1);
		switch (i % 4) {
		case 0:
			simple(&a, SIDE_TERMINATE, pa.ike_id);
			break;
		case 1:
			simple(&b, SIDE_TERMINATE, pb.ike_id);
			break;
		case 2:
			simple(&a, SIDE_REKEY_IKE, pa.ike_id);
			break;
		case 3:
			order(&a, &(struct side_request){
					  .order = SIDE_TERMINATE, .id = pa.ike_id, .force = true });
			simple(&a, SIDE_INITIATE, 3);
			break;
		}
		ask(&a, &(struct side_request){ .order = SIDE_STOP });
		CHECK(a.last.counts.sas == 0 && a.last.counts.policies == 0 && a.last.counts.larval == 0);
		start_engine(&a);
		pb = look(&b);
		for (size_t k = 0; k < b.n_records; k++)
			order(&b, &(struct side_request){ .order = SIDE_TERMINATE,
							  .id = b.records[k].ike_id,
							  .force = true });
		settle(&b, 0, 0);
		a.n = a.seen = b.n = b.seen = 0;
	}
}

static void case_port_taken(void)
{
	struct side_request q = { .order = SIDE_START };
	char who[48];

	CHECK(ask(&a, &q) == CW_E_EXISTS);
	ask(&a, &(struct side_request){ .order = SIDE_STOP });
	snprintf(who, sizeof(who), "4500 on 0.0.0.0 is taken by ike_pair (pid %d)",
		 ask(&a, &(struct side_request){ .order = SIDE_HOLD }));
	CHECK(ask(&a, &q) == CW_E_BUSY);
	if (!failed && !strstr(a.last.text, who))
		fail("\"%s\" does not say \"%s\"", a.last.text, who);
}

const struct pair_case pair_end[] = {
	{ "peer-delete", case_peer_delete },
	{ "peer-delete-ikev1", case_peer_delete_ikev1 },
	{ "expiry", case_expiry },
	{ "removed", case_removed },
	{ "stop", case_stop },
	{ "stop-in-the-middle", case_stop_in_the_middle },
	{ "port-taken", case_port_taken },
	{ 0 },
};
