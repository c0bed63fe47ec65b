/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two engines speak to each other over a veth pair between two network namespaces; the kernel's half
 * is played in memory, so it runs wherever namespaces can be made.
 *
 *   ike_pair [-v] [NAME...]	runs the named cases, or all
 *
 * Prints "ok NAME", "not ok NAME: why" or "skip NAME: why". Exit code 0: none failed; 77: all skipped.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rc.h"
#include "side.h"

extern char **environ;

#define EVENTS_MAX 512
#define SOON_MS 4000

struct peer {
	char which;
	pid_t pid;
	int fd;
	struct cw_ike_event events[EVENTS_MAX];
	size_t n, seen; /* wait_for() looks from `seen` on */
	struct cw_ike_event records[16]; /* of the newest poll */
	size_t n_records;
	struct side_report last;
	bool answered, dead;
	uint32_t polls;
};

static struct peer a = { .which = 'a' }, b = { .which = 'b' };
static char why[300];
static bool failed, verbose;

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
	va_list args;

	if (failed)
		return; /* the first reason is the one that counts */
	failed = true;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
}

#define CHECK(cond)                                                 \
	do {                                                        \
		if (!(cond))                                        \
			fail("line %d: %s", __LINE__, #cond);       \
	} while (0)

/* For the arrays of a request. */
#define SET(field, text) snprintf(field, sizeof(field), "%s", text)

/* ---- processes ---- */

static int run_ip(const char *const *argv)
{
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, "ip", NULL, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool launch(struct peer *p)
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

/* From here on it is silent for good. */
static void freeze(struct peer *p)
{
	int status;

	p->dead = true;
	kill(p->pid, SIGSTOP);
	/* The signal takes its time to reach every thread. */
	waitpid(p->pid, &status, WUNTRACED);
}

static void end(struct peer *p)
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

static void tell(const struct peer *p, const struct cw_ike_event *ev)
{
	fprintf(stderr, "  %c: event %d ike %u old %u by_us %d child %d/%u cause %d \"%s\"\n", p->which,
		(int)ev->kind, ev->ike_id, ev->old_id, ev->by_us, ev->is_child, ev->child.child_id,
		(int)ev->cause, ev->detail);
}

static void take(struct peer *p, int wait_ms)
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

static void order(struct peer *p, const struct side_request *q)
{
	if (!p->dead && send(p->fd, q, sizeof(*q), MSG_NOSIGNAL) < 0)
		fail("side %c takes no orders: %s", p->which, strerror(errno));
}

static int ask(struct peer *p, const struct side_request *q)
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

static void simple(struct peer *p, enum side_order o, uint32_t id)
{
	order(p, &(struct side_request){ .order = o, .id = id });
}

/* ---- events ---- */

/* The next event of the kind since the last one waited for; NULL (and a failed case) if none comes. */
static const struct cw_ike_event *wait_for(struct peer *p, enum cw_ike_event_kind kind, int ms)
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

static unsigned count(const struct peer *p, enum cw_ike_event_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->events[i].kind == kind;
	return n;
}

struct picture {
	unsigned ikes, established, installed;
	uint64_t spi_i[8], spi_r[8];
	uint32_t ike_id, child_id, spi_in, spi_out;
	struct cw_child_info child;
	struct cw_ike_sa_info ike;
};

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

static struct picture look(struct peer *p)
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

/* Snapshots until there are just so many IKE_SAs and installed CHILD_SAs; the last one. */
static struct picture settle(struct peer *p, unsigned ikes, unsigned children)
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

static struct fake_kernel_counts kernel(struct peer *p)
{
	ask(p, &(struct side_request){ .order = SIDE_COUNTS });
	return p->last.counts;
}

/* The kernel's part goes right after the IKE_SA, not with it. */
static void bare(struct peer *p)
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

static struct side_tunnel plain(char which)
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

static void set(struct peer *p, const struct side_tunnel *t)
{
	struct side_request q = { .order = SIDE_SET, .tunnel = *t };

	if (ask(p, &q) != CW_OK)
		fail("side %c: tunnel refused: %s", p->which, cw_rc_name((enum cw_rc)p->last.rc));
}

static void start_engine(struct peer *p)
{
	struct side_request q = { .order = SIDE_START,
				  .log_level = verbose ? CW_LOG_DEBUG : CW_LOG_ERROR };

	if (ask(p, &q) != CW_OK)
		fail("side %c does not start: %s", p->which, p->last.text);
}

static void both(const struct side_tunnel *ta, const struct side_tunnel *tb)
{
	set(&a, ta);
	set(&b, tb);
}

static void up(void)
{
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
}

static void both_plain_up(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	both(&ta, &tb);
	up();
}

/* ---- cases ---- */

static void case_up(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct fake_kernel_counts k;
	struct picture pa, pb;

	ta.inner_ipv6 = tb.inner_ipv6 = true;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->index == 3 && ev->generation == 7 && ev->by_us && ev->ike.initiator);
	CHECK(ev->ike.version == 2 && !ev->ike.nat_local && !ev->ike.encap);
	CHECK(strcmp(ev->ike.remote_id, "192.0.2.2") == 0);
	CHECK(strcmp(ev->ike.proposal, "AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048") == 0);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.pair == 0 && ev->child.reqid == CW_REQID_BASE + 5 * 256);
	CHECK(ev->child.n_local_ts == 2 && ev->child.n_remote_ts == 2 && !ev->child.narrowed);
	CHECK(!ev->child.pfs && strcmp(ev->child.proposal, "AES_CBC_256/HMAC_SHA2_256_128") == 0);
	ev = wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(!ev->by_us && !ev->ike.initiator && ev->index == 3);
	ev = wait_for(&b, CW_IKE_EV_INITIAL_CONTACT, SOON_MS);
	CHECK(ev->index == 3);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.spi_i[0] == pb.spi_i[0] && pa.spi_r[0] == pb.spi_r[0] && pa.spi_i[0]);
	CHECK(pa.spi_in == pb.spi_out && pa.spi_out == pb.spi_in && pa.spi_in);
	CHECK(pa.child.bytes_in == 1000 && pa.child.packets_out == 10);
	CHECK(pa.ike.rekey_in_s > 6800 && pa.ike.rekey_in_s <= 6900);
	CHECK(pa.ike.expires_in_s > 7100 && pa.ike.expires_in_s <= 7200);
	CHECK(pa.child.rekey_in_s > 3200 && pa.child.rekey_in_s <= 3300);
	k = kernel(&a);
	CHECK(k.sas == 2 && k.larval == 0 && k.policies == 6 && k.policies_fwd == 2);
	CHECK(k.if_id == CW_IF_ID_BASE + 5 && k.enc == CW_ENC_AES_CBC);
	CHECK(k.integ == CW_INTEG_HMAC_SHA256_128 && k.replay_window == 128 && !k.esn && !k.encap);
	CHECK(k.out_spi == pa.spi_out && k.hard_s == 3600);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
	/* A second order changes nothing. */
	simple(&a, SIDE_INITIATE, 3);
	settle(&a, 1, 1);
}

static void case_up_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct fake_kernel_counts k;
	struct picture pa, pb;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->ike.version == 1 && ev->by_us);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.n_local_ts == 1 && ev->child.pfs);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_INITIAL_CONTACT, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	pa = settle(&a, 1, 1);
	pb = settle(&b, 1, 1);
	CHECK(pa.spi_in == pb.spi_out && pa.spi_out == pb.spi_in);
	k = kernel(&b);
	CHECK(k.sas == 2 && k.larval == 0 && k.policies == 3);
}

static void refused(const struct side_tunnel *ta, const struct side_tunnel *tb, enum cw_cause at_a,
		    enum cw_cause at_b, const char *detail_a)
{
	const struct cw_ike_event *ev;

	both(ta, tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != at_a || !ev->by_us || ev->index != 3))
		fail("at a: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)at_a);
	if (!failed && !strstr(ev->detail, detail_a))
		fail("at a: detail \"%s\" lacks \"%s\"", ev->detail, detail_a);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != at_b || ev->by_us || ev->index != 3))
		fail("at b: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)at_b);
}

static void gone_without_trace(void)
{
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	bare(&a);
	bare(&b);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 1 && count(&b, CW_IKE_EV_FAILED) == 1);
}

static void case_wrong_psk(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.psk, "another");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "192.0.2.2");
	CHECK(!count(&a, CW_IKE_EV_IKE_UP) && !count(&b, CW_IKE_EV_IKE_UP));
	CHECK(!count(&b, CW_IKE_EV_INITIAL_CONTACT));
	gone_without_trace();
}

static void case_wrong_psk_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.psk, "another");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "");
}

static void case_wrong_id(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.local_id, "a.example");
	refused(&ta, &tb, CW_CAUSE_AUTH_BY_PEER, CW_CAUSE_AUTH_BY_US, "a.example");
	gone_without_trace();
}

static void case_wrong_ike_proposal(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.ike, "aes128-sha384-modp2048");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "AES_CBC_256");
	gone_without_trace();
}

static void case_wrong_ike_proposal_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.ike, "aes128-sha384-modp2048");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "AES_CBC_256");
	gone_without_trace();
}

static void case_wrong_dh_group(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	/* b has the rest in common with a, so it asks for its own group. */
	SET(tb.ike, "aes256-sha256-ecp384");
	refused(&ta, &tb, CW_CAUSE_NO_IKE_PROPOSAL, CW_CAUSE_NO_IKE_PROPOSAL, "MODP_2048");
	gone_without_trace();
}

/* The IKE_SA stays, its child is refused. */
static void child_refused(const struct side_tunnel *ta, const struct side_tunnel *tb, enum cw_cause cause)
{
	const struct cw_ike_event *ev;

	both(ta, tb);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != cause || !ev->is_child || !ev->by_us))
		fail("at a: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)cause);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	if (!failed && (ev->cause != cause || !ev->is_child || ev->by_us))
		fail("at b: cause %d (%s), not %d", (int)ev->cause, ev->detail, (int)cause);
	settle(&a, 1, 0);
	/* Asked again on the same IKE_SA, it is refused again. */
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == cause && ev->is_child);
	settle(&a, 1, 0);
	CHECK(kernel(&a).larval == 0 && kernel(&a).policies == 0);
}

static void case_wrong_esp_proposal(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(tb.esp, "aes128gcm16");
	child_refused(&ta, &tb, CW_CAUSE_NO_ESP_PROPOSAL);
}

static void case_wrong_esp_proposal_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.version = tb.version = 1;
	SET(tb.esp, "aes128gcm16");
	child_refused(&ta, &tb, CW_CAUSE_NO_ESP_PROPOSAL);
}

static void case_ts_mismatch(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	SET(ta.near[0], "10.1.0.0/16");
	SET(ta.far[0], "10.2.0.0/16");
	SET(tb.near[0], "10.9.0.0/16");
	SET(tb.far[0], "10.1.0.0/16");
	child_refused(&ta, &tb, CW_CAUSE_TS_UNACCEPTABLE);
}

static void case_kernel_refuses(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	both(&ta, &tb);
	simple(&b, SIDE_REFUSE, 1);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_KERNEL && ev->is_child);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ESP_PROPOSAL); /* all that IKE can say */
	simple(&a, SIDE_REFUSE, 1);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_KERNEL && ev->is_child);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	settle(&a, 1, 1);
}

static void case_peer_silent(void)
{
	struct side_tunnel ta = plain('a');
	const struct cw_ike_event *ev;
	int64_t began = now_ms();

	set(&a, &ta);
	freeze(&b);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ANSWER && ev->by_us && !ev->is_child);
	CHECK(now_ms() - began >= 1500 && now_ms() - began < 3000);
	settle(&a, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 1);
	bare(&a);
	/* One attempt an order: the next is as good. */
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ANSWER);
}

static void peer_dead(unsigned version)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	int64_t began;

	ta.version = tb.version = version;
	ta.dpd_delay_s = 1;
	ta.dpd_timeout_s = 2;
	both(&ta, &tb);
	up();
	freeze(&b);
	began = now_ms();
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, 8000);
	CHECK(ev->cause == CW_CAUSE_PEER_DEAD && !ev->by_us);
	CHECK(now_ms() - began >= 1900 && now_ms() - began < 5000);
	settle(&a, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 0 && count(&a, CW_IKE_EV_CHILD_DOWN) == 1);
	CHECK(count(&a, CW_IKE_EV_IKE_DOWN) == 1);
	bare(&a);
}

static void case_peer_dead(void)
{
	peer_dead(2);
}

static void case_peer_dead_ikev1(void)
{
	peer_dead(1);
}

static void case_check_alive(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa;

	ta.dpd_timeout_s = 1;
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_ALIVE, pa.ike_id);
	pa = settle(&a, 1, 1);
	freeze(&b);
	simple(&a, SIDE_ALIVE, pa.ike_id); /* the delay is 60 s: only the order asks */
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DEAD);
}

static void case_rekey_child(void)
{
	const struct cw_ike_event *ev;
	struct picture before, after;
	struct fake_kernel_counts k;

	both_plain_up();
	for (unsigned i = 0; i < 5 && !failed; i++) {
		before = settle(&a, 1, 1);
		simple(i % 2 ? &b : &a, SIDE_REKEY_CHILD, i % 2 ? settle(&b, 1, 1).child_id : before.child_id);
		ev = wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
		CHECK(ev->old_id == before.child_id && ev->child.pfs);
		wait_for(&b, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	}
	CHECK(count(&a, CW_IKE_EV_CHILD_DOWN) == 0 && count(&b, CW_IKE_EV_CHILD_DOWN) == 0);
	after = settle(&a, 1, 1);
	k = kernel(&a);
	CHECK(k.policies == 3 && k.out_spi == after.spi_out);
}

static void case_rekey_ike(void)
{
	const struct cw_ike_event *ev;
	struct picture before, after;

	both_plain_up();
	before = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, before.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->old_id == before.ike_id && ev->ike_id != before.ike_id && ev->index == 3);
	CHECK(ev->ike.state == CW_IKE_SA_ESTABLISHED && strcmp(ev->ike.remote_id, "192.0.2.2") == 0);
	wait_for(&b, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	after = settle(&a, 1, 1);
	CHECK(after.ike_id != before.ike_id && after.child_id == before.child_id);
	CHECK(count(&a, CW_IKE_EV_IKE_DOWN) == 0 && count(&b, CW_IKE_EV_IKE_DOWN) == 0);
	CHECK(count(&a, CW_IKE_EV_IKE_UP) == 1 && count(&a, CW_IKE_EV_CHILD_DOWN) == 0);
	/* And the child's events still belong. */
	simple(&a, SIDE_TERMINATE, after.ike_id);
	/* Children go first, see the comment on closing in charon_orders.c. */
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->by_us);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->by_us && ev->cause == CW_CAUSE_NONE && ev->ike_id == after.ike_id);
}

static void case_reauth_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture before, after;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	up();
	before = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, before.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->old_id == before.ike_id && ev->ike.state == CW_IKE_SA_ESTABLISHED);
	wait_for(&b, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	after = settle(&a, 1, 1);
	CHECK(after.ike_id != before.ike_id && after.child_id == before.child_id);
	CHECK(count(&a, CW_IKE_EV_CHILD_DOWN) == 0 && count(&b, CW_IKE_EV_CHILD_DOWN) == 0);
	CHECK(count(&b, CW_IKE_EV_INITIAL_CONTACT) == 1);
}

/* Field case BL-002. */
static void case_pfs_differs(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa, pb;

	SET(ta.esp, "aes256gcm16-ecp384");
	SET(tb.esp, "aes256gcm16-modp2048");
	both(&ta, &tb);
	up();
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_CHILD, pa.child_id);
	ev = wait_for(&a, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(ev->is_child && ev->by_us && ev->cause == CW_CAUSE_DH_GROUP);
	CHECK(strstr(ev->detail, "PFS") && strstr(ev->detail, "ECP_384"));
	ev = wait_for(&b, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(!ev->by_us && ev->cause == CW_CAUSE_DH_GROUP);
	if (!failed && (!strstr(ev->detail, "ECP_384") || !strstr(ev->detail, "MODP_2048")))
		fail("detail \"%s\" does not name both groups", ev->detail);
	/* When the other side tries, both sides' groups are known here too. */
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_REKEY_CHILD, pb.child_id);
	ev = wait_for(&a, CW_IKE_EV_REKEY_FAILED, SOON_MS);
	CHECK(strstr(ev->detail, "MODP_2048") && strstr(ev->detail, "ECP_384"));
	pa = settle(&a, 1, 1);
	CHECK(pa.installed == 1); /* the old one stays in use */
}

/* Field case BL-001: the peer rekeys without a group where we have one, and "none" as well. */
static void case_rekey_without_pfs(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct picture pb;

	SET(ta.esp2, "aes256-sha256");
	SET(tb.esp, "aes256-sha256");
	both(&ta, &tb);
	up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_REKEY_CHILD, pb.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	CHECK(!count(&a, CW_IKE_EV_REKEY_FAILED) && !count(&a, CW_IKE_EV_CHILD_DOWN));
}

static void case_peer_delete(void)
{
	const struct cw_ike_event *ev;
	struct picture pb;

	both_plain_up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_TERMINATE_CHILD, pb.child_id);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_CHILD_DELETE && !ev->by_us && ev->child.spi_in);
	ev = wait_for(&b, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->by_us && ev->cause == CW_CAUSE_NONE);
	settle(&a, 1, 0);
	simple(&a, SIDE_INITIATE, 3);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	simple(&b, SIDE_TERMINATE, pb.ike_id);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_CHILD_DELETE);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE && !ev->by_us);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	CHECK(count(&a, CW_IKE_EV_FAILED) == 0);
}

static void case_peer_delete_ikev1(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pb;

	ta.version = tb.version = 1;
	both(&ta, &tb);
	up();
	pb = settle(&b, 1, 1);
	simple(&b, SIDE_TERMINATE, pb.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
}

static void case_expiry(void)
{
	struct side_request q = { .order = SIDE_EXPIRE, .addr = "192.0.2.1" };
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	pa = settle(&a, 1, 1);
	q.id = pa.spi_in;
	order(&a, &q); /* soft: a rekey */
	ev = wait_for(&a, CW_IKE_EV_CHILD_REKEYED, SOON_MS);
	CHECK(ev->old_id == pa.child_id);
	q.id = ev->child.spi_in;
	q.force = true;
	order(&a, &q);
	ev = wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_EXPIRED && !ev->by_us);
}

static void case_crossing(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct picture pa, pb;
	bool same;

	both(&ta, &tb);
	kill(a.pid, SIGSTOP);
	kill(b.pid, SIGSTOP);
	simple(&a, SIDE_INITIATE, 3);
	simple(&b, SIDE_INITIATE, 3);
	kill(a.pid, SIGCONT);
	kill(b.pid, SIGCONT);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	wait_for(&b, CW_IKE_EV_IKE_UP, SOON_MS);
	pa = settle(&a, 2, 2);
	pb = settle(&b, 2, 2);
	same = (pa.spi_i[0] == pb.spi_i[0] && pa.spi_i[1] == pb.spi_i[1]) ||
	       (pa.spi_i[0] == pb.spi_i[1] && pa.spi_i[1] == pb.spi_i[0]);
	CHECK(same && pa.spi_i[0] != pa.spi_i[1]);
	/* One is closed: the other's policies must stay. */
	simple(&a, SIDE_TERMINATE, pa.ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	pa = settle(&a, 1, 1);
	CHECK(kernel(&a).policies == 3 && kernel(&a).out_spi == pa.spi_out && kernel(&a).sas == 2);
}

/* Field case BL-042. */
static void case_two_tunnels_one_peer(void)
{
	struct side_tunnel t1 = plain('a'), t2 = plain('a'), p1 = plain('b'), p2 = plain('b');
	const struct cw_ike_event *ev;

	SET(t1.name, "t1");
	SET(t2.name, "t2");
	SET(t1.local_id, "a.example");
	SET(t2.local_id, "b.example");
	SET(p1.remote_id, "a.example");
	SET(p2.remote_id, "b.example");
	SET(t1.psk, "K1");
	SET(t2.psk, "K2");
	SET(p1.psk, "K1");
	SET(p2.psk, "K2");
	t2.index = p2.index = 4;
	t2.number = p2.number = 6;
	both(&t1, &p1);
	both(&t2, &p2);
	simple(&a, SIDE_INITIATE, 3);
	simple(&a, SIDE_INITIATE, 4);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->index == 3 || ev->index == 4);
	settle(&a, 2, 2);
	settle(&b, 2, 2);
	CHECK(kernel(&a).policies == 6 && kernel(&b).policies == 6);
	CHECK(!count(&a, CW_IKE_EV_FAILED) && !count(&b, CW_IKE_EV_FAILED));
}

/* Field case BL-052 (c). */
static void case_networks(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	unsigned pairs = 0;
	struct picture pa;

	SET(ta.near[0], "10.1.0.0/16");
	SET(ta.near[1], "10.3.0.0/16");
	SET(ta.far[0], "10.2.0.0/16");
	SET(ta.far[1], "10.4.0.0/16");
	memcpy(tb.near, ta.far, sizeof(tb.near));
	memcpy(tb.far, ta.near, sizeof(tb.far));
	ta.number = 0; /* plain policies are fine with selectors of their own */
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	for (unsigned i = 0; i < 4; i++) {
		const struct cw_ike_event *ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);

		pairs |= 1u << ev->child.pair;
		CHECK(ev->child.reqid == CW_REQID_BASE + 99 * 256 + ev->child.pair);
	}
	CHECK(pairs == 0xf);
	pa = settle(&a, 1, 4);
	CHECK(kernel(&a).policies == 12);
	/* One is lost; only that one is made again. */
	simple(&a, SIDE_TERMINATE_CHILD, pa.child_id);
	wait_for(&a, CW_IKE_EV_CHILD_DOWN, SOON_MS);
	settle(&a, 1, 3);
	for (uint32_t pair = 0; pair < 4; pair++)
		order(&a, &(struct side_request){ .order = SIDE_INITIATE, .id = 3, .pair = pair });
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	settle(&a, 1, 4);
}

static void case_narrowed(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	SET(tb.near[0], "10.2.0.0/16");
	SET(tb.far[0], "10.1.0.0/16");
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(ev->child.narrowed && ev->child.n_remote_ts == 1 && ev->child.remote_ts[0].len == 16);
	ev = wait_for(&b, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(!ev->child.narrowed);
}

/* Field case BL-054. */
static void case_no_policy_for_everything(void)
{
	struct side_request q = { .order = SIDE_SET, .tunnel = plain('a') };

	q.tunnel.number = 0;
	CHECK(ask(&a, &q) == CW_E_INVALID);
	q.tunnel.mark = CW_IF_ID_BASE + 5;
	CHECK(ask(&a, &q) == CW_OK);
}

static void case_vti_mark(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');

	ta.number = 0;
	ta.mark = CW_IF_ID_BASE + 5;
	both(&ta, &tb);
	up();
	CHECK(kernel(&a).mark == CW_IF_ID_BASE + 5 && kernel(&a).if_id == 0);
	CHECK(kernel(&a).policies == 3);
}

static void case_nat_forbidden(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	ta.nat = 2; /* never */
	tb.nat = 1; /* forced: looks like a NAT from the other side */
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NAT_FORBIDDEN);
	settle(&a, 0, 0);
	settle(&b, 0, 0);
	simple(&b, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NAT_FORBIDDEN && !ev->by_us);
}

static void case_forced_encap(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;

	ta.nat = 1;
	SET(ta.esp, "aes256gcm16-ecp256");
	SET(tb.esp, "aes256gcm16-ecp256");
	ta.esn = tb.esn = true;
	both(&ta, &tb);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->ike.encap && ev->ike.remote_port == 4500);
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(kernel(&a).encap && kernel(&a).esn && kernel(&a).enc == CW_ENC_AES_GCM_16);
	CHECK(kernel(&a).integ == CW_INTEG_NONE);
}

/* Field case BL-050: a new key is no reason to end what runs. */
static void case_key_change(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	SET(ta.psk, "new");
	SET(tb.psk, "new");
	ta.generation = tb.generation = 8;
	both(&ta, &tb);
	pa = settle(&a, 1, 1);
	simple(&a, SIDE_REKEY_IKE, pa.ike_id);
	ev = wait_for(&a, CW_IKE_EV_IKE_REKEYED, SOON_MS);
	CHECK(ev->generation == 7);
	simple(&a, SIDE_TERMINATE, ev->ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	settle(&a, 0, 0);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_IKE_UP, SOON_MS);
	CHECK(ev->generation == 8);
}

static void case_removed(void)
{
	const struct cw_ike_event *ev;
	struct picture pa;

	both_plain_up();
	simple(&a, SIDE_REMOVE, 3);
	pa = settle(&a, 1, 1); /* what is there goes on */
	simple(&a, SIDE_TERMINATE, pa.ike_id);
	wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	settle(&b, 0, 0);
	simple(&b, SIDE_INITIATE, 3); /* and nothing new comes */
	ev = wait_for(&b, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_IKE_PROPOSAL || ev->cause == CW_CAUSE_AUTH_BY_PEER);
}

static void case_ipv6(void)
{
	struct side_tunnel ta = plain('a'), tb = plain('b');
	struct side_request q = { .order = SIDE_NET, .addr = "2001:db8::1/64" };

	CHECK(ask(&a, &q) == 0);
	SET(q.addr, "2001:db8::2/64");
	CHECK(ask(&b, &q) == 0);
	SET(ta.local, "");
	SET(ta.remote, "2001:db8::2");
	SET(tb.local, "2001:db8::2");
	SET(tb.remote, "2001:db8::1");
	both(&ta, &tb);
	/* The kernel may need a moment until it uses the new addresses. */
	for (unsigned i = 0; i < 3 && !failed && !count(&a, CW_IKE_EV_CHILD_UP); i++) {
		int64_t until = now_ms() + SOON_MS;

		simple(&a, SIDE_INITIATE, 3);
		while (count(&a, CW_IKE_EV_FAILED) == i && !count(&a, CW_IKE_EV_CHILD_UP) && !failed &&
		       now_ms() < until)
			take(&a, 50);
	}
	wait_for(&a, CW_IKE_EV_CHILD_UP, SOON_MS);
	CHECK(settle(&a, 1, 1).ike.local.family == CW_FAMILY_IPV6);
}

static void case_no_route(void)
{
	struct side_tunnel ta = plain('a');
	const struct cw_ike_event *ev;

	SET(ta.local, "");
	SET(ta.remote, "198.51.100.9");
	set(&a, &ta);
	simple(&a, SIDE_INITIATE, 3);
	ev = wait_for(&a, CW_IKE_EV_FAILED, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_NO_ROUTE && ev->by_us && ev->index == 3);
	settle(&a, 0, 0);
}

static void case_stop(void)
{
	const struct cw_ike_event *ev;

	both_plain_up();
	CHECK(ask(&b, &(struct side_request){ .order = SIDE_STOP }) == 0);
	CHECK(b.last.counts.sas == 0 && b.last.counts.policies == 0 && b.last.counts.larval == 0);
	ev = wait_for(&a, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_PEER_DELETE);
	ev = wait_for(&b, CW_IKE_EV_IKE_DOWN, SOON_MS);
	CHECK(ev->cause == CW_CAUSE_STOPPING && ev->by_us);
	/* And it can be started again in the same process. */
	start_engine(&b);
	both_plain_up();
}

/* The end comes while IKE_SAs are being closed by either side, or made. */
static void case_stop_in_the_middle(void)
{
	for (unsigned i = 0; i < 12 && !failed; i++) {
		struct picture pa, pb;

		both_plain_up();
		pa = settle(&a, 1, 1);
		pb = settle(&b, 1, 1);
		switch (i % 4) {
		case 0:
			simple(&a, SIDE_TERMINATE, pa.ike_id);
			break;
		case 1:
			simple(&b, SIDE_TERMINATE, pb.ike_id);
			break;
		case 2:
			simple(&a, SIDE_REKEY_IKE, pa.ike_id);
			break;
		case 3:
			order(&a, &(struct side_request){
					  .order = SIDE_TERMINATE, .id = pa.ike_id, .force = true });
			simple(&a, SIDE_INITIATE, 3);
			break;
		}
		ask(&a, &(struct side_request){ .order = SIDE_STOP });
		CHECK(a.last.counts.sas == 0 && a.last.counts.policies == 0 && a.last.counts.larval == 0);
		start_engine(&a);
		pb = look(&b);
		for (size_t k = 0; k < b.n_records; k++)
			order(&b, &(struct side_request){ .order = SIDE_TERMINATE,
							  .id = b.records[k].ike_id,
							  .force = true });
		settle(&b, 0, 0);
		a.n = a.seen = b.n = b.seen = 0;
	}
}

static void case_port_taken(void)
{
	struct side_request q = { .order = SIDE_START };
	char who[48];

	CHECK(ask(&a, &q) == CW_E_EXISTS);
	ask(&a, &(struct side_request){ .order = SIDE_STOP });
	snprintf(who, sizeof(who), "4500 on 0.0.0.0 is taken by ike_pair (pid %d)",
		 ask(&a, &(struct side_request){ .order = SIDE_HOLD }));
	CHECK(ask(&a, &q) == CW_E_BUSY);
	if (!failed && !strstr(a.last.text, who))
		fail("\"%s\" does not say \"%s\"", a.last.text, who);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "up", case_up },
	{ "up-ikev1", case_up_ikev1 },
	{ "wrong-psk", case_wrong_psk },
	{ "wrong-psk-ikev1", case_wrong_psk_ikev1 },
	{ "wrong-id", case_wrong_id },
	{ "wrong-ike-proposal", case_wrong_ike_proposal },
	{ "wrong-ike-proposal-ikev1", case_wrong_ike_proposal_ikev1 },
	{ "wrong-dh-group", case_wrong_dh_group },
	{ "wrong-esp-proposal", case_wrong_esp_proposal },
	{ "wrong-esp-proposal-ikev1", case_wrong_esp_proposal_ikev1 },
	{ "ts-mismatch", case_ts_mismatch },
	{ "kernel-refuses", case_kernel_refuses },
	{ "peer-silent", case_peer_silent },
	{ "peer-dead", case_peer_dead },
	{ "peer-dead-ikev1", case_peer_dead_ikev1 },
	{ "check-alive", case_check_alive },
	{ "rekey-child", case_rekey_child },
	{ "rekey-ike", case_rekey_ike },
	{ "reauth-ikev1", case_reauth_ikev1 },
	{ "BL-002-pfs-differs", case_pfs_differs },
	{ "BL-001-rekey-without-pfs", case_rekey_without_pfs },
	{ "peer-delete", case_peer_delete },
	{ "peer-delete-ikev1", case_peer_delete_ikev1 },
	{ "expiry", case_expiry },
	{ "crossing-starts", case_crossing },
	{ "BL-042-two-tunnels-one-peer", case_two_tunnels_one_peer },
	{ "BL-052-networks", case_networks },
	{ "narrowed", case_narrowed },
	{ "BL-054-no-policy-for-everything", case_no_policy_for_everything },
	{ "vti-mark", case_vti_mark },
	{ "nat-forbidden", case_nat_forbidden },
	{ "forced-encap", case_forced_encap },
	{ "BL-050-key-change", case_key_change },
	{ "removed", case_removed },
	{ "ipv6", case_ipv6 },
	{ "no-route", case_no_route },
	{ "stop", case_stop },
	{ "stop-in-the-middle", case_stop_in_the_middle },
	{ "port-taken", case_port_taken },
};

static bool join(void)
{
	char pid_a[16], pid_b[16];
	const char *add[] = { "ip",   "link", "add",  "cw0",  "netns", pid_a, "type",
			      "veth", "peer", "name", "cw0", "netns", pid_b, NULL };

	snprintf(pid_a, sizeof(pid_a), "%d", (int)a.pid);
	snprintf(pid_b, sizeof(pid_b), "%d", (int)b.pid);
	if (run_ip(add) != 0)
		return false;
	return ask(&a, &(struct side_request){ .order = SIDE_NET, .addr = "192.0.2.1/24" }) == 0 &&
	       ask(&b, &(struct side_request){ .order = SIDE_NET, .addr = "192.0.2.2/24" }) == 0;
}

static void run(size_t i)
{
	failed = false;
	why[0] = '\0';
	if (!launch(&a) || !launch(&b) || !join())
		fail("no namespaces");
	if (!failed) {
		start_engine(&a);
		start_engine(&b);
	}
	if (!failed)
		cases[i].run();
	/* Whatever was done, no call to the kernel may have been a wrong one. */
	if (!failed && !a.dead) {
		struct fake_kernel_counts k = kernel(&a);

		if (k.wrong)
			fail("%u wrong calls to a's kernel, first: %s", k.wrong, k.wrong_text);
	}
	if (!failed && !b.dead) {
		struct fake_kernel_counts k = kernel(&b);

		if (k.wrong)
			fail("%u wrong calls to b's kernel, first: %s", k.wrong, k.wrong_text);
	}
	end(&a);
	end(&b);
	for (size_t k = 0; failed && !verbose && k < a.n + b.n; k++)
		tell(k < a.n ? &a : &b, k < a.n ? &a.events[k] : &b.events[k - a.n]);
	if (failed)
		printf("not ok %s: %s\n", cases[i].name, why);
	else
		printf("ok %s\n", cases[i].name);
	fflush(stdout);
}

static bool wanted(const char *name, int argc, char **argv)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

static bool can_run(void)
{
	int status = 1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	unsigned bad = 0;
	bool possible = can_run();

	verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!wanted(cases[i].name, argc, argv))
			continue;
		if (!possible) {
			printf("skip %s: no right to make network namespaces here\n", cases[i].name);
			continue;
		}
		run(i);
		bad += failed;
	}
	if (!possible)
		return 77;
	return bad ? 1 : 0;
}
