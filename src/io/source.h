/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: which of this machine's addresses the routing table picks towards a peer.
 *
 * Sends nothing and changes nothing: a UDP socket is connected, asked for its name, closed; or the
 * addresses of the interfaces are listed.
 */
#ifndef CW_IO_SOURCE_H
#define CW_IO_SOURCE_H

#include <stddef.h>

#include "base/ipaddr.h"
#include "base/rc.h"

/* CW_E_NOT_FOUND: no route to remote, or none with a local address; CW_E_INVALID: remote is no
 * address; CW_E_UNSUPPORTED: the kernel has not this address family. Else the socket's error. */
enum cw_rc cw_source_address(const struct cw_addr *remote, struct cw_addr *ret_local);

/* The first address of this machine, of that family, that lies in one of the prefixes: what our own
 * packets to a far network should come from. CW_E_NOT_FOUND: it has none; ret_addr is then left
 * alone. */
enum cw_rc cw_source_within(const struct cw_prefix *prefixes, size_t n, enum cw_family family,
	struct cw_addr *ret_addr);

#endif
