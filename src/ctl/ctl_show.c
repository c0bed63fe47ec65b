/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl_show.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tunnel/tunnel_view.h"

/* An object that is being filled; `ok` falls once memory is out, and is asked at the end. */
struct object {
	json_t *json;
	bool ok;
};

static struct object object_new(void)
{
	json_t *json = json_object();

	return (struct object){ .json = json, .ok = json != NULL };
}

static json_t *object_end(struct object *o)
{
	if (o->ok)
		return o->json;
	json_decref(o->json);
	return NULL;
}

static void put(struct object *o, const char *key, json_t *value)
{
	if (!value || json_object_set_new(o->json, key, value) != 0)
		o->ok = false;
}

json_t *cw_ctl_show_text(const char *text)
{
	json_t *json = json_string(text);
	size_t size, n = 0;
	char *escaped;

	if (json)
		return json;
	size = strlen(text) * 4 + 1;
	escaped = malloc(size);
	if (!escaped)
		return NULL;
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s < 0x80)
			escaped[n++] = (char)*s;
		else
			n += (size_t)snprintf(escaped + n, size - n, "\\x%02x", *s);
	}
	json = json_stringn(escaped, n);
	free(escaped);
	return json;
}

static void put_text(struct object *o, const char *key, const char *text)
{
	put(o, key, text && text[0] ? cw_ctl_show_text(text) : json_null());
}

static void put_bool(struct object *o, const char *key, bool value)
{
	put(o, key, json_boolean(value));
}

/* JSON integers end at 2^63 - 1 here; a counter beyond that stands still. */
static void put_count(struct object *o, const char *key, uint64_t value)
{
	put(o, key, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

/* Seconds where negative means unknown or none. */
static void put_seconds(struct object *o, const char *key, int64_t s)
{
	put(o, key, s < 0 ? json_null() : json_integer(s));
}

/* Seconds since 1970 where 0 means never. */
static void put_wall(struct object *o, const char *key, int64_t s)
{
	put(o, key, s <= 0 ? json_null() : json_integer(s));
}

/* As iproute2 prints it, so that one finds it in `ip xfrm state`. */
static void put_spi(struct object *o, const char *key, uint32_t spi)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08" PRIx32, spi);
	put(o, key, spi ? json_string(text) : json_null());
}

/* Eight bytes don't fit a JSON number as most readers take it. */
static void put_ike_spi(struct object *o, const char *key, uint64_t spi)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016" PRIx64, spi);
	put(o, key, spi ? json_string(text) : json_null());
}

static void put_addr(struct object *o, const char *key, const struct cw_addr *addr)
{
	char text[CW_ADDR_TEXT_MAX];

	put(o, key,
		addr->family == CW_FAMILY_NONE
			? json_null()
			: json_string(cw_addr_print(addr, text, sizeof(text))));
}

static void put_prefix(struct object *o, const char *key, const struct cw_prefix *prefix)
{
	char text[CW_PREFIX_TEXT_MAX];

	put(o, key,
		prefix->addr.family == CW_FAMILY_NONE
			? json_null()
			: json_string(cw_prefix_print(prefix, text, sizeof(text))));
}

/* n counts what there is, of which at most CW_IKE_TS_MAX are in ts. */
static void put_selectors(struct object *o, const char *key, const struct cw_prefix *ts, size_t n)
{
	json_t *list = json_array();
	char text[CW_PREFIX_TEXT_MAX];

	for (size_t i = 0; list && i < n && i < CW_IKE_TS_MAX; i++) {
		if (json_array_append_new(
			    list, json_string(cw_prefix_print(&ts[i], text, sizeof(text)))))
			o->ok = false;
	}
	put(o, key, list);
}

static struct object cause_object(const struct cw_tunnel_view *view, enum cw_cause cause)
{
	struct object o = object_new();

	put_text(&o, "name", cw_cause_name(cause));
	put_text(&o, "text", cw_cause_text(cause));
	put_text(&o, "remedy",
		 view->private_id ? cw_cause_remedy_private(cause) : cw_cause_remedy(cause));
	return o;
}

static json_t *cause_json(const struct cw_tunnel_view *view, enum cw_cause cause,
			  const char *detail)
{
	struct object o;

	if (cause == CW_CAUSE_NONE)
		return json_null();
	o = cause_object(view, cause);
	put_text(&o, "detail", detail);
	return object_end(&o);
}

static json_t *last_error_json(const struct cw_tunnel_view *view)
{
	struct object o;

	if (view->last_error == CW_CAUSE_NONE)
		return json_null();
	o = cause_object(view, view->last_error);
	put_text(&o, "detail", view->last_error_detail);
	put_wall(&o, "at-wall-s", view->last_error_wall_s);
	return object_end(&o);
}

static const char *ike_state_name(enum cw_ike_sa_state state)
{
	switch (state) {
	case CW_IKE_SA_CONNECTING:
		return "connecting";
	case CW_IKE_SA_ESTABLISHED:
		return "established";
	case CW_IKE_SA_REKEYED:
		return "rekeyed";
	case CW_IKE_SA_DELETING:
		return "deleting";
	}
	return "unknown";
}

static const char *child_state_name(enum cw_child_state state)
{
	switch (state) {
	case CW_CHILD_CONNECTING:
		return "connecting";
	case CW_CHILD_INSTALLED:
		return "installed";
	case CW_CHILD_REKEYING:
		return "rekeying";
	case CW_CHILD_REKEYED:
		return "rekeyed";
	case CW_CHILD_DELETING:
		return "deleting";
	}
	return "unknown";
}

static json_t *ike_json(const struct cw_ike_sa_info *ike)
{
	struct object o = object_new();

	put_count(&o, "ike-id", ike->ike_id);
	put_text(&o, "state", ike_state_name(ike->state));
	put_count(&o, "version", ike->version);
	put_bool(&o, "initiator", ike->initiator);
	put_ike_spi(&o, "spi-i", ike->spi_i);
	put_ike_spi(&o, "spi-r", ike->spi_r);
	put_addr(&o, "local", &ike->local);
	put_count(&o, "local-port", ike->local_port);
	put_addr(&o, "remote", &ike->remote);
	put_count(&o, "remote-port", ike->remote_port);
	put_text(&o, "local-id", ike->local_id);
	put_text(&o, "remote-id", ike->remote_id);
	put_bool(&o, "nat-local", ike->nat_local);
	put_bool(&o, "nat-remote", ike->nat_remote);
	put_bool(&o, "encap", ike->encap);
	put_text(&o, "proposal", ike->proposal);
	put_count(&o, "established-s-ago", ike->established_s_ago);
	put_seconds(&o, "rekey-in-s", ike->rekey_in_s);
	put_seconds(&o, "expires-in-s", ike->expires_in_s);
	return object_end(&o);
}

static json_t *child_json(const struct cw_child_info *child)
{
	struct object o = object_new();

	put_count(&o, "child-id", child->child_id);
	put_count(&o, "ike-id", child->ike_id);
	put_count(&o, "pair", child->pair);
	put_text(&o, "state", child_state_name(child->state));
	put_count(&o, "reqid", child->reqid);
	put_spi(&o, "spi-in", child->spi_in);
	put_spi(&o, "spi-out", child->spi_out);
	put_bool(&o, "encap", child->encap);
	put_text(&o, "proposal", child->proposal);
	put_bool(&o, "pfs", child->pfs);
	put_selectors(&o, "local-ts", child->local_ts, child->n_local_ts);
	put_count(&o, "n-local-ts", child->n_local_ts);
	put_selectors(&o, "remote-ts", child->remote_ts, child->n_remote_ts);
	put_count(&o, "n-remote-ts", child->n_remote_ts);
	put_bool(&o, "narrowed", child->narrowed);
	put_count(&o, "bytes-in", child->bytes_in);
	put_count(&o, "bytes-out", child->bytes_out);
	put_count(&o, "packets-in", child->packets_in);
	put_count(&o, "packets-out", child->packets_out);
	put_seconds(&o, "last-in-s-ago", child->last_in_s_ago);
	put_seconds(&o, "last-out-s-ago", child->last_out_s_ago);
	put_count(&o, "installed-s-ago", child->installed_s_ago);
	put_seconds(&o, "rekey-in-s", child->rekey_in_s);
	put_seconds(&o, "expires-in-s", child->expires_in_s);
	return object_end(&o);
}

static json_t *interface_json(const struct cw_tunnel_view *view)
{
	struct object o;

	if (!view->has_link)
		return json_null();
	o = object_new();
	put_text(&o, "name", view->ifname);
	put_text(&o, "kind", view->link_kind == CW_LINK_VTI ? "vti" : "xfrm");
	put_bool(&o, "ok", view->link_ok);
	put_count(&o, "if-id", view->if_id);
	put_count(&o, "mtu", view->mtu);
	put_prefix(&o, "inside-addr", &view->inside_addr);
	return object_end(&o);
}

/* The route that packets take in its place. */
static json_t *by_json(const struct cw_view_route *route)
{
	struct object o;

	if (route->state != CW_VIEW_ROUTE_STANDBY && route->state != CW_VIEW_ROUTE_SHADOWED)
		return json_null();
	o = object_new();
	put_text(&o, "interface", route->by.ifname);
	put_text(&o, "protocol", route->by.protocol);
	put_count(&o, "metric", route->by.metric);
	put_count(&o, "table", route->by.table);
	return object_end(&o);
}

static json_t *route_json(const struct cw_view_route *route)
{
	struct object o = object_new();

	put_prefix(&o, "dst", &route->dst);
	put_bool(&o, "installed", route->installed);
	put_count(&o, "metric", route->metric);
	put_text(&o, "state", cw_view_route_state_name(route->state));
	put(&o, "by", by_json(route));
	return object_end(&o);
}

static json_t *gap_json(const struct cw_view_gap *gap)
{
	struct object o = object_new();

	put_prefix(&o, "ours", &gap->ours);
	put_prefix(&o, "theirs", &gap->theirs);
	return object_end(&o);
}

static json_t *step_json(const struct cw_view_step *step)
{
	struct object o = object_new();

	put_wall(&o, "at-wall-s", step->at_wall_s);
	put_text(&o, "from", cw_tunnel_state_name(step->from));
	put_text(&o, "to", cw_tunnel_state_name(step->to));
	put_text(&o, "cause", step->cause == CW_CAUSE_NONE ? NULL : cw_cause_name(step->cause));
	return object_end(&o);
}

static json_t *bgp_json(const struct cw_view_bgp *bgp)
{
	struct object o;

	if (bgp->peer.family == CW_FAMILY_NONE)
		return json_null();
	o = object_new();
	put_addr(&o, "peer", &bgp->peer);
	put_text(&o, "state", bgp->state);
	put_seconds(&o, "for-s", bgp->for_s);
	put_count(&o, "received", bgp->received);
	put_count(&o, "selected", bgp->selected);
	put_count(&o, "announced", bgp->announced);
	put_text(&o, "why", bgp->why);
	return object_end(&o);
}

static void append(struct object *o, json_t *list, json_t *value)
{
	if (json_array_append_new(list, value) != 0)
		o->ok = false;
}

static void put_lists(struct object *o, const struct cw_tunnel_view *view)
{
	json_t *children = json_array(), *routes = json_array(), *history = json_array(),
	       *gaps = json_array();

	for (size_t i = 0; children && i < view->n_children; i++)
		append(o, children, child_json(&view->children[i]));
	for (size_t i = 0; routes && i < view->n_routes; i++)
		append(o, routes, route_json(&view->routes[i]));
	for (size_t i = 0; history && i < view->n_history; i++)
		append(o, history, step_json(&view->history[i]));
	for (size_t i = 0; gaps && i < view->n_gaps && i < CW_VIEW_GAPS_MAX; i++)
		append(o, gaps, gap_json(&view->gaps[i]));
	put(o, "children", children);
	put(o, "routes", routes);
	put_count(o, "n-routes-shadowed", view->n_shadowed);
	put(o, "not-covered", gaps);
	put_count(o, "n-not-covered", view->n_gaps);
	put(o, "history", history);
}

json_t *cw_ctl_show_tunnel(const struct cw_tunnel_view *view)
{
	struct object o = object_new();

	put_text(&o, "name", view->name);
	put_text(&o, "site", view->site);
	put_text(&o, "profile", view->profile);
	put_text(&o, "remote", view->remote);
	put_addr(&o, "remote-addr", &view->remote_addr);
	put_addr(&o, "local-addr", &view->local_addr);
	put_text(&o, "state", cw_tunnel_state_name(view->state));
	put_bool(&o, "wanted-up", view->wanted_up);
	put_wall(&o, "since-wall-s", view->since_wall_s);
	put_seconds(&o, "for-s", view->for_s);
	put(&o, "cause", cause_json(view, view->cause, view->detail));
	put(&o, "last-error", last_error_json(view));
	put_count(&o, "attempt", view->attempt);
	put_seconds(&o, "next-try-in-s", view->next_try_in_s);
	put(&o, "last-rekey-error", cause_json(view, view->last_rekey_error, view->last_rekey_detail));
	put(&o, "ike", view->has_ike ? ike_json(&view->ike) : json_null());
	put_count(&o, "n-children-wanted", view->n_children_wanted);
	put(&o, "interface", interface_json(view));
	put_lists(&o, view);
	put(&o, "bgp", bgp_json(&view->bgp));
	put_count(&o, "bytes-in", view->bytes_in);
	put_count(&o, "bytes-out", view->bytes_out);
	put_count(&o, "packets-in", view->packets_in);
	put_count(&o, "packets-out", view->packets_out);
	put_count(&o, "times-up", view->times_up);
	put_count(&o, "dead-after-s", view->dead_after_s);
	put_count(&o, "one-way-s", view->one_way_s);
	put_text(&o, "conf-error", view->conf_error);
	return object_end(&o);
}

json_t *cw_ctl_show_gateway(const struct cw_gateway_view *view)
{
	struct object o = object_new();

	put_text(&o, "name", view->name);
	put_text(&o, "version", view->version);
	put_text(&o, "ike-engine", view->ike_engine);
	put_text(&o, "kernel", view->kernel);
	put_text(&o, "conf-path", view->conf_path);
	put_text(&o, "data-plane", view->data_plane);
	put_text(&o, "data-plane-why", view->data_plane_why);
	put_wall(&o, "started-wall-s", view->started_wall_s);
	put_seconds(&o, "up-for-s", view->up_for_s);
	put_bool(&o, "forwarding4", view->forwarding4);
	put_bool(&o, "forwarding6", view->forwarding6);
	put_count(&o, "xfrm-in-no-pols", view->xfrm_in_no_pols);
	put_count(&o, "xfrm-in-tmpl-mismatch", view->xfrm_in_tmpl_mismatch);
	put_count(&o, "xfrm-in-state-seq-error", view->xfrm_in_state_seq_error);
	put_count(&o, "xfrm-in-no-states", view->xfrm_in_no_states);
	put_count(&o, "xfrm-out-no-states", view->xfrm_out_no_states);
	put_count(&o, "xfrm-in-state-proto-error", view->xfrm_in_state_proto_error);
	put_count(&o, "n-conf-errors", view->n_conf_errors);
	return object_end(&o);
}
