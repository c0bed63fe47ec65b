/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libcharon's hooks tell, as events of ike_port.h. A hook copies and posts, no more: it runs under
 * libcharon's bus mutex.
 *
 * libcharon says that something ended, rarely why; the reason is pieced together from the messages
 * that pass (charon_message.c) and from its alerts, and kept with the IKE_SA until its end.
 */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <string.h>

#include "io/mailbox.h"

static struct cw_charon *self(listener_t *this)
{
	return CW_OUTER(this, struct cw_charon, listener);
}

/* ---- posting; the lock is held ---- */

static void begin(struct cw_ike_event *ev, enum cw_ike_event_kind kind, const struct cw_charon_sa *sa)
{
	*ev = (struct cw_ike_event){
		.kind = kind,
		.index = sa->index,
		.generation = sa->generation,
		.ike_id = sa->ike_id,
		.by_us = sa->by_us,
	};
}

/* Nothing is told of peers that belong to no tunnel. */
static void post(struct cw_charon *c, const struct cw_ike_event *ev)
{
	if (ev->index != UINT32_MAX)
		cw_mailbox_post(c->box, ev);
}

void cw_charon_post_child_failed(struct cw_charon *c, struct cw_charon_sa *sa, bool by_us, uint32_t pair,
				 enum cw_cause cause, const char *detail)
{
	struct cw_ike_event ev;

	if (!sa->up) {
		sa->late_child = true;
		sa->late_pair = pair;
		sa->note_cause = cause;
		if (detail != sa->note)
			snprintf(sa->note, sizeof(sa->note), "%s", detail);
		return;
	}
	begin(&ev, CW_IKE_EV_FAILED, sa);
	ev.is_child = true;
	ev.child.ike_id = sa->ike_id;
	ev.child.pair = pair;
	ev.by_us = by_us;
	ev.cause = cause;
	snprintf(ev.detail, sizeof(ev.detail), "%s", detail);
	post(c, &ev);
}

void cw_charon_child_refused(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			     enum cw_cause cause, const char *detail)
{
	uint32_t pair = cw_charon_pair_under_way(sa, ike_sa);

	/* The peer's notify is followed by an alert, and of an exchange that ended asking_told is stale. */
	if (sa->asking_told && !cw_charon_pair_asked(sa, pair))
		return;
	cw_charon_post_child_failed(c, sa, true, pair, cause, detail);
	cw_charon_pair_set(sa, pair, false);
	sa->asking_told = true;
}

void cw_charon_post_rekey_failed(struct cw_charon *c, struct cw_charon_sa *sa, bool by_us, bool is_child,
				 enum cw_cause cause, const char *detail)
{
	struct cw_ike_event ev;

	begin(&ev, CW_IKE_EV_REKEY_FAILED, sa);
	ev.is_child = is_child;
	ev.by_us = by_us;
	ev.cause = cause;
	snprintf(ev.detail, sizeof(ev.detail), "%s", detail);
	post(c, &ev);
}

static void post_child_down(struct cw_charon *c, const struct cw_charon_sa *sa,
			    struct cw_charon_child *child, const struct cw_child_info *info)
{
	struct cw_ike_event ev;

	begin(&ev, CW_IKE_EV_CHILD_DOWN, sa);
	ev.is_child = true;
	if (info)
		ev.child = *info;
	else
		ev.child = (struct cw_child_info){ .child_id = child->id,
						   .ike_id = sa->ike_id,
						   .pair = child->pair,
						   .spi_in = child->spi_in,
						   .spi_out = child->spi_out };
	ev.by_us = child->ordered || sa->ordered;
	ev.cause = child->cause ? child->cause : sa->cause;
	if (!ev.cause && !ev.by_us)
		ev.cause = CW_CAUSE_LOST;
	post(c, &ev);
	cw_charon_child_drop(c, child->id);
}

static void post_ike_down(struct cw_charon *c, struct cw_charon_sa *sa)
{
	struct cw_ike_event ev;

	begin(&ev, CW_IKE_EV_IKE_DOWN, sa);
	ev.by_us = sa->ordered;
	ev.cause = sa->cause;
	if (!ev.cause && !ev.by_us)
		ev.cause = CW_CAUSE_LOST;
	/* What an order ends needs no other explanation. */
	if (sa->ordered && ev.cause != CW_CAUSE_STOPPING)
		ev.cause = CW_CAUSE_NONE;
	snprintf(ev.detail, sizeof(ev.detail), "%s", ev.cause ? sa->detail : "");
	post(c, &ev);
	sa->down = true;
}

/* ---- IKE_SAs ---- */

static void post_ike_up(struct cw_charon *c, struct cw_charon_sa *sa, const struct cw_ike_sa_info *info)
{
	struct cw_ike_event ev;

	begin(&ev, sa->replaces ? CW_IKE_EV_IKE_REKEYED : CW_IKE_EV_IKE_UP, sa);
	ev.ike = *info;
	/* The state changes after some of libcharon's hooks. */
	ev.ike.state = CW_IKE_SA_ESTABLISHED;
	ev.old_id = sa->replaces;
	post(c, &ev);
	sa->up = true;
	/* What went wrong on the way is forgotten, it did not matter. */
	sa->cause = CW_CAUSE_NONE;
	sa->detail[0] = '\0';
	if (sa->initial_contact) {
		begin(&ev, CW_IKE_EV_INITIAL_CONTACT, sa);
		post(c, &ev);
	}
	if (sa->late_child) {
		sa->late_child = false;
		cw_charon_post_child_failed(c, sa, sa->by_us, sa->late_pair, sa->note_cause, sa->note);
		sa->note_cause = CW_CAUSE_NONE;
	}
}

static bool ike_updown(listener_t *this, ike_sa_t *ike_sa, bool up)
{
	struct cw_charon *c = self(this);
	struct cw_ike_sa_info info;
	struct cw_charon_sa *sa;

	cw_charon_view_ike(ike_sa, &info);
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_put(c, info.ike_id);
	if (sa) {
		cw_charon_sa_know(c, sa, ike_sa);
		if (up && !sa->up && !sa->unwanted)
			post_ike_up(c, sa, &info);
		else if (!up && sa->up && !sa->down && !sa->replaced)
			post_ike_down(c, sa);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

static bool ike_rekey(listener_t *this, ike_sa_t *old, ike_sa_t *new)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *from, *to;
	struct cw_ike_sa_info info;

	cw_charon_view_ike(new, &info);
	pthread_mutex_lock(&c->lock);
	from = cw_charon_sa_find(c, old->get_unique_id(old));
	to = cw_charon_sa_put(c, info.ike_id);
	if (to) {
		cw_charon_sa_know(c, to, new);
		to->replaces = old->get_unique_id(old);
		if (from) {
			from->replaced = true;
			to->by_us = from->by_us;
			memcpy(to->pairs, from->pairs, sizeof(to->pairs));
		}
		cw_charon_children_move(c, to->replaces, to->ike_id);
		if (!to->up)
			post_ike_up(c, to, &info);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

/* IKEv1's reauthentication: told twice, first of the old IKE_SA (with the new one's number), then of
 * the new one. Ours is still connecting by then, the peer's is up. */
static bool children_migrate(listener_t *this, ike_sa_t *ike_sa, ike_sa_id_t *new, uint32_t unique)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *from, *to;
	struct cw_ike_sa_info info;

	if (!ike_sa)
		return TRUE;
	cw_charon_view_ike(ike_sa, &info);
	pthread_mutex_lock(&c->lock);
	if (new) {
		from = cw_charon_sa_find(c, info.ike_id);
		to = cw_charon_sa_put(c, unique);
		if (from && to) {
			from->replaced = true;
			to->replaces = from->ike_id;
			if (!to->up)
				to->by_us = true;
			cw_charon_children_move(c, from->ike_id, to->ike_id);
		}
	} else {
		to = cw_charon_sa_find(c, info.ike_id);
		if (to) {
			cw_charon_sa_know(c, to, ike_sa);
			if (to->up && to->replaces)
				post_ike_up(c, to, &info);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

/* The end of one that never came up. */
static void post_failed(struct cw_charon *c, struct cw_charon_sa *sa)
{
	struct cw_ike_event ev;

	/* A peer that only sounded us out (a cookie, another group asked for) is no failure. */
	if (sa->unwanted || (!sa->by_us && sa->cause == CW_CAUSE_NONE))
		return;
	if (sa->ordered) {
		post_ike_down(c, sa);
		return;
	}
	if (sa->replaces)
		cw_charon_post_rekey_failed(c, sa, sa->by_us, false, sa->cause, sa->detail);
	begin(&ev, sa->replaces ? CW_IKE_EV_IKE_DOWN : CW_IKE_EV_FAILED, sa);
	if (sa->replaces)
		ev.ike_id = sa->replaces;
	ev.cause = sa->cause ? sa->cause : CW_CAUSE_LOST;
	snprintf(ev.detail, sizeof(ev.detail), "%s", sa->detail);
	post(c, &ev);
}

static void ike_gone(struct cw_charon *c, struct cw_charon_sa *sa)
{
	struct cw_charon_child *child, *next;

	if (!sa->up)
		post_failed(c, sa);
	else if (!sa->down && !sa->replaced)
		post_ike_down(c, sa);
	for (child = c->children; child; child = next) {
		next = child->next;
		if (child->ike_id != sa->ike_id)
			continue;
		if (child->replaced)
			cw_charon_child_drop(c, child->id);
		else
			post_child_down(c, sa, child, NULL);
	}
	cw_charon_sa_drop(c, sa);
}

static bool ike_state_change(listener_t *this, ike_sa_t *ike_sa, ike_sa_state_t state)
{
	struct cw_charon *c = self(this);
	uint32_t ike_id = ike_sa->get_unique_id(ike_sa);
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	struct cw_charon_sa *sa;

	pthread_mutex_lock(&c->lock);
	switch (state) {
	case IKE_CONNECTING:
		sa = cw_charon_sa_put(c, ike_id);
		if (sa) {
			sa->by_us = id->is_initiator(id);
			cw_charon_sa_know(c, sa, ike_sa);
		}
		break;
	case IKE_DESTROYING:
		sa = cw_charon_sa_find(c, ike_id);
		if (sa) {
			cw_charon_sa_know(c, sa, ike_sa);
			ike_gone(c, sa);
		}
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

static bool ike_update(listener_t *this, ike_sa_t *ike_sa, host_t *local, host_t *remote)
{
	struct cw_charon *c = self(this);
	struct cw_ike_sa_info info;
	struct cw_charon_sa *sa;
	struct cw_ike_event ev;

	cw_charon_view_ike(ike_sa, &info);
	info.local = cw_charon_addr(local);
	info.remote = cw_charon_addr(remote);
	info.local_port = local->get_port(local);
	info.remote_port = remote->get_port(remote);
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, info.ike_id);
	/* While it is being made the ports float to 4500 (RFC 7296 2.23): that is no move. */
	if (sa && sa->up && !sa->down) {
		begin(&ev, CW_IKE_EV_NAT_MAPPED, sa);
		ev.ike = info;
		post(c, &ev);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

/* libcharon restarts by itself where a CHILD_SA was still queued when the peer left; starting is the
 * tunnel machine's. */
static bool ike_reestablish_post(listener_t *this, ike_sa_t *old, ike_sa_t *new, bool initiated)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *sa;

	(void)old;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_put(c, new->get_unique_id(new));
	if (sa)
		sa->unwanted = sa->closing = true;
	pthread_mutex_unlock(&c->lock);
	if (initiated)
		cw_charon_close_later(c, new->get_unique_id(new));
	return TRUE;
}

static bool authorize(listener_t *this, ike_sa_t *ike_sa, bool final, bool *success)
{
	struct cw_charon *c = self(this);
	bool here = ike_sa->has_condition(ike_sa, COND_NAT_HERE);
	bool there = ike_sa->has_condition(ike_sa, COND_NAT_THERE);
	struct cw_charon_sa *sa;

	(void)final;
	if (!here && !there)
		return TRUE;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_put(c, ike_sa->get_unique_id(ike_sa));
	if (sa) {
		cw_charon_sa_know(c, sa, ike_sa);
		if (sa->known && sa->index < c->n_tunnels && c->tunnels[sa->index] &&
		    c->tunnels[sa->index]->nat_never) {
			*success = FALSE;
			cw_charon_sa_blame(sa, CW_CAUSE_NAT_FORBIDDEN, "%s behind a NAT",
					   here && there ? "both sides are" :
					   here		 ? "we are" :
							   "the peer is");
		}
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

/* ---- CHILD_SAs ---- */

static bool child_updown(listener_t *this, ike_sa_t *ike_sa, child_sa_t *child_sa, bool up)
{
	struct cw_charon *c = self(this);
	struct cw_charon_child *child;
	struct cw_child_info info;
	struct cw_charon_sa *sa;
	struct cw_ike_event ev;

	if (!ike_sa)
		return TRUE;
	cw_charon_view_child(ike_sa, child_sa, &info);
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, info.ike_id);
	child = cw_charon_child_find(c, info.child_id);
	if (sa && up)
		cw_charon_pair_set(sa, info.pair, false);
	if (sa && up && !child && cw_charon_child_put(c, &info)) {
		begin(&ev, CW_IKE_EV_CHILD_UP, sa);
		ev.is_child = true;
		ev.child = info;
		ev.child.state = CW_CHILD_INSTALLED;
		post(c, &ev);
	} else if (sa && !up && child && !child->replaced) {
		post_child_down(c, sa, child, &info);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

static bool child_rekey(listener_t *this, ike_sa_t *ike_sa, child_sa_t *old, child_sa_t *new)
{
	struct cw_charon *c = self(this);
	struct cw_charon_child *was;
	struct cw_child_info info;
	struct cw_charon_sa *sa;
	struct cw_ike_event ev;

	if (!ike_sa)
		return TRUE;
	cw_charon_view_child(ike_sa, new, &info);
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, info.ike_id);
	was = cw_charon_child_find(c, old->get_unique_id(old));
	if (was)
		was->replaced = true;
	if (sa && cw_charon_child_put(c, &info)) {
		begin(&ev, CW_IKE_EV_CHILD_REKEYED, sa);
		ev.is_child = true;
		ev.child = info;
		ev.child.state = CW_CHILD_INSTALLED;
		ev.old_id = old->get_unique_id(old);
		post(c, &ev);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

static bool child_state_change(listener_t *this, ike_sa_t *ike_sa, child_sa_t *child_sa,
			       child_sa_state_t state)
{
	struct cw_charon *c = self(this);
	struct cw_charon_child *child;
	struct cw_charon_sa *sa;

	if (state != CHILD_DESTROYING || !ike_sa)
		return TRUE;
	pthread_mutex_lock(&c->lock);
	child = cw_charon_child_find(c, child_sa->get_unique_id(child_sa));
	if (child) {
		sa = cw_charon_sa_find(c, child->ike_id);
		if (sa && !sa->closing)
			cw_charon_mend_later(c, sa->ike_id);
		if (sa && !child->replaced)
			post_child_down(c, sa, child, NULL);
		else
			cw_charon_child_drop(c, child->id);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}

/* What a peer asks for on an IKE_SA that is being closed is refused: see terminate_run(). */
static bool narrow(listener_t *this, ike_sa_t *ike_sa, child_sa_t *child_sa, narrow_hook_t type,
		   linked_list_t *local, linked_list_t *remote)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *sa;
	traffic_selector_t *ts;
	bool closing;

	(void)child_sa;
	(void)remote;
	if (type != NARROW_RESPONDER || !ike_sa)
		return TRUE;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_sa->get_unique_id(ike_sa));
	closing = sa && sa->closing;
	pthread_mutex_unlock(&c->lock);
	while (closing && local->remove_last(local, (void **)&ts) == SUCCESS)
		ts->destroy(ts);
	return TRUE;
}

void cw_charon_listener_init(struct cw_charon *c)
{
	c->listener = (listener_t){
		.alert = cw_charon_alert,
		.message = cw_charon_message,
		.ike_state_change = ike_state_change,
		.ike_updown = ike_updown,
		.ike_rekey = ike_rekey,
		.ike_update = ike_update,
		.ike_reestablish_post = ike_reestablish_post,
		.children_migrate = children_migrate,
		.authorize = authorize,
		.child_updown = child_updown,
		.child_rekey = child_rekey,
		.child_state_change = child_state_change,
		.narrow = narrow,
	};
}
