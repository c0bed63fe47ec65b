# SPDX-License-Identifier: GPL-2.0-or-later
"""What crosses the wire: tcpdump into a file, read back here, and claims about it."""

import ipaddress
import os
import signal
import struct

from .wait import Failure, expect, wait_for

ESP, UDP, ICMP, TCP, FRAGMENT6 = 50, 17, 1, 6, 44


class Packet:
    """One captured packet: addresses, protocol, ports, and for ESP its SPI."""

    def __init__(self, at, src, dst, proto, payload, size, fragment=False):
        self.at, self.src, self.dst, self.proto, self.size = at, src, dst, proto, size
        self.fragment = fragment
        self.sport = self.dport = 0
        self.spi = None
        self.ike = b""
        if proto in (UDP, TCP) and len(payload) >= 8:
            self.sport, self.dport = struct.unpack(">HH", payload[:4])
        body = payload[8:]
        if proto == ESP and len(payload) >= 8:
            self.spi = struct.unpack(">I", payload[:4])[0]
        elif proto == UDP and 4500 in (self.sport, self.dport):
            # RFC 3948 2.2-2.4: four zero bytes before IKE, one FF is a keepalive.
            if body[:4] == b"\0\0\0\0":
                self.ike = body[4:]
            elif len(body) >= 8:
                self.spi = struct.unpack(">I", body[:4])[0]
        elif proto == UDP and 500 in (self.sport, self.dport):
            self.ike = body

    @property
    def exchange(self):
        """IKE exchange type (RFC 7296 3.1), or 0: 34 INIT, 35 AUTH, 36 CHILD, 37 INFO."""
        return self.ike[18] if len(self.ike) >= 28 else 0

    @property
    def is_response(self):
        """True for an IKEv2 response."""
        return len(self.ike) >= 28 and bool(self.ike[19] & 0x20)

    def __repr__(self):
        what = "ESP 0x%08x" % self.spi if self.spi is not None else (
            "IKE %d" % self.exchange if self.ike else "proto %d" % self.proto)
        return "%s > %s %s" % (self.src, self.dst, what)


def parse(data):
    """Packets of a pcap file's bytes (Ethernet or cooked), as far as it is complete."""
    out = []
    if len(data) < 24:
        return out
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    link = struct.unpack(order + "I", data[20:24])[0]
    skip = {1: 14, 113: 16, 276: 20, 12: 0, 101: 0}[link]
    at = 24
    while at + 16 <= len(data):
        sec, frac, have, size = struct.unpack(order + "IIII", data[at:at + 16])
        raw = data[at + 16 + skip:at + 16 + have]
        at += 16 + have
        if at > len(data) or not raw:
            break
        when = sec + frac / 1e6
        if raw[0] >> 4 == 4 and len(raw) >= 20:
            frag = struct.unpack(">H", raw[6:8])[0]
            first = not frag & 0x1fff
            out.append(Packet(when, str(ipaddress.ip_address(raw[12:16])),
                              str(ipaddress.ip_address(raw[16:20])), raw[9],
                              raw[(raw[0] & 15) * 4:] if first else b"", size - skip,
                              bool(frag & 0x3fff)))
        elif raw[0] >> 4 == 6 and len(raw) >= 40:
            out.append(Packet(when, str(ipaddress.ip_address(raw[8:24])),
                              str(ipaddress.ip_address(raw[24:40])), raw[6], raw[40:],
                              size - skip, raw[6] == FRAGMENT6))
    return out


class Capture:
    """A running tcpdump on one interface of a host."""

    def __init__(self, host, interface, snaplen=160, expression=""):
        self.file = os.path.join(host.logdir, "%s-%s.pcap" % (host.name, interface))
        number = 1
        while os.path.exists(self.file):
            number += 1
            self.file = os.path.join(host.logdir, "%s-%s-%d.pcap" % (host.name, interface, number))
        self.process = host.start("tcpdump", [
            "tcpdump", "-Z", "root", "-U", "-n", "-p", "-i", interface, "-s", str(snaplen), "-B", "8192",
            "-w", self.file] + expression.split())
        self.where = "%s %s" % (host.name, interface)
        wait_for(lambda: os.path.exists(self.file) and os.path.getsize(self.file) >= 24, 15,
                 "tcpdump on %s to listen" % self.where)

    def packets(self):
        """What has been seen so far."""
        with open(self.file, "rb") as file:
            return parse(file.read())

    def stop(self):
        """End the capture and return its packets."""
        self.process.signal(signal.SIGINT)
        self.process.popen.wait(20)
        return self.packets()

    def esp(self):
        """The ESP packets seen so far, plain or in UDP."""
        return [p for p in self.packets() if p.spi is not None]

    def wait_esp(self, count, timeout_s=10):
        """Wait until at least `count` ESP packets have been seen."""
        wait_for(lambda: len(self.esp()) >= count, timeout_s,
                 "%d ESP packets on %s" % (count, self.where))

    def expect_only_esp(self, inner=("10.0.0.0/8", "2001:db8::/32"), least=1):
        """Failure if a packet of an inner network went by in the clear, or ESP did not.

        This is the proof that nothing leaks: every packet that isn't ESP must be IKE, ARP or
        ICMP between outer addresses.
        """
        packets = self.packets()
        nets = [ipaddress.ip_network(n) for n in inner]
        for packet in packets:
            for address in (packet.src, packet.dst):
                ip = ipaddress.ip_address(address)
                if any(ip in n for n in nets if n.version == ip.version):
                    raise Failure("in the clear on %s: %r" % (self.where, packet))
        esp = [p for p in packets if p.spi is not None]
        expect(len(esp) >= least, "%d ESP packets on %s, wanted at least %d"
               % (len(esp), self.where, least))
        return esp
