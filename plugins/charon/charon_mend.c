/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who answers a rekey begins to send by the new CHILD_SA when the peer deletes the old one. A peer that
 * rekeys the same child twice makes two new ones, of which libcharon remembers only the last: when that one
 * goes, the other stands there, installed, and nothing goes out.
 */
#include "charon/charon_priv.h"

static bool has_sending_twin(ike_sa_t *ike_sa, child_sa_t *child)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	bool found = false;
	child_sa_t *other;

	while (!found && e->enumerate(e, &other))
		found = other->get_reqid(other) == child->get_reqid(child) &&
			(other->get_outbound_state(other) & CHILD_OUTBOUND_POLICIES);
	e->destroy(e);
	return found;
}

void cw_charon_mend(ike_sa_t *ike_sa)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	child_sa_t *child;

	while (e->enumerate(e, &child)) {
		if (child->get_state(child) == CHILD_INSTALLED &&
		    (child->get_outbound_state(child) & CHILD_OUTBOUND_REGISTERED) &&
		    !has_sending_twin(ike_sa, child))
			child->install_outbound(child);
	}
	e->destroy(e);
}

static job_requeue_t mend_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (ike_sa) {
		cw_charon_mend(ike_sa);
		cw_charon_checkin(ike_sa, true);
	}
	return JOB_REQUEUE_NONE;
}

void cw_charon_mend_later(struct cw_charon *c, uint32_t ike_id)
{
	cw_charon_queue(c, mend_run, ike_id, 0, false, JOB_PRIO_HIGH);
}
