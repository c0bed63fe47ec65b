# SPDX-License-Identifier: GPL-2.0-or-later
"""Both sides at once, and what is there twice: field cases of section 2.

BL-012: 100 rounds there, 7 here. BL-014: libreswan plays the confused peer, since strongSwan never
asks twice. BL-017: three peers here; 12 tunnels mean 12 children there, which any-any tunnels don't
have. BL-019: causeway has no trap policies (an acquire is only a hint), what remains is traffic
that runs while the tunnel starts or comes back. BL-021: the BGP session in it belongs to a later
issue.
"""

import os
import subprocess
import time

from lab import PLACES, case, expect, expect_equal, hold_true, kernel, wait_for, xfrm
from lab.wait import Failure, Skip

A1, A2 = PLACES["A1"], PLACES["A2"]
FAULT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lab", "fault.c")


def preload(lab, g, **env):
    """Let causewayd run with fault.c before its libraries."""
    if os.environ.get("CW_SANITIZE") == "address":
        raise Skip("a sanitized program takes no preloaded library before its own")
    library = os.path.join(lab.logdir, "fault.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-std=gnu17", "-shared", "-fPIC", "-o", library, FAULT,
                    "-ldl"], check=True)
    g.extra_env.update(env, LD_PRELOAD=library)


def own_spi(sa):
    """The initiator's SPI of one of a strongSwan's IKE_SAs."""
    return sa["initiator-spi"]


def live_sas(peer):
    """Its IKE_SAs but those that a rekey has left over.

    libcharon 5.9 takes the answer to its own rekey for the request that it is working on when both
    have the same message id, and drops it; then one side waits for the DELETE of a redundant
    IKE_SA that the other does not know of.
    """
    return [sa for sa in peer.sas() if sa["state"] != "REKEYED"]


def expect_settled(lab, g, peers=("A1",), timeout_s=15):
    """One IKE_SA and one pair for each tunnel, at both ends the same; it stays so."""
    for name in peers:
        peer = lab.peers[name]
        tunnel = next(t["name"] for t in g.status()["tunnels"]
                      if t["remote"] == PLACES[name].address)

        def one(peer=peer, tunnel=tunnel, name=name):
            sas, seen = live_sas(peer), g.tunnel(tunnel)
            if len(sas) != 1 or len(peer.children()) != 1:
                raise Failure("%d IKE_SAs and %d children at %s" % (
                    len(sas), len(peer.children()), name))
            if seen["state"] != "up" or len(seen["children"]) != 1:
                raise Failure("%s with %d children at G" % (seen["state"], len(seen["children"])))
            return int(seen["ike"]["spi-i"], 16) == int(own_spi(sas[0]), 16)
        wait_for(one, timeout_s, "one IKE_SA with one child with %s, the same at both ends" % name)
        lab.expect_one_pair(name)
    # A crossing one may still come, and be closed: but it ends, and then stays so.
    end = time.monotonic() + timeout_s
    while True:
        try:
            hold_true(lambda: all(len(live_sas(lab.peers[n])) == 1 for n in peers), 1.5,
                      "one IKE_SA a tunnel")
            return
        except Failure:
            if time.monotonic() > end:
                raise


def drop_first(net, place, towards_g):
    """Drop the first IKE packet one way; returns what waits for that and lets them pass again."""
    rule = ["FORWARD", "-s" if towards_g else "-d", place.address, "-p", "udp", "-j", "DROP"]
    net.net.run([kernel.iptables(), "-w", "-I"] + rule)

    def opened():
        def dropped():
            rows = net.net.run([kernel.iptables(), "-w", "-L", "FORWARD", "-n", "-v", "-x"])
            row = [l for l in rows.splitlines() if "DROP" in l and place.address in l][0]
            return int(row.split()[0]) >= 1
        wait_for(dropped, 10, "a dropped IKE packet", poll_s=0.01)
        net.net.run([kernel.iptables(), "-w", "-D"] + rule)
    return opened


# One IKE_SA whatever both sides do at once.

@case(needs=["vti"], cost_s=20, matrix={"unique": ["replace", "never"]})
def both_start_at_once(lab, unique):
    """Simultaneous starts, and restarts, settle on one IKE_SA, the same at both ends."""
    net = lab.net
    a1 = lab.peer("A1", "azure", initiate=True, unique=unique, dpd_s=3, dpd_action="start",
                  start=False)
    g = lab.causeway(wait=False)
    a1.start()
    g.wait_up(timeout_s=20)
    expect_settled(lab, g)
    for _ in range(3):
        before = own_spi(live_sas(a1)[0])
        g.order("restart", "azure-1")
        a1.terminate(ike="azure")
        a1.initiate("net")
        wait_for(lambda: before not in [own_spi(s) for s in a1.sas()], 15, "a new IKE_SA")
        g.wait_up(timeout_s=20)
        expect_settled(lab, g)
    lab.expect_traffic()
    net.wait_ping("vnet", "10.10.0.4")


@case(needs=["vti"], cost_s=20)
def both_rekey_ike_at_once(lab):
    """IKE rekeys from both sides at once: one IKE_SA, its child moved, no ping lost."""
    net = lab.net
    a1 = lab.peer("A1", "azure")
    g = lab.causeway()
    g.wait_up()
    a1.wait_up()
    net.wait_ping("lan", A1.host)
    ping = net.start_ping("lan", A1.host, 0.1)
    for _ in range(4):
        before = own_spi(live_sas(a1)[0])
        g.order("rekey", "azure-1", what="ike")
        a1.rekey("ike", "azure")
        wait_for(lambda: before not in map(own_spi, live_sas(a1)), 15, "a new IKE_SA")
        expect_settled(lab, g)
    sent, received, lost = net.stop_ping(ping)
    lost = [run for run in lost if run[0] < sent]
    expect(not lost, "%d of %d pings answered, lost %r" % (received, sent, lost))
    expect_equal(g.tunnel()["times-up"], 1, "times up")


# Field cases.

@case(needs=["vti"], cost_s=30, matrix={"drop": ["nothing", "towards-g", "from-g"]})
def bl_012_both_rekey_the_child_at_once(lab, drop):
    """After a collision, also with a lost packet, there is always an outbound SA, and one pair."""
    net = lab.net
    a1 = lab.peer("A1", "azure")
    g = lab.causeway()
    g.wait_up()
    a1.wait_up()
    net.wait_ping("lan", A1.host)
    ping = net.start_ping("lan", A1.host, 0.1)
    for _ in range(3 if drop == "nothing" else 2):
        before = {s.spi for s in g.kernel_pairs(A1.address)[1]}
        opened = drop_first(net, A1, drop == "towards-g") if drop != "nothing" else None
        g.order("rekey", "azure-1", what="child")
        a1.rekey("child", "net")
        if opened:
            opened()

        def changed(before=before):
            far = g.kernel_pairs(A1.address)[1]
            expect(far, "an outbound SA at every moment")
            return not before & {s.spi for s in far}
        wait_for(changed, 15, "a new outbound SA")
        net.wait_ping("lan", A1.host, 1, strict=True)
        expect_settled(lab, g)
    sent, received, lost = net.stop_ping(ping)
    lost = [run for run in lost if run[0] < sent]
    expect(not lost, "%d of %d pings answered, lost %r" % (received, sent, lost))
    expect_equal(g.tunnel()["times-up"], 1, "times up")


@case(needs=["vti", "libreswan"], cost_s=10, memcheck=False)
def bl_014_peer_rekeys_twice(lab):
    """A peer that asks for the same rekey twice: one pair in the end, and causewayd lives."""
    a1 = lab.peer("A1", "azure", kind="libreswan")
    g = lab.causeway([{"name": "far", "profile": "azure", "networks": [A1.network],
                       "tunnels": [{"remote": A1.address}]}])
    g.wait_up()
    a1.wait_up()
    pid = g.process.pid
    for _ in range(2):
        before = {s.spi for s in g.kernel_pairs(A1.address)[1]}
        for _ in range(3):
            a1.rekey("child")
        wait_for(lambda: not before & {s.spi for s in g.kernel_pairs(A1.address)[1]}, 15,
                 "a new pair")
        lab.expect_one_pair()
        # At times libreswan drops its policies together with the pairs that are deleted: it sends nothing
        # until we doubt the child after 20 s, and rekey it.
        lab.net.wait_ping("lan", A1.host, 40)
        lab.expect_traffic()
    expect(g.process.alive() and g.process.pid == pid, "causewayd still runs")


@case(needs=["vti"], cost_s=35)
def bl_016_failing_installs(lab):
    """The kernel refuses the SAs of a rekey: few tries, no growth, and mended afterwards."""
    net = lab.net
    a1 = lab.peer("A1", "azure")
    g = lab.causeway(start=False)
    fault = os.path.join(lab.logdir, "faults")
    preload(lab, g, CW_FAULT_NEWSA=fault)
    g.start()
    g.wait_up()
    a1.wait_up()
    net.wait_ping("lan", A1.host)
    before = {s.spi for s in g.kernel_pairs(A1.address)[1]}
    with open(fault, "w", encoding="ascii") as file:
        file.write("20\n")
    wire = net.capture("a1")
    g.order("rekey", "azure-1", what="child")
    wait_for(lambda: g.tunnel()["last-rekey-error"] or g.tunnel()["last-error"], 15,
             "the refusal in status")
    most = [0]

    def calm():
        every = [s for s in xfrm.states(net.G) if A1.address in (s.src, s.dst)]
        most[0] = max(most[0], len(every))
        return len(every) <= 6
    hold_true(calm, 15, "six SAs at most on G")
    asked = len([p for p in wire.packets() if p.exchange == 36 and not p.is_response])
    expect(asked <= 4, "%d CREATE_CHILD_SA in 15 s" % asked)
    os.unlink(fault)
    wait_for(lambda: g.order("rekey", "azure-1", what="child") and wait_for(
        lambda: not before & {s.spi for s in g.kernel_pairs(A1.address)[1]}, 3, "a new pair"),
        30, "a rekey that works")
    lab.expect_one_pair()
    lab.expect_traffic()


@case(needs=["vti"], cost_s=40)
def bl_017_both_restart_on_dpd(lab):
    """Both start, both restart on DPD, no INITIAL_CONTACT; all blocked until both gave up."""
    names = ("A1", "A2", "W1")
    net = lab.make_net(peers=names)
    for name in names:
        lab.peer(name, "azure", initiate=True, unique="never", dpd_s=2, dpd_action="start",
                 options={"retransmit_timeout": 1.0, "retransmit_tries": 2})
    site = {"profile": "azure", "dpd-delay": 2, "dpd-timeout": 3}
    networks = {"A1": A1.network, "A2": "10.21.0.0/16", "W1": PLACES["W1"].network}
    sites = [dict(site, name="far-" + n.lower(), networks=[networks[n]],
                  tunnels=[{"remote": PLACES[n].address}]) for n in names]
    g = lab.causeway(sites)
    for name in names:
        g.wait_up("far-%s-1" % name.lower(), timeout_s=20)
    expect_settled(lab, g, names)
    net.block("all")
    for name in names:
        g.wait_state("waiting", "far-%s-1" % name.lower(), 30)
    wait_for(lambda: all(not lab.peers[n].established() for n in names), 30,
             "every peer to give up")
    net.unblock()
    for name in names:
        g.wait_up("far-%s-1" % name.lower(), 15, strict=True)
    expect_settled(lab, g, names)
    for name in ("A1", "W1"):
        lab.expect_traffic(name)


@case(needs=["vti"], cost_s=20)
def bl_019_traffic_while_it_starts(lab):
    """Packets that wait for the tunnel make no second child, at the start or after a dead peer."""
    net = lab.net
    a1 = lab.peer("A1", "azure", dpd_s=3)
    ping = net.start_ping("lan", A1.host, 0.05)
    g = lab.causeway([{"name": "azure", "profile": "azure", "networks": [A1.network],
                       "dpd-delay": 2, "dpd-timeout": 3, "tunnels": [{"remote": A1.address}]}])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    expect_settled(lab, g)
    a1.kill9()
    g.wait_state("waiting", timeout_s=20)
    a1.restart()
    g.wait_up(timeout_s=15, strict=True)
    net.wait_ping("lan", A1.host)
    expect_settled(lab, g)
    net.stop_ping(ping)


@case(kernels=("uml", "qemu"), needs=["vti"], cost_s=15)
def bl_020_two_any_any_tunnels(lab):
    """Two any-any tunnels each keep their own reqid and key, also when one comes back meanwhile."""
    net = lab.make_net(peers=("A1", "A2"))
    a1, a2 = (lab.peer(n, "azure") for n in ("A1", "A2"))
    g = lab.causeway([{"name": "azure", "profile": "azure", "networks": [A1.network],
                       "dpd-delay": 2, "dpd-timeout": 3,
                       "tunnels": [{"remote": A1.address}, {"remote": A2.address}]}])
    for name in ("azure-1", "azure-2"):
        g.wait_up(name)
    a1.kill9()
    g.wait_state("waiting", "azure-1", 20)
    a1.restart()
    a2.rekey("child", "net")
    g.wait_up("azure-1", 20)
    for name in ("A1", "A2"):
        lab.expect_one_pair(name)

    rows = {}
    for policy in xfrm.policies(net.G):
        if policy.src == policy.dst == "0.0.0.0/0":
            rows.setdefault(policy.dir, []).append(policy)
    expect_equal(sorted(rows), ["fwd", "in", "out"], "directions of the any-any policies")
    for way, found in rows.items():
        expect_equal(len(found), 2, "any-any policies %s" % way)
        expect_equal(len({p.reqid for p in found}), 2, "reqids of the policies %s" % way)
        expect_equal(len({(p.if_id, p.mark) for p in found}), 2, "keys of the policies %s" % way)
        expect(all(p.if_id or p.mark for p in found), "a key on every policy %s" % way)

    # What is routed into an interface leaves by its own SA, and by no other.
    for name, other, number in (("A1", "A2", 1), ("A2", "A1", 2)):
        link = g.tunnel("azure-%d" % number)["interface"]["name"]
        net.G.ip("route replace %s/32 dev %s metric 1" % (A1.host, link))
        net.via(name)
        own = net.capture(PLACES[name].interface)
        far = net.capture(PLACES[other].interface, expression="esp")
        net.wait_ping("lan", A1.host)
        expect_equal(net.ping("lan", A1.host, 3), 3, "answers by way of %s" % name)
        own.wait_esp(6)
        spi = {s.spi for s in g.kernel_pairs(PLACES[name].address)[1]}
        sent = {p.spi for p in own.stop() if p.spi and p.dst == PLACES[name].address}
        expect_equal(sent, spi, "SPIs towards %s" % name)
        expect_equal([p for p in far.stop() if p.spi], [], "ESP towards %s" % other)


@case(needs=["vti"], cost_s=15)
def bl_021_rekeys_leave_interface_and_routes(lab):
    """Ten rekeys from both sides: no event on the link or its routes, and never \"down\"."""
    net = lab.net
    a1 = lab.peer("A1", "azure")
    g = lab.causeway()
    g.wait_up()
    a1.wait_up()
    lab.expect_one_pair()
    monitor = net.G.start("monitor", ["ip", "monitor", "link", "route", "address"])

    def listening():
        net.G.ip("route add unreachable 192.0.2.2/32\nroute del unreachable 192.0.2.2/32")
        return "192.0.2.2" in monitor.text()
    wait_for(listening, 10, "ip monitor to listen")
    heard = len(monitor.text())
    for number in range(10):
        before = {s.spi for s in g.kernel_pairs(A1.address)[1]}
        if number % 2:
            a1.rekey("child", "net")
        elif number % 4:
            g.order("rekey", "azure-1", what="child")
        else:
            old = own_spi(live_sas(a1)[0])
            g.order("rekey", "azure-1", what="ike")
            wait_for(lambda old=old: old not in map(own_spi, live_sas(a1)) and live_sas(a1), 10,
                     "a new IKE_SA")
            continue
        wait_for(lambda before=before: not before & {
            s.spi for s in g.kernel_pairs(A1.address)[1]}, 10, "a new pair")
    net.G.ip("route add unreachable 192.0.2.1/32\nroute del unreachable 192.0.2.1/32")
    wait_for(lambda: "Deleted unreachable 192.0.2.1" in monitor.text(), 10, "the last event")
    events = [l for l in monitor.text()[heard:].splitlines() if l and "192.0.2." not in l]
    expect_equal(events, [], "events of links and routes")
    tunnel = g.tunnel()
    expect_equal((tunnel["state"], tunnel["times-up"]), ("up", 1), "state and times up")
    expect(" down" not in g.log_text(), "no line says down")
    lab.expect_one_pair()


@case(needs=["vti"], cost_s=15, matrix={"who": [("peer-deletes", True), ("we-settle", False)]}, memcheck=False)
def bl_023_older_duplicate_goes(lab, who):
    """A second IKE_SA from the peer, then the older one goes: link up, no ping lost."""
    net = lab.net
    a1 = lab.peer("A1", "azure", unique="never", options={"reuse": "no"})
    g = lab.causeway()
    g.wait_up()
    a1.wait_up()
    net.wait_ping("lan", A1.host)
    monitor = net.G.start("monitor", ["ip", "monitor", "link"])
    ping = net.start_ping("lan", A1.host, 0.1)
    older = a1.sas()[0]["uniqueid"]
    # Within 2 s of each other they would count as crossing, and the SPIs would decide.
    wait_for(lambda: g.tunnel()["ike"]["established-s-ago"] >= 4, 10, "the first to be the older one")
    a1.initiate("net", timeout_s=10)
    if who:
        a1.terminate(ike_id=older)
    wait_for(lambda: older not in [s["uniqueid"] for s in a1.sas()], 15, "the older one to go")
    expect_settled(lab, g)
    sent, received, lost = net.stop_ping(ping)
    lost = [run for run in lost if run[0] < sent]
    expect(not lost, "%d of %d pings answered, lost %r" % (received, sent, lost))
    expect("cw-" not in monitor.text(), "events of the interface: " + monitor.text().strip())
    expect_equal(g.tunnel()["times-up"], 1, "times up")
    lab.expect_traffic()


@case(needs=["vti"], cost_s=10)
def bl_024_no_second_inbound_spi(lab):
    """Two tunnels that may have one SPI only: the second fails aloud, the first works."""
    lab.make_net(peers=("A1", "A2"))
    for name in ("A1", "A2"):
        lab.peer(name, "azure")
    g = lab.causeway([{"name": "azure", "profile": "azure", "networks": [A1.network],
                       "tunnels": [{"remote": A1.address},
                                   {"remote": A2.address, "start": False}]}], start=False)
    preload(lab, g, CW_FAULT_SPI="0xc0000000")
    g.start()
    g.wait_up("azure-1")
    g.order("up", "azure-2")

    def failing():
        tunnel = g.tunnel("azure-2")
        expect(tunnel["state"] != "up", "the second tunnel is not up")
        return tunnel["last-error"] and tunnel["last-error"]["name"] == "kernel" and tunnel
    wait_for(failing, 20, "the kernel's refusal in status")
    expect("azure-2" in g.log_text(), "the second tunnel's failure in the log")
    expect_equal([s.spi for s in g.kernel_pairs(A1.address)[0]], [0xc0000000], "inbound SPI")
    lab.expect_traffic("A1")
    expect_equal(g.tunnel("azure-1")["state"], "up", "state of the first tunnel")
