/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_peer_conf: the settings of one neighbour's session, as a plain value.
 *
 * No pointers, so that it can be kept, copied and compared. The MD5 key is not here: only a number that
 * changes when the key does. What routes are taken and announced is policy and belongs to bgp_policy.h.
 *
 * A table in bgp_peer_conf.c says of each setting what a change of it costs: nothing, a new OPEN, or a
 * new connection. The man page lists the same.
 */
#ifndef CW_BGP_BGP_PEER_CONF_H
#define CW_BGP_BGP_PEER_CONF_H

#include "base/ipaddr.h"
#include "base/name.h"
#include "wire/bgp_msg.h"

#define CW_BGP_PEER_NO_ROLE 255

struct cw_bgp_peer_conf {
	char name[CW_TUNNEL_NAME_MAX + 1]; /* of the tunnel that leads to it */
	uint32_t local_asn, remote_asn;	   /* equal: iBGP */
	uint32_t router_id;		   /* ours, host order; never 0 */
	struct cw_addr local, remote;
	bool active;			   /* we connect */
	bool passive;			   /* we take the peer's connections; at least one of the two */
	bool family[CW_BGP_FAMILIES];	   /* offered; at least one */

	/* timers */
	uint32_t hold_s;		   /* offered; 0: none, else 3 to 65535 */
	uint32_t hold_min_s;		   /* an agreed hold time below is refused, none too; 0: any */
	uint32_t connect_retry_s;	   /* between tries to connect; 1 or more */
	uint32_t delay_open_s;		   /* wait so long for the peer's OPEN before sending ours; 0: don't */
	uint32_t idle_hold_min_s;	   /* pause after a first failure; 1 or more */
	uint32_t idle_hold_max_s;	   /* it doubles up to this; ten times this for the same bad message again */
	uint32_t stable_s;		   /* established for so long, failures are forgotten */

	/* offers */
	bool ext_message;		   /* RFC 8654 */
	bool ext_next_hop;		   /* RFC 8950 */
	uint8_t role;			   /* ours, enum cw_bgp_role, or CW_BGP_PEER_NO_ROLE; eBGP only */
	bool role_strict;		   /* a peer without a role is refused */
	bool gr;			   /* RFC 4724 and 8538, helper and restarter; false: capability 64 is not sent */
	uint32_t gr_time_s;		   /* the peer keeps our routes so long; up to 4095 */
	uint32_t gr_time_max_s;		   /* and we never its longer than this, whatever it asks for */
	uint32_t gr_stale_s;		   /* after its return, what it does not announce again goes after so long */
	uint32_t gr_defer_s;		   /* restarted: wait so long for the peer's routes before sending ours */

	/* limits */
	uint32_t max_prefixes;		   /* of each family; 0: no limit */
	uint32_t max_prefixes_warn;	   /* percent of it; 0: no warning */
	uint32_t max_prefixes_restart_s;   /* pause after it tripped, doubling; 0: until RESET or raised */

	/* For whoever owns the socket and the routes; the session itself only sees that they change. */
	uint32_t ttl;			   /* 1 to 255 */
	bool gtsm;			   /* RFC 5082: ttl hops at most are accepted */
	uint32_t md5_generation;	   /* 0: no key; another number: another key */
	bool check_first_as;
};

/* What a change of a setting takes. The gravest of all changes counts. */
enum cw_bgp_peer_change {
	CW_BGP_CHANGE_NONE,	/* it is the same */
	CW_BGP_CHANGE_LIVE,	/* used from now on, the session does not notice */
	CW_BGP_CHANGE_OPEN,	/* it was said in OPEN: the session ends (Cease 6/6) and begins again */
	CW_BGP_CHANGE_SOCKET,	/* the same, and the owner of the listening socket has work too */
};

/*
 * Compares two settings. ret_names: the changed ones of the gravest kind, "hold_s, role", cut to size with an
 * ellipsis; may be NULL.
 */
enum cw_bgp_peer_change cw_bgp_peer_conf_diff(const struct cw_bgp_peer_conf *old_conf,
					      const struct cw_bgp_peer_conf *new_conf, char *ret_names,
					      size_t size);

/* The table behind it, for tests and for listing: row i, or NULL after the last. */
struct cw_bgp_peer_conf_row {
	const char *name;
	uint16_t offset, size;
	enum cw_bgp_peer_change change;
};
const struct cw_bgp_peer_conf_row *cw_bgp_peer_conf_row(size_t i);

/* Is it a session with our own AS? */
static inline bool cw_bgp_peer_conf_ibgp(const struct cw_bgp_peer_conf *conf)
{
	return conf->local_asn == conf->remote_asn;
}

#endif
