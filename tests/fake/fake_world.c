/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake/fake_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"

struct happening {
	struct cw_time at;
	uint64_t order; /* of those at the same time, the lower first */
	fake_call *fn;
	void *arg;
	uint64_t number;
	void *data;
};

struct fake_world {
	struct cw_time now;
	uint64_t random, order;
	struct happening *heap;
	size_t n, size;
	struct fake_path paths[2];
	struct {
		fake_call *fn;
		void *arg;
	} ends[2];
};

struct fake_world *fake_world_new(uint64_t seed)
{
	struct fake_world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	w->now.us = 1000000000; /* not 0, which could hide a time that was never set */
	for (int i = 0; i < 8; i++)
		cw_backoff_random(&w->random);
	return w;
}

void fake_world_free(struct fake_world *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->heap[i].data);
	free(w->heap);
	free(w);
}

struct cw_time fake_world_now(const struct fake_world *w)
{
	return w->now;
}

uint32_t fake_world_random(struct fake_world *w, uint32_t n)
{
	return n ? cw_backoff_random(&w->random) % n : 0;
}

static bool before(const struct happening *a, const struct happening *b)
{
	return a->at.us != b->at.us ? a->at.us < b->at.us : a->order < b->order;
}

static void swap(struct happening *a, struct happening *b)
{
	struct happening t = *a;

	*a = *b;
	*b = t;
}

void fake_world_at(struct fake_world *w, struct cw_time at, fake_call *fn, void *arg,
	uint64_t number, const void *data, size_t size)
{
	size_t i = w->n;

	if (w->n == w->size) {
		w->size = w->size ? 2 * w->size : 64;
		w->heap = realloc(w->heap, w->size * sizeof(*w->heap));
		if (!w->heap)
			abort();
	}
	w->heap[w->n++] = (struct happening){
		.at = at.us > w->now.us ? at : w->now,
		.order = w->order++,
		.fn = fn,
		.arg = arg,
		.number = number,
	};
	if (size) {
		w->heap[i].data = malloc(size);
		if (!w->heap[i].data)
			abort();
		memcpy(w->heap[i].data, data, size);
	}
	for (; i && before(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static struct happening take(struct fake_world *w)
{
	struct happening first = w->heap[0];
	size_t i = 0, child;

	w->heap[0] = w->heap[--w->n];
	while ((child = 2 * i + 1) < w->n) {
		if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &w->heap[i]))
			break;
		swap(&w->heap[i], &w->heap[child]);
		i = child;
	}
	return first;
}

void fake_world_run_until(struct fake_world *w, struct cw_time until)
{
	while (w->n && w->heap[0].at.us <= until.us) {
		struct happening h = take(w);

		w->now = h.at;
		h.fn(h.arg, h.number, h.data);
		free(h.data);
	}
	w->now = until;
}

struct fake_path *fake_world_path(struct fake_world *w, unsigned from)
{
	return &w->paths[from];
}

void fake_world_listen(struct fake_world *w, unsigned end, fake_call *fn, void *arg)
{
	w->ends[end].fn = fn;
	w->ends[end].arg = arg;
}

void fake_world_send(struct fake_world *w, unsigned from, const void *data, size_t size)
{
	const struct fake_path *p = &w->paths[from];
	unsigned to = 1 - from;

	if (p->cut || fake_world_random(w, 1000) < p->loss_permille || !w->ends[to].fn)
		return;
	fake_world_at(w,
		cw_time_add_us(w->now, p->delay_us + fake_world_random(w, p->jitter_us + 1)),
		w->ends[to].fn, w->ends[to].arg, 0, data, size);
}
