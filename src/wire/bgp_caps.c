/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp_caps.h"

enum code {
	CAP_MP = 1,
	CAP_REFRESH = 2,
	CAP_EXT_NEXT_HOP = 5,
	CAP_EXT_MESSAGE = 6,
	CAP_ROLE = 9,
	CAP_GR = 64,
	CAP_AS4 = 65,
	CAP_ENHANCED_REFRESH = 70,
	CAP_REFRESH_CISCO = 128, /* in use before RFC 2918 */
};

#define PARAM_CAPABILITIES 2
#define SAFI_UNICAST 1

/* Graceful restart, RFC 4724 3 and RFC 8538 2: four bits of flags and twelve of seconds. */
#define GR_RESTARTING 0x8000
#define GR_NOTIFICATION 0x4000
#define GR_TIME 0x0fff
#define GR_FORWARDING 0x80

static void read_mp(struct cw_cursor *c, struct cw_bgp_caps *caps)
{
	uint16_t afi = cw_get_u16(c);
	enum cw_bgp_family family;

	cw_get_u8(c); /* reserved: to be ignored */
	family = cw_bgp_family_of(afi, cw_get_u8(c));
	caps->mp_any = true;
	if (family < CW_BGP_FAMILIES)
		caps->mp[family] = true;
}

static void read_ext_next_hop(struct cw_cursor *c, struct cw_bgp_caps *caps)
{
	while (cw_cursor_left(c)) {
		uint16_t afi = cw_get_u16(c), safi = cw_get_u16(c), next_hop_afi = cw_get_u16(c);

		if (afi == cw_bgp_afi(CW_BGP_IPV4) && safi == SAFI_UNICAST &&
			next_hop_afi == cw_bgp_afi(CW_BGP_IPV6))
			caps->ext_next_hop = true;
	}
}

static void read_role(struct cw_cursor *c, struct cw_bgp_caps *caps)
{
	uint8_t value = cw_get_u8(c);

	/* RFC 9234 4.1: several that agree are one. */
	if (caps->role && caps->role_value != value)
		caps->role_conflict = true;
	caps->role = true;
	caps->role_value = value;
}

static void read_gr(struct cw_cursor *c, struct cw_bgp_caps *caps)
{
	uint16_t head = cw_get_u16(c);

	/* RFC 4724 3: of several instances the last counts. */
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		caps->gr_family[i] = caps->gr_forwarding[i] = false;
	caps->gr = true;
	caps->gr_restarting = head & GR_RESTARTING;
	caps->gr_notification = head & GR_NOTIFICATION;
	caps->gr_time_s = head & GR_TIME;
	while (cw_cursor_left(c)) {
		uint16_t afi = cw_get_u16(c);
		enum cw_bgp_family family = cw_bgp_family_of(afi, cw_get_u8(c));
		uint8_t flags = cw_get_u8(c);

		if (family == CW_BGP_FAMILIES)
			continue;
		caps->gr_family[family] = true;
		caps->gr_forwarding[family] = flags & GR_FORWARDING;
	}
}

static bool read_one(uint8_t code, struct cw_span value, struct cw_bgp_caps *caps)
{
	struct cw_cursor c = cw_cursor_of(value);

	switch ((enum code)code) {
	case CAP_MP:
		read_mp(&c, caps);
		break;
	case CAP_REFRESH:
	case CAP_REFRESH_CISCO:
		caps->refresh = true;
		break;
	case CAP_EXT_NEXT_HOP:
		read_ext_next_hop(&c, caps);
		break;
	case CAP_EXT_MESSAGE:
		caps->ext_message = true;
		break;
	case CAP_ROLE:
		read_role(&c, caps);
		break;
	case CAP_GR:
		read_gr(&c, caps);
		break;
	case CAP_AS4:
		caps->as4 = true;
		caps->as4_value = cw_get_u32(&c);
		break;
	case CAP_ENHANCED_REFRESH:
		caps->enhanced_refresh = true;
		break;
	default:
		return true;
	}
	/* Recognized but malformed: neither too short for what it should be, nor longer. */
	return cw_cursor_ok(&c) && cw_cursor_left(&c) == 0;
}

const char *cw_bgp_caps_read(
	struct cw_span parameter, struct cw_bgp_caps *caps, struct cw_span *ret_bad)
{
	struct cw_cursor c = cw_cursor_of(parameter);

	while (cw_cursor_left(&c)) {
		struct cw_span rest = { .p = c.at, .n = cw_cursor_left(&c) }, value;
		uint8_t code = cw_get_u8(&c), len = cw_get_u8(&c);

		value = cw_get_span(&c, len);
		if (!cw_cursor_ok(&c)) {
			*ret_bad = rest;
			return "a capability is longer than its parameter";
		}
		if (!read_one(code, value, caps)) {
			*ret_bad = (struct cw_span){ .p = rest.p, .n = 2u + len };
			return "a capability has the wrong length";
		}
		if (caps->n_codes < CW_BGP_CAP_CODES_MAX)
			caps->codes[caps->n_codes] = code;
		caps->n_codes++;
	}
	return NULL;
}

/* Parameter and capability headers; len octets of value follow. */
static void put_head(struct cw_writer *w, uint8_t code, uint8_t len)
{
	cw_put_u8(w, PARAM_CAPABILITIES);
	cw_put_u8(w, (uint8_t)(2 + len));
	cw_put_u8(w, code);
	cw_put_u8(w, len);
}

static void put_gr(struct cw_writer *w, const struct cw_bgp_caps *caps)
{
	uint8_t n = 0;

	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		n = (uint8_t)(n + caps->gr_family[i]);
	put_head(w, CAP_GR, (uint8_t)(2 + 4 * n));
	cw_put_u16(w, (uint16_t)((caps->gr_restarting ? GR_RESTARTING : 0) |
				 (caps->gr_notification ? GR_NOTIFICATION : 0) |
				 (caps->gr_time_s & GR_TIME)));
	for (enum cw_bgp_family i = 0; i < CW_BGP_FAMILIES; i++) {
		if (!caps->gr_family[i])
			continue;
		cw_put_u16(w, cw_bgp_afi(i));
		cw_put_u8(w, SAFI_UNICAST);
		cw_put_u8(w, caps->gr_forwarding[i] ? GR_FORWARDING : 0);
	}
}

void cw_bgp_caps_write(struct cw_writer *w, const struct cw_bgp_caps *caps, uint32_t asn)
{
	for (enum cw_bgp_family i = 0; i < CW_BGP_FAMILIES; i++) {
		if (!caps->mp[i])
			continue;
		put_head(w, CAP_MP, 4);
		cw_put_u16(w, cw_bgp_afi(i));
		cw_put_u8(w, 0);
		cw_put_u8(w, SAFI_UNICAST);
	}
	if (caps->refresh)
		put_head(w, CAP_REFRESH, 0);
	if (caps->ext_next_hop) {
		put_head(w, CAP_EXT_NEXT_HOP, 6);
		cw_put_u16(w, cw_bgp_afi(CW_BGP_IPV4));
		cw_put_u16(w, SAFI_UNICAST);
		cw_put_u16(w, cw_bgp_afi(CW_BGP_IPV6));
	}
	if (caps->ext_message)
		put_head(w, CAP_EXT_MESSAGE, 0);
	if (caps->role) {
		put_head(w, CAP_ROLE, 1);
		cw_put_u8(w, caps->role_value);
	}
	if (caps->gr)
		put_gr(w, caps);
	if (caps->as4) {
		put_head(w, CAP_AS4, 4);
		cw_put_u32(w, asn);
	}
	if (caps->enhanced_refresh)
		put_head(w, CAP_ENHANCED_REFRESH, 0);
}
