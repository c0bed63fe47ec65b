/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "unit/tunnel_rig.h"

struct rig *rig_new(bool start, uint32_t pairs)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->did = calloc(RIG_ACTIONS_MAX, sizeof(*r->did));
	assert_non_null(r->did);
	r->now.us = 5000000;
	r->site = (struct cw_site_conf){ .name = "site", .profile = "azure" };
	r->conf = (struct cw_tunnel_conf){
		.name = "site-1",
		.site = &r->site,
		.remote = "gw.example.net",
		.start = start,
		.retry_min_s = 1,
		.retry_max_s = 10,
		.retry_auth_s = 60,
		.ike_version = CW_IKE_V2,
	};
	r->t = cw_tunnel_new(&r->conf, 7, 3, pairs, 42, r->now);
	assert_non_null(r->t);
	return r;
}

void rig_free(struct rig *r)
{
	cw_tunnel_free(r->t);
	free(r->did);
	free(r);
}

static void step(struct rig *r, const struct cw_tunnel_event *ev)
{
	struct cw_tunnel_actions out;

	cw_tunnel_step(r->t, ev, r->now, &out);
	assert_in_range(out.n, 0, CW_TUNNEL_ACTIONS_MAX);
	for (size_t i = 0; i < out.n; i++) {
		assert_in_range(r->n_did, 0, RIG_ACTIONS_MAX - 1);
		r->did[r->n_did++] = out.v[i];
	}
}

void rig_step(struct rig *r, enum cw_tunnel_event_kind kind)
{
	struct cw_tunnel_event ev = { .kind = kind, .cause = CW_CAUSE_RESOLVE };

	step(r, &ev);
}

void rig_pass_ms(struct rig *r, int64_t ms)
{
	struct cw_time until = cw_time_add_ms(r->now, ms);

	for (int at_once = 0;;) {
		struct cw_time due = cw_tunnel_next_due(r->t);

		if (due.us > until.us)
			break;
		at_once = due.us <= r->now.us ? at_once + 1 : 0;
		assert_in_range(at_once, 0, 100); /* a deadline that TIMER does not move */
		if (due.us > r->now.us)
			r->now = due;
		rig_step(r, CW_TEV_TIMER);
	}
	r->now = until;
}

void rig_forget(struct rig *r)
{
	r->n_did = 0;
}

size_t rig_did(const struct rig *r, enum cw_tunnel_action_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_did; i++)
		n += r->did[i].kind == kind;
	return n;
}

const struct cw_tunnel_action *rig_last(const struct rig *r, enum cw_tunnel_action_kind kind)
{
	for (size_t i = r->n_did; i-- > 0;) {
		if (r->did[i].kind == kind)
			return &r->did[i];
	}
	fail_msg("no action of kind %d", kind);
	return NULL;
}

size_t rig_lines(const struct rig *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_did; i++)
		n += r->did[i].kind == CW_TA_LOG && r->did[i].level <= CW_LOG_NOTICE;
	return n;
}

struct cw_tunnel_view rig_view(const struct rig *r)
{
	struct cw_tunnel_view v;

	cw_tunnel_view(r->t, r->now, 1000000000000 + r->now.us, &v);
	return v;
}

/* ---- the engine's mouth ---- */

static struct cw_ike_sa_info ike_info(const struct rig *r, uint32_t id, enum cw_ike_sa_state state,
	bool initiator, uint64_t spi_i)
{
	return (struct cw_ike_sa_info){
		.ike_id = id,
		.state = state,
		.version = (uint8_t)r->conf.ike_version,
		.initiator = initiator,
		.spi_i = spi_i,
		.spi_r = 1000 + id,
		.proposal = "AES_CBC_256",
		.rekey_in_s = 1000,
		.expires_in_s = 2000,
	};
}

static struct cw_child_info child_info(uint32_t id, uint32_t ike_id, uint32_t pair)
{
	return (struct cw_child_info){
		.child_id = id,
		.ike_id = ike_id,
		.pair = pair,
		.state = CW_CHILD_INSTALLED,
		.spi_in = 0xc0000000 + id,
		.spi_out = 0xd0000000 + id,
		.rekey_in_s = 500,
		.expires_in_s = 600,
		.last_in_s_ago = -1,
		.last_out_s_ago = -1,
	};
}

static void hear(struct rig *r, const struct cw_ike_event *ev)
{
	struct cw_tunnel_event tev = {
		.kind = ev->kind == CW_IKE_EV_SNAPSHOT ? CW_TEV_SNAPSHOT : CW_TEV_IKE,
		.ike = ev,
	};

	step(r, &tev);
}

void hear_resolved(struct rig *r)
{
	struct cw_tunnel_event ev = {
		.kind = CW_TEV_RESOLVED,
		.remote = { .family = CW_FAMILY_IPV4, .bytes = { 203, 0, 113, 11 } },
		.local = { .family = CW_FAMILY_IPV4, .bytes = { 198, 51, 100, 2 } },
	};

	step(r, &ev);
}

void hear_ike_up_spi(struct rig *r, uint32_t id, bool initiator, uint64_t spi_i)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_IKE_UP,
		.ike_id = id,
		.ike = ike_info(r, id, CW_IKE_SA_ESTABLISHED, initiator, spi_i),
	};

	hear(r, &ev);
}

void hear_ike_up(struct rig *r, uint32_t id, bool initiator)
{
	hear_ike_up_spi(r, id, initiator, id);
}

void hear_ike_down(struct rig *r, uint32_t id, enum cw_cause cause)
{
	struct cw_ike_event ev = { .kind = CW_IKE_EV_IKE_DOWN, .ike_id = id, .cause = cause };

	hear(r, &ev);
}

void hear_ike_rekeyed(struct rig *r, uint32_t old_id, uint32_t id)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_IKE_REKEYED,
		.ike_id = id,
		.old_id = old_id,
		.ike = ike_info(r, id, CW_IKE_SA_ESTABLISHED, true, id),
	};

	hear(r, &ev);
}

void hear_initial_contact(struct rig *r, uint32_t id)
{
	struct cw_ike_event ev = { .kind = CW_IKE_EV_INITIAL_CONTACT, .ike_id = id };

	hear(r, &ev);
}

void hear_child_up(struct rig *r, uint32_t id, uint32_t ike_id, uint32_t pair)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_CHILD_UP, .ike_id = ike_id, .child = child_info(id, ike_id, pair)
	};

	hear(r, &ev);
}

void hear_child_narrowed(struct rig *r, uint32_t id, uint32_t ike_id, uint32_t pair)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_CHILD_UP,
		.ike_id = ike_id,
		.child = child_info(id, ike_id, pair),
	};

	ev.child.narrowed = true;
	hear(r, &ev);
}

void hear_child_down(struct rig *r, uint32_t id, uint32_t ike_id, enum cw_cause cause)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_CHILD_DOWN,
		.ike_id = ike_id,
		.cause = cause,
		.child = child_info(id, ike_id, 0),
	};

	hear(r, &ev);
}

void hear_child_rekeyed(struct rig *r, uint32_t old_id, uint32_t id, uint32_t ike_id, uint32_t pair)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_CHILD_REKEYED,
		.ike_id = ike_id,
		.old_id = old_id,
		.child = child_info(id, ike_id, pair),
	};

	hear(r, &ev);
}

void hear_failed(struct rig *r, enum cw_cause cause, bool by_us, const char *detail)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_FAILED, .ike_id = 77, .cause = cause, .by_us = by_us
	};

	snprintf(ev.detail, sizeof(ev.detail), "%s", detail);
	hear(r, &ev);
}

void hear_child_failed(struct rig *r, uint32_t pair, enum cw_cause cause, bool by_us)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_FAILED,
		.ike_id = 1,
		.cause = cause,
		.by_us = by_us,
		.is_child = true,
		.child = child_info(0, 1, pair),
	};

	hear(r, &ev);
}

void hear_rekey_failed(struct rig *r, enum cw_cause cause, bool is_child)
{
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_REKEY_FAILED, .ike_id = 1, .cause = cause, .is_child = is_child
	};

	snprintf(ev.detail, sizeof(ev.detail), "ours MODP_2048, theirs MODP_1024");
	hear(r, &ev);
}

void snap_begin(struct rig *r)
{
	r->poll_at = r->now;
	r->now = cw_time_add_ms(r->now, 3);
}

void snap_ike(struct rig *r, uint32_t id, enum cw_ike_sa_state state, bool initiator,
	const uint32_t *children)
{
	struct cw_ike_event ev = { .kind = CW_IKE_EV_SNAPSHOT,
		.ike_id = id,
		.ike = ike_info(r, id, state, initiator, id) };

	for (; children && *children; children++)
		ev.children[ev.n_children++] = child_info(*children, id, 0);
	hear(r, &ev);
}

void snap_end(struct rig *r)
{
	struct cw_tunnel_event ev = { .kind = CW_TEV_SNAPSHOT_END, .poll_at = r->poll_at };

	step(r, &ev);
}

void rig_bring_up(struct rig *r)
{
	rig_step(r, CW_TEV_START);
	hear_resolved(r);
	rig_pass_ms(r, 100);
	hear_ike_up(r, 1, true);
	for (uint32_t pair = 0; !cw_tunnel_carries(r->t) || cw_tunnel_state(r->t) != CW_TUNNEL_UP;
		pair++)
		hear_child_up(r, 101 + pair, 1, pair);
	rig_pass_ms(r, 60000);
	assert_state(r, CW_TUNNEL_UP);
	rig_forget(r);
}
