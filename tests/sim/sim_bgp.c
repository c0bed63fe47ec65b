/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim_bgp: two BGP session machines with random settings, through random orders of everything that
 * can go wrong. Afterwards all is mended, and then:
 *
 *   - within the longest pause there can be, both are established, on one connection, with all of
 * the other's routes and none that are stale;
 *   - for the five minutes after that nothing moves;
 *   - all through it no machine asks for what its owner can't do (bgp_world.h), no timer is due
 * again at once, and timers are few.
 *
 *   sim_bgp                  the fixed seeds
 *   CW_SIM_SEEDS=N sim_bgp   N of them
 *   CW_SIM_SEED=S sim_bgp    seed S alone, with its whole story
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/bgp_world.h"

#define SEEDS 3000
#define TROUBLES 40
#define IDLE_MAX_S 8
#define LIMIT 100
#define LIMIT_PAUSE_S 20
/* The same bad message, the limit tripped thrice, what is stale, a connection that hangs. */
#define BACK_MS (10 * IDLE_MAX_S * 1000 + 4 * LIMIT_PAUSE_S * 1000 + 30000)
#define CALM_MS 300000

static bool flip(struct bgp_world *w)
{
	return bgp_dice(w, 2);
}

static struct cw_bgp_peer_conf conf_of(int end)
{
	struct cw_bgp_peer_conf conf = {
		.local_asn = end ? 65515 : 65010,
		.remote_asn = end ? 65010 : 65515,
		.router_id = 0x0a0a0001 + (uint32_t)end,
		.active = true,
		.passive = true,
		.family = { true, true },
		.hold_s = 9,
		.connect_retry_s = 5,
		.idle_hold_min_s = 1,
		.idle_hold_max_s = IDLE_MAX_S,
		.stable_s = 20,
		.role = CW_BGP_PEER_NO_ROLE,
		.gr_time_s = 20,
		.gr_time_max_s = 30,
		.gr_stale_s = 15,
		.gr_defer_s = 10,
		.max_prefixes = LIMIT,
		.max_prefixes_warn = 80,
		.max_prefixes_restart_s = LIMIT_PAUSE_S,
		.ttl = 1,
	};

	return conf;
}

/* Settings that go with those of the other side, whatever they are. */
static void vary(struct bgp_world *w, struct cw_bgp_peer_conf *conf)
{
	static const uint32_t holds[] = { 0, 3, 9, 90 };

	conf->hold_s = holds[bgp_dice(w, 4)];
	conf->gr = flip(w);
	conf->delay_open_s = bgp_dice(w, 4) ? 0 : 1 + bgp_dice(w, 3);
	conf->ext_message = flip(w);
	conf->family[CW_BGP_IPV6] = flip(w);
	conf->role = flip(w) ? CW_BGP_ROLE_PEER : CW_BGP_PEER_NO_ROLE;
	conf->connect_retry_s = 2 + bgp_dice(w, 6);
	/* One end must connect to one that listens. */
	conf->active = conf->passive = true;
}

static void set_up(struct bgp_world *w)
{
	uint32_t one_way = bgp_dice(w, 6);

	if (bgp_dice(w, 8) == 0)
		w->hosts[1].conf.router_id = w->hosts[0].conf.router_id;
	for (int i = 0; i < 2; i++) {
		struct bgp_host *h = &w->hosts[i];

		vary(w, &h->conf);
		if (one_way < 2) {
			h->conf.active = (uint32_t)i == one_way;
			h->conf.passive = !h->conf.active;
		}
		bgp_step(w, i,
			&(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = &h->conf });
	}
	w->delay_us = 100 + bgp_dice(w, 200000);
	w->jitter_us = bgp_dice(w, 100000);
}

static enum cw_bgp_conn some_conn(struct bgp_world *w)
{
	return flip(w) ? CW_BGP_CONN_OURS : CW_BGP_CONN_THEIRS;
}

static void bad_bytes(struct bgp_world *w, int end)
{
	static const uint8_t marker[CW_BGP_HEADER_LEN] = { 0xff, 0 };
	static const uint8_t open_as_0[] = { 4, 0, 0, 0, 90, 10, 0, 0, 1, 0 };
	static const uint8_t notification[] = { 3, 1, 7 }, refresh[] = { 0, 1, 0 };
	struct cw_bgp_err err = { .code = CW_BGP_E_HEADER, .subcode = 1, .why = "made up" };
	struct cw_bgp_event ev = { .err = &err, .conn = some_conn(w), .body = { marker, 19 } };

	switch (bgp_dice(w, 6)) {
	case 0:
		ev.kind = CW_BGP_EV_HEADER_ERROR;
		bgp_step(w, end, &ev);
		break;
	case 1:
		ev.kind = CW_BGP_EV_UPDATE_ERROR;
		err.code = CW_BGP_E_UPDATE;
		bgp_step(w, end, &ev);
		break;
	case 2:
		bgp_inject(w, end, ev.conn, CW_BGP_OPEN, open_as_0, sizeof(open_as_0));
		break;
	case 3:
		bgp_inject(
			w, end, ev.conn, CW_BGP_NOTIFICATION, notification, sizeof(notification));
		break;
	case 4:
		bgp_inject(w, end, ev.conn, CW_BGP_ROUTE_REFRESH, refresh, sizeof(refresh));
		break;
	case 5:
		bgp_inject(w, end, ev.conn, CW_BGP_KEEPALIVE, NULL, 0);
		break;
	}
}

static void trouble(struct bgp_world *w)
{
	int end = (int)bgp_dice(w, 2);
	struct bgp_host *h = &w->hosts[end];
	struct cw_bgp_event ev = { .text = "for a moment", .subcode = CW_BGP_CEASE_SHUTDOWN };
	bool active = h->conf.active, passive = h->conf.passive;

	switch (bgp_dice(w, 16)) {
	case 0:
		bgp_cut(w, true);
		break;
	case 1:
	case 2:
		bgp_cut(w, false);
		break;
	case 3:
		bgp_crash(w, end);
		break;
	case 4:
	case 5:
		bgp_boot(w, end, flip(w), flip(w));
		break;
	case 6:
		ev.kind = CW_BGP_EV_STOP;
		ev.quiet = flip(w);
		bgp_step(w, end, &ev);
		break;
	case 7:
		bgp_order(w, end, CW_BGP_EV_START);
		break;
	case 8:
		ev.kind = CW_BGP_EV_RESET;
		ev.reset = (enum cw_bgp_reset)bgp_dice(w, 3);
		bgp_step(w, end, &ev);
		break;
	case 9:
		bgp_order(w, end, flip(w) ? CW_BGP_EV_NET_DOWN : CW_BGP_EV_NET_UP);
		break;
	case 10:
		vary(w, &h->conf);
		h->conf.active = active;
		h->conf.passive = passive;
		ev.kind = CW_BGP_EV_CONF_CHANGED;
		ev.conf = &h->conf;
		bgp_step(w, end, &ev);
		break;
	case 11:
	case 12:
		bad_bytes(w, end);
		break;
	case 13:
		bgp_break(w, end, some_conn(w));
		break;
	case 14:
		ev.kind = CW_BGP_EV_PREFIXES;
		ev.family = (enum cw_bgp_family)bgp_dice(w, 2);
		ev.count = 70 + bgp_dice(w, 40);
		bgp_step(w, end, &ev);
		break;
	case 15:
		ev.kind = flip(w) ? CW_BGP_EV_SEND_BLOCKED : CW_BGP_EV_SEND_PROGRESS;
		ev.conn = some_conn(w);
		bgp_step(w, end, &ev);
		break;
	}
}

static void mend(struct bgp_world *w)
{
	bgp_cut(w, false);
	w->jitter_us = 0;
	for (int i = 0; i < 2; i++) {
		bgp_boot(w, i, flip(w), flip(w));
		for (unsigned c = 0; c < CW_BGP_CONNS; c++)
			bgp_step(w, i,
				&(struct cw_bgp_event){ .kind = CW_BGP_EV_SEND_PROGRESS,
					.conn = (enum cw_bgp_conn)c });
		bgp_order(w, i, CW_BGP_EV_START);
		bgp_order(w, i, CW_BGP_EV_NET_UP);
	}
	/* With a hold time of 0 nothing but data shows that the other end is gone. */
	bgp_announce(w, 0);
	bgp_announce(w, 1);
}

static void check_calm(struct bgp_world *w)
{
	uint32_t ups = w->hosts[0].ups + w->hosts[1].ups;
	uint32_t timers = w->hosts[0].timers + w->hosts[1].timers;

	bgp_pass_ms(w, CALM_MS);
	if (!bgp_is_well(w))
		bgp_bad(w, "it did not last: %s and %s",
			cw_bgp_state_name(cw_bgp_peer_state(w->hosts[0].p)),
			cw_bgp_state_name(cw_bgp_peer_state(w->hosts[1].p)));
	if (w->hosts[0].ups + w->hosts[1].ups != ups)
		bgp_bad(w, "sessions went and came in the calm");
	/* A keepalive a second each, and a few ends of pauses. */
	if (w->hosts[0].timers + w->hosts[1].timers - timers > 2 * CALM_MS / 1000 + 20)
		bgp_bad(w, "%u timers in the calm",
			w->hosts[0].timers + w->hosts[1].timers - timers);
}

static bool run(uint64_t seed, bool loud)
{
	struct cw_bgp_peer_conf conf[2] = { conf_of(0), conf_of(1) };
	struct bgp_world *w = bgp_world_new(conf, seed);
	struct cw_time began = w->now;
	uint32_t timers;
	bool bad;

	w->loud = loud;
	set_up(w);
	bgp_order(w, 0, CW_BGP_EV_START);
	bgp_pass_ms(w, bgp_dice(w, 3) * bgp_dice(w, 500));
	bgp_order(w, 1, CW_BGP_EV_START);
	for (uint32_t n = bgp_dice(w, TROUBLES); n && !w->bad; n--) {
		bgp_pass_ms(w, bgp_dice(w, 4) ? bgp_dice(w, 3000) : bgp_dice(w, 40000));
		if (!w->bad)
			trouble(w);
	}
	timers = w->hosts[0].timers + w->hosts[1].timers;
	if (timers > 6 * (cw_time_diff_us(w->now, began) / 1000000 + 10))
		bgp_bad(w, "%u timers in %" PRId64 " s", timers,
			cw_time_diff_us(w->now, began) / 1000000);
	if (!w->bad) {
		mend(w);
		if (bgp_until_up_ms(w, BACK_MS) < 0)
			bgp_bad(w, "not up again: %s (%s) and %s (%s)",
				cw_bgp_state_name(cw_bgp_peer_state(w->hosts[0].p)),
				bgp_view(w, 0).why,
				cw_bgp_state_name(cw_bgp_peer_state(w->hosts[1].p)),
				bgp_view(w, 1).why);
		else
			check_calm(w);
	}
	bad = w->bad;
	bgp_world_free(w);
	return bad;
}

int main(void)
{
	const char *one = getenv("CW_SIM_SEED"), *many = getenv("CW_SIM_SEEDS");
	uint64_t seeds = many ? strtoull(many, NULL, 10) : SEEDS, bad = 0;

	if (one)
		return run(strtoull(one, NULL, 10), true);
	for (uint64_t seed = 1; seed <= seeds && bad < 5; seed++)
		bad += run(seed, false);
	if (!bad)
		printf("sim_bgp: %" PRIu64 " seeds are well\n", seeds);
	return bad ? 1 : 0;
}
