/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the backend does with an SA when the kernel is old, odd or in lockdown: the answers that no
 * kernel of the lab gives. The kernel is the other end of a socket pair; its answers are queued
 * before the call, and what it was asked is read afterwards.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <libmnl/libmnl.h>
#include <linux/xfrm.h>

#include "nl/kernel_priv.h"
#include "nl/nl_buf.h"

#define REQID (CW_REQID_BASE + 256)

struct fake {
	struct kernel_nl k; /* with an XFRM socket and nothing else */
	int peer;
	uint32_t seq; /* of the next answer */
};

static uint8_t key[36] = { 1, 2, 3 };

static int setup(void **state)
{
	static struct fake f;
	int fds[2];

	f = (struct fake){ .k = { .epoll_fd = -1 }, .seq = 1 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	f.peer = fds[1];
	pthread_mutex_init(&f.k.xfrm_lock, NULL);
	assert_int_equal(cw_nl_open_fd(fds[0], 0, 200, &f.k.xfrm), CW_OK);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fake *f = *state;

	cw_nl_close(f->k.xfrm);
	close(f->peer);
	pthread_mutex_destroy(&f->k.xfrm_lock);
	return 0;
}

static struct cw_sa inbound(void)
{
	struct cw_sa sa = {
		.key.spi = 0xc0001234,
		.reqid = REQID,
		.inbound = true,
		.tunnel_mode = true,
		.enc = CW_ENC_AES_GCM_16,
		.enc_key = key,
		.enc_key_len = 36,
		.replay_window = 128,
	};

	cw_addr_parse("203.0.113.11", &sa.key.src);
	cw_addr_parse("192.0.2.1", &sa.key.dst);
	return sa;
}

/* ---- answers ---- */

static void answer(struct fake *f, int err)
{
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr body;
	} ack = {
		.nlh = { .nlmsg_len = sizeof(ack),
			.nlmsg_type = NLMSG_ERROR,
			.nlmsg_flags = NLM_F_CAPPED,
			.nlmsg_seq = f->seq++ },
		.body.error = -err,
	};

	assert_int_equal(send(f->peer, &ack, sizeof(ack), 0), (ssize_t)sizeof(ack));
}

/* Shows an SA, then acknowledges. */
static void show(struct fake *f, void *msg, size_t len)
{
	struct nlmsghdr *nlh = msg;

	nlh->nlmsg_type = XFRM_MSG_NEWSA;
	nlh->nlmsg_seq = f->seq;
	assert_int_equal(send(f->peer, msg, len, 0), (ssize_t)len);
	answer(f, 0);
}

static void show_sa(struct fake *f, const struct cw_sa *sa)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len = cw_xfrm_build_sa(sa, false, sa->replay_window, buf, sizeof(buf));

	assert_true(len > 0);
	show(f, buf, len);
}

static void show_larval(struct fake *f, uint32_t reqid)
{
	struct cw_sa sa = inbound();
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len =
		cw_xfrm_build_allocspi(&sa.key.src, &sa.key.dst, reqid, 1, 2, buf, sizeof(buf));

	assert_true(len > 0);
	show(f, buf, len);
}

/* ---- questions ---- */

static struct cw_xfrm_state asked;

/* Type of the next message that the kernel got (0: none); what it says of an SA in `asked`. */
static uint16_t next(struct fake *f)
{
	static _Alignas(8) uint8_t buf[4 * CW_XFRM_MSG_MAX];
	static size_t left;
	static uint8_t *at;
	const struct nlmsghdr *nlh;
	ssize_t n;

	if (!left) {
		n = recv(f->peer, buf, sizeof(buf), MSG_DONTWAIT);
		if (n <= 0)
			return 0;
		at = buf;
		left = (size_t)n;
	}
	nlh = (const struct nlmsghdr *)at;
	assert_true(cw_nl_whole(nlh, left, 0));
	asked = (struct cw_xfrm_state){ 0 };
	cw_xfrm_parse_sa(nlh, left, &asked);
	at += MNL_ALIGN((size_t)nlh->nlmsg_len);
	left -= MNL_ALIGN((size_t)nlh->nlmsg_len) < left ? MNL_ALIGN((size_t)nlh->nlmsg_len) : left;
	return nlh->nlmsg_type;
}

/* ---- adding ---- */

static void test_fills_larval(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_larval(f, REQID);
	answer(f, 0);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_UPDSA);
	assert_int_equal(next(f), 0);
}

/* The entry timed out between looking and filling. */
static void test_larval_gone(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_larval(f, REQID);
	answer(f, ESRCH);
	answer(f, 0);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_UPDSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(next(f), 0);
}

/* UPDSA overwrites what is finished, so it is never sent for that, nor for a foreign larval one. */
static void test_never_overwrites(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_sa(f, &sa);
	answer(f, EEXIST);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_E_EXISTS);
	show_larval(f, 1);
	answer(f, EEXIST);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_E_EXISTS);
	assert_string_equal(err.text, "an SA with this SPI and destination is there already");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(next(f), XFRM_MSG_GETSA);
		assert_int_equal(next(f), XFRM_MSG_NEWSA);
	}
	assert_int_equal(next(f), 0);
}

/* BL-061: an old kernel takes no window over 32. */
static void test_window_fallback(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	answer(f, ESRCH);
	answer(f, EINVAL);
	answer(f, 0);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(asked.sa.replay_window, 128);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(asked.sa.replay_window, 32);
	assert_int_equal(next(f), 0);
	/* Refused with both: the first reason is told. With ESN there is no other form. */
	answer(f, ESRCH);
	answer(f, EINVAL);
	answer(f, EINVAL);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_E_INVALID);
	sa.esn = true;
	answer(f, ESRCH);
	answer(f, EINVAL);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_E_INVALID);
	while (next(f))
		;
}

static void test_lacking_algorithm(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	sa.inbound = false;
	answer(f, ENOSYS);
	assert_int_equal(cw_kernel_nl_sa_add(&f->k.base, &sa, &err), CW_E_UNSUPPORTED);
	assert_string_equal(err.text, "the kernel lacks rfc4106(gcm(aes))");
	while (next(f))
		;
}

/* ---- moving ---- */

static enum cw_rc move_to(struct fake *f, const struct cw_sa *sa, const char *src, const char *dst,
	struct cw_kernel_err *err)
{
	struct cw_addr from, to;

	assert_int_equal(cw_addr_parse(src, &from), CW_OK);
	assert_int_equal(cw_addr_parse(dst, &to), CW_OK);
	*err = (struct cw_kernel_err){ 0 };
	return cw_kernel_nl_sa_update(&f->k.base, &sa->key, &from, &to, false, 0, 0, err);
}

/* The peer's address: same destination, so the old one has to go first, in one batch. */
static void test_move_swaps(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_sa(f, &sa);
	answer(f, 0);
	answer(f, 0);
	assert_int_equal(move_to(f, &sa, "203.0.113.99", "192.0.2.1", &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_DELSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(asked.sa.key.src.bytes[3], 99);
	assert_int_equal(next(f), 0);
}

/* Refused at the new place: it is put back. */
static void test_move_refused(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_sa(f, &sa);
	answer(f, 0);
	answer(f, ENOMEM);
	answer(f, 0);
	assert_int_equal(move_to(f, &sa, "203.0.113.99", "192.0.2.1", &err), CW_E_NO_MEMORY);
	assert_int_equal(err.err, ENOMEM);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_DELSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(asked.sa.key.src.bytes[3], 11);
	assert_memory_equal(asked.sa.enc_key, key, sizeof(key));
	assert_int_equal(next(f), 0);
}

/* Another destination: the copy stands before the old one goes, and if it can't, that stays. */
static void test_move_copies_first(void **state)
{
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	show_sa(f, &sa);
	answer(f, 0);
	answer(f, 0);
	assert_int_equal(move_to(f, &sa, "203.0.113.11", "192.0.2.9", &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(next(f), XFRM_MSG_DELSA);
	show_sa(f, &sa);
	answer(f, EEXIST);
	assert_int_equal(move_to(f, &sa, "203.0.113.11", "192.0.2.9", &err), CW_E_EXISTS);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_NEWSA);
	assert_int_equal(next(f), 0);
}

static void test_move_in_lockdown(void **state)
{
	static const uint8_t zeros[36];
	struct cw_sa sa = inbound();
	struct cw_kernel_err err;
	struct fake *f = *state;

	sa.enc_key = zeros;
	show_sa(f, &sa);
	assert_int_equal(move_to(f, &sa, "203.0.113.99", "192.0.2.1", &err), CW_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "lockdown"));
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), 0);
}

/* ---- deleting ---- */

static void test_deletes_ours_only(void **state)
{
	struct cw_sa sa = inbound(), foreign = sa;
	struct cw_kernel_err err;
	struct fake *f = *state;

	foreign.reqid = 1;
	show_sa(f, &foreign);
	assert_int_equal(cw_kernel_nl_sa_del(&f->k.base, &sa.key, &err), CW_E_DENIED);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), 0);
	answer(f, ESRCH);
	assert_int_equal(cw_kernel_nl_sa_del(&f->k.base, &sa.key, &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), 0);
	show_sa(f, &sa);
	answer(f, ESRCH); /* it expired in between */
	assert_int_equal(cw_kernel_nl_sa_del(&f->k.base, &sa.key, &err), CW_OK);
	assert_int_equal(next(f), XFRM_MSG_GETSA);
	assert_int_equal(next(f), XFRM_MSG_DELSA);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_fills_larval),
		T(test_larval_gone),
		T(test_never_overwrites),
		T(test_window_fallback),
		T(test_lacking_algorithm),
		T(test_move_swaps),
		T(test_move_refused),
		T(test_move_copies_first),
		T(test_move_in_lockdown),
		T(test_deletes_ours_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
