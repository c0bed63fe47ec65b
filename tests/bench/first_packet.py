# SPDX-License-Identifier: GPL-2.0-or-later
"""From exec of the daemon to the first answer through the tunnel: causewayd against strongSwan.

strongSwan is charon-systemd, and `swanctl --load-all` as soon as its socket is there; its interface
and route are made before the clock starts, while causewayd makes its own within the measured time.
Both are given the same peer, proposals and key. A probe every 2 ms from the LAN host finds the first
answer. The contestants take turns; the medians are compared.
Usage: first_packet.py FOLDER ROUNDS
"""

import base64
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

from lab import PLACES
from lab.causeway import binary
from lab.lab import KEY, Lab, PSK
from lab.net import G_PUBLIC
from lab.strongswan import DAEMON
from lab.wait import wait_for
from lab import profiles

A1 = PLACES["A1"]

STRONGSWAN_CONF = """charon-systemd {
	load = random nonce openssl kdf gcm hmac kernel-netlink socket-default vici
	install_routes = no
	plugins {
		vici {
			socket = unix:///run/charon.vici
		}
	}
}
swanctl {
	socket = unix:///run/charon.vici
}
"""


def swanctl(value, depth=0):
    """A dict in the syntax of swanctl.conf."""
    tab, out = "\t" * depth, ""
    for key, item in value.items():
        if item is None:
            continue
        if isinstance(item, dict):
            out += "%s%s {\n%s%s}\n" % (tab, key, swanctl(item, depth + 1), tab)
        else:
            if isinstance(item, bool):
                item = "yes" if item else "no"
            if isinstance(item, (list, tuple)):
                item = ",".join(str(i) for i in item)
            out += "%s%s = %s\n" % (tab, key, item)
    return out


class Probe:
    """ping from the LAN host every 2 ms; the time of its first answer."""

    def __init__(self, lab):
        name = "probe"
        lab.net.lan.write("/run/empty", "")
        self.process = lab.net.lan.start(name, ["ping", "-n", "-D", "-i", "0.002", "-W", "1", A1.host])
        self.start = len(self.process.text())

    def first(self):
        """Wall-clock time of the first answer, or None."""
        match = re.search(r"\[([0-9.]+)\] \d+ bytes from", self.process.text()[self.start:])
        return float(match.group(1)) if match else None

    def end(self):
        """Stop it."""
        self.process.kill9()


def measure(lab, begin, end):
    """Seconds from begin()'s exec to the first answer."""
    probe = Probe(lab)
    started = time.time()
    begin()
    at = wait_for(probe.first, 60, "an answer through the tunnel", poll_s=0.02)
    probe.end()
    end()
    wait_for(lambda: not lab.peers["A1"].sas(), 20, "the peer to be idle")
    return at - started


class StrongSwanSide:
    """charon-systemd and swanctl in the gateway's place."""

    name = "charon-systemd + swanctl"

    def __init__(self, lab):
        self.lab, self.host = lab, lab.net.G
        conf = profiles.settings("azure", plane="vti", remote=A1.address, initiate=True)
        conf["local_id"], conf["remote_id"] = G_PUBLIC, A1.address
        body = profiles.strongswan_connection(lab.net.g_address, A1.address, conf, KEY)
        body["children"] = {"net-A1": body["children"].pop("net")}
        secret = "0s" + base64.b64encode(PSK).decode()
        self.host.write("/etc/swanctl/swanctl.conf", swanctl({
            "connections": {"A1": body},
            "secrets": {"ike-a1": {"secret": secret, "id-1": G_PUBLIC, "id-2": A1.address}}}), 0o600)
        self.host.write("/run/strongswan.conf", STRONGSWAN_CONF)
        self.env = {"STRONGSWAN_CONF": "/run/strongswan.conf"}
        self.process = None

    def begin(self):
        """Start the daemon; load when it can be loaded."""
        path = self.host.root("/run/charon.vici")
        if os.path.exists(path):
            os.unlink(path)
        self.process = self.host.start("charon", [DAEMON], self.env)
        wait_for(lambda: os.path.exists(path), 20, "charon's socket", poll_s=0.001)
        self.host.start("swanctl", ["swanctl", "--load-all", "--uri", "unix:///run/charon.vici"], self.env)

    def prepare(self):
        """Interface and route, before the clock starts."""
        self.host.ip("link add gw0 type vti local %s remote %s key %d" % (self.lab.net.g_address, A1.address, KEY))
        self.host.sysctl("net/ipv4/conf/gw0/disable_policy", 1)
        self.host.ip("link set gw0 up mtu 1400\nroute add %s dev gw0" % A1.network)

    def end(self):
        """Stop, and take the interface away."""
        self.process.stop()
        self.host.ip("link del gw0")


class CausewaySide:
    """causewayd, which makes interface and route itself."""

    name = "causewayd"

    def __init__(self, lab):
        self.daemon = lab.causeway(start=False)
        self.daemon.write_conf()

    def prepare(self):
        """Nothing."""

    def begin(self):
        """Start the daemon."""
        self.daemon.start(wait=False)

    def end(self):
        """Stop it."""
        self.daemon.stop()


def main():
    """Measure, print, keep."""
    folder, rounds = sys.argv[1], int(sys.argv[2])
    lab = Lab(folder)
    lab.peer("A1", "azure")
    sides = [CausewaySide(lab), StrongSwanSide(lab)]
    seconds = {side.name: [] for side in sides}
    for number in range(rounds + 1):
        for side in sides if number % 2 else reversed(sides):
            side.prepare()
            value = measure(lab, side.begin, side.end)
            if number:      # the first round fills caches
                seconds[side.name].append(value)
    lab.close()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["causewayd"] / medians[StrongSwanSide.name]
    print("start to first packet, %d rounds each, Linux %s" % (rounds, platform.release()))
    for name, values in seconds.items():
        print("  %-26s median %6.1f ms   min %6.1f   max %6.1f" % (
            name, medians[name] * 1e3, min(values) * 1e3, max(values) * 1e3))
    print("  ratio causewayd / strongSwan: %.2f (bar: not over 1.00)" % ratio)
    versions = {"strongSwan": subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "charon-systemd"],
                                             stdout=subprocess.PIPE, text=True, check=False).stdout.strip(),
                "causewayd": subprocess.run([binary("causewayd"), "-V"], stdout=subprocess.PIPE, text=True,
                                            check=False).stdout.strip()}
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as out:
        json.dump({"kernel": platform.release(), "versions": versions, "seconds": seconds, "ratio": ratio}, out,
                  indent=1)


if __name__ == "__main__":
    main()
