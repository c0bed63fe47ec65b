/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/source.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/sockaddr.h"

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

enum cw_rc cw_source_within(
	const struct cw_prefix *prefixes, size_t n, enum cw_family family, struct cw_addr *ret_addr)
{
	enum cw_rc rc = CW_E_NOT_FOUND;
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return cw_rc_from_errno(errno);
	for (const struct ifaddrs *i = list; i && rc != CW_OK; i = i->ifa_next) {
		struct cw_addr addr;

		if (!cw_sockaddr_get(i->ifa_addr, &addr) || addr.family != family)
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
	int fd, const struct sockaddr_storage *remote, socklen_t len, struct cw_addr *ret_local)
{
	struct sockaddr_storage local = { 0 };
	struct cw_addr addr = { 0 };

	if (connect(fd, (const struct sockaddr *)remote, len) != 0)
		return rc_of_connect(errno);
	len = sizeof(local);
	if (getsockname(fd, (struct sockaddr *)&local, &len) != 0)
		return cw_rc_from_errno(errno);
	if (!cw_sockaddr_get((struct sockaddr *)&local, &addr))
		return CW_E_UNSUPPORTED;
	if (cw_addr_is_unspecified(&addr))
		return CW_E_NOT_FOUND;
	*ret_local = addr;
	return CW_OK;
}

enum cw_rc cw_source_address(const struct cw_addr *remote, struct cw_addr *ret_local)
{
	struct sockaddr_storage to;
	socklen_t len;
	enum cw_rc rc;
	int fd;

	/* connect() takes the unspecified address for "this machine". */
	if (cw_addr_is_unspecified(remote))
		return CW_E_INVALID;
	len = cw_sockaddr_put(remote, 500, &to);
	fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cw_rc_from_errno(errno);
	rc = ask(fd, &to, len, ret_local);
	close(fd);
	return rc;
}
