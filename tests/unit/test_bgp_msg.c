/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_msg: header, OPEN, NOTIFICATION, KEEPALIVE, ROUTE-REFRESH. Field cases are named by their number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#include "wire/bgp_msg.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- header ---- */

static const struct {
	const char *name, *hex;
	size_t max; /* 0: the usual */
	uint8_t code, subcode;
	const char *data; /* NULL: the message is good */
	size_t offset;
} headers[] = {
	{ "KEEPALIVE", "0013 04", .data = NULL },
	{ "least OPEN", "001D 01 04 FFEB 00B4 A9FE1502 00", .data = NULL },
	{ "least UPDATE", "0017 02 0000 0000", .data = NULL },
	{ "least NOTIFICATION", "0015 03 06 00", .data = NULL },
	{ "ROUTE-REFRESH", "0017 05 0001 00 01", .data = NULL },
	{ "BL-117: short ROUTE-REFRESH is for its own decoder", "0016 05 0001 00", .data = NULL },
	{ "BL-111: length before type", "0012 09", 0, 1, 2, "0012", 16 },
	{ "BL-111: type", "0013 09", 0, 1, 3, "09", 18 },
	{ "type 0", "0013 00", 0, 1, 3, "00", 18 },
	{ "BL-111: KEEPALIVE with a body", "0017 04 DEADBEEF", 0, 1, 2, "0017", 16 },
	{ "BL-111: OPEN of 24", "0018 01 04 FFEB 00B4", 0, 1, 2, "0018", 16 },
	{ "OPEN of 28", "001C 01 04 FFEB 00B4 A9FE1502", 0, 1, 2, "001C", 16 },
	{ "UPDATE of 22", "0016 02 000000", 0, 1, 2, "0016", 16 },
	{ "NOTIFICATION of 20", "0014 03 06", 0, 1, 2, "0014", 16 },
	{ "BL-111: length 4097", "1001 02", 0, 1, 2, "1001", 16 },
	{ "length 0", "0000 02", 0, 1, 2, "0000", 16 },
	{ "extended OPEN", "1001 01", 65535, 1, 2, "1001", 16 },
	{ "extended KEEPALIVE", "1001 04", 65535, 1, 2, "1001", 16 },
	{ "extended of no type", "1001 07", 65535, 1, 3, "07", 18 },
};

static void test_header(void **state)
{
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < COUNT(headers); i++) {
		struct cw_span in = message_of(headers[i].hex);
		enum cw_rc rc;

		/* Whole messages are told apart with the header alone where it is bad. */
		rc = cw_bgp_header_decode(
			in, headers[i].max ? headers[i].max : CW_BGP_MSG_MAX, &header, &err);
		if (!headers[i].data) {
			if (rc != CW_OK || header.type != in.p[18] || header.len != in.n)
				fail_msg("%s: refused", headers[i].name);
			for (size_t n = 0; n < in.n; n++)
				assert_int_equal(cw_bgp_header_decode(copy_of(in.p, n),
							 CW_BGP_MSG_MAX, &header, &err),
					CW_E_BUSY);
			continue;
		}
		if (rc != CW_E_PEER || err.code != headers[i].code ||
			err.subcode != headers[i].subcode || err.offset != headers[i].offset)
			fail_msg("%s: %d, %u/%u at %zu", headers[i].name, rc, err.code,
				err.subcode, err.offset);
		assert_bytes(err.data, headers[i].data);
		assert_non_null(err.why);
	}
}

static void test_header_marker(void **state)
{
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		uint8_t in[19];

		/* The marker counts before a length that is wrong, too. */
		memset(in, 0xff, sizeof(in));
		in[i] = 0;
		assert_int_equal(cw_bgp_header_decode(copy_of(in, sizeof(in)), CW_BGP_MSG_MAX,
					 &header, &err),
			CW_E_PEER);
		assert_int_equal(err.code, CW_BGP_E_HEADER);
		assert_int_equal(err.subcode, CW_BGP_HEADER_NOT_SYNCHRONIZED);
		assert_int_equal(err.offset, i);
		assert_int_equal(err.data.n, 0);
	}
}

/* RFC 8654: these types, and up to what was agreed on. */
static void test_header_extended(void **state)
{
	static uint8_t in[CW_BGP_MSG_EXTENDED_MAX];
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	(void)state;
	memset(in, 0xff, 18);
	for (unsigned type = 2; type <= 5; type++) {
		struct cw_span whole = { .p = in, .n = sizeof(in) };

		if (type == CW_BGP_KEEPALIVE)
			continue;
		in[18] = (uint8_t)type;
		assert_int_equal(cw_bgp_header_decode(whole, sizeof(in), &header, &err), CW_OK);
		assert_int_equal(header.len, 65535);
		whole.n--;
		assert_int_equal(
			cw_bgp_header_decode(whole, sizeof(in), &header, &err), CW_E_BUSY);
		assert_int_equal(
			cw_bgp_header_decode(whole, CW_BGP_MSG_MAX, &header, &err), CW_E_PEER);
	}
}

/* BL-111: many in one segment are told apart by their lengths alone. */
static void test_header_stream(void **state)
{
	static uint8_t stream[200 * 23];
	struct cw_span message = message_of("0017 02 0000 0000");
	struct cw_bgp_header header;
	struct cw_bgp_err err;
	size_t at, n = 0;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		memcpy(stream + i * message.n, message.p, message.n);
	for (at = 0; at < sizeof(stream); at += header.len, n++)
		assert_int_equal(cw_bgp_header_decode((struct cw_span){ .p = stream + at,
							     .n = sizeof(stream) - at },
					 CW_BGP_MSG_MAX, &header, &err),
			CW_OK);
	assert_int_equal(n, 200);
}

static void test_keepalive(void **state)
{
	uint8_t buf[19];

	(void)state;
	assert_int_equal(cw_bgp_keepalive_encode(buf, sizeof(buf)), 19);
	assert_bytes((struct cw_span){ .p = buf, .n = 19 },
		"FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF 0013 04");
	assert_int_equal(cw_bgp_keepalive_encode(buf, 18), 0);
}

/* ---- OPEN ---- */

#define V4 { true, false }
#define V46 { true, true }

static const struct {
	const char *name, *hex;
	struct cw_bgp_open want;
	const char *codes; /* of the capabilities */
} opens[] = {
	{ "BL-112: no parameters", "001D 01 04 FFEB 00B4 A9FE1502 00",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180 }, "" },
	{ "BL-112: one in each parameter",
		"002D 01 04 FFEB 00B4 A9FE1502 10 0206010400010001 020641040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .mp_any = true, .mp = V4, .as4 = true, .as4_value = 65515 } },
		"01 41" },
	{ "BL-112: all in one",
		"002D 01 04 FFEB 00B4 A9FE1502 10 020E010400010001020041040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .mp_any = true, .mp = V4, .refresh = true, .as4 = true,
				.as4_value = 65515 } },
		"01 02 41" },
	{ "BL-112: unknown capability 67",
		"0029 01 04 FFEB 00B4 A9FE1502 0C 020A4302010241040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 65515 } },
		"43 41" },
	{ "BL-112: graceful restart",
		"0029 01 04 FFEB 00B4 A9FE1502 0C 020A4002007841040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .gr = true, .gr_time_s = 120, .as4 = true, .as4_value = 65515 } },
		"40 41" },
	{ "BL-112: extended parameters",
		"0029 01 04 FFEB 00B4 A9FE1502 FF FF 0009 02 0006 41040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 65515 } },
		"41" },
	{ "RFC 9072 2: the short length is ignored then",
		"0029 01 04 FFEB 00B4 A9FE1502 01 FF 0009 02 0006 41040000FFEB",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 65515 } },
		"41" },
	{ "RFC 9072: extended, and none", "0020 01 04 FFEB 00B4 A9FE1502 FF FF 0000",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180 }, "" },
	{ "BL-102: a number of 4 octets", "0025 01 04 5BA0 00B4 A9FE1502 08 02064104FA56EA00",
		{ .as2 = 23456, .asn = 4200000000, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 4200000000 } },
		"41" },
	{ "BL-102: 23456 for a small one", "0025 01 04 5BA0 00B4 A9FE1502 08 020641040000FFEB",
		{ .as2 = 23456, .asn = 65515, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 65515 } },
		"41" },
	{ "BL-102: another number is for the session to judge",
		"0025 01 04 FDFC 00B4 A9FE1502 08 020641040000FDFC",
		{ .as2 = 65020, .asn = 65020, .hold_s = 180,
			.caps = { .as4 = true, .as4_value = 65020 } },
		"41" },
	{ "BL-114: hold 30", "001D 01 04 FFEB 001E A9FE1502 00",
		{ .as2 = 65515, .asn = 65515, .hold_s = 30 }, "" },
	{ "BL-114: hold 3", "001D 01 04 FFEB 0003 A9FE1502 00",
		{ .as2 = 65515, .asn = 65515, .hold_s = 3 }, "" },
	{ "BL-114: hold 0", "001D 01 04 FFEB 0000 A9FE1502 00",
		{ .as2 = 65515, .asn = 65515, .hold_s = 0 }, "" },
	{ "an empty Capabilities parameter", "001F 01 04 FFEB 00B4 A9FE1502 02 0200",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180 }, "" },
	{ "both families, and one that we lack",
		"0031 01 04 FFEB 00B4 A9FE1502 14 0212 010400010001 010400020001 010400190046",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .mp_any = true, .mp = V46 } },
		"01 01 01" },
	{ "a foreign family alone", "0025 01 04 FFEB 00B4 A9FE1502 08 0206 010400190046",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180, .caps = { .mp_any = true } }, "01" },
	{ "RFC 4760 8: the reserved octet is ignored",
		"0025 01 04 FFEB 00B4 A9FE1502 08 0206 01040001FF01",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .mp_any = true, .mp = V4 } },
		"01" },
	{ "refresh by its old number", "0021 01 04 FFEB 00B4 A9FE1502 04 0202 8000",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180, .caps = { .refresh = true } }, "80" },
	{ "extended next hop, extended message, enhanced refresh",
		"0039 01 04 FFEB 00B4 A9FE1502 1C 021A 0512 000100010002 000100800002 000200010001 0600 4600 4600",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .ext_next_hop = true, .ext_message = true,
				.enhanced_refresh = true } },
		"05 06 46 46" },
	{ "extended next hop for another family",
		"0027 01 04 FFEB 00B4 A9FE1502 0A 0208 0506 000100800002",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180 }, "05" },
	{ "role", "0022 01 04 FFEB 00B4 A9FE1502 05 0203 090103",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .role = true, .role_value = CW_BGP_ROLE_CUSTOMER } },
		"09" },
	{ "RFC 9234 4.1: the same role twice",
		"0025 01 04 FFEB 00B4 A9FE1502 08 0206 090104 090104",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .role = true, .role_value = CW_BGP_ROLE_PEER } },
		"09 09" },
	{ "RFC 9234 4.1: two roles", "0025 01 04 FFEB 00B4 A9FE1502 08 0206 090104 090100",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .role = true, .role_value = CW_BGP_ROLE_PROVIDER,
				.role_conflict = true } },
		"09 09" },
	{ "graceful restart, both families and flags",
		"002F 01 04 FFEB 00B4 A9FE1502 12 0210 400E CFFF 00010180 00020100 00194680",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180,
			.caps = { .gr = true, .gr_restarting = true, .gr_notification = true,
				.gr_time_s = 4095, .gr_family = V46, .gr_forwarding = V4 } },
		"40" },
	{ "RFC 4724 3: of two graceful restarts the last counts",
		"002B 01 04 FFEB 00B4 A9FE1502 0E 020C 4006807800020180 40020005",
		{ .as2 = 65515, .asn = 65515, .hold_s = 180, .caps = { .gr = true, .gr_time_s = 5 } },
		"40 40" },
};

static void test_open_good(void **state)
{
	struct cw_bgp_open open;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < COUNT(opens); i++) {
		struct cw_bgp_open want = opens[i].want;
		struct cw_bgp_caps caps;
		enum cw_rc rc;

		rc = cw_bgp_open_decode(body_of(opens[i].hex), &open, &err);
		if (rc != CW_OK)
			fail_msg("%s: %u/%u %s", opens[i].name, err.code, err.subcode, err.why);
		assert_int_equal(open.version, 4);
		assert_int_equal(open.id, 0xa9fe1502);
		if (open.as2 != want.as2 || open.asn != want.asn || open.hold_s != want.hold_s)
			fail_msg("%s: AS %u, %u, hold %u", opens[i].name, open.as2, open.asn,
				open.hold_s);
		assert_bytes((struct cw_span){ .p = open.caps.codes, .n = open.caps.n_codes },
			opens[i].codes);
		caps = open.caps;
		memset(caps.codes, 0, sizeof(caps.codes));
		caps.n_codes = 0;
		if (memcmp(&caps, &want.caps, sizeof(caps)) != 0)
			fail_msg("%s: other capabilities", opens[i].name);
	}
}

static const struct {
	const char *name, *hex;
	uint8_t subcode;
	size_t offset; /* in the body */
	const char *data;
} bad_opens[] = {
	{ "BL-095: AS 0 in both", "0025 01 04 0000 00B4 A9FE1502 08 0206410400000000", 2, 1, "" },
	{ "AS 0 in the header alone", "0025 01 04 0000 00B4 A9FE1502 08 020641040000FFEB", 2, 1, "" },
	{ "AS 0 in the capability alone", "0025 01 04 FFEB 00B4 A9FE1502 08 0206410400000000", 2, 1, "" },
	{ "version 3", "001D 01 03 FFEB 00B4 A9FE1502 00", 1, 0, "0004" },
	{ "version counts first", "001D 01 05 0000 0001 00000000 07", 1, 0, "0004" },
	{ "identifier 0.0.0.0", "001D 01 04 FFEB 00B4 00000000 00", 3, 5, "" },
	{ "BL-114: hold 1", "001D 01 04 FFEB 0001 A9FE1502 00", 6, 3, "0001" },
	{ "BL-114: hold 2", "001D 01 04 FFEB 0002 A9FE1502 00", 6, 3, "0002" },
	{ "parameters shorter than said", "001F 01 04 FFEB 00B4 A9FE1502 03 0200", 0, 10, "" },
	{ "parameters longer than said", "001F 01 04 FFEB 00B4 A9FE1502 01 0200", 0, 10, "" },
	{ "a parameter without its length", "001E 01 04 FFEB 00B4 A9FE1502 01 02", 0, 10, "" },
	{ "a parameter that runs out", "001F 01 04 FFEB 00B4 A9FE1502 02 0201", 0, 10, "" },
	{ "a parameter of type 1", "0020 01 04 FFEB 00B4 A9FE1502 03 010100", 4, 10, "" },
	{ "an unknown parameter behind a good one",
		"0029 01 04 FFEB 00B4 A9FE1502 0C 020641040000FFEB 03024100", 4, 18, "" },
	{ "RFC 9072: extended length that runs out",
		"0029 01 04 FFEB 00B4 A9FE1502 FF FF 000A 02 0006 41040000FFEB", 0, 13, "" },
	{ "RFC 9072: extended length cut off", "001F 01 04 FFEB 00B4 A9FE1502 FF FF 00", 0, 11, "" },
	{ "RFC 9072: type 255 is no parameter",
		"0023 01 04 FFEB 00B4 A9FE1502 FF FF 0003 FF 0000", 4, 13, "" },
	{ "a capability without its length", "0020 01 04 FFEB 00B4 A9FE1502 03 0201 41", 0, 12, "41" },
	{ "a capability that runs out", "0024 01 04 FFEB 00B4 A9FE1502 07 0205 41040000FF", 0, 12, "41040000FF" },
	{ "an unknown capability that runs out", "0021 01 04 FFEB 00B4 A9FE1502 04 0202 6301", 0, 12, "6301" },
	{ "capability 1 of 3", "0024 01 04 FFEB 00B4 A9FE1502 07 0205 0103000100", 0, 12, "0103000100" },
	{ "capability 1 of 5", "0026 01 04 FFEB 00B4 A9FE1502 09 0207 01050001000100", 0, 12, "01050001000100" },
	{ "capability 2 of 1", "0022 01 04 FFEB 00B4 A9FE1502 05 0203 020100", 0, 12, "020100" },
	{ "capability 5 of 5", "0026 01 04 FFEB 00B4 A9FE1502 09 0207 05050001000100", 0, 12, "05050001000100" },
	{ "capability 6 of 1", "0022 01 04 FFEB 00B4 A9FE1502 05 0203 060100", 0, 12, "060100" },
	{ "capability 9 of 0", "0021 01 04 FFEB 00B4 A9FE1502 04 0202 0900", 0, 12, "0900" },
	{ "capability 9 of 2", "0023 01 04 FFEB 00B4 A9FE1502 06 0204 09020300", 0, 12, "09020300" },
	{ "capability 64 of 1", "0022 01 04 FFEB 00B4 A9FE1502 05 0203 400100", 0, 12, "400100" },
	{ "capability 64 of 5", "0026 01 04 FFEB 00B4 A9FE1502 09 0207 40050078000101", 0, 12, "40050078000101" },
	{ "capability 65 of 2", "0023 01 04 FFEB 00B4 A9FE1502 06 0204 4102FFEB", 0, 12, "4102FFEB" },
	{ "capability 65 of 5", "0026 01 04 FFEB 00B4 A9FE1502 09 0207 41050000FFEB00", 0, 12, "41050000FFEB00" },
	{ "capability 70 of 1", "0022 01 04 FFEB 00B4 A9FE1502 05 0203 460100", 0, 12, "460100" },
};

static void test_open_bad(void **state)
{
	struct cw_bgp_open open;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < COUNT(bad_opens); i++) {
		enum cw_rc rc = cw_bgp_open_decode(body_of(bad_opens[i].hex), &open, &err);

		if (rc != CW_E_PEER || err.code != CW_BGP_E_OPEN ||
			err.subcode != bad_opens[i].subcode || err.offset != bad_opens[i].offset)
			fail_msg("%s: %d, %u/%u at %zu: %s", bad_opens[i].name, rc, err.code,
				err.subcode, err.offset, rc == CW_E_PEER ? err.why : "taken");
		assert_bytes(err.data, bad_opens[i].data);
	}
}

/* Every truncation of a body is refused, or is an OPEN of its own; never read behind. */
static void test_open_cut(void **state)
{
	struct cw_bgp_open open;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < COUNT(opens); i++) {
		struct cw_span body = body_of(opens[i].hex);

		for (size_t n = 0; n < body.n; n++)
			assert_int_equal(
				cw_bgp_open_decode(copy_of(body.p, n), &open, &err), CW_E_PEER);
		bytes_free(NULL);
	}
}

/* More codes than there is room for, and a parameter full of them. */
static void test_open_many(void **state)
{
	uint8_t body[10 + 2 + 252] = { 4, 0xff, 0xeb, 0, 180, 10, 0, 0, 1, 254, 2, 252 };
	struct cw_bgp_open open;
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < 126; i++)
		body[12 + 2 * i] = (uint8_t)(i < 40 ? 200 : 2);
	assert_int_equal(cw_bgp_open_decode(copy_of(body, sizeof(body)), &open, &err), CW_OK);
	assert_int_equal(open.caps.n_codes, 126);
	assert_true(open.caps.refresh);
	for (size_t i = 0; i < CW_BGP_CAP_CODES_MAX; i++)
		assert_int_equal(open.caps.codes[i], 200);
}

static void assert_open(const struct cw_bgp_open *open, const char *hex)
{
	uint8_t buf[256];
	struct cw_bgp_open again;
	struct cw_bgp_err err;
	size_t n = cw_bgp_open_encode(open, buf, sizeof(buf));
	struct cw_bgp_caps caps;

	assert_bytes((struct cw_span){ .p = buf + 16, .n = n - 16 }, hex);
	for (size_t size = 0; size < n; size++)
		assert_int_equal(cw_bgp_open_encode(open, buf, size), 0);
	assert_int_equal(cw_bgp_open_encode(open, buf, n), n);
	assert_int_equal(cw_bgp_open_decode(copy_of(buf + 19, n - 19), &again, &err), CW_OK);
	assert_int_equal(again.asn, open->asn);
	assert_int_equal(again.hold_s, open->hold_s);
	assert_int_equal(again.id, open->id);
	caps = again.caps;
	memset(caps.codes, 0, sizeof(caps.codes));
	caps.n_codes = 0;
	caps.as4_value = open->caps.as4_value;
	assert_memory_equal(&caps, &open->caps, sizeof(caps));
}

static void test_open_encode(void **state)
{
	const struct cw_bgp_open bare = { .asn = 65010, .hold_s = 90, .id = 0x0a0a0001 };
	const struct cw_bgp_open full = { .asn = 4200000000,
		.hold_s = 180,
		.id = 0x0a0a0001,
		.caps = { .mp_any = true,
			.mp = V46,
			.refresh = true,
			.ext_next_hop = true,
			.ext_message = true,
			.role = true,
			.role_value = CW_BGP_ROLE_PEER,
			.gr = true,
			.gr_restarting = true,
			.gr_notification = true,
			.gr_time_s = 120,
			.gr_family = V46,
			.gr_forwarding = { false, true },
			.as4 = true,
			.enhanced_refresh = true } };

	(void)state;
	assert_open(&bare, "001D 01 04 FDF2 005A 0A0A0001 00");
	assert_open(&full,
		"005E 01 04 5BA0 00B4 0A0A0001 41 0206010400010001 0206010400020001 02020200"
		"02080506000100010002 02020600 0203090104 020C400AC0780001010000020180"
		"02064104FA56EA00 02024600");
}

/* ---- NOTIFICATION ---- */

static void test_notification(void **state)
{
	struct cw_bgp_notification notification;
	struct cw_bgp_err err;
	uint8_t buf[64];
	size_t n;

	(void)state;
	assert_int_equal(cw_bgp_notification_decode(body_of("0018 03 02 06 000102"), &notification, &err),
		CW_OK);
	assert_int_equal(notification.code, CW_BGP_E_OPEN);
	assert_int_equal(notification.subcode, CW_BGP_OPEN_BAD_HOLD);
	assert_bytes(notification.data, "000102");
	n = cw_bgp_notification_encode(&notification, buf, sizeof(buf));
	assert_bytes((struct cw_span){ .p = buf + 16, .n = n - 16 }, "0018 03 02 06 000102");
	assert_int_equal(cw_bgp_notification_encode(&notification, buf, n - 1), 0);

	notification = (struct cw_bgp_notification){ .code = CW_BGP_E_HOLD };
	n = cw_bgp_notification_encode(&notification, buf, sizeof(buf));
	assert_bytes((struct cw_span){ .p = buf + 16, .n = n - 16 }, "0015 03 04 00");
	/* Of any code; nobody answers a bad one. */
	assert_int_equal(cw_bgp_notification_decode(bytes_of("FFFF"), &notification, &err), CW_OK);
	assert_int_equal(notification.data.n, 0);
	assert_int_equal(cw_bgp_notification_decode(bytes_of("06"), &notification, &err), CW_E_PEER);
	assert_int_equal(err.subcode, CW_BGP_HEADER_BAD_LENGTH);
}

static const struct {
	const char *name;
	uint8_t code, subcode;
	const char *data;
	size_t size;
	const char *want; /* NULL: there is none */
} texts[] = {
	{ "shutdown", 6, 2, "05 68656C6C6F", 64, "hello" },
	{ "reset", 6, 4, "02 6F6B", 64, "ok" },
	{ "another Cease", 6, 3, "02 6F6B", 64, NULL },
	{ "another code", 4, 2, "02 6F6B", 64, NULL },
	{ "no data", 6, 2, "", 64, NULL },
	{ "length 0", 6, 2, "00", 64, NULL },
	{ "UTF-8", 6, 2, "06 C3BC E282AC 21", 64, "\xc3\xbc\xe2\x82\xac!" },
	{ "four octets", 6, 2, "04 F09F9880", 64, "\xf0\x9f\x98\x80" },
	{ "controls", 6, 2, "03 1B 5B 0A", 64, "\\x1b[\\x0a" },
	{ "DEL and C1", 6, 2, "03 7F C29B", 64, "\\x7f\\xc2\\x9b" },
	{ "backslash", 6, 2, "04 5C783431", 64, "\\x5cx41" },
	{ "right-to-left override", 6, 2, "03 E280AE", 64, "\\xe2\\x80\\xae" },
	{ "overlong", 6, 2, "02 C0AF", 64, "\\xc0\\xaf" },
	{ "surrogate", 6, 2, "03 EDA080", 64, "\\xed\\xa0\\x80" },
	{ "beyond Unicode", 6, 2, "04 F4908080", 64, "\\xf4\\x90\\x80\\x80" },
	{ "cut UTF-8", 6, 2, "02 41C3", 64, "A\\xc3" },
	{ "length beyond the end", 6, 2, "09 4142", 64, "AB" },
	{ "more than the length", 6, 2, "01 4142", 64, "A" },
	{ "hard reset with a shutdown", 6, 9, "06 02 02 6F6B", 64, "ok" },
	{ "hard reset of another kind", 6, 9, "04 00 02 6F6B", 64, NULL },
	{ "hard reset in a hard reset", 6, 9, "06 09 06 02 02 6F6B", 64, NULL },
	{ "bare hard reset", 6, 9, "", 64, NULL },
	{ "cut between characters", 6, 2, "05 41C3BC4243", 3, "A" },
	{ "cut before an escape", 6, 2, "02 411B", 5, "A" },
	{ "an escape that just fits", 6, 2, "02 411B", 6, "A\\x1b" },
	{ "no room", 6, 2, "02 411B", 0, NULL },
};

static void test_shutdown_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		const struct cw_bgp_notification notification = { .code = texts[i].code,
			.subcode = texts[i].subcode,
			.data = bytes_of(texts[i].data) };
		char buf[64];
		bool have = cw_bgp_shutdown_text(&notification, buf, texts[i].size);

		if (have != (texts[i].want != NULL) ||
			(have && strcmp(buf, texts[i].want) != 0))
			fail_msg("%s: \"%s\"", texts[i].name, have ? buf : "(none)");
	}
}

/* ---- ROUTE-REFRESH ---- */

static const struct {
	const char *hex;
	enum cw_rc rc;
	enum cw_bgp_family family;
	uint8_t kind;
} refreshes[] = {
	{ "0017 05 0001 00 01", CW_OK, CW_BGP_IPV4, CW_BGP_REFRESH_REQUEST }, /* BL-117 */
	{ "0017 05 0001 02 01", CW_OK, CW_BGP_IPV4, CW_BGP_REFRESH_END },	    /* BL-117 */
	{ "0017 05 0002 01 01", CW_OK, CW_BGP_IPV6, CW_BGP_REFRESH_BEGIN },
	{ "0017 05 0019 00 46", CW_OK, CW_BGP_FAMILIES, CW_BGP_REFRESH_REQUEST },
	{ "0017 05 0001 00 02", CW_OK, CW_BGP_FAMILIES, CW_BGP_REFRESH_REQUEST },
	{ "0017 05 0001 09 01", CW_OK, CW_BGP_IPV4, 9 },
	{ "001C 05 0001 09 01 0102030405", CW_OK, CW_BGP_IPV4, 9 },
	{ "001C 05 0001 00 01 0140000104", CW_OK, CW_BGP_IPV4, CW_BGP_REFRESH_REQUEST },
	{ "0016 05 0001 00", CW_E_PEER, 0, 0 }, /* BL-117 */
	{ "0013 05", CW_E_PEER, 0, 0 },
	{ "0018 05 0001 01 01 00", CW_E_PEER, 0, 0 },
	{ "0018 05 0001 02 01 00", CW_E_PEER, 0, 0 },
};

static void test_refresh(void **state)
{
	struct cw_bgp_refresh refresh;
	struct cw_bgp_err err;
	uint8_t buf[23];

	(void)state;
	for (size_t i = 0; i < COUNT(refreshes); i++) {
		struct cw_span body = body_of(refreshes[i].hex);

		if (cw_bgp_refresh_decode(body, &refresh, &err) != refreshes[i].rc)
			fail_msg("%s", refreshes[i].hex);
		if (refreshes[i].rc == CW_OK) {
			assert_int_equal(refresh.family, refreshes[i].family);
			assert_int_equal(refresh.kind, refreshes[i].kind);
		} else {
			assert_int_equal(err.code, CW_BGP_E_REFRESH);
			assert_int_equal(err.subcode, CW_BGP_REFRESH_BAD_LENGTH);
			assert_ptr_equal(err.data.p, body.p);
			assert_int_equal(err.data.n, body.n);
		}
	}
	assert_int_equal(
		cw_bgp_refresh_encode(CW_BGP_IPV6, CW_BGP_REFRESH_BEGIN, buf, sizeof(buf)), 23);
	assert_bytes((struct cw_span){ .p = buf + 16, .n = 7 }, "0017 05 0002 01 01");
	assert_int_equal(cw_bgp_refresh_encode(CW_BGP_IPV4, 0, buf, sizeof(buf) - 1), 0);
}

/* ---- names ---- */

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(cw_bgp_type_name(CW_BGP_ROUTE_REFRESH), "ROUTE-REFRESH");
	assert_string_equal(cw_bgp_type_name(0), "unknown");
	assert_string_equal(cw_bgp_type_name(255), "unknown");
	assert_string_equal(cw_bgp_error_name(CW_BGP_E_SEND_HOLD), "Send Hold Timer Expired");
	assert_string_equal(cw_bgp_error_name(0), "unknown");
	assert_string_equal(cw_bgp_error_name(9), "unknown");
	assert_string_equal(
		cw_bgp_suberror_name(CW_BGP_E_CEASE, CW_BGP_CEASE_HARD_RESET), "Hard Reset");
	assert_string_equal(cw_bgp_suberror_name(CW_BGP_E_OPEN, 8), "unknown");
	assert_string_equal(cw_bgp_suberror_name(CW_BGP_E_OPEN, 12), "unknown");
	assert_string_equal(cw_bgp_suberror_name(0, 0), "unknown");
	for (unsigned code = 0; code < 256; code++)
		for (unsigned subcode = 0; subcode < 256; subcode++)
			assert_non_null(cw_bgp_suberror_name((uint8_t)code, (uint8_t)subcode));
	assert_int_equal(cw_bgp_afi(CW_BGP_IPV6), 2);
	assert_int_equal(cw_bgp_family_of(1, 1), CW_BGP_IPV4);
	assert_int_equal(cw_bgp_family_of(1, 2), CW_BGP_FAMILIES);
	assert_string_equal(cw_bgp_family_name(CW_BGP_IPV4), "ipv4");
	assert_string_equal(cw_bgp_family_name(CW_BGP_FAMILIES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_header, bytes_free),
		cmocka_unit_test_teardown(test_header_marker, bytes_free),
		cmocka_unit_test_teardown(test_header_extended, bytes_free),
		cmocka_unit_test_teardown(test_header_stream, bytes_free),
		cmocka_unit_test_teardown(test_keepalive, bytes_free),
		cmocka_unit_test_teardown(test_open_good, bytes_free),
		cmocka_unit_test_teardown(test_open_bad, bytes_free),
		cmocka_unit_test_teardown(test_open_cut, bytes_free),
		cmocka_unit_test_teardown(test_open_many, bytes_free),
		cmocka_unit_test_teardown(test_open_encode, bytes_free),
		cmocka_unit_test_teardown(test_notification, bytes_free),
		cmocka_unit_test_teardown(test_shutdown_text, bytes_free),
		cmocka_unit_test_teardown(test_refresh, bytes_free),
		cmocka_unit_test_teardown(test_names, bytes_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
