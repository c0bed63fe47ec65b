/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_out.h"

#include "bgp/bgp_out_priv.h"
#include "wire/bgp_msg.h"

#include <stdlib.h>

struct cw_bgp_out *cw_bgp_out_new(struct cw_bgp_rib *rib, struct cw_bgp_store *store,
				  uint16_t source, const struct cw_bgp_export *export)
{
	struct cw_bgp_out *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->rib = rib;
	out->store = store;
	out->source = source;
	out->export = *export;
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		out->side[f].family = (enum cw_bgp_family)f;
		/* Aligned for the numbers in it. */
		out->side[f].entry_size =
			(offsetof(struct cw_out_entry, addr) + (f == CW_BGP_IPV6 ? 16 : 4) + 3) / 4 * 4;
	}
	return out;
}

void cw_bgp_out_free(struct cw_bgp_out *out)
{
	if (!out)
		return;
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		cw_out_clear(out, &out->side[f], UINT32_MAX);
	cw_out_map_forget(out);
	free(out);
}

/* ---- the session comes and goes ---- */

static void begin(struct cw_bgp_out *out)
{
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_out_side *side = &out->side[f];

		side->agreed = out->codec.family[f];
		side->limit = out->limit;
		side->walking = side->end_of_rib_due = side->agreed;
	}
}

void cw_bgp_out_start(struct cw_bgp_out *out, const struct cw_bgp_codec *codec, uint32_t limit)
{
	if (out->running)
		cw_bgp_out_stop(out);
	out->codec = *codec;
	out->limit = limit;
	out->running = true;
	if (!out->clearing)
		begin(out);
}

void cw_bgp_out_stop(struct cw_bgp_out *out)
{
	if (!out->running)
		return;
	out->running = false;
	out->clearing = true;
	cw_out_map_forget(out);
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		out->side[f].agreed = out->side[f].walking = false;
}

void cw_bgp_out_set_limit(struct cw_bgp_out *out, uint32_t limit)
{
	out->limit = limit;
	for (int f = 0; !out->clearing && f < CW_BGP_FAMILIES; f++)
		cw_out_set_limit(&out->side[f], limit);
}

/* ---- what has changed ---- */

static enum cw_rc consider(struct cw_bgp_out *out, struct cw_out_side *side,
			   const struct cw_bgp_change *change)
{
	uint32_t wanted;
	enum cw_rc rc = cw_out_map(out, side->family, change, &wanted);

	if (rc != CW_OK)
		return rc;
	rc = cw_out_want(out, side, &change->prefix, wanted);
	cw_bgp_store_unref(out->store, wanted);
	return rc;
}

static struct cw_out_side *side_of(struct cw_bgp_out *out, const struct cw_prefix *prefix)
{
	return &out->side[prefix->addr.family == CW_FAMILY_IPV6 ? CW_BGP_IPV6 : CW_BGP_IPV4];
}

enum cw_rc cw_bgp_out_update(struct cw_bgp_out *out, const struct cw_bgp_change *change)
{
	struct cw_out_side *side = side_of(out, &change->prefix);

	return side->agreed && !out->clearing ? consider(out, side, change) : CW_OK;
}

void cw_bgp_out_policy_changed(struct cw_bgp_out *out)
{
	cw_out_map_forget(out);
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		out->side[f].walking = out->side[f].agreed;
		out->side[f].walk_begun = false;
	}
}

void cw_bgp_out_refresh(struct cw_bgp_out *out, enum cw_bgp_family family, bool enhanced)
{
	struct cw_out_side *side = &out->side[family];

	if (!side->agreed)
		return;
	side->refresh_wanted = true;
	side->refresh_enhanced = enhanced;
}

/* ---- walks ---- */

/* Through the rib. Each returns true where there is more to do. */
static bool walk_rib(struct cw_bgp_out *out, struct cw_out_side *side, size_t budget)
{
	struct cw_bgp_change state;

	for (; budget; budget--) {
		if (!cw_bgp_rib_next(out->rib, side->family,
				     side->walk_begun ? &side->walk_at : NULL, &state)) {
			side->walking = side->walk_begun = false;
			return false;
		}
		if (consider(out, side, &state) != CW_OK)
			return true; /* no memory: the same prefix again, next time */
		side->walk_at = state.prefix;
		side->walk_begun = true;
	}
	return true;
}

/* Through our own entries, to send them again. */
static bool walk_again(struct cw_out_side *side, size_t budget)
{
	for (; budget; budget--, side->refresh_at++) {
		if (side->refresh_at > side->fresh) {
			side->refresh_at = 0;
			return false;
		}
		if (cw_out_again(side, side->refresh_at) != CW_OK)
			break;
	}
	return true;
}

/* Is something to be looked at before announcements may go on? */
static bool is_walking(const struct cw_out_side *side)
{
	return side->walking || side->refresh_at;
}

/* RFC 7313 4: BoRR does not come before End-of-RIB. */
static void begin_refresh(struct cw_out_side *side)
{
	if (!side->refresh_wanted || side->walking || side->end_of_rib_due)
		return;
	side->refresh_wanted = false;
	side->refresh_at = 1;
	side->begin_due = side->end_due = side->refresh_enhanced;
}

bool cw_bgp_out_work(struct cw_bgp_out *out, size_t budget)
{
	bool more = false;

	if (out->clearing) {
		for (int f = 0; f < CW_BGP_FAMILIES; f++)
			more |= cw_out_clear(out, &out->side[f], (uint32_t)budget);
		if (more)
			return true;
		out->clearing = false;
		if (out->running)
			begin(out);
	}
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_out_side *side = &out->side[f];

		begin_refresh(side);
		if (side->walking)
			more |= walk_rib(out, side, budget);
		else if (side->refresh_at)
			more |= walk_again(side, budget);
	}
	return more;
}

/* ---- messages ---- */

static size_t next_withdraw(struct cw_bgp_out *out, struct cw_out_side *side, uint8_t *buf)
{
	struct cw_bgp_encoder encoder;
	struct cw_prefix prefix;

	cw_bgp_encode_withdraw(&encoder, &out->codec, side->family, buf);
	while (side->withdraw) {
		cw_out_entry_prefix(side, cw_out_entry_at(side, side->withdraw), &prefix);
		if (!cw_bgp_encode_prefix(&encoder, &prefix))
			break;
		cw_out_sent(out, side, side->withdraw);
	}
	return cw_bgp_encode_finish(&encoder);
}

/* A message from the group that has waited longest; 0: its attributes fit none, and its routes are given up. */
static size_t next_announce(struct cw_bgp_out *out, struct cw_out_side *side, uint8_t *buf)
{
	/* The group goes when its last entry is sent; its attributes are held by then. */
	uint32_t group = side->first_group;
	uint32_t attrs = cw_bgp_store_ref(out->store, side->groups[group - 1].attrs);
	const struct cw_bgp_set *set = cw_bgp_store_set(out->store, attrs);
	struct cw_addr next_hop = cw_bgp_set_next_hop(set);
	struct cw_bgp_encoder encoder;
	struct cw_prefix prefix;
	size_t n = 0;

	if (cw_bgp_encode_announce(&encoder, &out->codec, side->family, cw_bgp_set_wire(set), &next_hop,
				   buf) == CW_OK) {
		while (side->first_group == group && side->groups[group - 1].attrs == attrs) {
			uint32_t number = side->groups[group - 1].head;

			cw_out_entry_prefix(side, cw_out_entry_at(side, number), &prefix);
			if (!cw_bgp_encode_prefix(&encoder, &prefix))
				break;
			cw_out_sent(out, side, number);
		}
		n = cw_bgp_encode_finish(&encoder);
	}
	while (!n && side->first_group == group && side->groups[group - 1].attrs == attrs)
		cw_out_refuse(out, side, side->groups[group - 1].head);
	cw_bgp_store_unref(out->store, attrs);
	return n;
}

/* The marks at the ends of what a peer waits for. */
static size_t next_mark(struct cw_out_side *side, uint8_t *buf, size_t size)
{
	if (side->end_of_rib_due) {
		side->end_of_rib_due = false;
		side->count.end_of_rib = true;
		return cw_bgp_end_of_rib_encode(side->family, buf, size);
	}
	side->end_due = false;
	return cw_bgp_refresh_encode(side->family, CW_BGP_REFRESH_END, buf, size);
}

size_t cw_bgp_out_next(struct cw_bgp_out *out, uint8_t *buf, size_t size)
{
	if (!out->running || out->clearing || size < out->codec.max)
		return 0;
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		if (out->side[f].withdraw)
			return next_withdraw(out, &out->side[f], buf);
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_out_side *side = &out->side[f];

		if (!side->agreed || is_walking(side))
			continue;
		if (side->begin_due) {
			side->begin_due = false;
			return cw_bgp_refresh_encode(side->family, CW_BGP_REFRESH_BEGIN, buf, size);
		}
		while (side->first_group) {
			size_t n = next_announce(out, side, buf);

			if (n)
				return n;
			if (side->withdraw) /* given up, and the peer has it */
				return next_withdraw(out, side, buf);
		}
		if (side->end_of_rib_due || side->end_due)
			return next_mark(side, buf, size);
	}
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		begin_refresh(&out->side[f]);
	/* Nothing to be said: what was remembered for saying it may go. */
	if (!is_walking(&out->side[CW_BGP_IPV4]) && !is_walking(&out->side[CW_BGP_IPV6]))
		cw_out_map_forget(out);
	return 0;
}

bool cw_bgp_out_pending(const struct cw_bgp_out *out)
{
	if (!out->running || out->clearing)
		return false;
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		const struct cw_out_side *side = &out->side[f];

		if (side->withdraw)
			return true;
		if (side->agreed && !is_walking(side) &&
		    (side->first_group || side->begin_due || side->end_due || side->end_of_rib_due))
			return true;
	}
	return false;
}

/* ---- looking ---- */

const struct cw_bgp_out_count *cw_bgp_out_count(const struct cw_bgp_out *out,
						enum cw_bgp_family family)
{
	return &out->side[family].count;
}

enum cw_bgp_out_state cw_bgp_out_find(struct cw_bgp_out *out, const struct cw_prefix *prefix,
				      uint32_t *ret_attrs)
{
	struct cw_out_side *side = side_of(out, prefix);
	const uint32_t *number = side->index && !out->clearing ?
					 cw_bgp_table_find(side->index, prefix) :
					 NULL;
	const struct cw_out_entry *entry = number ? cw_out_entry_at(side, *number) : NULL;

	if (ret_attrs)
		*ret_attrs = entry ? entry->sent : 0;
	if (!entry)
		return CW_BGP_OUT_NONE;
	switch ((enum cw_out_place)entry->place) {
	case CW_OUT_IDLE:
		return CW_BGP_OUT_SENT;
	case CW_OUT_SURPLUS:
		return CW_BGP_OUT_SURPLUS;
	case CW_OUT_ANNOUNCE:
	case CW_OUT_WITHDRAW:
		return CW_BGP_OUT_PENDING;
	case CW_OUT_FREE:
		break;
	}
	return CW_BGP_OUT_NONE;
}

size_t cw_bgp_out_memory(const struct cw_bgp_out *out)
{
	size_t n = sizeof(*out) + out->memory.size * sizeof(*out->memory.places);

	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		n += cw_out_side_memory(&out->side[f]);
	return n;
}
