/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tcp and device: real connections over loopback and a dummy device, in a network namespace of the test's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/device.h"
#include "io/tcp.h"

#define PORT 1790
#define SOON_MS 10000 /* for what must come */
#define NEVER_MS 300  /* for what must not */
#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

extern char **environ;

static struct cw_addr addr(const char *text)
{
	struct cw_addr a;

	assert_int_equal(cw_addr_parse(text, &a), CW_OK);
	return a;
}

static bool ready(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1;
}

static int get_int(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

static int listen_at(const char *local)
{
	struct cw_addr a = addr(local);
	int fd = -1, err = 0;

	if (cw_tcp_listen(&a, PORT, &fd, &err) != CW_OK)
		fail_msg("can't listen at %s: %s", local, strerror(err));
	return fd;
}

static struct cw_tcp_way way_of(const char *local, const char *remote)
{
	return (struct cw_tcp_way){ .local = addr(local), .remote = addr(remote), .port = PORT, .ttl = 255 };
}

static int connect_by(const struct cw_tcp_way *way)
{
	int fd = -1, err = 0;

	if (cw_tcp_connect(way, &fd, &err) != CW_OK)
		fail_msg("can't connect: %s", strerror(err));
	return fd;
}

static int accept_at(int listen_fd, struct cw_addr *ret_remote, struct cw_addr *ret_local)
{
	int fd = -1, err = 0;

	assert_true(ready(listen_fd, POLLIN, SOON_MS));
	assert_int_equal(cw_tcp_accept(listen_fd, &fd, ret_remote, ret_local, &err), CW_OK);
	return fd;
}

static void test_connection(void **state)
{
	static const struct {
		const char *us, *them;
	} rows[] = { { "127.0.0.2", "127.0.0.1" }, { "fd00:5::2", "fd00:5::1" } };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		bool v6 = strchr(rows[i].us, ':') != NULL;
		struct cw_tcp_way way = way_of(rows[i].us, rows[i].them);
		struct cw_addr remote, local;
		int l = listen_at(rows[i].them), a, c, err;

		way.ttl = 7;
		assert_int_equal(cw_tcp_accept(l, &a, &remote, &local, &err), CW_E_BUSY);
		c = connect_by(&way);
		assert_true(ready(c, POLLOUT, SOON_MS));
		assert_int_equal(cw_tcp_result(c), 0);
		a = accept_at(l, &remote, &local);
		assert_true(cw_addr_equal(&remote, &way.local));
		assert_true(cw_addr_equal(&local, &way.remote));
		assert_int_equal(cw_tcp_settle(a, &way, &err), CW_OK);
		for (int k = 0; k < 2; k++) {
			int fd = k ? a : c;

			assert_int_equal(get_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL),
				7);
			assert_int_equal(get_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS), 0xc0);
			assert_int_equal(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
			assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		}
		close(c);
		close(a);
		close(l);
	}
}

/* An address that is not there yet can be listened on; one place is for one listener. */
static void test_listen(void **state)
{
	struct cw_addr a = addr("192.0.2.1");
	int four = listen_at("192.0.2.1"), six = listen_at("2001:db8::1"), fd, err = 0;

	(void)state;
	assert_int_not_equal(cw_tcp_listen(&a, PORT, &fd, &err), CW_OK);
	assert_int_equal(err, EADDRINUSE);
	close(four);
	close(six);
}

static void test_failures(void **state)
{
	struct cw_tcp_way way = way_of("127.0.0.2", "127.0.0.1");
	int fd, err = 0;

	(void)state;
	fd = connect_by(&way); /* nobody listens */
	assert_true(ready(fd, POLLOUT, SOON_MS));
	assert_int_equal(cw_tcp_result(fd), ECONNREFUSED);
	close(fd);
	way.local = addr("192.0.2.1"); /* not ours */
	assert_int_not_equal(cw_tcp_connect(&way, &fd, &err), CW_OK);
	assert_int_equal(err, EADDRNOTAVAIL);
	way.local = addr("127.0.0.2");
	way.ifname = "nosuch0";
	assert_int_not_equal(cw_tcp_connect(&way, &fd, &err), CW_OK);
	assert_int_equal(err, ENODEV);
}

static void test_device_bound(void **state)
{
	struct cw_tcp_way way = way_of("127.0.0.2", "127.0.0.1");
	struct cw_addr remote, local;
	int l = listen_at("127.0.0.1"), c, a;
	char name[16] = "";
	socklen_t len = sizeof(name);

	(void)state;
	way.ifname = "lo";
	c = connect_by(&way);
	a = accept_at(l, &remote, &local);
	assert_int_equal(getsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, name, &len), 0);
	assert_string_equal(name, "lo");
	close(a);
	close(c);
	close(l);
}

/* Keys of both sides; NULL: none. */
static void test_md5(void **state)
{
	static const struct {
		const char *listener, *connector;
		bool together;
	} rows[] = {
		{ "secret", "secret", true },
		{ "secret", "Secret", false },
		{ "secret", NULL, false },
		{ NULL, "secret", false },
		{ NULL, NULL, true }, /* what was set for the rows above is gone */
		{ "other", "other", true },
	};
	struct cw_tcp_way way = way_of("127.0.0.2", "127.0.0.1");
	int l = listen_at("127.0.0.1"), err = 0;
	uint8_t long_key[81] = { 1 };
	struct cw_secret *key;

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_secret *theirs = NULL, *ours = NULL;
		struct cw_addr remote, local;
		enum cw_rc rc;
		int c;

		if (rows[i].listener)
			theirs = cw_secret_new(rows[i].listener, strlen(rows[i].listener));
		if (rows[i].connector)
			ours = cw_secret_new(rows[i].connector, strlen(rows[i].connector));
		rc = cw_tcp_listen_key(l, &way.local, theirs, &err);
		if (rc == CW_E_UNSUPPORTED) {
			cw_secret_free(theirs);
			cw_secret_free(ours);
			close(l);
			print_message("this kernel has no TCP_MD5SIG\n");
			skip();
		}
		assert_int_equal(rc, CW_OK);
		way.md5 = ours;
		c = connect_by(&way);
		if (ready(l, POLLIN, rows[i].together ? SOON_MS : NEVER_MS) != rows[i].together)
			fail_msg("row %zu", i);
		if (rows[i].together)
			close(accept_at(l, &remote, &local));
		close(c);
		cw_secret_free(theirs);
		cw_secret_free(ours);
	}
	key = cw_secret_new(long_key, sizeof(long_key));
	assert_int_equal(cw_tcp_listen_key(l, &way.local, key, &err), CW_E_TOO_BIG);
	cw_secret_free(key);
	close(l);
}

/* RFC 5082: what came from farther than a neighbour is as if it had not come. */
static void test_gtsm(void **state)
{
	static const struct {
		const char *us, *them;
	} rows[] = { { "127.0.0.2", "127.0.0.1" }, { "fd00:5::2", "fd00:5::1" } };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct cw_tcp_way way = way_of(rows[i].us, rows[i].them);
		struct cw_addr remote, local;
		int l = listen_at(rows[i].them), c = connect_by(&way), a = accept_at(l, &remote, &local), err;

		way.min_ttl = 255;
		assert_int_equal(cw_tcp_settle(a, &way, &err), CW_OK);
		way.min_ttl = 0;
		way.ttl = 254;
		assert_int_equal(cw_tcp_settle(c, &way, &err), CW_OK);
		assert_int_equal(write(c, "x", 1), 1);
		assert_false(ready(a, POLLIN, NEVER_MS));
		way.ttl = 255;
		assert_int_equal(cw_tcp_settle(c, &way, &err), CW_OK);
		assert_true(ready(a, POLLIN, SOON_MS)); /* TCP sends it again */
		close(a);
		close(c);
		close(l);
	}
}

static void test_abort(void **state)
{
	struct cw_tcp_way way = way_of("127.0.0.2", "127.0.0.1");
	struct cw_addr remote, local;
	int l = listen_at("127.0.0.1"), c = connect_by(&way), a = accept_at(l, &remote, &local);
	char byte;

	(void)state;
	assert_int_equal(write(c, "x", 1), 1);
	cw_tcp_abort(c);
	assert_true(ready(a, POLLIN, SOON_MS));
	while (read(a, &byte, 1) == 1)
		;
	assert_int_equal(errno, ECONNRESET);
	close(a);
	close(l);
}

/* ---- device ---- */

static bool ip(const char *const *words)
{
	const char *argv[16] = { "ip" };
	int status;
	pid_t pid;

	for (size_t i = 0; words[i]; i++)
		argv[i + 1] = words[i];
	return posix_spawnp(&pid, "ip", NULL, NULL, (char *const *)(uintptr_t)argv, environ) == 0 &&
	       waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#define IP(...) ip((const char *const[]){ __VA_ARGS__, NULL })

static void test_device(void **state)
{
	struct cw_addr fallback = addr("10.1.2.3"), none = { 0 }, mapped = addr("::ffff:10.1.2.3"), found;
	struct cw_device d;

	(void)state;
	assert_int_equal(cw_device_look("nosuch0", &d), CW_E_NOT_FOUND);
	assert_int_equal(cw_device_look("lo", &d), CW_OK);
	assert_true(d.up && d.ifindex > 0 && !d.has_neighbours);
	if (!IP("link", "add", "v0", "type", "veth", "peer", "name", "v1")) {
		print_message("no veth here\n");
		skip();
	}
	assert_int_equal(cw_device_look("v0", &d), CW_OK);
	assert_true(!d.up && d.has_neighbours);
	assert_true(IP("link", "set", "v0", "arp", "off"));
	assert_int_equal(cw_device_look("v0", &d), CW_OK);
	assert_false(d.has_neighbours);
	found = cw_device_addr4("v0");
	assert_int_equal(found.family, CW_FAMILY_NONE);
	found = cw_device_addr6("v0", &fallback);
	assert_true(cw_addr_equal(&found, &mapped));
	found = cw_device_addr6("v0", &none);
	assert_int_equal(found.family, CW_FAMILY_NONE);

	assert_true(IP("link", "set", "v0", "up") && IP("addr", "add", "10.9.0.1/24", "dev", "v0") &&
		    IP("addr", "add", "fe80::9/64", "dev", "v0", "nodad") &&
		    IP("addr", "add", "fd00:9::1/64", "dev", "v0", "nodad"));
	assert_int_equal(cw_device_look("v0", &d), CW_OK);
	assert_true(d.up);
	found = cw_device_addr4("v0");
	assert_true(cw_addr_equal(&found, &(struct cw_addr){ .family = CW_FAMILY_IPV4, .bytes = { 10, 9, 0, 1 } }));
	found = cw_device_addr6("v0", &fallback); /* the global one, whichever stands first */
	mapped = addr("fd00:9::1");
	assert_true(cw_addr_equal(&found, &mapped));
	assert_true(cw_device_has(&mapped, "cw-"));
	assert_false(cw_device_has(&mapped, "v"));
	assert_false(cw_device_has(&fallback, "cw-"));
}

/* An IPv6 address gets its route from a work queue of the kernel's, some time after it was added. */
static bool there(const char *local, const char *remote)
{
	struct sockaddr_in6 from = { .sin6_family = AF_INET6 }, to = { .sin6_family = AF_INET6, .sin6_port = htons(9) };

	inet_pton(AF_INET6, local, &from.sin6_addr);
	inet_pton(AF_INET6, remote, &to.sin6_addr);
	for (int waited_ms = 0; waited_ms < SOON_MS; waited_ms += 10) {
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		bool good = fd >= 0 && bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
			    connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;

		if (fd >= 0)
			close(fd);
		if (good)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

/* 0: the namespace is there, with what the tests need. */
static int enter(void)
{
	if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return errno;
	return IP("link", "set", "lo", "up") && IP("addr", "add", "fd00:5::1/128", "dev", "lo", "nodad") &&
			       IP("addr", "add", "fd00:5::2/128", "dev", "lo", "nodad") &&
			       there("fd00:5::2", "fd00:5::1") && there("fd00:5::1", "fd00:5::2") ?
		       0 :
		       ENOENT;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection), cmocka_unit_test(test_listen),  cmocka_unit_test(test_failures),
		cmocka_unit_test(test_device_bound), cmocka_unit_test(test_md5), cmocka_unit_test(test_gtsm),
		cmocka_unit_test(test_abort),	   cmocka_unit_test(test_device),
	};
	int err = enter();

	if (err) {
		printf("no network namespace here: %s\n", strerror(err));
		return 77;
	}
	return cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
}
