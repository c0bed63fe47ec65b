# SPDX-License-Identifier: GPL-2.0-or-later
"""The object a test is given: makes the network, the peers and the gateway, and clears up."""

import os

from . import profiles, xfrm
from .causeway import Causeway
from .libreswan import Libreswan
from .net import G_PUBLIC, Net, PLACES
from .strongswan import StrongSwan
from .wait import VALGRIND, Failure, expect, expect_equal, wait_for

# A marker: the runner looks for it in everything a test has written.
PSK = b"S3cr3t.Marker.Key.Lab"
KEY = 42                # VTI key or if_id on the peers' side


class Lab:
    """A test's world. `net` is made at the first use, or by make_net() with other settings."""

    def __init__(self, logdir):
        self.logdir = logdir
        self.psk = PSK
        self._net = None
        self.peers = {}
        self.gateway = None

    # Making.

    def make_net(self, peers=("A1",), nat=False, mtu=1500):
        """The network of net.py."""
        if self._net:
            raise Failure("the network is made already")
        self._net = Net(self.logdir, peers, nat, mtu)
        return self._net

    @property
    def net(self):
        """The network."""
        return self._net or self.make_net()

    def peer(self, name="A1", profile="azure", kind="strongswan", psk=None, connection="azure",
             options=None, start=True, **override):
        """A peer with one connection to G, running unless start is False.

        override: settings of profiles.py. libreswan always uses plain policies for its data plane.
        """
        place = PLACES[name]
        if kind == "libreswan":
            override.setdefault("plane", "policy")
        conf = profiles.settings(profile, **override)
        host = self.net[name]
        daemon = (StrongSwan if kind == "strongswan" else Libreswan)(host, **(options or {}))
        daemon.place, daemon.conf = place, conf
        profiles.set_up_plane(host, place, conf, KEY, G_PUBLIC)
        self._add(daemon, connection if kind == "strongswan" else "net", conf, psk, KEY)
        self.peers[name] = daemon
        return daemon.start() if start else daemon

    def _add(self, daemon, name, conf, psk, key):
        make = (profiles.strongswan_connection if daemon.kind == "strongswan"
                else profiles.libreswan_connection)
        owners = [conf["local_id"] or daemon.place.address, conf["remote_id"] or G_PUBLIC]
        daemon.add(name, make(daemon.place.address, G_PUBLIC, conf, key),
                   self.psk if psk is None else psk, owners)

    def reconfigure(self, name, **override):
        """Change settings of a strongSwan peer's connection; the next negotiation uses them."""
        daemon = self.peers[name]
        daemon.conf = dict(daemon.conf, **override)
        self._add(daemon, next(iter(daemon.connections)), daemon.conf,
                  next(iter(daemon.secrets.values()))["data"], KEY)

    def strongswan_gateway(self, peers=("A1",), profile="azure", plane="vti", psk=None, start=True,
                           **override):
        """strongSwan in the gateway's place, to prove the lab and to measure against.

        One connection a peer, named as the peer, child "net-A1" and so on.
        """
        override.setdefault("initiate", True)
        host = self.net.G
        daemon = StrongSwan(host)
        for number, name in enumerate(peers):
            place = PLACES[name]
            conf = profiles.settings(profile, plane=plane, remote=place.address, **override)
            conf["local_id"], conf["remote_id"] = G_PUBLIC, place.address
            if conf["pairs"] is not profiles.ANY and conf["pairs"] is not profiles.ANY_DUAL:
                conf["pairs"] = [(r, l) for l, r in conf["pairs"]]
            key = KEY + number
            body = profiles.strongswan_connection(self.net.g_address, place.address, conf, key)
            body["children"] = {"%s-%s" % (c, name): v for c, v in body["children"].items()}
            if plane == "vti":
                host.ip("link add gw%d type vti local %s remote %s key %d" % (
                    number, self.net.g_address, place.address, key))
                host.sysctl("net/ipv4/conf/gw%d/disable_policy" % number, 1)
            else:
                host.ip("link add gw%d type xfrm dev wan0 if_id %d" % (number, key))
            host.ip("link set gw%d up mtu 1400\nroute add %s dev gw%d metric %d\nroute add %s dev gw%d "
                    "metric %d" % (number, place.network, number, 100 + number, place.network6,
                                   number, 100 + number))
            daemon.add(name, body, self.psk if psk is None else psk, [G_PUBLIC, place.address])
        self.gateway = daemon
        return daemon.start() if start else daemon

    def causeway(self, sites=None, gateway=None, psk=None, text=None, start=True, wait=True):
        """causewayd on G. sites: list of dicts as in the file; without, one azure site with A1.

        A site without a key gets the lab's, by psk-file. `gateway` adds to the gateway group, which
        has name, networks and (behind NAT) public-address already.
        """
        net = self.net
        daemon = Causeway(net.G, text=text)
        path = daemon.write_key("lab.psk", self.psk if psk is None else psk)
        if sites is None:
            sites = [{"name": "azure", "profile": "azure", "networks": [PLACES["A1"].network],
                      "tunnels": [{"remote": PLACES["A1"].address}]}]
        sites = [site if "psk" in site or "psk-file" in site else dict(site, **{"psk-file": path})
                 for site in sites]
        group = {"name": "lab", "networks": ["10.10.0.0/16"]}
        if net.nat:
            group["public-address"] = G_PUBLIC
        group.update(gateway or {})
        daemon.conf = {"gateway": group, "sites": sites}
        self.gateway = daemon
        return daemon.start(wait=wait) if start else daemon

    # Claims.

    def expect_traffic(self, peer="A1", count=3, ipv6=False, capture=None):
        """Ping both ways through the tunnel, and see it in SA counters on G and as ESP on the wire.

        This is the proof that a tunnel carries traffic: counters of both SAs rise by at least the
        number of pings, and the wire shows ESP and nothing of the inner networks.
        """
        place = PLACES[peer]
        own = capture or self.net.capture(place.interface)
        lan, far = ("2001:db8:10::4", place.host6) if ipv6 else ("10.10.0.4", place.host)
        self.net.wait_ping("lan", far, 10)
        before = self.counters(peer)
        expect_equal(self.net.ping("lan", far, count), count, "answers to pings LAN to " + peer)
        expect_equal(self.net.ping(place.behind, lan, count), count,
                     "answers to pings %s to LAN" % peer)
        after = self.counters(peer)
        for way in (0, 1):
            expect(after[way] - before[way] >= 2 * count,
                   "%s counter of G's SAs with %s rose by %d packets, wanted %d" % (
                       ("in", "out")[way], peer, after[way] - before[way], 2 * count))
        own.wait_esp(4 * count)
        own.expect_only_esp()
        if not capture:
            own.stop()

    def counters(self, peer="A1"):
        """(packets in, packets out) over all ESP SAs of G with a peer."""
        address = PLACES[peer].address
        esp = [s for s in xfrm.states(self.net.G) if s.proto == "esp"]
        return (sum(s.packets for s in esp if s.src == address),
                sum(s.packets for s in esp if s.dst == address))

    def expect_one_pair(self, peer="A1", timeout_s=15, pairs=1):
        """Wait until G's kernel holds exactly one ESP SA each way with a peer, and no larval one."""
        address = PLACES[peer].address

        def exact():
            every = [s for s in xfrm.states(self.net.G) if address in (s.src, s.dst)]
            if len(every) != 2 * pairs or any(not s.algorithms for s in every):
                raise Failure("%d: %r" % (len(every), every))
            return True
        wait_for(exact, timeout_s, "%d pair(s) of SAs with %s on G" % (pairs, peer))

    # The end.

    def end_in_order(self):
        """Where memory is checked, let causewayd end by itself: what it has lost is looked for then."""
        checked = VALGRIND or os.environ.get("CW_SANITIZE") == "address"
        process = getattr(self.gateway, "process", None)
        if checked and isinstance(self.gateway, Causeway) and process and process.alive():
            expect_equal(process.stop(), 0, "exit code of causewayd at the end of the case")

    def diagnose(self):
        """Write what every host holds to diagnosis.txt; keys are taken out."""
        if not self._net:
            return
        with open(os.path.join(self.logdir, "diagnosis.txt"), "w", encoding="utf-8") as out:
            for name, host in self._net.hosts.items():
                out.write("=== %s\n" % name)
                for words in ("ip -br link", "ip -br addr", "ip route show table all",
                              "ip route", "ip -s xfrm state", "ip xfrm policy", "ip -s link"):
                    try:
                        text = xfrm.redact(host.rc(words.split())[1])
                    except Exception as why:  # pylint: disable=broad-except
                        text = str(why)
                    out.write("--- %s\n%s\n" % (words, text))
                out.write("--- xfrm_stat %r\n" % xfrm.errors(host))
            for name, peer in self.peers.items():
                if peer.kind == "strongswan":
                    try:
                        out.write("=== SAs of %s\n%s\n" % (name, peer.sas()))
                    except Exception as why:  # pylint: disable=broad-except
                        out.write("=== SAs of %s: %s\n" % (name, why))
            if isinstance(self.gateway, Causeway):
                try:
                    out.write("=== causewayctl status\n%s\n" % self.gateway.status())
                except Exception as why:  # pylint: disable=broad-except
                    out.write("=== no status: %s\n" % why)

    def close(self):
        """End everything."""
        if self._net:
            self._net.close()
            self._net = None
