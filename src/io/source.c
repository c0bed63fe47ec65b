/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/source.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union sock_addr {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* Routes of kind unreachable, prohibit and blackhole answer connect() with errors of their own; to
 * the caller all are "no way there". */
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

static bool addr_of(const struct sockaddr *sa, struct cw_addr *ret_addr)
{
	struct cw_addr addr = { 0 };
	union sock_addr u;

	if (sa && sa->sa_family == AF_INET) {
		memcpy(&u.in, sa, sizeof(u.in));
		addr.family = CW_FAMILY_IPV4;
		memcpy(addr.bytes, &u.in.sin_addr, sizeof(u.in.sin_addr));
	} else if (sa && sa->sa_family == AF_INET6) {
		memcpy(&u.in6, sa, sizeof(u.in6));
		addr.family = CW_FAMILY_IPV6;
		memcpy(addr.bytes, &u.in6.sin6_addr, sizeof(u.in6.sin6_addr));
	} else {
		return false;
	}
	*ret_addr = addr;
	return true;
}

enum cw_rc cw_source_within(
	const struct cw_prefix *prefixes, size_t n, enum cw_family family, struct cw_addr *ret_addr)
{
	enum cw_rc rc = CW_E_NOT_FOUND;
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return cw_rc_from_errno(errno);
	for (const struct ifaddrs *i = list; i && rc != CW_OK; i = i->ifa_next) {
		struct cw_addr addr;

		if (!addr_of(i->ifa_addr, &addr) || addr.family != family)
			continue;
		for (size_t k = 0; k < n && rc != CW_OK; k++) {
			if (!cw_prefix_contains(&prefixes[k], &addr))
				continue;
			*ret_addr = addr;
			rc = CW_OK;
		}
	}
	freeifaddrs(list);
	return rc;
}

static enum cw_rc ask(
	int fd, const union sock_addr *remote, socklen_t len, struct cw_addr *ret_local)
{
	union sock_addr local = { 0 };
	struct cw_addr addr = { 0 };

	if (connect(fd, &remote->any, len) != 0)
		return rc_of_connect(errno);
	len = sizeof(local);
	if (getsockname(fd, &local.any, &len) != 0)
		return cw_rc_from_errno(errno);
	if (!addr_of(&local.any, &addr))
		return CW_E_UNSUPPORTED;
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
