# SPDX-License-Identifier: GPL-2.0-or-later
"""Waiting for a state, in place of sleeping; and what a failed test says."""

import os
import time


class Failure(Exception):
    """The test has failed; the text is the reason, in one line."""


class Dead(Failure):
    """A failure that waiting can't mend, such as a daemon that has ended."""


class Skip(Exception):
    """The test can't run here; the text is the reason."""


# causewayd runs under Valgrind's memcheck, which takes some seconds to start a program and to look
# for leaks at its end: a promise that begins with our start, or is about our end, is met so much later.
VALGRIND = bool(os.environ.get("CW_VALGRIND"))
TOOL_S = 8 if VALGRIND else 0

# Emulated processors are slow: a timeout that only guards against hanging is stretched.
PATIENCE = {"qemu": 4.0, "uml": 3.0 if VALGRIND else 1.5}.get(os.environ.get("CW_KERNEL", ""), 1.0)


def wait_for(condition, timeout_s, what, strict=False, poll_s=0.05):
    """Poll condition() until it is true and return its value.

    After timeout_s raise Failure naming `what`. The timeout is stretched on slow kernels, unless
    strict: then it is a promise of the product that is being tested. A condition that raises
    Failure or OSError is taken as not true yet, and its text is added to the failure's; Dead ends
    the wait.
    """
    limit = timeout_s if strict else timeout_s * PATIENCE
    end = time.monotonic() + limit
    last = ""
    while True:
        try:
            value = condition()
            if value:
                return value
        except Dead:
            raise
        except (Failure, OSError) as why:
            last = " (last: %s)" % why
        if time.monotonic() >= end:
            raise Failure("waited %.3g s for %s%s" % (limit, what, last))
        time.sleep(poll_s)


def hold_true(condition, duration_s, what, poll_s=0.1):
    """Watch that condition() stays true for duration_s; Failure the first time it is not."""
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        if not condition():
            raise Failure("%s did not hold for %g s" % (what, duration_s))
        time.sleep(poll_s)


def expect(value, what):
    """Failure unless value is true."""
    if not value:
        raise Failure(what)
    return value


def expect_equal(got, wanted, what):
    """Failure unless both are equal."""
    if got != wanted:
        raise Failure("%s: got %r, wanted %r" % (what, got, wanted))
