/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfrm_wire: the parts that XFRM messages share. For src/nl/xfrm_*.c alone.
 */
#ifndef CW_NL_XFRM_WIRE_H
#define CW_NL_XFRM_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/xfrm.h>

#include "tunnel/kernel_port.h"

/* AF_INET, AF_INET6, or AF_UNSPEC for no address. */
uint16_t cw_xfrm_af(uint8_t family);
void cw_xfrm_put_addr(const struct cw_addr *addr, xfrm_address_t *ret);
/* No address for a family that is neither. */
struct cw_addr cw_xfrm_get_addr(const xfrm_address_t *addr, uint16_t af);

bool cw_xfrm_put_selector(const struct cw_selector *sel, struct xfrm_selector *ret);
/* False when it makes no sense. */
bool cw_xfrm_get_selector(const struct xfrm_selector *sel, struct cw_selector *ret);

/* Appends the mark, when there is one. False when it does not fit. */
bool cw_xfrm_put_mark(struct nlmsghdr *nlh, size_t size, uint32_t mark, uint32_t mask);
void cw_xfrm_get_mark(const struct nlattr *attr, uint32_t *ret_mark, uint32_t *ret_mask);

#endif
