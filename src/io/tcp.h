/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp: BGP's connections: listening, connecting, MD5 keys (RFC 2385), TTL and GTSM (RFC 5082).
 *
 * Every socket is non-blocking and closed at exec. IPv4 and IPv6 have sockets of their own: no address is
 * ever mapped. A descriptor that a function returns is the caller's.
 */
#ifndef CW_IO_TCP_H
#define CW_IO_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/rc.h"
#include "base/secret.h"

/* A connection as it is wanted. */
struct cw_tcp_way {
	struct cw_addr local, remote; /* of one family */
	uint16_t port;		      /* of the remote end, when we connect */
	uint32_t ttl;		      /* of what we send, 1 to 255 */
	uint32_t min_ttl;	      /* of what counts, 0: any; RFC 5082 */
	const char *ifname;	      /* NULL or "": any way out; else only through this device */
	const struct cw_secret *md5;  /* NULL: none */
};

/* Listens on one of this machine's addresses, also on one that no interface has yet (IP_FREEBIND).
 * reterr gets errno in every case of failure, here and below. */
enum cw_rc cw_tcp_listen(const struct cw_addr *local, uint16_t port, int *ret_fd, int *reterr);

/* Sets, changes or (key NULL) removes the key that connections from this peer must have. A key that
 * was never set is removed in peace. CW_E_UNSUPPORTED: the kernel has no TCP_MD5SIG. */
enum cw_rc cw_tcp_listen_key(int listen_fd, const struct cw_addr *peer,
			     const struct cw_secret *key, int *reterr);

/* CW_OK: it is under way, or there; the descriptor becomes writable when it is decided, and cw_tcp_result()
 * tells. Others: it can't be tried at all. */
enum cw_rc cw_tcp_connect(const struct cw_tcp_way *way, int *ret_fd, int *reterr);
/* errno of a connection that was under way; 0: it is there. */
int cw_tcp_result(int fd);

/* Takes a connection that waits. CW_E_BUSY: there is none. */
enum cw_rc cw_tcp_accept(int listen_fd, int *ret_fd, struct cw_addr *ret_remote,
			 struct cw_addr *ret_local, int *reterr);
/* TTL and GTSM for an accepted connection. */
enum cw_rc cw_tcp_settle(int fd, const struct cw_tcp_way *way, int *reterr);

/* Ends a connection with RST, so that nothing queued is sent any more. */
void cw_tcp_abort(int fd);

#endif
