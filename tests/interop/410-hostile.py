# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile peer and a hostile machine: floods, games with connections and limits, what fails beneath."""

import os
import random
import resource
import signal
import socket
import struct
import time

from bgp import raw
from bgp.raw import Raw, octets
from bgp.wire import KEEPALIVE, NOTIFICATION, OPEN, UPDATE
from lab import Skip, case, expect, expect_equal, hold_true, wait_for
from lab.wait import Failure

GOOD = "002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002"
SLACK_KIB = 24 << 10            # of a sanitizer's allocator, which keeps what was freed for a while


def communities(number, size):
    """A COMMUNITIES attribute of `size` octets like no other."""
    return raw.attribute(8, struct.pack(">I", number) * (size // 4), 0xc0)


# ---- floods ----

@case(cost_s=3)
def storm_of_faults(lab):
    """20,000 UPDATEs with a fault in each: few lines, all counted, no memory, the same session."""
    r = Raw(lab)
    link = r.up()
    before, lines = r.us.neighbour(), len(r.log())
    bad = [octets("0032 02 0000 0017 40010100 40020602010000FFEB 400304A9FE1502 C00800 18C00002"),
           octets("0038 02 0000 001D 40010100 40020602010000FFEB 400304A9FE1502 C00706FFEBC0000201 18C00002"),
           octets("002F 02 0000 0014 40010100 40020602010000FFEB 400304E0000005 18C00002"),
           octets("0033 02 0000 0018 40010100 40020A02020000FFEB0000FDF2 400304A9FE1502 18C00002")]
    r.take(link, b"".join(bad) * 100, 400)
    rss = r.rss_kib()
    peer = r.take(link, b"".join(bad) * 4900, 19600, 60)
    r.same_session(before)
    expect_equal((peer["attributes-discarded"], peer["treated-as-withdrawn"]), (5000, 5000), "counters")
    expect(len(r.log()) - lines <= 6, "%d lines: %r" % (len(r.log()) - lines, r.log()[lines:][:8]))
    expect(r.rss_kib() < rss + SLACK_KIB, "RSS was %d KiB and is %d KiB" % (rss, r.rss_kib()))


@case(cost_s=6)
def flood_of_attribute_sets(lab):
    """500 prefixes announced again and again, with 2,000 octets of new attributes each time."""
    r = Raw(lab, max_prefixes=500)
    link = r.up()
    before, rss = r.us.neighbour(), 0

    def once(turn):
        return b"".join(raw.update(raw.prefixes(20, 1, i), raw.attributes(
            more=communities(turn * 500 + i, 2000))) for i in range(500))
    for turn in range(16):
        r.take(link, once(turn), 500, 60)
        if turn == 5:
            rss = r.rss_kib()
    r.same_session(before)
    expect(r.rss_kib() < rss + SLACK_KIB, "RSS was %d KiB and is %d KiB" % (rss, r.rss_kib()))
    expect_equal(len(r.routes()), 500, "routes")


@case(cost_s=6)
def attributes_beyond_the_cap(lab):
    """More attributes than are kept (128 MiB): the surplus is told of once, the session stays."""
    r = Raw(lab, max_prefixes=0)
    link = r.up(caps=raw.MP4 + raw.EXTENDED + raw.as4())
    before = r.us.neighbour()
    count = 2200
    with r.one_line("is lost", "128 MiB"):
        for at in range(0, count, 50):
            r.take(link, b"".join(raw.update(raw.prefixes(20, 1, i), raw.attributes(
                more=communities(i, 64000))) for i in range(at, at + 50)), 50, 60)
    peer = r.same_session(before)
    expect(2000 < peer["ipv4"]["received"] < count, "%d routes are held" % peer["ipv4"]["received"])
    expect(r.rss_kib() < 400 << 10, "RSS is %d KiB" % r.rss_kib())
    r.take(link, raw.withdrawals(20, count), 3)
    wait_for(lambda: not r.us.neighbour()["ipv4"]["received"], 10, "an empty table")
    r.take(link, raw.announcements(20, 10))
    expect_equal(len(r.routes()), 10, "routes")


@case(cost_s=2)
def longest_messages(lab):
    """4,096 octets go, 4,097 do not; with RFC 8654 65,535 do."""
    r = Raw(lab)
    link = r.up()
    before = r.us.neighbour()
    head = len(raw.update(b"x", raw.attributes()))- 1
    nlri = raw.prefixes(20, (4096 - head - 24) // 4)
    rest = 4096 - head - len(nlri) - 4
    full = raw.update(nlri, raw.attributes(more=raw.attribute(99, bytes(rest + 1), 0xc0)))
    expect_equal(len(full), 4096, "length of the message")
    r.take(link, full * 3, 3)
    r.same_session(before)
    link.send(raw.update(nlri, raw.attributes(more=raw.attribute(99, bytes(rest + 2), 0xc0))))
    expect_equal(link.notified(1, 2).hex(), "1001", "data")
    link = r.up(caps=raw.MP4 + raw.EXTENDED + raw.as4())
    before = r.us.neighbour()
    nlri = raw.prefixes(20, 16000)
    full = raw.update(nlri, raw.attributes(more=raw.attribute(
        99, bytes(65535 - head - len(nlri) - 4), 0xc0)))
    expect_equal(len(full), 65535, "length of the message")
    r.take(link, full * 3, 3)
    r.same_session(before)
    expect_equal(r.us.neighbour()["ipv4"]["received"], 16000, "routes")


# ---- connections ----

@case(cost_s=3)
def connections_without_end(lab):
    """Hundreds of connections that say nothing, half of them left open: no descriptor stays."""
    r = Raw(lab)
    fds = r.fds()
    kept = []
    for i in range(300):
        link = r.connect()
        if i % 2:
            link.close(reset=i % 4 == 1)
        else:
            kept.append(link)
    wait_for(lambda: r.fds() <= fds + 2, 10, "causeway to close all connections but one")
    expect(len(r.log()) < 12, "%d lines: %r" % (len(r.log()), r.log()[:12]))
    r.us.ask(cmd="bgp-reset", peer=raw.PEER)
    link = r.up()
    for _ in range(50):                 # and over a session
        r.connect().notified(6, 7)
    expect(r.us.established(), "the session")


@case(cost_s=1)
def reasons_without_end(lab):
    """200 connections that end in ever new ways before a session: a handful of lines."""
    r = Raw(lab)
    lines = len(r.log())
    for i in range(200):
        link = r.connect()
        link.find(OPEN)
        if i % 3 == 2:
            link.send(raw.message(NOTIFICATION, b"\6\7\x05%05d" % i))
        link.close(reset=i % 3 == 1)
    expect(2 <= len(r.log()) - lines <= 5, "%d lines: %r" % (len(r.log()) - lines, r.log()[:12]))


@case(cost_s=2)
def session_that_loses_collisions(lab):
    """A Cease 6/7 that ends a session is a failure: the next one does not begin at once."""
    r = Raw(lab)
    link = r.up()
    link.send(raw.message(NOTIFICATION, b"\6\7"))
    while link.next():
        pass
    wait_for(lambda: r.us.neighbour()["waits-for"] == "pause", 3, "a pause")


@case(cost_s=2)
def strangers(lab):
    """From addresses that nobody knows: closed without a word, one line, the session unharmed."""
    r = Raw(lab)
    r.peer_host.ip("addr add 169.254.21.2/32 dev lo\naddr add 10.99.0.1/32 dev lo")
    r.host.ip("route add 10.99.0.1/32 dev bgp0 via " + raw.PEER)
    link = r.up()
    with r.one_line("10.99.0.1"):
        for _ in range(200):
            try:
                r.connect(source="10.99.0.1").closed()
            except ConnectionResetError:        # so soon
                pass
    r.take(link, octets(GOOD))
    expect(r.us.established(), "the session")


@case(cost_s=6, matrix={"id": ["lower", "higher", "equal"]})
def bl_116_both_connect_at_once(lab, id):
    """102 rounds with the other ids, whichever OPEN is first: one connection stays, and it is no failure."""
    router_id = {"lower": "10.10.255.4", "higher": "10.0.0.1", "equal": "10.10.0.1"}[id]
    r = Raw(lab, opener="both", start=False)
    listener = r.listen()
    r.us.start()
    rng = random.Random(116)
    for number in range(34):
        # With equal ids the higher AS number stays: theirs.
        ours_stays = id == "higher"
        ours = r.accept(listener)
        theirs = r.connect()
        said = raw.opening(router_id=router_id)
        for link in (ours, theirs):     # both in OPEN_SENT; before, the first in OPEN_CONFIRM would stay
            link.find(OPEN)
        orders = [ours, theirs]
        rng.shuffle(orders)
        for link in orders:
            link.send(said)
            if rng.random() < 0.5:      # the other's OPEN comes with the first one's, or after it
                link.poll(0.02)
        winner, loser = (ours, theirs) if ours_stays else (theirs, ours)
        loser.notified(6, 7)
        winner.find(KEEPALIVE)
        winner.send(raw.message(KEEPALIVE))
        wait_for(r.us.established, 10, "the session of round %d" % number, poll_s=0.01)
        peer = r.us.neighbour()
        expect_equal((peer["opened-by-us"], peer["failures"]), (ours_stays, 0), "who opened, failures")
        r.us.ask(cmd="bgp-reset", peer=raw.PEER)
        winner.notified(6, 4)
    expect_equal(r.us.neighbour()["times-up"], 34, "sessions")


@case(cost_s=4)
def peer_that_stops_reading(lab):
    """4,000 routes for a peer that reads nothing: memory is bounded, it is ended after the hold time's double."""
    r = Raw(lab, hold_s=3, announce=["10.%d.%d.0/24" % (i >> 8, i & 255) for i in range(4000)],
            announce_limit=0)
    link = r.connect()
    link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    link.establish(3)
    wait_for(r.us.established, 5, "the session")
    end = time.monotonic() + 2
    while time.monotonic() < end:       # alive, but deaf
        link.sock.send(raw.message(KEEPALIVE))
        time.sleep(0.2)
    expect(r.us.established(), "the session")
    link.poll(1)
    wait_for(lambda: len(set(link.announced())) == 4000, 10, "all routes, when it reads again")


# ---- limits ----

@case(cost_s=2, matrix={"way": ["one-update", "two-updates"]})
def bl_128_one_prefix_too_many(lab, way):
    r = Raw(lab, max_prefixes=100)
    link = r.up()
    first = raw.prefixes(20, 99)
    if way == "two-updates":
        r.take(link, raw.update(first))
        for _ in range(5):              # the same again is no growth
            r.take(link, raw.update(first))
        expect_equal(r.us.neighbour()["ipv4"]["received"], 99, "prefixes")
        link.send(raw.update(raw.prefixes(20, 2, 99)))
    else:
        link.send(raw.update(raw.prefixes(20, 101)))
    expect_equal(link.notified(6, 1).hex(), "00010100000064", "AFI, SAFI, limit")
    peer = r.us.neighbour()
    expect_equal(peer["waits-for"], "prefix-limit", "what it waits for")
    expect("limit 100, got 101" in peer["cause"]["detail"], "the detail is %r" % peer["cause"]["detail"])
    r.connect().notified(6, 5)
    r.wait_kernel([])
    r.us.ask(cmd="bgp-reset", peer=raw.PEER)
    link = r.up()
    r.take(link, raw.update(raw.prefixes(20, 100)))
    expect(r.us.established(), "a session with 100 prefixes")
    # One goes as another comes, in one message: never more than 100.
    r.take(link, raw.update(raw.prefixes(21, 1), withdrawn=raw.prefixes(20, 1)))
    expect(r.us.established(), "a session with 100 prefixes")


@case(cost_s=2)
def bl_127_nothing_twice(lab):
    """What we announce comes once, whatever else happens."""
    r = Raw(lab, announce=["10.10.0.0/16", "10.11.0.0/24", "10.12.0.0/24"])
    link = r.up(caps=raw.MP4 + raw.REFRESHES + raw.as4())
    wait_for(lambda: len(link.announced()) == 3, 5, "our routes")
    for turn in range(10):
        r.take(link, raw.announcements(20, 200, path=(raw.PEER_ASN, 64512 + turn)))
        r.take(link, raw.withdrawals(20, 200))
        r.us.ask(cmd="bgp")
    r.host.ip("link set bgp0 mtu 1400")
    hold_true(lambda: len(link.announced()) == 3, 0.5, "three announcements")
    expect_equal(len(link.updates()), 2, "UPDATEs, one of them End-of-RIB")


# ---- busy ----

@case(cost_s=6)
def bl_115_keepalives_while_routes_pour_in(lab):
    """100,000 routes announced and withdrawn with a hold time of 3 s; never a second without us."""
    r = Raw(lab, hold_s=3, max_prefixes=0)
    link = r.up(3)
    before = r.us.neighbour()
    announce = raw.announcements(20, 65536) + raw.announcements(22, 34464)
    withdraw = raw.withdrawals(20, 65536) + raw.withdrawals(22, 34464)
    worst, heard, since, end = 0, 0, time.monotonic(), time.monotonic() + 6
    view = memoryview(announce)
    turn = 0
    link.sock.setblocking(False)
    while time.monotonic() < end:
        link.poll(0.005)
        if len(link.heard) > heard:
            heard, since = len(link.heard), time.monotonic()
        worst = max(worst, time.monotonic() - since)
        try:
            view = view[link.sock.send(view[:200000]):]
        except BlockingIOError:
            pass
        if not view:
            turn += 1
            view = memoryview(withdraw if turn % 2 else announce)
    print("%d rounds, at worst %.2f s without a word" % (turn, worst))
    r.same_session(before)
    expect(worst < 2, "%.2f s without a word of causeway" % worst)


@case(cost_s=20, timeout_s=240)
def flapping(lab):
    """A session that ends in all ways with 2,000 routes each time: nothing of it stays."""
    r = Raw(lab)
    said = raw.announcements(20, 2000)
    rng = random.Random(9)
    rss = fds = 0
    for turn in range(40):
        link = r.up()
        link.send(said)
        way = rng.choice(("withdraw", "reset", "close", "bad", "notification"))
        if way in ("withdraw", "bad"):
            wait_for(lambda: link.poll() or len(r.kernel()) == 2000, 20, "2,000 routes in the kernel")
        if way == "withdraw":
            link.send(raw.withdrawals(20, 2000))
        if way == "bad":
            link.send(octets("001A 02 0003 18C000 0000"))
            link.notified(3, 10)
        elif way == "notification":
            link.send(raw.message(NOTIFICATION, b"\6\4"))
        link.close(reset=way == "reset")
        if turn == 10:
            r.us.wait_down()
            r.wait_kernel([])
            rss, fds = r.rss_kib(), r.fds()
    r.us.wait_down()
    r.wait_kernel([])
    wait_for(lambda: r.fds() <= fds, 10, "as few descriptors as before")
    nexthops = r.host.run(["ip", "nexthop"]).splitlines()
    expect(len(nexthops) <= 2, "nexthops: %r" % nexthops)   # the last group is kept for the next route
    expect(r.rss_kib() < rss + SLACK_KIB, "RSS was %d KiB and is %d KiB" % (rss, r.rss_kib()))
    r.us.stop()
    expect_equal(r.host.run(["ip", "nexthop"]).strip(), "", "nexthops after the end")


# ---- the machine beneath ----

def nets(count):
    """The prefixes of announcements(20, count)."""
    return {"20.%d.%d.0/24" % (i >> 8, i & 255) for i in range(count)}


@case(cost_s=4)
def kernel_loses_routes(lab):
    """What somebody takes out of the kernel's table comes back: routes, nexthops, the device down."""
    r = Raw(lab)
    link = r.up()
    r.take(link, raw.announcements(20, 300))
    r.wait_kernel(nets(300))
    r.host.run(["ip", "route", "del", "20.0.7.0/24"])
    r.wait_kernel(nets(300))
    said = r.host.run(["sh", "-c", "ip -d route show 20.0.9.0/24"])
    number = said.split("proto ")[1].split()[0]
    without = "".join("route del %s proto %s\n" % (net, number) for net in nets(300))
    r.host.ip(without)
    r.wait_kernel(nets(300))
    r.host.run(["ip", "nexthop", "flush"])
    r.wait_kernel(nets(300))
    r.host.run(["ip", "-force", "-batch", "-"], False, without + "nexthop flush\n" + without)
    r.wait_kernel(nets(300))
    expect(r.us.established(), "the session")
    r.take(link, raw.withdrawals(20, 300))
    r.wait_kernel([])


@case(cost_s=4)
def device_down_and_up(lab):
    """The link goes down and comes up within the hold time: the same session, and its routes."""
    r = Raw(lab)
    link = r.up()
    r.take(link, raw.announcements(20, 50))
    r.wait_kernel(nets(50))
    before = r.us.neighbour()
    r.host.ip("link set bgp0 down")
    wait_for(lambda: not r.kernel(), 5, "the kernel to drop the routes of a link that is down")
    r.host.ip("link set bgp0 up")
    r.wait_kernel(nets(50))
    r.take(link, raw.announcements(20, 60))
    r.wait_kernel(nets(60))
    r.same_session(before)


@case(cost_s=4)
def device_gone(lab):
    """The interface is deleted and another made with its name: no crash, and a new session."""
    r = Raw(lab, hold_s=3)
    link = r.up(3)
    r.take(link, raw.announcements(20, 50))
    r.wait_kernel(nets(50))
    r.host.ip("link del bgp0")
    wait_for(lambda: not r.kernel(), 5, "the kernel to drop the routes")
    wait_for(lambda: r.us.neighbour()["state"] != "established", 8, "the end of the session")
    expect_equal(r.routes(), {}, "routes")


@case(cost_s=3)
def foreign_route_first(lab):
    """Somebody else's route with our metric is there: it stays, it is said once, and we follow when it goes."""
    r = Raw(lab)
    link = r.up()
    r.take(link, octets(GOOD))
    r.wait_kernel(["192.0.2.0/24"])
    metric = r.host.run(["ip", "route", "show", "192.0.2.0/24"]).split("metric ")[1].split()[0]
    r.host.ip("route add 20.0.1.0/24 dev lo metric %s proto static" % metric)
    with r.one_line("20.0.1.0/24", "somebody else"):
        r.take(link, raw.announcements(20, 3))
    foreign = lambda: "proto static" in r.host.run(["ip", "route", "show", "20.0.1.0/24"])
    expect(foreign(), "the foreign route is gone")
    shown = r.routes()["20.0.1.0/24"]
    expect(not shown["installed"] and "kernel" in shown["why-not"], "routes says %r" % shown)
    r.take(link, raw.withdrawals(20, 3))
    r.take(link, raw.announcements(20, 3))
    expect(foreign(), "the foreign route is gone")
    r.host.ip("route del 20.0.1.0/24 dev lo metric %s" % metric)
    wait_for(lambda: r.routes()["20.0.1.0/24"]["installed"], 12, "our route in its place")
    r.wait_kernel(nets(3) | {"192.0.2.0/24"})


@case(cost_s=6)
def stopped_for_longer_than_the_hold_time(lab):
    """SIGSTOP: what the peer said meanwhile counts, the session is the same (bgp_peer.h: read first)."""
    r = Raw(lab, hold_s=3)
    link = r.up(3)
    r.take(link, raw.announcements(20, 20))
    before = r.us.neighbour()
    process = r.us.processes[-1]
    process.signal(signal.SIGSTOP)
    end = time.monotonic() + 4.5
    while time.monotonic() < end:
        link.send(raw.message(KEEPALIVE))
        time.sleep(0.5)
    process.signal(signal.SIGCONT)
    link.send(raw.message(KEEPALIVE))
    r.same_session(before)
    r.wait_kernel(nets(20))
    # And when the peer was silent too, the session ends at once.
    process.signal(signal.SIGSTOP)
    time.sleep(3.5)
    process.signal(signal.SIGCONT)
    link.notified(4, 0)


@case(cost_s=3)
def no_descriptors(lab):
    """With 24 descriptors at most and 60 connections: it neither ends nor spins, and is well after it."""
    r = Raw(lab, start=False)
    r.us.program_plain = r.us.program
    r.host.write("/run/few", "#!/bin/sh\nulimit -n 24\nexec %s \"$@\"\n" % r.us.program, 0o755)
    r.us.program = "/run/few"
    r.us.start()
    link = r.up()
    socks = []
    for _ in range(60):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        try:
            sock.connect(r.host.root("/run/causeway/control.sock"))
        except OSError:
            pass
        socks.append(sock)
    others = [r.connect() for _ in range(20)]
    pid = r.us.processes[-1].pid

    def cpu_ticks():
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return sum(int(v) for v in file.read().rsplit(")", 1)[1].split()[11:13])
    before = cpu_ticks()
    time.sleep(1)
    spent = cpu_ticks() - before
    for one in socks:
        one.close()
    for one in others:
        one.close()
    expect(spent < 50, "it has used %d ms of a second" % (spent * 10))
    r.take(link, octets(GOOD))
    expect(r.us.established(), "the session")
    r.wait_kernel(["192.0.2.0/24"])


@case(cost_s=4)
def control_socket(lab):
    """Questions about routes that make no sense, and a table of 20,000 page by page."""
    r = Raw(lab, max_prefixes=0)
    link = r.up()
    r.take(link, raw.announcements(20, 20000), 23)
    request, seen = {"cmd": "routes"}, []
    while True:
        answer = r.us.ask(**request)
        seen += [v["prefix"] for v in answer["routes"]]
        if not answer["after"]:
            break
        request["after"] = answer["after"]
    expect_equal((len(seen), len(set(seen))), (20001, 20001), "routes in pages")
    odd = ["0.0.0.0/0", "255.255.255.255/32", "::/0", "20.0.0.0/8", "20.0.0.1/24", "20.0.0.0/33",
           "20.0.0.0/-1", "20.0.0.0/", "/", "", "x" * 5000, "20.0.0.0/24/24", "::ffff:20.0.0.0/120",
           "20.0.0.0/000000000000024", "20.0.0.0/4294967320", "fe80::1%lo/64", 7, None, True, [], {},
           ["20.0.0.0/24"], "20.0.0.0/24\u0000", "\ud7ff", -1, 1e308]
    for value in odd:
        for name in ("prefix", "after", "received", "advertised", "peer", "best", "max", "cmd"):
            for more in ({}, {"prefix": "20.0.0.0/8"}):
                try:
                    r.us.ask(**dict(dict({"cmd": "routes"}, **more), **{name: value}))
                except Failure:
                    pass
                except ConnectionResetError:    # more octets than it reads
                    expect(len(repr(value)) > 4000, "no answer to %s=%r" % (name, value))
    for after in ("255.255.255.255/32", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "10.9.0.0/16"):
        r.us.ask(cmd="routes", after=after)
        r.us.ask(cmd="routes", prefix="20.0.0.0/8", after=after)
    expect(r.us.established(), "the session")


@case(cost_s=3)
def no_memory(lab):
    """2 MiB more than it has, and half a million routes: some are lost, which is said, and it lives."""
    if os.environ.get("ASAN_OPTIONS") is not None:
        raise Skip("a sanitizer ends the program when memory is out")
    r = Raw(lab, max_prefixes=0)
    link = r.up()
    r.take(link, raw.announcements(40, 1000), 2)
    before = r.us.neighbour()
    pid = r.us.processes[-1].pid
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        limit = int(file.read().split()[0]) * resource.getpagesize() + (2 << 20)
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    for first in range(20, 28):         # it may have no memory for answers either
        link.send(raw.announcements(first, 65536))
    wait_for(lambda: r.logged("no memory"), 10, "a line about memory")
    for first in range(20, 28):
        link.send(raw.withdrawals(first, 65536))
    r.updates = 0
    r.take(link, raw.withdrawals(40, 1000), 1170)
    r.same_session(before)
    expect_equal(len(r.logged("no memory")), 1, "lines about memory")
    wait_for(lambda: not r.us.neighbour()["ipv4"]["received"], 10, "an empty table")
    r.wait_kernel([])
    r.take(link, octets(GOOD))
    r.wait_kernel(["192.0.2.0/24"])
