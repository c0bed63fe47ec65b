/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a stream of BGP messages: each goes to its decoder, as the header says; what is read, encoded
 * and read again is the same. UPDATE has a target of its own.
 */
#include "fuzz.h"

#include "wire/bgp_msg.h"

static uint8_t out[CW_BGP_MSG_EXTENDED_MAX];

static struct cw_span body_of(const uint8_t *message, size_t n)
{
	return (struct cw_span){ .p = message + CW_BGP_HEADER_LEN, .n = n - CW_BGP_HEADER_LEN };
}

/* What the encoder wrote is one whole message of this type. */
static struct cw_span written(size_t n, uint8_t type)
{
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	must(n && n <= sizeof(out), "%s: %zu octets", cw_bgp_type_name(type), n);
	must(cw_bgp_header_decode((struct cw_span){ .p = out, .n = n }, sizeof(out), &header, &err) == CW_OK,
	     "%s: a header that is refused: %s", cw_bgp_type_name(type), err.why);
	must(header.len == n && header.type == type, "%s: another header", cw_bgp_type_name(type));
	return body_of(out, n);
}

static void check_err(const struct cw_bgp_err *err, struct cw_span in)
{
	must(err->why && err->offset <= in.n, "an error at %zu of %zu", err->offset, in.n);
	must(strcmp(cw_bgp_error_name(err->code), "unknown") != 0, "error %u", err->code);
	must(strcmp(cw_bgp_suberror_name(err->code, err->subcode), "unknown") != 0, "error %u/%u", err->code,
	     err->subcode);
}

static void try_open(struct cw_span in)
{
	struct cw_bgp_open open, again;
	struct cw_bgp_err err;

	if (cw_bgp_open_decode(in, &open, &err) != CW_OK) {
		check_err(&err, in);
		return;
	}
	must(open.asn && open.id && (!open.hold_s || open.hold_s >= 3), "an OPEN that no peer may send");
	must(cw_bgp_open_decode(written(cw_bgp_open_encode(&open, out, sizeof(out)), CW_BGP_OPEN), &again, &err) ==
		     CW_OK, "a written OPEN is refused: %s", err.why);
	/* Ours says each thing once, and none that we don't know. */
	open.as2 = again.as2;
	open.caps.role_conflict = false;
	open.caps.n_codes = again.caps.n_codes;
	memcpy(open.caps.codes, again.caps.codes, sizeof(open.caps.codes));
	if (!open.caps.mp[CW_BGP_IPV4] && !open.caps.mp[CW_BGP_IPV6])
		open.caps.mp_any = false;
	for (unsigned i = 0; i < CW_BGP_FAMILIES; i++)
		open.caps.gr_forwarding[i] &= open.caps.gr_family[i];
	must(memcmp(&open.caps, &again.caps, sizeof(open.caps)) == 0, "other capabilities come back");
	must(open.asn == again.asn && open.hold_s == again.hold_s && open.id == again.id, "another OPEN comes back");
}

static void try_notification(struct cw_span in)
{
	struct cw_bgp_notification notification, again;
	struct cw_bgp_err err;
	char text[256];

	if (cw_bgp_notification_decode(in, &notification, &err) != CW_OK) {
		check_err(&err, in);
		return;
	}
	for (size_t size = 1; size <= sizeof(text); size += size > 16 ? 40 : 1)
		if (cw_bgp_shutdown_text(&notification, text, size))
			must(strlen(text) < size && is_plain(text, ""), "a text that is not plain");
	must(cw_bgp_suberror_name(notification.code, notification.subcode), "no name");
	must(cw_bgp_notification_decode(
		     written(cw_bgp_notification_encode(&notification, out, sizeof(out)), CW_BGP_NOTIFICATION), &again,
		     &err) == CW_OK, "a written NOTIFICATION is refused");
	must(again.code == notification.code && again.subcode == notification.subcode &&
	     again.data.n == notification.data.n &&
	     (!again.data.n || memcmp(again.data.p, notification.data.p, again.data.n) == 0),
	     "another NOTIFICATION comes back");
}

static void try_refresh(struct cw_span in)
{
	struct cw_bgp_refresh refresh, again;
	struct cw_bgp_err err;

	if (cw_bgp_refresh_decode(in, &refresh, &err) != CW_OK) {
		check_err(&err, in);
		return;
	}
	if (refresh.family == CW_BGP_FAMILIES)
		return;
	must(cw_bgp_refresh_decode(
		     written(cw_bgp_refresh_encode(refresh.family, refresh.kind, out, sizeof(out)), CW_BGP_ROUTE_REFRESH),
		     &again, &err) == CW_OK && again.family == refresh.family && again.kind == refresh.kind,
	     "another ROUTE-REFRESH comes back");
}

/* In a block of exactly its size, so that an octet read behind it is seen. */
static void try_body(uint8_t type, struct cw_span in)
{
	uint8_t *block = malloc(in.n ? in.n : 1);

	must(block, "no memory");
	memcpy(block, in.p, in.n);
	in.p = block;
	switch ((enum cw_bgp_type)type) {
	case CW_BGP_OPEN:
		try_open(in);
		break;
	case CW_BGP_NOTIFICATION:
		try_notification(in);
		break;
	case CW_BGP_ROUTE_REFRESH:
		try_refresh(in);
		break;
	case CW_BGP_UPDATE:
	case CW_BGP_KEEPALIVE:
		break;
	}
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cw_span in = { .p = data, .n = size };

	while (in.n) {
		struct cw_bgp_header header;
		struct cw_bgp_err err;
		enum cw_rc rc = cw_bgp_header_decode(in, CW_BGP_MSG_EXTENDED_MAX, &header, &err);

		if (rc == CW_E_PEER) {
			check_err(&err, in);
			/* The rest as the body of every type: few inputs have a good header by chance. */
			for (uint8_t type = CW_BGP_OPEN; type <= CW_BGP_ROUTE_REFRESH; type++)
				try_body(type, in);
		}
		if (rc != CW_OK)
			break;
		must(header.len >= CW_BGP_HEADER_LEN && header.len <= in.n, "a message of %u octets", header.len);
		try_body(header.type, body_of(in.p, header.len));
		in.p += header.len;
		in.n -= header.len;
	}
	return 0;
}
