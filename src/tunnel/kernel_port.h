/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_port: what the gateway asks of a data plane, in plain structs.
 *
 * src/nl/kernel implements it over netlink; tests implement it in memory. Every call is synchronous
 * and short, may come from any thread (libcharon asks for SAs and policies on its own threads, the
 * daemon asks for interfaces and routes on the loop); the implementation locks.
 * Calls are idempotent where the text says "ensure" or "sync".
 *
 * What is ours: links whose if_id (xfrm) or key (VTI) lies in CW_IF_ID_BASE..+CW_IF_ID_SPAN, SAs and
 * policies whose if_id, mark or reqid does (CW_REQID_BASE..+CW_REQID_SPAN), routes with protocol
 * CW_ROUTE_PROTOCOL. Nothing else is ever changed.
 *
 * Errors: enum cw_rc, and a struct cw_kernel_err with errno and the kernel's extended-ack text.
 */
#ifndef CW_TUNNEL_KERNEL_PORT_H
#define CW_TUNNEL_KERNEL_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/ipaddr.h"
#include "base/name.h"
#include "base/rc.h"

/* "cw" in the upper half. Tunnel number n (1..4000): if_id and mark BASE + n; its child c (0..255) has
 * reqid CW_REQID_BASE + n * 256 + c. */
#define CW_IF_ID_BASE 0x63770000u
#define CW_IF_ID_SPAN 0x00010000u
#define CW_REQID_BASE 0x63000000u
#define CW_REQID_SPAN 0x00770000u
#define CW_ROUTE_PROTOCOL 119 /* RTPROT of our routes; nobody's in the kernel's or iproute2's list */
/* RTPROT of routes and nexthops that were learned by BGP. In nobody's list either: linux/rtnetlink.h,
 * iproute2's rt_protos, FRR's zebra/rt_netlink.h (191..198). */
#define CW_LEARNED_PROTOCOL 120
/* Nexthop objects: hops in the lower half, groups in the upper one. */
#define CW_NEXTHOP_ID_BASE 0x63770000u
#define CW_NEXTHOP_ID_SPAN 0x00010000u
/* Priority of the drop policies that keep a policy-based tunnel (no interface) closed while it is down:
 * worse than any of libcharon's. */
#define CW_DROP_PRIORITY 0x63770001u
#define CW_UNREACHABLE_METRIC 0x7fff0000u /* of the fail-closed routes: worse than any real one */

struct cw_kernel_err {
	int err;	/* errno, 0 if none */
	char text[160]; /* extended ack or what we know; "" if nothing */
};

/* What went wrong, for people: the kernel's own words, else its errno, else the code. Borrowed from err. */
static inline const char *cw_kernel_err_text(enum cw_rc rc, const struct cw_kernel_err *err)
{
	if (err->text[0])
		return err->text;
	return err->err ? strerror(err->err) : cw_rc_name(rc);
}

/* ---- SAs ---- */

enum cw_enc { /* IANA IKEv2 transform type 1 numbers */
	CW_ENC_NONE = 0,
	CW_ENC_3DES = 3,
	CW_ENC_NULL = 11,
	CW_ENC_AES_CBC = 12,
	CW_ENC_AES_CTR = 13,
	CW_ENC_AES_GCM_8 = 18,
	CW_ENC_AES_GCM_12 = 19,
	CW_ENC_AES_GCM_16 = 20,
	CW_ENC_CHACHA20_POLY1305 = 28,
};

enum cw_integ { /* IANA IKEv2 transform type 3 numbers */
	CW_INTEG_NONE = 0,
	CW_INTEG_HMAC_MD5_96 = 1,
	CW_INTEG_HMAC_SHA1_96 = 2,
	CW_INTEG_HMAC_SHA256_128 = 12,
	CW_INTEG_HMAC_SHA384_192 = 13,
	CW_INTEG_HMAC_SHA512_256 = 14,
};

struct cw_sa_key {
	struct cw_addr src, dst; /* outer */
	uint32_t spi;		 /* host order */
	uint32_t if_id;		 /* 0: none */
	uint32_t mark, mark_mask;
};

struct cw_sa_life { /* 0: no limit */
	uint64_t soft_bytes, hard_bytes;
	uint64_t soft_packets, hard_packets;
	uint64_t soft_s, hard_s; /* from when the SA is added */
};

struct cw_sa {
	struct cw_sa_key key;
	uint32_t reqid;
	bool inbound;
	bool tunnel_mode; /* else transport */
	enum cw_enc enc;
	const uint8_t *enc_key; /* borrowed for the call; with the AEAD salt */
	size_t enc_key_len;	/* bytes */
	enum cw_integ integ;
	const uint8_t *integ_key;
	size_t integ_key_len;
	struct cw_sa_life life;
	bool encap; /* UDP encapsulation, RFC 3948 */
	uint16_t encap_sport, encap_dport;
	uint32_t replay_window; /* packets; 0: off */
	bool esn;
	bool no_copy_df; /* tunnel mode: don't copy DF to the outer header */
	bool no_copy_ecn;
	bool no_pmtu_disc; /* for outbound SAs only; kernels refuse it on others */
};

struct cw_sa_stats {
	uint64_t bytes, packets;
	/* Seconds since 1970 (the kernel's own); 0: never. Of the first use where the kernel does not
	 * keep the last (Linux 6.1): compare the counters. */
	uint64_t last_use_s;
	uint64_t added_s;
};

/* ---- policies ---- */

enum cw_dir { CW_DIR_IN, CW_DIR_OUT, CW_DIR_FWD };

enum cw_policy_action { CW_POLICY_PROTECT, CW_POLICY_PASS, CW_POLICY_DROP };

struct cw_selector {
	struct cw_prefix src, dst;
	uint8_t proto; /* 0: any */
	uint16_t sport, sport_mask, dport, dport_mask;
};

/* Key of a policy: selector, direction, if_id, mark. Adding an existing key replaces it. */
struct cw_policy {
	struct cw_selector sel;
	enum cw_dir dir;
	uint32_t if_id, mark, mark_mask;
	enum cw_policy_action action;
	uint32_t priority;
	struct cw_addr tmpl_src, tmpl_dst; /* for PROTECT */
	uint32_t tmpl_spi;		   /* 0: any */
	uint32_t reqid;
	bool tunnel_mode;
};

/* ---- interfaces and routes ---- */

enum cw_link_kind { CW_LINK_XFRM, CW_LINK_VTI };

#define CW_LINK_ADDRS_MAX 4

/* The interface a tunnel shall have. */
struct cw_link {
	char ifname[CW_IFNAME_SIZE];
	enum cw_link_kind kind;
	uint32_t id; /* if_id, or VTI's ikey and okey */
	uint32_t mtu;
	struct cw_addr vti_local, vti_remote; /* VTI: outer ends; all zero: any */
	struct cw_prefix addrs[CW_LINK_ADDRS_MAX];
	size_t n_addrs;
	bool up;
};

/* How an interface is found. */
enum cw_link_look {
	CW_LINK_FITS,	 /* as wanted */
	CW_LINK_DIFFERS, /* not there, or not as wanted: link_ensure() would do something */
	CW_LINK_BLOCKED, /* can't be made as long as something else is there */
};

struct cw_link_info {
	int ifindex;
	bool adopted; /* it was there already */
	bool changed; /* something had to be set right */
	bool missing; /* there was none, so it was made */
	char renamed_from[CW_IFNAME_SIZE]; /* somebody had given it this name; "": nobody */
};

enum cw_route_kind { CW_ROUTE_UNICAST, CW_ROUTE_UNREACHABLE };

struct cw_route {
	struct cw_prefix dst;
	enum cw_route_kind kind;
	uint32_t metric;
	char ifname[CW_IFNAME_SIZE]; /* "" for unreachable */
	struct cw_addr src;	     /* preferred source; family NONE: the kernel's choice */
};

enum cw_way {
	CW_WAY_UNKNOWN, /* the kernel does not tell, or tells of parts of it alone */
	CW_WAY_NOWHERE, /* no route, or one of a kind that refuses packets */
	CW_WAY_OURS,	/* a route of ours */
	CW_WAY_FOREIGN, /* a route of somebody else */
};

/* Where packets to a network go, by the routes as they are. */
struct cw_route_look {
	struct cw_prefix dst; /* asked */
	enum cw_way way;
	/* OURS and FOREIGN: the route that wins */
	char ifname[CW_IFNAME_SIZE]; /* "": by several interfaces */
	uint8_t protocol;	     /* as in linux/rtnetlink.h */
	uint32_t metric;
	uint32_t table; /* 254: main, where ours are; another one comes by a rule (ip-rule(8)) */
	bool in_parts;	/* FOREIGN: it is one of several that cover the network together */
};

/* ---- what the kernel can do ---- */

struct cw_kernel_caps {
	bool xfrm, esp4, esp6, xfrm_interface, vti, vti6;
	bool net_admin;
	char release[65];
	char why[160]; /* first thing missing, in one sentence with its remedy; "" if nothing */
};

/* ---- events ---- */

enum cw_kernel_event_kind {
	CW_KEV_ACQUIRE, /* a packet met a policy without an SA */
	CW_KEV_EXPIRE,	/* lifetime reached; hard says which */
	CW_KEV_MAPPING, /* the peer's NAT mapping moved */
	CW_KEV_LINK,	/* a link with a name or an id of ours came, changed, went or lost an address */
	CW_KEV_TAKEN,	/* somebody else took routes of ours away, or policies that may be ours */
	CW_KEV_RESYNC,	/* events were lost: read everything again */
};

struct cw_kernel_event {
	enum cw_kernel_event_kind kind;
	uint32_t reqid;
	uint32_t spi;
	struct cw_addr src, dst;
	uint8_t proto; /* 50 */
	bool hard;
	struct cw_addr new_addr; /* MAPPING */
	uint16_t new_port;
	struct cw_selector sel; /* ACQUIRE */
	char ifname[CW_IFNAME_SIZE];
};

struct cw_kernel;

struct cw_kernel_ops {
	enum cw_rc (*probe)(struct cw_kernel *k, struct cw_kernel_caps *ret_caps);

	/* SPI for an inbound SA; unique per destination. min..max host order. */
	enum cw_rc (*spi_alloc)(struct cw_kernel *k, const struct cw_addr *src,
				const struct cw_addr *dst, uint32_t reqid, uint32_t min,
				uint32_t max, uint32_t *ret_spi, struct cw_kernel_err *reterr);
	/* Inbound SAs replace the larval entry of their SPI. CW_E_EXISTS is an error, never an overwrite. */
	enum cw_rc (*sa_add)(struct cw_kernel *k, const struct cw_sa *sa, struct cw_kernel_err *reterr);
	/* Moves an SA to other outer addresses or ports, keeping keys, counters and replay state. */
	enum cw_rc (*sa_update)(struct cw_kernel *k, const struct cw_sa_key *key,
				const struct cw_addr *new_src, const struct cw_addr *new_dst,
				bool encap, uint16_t sport, uint16_t dport,
				struct cw_kernel_err *reterr);
	enum cw_rc (*sa_query)(struct cw_kernel *k, const struct cw_sa_key *key,
			       struct cw_sa_stats *ret_stats, struct cw_kernel_err *reterr);
	/* CW_OK also when it was gone already. */
	enum cw_rc (*sa_del)(struct cw_kernel *k, const struct cw_sa_key *key,
			     struct cw_kernel_err *reterr);

	enum cw_rc (*policy_add)(struct cw_kernel *k, const struct cw_policy *policy,
				 struct cw_kernel_err *reterr);
	/* ret_last_use_s: seconds since 1970, 0: never. */
	enum cw_rc (*policy_query)(struct cw_kernel *k, const struct cw_policy *policy,
				   uint64_t *ret_last_use_s, struct cw_kernel_err *reterr);
	enum cw_rc (*policy_del)(struct cw_kernel *k, const struct cw_policy *policy,
				 struct cw_kernel_err *reterr);

	/* Makes the set of our drop policies equal to want[0..n), all with CW_POLICY_DROP and a reqid of
	 * ours: adds, then deletes. The first error is reported, the rest still done. */
	enum cw_rc (*drops_sync)(struct cw_kernel *k, const struct cw_policy *want, size_t n,
				 struct cw_kernel_err *reterr);

	/* Exempts an IKE socket from policies, both directions. */
	enum cw_rc (*socket_bypass)(struct cw_kernel *k, int fd, enum cw_family family,
				    struct cw_kernel_err *reterr);
	/* Makes a UDP socket decapsulate ESP (RFC 3948). */
	enum cw_rc (*socket_espinudp)(struct cw_kernel *k, int fd, enum cw_family family,
				      struct cw_kernel_err *reterr);

	/* Makes the interface be as wanted: created, adopted if it has the right kind and id, refused
	 * (CW_E_EXISTS) if a foreign one has the name. One of ours that has the id and another name gets
	 * the name back. Also rp_filter loose (or VTI's disable_policy). */
	enum cw_rc (*link_ensure)(struct cw_kernel *k, const struct cw_link *want,
				  struct cw_link_info *ret_info, struct cw_kernel_err *reterr);
	/* Compares many interfaces with what is wanted in one reading of the kernel; changes nothing.
	 * ret_looks[0..n): one for each of want[0..n). */
	enum cw_rc (*links_look)(struct cw_kernel *k, const struct cw_link *want, size_t n,
				 enum cw_link_look *ret_looks, struct cw_kernel_err *reterr);
	enum cw_rc (*link_remove)(struct cw_kernel *k, const char *ifname, struct cw_kernel_err *reterr);

	/* Makes the set of our routes in the main table equal to want[0..n): adds, then deletes.
	 * Unreachable ones are added before and removed after unicast ones of the same prefix.
	 * Stops at nothing: the first error is reported, the rest still done. */
	enum cw_rc (*routes_sync)(struct cw_kernel *k, const struct cw_route *want, size_t n,
				  struct cw_kernel_err *reterr);

	/* Adds and deletes some of our routes and looks at no others: the quick way while only those
	 * changed. An error says that routes_sync() has to look; what could be done is done. */
	enum cw_rc (*routes_change)(struct cw_kernel *k, const struct cw_route *add, size_t n_add,
				    const struct cw_route *del, size_t n_del, struct cw_kernel_err *reterr);

	/* Looks where packets to looks[0..n) go. Only what happens to a network as a whole is told: where a
	 * route takes a part of it, other addresses of it are asked about. */
	void (*routes_look)(struct cw_kernel *k, struct cw_route_look *looks, size_t n);

	/* At start: removes SAs and policies of ours that an earlier run left, and links not named in
	 * keep[0..n_keep); what closes a site's networks stays, routes and drop policies. At stop, with
	 * keep NULL: all that is ours. Counts what was found. */
	enum cw_rc (*clean)(struct cw_kernel *k, const char *const *keep, size_t n_keep,
			    size_t *ret_removed, struct cw_kernel_err *reterr);

	/* if_id of an existing link of ours by name, for adoption; 0 if there is none. */
	uint32_t (*link_id)(struct cw_kernel *k, const char *ifname);

	/* Descriptor to poll for events, and the call that drains it on the loop thread. */
	int (*event_fd)(struct cw_kernel *k);
	void (*events_read)(struct cw_kernel *k,
			    void (*fn)(const struct cw_kernel_event *ev, void *arg), void *arg);

	/* Is net.ipv4.ip_forward (or IPv6's) on? */
	bool (*forwarding)(struct cw_kernel *k, enum cw_family family);
	/* Value of a counter in /proc/net/xfrm_stat such as "XfrmInNoPols"; 0 if there is none. */
	uint64_t (*xfrm_stat)(struct cw_kernel *k, const char *name);
	void (*free)(struct cw_kernel *k);
};

/* An implementation embeds this as its first member. */
struct cw_kernel {
	const struct cw_kernel_ops *ops;
};

#endif
