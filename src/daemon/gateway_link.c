/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway's interfaces: which number and kind each tunnel has, and that they are as wanted.
 *
 * One interface is set right by link_ensure(), some calls to the kernel. To see which of all need that,
 * the kernel is read once for all of them (links_look()), however many they are.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define NUMBER_MAX 4000u
#define LOOK_PAUSE_MS 250 /* between two looks at interfaces that changed */
#define LOOK_ONE_BY_ONE 8 /* so many that changed are cheaper to set right than all are to read */

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

/* ---- placing ---- */

static int by_ifname(const void *a, const void *b)
{
	const struct slot *const *x = a, *const *y = b;

	return strcmp((*x)->conf->ifname, (*y)->conf->ifname);
}

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
	else if (s->mode == CW_IF_POLICY && s->conf->inside_addr.addr.family != CW_FAMILY_NONE)
		unusable(s, "inside-address needs an xfrm interface or a VTI, and this kernel has neither; "
			    "take inside-address away");
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
	gw->by_ifname = calloc(gw->n_slots + 1, sizeof(struct slot *));
	if (!gw->by_ifname)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < gw->n_slots; i++)
		gw->by_ifname[i] = &gw->slots[i];
	qsort(gw->by_ifname, gw->n_slots, sizeof(struct slot *), by_ifname);
	return CW_OK;
}

/* ---- one interface ---- */

static int to_ifname(const void *ifname, const void *slot)
{
	const struct slot *const *s = slot;

	return strcmp(ifname, (*s)->conf->ifname);
}

/* False: it shall have none, or none yet. */
static bool wanted(const struct slot *s, struct cw_link *ret_want)
{
	struct cw_link want = {
		.kind = s->mode == CW_IF_VTI ? CW_LINK_VTI : CW_LINK_XFRM,
		.id = CW_IF_ID_BASE + s->number,
		.mtu = s->conf->mtu,
		.up = true,
	};

	if (s->unusable || !cw_gateway_has_link(s))
		return false;
	memcpy(want.ifname, s->conf->ifname, sizeof(want.ifname));
	if (s->conf->inside_addr.addr.family != CW_FAMILY_NONE)
		want.addrs[want.n_addrs++] = s->conf->inside_addr;
	if (cw_gateway_bgp_addr(s, &want.addrs[want.n_addrs]))
		want.n_addrs++;
	if (s->mode == CW_IF_VTI) {
		want.vti_remote = cw_tunnel_remote(s->tunnel);
		want.vti_local = cw_tunnel_local(s->tunnel);
		if (want.vti_remote.family == CW_FAMILY_NONE)
			want.vti_remote = s->conf->remote_addr;
		if (want.vti_remote.family == CW_FAMILY_NONE)
			return false; /* a name not looked up yet: made when it is */
	}
	*ret_want = want;
	return true;
}

/* What somebody else did to it, and was undone. */
static void say_restored(const struct slot *s, const struct cw_link *want, const struct cw_link_info *info, bool was_ok)
{
	if (info->renamed_from[0])
		cw_log(CW_LOG_WARNING, CW_LOG_LINK_RESTORED, s->conf->name,
		       "interface %s had been renamed to %s by somebody else; it has its name back", want->ifname,
		       info->renamed_from);
	else if (info->missing && was_ok)
		cw_log(CW_LOG_WARNING, CW_LOG_LINK_RESTORED, s->conf->name,
		       "interface %s had been deleted by somebody else; it was made anew", want->ifname);
}

void cw_gateway_link(struct cw_gateway *gw, struct slot *s)
{
	struct cw_link_info info = { 0 };
	struct cw_kernel_err err = { 0 };
	struct cw_link want;
	bool was_ok = s->link_ok;
	enum cw_rc rc;

	s->link_asked = false;
	if (!wanted(s, &want))
		return;
	rc = gw->kernel->ops->link_ensure(gw->kernel, &want, &info, &err);
	s->link_ok = rc == CW_OK;
	s->vti_remote = want.vti_remote;
	s->vti_local = want.vti_local;
	/* With an interface its routes may have gone. */
	if (info.changed || s->link_ok != was_ok)
		cw_gateway_routes_again(gw, s);
	snprintf(s->link_why, sizeof(s->link_why), "%.*s", (int)sizeof(s->link_why) - 1,
		 rc == CW_OK ? "" : cw_kernel_err_text(rc, &err));
	if (rc == CW_OK) {
		say_restored(s, &want, &info, was_ok);
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

void cw_gateway_link_ends(struct cw_gateway *gw, struct slot *s)
{
	struct cw_link want;

	if (s->mode != CW_IF_VTI || !wanted(s, &want))
		return;
	if (!s->link_ok || !cw_addr_equal(&want.vti_remote, &s->vti_remote) ||
	    !cw_addr_equal(&want.vti_local, &s->vti_local))
		cw_gateway_link(gw, s);
}

/* ---- all of them ---- */

static void look_soon(struct cw_gateway *gw)
{
	gw->look_due = cw_time_min(gw->look_due, cw_time_add_ms(gw->looked_at, LOOK_PAUSE_MS));
}

void cw_gateway_links_all(struct cw_gateway *gw)
{
	gw->look_all = true;
	gw->look_due = cw_gateway_now(gw);
}

struct slot *cw_gateway_slot_of(const struct cw_gateway *gw, const char *ifname)
{
	struct slot **found = NULL;

	if (gw->n_slots)
		found = bsearch(ifname, gw->by_ifname, gw->n_slots, sizeof(struct slot *), to_ifname);
	return found ? *found : NULL;
}

void cw_gateway_link_touched(struct cw_gateway *gw, const char *ifname)
{
	struct slot *s = cw_gateway_slot_of(gw, ifname);

	if (s)
		cw_gateway_todo(gw, s, TODO_LOOK);
	else
		gw->look_all = true; /* not ours, but perhaps what kept one of ours from being made */
	look_soon(gw);
}

static void ask_link(struct cw_gateway *gw, struct slot *s)
{
	s->link_asked = true;
	cw_gateway_todo(gw, s, TODO_LINK);
}

/* What the look at one interface brings. */
static void judge(struct cw_gateway *gw, struct slot *s, enum cw_link_look look)
{
	switch (look) {
	case CW_LINK_FITS:
		if (!s->link_ok)
			ask_link(gw, s);
		break;
	case CW_LINK_DIFFERS:
		ask_link(gw, s);
		break;
	case CW_LINK_BLOCKED:
		/* What is in the way is known already: the kernel would say the same again. */
		if (s->link_ok || !s->link_err_logged)
			ask_link(gw, s);
		break;
	}
}

static void look_at_all(struct cw_gateway *gw)
{
	struct cw_link *want = calloc(gw->n_slots + 1, sizeof(*want));
	enum cw_link_look *looks = calloc(gw->n_slots + 1, sizeof(*looks));
	struct cw_kernel_err err = { 0 };
	size_t n = 0, at = 0;
	enum cw_rc rc;

	for (size_t i = 0; want && looks && i < gw->n_slots; i++)
		n += wanted(&gw->slots[i], &want[n]);
	rc = want && looks ? CW_OK : CW_E_NO_MEMORY;
	if (rc == CW_OK && n)
		rc = gw->kernel->ops->links_look(gw->kernel, want, n, looks, &err);
	/* Those that could not be read are set right one by one. */
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct cw_link one;

		if (wanted(&gw->slots[i], &one))
			judge(gw, &gw->slots[i], rc == CW_OK ? looks[at++] : CW_LINK_DIFFERS);
	}
	free(want);
	free(looks);
}

void cw_gateway_links_turn(struct cw_gateway *gw, struct cw_time now)
{
	bool all = gw->look_all || cw_gateway_todo_count(gw, TODO_LOOK) > LOOK_ONE_BY_ONE;
	struct slot *s;

	if (!cw_time_reached(gw->look_due, now))
		return;
	gw->look_due = CW_TIME_NEVER;
	gw->looked_at = now;
	gw->look_all = false;
	while ((s = cw_gateway_todo_take(gw, TODO_LOOK))) {
		if (!all)
			ask_link(gw, s);
		/* It may be well again, and its routes gone. */
		cw_gateway_routes_again(gw, s);
	}
	if (all)
		look_at_all(gw);
}
