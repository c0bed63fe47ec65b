/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv: keeps what the gateway needs and gives up the rest.
 *
 * Needed for as long as it runs:
 *   CAP_NET_ADMIN         netlink (SAs, policies, links, routes), socket policies, /proc/sys/net
 *   CAP_NET_BIND_SERVICE  UDP 500
 * Not needed: CAP_NET_RAW (no raw or packet sockets), CAP_SYS_MODULE (the kernel loads modules for
 * netlink requests by itself), CAP_DAC_OVERRIDE. So key files must be readable for the daemon's uid
 * as they stand: for root that means owned by root, or open to its group.
 *
 * Capabilities belong to a thread. Call these before any thread is made, after nothing that needs
 * more.
 */
#ifndef CW_IO_PRIV_H
#define CW_IO_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rc.h"

/* No core dumps, and no ptrace or /proc/PID/mem by others: keys live in memory. Call first of all.
 */
enum cw_rc cw_priv_no_dumps(void);

/* Has this process all of the needed capabilities? If not, reterr says which one is missing and
 * how to get it. CW_E_DENIED. */
enum cw_rc cw_priv_check(char *reterr, size_t size);

/* Drops every other capability from all sets, the bounding set too, and sets no_new_privs. After
 * CW_OK neither this process nor a child can get anything back. reterr: what failed. */
enum cw_rc cw_priv_drop(char *reterr, size_t size);

/* What holds now, in one line for the log: "capabilities net_admin, net_bind_service; …". Returns
 * buf. */
const char *cw_priv_print(char *buf, size_t size);

#endif
