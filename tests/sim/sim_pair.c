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
 *   sim_pair                 the fixed seeds
 *   CW_SIM_SEEDS=N sim_pair  N of them
 *   CW_SIM_SEED=S sim_pair   seed S alone, with its whole story
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "fake/fake_ike.h"
#include "fake/fake_world.h"
#include "tunnel/tunnel.h"

#define SEEDS 3000
#define BACK_S 15
#define CALM_S 60
#define POLL_S 5
#define POLL_PATIENCE_S 10
#define POLL_SOON_MS 100

static bool loud;

/* A peer of another make has no machine: it does what its settings say. */
struct stock {
	bool is;
	bool starts;          /* at load; tries for ever */
	bool restarts_dead;   /* dpd_action = restart */
	bool restarts_closed; /* close_action = start */
	bool stubborn;        /* and that even if it has another IKE_SA */
};

struct host {
	struct fake_world *world;
	struct fake_ike ike;
	struct stock stock;
	struct cw_site_conf site;
	struct cw_tunnel_conf conf;
	struct cw_tunnel *tunnel;
	uint32_t life; /* grows with each start; mail of an earlier life is void */
	uint64_t seed;
	/* mailbox */
	uint32_t mail_loss_permille, resolver_fails_permille;
	struct cw_time mail_at;
	bool lost, lost_since_poll;
	/* snapshots, as the daemon asks for them */
	uint32_t poll_no;
	bool poll_running;
	struct cw_time poll_at, poll_due;
	uint64_t wake_no;
	/* what the daemon knows from actions */
	bool carrying;
	uint32_t carrying_changes, lines;
	uint32_t repairs; /* rekeys that the machine asked for */
};

struct sim {
	struct fake_world *world;
	struct host hosts[2];
	uint64_t seed;
	const char *what;
};

__attribute__((format(printf, 2, 3))) static void note(const struct host *h, const char *fmt, ...)
{
	va_list args;

	if (!loud)
		return;
	printf("%10.4f %c ", (double)fake_world_now(h->world).us / 1e6 - 1000,
		h->ike.end ? 'B' : 'A');
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static struct cw_time now_of(const struct host *h)
{
	return fake_world_now(h->world);
}

/* ---- the daemon around the machine, in small ---- */

static void turn(struct host *h);

static void poll_soon(struct host *h)
{
	h->poll_due = cw_time_min(h->poll_due, cw_time_add_ms(now_of(h), POLL_SOON_MS));
}

static void step(struct host *h, const struct cw_tunnel_event *ev);

static void answer_resolve(void *arg, uint64_t life, const void *data)
{
	struct host *h = arg;
	struct cw_tunnel_event ev = { .kind = CW_TEV_RESOLVED,
		.remote = { .family = CW_FAMILY_IPV4, .bytes = { 10 } } };

	(void)data;
	if (life != h->life)
		return;
	if (fake_world_random(h->world, 1000) < h->resolver_fails_permille)
		ev = (struct cw_tunnel_event){ .kind = CW_TEV_RESOLVE_FAILED,
			.cause = CW_CAUSE_RESOLVE };
	step(h, &ev);
	turn(h);
}

static void carry_out(struct host *h, const struct cw_tunnel_action *a)
{
	const struct cw_ike_ops *ops = h->ike.port.ops;
	struct cw_ike_tunnel t = { .generation = cw_tunnel_generation(h->tunnel),
		.conf = &h->conf };
	uint32_t lag_us = 1;

	switch (a->kind) {
	case CW_TA_RESOLVE:
		if (h->conf.remote_addr.family == CW_FAMILY_NONE)
			lag_us = fake_world_random(h->world, 300000);
		fake_world_at(h->world, cw_time_add_us(now_of(h), lag_us), answer_resolve, h,
			h->life, NULL, 0);
		break;
	case CW_TA_ENGINE_SET:
		ops->tunnel_set(&h->ike.port, &t);
		break;
	case CW_TA_ENGINE_REMOVE:
		ops->tunnel_remove(&h->ike.port, 0);
		break;
	case CW_TA_INITIATE:
		note(h, "  initiate pair %u", a->pair);
		ops->initiate(&h->ike.port, 0, a->pair);
		break;
	case CW_TA_TERMINATE_IKE:
		note(h, "  terminate ike %u%s", a->id, a->force ? " by force" : "");
		ops->terminate_ike(&h->ike.port, a->id, a->force);
		break;
	case CW_TA_TERMINATE_CHILD:
		note(h, "  terminate child %u", a->id);
		ops->terminate_child(&h->ike.port, a->id);
		break;
	case CW_TA_REKEY_CHILD:
		note(h, "  rekey child %u", a->id);
		h->repairs++;
		ops->rekey_child(&h->ike.port, a->id);
		break;
	case CW_TA_CHECK_ALIVE:
		note(h, "  check alive %u", a->id);
		ops->check_alive(&h->ike.port, a->id);
		break;
	case CW_TA_POLL:
		poll_soon(h);
		break;
	case CW_TA_CARRYING:
		if (h->carrying != cw_tunnel_carries(h->tunnel)) {
			h->carrying = cw_tunnel_carries(h->tunnel);
			h->carrying_changes++;
		}
		break;
	case CW_TA_LOG:
		h->lines++;
		note(h, "  log: %s", a->text);
		break;
	}
}

static void step(struct host *h, const struct cw_tunnel_event *ev)
{
	struct cw_tunnel_actions out;
	enum cw_tunnel_state from;

	if (!h->tunnel)
		return;
	from = cw_tunnel_state(h->tunnel);
	cw_tunnel_step(h->tunnel, ev, now_of(h), &out);
	if (cw_tunnel_state(h->tunnel) != from)
		note(h, "%s -> %s", cw_tunnel_state_name(from),
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)));
	for (size_t i = 0; i < out.n; i++)
		carry_out(h, &out.v[i]);
}

static void order(struct host *h, enum cw_tunnel_event_kind kind)
{
	struct cw_tunnel_event ev = { .kind = kind };

	step(h, &ev);
	turn(h);
}

static void wake(void *arg, uint64_t number, const void *data)
{
	struct host *h = arg;

	(void)data;
	if (number == h->wake_no)
		turn(h);
}

static void turn(struct host *h)
{
	static const struct cw_tunnel_event timer = { .kind = CW_TEV_TIMER };
	struct cw_time now = now_of(h), due;
	int rounds = 0;

	if (!h->tunnel)
		return;
	while (cw_time_reached(cw_tunnel_next_due(h->tunnel), now)) {
		step(h, &timer);
		if (++rounds > 100) {
			fprintf(stderr,
				"sim_pair: seed %" PRIu64
				": the machine asks for TIMER without end\n",
				h->seed / 2);
			abort();
		}
	}
	if (cw_time_reached(h->poll_due, now)) {
		if (h->poll_running &&
			cw_time_diff_us(now, h->poll_at) < POLL_PATIENCE_S * 1000000LL) {
			h->poll_due = cw_time_add_s(h->poll_at, POLL_PATIENCE_S);
		} else {
			h->poll_running = true;
			h->lost_since_poll = false;
			h->poll_at = now;
			h->poll_due = cw_time_add_s(now, POLL_PATIENCE_S);
			h->ike.port.ops->poll(&h->ike.port, ++h->poll_no);
		}
	}
	due = cw_time_min(cw_tunnel_next_due(h->tunnel), h->poll_due);
	fake_world_at(h->world, due, wake, h, ++h->wake_no, NULL, 0);
}

static void on_snapshot(struct host *h, const struct cw_ike_event *ev)
{
	struct cw_tunnel_event record = { .kind = CW_TEV_SNAPSHOT, .ike = ev };
	struct cw_tunnel_event end = { .kind = CW_TEV_SNAPSHOT_END, .poll_at = h->poll_at };

	if (ev->poll != h->poll_no)
		return;
	if (!ev->no_ike)
		step(h, &record);
	if (!ev->last)
		return;
	h->poll_running = false;
	h->poll_due = cw_time_min(h->poll_due, cw_time_add_s(now_of(h), POLL_S));
	/* With a letter lost meanwhile it may not be the whole truth. */
	if (h->lost_since_poll)
		poll_soon(h);
	else
		step(h, &end);
}

static void stock_hears(struct host *h, const struct cw_ike_event *ev);

static void mail(void *arg, uint64_t life, const void *data)
{
	struct host *h = arg;
	const struct cw_ike_event *ev = data;
	struct cw_tunnel_event tev = { .kind = CW_TEV_IKE, .ike = ev };
	static const char *const names[] = { "ike up", "ike down", "ike rekeyed", "child up",
		"child down", "child rekeyed", "failed", "rekey failed", "initial contact",
		"nat mapped" };

	if (life != h->life)
		return;
	if (ev->kind != CW_IKE_EV_SNAPSHOT)
		note(h, "hears: %s ike %u child %u old %u pair %u (%s)%s", names[ev->kind],
			ev->ike_id, ev->child.child_id, ev->old_id, ev->child.pair,
			cw_cause_name(ev->cause), ev->by_us ? " by us" : "");
	if (h->stock.is) {
		stock_hears(h, ev);
		return;
	}
	if (ev->kind == CW_IKE_EV_SNAPSHOT)
		on_snapshot(h, ev);
	else
		step(h, &tev);
	if (h->lost) {
		h->lost = false;
		poll_soon(h);
	}
	turn(h);
}

static void post(void *arg, const struct cw_ike_event *ev)
{
	struct host *h = arg;
	struct cw_time at = cw_time_add_us(now_of(h), fake_world_random(h->world, 1000));

	if (fake_world_random(h->world, 1000) < h->mail_loss_permille) {
		h->lost = h->lost_since_poll = true;
		return;
	}
	if (at.us < h->mail_at.us)
		at = h->mail_at;
	h->mail_at = at;
	fake_world_at(h->world, at, mail, h, h->life, ev, sizeof(*ev));
}

/* ---- a peer of another make ---- */

static void stock_initiates(void *arg, uint64_t life, const void *data)
{
	struct host *h = arg;

	(void)data;
	if (life != h->life)
		return;
	if (h->stock.stubborn)
		fake_ike_begin(&h->ike);
	else if (!fake_ike_count(&h->ike).ikes)
		h->ike.port.ops->initiate(&h->ike.port, 0, 0);
}

static void stock_hears(struct host *h, const struct cw_ike_event *ev)
{
	bool again = false;

	if (ev->kind == CW_IKE_EV_FAILED && ev->by_us && !ev->is_child)
		again = h->stock.starts;
	if (ev->kind == CW_IKE_EV_IKE_DOWN && ev->cause == CW_CAUSE_PEER_DEAD)
		again = h->stock.restarts_dead;
	if (ev->kind == CW_IKE_EV_IKE_DOWN && ev->cause == CW_CAUSE_PEER_DELETE)
		again = h->stock.restarts_closed;
	if (again)
		fake_world_at(h->world,
			cw_time_add_ms(now_of(h), fake_world_random(h->world, 1000)),
			stock_initiates, h, h->life, NULL, 0);
}

/* ---- lives ---- */

static void start(struct host *h)
{
	struct cw_ike_tunnel t = { .conf = &h->conf };

	h->life++;
	h->poll_running = h->lost = h->lost_since_poll = false;
	h->carrying = false;
	h->mail_at.us = 0;
	if (h->stock.is) {
		h->ike.port.ops->tunnel_set(&h->ike.port, &t);
		if (h->stock.starts)
			stock_initiates(h, h->life, NULL);
		return;
	}
	h->tunnel = cw_tunnel_new(&h->conf, 0, 1, h->ike.pairs, h->seed + h->life, now_of(h));
	if (!h->tunnel)
		abort();
	h->poll_due = now_of(h);
	note(h, "starts");
	order(h, CW_TEV_START);
}

static void crash(struct host *h)
{
	note(h, "crashes");
	cw_tunnel_free(h->tunnel);
	h->tunnel = NULL;
	fake_ike_crash(&h->ike);
	start(h);
}

/* ---- trouble ---- */

static void paths(struct sim *s, uint32_t loss_permille, uint32_t delay_us, bool cut0, bool cut1)
{
	for (unsigned i = 0; i < 2; i++)
		*fake_world_path(s->world, i) = (struct fake_path){
			.delay_us = delay_us,
			.jitter_us = delay_us / 4,
			.loss_permille = loss_permille,
			.cut = i ? cut1 : cut0,
		};
}

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
		note(h, "path cut");
		paths(s, 0, delay_us, true, true);
		break;
	case 2:
		note(h, "path cut one way");
		paths(s, 0, delay_us, h->ike.end == 0, h->ike.end == 1);
		break;
	case 3:
	case 4:
	case 5:
		note(h, "path is there");
		paths(s, losses[dice(s, 5)], delay_us, false, false);
		break;
	case 6:
		crash(h);
		break;
	case 7:
		note(h, "both crash");
		crash(&s->hosts[0]);
		crash(&s->hosts[1]);
		break;
	case 8:
		note(h, "order down");
		order(h, CW_TEV_DOWN);
		break;
	case 9:
		note(h, "order up");
		order(h, CW_TEV_UP);
		break;
	case 10:
	case 11:
		note(h, "order restart");
		order(h, CW_TEV_RESTART);
		break;
	case 12:
		note(h, "key changes");
		h->ike.key = dice(s, 2);
		break;
	case 13:
		note(h, "refuses pair 0");
		h->ike.refused_pairs = dice(s, 2);
		break;
	case 14:
		h->mail_loss_permille = losses[dice(s, 4)];
		note(h, "loses %u permille of its mail", h->mail_loss_permille);
		break;
	case 15:
		note(h, "resolver");
		h->resolver_fails_permille = dice(s, 1000);
		break;
	case 16:
		if (h->tunnel && cw_tunnel_children(h->tunnel)) {
			note(h, "child broken");
			ev.kind = CW_TEV_CHILD_BROKEN;
			ev.child_id = cw_tunnel_child(h->tunnel, 0)->child_id;
		}
		step(h, &ev);
		turn(h);
		break;
	}
}

static void heal(struct sim *s)
{
	paths(s, 0, 2000 + dice(s, 40000), false, false);
	for (int i = 0; i < 2; i++) {
		struct host *h = &s->hosts[i];
		struct cw_tunnel_view v;

		note(h, "healed");
		h->mail_loss_permille = h->resolver_fails_permille = 0;
		h->ike.key = h->ike.refused_pairs = 0;
		if (!h->tunnel)
			continue;
		cw_tunnel_view(h->tunnel, now_of(h), 0, &v);
		if (h->conf.start && !v.wanted_up)
			order(h, CW_TEV_UP);
		/* Down by order, and not to start by itself: an end that listens was never told to
		 * be down. */
		if (!h->conf.start)
			crash(h);
	}
}

/* ---- checks ---- */

static bool bad(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool bad(struct sim *s, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "sim_pair: seed %" PRIu64 " (%s): ", s->seed, s->what);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return true;
}

static size_t live_children(const struct cw_tunnel *t)
{
	size_t n = 0;

	for (size_t i = 0; i < cw_tunnel_children(t); i++)
		n += cw_tunnel_child(t, i)->state == CW_CHILD_INSTALLED ||
		     cw_tunnel_child(t, i)->state == CW_CHILD_REKEYING;
	return n;
}

static bool check_host(struct sim *s, const struct host *h, const char *when, bool early)
{
	struct fake_count n = fake_ike_count(&h->ike);
	char end = h->ike.end ? 'B' : 'A';

	/* IKEv1 leaves it open to which IKE_SA a child belongs, so closing one of two can leave a
	 * child at one end only. It takes a look or two to find that out, and a peer of another
	 * make never does. */
	if (h->ike.version == 1 && n.ikes == 1 &&
		(h->stock.is || (early && n.children > h->ike.pairs)))
		return false;
	if (n.ikes != 1 || n.children != h->ike.pairs || n.others)
		return bad(s, "%s, %c has %u IKE_SAs, %u children, %u leftovers", when, end, n.ikes,
			n.children, n.others);
	if (!h->tunnel)
		return false;
	if (cw_tunnel_state(h->tunnel) != CW_TUNNEL_UP)
		return bad(s, "%s, %c is %s", when, end,
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)));
	if (!h->carrying || !cw_tunnel_carries(h->tunnel))
		return bad(s, "%s, %c is up and does not know that it carries", when, end);
	if (live_children(h->tunnel) != n.children)
		return bad(s, "%s, %c sees %zu children of %u", when, end, live_children(h->tunnel),
			n.children);
	return false;
}

static bool check(struct sim *s, const char *when, bool early)
{
	struct fake_count a = fake_ike_count(&s->hosts[0].ike),
			  b = fake_ike_count(&s->hosts[1].ike);

	if (check_host(s, &s->hosts[0], when, early) || check_host(s, &s->hosts[1], when, early))
		return true;
	if (a.spi_i != b.spi_i || (a.children == b.children && a.child_spis != b.child_spis))
		return bad(s, "%s, the two ends have different SAs", when);
	return false;
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
		return bad(s, "A is %s, %u changes",
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)),
			h->carrying_changes - changes);
	if (s->hosts[1].ike.initiated - begun > 60)
		return bad(s, "%u IKE_SAs in ten minutes", s->hosts[1].ike.initiated - begun);
	return false;
}

/* A rekey in flight has two children for a moment: look again a little later. */
static bool check_soon(struct sim *s, const char *when, bool early)
{
	for (int i = 0; i < 20; i++) {
		struct fake_count a = fake_ike_count(&s->hosts[0].ike),
				  b = fake_ike_count(&s->hosts[1].ike);

		if (a.children == s->hosts[0].ike.pairs && b.children == a.children && !a.others &&
			!b.others && a.child_spis == b.child_spis)
			break;
		fake_world_run_until(s->world, cw_time_add_ms(fake_world_now(s->world), 37));
	}
	return check(s, when, early);
}

/* ---- one seed ---- */

static void set_up(struct sim *s)
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
		h->ike.post = post;
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
	paths(s, 0, 1000 + dice(s, 50000), false, false);
}

static bool run_story(struct sim *s)
{
	struct cw_time begin = fake_world_now(s->world), end;
	uint32_t begun, changes, most;

	start(&s->hosts[0]);
	if (dice(s, 2)) /* crossing starts, or one after the other */
		fake_world_run_until(s->world, cw_time_add_ms(begin, dice(s, 5000)));
	start(&s->hosts[1]);
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
	if (check_soon(s, "15 s after the path is good", true))
		return true;
	begun = s->hosts[0].ike.initiated + s->hosts[1].ike.initiated;
	changes = s->hosts[0].carrying_changes + s->hosts[1].carrying_changes;
	fake_world_run_until(s->world, cw_time_add_s(fake_world_now(s->world), CALM_S));
	if (s->hosts[0].ike.initiated + s->hosts[1].ike.initiated != begun)
		return bad(s, "IKE_SAs were begun in the calm");
	if (s->hosts[0].carrying_changes + s->hosts[1].carrying_changes != changes)
		return bad(s, "CARRYING changed in the calm");
	if (check_soon(s, "a minute later", false))
		return true;
	/* Two tries a second at most: orders to restart count as tries, a peer that restarts too.
	 */
	most = 20 + 2 * (uint32_t)(cw_time_diff_us(fake_world_now(s->world), begin) / 1000000);
	if (begun > most)
		return bad(s, "%u IKE_SAs were begun", begun);
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
	set_up(s);
	failed = run_story(s);
	for (int i = 0; i < 2; i++) {
		cw_tunnel_free(s->hosts[i].tunnel);
		fake_ike_crash(&s->hosts[i].ike);
	}
	fake_world_free(s->world);
	free(s);
	return failed;
}

/* ---- a child that the peer has lost ---- */

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
	turn(a);
}

static void talk_for(struct sim *s, uint32_t seconds, uint32_t lost)
{
	for (uint32_t i = 0; i < seconds; i += 2)
		talk(s, lost);
}

/* The peer, which has no machine, loses one of four children and says nothing. That one is made anew in
 * half a minute, the others stay. A path that loses data makes few rekeys. */
static bool run_lost_child(uint8_t version)
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
	set_up(s);
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
	paths(s, 0, 20000, false, false);
	start(b);
	start(a);
	talk_for(s, 600, NONE);
	failed |= check(s, "at first", false);
	if (a->repairs)
		failed |= bad(s, "%u rekeys where all was well", a->repairs);
	changes = a->carrying_changes;
	fake_ike_lose_children(&b->ike, 2);
	talk_for(s, 30, NONE);
	failed |= check_soon(s, "half a minute after the loss", false);
	if (a->repairs != 1 || a->carrying_changes != changes || a->ike.initiated != 1)
		failed |= bad(s, "%u rekeys, %u IKE_SAs begun", a->repairs, a->ike.initiated);
	talk_for(s, 600, NONE);
	if (a->repairs != 1)
		failed |= bad(s, "%u rekeys after it was mended", a->repairs);
	/* Now it is the data that does not come back, whatever is rekeyed. */
	talk_for(s, 2 * 3600, 1);
	if (a->repairs < 4 || a->repairs > 8)
		failed |= bad(s, "%u rekeys in two hours of one-way traffic", a->repairs - 1);
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
		loud = true;
		return run_seed(strtoull(one, NULL, 10));
	}
	failed += run_lost_child(2);
	failed += run_lost_child(1);
	for (uint64_t seed = 1; seed <= n && failed < 20; seed++)
		failed += run_seed(seed);
	if (failed)
		fprintf(stderr, "sim_pair: CW_SIM_SEED=S sim_pair tells the story of seed S\n");
	else
		printf("sim_pair: %" PRIu64 " orders, both ends up each time\n", n);
	return failed != 0;
}
