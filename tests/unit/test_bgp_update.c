/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_update, decoding: the field cases by their numbers and bytes, framing, families, and what the session is
 * told. The rows of RFC 7606 are in test_bgp_attr.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct cw_bgp_update update;

enum session { FULL, TWO_OCTETS, IPV4_ONLY, IPV6_ONLY, EXT_NEXT_HOP };

static struct cw_bgp_codec session_of(enum session session)
{
	struct cw_bgp_codec codec = session_full;

	if (session == TWO_OCTETS)
		codec.as4 = false;
	if (session == IPV4_ONLY)
		codec.family[CW_BGP_IPV6] = false;
	if (session == IPV6_ONLY)
		codec.family[CW_BGP_IPV4] = false;
	codec.ext_next_hop = session == EXT_NEXT_HOP;
	return codec;
}

static const struct {
	const char *name, *hex;
	enum session session;
	enum cw_bgp_verdict verdict;
	uint8_t type, subcode; /* of the first fault with this verdict */
	const char *nlri, *nlri6, *path;
	const char *data; /* of the NOTIFICATION */
} cases[] = {
	{ "BL-095: AS 0 in the path",
		"0037 02 0000 001C 40010100 40020E02030000FFEB0000FDFC00000000 400304A9FE1502 18C00002",
		FULL, CW_BGP_WITHDRAW, 2, 11, "192.0.2.0/24", "", "", NULL },
	{ "BL-095: AGGREGATOR with AS 0",
		"003A 02 0000 001F 40010100 40020602010000FFEB 400304A9FE1502 C0070800000000C0000201 18C00002",
		FULL, CW_BGP_DISCARD, 7, 9, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-097: ORIGIN of 32 octets, no routes", "001B 02 0000 0004 40012000", FULL,
		CW_BGP_RESET, 1, 1, "", "", "", "" },
	{ "BL-097: ORIGIN of no value, no routes", "001B 02 0000 0004 40010107", FULL,
		CW_BGP_RESET, 1, 6, "", "", "", "40010107" },
	{ "BL-097: only an attribute to discard, no routes", "001A 02 0000 0003 400600", FULL,
		CW_BGP_ACCEPT, 0, 0, "", "", "", NULL },
	{ "BL-097: a fault to discard, no routes", "001B 02 0000 0004 40060100", FULL,
		CW_BGP_DISCARD, 6, 5, "", "", "", NULL },
	{ "LOCAL_PREF from outside, beside withdrawn routes",
		"0021 02 0004 18C00002 0006 400503000000 ", FULL, CW_BGP_DISCARD, 5, 9, "", "", "", NULL },
	{ "BL-099: unknown attribute 255",
		"0036 02 0000 001B 40010100 40020602010000FFEB 400304A9FE1502 C0FF04DEADBEEF 18C00002",
		FULL, CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-099: prefix SID that runs out inside",
		"0036 02 0000 001B 40010100 40020602010000FFEB 400304A9FE1502 C0280401000700 18C00002",
		FULL, CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-099: tunnel encapsulation of 3 octets",
		"0035 02 0000 001A 40010100 40020602010000FFEB 400304A9FE1502 C01703000BFF 18C00002",
		FULL, CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-099: OTC of 3 octets",
		"0035 02 0000 001A 40010100 40020602010000FFEB 400304A9FE1502 C0230300FFEB 18C00002",
		FULL, CW_BGP_WITHDRAW, 35, 5, "192.0.2.0/24", "", "", NULL },
	{ "BL-100: AGGREGATOR of 6 octets with 4-octet numbers",
		"0038 02 0000 001D 40010100 40020602010000FFEB 400304A9FE1502 C00706FFEBC0000201 18C00002",
		FULL, CW_BGP_DISCARD, 7, 5, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-100: AGGREGATOR of 8 octets with 2-octet numbers",
		"0038 02 0000 001D 40010100 4002040201FFEB 400304A9FE1502 C007080000FFEBC0000201 18C00002",
		TWO_OCTETS, CW_BGP_DISCARD, 7, 5, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-100: AGGREGATOR of 6 octets with 2-octet numbers",
		"0036 02 0000 001B 40010100 4002040201FFEB 400304A9FE1502 C00706FFEBC0000201 18C00002",
		TWO_OCTETS, CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-104: COMMUNITIES of 0",
		"0032 02 0000 0017 40010100 40020602010000FFEB 400304A9FE1502 C00800 18C00002",
		FULL, CW_BGP_WITHDRAW, 8, 5, "192.0.2.0/24", "", "", NULL },
	{ "BL-104: COMMUNITIES of 3",
		"0035 02 0000 001A 40010100 40020602010000FFEB 400304A9FE1502 C00803FFEB00 18C00002",
		FULL, CW_BGP_WITHDRAW, 8, 5, "192.0.2.0/24", "", "", NULL },
	{ "BL-104: LARGE_COMMUNITY of 0",
		"0032 02 0000 0017 40010100 40020602010000FFEB 400304A9FE1502 C02000 18C00002",
		FULL, CW_BGP_WITHDRAW, 32, 5, "192.0.2.0/24", "", "", NULL },
	{ "BL-105: NEXT_HOP of 3 octets",
		"002E 02 0000 0013 40010100 40020602010000FFEB 400303A9FE15 18C00002", FULL,
		CW_BGP_WITHDRAW, 3, 5, "192.0.2.0/24", "", "", NULL },
	{ "BL-105: what NEXT_HOP says is for policy",
		"002F 02 0000 0014 40010100 40020602010000FFEB 40030400000000 18C00002", FULL,
		CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-106: MP_REACH alone",
		"0043 02 0000 002C 40010100 40020602010000FFEB 800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001",
		FULL, CW_BGP_ACCEPT, 0, 0, "", "2001:db8:1::/48", "65515", NULL },
	{ "BL-106: MP_REACH beside a NEXT_HOP",
		"004A 02 0000 0033 40010100 40020602010000FFEB 40030400000000 800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001",
		FULL, CW_BGP_ACCEPT, 0, 0, "", "2001:db8:1::/48", "65515", NULL },
	{ "BL-106: a family that is not agreed",
		"0043 02 0000 002C 40010100 40020602010000FFEB 800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001",
		IPV4_ONLY, CW_BGP_ACCEPT, 0, 0, "", "", "", NULL },
	{ "BL-106: next hop of 32 octets",
		"0053 02 0000 003C 40010100 40020602010000FFEB 800E2C0002012020010DB8FFFF00000000000000000001FE80000000000000000000000000000100 3020010DB80001",
		FULL, CW_BGP_ACCEPT, 0, 0, "", "2001:db8:1::/48", "65515", NULL },
	{ "BL-106: next hop of 0 octets",
		"0033 02 0000 001C 40010100 40020602010000FFEB 800E0C00020100003020010DB80001", FULL,
		CW_BGP_RESET, 14, 9, "", "", "", "800E0C00020100003020010DB80001" },
	{ "BL-106: next hop of 24 octets",
		"004B 02 0000 0034 40010100 40020602010000FFEB 800E2400020118 000000000000000020010DB8FFFF00000000000000000001 00 3020010DB80001",
		FULL, CW_BGP_RESET, 14, 9, "", "", "",
		"800E2400020118 000000000000000020010DB8FFFF00000000000000000001 00 3020010DB80001" },
	{ "BL-106: such a next hop in a family that is not agreed",
		"0033 02 0000 001C 40010100 40020602010000FFEB 800E0C00020100003020010DB80001",
		IPV4_ONLY, CW_BGP_ACCEPT, 0, 0, "", "", "", NULL },
	{ "BL-108: withdrawn and announced",
		"0033 02 0004 18C00002 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002",
		FULL, CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "BL-110: length 33",
		"0031 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 21C000020100", FULL,
		CW_BGP_RESET, 0, 10, "", "", "", "" },
	{ "BL-110: cut off",
		"002E 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C000", FULL,
		CW_BGP_RESET, 0, 10, "", "", "", "" },
	{ "BL-110: /0", "002C 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 00", FULL,
		CW_BGP_ACCEPT, 0, 0, "0.0.0.0/0", "", "65515", NULL },
	{ "BL-110: host bits",
		"002E 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 0F0A15", FULL,
		CW_BGP_ACCEPT, 0, 0, "10.20.0.0/15", "", "65515", NULL },
	{ "BL-110: withdrawn, length 33", "001D 02 0006 21C000020100 0000", FULL, CW_BGP_RESET, 0,
		10, "", "", "", "" },
	{ "BL-110: withdrawn, cut off", "001A 02 0003 18C000 0000", FULL, CW_BGP_RESET, 0, 10, "",
		"", "", "" },
	{ "BL-110: IPv6, length 129",
		"0048 02 0000 0031 40010100 40020602010000FFEB 800E210002011020010DB8FFFF000000000000000000010081 20010DB800010000000000",
		FULL, CW_BGP_RESET, 14, 9, "", "", "",
		"800E210002011020010DB8FFFF000000000000000000010081 20010DB800010000000000" },
	{ "BL-110: IPv6 withdrawn, cut off", "0021 02 0000 000A 800F07000201 3020010D", FULL,
		CW_BGP_RESET, 15, 9, "", "", "", "800F07000201 3020010D" },
	{ "BL-119: own AS in the path is for policy",
		"0033 02 0000 0018 40010100 40020A02020000FFEB0000FDF2 400304A9FE1502 18C00002", FULL,
		CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515 65010", NULL },
	{ "BL-119: so is another first AS",
		"002F 02 0000 0014 40010100 40020602010000FDFC 400304A9FE1502 18C00002", FULL,
		CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65020", NULL },
	{ "withdrawn routes longer than the message", "0017 02 0001 0000", FULL, CW_BGP_RESET, 0, 1,
		"", "", "", "" },
	{ "attributes longer than the message", "0017 02 0000 0001", FULL, CW_BGP_RESET, 0, 1, "",
		"", "", "" },
	{ "RFC 7606 4: an attribute that runs out, with routes",
		"0031 02 0000 0016 40010100 40020602010000FFEB 400304A9FE1502 40FF 18C00002", FULL,
		CW_BGP_WITHDRAW, 255, 1, "192.0.2.0/24", "", "", NULL },
	{ "RFC 7606 4: one octet is left of an attribute",
		"0030 02 0000 0015 40010100 40020602010000FFEB 400304A9FE1502 80 18C00002", FULL,
		CW_BGP_WITHDRAW, 0, 1, "192.0.2.0/24", "", "", NULL },
	{ "RFC 7606 4: three of an extended one are left",
		"0032 02 0000 0017 40010100 40020602010000FFEB 400304A9FE1502 900400 18C00002", FULL,
		CW_BGP_WITHDRAW, 4, 1, "192.0.2.0/24", "", "", NULL },
	{ "RFC 7606 3 j: MP_REACH that runs out can't be withdrawn",
		"0036 02 0000 001B 40010100 40020602010000FFEB 400304A9FE1502 800E1000020110 18C00002 ",
		FULL, CW_BGP_RESET, 14, 1, "", "", "", "" },
	{ "RFC 7606 5.2: attributes, no routes, nothing wrong",
		"002B 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502", FULL, CW_BGP_ACCEPT,
		0, 0, "", "", "", NULL },
	{ "RFC 7606 5.2: an empty MP_REACH is no route either",
		"003C 02 0000 0025 40010103 40020602010000FFEB 800E150002011020010DB8FFFF0000000000000000000100",
		FULL, CW_BGP_RESET, 1, 6, "", "", "", "40010103" },
	{ "RFC 7606 3 d: ORIGIN is missing",
		"002B 02 0000 0010 40020602010000FFEB 400304A9FE1502 18C00002", FULL, CW_BGP_WITHDRAW, 1,
		3, "192.0.2.0/24", "", "", NULL },
	{ "RFC 7606 3 d: AS_PATH is missing", "0026 02 0000 000B 40010100 400304A9FE1502 18C00002",
		FULL, CW_BGP_WITHDRAW, 2, 3, "192.0.2.0/24", "", "", NULL },
	{ "RFC 7606 3 d: NEXT_HOP is missing",
		"0028 02 0000 000D 40010100 40020602010000FFEB 18C00002", FULL, CW_BGP_WITHDRAW, 3, 3,
		"192.0.2.0/24", "", "", NULL },
	{ "an unknown well-known attribute",
		"0033 02 0000 0018 40010100 40020602010000FFEB 400304A9FE1502 40630100 18C00002", FULL,
		CW_BGP_RESET, 99, 2, "", "", "", "40630100" },
	{ "an unknown optional non-transitive one",
		"0033 02 0000 0018 40010100 40020602010000FFEB 400304A9FE1502 80630100 18C00002", FULL,
		CW_BGP_ACCEPT, 0, 0, "192.0.2.0/24", "", "65515", NULL },
	{ "RFC 7606 3 h: the gravest counts",
		"003A 02 0000 001F 40010107 40020602010000FFEB 400304A9FE1502 C0070800000000C0000201 18C00002",
		FULL, CW_BGP_WITHDRAW, 1, 6, "192.0.2.0/24", "", "", NULL },
	{ "IPv4 that is not agreed is left out",
		"0033 02 0004 18C00002 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002",
		IPV6_ONLY, CW_BGP_ACCEPT, 0, 0, "", "", "", NULL },
	{ "but read", "001A 02 0003 18C000 0000", IPV6_ONLY, CW_BGP_RESET, 0, 10, "", "", "", "" },
	{ "RFC 8950: IPv4 over IPv6, cut off",
		"0041 02 0000 002A 40010100 40020602010000FFEB 800E1A0001011020010DB8FFFF000000000000000000010018C00002 0A",
		EXT_NEXT_HOP, CW_BGP_RESET, 14, 9, "", "", "", NULL },
	{ "RFC 8950: IPv4 over IPv6, whole",
		"0040 02 0000 0029 40010100 40020602010000FFEB 800E190001011020010DB8FFFF000000000000000000010018C00002",
		EXT_NEXT_HOP, CW_BGP_ACCEPT, 0, 0, "", "192.0.2.0/24", "65515", NULL },
	{ "RFC 8950: not agreed",
		"0040 02 0000 0029 40010100 40020602010000FFEB 800E190001011020010DB8FFFF000000000000000000010018C00002",
		FULL, CW_BGP_RESET, 14, 9, "", "", "", NULL },
	{ "IPv4 in MP_REACH with its own next hop",
		"0034 02 0000 001D 40010100 40020602010000FFEB 800E0D00010104A9FE15020018C00002", FULL,
		CW_BGP_ACCEPT, 0, 0, "", "192.0.2.0/24", "65515", NULL },
	{ "IPv6 with an IPv4 next hop",
		"0037 02 0000 0020 40010100 40020602010000FFEB 800E1000020104A9FE1502003020010DB80001",
		FULL, CW_BGP_RESET, 14, 9, "", "", "", NULL },
};

static const struct cw_bgp_fault *first_of(enum cw_bgp_verdict verdict)
{
	for (size_t i = 0; i < update.n_faults && i < CW_BGP_FAULTS_MAX; i++)
		if (update.faults[i].verdict == verdict)
			return &update.faults[i];
	return NULL;
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cw_bgp_codec codec = session_of(cases[i].session);
		const struct cw_bgp_fault *fault;
		struct cw_bgp_err err;
		enum cw_rc rc;
		char text[64];

		rc = cw_bgp_update_decode(body_of(cases[i].hex), &codec, &update, &err);
		if (rc != (cases[i].verdict == CW_BGP_RESET ? CW_E_PEER : CW_OK) ||
			update.verdict != cases[i].verdict)
			fail_msg("%s: %d, %s: %s", cases[i].name, rc,
				cw_bgp_verdict_name(update.verdict),
				update.n_faults ? update.faults[0].why : "");
		if (rc == CW_E_PEER) {
			if (err.code != CW_BGP_E_UPDATE || err.subcode != cases[i].subcode)
				fail_msg("%s: %u/%u", cases[i].name, err.code, err.subcode);
			if (cases[i].data)
				assert_bytes(err.data, cases[i].data);
			assert_true(update.n_faults > 0);
			continue;
		}
		fault = first_of(cases[i].verdict);
		if (cases[i].verdict == CW_BGP_ACCEPT)
			assert_int_equal(update.n_faults, 0);
		else if (!fault || fault->type != cases[i].type ||
			 fault->subcode != cases[i].subcode)
			fail_msg("%s: attribute %u, 3/%u", cases[i].name, fault ? fault->type : 0,
				fault ? fault->subcode : 0);
		assert_string_equal(list_of(update.nlri, CW_BGP_IPV4), cases[i].nlri);
		assert_string_equal(
			list_of(update.reach.nlri, update.reach.family), cases[i].nlri6);
		assert_string_equal(
			cw_bgp_path_print(update.attrs.as_path, text, sizeof(text)), cases[i].path);
		assert_false(update.end_of_rib);
		if (update.attrs.wire.n)
			assert_survives(copy_of(update.attrs.wire.p, update.attrs.wire.n), &codec);
	}
}

static void decode(const char *hex, enum session session)
{
	struct cw_bgp_codec codec = session_of(session);
	struct cw_bgp_err err;
	enum cw_rc rc = cw_bgp_update_decode(body_of(hex), &codec, &update, &err);

	if (rc != CW_OK)
		fail_msg("%s: 3/%u %s", hex, err.subcode, err.why);
}

static const struct {
	const char *hex;
	enum session session;
	bool is;
	enum cw_bgp_family family;
} ribs[] = {
	{ "0017 02 0000 0000", FULL, true, CW_BGP_IPV4 }, /* BL-117 */
	{ "0017 02 0000 0000", IPV6_ONLY, true, CW_BGP_FAMILIES },
	{ "001D 02 0000 0006 800F03000201", FULL, true, CW_BGP_IPV6 }, /* BL-117 */
	{ "001D 02 0000 0006 800F03000201", IPV4_ONLY, true, CW_BGP_FAMILIES },
	{ "001D 02 0000 0006 800F03000101", FULL, true, CW_BGP_IPV4 },
	{ "001D 02 0000 0006 800F03001946", FULL, true, CW_BGP_FAMILIES },
	{ "001E 02 0000 0007 900F0003000201", FULL, true, CW_BGP_IPV6 },
	{ "0024 02 0000 000D 800F0A000201 3020010DB80001", FULL, false, 0 },
	{ "0024 02 0000 000D 800F0A001946 3020010DB80001", FULL, false, 0 },
	{ "001B 02 0004 18C00002 0000", FULL, false, 0 },
	{ "0021 02 0000 000A 40010100 800F03000201", FULL, false, 0 },
	{ "0021 02 0004 18C00002 0006 800F03000201", FULL, false, 0 },
};

static void test_end_of_rib(void **state)
{
	uint8_t buf[64];

	(void)state;
	for (size_t i = 0; i < COUNT(ribs); i++) {
		decode(ribs[i].hex, ribs[i].session);
		if (update.end_of_rib != ribs[i].is ||
			(ribs[i].is && update.eor_family != ribs[i].family))
			fail_msg("%s: %d", ribs[i].hex, update.end_of_rib);
	}
	assert_int_equal(cw_bgp_end_of_rib_encode(CW_BGP_IPV4, buf, sizeof(buf)), 23);
	assert_bytes((struct cw_span){ .p = buf + 16, .n = 7 }, "0017 02 0000 0000");
	assert_int_equal(cw_bgp_end_of_rib_encode(CW_BGP_IPV6, buf, sizeof(buf)), 29);
	assert_bytes((struct cw_span){ .p = buf + 16, .n = 13 }, "001D 02 0000 0006 800F03000201");
	assert_int_equal(cw_bgp_end_of_rib_encode(CW_BGP_IPV6, buf, 28), 0);
}

static void test_next_hops(void **state)
{
	const struct cw_addr four = addr_of("169.254.21.2"), six = addr_of("2001:db8:ffff::1"),
			     local = addr_of("fe80::1");

	(void)state;
	decode("002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002", FULL);
	assert_true(cw_addr_equal(&update.next_hop, &four));
	assert_false(update.reach.present);
	decode("0053 02 0000 003C 40010100 40020602010000FFEB 800E2C0002012020010DB8FFFF00000000000000000001FE80000000000000000000000000000100 3020010DB80001",
		FULL);
	assert_int_equal(update.next_hop.family, CW_FAMILY_NONE);
	assert_true(cw_addr_equal(&update.reach.next_hop, &six));
	assert_true(cw_addr_equal(&update.reach.link_local, &local));
	assert_int_equal(update.reach.family, CW_BGP_IPV6);
	/* The global one twice is no link-local one. */
	decode("0053 02 0000 003C 40010100 40020602010000FFEB 800E2C0002012020010DB8FFFF0000000000000000000120010DB8FFFF0000000000000000000100 3020010DB80001",
		FULL);
	assert_true(cw_addr_equal(&update.reach.next_hop, &six));
	assert_int_equal(update.reach.link_local.family, CW_FAMILY_NONE);
	decode("0043 02 0000 002C 40010100 40020602010000FFEB 800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001",
		IPV4_ONLY);
	assert_true(update.reach.present);
	assert_int_equal(update.reach.family, CW_BGP_FAMILIES);
}

/* What is treated as withdrawn is all of the message: MP parts too. BL-108. */
static void test_withdraw_all(void **state)
{
	(void)state;
	decode("005F 02 0004 18C63364 0040 40010107 40020602010000FFEB 400304A9FE1502 800F0A000201 3020010DB80002"
	       "800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001 18C00002",
		FULL);
	assert_int_equal(update.verdict, CW_BGP_WITHDRAW);
	assert_string_equal(list_of(update.withdrawn, CW_BGP_IPV4), "198.51.100.0/24");
	assert_string_equal(list_of(update.nlri, CW_BGP_IPV4), "192.0.2.0/24");
	assert_string_equal(list_of(update.reach.nlri, CW_BGP_IPV6), "2001:db8:1::/48");
	assert_string_equal(list_of(update.unreach.nlri, CW_BGP_IPV6), "2001:db8:2::/48");
	assert_int_equal(update.attrs.wire.n, 0);
}

/* Nothing of a message is left over in the next one's result. */
static void test_reuse(void **state)
{
	(void)state;
	decode("0043 02 0000 002C 40010100 40020602010000FFEB 800E1C0002011020010DB8FFFF00000000000000000001003020010DB80001",
		FULL);
	decode("003A 02 0000 001F 40010107 40020602010000FFEB 400304A9FE1502 C0070800000000C0000201 18C00002",
		FULL);
	assert_int_equal(update.n_faults, 2);
	assert_false(update.reach.present);
	decode("0017 02 0000 0000", FULL);
	assert_int_equal(update.n_faults, 0);
	assert_int_equal(update.verdict, CW_BGP_ACCEPT);
	assert_int_equal(update.nlri.n, 0);
	assert_int_equal(update.next_hop.family, CW_FAMILY_NONE);
	assert_int_equal(update.attrs.wire.n, 0);
	assert_int_equal(update.attrs.as_path.n, 0);
}

/* More faults than there is room for are counted, and the gravest one is not lost. */
static void test_many_faults(void **state)
{
	uint8_t body[4 + 4 + 9 + 7 + 20 * 3 + 4 + 4] = { 0, 0, 0, 0 };
	struct cw_span head = bytes_of("40010100 40020602010000FFEB 400304A9FE1502");
	struct cw_span tail = bytes_of("40010107"), nlri = bytes_of("18C00002");
	struct cw_bgp_err err;
	size_t at = 4;

	(void)state;
	memcpy(body + at, head.p, head.n);
	at += head.n;
	for (unsigned i = 0; i < 20; i++, at += 3)
		memcpy(body + at, "\x40\x06", 3);
	memcpy(body + at, tail.p, tail.n);
	at += tail.n;
	body[2] = (uint8_t)((at - 4) >> 8);
	body[3] = (uint8_t)(at - 4);
	memcpy(body + at, nlri.p, nlri.n);
	at += nlri.n;
	assert_int_equal(cw_bgp_update_decode(copy_of(body, at), &session_full, &update, &err), CW_OK);
	assert_int_equal(update.verdict, CW_BGP_DISCARD);
	assert_int_equal(update.n_faults, 20);
	/* An unknown well-known one at the end. */
	body[at - 4 - 3] = 99;
	assert_int_equal(
		cw_bgp_update_decode(copy_of(body, at), &session_full, &update, &err), CW_E_PEER);
	assert_int_equal(update.n_faults, 20);
	assert_int_equal(err.subcode, CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN);
	assert_int_equal(err.offset, at - 4 - 4);
	assert_bytes(err.data, "40630107");
}

/* Cut anywhere and with any bit flipped: a verdict, and no octet read that is not there. */
static void test_broken(void **state)
{
	struct cw_bgp_codec two = session_of(TWO_OCTETS);
	struct cw_bgp_err err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cw_span body = body_of(cases[i].hex);

		for (size_t n = 0; n < body.n; n++) {
			cw_bgp_update_decode(copy_of(body.p, n), &session_full, &update, &err);
			cw_bgp_update_decode(copy_of(body.p, n), &two, &update, &err);
		}
		bytes_free(NULL);
		body = body_of(cases[i].hex);
		for (size_t bit = 0; bit < 8 * body.n; bit++) {
			uint8_t *flipped = malloc(body.n);

			assert_non_null(flipped);
			memcpy(flipped, body.p, body.n);
			flipped[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cw_bgp_update_decode((struct cw_span){ .p = flipped, .n = body.n },
				&session_full, &update, &err);
			free(flipped);
		}
		bytes_free(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_cases, bytes_free),
		cmocka_unit_test_teardown(test_end_of_rib, bytes_free),
		cmocka_unit_test_teardown(test_next_hops, bytes_free),
		cmocka_unit_test_teardown(test_withdraw_all, bytes_free),
		cmocka_unit_test_teardown(test_reuse, bytes_free),
		cmocka_unit_test_teardown(test_many_faults, bytes_free),
		cmocka_unit_test_teardown(test_broken, bytes_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
