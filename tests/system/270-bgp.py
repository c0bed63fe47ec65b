# SPDX-License-Identifier: GPL-2.0-or-later
"""BGP through real tunnels, with FRR as Azure: AS 65515, not on the tunnel's network, several hops
away by its TTL; or over APIPA addresses, where it only waits.

Sessions without tunnels are tried with more daemons in tests/interop. Times that Azure has (hold 180 s)
are kept; nothing here waits for them.
"""

import json
import os

from bgp.bird import Bird
from bgp.daemon import Route, Session
from bgp.frr import Frr
from bgp.world import SPEAKERS
from lab.lab import PSK
from lab import PLACES, Skip, case, expect, expect_equal, hold_true, ns, wait_for
from lab.wait import Failure

A1, A2 = PLACES["A1"], PLACES["A2"]
OURS, VNET = "10.10.0.0/16", "10.20.0.0/16"
LOCAL = "10.10.255.1"
PEERS = {"A1": "10.20.255.4", "A2": "10.20.255.5"}
SOON_S = 1.0


def instance(lab, name, local=None, peer=LOCAL, passive=False, routes=(VNET,), **more):
    """One instance of the Azure gateway: strongSwan, and FRR behind it."""
    lab.peer(name)
    host = lab.net[name]
    with host.inside():
        if not os.path.isdir(SPEAKERS):
            raise Skip("FRR is not here: ./run deps brings it")
        ns.mount("tmpfs", "/var/tmp", "tmpfs")
        ns.mount("overlay", "/usr", "overlay", 1, "lowerdir=%s:/usr" % SPEAKERS)
    if local is None:
        local = PEERS[name]
        host.ip("addr add %s/32 dev lo" % local)
    settings = {"asn": 65515, "peer_asn": 65010, "router_id": PEERS[name], "local": local, "peer": peer,
                "passive": passive, "ttl": 8, "hold_s": 180}
    settings.update(more)
    return Frr(host, Session(**settings)).start([Route(r) for r in routes])


def site(*tunnels, **more):
    """The site as the file has it."""
    return [dict({"name": "azure", "profile": "azure", "asn": 65515, "tunnels": list(tunnels)}, **more)]


def gateway(lab, sites, **more):
    """causewayd, with our AS."""
    return lab.causeway(sites, gateway=dict({"asn": 65010, "networks": [OURS], "bgp-address": LOCAL}, **more))


def learned(g):
    """{prefix: route} of the routes that BGP brought, as the kernel has them."""
    text = g.host.run(["ip", "-j", "-N", "route", "show", "proto", "120"])
    return {r["dst"]: r for r in json.loads(text)}


def devices(g, prefix):
    """Devices that the kernel would spread packets to the prefix over."""
    route = learned(g).get(prefix)
    if not route:
        return []
    if "nhid" not in route:
        return sorted(h["dev"] for h in route.get("nexthops", [route]))
    hops = {h["id"]: h for h in json.loads(g.host.run(["ip", "-j", "nexthop"]))}
    if route["nhid"] not in hops:
        raise Failure("no nexthop %d: %r" % (route["nhid"], sorted(hops)))
    top = hops[route["nhid"]]
    members = [hops[m["id"]] for m in top.get("group", [])] or [top]
    return sorted(m.get("dev", "none") for m in members)


def established(g, tunnel="azure-1"):
    """True when the neighbour's session is up."""
    for peer in g.ask(cmd="bgp")["peers"]:
        if peer["tunnel"] == tunnel:
            return peer["state"] == "established" or Failure(repr((peer["state"], peer["last-error"])))
    raise Failure("no neighbour of " + tunnel)


def wait_session(g, tunnel="azure-1"):
    """Wait for the session."""
    def there():
        said = established(g, tunnel)
        if said is not True:
            raise said
        return True
    wait_for(there, 20, "the BGP session of %s" % tunnel)


@case(needs=["vti"], cost_s=25)
def bl_123_off_subnet_peer(lab):
    """The peer is on no network of ours: a host route leads to it, multihop, and stays although the
    learned route covers it. Nothing but the two networks is told. Tunnel down: the route goes at once."""
    frr = instance(lab, "A1")
    g = gateway(lab, site({"remote": A1.address, "bgp-peer": PEERS["A1"]}))
    wait_session(g)
    wait_for(lambda: devices(g, VNET) == ["cw-azure-1"], 10, "the learned route")
    expect_equal(learned(g)[VNET]["metric"], 120, "its metric")
    expect("%s dev cw-azure-1 proto 119" % PEERS["A1"] in g.host.run(["ip", "-N", "route"]), "no host route")
    expect_equal({p: r.path for p, r in frr.table().items()}, {OURS: (65010,)}, "what Azure learned")
    lab.expect_traffic()
    peer = g.ask(cmd="bgp")["peers"][0]
    expect_equal((peer["hold-s"], peer["keepalive-s"]), (180, 60), "timers")
    code, text = g.ctl("bgp")
    expect(code == 0 and "established" in text and PEERS["A1"] in text, "causewayctl bgp: %r" % text)
    code, text = g.ctl("routes", "10.20.0.4")
    expect(code == 0 and VNET in text and "65515" in text, "causewayctl routes: %r" % text)
    g.order("down", "azure-1")
    wait_for(lambda: not learned(g), SOON_S, "the learned route to go", strict=True)
    g.order("up", "azure-1")
    wait_session(g)
    wait_for(lambda: devices(g, VNET) == ["cw-azure-1"], 10, "the learned route again")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()
    expect_equal(learned(g), {}, "learned routes after the stop")
    expect_equal(g.host.run(["ip", "nexthop"]).strip(), "", "nexthops after the stop")
    wait_for(lambda: "shutdown" in frr.vtysh("show bgp neighbors %s" % LOCAL).lower(), 5,
             "FRR to have read why we went")


@case(needs=["vti"], cost_s=15)
def bl_122_apipa_and_we_connect(lab):
    """Azure with an APIPA address never opens the session: we do, through the tunnel."""
    lab.make_net()
    frr = instance(lab, "A1", local="169.254.21.1", peer="169.254.21.2", passive=True, ttl=1)
    lab.net["A1"].ip("addr add 169.254.21.1/30 dev ipsec42")
    wire = lab.net.capture()
    g = gateway(lab, site({"remote": A1.address, "inside-address": "169.254.21.2/30",
                           "bgp-peer": "169.254.21.1"}))
    wait_session(g)
    wait_for(lambda: devices(g, VNET) == ["cw-azure-1"], 10, "the learned route")
    expect_equal(sorted(frr.table()), [OURS], "what Azure learned")
    expect(g.ask(cmd="bgp")["peers"][0]["opened-by-us"], "it was not we who connected")
    lab.expect_traffic()
    expect(not [p for p in wire.packets() if p.dst.startswith("169.254.")], "BGP in the clear")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


@case(needs=["vti"], cost_s=30, matrix={"balance": [("first", False), ("balance", True)]})
def active_active(lab, balance):
    """Both instances announce the same: one carries, or both do. When one goes, the other carries all."""
    lab.make_net(peers=("A1", "A2"))
    for name in ("A1", "A2"):
        instance(lab, name)
    g = gateway(lab, site({"remote": A1.address, "bgp-peer": PEERS["A1"]},
                          {"remote": A2.address, "bgp-peer": PEERS["A2"]}, balance=balance))
    both = ["cw-azure-1", "cw-azure-2"]
    for tunnel in ("azure-1", "azure-2"):
        wait_session(g, tunnel)
    wait_for(lambda: devices(g, VNET) == (both if balance else both[:1]), 10, "the ways")
    hold_true(lambda: devices(g, VNET) == (both if balance else both[:1]), 1, "the ways stay")
    g.order("down", "azure-1")
    wait_for(lambda: devices(g, VNET) == both[1:], SOON_S, "all to go over the second", strict=True)
    g.order("up", "azure-1")
    wait_session(g, "azure-1")
    wait_for(lambda: devices(g, VNET) == (both if balance else both[:1]), 10, "the ways again")
    code, text = g.ctl("routes", VNET)
    expect(code == 0 and text.count(VNET) == 2, "causewayctl routes: %r" % text)
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


@case(needs=["vti"], cost_s=20)
def bl_126_kill_and_adopt(lab):
    """kill -9: the learned routes stay, are taken over, and what is not announced any more goes. A
    foreign route is not touched."""
    many = tuple("10.20.%d.0/24" % n for n in range(1, 201))
    frr = instance(lab, "A1", routes=many)
    g = gateway(lab, site({"remote": A1.address, "bgp-peer": PEERS["A1"]}))
    wait_for(lambda: len(learned(g)) == len(many), 20, "%d learned routes" % len(many))
    g.host.ip("route add 10.20.5.0/24 dev lo metric 7")
    g.kill9()
    expect_equal(len(learned(g)), len(many), "learned routes after kill -9")
    frr.withdraw(many[:50])
    g.start()
    expect(len(learned(g)) >= len(many) - 50, "learned routes went at the start")
    wait_session(g)
    wait_for(lambda: sorted(learned(g)) == sorted(many[50:]), 15, "the rest alone")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()
    expect_equal(learned(g), {}, "learned routes after the stop")
    expect("10.20.5.0/24 dev lo" in g.host.run(["ip", "route"]), "the foreign route is gone")


@case(needs=["vti"], cost_s=90, timeout_s=180)
def bl_126_peer_dead_after_crash(lab):
    """After a crash the peer does not come back: no learned route is left after a minute."""
    frr = instance(lab, "A1")
    g = gateway(lab, site({"remote": A1.address, "bgp-peer": PEERS["A1"]}))
    wait_for(lambda: learned(g), 20, "the learned route")
    g.kill9()
    frr.kill9()
    lab.peers["A1"].kill9()
    g.start()
    wait_for(lambda: not learned(g), 65, "the adopted route to go")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


@case(needs=["vti"], cost_s=15)
def learned_route_does_not_swallow_the_tunnel(lab):
    """Azure announces what holds its own outer address, and a default route: neither is used, and both
    are told of. The tunnel stays."""
    instance(lab, "A1", routes=(VNET, "203.0.113.0/24", "0.0.0.0/0", "128.0.0.0/1"))
    g = gateway(lab, site({"remote": A1.address, "bgp-peer": PEERS["A1"]}))
    wait_session(g)
    wait_for(lambda: sorted(learned(g)) == [VNET], 10, "the VNet's route alone")
    refused = {r["prefix"]: r["refused"] for r in g.ask(cmd="routes", received=PEERS["A1"])["routes"]}
    refused.pop(OURS, None)     # FRR sends it back; BL-119 says what becomes of it
    expect_equal(refused, {VNET: None, "203.0.113.0/24": "swallows", "0.0.0.0/0": "default",
                           "128.0.0.0/1": "default"}, "what was refused")
    g.wait_log("203.0.113.0/24 is not used")
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


def example(name):
    """(the settings as a text, the other daemon's config from its comments) of conf/examples/NAME."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "conf", "examples", name),
              encoding="ascii") as file:
        ours, _, theirs = file.read().partition("\n# /etc/")
    lines = [line[2:] for line in theirs.splitlines()[2:]]
    return ours, "\n".join(lines) + "\n"


class FrrAsShown(Frr):
    """FRR with the config of the example."""

    def write_conf(self):
        self.host.write("/run/frr/bgpd.conf", example("external-frr.conf")[1], 0o640)
        self.host.write("/run/frr/zebra.conf", "")


class BirdAsShown(Bird):
    """BIRD with the config of the example."""

    def write_conf(self):
        self.host.write("/run/bird/bird.conf", example("external-bird.conf")[1], 0o640)


@case(needs=["vti"], cost_s=20, matrix={"kind": [("frr", FrrAsShown), ("bird", BirdAsShown)]})
def external(lab, kind):
    """bgp = "external": FRR or BIRD on our side, with both configs as conf/examples shows them.
    Interfaces, addresses and host routes are ours, sessions and routes are theirs."""
    azure = instance(lab, "A1")
    text = example("external-%s.conf" % kind.name)[0]
    socket = 'bgp = "external"; control-socket = "/run/causeway/control.sock"; };'
    g = lab.causeway(text=text, start=False)
    key = g.write_key("azure.psk", PSK)
    g.text = text.replace('bgp = "external"; };', socket).replace('"azure.psk"', '"%s"' % key)
    g.start()
    g.wait_up()
    with lab.net.G.inside():
        ns.mount("tmpfs", "/var/tmp", "tmpfs")
        ns.mount("overlay", "/usr", "overlay", 1, "lowerdir=%s:/usr" % SPEAKERS)
        os.makedirs("/run/bird", exist_ok=True)
    own = kind(lab.net.G, Session(asn=65010, peer_asn=65515, router_id=LOCAL, local=LOCAL, peer=PEERS["A1"],
                                  ttl=8, hold_s=180), fib=True).start()
    wait_for(lambda: sorted(azure.table()) == [OURS], 30, "Azure's table")
    wait_for(lambda: "dev cw-azure-1" in lab.net.G.run(["ip", "route", "show", VNET]), 20,
             "the learned route into our interface")
    lab.expect_traffic()
    code, text = g.ctl("bgp")
    expect(code == 4 and "external" in text, "causewayctl bgp: %r" % text)
    own.stop()
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()
