/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses, routes and NAT mappings that change under a tunnel. */
#include "pair.h"

#include <stdio.h>

#define WHILE_MS 1000 /* libcharon would look at what changed after 100 ms */

/* Field case BL-037: what changes on this machine is no reason to do anything about an IKE_SA. */
static void host_changes(const struct side_tunnel *ta, const struct side_tunnel *tb)
{
	struct picture before, after;

	both(ta, tb);
	up();
	before = settle(&a, 1, 1);
	/* Another source address is better now, */
	ip(&a, "addr add 192.0.2.11/25 dev cw0");
	ip(&a, "route add 192.0.2.2/32 dev cw0 src 192.0.2.11");
	quiet(&a, WHILE_MS);
	/* then ours is gone, */
	ip(&a, "addr del 192.0.2.1/24 dev cw0");
	quiet(&a, WHILE_MS);
	/* the interface goes as well, */
	ip(&a, "link set cw0 down");
	quiet(&a, WHILE_MS);
	/* and all is as it was. */
	ip(&a, "link set cw0 up");
	ip(&a, "addr del 192.0.2.11/25 dev cw0");
	ip(&a, "addr add 192.0.2.1/24 dev cw0");
	simple(&a, SIDE_ALIVE, before.ike_id);
	quiet(&a, WHILE_MS);
	quiet(&b, 0);
	after = settle(&a, 1, 1);
	CHECK(after.ike_id == before.ike_id && after.child_id == before.child_id);
	CHECK(kernel(&a).moved == 0 && kernel(&b).moved == 0);
	simple(&a, SIDE_REKEY_CHILD, after.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
}

static void case_host_changes(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	host_changes(&ta, &tb);
}

/* The same where libcharon found our address itself: it would make the IKE_SA anew from another one. */
static void case_host_changes_any(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.local, "");
	SET(tb.local, "");
	host_changes(&ta, &tb);
}

static void case_host_changes_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(ta.local, "");
	host_changes(&ta, &tb);
}

static void case_mobike(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture before, after;
	struct cw_addr to;

	cw_addr_parse("192.0.2.11", &to);
	ta.mobike = tb.mobike = true;
	both(&ta, &tb);
	up();
	before = settle(&a, 1, 1);
	ip(&a, "addr add 192.0.2.11/25 dev cw0");
	ip(&a, "addr del 192.0.2.1/24 dev cw0");
	ev = wait_for(&a, CW_IKE_EV_NAT_MAPPED, SOON_MS);
	CHECK(ev->ike_id == before.ike_id && cw_addr_equal(&ev->ike.local, &to));
	ev = wait_for(&b, CW_IKE_EV_NAT_MAPPED, SOON_MS);
	CHECK(cw_addr_equal(&ev->ike.remote, &to));
	after = settle(&a, 1, 1);
	CHECK(after.ike_id == before.ike_id && after.child_id == before.child_id);
	CHECK(kernel(&a).moved == 2 && kernel(&b).moved == 2);
}

/* b's NAT gives it another port. The kernel sees it first, by its ESP packets. */
static void case_mapping(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct side_request q = { .order = SIDE_MAPPING, .pair = 40000, .addr = "192.0.2.1", .to = "192.0.2.2" };
	const struct cw_ike_event *ev;
	struct picture pa, pb;

	tb.nat = 1; /* forced: b looks as if there were one */
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.ike.nat_remote && !pa.ike.nat_local && pa.ike.encap);
	q.id = pa.spi_in;
	order(&a, &q);
	ev = wait_for(&a, CW_IKE_EV_NAT_MAPPED, SOON_MS);
	CHECK(ev->ike_id == pa.ike_id && ev->ike.remote_port == 40000);
	settle(&a, 1, 1);
	CHECK(kernel(&a).moved == 2 && kernel(&a).moved_port == 40000);
	/* A message of IKE's that is proved to be b's is as good. */
	simple(&b, SIDE_ALIVE, pb.ike_id);
	ev = wait_for(&a, CW_IKE_EV_NAT_MAPPED, SOON_MS);
	CHECK(ev->ike_id == pa.ike_id && ev->ike.remote_port == 4500);
	settle(&a, 1, 1);
	CHECK(kernel(&a).moved == 4);
}

/* Without a NAT the other end stays where it is, whatever a packet's source is. */
static void case_mapping_without_nat(void)
{
	struct side_request q = { .order = SIDE_MAPPING, .pair = 40000, .addr = "192.0.2.1", .to = "192.0.2.9" };
	struct picture pa;

	both_plain_up();
	pa = settle(&a, 1, 1);
	q.id = pa.spi_in;
	order(&a, &q);
	quiet(&a, WHILE_MS);
	settle(&a, 1, 1);
	CHECK(kernel(&a).moved == 0);
}

const struct pair_case pair_move[] = {
	{ "BL-037-host-changes", case_host_changes },
	{ "BL-037-host-changes-any-address", case_host_changes_any },
	{ "BL-037-host-changes-ikev1", case_host_changes_ikev1 },
	{ "mobike", case_mobike },
	{ "mapping", case_mapping },
	{ "mapping-without-nat", case_mapping_without_nat },
	{ 0 },
};
