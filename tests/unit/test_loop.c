/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop: watches that come and go inside callbacks, deadlines, signals, the clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io/loop.h"

struct fixture {
	struct cw_loop *loop;
	int a[2], b[2]; /* socket pairs; the loop watches [0] */
	int called_a, called_b, turns;
	unsigned seen;
	int signals[8];
	size_t n_signals;
	struct cw_time deadline, first, last;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(cw_loop_new(&f->loop), CW_OK);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, f->b), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		if (f->a[i] >= 0)
			close(f->a[i]);
		if (f->b[i] >= 0)
			close(f->b[i]);
	}
	cw_loop_free(f->loop);
	free(f);
	return 0;
}

static void say(int fd)
{
	assert_int_equal(write(fd, "x", 1), 1);
}

static void hear(int fd)
{
	char c;

	assert_int_equal(read(fd, &c, 1), 1);
}

/* Ends the loop at the second turn after the callbacks, so that a missing event fails the test
 * and does not hang it. */
static struct cw_time two_turns(void *arg, struct cw_time now)
{
	struct fixture *f = arg;

	f->turns++;
	f->last = now;
	if (f->turns == 1)
		f->first = now;
	if (f->turns >= 3)
		cw_loop_stop(f->loop);
	return f->turns == 1 ? cw_time_add_s(now, 5) : now;
}

static void on_read(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;

	f->seen |= events;
	hear(fd);
	if (fd == f->a[0])
		f->called_a++;
	else
		f->called_b++;
}

static void test_watch(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, on_read, f), CW_OK);
	assert_int_equal(cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, on_read, f), CW_E_EXISTS);
	assert_int_equal(cw_loop_watch(f->loop, -1, CW_LOOP_READ, on_read, f), CW_E_INVALID);
	assert_int_equal(cw_loop_rewatch(f->loop, f->b[0], CW_LOOP_READ), CW_E_NOT_FOUND);
	cw_loop_unwatch(f->loop, f->b[0]);
	cw_loop_unwatch(f->loop, 100000);
	say(f->a[1]);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a, 1);
	assert_int_equal(f->seen, CW_LOOP_READ);
}

static void on_write(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;

	f->seen |= events;
	f->called_a++;
	assert_int_equal(cw_loop_rewatch(f->loop, fd, 0), CW_OK);
}

static void test_write_and_rewatch(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(
		cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ | CW_LOOP_WRITE, on_write, f), CW_OK);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a, 1); /* quiet once nothing is asked for */
	assert_int_equal(f->seen, CW_LOOP_WRITE);
}

static void on_hangup(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;

	f->seen |= events;
	cw_loop_unwatch(f->loop, fd);
}

static void test_hangup(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(cw_loop_watch(f->loop, f->a[0], 0, on_hangup, f), CW_OK);
	close(f->a[1]);
	f->a[1] = -1;
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->seen, CW_LOOP_HANGUP);
}

/* Whichever of the two comes first takes the other away: it must not be called any more. */
static void on_read_kill_other(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;

	on_read(arg, fd, events);
	cw_loop_unwatch(f->loop, fd == f->a[0] ? f->b[0] : f->a[0]);
}

static void test_unwatch_other(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(
		cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, on_read_kill_other, f), CW_OK);
	assert_int_equal(
		cw_loop_watch(f->loop, f->b[0], CW_LOOP_READ, on_read_kill_other, f), CW_OK);
	say(f->a[1]);
	say(f->b[1]);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a + f->called_b, 1);
}

static void must_not_be_called(void *arg, int fd, unsigned events)
{
	(void)arg;
	(void)fd;
	(void)events;
	fail_msg("an event of a closed descriptor reached its successor");
}

/* Closes the other end's descriptor and gives its number to a silent pipe, watched at once: the
 * event that is still in the turn's list must not reach the new watch. */
static void on_read_replace_other(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;
	int other = fd == f->a[0] ? f->b[0] : f->a[0];
	int pipe_fds[2];

	on_read(arg, fd, events);
	cw_loop_unwatch(f->loop, fd);
	cw_loop_unwatch(f->loop, other);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(dup2(pipe_fds[0], other), other);
	close(pipe_fds[0]);
	assert_int_equal(cw_loop_watch(f->loop, other, CW_LOOP_READ, must_not_be_called, f), CW_OK);
	/* The write end stays open, else the new watch would see a hangup of its own. */
	if (fd == f->a[0]) {
		close(f->b[1]);
		f->b[1] = pipe_fds[1];
	} else {
		close(f->a[1]);
		f->a[1] = pipe_fds[1];
	}
}

static void test_number_used_again(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(
		cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, on_read_replace_other, f), CW_OK);
	assert_int_equal(
		cw_loop_watch(f->loop, f->b[0], CW_LOOP_READ, on_read_replace_other, f), CW_OK);
	say(f->a[1]);
	say(f->b[1]);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a + f->called_b, 1);
}

/* Watches a descriptor with a high number inside a callback: the table moves under the caller. */
static void on_read_grow(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;
	int high = fcntl(f->b[0], F_DUPFD_CLOEXEC, 900);

	on_read(arg, fd, events);
	assert_true(high >= 900);
	assert_int_equal(cw_loop_watch(f->loop, high, CW_LOOP_READ, on_read, f), CW_OK);
	cw_loop_unwatch(f->loop, fd);
	cw_loop_unwatch(f->loop, high);
	close(high);
}

static void test_grow_inside(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, two_turns, f);
	assert_int_equal(cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, on_read_grow, f), CW_OK);
	say(f->a[1]);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a, 1);
}

static struct cw_time at_deadline(void *arg, struct cw_time now)
{
	struct fixture *f = arg;

	assert_int_equal(now.us, cw_loop_now(f->loop).us);
	f->turns++;
	if (f->turns == 1) {
		f->first = now;
		f->deadline = cw_time_add_us(now, 20900);
	}
	if (cw_time_reached(f->deadline, now)) {
		f->last = now;
		cw_loop_stop(f->loop);
	}
	return f->deadline;
}

static void test_deadline(void **state)
{
	struct fixture *f = *state;

	cw_loop_on_turn(f->loop, at_deadline, f);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_true(cw_time_diff_us(f->last, f->first) >= 20900);
	assert_int_equal(f->turns, 2); /* woken once, not turned idly */
}

static int64_t wall_offset_us;

/* The two clocks are read one after the other; the date of a moment must not wander with the gap. */
static struct cw_time same_date(void *arg, struct cw_time now)
{
	struct fixture *f = arg;

	assert_int_equal(cw_loop_wall_us(f->loop) - now.us, wall_offset_us);
	if (++f->turns == 20)
		cw_loop_stop(f->loop);
	return cw_time_add_ms(now, 1);
}

static void test_clock(void **state)
{
	struct fixture *f = *state;
	struct cw_time before = cw_loop_now(f->loop);

	assert_true(before.us > 0);
	assert_true(cw_loop_wall_s(f->loop) > 1600000000);
	assert_int_equal(cw_loop_now(f->loop).us, before.us); /* not read anew outside a turn */
	assert_true(llabs(cw_loop_wall_us(f->loop) / 1000000 - cw_loop_wall_s(f->loop)) <= 1);
	f->last = before;
	cw_loop_on_turn(f->loop, same_date, f);
	wall_offset_us = cw_loop_wall_us(f->loop) - before.us;
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
}

static void on_signal(void *arg, int signo)
{
	struct fixture *f = arg;

	assert_true(f->n_signals < 8);
	f->signals[f->n_signals++] = signo;
	if (f->n_signals == 2)
		cw_loop_stop(f->loop);
}

static void test_signals(void **state)
{
	struct fixture *f = *state;
	const int wanted[] = { SIGUSR1, SIGUSR2, 0 };

	assert_int_equal(cw_loop_signals(f->loop, wanted, on_signal, f), CW_OK);
	assert_int_equal(cw_loop_signals(f->loop, wanted, on_signal, f), CW_E_EXISTS);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(kill(getpid(), SIGUSR2), 0);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->n_signals, 2);
	assert_int_equal(f->signals[0] + f->signals[1], SIGUSR1 + SIGUSR2);
}

static void stop_at_once(void *arg, int fd, unsigned events)
{
	struct fixture *f = arg;

	on_read(arg, fd, events);
	cw_loop_stop(f->loop);
}

static void test_stop(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(cw_loop_watch(f->loop, f->a[0], CW_LOOP_READ, stop_at_once, f), CW_OK);
	assert_int_equal(cw_loop_watch(f->loop, f->b[0], CW_LOOP_READ, stop_at_once, f), CW_OK);
	say(f->a[1]);
	say(f->b[1]);
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a + f->called_b, 1);
	/* What was left over is still there for the next run. */
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
	assert_int_equal(f->called_a + f->called_b, 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_watch),
		T(test_write_and_rewatch),
		T(test_hangup),
		T(test_unwatch_other),
		T(test_number_used_again),
		T(test_grow_inside),
		T(test_deadline),
		T(test_clock),
		T(test_signals),
		T(test_stop),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
