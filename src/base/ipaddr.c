/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ipaddr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

unsigned cw_family_bits(enum cw_family family)
{
	switch (family) {
	case CW_FAMILY_IPV4:
		return 32;
	case CW_FAMILY_IPV6:
		return 128;
	case CW_FAMILY_NONE:
		break;
	}
	return 0;
}

enum cw_rc cw_addr_parse(const char *text, struct cw_addr *ret_addr)
{
	struct cw_addr addr = { .family = CW_FAMILY_IPV4 };

	if (inet_pton(AF_INET, text, addr.bytes) != 1) {
		addr = (struct cw_addr){ .family = CW_FAMILY_IPV6 };
		if (inet_pton(AF_INET6, text, addr.bytes) != 1)
			return CW_E_INVALID;
	}
	*ret_addr = addr;
	return CW_OK;
}

enum cw_rc cw_prefix_parse(const char *text, struct cw_prefix *ret_prefix)
{
	char head[CW_ADDR_TEXT_MAX];
	struct cw_prefix prefix = { 0 };
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned bits, len = 0;

	if (n >= sizeof(head))
		return CW_E_INVALID;
	memcpy(head, text, n);
	head[n] = '\0';
	if (cw_addr_parse(head, &prefix.addr) != CW_OK)
		return CW_E_INVALID;
	bits = cw_family_bits(prefix.addr.family);
	if (!slash) {
		prefix.len = (uint8_t)bits;
		*ret_prefix = prefix;
		return CW_OK;
	}
	/* Digits alone, no sign, no leading zero: "/08" is as likely a slip as a meaning. */
	if (slash[1] == '\0' || (slash[1] == '0' && slash[2] != '\0'))
		return CW_E_INVALID;
	for (const char *p = slash + 1; *p; p++) {
		if (*p < '0' || *p > '9')
			return CW_E_INVALID;
		len = len * 10 + (unsigned)(*p - '0');
		if (len > bits)
			return CW_E_INVALID;
	}
	prefix.len = (uint8_t)len;
	*ret_prefix = prefix;
	return CW_OK;
}

const char *cw_addr_print(const struct cw_addr *addr, char *buf, size_t size)
{
	int af = addr->family == CW_FAMILY_IPV6 ? AF_INET6 : AF_INET;

	if (addr->family == CW_FAMILY_NONE || !inet_ntop(af, addr->bytes, buf, (socklen_t)size))
		snprintf(buf, size, "none");
	return buf;
}

const char *cw_prefix_print(const struct cw_prefix *prefix, char *buf, size_t size)
{
	char head[CW_ADDR_TEXT_MAX];

	if (prefix->addr.family == CW_FAMILY_NONE)
		snprintf(buf, size, "none");
	else
		snprintf(buf, size, "%s/%u", cw_addr_print(&prefix->addr, head, sizeof(head)),
			 (unsigned)prefix->len);
	return buf;
}

bool cw_addr_equal(const struct cw_addr *a, const struct cw_addr *b)
{
	return cw_addr_compare(a, b) == 0;
}

int cw_addr_compare(const struct cw_addr *a, const struct cw_addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

int cw_prefix_compare(const struct cw_prefix *a, const struct cw_prefix *b)
{
	int order = cw_addr_compare(&a->addr, &b->addr);

	if (order)
		return order;
	return (int)a->len - (int)b->len;
}

bool cw_addr_is_unspecified(const struct cw_addr *addr)
{
	static const uint8_t zero[16];

	return memcmp(addr->bytes, zero, sizeof(zero)) == 0;
}

bool cw_addr_is_loopback(const struct cw_addr *addr)
{
	static const uint8_t v6[16] = { [15] = 1 };

	if (addr->family == CW_FAMILY_IPV4)
		return addr->bytes[0] == 127;
	return addr->family == CW_FAMILY_IPV6 && memcmp(addr->bytes, v6, sizeof(v6)) == 0;
}

bool cw_addr_is_multicast(const struct cw_addr *addr)
{
	if (addr->family == CW_FAMILY_IPV4)
		return (addr->bytes[0] & 0xf0) == 0xe0;
	return addr->family == CW_FAMILY_IPV6 && addr->bytes[0] == 0xff;
}

bool cw_addr_is_private(const struct cw_addr *addr)
{
	const uint8_t *b = addr->bytes;

	if (addr->family == CW_FAMILY_IPV4)
		return b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) ||
		       (b[0] == 192 && b[1] == 168) || (b[0] == 100 && (b[1] & 0xc0) == 64);
	return addr->family == CW_FAMILY_IPV6 && (b[0] & 0xfe) == 0xfc;
}

bool cw_addr_is_link_local(const struct cw_addr *addr)
{
	const uint8_t *b = addr->bytes;

	if (addr->family == CW_FAMILY_IPV4)
		return b[0] == 169 && b[1] == 254;
	return addr->family == CW_FAMILY_IPV6 && b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
}

static const char *unfit4(const uint8_t b[4])
{
	if (b[0] == 0)
		return "is an address of \"this network\", which no machine has";
	if ((b[0] & b[1] & b[2] & b[3]) == 0xff)
		return "is the broadcast address";
	return b[0] >= 240 ? "is a reserved address, which no machine has" : NULL;
}

static const char *unfit6(const uint8_t b[16])
{
	static const uint8_t zero[10];

	if (b[0] == 0xfe && b[1] < 0x80)
		return "is a reserved address, which no machine has";
	if (memcmp(b, zero, sizeof(zero)) != 0)
		return NULL;
	/* RFC 4291 2.5.5 */
	if (b[10] == 0xff && b[11] == 0xff)
		return "is an IPv4 address in the notation of IPv6";
	return b[10] == 0 && b[11] == 0 ? "is a reserved address, which no machine has" : NULL;
}

const char *cw_addr_unfit(const struct cw_addr *addr)
{
	if (cw_addr_is_unspecified(addr))
		return "stands for no address at all";
	if (cw_addr_is_loopback(addr))
		return "is a loopback address: this machine itself";
	if (cw_addr_is_multicast(addr))
		return "is a multicast address";
	if (addr->family == CW_FAMILY_IPV6 && cw_addr_is_link_local(addr))
		return "is a link-local address, which means nothing without its interface";
	return addr->family == CW_FAMILY_IPV4 ? unfit4(addr->bytes) : unfit6(addr->bytes);
}

struct cw_prefix cw_prefix_network(const struct cw_prefix *prefix)
{
	struct cw_prefix net = *prefix;
	unsigned len = net.len;

	for (unsigned i = 0; i < sizeof(net.addr.bytes); i++, len = len > 8 ? len - 8 : 0) {
		if (len < 8)
			net.addr.bytes[i] &= (uint8_t)(0xff00 >> len);
	}
	return net;
}

bool cw_prefix_has_host_bits(const struct cw_prefix *prefix)
{
	struct cw_prefix net = cw_prefix_network(prefix);

	return !cw_addr_equal(&net.addr, &prefix->addr);
}

bool cw_prefix_contains(const struct cw_prefix *prefix, const struct cw_addr *addr)
{
	struct cw_prefix net = cw_prefix_network(prefix);
	struct cw_prefix other = { .addr = *addr, .len = prefix->len };

	other = cw_prefix_network(&other);
	return cw_addr_equal(&net.addr, &other.addr);
}

bool cw_prefix_covers(const struct cw_prefix *prefix, const struct cw_prefix *in)
{
	return prefix->addr.family == in->addr.family && in->len >= prefix->len &&
	       cw_prefix_contains(prefix, &in->addr);
}

bool cw_prefix_overlaps(const struct cw_prefix *a, const struct cw_prefix *b)
{
	return a->len <= b->len ? cw_prefix_contains(a, &b->addr) : cw_prefix_contains(b, &a->addr);
}
