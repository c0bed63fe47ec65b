/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tunnel/cause.h"

static const struct {
	const char *name, *text, *remedy;
} causes[CW_CAUSE_COUNT] = {
	[CW_CAUSE_NONE] = { "none", "all is well", "" },
	[CW_CAUSE_CONFIG] = { "config", "its site has an error in the config file",
			      "run causewayd -n -f FILE and mend what it lists" },
	[CW_CAUSE_OPERATOR] = { "operator", "taken down by causewayctl",
				"causewayctl up TUNNEL brings it back" },
	[CW_CAUSE_STOPPING] = { "stopping", "causewayd is stopping", "" },
	[CW_CAUSE_RESOLVE] = { "resolve", "the peer's name has no address now",
			       "check the name and this machine's resolver" },
	[CW_CAUSE_NO_ROUTE] = { "no-route", "this machine has no route to the peer",
				"check the uplink and the default route" },
	[CW_CAUSE_OWN_ADDRESS] = { "own-address", "the peer's address is this machine itself",
				   "write the far side's address as remote; where it is a name, see what this "
				   "machine's resolver and /etc/hosts make of it" },
	[CW_CAUSE_NO_ANSWER] = { "no-answer", "the peer does not answer",
				 "check the peer's address and that UDP 500 and 4500 pass both ways" },
	[CW_CAUSE_PEER_DEAD] = { "peer-dead", "the peer stopped answering",
				 "check the path to the peer; it is tried again by itself" },
	[CW_CAUSE_AUTH_BY_PEER] = { "auth-by-peer", "the peer refused our key or identity",
				    "compare the key, and local-id and remote-id with what the peer expects; psk-file is read "
				    "again at each try" },
	[CW_CAUSE_AUTH_BY_US] = { "auth-by-us", "the peer's key or identity is not the one configured",
				  "compare the key, and remote-id with what the peer sends; psk-file is read again "
				  "at each try" },
	[CW_CAUSE_NO_IKE_PROPOSAL] = { "no-ike-proposal", "no common proposal for IKE (phase 1)",
				       "make ike-proposals equal to the peer's policy; for Azure set a custom "
				       "IPsec/IKE policy on the connection or use profile azure-default; if the "
				       "peer speaks IKEv1 only: ike-version = 1" },
	[CW_CAUSE_NO_ESP_PROPOSAL] = { "no-esp-proposal", "no common proposal for ESP (phase 2)",
				       "make esp-proposals equal to the peer's policy, the PFS group too" },
	[CW_CAUSE_DH_GROUP] = { "dh-group", "the two sides want different DH (PFS) groups",
				"make the group in the proposals equal to the peer's" },
	[CW_CAUSE_TS_UNACCEPTABLE] = { "ts-unacceptable", "no common traffic selectors",
				       "compare networks and selectors with the peer's; for a route-based "
				       "gateway selectors = \"any\"" },
	[CW_CAUSE_PEER_DELETE] = { "peer-delete", "the peer closed the IKE_SA",
				   "it is tried again by itself; the peer's log says why it closed" },
	[CW_CAUSE_CHILD_DELETE] = { "child-delete", "the peer closed the CHILD_SA",
				    "it is tried again by itself; the peer's log says why it closed" },
	[CW_CAUSE_EXPIRED] = { "expired", "the SA reached its hard lifetime before a rekey worked",
			       "see the last rekey error" },
	[CW_CAUSE_KERNEL] = { "kernel", "the kernel lacks or refuses what the tunnel needs",
			      "set right what the kernel names; it is tried again by itself" },
	[CW_CAUSE_DUPLICATE] = { "duplicate", "closed in favour of another IKE_SA of the same tunnel", "" },
	[CW_CAUSE_NAT_FORBIDDEN] = { "nat-forbidden", "there is a NAT on the path and nat-traversal is \"never\"",
				     "set nat-traversal to \"auto\" or take the NAT away" },
	[CW_CAUSE_PROTOCOL] = { "protocol", "the peer answered with an error", "see the detail and the peer's log" },
	[CW_CAUSE_LOST] = { "lost", "it was gone without a word; found by comparing", "" },
	[CW_CAUSE_RECONFIGURED] = { "reconfigured", "its settings changed", "" },
	[CW_CAUSE_ENGINE] = { "engine", "the IKE engine does not take the tunnel's settings",
			      "causewayd -d logs the engine's own words" },
};

const char *cw_cause_name(enum cw_cause cause)
{
	return (unsigned)cause < CW_CAUSE_COUNT ? causes[cause].name : "unknown";
}

const char *cw_cause_text(enum cw_cause cause)
{
	return (unsigned)cause < CW_CAUSE_COUNT ? causes[cause].text : "unknown cause";
}

const char *cw_cause_remedy(enum cw_cause cause)
{
	return (unsigned)cause < CW_CAUSE_COUNT ? causes[cause].remedy : "";
}

const char *cw_cause_remedy_private(enum cw_cause cause)
{
	if (cause != CW_CAUSE_AUTH_BY_PEER)
		return cw_cause_remedy(cause);
	return "we show our private address: if the peer knows us by a public one, set public-address; else "
	       "compare the key, and local-id with what the peer expects; psk-file is read again at each try";
}
