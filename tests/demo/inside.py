# SPDX-License-Identifier: GPL-2.0-or-later
"""The demo's story, told inside the kernel that carries it. Usage: inside.py FOLDER."""

import os
import platform
import sys

from lab import PLACES
from lab.lab import Lab
from lab.net import LAN_HOST
from lab.wait import Failure, expect, expect_equal, wait_for

A1 = PLACES["A1"]


def step(text):
    """A headline."""
    print("\n== " + text, flush=True)


def show(text, prefix="   "):
    """Output of a program, indented."""
    for line in text.rstrip().splitlines():
        print(prefix + line, flush=True)


def kernel_line():
    """Which kernel this is, in words."""
    kind = {"uml": "User Mode Linux guest (this machine's own kernel has no ESP)",
            "qemu": "QEMU guest (this machine's own kernel has no ESP)"}.get(
                os.environ.get("CW_KERNEL"), "this machine's own kernel")
    return "Linux %s, %s" % (platform.release(), kind)


def traffic(lab):
    """Ping and TCP through the tunnel, and what the wire saw of it."""
    wire = lab.net.capture("g0")
    # Of ESP a busy capture may miss some. Of what should not be there this one misses nothing.
    clear = lab.net.capture("g0", expression="net 10.0.0.0/8")
    lab.net.wait_ping("lan", A1.host)
    show(lab.net.lan.run(["ping", "-n", "-c", "3", "-i", "0.2", A1.host]))
    rate = lab.net.iperf("lan", "vnet", A1.host, 3)
    show("iperf3 %s -> %s: %.0f Mbit/s of TCP over AES-256-CBC/SHA-256 for 3 s" % (LAN_HOST, A1.host, rate / 1e6))
    step("what crossed the wire between the gateways")
    esp = wire.expect_only_esp(least=10)
    show(lab.net.net.rc(["tcpdump", "-n", "-t", "-c", "4", "-r", wire.file, "esp"])[1].split("\n", 1)[-1])
    wire.stop()
    expect_equal(len(clear.stop()), 0, "packets in the clear")
    expect("0 packets dropped by kernel" in clear.process.text(), "the capture dropped packets")
    show("%d ESP packets captured; of 10.10.0.0/16 and 10.20.0.0/16 not one packet in the clear" % len(esp))


def story(lab):
    """From nothing to nothing."""
    step("an Azure-like gateway: strongSwan, custom policy AES256/SHA256/DHGroup14, PFS2048, any-any")
    lab.peer("A1", "azure")
    show("%s, VNet %s behind it; it waits for us" % (A1.address, A1.network))

    step("causewayd for the LAN 10.10.0.0/16, with this config")
    daemon = lab.causeway(start=False)
    show(open(daemon.host.root(daemon.write_conf()), encoding="utf-8").read())
    daemon.start()
    daemon.wait_up()
    show(daemon.log_text())

    step("LAN host %s talks to VNet host %s" % (LAN_HOST, A1.host))
    traffic(lab)

    step("causewayctl status")
    show(daemon.ctl("status")[1])
    step("causewayctl status azure")
    show(daemon.ctl("status", "azure")[1])

    step("stop")
    code = daemon.stop()
    expect(code == 0, "causewayd ended with %d" % code)
    daemon.expect_clean()
    show("exit code 0; ip xfrm state, ip xfrm policy, cw- interfaces and routes of ours: none left")
    wait_for(lambda: not lab.peers["A1"].established(), 10, "the peer to have no IKE_SA")
    show("the peer was told (DELETE) and has no IKE_SA either")


def main():
    """Exit code 0 when every claim held."""
    folder = sys.argv[1]
    print("causeway demo on " + kernel_line(), flush=True)
    lab = Lab(folder)
    try:
        story(lab)
    except Failure as why:
        lab.diagnose()
        print("\ndemo FAILED: %s\nLogs and diagnosis are in build/demo." % why, flush=True)
        return 1
    finally:
        lab.close()
    print("\ndemo ok", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
