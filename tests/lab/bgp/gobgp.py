# SPDX-License-Identifier: GPL-2.0-or-later
"""GoBGP, asked by its command gobgp."""

import ipaddress
import json
import struct

from lab.wait import Failure, wait_for

from .daemon import Daemon, Learned, Route

FOLDER = "/run/gobgp"
CONF = FOLDER + "/gobgpd.conf"
STATES = {0: "Unknown", 1: "Idle", 2: "Connect", 3: "Active", 4: "OpenSent", 5: "OpenConfirm",
          6: "Established"}
SINGLY = 50             # more routes than that go in as a table
ORIGIN, AS_PATH, NEXT_HOP, MED, COMMUNITY, LARGE = 1, 2, 3, 4, 8, 32


class Gobgp(Daemon):
    """gobgpd. It has no FIB of its own."""

    name = "gobgp"
    programs = ("/usr/bin/gobgpd", "/usr/bin/gobgp")
    features = frozenset(("gr-helper", "gr-restarter", "answer-refresh", "ipv6"))

    def write_conf(self):
        s = self.session
        gr = ""
        if s.gr_s:
            gr = ("[neighbors.graceful-restart.config]\nenabled = true\nrestart-time = %d\n"
                  "notification-enabled = true\n" % s.gr_s)
        families = ""
        for family in s.families:
            families += '[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = "%s-unicast"\n' \
                % family
            if s.gr_s:
                families += "[neighbors.afi-safis.mp-graceful-restart.config]\nenabled = true\n"
        self.host.write(CONF, """[global.config]
as = %d
router-id = "%s"
[[neighbors]]
[neighbors.config]
neighbor-address = "%s"
peer-as = %d
auth-password = "%s"
[neighbors.transport.config]
local-address = "%s"
passive-mode = %s
[neighbors.timers.config]
connect-retry = 1
idle-hold-time-after-reset = 1
hold-time = %d
keepalive-interval = %d
[neighbors.ebgp-multihop.config]
enabled = %s
multihop-ttl = %d
%s%s""" % (s.asn, s.router_id, s.peer, s.peer_asn, s.md5, s.local, str(s.passive).lower(), s.hold_s,
           max(1, s.hold_s // 3), str(s.ttl > 1).lower(), s.ttl, gr, families), 0o600)

    def launch(self):
        self.spawn("gobgpd", ["/usr/bin/gobgpd", "-f", CONF, "--pprof-disable", "--cpus=1"] +
                   (["-r"] if self.session.gr_s else []), {"GOMAXPROCS": "1"})
        wait_for(lambda: self.check_alive() or self.gobgp("global"), 20, "gobgpd to answer")
        self.injected, self.lasts = set(), 0
        self.apply(self.routes.values(), [])

    def gobgp(self, *words):
        """The answer to a command."""
        rc, said = self.host.rc(["/usr/bin/gobgp"] + list(words))
        if rc != 0:
            raise Failure("gobgp %s: %s" % (" ".join(words), said.strip()[-300:]))
        return said

    def _inject(self, routes):
        """All at once, from an MRT table: one command a route would take 10 ms each.

        gobgp ends before it has sent all: what it may lose is copies of a last route, which the
        neighbour does not get for its own AS number stands in the path. The daemon has all others
        when it has had that one.
        """
        self.lasts += 1
        last = Route("198.18.%d.%d/32" % divmod(self.lasts, 256), path=(self.session.peer_asn,))
        for number in range(1, 6):
            self.host.write(FOLDER + "/routes.mrt", mrt_table(
                list(routes) + [last] * (1000 * number), self.session))
            said = self.gobgp("mrt", "inject", "global", FOLDER + "/routes.mrt")
            if said.strip():
                raise Failure("gobgp mrt inject: " + said.strip())
            if last.prefix in self.gobgp("global", "rib", last.prefix):
                break
        else:
            raise Failure("gobgp mrt inject loses routes")
        self.injected.update(r.prefix for r in routes)

    def apply(self, added, removed):
        if self.injected & {r.prefix for r in list(added) + removed}:
            # Single routes of a table can't be changed: all go, and those that stay come again.
            self.gobgp("global", "rib", "del", "all", "-a", "ipv4")
            self.gobgp("global", "rib", "del", "all", "-a", "ipv6")
            added, removed, self.injected = self.routes.values(), [], set()
        for route in removed:
            self.gobgp("global", "rib", "del", route.prefix, "-a", route.family)
        if len(added) > SINGLY:
            self._inject(added)
        else:
            for route in added:
                self.gobgp("global", "rib", "add", "-a", route.family, *_words(route, self.session))

    def state(self):
        shown = json.loads(self.gobgp("neighbor", self.session.peer, "-j"))
        state = shown["state"].get("session_state", shown["state"].get("session-state", 0))
        return STATES.get(state, str(state))

    def table(self):
        out = {}
        for family in self.session.families:
            # adj-in can't be asked while it waits for a peer that restarts.
            said = self.gobgp("global", "rib", "-a", family, "-j")
            shown = json.loads(said) if said.lstrip()[:1] in "[{" else {}
            for prefix, paths in (shown or {}).items():
                path = next((p for p in paths if p.get("neighbor-ip") == self.session.peer), None)
                if not path:
                    continue
                values = {}
                for attribute in path["attrs"]:
                    kind = attribute["type"]
                    if kind == AS_PATH:
                        values["path"] = tuple(n for segment in attribute.get("as_paths", ())
                                               for n in segment["asns"])
                    elif kind in (NEXT_HOP, 14):
                        values["next_hop"] = attribute["nexthop"]
                    elif kind == MED:
                        values["med"] = attribute["metric"]
                    elif kind == COMMUNITY:
                        values["communities"] = tuple(sorted(
                            "%d:%d" % (c >> 16, c & 0xffff) for c in attribute["communities"]))
                    elif kind == LARGE:
                        values["large"] = tuple(sorted(
                            "%d:%d:%d" % (c["ASN"], c["LocalData1"], c["LocalData2"])
                            for c in attribute["value"]))
                out[prefix] = Learned(**values)
        return out


def _words(route, session):
    hop = session.local
    if route.family == "ipv6" and ":" not in hop:
        hop = session.next_hop6
    words = [route.prefix, "nexthop", hop, "origin", "igp"]
    if route.path:
        words += ["aspath", ",".join(str(n) for n in route.path)]
    if route.med is not None:
        words += ["med", str(route.med)]
    if route.communities:
        words += ["community", ",".join(route.communities)]
    if route.large:
        words += ["large-community", ",".join(route.large)]
    return words


def attribute(flags, kind, value):
    """One path attribute."""
    if len(value) > 255:
        return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value
    return struct.pack(">BBB", flags, kind, len(value)) + value


def _nlri(net):
    return bytes((net.prefixlen,)) + net.network_address.packed[:(net.prefixlen + 7) // 8]


def mrt_table(routes, session):
    """Routes as a TABLE_DUMP_V2 file, RFC 6396 4.3."""
    def record(subtype, body):
        return struct.pack(">IHHI", 0, 13, subtype, len(body)) + body
    local = ipaddress.ip_address(session.router_id).packed
    out = [record(1, local + struct.pack(">HH", 0, 1) + b"\x02" + local + local
                  + struct.pack(">I", session.asn))]
    for number, route in enumerate(routes):
        net = ipaddress.ip_network(route.prefix)
        attrs = attribute(0x40, ORIGIN, b"\0")
        attrs += attribute(0x40, AS_PATH, struct.pack(">BB%dI" % len(route.path), 2, len(route.path),
                                                      *route.path) if route.path else b"")
        if net.version == 4:
            attrs += attribute(0x40, NEXT_HOP, ipaddress.ip_address(session.local).packed)
        else:
            hop = ipaddress.ip_address(session.local if ":" in session.local else session.next_hop6).packed
            # The RFC leaves out family and prefix here; GoBGP reads it as in an UPDATE.
            attrs += attribute(0x80, 14, b"\0\x02\x01" + bytes((len(hop),)) + hop + b"\0" + _nlri(net))
        if route.med is not None:
            attrs += attribute(0x80, MED, struct.pack(">I", route.med))
        if route.communities:
            attrs += attribute(0xc0, COMMUNITY, b"".join(
                struct.pack(">HH", *(int(n) for n in c.split(":"))) for c in route.communities))
        if route.large:
            attrs += attribute(0xc0, LARGE, b"".join(
                struct.pack(">III", *(int(n) for n in c.split(":"))) for c in route.large))
        out.append(record(2 if net.version == 4 else 4, struct.pack(">I", number) + _nlri(net)
                          + struct.pack(">HHIH", 1, 0, 0, len(attrs)) + attrs))
    return b"".join(out)
