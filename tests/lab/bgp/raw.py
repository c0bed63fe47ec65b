# SPDX-License-Identifier: GPL-2.0-or-later
"""A peer that is a script: it says what octets it likes over TCP, as no BGP daemon would.

Of the two hosts of the world, causeway is on `them` (169.254.21.1) and the script on `us`
(169.254.21.2), as in the vectors of the field cases: these can be sent as they are.
"""

import contextlib
import select
import socket
import struct
import time

from lab.wait import Failure, expect, expect_equal, wait_for

from .wire import KEEPALIVE, MARKER, NOTIFICATION, OPEN, REFRESH, UPDATE, split
from .world import THEM, THEM_LOOP, US, US_LOOP

PEER, SPEAKER = US, THEM
PEER_ASN, OUR_ASN = 65515, 65010
NEXT_HOP = socket.inet_aton(PEER)


def message(kind, body=b""):
    """One message with its header."""
    return MARKER + struct.pack(">HB", 19 + len(body), kind) + body


def octets(text):
    """Messages that are written in hex without their markers, each on a line or after a ";"."""
    return b"".join(MARKER + bytes.fromhex(one) for one in text.replace("\n", ";").split(";")
                    if one.strip())


def capability(code, value=b""):
    """One capability."""
    return struct.pack("BB", code, len(value)) + value


MP4, MP6 = capability(1, b"\0\1\0\1"), capability(1, b"\0\2\0\1")
REFRESHES, EXTENDED, ENHANCED = capability(2), capability(6), capability(70)


def as4(asn=PEER_ASN):
    """The capability of 4-octet AS numbers."""
    return capability(65, struct.pack(">I", asn))


def opening(hold_s=90, asn=PEER_ASN, router_id=PEER, caps=None):
    """An OPEN; caps: octets of all capabilities, in one parameter. None: 4-octet AS numbers."""
    caps = as4(asn) if caps is None else caps
    options = struct.pack("BB", 2, len(caps)) + caps if caps else b""
    return message(OPEN, struct.pack(">BHH", 4, asn if asn < 65536 else 23456, hold_s) +
                   socket.inet_aton(router_id) + bytes((len(options),)) + options)


def prefixes(first, count, at=0, length=24):
    """NLRI of count networks from FIRST.0.0.0 on; `at`: begin with that one of them."""
    step = 32 - length
    return b"".join(
        struct.pack(">BI", length, (first << 24) + (i << step))[:1 + (length + 7) // 8]
        for i in range(at, at + count))


def attribute(kind, value, flags=0x40):
    """One path attribute."""
    if len(value) > 255:
        return struct.pack(">BBH", flags | 0x10, kind, len(value)) + value
    return struct.pack("BBB", flags, kind, len(value)) + value


def attributes(path=(PEER_ASN,), next_hop=NEXT_HOP, more=b""):
    """ORIGIN, AS_PATH, NEXT_HOP, and what else is given."""
    segment = struct.pack(">BB%dI" % len(path), 2, len(path), *path) if path else b""
    return attribute(1, b"\0") + attribute(2, segment) + attribute(3, next_hop) + more


def update(nlri=b"", attrs=None, withdrawn=b""):
    """An UPDATE."""
    attrs = (attributes() if nlri else b"") if attrs is None else attrs
    return message(UPDATE, struct.pack(">H", len(withdrawn)) + withdrawn +
                   struct.pack(">H", len(attrs)) + attrs + nlri)


END_OF_RIB = update()


def announcements(first, count, each=900, **words):
    """UPDATEs that announce count /24s from FIRST.0.0.0 on."""
    return b"".join(update(prefixes(first, min(each, count - at), at), attributes(**words))
                    for at in range(0, count, each))


def withdrawals(first, count, each=900):
    """UPDATEs that withdraw them."""
    return b"".join(update(withdrawn=prefixes(first, min(each, count - at), at))
                    for at in range(0, count, each))


def nlri_of(body):
    """The octets of the IPv4 prefixes that an UPDATE announces."""
    withdrawn = struct.unpack(">H", body[:2])[0]
    attrs = struct.unpack(">H", body[2 + withdrawn:4 + withdrawn])[0]
    return body[4 + withdrawn + attrs:]


def prefixes_of(nlri):
    """[prefix in text] of NLRI."""
    out = []
    while nlri:
        size = 1 + (nlri[0] + 7) // 8
        out.append("%s/%d" % (socket.inet_ntoa(nlri[1:size].ljust(4, b"\0")), nlri[0]))
        nlri = nlri[size:]
    return out


class Link:
    """One TCP connection with causeway. Everything read is kept in `heard`, in order."""

    def __init__(self, sock):
        self.sock, self.data, self.at, self.heard = sock, b"", 0, []
        self.ended = False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data, timeout_s=30):
        """Send octets; what comes meanwhile is read, so that neither side waits for the other."""
        end, view = time.monotonic() + timeout_s, memoryview(data)
        self.sock.setblocking(False)
        while view:
            readable, writable, _ = select.select([self.sock], [self.sock], [], 1)
            if readable and not self.ended:
                self._read()
            if writable:
                try:
                    view = view[self.sock.send(view):]
                except (BrokenPipeError, ConnectionResetError):
                    raise Failure("causeway closed the connection while it was sent to") from None
            if time.monotonic() > end:
                raise Failure("causeway does not take %d octets" % len(view))

    def _read(self):
        try:
            data = self.sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended |= not data
        self.data += data
        for kind, body in split(self.data):
            self.heard.append((kind, body))
            self.data = self.data[19 + len(body):]

    def poll(self, timeout_s=0.0):
        """Read what is there, waiting so long for the first of it."""
        self.sock.setblocking(False)
        while not self.ended and select.select([self.sock], [], [], timeout_s)[0]:
            self._read()
            timeout_s = 0

    def next(self, timeout_s=10):
        """The next message, (type, body); None when the connection ends instead."""
        end = time.monotonic() + timeout_s
        while self.at == len(self.heard):
            if self.ended:
                return None
            self.poll(0.2)
            if time.monotonic() > end:
                raise Failure("causeway said nothing for %g s" % timeout_s)
        self.at += 1
        return self.heard[self.at - 1]

    def find(self, kind, timeout_s=10):
        """The body of the next message of a type; those before it are passed over."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            found = self.next(timeout_s)
            if not found:
                raise Failure("the connection ended without a message of type %d" % kind)
            if found[0] == kind:
                return found[1]
        raise Failure("no message of type %d within %g s" % (kind, timeout_s))

    def notified(self, code, subcode, timeout_s=10):
        """The data of the NOTIFICATION that must come now, the connection's last message."""
        body = self.find(NOTIFICATION, timeout_s)
        expect_equal(tuple(body[:2]), (code, subcode), "the NOTIFICATION")
        last = self.next(timeout_s)
        expect(last is None, "a message after the NOTIFICATION: %r" % (last,))
        return body[2:]

    def closed(self, timeout_s=10):
        """The connection ends without another word."""
        last = self.next(timeout_s)
        expect(last is None, "a message, not the end of the connection: %r" % (last,))

    def establish(self, hold_s=90, said=None, **words):
        """OPEN and KEEPALIVE both ways; returns the body of causeway's OPEN. said: our OPEN."""
        self.send(said or opening(hold_s, **words))
        body = self.find(OPEN)
        self.find(KEEPALIVE)
        self.send(message(KEEPALIVE))
        return body

    def updates(self):
        """Bodies of the UPDATEs so far."""
        self.poll()
        return [body for kind, body in self.heard if kind == UPDATE]

    def announced(self):
        """[prefix] of all UPDATEs so far, as often as they came."""
        return [p for body in self.updates() for p in prefixes_of(nlri_of(body))]

    def close(self, reset=False):
        """End it; reset: by RST."""
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Raw:
    """causeway, and the script that is its peer. extra: settings of the site, as in the file."""

    def __init__(self, lab, hold_s=90, peer_asn=PEER_ASN, opener="passive", ipv6=False, start=True,
                 router_id=US_LOOP, **extra):
        self.lab, self.world = lab, lab.world
        self.peer_host, self.host = lab.world.us, lab.world.them
        session = lab.world.theirs(lab.world.session(
            asn=peer_asn, peer_asn=OUR_ASN, hold_s=hold_s,
            families=("ipv4", "ipv6") if ipv6 else ("ipv4",)))
        session = type(session)(**dict(vars(session), router_id=router_id))
        self.us = lab.us = lab.kinds["causeway"](self.host, session)
        self.us.extra = {"bgp-connect": opener}
        self.us.extra.update((k.replace("_", "-"), v) for k, v in extra.items())
        self.links, self.updates = [], 0
        if start:
            self.us.start()

    # The script's end.

    def connect(self, source=PEER, target=SPEAKER, port=0, md5=None, timeout_s=5):
        """A new connection to causeway."""
        with self.peer_host.inside():
            sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if md5:
            sock.setsockopt(socket.IPPROTO_TCP, 14, struct.pack(    # TCP_MD5SIG
                "HH4s120xxBHI80s", socket.AF_INET, 0, socket.inet_aton(target), 0, len(md5), 0, md5))
        sock.bind((source, port))
        sock.settimeout(timeout_s)
        sock.connect((target, 179))
        self.links.append(Link(sock))
        return self.links[-1]

    def listen(self):
        """A listening socket on port 179, for opener "active" or "both"."""
        with self.peer_host.inside():
            sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((PEER, 179))
        sock.listen(16)
        sock.settimeout(10)
        return sock

    def accept(self, listener):
        """causeway's next connection."""
        try:
            self.links.append(Link(listener.accept()[0]))
        except socket.timeout:
            raise Failure("causeway does not connect") from None
        return self.links[-1]

    def up(self, hold_s=90, said=None, **words):
        """A new session: its Link, when causeway says that it is established."""
        self.revive()
        link = self.connect()
        link.establish(hold_s, said, **words)
        wait_for(self.us.established, 10, "the session", poll_s=0.01)
        self.updates = self.us.neighbour()["messages-in"]["update"]
        return link

    def revive(self):
        """End of a pause after a failure, or of a session, so that the next connection is taken."""
        peer = self.us.neighbour()
        if peer["waits-for"] or peer["state"] == "established":
            self.us.ask(cmd="bgp-reset", peer=PEER)

    # causeway's end.

    def take(self, link, data, count=1, timeout_s=20):
        """Send `count` UPDATEs and wait until causeway has read them; returns its neighbour()."""
        link.send(data)
        self.updates += count

        def read():
            link.poll()
            peer = self.us.neighbour()
            return peer if peer["messages-in"]["update"] >= self.updates else None
        return wait_for(read, timeout_s, "causeway to read %d UPDATEs" % count, poll_s=0.01)

    def routes(self):
        """{prefix: route} of what causeway holds of us, refused ones too."""
        return {r["prefix"]: r for r in self.us.received()}

    def kernel(self):
        """Prefixes of the learned routes in causeway's kernel, over bgp0."""
        return {p for p, found in self.world.kernel_routes(self.host).items()
                if any("bgp0" in str(r) and r.get("protocol") != "static" for r in found)} - {US_LOOP + "/32"}

    def wait_kernel(self, wanted, timeout_s=10):
        """Wait until these and no others are there."""
        wanted = set(wanted)

        def equal():
            found = self.kernel()
            if found != wanted:
                raise Failure("%d routes, wanted %d: %s" % (
                    len(found), len(wanted), " ".join(sorted(found ^ wanted)[:4])))
            return True
        wait_for(equal, timeout_s, "causeway's kernel routes")

    def log(self):
        """Lines that causeway has written."""
        return self.us.processes[-1].text().splitlines() if self.us.processes else []

    def logged(self, word):
        """Those with a word in them."""
        return [line for line in self.log() if word in line]

    def rss_kib(self, peak=False):
        """Resident memory of causeway."""
        with open("/proc/%d/status" % self.us.processes[-1].pid, encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file
                        if line.startswith("VmHWM" if peak else "VmRSS"))

    def fds(self):
        """How many descriptors causeway has open."""
        import os
        return len(os.listdir("/proc/%d/fd" % self.us.processes[-1].pid))

    def same_session(self, before):
        """The session is the one of that neighbour(), and up."""
        now = self.us.neighbour()
        expect_equal((now["state"], now["times-up"]), ("established", before["times-up"]),
                     "the session")
        return now

    @contextlib.contextmanager
    def one_line(self, *words):
        """What happens inside must bring exactly one new line that holds these words."""
        before = len(self.log())
        yield
        wait_for(lambda: any(all(w in l for w in words) for l in self.log()[before:]), 5,
                 "a log line with %r" % (words,))
        found = [l for l in self.log()[before:] if all(w in l for w in words)]
        expect_equal(len(found), 1, "log lines with %r" % (words,))
