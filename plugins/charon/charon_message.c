/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the messages that pass tell: which exchanges are under way and how they end. Also the one thing that
 * is added to a message: INITIAL_CONTACT (RFC 7296 2.4), since with its uniqueness checks off libcharon
 * leaves it out. IKEv1's half is in charon_message_v1.c.
 */
#include "charon/charon_priv.h"

#include <stdio.h>

static struct cw_charon *self(listener_t *this)
{
	return CW_OUTER(this, struct cw_charon, listener);
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
	list = cw_charon_proposals_in(message);
	if (list && list->get_first(list, (void **)&first) == SUCCESS &&
	    first->get_protocol(first) == PROTO_IKE)
		x = CW_CHARON_X_IKE_REKEY;
	cw_charon_proposals_free(list);
	return x;
}

static void in_response(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = cw_charon_error_in(message, &data);

	if (message->get_message_id(message) == sa->asking_id)
		sa->waiting = false;
	if (!notify)
		return;
	switch (message->get_exchange_type(message)) {
	case IKE_SA_INIT:
		cw_charon_blame_init(sa, ike_sa, notify, data);
		break;
	case IKE_AUTH:
		cw_charon_auth_answer(c, sa, ike_sa, message, notify);
		break;
	case CREATE_CHILD_SA:
		if (sa->asking == CW_CHARON_X_IKE_REKEY)
			cw_charon_rekey_answer(c, sa, ike_sa, notify, data);
		else
			cw_charon_child_answer(c, sa, ike_sa, notify, data);
		break;
	default:
		break;
	}
}

void cw_charon_in_deletes(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
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
		theirs = cw_charon_proposals_in(message);
		if (theirs && sa->answering == CW_CHARON_X_CHILD_REKEY)
			cw_charon_view_groups(theirs, sa->peer_groups, sizeof(sa->peer_groups));
		cw_charon_proposals_free(theirs);
		break;
	case INFORMATIONAL:
		/* A peer that found our proof wrong after it had to answer (RFC 7296 2.21.2). */
		if (message->get_notify(message, AUTHENTICATION_FAILED))
			cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
		cw_charon_in_deletes(c, sa, ike_sa, message);
		break;
	default:
		break;
	}
}

static void out_request(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	notify_payload_t *rekey;
	linked_list_t *ours;

	sa->asking = classify(message);
	sa->asking_id = message->get_message_id(message);
	sa->asking_told = false;
	sa->waiting = false;
	sa->rekey_spi = 0;
	if (sa->asking == CW_CHARON_X_CHILD_REKEY) {
		/* RFC 7296 1.3.3: the SPI that the rekeyer expects in inbound packets. */
		rekey = message->get_notify(message, REKEY_SA);
		if (rekey)
			sa->rekey_spi = ntohl(rekey->get_spi(rekey));
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
	uint16_t notify = cw_charon_error_in(message, &data);
	enum cw_cause cause = sa->note_cause ? sa->note_cause : cw_charon_child_cause(notify);
	char text[CW_IKE_TEXT_MAX];

	if (!notify || notify == TEMPORARY_FAILURE || notify == INVALID_KE_PAYLOAD || sa->answering_told)
		return;
	if (sa->note_cause)
		snprintf(text, sizeof(text), "%s", sa->note);
	else
		cw_charon_view_notify(notify, text, sizeof(text));
	switch (sa->answering) {
	case CW_CHARON_X_CHILD:
		cw_charon_post_child_failed(c, sa, false, CW_IKE_PAIR_UNKNOWN, cause, text);
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
			cw_charon_post_child_failed(c, sa, false, CW_IKE_PAIR_UNKNOWN, cause, text);
		else if (message->get_exchange_type(message) == IKE_AUTH && notify == AUTHENTICATION_FAILED)
			cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_US);
		break;
	case CW_CHARON_X_NONE:
		break;
	}
	sa->answering = CW_CHARON_X_NONE;
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
			(incoming ? cw_charon_v1_in : cw_charon_v1_out)(c, sa, ike_sa, message);
		else if (incoming)
			(request ? in_request : in_response)(c, sa, ike_sa, message);
		else
			(request ? out_request : out_response)(c, sa, ike_sa, message);
	}
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}
