/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_S 5
#define POLL_PATIENCE_S 10
#define POLL_SOON_MS 100

bool sim_loud;

void sim_note(const struct host *h, const char *fmt, ...)
{
	va_list args;

	if (!sim_loud)
		return;
	printf("%10.4f %c ", (double)fake_world_now(h->world).us / 1e6 - 1000,
		h->ike.end ? 'B' : 'A');
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

struct cw_time sim_now(const struct host *h)
{
	return fake_world_now(h->world);
}

/* ---- the daemon around the machine, in small ---- */

static void poll_soon(struct host *h)
{
	h->poll_due = cw_time_min(h->poll_due, cw_time_add_ms(sim_now(h), POLL_SOON_MS));
}

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
	sim_step(h, &ev);
	sim_turn(h);
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
		fake_world_at(h->world, cw_time_add_us(sim_now(h), lag_us), answer_resolve, h,
			h->life, NULL, 0);
		break;
	case CW_TA_ENGINE_SET:
		ops->tunnel_set(&h->ike.port, &t);
		break;
	case CW_TA_ENGINE_REMOVE:
		ops->tunnel_remove(&h->ike.port, 0);
		break;
	case CW_TA_INITIATE:
		sim_note(h, "  initiate pair %u", a->pair);
		ops->initiate(&h->ike.port, 0, a->pair);
		break;
	case CW_TA_TERMINATE_IKE:
		sim_note(h, "  terminate ike %u%s", a->id, a->force ? " by force" : "");
		ops->terminate_ike(&h->ike.port, a->id, a->force);
		break;
	case CW_TA_TERMINATE_CHILD:
		sim_note(h, "  terminate child %u", a->id);
		ops->terminate_child(&h->ike.port, a->id);
		break;
	case CW_TA_REKEY_CHILD:
		sim_note(h, "  rekey child %u", a->id);
		h->repairs++;
		ops->rekey_child(&h->ike.port, a->id);
		break;
	case CW_TA_CHECK_ALIVE:
		sim_note(h, "  check alive %u", a->id);
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
		sim_note(h, "  log: %s", a->text);
		break;
	}
}

void sim_step(struct host *h, const struct cw_tunnel_event *ev)
{
	struct cw_tunnel_actions out;
	enum cw_tunnel_state from;

	if (!h->tunnel)
		return;
	from = cw_tunnel_state(h->tunnel);
	cw_tunnel_step(h->tunnel, ev, sim_now(h), &out);
	if (cw_tunnel_state(h->tunnel) != from)
		sim_note(h, "%s -> %s", cw_tunnel_state_name(from),
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)));
	for (size_t i = 0; i < out.n; i++)
		carry_out(h, &out.v[i]);
}

void sim_order(struct host *h, enum cw_tunnel_event_kind kind)
{
	struct cw_tunnel_event ev = { .kind = kind };

	sim_step(h, &ev);
	sim_turn(h);
}

static void wake(void *arg, uint64_t number, const void *data)
{
	struct host *h = arg;

	(void)data;
	if (number == h->wake_no)
		sim_turn(h);
}

void sim_turn(struct host *h)
{
	static const struct cw_tunnel_event timer = { .kind = CW_TEV_TIMER };
	struct cw_time now = sim_now(h), due;
	int rounds = 0;

	if (!h->tunnel)
		return;
	while (cw_time_reached(cw_tunnel_next_due(h->tunnel), now)) {
		sim_step(h, &timer);
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
		sim_step(h, &record);
	if (!ev->last)
		return;
	h->poll_running = false;
	h->poll_due = cw_time_min(h->poll_due, cw_time_add_s(sim_now(h), POLL_S));
	/* With a letter lost meanwhile it may not be the whole truth. */
	if (h->lost_since_poll)
		poll_soon(h);
	else
		sim_step(h, &end);
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
		sim_note(h, "hears: %s ike %u child %u old %u pair %u (%s)%s", names[ev->kind],
			ev->ike_id, ev->child.child_id, ev->old_id, ev->child.pair,
			cw_cause_name(ev->cause), ev->by_us ? " by us" : "");
	if (h->stock.is) {
		stock_hears(h, ev);
		return;
	}
	if (ev->kind == CW_IKE_EV_SNAPSHOT)
		on_snapshot(h, ev);
	else
		sim_step(h, &tev);
	if (h->lost) {
		h->lost = false;
		poll_soon(h);
	}
	sim_turn(h);
}

void sim_post(void *arg, const struct cw_ike_event *ev)
{
	struct host *h = arg;
	struct cw_time at = cw_time_add_us(sim_now(h), fake_world_random(h->world, 1000));

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
			cw_time_add_ms(sim_now(h), fake_world_random(h->world, 1000)),
			stock_initiates, h, h->life, NULL, 0);
}

/* ---- lives ---- */

void sim_start(struct host *h)
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
	h->tunnel = cw_tunnel_new(&h->conf, 0, 1, h->ike.pairs, h->seed + h->life, sim_now(h));
	if (!h->tunnel)
		abort();
	h->poll_due = sim_now(h);
	sim_note(h, "starts");
	sim_order(h, CW_TEV_START);
}

void sim_crash(struct host *h)
{
	sim_note(h, "crashes");
	cw_tunnel_free(h->tunnel);
	h->tunnel = NULL;
	fake_ike_crash(&h->ike);
	sim_start(h);
}

/* ---- the path ---- */

void sim_paths(struct sim *s, uint32_t loss_permille, uint32_t delay_us, bool cut0, bool cut1)
{
	for (unsigned i = 0; i < 2; i++)
		*fake_world_path(s->world, i) = (struct fake_path){
			.delay_us = delay_us,
			.jitter_us = delay_us / 4,
			.loss_permille = loss_permille,
			.cut = i ? cut1 : cut0,
		};
}
