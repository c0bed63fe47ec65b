# SPDX-License-Identifier: GPL-2.0-or-later
"""The systemd unit: causewayd does all its work in the sandbox that the unit puts around it.

A real systemd runs as the first process of a PID namespace on G. It reads the unit that `make install`
installs; only the path of the program is another. In the machine's own kernel this
would meddle with its control groups, and a sanitizer's runtime asks for more than the sandbox gives.
"""

import os
import re
import shutil

from lab import Failure, PLACES, Skip, case, expect, expect_equal, wait_for, xfrm
from lab.causeway import CONF, binary

SYSTEMD = "/lib/systemd/systemd"
PROGRAM, LOG = "/run/program/causewayd", "/run/causewayd.log"
INSTALLED_CONF = "/etc/causeway/causeway.conf"
CAPS = "0000000000001400"       # CAP_NET_ADMIN, CAP_NET_BIND_SERVICE

# What a whole system would start first is not there, and no journal.
DROP_IN = """[Unit]
DefaultDependencies=no
[Service]
ExecStart=
ExecStart=%s -f %s
StandardError=append:%s
""" % (PROGRAM, INSTALLED_CONF, LOG)


class Unit:
    """systemd on a host, with the unit alone."""

    def __init__(self, host):
        self.host = host
        with open(os.path.join(os.environ.get("CW_BUILD", "build"), "conf/causeway.service"),
                  encoding="utf-8") as file:
            host.write("/run/systemd/system/causeway.service", file.read())
        host.write("/run/systemd/system/causeway.service.d/lab.conf", DROP_IN)
        with open(binary("causewayd"), "rb") as file:
            host.write(PROGRAM, file.read(), 0o755)
        # The lab's place for it is the unit's runtime folder, which goes with the daemon.
        with open(host.root(CONF), "rb") as file:
            host.write(INSTALLED_CONF, file.read(), 0o600)
        self.process = host.start("systemd", [
            "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec env -i container=other PATH=$PATH %s "
            "--system --unit=causeway.service --log-target=kmsg --show-status=no" % SYSTEMD])

    def text(self):
        """What causewayd wrote, and what systemd says of it."""
        try:
            with open(self.host.root(LOG), encoding="utf-8", errors="replace") as file:
                return file.read()[-1500:]
        except OSError:
            return "nothing was written"

    def systemctl(self, *words):
        """Runs systemctl where systemd takes it for its own; returns its output."""
        first = int(self.host.run(["pgrep", "-P", str(self.process.pid)]).split()[0])
        return self.host.run(["nsenter", "--target", str(first), "--pid", "--mount", "systemctl",
                              *words])

    def main_pid(self):
        """causewayd's process id as this test sees it, or None."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink("/proc/%s/exe" % pid) == PROGRAM:
                    return int(pid)
            except OSError:
                pass
        return None


def proc_status(pid):
    """/proc/PID/status as a dict."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return dict(re.match(r"(\w+):\s*(.*)", line).groups() for line in file)


def expect_sandbox(pid):
    """The unit's restrictions are in force, not only written down."""
    status = proc_status(pid)
    for name in ("CapPrm", "CapEff", "CapBnd"):
        expect_equal(status[name], CAPS, name)
    expect_equal(status["CapAmb"], "0" * 16, "CapAmb")
    expect_equal(status["NoNewPrivs"], "1", "NoNewPrivs")
    expect_equal(status["Seccomp"], "2", "Seccomp")
    with open("/proc/%d/mounts" % pid, encoding="utf-8") as file:
        mounts = {}
        for line in file:
            words = line.split()
            mounts[words[1]] = words[3].split(",")
    for path in ("/", "/run", "/etc", "/home", "/dev"):
        expect("ro" in mounts.get(path, mounts["/"]), "%s is writable in the sandbox" % path)
    expect("rw" in mounts.get("/run/causeway", ()), "/run/causeway is not writable in the sandbox")
    for node in ("kmsg", "mem", "port", "console"):
        expect(not os.path.exists("/proc/%d/root/dev/%s" % (pid, node)), "/dev/%s is there" % node)


@case(kernels=("uml",), needs=["vti"], cost_s=25, timeout_s=180)
def sandbox(lab):
    if os.environ.get("CW_SANITIZE") == "address":
        raise Skip("a sanitizer's runtime asks for more than the sandbox gives")
    if not os.path.exists(SYSTEMD) or not shutil.which("pgrep"):
        raise Skip("systemd or pgrep is not installed")
    if kernel_lacks_cgroup2():
        raise Skip("this kernel has no cgroup2")
    lab.peer("A1", "azure")
    g = lab.causeway(start=False)
    g.write_conf()
    unit = Unit(g.host)
    try:
        wait_for(unit.main_pid, 60, "systemd to start causewayd")
        g.process = unit.process
        wait_for(lambda: answers(g), 20, "causewayd to answer")
        g.wait_up()
        expect_sandbox(unit.main_pid())
        lab.expect_traffic()
        for what in ("child", "ike"):
            g.order("rekey", g.tunnel()["name"], what=what)
        lab.expect_one_pair()
        lab.expect_traffic()

        # A crash: systemd starts it again, and it takes over.
        old = unit.main_pid()
        os.kill(old, 9)
        wait_for(lambda: unit.main_pid() not in (None, old) and answers(g), 30,
                 "systemd to start causewayd again")
        g.wait_up()
        lab.expect_one_pair()
        lab.expect_traffic()

        unit.systemctl("stop", "causeway.service")
        expect_equal(unit.systemctl("show", "--property=Result", "--value",
                                    "causeway.service").strip(), "success", "result of the stop")
        expect_equal([s for s in xfrm.states(g.host) if PLACES["A1"].address in (s.src, s.dst)], [],
                     "SAs that are left")
        expect(not os.path.exists(g.host.root("/run/causeway")), "/run/causeway is left")
    except Failure as why:
        raise Failure("%s; causewayd: %s" % (why, unit.text())) from None
    finally:
        unit.process.kill9()


def answers(g):
    """Does the control socket answer?"""
    try:
        return g.status() is not None
    except OSError:
        return False


def kernel_lacks_cgroup2():
    """True when there is no cgroup2 to mount."""
    with open("/proc/filesystems", encoding="ascii") as file:
        return not any(line.split()[-1] == "cgroup2" for line in file)
