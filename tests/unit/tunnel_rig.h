/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tunnel_rig: one tunnel machine on a bench, with a clock that the test turns.
 *
 * Everything the machine asks for is noted until forget(). The rig is the engine's mouth, too:
 * hear_*() are its events, snap() and friends its snapshots. It answers no order by itself.
 */
#ifndef CW_TESTS_TUNNEL_RIG_H
#define CW_TESTS_TUNNEL_RIG_H

#include "conf/conf.h"
#include "tunnel/tunnel.h"

#define RIG_ACTIONS_MAX 20000

struct rig {
	struct cw_site_conf site;
	struct cw_tunnel_conf conf;
	struct cw_tunnel *t;
	struct cw_time now;
	struct cw_tunnel_action *did; /* since the last forget() */
	size_t n_did;
	struct cw_time poll_at; /* of the snapshot being told */
};

/* start: the setting of that name. pairs: children wanted. remote: a name, so RESOLVING is seen. */
struct rig *rig_new(bool start, uint32_t pairs);
void rig_free(struct rig *r);

/* An event without more to it. */
void rig_step(struct rig *r, enum cw_tunnel_event_kind kind);
/* Lets time go by, with TIMER wherever it is due; a millisecond at a time where many are. */
void rig_pass_ms(struct rig *r, int64_t ms);
void rig_forget(struct rig *r);
/* How many actions of a kind were asked for. */
size_t rig_did(const struct rig *r, enum cw_tunnel_action_kind kind);
/* The newest of a kind; fails the test if there is none. */
const struct cw_tunnel_action *rig_last(const struct rig *r, enum cw_tunnel_action_kind kind);
/* Lines at notice or above since the last forget(). */
size_t rig_lines(const struct rig *r);
struct cw_tunnel_view rig_view(const struct rig *r);

void hear_resolved(struct rig *r);
void hear_ike_up(struct rig *r, uint32_t id, bool initiator);
void hear_ike_up_spi(struct rig *r, uint32_t id, bool initiator, uint64_t spi_i);
void hear_ike_down(struct rig *r, uint32_t id, enum cw_cause cause);
void hear_ike_rekeyed(struct rig *r, uint32_t old_id, uint32_t id);
void hear_initial_contact(struct rig *r, uint32_t id);
void hear_child_up(struct rig *r, uint32_t id, uint32_t ike_id, uint32_t pair);
void hear_child_narrowed(struct rig *r, uint32_t id, uint32_t ike_id, uint32_t pair);
void hear_child_down(struct rig *r, uint32_t id, uint32_t ike_id, enum cw_cause cause);
void hear_child_rekeyed(
	struct rig *r, uint32_t old_id, uint32_t id, uint32_t ike_id, uint32_t pair);
void hear_failed(struct rig *r, enum cw_cause cause, bool by_us, const char *detail);
void hear_child_failed(struct rig *r, uint32_t pair, enum cw_cause cause, bool by_us);
void hear_rekey_failed(struct rig *r, enum cw_cause cause, bool is_child);

/* A snapshot: snap_begin(), a record for each IKE_SA, snap_end(). */
void snap_begin(struct rig *r);
/* children: ids, ended by 0; each of pair 0. */
void snap_ike(struct rig *r, uint32_t id, enum cw_ike_sa_state state, bool initiator,
	const uint32_t *children);
void snap_end(struct rig *r);

/* START up to UP: IKE_SA 1, children 101 and on, well up. Nothing is noted afterwards. */
void rig_bring_up(struct rig *r);

#define assert_state(r, want)                                                                      \
	assert_string_equal(                                                                       \
		cw_tunnel_state_name(cw_tunnel_state((r)->t)), cw_tunnel_state_name(want))

#endif
