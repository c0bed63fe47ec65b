# SPDX-License-Identifier: GPL-2.0-or-later
"""causewayd as the gateway under test."""

import json
import os
import shutil
import socket
import stat

from .wait import Dead, Failure, VALGRIND, wait_for
from . import xfrm

CONF, SOCKET, KEYS = "/run/causeway/causeway.conf", "/run/causeway/control.sock", "/run/keys"
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))),
                            "valgrind.supp")


def libconfig(value, depth=0):
    """A Python value as libconfig text: dict = group, list of dicts = list, other list = array."""
    tab = "\t" * depth
    if isinstance(value, dict):
        return "{\n" + "".join("%s\t%s = %s;\n" % (tab, k, libconfig(v, depth + 1))
                               for k, v in value.items()) + tab + "}"
    if isinstance(value, (list, tuple)):
        open_, close = ("(", ")") if value and isinstance(value[0], dict) else ("[", "]")
        return open_ + ", ".join(libconfig(v, depth + 1) for v in value) + close
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) + ("L" if abs(value) > 0x7fffffff else "")
    if isinstance(value, float):
        return repr(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def binary(name):
    """Path of a program of the build under test."""
    path = os.path.join(os.environ.get("CW_BUILD", "build"), name)
    if not os.path.exists(path):
        raise Failure("%s is not built" % path)
    return path


def command(name, logdir):
    """The words that start a program of the build under test: under memcheck where the run asks for it.

    Memcheck writes to LOGDIR/valgrind-PID.log, and only when it has something to complain about: the
    runner takes every word there for a failure. What is definitely lost is looked for at an orderly end.
    """
    words = [binary(name)]
    if VALGRIND:
        words = [shutil.which("valgrind") or "valgrind", "--quiet",
                 "--log-file=%s/valgrind-%%p.log" % logdir, "--vgdb=no", "--fair-sched=try",
                 "--leak-check=full", "--show-leak-kinds=definite",
                 "--errors-for-leak-kinds=definite", "--num-callers=30",
                 "--suppressions=" + SUPPRESSIONS] + words
    return words


class Causeway:
    """One causewayd on a host. `conf` is a dict as the file: {"gateway": {...}, "sites": [...]}."""

    kind = "causeway"

    def __init__(self, host, conf=None, text=None):
        self.host, self.conf, self.text = host, conf, text
        self.process = None
        self.extra_env = {}

    def write_key(self, name, key):
        """Put a key file where psk-file can name it; returns its path."""
        return self.host.write("%s/%s" % (KEYS, name), key, 0o600)

    def write_conf(self):
        """Write the config file; returns its path."""
        text = self.text
        if text is None:
            conf = {k: v for k, v in self.conf.items()}
            conf["gateway"] = dict({"control-socket": SOCKET}, **conf.get("gateway", {}))
            text = "".join("%s = %s;\n" % (k, libconfig(v)) for k, v in conf.items())
        return self.host.write(CONF, text, 0o600)

    def start(self, *options, wait=True):
        """Start the daemon; with wait, until its control socket answers."""
        self.write_conf()
        self.process = self.host.start("causewayd", command("causewayd", self.host.logdir)
                                       + ["-f", CONF] + list(options), self.extra_env)
        if wait:
            wait_for(self._answers, 20, "causewayd on %s to answer" % self.host.name,
                     poll_s=0.02)
        return self

    def _answers(self):
        if not self.process.alive():
            raise Dead("causewayd ended with %d: %s" % (
                self.process.popen.returncode, self.process.text().strip()[-400:]))
        return self.status() is not None

    def check(self):
        """causewayd -n -f FILE: (exit code, output)."""
        self.write_conf()
        return self.host.rc(command("causewayd", self.host.logdir) + ["-n", "-f", CONF])

    def stop(self):
        """SIGTERM and wait for the orderly end; returns the exit code."""
        return self.process.stop()

    def kill9(self, flush=False):
        """SIGKILL; the kernel keeps what it holds unless flush is set."""
        self.process.kill9()
        if flush:
            self.host.ip("xfrm state flush\nxfrm policy flush")

    def restart(self):
        """Start again."""
        return self.start()

    # Control.

    def ask(self, **request):
        """One request over the control socket; returns the answer, also one that says no."""
        path = self.host.root(SOCKET)
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise Failure("%s is not a socket" % SOCKET)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(15)
            sock.connect(path)
            sock.sendall(json.dumps(request).encode() + b"\n")
            data = b""
            while not data.endswith(b"\n"):
                more = sock.recv(65536)
                if not more:
                    break
                data += more
        if not data:
            raise Failure("causewayd gave no answer to %r" % request)
        return json.loads(data)

    def order(self, cmd, tunnel, **more):
        """up, down, restart, rekey; Failure when it is refused."""
        answer = self.ask(cmd=cmd, tunnel=tunnel, **more)
        if not answer.get("ok"):
            raise Failure("%s %s: %s" % (cmd, tunnel, answer.get("error")))
        return answer

    def ctl(self, *words):
        """Run causewayctl: (exit code, output)."""
        return self.host.rc([binary("causewayctl"), "-s", SOCKET] + list(words))

    def status(self):
        """The whole status."""
        return self.ask(cmd="status")

    def tunnel(self, name=None):
        """The status of one tunnel; without a name, of the only or first one."""
        tunnels = self.status()["tunnels"]
        for tunnel in tunnels:
            if name in (None, tunnel["name"]):
                return tunnel
        raise Failure("no tunnel %s in status" % name)

    def wait_state(self, state, name=None, timeout_s=15, strict=False):
        """Wait until a tunnel is in a state ("up", "waiting", "down", ...); returns its status."""
        def there():
            seen = self.tunnel(name)
            if seen["state"] != state:
                raise Failure("it is %s: %s" % (seen["state"], seen.get("detail") or
                                                seen.get("cause")))
            return seen
        return wait_for(there, timeout_s, "tunnel %s to be %s" % (name or "", state), strict)

    def wait_up(self, name=None, timeout_s=15, strict=False):
        """Wait until a tunnel is up; returns its status."""
        return self.wait_state("up", name, timeout_s, strict)

    def log_text(self):
        """Its log so far."""
        return self.process.text()

    def wait_log(self, text, timeout_s=15):
        """Wait until a text stands in its log."""
        wait_for(lambda: text in self.log_text(), timeout_s, "%r in causewayd's log" % text)

    # The kernel.

    def kernel_pairs(self, remote):
        """(in, out) ESP SAs in our kernel with a peer's outer address."""
        out = [s for s in xfrm.states(self.host) if s.proto == "esp" and s.algorithms]
        return [s for s in out if s.src == remote], [s for s in out if s.dst == remote]

    def expect_clean(self):
        """Failure when the kernel still holds SAs, policies, cw- links or routes of ours."""
        left = xfrm.leftovers(self.host)
        if left:
            raise Failure("left behind: " + left)
        links = [l["ifname"] for l in json.loads(self.host.run(["ip", "-j", "link"]))
                 if l["ifname"].startswith("cw-")]
        if links:
            raise Failure("links left behind: " + ", ".join(links))
        routes = self.host.run(["ip", "route", "show", "table", "all", "type", "unreachable"])
        if routes.strip():
            raise Failure("routes left behind: " + routes.strip())
