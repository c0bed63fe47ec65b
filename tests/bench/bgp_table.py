# SPDX-License-Identifier: GPL-2.0-or-later
"""Learning N routes from one peer and losing them again: causeway, BIRD 2, FRR, OpenBGPD and GoBGP.

A sender with prepared octets (bgp_replay.c) gives each contestant the same table, in turns. What is
measured, from the sender's first octet on:
  rib       the daemon says that it has all prefixes: asked over its socket, about 25 times in all
  fib       all prefixes are in the kernel, by the kernel's own notifications
  rib-gone  from the first octet of the withdrawal: the daemon says that it has none
  fib-gone  none is in the kernel any more
  cpu       of all its processes, for both
  rss       peak, of all its processes
Usage: bgp_table.py FOLDER ROUNDS SIZE,SIZE...|"" GOBGP|""
"""

import json
import os
import platform
import re
import select
import socket
import statistics
import subprocess
import sys
import time

from bgp import Bird, Causeway, Frr, Gobgp, Openbgpd
from bgp.world import World
from lab import Failure, Skip

HERE = os.path.dirname(os.path.realpath(__file__))
SIZES = (4000, 100000, 500000)
LIMIT_S = 180
MEASURES = (("rib", "s"), ("fib", "s"), ("rib-gone", "s"), ("fib-gone", "s"), ("cpu", "s"), ("rss", "MB"))


class Line:
    """A child that is told and tells single lines."""

    def __init__(self, host, argv):
        with host.inside():
            self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                          bufsize=1)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.rest = ""

    def tell(self, word):
        """Send a line."""
        self.child.stdin.write(word + "\n")
        self.child.stdin.flush()

    def hear(self, limit_s):
        """(word, number) of the next line, or None when there is none in that time."""
        end = time.monotonic() + limit_s
        while "\n" not in self.rest:
            wait = end - time.monotonic()
            if wait < 0 or not select.select([self.child.stdout], [], [], wait)[0]:
                return None
            said = os.read(self.child.stdout.fileno(), 4096).decode()
            if not said:
                raise Failure("bgp_replay has ended")
            self.rest += said
        line, self.rest = self.rest.split("\n", 1)
        word, number = line.split()
        return word, int(number)

    def wait(self, wanted, limit_s=LIMIT_S):
        """The number of the line that begins with a word."""
        said = self.hear(limit_s)
        if not said or said[0] != wanted:
            raise Failure("waited for %r, got %r" % (wanted, said))
        return said[1]

    def end(self):
        """Close its input, at which it ends."""
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()


# How each is asked for the number of prefixes that it has from the peer: over its own socket where
# that is plain enough, so that nothing but the answer costs time.

def socket_of(daemon, path):
    """A connection to a daemon's Unix socket."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(LIMIT_S)
    sock.connect(daemon.host.root(path))
    return sock


def ask_bird(daemon):
    """A function that asks BIRD."""
    sock = socket_of(daemon, "/run/bird/bird.ctl")
    sock.recv(4096)

    def count():
        sock.sendall(b"show protocols all peer\n")
        said = b""
        while b"\n0000 " not in said:
            said += sock.recv(65536)
        return int(re.search(rb"Routes:\s+(\d+) imported", said).group(1))
    return count


def ask_frr(daemon):
    """A function that asks FRR's bgpd as vtysh does: a command that ends with 0; three 0 and a code end
    the answer."""
    sock = socket_of(daemon, "/run/frr/bgpd.vty")

    def say(command):
        sock.sendall(command + b"\0")
        said = b""
        while b"\0\0\0" not in said[-4:-1]:
            said += sock.recv(65536)
        return said[:-4]
    say(b"enable")

    def count():
        said = json.loads(say(b"do show bgp ipv4 unicast summary json") or b"{}")
        return said["peers"][daemon.session.peer]["pfxRcd"]
    return count


def ask_openbgpd(daemon):
    """A function that asks OpenBGPD."""
    def count():
        said = json.loads(daemon.bgpctl("-j", "show", "neighbor", daemon.session.peer))
        return said["neighbors"][0]["stats"]["prefixes"]["received"]
    return count


def ask_gobgp(daemon):
    """A function that asks GoBGP."""
    def count():
        said = json.loads(daemon.gobgp("neighbor", daemon.session.peer, "-j"))
        return said["afi_safis"][0]["state"].get("received", 0)
    return count


def ask_causeway(daemon):
    """A function that asks causeway."""
    return lambda: daemon.neighbour()["ipv4"]["received"]


CONTESTANTS = (("causeway", Causeway, ask_causeway), ("BIRD", Bird, ask_bird), ("FRR", Frr, ask_frr),
               ("OpenBGPD", Openbgpd, ask_openbgpd), ("GoBGP", Gobgp, ask_gobgp))


def poll_until(ask, wanted, watcher, words, limit_s, step_s):
    """Ask until the answer is wanted, and listen to the watcher; {"rib": T, word: T} in ns."""
    found = {}
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if "rib" not in found:
            # The answer is of a moment between the question and now.
            if ask() == wanted:
                found["rib"] = time.monotonic_ns()
        said = watcher.hear(step_s)
        if said and said[0] == "lost":
            raise Failure("the kernel's notifications did not all fit")
        if said:
            found[said[0]] = said[1]
        if "rib" in found and all(word in found for word in words):
            return found
    raise Failure("not done within %d s: only %s" % (limit_s, " ".join(found) or "nothing"))


def settled_usage(daemon):
    """(CPU seconds, peak KiB) once the daemon is at rest."""
    last = daemon.usage()
    while True:
        time.sleep(0.3)
        now = daemon.usage()
        if now[0] - last[0] < 0.02:
            return now
        last = now


def measure(folder, kind, make_ask, size, replay):
    """One contestant, one time: {measure: value}."""
    world = World(folder)
    try:
        session = world.session(passive=True, hold_s=240)
        daemon = kind(world.us, session, fib=True)
        watcher = Line(world.us, [replay, "watch", str(size)])
        watcher.wait("ready")
        daemon.start()
        theirs = world.theirs(session)
        sender = Line(world.them, [replay, "send", str(size), theirs.local, theirs.peer, str(theirs.asn)])
        sender.wait("up")
        daemon.wait_established()
        ask = make_ask(daemon)
        ask()
        before = settled_usage(daemon)
        has_fib = "fib" in daemon.features
        # A step that grows with the size: about 25 questions for the quick ones.
        step_s = 0.004 if size <= 4000 else size / 500000 * 0.15
        sender.tell("announce")
        begin = sender.wait("begin")
        found = poll_until(ask, size, watcher, ["full"] if has_fib else [], LIMIT_S, step_s)
        sender.wait("sent")
        out = {"rib": (found["rib"] - begin) / 1e9}
        if has_fib:
            out["fib"] = (found["full"] - begin) / 1e9
        settled_usage(daemon)
        sender.tell("withdraw")
        begin = sender.wait("begin")
        found = poll_until(ask, 0, watcher, ["empty"] if has_fib else [], LIMIT_S, step_s)
        sender.wait("sent")
        out["rib-gone"] = (found["rib"] - begin) / 1e9
        if has_fib:
            out["fib-gone"] = (found["empty"] - begin) / 1e9
        after = settled_usage(daemon)
        out["cpu"] = after[0] - before[0]
        out["rss"] = after[1] / 1000
        sender.end()
        watcher.end()
        return out
    finally:
        world.close()


def version(kind):
    """A contestant's version, by its own words."""
    if kind is Causeway:
        build = os.environ.get("CW_BUILD", "build")
        words = [os.path.join(build, "causewayd"), "-V"]
    else:
        words = {Bird: ["/usr/sbin/bird", "--version"], Frr: ["/usr/lib/frr/bgpd", "-v"],
                 Gobgp: ["/usr/bin/gobgpd", "--version"], Openbgpd: ["/usr/sbin/bgpd", "-V"]}[kind]
    world = World(sys.argv[1])
    try:
        return world.us.rc(words)[1].strip().split("\n")[0]
    except OSError as why:
        return str(why)
    finally:
        world.close()


def table(size, results):
    """Print the medians of one size, and how many times the best each is."""
    print("%d prefixes" % size)
    print("  %-10s" % "" + "".join("%19s" % ("%s (%s)" % m) for m in MEASURES))
    medians = {name: {m: statistics.median(r[m] for r in rounds) for m, _ in MEASURES if m in rounds[0]}
               for name, rounds in results.items()}
    best = {m: min((v[m] for v in medians.values() if m in v), default=None) for m, _ in MEASURES}
    for name, values in medians.items():
        row = "  %-10s" % name
        for measure_name, unit in MEASURES:
            if measure_name not in values:
                row += "%19s" % "-"
                continue
            value = values[measure_name]
            row += "%19s" % ("%.*f %6.2fx" % (1 if unit == "MB" else 3, value,
                                              value / max(best[measure_name], 0.001)))
        print(row)
    return medians


def main():
    """Measure, print, keep."""
    folder, rounds = sys.argv[1], int(sys.argv[2])
    sizes = [int(s) for s in sys.argv[3].split(",")] if sys.argv[3] else SIZES
    replay = os.path.join(folder, "bgp_replay")
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu17", "-O2", "-o", replay,
                    os.path.join(HERE, "bgp_replay.c")], check=True)
    kept = {"kernel": platform.release(), "cpus": os.cpu_count(), "versions": {}, "tables": {}, "sizes": {}}
    print("learning routes from one peer, %d rounds each, Linux %s, %d processors" % (
        rounds, platform.release(), os.cpu_count()))
    contestants = []
    for name, kind, ask in CONTESTANTS:
        if name == "GoBGP" and not sys.argv[4]:
            continue
        kept["versions"][name] = version(kind)
        contestants.append((name, kind, ask))
    for size in sizes:
        kept["tables"][size] = subprocess.run([replay, "sum", str(size)], check=True, text=True,
                                              stdout=subprocess.PIPE).stdout.strip()
        results, out_of_it = {}, {}
        for number in range(rounds):
            for name, kind, ask in contestants if number % 2 == 0 else reversed(contestants):
                if name in out_of_it:
                    continue
                try:
                    results.setdefault(name, []).append(measure(folder, kind, ask, size, replay))
                except Skip as why:
                    out_of_it[name] = str(why)
                except Failure as why:
                    out_of_it[name] = "failed: %s" % why
        results = {name: results[name] for name, _, _ in contestants if results.get(name)}
        medians = table(size, results)
        for name, why in out_of_it.items():
            print("  %s: %s" % (name, why))
        kept["sizes"][size] = {"rounds": results, "medians": medians, "without": out_of_it}
        with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as out:
            json.dump(kept, out, indent=1)
    for name, text in kept["versions"].items():
        print("  %-10s %s" % (name, text))


if __name__ == "__main__":
    main()
