# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case of tests/interop is given: two hosts, and on them a pair of speakers."""

import os
import time

from lab.wait import Failure, wait_for

from .world import World


class Interop:
    """The world of one case. `us` is causeway, or what CW_INTEROP_US names in its place."""

    def __init__(self, logdir):
        from . import PEERS, Causeway
        self.kinds = dict(PEERS, causeway=Causeway)
        self.logdir = logdir
        self.us_kind = os.environ.get("CW_INTEROP_US") or "causeway"
        self.us = self.them = self.wire = None
        self._world = None

    @property
    def world(self):
        """The network, made at the first use."""
        if not self._world:
            self._world = World(self.logdir)
        return self._world

    def pair(self, peer, us=None, them=None, **settings):
        """(us, them), not started. settings: of world.session(); us, them: changes for one side."""
        for_session = {k: v for k, v in settings.items()}
        session = self.world.session(**for_session)
        theirs = self.world.theirs(session, **(them or {}))
        if us:
            session = type(session)(**dict(vars(session), **us))
        self.us = self.kinds[self.us_kind](self.world.us, session, fib=True)
        self.them = self.kinds[peer](self.world.them, theirs)
        return self.us, self.them

    def wait_both(self, timeout_s=20):
        """Wait until both sides say that the session is up."""
        def up():
            if self.them.state() == "Idle":
                self.them.nudge()
            return self.us.established() and self.them.established()
        wait_for(up, timeout_s, "a session between us and " + self.them.name, poll_s=0.2)

    def wait_equal(self, timeout_s=30):
        """Wait until each has exactly what the other announces, and our kernel has it too."""
        self.us.wait_table(self.them.sent(), timeout_s)
        self.them.wait_table(self.us.sent(), timeout_s)
        self.wait_kernel(set(self.them.sent()), timeout_s)

    def wait_kernel(self, prefixes, timeout_s=10, strict=False):
        """Wait until our kernel has learned routes to exactly these prefixes, each through bgp0."""
        def equal():
            found = [prefix for prefix, routes in self.world.kernel_routes().items()
                     if any("bgp0" in str(route) for route in routes)]
            if set(found) != set(prefixes):
                raise Failure("%d routes, wanted %d: %s" % (len(found), len(prefixes), " ".join(
                    sorted(set(found) ^ set(prefixes))[:4])))
            return True
        wait_for(equal, timeout_s, "our kernel's learned routes", strict)

    def diagnose(self):
        """Write what both sides hold to diagnosis.txt."""
        if not self._world:
            return
        with open(os.path.join(self.logdir, "diagnosis.txt"), "w", encoding="utf-8") as out:
            out.write("at %s\n" % time.strftime("%T"))
            for daemon in (self.us, self.them):
                if not daemon:
                    continue
                for what in (daemon.state, daemon.table):
                    try:
                        value = what()
                        text = "\n".join("%s %r" % i for i in sorted(value.items())[:50]) if isinstance(
                            value, dict) else value
                    except Exception as why:  # pylint: disable=broad-except
                        text = "%s: %s" % (type(why).__name__, why)
                    out.write("--- %s of %s\n%s\n" % (what.__name__, daemon.name, text))
            for host in (self._world.us, self._world.them):
                for words in ("ip -br addr", "ip route", "ip -6 route", "ip neigh", "ss -tnoim"):
                    out.write("--- %s: %s\n%s\n" % (host.name, words, host.rc(words.split())[1][:4000]))

    def close(self):
        """End everything."""
        if self._world:
            self._world.close()
            self._world = None
