/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving an SA to other outer addresses or ports.
 *
 * Ports alone, as when a NAT box gives a peer another one, are changed in place: XFRM_MSG_UPDSA, no
 * packet is touched. Addresses can't be: the SA is read with its keys, and a copy at the new place
 * takes its place: added before the old one is deleted where the two can stand side by side, else
 * in one batch after it. Kept are keys, lifetimes, time of adding, counters and both sequence
 * numbers with the replay window. What moves between reading and replacing, some tens of
 * microseconds, is not counted; an outbound SA skips more sequence numbers than could have been
 * used in that time.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/xfrm.h>

#include "base/secret.h"

/* At 10 million packets a second, 1.6 ms. The receiver takes any jump forward. */
#define SKIP 16384u

#define GOT_MAX 4096 /* an SA with every attribute and the longest replay window is under 2 KiB */

struct got {
	_Alignas(8) uint8_t msg[GOT_MAX];
	size_t len;
};

static void on_got(const struct nlmsghdr *nlh, void *arg)
{
	struct got *got = arg;

	if (nlh->nlmsg_type != XFRM_MSG_NEWSA || nlh->nlmsg_len > sizeof(got->msg))
		return;
	memcpy(got->msg, nlh, nlh->nlmsg_len);
	got->len = nlh->nlmsg_len;
}

/* Same destination and SPI: the two can't stand side by side. One batch keeps the gap short. */
static enum cw_rc swap(struct kernel_nl *k, const struct cw_sa_key *key, const void *copy,
	size_t copy_len, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[2 * CW_XFRM_MSG_MAX];
	struct cw_kernel_err acks[2] = { 0 };
	size_t del_len = cw_xfrm_build_delsa(key, buf, CW_XFRM_MSG_MAX), at = MNL_ALIGN(del_len);
	enum cw_rc rc;

	memcpy(buf + at, copy, copy_len);
	rc = cw_nl_batch(k->xfrm, buf, at + copy_len, acks, 2);
	cw_secret_wipe(buf, sizeof(buf));
	if (acks[1].err && reterr)
		*reterr = acks[1];
	return acks[1].err ? cw_rc_from_errno(acks[1].err) : rc;
}

static enum cw_rc replace(struct kernel_nl *k, const struct cw_sa_key *key, const struct got *got,
	const struct cw_xfrm_state *old, const struct cw_xfrm_move *move, void *copy,
	size_t copy_len, struct cw_kernel_err *reterr)
{
	const struct cw_xfrm_move back = {
		.src = old->sa.key.src,
		.dst = old->sa.key.dst,
		.encap = old->sa.encap,
		.sport = old->sa.encap_sport,
		.dport = old->sa.encap_dport,
		.skip = move->skip,
	};
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	enum cw_rc rc;
	size_t len;

	if (!cw_addr_equal(&move->dst, &old->sa.key.dst)) {
		rc = cw_nl_request(k->xfrm, copy, copy_len, NULL, NULL, reterr);
		return rc == CW_OK ? cw_kernel_nl_sa_del_locked(k, key, reterr) : rc;
	}
	rc = swap(k, key, copy, copy_len, reterr);
	if (rc == CW_OK)
		return rc;
	/* The copy was refused and the old one is gone: put it back, so that the tunnel is no worse
	 * off than before. Where the ack was lost and the copy stands, this is refused in turn. */
	len = cw_xfrm_build_moved(got->msg, got->len, &back, false, buf, sizeof(buf));
	if (len)
		cw_nl_request(k->xfrm, buf, len, NULL, NULL, NULL);
	cw_secret_wipe(buf, sizeof(buf));
	return rc;
}

static enum cw_rc move_locked(struct kernel_nl *k, const struct cw_sa_key *key,
	const struct cw_xfrm_move *want, struct got *got, uint8_t *buf, size_t size,
	struct cw_kernel_err *reterr)
{
	struct cw_xfrm_move move = *want;
	struct cw_xfrm_state old;
	bool in_place;
	size_t len;
	enum cw_rc rc = cw_nl_request(
		k->xfrm, buf, cw_xfrm_build_getsa(key, buf, size), on_got, got, reterr);

	if (rc != CW_OK)
		return rc;
	if (!got->len || !cw_xfrm_parse_sa(got->msg, got->len, &old))
		return cw_kernel_nl_fail(reterr, CW_E_BUG, 0, "the kernel's SA can't be read");
	if (!cw_xfrm_state_ours(&old))
		return cw_kernel_nl_fail(reterr, CW_E_DENIED, 0, "the SA is not ours");
	in_place = cw_addr_equal(&move.src, &old.sa.key.src) &&
		   cw_addr_equal(&move.dst, &old.sa.key.dst) && move.encap == old.sa.encap;
	if (in_place && (!move.encap || (move.sport == old.sa.encap_sport &&
						move.dport == old.sa.encap_dport)))
		return CW_OK;
	/* An inbound SA's own counter is not used, so it may be moved on too. */
	move.skip = in_place ? 0 : SKIP;
	len = cw_xfrm_build_moved(got->msg, got->len, &move, in_place, buf, size);
	if (len == 0)
		return cw_kernel_nl_fail(reterr, CW_E_UNSUPPORTED, 0,
			"the kernel does not show the SA's keys (lockdown), so it "
			"can't be moved; it must be negotiated again");
	if (in_place)
		return cw_nl_request(k->xfrm, buf, len, NULL, NULL, reterr);
	return replace(k, key, got, &old, &move, buf, len, reterr);
}

enum cw_rc cw_kernel_nl_sa_update(struct cw_kernel *base, const struct cw_sa_key *key,
	const struct cw_addr *new_src, const struct cw_addr *new_dst, bool encap, uint16_t sport,
	uint16_t dport, struct cw_kernel_err *reterr)
{
	struct cw_xfrm_move move = {
		.src = *new_src,
		.dst = *new_dst,
		.encap = encap,
		.sport = sport,
		.dport = dport,
	};
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct kernel_nl *k = kernel_nl(base);
	struct got got = { .len = 0 };
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	if (new_src->family != new_dst->family)
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL, "addresses of two families");
	pthread_mutex_lock(&k->xfrm_lock);
	rc = move_locked(k, key, &move, &got, buf, sizeof(buf), reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	cw_secret_wipe(buf, sizeof(buf));
	cw_secret_wipe(&got, sizeof(got));
	return rc;
}
