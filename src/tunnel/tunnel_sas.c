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

struct ike_entry *cw_tunnel_ike_put(
	struct cw_tunnel *t, const struct cw_ike_sa_info *info, struct cw_time now, bool *ret_new)
{
	struct ike_entry *e = cw_tunnel_ike_find(t, info->ike_id);
	bool was_up = e && e->info.state == CW_IKE_SA_ESTABLISHED;

	*ret_new = !e;
	if (!e) {
		if (t->n_ikes == CW_TUNNEL_IKES_MAX)
			return NULL;
		e = &t->ikes[t->n_ikes++];
		*e = (struct ike_entry){
			.known_at = now,
			.first_spi_i = info->spi_i,
			.first_initiator = info->initiator,
		};
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

	for (size_t i = t->n_children; i-- > 0;) {
		if (t->children[i].info.ike_id == ike_id)
			cw_tunnel_child_drop(t, t->children[i].info.child_id);
	}
	if (e)
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

bool cw_tunnel_ike_closing(const struct cw_tunnel *t)
{
	for (size_t i = 0; i < t->n_ikes; i++) {
		if (t->ikes[i].closing)
			return true;
	}
	return false;
}

bool cw_tunnel_ike_crossed(const struct ike_entry *a, const struct ike_entry *b)
{
	int64_t apart_us = cw_time_diff_us(a->up_at, b->up_at);

	return a->first_initiator != b->first_initiator && apart_us <= CROSSING_US &&
	       apart_us >= -CROSSING_US;
}

/* Does a count rather than b? */
static bool ike_wins(const struct ike_entry *a, const struct ike_entry *b)
{
	int64_t apart_us = cw_time_diff_us(a->up_at, b->up_at);

	if (cw_tunnel_ike_crossed(a, b))
		return a->first_spi_i < b->first_spi_i;
	if (apart_us)
		return apart_us > 0;
	return a->info.ike_id > b->info.ike_id;
}

const struct ike_entry *cw_tunnel_ike_best(const struct cw_tunnel *t)
{
	const struct ike_entry *best = NULL;

	for (size_t i = 0; i < t->n_ikes; i++) {
		if (ike_live(&t->ikes[i]) && (!best || ike_wins(&t->ikes[i], best)))
			best = &t->ikes[i];
	}
	return best;
}

struct ike_entry *cw_tunnel_ike_pick(struct cw_tunnel *t)
{
	const struct ike_entry *best = cw_tunnel_ike_best(t);

	return best ? &t->ikes[best - t->ikes] : NULL;
}

struct child_entry *cw_tunnel_child_find(struct cw_tunnel *t, uint32_t child_id)
{
	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.child_id == child_id)
			return &t->children[i];
	}
	return NULL;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Room for one that carries: whoever rekeys many times within seconds leaves as many that only wait for
 * late packets. What is forgotten here is not to come back by a snapshot. */
static bool make_room(struct cw_tunnel *t)
{
	size_t i = 0;

	while (i < t->n_children && cw_tunnel_child_live(&t->children[i]))
		i++;
	if (i == t->n_children)
		return false;
	cw_tunnel_gone_add(&t->gone_children, t->children[i].info.child_id);
	cw_tunnel_child_drop(t, t->children[i].info.child_id);
	return true;
}

struct child_entry *cw_tunnel_child_put(
	struct cw_tunnel *t, const struct cw_child_info *info, struct cw_time now)
{
	struct child_entry *c = cw_tunnel_child_find(t, info->child_id);
	struct cw_child_info before = { 0 };

	if (c) {
		before = c->info;
	} else {
		bool carries = info->state == CW_CHILD_INSTALLED || info->state == CW_CHILD_REKEYING;

		if (t->n_children == t->max_children && !(carries && make_room(t)))
			return NULL;
		c = &t->children[t->n_children++];
		*c = (struct child_entry){
			.known_at = now,
			.line_at = cw_time_add_s(now, -(int64_t)info->installed_s_ago),
		};
	}
	c->info = *info;
	c->info_at = now;
	/* With one pair every child is its child, however the peer narrowed it. */
	if (t->pairs == 1)
		c->info.pair = 0;
	/* Counters never go back: the daemon may have read newer ones from the kernel. */
	c->info.bytes_in = larger(info->bytes_in, before.bytes_in);
	c->info.bytes_out = larger(info->bytes_out, before.bytes_out);
	c->info.packets_in = larger(info->packets_in, before.packets_in);
	c->info.packets_out = larger(info->packets_out, before.packets_out);
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

bool cw_tunnel_carries(const struct cw_tunnel *t)
{
	for (size_t i = 0; i < t->n_children; i++) {
		if (t->children[i].info.pair < t->pairs && cw_tunnel_child_live(&t->children[i]))
			return true;
	}
	return false;
}

bool cw_tunnel_child_wins(
	const struct child_entry *a, const struct child_entry *b, uint8_t ike_version)
{
	int64_t apart_us = cw_time_diff_us(a->line_at, b->line_at);
	/* What is in to one end is out to the other: the lower of the two is common knowledge. */
	uint32_t low_a = a->info.spi_in < a->info.spi_out ? a->info.spi_in : a->info.spi_out;
	uint32_t low_b = b->info.spi_in < b->info.spi_out ? b->info.spi_in : b->info.spi_out;

	/* IKEv1 may leave us an older one that the peer has forgotten: only the newer is sure to
	 * live. */
	if (apart_us && (ike_version == 1 || apart_us > CROSSING_US || apart_us < -CROSSING_US))
		return apart_us > 0;
	return low_a < low_b;
}

uint32_t cw_tunnel_pairs_refresh(struct cw_tunnel *t)
{
	const struct ike_entry *primary = cw_tunnel_ike_best(t);
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->pairs; i++) {
		t->pair[i].carries = t->pair[i].kept = false;
		t->pair[i].installed = 0;
	}
	for (size_t i = 0; i < t->n_children; i++) {
		const struct child_entry *c = &t->children[i];
		const struct ike_entry *e = cw_tunnel_ike_find(t, c->info.ike_id);
		struct pair_entry *p;

		if (c->info.pair >= t->pairs || !cw_tunnel_child_live(c))
			continue;
		p = &t->pair[c->info.pair];
		n += !p->carries;
		p->carries = true;
		p->kept |= !e || !e->closing;
		p->installed += e && e == primary && c->info.state == CW_CHILD_INSTALLED;
	}
	return n;
}

void cw_tunnel_gone_add(struct gone_ids *g, uint32_t id)
{
	g->v[g->n++ % CW_TUNNEL_GONE_MAX] = id;
}

bool cw_tunnel_gone_has(const struct gone_ids *g, uint32_t id)
{
	for (size_t i = 0; i < g->n && i < CW_TUNNEL_GONE_MAX; i++) {
		if (g->v[i] == id)
			return true;
	}
	return false;
}
