/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel sends packets: asked of its routing as a whole, rules and tables of others included,
 * and not concluded from what we have put in.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

struct answer {
	struct cw_nl_way way;
	bool got;
};

static void on_way(const struct nlmsghdr *nlh, void *arg)
{
	struct answer *a = arg;

	a->got = cw_nl_parse_way(nlh, nlh->nlmsg_len, &a->way);
}

/* Bits of an address that is looked up, where the network leaves them free: far apart. */
static const uint8_t fill[] = { 0x25, 0x5a, 0x96, 0xa5 };

static struct cw_addr address_in(const struct cw_prefix *net, uint8_t bits)
{
	struct cw_addr addr = net->addr;

	for (unsigned i = net->len; i < cw_family_bits((enum cw_family)addr.family); i++)
		addr.bytes[i / 8] |= bits & (uint8_t)(0x80 >> i % 8);
	return addr;
}

static void name_of(int ifindex, char ifname[CW_IFNAME_SIZE])
{
	char name[IF_NAMESIZE] = "";

	ifname[0] = '\0';
	if (ifindex > 0 && if_indextoname((unsigned)ifindex, name))
		snprintf(ifname, CW_IFNAME_SIZE, "%s", name);
}

/* What refuses packets refuses the question too, each kind with an error of its own. */
static bool refuses(int err)
{
	return err == ENETUNREACH || err == EHOSTUNREACH || err == EACCES || err == EINVAL;
}

static void take(struct cw_route_look *look, const struct cw_nl_way *way)
{
	look->way = !way->unicast			   ? CW_WAY_NOWHERE
		    : way->protocol == CW_ROUTE_PROTOCOL ? CW_WAY_OURS
							 : CW_WAY_FOREIGN;
	name_of(way->ifindex, look->ifname);
	look->protocol = way->protocol;
	look->metric = way->metric;
	look->table = way->table;
}

/* Asks about one address. False: it is in a part of the network that has a route of its own; *ret_foreign
 * then tells whether that is somebody else's, and look has it. */
static bool look_at(struct kernel_nl *k, struct cw_route_look *look, const struct cw_addr *addr,
	bool *ret_foreign)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_kernel_err err = { 0 };
	struct answer a = { 0 };

	*ret_foreign = false;
	look->way = CW_WAY_UNKNOWN;
	if (cw_nl_request(k->route, buf, cw_nl_build_route_get(addr, buf, sizeof(buf)), on_way, &a,
		    &err) != CW_OK) {
		if (refuses(err.err))
			look->way = CW_WAY_NOWHERE;
		return true;
	}
	if (!a.got)
		return true;
	take(look, &a.way);
	*ret_foreign = look->way == CW_WAY_FOREIGN;
	return a.way.dst.len <= look->dst.len;
}

/* Of a network that somebody else has taken in parts, as 0.0.0.0/1 and 128.0.0.0/1, every address shows that. */
static void look_over(struct kernel_nl *k, struct cw_route_look *look)
{
	struct cw_route_look part = { .dst = look->dst };
	bool all = true;

	*look = part;
	for (size_t i = 0; i < sizeof(fill); i++) {
		struct cw_addr addr = address_in(&part.dst, fill[i]);
		bool foreign;

		if (cw_addr_unfit(&addr))
			continue;
		if (look_at(k, &part, &addr, &foreign)) {
			*look = part;
			return;
		}
		all &= foreign;
	}
	if (all && part.way == CW_WAY_FOREIGN) {
		*look = part;
		look->in_parts = true;
	}
}

void cw_kernel_nl_routes_look(struct cw_kernel *base, struct cw_route_look *looks, size_t n)
{
	struct kernel_nl *k = kernel_nl(base);

	pthread_mutex_lock(&k->route_lock);
	for (size_t i = 0; i < n; i++)
		look_over(k, &looks[i]);
	pthread_mutex_unlock(&k->route_lock);
}
