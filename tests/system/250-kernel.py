# SPDX-License-Identifier: GPL-2.0-or-later
"""Selectors, policies, and what a kernel lacks: field cases of section 5. BL-058 and BL-063 to BL-069
stand in 252-interfaces.py, BL-057 in 255-crash.py.

Left out, as it belongs to later work: of BL-052 the warning about BGP addresses outside of narrowed
selectors.

BL-054 asks for an ssh session: a TCP connection of G's own is the same to the kernel. BL-060 names
kernels 5.10 and 6.12 too: the lab has 6.1. BL-061 wants 500 Mbit/s: here it is 30, with a delay that
puts as many packets of a window out of order. BL-070: gVisor is not at hand; a kernel without ESP is
made by taking the module away.
"""

import contextlib
import json
import signal
import socket
import subprocess
import sys

from lab import (LAN_HOST, PLACES, Failure, Skip, case, expect, expect_equal, hold_true, kernel,
                 wait_for, xfrm)
from lab.causeway import CONF, command
from lab.profiles import ANY, ANY_DUAL
from lab.wire import ICMP

A1, A2 = PLACES["A1"], PLACES["A2"]
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
    """The inbound policies are gone, and the daemon can't see to it for a while: status counts what the
    kernel dropped and says why; they are set again, and the remedy that it names helps too."""
    net = lab.net
    lab.peer("A1", plane=plane())
    g = lab.causeway([site()])
    number = g.wait_up()["interface"]["if-id"]
    net.wait_ping("lan", A1.host)
    key = ["if_id", hex(number)] if kernel.has("xfrmi") else ["mark", hex(number), "mask",
                                                             "0xffffffff"]
    g.process.signal(signal.SIGSTOP)
    for way in ("in", "fwd"):
        for any_ in ("0.0.0.0/0", "::/0"):
            net.G.rc(["ip", "xfrm", "policy", "delete", "src", any_, "dst", any_, "dir", way] + key)
    expect_equal({p.dir for p in xfrm.policies(net.G)}, {"out"}, "policies that are left")
    expect_equal(net.ping("lan", A1.host, 3, wait_s=1), 0, "answers without an inbound policy")
    g.process.signal(signal.SIGCONT)
    net.wait_ping("lan", A1.host)
    expect_equal({p.dir for p in xfrm.policies(net.G)}, {"in", "fwd", "out"}, "policies set again")
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
    rc, out = lab.net.G.rc(list(before) + command("causewayd", lab.logdir) + ["-f", CONF], 30)
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
    # Else the ciphers, too, could be missing: they are loaded by the first SA.
    subprocess.run(["modprobe", "-a"] + list(modules), check=True)
    subprocess.run(["unshare", "-n", "sh", "-c", kernel.PROBES["esp"]], check=True)
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


@case(kernels=("uml",), needs=["vti"])
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
