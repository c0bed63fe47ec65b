/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of addresses and routes on this machine. libcharon looks at every IKE_SA then, and one without
 * MOBIKE whose address it had found by itself it would end and make anew. That is not its to decide, so only
 * those that were negotiated to move (RFC 4555) hear of it; the others fall silent or do not, which is found
 * like any other silence.
 */
#include "charon/charon_priv.h"

/* libcharon's function has no room for it. */
static struct cw_charon *owner;

static job_requeue_t roam_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;
	bool keep = true;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (!ike_sa)
		return JOB_REQUEUE_NONE;
	if (ike_sa->supports_extension(ike_sa, EXT_MOBIKE))
		keep = ike_sa->roam(ike_sa, o->force) != DESTROY_ME;
	cw_charon_checkin(ike_sa, keep);
	return JOB_REQUEUE_NONE;
}

/* address: it was not a route alone that changed. */
static void roam(kernel_interface_t *this, bool address)
{
	(void)this;
	pthread_mutex_lock(&owner->lock);
	for (const struct cw_charon_sa *sa = owner->sas; sa; sa = sa->next) {
		if (sa->mobike && sa->up && !sa->closing && !sa->replaced)
			cw_charon_queue(owner, roam_run, sa->ike_id, 0, address, JOB_PRIO_MEDIUM);
	}
	pthread_mutex_unlock(&owner->lock);
}

void cw_charon_roam_take(struct cw_charon *c)
{
	owner = c;
	charon->kernel->roam = roam;
}
