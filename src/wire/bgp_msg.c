/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/bgp_msg.h"

#include <stdio.h>

#include "wire/bgp_caps.h"
#include "wire/bgp_priv.h"

#define VERSION 4
#define HOLD_LEAST_S 3 /* RFC 4271 4.2: zero, or at least this */
#define PARAM_CAPABILITIES 2
#define PARAM_EXTENDED 255 /* RFC 9072 2 */

static const struct cw_span no_data = { 0 };

/* ---- header ---- */

static const struct {
	uint16_t least;
	uint16_t most; /* 0: what the session has agreed on */
} lengths[] = {
	[CW_BGP_OPEN] = { .least = 29, .most = CW_BGP_MSG_MAX },
	[CW_BGP_UPDATE] = { .least = 23 },
	[CW_BGP_NOTIFICATION] = { .least = 21 },
	[CW_BGP_KEEPALIVE] = { .least = CW_BGP_HEADER_LEN, .most = CW_BGP_HEADER_LEN },
	/* A wrong length of this one has an error of its own, RFC 7313 5. */
	[CW_BGP_ROUTE_REFRESH] = { .least = CW_BGP_HEADER_LEN },
};

enum cw_rc cw_bgp_header_decode(
	struct cw_span in, size_t max, struct cw_bgp_header *ret_header, struct cw_bgp_err *reterr)
{
	struct cw_cursor c = cw_cursor_of(in);
	struct cw_span marker, len_field, type_field;
	uint16_t len;
	uint8_t type;

	if (in.n < CW_BGP_HEADER_LEN)
		return CW_E_BUSY;
	marker = cw_get_span(&c, CW_BGP_MARKER_LEN);
	len_field = (struct cw_span){ .p = c.at, .n = 2 };
	len = cw_get_u16(&c);
	type_field = (struct cw_span){ .p = c.at, .n = 1 };
	type = cw_get_u8(&c);

	for (size_t i = 0; i < marker.n; i++)
		if (marker.p[i] != 0xff)
			return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_NOT_SYNCHRONIZED,
				i, no_data, "the marker is not all ones");
	if (len < CW_BGP_HEADER_LEN)
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH,
			CW_BGP_MARKER_LEN, len_field, "shorter than its header");
	if (len > max)
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH,
			CW_BGP_MARKER_LEN, len_field, "longer than a message may be");
	if (type < CW_BGP_OPEN || type > CW_BGP_ROUTE_REFRESH)
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_TYPE,
			CW_BGP_MARKER_LEN + 2, type_field, "a message of no known type");
	if (len < lengths[type].least)
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH,
			CW_BGP_MARKER_LEN, len_field, "shorter than a message of its type can be");
	if (lengths[type].most && len > lengths[type].most)
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH,
			CW_BGP_MARKER_LEN, len_field, "longer than a message of its type may be");
	if (in.n < len)
		return CW_E_BUSY;
	*ret_header = (struct cw_bgp_header){ .type = type, .len = len };
	return CW_OK;
}

size_t cw_bgp_keepalive_encode(uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);

	cw_bgp_header_put(&w, CW_BGP_KEEPALIVE);
	return cw_bgp_message_end(&w);
}

/* ---- OPEN ---- */

static enum cw_rc open_fail(struct cw_bgp_err *reterr, uint8_t subcode, size_t offset,
	struct cw_span data, const char *why)
{
	return cw_bgp_fail(reterr, CW_BGP_E_OPEN, subcode, offset, data, why);
}

/* The parameters one after the other; each has a length of one octet, or of two when extended. */
static enum cw_rc read_parameters(
	struct cw_cursor *c, bool extended, struct cw_bgp_caps *caps, struct cw_bgp_err *reterr)
{
	while (cw_cursor_left(c)) {
		size_t at = cw_cursor_at(c);
		uint8_t type = cw_get_u8(c);
		size_t len = extended ? cw_get_u16(c) : cw_get_u8(c);
		struct cw_span value = cw_get_span(c, len), bad;
		const char *why;

		if (!cw_cursor_ok(c))
			return open_fail(reterr, 0, at, no_data,
				"an optional parameter is longer than the message");
		if (type != PARAM_CAPABILITIES)
			return open_fail(reterr, CW_BGP_OPEN_BAD_PARAMETER, at, no_data,
				"an optional parameter that is not capabilities");
		why = cw_bgp_caps_read(value, caps, &bad);
		if (why)
			return open_fail(reterr, 0, (size_t)(bad.p - c->start), bad, why);
	}
	return CW_OK;
}

enum cw_rc cw_bgp_open_decode(
	struct cw_span in, struct cw_bgp_open *ret_open, struct cw_bgp_err *reterr)
{
	static const uint8_t our_version[] = { 0, VERSION };
	struct cw_cursor c = cw_cursor_of(in);
	struct cw_bgp_open open = { 0 };
	struct cw_span hold_field;
	bool extended = false;
	enum cw_rc rc;
	size_t n;

	open.version = cw_get_u8(&c);
	open.as2 = cw_get_u16(&c);
	hold_field = (struct cw_span){ .p = c.at, .n = 2 };
	open.hold_s = cw_get_u16(&c);
	open.id = cw_get_u32(&c);
	n = cw_get_u8(&c);
	if (!cw_cursor_ok(&c))
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH,
			cw_cursor_at(&c), no_data, "shorter than an OPEN can be");
	if (open.version != VERSION)
		return open_fail(reterr, CW_BGP_OPEN_BAD_VERSION, 0,
			(struct cw_span){ .p = our_version, .n = sizeof(our_version) },
			"the version is not 4");
	/* RFC 9072 2: the type of what looks like the first parameter decides; the short length is
	 * then ignored, but never zero. */
	if (n && cw_cursor_left(&c) && *c.at == PARAM_EXTENDED) {
		extended = true;
		cw_get_u8(&c);
		n = cw_get_u16(&c);
	}
	if (!cw_cursor_ok(&c) || n != cw_cursor_left(&c))
		return open_fail(reterr, 0, cw_cursor_at(&c), no_data,
			"the length of the optional parameters is not that of the rest");
	rc = read_parameters(&c, extended, &open.caps, reterr);
	if (rc != CW_OK)
		return rc;
	open.asn = open.caps.as4 ? open.caps.as4_value : open.as2;
	if (open.as2 == 0 || open.asn == 0) /* RFC 7607 2 */
		return open_fail(reterr, CW_BGP_OPEN_BAD_AS, 1, no_data, "the AS number is 0");
	if (open.id == 0) /* RFC 6286 2.2 */
		return open_fail(
			reterr, CW_BGP_OPEN_BAD_ID, 5, no_data, "the BGP identifier is 0.0.0.0");
	if (open.hold_s && open.hold_s < HOLD_LEAST_S)
		return open_fail(reterr, CW_BGP_OPEN_BAD_HOLD, 3, hold_field,
			"the hold time is neither 0 nor 3 s or more");
	*ret_open = open;
	return CW_OK;
}

size_t cw_bgp_open_encode(const struct cw_bgp_open *open, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);
	size_t len_at;

	cw_bgp_header_put(&w, CW_BGP_OPEN);
	cw_put_u8(&w, VERSION);
	cw_put_u16(&w, open->asn > UINT16_MAX ? CW_BGP_AS_TRANS : (uint16_t)open->asn);
	cw_put_u16(&w, open->hold_s);
	cw_put_u32(&w, open->id);
	len_at = cw_writer_len(&w);
	cw_put_u8(&w, 0);
	cw_bgp_caps_write(&w, &open->caps, open->asn);
	/* All that we can say is shorter than 255 octets: no need for RFC 9072. */
	if (cw_writer_ok(&w))
		w.start[len_at] = (uint8_t)(cw_writer_len(&w) - len_at - 1);
	return cw_bgp_message_end(&w);
}

/* ---- NOTIFICATION ---- */

enum cw_rc cw_bgp_notification_decode(
	struct cw_span in, struct cw_bgp_notification *ret_notification, struct cw_bgp_err *reterr)
{
	struct cw_cursor c = cw_cursor_of(in);
	struct cw_bgp_notification notification = { .code = cw_get_u8(&c),
		.subcode = cw_get_u8(&c) };

	if (!cw_cursor_ok(&c))
		return cw_bgp_fail(reterr, CW_BGP_E_HEADER, CW_BGP_HEADER_BAD_LENGTH, 0, no_data,
			"shorter than a NOTIFICATION can be");
	notification.data = cw_get_span(&c, cw_cursor_left(&c));
	*ret_notification = notification;
	return CW_OK;
}

size_t cw_bgp_notification_encode(
	const struct cw_bgp_notification *notification, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);

	cw_bgp_header_put(&w, CW_BGP_NOTIFICATION);
	cw_put_u8(&w, notification->code);
	cw_put_u8(&w, notification->subcode);
	cw_put_bytes(&w, notification->data.p, notification->data.n);
	return cw_bgp_message_end(&w);
}

/* Octets of the well-formed UTF-8 character that text begins with, 0 where there is none (RFC 3629
 * 4); *ret_char is the character. */
static size_t utf8_char(struct cw_span text, uint32_t *ret_char)
{
	static const struct {
		uint8_t mask, head;
		uint32_t least;
	} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 } };

	for (size_t more = 0; more < sizeof(forms) / sizeof(forms[0]); more++) {
		uint32_t ch = text.p[0] & (uint8_t)~forms[more].mask;

		if ((text.p[0] & forms[more].mask) != forms[more].head)
			continue;
		if (more >= text.n)
			return 0;
		for (size_t i = 1; i <= more; i++) {
			if ((text.p[i] & 0xc0) != 0x80)
				return 0;
			ch = ch << 6 | (text.p[i] & 0x3f);
		}
		if (ch < forms[more].least || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000))
			return 0;
		*ret_char = ch;
		return more + 1;
	}
	return 0;
}

/* What a terminal shows as itself: no controls, nothing that turns the direction of writing. */
static bool is_printable(uint32_t ch)
{
	return ch >= 0x20 && ch != '\\' && !(ch >= 0x7f && ch < 0xa0) &&
	       !(ch >= 0x200b && ch <= 0x200f) && !(ch >= 0x2028 && ch <= 0x202e) &&
	       !(ch >= 0x2066 && ch <= 0x2069) && ch != 0xfeff;
}

bool cw_bgp_shutdown_text(const struct cw_bgp_notification *notification, char *buf, size_t size)
{
	struct cw_cursor c = cw_cursor_of(notification->data);
	uint8_t code = notification->code, subcode = notification->subcode;
	struct cw_span text;
	size_t at = 0, len;

	/* RFC 8538 3: a hard reset carries the NOTIFICATION that it stands for. */
	if (code == CW_BGP_E_CEASE && subcode == CW_BGP_CEASE_HARD_RESET) {
		code = cw_get_u8(&c);
		subcode = cw_get_u8(&c);
	}
	if (!size || code != CW_BGP_E_CEASE ||
		(subcode != CW_BGP_CEASE_SHUTDOWN && subcode != CW_BGP_CEASE_RESET))
		return false;
	len = cw_get_u8(&c);
	/* A length beyond the end: what is there is still worth reading (RFC 9003 4). */
	if (len > cw_cursor_left(&c))
		len = cw_cursor_left(&c);
	text = cw_get_span(&c, len);
	if (!text.n)
		return false;
	while (text.n) {
		uint32_t ch = 0;
		size_t n = utf8_char(text, &ch);

		if (n && is_printable(ch)) {
			if (at + n >= size)
				break;
			memcpy(buf + at, text.p, n);
			at += n;
		} else {
			n = n ? n : 1;
			if (at + 4 * n >= size)
				break;
			for (size_t i = 0; i < n; i++, at += 4)
				snprintf(buf + at, size - at, "\\x%02x", text.p[i]);
		}
		text.p += n;
		text.n -= n;
	}
	buf[at] = '\0';
	return true;
}

/* ---- ROUTE-REFRESH ---- */

#define REFRESH_LEN 4

enum cw_rc cw_bgp_refresh_decode(
	struct cw_span in, struct cw_bgp_refresh *ret_refresh, struct cw_bgp_err *reterr)
{
	struct cw_cursor c = cw_cursor_of(in);
	struct cw_bgp_refresh refresh = { 0 };

	refresh.afi = cw_get_u16(&c);
	refresh.kind = cw_get_u8(&c);
	refresh.safi = cw_get_u8(&c);
	refresh.family = cw_bgp_family_of(refresh.afi, refresh.safi);
	/* RFC 7313 5: BoRR and EoRR have exactly this length, and other kinds are ignored whatever
	 * theirs is. A request may be longer: with filters (RFC 5291) that we did not ask for. */
	if (!cw_cursor_ok(&c) ||
		((refresh.kind == CW_BGP_REFRESH_BEGIN || refresh.kind == CW_BGP_REFRESH_END) &&
			in.n != REFRESH_LEN))
		return cw_bgp_fail(reterr, CW_BGP_E_REFRESH, CW_BGP_REFRESH_BAD_LENGTH, 0, in,
			"a ROUTE-REFRESH of the wrong length");
	*ret_refresh = refresh;
	return CW_OK;
}

size_t cw_bgp_refresh_encode(enum cw_bgp_family family, uint8_t kind, uint8_t *buf, size_t size)
{
	struct cw_writer w = cw_writer_of(buf, size);

	cw_bgp_header_put(&w, CW_BGP_ROUTE_REFRESH);
	cw_put_u16(&w, cw_bgp_afi(family));
	cw_put_u8(&w, kind);
	cw_put_u8(&w, 1); /* unicast */
	return cw_bgp_message_end(&w);
}
