/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim_pair: two tunnel machines, or one and a peer of another make, joined by fake engines, through
 * random orders of everything that can go wrong. Afterwards the path is good, and then:
 *
 *   - within 15 s the tunnel is up at both ends: one IKE_SA, the same at both, each pair with one
 *     CHILD_SA, nothing half open, ending or left over;
 *   - for the minute after that nothing is begun anew and CARRYING does not change, rekeys or not;
 *   - through all of it the number of attempts is bounded.
 *
 * And one fixed story: sim_lost.c.
 *
 *   sim_pair                 the fixed seeds
 *   CW_SIM_SEEDS=N sim_pair  N of them
 *   CW_SIM_SEED=S sim_pair   seed S alone, with its whole story
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"

#define SEEDS 3000
#define BACK_S 15
#define CALM_S 60

/* ---- trouble ---- */

static uint32_t dice(struct sim *s, uint32_t n)
{
	return fake_world_random(s->world, n);
}

static void trouble(struct sim *s)
{
	static const uint32_t losses[] = { 0, 0, 100, 300, 700 };
	struct host *h = &s->hosts[dice(s, 2)];
	struct cw_tunnel_event ev = { .kind = CW_TEV_SILENCE };
	uint32_t delay_us = 1000 + dice(s, 150000);

	switch (dice(s, 17)) {
	case 0:
	case 1:
		sim_note(h, "path cut");
		sim_paths(s, 0, delay_us, true, true);
		break;
	case 2:
		sim_note(h, "path cut one way");
		sim_paths(s, 0, delay_us, h->ike.end == 0, h->ike.end == 1);
		break;
	case 3:
	case 4:
	case 5:
		sim_note(h, "path is there");
		sim_paths(s, losses[dice(s, 5)], delay_us, false, false);
		break;
	case 6:
		sim_crash(h);
		break;
	case 7:
		sim_note(h, "both crash");
		sim_crash(&s->hosts[0]);
		sim_crash(&s->hosts[1]);
		break;
	case 8:
		sim_note(h, "order down");
		sim_order(h, CW_TEV_DOWN);
		break;
	case 9:
		sim_note(h, "order up");
		sim_order(h, CW_TEV_UP);
		break;
	case 10:
	case 11:
		sim_note(h, "order restart");
		sim_order(h, CW_TEV_RESTART);
		break;
	case 12:
		sim_note(h, "key changes");
		h->ike.key = dice(s, 2);
		break;
	case 13:
		sim_note(h, "refuses pair 0");
		h->ike.refused_pairs = dice(s, 2);
		break;
	case 14:
		h->mail_loss_permille = losses[dice(s, 4)];
		sim_note(h, "loses %u permille of its mail", h->mail_loss_permille);
		break;
	case 15:
		sim_note(h, "resolver");
		h->resolver_fails_permille = dice(s, 1000);
		break;
	case 16:
		if (h->tunnel && cw_tunnel_children(h->tunnel)) {
			sim_note(h, "child broken");
			ev.kind = CW_TEV_CHILD_BROKEN;
			ev.child_id = cw_tunnel_child(h->tunnel, 0)->child_id;
		}
		sim_step(h, &ev);
		sim_turn(h);
		break;
	}
}

static void heal(struct sim *s)
{
	sim_paths(s, 0, 2000 + dice(s, 40000), false, false);
	for (int i = 0; i < 2; i++) {
		struct host *h = &s->hosts[i];
		struct cw_tunnel_view v;

		sim_note(h, "healed");
		h->mail_loss_permille = h->resolver_fails_permille = 0;
		h->ike.key = h->ike.refused_pairs = 0;
		if (!h->tunnel)
			continue;
		cw_tunnel_view(h->tunnel, sim_now(h), 0, &v);
		if (h->conf.start && !v.wanted_up)
			sim_order(h, CW_TEV_UP);
		/* Down by order, and not to start by itself: an end that listens was never told to
		 * be down. */
		if (!h->conf.start)
			sim_crash(h);
	}
}

/* A peer that answers the end of each duplicate with a new one: there is no end to it, but the
 * tunnel stays up and it slows down. */
static bool run_stubborn(struct sim *s)
{
	const struct host *h = &s->hosts[0];
	uint32_t begun, changes;

	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), BACK_S));
	begun = s->hosts[1].ike.initiated;
	changes = h->carrying_changes;
	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), 10 * CALM_S));
	if (!h->carrying || cw_tunnel_state(h->tunnel) != CW_TUNNEL_UP ||
		h->carrying_changes != changes)
		return sim_bad(s, "A is %s, %u changes",
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)),
			h->carrying_changes - changes);
	if (s->hosts[1].ike.initiated - begun > 60)
		return sim_bad(s, "%u IKE_SAs in ten minutes", s->hosts[1].ike.initiated - begun);
	return false;
}

/* ---- one seed ---- */

void sim_set_up(struct sim *s)
{
	uint32_t pairs = dice(s, 6) ? 1 : 2 + dice(s, 20),
		 rekey = dice(s, 2) ? 0 : 15 + dice(s, 100);
	uint8_t version = dice(s, 7) ? 2 : 1;

	s->what = "two of ours";
	for (unsigned i = 0; i < 2; i++) {
		struct host *h = &s->hosts[i];

		h->world = s->world;
		h->seed = s->seed * 2 + i;
		fake_ike_init(&h->ike, s->world, i);
		h->ike.post = sim_post;
		h->ike.post_arg = h;
		h->ike.pairs = pairs;
		h->ike.version = version;
		h->ike.rekey_every_s = rekey;
		h->site = (struct cw_site_conf){ .name = "sim", .profile = "causeway" };
		h->conf = (struct cw_tunnel_conf){
			.name = "sim-1",
			.site = &h->site,
			.remote = "peer",
			.start = true,
			.retry_min_s = 1,
			.retry_max_s = 10,
			.retry_auth_s = 12,
			.ike_version = version == 1 ? CW_IKE_V1 : CW_IKE_V2,
		};
		if (dice(s, 2))
			h->conf.remote_addr.family = CW_FAMILY_IPV4;
	}
	if (dice(s, 20) == 0) {
		s->what = "one of ours and a stubborn one";
		s->hosts[1].stock = (struct stock){
			.is = true,
			.starts = true,
			.restarts_closed = true,
			.stubborn = true,
		};
	} else if (dice(s, 3) == 0) {
		struct host *h = &s->hosts[1];

		s->what = "one of ours and another";
		h->stock = (struct stock){
			.is = true,
			.starts = dice(s, 2),
			.restarts_dead = dice(s, 2),
			.restarts_closed = dice(s, 2),
		};
		h->ike.habits = (struct fake_habits){
			.replaces = dice(s, 2),
			.obeys_initial_contact = dice(s, 2),
			.sends_no_initial_contact = dice(s, 2),
		};
	} else if (dice(s, 4) == 0) {
		s->what = "ours, one listens";
		s->hosts[1].conf.start = false;
	}
	sim_paths(s, 0, 1000 + dice(s, 50000), false, false);
}

static bool run_story(struct sim *s)
{
	struct cw_time begin = fake_world_now(s->world), end;
	uint32_t begun, changes, most;

	sim_start(&s->hosts[0]);
	if (dice(s, 2)) /* crossing starts, or one after the other */
		fake_world_run_until(s->world, cw_time_add_ms(begin, dice(s, 5000)));
	sim_start(&s->hosts[1]);
	end = cw_time_add_s(begin, dice(s, 90));
	while (fake_world_now(s->world).us < end.us) {
		uint32_t pause_ms = dice(s, 3) ? dice(s, 8000) : dice(s, 120);

		fake_world_run_until(s->world, cw_time_add_ms(fake_world_now(s->world), pause_ms));
		trouble(s);
	}
	heal(s);
	if (s->hosts[1].stock.stubborn)
		return run_stubborn(s);
	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), BACK_S));
	if (sim_check_soon(s, "15 s after the path is good", true))
		return true;
	begun = s->hosts[0].ike.initiated + s->hosts[1].ike.initiated;
	changes = s->hosts[0].carrying_changes + s->hosts[1].carrying_changes;
	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), CALM_S));
	if (s->hosts[0].ike.initiated + s->hosts[1].ike.initiated != begun)
		return sim_bad(s, "IKE_SAs were begun in the calm");
	if (s->hosts[0].carrying_changes + s->hosts[1].carrying_changes != changes)
		return sim_bad(s, "CARRYING changed in the calm");
	if (sim_check_soon(s, "a minute later", false))
		return true;
	/* Two tries a second at most: orders to restart count as tries, a peer that restarts too.
	 */
	most = 20 + 2 * (uint32_t)(cw_time_diff_us(fake_world_now(s->world), begin) / 1000000);
	if (begun > most)
		return sim_bad(s, "%u IKE_SAs were begun", begun);
	return false;
}

static bool run_seed(uint64_t seed)
{
	struct sim *s = calloc(1, sizeof(*s));
	bool failed;

	if (!s)
		abort();
	s->seed = seed;
	s->world = fake_world_new(seed);
	sim_set_up(s);
	failed = run_story(s);
	for (int i = 0; i < 2; i++) {
		cw_tunnel_free(s->hosts[i].tunnel);
		fake_ike_crash(&s->hosts[i].ike);
	}
	fake_world_free(s->world);
	free(s);
	return failed;
}

int main(void)
{
	const char *one = getenv("CW_SIM_SEED"), *many = getenv("CW_SIM_SEEDS");
	uint64_t n = many ? strtoull(many, NULL, 10) : SEEDS;
	unsigned failed = 0;

	if (one) {
		sim_loud = true;
		return run_seed(strtoull(one, NULL, 10));
	}
	failed += sim_lost_child(2);
	failed += sim_lost_child(1);
	for (uint64_t seed = 1; seed <= n && failed < 20; seed++)
		failed += run_seed(seed);
	if (failed)
		fprintf(stderr, "sim_pair: CW_SIM_SEED=S sim_pair tells the story of seed S\n");
	else
		printf("sim_pair: %" PRIu64 " orders, both ends up each time\n", n);
	return failed != 0;
}
