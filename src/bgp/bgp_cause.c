/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of states, causes, waits and events, for people and JSON. */
#include "bgp/bgp_peer.h"

static const char *const state_names[CW_BGP_STATE_COUNT] = {
	[CW_BGP_STATE_IDLE] = "idle",
	[CW_BGP_STATE_CONNECT] = "connect",
	[CW_BGP_STATE_ACTIVE] = "active",
	[CW_BGP_STATE_OPEN_SENT] = "open-sent",
	[CW_BGP_STATE_OPEN_CONFIRM] = "open-confirm",
	[CW_BGP_STATE_ESTABLISHED] = "established",
};

static const char *const wait_names[] = {
	[CW_BGP_WAIT_NONE] = "none",
	[CW_BGP_WAIT_START] = "stopped",
	[CW_BGP_WAIT_NET] = "tunnel-down",
	[CW_BGP_WAIT_PAUSE] = "pause",
	[CW_BGP_WAIT_PREFIXES] = "prefix-limit",
};

static const char *const event_names[CW_BGP_EV_COUNT] = {
	[CW_BGP_EV_START] = "start",
	[CW_BGP_EV_STOP] = "stop",
	[CW_BGP_EV_RESET] = "reset",
	[CW_BGP_EV_CONF_CHANGED] = "conf-changed",
	[CW_BGP_EV_NET_DOWN] = "net-down",
	[CW_BGP_EV_NET_UP] = "net-up",
	[CW_BGP_EV_CONNECTED] = "connected",
	[CW_BGP_EV_CONNECT_FAILED] = "connect-failed",
	[CW_BGP_EV_ACCEPTED] = "accepted",
	[CW_BGP_EV_CLOSED] = "closed",
	[CW_BGP_EV_SEND_BLOCKED] = "send-blocked",
	[CW_BGP_EV_SEND_PROGRESS] = "send-progress",
	[CW_BGP_EV_MESSAGE] = "message",
	[CW_BGP_EV_HEADER_ERROR] = "header-error",
	[CW_BGP_EV_UPDATE_ERROR] = "update-error",
	[CW_BGP_EV_EOR] = "eor",
	[CW_BGP_EV_PREFIXES] = "prefixes",
	[CW_BGP_EV_SENT_ALL] = "sent-all",
	[CW_BGP_EV_TIMER] = "timer",
};

static const struct {
	const char *name, *text, *remedy;
} causes[CW_BGP_CAUSE_COUNT] = {
	[CW_BGP_CAUSE_NONE] = { "none", "all is well", "" },
	[CW_BGP_CAUSE_OPERATOR] = { "operator", "stopped by order", "" },
	[CW_BGP_CAUSE_RESET] = { "reset", "reset by order", "" },
	[CW_BGP_CAUSE_CONF_CHANGED] = { "conf-changed", "its settings changed", "" },
	[CW_BGP_CAUSE_NET_DOWN] = { "net-down", "the tunnel to the peer is down",
				    "see the tunnel; BGP follows by itself" },
	[CW_BGP_CAUSE_CONNECT_FAILED] = { "connect-failed", "the peer can't be connected to on TCP port 179",
					  "see that the peer has BGP enabled for our address, that the tunnel's "
					  "selectors take in both addresses, and that MD5 keys are equal" },
	[CW_BGP_CAUSE_CONNECTION_LOST] = { "connection-lost", "the TCP connection ended",
					   "see the peer's log; one that closes before any message does not know us" },
	[CW_BGP_CAUSE_HOLD_EXPIRED] = { "hold-expired", "nothing came from the peer for the hold time",
					"see whether data passes through the tunnel" },
	[CW_BGP_CAUSE_SEND_HOLD] = { "send-hold", "the peer takes nothing that we send",
				     "see whether large packets pass through the tunnel (MTU), and how busy the peer is" },
	[CW_BGP_CAUSE_BAD_HEADER] = { "bad-header", "the peer sent something that is no BGP message",
				      "report it to the peer's maker, with the bytes that are shown" },
	[CW_BGP_CAUSE_BAD_OPEN] = { "bad-open", "the peer's OPEN can't be accepted",
				    "compare AS numbers and the other BGP settings of both sides" },
	[CW_BGP_CAUSE_BAD_UPDATE] = { "bad-update", "the peer sent an UPDATE that can't be read",
				      "report it to the peer's maker, with the bytes that are shown" },
	[CW_BGP_CAUSE_BAD_REFRESH] = { "bad-refresh", "the peer sent a malformed ROUTE-REFRESH",
				       "report it to the peer's maker, with the bytes that are shown" },
	[CW_BGP_CAUSE_UNEXPECTED] = { "unexpected", "the peer sent a message out of order",
				      "report it to the peer's maker" },
	[CW_BGP_CAUSE_NOTIFICATION] = { "notification", "the peer ended the session",
					"the peer's reason is shown; see its settings and log" },
	[CW_BGP_CAUSE_PREFIX_LIMIT] = { "prefix-limit", "the peer announced more prefixes than max-prefixes",
					"raise max-prefixes or make the peer announce less" },
	[CW_BGP_CAUSE_COLLISION] = { "collision", "closed in favour of another connection", "" },
	[CW_BGP_CAUSE_PEER_RESTARTED] = { "peer-restarted", "the peer restarted and connected again", "" },
};

const char *cw_bgp_state_name(enum cw_bgp_state state)
{
	return (unsigned)state < CW_BGP_STATE_COUNT ? state_names[state] : "unknown";
}

const char *cw_bgp_wait_name(enum cw_bgp_wait wait)
{
	return (unsigned)wait <= CW_BGP_WAIT_PREFIXES ? wait_names[wait] : "unknown";
}

const char *cw_bgp_event_name(enum cw_bgp_event_kind kind)
{
	return (unsigned)kind < CW_BGP_EV_COUNT ? event_names[kind] : "unknown";
}

const char *cw_bgp_cause_name(enum cw_bgp_cause cause)
{
	return (unsigned)cause < CW_BGP_CAUSE_COUNT ? causes[cause].name : "unknown";
}

const char *cw_bgp_cause_text(enum cw_bgp_cause cause)
{
	return (unsigned)cause < CW_BGP_CAUSE_COUNT ? causes[cause].text : "unknown";
}

const char *cw_bgp_cause_remedy(enum cw_bgp_cause cause)
{
	return (unsigned)cause < CW_BGP_CAUSE_COUNT ? causes[cause].remedy : "";
}
