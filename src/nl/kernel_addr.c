/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <stdlib.h>

#define HAVE_MAX 64 /* addresses of one interface that are looked at */
#define PASSES_MAX 3

struct have {
	int ifindex;
	size_t n;
	struct cw_nl_ifaddr addrs[HAVE_MAX];
};

static void restart(void *arg)
{
	struct have *have = arg;

	have->n = 0;
}

static void on_addr(const struct nlmsghdr *nlh, void *arg)
{
	struct have *have = arg;
	struct cw_nl_ifaddr addr;

	/* The kernel filters only where it knows strict checking. */
	if (cw_nl_parse_addr(nlh, nlh->nlmsg_len, &addr) && addr.ifindex == have->ifindex &&
		have->n < HAVE_MAX)
		have->addrs[have->n++] = addr;
}

static bool in_have(const struct have *have, const struct cw_prefix *addr)
{
	for (size_t i = 0; i < have->n; i++)
		if (cw_prefix_compare(&have->addrs[i].prefix, addr) == 0)
			return true;
	return false;
}

static bool in_want(const struct cw_prefix *addrs, size_t n, const struct cw_prefix *addr)
{
	for (size_t i = 0; i < n; i++)
		if (cw_prefix_compare(&addrs[i], addr) == 0)
			return true;
	return false;
}

static enum cw_rc change(struct kernel_nl *k, int ifindex, const struct cw_prefix *addr, bool add,
	struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_kernel_err err = { 0 };
	char text[CW_PREFIX_TEXT_MAX];
	size_t len = add ? cw_nl_build_newaddr(ifindex, addr, buf, sizeof(buf))
			 : cw_nl_build_deladdr(ifindex, addr, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(k->route, buf, len, NULL, NULL, &err);

	/* There or gone already: another change of the same pass did it. */
	if (rc == CW_OK || (add && err.err == EEXIST) || (!add && err.err == EADDRNOTAVAIL))
		return CW_OK;
	return cw_kernel_nl_fail(reterr, rc, err.err, "address %s%s%s",
		cw_prefix_print(addr, text, sizeof(text)), err.text[0] ? ": " : "", err.text);
}

/* One pass. *ret_deleted: something was deleted, which may have taken others with it. */
static enum cw_rc pass(struct kernel_nl *k, struct have *have, const struct cw_prefix *addrs,
	size_t n, bool *ret_changed, bool *ret_deleted, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	size_t len = cw_nl_build_addr_dump(have->ifindex, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_dump(k->route, buf, len, on_addr, restart, have, reterr);
	enum cw_rc first = CW_OK;

	if (rc != CW_OK)
		return rc;
	*ret_deleted = false;
	/* Adding comes first: when an interface loses its last IPv4 address the kernel takes all
	 * routes over it away, those of others too (BL-058). */
	for (size_t i = 0; i < n; i++) {
		if (in_have(have, &addrs[i]))
			continue;
		rc = change(k, have->ifindex, &addrs[i], true, first == CW_OK ? reterr : NULL);
		if (rc == CW_OK)
			*ret_changed = true;
		else if (first == CW_OK)
			first = rc;
	}
	for (size_t i = 0; first == CW_OK && i < have->n; i++) {
		if (have->addrs[i].kernel_made || in_want(addrs, n, &have->addrs[i].prefix))
			continue;
		rc = change(k, have->ifindex, &have->addrs[i].prefix, false, reterr);
		if (rc != CW_OK)
			return rc;
		*ret_changed = *ret_deleted = true;
	}
	return first;
}

enum cw_rc cw_kernel_nl_addrs_sync_locked(struct kernel_nl *k, int ifindex,
	const struct cw_prefix *addrs, size_t n, bool *ret_changed, struct cw_kernel_err *reterr)
{
	struct have *have = malloc(sizeof(*have));
	bool deleted = true;
	enum cw_rc rc = CW_OK;

	if (!have)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	have->ifindex = ifindex;
	for (int i = 0; i < PASSES_MAX && rc == CW_OK && deleted; i++)
		rc = pass(k, have, addrs, n, ret_changed, &deleted, reterr);
	free(have);
	return rc;
}
