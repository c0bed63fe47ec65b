/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session: who is accepted, which connection stays, pauses, limits, orders, and what people are
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sim/bgp_world.h"
#include "unit/bgp_rig.h"

/* ---- OPEN ---- */

static struct rig *open_sent(const struct cw_bgp_peer_conf *conf)
{
	struct rig *r = rig_new(conf);

	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	assert_state(r, OPEN_SENT);
	rig_forget(r);
	return r;
}

/* BL-102: the number of capability 65 counts. */
static void test_open_as_numbers(void **state)
{
	static const struct {
		uint32_t remote_asn;
		uint8_t body[18];
		bool good;
	} cases[] = {
		{ 4200000000u,
			{ 4, 0x5b, 0xa0, 0, 0xb4, 0xa9, 0xfe, 0x15, 2, 8, 2, 6, 0x41, 4, 0xfa, 0x56,
				0xea, 0 },
			true },
		{ 65515,
			{ 4, 0x5b, 0xa0, 0, 0xb4, 0xa9, 0xfe, 0x15, 2, 8, 2, 6, 0x41, 4, 0, 0, 0xff,
				0xeb },
			true },
		{ 65515,
			{ 4, 0xfd, 0xfc, 0, 0xb4, 0xa9, 0xfe, 0x15, 2, 8, 2, 6, 0x41, 4, 0, 0, 0xfd,
				0xfc },
			false },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct cw_bgp_peer_conf conf = rig_conf();
		struct rig *r;

		conf.remote_asn = cases[i].remote_asn;
		r = open_sent(&conf);
		hear(r, OURS, CW_BGP_OPEN, cases[i].body, sizeof(cases[i].body));
		assert_did(r, cases[i].good ? "ours:keepalive" : "ours:notify(2/2) ours:close");
		if (!cases[i].good) {
			assert_non_null(strstr(r->log, "expected 65515, got 65020"));
			assert_non_null(strstr(r->log, "warning 1504 "));
			assert_string_equal(rig_view(r).last_error_text,
				"wrong AS number: expected 65515, got 65020");
			assert_int_equal(rig_view(r).sent.code, 2);
			assert_int_equal(rig_view(r).sent.subcode, 2);
		}
		rig_free(r);
	}
}

static void test_open_identifier(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r;

	(void)state;
	open.id = conf.router_id;
	r = open_sent(&conf);
	hear_open(r, OURS, &open); /* RFC 6286: between two AS it may be */
	assert_did(r, "ours:keepalive");
	rig_free(r);
	conf.remote_asn = conf.local_asn;
	open.asn = open.caps.as4_value = conf.local_asn;
	r = open_sent(&conf);
	hear_open(r, OURS, &open);
	assert_did(r, "ours:notify(2/3) ours:close");
	rig_free(r);
}

/* What we say of ourselves; capability 64 only when asked for (BL-125). */
static void test_our_open(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = open_sent(&conf);
	struct cw_bgp_caps caps = rig_view(r).our_caps;

	(void)state;
	assert_true(caps.mp[0] && caps.mp[1] && caps.refresh && caps.enhanced_refresh && caps.as4);
	assert_false(caps.gr || caps.role || caps.ext_message || caps.ext_next_hop);
	rig_free(r);
	conf.gr = conf.ext_message = conf.ext_next_hop = true;
	conf.role = CW_BGP_ROLE_CUSTOMER;
	conf.family[CW_BGP_IPV6] = false;
	r = open_sent(&conf);
	caps = rig_view(r).our_caps;
	assert_true(caps.gr && caps.gr_notification && caps.gr_family[CW_BGP_IPV4]);
	assert_false(caps.gr_restarting || caps.gr_forwarding[CW_BGP_IPV4] ||
		     caps.gr_family[CW_BGP_IPV6] || caps.mp[CW_BGP_IPV6]);
	assert_int_equal(caps.gr_time_s, 120);
	assert_true(caps.role && caps.role_value == CW_BGP_ROLE_CUSTOMER);
	assert_true(caps.ext_message && caps.ext_next_hop);
	rig_free(r);
	conf.remote_asn = conf.local_asn;
	r = open_sent(&conf);
	assert_false(rig_view(r).our_caps.role); /* RFC 9234: not within an AS */
	rig_free(r);
}

static void test_families(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = open_sent(&conf);

	(void)state;
	/* No multiprotocol capability at all means IPv4. */
	open.caps.mp_any = open.caps.mp[0] = open.caps.mp[1] = false;
	hear_open(r, OURS, &open);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	assert_did(r, "ours:keepalive up all4");
	assert_true(cw_bgp_peer_codec(r->p)->family[CW_BGP_IPV4]);
	assert_false(cw_bgp_peer_codec(r->p)->family[CW_BGP_IPV6]);
	rig_free(r);

	conf.family[CW_BGP_IPV6] = false;
	open.caps.mp_any = open.caps.mp[CW_BGP_IPV6] = true;
	r = open_sent(&conf);
	hear_open(r, OURS, &open);
	assert_did(r, "ours:notify(2/7) ours:close");
	/* RFC 5492 5: with the capability that is missing. */
	assert_int_equal(r->n_sent, 19 + 2 + 6);
	assert_memory_equal(r->sent + 21, ((uint8_t[]){ 1, 4, 0, 1, 0, 1 }), 6);
	rig_free(r);
}

static void test_extended_messages_need_both(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct cw_bgp_peer_conf conf = rig_conf();
		struct cw_bgp_open open = rig_open();
		struct rig *r;

		conf.ext_message = i & 1;
		open.caps.ext_message = i & 2;
		r = rig_new(&conf);
		rig_establish(r, &open);
		assert_int_equal(cw_bgp_peer_codec(r->p)->max, i == 3 ? 65535 : 4096);
		assert_int_equal(cw_bgp_peer_max(r->p, OURS), i == 3 ? 65535 : 4096);
		assert_int_equal(cw_bgp_peer_max(r->p, THEIRS), 4096);
		rig_free(r);
	}
}

/* RFC 5492 3: a peer that can't read capabilities is asked without. */
static void test_old_speaker(void **state)
{
	static const uint8_t subcodes[] = { CW_BGP_OPEN_BAD_PARAMETER,
		CW_BGP_OPEN_NEEDS_CAPABILITY };
	struct cw_bgp_peer_conf conf = rig_conf();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct cw_bgp_open open = rig_open();
		struct rig *r = open_sent(&conf);

		hear_notification(r, OURS, CW_BGP_E_OPEN, subcodes[i]);
		rig_pass_ms(r, 1000);
		assert_did(r, "ours:close connect");
		rig_event(r, CW_BGP_EV_CONNECTED, OURS);
		assert_false(rig_view(r).our_caps.as4 || rig_view(r).our_caps.mp_any);
		open.caps = (struct cw_bgp_caps){ 0 };
		hear_open(r, OURS, &open);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
		assert_state(r, ESTABLISHED);
		assert_false(cw_bgp_peer_codec(r->p)->as4 || cw_bgp_peer_codec(r->p)->family[1]);
		rig_free(r);
	}
}

/* RFC 9234 4.2: every pair of roles. */
static void test_roles(void **state)
{
	enum { NONE = CW_BGP_PEER_NO_ROLE, BOTH = 100 };
	static const uint8_t roles[] = { 0, 1, 2, 3, 4, 9, NONE, BOTH };

	(void)state;
	for (unsigned strict = 0; strict < 2; strict++) {
		for (size_t i = 0; i < 7; i++) {
			for (size_t j = 0; j < 8; j++) {
				struct cw_bgp_peer_conf conf = rig_conf();
				uint8_t ours = roles[i], theirs = roles[j];
				struct cw_bgp_open open = rig_open();
				struct rig *r;
				bool good =
					(ours == 0 && theirs == 3) || (ours == 3 && theirs == 0) ||
					(ours == 1 && theirs == 2) || (ours == 2 && theirs == 1) ||
					(ours == 4 && theirs == 4) || ours == NONE ||
					(theirs == NONE && !strict);
				uint8_t body[64], *at = body + 10;

				if (ours == 9) /* no such setting */
					continue;
				if (theirs == BOTH)
					good = false;
				conf.role = ours;
				conf.role_strict = strict;
				open.caps.role = theirs != NONE;
				open.caps.role_value = theirs;
				r = open_sent(&conf);
				if (theirs == BOTH) {
					/* AS 65515; capability 9 twice, 4-octet AS once. */
					memcpy(body,
						(uint8_t[]){ 4, 0xff, 0xeb, 0, 90, 10, 20, 255, 4,
							14, 2, 12, 9, 1, 0, 9, 1, 3, 65, 4, 0, 0,
							0xff, 0xeb },
						24);
					hear(r, OURS, CW_BGP_OPEN, body, (size_t)(at - body) + 14);
				} else {
					hear_open(r, OURS, &open);
				}
				if (strcmp(r->did, good ? "ours:keepalive"
							: "ours:notify(2/11) ours:close") != 0)
					fail_msg("role %u and %u, strict %u: %s", ours, theirs,
						strict, r->did);
				rig_free(r);
			}
		}
	}
}

/* ---- collision ---- */

/* BL-116: both connect at once; our identifier lower than theirs, higher, and equal. */
static void test_collision_by_hand(void **state)
{
	static const struct {
		uint32_t id;
		bool ours_stays;
	} cases[] = { { 0x0a14ff04, false }, { 0x0a000001, true }, { 0x0a0a0001, false } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (unsigned order = 0; order < 2; order++) {
			struct cw_bgp_peer_conf conf = rig_conf();
			struct cw_bgp_open open = rig_open();
			enum cw_bgp_conn first = order ? THEIRS : OURS;
			enum cw_bgp_conn stays = cases[i].ours_stays ? OURS : THEIRS;
			struct rig *r = open_sent(&conf);

			open.id = cases[i].id;
			rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
			assert_did(r, "accept theirs:open");
			rig_forget(r);
			hear_open(r, first, &open);
			if (stays == first)
				assert_did(r,
					stays == OURS
						? "theirs:notify(6/7) theirs:close ours:keepalive"
						: "ours:notify(6/7) ours:close theirs:keepalive");
			else
				assert_did(r, stays == OURS ? "theirs:notify(6/7) theirs:close"
							    : "ours:notify(6/7) ours:close");
			if (stays != first)
				hear_open(r, stays, &open);
			hear(r, stays, CW_BGP_KEEPALIVE, NULL, 0);
			assert_state(r, ESTABLISHED);
			assert_int_equal(cw_bgp_peer_established(r->p), stays);
			assert_int_equal(rig_view(r).ours, stays == OURS);
			/* It is no failure, and nothing to bother people with. */
			assert_int_equal(rig_view(r).failures, 0);
			assert_int_equal(rig_view(r).last_error, CW_BGP_CAUSE_NONE);
			assert_null(strstr(r->log, "collision"));
			rig_free(r);
		}
	}
}

/* Of equal identifiers the higher AS number decides, RFC 6286 2.3; here ours. */
static void test_collision_equal_ids(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r;

	(void)state;
	conf.remote_asn = open.asn = open.caps.as4_value = 64900;
	open.id = conf.router_id;
	r = open_sent(&conf);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	rig_forget(r);
	hear_open(r, OURS, &open);
	assert_did(r, "theirs:notify(6/7) theirs:close ours:keepalive");
	rig_free(r);
}

/* Once one is in OpenConfirm the other's OPEN waits: the peer may be about to establish the first.
 */
static void test_collision_late(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r;

	(void)state;
	for (unsigned other_wins = 0; other_wins < 2; other_wins++) {
		r = open_sent(&conf);
		hear_open(r, OURS, &open);
		rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
		hear_open(r, THEIRS, &open);
		assert_did(r, "ours:keepalive accept");
		rig_forget(r);
		if (other_wins) {
			hear_notification(r, OURS, CW_BGP_E_CEASE, CW_BGP_CEASE_COLLISION);
			assert_did(r, "ours:close theirs:open theirs:keepalive");
			hear(r, THEIRS, CW_BGP_KEEPALIVE, NULL, 0);
		} else {
			hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
			assert_did(r, "theirs:notify(6/7) theirs:close up all4 all6");
		}
		assert_state(r, ESTABLISHED);
		rig_free(r);
	}
	/* Ours comes up while theirs is in OpenConfirm. */
	r = rig_new(&conf);
	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	hear_open(r, THEIRS, &open);
	rig_forget(r);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	assert_did(r, "");
	assert_state(r, OPEN_CONFIRM);
	rig_event(r, CW_BGP_EV_CLOSED, THEIRS);
	assert_did(r, "ours:open");
	assert_state(r, OPEN_SENT);
	rig_free(r);
}

/* An established one wins, and shows whether it still lives; not more often than once a second. */
static void test_second_connection(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);

	(void)state;
	rig_establish(r, NULL);
	for (int i = 0; i < 10; i++)
		rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_non_null(strstr(r->did, "refuse(6/7) ours:keepalive refuse(6/7) refuse(6/7)"));
	assert_null(strstr(strstr(r->did, "keepalive") + 1, "keepalive"));
	assert_state(r, ESTABLISHED);
	rig_free(r);
}

/* BL-116: 100 rounds between two machines, all orders of who comes when; identifiers higher, lower,
 * equal. */
static void test_collision_rounds(void **state)
{
	(void)state;
	for (unsigned ids = 0; ids < 3; ids++) {
		for (uint64_t seed = 1; seed <= 100; seed++) {
			struct cw_bgp_peer_conf conf[2] = { rig_conf(), rig_conf() };
			struct bgp_world *w;
			int64_t ms, gap_ms;

			conf[1].local_asn = 65515;
			conf[1].remote_asn = 65010;
			conf[1].router_id = conf[0].router_id + ids - 1;
			w = bgp_world_new(conf, seed);
			w->delay_us = 1000 + bgp_dice(w, 100000);
			w->jitter_us = bgp_dice(w, 2) ? bgp_dice(w, 200000) : 0;
			bgp_order(w, 0, CW_BGP_EV_START);
			gap_ms = bgp_dice(w, 2) ? 0 : bgp_dice(w, 500);
			bgp_pass_ms(w, gap_ms);
			bgp_order(w, 1, CW_BGP_EV_START);
			ms = bgp_until_up_ms(w, 30000);
			assert_false(w->bad);
			assert_true(ms >= 0);
			bgp_pass_ms(w, 60000);
			assert_true(bgp_is_well(w));
			/* Once up it stays; no end counts a failure or pauses. */
			assert_int_equal(w->hosts[0].ups + w->hosts[1].ups, 2);
			assert_int_equal(bgp_view(w, 0).failures, 0);
			assert_int_equal(bgp_view(w, 1).failures, 0);
			/* All goes well at once: nobody had to try again, but who came before the
			 * other was there. */
			assert_true(ms <
				    6 * (w->delay_us + w->jitter_us) / 1000 + (gap_ms ? 2500 : 10));
			bgp_world_free(w);
		}
	}
}

/* ---- pauses ---- */

static int64_t pause_ms(struct rig *r)
{
	int64_t ms;

	assert_state(r, IDLE);
	assert_int_equal(rig_view(r).wait, CW_BGP_WAIT_PAUSE);
	ms = rig_next_ms(r);
	assert_state(r, CONNECT);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	return ms;
}

static void test_pause_grows(void **state)
{
	static const int64_t most_ms[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = open_sent(&conf);

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		hear_notification(r, OURS, CW_BGP_E_CEASE, CW_BGP_CEASE_REJECTED);
		assert_int_equal(rig_view(r).failures, i + 1);
		assert_in_range(pause_ms(r), most_ms[i] * 3 / 4, most_ms[i]);
	}
	/* Said aloud once, then again after ten minutes. */
	assert_non_null(strstr(r->log, "warning 1503"));
	assert_null(strstr(strstr(r->log, "warning 1503") + 1, "warning 1503"));
	assert_non_null(strstr(r->log, "info 1503"));
	rig_free(r);
}

/* The same bad message again makes it grow more, also when the session was well up between. */
static void test_pause_same_bad(void **state)
{
	static const uint8_t bad[] = { 0, 0, 0, 4, 0x40, 1, 0x20, 0 };
	static const int64_t most_ms[] = { 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000,
		256000, 512000, 600000, 600000 };
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct cw_bgp_err err = {
		.code = 3, .subcode = 5, .why = "ORIGIN has 32 octets", .data = { bad + 4, 4 }
	};
	struct rig *r = open_sent(&conf);
	uint8_t other[sizeof(bad)];

	(void)state;
	open.hold_s = 0;
	for (size_t i = 0; i < 12; i++) {
		hear_open(r, OURS, &open);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
		rig_pass_ms(r, 61000);
		rig_forget(r);
		rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_UPDATE_ERROR,
				    .err = &err,
				    .body = { bad, sizeof(bad) } });
		assert_did(r, "ours:notify(3/5) ours:close down(bad-update)");
		assert_int_equal(rig_view(r).same_bad, i);
		assert_non_null(strstr(r->log, "warning 1505"));
		assert_non_null(strstr(r->log, "ORIGIN has 32 octets"));
		assert_non_null(strstr(r->log, "bytes 40012000"));
		assert_in_range(pause_ms(r), most_ms[i] * 3 / 4, most_ms[i]);
	}
	/* Another one is another story. */
	memcpy(other, bad, sizeof(bad));
	other[7] = 1;
	hear_open(r, OURS, &open);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	rig_pass_ms(r, 61000);
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_UPDATE_ERROR,
			    .err = &err,
			    .body = { other, sizeof(other) } });
	assert_int_equal(rig_view(r).same_bad, 0);
	assert_in_range(pause_ms(r), 750, 1000);
	rig_free(r);
}

static void test_pause_forgotten(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = open_sent(&conf);

	(void)state;
	open.hold_s = 0;
	for (int i = 0; i < 4; i++) {
		hear_notification(r, OURS, CW_BGP_E_CEASE, CW_BGP_CEASE_REJECTED);
		pause_ms(r);
	}
	hear_open(r, OURS, &open);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	rig_pass_ms(r, 59000);
	assert_int_equal(rig_view(r).failures, 4);
	rig_pass_ms(r, 1000);
	assert_int_equal(rig_view(r).failures, 0);
	rig_event(r, CW_BGP_EV_CLOSED, OURS);
	assert_int_equal(rig_view(r).failures, 1);
	assert_in_range(pause_ms(r), 750, 1000);
	rig_free(r);
}

/* ---- the prefix limit (BL-128) ---- */

static void prefixes(struct rig *r, uint32_t count)
{
	hear_family(r, CW_BGP_EV_PREFIXES, CW_BGP_IPV4, count);
}

static void again(struct rig *r)
{
	struct cw_bgp_open open = rig_open();

	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	hear_open(r, OURS, &open);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	assert_state(r, ESTABLISHED);
	rig_forget(r);
}

static void test_prefix_limit(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);
	struct cw_bgp_peer_view v;

	(void)state;
	rig_establish(r, NULL);
	prefixes(r, 79);
	assert_string_equal(r->log, "");
	prefixes(r, 80);
	prefixes(r, 99);
	prefixes(r, 100);
	assert_did(r, "");
	assert_non_null(strstr(r->log, "warning 1506 80 ipv4 prefixes"));
	assert_null(strstr(strstr(r->log, "1506") + 1, "1506"));
	rig_forget(r);
	prefixes(r, 101);
	prefixes(r, 102); /* the owner is still counting */
	assert_did(r, "ours:notify(6/1) ours:close down(prefix-limit)");
	assert_memory_equal(r->sent + 21, ((uint8_t[]){ 0, 1, 1, 0, 0, 0, 100 }), 7);
	assert_int_equal(r->n_sent, 28);
	v = rig_view(r);
	assert_int_equal(v.wait, CW_BGP_WAIT_PREFIXES);
	assert_string_equal(v.why, "ipv4: limit 100, got 101");
	assert_int_equal(v.next_try_in_s, 300);
	assert_non_null(strstr(r->log, "warning 1507"));
	assert_non_null(strstr(r->log, "next try in 300 s"));
	/* Its connections are refused meanwhile, and the tunnel's ups and downs end nothing. */
	rig_forget(r);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_did(r, "refuse(6/5)");
	rig_event(r, CW_BGP_EV_NET_DOWN, OURS);
	rig_event(r, CW_BGP_EV_NET_UP, OURS);
	assert_int_equal(rig_view(r).next_try_in_s, 300);
	rig_forget(r);
	assert_int_equal(rig_next_ms(r), 300000);
	assert_did(r, "connect");
	/* Then twice as long, and so on up to a day. */
	for (int64_t s = 600; s < 400000; s *= 2) {
		again(r);
		prefixes(r, 500);
		assert_int_equal(rig_next_ms(r), (s < 86400 ? s : 86400) * 1000);
	}
	rig_free(r);
}

static void test_prefix_limit_raised(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r;
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_CONF_CHANGED, .conf = &conf };

	(void)state;
	conf.max_prefixes_restart_s = 0;
	r = rig_new(&conf);
	rig_establish(r, NULL);
	prefixes(r, 150);
	assert_int_equal(rig_next_ms(r), -1); /* until somebody does something */
	assert_non_null(strstr(r->log, "not tried again before max-prefixes is raised"));
	rig_forget(r);
	conf.max_prefixes = 149;
	rig_step(r, &ev);
	assert_did(r, "");
	conf.max_prefixes = 200;
	rig_step(r, &ev);
	assert_did(r, "connect");
	again(r);
	prefixes(r, 150);
	assert_state(r, ESTABLISHED);
	/* Lowered under what is there. */
	rig_forget(r);
	conf.max_prefixes = 120;
	rig_step(r, &ev);
	assert_did(r, "ours:notify(6/1) ours:close down(prefix-limit)");
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_HARD });
	assert_state(r, CONNECT);
	rig_free(r);
}

/* ---- orders and settings ---- */

static void test_shutdown_text(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);
	char text[400];
	size_t n;

	(void)state;
	rig_establish(r, NULL);
	rig_step(r, &(struct cw_bgp_event){
			    .kind = CW_BGP_EV_STOP, .subcode = 2, .text = "new line card" });
	assert_did(r, "ours:notify(6/2) ours:close down(operator)");
	assert_int_equal(r->sent[21], 13);
	assert_memory_equal(r->sent + 22, "new line card", 13);
	assert_int_equal(rig_view(r).wait, CW_BGP_WAIT_START);
	assert_string_equal(rig_view(r).why, "new line card");
	assert_int_equal(rig_next_ms(r), -1);
	rig_free(r);

	/* RFC 9003: 255 octets at most, and no half characters. */
	memset(text, 'x', sizeof(text));
	memcpy(text + 254, "\xc3\xa4", 2);
	text[399] = '\0';
	r = rig_new(&conf);
	rig_establish(r, NULL);
	rig_step(r, &(struct cw_bgp_event){
			    .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_HARD, .text = text });
	assert_non_null(strstr(r->did, "notify(6/4)"));
	n = r->sent[21];
	assert_int_equal(n, 254);
	assert_int_equal(r->n_sent, 22 + 254);
	rig_free(r);

	r = rig_new(&conf);
	rig_establish(r, NULL);
	hear(r, OURS, CW_BGP_NOTIFICATION,
		"\x06\x02\x05"
		"back\n",
		8);
	assert_int_equal(rig_view(r).received.code, 6);
	assert_non_null(strstr(rig_view(r).received.text, "back\\x0a"));
	assert_non_null(strstr(r->log, "back\\x0a"));
	rig_free(r);
}

/* BL-138: each setting, changed alone while established. */
static void test_settings(void **state)
{
	const struct cw_bgp_peer_conf_row *row;
	size_t bytes = 0;

	(void)state;
	for (size_t i = 0; (row = cw_bgp_peer_conf_row(i)); i++) {
		struct cw_bgp_peer_conf conf = rig_conf();
		char names[64];
		struct rig *r;
		bool renews = row->change != CW_BGP_CHANGE_LIVE;

		bytes += row->size;
		r = rig_new(&conf);
		rig_establish(r, NULL);
		/* The lowest byte, so that limits stay above what is there. */
		((uint8_t *)&conf)[row->offset] ^= 1;
		assert_int_equal(
			cw_bgp_peer_conf_diff(cw_bgp_peer_conf(r->p), &conf, names, sizeof(names)),
			row->change);
		assert_string_equal(names, row->name);
		rig_step(
			r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = &conf });
		if (renews !=
			(strstr(r->did, "ours:notify(6/6) ours:close down(conf-changed)") != NULL))
			fail_msg("%s: %s", row->name, r->did);
		if (renews && !strstr(r->did, " connect"))
			fail_msg("%s: not begun anew: %s", row->name, r->did);
		assert_non_null(strstr(r->log, row->name));
		rig_forget(r);
		rig_step(
			r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = &conf });
		assert_did(r, "");
		assert_string_equal(r->log, "");
		rig_free(r);
	}
	/* Every field is in the table: the rest is padding, and no more than a few bytes of it. */
	assert_in_range(sizeof(struct cw_bgp_peer_conf) - bytes, 0, 24);
}

/* A live setting may still make the session as it is one that would be refused. */
static void test_settings_that_refuse(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);

	(void)state;
	rig_establish(r, NULL);
	conf.hold_min_s = 90;
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = &conf });
	assert_did(r, "");
	conf.hold_min_s = 91;
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = &conf });
	assert_did(r, "ours:notify(6/6) ours:close down(conf-changed) connect");
	rig_free(r);
}

static void test_names_cut(void **state)
{
	struct cw_bgp_peer_conf a = rig_conf(), b = rig_conf();
	char names[24];

	(void)state;
	assert_int_equal(cw_bgp_peer_conf_diff(&a, &b, names, sizeof(names)), CW_BGP_CHANGE_NONE);
	assert_string_equal(names, "");
	b.local_asn = b.remote_asn = b.ttl = 9;
	assert_int_equal(cw_bgp_peer_conf_diff(&a, &b, names, sizeof(names)), CW_BGP_CHANGE_SOCKET);
	assert_string_equal(names, "local_asn, ...");
	assert_int_equal(cw_bgp_peer_conf_diff(&a, &b, NULL, 0), CW_BGP_CHANGE_SOCKET);
}

/* What a person is shown. */
static void test_view(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = rig_new(&conf);
	struct cw_bgp_peer_view v = rig_view(r);

	(void)state;
	assert_int_equal(v.wait, CW_BGP_WAIT_START);
	assert_int_equal(v.n_history, 0);
	rig_establish(r, NULL);
	rig_pass_ms(r, 5000);
	v = rig_view(r);
	assert_int_equal(v.for_s, 5);
	assert_int_equal(v.since_wall_s, 1700000000 - 5);
	assert_int_equal(v.hold_left_s, 85);
	assert_in_range(v.keepalive_left_s, 1, 25);
	assert_true(v.ours && v.as4 && v.refresh && v.enhanced_refresh && !v.gr && !v.ext_message);
	assert_int_equal(v.peer_id, 0x0a14ff04);
	assert_int_equal(cw_bgp_peer_id(r->p), 0x0a14ff04);
	assert_int_equal(v.messages.in[CW_BGP_OPEN], 1);
	assert_int_equal(v.messages.out[CW_BGP_OPEN], 1);
	assert_int_equal(v.times_up, 1);
	assert_true(v.family[0].agreed && v.family[1].agreed && !v.family[0].eor_in);
	assert_int_equal(v.n_history, 4);
	assert_int_equal(v.history[0].to, CW_BGP_STATE_ESTABLISHED);
	assert_int_equal(v.history[3].from, CW_BGP_STATE_IDLE);
	hear(r, OURS, CW_BGP_NOTIFICATION, "\x03\x05\x40\x01", 4);
	v = rig_view(r);
	assert_int_equal(v.history[0].cause, CW_BGP_CAUSE_NOTIFICATION);
	assert_int_equal(v.cause, CW_BGP_CAUSE_NOTIFICATION);
	assert_true(v.received.present && !v.sent.present);
	assert_int_equal(v.received.n_data, 2);
	assert_int_equal(v.received.data[0], 0x40);
	assert_int_equal(v.last_error, CW_BGP_CAUSE_NOTIFICATION);
	assert_int_equal(v.last_error_wall_s, 1700000000);
	for (int i = 0; i < CW_BGP_CAUSE_COUNT; i++) {
		assert_string_not_equal(cw_bgp_cause_name((enum cw_bgp_cause)i), "");
		assert_string_not_equal(cw_bgp_cause_text((enum cw_bgp_cause)i), "");
	}
	for (int i = 0; i < CW_BGP_EV_COUNT; i++)
		assert_non_null(cw_bgp_event_name((enum cw_bgp_event_kind)i));
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_as_numbers),
		cmocka_unit_test(test_open_identifier),
		cmocka_unit_test(test_our_open),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_extended_messages_need_both),
		cmocka_unit_test(test_old_speaker),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_collision_by_hand),
		cmocka_unit_test(test_collision_equal_ids),
		cmocka_unit_test(test_collision_late),
		cmocka_unit_test(test_second_connection),
		cmocka_unit_test(test_collision_rounds),
		cmocka_unit_test(test_pause_grows),
		cmocka_unit_test(test_pause_same_bad),
		cmocka_unit_test(test_pause_forgotten),
		cmocka_unit_test(test_prefix_limit),
		cmocka_unit_test(test_prefix_limit_raised),
		cmocka_unit_test(test_shutdown_text),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_settings_that_refuse),
		cmocka_unit_test(test_names_cut),
		cmocka_unit_test(test_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
