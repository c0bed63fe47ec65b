/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graceful restart (RFC 4724, 8538) on either side, and route refresh (RFC 2918, 7313). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sim/bgp_world.h"
#include "unit/bgp_rig.h"

static struct cw_bgp_peer_conf gr_conf(void)
{
	struct cw_bgp_peer_conf conf = rig_conf();

	conf.gr = true;
	return conf;
}

/* A peer with graceful restart for both families, time 120, forwarding kept, with the N bit. */
static struct cw_bgp_open gr_open(void)
{
	struct cw_bgp_open open = rig_open();

	open.caps.gr = open.caps.gr_notification = true;
	open.caps.gr_time_s = 120;
	for (unsigned f = 0; f < CW_BGP_FAMILIES; f++)
		open.caps.gr_family[f] = open.caps.gr_forwarding[f] = true;
	return open;
}

static struct rig *gr_rig(const struct cw_bgp_peer_conf *conf, const struct cw_bgp_open *open)
{
	struct rig *r = rig_new(conf);

	rig_establish(r, open);
	return r;
}

static void eor(struct rig *r, enum cw_bgp_family family)
{
	hear_family(r, CW_BGP_EV_EOR, family, 0);
}

/* The peer is back: waits for the pause to end, and connects. */
static void back(struct rig *r, const struct cw_bgp_open *open)
{
	while (cw_bgp_peer_state(r->p) != CW_BGP_STATE_CONNECT)
		rig_next_ms(r);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	hear_open(r, OURS, open);
	rig_forget(r);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	assert_state(r, ESTABLISHED);
}

/* ---- what is kept, by how the session ends ---- */

enum how {
	BY_CLOSE,
	BY_NOTIFICATION,
	BY_HARD_RESET,
	BY_HOLD,
	BY_BAD_UPDATE,
	BY_STOP,
	BY_RESET,
	BY_NET,
	N_HOW
};

static void end_it(struct rig *r, enum how how)
{
	struct cw_bgp_err err = { .code = 3, .subcode = 1, .why = "made up" };
	struct cw_bgp_event ev = {
		.conn = OURS, .subcode = 2, .reset = CW_BGP_RESET_HARD, .err = &err
	};

	switch (how) {
	case BY_CLOSE:
		ev.kind = CW_BGP_EV_CLOSED;
		break;
	case BY_NOTIFICATION:
		hear_notification(r, OURS, 6, 4);
		return;
	case BY_HARD_RESET:
		hear(r, OURS, CW_BGP_NOTIFICATION, "\x06\x09\x06\x02", 4);
		return;
	case BY_HOLD:
		while (cw_bgp_peer_state(r->p) == CW_BGP_STATE_ESTABLISHED) {
			rig_forget(r);
			rig_next_ms(r);
		}
		return;
	case BY_BAD_UPDATE:
		ev.kind = CW_BGP_EV_UPDATE_ERROR;
		break;
	case BY_STOP:
		ev.kind = CW_BGP_EV_STOP;
		break;
	case BY_RESET:
		ev.kind = CW_BGP_EV_RESET;
		break;
	default:
		ev.kind = CW_BGP_EV_NET_DOWN;
	}
	rig_step(r, &ev);
}

static void test_what_is_kept(void **state)
{
	/* Nobody offers; we don't; the peer does without N; both with N. */
	static const char *const want[N_HOW][4] = {
		[BY_CLOSE] = { "down(connection-lost)", "down(connection-lost)",
			"down(connection-lost,keep4,keep6)", "down(connection-lost,keep4,keep6)" },
		[BY_NOTIFICATION] = { "down(notification)", "down(notification)",
			"down(notification)", "down(notification,keep4,keep6)" },
		[BY_HARD_RESET] = { "down(notification)", "down(notification)",
			"down(notification)", "down(notification)" },
		[BY_HOLD] = { "down(hold-expired)", "down(hold-expired)", "down(hold-expired)",
			"down(hold-expired,keep4,keep6)" },
		[BY_BAD_UPDATE] = { "down(bad-update)", "down(bad-update)", "down(bad-update)",
			"down(bad-update,keep4,keep6)" },
		[BY_STOP] = { "down(operator)", "down(operator)", "down(operator)",
			"down(operator)" },
		[BY_RESET] = { "down(reset)", "down(reset)", "down(reset)", "down(reset)" },
		[BY_NET] = { "down(net-down)", "down(net-down)", "down(net-down)",
			"down(net-down)" },
	};

	(void)state;
	for (unsigned how = 0; how < N_HOW; how++) {
		for (unsigned who = 0; who < 4; who++) {
			struct cw_bgp_peer_conf conf = who >= 2 ? gr_conf() : rig_conf();
			struct cw_bgp_open open = who >= 1 ? gr_open() : rig_open();
			struct rig *r;

			if (who == 2)
				open.caps.gr_notification = false;
			r = gr_rig(&conf, &open);
			end_it(r, (enum how)how);
			if (!strstr(r->did, want[how][who]))
				fail_msg("how %u, who %u: %s", how, who, r->did);
			/* RFC 8538: what is not to be kept is said so. */
			if (who == 3 && (how == BY_STOP || how == BY_RESET)) {
				assert_non_null(strstr(r->did, "ours:notify(6/9)"));
				assert_int_equal(r->sent[21], 6);
				assert_int_equal(r->sent[22], how == BY_STOP ? 2 : 4);
				assert_int_equal(rig_view(r).sent.subcode, how == BY_STOP ? 2 : 4);
				assert_true(rig_view(r).sent.hard);
			}
			if (how == BY_HARD_RESET) {
				assert_true(rig_view(r).received.hard);
				assert_int_equal(rig_view(r).received.subcode, 2);
			}
			rig_free(r);
		}
	}
}

/* Only families that the peer named, and not if it gives no time. */
static void test_kept_by_family(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r;

	(void)state;
	open.caps.gr_family[CW_BGP_IPV6] = false;
	r = gr_rig(&conf, &open);
	end_it(r, BY_CLOSE);
	assert_did(r, "down(connection-lost,keep4)");
	rig_free(r);
	open = gr_open();
	open.caps.gr_time_s = 0;
	r = gr_rig(&conf, &open);
	end_it(r, BY_CLOSE);
	assert_did(r, "down(connection-lost)");
	rig_free(r);
}

/* ---- helper ---- */

static void test_helper_peer_returns(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	end_it(r, BY_CLOSE);
	assert_int_equal(rig_view(r).restart_left_s, 120);
	assert_true(rig_view(r).family[0].stale && rig_view(r).family[1].stale);
	back(r, &open);
	assert_did(r, "up all4 all6");
	assert_int_equal(rig_view(r).restart_left_s, -1);
	assert_int_equal(rig_view(r).family[0].stale_left_s, 90);
	rig_forget(r);
	eor(r, CW_BGP_IPV4);
	assert_did(r, "sweep4");
	eor(r, CW_BGP_IPV4);
	assert_did(r, "sweep4");
	rig_forget(r);
	/* IPv6's End-of-RIB never comes. */
	for (int i = 0; i < 89; i++) {
		rig_pass_ms(r, 1000);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	}
	assert_null(strstr(r->did, "sweep"));
	rig_pass_ms(r, 1000);
	assert_non_null(strstr(r->did, "sweep6"));
	rig_free(r);
}

static void test_helper_peer_lost_it(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	/* It comes back without IPv4's forwarding state, and without IPv6 at all. */
	end_it(r, BY_CLOSE);
	open.caps.gr_forwarding[CW_BGP_IPV4] = false;
	open.caps.mp[CW_BGP_IPV6] = open.caps.gr_family[CW_BGP_IPV6] = false;
	back(r, &open);
	assert_did(r, "up sweep4 all4 sweep6");
	rig_free(r);
	/* Or with nothing of graceful restart. */
	open = gr_open();
	r = gr_rig(&conf, &open);
	end_it(r, BY_CLOSE);
	open = rig_open();
	back(r, &open);
	assert_did(r, "up sweep4 all4 sweep6 all6");
	rig_free(r);
}

static void test_helper_peer_stays_away(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r;

	(void)state;
	for (unsigned capped = 0; capped < 2; capped++) {
		int64_t s = capped ? 50 : 120;

		conf.gr_time_max_s = capped ? 50 : 300;
		r = gr_rig(&conf, &open);
		end_it(r, BY_CLOSE);
		rig_pass_ms(r, s * 1000 - 1);
		assert_null(strstr(r->did, "sweep"));
		rig_pass_ms(r, 1);
		assert_non_null(strstr(r->did, "sweep4 sweep6"));
		assert_non_null(strstr(r->log, "not back in its restart time"));
		rig_free(r);
	}
}

/* It fails again before it has told all: the first stale ones have had their time, RFC 4724 4.2. */
static void test_helper_restarts_in_a_row(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	end_it(r, BY_CLOSE);
	back(r, &open);
	eor(r, CW_BGP_IPV4);
	rig_forget(r);
	end_it(r, BY_CLOSE);
	assert_did(r, "sweep6 down(connection-lost,keep4,keep6)");
	/* A try that does not get to ESTABLISHED changes nothing. */
	rig_forget(r);
	while (cw_bgp_peer_state(r->p) != CW_BGP_STATE_CONNECT)
		rig_next_ms(r);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	rig_event(r, CW_BGP_EV_CLOSED, OURS);
	assert_did(r, "connect ours:open");
	assert_in_range(rig_view(r).restart_left_s, 118, 120);
	rig_free(r);
}

/* BL-125: over a dead tunnel nothing is kept, not even what is kept already. */
static void test_dead_tunnel(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	end_it(r, BY_CLOSE);
	rig_forget(r);
	end_it(r, BY_NET);
	assert_did(r, "sweep4 sweep6");
	assert_int_equal(rig_view(r).restart_left_s, -1);
	assert_false(rig_view(r).family[0].stale);
	rig_free(r);
}

/* RFC 4724 5: it restarted so quickly that the old connection looks well. */
static void test_new_connection_over_old(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_did(r, "refuse(6/7) ours:keepalive"); /* a late collision */
	rig_pass_ms(r, 5000);
	rig_forget(r);
	rig_event(r, CW_BGP_EV_ACCEPTED, THEIRS);
	assert_did(r, "ours:drop down(peer-restarted,keep4,keep6) accept theirs:open");
	assert_state(r, OPEN_SENT);
	assert_int_equal(rig_view(r).failures, 0);
	rig_free(r);
}

/* ---- restarter ---- */

static struct rig *restarted(const struct cw_bgp_peer_conf *conf)
{
	struct rig *r = rig_new(conf);

	rig_step(r, &(struct cw_bgp_event){
			    .kind = CW_BGP_EV_START, .restarting = true, .forwarding = true });
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	assert_true(rig_view(r).our_caps.gr_restarting);
	assert_true(rig_view(r).our_caps.gr_forwarding[CW_BGP_IPV4]);
	return r;
}

static void test_restarter(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = restarted(&conf);

	(void)state;
	hear_open(r, OURS, &open);
	rig_forget(r);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	assert_did(r, "up");
	assert_true(rig_view(r).family[0].deferred);
	assert_false(cw_bgp_peer_is_synced(r->p, CW_BGP_IPV4));
	/* A refresh that the peer asks for comes with the first round. */
	hear(r, OURS, CW_BGP_ROUTE_REFRESH, "\0\1\0\1", 4);
	rig_forget(r);
	eor(r, CW_BGP_IPV6);
	assert_did(r, "all6");
	assert_true(cw_bgp_peer_is_synced(r->p, CW_BGP_IPV6));
	assert_false(cw_bgp_peer_is_synced(r->p, CW_BGP_IPV4));
	rig_forget(r);
	/* IPv4's End-of-RIB never comes: then by the timer, counted from START. */
	rig_pass_ms(r, 59999);
	assert_null(strstr(r->did, "all4"));
	rig_pass_ms(r, 1);
	assert_non_null(strstr(r->did, "all4"));
	rig_forget(r);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	assert_did(r, "");
	/* The next time we have not restarted, but forward by what we learned. */
	end_it(r, BY_CLOSE);
	back(r, &open);
	assert_false(rig_view(r).our_caps.gr_restarting);
	assert_true(rig_view(r).our_caps.gr_forwarding[CW_BGP_IPV4]);
	assert_did(r, "up all4 all6");
	rig_free(r);
}

/* Who restarts too, or does not know of it, sends no End-of-RIB to wait for. */
static void test_restarter_need_not_wait(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct cw_bgp_open open = i ? gr_open() : rig_open();
		struct rig *r = restarted(&conf);

		open.caps.gr_restarting = i;
		hear_open(r, OURS, &open);
		rig_forget(r);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
		assert_did(r, "up all4 all6");
		assert_true(cw_bgp_peer_is_synced(r->p, CW_BGP_IPV4));
		rig_free(r);
	}
}

/* Too long after START it is no restart any more. */
static void test_restarter_late(void **state)
{
	struct cw_bgp_peer_conf conf = gr_conf();
	struct rig *r = rig_new(&conf);

	(void)state;
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_START, .restarting = true });
	rig_event(r, CW_BGP_EV_CONNECT_FAILED, OURS);
	rig_pass_ms(r, 61000);
	while (cw_bgp_peer_state(r->p) != CW_BGP_STATE_CONNECT)
		rig_next_ms(r);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	assert_true(rig_view(r).our_caps.gr);
	assert_false(rig_view(r).our_caps.gr_restarting || rig_view(r).our_caps.gr_forwarding[0]);
	rig_free(r);
}

/* A stop that the peer shall ride out is silent; without its consent a NOTIFICATION says good-bye.
 */
static void test_quiet_stop(void **state)
{
	struct cw_bgp_event stop = { .kind = CW_BGP_EV_STOP, .subcode = 2, .quiet = true };
	struct cw_bgp_peer_conf conf = gr_conf();
	struct cw_bgp_open open = gr_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	rig_step(r, &stop);
	assert_did(r, "ours:close down(operator)");
	rig_free(r);
	open = rig_open();
	r = gr_rig(&conf, &open);
	rig_step(r, &stop);
	assert_did(r, "ours:notify(6/2) ours:close down(operator)");
	rig_free(r);
}

/* ---- two machines ---- */

static struct bgp_world *pair(bool gr)
{
	struct cw_bgp_peer_conf conf[2] = { rig_conf(), rig_conf() };
	struct bgp_world *w;

	conf[0].gr = conf[1].gr = gr;
	conf[1].local_asn = 65515;
	conf[1].remote_asn = 65010;
	conf[1].router_id++;
	w = bgp_world_new(conf, 1);
	bgp_order(w, 0, CW_BGP_EV_START);
	bgp_order(w, 1, CW_BGP_EV_START);
	assert_true(bgp_until_up_ms(w, 1000) >= 0);
	bgp_pass_ms(w, 10000);
	return w;
}

static void test_pair_restart(void **state)
{
	struct bgp_world *w = pair(true);
	struct bgp_host *a = &w->hosts[0];

	(void)state;
	bgp_crash(w, 1);
	bgp_pass_ms(w, 3000);
	bgp_boot(w, 1, true, true);
	/* Not for a moment without the peer's routes. */
	for (int i = 0; i < 60000 && !bgp_is_well(w); i += 10) {
		assert_true(a->family[0].has && a->family[1].has);
		bgp_pass_ms(w, 10);
	}
	assert_true(bgp_is_well(w));
	assert_false(w->bad);
	assert_int_equal(a->downs, 1);
	assert_true(a->kept);
	bgp_world_free(w);
}

/* The one that restarts gets the other's routes before it sends its own. */
static void test_pair_deferral(void **state)
{
	struct bgp_world *w = pair(true);
	struct bgp_host *a = &w->hosts[0], *b = &w->hosts[1];

	(void)state;
	bgp_crash(w, 1);
	a->slow = true;
	bgp_boot(w, 1, true, true);
	while (!b->up || !a->up)
		bgp_pass_ms(w, 10);
	b->sends_all = 0;
	bgp_pass_ms(w, 3000);
	assert_int_equal(b->sends_all, 0);
	assert_true(a->family[0].has && a->family[0].stale);
	bgp_finish(w, 0);
	bgp_pass_ms(w, 100);
	assert_int_equal(b->sends_all, 2);
	assert_true(bgp_is_well(w));
	bgp_world_free(w);
}

static void test_pair_without(void **state)
{
	struct bgp_world *w = pair(false);

	(void)state;
	bgp_crash(w, 1);
	bgp_boot(w, 1, true, true);
	while (w->hosts[0].up)
		bgp_pass_ms(w, 10);
	assert_false(w->hosts[0].family[0].has);
	assert_true(bgp_until_up_ms(w, 30000) >= 0);
	bgp_world_free(w);
}

/* The path is cut for longer than the hold time: with N both keep, and nothing is lost by it. */
static void test_pair_hold_expiry(void **state)
{
	struct bgp_world *w = pair(true);
	struct bgp_host *a = &w->hosts[0], *b = &w->hosts[1];

	(void)state;
	bgp_cut(w, true);
	bgp_pass_ms(w, 95000);
	assert_false(a->up || b->up);
	assert_int_equal(a->last_down, CW_BGP_CAUSE_HOLD_EXPIRED);
	assert_true(a->kept && b->kept && a->family[0].stale && b->family[1].stale);
	bgp_cut(w, false);
	assert_true(bgp_until_up_ms(w, 100000) >= 0);
	assert_true(a->family[0].has && b->family[1].has);
	bgp_world_free(w);
}

/* ---- refresh ---- */

static void refresh(struct rig *r, uint8_t afi, uint8_t kind)
{
	uint8_t body[4] = { 0, afi, kind, 1 };

	hear(r, OURS, CW_BGP_ROUTE_REFRESH, body, sizeof(body));
}

static void test_refresh_asked(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	refresh(r, 1, 0);
	assert_did(r, "all4(marked)");
	/* More of them meanwhile make one more round. */
	for (int i = 0; i < 20; i++)
		refresh(r, 1, 0);
	assert_did(r, "all4(marked)");
	refresh(r, 2, 0);
	rig_forget(r);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	assert_did(r, "all4(marked)");
	rig_forget(r);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	assert_did(r, "");
	/* A family or a kind that is none of ours. */
	rig_forget(r);
	refresh(r, 25, 0);
	refresh(r, 1, 77);
	assert_did(r, "");
	rig_free(r);

	/* Not enhanced: no marks, and the octet means nothing. */
	open.caps.enhanced_refresh = false;
	r = gr_rig(&conf, &open);
	refresh(r, 1, 1);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	assert_did(r, "all4");
	rig_free(r);

	/* BL-117: without the capability it is ignored, malformed or not. */
	open.caps.refresh = false;
	r = gr_rig(&conf, &open);
	refresh(r, 1, 0);
	hear(r, OURS, CW_BGP_ROUTE_REFRESH, "\0\1\0", 3);
	assert_did(r, "");
	assert_int_equal(rig_view(r).messages.in[CW_BGP_ROUTE_REFRESH], 2);
	rig_free(r);
}

/* One that comes in the first round waits for its End-of-RIB (RFC 7313 4). */
static void test_refresh_in_first_round(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = rig_new(&conf);

	(void)state;
	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	hear_open(r, OURS, &open);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	rig_forget(r);
	refresh(r, 1, 0);
	assert_did(r, "");
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	assert_did(r, "all4(marked)");
	rig_free(r);
}

static void test_refresh_marks(void **state)
{
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = gr_rig(&conf, &open);

	(void)state;
	refresh(r, 1, 2); /* an end without a beginning */
	assert_did(r, "");
	refresh(r, 1, 1);
	refresh(r, 1, 2);
	assert_did(r, "mark4 sweep4");
	rig_forget(r);
	refresh(r, 2, 1);
	assert_true(rig_view(r).family[1].stale);
	for (int i = 0; i < 90; i++) {
		assert_null(strstr(r->did, "sweep"));
		rig_pass_ms(r, 1000);
		hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	}
	assert_non_null(strstr(r->did, "sweep6"));
	rig_free(r);

	/* With graceful restart a beginning before End-of-RIB is ignored. */
	conf = gr_conf();
	open = gr_open();
	r = gr_rig(&conf, &open);
	refresh(r, 1, 1);
	assert_did(r, "");
	eor(r, CW_BGP_IPV4);
	refresh(r, 1, 1);
	assert_did(r, "mark4");
	rig_free(r);
}

static void test_refresh_malformed(void **state)
{
	static const uint8_t whole[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 22, 5, 0, 1, 0 };
	struct cw_bgp_peer_conf conf = rig_conf();
	struct rig *r = gr_rig(&conf, NULL);

	(void)state;
	hear(r, OURS, CW_BGP_ROUTE_REFRESH, "\0\1\0", 3);
	assert_did(r, "ours:notify(7/1) ours:close down(bad-refresh)");
	assert_int_equal(r->n_sent, 21 + sizeof(whole));
	assert_memory_equal(r->sent + 21, whole, sizeof(whole));
	rig_free(r);
}

static void test_soft_reset(void **state)
{
	struct cw_bgp_event in = { .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_SOFT_IN };
	struct cw_bgp_event sent = { .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_SOFT_OUT };
	struct cw_bgp_peer_conf conf = rig_conf();
	struct cw_bgp_open open = rig_open();
	struct rig *r = gr_rig(&conf, NULL);

	(void)state;
	rig_step(r, &in);
	assert_did(r, "ours:refresh4(0) ours:refresh6(0)");
	rig_forget(r);
	rig_step(r, &sent);
	assert_did(r, "all4(marked) all6(marked)");
	rig_free(r);
	open.caps.refresh = false;
	r = gr_rig(&conf, &open);
	rig_step(r, &in);
	assert_did(r, "");
	assert_non_null(strstr(r->log, "warning"));
	rig_step(r, &sent);
	assert_did(r, "all4 all6");
	rig_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_kept_by_family),
		cmocka_unit_test(test_helper_peer_returns),
		cmocka_unit_test(test_helper_peer_lost_it),
		cmocka_unit_test(test_helper_peer_stays_away),
		cmocka_unit_test(test_helper_restarts_in_a_row),
		cmocka_unit_test(test_dead_tunnel),
		cmocka_unit_test(test_new_connection_over_old),
		cmocka_unit_test(test_restarter),
		cmocka_unit_test(test_restarter_need_not_wait),
		cmocka_unit_test(test_restarter_late),
		cmocka_unit_test(test_quiet_stop),
		cmocka_unit_test(test_pair_restart),
		cmocka_unit_test(test_pair_deferral),
		cmocka_unit_test(test_pair_without),
		cmocka_unit_test(test_pair_hold_expiry),
		cmocka_unit_test(test_refresh_asked),
		cmocka_unit_test(test_refresh_in_first_round),
		cmocka_unit_test(test_refresh_marks),
		cmocka_unit_test(test_refresh_malformed),
		cmocka_unit_test(test_soft_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
