# SPDX-License-Identifier: GPL-2.0-or-later
"""A broken peer, octet by octet: the field cases of BGP on the wire, by their own vectors."""

import socket
import struct
import time

from bgp import raw
from bgp.raw import Raw, octets
from bgp.wire import KEEPALIVE, NOTIFICATION, OPEN, REFRESH, UPDATE
from lab import case, expect, expect_equal, hold_true, wait_for

TEST_NET = "192.0.2.0/24"
GOOD = "002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002"


def judged(r, link, hex_text, route=None, discarded=0, withdrawn=0, line=(), refused=None):
    """Send one UPDATE whose routes, counters and log line are known; the session must stay.

    route: TEST_NET is held and (unless refused) in the kernel. line: words of the one new line.
    """
    r.take(link, octets(GOOD))          # so that a withdrawal shows
    before = r.us.neighbour()
    lines = len(r.log())
    peer = r.take(link, octets(hex_text))
    r.same_session(before)
    for name, more in (("attributes-discarded", discarded), ("treated-as-withdrawn", withdrawn)):
        expect_equal(peer[name] - before[name], more, name)
    held = r.routes().get(TEST_NET)
    expect_equal(held is not None, bool(route), "a route to " + TEST_NET)
    if held:
        expect_equal(held["refused"], refused, "why it is refused")
    r.wait_kernel([TEST_NET] if route and not refused else [])
    if line:
        found = r.log()[lines:]
        expect_equal(len(found), 1, "log lines: %r" % found)
        expect(all(w in found[0] for w in line), "%r lacks one of %r" % (found[0], line))
    return held


def fresh(lab, vector, **words):
    """A world and a session for one vector, as the log's limit is a minute."""
    r = Raw(lab, **words)
    return judged(r, r.up(), **vector)


def cases(**vectors):
    """A matrix of vectors by name."""
    return {"vector": [(name.replace("_", "-"), value) for name, value in vectors.items()]}


def ends(r, said, code, subcode, data=None, line=True):
    """Octets on a new session end it with that NOTIFICATION, and one line tells of it."""
    link = r.up()
    lines = len(r.log())
    link.send(said)
    got = link.notified(code, subcode)
    if data is not None:
        expect_equal(got.hex(), data, "the NOTIFICATION's data")
    r.us.wait_down(3)
    found = [l for l in r.log()[lines:] if "down after" in l]
    expect_equal(len(found), 1, "log lines of the end")


ATTRS = "40010100 40020602010000FFEB 400304A9FE1502 "


@case(matrix=cases(
    path={"hex_text": "0037 02 0000 001C 40010100 40020E02030000FFEB0000FDFC00000000 400304A9FE1502 18C00002",
          "withdrawn": 1, "line": ("AS_PATH", "treat-as-withdraw")},
    aggregator={"hex_text": "003A 02 0000 001F " + ATTRS + "C0070800000000C0000201 18C00002",
                "route": True, "discarded": 1, "line": ("AGGREGATOR", "AS 0")}), cost_s=1)
def bl_095_as_zero(lab, vector):
    fresh(lab, vector)


@case(cost_s=1)
def bl_095_open_with_as_zero(lab):
    r = Raw(lab)
    link = r.connect()
    link.send(octets("0025 01 04 0000 00B4 A9FE1502 08 0206410400000000"))
    link.notified(2, 2)


@case(cost_s=2)
def bl_097_worse_than_discard_without_routes(lab):
    """RFC 7606 5.2: a reset, and the pause grows with the same message again."""
    r = Raw(lab)
    bad = octets("001B 02 0000 0004 40012000")
    ends(r, bad, 3, 1)
    expect(r.logged("40012000"), "the octets are in no line")
    first = r.us.neighbour()["next-try-in-s"]
    for _ in range(3):                  # no reset of ours between: that would forget
        wait_for(lambda: r.us.neighbour()["waits-for"] is None, 40, "the end of the pause")
        link = r.connect()
        link.establish()
        link.send(bad)
        link.notified(3, 1)
        wait_for(lambda: r.us.neighbour()["waits-for"] == "pause", 3, "a pause")
        later = r.us.neighbour()["next-try-in-s"]
        if later > first:
            break
    expect(later > first, "the pause is %r s at first and %r s at last" % (first, later))


@case(matrix=cases(
    unknown={"hex_text": "0036 02 0000 001B " + ATTRS + "C0FF04DEADBEEF 18C00002", "route": True},
    prefix_sid={"hex_text": "0036 02 0000 001B " + ATTRS + "C0280401000700 18C00002", "route": True},
    tunnel_encapsulation={"hex_text": "0035 02 0000 001A " + ATTRS + "C01703000BFF 18C00002",
                          "route": True},
    otc={"hex_text": "0035 02 0000 001A " + ATTRS + "C0230300FFEB 18C00002", "withdrawn": 1,
         "line": ("attribute 35", "c0230300ffeb")}), cost_s=1)
def bl_099_attributes_from_far_away(lab, vector):
    fresh(lab, vector)


@case(cost_s=1)
def bl_100_aggregator_of_6_octets(lab):
    fresh(lab, {"hex_text": "0038 02 0000 001D " + ATTRS + "C00706FFEBC0000201 18C00002",
                "route": True, "discarded": 1, "line": ("AGGREGATOR",)})


@case(cost_s=1)
def bl_100_aggregator_of_8_octets_between_old_speakers(lab):
    r = Raw(lab)
    link = r.up(said=raw.opening(caps=b""))
    expect(not r.us.neighbour()["as4"], "a session of 2-octet numbers")
    path = "40010100 4002040201FFEB 400304A9FE1502 "
    good = octets("002D 02 0000 0012 " + path + "18C00002")
    r.take(link, good)
    before = r.us.neighbour()
    peer = r.take(link, octets("0038 02 0000 001D " + path + "C007080000FFEBC0000201 18C00002"))
    r.same_session(before)
    expect_equal(peer["attributes-discarded"], 1, "attributes-discarded")
    r.take(link, octets("0036 02 0000 001B " + path + "C00706FFEBC0000201 18C00002"))
    expect_equal(r.us.neighbour()["attributes-discarded"], 1, "attributes-discarded")
    r.wait_kernel([TEST_NET])


@case(cost_s=2)
def bl_102_numbers_in_open(lab):
    r = Raw(lab)
    ours = r.connect().establish(said=octets("0025 01 04 5BA0 00B4 A9FE1502 08 020641040000FFEB"))
    expect_equal(ours[1:3].hex(), "fdf2", "AS in our OPEN")
    wait_for(r.us.established, 5, "the session")
    r.us.ask(cmd="bgp-reset", peer=raw.PEER)
    with r.one_line("65515", "65020"):
        link = r.connect()
        link.send(octets("0025 01 04 FDFC 00B4 A9FE1502 08 020641040000FDFC"))
        link.notified(2, 2)


@case(cost_s=1)
def bl_102_number_of_32_bits(lab):
    r = Raw(lab, peer_asn=4200000000)
    r.connect().establish(said=octets("0025 01 04 5BA0 00B4 A9FE1502 08 02064104FA56EA00"))
    wait_for(r.us.established, 5, "the session")


@case(matrix=cases(
    none={"hex_text": "0032 02 0000 0017 " + ATTRS + "C00800 18C00002", "withdrawn": 1,
          "line": ("attribute 8", "c00800")},
    three={"hex_text": "0035 02 0000 001A " + ATTRS + "C00803FFEB00 18C00002", "withdrawn": 1,
           "line": ("attribute 8", "c00803ffeb00")},
    large={"hex_text": "0032 02 0000 0017 " + ATTRS + "C02000 18C00002", "withdrawn": 1,
           "line": ("attribute 32", "c02000")}), cost_s=1)
def bl_104_communities_of_no_length(lab, vector):
    fresh(lab, vector)


def hop(address):
    """The UPDATE with another next hop."""
    return GOOD.replace("A9FE1502", address)


@case(matrix=cases(
    zero={"hex_text": hop("00000000"), "route": True, "refused": "next-hop", "line": ("next hop",)},
    loopback={"hex_text": hop("7F000001"), "route": True, "refused": "next-hop", "line": ("next hop",)},
    multicast={"hex_text": hop("E0000005"), "route": True, "refused": "next-hop", "line": ("next hop",)},
    ours={"hex_text": hop("A9FE1501"), "route": True, "refused": "next-hop-own", "line": ("next hop",)},
    length={"hex_text": "002E 02 0000 0013 40010100 40020602010000FFEB 400303A9FE15 18C00002",
            "withdrawn": 1, "line": ("NEXT_HOP", "400303a9fe15")},
    good={"hex_text": GOOD, "route": True}), cost_s=1)
def bl_105_next_hops(lab, vector):
    fresh(lab, vector)


MP = "40010100 40020602010000FFEB %s800E%s0002 01%s003020010DB80001"
HOP6 = "20010DB8FFFF00000000000000000001"


def mp(hop6, next_hop="", count=None):
    """An UPDATE with an IPv6 route, with all lengths right but perhaps the next hop's."""
    size = len(hop6) // 2
    attrs = MP % (next_hop, "%02X" % (12 + size), "%02X%s" % (size if count is None else count, hop6))
    length = len(attrs.replace(" ", "")) // 2
    return "%04X 02 0000 %04X %s" % (23 + length, length, attrs)


@case(cost_s=2, matrix={"agreed": [("agreed", True), ("not-agreed", False)]})
def bl_106_ipv6_by_mp_reach(lab, agreed):
    r = Raw(lab, ipv6=True)
    r.host.ip("addr add 2001:db8:ffff::2/64 dev bgp0 nodad")
    link = r.up(caps=raw.MP4 + (raw.MP6 if agreed else b"") + raw.as4())
    there = ["2001:db8:1::/48"] if agreed else []
    gone = raw.message(UPDATE, bytes.fromhex("0000000D800F0A000201" "3020010DB80001"))
    before = r.us.neighbour()
    for number, text in enumerate((
            "0043 02 0000 002C 40010100 40020602010000FFEB 800E1C00020110" + HOP6 + "003020010DB80001",
            "004A 02 0000 0033 40010100 40020602010000FFEB 40030400000000 800E1C00020110" + HOP6 +
            "003020010DB80001", mp(HOP6 + "FE800000000000000000000000000001"))):
        r.take(link, octets(text))
        expect_equal(sorted(r.routes()), there, "routes of vector %d" % number)
        r.take(link, gone)
        expect_equal(sorted(r.routes()), [], "routes after their withdrawal")
    r.same_session(before)
    expect_equal(r.us.neighbour()["treated-as-withdrawn"], 0, "treated-as-withdrawn")
    if not agreed:
        return
    for odd in ("", HOP6 + "0000000000000000"):     # RFC 7606 7.11: the routes can't be read
        link = r.up(caps=raw.MP4 + raw.MP6 + raw.as4())
        link.send(octets(mp(odd)))
        link.notified(3, 9)


@case(cost_s=1)
def bl_108_withdrawn_and_announced_at_once(lab):
    fresh(lab, {"hex_text": "0033 02 0004 18C00002 0014 40010100 40020602010000FFEB 400304A9FE1502 "
                            "18C00002", "route": True})


@case(cost_s=1)
def bl_108_treated_as_withdraw_with_mp_parts(lab):
    """A bad ORIGIN takes IPv4 and IPv6 routes of the same message away."""
    r = Raw(lab, ipv6=True)
    link = r.up(caps=raw.MP4 + raw.MP6 + raw.as4())
    six = bytes.fromhex("00020110" + HOP6 + "003020010DB80001")
    both = raw.update(raw.prefixes(192, 1), raw.attributes(more=raw.attribute(14, six, 0x80)))
    r.take(link, both)
    expect_equal(len(r.routes()), 2, "routes")
    bad = both.replace(bytes.fromhex("40010100"), bytes.fromhex("40010107"))
    expect(bad != both, "no ORIGIN in the message")
    peer = r.take(link, bad)
    expect_equal(r.routes(), {}, "routes")
    expect_equal(peer["treated-as-withdrawn"], 1, "treated-as-withdrawn")


@case(cost_s=2)
def bl_110_prefixes_that_cannot_be(lab):
    r = Raw(lab)
    head = "40010100 40020602010000FFEB 400304A9FE1502 "
    for text in ("0031 02 0000 0014 " + head + "21C000020100", "002E 02 0000 0014 " + head + "18C000",
                 "001D 02 0006 21C000020100 0000", "001A 02 0003 18C000 0000"):
        ends(r, octets(text), 3, 10)


@case(cost_s=1)
def bl_110_prefixes_that_can(lab):
    r = Raw(lab)
    link = r.up()
    before = r.us.neighbour()
    head = "40010100 40020602010000FFEB 400304A9FE1502 "
    r.take(link, octets("002C 02 0000 0014 " + head + "00; 002E 02 0000 0014 " + head + "0F0A15"), 2)
    routes = r.routes()
    expect_equal(sorted(routes), ["0.0.0.0/0", "10.20.0.0/15"], "routes")
    expect_equal(routes["0.0.0.0/0"]["refused"], "default", "the default route")
    r.same_session(before)
    r.take(link, octets("001A 02 0003 0F0A15 0000"))
    expect_equal(sorted(r.routes()), ["0.0.0.0/0"], "routes")


@case(cost_s=3)
def bl_111_headers(lab):
    r = Raw(lab)
    for text, subcode, data in (("0012 09", 2, "0012"), ("0013 09", 3, "09"),
                                ("0017 04 DEADBEEF", 2, "0017"), ("1001 02", 2, "1001"),
                                ("0016 02 000000", 2, "0016"), ("0014 03 06", 2, "0014")):
        ends(r, octets(text), 1, subcode, data)
    for at in (0, 7, 15):
        whole = bytearray(raw.message(KEEPALIVE))
        whole[at] = 0
        ends(r, bytes(whole), 1, 1)
    r.us.ask(cmd="bgp-reset", peer=raw.PEER)
    link = r.connect()
    link.send(octets("0018 01 04 FFEB 00B4"))
    expect_equal(link.notified(1, 2).hex(), "0018", "the data")


@case(cost_s=3)
def bl_111_octet_by_octet(lab):
    """A session whose every message comes in segments of one octet."""
    r = Raw(lab)
    link = r.connect()
    for one in raw.opening():
        link.sock.send(bytes((one,)))
    link.find(KEEPALIVE)
    said = raw.message(KEEPALIVE) + raw.announcements(20, 3) + octets(GOOD)
    for one in said:
        link.sock.send(bytes((one,)))
    wait_for(lambda: len(r.routes()) == 4, 10, "four routes")
    expect(r.us.established(), "a session")


@case(cost_s=2)
def bl_111_many_in_one_segment(lab):
    """200 messages in one, and the same cut at places that are no ends of messages."""
    r = Raw(lab)
    link = r.up()
    many = b"".join(raw.update(raw.prefixes(20, 1, i)) for i in range(150))
    many += raw.message(KEEPALIVE) * 50
    r.take(link, many, 150)
    expect_equal(len(r.routes()), 150, "routes")
    cut = b"".join(raw.update(withdrawn=raw.prefixes(20, 1, i)) for i in range(150))
    for at in range(0, len(cut), 1447):
        link.send(cut[at:at + 1447])
    r.take(link, b"", 150)
    expect_equal(r.routes(), {}, "routes")
    r.wait_kernel([])


@case(cost_s=2)
def bl_112_shapes_of_open(lab):
    r = Raw(lab)
    for text in ("002D 01 04 FFEB 00B4 A9FE1502 10 0206010400010001 020641040000FFEB",
                 "002D 01 04 FFEB 00B4 A9FE1502 10 020E010400010001020041040000FFEB",
                 "0029 01 04 FFEB 00B4 A9FE1502 0C 020A4302010241040000FFEB",
                 "0029 01 04 FFEB 00B4 A9FE1502 0C 020A4002007841040000FFEB",
                 "0029 01 04 FFEB 00B4 A9FE1502 FF FF 0009 02 0006 41040000FFEB",
                 "001D 01 04 FFEB 00B4 A9FE1502 00",
                 "001F 01 04 FFEB 00B4 A9FE1502 02 0200"):
        link = r.up(said=octets(text))
        before = r.us.neighbour()
        r.take(link, octets("002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002"
                            if before["as4"] else
                            "002D 02 0000 0012 40010100 4002040201FFEB 400304A9FE1502 18C00002"))
        r.same_session(before)
        r.wait_kernel([TEST_NET])
        r.us.ask(cmd="bgp-reset", peer=raw.PEER)
        link.notified(6, 4)
        r.wait_kernel([])


@case(cost_s=2)
def bl_112_open_that_cannot_be(lab):
    """Parameters that run out, of no known type, an identifier of 0, other versions."""
    r = Raw(lab)
    for text, subcode in (
            ("0025 01 04 FFEB 00B4 A9FE1502 09 020641040000FFEB", 0),
            ("0025 01 04 FFEB 00B4 A9FE1502 07 020641040000FFEB", 0),
            ("0025 01 04 FFEB 00B4 A9FE1502 08 020741040000FFEB", 0),
            ("0025 01 04 FFEB 00B4 A9FE1502 08 020641050000FFEB", None),
            ("0025 01 04 FFEB 00B4 A9FE1502 08 010641040000FFEB", 4),
            ("0025 01 04 FFEB 00B4 00000000 08 020641040000FFEB", 3),
            ("0025 01 03 FFEB 00B4 A9FE1502 08 020641040000FFEB", 1),
            ("0029 01 04 FFEB 00B4 A9FE1502 FF FF 000A 02 0006 41040000FFEB", 0),
            ("001E 01 04 FFEB 00B4 A9FE1502 FF FF", 0)):
        r.revive()
        link = r.connect()
        link.send(octets(text))
        body = link.find(NOTIFICATION)
        expect_equal(body[0], 2, "code of the NOTIFICATION for " + text)
        if subcode is not None:
            expect_equal(body[1], subcode, "subcode of the NOTIFICATION for " + text)
        wait_for(lambda: r.us.neighbour()["waits-for"] == "pause", 3, "a pause")


@case(cost_s=6)
def bl_114_hold_times(lab):
    r = Raw(lab)
    for hex_hold, hold_s in (("001E", 30), ("0003", 3), ("00B4", 90)):
        r.up(said=octets("001D 01 04 FFEB %s A9FE1502 00" % hex_hold))
        peer = r.us.neighbour()
        expect_equal((peer["hold-s"], peer["keepalive-s"]), (hold_s, hold_s // 3), "hold, keepalive")
        r.us.ask(cmd="bgp-reset", peer=raw.PEER)
    for hex_hold in ("0001", "0002", "0000"):
        r.revive()
        link = r.connect()
        link.send(octets("001D 01 04 FFEB %s A9FE1502 00" % hex_hold))
        link.notified(2, 6)
        wait_for(lambda: r.us.neighbour()["waits-for"] == "pause", 3, "a pause")
    link = r.up(said=octets("001D 01 04 FFEB 0003 A9FE1502 00"))
    since = time.monotonic()
    link.notified(4, 0)
    took = time.monotonic() - since
    expect(2.5 < took < 4, "silence was noticed after %.1f s" % took)


@case(cost_s=2)
def bl_117_end_of_rib_and_refresh(lab):
    r = Raw(lab, ipv6=True, announce=["10.10.0.0/16", "10.11.0.0/24"])
    link = r.up(caps=raw.MP4 + raw.MP6 + raw.REFRESHES + raw.ENHANCED + raw.as4())
    before = r.us.neighbour()
    r.take(link, octets("0017 02 0000 0000; 001D 02 0000 0006 800F03000201"), 2)
    peer = r.same_session(before)
    expect(peer["ipv4"]["end-of-rib-received"] and peer["ipv6"]["end-of-rib-received"], "End-of-RIB")
    wait_for(lambda: bytes(4) in link.updates(), 5, "our End-of-RIB")
    first = link.updates()
    expect(all(raw.nlri_of(b) == b"" for b in first[first.index(bytes(4)):]), "routes after End-of-RIB")
    expect_equal(sorted(link.announced()), ["10.10.0.0/16", "10.11.0.0/24"], "what we announce")
    expect_equal(first.count(bytes(4)), 1, "our End-of-RIBs")
    link.send(octets("0017 05 0001 00 01"))
    wait_for(lambda: len(link.announced()) == 4, 5, "our routes again")
    wait_for(lambda: link.poll() or (REFRESH, bytes((0, 1, 2, 1))) in link.heard, 5, "EoRR")
    marks = [m for m in link.heard if m[0] == REFRESH or m[0] == UPDATE and raw.nlri_of(m[1])][-3:]
    expect_equal([m[1] if m[0] == REFRESH else "routes" for m in marks],
                 [bytes((0, 1, 1, 1)), "routes", bytes((0, 1, 2, 1))], "BoRR, routes, EoRR")
    expect_equal(r.us.neighbour()["messages-out"]["route-refresh"], 2, "ROUTE-REFRESHs sent")
    # BoRR and EoRR of a peer that was not asked: nothing happens, nothing is lost.
    r.take(link, octets(GOOD))
    link.send(octets("0017 05 0001 01 01; 0017 05 0001 02 01; 0017 05 0063 00 01; 0017 05 0001 07 01"))
    r.take(link, raw.END_OF_RIB)
    r.same_session(before)
    with r.one_line("down after"):
        link.send(octets("0016 05 0001 00"))
        data = link.notified(7, 1)
    expect_equal(data.hex(), octets("0016 05 0001 00").hex(), "the data are the message")


@case(cost_s=1)
def bl_117_refresh_without_the_capability(lab):
    r = Raw(lab)
    link = r.up()
    before = r.us.neighbour()
    wait_for(lambda: link.announced() and bytes(4) in link.updates(), 5, "our routes")
    link.send(octets("0017 05 0001 00 01; 0016 05 0001 00; 0017 05 0001 02 01"))
    r.take(link, octets(GOOD))
    r.same_session(before)
    expect_equal(len(link.announced()), 1, "prefixes that we have announced")


@case(matrix=cases(
    own={"hex_text": "0033 02 0000 0018 40010100 40020A02020000FFEB0000FDF2 400304A9FE1502 18C00002",
         "route": True, "refused": "own-as", "line": ("own AS",)},
    first={"hex_text": "002F 02 0000 0014 40010100 40020602010000FDFC 400304A9FE1502 18C00002",
           "route": True, "refused": "first-as", "line": ("does not begin with the peer's AS",)}), cost_s=1)
def bl_119_paths(lab, vector):
    fresh(lab, vector)


@case(cost_s=1)
def bl_136_default_route_and_halves(lab):
    r = Raw(lab)
    link = r.up()
    before = r.us.neighbour()
    head = "40010100 40020602010000FFEB 400304A9FE1502 "
    r.take(link, octets("002C 02 0000 0014 " + head + "00; 002D 02 0000 0014 " + head + "0100;"
                        "002D 02 0000 0014 " + head + "0180"), 3)
    expect_equal({p: v["refused"] for p, v in r.routes().items()},
                 dict.fromkeys(("0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1"), "default"), "routes")
    r.same_session(before)
    r.wait_kernel([])


@case(matrix={"length": [1, 80]}, cost_s=2)
def bl_121_keys(lab, length):
    """TCP-MD5 with the shortest and the longest key; a peer without the key gets no answer."""
    key = "k" * length
    r = Raw(lab, bgp_password=key)
    try:
        r.connect(timeout_s=1.2)
        expect(False, "a connection without the key is answered")
    except socket.timeout:
        pass
    link = r.connect(md5=key.encode())
    link.establish()
    wait_for(r.us.established, 5, "the session")


@case(matrix={"length": [0, 81]}, cost_s=1)
def bl_121_keys_that_cannot_be(lab, length):
    r = Raw(lab, bgp_password="k" * length, start=False)
    r.us.write_conf()
    rc, said = r.host.rc([r.us.program, "-f", "/run/causeway/causeway.conf", "--device", "them=bgp0"])
    expect(rc != 0 and "bgp-password" in said and "k" * 8 not in said, "it said %r" % said)
