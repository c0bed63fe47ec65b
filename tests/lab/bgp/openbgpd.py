# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenBGPD's portable version, asked by bgpctl."""

import dataclasses
import json
import os

from lab.wait import Failure, wait_for

from .daemon import Daemon, Learned, add_user, own

FOLDER = "/run/openbgpd"
CONF, CONTROL = "/etc/bgpd.conf", "/run/bgpd.sock"


class Openbgpd(Daemon):
    """bgpd of OpenBSD. On Linux it has no FIB."""

    name = "openbgpd"
    programs = ("/usr/sbin/bgpd", "/usr/sbin/bgpctl")
    features = frozenset(("gr-helper", "as2", "ask-refresh", "ipv6"))
    reconnect_s = 45            # it stays idle for 30 s after a session was lost

    def prepare(self):
        add_user(self.host, "_openbgpd", FOLDER)
        # The folder that its processes are locked into must be root's.
        os.makedirs(self.host.root(FOLDER), exist_ok=True)
        if self.session.next_hop6 and ":" not in self.session.local:
            # Over an IPv4 session, lo's first IPv6 address is its next hop.
            self.host.ip("addr del ::1/128 dev lo\naddr add %s/128 dev lo" % self.session.next_hop6)

    def write_conf(self):
        s = self.session
        lines = ["AS %d" % s.asn, "router-id %s" % s.router_id, "listen on %s" % s.local,
                 'socket "%s"' % CONTROL, "fib-update no", "holdtime %d" % s.hold_s, "holdtime min 3",
                 "connect-retry 1"]
        for route in self.routes.values():
            lines.append("network %s%s" % (route.prefix, _attributes(route)))
        lines += ["neighbor %s {" % s.peer, "\tremote-as %d" % s.peer_asn,
                  "\tlocal-address %s" % s.local]
        lines += ["\tannounce %s unicast" % {"ipv4": "IPv4", "ipv6": "IPv6"}[f] for f in s.families]
        if "ipv4" not in s.families:
            lines.append("\tannounce IPv4 none")
        if s.passive:
            lines.append("\tpassive")
        if s.md5:
            lines.append("\ttcp md5sig password %s" % s.md5)
        if s.ttl > 1:
            lines.append("\tmultihop %d" % s.ttl)
        lines.append("\tannounce as-4byte %s" % ("yes" if s.as4 else "no"))
        lines.append("\tannounce restart %s" % ("yes" if s.gr_s else "no"))
        lines += ["}", "allow from any", "allow to any"]
        self.host.write(CONF, "\n".join(lines) + "\n", 0o600)

    def launch(self):
        self.spawn("bgpd", ["/usr/sbin/bgpd", "-d", "-v", "-f", CONF])
        wait_for(lambda: self.check_alive() or self.bgpctl("show"), 20, "bgpd to answer")

    def bgpctl(self, *words):
        """The answer to a command."""
        rc, said = self.host.rc(["/usr/sbin/bgpctl", "-s", CONTROL] + list(words))
        if rc != 0:
            raise Failure("bgpctl %s: %s" % (" ".join(words), said.strip()[-300:]))
        return said

    def apply(self, added, removed):
        self.write_conf()
        # One that comes while another is under way is dropped, with exit code 0.
        wait_for(lambda: "processed" in self.bgpctl("reload"), 30, "bgpd to take its new file",
                 poll_s=0.02)

    def state(self):
        said = self.bgpctl("-j", "show", "neighbor", self.session.peer)
        try:
            return json.loads(said)["neighbors"][0]["state"]
        except (ValueError, LookupError):
            raise Failure("bgpctl show neighbor: " + said.strip()[-200:]) from None

    def table(self):
        out = {}
        said = json.loads(self.bgpctl("-j", "show", "rib", "in", "neighbor", self.session.peer, "detail"))
        for route in said.get("rib", []):
            values = {"communities": (), "large": ()}
            for item in route.get("attributes", []):
                kind, key = {"communities": ("communities", "communities"),
                             "large communities": ("large", "large communities")}.get(
                                 item.get("type", "").lower(), (None, None))
                if kind:
                    values[kind] = tuple(sorted(item.get(key, ())))
            communities = route.get("communities", values["communities"])
            large = route.get("large_communities", values["large"])
            out[route["prefix"]] = Learned(
                route["exit_nexthop"], tuple(int(n) for n in route["aspath"].split()),
                route.get("metric"), tuple(sorted(communities)), tuple(sorted(large)))
        return out

    def see(self, learned):
        # It shows none as 0.
        return dataclasses.replace(learned, med=learned.med or 0)

    def ask_refresh(self):
        self.bgpctl("neighbor", self.session.peer, "refresh")

    def nudge(self):
        self.bgpctl("neighbor", self.session.peer, "clear")


def _attributes(route):
    out = ["med %d" % route.med] if route.med is not None else []
    out += ["community %s" % c for c in route.communities]
    out += ["large-community %s" % c for c in route.large]
    if route.path:
        raise Failure("openbgpd announces no path of others")
    return " set { %s }" % " ".join(out) if out else ""
