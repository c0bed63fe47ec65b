/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a try to bring a tunnel up needs: the addresses of both ends, the key as its file has it now, and the
 * engine's knowledge of the tunnel.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>

#include "base/log.h"
#include "base/secret.h"
#include "conf/key.h"
#include "io/source.h"

/* Why nobody is to be spoken to at remote: NONE where somebody is. A name may lead anywhere. */
static enum cw_cause peer_unfit(const struct cw_addr *remote)
{
	struct cw_addr source;

	if (cw_addr_is_loopback(remote))
		return CW_CAUSE_OWN_ADDRESS;
	if (cw_addr_unfit(remote))
		return CW_CAUSE_RESOLVE;
	/* To an address of its own a machine speaks from that very address. */
	if (cw_source_address(remote, &source) == CW_OK && cw_addr_equal(remote, &source))
		return CW_CAUSE_OWN_ADDRESS;
	return CW_CAUSE_NONE;
}

static void refuse_peer(struct cw_gateway *gw, struct slot *s, const struct cw_addr *remote,
			enum cw_cause cause)
{
	struct cw_tunnel_event ev = { .kind = CW_TEV_RESOLVE_FAILED, .cause = cause };
	char addr[CW_ADDR_TEXT_MAX], text[CW_IKE_TEXT_MAX];

	snprintf(text, sizeof(text), "%s%s%s", cw_addr_print(remote, addr, sizeof(addr)),
		 cause == CW_CAUSE_RESOLVE ? " " : "", cause == CW_CAUSE_RESOLVE ? cw_addr_unfit(remote) : "");
	ev.detail = text;
	cw_gateway_step(gw, s, &ev);
}

/* Which of our addresses to use towards remote; the tunnel's answer to RESOLVE. */
static void answer_resolved(struct cw_gateway *gw, struct slot *s, const struct cw_addr *remote)
{
	struct cw_tunnel_event ev = { .kind = CW_TEV_RESOLVED, .remote = *remote, .local = s->conf->local_addr };
	enum cw_cause unfit = peer_unfit(remote);
	char a[CW_ADDR_TEXT_MAX], b[CW_ADDR_TEXT_MAX];

	if (unfit != CW_CAUSE_NONE) {
		refuse_peer(gw, s, remote, unfit);
		return;
	}
	if (ev.local.family == CW_FAMILY_NONE && cw_source_address(remote, &ev.local) != CW_OK) {
		ev.kind = CW_TEV_RESOLVE_FAILED;
		ev.cause = CW_CAUSE_NO_ROUTE;
		ev.detail = cw_addr_print(remote, a, sizeof(a));
		cw_gateway_step(gw, s, &ev);
		return;
	}
	if (!s->nat_hint_given && cw_addr_is_private(&ev.local) && !cw_addr_is_private(remote) &&
	    s->conf->public_addr.family == CW_FAMILY_NONE && !s->conf->local_id) {
		s->nat_hint_given = true;
		cw_log(CW_LOG_WARNING, CW_LOG_CONF_WARNING, s->conf->name,
		       "our address %s is private but the peer %s is not, so there is likely a NAT; the peer sees "
		       "%s as our identity. If it expects our public address, set public-address",
		       cw_addr_print(&ev.local, a, sizeof(a)), cw_addr_print(remote, b, sizeof(b)), a);
	}
	cw_gateway_step(gw, s, &ev);
}

void cw_gateway_resolve(struct cw_gateway *gw, struct slot *s)
{
	enum cw_rc rc;

	if (s->conf->remote_addr.family != CW_FAMILY_NONE) {
		s->found = s->conf->remote_addr;
		cw_gateway_todo(gw, s, TODO_TRY);
		return;
	}
	rc = cw_resolve_start(gw->resolver, s->index, s->conf->remote);
	if (rc != CW_OK) {
		struct cw_tunnel_event ev = {
			.kind = CW_TEV_RESOLVE_FAILED, .cause = CW_CAUSE_RESOLVE, .detail = cw_rc_name(rc),
		};

		cw_gateway_step(gw, s, &ev);
	}
}

/* One after the other, so that a dead first address is no dead end, but none where nobody can be. */
static const struct cw_addr *next_address(struct slot *s, const struct cw_resolve_answer *answer)
{
	for (size_t i = 0; i < answer->n_addrs; i++) {
		const struct cw_addr *addr = &answer->addrs[s->resolve_round++ % answer->n_addrs];

		if (peer_unfit(addr) == CW_CAUSE_NONE)
			return addr;
	}
	return &answer->addrs[0];
}

void cw_gateway_resolved(void *arg, const struct cw_resolve_answer *answer)
{
	struct cw_gateway *gw = arg;
	struct slot *s = answer->token < gw->n_slots ? &gw->slots[answer->token] : NULL;

	if (!s)
		return;
	if (answer->rc == CW_OK) {
		s->found = *next_address(s, answer);
		cw_gateway_todo(gw, s, TODO_TRY);
	} else {
		struct cw_tunnel_event ev = {
			.kind = CW_TEV_RESOLVE_FAILED, .cause = CW_CAUSE_RESOLVE, .detail = answer->text,
		};

		cw_gateway_step(gw, s, &ev);
	}
}

/* The key as its file has it now, so that a corrected one is taken at the next try. While the file is
 * bad, perhaps half written, the last good one stays. */
static const struct cw_secret *key_now(struct slot *s)
{
	const struct cw_secret *known = s->psk ? s->psk : s->conf->psk;
	struct cw_key_fault fault = { "", "" };
	struct cw_secret *key = NULL;

	if (!s->conf->psk_path)
		return known;
	if (cw_key_read(s->conf->psk_path, &key, &fault) != CW_OK) {
		if (s->psk_fault_logged != fault.reason)
			cw_log(CW_LOG_WARNING, CW_LOG_CONF_WARNING, s->conf->name,
			       "psk-file, read again, %s%s%s; the key that was read before is used", fault.reason,
			       fault.remedy[0] ? ": " : "", fault.remedy);
		s->psk_fault_logged = fault.reason;
		return known;
	}
	s->psk_fault_logged = NULL;
	if (cw_secret_equal(key, known)) {
		cw_secret_free(key);
		return known;
	}
	cw_log(CW_LOG_NOTICE, CW_LOG_KEY_CHANGED, s->conf->name,
	       "psk-file holds another key; it is used from this try on");
	cw_secret_free(s->psk);
	s->psk = key;
	return key;
}

void cw_gateway_engine_set(struct cw_gateway *gw, struct slot *s)
{
	struct cw_ike_tunnel t = {
		.index = s->index,
		.generation = cw_tunnel_generation(s->tunnel),
		.conf = s->conf,
		.psk = key_now(s),
		.gateway_networks = gw->parts.conf->gateway.networks.v,
		.n_gateway_networks = gw->parts.conf->gateway.networks.n,
		.remote = cw_tunnel_remote(s->tunnel),
		.local = cw_tunnel_local(s->tunnel),
		.if_id = cw_gateway_if_id(s),
		.mark = cw_gateway_mark(s),
		.reqid_base = CW_REQID_BASE + s->number * 256,
	};
	enum cw_rc rc = gw->ike->ops->tunnel_set(gw->ike, &t);

	s->engine_refused = rc != CW_OK;
	s->engine_rc = rc;
	/* A VTI is found by its outer ends (Linux vti_rcv), which may only be known now. */
	cw_gateway_link_ends(gw, s);
}

void cw_gateway_engine_refused(struct cw_gateway *gw, struct slot *s)
{
	struct cw_tunnel_event ev = {
		.kind = CW_TEV_ENGINE_REFUSED,
		.cause = CW_CAUSE_ENGINE,
		.detail = s->engine_rc == CW_E_INVALID ? "it can't use the proposals, the identities or the networks" :
							 cw_rc_name(s->engine_rc),
	};

	s->engine_refused = false;
	cw_gateway_step(gw, s, &ev);
}

void cw_gateway_try(struct cw_gateway *gw, struct slot *s)
{
	const struct cw_addr found = s->found;

	/* A VTI is made with both its ends, which the answer brings. */
	if (s->mode == CW_IF_XFRM && (s->link_asked || !s->link_ok))
		cw_gateway_link(gw, s);
	answer_resolved(gw, s, &found);
	if (s->link_asked)
		cw_gateway_link(gw, s);
}
