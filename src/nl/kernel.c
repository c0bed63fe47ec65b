/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nl/kernel_priv.h"

enum cw_rc cw_kernel_nl_fail(
	struct cw_kernel_err *reterr, enum cw_rc rc, int err, const char *fmt, ...)
{
	va_list args;

	if (reterr) {
		reterr->err = err;
		va_start(args, fmt);
		vsnprintf(reterr->text, sizeof(reterr->text), fmt, args);
		va_end(args);
	}
	return rc;
}

enum cw_rc cw_kernel_nl_has_xfrm(const struct kernel_nl *k, struct cw_kernel_err *reterr)
{
	if (k->xfrm)
		return CW_OK;
	return cw_kernel_nl_fail(reterr, CW_E_UNSUPPORTED, k->xfrm_err.err,
		"there is no XFRM in this kernel or container");
}

static void kernel_nl_free(struct cw_kernel *base)
{
	struct kernel_nl *k = kernel_nl(base);

	if (!k)
		return;
	cw_nl_close(k->xfrm);
	cw_nl_close(k->route);
	cw_nl_close(k->xfrm_events);
	cw_nl_close(k->route_events);
	if (k->epoll_fd >= 0)
		close(k->epoll_fd);
	pthread_mutex_destroy(&k->xfrm_lock);
	pthread_mutex_destroy(&k->route_lock);
	free(k);
}

static const struct cw_kernel_ops ops = {
	.probe = cw_kernel_nl_probe,
	.spi_alloc = cw_kernel_nl_spi_alloc,
	.sa_add = cw_kernel_nl_sa_add,
	.sa_update = cw_kernel_nl_sa_update,
	.sa_query = cw_kernel_nl_sa_query,
	.sa_del = cw_kernel_nl_sa_del,
	.policy_add = cw_kernel_nl_policy_add,
	.policy_query = cw_kernel_nl_policy_query,
	.policy_del = cw_kernel_nl_policy_del,
	.drops_sync = cw_kernel_nl_drops_sync,
	.socket_bypass = cw_kernel_nl_socket_bypass,
	.socket_espinudp = cw_kernel_nl_socket_espinudp,
	.link_ensure = cw_kernel_nl_link_ensure,
	.links_look = cw_kernel_nl_links_look,
	.link_remove = cw_kernel_nl_link_remove,
	.routes_sync = cw_kernel_nl_routes_sync,
	.routes_change = cw_kernel_nl_routes_change,
	.routes_look = cw_kernel_nl_routes_look,
	.clean = cw_kernel_nl_clean,
	.link_id = cw_kernel_nl_link_id,
	.event_fd = cw_kernel_nl_event_fd,
	.events_read = cw_kernel_nl_events_read,
	.forwarding = cw_kernel_nl_forwarding,
	.xfrm_stat = cw_kernel_nl_xfrm_stat,
	.free = kernel_nl_free,
};

enum cw_rc cw_kernel_nl_new(struct cw_kernel **ret_kernel, struct cw_kernel_err *reterr)
{
	struct kernel_nl *k = calloc(1, sizeof(*k));
	enum cw_rc rc;

	if (!k)
		return cw_kernel_nl_fail(reterr, CW_E_NO_MEMORY, ENOMEM, "%s", "");
	k->base.ops = &ops;
	k->epoll_fd = -1;
	pthread_mutex_init(&k->xfrm_lock, NULL);
	pthread_mutex_init(&k->route_lock, NULL);
	rc = cw_nl_open(NETLINK_ROUTE, &k->route, reterr);
	if (rc == CW_OK)
		cw_nl_open(NETLINK_XFRM, &k->xfrm, &k->xfrm_err);
	if (rc == CW_OK)
		rc = cw_kernel_nl_events_open(k, reterr);
	if (rc != CW_OK) {
		kernel_nl_free(&k->base);
		return rc;
	}
	*ret_kernel = &k->base;
	return CW_OK;
}
