/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selector pairs: which ones were asked of libcharon and are not there yet, and which one an exchange of
 * ours is about.
 *
 * Exchanges of ours run one at a time. In IKEv2 the task of the one under way knows its CHILD_SA. In IKEv1
 * a refusal comes in an exchange of its own that does not say what it refuses (RFC 2408 4.8); libcharon ends
 * the Quick Mode under way with it, and which one that is was read off its first message.
 */
#include "charon/charon_priv.h"

#include <encoding/payloads/id_payload.h>
#include <sa/ikev2/tasks/child_create.h>

void cw_charon_pair_set(struct cw_charon_sa *sa, uint32_t pair, bool on)
{
	uint64_t bit = UINT64_C(1) << pair % 64;

	if (pair / 64 >= countof(sa->pairs))
		return;
	if (on)
		sa->pairs[pair / 64] |= bit;
	else
		sa->pairs[pair / 64] &= ~bit;
}

bool cw_charon_pair_asked(const struct cw_charon_sa *sa, uint32_t pair)
{
	return pair / 64 < countof(sa->pairs) && sa->pairs[pair / 64] >> pair % 64 & 1;
}

/* A task of the type among those under way, or NULL. */
static task_t *active_task(ike_sa_t *ike_sa, task_type_t type)
{
	enumerator_t *e = ike_sa->create_task_enumerator(ike_sa, TASK_QUEUE_ACTIVE);
	task_t *task, *found = NULL;

	while (!found && e->enumerate(e, &task)) {
		if (task->get_type(task) == type)
			found = task;
	}
	e->destroy(e);
	return found;
}

bool cw_charon_quick_mode_runs(ike_sa_t *ike_sa)
{
	return active_task(ike_sa, TASK_QUICK_MODE);
}

bool cw_charon_child_rekey_runs(ike_sa_t *ike_sa)
{
	return active_task(ike_sa, TASK_CHILD_REKEY);
}

uint32_t cw_charon_pair_under_way(const struct cw_charon_sa *sa, ike_sa_t *ike_sa)
{
	child_create_t *create;
	child_sa_t *child;

	if (cw_charon_is_v1(ike_sa))
		return sa->quick_pair;
	create = (child_create_t *)active_task(ike_sa, TASK_CHILD_CREATE);
	child = create ? create->get_child(create) : NULL;
	return child ? cw_charon_child_pair(child->get_name(child)) : CW_IKE_PAIR_UNKNOWN;
}

/* ---- IKEv1 ---- */

static bool has_selector(child_cfg_t *child, bool local, traffic_selector_t *ts)
{
	linked_list_t *list = child->get_traffic_selectors(child, local, NULL, NULL, FALSE);
	traffic_selector_t *first;
	bool same = list->get_first(list, (void **)&first) == SUCCESS && first->equals(first, ts);

	list->destroy_offset(list, offsetof(traffic_selector_t, destroy));
	return same;
}

static uint32_t pair_of_selectors(peer_cfg_t *peer, traffic_selector_t *local, traffic_selector_t *remote)
{
	enumerator_t *e = peer->create_child_cfg_enumerator(peer);
	uint32_t pair = CW_IKE_PAIR_UNKNOWN;
	child_cfg_t *child;

	while (pair == CW_IKE_PAIR_UNKNOWN && e->enumerate(e, &child)) {
		if (has_selector(child, TRUE, local) && has_selector(child, FALSE, remote))
			pair = cw_charon_child_pair(child->get_name(child));
	}
	e->destroy(e);
	return pair;
}

uint32_t cw_charon_quick_mode_pair(ike_sa_t *ike_sa, message_t *message)
{
	enumerator_t *e = message->create_payload_enumerator(message);
	peer_cfg_t *peer = ike_sa->get_peer_cfg(ike_sa);
	traffic_selector_t *ts[2] = { NULL, NULL }; /* RFC 2409 5.5: IDci, IDcr */
	uint32_t pair = CW_IKE_PAIR_UNKNOWN;
	payload_t *payload;
	size_t n = 0;

	while (n < countof(ts) && e->enumerate(e, &payload)) {
		if (payload->get_type(payload) == PLV1_ID)
			ts[n++] = ((id_payload_t *)payload)->get_ts((id_payload_t *)payload);
	}
	e->destroy(e);
	if (peer && ts[0] && ts[1])
		pair = pair_of_selectors(peer, ts[0], ts[1]);
	DESTROY_IF(ts[0]);
	DESTROY_IF(ts[1]);
	return pair;
}
