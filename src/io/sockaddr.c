/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/sockaddr.h"

#include <netinet/in.h>
#include <string.h>

socklen_t cw_sockaddr_put(const struct cw_addr *addr, uint16_t port, struct sockaddr_storage *ret_sa)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	memset(ret_sa, 0, sizeof(*ret_sa));
	if (addr->family == CW_FAMILY_IPV6) {
		memcpy(&in6.sin6_addr, addr->bytes, sizeof(in6.sin6_addr));
		memcpy(ret_sa, &in6, sizeof(in6));
		return sizeof(in6);
	}
	memcpy(&in.sin_addr, addr->bytes, sizeof(in.sin_addr));
	memcpy(ret_sa, &in, sizeof(in));
	return sizeof(in);
}

bool cw_sockaddr_get(const struct sockaddr *sa, struct cw_addr *ret_addr)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	*ret_addr = (struct cw_addr){ 0 };
	if (sa && sa->sa_family == AF_INET) {
		memcpy(&in, sa, sizeof(in));
		ret_addr->family = CW_FAMILY_IPV4;
		memcpy(ret_addr->bytes, &in.sin_addr, sizeof(in.sin_addr));
	} else if (sa && sa->sa_family == AF_INET6) {
		memcpy(&in6, sa, sizeof(in6));
		ret_addr->family = CW_FAMILY_IPV6;
		memcpy(ret_addr->bytes, &in6.sin6_addr, sizeof(in6.sin6_addr));
	}
	return ret_addr->family != CW_FAMILY_NONE;
}
