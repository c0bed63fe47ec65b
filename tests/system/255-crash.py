# SPDX-License-Identifier: GPL-2.0-or-later
"""Killed and started again, and stopped at bad moments (BL-057).

Whenever causewayd is killed, the next one takes over what stands (interfaces, the closing routes), clears
what is dead (SAs and policies of the old one, larval ones too), leaves alone what others have put into the
kernel, and the tunnel is back as one pair. Stopped, it ends within 5 s whatever it waits for, and leaves
nothing of its own. The moments of the kills are random; each run prints its seed, and CW_SEED=NUMBER
repeats it.
"""

import json
import os
import random
import signal
import time

from lab import (G_PUBLIC, PLACES, Failure, case, expect, expect_equal, kernel, wait_for, xfrm)
from lab.causeway import CONF, SOCKET, command
from lab.wait import TOOL_S

A1 = PLACES["A1"]
BACK_S = 15
END_S = 5
TAKEN = "203.0.113.99"          # the far end of what others have put there


def site(**settings):
    """A site of one tunnel to A1."""
    out = {"name": "far", "profile": "azure", "networks": [A1.network],
           "tunnels": [{"remote": A1.address}]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


class Foreign:
    """What others have in G's kernel: SAs, one of them larval, policies as wide as a tunnel's, an
    interface, and routes."""

    def __init__(self, host):
        self.host = host
        link = "xfrm if_id 99" if kernel.has("xfrmi") else \
            "vti local %s remote %s key 99" % (G_PUBLIC, TAKEN)
        key = "if_id 99" if kernel.has("xfrmi") else "mark 99 mask 0xffffffff"
        host.sysctl("net/core/xfrm_acq_expires", 3600)  # or the kernel ends the larval one itself
        host.ip("""
            xfrm state add src {0} dst {1} proto esp spi 0x1234 reqid 7 mode tunnel {2} \
            enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f auth hmac(sha256) 0x0001020304050607
            xfrm state allocspi src {1} dst {0} proto esp reqid 7 mode tunnel min 0x5555 max 0x5555
            xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out priority 5 {2} \
            tmpl src {0} dst {1} proto esp reqid 7 mode tunnel
            xfrm policy add src 10.77.0.0/16 dst 10.78.0.0/16 dir out priority 5 action block
            link add other0 type {3}
            link set other0 up mtu 1300
            route add 10.88.0.0/16 dev other0 proto 186
            route add unreachable 10.89.0.0/16 metric 2147418112 proto static
            route add 10.87.0.0/16 dev other0 proto openr
            route add 10.20.0.0/16 dev other0 metric 5000 proto static""".format(
                G_PUBLIC, TAKEN, key, link).replace("\\\n", ""))
        self.before = self.seen()

    def seen(self):
        """All of it, as the kernel shows it now."""
        link = json.loads(self.host.run(["ip", "-j", "-d", "link", "show", "dev", "other0"]))[0]
        routes = json.loads(self.host.run(["ip", "-j", "route"]))
        return {
            "states": sorted(repr(s) for s in xfrm.states(self.host) if TAKEN in (s.src, s.dst)),
            "policies": sorted(repr(p) for p in xfrm.policies(self.host)
                               if p.tmpl == (G_PUBLIC, TAKEN) or p.src == "10.77.0.0/16"),
            "link": [link[k] for k in ("ifindex", "mtu", "linkinfo")],
            "routes": sorted(repr(r) for r in routes if r.get("dev") == "other0"
                             or r["dst"] == "10.89.0.0/16")}

    def expect_untouched(self, when):
        """Failure when something of it is missing or changed."""
        now = self.seen()
        for what, was in self.before.items():
            expect_equal(now[what], was, "%s: foreign %s" % (when, what))

    def expect_alone(self):
        """Nothing is left beside it."""
        self.expect_untouched("after the stop")
        states = [s for s in xfrm.states(self.host) if TAKEN not in (s.src, s.dst)]
        rows = len(xfrm.policies(self.host))
        expect_equal((states, rows), ([], 2), "states and policies after the stop")
        links = [l["ifname"] for l in json.loads(self.host.run(["ip", "-j", "link"]))]
        expect_equal([n for n in links if n.startswith("cw-")], [], "links after the stop")
        routes = json.loads(self.host.run(["ip", "-j", "route"]))
        expect_equal([r["dst"] for r in routes if r.get("type") == "unreachable"], ["10.89.0.0/16"],
                     "unreachable routes after the stop")


def seeded():
    """Random numbers that can be had again."""
    seed = int(os.environ.get("CW_SEED") or time.time_ns() % 1000000)
    print("CW_SEED=%d" % seed, flush=True)
    return random.Random(seed)


def settled(lab, a1, g, index=None):
    """The tunnel as it has to be: one IKE_SA and one pair at both ends, its routes, its interface."""
    tunnel = g.tunnel()
    if tunnel["state"] != "up" or len(tunnel["children"]) != 1:
        raise Failure("it is %s with %d children" % (tunnel["state"], len(tunnel["children"])))
    ours = sorted(s.spi for s in xfrm.states(lab.net.G) if A1.address in (s.src, s.dst))
    theirs = sorted(s.spi for s in xfrm.states(lab.net["A1"]))
    # What a killed attempt has begun there ends by the peer's own half-open timer.
    ikes = [sa for sa in a1.sas() if sa["state"] != "CONNECTING"]
    if len(ours) != 2 or ours != theirs or len(ikes) != 1:
        raise Failure("SPIs %r here, %r there; %d IKE_SAs there" % (ours, theirs, len(ikes)))
    rows = json.loads(lab.net.G.run(["ip", "-j", "route"]))
    mine = sorted(str(r.get("dev", r.get("type"))) for r in rows
                  if r["dst"] == A1.network and r.get("dev") != "other0")
    if mine != ["cw-far-1", "unreachable"]:
        raise Failure("routes: %r" % mine)
    link = json.loads(lab.net.G.run(["ip", "-j", "link", "show", "dev", "cw-far-1"]))[0]
    if index is not None and link["ifindex"] != index:
        raise Failure("the interface was made anew")
    return link["ifindex"]


@case(kernels=("uml", "qemu"), needs=["nat"], cost_s=45, timeout_s=240)
def killed_at_any_moment(lab):
    """Killed while it starts and negotiates, eight times; then the tunnel, and what others have."""
    rnd, net = seeded(), lab.net
    a1 = lab.peer("A1", plane="xfrmi" if kernel.has("xfrmi") else "vti", dpd_s=5)
    foreign = Foreign(net.G)
    g = lab.causeway([site()], start=False)
    rounds, span_s = (8, 0.8) if kernel.has("vti") and not kernel.has("xfrmi") else (3, 4.0)
    index = None
    for number in range(rounds):
        g.start(wait=False)
        moment = rnd.uniform(0, span_s)
        time.sleep(moment)              # the moment itself is what is tried
        g.kill9()
        foreign.expect_untouched("killed after %.3f s" % moment)
        if number % 4 != 3:
            continue
        moment = time.monotonic()
        g.start()
        index = wait_for(lambda: settled(lab, a1, g, index), BACK_S, "the tunnel to be back, once",
                         strict=True)
        print("back after %.1f s" % (time.monotonic() - moment), flush=True)
        lab.expect_traffic()
        g.kill9()
    g.start()
    wait_for(lambda: settled(lab, a1, g, index), BACK_S, "the tunnel to be back, once", strict=True)
    lab.expect_traffic()
    foreign.expect_untouched("back")
    expect_equal(g.stop(), 0, "exit code")
    foreign.expect_alone()


@case(needs=["vti"], cost_s=40, timeout_s=200)
def killed_while_it_rekeys(lab):
    """Killed a moment after a rekey was ordered, of the IKE_SA and of the child in turn; the peer has
    one of the two then, or both."""
    rnd = seeded()
    a1 = lab.peer("A1", dpd_s=5)
    g = lab.causeway([site()])
    index = wait_for(lambda: settled(lab, a1, g), BACK_S, "the tunnel to be up")
    for number in range(6):
        g.order("rekey", "far-1", what=("child", "ike")[number % 2])
        time.sleep(rnd.uniform(0, 0.03))
        g.kill9()
        g.start()
        wait_for(lambda: settled(lab, a1, g, index), BACK_S, "the tunnel to be back, once",
                 strict=True)
        lab.net.wait_ping("lan", A1.host)
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


@case(kernels=("uml", "qemu"), needs=["nat"], cost_s=10)
def bl_057_killed_with_larval_states(lab):
    """Killed while IKE_AUTH is on its way: the SPI that was promised to it, and those of an acquire, are
    cleared by the next start."""
    net = lab.net
    a1 = lab.peer("A1", plane="xfrmi" if kernel.has("xfrmi") else "vti")
    foreign = Foreign(net.G)
    # Of what A1 answers, IKE_SA_INIT is long and IKE_AUTH is short.
    rule = ["FORWARD", "-s", A1.address, "-p", "udp", "-m", "length", "--length", "0:320", "-j", "DROP"]
    net.net.run([kernel.iptables(), "-w", "-I"] + rule)
    g = lab.causeway([site()])

    def larval():
        return [s for s in xfrm.states(net.G) if not s.algorithms and s.dst == G_PUBLIC
                and s.src == A1.address]
    wait_for(larval, 10, "a larval SA")
    g.kill9()
    old = {s.spi for s in larval()}
    expect(old, "a larval SA that outlives the daemon")
    net.net.run([kernel.iptables(), "-w", "-D"] + rule)
    g.start()
    wait_for(lambda: settled(lab, a1, g), BACK_S, "the tunnel to be up, once", strict=True)
    expect(not old & {s.spi for s in xfrm.states(net.G)}, "the old larval SA is still there")
    foreign.expect_untouched("up")
    expect_equal(g.stop(), 0, "exit code")
    foreign.expect_alone()


@case(needs=["vti"], cost_s=8)
def what_another_config_left(lab):
    """Killed, and started with another config: nothing of the tunnel that is no more stays."""
    net = lab.make_net(peers=("A1", "A2"))
    a1 = lab.peer("A1")
    lab.peer("A2")
    two = [site(), dict(site(), name="old", networks=["10.99.0.0/16"],
                        tunnels=[{"remote": PLACES["A2"].address}])]
    three = two + [dict(site(selectors="networks", interface_mode="policy"), name="plain",
                        networks=["10.98.0.0/16"], tunnels=[{"remote": "203.0.113.21"}])]
    g = lab.causeway(three)
    g.wait_up("far-1")
    g.wait_up("old-1")
    expect("10.98.0.0/16" in net.G.run(["ip", "xfrm", "policy"]), "the policy that closes plain-1")
    g.kill9()
    g.conf["sites"] = g.conf["sites"][:1]
    g.start()
    wait_for(lambda: settled(lab, a1, g), BACK_S, "the tunnel to be back, once", strict=True)
    text = "".join(net.G.run(["ip"] + w) for w in (["link"], ["route"], ["xfrm", "policy"],
                                                   ["xfrm", "state"]))
    for gone in ("cw-old-1", "10.99.0.0/16", "10.98.0.0/16", PLACES["A2"].address):
        expect(gone not in text, "%s is still in: %s" % (gone, text))
    expect_equal(g.stop(), 0, "exit code")
    g.expect_clean()


def expect_quick_end(g, what):
    """SIGTERM; ended within END_S, in order, and nothing left."""
    start = time.monotonic()
    expect_equal(g.stop(), 0, "exit code when %s" % what)
    took = time.monotonic() - start
    print("%s: ended after %.2f s" % (what, took), flush=True)
    expect(took <= END_S + TOOL_S, "%s: it took %.1f s to end" % (what, took))
    g.expect_clean()


@case(needs=["vti", "nat"], cost_s=20)
def stop_whatever_it_waits_for(lab):
    """Stopped while it starts, connects, waits, resolves with a resolver that hangs, with the peer dead,
    and right after an order."""
    net = lab.net
    a1 = lab.peer("A1")
    # A name server that never answers: what is sent there goes nowhere.
    net.G.write("/etc/resolv.conf", "nameserver 198.51.100.1\noptions timeout:30 attempts:5\n")
    net.G.write("/etc/nsswitch.conf", "hosts: files dns\n")
    net.net.run([kernel.iptables(), "-w", "-I", "INPUT", "-p", "udp", "--dport", "53", "-j", "DROP"])
    net.block("ike")
    g = lab.causeway([site()])
    g.wait_state("connecting")
    expect_quick_end(g, "it connects")
    g.start()
    g.wait_state("waiting", timeout_s=20)
    expect_quick_end(g, "it waits")
    g.conf["sites"][0]["tunnels"] = [{"remote": "gw.example.net"}]
    g.start()
    g.wait_state("resolving")
    expect_quick_end(g, "DNS hangs")
    net.unblock()
    g.conf["sites"][0]["tunnels"] = [{"remote": A1.address}]
    g.start()
    g.wait_up()
    expect_quick_end(g, "it is up")
    a1.wait_down()
    g.start()
    g.wait_up()
    a1.kill9()
    net.block("all")
    expect_quick_end(g, "the peer is dead")
    net.unblock()
    a1.restart()
    g.start()
    g.wait_up()
    for what in ("child", "ike"):
        g.order("rekey", "far-1", what=what)
    g.order("restart", "far-1")
    expect_quick_end(g, "an order is carried out")
    # Signalled before it is ready: it need not have begun, but must leave nothing.
    for delay_s in (0.0, 0.02, 0.05, 0.1, 0.2):
        g.start(wait=False)
        time.sleep(delay_s)
        start = time.monotonic()
        g.stop()
        expect(time.monotonic() - start <= END_S + TOOL_S, "stopped after %g s it does not end" % delay_s)
        g.expect_clean()


@case(needs=["vti"], cost_s=6)
def the_logs_reader_ends(lab):
    """Who reads the log from a pipe ends: the tunnel comes up and stays, and the stop is an orderly one."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([site()], start=False)
    g.write_conf()
    net.G.start("piped", ["sh", "-c", "sh -c 'echo $$ >/run/piped.pid; exec %s -d -f %s' 2>&1 | head -n 1"
                          % (" ".join(command("causewayd", lab.logdir)), CONF)])
    wait_for(lambda: os.path.exists(g.host.root(SOCKET)) and g.status(), 20, "causewayd to answer")
    g.wait_up()
    g.order("restart", "far-1")
    g.wait_up()
    lab.expect_traffic()
    with open(g.host.root("/run/piped.pid"), encoding="ascii") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not os.path.exists("/proc/%d" % pid), 10, "causewayd to end")
    g.expect_clean()


@case(needs=["vti"], cost_s=6)
def one_at_a_time(lab):
    """A second causewayd ends with its own exit code and disturbs nothing; so does one that finds UDP 500
    taken by another program."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([site()])
    g.wait_up()
    spis = {s.spi for s in xfrm.states(net.G)}
    rc, out = net.G.rc(command("causewayd", lab.logdir) + ["-f", CONF], 20)
    expect_equal(rc, 3, "exit code of a second one; it said: " + out)
    expect("another causewayd" in out, "it said: " + out)
    expect_equal({s.spi for s in xfrm.states(net.G)}, spis, "SPIs of the first")
    lab.expect_traffic()
    # One with another control socket can't know it by that; its config knows no tunnel of the first.
    apart = g.host.write("/run/causeway/apart.conf", open(g.host.root(CONF), encoding="utf-8").read()
                         .replace(SOCKET, SOCKET + "2").replace("far", "apart"), 0o600)
    rc, out = net.G.rc(command("causewayd", lab.logdir) + ["-f", apart], 20)
    expect_equal(rc, 3, "exit code of one with another socket; it said: " + out)
    expect("CW-1201" in out and "removed" not in out, "it said: " + out)
    expect_equal({s.spi for s in xfrm.states(net.G)}, spis, "SPIs of the first")
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code")
    other = net.G.start("other", ["python3", "-c", "import socket, time\n"
                                  "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                                  "s.bind(('0.0.0.0', 500))\ntime.sleep(60)"])
    wait_for(lambda: ":500 " in net.G.run(["ss", "-lunH"]), 5, "UDP 500 to be taken")
    rc, out = net.G.rc(command("causewayd", lab.logdir) + ["-f", CONF], 20)
    expect_equal(rc, 3, "exit code with UDP 500 taken; it said: " + out)
    expect("UDP" in out and "500" in out, "it said: " + out)
    print(out, flush=True)
    g.expect_clean()
    other.kill9()
    g.start()
    g.wait_up()
