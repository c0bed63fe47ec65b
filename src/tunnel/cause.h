/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cause: why a tunnel is where it is, as a person can act on it.
 *
 * One list for IKE, kernel and configuration, so that status, JSON and logs say the same. Each has
 * a short machine name (stable, in JSON) and a sentence with its remedy.
 */
#ifndef CW_TUNNEL_CAUSE_H
#define CW_TUNNEL_CAUSE_H

enum cw_cause {
	CW_CAUSE_NONE = 0,
	CW_CAUSE_CONFIG,	    /* the site has an error in the file */
	CW_CAUSE_OPERATOR,	    /* `causewayctl down` */
	CW_CAUSE_STOPPING,	    /* the daemon stops */
	CW_CAUSE_RESOLVE,	    /* the peer's name has no address now */
	CW_CAUSE_NO_ROUTE,	    /* no route to the peer, or no local address for it */
	CW_CAUSE_OWN_ADDRESS,	    /* the peer's address is one of this machine */
	CW_CAUSE_NO_ANSWER,	    /* retransmissions of a first request ran out */
	CW_CAUSE_PEER_DEAD,	    /* DPD: an established peer stopped answering */
	CW_CAUSE_AUTH_BY_PEER,	    /* AUTHENTICATION_FAILED from the peer */
	CW_CAUSE_AUTH_BY_US,	    /* the peer's key or identity is not what we expect */
	CW_CAUSE_NO_IKE_PROPOSAL,   /* NO_PROPOSAL_CHOSEN in IKE_SA_INIT, or main mode's first pair */
	CW_CAUSE_NO_ESP_PROPOSAL,   /* NO_PROPOSAL_CHOSEN for the CHILD_SA */
	CW_CAUSE_DH_GROUP,	    /* INVALID_KE_PAYLOAD that no other try can mend; PFS groups differ */
	CW_CAUSE_TS_UNACCEPTABLE,
	CW_CAUSE_PEER_DELETE,	    /* the peer sent DELETE */
	CW_CAUSE_CHILD_DELETE,	    /* the peer deleted the CHILD_SA only */
	CW_CAUSE_EXPIRED,	    /* hard lifetime reached without a rekey */
	CW_CAUSE_KERNEL,	    /* the kernel lacks or refuses what the tunnel needs */
	CW_CAUSE_DUPLICATE,	    /* closed in favour of another IKE_SA of the same tunnel */
	CW_CAUSE_NAT_FORBIDDEN,	    /* NAT found and nat-traversal is "never" */
	CW_CAUSE_PROTOCOL,	    /* another error notify; the detail has its name */
	CW_CAUSE_LOST,		    /* it is gone and nobody told us: found by comparing */
	CW_CAUSE_RECONFIGURED,
	CW_CAUSE_ENGINE,	    /* the IKE engine does not take the tunnel's settings */
	CW_CAUSE_COUNT,
};

/* Stable name such as "auth-by-peer". Never NULL. */
const char *cw_cause_name(enum cw_cause cause);
/* One short sentence for people, such as "the peer refused our key or identity". Never NULL. */
const char *cw_cause_text(enum cw_cause cause);
/* What to look at or do; "" where there is nothing to do. Never NULL. */
const char *cw_cause_remedy(enum cw_cause cause);
/* The same for a tunnel whose peer is told a private address of ours as our identity, likely behind a NAT. */
const char *cw_cause_remedy_private(enum cw_cause cause);

#endif
