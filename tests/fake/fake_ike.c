/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake/fake_ike_priv.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_S 8 /* a request unanswered for so long: the attempt failed, the peer is dead */
#define DPD_DELAY_S 5
#define HALF_OPEN_S 10
#define TICK_US 250000

struct cw_time fake_ike_now(const struct fake_ike *e)
{
	return fake_world_now(e->world);
}

static uint64_t random_spi(struct fake_ike *e)
{
	return ((uint64_t)fake_world_random(e->world, UINT32_MAX) << 32) +
	       fake_world_random(e->world, UINT32_MAX) + 1;
}

/* ---- telling ---- */

struct cw_ike_sa_info fake_ike_info(const struct fake_ike *e, const struct fake_sa *sa)
{
	struct cw_ike_sa_info i = {
		.ike_id = sa->id,
		.spi_i = sa->initiator ? sa->spi : sa->peer_spi,
		.spi_r = sa->initiator ? sa->peer_spi : sa->spi,
		.state = sa->state,
		.version = e->version,
		.initiator = sa->initiator,
		.rekey_in_s = -1,
		.expires_in_s = -1,
	};

	if (sa->state != CW_IKE_SA_CONNECTING)
		i.established_s_ago =
			(uint32_t)(cw_time_diff_us(fake_ike_now(e), sa->up_at) / 1000000);
	return i;
}

struct cw_child_info fake_ike_child_info(
	const struct fake_ike *e, const struct fake_sa *sa, const struct fake_child *c)
{
	return (struct cw_child_info){
		.child_id = c->id,
		.ike_id = sa->id,
		.pair = c->pair,
		.spi_in = c->spi_in,
		.spi_out = c->spi_out,
		.state = c->state,
		.rekey_in_s = -1,
		.expires_in_s = -1,
		.installed_s_ago = (uint32_t)(cw_time_diff_us(fake_ike_now(e), c->at) / 1000000),
	};
}

static void tell(struct fake_ike *e, struct cw_ike_event *ev)
{
	ev->index = e->index;
	ev->generation = e->generation;
	e->post(e->post_arg, ev);
}

static void tell_ike(struct fake_ike *e, enum cw_ike_event_kind kind, const struct fake_sa *sa,
	uint32_t old_id, enum cw_cause cause, bool by_us)
{
	struct cw_ike_event ev = {
		.kind = kind,
		.ike_id = sa->id,
		.old_id = old_id,
		.cause = cause,
		.by_us = by_us,
		.ike = fake_ike_info(e, sa),
	};

	tell(e, &ev);
}

static void tell_child(struct fake_ike *e, enum cw_ike_event_kind kind, const struct fake_sa *sa,
	const struct fake_child *c, uint32_t old_id, enum cw_cause cause, bool by_us)
{
	struct cw_ike_event ev = {
		.kind = kind,
		.ike_id = sa->id,
		.old_id = old_id,
		.cause = cause,
		.by_us = by_us,
		.is_child = true,
		.child = fake_ike_child_info(e, sa, c),
	};

	tell(e, &ev);
}

static void tell_child_failed(struct fake_ike *e, const struct fake_sa *sa, uint32_t pair,
	enum cw_cause cause, bool by_us)
{
	struct fake_child c = { .pair = pair, .at = fake_ike_now(e) };

	tell_child(e, CW_IKE_EV_FAILED, sa, &c, 0, cause, by_us);
}

/* ---- SAs ---- */

static struct fake_sa *sa_new(struct fake_ike *e, bool initiator)
{
	struct fake_sa *sa = calloc(1, sizeof(*sa));

	if (!sa)
		abort();
	sa->id = ++e->last_id;
	sa->spi = random_spi(e);
	sa->initiator = initiator;
	sa->began_at = sa->last_in = fake_ike_now(e);
	sa->next = e->sas;
	e->sas = sa;
	return sa;
}

void fake_ike_drop(struct fake_ike *e, struct fake_sa *sa)
{
	struct fake_sa **p = &e->sas;

	while (*p != sa)
		p = &(*p)->next;
	*p = sa->next;
	free(sa);
}

static struct fake_sa *sa_established(struct fake_ike *e, const struct fake_sa *but)
{
	struct fake_sa *sa = e->sas;

	while (sa && (sa == but || sa->state != CW_IKE_SA_ESTABLISHED))
		sa = sa->next;
	return sa;
}

void fake_ike_end(struct fake_ike *e, struct fake_sa *sa, enum cw_cause cause, bool by_us)
{
	if (sa->state == CW_IKE_SA_CONNECTING) {
		if (sa->initiator)
			tell_ike(e, CW_IKE_EV_FAILED, sa, 0, cause, true);
	} else if (!sa->silent) {
		for (size_t i = 0; i < sa->n_children; i++) {
			if (sa->children[i].state != CW_CHILD_REKEYED)
				tell_child(e, CW_IKE_EV_CHILD_DOWN, sa, &sa->children[i], 0, cause,
					by_us);
		}
		tell_ike(e, CW_IKE_EV_IKE_DOWN, sa, 0, cause, by_us);
	}
	fake_ike_drop(e, sa);
}

static struct fake_child *child_add(struct fake_ike *e, struct fake_sa *sa, uint32_t pair,
	uint32_t spi_in, uint32_t spi_out, bool mine)
{
	struct fake_child *c = &sa->children[sa->n_children];

	if (sa->n_children == FAKE_CHILDREN_MAX)
		abort();
	sa->n_children++;
	*c = (struct fake_child){
		.id = ++e->last_id,
		.pair = pair,
		.spi_in = spi_in,
		.spi_out = spi_out,
		.state = CW_CHILD_INSTALLED,
		.at = fake_ike_now(e),
		.mine = mine,
	};
	return c;
}

static struct fake_child *child_by(struct fake_sa *sa, uint32_t spi_in, uint32_t spi_out)
{
	for (size_t i = 0; i < sa->n_children; i++) {
		if (sa->children[i].spi_in == spi_in || sa->children[i].spi_out == spi_out)
			return &sa->children[i];
	}
	return NULL;
}

static void child_drop(struct fake_sa *sa, struct fake_child *c)
{
	*c = sa->children[--sa->n_children];
}

/* ---- requests ---- */

static void send_request(struct fake_ike *e, struct fake_sa *sa)
{
	struct fake_msg *m = &sa->queue[0];

	m->to_spi = sa->peer_spi;
	m->from_spi = sa->spi;
	m->mid = sa->mid;
	sa->sent_at = fake_ike_now(e);
	sa->tries++;
	fake_world_send(e->world, e->end, m, sizeof(*m));
}

static void pump(struct fake_ike *e, struct fake_sa *sa)
{
	if (sa->busy || !sa->n_queue)
		return;
	sa->busy = true;
	sa->tries = 0;
	sa->first_sent_at = fake_ike_now(e);
	send_request(e, sa);
}

void fake_ike_ask(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m)
{
	if (sa->n_queue == FAKE_QUEUE_MAX)
		return;
	sa->queue[sa->n_queue++] = *m;
	pump(e, sa);
}

/* Not what is being asked for already. */
static void ask_child(struct fake_ike *e, struct fake_sa *sa, uint32_t pair)
{
	struct fake_msg m = { .type = CHILD, .pair = pair, .spi = (uint32_t)random_spi(e) };

	for (size_t i = 0; i < sa->n_queue; i++) {
		if (sa->queue[i].type == CHILD && sa->queue[i].pair == pair)
			return;
	}
	fake_ike_ask(e, sa, &m);
}

void fake_ike_ask_delete(struct fake_ike *e, struct fake_sa *sa, bool by_order)
{
	struct fake_msg m = { .type = DELETE_IKE };

	if (sa->state == CW_IKE_SA_DELETING)
		return;
	if (sa->state == CW_IKE_SA_ESTABLISHED)
		sa->state = CW_IKE_SA_DELETING;
	sa->by_order = by_order;
	/* What is waiting has lost its sense. */
	if (sa->n_queue > 1)
		sa->n_queue = 1;
	fake_ike_ask(e, sa, &m);
}

void fake_ike_begin(struct fake_ike *e)
{
	struct fake_msg m = { .type = SA_INIT };

	if (!e->known)
		return;
	e->initiated++;
	fake_ike_ask(e, sa_new(e, true), &m);
}

void fake_ike_initiate(struct fake_ike *e, uint32_t pair)
{
	struct fake_sa *sa = sa_established(e, NULL);

	if (sa)
		ask_child(e, sa, pair);
	else
		fake_ike_begin(e);
}

void fake_ike_rekey_child(struct fake_ike *e, struct fake_sa *sa, struct fake_child *c)
{
	struct fake_msg m = {
		.type = REKEY_CHILD,
		.pair = c->pair,
		.old_spi = c->spi_in,
		.spi = (uint32_t)random_spi(e),
	};

	if (sa->state != CW_IKE_SA_ESTABLISHED || c->state != CW_CHILD_INSTALLED)
		return;
	c->state = CW_CHILD_REKEYING;
	fake_ike_ask(e, sa, &m);
}

static bool rekeying(const struct fake_sa *sa)
{
	for (size_t i = 0; i < sa->n_queue; i++) {
		if (sa->queue[i].type == REKEY_IKE)
			return true;
	}
	return false;
}

void fake_ike_rekey(struct fake_ike *e, struct fake_sa *sa)
{
	struct fake_msg m = { .type = REKEY_IKE, .new_spi = random_spi(e) };

	if (sa->state == CW_IKE_SA_ESTABLISHED && !rekeying(sa))
		fake_ike_ask(e, sa, &m);
}

/* IKEv1: at its responder the newest IKE_SA takes over what the older ones have. */
static void adopt(struct fake_sa *heir, struct fake_sa *old)
{
	while (old->n_children && heir->n_children < FAKE_CHILDREN_MAX) {
		struct fake_child c = old->children[--old->n_children];

		if (c.state == CW_CHILD_REKEYED || c.state == CW_CHILD_DELETING)
			continue;
		/* A rekey under way ends with the IKE_SA it is on. */
		if (c.state == CW_CHILD_REKEYING)
			c.state = CW_CHILD_INSTALLED;
		heir->children[heir->n_children++] = c;
	}
}

static void established(struct fake_ike *e, struct fake_sa *sa, bool contact)
{
	bool was_alone = !sa_established(e, sa);
	struct fake_sa *next;

	sa->state = CW_IKE_SA_ESTABLISHED;
	sa->up_at = sa->last_in = fake_ike_now(e);
	tell_ike(e, CW_IKE_EV_IKE_UP, sa, 0, CW_CAUSE_NONE, sa->initiator);
	if (contact)
		tell_ike(e, CW_IKE_EV_INITIAL_CONTACT, sa, 0, CW_CAUSE_NONE, false);
	for (struct fake_sa *o = e->sas; o && !was_alone; o = next) {
		next = o->next;
		if (o == sa || o->state != CW_IKE_SA_ESTABLISHED)
			continue;
		if (contact && e->habits.obeys_initial_contact)
			fake_ike_end(e, o, CW_CAUSE_DUPLICATE, true);
		else if (e->habits.replaces)
			fake_ike_ask_delete(e, o, true);
		else if (e->version == 1 && !sa->initiator)
			adopt(sa, o);
	}
}

/* The IKE_SA that takes over at a rekey. */
static void succeed(
	struct fake_ike *e, struct fake_sa *old, uint64_t spi, uint64_t peer_spi, bool initiator)
{
	struct fake_sa *sa = sa_new(e, initiator);

	sa->spi = spi;
	sa->peer_spi = peer_spi;
	sa->state = CW_IKE_SA_ESTABLISHED;
	sa->up_at = fake_ike_now(e);
	memcpy(sa->children, old->children, sizeof(old->children));
	sa->n_children = old->n_children;
	old->n_children = 0;
	old->state = CW_IKE_SA_REKEYED;
	old->silent = true;
	tell_ike(e, CW_IKE_EV_IKE_REKEYED, sa, old->id, CW_CAUSE_NONE, initiator);
	for (size_t i = old->busy; i < old->n_queue; i++)
		fake_ike_ask(e, sa, &old->queue[i]);
	old->n_queue = old->busy;
}

/* ---- the responder ---- */

static bool refuses(const struct fake_ike *e, uint32_t pair)
{
	return pair < 32 && e->refused_pairs >> pair & 1;
}

static void answer_auth(
	struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m, struct fake_msg *re)
{
	if (m->key != e->key || !e->known) {
		re->refusal = AUTH_FAILED;
		tell_ike(e, CW_IKE_EV_FAILED, sa, 0, CW_CAUSE_AUTH_BY_US, false);
		return;
	}
	established(e, sa, m->initial_contact);
	if (refuses(e, m->pair)) {
		re->child_refused = true;
		tell_child_failed(e, sa, m->pair, CW_CAUSE_TS_UNACCEPTABLE, false);
		return;
	}
	re->spi = (uint32_t)random_spi(e);
	tell_child(e, CW_IKE_EV_CHILD_UP, sa, child_add(e, sa, m->pair, re->spi, m->spi, false), 0,
		CW_CAUSE_NONE, false);
}

static void answer_child(
	struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m, struct fake_msg *re)
{
	if (sa->state != CW_IKE_SA_ESTABLISHED || rekeying(sa)) {
		re->refusal = TEMPORARY_FAILURE;
	} else if (refuses(e, m->pair)) {
		re->refusal = TS_UNACCEPTABLE;
		tell_child_failed(e, sa, m->pair, CW_CAUSE_TS_UNACCEPTABLE, false);
	} else {
		re->spi = (uint32_t)random_spi(e);
		tell_child(e, CW_IKE_EV_CHILD_UP, sa,
			child_add(e, sa, m->pair, re->spi, m->spi, false), 0, CW_CAUSE_NONE, false);
	}
}

static void answer_rekey_child(
	struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m, struct fake_msg *re)
{
	struct fake_child *old = child_by(sa, 0, m->old_spi), *c;

	if (!old && e->version == 1 && e->remakes_lost) {
		answer_child(e, sa, m, re); /* a Quick Mode does not say what it replaces */
	} else if (!old || old->state == CW_CHILD_REKEYED) {
		re->refusal = NOT_FOUND;
	} else if (old->state != CW_CHILD_INSTALLED || sa->state != CW_IKE_SA_ESTABLISHED ||
		   rekeying(sa)) {
		re->refusal = TEMPORARY_FAILURE;
	} else {
		old->state = CW_CHILD_REKEYED;
		re->spi = (uint32_t)random_spi(e);
		c = child_add(e, sa, old->pair, re->spi, m->spi, false);
		tell_child(e, CW_IKE_EV_CHILD_REKEYED, sa, c, old->id, CW_CAUSE_NONE, false);
	}
}

static void answer_delete_child(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m)
{
	struct fake_child *c = child_by(sa, 0, m->old_spi);

	if (!c)
		return;
	if (c->state != CW_CHILD_REKEYED)
		tell_child(e, CW_IKE_EV_CHILD_DOWN, sa, c, 0, CW_CAUSE_CHILD_DELETE, false);
	child_drop(sa, c);
}

/* Answers a request. False: the IKE_SA is to end with the answer. */
static bool answer(
	struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m, struct fake_msg *re)
{
	switch (m->type) {
	case SA_INIT:
	case DPD:
		break;
	case AUTH:
		answer_auth(e, sa, m, re);
		return re->refusal == NO_REFUSAL;
	case CHILD:
		answer_child(e, sa, m, re);
		break;
	case REKEY_CHILD:
		answer_rekey_child(e, sa, m, re);
		break;
	case REKEY_IKE:
		/* RFC 7296 2.25: not while exchanges on it are on their way. */
		if (sa->state != CW_IKE_SA_ESTABLISHED || sa->n_queue) {
			re->refusal = TEMPORARY_FAILURE;
		} else {
			re->new_spi = random_spi(e);
			succeed(e, sa, re->new_spi, m->new_spi, false);
		}
		break;
	case DELETE_CHILD:
		answer_delete_child(e, sa, m);
		break;
	case DELETE_IKE:
		return false;
	}
	return true;
}

static void on_request(struct fake_ike *e, const struct fake_msg *m)
{
	struct fake_msg re = {
		.to_spi = m->from_spi, .response = true, .mid = m->mid, .type = m->type
	};
	struct fake_sa *sa = e->sas;
	bool stays;

	while (sa && (m->type == SA_INIT ? sa->peer_spi != m->from_spi : sa->spi != m->to_spi))
		sa = sa->next;
	if (!sa && m->type == SA_INIT) {
		if (!e->known) {
			re.refusal = NO_PROPOSAL;
			fake_world_send(e->world, e->end, &re, sizeof(re));
			return;
		}
		sa = sa_new(e, false);
		sa->peer_spi = m->from_spi;
	}
	/* The peer may be ahead of us: its answer to our AUTH got lost, and what it asks has to
	 * wait. */
	if (!sa || (sa->initiator && sa->state == CW_IKE_SA_CONNECTING))
		return;
	sa->last_in = fake_ike_now(e);
	if (m->mid + 1 == sa->peer_mid) { /* a retransmission */
		fake_world_send(e->world, e->end, &sa->answer, sizeof(sa->answer));
		return;
	}
	if (m->mid != sa->peer_mid)
		return;
	re.from_spi = sa->spi;
	sa->peer_mid++;
	stays = answer(e, sa, m, &re);
	fake_world_send(e->world, e->end, &re, sizeof(re));
	if (stays)
		sa->answer = re;
	else if (sa->state == CW_IKE_SA_CONNECTING)
		fake_ike_drop(e, sa);
	else
		fake_ike_end(
			e, sa, sa->by_order ? CW_CAUSE_NONE : CW_CAUSE_PEER_DELETE, sa->by_order);
}

/* ---- the initiator ---- */

static void done_init(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m)
{
	struct fake_msg auth = { .type = AUTH, .key = e->key, .spi = (uint32_t)random_spi(e) };

	sa->peer_spi = m->from_spi;
	auth.initial_contact = !e->habits.sends_no_initial_contact && !sa_established(e, sa);
	fake_ike_ask(e, sa, &auth);
}

static void done_auth(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *asked,
	const struct fake_msg *m)
{
	established(e, sa, false);
	if (m->child_refused)
		tell_child_failed(e, sa, 0, CW_CAUSE_TS_UNACCEPTABLE, true);
	else
		tell_child(e, CW_IKE_EV_CHILD_UP, sa, child_add(e, sa, 0, asked->spi, m->spi, true),
			0, CW_CAUSE_NONE, true);
	for (uint32_t pair = 1; pair < e->pairs; pair++)
		ask_child(e, sa, pair);
}

static void done_rekey_child(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *asked,
	const struct fake_msg *m)
{
	struct fake_child *old = child_by(sa, asked->old_spi, 0);
	struct fake_msg del = { .type = DELETE_CHILD, .old_spi = asked->old_spi };

	if (m->refusal == NOT_FOUND && e->remakes_lost && old && old->state == CW_CHILD_REKEYING) {
		/* RFC 7296 2.25 */
		tell_child(e, CW_IKE_EV_CHILD_DOWN, sa, old, 0, CW_CAUSE_CHILD_DELETE, false);
		child_drop(sa, old);
		ask_child(e, sa, asked->pair);
		return;
	}
	if (m->refusal != NO_REFUSAL) {
		if (old && old->state == CW_CHILD_REKEYING)
			old->state = CW_CHILD_INSTALLED;
		return;
	}
	if (old)
		old->state = CW_CHILD_REKEYED;
	tell_child(e, CW_IKE_EV_CHILD_REKEYED, sa,
		child_add(e, sa, asked->pair, asked->spi, m->spi, true), old ? old->id : 0,
		CW_CAUSE_NONE, true);
	fake_ike_ask(e, sa, &del);
}

static void on_answer(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m)
{
	struct fake_msg asked = sa->queue[0];
	struct fake_child *c;

	memmove(&sa->queue[0], &sa->queue[1], --sa->n_queue * sizeof(sa->queue[0]));
	sa->busy = false;
	sa->mid++;
	switch (asked.type) {
	case SA_INIT:
	case AUTH:
		if (m->refusal != NO_REFUSAL) {
			fake_ike_end(e, sa,
				asked.type == AUTH ? CW_CAUSE_AUTH_BY_PEER
						   : CW_CAUSE_NO_IKE_PROPOSAL,
				true);
			return;
		}
		if (asked.type == AUTH)
			done_auth(e, sa, &asked, m);
		else
			done_init(e, sa, m);
		break;
	case CHILD:
		if (m->refusal != NO_REFUSAL)
			tell_child_failed(e, sa, asked.pair,
				m->refusal == TS_UNACCEPTABLE ? CW_CAUSE_TS_UNACCEPTABLE
							      : CW_CAUSE_PROTOCOL,
				true);
		else
			tell_child(e, CW_IKE_EV_CHILD_UP, sa,
				child_add(e, sa, asked.pair, asked.spi, m->spi, true), 0,
				CW_CAUSE_NONE, true);
		break;
	case REKEY_CHILD:
		done_rekey_child(e, sa, &asked, m);
		break;
	case REKEY_IKE:
		if (m->refusal == NO_REFUSAL) {
			succeed(e, sa, asked.new_spi, m->new_spi, true);
			fake_ike_ask_delete(e, sa, false);
		}
		break;
	case DELETE_CHILD:
		c = child_by(sa, asked.old_spi, 0);
		if (c && c->state != CW_CHILD_REKEYED)
			tell_child(e, CW_IKE_EV_CHILD_DOWN, sa, c, 0, CW_CAUSE_NONE, true);
		if (c)
			child_drop(sa, c);
		break;
	case DELETE_IKE:
		fake_ike_end(e, sa, CW_CAUSE_NONE, true);
		return;
	case DPD:
		break;
	}
	pump(e, sa);
}

void fake_ike_on_wire(void *arg, uint64_t number, const void *data)
{
	struct fake_ike *e = arg;
	const struct fake_msg *m = data;
	struct fake_sa *sa = e->sas;

	(void)number;
	if (!m->response) {
		on_request(e, m);
		return;
	}
	while (sa && sa->spi != m->to_spi)
		sa = sa->next;
	if (!sa || !sa->busy || m->mid != sa->mid)
		return;
	sa->last_in = fake_ike_now(e);
	on_answer(e, sa, m);
}

/* ---- time ---- */

static void tick_sa(struct fake_ike *e, struct fake_sa *sa)
{
	static const int64_t waits_us[] = { 1000000, 1800000, 2200000 };
	struct cw_time now = fake_ike_now(e);
	int64_t wait_us = sa->tries && sa->tries <= 3 ? waits_us[sa->tries - 1] : 2500000;
	struct fake_msg dpd = { .type = DPD };

	if (sa->busy) {
		struct cw_time since = sa->first_sent_at;

		/* A peer that is heard otherwise is not dead. */
		if (sa->state == CW_IKE_SA_ESTABLISHED && sa->last_in.us > since.us)
			since = sa->last_in;
		if (cw_time_diff_us(now, since) >= ANSWER_S * 1000000LL)
			fake_ike_end(e, sa,
				sa->state == CW_IKE_SA_CONNECTING ? CW_CAUSE_NO_ANSWER
				: sa->by_order || sa->state == CW_IKE_SA_REKEYED
					? CW_CAUSE_NONE
					: CW_CAUSE_PEER_DEAD,
				sa->by_order);
		else if (cw_time_diff_us(now, sa->sent_at) >= wait_us)
			send_request(e, sa);
		return;
	}
	if (sa->state == CW_IKE_SA_CONNECTING) {
		if (cw_time_diff_us(now, sa->began_at) >= HALF_OPEN_S * 1000000LL)
			fake_ike_drop(e, sa);
		return;
	}
	/* Replaced, and the peer that should delete it does not. */
	if (sa->state == CW_IKE_SA_REKEYED &&
		cw_time_diff_us(now, sa->last_in) > ANSWER_S * 1000000LL) {
		fake_ike_end(e, sa, CW_CAUSE_NONE, false);
		return;
	}
	if (sa->state != CW_IKE_SA_ESTABLISHED)
		return;
	if (cw_time_diff_us(now, sa->last_in) >= DPD_DELAY_S * 1000000LL)
		fake_ike_ask(e, sa, &dpd);
	if (!e->rekey_every_s)
		return;
	if (fake_world_random(e->world, e->rekey_every_s * (1000000 / TICK_US)) == 0)
		fake_ike_rekey(e, sa);
	for (size_t i = 0; i < sa->n_children; i++) {
		if (fake_world_random(e->world, e->rekey_every_s * (1000000 / TICK_US)) == 0)
			fake_ike_rekey_child(e, sa, &sa->children[i]);
	}
}

void fake_ike_tick(void *arg, uint64_t number, const void *data)
{
	struct fake_ike *e = arg;
	struct fake_sa *next;

	(void)data;
	for (struct fake_sa *sa = e->sas; sa; sa = next) {
		next = sa->next;
		tick_sa(e, sa);
	}
	fake_world_at(e->world, cw_time_add_us(fake_ike_now(e), TICK_US), fake_ike_tick, e, number,
		NULL, 0);
}
