# SPDX-License-Identifier: GPL-2.0-or-later
"""How a session with each of the five ends, and how it comes back."""

from bgp import PEERS, Route, Wire
from lab import Skip, case, expect, hold_true, wait_for

FIVE = sorted(PEERS)
OURS = [Route("10.10.0.0/16"), Route("10.11.0.0/24")]
THEIRS = [Route("10.20.0.0/16"), Route("10.21.0.0/24"), Route("10.21.1.128/25")]
HOLD_S = 3


def up(lab, peer, **settings):
    """A pair with a session and equal tables, watched from the beginning."""
    us, them = lab.pair(peer, **settings)
    lab.wire = Wire(lab.world)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()
    return us, them


def gone(lab, us, within_s):
    """The session is known to be lost, and the kernel has none of its routes."""
    us.wait_down(within_s)
    lab.wait_kernel(())


def back(lab, them):
    """Both sides find together again by themselves, and have all routes."""
    lab.wait_both(them.reconnect_s + lab.us.reconnect_s)
    lab.wait_equal()


@case(matrix={"peer": FIVE}, cost_s=15)
def hold_timer(lab, peer):
    """Packets vanish: both notice within the hold time, and ours says so (4/0)."""
    us, them = up(lab, peer, hold_s=HOLD_S)
    lab.world.cut()
    gone(lab, us, HOLD_S + 3)
    them.wait_down(HOLD_S + 5)
    expect(us.last_sent() in ((4, 0), None), "our last NOTIFICATION was %r" % (us.last_sent(),))
    lab.world.mend()
    back(lab, them)


@case(matrix={"peer": FIVE}, cost_s=15)
def stops_reading(lab, peer):
    """The peer's processes stand still, its kernel goes on to take what we send."""
    us, them = up(lab, peer, hold_s=HOLD_S)
    them.pause()
    gone(lab, us, HOLD_S + 3)
    them.resume()
    back(lab, them)


@case(matrix={"peer": FIVE}, cost_s=6)
def restart(lab, peer):
    """The peer is stopped in order and started with other routes."""
    us, them = up(lab, peer)
    them.stop()
    gone(lab, us, 5)
    del them.routes[THEIRS[0].prefix]
    them.start([Route("10.22.0.0/16")])
    back(lab, them)


@case(matrix={"peer": FIVE}, cost_s=6)
def kill(lab, peer):
    """The peer dies."""
    us, them = up(lab, peer)
    them.kill9()
    gone(lab, us, 5)
    them.start()
    back(lab, them)


@case(matrix={"peer": FIVE}, cost_s=8)
def we_restart(lab, peer):
    """We are stopped in order: the peer loses our routes, our kernel theirs; then we are back."""
    us, them = up(lab, peer)
    us.stop()
    lab.wait_kernel(())
    them.wait_down(5)
    wait_for(lambda: not them.table(), 5, "the peer to drop our routes")
    us.start()
    back(lab, them)


@case(matrix={"peer": FIVE}, cost_s=8)
def we_die(lab, peer):
    """We are killed, and started again: what we left in the kernel is not there twice."""
    us, them = up(lab, peer)
    us.kill9()
    them.wait_down(5)
    us.start()
    back(lab, them)
    twice = [p for p, found in lab.world.kernel_routes().items() if len(found) != 1]
    expect(not twice, "several routes in the kernel to " + " ".join(twice))


@case(matrix={"peer": FIVE}, cost_s=8)
def graceful_restart_of_peer(lab, peer):
    """The peer dies and restarts gracefully: our kernel keeps its routes all the while."""
    us, them = lab.pair(peer, gr_s=60)
    if "gr-restarter" not in them.features:
        raise Skip("%s can't restart gracefully" % them.name)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()
    them.kill9()
    us.wait_down(5)
    kept = {r.prefix for r in THEIRS}
    hold_true(lambda: kept <= set(lab.world.kernel_routes()), 2, "the peer's routes in our kernel")
    del them.routes[THEIRS[0].prefix]
    them.start()
    stay = kept - {THEIRS[0].prefix}
    lost = []

    def again():
        lost.extend(stay - set(lab.world.kernel_routes()))
        return us.established()
    wait_for(again, 30, "the session again", poll_s=0.02)
    lab.wait_equal(60)
    expect(not lost, "not in the kernel for a while: " + " ".join(sorted(set(lost))))


@case(matrix={"peer": FIVE}, cost_s=8)
def graceful_restart_of_us(lab, peer):
    """We die and restart gracefully: the peer keeps our routes, and we those in our kernel."""
    us, them = lab.pair(peer, gr_s=60)
    if "gr-helper" not in them.features:
        raise Skip("%s keeps no routes of a peer that restarts" % them.name)
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()
    us.kill9()
    ours, theirs = {r.prefix for r in OURS}, {r.prefix for r in THEIRS}
    kept = lambda: ours <= set(them.table()) and theirs <= set(lab.world.kernel_routes())
    hold_true(kept, 2, "our routes at the peer and its routes in our kernel")
    us.start()
    lost = []

    def again():
        lost.extend(theirs - set(lab.world.kernel_routes()))
        return us.established()
    wait_for(again, 60, "the session again", poll_s=0.02)
    lab.wait_equal(60)
    expect(not lost, "not in the kernel for a while: " + " ".join(sorted(set(lost))))
