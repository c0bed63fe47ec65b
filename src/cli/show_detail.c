/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_status.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show_priv.h"
#include "cli/text.h"


/* "; rekey in 29m, expires in 39m", as far as they are planned. */
static const char *lifetimes(const json_t *sa, char *buf, size_t size)
{
	int64_t rekey_s = cw_show_number(sa, "rekey-in-s"),
		expires_s = cw_show_number(sa, "expires-in-s");
	char rekey[CW_TEXT_SHORT], expires[CW_TEXT_SHORT];

	cw_text_duration(rekey_s, rekey, sizeof(rekey));
	cw_text_duration(expires_s, expires, sizeof(expires));
	snprintf(buf, size, "%s%s%s%s", rekey_s < 0 ? "; no rekey planned" : "; rekey in ",
		rekey_s < 0 ? "" : rekey, expires_s < 0 ? "" : ", expires in ",
		expires_s < 0 ? "" : expires);
	return buf;
}

static const char *nat_text(const json_t *ike)
{
	bool local = cw_show_bool(ike, "nat-local"), remote = cw_show_bool(ike, "nat-remote");

	if (local && remote)
		return "NAT on both sides; ";
	if (local)
		return "NAT on our side; ";
	return remote ? "NAT on the peer's side; " : "";
}

/* "us   192.0.2.1:500, identity gw.example.net"; an identity is known once it is authenticated. */
static void add_end(struct cw_text *out, const char *who, const json_t *ike, const char *side)
{
	char addr_key[16], port_key[24], id_key[16];
	const char *addr, *id;
	bool v6;

	snprintf(addr_key, sizeof(addr_key), "%s", side);
	snprintf(port_key, sizeof(port_key), "%s-port", side);
	snprintf(id_key, sizeof(id_key), "%s-id", side);
	addr = cw_show_text(ike, addr_key);
	id = cw_show_text(ike, id_key);
	v6 = strchr(addr, ':') != NULL;
	cw_show_row(out, "", "%s %s%s%s:%" PRId64 "%s%s", who, v6 ? "[" : "", addr, v6 ? "]" : "",
		cw_show_number(ike, port_key), id[0] ? ", identity " : "", id);
}

static void add_ike(struct cw_text *out, const json_t *tunnel)
{
	const json_t *ike = json_object_get(tunnel, "ike");
	bool there = strcmp(cw_show_text(ike, "state"), "connecting") != 0;
	char age[CW_TEXT_SHORT], life[96];

	if (!json_is_object(ike)) {
		cw_show_row(out, "IKE", "none");
		return;
	}
	cw_text_duration(cw_show_number(ike, "established-s-ago"), age, sizeof(age));
	cw_show_row(out, "IKE", "IKEv%" PRId64 " %s%s%s, started by %s%s", cw_show_number(ike, "version"),
		cw_show_text(ike, "state"), there ? " for " : "", there ? age : "",
		cw_show_bool(ike, "initiator") ? "us" : "the peer",
		there ? lifetimes(ike, life, sizeof(life)) : "");
	if (cw_show_text(ike, "proposal")[0])
		cw_show_row(out, "", "%s", cw_show_text(ike, "proposal"));
	add_end(out, "us  ", ike, "local");
	add_end(out, "peer", ike, "remote");
	cw_show_row(out, "", "%sSPIs %s %s", nat_text(ike), cw_show_text(ike, "spi-i"),
		cw_show_text(ike, "spi-r"));
	if (there)
		cw_show_row(out, "", "a peer that falls silent is noticed within %" PRIu64 "s",
			cw_show_count(tunnel, "dead-after-s"));
}

/* "10.0.0.0/8, 10.1.0.0/16 and 3 more" */
static void join_selectors(
	const json_t *child, const char *key, const char *count_key, char *buf, size_t size)
{
	const json_t *list = json_object_get(child, key), *ts;
	uint64_t n = cw_show_count(child, count_key);
	size_t i, used = 0;

	buf[0] = '\0';
	json_array_foreach(list, i, ts) {
		int k = snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
			json_string_value(ts) ? json_string_value(ts) : "?");

		if (k < 0 || (size_t)k >= size - used)
			return;
		used += (size_t)k;
	}
	if (n > json_array_size(list))
		snprintf(buf + used, size - used, " and %" PRIu64 " more",
			n - json_array_size(list));
}

static void add_traffic(struct cw_text *out, const json_t *child, bool in)
{
	char bytes[CW_TEXT_SHORT], age[CW_TEXT_SHORT], last[CW_TEXT_SHORT + 16] = "";
	int64_t last_s = cw_show_number(child, in ? "last-in-s-ago" : "last-out-s-ago");
	uint64_t packets = cw_show_count(child, in ? "packets-in" : "packets-out");

	cw_text_bytes(cw_show_count(child, in ? "bytes-in" : "bytes-out"), bytes, sizeof(bytes));
	/* Some kernels count and do not note when; and the counters are newer than the times. */
	if (last_s >= 0)
		snprintf(last, sizeof(last), ", last %s ago",
			cw_text_duration(last_s, age, sizeof(age)));
	else if (!packets)
		snprintf(last, sizeof(last), ", never used");
	cw_show_row(out, "", "%s %s, %" PRIu64 " packets%s; SPI %s", in ? "in  " : "out ", bytes, packets, last,
		cw_show_text(child, in ? "spi-in" : "spi-out"));
}

/* On its way out: its lifetimes mean nothing any more. NULL: it is not. */
static const char *ending_text(const json_t *children, const json_t *child)
{
	const char *state = cw_show_text(child, "state");
	const json_t *other;
	size_t i;

	if (strcmp(state, "rekeyed") == 0)
		return "replaced, being removed";
	if (strcmp(state, "deleting") != 0)
		return NULL;
	json_array_foreach(children, i, other) {
		const char *its = cw_show_text(other, "state");

		if (cw_show_count(other, "pair") == cw_show_count(child, "pair") &&
			(strcmp(its, "installed") == 0 || strcmp(its, "rekeying") == 0))
			return "replaced, being removed";
	}
	return "being removed";
}

static void add_children(struct cw_text *out, const json_t *tunnel)
{
	const json_t *children = json_object_get(tunnel, "children"), *child;
	uint64_t wanted = cw_show_count(tunnel, "n-children-wanted");
	char age[CW_TEXT_SHORT], life[96], label[64], local[256], remote[256];
	const char *ending;
	size_t i;

	if (json_array_size(children) == 0)
		cw_show_row(out, "child", "none");
	json_array_foreach(children, i, child) {
		snprintf(label, sizeof(label), "child");
		if (wanted > 1)
			snprintf(label, sizeof(label), "child %" PRIu64 "/%" PRIu64,
				cw_show_count(child, "pair") + 1, wanted);
		cw_text_duration(cw_show_number(child, "installed-s-ago"), age, sizeof(age));
		ending = ending_text(children, child);
		if (ending)
			cw_show_row(out, label, "%s", ending);
		else
			cw_show_row(out, label, "%s for %s%s", cw_show_text(child, "state"), age,
				lifetimes(child, life, sizeof(life)));
		cw_show_row(out, "", "%s%s%s", cw_show_text(child, "proposal"),
			cw_show_bool(child, "pfs") ? ", own DH (PFS)" : ", no DH of its own",
			cw_show_bool(child, "encap") ? ", ESP in UDP" : "");
		join_selectors(child, "local-ts", "n-local-ts", local, sizeof(local));
		join_selectors(child, "remote-ts", "n-remote-ts", remote, sizeof(remote));
		cw_show_row(out, "", "%s === %s%s", local, remote,
			cw_show_bool(child, "narrowed") ? " (narrowed by the peer)" : "");
		add_traffic(out, child, true);
		add_traffic(out, child, false);
	}
}

/* What has become of a route, as the end of its line. */
static const char *route_text(const json_t *route, char *buf, size_t size)
{
	const char *state = cw_show_text(route, "state");
	char by[96];

	buf[0] = '\0';
	if (strcmp(state, "shadowed") == 0)
		snprintf(buf, size,
			", NOT taken: packets go by %s; remove that route, or make its metric worse than ours",
			cw_show_by(route, by, sizeof(by)));
	else if (strcmp(state, "standby") == 0)
		snprintf(buf, size, ", standing by: packets take %s", cw_show_by(route, by, sizeof(by)));
	else if (strcmp(state, "missing") == 0)
		snprintf(buf, size, ", NOT in the kernel: see causewayctl log");
	else if (!cw_show_bool(route, "installed"))
		snprintf(buf, size, ", unreachable until the tunnel carries");
	return buf;
}

static const char *or_any(const char *network)
{
	return network[0] ? network : "any";
}

static void add_interface(struct cw_text *out, const json_t *tunnel)
{
	const json_t *link = json_object_get(tunnel, "interface"), *route, *gap;
	const char *inside = cw_show_text(link, "inside-addr");
	char text[320];
	size_t i;

	if (!json_is_object(link))
		cw_show_row(out, "interface", "none%s",
			json_array_size(json_object_get(tunnel, "children")) ? ": plain policies"
									     : "");
	else
		cw_show_row(out, "interface", "%s (%s, if_id 0x%" PRIx64 "), MTU %" PRIu64 "%s%s%s",
			cw_show_text(link, "name"), cw_show_text(link, "kind"),
			cw_show_count(link, "if-id"), cw_show_count(link, "mtu"),
			inside[0] ? ", " : "", inside,
			cw_show_bool(link, "ok")
				? ""
				: "; NOT in the kernel as wanted: see causewayctl log");
	json_array_foreach(json_object_get(tunnel, "routes"), i, route)
		cw_show_row(out, i ? "" : "routes", "%s metric %" PRIu64 "%s", cw_show_text(route, "dst"),
			cw_show_count(route, "metric"), route_text(route, text, sizeof(text)));
	json_array_foreach(json_object_get(tunnel, "not-covered"), i, gap)
		cw_show_row(out, i ? "" : "not covered", "%s === %s", or_any(cw_show_text(gap, "ours")),
			or_any(cw_show_text(gap, "theirs")));
	if (cw_show_count(tunnel, "n-not-covered") > i)
		cw_show_row(out, "", "and %" PRIu64 " more", cw_show_count(tunnel, "n-not-covered") - i);
}

static void add_history(struct cw_text *out, const json_t *tunnel)
{
	const json_t *step;
	char when[CW_TEXT_SHORT];
	size_t i;

	json_array_foreach(json_object_get(tunnel, "history"), i, step) {
		const char *cause = cw_show_text(step, "cause");

		cw_text_time(cw_show_number(step, "at-wall-s"), when, sizeof(when));
		cw_show_row(out, i ? "" : "history", "%s  %s -> %s%s%s", when, cw_show_text(step, "from"),
			cw_show_text(step, "to"), cause[0] ? ": " : "", cause);
	}
}

static void add_cause(
	struct cw_text *out, const char *label, const json_t *cause, const char *prefix)
{
	const char *detail = cw_show_text(cause, "detail");

	if (!json_is_object(cause))
		return;
	cw_show_row(out, label, "%s%s%s%s%s", prefix, cw_show_text(cause, "text"), detail[0] ? " (" : "",
		detail, detail[0] ? ")" : "");
}

static void add_bgp(struct cw_text *out, const json_t *tunnel)
{
	const json_t *bgp = json_object_get(tunnel, "bgp");
	bool up = strcmp(cw_show_text(bgp, "state"), "established") == 0;
	char age[CW_TEXT_SHORT];

	if (!json_is_object(bgp))
		return;
	cw_text_duration(cw_show_number(bgp, "for-s"), age, sizeof(age));
	if (up)
		cw_show_row(out, "BGP",
			"established with %s for %s; %" PRIu64 " prefixes received, %" PRIu64 " used, %" PRIu64 " sent",
			cw_show_text(bgp, "peer"), age, cw_show_count(bgp, "received"),
			cw_show_count(bgp, "selected"), cw_show_count(bgp, "announced"));
	else
		cw_show_row(out, "BGP", "no session with %s: %s for %s", cw_show_text(bgp, "peer"),
			cw_show_text(bgp, "state"), age);
	if (*cw_show_text(bgp, "why"))
		cw_show_row(out, "", "%s", cw_show_text(bgp, "why"));
}

static void add_why_and_errors(struct cw_text *out, const json_t *tunnel)
{
	const json_t *cause = json_object_get(tunnel, "cause");
	const json_t *last = json_object_get(tunnel, "last-error");
	const char *remedy = cw_show_text(cause, "remedy");
	char next[64], when[CW_TEXT_SHORT + 2], path[CW_SHOW_PATH];

	add_cause(out, "why", cause, "");
	if (cw_show_text(tunnel, "conf-error")[0])
		cw_show_row(out, "error", "%s", cw_show_text(tunnel, "conf-error"));
	if (remedy[0])
		cw_show_row(out, "what to do", "%s", remedy);
	cw_show_next_try(tunnel, next, sizeof(next));
	if (next[0])
		cw_show_row(out, "next", "%s", next);
	for (size_t i = 0, n = 0; i < CW_SHOW_PATHS; i++) {
		if (cw_show_path(tunnel, i, path, sizeof(path))[0])
			cw_show_row(out, n++ ? "" : "data path", "%s", path);
	}
	if (json_is_object(last)) {
		cw_text_time(cw_show_number(last, "at-wall-s"), when, CW_TEXT_SHORT);
		/* Most often it is why the tunnel is where it is, and that stands above. */
		if (strcmp(cw_show_text(last, "name"), cw_show_text(cause, "name")) == 0 &&
			strcmp(cw_show_text(last, "detail"), cw_show_text(cause, "detail")) == 0) {
			cw_show_row(out, "last error", "%s  the same", when);
		} else {
			strncat(when, "  ", sizeof(when) - strlen(when) - 1);
			add_cause(out, "last error", last, when);
		}
	}
	add_cause(out, "last rekey", json_object_get(tunnel, "last-rekey-error"), "failed: ");
}

static void add_tunnel(struct cw_text *out, const json_t *tunnel, bool color)
{
	const char *addr = cw_show_text(tunnel, "remote-addr"),
		   *remote = cw_show_text(tunnel, "remote");
	const char *local = cw_show_text(tunnel, "local-addr");
	bool named = addr[0] && strcmp(addr, remote) != 0;
	char buf[CW_TEXT_SHORT], in[CW_TEXT_SHORT], out_bytes[CW_TEXT_SHORT];

	cw_text_add_safe(out, cw_show_text(tunnel, "name"), 0);
	cw_text_add(out, ": ");
	cw_show_state(out, tunnel, color, 0);
	cw_text_add(out, " for ");
	cw_text_add(out, cw_text_duration(cw_show_number(tunnel, "for-s"), buf, sizeof(buf)));
	cw_text_add(out, ", since ");
	cw_text_add(out, cw_text_time(cw_show_number(tunnel, "since-wall-s"), buf, sizeof(buf)));
	cw_text_add(out, cw_show_bool(tunnel, "wanted-up") ? "\n" : " (not wanted up)\n");
	add_why_and_errors(out, tunnel);
	cw_show_row(out, "site", "%s, profile %s", cw_show_text(tunnel, "site"),
		cw_show_text(tunnel, "profile"));
	cw_show_row(out, "peer", "%s%s%s%s%s%s", remote, named ? " (" : "", named ? addr : "",
		named ? ")" : "", local[0] ? " from " : "", local);
	cw_show_row(out, "traffic", "in %s, out %s over all; was up %" PRIu64 " time%s",
		cw_text_bytes(cw_show_count(tunnel, "bytes-in"), in, sizeof(in)),
		cw_text_bytes(cw_show_count(tunnel, "bytes-out"), out_bytes, sizeof(out_bytes)),
		cw_show_count(tunnel, "times-up"),
		cw_show_count(tunnel, "times-up") == 1 ? "" : "s");
	add_ike(out, tunnel);
	add_children(out, tunnel);
	add_interface(out, tunnel);
	add_bgp(out, tunnel);
	add_history(out, tunnel);
}

void cw_show_detail(struct cw_text *out, const struct json_t *answer, bool color)
{
	const json_t *tunnel;
	size_t i;

	json_array_foreach(json_object_get(answer, "tunnels"), i, tunnel) {
		if (i)
			cw_text_add(out, "\n");
		add_tunnel(out, tunnel, color);
	}
	cw_show_notes(out, answer, color);
}
