# SPDX-License-Identifier: GPL-2.0-or-later
"""A small client of strongSwan's vici socket, so that peers get keys as bytes and answer quickly.

Messages are Python dicts: a dict is a section, a list a list, anything else a value. Values are
read as str where they are UTF-8.
"""

import socket
import struct

from .wait import Failure

REQUEST, RESPONSE, UNKNOWN, REGISTER, UNREGISTER, CONFIRM, EVENT_UNKNOWN, EVENT = range(8)
SECTION_START, SECTION_END, KEY_VALUE, LIST_START, LIST_ITEM, LIST_END = range(1, 7)


def _bytes(value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"yes" if value else b"no"
    return str(value).encode()


def encode(message):
    """Bytes of a message."""
    out = b""
    for key, value in message.items():
        name = _bytes(key)
        name = bytes([len(name)]) + name
        if value is None:
            continue
        if isinstance(value, dict):
            out += bytes([SECTION_START]) + name + encode(value) + bytes([SECTION_END])
        elif isinstance(value, (list, tuple)):
            out += bytes([LIST_START]) + name
            for item in value:
                item = _bytes(item)
                out += bytes([LIST_ITEM]) + struct.pack(">H", len(item)) + item
            out += bytes([LIST_END])
        else:
            value = _bytes(value)
            out += bytes([KEY_VALUE]) + name + struct.pack(">H", len(value)) + value
    return out


def decode(data):
    """Message of bytes."""
    at = 0
    stack = [{}]
    items = None

    def take(count):
        nonlocal at
        at += count
        return data[at - count:at]

    def text(raw):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw
    while at < len(data):
        kind = take(1)[0]
        if kind in (SECTION_START, KEY_VALUE, LIST_START):
            name = take(take(1)[0]).decode()
        if kind == SECTION_START:
            section = {}
            stack[-1][name] = section
            stack.append(section)
        elif kind == SECTION_END:
            stack.pop()
        elif kind == KEY_VALUE:
            stack[-1][name] = text(take(struct.unpack(">H", take(2))[0]))
        elif kind == LIST_START:
            items = []
            stack[-1][name] = items
        elif kind == LIST_ITEM:
            items.append(text(take(struct.unpack(">H", take(2))[0])))
    return stack[0]


class Vici:
    """A connection to charon."""

    def __init__(self, path, timeout_s=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)

    def close(self):
        """Close it."""
        self.socket.close()

    def _send(self, kind, name, message=None):
        name = name.encode()
        body = bytes([kind, len(name)]) + name + encode(message or {})
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def _exact(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise Failure("charon closed its vici socket")
            data += more
        return data

    def _receive(self):
        body = self._exact(struct.unpack(">I", self._exact(4))[0])
        if body[0] == EVENT:
            return body[0], decode(body[2 + body[1]:])
        return body[0], decode(body[1:])

    def request(self, command, message=None, must=True):
        """Send a command and return its answer; Failure when it says no and `must` is set."""
        self._send(REQUEST, command, message)
        while True:
            kind, answer = self._receive()
            if kind == EVENT:
                continue
            if kind != RESPONSE:
                raise Failure("vici %s: unknown to charon" % command)
            if must and answer.get("success", "yes") != "yes":
                raise Failure("vici %s: %s" % (command, answer.get("errmsg", "refused")))
            return answer

    def stream(self, command, event, message=None):
        """Send a command that answers by events, and return these."""
        self._send(REGISTER, event)
        self._receive()
        self._send(REQUEST, command, message)
        out = []
        while True:
            kind, answer = self._receive()
            if kind == RESPONSE:
                break
            if kind == EVENT:
                out.append(answer)
        self._send(UNREGISTER, event)
        self._receive()
        return out
