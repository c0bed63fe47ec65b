/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp: the numbers of BGP-4 and what the codecs of this folder share.
 *
 * RFC 4271, 4760 (multiprotocol), 5492 (capabilities), 6793 (4-octet AS numbers), 2918 and 7313 (route
 * refresh), 4724 and 8538 (graceful restart), 8654 (extended messages), 9072 (extended parameters), 9234
 * (roles), 8950 (IPv4 over an IPv6 next hop). Everything in src/wire is a function of bytes: no session, no
 * socket, no clock, no log.
 */
#ifndef CW_WIRE_BGP_H
#define CW_WIRE_BGP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/rc.h"
#include "base/span.h"

#define CW_BGP_PORT 179
#define CW_BGP_HEADER_LEN 19
#define CW_BGP_MSG_MAX 4096	      /* RFC 4271 4.1 */
#define CW_BGP_MSG_EXTENDED_MAX 65535 /* RFC 8654 */
#define CW_BGP_AS_TRANS 23456	      /* RFC 6793 */
#define CW_BGP_LOCAL_PREF_DEFAULT 100

enum cw_bgp_type {
	CW_BGP_OPEN = 1,
	CW_BGP_UPDATE = 2,
	CW_BGP_NOTIFICATION = 3,
	CW_BGP_KEEPALIVE = 4,
	CW_BGP_ROUTE_REFRESH = 5,
};

/* The families we carry, as small indices for tables and bit sets. */
enum cw_bgp_family {
	CW_BGP_IPV4 = 0,
	CW_BGP_IPV6 = 1,
	CW_BGP_FAMILIES = 2,
};

enum cw_bgp_error { /* RFC 4271 6, 7313 5 */
	CW_BGP_E_HEADER = 1,
	CW_BGP_E_OPEN = 2,
	CW_BGP_E_UPDATE = 3,
	CW_BGP_E_HOLD = 4,
	CW_BGP_E_FSM = 5,
	CW_BGP_E_CEASE = 6,
	CW_BGP_E_REFRESH = 7,
	CW_BGP_E_SEND_HOLD = 8, /* RFC 9687 */
};

enum cw_bgp_sub_header {
	CW_BGP_HEADER_NOT_SYNCHRONIZED = 1,
	CW_BGP_HEADER_BAD_LENGTH = 2,
	CW_BGP_HEADER_BAD_TYPE = 3,
};

enum cw_bgp_sub_open {
	CW_BGP_OPEN_BAD_VERSION = 1,
	CW_BGP_OPEN_BAD_AS = 2,
	CW_BGP_OPEN_BAD_ID = 3,
	CW_BGP_OPEN_BAD_PARAMETER = 4,
	CW_BGP_OPEN_BAD_HOLD = 6,
	CW_BGP_OPEN_NEEDS_CAPABILITY = 7,
	CW_BGP_OPEN_ROLE_MISMATCH = 11,
};

enum cw_bgp_sub_update {
	CW_BGP_UPDATE_BAD_LIST = 1,
	CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN = 2,
	CW_BGP_UPDATE_MISSING_WELL_KNOWN = 3,
	CW_BGP_UPDATE_BAD_FLAGS = 4,
	CW_BGP_UPDATE_BAD_ATTR_LENGTH = 5,
	CW_BGP_UPDATE_BAD_ORIGIN = 6,
	CW_BGP_UPDATE_BAD_NEXT_HOP = 8,
	CW_BGP_UPDATE_BAD_OPTIONAL = 9,
	CW_BGP_UPDATE_BAD_NETWORK = 10,
	CW_BGP_UPDATE_BAD_AS_PATH = 11,
};

enum cw_bgp_sub_fsm { /* RFC 6608 */
	CW_BGP_FSM_IN_OPEN_SENT = 1,
	CW_BGP_FSM_IN_OPEN_CONFIRM = 2,
	CW_BGP_FSM_IN_ESTABLISHED = 3,
};

enum cw_bgp_sub_cease { /* RFC 4486, 8538, 9384 */
	CW_BGP_CEASE_MAX_PREFIXES = 1,
	CW_BGP_CEASE_SHUTDOWN = 2,
	CW_BGP_CEASE_DECONFIGURED = 3,
	CW_BGP_CEASE_RESET = 4,
	CW_BGP_CEASE_REJECTED = 5,
	CW_BGP_CEASE_CONFIG_CHANGE = 6,
	CW_BGP_CEASE_COLLISION = 7,
	CW_BGP_CEASE_NO_RESOURCES = 8,
	CW_BGP_CEASE_HARD_RESET = 9,
	CW_BGP_CEASE_BFD_DOWN = 10,
};

enum cw_bgp_sub_refresh {
	CW_BGP_REFRESH_BAD_LENGTH = 1,
};

/* Why a message can't be taken: what the NOTIFICATION will say, and where the fault is. */
struct cw_bgp_err {
	uint8_t code, subcode;
	size_t offset;	     /* of the fault, from the start of what was decoded */
	struct cw_span data; /* for the NOTIFICATION's data field, in the decoded bytes or static; may be empty */
	const char *why;     /* static, in words: "shorter than its header says" */
};

/* AFI and SAFI of a family, and back; CW_BGP_FAMILIES where it is none of ours. */
uint16_t cw_bgp_afi(enum cw_bgp_family family);
enum cw_bgp_family cw_bgp_family_of(uint16_t afi, uint8_t safi);
const char *cw_bgp_family_name(enum cw_bgp_family family); /* "ipv4", "ipv6" */

/* Names in the RFCs' words, for people. Never NULL; "unknown" where the number has no name. */
const char *cw_bgp_type_name(uint8_t type);
const char *cw_bgp_error_name(uint8_t code);
const char *cw_bgp_suberror_name(uint8_t code, uint8_t subcode);

/* ---- prefixes on the wire: a length in bits, then as many octets as it takes (RFC 4271 4.3) ---- */

/*
 * Takes the next prefix out of the cursor; host bits are cleared. False at the end and on an error;
 * an error (length over 32 or 128, octets missing) makes the cursor fail.
 */
bool cw_bgp_prefix_get(struct cw_cursor *c, enum cw_bgp_family family, struct cw_prefix *ret_prefix);
/* Octets that a prefix of this length takes: 1 and (len + 7) / 8. */
size_t cw_bgp_prefix_size(uint8_t len);
void cw_bgp_prefix_put(struct cw_writer *w, const struct cw_prefix *prefix);

#endif
