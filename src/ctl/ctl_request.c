/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl_request.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ctl/ctl.h"
#include "ctl/ctl_bgp.h"
#include "ctl/ctl_show.h"

/* What members a command has beside "cmd". */
enum {
	TUNNEL_MAY = 1,
	TUNNEL_MUST = 2,
	WHAT = 4,
	LINES = 8,
	ORDER = 16,
	PEER_MAY = 32,
	PEER_MUST = 64,
	ROUTES = 128,
};

static const struct {
	const char *name;
	unsigned traits;
} cmds[CW_CTL_CMD_COUNT] = {
	[CW_CTL_STATUS] = { "status", TUNNEL_MAY },
	[CW_CTL_UP] = { "up", TUNNEL_MUST | ORDER },
	[CW_CTL_DOWN] = { "down", TUNNEL_MUST | ORDER },
	[CW_CTL_RESTART] = { "restart", TUNNEL_MUST | ORDER },
	[CW_CTL_REKEY] = { "rekey", TUNNEL_MUST | WHAT | ORDER },
	[CW_CTL_LOG] = { "log", LINES },
	[CW_CTL_VERSION] = { "version", 0 },
	[CW_CTL_BGP] = { "bgp", PEER_MAY },
	[CW_CTL_BGP_REFRESH] = { "bgp-refresh", PEER_MUST | ORDER },
	[CW_CTL_BGP_RESET] = { "bgp-reset", PEER_MUST | ORDER },
	[CW_CTL_ROUTES] = { "routes", ROUTES },
};

const char *cw_ctl_cmd_name(enum cw_ctl_cmd cmd)
{
	return (unsigned)cmd < CW_CTL_CMD_COUNT ? cmds[cmd].name : "unknown";
}

bool cw_ctl_cmd_is_order(enum cw_ctl_cmd cmd)
{
	return (unsigned)cmd < CW_CTL_CMD_COUNT && cmds[cmd].traits & ORDER;
}

static enum cw_rc parse_cmd(
	const json_t *root, struct cw_ctl_request *req, char *reterr, size_t size)
{
	const char *name = json_string_value(json_object_get(root, "cmd"));

	if (!name) {
		snprintf(reterr, size, "member \"cmd\" is missing or no text");
		return CW_E_INVALID;
	}
	for (unsigned i = 0; i < CW_CTL_CMD_COUNT; i++) {
		if (strcmp(name, cmds[i].name) == 0) {
			req->cmd = (enum cw_ctl_cmd)i;
			return CW_OK;
		}
	}
	snprintf(reterr, size,
		"unknown command \"%.32s\"; known are status, up, down, restart, rekey, log, "
		"version, bgp, bgp-refresh, bgp-reset, routes",
		name);
	return CW_E_INVALID;
}

static enum cw_rc parse_tunnel(
	const json_t *value, struct cw_ctl_request *req, char *reterr, size_t size)
{
	const char *name = json_string_value(value);
	size_t len = name ? strlen(name) : 0;

	if (len == 0) {
		snprintf(reterr, size, "\"tunnel\" must be a name");
		return CW_E_INVALID;
	}
	if (len >= sizeof(req->tunnel)) {
		snprintf(reterr, size, "\"tunnel\" has %zu characters; a name has at most %u", len,
			CW_TUNNEL_NAME_MAX);
		return CW_E_INVALID;
	}
	memcpy(req->tunnel, name, len + 1);
	return CW_OK;
}

static enum cw_rc parse_what(
	const json_t *value, struct cw_ctl_request *req, char *reterr, size_t size)
{
	const char *what = json_string_value(value);

	if (!what || (strcmp(what, "ike") != 0 && strcmp(what, "child") != 0)) {
		snprintf(reterr, size, "\"what\" must be \"ike\" or \"child\"");
		return CW_E_INVALID;
	}
	req->child = strcmp(what, "child") == 0;
	return CW_OK;
}

static enum cw_rc parse_lines(
	const json_t *value, struct cw_ctl_request *req, char *reterr, size_t size)
{
	json_int_t n = json_integer_value(value);

	if (n < 1) {
		snprintf(reterr, size, "\"lines\" must be a whole number of at least 1");
		return CW_E_INVALID;
	}
	req->lines = n > CW_LOG_RING ? CW_LOG_RING : (size_t)n;
	return CW_OK;
}

static enum cw_rc parse_peer(const char *key, const json_t *value, struct cw_ctl_request *req,
	char *reterr, size_t size)
{
	const char *name = json_string_value(value);
	size_t len = name ? strlen(name) : 0;

	if (len == 0 || len >= sizeof(req->peer)) {
		snprintf(reterr, size, "\"%s\" must be a tunnel's name or a neighbour's address", key);
		return CW_E_INVALID;
	}
	memcpy(req->peer, name, len + 1);
	return CW_OK;
}

static enum cw_rc parse_prefix(const char *key, const json_t *value, struct cw_prefix *ret_prefix,
	bool *ret_has, char *reterr, size_t size)
{
	const char *s = json_string_value(value);

	if (!s || cw_prefix_parse(s, ret_prefix) != CW_OK) {
		snprintf(reterr, size, "\"%s\" must be a prefix, as \"10.20.0.0/16\", or an address", key);
		return CW_E_INVALID;
	}
	*ret_prefix = cw_prefix_network(ret_prefix);
	*ret_has = true;
	return CW_OK;
}

/* "received" and "advertised" name a neighbour, "best" and "attributes" are true. */
static enum cw_rc parse_routes(const char *key, const json_t *value, struct cw_ctl_request *req,
	char *reterr, size_t size)
{
	static const struct {
		const char *name;
		enum cw_bgp_route_kind kind;
	} kinds[] = { { "best", CW_BGP_ROUTES_BEST },
		      { "received", CW_BGP_ROUTES_RECEIVED },
		      { "advertised", CW_BGP_ROUTES_ADVERTISED } };
	json_int_t n = json_integer_value(value);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(key, kinds[i].name) != 0)
			continue;
		if (req->query.kind != CW_BGP_ROUTES_ALL) {
			snprintf(reterr, size, "one of \"best\", \"received\" and \"advertised\" at a time");
			return CW_E_INVALID;
		}
		req->query.kind = kinds[i].kind;
		if (kinds[i].kind != CW_BGP_ROUTES_BEST)
			return parse_peer(key, value, req, reterr, size);
		if (json_is_true(value))
			return CW_OK;
		snprintf(reterr, size, "\"best\" must be true");
		return CW_E_INVALID;
	}
	if (strcmp(key, "attributes") == 0 && json_is_true(value)) {
		req->attributes = true;
		return CW_OK;
	}
	if (strcmp(key, "prefix") == 0)
		return parse_prefix(key, value, &req->query.prefix, &req->query.has_prefix, reterr, size);
	if (strcmp(key, "after") == 0)
		return parse_prefix(key, value, &req->query.after, &req->query.has_after, reterr, size);
	if (strcmp(key, "max") == 0 && n >= 1 && n <= CW_CTL_ROUTES_MAX) {
		req->query.max = (size_t)n;
		return CW_OK;
	}
	if (strcmp(key, "attributes") == 0)
		snprintf(reterr, size, "\"attributes\" must be true");
	else if (strcmp(key, "max") == 0)
		snprintf(reterr, size, "\"max\" must be a whole number from 1 to %d", CW_CTL_ROUTES_MAX);
	else
		snprintf(reterr, size, "command \"routes\" has no member \"%.32s\"", key);
	return CW_E_INVALID;
}

static enum cw_rc parse_members(json_t *root, struct cw_ctl_request *req, char *reterr, size_t size)
{
	unsigned traits = cmds[req->cmd].traits;
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value) {
		enum cw_rc rc = CW_E_INVALID;

		if (strcmp(key, "cmd") == 0)
			continue;
		if (strcmp(key, "tunnel") == 0 && traits & (TUNNEL_MAY | TUNNEL_MUST))
			rc = parse_tunnel(value, req, reterr, size);
		else if (strcmp(key, "what") == 0 && traits & WHAT)
			rc = parse_what(value, req, reterr, size);
		else if (strcmp(key, "lines") == 0 && traits & LINES)
			rc = parse_lines(value, req, reterr, size);
		else if (strcmp(key, "peer") == 0 && traits & (PEER_MAY | PEER_MUST))
			rc = parse_peer(key, value, req, reterr, size);
		else if (traits & ROUTES)
			rc = parse_routes(key, value, req, reterr, size);
		else
			snprintf(reterr, size, "command \"%s\" has no member \"%.32s\"",
				cmds[req->cmd].name, key);
		if (rc != CW_OK)
			return rc;
	}
	if (traits & TUNNEL_MUST && !req->tunnel[0]) {
		snprintf(reterr, size, "command \"%s\" needs a \"tunnel\"", cmds[req->cmd].name);
		return CW_E_INVALID;
	}
	if (traits & PEER_MUST && !req->peer[0]) {
		snprintf(reterr, size, "command \"%s\" needs a \"peer\"", cmds[req->cmd].name);
		return CW_E_INVALID;
	}
	if (traits & WHAT && !json_object_get(root, "what")) {
		snprintf(reterr, size, "command \"%s\" needs \"what\": \"ike\" or \"child\"",
			cmds[req->cmd].name);
		return CW_E_INVALID;
	}
	return CW_OK;
}

enum cw_rc cw_ctl_request_parse(
	const char *text, size_t len, struct cw_ctl_request *ret_request, char *reterr, size_t size)
{
	struct cw_ctl_request req = { .lines = CW_CTL_LOG_LINES, .query.max = CW_CTL_ROUTES_MAX };
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	enum cw_rc rc;

	if (!root) {
		snprintf(reterr, size, "no JSON at column %d: %s", error.column, error.text);
		return CW_E_INVALID;
	}
	if (!json_is_object(root)) {
		snprintf(reterr, size, "a request is one JSON object");
		json_decref(root);
		return CW_E_INVALID;
	}
	rc = parse_cmd(root, &req, reterr, size);
	if (rc == CW_OK)
		rc = parse_members(root, &req, reterr, size);
	json_decref(root);
	if (rc == CW_OK)
		*ret_request = req;
	return rc;
}

/* Takes over `json`. Printable ASCII, so that no text of a peer's can drive a terminal. */
static char *to_line(json_t *json)
{
	static const char del[] = "\\u007f"; /* jansson leaves it as it is */
	size_t len = json ? json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) : 0, n = 0, size = len + 2;
	char *text = len ? malloc(len) : NULL, *line;

	if (text)
		json_dumpb(json, text, len, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(json);
	for (size_t i = 0; text && i < len; i++)
		size += text[i] == 0x7f ? sizeof(del) - 2 : 0;
	line = text ? malloc(size) : NULL;
	for (size_t i = 0; line && i < len; i++) {
		if (text[i] == 0x7f) {
			memcpy(line + n, del, sizeof(del) - 1);
			n += sizeof(del) - 1;
		} else {
			line[n++] = text[i];
		}
	}
	if (line)
		memcpy(line + n, "\n", 2);
	free(text);
	return line;
}

static const char *code_of(enum cw_rc rc)
{
	switch (rc) {
	case CW_E_NOT_FOUND:
		return "not-found";
	case CW_E_INVALID:
	case CW_E_TOO_BIG:
	case CW_E_EXISTS:
	case CW_E_UNSUPPORTED:
		return "invalid";
	case CW_E_DENIED:
		return "denied";
	case CW_E_BUSY:
		return "busy";
	default:
		return "internal";
	}
}

char *cw_ctl_refusal(enum cw_rc rc, const char *error)
{
	json_t *text = cw_ctl_show_text(error && error[0] ? error : cw_rc_name(rc));

	return to_line(json_pack("{s:b, s:s, s:o}", "ok", 0, "code", code_of(rc), "error", text));
}

/* Names of all tunnels after a name that is none, as far as there is room. */
static void list_names(const struct cw_ctl_port *port, struct cw_tunnel_view *view,
	const char *asked, char *text, size_t size)
{
	size_t count = port->tunnel_count(port->arg);
	int n = snprintf(text, size, "there is no tunnel or site \"%s\"; ", asked);
	size_t used = (size_t)n;

	if (count == 0) {
		snprintf(text + used, size - used, "none is configured");
		return;
	}
	used += (size_t)snprintf(text + used, size - used, "there are:");
	for (size_t i = 0; i < count; i++) {
		*view = (struct cw_tunnel_view){ 0 };
		port->tunnel_view(port->arg, i, view);
		if (used + strlen(view->name) +
				sizeof(", "
				       ", ...") >
			size) {
			snprintf(text + used, size - used, ", ...");
			return;
		}
		used += (size_t)snprintf(
			text + used, size - used, "%s %s", i ? "," : "", view->name);
	}
}

static json_t *tunnels_json(
	const char *wanted, const struct cw_ctl_port *port, struct cw_tunnel_view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < port->tunnel_count(port->arg); i++) {
		*view = (struct cw_tunnel_view){ 0 };
		port->tunnel_view(port->arg, i, view);
		if (wanted[0] && strcmp(wanted, view->name) != 0 && strcmp(wanted, view->site) != 0)
			continue;
		if (json_array_append_new(list, cw_ctl_show_tunnel(view)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static char *answer_status(
	const struct cw_ctl_request *req, const struct cw_ctl_port *port, enum cw_rc *ret_rc)
{
	/* A view is too big for a stack. */
	struct cw_tunnel_view *view = calloc(1, sizeof(*view));
	struct cw_gateway_view gateway = { 0 };
	json_t *tunnels = view ? tunnels_json(req->tunnel, port, view) : NULL;
	char text[512];
	char *line;

	if (tunnels && req->tunnel[0] && json_array_size(tunnels) == 0) {
		list_names(port, view, req->tunnel, text, sizeof(text));
		*ret_rc = CW_E_NOT_FOUND;
		line = cw_ctl_refusal(*ret_rc, text);
		json_decref(tunnels);
	} else {
		port->gateway_view(port->arg, &gateway);
		*ret_rc = CW_OK;
		line = to_line(json_pack("{s:b, s:o, s:o}", "ok", 1, "gateway",
			cw_ctl_show_gateway(&gateway), "tunnels", tunnels));
	}
	free(view);
	return line;
}

static char *answer_order(
	const struct cw_ctl_request *req, const struct cw_ctl_port *port, enum cw_rc *ret_rc)
{
	char text[512] = "";
	enum cw_rc rc = CW_E_BUG;

	switch (req->cmd) {
	case CW_CTL_UP:
		rc = port->up(port->arg, req->tunnel, text, sizeof(text));
		break;
	case CW_CTL_DOWN:
		rc = port->down(port->arg, req->tunnel, text, sizeof(text));
		break;
	case CW_CTL_RESTART:
		rc = port->restart(port->arg, req->tunnel, text, sizeof(text));
		break;
	case CW_CTL_REKEY:
		rc = port->rekey(port->arg, req->tunnel, req->child, text, sizeof(text));
		break;
	default:
		break;
	}
	*ret_rc = rc;
	if (rc == CW_OK)
		return to_line(json_pack("{s:b, s:s, s:s}", "ok", 1, "cmd", cmds[req->cmd].name,
			"tunnel", req->tunnel));
	if (rc == CW_E_NOT_FOUND && !text[0])
		snprintf(text, sizeof(text), "there is no tunnel \"%s\"", req->tunnel);
	return cw_ctl_refusal(rc, text);
}

struct log_lines {
	json_t *list;
	bool ok;
};

static void add_line(int64_t wall_s, enum cw_log_level level, const char *line, void *arg)
{
	struct log_lines *lines = arg;

	json_t *json = json_pack("{s:I, s:s, s:o}", "at-wall-s", (json_int_t)wall_s, "level",
		cw_log_level_name(level), "text", cw_ctl_show_text(line));

	if (json_array_append_new(lines->list, json) != 0)
		lines->ok = false;
}

static char *answer_log(const struct cw_ctl_request *req, enum cw_rc *ret_rc)
{
	struct log_lines lines = { .list = json_array(), .ok = true };

	*ret_rc = CW_OK;
	if (lines.list)
		cw_log_each(req->lines, add_line, &lines);
	if (!lines.ok) {
		json_decref(lines.list);
		return NULL;
	}
	return to_line(json_pack("{s:b, s:o}", "ok", 1, "lines", lines.list));
}

static char *answer_version(const struct cw_ctl_port *port, enum cw_rc *ret_rc)
{
	struct cw_gateway_view gateway = { 0 };

	port->gateway_view(port->arg, &gateway);
	*ret_rc = CW_OK;
	return to_line(json_pack("{s:b, s:o, s:o, s:o}", "ok", 1, "version",
		cw_ctl_show_text(gateway.version), "ike-engine",
		cw_ctl_show_text(gateway.ike_engine), "kernel", cw_ctl_show_text(gateway.kernel)));
}

static char *answer_bgp(
	const struct cw_ctl_request *req, const struct cw_ctl_port *port, enum cw_rc *ret_rc)
{
	char text[512] = "";
	json_t *json = cw_ctl_bgp_answer(req, port, ret_rc, text, sizeof(text));

	return *ret_rc == CW_OK ? to_line(json) : cw_ctl_refusal(*ret_rc, text);
}

char *cw_ctl_request_answer(
	const struct cw_ctl_request *request, const struct cw_ctl_port *port, enum cw_rc *ret_rc)
{
	switch (request->cmd) {
	case CW_CTL_STATUS:
		return answer_status(request, port, ret_rc);
	case CW_CTL_LOG:
		return answer_log(request, ret_rc);
	case CW_CTL_VERSION:
		return answer_version(port, ret_rc);
	case CW_CTL_UP:
	case CW_CTL_DOWN:
	case CW_CTL_RESTART:
	case CW_CTL_REKEY:
		return answer_order(request, port, ret_rc);
	case CW_CTL_BGP:
	case CW_CTL_BGP_REFRESH:
	case CW_CTL_BGP_RESET:
	case CW_CTL_ROUTES:
		return answer_bgp(request, port, ret_rc);
	case CW_CTL_CMD_COUNT:
		break;
	}
	*ret_rc = CW_E_BUG;
	return cw_ctl_refusal(*ret_rc, NULL);
}
