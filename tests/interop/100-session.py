# SPDX-License-Identifier: GPL-2.0-or-later
"""A session with each of the five: who connects, AS numbers, keys, families, refresh, many routes."""

from bgp import PEERS, Route, Wire
from bgp.wire import OPEN, REFRESH, UPDATE
from lab import case, expect, expect_equal, hold_true, wait_for
from lab.lab import PSK

FIVE = sorted(PEERS)
# Ours all have the same attributes: the file gives them to a site.
OURS = [Route(p, med=7, communities=("65000:1", "65000:2"), large=("65000:1:2",))
        for p in ("10.10.0.0/16", "10.11.0.0/24", "10.11.1.0/25")]
THEIRS = [Route("10.20.0.0/16"),
          Route("10.21.0.0/24", med=9, communities=("65000:3",)),
          Route("10.21.1.128/25", communities=("65000:4", "65000:5"), large=("65000:4:4294967295",))]
OURS6 = [Route("2001:db8:110::/48"), Route("2001:db8:111:1::/64")]
THEIRS6 = [Route("2001:db8:220::/48"), Route("2001:db8:221:1::/64")]


def many(first, count):
    """Routes to count /24s from FIRST.0.0.0 on."""
    return [Route("%d.%d.%d.0/24" % (first, i >> 8, i & 255)) for i in range(count)]


@case(matrix={"peer": FIVE, "opener": ["we-connect", "they-connect", "both-connect"]}, cost_s=4)
def session(lab, peer, opener):
    us, them = lab.pair(peer, us={"passive": opener == "they-connect"},
                        them={"passive": opener == "we-connect"})
    wire = Wire(lab.world)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()
    wanted = {"we-connect": us.session.local, "they-connect": them.session.local}.get(opener)
    if wanted:
        wait_for(lambda: wire.opener() == wanted, 5, "a connection opened by " + wanted)
    for route in lab.world.kernel_routes().values():
        expect_equal([(r["dev"], r["gateway"]) for r in flat(route)],
                     [("bgp0", them.session.local)], "the kernel's next hop")
    them.stop()
    us.wait_down()
    lab.wait_kernel(())
    expect_equal(us.table(), {}, "our table without a session")


def flat(routes):
    """Next hops of routes, whether plain or in a group."""
    return [hop for route in routes for hop in route.get("nexthops", [route])]


@case(matrix={"peer": FIVE}, cost_s=3)
def multihop(lab, peer):
    """The peer's address is not on the link, as with Azure."""
    us, them = lab.pair(peer, loopback=True)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()


@case(matrix={"peer": FIVE}, cost_s=3)
def four_octet_as(lab, peer):
    us, them = lab.pair(peer, asn=4200000010, peer_asn=4200000020)
    us.start(OURS)
    them.start([Route("10.20.0.0/16", path=() if peer == "openbgpd" else (4200000030, 65550, 64512))])
    lab.wait_both()
    lab.wait_equal()


@case(matrix={"peer": ["exabgp", "openbgpd"]}, cost_s=3)
def peer_without_four_octets(lab, peer):
    """An old speaker knows us as AS_TRANS, if it does not look into AS4_PATH."""
    us, them = lab.pair(peer, asn=4200000010, peer_asn=64512, them=dict(
        {"peer_asn": 23456} if peer == "exabgp" else {}, as4=False))
    us.start(OURS)
    them.start([Route("10.20.0.0/16")])
    lab.wait_both()
    us.wait_table(them.sent())
    wait_for(lambda: {(p, r.path in ((23456,), (us.session.asn,))) for p, r in them.table().items()} ==
             {(r.prefix, True) for r in OURS}, 15, "our routes behind AS 23456")


@case(matrix={"peer": FIVE}, cost_s=4)
def md5(lab, peer):
    us, them = lab.pair(peer, md5=PSK.decode())
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()


@case(matrix={"peer": FIVE}, cost_s=12)
def md5_of_one_side_only(lab, peer):
    us, them = lab.pair(peer, md5=PSK.decode(), them={"md5": ""})
    us.start(OURS)
    them.start(THEIRS)
    hold_true(lambda: us.state() != "Established", 6, "no session without the same key")
    them.stop()
    them.session = lab.world.theirs(us.session)
    them.start()
    lab.wait_both(them.reconnect_s)
    lab.wait_equal()


@case(matrix={"peer": FIVE, "transport": ["over-ipv4", "over-ipv6"]}, cost_s=4)
def ipv6(lab, peer, transport):
    over6 = transport == "over-ipv6"
    us, them = lab.pair(peer, ipv6=over6, families=("ipv6",) if over6 else ("ipv4", "ipv6"))
    us.start(OURS6)
    them.start(THEIRS6 + ([] if over6 else [Route("10.20.0.0/16")]))
    lab.wait_both()
    lab.wait_equal()


@case(matrix={"peer": FIVE}, cost_s=5)
def refresh(lab, peer):
    """Each asks the other for all routes of both families.

    FRR 8.4 answers after its End-of-RIB alone, which it sends for graceful restart. OpenBGPD 7.7 takes
    every family for not negotiated, and ExaBGP 4.2 ends the session: these two only ask.
    """
    us, them = lab.pair(peer, them={"passive": True}, families=("ipv4", "ipv6"), gr_s=60)
    wire = Wire(lab.world)
    us.start(OURS)
    them.start(THEIRS + THEIRS6)
    lab.wait_both()
    lab.wait_equal()

    def asks(one, other):
        asked = wire.count(one.session.local, REFRESH)
        answered = wire.count(other.session.local, UPDATE)
        one.ask_refresh()
        wait_for(lambda: wire.count(one.session.local, REFRESH) > asked, 10,
                 "ROUTE-REFRESH from " + one.name)
        wait_for(lambda: wire.count(other.session.local, UPDATE) > answered, 10,
                 "the routes of %s once more" % other.name)
        lab.wait_equal()
    if "answer-refresh" in them.features:
        asks(us, them)
    if "ask-refresh" in them.features:
        asks(them, us)
    for side in (us, them):
        expect_equal(wire.count(side.session.local, OPEN), 1, "OPENs of " + side.name)


@case(matrix={"peer": FIVE}, cost_s=8)
def many_routes(lab, peer):
    us, them = lab.pair(peer)
    us.start(many(11, 4000))
    them.start(many(21, 4000))
    lab.wait_both()
    lab.wait_equal(60)
    them.withdraw([r.prefix for r in many(21, 4000)[100:]])
    us.wait_table(them.sent(), 60)
    lab.wait_kernel({r.prefix for r in many(21, 100)})


@case(matrix={"peer": FIVE}, cost_s=4)
def attributes_change(lab, peer):
    """The same prefixes with other attributes: replaced in place, nothing is withdrawn."""
    us, them = lab.pair(peer)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()
    them.announce([Route("10.20.0.0/16", med=50, communities=("65000:50",)),
                   Route("10.21.0.0/24")])
    hold = {r.prefix for r in THEIRS}
    expect(hold <= set(lab.world.kernel_routes()), "a route left the kernel")
    lab.wait_equal()


@case(matrix={"peer": FIVE}, cost_s=3)
def wrong_as(lab, peer):
    """A peer of another AS than agreed never comes up, and is told why (OPEN error 2/2)."""
    us, them = lab.pair(peer, them={"asn": 64999})
    wire = Wire(lab.world)
    us.start(OURS)
    them.start(THEIRS)
    wait_for(lambda: (2, 2) in wire.notifications(us.session.local), 20, "a NOTIFICATION Bad Peer AS")
    expect(us.state() != "Established", "a session with the wrong AS")
