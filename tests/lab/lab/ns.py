# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts made of namespaces, and processes in them.

A Host has a network, a mount and a UTS namespace: its own /run, /etc (changes stay in memory),
/var/lib and /sys. It is held by a child that sleeps. Nothing here runs on the machine itself:
the test runner puts each case into a guest or into namespaces of its own first.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time

from .wait import PATIENCE, Failure

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000, 0x04000000, 0x20000000, 0x40000000)
MS_REC, MS_PRIVATE = 16384, 1 << 18
PR_SET_PDEATHSIG = 1
KINDS = {"net": CLONE_NEWNET, "uts": CLONE_NEWUTS, "mnt": CLONE_NEWNS}

libc = ctypes.CDLL(None, use_errno=True)


def check(rc, what):
    """Raise OSError when a libc call failed."""
    if rc != 0:
        err = ctypes.get_errno()
        raise OSError(err, "%s: %s" % (what, os.strerror(err)))


def mount(source, target, fstype, flags=0, options=None):
    """mount(2) without a process of its own."""
    enc = lambda s: s.encode() if s is not None else None
    check(libc.mount(enc(source), enc(target), enc(fstype), ctypes.c_ulong(flags), enc(options)),
          "mount %s on %s" % (fstype, target))


def unshare(flags):
    """unshare(2)."""
    check(libc.unshare(flags), "unshare")


def write_file(path, text):
    """Write a /proc or /sys value; a missing one is not an error (features differ)."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(str(text))
    except OSError:
        pass


class Process:
    """A process in a Host, with its output in a log file. Killed with SIGKILL if need be."""

    def __init__(self, host, name, popen, log):
        self.host, self.name, self.popen, self.log = host, name, popen, log

    @property
    def pid(self):
        """Its process id."""
        return self.popen.pid

    def alive(self):
        """True while it runs."""
        return self.popen.poll() is None

    def signal(self, number):
        """Send a signal, if it still runs."""
        if self.alive():
            self.popen.send_signal(number)

    def stop(self, timeout_s=20):
        """SIGTERM and wait, longer on slow kernels; returns the exit code. Fails when it does not end."""
        timeout_s *= PATIENCE
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise Failure("%s did not end within %d s of SIGTERM" % (self.name, timeout_s)) \
                from None

    def kill9(self):
        """SIGKILL and wait."""
        self.signal(signal.SIGKILL)
        return self.popen.wait()

    def text(self):
        """What it has written so far."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class Host:
    """One host of the lab."""

    def __init__(self, name, logdir):
        self.name, self.logdir = name, logdir
        self.processes = []
        ready_r, ready_w = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ready_r)
            self._hold(ready_w)
        os.close(ready_w)
        with os.fdopen(ready_r, "rb") as ready:
            said = ready.read()
        if said != b"ok":
            raise Failure("host %s: %s" % (name, said.decode(errors="replace") or "not made"))
        self.fds = [os.open("/proc/%d/ns/%s" % (self.pid, kind), os.O_RDONLY | os.O_CLOEXEC)
                    for kind in KINDS]

    def _hold(self, ready):
        """Child: make the namespaces, say so, sleep for ever."""
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS)
            libc.sethostname(self.name.encode(), len(self.name))
            mount(None, "/", None, MS_REC | MS_PRIVATE)
            mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
            for path in ("/run/.etc", "/run/.work", "/run/.lib", "/run/lock"):
                os.mkdir(path)
            mount("overlay", "/etc", "overlay", 0,
                  "lowerdir=/etc,upperdir=/run/.etc,workdir=/run/.work")
            mount("/run/.lib", "/var/lib", None, 4096)      # MS_BIND
            mount("sysfs", "/sys", "sysfs")
            for path, value in (("ipv4/ip_forward", 1), ("ipv6/conf/all/forwarding", 1),
                                ("ipv6/conf/all/accept_dad", 0),
                                ("ipv6/conf/default/accept_dad", 0)):
                write_file("/proc/sys/net/" + path, value)
            os.write(ready, b"ok")
            os.close(ready)
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            while True:
                signal.pause()
        except BaseException as why:  # pylint: disable=broad-except
            os.write(ready, str(why).encode())
        finally:
            os._exit(1)

    @contextlib.contextmanager
    def inside(self):
        """Be in this host's namespaces for a while, to start something there.

        The caller moves, not the child: so the child is made by vfork, which costs a tenth of
        copying this process on an emulated kernel. Only for a process with one thread.
        """
        here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        home = [os.open("/proc/self/ns/" + kind, os.O_RDONLY | os.O_CLOEXEC) for kind in KINDS]
        try:
            for fd, kind in zip(self.fds, KINDS.values()):
                check(libc.setns(fd, kind), "setns to " + self.name)
            yield
        finally:
            for fd, kind in zip(home, KINDS.values()):
                check(libc.setns(fd, kind), "setns back")
            os.fchdir(here)
            for fd in home + [here]:
                os.close(fd)

    def root(self, path):
        """The path under which a file of this host is seen from outside."""
        return "/proc/%d/root%s" % (self.pid, path)

    def write(self, path, data, mode=0o644):
        """Write a file of this host, making its folder."""
        outside = self.root(path)
        os.makedirs(os.path.dirname(outside), exist_ok=True)
        fd = os.open(outside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        os.chmod(outside, mode)
        return path

    def start(self, name, argv, env=None):
        """Start a process; its output goes to HOST-NAME.log (appended over restarts)."""
        log = os.path.join(self.logdir, "%s-%s.log" % (self.name, name))
        with open(log, "ab") as out, self.inside():
            popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                     env=dict(os.environ, **(env or {})))
        process = Process(self, "%s on %s" % (name, self.name), popen, log)
        self.processes.append(process)
        return process

    def run(self, argv, check_rc=True, input_text=None, timeout_s=60):
        """Run a command to its end and return its output, standard error included."""
        rc, said = self.rc(argv, timeout_s, input_text)
        if check_rc and rc != 0:
            raise Failure("%s: `%s` ended with %d: %s" % (
                self.name, " ".join(argv), rc, said.strip()[-500:]))
        return said

    def rc(self, argv, timeout_s=60, input_text=None):
        """(exit code, output) of a command."""
        with self.inside():
            popen = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL if input_text is None else subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            said = popen.communicate(input_text, timeout=timeout_s)[0]
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.communicate()
            raise Failure("%s: `%s` did not end within %g s" % (
                self.name, " ".join(argv), timeout_s)) from None
        return popen.returncode, said

    def ip(self, lines):
        """Run lines of ip(8), without the word ip, in one process."""
        lines = "\n".join(l.strip() for l in lines.strip().splitlines()) + "\n"
        return self.run(["ip", "-batch", "-"], input_text=lines)

    def sysctl(self, name, value):
        """Set a sysctl under net., given with dots or slashes."""
        self.run(["sh", "-c", 'echo "$1" >"/proc/sys/$2"', "sh", str(value),
                  name if "/" in name else name.replace(".", "/")])

    def proc_net(self, name):
        """Text of /proc/net/NAME as this host sees it."""
        with open("/proc/%d/net/%s" % (self.pid, name), encoding="ascii") as file:
            return file.read()

    def close(self):
        """Kill what runs here, and the holder."""
        for process in self.processes:
            process.kill9()
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def now():
    """Seconds that only rise."""
    return time.monotonic()
