/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The orders that the control socket gives. An order names a tunnel, or a site and with it all of its
 * tunnels.
 */
#include "daemon/gateway_priv.h"

#include <stdio.h>
#include <string.h>

static bool is_meant(const struct slot *s, const char *name)
{
	return strcmp(s->conf->name, name) == 0 || strcmp(s->conf->site->name, name) == 0;
}

/* Why an order can't be carried out for a name that no running tunnel has. */
static enum cw_rc explain_absent(struct cw_gateway *gw, const char *name, char *reterr, size_t size)
{
	static struct cw_tunnel_view v; /* big; the loop is one thread */
	size_t n = cw_gateway_idle_count(gw);

	for (size_t i = 0; i < n; i++) {
		cw_gateway_idle_view(gw, i, &v);
		if (strcmp(v.name, name) != 0 && strcmp(v.site, name) != 0)
			continue;
		if (v.state == CW_TUNNEL_CONF_ERROR)
			snprintf(reterr, size, "tunnel %s does not run: %s", v.name, v.conf_error);
		else
			snprintf(reterr, size, "tunnel %s does not run: its site has enabled = false", v.name);
		return CW_E_INVALID;
	}
	snprintf(reterr, size, "there is no tunnel and no site %s; causewayctl status lists them", name);
	return CW_E_NOT_FOUND;
}

/* Does one thing to one tunnel; on failure reterr says why, with the tunnel's name. */
typedef enum cw_rc order_fn(struct cw_gateway *gw, struct slot *s, const void *what, char *reterr, size_t size);

/* All tunnels that the name means; the first failure is told, the rest still done. */
static enum cw_rc each(struct cw_gateway *gw, const char *name, order_fn *fn, const void *what, char *reterr,
		       size_t size)
{
	enum cw_rc rc = CW_OK;
	size_t n = 0;

	if (!gw->ike) {
		snprintf(reterr, size, "causewayd is still starting; try again");
		return CW_E_BUSY;
	}
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];
		char why[256] = "";
		enum cw_rc one = CW_OK;

		if (!is_meant(s, name))
			continue;
		n++;
		if (s->unusable) {
			snprintf(why, sizeof(why), "tunnel %s can't run here: %s", s->conf->name, s->unusable_why);
			one = CW_E_INVALID;
		} else {
			one = fn(gw, s, what, why, sizeof(why));
		}
		if (one != CW_OK && rc == CW_OK) {
			rc = one;
			snprintf(reterr, size, "%s", why);
		}
	}
	return n ? rc : explain_absent(gw, name, reterr, size);
}

static enum cw_rc step_one(struct cw_gateway *gw, struct slot *s, const void *what, char *reterr, size_t size)
{
	(void)reterr;
	(void)size;
	cw_gateway_step(gw, s, what);
	return CW_OK;
}

static enum cw_rc rekey_ike_one(struct cw_gateway *gw, struct slot *s, const void *what, char *reterr, size_t size)
{
	const struct cw_ike_sa_info *ike = cw_tunnel_primary(s->tunnel);

	(void)what;
	if (!ike) {
		snprintf(reterr, size, "tunnel %s is %s: there is no IKE_SA to rekey", s->conf->name,
			 cw_tunnel_state_name(cw_tunnel_state(s->tunnel)));
		return CW_E_INVALID;
	}
	gw->ike->ops->rekey_ike(gw->ike, ike->ike_id);
	return CW_OK;
}

static enum cw_rc rekey_child_one(struct cw_gateway *gw, struct slot *s, const void *what, char *reterr,
				  size_t size)
{
	size_t n = 0;

	(void)what;
	for (size_t i = 0; i < cw_tunnel_children(s->tunnel); i++) {
		const struct cw_child_info *c = cw_tunnel_child(s->tunnel, i);

		if (c->state != CW_CHILD_INSTALLED)
			continue;
		gw->ike->ops->rekey_child(gw->ike, c->child_id);
		n++;
	}
	if (n)
		return CW_OK;
	snprintf(reterr, size, "tunnel %s is %s: there is no CHILD_SA to rekey", s->conf->name,
		 cw_tunnel_state_name(cw_tunnel_state(s->tunnel)));
	return CW_E_INVALID;
}

enum cw_rc cw_gateway_order_up(void *arg, const char *name, char *reterr, size_t size)
{
	return each(arg, name, step_one, &(struct cw_tunnel_event){ .kind = CW_TEV_UP }, reterr, size);
}

enum cw_rc cw_gateway_order_down(void *arg, const char *name, char *reterr, size_t size)
{
	return each(arg, name, step_one, &(struct cw_tunnel_event){ .kind = CW_TEV_DOWN }, reterr, size);
}

enum cw_rc cw_gateway_order_restart(void *arg, const char *name, char *reterr, size_t size)
{
	return each(arg, name, step_one, &(struct cw_tunnel_event){ .kind = CW_TEV_RESTART }, reterr, size);
}

enum cw_rc cw_gateway_order_rekey(void *arg, const char *name, bool child, char *reterr, size_t size)
{
	return each(arg, name, child ? rekey_child_one : rekey_ike_one, NULL, reterr, size);
}
