# SPDX-License-Identifier: GPL-2.0-or-later
"""How the peers behave: Azure with and without a custom policy, policy-based Azure, AWS, others.

A profile is a dict of neutral settings; strongswan_connection() and libreswan_connection() write it
in the daemon's own terms. Any setting can be overridden where a test makes a peer:

    version       1 or 2
    ike, esp      proposals, as strongSwan writes them, by comma
    ike_life_s, child_life_s   lifetimes; scale=100 divides both, for tests of rekeying
    child_bytes, child_packets rekey by volume, 0: not
    dpd_s, dpd_action          "clear", "start" (restart) or "trap"; dpd_s 0: no DPD
    initiate      True: starts by itself and keeps trying; False: waits for the other side
    pairs         list of (its own prefix, our prefix); [("0.0.0.0/0", "0.0.0.0/0")] is any-any
    local_id, remote_id        default: its own outer address, our public address
    encap         True: ESP in UDP without a NAT
    mobike, fragmentation, unique ("no", "replace", "keep", "never")
    plane         "vti", "xfrmi" or "policy"
    remote        address it talks to, default ours; "%any" takes anybody
"""

ANY = [("0.0.0.0/0", "0.0.0.0/0")]
ANY_DUAL = [("0.0.0.0/0,::/0", "0.0.0.0/0,::/0")]

BASE = {"version": 2, "ike": "aes256-sha256-modp2048", "esp": "aes256-sha256-modp2048",
        "ike_life_s": 28800, "child_life_s": 27000, "scale": 1, "child_bytes": 0,
        "child_packets": 0, "dpd_s": 45, "dpd_action": "clear", "initiate": False, "pairs": ANY,
        "local_id": None, "remote_id": None, "encap": False, "mobike": False,
        "fragmentation": True, "unique": "replace", "plane": "vti", "remote": None}

# What Azure offers for a child when it starts and has no custom policy: six, none with a group.
AZURE_SIX = "aes256gcm16,aes256-sha1,3des-sha1,aes256-sha256,aes128-sha1,3des-sha256"
# What it takes besides when the other side starts.
AZURE_TAKES = AZURE_SIX + (
    ",aes256-sha1-modp1024,aes256-sha1-modp2048,aes128-sha1-modp1024,aes128-sha1-modp2048"
    ",3des-sha1-modp1024,aes256-sha256-modp1024,aes256-sha256-modp2048,aes128-sha256"
    ",aes128-sha256-modp1024,aes128-sha256-modp2048,3des-sha1-modp2048")

PROFILES = {
    # A custom policy holds exactly one combination.
    "azure": {},
    # The same with PFS "None".
    "azure-nopfs": {"esp": "aes256-sha256"},
    "azure-default": {
        "ike": "aes256-sha1-modp1024,aes256-sha256-modp1024,aes128-sha1-modp1024,"
               "aes128-sha256-modp1024,3des-sha1-modp1024,3des-sha256-modp1024",
        "esp": AZURE_SIX},
    "azure-policy": {
        "version": 1, "ike": "aes256-sha256-modp1024,aes256-sha1-modp1024,aes128-sha1-modp1024,"
                             "3des-sha1-modp1024",
        "esp": "aes256-sha256,aes256-sha1,aes128-sha1,3des-sha1", "child_life_s": 3600,
        "dpd_s": 0, "pairs": [("10.20.0.0/16", "10.10.0.0/16")]},
    # Never starts, only clears on DPD.
    "aws": {
        "ike": "aes128-sha1-modp1024,aes256-sha256-modp2048,aes128-sha256-modp2048,"
               "aes256gcm16-prfsha384-ecp384",
        "esp": "aes128-sha1-modp1024,aes256-sha256-modp2048,aes128-sha256-modp2048,"
               "aes256gcm16-ecp384",
        "child_life_s": 3600, "dpd_s": 10, "dpd_action": "clear"},
    "generic": {"child_life_s": 3600, "dpd_s": 30, "mobike": True},
}


def settings(profile, **override):
    """All settings of a profile, with what a test changes."""
    unknown = set(override) - set(BASE)
    if unknown:
        raise ValueError("no such peer setting: %s" % ", ".join(sorted(unknown)))
    return dict(BASE, **dict(PROFILES[profile], **override))


def seconds(value):
    """Lifetime in strongSwan's way; never 0."""
    return "%ds" % max(1, round(value))


def strongswan_connection(own, ours, conf, key):
    """vici's load-conn body. own: the peer's outer address; ours: what it calls remote."""
    ike_life, child_life = (conf[k] / conf["scale"] for k in ("ike_life_s", "child_life_s"))
    children = {}
    for number, (local, remote) in enumerate(conf["pairs"]):
        child = {
            "local_ts": local.split(","), "remote_ts": remote.split(","),
            "esp_proposals": conf["esp"].split(","), "mode": "tunnel", "policies": "yes",
            "rekey_time": seconds(child_life * 0.9), "life_time": seconds(child_life),
            "rand_time": "0s", "rekey_bytes": conf["child_bytes"],
            # A slow machine needs its time between the two limits.
            "life_bytes": 3 * conf["child_bytes"],
            "rekey_packets": conf["child_packets"], "rand_bytes": 0, "rand_packets": 0,
            "start_action": "start" if conf["initiate"] else "none",
            "close_action": "start" if conf["initiate"] else "none",
            "dpd_action": {"start": "restart"}.get(conf["dpd_action"], conf["dpd_action"])}
        if conf["plane"] == "vti":
            child["mark_in"] = child["mark_out"] = key
        elif conf["plane"] == "xfrmi":
            child["if_id_in"] = child["if_id_out"] = key
        children["net" if number == 0 else "net%d" % (number + 1)] = child
    body = {
        "version": conf["version"], "local_addrs": [own],
        "proposals": conf["ike"].split(","), "encap": conf["encap"], "mobike": conf["mobike"],
        "fragmentation": "yes" if conf["fragmentation"] else "no", "unique": conf["unique"],
        "dpd_delay": seconds(conf["dpd_s"]) if conf["dpd_s"] else "0s",
        "rekey_time": seconds(ike_life * 0.95), "over_time": seconds(ike_life * 0.05),
        "rand_time": "0s", "reauth_time": "0s", "keyingtries": 0,
        "local": {"auth": "psk", "id": conf["local_id"] or own},
        "remote": {"auth": "psk", "id": conf["remote_id"] or ours},
        "children": children}
    if (conf["remote"] or ours) != "%any":
        # "%any" is left out: a peer behind an unknown NAT comes from anywhere.
        body["remote_addrs"] = [conf["remote"] or ours]
    return body


def libreswan_connection(own, ours, conf, key):
    """Settings of an ipsec.conf conn."""
    from .libreswan import proposals
    ike_life, child_life = (conf[k] / conf["scale"] for k in ("ike_life_s", "child_life_s"))
    local, remote = conf["pairs"][0]
    if len(conf["pairs"]) > 1 or "," in local:
        raise ValueError("libreswan peers of the lab hold one pair of prefixes")
    out = {
        "ikev2": "yes" if conf["version"] == 2 else "no", "authby": "secret",
        "left": own, "right": conf["remote"] or ours,
        "leftid": conf["local_id"] or own, "rightid": conf["remote_id"] or ours,
        "leftsubnet": local, "rightsubnet": remote, "ike": proposals(conf["ike"]),
        "esp": proposals(conf["esp"]), "pfs": "yes" if "modp" in conf["esp"]
        or "ecp" in conf["esp"] else "no", "ikelifetime": seconds(ike_life),
        "salifetime": seconds(child_life), "rekeymargin": seconds(child_life * 0.1),
        "rekeyfuzz": "0%", "encapsulation": "yes" if conf["encap"] else "auto",
        "mobike": "no", "fragmentation": "yes" if conf["fragmentation"] else "no",
        "leftupdown": "%disabled", "auto": "start" if conf["initiate"] else "add",
        "type": "tunnel"}
    if conf["dpd_s"]:
        out["dpddelay"], out["dpdtimeout"] = seconds(conf["dpd_s"]), seconds(conf["dpd_s"] * 3)
        out["dpdaction"] = {"start": "restart", "trap": "hold"}.get(conf["dpd_action"], "clear")
    if conf["plane"] == "vti":
        out["mark"] = "%d/0xffffffff" % key
    return out


def set_up_plane(host, place, conf, key, ours):
    """Give the peer's kernel its half of the data plane: an interface, or what plain policies need."""
    routes = ["route replace %s dev ipsec%d" % (prefix, key) for _, remote in conf["pairs"]
              for prefix in ("10.10.0.0/16",) if ":" not in remote or "," in remote]
    if any(":" in remote for _, remote in conf["pairs"]):
        routes.append("route replace 2001:db8:10::/64 dev ipsec%d" % key)
    if conf["plane"] == "policy":
        # Any-any policies would also catch what goes between the peer and its own network.
        for prefix in (place.network, place.network6):
            host.ip("xfrm policy update src {0} dst {1} dir in priority 1 action allow\n"
                    "xfrm policy update src {0} dst {1} dir fwd priority 1 action allow\n"
                    "xfrm policy update src {1} dst {0} dir out priority 1 action allow".format(
                        prefix, "::/0" if ":" in prefix else "0.0.0.0/0"))
        return
    if conf["plane"] == "vti":
        host.ip("link add ipsec%d type vti local %s remote %s key %d" % (
            key, place.address, ours, key))
        host.sysctl("net/ipv4/conf/ipsec%d/disable_policy" % key, 1)
    else:
        host.ip("link add ipsec%d type xfrm dev wan0 if_id %d" % (key, key))
    host.ip("\n".join(["link set ipsec%d up mtu 1400" % key] + sorted(set(routes))))
