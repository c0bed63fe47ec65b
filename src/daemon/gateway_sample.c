/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SAs' counters, read from the kernel: for those who look, and to see what no event tells.
 */
#include "daemon/gateway_priv.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "tunnel/cover.h"

#define ONE_WAY_PACKETS 5 /* fewer that nobody answers are no broken path */
#define ONE_WAY_IDLE_S 10 /* nothing goes out for so long: the question is over */

/* Reads both SAs of a child; false when the kernel has one of them no more. */
static bool read_child(struct cw_gateway *gw, const struct slot *s, const struct cw_ike_sa_info *ike,
		       const struct cw_child_info *c, struct cw_sa_stats *in, struct cw_sa_stats *out)
{
	struct cw_sa_key key_in = {
		.src = ike->remote, .dst = ike->local, .spi = c->spi_in, .if_id = cw_gateway_if_id(s),
		.mark = cw_gateway_mark(s), .mark_mask = cw_gateway_mark(s) ? UINT32_MAX : 0,
	};
	struct cw_sa_key key_out = key_in;
	struct cw_kernel_err err = { 0 };

	key_out.src = ike->local;
	key_out.dst = ike->remote;
	key_out.spi = c->spi_out;
	return gw->kernel->ops->sa_query(gw->kernel, &key_in, in, &err) != CW_E_NOT_FOUND &&
	       gw->kernel->ops->sa_query(gw->kernel, &key_out, out, &err) != CW_E_NOT_FOUND;
}

void cw_gateway_counters(struct cw_gateway *gw, struct slot *s)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(s->tunnel);

	for (size_t i = 0; ike && i < cw_tunnel_children(s->tunnel); i++) {
		const struct cw_child_info *c = cw_tunnel_child(s->tunnel, i);
		struct cw_sa_stats in = { 0 }, out = { 0 };

		if ((c->state != CW_CHILD_INSTALLED && c->state != CW_CHILD_REKEYING) ||
		    c->ike_id != ike->ike_id || !read_child(gw, s, ike, c, &in, &out))
			continue;
		cw_tunnel_child_counters(s->tunnel, c->child_id, in.bytes, in.packets, out.bytes, out.packets,
					 cw_gateway_now(gw));
	}
}

/* After so long without a packet a peer that is dead has been found dead by IKE: a tunnel that is still
 * up then has a data path that is broken one way, or traffic that is meant to be so. */
static int64_t one_way_limit_s(const struct slot *s)
{
	return CW_GATEWAY_ONE_WAY_S + (int64_t)s->conf->dpd_delay_s + s->conf->dpd_timeout_s;
}

uint32_t cw_gateway_one_way_s(const struct cw_gateway *gw, const struct slot *s)
{
	int64_t for_s;

	if (cw_time_is_never(s->one_way_since) || s->one_way_packets < ONE_WAY_PACKETS)
		return 0;
	for_s = cw_time_diff_us(cw_gateway_now(gw), s->one_way_since) / 1000000;
	return for_s >= one_way_limit_s(s) ? (uint32_t)for_s : 0;
}

static void one_way_end(struct slot *s, bool came_back)
{
	if (s->one_way_said && came_back)
		cw_log(CW_LOG_NOTICE, CW_LOG_ONE_WAY, s->conf->name, "data comes back again");
	s->one_way_since = CW_TIME_NEVER;
	s->one_way_packets = 0;
	if (came_back)
		s->one_way_said = false;
}

/* Said once, until something has come back. */
static void look_one_way(struct cw_gateway *gw, struct slot *s, uint64_t n_out, bool came_in,
			 struct cw_time now)
{
	uint32_t for_s;

	if (came_in || cw_tunnel_state(s->tunnel) != CW_TUNNEL_UP) {
		one_way_end(s, came_in);
		return;
	}
	if (n_out) {
		if (cw_time_is_never(s->one_way_since))
			s->one_way_since = now;
		s->one_way_packets += n_out;
		s->last_out_at = now;
	} else if (cw_time_reached(cw_time_add_s(s->last_out_at, ONE_WAY_IDLE_S), now)) {
		one_way_end(s, false); /* nobody asks any more, so nobody waits for an answer */
	}
	for_s = cw_gateway_one_way_s(gw, s);
	if (!for_s || s->one_way_said)
		return;
	s->one_way_said = true;
	cw_log(CW_LOG_WARNING, CW_LOG_ONE_WAY, s->conf->name,
	       "data goes out and nothing comes back for %" PRIu32 " s, though IKE answers: does %s pass both ways, "
	       "and does the far side route back?%s", for_s,
	       cw_tunnel_primary(s->tunnel)->encap ? "UDP 4500" : "ESP (IP protocol 50)",
	       cw_tunnel_primary(s->tunnel)->encap ? "" : " nat-traversal = \"force\" puts ESP in UDP 4500");
}

/* ---- what is covered ---- */

size_t cw_gateway_gaps(const struct cw_gateway *gw, const struct slot *s, struct cw_view_gap *ret_gaps, size_t max)
{
	const struct cw_child_info *children[CW_VIEW_CHILDREN_MAX];
	size_t n = 0;

	if (cw_tunnel_state(s->tunnel) != CW_TUNNEL_UP)
		return 0;
	for (size_t i = 0; i < cw_tunnel_children(s->tunnel) && n < CW_VIEW_CHILDREN_MAX; i++)
		children[n++] = cw_tunnel_child(s->tunnel, i);
	return cw_cover_gaps(children, n, &gw->parts.conf->gateway.networks, &s->conf->site->networks, ret_gaps, max);
}

/* Of the children as they are; never 0. */
static uint32_t sum_of_children(const struct slot *s)
{
	uint32_t sum = 1;

	for (size_t i = 0; i < cw_tunnel_children(s->tunnel); i++) {
		const struct cw_child_info *c = cw_tunnel_child(s->tunnel, i);

		sum = sum * 31 + c->child_id * 8 + (uint32_t)c->state;
	}
	return sum ? sum : 1;
}

/* Said when it begins and when it ends; a rekey changes the children, and most often nothing else. */
static void look_gaps(const struct cw_gateway *gw, struct slot *s)
{
	char ours[CW_PREFIX_TEXT_MAX], theirs[CW_PREFIX_TEXT_MAX], others[64] = "";
	uint32_t sum = sum_of_children(s);
	struct cw_view_gap gap;
	size_t n;

	if (cw_tunnel_state(s->tunnel) != CW_TUNNEL_UP || sum == s->gaps_of)
		return;
	s->gaps_of = sum;
	n = cw_gateway_gaps(gw, s, &gap, 1);
	if (n > 1)
		snprintf(others, sizeof(others), " and %zu more pair%s of networks", n - 1, n == 2 ? "" : "s");
	if (n && n != s->n_gaps_said)
		cw_log(CW_LOG_WARNING, CW_LOG_SELECTORS_NARROWED, s->conf->name,
		       "up, but the peer agreed to less than networks says: nothing passes between %s and %s%s; widen the "
		       "peer's policy, or take out of networks what it does not have",
		       gap.ours.addr.family ? cw_prefix_print(&gap.ours, ours, sizeof(ours)) : "here",
		       gap.theirs.addr.family ? cw_prefix_print(&gap.theirs, theirs, sizeof(theirs)) : "there", others);
	else if (!n && s->n_gaps_said)
		cw_log(CW_LOG_NOTICE, CW_LOG_SELECTORS_NARROWED, s->conf->name, "all networks are covered again");
	s->n_gaps_said = n;
}

void cw_gateway_sample(struct cw_gateway *gw, struct slot *s)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(s->tunnel);
	struct cw_time now = cw_gateway_now(gw);
	uint64_t sum_in = 0, sum_out = 0;
	uint32_t broken = 0;

	if (s->unusable)
		return;
	look_gaps(gw, s);
	for (size_t i = 0; ike && i < cw_tunnel_children(s->tunnel); i++) {
		const struct cw_child_info *c = cw_tunnel_child(s->tunnel, i);
		struct cw_sa_stats in = { 0 }, out = { 0 };

		if (c->state != CW_CHILD_INSTALLED || c->ike_id != ike->ike_id)
			continue;
		if (!read_child(gw, s, ike, c, &in, &out)) {
			broken = c->child_id;
			continue;
		}
		cw_tunnel_child_counters(s->tunnel, c->child_id, in.bytes, in.packets, out.bytes, out.packets,
					 cw_gateway_now(gw));
		sum_in += in.packets;
		sum_out += out.packets;
	}

	/* Twice in a row: once may be a rekey that the engine has not told us of yet. */
	if (broken && broken == s->broken_child) {
		struct cw_tunnel_event ev = { .kind = CW_TEV_CHILD_BROKEN, .child_id = broken };

		cw_log(CW_LOG_WARNING, CW_LOG_TUNNEL_DOWN, s->conf->name,
		       "an SA is gone from the kernel that IKE holds for installed; making the CHILD_SA anew");
		cw_gateway_step(gw, s, &ev);
		broken = 0;
	}
	s->broken_child = broken;

	look_one_way(gw, s, sum_out > s->seen_out ? sum_out - s->seen_out : 0, sum_in > s->seen_in, now);
	if (sum_out > s->seen_out && sum_in <= s->seen_in && ike) {
		if (cw_time_is_never(s->silent_since))
			s->silent_since = now;
	} else if (sum_in != s->seen_in || !ike) {
		s->silent_since = CW_TIME_NEVER;
	}
	s->seen_in = sum_in;
	s->seen_out = sum_out;
	if (!cw_time_is_never(s->silent_since) &&
	    cw_time_reached(cw_time_add_s(s->silent_since, CW_GATEWAY_SILENCE_S), now) &&
	    cw_time_reached(cw_time_add_s(s->asked_at, s->conf->dpd_delay_s), now)) {
		struct cw_tunnel_event ev = { .kind = CW_TEV_SILENCE };

		s->asked_at = now;
		s->silent_since = CW_TIME_NEVER;
		cw_gateway_step(gw, s, &ev);
	}
}
