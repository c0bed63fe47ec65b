/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stable message ids: CW_LOG_ID(name, number, meaning, remedy). Included by log.h, log.c and,
 * as text, by the man page's check. A number is never used again for another meaning.
 * 1000: start and config. 1100: kernel. 1200: IKE. 1300: tunnels. 1400: control.
 * No include guard: included several times on purpose.
 */
CW_LOG_ID(STARTED, 1001, "causewayd is up.", "Nothing to do.")
CW_LOG_ID(STOPPED, 1002, "causewayd has stopped and removed its kernel objects.", "Nothing to do.")
CW_LOG_ID(CONF_ERROR, 1003, "A setting is wrong; the site it belongs to is left out, the others run.",
	  "Run causewayd -n -f FILE: it lists every error with its place.")
CW_LOG_ID(CONF_WARNING, 1004, "A setting works but is weak or unusual.", "Read the reason and decide.")
CW_LOG_ID(KEY_CHANGED, 1005, "A psk-file holds another key than before; it is used from this try on.", "Nothing to do.")
CW_LOG_ID(NO_FORWARDING, 1101, "The kernel does not forward packets, so hosts behind this gateway can't use the tunnels.",
	  "sysctl -w net.ipv4.ip_forward=1 (and net.ipv6.conf.all.forwarding=1 for IPv6).")
CW_LOG_ID(KERNEL_REFUSED, 1102, "The kernel refused a request of ours.",
	  "The line gives the object, errno and the kernel's own words.")
CW_LOG_ID(KERNEL_LACKS, 1103, "The kernel lacks something that a tunnel needs.",
	  "Load the module that the line names, or choose another interface-mode.")
CW_LOG_ID(KERNEL_RESYNC, 1104, "Kernel events were lost; everything was read again.", "Nothing to do.")
CW_LOG_ID(ADOPTED, 1105, "Kernel objects of an earlier run were found and adopted or removed.", "Nothing to do.")
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
	  "Only traffic within them passes; widen the peer's policy if more is wanted.")
CW_LOG_ID(NAT_FOUND, 1310, "There is a NAT between us and the peer.", "Nothing to do unless nat-traversal is \"never\".")
CW_LOG_ID(RESOLVE_FAILED, 1311, "The peer's name can't be resolved now; it is asked again at every try.",
	  "Check the name and the resolver.")
CW_LOG_ID(ONE_WAY, 1312, "The tunnel is up, but data only goes out.",
	  "See that ESP (or UDP 4500) passes both ways and that the far side has a route back.")
CW_LOG_ID(REKEYED, 1313, "An SA was replaced by a new one, as it should be before it expires.", "Nothing to do.")
CW_LOG_ID(CTL_REFUSED, 1401, "A control request was refused.", "The line gives the reason.")
