# SPDX-License-Identifier: GPL-2.0-or-later
"""Tunnel interfaces, their routes, and big packets: the field cases of section 5 from BL-058 to BL-069.

Left out, as it belongs to later work: of BL-058 the reload (here addresses are taken away by hand); of
BL-064 what BGP announces; of BL-066 the MSS clamp, and the inner packets that the far side sends.

BL-067 wants a certificate chain: keys are pre-shared here, so long identities and a long list of
proposals make IKE_AUTH as big. BL-069: the orderly stop takes away all that is ours, the unreachable
routes too; from then on the machine is what it was before, and what is sent to the site follows the
default route.
"""

import json
import re
import time

from lab import G_PUBLIC, PLACES, Failure, case, expect, expect_equal, kernel, wait_for, xfrm
from lab.profiles import ANY_DUAL
from lab.wire import UDP

A1, A2 = PLACES["A1"], PLACES["A2"]
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


def links(host, name=None):
    """Links of a host with details, or one of them (None when it is missing)."""
    every = json.loads(host.run(["ip", "-j", "-d", "link"]))
    if name is None:
        return every
    return next((l for l in every if l["ifname"] == name), None)


def routes(host, *words):
    """Routes of a host as ip(8) gives them in JSON."""
    return json.loads(host.run(["ip", "-j"] + list(words) + ["route"]))


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
        # IKE may come up meanwhile; nothing goes that way.
        tunnel = g.tunnel()
        expect_equal(tunnel["cause"]["name"], "kernel", "cause, whatever its state")
        expect(not any(r["installed"] for r in tunnel["routes"]), "a route by an interface that is not ours")
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
    wait_for(lambda: any(p.exchange == 35 and p.is_response for p in wire.packets()), 10,
             "the answer to IKE_AUTH on the wire")
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
