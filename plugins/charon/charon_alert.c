/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcharon's alerts: what it finds wrong, told before the message that ends the exchange.
 */
#include "charon/charon_priv.h"

#include <stdio.h>

static struct cw_charon *self(listener_t *this)
{
	return CW_OUTER(this, struct cw_charon, listener);
}

/* Would they agree if groups did not matter? */
static bool only_groups_differ(linked_list_t *ours, linked_list_t *theirs)
{
	proposal_t *chosen = proposal_select(ours, theirs, PROPOSAL_SKIP_KE);

	if (!chosen)
		return false;
	chosen->destroy(chosen);
	return true;
}

static void note(struct cw_charon_sa *sa, enum cw_cause cause, const char *text)
{
	sa->note_cause = cause;
	snprintf(sa->note, sizeof(sa->note), "%s", text);
}

static void esp_mismatch(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			 linked_list_t *theirs)
{
	linked_list_t *ours;
	char text[CW_IKE_TEXT_MAX], a[CW_IKE_ALG_MAX], b[CW_IKE_ALG_MAX];

	if (!cw_charon_is_v1(ike_sa) && sa->answering == CW_CHARON_X_NONE) {
		/* The peer's answer was not what we offered; its refusal was told already. */
		if (!cw_charon_child_rekey_runs(ike_sa))
			cw_charon_child_refused(c, sa, ike_sa, CW_CAUSE_NO_ESP_PROPOSAL,
						"the peer's choice was not offered");
		return;
	}
	ours = cw_charon_our_esp_proposals(ike_sa, false);
	if (sa->answering == CW_CHARON_X_CHILD_REKEY && only_groups_differ(ours, theirs)) {
		cw_charon_view_groups(ours, sa->our_groups, sizeof(sa->our_groups));
		cw_charon_pfs_detail(sa, NULL, text, sizeof(text));
		note(sa, CW_CAUSE_DH_GROUP, text);
	} else {
		snprintf(text, sizeof(text), "the peer offered %.50s; we take %.50s",
			 cw_charon_view_proposals(theirs, a, sizeof(a)),
			 cw_charon_view_proposals(ours, b, sizeof(b)));
		note(sa, CW_CAUSE_NO_ESP_PROPOSAL, text);
	}
	cw_charon_proposals_free(ours);
}

static void ike_mismatch(struct cw_charon_sa *sa, ike_sa_t *ike_sa, linked_list_t *theirs)
{
	linked_list_t *ours;
	char text[CW_IKE_TEXT_MAX], a[CW_IKE_ALG_MAX], b[CW_IKE_ALG_MAX];

	if (sa->by_us)
		return; /* the peer's NO_PROPOSAL_CHOSEN told */
	ours = cw_charon_our_ike_proposals(ike_sa);
	snprintf(text, sizeof(text), "the peer offered %.50s; we take %.50s",
		 cw_charon_view_proposals(theirs, a, sizeof(a)),
		 cw_charon_view_proposals(ours, b, sizeof(b)));
	cw_charon_proposals_free(ours);
	if (sa->up)
		note(sa, CW_CAUSE_NO_IKE_PROPOSAL, text);
	else
		cw_charon_sa_blame(sa, CW_CAUSE_NO_IKE_PROPOSAL, "%s", text);
}

static void child_alert(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			enum cw_cause cause, const char *text)
{
	if (sa->answering != CW_CHARON_X_NONE && sa->closing) {
		sa->answering_told = true; /* refused on purpose */
		return;
	}
	if (sa->answering != CW_CHARON_X_NONE) {
		note(sa, cause, text); /* our answer to the peer follows and is posted then */
		return;
	}
	if (!cw_charon_child_rekey_runs(ike_sa)) {
		cw_charon_child_refused(c, sa, ike_sa, cause, text);
	} else if (!sa->asking_told) {
		cw_charon_post_rekey_failed(c, sa, true, true, cause, text);
		sa->asking_told = true;
	}
}

static void sort_alert(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, alert_t alert,
		       va_list args)
{
	linked_list_t *tsi, *tsr;
	message_t *message;
	char text[CW_IKE_TEXT_MAX], a[56], b[56];

	switch (alert) {
	case ALERT_LOCAL_AUTH_FAILED:
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_PEER);
		break;
	case ALERT_PEER_AUTH_FAILED:
		cw_charon_blame_ids(sa, ike_sa, CW_CAUSE_AUTH_BY_US);
		break;
	case ALERT_PEER_ADDR_FAILED:
		cw_charon_sa_blame(sa, CW_CAUSE_RESOLVE, "%s", "");
		break;
	case ALERT_RETRANSMIT_SEND:
		cw_charon_sa_asked(c, sa);
		break;
	case ALERT_RETRANSMIT_SEND_TIMEOUT:
	case ALERT_PEER_INIT_UNREACHABLE:
		cw_charon_sa_blame(sa, sa->up ? CW_CAUSE_PEER_DEAD : CW_CAUSE_NO_ANSWER, "%s", "");
		break;
	case ALERT_HALF_OPEN_TIMEOUT:
		cw_charon_sa_blame(sa, CW_CAUSE_NO_ANSWER, "the peer began and did not go on");
		break;
	case ALERT_IKE_SA_EXPIRED:
		cw_charon_sa_blame(sa, CW_CAUSE_EXPIRED, "%s", "");
		break;
	case ALERT_PROPOSAL_MISMATCH_IKE:
		ike_mismatch(sa, ike_sa, va_arg(args, linked_list_t *));
		break;
	case ALERT_PROPOSAL_MISMATCH_CHILD:
		esp_mismatch(c, sa, ike_sa, va_arg(args, linked_list_t *));
		break;
	case ALERT_TS_MISMATCH:
		tsi = va_arg(args, linked_list_t *);
		tsr = va_arg(args, linked_list_t *);
		snprintf(text, sizeof(text), "the peer's selectors: %s === %s",
			 cw_charon_view_ts(tsi, a, sizeof(a)), cw_charon_view_ts(tsr, b, sizeof(b)));
		child_alert(c, sa, ike_sa, CW_CAUSE_TS_UNACCEPTABLE, text);
		break;
	case ALERT_INSTALL_CHILD_SA_FAILED:
		/* Without an SPI there is no request, and a new IKE_SA ends with it. */
		if (!sa->up)
			cw_charon_sa_blame(sa, CW_CAUSE_KERNEL, "the kernel took no SA: see the log");
		child_alert(c, sa, ike_sa, CW_CAUSE_KERNEL, "the kernel took no SA: see the log");
		break;
	case ALERT_INSTALL_CHILD_POLICY_FAILED:
		child_alert(c, sa, ike_sa, CW_CAUSE_KERNEL, "the kernel took no policy: see the log");
		break;
	case ALERT_PARSE_ERROR_BODY:
		message = va_arg(args, message_t *);
		/* Main mode's third message is the first that the key encrypts, and so is the peer's
		 * complaint about it. */
		if (!cw_charon_is_v1(ike_sa) || sa->up)
			break;
		if (!sa->by_us && message->get_exchange_type(message) == ID_PROT) {
			/* It might be forged, so the IKE_SA is not ended on the spot. */
			cw_charon_sa_blame(sa, CW_CAUSE_AUTH_BY_US,
					   "its third message can't be decrypted: the keys differ");
			cw_charon_sa_asked(c, sa);
		} else if (sa->sent_id && message->get_exchange_type(message) == INFORMATIONAL_V1) {
			cw_charon_blame_key(c, sa, ike_sa);
		}
		break;
	default:
		break;
	}
}

bool cw_charon_alert(listener_t *this, ike_sa_t *ike_sa, alert_t alert, va_list args)
{
	struct cw_charon *c = self(this);
	struct cw_charon_sa *sa;

	if (!ike_sa)
		return TRUE;
	pthread_mutex_lock(&c->lock);
	sa = cw_charon_sa_find(c, ike_sa->get_unique_id(ike_sa));
	if (sa)
		sort_alert(c, sa, ike_sa, alert, args);
	pthread_mutex_unlock(&c->lock);
	return TRUE;
}
