/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The snapshot: what IKE_SAs and CHILD_SAs there are, asked of libcharon itself and not of our tables.
 */
#include "charon/charon_priv.h"

#include <stdlib.h>

#include "io/mailbox.h"

/* A record is posted when the next one begins, since only then it is known whether it is the last. */
struct snapshot {
	struct cw_charon *c;
	struct cw_ike_event ev;
	uint32_t poll;
	bool open, began;
};

static void snapshot_post(struct snapshot *s, bool last)
{
	if (!s->open)
		return;
	s->ev.first = !s->began;
	s->ev.last = last;
	s->began = true;
	s->open = false;
	cw_mailbox_post(s->c->box, &s->ev);
}

static void snapshot_open(struct snapshot *s, const struct cw_ike_event *with)
{
	snapshot_post(s, false);
	s->ev = *with;
	s->ev.kind = CW_IKE_EV_SNAPSHOT;
	s->ev.poll = s->poll;
	s->open = true;
}

static void snapshot_ike(struct snapshot *s, ike_sa_t *ike_sa)
{
	struct cw_ike_event with = { .by_us = ike_sa->has_condition(ike_sa, COND_ORIGINAL_INITIATOR) };
	enumerator_t *e;
	child_sa_t *child;

	if (!cw_charon_name_parse(ike_sa->get_name(ike_sa), &with.index, &with.generation))
		return; /* a peer that has not proved who it is: it belongs to no tunnel yet */
	cw_charon_view_ike(ike_sa, &with.ike);
	with.ike_id = with.ike.ike_id;
	snapshot_open(s, &with);
	e = ike_sa->create_child_sa_enumerator(ike_sa);
	while (e->enumerate(e, &child)) {
		if (s->ev.n_children == CW_IKE_CHILDREN_MAX)
			snapshot_open(s, &with);
		cw_charon_view_child(ike_sa, child, &s->ev.children[s->ev.n_children++]);
	}
	e->destroy(e);
}

job_requeue_t cw_charon_poll_run(void *data)
{
	struct cw_charon_order *o = data;
	struct snapshot *s = calloc(1, sizeof(*s));
	enumerator_t *e;
	ike_sa_t *ike_sa;

	if (!s)
		return JOB_REQUEUE_NONE;
	s->c = o->c;
	s->poll = o->id;
	/* TRUE: waits for those that another thread has, so nothing is left out. */
	e = charon->ike_sa_manager->create_enumerator(charon->ike_sa_manager, TRUE);
	while (e->enumerate(e, &ike_sa)) {
		cw_charon_mend(ike_sa);
		cw_charon_forget_deleted(s->c, ike_sa);
		snapshot_ike(s, ike_sa);
	}
	e->destroy(e);
	if (!s->open) {
		const struct cw_ike_event none = { .index = UINT32_MAX, .no_ike = true };

		snapshot_open(s, &none);
	}
	snapshot_post(s, true);
	free(s);
	return JOB_REQUEUE_NONE;
}
