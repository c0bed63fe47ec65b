/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

/* A peer_cfg is called NAME/INDEX.GENERATION, a child_cfg NAME/PAIR: the names come back in every
 * report, also from IKE_SAs made under an earlier configuration. '/' is in no tunnel's name. */
#define PEER_NAME_MAX (CW_TUNNEL_NAME_MAX + 24)

bool cw_charon_name_parse(const char *name, uint32_t *ret_index, uint32_t *ret_generation)
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	char *end;
	unsigned long index, generation;

	if (!slash)
		return false;
	index = strtoul(slash + 1, &end, 10);
	if (end == slash + 1 || *end != '.' || index > UINT32_MAX)
		return false;
	generation = strtoul(end + 1, &end, 10);
	if (*end || generation > UINT32_MAX)
		return false;
	*ret_index = (uint32_t)index;
	*ret_generation = (uint32_t)generation;
	return true;
}

int cw_charon_name_len(const char *name)
{
	const char *slash = strrchr(name, '/');

	return (int)(slash ? (size_t)(slash - name) : strlen(name));
}

uint32_t cw_charon_child_pair(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;

	return slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
}

child_cfg_t *cw_charon_child_cfg(peer_cfg_t *peer, uint32_t pair)
{
	enumerator_t *e = peer->create_child_cfg_enumerator(peer);
	child_cfg_t *child, *found = NULL;

	while (!found && e->enumerate(e, &child)) {
		if (cw_charon_child_pair(child->get_name(child)) == pair)
			found = child->get_ref(child);
	}
	e->destroy(e);
	return found;
}

static identification_t *id_of_addr(const struct cw_addr *addr)
{
	char text[CW_ADDR_TEXT_MAX];

	cw_addr_print(addr, text, sizeof(text));
	return identification_create_from_string(text);
}

static identification_t *id_of_text(const char *text)
{
	identification_t *id;
	char *copy = strdup(text);

	if (!copy)
		return NULL;
	id = identification_create_from_string(copy);
	free(copy);
	return id;
}

static bool add_ike_proposals(ike_cfg_t *ike, const struct cw_proposals *list)
{
	for (size_t i = 0; i < list->n; i++) {
		proposal_t *proposal = proposal_create_from_string(PROTO_IKE, list->v[i]);

		if (!proposal)
			return false;
		ike->add_proposal(ike, proposal);
	}
	return list->n > 0;
}

static bool add_esp_proposals(child_cfg_t *child, const struct cw_tunnel_conf *conf)
{
	const struct cw_proposals *list = &conf->esp_proposals;
	char text[160];

	for (size_t i = 0; i < list->n; i++) {
		proposal_t *proposal;
		/* IKEv1 has no transform for it. Where it is wished for, a peer without it is still
		 * served: RFC 4303 2.2.1 leaves the choice to the negotiation. */
		bool esn = conf->esn && conf->ike_version == CW_IKE_V2;

		if ((size_t)snprintf(text, sizeof(text), "%s%s", list->v[i], esn ? "-esn-noesn" : "") >=
		    sizeof(text))
			return false;
		proposal = proposal_create_from_string(PROTO_ESP, text);
		if (!proposal)
			return false;
		child->add_proposal(child, proposal);
	}
	return list->n > 0;
}

static ike_cfg_t *build_ike(const struct cw_ike_tunnel *t)
{
	const struct cw_tunnel_conf *conf = t->conf;
	char local[CW_ADDR_TEXT_MAX], remote[CW_ADDR_TEXT_MAX];
	static char any[] = "%any", any6[] = "%any6";
	ike_cfg_create_t data = {
		.version = conf->ike_version == CW_IKE_V1 ? IKEV1 : IKEV2,
		.local = t->remote.family == CW_FAMILY_IPV6 ? any6 : any,
		.local_port = charon->socket->get_port(charon->socket, FALSE),
		.remote = remote,
		.remote_port = IKEV2_UDP_PORT,
		.no_certreq = TRUE,
		.force_encap = conf->nat_traversal == CW_NAT_FORCE,
		.fragmentation = conf->fragmentation ? FRAGMENTATION_YES : FRAGMENTATION_NO,
		.childless = CHILDLESS_NEVER,
	};
	ike_cfg_t *ike;

	cw_addr_print(&t->remote, remote, sizeof(remote));
	if (t->local.family) {
		cw_addr_print(&t->local, local, sizeof(local));
		data.local = local;
	}
	ike = ike_cfg_create(&data);
	if (!add_ike_proposals(ike, &conf->ike_proposals)) {
		ike->destroy(ike);
		return NULL;
	}
	return ike;
}

static uint32_t rekey_time(const struct cw_lifetime_conf *life)
{
	return life->time_s > life->rekey_margin_s ? life->time_s - life->rekey_margin_s : 1;
}

/* get_rekey_time() takes a random part of the jitter off; it must not reach 0, which means "never". */
static uint32_t rekey_jitter(const struct cw_lifetime_conf *life)
{
	uint32_t rekey = rekey_time(life);

	return life->rekey_jitter_s < rekey ? life->rekey_jitter_s : rekey - 1;
}

static peer_cfg_t *build_peer(const struct cw_ike_tunnel *t, ike_cfg_t *ike)
{
	const struct cw_tunnel_conf *conf = t->conf;
	const struct cw_lifetime_conf *life = &conf->ike_lifetime;
	peer_cfg_create_t data = {
		.cert_policy = CERT_NEVER_SEND,
		/* Duplicates are the tunnel machine's to close; libcharon would take the wrong one. */
		.unique = UNIQUE_NEVER,
		.keyingtries = 1,
		.jitter_time = rekey_jitter(life),
		.over_time = life->rekey_margin_s,
		.no_mobike = !conf->mobike,
		.aggressive = FALSE,
		.dpd = conf->dpd_delay_s,
		/* IKEv1's own timer counts from the last sign of life, so the delay is added; the watch in
		 * charon_watch.c ends the IKE_SA before it. */
		.dpd_timeout = conf->dpd_delay_s + conf->dpd_timeout_s,
	};
	char name[PEER_NAME_MAX];

	/* IKEv1 has no rekey of its own: libcharon makes a second IKE_SA and moves the children. */
	if (conf->ike_version == CW_IKE_V1)
		data.reauth_time = rekey_time(life);
	else
		data.rekey_time = rekey_time(life);
	snprintf(name, sizeof(name), "%s/%u.%u", conf->name, t->index, t->generation);
	return peer_cfg_create(name, ike, &data);
}

static void add_auth(peer_cfg_t *peer, identification_t *id, bool local)
{
	auth_cfg_t *auth = auth_cfg_create();

	auth->add(auth, AUTH_RULE_AUTH_CLASS, AUTH_CLASS_PSK);
	if (id)
		auth->add(auth, AUTH_RULE_IDENTITY, id->clone(id));
	peer->add_auth_cfg(peer, auth, local);
}

static void limit(uint64_t hard, uint64_t *ret_life, uint64_t *ret_rekey, uint64_t *ret_jitter)
{
	*ret_life = hard;
	*ret_rekey = hard - hard / 10;
	*ret_jitter = hard / 20;
}

static child_cfg_t *new_child(const struct cw_ike_tunnel *t, uint32_t pair)
{
	const struct cw_tunnel_conf *conf = t->conf;
	const struct cw_lifetime_conf *life = &conf->child_lifetime;
	child_cfg_create_t data = {
		.reqid = t->reqid_base + pair,
		.if_id_in = t->if_id,
		.if_id_out = t->if_id,
		.mode = MODE_TUNNEL,
		.start_action = ACTION_NONE,
		.dpd_action = ACTION_NONE,
		.close_action = ACTION_NONE,
		.lifetime = {
			.time = {
				.life = life->time_s,
				.rekey = rekey_time(life),
				.jitter = rekey_jitter(life),
			},
		},
		.hw_offload = HW_OFFLOAD_NO,
		.copy_dscp = DSCP_COPY_OUT_ONLY,
	};
	char name[PEER_NAME_MAX];
	child_cfg_t *child;

	if (t->mark) {
		data.mark_in = data.mark_out = (mark_t){ .value = t->mark, .mask = UINT32_MAX };
	}
	if (!conf->copy_df)
		data.options |= OPT_NO_COPY_DF;
	if (!conf->copy_ecn)
		data.options |= OPT_NO_COPY_ECN;
	limit(life->bytes, &data.lifetime.bytes.life, &data.lifetime.bytes.rekey,
	      &data.lifetime.bytes.jitter);
	limit(life->packets, &data.lifetime.packets.life, &data.lifetime.packets.rekey,
	      &data.lifetime.packets.jitter);
	snprintf(name, sizeof(name), "%s/%u", conf->name, pair);
	child = child_cfg_create(name, &data);
	child->set_replay_window(child, conf->replay_window);
	if (!add_esp_proposals(child, conf)) {
		child->destroy(child);
		return NULL;
	}
	return child;
}

static bool add_ts(child_cfg_t *child, bool local, const struct cw_prefix *prefix)
{
	struct cw_prefix net = cw_prefix_network(prefix);
	host_t *host = cw_charon_host(&net.addr, 0);
	traffic_selector_t *ts;

	if (!host)
		return false;
	ts = traffic_selector_create_from_subnet(host, net.len, 0, 0, 65535);
	if (!ts)
		return false;
	child->add_traffic_selector(child, local, ts);
	return true;
}

/* Does anything in the config speak IPv6 inside the tunnel? Most peers have IPv4 alone there; to ask all
 * of them for ::/0 would make each answer look narrowed. */
static bool inner_ipv6(const struct cw_ike_tunnel *t)
{
	const struct cw_prefixes *far = &t->conf->site->networks;
	bool found = t->conf->inside_addr.addr.family == CW_FAMILY_IPV6;

	for (size_t i = 0; i < t->n_gateway_networks; i++)
		found = found || t->gateway_networks[i].addr.family == CW_FAMILY_IPV6;
	for (size_t i = 0; i < far->n; i++)
		found = found || far->v[i].addr.family == CW_FAMILY_IPV6;
	return found;
}

static bool add_any_child(peer_cfg_t *peer, const struct cw_ike_tunnel *t)
{
	static const struct cw_prefix any4 = { .addr = { .family = CW_FAMILY_IPV4 } };
	static const struct cw_prefix any6 = { .addr = { .family = CW_FAMILY_IPV6 } };
	child_cfg_t *child = new_child(t, 0);

	if (!child)
		return false;
	add_ts(child, true, &any4);
	add_ts(child, false, &any4);
	if (t->conf->ike_version == CW_IKE_V2 && inner_ipv6(t)) {
		add_ts(child, true, &any6);
		add_ts(child, false, &any6);
	}
	peer->add_child_cfg(peer, child);
	return true;
}

static bool add_pair_children(peer_cfg_t *peer, const struct cw_ike_tunnel *t)
{
	struct cw_pair_walk walk = {
		.ours = t->gateway_networks,
		.n_ours = t->n_gateway_networks,
		.theirs = t->conf->site->networks.v,
		.n_theirs = t->conf->site->networks.n,
	};
	uint32_t pair = 0;

	while (cw_pair_next(&walk)) {
		child_cfg_t *child = pair < CW_CONF_PAIRS_MAX ? new_child(t, pair++) : NULL;

		if (!child)
			return false;
		add_ts(child, true, walk.our);
		add_ts(child, false, walk.their);
		peer->add_child_cfg(peer, child);
	}
	return pair > 0;
}

static shared_key_t *copy_psk(const struct cw_secret *psk)
{
	size_t len;
	const uint8_t *bytes = cw_secret_bytes(psk, &len);
	chunk_t copy = chunk_alloc(len);

	memcpy(copy.ptr, bytes, len);
	return shared_key_create(SHARED_IKE, copy); /* wiped when the last user lets it go */
}

void cw_charon_tunnel_free(struct cw_charon_tunnel *t)
{
	if (!t)
		return;
	DESTROY_IF(t->peer);
	DESTROY_IF(t->psk);
	DESTROY_IF(t->local_id);
	DESTROY_IF(t->remote_id);
	free(t);
}

enum cw_rc cw_charon_tunnel_build(const struct cw_ike_tunnel *t,
				  struct cw_charon_tunnel **ret_tunnel)
{
	const struct cw_tunnel_conf *conf = t->conf;
	const struct cw_secret *psk = t->psk ? t->psk : conf->psk;
	struct cw_charon_tunnel *tunnel;
	ike_cfg_t *ike;
	bool ok;

	if (!t->remote.family || !psk || cw_addr_is_unspecified(&t->remote))
		return CW_E_INVALID;
	/* Policies for everything that are bound to no interface would take the host's own traffic. */
	if (conf->selectors == CW_SEL_ANY && !t->if_id && !t->mark)
		return CW_E_INVALID;
	if (conf->selectors == CW_SEL_NETWORKS && !conf->site)
		return CW_E_INVALID;
	tunnel = calloc(1, sizeof(*tunnel));
	if (!tunnel)
		return CW_E_NO_MEMORY;
	tunnel->index = t->index;
	tunnel->generation = t->generation;
	tunnel->nat_never = conf->nat_traversal == CW_NAT_NEVER;
	snprintf(tunnel->name, sizeof(tunnel->name), "%s", conf->name);
	if (conf->local_id)
		tunnel->local_id = id_of_text(conf->local_id);
	else if (conf->public_addr.family)
		tunnel->local_id = id_of_addr(&conf->public_addr);
	else if (t->local.family)
		tunnel->local_id = id_of_addr(&t->local);
	tunnel->remote_id = conf->remote_id ? id_of_text(conf->remote_id) : id_of_addr(&t->remote);
	tunnel->psk = copy_psk(psk);
	ike = build_ike(t);
	if (!ike || !tunnel->remote_id) {
		DESTROY_IF(ike);
		cw_charon_tunnel_free(tunnel);
		return CW_E_INVALID;
	}
	tunnel->ike = ike;
	tunnel->peer = build_peer(t, ike);
	add_auth(tunnel->peer, tunnel->local_id, true);
	add_auth(tunnel->peer, tunnel->remote_id, false);
	if (conf->selectors == CW_SEL_ANY)
		ok = add_any_child(tunnel->peer, t);
	else
		ok = add_pair_children(tunnel->peer, t);
	if (!ok) {
		cw_charon_tunnel_free(tunnel);
		return CW_E_INVALID;
	}
	*ret_tunnel = tunnel;
	return CW_OK;
}

/* ---- what libcharon looks configurations up by ---- */

/* The manager sorts matches itself; we hand out references to all, so that no lock is held while it
 * looks at them. */
static linked_list_t *all_peers(struct cw_charon *c)
{
	linked_list_t *list = linked_list_create();

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->n_tunnels; i++) {
		peer_cfg_t *peer;

		if (!c->tunnels[i])
			continue;
		peer = c->tunnels[i]->peer;
		list->insert_last(list, peer->get_ref(peer));
	}
	pthread_mutex_unlock(&c->lock);
	return list;
}

static void peers_free(void *data)
{
	linked_list_t *list = data;

	list->destroy_offset(list, offsetof(peer_cfg_t, destroy));
}

static enumerator_t *peer_cfg_enumerator(backend_t *this, identification_t *me,
					 identification_t *other)
{
	linked_list_t *list = all_peers(CW_OUTER(this, struct cw_charon, backend));

	(void)me;
	(void)other;
	return enumerator_create_cleaner(list->create_enumerator(list), peers_free, list);
}

static bool to_ike_cfg(void *data, enumerator_t *orig, va_list args)
{
	peer_cfg_t *peer;
	ike_cfg_t **out = va_arg(args, ike_cfg_t **);

	(void)data;
	if (!orig->enumerate(orig, &peer))
		return FALSE;
	*out = peer->get_ike_cfg(peer);
	return TRUE;
}

static enumerator_t *ike_cfg_enumerator(backend_t *this, host_t *me, host_t *other)
{
	linked_list_t *list = all_peers(CW_OUTER(this, struct cw_charon, backend));

	(void)me;
	(void)other;
	return enumerator_create_filter(list->create_enumerator(list), to_ike_cfg, list, peers_free);
}

static peer_cfg_t *peer_cfg_by_name(backend_t *this, char *name)
{
	(void)this;
	(void)name;
	return NULL;
}

void cw_charon_backend_init(struct cw_charon *c)
{
	c->backend = (backend_t){
		.create_ike_cfg_enumerator = ike_cfg_enumerator,
		.create_peer_cfg_enumerator = peer_cfg_enumerator,
		.get_peer_cfg_by_name = peer_cfg_by_name,
	};
}
