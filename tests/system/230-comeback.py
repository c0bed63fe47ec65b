# SPDX-License-Identifier: GPL-2.0-or-later
"""Coming back after an outage: field cases of section 3, and the promise of 15 s.

The promise: whoever was killed, stopped, restarted or cut off, in whatever order, the tunnel carries
again within 15 s of the moment at which it could (the path is open, the daemon that was missing
answers), and then both ends hold exactly one IKE_SA and one pair of child SAs. It is tried with the
profile's own timers and, at once, with strongSwan and libreswan, IKEv2 and IKEv1 as peers; the time
is taken from the moment itself to the first ping that is answered.

libreswan takes INITIAL_CONTACT for the end of the older IKE_SA's children, and keeps the IKE_SA itself,
without a child, to the end of its lifetime: there the one IKE_SA is counted at our end alone. In IKEv1
it ignores INITIAL_CONTACT and keeps the older child too, which then sends nothing: there our pair has
to be among its SAs.

Left out: of BL-030 and BL-032 what BGP and a probe through the tunnel would see; of BL-034 and BL-032
the choice of the other tunnel by health (here the routes of a tunnel that is known to be down go, and
the next metric takes over); of BL-037 a default route learned through the tunnel; of BL-035 the
machine's own start order (the daemon is started with a resolver that is dead).
"""

import re
import sys
import time

from lab import G_PUBLIC, PLACES, Failure, case, expect, expect_equal, hold_true, wait_for, xfrm
from lab import kernel, profiles
from lab.lab import KEY
from lab.wait import TOOL_S
from lab.wire import UDP

BACK_S = 15             # the promise
OUR_START_S = BACK_S + TOOL_S   # the same where it begins with our own start
MINUTES_S = 180         # an outage that is not scaled
EXACT_S = 20            # from then on until nothing is left of what was before
A1, A2, W1, W2 = (PLACES[n] for n in ("A1", "A2", "W1", "W2"))

FLEET = {"A1": ("strongswan", 2), "A2": ("libreswan", 2),
         "W1": ("strongswan", 1), "W2": ("libreswan", 1)}


# The promise.

class Watch:
    """A ping from the LAN to an address behind a tunnel, and when it was answered."""

    def __init__(self, net, target):
        self.target = target
        self.process = net.lan.start("ping-" + target, [
            "ping", "-n", "-D", "-O", "-i", "0.2", target])

    def answers(self):
        """Moments at which an answer came, by the wall clock."""
        return [float(at) for at in re.findall(r"^\[([\d.]+)\] \d+ bytes from", self.process.text(),
                                               re.M)]

    def first_after(self, moment):
        """The first answer after a moment, or None."""
        return next((at for at in self.answers() if at >= moment), None)

    def longest_gap(self):
        """The longest time between two answers."""
        answers = self.answers()
        return max(b - a for a, b in zip(answers, answers[1:]))

    def expect_back(self, moment, what, limit_s=BACK_S):
        """Wait for the first answer after a moment; Failure when it came too late."""
        at = wait_for(lambda: self.first_after(moment), limit_s + moment - time.time(),
                      "%s: an answer from %s within %d s" % (what, self.target, limit_s), strict=True)
        print("%s: %s back after %.1f s" % (what, self.target, at - moment), flush=True)
        sys.stdout.flush()


class Fleet:
    """Four peers of all kinds, G with a tunnel to each, and a ping through each."""

    def __init__(self, lab, names=tuple(FLEET)):
        self.lab, self.names = lab, names
        self.net = lab.make_net(peers=names)
        for name in names:
            kind, version = FLEET[name]
            more = {"options": {"uniqueids": True}} if kind == "libreswan" else {}
            lab.peer(name, "azure", kind=kind, version=version, **more)
        self.g = lab.causeway([
            {"name": name, "profile": "azure", "ike-version": FLEET[name][1],
             "networks": [PLACES[name].bgp + "/32"],
             "tunnels": [{"remote": PLACES[name].address}]} for name in names])
        start = time.time()
        self.watches = {}
        self.watch()
        self.expect_back(start, "start", OUR_START_S)
        self.policies = None
        self.expect_exact()
        self.policies = self.all_policies()
        # What came up a moment ago and is lost is tried again after a pause, not at once.
        wait_for(lambda: all(self.g.tunnel(self.tunnel(n))["for-s"] > 10 for n in names), 30,
                 "all tunnels well up")

    def watch(self):
        """Begin to ping."""
        self.watches = {n: Watch(self.net, PLACES[n].bgp) for n in self.names}

    def quiet(self):
        """End the pings: while ESP comes in there is no reason to doubt the peer."""
        for watch in self.watches.values():
            watch.process.kill9()
        self.watches = {}

    @staticmethod
    def tunnel(name):
        """Name of the tunnel to a peer."""
        return name + "-1"

    def all_policies(self):
        """The policies of G and of every peer, without what may differ."""
        return {n: sorted(repr(p) for p in xfrm.policies(self.net[n]))
                for n in ("G",) + tuple(self.names)}

    def expect_back(self, moments, what, limit_s=BACK_S):
        """All tunnels carry again within the promise; moments: one, or one a peer."""
        for name, watch in self.watches.items():
            watch.expect_back(moments[name] if isinstance(moments, dict) else moments,
                              "%s, %s" % (what, " IKEv".join(map(str, FLEET[name]))), limit_s)

    def _exact(self):
        for name in self.names:
            peer, place = self.lab.peers[name], PLACES[name]
            tunnel = self.g.tunnel(self.tunnel(name))
            if tunnel["state"] != "up" or len(tunnel["children"]) != 1:
                raise Failure("%s is %s with %d children" % (tunnel["name"], tunnel["state"],
                                                             len(tunnel["children"])))
            ikes = len(peer.sas()) if peer.kind == "strongswan" else 1
            keeps = FLEET[name] == ("libreswan", 1)
            if ikes != 1 or not peer.established() or len(peer.children()) != 1 and not keeps:
                raise Failure("%s has %d IKE_SAs, established %r, children %r" % (
                    name, ikes, peer.established(), peer.children()))
            every = {s.spi for s in xfrm.states(self.net[name])}
            ours = {s.spi for s in xfrm.states(self.net.G) if place.address in (s.src, s.dst)}
            if len(ours) != 2 or not (ours <= every if keeps else ours == every):
                raise Failure("G has SPIs %r, %s has %r" % (ours, name, every))
        every = xfrm.states(self.net.G)
        if len(every) != 2 * len(self.names):
            raise Failure("G has %r" % every)
        if self.policies is not None and self.policies != self.all_policies():
            was, now = self.policies, self.all_policies()
            raise Failure("policies differ: " + "; ".join(
                "%s lost %r and got %r" % (n, sorted(set(was[n]) - set(now[n])),
                                           sorted(set(now[n]) - set(was[n])))
                for n in was if was[n] != now[n]))
        return True

    def expect_exact(self):
        """Exactly one IKE_SA and one pair at both ends of each tunnel; no orphan of either kind."""
        wait_for(self._exact, EXACT_S, "one IKE_SA and one pair everywhere")

    def wait_tries(self, count):
        """Wait until every tunnel is down and has tried that often."""
        for name in self.names:
            def tried(name=name):
                tunnel = self.g.tunnel(self.tunnel(name))
                return tunnel["state"] != "up" and tunnel["attempt"] > count
            wait_for(tried, 20 + 25 * count, "%s to have tried %d times" % (name, count))

    def each_peer(self, what):
        """Call a method of every peer; returns the moments at which each call had ended."""
        moments = {}
        for name in self.names:
            peer = self.lab.peers[name]
            getattr(peer, what)()
            moments[name] = time.time()
            if what == "kill9" and peer.conf["plane"] == "policy":
                # The flush took the lab's own policies too.
                profiles.set_up_plane(peer.host, peer.place, peer.conf, KEY, G_PUBLIC)
        return moments


@case(needs=["vti", "nat", "libreswan"], cost_s=80, timeout_s=300,
      matrix={"what": [("ike", ("ike", 3)), ("all", ("all", 1))]})
def back_after_block(lab, what):
    """IKE (or everything) is dropped for about a minute, five times as long as DPD takes, and passes again when a try has just
    come to nothing. An idle tunnel: while ESP still comes in there is no reason to doubt the peer."""
    fleet = Fleet(lab)
    kind, tries = what
    fleet.net.block(kind)
    fleet.quiet()
    fleet.wait_tries(tries)
    wait_for(lambda: fleet.g.tunnel("A1-1")["state"] == "waiting", 30, "A1-1 to pause")
    fleet.watch()
    moment = time.time()
    fleet.net.unblock()
    fleet.expect_back(moment, "after the block")
    fleet.expect_exact()


@case(needs=["vti", "nat", "libreswan"], cost_s=230, timeout_s=420)
def back_after_minutes(lab):
    """UDP 500 and 4500 are dropped both ways for three minutes by the clock, not scaled: every tunnel is
    down and tries on, nothing piles up in the kernel or at the peers, and then all are back."""
    fleet = Fleet(lab)
    fleet.net.block("ike")
    blocked = time.monotonic()
    fleet.quiet()
    fleet.wait_tries(1)
    tries = {n: fleet.g.tunnel(fleet.tunnel(n))["attempt"] for n in fleet.names}

    def down():
        for name in fleet.names:
            expect(fleet.g.tunnel(fleet.tunnel(name))["state"] != "up", name + " is up")
            peer = lab.peers[name]
            expect(peer.kind != "strongswan" or len(peer.sas()) <= 1, "IKE_SAs pile up at " + name)
        # No more than what a try holds while it waits for its answer.
        return len(xfrm.states(fleet.net.G)) <= 2 * len(fleet.names)
    hold_true(down, MINUTES_S - (time.monotonic() - blocked), "all are down and tidy", poll_s=2)
    for name in fleet.names:
        now = fleet.g.tunnel(fleet.tunnel(name))["attempt"]
        expect(now > tries[name], "%s tries no more: %d, then %d" % (name, tries[name], now))
    fleet.watch()
    moment = time.time()
    fleet.net.unblock()
    print("unblocked after %.0f s" % (time.monotonic() - blocked), flush=True)
    fleet.expect_back(moment, "after three minutes")
    fleet.expect_exact()


@case(needs=["vti", "libreswan"], cost_s=90, timeout_s=240)
def back_after_peers_death(lab):
    """Every peer is killed and is there again at once, knowing nothing; then it stays away."""
    fleet = Fleet(lab)
    fleet.each_peer("kill9")
    moments = fleet.each_peer("restart")
    fleet.expect_back(moments, "killed and back at once")
    fleet.expect_exact()
    fleet.each_peer("kill9")
    fleet.wait_tries(1)
    moments = fleet.each_peer("restart")
    fleet.expect_back(moments, "killed and away")
    fleet.expect_exact()


@case(needs=["vti", "libreswan"], cost_s=60, timeout_s=240)
def back_after_peers_restart(lab):
    """Every peer is stopped in order, so that G is told; at once again, and later."""
    fleet = Fleet(lab)
    fleet.each_peer("stop")
    moments = fleet.each_peer("restart")
    fleet.expect_back(moments, "stopped and back at once")
    fleet.expect_exact()
    fleet.each_peer("stop")
    fleet.wait_tries(1)
    moments = fleet.each_peer("restart")
    fleet.expect_back(moments, "stopped and away")
    fleet.expect_exact()


@case(needs=["vti", "libreswan"], cost_s=40, timeout_s=240)
def back_after_our_restart(lab):
    """G is killed and started again, then stopped and started; the peers may start nothing."""
    fleet = Fleet(lab)
    fleet.g.kill9()
    moment = time.time()
    fleet.g.restart()
    fleet.expect_back(moment, "we were killed", OUR_START_S)
    fleet.expect_exact()
    expect_equal(fleet.g.stop(), 0, "exit code")
    fleet.g.expect_clean()
    moment = time.time()
    fleet.g.restart()
    fleet.expect_back(moment, "we were stopped", OUR_START_S)
    fleet.expect_exact()


@case(needs=["vti", "libreswan"], cost_s=60, timeout_s=240)
def back_after_both_died(lab):
    """Both ends are killed; G is the first to be there again, and then the last."""
    fleet = Fleet(lab)
    fleet.g.kill9()
    fleet.each_peer("kill9")
    fleet.g.restart()
    moments = fleet.each_peer("restart")
    fleet.expect_back(moments, "both killed, we were first")
    fleet.expect_exact()
    fleet.each_peer("kill9")
    fleet.g.kill9()
    fleet.each_peer("restart")
    moment = time.time()
    fleet.g.restart()
    fleet.expect_back(moment, "both killed, we were last", OUR_START_S)
    fleet.expect_exact()


# Field cases.

def site(peer="A1", profile="azure", **settings):
    """A site of one tunnel."""
    out = {"name": "far", "profile": profile, "networks": [PLACES[peer].network],
           "tunnels": [{"remote": PLACES[peer].address}]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


def cloud(profile, *peers, **settings):
    """A site of several tunnels to one network."""
    out = {"name": "far", "profile": profile, "networks": [PLACES[peers[0]].network],
           "tunnels": [{"remote": PLACES[n].address} for n in peers]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


@case(needs=["vti", "nat"], cost_s=45)
def bl_025_never_gives_up(lab):
    """Scaled: the peer is silent from the start, for longer than the cap; status tells the tries."""
    net = lab.net
    a1 = lab.peer("A1")
    net.block("ike")
    g = lab.causeway([site(retry_min=3, retry_max=4)])
    seen = set()

    def tried():
        tunnel = g.tunnel()
        seen.add((tunnel["state"], tunnel["attempt"]))
        return tunnel["state"] == "waiting" and tunnel["attempt"] >= 3 and tunnel
    tunnel = wait_for(tried, 60, "two tries")
    expect(1 <= tunnel["next-try-in-s"] <= 4, "the cap: next try in %r s" % tunnel["next-try-in-s"])
    expect_equal(tunnel["cause"]["name"], "no-answer", "cause")
    rc, out = g.ctl("status")
    expect_equal(rc, 1, "exit code of causewayctl status")
    expect(re.search(r"try %d (in|now)" % tunnel["attempt"], out),
           "number of the try and its time in: " + out)
    expect({("connecting", n) for n in (1, 2)} <= seen, "the tries: %r" % sorted(seen))
    moment = time.time()
    net.unblock()
    watch = Watch(net, A1.host)
    watch.expect_back(moment, "after the silence", 4 + 5)
    a1.wait_up()
    lab.expect_one_pair()


class Trouble:
    """One of the six causes that take a tunnel down: do() brings it about, undo() takes away what
    would keep the tunnel from coming back."""

    peer = {}               # settings of the peer
    limit_s = 15            # from undo() to the first answer
    falls = True            # status shows that it was down

    def __init__(self, lab, g, a1):
        self.lab, self.net, self.g, self.a1 = lab, lab.net, g, a1

    def do(self):
        """Bring it about."""

    def undo(self):
        """Let the tunnel come back."""


class PeerDead(Trouble):
    """DPD: the peer has died without a word."""

    def do(self):
        self.a1.kill9()
        self.a1.restart()


class PeerDeletes(Trouble):
    """The peer sends DELETE for the IKE_SA."""

    def do(self):
        self.a1.terminate("azure")


class PeerResets(Trouble):
    """The peer's operator restarts its daemon."""

    def do(self):
        self.a1.stop()
        self.a1.restart()


class RekeyFails(Trouble):
    """A child rekey is refused, as the PFS groups differ, and the kernel ends the old SAs at their
    hard limit of bytes. Only a new IKE_SA brings a child without a group of its own; that is tried
    after some requests for the child alone."""

    peer = {"esp": "aes256-sha256-modp3072"}
    limit_s = 40

    def do(self):
        flood(self.net)


class ReauthFails(Trouble):
    """The peer reauthenticates, and just then its key is another one."""

    limit_s = 15 + 5

    def do(self):
        self.a1.set_psk("azure", b"S3cr3t-Marker-Key.Other")
        self.a1.rekey("ike", "azure", reauth=True)

    def undo(self):
        wait_for(lambda: "AUTH_FAILED" in self.a1.log_text(), 20, "a refused authentication")
        self.a1.set_psk("azure", self.lab.psk)


class KernelExpires(Trouble):
    """The kernel ends the SAs by volume while no rekey passes. IKE lives again soon enough, and the
    rekey brings new ones."""

    falls = False

    def do(self):
        self.token = self.net.block("ike")
        flood(self.net)

    def undo(self):
        self.net.unblock(self.token)


BYTES = 2 << 20         # hard limit of the child in the cases with flood()


def flood(net):
    """Send more than BYTES into the tunnel, in any case until nothing is answered any more."""
    for _ in range(6):
        net.lan.rc(["ping", "-n", "-q", "-f", "-c", "2000", "-s", "1200", "-w", "4", A1.host], 30)
        if net.ping("lan", A1.host, 1, wait_s=0.3) == 0:
            return
    raise Failure("the SAs outlived their limit of bytes")


@case(needs=["vti", "nat"], cost_s=35, timeout_s=200, matrix={"cause": [
    ("dpd", PeerDead), ("delete", PeerDeletes), ("reset", PeerResets), ("rekey", RekeyFails),
    ("reauth", ReauthFails), ("expiry", KernelExpires)]})
def bl_026_up_again(lab, cause):
    """Each cause takes it down, and again as soon as the peer has made new SAs; then it is up again,
    once."""
    net = lab.net
    a1 = lab.peer("A1", **cause.peer)
    # The shortest pauses after a refused key that there are, and a limit of bytes in reach.
    g = lab.causeway([site(retry_auth=5, child_lifetime_bytes=BYTES)])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    # A loss right after it came up has its pause; here it is the second one only.
    wait_for(lambda: g.tunnel()["for-s"] > 10, 20, "well up")
    watch = Watch(net, A1.host)
    trouble = cause(lab, g, a1)
    old = {s.spi for s in xfrm.states(net.G)}
    trouble.do()
    trouble.undo()

    def renewed():
        now = {s.spi for s in xfrm.states(net.G) if s.algorithms}
        return len(now) >= 2 and not now & old
    wait_for(renewed, cause.limit_s, "new SAs after the first time")
    trouble.do()
    trouble.undo()
    watch.expect_back(time.time(), "the second time", cause.limit_s)
    g.wait_up()
    lab.expect_one_pair()
    wait_for(lambda: len(a1.sas()) == 1 and len(a1.children()) == 1, 10,
             "one IKE_SA with one child at A1")
    expect(g.tunnel()["times-up"] >= 2 or not cause.falls, "times up")
    lab.expect_traffic()


@case(needs=["vti", "nat"], cost_s=35, memcheck=False)
def bl_027_cap_and_jitter(lab):
    """Scaled: a silent peer costs few bytes. Against one that refuses at once the pauses are seen
    alone: they double, have jitter, and the cap is a setting."""
    net = lab.make_net(peers=("A1", "A2", "W1"))
    net.block("all", "W1")
    for name in ("A1", "A2"):
        lab.peer(name, ike="aes256-sha384-modp3072")
    wire = net.capture()
    lab.causeway([dict(site(name, retry_max=cap), name=name, networks=[PLACES[name].bgp + "/32"])
                  for name, cap in (("A1", 300), ("A2", 2), ("W1", 300))])

    def attempts(name):
        """[(when it began, its bytes)] by initiator SPI."""
        out = {}
        for p in wire.packets():
            if p.dst == PLACES[name].address and p.exchange == 34:
                first, size = out.get(p.ike[:8], (p.at, 0))
                out[p.ike[:8]] = (first, size + p.size)
        return sorted(out.values())

    def pauses(name):
        tries = attempts(name)
        return [b[0] - a[0] for a, b in zip(tries, tries[1:])]
    wait_for(lambda: len(pauses("A1")) >= 4 and len(pauses("A2")) >= 8 and pauses("W1"), 60,
             "the pauses")
    for number, pause in enumerate(pauses("A1")):
        expect(0.7 * 2 ** number - 0.1 <= pause <= 2 ** number + 0.6,
               "pause %d is %.2f s" % (number + 1, pause))
    capped = pauses("A2")[1:]
    expect(all(1.2 <= pause <= 2.6 for pause in capped), "capped pauses: %r" % capped)
    expect(max(capped) - min(capped) > 0.05, "jitter: %r" % capped)
    # 30 minutes with the shortest pauses that jitter allows.
    once, size = pauses("W1")[0], attempts("W1")[0][1]
    at, number = 0.0, 0
    while at < 1800:
        at += max(once, 0.75 * min(300, 2 ** number))
        number += 1
    print("silent: %d tries of %d bytes in 30 minutes" % (number, size))
    expect(number * size < 60000, "%d tries of %d bytes in 30 minutes" % (number, size))


@case(needs=["vti"], cost_s=12, matrix={"version": [("v2", 2), ("v1", 1)]}, memcheck=False)
def bl_029_refused_key(lab, version):
    """The key differs, and is mended at the peer later: up within the slow pause."""
    old, new = b"S3cr3t-old-Key-1", b"S3cr3t-new-Key-2"
    a1 = lab.peer("A1", psk=old, version=version)
    g = lab.causeway([site(retry_auth=6, ike_version=version)], psk=new)

    def refused():
        tunnel = g.tunnel()
        return tunnel["attempt"] >= 2 and tunnel["last-error"] and tunnel
    tunnel = wait_for(refused, 40, "a refused key")
    if version == 2:
        expect_equal(tunnel["last-error"]["name"], "auth-by-peer", "cause")
        expect(3 <= tunnel["next-try-in-s"] <= 6, "the slow pause: %r s" % tunnel["next-try-in-s"])
    line = [l for l in g.log_text().splitlines() if "key" in l and "failed" in l]
    expect_equal(len(line), 1, "lines about it: %r" % line)
    for word in (G_PUBLIC, A1.address):
        expect(word in line[0], "%s in the line: %s" % (word, line[0]))
    moment = time.time()
    a1.set_psk("azure", new)
    watch = Watch(lab.net, A1.host)
    watch.expect_back(moment, "the key is right", 6 + 4 if version == 2 else 12 + 10)
    for text in (g.log_text(), str(g.status()), g.ctl("status", "far-1")[1]):
        expect(old.decode() not in text and new.decode() not in text, "no key in any output")


@case(needs=["vti", "nat"], cost_s=30)
def bl_030_esp_dies_one_way(lab):
    """ESP of the peer is dropped while IKE lives: the tunnel stays, and status tells that nothing
    comes in."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([site(dpd_delay=2, dpd_timeout=4)])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    rule = ["FORWARD", "-s", A1.address, "-p", "esp", "-j", "DROP"]
    net.net.run([kernel.iptables(), "-w", "-I"] + rule)
    before = lab.counters()
    ping = net.start_ping("lan", A1.host)

    def silent():
        child = g.tunnel()["children"][0]
        # Seen by a poll each 5 s; null before the first.
        since = [child["last-%s-s-ago" % way] for way in ("in", "out")]
        return None not in since and since[0] >= 12 and since[1] <= 6
    wait_for(silent, 40, "status to tell the silence")
    after = lab.counters()
    expect_equal(after[0] - before[0], 0, "packets in by G's SAs")
    expect(after[1] - before[1] > 20, "packets out by G's SAs")
    tunnel = g.tunnel()
    expect_equal((tunnel["state"], tunnel["ike"]["state"]), ("up", "established"), "IKE lives")
    expect_equal(tunnel["times-up"], 1, "times up")
    wait_for(lambda: g.tunnel()["one-way-s"] > 0, 20, "status to tell what it means")
    for words in (["status"], ["status", "far-1"]):
        rc, out = g.ctl(*words)
        expect(rc == 0 and "nothing comes back" in " ".join(out.split()),
               "the plain status says so: %d %s" % (rc, out))
    g.wait_log("nothing comes back")
    said = [l for l in g.log_text().splitlines() if "nothing comes back" in l]
    expect(len(said) == 1 and "protocol 50" in said[0], "said once in the log: %r" % said)
    # It comes back, and nothing is left of the warning.
    net.net.run([kernel.iptables(), "-w", "-D"] + rule)
    wait_for(lambda: g.tunnel()["one-way-s"] == 0, 15, "the end of it")
    g.wait_log("data comes back again")
    net.stop_ping(ping)


@case(needs=["vti", "nat"], cost_s=50)
def bl_031_dpd_is_quiet(lab):
    """Scaled: four idle tunnels with DPD each 2 s log nothing; loss and return are said once."""
    names = tuple(FLEET)
    net = lab.make_net(peers=names)
    for name in names:
        lab.peer(name)
    g = lab.causeway([
        {"name": n, "profile": "azure", "networks": [PLACES[n].bgp + "/32"], "dpd-delay": 2,
         "dpd-timeout": 4, "tunnels": [{"remote": PLACES[n].address}]} for n in names])
    for name in names:
        g.wait_up(name + "-1")
    wait_for(lambda: all(g.tunnel(n + "-1")["for-s"] > 10 for n in names), 30, "all well up")
    lines = len(g.log_text().splitlines())
    wire = net.capture()

    def asked():
        asks = [p for p in wire.packets() if p.exchange == 37 and p.src == G_PUBLIC
                and not p.is_response]
        return all(sum(p.dst == PLACES[n].address for p in asks) >= 5 for n in names)
    wait_for(asked, 30, "five questions to each peer")
    expect_equal(g.log_text().splitlines()[lines:], [], "lines in the log")
    net.block("all")
    wait_for(lambda: all(g.tunnel(n + "-1")["attempt"] >= 2 for n in names), 60, "all lost")
    net.unblock()
    for name in names:
        g.wait_up(name + "-1", 20)
    said = g.log_text().splitlines()[lines:]
    for name in names:
        own = [l for l in said if name + "-1" in l]
        expect_equal(len([l for l in own if "-1: down after" in l]), 1, "loss of %s: %r" % (name, own))
        expect_equal(len([l for l in own if "-1: up: " in l]), 1, "return of %s: %r" % (name, own))
        expect(len(own) <= 4, "lines on %s: %r" % (name, own))


@case(needs=["vti", "nat"], cost_s=25)
def bl_032_worst_case_of_dpd(lab):
    """Two tunnels, the first dies silently: traffic is on the second within delay and timeout, and 2 s
    for clocks that count whole seconds (libcharon's, and that of the kernel's last use of an SA). It
    dies when it has just come up: the limit of the attempt must not hide that of DPD."""
    names = ("A1", "A2")
    delay, timeout = 3, 5
    net = lab.make_net(peers=names)
    for name in names:
        lab.peer(name)
    g = lab.causeway([cloud("azure", *names, dpd_delay=delay, dpd_timeout=timeout)])
    for tunnel in ("far-1", "far-2"):
        g.wait_up(tunnel)
    net.via(names[0])
    watch = Watch(net, A1.host)
    moment = time.time()
    watch.expect_back(moment, "start")
    expect(lab.counters(names[0])[1] > 0, "the first tunnel is preferred")
    last = time.time()
    net.block("all", names[0])
    net.via(names[1])
    wait_for(lambda: watch.first_after(last + delay + 1), 30, "an answer over the other tunnel")
    gap = watch.longest_gap()
    print("no answer for %.1f s" % gap)
    expect(gap <= delay + timeout + 2, "%.1f s between two answers" % gap)
    expect(g.tunnel("far-1")["state"] != "up", "the first is down")
    expect_equal(g.tunnel("far-2")["state"], "up", "the second stays up")
    before = lab.counters(names[1])
    expect_equal(net.ping("lan", A2.host, 3), 3, "answers")
    after = lab.counters(names[1])
    expect(after[0] - before[0] >= 3 and after[1] - before[1] >= 3, "in the SAs of the second")
    # And back: the first is preferred again.
    moment = time.time()
    net.unblock()
    g.wait_up("far-1", BACK_S, strict=True)
    net.via(names[0])
    watch.expect_back(moment, "on the first again")


@case(needs=["vti"], cost_s=30)
def bl_034_aws_replaces_an_endpoint(lab):
    """The peer never starts, and comes back empty: up within the DPD timeout and 10 s, and meanwhile
    traffic runs over the other tunnel."""
    net = lab.make_net(peers=("W1", "W2"))
    w1 = lab.peer("W1", "aws")
    lab.peer("W2", "aws")
    g = lab.causeway([cloud("aws", "W1", "W2", dpd_delay=3, dpd_timeout=5)])
    for tunnel in ("far-1", "far-2"):
        g.wait_up(tunnel)
    net.via("W1")
    watch = Watch(net, W1.host)
    watch.expect_back(time.time(), "start")
    wait_for(lambda: g.tunnel("far-1")["for-s"] > 10, 20, "well up")
    dpd_s = 3 + 5
    w1.kill9()
    net.via("W2")
    died = time.time()
    # Away for longer than DPD takes, so that the other tunnel is seen at work.
    watch.expect_back(died + 1, "over W2", dpd_s + 3)
    expect(lab.counters("W2")[0] > 0, "packets of W2's SAs")
    w1.restart()
    moment = time.time()
    g.wait_up("far-1", dpd_s + 10, strict=True)
    print("W1 up again after %.1f s" % (time.time() - moment))
    # Once more, back at once.
    wait_for(lambda: g.tunnel("far-1")["for-s"] > 10, 20, "well up")
    net.via("W1")
    watch.expect_back(time.time(), "on W1 again")
    w1.kill9()
    w1.restart()
    moment = time.time()
    expect_equal(w1.sas(), [], "IKE_SAs at W1")
    w1.wait_up(timeout_s=dpd_s + 10, strict=True)
    watch.expect_back(moment, "W1 came back empty", dpd_s + 10)
    lab.expect_one_pair("W1")
    expect("initiating IKE_SA azure" not in w1.log_text(), "W1 started nothing")


# A resolver of the lab: answers one name with what its file says, and knows no other.
RESOLVER = """
import socket, struct, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("198.51.100.1", 53))
while True:
    data, client = sock.recvfrom(512)
    end = data.index(0, 12) + 5
    name, kind = data[12:end - 4], struct.unpack(">H", data[end - 4:end - 2])[0]
    known = name.lower() == b"\\2gw\\7example\\3net\\0"
    answer = b""
    if known and kind == 1:
        address = open(sys.argv[1]).read().strip()
        answer = b"\\xc0\\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + socket.inet_aton(address)
    flags = 0x8180 if known else 0x8183
    sock.sendto(data[:2] + struct.pack(">HHHHH", flags, 1, bool(answer), 0, 0) + data[12:end]
                + answer, client)
"""


class Resolver:
    """The name gw.example.net, for G."""

    def __init__(self, net):
        self.net = net
        self.process = None
        net.G.write("/etc/resolv.conf", "nameserver 198.51.100.1\noptions timeout:1 attempts:2\n")
        net.G.write("/etc/nsswitch.conf", "hosts: files dns\n")

    def set(self, address):
        """Let it point to an address."""
        self.net.net.write("/run/gw", address)

    def start(self):
        """Let it answer."""
        self.process = self.net.net.start("resolver", [sys.executable, "-c", RESOLVER, "/run/gw"])
        wait_for(lambda: "198.51.100.1:53" in self.net.net.run(["ss", "-lunH"]), 15,
                 "the resolver to listen")


@case(needs=["vti"], cost_s=25)
def bl_035_resolver_dead_at_start(lab):
    """The peer's name has no address yet: the start goes on, nobody else is let in meanwhile, and it
    is up when the name is there."""
    net = lab.make_net(peers=("A1", "A2"))
    resolver = Resolver(net)
    a1 = lab.peer("A1")
    g = lab.causeway([dict(site(), tunnels=[{"remote": "gw.example.net"}])])

    def tried():
        tunnel = g.tunnel()
        return tunnel["attempt"] >= 3 and tunnel
    tunnel = wait_for(tried, 40, "three tries")
    expect_equal(tunnel["last-error"]["name"], "resolve", "cause")
    expect(tunnel["state"] in ("resolving", "waiting"), "state %s" % tunnel["state"])
    expect_equal(tunnel["remote-addr"], None, "address of the peer")
    # A stranger with the right key.
    a2 = lab.peer("A2", initiate=True)
    wait_for(lambda: re.search(r"NO_PROP|retransmit", a2.log_text()), 20, "A2's try to fail")
    expect_equal(a2.established(), [], "IKE_SAs of a stranger")
    expect_equal(xfrm.leftovers(net.G), "", "SAs and policies of G")
    resolver.set(A1.address)
    moment = time.time()
    resolver.start()
    watch = Watch(net, A1.host)
    watch.expect_back(moment, "the name has an address", 10 + 5)
    a1.wait_up()
    expect_equal(a2.established(), [], "IKE_SAs of a stranger")
    expect_equal(g.tunnel()["remote-addr"], A1.address, "address of the peer")
    lab.expect_one_pair()


@case(needs=["vti"], cost_s=40)
def bl_036_name_moves(lab):
    """The peer dies and its name moves: up at the new address, and nothing of the old one is left."""
    net = lab.make_net(peers=("A1", "A2"))
    resolver = Resolver(net)
    resolver.set(A1.address)
    resolver.start()
    a1 = lab.peer("A1")
    g = lab.causeway([dict(site(), tunnels=[{"remote": "gw.example.net"}])])
    a2 = lab.peer("A2")
    g.wait_up()
    net.via("A1")
    net.wait_ping("lan", A1.host)
    wait_for(lambda: g.tunnel()["for-s"] > 10, 20, "well up")
    a1.kill9()
    resolver.set(A2.address)
    net.via("A2")
    moment = time.time()
    watch = Watch(net, A2.host)
    watch.expect_back(moment, "at the new address", 5 + 8 + 10)
    a2.wait_up()
    expect_equal(g.tunnel()["remote-addr"], A2.address, "address of the peer")
    for words in (["ip", "xfrm", "state"], ["ip", "xfrm", "policy"], ["ip", "-d", "link"]):
        wait_for(lambda words=words: A1.address not in net.G.run(words), 10,
                 "no %s in `%s`" % (A1.address, " ".join(words)))
    lab.expect_one_pair("A2")
    lab.expect_traffic("A2")


@case(needs=["vti"], cost_s=15)
def bl_037_second_uplink(lab):
    """A second uplink with a better route, a renewed first one, a route through the tunnel: with a
    local address in the file nothing roams."""
    net = lab.net
    a1 = lab.peer("A1", mobike=True)
    net.G.ip("route replace default via 198.51.100.1 metric 100")
    g = lab.causeway([site()], {"local-address": G_PUBLIC})
    g.wait_up()
    net.wait_ping("lan", A1.host)
    before = {s.spi for s in xfrm.states(net.G)}
    net.net.ip("link add name g1 netns %d type veth peer name wan1 netns %d" % (
        net.net.pid, net.G.pid))
    net.net.ip("link set g1 up\naddr add 192.168.77.1/24 dev g1")
    wires = [net.capture("g0"), net.capture("g1")]
    ping = net.start_ping("lan", A1.host, 0.1)
    net.G.ip("link set wan1 up\naddr add 192.168.77.2/24 dev wan1\n"
             "route add default via 192.168.77.1 metric 50")
    # What a DHCP client does when it renews, and when it gets the address anew.
    net.G.ip("addr change 198.51.100.10/24 dev wan0 valid_lft 300 preferred_lft 300\n"
             "addr del 198.51.100.10/24 dev wan0\naddr add 198.51.100.10/24 dev wan0\n"
             "route replace default via 198.51.100.1 metric 100")
    net.G.ip("route add 192.0.2.0/24 dev cw-far-1 metric 20")
    wait_for(lambda: any(p.src == G_PUBLIC and p.spi for p in wires[1].packets()), 10,
             "ESP by the better route, from the old address")
    g.order("rekey", "far-1", what="child")
    wait_for(lambda: not {s.spi for s in xfrm.states(net.G)} & before, 15, "a rekey")
    net.wait_ping("lan", A1.host)
    net.stop_ping(ping)
    for wire in wires:
        for packet in wire.stop():
            outer = packet.spi is not None or (packet.proto == UDP and packet.ike)
            expect(not outer or {packet.src, packet.dst} == {G_PUBLIC, A1.address},
                   "outer addresses: %r" % packet)
    for word in ("UPD_SA_ADDR", "MOBIKE_SUP", "ADD_4_ADDR"):
        expect(word not in a1.log_text(), "no %s at A1" % word)
    tunnel = g.tunnel()
    expect_equal((tunnel["times-up"], tunnel["ike"]["local"]), (1, G_PUBLIC), "times up, our address")
    expect_equal(net.ping("lan", A1.host, 3), 3, "answers")
    lab.expect_one_pair()


@case(kernels=("uml", "qemu"), needs=["vti", "nat"], cost_s=15)
def bl_038_peers_port_moves(lab):
    """The peer's NAT gives it another port, with no-PMTU-discovery set: our SAs follow."""
    net = lab.net
    net.G.sysctl("net.ipv4.ip_no_pmtu_disc", 1)
    a1 = lab.peer("A1", plane="policy", start=False)
    forget = behind_nat(net, a1)
    g = lab.causeway([site()])
    g.wait_up()
    lab.expect_traffic()
    ike = g.tunnel()["ike"]
    expect_equal((ike["nat-remote"], ike["remote-port"]), (True, 4500), "NAT at the peer's side")
    forget(40000)
    # The peer sends first: our kernel sees its ESP from the new port.
    net.wait_ping("vnet", "10.10.0.4", 15)

    def followed():
        return all(s.encap and 40000 in s.encap for s in xfrm.states(net.G) if s.proto == "esp")
    wait_for(followed, 15, "the SAs to have the new port")
    lab.expect_traffic()
    lab.expect_one_pair()
    tunnel = g.tunnel()
    expect_equal((tunnel["ike"]["remote-port"], tunnel["times-up"]), (40000, 1), "port, times up")
    g.order("rekey", "far-1", what="child")
    wait_for(lambda: a1.log_text().count("CREATE_CHILD_SA response") >= 1, 15, "a rekey")
    lab.expect_traffic()


def behind_nat(net, peer):
    """Put a strongSwan peer with plain policies behind a NAT that `net` plays; starts it. Returns
    forget(port): the NAT loses its table, and what the peer sends next comes from that port."""
    private, public = "192.168.9.11", peer.place.address
    host, name = net[peer.place.name], next(iter(peer.connections))
    host.ip("addr add %s/32 dev wan0\nroute replace default via 203.0.113.1 src %s" % (
        private, private))
    net.net.ip("route add %s/32 dev %s" % (private, peer.place.interface))
    peer.connections[name]["local_addrs"] = [private]

    def rule(verb, text):
        net.net.run([kernel.iptables(), "-w", "-t", "nat", verb] + text.split())
    rule("-A", "PREROUTING -d %s -p udp -j DNAT --to-destination %s" % (public, private))
    rule("-A", "POSTROUTING -s %s -o g0 -p udp -j SNAT --to-source %s" % (private, public))

    def forget(port):
        rule("-I", "POSTROUTING -s %s -o g0 -p udp --sport 4500 -j SNAT --to-source %s:%d" % (
            private, public, port))
        rule("-I", "PREROUTING -d %s -p udp --dport %d -j DNAT --to-destination %s:4500" % (
            public, port, private))
        # From now on nobody is at the old port.
        rule("-I", "PREROUTING -d %s -p udp --dport 4500 -j DNAT --to-destination 192.168.9.99" %
             public)
        net.net.run(["conntrack", "-F"])
    peer.start()
    return forget


@case(needs=["vti"], cost_s=12)
def kernel_loses_everything(lab):
    """Somebody flushes the kernel's SAs and policies: noticed, made anew, and no more than once."""
    net = lab.net
    a1 = lab.peer("A1")
    g = lab.causeway()
    g.wait_up()
    net.wait_ping("lan", A1.host)
    wait_for(lambda: g.tunnel()["for-s"] > 10, 20, "well up")
    watch = Watch(net, A1.host)
    moment = time.time()
    net.G.ip("xfrm state flush\nxfrm policy flush")
    watch.expect_back(moment + 0.5, "after the flush")
    g.wait_up()
    lab.expect_one_pair()
    wait_for(lambda: len(a1.sas()) == 1 and len(a1.children()) == 1, 10,
             "one IKE_SA with one child at A1")
    hold_true(lambda: g.tunnel()["state"] == "up", 3, "up")
