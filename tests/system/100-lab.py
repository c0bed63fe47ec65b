# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab itself: strongSwan in the gateway's place carries ESP to every kind of peer.

When these pass and a test of causewayd fails, the lab is not the reason.
"""

from lab import ANY_DUAL, PLACES, case, expect, expect_equal, xfrm

BOTH = ("uml", "qemu")


@case(kernels=BOTH, needs=["vti", "strongswan"])
def strongswan_azure(lab):
    """IKEv2, custom policy, any-any over VTI."""
    a1 = lab.peer("A1", "azure")
    lab.strongswan_gateway()
    a1.wait_up()
    lab.expect_traffic()
    lab.expect_one_pair()
    own, far = a1.kernel_pairs("198.51.100.10")
    expect_equal((len(own), len(far)), (1, 1), "pairs at A1")


@case(kernels=BOTH, needs=["vti", "libreswan"])
def libreswan_azure(lab):
    """libreswan as the peer, any-any by plain policies."""
    a1 = lab.peer("A1", "azure", kind="libreswan")
    lab.strongswan_gateway()
    a1.wait_up()
    lab.expect_traffic()
    expect(a1.established(), "libreswan knows its IKE_SA")


@case(kernels=BOTH, needs=["vti", "libreswan"])
def libreswan_ikev1(lab):
    """IKEv1 main mode with libreswan."""
    pairs = [("10.20.0.0/16", "10.10.0.0/16")]
    a1 = lab.peer("A1", "azure", kind="libreswan", version=1, esp="aes256-sha256", pairs=pairs)
    lab.strongswan_gateway(version=1, esp="aes256-sha256", pairs=pairs)
    a1.wait_up()
    lab.expect_traffic()


@case(needs=["vti", "libreswan"], matrix={"version": [1, 2], "plane": ["vti", "policy"]})
def libreswan_gcm(lab, version, plane):
    """GCM with a group, over a VTI of its own or by plain policies."""
    ike, esp = {1: ("aes256-sha256-modp2048", "aes256gcm16-modp2048"),
                2: ("aes256gcm16-prfsha384-ecp384", "aes256gcm16-ecp384")}[version]
    both = {"version": version, "ike": ike, "esp": esp}
    a1 = lab.peer("A1", "azure", kind="libreswan", plane=plane, **both)
    lab.strongswan_gateway(**both)
    a1.wait_up()
    lab.expect_traffic()


@case(needs=["vti"], matrix={"initiate": [("peer-starts", True), ("peer-waits", False)],
                             "profile": ["azure-default", "azure-policy", "aws", "generic"]})
def profiles(lab, initiate, profile):
    """Every profile comes up whoever starts."""
    from lab.profiles import PROFILES
    name = "W1" if profile == "aws" else "A1"
    lab.make_net(peers=(name,))
    # Who starts is started last: a charon that is refused once does not start again by itself.
    peer = lab.peer(name, profile, initiate=initiate, start=not initiate)
    same = {k: v for k, v in PROFILES[profile].items() if k in ("ike", "esp", "version", "pairs")}
    lab.strongswan_gateway((name,), initiate=not initiate, **same)
    if initiate:
        peer.start()
    peer.wait_up(timeout_s=20)
    lab.expect_traffic(name)


@case(needs=["vti", "nat"], kernels=BOTH)
def behind_nat(lab):
    """Through the NAT box everything goes by UDP 4500."""
    net = lab.make_net(nat=True)
    a1 = lab.peer("A1", "azure")
    lab.strongswan_gateway()
    a1.wait_up()
    wire = net.capture("a1")
    lab.expect_traffic(capture=wire)
    expect(all(p.proto == 17 and 4500 in (p.sport, p.dport) for p in wire.esp()),
           "ESP in UDP 4500 only")
    states = [s for s in xfrm.states(net.G) if s.proto == "esp"]
    expect(all(s.encap for s in states), "encapsulation on every SA of G")


@case(needs=["xfrmi"])
def xfrm_interface(lab):
    """xfrm interfaces on both ends, both families inside."""
    a1 = lab.peer("A1", "azure", plane="xfrmi", pairs=ANY_DUAL)
    lab.strongswan_gateway(plane="xfrmi", pairs=ANY_DUAL)
    a1.wait_up()
    lab.expect_traffic()
    lab.expect_traffic(ipv6=True)


@case(needs=["vti"])
def ipv6_inside(lab):
    """IPv6 over a VTI."""
    a1 = lab.peer("A1", "azure", pairs=ANY_DUAL)
    lab.strongswan_gateway(pairs=ANY_DUAL)
    a1.wait_up()
    lab.expect_traffic(ipv6=True)


@case(needs=["vti"])
def two_tunnels_any_any(lab):
    """Two any-any tunnels side by side, and the host behind them sends by either."""
    net = lab.make_net(peers=("A1", "A2"))
    peers = [lab.peer(n, "azure") for n in ("A1", "A2")]
    lab.strongswan_gateway(("A1", "A2"))
    for number, peer in enumerate(peers):
        peer.wait_up()
        net.G.ip("route replace 10.20.0.0/16 dev gw%d metric 50" % number)
        net.via(peer.place.name)
        lab.expect_traffic(peer.place.name)


@case(needs=["vti"])
def kill_block_restart(lab):
    """The faults: a dead peer, blocked IKE, blocked ESP, a cut wire; and back."""
    net = lab.net
    a1 = lab.peer("A1", "azure", dpd_s=2)
    g = lab.strongswan_gateway(dpd_s=2, dpd_action="start")
    a1.wait_up()
    lab.expect_traffic()
    a1.kill9()
    expect_equal(net.ping("lan", PLACES["A1"].host, 1, wait_s=1), 0, "answers from a dead peer")
    a1.restart()
    a1.wait_up(timeout_s=40)
    lab.expect_traffic()
    token = net.block("esp", "A1")
    expect_equal(net.ping("lan", PLACES["A1"].host, 1, wait_s=1), 0, "answers with ESP blocked")
    net.unblock(token)
    net.wait_ping("lan", PLACES["A1"].host)
    net.block("ike")
    expect(g.rekey("child", "net-A1") == 1, "rekey was ordered")
    expect_equal(len(a1.children()), 1, "children while IKE is blocked")
    net.unblock()
    net.set_link("A1", False)
    expect_equal(net.ping("lan", PLACES["A1"].host, 1, wait_s=1), 0, "answers over a cut wire")
    net.set_link("A1", True)
    net.wait_ping("lan", PLACES["A1"].host, 20)


KEYS = (b"test{123}", b"#secret-key#", b'a"b', b"a\\b", b"a'b", b" lead and trail ", b"0x41", b"0sQUJD",
        b"%n%s", "\u2018abc\u2019".encode(), b"k", b"K" * 128)


@case(needs=["vti", "libreswan"], matrix={"kind": ["strongswan", "libreswan"]}, cost_s=15)
def key_bytes(lab, kind):
    """Peers take a key as bytes, whatever they are; and not another one."""
    a1 = lab.peer("A1", "azure", kind=kind)
    g = lab.strongswan_gateway(initiate=False)
    for key in KEYS:
        g.set_psk("A1", key + b"!")
        a1.set_psk("azure" if kind == "strongswan" else "net", key)
        refused = g.initiate("net-A1", timeout_s=20)
        expect_equal(refused.get("success"), "no", "answer to another key than %r" % key)
        g.set_psk("A1", key)
        said = g.initiate("net-A1", timeout_s=20)
        expect_equal(said.get("success"), "yes", "answer to the key %r" % key)
        g.terminate(ike="A1")
        g.wait_down()


@case(needs=["vti", "netem"])
def iperf_and_netem(lab):
    """TCP through the tunnel, with and without delay."""
    net = lab.net
    a1 = lab.peer("A1", "azure", esp="aes256gcm16")
    lab.strongswan_gateway(esp="aes256gcm16")
    a1.wait_up()
    net.wait_ping("lan", PLACES["A1"].host)
    expect(net.iperf("lan", "vnet", PLACES["A1"].host, 2) > 1e6, "more than 1 Mbit/s")
    net.netem("A1", "delay 20ms")
    run = net.start_ping("lan", PLACES["A1"].host, 0.1)
    net.netem("A1", "")
    net.wait_ping("lan", PLACES["A1"].host)
    sent, received, _ = net.stop_ping(run)
    expect(received > 0 and sent - received <= 1, "pings survive netem: %d of %d"
           % (received, sent))
