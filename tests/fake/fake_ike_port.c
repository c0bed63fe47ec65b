/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake/fake_ike_priv.h"

#define ORDER_LAG_US 5000

static struct fake_ike *self(struct cw_ike *port)
{
	return (struct fake_ike *)port;
}

static struct fake_sa *sa_by_id(struct fake_ike *e, uint32_t id)
{
	struct fake_sa *sa = e->sas;

	while (sa && sa->id != id)
		sa = sa->next;
	return sa;
}

struct job {
	enum {
		JOB_SET,
		JOB_REMOVE,
		JOB_INITIATE,
		JOB_END_IKE,
		JOB_END_CHILD,
		JOB_REKEY_IKE,
		JOB_REKEY_CHILD,
		JOB_ALIVE,
		JOB_POLL
	} what;
	uint32_t id, generation;
	bool force;
};

static struct fake_sa *sa_with_child(
	struct fake_ike *e, uint32_t child_id, struct fake_child **ret_child)
{
	for (struct fake_sa *sa = e->sas; sa; sa = sa->next) {
		for (size_t i = 0; i < sa->n_children; i++) {
			if (sa->children[i].id != child_id)
				continue;
			*ret_child = &sa->children[i];
			return sa;
		}
	}
	return NULL;
}

static void end_ike(struct fake_ike *e, struct fake_sa *sa, bool force)
{
	struct fake_msg del = {
		.type = DELETE_IKE,
		.to_spi = sa->peer_spi,
		.from_spi = sa->spi,
		.mid = sa->mid + sa->busy,
	};

	if (!force && sa->state != CW_IKE_SA_CONNECTING) {
		fake_ike_ask_delete(e, sa, true);
		return;
	}
	if (sa->state != CW_IKE_SA_CONNECTING)
		fake_world_send(e->world, e->end, &del, sizeof(del));
	fake_ike_end(e, sa, CW_CAUSE_NONE, true);
}

static void record(void *arg, uint64_t number, const void *data)
{
	struct fake_ike *e = arg;

	if (number == e->epoch)
		e->post(e->post_arg, data);
}

/* Records are written now and told a little later: events slip in between. */
static void poll_now(struct fake_ike *e, uint32_t poll)
{
	struct cw_time at = fake_ike_now(e);
	struct cw_ike_event ev = {
		.kind = CW_IKE_EV_SNAPSHOT,
		.index = e->index,
		.generation = e->generation,
		.poll = poll,
		.first = true,
	};
	const struct fake_sa *sa = e->sas;

	for (; sa; sa = sa->next) {
		size_t i = 0;

		ev.ike = fake_ike_info(e, sa);
		do {
			ev.n_children = 0;
			for (; i < sa->n_children && ev.n_children < CW_IKE_CHILDREN_MAX; i++)
				ev.children[ev.n_children++] =
					fake_ike_child_info(e, sa, &sa->children[i]);
			ev.last = !sa->next && i == sa->n_children;
			at = cw_time_add_us(at, fake_world_random(e->world, 800));
			fake_world_at(e->world, at, record, e, e->epoch, &ev, sizeof(ev));
			ev.first = false;
		} while (i < sa->n_children);
	}
	ev.no_ike = ev.last = true;
	if (!e->sas)
		fake_world_at(e->world, at, record, e, e->epoch, &ev, sizeof(ev));
}

static void run_job(void *arg, uint64_t number, const void *data)
{
	struct fake_ike *e = arg;
	const struct job *j = data;
	struct fake_sa *sa;
	struct fake_child *c;
	struct fake_msg m = { .type = DPD };

	if (number != e->epoch)
		return;
	sa = sa_by_id(e, j->id);
	switch (j->what) {
	case JOB_SET:
		e->known = true;
		e->generation = j->generation;
		break;
	case JOB_REMOVE:
		e->known = false;
		break;
	case JOB_INITIATE:
		fake_ike_initiate(e, j->id);
		break;
	case JOB_END_IKE:
		if (sa)
			end_ike(e, sa, j->force);
		break;
	case JOB_END_CHILD:
		sa = sa_with_child(e, j->id, &c);
		if (!sa || c->state != CW_CHILD_INSTALLED)
			break;
		c->state = CW_CHILD_DELETING;
		m = (struct fake_msg){ .type = DELETE_CHILD, .old_spi = c->spi_in };
		fake_ike_ask(e, sa, &m);
		break;
	case JOB_REKEY_IKE:
		if (sa)
			fake_ike_rekey(e, sa);
		break;
	case JOB_REKEY_CHILD:
		sa = sa_with_child(e, j->id, &c);
		if (sa)
			fake_ike_rekey_child(e, sa, c);
		break;
	case JOB_ALIVE:
		if (sa && sa->state == CW_IKE_SA_ESTABLISHED && !sa->busy)
			fake_ike_ask(e, sa, &m);
		break;
	case JOB_POLL:
		poll_now(e, j->id);
		break;
	}
}

static void job(struct cw_ike *port, struct job j)
{
	struct fake_ike *e = self(port);
	struct cw_time at =
		cw_time_add_us(fake_ike_now(e), fake_world_random(e->world, ORDER_LAG_US));

	/* One after another. */
	if (at.us < e->order_at.us)
		at = e->order_at;
	e->order_at = at;
	fake_world_at(e->world, at, run_job, e, e->epoch, &j, sizeof(j));
}

static enum cw_rc port_set(struct cw_ike *port, const struct cw_ike_tunnel *t)
{
	job(port, (struct job){ .what = JOB_SET, .generation = t->generation });
	return CW_OK;
}

static void port_remove(struct cw_ike *port, uint32_t index)
{
	(void)index;
	job(port, (struct job){ .what = JOB_REMOVE });
}

static void port_initiate(struct cw_ike *port, uint32_t index, uint32_t pair)
{
	(void)index;
	job(port, (struct job){ .what = JOB_INITIATE, .id = pair });
}

static void port_terminate_ike(struct cw_ike *port, uint32_t id, bool force)
{
	job(port, (struct job){ .what = JOB_END_IKE, .id = id, .force = force });
}

static void port_terminate_child(struct cw_ike *port, uint32_t id)
{
	job(port, (struct job){ .what = JOB_END_CHILD, .id = id });
}

static void port_rekey_ike(struct cw_ike *port, uint32_t id)
{
	job(port, (struct job){ .what = JOB_REKEY_IKE, .id = id });
}

static void port_rekey_child(struct cw_ike *port, uint32_t id)
{
	job(port, (struct job){ .what = JOB_REKEY_CHILD, .id = id });
}

static void port_check_alive(struct cw_ike *port, uint32_t id)
{
	job(port, (struct job){ .what = JOB_ALIVE, .id = id });
}

static void port_poll(struct cw_ike *port, uint32_t poll)
{
	job(port, (struct job){ .what = JOB_POLL, .id = poll });
}

static const char *port_version(struct cw_ike *port)
{
	(void)port;
	return "fake";
}

static const struct cw_ike_ops ops = {
	.tunnel_set = port_set,
	.tunnel_remove = port_remove,
	.initiate = port_initiate,
	.terminate_ike = port_terminate_ike,
	.terminate_child = port_terminate_child,
	.rekey_ike = port_rekey_ike,
	.rekey_child = port_rekey_child,
	.check_alive = port_check_alive,
	.poll = port_poll,
	.version = port_version,
};

void fake_ike_init(struct fake_ike *e, struct fake_world *w, unsigned end)
{
	*e = (struct fake_ike){
		.port.ops = &ops, .world = w, .end = end, .pairs = 1, .version = 2
	};
	fake_world_listen(w, end, fake_ike_on_wire, e);
	fake_world_at(w, fake_world_now(w), fake_ike_tick, e, 0, NULL, 0);
}

void fake_ike_crash(struct fake_ike *e)
{
	while (e->sas)
		fake_ike_drop(e, e->sas);
	e->epoch++;
	e->known = false;
	e->last_id = 0;
}

void fake_ike_lose_children(struct fake_ike *e, uint32_t pair)
{
	for (struct fake_sa *sa = e->sas; sa; sa = sa->next) {
		for (size_t i = sa->n_children; i-- > 0;) {
			if (sa->children[i].pair == pair)
				sa->children[i] = sa->children[--sa->n_children];
		}
	}
}

static bool takes(const struct fake_ike *e, uint32_t spi)
{
	for (const struct fake_sa *sa = e->sas; sa; sa = sa->next) {
		for (size_t i = 0; i < sa->n_children; i++) {
			if (sa->children[i].spi_in == spi)
				return true;
		}
	}
	return false;
}

bool fake_ike_passes(const struct fake_ike *from, const struct fake_ike *to, uint32_t pair)
{
	uint32_t spi = 0, newest = 0;

	for (const struct fake_sa *sa = from->sas; sa; sa = sa->next) {
		for (size_t i = 0; i < sa->n_children; i++) {
			const struct fake_child *c = &sa->children[i];

			if (c->pair != pair || c->id <= newest || c->state > CW_CHILD_REKEYING)
				continue;
			newest = c->id;
			spi = c->spi_out;
		}
	}
	return newest && takes(to, spi);
}

struct fake_count fake_ike_count(const struct fake_ike *e)
{
	struct fake_count n = { 0 };

	for (const struct fake_sa *sa = e->sas; sa; sa = sa->next) {
		if (sa->state != CW_IKE_SA_ESTABLISHED) {
			n.others++;
			continue;
		}
		n.ikes++;
		n.spi_i = sa->initiator ? sa->spi : sa->peer_spi;
		for (size_t i = 0; i < sa->n_children; i++) {
			const struct fake_child *c = &sa->children[i];

			if (c->state == CW_CHILD_INSTALLED || c->state == CW_CHILD_REKEYING) {
				n.children++;
				n.child_spis += c->spi_in + c->spi_out;
			} else {
				n.others++;
			}
		}
	}
	return n;
}
