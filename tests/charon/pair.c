/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pair.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rc.h"

struct peer a = { .which = 'a' }, b = { .which = 'b' };
char why[300];
bool failed, verbose;

int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void fail(const char *fmt, ...)
{
	va_list args;

	if (failed)
		return;
	failed = true;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
}

/* ---- processes ---- */

bool launch(struct peer *p)
{
	int fds[2];

	*p = (struct peer){ .which = p->which };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	fflush(NULL);
	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (p == &b)
			close(a.fd); /* or a would not see its end */
		if (unshare(CLONE_NEWNET) < 0 || send(fds[1], "", 1, 0) != 1)
			_exit(1);
		side_run(fds[1], p->which);
	}
	close(fds[1]);
	p->fd = fds[0];
	/* One byte: the namespace stands. */
	char ready;

	return p->pid > 0 && recv(p->fd, &ready, 1, 0) == 1;
}

void freeze(struct peer *p)
{
	int status;

	p->dead = true;
	kill(p->pid, SIGSTOP);
	/* The signal takes its time to reach every thread. */
	waitpid(p->pid, &status, WUNTRACED);
}

void leave(struct peer *p)
{
	int status;

	if (p->pid <= 0)
		return;
	kill(p->pid, SIGCONT);
	close(p->fd);
	if (p->dead)
		kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	if (!p->dead && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		fail("side %c ended with status 0x%x", p->which, (unsigned)status);
	p->pid = 0;
}

void tell(const struct peer *p, const struct cw_ike_event *ev)
{
	fprintf(stderr, "  %c: event %d ike %u old %u by_us %d child %d/%u cause %d \"%s\"\n", p->which,
		(int)ev->kind, ev->ike_id, ev->old_id, ev->by_us, ev->is_child, ev->child.child_id,
		(int)ev->cause, ev->detail);
}

void take(struct peer *p, int wait_ms)
{
	struct pollfd fd = { .fd = p->fd, .events = POLLIN };
	static struct side_report r;

	if (poll(&fd, 1, wait_ms) <= 0)
		return;
	if (recv(p->fd, &r, sizeof(r), 0) != (ssize_t)sizeof(r)) {
		fail("side %c died", p->which);
		p->dead = true;
		return;
	}
	if (!r.is_event) {
		p->last = r;
		p->answered = true;
		return;
	}
	if (r.ev.kind == CW_IKE_EV_SNAPSHOT) {
		if (r.ev.poll == p->polls && p->n_records < sizeof(p->records) / sizeof(p->records[0]))
			p->records[p->n_records++] = r.ev;
		return;
	}
	if (verbose)
		tell(p, &r.ev);
	if (p->n < EVENTS_MAX)
		p->events[p->n++] = r.ev;
}

void order(struct peer *p, const struct side_request *q)
{
	if (!p->dead && send(p->fd, q, sizeof(*q), MSG_NOSIGNAL) < 0)
		fail("side %c takes no orders: %s", p->which, strerror(errno));
}

int ask(struct peer *p, const struct side_request *q)
{
	int64_t until = now_ms() + 10000;

	p->answered = false;
	order(p, q);
	while (!p->answered && !p->dead && now_ms() < until)
		take(p, 100);
	if (!p->answered)
		fail("side %c gives no answer to order %d", p->which, (int)q->order);
	return p->last.rc;
}

void simple(struct peer *p, enum side_order o, uint32_t id)
{
	order(p, &(struct side_request){ .order = o, .id = id });
}

void ip(struct peer *p, const char *words)
{
	struct side_request q = { .order = SIDE_IP };

	SET(q.addr, words);
	if (ask(p, &q) != 0)
		fail("side %c: ip %s failed", p->which, words);
}

/* ---- events ---- */

void quiet(struct peer *p, int ms)
{
	int64_t until = now_ms() + ms;
	size_t n = p->n;

	while (!failed && now_ms() < until)
		take(p, 50);
	if (p->n != n)
		fail("side %c: event %d came unasked", p->which, (int)p->events[n].kind);
}

const struct cw_ike_event *wait_for(struct peer *p, enum cw_ike_event_kind kind, int ms)
{
	int64_t until = now_ms() + ms;

	while (true) {
		while (p->seen < p->n) {
			const struct cw_ike_event *ev = &p->events[p->seen++];

			if (ev->kind == kind)
				return ev;
		}
		if (failed || p->dead || now_ms() >= until)
			break;
		take(p, 50);
	}
	static const struct cw_ike_event none;

	fail("side %c: event %d did not come", p->which, (int)kind);
	return &none;
}

unsigned count(const struct peer *p, enum cw_ike_event_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->events[i].kind == kind;
	return n;
}

static void look_at(struct picture *pic, const struct cw_ike_event *ev)
{
	if (pic->ikes < 8) {
		pic->spi_i[pic->ikes] = ev->ike.spi_i;
		pic->spi_r[pic->ikes] = ev->ike.spi_r;
	}
	pic->ikes++;
	if (ev->ike.state == CW_IKE_SA_ESTABLISHED) {
		pic->established++;
		pic->ike_id = ev->ike_id;
		pic->ike = ev->ike;
	}
	for (size_t i = 0; i < ev->n_children; i++) {
		if (ev->children[i].state != CW_CHILD_INSTALLED)
			continue;
		pic->installed++;
		pic->child = ev->children[i];
		pic->child_id = ev->children[i].child_id;
		pic->spi_in = ev->children[i].spi_in;
		pic->spi_out = ev->children[i].spi_out;
	}
}

struct picture look(struct peer *p)
{
	int64_t until = now_ms() + SOON_MS;
	struct picture pic = { 0 };

	p->polls++;
	p->n_records = 0;
	simple(p, SIDE_POLL, p->polls);
	while (!failed && !p->dead && now_ms() < until &&
	       (p->n_records == 0 || !p->records[p->n_records - 1].last))
		take(p, 50);
	if (p->n_records == 0 || !p->records[p->n_records - 1].last) {
		fail("side %c: no snapshot", p->which);
		return pic;
	}
	for (size_t i = 0; i < p->n_records; i++) {
		const struct cw_ike_event *ev = &p->records[i];

		CHECK(ev->first == (i == 0) && ev->last == (i == p->n_records - 1));
		CHECK(ev->no_ike == (ev->index == UINT32_MAX));
		if (!ev->no_ike)
			look_at(&pic, ev);
	}
	return pic;
}

struct picture settle(struct peer *p, unsigned ikes, unsigned children)
{
	int64_t until = now_ms() + SOON_MS;
	struct picture pic = look(p);

	while (!failed && (pic.ikes != ikes || pic.installed != children) && now_ms() < until) {
		take(p, 20);
		pic = look(p);
	}
	if (pic.ikes != ikes || pic.installed != children)
		fail("side %c has %u IKE_SAs and %u CHILD_SAs, not %u and %u", p->which, pic.ikes,
		     pic.installed, ikes, children);
	return pic;
}

struct fake_kernel_counts kernel(struct peer *p)
{
	ask(p, &(struct side_request){ .order = SIDE_COUNTS });
	return p->last.counts;
}

void bare(struct peer *p)
{
	int64_t until = now_ms() + SOON_MS;
	struct fake_kernel_counts k;

	do {
		k = kernel(p);
	} while (!failed && (k.sas || k.larval || k.policies) && now_ms() < until);
	if (k.sas || k.larval || k.policies)
		fail("side %c's kernel still has %u SAs, %u reservations, %u policies", p->which, k.sas,
		     k.larval, k.policies);
}

/* ---- the usual tunnel ---- */

struct side_tunnel plain(char which)
{
	struct side_tunnel t = {
		.name = "pair-1",
		.index = 3,
		.generation = 7,
		.version = 2,
		.psk = "a{b}#\"\\ %n",
		.ike = "aes256-sha256-modp2048",
		.esp = "aes256-sha256-modp2048",
		.dpd_delay_s = 60,
		.dpd_timeout_s = 30,
		.child_s = 3600,
		.ike_s = 7200,
		.margin_s = 300,
		.replay_window = 128,
		.number = 5,
	};

	SET(t.local, which == 'a' ? "192.0.2.1" : "192.0.2.2");
	SET(t.remote, which == 'a' ? "192.0.2.2" : "192.0.2.1");
	return t;
}

void set(struct peer *p, const struct side_tunnel *t)
{
	struct side_request q = { .order = SIDE_SET, .tunnel = *t };

	if (ask(p, &q) != CW_OK)
		fail("side %c: tunnel refused: %s", p->which, cw_rc_name((enum cw_rc)p->last.rc));
}

void start_engine(struct peer *p)
{
	struct side_request q = { .order = SIDE_START,
				  .log_level = verbose ? CW_LOG_DEBUG : CW_LOG_ERROR };

	if (ask(p, &q) != CW_OK)
		fail("side %c does not start: %s", p->which, p->last.text);
}

void both(const struct side_tunnel *ta, const struct side_tunnel *tb)
{
	set(&a, ta);
	set(&b, tb);
}

void up(void)
{
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
}

void both_plain_up(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	both(&ta, &tb);
	up();
}
