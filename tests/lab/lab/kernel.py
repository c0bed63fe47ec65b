# SPDX-License-Identifier: GPL-2.0-or-later
"""What the running kernel can do, found by trying; and which iptables works on it."""

import functools
import os
import subprocess

PROBES = {
    "xfrmi": "ip link add cwp type xfrm dev lo if_id 7",
    "vti": "ip link add cwp type vti local 127.0.0.1 remote 127.0.0.2 key 9",
    "dummy": "ip link add cwp type dummy",
    "netem": "tc qdisc add dev lo root netem delay 1ms",
    "nft": "nft add table inet cwp",
    "nat": "iptables-legacy -t nat -L -n || iptables-nft -t nat -L -n",
    "esp": "ip xfrm state add src 127.0.0.1 dst 127.0.0.2 proto esp spi 0x1000 mode tunnel "
           "enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f "
           "auth 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f",
}


@functools.lru_cache(None)
def has(feature):
    """True when the kernel (or the machine) has a feature by the names of PROBES and below."""
    if feature == "asan":       # User Mode Linux leaves no room for its shadow memory.
        return os.environ.get("CW_KERNEL") != "uml"
    if feature == "libreswan":
        from . import libreswan
        return libreswan.find() is not None
    if feature == "strongswan":
        return os.path.exists("/usr/sbin/charon-systemd")
    done = subprocess.run(["unshare", "-n", "sh", "-c", PROBES[feature]], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


@functools.lru_cache(None)
def iptables():
    """The iptables that works here: the old kernel interface is all that UML has."""
    for name in ("iptables-legacy", "iptables-nft"):
        done = subprocess.run(["unshare", "-n", name, "-t", "nat", "-L", "-n"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return name
    return "iptables"
