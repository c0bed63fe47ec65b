/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time: a point on the monotonic clock, as a type of its own so that it can't be mixed with a
 * duration or with wall-clock time.
 *
 * Nothing here reads a clock. src/io/loop reads it once a turn and passes it down; a test passes
 * what it likes. CW_TIME_NEVER is a deadline that does not come.
 */
#ifndef CW_BASE_TIME_H
#define CW_BASE_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct cw_time {
	int64_t us; /* microseconds since an arbitrary start */
};

#define CW_TIME_NEVER ((struct cw_time){ INT64_MAX })

static inline bool cw_time_is_never(struct cw_time t)
{
	return t.us == INT64_MAX;
}

static inline struct cw_time cw_time_add_us(struct cw_time t, int64_t us)
{
	if (cw_time_is_never(t))
		return t;
	return (struct cw_time){ t.us + us };
}

static inline struct cw_time cw_time_add_ms(struct cw_time t, int64_t ms)
{
	return cw_time_add_us(t, ms * 1000);
}

static inline struct cw_time cw_time_add_s(struct cw_time t, int64_t s)
{
	return cw_time_add_us(t, s * 1000000);
}

/* a - b in microseconds; both must be real points. */
static inline int64_t cw_time_diff_us(struct cw_time a, struct cw_time b)
{
	return a.us - b.us;
}

static inline bool cw_time_reached(struct cw_time deadline, struct cw_time now)
{
	return !cw_time_is_never(deadline) && now.us >= deadline.us;
}

static inline struct cw_time cw_time_min(struct cw_time a, struct cw_time b)
{
	return a.us <= b.us ? a : b;
}

#endif
