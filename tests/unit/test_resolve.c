/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolve: answers come through the loop, hanging names hold a bounded number of threads, a stop
 * does not wait for them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/loop.h"
#include "io/resolve.h"

#define ANSWERS 32

struct fixture {
	struct cw_loop *loop;
	struct cw_resolver *resolver;
	struct cw_resolve_answer answers[ANSWERS];
	size_t n_answers, wanted;
	bool ask_again;
	struct cw_time give_up;
};

/* The stand-in for the system's resolver: "hang…" waits until let_go(). */
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static unsigned inside, inside_most, left_behind;

static void fake_lookup(const char *name, struct cw_resolve_answer *ret_answer)
{
	pthread_mutex_lock(&gate_lock);
	inside++;
	if (inside > inside_most)
		inside_most = inside;
	pthread_cond_broadcast(&gate_moved);
	while (strncmp(name, "hang", 4) == 0 && !gate_open)
		pthread_cond_wait(&gate_moved, &gate_lock);
	inside--;
	left_behind++;
	pthread_cond_broadcast(&gate_moved);
	pthread_mutex_unlock(&gate_lock);
	if (strcmp(name, "none.example") == 0) {
		ret_answer->rc = CW_E_NOT_FOUND;
		snprintf(ret_answer->text, sizeof(ret_answer->text), "%s: no such name", name);
		return;
	}
	ret_answer->rc = cw_addr_parse("192.0.2.7", &ret_answer->addrs[0]);
	ret_answer->n_addrs = 1;
}

static void wait_inside(unsigned n)
{
	pthread_mutex_lock(&gate_lock);
	while (inside != n)
		pthread_cond_wait(&gate_moved, &gate_lock);
	pthread_mutex_unlock(&gate_lock);
}

static void let_go(void)
{
	pthread_mutex_lock(&gate_lock);
	gate_open = true;
	pthread_cond_broadcast(&gate_moved);
	pthread_mutex_unlock(&gate_lock);
}

static void on_answer(void *arg, const struct cw_resolve_answer *answer)
{
	struct fixture *f = arg;

	assert_true(f->n_answers < ANSWERS);
	f->answers[f->n_answers++] = *answer;
	if (f->ask_again && f->n_answers < 3)
		assert_int_equal(
			cw_resolve_start(f->resolver, 100 + f->n_answers, "192.0.2.9"), CW_OK);
	if (f->n_answers == f->wanted)
		cw_loop_stop(f->loop);
}

static struct cw_time watchdog(void *arg, struct cw_time now)
{
	struct fixture *f = arg;

	if (cw_time_is_never(f->give_up))
		f->give_up = cw_time_add_s(now, 20);
	if (cw_time_reached(f->give_up, now))
		fail_msg("%zu answers of %zu after 20 s", f->n_answers, f->wanted);
	return f->give_up;
}

static void run_until(struct fixture *f, size_t answers)
{
	f->wanted = answers;
	f->give_up = CW_TIME_NEVER;
	if (f->n_answers < answers)
		assert_int_equal(cw_loop_run(f->loop), CW_OK);
}

static int setup_with(void **state, cw_resolve_lookup_fn *lookup)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	pthread_mutex_lock(&gate_lock);
	gate_open = false;
	inside_most = 0;
	left_behind = 0;
	pthread_mutex_unlock(&gate_lock);
	assert_int_equal(cw_loop_new(&f->loop), CW_OK);
	cw_loop_on_turn(f->loop, watchdog, f);
	assert_int_equal(cw_resolver_new(f->loop, lookup, on_answer, f, &f->resolver), CW_OK);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, fake_lookup);
}

static int setup_system(void **state)
{
	return setup_with(state, cw_resolve_system);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cw_resolver_free(f->resolver);
	cw_loop_free(f->loop);
	free(f);
	return 0;
}

static const struct cw_resolve_answer *answer_of(const struct fixture *f, uint64_t token)
{
	size_t i = 0;

	while (i < f->n_answers && f->answers[i].token != token)
		i++;
	assert_true(i < f->n_answers);
	return &f->answers[i];
}

static void test_answers(void **state)
{
	struct fixture *f = *state;
	const struct cw_resolve_answer *a;
	char text[CW_ADDR_TEXT_MAX];

	assert_int_equal(cw_resolve_start(f->resolver, 1, "gw.example"), CW_OK);
	assert_int_equal(cw_resolve_start(f->resolver, 2, "none.example"), CW_OK);
	assert_int_equal(cw_resolve_start(f->resolver, 3, "2001:db8::3"), CW_OK);
	assert_int_equal(f->n_answers, 0); /* never from inside the call */
	run_until(f, 3);
	a = answer_of(f, 1);
	assert_int_equal(a->rc, CW_OK);
	assert_int_equal(a->n_addrs, 1);
	assert_string_equal(cw_addr_print(&a->addrs[0], text, sizeof(text)), "192.0.2.7");
	a = answer_of(f, 2);
	assert_int_equal(a->rc, CW_E_NOT_FOUND);
	assert_int_equal(a->n_addrs, 0);
	assert_string_equal(a->text, "none.example: no such name");
	a = answer_of(f, 3);
	assert_int_equal(a->rc, CW_OK);
	assert_string_equal(cw_addr_print(&a->addrs[0], text, sizeof(text)), "2001:db8::3");
}

static void test_ask_from_callback(void **state)
{
	struct fixture *f = *state;

	f->ask_again = true;
	assert_int_equal(cw_resolve_start(f->resolver, 1, "gw.example"), CW_OK);
	run_until(f, 3);
	assert_int_equal(f->answers[2].token, 102);
}

static void test_bad_names(void **state)
{
	struct fixture *f = *state;
	char longest[CW_RESOLVE_NAME_MAX + 2];

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(cw_resolve_start(f->resolver, 1, ""), CW_E_INVALID);
	assert_int_equal(cw_resolve_start(f->resolver, 1, longest), CW_E_INVALID);
	longest[CW_RESOLVE_NAME_MAX] = '\0';
	assert_int_equal(cw_resolve_start(f->resolver, 1, longest), CW_OK);
	run_until(f, 1);
}

/* Ten names hang: four threads wait, an address still gets through, and all are answered at last.
 */
static void test_hanging_names(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "hang%u", i);
		assert_int_equal(cw_resolve_start(f->resolver, i, name), CW_OK);
	}
	wait_inside(CW_RESOLVE_THREADS);
	assert_int_equal(cw_resolve_start(f->resolver, 50, "192.0.2.1"), CW_OK);
	run_until(f, 1);
	assert_int_equal(f->answers[0].token, 50);
	let_go();
	run_until(f, 11);
	assert_int_equal(inside_most, CW_RESOLVE_THREADS);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(answer_of(f, i)->rc, CW_OK);
}

static void test_too_many(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < CW_RESOLVE_PENDING; i++)
		assert_int_equal(cw_resolve_start(f->resolver, i, "hang"), CW_OK);
	assert_int_equal(cw_resolve_start(f->resolver, 1, "hang"), CW_E_BUSY);
	assert_int_equal(cw_resolve_start(f->resolver, 1, "192.0.2.1"), CW_E_BUSY);
	cw_resolver_free(f->resolver);
	f->resolver = NULL;
	let_go();
	wait_inside(0);
}

/* The stop comes back while lookups hang (were it to wait, this test would never end), and the
 * late answers reach nobody. */
static void test_stop_while_hanging(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(cw_resolve_start(f->resolver, 1, "hang1"), CW_OK);
	assert_int_equal(cw_resolve_start(f->resolver, 2, "hang2"), CW_OK);
	wait_inside(2);
	assert_int_equal(cw_resolve_start(f->resolver, 3, "192.0.2.1"), CW_OK);
	cw_resolver_free(f->resolver);
	f->resolver = NULL;
	let_go();
	pthread_mutex_lock(&gate_lock);
	while (left_behind < 2)
		pthread_cond_wait(&gate_moved, &gate_lock);
	pthread_mutex_unlock(&gate_lock);
	assert_int_equal(f->n_answers, 0);
}

static void test_stop_unused(void **state)
{
	struct fixture *f = *state;

	cw_resolver_free(f->resolver);
	f->resolver = NULL;
	cw_resolver_free(NULL);
}

/* The real one, with names that need no network (RFC 6761 6.3, 6.4). */
static void test_system(void **state)
{
	struct fixture *f = *state;
	const struct cw_resolve_answer *a;

	assert_int_equal(cw_resolve_start(f->resolver, 1, "localhost"), CW_OK);
	assert_int_equal(cw_resolve_start(f->resolver, 2, "no such name"), CW_OK);
	run_until(f, 2);
	a = answer_of(f, 1);
	assert_int_equal(a->rc, CW_OK);
	assert_true(a->n_addrs >= 1 && cw_addr_is_loopback(&a->addrs[0]));
	assert_string_equal(a->text, "");
	a = answer_of(f, 2);
	assert_int_not_equal(a->rc, CW_OK);
	assert_int_equal(a->n_addrs, 0);
	assert_memory_equal(a->text, "no such name: ", 14);
	assert_true(strlen(a->text) > 14);
}

/* "0" and the like are numbers to getaddrinfo(); none of them may become a peer. */
static void test_system_never_any(void **state)
{
	static const char *const names[] = { "0", "0.0", "00.0.0.0", "fe80::1%1", "239.1" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cw_resolve_answer a = { 0 };

		cw_resolve_system(names[i], &a);
		assert_int_not_equal(a.rc, CW_OK);
		assert_int_equal(a.n_addrs, 0);
		assert_non_null(strstr(a.text, names[i]));
	}
	assert_int_equal(f->n_answers, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_answers),
		T(test_ask_from_callback),
		T(test_bad_names),
		T(test_hanging_names),
		T(test_too_many),
		T(test_stop_while_hanging),
		T(test_stop_unused),
		cmocka_unit_test_setup_teardown(test_system, setup_system, teardown),
		cmocka_unit_test_setup_teardown(test_system_never_any, setup_system, teardown),
	};

	alarm(60); /* a lookup that is never let go ends the test, not the day */
	return cmocka_run_group_tests_name("resolve", tests, NULL, NULL);
}
