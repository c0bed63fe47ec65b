/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

bool check(bool cond, const char *what, const char *file, int line)
{
	if (!cond) {
		printf("%s:%d: not true: %s\n", file, line, what);
		failures++;
	}
	return cond;
}

bool check_rc(enum cw_rc rc, enum cw_rc want, const struct cw_kernel_err *err, const char *what,
	const char *file, int line)
{
	if (rc == want)
		return true;
	printf("%s:%d: \"%s\" (errno %d: %s; \"%s\"), should be \"%s\": %s\n", file, line,
		cw_rc_name(rc), err->err, strerror(err->err), err->text, cw_rc_name(want), what);
	failures++;
	return false;
}

int run_sh(const char *command)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int sh(const char *fmt, ...)
{
	char command[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return run_sh(command);
}

long sh_number(const char *fmt, ...)
{
	char command[1024], line[64] = "";
	va_list args;
	long ret = -1;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	f = popen(command, "r");
	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f))
		ret = strtol(line, NULL, 0);
	pclose(f);
	return ret;
}

struct cw_addr addr(const char *text)
{
	struct cw_addr ret = { 0 };

	CHECK(cw_addr_parse(text, &ret) == CW_OK);
	return ret;
}

struct cw_prefix prefix(const char *text)
{
	struct cw_prefix ret = { 0 };

	CHECK(cw_prefix_parse(text, &ret) == CW_OK);
	return ret;
}

int check_end(void)
{
	printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
	return failures != 0;
}
