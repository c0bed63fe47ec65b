/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nexthop_msg: nexthop objects, and the learned routes over them, built and parsed in memory.
 *
 * As route_msg: a build function returns the length of the one message it wrote, or 0 when it does
 * not fit or makes no sense; a parse function returns false for what it can't read. Pure.
 * Formats: linux/nexthop.h, linux/rtnetlink.h.
 */
#ifndef CW_NL_NEXTHOP_MSG_H
#define CW_NL_NEXTHOP_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nl/fib.h"

/* Room for any message that is built here. */
#define CW_NEXTHOP_MSG_MAX (128 + CW_FIB_HOPS_MAX * 32)

struct cw_nl_member {
	uint32_t id;
	uint16_t weight; /* 1..256 */
};

enum cw_nl_nexthop_kind {
	CW_NL_NEXTHOP_HOP,
	CW_NL_NEXTHOP_BLACKHOLE,
	CW_NL_NEXTHOP_GROUP,
	CW_NL_NEXTHOP_OTHER, /* parsed: of a kind that is not built here */
};

struct cw_nl_nexthop {
	uint32_t id;
	uint8_t protocol;
	enum cw_nl_nexthop_kind kind;
	uint8_t family;        /* enum cw_family; of a HOP without gateway and a BLACKHOLE */
	struct cw_fib_hop hop; /* HOP; without weight */
	size_t n;              /* GROUP */
	struct cw_nl_member members[CW_FIB_HOPS_MAX];
};

/* Has an id and a protocol of ours. */
bool cw_nl_nexthop_ours(const struct cw_nl_nexthop *nh);

/* replace: makes the object if need be, else one with that id is an error. */
size_t cw_nl_build_newnexthop(const struct cw_nl_nexthop *nh, bool replace, void *buf, size_t size);
size_t cw_nl_build_delnexthop(uint32_t id, void *buf, size_t size);
size_t cw_nl_build_nexthop_dump(void *buf, size_t size);
/* From a dump, or an event about its making or its end. A group with more members than fit is
 * OTHER. */
bool cw_nl_parse_nexthop(const void *msg, size_t len, struct cw_nl_nexthop *ret_nh);

/* A learned route; leads to a nexthop or, where nexthop is 0, over hops, or drops where n is 0. */
struct cw_nl_learned {
	struct cw_prefix dst; /* no host bits */
	uint32_t table, metric;
	uint32_t nexthop;
	const struct cw_fib_hop *hops;
	size_t n;
};

enum cw_nl_learned_mode {
	CW_NL_LEARNED_ALONE, /* refuse with EEXIST when one with the same dst and metric is there */
	CW_NL_LEARNED_BESIDE, /* add behind it */
};

size_t cw_nl_build_newlearned(
	const struct cw_nl_learned *route, enum cw_nl_learned_mode mode, void *buf, size_t size);
/* Deletes this one and no other: protocol, metric, table and way must be equal. */
size_t cw_nl_build_dellearned(const struct cw_nl_learned *route, void *buf, size_t size);
/* All tables. */
size_t cw_nl_build_learned_dump(enum cw_family family, void *buf, size_t size);

/* Of any protocol, which goes to *ret_protocol. hops: where its ways go; ret_route->hops points at
 * it. False also for a cached route and one with more ways than fit. */
bool cw_nl_parse_learned(const void *msg, size_t len, struct cw_nl_learned *ret_route,
	struct cw_fib_hop hops[static CW_FIB_HOPS_MAX], uint8_t *ret_protocol);

#endif
