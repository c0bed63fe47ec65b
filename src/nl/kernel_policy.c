/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <linux/xfrm.h>

/* Not in libc's headers beside netinet/in.h. */
#define CW_UDP_ENCAP 100        /* linux/udp.h */
#define CW_UDP_ENCAP_ESPINUDP 2 /* RFC 3948 */
#define CW_IPV6_XFRM_POLICY 35  /* linux/in6.h */
#define CW_IP_XFRM_POLICY 17    /* linux/in.h */

struct found {
	struct cw_xfrm_pol pol;
	bool got;
};

static void on_policy(const struct nlmsghdr *nlh, void *arg)
{
	struct found *found = arg;

	if (cw_xfrm_parse_policy(nlh, nlh->nlmsg_len, &found->pol))
		found->got = true;
}

static enum cw_rc invalid(struct cw_kernel_err *reterr)
{
	return cw_kernel_nl_fail(
		reterr, CW_E_INVALID, EINVAL, "addresses of two families in the policy");
}

/* CW_E_NOT_FOUND: there is none. */
static enum cw_rc look(struct kernel_nl *k, const struct cw_policy *policy,
	struct cw_xfrm_pol *ret_pol, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	struct found found = { 0 };
	size_t len = cw_xfrm_build_getpolicy(policy, buf, sizeof(buf));
	enum cw_rc rc;

	if (len == 0)
		return invalid(reterr);
	rc = cw_nl_request(k->xfrm, buf, len, on_policy, &found, reterr);
	if (rc == CW_OK && !found.got)
		return cw_kernel_nl_fail(reterr, CW_E_BUG, 0, "the kernel's policy can't be read");
	if (rc == CW_OK)
		*ret_pol = found.pol;
	return rc;
}

enum cw_rc cw_kernel_nl_policy_add_locked(
	struct kernel_nl *k, const struct cw_policy *policy, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len = cw_xfrm_build_policy(policy, false, buf, sizeof(buf));
	struct cw_xfrm_pol there;
	enum cw_rc rc;

	if (len == 0)
		return invalid(reterr);
	rc = cw_nl_request(k->xfrm, buf, len, NULL, NULL, reterr);
	if (rc != CW_E_EXISTS)
		return rc;
	rc = look(k, policy, &there, reterr);
	if (rc != CW_OK)
		return rc;
	if (!cw_xfrm_policy_ours(&there))
		return cw_kernel_nl_fail(reterr, CW_E_EXISTS, EEXIST,
			"a policy that is not ours has these selectors (reqid %" PRIu32 ")",
			there.policy.reqid);
	len = cw_xfrm_build_policy(policy, true, buf, sizeof(buf));
	return cw_nl_request(k->xfrm, buf, len, NULL, NULL, reterr);
}

enum cw_rc cw_kernel_nl_policy_add(
	struct cw_kernel *base, const struct cw_policy *policy, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	if (!cw_xfrm_reqid_ours(policy->reqid) && !cw_xfrm_id_ours(policy->if_id) &&
		!cw_xfrm_id_ours(policy->mark))
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"neither reqid %#" PRIx32 " nor if_id %#" PRIx32 " is in our range",
			policy->reqid, policy->if_id);
	pthread_mutex_lock(&k->xfrm_lock);
	rc = cw_kernel_nl_policy_add_locked(k, policy, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	return rc;
}

enum cw_rc cw_kernel_nl_policy_query(struct cw_kernel *base, const struct cw_policy *policy,
	uint64_t *ret_last_use_s, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_xfrm_pol there;
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	pthread_mutex_lock(&k->xfrm_lock);
	rc = look(k, policy, &there, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	if (rc == CW_OK)
		*ret_last_use_s = there.last_use_s;
	return rc;
}

enum cw_rc cw_kernel_nl_policy_del_locked(
	struct kernel_nl *k, const struct cw_policy *policy, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_XFRM_MSG_MAX];
	size_t len = cw_xfrm_build_delpolicy(policy, buf, sizeof(buf));
	enum cw_rc rc;

	if (len == 0)
		return invalid(reterr);
	rc = cw_nl_request(k->xfrm, buf, len, NULL, NULL, reterr);
	return rc == CW_E_NOT_FOUND ? CW_OK : rc;
}

enum cw_rc cw_kernel_nl_policy_del(
	struct cw_kernel *base, const struct cw_policy *policy, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_xfrm_pol there;
	enum cw_rc rc = cw_kernel_nl_has_xfrm(k, reterr);

	if (rc != CW_OK)
		return rc;
	pthread_mutex_lock(&k->xfrm_lock);
	rc = look(k, policy, &there, reterr);
	if (rc == CW_E_NOT_FOUND)
		rc = CW_OK;
	else if (rc == CW_OK && !cw_xfrm_policy_ours(&there))
		rc = cw_kernel_nl_fail(
			reterr, CW_E_DENIED, 0, "the policy with these selectors is not ours");
	else if (rc == CW_OK)
		rc = cw_kernel_nl_policy_del_locked(k, policy, reterr);
	pthread_mutex_unlock(&k->xfrm_lock);
	return rc;
}

/* ---- sockets ---- */

enum cw_rc cw_kernel_nl_socket_bypass(
	struct cw_kernel *base, int fd, enum cw_family family, struct cw_kernel_err *reterr)
{
	static const uint8_t dirs[] = { XFRM_POLICY_IN, XFRM_POLICY_OUT };
	bool v6 = family == CW_FAMILY_IPV6;
	struct xfrm_userpolicy_info policy = {
		.sel.family = v6 ? AF_INET6 : AF_INET,
		.action = XFRM_POLICY_ALLOW,
	};

	(void)base;
	for (size_t i = 0; i < sizeof(dirs); i++) {
		policy.dir = dirs[i];
		if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			    v6 ? CW_IPV6_XFRM_POLICY : CW_IP_XFRM_POLICY, &policy,
			    sizeof(policy)) < 0)
			return cw_kernel_nl_fail(reterr, cw_rc_from_errno(errno), errno,
				"exempting the IKE socket from IPsec policies");
	}
	return CW_OK;
}

enum cw_rc cw_kernel_nl_socket_espinudp(
	struct cw_kernel *base, int fd, enum cw_family family, struct cw_kernel_err *reterr)
{
	int type = CW_UDP_ENCAP_ESPINUDP;

	(void)base;
	if (setsockopt(fd, IPPROTO_UDP, CW_UDP_ENCAP, &type, sizeof(type)) < 0)
		return cw_kernel_nl_fail(reterr, cw_rc_from_errno(errno), errno,
			"ESP in UDP on the IKE socket%s",
			family == CW_FAMILY_IPV6 ? " (for IPv6: Linux 5.8)" : "");
	return CW_OK;
}
