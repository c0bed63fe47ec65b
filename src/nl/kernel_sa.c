/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "base/secret.h"
#include "nl/xfrm_algo.h"

#define LEGACY_WINDOW 32u

struct found {
	struct cw_xfrm_state state;
	bool got;
};

/* The keys that the state points to are gone when this returns, so the pointers go too. */
static void on_state(const struct nlmsghdr *nlh, void *arg)
{
	struct found *found = arg;

	if (!cw_xfrm_parse_sa(nlh, nlh->nlmsg_len, &found->state))
		return;
	found->state.sa.enc_key = NULL;
	found->state.sa.integ_key = NULL;
	found->got = true;
}

/* CW_E_NOT_FOUND: there is none. */
static enum cw_rc look(struct kernel_nl *k, const struct cw_sa_key *key,
	struct cw_xfrm_state *ret_state, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct found found = { 0 };
	enum cw_rc rc = cw_nl_request(
		k->xfrm, buf, cw_xfrm_build_getsa(key, buf, sizeof(buf)), on_state, &found, reterr);

	if (rc == CW_OK && !found.got)
		return cw_kernel_nl_fail(reterr, CW_E_BUG, 0, "the kernel's SA can't be read");
	if (rc == CW_OK)
		*ret_state = found.state;
	return rc;
}

enum cw_rc cw_kernel_nl_spi_alloc(struct cw_kernel *base, const struct cw_addr *src,
	const struct cw_addr *dst, uint32_t reqid, uint32_t min, uint32_t max, uint32_t *ret_spi,
	struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct kernel_nl *k = kernel_nl(base);
	struct found found = { 0 };
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);
	size_t len;

	if (rc != CW_OK)
		return rc;
	len = cw_xfrm_build_allocspi(src, dst, reqid, min, max, buf, sizeof(buf));
	if (len == 0 || !cw_xfrm_reqid_ours(reqid))
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"addresses of two families, or reqid %#" PRIx32 " outside our range",
			reqid);
	pthread_mutex_lock(&k->xfrm_lock);
	rc = cw_nl_request(k->xfrm, buf, len, on_state, &found, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	if (rc != CW_OK)
		return rc;
	if (!found.got || found.state.sa.key.spi == 0)
		return cw_kernel_nl_fail(reterr, CW_E_BUG, 0, "the kernel gave no SPI");
	*ret_spi = found.state.sa.key.spi;
	return CW_OK;
}

/* ---- add ---- */

/* RFC 4303 3.3.3 and 3.4.3: anti-replay is the receiver's choice. An outbound SA has no window, but
 * the kernel wants one with ESN, where its counter lives in the same struct. */
static uint32_t window_of(const struct cw_sa *sa)
{
	if (!sa->inbound)
		return sa->esn ? LEGACY_WINDOW : 0;
	return sa->replay_window < CW_XFRM_WINDOW_MAX ? sa->replay_window : CW_XFRM_WINDOW_MAX;
}

static enum cw_rc check(const struct cw_sa *sa, struct cw_kernel_err *reterr)
{
	const struct cw_xfrm_state as_state = { .sa = *sa };

	if (!cw_xfrm_state_ours(&as_state))
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"neither reqid %#" PRIx32 " nor if_id %#" PRIx32 " is in our range",
			sa->reqid, sa->key.if_id);
	if (sa->key.spi == 0)
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL, "SPI 0");
	if (sa->inbound && sa->esn && sa->replay_window == 0)
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"extended sequence numbers need a replay window");
	return CW_OK;
}

static void say_algorithm(const struct cw_sa *sa, struct cw_kernel_err *reterr)
{
	const struct cw_xfrm_integ *integ = cw_xfrm_integ_find(sa->integ);
	const struct cw_xfrm_enc *enc = cw_xfrm_enc_find(sa->enc);

	if (reterr && reterr->err == ENOSYS && enc)
		cw_kernel_nl_fail(reterr, CW_E_UNSUPPORTED, ENOSYS, "the kernel lacks %s%s%s",
			enc->name, integ ? " or " : "", integ ? integ->name : "");
}

static enum cw_rc send_sa(struct kernel_nl *k, const struct cw_sa *sa, bool update, uint32_t window,
	struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len = cw_xfrm_build_sa(sa, update, window, buf, sizeof(buf));
	enum cw_rc rc;

	if (len == 0)
		rc = cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"no such algorithm or key length, or addresses of two families");
	else
		rc = cw_nl_request(k->xfrm, buf, len, NULL, NULL, reterr);
	cw_secret_wipe(buf, sizeof(buf));
	return rc;
}

enum cw_rc cw_kernel_nl_sa_add_locked(
	struct kernel_nl *k, const struct cw_sa *sa, struct cw_kernel_err *reterr)
{
	struct cw_kernel_err err = { 0 }, again = { 0 };
	uint32_t window = window_of(sa);
	struct cw_xfrm_state there;
	bool larval = false;
	enum cw_rc rc;

	/* UPDSA would change a finished SA too, so it is only sent when the entry is larval. */
	if (sa->inbound)
		larval = look(k, &sa->key, &there, &err) == CW_OK && there.larval &&
			 cw_xfrm_state_ours(&there);
	rc = send_sa(k, sa, larval, window, &err);
	/* The kernel drops larval entries after a while (net.core.xfrm_acq_expires, 30 s), sooner
	 * than IKE gives up. NEWSA is safe then: had another taken the SPI, it would say EEXIST. */
	if (larval && err.err == ESRCH)
		rc = send_sa(k, sa, larval = false, window, &err);
	/* Windows over 32 came with ESN; old kernels, and some offload drivers now, take no other.
	 */
	if (rc == CW_E_INVALID && window > LEGACY_WINDOW && !sa->esn &&
		send_sa(k, sa, larval, LEGACY_WINDOW, &again) == CW_OK)
		return CW_OK;
	if (rc == CW_OK)
		return CW_OK;
	if (reterr)
		*reterr = err;
	say_algorithm(sa, reterr);
	if (rc == CW_E_EXISTS && reterr && !reterr->text[0])
		return cw_kernel_nl_fail(
			reterr, rc, EEXIST, "an SA with this SPI and destination is there already");
	return rc;
}

enum cw_rc cw_kernel_nl_sa_add(
	struct cw_kernel *base, const struct cw_sa *sa, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc == CW_OK)
		rc = check(sa, reterr);
	if (rc != CW_OK)
		return rc;
	pthread_mutex_lock(&k->xfrm_lock);
	rc = cw_kernel_nl_sa_add_locked(k, sa, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	return rc;
}

/* ---- query, delete ---- */

enum cw_rc cw_kernel_nl_sa_query(struct cw_kernel *base, const struct cw_sa_key *key,
	struct cw_sa_stats *ret_stats, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_xfrm_state state;
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	pthread_mutex_lock(&k->xfrm_lock);
	rc = look(k, key, &state, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	/* Where an outbound SA is missing, the first packet that wants it makes a larval entry with the
	 * SPI that the policy names: that carries nothing. */
	if (rc == CW_OK && state.larval)
		return cw_kernel_nl_fail(reterr, CW_E_NOT_FOUND, ESRCH, "the SA has no keys");
	if (rc == CW_OK)
		*ret_stats = state.stats;
	return rc;
}

enum cw_rc cw_kernel_nl_sa_del_locked(
	struct kernel_nl *k, const struct cw_sa_key *key, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	enum cw_rc rc = cw_nl_request(
		k->xfrm, buf, cw_xfrm_build_delsa(key, buf, sizeof(buf)), NULL, NULL, reterr);

	return rc == CW_E_NOT_FOUND ? CW_OK : rc;
}

enum cw_rc cw_kernel_nl_sa_del(
	struct cw_kernel *base, const struct cw_sa_key *key, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_xfrm_state state;
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	pthread_mutex_lock(&k->xfrm_lock);
	rc = look(k, key, &state, reterr);
	if (rc == CW_E_NOT_FOUND)
		rc = CW_OK;
	else if (rc == CW_OK && !cw_xfrm_state_ours(&state))
		rc = cw_kernel_nl_fail(reterr, CW_E_DENIED, 0,
			"the SA is not ours (reqid %" PRIu32 ")", state.sa.reqid);
	/* Two tunnels of ours may meet on one SPI when a peer chose it twice; the one that came
	 * second and failed must not take the first one's away. */
	else if (rc == CW_OK && key->if_id && state.sa.key.if_id &&
		 key->if_id != state.sa.key.if_id)
		rc = cw_kernel_nl_fail(reterr, CW_E_DENIED, 0,
			"the SA belongs to if_id %#" PRIx32 " of ours", state.sa.key.if_id);
	else if (rc == CW_OK)
		rc = cw_kernel_nl_sa_del_locked(k, key, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	return rc;
}
