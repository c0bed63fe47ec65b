/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libcharon 5.9 loses sight of.
 *
 * Who answers a rekey begins to send by the new CHILD_SA when the peer deletes the old one. A peer that
 * rekeys the same child twice makes two new ones, of which libcharon remembers only the last: when that one
 * goes, the other stands there, installed, and nothing goes out.
 *
 * A CHILD_SA that both ends have deleted stays for 5 s, for packets on their way. The job that ends it then
 * looks for it at its IKE_SA; if that is just being rekeyed, the child has moved on when its turn comes, and
 * the job ends without a word. The child would stay, inbound, to the end of its lifetime.
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

/* Well past libcharon's own delay (delete_rekeyed_delay, 5 s). */
#define DELETED_STAYS_S 10

static job_requeue_t forget_run(void *data)
{
	struct cw_charon_order *o = data;
	child_sa_t *child;
	ike_sa_t *ike_sa;

	ike_sa = charon->child_sa_manager->checkout_by_id(charon->child_sa_manager, o->id, &child);
	if (!ike_sa)
		return JOB_REQUEUE_NONE;
	if (child->get_state(child) == CHILD_DELETED)
		ike_sa->destroy_child_sa(ike_sa, child->get_protocol(child), child->get_spi(child, TRUE));
	cw_charon_checkin(ike_sa, true);
	return JOB_REQUEUE_NONE;
}

void cw_charon_forget_deleted(struct cw_charon *c, ike_sa_t *ike_sa)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	struct cw_charon_child *known;
	child_sa_t *child;

	while (e->enumerate(e, &child)) {
		if (child->get_state(child) != CHILD_DELETED)
			continue;
		pthread_mutex_lock(&c->lock);
		known = cw_charon_child_find(c, child->get_unique_id(child));
		if (known && !known->deleted_s)
			known->deleted_s = cw_charon_now_s();
		else if (known && cw_charon_now_s() - known->deleted_s >= DELETED_STAYS_S)
			cw_charon_queue(c, forget_run, known->id, 0, false, JOB_PRIO_MEDIUM);
		pthread_mutex_unlock(&c->lock);
	}
	e->destroy(e);
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
