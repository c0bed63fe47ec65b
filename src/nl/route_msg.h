/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * route_msg: link, address and route messages built and parsed in memory.
 *
 * As xfrm_msg: a build function returns the length of the one message it wrote, or 0 when it does
 * not fit or makes no sense; a parse function returns false for what it can't read. Pure.
 * Formats: linux/rtnetlink.h, linux/if_link.h, linux/if_tunnel.h, linux/if_addr.h.
 */
#ifndef CW_NL_ROUTE_MSG_H
#define CW_NL_ROUTE_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/kernel_port.h"

#define CW_ROUTE_MSG_MAX 512 /* room for any message that is built here */

/* ---- links ---- */

/* Settings of an interface that the kernel tells with it; by the names of /proc/sys/net. */
enum cw_nl_conf {
	CW_NL_CONF4_RP_FILTER,
	CW_NL_CONF4_DISABLE_POLICY,
	CW_NL_CONF4_PROMOTE_SECONDARIES,
	CW_NL_CONF6_DISABLE_POLICY,
	CW_NL_CONF6_KEEP_ADDR_ON_DOWN,
	CW_NL_CONF6_ACCEPT_RA,
	CW_NL_CONF6_AUTOCONF,
	CW_NL_CONF6_ADDR_GEN_MODE,
	CW_NL_CONF_COUNT,
};
#define CW_NL_CONF_NONE INT32_MIN /* not told: this kernel or interface has it not */

/* A link as the kernel tells it. */
struct cw_nl_link {
	int ifindex;
	char ifname[CW_IFNAME_SIZE];
	char kind[16]; /* "xfrm", "vti", "dummy", …; "" for hardware */
	uint32_t id;   /* xfrm's if_id, VTI's ikey; 0 for other kinds */
	uint32_t okey; /* VTI's; equal to id for ours */
	uint32_t mtu;
	bool up;   /* as an administrator set it */
	bool gone; /* in events: this was its end */
	struct cw_addr vti_local, vti_remote;
	int32_t conf[CW_NL_CONF_COUNT];
};

bool cw_nl_link_ours(const struct cw_nl_link *link);
/* Same kind, and same id in our range, so that it can be made to be `want` as it stands. */
bool cw_nl_link_fits(const struct cw_nl_link *link, const struct cw_link *want);
/* Is it a VTI whose outer ends are not those of `want`? */
bool cw_nl_link_vti_differs(const struct cw_nl_link *link, const struct cw_link *want);

/* The kernel's name of the kind: a VTI is another one for IPv6 outside. */
const char *cw_nl_link_kind(const struct cw_link *link);

/* Creates a link, down, with its MTU. An existing one is an error. */
size_t cw_nl_build_newlink(const struct cw_link *link, void *buf, size_t size);
/* Gives an existing VTI the outer addresses of link. */
size_t cw_nl_build_setvti(int ifindex, const struct cw_link *link, void *buf, size_t size);
size_t cw_nl_build_setlink(int ifindex, uint32_t mtu, bool up, void *buf, size_t size);
/* The link must be down where the kernel is older than 6.2. */
size_t cw_nl_build_rename(int ifindex, const char *ifname, void *buf, size_t size);
size_t cw_nl_build_dellink(int ifindex, void *buf, size_t size);
size_t cw_nl_build_getlink(const char *ifname, void *buf, size_t size);
size_t cw_nl_build_link_dump(void *buf, size_t size);
bool cw_nl_parse_link(const void *msg, size_t len, struct cw_nl_link *ret_link);

/* ---- addresses ---- */

struct cw_nl_ifaddr {
	int ifindex;
	struct cw_prefix prefix; /* host bits kept */
	bool kernel_made;        /* an IPv6 link-local one */
};

size_t cw_nl_build_newaddr(int ifindex, const struct cw_prefix *addr, void *buf, size_t size);
size_t cw_nl_build_deladdr(int ifindex, const struct cw_prefix *addr, void *buf, size_t size);
/* family: CW_FAMILY_NONE for both. Kernels that can filter tell of ifindex only, others of all. */
size_t cw_nl_build_addr_dump(int ifindex, void *buf, size_t size);
bool cw_nl_parse_addr(const void *msg, size_t len, struct cw_nl_ifaddr *ret_addr);

/* ---- routes ---- */

/* A route of the main table. Two with the same dst and metric are the same to the kernel. */
struct cw_nl_route {
	struct cw_prefix dst; /* no host bits */
	enum cw_route_kind kind;
	uint32_t metric;
	int ifindex; /* 0 for unreachable */
	struct cw_addr src;
};

/* What the kernel shall do when one with the same dst and metric is there. */
enum cw_nl_route_mode {
	CW_NL_ROUTE_ALONE,   /* refuse with EEXIST */
	CW_NL_ROUTE_BESIDE,  /* add behind it (IPv4) */
	CW_NL_ROUTE_REPLACE, /* take its place */
};

size_t cw_nl_build_newroute(
	const struct cw_nl_route *route, enum cw_nl_route_mode mode, void *buf, size_t size);
size_t cw_nl_build_delroute(const struct cw_nl_route *route, void *buf, size_t size);
size_t cw_nl_build_route_dump(enum cw_family family, void *buf, size_t size);
/* False also for what is not a route of ours (CW_ROUTE_PROTOCOL) in the main table. */
bool cw_nl_parse_route(const void *msg, size_t len, struct cw_nl_route *ret_route);

/* The route that a packet takes, whoever made it. */
struct cw_nl_way {
	struct cw_prefix dst;
	uint8_t protocol; /* rtnetlink.h, RTPROT_ */
	bool unicast;	  /* else it is one of a kind that leads nowhere */
	int ifindex;	  /* 0: by several at once */
	uint32_t metric, table;
};

/* Asks for the entry that is found for addr. Kernels before 4.13 answer with another thing, which is not
 * parsed. */
size_t cw_nl_build_route_get(const struct cw_addr *addr, void *buf, size_t size);
bool cw_nl_parse_way(const void *msg, size_t len, struct cw_nl_way *ret_way);

/* Total order by dst, metric, kind, ifindex, src. */
int cw_nl_route_compare(const struct cw_nl_route *a, const struct cw_nl_route *b);

#endif
