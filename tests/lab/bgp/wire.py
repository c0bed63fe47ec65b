# SPDX-License-Identifier: GPL-2.0-or-later
"""BGP as it crosses the wire: who sent which messages, whatever the daemons say of themselves."""

import ipaddress
import os
import struct

from lab.wire import Capture

MARKER = b"\xff" * 16
OPEN, UPDATE, NOTIFICATION, KEEPALIVE, REFRESH = 1, 2, 3, 4, 5


class Wire:
    """A capture of port 179 on `us`. messages() is what has been seen so far."""

    def __init__(self, world):
        self.capture = Capture(world.us, "bgp0", snaplen=0,
                               expression="--immediate-mode tcp port 179")

    def messages(self, source):
        """[(type, body)] of what `source` (an address) has sent, in order, over all connections."""
        with open(self.capture.file, "rb") as file:
            return [m for stream in streams(file.read()).get(source, []) for m in split(stream)]

    def count(self, source, kind):
        """How many messages of a type `source` has sent."""
        return sum(1 for found, _ in self.messages(source) if found == kind)

    def notifications(self, source):
        """[(code, subcode)] that `source` has sent."""
        return [tuple(body[:2]) for kind, body in self.messages(source) if kind == NOTIFICATION]

    def opener(self):
        """The address that opened the last connection over which both have spoken."""
        with open(self.capture.file, "rb") as file:
            spoken = {}
            for source, sport, dport, stream in connections(file.read()):
                if next(split(stream), None):
                    opener = source if dport == 179 else None
                    spoken.setdefault(frozenset(((sport, dport), (dport, sport))), []).append(opener)
        both = [next(o for o in openers if o) for openers in spoken.values()
                if len(openers) > 1 and any(openers)]
        return both[-1] if both else None

    def stop(self):
        """End the capture."""
        self.capture.stop()

    def size(self):
        """Octets captured."""
        return os.path.getsize(self.capture.file)


def address(raw):
    """An address in text."""
    return str(ipaddress.ip_address(raw))


def streams(data):
    """{source address: [stream of octets of each connection]} of a capture."""
    out = {}
    for source, _, _, stream in connections(data):
        out.setdefault(source, []).append(stream)
    return out


def connections(data):
    """[(source, source port, destination port, stream)] of a capture without loss, one a direction."""
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, flows = 24, {}
    while at + 16 <= len(data):
        have = struct.unpack(order + "I", data[at + 8:at + 12])[0]
        frame = data[at + 16:at + 16 + have]
        at += 16 + have
        if at > len(data):
            break
        packet = frame[14:]
        if packet[0] >> 4 == 4:
            source, head = address(packet[12:16]), (packet[0] & 15) * 4
            packet = packet[:struct.unpack(">H", packet[2:4])[0]]
        else:
            source, head = address(packet[8:24]), 40
            packet = packet[:40 + struct.unpack(">H", packet[4:6])[0]]
        tcp = packet[head:]
        sport, dport, number = struct.unpack(">HHI", tcp[:8])
        flags, payload = tcp[13], tcp[(tcp[12] >> 4) * 4:]
        key = (source, sport, dport)
        if flags & 2:                   # SYN: a new connection
            flows.setdefault(key, []).append([number + 1, {}])
        elif payload and key in flows:
            start, parts = flows[key][-1]
            parts[(number - start) & 0xffffffff] = max(
                payload, parts.get((number - start) & 0xffffffff, b""), key=len)
    out = []
    for (source, sport, dport), found in flows.items():
        for _, parts in found:
            stream = b""
            for offset in sorted(parts):
                if offset > len(stream):
                    break
                stream = stream[:offset] + parts[offset] + stream[offset + len(parts[offset]):]
            out.append((source, sport, dport, stream))
    return out


def split(stream):
    """Yields (type, body) of each whole message."""
    at = 0
    while len(stream) - at >= 19 and stream[at:at + 16] == MARKER:
        size, kind = struct.unpack(">HB", stream[at + 16:at + 19])
        if size < 19 or len(stream) - at < size:
            return
        yield kind, stream[at + 19:at + size]
        at += size
