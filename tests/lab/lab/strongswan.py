# SPDX-License-Identifier: GPL-2.0-or-later
"""strongSwan's charon as a peer (or as a gateway to compare with), driven by vici."""

import os

from .vici import Vici
from .wait import Dead, wait_for
from . import xfrm

DAEMON = "/usr/sbin/charon-systemd"
PLUGINS = "random nonce openssl kdf gcm hmac kernel-netlink socket-default vici"

CONF = """charon-systemd {{
\tload = {plugins}
\tinstall_routes = no
\tinstall_virtual_ip = no
\treuse_ikesa = {reuse}
\tretransmit_timeout = {retransmit_timeout}
\tretransmit_base = {retransmit_base}
\tretransmit_tries = {retransmit_tries}
\tinitiator_only = {initiator_only}
\tdelete_rekeyed_delay = 1
\tretry_initiate_interval = {retry}
\tplugins {{
\t\tvici {{
\t\t\tsocket = unix:///run/charon.vici
\t\t}}
\t}}
\tfilelog {{
\t\tlog {{
\t\t\tpath = {log}
\t\t\ttime_format = %H:%M:%S
\t\t\tdefault = 1
\t\t\tcfg = {cfg_log}
\t\t\tappend = yes
\t\t\tflush_line = yes
\t\t}}
\t}}
}}
"""


def _algorithm(body, alg, size):
    return body[alg] + ("_" + body[size] if size in body else "")


def ike_proposal(sa):
    """What an IKE_SA of sas() has agreed, written as causewayctl does."""
    parts = [_algorithm(sa, "encr-alg", "encr-keysize")]
    return "/".join(parts + [sa[k] for k in ("integ-alg", "prf-alg", "dh-group") if k in sa])


def child_proposal(child):
    """The same of a child; without a group when it came with the IKE_SA."""
    parts = [_algorithm(child, "encr-alg", "encr-keysize")]
    return "/".join(parts + [child[k] for k in ("integ-alg", "dh-group") if k in child])


class StrongSwan:
    """One charon on a host. Connections are put in by add(); they survive restart()."""

    kind = "strongswan"

    def __init__(self, host, **options):
        self.host = host
        self.options = {"plugins": PLUGINS, "reuse": "yes", "retransmit_timeout": 2.0,
                        "retransmit_base": 1.4, "retransmit_tries": 3, "initiator_only": "no",
                        "retry": 3, "cfg_log": 1}
        self.options.update(options)
        self.log = os.path.join(host.logdir, "%s-charon.log" % host.name)
        self.connections, self.secrets = {}, {}
        self.process = None

    # Life.

    def start(self):
        """Start the daemon and load what add() has been given."""
        self.host.write("/run/strongswan.conf", CONF.format(log=self.log, **self.options))
        try:
            os.unlink(self.host.root("/run/charon.vici"))
        except FileNotFoundError:
            pass
        self.process = self.host.start("charon-out", [DAEMON],
                                       {"STRONGSWAN_CONF": "/run/strongswan.conf"})
        wait_for(self._answers, 20, "charon on %s to answer" % self.host.name, poll_s=0.02)
        for secret in self.secrets.values():
            self._ask("load-shared", secret)
        for name, body in self.connections.items():
            self._ask("load-conn", {name: body})
        return self

    def _answers(self):
        if not self.process.alive():
            raise Dead("charon on %s ended: see %s" % (self.host.name, self.log))
        self._ask("version")
        return True

    def _ask(self, command, message=None, must=True):
        vici = Vici(self.host.root("/run/charon.vici"))
        try:
            return vici.request(command, message, must)
        finally:
            vici.close()

    def _stream(self, command, event, message=None):
        vici = Vici(self.host.root("/run/charon.vici"))
        try:
            return vici.stream(command, event, message)
        finally:
            vici.close()

    def stop(self):
        """SIGTERM: says DELETE to its peers and goes."""
        return self.process.stop()

    def kill9(self, flush=True):
        """As power lost: no DELETE. With flush the kernel's SAs and policies go too."""
        self.process.kill9()
        if flush:
            self.host.ip("xfrm state flush\nxfrm policy flush")

    def restart(self):
        """Start again, after stop() or kill9()."""
        return self.start()

    # Configuration.

    def add(self, name, connection, psk, owners):
        """Load (or replace) a connection; psk is bytes, owners the identities it belongs to."""
        self.secrets[name] = {"id": name, "type": "IKE", "data": psk, "owners": list(owners)}
        self.connections[name] = connection
        if self.process and self.process.alive():
            self._ask("load-shared", self.secrets[name])
            self._ask("load-conn", {name: connection})

    def set_psk(self, name, psk):
        """Change a key, also while running."""
        self.secrets[name]["data"] = psk
        if self.process and self.process.alive():
            self._ask("load-shared", self.secrets[name])

    def remove(self, name):
        """Forget a connection."""
        self._ask("unload-conn", {"name": name})
        self._ask("unload-shared", {"id": name})
        del self.connections[name], self.secrets[name]

    # Orders.

    def initiate(self, child="net", timeout_s=None):
        """Start a child (and its IKE_SA). Without timeout_s the order is only given; with it, wait
        that long and return charon's answer, {"success": "yes"} or "no"."""
        timeout = -1 if timeout_s is None else int(timeout_s * 1000)
        return self._ask("initiate", {"child": child, "timeout": timeout}, False)

    def terminate(self, ike=None, child=None, force=False, ike_id=None):
        """Close an IKE_SA by name or by its "uniqueid", or a child by name; the order is only
        given."""
        self._ask("terminate", {"ike": ike, "child": child, "ike-id": ike_id, "force": force,
                                "timeout": -1}, False)

    def rekey(self, what, name, reauth=False):
        """Rekey "ike" or "child" by configured name; returns how many. reauth: authenticate anew."""
        order = {what: name}
        if reauth:
            order["reauth"] = "yes"
        return int(self._ask("rekey", order).get("matches", 0))

    # Looking.

    def sas(self):
        """List of IKE_SAs as vici tells them, each with "name" and its children in
        "child-sas"."""
        out = []
        for event in self._stream("list-sas", "list-sa"):
            for name, body in event.items():
                body["name"] = name
                out.append(body)
        return out

    def children(self, states=("INSTALLED",)):
        """The children in one of these states, over all IKE_SAs."""
        return [c for sa in self.sas() for c in sa.get("child-sas", {}).values()
                if c["state"] in states]

    def established(self):
        """Names of the IKE_SAs that are established."""
        return [sa["name"] for sa in self.sas() if sa["state"] == "ESTABLISHED"]

    def wait_up(self, children=1, timeout_s=15, strict=False):
        """Wait until that many children are installed; returns them."""
        wait_for(lambda: len(self.children()) >= children, timeout_s,
                 "%d child SAs installed at %s" % (children, self.host.name), strict)
        return self.children()

    def wait_down(self, timeout_s=15):
        """Wait until no IKE_SA is left."""
        wait_for(lambda: not self.sas(), timeout_s, "no IKE_SA at %s" % self.host.name)

    def log_text(self):
        """Its log so far."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_log(self, text, timeout_s=15):
        """Wait until a text stands in its log."""
        wait_for(lambda: text in self.log_text(), timeout_s,
                 "%r in the log of %s" % (text, self.host.name))

    def kernel_pairs(self, remote):
        """(in, out) ESP SAs in this peer's kernel with a remote outer address."""
        local = next(iter(self.connections.values()))["local_addrs"][0]
        return xfrm.pairs(self.host, local, remote)
