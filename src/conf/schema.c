/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/schema.h"

#include <string.h>

#include "conf/conf.h"

#define G(member) CW_HOME_GATEWAY, .offset = offsetof(struct cw_gateway_conf, member)
#define S(member) CW_HOME_SITE, .offset = offsetof(struct cw_site_conf, member)
#define T(member) CW_HOME_TUNNEL, .offset = offsetof(struct cw_tunnel_conf, member)

#define BOTH (CW_LEVEL_SITE | CW_LEVEL_TUNNEL)

const char *const cw_names_nat_traversal[] = { "auto", "force", "never", NULL };
const char *const cw_names_interface_mode[] = { "auto", "xfrm", "vti", "policy", NULL };
const char *const cw_names_selectors[] = { "any", "networks", NULL };
const char *const cw_names_bgp_by[] = { "internal", "external", NULL };
const char *const cw_names_bgp_connect[] = { "both", "active", "passive", NULL };
const char *const cw_names_bgp_role[] = { "none", "provider", "customer", "peer", "rs",
					  "rs-client", NULL };
const char *const cw_names_log_level[] = { "error", "warning", "notice", "info", "debug", NULL };

static const struct cw_setting settings[] = {
	{ .name = "gateway", .levels = CW_LEVEL_TOP, .type = CW_TYPE_GROUP,
	  .help = "This machine." },
	{ .name = "sites", .levels = CW_LEVEL_TOP, .type = CW_TYPE_GROUPS,
	  .help = "The far sites, each a group." },

	{ .name = "name", .levels = CW_LEVEL_GATEWAY, .home = G(name), .type = CW_TYPE_NAME,
	  .max = CW_NAME_MAX, .dflt = "\"gateway\"",
	  .help = "What this gateway is called in its own reports." },
	{ .name = "networks", .levels = CW_LEVEL_GATEWAY, .home = G(networks),
	  .type = CW_TYPE_NETWORKS, .max = CW_CONF_NETWORKS_MAX,
	  .help = "The networks behind this gateway." },
	{ .name = "router-id", .levels = CW_LEVEL_GATEWAY, .home = G(router_id),
	  .type = CW_TYPE_ADDR4,
	  .help = "BGP identifier of this gateway, four numbers as an address. Without it: "
		  "bgp-address, else the inside-address of the first tunnel with bgp-peer." },
	{ .name = "asn", .levels = CW_LEVEL_GATEWAY, .home = G(asn), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = UINT32_MAX,
	  .help = "AS number of this gateway. BGP needs one here and one at the site." },
	{ .name = "bgp", .levels = CW_LEVEL_GATEWAY, .home = G(bgp), .type = CW_TYPE_CHOICE,
	  .choices = cw_names_bgp_by, .dflt = "\"internal\"",
	  .help = "Who speaks BGP. external leaves it to another daemon, and causeway keeps to "
		  "tunnels, interfaces, addresses and the host route to each bgp-peer; see "
		  "BGP BY ANOTHER DAEMON." },
	{ .name = "bgp-address", .levels = CW_LEVEL_GATEWAY, .home = G(bgp_addr),
	  .type = CW_TYPE_ADDR,
	  .help = "Address that we speak BGP from, for tunnels that don't say: not the public "
		  "one. Where no interface of the machine has it, the tunnels' interfaces get it." },
	{ .name = "announce", .levels = CW_LEVEL_GATEWAY, .home = G(announce),
	  .type = CW_TYPE_NETWORKS, .max = CW_CONF_ANNOUNCE_MAX,
	  .help = "What is announced to every site by BGP. Without it: networks." },
	{ .name = "aggregates", .levels = CW_LEVEL_GATEWAY, .home = G(aggregates),
	  .type = CW_TYPE_NETWORKS, .max = CW_CONF_NETWORKS_MAX,
	  .help = "Announced while something inside is known, in place of the routes inside." },
	{ .name = "learned-metric", .levels = CW_LEVEL_GATEWAY, .home = G(learned_metric),
	  .type = CW_TYPE_NUMBER32, .min = 1, .max = 2000000000, .dflt = "120",
	  .help = "Metric of the routes that BGP learned; lower is preferred." },
	{ .name = "learned-table", .levels = CW_LEVEL_GATEWAY, .home = G(learned_table),
	  .type = CW_TYPE_NUMBER32, .min = 1, .max = UINT32_MAX, .dflt = "254",
	  .help = "Routing table that they go to; 254 is main." },
	{ .name = "mrt-file", .levels = CW_LEVEL_GATEWAY, .home = G(mrt_file),
	  .type = CW_TYPE_TEXT, .max = 1024,
	  .help = "File to which every BGP message received is added, in MRT format (RFC 6396)." },
	{ .name = "local-address", .levels = CW_LEVEL_GATEWAY, .home = G(local_addr),
	  .type = CW_TYPE_ADDR,
	  .help = "Address of this machine that IKE and ESP are sent from. Without it: the one "
		  "that the route to the peer says." },
	{ .name = "public-address", .levels = CW_LEVEL_GATEWAY, .home = G(public_addr),
	  .type = CW_TYPE_ADDR,
	  .help = "Address under which the peers see this machine, where a NAT lies between. It "
		  "is the identity that is shown to them." },
	{ .name = "log-level", .levels = CW_LEVEL_GATEWAY, .home = G(log_level),
	  .type = CW_TYPE_CHOICE, .choices = cw_names_log_level, .dflt = "\"notice\"",
	  .help = "The least important lines that are still logged." },
	{ .name = "control-socket", .levels = CW_LEVEL_GATEWAY, .home = G(control_socket),
	  .type = CW_TYPE_PATH, .max = 107, /* sun_path, unix(7) */
	  .dflt = "\"/run/causeway/control\"",
	  .help = "Unix socket that causewayctl(8) talks to." },

	{ .name = "name", .levels = CW_LEVEL_SITE, .home = S(name), .type = CW_TYPE_NAME,
	  .max = CW_NAME_MAX, .help = "Name of the site. Required, and unique." },
	{ .name = "profile", .levels = CW_LEVEL_SITE, .home = S(profile), .type = CW_TYPE_PROFILE,
	  .dflt = "\"generic\"", .help = "Kind of the peer; see PROFILES." },
	{ .name = "asn", .levels = CW_LEVEL_SITE, .home = S(asn), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = UINT32_MAX,
	  .help = "AS number of the site: the peers of its tunnels must show it." },
	{ .name = "networks", .levels = CW_LEVEL_SITE, .home = S(networks),
	  .type = CW_TYPE_NETWORKS, .max = CW_CONF_NETWORKS_MAX,
	  .help = "The networks of the site: they are routed through its tunnels." },
	{ .name = "balance", .levels = CW_LEVEL_SITE, .home = S(balance), .type = CW_TYPE_BOOL,
	  .dflt = "false",
	  .help = "true: all tunnels of the site with an equally good route by BGP carry traffic, "
		  "by flow (not done yet for networks). false: the first usable one does." },
	{ .name = "enabled", .levels = CW_LEVEL_SITE, .home = S(enabled), .type = CW_TYPE_BOOL,
	  .dflt = "true", .help = "false leaves the whole site out." },

	{ .name = "psk", .levels = BOTH, .type = CW_TYPE_SECRET, .max = 1024, .unit = "bytes",
	  .help = "The pre-shared key itself; see KEYS. The file must not be readable by others "
		  "then. It is read at the start only; a psk-file is read again at each try." },
	{ .name = "psk-file", .levels = BOTH, .type = CW_TYPE_KEY_FILE, .max = 1024,
	  .help = "File with the pre-shared key; see KEYS. A relative path begins at the folder of "
		  "the main configuration file. It is read again at each try to bring the tunnel "
		  "up." },
	{ .name = "psk-omitted", .levels = BOTH, .home = T(psk_omitted), .type = CW_TYPE_BOOL,
	  .dflt = "false",
	  .help = "Stands in a printed copy where the original has a psk. Such a copy is refused "
		  "until psk or psk-file takes its place." },

	{ .name = "tunnels", .levels = CW_LEVEL_SITE, .type = CW_TYPE_GROUPS,
	  .help = "The tunnels to the site, each a group; the first is preferred." },

	{ .name = "name", .levels = CW_LEVEL_TUNNEL, .home = T(name), .type = CW_TYPE_NAME,
	  .max = CW_TUNNEL_NAME_MAX,
	  .help = "Name of the tunnel, unique in the file. Without it: the site's name, a dash and "
		  "the tunnel's place, from 1." },
	{ .name = "remote", .levels = CW_LEVEL_TUNNEL, .home = T(remote), .type = CW_TYPE_HOST,
	  .max = 253,
	  .help = "Address or full DNS name of the peer. Required. A name is asked for again "
		  "before every attempt." },
	{ .name = "bgp-peer", .levels = CW_LEVEL_TUNNEL, .home = T(bgp.peer), .type = CW_TYPE_ADDR,
	  .help = "Address that the peer speaks BGP from, inside the tunnel. A host route leads "
		  "to it. Without it: no BGP over this tunnel." },
	{ .name = "inside-address", .levels = CW_LEVEL_TUNNEL, .home = T(inside_addr),
	  .type = CW_TYPE_ADDR_LEN,
	  .help = "Our address on the tunnel's interface, with the length of its network, as "
		  "169.254.21.1/30. Each tunnel has a network of its own, and none with "
		  "interface-mode policy, where there is no interface." },
	{ .name = "interface", .levels = CW_LEVEL_TUNNEL, .home = T(ifname), .type = CW_TYPE_IFNAME,
	  .max = CW_IFNAME_SIZE - 1,
	  .help = "Name of the tunnel's interface; it begins with cw-. Without it: cw- and the "
		  "tunnel's name, shortened where that is over 15 characters." },

	{ .name = "local-address", .levels = BOTH, .home = T(local_addr), .type = CW_TYPE_ADDR,
	  .help = "As in gateway, for this tunnel." },
	{ .name = "public-address", .levels = BOTH, .home = T(public_addr), .type = CW_TYPE_ADDR,
	  .help = "As in gateway, for this tunnel." },
	{ .name = "local-id", .levels = BOTH, .home = T(local_id), .type = CW_TYPE_ID, .max = 255,
	  .help = "Our IKE identity: an address, a DNS name, a mail address, or @#hex for a key "
		  "identifier. Without it: the public address, else the local address. What stands for "
		  "many identities is refused: %any, a *, 0.0.0.0 and ::, an address with a length, a "
		  "range." },
	{ .name = "remote-id", .levels = BOTH, .home = T(remote_id), .type = CW_TYPE_ID, .max = 255,
	  .help = "The IKE identity that the peer must show, one that is shown as it stands: nothing "
		  "stands for many identities, as in local-id, or whoever has the key were let in. "
		  "Without it: its address." },
	{ .name = "ike-version", .levels = BOTH, .home = T(ike_version), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = 2, .help = "1: IKEv1, main mode. 2: IKEv2." },
	{ .name = "ike-proposals", .levels = BOTH, .home = T(ike_proposals),
	  .type = CW_TYPE_IKE_PROPOSALS, .max = CW_CONF_PROPOSALS_MAX,
	  .help = "What is offered and taken for the IKE_SA, best first; see PROPOSALS." },
	{ .name = "esp-proposals", .levels = BOTH, .home = T(esp_proposals),
	  .type = CW_TYPE_ESP_PROPOSALS, .max = CW_CONF_PROPOSALS_MAX,
	  .help = "The same for CHILD_SAs. A group means PFS. A proposal without one after one "
		  "with takes rekeys of both kinds." },
	{ .name = "ike-lifetime", .levels = BOTH, .home = T(ike_lifetime.time_s),
	  .type = CW_TYPE_NUMBER32, .min = 300, .max = 604800, .unit = "s",
	  .help = "Hard end of an IKE_SA. It can't be switched off." },
	{ .name = "ike-rekey-margin", .levels = BOTH, .home = T(ike_lifetime.rekey_margin_s),
	  .type = CW_TYPE_NUMBER32, .min = 1, .max = 604800, .unit = "s",
	  .help = "The IKE_SA is rekeyed this long before its end. With ike-lifetime alone set, "
		  "margin and jitter keep the profile's share of it." },
	{ .name = "ike-rekey-jitter", .levels = BOTH, .home = T(ike_lifetime.rekey_jitter_s),
	  .type = CW_TYPE_NUMBER32, .max = 604800, .unit = "s",
	  .help = "Up to this much earlier still, by chance." },
	{ .name = "child-lifetime", .levels = BOTH, .home = T(child_lifetime.time_s),
	  .type = CW_TYPE_NUMBER32, .min = 60, .max = 604800, .unit = "s",
	  .help = "Hard end of a CHILD_SA. It can't be switched off." },
	{ .name = "child-rekey-margin", .levels = BOTH, .home = T(child_lifetime.rekey_margin_s),
	  .type = CW_TYPE_NUMBER32, .min = 1, .max = 604800, .unit = "s",
	  .help = "The CHILD_SA is rekeyed this long before its end. With child-lifetime alone "
		  "set, margin and jitter keep the profile's share of it." },
	{ .name = "child-rekey-jitter", .levels = BOTH, .home = T(child_lifetime.rekey_jitter_s),
	  .type = CW_TYPE_NUMBER32, .max = 604800, .unit = "s",
	  .help = "Up to this much earlier still, by chance." },
	{ .name = "child-lifetime-bytes", .levels = BOTH, .home = T(child_lifetime.bytes),
	  .type = CW_TYPE_NUMBER64, .max = INT64_MAX, .unit = "bytes",
	  .help = "End of a CHILD_SA by volume; 0: none. Not under 1048576." },
	{ .name = "child-lifetime-packets", .levels = BOTH, .home = T(child_lifetime.packets),
	  .type = CW_TYPE_NUMBER64, .max = INT64_MAX, .unit = "packets",
	  .help = "End of a CHILD_SA by packets; 0: none. Not under 1000." },
	{ .name = "dpd-delay", .levels = BOTH, .home = T(dpd_delay_s), .type = CW_TYPE_NUMBER32,
	  .min = 2, .max = 3600, .unit = "s",
	  .help = "Silence of the peer before it is asked whether it lives." },
	{ .name = "dpd-timeout", .levels = BOTH, .home = T(dpd_timeout_s), .type = CW_TYPE_NUMBER32,
	  .min = 3, .max = 7200, .unit = "s",
	  .help = "Time from the first unanswered question until the peer counts as dead." },
	{ .name = "nat-traversal", .levels = BOTH, .home = T(nat_traversal), .type = CW_TYPE_CHOICE,
	  .choices = cw_names_nat_traversal,
	  .help = "ESP in UDP: auto where a NAT is found, force always, never: a NAT on the way is "
		  "an error." },
	{ .name = "fragmentation", .levels = BOTH, .home = T(fragmentation), .type = CW_TYPE_BOOL,
	  .help = "IKE fragmentation (RFC 7383)." },
	{ .name = "mobike", .levels = BOTH, .home = T(mobike), .type = CW_TYPE_BOOL,
	  .help = "Lets the tunnel follow a change of address (RFC 4555)." },
	{ .name = "start", .levels = BOTH, .home = T(start), .type = CW_TYPE_BOOL,
	  .help = "true: brought up by itself and kept up. false: waits for the peer, or for "
		  "causewayctl up." },
	{ .name = "retry-min", .levels = BOTH, .home = T(retry_min_s), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = 3600, .unit = "s",
	  .help = "First pause between two attempts; it doubles up to retry-max." },
	{ .name = "retry-max", .levels = BOTH, .home = T(retry_max_s), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = 86400, .unit = "s", .help = "Longest pause between two attempts." },
	{ .name = "retry-auth", .levels = BOTH, .home = T(retry_auth_s), .type = CW_TYPE_NUMBER32,
	  .min = 5, .max = 86400, .unit = "s",
	  .help = "Pause after a refused key or identity." },
	{ .name = "interface-mode", .levels = BOTH, .home = T(interface_mode),
	  .type = CW_TYPE_CHOICE, .choices = cw_names_interface_mode,
	  .help = "How traffic meets the tunnel: an xfrm interface, a VTI, or policies alone. auto "
		  "takes the first that the kernel has. Policies need a route that packets to the "
		  "site would take without them: for IPv6 networks it is made, by the interface to the "
		  "peer; for IPv4 the default route serves." },
	{ .name = "selectors", .levels = BOTH, .home = T(selectors), .type = CW_TYPE_CHOICE,
	  .choices = cw_names_selectors,
	  .help = "any: everything may pass and routes decide. networks: a CHILD_SA for each pair "
		  "of a network of ours and one of the site, at most 100 pairs." },
	{ .name = "mtu", .levels = BOTH, .home = T(mtu), .type = CW_TYPE_NUMBER32, .min = 576,
	  .max = 9200, .unit = "bytes",
	  .help = "MTU of the tunnel's interface; at least 1280 with IPv6 inside." },
	{ .name = "replay-window", .levels = BOTH, .home = T(replay_window),
	  .type = CW_TYPE_NUMBER32, .max = 4096, .unit = "packets",
	  .help = "How far out of order a packet may come; 0 takes replays too." },
	{ .name = "esn", .levels = BOTH, .home = T(esn), .type = CW_TYPE_BOOL,
	  .help = "Offers 64-bit sequence numbers, and 32-bit ones after them." },
	{ .name = "copy-df", .levels = BOTH, .home = T(copy_df), .type = CW_TYPE_BOOL,
	  .help = "Copies the DF bit to the outer packet." },
	{ .name = "copy-ecn", .levels = BOTH, .home = T(copy_ecn), .type = CW_TYPE_BOOL,
	  .help = "Copies congestion marks between inner and outer packet (RFC 6040)." },
	{ .name = "bgp-address", .levels = BOTH, .home = T(bgp.local), .type = CW_TYPE_ADDR,
	  .help = "As in gateway, for this tunnel. Without either: the inside-address, else the "
		  "router-id." },
	{ .name = "bgp-connect", .levels = BOTH, .home = T(bgp.connect), .type = CW_TYPE_CHOICE,
	  .choices = cw_names_bgp_connect,
	  .help = "Who opens the connection: active, we do; passive, the peer does; both. Azure "
		  "never opens one to a peer with an APIPA address." },
	{ .name = "bgp-hold-time", .levels = BOTH, .home = T(bgp.hold_s),
	  .type = CW_TYPE_NUMBER32, .max = 65535, .unit = "s",
	  .help = "Silence after which the session ends; the lower of both sides' counts, and a "
		  "third of it is the pause between our signs of life. 0: never; else at least 3." },
	{ .name = "bgp-hold-time-min", .levels = BOTH, .home = T(bgp.hold_min_s),
	  .type = CW_TYPE_NUMBER32, .max = 65535, .unit = "s",
	  .help = "A peer that wants less, or none, is refused. 0: takes whatever it says." },
	{ .name = "bgp-ttl", .levels = BOTH, .home = T(bgp.ttl), .type = CW_TYPE_NUMBER32,
	  .min = 1, .max = 255, .help = "TTL of our BGP packets." },
	{ .name = "bgp-gtsm", .levels = BOTH, .home = T(bgp.gtsm), .type = CW_TYPE_BOOL,
	  .help = "Takes only BGP packets that come from one hop away (RFC 5082). The peer must "
		  "send with TTL 255." },
	{ .name = "bgp-password", .levels = BOTH, .type = CW_TYPE_SECRET, .max = 80, .unit = "bytes",
	  .help = "TCP MD5 key of the session (RFC 2385), 1 to 80 bytes. The file must not be "
		  "readable by others then." },
	{ .name = "bgp-password-file", .levels = BOTH, .type = CW_TYPE_KEY_FILE, .max = 1024,
	  .help = "File with it, as psk-file." },
	{ .name = "bgp-password-omitted", .levels = BOTH, .home = T(bgp.password_omitted),
	  .type = CW_TYPE_BOOL, .dflt = "false",
	  .help = "Stands in a printed copy where the original has a bgp-password." },
	{ .name = "bgp-graceful-restart", .levels = BOTH, .home = T(bgp.graceful_restart),
	  .type = CW_TYPE_BOOL,
	  .help = "Offers graceful restart (RFC 4724, 8538): each side keeps the other's routes "
		  "over a restart. Routes over a tunnel that is down go at once anyhow." },
	{ .name = "bgp-restart-time", .levels = BOTH, .home = T(bgp.restart_s),
	  .type = CW_TYPE_NUMBER32, .min = 1, .max = 4095, .unit = "s",
	  .help = "How long the peer shall keep our routes then." },
	{ .name = "bgp-role", .levels = BOTH, .home = T(bgp.role), .type = CW_TYPE_CHOICE,
	  .choices = cw_names_bgp_role,
	  .help = "Our role toward the peer (RFC 9234): a route leak is then seen by both." },
	{ .name = "bgp-role-strict", .levels = BOTH, .home = T(bgp.role_strict),
	  .type = CW_TYPE_BOOL, .help = "Refuses a peer that tells no role." },
	{ .name = "bgp-ipv6", .levels = BOTH, .home = T(bgp.ipv6), .type = CW_TYPE_BOOL,
	  .help = "Offers IPv6 routes too, over the same session." },
	{ .name = "bgp-check-first-as", .levels = BOTH, .home = T(bgp.check_first_as),
	  .type = CW_TYPE_BOOL,
	  .help = "A path that does not begin with the site's AS number is not used." },
	{ .name = "max-prefixes", .levels = BOTH, .home = T(bgp.max_prefixes),
	  .type = CW_TYPE_NUMBER32, .max = 10000000, .unit = "prefixes",
	  .help = "More of one family than this and the session is ended; at 80 % a warning "
		  "comes. 0: no limit." },
	{ .name = "max-prefixes-restart", .levels = BOTH, .home = T(bgp.max_prefixes_restart_s),
	  .type = CW_TYPE_NUMBER32, .max = 86400, .unit = "s",
	  .help = "Pause before the session is tried again then; it doubles each time. 0: not "
		  "before causewayctl bgp reset." },
	{ .name = "announce-limit", .levels = BOTH, .home = T(bgp.announce_limit),
	  .type = CW_TYPE_NUMBER32, .max = 10000000, .unit = "prefixes",
	  .help = "No more prefixes of one family than this are announced to the peer; the rest "
		  "is held back, with a warning. 0: no limit." },
	{ .name = "accept", .levels = BOTH, .home = T(bgp.accept), .type = CW_TYPE_FILTERS,
	  .max = CW_CONF_NETWORKS_MAX,
	  .help = "What is taken of what the peer announces; see PREFIX LISTS. Without it: "
		  "everything but what refuse names and the default route." },
	{ .name = "refuse", .levels = BOTH, .home = T(bgp.refuse), .type = CW_TYPE_FILTERS,
	  .max = CW_CONF_NETWORKS_MAX, .help = "What is not, even where accept names it." },
	{ .name = "accept-default", .levels = BOTH, .home = T(bgp.accept_default),
	  .type = CW_TYPE_BOOL,
	  .help = "Takes a default route too, and 0.0.0.0/1 and 128.0.0.0/1." },
	{ .name = "local-pref", .levels = BOTH, .home = T(bgp.local_pref),
	  .type = CW_TYPE_NUMBER32, .max = UINT32_MAX,
	  .help = "Preference of the peer's routes here; higher wins before all else." },
	{ .name = "announce", .levels = BOTH, .home = T(bgp.announce), .type = CW_TYPE_NETWORKS,
	  .max = CW_CONF_ANNOUNCE_MAX, .help = "As in gateway, to this site or tunnel." },
	{ .name = "med", .levels = BOTH, .home = T(bgp.med), .type = CW_TYPE_NUMBER64,
	  .max = UINT32_MAX,
	  .help = "MULTI_EXIT_DISC of what we announce; the peer prefers the lower." },
	{ .name = "prepend", .levels = BOTH, .home = T(bgp.prepend), .type = CW_TYPE_NUMBER32,
	  .max = 32,
	  .help = "How often our AS number stands in the path once more than it must; the peer "
		  "prefers the shorter path." },
	{ .name = "communities", .levels = BOTH, .home = T(bgp.communities),
	  .type = CW_TYPE_COMMUNITIES, .max = 64,
	  .help = "Communities on what we announce, as \"65010:100\" or \"no-export\"." },
	{ .name = "large-communities", .levels = BOTH, .home = T(bgp.large_communities),
	  .type = CW_TYPE_LARGE_COMMUNITIES, .max = 64,
	  .help = "Large communities (RFC 8092), as \"65010:1:2\"." },
	{ .name = "transit", .levels = BOTH, .home = T(bgp.transit), .type = CW_TYPE_NAMES,
	  .max = CW_CONF_TUNNELS_MAX,
	  .help = "Sites whose routes are passed on to this one. Without it: nothing that we "
		  "learned is announced to anybody." },
	{ .name = "metric", .levels = BOTH, .home = T(metric), .type = CW_TYPE_NUMBER32, .min = 1,
	  .max = 2000000000, /* the unreachable routes beneath have more */
	  .help = "Metric of the tunnel's routes; lower is preferred. The tunnel's place in its site, "
		  "from 0, is added to it." },
};

_Static_assert(sizeof(settings) / sizeof(settings[0]) <= CW_SETTINGS_MAX,
	       "CW_SETTINGS_MAX is smaller than the table");

static const struct {
	const char *name, *wanted;
} types[CW_TYPE_COUNT] = {
	[CW_TYPE_GROUP] = { "group", "a group, { ... }" },
	[CW_TYPE_GROUPS] = { "list of groups", "a list of groups, ( { ... }, { ... } )" },
	[CW_TYPE_NAME] = { "name", "a name in quotes" },
	[CW_TYPE_IFNAME] = { "name", "a name in quotes" },
	[CW_TYPE_PROFILE] = { "profile", "a profile's name in quotes" },
	[CW_TYPE_ID] = { "identity", "an identity in quotes" },
	[CW_TYPE_PATH] = { "path", "a path in quotes" },
	[CW_TYPE_SECRET] = { "key", "a key in quotes" },
	[CW_TYPE_KEY_FILE] = { "path", "a path in quotes" },
	[CW_TYPE_HOST] = { "address or DNS name", "an address or a DNS name, in quotes" },
	[CW_TYPE_ADDR] = { "address", "an address in quotes" },
	[CW_TYPE_ADDR4] = { "IPv4 address", "an IPv4 address in quotes" },
	[CW_TYPE_ADDR_LEN] = { "address/length", "an address with its length in quotes, as "
						 "\"169.254.21.1/30\"" },
	[CW_TYPE_NETWORKS] = { "list of networks",
			       "a list of networks, as [ \"10.10.0.0/16\" ]" },
	[CW_TYPE_NUMBER32] = { "number", "a whole number without quotes" },
	[CW_TYPE_NUMBER64] = { "number", "a whole number without quotes" },
	[CW_TYPE_BOOL] = { "true or false", "true or false, without quotes" },
	[CW_TYPE_CHOICE] = { "word", "one of its words in quotes" },
	[CW_TYPE_IKE_PROPOSALS] = { "list of proposals",
				    "a list of proposals, as [ \"aes256-sha256-modp2048\" ]" },
	[CW_TYPE_ESP_PROPOSALS] = { "list of proposals",
				    "a list of proposals, as [ \"aes256-sha256-modp2048\" ]" },
	[CW_TYPE_TEXT] = { "text", "a text in quotes" },
	[CW_TYPE_FILTERS] = { "prefix list", "a list of prefixes, as [ \"10.0.0.0/8 le 24\" ]" },
	[CW_TYPE_COMMUNITIES] = { "list of communities",
				  "a list of communities, as [ \"65010:100\" ]" },
	[CW_TYPE_LARGE_COMMUNITIES] = { "list of large communities",
					"a list of large communities, as [ \"65010:1:2\" ]" },
	[CW_TYPE_NAMES] = { "list of names", "a list of names, as [ \"branch\" ]" },
};

const struct cw_setting *cw_setting_at(size_t i)
{
	return i < sizeof(settings) / sizeof(settings[0]) ? &settings[i] : NULL;
}

int cw_setting_find(const char *name, enum cw_level level)
{
	const struct cw_setting *s;

	for (size_t i = 0; (s = cw_setting_at(i)) != NULL; i++) {
		if ((s->levels & (unsigned)level) && strcmp(s->name, name) == 0)
			return (int)i;
	}
	return -1;
}

const char *cw_level_name(enum cw_level level)
{
	switch (level) {
	case CW_LEVEL_TOP:
		return "the file";
	case CW_LEVEL_GATEWAY:
		return "gateway";
	case CW_LEVEL_SITE:
		return "a site";
	case CW_LEVEL_TUNNEL:
		return "a tunnel";
	}
	return "unknown";
}

const char *cw_type_wanted(enum cw_setting_type type)
{
	return (unsigned)type < CW_TYPE_COUNT ? types[type].wanted : "";
}

const char *cw_type_name(enum cw_setting_type type)
{
	return (unsigned)type < CW_TYPE_COUNT ? types[type].name : "";
}
