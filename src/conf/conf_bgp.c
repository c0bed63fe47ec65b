/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is wrong with the BGP settings: numbers, addresses, lists. */
#include "conf/conf_int.h"

#include <inttypes.h>
#include <string.h>

#define PRIVATE_ASN "private numbers are 64512 to 65534 and 4200000000 to 4294967294"

static const char *number_text(struct cw_reader *r, uint32_t number)
{
	return cw_say(r, "%" PRIu32, number);
}

/* ---- AS numbers ---- */

/* IANA "Autonomous System (AS) Numbers", special purpose. */
static const char *reserved_asn(uint32_t asn)
{
	switch (asn) {
	case 23456:
		return "is AS_TRANS, which stands for other numbers (RFC 6793)";
	case 65535:
	case UINT32_MAX:
		return "is reserved (RFC 7300)";
	default:
		return NULL;
	}
}

static bool documentation_asn(uint32_t asn)
{
	return (asn >= 64496 && asn <= 64511) || (asn >= 65536 && asn <= 65551);
}

/* Azure's VPN gateway FAQ: kept for itself, whichever side is on-premises. */
static bool azure_asn(uint32_t asn)
{
	return asn == 8074 || asn == 8075 || asn == 12076 || asn == 65515 ||
	       (asn >= 65517 && asn <= 65520);
}

static void check_asn(struct cw_reader *r, int i, uint32_t asn)
{
	if (reserved_asn(asn))
		cw_report_at(r, i, -1, CW_CONF_ERROR, "asn", number_text(r, asn), reserved_asn(asn),
		       PRIVATE_ASN);
	else if (documentation_asn(asn))
		cw_report_at(r, i, -1, CW_CONF_WARNING, "asn", number_text(r, asn),
		       "is for documentation (RFC 5398); Azure refuses it", PRIVATE_ASN);
}

void cw_conf_check_bgp_gateway(struct cw_reader *r)
{
	const struct cw_gateway_conf *gw = &r->conf->gateway;

	if (gw->asn)
		check_asn(r, -1, gw->asn);
	if (gw->bgp_addr.family && (cw_addr_equal(&gw->bgp_addr, &gw->public_addr) ||
				    cw_addr_equal(&gw->bgp_addr, &gw->local_addr)))
		cw_report_at(r, -1, -1, CW_CONF_ERROR, "bgp-address", cw_say_addr(r, &gw->bgp_addr),
		       "is our outside address: Azure refuses it, and packets to it go round the tunnel",
		       "take one of the addresses inside, as one of a loopback");
	if (gw->asn && !gw->networks.n && !gw->announce.n &&
	    !cw_subject_set(r, -1, -1, "networks") && !cw_subject_set(r, -1, -1, "announce"))
		cw_report_at(r, -1, -1, CW_CONF_WARNING, "networks", "",
		       "is missing: nothing is announced to any site by BGP",
		       "write networks = [ \"10.10.0.0/16\" ]; with what lies behind this gateway");
}

void cw_conf_check_bgp_site(struct cw_reader *r, int i)
{
	const struct cw_site_conf *site = &r->conf->sites[i];
	const struct cw_profile *profile = cw_profile_find(site->profile);
	uint32_t own = r->conf->gateway.asn;
	bool peer = false;

	if (!site->asn)
		return;
	check_asn(r, i, site->asn);
	if (!own && !cw_subject_set(r, -1, -1, "asn"))
		cw_report_at(r, i, -1, CW_CONF_ERROR, "asn", number_text(r, site->asn),
		       "needs an AS number on our side too", "write asn = 65010; in gateway");
	if (own == site->asn)
		cw_report_at(r, i, -1, CW_CONF_ERROR, "asn", number_text(r, site->asn),
		       "is the gateway's own AS number", "each side needs its own");
	if (profile->cloud == CW_CLOUD_AZURE && azure_asn(own))
		cw_report_at(r, i, -1, CW_CONF_ERROR, "asn", number_text(r, site->asn),
		       cw_say(r, "can't be joined from the gateway's AS number %" PRIu32
			      ", which Azure keeps for itself", own),
		       "choose another for gateway.asn: 64512 to 65514 or 65521 to 65534");
	for (size_t k = 0; k < site->n_tunnels; k++)
		peer |= cw_subject_set(r, i, (int)k, "bgp-peer");
	if (!peer && !site->networks.n && site->n_tunnels)
		cw_report_at(r, i, -1, CW_CONF_ERROR, "networks", "",
		       "is missing, and no tunnel has a bgp-peer: nothing would be routed to the site",
		       "write bgp-peer = \"10.20.255.4\"; in its tunnels, or the site's networks");
}

/* ---- one tunnel ---- */

static bool is_own(const struct cw_reader *r, const struct cw_tunnel_conf *t,
		   const struct cw_addr *addr)
{
	return cw_addr_equal(addr, &t->inside_addr.addr) || cw_addr_equal(addr, &t->local_addr) ||
	       cw_addr_equal(addr, &t->public_addr) || cw_addr_equal(addr, &t->bgp.local) ||
	       cw_addr_equal(addr, &r->conf->gateway.router_id);
}

/* Is addr the first address of the network, or IPv4's last? In words, or NULL. */
static const char *edge_of(const struct cw_prefix *p, const struct cw_addr *addr)
{
	struct cw_prefix net = cw_prefix_network(p), last = net;

	if (cw_addr_equal(&net.addr, addr))
		return "network";
	for (unsigned i = p->len; i < cw_family_bits(addr->family); i++)
		last.addr.bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
	return addr->family == CW_FAMILY_IPV4 && cw_addr_equal(&last.addr, addr) ? "broadcast address" :
										    NULL;
}

static void check_ends(struct cw_reader *r, int i, int k, const struct cw_tunnel_conf *t)
{
	const struct cw_addr *peer = &t->bgp.peer, *local = &t->bgp.local;

	if (is_own(r, t, peer))
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       "is an address of this gateway", "write the peer's BGP address");
	else if (t->remote_addr.family && cw_addr_equal(peer, &t->remote_addr))
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       "is the peer's outside address",
		       "write the address that it speaks BGP from inside the tunnel");
	if (t->inside_addr.addr.family == peer->family && cw_prefix_contains(&t->inside_addr, peer) &&
	    t->inside_addr.len < cw_family_bits((enum cw_family)peer->family) - 1U &&
	    edge_of(&t->inside_addr, peer))
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       cw_say(r, "is the %s of the inside address's network",
			      edge_of(&t->inside_addr, peer)),
		       "write the peer's BGP address");
	if (!t->site->asn && !cw_subject_set(r, i, -1, "asn"))
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       "needs the site's AS number",
		       "write asn = 65515; in the site, with the peer's number");
	if (local->family == CW_FAMILY_NONE)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       cw_say(r, "needs an IPv%d address of ours to speak from", peer->family),
		       "write inside-address in the tunnel, or bgp-address in gateway");
	else if (local->family != peer->family)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-address", cw_say_addr(r, local),
		       cw_say(r, "and bgp-peer %s are of two families", cw_say_addr(r, peer)),
		       "both must be IPv4, or both IPv6; an IPv4 session carries IPv6 routes too, "
		       "with bgp-ipv6");
	else if (cw_addr_equal(local, &t->public_addr) || cw_addr_equal(local, &t->local_addr))
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-address", cw_say_addr(r, local),
		       "is our outside address: Azure refuses it, and packets to it go round the "
		       "tunnel",
		       "take one of the addresses inside, as one of a loopback");
	if (t->interface_mode == CW_IF_POLICY)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, peer),
		       "needs an interface that learned routes can lead to",
		       "take interface-mode = \"policy\" away, or the BGP settings");
	if (t->selectors == CW_SEL_NETWORKS)
		cw_report_at(r, i, k, CW_CONF_WARNING, "bgp-peer", cw_say_addr(r, peer),
		       "and what it announces pass only where networks of both sides hold them",
		       "write selectors = \"any\";");
}

static void check_timers(struct cw_reader *r, int i, int k, const struct cw_tunnel_conf *t,
			 const struct cw_profile *profile)
{
	const struct cw_bgp_conf *b = &t->bgp;

	if (b->hold_s == 1 || b->hold_s == 2)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-hold-time", number_text(r, b->hold_s),
		       "is no hold time that BGP knows (RFC 4271 4.2)", "write 0, or 3 and more");
	else if (b->hold_s && b->hold_s < 180 && profile->cloud == CW_CLOUD_AZURE)
		cw_report_at(r, i, k, CW_CONF_WARNING, "bgp-hold-time", number_text(r, b->hold_s),
		       "is less than Azure's 180 s: it speaks only every 60 s, and the session ends "
		       "whenever that is late",
		       "take it away; the tunnel itself shows a dead path sooner");
	if (b->hold_min_s > b->hold_s && b->hold_s)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-hold-time-min", number_text(r, b->hold_min_s),
		       cw_say(r, "is more than bgp-hold-time %" PRIu32, b->hold_s),
		       "no session could ever be agreed on");
	if (b->gtsm && b->ttl != 255)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-ttl", number_text(r, b->ttl),
		       "does not go with bgp-gtsm: RFC 5082 sends with 255", "take one of them away");
	if (b->connect == CW_BGP_CONNECT_PASSIVE && profile->cloud == CW_CLOUD_AZURE &&
	    cw_addr_is_link_local(&b->local))
		cw_report_at(r, i, k, CW_CONF_WARNING, "bgp-connect", "passive",
		       "waits for a peer that never comes: Azure opens no connection to an APIPA "
		       "address",
		       "take it away");
	if (b->password && b->password_omitted)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-password-omitted", "", "stands beside a key",
		       "take bgp-password-omitted away");
	else if (b->password_omitted)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-password-omitted", "",
		       "this is a printed copy, and the key is not in it",
		       "write bgp-password-file = \"NAME.key\"; in its place");
	if (b->password && profile->cloud == CW_CLOUD_AZURE)
		cw_report_at(r, i, k, CW_CONF_WARNING, "bgp-password", "",
		       "has no counterpart at Azure: no session will be made", "take it away");
	if (b->role_strict && b->role == CW_BGP_ROLE_CONF_NONE)
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-role-strict", "true", "needs a role of ours",
		       "write bgp-role too");
}

static void check_policy(struct cw_reader *r, int i, int k, const struct cw_tunnel_conf *t,
			 const struct cw_profile *profile)
{
	const struct cw_bgp_conf *b = &t->bgp;

	if (b->announce_limit && b->announce.n > b->announce_limit)
		cw_report_at(r, i, k, CW_CONF_ERROR, "announce", cw_say(r, "%zu prefixes", b->announce.n),
		       cw_say(r, "is more than announce-limit %" PRIu32, b->announce_limit),
		       "put neighbouring networks together");
	if (profile->cloud == CW_CLOUD_AZURE && (!b->announce_limit || b->announce_limit > 4000))
		cw_report_at(r, i, k, CW_CONF_WARNING, "announce-limit", number_text(r, b->announce_limit),
		       "lets through more than the 4000 prefixes at which Azure ends the session",
		       "take it away");
	for (size_t n = 0; n < b->transit.n; n++) {
		const struct cw_site_conf *from = NULL;

		for (size_t s = 0; s < r->conf->n_sites; s++) {
			if (strcmp(r->conf->sites[s].name, b->transit.v[n]) == 0)
				from = &r->conf->sites[s];
		}
		if (!from)
			cw_report_at(r, i, k, CW_CONF_ERROR, "transit", b->transit.v[n],
			       "is no site of this file", "write the name of a site");
		else if (from == t->site)
			cw_report_at(r, i, k, CW_CONF_ERROR, "transit", b->transit.v[n],
			       "is the site itself", "name the sites whose routes it shall get");
	}
}

void cw_conf_check_bgp_tunnel(struct cw_reader *r, int i, int k)
{
	const struct cw_tunnel_conf *t = &r->conf->sites[i].tunnels[k];
	const struct cw_profile *profile = cw_profile_find(r->conf->sites[i].profile);

	if (t->bgp.peer.family == CW_FAMILY_NONE)
		return;
	if (strcmp(profile->name, "azure-policy") == 0) {
		cw_report_at(r, i, k, CW_CONF_ERROR, "bgp-peer", cw_say_addr(r, &t->bgp.peer),
		       "is of no use: a policy-based Azure gateway speaks no BGP",
		       "take it away, or use a route-based gateway and the profile azure");
		return;
	}
	check_ends(r, i, k, t);
	check_timers(r, i, k, t, profile);
	check_policy(r, i, k, t, profile);
}
