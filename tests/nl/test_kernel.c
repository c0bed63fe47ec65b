/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel backend on a real kernel. Goes into a network namespace of its own before it does
 * anything, and makes a second one for the far side. Needs root. Parts that the kernel lacks are
 * passed over with a "skip" line. usage: test_kernel [--need-esp] [--need-xfrm|--need-vti]
 */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nl/kernel.h"

int peer_pid;

int in_peer(const char *fmt, ...)
{
	char command[1024];
	va_list args;
	int n = snprintf(command, sizeof(command), "nsenter -t %d -n ", peer_pid);

	va_start(args, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, args);
	va_end(args);
	return run_sh(command);
}

/* ---- events ---- */

struct hunt {
	enum cw_kernel_event_kind kind;
	struct cw_kernel_event first;
	size_t n;
};

static void on_event(const struct cw_kernel_event *ev, void *arg)
{
	struct hunt *h = arg;

	if (ev->kind == h->kind && h->n++ == 0)
		h->first = *ev;
}

bool wait_event(struct cw_kernel *k, enum cw_kernel_event_kind kind, int seconds,
	struct cw_kernel_event *ret)
{
	struct pollfd p = { .fd = k->ops->event_fd(k), .events = POLLIN };
	struct hunt h = { .kind = kind };
	time_t end = time(NULL) + seconds + 1;

	while (h.n == 0 && time(NULL) < end) {
		poll(&p, 1, 1000);
		k->ops->events_read(k, on_event, &h);
	}
	if (ret)
		*ret = h.first;
	return h.n > 0;
}

size_t drain_events(struct cw_kernel *k, enum cw_kernel_event_kind kind)
{
	struct pollfd p = { .fd = k->ops->event_fd(k), .events = POLLIN };
	struct hunt h = { .kind = kind };

	while (poll(&p, 1, 0) > 0)
		k->ops->events_read(k, on_event, &h);
	return h.n;
}

/* ---- what is missing is named (BL-070) ---- */

/* What probe() says in a child that `cripple` has made poorer. */
static void probe_in_child(bool (*cripple)(void), const char *what, const char *want)
{
	struct cw_kernel_caps caps = { 0 };
	struct cw_kernel_err err = { 0 };
	struct cw_kernel *k;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!cripple())
			_exit(77);
		if (cw_kernel_nl_new(&k, &err) != CW_OK)
			_exit(3);
		k->ops->probe(k, &caps);
		printf("%s: \"%s\"\n", what, caps.why);
		fflush(stdout);
		k->ops->free(k);
		_exit(strstr(caps.why, want) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("skip %s: the kernel can't be limited so\n", what);
	else if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		printf("%s: status %d\n", what, status);
}

static bool drop_root(void)
{
	return setgid(65534) == 0 && setuid(65534) == 0;
}

/* As container engines do: socket(AF_NETLINK, _, NETLINK_XFRM) fails. */
static bool deny_xfrm(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_XFRM, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

/* ---- the world ---- */

/* The far side: a namespace and a socket there that takes ESP off UDP. */
static void hold(int ready)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(4500) };
	struct cw_kernel_err err = { 0 };
	struct cw_kernel *k;
	char one = 1;
	int fd;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || unshare(CLONE_NEWNET) < 0)
		_exit(1);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
		cw_kernel_nl_new(&k, &err) != CW_OK ||
		k->ops->socket_espinudp(k, fd, CW_FAMILY_IPV4, &err) != CW_OK ||
		write(ready, &one, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool make_world(void)
{
	int fds[2];
	char one;

	if (unshare(CLONE_NEWNET) < 0 || pipe(fds) < 0) {
		printf("a network namespace can't be made: %s\n", strerror(errno));
		return false;
	}
	peer_pid = fork();
	if (peer_pid == 0)
		hold(fds[1]);
	close(fds[1]);
	if (read(fds[0], &one, 1) != 1)
		return false;
	close(fds[0]);
	return sh("ip link set lo up && ip link add v0 type veth peer name v1 netns %d && "
		  "ip addr add 192.0.2.1/24 dev v0 && ip addr add 192.0.2.99/24 dev v0 && "
		  "ip link set v0 up",
		       peer_pid) == 0 &&
	       in_peer("sh -c 'ip link set lo up && ip addr add 192.0.2.2/24 dev v1 && "
		       "ip addr add 192.0.2.3/24 dev v1 && ip link set v1 up'") == 0;
}

static bool wanted(int argc, char **argv, const char *flag)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], flag))
			return true;
	return false;
}

static void test_probe(struct cw_kernel *k, int argc, char **argv, struct cw_kernel_caps *caps)
{
	CHECK(k->ops->probe(k, caps) == CW_OK);
	printf("%s: xfrm %d esp4 %d esp6 %d xfrm_interface %d vti %d vti6 %d net_admin %d \"%s\"\n",
		caps->release, caps->xfrm, caps->esp4, caps->esp6, caps->xfrm_interface, caps->vti,
		caps->vti6, caps->net_admin, caps->why);
	CHECK(caps->xfrm && caps->net_admin);
	CHECK(!wanted(argc, argv, "--need-esp") || (caps->esp4 && caps->esp6));
	CHECK(!wanted(argc, argv, "--need-xfrm") || caps->xfrm_interface);
	CHECK(!wanted(argc, argv, "--need-vti") || (caps->vti && caps->vti6));
	CHECK((caps->why[0] == '\0') == (caps->esp4 && caps->esp6 && caps->xfrm_interface));
	CHECK(sh("test -z \"$(ip xfrm state)\" && ! ip link show cw-probe 2>/dev/null") == 0);
}

/* /proc files that the port reads. */
static void test_proc(struct cw_kernel *k)
{
	sh("sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
	CHECK(!k->ops->forwarding(k, CW_FAMILY_IPV4) && !k->ops->forwarding(k, CW_FAMILY_IPV6));
	sh("sysctl -qw net.ipv4.ip_forward=1");
	CHECK(k->ops->forwarding(k, CW_FAMILY_IPV4) && !k->ops->forwarding(k, CW_FAMILY_IPV6));
	sh("sysctl -qw net.ipv6.conf.all.forwarding=1");
	CHECK(k->ops->forwarding(k, CW_FAMILY_IPV6));
	CHECK(k->ops->xfrm_stat(k, "XfrmNoSuchCounter") == 0);
	CHECK(k->ops->xfrm_stat(k, "") == 0);
}

static void part(const char *name, bool can, const char *why)
{
	printf("%s %s%s%s\n", can ? "--" : "skip", name, can ? "" : ": ", can ? "" : why);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct cw_kernel_caps caps = { 0 };
	struct cw_kernel_err err = { 0 };
	struct cw_kernel *k;
	size_t removed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!make_world() || !CHECK_RC(cw_kernel_nl_new(&k, &err), CW_OK))
		return 1;
	part("probe", true, "");
	test_probe(k, argc, argv, &caps);
	probe_in_child(drop_root, "without root", "CAP_NET_ADMIN");
	probe_in_child(deny_xfrm, "without NETLINK_XFRM", "no XFRM");
	test_proc(k);
	part("policies", true, "");
	test_policies(k);
	part("routes", !caps.xfrm_interface && !caps.vti, "tested with the tunnels' interfaces");
	if (!caps.xfrm_interface && !caps.vti)
		test_plain_routes(k);
	part("SAs", caps.esp4, "no ESP");
	if (caps.esp4)
		test_sas(k);
	part("traffic", caps.esp4, "no ESP");
	if (caps.esp4)
		test_traffic(k);
	part("xfrm interfaces", caps.xfrm_interface, "none in this kernel");
	if (caps.xfrm_interface) {
		test_links(k, CW_LINK_XFRM);
		test_routes(k, CW_LINK_XFRM);
	}
	part("VTI", caps.vti, "none in this kernel");
	if (caps.vti) {
		test_links(k, CW_LINK_VTI);
		test_routes(k, CW_LINK_VTI);
	}
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	k->ops->free(k);
	kill(peer_pid, SIGKILL);
	return check_end();
}
