/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/xfrm_msg.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "base/secret.h"
#include "nl/nl_buf.h"
#include "nl/xfrm_algo.h"
#include "nl/xfrm_wire.h"

#define KEY_BYTES_MAX 64
#define NAME_BYTES 64 /* of alg_name in the kernel's structs */

/* The three structs of linux/xfrm.h begin alike: name, key length in bits. */
_Static_assert(offsetof(struct xfrm_algo, alg_key) == NAME_BYTES + 4, "xfrm_algo");
_Static_assert(offsetof(struct xfrm_algo_auth, alg_key) == NAME_BYTES + 8, "xfrm_algo_auth");
_Static_assert(offsetof(struct xfrm_algo_aead, alg_key) == NAME_BYTES + 8, "xfrm_algo_aead");

bool cw_xfrm_state_ours(const struct cw_xfrm_state *state)
{
	return cw_xfrm_id_ours(state->sa.key.if_id) || cw_xfrm_id_ours(state->sa.key.mark) ||
	       cw_xfrm_reqid_ours(state->sa.reqid);
}

/* ---- build ---- */

/* width_bits: check value or truncation length, NULL for a plain cipher. */
static bool put_algo(struct nlmsghdr *nlh, size_t size, uint16_t type, const char *name,
	const uint32_t *width_bits, const uint8_t *key, size_t key_len)
{
	uint8_t payload[NAME_BYTES + 8 + KEY_BYTES_MAX] = { 0 };
	uint32_t key_bits = (uint32_t)key_len * 8;
	size_t at = NAME_BYTES;
	bool ok;

	if (key_len > KEY_BYTES_MAX || (key_len && !key))
		return false;
	snprintf((char *)payload, NAME_BYTES, "%s", name);
	memcpy(payload + at, &key_bits, sizeof(key_bits));
	at += sizeof(key_bits);
	if (width_bits) {
		memcpy(payload + at, width_bits, sizeof(*width_bits));
		at += sizeof(*width_bits);
	}
	if (key_len)
		memcpy(payload + at, key, key_len);
	ok = cw_nl_put(nlh, size, type, payload, at + key_len);
	cw_secret_wipe(payload, sizeof(payload));
	return ok;
}

static bool put_algos(struct nlmsghdr *nlh, size_t size, const struct cw_sa *sa)
{
	const struct cw_xfrm_enc *enc = cw_xfrm_enc_find(sa->enc);
	const struct cw_xfrm_integ *integ = cw_xfrm_integ_find(sa->integ);
	uint32_t bits;

	if (!enc || !cw_xfrm_enc_key_ok(enc, sa->enc_key_len))
		return false;
	if (enc->icv_bits) {
		bits = enc->icv_bits;
		return sa->integ == CW_INTEG_NONE && put_algo(nlh, size, XFRMA_ALG_AEAD, enc->name,
							     &bits, sa->enc_key, sa->enc_key_len);
	}
	/* RFC 4303 3.2.2: encryption without integrity is not to be used. */
	if (!integ || sa->integ_key_len != integ->key_bytes)
		return false;
	bits = integ->trunc_bits;
	return put_algo(
		       nlh, size, XFRMA_ALG_CRYPT, enc->name, NULL, sa->enc_key, sa->enc_key_len) &&
	       put_algo(nlh, size, XFRMA_ALG_AUTH_TRUNC, integ->name, &bits, sa->integ_key,
		       sa->integ_key_len);
}

static bool put_encap(struct nlmsghdr *nlh, size_t size, uint16_t sport, uint16_t dport)
{
	struct xfrm_encap_tmpl encap = {
		.encap_type = 2, /* UDP_ENCAP_ESPINUDP, RFC 3948 */
		.encap_sport = htons(sport),
		.encap_dport = htons(dport),
	};

	return cw_nl_put(nlh, size, XFRMA_ENCAP, &encap, sizeof(encap));
}

/* Without its bitmap, which begins as zeros anyway. */
static bool put_replay(struct nlmsghdr *nlh, size_t size, uint32_t window)
{
	struct xfrm_replay_state_esn esn = {
		.bmp_len = (window + 31) / 32,
		.replay_window = window,
	};

	return window > 0 && window <= CW_XFRM_WINDOW_MAX &&
	       cw_nl_put(nlh, size, XFRMA_REPLAY_ESN_VAL, &esn, sizeof(esn));
}

/* XFRM reads 0 bytes or packets as "at once" and 0 seconds as "never". */
static uint64_t limit(uint64_t value)
{
	return value ? value : XFRM_INF;
}

static uint64_t unlimit(uint64_t value)
{
	return value == XFRM_INF ? 0 : value;
}

size_t cw_xfrm_build_sa(
	const struct cw_sa *sa, bool update, uint32_t window, void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, update ? XFRM_MSG_UPDSA : XFRM_MSG_NEWSA, 0,
		sizeof(struct xfrm_usersa_info));
	bool long_replay = sa->esn || window > 32;
	struct xfrm_usersa_info info = {
		.id = { .spi = htonl(sa->key.spi), .proto = IPPROTO_ESP },
		.lft = { .soft_byte_limit = limit(sa->life.soft_bytes),
			.hard_byte_limit = limit(sa->life.hard_bytes),
			.soft_packet_limit = limit(sa->life.soft_packets),
			.hard_packet_limit = limit(sa->life.hard_packets),
			.soft_add_expires_seconds = sa->life.soft_s,
			.hard_add_expires_seconds = sa->life.hard_s },
		.reqid = sa->reqid,
		.family = cw_xfrm_af(sa->key.src.family),
		.mode = sa->tunnel_mode ? XFRM_MODE_TUNNEL : XFRM_MODE_TRANSPORT,
		.replay_window = long_replay ? 0 : (uint8_t)window,
	};

	if (!nlh || info.family == AF_UNSPEC || sa->key.src.family != sa->key.dst.family)
		return 0;
	cw_xfrm_put_addr(&sa->key.src, &info.saddr);
	cw_xfrm_put_addr(&sa->key.dst, &info.id.daddr);
	/* The selector stays empty. Without this flag the kernel would give it the outer family,
	 * and the SA would refuse packets of the other one. Only tunnel mode can carry both. */
	if (sa->tunnel_mode)
		info.flags |= XFRM_STATE_AF_UNSPEC;
	if (sa->no_copy_ecn)
		info.flags |= XFRM_STATE_NOECN;
	if (!sa->inbound && (sa->no_copy_df || sa->no_pmtu_disc))
		info.flags |= XFRM_STATE_NOPMTUDISC;
	if (sa->esn)
		info.flags |= XFRM_STATE_ESN;
	memcpy(mnl_nlmsg_get_payload(nlh), &info, sizeof(info));

	if (!put_algos(nlh, size, sa) ||
		(sa->encap && !put_encap(nlh, size, sa->encap_sport, sa->encap_dport)) ||
		!cw_xfrm_put_mark(nlh, size, sa->key.mark, sa->key.mark_mask) ||
		(long_replay && !put_replay(nlh, size, window)) ||
		(sa->key.if_id && !cw_nl_put_u32(nlh, size, XFRMA_IF_ID, sa->key.if_id)))
		return 0;
	return nlh->nlmsg_len;
}

static size_t build_allocspi(const struct xfrm_userspi_info *want, uint32_t mark, uint32_t mask,
	uint32_t if_id, void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, XFRM_MSG_ALLOCSPI, 0, sizeof(*want));

	if (!nlh || want->info.family == AF_UNSPEC)
		return 0;
	memcpy(mnl_nlmsg_get_payload(nlh), want, sizeof(*want));
	if (!cw_xfrm_put_mark(nlh, size, mark, mask) ||
		(if_id && !cw_nl_put_u32(nlh, size, XFRMA_IF_ID, if_id)))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_xfrm_build_allocspi(const struct cw_addr *src, const struct cw_addr *dst, uint32_t reqid,
	uint32_t min, uint32_t max, void *buf, size_t size)
{
	struct xfrm_userspi_info want = {
		.info = { .id.proto = IPPROTO_ESP,
			.reqid = reqid,
			.family = cw_xfrm_af(src->family),
			.mode = XFRM_MODE_TUNNEL },
		.min = min,
		.max = max,
	};

	if (src->family != dst->family || min > max)
		return 0;
	cw_xfrm_put_addr(src, &want.info.saddr);
	cw_xfrm_put_addr(dst, &want.info.id.daddr);
	return build_allocspi(&want, 0, 0, 0, buf, size);
}

size_t cw_xfrm_build_claim(
	const struct cw_xfrm_state *larval, uint32_t min, uint32_t max, void *buf, size_t size)
{
	const struct cw_sa_key *key = &larval->sa.key;
	struct xfrm_userspi_info want = {
		.info = { .id.proto = larval->proto,
			.reqid = larval->sa.reqid,
			.family = cw_xfrm_af(key->src.family),
			.mode = larval->sa.tunnel_mode ? XFRM_MODE_TUNNEL : XFRM_MODE_TRANSPORT },
		.min = min,
		.max = max,
	};

	cw_xfrm_put_addr(&key->src, &want.info.saddr);
	cw_xfrm_put_addr(&key->dst, &want.info.id.daddr);
	return build_allocspi(&want, key->mark, key->mark_mask, key->if_id, buf, size);
}

static size_t build_sa_id(uint16_t type, const struct cw_sa_key *key, void *buf, size_t size)
{
	struct xfrm_usersa_id id = {
		.spi = htonl(key->spi),
		.family = cw_xfrm_af(key->dst.family),
		.proto = IPPROTO_ESP,
	};
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, 0, sizeof(id));
	xfrm_address_t src;

	if (!nlh || id.family == AF_UNSPEC)
		return 0;
	cw_xfrm_put_addr(&key->dst, &id.daddr);
	memcpy(mnl_nlmsg_get_payload(nlh), &id, sizeof(id));
	cw_xfrm_put_addr(&key->src, &src);
	if (!cw_nl_put(nlh, size, XFRMA_SRCADDR, &src, sizeof(src)) ||
		!cw_xfrm_put_mark(nlh, size, key->mark, key->mark_mask))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_xfrm_build_delsa(const struct cw_sa_key *key, void *buf, size_t size)
{
	return build_sa_id(XFRM_MSG_DELSA, key, buf, size);
}

size_t cw_xfrm_build_getsa(const struct cw_sa_key *key, void *buf, size_t size)
{
	return build_sa_id(XFRM_MSG_GETSA, key, buf, size);
}

size_t cw_xfrm_build_sa_dump(void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, XFRM_MSG_GETSA, NLM_F_DUMP, 0);

	return nlh ? nlh->nlmsg_len : 0;
}

/* ---- parse ---- */

/* Name, width and key of an algorithm attribute. with_width: it has one. */
static bool get_algo(const struct nlattr *attr, bool with_width, char name[NAME_BYTES],
	uint32_t *ret_width, const uint8_t **ret_key, size_t *ret_key_len)
{
	size_t head = NAME_BYTES + 4 + (with_width ? 4 : 0);
	const uint8_t *data = cw_nl_attr_data(attr, head);
	uint32_t key_bits;

	if (!data)
		return false;
	memcpy(name, data, NAME_BYTES);
	name[NAME_BYTES - 1] = '\0';
	memcpy(&key_bits, data + NAME_BYTES, sizeof(key_bits));
	*ret_width = 0;
	if (with_width)
		memcpy(ret_width, data + NAME_BYTES + 4, sizeof(*ret_width));
	if (key_bits / 8 > cw_nl_attr_len(attr) - head)
		return false;
	*ret_key_len = key_bits / 8;
	*ret_key = *ret_key_len ? data + head : NULL;
	return true;
}

static bool get_algos(const struct nlattr **attrs, struct cw_xfrm_state *state)
{
	const struct nlattr *cipher =
		attrs[XFRMA_ALG_AEAD] ? attrs[XFRMA_ALG_AEAD] : attrs[XFRMA_ALG_CRYPT];
	struct cw_sa *sa = &state->sa;
	const struct cw_xfrm_integ *integ;
	const struct cw_xfrm_enc *enc;
	char name[NAME_BYTES];
	uint32_t width;

	state->larval = !cipher && !attrs[XFRMA_ALG_AUTH_TRUNC] && !attrs[XFRMA_ALG_AUTH] &&
			!attrs[XFRMA_ALG_COMP];
	if (cipher) {
		if (!get_algo(cipher, attrs[XFRMA_ALG_AEAD] != NULL, name, &width, &sa->enc_key,
			    &sa->enc_key_len))
			return false;
		enc = cw_xfrm_enc_by_name(name, width);
		sa->enc = enc ? enc->enc : CW_ENC_NONE;
	}
	if (attrs[XFRMA_ALG_AUTH_TRUNC]) {
		if (!get_algo(attrs[XFRMA_ALG_AUTH_TRUNC], true, name, &width, &sa->integ_key,
			    &sa->integ_key_len))
			return false;
		integ = cw_xfrm_integ_by_name(name, width);
		sa->integ = integ ? integ->integ : CW_INTEG_NONE;
	}
	return true;
}

bool cw_xfrm_parse_sa(const void *msg, size_t len, struct cw_xfrm_state *ret_state)
{
	const struct nlattr *attrs[XFRMA_MAX + 1];
	struct cw_xfrm_state state = { 0 };
	struct xfrm_replay_state_esn esn;
	struct xfrm_usersa_info info;
	struct xfrm_encap_tmpl encap;
	const struct nlmsghdr *nlh = msg;
	struct cw_sa *sa = &state.sa;
	const void *data;

	if (!cw_nl_head(msg, len, &info, sizeof(info)) ||
		(nlh->nlmsg_type != XFRM_MSG_NEWSA && nlh->nlmsg_type != XFRM_MSG_UPDSA))
		return false;
	cw_nl_attrs(nlh, sizeof(info), attrs, XFRMA_MAX + 1);

	sa->key.src = cw_xfrm_get_addr(&info.saddr, info.family);
	sa->key.dst = cw_xfrm_get_addr(&info.id.daddr, info.family);
	sa->key.spi = ntohl(info.id.spi);
	sa->key.if_id = cw_nl_attr_u32(attrs[XFRMA_IF_ID], 0);
	cw_xfrm_get_mark(attrs[XFRMA_MARK], &sa->key.mark, &sa->key.mark_mask);
	sa->reqid = info.reqid;
	sa->tunnel_mode = info.mode == XFRM_MODE_TUNNEL;
	sa->life = (struct cw_sa_life){
		.soft_bytes = unlimit(info.lft.soft_byte_limit),
		.hard_bytes = unlimit(info.lft.hard_byte_limit),
		.soft_packets = unlimit(info.lft.soft_packet_limit),
		.hard_packets = unlimit(info.lft.hard_packet_limit),
		.soft_s = info.lft.soft_add_expires_seconds,
		.hard_s = info.lft.hard_add_expires_seconds,
	};
	sa->no_copy_df = info.flags & XFRM_STATE_NOPMTUDISC;
	sa->no_copy_ecn = info.flags & XFRM_STATE_NOECN;
	sa->esn = info.flags & XFRM_STATE_ESN;
	sa->replay_window = info.replay_window;
	data = cw_nl_attr_data(attrs[XFRMA_REPLAY_ESN_VAL], sizeof(esn));
	if (data) {
		memcpy(&esn, data, sizeof(esn));
		sa->replay_window = esn.replay_window;
	}
	data = cw_nl_attr_data(attrs[XFRMA_ENCAP], sizeof(encap));
	if (data) {
		memcpy(&encap, data, sizeof(encap));
		sa->encap = true;
		sa->encap_sport = ntohs(encap.encap_sport);
		sa->encap_dport = ntohs(encap.encap_dport);
	}
	state.proto = info.id.proto;
	state.stats = (struct cw_sa_stats){
		.bytes = info.curlft.bytes,
		.packets = info.curlft.packets,
		.added_s = info.curlft.add_time,
		.last_use_s = cw_nl_attr_u64(attrs[XFRMA_LASTUSED], info.curlft.use_time),
	};
	if (!get_algos(attrs, &state))
		return false;
	*ret_state = state;
	return true;
}
