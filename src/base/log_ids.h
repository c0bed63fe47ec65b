/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stable message ids: CW_LOG_ID(name, number, meaning, remedy). Included by log.h, log.c and,
 * as text, by the man page's check. A number is never used again for another meaning.
 * 1000: start and config. 1100: kernel. 1200: IKE. 1300: tunnels. 1400: control. 1500: BGP.
 * No include guard: included several times on purpose.
 */
CW_LOG_ID(STARTED, 1001, "causewayd is up.", "Nothing to do.")
CW_LOG_ID(STOPPED, 1002, "causewayd has stopped and removed its kernel objects.", "Nothing to do.")
CW_LOG_ID(CONF_ERROR, 1003, "A setting is wrong; the site it belongs to is left out, the others run.",
	  "Run causewayd -n -f FILE: it lists every error with its place.")
CW_LOG_ID(CONF_WARNING, 1004, "A setting works but is weak or unusual.", "Read the reason and decide.")
CW_LOG_ID(KEY_CHANGED, 1005, "A psk-file holds another key than before; it is used from this try on.", "Nothing to do.")
CW_LOG_ID(NOT_STARTED, 1006, "causewayd could not start.", "The line says what is missing or in the way.")
CW_LOG_ID(CONF_NOT_READ, 1007, "A signal asked for the config to be read again, which is not done while running.",
	  "systemctl restart causeway.")
CW_LOG_ID(NO_FORWARDING, 1101, "The kernel does not forward packets, so hosts behind this gateway can't use the tunnels.",
	  "sysctl -w net.ipv4.ip_forward=1 (and net.ipv6.conf.all.forwarding=1 for IPv6).")
CW_LOG_ID(KERNEL_REFUSED, 1102, "The kernel refused a request of ours.",
	  "The line gives the object, errno and the kernel's own words.")
CW_LOG_ID(KERNEL_LACKS, 1103, "The kernel lacks something that a tunnel needs.",
	  "Load the module that the line names, or choose another interface-mode.")
CW_LOG_ID(KERNEL_RESYNC, 1104, "Kernel events were lost; everything was read again.", "Nothing to do.")
CW_LOG_ID(ADOPTED, 1105, "Kernel objects of an earlier run were found and adopted or removed.", "Nothing to do.")
CW_LOG_ID(ROUTE_SHADOWED, 1106, "Packets to a network of a site take a route that is not ours, past its tunnels.",
	  "Remove that route, or make its metric worse than ours; causewayctl status shows each network.")
CW_LOG_ID(LINK_RESTORED, 1107, "Somebody renamed or deleted an interface of ours; it is back.",
	  "Find out who did: NetworkManager and systemd-networkd can be told to leave cw-* alone.")
CW_LOG_ID(IKE_PORT_TAKEN, 1201, "Another IKE daemon holds UDP port 500 or 4500.",
	  "Stop it (strongswan, strongswan-starter, ipsec, iked) and start causewayd again.")
CW_LOG_ID(IKE_START, 1202, "libcharon could not be started.", "The line gives libcharon's own reason.")
CW_LOG_ID(TUNNEL_UP, 1301, "The tunnel carries traffic.", "Nothing to do.")
CW_LOG_ID(TUNNEL_DOWN, 1302, "The tunnel stopped carrying traffic; it is tried again by itself.",
	  "The line gives the cause.")
CW_LOG_ID(TUNNEL_RETRY, 1303, "An attempt to bring the tunnel up failed.",
	  "The line gives the cause and when the next try is; of tries that fail alike, one in 10 minutes is logged.")
CW_LOG_ID(AUTH_FAILED, 1304, "The peer or we refused the other's key or identity.",
	  "Compare the key on both sides, and local-id and remote-id with what the peer expects.")
CW_LOG_ID(NO_PROPOSAL, 1305, "The two sides have no common proposal.",
	  "Make the peer's policy equal to the proposals that the line lists.")
CW_LOG_ID(TS_UNACCEPTABLE, 1306, "The two sides can't agree on traffic selectors.",
	  "Compare networks and selectors with what the peer expects.")
CW_LOG_ID(REKEY_FAILED, 1307, "A rekey failed; the old SA is used until it expires.",
	  "Compare the PFS groups of both sides.")
CW_LOG_ID(DUPLICATE_SA, 1308, "A second IKE_SA of the same tunnel was closed.", "Nothing to do.")
CW_LOG_ID(SELECTORS_NARROWED, 1309, "The peer agreed to narrower selectors than we asked for.",
	  "Only traffic within them passes. If networks are named that are not covered: widen the peer's policy, or take "
	  "them out of networks.")
CW_LOG_ID(NAT_FOUND, 1310, "There is a NAT between us and the peer.", "Nothing to do unless nat-traversal is \"never\".")
CW_LOG_ID(RESOLVE_FAILED, 1311, "The peer's name can't be resolved now; it is asked again at every try.",
	  "Check the name and the resolver.")
CW_LOG_ID(ONE_WAY, 1312, "The tunnel is up, but data only goes out.",
	  "See that ESP (or UDP 4500) passes both ways and that the far side has a route back.")
CW_LOG_ID(REKEYED, 1313, "An SA was replaced by a new one, as it should be before it expires.", "Nothing to do.")
CW_LOG_ID(CTL_REFUSED, 1401, "A control request was refused.", "The line gives the reason.")
CW_LOG_ID(BGP_UP, 1501, "The BGP session with the neighbour is established.", "Nothing to do.")
CW_LOG_ID(BGP_DOWN, 1502, "The BGP session has ended; it is tried again by itself unless it was stopped by order.",
	  "The line gives the cause.")
CW_LOG_ID(BGP_RETRY, 1503, "A try to set up the BGP session came to nothing.",
	  "The line gives the cause and when the next try is; of tries that fail alike, one in 10 minutes is logged.")
CW_LOG_ID(BGP_REFUSED, 1504, "The neighbour's OPEN can't be accepted.",
	  "The line says what was expected and what came: compare the settings of both sides.")
CW_LOG_ID(BGP_BAD_MESSAGE, 1505, "The neighbour sent something that ends the session: malformed or out of order.",
	  "The line gives the bytes: show it to whoever runs the neighbour. The same again makes the pause longer.")
CW_LOG_ID(BGP_PREFIX_WARNING, 1506, "The neighbour announces nearly as many prefixes as max-prefixes allows.",
	  "Raise max-prefixes if that is right, or make the neighbour announce less.")
CW_LOG_ID(BGP_PREFIX_LIMIT, 1507, "The neighbour announced more prefixes than max-prefixes; the session was ended.",
	  "Raise max-prefixes and start again, or make the neighbour announce less; causewayctl bgp reset ends the pause.")
CW_LOG_ID(BGP_SETTINGS, 1508, "Settings of the neighbour's session changed.",
	  "Nothing to do; the line says whether the session had to begin anew.")
CW_LOG_ID(BGP_STRANGER, 1510, "Somebody connected to our BGP port who is no neighbour in the file; the connection was closed.",
	  "If it is meant to be one: compare bgp-peer and bgp-address with the line's addresses.")
CW_LOG_ID(BGP_FAULT, 1511, "A neighbour's UPDATE holds something malformed; what RFC 7606 says was done with it.",
	  "The line gives the attribute and its octets: show it to whoever runs the neighbour.")
CW_LOG_ID(BGP_ROUTE_REFUSED, 1512, "Routes of a neighbour are not used.",
	  "The line gives the reason; causewayctl routes --received PEER lists them.")
CW_LOG_ID(BGP_ANNOUNCE_LIMIT, 1513, "More prefixes were to be announced than announce-limit allows; the rest was held back.",
	  "Put neighbouring networks together, or raise announce-limit if the neighbour takes more.")
CW_LOG_ID(BGP_ROUTE_FOREIGN, 1514, "A learned route can't be installed: a route of somebody else with the same destination and metric is there.",
	  "Take that route away, or choose another learned-metric.")
CW_LOG_ID(BGP_MRT, 1515, "The file of mrt-file can't be written.",
	  "See the reason; with the unit's sandbox the folder needs ReadWritePaths= in a drop-in.")
