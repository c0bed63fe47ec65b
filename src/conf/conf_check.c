/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf_int.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "conf/proposal.h"

#define BYTES_MIN (UINT64_C(1) << 20)
#define PACKETS_MIN 1000

/* One tunnel under check, with what belongs to it. */
struct check {
	struct cw_reader *r;
	const struct cw_profile *profile;
	const struct cw_site_conf *site;
	const struct cw_tunnel_conf *t;
	int i, k; /* of site and tunnel */
};

static unsigned line_of(const unsigned *set, const char *name, enum cw_level level)
{
	int row = cw_setting_find(name, level);

	return row >= 0 ? set[row] : 0;
}

struct cw_subject cw_subject_of(const struct cw_reader *r, int i, int k, const char *name)
{
	struct cw_subject at = { .site = i, .tunnel = -1, .name = name, .element = -1 };
	unsigned own, handed;

	if (i < 0) {
		at.gateway = true;
		own = line_of(r->gateway_set, name, CW_LEVEL_GATEWAY);
		at.line = own ? own : r->gateway_line;
		return at;
	}
	handed = line_of(r->sites[i].set, name, CW_LEVEL_SITE);
	if (k >= 0) {
		own = line_of(r->sites[i].tunnels[k].set, name, CW_LEVEL_TUNNEL);
		if (!own || own != handed) {
			at.tunnel = k;
			at.line = own ? own : r->sites[i].tunnels[k].line;
			return at;
		}
	}
	at.line = handed ? handed : r->sites[i].line;
	return at;
}

bool cw_subject_set(const struct cw_reader *r, int i, int k, const char *name)
{
	if (i < 0)
		return line_of(r->gateway_set, name, CW_LEVEL_GATEWAY) != 0;
	if (k < 0)
		return line_of(r->sites[i].set, name, CW_LEVEL_SITE) != 0;
	return line_of(r->sites[i].tunnels[k].set, name, CW_LEVEL_TUNNEL) != 0;
}

void cw_report_at(struct cw_reader *r, int i, int k, enum cw_conf_severity severity,
		  const char *name, const char *value, const char *reason, const char *remedy)
{
	struct cw_subject at = cw_subject_of(r, i, k, name);

	cw_report(r, severity, &at, value, reason, remedy);
}

static void error(const struct check *c, const char *name, const char *value, const char *reason,
		  const char *remedy)
{
	cw_report_at(c->r, c->i, c->k, CW_CONF_ERROR, name, value, reason, remedy);
}

static void warning(const struct check *c, const char *name, const char *value, const char *reason,
		    const char *remedy)
{
	cw_report_at(c->r, c->i, c->k, CW_CONF_WARNING, name, value, reason, remedy);
}

const char *cw_say_addr(struct cw_reader *r, const struct cw_addr *addr)
{
	char buf[CW_ADDR_TEXT_MAX];

	return cw_say(r, "%s", cw_addr_print(addr, buf, sizeof(buf)));
}

const char *cw_conf_local_id(struct cw_reader *r, const struct cw_tunnel_conf *t)
{
	if (t->local_id)
		return t->local_id;
	if (t->public_addr.family != CW_FAMILY_NONE)
		return cw_say_addr(r, &t->public_addr);
	return t->local_addr.family != CW_FAMILY_NONE ? cw_say_addr(r, &t->local_addr) : "";
}

static void check_gateway(struct cw_reader *r)
{
	const struct cw_gateway_conf *gw = &r->conf->gateway;

	if (!gw->networks.n && !gw->asn && !cw_subject_set(r, -1, -1, "networks") &&
	    !cw_subject_set(r, -1, -1, "asn"))
		cw_report_at(r, -1, -1, CW_CONF_ERROR, "networks", "", "is missing",
		       "write networks = [ \"10.10.0.0/16\" ]; with what lies behind this gateway");
}

/* Sites */

static void check_site(struct cw_reader *r, int i, const struct cw_site_conf *site)
{
	bool peer = false;

	if (!*site->name && !cw_subject_set(r, i, -1, "name"))
		cw_report_at(r, i, -1, CW_CONF_ERROR, "name", "", "is missing",
		       "write name = \"azure\"; or what you call the site");
	for (size_t k = 0; k < site->n_tunnels; k++)
		peer |= cw_subject_set(r, i, (int)k, "bgp-peer");
	if (!site->networks.n && !site->asn && !peer && !cw_subject_set(r, i, -1, "networks") &&
	    !cw_subject_set(r, i, -1, "asn"))
		cw_report_at(r, i, -1, CW_CONF_ERROR, "networks", "", "is missing",
		       "write networks = [ \"10.20.0.0/16\" ]; with what lies behind the far side");
	if (site->balance && site->networks.n)
		cw_report_at(r, i, -1, CW_CONF_WARNING, "balance", "true",
		       "shares routes learned by BGP alone so far: of networks the first tunnel that is up "
		       "carries all traffic",
		       "leave it out, or let BGP bring the networks");
	cw_conf_check_bgp_site(r, i);
}

/* Keys */

/* AWS API reference, VpnTunnelOptionsSpecification: PreSharedKey. */
static bool aws_takes(const uint8_t *key, size_t len)
{
	if (len < 8 || len > 64 || key[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum(key[i]) && key[i] != '.' && key[i] != '_')
			return false;
	}
	return true;
}

static void check_key(const struct check *c)
{
	const struct cw_secret *psk = c->t->psk;
	const char *name = c->t->psk_file ? "psk-file" : "psk";
	const uint8_t *key;
	size_t len;

	if (psk && c->t->psk_omitted)
		error(c, "psk-omitted", "", "stands beside a key", "take psk-omitted away");
	if (!psk && c->t->psk_omitted)
		error(c, "psk-omitted", "", "this is a printed copy, and the key is not in it",
		      "write psk-file = \"NAME.psk\"; in its place");
	else if (!psk && !cw_subject_set(c->r, c->i, c->k, "psk") &&
		 !cw_subject_set(c->r, c->i, c->k, "psk-file"))
		error(c, "psk-file", "", "the key is missing",
		      "write psk-file = \"NAME.psk\"; and the key, alone, in that file");
	if (!psk)
		return;
	key = cw_secret_bytes(psk, &len);
	if (c->profile->cloud == CW_CLOUD_AWS && !aws_takes(key, len))
		warning(c, name, "", "the key is none that AWS takes",
			"8 to 64 letters, digits, dots and underscores, not beginning with 0");
	if (c->profile->cloud == CW_CLOUD_AZURE &&
	    (len > 128 || memchr(key, ' ', len) || memchr(key, '-', len) || memchr(key, '~', len)))
		warning(c, name, "", "the key may be refused by Azure",
			"up to 128 printable ASCII characters without space, hyphen and tilde");
}

/* Ends and identities */

/* The engine takes some texts for any identity, or for many: the peer would be let in whoever he is. */
static bool id_is_many(const char *id)
{
	const char *dash = strchr(id, '-');
	struct cw_prefix net;
	struct cw_addr addr;
	char first[CW_ADDR_TEXT_MAX];

	if (id[0] == '%' || strchr(id, '*'))
		return true;
	if (cw_addr_parse(id, &addr) == CW_OK)
		return cw_addr_is_unspecified(&addr);
	if (strchr(id, '/') && cw_prefix_parse(id, &net) == CW_OK)
		return true;
	if (!dash || (size_t)(dash - id) >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dash - id), id);
	return cw_addr_parse(first, &addr) == CW_OK && cw_addr_parse(dash + 1, &addr) == CW_OK;
}

static void check_id(const struct check *c, const char *name, const char *id)
{
	size_t digits;

	if (!id)
		return;
	if (id_is_many(id))
		error(c, name, "", "stands for more than one identity",
		      "write the one that is shown: an address, a DNS name, a mail address, or @#hex");
	if (strncmp(id, "@#", 2) != 0)
		return;
	digits = strspn(id + 2, "0123456789abcdefABCDEF");
	if (!digits || digits % 2 || id[2 + digits])
		error(c, name, "", "is no key identifier in hex",
		      "two of 0-9 and a-f for each byte follow @#, as @#0a1b");
}

static void check_ends(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;

	check_id(c, "local-id", t->local_id);
	check_id(c, "remote-id", t->remote_id);
	if (!t->remote) {
		if (!cw_subject_set(c->r, c->i, c->k, "remote"))
			error(c, "remote", "", "is missing",
			      "write remote = \"203.0.113.11\"; with the peer's address or DNS "
			      "name");
		return;
	}
	if (t->remote_addr.family && t->local_addr.family &&
	    t->remote_addr.family != t->local_addr.family)
		error(c, "local-address", cw_say_addr(c->r, &t->local_addr),
		      cw_say(c->r, "is of another family than the peer's address %s", t->remote),
		      "both are IPv4, or both are IPv6");
	if (t->remote_addr.family && (cw_addr_equal(&t->remote_addr, &t->local_addr) ||
				      cw_addr_equal(&t->remote_addr, &t->public_addr)))
		error(c, "remote", t->remote, "is this gateway's own address",
		      "write the peer's address");
	if (c->profile->cloud == CW_CLOUD_AZURE && cw_addr_is_private(&t->local_addr) &&
	    t->public_addr.family == CW_FAMILY_NONE && !t->local_id)
		warning(c, "local-address", cw_say_addr(c->r, &t->local_addr),
			"is a private address, and without public-address it is shown to Azure as "
			"our identity, which refuses it",
			"write public-address = \"198.51.100.10\"; with the address that the local "
			"network gateway in Azure has");
}

static bool aws_reserved_inside(const struct cw_addr *a)
{
	return cw_addr_is_link_local(a) && a->family == CW_FAMILY_IPV4 &&
	       ((a->bytes[2] <= 5 && a->bytes[3] < 4) ||
		(a->bytes[2] == 169 && a->bytes[3] >= 252));
}

static bool holds(const struct cw_prefix *net, const struct cw_addr *addr)
{
	return net->addr.family == addr->family && cw_prefix_contains(net, addr);
}

/* The network that an interface of ours is in must not be one of ours: two ways would lead there. */
static void check_inside_network(const struct check *c)
{
	const struct cw_prefixes *ours = &c->r->conf->gateway.networks;
	const struct cw_prefix *inside = &c->t->inside_addr;
	char buf[CW_PREFIX_TEXT_MAX];

	if (!inside->addr.family || inside->len == cw_family_bits(inside->addr.family))
		return;
	for (size_t i = 0; i < ours->n; i++) {
		if (ours->v[i].len < inside->len || !holds(inside, &ours->v[i].addr))
			continue;
		error(c, "inside-address", cw_say_addr(c->r, &inside->addr),
		      cw_say(c->r, "has our own network %s behind the tunnel's interface, by its length",
			     cw_prefix_print(&ours->v[i], buf, sizeof(buf))),
		      cw_say(c->r, "write the address inside the tunnel, not the one in the LAN; for "
				   "that one alone its length is /%u",
			     cw_family_bits(inside->addr.family)));
		return;
	}
}

/* What is about the interface says nothing where there is none. */
static void check_no_interface(const struct check *c)
{
	static const char *const names[] = { "interface", "mtu" };

	for (size_t i = 0; c->t->interface_mode == CW_IF_POLICY && i < sizeof(names) / sizeof(names[0]); i++) {
		if (cw_subject_set(c->r, c->i, c->k, names[i]))
			warning(c, names[i], "",
				"has no effect: with interface-mode \"policy\" there is no interface",
				"take it away, or use another interface-mode");
	}
}

static void check_inside(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;
	const struct cw_addr *inside = &t->inside_addr.addr;

	if (inside->family && t->interface_mode == CW_IF_POLICY)
		error(c, "inside-address", cw_say_addr(c->r, inside),
		      "has no interface to be on: with interface-mode \"policy\" there is none",
		      "take it away, or use another interface-mode");
	if (inside->family && (cw_addr_equal(inside, &t->local_addr) ||
			       cw_addr_equal(inside, &t->public_addr)))
		error(c, "inside-address", cw_say_addr(c->r, inside), "is our outside address too",
		      "the address inside the tunnel must be another");
	else if (inside->family && holds(&t->inside_addr, &t->remote_addr))
		error(c, "inside-address", cw_say_addr(c->r, inside),
		      cw_say(c->r, "is in one network with the peer's outside address %s: the route "
				   "to the peer would lead into the tunnel itself", t->remote),
		      "write the address inside the tunnel, with the length of its network");
	if (inside->family && c->profile->cloud == CW_CLOUD_AZURE &&
	    cw_addr_is_link_local(inside) && inside->family == CW_FAMILY_IPV4 &&
	    inside->bytes[2] != 21 && inside->bytes[2] != 22)
		warning(c, "inside-address", cw_say_addr(c->r, inside),
			"is outside of what Azure takes for BGP",
			"169.254.21.0 to 169.254.22.255");
	if (inside->family && c->profile->cloud == CW_CLOUD_AWS && aws_reserved_inside(inside))
		warning(c, "inside-address", cw_say_addr(c->r, inside), "is reserved by AWS",
			"copy the inside address that AWS shows for the tunnel");
}

/* Proposals */

static void list_weak(const struct cw_proposals *list, char *buf, size_t size)
{
	const struct cw_alg *alg;
	size_t len = strlen(buf);

	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; (alg = cw_proposal_alg(list->v[i], k)) != NULL; k++) {
			if (!alg->weak || strstr(buf, alg->name))
				continue;
			snprintf(buf + len, size - len, "%s%s", len ? ", " : "", alg->name);
			len = strlen(buf);
		}
	}
}

static void check_weak(const struct check *c, const char *name, const struct cw_proposals *list)
{
	const struct cw_alg *alg;

	for (size_t i = 0; i < list->n; i++) {
		for (size_t k = 0; (alg = cw_proposal_alg(list->v[i], k)) != NULL; k++) {
			if (alg->weak)
				warning(c, name, list->v[i],
					cw_say(c->r, "is weak: %s: %s", alg->name, alg->weak),
					"agree with the peer on aes256, sha256 and modp2048 at "
					"least");
		}
	}
}

static void check_proposals(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;
	bool own_ike = cw_subject_set(c->r, c->i, c->k, "ike-proposals");
	bool own_esp = cw_subject_set(c->r, c->i, c->k, "esp-proposals");
	bool without_group = false;
	char weak[128] = "";

	if (own_ike)
		check_weak(c, "ike-proposals", &t->ike_proposals);
	else
		list_weak(&t->ike_proposals, weak, sizeof(weak));
	if (own_esp)
		check_weak(c, "esp-proposals", &t->esp_proposals);
	else
		list_weak(&t->esp_proposals, weak, sizeof(weak));
	if (*weak)
		cw_report_at(c->r, c->i, -1, CW_CONF_WARNING, "profile", c->site->profile,
		       cw_say(c->r, "offers weak algorithms: %s", weak),
		       "set a custom IPsec policy on the connection in Azure and use the profile "
		       "azure");
	for (size_t i = 0; i < t->ike_proposals.n; i++) {
		if (t->ike_version == CW_IKE_V1 && cw_proposal_is_aead(t->ike_proposals.v[i]))
			error(c, "ike-proposals", t->ike_proposals.v[i], "can't be used with IKEv1",
			      "IKEv1 knows no GCM for itself; write aes256-sha256-modp2048");
	}
	for (size_t i = 0; i < t->esp_proposals.n; i++)
		without_group |= !cw_proposal_has(t->esp_proposals.v[i], CW_ALG_GROUP);
	if (own_esp && !without_group && c->profile->cloud == CW_CLOUD_AZURE)
		warning(c, "esp-proposals", "",
			"every proposal has a group: a rekey that Azure starts without PFS is "
			"refused, and the tunnel falls hours after its start",
			"add the same proposal without the group at the end");
}

/* Times and limits */

static void check_lifetime(const struct check *c, const char *kind,
			   const struct cw_lifetime_conf *l)
{
	char margin[32], jitter[32];

	snprintf(margin, sizeof(margin), "%s-rekey-margin", kind);
	snprintf(jitter, sizeof(jitter), "%s-rekey-jitter", kind);
	if (l->rekey_margin_s >= l->time_s)
		error(c, margin, cw_say(c->r, "%" PRIu32, l->rekey_margin_s),
		      cw_say(c->r, "is not shorter than the lifetime, %" PRIu32 " s", l->time_s),
		      cw_say(c->r, "a tenth of it is usual: %" PRIu32, l->time_s / 10));
	else if ((uint64_t)l->rekey_margin_s + l->rekey_jitter_s >= l->time_s)
		error(c, jitter, cw_say(c->r, "%" PRIu32, l->rekey_jitter_s),
		      cw_say(c->r,
			     "and the margin of %" PRIu32 " s are together not shorter than the "
			     "lifetime, %" PRIu32 " s",
			     l->rekey_margin_s, l->time_s),
		      cw_say(c->r, "half of the margin is usual: %" PRIu32, l->rekey_margin_s / 2));
}

static void check_limits(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;
	const struct cw_lifetime_conf *child = &t->child_lifetime;

	check_lifetime(c, "ike", &t->ike_lifetime);
	check_lifetime(c, "child", child);
	if (child->bytes && child->bytes < BYTES_MIN)
		error(c, "child-lifetime-bytes", cw_say(c->r, "%" PRIu64, child->bytes),
		      "is so little that rekeys would never end", "write 1048576 at least, or 0");
	if (child->packets && child->packets < PACKETS_MIN)
		error(c, "child-lifetime-packets", cw_say(c->r, "%" PRIu64, child->packets),
		      "is so little that rekeys would never end", "write 1000 at least, or 0");
	if (t->dpd_timeout_s < t->dpd_delay_s)
		error(c, "dpd-timeout", cw_say(c->r, "%" PRIu32, t->dpd_timeout_s),
		      cw_say(c->r, "is shorter than dpd-delay, %" PRIu32 " s", t->dpd_delay_s),
		      cw_say(c->r, "three times the delay is usual: %" PRIu32, 3 * t->dpd_delay_s));
	if (t->retry_max_s < t->retry_min_s)
		error(c, "retry-max", cw_say(c->r, "%" PRIu32, t->retry_max_s),
		      cw_say(c->r, "is shorter than retry-min, %" PRIu32 " s", t->retry_min_s), "");
	if (t->ike_version == CW_IKE_V1 && t->mobike)
		error(c, "mobike", "", "IKEv1 has no MOBIKE",
		      "take it away, or use ike-version = 2");
	if (t->ike_version == CW_IKE_V1 && t->esn)
		error(c, "esn", "", "is not offered with IKEv1",
		      "take it away, or use ike-version = 2");
}

static bool has_family(const struct cw_prefixes *list, enum cw_family family)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].addr.family == family)
			return true;
	}
	return false;
}

static void check_mtu(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;

	/* RFC 8200 5: no link of IPv6 is narrower. */
	if (t->mtu < 1280 && (has_family(&c->site->networks, CW_FAMILY_IPV6) ||
			      t->inside_addr.addr.family == CW_FAMILY_IPV6 ||
			      t->bgp.peer.family == CW_FAMILY_IPV6))
		error(c, "mtu", cw_say(c->r, "%" PRIu32, t->mtu), "is too small for IPv6",
		      "write 1280 at least");
	else if (t->mtu > 1400 && c->profile->cloud == CW_CLOUD_AZURE)
		warning(c, "mtu", cw_say(c->r, "%" PRIu32, t->mtu),
			"is more than Azure advises, and it takes no fragments of ESP",
			"write 1400");
}

static void check_selectors(const struct check *c)
{
	const struct cw_prefixes *ours = &c->r->conf->gateway.networks,
				 *theirs = &c->site->networks;
	size_t pairs;

	if (c->t->selectors == CW_SEL_ANY) {
		if (c->t->interface_mode == CW_IF_POLICY)
			error(c, "interface-mode", "policy",
			      "with selectors \"any\" would take all traffic of this machine into "
			      "the tunnel",
			      "write selectors = \"networks\";");
		return;
	}
	if (!ours->n || !theirs->n) {
		const struct cw_prefixes *none = ours->n ? theirs : ours;

		/* Written, but each of it wrong: said already. */
		if (!cw_subject_set(c->r, ours->n ? c->i : -1, -1, "networks") || !none->v)
			error(c, "selectors", "networks",
			      cw_say(c->r, "needs networks in %s",
				     ours->n ? "the site" : "gateway"),
			      "write networks = [ \"10.20.0.0/16\" ];");
		return;
	}
	pairs = cw_pair_count(ours, theirs);
	if (pairs == 0)
		error(c, "selectors", "networks",
		      "finds no pair: one side's networks are all IPv4, the other's all IPv6", "");
	else if (pairs > CW_CONF_PAIRS_MAX)
		error(c, "selectors", "networks",
		      cw_say(c->r, "makes %zu pairs of networks, and 100 is the limit", pairs),
		      "put neighbouring networks together, or write selectors = \"any\";");
}

/* What a peer that speaks IKEv1, or only that, does not do. */
static void check_version(const struct check *c)
{
	const struct cw_tunnel_conf *t = c->t;
	bool policy_based = strcmp(c->profile->name, "azure-policy") == 0;

	if (policy_based && t->ike_version != CW_IKE_V1)
		warning(c, "ike-version", "2", "is not spoken by a policy-based Azure gateway",
			"take it away, or use the profile azure for a route-based one");
	if (policy_based && t->selectors == CW_SEL_ANY)
		warning(c, "selectors", "any", "is refused by a policy-based Azure gateway",
			"take it away, or use the profile azure for a route-based one");
	if (c->profile->cloud == CW_CLOUD_AZURE && !policy_based && t->ike_version == CW_IKE_V1)
		warning(c, "ike-version", "1",
			"is spoken by a route-based Azure gateway only where the connection was "
			"made for IKEv1, and never by the Basic one",
			"take it away, or use the profile azure-policy for a policy-based "
			"gateway");
	/* Quick mode has one pair of selectors (RFC 2409 5.5). */
	if (t->ike_version == CW_IKE_V1 && t->selectors == CW_SEL_ANY &&
	    (has_family(&c->site->networks, CW_FAMILY_IPV6) ||
	     has_family(&c->r->conf->gateway.networks, CW_FAMILY_IPV6)))
		warning(c, "selectors", "any",
			"is 0.0.0.0/0 alone with IKEv1: no IPv6 passes",
			"use ike-version = 2, or write selectors = \"networks\";");
}

static void check_tunnel(const struct check *c)
{
	check_ends(c);
	check_key(c);
	check_inside(c);
	cw_conf_check_bgp_tunnel(c->r, c->i, c->k);
	check_inside_network(c);
	check_no_interface(c);
	check_proposals(c);
	check_limits(c);
	check_mtu(c);
	check_selectors(c);
	check_version(c);
}

void cw_conf_check(struct cw_reader *r)
{
	check_gateway(r);
	cw_conf_check_bgp_gateway(r);
	for (size_t i = 0; i < r->conf->n_sites; i++) {
		const struct cw_site_conf *site = &r->conf->sites[i];
		const struct cw_profile *profile = cw_profile_find(site->profile);

		check_site(r, (int)i, site);
		for (size_t k = 0; k < site->n_tunnels; k++) {
			struct check c = { .r = r, .profile = profile, .site = site,
					   .t = &site->tunnels[k], .i = (int)i, .k = (int)k };

			check_tunnel(&c);
		}
	}
	cw_conf_check_cross(r);
}
