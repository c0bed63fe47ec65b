/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: the Linux kernel's data plane, over netlink. Implements tunnel/kernel_port.h.
 *
 * It keeps no list of what it made. Every object carries a sign of ours (reqid, if_id, mark, route
 * protocol, and for policies without template a limit that the kernel keeps but never reaches), so
 * the kernel itself is the ledger: it can't be out of date, and it outlives a crash. Before
 * anything is deleted or replaced the object is read, and left alone when it is not ours
 * (CW_E_EXISTS or CW_E_DENIED). An SA without such a sign is not even added (CW_E_INVALID).
 *
 * Locks: one for SAs and policies, one for links and routes, each with its own socket, so that a
 * long routes_sync never makes libcharon's threads wait. events_read() uses sockets of its own and
 * no lock; its callback may call any operation.
 */
#ifndef CW_NL_KERNEL_H
#define CW_NL_KERNEL_H

#include "tunnel/kernel_port.h"

/* Opens the sockets in the calling thread's network namespace. Succeeds where the kernel has no
 * XFRM or refuses its sockets, so that probe() can say what is missing; SA and policy calls then
 * return CW_E_UNSUPPORTED. Changes nothing in the kernel. */
enum cw_rc cw_kernel_nl_new(struct cw_kernel **ret_kernel, struct cw_kernel_err *reterr);

#endif
