/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an error that a peer answers with means: the cause, and what to say about it.
 */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <string.h>

#define NOTIFY_ERROR_MAX 16383 /* RFC 7296 3.10.1: above are status types */

/* ---- what is in a message ---- */

bool cw_charon_is_v1(ike_sa_t *ike_sa)
{
	return ike_sa->get_version(ike_sa) == IKEV1;
}

/* The first error notify, or 0. ret_data: its data, borrowed. */
uint16_t cw_charon_error_in(message_t *message, chunk_t *ret_data)
{
	enumerator_t *e = message->create_payload_enumerator(message);
	payload_t *payload;
	uint16_t found = 0;

	while (!found && e->enumerate(e, &payload)) {
		payload_type_t type = payload->get_type(payload);
		notify_payload_t *notify = (notify_payload_t *)payload;

		if (type != PLV2_NOTIFY && type != PLV1_NOTIFY)
			continue;
		if (notify->get_notify_type(notify) <= NOTIFY_ERROR_MAX) {
			found = (uint16_t)notify->get_notify_type(notify);
			*ret_data = notify->get_notification_data(notify);
		}
	}
	e->destroy(e);
	return found;
}

linked_list_t *cw_charon_proposals_in(message_t *message)
{
	sa_payload_t *sa = (sa_payload_t *)message->get_payload(message, PLV2_SECURITY_ASSOCIATION);

	return sa ? sa->get_proposals(sa) : NULL;
}

void cw_charon_proposals_free(linked_list_t *list)
{
	if (list)
		list->destroy_offset(list, offsetof(proposal_t, destroy));
}

static uint16_t group_in(chunk_t data)
{
	return data.len == 2 ? (uint16_t)(data.ptr[0] << 8 | data.ptr[1]) : (uint16_t)KE_NONE;
}

/* ---- what we would have liked ---- */

linked_list_t *cw_charon_our_ike_proposals(ike_sa_t *ike_sa)
{
	ike_cfg_t *cfg = ike_sa->get_ike_cfg(ike_sa);

	return cfg ? cfg->get_proposals(cfg) : linked_list_create();
}

/* All children of a tunnel have the same proposals. */
linked_list_t *cw_charon_our_esp_proposals(ike_sa_t *ike_sa, bool strip_groups)
{
	peer_cfg_t *peer = ike_sa->get_peer_cfg(ike_sa);
	linked_list_t *list = NULL;
	child_cfg_t *child;
	enumerator_t *e;

	if (peer) {
		e = peer->create_child_cfg_enumerator(peer);
		if (e->enumerate(e, &child))
			list = child->get_proposals(child, strip_groups);
		e->destroy(e);
	}
	return list ? list : linked_list_create();
}

static bool has_group(linked_list_t *list, uint16_t group)
{
	enumerator_t *e = list->create_enumerator(list);
	proposal_t *proposal;
	bool found = false;

	while (!found && e->enumerate(e, &proposal))
		found = proposal->has_transform(proposal, KEY_EXCHANGE_METHOD, group);
	e->destroy(e);
	return found;
}

enum cw_cause cw_charon_child_cause(uint16_t notify)
{
	switch (notify) {
	case NO_PROPOSAL_CHOSEN:
		return CW_CAUSE_NO_ESP_PROPOSAL;
	case TS_UNACCEPTABLE:
	case INVALID_SELECTORS:
	case SINGLE_PAIR_REQUIRED:
	case INVALID_ID_INFORMATION: /* IKEv1's word for selectors, in a Quick Mode */
		return CW_CAUSE_TS_UNACCEPTABLE;
	case INVALID_KE_PAYLOAD:
		return CW_CAUSE_DH_GROUP;
	default:
		return CW_CAUSE_PROTOCOL;
	}
}

void cw_charon_child_detail(ike_sa_t *ike_sa, uint16_t notify, char *buf, size_t size)
{
	linked_list_t *ours;
	char text[CW_IKE_TEXT_MAX];

	switch (cw_charon_child_cause(notify)) {
	case CW_CAUSE_NO_ESP_PROPOSAL:
		ours = cw_charon_our_esp_proposals(ike_sa, false);
		snprintf(buf, size, "we offered %s", cw_charon_view_proposals(ours, text, sizeof(text)));
		cw_charon_proposals_free(ours);
		break;
	default:
		cw_charon_view_notify(notify, buf, size);
		break;
	}
}

/* ---- IKE_SA_INIT and IKE_AUTH ---- */

void cw_charon_blame_ids(struct cw_charon_sa *sa, ike_sa_t *ike_sa, enum cw_cause cause)
{
	char me[56], other[56];

	cw_charon_sa_blame(sa, cause, "we are %s, the peer is %s",
			   cw_charon_view_id(ike_sa->get_my_id(ike_sa), me, sizeof(me)),
			   cw_charon_view_id(ike_sa->get_other_id(ike_sa), other, sizeof(other)));
}

/* IKEv1 with a key that is not the peer's: it can't read our identity, nor we its answer. */
void cw_charon_blame_key(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa)
{
	const struct cw_charon_tunnel *t = sa->known && sa->index < c->n_tunnels ? c->tunnels[sa->index] : NULL;
	char me[44], other[44] = "not known yet";

	if (t)
		cw_charon_view_id(t->remote_id, other, sizeof(other));
	cw_charon_sa_blame(sa, CW_CAUSE_AUTH_BY_PEER, "we are %s, the peer is %s; the keys differ",
			   cw_charon_view_id(ike_sa->get_my_id(ike_sa), me, sizeof(me)), other);
}

void cw_charon_blame_init(struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify, chunk_t data)
{
	linked_list_t *ours = cw_charon_our_ike_proposals(ike_sa);
	char text[CW_IKE_TEXT_MAX], want[24], groups[48];

	switch (notify) {
	case NO_PROPOSAL_CHOSEN:
		cw_charon_sa_blame(sa, CW_CAUSE_NO_IKE_PROPOSAL, "we offered %s",
				   cw_charon_view_proposals(ours, text, sizeof(text)));
		break;
	case INVALID_KE_PAYLOAD:
		/* With a group that we have libcharon tries again by itself. */
		if (!has_group(ours, group_in(data)))
			cw_charon_sa_blame(sa, CW_CAUSE_DH_GROUP, "the peer wants %s, we have %s",
					   cw_charon_view_group(group_in(data), want, sizeof(want)),
					   cw_charon_view_groups(ours, groups, sizeof(groups)));
		break;
	default:
		cw_charon_sa_blame(sa, CW_CAUSE_PROTOCOL, "%s",
				   cw_charon_view_notify(notify, text, sizeof(text)));
		break;
	}
	cw_charon_proposals_free(ours);
}

void cw_charon_auth_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			message_t *message, uint16_t notify)
{
	char text[CW_IKE_TEXT_MAX];

	/* With an AUTH payload beside it the notify is about the CHILD_SA alone (RFC 7296 1.3). */
	if (message->get_payload(message, PLV2_AUTH)) {
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_child_refused(c, sa, ike_sa, cw_charon_child_cause(notify), text);
	} else if (notify == AUTHENTICATION_FAILED) {
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
	} else if (cw_charon_child_cause(notify) != CW_CAUSE_PROTOCOL) {
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_sa_blame(sa, cw_charon_child_cause(notify), "%s", text);
	} else {
		cw_charon_sa_blame(sa, CW_CAUSE_PROTOCOL, "%s",
				   cw_charon_view_notify(notify, text, sizeof(text)));
	}
}

/* ---- CREATE_CHILD_SA ---- */

void cw_charon_pfs_detail(const struct cw_charon_sa *sa, const char *wants, char *buf, size_t size)
{
	snprintf(buf, size, "PFS groups differ: ours %.40s, the peer's %.40s", sa->our_groups,
		 wants ? wants : sa->peer_groups[0] ? sa->peer_groups : "another or none");
}

/* The peer has lost the child that we asked it to rekey. libcharon drops it and asks for another one at
 * once (RFC 7296 2.25), so nobody else need. */
static void rekey_of_lost(struct cw_charon *c, struct cw_charon_sa *sa)
{
	for (struct cw_charon_child *child = c->children; child; child = child->next) {
		if (child->ike_id != sa->ike_id || child->spi_in != sa->rekey_spi || child->cause)
			continue;
		child->cause = CW_CAUSE_CHILD_DELETE;
		cw_charon_pair_set(sa, child->pair, true);
	}
	sa->asking_told = true;
}

void cw_charon_child_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			 uint16_t notify, chunk_t data)
{
	bool is_rekey = sa->asking == CW_CHARON_X_CHILD_REKEY;
	enum cw_cause cause = cw_charon_child_cause(notify);
	char text[CW_IKE_TEXT_MAX], want[24];
	linked_list_t *ours;
	bool known;

	switch (notify) {
	case TEMPORARY_FAILURE: /* RFC 7296 2.25: libcharon tries again by itself */
		return;
	case CHILD_SA_NOT_FOUND:
		if (is_rekey) {
			rekey_of_lost(c, sa);
			return;
		}
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		break;
	case INVALID_KE_PAYLOAD:
		ours = cw_charon_our_esp_proposals(ike_sa, false);
		known = has_group(ours, group_in(data));
		cw_charon_proposals_free(ours);
		if (known)
			return; /* and with this group libcharon asks again at once */
		cw_charon_pfs_detail(sa, cw_charon_view_group(group_in(data), want, sizeof(want)), text,
			   sizeof(text));
		break;
	case NO_PROPOSAL_CHOSEN:
		/* The same proposals did once, then without groups: IKE_AUTH carries none. */
		if (is_rekey && strcmp(sa->our_groups, "none") != 0) {
			cause = CW_CAUSE_DH_GROUP;
			cw_charon_pfs_detail(sa, NULL, text, sizeof(text));
			break;
		}
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		break;
	default:
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		break;
	}
	if (!is_rekey) {
		cw_charon_child_refused(c, sa, ike_sa, cause, text);
		return;
	}
	cw_charon_post_rekey_failed(c, sa, true, true, cause, text);
	sa->asking_told = true;
}

void cw_charon_rekey_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify,
			 chunk_t data)
{
	linked_list_t *ours = cw_charon_our_ike_proposals(ike_sa);
	enum cw_cause cause = CW_CAUSE_PROTOCOL;
	char text[CW_IKE_TEXT_MAX], want[24], groups[48];

	if (notify == TEMPORARY_FAILURE ||
	    (notify == INVALID_KE_PAYLOAD && has_group(ours, group_in(data)))) {
		cw_charon_proposals_free(ours);
		return;
	}
	if (notify == INVALID_KE_PAYLOAD) {
		cause = CW_CAUSE_DH_GROUP;
		snprintf(text, sizeof(text), "the peer wants %s, we have %s",
			 cw_charon_view_group(group_in(data), want, sizeof(want)),
			 cw_charon_view_groups(ours, groups, sizeof(groups)));
	} else if (notify == NO_PROPOSAL_CHOSEN) {
		char list[CW_IKE_ALG_MAX];

		cause = CW_CAUSE_NO_IKE_PROPOSAL;
		snprintf(text, sizeof(text), "we offered %s",
			 cw_charon_view_proposals(ours, list, sizeof(list)));
	} else {
		cw_charon_view_notify(notify, text, sizeof(text));
	}
	cw_charon_post_rekey_failed(c, sa, true, false, cause, text);
	cw_charon_proposals_free(ours);
}
