# SPDX-License-Identifier: GPL-2.0-or-later
"""Selectors, policies, interfaces and the kernel: field cases of section 5.

Left out, as it belongs to later work: of BL-052 the warning about BGP addresses outside of narrowed
selectors; of BL-058 the reload (here addresses are taken away by hand); of BL-064 what BGP announces;
of BL-066 the MSS clamp, and the inner packets that the far side sends.

BL-054 asks for an ssh session: a TCP connection of G's own is the same to the kernel. BL-060 names
kernels 5.10 and 6.12 too: the lab has 6.1. BL-061 wants 500 Mbit/s: here it is 30, with a delay that
puts as many packets of a window out of order. BL-067 wants a certificate chain: keys are pre-shared
here, so a long list of proposals makes IKE_AUTH as big. BL-069: the orderly stop takes away all that is
ours, the unreachable routes too; from then on the machine is what it was before, and what is sent to the
site follows the default route. BL-070: gVisor is not at hand; a kernel without ESP is made by taking
the module away. BL-057 stands in 255-crash.py.
"""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time

from lab import (G_PUBLIC, LAN_HOST, PLACES, Failure, Skip, case, expect, expect_equal, hold_true,
                 kernel, wait_for, xfrm)
from lab.causeway import CONF, binary
from lab.profiles import ANY, ANY_DUAL
from lab.wire import ICMP, UDP

A1, A2, W1 = (PLACES[n] for n in ("A1", "A2", "W1"))
IF_ID_BASE = 0x63770000
BOTH = ("uml", "qemu")


def site(peer="A1", profile="azure", inside=None, **settings):
    """A site of one tunnel; inside: our address on its interface."""
    out = {"name": "far", "profile": profile, "networks": [PLACES[peer].network],
           "tunnels": [dict({"inside-address": inside} if inside else {},
                            remote=PLACES[peer].address)]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


def plane():
    """The interfaces that causeway and the peers use on this kernel."""
    return "xfrmi" if kernel.has("xfrmi") else "vti"


def key_of(policy_or_state):
    """if_id or mark, whichever this kernel's interfaces use."""
    return policy_or_state.if_id or policy_or_state.mark


def links(host, name=None):
    """Links of a host with details, or one of them (None when it is missing)."""
    every = json.loads(host.run(["ip", "-j", "-d", "link"]))
    if name is None:
        return every
    return next((l for l in every if l["ifname"] == name), None)


def routes(host, *words):
    """Routes of a host as ip(8) gives them in JSON."""
    return json.loads(host.run(["ip", "-j"] + list(words) + ["route"]))


# BL-052.

@case(needs=["vti"])
def bl_052_peer_narrows(lab):
    """(a) We offer everything, the peer holds two prefixes: what was agreed is shown, and works."""
    lab.peer("A1", pairs=[(A1.network, "10.10.0.0/16")])
    g = lab.causeway([site()])
    child = g.wait_up()["children"][0]
    expect_equal((child["local-ts"], child["remote-ts"]), (["10.10.0.0/16"], [A1.network]),
                 "selectors in status")
    expect(child["narrowed"], "status does not say that they were narrowed")
    out = g.ctl("status", "far-1")[1]
    expect("10.10.0.0/16 === 10.20.0.0/16 (narrowed by the peer)" in out, "status: " + out)
    g.wait_log("narrowed the selectors", 2)
    lab.expect_traffic()


@case(needs=["vti"])
def bl_052_narrowing_peer_is_any(lab):
    """(b) We hold two prefixes, the peer takes all: agreed is what we hold."""
    lab.peer("A1")
    g = lab.causeway([site(selectors="networks")])
    child = g.wait_up()["children"][0]
    expect_equal((child["local-ts"], child["remote-ts"]), (["10.10.0.0/16"], [A1.network]),
                 "selectors in status")
    expect(not child["narrowed"], "our own selectors are no narrowing")
    lab.expect_traffic()


@case(needs=["vti", "libreswan"], cost_s=8, matrix={"version": [("v2", 2), ("v1", 1)]})
def bl_052_strict_peer_is_any(lab, version):
    """(b) The same with a peer that narrows nothing: refused, and the hint names the way out."""
    lab.peer("A1", kind="libreswan", version=version)
    g = lab.causeway([site(selectors="networks", ike_version=version)])
    wanted = ("ts-unacceptable", "no-answer", "protocol") if version == 1 else ("ts-unacceptable",)

    def refused():
        cause = g.tunnel()["cause"]
        return cause and cause["name"] in wanted and cause
    cause = wait_for(refused, 30, "the refusal in status")
    print(g.ctl("status")[1], flush=True)
    if version == 2:
        expect('selectors = "any"' in cause["remedy"], "remedy: %r" % cause["remedy"])
        out = g.ctl("status", "far-1")[1]
        expect("TS_UNACCEPTABLE" in out and 'selectors' in out, "status: " + out)
        expect('selectors = "any"' in g.log_text(), "the log has no remedy")


@case(needs=["vti"], cost_s=8)
def bl_052_four_pairs(lab):
    """(c) Two networks on either side: a child for each pair, and each pair carries."""
    ours, theirs = ["10.10.0.0/16", "10.11.0.0/16"], ["10.20.0.0/16", "10.21.0.0/16"]
    net = lab.net
    a1 = lab.peer("A1", pairs=[(t, o) for t in theirs for o in ours])
    net.lan.ip("addr add 10.11.0.4/32 dev eth0")
    net.G.ip("route add 10.11.0.4/32 dev lan0")
    net["vnet"].ip("addr add 10.21.0.4/32 dev a1")
    net["A1"].ip("route add 10.21.0.4/32 dev vnet0\nroute add 10.11.0.0/16 dev ipsec42")
    g = lab.causeway([site(selectors="networks", networks=theirs)], {"networks": ours})
    tunnel = g.wait_up()
    pairs = sorted((c["local-ts"][0], c["remote-ts"][0]) for c in tunnel["children"])
    expect_equal(pairs, sorted((o, t) for o in ours for t in theirs), "pairs in status")
    a1.wait_up(4)
    lab.expect_one_pair(pairs=4)
    before = {s.spi: s.packets for s in xfrm.states(net.G)}
    for source in ("10.10.0.4", "10.11.0.4"):
        for target in ("10.20.0.4", "10.21.0.4"):
            out = net.lan.rc(["ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", "-I", source, target])
            expect_equal(out[0], 0, "ping %s > %s: %s" % (source, target, out[1]))
    for sa in xfrm.states(net.G):
        expect_equal(sa.packets - before[sa.spi], 2, "packets of %r" % sa)


# BL-054, BL-055.

class Line:
    """A TCP connection of the gateway itself to a host of the internet."""

    def __init__(self, net):
        with net.net.inside():
            self.server = socket.create_server(("198.51.100.1", 2222))
        with net.G.inside():
            self.near = socket.create_connection(("198.51.100.1", 2222), 5)
        self.far = self.server.accept()[0]
        self.far.settimeout(5)
        self.near.settimeout(5)

    def expect_carries(self, when):
        """A byte each way."""
        try:
            self.near.sendall(b"x")
            ok = self.far.recv(1) == b"x"
            self.far.sendall(b"y")
            ok = ok and self.near.recv(1) == b"y"
        except OSError as why:
            raise Failure("%s: the gateway's own connection: %s" % (when, why)) from None
        expect(ok, "%s: the gateway's own connection has ended" % when)


@case(kernels=BOTH, needs=["nat"], cost_s=10)
def bl_054_own_traffic_goes_on(lab):
    """An any-any tunnel: a connection of the gateway itself lives on through all that can happen, IKE
    is not caught, and no policy is as wide without an interface's key."""
    net = lab.net
    a1 = lab.peer("A1", plane=plane())
    line = Line(net)
    g = lab.causeway([site()])

    def look(when):
        line.expect_carries(when)
        for policy in xfrm.policies(net.G):
            wide = policy.src.endswith("/0") and policy.dst.endswith("/0")
            expect(key_of(policy) or not wide, "%s: %r" % (when, policy))
    look("loaded")
    g.wait_up()
    net.wait_ping("lan", A1.host)
    look("up")
    old = {s.spi for s in xfrm.states(net.G)}
    for what in ("child", "ike"):
        expect_equal(g.ctl("rekey", "far-1", what)[0], 0, "rekey " + what)
    wait_for(lambda: not old & {s.spi for s in xfrm.states(net.G)}, 10, "new SAs")
    lab.expect_one_pair()
    look("rekeyed")
    net.wait_ping("lan", A1.host)
    expect_equal(g.ctl("down", "far-1")[0], 0, "down")
    g.wait_state("down")
    look("down")
    expect_equal(g.ctl("up", "far-1")[0], 0, "up")
    g.wait_up()
    g.kill9()
    look("killed")
    g.start()
    g.wait_up()
    look("back")
    # IKE goes through the policies' hosts with the tunnel up: DPD is answered.
    a1.rekey("ike", "azure")
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code")
    look("stopped")
    g.expect_clean()


@case(kernels=BOTH, needs=["nat"], cost_s=10)
def bl_055_policies_go_with_their_key(lab):
    """Three tunnels with equal selectors; one goes, and exactly its policies go."""
    net = lab.make_net(peers=("A1", "A2", "W1"))
    for name in ("A1", "A2", "W1"):
        lab.peer(name, plane=plane())
    g = lab.causeway([dict(site(n), name=n.lower()) if n != "A2" else
                      dict(site(n), name="a2", networks=["10.21.0.0/16"])
                      for n in ("A1", "A2", "W1")])
    for name in ("a1-1", "a2-1", "w1-1"):
        g.wait_up(name)

    def by_key():
        out = {}
        for policy in xfrm.policies(net.G):
            out.setdefault(key_of(policy), []).append(
                (policy.dir, policy.src, policy.dst, policy.reqid, policy.priority))
        return {key: sorted(rows) for key, rows in out.items()}
    before = by_key()
    numbers = {n: g.tunnel(n)["interface"]["if-id"] for n in ("a1-1", "a2-1", "w1-1")}
    expect_equal(sorted(before), sorted(numbers.values()), "keys of the policies")
    for key, rows in before.items():
        expect_equal({r[0] for r in rows}, {"in", "out", "fwd"}, "directions of 0x%x" % key)
    expect_equal(g.ctl("down", "a2-1")[0], 0, "down")
    g.wait_state("down", "a2-1")
    wanted = {k: v for k, v in before.items() if k != numbers["a2-1"]}
    wait_for(lambda: by_key() == wanted, 5, "the policies of a1-1 and w1-1 alone")
    hold_true(lambda: by_key() == wanted, 1, "just those")
    expect_equal([s for s in xfrm.states(net.G) if A2.address in (s.src, s.dst)], [], "SAs of A2")
    lab.expect_traffic("A1")
    lab.expect_traffic("W1")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


# BL-060, BL-061.

@case(kernels=BOTH, needs=["nat"], cost_s=8)
def bl_060_lost_inbound_policy(lab):
    """The inbound policies are gone: status counts what the kernel drops, says why, and the remedy that
    it names helps."""
    net = lab.net
    lab.peer("A1", plane=plane())
    g = lab.causeway([site()])
    number = g.wait_up()["interface"]["if-id"]
    net.wait_ping("lan", A1.host)
    key = ["if_id", hex(number)] if kernel.has("xfrmi") else ["mark", hex(number), "mask",
                                                             "0xffffffff"]
    for way in ("in", "fwd"):
        for any_ in ("0.0.0.0/0", "::/0"):
            net.G.rc(["ip", "xfrm", "policy", "delete", "src", any_, "dst", any_, "dir", way] + key)
    expect_equal({p.dir for p in xfrm.policies(net.G)}, {"out"}, "policies that are left")
    expect_equal(net.ping("lan", A1.host, 3, wait_s=1), 0, "answers without an inbound policy")
    counted = g.status()["gateway"]["xfrm-in-no-pols"]
    expect(counted >= 3, "XfrmInNoPols in status is %d" % counted)
    expect_equal(counted, xfrm.errors(net.G).get("XfrmInNoPols"), "as the kernel counts it")
    out = g.ctl("status")[1]
    expect("XfrmInNoPols" in out and "causewayctl restart" in out, "no hint in: " + out)
    expect_equal(g.ctl("restart", "far-1")[0], 0, "restart")
    net.wait_ping("lan", A1.host)


def flood(net, seconds=3):
    """UDP from behind the peer to the LAN at 30 Mbit/s."""
    server = net.lan.start("iperf3", ["iperf3", "-s", "-1", "-B", LAN_HOST])
    wait_for(lambda: ":5201 " in net.lan.run(["ss", "-ltnH"]), 10, "iperf3 to listen")
    net["vnet"].run(["iperf3", "-c", LAN_HOST, "-u", "-b", "30M", "-l", "1000", "-t", str(seconds)],
                    timeout_s=60)
    server.popen.wait(20)


@case(needs=["vti", "netem"], cost_s=10, matrix={"window": [("default", None), ("32", 32),
                                                            ("off", 0)]})
def bl_061_replay_window(lab, window):
    """Packets overtake each other by up to about 75 places: the default window loses none, one of 32
    does, and without one all are taken."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([site(**({} if window is None else {"replay_window": window}))])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    inbound = g.kernel_pairs(A1.address)[0][0]
    expect_equal(inbound.replay_window, 1024 if window is None else window, "window in the kernel")
    net.net.run("tc qdisc add dev g0 root netem delay 20ms reorder 25% limit 5000".split())
    flood(net)
    late = xfrm.errors(net.G).get("XfrmInStateSeqError", 0)
    print("window %r: %d of %d packets late" % (window, late, g.kernel_pairs(A1.address)[0][0].packets),
          flush=True)
    if window == 32:
        expect(late > 100, "only %d packets fell out of the window: the fault is too mild" % late)
        expect("replay-window" in g.ctl("status")[1], "status names no remedy")
    else:
        expect_equal(late, 0, "packets out of the window")


# BL-062.

FD = "fd00:21::1/64"


@case(kernels=BOTH, needs=["nat"], cost_s=10)
def bl_062_ipv6_inside(lab):
    """Both families in one child; the interface is taken down by hand: all is back as it was, its IPv6
    address too."""
    net = lab.net
    lab.peer("A1", pairs=ANY_DUAL, plane=plane())
    g = lab.causeway([site(networks=[A1.network, A1.network6], inside=FD)],
                     {"networks": ["10.10.0.0/16", "2001:db8:10::/64"]})
    name = g.wait_up()["interface"]["name"]
    lab.expect_one_pair()
    lab.expect_traffic()
    lab.expect_traffic(ipv6=True)

    def held():
        rows = json.loads(net.G.run(["ip", "-j", "addr", "show", "dev", name]))[0]
        mine = {"%s/%d" % (a["local"], a["prefixlen"]) for a in rows["addr_info"]}
        if "UP" not in rows["flags"] or FD not in mine:
            raise Failure("%s has %r, %r" % (name, rows["flags"], mine))
        return True
    held()
    net.G.ip("link set %s down" % name)
    wait_for(held, 5, "the interface to be up with its address")
    net.wait_ping("lan", A1.host)
    net.wait_ping("lan", A1.host6)
    lab.expect_traffic(ipv6=True)


@case(needs=["vti"])
def bl_062_peer_drops_ipv6(lab):
    """A peer that takes the IPv4 half only: that half works."""
    lab.peer("A1", pairs=ANY)
    g = lab.causeway([site(networks=[A1.network, A1.network6])],
                     {"networks": ["10.10.0.0/16", "2001:db8:10::/64"]})
    child = g.wait_up()["children"][0]
    expect_equal(child["remote-ts"], ["0.0.0.0/0"], "selectors in status")
    lab.expect_traffic()


# BL-058, BL-063.

def make_link(host, name, number, local=G_PUBLIC, remote=A1.address):
    """A tunnel interface as causeway makes it, by hand."""
    host.ip("link add %s type %s" % (name, "xfrm if_id %d" % number if kernel.has("xfrmi") else
                                     "vti local %s remote %s key %d" % (local, remote, number)))


def settled(lab, g, name="cw-far-1"):
    """The interface of the tunnel as it has to be: up, MTU, address, routes."""
    link = links(lab.net.G, name)
    if not link or "UP" not in link["flags"] or link["mtu"] != 1400:
        raise Failure("%s: %r" % (name, link))
    addrs = json.loads(lab.net.G.run(["ip", "-j", "addr", "show", "dev", name]))[0]["addr_info"]
    if ["169.254.21.1"] != [a["local"] for a in addrs if a["family"] == "inet"]:
        raise Failure("addresses of %s: %r" % (name, addrs))
    mine = [r for r in routes(lab.net.G) if r.get("dev") == name and r["dst"] == A1.network]
    if len(mine) != 1:
        raise Failure("routes by %s: %r" % (name, mine))
    return link


@case(kernels=BOTH, needs=["nat"], cost_s=12)
def bl_063_interface_was_there(lab):
    """An interface of that name is there before the start: the right one is adopted, one with another
    id or of another kind is named and left alone, and once it is gone the tunnel comes up by itself."""
    net = lab.net
    lab.peer("A1", plane=plane())
    sites = [site(inside="169.254.21.1/30")]
    make_link(net.G, "cw-far-1", IF_ID_BASE + 7)
    index = links(net.G, "cw-far-1")["ifindex"]
    g = lab.causeway(sites)
    expect_equal(g.wait_up()["interface"]["if-id"], IF_ID_BASE + 7, "the adopted number")
    expect_equal(settled(lab, g)["ifindex"], index, "index of the adopted interface")
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()
    for what in ("another id", "another kind"):
        if what == "another id":
            make_link(net.G, "cw-far-1", 99)
        else:
            net.G.ip("link add cw-far-1 type dummy")
        before = links(net.G, "cw-far-1")
        g.start()

        def told():
            tunnel = g.tunnel()
            return tunnel["cause"] and tunnel["cause"]["name"] == "kernel" and tunnel
        tunnel = wait_for(told, 10, "status to tell of " + what)
        out = g.ctl("status", "far-1")[1]
        print(g.ctl("status")[1] + out, flush=True)
        flat = " ".join(out.split())
        expect("cw-far-1 exists and is not ours" in flat and "remove it" in flat, "status: " + out)
        expect(tunnel["state"] != "up", "it is up without its interface")
        now = links(net.G, "cw-far-1")
        for volatile in ("flags", "operstate"):
            now.pop(volatile), before.pop(volatile)
        expect_equal(now, before, "the foreign interface")
        net.G.ip("link del cw-far-1")
        g.wait_up(timeout_s=15)
        wait_for(lambda: settled(lab, g), 5, "the interface to be as wanted")
        lab.expect_traffic()
        expect_equal(g.stop(), 0, "exit code")
        g.expect_clean()
    make_link(net.G, "cw-far-1", 99)
    g.start()
    wait_for(told, 10, "status to tell of another id")
    expect_equal(g.stop(), 0, "exit code")
    expect(links(net.G, "cw-far-1"), "the foreign interface is gone after the stop")


@case(kernels=BOTH, needs=["nat"], cost_s=8)
def bl_063_interface_deleted(lab):
    """The interface is deleted while the tunnel is up, then its addresses (BL-058): made anew with
    address, MTU and routes, the SAs are the same, nothing leaves in the clear."""
    net = lab.net
    lab.peer("A1", plane=plane())
    g = lab.causeway([site(inside="169.254.21.1/30")])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    settled(lab, g)
    old = {s.spi for s in xfrm.states(net.G)}
    wire = net.capture()
    ping = net.start_ping("lan", A1.host, 0.05)
    wait_for(lambda: "icmp_seq=5" in ping.text(), 10, "the ping to run")
    start = time.monotonic()
    net.G.ip("link del cw-far-1")
    wait_for(lambda: settled(lab, g), 5, "the interface to be there again")
    print("interface back after %.2f s" % (time.monotonic() - start), flush=True)
    net.wait_ping("lan", A1.host)
    start = time.monotonic()
    net.G.ip("addr flush dev cw-far-1")
    wait_for(lambda: settled(lab, g), 5, "the address to be there again")
    print("address back after %.2f s" % (time.monotonic() - start), flush=True)
    net.wait_ping("lan", A1.host)
    net.stop_ping(ping)
    expect_equal({s.spi for s in xfrm.states(net.G)}, old, "SPIs")
    wire.expect_only_esp()


# BL-064.

@case(needs=["vti"], cost_s=15)
def bl_064_routes_go_with_the_tunnel(lab):
    """Two tunnels to one network: the route of the one that dies goes, traffic moves to the other; when
    both are dead the LAN is told at once."""
    net = lab.make_net(peers=("A1", "A2"))
    a1, a2 = lab.peer("A1"), lab.peer("A2")
    quick = {"dpd-delay": 2, "dpd-timeout": 3}
    g = lab.causeway([dict(site(), tunnels=[{"remote": p.address} for p in (A1, A2)], **quick)])
    g.wait_up("far-1")
    g.wait_up("far-2")

    def by():
        return {r.get("dev", r.get("type")): r["metric"] for r in routes(net.G) if r["dst"] == A1.network}
    wait_for(lambda: len(by()) == 3, 5, "three routes")
    expect_equal(by()["cw-far-2"], by()["cw-far-1"] + 1, "metrics")
    wire = net.capture()
    lab.expect_traffic("A1")
    ping = net.start_ping("lan", A1.host)
    a1.kill9(flush=False)
    net["A1"].ip("link set wan0 down")
    net.via("A2")
    before, start = lab.counters("A2"), time.monotonic()
    wait_for(lambda: lab.counters("A2")[0] > before[0], 2 + 3 + 4, "traffic by A2", strict=True)
    print("by A2 after %.1f s" % (time.monotonic() - start), flush=True)
    expect_equal(sorted(by()), ["cw-far-2", "unreachable"], "routes with A1 dead")
    tunnel = g.tunnel("far-1")
    expect(not tunnel["routes"][0]["installed"], "status shows a route that is gone")
    a2.kill9(flush=False)
    net["A2"].ip("link set wan0 down")
    wait_for(lambda: sorted(by()) == ["unreachable"], 2 + 3 + 4, "no route by a tunnel", strict=True)
    wait_for(lambda: re.search(r"From 10\.10\.0\.1 .*[Uu]nreachable", ping.text()), 3,
             "the LAN to be told that it is unreachable")
    net.stop_ping(ping)
    wire.expect_only_esp()


# BL-066.

def path_mtu(net, size):
    """Ping from the LAN with DF, an IP packet of `size` bytes: (answered, MTU that was told)."""
    rc, out = net.lan.rc(["ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", str(size - 28), A1.host])
    told = re.search(r"mtu ?= ?(\d+)", out)
    return rc == 0, int(told.group(1)) if told else None


def inner_most(outer, cipher, nat):
    """Largest inner packet whose ESP fits a path: RFC 4303 2, tunnel mode over IPv4."""
    room = outer - 20 - 8 - (8 if nat else 0) - (16 if cipher == "cbc" else 8) - 16
    block = 16 if cipher == "cbc" else 4
    return room // block * block - 2


@case(needs=["vti", "nat"], cost_s=8,
      matrix={"cipher": ["cbc", "gcm"], "nat": [("direct", False), ("nat", True)]})
def bl_066_mtu(lab, cipher, nat):
    """PPPoE outside: 1400 bytes pass unfragmented, 1401 are too big and the LAN is told. Then the uplink
    has less, then the path does: the LAN is told the very number that still passes."""
    esp = {"cbc": "aes256-sha256-modp2048", "gcm": "aes256gcm16-modp2048"}[cipher]
    net = lab.make_net(nat=nat, mtu=1492)
    lab.peer("A1", esp=esp)
    g = lab.causeway([site(esp_proposals=[esp])])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    wire = net.capture("a1")
    expect_equal(path_mtu(net, 1400), (True, None), "1400 bytes with DF")
    expect_equal(path_mtu(net, 1401), (False, 1400), "1401 bytes with DF")
    passed = 1400
    for where, outer in (("uplink", 1300), ("path", 1200)):
        if where == "uplink":
            net.G.ip("link set wan0 mtu %d" % outer)
        else:
            net.net.ip("link set a1 mtu %d" % outer)
        most = inner_most(outer, cipher, nat)

        def told():
            # What the LAN has learned it keeps to itself: forgotten, so that the gateway is asked.
            net.lan.ip("route flush cache")
            seen = path_mtu(net, passed)
            if seen != (False, most):
                raise Failure("seen %r, wanted %d" % (seen, most))
            return True
        wait_for(told, 10, "the LAN to be told of the %s's MTU" % where)
        net.lan.ip("route flush cache")
        expect_equal(path_mtu(net, most)[0], True, "%d bytes with DF over a %s of %d" % (most, where, outer))
        expect_equal(path_mtu(net, most + 1)[0], False, "%d bytes with DF" % (most + 1))
        passed = most
    expect_equal([p for p in wire.packets() if p.fragment], [], "fragments outside")


# BL-067.

# As many proposals as there may be, and long identities.
MANY = (["%s-%s-modp2048" % (e, i) for e in ("aes128", "aes192", "aes256")
         for i in ("sha1", "sha256", "sha384", "sha512")]
        + [e + "-modp2048" for e in ("aes128gcm16", "aes192gcm16", "aes256gcm16", "chacha20poly1305")])
LONG = {"local-id": ".".join(["g" * 49] * 5), "remote-id": ".".join(["a" * 49] * 5)}
PEER_LONG = {"local_id": LONG["remote-id"], "remote_id": LONG["local-id"]}


def big(lab):
    """causeway with all that makes IKE_AUTH long."""
    return lab.causeway([dict(site(esp_proposals=MANY, networks=[A1.network, A1.network6]), **LONG)],
                        {"networks": ["10.10.0.0/16", "2001:db8:10::/64"]})


@case(needs=["vti", "nat", "netem"], cost_s=8)
def bl_067_big_ike_auth(lab):
    """IKE_AUTH over a path that drops IP fragments, turns packets round and doubles them: IKE's own
    fragments of 1280 bytes at most get it through."""
    net = lab.net
    net.block("fragments")
    net.net.run("tc qdisc add dev a1 root netem delay 20ms 20ms duplicate 50%".split())
    net.net.run("tc qdisc add dev g0 root netem delay 20ms 20ms duplicate 50%".split())
    wire = net.capture("g0", snaplen=2000)
    lab.peer("A1", esp="aes256-sha512-modp2048", pairs=ANY_DUAL, **PEER_LONG)
    g = big(lab)
    g.wait_up()
    auth = {p.ike: p for p in wire.packets() if p.exchange == 35 and not p.is_response}.values()
    # The first payload of a fragment is SKF, 53 (RFC 7383 2.5).
    expect_equal({p.ike[16] for p in auth}, {53}, "first payloads of IKE_AUTH")
    expect(sum(p.size for p in auth) > 1300, "IKE_AUTH is not big enough")
    expect_equal([p for p in wire.packets() if p.proto == UDP and (p.fragment or p.size > 1280)], [],
                 "big IKE packets")
    lab.expect_one_pair()


@case(needs=["vti", "nat"], cost_s=10)
def bl_067_without_ike_fragments(lab):
    """The same with a peer that has no IKE fragmentation, over a path of PPPoE over PPPoE: no answer,
    as it must be; with fragments let through it comes up by itself."""
    net = lab.make_net(mtu=1300)
    token = net.block("fragments")
    lab.peer("A1", esp="aes256-sha512-modp2048", fragmentation=False, pairs=ANY_DUAL, **PEER_LONG)
    g = big(lab)
    wait_for(lambda: (g.tunnel()["cause"] or {}).get("name") == "no-answer", 30, "no answer")
    net.unblock(token)
    g.wait_up(timeout_s=20)


# BL-069.

@case(needs=["vti", "nat"], cost_s=25, matrix={"mode": ["vti", "policy"]})
def bl_069_nothing_in_the_clear(lab, mode):
    """A ping that never stops, 100 a second: nothing of it goes out in the clear while the tunnel is not
    there yet, up, down, while the daemon is killed, starts again, and the peer is dead."""
    net = lab.net
    pairs = [(A1.network, "10.10.0.0/16")]
    a1 = lab.peer("A1", start=False, pairs=pairs, plane="vti" if mode == "vti" else "policy")
    policy = {"interface_mode": mode, "selectors": "networks"}
    wire = net.capture()
    g = lab.causeway([site(**policy)])
    ping = net.start_ping("lan", A1.host, 0.01)

    def phase(what, state=None):
        if state:
            g.wait_state(state, timeout_s=20)
        seen = ping.text().count("icmp_seq")
        wait_for(lambda: ping.text().count("icmp_seq") > seen + 20, 10, "the ping to go on: " + what)
        leaked = [p for p in wire.packets() if p.dst == A1.host]
        expect_equal(len(leaked), 0, "packets in the clear, at the latest when %s" % what)
    phase("not up yet")
    a1.start()
    phase("up", "up")
    net.wait_ping("lan", A1.host)
    g.order("down", "far-1")
    phase("down", "down")
    g.order("up", "far-1")
    phase("up again", "up")
    for _ in range(3):
        g.kill9()
        phase("killed")
        g.start()
        phase("back", "up")
    net.wait_ping("lan", A1.host)
    a1.kill9()
    g.kill9()
    g.start()
    phase("back without its peer")
    a1.restart()
    phase("up with the peer", "up")
    g.order("restart", "far-1")
    phase("restarted", "up")
    net.wait_ping("lan", A1.host)
    wire.wait_esp(100)
    wire.expect_only_esp()
    # The orderly stop takes everything of ours away. That it shows proves the eyes of this case, too.
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()
    wait_for(lambda: any(p.dst == A1.host for p in wire.packets()), 10,
             "the machine to be what it was before")
    net.stop_ping(ping)


# BL-070.

# x86-64: socket() with AF_NETLINK and NETLINK_XFRM fails with EPROTONOSUPPORT (93) or EPERM (1).
SECCOMP = r'''
import ctypes, os, struct, sys
def op(code, jt, jf, k): return struct.pack("<HBBI", code, jt, jf, k)
prog = b"".join([
    op(0x20, 0, 0, 0), op(0x15, 0, 5, 41),          # load nr; socket?
    op(0x20, 0, 0, 16), op(0x15, 0, 3, 16),         # load domain; AF_NETLINK?
    op(0x20, 0, 0, 32), op(0x15, 0, 1, 6),          # load protocol; NETLINK_XFRM?
    op(0x06, 0, 0, 0x00050000 | int(sys.argv[1])),  # errno
    op(0x06, 0, 0, 0x7fff0000)])
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(prog, len(prog))
fprog = struct.pack("<HxxxxxxQ", len(prog) // 8, ctypes.addressof(buf))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog, 0, 0):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
'''


def refused(lab, words, before=()):
    """Start causewayd in front of which stands a command; it must end with exit code 4, say one
    sentence that holds these words, and leave nothing."""
    g = lab.causeway([site()], start=False)
    g.write_conf()
    rc, out = lab.net.G.rc(list(before) + [binary("causewayd"), "-f", CONF], 30)
    print(out, flush=True)
    if rc == 77:
        raise Skip("no seccomp filters in this kernel")
    expect_equal(rc, 4, "exit code; it said: " + out)
    errors = [l for l in out.splitlines() if "not started" in l]
    expect_equal(len(errors), 1, "lines that say why: " + out)
    for word in words:
        expect(word in errors[0], "%r is missing in: %s" % (word, errors[0]))
    g.expect_clean()
    expect_equal(links(lab.net.G, "cw-probe"), None, "a link of the probe")


@case()
def bl_070_no_cap_net_admin(lab):
    """A container without CAP_NET_ADMIN."""
    refused(lab, ["CAP_NET_ADMIN", "missing"],
            ["setpriv", "--inh-caps=-net_admin", "--bounding-set=-net_admin"])


@case(matrix={"errno": [("EPROTONOSUPPORT", 93), ("EPERM", 1)]})
def bl_070_seccomp_without_xfrm(lab, errno):
    """seccomp denies socket(AF_NETLINK, _, NETLINK_XFRM)."""
    words = ["XFRM", "seccomp"] if errno == 1 else ["XFRM"]
    refused(lab, words, [sys.executable, "-c", SECCOMP, str(errno)])


@contextlib.contextmanager
def without(*modules):
    """The kernel does without some modules for a while, and can't load them by itself."""
    path = "/proc/sys/kernel/modprobe"
    with open(path, encoding="ascii") as file:
        was = file.read()
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("/bin/false")
        done = subprocess.run(["rmmod"] + list(modules), check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip("rmmod: " + done.stderr.strip())
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(was)
        subprocess.run(["modprobe", "-a"] + list(modules), check=True)


@case(kernels=("uml",))
def bl_070_no_esp(lab):
    """A kernel without ESP: both modules are taken away."""
    with without("esp4", "esp6"):
        refused(lab, ["no ESP", "modprobe esp4"])


@case(kernels=("uml",))
def bl_070_no_esp_over_ipv4(lab):
    """ESP over IPv6 alone: the daemon runs, and the tunnel says what is missing for it."""
    with without("esp4"):
        g = lab.causeway([site()])
        tunnel = g.tunnel()
        expect_equal((tunnel["state"], tunnel["cause"]["name"]), ("down", "kernel"), "the tunnel")
        expect("modprobe esp4" in g.ctl("status", "far-1")[1], "status: " + g.ctl("status", "far-1")[1])
        expect_equal(g.stop(), 0, "exit code")


@case(kernels=("uml",), needs=["vti"])
def bl_070_no_xfrm_interfaces(lab):
    """A kernel without xfrm interfaces but with VTI runs by VTI, and status says so; a tunnel that asks
    for an xfrm interface says why it does not run, and the other one does."""
    lab.make_net(peers=("A1", "W1"))
    lab.peer("A1")
    lab.peer("W1")
    g = lab.causeway([dict(site("A1"), name="a"),
                      dict(site("W1", interface_mode="xfrm"), name="w")])
    expect_equal(g.wait_up("a-1")["interface"]["kind"], "vti", "kind of interface")
    expect("VTI" in g.status()["gateway"]["data-plane-why"], "status has no reason")
    tunnel = g.tunnel("w-1")
    expect_equal((tunnel["state"], tunnel["cause"]["name"]), ("down", "kernel"), "the other tunnel")
    rc, out = g.ctl("status")
    print(out, flush=True)
    expect_equal(rc, 1, "exit code of status")
    flat = " ".join(out.split())
    expect("CONFIG_XFRM_INTERFACE" in flat and 'use "auto" or "vti"' in flat, "status: " + out)
    rc, out = g.ctl("up", "w-1")
    expect_equal(rc, 4, "exit code of up")
    expect("can't run here" in out and "xfrm" in out, "up said: " + out)


@case(needs=["vti"])
def bl_070_read_only_settings(lab):
    """/proc/sys is read-only, as in a container: what can be told is told, and what can work works."""
    net = lab.net
    lab.peer("A1")
    net.G.run(["sh", "-c", "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys"])
    g = lab.causeway([site()])

    def told():
        tunnel = g.tunnel()
        return tunnel["cause"] and tunnel["cause"]["name"] == "kernel" and tunnel
    wait_for(told, 15, "status to tell of it")
    out = g.ctl("status", "far-1")[1]
    print(g.ctl("status")[1] + out, g.log_text(), flush=True)
    expect("disable_policy" in out and "/proc/sys" in out, "status: " + out)
    net.G.run(["umount", "/proc/sys"])
    g.wait_up(timeout_s=20)
    lab.expect_traffic()


# BL-071.

@case(needs=["vti"])
def bl_071_no_arp_for_others(lab):
    """An any-any tunnel is up: G answers ARP for itself and for no unused address of the LAN."""
    net = lab.net
    lab.peer("A1")
    lab.causeway([site()]).wait_up()
    net.wait_ping("lan", A1.host)
    wire = net.capture("eth0", host="lan")
    expect_equal(net.ping("lan", "10.10.0.250", 2, wait_s=1), 0, "answers from an unused address")
    neighbours = {n["dst"]: n for n in json.loads(net.lan.run(["ip", "-j", "neigh"]))}
    expect("lladdr" not in neighbours["10.10.0.250"], "somebody answered: %r" % neighbours["10.10.0.250"])
    expect("lladdr" in neighbours["10.10.0.1"], "G does not answer for itself")
    expect_equal([p for p in wire.packets() if p.proto == ICMP and p.src == "10.10.0.250"], [],
                 "packets from an unused address")
