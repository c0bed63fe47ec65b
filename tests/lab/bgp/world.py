# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts and the wire between them, for BGP alone: no tunnel, no guest.

    us    bgp0 169.254.21.2/30, 2001:db8:21::2/64    lo 10.10.0.1
    them  bgp0 169.254.21.1/30, 2001:db8:21::1/64    lo 10.20.255.4

Each has a route to the other's loopback address, for sessions that are not on the link. Both see
the unpacked daemons of tests/lab/deps at their usual places under /usr.
"""

import json
import os
import re

from lab import ns
from lab.ns import Host
from lab.wait import Failure

from .daemon import Session, mirror

US, THEM = "169.254.21.2", "169.254.21.1"
US6, THEM6 = "2001:db8:21::2", "2001:db8:21::1"
US_LOOP, THEM_LOOP = "10.10.0.1", "10.20.255.4"
DEAD_MAC = "02:00:00:00:de:ad"

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
SPEAKERS = os.path.join(os.environ.get("CW_LAB_CACHE") or os.path.join(TOP, "build", ".cache"),
                        "speakers", "usr")


class World:
    """The two hosts. kernel_routes() and cut() are what tests ask of the network."""

    def __init__(self, logdir):
        self.logdir = logdir
        self.hosts = []
        self.us, self.them = self._host("us"), self._host("them")
        self.us.ip("link add bgp0 type veth peer name bgp0 netns %d" % self.them.pid)
        for host, address, address6, loop, far, far_loop in (
                (self.us, US, US6, US_LOOP, THEM, THEM_LOOP),
                (self.them, THEM, THEM6, THEM_LOOP, US, US_LOOP)):
            host.ip("""link set lo up
                       link set bgp0 up
                       addr add %s/30 dev bgp0
                       addr add %s/64 dev bgp0 nodad
                       addr add %s/32 dev lo
                       route add %s via %s""" % (address, address6, loop, far_loop, far))

    def _host(self, name):
        host = Host(name, self.logdir)
        with host.inside():
            ns.mount("tmpfs", "/var/tmp", "tmpfs")
            if os.path.isdir(SPEAKERS):
                ns.mount("overlay", "/usr", "overlay", 1, "lowerdir=%s:/usr" % SPEAKERS)
        self.hosts.append(host)
        return host

    def add_feed(self):
        """A third host behind us: bgp1 169.254.22.2/30 on us, bgp0 169.254.22.1/30 on it."""
        host = self._host("feed")
        self.us.ip("link add bgp1 type veth peer name bgp0 netns %d" % host.pid)
        for one, device, number in ((self.us, "bgp1", 2), (host, "bgp0", 1)):
            one.ip("""link set lo up
                      link set %s up
                      addr add 169.254.22.%d/30 dev %s
                      addr add 2001:db8:22::%d/64 dev %s nodad""" % (
                          device, number, device, number, device))
        return host

    def session(self, loopback=False, ipv6=False, **settings):
        """Our Session; mirror() or them_session() makes theirs."""
        local, peer = (US6, THEM6) if ipv6 else (US_LOOP, THEM_LOOP) if loopback else (US, THEM)
        values = {"asn": 65010, "peer_asn": 65515, "router_id": US_LOOP, "local": local,
                  "peer": peer, "next_hop6": US6, "ttl": 8 if loopback else 1}
        values.update(settings)
        return Session(**values)

    @staticmethod
    def theirs(session, **changes):
        """The Session of the other host."""
        return mirror(session, THEM_LOOP, THEM6, **changes)

    def kernel_routes(self, host=None):
        """{prefix: [routes as `ip -j route` shows them]} of what daemons have put there."""
        out = {}
        for version in ("-4", "-6"):
            said = (host or self.us).run(["ip", version, "-j", "-d", "route", "show"])
            for route in json.loads(said or "[]"):
                if route.get("protocol") in ("kernel", "boot", "ra"):
                    continue
                prefix = route["dst"]
                if prefix == "default":
                    prefix = "0.0.0.0/0" if version == "-4" else "::/0"
                elif "/" not in prefix:
                    prefix += "/32" if version == "-4" else "/128"
                out.setdefault(prefix, []).append(route)
        return out

    def cut(self):
        """Frames are lost from now on, both ways; links stay up and nobody is told."""
        for host, far, far6 in ((self.us, THEM, THEM6), (self.them, US, US6)):
            host.ip("neigh replace %s lladdr %s dev bgp0 nud permanent\n"
                    "neigh replace %s lladdr %s dev bgp0 nud permanent" % (
                        far, DEAD_MAC, far6, DEAD_MAC))

    def mend(self):
        """End of cut()."""
        macs = [re.search(r"link/ether (\S+)", h.run(["ip", "link", "show", "bgp0"]))
                for h in (self.us, self.them)]
        if None in macs:
            raise Failure("bgp0 has no address")
        for host, far, far6, mac in ((self.us, THEM, THEM6, macs[1]), (self.them, US, US6, macs[0])):
            host.ip("neigh replace %s lladdr %s dev bgp0 nud permanent\n"
                    "neigh replace %s lladdr %s dev bgp0 nud permanent" % (
                        far, mac.group(1), far6, mac.group(1)))

    def close(self):
        """End all that runs."""
        for host in self.hosts:
            host.close()
