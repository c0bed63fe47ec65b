/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mailbox: order, refusal when full, the descriptor, and many writers at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "io/mailbox.h"

#define WRITERS 6
#define LETTERS 20000

struct letter {
	uint32_t writer, number;
	uint32_t check[5]; /* all equal to number: a torn copy shows */
};

static bool readable(const struct cw_mailbox *box)
{
	struct pollfd p = { .fd = cw_mailbox_fd(box), .events = POLLIN };

	assert_in_range(poll(&p, 1, 0), 0, 1);
	return p.revents & POLLIN;
}

static void test_order_and_wrap(void **state)
{
	struct cw_mailbox *box = cw_mailbox_new(sizeof(uint32_t), 3);
	uint32_t in = 0, out = 0, got;

	(void)state;
	assert_non_null(box);
	assert_false(readable(box));
	assert_false(cw_mailbox_take(box, &got));
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 2; i++) {
			assert_true(cw_mailbox_post(box, &in));
			in++;
			assert_true(readable(box));
		}
		assert_true(cw_mailbox_take(box, &got));
		assert_int_equal(got, out++);
		assert_true(readable(box));
		assert_true(cw_mailbox_take(box, &got));
		assert_int_equal(got, out++);
		assert_false(readable(box));
	}
	cw_mailbox_free(box);
}

static void test_full(void **state)
{
	struct cw_mailbox *box = cw_mailbox_new(sizeof(uint32_t), 4);
	uint32_t got;

	(void)state;
	assert_non_null(box);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(cw_mailbox_post(box, &i), i < 4);
	assert_int_equal(cw_mailbox_lost(box), 3);
	assert_int_equal(cw_mailbox_lost(box), 0);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(cw_mailbox_take(box, &got));
		assert_int_equal(got, i);
	}
	assert_false(cw_mailbox_take(box, &got));
	assert_false(readable(box));
	got = 99;
	assert_true(cw_mailbox_post(box, &got));
	assert_true(readable(box));
	cw_mailbox_free(box);
}

static void test_refused_sizes(void **state)
{
	(void)state;
	assert_null(cw_mailbox_new(0, 4));
	assert_null(cw_mailbox_new(4, 0));
	assert_null(cw_mailbox_new(SIZE_MAX / 2, 4));
	cw_mailbox_free(NULL);
}

struct writer {
	pthread_t thread;
	struct cw_mailbox *box;
	uint32_t id;
	uint32_t refused;
	atomic_uint *running;
};

static void *write_letters(void *arg)
{
	struct writer *w = arg;

	for (uint32_t i = 0; i < LETTERS; i++) {
		struct letter letter = { w->id, i, { i, i, i, i, i } };

		if (!cw_mailbox_post(w->box, &letter))
			w->refused++;
	}
	atomic_fetch_sub(w->running, 1);
	return NULL;
}

/* Every letter is either taken whole, once and in its writer's order, or counted as lost. */
static void test_many_writers(void **state)
{
	static struct writer writers[WRITERS];
	struct cw_mailbox *box = cw_mailbox_new(sizeof(struct letter), 64);
	atomic_uint running = WRITERS;
	uint32_t next[WRITERS] = { 0 };
	uint64_t taken = 0, lost = 0, refused = 0;
	struct letter letter;

	(void)state;
	assert_non_null(box);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ .box = box, .id = i, .running = &running };
		assert_int_equal(
			pthread_create(&writers[i].thread, NULL, write_letters, &writers[i]), 0);
	}
	for (;;) {
		bool last = atomic_load(&running) == 0;
		struct pollfd p = { .fd = cw_mailbox_fd(box), .events = POLLIN };

		/* The timeout only ends the wait for writers that have nothing more to say. */
		if (!last)
			assert_int_not_equal(poll(&p, 1, 10), -1);
		while (cw_mailbox_take(box, &letter)) {
			assert_in_range(letter.writer, 0, WRITERS - 1);
			assert_true(letter.number >= next[letter.writer]);
			next[letter.writer] = letter.number + 1;
			for (size_t i = 0; i < 5; i++)
				assert_int_equal(letter.check[i], letter.number);
			taken++;
		}
		lost += cw_mailbox_lost(box);
		if (last)
			break;
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
		refused += writers[i].refused;
	}
	assert_false(readable(box));
	assert_int_equal(lost, refused);
	assert_int_equal(taken + lost, (uint64_t)WRITERS * LETTERS);
	cw_mailbox_free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_wrap),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_refused_sizes),
		cmocka_unit_test(test_many_writers),
	};

	return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
