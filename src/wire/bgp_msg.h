/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_msg: header, OPEN, NOTIFICATION, KEEPALIVE and ROUTE-REFRESH. UPDATE is in bgp_update.h.
 *
 * Decoders read only `in`, write ret_ on CW_OK alone and reterr on CW_E_PEER alone. Spans in results point
 * into `in`. Encoders write one whole message with its header and return its length, 0 where it does not fit.
 */
#ifndef CW_WIRE_BGP_MSG_H
#define CW_WIRE_BGP_MSG_H

#include "wire/bgp.h"

struct cw_bgp_header {
	uint8_t type;
	uint16_t len; /* of the message, the header included */
};

/*
 * The first message in a stream. CW_E_BUSY: more bytes are needed (fewer than a header, or than the header
 * says; an error that the header alone shows is reported without waiting). Checks in this order, RFC 4271
 * 6.1: marker, length, type, length for the type. max: CW_BGP_MSG_MAX, or the extended one for UPDATE,
 * NOTIFICATION and ROUTE-REFRESH when both sides said so (RFC 8654; OPEN and KEEPALIVE never).
 */
enum cw_rc cw_bgp_header_decode(struct cw_span in, size_t max, struct cw_bgp_header *ret_header,
				struct cw_bgp_err *reterr);

#define CW_BGP_CAP_CODES_MAX 32

/* What one side's OPEN says it can do. Zeroed: nothing. */
struct cw_bgp_caps {
	bool mp_any;			 /* at least one capability 1 was there */
	bool mp[CW_BGP_FAMILIES];	 /* 1, RFC 4760; without any, IPv4 unicast is meant */
	bool refresh;			 /* 2, RFC 2918 (128, the same before it had a number, counts) */
	bool ext_next_hop;		 /* 5, RFC 8950: IPv4 unicast over IPv6 */
	bool ext_message;		 /* 6, RFC 8654 */
	bool role;			 /* 9, RFC 9234 */
	uint8_t role_value;		 /* enum cw_bgp_role */
	bool role_conflict;		 /* several with different values */
	bool gr;			 /* 64, RFC 4724 */
	bool gr_restarting;		 /* R: it has just restarted */
	bool gr_notification;		 /* N, RFC 8538 */
	uint16_t gr_time_s;
	bool gr_family[CW_BGP_FAMILIES];
	bool gr_forwarding[CW_BGP_FAMILIES]; /* F: kept its routes */
	bool as4;			 /* 65, RFC 6793 */
	uint32_t as4_value;
	bool enhanced_refresh;		 /* 70, RFC 7313 */
	/* every code as it came, for people; n_codes may exceed the array when there were more */
	uint8_t codes[CW_BGP_CAP_CODES_MAX];
	size_t n_codes;
};

enum cw_bgp_role { /* RFC 9234 4.1 */
	CW_BGP_ROLE_PROVIDER = 0,
	CW_BGP_ROLE_RS = 1,
	CW_BGP_ROLE_RS_CLIENT = 2,
	CW_BGP_ROLE_CUSTOMER = 3,
	CW_BGP_ROLE_PEER = 4,
};

struct cw_bgp_open {
	uint8_t version;
	uint16_t as2;	   /* My Autonomous System, as it stands */
	uint32_t asn;	   /* the real one: from capability 65 where it is there */
	uint16_t hold_s;
	uint32_t id;	   /* BGP Identifier, host order */
	struct cw_bgp_caps caps;
};

/* in: the body, after the header. Refuses what no peer may say (version, AS 0, identifier 0, hold time 1 and
 * 2, parameters that don't add up); whether it is the peer that was expected is for the session to judge.
 * Takes every shape: RFC 9072 parameters, many capabilities in one parameter or one in each, unknown ones. */
enum cw_rc cw_bgp_open_decode(struct cw_span in, struct cw_bgp_open *ret_open,
			      struct cw_bgp_err *reterr);
/* as2 and the number in capability 65 are computed from asn; capabilities in ascending order, each in a
 * parameter of its own. 1 is written for each family in mp, whatever mp_any says. */
size_t cw_bgp_open_encode(const struct cw_bgp_open *open, uint8_t *buf, size_t size);

struct cw_bgp_notification {
	uint8_t code, subcode;
	struct cw_span data;
};

/* Any body of two or more octets is a NOTIFICATION; RFC 4271 6.4 allows no answer to a bad one. */
enum cw_rc cw_bgp_notification_decode(struct cw_span in, struct cw_bgp_notification *ret_notification,
				      struct cw_bgp_err *reterr);
size_t cw_bgp_notification_encode(const struct cw_bgp_notification *notification, uint8_t *buf,
				  size_t size);
/* Cease 2 and 4 may carry a text (RFC 9003), also within a hard reset (RFC 8538): copied as printable UTF-8,
 * everything else and the backslash as \xNN; cut to size between characters. False: none. */
bool cw_bgp_shutdown_text(const struct cw_bgp_notification *notification, char *buf, size_t size);

enum cw_bgp_refresh_kind { /* RFC 7313 3.2 */
	CW_BGP_REFRESH_REQUEST = 0,
	CW_BGP_REFRESH_BEGIN = 1, /* BoRR */
	CW_BGP_REFRESH_END = 2,	  /* EoRR */
};

struct cw_bgp_refresh {
	uint16_t afi;
	uint8_t kind; /* enum cw_bgp_refresh_kind, or another number: to be ignored */
	uint8_t safi;
	enum cw_bgp_family family; /* CW_BGP_FAMILIES: none of ours */
};

/* On an error reterr->data is `in`; RFC 7313 5 wants the message whole in the NOTIFICATION, so who has it puts
 * the header before. Of another kind, and a request with more behind it, is no error. */
enum cw_rc cw_bgp_refresh_decode(struct cw_span in, struct cw_bgp_refresh *ret_refresh,
				 struct cw_bgp_err *reterr);
size_t cw_bgp_refresh_encode(enum cw_bgp_family family, uint8_t kind, uint8_t *buf, size_t size);
size_t cw_bgp_keepalive_encode(uint8_t *buf, size_t size);

#endif
