/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/backoff.h"

uint32_t cw_backoff_ms(uint32_t min_s, uint32_t max_s, uint32_t tries, uint32_t random)
{
	uint64_t cap_ms = (uint64_t)max_s * 1000, ms = (uint64_t)min_s * 1000;

	if (cap_ms > UINT32_MAX)
		cap_ms = UINT32_MAX;
	for (uint32_t i = 1; i < tries && ms && ms < cap_ms; i++)
		ms *= 2;
	if (ms > cap_ms)
		ms = cap_ms;
	ms -= (ms / 4) * (random & 0xffff) / 0x10000;
	return (uint32_t)ms;
}

uint32_t cw_backoff_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dULL) >> 32);
}
