/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our OPEN, what we think of the peer's, and what the two make together. */
#include "bgp/bgp_peer_priv.h"

#include <stdarg.h>
#include <stdio.h>

#define CAP_MULTIPROTOCOL 1 /* RFC 4760 8 */
#define SAFI_UNICAST 1

static bool role_counts(const struct cw_bgp_peer *p)
{
	/* RFC 9234 3: roles are between autonomous systems. */
	return p->conf.role != CW_BGP_PEER_NO_ROLE && !cw_bgp_peer_conf_ibgp(&p->conf);
}

struct cw_bgp_open cw_bgp_open_make(const struct cw_bgp_peer *p, bool plain, struct cw_time now)
{
	const struct cw_bgp_peer_conf *conf = &p->conf;
	struct cw_bgp_open open = { .version = 4,
		.asn = conf->local_asn,
		.hold_s = (uint16_t)conf->hold_s,
		.id = conf->router_id };
	struct cw_bgp_caps *caps = &open.caps;

	if (plain)
		return open;
	caps->mp_any = true;
	caps->refresh = caps->enhanced_refresh = true;
	caps->as4 = true;
	caps->as4_value = conf->local_asn;
	caps->ext_message = conf->ext_message;
	caps->ext_next_hop = conf->ext_next_hop;
	caps->role = role_counts(p);
	caps->role_value = caps->role ? conf->role : 0;
	caps->gr = caps->gr_notification = conf->gr;
	caps->gr_restarting = conf->gr && p->restarting && !cw_time_reached(p->defer_due, now);
	caps->gr_time_s = conf->gr ? (uint16_t)conf->gr_time_s : 0;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		caps->mp[f] = conf->family[f];
		caps->gr_family[f] = conf->gr && conf->family[f];
		caps->gr_forwarding[f] = caps->gr_family[f] && p->forwarding;
	}
	return open;
}

bool cw_bgp_open_can_be_plain(const struct cw_bgp_peer *p)
{
	return p->conf.family[CW_BGP_IPV4] && p->conf.local_asn <= UINT16_MAX &&
	       p->conf.remote_asn <= UINT16_MAX;
}

uint32_t cw_bgp_open_hold_s(const struct cw_bgp_peer *p, const struct cw_bgp_open *open)
{
	return open->hold_s < p->conf.hold_s ? open->hold_s : p->conf.hold_s;
}

/* Without any multiprotocol capability, RFC 4760 8, IPv4 unicast is meant. */
static bool peer_has_family(const struct cw_bgp_open *open, enum cw_bgp_family f)
{
	return open->caps.mp_any ? open->caps.mp[f] : f == CW_BGP_IPV4;
}

__attribute__((format(printf, 3, 4))) static bool fault(
	struct open_fault *ret, uint8_t subcode, const char *fmt, ...)
{
	va_list args;

	ret->subcode = subcode;
	va_start(args, fmt);
	vsnprintf(ret->why, sizeof(ret->why), fmt, args);
	va_end(args);
	return false;
}

static const char *role_name(uint8_t role)
{
	static const char *const names[] = {
		[CW_BGP_ROLE_PROVIDER] = "provider",
		[CW_BGP_ROLE_RS] = "route server",
		[CW_BGP_ROLE_RS_CLIENT] = "route server client",
		[CW_BGP_ROLE_CUSTOMER] = "customer",
		[CW_BGP_ROLE_PEER] = "peer",
	};

	return role < sizeof(names) / sizeof(names[0]) ? names[role] : "of an unknown role";
}

/* RFC 9234 4.2, table 2. */
static bool roles_fit(uint8_t ours, uint8_t theirs)
{
	static const uint8_t partner[] = {
		[CW_BGP_ROLE_PROVIDER] = CW_BGP_ROLE_CUSTOMER,
		[CW_BGP_ROLE_RS] = CW_BGP_ROLE_RS_CLIENT,
		[CW_BGP_ROLE_RS_CLIENT] = CW_BGP_ROLE_RS,
		[CW_BGP_ROLE_CUSTOMER] = CW_BGP_ROLE_PROVIDER,
		[CW_BGP_ROLE_PEER] = CW_BGP_ROLE_PEER,
	};

	return ours < sizeof(partner) && partner[ours] == theirs;
}

static bool check_role(
	const struct cw_bgp_peer *p, const struct cw_bgp_caps *caps, struct open_fault *ret_fault)
{
	if (cw_bgp_peer_conf_ibgp(&p->conf))
		return true;
	if (caps->role_conflict)
		return fault(
			ret_fault, CW_BGP_OPEN_ROLE_MISMATCH, "it gives several different roles");
	if (!role_counts(p))
		return true;
	if (!caps->role && p->conf.role_strict)
		return fault(ret_fault, CW_BGP_OPEN_ROLE_MISMATCH,
			"it gives no role, and bgp-role-strict asks for one");
	if (caps->role && !roles_fit(p->conf.role, caps->role_value))
		return fault(ret_fault, CW_BGP_OPEN_ROLE_MISMATCH, "it is %s, and we are %s",
			role_name(caps->role_value), role_name(p->conf.role));
	return true;
}

/* RFC 5492 5: the data are the capabilities that we need, as they would stand in OPEN. */
static bool no_family(const struct cw_bgp_peer *p, struct open_fault *ret_fault)
{
	struct cw_writer w = cw_writer_of(ret_fault->data, sizeof(ret_fault->data));

	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		if (!p->conf.family[f])
			continue;
		cw_put_u8(&w, CAP_MULTIPROTOCOL);
		cw_put_u8(&w, 4);
		cw_put_u16(&w, cw_bgp_afi((enum cw_bgp_family)f));
		cw_put_u8(&w, 0);
		cw_put_u8(&w, SAFI_UNICAST);
	}
	ret_fault->n_data = cw_writer_len(&w);
	return fault(ret_fault, CW_BGP_OPEN_NEEDS_CAPABILITY,
		"it offers none of the address families that we do");
}

bool cw_bgp_open_check(
	const struct cw_bgp_peer *p, const struct cw_bgp_open *open, struct open_fault *ret_fault)
{
	const struct cw_bgp_peer_conf *conf = &p->conf;
	uint32_t hold_s = cw_bgp_open_hold_s(p, open);
	bool common = false;

	*ret_fault = (struct open_fault){ 0 };
	if (open->asn != conf->remote_asn)
		return fault(ret_fault, CW_BGP_OPEN_BAD_AS, "wrong AS number: expected %u, got %u",
			conf->remote_asn, open->asn);
	/* RFC 6286 2.2: within one AS identifiers are unique; between two they need not be. */
	if (open->id == conf->router_id && cw_bgp_peer_conf_ibgp(conf))
		return fault(ret_fault, CW_BGP_OPEN_BAD_ID, "it has our own BGP identifier");
	if (hold_s < conf->hold_min_s)
		return fault(ret_fault, CW_BGP_OPEN_BAD_HOLD,
			"hold time %u s, and bgp-hold-time-min is %u s", hold_s, conf->hold_min_s);
	if (!check_role(p, &open->caps, ret_fault))
		return false;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++)
		common |= conf->family[f] && peer_has_family(open, (enum cw_bgp_family)f);
	return common || no_family(p, ret_fault);
}

void cw_bgp_open_agree(struct cw_bgp_peer *p, const struct conn *c, struct cw_time now)
{
	struct cw_bgp_open open = cw_bgp_open_make(p, c->plain, now);
	const struct cw_bgp_caps *ours = &open.caps, *theirs = &c->open.caps;

	p->peer_open = c->open;
	p->has_peer_open = true;
	p->hold_s = c->hold_s;
	p->codec = (struct cw_bgp_codec){
		.as4 = ours->as4 && theirs->as4,
		.ibgp = cw_bgp_peer_conf_ibgp(&p->conf),
		.ext_next_hop = ours->ext_next_hop && theirs->ext_next_hop,
		.max = ours->ext_message && theirs->ext_message ? CW_BGP_MSG_EXTENDED_MAX
								: CW_BGP_MSG_MAX,
	};
	p->refresh = ours->refresh && theirs->refresh;
	p->enhanced = p->refresh && ours->enhanced_refresh && theirs->enhanced_refresh;
	p->gr = ours->gr && theirs->gr;
	p->gr_notification = p->gr && ours->gr_notification && theirs->gr_notification;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++) {
		p->codec.family[f] = p->family[f].agreed =
			(c->plain ? f == CW_BGP_IPV4 : p->conf.family[f]) &&
			peer_has_family(&c->open, (enum cw_bgp_family)f);
	}
}
