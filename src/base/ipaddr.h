/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipaddr: IPv4 and IPv6 addresses and prefixes as plain values.
 *
 * A zeroed struct cw_addr is "no address" (family 0). Bytes are in network order; for IPv4 only the
 * first four are used and the rest are zero, so that two equal addresses are equal by memcmp().
 * Parsing takes the canonical notations of RFC 4291 and dotted quads without leading zeros; it
 * never asks a resolver.
 */
#ifndef CW_BASE_IPADDR_H
#define CW_BASE_IPADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

enum cw_family {
	CW_FAMILY_NONE = 0,
	CW_FAMILY_IPV4 = 4,
	CW_FAMILY_IPV6 = 6,
};

struct cw_addr {
	uint8_t family; /* enum cw_family */
	uint8_t bytes[16];
};

/* An address with the length of its network part. The host bits may be set where the meaning is
 * "this address in this network" (an interface address); cw_prefix_has_host_bits() tells. */
struct cw_prefix {
	struct cw_addr addr;
	uint8_t len; /* bits */
};

#define CW_ADDR_TEXT_MAX 46   /* with the closing zero */
#define CW_PREFIX_TEXT_MAX 50 /* with the closing zero */

/* Bits in an address of this family: 32, 128, or 0 for none. */
unsigned cw_family_bits(enum cw_family family);

/* Text to address. CW_E_INVALID where it is none. */
enum cw_rc cw_addr_parse(const char *text, struct cw_addr *ret_addr);

/* "address/len"; an address alone stands for a host prefix. Host bits are kept.
 * CW_E_INVALID where it is none or len is out of range. */
enum cw_rc cw_prefix_parse(const char *text, struct cw_prefix *ret_prefix);

/* Writes the canonical text and returns buf. size: at least CW_ADDR_TEXT_MAX. "none" for no address. */
const char *cw_addr_print(const struct cw_addr *addr, char *buf, size_t size);

/* As above, "address/len"; size: at least CW_PREFIX_TEXT_MAX. */
const char *cw_prefix_print(const struct cw_prefix *prefix, char *buf, size_t size);

bool cw_addr_equal(const struct cw_addr *a, const struct cw_addr *b);

/* Order for sorting: family, then bytes. */
int cw_addr_compare(const struct cw_addr *a, const struct cw_addr *b);
int cw_prefix_compare(const struct cw_prefix *a, const struct cw_prefix *b);

/* All bits zero (0.0.0.0 or ::), or no address at all. */
bool cw_addr_is_unspecified(const struct cw_addr *addr);
bool cw_addr_is_loopback(const struct cw_addr *addr);
bool cw_addr_is_multicast(const struct cw_addr *addr);
/* RFC 1918, RFC 6598 and RFC 4193 space: not what a far side on the Internet sees us as. */
bool cw_addr_is_private(const struct cw_addr *addr);
/* 169.254.0.0/16 or fe80::/10 */
bool cw_addr_is_link_local(const struct cw_addr *addr);

/* Why no machine can be spoken to at this address, as "is a multicast address"; NULL: one can. What is
 * special by RFC 6890 and may still be a peer's in some network, as 192.0.2.1, is not told. */
const char *cw_addr_unfit(const struct cw_addr *addr);

bool cw_prefix_has_host_bits(const struct cw_prefix *prefix);
/* The prefix with its host bits cleared. */
struct cw_prefix cw_prefix_network(const struct cw_prefix *prefix);
bool cw_prefix_contains(const struct cw_prefix *prefix, const struct cw_addr *addr);
/* Is `in` the prefix itself, or inside it? Of another family: no. */
bool cw_prefix_covers(const struct cw_prefix *prefix, const struct cw_prefix *in);
bool cw_prefix_overlaps(const struct cw_prefix *a, const struct cw_prefix *b);

#endif
