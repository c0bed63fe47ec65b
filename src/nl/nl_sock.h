/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_sock: one netlink socket, its requests and answers.
 *
 * Every request asks for an acknowledgement and the answer is matched by sequence number and port:
 * what belongs to an earlier request that was given up, or comes from another process, is passed
 * over. The kernel's extended-ack text, where it sends one, travels with the errno.
 *
 * A dump that the kernel marks as interrupted (NLM_F_DUMP_INTR), or of which parts were lost, is
 * read again from the start. A request whose answer was lost fails with CW_E_BUSY: whether it took
 * effect is unknown, and the caller looks at the kernel before it asks again.
 *
 * A socket belongs to one thread at a time: the caller locks. Calls block until the kernel has
 * answered (it answers before send() returns, so the time limit is for kernels that are broken).
 * A socket opened for NETLINK_XFRM wipes its receive buffer after each call, since answers may hold
 * keys.
 */
#ifndef CW_NL_NL_SOCK_H
#define CW_NL_NL_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

#include "base/rc.h"
#include "tunnel/kernel_port.h"

struct cw_nl_sock;

/* Called for each message of an answer or each event; the message is the callee's until it returns.
 */
typedef void cw_nl_fn(const struct nlmsghdr *nlh, void *arg);

/* protocol: NETLINK_XFRM, NETLINK_ROUTE. CW_E_UNSUPPORTED: the kernel has none. */
enum cw_rc cw_nl_open(int protocol, struct cw_nl_sock **ret_sock, struct cw_kernel_err *reterr);

/* Takes over a descriptor whose other end speaks netlink, with our port number. For tests. */
enum cw_rc cw_nl_open_fd(int fd, uint32_t portid, int timeout_ms, struct cw_nl_sock **ret_sock);

/* NULL is fine. */
void cw_nl_close(struct cw_nl_sock *sock);

int cw_nl_fd(const struct cw_nl_sock *sock);
/* The kernel's name for us: it stands in what it tells others, and us, of our doing. */
uint32_t cw_nl_portid(const struct cw_nl_sock *sock);

/* Sends one message and reads its answer: fn (may be NULL) for every message of it but the ack.
 * The message's sequence number, port and ack flag are set here. reterr: the kernel's refusal. */
enum cw_rc cw_nl_request(struct cw_nl_sock *sock, void *msg, size_t len, cw_nl_fn *fn, void *arg,
	struct cw_kernel_err *reterr);

/* As above for a dump. restart (not NULL) makes the callee forget what fn gave it; it is called
 * before each reading. CW_E_BUSY: the table changed during every one of several readings. */
enum cw_rc cw_nl_dump(struct cw_nl_sock *sock, void *msg, size_t len, cw_nl_fn *fn,
	void (*restart)(void *arg), void *arg, struct cw_kernel_err *reterr);

/* Sends the n messages in msgs[0..len), each complete, in one go, and sorts their acks into
 * ret_acks[0..n): err 0 or errno. The kernel carries them out in order and does not stop at one
 * that it refuses. An ack that was lost has err ENOBUFS, and then the call itself says CW_E_BUSY.
 */
enum cw_rc cw_nl_batch(
	struct cw_nl_sock *sock, void *msgs, size_t len, struct cw_kernel_err *ret_acks, size_t n);

/* Most messages and bytes that a batch takes, so that its acks fit the receive buffer. */
#define CW_NL_BATCH_MAX 128
#define CW_NL_BATCH_BYTES 32768

/* Sends the n messages in msgs[0..len) in one go; only the last asks for an ack, for it ends the
 * answers. refused hears of each that the kernel refuses, by its place among the n and where its
 * message is. All are tried. CW_E_BUSY: answers were lost, and which were refused is unknown.
 * Others: nothing was sent, or the kernel is broken. The caller sees to room: cw_nl_room(). */
typedef void cw_nl_refused_fn(
	size_t index, const struct nlmsghdr *request, const struct cw_kernel_err *err, void *arg);
enum cw_rc cw_nl_bulk(struct cw_nl_sock *sock, void *msgs, size_t len, size_t n,
	cw_nl_refused_fn *refused, void *arg, struct cw_kernel_err *reterr);

/* Makes room for datagrams of send_bytes and answers of receive_bytes, as far as we may. */
void cw_nl_room(struct cw_nl_sock *sock, int send_bytes, int receive_bytes);

/* ---- events ---- */

/* Joins a multicast group. */
enum cw_rc cw_nl_join(struct cw_nl_sock *sock, unsigned group, struct cw_kernel_err *reterr);

/* Hands on the events that wait, at most `max` datagrams so that a flood can't hold the caller.
 * True when events were lost since the last call. */
bool cw_nl_events(struct cw_nl_sock *sock, size_t max, cw_nl_fn *fn, void *arg);

#endif
