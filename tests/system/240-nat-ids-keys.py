# SPDX-License-Identifier: GPL-2.0-or-later
"""NAT, identities and keys: field cases of section 4.

Many tunnels to one peer, told apart by our identity, are brought up side by side where a case is about
many keys or identities: a strongSwan peer then has a connection, with a key of its own, for each.

Left out: BL-051 is a check of the config (tests/conf); of BL-045 the folder and the FIFO are there too;
of BL-050 the reload.
"""

import os
import time

from lab import G_PRIVATE, G_PUBLIC, PLACES, case, expect, expect_equal, wait_for, xfrm
from lab import kernel, profiles
from lab.lab import KEY, PSK
from lab.wire import UDP

A1 = PLACES["A1"]


def site(profile="azure", **settings):
    """A site of one tunnel."""
    out = {"name": "far", "profile": profile, "networks": [A1.network],
           "tunnels": [{"remote": A1.address}]}
    out.update({key.replace("_", "-"): value for key, value in settings.items()})
    return out


# NAT and identities.

@case(needs=["vti", "nat"], matrix={"version": [("v2", 2), ("v1", 1)],
                                    "how": ["public-address", "local-id"]})
def bl_040_identity_behind_nat(lab, version, how):
    """Behind a NAT the public address is our identity, by either setting."""
    net = lab.make_net(nat=True)
    a1 = lab.peer("A1", version=version)
    g = lab.causeway([site(ike_version=version)], start=False)
    del g.conf["gateway"]["public-address"]
    g.conf["gateway" if how == "public-address" else "sites"] = (
        dict(g.conf["gateway"], **{"public-address": G_PUBLIC}) if how == "public-address" else
        [dict(s, **{"local-id": G_PUBLIC}) for s in g.conf["sites"]])
    g.start()
    g.wait_up()
    wire = net.capture("a1")
    lab.expect_traffic(capture=wire)
    expect(all(p.proto == UDP and 4500 in (p.sport, p.dport) for p in wire.esp()),
           "ESP in UDP 4500 only")
    sa = a1.sas()[0]
    expect_equal((sa["remote-id"], sa["remote-host"]), (G_PUBLIC, G_PUBLIC), "we, as A1 sees us")
    ike = g.tunnel()["ike"]
    expect_equal((ike["local-id"], ike["local"], ike["nat-local"], ike["nat-remote"]),
                 (G_PUBLIC, G_PRIVATE, True, False), "we, as we see us")
    expect("private" not in g.log_text(), "no hint where none is needed")


@case(needs=["vti", "nat"])
def bl_040_private_identity(lab):
    """Without any setting the private address is shown, refused, and the log says what to do."""
    lab.make_net(nat=True)
    a1 = lab.peer("A1")
    g = lab.causeway([site()], start=False)
    del g.conf["gateway"]["public-address"]
    g.start()

    def refused():
        error = g.tunnel()["last-error"]
        return error and error["name"] == "auth-by-peer"
    wait_for(refused, 15, "the refusal")
    expect("public-address" in g.tunnel()["cause"]["remedy"], "the remedy in the status")
    lines = [l for l in g.log_text().splitlines() if "public-address" in l]
    expect([l for l in lines if "try 1 failed" in l], "the remedy in the log")
    hint = [l for l in lines if "likely a NAT" in l]
    expect_equal(len(hint), 1, "hints")
    for word in (G_PRIVATE, A1.address):
        expect(word in hint[0], "%s in the hint: %s" % (word, hint[0]))
    expect_equal(a1.established(), [], "IKE_SAs at A1")
    expect_equal(xfrm.leftovers(lab.net.G), "", "SAs and policies of G")


@case(needs=["vti", "nat"], cost_s=20)
def nat_table_lost(lab):
    """The NAT box loses its table and gives us another port: the same SAs go on."""
    net = lab.make_net(nat=True)
    a1 = lab.peer("A1")
    g = lab.causeway([site()])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    before = {s.spi for s in xfrm.states(net.G)}
    ping = net.start_ping("lan", A1.host)
    net.N.run([kernel.iptables(), "-w", "-t", "nat", "-I", "POSTROUTING", "-o", "wan0", "-p", "udp",
               "--sport", "4500", "-j", "SNAT", "--to-source", G_PUBLIC + ":41000"])
    wire = net.capture("a1")
    net.nat_forget()

    def moved():
        return all(s.encap and 41000 in s.encap for s in xfrm.states(net["A1"]) if s.proto == "esp")
    wait_for(moved, 15, "A1's SAs to have the new port")
    net.wait_ping("vnet", "10.10.0.4")
    wait_for(lambda: any(p.sport == 41000 and p.spi is not None for p in wire.packets()), 5,
             "ESP from 41000 on the wire")
    net.stop_ping(ping)
    lab.expect_traffic()
    expect_equal({s.spi for s in xfrm.states(net.G)}, before, "SAs of G")
    expect_equal((len(a1.sas()), a1.sas()[0]["remote-port"]), (1, "41000"), "IKE_SA at A1")
    tunnel = g.tunnel()
    expect_equal((tunnel["state"], tunnel["times-up"]), ("up", 1), "state, times up")


@case(needs=["vti", "nat"], cost_s=60, timeout_s=150)
def bl_049_keepalive(lab):
    """The NAT's table forgets after 25 s, nobody says anything, DPD is far: the far side still gets
    through at its first packet, also after both rekeys."""
    net = lab.make_net(nat=True)
    for name in ("udp_timeout", "udp_timeout_stream"):
        net.N.sysctl("net/netfilter/nf_conntrack_" + name, 25)
    a1 = lab.peer("A1", dpd_s=0)
    g = lab.causeway([site(dpd_delay=600, dpd_timeout=900)])
    g.wait_up()
    lab.expect_traffic()
    before = {s.spi for s in xfrm.states(net.G)}
    first = g.tunnel()["ike"]["spi-i"]
    g.order("rekey", "far-1", what="ike")
    # Ours too has to be done with it: an order for the child of the old one would go with that.
    wait_for(lambda: g.tunnel()["ike"]["spi-i"] != first, 15, "the IKE rekey")
    g.order("rekey", "far-1", what="child")
    wait_for(lambda: not {s.spi for s in xfrm.states(net.G)} & before, 15, "the child rekey")
    lab.expect_one_pair()
    quiet = time.time()
    wire = net.capture("a1")

    def keepalives():
        # IPv4, UDP, one byte.
        return [p for p in wire.packets() if p.dport == 4500 and p.dst == A1.address
                and p.size == 20 + 8 + 1]
    wait_for(lambda: len(keepalives()) >= 2, 60, "two keepalives")
    others = [p for p in wire.packets() if p.size != 29 and p.at > quiet + 3]
    expect_equal(others, [], "anything else on the wire")
    apart = keepalives()[1].at - keepalives()[0].at
    expect(15 <= apart <= 21, "%.1f s between keepalives" % apart)
    expect_equal(net.ping("vnet", "10.10.0.4", 1), 1, "answers to the first packet")
    expect_equal(g.tunnel()["times-up"], 1, "times up")


@case(needs=["vti", "nat"], cost_s=25)
def bl_047_esp_is_blocked(lab):
    """Protocol 50 is dropped and there is no NAT: auto is up and says that nothing comes back; force
    works."""
    net = lab.net
    lab.peer("A1")
    net.block("esp")
    g = lab.causeway([site(dpd_delay=2, dpd_timeout=4)])
    g.wait_up()
    ping = net.start_ping("lan", A1.host)
    wait_for(lambda: "nothing comes back" in g.ctl("status")[1], 30, "status to tell the silence")
    net.stop_ping(ping)
    expect_equal(net.ping("lan", A1.host, 1, wait_s=1), 0, "answers by plain ESP")
    expect_equal(g.stop(), 0, "exit code")
    g = lab.causeway([site(nat_traversal="force")])
    g.wait_up()
    wire = net.capture("a1")
    lab.expect_traffic(capture=wire)
    expect(all(p.proto == UDP and 4500 in (p.sport, p.dport) for p in wire.esp()),
           "ESP in UDP 4500 only")
    expect_equal(g.tunnel()["ike"]["encap"], True, "encapsulation in status")


@case(needs=["vti", "nat"], matrix={"version": [("v2", 2), ("v1", 1)], "nat": [
    ("nat", True), ("direct", False)]})
def bl_047_never(lab, version, nat):
    """never: works without a NAT, and with one it is refused with the reason."""
    lab.make_net(nat=nat)
    a1 = lab.peer("A1", version=version)
    g = lab.causeway([site(nat_traversal="never", ike_version=version)])
    if not nat:
        g.wait_up()
        wire = lab.net.capture("a1")
        lab.expect_traffic(capture=wire)
        expect(all(p.proto != UDP for p in wire.esp()), "plain ESP only")
        return

    def refused():
        tunnel = g.tunnel()
        return tunnel["last-error"] and tunnel["last-error"]["name"] == "nat-forbidden" and tunnel
    tunnel = wait_for(refused, 15, "the refusal")
    expect("auto" in tunnel["last-error"]["remedy"], "what to do: %r" % tunnel["last-error"])
    line = [l for l in g.log_text().splitlines() if "NAT" in l and "never" in l]
    expect_equal(len(line), 1, "lines about it: %r" % line)
    expect_equal(a1.established(), [], "IKE_SAs at A1")
    expect_equal([s for s in xfrm.states(lab.net.G) if s.algorithms], [], "SAs of G")


# Many tunnels to one peer.

def many(lab, rows, start=True):
    """Make A1 and G with a policy-based tunnel for each row: a dict with local_id, remote_id, psk
    (bytes, A1's) and `key`: the tunnel's settings for its key. Returns (g, a1)."""
    a1 = lab.peer("A1", plane="policy", start=False)
    a1.connections.clear()
    a1.secrets.clear()
    tunnels = []
    for number, row in enumerate(rows):
        far, name = "10.20.%d.0/24" % (number + 1), "t%d" % (number + 1)
        conf = profiles.settings("azure", plane="policy", pairs=[(far, "10.10.0.0/16")],
                                 local_id=row.get("remote_id"), remote_id=row["local_id"])
        body = profiles.strongswan_connection(A1.address, G_PUBLIC, conf, KEY)
        body["children"] = {name: body["children"]["net"]}
        a1.add(name, body, row["psk"], [row.get("remote_id") or A1.address, row["local_id"]])
        tunnel = dict({"name": name, "remote": A1.address, "local-id": row["local_id"]}, **row["key"])
        if row.get("remote_id"):
            tunnel["remote-id"] = row["remote_id"]
        tunnels.append({"name": "s" + name[1:], "profile": "azure", "networks": [far],
                        "selectors": "networks", "interface-mode": "policy", "start": start,
                        "tunnels": [tunnel]})
    a1.start()
    g = lab.causeway(start=False)
    g.conf["sites"] = tunnels
    return g, a1


def key_file(g, name, data, mode=0o600):
    """Settings for a key in a file."""
    return {"psk-file": g.write("/run/keys/" + name, data, mode)}


@case(needs=["vti"], cost_s=15)
def bl_042_keys_do_not_mix(lab):
    """Two tunnels to one peer with different keys, started together again and again, by either side."""
    host = lab.net.G
    rows = [{"local_id": n + ".example", "psk": k, "key": key_file(host, n, k)}
            for n, k in (("a", b"K1-for-a"), ("b", b"K2-for-b"))]
    g, a1 = many(lab, rows)
    g.start()
    for number in range(12):
        for name in ("t1", "t2"):
            g.wait_up(name)
        expect_equal(sorted((s["name"], s["remote-id"]) for s in a1.sas()),
                     [("t1", "a.example"), ("t2", "b.example")], "IKE_SAs at A1")
        if number < 11:
            ups = [g.tunnel(n)["times-up"] for n in ("t1", "t2")]
            for name in ("t1", "t2"):
                g.order("restart", name)
            wait_for(lambda ups=ups: [g.tunnel(n)["times-up"] for n in ("t1", "t2")] ==
                     [u + 1 for u in ups], 20, "both to be up anew")
    for text in (a1.log_text(), g.log_text()):
        expect("AUTH_FAILED" not in text and "mismatch" not in text and "refused our key" not in text,
               "no authentication failed")
    expect_equal(g.stop(), 0, "exit code")
    a1.wait_down()
    for s in g.conf["sites"]:
        s["start"] = False
    g.start()
    for _ in range(4):
        for name in ("t1", "t2"):
            a1.initiate(name)
        for name in ("t1", "t2"):
            g.wait_up(name)
        for name in ("t1", "t2"):
            a1.terminate(name)
        a1.wait_down()
    expect("AUTH_FAILED" not in a1.log_text(), "no authentication failed")


@case(needs=["vti"])
def bl_042_ambiguous_keys(lab):
    """The same peer and identity with two keys is an error that names both."""
    keys = [key_file(lab.net.G, n, k) for n, k in (("a", b"K1-for-a"), ("b", b"K2-for-b"))]
    g = lab.causeway([
        dict(site(), name="one", tunnels=[dict({"name": "t1", "remote": A1.address}, **keys[0])]),
        dict(site(), name="two", networks=["10.30.0.0/16"],
             tunnels=[dict({"name": "t2", "remote": A1.address}, **keys[1])])], start=False)
    rc, out = g.check()
    expect_equal(rc, 1, "exit code of causewayd -n")
    expect("t1" in out and ("t2" in out or "sites[1]" in out) and "key" in out, "what it says: " + out)
    expect("K1-for" not in out and "K2-for" not in out, "no key in: " + out)


KEYS = [b"test{123}", b"#secret-key#", b'a"b', b"a\\b", b"a;b", b"a=b", b"a b", b" lead", b"trail ",
        b"pa$$w0rd!", b"//x", b"/*x*/", b"%n%s", "\u2018abc\u2019".encode(), b"k", b"K" * 128,
        b"0x41", b"0sQUJD", b"'single'", b"(a,b)", b'@include "x"']


@case(needs=["vti"], cost_s=20, memcheck=False)
def bl_043_every_character(lab):
    """Each key of the list, inline and from a file, against a peer that holds the same bytes."""
    host = lab.net.G
    rows = []
    for number, key in enumerate(KEYS):
        rows += [{"local_id": "f%d.example" % number, "psk": key,
                  "key": key_file(host, "k%d" % number, key)},
                 {"local_id": "i%d.example" % number, "psk": key, "key": {"psk": key.decode()}}]
    g, a1 = many(lab, rows)
    rc, out = g.check()
    expect_equal(rc, 0, "exit code of causewayd -n: " + out)
    expect("U+2018" in out and "U+2019" in out, "a warning with the code points: " + out)
    g.start()

    def down():
        return [(KEYS[n // 2], "inline" if n % 2 else "file", t["state"], t["last-error"])
                for n, t in enumerate(g.status()["tunnels"]) if t["state"] != "up"]
    try:
        wait_for(lambda: not down(), 30, "all tunnels up")
    finally:
        print("down: %r" % down())
    expect_equal(len(a1.established()), len(rows), "IKE_SAs at A1")
    expect("AUTH_FAILED" not in a1.log_text(), "no authentication failed")


@case(needs=["vti"])
def bl_043_adjacent_strings(lab):
    """libconfig joins adjacent strings; an escape stands for its byte."""
    a1 = lab.peer("A1", psk=b"abcd\x41")
    lab.causeway(text="""gateway = { name = "lab"; networks = [ "10.10.0.0/16" ];
        control-socket = "/run/causeway/control.sock"; };
        sites = ( { name = "far"; profile = "azure"; networks = [ "10.20.0.0/16" ];
        psk = "ab" "cd" "\\x41"; tunnels = ( { remote = "203.0.113.11"; } ); } );\n""").wait_up()
    a1.wait_up()


@case(needs=["vti"], cost_s=10)
def bl_045_key_files(lab):
    """One line end is taken off a key file and nothing else; a file that can't be meant is an error
    that names it, and the other tunnels run."""
    host = lab.net.G
    good = [(b"abc\n", b"abc"), (b"abc\r\n", b"abc"), (b"abc", b"abc"), (b" abc \n", b" abc "),
            (b"\xa4\xff\n", b"\xa4\xff")]
    rows = [{"local_id": "k%d.example" % n, "psk": psk, "key": key_file(host, "good%d" % n, data)}
            for n, (data, psk) in enumerate(good)]
    g, a1 = many(lab, rows)
    bad = {"two-ends": (b"abc\n\n", 0o600), "bom": (b"\xef\xbb\xbfabc", 0o600), "empty": (b"", 0o600),
           "blank": (b"\n", 0o600), "open": (b"abc", 0o644), "big": (os.urandom(1 << 20), 0o600),
           "zero": (b"a\0b", 0o600)}
    for number, (name, (data, mode)) in enumerate(bad.items()):
        g.conf["sites"].append({
            "name": name, "profile": "azure", "networks": ["10.21.%d.0/24" % number],
            "tunnels": [dict({"remote": "203.0.113.%d" % (100 + number)},
                             **key_file(host, name, data, mode))]})
    rc, out = g.check()
    expect_equal(rc, 1, "exit code of causewayd -n")
    for name in bad:
        expect(any("error" in l and "/run/keys/" + name in l for l in out.splitlines()),
               "an error for the file %s in: %s" % (name, out))
    g.start()
    for number in range(len(good)):
        g.wait_up("t%d" % (number + 1))
    expect_equal(len(a1.established()), len(good), "IKE_SAs at A1")
    states = {t["site"]: t["state"] for t in g.status()["tunnels"]}
    for name in bad:
        expect_equal(states[name], "config-error", "state of site " + name)


@case(needs=["vti"], cost_s=15)
def bl_046_no_key_anywhere(lab):
    """At the highest log level, over success, failure, rekey and every request: no byte of the key."""
    net = lab.net
    a1 = lab.peer("A1")
    g = lab.causeway([site(retry_auth=5)], {"log-level": "debug"}, start=False)
    g.start("-d")
    g.wait_up()
    for what in ("child", "ike"):
        before = a1.log_text().count("CREATE_CHILD_SA response")
        g.order("rekey", "far-1", what=what)
        wait_for(lambda before=before: a1.log_text().count("CREATE_CHILD_SA response") > before, 15,
                 "the rekey of " + what)
    a1.set_psk("azure", b"another")
    g.order("restart", "far-1")
    wait_for(lambda: (g.tunnel()["last-error"] or {}).get("name") == "auth-by-peer", 15, "a refusal")
    a1.set_psk("azure", PSK)
    g.wait_up(timeout_s=20)
    said = {"status": str(g.status()), "the log": g.log_text(), "-n": g.check()[1]}
    for words in (["status"], ["status", "--json"], ["status", "far-1"], ["log"], ["version"]):
        said["causewayctl " + " ".join(words)] = g.ctl(*words)[1]
    said["log request"] = str(g.ask(cmd="log", lines=1000))
    for path in ("cmdline", "environ"):
        with open("/proc/%d/%s" % (g.process.pid, path), "rb") as file:
            said[path] = file.read().decode(errors="replace")
    expect("parsed IKE_AUTH" in said["the log"], "the engine's own words in the log")
    shapes = [PSK.decode(), PSK.hex(), PSK.hex().upper(), PSK.hex(" ").upper()[:23],
              PSK.hex(" ")[:23]]
    for name, text in said.items():
        expect(len(text) > 0, "something in " + name)
        for shape in shapes:
            expect(shape.lower() not in text.lower(), "the key in " + name)
    with open("/proc/%d/limits" % g.process.pid, encoding="ascii") as file:
        core = next(l for l in file if l.startswith("Max core file size")).split()
    expect_equal(core[4], "0", "limit of core files")
    expect_equal(g.stop(), 0, "exit code")
    expect(PSK.decode() not in g.log_text(), "no key in the log at the end")
    net.G.run(["true"])


@case(needs=["vti"])
def bl_046_malformed(lab):
    """A key without quotes, with one quote, or in a wrong place is not repeated."""
    lab.make_net()
    head = 'gateway = { name = "lab"; networks = [ "10.10.0.0/16" ]; };\n' \
           'sites = ( { name = "far"; networks = [ "10.20.0.0/16" ];\n'
    for name, line, may_show in (
            ("no quotes", "psk = S3cr3t-NoQuotes;", False),
            ("one quote", 'psk = "S3cr3t-NoEnd;', False),
            ("list", 'psk = [ "S3cr3t-List" ];', False),
            ("twice", 'psk = "S3cr3t-One"; psk = "S3cr3t-Two";', False),
            ("misspelt", 'pks = "S3cr3t-Misspelt";', False),
            ("number", "psk = 4711001147;", False),
            ("as remote", 'psk = "abc"; remote = "S3cr3t";', True)):
        tunnels = ' tunnels = ( { remote = "203.0.113.11"; } ); } );\n'
        g = lab.causeway(text=head + line + "\n" + tunnels, start=False)
        rc, out = g.check()
        expect(rc != 0 and out, "%s: exit code %d of causewayd -n" % (name, rc))
        expect("S3cr3t" not in out and "4711001147" not in out or may_show,
               "%s: the key in: %s" % (name, out))
        # One bad site does not keep the daemon from running; a bad file does.
        g.start("-d", wait=False)
        wait_for(lambda g=g: not g.process.alive() or "CW-1001" in g.log_text(), 20, "start or end")
        g.stop()
        out = g.log_text()
        expect("S3cr3t" not in out and "4711001147" not in out or may_show,
               "%s: the key in the log: %s" % (name, out))


@case(needs=["vti"], cost_s=12)
def bl_050_key_changes_at_the_peer(lab):
    """The peer has a new key: what is up stays up over both rekeys; the next authentication fails
    until the keys are the same."""
    net = lab.net
    a1 = lab.peer("A1")
    g = lab.causeway([site(retry_auth=5)])
    g.wait_up()
    net.wait_ping("lan", A1.host)
    ping = net.start_ping("lan", A1.host, 0.1)
    new = b"S3cr3t-new-Key"
    a1.set_psk("azure", new)
    for what in ("child", "ike"):
        before = a1.log_text().count("CREATE_CHILD_SA response")
        g.order("rekey", "far-1", what=what)
        wait_for(lambda before=before: a1.log_text().count("CREATE_CHILD_SA response") > before, 15,
                 "the rekey of " + what)
    sent, received, lost = net.stop_ping(ping)
    expect(not [run for run in lost if run[0] < sent], "%d of %d pings answered" % (received, sent))
    expect_equal(g.tunnel()["times-up"], 1, "times up")
    a1.terminate("azure")
    wait_for(lambda: (g.tunnel()["last-error"] or {}).get("name") == "auth-by-peer", 20, "a refusal")
    # A file that is no key now is said once, and the old key stays.
    g.write_key("lab.psk", b"")
    g.order("restart", "far-1")
    wait_for(lambda: "psk-file, read again, is empty" in g.log_text(), 15, "the bad file in the log")
    # Ours follows, without a restart of the daemon.
    g.write_key("lab.psk", new)
    g.order("restart", "far-1")
    g.wait_up()
    lab.expect_traffic()
    expect("CW-1005" in g.log_text(), "the changed key in the log")
    expect(new.decode() not in g.log_text(), "no key in the log")


# Identities.

IDS = [("198.51.100.10", "203.0.113.11"), ("192.0.2.77", "192.0.2.78"),
       ("gw.example.net", "azure.example.net"), ("admin@example.net", "vpn@example.org"),
       ("2001:db8::1", "2001:db8::2"), ("@#6b657931", "@#6b657932"),
       ("gw.example.net", "192.0.2.80"), ("198.51.100.10", "far.example.net")]


@case(needs=["vti"], cost_s=10, matrix={"starter": ["we-start", "peer-starts"]})
def identities(lab, starter):
    """Each type of identity on either side, and mixed; the peer looks for exactly that one."""
    host = lab.net.G
    rows = [{"local_id": own, "remote_id": far, "psk": b"key-%d" % n,
             "key": key_file(host, "id%d" % n, b"key-%d" % n)} for n, (own, far) in enumerate(IDS)]
    # Each pair of local identity and peer must be alone in the file.
    groups = [[r for n, r in enumerate(rows) if n < 6], [r for n, r in enumerate(rows) if n >= 6]]
    for group in groups:
        g, a1 = many(lab, group, starter == "we-start")
        g.start()
        for number, row in enumerate(group):
            if starter == "peer-starts":
                a1.initiate("t%d" % (number + 1))
            ike = g.wait_up("t%d" % (number + 1))["ike"]
            printed = [i.replace("@#6b657931", "key1").replace("@#6b657932", "key2")
                       for i in (row["local_id"], row["remote_id"])]
            sa = next(s for s in a1.sas() if s["name"] == "t%d" % (number + 1))
            expect_equal([ike["local-id"], ike["remote-id"]], [sa["remote-id"], sa["local-id"]],
                         "identities at both ends")
            expect([ike["local-id"], ike["remote-id"]] in (
                printed, [row["local_id"], row["remote_id"]],
                ["6b:65:79:31", "6b:65:79:32"]), "identities %r of %r" % (ike, row))
        expect_equal(g.stop(), 0, "exit code")
        a1.stop()


@case(needs=["vti", "libreswan"], matrix={"ids": [
    ("fqdn", ("gw.example.net", "azure.example.net", "@gw.example.net", "@azure.example.net")),
    ("email", ("gw@example.net", "azure@example.net", "gw@example.net", "azure@example.net")),
    ("ipv4", ("192.0.2.77", "192.0.2.78", "192.0.2.77", "192.0.2.78"))]})
def identities_libreswan(lab, ids):
    """libreswan is told the type by its own way to write it: the types are the same on the wire."""
    own, far, theirs_own, theirs_far = ids
    a1 = lab.peer("A1", kind="libreswan", local_id=theirs_far, remote_id=theirs_own)
    g = lab.causeway([site(local_id=own, remote_id=far)])
    g.wait_up()
    a1.wait_up()
    lab.expect_traffic()


@case(needs=["vti"], matrix={"setting": [("local-id", {"local_id": "other.example.net"}),
                                         ("remote-id", {"remote_id": "other.example.net"})]})
def identity_differs(lab, setting):
    """The right key and one identity that the other side does not have: not up, and the log says which
    pair it was."""
    a1 = lab.peer("A1", local_id="azure.example.net", remote_id="gw.example.net")
    g = lab.causeway([site(**dict({"local_id": "gw.example.net", "remote_id": "azure.example.net",
                                   "retry_auth": 5}, **setting))])

    def refused():
        error = g.tunnel()["last-error"]
        return error and error["name"] in ("auth-by-peer", "auth-by-us")
    wait_for(refused, 15, "the refusal")
    line = [l for l in g.log_text().splitlines() if "try 1 failed" in l]
    expect(len(line) == 1 and "other.example.net" in line[0], "the identity in the log: %r" % line)
    expect_equal((a1.established(), xfrm.leftovers(lab.net.G)), ([], ""), "what came of it")


@case(needs=["vti"])
def wrong_peer_is_refused(lab):
    """A peer that starts with the right identity and a wrong key is refused by us, and the log says
    which pair it was."""
    a1 = lab.peer("A1", psk=b"not the key")
    g = lab.causeway([site(start=False)])
    a1.initiate()

    def refused():
        error = g.tunnel()["last-error"]
        return error and error["name"] == "auth-by-us" and error
    wait_for(refused, 15, "the refusal")
    expect_equal(a1.established(), [], "IKE_SAs at A1")
    line = [l for l in g.log_text().splitlines() if "peer's try failed" in l]
    expect(line and A1.address in line[0], "the identity in the log: %r" % line)
    expect_equal([s for s in xfrm.states(lab.net.G) if s.algorithms], [], "SAs of G")
