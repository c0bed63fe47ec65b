/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rekeys, and what goes wrong with them. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

static void case_rekey_child(void)
{
	const struct cw_ike_event *ev;
	struct picture before, after;
	struct fake_kernel_counts k;

	both_plain_up();
	for (unsigned i = 0; i < 5 && !failed; i++) {
		before = settle(&a, 1, 1);
		simple(i % 2 ? &b : &a, SIDE_REKEY_CHILD, i % 2 ? settle(&b, 1, 1).child_id : before.child_id);
		ev = wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
		CHECK(ev->old_id == before.child_id && ev->child.pfs);
		wait_for(&b, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	}
	CHECK(count(&a, CW_IKE_EV_CHILD_DOWN) == 0 && count(&b, CW_IKE_EV_CHILD_DOWN) == 0);
	after = settle(&a, 1, 1);
	k = kernel(&a);
	CHECK(k.policies == 3 && k.out_spi == after.spi_out);
}

static void case_rekey_ike(void)
{
	const struct cw_ike_event *ev;
	struct picture before, after;

	both_plain_up();
	before = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, before.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->old_id == before.ike_id && ev->ike_id != before.ike_id && ev->index == 3);
	CHECK(ev->ike.state == CW_IKE_SA_ESTABLISHED && strcmp(ev->ike.remote_id, "192.0.2.2") == 0);
	wait_for(&b, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	after = settle(&a, 1, 1);
	CHECK(after.ike_id != before.ike_id && after.child_id == before.child_id);
	CHECK(count(&a, CW_IKE_EV_IKE_DOWN) == 0 && count(&b, CW_IKE_EV_IKE_DOWN) == 0);
	CHECK(count(&a, CW_IKE_EV_IKE_UP) == 1 && count(&a, CW_IKE_EV_CHILD_DOWN) == 0);
	/* And the child's events still belong. */
	simple(&a, SIDE_TERMINATE, after.ike_id);
	/* Children go first, see the comment on closing in charon_orders.c. */
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->by_us);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->by_us && ev->cause == CW_CAUSE_NONE && ev->ike_id == after.ike_id);
}

static void case_reauth_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture before, after;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	up();
	before = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, before.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->old_id == before.ike_id && ev->ike.state == CW_IKE_SA_ESTABLISHED);
	wait_for(&b, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	after = settle(&a, 1, 1);
	CHECK(after.ike_id != before.ike_id && after.child_id == before.child_id);
	CHECK(count(&a, CW_IKE_EV_CHILD_DOWN) == 0 && count(&b, CW_IKE_EV_CHILD_DOWN) == 0);
	CHECK(count(&b, CW_IKE_EV_INITIAL_CONTACT) == 1);
}

/* Field case BL-002. */
static void case_pfs_differs(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa, pb;

	SET(ta.esp, "aes256gcm16-ecp384");
	SET(tb.esp, "aes256gcm16-modp2048");
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_CHILD, pa.child_id);
	ev = wait_for(&a, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(ev->is_child && ev->by_us && ev->cause == CW_CAUSE_DH_GROUP);
	CHECK(strstr(ev->detail, "PFS") && strstr(ev->detail, "ECP_384"));
	ev = wait_for(&b, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(!ev->by_us && ev->cause == CW_CAUSE_DH_GROUP);
	if (!failed && (!strstr(ev->detail, "ECP_384") || !strstr(ev->detail, "MODP_2048")))
		fail("detail \"%s\" does not name both groups", ev->detail);
	/* When the other side tries, both sides' groups are known here too. */
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_REKEY_CHILD, pb.child_id);
	ev = wait_for(&a, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(strstr(ev->detail, "MODP_2048") && strstr(ev->detail, "ECP_384"));
	pa = settle(&a, 1, 1);
	CHECK(pa.installed == 1); /* the old one stays in use */
}

/* Field case BL-001: the peer rekeys without a group where we have one, and "none" as well. */
static void case_rekey_without_pfs(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct picture pb;

	SET(ta.esp2, "aes256-sha256");
	SET(tb.esp, "aes256-sha256");
	both(&ta, &tb);
	up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_REKEY_CHILD, pb.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	CHECK(!count(&a, CW_IKE_EV_REKEY_FAILED) && !count(&a, CW_IKE_EV_CHILD_DOWN));
}

/* Field case BL-050: a new key is no reason to end what runs. */
static void case_key_change(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	SET(ta.psk, "new");
	SET(tb.psk, "new");
	ta.generation = tb.generation = 8;
	both(&ta, &tb);
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, pa.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->generation == 7);
	simple(&a, SIDE_TERMINATE, ev->ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	settle(&a, 0, 0);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->generation == 8);
}

/* The peer has lost the child: its rekey makes another one. Orders to make it that come meanwhile, as the
 * tunnel machine gives them, make no second. */
static void child_lost(unsigned version)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa, pb;

	ta.version = tb.version = version;
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(ask(&b, &(struct side_request){ .order = SIDE_LOSE, .id = pb.child_id }) == 0);
	settle(&b, 1, 0);
	settle(&a, 1, 1); /* it has not heard of it */
	/* Of the configuration of a child that the peer does not find libcharon 5.9.8 takes a reference too
	 * many (child_rekey.c, process_i). */
	simple(&a, SIDE_LEAKS, 0);
	simple(&a, SIDE_REKEY_CHILD, pa.child_id);
	if (version == 2) {
		ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
		CHECK(ev->child.child_id == pa.child_id && ev->cause == CW_CAUSE_CHILD_DELETE && !ev->by_us);
		simple(&a, SIDE_INITIATE, 3);
		ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	} else {
		ev = wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
		CHECK(ev->old_id == pa.child_id);
	}
	simple(&a, SIDE_INITIATE, 3);
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.spi_in == pb.spi_out && pa.spi_out == pb.spi_in && pa.child_id == ev->child.child_id);
	CHECK(kernel(&a).policies == 3 && kernel(&a).out_spi == pa.spi_out);
	CHECK(!count(&a, CW_IKE_EV_REKEY_FAILED) && !count(&a, CW_IKE_EV_FAILED));
	CHECK(count(&b, CW_IKE_EV_CHILD_UP) == 2 && count(&b, CW_IKE_EV_IKE_UP) == 1);
}

static void case_child_lost(void)
{
	child_lost(2);
}

static void case_child_lost_ikev1(void)
{
	child_lost(1);
}

/* Whatever becomes of libcharon's own job, a child that was replaced and deleted goes in the end. */
static void case_deleted_goes(void)
{
	struct picture before;
	int64_t until;

	both_plain_up();
	simple(&a, SIDE_LINGER, 0);
	before = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_CHILD, before.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	settle(&a, 1, 1);
	CHECK(kernel(&a).sas > 2);
	until = now_ms() + 20000;
	while (!failed && kernel(&a).sas > 2 && now_ms() < until)
		look(&a);
	CHECK(kernel(&a).sas == 2);
	settle(&a, 1, 1);
	CHECK(!count(&a, CW_IKE_EV_CHILD_DOWN) && !count(&b, CW_IKE_EV_CHILD_DOWN));
}

const struct pair_case pair_rekey[] = {
	{ "deleted-child-goes", case_deleted_goes },
	{ "rekey-child", case_rekey_child },
	{ "rekey-ike", case_rekey_ike },
	{ "reauth-ikev1", case_reauth_ikev1 },
	{ "BL-002-pfs-differs", case_pfs_differs },
	{ "BL-001-rekey-without-pfs", case_rekey_without_pfs },
	{ "BL-050-key-change", case_key_change },
	{ "child-lost", case_child_lost },
	{ "child-lost-ikev1", case_child_lost_ikev1 },
	{ 0 },
};
