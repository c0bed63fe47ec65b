/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockaddr: addresses as sockets have them, and back. Copies, so that no pointer is cast to a stricter type.
 */
#ifndef CW_IO_SOCKADDR_H
#define CW_IO_SOCKADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/ipaddr.h"

/* addr: IPv4 or IPv6. port: host order. Returns the length for the system call. */
socklen_t cw_sockaddr_put(const struct cw_addr *addr, uint16_t port, struct sockaddr_storage *ret_sa);

/* False, and no address: sa is NULL or of another family. */
bool cw_sockaddr_get(const struct sockaddr *sa, struct cw_addr *ret_addr);

#endif
