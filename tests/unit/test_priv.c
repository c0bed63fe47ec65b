/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priv: in a child process each, since what is dropped does not come back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cap-ng.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/priv.h"

/* Runs fn in a child; its return value is the place where it went wrong, 0 for none. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool can_drop(void)
{
	char err[256];

	return cw_priv_check(err, sizeof(err)) == CW_OK;
}

static int child_no_dumps(void)
{
	struct rlimit core;

	if (cw_priv_no_dumps() != CW_OK)
		return 1;
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 2;
	if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_cur != 0 || core.rlim_max != 0)
		return 3;
	return 0;
}

static int child_drop(void)
{
	char text[512];

	if (cw_priv_no_dumps() != CW_OK || cw_priv_drop(text, sizeof(text)) != CW_OK)
		return 1;
	if (capng_get_caps_process() != 0)
		return 2;
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++) {
		int want = cap == CAP_NET_ADMIN || cap == CAP_NET_BIND_SERVICE;

		if (capng_have_capability(CAPNG_EFFECTIVE, cap) != want)
			return 3;
		if (capng_have_capability(CAPNG_PERMITTED, cap) != want)
			return 4;
		if (capng_have_capability(CAPNG_INHERITABLE, cap))
			return 5;
	}
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0)
		return 6;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 7;
	cw_priv_print(text, sizeof(text));
	if (strcmp(text,
		    "capabilities net_admin, net_bind_service; no new privileges; no core dumps") !=
			0 &&
		strcmp(text, "capabilities net_bind_service, net_admin; no new privileges; no core "
			     "dumps") != 0) {
		fprintf(stderr, "got: %s\n", text);
		return 8;
	}
	/* Once more is no harm, and the check still finds what it needs. */
	if (cw_priv_drop(text, sizeof(text)) != CW_OK)
		return 9;
	return 0;
}

static int child_missing(void)
{
	char err[256] = "";

	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return 1;
	if (cw_priv_drop(err, sizeof(err)) != CW_E_DENIED)
		return 2;
	if (!strstr(err, "CAP_NET_ADMIN"))
		return 3;
	if (!strstr(cw_priv_print(err, sizeof(err)), "capabilities none"))
		return 4;
	return 0;
}

static void test_no_dumps(void **state)
{
	(void)state;
	assert_int_equal(in_child(child_no_dumps), 0);
}

static void test_drop(void **state)
{
	(void)state;
	if (!can_drop()) {
		print_message(
			"skipped: this process has not CAP_NET_ADMIN and CAP_NET_BIND_SERVICE\n");
		skip();
	}
	assert_int_equal(in_child(child_drop), 0);
}

static void test_missing(void **state)
{
	(void)state;
	assert_int_equal(in_child(child_missing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_dumps),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests_name("priv", tests, NULL, NULL);
}
