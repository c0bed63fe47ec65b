# SPDX-License-Identifier: GPL-2.0-or-later
"""ExaBGP: a speaker without a table. What it was told is put together here, from its events."""

import dataclasses
import json
import os

from .daemon import Daemon, Learned

FOLDER = "/run/exabgp"
CONF, FIFO, EVENTS = FOLDER + "/exabgp.conf", FOLDER + "/commands", FOLDER + "/events"
PIPE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "exabgp_pipe.py")


class Exabgp(Daemon):
    """exabgp with a child that passes our commands on and keeps its events."""

    name = "exabgp"
    programs = ("/usr/sbin/python3-exabgp",)
    features = frozenset(("as2", "ask-refresh", "ipv6"))
    reconnect_s = 30
    settle_s = 2                # it may send a withdrawal after the newer announcement

    def prepare(self):
        os.makedirs(self.host.root(FOLDER), exist_ok=True)
        os.mkfifo(self.host.root(FIFO))
        self.host.write(EVENTS, "")
        self.at, self.up, self.known = 0, False, {}

    def write_conf(self):
        s = self.session
        lines = ["router-id %s" % s.router_id, "local-address %s" % s.local, "local-as %d" % s.asn,
                 "peer-as %d" % s.peer_asn, "hold-time %d" % s.hold_s]
        if s.passive:
            lines += ["passive true", "listen 179"]
        if s.md5:
            lines.append('md5-password "%s"' % s.md5)
        if s.ttl > 1:
            lines.append("outgoing-ttl %d" % s.ttl)
        lines = "".join("\t%s;\n" % l for l in lines)
        self.host.write(CONF, """process pipe {
	run /usr/bin/python3 %s %s %s;
	encoder json;
}
neighbor %s {
%s	family { %s }
	capability { asn4 %s; route-refresh enable;%s }
	api { processes [ pipe ]; neighbor-changes; receive { parsed; update; } }
}
""" % (PIPE, FIFO, EVENTS, s.peer, lines, " ".join("%s unicast;" % f for f in s.families),
            "enable" if s.as4 else "disable",
            " graceful-restart %d;" % s.gr_s if s.gr_s else " graceful-restart disable;"), 0o600)

    def launch(self):
        self.known, self.up = {}, False
        self.spawn("exabgp", ["/usr/bin/python3", "/usr/sbin/python3-exabgp", CONF], {
            "exabgp.daemon.user": "root", "exabgp.daemon.drop": "false", "exabgp.api.ack": "false",
            "exabgp.api.cli": "false", "exabgp.tcp.delay": "0", "exabgp.log.destination": "stdout",
            "exabgp.log.level": "WARNING", "exabgp.cache.attributes": "true"})
        if self.routes:
            self._say(_announce(r, self.session) for r in self.routes.values())

    def _say(self, lines):
        """Commands for exabgp; it may be busy, then this waits."""
        with open(self.host.root(FIFO), "w", encoding="ascii") as fifo:
            fifo.write("".join(line + "\n" for line in lines))

    def apply(self, added, removed):
        self._say(["withdraw route %s next-hop %s" % (r.prefix, _hop(r, self.session))
                   for r in removed] + [_announce(r, self.session) for r in added])

    def _read(self):
        """Take in what exabgp has told since the last time."""
        with open(self.host.root(EVENTS), "rb") as file:
            file.seek(self.at)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self.at += whole
        for line in data[:whole].splitlines():
            event = json.loads(line)
            if event["type"] == "state":
                self.up = event["neighbor"]["state"] == "up"
                if not self.up:
                    self.known = {}
            elif event["type"] == "update":
                self._update(event["neighbor"]["message"].get("update", {}))

    def _update(self, update):
        for routes in update.get("withdraw", {}).values():
            for route in routes:
                self.known.pop(route["nlri"], None)
        values = update.get("attribute", {})
        for hops in update.get("announce", {}).values():
            for hop, routes in hops.items():
                for route in routes:
                    if isinstance(route, dict) and "nlri" in route:
                        self.known[route["nlri"]] = Learned(
                            "" if ":" in hop else hop, tuple(values.get("as-path", ())), values.get("med"),
                            _colons(values.get("community", ())),
                            _colons(values.get("large-community", ())))

    def state(self):
        self._read()
        return "Established" if self.up else "down"

    def table(self):
        self._read()
        return dict(self.known)

    def see(self, learned):
        # Of a pair of IPv6 next hops it tells the link-local one alone.
        return dataclasses.replace(learned, next_hop="") if ":" in learned.next_hop else learned

    def ask_refresh(self):
        self._say("announce route-refresh %s unicast" % f for f in self.session.families)


def _colons(values):
    return tuple(sorted(":".join(str(n) for n in value) for value in values))


def _hop(route, session):
    if route.family == "ipv6" and ":" not in session.local:
        return session.next_hop6
    return session.local


def _announce(route, session):
    words = "announce route %s next-hop %s" % (route.prefix, _hop(route, session))
    if route.med is not None:
        words += " med %d" % route.med
    if route.communities:
        words += " community [ %s ]" % " ".join(route.communities)
    if route.large:
        words += " large-community [ %s ]" % " ".join(route.large)
    # ExaBGP puts nothing in front: a path given is the whole path.
    return words + " as-path [ %s ]" % " ".join(str(n) for n in (session.asn,) + route.path)
