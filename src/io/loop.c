/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/loop.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_A_TURN 64
#define TABLE_STEP 64

/* Less is the time between the two readings, not somebody who sets the clock. */
#define WALL_STEP_US 500000

/* One for each descriptor number; fn is NULL where nothing is watched. */
struct watch {
	cw_loop_fn *fn;
	void *arg;
	/* Of this watching. A turn's events carry it, so that an event for a descriptor which a
	 * callback has just closed can't reach the watch of its successor with the same number. */
	uint32_t generation;
};

struct cw_loop {
	int epoll_fd;
	struct watch *watches; /* by descriptor; moves when it grows */
	size_t n_watches;
	uint32_t generation;

	struct cw_time now;
	int64_t wall_s;
	int64_t wall_offset_us; /* from the monotonic clock; new only when somebody set the clock */
	bool stopped;

	cw_loop_turn_fn *turn_fn;
	void *turn_arg;

	int signal_fd;
	cw_loop_signal_fn *signal_fn;
	void *signal_arg;
};

static void read_clocks(struct cw_loop *loop)
{
	struct timespec ts;
	int64_t offset_us;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	loop->now.us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
	clock_gettime(CLOCK_REALTIME, &ts);
	loop->wall_s = ts.tv_sec;
	offset_us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 - loop->now.us;
	if (llabs(offset_us - loop->wall_offset_us) > WALL_STEP_US)
		loop->wall_offset_us = offset_us;
}

enum cw_rc cw_loop_new(struct cw_loop **ret_loop)
{
	struct cw_loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return CW_E_NO_MEMORY;
	loop->signal_fd = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		enum cw_rc rc = cw_rc_from_errno(errno);

		free(loop);
		return rc;
	}
	read_clocks(loop);
	*ret_loop = loop;
	return CW_OK;
}

void cw_loop_free(struct cw_loop *loop)
{
	if (!loop)
		return;
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	close(loop->epoll_fd);
	free(loop->watches);
	free(loop);
}

static struct watch *find(const struct cw_loop *loop, int fd)
{
	if (fd < 0 || (size_t)fd >= loop->n_watches || !loop->watches[fd].fn)
		return NULL;
	return &loop->watches[fd];
}

static bool make_room(struct cw_loop *loop, int fd)
{
	size_t n = ((size_t)fd / TABLE_STEP + 1) * TABLE_STEP;
	struct watch *grown;

	if ((size_t)fd < loop->n_watches)
		return true;
	grown = reallocarray(loop->watches, n, sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = loop->n_watches; i < n; i++)
		grown[i] = (struct watch){ 0 };
	loop->watches = grown;
	loop->n_watches = n;
	return true;
}

static enum cw_rc control(
	struct cw_loop *loop, int op, int fd, unsigned events, uint32_t generation)
{
	struct epoll_event ev = {
		.events = (events & CW_LOOP_READ ? EPOLLIN : 0u) |
			  (events & CW_LOOP_WRITE ? EPOLLOUT : 0u),
		.data.u64 = (uint64_t)generation << 32 | (uint32_t)fd,
	};

	return epoll_ctl(loop->epoll_fd, op, fd, &ev) == 0 ? CW_OK : cw_rc_from_errno(errno);
}

enum cw_rc cw_loop_watch(struct cw_loop *loop, int fd, unsigned events, cw_loop_fn *fn, void *arg)
{
	uint32_t generation = loop->generation + 1;
	enum cw_rc rc;

	if (fd < 0 || !fn)
		return CW_E_INVALID;
	if (find(loop, fd))
		return CW_E_EXISTS;
	if (!make_room(loop, fd))
		return CW_E_NO_MEMORY;
	rc = control(loop, EPOLL_CTL_ADD, fd, events, generation);
	if (rc != CW_OK)
		return rc;
	loop->generation = generation;
	loop->watches[fd] = (struct watch){ .fn = fn, .arg = arg, .generation = generation };
	return CW_OK;
}

enum cw_rc cw_loop_rewatch(struct cw_loop *loop, int fd, unsigned events)
{
	struct watch *watch = find(loop, fd);

	if (!watch)
		return CW_E_NOT_FOUND;
	return control(loop, EPOLL_CTL_MOD, fd, events, watch->generation);
}

void cw_loop_unwatch(struct cw_loop *loop, int fd)
{
	struct watch *watch = find(loop, fd);

	if (!watch)
		return;
	*watch = (struct watch){ 0 };
	/* Fails only where the caller has closed the descriptor already, and then epoll has
	 * forgotten it by itself. */
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void on_signal_fd(void *arg, int fd, unsigned events)
{
	struct cw_loop *loop = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (!loop->stopped && read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		loop->signal_fn(loop->signal_arg, (int)info.ssi_signo);
}

enum cw_rc cw_loop_signals(
	struct cw_loop *loop, const int *signals, cw_loop_signal_fn *fn, void *arg)
{
	sigset_t set;
	enum cw_rc rc;
	int fd, err;

	if (loop->signal_fd >= 0)
		return CW_E_EXISTS;
	sigemptyset(&set);
	for (size_t i = 0; signals[i]; i++) {
		if (sigaddset(&set, signals[i]) != 0)
			return CW_E_INVALID;
	}
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return cw_rc_from_errno(errno);
	rc = cw_loop_watch(loop, fd, CW_LOOP_READ, on_signal_fd, loop);
	if (rc != CW_OK) {
		close(fd);
		return rc;
	}
	err = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (err) {
		cw_loop_unwatch(loop, fd);
		close(fd);
		return cw_rc_from_errno(err);
	}
	loop->signal_fd = fd;
	loop->signal_fn = fn;
	loop->signal_arg = arg;
	return CW_OK;
}

void cw_loop_on_turn(struct cw_loop *loop, cw_loop_turn_fn *fn, void *arg)
{
	loop->turn_fn = fn;
	loop->turn_arg = arg;
}

/* Rounded up: waking a little early would only turn the loop idly until the deadline is there. */
static int wait_ms(struct cw_time deadline, struct cw_time now)
{
	int64_t us, ms;

	if (cw_time_is_never(deadline))
		return -1;
	us = cw_time_diff_us(deadline, now);
	if (us <= 0)
		return 0;
	ms = us / 1000 + (us % 1000 != 0);
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void dispatch(struct cw_loop *loop, const struct epoll_event *ev)
{
	int fd = (int)(uint32_t)ev->data.u64;
	struct watch *watch = find(loop, fd);
	unsigned events = (ev->events & EPOLLIN ? CW_LOOP_READ : 0u) |
			  (ev->events & EPOLLOUT ? CW_LOOP_WRITE : 0u) |
			  (ev->events & (EPOLLHUP | EPOLLERR) ? CW_LOOP_HANGUP : 0u);

	if (!watch || watch->generation != (uint32_t)(ev->data.u64 >> 32))
		return;
	watch->fn(watch->arg, fd, events);
}

enum cw_rc cw_loop_run(struct cw_loop *loop)
{
	struct epoll_event events[EVENTS_A_TURN];
	int n = 0;

	loop->stopped = false;
	read_clocks(loop);
	for (;;) {
		struct cw_time deadline = CW_TIME_NEVER;

		for (int i = 0; i < n && !loop->stopped; i++)
			dispatch(loop, &events[i]);
		if (!loop->stopped && loop->turn_fn)
			deadline = loop->turn_fn(loop->turn_arg, loop->now);
		if (loop->stopped)
			return CW_OK;
		n = epoll_wait(loop->epoll_fd, events, EVENTS_A_TURN, wait_ms(deadline, loop->now));
		if (n < 0) {
			if (errno != EINTR)
				return cw_rc_from_errno(errno);
			n = 0;
		}
		read_clocks(loop);
		/* Stopped, or put aside for long: what came meanwhile came before the deadlines that passed meanwhile. */
		if (n == 0)
			n = epoll_wait(loop->epoll_fd, events, EVENTS_A_TURN, 0);
	}
}

void cw_loop_stop(struct cw_loop *loop)
{
	loop->stopped = true;
}

struct cw_time cw_loop_now(const struct cw_loop *loop)
{
	return loop->now;
}

int64_t cw_loop_wall_us(const struct cw_loop *loop)
{
	return loop->now.us + loop->wall_offset_us;
}

int64_t cw_loop_wall_s(const struct cw_loop *loop)
{
	return loop->wall_s;
}
