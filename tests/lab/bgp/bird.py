# SPDX-License-Identifier: GPL-2.0-or-later
"""BIRD 2."""

import os
import re

from lab.wait import Failure, wait_for

from .daemon import Daemon, Learned

FOLDER = "/run/bird"
CONF, ROUTES, CONTROL = FOLDER + "/bird.conf", FOLDER + "/routes.conf", FOLDER + "/bird.ctl"


class Bird(Daemon):
    """bird, configured by file and asked by birdc's protocol."""

    name = "bird"
    programs = ("/usr/sbin/bird", "/usr/sbin/birdc")
    features = frozenset(("fib", "gr-helper", "gr-restarter", "answer-refresh", "as2", "ask-refresh", "ipv6"))

    def write_conf(self):
        s = self.session
        channels = ""
        for family in s.families:
            channels += "\t%s { import all; export filter ours; next hop self; };\n" % family
        text = ('log stderr all;\nrouter id %s;\ngraceful restart wait 30;\n'
                'protocol device { scan time 60; }\n'
                # A MED goes to another AS only when the export filter has set it.
                'filter ours { if source != RTS_STATIC then reject; '
                'if defined(bgp_med) then bgp_med = bgp_med; accept; }\n' % s.router_id)
        if self.fib:
            for family in s.families:
                text += "protocol kernel k%s { scan time 3600; persist %s; graceful restart %s; %s { import none; export where " \
                        "source = RTS_BGP; }; }\n" % (family[-1], *["on" if s.gr_s else "off"] * 2, family)
        lines = ["local %s as %d" % (s.local, s.asn), "neighbor %s as %d" % (s.peer, s.peer_asn),
                 "direct" if s.ttl == 1 else "multihop %d" % s.ttl,
                 "passive %s" % ("on" if s.passive else "off"), "hold time %d" % s.hold_s,
                 "keepalive time %d" % max(1, s.hold_s // 3), "connect delay time 1",
                 "connect retry time 2", "error wait time 1,3", "error forget time 2",
                 "enable as4 %s" % ("on" if s.as4 else "off")]
        if s.md5:
            lines.append('password "%s"' % s.md5)
        lines += ["graceful restart on", "graceful restart time %d" % s.gr_s] if s.gr_s else [
            "graceful restart off", "long lived graceful restart off"]
        text += "protocol bgp peer {\n%s%s}\n" % ("".join("\t%s;\n" % l for l in lines), channels)
        self.host.write(CONF, text + 'include "%s";\n' % ROUTES, 0o600)
        self._write_routes()

    def _write_routes(self):
        text = ""
        for family in ("ipv4", "ipv6"):
            text += "protocol static s%s {\n\t%s;\n" % (family[-1], family)
            for route in self.routes.values():
                if route.family == family:
                    text += "\troute %s blackhole%s;\n" % (route.prefix, _attributes(route))
            text += "}\n"
        self.host.write(ROUTES, text)

    def launch(self):
        options = ["-R"] if self.session.gr_s else []
        self.spawn("bird", ["/usr/sbin/bird", "-f", "-c", CONF, "-s", CONTROL, "-P",
                            FOLDER + "/pid"] + options)
        wait_for(lambda: self.check_alive() or (
            os.path.exists(self.host.root(CONTROL)) and self.birdc("show status")), 20, "bird's socket")

    def birdc(self, command):
        """The answer to a command."""
        rc, said = self.host.rc(["/usr/sbin/birdc", "-s", CONTROL, command])
        if rc != 0:
            raise Failure("birdc %s: %s" % (command, said.strip()))
        return said

    def apply(self, added, removed):
        self._write_routes()
        said = self.birdc("configure")
        if "Reconfigured" not in said and "Reconfiguration in progress" not in said:
            raise Failure("birdc configure: " + said)

    def state(self):
        match = re.search(r"BGP state:\s+(\w+)", self.birdc("show protocols all peer"))
        return match.group(1) if match else "unknown"

    def table(self):
        out, prefix, fields = {}, None, {}

        def keep():
            if prefix:
                out[prefix] = Learned(
                    fields.get("next_hop", "").split()[0], _numbers(fields.get("as_path", "")),
                    int(fields["med"]) if "med" in fields else None,
                    _colons(fields.get("community", "")), _colons(fields.get("large_community", "")))
        for line in self.birdc("show route all protocol peer").splitlines():
            head = re.match(r"(\S+/\d+)?\s+\w+ \[peer ", line)
            if head:
                keep()
                prefix, fields = head.group(1), {}
                continue
            match = re.match(r"\tBGP\.(\w+): (.*)", line)
            if match:
                fields[match.group(1)] = match.group(2)
        keep()
        return out

    def ask_refresh(self):
        self.birdc("reload in peer")


def _attributes(route):
    out = ["bgp_med = %d;" % route.med] if route.med is not None else []
    out += ["bgp_community.add((%s));" % c.replace(":", ",") for c in route.communities]
    out += ["bgp_large_community.add((%s));" % c.replace(":", ",") for c in route.large]
    out += ["bgp_path.prepend(%d);" % asn for asn in reversed(route.path)]
    return " { %s }" % " ".join(out) if out else ""


def _numbers(text):
    return tuple(int(word) for word in re.findall(r"\d+", text))


def _colons(text):
    return tuple(sorted(":".join(re.findall(r"\d+", group)) for group in re.findall(r"\(([^)]*)\)", text)))
