# SPDX-License-Identifier: GPL-2.0-or-later
"""Announces and withdraws at random from both sides, and equal tables at the end."""

import os
import random
import time

from bgp import PEERS, Route, Wire
from bgp.wire import OPEN
from lab import case, expect_equal

SECONDS = int(os.environ.get("CW_SOAK_S", "20"))
MOST = 60               # changes at a time


def change(rng, daemon, first, touched):
    """One change of what a daemon announces, out of 2,000 prefixes that begin with FIRST.

    touched: {prefix: when it was changed last}.
    """
    now = time.monotonic()
    free = lambda prefix: now - touched.get(prefix, 0) >= daemon.settle_s
    pool = ["%d.%d.%d.0/24" % (first, i >> 8, i & 255) for i in range(1800)]
    pool += ["%d.200.%d.0/%d" % (first, i, 25 + i % 8) for i in range(200)]
    pool = [p for p in pool if free(p)]
    mine = [p for p in daemon.routes if p.startswith("%d." % first) and free(p)]
    count = rng.choice((1, 1, 2, 5, 20, MOST))
    chosen = rng.sample(pool, count)
    if mine and rng.random() < 0.45:
        chosen = rng.sample(mine, min(count, len(mine)))
        touched.update(dict.fromkeys(chosen, now))
        daemon.withdraw(chosen)
        return
    touched.update(dict.fromkeys(chosen, now))
    communities = tuple("65000:%d" % n for n in sorted(rng.sample(range(1, 40), rng.choice((0, 1, 3)))))
    daemon.announce([Route(p, med=rng.choice((None, 1, 100, 4294967295)), communities=communities)
                     for p in chosen])


@case(matrix={"peer": sorted(PEERS)}, cost_s=SECONDS + 5, timeout_s=SECONDS + 180)
def soak(lab, peer):
    us, them = lab.pair(peer, them={"passive": True}, hold_s=9)
    if hasattr(us, "with_feeder"):
        us.with_feeder(lab.world)
    wire = Wire(lab.world)
    us.start([Route("10.10.0.0/16")])
    them.start([Route("10.20.0.0/16")])
    lab.wait_both()
    seed = random.randrange(1 << 32)
    print("seed %d" % seed)
    rng = random.Random(seed)
    end = time.monotonic() + SECONDS
    rounds, touched = 0, {}
    while time.monotonic() < end:
        change(rng, them, 21, touched)
        change(rng, us, 11, touched)
        rounds += 1
        if rounds % 50 == 0:            # where they differ on the way is found near its cause
            lab.wait_equal(60)
    lab.wait_equal(60)
    print("%d rounds, %d and %d routes at the end" % (rounds, len(them.sent()), len(us.sent())))
    for side in (us, them):
        expect_equal(wire.count(side.session.local, OPEN), 1, "OPENs of " + side.name)
