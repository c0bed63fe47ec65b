/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <string.h>

/* Only printable ASCII leaves here: names come from the peer. */
static const char *clean(char *text)
{
	for (char *p = text; *p; p++) {
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	}
	return text;
}

/* Appends as much as fits. */
static void append(char *buf, size_t size, const char *text)
{
	size_t len = strlen(buf);

	if (len + 1 < size)
		snprintf(buf + len, size - len, "%s", text);
}

static void append_name(char *buf, size_t size, enum_name_t *names, uint16_t value)
{
	const char *name = enum_to_name(names, value);
	char number[16];

	if (!name) {
		snprintf(number, sizeof(number), "(%u)", value);
		name = number;
	}
	append(buf, size, name);
}

struct cw_addr cw_charon_addr(host_t *host)
{
	struct cw_addr addr = { 0 };
	chunk_t bytes;

	if (!host)
		return addr;
	bytes = host->get_address(host);
	if (bytes.len == 4)
		addr.family = CW_FAMILY_IPV4;
	else if (bytes.len == 16)
		addr.family = CW_FAMILY_IPV6;
	else
		return addr;
	memcpy(addr.bytes, bytes.ptr, bytes.len);
	return addr;
}

host_t *cw_charon_host(const struct cw_addr *addr, uint16_t port)
{
	uint8_t bytes[16];

	memcpy(bytes, addr->bytes, sizeof(bytes));
	if (addr->family == CW_FAMILY_IPV6)
		return host_create_from_chunk(AF_INET6, chunk_create(bytes, 16), port);
	if (addr->family == CW_FAMILY_IPV4)
		return host_create_from_chunk(AF_INET, chunk_create(bytes, 4), port);
	return NULL;
}

struct cw_prefix cw_charon_prefix(traffic_selector_t *ts)
{
	struct cw_prefix prefix = { 0 };
	host_t *net = NULL;
	uint8_t bits = 0;

	/* It gives the smallest network also where the selector is a range. */
	ts->to_subnet(ts, &net, &bits);
	if (net) {
		prefix.addr = cw_charon_addr(net);
		prefix.len = bits;
		net->destroy(net);
	}
	return prefix;
}

const char *cw_charon_view_id(identification_t *id, char *buf, size_t size)
{
	/* %Y is libstrongswan's own conversion for identities; the compiler knows nothing of it. */
	static const char format[] = "%Y";

	buf[0] = '\0';
	/* "%any" is the peer's until it has told who it is. */
	if (!id || id->get_type(id) == ID_ANY)
		return buf;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	snprintf(buf, size, format, id);
#pragma GCC diagnostic pop
	return clean(buf);
}

const char *cw_charon_view_group(uint16_t group, char *buf, size_t size)
{
	buf[0] = '\0';
	append_name(buf, size, key_exchange_method_names, group);
	return buf;
}

const char *cw_charon_view_notify(uint16_t type, char *buf, size_t size)
{
	buf[0] = '\0';
	append_name(buf, size, notify_type_names, type);
	return buf;
}

static void append_transforms(proposal_t *proposal, transform_type_t type, enum_name_t *names,
			      char *buf, size_t size)
{
	enumerator_t *e = proposal->create_enumerator(proposal, type);
	uint16_t alg, bits;
	char number[16];

	while (e->enumerate(e, &alg, &bits)) {
		if (buf[0])
			append(buf, size, "/");
		append_name(buf, size, names, alg);
		if (bits) {
			snprintf(number, sizeof(number), "_%u", bits);
			append(buf, size, number);
		}
	}
	e->destroy(e);
}

const char *cw_charon_view_proposal(proposal_t *proposal, char *buf, size_t size)
{
	uint16_t esn = NO_EXT_SEQ_NUMBERS;

	buf[0] = '\0';
	if (!proposal)
		return buf;
	append_transforms(proposal, ENCRYPTION_ALGORITHM, encryption_algorithm_names, buf, size);
	append_transforms(proposal, INTEGRITY_ALGORITHM, integrity_algorithm_names, buf, size);
	append_transforms(proposal, PSEUDO_RANDOM_FUNCTION, pseudo_random_function_names, buf, size);
	append_transforms(proposal, KEY_EXCHANGE_METHOD, key_exchange_method_names, buf, size);
	if (proposal->get_algorithm(proposal, EXTENDED_SEQUENCE_NUMBERS, &esn, NULL) &&
	    esn == EXT_SEQ_NUMBERS)
		append(buf, size, "/ESN");
	return buf;
}

const char *cw_charon_view_proposals(linked_list_t *list, char *buf, size_t size)
{
	enumerator_t *e = list->create_enumerator(list);
	proposal_t *proposal;
	char one[CW_IKE_ALG_MAX];

	buf[0] = '\0';
	while (e->enumerate(e, &proposal)) {
		if (buf[0])
			append(buf, size, ", ");
		append(buf, size, cw_charon_view_proposal(proposal, one, sizeof(one)));
	}
	e->destroy(e);
	return buf;
}

const char *cw_charon_view_groups(linked_list_t *list, char *buf, size_t size)
{
	enumerator_t *e = list->create_enumerator(list), *groups;
	uint16_t seen[16], group;
	size_t n = 0, i;
	proposal_t *proposal;

	buf[0] = '\0';
	while (e->enumerate(e, &proposal)) {
		bool any = false;

		groups = proposal->create_enumerator(proposal, KEY_EXCHANGE_METHOD);
		while (true) {
			if (!groups->enumerate(groups, &group, NULL)) {
				if (any)
					break;
				group = KE_NONE; /* no transform at all: no exchange */
			}
			for (i = 0; i < n && seen[i] != group; i++)
				;
			if (i == n && n < countof(seen)) {
				seen[n++] = group;
				if (buf[0])
					append(buf, size, ", ");
				if (group == KE_NONE)
					append(buf, size, "none");
				else
					append_name(buf, size, key_exchange_method_names, group);
			}
			if (!any && group == KE_NONE)
				break;
			any = true;
		}
		groups->destroy(groups);
	}
	e->destroy(e);
	return buf;
}

const char *cw_charon_view_ts(linked_list_t *list, char *buf, size_t size)
{
	enumerator_t *e = list->create_enumerator(list);
	traffic_selector_t *ts;
	char one[CW_PREFIX_TEXT_MAX];

	buf[0] = '\0';
	while (e->enumerate(e, &ts)) {
		struct cw_prefix prefix = cw_charon_prefix(ts);

		if (buf[0])
			append(buf, size, " ");
		append(buf, size, cw_prefix_print(&prefix, one, sizeof(one)));
	}
	e->destroy(e);
	return buf;
}

static int64_t time_left(uint32_t at, time_t now)
{
	if (!at)
		return -1;
	return (time_t)at > now ? (time_t)at - now : 0;
}

void cw_charon_view_ike(ike_sa_t *ike_sa, struct cw_ike_sa_info *ret_info)
{
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	host_t *me = ike_sa->get_my_host(ike_sa), *other = ike_sa->get_other_host(ike_sa);
	time_t now = cw_charon_now_s();
	uint32_t at, reauth;

	*ret_info = (struct cw_ike_sa_info){
		.ike_id = ike_sa->get_unique_id(ike_sa),
		.spi_i = be64toh(id->get_initiator_spi(id)),
		.spi_r = be64toh(id->get_responder_spi(id)),
		.version = (uint8_t)ike_sa->get_version(ike_sa),
		.initiator = id->is_initiator(id),
		.nat_local = ike_sa->has_condition(ike_sa, COND_NAT_HERE),
		.nat_remote = ike_sa->has_condition(ike_sa, COND_NAT_THERE),
		.encap = ike_sa->has_condition(ike_sa, COND_NAT_ANY),
		.local = cw_charon_addr(me),
		.remote = cw_charon_addr(other),
		.local_port = me->get_port(me),
		.remote_port = other->get_port(other),
	};
	switch (ike_sa->get_state(ike_sa)) {
	case IKE_CREATED:
	case IKE_CONNECTING:
		ret_info->state = CW_IKE_SA_CONNECTING;
		break;
	case IKE_ESTABLISHED:
	case IKE_PASSIVE:
		ret_info->state = CW_IKE_SA_ESTABLISHED;
		break;
	case IKE_REKEYING:
		/* IKEv2: until its successor stands it is as good as ever. In IKEv1 it has handed its
		 * children over already. */
		ret_info->state = ret_info->version == 1 ? CW_IKE_SA_REKEYED : CW_IKE_SA_ESTABLISHED;
		break;
	case IKE_REKEYED:
		ret_info->state = CW_IKE_SA_REKEYED;
		break;
	case IKE_DELETING:
	case IKE_DESTROYING:
		ret_info->state = CW_IKE_SA_DELETING;
		break;
	}
	cw_charon_view_id(ike_sa->get_my_id(ike_sa), ret_info->local_id, sizeof(ret_info->local_id));
	cw_charon_view_id(ike_sa->get_other_id(ike_sa), ret_info->remote_id,
			  sizeof(ret_info->remote_id));
	cw_charon_view_proposal(ike_sa->get_proposal(ike_sa), ret_info->proposal,
				sizeof(ret_info->proposal));
	at = ike_sa->get_statistic(ike_sa, STAT_ESTABLISHED);
	if (at && now > (time_t)at)
		ret_info->established_s_ago = (uint32_t)(now - (time_t)at);
	at = ike_sa->get_statistic(ike_sa, STAT_REKEY);
	reauth = ike_sa->get_statistic(ike_sa, STAT_REAUTH);
	if (!at || (reauth && reauth < at))
		at = reauth;
	ret_info->rekey_in_s = time_left(at, now);
	ret_info->expires_in_s = time_left(ike_sa->get_statistic(ike_sa, STAT_DELETE), now);
}

static size_t copy_ts(child_sa_t *child_sa, bool local, struct cw_prefix *out)
{
	enumerator_t *e = child_sa->create_ts_enumerator(child_sa, local);
	traffic_selector_t *ts;
	size_t n = 0;

	while (e->enumerate(e, &ts)) {
		if (n < CW_IKE_TS_MAX)
			out[n] = cw_charon_prefix(ts);
		n++;
	}
	e->destroy(e);
	return n;
}

/* Is each selector that the configuration asks for within one that was agreed? */
static bool is_narrowed(ike_sa_t *ike_sa, child_sa_t *child_sa, bool local)
{
	child_cfg_t *cfg = child_sa->get_config(child_sa);
	linked_list_t *hosts = linked_list_create(), *wanted;
	enumerator_t *e, *agreed;
	traffic_selector_t *ts, *got;
	bool narrowed = false;

	hosts->insert_last(hosts, local ? ike_sa->get_my_host(ike_sa) : ike_sa->get_other_host(ike_sa));
	wanted = cfg->get_traffic_selectors(cfg, local, NULL, hosts, FALSE);
	e = wanted->create_enumerator(wanted);
	while (!narrowed && e->enumerate(e, &ts)) {
		bool held = false;

		agreed = child_sa->create_ts_enumerator(child_sa, local);
		while (!held && agreed->enumerate(agreed, &got))
			held = ts->is_contained_in(ts, got);
		agreed->destroy(agreed);
		narrowed = !held;
	}
	e->destroy(e);
	wanted->destroy_offset(wanted, offsetof(traffic_selector_t, destroy));
	hosts->destroy(hosts);
	return narrowed;
}

void cw_charon_view_child(ike_sa_t *ike_sa, child_sa_t *child_sa, struct cw_child_info *ret_info)
{
	time_t now = cw_charon_now_s(), in = 0, out = 0;
	proposal_t *proposal = child_sa->get_proposal(child_sa);
	uint16_t group = KE_NONE;

	*ret_info = (struct cw_child_info){
		.child_id = child_sa->get_unique_id(child_sa),
		.ike_id = ike_sa->get_unique_id(ike_sa),
		.pair = cw_charon_child_pair(child_sa->get_name(child_sa)),
		.reqid = child_sa->get_reqid(child_sa),
		.spi_in = ntohl(child_sa->get_spi(child_sa, TRUE)),
		.spi_out = ntohl(child_sa->get_spi(child_sa, FALSE)),
		.encap = child_sa->has_encap(child_sa),
	};
	switch (child_sa->get_state(child_sa)) {
	case CHILD_INSTALLED:
	case CHILD_UPDATING:
		ret_info->state = CW_CHILD_INSTALLED;
		break;
	case CHILD_REKEYING:
		ret_info->state = CW_CHILD_REKEYING;
		break;
	case CHILD_REKEYED:
		ret_info->state = CW_CHILD_REKEYED;
		break;
	case CHILD_DELETING:
	case CHILD_DELETED:
	case CHILD_DESTROYING:
		ret_info->state = CW_CHILD_DELETING;
		break;
	default:
		ret_info->state = CW_CHILD_CONNECTING;
		break;
	}
	if (proposal) {
		cw_charon_view_proposal(proposal, ret_info->proposal, sizeof(ret_info->proposal));
		ret_info->pfs = proposal->get_algorithm(proposal, KEY_EXCHANGE_METHOD, &group, NULL) &&
				group != KE_NONE;
	}
	ret_info->n_local_ts = copy_ts(child_sa, true, ret_info->local_ts);
	ret_info->n_remote_ts = copy_ts(child_sa, false, ret_info->remote_ts);
	ret_info->narrowed = ret_info->n_local_ts && ret_info->n_remote_ts &&
			     (is_narrowed(ike_sa, child_sa, true) ||
			      is_narrowed(ike_sa, child_sa, false));
	child_sa->get_usestats(child_sa, TRUE, &in, &ret_info->bytes_in, &ret_info->packets_in);
	child_sa->get_usestats(child_sa, FALSE, &out, &ret_info->bytes_out, &ret_info->packets_out);
	ret_info->last_in_s_ago = in ? (now > in ? now - in : 0) : -1;
	ret_info->last_out_s_ago = out ? (now > out ? now - out : 0) : -1;
	ret_info->installed_s_ago = (uint32_t)(now - child_sa->get_installtime(child_sa));
	ret_info->rekey_in_s = time_left((uint32_t)child_sa->get_lifetime(child_sa, FALSE), now);
	ret_info->expires_in_s = time_left((uint32_t)child_sa->get_lifetime(child_sa, TRUE), now);
}
