/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp.h"

#include "wire/bgp_priv.h"

#define SAFI_UNICAST 1

static const struct {
	uint16_t afi;
	const char *name;
} families[CW_BGP_FAMILIES] = {
	[CW_BGP_IPV4] = { .afi = 1, .name = "ipv4" },
	[CW_BGP_IPV6] = { .afi = 2, .name = "ipv6" },
};

uint16_t cw_bgp_afi(enum cw_bgp_family family)
{
	return family < CW_BGP_FAMILIES ? families[family].afi : 0;
}

enum cw_bgp_family cw_bgp_family_of(uint16_t afi, uint8_t safi)
{
	for (enum cw_bgp_family family = 0; family < CW_BGP_FAMILIES; family++)
		if (families[family].afi == afi && safi == SAFI_UNICAST)
			return family;
	return CW_BGP_FAMILIES;
}

const char *cw_bgp_family_name(enum cw_bgp_family family)
{
	return family < CW_BGP_FAMILIES ? families[family].name : "unknown";
}

/* ---- names ---- */

#define UNKNOWN "unknown"

static const char *const type_names[] = {
	[CW_BGP_OPEN] = "OPEN",
	[CW_BGP_UPDATE] = "UPDATE",
	[CW_BGP_NOTIFICATION] = "NOTIFICATION",
	[CW_BGP_KEEPALIVE] = "KEEPALIVE",
	[CW_BGP_ROUTE_REFRESH] = "ROUTE-REFRESH",
};

static const char *const header_names[] = {
	[0] = "Unspecific",
	[CW_BGP_HEADER_NOT_SYNCHRONIZED] = "Connection Not Synchronized",
	[CW_BGP_HEADER_BAD_LENGTH] = "Bad Message Length",
	[CW_BGP_HEADER_BAD_TYPE] = "Bad Message Type",
};

static const char *const open_names[] = {
	[0] = "Unspecific",
	[CW_BGP_OPEN_BAD_VERSION] = "Unsupported Version Number",
	[CW_BGP_OPEN_BAD_AS] = "Bad Peer AS",
	[CW_BGP_OPEN_BAD_ID] = "Bad BGP Identifier",
	[CW_BGP_OPEN_BAD_PARAMETER] = "Unsupported Optional Parameter",
	[5] = "Authentication Failure", /* RFC 1771; gone since RFC 4271 */
	[CW_BGP_OPEN_BAD_HOLD] = "Unacceptable Hold Time",
	[CW_BGP_OPEN_NEEDS_CAPABILITY] = "Unsupported Capability",
	[CW_BGP_OPEN_ROLE_MISMATCH] = "Role Mismatch",
};

static const char *const update_names[] = {
	[0] = "Unspecific",
	[CW_BGP_UPDATE_BAD_LIST] = "Malformed Attribute List",
	[CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN] = "Unrecognized Well-known Attribute",
	[CW_BGP_UPDATE_MISSING_WELL_KNOWN] = "Missing Well-known Attribute",
	[CW_BGP_UPDATE_BAD_FLAGS] = "Attribute Flags Error",
	[CW_BGP_UPDATE_BAD_ATTR_LENGTH] = "Attribute Length Error",
	[CW_BGP_UPDATE_BAD_ORIGIN] = "Invalid ORIGIN Attribute",
	[7] = "AS Routing Loop", /* RFC 1771; gone since RFC 4271 */
	[CW_BGP_UPDATE_BAD_NEXT_HOP] = "Invalid NEXT_HOP Attribute",
	[CW_BGP_UPDATE_BAD_OPTIONAL] = "Optional Attribute Error",
	[CW_BGP_UPDATE_BAD_NETWORK] = "Invalid Network Field",
	[CW_BGP_UPDATE_BAD_AS_PATH] = "Malformed AS_PATH",
};

static const char *const fsm_names[] = {
	[0] = "Unspecified Error",
	[CW_BGP_FSM_IN_OPEN_SENT] = "Receive Unexpected Message in OpenSent State",
	[CW_BGP_FSM_IN_OPEN_CONFIRM] = "Receive Unexpected Message in OpenConfirm State",
	[CW_BGP_FSM_IN_ESTABLISHED] = "Receive Unexpected Message in Established State",
};

static const char *const cease_names[] = {
	[0] = "Unspecific",
	[CW_BGP_CEASE_MAX_PREFIXES] = "Maximum Number of Prefixes Reached",
	[CW_BGP_CEASE_SHUTDOWN] = "Administrative Shutdown",
	[CW_BGP_CEASE_DECONFIGURED] = "Peer De-configured",
	[CW_BGP_CEASE_RESET] = "Administrative Reset",
	[CW_BGP_CEASE_REJECTED] = "Connection Rejected",
	[CW_BGP_CEASE_CONFIG_CHANGE] = "Other Configuration Change",
	[CW_BGP_CEASE_COLLISION] = "Connection Collision Resolution",
	[CW_BGP_CEASE_NO_RESOURCES] = "Out of Resources",
	[CW_BGP_CEASE_HARD_RESET] = "Hard Reset",
	[CW_BGP_CEASE_BFD_DOWN] = "BFD Down",
};

static const char *const refresh_names[] = {
	[0] = "Unspecific",
	[CW_BGP_REFRESH_BAD_LENGTH] = "Invalid Message Length",
};

static const char *const unspecific_names[] = { [0] = "Unspecific" };

#define NAMES(table) .sub = (table), .n = sizeof(table) / sizeof((table)[0])

static const struct {
	const char *name;
	const char *const *sub;
	size_t n;
} errors[] = {
	[CW_BGP_E_HEADER] = { .name = "Message Header Error", NAMES(header_names) },
	[CW_BGP_E_OPEN] = { .name = "OPEN Message Error", NAMES(open_names) },
	[CW_BGP_E_UPDATE] = { .name = "UPDATE Message Error", NAMES(update_names) },
	[CW_BGP_E_HOLD] = { .name = "Hold Timer Expired", NAMES(unspecific_names) },
	[CW_BGP_E_FSM] = { .name = "Finite State Machine Error", NAMES(fsm_names) },
	[CW_BGP_E_CEASE] = { .name = "Cease", NAMES(cease_names) },
	[CW_BGP_E_REFRESH] = { .name = "ROUTE-REFRESH Message Error", NAMES(refresh_names) },
	[CW_BGP_E_SEND_HOLD] = { .name = "Send Hold Timer Expired", NAMES(unspecific_names) },
};

#define N_ERRORS (sizeof(errors) / sizeof(errors[0]))

const char *cw_bgp_type_name(uint8_t type)
{
	if (type >= sizeof(type_names) / sizeof(type_names[0]) || !type_names[type])
		return UNKNOWN;
	return type_names[type];
}

const char *cw_bgp_error_name(uint8_t code)
{
	return code < N_ERRORS && errors[code].name ? errors[code].name : UNKNOWN;
}

const char *cw_bgp_suberror_name(uint8_t code, uint8_t subcode)
{
	if (code >= N_ERRORS || subcode >= errors[code].n || !errors[code].sub[subcode])
		return UNKNOWN;
	return errors[code].sub[subcode];
}

/* ---- prefixes ---- */

static size_t octets_of(unsigned bits)
{
	return (bits + 7) / 8;
}

bool cw_bgp_prefix_get(struct cw_cursor *c, enum cw_bgp_family family, struct cw_prefix *ret_prefix)
{
	struct cw_prefix prefix = { .addr.family = (uint8_t)cw_bgp_addr_family(family) };
	struct cw_span octets;

	if (c->failed || cw_cursor_left(c) == 0)
		return false;
	prefix.len = cw_get_u8(c);
	if (prefix.len > cw_family_bits(prefix.addr.family)) {
		c->failed = true;
		return false;
	}
	octets = cw_get_span(c, octets_of(prefix.len));
	if (c->failed)
		return false;
	if (octets.n) {
		memcpy(prefix.addr.bytes, octets.p, octets.n);
		/* RFC 4271 4.3: the value of trailing bits is irrelevant. */
		if (prefix.len % 8)
			prefix.addr.bytes[octets.n - 1] &= (uint8_t)(0xff00 >> prefix.len % 8);
	}
	*ret_prefix = prefix;
	return true;
}

size_t cw_bgp_prefix_size(uint8_t len)
{
	return 1 + octets_of(len);
}

void cw_bgp_prefix_put(struct cw_writer *w, const struct cw_prefix *prefix)
{
	size_t n = octets_of(prefix->len);
	uint8_t octets[1 + sizeof(prefix->addr.bytes)];

	if (n > sizeof(prefix->addr.bytes)) {
		w->failed = true;
		return;
	}
	octets[0] = prefix->len;
	memcpy(octets + 1, prefix->addr.bytes, sizeof(prefix->addr.bytes));
	if (prefix->len % 8)
		octets[n] &= (uint8_t)(0xff00 >> prefix->len % 8);
	cw_put_bytes(w, octets, 1 + n);
}

enum cw_family cw_bgp_addr_family(enum cw_bgp_family family)
{
	return family == CW_BGP_IPV4 ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
}

bool cw_bgp_prefixes_check(struct cw_span list, enum cw_bgp_family family, size_t *ret_bad_at)
{
	unsigned bits = cw_family_bits(cw_bgp_addr_family(family));
	struct cw_cursor c = cw_cursor_of(list);

	while (cw_cursor_left(&c)) {
		size_t at = cw_cursor_at(&c);
		uint8_t len = cw_get_u8(&c);

		cw_get_span(&c, octets_of(len));
		if (len > bits || !cw_cursor_ok(&c)) {
			*ret_bad_at = at;
			return false;
		}
	}
	return true;
}

/* ---- messages ---- */

void cw_bgp_header_put(struct cw_writer *w, uint8_t type)
{
	static const uint8_t marker[CW_BGP_MARKER_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	cw_put_bytes(w, marker, sizeof(marker));
	cw_put_u16(w, 0);
	cw_put_u8(w, type);
}

size_t cw_bgp_message_end(struct cw_writer *w)
{
	size_t n = cw_writer_len(w);

	if (n > CW_BGP_MSG_EXTENDED_MAX)
		return 0;
	cw_patch_u16(w, CW_BGP_MARKER_LEN, (uint16_t)n);
	return cw_writer_ok(w) ? n : 0;
}

enum cw_rc cw_bgp_fail(struct cw_bgp_err *reterr, uint8_t code, uint8_t subcode, size_t offset,
	struct cw_span data, const char *why)
{
	*reterr = (struct cw_bgp_err){
		.code = code, .subcode = subcode, .offset = offset, .data = data, .why = why
	};
	return CW_E_PEER;
}
