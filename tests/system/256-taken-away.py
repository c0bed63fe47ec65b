# SPDX-License-Identifier: GPL-2.0-or-later
"""What others take out of the kernel while a tunnel is up: policies, routes, an SA of one direction.

All of it is seen at once and set again, so that a site's packets find the way into the tunnel, and at no
time for long one beside it.
"""

from lab import PLACES, case, expect, expect_equal, kernel, wait_for, xfrm

A1 = PLACES["A1"]
OURS = "10.10.0.0/16"
SOON_S = 2
PACKETS_A_SECOND = 50


@case(kernels=("uml", "qemu"), needs=["nat"], cost_s=15, matrix={"mode": [("interface", "auto"),
                                                                         ("policy", "policy")]})
def taken_away(lab, mode):
    """Policies are flushed, one of them is deleted, and then the routes are flushed, each time under
    traffic."""
    net = lab.net
    plane = "policy" if mode == "policy" else "xfrmi" if kernel.has("xfrmi") else "vti"
    lab.peer("A1", pairs=[(A1.network, OURS)], plane=plane)
    g = lab.causeway([{"name": "far", "profile": "azure", "networks": [A1.network],
                       "selectors": "networks", "interface-mode": mode,
                       "tunnels": [{"remote": A1.address}]}])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    wire = net.capture()
    ping = net.start_ping("lan", A1.host, 1 / PACKETS_A_SECOND)
    policies = sorted(repr(p) for p in xfrm.policies(net.G))
    routes = sorted(net.G.run(["ip", "route"]).splitlines())
    drop = [p for p in policies if OURS in p]
    expect(drop, "policies of the tunnel")

    def as_before():
        return (sorted(repr(p) for p in xfrm.policies(net.G)) == policies and
                sorted(net.G.run(["ip", "route"]).splitlines()) == routes)

    for words in ("xfrm policy flush", "xfrm policy deleteall dir out", "route flush proto 119"):
        leaked = len([p for p in wire.packets() if p.dst == A1.host])
        net.G.run(["ip"] + words.split())
        wait_for(as_before, SOON_S, "all to be as before `ip %s`" % words, strict=True)
        net.wait_ping("lan", A1.host, SOON_S)
        leaked = len([p for p in wire.packets() if p.dst == A1.host]) - leaked
        print("%s: %d packets in the clear" % (words, leaked), flush=True)
        expect(leaked <= PACKETS_A_SECOND, "%d packets left in the clear after `ip %s`" % (leaked, words))
    net.stop_ping(ping)
    expect("taken away by another program" in g.log_text(), "no word of it in the log")
    expect_equal(g.tunnel()["times-up"], 1, "how often the tunnel came up")
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


@case(needs=["vti"], cost_s=15)
def one_direction_taken(lab):
    """One SA of the pair is deleted under traffic. Where it is the outbound one, the next packet makes an
    entry in its place that has its SPI and no keys."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([{"name": "far", "profile": "azure", "networks": [A1.network],
                       "tunnels": [{"remote": A1.address}]}])
    number = g.wait_up()["interface"]["if-id"]
    net.wait_ping("lan", A1.host)
    ping = net.start_ping("lan", A1.host, 1 / PACKETS_A_SECOND)
    for direction in (1, 0):
        sa = g.kernel_pairs(A1.address)[direction][0]
        net.G.run(["ip", "xfrm", "state", "delete", "src", sa.src, "dst", sa.dst, "proto", "esp", "spi",
                   hex(sa.spi), "mark", hex(number), "mask", "0xffffffff"])
        wait_for(lambda: net.ping("lan", A1.host, 1, wait_s=0.5) == 1, 15, "traffic without %s" % hex(sa.spi),
                 strict=True)
        wait_for(lambda: len(g.tunnel()["children"]) == 1, 15, "one child")
    net.stop_ping(ping)
    lab.expect_one_pair()
