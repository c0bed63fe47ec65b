/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/tcp.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/sockaddr.h"

#ifndef IP_FREEBIND
#define IP_FREEBIND 15
#endif
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif
#ifndef IPV6_MINHOPCOUNT
#define IPV6_MINHOPCOUNT 73
#endif

#define BACKLOG 32
/* CS6: the network's own traffic (RFC 4271 is silent, RFC 4594 3.1 is not). */
#define DSCP_CS6 0xc0

static bool set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

static int domain_of(const struct cw_addr *addr)
{
	return addr->family == CW_FAMILY_IPV6 ? AF_INET6 : AF_INET;
}

static enum cw_rc failed(int fd, int *reterr)
{
	*reterr = errno;
	if (fd >= 0)
		close(fd);
	return cw_rc_from_errno(*reterr);
}

static enum cw_rc set_key(int fd, const struct cw_addr *peer, const struct cw_secret *key, int *reterr)
{
	struct tcp_md5sig sig = { 0 };
	const uint8_t *bytes = NULL;
	size_t len = 0;
	int n;

	if (key)
		bytes = cw_secret_bytes(key, &len);
	if (len > sizeof(sig.tcpm_key)) {
		*reterr = EINVAL;
		return CW_E_TOO_BIG;
	}
	cw_sockaddr_put(peer, 0, &sig.tcpm_addr);
	sig.tcpm_keylen = (uint16_t)len;
	if (len)
		memcpy(sig.tcpm_key, bytes, len);
	n = setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &sig, sizeof(sig));
	*reterr = n == 0 ? 0 : errno;
	cw_secret_wipe(&sig, sizeof(sig));
	if (n == 0 || (!key && (*reterr == ENOENT || *reterr == ENOPROTOOPT)))
		return CW_OK;
	return *reterr == ENOPROTOOPT ? CW_E_UNSUPPORTED : cw_rc_from_errno(*reterr);
}

enum cw_rc cw_tcp_settle(int fd, const struct cw_tcp_way *way, int *reterr)
{
	bool v6 = way->remote.family == CW_FAMILY_IPV6;
	int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;

	if (!set_int(fd, level, v6 ? IPV6_UNICAST_HOPS : IP_TTL, (int)way->ttl) ||
	    (way->min_ttl &&
	     !set_int(fd, level, v6 ? IPV6_MINHOPCOUNT : IP_MINTTL, (int)way->min_ttl))) {
		*reterr = errno;
		return cw_rc_from_errno(errno);
	}
	/* Small messages matter as much as large ones here, and no queue of ours is held back. A kernel that
	 * refuses these loses us nothing. */
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, level, v6 ? IPV6_TCLASS : IP_TOS, DSCP_CS6);
	return CW_OK;
}

enum cw_rc cw_tcp_listen(const struct cw_addr *local, uint16_t port, int *ret_fd, int *reterr)
{
	bool v6 = local->family == CW_FAMILY_IPV6;
	struct sockaddr_storage ss;
	socklen_t len = cw_sockaddr_put(local, port, &ss);
	int fd = socket(domain_of(local), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || !set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
	    (v6 && !set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
	    !set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, 1) ||
	    bind(fd, (struct sockaddr *)&ss, len) != 0 || listen(fd, BACKLOG) != 0)
		return failed(fd, reterr);
	/* The SYN-ACK is sent before an accepted socket could be told otherwise: a peer with GTSM must see 255. */
	set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_UNICAST_HOPS : IP_TTL, 255);
	*ret_fd = fd;
	return CW_OK;
}

enum cw_rc cw_tcp_listen_key(int listen_fd, const struct cw_addr *peer,
			     const struct cw_secret *key, int *reterr)
{
	return set_key(listen_fd, peer, key, reterr);
}

enum cw_rc cw_tcp_connect(const struct cw_tcp_way *way, int *ret_fd, int *reterr)
{
	struct sockaddr_storage local, remote;
	socklen_t local_len = cw_sockaddr_put(&way->local, 0, &local);
	socklen_t remote_len = cw_sockaddr_put(&way->remote, way->port, &remote);
	int fd = socket(domain_of(&way->remote), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	enum cw_rc rc;

	if (fd < 0)
		return failed(fd, reterr);
	/* Linux before 5.7 wants CAP_NET_RAW for it, which we don't have: there the host route alone has to lead
	 * into the tunnel. */
	if (way->ifname && *way->ifname &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, way->ifname,
		       (socklen_t)strnlen(way->ifname, IFNAMSIZ - 1) + 1) != 0 && errno != EPERM)
		return failed(fd, reterr);
	rc = cw_tcp_settle(fd, way, reterr);
	if (rc == CW_OK && way->md5)
		rc = set_key(fd, &way->remote, way->md5, reterr);
	if (rc != CW_OK) {
		close(fd);
		return rc;
	}
	if (bind(fd, (struct sockaddr *)&local, local_len) != 0 ||
	    (connect(fd, (struct sockaddr *)&remote, remote_len) != 0 && errno != EINPROGRESS))
		return failed(fd, reterr);
	*ret_fd = fd;
	return CW_OK;
}

int cw_tcp_result(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 ? err : errno;
}

enum cw_rc cw_tcp_accept(int listen_fd, int *ret_fd, struct cw_addr *ret_remote,
			 struct cw_addr *ret_local, int *reterr)
{
	struct sockaddr_storage remote = { 0 }, local = { 0 };
	socklen_t remote_len = sizeof(remote), local_len = sizeof(local);
	int fd;

	do {
		fd = accept4(listen_fd, (struct sockaddr *)&remote, &remote_len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		/* accept(2): errors of the connection itself; the next one may be fine */
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO));
	if (fd < 0 && errno == EAGAIN)
		return CW_E_BUSY;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&local, &local_len) != 0)
		return failed(fd, reterr);
	*ret_fd = fd;
	cw_sockaddr_get((struct sockaddr *)&remote, ret_remote);
	cw_sockaddr_get((struct sockaddr *)&local, ret_local);
	return CW_OK;
}

void cw_tcp_abort(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}
