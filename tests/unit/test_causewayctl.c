/* SPDX-License-Identifier: GPL-2.0-or-later */
/* causewayctl, the program itself, against a control socket: exit codes and what it prints where.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl.h"
#include "ctl_sample.h"
#include "io/loop.h"

struct fixture {
	char dir[64], path[100], out[100], err[100];
	struct cw_loop *loop;
	struct cw_ctl_server *server;
	struct sample sample;
	pid_t pid;
	int status;
	struct cw_time give_up;
	char said[65536], complained[4096];
};

static struct cw_time turn(void *arg, struct cw_time now)
{
	struct fixture *f = arg;
	struct cw_time next = cw_ctl_server_turn(f->server, now);

	if (cw_time_is_never(f->give_up))
		f->give_up = cw_time_add_s(now, 30);
	if (waitpid(f->pid, &f->status, WNOHANG) == f->pid)
		cw_loop_stop(f->loop);
	else if (cw_time_reached(f->give_up, now))
		fail_msg("causewayctl still runs after 30 s");
	return cw_time_min(next, cw_time_add_ms(now, 2));
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct cw_ctl_port port;
	char err[256];

	assert_non_null(f);
	cw_log_set_sink(-1, 0);
	snprintf(f->dir, sizeof(f->dir), "/tmp/cw-cli-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/control", f->dir);
	snprintf(f->out, sizeof(f->out), "%s/out", f->dir);
	snprintf(f->err, sizeof(f->err), "%s/err", f->dir);
	f->sample.n_tunnels = SAMPLE_TUNNELS;
	port = sample_port(&f->sample);
	assert_int_equal(cw_loop_new(&f->loop), CW_OK);
	cw_loop_on_turn(f->loop, turn, f);
	assert_int_equal(
		cw_ctl_server_new(f->loop, f->path, &port, &f->server, err, sizeof(err)), CW_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cw_ctl_server_free(f->server);
	cw_loop_free(f->loop);
	unlink(f->out);
	unlink(f->err);
	unlink(f->path);
	assert_int_equal(rmdir(f->dir), 0);
	free(f);
	return 0;
}

static void slurp(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	size_t n;

	assert_non_null(file);
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	fclose(file);
}

#define WORDS_MAX 6

static void child(const struct fixture *f, const char *const *words)
{
	const char *top = getenv("CW_BUILDDIR");
	char program[512], *argv[WORDS_MAX + 4] = { NULL };
	int out = open(f->out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	int err = open(f->err, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	size_t n = 0;

	if (out < 0 || err < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(99);
	snprintf(program, sizeof(program), "%s/causewayctl", top ? top : ".");
	argv[n++] = program;
	argv[n++] = strdup("-s");
	argv[n++] = strdup(f->path);
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[n++] = strdup(words[i]);
	setenv("TZ", "UTC", 1);
	execv(program, argv);
	perror(program);
	_exit(98);
}

/* Runs the program while the socket is served; gives its exit code. */
static int run(struct fixture *f, const char *const *words)
{
	fflush(NULL);
	f->give_up = CW_TIME_NEVER;
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0)
		child(f, words);
	if (f->server)
		assert_int_equal(cw_loop_run(f->loop), CW_OK);
	else
		assert_int_equal(waitpid(f->pid, &f->status, 0), f->pid);
	assert_true(WIFEXITED(f->status));
	slurp(f->out, f->said, sizeof(f->said));
	slurp(f->err, f->complained, sizeof(f->complained));
	return WEXITSTATUS(f->status);
}

struct row {
	const char *words[WORDS_MAX];
	int exit;
	const char *said, *complained; /* a part of it; "" for nothing at all */
};

static void run_rows(struct fixture *f, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int code = run(f, rows[i].words);

		if (code != rows[i].exit)
			fail_msg("row %zu (%s): exit %d, not %d\n%s%s", i, rows[i].words[0], code,
				rows[i].exit, f->said, f->complained);
		if (rows[i].said[0] ? !strstr(f->said, rows[i].said) : f->said[0])
			fail_msg("row %zu: said \"%s\", not \"%s\"", i, f->said, rows[i].said);
		if (rows[i].complained[0] ? !strstr(f->complained, rows[i].complained)
					  : f->complained[0])
			fail_msg("row %zu: complained \"%s\", not \"%s\"", i, f->complained,
				rows[i].complained);
	}
}

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static void test_served(void **state)
{
	static const struct row rows[] = {
		{ { "status" }, 1, "\nazure-weu-1  up ", "" },
		{ { "status", "azure-weu-1" }, 0, "azure-weu-1: up for 3h12m", "" },
		{ { "status", "lab" }, 0, "(not wanted up)", "" },
		{ { "status", "branch" }, 1, "IKEv1 established", "" },
		{ { "status", "--json" }, 1, "{\"ok\":true,\"gateway\":{", "" },
		{ { "--json", "status", "lab" }, 0, "\"state\":\"down\"", "" },
		{ { "--color=always", "status" }, 1, "\x1b[32mup\x1b[0m", "" },
		{ { "--color=never", "status", "azure-weu-1" }, 0, ": up for", "" },
		{ { "status", "nosuch" }, 4, "", "no tunnel or site \"nosuch\"; there are: azure" },
		{ { "status", "nosuch", "--json" }, 4, "{\"ok\":false", "no tunnel or site" },
		{ { "up", "lab" }, 0, "lab: up ordered", "" },
		{ { "down", "lab" }, 0, "lab: down ordered", "" },
		{ { "restart", "lab" }, 0, "lab: restart ordered", "" },
		{ { "rekey", "lab", "child" }, 0, "lab: rekey child ordered", "" },
		{ { "version" }, 0, "\ncausewayd   0.1.0\nIKE engine  libcharon 5.9.8\n", "" },
		{ { "log", "-n", "1" }, 0, "notice  tunnel lab: uid ", "" },
	};

	run_rows(*state, rows, N(rows));
}

static void test_bgp(void **state)
{
	static const struct row none[] = { { { "bgp" }, 4, "", "no tunnel has a bgp-peer" },
		{ { "routes" }, 4, "", "no tunnel has a bgp-peer" },
		{ { "routes", "--json" }, 4, "{\"ok\":false", "no tunnel has a bgp-peer" } };
	static const struct row rows[] = {
		{ { "bgp" }, 0, "\nazure-weu-2  169.254.22.1 ", "" },
		{ { "bgp", "branch" }, 0, "branch: idle for 2m05s", "" },
		{ { "bgp", "169.254.21.1", "--color=always" }, 0, "azure-weu-1: \x1b[32mestablished", "" },
		{ { "bgp", "nosuch" }, 4, "", "no tunnel \"nosuch\" has a BGP neighbour" },
		{ { "bgp", "refresh", "branch" }, 0, "branch: bgp refresh ordered; causewayctl bgp branch", "" },
		{ { "bgp", "reset", "branch" }, 0, "branch: bgp reset ordered", "" },
		{ { "routes" }, 0, "\n* in use, = used beside it", "" },
		{ { "routes", "10.20.0.0/16", "--best" }, 0, "  PREFIX ", "" },
		{ { "routes", "--advertised", "branch" }, 0, "! not sent\n", "" },
		{ { "routes", "--json" }, 0, "{\"ok\":true,\"routes\":[{\"prefix\":\"10.10.0.0/16\"", "" },
		{ { "routes", "--json" }, 0, "}],\"after\":null}\n", "" },
		{ { "routes", "10.0.0.0/33" }, 4, "", "\"prefix\" must be a prefix" },
		{ { "routes", "--best", "--received", "lab" }, 4, "", "at a time" },
		{ { "bgp", "refresh" }, 2, "", "bgp takes a peer, or" },
		{ { "bgp", "a", "b" }, 2, "", "bgp takes a peer, or" },
		{ { "routes", "a", "b" }, 2, "", "routes takes at most one prefix" },
		{ { "status", "--best" }, 2, "", "belong to the command routes" },
		{ { "bgp", "--mrt" }, 2, "", "belong to the command routes" },
		{ { "routes", "--mrt", "--json" }, 2, "", "neither --advertised nor --json" },
	};
	struct fixture *f = *state;

	run_rows(f, none, N(none));
	f->sample.n_neighbours = SAMPLE_NEIGHBOURS;
	run_rows(f, rows, N(rows));
	assert_int_equal(f->sample.resets[CW_BGP_RESET_HARD], 1);
	assert_int_equal(f->sample.reset_i, 2);
}

static void test_all_well(void **state)
{
	struct fixture *f = *state;
	const char *const words[WORDS_MAX] = { "status" };

	f->sample.n_tunnels = 1;
	assert_int_equal(run(f, words), 0);
	assert_null(strchr(f->said, '\x1b')); /* a file is no terminal */
}

static void test_refused(void **state)
{
	static const struct row invalid[] = { { { "rekey", "lab", "ike" }, 4, "",
		"it is not up" } };
	static const struct row internal[] = { { { "up", "lab" }, 5, "", "internal error" } };
	static const struct row busy[] = { { { "up", "lab" }, 3, "", "still starting" } };
	struct fixture *f = *state;

	f->sample.answer = CW_E_INVALID;
	f->sample.answer_text = "it is not up";
	run_rows(f, invalid, 1);
	f->sample.answer = CW_E_BUSY;
	f->sample.answer_text = "still starting";
	run_rows(f, busy, 1);
	f->sample.answer = CW_E_BUG;
	f->sample.answer_text = NULL;
	run_rows(f, internal, 1);
}

static void test_usage(void **state)
{
	static const struct row rows[] = {
		{ { NULL }, 2, "", "usage: causewayctl" },
		{ { "-h" }, 0, "usage: causewayctl", "" },
		{ { "--help" }, 0, "rekey TUNNEL ike|child", "" },
		{ { "stauts" }, 2, "", "unknown command \"stauts\"" },
		{ { "status", "a", "b" }, 2, "", "status takes at most one tunnel" },
		{ { "up" }, 2, "", "up takes one tunnel" },
		{ { "rekey", "lab" }, 2, "", "rekey takes a tunnel, and" },
		{ { "rekey", "lab", "both" }, 2, "", "Say \"ike\" or \"child\"" },
		{ { "log", "-n", "0" }, 2, "", "at least 1" },
		{ { "log", "-n", "9x" }, 2, "", "whole number" },
		{ { "status", "-n", "9" }, 2, "", "-n belongs to" },
		{ { "--color=red", "status" }, 2, "", "auto, always or never" },
		{ { "--frob", "status" }, 2, "", "See causewayctl -h" },
		{ { "--version" }, 0, "causewayctl ", "" },
		{ { "-V" }, 0, "causewayctl ", "" },
		{ { "status", "\xff" }, 2, "", "name has letters" },
	};

	run_rows(*state, rows, N(rows));
}

static void test_no_daemon(void **state)
{
	static const struct row gone[] = {
		{ { "status" }, 3, "", "No such file or directory\nIs it running?" },
		{ { "version" }, 3, "causewayctl ", "systemctl start causeway" },
	};
	static const struct row dead[] = { { { "status" }, 3, "", "nobody listens there" } };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct fixture *f = *state;
	int fd;

	cw_ctl_server_free(f->server);
	f->server = NULL;
	run_rows(f, gone, N(gone));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(sa.sun_path, f->path, strlen(f->path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	run_rows(f, dead, N(dead));
}

/* Something else listens at the path. */
static void test_no_json(void **state)
{
	static const struct {
		const char *answer;
		int exit;
		const char *complained;
	} rows[] = {
		{ "", 3, "hung up without an answer" },
		{ "hello\n", 5, "sent no JSON" },
		{ "[1]\n", 5, "sent no JSON" },
		{ "{\"ok\":true,\"tunn", 5, "sent no JSON" },
	};
	const char *const words[WORDS_MAX] = { "status" };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct fixture *f = *state;

	cw_ctl_server_free(f->server);
	f->server = NULL;
	memcpy(sa.sun_path, f->path, strlen(f->path) + 1);
	for (size_t i = 0; i < N(rows); i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		pid_t other;

		assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		assert_int_equal(listen(fd, 1), 0);
		fflush(NULL);
		other = fork();
		assert_true(other >= 0);
		if (other == 0) {
			int client = accept(fd, NULL, NULL);
			char request[256];

			_exit(read(client, request, sizeof(request)) < 0 ||
				write(client, rows[i].answer, strlen(rows[i].answer)) < 0);
		}
		close(fd);
		assert_int_equal(run(f, words), rows[i].exit);
		assert_non_null(strstr(f->complained, rows[i].complained));
		assert_int_equal(waitpid(other, NULL, 0), other);
		assert_int_equal(unlink(f->path), 0);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_served),
		T(test_bgp),
		T(test_all_well),
		T(test_refused),
		T(test_usage),
		T(test_no_daemon),
		T(test_no_json),
	};

	return cmocka_run_group_tests_name("causewayctl", tests, NULL, NULL);
}
