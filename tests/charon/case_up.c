/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tunnels that come up, and what they hand to the kernel. */
#include "pair.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/rc.h"

static void case_up(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct fake_kernel_counts k;
	struct picture pa, pb;

	ta.inner_ipv6 = tb.inner_ipv6 = true;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->index == 3 && ev->generation == 7 && ev->by_us && ev->ike.initiator);
	CHECK(ev->ike.version == 2 && !ev->ike.nat_local && !ev->ike.encap);
	CHECK(strcmp(ev->ike.remote_id, "192.0.2.2") == 0);
	CHECK(strcmp(ev->ike.proposal, "AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048") == 0);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.pair == 0 && ev->child.reqid == CW_REQID_BASE + 5 * 256);
	CHECK(ev->child.n_local_ts == 2 && ev->child.n_remote_ts == 2 && !ev->child.narrowed);
	CHECK(!ev->child.pfs && strcmp(ev->child.proposal, "AES_CBC_256/HMAC_SHA2_256_128") == 0);
	ev = wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(!ev->by_us && !ev->ike.initiator && ev->index == 3);
	ev = wait_for(&b, CW_IKE_EV_INITIAL_CONTACT, SOON_MS);
	CHECK(ev->index == 3);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.spi_i[0] == pb.spi_i[0] && pa.spi_r[0] == pb.spi_r[0] && pa.spi_i[0]);
	CHECK(pa.spi_in == pb.spi_out && pa.spi_out == pb.spi_in && pa.spi_in);
	CHECK(pa.child.bytes_in == 1000 && pa.child.packets_out == 10);
	CHECK(pa.ike.rekey_in_s > 6800 && pa.ike.rekey_in_s <= 6900);
	CHECK(pa.ike.expires_in_s > 7100 && pa.ike.expires_in_s <= 7200);
	CHECK(pa.child.rekey_in_s > 3200 && pa.child.rekey_in_s <= 3300);
	k = kernel(&a);
	CHECK(k.sas == 2 && k.larval == 0 && k.policies == 6 && k.policies_fwd == 2);
	CHECK(k.if_id == CW_IF_ID_BASE + 5 && k.enc == CW_ENC_AES_CBC);
	CHECK(k.integ == CW_INTEG_HMAC_SHA256_128 && k.replay_window == 128 && !k.esn && !k.encap);
	CHECK(k.out_spi == pa.spi_out && k.hard_s == 3600);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
	/* A second order changes nothing. */
	simple(&a, SIDE_INITIATE, 3);
	settle(&a, 1, 1);
}

static void case_up_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct fake_kernel_counts k;
	struct picture pa, pb;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->ike.version == 1 && ev->by_us);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.n_local_ts == 1 && ev->child.pfs);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_INITIAL_CONTACT, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.spi_in == pb.spi_out && pa.spi_out == pb.spi_in);
	k = kernel(&b);
	CHECK(k.sas == 2 && k.larval == 0 && k.policies == 3);
}

static void case_crossing(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct picture pa, pb;
	bool same;

	both(&ta, &tb);
	kill(a.pid, SIGSTOP);
	kill(b.pid, SIGSTOP);
	simple(&a, SIDE_INITIATE, 3);
	simple(&b, SIDE_INITIATE, 3);
	kill(a.pid, SIGCONT);
	kill(b.pid, SIGCONT);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	pa = settle(&a, 2, 2);
	pb = settle(&b, 2, 2);
	same = (pa.spi_i[0] == pb.spi_i[0] && pa.spi_i[1] == pb.spi_i[1]) ||
	       (pa.spi_i[0] == pb.spi_i[1] && pa.spi_i[1] == pb.spi_i[0]);
	CHECK(same && pa.spi_i[0] != pa.spi_i[1]);
	/* One is closed: the other's policies must stay. */
	simple(&a, SIDE_TERMINATE, pa.ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	pa = settle(&a, 1, 1);
	CHECK(kernel(&a).policies == 3 && kernel(&a).out_spi == pa.spi_out && kernel(&a).sas == 2);
}

/* Field case BL-042. */
static void case_two_tunnels_one_peer(void)
{
	struct side_tunnel t1 = plain('a'), t2 = plain('a'), p1 = plain('b'), p2 = plain('b');
	const struct cw_ike_event *ev;

	SET(t1.name, "t1");
	SET(t2.name, "t2");
	SET(t1.local_id, "a.example");
	SET(t2.local_id, "b.example");
	SET(p1.remote_id, "a.example");
	SET(p2.remote_id, "b.example");
	SET(t1.psk, "K1");
	SET(t2.psk, "K2");
	SET(p1.psk, "K1");
	SET(p2.psk, "K2");
	t2.index = p2.index = 4;
	t2.number = p2.number = 6;
	both(&t1, &p1);
	both(&t2, &p2);
	simple(&a, SIDE_INITIATE, 3);
	simple(&a, SIDE_INITIATE, 4);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->index == 3 || ev->index == 4);
	settle(&a, 2, 2);
	settle(&b, 2, 2);
	CHECK(kernel(&a).policies == 6 && kernel(&b).policies == 6);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
}

/* The key that was read again goes before the one of the config. */
static void case_changed_psk(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.psk, "old");
	SET(ta.psk_now, "new");
	SET(tb.psk, "new");
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	settle(&a, 1, 1);
	settle(&b, 1, 1);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
}

static void case_forced_encap(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	ta.nat = 1;
	SET(ta.esp, "aes256gcm16-ecp256");
	SET(tb.esp, "aes256gcm16-ecp256");
	ta.esn = tb.esn = true;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->ike.encap && ev->ike.remote_port == 4500);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(kernel(&a).encap && kernel(&a).esn && kernel(&a).enc == CW_ENC_AES_GCM_16);
	CHECK(kernel(&a).integ == CW_INTEG_NONE);
}

static void case_vti_mark(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.number = 0;
	ta.mark = CW_IF_ID_BASE + 5;
	both(&ta, &tb);
	up();
	CHECK(kernel(&a).mark == CW_IF_ID_BASE + 5 && kernel(&a).if_id == 0);
	CHECK(kernel(&a).policies == 3);
}

/* Field case BL-054. */
static void case_no_policy_for_everything(void)
{
	struct side_request q = { .order = SIDE_SET, .tunnel = plain('a') };

	q.tunnel.number = 0;
	CHECK(ask(&a, &q) == CW_E_INVALID);
	q.tunnel.mark = CW_IF_ID_BASE + 5;
	CHECK(ask(&a, &q) == CW_OK);
}

static void case_ipv6(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct side_request q = { .order = SIDE_NET, .addr = "2001:db8::1/64" };

	CHECK(ask(&a, &q) == 0);
	SET(q.addr, "2001:db8::2/64");
	CHECK(ask(&b, &q) == 0);
	SET(ta.local, "");
	SET(ta.remote, "2001:db8::2");
	SET(tb.local, "2001:db8::2");
	SET(tb.remote, "2001:db8::1");
	both(&ta, &tb);
	/* The kernel may need a moment until it uses the new addresses. */
	for (unsigned i = 0; i < 3 && !failed && !count(&a, CW_IKE_EV_CHILD_UP); i++) {
		int64_t until = now_ms() + SOON_MS;

		simple(&a, SIDE_INITIATE, 3);
		while (count(&a, CW_IKE_EV_FAILED) == i && !count(&a, CW_IKE_EV_CHILD_UP) && !failed &&
		       now_ms() < until)
			take(&a, 50);
	}
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(settle(&a, 1, 1).ike.local.family == CW_FAMILY_IPV6);
}

/* A peer that tries while we start is told nothing until we know it, and then gets its tunnel. */
static void case_begin(void)
{
	const struct side_request start = { .order = SIDE_START, .force = true };
	struct side_tunnel ta = plain('a'), tb = plain('b');

	CHECK(ask(&b, &(struct side_request){ .order = SIDE_STOP }) == 0);
	CHECK(ask(&b, &start) == CW_OK);
	set(&a, &ta);
	simple(&a, SIDE_INITIATE, 3);
	quiet(&a, 300);
	set(&b, &tb);
	CHECK(ask(&b, &(struct side_request){ .order = SIDE_BEGIN }) == 0);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	settle(&a, 1, 1);
	settle(&b, 1, 1);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
	/* One that never began can end, too. */
	CHECK(ask(&b, &(struct side_request){ .order = SIDE_STOP }) == 0);
	CHECK(ask(&b, &start) == CW_OK);
}

const struct pair_case pair_up[] = {
	{ "up", case_up },
	{ "tried-before-we-begin", case_begin },
	{ "up-ikev1", case_up_ikev1 },
	{ "crossing-starts", case_crossing },
	{ "BL-042-two-tunnels-one-peer", case_two_tunnels_one_peer },
	{ "BL-054-no-policy-for-everything", case_no_policy_for_everything },
	{ "vti-mark", case_vti_mark },
	{ "changed-psk", case_changed_psk },
	{ "forced-encap", case_forced_encap },
	{ "ipv6", case_ipv6 },
	{ 0 },
};
