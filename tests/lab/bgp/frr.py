# SPDX-License-Identifier: GPL-2.0-or-later
"""FRR: zebra and bgpd, asked by vtysh."""

import json
import os

from lab.wait import Failure, wait_for

from .daemon import Daemon, Learned, add_user

FOLDER = "/run/frr"
LIB = "/usr/lib/frr/"


class Frr(Daemon):
    """bgpd with zebra under it. Without fib bgpd keeps its routes to itself."""

    name = "frr"
    programs = (LIB + "bgpd", LIB + "zebra", "/usr/bin/vtysh")
    default_med = 0
    features = frozenset(("fib", "gr-helper", "gr-restarter", "ask-refresh", "answer-refresh", "ipv6"))

    def prepare(self):
        add_user(self.host, "frr")
        add_user(self.host, "frrvty", members="root")
        os.makedirs(self.host.root(FOLDER), exist_ok=True)
        self.host.write("/etc/frr/vtysh.conf", "")
        self.host.write("/etc/pam.d/frr", "auth sufficient pam_rootok.so\naccount sufficient pam_rootok.so\n")
        self.maps = {}

    def write_conf(self):
        s = self.session
        lines = ["log stdout", "router bgp %d" % s.asn, " bgp router-id %s" % s.router_id,
                 " no bgp ebgp-requires-policy", " no bgp network import-check",
                 " no bgp default ipv4-unicast", " no bgp suppress-duplicates"]
        if s.gr_s:
            lines += [" bgp graceful-restart", " bgp graceful-restart restart-time %d" % s.gr_s,
                      " bgp graceful-restart preserve-fw-state"]
        lines += [" neighbor %s %s" % (s.peer, words) for words in (
            "remote-as %d" % s.peer_asn, "advertisement-interval 0",
            "timers %d %d" % (max(1, s.hold_s // 3), s.hold_s), "timers connect 1")]
        if s.passive:
            lines.append(" neighbor %s passive" % s.peer)
        if s.md5:
            lines.append(" neighbor %s password %s" % (s.peer, s.md5))
        if s.ttl > 1:
            lines.append(" neighbor %s ebgp-multihop %d" % (s.peer, s.ttl))
        lines.append(" neighbor %s update-source %s" % (s.peer, s.local))
        self.maps = {}
        maps = []
        for family in s.families:
            lines += [" address-family %s unicast" % family, "  neighbor %s activate" % s.peer]
            for route in self.routes.values():
                if route.family == family:
                    lines.append("  network %s%s" % (route.prefix, self._map(route, maps)))
            lines.append(" exit-address-family")
        self.host.write(FOLDER + "/bgpd.conf", "\n".join(maps + lines) + "\n", 0o640)
        self.host.write(FOLDER + "/zebra.conf", "log stdout\n")

    def _map(self, route, lines):
        """The words that name a route-map with a route's attributes; a new one goes to lines."""
        key = (route.med, route.communities, route.large, route.path)
        if key == (None, (), (), ()):
            return ""
        if key not in self.maps:
            self.maps[key] = "attributes-%d" % len(self.maps)
            lines.append("route-map %s permit 10" % self.maps[key])
            if route.med is not None:
                lines.append(" set metric %d" % route.med)
            if route.communities:
                lines.append(" set community " + " ".join(route.communities))
            if route.large:
                lines.append(" set large-community " + " ".join(route.large))
            if route.path:
                lines.append(" set as-path prepend " + " ".join(str(n) for n in route.path))
            lines.append("exit")
        return " route-map " + self.maps[key]

    def launch(self):
        common = ["-u", "root", "-g", "root", "-A", "127.0.0.1", "-P", "0"]
        self.spawn("zebra", [LIB + "zebra", "-f", FOLDER + "/zebra.conf"] + common +
                   (["-K", "60"] if self.session.gr_s else []))
        wait_for(lambda: os.path.exists(self.host.root(FOLDER + "/zserv.api")), 20, "zebra's socket")
        self.spawn("bgpd", [LIB + "bgpd", "-f", FOLDER + "/bgpd.conf"] + common +
                   ([] if self.fib else ["-n"]))
        wait_for(lambda: self.check_alive() or self.vtysh("show bgp summary"), 20, "bgpd to answer")

    def vtysh(self, command):
        """The answer to a command."""
        rc, said = self.host.rc(["/usr/bin/vtysh", "-d", "bgpd", "-c", command])
        if rc != 0 or "failed to connect" in said:
            raise Failure("vtysh %s: %s" % (command, said.strip()))
        return said

    def ask(self, command):
        """The answer to a command as JSON."""
        said = self.vtysh(command + " json")
        try:
            return json.loads(said)
        except ValueError:
            raise Failure("vtysh %s: %s" % (command, said.strip()[-200:])) from None

    def apply(self, added, removed):
        maps, lines = [], []
        for family in self.session.families:
            lines.append(" address-family %s unicast" % family)
            lines += ["  no network " + r.prefix for r in removed if r.family == family]
            lines += ["  network %s%s" % (r.prefix, self._map(r, maps)) for r in added
                      if r.family == family]
            lines.append(" exit-address-family")
        self.host.write(FOLDER + "/change.conf", "\n".join(
            maps + ["router bgp %d" % self.session.asn] + lines) + "\n")
        rc, said = self.host.rc(["/usr/bin/vtysh", "-d", "bgpd", "-f", FOLDER + "/change.conf"])
        if rc != 0 or "%" in said:
            raise Failure("vtysh -f: " + said.strip()[-300:])

    def state(self):
        return self.ask("show bgp neighbors %s" % self.session.peer)[self.session.peer]["bgpState"]

    def table(self):
        out = {}
        for family in self.session.families:
            shown = json.loads(self.vtysh("show bgp %s unicast json detail" % family))
            for prefix, paths in shown.get("routes", {}).items():
                for path in paths:
                    if path.get("peer", {}).get("peerId") != self.session.peer:
                        continue
                    out[prefix] = Learned(
                        next(h["ip"] for h in path["nexthops"]
                             if not h["ip"].startswith("fe80")),
                        tuple(int(n) for n in path["aspath"]["string"].split()
                              if n.isdigit()), path.get("metric"),
                        tuple(sorted(path.get("community", {}).get("list", ()))),
                        tuple(sorted(path.get("largeCommunity", {}).get("list", ()))))
        return out

    def ask_refresh(self):
        for family in self.session.families:
            self.vtysh("clear bgp %s %s in" % (family, self.session.peer))
