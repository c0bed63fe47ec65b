/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders of ike_port.h as jobs on libcharon's threads: an IKE_SA may be in another thread's hands, and
 * the loop thread never waits for it.
 */
#include "charon/charon_priv.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

static struct cw_charon *self(struct cw_ike *ike)
{
	return CW_OUTER(ike, struct cw_charon, ike);
}

/* ---- tunnels ---- */

static bool make_room(struct cw_charon *c, uint32_t index)
{
	size_t n = (size_t)index + 1;
	struct cw_charon_tunnel **t;

	if (n <= c->n_tunnels)
		return true;
	if (n < c->n_tunnels * 2)
		n = c->n_tunnels * 2;
	t = realloc(c->tunnels, n * sizeof(struct cw_charon_tunnel *));
	if (!t)
		return false;
	for (size_t i = c->n_tunnels; i < n; i++)
		t[i] = NULL;
	c->tunnels = t;
	c->n_tunnels = n;
	return true;
}

static struct cw_charon_tunnel *exchange(struct cw_charon *c, uint32_t index,
					 struct cw_charon_tunnel *with)
{
	struct cw_charon_tunnel *old = with;

	pthread_mutex_lock(&c->lock);
	if (with ? make_room(c, index) : index < c->n_tunnels) {
		old = c->tunnels[index];
		c->tunnels[index] = with;
	}
	pthread_mutex_unlock(&c->lock);
	return old;
}

static enum cw_rc tunnel_set(struct cw_ike *ike, const struct cw_ike_tunnel *t)
{
	struct cw_charon_tunnel *tunnel, *old;
	enum cw_rc rc = cw_charon_tunnel_build(t, &tunnel);

	if (rc != CW_OK)
		return rc;
	old = exchange(self(ike), t->index, tunnel);
	cw_charon_tunnel_free(old);
	return old == tunnel ? CW_E_NO_MEMORY : CW_OK;
}

static void tunnel_remove(struct cw_ike *ike, uint32_t index)
{
	cw_charon_tunnel_free(exchange(self(ike), index, NULL));
}

/* ---- initiate ---- */

static bool child_there(ike_sa_t *ike_sa, uint32_t pair)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	child_sa_t *child;
	bool found = false;

	while (!found && e->enumerate(e, &child)) {
		switch (child->get_state(child)) {
		case CHILD_REKEYED:
		case CHILD_DELETING:
		case CHILD_DELETED:
		case CHILD_DESTROYING:
			break;
		default:
			found = cw_charon_child_pair(child->get_name(child)) == pair;
			break;
		}
	}
	e->destroy(e);
	return found;
}

/* Says whether the IKE_SA already has the pair, or was asked for it, and notes that it is now. */
static bool claim_pair(struct cw_charon *c, uint32_t ike_id, uint32_t pair)
{
	struct cw_charon_sa *sa;
	bool mine = false;

	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_id);
	if (sa && !sa->closing && !cw_charon_pair_asked(sa, pair)) {
		cw_charon_pair_set(sa, pair, true);
		mine = true;
	}
	pthread_mutex_unlock(&c->lock);
	return mine;
}

static void initiate_child(struct cw_charon *c, uint32_t ike_id, uint32_t pair)
{
	ike_sa_t *ike_sa;
	peer_cfg_t *peer;
	child_cfg_t *child;
	bool keep = true;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, ike_id);
	if (!ike_sa)
		return;
	peer = ike_sa->get_peer_cfg(ike_sa);
	child = peer ? cw_charon_child_cfg(peer, pair) : NULL;
	if (child && !child_there(ike_sa, pair) && claim_pair(c, ike_id, pair))
		keep = ike_sa->initiate(ike_sa, child, NULL) == SUCCESS;
	else
		DESTROY_IF(child);
	cw_charon_checkin(ike_sa, keep);
}

static void initiate_ike(struct cw_charon *c, peer_cfg_t *peer)
{
	ike_sa_manager_t *manager = charon->ike_sa_manager;
	ike_sa_t *ike_sa = manager->create_new(manager, peer->get_ike_version(peer), TRUE);
	struct cw_charon_sa *sa;
	enumerator_t *e;
	child_cfg_t *child;
	host_t *me;
	bool keep = true;

	if (!ike_sa)
		return;
	ike_sa->set_peer_cfg(ike_sa, peer);
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_put(c, ike_sa->get_unique_id(ike_sa));
	if (sa) {
		sa->by_us = true;
		cw_charon_sa_know(c, sa, ike_sa);
	}
	pthread_mutex_unlock(&c->lock);
	manager->checkout_new(manager, ike_sa);
	charon->bus->set_sa(charon->bus, ike_sa);
	/* The first call sends IKE_SA_INIT (or main mode's first message), the others wait in line. */
	e = peer->create_child_cfg_enumerator(peer);
	while (keep && e->enumerate(e, &child)) {
		claim_pair(c, ike_sa->get_unique_id(ike_sa),
			   cw_charon_child_pair(child->get_name(child)));
		keep = ike_sa->initiate(ike_sa, child->get_ref(child), NULL) == SUCCESS;
	}
	e->destroy(e);
	me = ike_sa->get_my_host(ike_sa);
	if (me->is_anyaddr(me)) {
		pthread_mutex_lock(&c->lock);
		sa = cw_charon_sa_find(c, ike_sa->get_unique_id(ike_sa));
		if (sa)
			cw_charon_sa_blame(sa, CW_CAUSE_NO_ROUTE, "no route to the peer's address");
		pthread_mutex_unlock(&c->lock);
		keep = false;
	}
	cw_charon_checkin(ike_sa, keep);
}

static job_requeue_t initiate_run(void *data)
{
	struct cw_charon_order *o = data;
	struct cw_charon *c = o->c;
	const struct cw_charon_sa *up = NULL;
	peer_cfg_t *peer = NULL;
	uint32_t up_id = 0;
	bool trying = false;

	pthread_mutex_lock(&c->lock);
	for (const struct cw_charon_sa *sa = c->sas; sa; sa = sa->next) {
		if (!sa->known || sa->index != o->id || sa->closing || sa->replaced || sa->down)
			continue;
		if (sa->up && (!up || sa->ike_id > up->ike_id))
			up = sa;
		else if (!sa->up && sa->by_us)
			trying = true;
	}
	if (up)
		up_id = up->ike_id;
	if (!c->stopping && o->id < c->n_tunnels && c->tunnels[o->id]) {
		peer = c->tunnels[o->id]->peer;
		peer->get_ref(peer);
	}
	pthread_mutex_unlock(&c->lock);
	if (up)
		initiate_child(c, up_id, o->pair);
	else if (peer && !trying)
		initiate_ike(c, peer);
	DESTROY_IF(peer);
	return JOB_REQUEUE_NONE;
}

static void initiate(struct cw_ike *ike, uint32_t index, uint32_t pair)
{
	cw_charon_queue(self(ike), initiate_run, index, pair, false, JOB_PRIO_MEDIUM);
}

static size_t backlog(struct cw_ike *ike)
{
	size_t n = 0;

	(void)ike; /* the processor is one */
	for (int prio = 0; prio < JOB_PRIO_MAX; prio++)
		n += lib->processor->get_job_load(lib->processor, (job_priority_t)prio);
	return n;
}

/* ---- terminate ---- */

/*
 * The end of an IKE_SA without an echo. A peer that is told to keep up what gets closed (strongSwan's
 * close_action = start) answers the DELETE of an IKE_SA that has children by making all of it anew at
 * once, and the DELETE of a child by asking for it again: a second IKE_SA would never go away. So the
 * children go first, what the peer asks for meanwhile is refused (narrow() in charon_listener.c), and the
 * IKE_SA is closed when it has been empty for a round.
 */
#define QUIET_MS 200
#define QUIET_ROUNDS 8

static bool child_lives(child_sa_t *child)
{
	child_sa_state_t state = child->get_state(child);

	return state != CHILD_REKEYED && state != CHILD_DELETING && state != CHILD_DELETED;
}

/* SPIs of the children that would make an echo. */
static size_t live_children(ike_sa_t *ike_sa, uint32_t *ret_spis, size_t max)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	child_sa_t *child;
	size_t n = 0;

	while (n < max && e->enumerate(e, &child)) {
		if (child_lives(child))
			ret_spis[n++] = child->get_spi(child, TRUE);
	}
	e->destroy(e);
	return n;
}

/* One step of it. True: to be gone on with. False: the IKE_SA can be closed. *ret_keep: it lives on. */
static bool empty_first(struct cw_charon_order *o, ike_sa_t *ike_sa, bool *ret_keep)
{
	uint32_t spis[CW_CONF_PAIRS_MAX];
	size_t n;
	bool was_empty = o->empty;

	*ret_keep = true;
	if (o->force || ike_sa->get_state(ike_sa) != IKE_ESTABLISHED || o->rounds++ == QUIET_ROUNDS)
		return false;
	n = live_children(ike_sa, spis, countof(spis));
	o->empty = ike_sa->get_child_count(ike_sa) == 0;
	if (o->rounds > 1)
		return !(was_empty && o->empty);
	for (size_t i = 0; i < n && *ret_keep; i++)
		*ret_keep = ike_sa->delete_child_sa(ike_sa, PROTO_ESP, spis[i], FALSE) != DESTROY_ME;
	return n > 0;
}

static job_requeue_t terminate_run(void *data)
{
	struct cw_charon_order *o = data;
	struct cw_charon *c = o->c;
	struct cw_charon_sa *sa;
	ike_sa_t *ike_sa;
	bool keep;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (!ike_sa)
		return JOB_REQUEUE_NONE;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, o->id);
	if (sa)
		sa->closing = true;
	/* Whoever stops does not wait for a peer's manners. */
	if (c->stopping)
		o->rounds = QUIET_ROUNDS;
	pthread_mutex_unlock(&c->lock);
	if (empty_first(o, ike_sa, &keep)) {
		cw_charon_checkin(ike_sa, keep);
		return keep ? JOB_RESCHEDULE_MS(QUIET_MS) : JOB_REQUEUE_NONE;
	}
	cw_charon_checkin(ike_sa, ike_sa->delete(ike_sa, o->force) != DESTROY_ME);
	return JOB_REQUEUE_NONE;
}

static void order_end(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa;

	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_id);
	if (sa)
		sa->closing = sa->ordered = true;
	pthread_mutex_unlock(&c->lock);
}

static void terminate_ike(struct cw_ike *ike, uint32_t ike_id, bool force)
{
	order_end(self(ike), ike_id);
	cw_charon_queue(self(ike), terminate_run, ike_id, 0, force, JOB_PRIO_HIGH);
}

void cw_charon_close_later(struct cw_charon *c, uint32_t ike_id)
{
	cw_charon_queue(c, terminate_run, ike_id, 0, true, JOB_PRIO_HIGH);
}

static job_requeue_t terminate_child_run(void *data)
{
	struct cw_charon_order *o = data;
	child_sa_t *child;
	ike_sa_t *ike_sa;

	ike_sa = charon->child_sa_manager->checkout_by_id(charon->child_sa_manager, o->id, &child);
	if (ike_sa)
		cw_charon_checkin(ike_sa, ike_sa->delete_child_sa(ike_sa, child->get_protocol(child),
							child->get_spi(child, TRUE),
							FALSE) != DESTROY_ME);
	return JOB_REQUEUE_NONE;
}

static void terminate_child(struct cw_ike *ike, uint32_t child_id)
{
	struct cw_charon *c = self(ike);
	struct cw_charon_child *child;

	pthread_mutex_lock(&c->lock);
	child = cw_charon_child_find(c, child_id);
	if (child)
		child->ordered = true;
	pthread_mutex_unlock(&c->lock);
	cw_charon_queue(c, terminate_child_run, child_id, 0, false, JOB_PRIO_HIGH);
}

/* ---- rekey, liveness, snapshots ---- */

static job_requeue_t rekey_ike_run(void *data)
{
	struct cw_charon_order *o = data;
	ike_sa_t *ike_sa;

	ike_sa = charon->ike_sa_manager->checkout_by_id(charon->ike_sa_manager, o->id);
	if (ike_sa)
		cw_charon_checkin(ike_sa, ike_sa->rekey(ike_sa) != DESTROY_ME);
	return JOB_REQUEUE_NONE;
}

static void rekey_ike(struct cw_ike *ike, uint32_t ike_id)
{
	cw_charon_queue(self(ike), rekey_ike_run, ike_id, 0, false, JOB_PRIO_MEDIUM);
}

static job_requeue_t rekey_child_run(void *data)
{
	struct cw_charon_order *o = data;
	child_sa_t *child;
	ike_sa_t *ike_sa;

	ike_sa = charon->child_sa_manager->checkout_by_id(charon->child_sa_manager, o->id, &child);
	if (ike_sa)
		cw_charon_checkin(ike_sa, ike_sa->rekey_child_sa(ike_sa, child->get_protocol(child),
						       child->get_spi(child, TRUE)) != DESTROY_ME);
	return JOB_REQUEUE_NONE;
}

static void rekey_child(struct cw_ike *ike, uint32_t child_id)
{
	cw_charon_queue(self(ike), rekey_child_run, child_id, 0, false, JOB_PRIO_MEDIUM);
}

static void check_alive(struct cw_ike *ike, uint32_t ike_id)
{
	cw_charon_check_alive(self(ike), ike_id);
}

static void poll_all(struct cw_ike *ike, uint32_t poll)
{
	cw_charon_queue(self(ike), cw_charon_poll_run, poll, 0, false, JOB_PRIO_MEDIUM);
}

/* ---- kernel events ---- */

static void note_expiry(struct cw_charon *c, uint32_t spi)
{
	pthread_mutex_lock(&c->lock);
	for (struct cw_charon_child *child = c->children; child; child = child->next) {
		if (child->spi_in == spi || child->spi_out == spi)
			child->cause = CW_CAUSE_EXPIRED;
	}
	pthread_mutex_unlock(&c->lock);
}

static void kernel_event(struct cw_ike *ike, const struct cw_kernel_event *ev)
{
	host_t *dst, *to;

	switch (ev->kind) {
	case CW_KEV_EXPIRE:
		dst = cw_charon_host(&ev->dst, 0);
		if (!dst)
			return;
		if (ev->hard)
			note_expiry(self(ike), ev->spi);
		charon->kernel->expire(charon->kernel, ev->proto, htonl(ev->spi), dst, ev->hard);
		dst->destroy(dst);
		break;
	case CW_KEV_MAPPING:
		dst = cw_charon_host(&ev->dst, 0);
		to = cw_charon_host(&ev->new_addr, ev->new_port);
		if (dst && to)
			charon->kernel->mapping(charon->kernel, ev->proto, htonl(ev->spi), dst, to);
		DESTROY_IF(dst);
		DESTROY_IF(to);
		break;
	case CW_KEV_TAKEN:
	case CW_KEV_RESYNC:
		cw_charon_kernel_restore();
		break;
	case CW_KEV_ACQUIRE: /* libcharon has no traps here; the tunnel machine sees to missing children */
	case CW_KEV_LINK:
		break;
	}
}

/* ---- stop ---- */

static void wait_all_gone(struct cw_charon *c, uint32_t wait_ms)
{
	struct timespec until = cw_charon_until(wait_ms);

	pthread_mutex_lock(&c->lock);
	while (c->n_sas > 0 && pthread_cond_timedwait(&c->gone, &c->lock, &until) == 0)
		;
	pthread_mutex_unlock(&c->lock);
}

static void stop(struct cw_ike *ike, uint32_t wait_ms)
{
	struct cw_charon *c = self(ike);

	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	for (struct cw_charon_sa *sa = c->sas; sa; sa = sa->next) {
		sa->closing = sa->ordered = true;
		cw_charon_sa_blame(sa, CW_CAUSE_STOPPING, "%s", "");
		cw_charon_queue(c, terminate_run, sa->ike_id, 0, false, JOB_PRIO_HIGH);
	}
	pthread_mutex_unlock(&c->lock);
	/* Nobody new may come in meanwhile. */
	for (size_t i = 0; i < c->n_tunnels; i++)
		cw_charon_tunnel_free(exchange(c, (uint32_t)i, NULL));
	wait_all_gone(c, wait_ms);
	cw_charon_free(c);
}

static const char *version(struct cw_ike *ike)
{
	return self(ike)->version;
}

const struct cw_ike_ops cw_charon_ops = {
	.begin = cw_charon_begin,
	.tunnel_set = tunnel_set,
	.tunnel_remove = tunnel_remove,
	.initiate = initiate,
	.backlog = backlog,
	.terminate_ike = terminate_ike,
	.terminate_child = terminate_child,
	.rekey_ike = rekey_ike,
	.rekey_child = rekey_child,
	.check_alive = check_alive,
	.poll = poll_all,
	.kernel_event = kernel_event,
	.stop = stop,
	.version = version,
};
