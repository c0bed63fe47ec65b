/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop: epoll, one deadline, signals, and the only place that reads a clock.
 *
 * One thread. The clock is read once a turn (after the wait) and handed down; cw_loop_now() returns
 * that reading. Watches are called with their descriptor's events; a callback may add and remove
 * watches, its own too. After each turn's callbacks, `turn` is called once and says when it wants
 * to be called again at the latest: all timers of the daemon are deadlines inside its objects.
 */
#ifndef CW_IO_LOOP_H
#define CW_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rc.h"
#include "base/time.h"

#define CW_LOOP_READ 1u
#define CW_LOOP_WRITE 2u
#define CW_LOOP_HANGUP 4u /* reported always, asked for never */

struct cw_loop;

typedef void cw_loop_fn(void *arg, int fd, unsigned events);
/* Returns the next deadline, or CW_TIME_NEVER. */
typedef struct cw_time cw_loop_turn_fn(void *arg, struct cw_time now);
typedef void cw_loop_signal_fn(void *arg, int signo);

enum cw_rc cw_loop_new(struct cw_loop **ret_loop);
void cw_loop_free(struct cw_loop *loop);

/* Level-triggered. CW_E_EXISTS: the descriptor is watched already. The descriptor stays the
 * caller's. */
enum cw_rc cw_loop_watch(struct cw_loop *loop, int fd, unsigned events, cw_loop_fn *fn, void *arg);
enum cw_rc cw_loop_rewatch(struct cw_loop *loop, int fd, unsigned events);
void cw_loop_unwatch(struct cw_loop *loop, int fd);

/* Blocks the signals for the calling thread (and those made later) and reports them through the
 * loop. Call before any thread is made. signals: 0-terminated. */
enum cw_rc cw_loop_signals(
	struct cw_loop *loop, const int *signals, cw_loop_signal_fn *fn, void *arg);

void cw_loop_on_turn(struct cw_loop *loop, cw_loop_turn_fn *fn, void *arg);

/* Runs until cw_loop_stop(). */
enum cw_rc cw_loop_run(struct cw_loop *loop);
void cw_loop_stop(struct cw_loop *loop);

/* The turn's reading of the monotonic clock; before the first turn, the one taken by cw_loop_new().
 */
struct cw_time cw_loop_now(const struct cw_loop *loop);
/* Seconds since 1970, for people. Read once a turn too. */
int64_t cw_loop_wall_s(const struct cw_loop *loop);
/* Microseconds since 1970, within half a second. Goes on exactly as cw_loop_now() does until the clock is
 * set, so that a moment in the past has the same date whenever it is asked for. */
int64_t cw_loop_wall_us(const struct cw_loop *loop);

#endif
