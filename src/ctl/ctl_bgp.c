/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl_bgp.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl.h"
#include "ctl/ctl_request.h"
#include "ctl/ctl_show.h"

/* Values that may be missing are null, never left out. */

static json_t *text(const char *s)
{
	return s && s[0] ? cw_ctl_show_text(s) : json_null();
}

static json_t *seconds(int64_t s)
{
	return s < 0 ? json_null() : json_integer(s);
}

static json_t *addr(const struct cw_addr *a)
{
	char buf[CW_ADDR_TEXT_MAX];

	return a->family ? json_string(cw_addr_print(a, buf, sizeof(buf))) : json_null();
}

static json_t *ipv4_id(uint32_t id)
{
	char buf[16];

	if (!id)
		return json_null();
	snprintf(buf, sizeof(buf), "%u.%u.%u.%u", id >> 24, id >> 16 & 0xff, id >> 8 & 0xff, id & 0xff);
	return json_string(buf);
}

/* Takes over value. False: memory is out; the object is not whole. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return value && json_object_set_new(object, key, value) == 0;
}

static json_t *hex(const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *buf = malloc(2 * n + 1);
	json_t *out;

	if (!buf)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		buf[2 * i] = digits[bytes[i] >> 4];
		buf[2 * i + 1] = digits[bytes[i] & 15];
	}
	out = json_stringn(buf, 2 * n);
	free(buf);
	return out;
}

static json_t *notification(const struct cw_bgp_view_notification *n)
{
	if (!n->present)
		return json_null();
	return json_pack("{s:I, s:i, s:i, s:b, s:o, s:I, s:o}", "at-wall-s", (json_int_t)n->at_wall_s,
		"code", n->code, "subcode", n->subcode, "hard", n->hard, "data",
		hex(n->data, n->n_data < sizeof(n->data) ? n->n_data : sizeof(n->data)), "data-length", (json_int_t)n->n_data, "text", text(n->text));
}

static json_t *cause(enum cw_bgp_cause c, const char *detail)
{
	if (c == CW_BGP_CAUSE_NONE)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o}", "name", cw_bgp_cause_name(c), "text", cw_bgp_cause_text(c),
		"remedy", text(cw_bgp_cause_remedy(c)), "detail", text(detail));
}

static json_t *caps(bool there, const struct cw_bgp_caps *c)
{
	json_t *families, *codes;

	if (!there)
		return json_null();
	families = json_array();
	codes = json_array();
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		if (c->mp[f] || (!c->mp_any && f == CW_BGP_IPV4))
			json_array_append_new(families, json_string(cw_bgp_family_name((enum cw_bgp_family)f)));
	}
	for (size_t i = 0; i < c->n_codes && i < CW_BGP_CAP_CODES_MAX; i++)
		json_array_append_new(codes, json_integer(c->codes[i]));
	return json_pack("{s:o, s:b, s:b, s:b, s:b, s:b, s:o, s:o, s:o}", "families", families, "as4", c->as4,
		"refresh", c->refresh, "enhanced-refresh", c->enhanced_refresh, "extended-message",
		c->ext_message, "extended-next-hop", c->ext_next_hop, "role",
		c->role ? json_integer(c->role_value) : json_null(), "graceful-restart-s",
		c->gr ? json_integer(c->gr_time_s) : json_null(), "codes", codes);
}

static json_t *refusals(const struct cw_bgp_view_routes *r)
{
	json_t *out = json_object();

	for (size_t i = 1; out && i < CW_BGP_VIEW_REFUSALS_MAX; i++) {
		if (r->refused[i])
			json_object_set_new(out, cw_bgp_view_refusal_name(i), json_integer(r->refused[i]));
	}
	return out;
}

static json_t *family(const struct cw_bgp_view_family *f, const struct cw_bgp_view_routes *r)
{
	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:b, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		"offered", f->offered, "agreed", f->agreed, "end-of-rib-received", f->eor_in, "sending",
		f->sending, "deferred", f->deferred, "stale", f->stale, "stale-left-s",
		seconds(f->stale_left_s), "received", (json_int_t)r->received, "accepted",
		(json_int_t)r->accepted, "selected", (json_int_t)r->selected, "stale-routes",
		(json_int_t)r->stale, "announced", (json_int_t)r->announced, "pending",
		(json_int_t)r->pending, "surplus", (json_int_t)r->surplus, "refused", refusals(r));
}

static json_t *messages(const uint64_t *n)
{
	json_t *out = json_object();

	for (unsigned t = CW_BGP_OPEN; out && t <= CW_BGP_ROUTE_REFRESH; t++) {
		char name[32];
		size_t i = 0;

		for (const char *s = cw_bgp_type_name((uint8_t)t); *s && i + 1 < sizeof(name); s++)
			name[i++] = (char)tolower((unsigned char)*s);
		name[i] = '\0';
		json_object_set_new(out, name, json_integer((json_int_t)n[t]));
	}
	return out;
}

static json_t *history(const struct cw_bgp_peer_view *p)
{
	json_t *out = json_array();

	for (size_t i = 0; out && i < p->n_history; i++) {
		const struct cw_bgp_view_step *s = &p->history[i];

		json_array_append_new(out, json_pack("{s:I, s:s, s:s, s:o}", "at-wall-s",
			(json_int_t)s->at_wall_s, "from", cw_bgp_state_name(s->from), "to",
			cw_bgp_state_name(s->to), "cause",
			s->cause ? json_string(cw_bgp_cause_name(s->cause)) : json_null()));
	}
	return out;
}

static json_t *neighbour(const struct cw_bgp_neighbour_view *v)
{
	const struct cw_bgp_peer_view *p = &v->peer;
	json_t *out = json_object();
	bool up = p->state == CW_BGP_STATE_ESTABLISHED;
	bool ok = out &&
		put(out, "tunnel", json_string(p->conf.name)) && put(out, "site", json_string(v->site)) &&
		put(out, "interface", text(v->ifname)) && put(out, "peer", addr(&p->conf.remote)) &&
		put(out, "local", addr(&p->conf.local)) &&
		put(out, "asn", json_integer(p->conf.remote_asn)) &&
		put(out, "local-asn", json_integer(p->conf.local_asn)) &&
		put(out, "router-id", ipv4_id(p->conf.router_id)) &&
		put(out, "peer-router-id", ipv4_id(p->peer_id)) &&
		put(out, "tunnel-up", json_boolean(v->net_up)) &&
		put(out, "state", json_string(cw_bgp_state_name(p->state))) &&
		put(out, "for-s", seconds(p->for_s)) &&
		put(out, "since-wall-s", json_integer(p->since_wall_s)) &&
		put(out, "waits-for", p->wait ? json_string(cw_bgp_wait_name(p->wait)) : json_null()) &&
		put(out, "next-try-in-s", seconds(p->next_try_in_s)) &&
		put(out, "cause", cause(p->cause, p->why)) &&
		put(out, "last-error", cause(p->last_error, p->last_error_text)) &&
		put(out, "last-error-wall-s", p->last_error ? json_integer(p->last_error_wall_s) : json_null()) &&
		put(out, "failures", json_integer(p->failures)) &&
		put(out, "times-up", json_integer(p->times_up)) &&
		put(out, "opened-by-us", up ? json_boolean(p->ours) : json_null()) &&
		put(out, "hold-s", up ? json_integer(p->hold_s) : json_null()) &&
		put(out, "keepalive-s", up ? json_integer(p->keepalive_s) : json_null()) &&
		put(out, "hold-left-s", seconds(p->hold_left_s)) &&
		put(out, "keepalive-left-s", seconds(p->keepalive_left_s)) &&
		put(out, "restart-left-s", seconds(p->restart_left_s)) &&
		put(out, "as4", json_boolean(p->as4)) &&
		put(out, "graceful-restart", json_boolean(p->gr)) &&
		put(out, "our-capabilities", caps(p->has_our_caps, &p->our_caps)) &&
		put(out, "peer-capabilities", caps(p->has_peer_caps, &p->peer_caps)) &&
		put(out, "messages-in", messages(p->messages.in)) &&
		put(out, "messages-out", messages(p->messages.out)) &&
		put(out, "notification-sent", notification(&p->sent)) &&
		put(out, "notification-received", notification(&p->received)) &&
		put(out, "own-networks", json_boolean(v->own_networks)) &&
		put(out, "attributes-discarded", json_integer((json_int_t)v->attrs_discarded)) &&
		put(out, "treated-as-withdrawn", json_integer((json_int_t)v->treated_as_withdrawn)) &&
		put(out, "last-fault", text(v->last_fault)) &&
		put(out, "ipv4", family(&p->family[CW_BGP_IPV4], &v->routes[CW_BGP_IPV4])) &&
		put(out, "ipv6", family(&p->family[CW_BGP_IPV6], &v->routes[CW_BGP_IPV6])) &&
		put(out, "history", history(p));

	if (ok)
		return out;
	json_decref(out);
	return NULL;
}

/* ---- routes ---- */

/* "65515 {1 2}" as [65515, [1, 2]]. */
static json_t *as_path(const char *s)
{
	json_t *out = json_array(), *in = out;

	while (out && *s) {
		char *end;
		unsigned long long n;

		if (*s == '{' || *s == '(') {
			in = json_array();
			json_array_append_new(out, in);
			s++;
		} else if (*s == '}' || *s == ')') {
			in = out;
			s++;
		} else if (isdigit((unsigned char)*s)) {
			n = strtoull(s, &end, 10);
			json_array_append_new(in, json_integer((json_int_t)n));
			s = end;
		} else if (*s == ' ' || *s == ',') {
			s++;
		} else { /* an ellipsis: it was too long */
			json_array_append_new(out, json_string("..."));
			break;
		}
	}
	return out;
}

static json_t *words(const char *s)
{
	json_t *out = json_array();

	while (out && *s) {
		size_t n = strcspn(s, " ");

		if (n)
			json_array_append_new(out, json_stringn(s, n));
		s += n + (s[n] == ' ');
	}
	return out;
}

static json_t *route(const struct cw_bgp_route_view *v, bool attributes)
{
	static const char *const origins[] = { "igp", "egp", "incomplete" };
	char prefix[CW_PREFIX_TEXT_MAX];
	json_t *out = json_pack("{s:s, s:b, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}",
		"prefix", cw_prefix_print(&v->prefix, prefix, sizeof(prefix)), "own", v->own, "tunnel",
		text(v->neighbour), "from", addr(&v->from), "next-hop", addr(&v->next_hop), "best", v->best,
		"multipath", v->multipath, "stale", v->stale, "installed", v->installed, "refused",
		v->refused ? json_string(cw_bgp_view_refusal_name(v->refused)) : json_null(), "why-not",
		text(v->why_not), "origin", origins[v->origin < 3 ? v->origin : 2], "med",
		v->has_med ? json_integer(v->med) : json_null(), "local-pref",
		v->has_local_pref ? json_integer(v->local_pref) : json_null(), "as-path",
		as_path(v->as_path), "communities", words(v->communities), "large-communities",
		words(v->large_communities));

	if (!out || !attributes || put(out, "attributes", hex(v->attrs.p, v->attrs.n)))
		return out;
	json_decref(out);
	return NULL;
}

struct page {
	json_t *list;
	bool attributes;
	bool ok;
};

static void add_route(void *arg, const struct cw_bgp_route_view *v)
{
	struct page *p = arg;

	if (json_array_append_new(p->list, route(v, p->attributes)) != 0)
		p->ok = false;
}

static json_t *answer_routes(const struct cw_ctl_request *req, const struct cw_ctl_port *port,
	enum cw_rc *ret_rc, char *reterr, size_t size)
{
	struct cw_bgp_route_query query = req->query;
	struct page page = { .list = json_array(), .attributes = req->attributes, .ok = true };
	char after[CW_PREFIX_TEXT_MAX];
	bool more;

	if (req->peer[0]) {
		query.has_peer = true;
		*ret_rc = port->bgp_find(port->arg, req->peer, &query.peer);
		if (*ret_rc != CW_OK) {
			snprintf(reterr, size, "no tunnel \"%s\" has a BGP neighbour, and none has that address", req->peer);
			json_decref(page.list);
			return NULL;
		}
	}
	more = port->bgp_routes(port->arg, &query, add_route, &page);
	if (!page.ok || !page.list) {
		json_decref(page.list);
		return NULL;
	}
	return json_pack("{s:b, s:o, s:o}", "ok", 1, "routes", page.list, "after",
		more ? json_string(cw_prefix_print(&query.after, after, sizeof(after))) : json_null());
}

/* ---- neighbours ---- */

static json_t *answer_bgp(const struct cw_ctl_request *req, const struct cw_ctl_port *port,
	enum cw_rc *ret_rc, char *reterr, size_t size)
{
	struct cw_bgp_neighbour_view *view = calloc(1, sizeof(*view));
	json_t *list = json_array();
	size_t n = port->bgp_count(port->arg), i = 0;

	if (req->peer[0] && port->bgp_find(port->arg, req->peer, &i) != CW_OK) {
		*ret_rc = CW_E_NOT_FOUND;
		snprintf(reterr, size, "no tunnel \"%s\" has a BGP neighbour, and none has that address", req->peer);
		json_decref(list);
		free(view);
		return NULL;
	}
	if (req->peer[0])
		n = i + 1;
	for (; view && list && i < n; i++) {
		port->bgp_view(port->arg, i, view);
		if (json_array_append_new(list, neighbour(view)) != 0) {
			json_decref(list);
			list = NULL;
		}
	}
	free(view);
	return list ? json_pack("{s:b, s:o}", "ok", 1, "peers", list) : NULL;
}

static json_t *answer_order(const struct cw_ctl_request *req, const struct cw_ctl_port *port,
	enum cw_rc *ret_rc, char *reterr, size_t size)
{
	size_t i;

	*ret_rc = port->bgp_find(port->arg, req->peer, &i);
	if (*ret_rc != CW_OK) {
		snprintf(reterr, size, "no tunnel \"%s\" has a BGP neighbour, and none has that address", req->peer);
		return NULL;
	}
	if (req->cmd == CW_CTL_BGP_RESET) {
		port->bgp_reset(port->arg, i, CW_BGP_RESET_HARD);
	} else {
		port->bgp_reset(port->arg, i, CW_BGP_RESET_SOFT_IN);
		port->bgp_reset(port->arg, i, CW_BGP_RESET_SOFT_OUT);
	}
	return json_pack("{s:b, s:s, s:s}", "ok", 1, "cmd", cw_ctl_cmd_name(req->cmd), "peer", req->peer);
}

json_t *cw_ctl_bgp_answer(const struct cw_ctl_request *req, const struct cw_ctl_port *port,
	enum cw_rc *ret_rc, char *reterr, size_t size)
{
	const char *off = port->bgp_off ? port->bgp_off(port->arg) : "this daemon speaks no BGP";

	*ret_rc = CW_OK;
	if (off) {
		*ret_rc = CW_E_UNSUPPORTED;
		snprintf(reterr, size, "%s", off);
		return NULL;
	}
	switch (req->cmd) {
	case CW_CTL_BGP:
		return answer_bgp(req, port, ret_rc, reterr, size);
	case CW_CTL_ROUTES:
		return answer_routes(req, port, ret_rc, reterr, size);
	default:
		return answer_order(req, port, ret_rc, reterr, size);
	}
}
