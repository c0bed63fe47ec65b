/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CHILD_SA that the peer has lost while its IKE_SA lives: deleted there by hand, or the DELETE was lost,
 * which IKEv1 never repeats. IKE is content, what goes out is dropped, and nothing would mend it before the
 * next rekey. So where packets go out on a pair and none comes back, for longer than a dead peer can stay
 * unnoticed, that pair's child is rekeyed: a peer without it says so and it is made anew (RFC 7296 2.25), in
 * IKEv1 the Quick Mode is a new one anyway.
 *
 * It may as well be a path that loses ESP, or traffic that is meant to go one way (syslog). A rekey does that
 * no harm and no good, so it comes rarely, and the rarer the more often it was in vain.
 */
#include "tunnel/tunnel_priv.h"

#define QUIET_S 20	    /* at least */
#define QUIET_BEYOND_DPD_S 3 /* SILENCE comes so long after the first packet; then DPD takes its time */
#define QUIET_RESPONDER_S 10 /* more: the IKE_SA's initiator goes first, so that not both do it */
#define QUIET_PACKETS 5	    /* fewer that nobody answers mean nothing */
#define IDLE_S 10	    /* nothing goes out for so long: nobody waits for an answer */
#define PAUSE_S 300	    /* between two of a pair; doubles */
#define PAUSE_MAX_S 3600

static void forget(struct pair_entry *p)
{
	p->quiet_since = CW_TIME_NEVER;
	p->quiet_packets = 0;
}

static bool idle(const struct pair_entry *p, struct cw_time now)
{
	return cw_time_reached(cw_time_add_s(p->quiet_out_at, IDLE_S), now);
}

void cw_tunnel_repair_note(struct cw_tunnel *t, struct child_entry *c, uint64_t packets_in,
	uint64_t packets_out, struct cw_time now)
{
	uint64_t in = packets_in - c->sampled_in, out = packets_out - c->sampled_out;
	struct pair_entry *p;

	c->sampled_in = packets_in;
	c->sampled_out = packets_out;
	if (c->info.pair >= t->pairs)
		return;
	p = &t->pair[c->info.pair];
	if (in) {
		forget(p);
		p->repairs = 0;
	} else if (out) {
		if (idle(p, now))
			forget(p);
		if (cw_time_is_never(p->quiet_since))
			p->quiet_since = now;
		p->quiet_packets += out;
		p->quiet_out_at = now;
	}
}

static uint32_t pause_s(const struct pair_entry *p)
{
	uint32_t s = PAUSE_S;

	for (uint32_t i = 1; i < p->repairs && s < PAUSE_MAX_S; i++)
		s *= 2;
	return s < PAUSE_MAX_S ? s : PAUSE_MAX_S;
}

static struct cw_time pair_due(
	const struct cw_tunnel *t, const struct cw_ike_sa_info *ike, const struct pair_entry *p)
{
	int64_t quiet_s = (int64_t)t->conf->dpd_delay_s + t->conf->dpd_timeout_s + QUIET_BEYOND_DPD_S;
	struct cw_time due;

	if (cw_time_is_never(p->quiet_since) || p->quiet_packets < QUIET_PACKETS)
		return CW_TIME_NEVER;
	if (quiet_s < QUIET_S)
		quiet_s = QUIET_S;
	due = cw_time_add_s(p->quiet_since, quiet_s + (ike->initiator ? 0 : QUIET_RESPONDER_S));
	if (!cw_time_is_never(p->repair_at)) {
		struct cw_time next = cw_time_add_s(p->repair_at, pause_s(p));

		due = due.us > next.us ? due : next;
	}
	return due;
}

struct cw_time cw_tunnel_repair_due(const struct cw_tunnel *t)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(t);
	struct cw_time due = CW_TIME_NEVER;

	for (uint32_t i = 0; ike && t->want != WANT_DOWN && i < t->pairs; i++)
		due = cw_time_min(due, pair_due(t, ike, &t->pair[i]));
	return due;
}

/* The one of the pair that is sent by: the newest. */
static const struct child_entry *child_in_use(const struct cw_tunnel *t, uint32_t ike_id, uint32_t pair)
{
	const struct child_entry *found = NULL;

	for (size_t i = 0; i < t->n_children; i++) {
		const struct child_entry *c = &t->children[i];

		if (c->info.pair == pair && c->info.ike_id == ike_id && c->info.state == CW_CHILD_INSTALLED &&
			(!found || c->info.child_id > found->info.child_id))
			found = c;
	}
	return found;
}

void cw_tunnel_repair_settle(struct cw_tunnel *t, const struct cw_ike_sa_info *ike, struct cw_time now,
	struct cw_tunnel_actions *out)
{
	for (uint32_t i = 0; i < t->pairs; i++) {
		struct pair_entry *p = &t->pair[i];
		const struct child_entry *c = child_in_use(t, ike->ike_id, i);
		bool due = cw_time_reached(pair_due(t, ike, p), now);

		if (!p->carries || (due && (!c || idle(p, now)))) {
			forget(p); /* nothing to rekey, or nobody waits */
			continue;
		}
		if (!due)
			continue;
		if (!cw_tunnel_has_room(out)) {
			out->full = true;
			return;
		}
		cw_tunnel_say_repair(p, now, out);
		cw_tunnel_order(out, CW_TA_REKEY_CHILD, c->info.child_id);
		p->repairs++;
		p->repair_at = now;
		forget(p);
	}
}
