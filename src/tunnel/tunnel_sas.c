/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tunnel/tunnel_priv.h"

#include <stdlib.h>
#include <string.h>

/* Two IKE_SAs made by different initiators within this time crossed each other on the wire: neither
 * side had heard of the other's when it began. A peer that restarted is slower than this. */
#define CROSSING_US 2000000

struct ike_entry *cw_tunnel_ike_find(struct cw_tunnel *t, uint32_t ike_id)
{
	for (size_t i = 0; i < t->n_ikes; i++) {
		if (t->ikes[i].info.ike_id == ike_id)
			return &t->ikes[i];
	}
	return NULL;
}

struct ike_entry *cw_tunnel_ike_put(struct cw_tunnel *t, const struct cw_ike_sa_info *info,
				    struct cw_time now, bool *ret_new)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, info->ike_id);
	bool was_up = e && e->info.state == CW_IKE_SA_ESTABLISHED;

	*ret_new = !e;
	if (!e) {
		if (t->n_ikes == CW_TUNNEL_IKES_MAX)
			return NULL;
		e = &t->ikes[t->n_ikes++];
		*e = (struct ike_entry){ .known_at = now };
	}
	e->info = *info;
	e->info_at = now;
	if (info->state == CW_IKE_SA_ESTABLISHED && !was_up)
		e->up_at = cw_time_add_s(now, -(int64_t)info->established_s_ago);
	return e;
}

void cw_tunnel_ike_drop(struct cw_tunnel *t, uint32_t ike_id)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, ike_id);

	if (!e)
		return;
	for (size_t i = t->n_children; i-- > 0;) {
		if (t->children[i].info.ike_id == ike_id)
			cw_tunnel_child_drop(t, t->children[i].info.child_id);
	}
	*e = t->ikes[--t->n_ikes];
}

static bool ike_live(const struct ike_entry *e)
{
	return e->info.state == CW_IKE_SA_ESTABLISHED && !e->closing;
}

size_t cw_tunnel_ike_live(const struct cw_tunnel *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_ikes; i++)
		n += ike_live(&t->ikes[i]);
	return n;
}

/* Does a count rather than b? */
static bool ike_wins(const struct ike_entry *a, const struct ike_entry *b)
{
	int64_t apart_us = cw_time_diff_us(a->up_at, b->up_at);

	if (a->info.initiator != b->info.initiator && apart_us <= CROSSING_US && apart_us >= -CROSSING_US)
		return a->info.spi_i < b->info.spi_i;
	if (apart_us)
		return apart_us > 0;
	return a->info.ike_id > b->info.ike_id;
}

struct ike_entry *cw_tunnel_ike_pick(struct cw_tunnel *t)
{
	struct ike_entry *best = NULL;

	for (size_t i = 0; i < t->n_ikes; i++) {
		if (ike_live(&t->ikes[i]) && (!best || ike_wins(&t->ikes[i], best)))
			best = &t->ikes[i];
	}
	return best;
}

struct child_entry *cw_tunnel_child_find(struct cw_tunnel *t, uint32_t child_id)
{
	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.child_id == child_id)
			return &t->children[i];
	}
	return NULL;
}

struct child_entry *cw_tunnel_child_put(struct cw_tunnel *t, const struct cw_child_info *info,
					struct cw_time now)
{
	struct child_entry *c = cw_tunnel_child_find(t, info->child_id);

	if (!c) {
		if (t->n_children == t->max_children)
			return NULL;
		c = &t->children[t->n_children++];
		*c = (struct child_entry){ .known_at = now };
	} else {
		/* Counters never go back: the daemon may have read newer ones from the kernel. */
		struct cw_child_info merged = *info;

		if (merged.bytes_in < c->info.bytes_in)
			merged.bytes_in = c->info.bytes_in;
		if (merged.bytes_out < c->info.bytes_out)
			merged.bytes_out = c->info.bytes_out;
		if (merged.packets_in < c->info.packets_in)
			merged.packets_in = c->info.packets_in;
		if (merged.packets_out < c->info.packets_out)
			merged.packets_out = c->info.packets_out;
		c->info = merged;
		c->info_at = now;
		return c;
	}
	c->info = *info;
	c->info_at = now;
	return c;
}

void cw_tunnel_child_drop(struct cw_tunnel *t, uint32_t child_id)
{
	struct child_entry *c = cw_tunnel_child_find(t, child_id);

	if (!c)
		return;
	t->gone_bytes_in += c->info.bytes_in;
	t->gone_bytes_out += c->info.bytes_out;
	t->gone_packets_in += c->info.packets_in;
	t->gone_packets_out += c->info.packets_out;
	*c = t->children[--t->n_children];
}

bool cw_tunnel_child_live(const struct child_entry *c)
{
	return c->info.state == CW_CHILD_INSTALLED || c->info.state == CW_CHILD_REKEYING;
}

bool cw_tunnel_pair_carries(const struct cw_tunnel *t, uint32_t pair)
{
	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.pair == pair && cw_tunnel_child_live(&t->children[i]))
			return true;
	}
	return false;
}

uint32_t cw_tunnel_pairs_carrying(const struct cw_tunnel *t)
{
	uint32_t n = 0;

	for (uint32_t pair = 0; pair < t->pairs; pair++)
		n += cw_tunnel_pair_carries(t, pair);
	return n;
}

bool cw_tunnel_carries(const struct cw_tunnel *t)
{
	return cw_tunnel_pairs_carrying(t) > 0;
}
