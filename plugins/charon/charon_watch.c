/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watch: time limits of attempts, of a peer's silence, of the end of an IKE_SA. See cw_charon.h for
 * what they are and why they are kept here.
 */
#include "charon/charon_priv.h"

/* Is it time? Where not, the next look is arranged. */
static bool watch_due(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa;
	bool due = false;

	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_id);
	if (sa) {
		int64_t limit = cw_charon_sa_limit_ms(c, sa), now = cw_charon_now_ms();

		due = now >= limit;
		if (limit == INT64_MAX) {
			sa->watch_ms = 0;
		} else if (!due && (sa->watch_ms <= now || sa->watch_ms > limit)) {
			/* Else another look is arranged, early enough. */
			sa->watch_ms = limit;
			cw_charon_watch_later(c, ike_id, limit - now);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return due;
}

static void watch_blame(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa;

	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_id);
	if (sa && sa->up && !sa->closing)
		cw_charon_sa_blame(sa, CW_CAUSE_PEER_DEAD, "no answer for %u s", sa->dpd_ms / 1000);
	else if (sa && !sa->up)
		cw_charon_sa_blame(sa, CW_CAUSE_NO_ANSWER, "%s",
				   !sa->heard  ? "nothing came back" :
				   sa->sent_id ? "the peer answered until it saw our key: do the keys differ?" :
						 "the peer answered at first, then fell silent: is UDP 4500 open?");
	if (sa)
		sa->closing = true;
	pthread_mutex_unlock(&c->lock);
}

static job_requeue_t watch_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;

	if (!watch_due(o->c, o->id))
		return JOB_REQUEUE_NONE;
	/* The answer may have come while this thread waited for the IKE_SA. */
	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (!ike_sa)
		return JOB_REQUEUE_NONE;
	if (!watch_due(o->c, o->id)) {
		cw_charon_checkin(ike_sa, true);
		return JOB_REQUEUE_NONE;
	}
	watch_blame(o->c, o->id);
	ike_sa->delete(ike_sa, TRUE);
	cw_charon_checkin(ike_sa, false);
	return JOB_REQUEUE_NONE;
}

void cw_charon_watch_later(struct cw_charon *c, uint32_t ike_id, int64_t wait_ms)
{
	job_t *job = cw_charon_job(c, watch_run, ike_id, 0, false, JOB_PRIO_MEDIUM);

	/* One millisecond more than needed, so that it is not a moment early. */
	if (job)
		lib->scheduler->schedule_job_ms(lib->scheduler, job,
						wait_ms > 0 ? (uint32_t)wait_ms + 1 : 1);
}
