/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/device.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/sockaddr.h"

enum cw_rc cw_device_look(const char *ifname, struct cw_device *ret_device)
{
	struct ifreq req = { 0 };
	unsigned index = if_nametoindex(ifname);
	unsigned short flags;
	int fd, rc;

	if (!index)
		return cw_rc_from_errno(errno == ENODEV ? ENOENT : errno);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cw_rc_from_errno(errno);
	memcpy(req.ifr_name, ifname, strnlen(ifname, sizeof(req.ifr_name) - 1));
	rc = ioctl(fd, SIOCGIFFLAGS, &req);
	close(fd);
	if (rc != 0)
		return CW_E_NOT_FOUND;
	flags = (unsigned short)req.ifr_flags;
	*ret_device = (struct cw_device){
		.ifindex = (int)index,
		.up = flags & IFF_UP,
		.has_neighbours = (flags & IFF_BROADCAST) && !(flags & (IFF_NOARP | IFF_POINTOPOINT)),
	};
	return CW_OK;
}

static struct cw_addr first_of(const char *ifname, enum cw_family family)
{
	struct cw_addr best = { 0 }, addr;
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return best;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		if (strcmp(a->ifa_name, ifname) != 0 || !cw_sockaddr_get(a->ifa_addr, &addr) ||
		    addr.family != family)
			continue;
		if (best.family == CW_FAMILY_NONE ||
		    (cw_addr_is_link_local(&best) && !cw_addr_is_link_local(&addr)))
			best = addr;
	}
	freeifaddrs(list);
	return best;
}

struct cw_addr cw_device_addr4(const char *ifname)
{
	return first_of(ifname, CW_FAMILY_IPV4);
}

struct cw_addr cw_device_addr6(const char *ifname, const struct cw_addr *fallback)
{
	struct cw_addr addr = first_of(ifname, CW_FAMILY_IPV6);

	if (addr.family != CW_FAMILY_NONE || fallback->family != CW_FAMILY_IPV4)
		return addr;
	addr.family = CW_FAMILY_IPV6;
	addr.bytes[10] = addr.bytes[11] = 0xff;
	memcpy(addr.bytes + 12, fallback->bytes, 4);
	return addr;
}

bool cw_device_has(const struct cw_addr *wanted, const char *but)
{
	struct ifaddrs *list;
	struct cw_addr addr;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *a = list; a && !found; a = a->ifa_next)
		found = strncmp(a->ifa_name, but, strlen(but)) != 0 && cw_sockaddr_get(a->ifa_addr, &addr) &&
			cw_addr_equal(&addr, wanted);
	freeifaddrs(list);
	return found;
}
