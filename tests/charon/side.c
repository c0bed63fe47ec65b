/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "side.h"

#include <library.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/secret.h"
#include "charon/cw_charon.h"
#include "conf/conf.h"
#include "io/mailbox.h"
#include "lose.h"

extern char **environ;

static bool child_cfg_leaks;

/* libcrypto keeps tables until the process ends, and libstrongswan's plugin for it is unloaded by then,
 * so that the leak check sees nobody who holds them. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
	return child_cfg_leaks ? "leak:libcrypto.so\nleak:child_cfg_create\n" : "leak:libcrypto.so\n";
}

struct side {
	int fd;
	char which;
	struct cw_kernel *kernel;
	struct cw_mailbox *box;
	struct cw_ike *ike;
};

int side_ip(const char *const *argv)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, "ip", NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int net(const char *addr)
{
	const char *up[] = { "ip", "link", "set", "cw0", "up", NULL };
	const char *lo[] = { "ip", "link", "set", "lo", "up", NULL };
	const char *add[] = { "ip", "addr", "add", addr, "dev", "cw0", "nodad", NULL };
	const char *add4[] = { "ip", "addr", "add", addr, "dev", "cw0", NULL };

	if (side_ip(lo) || side_ip(up))
		return -1;
	return strchr(addr, ':') ? side_ip(add) : side_ip(add4);
}

static int words(char *text)
{
	const char *argv[16] = { "ip" };
	char *at = text;
	size_t n = 1;

	while (n < 15 && (argv[n] = strsep(&at, " ")))
		n++;
	argv[n] = NULL;
	return side_ip(argv);
}

static enum cw_rc start(struct side *s, const struct side_request *q, char *err, size_t size)
{
	struct cw_charon_options opt = CW_CHARON_OPTIONS_DEFAULT;
	enum cw_rc rc;

	opt.threads = 8;
	opt.attempt_ms = 1500;
	opt.retransmit_ms = 200;
	opt.retransmit_base = 1.2;
	opt.retransmit_limit_s = 1;
	opt.log_level = (enum cw_log_level)q->log_level;
	cw_log_set_level(opt.log_level);
	if (s->ike)
		return CW_E_EXISTS;
	rc = cw_charon_start(&opt, s->kernel, s->box, &s->ike, err, size);
	if (rc == CW_OK && !q->force)
		s->ike->ops->begin(s->ike);
	return rc;
}

static size_t prefixes(const char (*texts)[24], struct cw_prefix *out)
{
	size_t n = 0;

	while (n < 4 && texts[n][0] && cw_prefix_parse(texts[n], &out[n]) == CW_OK)
		n++;
	return n;
}

static enum cw_rc set(struct side *s, const struct side_tunnel *t)
{
	struct cw_prefix near[4], far[4];
	size_t n_near = prefixes(t->near, near), n_far = prefixes(t->far, far);
	struct cw_site_conf site = { .name = "site", .networks = { far, n_far } };
	struct cw_lifetime_conf child = { .time_s = t->child_s, .rekey_margin_s = t->margin_s };
	struct cw_lifetime_conf ike = { .time_s = t->ike_s, .rekey_margin_s = t->margin_s };
	struct cw_tunnel_conf conf = {
		.site = &site,
		.remote = t->remote,
		.local_id = t->local_id[0] ? t->local_id : NULL,
		.remote_id = t->remote_id[0] ? t->remote_id : NULL,
		.ike_version = t->version == 1 ? CW_IKE_V1 : CW_IKE_V2,
		.ike_proposals = { { t->ike }, 1 },
		.esp_proposals = { { t->esp, t->esp2 }, t->esp2[0] ? 2 : 1 },
		.ike_lifetime = ike,
		.child_lifetime = child,
		.dpd_delay_s = t->dpd_delay_s,
		.dpd_timeout_s = t->dpd_timeout_s,
		.nat_traversal = (enum cw_nat_traversal)t->nat,
		.fragmentation = true,
		.selectors = n_near ? CW_SEL_NETWORKS : CW_SEL_ANY,
		.replay_window = t->replay_window,
		.esn = t->esn,
		.mobike = t->mobike,
		.copy_df = true,
		.copy_ecn = true,
	};
	struct cw_ike_tunnel tunnel = {
		.index = t->index,
		.generation = t->generation,
		.conf = &conf,
		.gateway_networks = near,
		.n_gateway_networks = n_near,
		.if_id = t->number ? CW_IF_ID_BASE + t->number : 0,
		.mark = t->mark,
		.reqid_base = CW_REQID_BASE + (t->number ? t->number : 99) * 256,
	};
	struct cw_secret *psk = cw_secret_new(t->psk, strlen(t->psk));
	struct cw_secret *now = t->psk_now[0] ? cw_secret_new(t->psk_now, strlen(t->psk_now)) : NULL;
	enum cw_rc rc;

	tunnel.psk = now;
	snprintf(conf.name, sizeof(conf.name), "%s", t->name);
	if (t->inner_ipv6)
		cw_prefix_parse("fd00::1/64", &conf.inside_addr);
	conf.psk = psk;
	if (t->local[0])
		cw_addr_parse(t->local, &tunnel.local);
	cw_addr_parse(t->remote, &tunnel.remote);
	rc = s->ike->ops->tunnel_set(s->ike, &tunnel);
	cw_secret_free(psk);
	cw_secret_free(now);
	return rc;
}

static void expire(struct side *s, const struct side_request *q)
{
	struct cw_kernel_event ev = { .kind = CW_KEV_EXPIRE, .spi = q->id, .proto = 50, .hard = q->force };

	cw_addr_parse(q->addr, &ev.dst);
	s->ike->ops->kernel_event(s->ike, &ev);
}

static void mapping(struct side *s, const struct side_request *q)
{
	struct cw_kernel_event ev = {
		.kind = CW_KEV_MAPPING, .spi = q->id, .proto = 50, .new_port = (uint16_t)q->pair };

	cw_addr_parse(q->addr, &ev.dst);
	cw_addr_parse(q->to, &ev.new_addr);
	s->ike->ops->kernel_event(s->ike, &ev);
}

/* Ends with this process. */
static int hold(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(4500) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (true)
			pause();
	}
	close(fd);
	return (int)pid;
}

/* Where the test has gone, the next recv() says so. */
static void answer(struct side *s, const struct side_report *r)
{
	(void)!send(s->fd, r, sizeof(*r), MSG_NOSIGNAL);
}

static void serve(struct side *s, struct side_request *q)
{
	struct side_report r = { .order = q->order };
	const struct cw_ike_ops *ops = s->ike ? s->ike->ops : NULL;

	switch (q->order) {
	case SIDE_IP:
		r.rc = words(q->addr);
		answer(s, &r);
		return;
	case SIDE_NET:
		r.rc = net(q->addr);
		answer(s, &r);
		return;
	case SIDE_START:
		r.rc = (int)start(s, q, r.text, sizeof(r.text));
		answer(s, &r);
		return;
	case SIDE_BEGIN:
		ops->begin(s->ike);
		answer(s, &r);
		return;
	case SIDE_SET:
		r.rc = (int)set(s, &q->tunnel);
		answer(s, &r);
		return;
	case SIDE_COUNTS:
		fake_kernel_counts(s->kernel, &r.counts);
		answer(s, &r);
		return;
	case SIDE_LOSE:
		r.rc = lose_child(q->id) ? 0 : -1;
		answer(s, &r);
		return;
	case SIDE_HOLD:
		r.rc = hold();
		answer(s, &r);
		return;
	case SIDE_REFUSE:
		fake_kernel_refuse(s->kernel, q->id);
		return;
	case SIDE_REMOVE:
		ops->tunnel_remove(s->ike, q->id);
		return;
	case SIDE_INITIATE:
		ops->initiate(s->ike, q->id, q->pair);
		return;
	case SIDE_TERMINATE:
		ops->terminate_ike(s->ike, q->id, q->force);
		return;
	case SIDE_TERMINATE_CHILD:
		ops->terminate_child(s->ike, q->id);
		return;
	case SIDE_REKEY_IKE:
		ops->rekey_ike(s->ike, q->id);
		return;
	case SIDE_REKEY_CHILD:
		ops->rekey_child(s->ike, q->id);
		return;
	case SIDE_ALIVE:
		ops->check_alive(s->ike, q->id);
		return;
	case SIDE_POLL:
		ops->poll(s->ike, q->id);
		return;
	case SIDE_LINGER: {
		static char key[] = "%s.delete_rekeyed_delay"; /* libcharon's prototypes know no const */

		lib->settings->set_int(lib->settings, key, 3600, lib->ns);
		return;
	}
	case SIDE_LEAKS:
		child_cfg_leaks = true;
		return;
	case SIDE_EXPIRE:
		expire(s, q);
		return;
	case SIDE_MAPPING:
		mapping(s, q);
		return;
	case SIDE_STOP:
		if (s->ike)
			ops->stop(s->ike, 1000);
		s->ike = NULL;
		fake_kernel_counts(s->kernel, &r.counts);
		answer(s, &r);
		return;
	}
}

void side_run(int fd, char which)
{
	struct side s = { .fd = fd, .which = which };
	struct side_report r = { .is_event = true };
	struct side_request q;

	s.kernel = fake_kernel_new();
	s.box = cw_mailbox_new(sizeof(struct cw_ike_event), 256);
	if (!s.kernel || !s.box)
		_exit(1);
	while (true) {
		struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
					 { .fd = cw_mailbox_fd(s.box), .events = POLLIN } };

		if (poll(fds, 2, -1) < 0)
			break;
		while (cw_mailbox_take(s.box, &r.ev))
			answer(&s, &r);
		if (!fds[0].revents)
			continue;
		if (recv(fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q))
			break;
		serve(&s, &q);
	}
	if (s.ike)
		s.ike->ops->stop(s.ike, 0);
	cw_mailbox_free(s.box);
	fake_kernel_free(s.kernel);
	exit(0); /* not _exit: the leak check of sanitised builds runs at exit */
}
