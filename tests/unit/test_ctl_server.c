/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctl_server: a real socket in a folder of its own, and clients of all kinds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl.h"
#include "ctl_sample.h"
#include "io/loop.h"

#define CLIENTS 32
#define STATUS "{\"cmd\":\"status\"}\n"

struct fixture {
	char dir[64], path[100];
	struct cw_loop *loop;
	struct cw_ctl_server *server;
	struct sample sample;
	struct cw_time give_up;
	/* What the running loop waits for: the end of what comes from `fd`, or with `some` its
	 * first bytes, or the end of child `pid`. */
	int fd;
	bool some;
	pid_t pid;
	int status;
	char *got;
	size_t n_got, size;
	bool ended;
};

static bool arrived(struct fixture *f)
{
	ssize_t n;

	if (f->pid)
		return waitpid(f->pid, &f->status, WNOHANG) == f->pid;
	for (;;) {
		if (f->n_got + 65536 > f->size) {
			f->size += 1 << 20;
			f->got = realloc(f->got, f->size);
			assert_non_null(f->got);
		}
		n = recv(f->fd, f->got + f->n_got, f->size - f->n_got - 1, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return f->some && f->n_got > 0;
		if (n <= 0) {
			f->ended = true;
			f->got[f->n_got] = '\0';
			return true;
		}
		f->n_got += (size_t)n;
	}
}

static struct cw_time turn(void *arg, struct cw_time now)
{
	struct fixture *f = arg;
	struct cw_time next = cw_ctl_server_turn(f->server, now);

	if (cw_time_is_never(f->give_up))
		f->give_up = cw_time_add_s(now, 20);
	if (arrived(f))
		cw_loop_stop(f->loop);
	else if (cw_time_reached(f->give_up, now))
		fail_msg("nothing came in 20 s");
	/* The client's end is not watched by the loop, so look again soon. */
	return cw_time_min(next, cw_time_add_ms(now, 2));
}

static void run(struct fixture *f)
{
	f->give_up = CW_TIME_NEVER;
	f->n_got = 0;
	f->ended = false;
	assert_int_equal(cw_loop_run(f->loop), CW_OK);
}

static const char *hear_all(struct fixture *f, int fd)
{
	f->fd = fd;
	f->some = false;
	f->pid = 0;
	run(f);
	assert_true(f->ended);
	return f->got;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct cw_ctl_port port;
	char err[256] = "";

	assert_non_null(f);
	cw_log_set_sink(-1, 0);
	snprintf(f->dir, sizeof(f->dir), "/tmp/cw-ctl-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(chmod(f->dir, 0755), 0);
	snprintf(f->path, sizeof(f->path), "%s/run/control", f->dir);
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
	char run_dir[80];

	cw_ctl_server_free(f->server);
	cw_loop_free(f->loop);
	unlink(f->path);
	snprintf(run_dir, sizeof(run_dir), "%s/run", f->dir);
	assert_int_equal(rmdir(run_dir), 0);
	assert_int_equal(rmdir(f->dir), 0);
	free(f->got);
	free(f);
	return 0;
}

static int dial(const struct fixture *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(sa.sun_path, f->path, strlen(f->path) + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect_code(const char *answer, const char *code)
{
	json_t *json = json_loads(answer, 0, NULL);

	assert_non_null(json);
	if (code) {
		assert_true(json_is_false(json_object_get(json, "ok")));
		assert_string_equal(json_string_value(json_object_get(json, "code")), code);
	} else {
		assert_true(json_is_true(json_object_get(json, "ok")));
	}
	json_decref(json);
}

static void expect_served(struct fixture *f)
{
	int fd = dial(f);

	say(fd, STATUS);
	expect_code(hear_all(f, fd), NULL);
	close(fd);
}

static void test_status(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char dir[80];

	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	snprintf(dir, sizeof(dir), "%s/run", f->dir);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	expect_served(f);
	cw_ctl_server_free(f->server);
	f->server = NULL;
	assert_int_not_equal(stat(f->path, &st), 0);
	cw_ctl_server_free(NULL);
}

static enum cw_rc second(struct fixture *f, char *err, size_t size)
{
	struct cw_ctl_port port = sample_port(&f->sample);
	struct cw_ctl_server *server = NULL;
	enum cw_rc rc = cw_ctl_server_new(f->loop, f->path, &port, &server, err, size);

	if (rc == CW_OK)
		cw_ctl_server_free(server);
	return rc;
}

static void test_path_taken(void **state)
{
	struct fixture *f = *state;
	char err[256] = "";
	int fd;

	/* A live one. */
	assert_int_equal(second(f, err, sizeof(err)), CW_E_EXISTS);
	assert_non_null(strstr(err, "another causewayd"));
	expect_served(f);
	cw_ctl_server_free(f->server);
	f->server = NULL;

	/* No socket at all. */
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(second(f, err, sizeof(err)), CW_E_EXISTS);
	assert_non_null(strstr(err, "is no socket"));
	assert_int_equal(unlink(f->path), 0);
}

/* Leaves a socket file without a listener, as kill -9 does. */
static void make_stale(const struct fixture *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(sa.sun_path, f->path, strlen(f->path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
}

static void test_stale_replaced(void **state)
{
	struct fixture *f = *state;
	struct cw_ctl_port port = sample_port(&f->sample);
	char err[256] = "";

	cw_ctl_server_free(f->server);
	make_stale(f);
	assert_int_equal(
		cw_ctl_server_new(f->loop, f->path, &port, &f->server, err, sizeof(err)), CW_OK);
	expect_served(f);
}

/* Somebody took our file away and put another there: that one is not ours to remove. */
static void test_foreign_not_removed(void **state)
{
	struct fixture *f = *state;
	char other[128];
	struct stat st;

	/* The old file is kept under another name, so that its inode number is not given anew. */
	snprintf(other, sizeof(other), "%s.old", f->path);
	assert_int_equal(rename(f->path, other), 0);
	make_stale(f);
	cw_ctl_server_free(f->server);
	f->server = NULL;
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(unlink(other), 0);
}

static void test_bad_paths(void **state)
{
	struct fixture *f = *state;
	struct cw_ctl_port port = sample_port(&f->sample);
	struct cw_ctl_server *server = NULL;
	char longest[200], err[256];

	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[108] = '\0';
	assert_int_equal(cw_ctl_server_new(f->loop, longest, &port, &server, err, sizeof(err)),
		CW_E_INVALID);
	assert_int_equal(
		cw_ctl_server_new(f->loop, "", &port, &server, err, sizeof(err)), CW_E_INVALID);
	snprintf(longest, sizeof(longest), "%s/none/deeper/control", f->dir);
	assert_int_equal(cw_ctl_server_new(f->loop, longest, &port, &server, err, sizeof(err)),
		CW_E_NOT_FOUND);
	assert_non_null(strstr(err, "can't make folder"));
}

static void test_garbage(void **state)
{
	static const char *const texts[] = {
		"\n",
		"hello\n",
		"\x01\x02\xff\xfe\n",
		"{}\n",
		"{\"cmd\":\"status\"\n",
		"GET / HTTP/1.1\r\n\r\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = dial(f);

		say(fd, texts[i]);
		expect_code(hear_all(f, fd), "invalid");
		close(fd);
	}
	expect_served(f);
}

static void test_bytewise(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f);

	/* The loop serves another client between any two bytes, so each is read by itself. */
	for (const char *p = STATUS; *p; p++) {
		assert_int_equal(send(fd, p, 1, MSG_NOSIGNAL), 1);
		if (p[1])
			expect_served(f);
	}
	expect_code(hear_all(f, fd), NULL);
	close(fd);
}

static void test_oversize(void **state)
{
	static const struct {
		size_t spaces;
		const char *code;
	} rows[] = {
		{ 4096 - 16, NULL },      /* 4096 bytes and the newline: the most there may be */
		{ 4096 - 15, "invalid" }, /* one more */
		{ 20000, "invalid" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = malloc(rows[i].spaces + sizeof(STATUS));
		int fd = dial(f);

		assert_non_null(text);
		memset(text, ' ', rows[i].spaces);
		memcpy(text + rows[i].spaces, STATUS, sizeof(STATUS));
		say(fd, text);
		expect_code(hear_all(f, fd), rows[i].code);
		close(fd);
		free(text);
	}
	expect_served(f);
}

static void test_half_close(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f);

	say(fd, "{\"cmd\":\"version\"}"); /* no newline: the end is as good */
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_code(hear_all(f, fd), NULL);
	close(fd);

	fd = dial(f);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_string_equal(hear_all(f, fd), "");
	close(fd);

	/* Gone before the answer, and gone before the request. */
	fd = dial(f);
	say(fd, STATUS);
	close(fd);
	fd = dial(f);
	say(fd, "{\"cmd\"");
	close(fd);
	fd = dial(f);
	close(fd);
	expect_served(f);
}

static void test_slow_sender(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f);
	struct cw_time now, due;

	say(fd, "{\"cmd\":");
	expect_served(f); /* by now the slow one is taken in as well */
	now = cw_loop_now(f->loop);
	due = cw_ctl_server_turn(f->server, now);
	assert_false(cw_time_is_never(due));
	assert_true(cw_time_diff_us(due, now) <= 10 * 1000000);
	/* More bytes don't buy more time. */
	say(fd, "\"stat");
	expect_served(f);
	assert_int_equal(cw_ctl_server_turn(f->server, cw_time_add_us(due, -1)).us, due.us);
	assert_true(cw_time_is_never(cw_ctl_server_turn(f->server, due)));
	assert_string_equal(hear_all(f, fd), "");
	close(fd);
}

static void test_slow_taker(void **state)
{
	struct fixture *f = *state;
	const size_t many = 800;
	struct cw_time due;
	size_t whole;
	int slow, fd;

	f->sample.n_tunnels = many;
	slow = dial(f);
	say(slow, STATUS);
	f->fd = slow;
	f->some = true;
	f->pid = 0;
	/* Its answer has begun; the rest does not fit the socket and waits, and so do the loop's
	 * other clients not. */
	run(f);
	assert_false(f->ended);
	f->sample.n_tunnels = SAMPLE_TUNNELS;
	expect_served(f);

	/* One that takes its answer gets it whole. */
	f->sample.n_tunnels = many;
	fd = dial(f);
	say(fd, STATUS);
	expect_code(hear_all(f, fd), NULL);
	whole = f->n_got;
	assert_true(whole > 500000);
	close(fd);

	due = cw_ctl_server_turn(f->server, cw_loop_now(f->loop));
	assert_false(cw_time_is_never(due));
	assert_true(cw_time_is_never(cw_ctl_server_turn(f->server, due)));
	hear_all(f, slow);
	assert_true(f->n_got < whole);
	close(slow);
}

static void test_too_many_clients(void **state)
{
	struct fixture *f = *state;
	int fds[CLIENTS], fd;

	for (size_t i = 0; i < CLIENTS; i++)
		fds[i] = dial(f);
	fd = dial(f);
	expect_code(hear_all(f, fd), "busy");
	close(fd);
	/* The others are served as before, and make room. */
	say(fds[7], STATUS);
	expect_code(hear_all(f, fds[7]), NULL);
	close(fds[7]);
	expect_served(f);
	for (size_t i = 0; i < CLIENTS; i++) {
		if (i != 7)
			close(fds[i]);
	}
	expect_served(f);
}

static void test_orders(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f);

	/* The test runs as the server's own uid, so it may. */
	say(fd, "{\"cmd\":\"rekey\",\"tunnel\":\"branch\",\"what\":\"child\"}\n");
	expect_code(hear_all(f, fd), NULL);
	close(fd);
	assert_string_equal(f->sample.order, "rekey");
	assert_string_equal(f->sample.tunnel, "branch");
	assert_true(f->sample.child);

	f->sample.answer = CW_E_NOT_FOUND;
	fd = dial(f);
	say(fd, "{\"cmd\":\"down\",\"tunnel\":\"nosuch\"}\n");
	expect_code(hear_all(f, fd), "not-found");
	close(fd);
}

/* In a child with another uid: asks, and gives the place where it went wrong. */
static int stranger(const struct fixture *f)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ STATUS, "{\"ok\":true" },
		{ "{\"cmd\":\"log\"}\n", "{\"ok\":true" },
		{ "{\"cmd\":\"version\"}\n", "{\"ok\":true" },
		{ "{\"cmd\":\"up\",\"tunnel\":\"lab\"}\n", "{\"ok\":false,\"code\":\"denied\"" },
		{ "{\"cmd\":\"down\",\"tunnel\":\"lab\"}\n", "{\"ok\":false,\"code\":\"denied\"" },
		{ "{\"cmd\":\"restart\",\"tunnel\":\"lab\"}\n",
			"{\"ok\":false,\"code\":\"denied\"" },
		{ "{\"cmd\":\"rekey\",\"tunnel\":\"lab\",\"what\":\"ike\"}\n",
			"{\"ok\":false,\"code\":\"denied\"" },
	};
	char buf[64];

	if (setgid(65534) != 0 || setuid(65534) != 0)
		return 100;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_un sa = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		ssize_t n;

		memcpy(sa.sun_path, f->path, strlen(f->path) + 1);
		if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
			return 101;
		if (send(fd, rows[i].text, strlen(rows[i].text), MSG_NOSIGNAL) < 0)
			return 102;
		n = recv(fd, buf, sizeof(buf) - 1, MSG_WAITALL);
		close(fd);
		if (n <= 0)
			return 103;
		buf[n] = '\0';
		if (strncmp(buf, rows[i].says, strlen(rows[i].says)) != 0)
			return (int)i + 1;
	}
	return 0;
}

static void test_stranger(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	assert_int_equal(chmod(f->path, 0666), 0); /* let it in, as the socket's group is */
	fflush(NULL);
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0)
		_exit(stranger(f));
	run(f);
	assert_true(WIFEXITED(f->status));
	assert_int_equal(WEXITSTATUS(f->status), 0);
	assert_null(f->sample.order);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_status),
		T(test_path_taken),
		T(test_stale_replaced),
		T(test_foreign_not_removed),
		T(test_bad_paths),
		T(test_garbage),
		T(test_bytewise),
		T(test_oversize),
		T(test_half_close),
		T(test_slow_sender),
		T(test_slow_taker),
		T(test_too_many_clients),
		T(test_orders),
		T(test_stranger),
	};

	return cmocka_run_group_tests_name("ctl_server", tests, NULL, NULL);
}
