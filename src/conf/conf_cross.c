/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A network and whose it is. */
struct owned {
	struct cw_prefix prefix;
	int site;  /* -1: the gateway's */
	int place; /* in the order of the file, so that the later one is the one at fault */
};

/* A tunnel and where it stands. */
struct entry {
	const struct cw_tunnel_conf *t;
	const char *local_id;
	int i, k;
	bool enabled;
};

static const char *prefix_text(struct cw_reader *r, const struct cw_prefix *p)
{
	char buf[CW_PREFIX_TEXT_MAX];

	return cw_say(r, "%s", cw_prefix_print(p, buf, sizeof(buf)));
}

static int by_prefix(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	int order = cw_prefix_compare(&x->prefix, &y->prefix);

	return order ? order : x->place - y->place;
}

static const char *owner(struct cw_reader *r, int site)
{
	if (site < 0)
		return "the gateway";
	if (*r->conf->sites[site].name)
		return cw_say(r, "site %s", r->conf->sites[site].name);
	return cw_say(r, "sites[%d]", site);
}

/* Two networks that overlap. One of a pair lies in the other, since both are prefixes. */
static void overlap(struct cw_reader *r, const struct owned *a, const struct owned *b)
{
	const struct owned *first = a->place < b->place ? a : b, *later = first == a ? b : a;
	struct cw_subject at = cw_subject_of(r, later->site, -1, "networks");
	bool same = cw_prefix_compare(&a->prefix, &b->prefix) == 0;
	bool all = a->prefix.len == 0 || b->prefix.len == 0;
	const char *reason = cw_say(r, "%s %s of %s", same ? "is also" : "overlaps",
				    same ? "a network" : prefix_text(r, &first->prefix),
				    owner(r, first->site));

	if (first->site == later->site) {
		if (same)
			cw_report(r, CW_CONF_ERROR, &at, prefix_text(r, &later->prefix),
				  "stands there twice", "take one of them away");
		else
			cw_report(r, CW_CONF_WARNING, &at, prefix_text(r, &later->prefix),
				  cw_say(r, "overlaps %s of the same list",
					 prefix_text(r, &first->prefix)),
				  "the wider one covers both");
		return;
	}
	/* A default route beside others is how one sends the rest of the world to a site. */
	if (all && !same)
		cw_report(r, CW_CONF_WARNING, &at, prefix_text(r, &later->prefix), reason,
			  "all traffic that no other route takes goes into the tunnel; the route "
			  "to the peer itself must be more specific");
	else
		cw_report(r, CW_CONF_ERROR, &at, prefix_text(r, &later->prefix), reason,
			  "a network belongs to one side; write the parts apart");
}

static void check_networks(struct cw_reader *r)
{
	const struct cw_conf *conf = r->conf;
	size_t n = conf->gateway.networks.n, used = 0, depth = 0;
	const struct owned *stack[129];
	struct owned *v;

	for (size_t i = 0; i < conf->n_sites; i++)
		n += conf->sites[i].enabled ? conf->sites[i].networks.n : 0;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return;
	for (int i = -1; i < (int)conf->n_sites; i++) {
		const struct cw_prefixes *list = i < 0 ? &conf->gateway.networks :
							 &conf->sites[i].networks;

		for (size_t k = 0; (i < 0 || conf->sites[i].enabled) && k < list->n; k++, used++)
			v[used] = (struct owned){ list->v[k], i, (int)used };
	}
	qsort(v, used, sizeof(*v), by_prefix);
	/* Sorted, all that a prefix holds follow it at once. The stack is the chain of prefixes
	 * that hold the next one; each is held by the one below. */
	for (size_t k = 0; k < used; k++) {
		while (depth && (stack[depth - 1]->prefix.addr.family != v[k].prefix.addr.family ||
				 !cw_prefix_contains(&stack[depth - 1]->prefix, &v[k].prefix.addr)))
			depth--;
		if (depth)
			overlap(r, stack[depth - 1], &v[k]);
		/* A copy adds nothing to the chain, so it is never longer than an address has bits.
		 */
		if (!depth || cw_prefix_compare(&stack[depth - 1]->prefix, &v[k].prefix) != 0)
			stack[depth++] = &v[k];
	}
	free(v);
}

/* A peer's address as a prefix of its own, and whose it is. */
struct peer {
	struct cw_prefix host;
	int i, k; /* of site and tunnel */
	bool said;
};

static int by_host(const void *a, const void *b)
{
	const struct peer *x = a, *y = b;
	int order = cw_prefix_compare(&x->host, &y->host);

	if (order)
		return order;
	return x->i != y->i ? x->i - y->i : x->k - y->k;
}

/* Two interfaces in one network: the kernel sends to all of it by the first alone. */
static void check_inside_overlap(struct cw_reader *r, struct peer *v)
{
	const struct cw_conf *conf = r->conf;
	const struct peer *wide = NULL;
	size_t used = 0;

	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 0; site->enabled && k < site->n_tunnels; k++) {
			const struct cw_prefix *p = &site->tunnels[k].inside_addr;

			if (p->addr.family != CW_FAMILY_NONE && p->len < cw_family_bits(p->addr.family))
				v[used++] = (struct peer){ cw_prefix_network(p), (int)i, (int)k, false };
		}
	}
	qsort(v, used, sizeof(*v), by_host);
	for (size_t k = 0; k < used; wide = wide ? wide : &v[k], k++) {
		const struct cw_tunnel_conf *a, *b = &conf->sites[v[k].i].tunnels[v[k].k];
		struct cw_subject at = cw_subject_of(r, v[k].i, v[k].k, "inside-address");

		if (!wide || !cw_prefix_overlaps(&wide->host, &v[k].host)) {
			wide = &v[k];
			continue;
		}
		a = &conf->sites[wide->i].tunnels[wide->k];
		if (cw_addr_equal(&a->inside_addr.addr, &b->inside_addr.addr))
			continue; /* said as such */
		cw_report(r, CW_CONF_ERROR, &at, prefix_text(r, &b->inside_addr),
			  cw_say(r, "is in one network with the inside-address %s of sites[%d].tunnels[%d]",
				 prefix_text(r, &a->inside_addr), wide->i, wide->k),
			  "each tunnel has a network of its own, as 169.254.21.0/30 and "
			  "169.254.21.4/30");
	}
}

/* The routes of a site's tunnels are told apart by their metric, which is the tunnel's and its place. */
static void check_metrics(struct cw_reader *r)
{
	const struct cw_conf *conf = r->conf;

	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 1; k < site->n_tunnels; k++) {
			for (size_t j = 0; j < k; j++) {
				struct cw_subject at = cw_subject_of(r, (int)i, (int)k, "metric");

				if (site->tunnels[j].metric + j != site->tunnels[k].metric + k)
					continue;
				cw_report(r, CW_CONF_ERROR, &at,
					  cw_say(r, "%" PRIu32, site->tunnels[k].metric),
					  cw_say(r,
						 "with the tunnel's place added (%zu) is that of "
						 "tunnels[%zu] too: one route can lead through one of "
						 "them only",
						 k, j),
					  "leave metric out, or let the numbers be 10 apart");
				break;
			}
		}
	}
}

/* Policies alone lead no route anywhere: host to host is fine with them. */
static bool has_routes(const struct cw_site_conf *site)
{
	for (size_t k = 0; k < site->n_tunnels; k++) {
		if (site->tunnels[k].interface_mode != CW_IF_POLICY)
			return true;
	}
	return false;
}

/* All peers in one network; they stand side by side from the first that is not before it. */
static void peers_inside(struct cw_reader *r, struct peer *v, size_t n, int site,
			 const struct cw_prefix *net)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cw_prefix_compare(&v[middle].host, net) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && v[low].host.addr.family == net->addr.family &&
	       cw_prefix_contains(net, &v[low].host.addr); low++) {
		struct cw_subject at = cw_subject_of(r, v[low].i, v[low].k, "remote");

		if (v[low].said)
			continue;
		v[low].said = true;
		cw_report(r, CW_CONF_ERROR, &at, r->conf->sites[v[low].i].tunnels[v[low].k].remote,
			  cw_say(r, "lies in the network %s of %s: the route to the peer would "
				 "lead into the tunnel itself", prefix_text(r, net),
				 owner(r, site)),
			  "take the peer's address out of networks");
	}
}

static void check_peers_inside(struct cw_reader *r)
{
	const struct cw_conf *conf = r->conf;
	size_t n = 0, used = 0;
	struct peer *v;

	for (size_t i = 0; i < conf->n_sites; i++)
		n += conf->sites[i].n_tunnels;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return;
	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 0; site->enabled && k < site->n_tunnels; k++) {
			const struct cw_addr *addr = &site->tunnels[k].remote_addr;

			if (addr->family == CW_FAMILY_NONE)
				continue;
			v[used++] = (struct peer){
				.host = { *addr, (uint8_t)cw_family_bits(addr->family) },
				.i = (int)i,
				.k = (int)k,
			};
		}
	}
	qsort(v, used, sizeof(*v), by_host);
	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		if (!site->enabled || !has_routes(site))
			continue;
		/* The default route is what one sends the rest of the world with; beside it stands
		 * a route to the peer. */
		for (size_t p = 0; p < site->networks.n; p++) {
			if (site->networks.v[p].len > 0)
				peers_inside(r, v, used, (int)i, &site->networks.v[p]);
		}
	}
	check_inside_overlap(r, v);
	free(v);
}

/* Things that only one tunnel may have. key() gives NULL for "has none". */

static const char *key_name(struct cw_reader *r, const struct entry *e)
{
	(void)r;
	return *e->t->name ? e->t->name : NULL;
}

static const char *key_ifname(struct cw_reader *r, const struct entry *e)
{
	(void)r;
	return *e->t->ifname ? e->t->ifname : NULL;
}

static const char *key_addr(struct cw_reader *r, const struct cw_addr *addr)
{
	char buf[CW_ADDR_TEXT_MAX];

	return addr->family ? cw_say(r, "%s", cw_addr_print(addr, buf, sizeof(buf))) : NULL;
}

static const char *key_bgp_peer(struct cw_reader *r, const struct entry *e)
{
	return e->enabled ? key_addr(r, &e->t->bgp.peer) : NULL;
}

static const char *key_inside(struct cw_reader *r, const struct entry *e)
{
	return e->enabled ? key_addr(r, &e->t->inside_addr.addr) : NULL;
}

static const char *key_remote(struct cw_reader *r, const struct entry *e)
{
	if (!e->enabled || !e->t->remote)
		return NULL;
	return e->t->remote_addr.family ? key_addr(r, &e->t->remote_addr) : e->t->remote;
}

static const struct unique {
	const char *name; /* of the setting */
	const char *(*key)(struct cw_reader *r, const struct entry *e);
	const char *remedy;
} uniques[] = {
	{ "name", key_name, "give one of them another name" },
	{ "interface", key_ifname, "set interface in one of them, as interface = \"cw-azure2\"" },
	{ "bgp-peer", key_bgp_peer, "a neighbour is reached through one tunnel" },
	{ "inside-address", key_inside, "each tunnel has its own" },
};

struct keyed {
	const char *key;
	const struct entry *e;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = strcasecmp(x->key, y->key);

	if (order)
		return order;
	return x->e->i != y->e->i ? x->e->i - y->e->i : x->e->k - y->e->k;
}

static size_t sort_by(struct cw_reader *r, const struct entry *entries, size_t n,
		      const char *(*key)(struct cw_reader *, const struct entry *),
		      struct keyed *out)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		const char *text = key(r, &entries[i]);

		if (text)
			out[used++] = (struct keyed){ text, &entries[i] };
	}
	qsort(out, used, sizeof(*out), by_key);
	return used;
}

static void check_unique(struct cw_reader *r, const struct entry *entries, size_t n,
			 struct keyed *sorted, const struct unique *u)
{
	size_t used = sort_by(r, entries, n, u->key, sorted);

	for (size_t i = 1; i < used; i++) {
		const struct entry *a = sorted[i - 1].e, *b = sorted[i].e;
		struct cw_subject at;

		if (strcasecmp(sorted[i - 1].key, sorted[i].key) != 0)
			continue;
		/* Two names that are the same make two interfaces that are: that is no second
		 * finding. */
		if (u->key == key_ifname && !cw_subject_set(r, b->i, b->k, "interface") &&
		    strcasecmp(a->t->name, b->t->name) == 0)
			continue;
		at = cw_subject_of(r, b->i, b->k, u->name);
		cw_report(r, CW_CONF_ERROR, &at, sorted[i].key,
			  cw_say(r, "is also the %s of sites[%d].tunnels[%d]", u->name, a->i, a->k),
			  u->remedy);
	}
}

/* Two tunnels to one peer are told apart by our own identity or address, and by nothing else: the
 * peer's answer, and the key to it, must belong to exactly one of them. */
static void check_same_remote(struct cw_reader *r, const struct entry *a, const struct entry *b)
{
	struct cw_subject at = cw_subject_of(r, b->i, b->k, "remote");
	bool ids = *a->local_id && *b->local_id && strcmp(a->local_id, b->local_id) != 0;
	bool ends = a->t->local_addr.family && b->t->local_addr.family &&
		    !cw_addr_equal(&a->t->local_addr, &b->t->local_addr);
	bool keys = a->t->psk && b->t->psk && !cw_secret_equal(a->t->psk, b->t->psk);

	if (ids || ends)
		return;
	cw_report(r, CW_CONF_ERROR, &at, b->t->remote,
		  cw_say(r, "is also the peer of tunnel %s, with the same identity of ours%s",
			 *a->t->name ? a->t->name : "before it", keys ? " and another key" : ""),
		  "take one of them away, or give each a local-id of its own");
}

static void check_remotes(struct cw_reader *r, const struct entry *entries, size_t n,
			  struct keyed *sorted)
{
	size_t used = sort_by(r, entries, n, key_remote, sorted);

	for (size_t i = 1; i < used; i++) {
		for (size_t k = i; k > 0 && strcasecmp(sorted[k - 1].key, sorted[i].key) == 0;
		     k--) {
			size_t before = r->rep.n_errors;

			check_same_remote(r, sorted[k - 1].e, sorted[i].e);
			if (r->rep.n_errors != before)
				break; /* one finding a tunnel */
		}
	}
}

static void check_site_names(struct cw_reader *r)
{
	const struct cw_conf *conf = r->conf;

	for (size_t i = 1; i < conf->n_sites; i++) {
		for (size_t k = 0; *conf->sites[i].name && k < i; k++) {
			struct cw_subject at;

			if (strcasecmp(conf->sites[i].name, conf->sites[k].name) != 0)
				continue;
			at = cw_subject_of(r, (int)i, -1, "name");
			cw_report(r, CW_CONF_ERROR, &at, conf->sites[i].name,
				  cw_say(r, "is also the name of sites[%zu]", k),
				  "give one of them another name");
			break;
		}
	}
}

void cw_conf_check_cross(struct cw_reader *r)
{
	const struct cw_conf *conf = r->conf;
	struct entry *entries;
	struct keyed *sorted;
	size_t n = 0, used = 0;

	check_site_names(r);
	check_metrics(r);
	check_networks(r);
	check_peers_inside(r);
	for (size_t i = 0; i < conf->n_sites; i++)
		n += conf->sites[i].n_tunnels;
	entries = calloc(n + 1, sizeof(*entries));
	sorted = calloc(n + 1, sizeof(*sorted));
	for (size_t i = 0; entries && i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 0; k < site->n_tunnels; k++)
			entries[used++] = (struct entry){
				.t = &site->tunnels[k],
				.local_id = cw_conf_local_id(r, &site->tunnels[k]),
				.i = (int)i,
				.k = (int)k,
				.enabled = site->enabled,
			};
	}
	for (size_t i = 0; entries && sorted && i < sizeof(uniques) / sizeof(uniques[0]); i++)
		check_unique(r, entries, used, sorted, &uniques[i]);
	if (entries && sorted)
		check_remotes(r, entries, used, sorted);
	free(entries);
	free(sorted);
}
