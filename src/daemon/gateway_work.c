/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be done, and for which tunnels. A list for each kind of work names the tunnels that have some,
 * each once, in the order in which it came up: so an event costs the same with a thousand tunnels as with
 * one, and many events of one tunnel cost as much as one.
 */
#include "daemon/gateway_priv.h"

#include <stdlib.h>

enum cw_rc cw_gateway_todo_new(struct cw_gateway *gw)
{
	for (size_t i = 0; i < TODO_COUNT; i++) {
		gw->todo[i].v = calloc(gw->n_slots + 1, sizeof(*gw->todo[i].v));
		if (!gw->todo[i].v)
			return CW_E_NO_MEMORY;
	}
	return CW_OK;
}

void cw_gateway_todo_free(struct cw_gateway *gw)
{
	for (size_t i = 0; i < TODO_COUNT; i++)
		free(gw->todo[i].v);
}

void cw_gateway_todo(struct cw_gateway *gw, struct slot *s, enum todo kind)
{
	struct todo_list *list = &gw->todo[kind];

	if (s->todo[kind])
		return;
	s->todo[kind] = true;
	list->v[(list->first + list->n++) % gw->n_slots] = s;
}

size_t cw_gateway_todo_count(const struct cw_gateway *gw, enum todo kind)
{
	return gw->todo[kind].n;
}

struct slot *cw_gateway_todo_at(const struct cw_gateway *gw, enum todo kind, size_t i)
{
	const struct todo_list *list = &gw->todo[kind];

	return list->v[(list->first + i) % gw->n_slots];
}

struct slot *cw_gateway_todo_take(struct cw_gateway *gw, enum todo kind)
{
	struct todo_list *list = &gw->todo[kind];
	struct slot *s;

	if (!list->n)
		return NULL;
	s = list->v[list->first];
	list->first = (list->first + 1) % gw->n_slots;
	list->n--;
	s->todo[kind] = false;
	return s;
}
