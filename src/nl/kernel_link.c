/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct found {
	struct cw_nl_link link;
	bool got;
};

static void on_link(const struct nlmsghdr *nlh, void *arg)
{
	struct found *found = arg;

	if (cw_nl_parse_link(nlh, nlh->nlmsg_len, &found->link))
		found->got = true;
}

enum cw_rc cw_kernel_nl_link_get_locked(struct kernel_nl *k, const char *ifname,
	struct cw_nl_link *ret_link, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct found found = { 0 };
	size_t len = cw_nl_build_getlink(ifname, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(k->route, buf, len, on_link, &found, reterr);

	if (rc == CW_OK && !found.got)
		return cw_kernel_nl_fail(reterr, CW_E_NOT_FOUND, ENODEV, "no interface %s", ifname);
	if (rc == CW_OK)
		*ret_link = found.link;
	return rc;
}

enum cw_rc cw_kernel_nl_link_del_locked(
	struct kernel_nl *k, int ifindex, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	size_t len = cw_nl_build_dellink(ifindex, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(k->route, buf, len, NULL, NULL, reterr);

	return rc == CW_E_NOT_FOUND ? CW_OK : rc;
}

/* ---- all of ours ---- */

static void links_restart(void *arg)
{
	struct cw_kernel_links *list = arg;

	list->n = 0;
}

static void links_add(const struct nlmsghdr *nlh, void *arg)
{
	struct cw_kernel_links *list = arg;
	struct cw_nl_link link, *grown;
	size_t room;

	if (!cw_nl_parse_link(nlh, nlh->nlmsg_len, &link) || (!list->all && !cw_nl_link_ours(&link)))
		return;
	if (list->n == list->room) {
		room = list->room ? list->room * 2 : 64;
		grown = realloc(list->links, room * sizeof(*grown));
		if (!grown) {
			list->no_memory = true;
			return;
		}
		list->links = grown;
		list->room = room;
	}
	list->links[list->n++] = link;
}

enum cw_rc cw_kernel_nl_links_locked(struct kernel_nl *k, bool all,
	struct cw_kernel_links *ret_links, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	enum cw_rc rc;

	*ret_links = (struct cw_kernel_links){ .all = all };
	rc = cw_nl_dump(k->route, buf, cw_nl_build_link_dump(buf, sizeof(buf)), links_add,
		links_restart, ret_links, reterr);
	if (rc == CW_OK && ret_links->no_memory)
		rc = cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	if (rc != CW_OK) {
		free(ret_links->links);
		*ret_links = (struct cw_kernel_links){ 0 };
	}
	return rc;
}

/* ---- ensure ---- */

/* The kernel says no more than EEXIST when another interface has the if_id, or, with VTI, whose
 * keys it does not compare, the same outer ends. */
static enum cw_rc say_holder(
	struct kernel_nl *k, const struct cw_link *want, struct cw_kernel_err *reterr)
{
	struct cw_kernel_links list;

	if (want->kind == CW_LINK_VTI)
		cw_kernel_nl_fail(reterr, CW_E_EXISTS, EEXIST,
			"another VTI has the same outer addresses; give the tunnel a remote "
			"or local address of its own");
	if (cw_kernel_nl_links_locked(k, false, &list, NULL) != CW_OK)
		return CW_E_EXISTS;
	for (size_t i = 0; i < list.n; i++)
		if (list.links[i].id == want->id)
			cw_kernel_nl_fail(reterr, CW_E_EXISTS, EEXIST,
				"interface %s holds id %#" PRIx32 " already; remove it",
				list.links[i].ifname, want->id);
	free(list.links);
	return CW_E_EXISTS;
}

/* One of ours with this id that somebody has given another name. Its old name is free. */
static bool find_renamed(struct kernel_nl *k, const struct cw_link *want, struct cw_nl_link *ret_link)
{
	struct cw_kernel_links list;
	bool found = false;

	if (cw_kernel_nl_links_locked(k, false, &list, NULL) != CW_OK)
		return false;
	for (size_t i = 0; i < list.n && !found; i++) {
		found = cw_nl_link_fits(&list.links[i], want);
		if (found)
			*ret_link = list.links[i];
	}
	free(list.links);
	return found;
}

/* Its name given back: index, SAs and what others have tied to it stay. Kernels before 6.2 rename only what
 * is down; that takes its routes away, and the next sync sets them. */
static enum cw_rc rename_back(struct kernel_nl *k, const struct cw_link *want, struct cw_nl_link *link,
	struct cw_link_info *info, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	size_t len = cw_nl_build_rename(link->ifindex, want->ifname, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(k->route, buf, len, NULL, NULL, reterr);

	if (rc == CW_E_BUSY) {
		len = cw_nl_build_setlink(link->ifindex, 0, false, buf, sizeof(buf));
		cw_nl_request(k->route, buf, len, NULL, NULL, NULL);
		len = cw_nl_build_rename(link->ifindex, want->ifname, buf, sizeof(buf));
		rc = cw_nl_request(k->route, buf, len, NULL, NULL, reterr);
	}
	if (rc != CW_OK)
		return rc;
	snprintf(info->renamed_from, sizeof(info->renamed_from), "%s", link->ifname);
	return cw_kernel_nl_link_get_locked(k, want->ifname, link, reterr);
}

static enum cw_rc create(struct kernel_nl *k, const struct cw_link *want,
	struct cw_nl_link *ret_link, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_kernel_err err = { 0 };
	size_t len = cw_nl_build_newlink(want, buf, sizeof(buf));
	enum cw_rc rc = cw_nl_request(k->route, buf, len, NULL, NULL, &err);

	if (rc == CW_OK)
		return cw_kernel_nl_link_get_locked(k, want->ifname, ret_link, reterr);
	if (reterr)
		*reterr = err;
	if (rc == CW_E_EXISTS)
		return say_holder(k, want, reterr);
	if (rc == CW_E_UNSUPPORTED)
		return cw_kernel_nl_fail(reterr, rc, err.err,
			"the kernel has no %s interfaces (modprobe %s)", cw_nl_link_kind(want),
			want->kind == CW_LINK_XFRM                   ? "xfrm_interface"
			: strcmp(cw_nl_link_kind(want), "vti6") == 0 ? "ip6_vti"
								     : "ip_vti");
	return rc;
}

static enum cw_rc refuse(const struct cw_nl_link *link, struct cw_kernel_err *reterr)
{
	char id[24] = "";

	if (link->id)
		snprintf(id, sizeof(id), " with id %#" PRIx32, link->id);
	return cw_kernel_nl_fail(reterr, CW_E_EXISTS, EEXIST,
		"interface %s exists and is not ours (%s%s); remove it, or choose "
		"another name",
		link->ifname, link->kind[0] ? link->kind : "hardware", id);
}

/* Two can't have the id, so the one that is looked for in vain by its name shows now. */
static enum cw_rc create_or_find(struct kernel_nl *k, const struct cw_link *want,
	struct cw_nl_link *link, struct cw_link_info *info, struct cw_kernel_err *reterr)
{
	struct cw_nl_link renamed;
	enum cw_rc rc = create(k, want, link, reterr);

	if (rc != CW_E_EXISTS || !find_renamed(k, want, &renamed))
		return rc;
	rc = rename_back(k, want, &renamed, info, reterr);
	if (rc == CW_OK)
		*link = renamed;
	return rc;
}

/* An existing link of ours made to fit: changed in place or made anew. */
static enum cw_rc adopt(struct kernel_nl *k, const struct cw_link *want, struct cw_nl_link *link,
	struct cw_link_info *info, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	enum cw_rc rc;

	info->adopted = true;
	if (cw_nl_link_fits(link, want)) {
		if (!cw_nl_link_vti_differs(link, want))
			return CW_OK;
		info->changed = true;
		/* The kernel refuses some: from "any" to one remote address and back. */
		if (cw_nl_request(k->route, buf,
			    cw_nl_build_setvti(link->ifindex, want, buf, sizeof(buf)), NULL, NULL,
			    NULL) == CW_OK)
			return cw_kernel_nl_link_get_locked(k, want->ifname, link, reterr);
	}
	info->adopted = false;
	info->changed = true;
	rc = cw_kernel_nl_link_del_locked(k, link->ifindex, reterr);
	return rc == CW_OK ? create_or_find(k, want, link, info, reterr) : rc;
}

static enum cw_rc set(struct kernel_nl *k, const struct cw_link *want,
	const struct cw_nl_link *link, bool *ret_changed, struct cw_kernel_err *reterr)
{
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	uint32_t mtu = want->mtu != link->mtu ? want->mtu : 0;
	size_t len = cw_nl_build_setlink(link->ifindex, mtu, want->up, buf, sizeof(buf));
	enum cw_rc rc;

	if (!mtu && want->up == link->up)
		return CW_OK;
	rc = cw_nl_request(k->route, buf, len, NULL, NULL, reterr);
	if (rc == CW_OK)
		*ret_changed = true;
	return rc;
}

static enum cw_rc ensure_locked(struct kernel_nl *k, const struct cw_link *want,
	struct cw_link_info *info, struct cw_kernel_err *reterr)
{
	struct cw_kernel_err err = { 0 };
	struct cw_nl_link link;
	enum cw_rc rc = cw_kernel_nl_link_get_locked(k, want->ifname, &link, &err), first;

	if (rc == CW_E_NOT_FOUND) {
		info->changed = true;
		rc = create_or_find(k, want, &link, info, &err);
		info->missing = !info->renamed_from[0];
	} else if (rc == CW_OK && !cw_nl_link_ours(&link)) {
		rc = refuse(&link, &err);
	} else if (rc == CW_OK) {
		rc = adopt(k, want, &link, info, &err);
	}
	if (rc != CW_OK) {
		if (reterr)
			*reterr = err;
		return rc;
	}
	info->ifindex = link.ifindex;
	/* A setting that can't be written (a container's /proc) is told, but the interface is made
	 * ready all the same. */
	first = cw_kernel_nl_link_settings(want, &link, &info->changed, reterr);
	rc = set(k, want, &link, &info->changed, first == CW_OK ? reterr : NULL);
	if (first == CW_OK)
		first = rc;
	rc = cw_kernel_nl_addrs_sync_locked(k, link.ifindex, want->addrs, want->n_addrs,
		&info->changed, first == CW_OK ? reterr : NULL);
	return first == CW_OK ? rc : first;
}

enum cw_rc cw_kernel_nl_link_ensure(struct cw_kernel *base, const struct cw_link *want,
	struct cw_link_info *ret_info, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_link_info info = { 0 };
	enum cw_rc rc;

	if (!cw_xfrm_id_ours(want->id) || !want->ifname[0] || strchr(want->ifname, '/') ||
		want->n_addrs > CW_LINK_ADDRS_MAX)
		return cw_kernel_nl_fail(reterr, CW_E_INVALID, EINVAL,
			"interface name \"%s\" or id %#" PRIx32 " can't be ours", want->ifname,
			want->id);
	pthread_mutex_lock(&k->route_lock);
	rc = ensure_locked(k, want, &info, reterr);
	pthread_mutex_unlock(&k->route_lock);
	if (rc == CW_OK)
		*ret_info = info;
	return rc;
}

enum cw_rc cw_kernel_nl_link_remove(
	struct cw_kernel *base, const char *ifname, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_nl_link link;
	enum cw_rc rc;

	pthread_mutex_lock(&k->route_lock);
	rc = cw_kernel_nl_link_get_locked(k, ifname, &link, reterr);
	if (rc == CW_E_NOT_FOUND)
		rc = CW_OK;
	else if (rc == CW_OK && !cw_nl_link_ours(&link))
		rc = refuse(&link, reterr);
	else if (rc == CW_OK)
		rc = cw_kernel_nl_link_del_locked(k, link.ifindex, reterr);
	pthread_mutex_unlock(&k->route_lock);
	return rc;
}

uint32_t cw_kernel_nl_link_id(struct cw_kernel *base, const char *ifname)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_nl_link link;
	enum cw_rc rc;

	pthread_mutex_lock(&k->route_lock);
	rc = cw_kernel_nl_link_get_locked(k, ifname, &link, NULL);
	pthread_mutex_unlock(&k->route_lock);
	return rc == CW_OK && cw_nl_link_ours(&link) ? link.id : 0;
}
