# SPDX-License-Identifier: GPL-2.0-or-later
"""What we write in MRT format (RFC 6396), read by bgpdump: received messages, and the table."""

import os
import shutil

from bgp import Route
from bgp.causeway import CONTROL
from lab import Skip, case, expect_equal, wait_for

MESSAGES = "/var/tmp/messages.mrt"
OURS = [Route("10.10.0.0/16")]
THEIRS = [Route("10.20.%d.0/24" % i) for i in range(40)] + [Route("10.21.0.0/16", med=7)]


def bgpdump(us, path):
    """[fields of a line] of a file there."""
    return [line.split("|") for line in us.host.run(["bgpdump", "-m", "-q", path]).splitlines()]


@case(matrix={"peer": ["bird", "gobgp"]}, cost_s=4)
def read_by_bgpdump(lab, peer):
    if not shutil.which("bgpdump"):
        raise Skip("bgpdump is not installed (tests/lab/deps list)")
    us, them = lab.pair(peer)
    us.gateway["mrt-file"] = MESSAGES
    us.start(OURS)
    them.start(THEIRS)
    lab.wait_both()
    lab.wait_equal()

    def announced():
        return {f[5] for f in bgpdump(us, MESSAGES) if f[2] == "A"}
    wait_for(lambda: announced() == {r.prefix for r in THEIRS}, 10, "all announcements in mrt-file")
    states = [f[-2:] for f in bgpdump(us, MESSAGES) if f[2] == "STATE"]
    expect_equal(states[-1], ["5", "6"], "the last change of state")

    ctl = os.path.join(os.path.dirname(us.program), "..", "..", "causewayctl")
    us.host.run(["sh", "-c", "%s -s %s routes --mrt >/var/tmp/table.mrt" % (
        os.path.realpath(ctl), CONTROL)])
    table = {(f[5], f[3], f[4]): f for f in bgpdump(us, "/var/tmp/table.mrt")}
    asn = str(us.session.peer_asn)
    expect_equal({key for key in table if key[2] == asn},
                 {(r.prefix, us.session.peer, asn) for r in THEIRS}, "the peer's routes in the table")
    path = table["10.21.0.0/16", us.session.peer, asn]
    expect_equal((path[1], path[2], path[6], path[8], path[10]), (path[1], "B", asn, us.session.peer, "7"),
                 "AS path, next hop and MED")
