/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child that the peer has lost: see tunnel_repair.c. */
#include "sim/sim.h"

#include <stdlib.h>

/* Two packets a second on each pair, and an answer to each of them: the kernel's counters after two
 * seconds. lost: the pair that b has forgotten by then, or NONE. */
#define NONE UINT32_MAX

static void talk(struct sim *s, uint32_t lost)
{
	struct host *a = &s->hosts[0], *b = &s->hosts[1];
	struct cw_time now;

	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), 2));
	now = fake_world_now(s->world);
	fake_ike_lose_children(&b->ike, lost);
	for (size_t i = 0; i < cw_tunnel_children(a->tunnel); i++) {
		struct cw_child_info c = *cw_tunnel_child(a->tunnel, i);
		bool back = fake_ike_passes(&a->ike, &b->ike, c.pair) &&
			    fake_ike_passes(&b->ike, &a->ike, c.pair);

		if (c.state == CW_CHILD_INSTALLED)
			cw_tunnel_child_counters(a->tunnel, c.child_id, c.bytes_in + 400 * back,
				c.packets_in + 4 * back, c.bytes_out + 400, c.packets_out + 4, now);
	}
	sim_turn(a);
}

static void talk_for(struct sim *s, uint32_t seconds, uint32_t lost)
{
	for (uint32_t i = 0; i < seconds; i += 2)
		talk(s, lost);
}

/* The peer, which has no machine, loses one of four children and says nothing. That one is made anew in
 * half a minute, the others stay. A path that loses data makes few rekeys. */
bool sim_lost_child(uint8_t version)
{
	struct sim *s = calloc(1, sizeof(*s));
	struct host *a, *b;
	uint32_t changes;
	bool failed = false;

	if (!s)
		abort();
	s->seed = 1;
	s->what = "a lost child";
	s->world = fake_world_new(s->seed);
	sim_set_up(s);
	a = &s->hosts[0];
	b = &s->hosts[1];
	for (int i = 0; i < 2; i++) {
		s->hosts[i].ike.pairs = 4;
		s->hosts[i].ike.version = version;
		s->hosts[i].ike.rekey_every_s = 0;
		s->hosts[i].ike.remakes_lost = true;
		s->hosts[i].conf.start = i == 0;
		s->hosts[i].conf.dpd_delay_s = 5;
		s->hosts[i].conf.dpd_timeout_s = 8;
	}
	b->stock = (struct stock){ .is = true };
	sim_paths(s, 0, 20000, false, false);
	sim_start(b);
	sim_start(a);
	talk_for(s, 600, NONE);
	failed |= sim_check(s, "at first", false);
	if (a->repairs)
		failed |= sim_bad(s, "%u rekeys where all was well", a->repairs);
	changes = a->carrying_changes;
	fake_ike_lose_children(&b->ike, 2);
	talk_for(s, 30, NONE);
	failed |= sim_check_soon(s, "half a minute after the loss", false);
	if (a->repairs != 1 || a->carrying_changes != changes || a->ike.initiated != 1)
		failed |= sim_bad(s, "%u rekeys, %u IKE_SAs begun", a->repairs, a->ike.initiated);
	talk_for(s, 600, NONE);
	if (a->repairs != 1)
		failed |= sim_bad(s, "%u rekeys after it was mended", a->repairs);
	/* Now it is the data that does not come back, whatever is rekeyed. */
	talk_for(s, 2 * 3600, 1);
	if (a->repairs < 4 || a->repairs > 8)
		failed |= sim_bad(s, "%u rekeys in two hours of one-way traffic", a->repairs - 1);
	for (int i = 0; i < 2; i++) {
		cw_tunnel_free(s->hosts[i].tunnel);
		fake_ike_crash(&s->hosts[i].ike);
	}
	fake_world_free(s->world);
	free(s);
	return failed;
}
