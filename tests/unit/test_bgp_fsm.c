/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of RFC 4271 8.2.2, row by row: every event in every state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/bgp_rig.h"

/* The states of RFC 4271 8.2.2, with what splits them in practice. */
enum place {
	STOPPED,       /* Idle: not started */
	PAUSED,        /* Idle: IdleHoldTimer runs */
	NO_NET,        /* Idle: the tunnel is down */
	LIMITED,       /* Idle: too many prefixes */
	CONNECTING,    /* Connect */
	CONNECT_DELAY, /* Connect: DelayOpenTimer runs */
	ACTIVE,
	ACTIVE_DELAY, /* Active: the peer connected, DelayOpenTimer runs */
	OPEN_SENT,
	OPEN_CONFIRM,
	ESTABLISHED,
	N_PLACES,
};

static const struct {
	const char *name;
	enum cw_bgp_state state;
} places[N_PLACES] = {
	[STOPPED] = { "stopped", CW_BGP_STATE_IDLE },
	[PAUSED] = { "paused", CW_BGP_STATE_IDLE },
	[NO_NET] = { "no net", CW_BGP_STATE_IDLE },
	[LIMITED] = { "limited", CW_BGP_STATE_IDLE },
	[CONNECTING] = { "connecting", CW_BGP_STATE_CONNECT },
	[CONNECT_DELAY] = { "connect, delayed", CW_BGP_STATE_CONNECT },
	[ACTIVE] = { "active", CW_BGP_STATE_ACTIVE },
	[ACTIVE_DELAY] = { "active, delayed", CW_BGP_STATE_ACTIVE },
	[OPEN_SENT] = { "open-sent", CW_BGP_STATE_OPEN_SENT },
	[OPEN_CONFIRM] = { "open-confirm", CW_BGP_STATE_OPEN_CONFIRM },
	[ESTABLISHED] = { "established", CW_BGP_STATE_ESTABLISHED },
};

enum what {
	DO_START,
	DO_STOP,
	DO_RESET,
	DO_NET_DOWN,
	DO_NET_UP,
	DO_CONNECTED,
	DO_CONNECT_FAILED,
	DO_ACCEPTED,
	DO_CLOSED,
	DO_OPEN,
	DO_BAD_OPEN,
	DO_KEEPALIVE,
	DO_UPDATE,
	DO_NOTIFICATION,
	DO_VERSION,
	DO_REFRESH,
	DO_HEADER_ERROR,
	DO_UPDATE_ERROR,
	DO_EOR,
	DO_SENT_ALL,
	DO_TOO_MANY,
	DO_NEXT,
	DO_HOLD,
	N_EVENTS,
};

static struct rig *at_place(enum place place)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r;

	if (place == CONNECT_DELAY || place == ACTIVE_DELAY)
		conf.delay_open_s = 5;
	r = rig_new(&conf);
	if (place == STOPPED)
		return r;
	rig_event(r, CW_BGP_EV_START, OURS);
	switch (place) {
	case NO_NET:
		rig_event(r, CW_BGP_EV_NET_DOWN, OURS);
		return r;
	case CONNECTING:
		return r;
	case ACTIVE:
		rig_event(r, CW_BGP_EV_CONNECT_FAILED, OURS);
		return r;
	case ACTIVE_DELAY:
		rig_event(r, CW_BGP_EV_CONNECT_FAILED, OURS);
		rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
		return r;
	default:
		break;
	}
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	if (place == OPEN_SENT || place == CONNECT_DELAY)
		return r;
	if (place == PAUSED) {
		hear_notification(r, OURS, 6, 2);
		return r;
	}
	hear_open(r, OURS, &open);
	if (place == OPEN_CONFIRM)
		return r;
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV6, 0);
	if (place == LIMITED)
		hear_family(r, CW_BGP_EV_PREFIXES, CW_BGP_IPV4, 101);
	return r;
}

static void do_event(struct rig *r, enum place place, enum what what)
{
	static const enum cw_bgp_event_kind plain[] = {
		[DO_START] = CW_BGP_EV_START,
		[DO_NET_DOWN] = CW_BGP_EV_NET_DOWN,
		[DO_NET_UP] = CW_BGP_EV_NET_UP,
		[DO_CONNECTED] = CW_BGP_EV_CONNECTED,
		[DO_CONNECT_FAILED] = CW_BGP_EV_CONNECT_FAILED,
		[DO_ACCEPTED] = CW_BGP_EV_ACCEPTED,
		[DO_CLOSED] = CW_BGP_EV_CLOSED,
	};
	enum cw_bgp_conn conn = place == ACTIVE_DELAY ? THEIRS : OURS;
	struct cw_bgp_open open = rig_open();
	static const uint8_t update[] = { 0, 0, 0, 0 }, refresh[] = { 0, 1, 0, 1 };
	static const uint8_t length[] = { 0, 18 };
	struct cw_bgp_err err = { .code = 1, .subcode = 2, .data = { length, 2 }, .why = "short" };
	struct cw_time end;

	switch (what) {
	case DO_STOP:
		rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_STOP, .subcode = 2 });
		break;
	case DO_RESET:
		rig_step(r, &(struct cw_bgp_event){
				    .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_HARD });
		break;
	case DO_OPEN:
		hear_open(r, conn, &open);
		break;
	case DO_BAD_OPEN:
		open.asn = open.caps.as4_value = 65020;
		hear_open(r, conn, &open);
		break;
	case DO_KEEPALIVE:
		hear(r, conn, CW_BGP_KEEPALIVE, NULL, 0);
		break;
	case DO_UPDATE:
		hear(r, conn, CW_BGP_UPDATE, update, sizeof(update));
		break;
	case DO_NOTIFICATION:
		hear_notification(r, conn, 6, 4);
		break;
	case DO_VERSION:
		hear_notification(r, conn, 2, 1);
		break;
	case DO_REFRESH:
		hear(r, conn, CW_BGP_ROUTE_REFRESH, refresh, sizeof(refresh));
		break;
	case DO_HEADER_ERROR:
	case DO_UPDATE_ERROR:
		if (what == DO_UPDATE_ERROR) {
			err.code = 3;
			err.subcode = 1;
		}
		rig_step(r, &(struct cw_bgp_event){ .kind = what == DO_HEADER_ERROR
								    ? CW_BGP_EV_HEADER_ERROR
								    : CW_BGP_EV_UPDATE_ERROR,
				    .conn = conn,
				    .err = &err,
				    .body = { length, 2 } });
		break;
	case DO_EOR:
		hear_family(r, CW_BGP_EV_EOR, CW_BGP_IPV4, 0);
		break;
	case DO_SENT_ALL:
		hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
		break;
	case DO_TOO_MANY:
		hear_family(r, CW_BGP_EV_PREFIXES, CW_BGP_IPV4, 101);
		break;
	case DO_NEXT:
		rig_next_ms(r);
		break;
	case DO_HOLD:
		end = cw_time_add_s(r->now, rig_view(r).hold_left_s + 1);
		while (cw_bgp_peer_state(r->p) != CW_BGP_STATE_IDLE &&
			!cw_time_reached(end, r->now) && rig_view(r).hold_left_s >= 0) {
			rig_forget(r);
			rig_next_ms(r);
		}
		break;
	default:
		rig_event(r, plain[what], conn);
	}
}

/* What is done, and where it leads. What is not here does nothing and stays where it is. */
static const char *const table[N_EVENTS][N_PLACES] = {
	[DO_START] = { /* events 1, 3, 4, 5 */
		[STOPPED] = "connect -> connect",
	},
	[DO_STOP] = { /* 2, 8 */
		[CONNECTING] = "ours:drop -> idle",
		[CONNECT_DELAY] = "ours:notify(6/2) ours:close -> idle",
		[ACTIVE] = "-> idle",
		[ACTIVE_DELAY] = "theirs:notify(6/2) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(6/2) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(6/2) ours:close -> idle",
		[ESTABLISHED] = "ours:notify(6/2) ours:close down(operator) -> idle",
	},
	[DO_RESET] = { /* 2, then 1 */
		[PAUSED] = "connect -> connect",
		[LIMITED] = "connect -> connect",
		[CONNECTING] = "ours:drop connect -> connect",
		[CONNECT_DELAY] = "ours:notify(6/4) ours:close connect -> connect",
		[ACTIVE] = "connect -> connect",
		[ACTIVE_DELAY] = "theirs:notify(6/4) theirs:close connect -> connect",
		[OPEN_SENT] = "ours:notify(6/4) ours:close connect -> connect",
		[OPEN_CONFIRM] = "ours:notify(6/4) ours:close connect -> connect",
		[ESTABLISHED] = "ours:notify(6/4) ours:close down(reset) connect -> connect",
	},
	[DO_NET_DOWN] = { /* not in the RFC */
		[CONNECTING] = "ours:drop -> idle",
		[CONNECT_DELAY] = "ours:drop -> idle",
		[ACTIVE] = "-> idle",
		[ACTIVE_DELAY] = "theirs:drop -> idle",
		[OPEN_SENT] = "ours:drop -> idle",
		[OPEN_CONFIRM] = "ours:drop -> idle",
		[ESTABLISHED] = "ours:drop down(net-down) -> idle",
	},
	[DO_NET_UP] = {
		[NO_NET] = "connect -> connect",
	},
	[DO_CONNECTED] = { /* 16 */
		[CONNECTING] = "ours:open -> open-sent",
	},
	[DO_CONNECT_FAILED] = { /* 18 */
		[CONNECTING] = "-> active",
	},
	[DO_ACCEPTED] = { /* 17 */
		[STOPPED] = "refuse(6/5) -> idle",
		[PAUSED] = "refuse -> idle",
		[NO_NET] = "refuse -> idle",
		[LIMITED] = "refuse(6/5) -> idle",
		[CONNECTING] = "accept theirs:open -> open-sent",
		[CONNECT_DELAY] = "accept -> connect",
		[ACTIVE] = "accept theirs:open -> open-sent",
		[ACTIVE_DELAY] = "theirs:notify(6/7) theirs:close accept -> active",
		[OPEN_SENT] = "accept theirs:open -> open-sent",
		[OPEN_CONFIRM] = "accept -> open-confirm",
		[ESTABLISHED] = "refuse(6/7) ours:keepalive -> established",
	},
	[DO_CLOSED] = { /* 18 */
		[CONNECTING] = "-> active",
		[CONNECT_DELAY] = "-> active",
		[OPEN_SENT] = "-> active",
		[OPEN_CONFIRM] = "-> idle",
		[ESTABLISHED] = "down(connection-lost) -> idle",
	},
	[DO_OPEN] = { /* 19, in a delay 20 */
		[CONNECT_DELAY] = "ours:open ours:keepalive -> open-confirm",
		[ACTIVE_DELAY] = "theirs:open theirs:keepalive -> open-confirm",
		[OPEN_SENT] = "ours:keepalive -> open-confirm",
		[OPEN_CONFIRM] = "ours:notify(5/2) ours:close -> idle",
		[ESTABLISHED] = "ours:notify(5/3) ours:close down(unexpected) -> idle",
	},
	[DO_BAD_OPEN] = { /* 22 */
		[CONNECT_DELAY] = "ours:notify(2/2) ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:notify(2/2) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(2/2) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(5/2) ours:close -> idle",
		[ESTABLISHED] = "ours:notify(5/3) ours:close down(unexpected) -> idle",
	},
	[DO_KEEPALIVE] = { /* 26 */
		[CONNECT_DELAY] = "ours:notify(5/0) ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:notify(5/0) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(5/1) ours:close -> idle",
		[OPEN_CONFIRM] = "up all4 all6 -> established",
	},
	[DO_UPDATE] = { /* 27 */
		[CONNECT_DELAY] = "ours:notify(5/0) ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:notify(5/0) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(5/1) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(5/2) ours:close -> idle",
		[ESTABLISHED] = "update -> established",
	},
	[DO_NOTIFICATION] = { /* 25 */
		[CONNECT_DELAY] = "ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:close -> idle",
		[OPEN_SENT] = "ours:close -> idle",
		[OPEN_CONFIRM] = "ours:close -> idle",
		[ESTABLISHED] = "ours:close down(notification) -> idle",
	},
	[DO_VERSION] = { /* 24 */
		[CONNECT_DELAY] = "ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:close -> idle",
		[OPEN_SENT] = "ours:close -> idle",
		[OPEN_CONFIRM] = "ours:close -> idle",
		[ESTABLISHED] = "ours:close down(notification) -> idle",
	},
	[DO_REFRESH] = { /* RFC 2918 */
		[CONNECT_DELAY] = "ours:notify(5/0) ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:notify(5/0) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(5/1) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(5/2) ours:close -> idle",
		[ESTABLISHED] = "all4(marked) -> established",
	},
	[DO_HEADER_ERROR] = { /* 21 */
		[CONNECT_DELAY] = "ours:notify(1/2) ours:close -> idle",
		[ACTIVE_DELAY] = "theirs:notify(1/2) theirs:close -> idle",
		[OPEN_SENT] = "ours:notify(1/2) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(1/2) ours:close -> idle",
		[ESTABLISHED] = "ours:notify(1/2) ours:close down(bad-header) -> idle",
	},
	[DO_UPDATE_ERROR] = { /* 28 */
		[ESTABLISHED] = "ours:notify(3/1) ours:close down(bad-update) -> idle",
	},
	[DO_TOO_MANY] = { /* RFC 4486 */
		[ESTABLISHED] = "ours:notify(6/1) ours:close down(prefix-limit) -> idle",
	},
	[DO_NEXT] = { /* 9, 11, 12, 13: whichever timer runs out first */
		[PAUSED] = "connect -> connect",
		[LIMITED] = "connect -> connect",
		[CONNECTING] = "ours:drop connect -> connect",
		[CONNECT_DELAY] = "ours:open -> open-sent",
		[ACTIVE] = "connect -> connect",
		[ACTIVE_DELAY] = "theirs:open -> open-sent",
		[OPEN_SENT] = "ours:notify(4/0) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:keepalive -> open-confirm",
		[ESTABLISHED] = "ours:keepalive -> established",
	},
	[DO_HOLD] = { /* 10 */
		[OPEN_SENT] = "ours:notify(4/0) ours:close -> idle",
		[OPEN_CONFIRM] = "ours:notify(4/0) ours:close -> idle",
		[ESTABLISHED] = "ours:notify(4/0) ours:close down(hold-expired) -> idle",
	},
};

static void test_table(void **state)
{
	(void)state;
	for (unsigned what = 0; what < N_EVENTS; what++) {
		for (unsigned place = 0; place < N_PLACES; place++) {
			struct rig *r = at_place((enum place)place);
			char want[256], have[4200];
			enum cw_bgp_state s = places[place].state;

			assert_int_equal(cw_bgp_peer_state(r->p), s);
			rig_forget(r);
			do_event(r, (enum place)place, (enum what)what);
			snprintf(have, sizeof(have), "%s%s-> %s", r->did, r->did[0] ? " " : "",
				cw_bgp_state_name(cw_bgp_peer_state(r->p)));
			snprintf(want, sizeof(want), "-> %s", cw_bgp_state_name(s));
			if (table[what][place])
				snprintf(want, sizeof(want), "%s", table[what][place]);
			if (strcmp(have, want) != 0)
				fail_msg("event %u in %s: wanted \"%s\", got \"%s\"", what,
					places[place].name, want, have);
			rig_free(r);
		}
	}
}

/* ---- timers ---- */

static void test_connect_retry(void **state)
{
	struct rig *r = at_place(CONNECTING);
	int64_t ms;

	(void)state;
	rig_forget(r);
	for (int i = 0; i < 50; i++) {
		ms = rig_next_ms(r);
		assert_in_range(ms, 6000, 8000); /* jittered, RFC 4271 10 */
		assert_state(r, CONNECT);
		assert_did(r, "ours:drop connect");
		rig_forget(r);
	}
	/* A refused one waits for the timer too, and the peer may come meanwhile. */
	rig_event(r, CW_BGP_EV_CONNECT_FAILED, OURS);
	assert_state(r, ACTIVE);
	assert_in_range(rig_view(r).next_try_in_s, 6, 8);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_state(r, OPEN_SENT);
	assert_int_equal(rig_view(r).next_try_in_s, -1);
	assert_int_equal(rig_view(r).failures, 0);
	/* The history is of more than trying. */
	assert_int_equal(rig_view(r).n_history, 2);
	rig_free(r);
}

static void test_passive_and_active_only(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r;

	(void)state;
	conf.active = false;
	r = rig_new(&conf);
	rig_event(r, CW_BGP_EV_START, OURS);
	assert_state(r, ACTIVE);
	assert_did(r, "");
	assert_int_equal(rig_next_ms(r), -1);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_did(r, "accept theirs:open");
	rig_event(r, CW_BGP_EV_CLOSED, THEIRS);
	assert_state(r, ACTIVE);
	assert_int_equal(rig_next_ms(r), -1);
	rig_free(r);

	conf.active = true;
	conf.passive = false;
	r = rig_new(&conf);
	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_did(r, "connect refuse(6/5)");
	assert_state(r, CONNECT);
	rig_free(r);
}

/* BL-114: what is agreed, and what follows from it. */
static void test_hold_arithmetic(void **state)
{
	static const struct {
		uint16_t ours, theirs, min, agreed;
		const char *did;
	} cases[] = {
		{ 90, 30, 0, 30, "ours:keepalive" },
		{ 90, 3, 0, 3, "ours:keepalive" },
		{ 9, 180, 0, 9, "ours:keepalive" },
		{ 90, 0, 0, 0, "ours:keepalive" },
		{ 0, 90, 0, 0, "ours:keepalive" },
		{ 90, 9, 30, 0, "ours:notify(2/6) ours:close" },
		{ 90, 0, 30, 0, "ours:notify(2/6) ours:close" },
		{ 90, 1, 0, 0, "ours:notify(2/6) ours:close" },
		{ 90, 2, 0, 0, "ours:notify(2/6) ours:close" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cw_bgp_peer_conf conf = rig_conf();
		struct cw_bgp_open open = rig_open();
		struct rig *r;
		struct cw_time heard;

		conf.hold_s = cases[i].ours;
		conf.hold_min_s = cases[i].min;
		open.hold_s = cases[i].theirs;
		r = rig_new(&conf);
		rig_event(r, CW_BGP_EV_START, OURS);
		rig_event(r, CW_BGP_EV_CONNECTED, OURS);
		rig_forget(r);
		hear_open(r, OURS, &open);
		assert_did(r, cases[i].did);
		if (strstr(cases[i].did, "notify")) {
			assert_state(r, IDLE);
			rig_free(r);
			continue;
		}
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
		assert_int_equal(rig_view(r).hold_s, cases[i].agreed);
		assert_int_equal(rig_view(r).keepalive_s, cases[i].agreed / 3);
		heard = r->now;
		if (!cases[i].agreed) {
			assert_int_equal(rig_next_ms(r), -1);
			rig_free(r);
			continue;
		}
		/* The peer falls silent. */
		rig_pass_ms(r, cases[i].agreed * 1000 - 1);
		assert_state(r, ESTABLISHED);
		rig_forget(r);
		rig_pass_ms(r, 2);
		assert_did(r, "ours:notify(4/0) ours:close down(hold-expired)");
		assert_true(cw_time_diff_us(r->now, heard) <= (cases[i].agreed + 1) * 1000000LL);
		rig_free(r);
	}
}

static void test_keepalive_pace(void **state)
{
	struct cw_bgp_open open = rig_open();
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r;
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	open.hold_s = 30;
	r = rig_new(&conf);
	rig_establish(r, &open);
	for (int i = 0; i < 200; i++) {
		int64_t ms = rig_next_ms(r);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
		assert_did(r, "ours:keepalive");
		rig_forget(r);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	}
	assert_in_range(least, 7500, 7800);
	assert_in_range(most, 9700, 10000);
	/* UPDATEs are signs of life too: none is needed besides. */
	for (int i = 0; i < 20; i++) {
		r->now = cw_time_add_s(r->now, 5);
		cw_bgp_peer_sent(r->p, CW_BGP_UPDATE, 3, r->now);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
		rig_pass_ms(r, 2000);
	}
	assert_did(r, "");
	assert_int_equal(rig_view(r).messages.out[CW_BGP_UPDATE], 60);
	assert_int_equal(rig_view(r).messages.in[CW_BGP_KEEPALIVE], 1 + 200 + 20);
	rig_free(r);

	/* Never more than one a second, RFC 4271 4.4. */
	open.hold_s = 3;
	r = rig_new(&conf);
	rig_establish(r, &open);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(rig_next_ms(r), 1000);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	}
	rig_free(r);
}

/* A hold time of 0 does not let a peer stay half open. */
static void test_open_confirm_ends(void **state)
{
	struct cw_bgp_open open = rig_open();
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);

	(void)state;
	open.hold_s = 0;
	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	hear_open(r, OURS, &open);
	rig_pass_ms(r, 239000);
	assert_state(r, OPEN_CONFIRM);
	rig_forget(r);
	rig_pass_ms(r, 1000);
	assert_did(r, "ours:notify(4/0) ours:close");
	rig_free(r);
}

/* RFC 9687: a peer that reads nothing. */
static void test_send_hold(void **state)
{
	static const struct {
		uint16_t hold_s;
		int64_t send_hold_s;
	} cases[] = { { 90, 480 }, { 180, 480 }, { 600, 1200 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct cw_bgp_peer_conf conf = rig_conf();
		struct cw_bgp_open open = rig_open();
		struct rig *r;
		int64_t ms = 0;

		conf.hold_s = open.hold_s = cases[i].hold_s;
		r = rig_new(&conf);
		rig_establish(r, &open);
		rig_event(r, CW_BGP_EV_SEND_BLOCKED, OURS);
		rig_pass_ms(r, 60000);
		rig_event(r, CW_BGP_EV_SEND_BLOCKED, OURS); /* no news */
		rig_step(r,
			&(struct cw_bgp_event){ .kind = CW_BGP_EV_SEND_PROGRESS, .blocked = true });
		while (cw_bgp_peer_state(r->p) == CW_BGP_STATE_ESTABLISHED) {
			rig_forget(r);
			hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
			rig_pass_ms(r, 1000);
			ms += 1000;
		}
		assert_int_equal(ms, cases[i].send_hold_s * 1000);
		assert_non_null(strstr(r->did, "ours:drop down(send-hold)"));
		rig_free(r);

		r = rig_new(&conf);
		rig_establish(r, &open);
		rig_event(r, CW_BGP_EV_SEND_BLOCKED, OURS);
		rig_event(r, CW_BGP_EV_SEND_PROGRESS, OURS); /* all went */
		assert_int_equal(rig_view(r).send_hold_left_s, -1);
		rig_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_connect_retry),
		cmocka_unit_test(test_passive_and_active_only),
		cmocka_unit_test(test_hold_arithmetic),
		cmocka_unit_test(test_keepalive_pace),
		cmocka_unit_test(test_open_confirm_ends),
		cmocka_unit_test(test_send_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
