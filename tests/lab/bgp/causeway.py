# SPDX-License-Identifier: GPL-2.0-or-later
"""causeway's BGP without tunnels: the program tests/bgp/speaker, asked over its control socket."""

import json
import os
import socket

from lab import Skip
from lab.causeway import libconfig
from lab.wait import Failure, wait_for

from .bird import Bird
from .daemon import Daemon, Learned, Session, expected

FOLDER = "/run/causeway"
CONF, CONTROL = FOLDER + "/causeway.conf", FOLDER + "/control.sock"
FEED_ASN, FEED, FEED_US = 64999, "169.254.22.1", "169.254.22.2"


class Causeway(Daemon):
    """The speaker with one site. It announces what the file names, with the same MED and
    communities for all of it. Routes that are announced later come from a second neighbour of it,
    a BIRD on a third host, through `transit`."""

    name = "causeway"
    features = frozenset(("fib", "gr-helper", "gr-restarter", "ask-refresh", "answer-refresh", "ipv6"))

    def prepare(self):
        build = os.environ.get("CW_BUILD", "build")
        self.program = os.path.join(build, "tests", "bgp", "speaker")
        if not os.path.exists(self.program):
            raise Skip("%s is not built" % self.program)
        self.feeder, self.first = None, {}
        self.extra = {}         # settings of the site, as in the file
        self.gateway = {}       # and of the gateway
        os.makedirs(self.host.root(FOLDER), exist_ok=True)

    def with_feeder(self, world):
        """Give it the second neighbour; before start()."""
        host = world.add_feed()
        self.feeder = Bird(host, Session(FEED_ASN, self.session.asn, FEED, FEED, FEED_US,
                                         device="bgp0", next_hop6="2001:db8:22::1",
                                         families=self.session.families))
        return self

    def start(self, routes=()):
        self.first.update((r.prefix, r) for r in routes)
        self.routes.update(self.first)
        self.write_conf()
        self.launch()
        if self.feeder and not self.feeder.processes:
            self.feeder.start()
        return self

    def write_conf(self):
        s = self.session
        site = {"name": "them", "asn": s.peer_asn, "psk": "unused-by-the-speaker-12",
                "bgp-hold-time": s.hold_s, "bgp-hold-time-min": 3, "bgp-ttl": s.ttl,
                "bgp-ipv6": "ipv6" in s.families, "bgp-graceful-restart": bool(s.gr_s),
                "bgp-connect": "passive" if s.passive else "both", "profile": "generic",
                "max-prefixes": 0, "announce-limit": 0,
                "tunnels": [{"name": "them", "remote": "203.0.113.11", "bgp-peer": s.peer,
                             "bgp-address": s.local}]}
        if s.gr_s:
            site["bgp-restart-time"] = s.gr_s
        if s.md5:
            site["bgp-password"] = s.md5
        kinds = {(r.med, r.communities, r.large, r.path) for r in self.first.values()}
        if len(kinds) > 1 or any(k[3] for k in kinds):
            raise Failure("the file gives all routes of a site the same attributes")
        for med, communities, large, _ in kinds:
            if med is not None:
                site["med"] = med
            if communities:
                site["communities"] = list(communities)
            if large:
                site["large-communities"] = list(large)
        sites = [site]
        gateway = {"name": "us", "router-id": s.router_id, "asn": s.asn, "networks": ["10.10.0.0/16"],
                   "control-socket": CONTROL}
        if self.first:
            site["announce"] = list(self.first)
        if self.feeder:
            site["transit"] = ["feed"]
            sites.append({"name": "feed", "asn": FEED_ASN, "psk": "unused-by-the-speaker-12",
                          "bgp-ipv6": "ipv6" in s.families, "profile": "generic", "max-prefixes": 0,
                          "tunnels": [{"name": "feed", "remote": "203.0.113.12", "bgp-peer": FEED,
                                       "bgp-address": FEED_US, "bgp-ttl": 1}]})
        site.update(self.extra)
        gateway.update(self.gateway)
        self.host.write(CONF, "gateway = %s;\nsites = %s;\n" % (libconfig(gateway), libconfig(sites)),
                        0o600)

    def launch(self):
        argv = [self.program, "-f", CONF, "--device", "them=" + self.session.device]
        if self.feeder:
            argv += ["--device", "feed=bgp1"]
        self.spawn("speaker", argv)
        wait_for(lambda: self.check_alive() or self.ask(cmd="bgp"), 20, "the speaker to answer",
                 poll_s=0.02)

    def ask(self, **request):
        """The answer to a request over the control socket."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(30)
            sock.connect(self.host.root(CONTROL))
            sock.sendall(json.dumps(request).encode() + b"\n")
            data = b"".join(iter(lambda: sock.recv(1 << 20), b""))
        answer = json.loads(data)
        if not answer.get("ok"):
            raise Failure("%r: %s" % (request, answer.get("error")))
        return answer

    def apply(self, added, removed):
        if not self.feeder:
            raise Failure("without a feeder nothing can be announced later")
        if removed:
            self.feeder.withdraw([r.prefix for r in removed])
        if added:
            self.feeder.announce(added)

    def sent(self):
        fed = [r for p, r in self.routes.items() if p not in self.first]
        own = expected(self.first.values(), self.session)
        if fed:
            own.update((p, Learned(l.next_hop, l.path[:1] + (FEED_ASN,) + l.path[1:], None,
                                   l.communities, l.large))
                       for p, l in expected(fed, self.session).items())
        return own

    def neighbour(self):
        """What `causewayctl bgp --json` tells of our neighbour."""
        for peer in self.ask(cmd="bgp")["peers"]:
            if peer["peer"] == self.session.peer:
                return peer
        raise Failure("no peer %s in the answer to bgp" % self.session.peer)

    def state(self):
        state = self.neighbour()["state"]
        return "Established" if state == "established" else state

    def last_sent(self):
        sent = self.neighbour()["notification-sent"]
        return (sent["code"], sent["subcode"]) if sent else (0, 0)

    def table(self):
        out = {}
        for route in self.received():
            if route["refused"]:        # such as our own routes, which FRR sends back
                continue
            out[route["prefix"]] = Learned(
                route["next-hop"], tuple(route["as-path"]), route.get("med"),
                tuple(sorted(route.get("communities") or ())),
                tuple(sorted(route.get("large-communities") or ())))
        return out

    def received(self):
        """Every route of the neighbour, refused ones too, page after page."""
        request, routes = {"cmd": "routes", "received": self.session.peer}, []
        while True:
            answer = self.ask(**request)
            routes += answer["routes"]
            if not answer["after"]:
                return routes
            request["after"] = answer["after"]

    def ask_refresh(self):
        self.ask(cmd="bgp-refresh", peer=self.session.peer)
