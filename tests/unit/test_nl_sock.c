/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_sock against a peer made of canned answers: the other end of a socket pair, filled before the
 * request is sent (its first sequence number is 1). Errors that a socket pair can't make are
 * put in the place of recvmsg(2), by the linker's --wrap.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <libmnl/libmnl.h>

#include "nl/nl_buf.h"
#include "nl/nl_sock.h"

#define PORT 0 /* the fake's sockets are connected and need no address */
#define TIMEOUT_MS 50
#define DATA 0x20 /* a message type */

/* ---- recvmsg(2) ---- */

static int errors[16]; /* errno of the next calls; 0: the real one */
static size_t n_errors, at_error;

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	if (at_error < n_errors && errors[at_error++]) {
		errno = errors[at_error - 1];
		return -1;
	}
	return __real_recvmsg(fd, msg, flags);
}

static void plan_errors(const int *list, size_t n)
{
	memcpy(errors, list, n * sizeof(*list));
	n_errors = n;
	at_error = 0;
}

/* ---- the peer ---- */

struct fake {
	struct cw_nl_sock *sock;
	int peer;
};

static int setup(void **state)
{
	static struct fake f;
	int fds[2];

	n_errors = at_error = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	f.peer = fds[1];
	assert_int_equal(cw_nl_open_fd(fds[0], PORT, TIMEOUT_MS, &f.sock), CW_OK);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	cw_nl_close(f->sock);
	if (f->peer >= 0)
		close(f->peer);
	return 0;
}

struct canned {
	_Alignas(8) uint8_t bytes[2048];
	size_t len;
};

static struct nlmsghdr *add(struct canned *c, uint16_t type, uint16_t flags, uint32_t seq)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(c->bytes + c->len);

	assert_true(c->len + 512 < sizeof(c->bytes));
	*nlh = (struct nlmsghdr){ .nlmsg_len = sizeof(*nlh),
		.nlmsg_type = type,
		.nlmsg_flags = flags,
		.nlmsg_seq = seq,
		.nlmsg_pid = PORT };
	c->len += sizeof(*nlh);
	return nlh;
}

static void grow(struct canned *c, struct nlmsghdr *nlh, const void *bytes, size_t len)
{
	memset(c->bytes + c->len, 0, MNL_ALIGN(len));
	memcpy(c->bytes + c->len, bytes, len);
	nlh->nlmsg_len += (uint32_t)MNL_ALIGN(len);
	c->len += MNL_ALIGN(len);
}

static void add_data(struct canned *c, uint32_t seq, uint16_t flags, uint32_t value)
{
	grow(c, add(c, DATA, flags, seq), &value, sizeof(value));
}

/* text: extended ack, NULL for none. capped: without the request's echo. */
static void add_ack(struct canned *c, uint32_t seq, int err, const char *text, bool capped)
{
	uint16_t flags = (uint16_t)((text ? NLM_F_ACK_TLVS : 0) | (capped ? NLM_F_CAPPED : 0));
	struct nlmsghdr *nlh = add(c, NLMSG_ERROR, flags, seq);
	struct nlmsgerr body = { .error = -err,
		.msg = { .nlmsg_len = sizeof(struct nlmsghdr) + 20 } };
	uint8_t echo[20] = { 1, 2, 3 };

	grow(c, nlh, &body, sizeof(body));
	if (!capped)
		grow(c, nlh, echo, sizeof(echo));
	if (text) {
		struct nlattr offs = { .nla_len = 8, .nla_type = NLMSGERR_ATTR_OFFS };
		struct nlattr attr = { .nla_len = (uint16_t)(4 + strlen(text) + 1),
			.nla_type = NLMSGERR_ATTR_MSG };
		uint32_t where = 16;

		grow(c, nlh, &offs, sizeof(offs));
		grow(c, nlh, &where, sizeof(where));
		memcpy(c->bytes + c->len, &attr, sizeof(attr));
		memcpy(c->bytes + c->len + 4, text, strlen(text) + 1);
		memset(c->bytes + c->len + 4 + strlen(text) + 1, 0, 4);
		nlh->nlmsg_len += (uint32_t)MNL_ALIGN(attr.nla_len);
		c->len += MNL_ALIGN((size_t)attr.nla_len);
	}
}

static void add_done(struct canned *c, uint32_t seq, uint16_t flags, int err)
{
	int32_t code = -err;

	grow(c, add(c, NLMSG_DONE, (uint16_t)(NLM_F_MULTI | flags), seq), &code, sizeof(code));
}

static void say(struct fake *f, struct canned *c)
{
	assert_int_equal(send(f->peer, c->bytes, c->len, MSG_NOSIGNAL), (ssize_t)c->len);
	c->len = 0;
}

/* Reads what was asked, so that there is always room to ask. */
static void forget(struct fake *f)
{
	uint8_t buf[64];

	while (recv(f->peer, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

/* ---- the asking side ---- */

struct heard {
	uint32_t values[16];
	size_t n;
	int restarts;
};

static void hear(const struct nlmsghdr *nlh, void *arg)
{
	struct heard *h = arg;

	assert_true(h->n < 16);
	assert_true(cw_nl_head(nlh, nlh->nlmsg_len, &h->values[h->n], sizeof(h->values[0])));
	h->n++;
}

static void restart(void *arg)
{
	struct heard *h = arg;

	h->n = 0;
	h->restarts++;
}

static enum cw_rc ask(struct fake *f, struct heard *h, struct cw_kernel_err *err)
{
	_Alignas(8) uint8_t buf[64];
	struct nlmsghdr *nlh = cw_nl_begin(buf, sizeof(buf), DATA, 0, 4);

	*err = (struct cw_kernel_err){ 0 };
	return cw_nl_request(f->sock, buf, nlh->nlmsg_len, h ? hear : NULL, h, err);
}

static enum cw_rc dump(struct fake *f, struct heard *h, struct cw_kernel_err *err)
{
	_Alignas(8) uint8_t buf[64];
	struct nlmsghdr *nlh = cw_nl_begin(buf, sizeof(buf), DATA, NLM_F_DUMP, 4);

	*err = (struct cw_kernel_err){ 0 };
	return cw_nl_dump(f->sock, buf, nlh->nlmsg_len, hear, restart, h, err);
}

/* ---- requests ---- */

static void test_request(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };
	struct nlmsghdr sent;

	add_data(&c, 1, 0, 42);
	add_ack(&c, 1, 0, NULL, true);
	say(f, &c);
	assert_int_equal(ask(f, &h, &err), CW_OK);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.values[0], 42);
	assert_int_equal(recv(f->peer, &sent, sizeof(sent), MSG_TRUNC), 20);
	assert_int_equal(sent.nlmsg_seq, 1);
	assert_int_equal(sent.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
	/* The answer and its ack may come apart. */
	add_data(&c, 2, 0, 43);
	say(f, &c);
	add_ack(&c, 2, 0, NULL, false);
	say(f, &c);
	assert_int_equal(ask(f, &h, &err), CW_OK);
	assert_int_equal(h.values[1], 43);
}

/* What belongs to others is passed over: an ack that comes late, another port, an event. */
static void test_foreign_answers(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	assert_int_equal(ask(f, &h, &err), CW_E_TIMEOUT); /* 1 is never answered in time */
	assert_int_equal(err.err, ETIMEDOUT);
	add_data(&c, 1, 0, 1);
	add_ack(&c, 1, EEXIST, "late", true);
	add_data(&c, 0, 0, 2);
	add_data(&c, 2, 0, 3);
	((struct nlmsghdr *)(c.bytes + c.len - 20))->nlmsg_pid = 77;
	add_ack(&c, 3, EPERM, "early", true);
	say(f, &c);
	add_data(&c, 2, 0, 4);
	add_ack(&c, 2, 0, NULL, true);
	say(f, &c);
	assert_int_equal(ask(f, &h, &err), CW_OK);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.values[0], 4);
}

static void test_extended_ack(void **state)
{
	static const struct {
		int err;
		enum cw_rc rc;
		const char *text;
		bool capped;
		const char *want;
	} cases[] = {
		{ ESRCH, CW_E_NOT_FOUND, NULL, true, "" },
		{ ESRCH, CW_E_NOT_FOUND, NULL, false, "" },
		{ EPROTONOSUPPORT, CW_E_UNSUPPORTED, "Requested type not found", true,
			"Requested type not found" },
		{ EINVAL, CW_E_INVALID, "Invalid flag", false, "Invalid flag" },
		{ EPERM, CW_E_DENIED, "no", true, "no" },
		{ EEXIST, CW_E_EXISTS, "a\nb\x1b[31m", true, "a?b?[31m" },
		{ EBUSY, CW_E_BUSY, "", false, "" },
	};
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add_ack(&c, (uint32_t)i + 1, cases[i].err, cases[i].text, cases[i].capped);
		say(f, &c);
		assert_int_equal(ask(f, NULL, &err), cases[i].rc);
		assert_int_equal(err.err, cases[i].err);
		assert_string_equal(err.text, cases[i].want);
	}
}

/* A success may carry a warning; it is no error. */
static void test_warning(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;

	add_ack(&c, 1, 0, "a warning", true);
	say(f, &c);
	assert_int_equal(ask(f, NULL, &err), CW_OK);
	assert_int_equal(err.err, 0);
}

/* Every truncation and bit flip of an ack with text: never a crash, never a wait without end. */
static void test_broken_acks(void **state)
{
	struct canned good = { .len = 0 }, bad;
	struct cw_kernel_err err;
	struct fake *f = *state;
	uint32_t seq = 0;

	add_ack(&good, 1, EINVAL, "Some text of the kernel's", false);
	for (size_t bit = 0; bit < good.len * 8; bit += 3) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)bad.bytes;

		seq++;
		bad = good;
		nlh->nlmsg_seq = seq;
		bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		say(f, &bad);
		add_ack(&bad, seq, EINVAL, NULL, true);
		say(f, &bad);
		ask(f, NULL, &err);
		forget(f);
	}
	for (size_t cut = 1; cut < good.len; cut++) {
		seq++;
		bad = good;
		((struct nlmsghdr *)bad.bytes)->nlmsg_seq = seq;
		((struct nlmsghdr *)bad.bytes)->nlmsg_len = (uint32_t)cut;
		bad.len = cut;
		say(f, &bad);
		add_ack(&bad, seq, EINVAL, NULL, true);
		say(f, &bad);
		ask(f, NULL, &err);
		forget(f);
		assert_true(strlen(err.text) < sizeof(err.text));
	}
}

static void test_interrupted_calls(void **state)
{
	static const int list[] = { EINTR, EAGAIN, EINTR, 0 };
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;

	add_ack(&c, 1, 0, NULL, true);
	say(f, &c);
	plan_errors(list, 4);
	assert_int_equal(ask(f, NULL, &err), CW_OK);
	assert_int_equal(at_error, 4);
}

/* A loss before an ack that came all the same is of no matter; one whose answer is missing is. */
static void test_lost(void **state)
{
	static const int list[] = { ENOBUFS };
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	add_ack(&c, 1, 0, NULL, true);
	say(f, &c);
	plan_errors(list, 1);
	assert_int_equal(ask(f, NULL, &err), CW_OK);

	plan_errors(list, 1);
	assert_int_equal(ask(f, NULL, &err), CW_E_BUSY);
	assert_int_equal(err.err, ENOBUFS);

	add_ack(&c, 3, 0, NULL, true); /* it came, but its data may have been what was lost */
	say(f, &c);
	plan_errors(list, 1);
	assert_int_equal(ask(f, &h, &err), CW_E_BUSY);
}

static void test_peer_gone(void **state)
{
	struct cw_kernel_err err;
	struct fake *f = *state;

	close(f->peer);
	f->peer = -1;
	assert_int_equal(ask(f, NULL, &err), CW_E_SYSTEM);
	assert_int_not_equal(err.err, 0);
}

static void test_not_built(void **state)
{
	_Alignas(8) uint8_t buf[64] = { 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;

	assert_int_equal(cw_nl_request(f->sock, buf, 0, NULL, NULL, &err), CW_E_BUG);
	assert_int_equal(cw_nl_request(f->sock, buf, sizeof(buf), NULL, NULL, &err), CW_E_BUG);
}

/* ---- dumps ---- */

static void test_dump(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	add_data(&c, 1, NLM_F_MULTI, 1);
	add_data(&c, 1, NLM_F_MULTI, 2);
	say(f, &c);
	add_data(&c, 1, NLM_F_MULTI, 3);
	add_done(&c, 1, 0, 0);
	say(f, &c);
	assert_int_equal(dump(f, &h, &err), CW_OK);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.values[2], 3);
	assert_int_equal(h.restarts, 1);
}

static void test_dump_interrupted(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	add_data(&c, 1, NLM_F_MULTI, 1);
	add_data(&c, 1, NLM_F_MULTI | NLM_F_DUMP_INTR, 2);
	add_done(&c, 1, 0, 0);
	say(f, &c);
	add_data(&c, 2, NLM_F_MULTI, 7);
	add_done(&c, 2, NLM_F_DUMP_INTR, 0); /* the mark may stand on the end alone */
	say(f, &c);
	add_data(&c, 3, NLM_F_MULTI, 8);
	add_data(&c, 3, NLM_F_MULTI, 9);
	add_done(&c, 3, 0, 0);
	say(f, &c);
	assert_int_equal(dump(f, &h, &err), CW_OK);
	assert_int_equal(h.restarts, 3);
	assert_int_equal(h.n, 2);
	assert_int_equal(h.values[0], 8);
	assert_int_equal(h.values[1], 9);
}

/* A table that never stands still is told as that, not read for ever. */
static void test_dump_never_whole(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	for (uint32_t seq = 1; seq <= 20; seq++) {
		add_done(&c, seq, NLM_F_DUMP_INTR, 0);
		say(f, &c);
	}
	assert_int_equal(dump(f, &h, &err), CW_E_BUSY);
	assert_true(h.restarts > 1 && h.restarts < 20);
}

static void test_dump_lost(void **state)
{
	static const int list[] = { 0, ENOBUFS };
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	add_data(&c, 1, NLM_F_MULTI, 1);
	say(f, &c);
	add_done(&c, 1, 0, 0);
	say(f, &c);
	add_data(&c, 2, NLM_F_MULTI, 5);
	add_done(&c, 2, 0, 0);
	say(f, &c);
	plan_errors(list, 2);
	assert_int_equal(dump(f, &h, &err), CW_OK);
	assert_int_equal(h.restarts, 2);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.values[0], 5);
}

static void test_dump_refused(void **state)
{
	struct canned c = { .len = 0 };
	struct cw_kernel_err err;
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	add_ack(&c, 1, EPERM, "not you", true);
	say(f, &c);
	assert_int_equal(dump(f, &h, &err), CW_E_DENIED);
	assert_string_equal(err.text, "not you");
	add_data(&c, 2, NLM_F_MULTI, 1);
	add_done(&c, 2, 0, ENOENT);
	say(f, &c);
	assert_int_equal(dump(f, &h, &err), CW_E_NOT_FOUND);
}

/* ---- batches ---- */

static size_t batch_of(uint8_t *buf, size_t size, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += cw_nl_begin(buf + len, size - len, DATA, 0, 4)->nlmsg_len;
	return len;
}

static void test_batch(void **state)
{
	_Alignas(8) uint8_t buf[1024], sent[1024];
	struct canned c = { .len = 0 };
	struct cw_kernel_err acks[5];
	struct fake *f = *state;
	size_t len = batch_of(buf, sizeof(buf), 5);

	add_ack(&c, 3, EEXIST, "the third", true); /* out of order, in two parts */
	add_ack(&c, 1, 0, NULL, true);
	add_ack(&c, 9, EPERM, NULL, true);
	say(f, &c);
	add_ack(&c, 2, 0, NULL, true);
	add_ack(&c, 5, ENODEV, NULL, false);
	add_ack(&c, 4, 0, NULL, true);
	say(f, &c);
	assert_int_equal(cw_nl_batch(f->sock, buf, len, acks, 5), CW_OK);
	assert_int_equal(acks[0].err, 0);
	assert_int_equal(acks[1].err, 0);
	assert_int_equal(acks[2].err, EEXIST);
	assert_string_equal(acks[2].text, "the third");
	assert_int_equal(acks[3].err, 0);
	assert_int_equal(acks[4].err, ENODEV);
	assert_int_equal(recv(f->peer, sent, sizeof(sent), 0), (ssize_t)len); /* one send */
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(((struct nlmsghdr *)(sent + i * 20))->nlmsg_seq, i + 1);
}

static void test_batch_lost(void **state)
{
	static const int list[] = { 0, ENOBUFS };
	_Alignas(8) uint8_t buf[1024];
	struct canned c = { .len = 0 };
	struct cw_kernel_err acks[3];
	struct fake *f = *state;
	size_t len = batch_of(buf, sizeof(buf), 3);

	add_ack(&c, 1, 0, NULL, true);
	say(f, &c);
	add_ack(&c, 3, EEXIST, NULL, true);
	say(f, &c);
	plan_errors(list, 2);
	assert_int_equal(cw_nl_batch(f->sock, buf, len, acks, 3), CW_E_BUSY);
	assert_int_equal(acks[0].err, 0);
	assert_int_equal(acks[1].err, ENOBUFS);
	assert_int_equal(acks[2].err, EEXIST);
	/* None at all. */
	len = batch_of(buf, sizeof(buf), 3);
	assert_int_equal(cw_nl_batch(f->sock, buf, len, acks, 3), CW_E_TIMEOUT);
	assert_int_equal(acks[0].err, ETIMEDOUT);
	assert_int_equal(cw_nl_batch(f->sock, buf, 0, acks, 0), CW_OK);
	assert_int_equal(cw_nl_batch(f->sock, buf, len, acks, CW_NL_BATCH_MAX + 1), CW_E_TOO_BIG);
	assert_int_equal(cw_nl_batch(f->sock, buf, len - 20, acks, 3), CW_E_BUG);
}

/* ---- bulk ---- */

struct refusals {
	struct {
		size_t index;
		int err;
		uint32_t value; /* of the request */
		char text[160];
	} list[8];
	size_t n;
};

static void on_refused(
	size_t index, const struct nlmsghdr *request, const struct cw_kernel_err *err, void *arg)
{
	struct refusals *r = arg;

	assert_true(r->n < 8);
	r->list[r->n].index = index;
	r->list[r->n].err = err->err;
	assert_true(cw_nl_head(request, request->nlmsg_len, &r->list[r->n].value, 4));
	snprintf(r->list[r->n].text, sizeof(r->list[r->n].text), "%s", err->text);
	r->n++;
}

/* Messages of different lengths, numbered from 0. */
static size_t bulk_of(uint8_t *buf, size_t size, uint32_t n)
{
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct nlmsghdr *nlh =
			cw_nl_begin(buf + len, size - len, DATA, NLM_F_EXCL, 4 + i % 3 * 4);

		memcpy(mnl_nlmsg_get_payload(nlh), &i, sizeof(i));
		len += nlh->nlmsg_len;
	}
	return len;
}

/* Only refusals are answered, and the last; each finds its request. */
static void test_bulk(void **state)
{
	_Alignas(8) uint8_t buf[1024], sent[1024];
	struct canned c = { .len = 0 };
	struct refusals r = { .n = 0 };
	struct cw_kernel_err err = { 0 };
	struct fake *f = *state;
	size_t len = bulk_of(buf, sizeof(buf), 7), left = len;
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)sent;

	add_ack(&c, 2, EEXIST, "the second", true);
	add_ack(&c, 99, EPERM, "another's", true);
	say(f, &c);
	add_ack(&c, 5, ENETDOWN, NULL, false);
	add_ack(&c, 4, EINVAL, "too late", true); /* the kernel never does */
	add_ack(&c, 7, 0, NULL, true);
	say(f, &c);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 7, on_refused, &r, &err), CW_OK);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.list[0].index, 1);
	assert_int_equal(r.list[0].value, 1);
	assert_int_equal(r.list[0].err, EEXIST);
	assert_string_equal(r.list[0].text, "the second");
	assert_int_equal(r.list[1].value, 4);
	assert_int_equal(r.list[1].err, ENETDOWN);
	assert_int_equal(r.list[2].value, 3);
	assert_int_equal(recv(f->peer, sent, sizeof(sent), 0), (ssize_t)len);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(nlh->nlmsg_seq, i + 1);
		assert_int_equal(
			nlh->nlmsg_flags, NLM_F_REQUEST | NLM_F_EXCL | (i == 6 ? NLM_F_ACK : 0));
		left -= nlh->nlmsg_len;
		nlh = (const struct nlmsghdr *)((const char *)nlh + nlh->nlmsg_len);
	}
	assert_int_equal(left, 0);
	/* The last is refused: that ends it too. */
	len = bulk_of(buf, sizeof(buf), 2);
	r.n = 0;
	add_ack(&c, 9, ESRCH, NULL, true);
	say(f, &c);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 2, on_refused, &r, &err), CW_OK);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.list[0].index, 1);
}

static void test_bulk_lost(void **state)
{
	static const int before[] = { ENOBUFS }, after[] = { 0, ENOBUFS };
	_Alignas(8) uint8_t buf[1024];
	struct canned c = { .len = 0 };
	struct refusals r = { .n = 0 };
	struct cw_kernel_err err = { 0 };
	struct fake *f = *state;
	size_t len = bulk_of(buf, sizeof(buf), 3);

	/* The last ack came through: others may not have. */
	add_ack(&c, 3, 0, NULL, true);
	say(f, &c);
	plan_errors(before, 1);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 3, on_refused, &r, &err), CW_E_BUSY);
	/* It was lost itself. */
	len = bulk_of(buf, sizeof(buf), 3);
	add_ack(&c, 4, EEXIST, NULL, true);
	say(f, &c);
	plan_errors(after, 2);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 3, on_refused, &r, &err), CW_E_BUSY);
	assert_int_equal(err.err, ENOBUFS);
	assert_int_equal(r.n, 1);
	/* Nothing comes. */
	len = bulk_of(buf, sizeof(buf), 3);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 3, on_refused, &r, &err), CW_E_TIMEOUT);
	assert_int_equal(cw_nl_bulk(f->sock, buf, 0, 0, on_refused, &r, &err), CW_OK);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len - 4, 3, on_refused, &r, &err), CW_E_BUG);
	close(f->peer);
	f->peer = -1;
	len = bulk_of(buf, sizeof(buf), 3);
	assert_int_equal(cw_nl_bulk(f->sock, buf, len, 3, on_refused, &r, &err), CW_E_SYSTEM);
}

/* ---- events ---- */

static void test_events(void **state)
{
	static const int list[] = { 0, ENOBUFS, 0 };
	struct canned c = { .len = 0 };
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	assert_false(cw_nl_events(f->sock, 10, hear, &h));
	add_data(&c, 0, 0, 1);
	add_data(&c, 0, 0, 2);
	say(f, &c);
	add_data(&c, 0, 0, 3);
	say(f, &c);
	plan_errors(list, 3);
	assert_true(cw_nl_events(f->sock, 10, hear, &h)); /* and goes on after the loss */
	assert_int_equal(h.n, 3);
	assert_false(cw_nl_events(f->sock, 10, hear, &h));
	/* A flood is taken in parts. */
	for (uint32_t i = 0; i < 8; i++) {
		add_data(&c, 0, 0, i);
		say(f, &c);
	}
	h.n = 0;
	assert_false(cw_nl_events(f->sock, 5, hear, &h));
	assert_int_equal(h.n, 5);
	assert_false(cw_nl_events(f->sock, 5, hear, &h));
	assert_int_equal(h.n, 8);
}

static void test_events_cut(void **state)
{
	static uint8_t big[70000];
	struct nlmsghdr *nlh = (struct nlmsghdr *)big;
	struct canned c = { .len = 0 };
	struct fake *f = *state;
	struct heard h = { .n = 0 };

	*nlh = (struct nlmsghdr){ .nlmsg_len = sizeof(big), .nlmsg_type = DATA };
	assert_int_equal(send(f->peer, big, sizeof(big), 0), (ssize_t)sizeof(big));
	add_data(&c, 0, 0, 6);
	say(f, &c);
	assert_true(cw_nl_events(f->sock, 10, hear, &h));
	assert_int_equal(h.n, 1);
	assert_int_equal(h.values[0], 6);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_request),
		T(test_foreign_answers),
		T(test_extended_ack),
		T(test_warning),
		T(test_broken_acks),
		T(test_interrupted_calls),
		T(test_lost),
		T(test_peer_gone),
		T(test_not_built),
		T(test_dump),
		T(test_dump_interrupted),
		T(test_dump_never_whole),
		T(test_dump_lost),
		T(test_dump_refused),
		T(test_batch),
		T(test_batch_lost),
		T(test_bulk),
		T(test_bulk_lost),
		T(test_events),
		T(test_events_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
