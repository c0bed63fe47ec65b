# SPDX-License-Identifier: GPL-2.0-or-later
"""libreswan's pluto as a peer. Its package conflicts with strongSwan's: tests/lab/deps unpacks it."""

import os
import re
import shutil

from .wait import Dead, Failure, wait_for
from . import xfrm

CACHE = os.environ.get("CW_LAB_CACHE") or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "build", ".cache")

INSTALLED = "/usr/libexec/ipsec"

WORDS = {"sha256": "sha2_256", "sha384": "sha2_384", "sha512": "sha2_512",
         "prfsha256": "sha2_256", "prfsha384": "sha2_384", "prfsha512": "sha2_512",
         "aes128gcm16": "aes_gcm128", "aes256gcm16": "aes_gcm256", "ecp256": "dh19",
         "ecp384": "dh20", "ecp521": "dh21", "modp1536": "dh5", "modp2048": "dh14",
         "modp3072": "dh15", "modp4096": "dh16"}


def find():
    """Folder of pluto and whack, or None."""
    for folder in (os.path.join(CACHE, "libreswan/usr/libexec/ipsec"), INSTALLED):
        if os.path.exists(os.path.join(folder, "pluto")):
            return os.path.realpath(folder)
    return None


def proposals(text):
    """strongSwan's way to write proposals in libreswan's."""
    out = []
    for proposal in text.split(","):
        words = [WORDS.get(w, w) for w in proposal.strip().split("-")]
        if words[0].startswith("aes_gcm") and len(words) == 2 and words[1].startswith("dh"):
            words.insert(1, "null")     # ESP: a group may only follow an integrity algorithm
        out.append("-".join(words))
    return ",".join(out)


class Libreswan:
    """One pluto on a host. The interface is that of StrongSwan where both can do it."""

    kind = "libreswan"

    def __init__(self, host, uniqueids=False, **_options):
        self.host, self.uniqueids = host, uniqueids
        self.log = os.path.join(host.logdir, "%s-pluto.log" % host.name)
        self.folder = find()
        if not self.folder:
            raise Failure("libreswan is not here: tests/lab/deps fetch")
        self.connections, self.secrets = {}, {}
        self.process = None

    def start(self):
        """Start the daemon and load what add() has been given."""
        host = self.host
        if not os.path.exists(host.root(INSTALLED + "/pluto")):
            # pluto runs its helpers by the path of the package: lay it over, for this host only.
            host.run(["mount", "-t", "overlay", "-o", "lowerdir=%s:/usr/libexec"
                      % os.path.dirname(self.folder), "overlay", "/usr/libexec"])
        self.folder = INSTALLED
        nss = os.path.join(CACHE, "libreswan/nss")
        os.makedirs(host.root("/run/ipsec.d"), exist_ok=True)
        os.makedirs(host.root("/run/pluto"), exist_ok=True)
        if os.path.isdir(nss):
            shutil.copytree(nss, host.root("/run/ipsec.d"), dirs_exist_ok=True)
        else:
            host.run(["certutil", "-N", "-d", "sql:/run/ipsec.d", "--empty-password"])
        self._write()
        try:
            os.unlink(host.root("/run/pluto/pluto.ctl"))
        except FileNotFoundError:
            pass
        self.process = host.start("pluto-out", [
            self.folder + "/pluto", "--nofork", "--config", "/run/ipsec.conf", "--nssdir",
            "/run/ipsec.d", "--ipsecdir", "/run/ipsec.d", "--rundir", "/run/pluto",
            "--secretsfile", "/run/ipsec.secrets", "--logfile", self.log, "--no-dnssec"])
        wait_for(self._answers, 30, "pluto on %s to answer" % host.name)
        self.whack("--listen")
        for name in self.connections:
            self._load(name)
        return self

    def _answers(self):
        if self.process.popen.poll() is not None:
            raise Dead("pluto on %s ended: see %s" % (self.host.name, self.log))
        return os.path.exists(self.host.root("/run/pluto/pluto.ctl")) and \
            self.host.rc([self.folder + "/whack", "--ctlsocket", "/run/pluto/pluto.ctl",
                          "--briefstatus"])[0] == 0

    def _write(self):
        text = "config setup\n\tuniqueids=%s\n\tikev1-policy=accept\n\n" % (
            "yes" if self.uniqueids else "no")
        for name, lines in self.connections.items():
            text += "conn %s\n" % name + "".join(
                "\t%s=%s\n" % item for item in lines.items()) + "\n"
        self.host.write("/run/ipsec.conf", text)
        text = ""
        for owners, psk in self.secrets.values():
            text += "%s : PSK 0x%s\n" % (" ".join(owners), psk.hex())
        self.host.write("/run/ipsec.secrets", text, 0o600)

    def _load(self, name):
        rc, said = self.host.rc([self.folder + "/addconn", "--config", "/run/ipsec.conf",
                                 "--ctlsocket", "/run/pluto/pluto.ctl", name])
        if rc != 0:
            raise Failure("libreswan refuses its connection: %s %s" % (
                said.strip(), self.log_text().strip().rsplit("\n", 1)[-1]))
        if self.connections[name].get("auto") == "start":
            self.initiate(name)

    def whack(self, *words, must=True):
        """Run whack; returns what it says."""
        rc, out = self.host.rc([self.folder + "/whack", "--ctlsocket", "/run/pluto/pluto.ctl"]
                               + list(words))
        if must and rc != 0:
            raise Failure("whack %s: %d %s" % (" ".join(words), rc, out.strip()[-300:]))
        return out

    def stop(self):
        """Orderly end."""
        self.whack("--shutdown", must=False)
        return self.process.popen.wait(20)

    def kill9(self, flush=True):
        """As power lost; with flush the kernel's SAs and policies go too."""
        self.process.kill9()
        if flush:
            self.host.ip("xfrm state flush\nxfrm policy flush")

    def restart(self):
        """Start again, after stop() or kill9()."""
        try:
            os.unlink(self.host.root("/run/pluto/pluto.pid"))
        except FileNotFoundError:
            pass
        return self.start()

    def add(self, name, connection, psk, owners):
        """Load a connection: connection is a dict of ipsec.conf settings, psk bytes."""
        self.connections[name] = connection
        self.secrets[name] = (list(owners), psk)
        if self.process and self.process.alive():
            self._write()
            self.whack("--rereadsecrets")
            self._load(name)

    def set_psk(self, name, psk):
        """Change a key, also while running."""
        self.secrets[name] = (self.secrets[name][0], psk)
        self._write()
        if self.process and self.process.alive():
            self.whack("--rereadsecrets")

    def initiate(self, child="net", timeout_s=None):
        """Start a connection; with timeout_s wait for it."""
        self.whack("--name", child, "--initiate", "--asynchronous", must=False)
        if timeout_s is not None:
            wait_for(lambda: any(n.startswith(child) for n in self.children()), timeout_s,
                     "%s up at %s" % (child, self.host.name))

    def terminate(self, ike="net", child=None, force=False):
        """Take a connection down, with DELETE."""
        del force
        self.whack("--name", child or ike, "--terminate", must=False)

    def rekey(self, what, name="net"):
        """Rekey "ike" or "child"."""
        self.whack("--name", name, "--rekey-ike" if what == "ike" else "--rekey-ipsec",
                   "--asynchronous")
        return 1

    def children(self):
        """Names of the connections that have a child, as pluto counts their traffic."""
        return re.findall(r'#\d+: "([^"]+)"', self.whack("--trafficstatus", must=False))

    def established(self):
        """Names of the connections whose IKE_SA is established."""
        return re.findall(r'#\d+: "([^"]+)"[^\n]*(?:ESTABLISHED_IKE_SA|MAIN_[RI]\d)',
                          self.whack("--showstates", must=False))

    def wait_up(self, children=1, timeout_s=20, strict=False):
        """Wait until that many children are up."""
        wait_for(lambda: len(self.children()) >= children, timeout_s,
                 "%d child SAs at %s" % (children, self.host.name), strict)
        return self.children()

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
        local = next(iter(self.connections.values()))["left"]
        return xfrm.pairs(self.host, local, remote)
