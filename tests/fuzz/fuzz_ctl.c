/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is one request of a client, then a newline, then what a peer and the kernel can put into a
 * tunnel's view. The answer is one line of ASCII that is JSON; a request that is refused has its reason.
 */
#include "fuzz.h"

#include <jansson.h>

#include "base/log.h"
#include "ctl/ctl.h"
#include "ctl/ctl_request.h"

#define REQUEST_MAX 4096 /* ctl.h */

static struct cw_tunnel_view *view;
static struct cw_bgp_neighbour_view *neighbour;
static struct cw_bgp_route_view *route;
static struct cw_gateway_view gateway;
static unsigned orders;

static struct cw_addr take_addr(struct input *in)
{
	struct cw_addr addr = { .family = (uint8_t)(take_u8(in) % 3) };

	addr.family = addr.family == 1 ? CW_FAMILY_IPV4 : addr.family == 2 ? CW_FAMILY_IPV6 : CW_FAMILY_NONE;
	if (addr.family == CW_FAMILY_IPV4)
		for (size_t i = 0; i < 4; i++)
			addr.bytes[i] = take_u8(in);
	if (addr.family == CW_FAMILY_IPV6)
		for (size_t i = 0; i < 16; i++)
			addr.bytes[i] = take_u8(in);
	return addr;
}

static void take_view(struct input *in)
{
	struct cw_tunnel_view *v = view;

	memset(v, 0, sizeof(*v));
	gateway = (struct cw_gateway_view){ .name = "gw", .started_wall_s = take_u32(in) };
	snprintf(v->name, sizeof(v->name), "azure-weu-1");
	snprintf(v->site, sizeof(v->site), "azure-weu");
	take_text(in, v->remote, sizeof(v->remote));
	take_text(in, v->detail, sizeof(v->detail));
	take_text(in, v->last_error_detail, sizeof(v->last_error_detail));
	take_text(in, v->ike.remote_id, sizeof(v->ike.remote_id));
	take_text(in, v->ike.proposal, sizeof(v->ike.proposal));
	take_text(in, gateway.kernel, sizeof(gateway.kernel));
	v->state = (enum cw_tunnel_state)(take_u8(in) % CW_TUNNEL_STATE_COUNT);
	v->cause = (enum cw_cause)(take_u8(in) % CW_CAUSE_COUNT);
	v->last_error = (enum cw_cause)(take_u8(in) % CW_CAUSE_COUNT);
	v->has_ike = take_u8(in) & 1;
	v->ike.spi_i = (uint64_t)take_u32(in) << 32 | take_u32(in);
	v->ike.rekey_in_s = (int32_t)take_u32(in);
	v->ike.remote = v->remote_addr = take_addr(in);
	v->has_link = take_u8(in) & 1;
	v->bytes_in = (uint64_t)take_u32(in) << 32 | take_u32(in);
	v->n_children = take_u8(in) % 4;
	for (size_t i = 0; i < v->n_children; i++) {
		struct cw_child_info *c = &v->children[i];

		c->state = (enum cw_child_state)(take_u8(in) % 5);
		c->spi_in = take_u32(in);
		take_text(in, c->proposal, sizeof(c->proposal));
		c->n_remote_ts = take_u8(in); /* may be more than are held */
		c->remote_ts[0].addr = take_addr(in);
		c->remote_ts[0].len = (uint8_t)(take_u8(in) % 129);
	}
	v->n_history = take_u8(in) % CW_VIEW_HISTORY_MAX;
	for (size_t i = 0; i < v->n_history; i++)
		v->history[i].cause = (enum cw_cause)(take_u8(in) % CW_CAUSE_COUNT);
}

/* What a peer can put into a neighbour's view and its routes. */
static void take_bgp(struct input *in)
{
	struct cw_bgp_peer_view *p = &neighbour->peer;
	static uint8_t attrs[64];

	memset(neighbour, 0, sizeof(*neighbour));
	memset(route, 0, sizeof(*route));
	p->state = (enum cw_bgp_state)(take_u8(in) % CW_BGP_STATE_COUNT);
	p->cause = (enum cw_bgp_cause)(take_u8(in) % CW_BGP_CAUSE_COUNT);
	p->last_error = (enum cw_bgp_cause)(take_u8(in) % CW_BGP_CAUSE_COUNT);
	p->wait = (enum cw_bgp_wait)(take_u8(in) % 5);
	take_text(in, p->why, sizeof(p->why));
	take_text(in, p->received.text, sizeof(p->received.text));
	take_text(in, neighbour->last_fault, sizeof(neighbour->last_fault));
	p->received.present = take_u8(in) & 1;
	p->received.n_data = take_u16(in); /* may be more than are held */
	p->peer_id = take_u32(in);
	p->has_peer_caps = take_u8(in) & 1;
	p->peer_caps.n_codes = take_u8(in);
	p->peer_caps.gr = p->peer_caps.role = take_u8(in) & 1;
	p->n_history = take_u8(in) % CW_BGP_VIEW_HISTORY_MAX;
	p->conf.remote = take_addr(in);
	route->prefix.addr = take_addr(in);
	route->prefix.len = (uint8_t)(take_u8(in) % 129);
	route->next_hop = take_addr(in);
	route->origin = take_u8(in);
	route->refused = take_u8(in);
	take_text(in, route->as_path, sizeof(route->as_path));
	take_text(in, route->communities, sizeof(route->communities));
	take_text(in, route->why_not, sizeof(route->why_not));
	for (size_t i = 0; i < sizeof(attrs); i++)
		attrs[i] = take_u8(in);
	route->attrs = (struct cw_span){ .p = attrs, .n = take_u8(in) % (sizeof(attrs) + 1) };
}

static void gateway_view(void *arg, struct cw_gateway_view *ret)
{
	(void)arg;
	*ret = gateway;
}

static size_t tunnel_count(void *arg)
{
	(void)arg;
	return 3;
}

static void tunnel_view(void *arg, size_t i, struct cw_tunnel_view *ret)
{
	(void)arg;
	*ret = *view;
	ret->name[10] = (char)('1' + i);
}

static enum cw_rc order(void *arg, const char *tunnel, char *reterr, size_t size)
{
	(void)arg;
	orders++;
	must(tunnel[0], "an order without a tunnel");
	if (strcmp(tunnel, "azure-weu-1") == 0)
		return CW_OK;
	if (tunnel[0] == 'a')
		snprintf(reterr, size, "%s is not here", view->detail);
	return CW_E_NOT_FOUND;
}

static enum cw_rc rekey(void *arg, const char *tunnel, bool child, char *reterr, size_t size)
{
	(void)child;
	return order(arg, tunnel, reterr, size);
}

static const char *bgp_off(void *arg)
{
	(void)arg;
	return NULL;
}

static void bgp_view(void *arg, size_t i, struct cw_bgp_neighbour_view *ret)
{
	(void)arg;
	(void)i;
	*ret = *neighbour;
}

static enum cw_rc bgp_find(void *arg, const char *name, size_t *ret_i)
{
	(void)arg;
	must(name[0], "a neighbour without a name");
	*ret_i = 2;
	if (strcmp(name, "azure-weu-1") == 0)
		return CW_OK;
	return CW_E_NOT_FOUND;
}

static void bgp_reset(void *arg, size_t i, enum cw_bgp_reset reset)
{
	(void)arg;
	must(i == 2, "neighbour %zu is reset", i);
	orders += reset != CW_BGP_RESET_SOFT_OUT; /* a refresh is both ways */
}

static bool bgp_routes(void *arg, struct cw_bgp_route_query *q,
	void (*fn)(void *fn_arg, const struct cw_bgp_route_view *v), void *fn_arg)
{
	(void)arg;
	must(q->max >= 1 && q->max <= CW_CTL_ROUTES_MAX, "a page of %zu", q->max);
	must(q->has_peer == (q->kind == CW_BGP_ROUTES_RECEIVED || q->kind == CW_BGP_ROUTES_ADVERTISED), "whose routes?");
	fn(fn_arg, route);
	fn(fn_arg, route);
	q->after = route->prefix;
	return route->origin & 1;
}

static const struct cw_ctl_port port = {
	.gateway_view = gateway_view, .tunnel_count = tunnel_count, .tunnel_view = tunnel_view,
	.up = order, .down = order, .restart = order, .rekey = rekey,
	.bgp_off = bgp_off, .bgp_count = tunnel_count, .bgp_view = bgp_view, .bgp_find = bgp_find,
	.bgp_reset = bgp_reset, .bgp_routes = bgp_routes,
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	cw_log_set_sink(-1, 0);
	view = malloc(sizeof(*view));
	neighbour = malloc(sizeof(*neighbour));
	route = malloc(sizeof(*route));
	must(view && neighbour && route, "no memory");
	return 0;
}

/* One line of ASCII, JSON with "ok". Frees it. */
static void check_answer(char *line, bool ok)
{
	json_t *json;

	must(line, "no answer");
	for (const char *s = line; *s; s++)
		must((*s >= ' ' && *s <= '~') || (*s == '\n' && !s[1]), "byte %02x in an answer", (unsigned char)*s);
	must(line[0] && line[strlen(line) - 1] == '\n', "an answer without its end");
	json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	must(json && json_boolean_value(json_object_get(json, "ok")) == ok, "ok should be %d: %s", ok, line);
	must(ok || json_string_length(json_object_get(json, "error")), "refused without a reason: %s", line);
	json_decref(json);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	struct input in = { .at = data + len, .left = size - len };
	struct cw_ctl_request req;
	char err[512] = "";
	char *text;
	enum cw_rc rc;

	take_u8(&in); /* the newline */
	take_view(&in);
	take_bgp(&in);
	cw_log(CW_LOG_NOTICE, CW_LOG_NONE, "peer", "%s", view->detail);
	if (len > REQUEST_MAX)
		len = REQUEST_MAX;
	/* A block of its own: a byte read behind it is seen. */
	text = malloc(len + !len);
	must(text, "no memory");
	if (len)
		memcpy(text, data, len);
	rc = cw_ctl_request_parse(text, len, &req, err, sizeof(err));
	free(text);
	if (rc != CW_OK) {
		must(rc == CW_E_INVALID && err[0], "refused with %s and \"%s\"", cw_rc_name(rc), err);
		check_answer(cw_ctl_refusal(rc, err), false);
		return 0;
	}
	must(req.cmd < CW_CTL_CMD_COUNT && req.lines >= 1 && req.lines <= CW_LOG_RING, "a request out of range");
	orders = 0;
	text = cw_ctl_request_answer(&req, &port, &rc);
	must(orders == (cw_ctl_cmd_is_order(req.cmd) && !(req.peer[0] && rc != CW_OK)), "%s gave %u orders", cw_ctl_cmd_name(req.cmd), orders);
	check_answer(text, rc == CW_OK);
	return 0;
}
