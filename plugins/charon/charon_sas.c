/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/charon_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cw_charon_sa *cw_charon_sa_find(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa = c->sas;

	while (sa && sa->ike_id != ike_id)
		sa = sa->next;
	return sa;
}

struct cw_charon_sa *cw_charon_sa_put(struct cw_charon *c, uint32_t ike_id)
{
	struct cw_charon_sa *sa = cw_charon_sa_find(c, ike_id);

	if (sa)
		return sa;
	sa = calloc(1, sizeof(*sa));
	if (!sa)
		return NULL;
	sa->ike_id = ike_id;
	sa->index = UINT32_MAX;
	sa->born_ms = cw_charon_now_ms();
	sa->next = c->sas;
	c->sas = sa;
	c->n_sas++;
	return sa;
}

void cw_charon_sa_know(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa)
{
	peer_cfg_t *peer = ike_sa->get_peer_cfg(ike_sa);
	ike_cfg_t *ike;

	if (peer && cw_charon_name_parse(peer->get_name(peer), &sa->index, &sa->generation)) {
		sa->known = true;
		sa->mobike = peer->use_mobike(peer);
		sa->dpd_ms = (peer->get_dpd_timeout(peer) - peer->get_dpd(peer)) * 1000;
		return;
	}
	ike = ike_sa->get_ike_cfg(ike_sa);
	for (size_t i = 0; !sa->known && ike && i < c->n_tunnels; i++) {
		const struct cw_charon_tunnel *t = c->tunnels[i];

		if (t && t->ike == ike) {
			sa->index = t->index;
			sa->generation = t->generation;
			sa->known = true;
		}
	}
}

void cw_charon_sa_drop(struct cw_charon *c, struct cw_charon_sa *sa)
{
	struct cw_charon_sa **at = &c->sas;

	while (*at && *at != sa)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = sa->next;
	c->n_sas--;
	free(sa);
	pthread_cond_broadcast(&c->gone);
}

void cw_charon_sas_free(struct cw_charon *c)
{
	while (c->sas)
		cw_charon_sa_drop(c, c->sas);
	while (c->children)
		cw_charon_child_drop(c, c->children->id);
}

/* How much a cause tells. What was refused for a known reason beats a silence, since silence often
 * follows a refusal, and libcharon's general alarms follow a particular one. */
static int weight(enum cw_cause cause)
{
	switch (cause) {
	case CW_CAUSE_NONE:
		return 0;
	case CW_CAUSE_LOST:
		return 1;
	case CW_CAUSE_NO_ANSWER:
		return 2;
	case CW_CAUSE_PROTOCOL:
		return 3;
	case CW_CAUSE_PEER_DELETE:
	case CW_CAUSE_PEER_DEAD:
	case CW_CAUSE_EXPIRED:
		return 4;
	case CW_CAUSE_AUTH_BY_PEER:
		return 6;
	case CW_CAUSE_AUTH_BY_US:
		return 7;
	case CW_CAUSE_KERNEL:
	case CW_CAUSE_NO_ROUTE:
		return 8;
	case CW_CAUSE_NAT_FORBIDDEN:
	case CW_CAUSE_STOPPING:
		return 9;
	default:
		return 5;
	}
}

void cw_charon_sa_blame(struct cw_charon_sa *sa, enum cw_cause cause, const char *fmt, ...)
{
	va_list args;

	if (weight(cause) <= weight(sa->cause))
		return;
	sa->cause = cause;
	va_start(args, fmt);
	vsnprintf(sa->detail, sizeof(sa->detail), fmt, args);
	va_end(args);
}

bool cw_charon_sa_has_twin(const struct cw_charon *c, const struct cw_charon_sa *sa)
{
	for (const struct cw_charon_sa *s = c->sas; s; s = s->next) {
		if (s != sa && s->known && s->index == sa->index && s->up && !s->down && !s->replaced &&
		    !s->closing)
			return true;
	}
	return false;
}

int64_t cw_charon_sa_limit_ms(const struct cw_charon *c, const struct cw_charon_sa *sa)
{
	int64_t since;

	/* A peer that begins has its own limit (half_open_s), unless it has failed already. */
	if (!sa->up)
		return sa->by_us || sa->cause ? sa->born_ms + c->opt.attempt_ms : INT64_MAX;
	if (!sa->waiting)
		return INT64_MAX;
	if (sa->closing || sa->replaced)
		return sa->asked_ms + c->opt.attempt_ms;
	since = sa->asked_ms > sa->heard_ms ? sa->asked_ms : sa->heard_ms;
	return since + (sa->dpd_ms ? sa->dpd_ms : c->opt.attempt_ms);
}

void cw_charon_sa_asked(struct cw_charon *c, struct cw_charon_sa *sa)
{
	int64_t now = cw_charon_now_ms(), limit;

	if (!sa->waiting) {
		sa->waiting = true;
		sa->asked_ms = now;
	}
	limit = cw_charon_sa_limit_ms(c, sa);
	/* A look may be arranged already, but for later: an attempt that came up has left its own. */
	if (limit == INT64_MAX || (sa->watch_ms && sa->watch_ms <= limit))
		return;
	sa->watch_ms = limit;
	cw_charon_watch_later(c, sa->ike_id, limit - now);
}

struct cw_charon_child *cw_charon_child_find(struct cw_charon *c, uint32_t id)
{
	struct cw_charon_child *child = c->children;

	while (child && child->id != id)
		child = child->next;
	return child;
}

struct cw_charon_child *cw_charon_child_put(struct cw_charon *c, const struct cw_child_info *info)
{
	struct cw_charon_child *child = cw_charon_child_find(c, info->child_id);

	if (!child) {
		child = calloc(1, sizeof(*child));
		if (!child)
			return NULL;
		child->id = info->child_id;
		child->next = c->children;
		c->children = child;
	}
	child->ike_id = info->ike_id;
	child->pair = info->pair;
	child->spi_in = info->spi_in;
	child->spi_out = info->spi_out;
	return child;
}

void cw_charon_child_drop(struct cw_charon *c, uint32_t id)
{
	struct cw_charon_child **at = &c->children, *child;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	child = *at;
	if (!child)
		return;
	*at = child->next;
	free(child);
}

void cw_charon_children_move(struct cw_charon *c, uint32_t from_ike, uint32_t to_ike)
{
	for (struct cw_charon_child *child = c->children; child; child = child->next) {
		if (child->ike_id == from_ike)
			child->ike_id = to_ike;
	}
}
