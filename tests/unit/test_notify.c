/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify: the datagram arrives at a path and at an abstract name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/notify.h"

/* A datagram socket bound to name, where '@' stands for the zero of an abstract one. */
static int manager(const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && len < sizeof(sa.sun_path));
	memcpy(sa.sun_path, name, len);
	if (name[0] == '@')
		sa.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&sa,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		0);
	return fd;
}

static void expect(int fd, const char *text)
{
	char buf[128];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, text);
}

static void test_path(void **state)
{
	char dir[] = "/tmp/cw-notify-XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	fd = manager(path);
	setenv("NOTIFY_SOCKET", path, 1);
	assert_int_equal(cw_notify("READY=1\nSTATUS=2 of 2 tunnels up"), CW_OK);
	expect(fd, "READY=1\nSTATUS=2 of 2 tunnels up");
	close(fd);
	assert_int_not_equal(cw_notify("STOPPING=1"), CW_OK); /* nobody there, nothing hangs */
	unlink(path);
	assert_int_equal(cw_notify("STOPPING=1"), CW_E_NOT_FOUND);
	rmdir(dir);
}

static void test_abstract(void **state)
{
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "@cw-notify-%ld", (long)getpid());
	fd = manager(name);
	setenv("NOTIFY_SOCKET", name, 1);
	assert_int_equal(cw_notify("STOPPING=1"), CW_OK);
	expect(fd, "STOPPING=1");
	close(fd);
}

static void test_no_manager(void **state)
{
	char longest[256] = "/";

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(cw_notify("READY=1"), CW_E_NOT_FOUND);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(cw_notify("READY=1"), CW_E_NOT_FOUND);
	setenv("NOTIFY_SOCKET", "relative/path", 1);
	assert_int_equal(cw_notify("READY=1"), CW_E_INVALID);
	setenv("NOTIFY_SOCKET", "@", 1);
	assert_int_equal(cw_notify("READY=1"), CW_E_INVALID);
	memset(longest + 1, 'x', sizeof(longest) - 2);
	setenv("NOTIFY_SOCKET", longest, 1);
	assert_int_equal(cw_notify("READY=1"), CW_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_no_manager),
	};

	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
