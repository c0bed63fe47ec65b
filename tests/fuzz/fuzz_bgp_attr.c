/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is an edit and the attributes it is done to, canonical or not. What was canonical stays so, and is
 * what the edit wants; what was not is at least not read behind its end.
 */
#include "fuzz.h"

#include "wire/bgp_attr.h"

static uint8_t out[1 << 17], small[1 << 17];

static void take_bytes(struct input *in, uint8_t *buf, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = take_u8(in);
}

static void check_edited(const struct cw_bgp_attrs_edit *edit, const struct cw_bgp_attrs_view *before,
	const struct cw_bgp_attrs_view *after)
{
	unsigned added = before->as_path.n || edit->prepend_n ? edit->prepend_n : 0;

	must(after->path_len == (uint16_t)(before->path_len + added), "%u prepended: from %u to %u", edit->prepend_n,
	     before->path_len, after->path_len);
	must(!added || after->first_as == edit->prepend_asn, "another AS is first");
	must(after->has_med == (edit->set_med || (before->has_med && !edit->drop_med)), "MED");
	must(!edit->set_med || after->med == edit->med, "another MED");
	must(after->has_local_pref == (edit->set_local_pref || (before->has_local_pref && !edit->drop_local_pref)),
	     "LOCAL_PREF");
	must(after->has_otc == (edit->set_otc || before->has_otc), "OTC");
	must(!before->has_otc || after->otc == before->otc, "an OTC is changed");
	must(!edit->drop_reflector || (!after->has_originator && !after->cluster_list.n), "reflector's attributes");
	if (edit->drop_communities) {
		must(after->communities.n <= edit->add_communities.n, "communities stay");
		must(after->large_communities.n <= edit->add_large_communities.n, "large communities stay");
	}
	for (size_t i = 0; i < edit->add_communities.n; i += 4) {
		bool there = false;

		for (size_t j = 0; j < after->communities.n; j += 4)
			there |= memcmp(after->communities.p + j, edit->add_communities.p + i, 4) == 0;
		must(there, "a community is not added");
	}
	for (size_t i = 12; edit->add_large_communities.n && i < after->large_communities.n; i += 12)
		must(memcmp(after->large_communities.p + i - 12, after->large_communities.p + i, 12) < 0,
		     "large communities are no set");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .at = data, .left = size };
	uint8_t communities[32], large[36], flags = take_u8(&in), counts = take_u8(&in);
	struct cw_bgp_attrs_edit edit = { .prepend_asn = take_u32(&in) | 1,
		.prepend_n = flags & 1 ? take_u16(&in) % 1024 : 0,
		.drop_med = flags & 2, .set_med = flags & 4, .med = 7,
		.drop_local_pref = flags & 8, .set_local_pref = flags & 16, .local_pref = 9,
		.drop_communities = flags & 32, .drop_non_transitive_ext = flags & 64,
		.drop_reflector = flags & 128, .drop_unknown_non_transitive = counts & 64,
		.set_otc = counts & 128, .otc = 11 };
	struct cw_bgp_attrs_view before, after;
	struct cw_span wire;
	uint8_t *block;
	bool canonical;
	size_t n, enough;

	take_bytes(&in, communities, sizeof(communities));
	take_bytes(&in, large, sizeof(large));
	edit.add_communities = (struct cw_span){ .p = communities, .n = 4u * (counts & 7) };
	edit.add_large_communities = (struct cw_span){ .p = large, .n = 12u * (counts >> 3 & 3) };
	block = malloc(in.left ? in.left : 1);
	must(block, "no memory");
	memcpy(block, in.at, in.left);
	wire = (struct cw_span){ .p = block, .n = in.left };

	canonical = cw_bgp_attrs_read(wire, &before) == CW_OK;
	n = cw_bgp_attrs_edit(wire, &edit, out, sizeof(out));
	must(n <= sizeof(out), "%zu octets", n);
	if (canonical && n) {
		must(cw_bgp_attrs_read((struct cw_span){ .p = out, .n = n }, &after) == CW_OK,
		     "an edit leaves no canonical form");
		check_edited(&edit, &before, &after);
		enough = wire.n + edit.add_communities.n + edit.add_large_communities.n + CW_BGP_EDIT_ROOM +
			 4 * edit.prepend_n + 2 * (edit.prepend_n / 255);
		must(cw_bgp_attrs_edit(wire, &edit, small, enough) == n && memcmp(small, out, n) == 0,
		     "an edit does not fit into what is enough");
		must(cw_bgp_attrs_edit(wire, &edit, small, n - 1) == 0, "an edit that does not fit does");
	}
	free(block);
	return 0;
}
