/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a kind of session and an UPDATE for it. Whatever it says, what is accepted has a canonical form that
 * reads as the same, and that comes back the same when it is sent to a peer with or without 4-octet numbers.
 */
#include "fuzz.h"

#include "wire/bgp_msg.h"
#include "wire/bgp_update.h"
#include "wire/mrt.h"

static struct cw_bgp_update update, again;
static uint8_t out[CW_BGP_MSG_EXTENDED_MAX], record[2 * CW_BGP_MSG_EXTENDED_MAX];

static void check_list(struct cw_span list, enum cw_bgp_family family)
{
	struct cw_cursor c = cw_cursor_of(list);
	struct cw_prefix prefix;

	while (cw_bgp_prefix_get(&c, family, &prefix))
		must(!cw_prefix_has_host_bits(&prefix), "host bits in a prefix");
	must(cw_cursor_ok(&c) && !cw_cursor_left(&c), "a list that was checked breaks");
}

static bool same_span(struct cw_span a, struct cw_span b)
{
	return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static void check_view(const struct cw_bgp_attrs_view *a)
{
	struct cw_bgp_attrs_view b;
	char text[128];

	must(cw_bgp_attrs_read(a->wire, &b) == CW_OK, "a canonical form that can't be read");
	must(a->origin == b.origin && a->has_med == b.has_med && a->has_local_pref == b.has_local_pref &&
	     a->has_otc == b.has_otc && a->atomic == b.atomic && a->has_originator == b.has_originator &&
	     a->med == b.med && a->local_pref == b.local_pref && a->otc == b.otc &&
	     a->originator_id == b.originator_id && a->path_len == b.path_len && a->first_as == b.first_as &&
	     a->origin_as == b.origin_as && same_span(a->as_path, b.as_path) &&
	     same_span(a->communities, b.communities) && same_span(a->ext_communities, b.ext_communities) &&
	     same_span(a->large_communities, b.large_communities) && same_span(a->cluster_list, b.cluster_list),
	     "a canonical form reads as another");
	must(!cw_bgp_path_has(a->as_path, 0), "AS 0 in a path");
	must(strlen(cw_bgp_path_print(a->as_path, text, sizeof(text))) < sizeof(text), "path text");
	must(strlen(cw_bgp_communities_print(a->communities, text, sizeof(text))) < sizeof(text), "communities text");
	must(strlen(cw_bgp_large_communities_print(a->large_communities, text, sizeof(text))) < sizeof(text),
	     "large communities text");
}

/* Sent to another peer, the attributes are what they were. */
static void check_encode(struct cw_span attrs, const struct cw_bgp_codec *from, unsigned how)
{
	static const struct cw_addr hops[] = {
		{ .family = CW_FAMILY_IPV4, .bytes = { 192, 0, 2, 1 } },
		{ .family = CW_FAMILY_IPV6, .bytes = { 0x20, 1, 0xd, 0xb8 } },
	};
	const enum cw_bgp_family family = how & 1 ? CW_BGP_IPV6 : CW_BGP_IPV4;
	const struct cw_prefix prefix = { .addr = { .family = hops[family].family, .bytes = { 10 } }, .len = 8 };
	struct cw_bgp_codec codec = { .as4 = how & 2, .ibgp = from->ibgp, .family = { true, true },
		.max = how & 4 ? CW_BGP_MSG_EXTENDED_MAX : CW_BGP_MSG_MAX };
	struct cw_bgp_encoder e;
	struct cw_bgp_err err;
	struct cw_mrt_rib rib;
	size_t n;

	cw_mrt_rib_begin(&rib, 1, 2, &prefix, record, sizeof(record));
	if (cw_mrt_rib_add(&rib, 3, 4, attrs, &hops[family]))
		must(cw_mrt_rib_end(&rib) > attrs.n, "a record shorter than what is in it");
	if (cw_bgp_encode_announce(&e, &codec, family, attrs, &hops[family], out) != CW_OK) {
		must(cw_bgp_encode_finish(&e) == 0, "a message that does not fit is written");
		return;
	}
	must(cw_bgp_encode_prefix(&e, &prefix), "no room for a prefix");
	n = cw_bgp_encode_finish(&e);
	must(n && n <= codec.max, "a message of %zu", n);
	must(cw_bgp_update_decode((struct cw_span){ .p = out + CW_BGP_HEADER_LEN, .n = n - CW_BGP_HEADER_LEN }, &codec,
		     &again, &err) == CW_OK && again.verdict == CW_BGP_ACCEPT,
	     "what was encoded is refused: %s", again.n_faults ? again.faults[0].why : "");
	must(same_span(again.attrs.wire, attrs), "other attributes come back");
}

static void check_faults(struct cw_span in)
{
	enum cw_bgp_verdict gravest = CW_BGP_ACCEPT;

	for (size_t i = 0; i < update.n_faults && i < CW_BGP_FAULTS_MAX; i++) {
		const struct cw_bgp_fault *fault = &update.faults[i];

		must(fault->why && fault->verdict > CW_BGP_ACCEPT && fault->verdict <= CW_BGP_RESET,
		     "a fault without a verdict");
		must(!fault->bytes.n || (fault->bytes.p >= in.p && fault->bytes.p + fault->bytes.n <= in.p + in.n),
		     "a fault outside of the message");
		if (fault->verdict > gravest)
			gravest = fault->verdict;
	}
	must(update.verdict >= gravest, "a verdict weaker than a fault");
	must((update.verdict == CW_BGP_ACCEPT) == (update.n_faults == 0), "a verdict without a fault");
}

static void try_update(struct cw_span in, const struct cw_bgp_codec *codec)
{
	struct cw_bgp_err err;
	enum cw_rc rc = cw_bgp_update_decode(in, codec, &update, &err);

	check_faults(in);
	must((rc == CW_E_PEER) == (update.verdict == CW_BGP_RESET), "a reset of no error");
	if (rc != CW_OK) {
		must(err.code == CW_BGP_E_UPDATE && err.subcode && err.why && err.offset <= in.n, "error %u/%u",
		     err.code, err.subcode);
		return;
	}
	check_list(update.withdrawn, CW_BGP_IPV4);
	check_list(update.nlri, CW_BGP_IPV4);
	if (update.reach.family < CW_BGP_FAMILIES)
		check_list(update.reach.nlri, update.reach.family);
	if (update.unreach.family < CW_BGP_FAMILIES)
		check_list(update.unreach.nlri, update.unreach.family);
	must(!update.end_of_rib || (!update.withdrawn.n && !update.nlri.n && !update.reach.present),
	     "an End-of-RIB with routes");
	if (!update.attrs.wire.n)
		return;
	check_view(&update.attrs);
	for (unsigned how = 0; how < 8; how++)
		check_encode(update.attrs.wire, codec, how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cw_bgp_codec codec;
	uint8_t *block;

	if (size < 1)
		return 0;
	codec = (struct cw_bgp_codec){ .as4 = data[0] & 1, .ibgp = data[0] & 2,
		.family = { !(data[0] & 4), !(data[0] & 8) }, .ext_next_hop = data[0] & 16,
		.max = CW_BGP_MSG_EXTENDED_MAX };
	/* Of exactly its size, so that an octet read behind it is seen. */
	block = malloc(size);
	must(block, "no memory");
	memcpy(block, data + 1, size - 1);
	block = realloc(block, size > 1 ? size - 1 : 1);
	try_update((struct cw_span){ .p = block, .n = size - 1 }, &codec);
	free(block);
	return 0;
}
