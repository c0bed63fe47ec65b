/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/profile.h"

#include <string.h>

/* Members that all profiles have alike. With dpd-delay 5 and dpd-timeout 8 a peer that died
 * and came back without a word is noticed within 13 s, and with retry-max 10 a path that comes back
 * is tried within 10 s: either way the tunnel is back within 15 s. */
#define COMMON                                                                                     \
	.nat_traversal = CW_NAT_AUTO, .fragmentation = true, .mobike = false, .start = true,       \
	.retry_min_s = 1, .retry_max_s = 10, .retry_auth_s = 60, .interface_mode = CW_IF_AUTO,     \
	.replay_window = 1024, .copy_df = true, .copy_ecn = true, .metric = 100,                   \
	.dpd_delay_s = 5, .dpd_timeout_s = 8

/* Hold time in seconds, and how many prefixes we take and send at most. */
#define BGP(hold, take, send)                                                                      \
	.bgp = { .hold_s = (hold), .ttl = 255, .check_first_as = true, .restart_s = 120,           \
		 .max_prefixes = (take), .max_prefixes_restart_s = 60, .announce_limit = (send),   \
		 .local_pref = 100, .med = CW_BGP_MED_NONE }

/* Lifetime, margin, jitter in seconds. */
#define LIFE(time, margin, jitter)                                                                 \
	{ .time_s = (time), .rekey_margin_s = (margin), .rekey_jitter_s = (jitter) }

/* Of all Azure gateways. Azure replaces an IKE_SA at 95 % of 28,800 s: we are there by 90 %. */
#define AZURE                                                                                      \
	COMMON, BGP(180, 4000, 4000), .ike_lifetime = LIFE(28800, 2880, 1440), .mtu = 1400
#define AZURE_ROUTE_BASED                                                                          \
	AZURE, .ike_version = CW_IKE_V2, .child_lifetime = LIFE(27000, 2700, 1350),                \
	.selectors = CW_SEL_ANY
/* All that Azure offers for IKE where nobody made a policy: group 2. */
#define AZURE_IKE_DEFAULT { { "aes256-sha256-modp1024", "aes256-sha1-modp1024" }, 2 }

static const struct cw_profile profiles[] = {
	{
		.name = "azure",
		.about = "Azure VPN gateway, route-based, with the custom IPsec policy AES256, "
			 "SHA256, DHGroup14, PFS2048",
		.cloud = CW_CLOUD_AZURE,
		.values = {
			AZURE_ROUTE_BASED,
			.ike_proposals = { { "aes256-sha256-modp2048" }, 1 },
			/* The second is for a rekey that Azure starts, perhaps without a group. */
			.esp_proposals = { { "aes256-sha256-modp2048", "aes256-sha256" }, 2 },
		},
	},
	{
		.name = "azure-default",
		.about = "Azure VPN gateway, route-based, without a custom policy: group 2 and no "
			 "PFS is all that it offers",
		.cloud = CW_CLOUD_AZURE,
		.values = {
			AZURE_ROUTE_BASED,
			.ike_proposals = AZURE_IKE_DEFAULT,
			.esp_proposals = { { "aes256gcm16", "aes256-sha256", "aes256-sha1" }, 3 },
		},
	},
	{
		.name = "azure-policy",
		.about = "Azure VPN gateway, policy-based (Basic): IKEv1, a pair of selectors for "
			 "each pair of networks",
		.cloud = CW_CLOUD_AZURE,
		.values = {
			AZURE,
			.ike_version = CW_IKE_V1,
			.ike_proposals = AZURE_IKE_DEFAULT,
			.esp_proposals = { { "aes256-sha256", "aes256-sha1" }, 2 },
			.child_lifetime = LIFE(3600, 540, 180),
			.selectors = CW_SEL_NETWORKS,
		},
	},
	{
		.name = "aws",
		.about = "AWS site-to-site VPN with its own defaults",
		.cloud = CW_CLOUD_AWS,
		.values = {
			COMMON,
			BGP(30, 4000, 100),
			.ike_version = CW_IKE_V2,
			.ike_proposals = { { "aes256gcm16-prfsha384-ecp384", "aes256-sha384-ecp384",
					     "aes256-sha256-modp2048",
					     "aes128-sha256-modp2048" }, 4 },
			.esp_proposals = { { "aes256gcm16-ecp384", "aes256-sha256-modp2048",
					     "aes128-sha256-modp2048" }, 3 },
			/* AWS rekeys 540 to 1,080 s before the end. We are earlier. */
			.ike_lifetime = LIFE(28800, 1800, 900),
			.child_lifetime = LIFE(3600, 1200, 300),
			.selectors = CW_SEL_ANY,
			.mtu = 1399,
		},
	},
	{
		.name = "causeway",
		.about = "causeway at both ends",
		.values = {
			COMMON,
			BGP(90, 100000, 0),
			.ike_version = CW_IKE_V2,
			.ike_proposals = { { "aes256gcm16-prfsha384-ecp384" }, 1 },
			.esp_proposals = { { "aes256gcm16-ecp384" }, 1 },
			.ike_lifetime = LIFE(28800, 2880, 1440),
			.child_lifetime = LIFE(14400, 1440, 720),
			.selectors = CW_SEL_ANY,
			.mtu = 1400,
			.esn = true,
		},
	},
	{
		.name = "generic",
		.about = "any other IKEv2 peer: what current firewalls have in common",
		.values = {
			COMMON,
			BGP(90, 100000, 0),
			.ike_version = CW_IKE_V2,
			.ike_proposals = { { "aes256gcm16-prfsha384-ecp384", "aes256-sha384-ecp384",
					     "aes256-sha256-modp2048",
					     "aes128-sha256-modp2048" }, 4 },
			.esp_proposals = { { "aes256gcm16-ecp384", "aes256-sha256-modp2048",
					     "aes128-sha256-modp2048", "aes256gcm16",
					     "aes256-sha256" }, 5 },
			.ike_lifetime = LIFE(28800, 2880, 1440),
			.child_lifetime = LIFE(3600, 540, 180),
			.selectors = CW_SEL_ANY,
			.mtu = 1400,
		},
	},
};

const struct cw_profile *cw_profile_at(size_t i)
{
	return i < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[i] : NULL;
}

const struct cw_profile *cw_profile_find(const char *name)
{
	const struct cw_profile *p;

	for (size_t i = 0; (p = cw_profile_at(i)) != NULL; i++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}

uint32_t cw_profile_scale(uint32_t profile_part_s, uint32_t profile_time_s, uint32_t time_s)
{
	uint64_t part = (uint64_t)profile_part_s * time_s / profile_time_s;

	/* A share that rounds to nothing would put the rekey at the very end. */
	return part ? (uint32_t)part : 1;
}
