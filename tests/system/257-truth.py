# SPDX-License-Identifier: GPL-2.0-or-later
"""What status and log say where IKE is content and the packets go elsewhere: routes of others, a peer that
agrees to less, an interface with another name, a peer that is this machine.

Each claim is compared with what the kernel does: `ip route get`, packets on the wire, the kernel's links.
"""

import json
import time

from lab import G_PUBLIC, PLACES, case, expect, expect_equal, kernel, wait_for, xfrm

A1, A2 = PLACES["A1"], PLACES["A2"]
BOTH = ("uml", "qemu")


def site(**settings):
    """A site of one tunnel to A1."""
    out = {"name": "far", "profile": "azure", "networks": [A1.network], "tunnels": [{"remote": A1.address}]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


def plane():
    """The interfaces that causeway and the peers use on this kernel."""
    return "xfrmi" if kernel.has("xfrmi") else "vti"


def way(host, address):
    """The interface that the kernel sends packets to that address by, or None."""
    rc, out = host.rc(["ip", "-j", "route", "get", address])
    return json.loads(out)[0].get("dev") if rc == 0 else None


def wan(host):
    """The interface of G that leads to the peers."""
    return way(host, A1.address)


def route_in(g, state, name=None):
    """The first route of a tunnel when it is in that state, else None."""
    route = g.tunnel(name)["routes"][0]
    return route if route["state"] == state else None


def flat(text):
    """Without line breaks and columns."""
    return " ".join(text.split())


# Routes of others.

FOREIGN = [("metric0", "route add {net} dev {dev}", "route del {net} dev {dev} metric 0", "metric 0"),
           ("same-metric", "route replace {net} dev {dev} metric 100 proto static",
            "route del {net} dev {dev} metric 100", "static, metric 100"),
           ("halves", "route add {half1} dev {dev}\nroute add {half2} dev {dev}",
            "route del {half1} dev {dev}\nroute del {half2} dev {dev}", "metric 0"),
           ("rule", "route add {net} dev {dev} table 77\nrule add pref 900 lookup 77",
            "rule del pref 900\nroute flush table 77", "table 77")]


@case(kernels=BOTH, needs=["nat"], cost_s=12, matrix={"how": [row[0] for row in FOREIGN]})
def foreign_route_wins(lab, how):
    """A route of somebody else for the site's network: while it wins, status, its exit code and the log say
    so, with which one; when it has gone, that all is well again."""
    _, add, delete, words = next(row for row in FOREIGN if row[0] == how)
    net = lab.net
    lab.peer("A1", plane=plane())
    g = lab.causeway([site()])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    first = g.tunnel()["routes"][0]
    expect_equal((first["state"], first["installed"], first["by"]), ("installed", True, None), "route")
    expect_equal(g.ctl("status")[0], 0, "exit code of status")
    dev = wan(net.G)
    base = A1.network.split("/")[0]
    names = {"net": A1.network, "dev": dev, "half1": base + "/17",
             "half2": base.rsplit(".", 2)[0] + ".128.0/17"}
    net.G.ip(add.format(**names))
    expect_equal(way(net.G, A1.host), dev, "way of the packets")
    shadowed = wait_for(lambda: route_in(g, "shadowed"), 3, "status to tell of the foreign route", strict=True)
    expect_equal((shadowed["installed"], shadowed["by"]["interface"]), (False, dev), "route in status")
    expect_equal(g.tunnel()["n-routes-shadowed"], 1, "how many")
    code, out = g.ctl("status")
    print(out + g.ctl("status", "far-1")[1], flush=True)
    expect_equal(code, 1, "exit code of status")
    expect("packets to %s do not take it: a route that is not ours wins, by %s (" % (A1.network, dev) in flat(out)
           and words in out, "status: " + out)
    g.wait_log("packets to %s go past its tunnels" % A1.network, 12)
    expect(words in g.log_text() and "[CW-1106]" in g.log_text(), "the line lacks " + words)
    net.G.ip(delete.format(**names))
    wait_for(lambda: route_in(g, "installed"), 12, "status to tell that all is well")
    expect_equal(way(net.G, A1.host), "cw-far-1", "way of the packets")
    expect_equal(g.ctl("status")[0], 0, "exit code of status")
    g.wait_log("no route of others takes its packets any more", 12)
    net.wait_ping("lan", A1.host)


@case(needs=["vti"], cost_s=12)
def default_route_wins(lab):
    """A site that is the rest of the world, and a default route of metric 0: said at the start. With a worse
    metric it loses to a tunnel that is up, and takes the packets of one that is down: that is said too."""
    net = lab.net
    a1 = lab.peer("A1")
    net.G.ip("route add %s via %s" % (A1.address, net.G.run(
        ["ip", "-4", "route", "get", A1.address]).split(" via ")[1].split()[0]))
    g = lab.causeway([site(networks=["0.0.0.0/0"])])
    g.wait_up()
    shadowed = wait_for(lambda: route_in(g, "shadowed"), 3, "status to tell of the default route")
    expect_equal((shadowed["dst"], shadowed["by"]["metric"], shadowed["installed"]), ("0.0.0.0/0", 0, False),
                 "route in status")
    g.wait_log("packets to 0.0.0.0/0 go past its tunnels", 12)
    g.order("down", "far-1")
    g.wait_state("down")
    expect(route_in(g, "shadowed"), "shadowed while the tunnel is down")
    before = net.G.run(["ip", "route", "show", "default", "metric", "0"]).strip()
    gateway = before.split(" via ")[1].split()[0]
    net.G.ip("route del default via %s\nroute add default via %s metric 5000" % (gateway, gateway))
    g.wait_log("it takes the place of our unreachable one: remove it", 12)
    expect_equal(route_in(g, "shadowed")["by"]["metric"], 5000, "the other route")
    g.order("up", "far-1")
    g.wait_up()
    wait_for(lambda: route_in(g, "installed"), 3, "the route to be in status")
    expect_equal(way(net.G, "198.18.7.7"), "cw-far-1", "way of the packets")
    expect_equal(len(a1.established()), 1, "IKE_SAs at A1")


@case(needs=["vti"], cost_s=12)
def site_of_two(lab):
    """Two tunnels to one site: the one whose route is taken, the one that stands by, and that they change
    places."""
    net = lab.make_net(peers=("A1", "A2"))
    lab.peer("A1"), lab.peer("A2")
    g = lab.causeway([site(tunnels=[{"remote": p.address} for p in (A1, A2)])])
    g.wait_up("far-1")
    g.wait_up("far-2")
    wait_for(lambda: route_in(g, "standby", "far-2"), 3, "far-2 to stand by")
    first, second = g.tunnel("far-1")["routes"][0], g.tunnel("far-2")["routes"][0]
    expect_equal((first["state"], second["installed"], second["by"]["interface"]),
                 ("installed", True, "cw-far-1"), "routes")
    code, out = g.ctl("status")
    expect("ready, standing by: packets take cw-far-1" in flat(out), "status: " + out)
    expect_equal(code, 0, "exit code of status")
    g.order("down", "far-1")
    wait_for(lambda: route_in(g, "installed", "far-2"), 5, "far-2 to be taken")
    route = g.tunnel("far-1")["routes"][0]
    expect_equal((route["state"], route["installed"], route["by"]["interface"]), ("standby", False, "cw-far-2"),
                 "the route of the tunnel that is down")
    expect_equal(way(net.G, A1.host), "cw-far-2", "way of the packets")


# Selectors.

@case(needs=["vti"], cost_s=10, matrix={"what": [("outside", "10.99.0.0/16"), ("short", "10.20.5.0/24")]})
def peer_agrees_to_less(lab, what):
    """What the peer narrowed the selectors to leaves out the site's networks: status, its exit code and the
    log name what is not covered."""
    lab.peer("A1", pairs=[(what, "10.10.0.0/16")])
    g = lab.causeway([site()])
    tunnel = g.wait_up()
    expect_equal(tunnel["children"][0]["remote-ts"], [what], "selectors")
    expect_equal((tunnel["n-not-covered"], tunnel["not-covered"]),
                 (1, [{"ours": "10.10.0.0/16", "theirs": A1.network}]), "what is not covered")
    code, out = g.ctl("status")
    print(out + g.ctl("status", "far-1")[1], flush=True)
    expect("nothing passes between 10.10.0.0/16 and %s: the peer agreed to less" % A1.network in flat(out),
           "status: " + out)
    expect_equal(code, 1, "exit code of status")
    expect("not covered 10.10.0.0/16 === " + A1.network in flat(g.ctl("status", "far-1")[1]), "status far-1")
    g.wait_log("only this passes: 10.10.0.0/16 === " + what, 3)
    g.wait_log("nothing passes between 10.10.0.0/16 and " + A1.network, 5)


# Interfaces.

@case(kernels=BOTH, needs=["nat"], cost_s=10)
def interface_renamed(lab):
    """Our interface gets another name by hand: it has its own again, is the same interface, and traffic goes
    on; a deleted one is made anew. Both are in the log."""
    net = lab.net
    lab.peer("A1", plane=plane())
    g = lab.causeway([site()])
    g.wait_up()
    net.wait_ping("lan", A1.host)

    def index():
        links = {l["ifname"]: l["ifindex"] for l in json.loads(net.G.run(["ip", "-j", "link"]))}
        expect("mine" not in links, "the foreign name is still there")
        return links.get("cw-far-1")
    old = index()
    spis = {s.spi for s in xfrm.states(net.G)}
    # What is down is up again at once, and older kernels rename only what is down.
    wait_for(lambda: net.G.rc(["sh", "-c", "ip link set cw-far-1 down; ip link set cw-far-1 name mine"])[0] == 0,
             10, "the interface to be renamed")
    wait_for(lambda: index() == old, 3, "the interface to have its name", strict=True)
    net.wait_ping("lan", A1.host, 5)
    g.wait_log("interface cw-far-1 had been renamed to mine by somebody else", 2)
    expect("[CW-1107]" in g.log_text(), "no id in the line")
    expect_equal({s.spi for s in xfrm.states(net.G)}, spis, "SPIs")
    net.G.ip("link del cw-far-1")
    wait_for(index, 3, "the interface to be made anew", strict=True)
    g.wait_log("interface cw-far-1 had been deleted by somebody else", 2)
    net.wait_ping("lan", A1.host, 5)
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


# The peer is this machine.

@case(needs=["vti"], cost_s=10)
def peer_is_ourselves(lab):
    """The peer's address is ours, or its name leads to this machine or to nobody: nothing is sent, and the
    cause says so; when the name leads to the peer, the tunnel comes up."""
    net = lab.net
    lab.peer("A1")
    names = {"loop": "127.0.0.1", "own": G_PUBLIC, "none": "0.0.0.0"}
    net.G.write("/etc/nsswitch.conf", "hosts: files\n")
    net.G.write("/etc/hosts", "".join("%s %s.example.net\n" % (a, n) for n, a in names.items()))
    networks = iter("10.%d.0.0/16" % n for n in range(31, 40))
    g = lab.causeway([dict(site(networks=[next(networks)]), name=name,
                           tunnels=[{"remote": "%s.example.net" % name}]) for name in names] +
                     [dict(site(networks=[next(networks)]), name="literal", tunnels=[{"remote": G_PUBLIC}])],
                     start=False)
    # Otherwise the check of the file would see it.
    for key in ("local-address", "public-address"):
        g.conf["gateway"].pop(key, None)
    g.start()
    wire = net.capture()
    for name, cause in (("loop", "own-address"), ("own", "own-address"), ("none", "resolve"),
                        ("literal", "own-address")):
        def told(name=name):
            tunnel = g.tunnel(name + "-1")
            return tunnel["state"] == "waiting" and tunnel["cause"]
        seen = wait_for(told, 5, "the cause of " + name)
        expect_equal(seen["name"], cause, "cause of " + name)
        expect(names.get(name, G_PUBLIC) in seen["detail"], "detail: %r" % seen)
        expect(g.tunnel(name + "-1")["attempt"] >= 1, "number of the try")
    print(g.ctl("status")[1], flush=True)
    expect_equal(xfrm.leftovers(net.G), "", "SAs and policies")
    expect_equal([p for p in wire.packets() if 500 in (p.sport, p.dport)], [], "IKE on the wire")
    net.G.write("/etc/hosts", "127.0.0.1 own.example.net\n%s own.example.net\n" % A1.address)
    g.wait_up("own-1", timeout_s=20)
    expect_equal(g.tunnel("own-1")["remote-addr"], A1.address, "address of the peer")


@case(needs=["vti"], cost_s=8)
def try_is_on_its_way(lab):
    """While a try runs its line says which one it is and why the last one failed."""
    g = lab.causeway([site(retry_min=1, retry_max=1)])

    def seen():
        tunnel = g.tunnel()
        return tunnel["state"] == "connecting" and tunnel["attempt"] >= 2 and flat(g.ctl("status")[1])
    moment = time.monotonic()
    out = wait_for(seen, 60, "a second try")
    print("after %.1f s" % (time.monotonic() - moment), flush=True)
    expect("the peer does not answer" in out and " is on its way" in out, "status: " + out)
