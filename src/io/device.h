/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device: what routing has to know of a network device that others made. Asks the kernel, changes nothing.
 */
#ifndef CW_IO_DEVICE_H
#define CW_IO_DEVICE_H

#include <stdbool.h>

#include "base/ipaddr.h"
#include "base/rc.h"

struct cw_device {
	int ifindex;
	bool up;
	/* Several machines are reached through it, so that a route needs the address of one (Ethernet). False: one
	 * other end, as with an xfrm interface or a VTI. */
	bool has_neighbours;
};

/* CW_E_NOT_FOUND: there is none. */
enum cw_rc cw_device_look(const char *ifname, struct cw_device *ret_device);

/* Its first address of the family; a global one before a link-local one. Family NONE: it has none. */
struct cw_addr cw_device_addr4(const char *ifname);
/* Without any: fallback (IPv4) as an IPv4-mapped address (RFC 4291 2.5.5.2), which IPv4 peers take as a next hop. */
struct cw_addr cw_device_addr6(const char *ifname, const struct cw_addr *fallback);

/* Has any interface of this machine the address, but for those whose name begins with `but`? */
bool cw_device_has(const struct cw_addr *addr, const char *but);

#endif
