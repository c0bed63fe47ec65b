/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_attr: a row for each attribute and each fault of RFC 7606 (7607, 6793, 8092, 9234), the canonical form, and
 * what is read from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct cw_bgp_update update;

/* An UPDATE that announces 192.0.2.0/24 with a good ORIGIN, AS_PATH and NEXT_HOP, but for the type
 * that the attributes in hex have as their first, and then with those. */
static struct cw_span message_with(const char *hex, const struct cw_bgp_codec *codec)
{
	static const char *const base[][2] = { { "40010100", "40010100" },
		{ "40020602010000FFEB", "4002040201FFEB" },
		{ "400304A9FE1502", "400304A9FE1502" } };
	struct cw_span attrs = bytes_of(hex), nlri = bytes_of("18C00002");
	uint8_t body[1024];
	struct cw_writer w = cw_writer_of(body, sizeof(body));

	cw_put_u16(&w, 0);
	cw_put_u16(&w, 0);
	for (unsigned i = 0; i < COUNT(base); i++) {
		struct cw_span one = bytes_of(base[i][!codec->as4]);

		if (attrs.n < 2 || attrs.p[1] != one.p[1])
			cw_put_bytes(&w, one.p, one.n);
	}
	cw_put_bytes(&w, attrs.p, attrs.n);
	cw_patch_u16(&w, 2, (uint16_t)(cw_writer_len(&w) - 4));
	cw_put_bytes(&w, nlri.p, nlri.n);
	assert_true(cw_writer_ok(&w));
	return copy_of(body, cw_writer_len(&w));
}

enum session { EXTERNAL, INTERNAL, EXTERNAL2, INTERNAL2 };

static struct cw_bgp_codec session_of(enum session session)
{
	struct cw_bgp_codec codec = session_full;

	codec.ibgp = session == INTERNAL || session == INTERNAL2;
	codec.as4 = session == EXTERNAL || session == INTERNAL;
	return codec;
}

#define FLAGS CW_BGP_UPDATE_BAD_FLAGS
#define LENGTH CW_BGP_UPDATE_BAD_ATTR_LENGTH
#define LIST CW_BGP_UPDATE_BAD_LIST
#define OPTIONAL CW_BGP_UPDATE_BAD_OPTIONAL
#define PATH CW_BGP_UPDATE_BAD_AS_PATH

static const struct {
	const char *section, *attrs;
	enum session session;
	enum cw_bgp_verdict verdict;
	uint8_t subcode;
	const char *left; /* what stays in the canonical form beside ORIGIN and AS_PATH; NULL: anything */
} rows[] = {
	/* ORIGIN */
	{ "7.1 IGP", "40010100", EXTERNAL, CW_BGP_ACCEPT, 0, "" },
	{ "7.1 INCOMPLETE", "40010102", EXTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "7.1 value", "40010103", EXTERNAL, CW_BGP_WITHDRAW, CW_BGP_UPDATE_BAD_ORIGIN, NULL },
	{ "7.1 value 255", "400101FF", INTERNAL, CW_BGP_WITHDRAW, CW_BGP_UPDATE_BAD_ORIGIN, NULL },
	{ "7.1 length 0", "400100", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.1 length 2", "4001020000", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c ORIGIN optional", "C0010100", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3c ORIGIN non-transitive", "00010100", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "4.3 ORIGIN partial is no fault", "60010100", EXTERNAL, CW_BGP_ACCEPT, 0, "" },
	{ "4.3 low bits are ignored", "47010100", EXTERNAL, CW_BGP_ACCEPT, 0, "" },
	{ "4.3 extended where short would do", "5001000100", EXTERNAL, CW_BGP_ACCEPT, 0, "" },
	{ "3g ORIGIN twice", "40010100 40010107", EXTERNAL, CW_BGP_DISCARD, LIST, "" },
	/* AS_PATH */
	{ "7.2 empty", "400200", INTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "7.2 set", "400210 02010000FFEB 010200000001 00000002", EXTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "7.2 segment type 0", "400206 00010000FFEB", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 segment type 5", "400206 05010000FFEB", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 overrun", "400206 02020000FFEB", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 underrun", "400207 02010000FFEB 02", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 segment of none", "400208 02010000FFEB 0200", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 one octet", "400201 02", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 4-octet numbers on a 2-octet session", "400206 02010000FFEB", EXTERNAL2, CW_BGP_WITHDRAW, PATH, NULL },
	{ "7.2 2-octet numbers on a 4-octet session", "400204 0201FFEB", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "RFC 5065 5: confederation from outside", "40020C 03010000FFEB 02010000FFEB", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "RFC 5065: confederation from inside", "40020C 03010000FFEB 02010000FFEB", INTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "RFC 7607: AS 0", "40020A 02020000FFEB00000000", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "RFC 7607: AS 0 in a set", "40020C 02010000FFEB 010100000000", EXTERNAL, CW_BGP_WITHDRAW, PATH, NULL },
	{ "RFC 7607: AS 0 in two octets", "400206 0202FFEB0000", EXTERNAL2, CW_BGP_WITHDRAW, PATH, NULL },
	{ "3c AS_PATH optional", "C00206 02010000FFEB", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g AS_PATH twice", "40020602010000FFEB 40020602010000FFEC", EXTERNAL, CW_BGP_DISCARD, LIST, "" },
	/* NEXT_HOP */
	{ "7.3 length 3", "400303A9FE15", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.3 length 5", "400305A9FE150200", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.3 length 0", "400300", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c NEXT_HOP optional", "C00304A9FE1502", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g NEXT_HOP twice", "400304A9FE1502 400304A9FE1503", EXTERNAL, CW_BGP_DISCARD, LIST, "" },
	/* MULTI_EXIT_DISC */
	{ "7.4", "80040400000064", EXTERNAL, CW_BGP_ACCEPT, 0, "80040400000064" },
	{ "7.4 length 3", "800403000064", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.4 length 0", "800400", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.4 length 5", "8004050000006400", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c MED transitive", "C0040400000064", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3c MED well-known", "40040400000064", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g MED twice", "80040400000064 80040400000065", EXTERNAL, CW_BGP_DISCARD, LIST, "80040400000064" },
	{ "4.3 MED partial is cleared", "A0040400000064", EXTERNAL, CW_BGP_ACCEPT, 0, "80040400000064" },
	/* LOCAL_PREF */
	{ "7.5", "40050400000064", INTERNAL, CW_BGP_ACCEPT, 0, "40050400000064" },
	{ "7.5 from outside", "40050400000064", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "7.5 from outside, length 3", "400503000064", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "7.5 from outside, flags", "80050400000064", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "7.5 length 3", "400503000064", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.5 length 0", "400500", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c LOCAL_PREF optional", "C0050400000064", INTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g LOCAL_PREF twice", "40050400000064 40050400000065", INTERNAL, CW_BGP_DISCARD, LIST, "40050400000064" },
	/* ATOMIC_AGGREGATE */
	{ "7.6", "400600", EXTERNAL, CW_BGP_ACCEPT, 0, "400600" },
	{ "7.6 length 1", "40060100", EXTERNAL, CW_BGP_DISCARD, LENGTH, "" },
	{ "3c ATOMIC_AGGREGATE optional", "C00600", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g ATOMIC_AGGREGATE twice", "400600 400600", EXTERNAL, CW_BGP_DISCARD, LIST, "400600" },
	/* AGGREGATOR */
	{ "7.7", "C007080000FFEBC0000201", EXTERNAL, CW_BGP_ACCEPT, 0, "C007080000FFEBC0000201" },
	{ "7.7 in two octets", "C00706FFEBC0000201", EXTERNAL2, CW_BGP_ACCEPT, 0, "C007080000FFEBC0000201" },
	{ "7.7 length 6", "C00706FFEBC0000201", EXTERNAL, CW_BGP_DISCARD, LENGTH, "" },
	{ "7.7 length 8 in two octets", "C007080000FFEBC0000201", EXTERNAL2, CW_BGP_DISCARD, LENGTH, "" },
	{ "7.7 length 0", "C00700", EXTERNAL, CW_BGP_DISCARD, LENGTH, "" },
	{ "RFC 7607 AGGREGATOR AS 0", "C0070800000000C0000201", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 7607 AGGREGATOR AS 0 in two octets", "C007060000C0000201", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "3c AGGREGATOR non-transitive", "8007080000FFEBC0000201", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g AGGREGATOR twice", "C007080000FFEBC0000201 C0070100", EXTERNAL, CW_BGP_DISCARD, LIST, "C007080000FFEBC0000201" },
	/* COMMUNITIES */
	{ "7.8", "C00808FFEB0001FFFFFF01", EXTERNAL, CW_BGP_ACCEPT, 0, "C00808FFEB0001FFFFFF01" },
	{ "7.8 partial stays", "E00804FFEB0001", EXTERNAL, CW_BGP_ACCEPT, 0, "E00804FFEB0001" },
	{ "7.8 length 0", "C00800", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.8 length 6", "C00806FFEB0001FFFF", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c COMMUNITIES non-transitive", "800804FFEB0001", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g COMMUNITIES twice", "C00804FFEB0001 C00804FFEB0002", EXTERNAL, CW_BGP_DISCARD, LIST, "C00804FFEB0001" },
	/* ORIGINATOR_ID, CLUSTER_LIST */
	{ "7.9", "8009040A0A0001", INTERNAL, CW_BGP_ACCEPT, 0, "8009040A0A0001" },
	{ "7.9 from outside", "8009040A0A0001", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "7.9 length 3", "8009030A0A00", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.9 length 0", "800900", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c ORIGINATOR_ID transitive", "C009040A0A0001", INTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g ORIGINATOR_ID twice", "8009040A0A0001 8009040A0A0002", INTERNAL, CW_BGP_DISCARD, LIST, "8009040A0A0001" },
	{ "7.10", "800A080A0A00010A0A0002", INTERNAL, CW_BGP_ACCEPT, 0, "800A080A0A00010A0A0002" },
	{ "7.10 from outside", "800A040A0A0001", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "7.10 length 0", "800A00", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.10 length 5", "800A050A0A000100", INTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c CLUSTER_LIST transitive", "C00A040A0A0001", INTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g CLUSTER_LIST twice", "800A040A0A0001 800A040A0A0002", INTERNAL, CW_BGP_DISCARD, LIST, "800A040A0A0001" },
	/* MP_REACH_NLRI, MP_UNREACH_NLRI */
	{ "5.3 MP_REACH of 4", "800E0400020100", EXTERNAL, CW_BGP_RESET, LENGTH, NULL },
	{ "5.3 MP_REACH of 0", "800E00", EXTERNAL, CW_BGP_RESET, LENGTH, NULL },
	{ "5.3 MP_REACH transitive", "C00E1500020110 20010DB8000000000000000000000001 00", EXTERNAL, CW_BGP_RESET, FLAGS, NULL },
	{ "7.11 next hop of 15", "800E150002010F 20010DB8000000000000000000000001 00", EXTERNAL, CW_BGP_RESET, OPTIONAL, NULL },
	{ "7.11 next hop longer than the attribute", "800E0500020110 20", EXTERNAL, CW_BGP_RESET, OPTIONAL, NULL },
	{ "3g MP_REACH twice", "800E1500020110 20010DB8000000000000000000000001 00 800E1500020110 20010DB8000000000000000000000001 00", EXTERNAL, CW_BGP_RESET, LIST, NULL },
	{ "5.3 MP_UNREACH of 2", "800F020002", EXTERNAL, CW_BGP_RESET, LENGTH, NULL },
	{ "5.3 MP_UNREACH transitive", "C00F03000201", EXTERNAL, CW_BGP_RESET, FLAGS, NULL },
	{ "5.3 MP_UNREACH of 129 bits", "800F1500020181 0000000000000000000000000000000000", EXTERNAL, CW_BGP_RESET, OPTIONAL, NULL },
	{ "3g MP_UNREACH twice", "800F03000201 800F03000201", EXTERNAL, CW_BGP_RESET, LIST, NULL },
	/* EXTENDED COMMUNITIES, also of IPv6 */
	{ "7.14", "C010080002FFEB00000001", EXTERNAL, CW_BGP_ACCEPT, 0, "C010080002FFEB00000001" },
	{ "7.14 length 0", "C01000", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.14 length 7", "C010070002FFEB000000", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c EXTENDED COMMUNITIES non-transitive", "8010080002FFEB00000001", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "3g EXTENDED COMMUNITIES twice", "C010080002FFEB00000001 C010080002FFEB00000001", EXTERNAL, CW_BGP_DISCARD, LIST, "C010080002FFEB00000001" },
	{ "7.15", "C01914000220010DB80000000000000000000000010001", EXTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "7.15 length 0", "C01900", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "7.15 length 8", "C019080002FFEB00000001", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	/* AS4_PATH, AS4_AGGREGATOR */
	{ "RFC 6793 6 AS4_PATH from who has 4 octets", "C0110602010000FFEB", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 6793 6 AS4_AGGREGATOR from who has 4 octets", "C012080000FFEBC0000201", EXTERNAL, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 6793 6 AS4_PATH", "C0110602010000FFEB", EXTERNAL2, CW_BGP_ACCEPT, 0, "" },
	{ "RFC 6793 6 AS4_PATH of 0", "C01100", EXTERNAL2, CW_BGP_DISCARD, LENGTH, "" },
	{ "RFC 6793 6 AS4_PATH of 4", "C011040201FFEB", EXTERNAL2, CW_BGP_DISCARD, LENGTH, "" },
	{ "RFC 6793 6 AS4_PATH of 7", "C0110702010000FFEB00", EXTERNAL2, CW_BGP_DISCARD, LENGTH, "" },
	{ "RFC 6793 6 AS4_PATH overrun", "C0110602020000FFEB", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 6793 6 AS4_PATH segment of none", "C0110802010000FFEB0200", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 6793 6 AS4_PATH segment type", "C0110609010000FFEB", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "RFC 7607 AS4_PATH AS 0", "C01106020100000000", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	{ "3c AS4_PATH non-transitive", "80110602010000FFEB", EXTERNAL2, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "RFC 6793 6 AS4_AGGREGATOR of 6", "C01206FFEBC0000201", EXTERNAL2, CW_BGP_DISCARD, LENGTH, "" },
	{ "RFC 7607 AS4_AGGREGATOR AS 0", "C0120800000000C0000201", EXTERNAL2, CW_BGP_DISCARD, OPTIONAL, "" },
	/* LARGE_COMMUNITY */
	{ "RFC 8092", "C0200C0000FFEB0000000100000002", EXTERNAL, CW_BGP_ACCEPT, 0, "C0200C0000FFEB0000000100000002" },
	{ "RFC 8092 5 length 0", "C02000", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "RFC 8092 5 length 8", "C020080000FFEB00000001", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c LARGE_COMMUNITY non-transitive", "80200C0000FFEB0000000100000002", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	{ "RFC 8092 3: each once",
		"C02030 000000030000000100000001 000000010000000100000001 000000030000000100000001 000000020000000100000001",
		EXTERNAL, CW_BGP_ACCEPT, 0,
		"C02024 000000010000000100000001 000000020000000100000001 000000030000000100000001" },
	/* OTC */
	{ "RFC 9234", "C023040000FFEB", EXTERNAL, CW_BGP_ACCEPT, 0, "C023040000FFEB" },
	{ "RFC 9234 5 length 3", "C0230300FFEB", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "RFC 9234 5 length 0", "C02300", EXTERNAL, CW_BGP_WITHDRAW, LENGTH, NULL },
	{ "3c OTC non-transitive", "8023040000FFEB", EXTERNAL, CW_BGP_WITHDRAW, FLAGS, NULL },
	/* What we don't know */
	{ "RFC 4271 5: transitive, passed on with Partial", "C0FF04DEADBEEF", EXTERNAL, CW_BGP_ACCEPT, 0, "E0FF04DEADBEEF" },
	{ "RFC 4271 5: empty, too", "C0FF00", EXTERNAL, CW_BGP_ACCEPT, 0, "E0FF00" },
	{ "RFC 4271 5: non-transitive, left out", "80FF04DEADBEEF", EXTERNAL, CW_BGP_ACCEPT, 0, "" },
	{ "RFC 4271 6.3: well-known", "40FF04DEADBEEF", EXTERNAL, CW_BGP_RESET, CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN, NULL },
	{ "RFC 4271 6.3: well-known, not transitive", "00FF00", EXTERNAL, CW_BGP_RESET, CW_BGP_UPDATE_UNKNOWN_WELL_KNOWN, NULL },
	{ "type 0", "C00000", EXTERNAL, CW_BGP_ACCEPT, 0, NULL },
	{ "3g unknown twice", "C0FF0101 C0FF0102", EXTERNAL, CW_BGP_DISCARD, LIST, "E0FF0101" },
	{ "3g unknown non-transitive twice", "80FF0101 80FF0102", EXTERNAL, CW_BGP_DISCARD, LIST, "" },
	/* The order of attributes is free. */
	{ "4.3 any order", "C0FF0101 C00804FFEB0001 400600 80040400000001", EXTERNAL, CW_BGP_ACCEPT, 0,
		"80040400000001 400600 C00804FFEB0001 E0FF0101" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cw_bgp_codec codec = session_of(rows[i].session);
		struct cw_span body = message_with(rows[i].attrs, &codec), left;
		bool reset = rows[i].verdict == CW_BGP_RESET;
		struct cw_bgp_err err;
		enum cw_rc rc = cw_bgp_update_decode(body, &codec, &update, &err);

		if (update.verdict != rows[i].verdict || rc != (reset ? CW_E_PEER : CW_OK))
			fail_msg("%s: %s %s", rows[i].section, cw_bgp_verdict_name(update.verdict),
				update.n_faults ? update.faults[0].why : "");
		if (rows[i].verdict == CW_BGP_ACCEPT) {
			assert_int_equal(update.n_faults, 0);
		} else {
			const struct cw_bgp_fault *fault = &update.faults[0];

			if (update.n_faults != 1 || fault->subcode != rows[i].subcode)
				fail_msg("%s: %zu faults, 3/%u", rows[i].section, update.n_faults,
					fault->subcode);
			/* Whole, with its header, and within the message. */
			assert_true(fault->bytes.p >= body.p &&
				    fault->bytes.p + fault->bytes.n <= body.p + body.n);
			assert_int_equal(fault->bytes.p[0], fault->flags);
			assert_int_equal(fault->bytes.p[1], fault->type);
		}
		assert_int_equal(update.attrs.wire.n > 0, rows[i].verdict <= CW_BGP_DISCARD);
		if (!update.attrs.wire.n)
			continue;
		left = update.attrs.wire;
		if (rows[i].left) {
			/* Behind ORIGIN and AS_PATH with one number. */
			left = (struct cw_span){ .p = left.p + 13, .n = left.n - 13 };
			assert_bytes(left, rows[i].left);
		}
		assert_survives(copy_of(update.attrs.wire.p, update.attrs.wire.n), &codec);
	}
}

/* ---- reading ---- */

static void test_read(void **state)
{
	struct cw_bgp_attrs_view view;
	struct cw_span wire = bytes_of("40010102 400214 02020000FFEB0000FDF2 0102000000070000000A"
				       "80040400000064 400504000000C8 400600 C007080000FFEBC0000201"
				       "C00804FFEB0001 8009040A0A0001 800A040A0A0002 C010080002FFEB00000001"
				       "C0200C0000FFEB0000000100000002 C023040000FFEB E0FF0101");

	(void)state;
	assert_int_equal(cw_bgp_attrs_read(wire, &view), CW_OK);
	assert_ptr_equal(view.wire.p, wire.p);
	assert_int_equal(view.origin, CW_BGP_ORIGIN_INCOMPLETE);
	assert_true(view.has_med && view.has_local_pref && view.has_otc && view.atomic &&
		    view.has_originator);
	assert_int_equal(view.med, 100);
	assert_int_equal(view.local_pref, 200);
	assert_int_equal(view.otc, 65515);
	assert_int_equal(view.originator_id, 0x0a0a0001);
	assert_int_equal(view.path_len, 3);
	assert_int_equal(view.first_as, 65515);
	assert_int_equal(view.origin_as, 0); /* a set ends the path */
	assert_bytes(view.communities, "FFEB0001");
	assert_bytes(view.ext_communities, "0002FFEB00000001");
	assert_bytes(view.large_communities, "0000FFEB0000000100000002");
	assert_bytes(view.cluster_list, "0A0A0002");
}

static const struct {
	const char *path;
	unsigned len;
	uint32_t first, origin;
	const char *text;
} paths[] = {
	{ "", 0, 0, 0, "" },
	{ "02010000FFEB", 1, 65515, 65515, "65515" },
	{ "0203 0000FFEB 0000FDF2 FA56EA00", 3, 65515, 4200000000, "65515 65010 4200000000" },
	{ "0102 00000001 00000002", 1, 0, 0, "{1 2}" },
	{ "0102 00000001 00000002 0201 00000003", 2, 0, 3, "{1 2} 3" },
	{ "0301 0000FDE8 0201 00000003", 1, 0, 3, "(65000) 3" },
	{ "0401 0000FDE8", 0, 0, 0, "[65000]" },
	{ "0201 00000001 0201 00000002", 2, 1, 2, "1 2" },
};

static void test_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		struct cw_span path = bytes_of(paths[i].path);
		struct cw_bgp_attrs_view view;
		char text[128], hex[256];

		snprintf(hex, sizeof(hex), "40010100 4002%02zx%s", path.n, paths[i].path);
		assert_int_equal(cw_bgp_attrs_read(bytes_of(hex), &view), CW_OK);
		if (view.path_len != paths[i].len || view.first_as != paths[i].first ||
			view.origin_as != paths[i].origin)
			fail_msg("%s: %u long, from %u to %u", paths[i].text, view.path_len,
				view.first_as, view.origin_as);
		assert_string_equal(
			cw_bgp_path_print(view.as_path, text, sizeof(text)), paths[i].text);
	}
}

static void test_path_questions(void **state)
{
	struct cw_span path = bytes_of("0203 0000FFEB 0000FFEB 00000001 0102 00000007 0000FFEB");

	(void)state;
	assert_int_equal(cw_bgp_path_count(path, 65515), 3);
	assert_int_equal(cw_bgp_path_count(path, 2), 0);
	assert_true(cw_bgp_path_has(path, 7));
	assert_false(cw_bgp_path_has(path, 8));
	assert_false(cw_bgp_path_has((struct cw_span){ 0 }, 8));
}

static const struct {
	const char *name, *hex;
} no_canon[] = {
	{ "cut off", "400101" },
	{ "out of order", "40020602010000FFEB 40010100" },
	{ "twice", "40010100 40010100" },
	{ "extended where short would do", "5001000100" },
	{ "flags", "C0010100" },
	{ "length", "4001020000" },
	{ "value", "40010103" },
	{ "2-octet numbers", "4002040201FFEB" },
	{ "AS 0", "400206020100000000" },
	{ "NEXT_HOP", "400304A9FE1502" },
	{ "AS4_PATH", "C0110602010000FFEB" },
	{ "an empty list", "C00800" },
	{ "MP_UNREACH_NLRI", "800F03000201" },
	{ "unknown well-known", "40FF00" },
};

static void test_read_refuses(void **state)
{
	struct cw_bgp_attrs_view view;

	(void)state;
	for (size_t i = 0; i < COUNT(no_canon); i++)
		if (cw_bgp_attrs_read(bytes_of(no_canon[i].hex), &view) != CW_E_INVALID)
			fail_msg("%s is taken", no_canon[i].name);
}

/* ---- for people ---- */

static void test_print(void **state)
{
	struct cw_span path = bytes_of("0203 0000FFEB 0000FDF2 FA56EA00");
	char text[64];

	(void)state;
	assert_string_equal(cw_bgp_communities_print(
				    bytes_of("FFEB0001 FFFFFF01 FFFF029A 00000000"), text, sizeof(text)),
		"65515:1 no-export blackhole 0:0");
	assert_string_equal(cw_bgp_large_communities_print(
				    bytes_of("0000FFEB0000000100000002 FA56EA000000000000000003"), text,
				    sizeof(text)),
		"65515:1:2 4200000000:0:3");
	assert_string_equal(cw_bgp_communities_print((struct cw_span){ 0 }, text, sizeof(text)), "");
	/* Cut at every size: in its bounds, and ending in an ellipsis where that has room. */
	for (size_t size = 1; size <= sizeof("65515 65010 4200000000"); size++) {
		memset(text, '#', sizeof(text));
		cw_bgp_path_print(path, text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], '#');
		if (size == sizeof("65515 65010 4200000000"))
			assert_string_equal(text, "65515 65010 4200000000");
		else if (size >= 4)
			assert_non_null(strstr(text, "..."));
	}
	assert_string_equal(cw_bgp_attr_name(CW_BGP_ATTR_AS_PATH), "AS_PATH");
	assert_string_equal(cw_bgp_attr_name(CW_BGP_ATTR_OTC), "ONLY_TO_CUSTOMER");
	assert_string_equal(cw_bgp_attr_name(213), "unknown");
	assert_string_equal(cw_bgp_attr_name(11), "unknown");
	assert_string_equal(cw_bgp_verdict_name(CW_BGP_WITHDRAW), "treat-as-withdraw");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_rows, bytes_free),
		cmocka_unit_test_teardown(test_read, bytes_free),
		cmocka_unit_test_teardown(test_paths, bytes_free),
		cmocka_unit_test_teardown(test_path_questions, bytes_free),
		cmocka_unit_test_teardown(test_read_refuses, bytes_free),
		cmocka_unit_test_teardown(test_print, bytes_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
