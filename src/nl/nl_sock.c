/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/nl_sock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "base/secret.h"
#include "nl/nl_buf.h"

#define RECV_BYTES 65536 /* the kernel makes dump parts of at most 32 KiB */
#define RCVBUF_BYTES (1 << 20)
#define TIMEOUT_MS 5000
#define LOST_TIMEOUT_MS 100 /* after a loss: what is not there by now will not come */
#define DUMP_TRIES 8

/* Not in the headers of the oldest kernel that we build on. */
#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK 12
#endif

struct cw_nl_sock {
	int fd;
	uint32_t portid;
	uint32_t seq;
	int timeout_ms;
	bool secret; /* answers may hold keys */
	size_t used; /* bytes of buf to wipe */
	_Alignas(8) uint8_t buf[RECV_BYTES];
};

static enum cw_rc fail(struct cw_kernel_err *reterr, int err, const char *text)
{
	if (reterr) {
		reterr->err = err;
		snprintf(reterr->text, sizeof(reterr->text), "%s", text);
	}
	return cw_rc_from_errno(err);
}

static enum cw_rc busy(struct cw_kernel_err *reterr, const char *text)
{
	fail(reterr, ENOBUFS, text);
	return CW_E_BUSY;
}

enum cw_rc cw_nl_open_fd(int fd, uint32_t portid, int timeout_ms, struct cw_nl_sock **ret_sock)
{
	struct cw_nl_sock *sock = calloc(1, sizeof(*sock));

	if (!sock)
		return CW_E_NO_MEMORY;
	sock->fd = fd;
	sock->portid = portid;
	sock->timeout_ms = timeout_ms;
	*ret_sock = sock;
	return CW_OK;
}

static void set_options(int fd)
{
	static const int on[] = { NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK };
	int one = 1, size = RCVBUF_BYTES;

	/* Older kernels lack some of these. Nothing depends on one: acks are parsed with and
	 * without text and echo, dumps are filtered here too. */
	for (size_t i = 0; i < MNL_ARRAY_SIZE(on); i++)
		setsockopt(fd, SOL_NETLINK, on[i], &one, sizeof(one));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

enum cw_rc cw_nl_open(int protocol, struct cw_nl_sock **ret_sock, struct cw_kernel_err *reterr)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(addr);
	enum cw_rc rc;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd < 0)
		return fail(reterr, errno, "socket(AF_NETLINK)");
	set_options(fd);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
		rc = fail(reterr, errno, "bind(AF_NETLINK)");
		close(fd);
		return rc;
	}
	rc = cw_nl_open_fd(fd, addr.nl_pid, TIMEOUT_MS, ret_sock);
	if (rc != CW_OK) {
		fail(reterr, ENOMEM, "");
		close(fd);
		return rc;
	}
	(*ret_sock)->secret = protocol == NETLINK_XFRM;
	return CW_OK;
}

static void wipe(struct cw_nl_sock *sock)
{
	if (sock->secret)
		cw_secret_wipe(sock->buf, sock->used);
	sock->used = 0;
}

void cw_nl_close(struct cw_nl_sock *sock)
{
	if (!sock)
		return;
	wipe(sock);
	close(sock->fd);
	free(sock);
}

int cw_nl_fd(const struct cw_nl_sock *sock)
{
	return sock->fd;
}

uint32_t cw_nl_portid(const struct cw_nl_sock *sock)
{
	return sock->portid;
}

/* ---- datagrams ---- */

/* One datagram of the kernel's, without waiting. Returns its length, or -1 with errno; EAGAIN too
 * for one that some other process sent. */
static ssize_t receive(struct cw_nl_sock *sock)
{
	struct sockaddr_nl from = { 0 };
	struct iovec iov = { .iov_base = sock->buf, .iov_len = sizeof(sock->buf) };
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t n;

	for (;;) {
		n = recvmsg(sock->fd, &msg, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if ((size_t)n > sock->used)
			sock->used = (size_t)n;
		if (msg.msg_namelen >= sizeof(from) && from.nl_family == AF_NETLINK &&
			from.nl_pid) {
			msg.msg_namelen = sizeof(from);
			continue;
		}
		if (msg.msg_flags & MSG_TRUNC) {
			errno = ENOBUFS; /* the rest is lost, which is the same thing */
			return -1;
		}
		if (n == 0) {
			errno = ECONNRESET;
			return -1;
		}
		return n;
	}
}

/* As above, waiting. 0: nothing came in time. */
static ssize_t receive_wait(struct cw_nl_sock *sock, int timeout_ms)
{
	struct pollfd p = { .fd = sock->fd, .events = POLLIN };
	ssize_t n;
	int ready;

	for (;;) {
		n = receive(sock);
		if (n >= 0 || errno != EAGAIN)
			return n;
		ready = poll(&p, 1, timeout_ms);
		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready == 0)
			return 0;
	}
}

static enum cw_rc transmit(
	struct cw_nl_sock *sock, const void *msg, size_t len, struct cw_kernel_err *reterr)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct iovec iov = { .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	memcpy(&iov.iov_base, &msg, sizeof(msg)); /* sendmsg() only reads it */
	if (sock->portid) {
		m.msg_name = &kernel;
		m.msg_namelen = sizeof(kernel);
	}
	do {
		n = sendmsg(sock->fd, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(reterr, errno, "");
	return CW_OK;
}

/* The next n numbers in a row, without 0, which events have. Returns the first. */
static uint32_t take_seqs(struct cw_nl_sock *sock, uint32_t n)
{
	uint32_t first = sock->seq < UINT32_MAX - n ? sock->seq + 1 : 1;

	sock->seq = first + n - 1;
	return first;
}

/* ---- answers ---- */

/* Errno and text of NLMSG_ERROR, and of NLMSG_DONE, which ends a dump and begins alike. */
static int parse_ack(const struct nlmsghdr *nlh, struct cw_kernel_err *ret)
{
	const struct nlattr *attrs[NLMSGERR_ATTR_MAX + 1];
	struct nlmsgerr err = { 0 };
	size_t head = sizeof(err.error);

	*ret = (struct cw_kernel_err){ 0 };
	if (!cw_nl_head(nlh, nlh->nlmsg_len, &err.error, sizeof(err.error)))
		return 0;
	if (nlh->nlmsg_type == NLMSG_ERROR && cw_nl_head(nlh, nlh->nlmsg_len, &err, sizeof(err))) {
		head = sizeof(err);
		if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err.msg.nlmsg_len > sizeof(err.msg))
			head += MNL_ALIGN(err.msg.nlmsg_len - sizeof(err.msg));
	}
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
		cw_nl_attrs(nlh, head, attrs, NLMSGERR_ATTR_MAX + 1);
		cw_nl_attr_text(attrs[NLMSGERR_ATTR_MSG], ret->text, sizeof(ret->text));
	}
	ret->err = err.error < 0 && err.error > -4096 ? -err.error : 0;
	return ret->err;
}

static struct nlmsghdr *first_message(struct cw_nl_sock *sock, size_t *left)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)sock->buf;

	return cw_nl_whole(nlh, *left, 0) ? nlh : NULL;
}

/* The message after nlh in its datagram, NULL at the end. */
static struct nlmsghdr *next_message(struct nlmsghdr *nlh, size_t *left)
{
	size_t step = MNL_ALIGN((size_t)nlh->nlmsg_len);

	if (step >= *left)
		return NULL;
	*left -= step;
	nlh = (struct nlmsghdr *)((char *)nlh + step);
	return cw_nl_whole(nlh, *left, 0) ? nlh : NULL;
}

struct answer {
	uint32_t first_seq;
	size_t n; /* sequence numbers first_seq..first_seq + n - 1 */
	cw_nl_fn *fn;
	void *arg;
	struct cw_kernel_err *acks; /* n of them */
	size_t acked;
	bool interrupted;
};

/* True when every sequence number is answered. acks[].err is -1 where none is yet. */
static bool take(struct cw_nl_sock *sock, const struct nlmsghdr *nlh, void *arg)
{
	struct answer *a = arg;
	uint32_t index = nlh->nlmsg_seq - a->first_seq;

	if (nlh->nlmsg_pid != sock->portid || index >= a->n)
		return false;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		a->interrupted = true;
	switch (nlh->nlmsg_type) {
	case NLMSG_NOOP:
		break;
	case NLMSG_OVERRUN:
		a->interrupted = true;
		break;
	case NLMSG_ERROR:
	case NLMSG_DONE:
		if (a->acks[index].err < 0)
			a->acked++;
		parse_ack(nlh, &a->acks[index]);
		break;
	default:
		if (a->fn)
			a->fn(nlh, a->arg);
	}
	return a->acked == a->n;
}

/* Reads what comes and gives each message to each(), until that says that all has come. CW_E_BUSY: something was
 * lost, be it that all answers came. */
static enum cw_rc collect(struct cw_nl_sock *sock,
	bool (*each)(struct cw_nl_sock *sock, const struct nlmsghdr *nlh, void *arg), void *arg,
	struct cw_kernel_err *reterr)
{
	int timeout_ms = sock->timeout_ms;
	bool lost = false, done = false;
	ssize_t n;

	while (!done) {
		n = receive_wait(sock, timeout_ms);
		if (n < 0 && errno == ENOBUFS) {
			lost = true;
			timeout_ms = LOST_TIMEOUT_MS;
			continue;
		}
		if (n < 0)
			return fail(reterr, errno, "reading the kernel's answer");
		if (n == 0 && lost)
			break;
		if (n == 0)
			return fail(reterr, ETIMEDOUT, "no answer from the kernel");
		size_t left = (size_t)n;
		for (struct nlmsghdr *nlh = first_message(sock, &left); nlh;
			nlh = next_message(nlh, &left))
			done = each(sock, nlh, arg) || done;
	}
	return lost ? busy(reterr, "the kernel's answer was lost") : CW_OK;
}

static bool prepare(struct cw_nl_sock *sock, void *msg, size_t len, uint32_t seq)
{
	struct nlmsghdr *nlh = msg;

	if (!cw_nl_whole(msg, len, 0))
		return false;
	nlh->nlmsg_seq = seq;
	nlh->nlmsg_pid = sock->portid;
	nlh->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	return true;
}

/* The builder said 0 and its caller did not look, or built nonsense. */
static enum cw_rc not_built(struct cw_kernel_err *reterr)
{
	fail(reterr, EINVAL, "a request that could not be built");
	return CW_E_BUG;
}

static enum cw_rc refusal(const struct cw_kernel_err *ack, struct cw_kernel_err *reterr)
{
	if (ack->err && reterr)
		*reterr = *ack;
	return cw_rc_from_errno(ack->err);
}

enum cw_rc cw_nl_request(struct cw_nl_sock *sock, void *msg, size_t len, cw_nl_fn *fn, void *arg,
	struct cw_kernel_err *reterr)
{
	struct cw_kernel_err ack = { .err = -1 };
	struct answer a = {
		.first_seq = take_seqs(sock, 1),
		.n = 1,
		.fn = fn,
		.arg = arg,
		.acks = &ack,
	};
	enum cw_rc rc;

	if (!prepare(sock, msg, len, a.first_seq))
		return not_built(reterr);
	rc = transmit(sock, msg, len, reterr);
	if (rc == CW_OK)
		rc = collect(sock, take, &a, reterr);
	/* With one message to wait for, a loss before its ack concerns earlier requests, unless
	 * this one asked for more than the ack. */
	if (rc == CW_E_BUSY && a.acked && !fn)
		rc = CW_OK;
	wipe(sock);
	return rc == CW_OK ? refusal(&ack, reterr) : rc;
}

enum cw_rc cw_nl_dump(struct cw_nl_sock *sock, void *msg, size_t len, cw_nl_fn *fn,
	void (*restart)(void *arg), void *arg, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_E_BUSY;

	for (int try = 0; try < DUMP_TRIES && rc == CW_E_BUSY; try++) {
		struct cw_kernel_err ack = { .err = -1 };
		struct answer a = {
			.first_seq = take_seqs(sock, 1),
			.n = 1,
			.fn = fn,
			.arg = arg,
			.acks = &ack,
		};

		if (!prepare(sock, msg, len, a.first_seq))
			return not_built(reterr);
		restart(arg);
		rc = transmit(sock, msg, len, reterr);
		if (rc == CW_OK)
			rc = collect(sock, take, &a, reterr);
		wipe(sock);
		if (rc != CW_OK)
			continue;
		if (ack.err == EBUSY || (a.interrupted && !ack.err))
			rc = busy(reterr, "the table changed while it was read");
		else
			rc = refusal(&ack, reterr);
	}
	return rc;
}

enum cw_rc cw_nl_batch(
	struct cw_nl_sock *sock, void *msgs, size_t len, struct cw_kernel_err *ret_acks, size_t n)
{
	struct cw_kernel_err err = { 0 };
	struct answer a = { .n = n, .acks = ret_acks };
	char *at = msgs;
	size_t left = len;
	enum cw_rc rc;

	if (n == 0)
		return CW_OK;
	if (n > CW_NL_BATCH_MAX)
		return CW_E_TOO_BIG;
	a.first_seq = take_seqs(sock, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		if (!prepare(sock, at, left, a.first_seq + (uint32_t)i))
			return CW_E_BUG;
		size_t step = MNL_ALIGN((size_t)((struct nlmsghdr *)at)->nlmsg_len);

		at += step;
		left -= step < left ? step : left;
		ret_acks[i] = (struct cw_kernel_err){ .err = -1 };
	}
	rc = transmit(sock, msgs, len, &err);
	if (rc == CW_OK)
		rc = collect(sock, take, &a, &err);
	if (rc == CW_E_BUSY && a.acked == n)
		rc = CW_OK;
	for (size_t i = 0; i < n; i++) {
		if (ret_acks[i].err >= 0)
			continue;
		ret_acks[i] = err;
		if (!err.err)
			ret_acks[i].err = ENOBUFS;
	}
	wipe(sock);
	return rc;
}

/* ---- bulk ---- */

void cw_nl_room(struct cw_nl_sock *sock, int send_bytes, int receive_bytes)
{
	if (setsockopt(sock->fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_bytes, sizeof(send_bytes)) < 0)
		setsockopt(sock->fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
	if (setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive_bytes,
		    sizeof(receive_bytes)) < 0)
		setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
}

struct bulk {
	uint32_t first_seq;
	size_t n;
	char *msgs;
	size_t index; /* answers come in order: where the last one's message is */
	char *at;
	cw_nl_refused_fn *refused;
	void *arg;
};

/* An answer; true when it is the last one's. */
static bool take_bulk(struct cw_nl_sock *sock, const struct nlmsghdr *nlh, void *arg)
{
	struct bulk *b = arg;
	uint32_t index = nlh->nlmsg_seq - b->first_seq;
	struct cw_kernel_err err;

	if (nlh->nlmsg_pid != sock->portid || index >= b->n || nlh->nlmsg_type != NLMSG_ERROR)
		return false;
	if (index < b->index) {
		b->index = 0;
		b->at = b->msgs;
	}
	for (; b->index < index; b->index++)
		b->at += MNL_ALIGN((size_t)((struct nlmsghdr *)b->at)->nlmsg_len);
	if (parse_ack(nlh, &err))
		b->refused(index, (struct nlmsghdr *)b->at, &err, b->arg);
	return index == b->n - 1;
}

enum cw_rc cw_nl_bulk(struct cw_nl_sock *sock, void *msgs, size_t len, size_t n,
	cw_nl_refused_fn *refused, void *arg, struct cw_kernel_err *reterr)
{
	struct bulk b = { .n = n, .msgs = msgs, .at = msgs, .refused = refused, .arg = arg };
	char *at = msgs;
	size_t left = len;
	enum cw_rc rc;

	if (n == 0)
		return CW_OK;
	b.first_seq = take_seqs(sock, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)at;
		size_t step;

		if (!prepare(sock, at, left, b.first_seq + (uint32_t)i))
			return not_built(reterr);
		if (i + 1 < n)
			nlh->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
		step = MNL_ALIGN((size_t)nlh->nlmsg_len);
		if (step > left)
			return not_built(reterr);
		at += step;
		left -= step;
	}
	rc = transmit(sock, msgs, len, reterr);
	if (rc == CW_OK)
		rc = collect(sock, take_bulk, &b, reterr);
	wipe(sock);
	return rc;
}

/* ---- events ---- */

enum cw_rc cw_nl_join(struct cw_nl_sock *sock, unsigned group, struct cw_kernel_err *reterr)
{
	if (setsockopt(sock->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return fail(reterr, errno, "joining a group of netlink events");
	return CW_OK;
}

bool cw_nl_events(struct cw_nl_sock *sock, size_t max, cw_nl_fn *fn, void *arg)
{
	bool lost = false;
	ssize_t n;

	for (size_t i = 0; i < max; i++) {
		n = receive(sock);
		if (n < 0 && errno == ENOBUFS) {
			lost = true;
			continue;
		}
		if (n < 0)
			break;
		size_t left = (size_t)n;
		for (struct nlmsghdr *nlh = first_message(sock, &left); nlh;
			nlh = next_message(nlh, &left)) {
			if (nlh->nlmsg_type == NLMSG_OVERRUN)
				lost = true;
			else if (nlh->nlmsg_type >= NLMSG_MIN_TYPE)
				fn(nlh, arg);
		}
	}
	wipe(sock);
	return lost;
}
