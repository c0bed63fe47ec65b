# SPDX-License-Identifier: GPL-2.0-or-later
"""The plain matrix: IKEv1/v2 × CBC/GCM × xfrm interface/VTI/policies × NAT or not.

Each cell carries IPv4 and IPv6 inside at once: with IKEv2 and an interface in one any-any child,
else in a child for each family (a Quick Mode has one selector a side; policies without an
interface are per prefix; they need a route of the machine's own, which is given here for IPv6).
Each cell: up, pings both ways in both families, counters of SAs in G's
kernel, only ESP on the wire, the agreed algorithms as G's status, G's kernel and the peer tell
them, one IKE_SA, and nothing left behind after the stop.

IKEv1 has no AEAD for the IKE_SA itself: its GCM cells have CBC there and GCM in ESP.
"""

from lab import G_PUBLIC, PLACES, case, expect, expect_equal, xfrm
from lab.profiles import ANY_DUAL
from lab.strongswan import child_proposal, ike_proposal

IKE = {(1, "cbc"): "aes256-sha256-modp2048", (1, "gcm"): "aes256-sha256-modp2048",
       (2, "cbc"): "aes256-sha256-modp2048", (2, "gcm"): "aes256gcm16-prfsha384-ecp384"}
# libreswan has no ECP in IKEv1.
ESP = {(1, "cbc"): "aes256-sha256-modp2048", (1, "gcm"): "aes256gcm16-modp2048",
       (2, "cbc"): "aes256-sha256-modp2048", (2, "gcm"): "aes256gcm16-ecp384"}
KERNEL_ALGORITHMS = {"cbc": ["cbc(aes)", "hmac(sha256)"], "gcm": ["rfc4106(gcm(aes))"]}
IKE_SAID = {"aes256-sha256-modp2048": "AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048",
            "aes256gcm16-prfsha384-ecp384": "AES_GCM_16_256/PRF_HMAC_SHA2_384/ECP_384"}
ESP_SAID = {"cbc": "AES_CBC_256/HMAC_SHA2_256_128", "gcm": "AES_GCM_16_256"}
NAT = [("direct", False), ("nat", True)]
PAIRS = [(PLACES["A1"].network, "10.10.0.0/16"), (PLACES["A1"].network6, "2001:db8:10::/64")]


def site(version, cipher, plane, any_any, networks):
    """The site as causeway's config has it."""
    return {"name": "azure", "profile": "azure", "ike-version": version,
            "ike-proposals": [IKE[version, cipher]], "esp-proposals": [ESP[version, cipher]],
            "interface-mode": plane, "selectors": "any" if any_any else "networks",
            "networks": networks, "tunnels": [{"remote": PLACES["A1"].address}]}


def expect_status(tunnel, version, cipher, plane, nat, children):
    """What G says of the tunnel is what was agreed."""
    expect_equal(tunnel["ike"]["version"], version, "IKE version in status")
    expect_equal(tunnel["ike"]["proposal"], IKE_SAID[IKE[version, cipher]],
                 "IKE proposal in status")
    expect_equal(tunnel["ike"]["encap"], nat, "encapsulation of the IKE_SA in status")
    expect_equal(len(tunnel["children"]), children, "children in status")
    for child in tunnel["children"]:
        expect(child["proposal"].startswith(ESP_SAID[cipher]),
               "ESP proposal in status: " + child["proposal"])
        expect_equal(child["encap"], nat, "encapsulation of the child in status")
    kind = (tunnel["interface"] or {}).get("kind")
    expect_equal(kind, None if plane == "policy" else plane, "kind of interface in status")


def expect_kernel(lab, cipher, plane, nat):
    """What G's kernel holds is what was agreed."""
    states = [s for s in xfrm.states(lab.net.G) if s.proto == "esp"]
    for sa in states:
        expect_equal(sorted(sa.algorithms), KERNEL_ALGORITHMS[cipher], "algorithms of %r" % sa)
        expect_equal(sa.encap is not None, nat, "encapsulation of %r" % sa)
    if plane == "xfrm":
        expect(all(s.if_id for s in states), "if_id on every SA")
    # BL-054: nothing wide without an interface's own key.
    for policy in xfrm.policies(lab.net.G):
        wide = policy.src.endswith("/0") and policy.dst.endswith("/0")
        expect(policy.if_id or policy.mark or not wide, "unbound: %r" % policy)


def walk(lab, version, cipher, plane, nat, kind="strongswan", both=True):
    """One cell, whoever the peer is."""
    lab.make_net(nat=nat)
    any_any = version == 2 and plane != "policy" and both
    pairs = ANY_DUAL if any_any else PAIRS if both else PAIRS[:1]
    peer_plane = {"xfrm": "xfrmi", "vti": "vti", "policy": "policy"}[plane]
    a1 = lab.peer("A1", "azure", kind=kind, version=version, ike=IKE[version, cipher],
                  esp=ESP[version, cipher], pairs=pairs,
                  **({"plane": peer_plane} if kind == "strongswan" else {}))
    if plane == "policy" and both:
        lab.net["A1"].ip("route add %s dev wan0" % PAIRS[1][1])
    wire = lab.net.capture("a1")
    networks = [p[0] for p in (PAIRS if both else PAIRS[:1])]
    own = ["10.10.0.0/16"] + (["2001:db8:10::/64"] if both else [])
    g = lab.causeway([site(version, cipher, plane, any_any, networks)], {"networks": own})
    g.wait_up()
    children = len(pairs)
    a1.wait_up(children=children)
    lab.expect_traffic(capture=wire)
    if both:
        lab.expect_traffic(ipv6=True, capture=wire)
    lab.expect_one_pair(pairs=children)
    expect_status(g.tunnel(), version, cipher, plane, nat, children)
    expect_kernel(lab, cipher, plane, nat)
    if nat:
        expect(all(p.proto == 17 and 4500 in (p.sport, p.dport) for p in wire.esp()),
               "ESP in UDP 4500 only")
    return g, a1


def leave(g, a1):
    """The stop: the peer is told, nothing is left."""
    expect_equal(g.stop(), 0, "exit code of causewayd")
    g.expect_clean()
    if a1.kind == "strongswan":
        a1.wait_down()


def cell(lab, version, cipher, nat, plane):
    """A cell with strongSwan at the other end, whose own view has to be the same."""
    g, a1 = walk(lab, version, cipher, plane, nat)
    sas = a1.sas()
    expect_equal(len(sas), 1, "IKE_SAs at A1")
    expect_equal(ike_proposal(sas[0]), g.tunnel()["ike"]["proposal"], "IKE proposal at A1")
    expect_equal(sas[0]["remote-id"], G_PUBLIC, "our identity as A1 sees it")
    # A Quick Mode has the group at once, of IKEv2's children all but the first.
    group = "/ECP_384" if (version, cipher) == (2, "gcm") else "/MODP_2048"
    children = sorted((child_proposal(c) for c in a1.children()), key=len)
    expect_equal(children, [ESP_SAID[cipher] + (group if version == 1 or i else "")
                            for i in range(len(children))], "ESP proposals at A1")
    leave(g, a1)


@case(needs=["vti", "nat"], matrix={"version": [("v2", 2), ("v1", 1)], "cipher": ["cbc", "gcm"],
                                    "nat": NAT})
def vti(lab, version, cipher, nat):
    """A VTI for each tunnel."""
    cell(lab, version, cipher, nat, "vti")


@case(needs=["nat"], matrix={"version": [("v2", 2), ("v1", 1)], "cipher": ["cbc", "gcm"],
                             "nat": NAT})
def policy(lab, version, cipher, nat):
    """Policies alone."""
    cell(lab, version, cipher, nat, "policy")


@case(kernels=("qemu",), needs=["xfrmi", "nat"],
      matrix={"version": [("v2", 2), ("v1", 1)], "cipher": ["cbc", "gcm"], "nat": NAT})
def xfrm_interface(lab, version, cipher, nat):
    """An xfrm interface for each tunnel, on a stock kernel."""
    cell(lab, version, cipher, nat, "xfrm")


@case(needs=["vti", "nat", "libreswan"], cost_s=7, matrix={"which": [
    ("v2-cbc-vti", (2, "cbc", "vti", False)), ("v2-gcm-policy", (2, "gcm", "policy", False)),
    ("v2-gcm-vti-nat", (2, "gcm", "vti", True)), ("v1-cbc-policy", (1, "cbc", "policy", False)),
    ("v1-gcm-vti-nat", (1, "gcm", "vti", True))]})
def libreswan(lab, which):
    """A slice with libreswan, which holds one pair of prefixes: IPv4 inside."""
    version, cipher, plane, nat = which
    g, a1 = walk(lab, version, cipher, plane, nat, kind="libreswan", both=False)
    expect(a1.established(), "libreswan knows its IKE_SA")
    leave(g, a1)
