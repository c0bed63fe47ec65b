# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's network, with the addresses of the field cases.

    lan ── G ──(N)── net ── A1, A2 ── vnet
                       └─── W1, W2 ── vpc

lan   10.10.0.4, 2001:db8:10::4              a host behind the gateway under test
G     lan0 10.10.0.1, wan0 198.51.100.10     the gateway under test
N     only with nat: G's wan0 is 192.168.1.20 behind N, which is 198.51.100.10 outside
net   198.51.100.1 on g0, 203.0.113.1        the internet, where wires are cut and watched;
      one interface to each peer, named as the peer in lower case (a1, a2, w1, w2)
A1/A2 wan0 203.0.113.11/.12, vnet0           peers before vnet 10.20.0.4, 2001:db8:20::4
W1/W2 wan0 203.0.113.21/.22, vnet0           peers before vpc 10.30.0.4, 2001:db8:30::4
"""

import re

from . import kernel
from .ns import Host
from .wait import Failure, wait_for
from .wire import Capture

G_PUBLIC, G_PRIVATE = "198.51.100.10", "192.168.1.20"
LAN, LAN_HOST, LAN_HOST6 = "10.10.0.0/16", "10.10.0.4", "2001:db8:10::4"


class PeerPlace:
    """Where a peer stands: its outer address, and the network behind it."""

    def __init__(self, name, address, inner, number):
        self.name, self.address = name, address
        self.interface = name.lower()           # on net
        self.behind = "vnet" if name.startswith("A") else "vpc"
        self.network = "10.%d.0.0/16" % inner
        self.network6 = "2001:db8:%d::/64" % inner
        self.host = "10.%d.0.4" % inner
        self.host6 = "2001:db8:%d::4" % inner
        self.gateway = "10.%d.0.%d" % (inner, number)
        self.gateway6 = "2001:db8:%d::%d" % (inner, number)
        self.bgp = "10.%d.255.%d" % (inner, 3 + number)


PLACES = {p.name: p for p in (
    PeerPlace("A1", "203.0.113.11", 20, 1), PeerPlace("A2", "203.0.113.12", 20, 2),
    PeerPlace("W1", "203.0.113.21", 30, 1), PeerPlace("W2", "203.0.113.22", 30, 2))}


class Net:
    """The hosts and their links. Attributes: hosts by name (also lan, G, N, net)."""

    def __init__(self, logdir, peers=("A1",), nat=False, mtu=1500):
        self.logdir, self.peers, self.nat = logdir, list(peers), nat
        behinds = sorted({PLACES[p].behind for p in peers})
        names = ["lan", "G"] + (["N"] if nat else []) + ["net"] + self.peers + behinds
        self.hosts = {name: Host(name, logdir) for name in names}
        self.lan, self.G, self.net = (self.hosts[n] for n in ("lan", "G", "net"))
        self.N = self.hosts.get("N")
        self.blocks = []
        self._links(mtu, behinds)
        self._addresses(behinds)

    def __getitem__(self, name):
        return self.hosts[name]

    @property
    def g_address(self):
        """G's own outer address."""
        return G_PRIVATE if self.nat else G_PUBLIC

    def _links(self, mtu, behinds):
        wire = []

        def link(one, name1, two, name2):
            wire.append("link add name %s netns %d mtu %d type veth peer name %s netns %d mtu %d"
                        % (name1, self.hosts[one].pid, mtu, name2, self.hosts[two].pid, mtu))
        link("lan", "eth0", "G", "lan0")
        if self.nat:
            link("G", "wan0", "N", "in0")
            link("N", "wan0", "net", "g0")
        else:
            link("G", "wan0", "net", "g0")
        for peer in self.peers:
            link(peer, "wan0", "net", PLACES[peer].interface)
            link(peer, "vnet0", PLACES[peer].behind, PLACES[peer].interface)
        # Made from inside one of the hosts: no namespace of the caller's is touched.
        self.net.ip("\n".join(wire))

    def _addresses(self, behinds):
        up = "link set lo up\n"
        self.lan.ip(up + "link set eth0 up\naddr add 10.10.0.4/16 dev eth0\n"
                    "addr add 2001:db8:10::4/64 dev eth0 nodad\nroute add default via 10.10.0.1\n"
                    "route add ::/0 via 2001:db8:10::1")
        lan = (up + "link set lan0 up\nlink set wan0 up\naddr add 10.10.0.1/16 dev lan0\n"
               "addr add 2001:db8:10::1/64 dev lan0 nodad\n")
        if self.nat:
            self.G.ip(lan + "addr add 192.168.1.20/24 dev wan0\n"
                      "route add default via 192.168.1.1")
            self.N.ip(up + "link set in0 up\nlink set wan0 up\naddr add 192.168.1.1/24 dev in0\n"
                      "addr add 198.51.100.10/24 dev wan0\nroute add default via 198.51.100.1")
            # As a home router does: what comes from inside leaves with the outer address, and
            # what nobody inside asked for goes nowhere.
            for rule in ("-t nat -A POSTROUTING -o wan0 -j MASQUERADE",
                         "-A FORWARD -i wan0 -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
                         "-A FORWARD -i wan0 -j DROP"):
                self.N.run([kernel.iptables(), "-w"] + rule.split())
        else:
            self.G.ip(lan + "addr add 198.51.100.10/24 dev wan0\n"
                      "route add default via 198.51.100.1")
        net = up + "link set g0 up\naddr add 198.51.100.1/24 dev g0\n"
        for name in self.peers:
            place = PLACES[name]
            net += ("link set {0} up\naddr add 203.0.113.1/32 dev {0}\n"
                    "route add {1}/32 dev {0}\n").format(place.interface, place.address)
            self.hosts[name].ip(up + """link set wan0 up
                link set vnet0 up
                addr add {0.address}/32 dev wan0
                route add 203.0.113.1/32 dev wan0
                route add default via 203.0.113.1
                addr add {0.gateway}/32 dev vnet0
                addr add {0.bgp}/32 dev vnet0
                addr add {0.gateway6}/128 dev vnet0 nodad
                route add {0.host}/32 dev vnet0 src {0.gateway}
                route add {0.host6}/128 dev vnet0""".format(place))
        self.net.ip(net)
        for behind in behinds:
            lines = up
            first = True
            for place in (PLACES[p] for p in self.peers if PLACES[p].behind == behind):
                lines += """link set {0.interface} up
                    addr add {0.host}/32 dev {0.interface}
                    addr add {0.host6}/128 dev {0.interface} nodad
                    route add {0.gateway}/32 dev {0.interface} src {0.host}
                    route add {0.gateway6}/128 dev {0.interface}
                    """.format(place)
                if first:
                    lines += ("route add default via {0.gateway} dev {0.interface} src {0.host}\n"
                              "route add ::/0 via {0.gateway6} dev {0.interface}\n"
                              ).format(place)
                first = False
            self.hosts[behind].ip(lines)

    def via(self, peer):
        """Let the host behind a peer send by way of this one."""
        place = PLACES[peer]
        self.hosts[place.behind].ip(
            "route replace default via {0.gateway} dev {0.interface} src {0.host}\n"
            "route replace ::/0 via {0.gateway6} dev {0.interface}".format(place))

    # Faults. All of them act in `net`, where neither end sees a link go down.

    def block(self, what, peer=None):
        """Drop packets in the internet: "ike" (UDP 500 and 4500), "esp" (protocol 50), "udp500",
        "udp4500", "fragments" or "all"; both directions, of one peer or of all. Returns a token
        for unblock()."""
        matches = {"ike": ["-p udp --dport 500", "-p udp --sport 500",
                           "-p udp --dport 4500", "-p udp --sport 4500"],
                   "udp500": ["-p udp --dport 500", "-p udp --sport 500"],
                   "udp4500": ["-p udp --dport 4500", "-p udp --sport 4500"],
                   "esp": ["-p esp"], "fragments": ["-f"], "all": [""]}[what]
        rules = []
        for match in matches:
            if peer:
                address = PLACES[peer].address
                rules += ["FORWARD -s %s %s -j DROP" % (address, match),
                          "FORWARD -d %s %s -j DROP" % (address, match)]
            else:
                rules.append("FORWARD %s -j DROP" % match)
        for rule in rules:
            self.net.run([kernel.iptables(), "-w", "-I"] + rule.split())
        self.blocks.append(rules)
        return rules

    def unblock(self, token=None):
        """Take back one block, or all of them."""
        for rules in [token] if token else list(self.blocks):
            for rule in rules:
                self.net.run([kernel.iptables(), "-w", "-D"] + rule.split())
            self.blocks.remove(rules)

    def netem(self, peer, text):
        """Delay, loss or reordering towards and from a peer, in tc's words; "" takes it away."""
        interface = PLACES[peer].interface
        verb = "replace" if text else "del"
        self.net.run(["tc", "qdisc", verb, "dev", interface, "root"]
                     + (["netem"] + text.split() if text else []))

    def set_link(self, peer, up):
        """Take a peer's wire down or up."""
        place = PLACES[peer]
        self.net.ip("link set %s up\nroute replace %s/32 dev %s" % (
            place.interface, place.address, place.interface)
                    if up else "link set %s down" % place.interface)

    def nat_forget(self):
        """Let the NAT box lose its table, as a reboot does: the next packet gets a new port."""
        self.N.rc(["conntrack", "-F"])

    # Traffic.

    def ping(self, source, target, count=3, interval_s=0.2, wait_s=2, size=None):
        """Ping once; returns the number of answers."""
        argv = ["ping", "-n", "-c", str(count), "-i", str(interval_s), "-W", str(wait_s)]
        if size is not None:
            argv += ["-M", "do", "-s", str(size)]
        out = self.hosts[source].rc(argv + [target], 30 + count * (interval_s + wait_s))[1]
        match = re.search(r"(\d+) received", out)
        return int(match.group(1)) if match else 0

    def wait_ping(self, source, target, timeout_s=10, strict=False):
        """Wait until one ping is answered."""
        wait_for(lambda: self.ping(source, target, 1, wait_s=0.5) == 1, timeout_s,
                 "an answer from %s to %s" % (target, source), strict)

    def start_ping(self, source, target, interval_s=0.2):
        """A ping that runs until stop_ping()."""
        self.hosts[source].run(["true"])
        return self.hosts[source].start("ping-" + target.replace(":", "_"), [
            "ping", "-n", "-i", str(interval_s), "-O", target])

    @staticmethod
    def stop_ping(process):
        """End it; returns (sent, received, list of (first, last) lost sequence runs)."""
        import signal
        # Before its first word it has no handler, and would go without a summary.
        wait_for(process.text, 10, "ping to begin")
        process.signal(signal.SIGINT)
        process.popen.wait(20)
        text = process.text()
        match = re.search(r"(\d+) packets transmitted, (\d+) received", text)
        if not match:
            raise Failure("ping gave no summary: " + text[-200:])
        seen = {int(n) for n in re.findall(r"bytes from .*icmp_seq=(\d+)", text)}
        runs = []
        for number in range(1, int(match.group(1)) + 1):
            if number not in seen:
                if runs and runs[-1][1] == number - 1:
                    runs[-1][1] = number
                else:
                    runs.append([number, number])
        return int(match.group(1)), int(match.group(2)), [tuple(r) for r in runs]

    def iperf(self, source, target_host, target, seconds=3, reverse=False, extra=()):
        """TCP from source to target by iperf3; returns bits per second received."""
        import json
        server = self.hosts[target_host].start("iperf3", ["iperf3", "-s", "-1", "-B", target])
        wait_for(lambda: ":5201 " in self.hosts[target_host].run(["ss", "-ltnH"]), 10,
                 "iperf3 to listen")
        out = self.hosts[source].run(["iperf3", "-c", target, "-t", str(seconds), "-J"]
                                     + (["-R"] if reverse else []) + list(extra),
                                     timeout_s=seconds + 60)
        server.popen.wait(20)
        return json.loads(out)["end"]["sum_received"]["bits_per_second"]

    def capture(self, where="g0", host="net", snaplen=160, expression=""):
        """Watch a wire; g0 on net sees all that G sends and gets."""
        return Capture(self.hosts[host], where, snaplen, expression)

    def close(self):
        """End everything."""
        for host in self.hosts.values():
            host.close()
