/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_world: a clock that only its own events move, and a wire between two ends.
 *
 * What happens follows from the seed alone, so a failing order can be run again. One thread.
 */
#ifndef CW_TESTS_FAKE_WORLD_H
#define CW_TESTS_FAKE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct fake_world;

/* number: what was given with the call. data: the copy of what was given, gone after the call. */
typedef void fake_call(void *arg, uint64_t number, const void *data);

struct fake_world *fake_world_new(uint64_t seed);
void fake_world_free(struct fake_world *w);
struct cw_time fake_world_now(const struct fake_world *w);
/* A number in 0..n-1. */
uint32_t fake_world_random(struct fake_world *w, uint32_t n);
/* Calls fn at the given time, or now if that has passed. What is due at once runs in the order
 * asked for. data: copied, size bytes; NULL with 0. */
void fake_world_at(struct fake_world *w, struct cw_time at, fake_call *fn, void *arg,
	uint64_t number, const void *data, size_t size);
/* Runs everything up to and including the given time. */
void fake_world_run_until(struct fake_world *w, struct cw_time until);

/* The way that starts at one end. */
struct fake_path {
	uint32_t delay_us, jitter_us; /* jitter reorders, too */
	uint32_t loss_permille;
	bool cut;
};

struct fake_path *fake_world_path(struct fake_world *w, unsigned from);
/* What an end does with a message. */
void fake_world_listen(struct fake_world *w, unsigned end, fake_call *fn, void *arg);
void fake_world_send(struct fake_world *w, unsigned from, const void *data, size_t size);

#endif
