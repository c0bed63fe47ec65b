/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the control socket sees of the gateway.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
#include <string.h>


/* Views come in this order: the running tunnels, then those of sites that don't run. */
static const struct cw_site_conf *idle_site(const struct cw_gateway *gw, size_t i, size_t *ret_tunnel)
{
	const struct cw_conf *conf = gw->parts.conf;

	for (size_t k = 0; k < conf->n_sites; k++) {
		const struct cw_site_conf *site = &conf->sites[k];
		size_t n = site->n_tunnels ? site->n_tunnels : 1;

		if (!site->bad && site->enabled)
			continue;
		if (i < n) {
			*ret_tunnel = i;
			return site;
		}
		i -= n;
	}
	return NULL;
}

size_t cw_gateway_idle_count(const struct cw_gateway *gw)
{
	const struct cw_conf *conf = gw->parts.conf;
	size_t n = 0;

	for (size_t k = 0; k < conf->n_sites; k++) {
		if (conf->sites[k].bad || !conf->sites[k].enabled)
			n += conf->sites[k].n_tunnels ? conf->sites[k].n_tunnels : 1;
	}
	return n;
}

static size_t tunnel_count(void *arg)
{
	const struct cw_gateway *gw = arg;

	return gw->n_slots + cw_gateway_idle_count(gw);
}

void cw_gateway_idle_view(const struct cw_gateway *gw, size_t i, struct cw_tunnel_view *v)
{
	size_t k = 0;
	const struct cw_site_conf *site = idle_site(gw, i, &k);

	memset(v, 0, sizeof(*v));
	v->next_try_in_s = -1;
	v->since_wall_s = gw->started_wall_s;
	v->for_s = cw_time_diff_us(cw_gateway_now(gw), gw->started_at) / 1000000;
	if (!site)
		return;
	snprintf(v->site, sizeof(v->site), "%s", site->name);
	snprintf(v->profile, sizeof(v->profile), "%s", site->profile ? site->profile : "");
	if (k < site->n_tunnels && site->tunnels[k].name[0])
		snprintf(v->name, sizeof(v->name), "%s", site->tunnels[k].name);
	else
		snprintf(v->name, sizeof(v->name), "%s", site->name);
	if (k < site->n_tunnels && site->tunnels[k].remote)
		snprintf(v->remote, sizeof(v->remote), "%s", site->tunnels[k].remote);
	if (site->bad) {
		v->state = CW_TUNNEL_CONF_ERROR;
		v->cause = CW_CAUSE_CONFIG;
		v->wanted_up = true;
		snprintf(v->conf_error, sizeof(v->conf_error), "%s", site->bad_reason ? site->bad_reason : "");
	} else {
		v->state = CW_TUNNEL_DOWN;
		snprintf(v->detail, sizeof(v->detail), "enabled = false");
	}
}

static void tunnel_view(void *arg, size_t i, struct cw_tunnel_view *v)
{
	struct cw_gateway *gw = arg;
	struct slot *s;

	if (i >= gw->n_slots) {
		cw_gateway_idle_view(gw, i - gw->n_slots, v);
		return;
	}
	s = &gw->slots[i];
	cw_gateway_counters(gw, s);
	cw_tunnel_view(s->tunnel, cw_gateway_now(gw), cw_loop_wall_us(gw->parts.loop), v);
	v->has_link = cw_gateway_has_link(s) && !s->unusable;
	v->link_ok = s->link_ok;
	v->link_kind = s->mode == CW_IF_VTI ? CW_LINK_VTI : CW_LINK_XFRM;
	if (v->has_link) {
		snprintf(v->ifname, sizeof(v->ifname), "%s", s->conf->ifname);
		v->if_id = CW_IF_ID_BASE + s->number;
		v->mtu = s->conf->mtu;
		v->inside_addr = s->conf->inside_addr;
	}
	v->one_way_s = cw_gateway_one_way_s(gw, s);
	v->n_gaps = cw_gateway_gaps(gw, s, v->gaps, CW_VIEW_GAPS_MAX);
	cw_gateway_ways_view(gw, s, v);
	cw_gateway_bgp_view(gw, s, &v->bgp);
	/* IKE may be content, but nothing can pass. */
	if (v->has_link && !s->link_ok && v->state == CW_TUNNEL_UP) {
		v->cause = CW_CAUSE_KERNEL;
		snprintf(v->detail, sizeof(v->detail), "%s", s->link_why);
	}
	if (s->unusable) {
		v->wanted_up = s->conf->start;
		v->cause = v->last_error = CW_CAUSE_KERNEL;
		snprintf(v->detail, sizeof(v->detail), "%s", s->unusable_why);
		v->last_error_wall_s = gw->started_wall_s;
	}
}

static void gateway_view(void *arg, struct cw_gateway_view *v)
{
	struct cw_gateway *gw = arg;
	struct cw_kernel *k = gw->kernel;

	memset(v, 0, sizeof(*v));
	snprintf(v->name, sizeof(v->name), "%s", gw->parts.conf->gateway.name);
	snprintf(v->version, sizeof(v->version), "%s", CW_VERSION);
	snprintf(v->ike_engine, sizeof(v->ike_engine), "%s", gw->ike ? gw->ike->ops->version(gw->ike) : "");
	snprintf(v->kernel, sizeof(v->kernel), "%s", gw->caps.release);
	snprintf(v->conf_path, sizeof(v->conf_path), "%s", gw->parts.conf_path);
	snprintf(v->data_plane, sizeof(v->data_plane), "kernel");
	snprintf(v->data_plane_why, sizeof(v->data_plane_why), "%s",
		 gw->caps.xfrm_interface ? "ESP and xfrm interfaces" :
		 gw->caps.vti		 ? "ESP and VTI; no xfrm interfaces" :
					   "ESP; neither xfrm interfaces nor VTI");
	v->started_wall_s = gw->started_wall_s;
	v->up_for_s = cw_time_diff_us(cw_gateway_now(gw), gw->started_at) / 1000000;
	v->forwarding4 = k->ops->forwarding(k, CW_FAMILY_IPV4);
	v->forwarding6 = k->ops->forwarding(k, CW_FAMILY_IPV6);
	v->xfrm_in_no_pols = k->ops->xfrm_stat(k, "XfrmInNoPols");
	v->xfrm_in_tmpl_mismatch = k->ops->xfrm_stat(k, "XfrmInTmplMismatch");
	v->xfrm_in_state_seq_error = k->ops->xfrm_stat(k, "XfrmInStateSeqError");
	v->xfrm_in_no_states = k->ops->xfrm_stat(k, "XfrmInNoStates");
	v->xfrm_out_no_states = k->ops->xfrm_stat(k, "XfrmOutNoStates");
	v->xfrm_in_state_proto_error = k->ops->xfrm_stat(k, "XfrmInStateProtoError");
	v->n_conf_errors = gw->parts.n_conf_errors;
}

void cw_gateway_ctl_port(struct cw_gateway *gw, struct cw_ctl_port *ret_port)
{
	*ret_port = (struct cw_ctl_port){
		.gateway_view = gateway_view,
		.tunnel_count = tunnel_count,
		.tunnel_view = tunnel_view,
		.up = cw_gateway_order_up,
		.down = cw_gateway_order_down,
		.restart = cw_gateway_order_restart,
		.rekey = cw_gateway_order_rekey,
		.arg = gw,
	};
	cw_gateway_bgp_port(ret_port);
}
