# SPDX-License-Identifier: GPL-2.0-or-later
"""causewayctl: what it shows, what it orders, how it ends (BL-074, BL-075, BL-079).

Left out, as it belongs to later work: the metrics of BL-079, and what BL-075 says of a reload.
"""

import json
import re
import time

from lab import PLACES, Failure, case, expect, expect_equal, hold_true, wait_for, xfrm
from lab.causeway import binary
from lab.profiles import settings, strongswan_connection

A1, A2, W1, W2 = (PLACES[n] for n in ("A1", "A2", "W1", "W2"))


def site(peer="A1", **settings_):
    """A site of one tunnel."""
    out = {"name": "far", "profile": "azure", "networks": [PLACES[peer].network],
           "tunnels": [{"remote": PLACES[peer].address}]}
    out.update({key.replace("_", "-"): value for key, value in settings_.items()})
    return out


def table(out):
    """{tunnel: (state, what stands beneath it)} of the plain overview."""
    rows, last = {}, None
    for line in out.splitlines():
        words = line.split()
        match = re.match(r"(\S+) +(up|down|ike-only|connecting|waiting|resolving|closing|config-error)"
                         r" +\S", line)
        if match:
            last = match.group(1)
            rows[last] = (match.group(2), "")
        elif last and line.startswith(" ") and words:
            rows[last] = (rows[last][0], (rows[last][1] + " " + " ".join(words)).strip())
        else:
            last = None
    return rows


# BL-079, BL-075.

@case(needs=["vti", "nat"], cost_s=15)
def bl_079_five_states(lab):
    """Five tunnels in five states: all five in the table and in JSON, with equal states; taken down by
    the operator is no error; BL-075: three sites with an error do not touch the others."""
    net = lab.make_net(peers=("A1", "A2", "W1", "W2"))
    lab.peer("A1")
    lab.peer("A2", esp="aes256-sha512")             # IKE is agreed, ESP is not
    lab.peer("W2")
    net.block("ike", "W1")
    g = lab.causeway([
        dict(site("A1"), name="one"),
        dict(site("A2"), name="two", networks=["10.21.0.0/16"]),
        dict(site("W1"), name="three"),
        dict(site("W2"), name="four", networks=["10.31.0.0/16"]),
        dict(site("A1"), name="five", networks=["10.22.0.0/16"], tunnels=[{"remote": "300.1.1.1"}]),
        dict(site("A1"), name="six", networks=["10.23.0.0/16"], tunnels=[{"remote": "203.0.113.77"}],
             **{"esp-proposals": ["aes999-foo"]}),
        dict(site("A1"), name="seven", networks=["10.10.0.0/16"], tunnels=[{"remote": "203.0.113.78"}])])
    g.wait_up("one-1")
    g.wait_up("four-1")
    expect_equal(g.ctl("down", "four-1")[0], 0, "down")
    g.wait_state("down", "four-1")
    wait_for(lambda: g.tunnel("three-1")["attempt"] >= 2, 30, "a second try of three-1")
    g.wait_state("ike-only", "two-1")

    wanted = {"one-1": {"up"}, "two-1": {"ike-only", "connecting", "waiting", "closing"},
              "three-1": {"connecting", "waiting"}, "four-1": {"down"}, "five-1": {"config-error"},
              "six-1": {"config-error"}, "seven-1": {"config-error"}}

    def same():
        rc, plain = g.ctl("status")
        rows = table(plain)
        answer = json.loads(g.ctl("--json", "status")[1])
        states = {t["name"]: t["state"] for t in answer["tunnels"]}
        if {n: r[0] for n, r in rows.items()} != states:
            raise Failure("table %r, JSON %r" % (rows, states))
        return rc, plain, rows, {t["name"]: t for t in answer["tunnels"]}
    rc, plain, rows, tunnels = wait_for(same, 10, "equal states in table and JSON")
    print(plain, flush=True)
    expect_equal(set(rows), set(wanted), "tunnels in the table")
    for name, states in wanted.items():
        expect(rows[name][0] in states, "%s is %s" % (name, rows[name][0]))
    expect_equal(rc, 1, "exit code of status")
    expect(all(len(l) <= 80 for l in plain.splitlines()), "lines over 80 columns:\n" + plain)

    # Each says why in words, and when it goes on.
    expect_equal(rows["one-1"][1], "", "words on the one that is up")
    expect("no common proposal for ESP" in rows["two-1"][1] and "we offered" in rows["two-1"][1],
           rows["two-1"][1])
    expect("does not answer" in rows["three-1"][1] and re.search(r"try \d+", rows["three-1"][1]),
           rows["three-1"][1])
    expect("causewayctl" in rows["four-1"][1] and "try" not in rows["four-1"][1], rows["four-1"][1])
    expect("300.1.1.1" in rows["five-1"][1] and "causeway.conf:" in rows["five-1"][1], rows["five-1"][1])
    expect("aes999-foo" in rows["six-1"][1], rows["six-1"][1])
    expect("networks" in rows["seven-1"][1], rows["seven-1"][1])
    two = tunnels["two-1"]
    if two["state"] == "ike-only":
        expect_equal((two["ike"]["state"], two["children"]), ("established", []), "IKE and child apart")
    expect_equal((tunnels["four-1"]["wanted-up"], tunnels["four-1"]["cause"]["name"]),
                 (False, "operator"), "the one taken down")
    for name in ("five-1", "six-1", "seven-1"):
        expect(tunnels[name]["conf-error"], "%s has no error in JSON" % name)

    # The ones that are well are well, and the check names all three errors.
    lab.expect_traffic("A1")
    rc, out = g.check()
    expect_equal(rc, 1, "exit code of -n")
    for text in ("300.1.1.1", "aes999-foo", "10.10.0.0/16"):
        expect(text in out, "-n does not name %s: %s" % (text, out))
    for name in wanted:
        rc, out = g.ctl("status", name)
        expect_equal(rc, 0 if name in ("one-1", "four-1") else 1, "exit code of status " + name)
        expect(out.startswith(name + ": "), "status %s: %s" % (name, out))
        expect(all(len(l) <= 80 for l in out.splitlines()), "lines over 80 columns:\n" + out)
        print(out, flush=True)
    print(g.ctl("log")[1], flush=True)


@case(needs=["vti"], cost_s=8)
def exit_codes(lab):
    """Each exit code that the manual names, by what brings it about."""
    lab.make_net(peers=("A1", "A2"))
    lab.peer("A1")
    lab.peer("A2")
    g = lab.causeway([dict(site(), name="az", networks=["10.20.0.0/16"],
                           tunnels=[{"remote": p.address} for p in (A1, A2)]),
                      dict(site(), name="bad", networks=["10.29.0.0/16"],
                           tunnels=[{"remote": "300.1.1.1"}]),
                      dict(site(), name="off", networks=["10.28.0.0/16"], enabled=False,
                           tunnels=[{"remote": "203.0.113.80"}])])
    g.wait_up("az-1")
    g.wait_up("az-2")

    def ends(code, words, *argv):
        rc, out = g.ctl(*argv)
        expect_equal(rc, code, "exit code of %r, which said: %s" % (argv, out))
        for word in words:
            expect(word in out, "%r is missing in what %r said: %s" % (word, argv, out))
        return out
    ends(1, ["bad-1"], "status")
    out = ends(0, ["az-1: up", "az-2: up"], "status", "az")
    expect("bad-1" not in out, "status of a site shows others: " + out)
    ends(0, ["az-2: up"], "status", "az-2")
    ends(4, ["no tunnel", "nothere", "az-1, az-2, bad-1, off-1"], "status", "nothere")
    for verb in ("up", "down", "restart"):
        ends(4, ["no tunnel", "nothere"], verb, "nothere")
        ends(4, ["bad-1", "300.1.1.1"], verb, "bad-1")
        ends(4, ["off-1", "enabled = false"], verb, "off-1")
    ends(0, [], "status", "off-1")
    ends(2, ["ike", "child"], "rekey", "az-1")
    ends(2, ["ike", "child"], "rekey", "az-1", "both")
    ends(2, ["unknown command", "start"], "start", "az-1")
    ends(2, ["usage"])
    ends(2, [], "log", "-n", "many")
    ends(0, ["causewayctl", "causewayd", "libcharon", "kernel"], "version")
    version = json.loads(ends(0, [], "--json", "version"))
    expect(version["ok"] and version["version"], "version in JSON: %r" % version)
    lines = ends(0, ["up: IKEv2 with 203.0.113.11"], "log").splitlines()
    newest = ends(0, [], "log", "-n", "2").splitlines()
    expect_equal(newest, lines[-2:], "the two newest lines of the log")
    ends(0, ["az-1: rekey child"], "rekey", "az-1", "child")
    ends(0, [], "down", "az-2")
    g.wait_state("down", "az-2")
    ends(4, ["az-2", "no IKE_SA"], "rekey", "az-2", "ike")
    # An answer of the daemon's refusal is JSON too.
    said = g.ctl("--json", "up", "nothere")[1].splitlines()
    answer = json.loads(next(l for l in said if l.startswith("{")))
    expect_equal((answer["ok"], bool(answer["error"])), (False, True), "a refusal in JSON")
    expect_equal(g.stop(), 0, "exit code")
    ends(3, ["Is it running?", "/run/causeway/control.sock"], "status")


@case(needs=["vti"], cost_s=6)
def who_may(lab):
    """Another user may not ask, one of the socket's group may ask and not order."""
    net = lab.net
    lab.peer("A1")
    g = lab.causeway([site()])
    g.wait_up()

    def as_(user, group, *words):
        return net.G.rc(["setpriv", "--reuid", str(user), "--regid", str(group), "--clear-groups",
                         binary("causewayctl"), "-s", "/run/causeway/control.sock"] + list(words))
    net.G.run(["chgrp", "4242", "/run/causeway/control.sock"])
    net.G.run(["chmod", "755", "/run/causeway"])
    rc, out = as_(4000, 4000, "status")
    expect_equal(rc, 3, "exit code of a stranger; it was told: " + out)
    print(out, flush=True)
    rc, out = as_(4000, 4242, "status")
    expect_equal(rc, 0, "exit code of a member's question; it was told: " + out)
    rc, out = as_(4000, 4242, "down", "far-1")
    expect_equal(rc, 4, "exit code of a member's order; it was told: " + out)
    print(out, flush=True)
    expect_equal(g.tunnel()["state"], "up", "the tunnel")


# Orders.

def spis(g, remote=A1.address):
    """SPIs of a peer's SAs in our kernel."""
    return {s.spi for way in g.kernel_pairs(remote) for s in way}


@case(needs=["vti"], cost_s=12)
def orders(lab):
    """down, up, restart and both rekeys do what they say, as the peer sees it."""
    net = lab.net
    a1 = lab.peer("A1")
    g = lab.causeway([site()])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    ping = net.start_ping("lan", A1.host, 0.05)
    for what in ("child", "ike"):
        old = spis(g) if what == "child" else {a1.sas()[0]["responder-spi"]}
        expect_equal(g.ctl("rekey", "far-1", what)[0], 0, "rekey " + what)
        wait_for(lambda: not old & (spis(g) if what == "child" else
                                    {s["responder-spi"] for s in a1.sas()}), 10, "new keys of " + what)
        lab.expect_one_pair()
    lost = net.stop_ping(ping)[2]
    expect_equal([run for run in lost if run[1] > run[0]], [], "pings lost by the rekeys")
    old = spis(g)
    expect_equal(g.ctl("restart", "far-1")[0], 0, "restart")
    wait_for(lambda: spis(g) and not old & spis(g), 10, "new SAs")
    g.wait_up()
    lab.expect_one_pair()
    expect_equal(g.ctl("down", "far-1")[0], 0, "down")
    a1.wait_down(5)
    g.wait_state("down")
    expect_equal(xfrm.states(net.G), [], "SAs when down")
    # The peer may not bring it up meanwhile.
    a1.initiate("net")
    hold_true(lambda: g.tunnel()["state"] == "down" and not spis(g), 3, "being down")
    expect_equal(net.ping("lan", A1.host, 1, wait_s=0.5), 0, "answers when down")
    expect_equal(g.ctl("up", "far-1")[0], 0, "up")
    g.wait_up()
    net.wait_ping("lan", A1.host)
    lab.expect_one_pair()
    wait_for(lambda: len(a1.sas()) == 1, 10, "one IKE_SA at A1")


@case(needs=["vti", "nat"], cost_s=20)
def bl_074_restart_and_down_at_any_time(lab):
    """restart while up, while connecting, twice within 100 ms, with the peer dead; down while
    connecting sticks, also when the peer is there again."""
    net = lab.net
    a1 = lab.peer("A1")
    g = lab.causeway([site()])
    g.wait_up()

    def once(what):
        g.wait_up(timeout_s=15)
        lab.expect_one_pair()
        wait_for(lambda: len(a1.sas()) == 1 and len(a1.children()) == 1, 10,
                 what + ": one IKE_SA with one child at A1")
        lab.expect_traffic()
    for _ in range(3):
        g.order("restart", "far-1")
        g.order("restart", "far-1")         # an order takes a few ms
    once("twice within 100 ms")
    for verb in ("down", "up", "down", "up", "restart", "down", "restart"):
        g.order(verb, "far-1")
    once("to and fro")
    token = net.block("ike")
    g.order("restart", "far-1")
    g.wait_state("connecting")
    g.order("restart", "far-1")
    wait_for(lambda: g.tunnel()["state"] in ("connecting", "waiting"), 10, "new tries")
    net.unblock(token)
    once("restart while connecting")
    a1.kill9()
    g.order("restart", "far-1")
    wait_for(lambda: g.tunnel()["state"] in ("connecting", "waiting"), 10, "tries with the peer dead")
    expect_equal(xfrm.states(net.G), [], "SAs with a dead peer after a restart")
    expect_equal(g.ctl("down", "far-1")[0], 0, "down while connecting")
    g.wait_state("down", timeout_s=5)
    a1.restart()
    hold_true(lambda: g.tunnel()["state"] == "down", 4, "down, with the peer there again")
    expect_equal(a1.sas(), [], "IKE_SAs at A1")
    g.order("restart", "far-1")
    once("restart of one that is down")


# Many.

COUNT = 100


@case(needs=["vti"], cost_s=40, timeout_s=240, memcheck=False)
def hundred_tunnels(lab):
    """A hundred tunnels at once: all come up, each with its own pair and interface; status shows all of
    them; the first and the last carry. Time and memory are printed."""
    net = lab.net
    a1 = lab.peer("A1", options={"cfg_log": 0})
    far = ["203.0.114.%d" % n for n in range(1, COUNT + 1)]
    lines, routes = [], []
    for number, address in enumerate(far):
        lines.append("addr add %s/32 dev wan0" % address)
        routes.append("route add %s/32 dev a1" % address)
    for number in (0, COUNT - 1):
        key = 1000 + number
        lines += ["link add many%d type vti local %s remote 198.51.100.10 key %d" % (
            number, far[number], key), "link set many%d up mtu 1400" % number,
            "addr add 10.100.%d.1/32 dev vnet0" % number,
            "route add 10.10.0.%d/32 dev many%d" % (4 + number, number)]
        if number:
            net.lan.ip("addr add 10.10.0.%d/32 dev eth0" % (4 + number))
    net["A1"].ip("\n".join(lines))
    net.net.ip("\n".join(routes))
    for number in (0, COUNT - 1):
        net["A1"].sysctl("net/ipv4/conf/many%d/disable_policy" % number, 1)
    for number, address in enumerate(far):
        conf = settings("azure")
        a1.add("many%d" % number, strongswan_connection(address, "198.51.100.10", conf, 1000 + number),
               lab.psk, [address, "198.51.100.10"])
    # Each its own network, so that each has its own routes.
    sites = [{"name": "m%d" % n, "profile": "azure", "networks": ["10.100.%d.0/24" % n],
              "tunnels": [{"remote": address}]} for n, address in enumerate(far)]
    g = lab.causeway(sites, start=False)
    start = time.monotonic()
    g.start()
    ready = time.monotonic()

    def all_up():
        states = [t["state"] for t in g.status()["tunnels"]]
        if states.count("up") != COUNT:
            raise Failure("%d of %d are up" % (states.count("up"), len(states)))
        return True
    wait_for(all_up, 60, "all to be up", poll_s=0.2)
    done = time.monotonic()
    with open("/proc/%d/status" % g.process.pid, encoding="ascii") as file:
        memory = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
    print("%d tunnels: answers after %.2f s, all up after %.2f s, %d KiB resident" % (
        COUNT, ready - start, done - start, memory), flush=True)
    states = xfrm.states(net.G)
    expect_equal(len(states), 2 * COUNT, "SAs in the kernel")
    expect_equal(len({s.mark for s in states if s.dst in far}), COUNT, "marks of the SAs out")
    expect_equal(len({s.reqid for s in states}), COUNT, "reqids of the SAs")
    rc, out = g.ctl("status")
    expect_equal(rc, 0, "exit code of status")
    rows = table(out)
    expect_equal((len(rows), {r[0] for r in rows.values()}), (COUNT, {"up"}), "rows of status")
    for number in (0, COUNT - 1):
        rc, out = net.lan.rc(["ping", "-n", "-c", "2", "-i", "0.2", "-I", "10.10.0.%d" % (4 + number),
                              "10.100.%d.1" % number])
        expect_equal(rc, 0, "ping through tunnel %d: %s" % (number + 1, out))
    asked = time.monotonic()
    for _ in range(10):
        g.status()
    print("a status takes %.0f ms" % ((time.monotonic() - asked) * 100), flush=True)
    stopped = time.monotonic()
    expect_equal(g.stop(), 0, "exit code")
    print("stopped after %.2f s" % (time.monotonic() - stopped), flush=True)
    expect(time.monotonic() - stopped <= 5, "it took %.1f s to stop" % (time.monotonic() - stopped))
    g.expect_clean()
    a1.wait_down()


THOUSAND = 1000


@case(needs=["vti"], cost_s=40, timeout_s=240)
def thousand_tunnels(lab):
    """A thousand tunnels whose peers are silent: the control socket answers all the while, all interfaces
    come, and status shows all of them. Times are printed; what an event costs is counted by
    tests/unit/test_gateway.c, since a shared machine's clock proves little."""
    lab.make_net(peers=("A1",))
    sites = [{"name": "m%d" % n, "profile": "azure", "networks": ["10.%d.%d.0/24" % (100 + n // 250, n % 250)],
              "tunnels": [{"remote": "203.0.%d.%d" % (114 + n // 250, 1 + n % 250)}]} for n in range(THOUSAND)]
    g = lab.causeway(sites, start=False)
    start = time.monotonic()
    g.start()
    ready = time.monotonic()
    waits = []

    def all_there():
        asked = time.monotonic()
        expect(g.ask(cmd="version")["ok"], "no version")
        waits.append(time.monotonic() - asked)
        with open("/proc/%d/net/dev" % g.process.pid, encoding="ascii") as file:
            links = sum(line.lstrip().startswith("cw-m") for line in file)
        if links != THOUSAND:
            raise Failure("%d of %d interfaces" % (links, THOUSAND))
        return True
    wait_for(all_there, 90, "all interfaces to be there", poll_s=0.1)
    done = time.monotonic()
    asked = time.monotonic()
    tunnels = g.status()["tunnels"]
    status_s = time.monotonic() - asked
    expect_equal(len(tunnels), THOUSAND, "tunnels in status")
    expect(not {t["state"] for t in tunnels} - {"connecting", "waiting"},
           "states %r" % {t["state"] for t in tunnels})
    waits.sort()
    print("%d tunnels: ready after %.2f s, all interfaces after %.2f s, status in %.2f s; of %d answers "
          "meanwhile the median took %.3f s, the longest %.2f s" % (
              THOUSAND, ready - start, done - start, status_s, len(waits), waits[len(waits) // 2], waits[-1]),
          flush=True)
    expect(waits[len(waits) // 2] <= 1, "the control socket's median answer took %.2f s" % waits[len(waits) // 2])
    stopped = time.monotonic()
    expect_equal(g.stop(), 0, "exit code")
    print("stopped after %.2f s" % (time.monotonic() - stopped), flush=True)
    g.expect_clean()


@case(needs=["vti"], cost_s=10)
def scarce(lab):
    """Few descriptors: what is said is that, and not something else. Little address space: it runs."""
    lab.peer("A1")
    g = lab.causeway(start=False)
    conf = g.write_conf()

    def limited(limit):
        return ["sh", "-c", "ulimit %s; exec %s -f %s" % (limit, binary("causewayd"), conf)]
    for limit, words in (("-n 8", "Too many open files"), ("-n 16", "with at most 16 open files")):
        rc, out = lab.net.G.rc(limited(limit))
        expect_equal(rc, 5, "exit code with ulimit %s, which said: %s" % (limit, out))
        expect(words in out and "installed" not in out, "what ulimit %s says: %s" % (limit, out))
    g.process = g.host.start("causewayd", limited("-v 100000"))
    g.wait_up()
    lab.expect_traffic()
    expect_equal(g.stop(), 0, "exit code with ulimit -v")
    g.expect_clean()
