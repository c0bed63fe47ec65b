# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel of a host holds: SAs, policies, error counters. Keys are never kept."""

import re

KEY = re.compile(r"\b0x[0-9a-f]{16,}\b")


def redact(text):
    """Text of `ip xfrm` with every key taken out."""
    return KEY.sub("0x<key>", text)


class State:
    """One SA of the kernel."""

    def __init__(self):
        self.src = self.dst = self.proto = self.mode = ""
        self.spi = self.reqid = self.if_id = self.mark = self.replay_window = 0
        self.bytes = self.packets = 0
        self.encap = None               # (source port, destination port)
        self.algorithms = []            # names as the kernel gives them
        self.flags = set()

    def __repr__(self):
        return "SA %s>%s spi 0x%08x %s %d packets" % (
            self.src, self.dst, self.spi, "+".join(self.algorithms), self.packets)


class Policy:
    """One policy of the kernel."""

    def __init__(self):
        self.src = self.dst = self.dir = self.action = ""
        self.priority = self.reqid = self.if_id = self.mark = 0
        self.tmpl = None                # (source, destination)

    def __repr__(self):
        return "policy %s %s>%s if_id %d mark %d reqid %d %s" % (
            self.dir, self.src, self.dst, self.if_id, self.mark, self.reqid, self.action)


def _after(words, name, base=0):
    """Number that follows `name` in a list of words, or 0."""
    if name in words:
        return int(re.split(r"[/(]", words[words.index(name) + 1])[0], base)
    return 0


def parse_states(text):
    """States from `ip -s xfrm state`."""
    out = []
    in_current = False
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if line.startswith("src "):
            out.append(State())
            out[-1].src, out[-1].dst = words[1], words[3]
            continue
        sa = out[-1]
        if words[0] == "proto":
            sa.proto, sa.mode = words[1], words[words.index("mode") + 1]
            sa.spi, sa.reqid = _after(words, "spi"), _after(words, "reqid")
        elif words[0] == "replay-window":
            sa.replay_window = max(sa.replay_window, _after(words, "replay-window"))
            if "flag" in words:
                sa.flags |= {w for w in words[words.index("flag") + 1:] if not w.startswith("(")}
        elif words[0] in ("enc", "auth-trunc", "auth", "aead", "comp"):
            sa.algorithms.append(words[1])
        elif words[0] == "encap":
            sa.encap = (_after(words, "sport"), _after(words, "dport"))
        elif words[0] == "if_id":
            sa.if_id = _after(words, "if_id")
        elif words[0] == "mark":
            sa.mark = _after(words, "mark")
        elif words[0] == "anti-replay" or "replay_window" in line:
            match = re.search(r"replay_window (\d+)", line)
            if match:
                sa.replay_window = int(match.group(1))
        elif line.strip() == "lifetime current:":
            in_current = True
        elif in_current:
            match = re.match(r"(\d+)\(bytes\), (\d+)\(packets\)", line.strip())
            if match:
                sa.bytes, sa.packets = int(match.group(1)), int(match.group(2))
            in_current = False
    return out


def parse_policies(text):
    """Policies from `ip xfrm policy`, those of sockets left out."""
    out = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if line.startswith("src "):
            out.append(Policy())
            out[-1].src, out[-1].dst = words[1], words[3]
            out[-1].action = words[words.index("action") + 1] if "action" in words else "allow"
            continue
        policy = out[-1]
        if words[0] == "dir":
            policy.dir, policy.priority = words[1], _after(words, "priority")
            if "action" in words:
                policy.action = words[words.index("action") + 1]
        elif words[0] == "socket":
            policy.dir = "socket"
        elif words[0] == "mark":
            policy.mark = _after(words, "mark")
        elif words[0] == "if_id":
            policy.if_id = _after(words, "if_id")
        elif words[0] == "tmpl":
            policy.tmpl = (words[2], words[4])
        elif words[0] == "proto":
            policy.reqid = _after(words, "reqid")
    return [p for p in out if p.dir != "socket"]


def states(host):
    """The SAs of a host, larval ones (SPI promised, no keys yet) included."""
    return parse_states(host.run(["ip", "-s", "xfrm", "state"]))


def policies(host):
    """The policies of a host."""
    return parse_policies(host.run(["ip", "xfrm", "policy"]))


def pairs(host, local, remote):
    """(in, out) lists of complete ESP SAs between two outer addresses, as `host` sees them."""
    every = [s for s in states(host) if s.proto == "esp" and s.algorithms]
    return ([s for s in every if (s.src, s.dst) == (remote, local)],
            [s for s in every if (s.src, s.dst) == (local, remote)])


def errors(host):
    """/proc/net/xfrm_stat, the counters that are not zero."""
    try:
        text = host.proc_net("xfrm_stat")
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1] != "0"}


def leftovers(host):
    """What of XFRM a host still holds, as text; empty when it is clean."""
    left = [repr(s) for s in states(host)] + [repr(p) for p in policies(host)]
    return "; ".join(left)
