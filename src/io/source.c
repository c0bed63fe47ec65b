/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/source.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union sock_addr {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Routes of kind unreachable, prohibit and blackhole answer connect() with errors of their own; to the
 * caller all are "no way there". */
static enum cw_rc rc_of_connect(int err)
{
	switch (err) {
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EACCES:
	case EINVAL:
		return CW_E_NOT_FOUND;
	default:
		return cw_rc_from_errno(err);
	}
}

static enum cw_rc ask(int fd, const union sock_addr *remote, socklen_t len, struct cw_addr *ret_local)
{
	union sock_addr local = { 0 };
	struct cw_addr addr = { 0 };

	if (connect(fd, &remote->any, len) != 0)
		return rc_of_connect(errno);
	len = sizeof(local);
	if (getsockname(fd, &local.any, &len) != 0)
		return cw_rc_from_errno(errno);
	if (local.any.sa_family == AF_INET) {
		addr.family = CW_FAMILY_IPV4;
		memcpy(addr.bytes, &local.in.sin_addr, sizeof(local.in.sin_addr));
	} else {
		addr.family = CW_FAMILY_IPV6;
		memcpy(addr.bytes, &local.in6.sin6_addr, sizeof(local.in6.sin6_addr));
	}
	if (cw_addr_is_unspecified(&addr))
		return CW_E_NOT_FOUND;
	*ret_local = addr;
	return CW_OK;
}

enum cw_rc cw_source_address(const struct cw_addr *remote, struct cw_addr *ret_local)
{
	union sock_addr to = { 0 };
	socklen_t len;
	enum cw_rc rc;
	int fd;

	/* connect() takes the unspecified address for "this machine". */
	if (cw_addr_is_unspecified(remote))
		return CW_E_INVALID;
	if (remote->family == CW_FAMILY_IPV4) {
		to.in.sin_family = AF_INET;
		to.in.sin_port = htons(500);
		memcpy(&to.in.sin_addr, remote->bytes, sizeof(to.in.sin_addr));
		len = sizeof(to.in);
	} else {
		to.in6.sin6_family = AF_INET6;
		to.in6.sin6_port = htons(500);
		memcpy(&to.in6.sin6_addr, remote->bytes, sizeof(to.in6.sin6_addr));
		len = sizeof(to.in6);
	}
	fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cw_rc_from_errno(errno);
	rc = ask(fd, &to, len, ret_local);
	close(fd);
	return rc;
}
