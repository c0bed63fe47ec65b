/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why things fail: read off the messages that pass and libcharon's alerts. Also the one thing that is
 * added to a message: INITIAL_CONTACT (RFC 7296 2.4), since with its uniqueness checks off libcharon
 * leaves it out.
 */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <string.h>

#include <sa/ikev2/tasks/child_create.h>

#define NOTIFY_ERROR_MAX 16383 /* RFC 7296 3.10.1: above are status types */

static struct cw_charon *self(listener_t *this)
{
	return CW_OUTER(this, struct cw_charon, listener);
}

/* ---- what is in a message ---- */

bool cw_charon_is_v1(ike_sa_t *ike_sa)
{
	return ike_sa->get_version(ike_sa) == IKEV1;
}

/* The first error notify, or 0. ret_data: its data, borrowed. */
static uint16_t error_in(message_t *message, chunk_t *ret_data)
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

static linked_list_t *proposals_in(message_t *message)
{
	sa_payload_t *sa = (sa_payload_t *)message->get_payload(message, PLV2_SECURITY_ASSOCIATION);

	return sa ? sa->get_proposals(sa) : NULL;
}

void cw_charon_proposals_free(linked_list_t *list)
{
	if (list)
		list->destroy_offset(list, offsetof(proposal_t, destroy));
}

static enum cw_charon_exchange classify(message_t *message)
{
	enum cw_charon_exchange x = CW_CHARON_X_CHILD;
	linked_list_t *list;
	proposal_t *first;

	if (message->get_exchange_type(message) != CREATE_CHILD_SA)
		return CW_CHARON_X_OTHER;
	if (message->get_notify(message, REKEY_SA))
		return CW_CHARON_X_CHILD_REKEY;
	list = proposals_in(message);
	if (list && list->get_first(list, (void **)&first) == SUCCESS &&
	    first->get_protocol(first) == PROTO_IKE)
		x = CW_CHARON_X_IKE_REKEY;
	cw_charon_proposals_free(list);
	return x;
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

static enum cw_cause child_cause(uint16_t notify)
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

static void child_detail(ike_sa_t *ike_sa, uint16_t notify, char *buf, size_t size)
{
	linked_list_t *ours;
	char text[CW_IKE_TEXT_MAX];

	switch (child_cause(notify)) {
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

static void blame_init(struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify, chunk_t data)
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

static void auth_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			message_t *message, uint16_t notify)
{
	char text[CW_IKE_TEXT_MAX];

	/* With an AUTH payload beside it the notify is about the CHILD_SA alone (RFC 7296 1.3). */
	if (message->get_payload(message, PLV2_AUTH)) {
		child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_post_child_failed(c, sa, true, child_cause(notify), text);
		sa->asking_told = true;
		memset(sa->pairs, 0, sizeof(sa->pairs));
	} else if (notify == AUTHENTICATION_FAILED) {
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
	} else if (child_cause(notify) != CW_CAUSE_PROTOCOL) {
		child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_sa_blame(sa, child_cause(notify), "%s", text);
	} else {
		cw_charon_sa_blame(sa, CW_CAUSE_PROTOCOL, "%s",
				   cw_charon_view_notify(notify, text, sizeof(text)));
	}
}

/* ---- CREATE_CHILD_SA ---- */

/* The pair that our CREATE_CHILD_SA under way is about. */
void cw_charon_forget_pair(struct cw_charon_sa *sa, ike_sa_t *ike_sa)
{
	enumerator_t *e = ike_sa->create_task_enumerator(ike_sa, TASK_QUEUE_ACTIVE);
	child_sa_t *child;
	task_t *task;

	while (e->enumerate(e, &task)) {
		if (task->get_type(task) != TASK_CHILD_CREATE)
			continue;
		child = ((child_create_t *)task)->get_child((child_create_t *)task);
		if (child)
			cw_charon_sa_pair_set(sa, cw_charon_child_pair(child->get_name(child)), false);
	}
	e->destroy(e);
}

void cw_charon_pfs_detail(const struct cw_charon_sa *sa, const char *wants, char *buf, size_t size)
{
	snprintf(buf, size, "PFS groups differ: ours %.40s, the peer's %.40s", sa->our_groups,
		 wants ? wants : sa->peer_groups[0] ? sa->peer_groups : "another or none");
}

static void child_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			 uint16_t notify, chunk_t data)
{
	bool is_rekey = sa->asking == CW_CHARON_X_CHILD_REKEY;
	enum cw_cause cause = child_cause(notify);
	char text[CW_IKE_TEXT_MAX], want[24];
	linked_list_t *ours;
	bool known;

	switch (notify) {
	case TEMPORARY_FAILURE: /* RFC 7296 2.25: libcharon tries again by itself */
		return;
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
		child_detail(ike_sa, notify, text, sizeof(text));
		break;
	default:
		child_detail(ike_sa, notify, text, sizeof(text));
		break;
	}
	if (is_rekey)
		cw_charon_post_rekey_failed(c, sa, true, true, cause, text);
	else
		cw_charon_post_child_failed(c, sa, true, cause, text);
	sa->asking_told = true;
	cw_charon_forget_pair(sa, ike_sa);
}

static void rekey_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify,
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

/* ---- IKEv2, by direction ---- */

static void in_response(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = error_in(message, &data);

	if (message->get_message_id(message) == sa->asking_id)
		sa->waiting = false;
	if (!notify)
		return;
	switch (message->get_exchange_type(message)) {
	case IKE_SA_INIT:
		blame_init(sa, ike_sa, notify, data);
		break;
	case IKE_AUTH:
		auth_answer(c, sa, ike_sa, message, notify);
		break;
	case CREATE_CHILD_SA:
		if (sa->asking == CW_CHARON_X_IKE_REKEY)
			rekey_answer(c, sa, ike_sa, notify, data);
		else
			child_answer(c, sa, ike_sa, notify, data);
		break;
	default:
		break;
	}
}

static void in_deletes(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	enumerator_t *e = message->create_payload_enumerator(message), *spis;
	struct cw_charon_child *child;
	payload_t *payload;
	uint32_t spi;

	while (e->enumerate(e, &payload)) {
		payload_type_t type = payload->get_type(payload);
		delete_payload_t *delete = (delete_payload_t *)payload;

		if (type != PLV2_DELETE && type != PLV1_DELETE)
			continue;
		if (delete->get_protocol_id(delete) == PROTO_IKE) {
			cw_charon_sa_blame(sa, CW_CAUSE_PEER_DELETE, "%s", "");
			continue;
		}
		spis = delete->create_spi_enumerator(delete);
		while (spis->enumerate(spis, &spi)) {
			child_sa_t *child_sa = ike_sa->get_child_sa(ike_sa, PROTO_ESP, spi, FALSE);

			child = child_sa ? cw_charon_child_find(c, child_sa->get_unique_id(child_sa)) :
					   NULL;
			if (child && !child->cause && !child->ordered)
				child->cause = CW_CAUSE_CHILD_DELETE;
		}
		spis->destroy(spis);
	}
	e->destroy(e);
}

static void in_request(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	linked_list_t *theirs;

	sa->answering = classify(message);
	sa->answering_told = false;
	sa->note_cause = CW_CAUSE_NONE;
	switch (message->get_exchange_type(message)) {
	case IKE_AUTH:
		if (message->get_notify(message, INITIAL_CONTACT))
			sa->initial_contact = true;
		break;
	case CREATE_CHILD_SA:
		theirs = proposals_in(message);
		if (theirs && sa->answering == CW_CHARON_X_CHILD_REKEY)
			cw_charon_view_groups(theirs, sa->peer_groups, sizeof(sa->peer_groups));
		cw_charon_proposals_free(theirs);
		break;
	case INFORMATIONAL:
		/* A peer that found our proof wrong after it had to answer (RFC 7296 2.21.2). */
		if (message->get_notify(message, AUTHENTICATION_FAILED))
			cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
		in_deletes(c, sa, ike_sa, message);
		break;
	default:
		break;
	}
}

static void out_request(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	linked_list_t *ours;

	sa->asking = classify(message);
	sa->asking_id = message->get_message_id(message);
	sa->asking_told = false;
	sa->waiting = false;
	if (sa->asking == CW_CHARON_X_CHILD_REKEY) {
		ours = cw_charon_our_esp_proposals(ike_sa, false);
		cw_charon_view_groups(ours, sa->our_groups, sizeof(sa->our_groups));
		cw_charon_proposals_free(ours);
	}
	if (message->get_exchange_type(message) == IKE_AUTH && sa->asking_id == 1 && !sa->up &&
	    !cw_charon_sa_has_twin(c, sa))
		message->add_notify(message, FALSE, INITIAL_CONTACT, chunk_empty);
	cw_charon_sa_asked(c, sa);
}

/* Our answer to the peer's request: where it is a refusal the alerts before it told more. */
static void out_response(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			 message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = error_in(message, &data);
	enum cw_cause cause = sa->note_cause ? sa->note_cause : child_cause(notify);
	char text[CW_IKE_TEXT_MAX];

	if (!notify || notify == TEMPORARY_FAILURE || notify == INVALID_KE_PAYLOAD || sa->answering_told)
		return;
	if (sa->note_cause)
		snprintf(text, sizeof(text), "%s", sa->note);
	else
		cw_charon_view_notify(notify, text, sizeof(text));
	switch (sa->answering) {
	case CW_CHARON_X_CHILD:
		cw_charon_post_child_failed(c, sa, false, cause, text);
		break;
	case CW_CHARON_X_CHILD_REKEY:
		cw_charon_post_rekey_failed(c, sa, false, true, cause, text);
		break;
	case CW_CHARON_X_IKE_REKEY:
		cw_charon_post_rekey_failed(c, sa, false, false, cause, text);
		break;
	case CW_CHARON_X_OTHER:
		if (message->get_exchange_type(message) == IKE_AUTH &&
		    message->get_payload(message, PLV2_AUTH))
			cw_charon_post_child_failed(c, sa, false, cause, text);
		else if (message->get_exchange_type(message) == IKE_AUTH && notify == AUTHENTICATION_FAILED)
			cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_US);
		break;
	case CW_CHARON_X_NONE:
		break;
	}
	sa->answering = CW_CHARON_X_NONE;
}

/* ---- IKEv1 ---- */

static void v1_in(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = error_in(message, &data);
	char text[CW_IKE_TEXT_MAX];

	sa->waiting = false;
	if (message->get_notify(message, INITIAL_CONTACT_IKEV1))
		sa->initial_contact = true;
	in_deletes(c, sa, ike_sa, message);
	if (!notify)
		return;
	if (sa->up) {
		child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_post_child_failed(c, sa, true, child_cause(notify), text);
		memset(sa->pairs, 0, sizeof(sa->pairs));
	} else if (sa->sent_id) {
		/* Whatever the peer calls it: it could not read our third message, or did not believe it. */
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
	} else {
		blame_init(sa, ike_sa, notify, data);
	}
}

static void v1_out(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	chunk_t data = chunk_empty;
	uint16_t notify = error_in(message, &data);
	uint64_t spi_i = id->get_initiator_spi(id), spi_r = id->get_responder_spi(id);
	notify_payload_t *contact;
	char text[CW_IKE_TEXT_MAX];

	if (message->get_exchange_type(message) == ID_PROT) {
		if (sa->by_us)
			cw_charon_sa_asked(c, sa);
		if (!message->get_payload(message, PLV1_ID))
			return;
		sa->sent_id = true;
		if (!sa->by_us || sa->replaces || cw_charon_sa_has_twin(c, sa))
			return;
		/* RFC 2407 4.6.3.3: the SPI is both cookies. */
		contact = notify_payload_create_from_protocol_and_type(PLV1_NOTIFY, PROTO_IKE,
								       INITIAL_CONTACT_IKEV1);
		contact->set_spi_data(contact, chunk_cata("cc", chunk_from_thing(spi_i),
							  chunk_from_thing(spi_r)));
		message->add_payload(message, (payload_t *)contact);
		return;
	}
	if (message->get_notify(message, DPD_R_U_THERE)) {
		cw_charon_sa_asked(c, sa);
		return;
	}
	if (!notify)
		return;
	if (sa->up) {
		child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_post_child_failed(c, sa, false,
					    sa->note_cause ? sa->note_cause : child_cause(notify),
					    sa->note_cause ? sa->note : text);
		sa->note_cause = CW_CAUSE_NONE;
	} else if (notify == NO_PROPOSAL_CHOSEN && !sa->by_us) {
		linked_list_t *ours = cw_charon_our_ike_proposals(ike_sa);

		cw_charon_sa_blame(sa, CW_CAUSE_NO_IKE_PROPOSAL, "we take %s",
				   cw_charon_view_proposals(ours, text, sizeof(text)));
		cw_charon_proposals_free(ours);
	} else {
		cw_charon_sa_blame(sa, CW_CAUSE_PROTOCOL, "we answered %s",
				   cw_charon_view_notify(notify, text, sizeof(text)));
	}
}

bool cw_charon_message(listener_t *this, ike_sa_t *ike_sa, message_t *message, bool incoming, bool plain)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *sa;
	bool request = message->get_request(message);

	if (!plain || !ike_sa)
		return TRUE;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_sa->get_unique_id(ike_sa));
	if (!sa && ike_sa->get_state(ike_sa) == IKE_CREATED && incoming) {
		/* The peer's first message comes before the IKE_SA's first change of state. */
		sa = cw_charon_sa_put(c, ike_sa->get_unique_id(ike_sa));
	}
	if (sa) {
		cw_charon_sa_know(c, sa, ike_sa);
		if (incoming) {
			sa->heard = true;
			sa->heard_ms = cw_charon_now_ms();
		}
		if (cw_charon_is_v1(ike_sa))
			(incoming ? v1_in : v1_out)(c, sa, ike_sa, message);
		else if (incoming)
			(request ? in_request : in_response)(c, sa, ike_sa, message);
		else
			(request ? out_request : out_response)(c, sa, ike_sa, message);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}
