/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backoff: the pause before the next try, growing, capped and jittered. Pure.
 *
 * Pause n is min(max, min * 2^(n-1)), less a random part of up to a quarter, so that the cap is
 * a promise: never longer than max. Many tunnels or neighbours that lost the same path don't come
 * back in step.
 */
#ifndef CW_BASE_BACKOFF_H
#define CW_BASE_BACKOFF_H

#include <stdint.h>

/* tries: failed so far, 1 or more. random: any number. Returns milliseconds, 50 days at most. */
uint32_t cw_backoff_ms(uint32_t min_s, uint32_t max_s, uint32_t tries, uint32_t random);

/* One step of a small generator (xorshift64*); the state must not be 0. For jitter, never for keys. */
uint32_t cw_backoff_random(uint64_t *state);

#endif
