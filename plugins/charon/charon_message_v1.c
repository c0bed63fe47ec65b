/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What IKEv1's messages tell. They have no window and no response: a refusal comes in an Informational
 * exchange of its own.
 */
#include "charon/charon_priv.h"

static bool pair_is_up(const struct cw_charon *c, const struct cw_charon_sa *sa, uint32_t pair)
{
	const struct cw_charon_child *child = c->children;

	while (child && (child->ike_id != sa->ike_id || child->pair != pair || child->replaced))
		child = child->next;
	return child;
}

/* libcharon ends the Quick Mode under way; without one it is about nothing that we wait for. */
static void quick_mode_refused(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify)
{
	enum cw_cause cause = cw_charon_child_cause(notify);
	char text[CW_IKE_TEXT_MAX];

	if (!cw_charon_quick_mode_runs(ike_sa))
		return;
	cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
	if (pair_is_up(c, sa, sa->quick_pair) && !cw_charon_pair_asked(sa, sa->quick_pair))
		cw_charon_post_rekey_failed(c, sa, true, true, cause, text);
	else
		cw_charon_child_refused(c, sa, ike_sa, cause, text);
}

void cw_charon_v1_in(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = cw_charon_error_in(message, &data);

	sa->waiting = false;
	if (message->get_notify(message, INITIAL_CONTACT_IKEV1))
		sa->initial_contact = true;
	cw_charon_in_deletes(c, sa, ike_sa, message);
	if (!notify)
		return;
	if (sa->up)
		quick_mode_refused(c, sa, ike_sa, notify);
	else if (sa->sent_id) /* whatever it says: it could not read our third message, or did not believe it */
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
	else
		cw_charon_blame_init(sa, ike_sa, notify, data);
}

/* RFC 2407 4.6.3.3: the SPI is both cookies. */
static void add_initial_contact(ike_sa_t *ike_sa, message_t *message)
{
	ike_sa_id_t *id = ike_sa->get_id(ike_sa);
	uint64_t spi_i = id->get_initiator_spi(id), spi_r = id->get_responder_spi(id);
	notify_payload_t *contact;

	contact = notify_payload_create_from_protocol_and_type(PLV1_NOTIFY, PROTO_IKE, INITIAL_CONTACT_IKEV1);
	contact->set_spi_data(contact,
			      chunk_cata("cc", chunk_from_thing(spi_i), chunk_from_thing(spi_r)));
	message->add_payload(message, (payload_t *)contact);
}

static void out_main_mode(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	if (sa->by_us)
		cw_charon_sa_asked(c, sa);
	if (!message->get_payload(message, PLV1_ID))
		return;
	sa->sent_id = true;
	if (sa->by_us && !sa->replaces && !cw_charon_sa_has_twin(c, sa))
		add_initial_contact(ike_sa, message);
}

static void out_error(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify)
{
	linked_list_t *ours;
	char text[CW_IKE_TEXT_MAX];

	if (sa->up) {
		cw_charon_child_detail(ike_sa, notify, text, sizeof(text));
		cw_charon_post_child_failed(c, sa, false, CW_IKE_PAIR_UNKNOWN,
					    sa->note_cause ? sa->note_cause : cw_charon_child_cause(notify),
					    sa->note_cause ? sa->note : text);
		sa->note_cause = CW_CAUSE_NONE;
	} else if (notify == NO_PROPOSAL_CHOSEN && !sa->by_us) {
		ours = cw_charon_our_ike_proposals(ike_sa);
		cw_charon_sa_blame(sa, CW_CAUSE_NO_IKE_PROPOSAL, "we take %s",
				   cw_charon_view_proposals(ours, text, sizeof(text)));
		cw_charon_proposals_free(ours);
	} else {
		cw_charon_sa_blame(sa, CW_CAUSE_PROTOCOL, "we answered %s",
				   cw_charon_view_notify(notify, text, sizeof(text)));
	}
}

void cw_charon_v1_out(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message)
{
	chunk_t data = chunk_empty;
	uint16_t notify = cw_charon_error_in(message, &data);
	bool asks = message->get_request(message);

	if (message->get_exchange_type(message) == ID_PROT) {
		out_main_mode(c, sa, ike_sa, message);
	} else if (message->get_notify(message, DPD_R_U_THERE)) {
		cw_charon_sa_asked(c, sa);
		cw_charon_repeat_later(c, sa);
	} else if (message->get_exchange_type(message) == QUICK_MODE && asks &&
		   message->get_payload(message, PLV1_SECURITY_ASSOCIATION)) {
		sa->quick_pair = cw_charon_quick_mode_pair(ike_sa, message);
		sa->asking_told = false;
	} else if (notify) {
		out_error(c, sa, ike_sa, notify);
	}
}
