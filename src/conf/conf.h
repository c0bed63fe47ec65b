/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf: the settings, as plain immutable structs.
 *
 * cw_conf_read() makes a struct cw_conf from a file; nothing changes it afterwards and
 * cw_conf_free() ends it. Profiles, inheritance (tunnel over site over profile) and defaults are
 * already applied: a struct cw_tunnel_conf is complete by itself. Strings are owned by the
 * struct cw_conf and live as long as it. Any thread may read.
 *
 * This header knows nothing of libconfig; src/conf/conf_read.c does.
 */
#ifndef CW_CONF_CONF_H
#define CW_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/ipaddr.h"
#include "base/log.h"
#include "base/name.h"
#include "base/rc.h"
#include "base/secret.h"

#define CW_CONF_TUNNELS_MAX 4000   /* tunnels in one file */
#define CW_CONF_PAIRS_MAX 100	   /* selector pairs of one tunnel; Azure's own limit too */
#define CW_CONF_PROPOSALS_MAX 16
#define CW_CONF_NETWORKS_MAX 1000  /* prefixes of one site; Azure's own limit too */
#define CW_CONF_ANNOUNCE_MAX 10000 /* prefixes announced to a site */

struct cw_pool;

enum cw_ike_version { CW_IKE_V1 = 1, CW_IKE_V2 = 2 };

enum cw_nat_traversal { CW_NAT_AUTO, CW_NAT_FORCE, CW_NAT_NEVER };

/* How a tunnel's traffic meets its SAs. AUTO: xfrm interface, else VTI, else plain policies. */
enum cw_interface_mode { CW_IF_AUTO, CW_IF_XFRM, CW_IF_VTI, CW_IF_POLICY };

/* ANY: 0.0.0.0/0 and ::/0 both ways, routing decides. NETWORKS: a CHILD_SA per pair of prefixes. */
enum cw_selectors { CW_SEL_ANY, CW_SEL_NETWORKS };

/* A lifetime of SAs. 0 means "no limit of this kind"; time_s is never 0. */
struct cw_lifetime_conf {
	uint32_t time_s;	 /* hard end */
	uint32_t rekey_margin_s; /* the rekey starts this long before it */
	uint32_t rekey_jitter_s; /* random part, 0..this, starts it earlier still */
	uint64_t bytes;
	uint64_t packets;
};

struct cw_prefixes {
	struct cw_prefix *v;
	size_t n;
};

/* Prefixes inside `prefix` whose length is from ge to le. */
struct cw_filter {
	struct cw_prefix prefix;
	uint8_t ge, le;
};

struct cw_filters {
	struct cw_filter *v;
	size_t n;
};

/* Communities as they stand on the wire: 4 octets each, large ones 12. */
struct cw_octets {
	uint8_t *v;
	size_t n; /* octets */
};

struct cw_names {
	const char **v;
	size_t n;
};

enum cw_bgp_by { CW_BGP_BY_US, CW_BGP_BY_OTHERS }; /* who speaks BGP on this machine */

/* Who opens the connection. */
enum cw_bgp_connect { CW_BGP_CONNECT_BOTH, CW_BGP_CONNECT_ACTIVE, CW_BGP_CONNECT_PASSIVE };

/* Our role toward the peer, RFC 9234. */
enum cw_bgp_role_conf {
	CW_BGP_ROLE_CONF_NONE,
	CW_BGP_ROLE_CONF_PROVIDER,
	CW_BGP_ROLE_CONF_CUSTOMER,
	CW_BGP_ROLE_CONF_PEER,
	CW_BGP_ROLE_CONF_RS,
	CW_BGP_ROLE_CONF_RS_CLIENT,
};

#define CW_BGP_MED_NONE UINT64_MAX
#define CW_BGP_PASSWORD_MAX 80 /* TCP_MD5SIG_MAXKEYLEN, tcp(7) */

/* BGP over one tunnel. Complete by itself: site and profile are already applied. */
struct cw_bgp_conf {
	struct cw_addr peer;  /* family NONE: no BGP over this tunnel */
	struct cw_addr local; /* what we speak from; never NONE where there is a peer in a good site */
	enum cw_bgp_connect connect;
	uint32_t hold_s; /* 0: no hold timer */
	uint32_t hold_min_s; /* less is refused; 0: whatever the peer says */
	uint32_t ttl;
	bool gtsm; /* RFC 5082: only packets with TTL 255 - ttl_hops and more count */
	bool check_first_as;
	bool ipv6;
	bool graceful_restart;
	uint32_t restart_s; /* how long a peer shall keep our routes */
	enum cw_bgp_role_conf role;
	bool role_strict;
	struct cw_secret *own_password; /* owned; NULL: the site's */
	const struct cw_secret *password; /* TCP MD5 key (RFC 2385); NULL: none */
	const char *password_file; /* as written; NULL: inline or none */
	bool password_omitted; /* this is a printed copy, which holds no keys */
	uint32_t max_prefixes; /* that we take; 0: no limit */
	uint32_t max_prefixes_restart_s;
	uint32_t announce_limit; /* that we send; 0: no limit */

	/* in */
	struct cw_filters accept; /* n 0: everything */
	struct cw_filters refuse;
	bool accept_default;
	uint32_t local_pref;

	/* out */
	struct cw_prefixes announce; /* never empty unless the gateway has no networks */
	uint64_t med; /* CW_BGP_MED_NONE: none */
	uint32_t prepend;
	struct cw_octets communities;
	struct cw_octets large_communities;
	struct cw_names transit; /* sites whose routes are passed on to this one */
};

/* Normalised proposals ("aes256-sha256-modp2048"), in the order they are offered. */
struct cw_proposals {
	const char *v[CW_CONF_PROPOSALS_MAX];
	size_t n;
};

struct cw_tunnel_conf {
	char name[CW_TUNNEL_NAME_MAX + 1];
	char ifname[CW_IFNAME_SIZE];	/* "cw-…"; unique in the file */
	const struct cw_site_conf *site; /* borrowed: the site it belongs to */

	/* Ends. remote is an address or a DNS name; remote_addr is set when it is an address. */
	const char *remote;
	struct cw_addr remote_addr;	/* family NONE: remote is a name */
	struct cw_addr local_addr;	/* family NONE: whatever the route to the peer says */
	struct cw_addr public_addr;	/* family NONE: same as local */
	const char *local_id;		/* NULL: public_addr, else the local address */
	const char *remote_id;		/* NULL: the peer's address */
	const struct cw_secret *psk;	/* the site's or own_psk; never NULL in a good site */
	struct cw_secret *own_psk;	/* owned; NULL: the site's is used */
	const char *psk_file;		/* as written; NULL: the key stood inline */
	const char *psk_path;		/* where that file is, for cw_key_read(); NULL with it */
	bool psk_omitted;		/* this is a printed copy, which holds no keys */

	/* IKE */
	enum cw_ike_version ike_version;
	struct cw_proposals ike_proposals;
	struct cw_proposals esp_proposals;
	struct cw_lifetime_conf ike_lifetime; /* bytes and packets unused */
	struct cw_lifetime_conf child_lifetime;
	uint32_t dpd_delay_s;	/* silence before we ask */
	uint32_t dpd_timeout_s; /* from the first unanswered question until the peer is dead */
	enum cw_nat_traversal nat_traversal;
	bool fragmentation;
	bool mobike;
	bool start;		/* brought up by itself; else it waits for the peer or for `up` */
	uint32_t retry_min_s;	/* first pause between tries */
	uint32_t retry_max_s;	/* cap of the pauses */
	uint32_t retry_auth_s;	/* pause after a refused key or identity */

	/* Data */
	enum cw_interface_mode interface_mode;
	enum cw_selectors selectors;
	uint32_t mtu;
	uint32_t replay_window; /* packets; 0: off */
	bool esn;
	bool copy_df;
	bool copy_ecn;
	struct cw_prefix inside_addr; /* address of ours on the interface; family NONE: none */
	uint32_t metric;	      /* of this tunnel's routes; lower is preferred */

	struct cw_bgp_conf bgp;
};

struct cw_site_conf {
	char name[CW_NAME_MAX + 1];
	const char *profile;	/* a name from the profile table */
	uint32_t asn;		/* 0: none */
	struct cw_prefixes networks;
	bool balance;
	bool enabled;
	struct cw_tunnel_conf *tunnels;
	size_t n_tunnels;
	struct cw_secret *psk;	/* owned; NULL where each tunnel has its own */
	struct cw_secret *bgp_password; /* owned; NULL likewise */

	/* A site with an error is not run, but it is shown: what is known of it is filled in. */
	bool bad;
	const char *bad_reason; /* the first error, with file:line; NULL when !bad */
	unsigned line;
};

struct cw_gateway_conf {
	char name[CW_NAME_MAX + 1];
	struct cw_prefixes networks;
	struct cw_addr router_id; /* IPv4 or none */
	uint32_t asn;		  /* 0: none */
	struct cw_addr local_addr;
	struct cw_addr public_addr;
	enum cw_log_level log_level;
	const char *control_socket; /* path */
	enum cw_bgp_by bgp;
	struct cw_addr bgp_addr;    /* ours, where a tunnel says nothing; family NONE: the router id */
	struct cw_prefixes announce; /* n 0: the networks */
	struct cw_prefixes aggregates;
	uint32_t learned_metric; /* of routes learned by BGP */
	uint32_t learned_table;
	const char *mrt_file; /* path; NULL: no dump */
};

struct cw_conf {
	struct cw_gateway_conf gateway;
	struct cw_site_conf *sites;
	size_t n_sites;
	struct cw_pool *pool; /* texts and prefixes; private to src/conf */
};

enum cw_conf_severity { CW_CONF_ERROR, CW_CONF_WARNING };

/* One finding. Texts never hold a secret. */
struct cw_conf_issue {
	enum cw_conf_severity severity;
	const char *file;
	unsigned line;	     /* 0: the whole file */
	const char *setting; /* path such as "sites[1].tunnels[0].remote"; "" for the whole file */
	const char *value;   /* as read; "" where there is none or it may not be shown */
	const char *reason;
	const char *remedy;  /* what would be right; "" when there is nothing to add */
	bool fatal;	     /* not confined to one site: nothing can run */
};

struct cw_conf_report {
	struct cw_conf_issue *v;
	size_t n;
	size_t n_errors;
	bool fatal;
	struct cw_pool *pool; /* the texts; private to src/conf */
};

/*
 * Reads and checks a file. Both results are always filled, also on failure, and are freed by
 * cw_conf_free() and cw_conf_report_free().
 *
 * ret_conf: NULL when nothing can run (report->fatal); otherwise all sites, the bad ones marked.
 * Returns CW_OK when there is no error (warnings may be), CW_E_INVALID when there are errors,
 * CW_E_NOT_FOUND/CW_E_DENIED/CW_E_SYSTEM when the file can't be read (said in the report too),
 * CW_E_NO_MEMORY.
 */
enum cw_rc cw_conf_read(const char *path, struct cw_conf **ret_conf,
			struct cw_conf_report *ret_report);

void cw_conf_free(struct cw_conf *conf);
void cw_conf_report_free(struct cw_conf_report *report);

/*
 * One finding on one line, without a newline:
 *   FILE:LINE: error: SETTING: "VALUE" REASON; REMEDY
 * What is not printable ASCII is written as \xNN. Cut to size like snprintf(). Returns buf.
 */
const char *cw_conf_issue_print(const struct cw_conf_issue *issue, char *buf, size_t size);
/* The same without "error: ", for where the line begins with that already. */
const char *cw_conf_issue_print_bare(const struct cw_conf_issue *issue, char *buf, size_t size);

enum cw_conf_form {
	CW_CONF_CANONICAL, /* what differs from the profile or the default */
	CW_CONF_FULL,	   /* every value that is in force */
};

/*
 * What `causewayd -n` does: reads and checks the file at path, prints the findings to err, one a
 * line, and, when there is no error, the settings in that form to out.
 * Returns an exit code: 0 no error, 1 the file can't be read (or memory is out), 2 errors in it.
 */
int cw_conf_check_main(const char *path, enum cw_conf_form form, FILE *out, FILE *err);

/*
 * The canonical form: every setting that differs from its profile's or schema's default, in the
 * schema's order; what all tunnels of a site share stands at the site. Keys are named by their
 * psk-file; a key that was written inline is left out and `psk-omitted = true` stands for it, with
 * which the copy can be read and printed again but not run. Reading it again, in the same folder,
 * gives an equal conf.
 * The full form has every value, what profile and defaults give too; read again it gives an equal conf as well.
 * Returns malloc()ed text, or NULL when memory is out.
 */
char *cw_conf_print(const struct cw_conf *conf, enum cw_conf_form form);

/* Finds by name; NULL if there is none. */
const struct cw_tunnel_conf *cw_conf_tunnel(const struct cw_conf *conf, const char *name);

/* The selector pairs of selectors = "networks": each network of ours, in the order given, with each of the
 * site's that has its family. Their order is that of the pairs' numbers everywhere. */
struct cw_pair_walk {
	const struct cw_prefix *ours, *theirs; /* set by the caller, as are the numbers of them */
	size_t n_ours, n_theirs;
	size_t i, k;
	const struct cw_prefix *our, *their; /* the pair that cw_pair_next() came to */
};
/* False: there are no more. */
bool cw_pair_next(struct cw_pair_walk *walk);
size_t cw_pair_count(const struct cw_prefixes *ours, const struct cw_prefixes *theirs);

const char *cw_nat_traversal_name(enum cw_nat_traversal v);
const char *cw_interface_mode_name(enum cw_interface_mode v);
const char *cw_selectors_name(enum cw_selectors v);

#endif
