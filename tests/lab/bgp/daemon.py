# SPDX-License-Identifier: GPL-2.0-or-later
"""What all BGP daemons of the lab have in common: one session's settings, routes, and a daemon.

A Daemon has exactly one neighbour. Its settings are a Session, and the other side's are the mirror
of it, so that a test writes them once. Routes that it is to announce are Routes; what it has
received is a table {prefix: Learned}; sent() is the table that its neighbour should have.
"""

import dataclasses
import os
import shutil
import signal

from lab import Skip
from lab.wait import Dead, Failure, wait_for

@dataclasses.dataclass(frozen=True)
class Session:
    """One side of a session."""

    asn: int
    peer_asn: int
    router_id: str
    local: str                  # our address
    peer: str                   # the neighbour's
    device: str = "bgp0"        # where the neighbour is
    next_hop6: str = ""         # ours for IPv6 routes, when the session is over IPv4
    passive: bool = False       # wait for the neighbour to connect
    md5: str = ""
    families: tuple = ("ipv4",)
    ttl: int = 1                # 1: the neighbour is on the link; else multihop
    hold_s: int = 90
    gr_s: int = 0               # restart time of graceful restart; 0: off
    as4: bool = True            # 4-octet AS numbers


def mirror(session, router_id, next_hop6="", **changes):
    """The other side's settings."""
    return dataclasses.replace(session, **dict({
        "asn": session.peer_asn, "peer_asn": session.asn, "router_id": router_id,
        "local": session.peer, "peer": session.local, "next_hop6": next_hop6}, **changes))


@dataclasses.dataclass(frozen=True)
class Route:
    """A route to announce. path: AS numbers behind the announcer's own."""

    prefix: str
    med: int = None             # None: without
    communities: tuple = ()     # "65000:1"
    large: tuple = ()           # "65000:1:2"
    path: tuple = ()

    @property
    def family(self):
        """ "ipv4" or "ipv6"."""
        return "ipv6" if ":" in self.prefix else "ipv4"


@dataclasses.dataclass(frozen=True)
class Learned:
    """A route as received."""

    next_hop: str
    path: tuple = ()
    med: int = None
    communities: tuple = ()
    large: tuple = ()


def expected(routes, session, default_med=None):
    """The table that the neighbour of `session` should have for these routes."""
    out = {}
    for route in routes:
        hop = session.local
        if route.family == "ipv6" and ":" not in hop:
            hop = session.next_hop6
        out[route.prefix] = Learned(hop, (session.asn,) + route.path,
                                    default_med if route.med is None else route.med,
                                    tuple(sorted(route.communities)), tuple(sorted(route.large)))
    return out


def difference(got, wanted, most=3):
    """The first differences between two tables in words, or ""."""
    out = []
    for prefix in sorted(set(got) | set(wanted)):
        if prefix not in got:
            out.append("%s is missing" % prefix)
        elif prefix not in wanted:
            out.append("%s is too much: %r" % (prefix, got[prefix]))
        elif got[prefix] != wanted[prefix]:
            out.append("%s is %r, not %r" % (prefix, got[prefix], wanted[prefix]))
        if len(out) > most:
            break
    if not out:
        return ""
    return "%d routes, wanted %d: %s" % (len(got), len(wanted), "; ".join(out))


class Daemon:
    """One BGP daemon on a host. Subclasses know its files and its commands."""

    name = "none"
    programs = ()               # without them it can't run here
    features = frozenset()      # of "fib", "gr-helper", "gr-restarter", "as2", "ask-refresh", ...
    default_med = None          # what it sends for a route without
    settle_s = 0                # how long a prefix that was changed must be left alone
    reconnect_s = 15            # it is back within that time after a session was lost

    def __init__(self, host, session, fib=False):
        self.host, self.session, self.fib = host, session, fib
        self.routes = {}        # what it is to announce: {prefix: Route}
        self.processes = []
        missing = [p for p in self.programs if not os.path.exists(host.root(p))]
        if missing:
            raise Skip("%s is not here: no %s (./run deps brings it where the distribution has it)"
                       % (self.name, missing[0]))
        self.prepare()

    # What a subclass does.

    def prepare(self):
        """Make users and folders, once."""

    def write_conf(self):
        """Write all files for self.session and self.routes."""
        raise NotImplementedError

    def launch(self):
        """Start the processes; returns when they take commands."""
        raise NotImplementedError

    def apply(self, added, removed):
        """Announce and withdraw while running; self.routes is new already."""
        raise NotImplementedError

    def state(self):
        """The session's state, "Established" when it is up; Failure when it can't be asked."""
        raise NotImplementedError

    def table(self):
        """{prefix: Learned}: what was received from the neighbour, of all families."""
        raise NotImplementedError

    def last_sent(self):
        """(code, subcode) of the last NOTIFICATION it has sent; None when it can't be asked."""

    def ask_refresh(self):
        """Send ROUTE-REFRESH to the neighbour for every family."""
        raise NotImplementedError

    def nudge(self):
        """Make it try again now, where its own pause after a loss is long."""

    # What all do alike.

    def spawn(self, name, argv, env=None):
        """Start one process of the daemon."""
        process = self.host.start(name, argv, env)
        self.processes.append(process)
        return process

    def check_alive(self):
        """Dead when one of its processes has ended."""
        for process in self.processes:
            if not process.alive():
                raise Dead("%s ended with %d: %s" % (process.name, process.popen.returncode,
                                                     process.text().strip()[-400:]))

    def start(self, routes=()):
        """Start it with routes to announce."""
        self.routes.update((r.prefix, r) for r in routes)
        self.write_conf()
        self.launch()
        return self

    def stop(self):
        """End it in order."""
        for process in reversed(self.processes):
            process.stop()
        self.processes = []

    def kill9(self):
        """End it by force."""
        for pid in self.tree():
            _signal(pid, signal.SIGKILL)
        for process in self.processes:
            process.kill9()
        self.processes = []

    def pause(self):
        """It neither reads nor writes from now on."""
        for pid in self.tree():
            _signal(pid, signal.SIGSTOP)

    def resume(self):
        """End of pause()."""
        for pid in self.tree():
            _signal(pid, signal.SIGCONT)

    def tree(self):
        """Process ids of the daemon and of its children."""
        out = [p.pid for p in self.processes if p.alive()]
        for pid in out:
            try:
                for task in os.listdir("/proc/%d/task" % pid):
                    with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as file:
                        out.extend(int(word) for word in file.read().split())
            except FileNotFoundError:
                pass
        return out

    def announce(self, routes):
        """Announce routes, new or in place of others with these prefixes."""
        self.routes.update((r.prefix, r) for r in routes)
        self.apply(list(routes), [])

    def withdraw(self, prefixes):
        """Withdraw routes."""
        gone = [self.routes.pop(p) for p in prefixes]
        self.apply([], gone)

    def established(self):
        """True when the session is up."""
        self.check_alive()
        state = self.state()
        if state != "Established":
            raise Failure("%s says %s" % (self.name, state))
        return True

    def wait_established(self, timeout_s=20):
        """Wait until the session is up."""
        wait_for(self.established, timeout_s, "a session of %s" % self.host.name)

    def wait_down(self, timeout_s=15, strict=False):
        """Wait until the session is not up."""
        def down():
            self.check_alive()
            return self.state() != "Established"
        wait_for(down, timeout_s, "%s to see the session end" % self.host.name, strict)

    def sent(self):
        """The table that the neighbour should have."""
        return expected([r for r in self.routes.values() if r.family in self.session.families],
                        self.session, self.default_med)

    def see(self, learned):
        """A Learned as this daemon's table would show it."""
        return learned

    def wait_table(self, wanted, timeout_s=20):
        """Wait until the received table is equal to {prefix: Learned}."""
        wanted = {prefix: self.see(learned) for prefix, learned in wanted.items()}

        def equal():
            why = difference(self.table(), wanted)
            if why:
                raise Failure(why)
            return True
        wait_for(equal, timeout_s, "the table of %s" % self.host.name, poll_s=0.1)

    def usage(self):
        """(CPU seconds, peak resident KiB) of all its processes so far."""
        cpu = memory = 0
        for pid in self.tree():
            for task in os.listdir("/proc/%d/task" % pid):
                # nanoseconds on a processor; utime and stime have steps of 10 ms
                with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as file:
                    cpu += int(file.read().split()[0]) / 1e9
            with open("/proc/%d/status" % pid, encoding="ascii") as file:
                memory += next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)
        return cpu, memory


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def add_user(host, name, home="/run", members=""):
    """An account in the host's own /etc, and a group of the same name."""
    number = 900 + sum(name.encode()) % 90
    with open(host.root("/etc/passwd"), "a+", encoding="ascii") as file:
        file.seek(0)
        if any(line.startswith(name + ":") for line in file):
            return
        file.write("%s:x:%d:%d::%s:/usr/sbin/nologin\n" % (name, number, number, home))
    with open(host.root("/etc/group"), "a", encoding="ascii") as file:
        file.write("%s:x:%d:%s\n" % (name, number, members))


def own(host, path, user):
    """Make a folder of a host and give it to a user."""
    outside = host.root(path)
    os.makedirs(outside, exist_ok=True)
    with open(host.root("/etc/passwd"), encoding="ascii") as file:
        number = next(int(line.split(":")[2]) for line in file if line.startswith(user + ":"))
    shutil.chown(outside, number, number)
    return path
