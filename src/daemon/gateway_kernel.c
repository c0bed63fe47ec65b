/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway's side of the kernel: interfaces, routes, drop policies. Each function makes the
 * whole of its matter be as wanted, so it may be called at any time and again.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/source.h"

#define NUMBER_MAX 4000u

uint32_t cw_gateway_if_id(const struct slot *s)
{
	return s->mode == CW_IF_XFRM ? CW_IF_ID_BASE + s->number : 0;
}

uint32_t cw_gateway_mark(const struct slot *s)
{
	return s->mode == CW_IF_VTI ? CW_IF_ID_BASE + s->number : 0;
}

bool cw_gateway_has_link(const struct slot *s)
{
	return s->mode == CW_IF_XFRM || s->mode == CW_IF_VTI;
}

const char *cw_gateway_kernel_text(enum cw_rc rc, const struct cw_kernel_err *err)
{
	if (err->text[0])
		return err->text;
	return err->err ? strerror(err->err) : cw_rc_name(rc);
}

/* ---- placing ---- */

static void unusable(struct slot *s, const char *why)
{
	s->unusable = true;
	snprintf(s->unusable_why, sizeof(s->unusable_why), "%s", why);
	cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_LACKS, s->conf->name, "not started: %s", why);
}

static void settle_mode(const struct cw_gateway *gw, struct slot *s)
{
	const struct cw_kernel_caps *caps = &gw->caps;
	bool v6 = s->conf->remote_addr.family == CW_FAMILY_IPV6;
	bool vti = v6 ? caps->vti6 : caps->vti;

	s->mode = s->conf->interface_mode;
	if (s->mode == CW_IF_AUTO)
		s->mode = caps->xfrm_interface ? CW_IF_XFRM : vti ? CW_IF_VTI : CW_IF_POLICY;
	if (s->conf->remote_addr.family != CW_FAMILY_NONE && !(v6 ? caps->esp6 : caps->esp4)) {
		unusable(s, v6 ? "this kernel has no ESP over IPv6: modprobe esp6 (CONFIG_INET6_ESP)" :
				 "this kernel has no ESP over IPv4: modprobe esp4 (CONFIG_INET_ESP)");
		return;
	}
	if (s->mode == CW_IF_XFRM && !caps->xfrm_interface)
		unusable(s, "interface-mode is \"xfrm\", but this kernel has no xfrm interfaces (CONFIG_XFRM_INTERFACE); "
			    "use \"auto\" or \"vti\"");
	else if (s->mode == CW_IF_VTI && !vti)
		unusable(s, "interface-mode is \"vti\", but this kernel has no VTI (CONFIG_NET_IPVTI); use \"auto\"");
	else if (s->mode == CW_IF_POLICY && s->conf->selectors == CW_SEL_ANY)
		/* Policies for 0.0.0.0/0 without an interface would take all of the host's traffic. */
		unusable(s, "selectors \"any\" need an xfrm interface or a VTI, and this kernel has neither; "
			    "use selectors = \"networks\"");
}

enum cw_rc cw_gateway_place(struct cw_gateway *gw, char *reterr, size_t size)
{
	bool *taken = calloc(NUMBER_MAX + 1, sizeof(*taken));
	uint32_t next = 1;

	if (!taken)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];
		uint32_t id;

		settle_mode(gw, s);
		if (!cw_gateway_has_link(s))
			continue;
		/* An interface of an earlier run keeps its number, so that it can be adopted as it is. */
		id = gw->kernel->ops->link_id(gw->kernel, s->conf->ifname);
		if (id > CW_IF_ID_BASE && id - CW_IF_ID_BASE <= NUMBER_MAX && !taken[id - CW_IF_ID_BASE]) {
			s->number = id - CW_IF_ID_BASE;
			taken[s->number] = true;
		}
	}
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];

		if (s->number)
			continue;
		while (next <= NUMBER_MAX && taken[next])
			next++;
		if (next > NUMBER_MAX) {
			free(taken);
			snprintf(reterr, size, "more than %u tunnels", NUMBER_MAX);
			return CW_E_TOO_BIG;
		}
		s->number = next;
		taken[next] = true;
	}
	free(taken);
	return CW_OK;
}

/* ---- interfaces ---- */

void cw_gateway_link(struct cw_gateway *gw, struct slot *s)
{
	struct cw_link want = {
		.kind = s->mode == CW_IF_VTI ? CW_LINK_VTI : CW_LINK_XFRM,
		.id = CW_IF_ID_BASE + s->number,
		.mtu = s->conf->mtu,
		.up = true,
	};
	struct cw_link_info info = { 0 };
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc;

	if (s->unusable || !cw_gateway_has_link(s))
		return;
	memcpy(want.ifname, s->conf->ifname, sizeof(want.ifname));
	if (s->conf->inside_addr.addr.family != CW_FAMILY_NONE)
		want.addrs[want.n_addrs++] = s->conf->inside_addr;
	if (s->mode == CW_IF_VTI) {
		want.vti_remote = cw_tunnel_remote(s->tunnel);
		want.vti_local = cw_tunnel_local(s->tunnel);
		if (want.vti_remote.family == CW_FAMILY_NONE)
			want.vti_remote = s->conf->remote_addr;
		if (want.vti_remote.family == CW_FAMILY_NONE)
			return; /* a name not looked up yet: made when it is */
	}
	rc = gw->kernel->ops->link_ensure(gw->kernel, &want, &info, &err);
	s->link_ok = rc == CW_OK;
	snprintf(s->link_why, sizeof(s->link_why), "%.*s", (int)sizeof(s->link_why) - 1,
		 rc == CW_OK ? "" : cw_gateway_kernel_text(rc, &err));
	if (rc == CW_OK) {
		if (s->link_err_logged)
			cw_log(CW_LOG_NOTICE, CW_LOG_NONE, s->conf->name, "interface %s is there now", want.ifname);
		s->link_err_logged = 0;
		return;
	}
	if (s->link_err_logged != (int)rc) {
		struct cw_tunnel_event ev = { .kind = CW_TEV_KERNEL_FAILED, .detail = s->link_why };

		s->link_err_logged = (int)rc;
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, s->conf->name,
		       "interface %s can't be made ready: %s; it is tried again every %d s", want.ifname,
		       ev.detail, CW_GATEWAY_RECONCILE_S);
		cw_gateway_step(gw, s, &ev);
	}
}

/* ---- drop policies ---- */

/* Of traffic to a network of the site, whoever sends it: it shall not leave in the clear where an SA's own
 * policy does not take it. The selector differs from that policy's, since the kernel holds one policy for a
 * selector whatever the priority: where a network of ours is the whole family, halves stand for it. */
static size_t add_drops(const struct slot *s, const struct cw_prefix *dst, bool halves, struct cw_policy *want)
{
	struct cw_policy p = {
		.sel = { .src.addr.family = dst->addr.family, .src.len = halves ? 1 : 0, .dst = *dst },
		.dir = CW_DIR_OUT,
		.action = CW_POLICY_DROP,
		.priority = CW_DROP_PRIORITY,
		.reqid = CW_REQID_BASE + s->number * 256,
	};

	want[0] = p;
	if (!halves)
		return 1;
	p.sel.src.addr.bytes[0] = 0x80;
	want[1] = p;
	return 2;
}

static bool have_whole(const struct cw_prefixes *ours, enum cw_family family)
{
	for (size_t i = 0; i < ours->n; i++) {
		if (ours->v[i].addr.family == family && ours->v[i].len == 0)
			return true;
	}
	return false;
}

/* Keeps tunnels without interface closed while they have no SA. */
static void sync_drops(struct cw_gateway *gw)
{
	const struct cw_prefixes *ours = &gw->parts.conf->gateway.networks;
	struct cw_kernel_err err = { 0 };
	struct cw_policy *want;
	size_t max = 0, n = 0;
	enum cw_rc rc;

	for (size_t i = 0; i < gw->n_slots; i++) {
		if (gw->slots[i].mode == CW_IF_POLICY && !gw->slots[i].unusable)
			max += gw->slots[i].conf->site->networks.n;
	}
	if (!max && gw->drops_done)
		return;
	want = calloc(2 * max + 1, sizeof(*want));
	if (!want)
		return; /* asked for again by the next reconcile */
	for (size_t i = 0; i < gw->n_slots; i++) {
		const struct slot *s = &gw->slots[i];
		const struct cw_prefixes *theirs = &s->conf->site->networks;

		for (size_t k = 0; s->mode == CW_IF_POLICY && !s->unusable && k < theirs->n; k++)
			n += add_drops(s, &theirs->v[k], have_whole(ours, theirs->v[k].addr.family), &want[n]);
	}
	rc = gw->kernel->ops->drops_sync(gw->kernel, want, n, &err);
	gw->drops_done = rc == CW_OK;
	if (rc != CW_OK && gw->drops_err_logged != (int)rc)
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
		       "of %zu policies that close tunnels while they are down at least one could not be set: %s", n,
		       cw_gateway_kernel_text(rc, &err));
	gw->drops_err_logged = (int)rc;
	free(want);
}

/* ---- routes ---- */

static int by_dst(const void *a, const void *b)
{
	const struct cw_route *x = a, *y = b;

	return cw_prefix_compare(&x->dst, &y->dst);
}

/* One unreachable route per prefix, though several tunnels lead there. */
static size_t unique_unreachable(struct cw_route *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_dst);
	for (size_t i = 0; i < n; i++) {
		if (!kept || cw_prefix_compare(&v[kept - 1].dst, &v[i].dst) != 0)
			v[kept++] = v[i];
	}
	return kept;
}

void cw_gateway_routes(struct cw_gateway *gw)
{
	const struct cw_prefixes *ours = &gw->parts.conf->gateway.networks;
	struct cw_kernel_err err = { 0 };
	struct cw_addr src4 = { 0 }, src6 = { 0 };
	struct cw_route *want;
	size_t max = 0, n = 0, closed;
	enum cw_rc rc;

	for (size_t i = 0; i < gw->n_slots; i++)
		max += gw->slots[i].conf->site->networks.n;
	want = calloc(2 * max + 1, sizeof(*want));
	if (!want)
		return; /* asked for again by the next reconcile */
	for (size_t i = 0; i < gw->n_slots; i++) {
		const struct slot *s = &gw->slots[i];

		if (s->unusable || !cw_gateway_has_link(s))
			continue;
		for (size_t k = 0; k < s->conf->site->networks.n; k++)
			want[n++] = (struct cw_route){
				.dst = s->conf->site->networks.v[k],
				.kind = CW_ROUTE_UNREACHABLE,
				.metric = CW_UNREACHABLE_METRIC,
			};
	}
	closed = n = unique_unreachable(want, n);

	/* The gateway's own packets into a tunnel should come from an address that the far side knows. */
	cw_source_within(ours->v, ours->n, CW_FAMILY_IPV4, &src4);
	cw_source_within(ours->v, ours->n, CW_FAMILY_IPV6, &src6);
	for (size_t i = 0; i < gw->n_slots; i++) {
		const struct slot *s = &gw->slots[i];

		if (s->unusable || !cw_gateway_has_link(s) || !s->link_ok || !cw_tunnel_carries(s->tunnel))
			continue;
		for (size_t k = 0; k < s->conf->site->networks.n; k++) {
			struct cw_route *r = &want[n++];

			r->dst = s->conf->site->networks.v[k];
			r->kind = CW_ROUTE_UNICAST;
			r->metric = s->conf->metric + s->in_site;
			memcpy(r->ifname, s->conf->ifname, sizeof(r->ifname));
			r->src = r->dst.addr.family == CW_FAMILY_IPV6 ? src6 : src4;
		}
	}
	rc = gw->kernel->ops->routes_sync(gw->kernel, want, n, &err);
	if (rc != CW_OK && gw->route_err_logged != (int)rc)
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
		       "of %zu routes (%zu unreachable beneath) at least one could not be set: %s", n - closed,
		       closed, cw_gateway_kernel_text(rc, &err));
	gw->route_err_logged = (int)rc;
	free(want);
}

static void check_forwarding(struct cw_gateway *gw)
{
	if (gw->forwarding_warned || !gw->n_slots || gw->kernel->ops->forwarding(gw->kernel, CW_FAMILY_IPV4))
		return;
	gw->forwarding_warned = true;
	cw_log(CW_LOG_WARNING, CW_LOG_NO_FORWARDING, "gateway",
	       "net.ipv4.ip_forward is 0: hosts behind this machine can't use the tunnels; set it to 1");
}

void cw_gateway_reconcile(struct cw_gateway *gw)
{
	for (size_t i = 0; i < gw->n_slots; i++)
		cw_gateway_link(gw, &gw->slots[i]);
	cw_gateway_routes(gw);
	sync_drops(gw);
	check_forwarding(gw);
}
