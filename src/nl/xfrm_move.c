/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel can't change an SA's outer addresses in place, so the SA is read, rebuilt here with
 * everything it had, and added again. What the kernel told is copied attribute by attribute, so
 * that one which this code does not know survives too.
 */
#include "nl/xfrm_msg.h"

#include <arpa/inet.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "base/secret.h"
#include "nl/nl_buf.h"
#include "nl/xfrm_wire.h"

/* Under lockdown the kernel shows zeros in place of keys. An SA with a key of zeros would send
 * readable packets, so one that looks like that is not rebuilt. */
static bool keys_shown(const struct cw_xfrm_state *state)
{
	const struct cw_sa *sa = &state->sa;
	uint8_t bits;

	if (state->larval)
		return false;
	bits = sa->enc_key_len ? 0 : 1;
	for (size_t i = 0; i < sa->enc_key_len; i++)
		bits |= sa->enc_key[i];
	if (!bits)
		return false;
	bits = sa->integ_key_len ? 0 : 1;
	for (size_t i = 0; i < sa->integ_key_len; i++)
		bits |= sa->integ_key[i];
	return bits != 0;
}

/* Moves the outbound counter on. Without ESN it stops at the top: the kernel then refuses to send,
 * as it must when the numbers are used up. */
static void skip_legacy(struct xfrm_replay_state *replay, uint32_t skip)
{
	replay->oseq = replay->oseq > UINT32_MAX - skip ? UINT32_MAX : replay->oseq + skip;
}

static bool put_replay(
	struct nlmsghdr *nlh, size_t size, const struct nlattr *attr, uint32_t skip, bool esn)
{
	struct xfrm_replay_state old;
	struct xfrm_replay_state_esn head;
	uint8_t payload[sizeof(head) + CW_XFRM_WINDOW_MAX / 8];
	size_t len = cw_nl_attr_len(attr);
	const void *data = cw_nl_attr_data(attr, 0);
	uint64_t oseq;

	if (mnl_attr_get_type(attr) == XFRMA_REPLAY_VAL) {
		if (len < sizeof(old))
			return false;
		memcpy(&old, data, sizeof(old));
		skip_legacy(&old, skip);
		return cw_nl_put(nlh, size, XFRMA_REPLAY_VAL, &old, sizeof(old));
	}
	if (len < sizeof(head) || len > sizeof(payload))
		return false;
	memcpy(payload, data, len);
	memcpy(&head, payload, sizeof(head));
	if (esn) {
		oseq = ((uint64_t)head.oseq_hi << 32 | head.oseq) + skip;
		head.oseq_hi = (uint32_t)(oseq >> 32);
		head.oseq = (uint32_t)oseq;
	} else {
		head.oseq = head.oseq > UINT32_MAX - skip ? UINT32_MAX : head.oseq + skip;
	}
	memcpy(payload, &head, sizeof(head));
	return cw_nl_put(nlh, size, XFRMA_REPLAY_ESN_VAL, payload, len);
}

static bool put_encap(struct nlmsghdr *nlh, size_t size, const struct cw_xfrm_move *move)
{
	struct xfrm_encap_tmpl encap = {
		.encap_type = 2, /* UDP_ENCAP_ESPINUDP, RFC 3948 */
		.encap_sport = htons(move->sport),
		.encap_dport = htons(move->dport),
	};

	return !move->encap || cw_nl_put(nlh, size, XFRMA_ENCAP, &encap, sizeof(encap));
}

/* Is the attribute told anew, or of no use in a request? */
static bool left_out(uint16_t type, const struct nlattr **attrs, const struct cw_xfrm_move *move)
{
	switch (type) {
	case XFRMA_ENCAP:
	case XFRMA_REPLAY_VAL:
	case XFRMA_REPLAY_ESN_VAL:
	case XFRMA_LASTUSED:
	case XFRMA_LTIME_VAL:
	case XFRMA_PAD:
		return true;
	case XFRMA_ALG_AUTH: /* the same as below, for programs that don't know that one */
		return attrs[XFRMA_ALG_AUTH_TRUNC] != NULL;
	case XFRMA_MTIMER_THRESH: /* about mapping changes, and refused without encapsulation */
		return !move->encap;
	default:
		return false;
	}
}

#define TYPES 64 /* attribute types copied; the kernel has 35 now */

size_t cw_xfrm_build_moved(const void *got, size_t got_len, const struct cw_xfrm_move *move,
	bool update, void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, update ? XFRM_MSG_UPDSA : XFRM_MSG_NEWSA, 0,
		sizeof(struct xfrm_usersa_info));
	const struct nlattr *attrs[TYPES], *replay;
	struct xfrm_usersa_info info;
	struct cw_xfrm_state state;

	if (!nlh || !cw_xfrm_parse_sa(got, got_len, &state) || !keys_shown(&state) ||
		!cw_nl_head(got, got_len, &info, sizeof(info)) ||
		cw_xfrm_af(move->src.family) == AF_UNSPEC || move->src.family != move->dst.family)
		return 0;
	cw_nl_attrs(got, sizeof(info), attrs, TYPES);
	/* The kernel gave a transport mode SA the outer family as its selector's. */
	if (info.sel.family == info.family)
		info.sel.family = cw_xfrm_af(move->src.family);
	info.family = cw_xfrm_af(move->src.family);
	cw_xfrm_put_addr(&move->src, &info.saddr);
	cw_xfrm_put_addr(&move->dst, &info.id.daddr);
	info.seq = 0; /* of an acquire long since answered */
	memcpy(mnl_nlmsg_get_payload(nlh), &info, sizeof(info));

	for (uint16_t type = 0; type < TYPES; type++) {
		if (!attrs[type] || left_out(type, attrs, move))
			continue;
		if (!cw_nl_put(nlh, size, type, mnl_attr_get_payload(attrs[type]),
			    cw_nl_attr_len(attrs[type])))
			return 0;
	}
	/* A moved SA is as old and as used as it was: its lifetimes go on, and so do its counters.
	 */
	if (!put_encap(nlh, size, move) ||
		!cw_nl_put(nlh, size, XFRMA_LTIME_VAL, &info.curlft, sizeof(info.curlft)))
		return 0;
	replay =
		attrs[XFRMA_REPLAY_ESN_VAL] ? attrs[XFRMA_REPLAY_ESN_VAL] : attrs[XFRMA_REPLAY_VAL];
	if (replay && !put_replay(nlh, size, replay, move->skip, state.sa.esn))
		return 0;
	return nlh->nlmsg_len;
}
