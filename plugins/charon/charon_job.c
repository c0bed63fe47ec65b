/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/charon_priv.h"

#include <stdlib.h>

job_t *cw_charon_job(struct cw_charon *c, job_requeue_t (*run)(void *), uint32_t id, uint32_t pair,
		     bool force, job_priority_t prio)
{
	struct cw_charon_order *o = calloc(1, sizeof(*o));
	callback_job_t *job;

	if (!o)
		return NULL;
	*o = (struct cw_charon_order){ .c = c, .id = id, .pair = pair, .force = force };
	job = callback_job_create_with_prio(run, o, free, NULL, prio);
	return &job->job;
}

void cw_charon_queue(struct cw_charon *c, job_requeue_t (*run)(void *), uint32_t id, uint32_t pair,
		     bool force, job_priority_t prio)
{
	job_t *job = cw_charon_job(c, run, id, pair, force, prio);

	if (job)
		lib->processor->queue_job(lib->processor, job);
}

void cw_charon_checkin(ike_sa_t *ike_sa, bool keep)
{
	if (keep)
		charon->ike_sa_manager->checkin(charon->ike_sa_manager, ike_sa);
	else
		charon->ike_sa_manager->checkin_and_destroy(charon->ike_sa_manager, ike_sa);
}
