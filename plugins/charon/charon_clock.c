/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time on libcharon's threads. The loop hands its reading to nobody there: libcharon counts on a clock
 * of its own, and all that its statistics say is relative to that.
 */
#include "charon/charon_priv.h"

int64_t cw_charon_now_ms(void)
{
	timeval_t tv;

	time_monotonic(&tv);
	return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

time_t cw_charon_now_s(void)
{
	return time_monotonic(NULL);
}

time_t cw_charon_from_wall(uint64_t wall_s)
{
	time_t ago;

	if (!wall_s)
		return 0;
	ago = time(NULL) - (time_t)wall_s;
	return time_monotonic(NULL) - (ago > 0 ? ago : 0);
}

struct timespec cw_charon_until(uint32_t wait_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

void cw_charon_pause_ms(uint32_t ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&pause, NULL);
}
