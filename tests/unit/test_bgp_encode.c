/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_update, encoding: packing and its limits, 2-octet peers both ways (RFC 6793), and what policy changes on the
 * way out (bgp_attr_edit).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#include "wire/bgp_msg.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct cw_bgp_update update;
static uint8_t buf[CW_BGP_MSG_EXTENDED_MAX];

static struct cw_span body_of_buf(size_t n)
{
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	assert_int_equal(cw_bgp_header_decode((struct cw_span){ .p = buf, .n = n },
				 CW_BGP_MSG_EXTENDED_MAX, &header, &err),
		CW_OK);
	assert_int_equal(header.type, CW_BGP_UPDATE);
	assert_int_equal(header.len, n);
	return copy_of(buf + CW_BGP_HEADER_LEN, n - CW_BGP_HEADER_LEN);
}

/* ---- messages, to the octet ---- */

static const struct {
	const char *name, *attrs, *next_hop, *prefixes[2], *hex;
} announcements[] = {
	{ "IPv4: NEXT_HOP in its place", "40010100 40020602010000FFEB 80040400000064", "169.254.21.2",
		{ "192.0.2.0/24", "10.20.0.0/15" },
		"0039 02 0000 001B 40010100 40020602010000FFEB 400304A9FE1502 80040400000064 18C00002 0F0A14" },
	{ "IPv4: NEXT_HOP last", "40010100 400200", "169.254.21.2", { "0.0.0.0/0" },
		"0026 02 0000 000E 40010100 400200 400304A9FE1502 00" },
	{ "host bits stay here", "40010100 400200", "169.254.21.2", { "192.0.2.77/25" },
		"002A 02 0000 000E 40010100 400200 400304A9FE1502 19C0000200" },
	{ "IPv6: MP_REACH_NLRI first, RFC 7606 5.1", "40010100 40020602010000FFEB", "2001:db8:ffff::1",
		{ "2001:db8:1::/48", "::/0" },
		"0045 02 0000 002E 900E001D0002011020010DB8FFFF0000000000000000000100 3020010DB80001 00"
		" 40010100 40020602010000FFEB" },
	{ "IPv4 over IPv6, RFC 8950", "40010100 400200", "2001:db8:ffff::1", { "192.0.2.0/24" },
		"003B 02 0000 0024 900E00190001011020010DB8FFFF0000000000000000000100 18C00002 40010100 400200" },
};

static void test_announce(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(announcements); i++) {
		const struct cw_addr next_hop = addr_of(announcements[i].next_hop);
		bool six = strchr(announcements[i].prefixes[0], ':');
		struct cw_bgp_encoder e;
		size_t n;

		assert_int_equal(cw_bgp_encode_announce(&e, &session_full,
					 six ? CW_BGP_IPV6 : CW_BGP_IPV4,
					 bytes_of(announcements[i].attrs), &next_hop, buf),
			CW_OK);
		assert_int_equal(cw_bgp_encode_finish(&e), 0); /* no prefix yet */
		for (size_t j = 0; j < 2 && announcements[i].prefixes[j]; j++) {
			const struct cw_prefix prefix = prefix_of(announcements[i].prefixes[j]);

			assert_true(cw_bgp_encode_prefix(&e, &prefix));
		}
		n = cw_bgp_encode_finish(&e);
		assert_true(n > 0);
		assert_row(announcements[i].name, (struct cw_span){ .p = buf + 16, .n = n - 16 },
			announcements[i].hex);
	}
}

static void test_withdraw(void **state)
{
	const struct cw_prefix four = prefix_of("192.0.2.0/24"), six = prefix_of("2001:db8:1::/48");
	struct cw_bgp_encoder e;
	size_t n;

	(void)state;
	cw_bgp_encode_withdraw(&e, &session_full, CW_BGP_IPV4, buf);
	assert_int_equal(cw_bgp_encode_finish(&e), 0);
	assert_true(cw_bgp_encode_prefix(&e, &four));
	n = cw_bgp_encode_finish(&e);
	assert_bytes((struct cw_span){ .p = buf + 16, .n = n - 16 }, "001B 02 0004 18C00002 0000");
	cw_bgp_encode_withdraw(&e, &session_full, CW_BGP_IPV6, buf);
	assert_int_equal(cw_bgp_encode_finish(&e), 0);
	assert_true(cw_bgp_encode_prefix(&e, &six));
	n = cw_bgp_encode_finish(&e);
	assert_bytes((struct cw_span){ .p = buf + 16, .n = n - 16 },
		"0025 02 0000 000E 900F000A000201 3020010DB80001");
}

/* ---- packing ---- */

/* Messages for so many prefixes: each but the last so full that no other prefix fits. */
static void pack(enum cw_bgp_family family, bool withdraw, size_t max, size_t want_n)
{
	const struct cw_addr next_hop =
		addr_of(family == CW_BGP_IPV4 ? "169.254.21.2" : "2001:db8::1");
	struct cw_prefix prefix = prefix_of(family == CW_BGP_IPV4 ? "10.0.0.0/24" : "2001:db8::/48");
	struct cw_span attrs = bytes_of("40010100 40020602010000FFEB C00804FFEB0001");
	size_t widest = cw_bgp_prefix_size(prefix.len), done = 0, decoded = 0;
	struct cw_bgp_codec codec = session_full;
	struct cw_prefix got, last = { 0 };

	codec.max = max;
	while (done < want_n) {
		struct cw_bgp_encoder e;
		struct cw_bgp_err err;
		struct cw_cursor c;
		size_t n;

		if (withdraw)
			cw_bgp_encode_withdraw(&e, &codec, family, buf);
		else
			assert_int_equal(cw_bgp_encode_announce(
						 &e, &codec, family, attrs, &next_hop, buf),
				CW_OK);
		for (; done < want_n; done++) {
			prefix.addr.bytes[2] = (uint8_t)(done >> 8);
			prefix.addr.bytes[family == CW_BGP_IPV4 ? 1 : 3] = (uint8_t)(done >> 16);
			prefix.addr.bytes[family == CW_BGP_IPV4 ? 2 : 5] = (uint8_t)done;
			prefix.addr.bytes[family == CW_BGP_IPV4 ? 1 : 4] = (uint8_t)(done >> 8);
			if (!cw_bgp_encode_prefix(&e, &prefix))
				break;
		}
		n = cw_bgp_encode_finish(&e);
		assert_true(n > 0 && n <= max);
		if (done < want_n)
			assert_true(n + widest > max);
		assert_int_equal(cw_bgp_update_decode(body_of_buf(n), &codec, &update, &err), CW_OK);
		assert_int_equal(update.n_faults, 0);
		if (!withdraw) {
			assert_int_equal(update.attrs.wire.n, attrs.n);
			assert_memory_equal(update.attrs.wire.p, attrs.p, attrs.n);
		}
		c = cw_cursor_of(family == CW_BGP_IPV4 ?
					 (withdraw ? update.withdrawn : update.nlri) :
					 (withdraw ? update.unreach.nlri : update.reach.nlri));
		for (; cw_bgp_prefix_get(&c, family, &got); decoded++) {
			assert_true(cw_prefix_compare(&last, &got) != 0);
			last = got;
		}
		bytes_free(NULL);
		attrs = bytes_of("40010100 40020602010000FFEB C00804FFEB0001");
	}
	assert_int_equal(decoded, want_n);
	assert_int_equal(cw_prefix_compare(&last, &prefix), 0);
}

static void test_packing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		pack(i & 1 ? CW_BGP_IPV6 : CW_BGP_IPV4, i & 2,
			i & 4 ? CW_BGP_MSG_EXTENDED_MAX : CW_BGP_MSG_MAX, 40000);
}

/* Attributes of every length around the one that just leaves room for the longest prefix. */
static void test_limits(void **state)
{
	static uint8_t attrs[CW_BGP_MSG_EXTENDED_MAX];
	const size_t maxima[] = { CW_BGP_MSG_MAX, CW_BGP_MSG_EXTENDED_MAX };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		enum cw_bgp_family family = i & 1 ? CW_BGP_IPV6 : CW_BGP_IPV4;
		const struct cw_addr next_hop =
			addr_of(family == CW_BGP_IPV4 ? "169.254.21.2" : "2001:db8::1");
		const struct cw_prefix host = prefix_of(
			family == CW_BGP_IPV4 ? "192.0.2.1" : "2001:db8::1");
		struct cw_bgp_codec codec = session_full;
		/* header, two lengths, next hop with its attribute, and the prefix */
		size_t around = 19 + 4 + (family == CW_BGP_IPV4 ? 7 + 5 : 4 + 21 + 17), most;

		codec.max = maxima[i / 2];
		most = codec.max - around;
		for (size_t len = most - 2; len <= most + 2; len++) {
			struct cw_writer w = cw_writer_of(attrs, sizeof(attrs));
			struct cw_span head = bytes_of("40010100 400200");
			struct cw_bgp_encoder e;
			struct cw_bgp_err err;
			enum cw_rc rc;
			size_t n;

			cw_put_bytes(&w, head.p, head.n);
			cw_put_u8(&w, 0xf0);
			cw_put_u8(&w, 0xff);
			cw_put_u16(&w, (uint16_t)(len - head.n - 4));
			rc = cw_bgp_encode_announce(&e, &codec, family,
				(struct cw_span){ .p = attrs, .n = len }, &next_hop, buf);
			assert_int_equal(rc, len <= most ? CW_OK : CW_E_TOO_BIG);
			assert_int_equal(cw_bgp_encode_prefix(&e, &host), rc == CW_OK);
			n = cw_bgp_encode_finish(&e);
			if (rc != CW_OK) {
				assert_int_equal(n, 0);
				continue;
			}
			assert_int_equal(n, codec.max - (most - len));
			assert_int_equal(
				cw_bgp_update_decode(body_of_buf(n), &codec, &update, &err), CW_OK);
			assert_int_equal(update.attrs.wire.n, len);
		}
	}
}

/* ---- 2-octet numbers, RFC 6793 ---- */

#define HOP "400304A9FE1502"

static const struct {
	const char *name, *in, *out; /* attributes as they come, and their canonical form */
} merges[] = {
	{ "no AS4_PATH", "40010100 4002060202FFEB0007" HOP, "40010100 40020A02020000FFEB00000007" },
	{ "as long as AS_PATH", "40010100 40020602025BA00007" HOP "C0110A0202FA56EA0000000007",
		"40010100 40020A0202FA56EA0000000007" },
	{ "shorter: the front is kept, as one sequence",
		"40010100 4002080203FFEB5BA00007" HOP "C0110A0202FA56EA0000000007",
		"40010100 40020E02030000FFEBFA56EA0000000007" },
	{ "shorter by a whole segment",
		"40010100 4002080201FFEB02015BA0" HOP "C011060201FA56EA00",
		"40010100 40020C02010000FFEB0201FA56EA00" },
	{ "longer: left alone", "40010100 40020402015BA0" HOP "C0110A0202FA56EA0000000007",
		"40010100 400206020100005BA0" },
	{ "a set counts as one",
		"40010100 40020A0201FFEB01025BA00007" HOP "C0110A0102FA56EA0000000007",
		"40010100 4002100201 0000FFEB 0102FA56EA0000000007" },
	{ "a set in front of what is kept",
		"40010100 40020A0102000100020201 5BA0" HOP "C011060201FA56EA00",
		"40010100 40021001020000000100000002 0201FA56EA00" },
	{ "a set behind the front",
		"40010100 4002060202FFEB5BA0" HOP "C0110A0102FA56EA0000000007",
		"40010100 40021002010000FFEB 0102FA56EA0000000007" },
	{ "a confederation's segment in AS4_PATH is discarded",
		"40010100 4002060202FFEB5BA0" HOP "C0110C03010000FDE80201FA56EA00",
		"40010100 40020A02020000FFEBFA56EA00" },
	{ "AGGREGATOR that is not AS_TRANS: neither counts",
		"40010100 40020402015BA0" HOP "C00706FFEBC0000201 C0110602010000FDF2 C012080000FDF2C0000202",
		"40010100 400206020100005BA0 C007080000FFEBC0000201" },
	{ "AGGREGATOR that is",
		"40010100 40020402015BA0" HOP "C007065BA0C0000201 C011060201FA56EA00 C01208FA56EA00C0000202",
		"40010100 4002060201FA56EA00 C00708FA56EA00C0000202" },
	{ "AGGREGATOR without the other", "40010100 40020402015BA0" HOP "C007065BA0C0000201 C011060201FA56EA00",
		"40010100 4002060201FA56EA00 C0070800005BA0C0000201" },
	{ "the other without AGGREGATOR", "40010100 4002040201FFEB" HOP "C01208FA56EA00C0000202",
		"40010100 40020602010000FFEB" },
	{ "the order does not matter", "C011060201FA56EA00" HOP "40020402015BA0 40010100",
		"40010100 4002060201FA56EA00" },
};

static void test_merge(void **state)
{
	struct cw_bgp_codec codec = session_full;
	struct cw_bgp_err err;

	(void)state;
	codec.as4 = false;
	for (size_t i = 0; i < COUNT(merges); i++) {
		struct cw_span attrs = bytes_of(merges[i].in);
		struct cw_writer w = cw_writer_of(buf, sizeof(buf));

		cw_put_u16(&w, 0);
		cw_put_u16(&w, (uint16_t)attrs.n);
		cw_put_bytes(&w, attrs.p, attrs.n);
		cw_put_u8(&w, 0);
		if (cw_bgp_update_decode(copy_of(buf, cw_writer_len(&w)), &codec, &update, &err) !=
				CW_OK ||
			update.n_faults)
			fail_msg("%s: %s", merges[i].name, update.faults[0].why);
		assert_row(merges[i].name, update.attrs.wire, merges[i].out);
		assert_survives(copy_of(update.attrs.wire.p, update.attrs.wire.n), &codec);
	}
}

static const struct {
	const char *name, *attrs, *hex; /* of the message's attributes */
} olds[] = {
	{ "all fit", "40010100 40020602010000FFEB C007080000FFEBC0000201",
		"40010100 4002040201FFEB" HOP "C00706FFEBC0000201" },
	{ "one does not", "40010100 40020A02020000FFEBFA56EA00 C00804FFEB0001",
		"40010100 4002060202FFEB5BA0" HOP "C00804FFEB0001 C0110A02020000FFEBFA56EA00" },
	{ "nor does the aggregator", "40010100 4002060201FA56EA00 E00708FA56EA00C0000201 C0200C000000010000000100000001",
		"40010100 40020402015BA0" HOP "E007065BA0C0000201 C011060201FA56EA00 C01208FA56EA00C0000201"
		"C0200C000000010000000100000001" },
	{ "a confederation's segment stays out of AS4_PATH",
		"40010100 40020C0301FA56EA000201FA56EA01",
		"40010100 40020803015BA002015BA0" HOP "C011060201FA56EA01" },
	{ "and alone makes none", "40010100 4002060301FA56EA00", "40010100 40020403015BA0" HOP },
};

static void test_old_peer(void **state)
{
	const struct cw_addr next_hop = addr_of("169.254.21.2");
	const struct cw_prefix prefix = prefix_of("0.0.0.0/0");
	struct cw_bgp_codec codec = session_full;

	(void)state;
	codec.as4 = false;
	for (size_t i = 0; i < COUNT(olds); i++) {
		struct cw_bgp_encoder e;
		size_t n;

		assert_int_equal(cw_bgp_encode_announce(&e, &codec, CW_BGP_IPV4,
					 bytes_of(olds[i].attrs), &next_hop, buf),
			CW_OK);
		assert_true(cw_bgp_encode_prefix(&e, &prefix));
		n = cw_bgp_encode_finish(&e);
		assert_row(olds[i].name, (struct cw_span){ .p = buf + 23, .n = n - 24 }, olds[i].hex);
	}
}

/* A path that fits with 2-octet numbers and in no attribute with 4-octet ones. */
static void test_path_too_long(void **state)
{
	struct cw_bgp_codec codec = session_full;
	struct cw_span head = bytes_of("40010100" HOP);
	struct cw_writer w = cw_writer_of(buf, sizeof(buf));
	const unsigned segments = 127;
	struct cw_bgp_err err;

	(void)state;
	codec.as4 = false;
	codec.max = CW_BGP_MSG_EXTENDED_MAX;
	cw_put_u16(&w, 0);
	cw_put_u16(&w, (uint16_t)(head.n + 4 + segments * 512));
	cw_put_bytes(&w, head.p, head.n);
	cw_put_u8(&w, 0x50);
	cw_put_u8(&w, CW_BGP_ATTR_AS_PATH);
	cw_put_u16(&w, segments * 512);
	for (unsigned i = 0; i < segments; i++) {
		cw_put_u8(&w, 2);
		cw_put_u8(&w, 255);
		for (unsigned j = 0; j < 255; j++)
			cw_put_u16(&w, 65515);
	}
	cw_put_u8(&w, 0);
	assert_true(cw_writer_ok(&w));
	assert_int_equal(
		cw_bgp_update_decode(copy_of(buf, cw_writer_len(&w)), &codec, &update, &err), CW_OK);
	assert_int_equal(update.verdict, CW_BGP_WITHDRAW);
	assert_int_equal(update.attrs.wire.n, 0);
	assert_int_equal(update.faults[0].type, CW_BGP_ATTR_AS_PATH);
}

/* ---- edits ---- */

#define BASE "40010100 40020602010000FFEB "

static const struct {
	const char *name, *in;
	struct cw_bgp_attrs_edit edit;
	const char *communities, *large; /* to add */
	const char *out;
} edits[] = {
	{ "nothing", BASE "80040400000064", { 0 }, "", "", BASE "80040400000064" },
	{ "prepend", BASE, { .prepend_asn = 65010, .prepend_n = 2 }, "", "",
		"40010100 40020E02030000FDF20000FDF20000FFEB" },
	{ "prepend to an empty path", "40010100 400200", { .prepend_asn = 65010, .prepend_n = 1 }, "", "",
		"40010100 40020602010000FDF2" },
	{ "prepend before a set", "40010100 400206010100000001", { .prepend_asn = 65010, .prepend_n = 1 },
		"", "", "40010100 40020C02010000FDF2010100000001" },
	{ "MED set anew", BASE "400600", { .set_med = true, .med = 7 }, "", "", BASE "80040400000007 400600" },
	{ "MED changed", BASE "80040400000064", { .set_med = true, .med = 7 }, "", "", BASE "80040400000007" },
	{ "MED dropped", BASE "80040400000064 400600", { .drop_med = true }, "", "", BASE "400600" },
	{ "LOCAL_PREF set", BASE "80040400000064", { .set_local_pref = true, .local_pref = 200 }, "", "",
		BASE "80040400000064 400504000000C8" },
	{ "LOCAL_PREF dropped", BASE "400504000000C8", { .drop_local_pref = true }, "", "", BASE },
	{ "communities added", BASE "C00804FFEB0001 E0FF00", { 0 }, "FFEB0002 FFEB0001 FFEB0002", "",
		BASE "C00808FFEB0001FFEB0002 E0FF00" },
	{ "RFC 4271 5: Partial on a new one of somebody else's route", BASE, { 0 }, "FFEB0002", "",
		BASE "E00804FFEB0002" },
	{ "and not on one of ours", "40010100 400200", { .prepend_asn = 65010, .prepend_n = 1 }, "FFEB0002",
		"000000010000000100000001",
		"40010100 40020602010000FDF2 C00804FFEB0002 C0200C000000010000000100000001" },
	{ "large communities added, each once", BASE "C0200C000000020000000100000001", { 0 }, "",
		"000000010000000100000001 000000020000000100000001",
		BASE "C02018000000010000000100000001000000020000000100000001" },
	{ "BL-104: all communities dropped, no empty attribute left",
		BASE "C00804FFEB0001 C010080002FFEB00000001 C0200C000000020000000100000001 E0FF00",
		{ .drop_communities = true }, "", "", BASE "E0FF00" },
	{ "dropped, and one put in their place", BASE "C00804FFEB0001", { .drop_communities = true },
		"FFEB0009", "", BASE "E00804FFEB0009" },
	{ "RFC 4360 6", BASE "C010100002FFEB000000014002FFEB00000001", { .drop_non_transitive_ext = true },
		"", "", BASE "C010080002FFEB00000001" },
	{ "RFC 4360 6, none left", BASE "C010084002FFEB00000001 E0FF00", { .drop_non_transitive_ext = true },
		"", "", BASE "E0FF00" },
	{ "OTC set", BASE, { .set_otc = true, .otc = 65515 }, "", "", BASE "E023040000FFEB" },
	{ "RFC 9234 5: OTC that is there stays", BASE "C0230400000007", { .set_otc = true, .otc = 65515 }, "",
		"", BASE "C0230400000007" },
	{ "reflector's dropped", BASE "8009040A0A0001 800A040A0A0001 E0FF00", { .drop_reflector = true }, "",
		"", BASE "E0FF00" },
	{ "unknown non-transitive dropped", BASE "8032 0100 E0FF00", { .drop_unknown_non_transitive = true },
		"", "", BASE "E0FF00" },
	{ "all at once", BASE "80040400000064 400504000000C8",
		{ .prepend_asn = 65010, .prepend_n = 1, .drop_med = true, .drop_local_pref = true,
			.set_otc = true, .otc = 1 },
		"FFEB0002", "000000010000000100000001",
		"40010100 40020A02020000FDF20000FFEB E00804FFEB0002 E0200C000000010000000100000001 E0230400000001" },
};

static void test_edit(void **state)
{
	struct cw_bgp_attrs_view view;

	(void)state;
	for (size_t i = 0; i < COUNT(edits); i++) {
		struct cw_bgp_attrs_edit edit = edits[i].edit;
		struct cw_span in = bytes_of(edits[i].in);
		size_t n;

		edit.add_communities = bytes_of(edits[i].communities);
		edit.add_large_communities = bytes_of(edits[i].large);
		n = cw_bgp_attrs_edit(in, &edit, buf, sizeof(buf));
		assert_row(edits[i].name, (struct cw_span){ .p = buf, .n = n }, edits[i].out);
		assert_int_equal(cw_bgp_attrs_read(copy_of(buf, n), &view), CW_OK);
		for (size_t size = 0; size < n; size++) {
			uint8_t *block = malloc(size ? size : 1);

			assert_non_null(block);
			assert_int_equal(cw_bgp_attrs_edit(in, &edit, block, size), 0);
			free(block);
		}
		bytes_free(NULL);
	}
}

/* RFC 4271 5.1.2: a sequence holds 255. */
static void test_prepend_many(void **state)
{
	static uint8_t attrs[4096];
	struct cw_span own = bytes_of(BASE);

	(void)state;
	for (unsigned n = 250; n <= 520; n++) {
		const struct cw_bgp_attrs_edit edit = { .prepend_asn = 65010, .prepend_n = n };
		struct cw_bgp_attrs_view view;
		size_t len = cw_bgp_attrs_edit(own, &edit, attrs, sizeof(attrs));

		assert_int_equal(
			cw_bgp_attrs_read((struct cw_span){ .p = attrs, .n = len }, &view), CW_OK);
		assert_int_equal(view.path_len, n + 1);
		assert_int_equal(view.first_as, 65010);
		assert_int_equal(view.origin_as, 65515);
		assert_int_equal(cw_bgp_path_count(view.as_path, 65010), n);
		/* As few segments as can be. */
		assert_int_equal(view.as_path.n, 4 * (n + 1) + 2 * ((n + 1 + 254) / 255));
	}
	assert_int_equal(cw_bgp_attrs_edit(own,
				 &(const struct cw_bgp_attrs_edit){ .prepend_asn = 1, .prepend_n = 4000000000 },
				 buf, sizeof(buf)),
		0);
}

static void test_own(void **state)
{
	uint8_t attrs[16];
	size_t n = cw_bgp_attrs_own(attrs, sizeof(attrs));

	(void)state;
	assert_bytes((struct cw_span){ .p = attrs, .n = n }, "40010100 400200");
	assert_int_equal(cw_bgp_attrs_own(attrs, n - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_announce, bytes_free),
		cmocka_unit_test_teardown(test_withdraw, bytes_free),
		cmocka_unit_test_teardown(test_packing, bytes_free),
		cmocka_unit_test_teardown(test_limits, bytes_free),
		cmocka_unit_test_teardown(test_merge, bytes_free),
		cmocka_unit_test_teardown(test_old_peer, bytes_free),
		cmocka_unit_test_teardown(test_path_too_long, bytes_free),
		cmocka_unit_test_teardown(test_edit, bytes_free),
		cmocka_unit_test_teardown(test_prepend_many, bytes_free),
		cmocka_unit_test_teardown(test_own, bytes_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
