/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: which of this machine's addresses the routing table picks towards a peer.
 *
 * Sends nothing and changes nothing: a UDP socket is connected, asked for its name, closed.
 */
#ifndef CW_IO_SOURCE_H
#define CW_IO_SOURCE_H

#include "base/ipaddr.h"
#include "base/rc.h"

/* CW_E_NOT_FOUND: no route to remote, or none with a local address; CW_E_INVALID: remote is no
 * address; CW_E_UNSUPPORTED: the kernel has not this address family. Else the socket's error. */
enum cw_rc cw_source_address(const struct cw_addr *remote, struct cw_addr *ret_local);

#endif
