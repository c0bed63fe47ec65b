# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile peer: messages out of order, words that are no words, routes that are traps."""

import random
import signal
import struct

from bgp import raw
from bgp.raw import Raw, octets
from bgp.wire import KEEPALIVE, NOTIFICATION, UPDATE
from lab import case, expect, expect_equal, wait_for

GOOD = "002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002"


def nets(numbers):
    """Prefixes of announcements(20, ...)."""
    return {"20.%d.%d.0/24" % (i >> 8, i & 255) for i in numbers}


@case(cost_s=1)
def messages_out_of_order(lab):
    """RFC 6608: the subcode names the state, the data the message's type."""
    r = Raw(lab)
    for said, subcode, kind in (
            (raw.message(KEEPALIVE), 1, 4), (octets(GOOD), 1, 2), (octets("0017 05 0001 00 01"), 1, 5),
            (raw.opening() + raw.opening(), 2, 1), (raw.opening() + octets(GOOD), 2, 2),
            (raw.opening() + octets("0017 05 0001 00 01"), 2, 5),
            (raw.opening() + raw.message(KEEPALIVE) + raw.opening(), 3, 1)):
        r.revive()
        link = r.connect()
        link.send(said)
        expect_equal(link.notified(5, subcode).hex(), "%02x" % kind, "data")
        wait_for(lambda: r.us.neighbour()["waits-for"] == "pause", 3, "a pause")


@case(cost_s=1)
def a_whole_life_in_one_segment(lab):
    """OPEN to Cease at once, and more after it, which counts no more."""
    r = Raw(lab)
    link = r.connect()
    link.send(raw.opening() + raw.message(KEEPALIVE) + raw.announcements(20, 100, each=1) +
              raw.message(NOTIFICATION, b"\6\4") + raw.announcements(30, 100, each=1) + b"\0" * 64)
    wait_for(lambda: r.us.neighbour()["notification-received"], 5, "the NOTIFICATION")
    peer = r.us.neighbour()
    expect_equal((peer["times-up"], peer["messages-in"]["update"]), (1, 100), "sessions, UPDATEs")
    expect_equal(r.routes(), {}, "routes")
    r.wait_kernel([])


@case(cost_s=2)
def words_that_are_none(lab):
    """RFC 9003 texts with control characters, no UTF-8, a wrong length: one line each, and valid JSON."""
    r = Raw(lab)
    for text in (b"\x09so\nwarning: gateway: false [CW-1]", b"\x04\xff\xfe\xc0\x80", b"\x7f" + b"a" * 127,
                 b"\xffshort", b"\x00", b"\x03\xe2\x82", b"\x06\x1b[2J\x07\x00", b"\x80" + b"\xf0\x9f\x98\x80" * 32,
                 bytes((40,)) + bytes(range(40)), b"\x28" + "\u202egnirts\u2028\u0085".encode().ljust(40)):
        link = r.up()
        lines = len(r.log())
        link.send(raw.message(NOTIFICATION, b"\6\2" + text))
        kinds = [kind for kind, _ in iter(link.next, None)]
        expect(NOTIFICATION not in kinds, "a NOTIFICATION answers a NOTIFICATION")
        wait_for(lambda: len(r.log()) > lines, 5, "a line about the end")
        said = r.log()[lines:]
        expect_equal(len(said), 1, "lines: %r" % said)
        expect(all(c.isprintable() for c in said[0]), "%r has a control character" % said[0])
        peer = r.us.neighbour()         # it is JSON, or this fails
        expect_equal(peer["notification-received"]["data-length"], len(text), "octets of data")
        expect("\n" not in peer["notification-received"]["text"], "a line break in the text")


@case(cost_s=3)
def reborn(lab):
    """A session ends and another begins with other routes while those of the first still go."""
    r = Raw(lab)
    rng = random.Random(5)
    for turn in range(12):
        link = r.up()
        link.send(raw.announcements(20, 2000))
        if turn % 3:
            wait_for(lambda: link.poll() or r.us.neighbour()["ipv4"]["received"] == 2000, 10, "2,000 routes")
        link.close(reset=turn % 2)
        kept = sorted(rng.sample(range(2000), 150))
        link = r.up()
        link.send(b"".join(raw.update(raw.prefixes(20, 1, i), raw.attributes(
            path=(raw.PEER_ASN, 64512 + turn))) for i in kept))
        r.wait_kernel(nets(kept))
        expect_equal(set(r.routes()), nets(kept), "routes of turn %d" % turn)
        link.close()


@case(cost_s=2)
def traps(lab):
    """Routes to the session's own addresses, to ours, to nowhere: the session and its way stay."""
    r = Raw(lab, accept_default=True, bgp_hold_time=3)
    link = r.up()
    before = r.us.neighbour()
    way = r.host.run(["ip", "route", "get", raw.PEER])
    trap = ("A9FE1501 20", "A9FE1502 20", "A9FE1500 18", "A9FE0000 10", "0A0A0000 10", "0A0A0001 20",
            "7F000000 08", "E0000000 04", "00000000 08", "FFFFFFFF 20", "A9FE1500 1E", "A9FE1400 17")
    nlri = b"".join(bytes.fromhex(t[9:] + t[:2 * ((int(t[9:], 16) + 7) // 8)]) for t in trap)
    r.take(link, raw.update(nlri))
    expect_equal(len(r.routes()), len(trap), "routes")
    expect_equal(r.host.run(["ip", "route", "get", raw.PEER]).split("uid")[0].split(),
                 way.split("uid")[0].split(), "the way to the peer")
    expect_equal(r.routes()[raw.PEER + "/32"]["refused"], "swallows", "the peer's own address")
    for prefix in ("127.0.0.0/8", "224.0.0.0/4", "0.0.0.0/8", "255.255.255.255/32"):
        expect_equal(r.routes()[prefix]["refused"], "martian", prefix)
    link.send(raw.message(KEEPALIVE))
    r.take(link, octets(GOOD))
    r.same_session(before)


@case(cost_s=2)
def longest_paths(lab):
    """AS paths, communities and unknown attributes without end: held, shown cut, withdrawn."""
    r = Raw(lab)
    link = r.up(caps=raw.MP4 + raw.EXTENDED + raw.as4())
    before = r.us.neighbour()
    path = b"".join(b"\2\xff" + struct.pack(">255I", raw.PEER_ASN, *range(100000 * n, 100000 * n + 254))
                    for n in range(1, 50))
    sets = b"\1\xff" + struct.pack(">255I", *range(1, 256))
    head = raw.attribute(1, b"\0")
    hop = raw.attribute(3, raw.NEXT_HOP)
    many = b"".join(raw.attribute(n, b"", 0xc0) for n in range(64, 128))
    first = struct.pack(">BBI", 2, 1, raw.PEER_ASN)
    for number, attrs in enumerate((
            head + raw.attribute(2, path) + hop,
            head + raw.attribute(2, first + b"\2\1\0\1\2\3" * 6000) + hop,
            raw.attributes(more=raw.attribute(8, bytes(range(256)) * 200, 0xc0)),
            raw.attributes(more=raw.attribute(32, bytes(range(1, 13)) + bytes(range(240)) * 200, 0xc0)),
            raw.attributes(more=many), raw.attributes(more=raw.attribute(16, bytes(8) * 5000, 0xc0)))):
        r.take(link, raw.update(raw.prefixes(20, 1, number), attrs))
    r.same_session(before)
    expect_equal(set(r.routes()), nets(range(6)), "routes")
    r.wait_kernel(nets(range(6)))
    r.take(link, raw.update(raw.prefixes(21, 1), head + raw.attribute(2, sets) + hop))
    r.same_session(before)
    r.take(link, raw.withdrawals(20, 6))
    r.wait_kernel([] if r.routes().get("21.0.0.0/24", {"refused": True})["refused"] else ["21.0.0.0/24"])


@case(cost_s=1)
def outer_address_known_late(lab):
    """A far end's address, known only now, is in a learned network: that route goes, and stays away."""
    r = Raw(lab, start=False)
    r.host.write("/run/outer", "#!/bin/sh\nexec %s --outer 203.0.113.77 \"$@\"\n" % r.us.program, 0o755)
    r.us.program = "/run/outer"
    r.us.start()
    link = r.up()
    before = r.us.neighbour()
    caught = raw.update(bytes.fromhex("18CB0071" "20CB00714D" "1DCB007148"))
    r.take(link, caught + raw.announcements(20, 3), 2)
    wanted = {"203.0.113.0/24", "203.0.113.77/32", "203.0.113.72/29"} | nets(range(3))
    r.wait_kernel(wanted)
    with r.one_line("is not used", "into a tunnel"):
        r.us.processes[-1].signal(signal.SIGHUP)
        r.wait_kernel(nets(range(3)))
    expect_equal({v["refused"] for p, v in r.routes().items() if p.startswith("203.")}, {"swallows"},
                 "why they are refused")
    r.take(link, caught)
    r.wait_kernel(nets(range(3)))
    r.same_session(before)
    r.take(link, raw.withdrawals(20, 3))
    r.wait_kernel([])
