/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asking whether a peer is alive. What comes of it is the watch's to find (charon_watch.c).
 *
 * IKEv2: an empty INFORMATIONAL, which libcharon retransmits. IKEv1: R_U_THERE (RFC 3706), with a sequence
 * number that libcharon keeps to itself, so it must ask. It does so only after dpd_delay_s without a packet
 * from the peer, at once where the delay is 0, and once: an answer that is lost would end the IKE_SA. So
 * it is lent a configuration without delay, and made to repeat the question while nothing comes.
 */
#include "charon/charon_priv.h"

#include <sa/ikev2/tasks/ike_dpd.h>

static peer_cfg_t *without_delay(peer_cfg_t *peer)
{
	ike_cfg_t *ike = peer->get_ike_cfg(peer);
	peer_cfg_create_t data = {
		.cert_policy = CERT_NEVER_SEND,
		.unique = UNIQUE_NEVER,
		.keyingtries = 1,
		/* Counted from the question. */
		.dpd_timeout = peer->get_dpd_timeout(peer) - peer->get_dpd(peer),
		.if_id_in = peer->get_if_id(peer, TRUE),
		.if_id_out = peer->get_if_id(peer, FALSE),
	};

	return peer_cfg_create(peer->get_name(peer), ike->get_ref(ike), &data);
}

static status_t ask_v1(ike_sa_t *ike_sa)
{
	peer_cfg_t *peer = ike_sa->get_peer_cfg(ike_sa), *lent = without_delay(peer);
	status_t status;

	peer->get_ref(peer);
	ike_sa->set_peer_cfg(ike_sa, lent);
	status = ike_sa->send_dpd(ike_sa);
	ike_sa->set_peer_cfg(ike_sa, peer);
	peer->destroy(peer);
	lent->destroy(lent);
	return status;
}

static status_t ask(ike_sa_t *ike_sa)
{
	if (ike_sa->get_state(ike_sa) != IKE_ESTABLISHED)
		return SUCCESS;
	if (cw_charon_is_v1(ike_sa))
		return ask_v1(ike_sa);
	ike_sa->queue_task(ike_sa, (task_t *)ike_dpd_create(TRUE));
	return ike_sa->initiate(ike_sa, NULL, NULL);
}

static job_requeue_t ask_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (ike_sa)
		cw_charon_checkin(ike_sa, ask(ike_sa) == SUCCESS);
	return JOB_REQUEUE_NONE;
}

void cw_charon_check_alive(struct cw_charon *c, uint32_t ike_id)
{
	cw_charon_queue(c, ask_run, ike_id, 0, false, JOB_PRIO_MEDIUM);
}

/* ---- IKEv1: once more ---- */

static bool still_waits(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa;
	bool waits;

	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_id);
	waits = sa && sa->waiting && !sa->closing && !sa->replaced && !sa->down;
	if (sa && !waits)
		sa->repeats = false;
	pthread_mutex_unlock(&c->lock);
	return waits;
}

/* The pauses are those of retransmissions. */
static uint32_t pause_ms(const struct cw_charon *c, unsigned rounds)
{
	double ms = c->opt.retransmit_ms, limit = c->opt.retransmit_limit_s * 1000.0;

	while (rounds-- && ms < limit)
		ms *= c->opt.retransmit_base;
	return (uint32_t)(ms < limit ? ms : limit);
}

static job_requeue_t repeat_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;
	bool keep = true;

	if (!still_waits(o->c, o->id))
		return JOB_REQUEUE_NONE;
	/* The answer may have come while this thread waited for the IKE_SA. */
	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (!ike_sa)
		return JOB_REQUEUE_NONE;
	if (!still_waits(o->c, o->id)) {
		cw_charon_checkin(ike_sa, true);
		return JOB_REQUEUE_NONE;
	}
	keep = ask(ike_sa) == SUCCESS;
	cw_charon_checkin(ike_sa, keep);
	return keep ? JOB_RESCHEDULE_MS(pause_ms(o->c, ++o->rounds)) : JOB_REQUEUE_NONE;
}

void cw_charon_repeat_later(struct cw_charon *c, struct cw_charon_sa *sa)
{
	job_t *job = sa->repeats ? NULL : cw_charon_job(c, repeat_run, sa->ike_id, 0, false, JOB_PRIO_MEDIUM);

	if (!job)
		return;
	sa->repeats = true;
	lib->scheduler->schedule_job_ms(lib->scheduler, job, pause_ms(c, 0));
}
