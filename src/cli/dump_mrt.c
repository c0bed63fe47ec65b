/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/dump_mrt.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/ipaddr.h"
#include "cli/show_priv.h"
#include "wire/mrt.h"

#define RECORD_MAX (8u << 20) /* 64 paths with attributes of 64 KiB, and more */
#define ATTRS_MAX 65535

struct cw_mrt_dump {
	FILE *to;
	uint32_t now_s, seq;
	struct cw_mrt_peer *peers; /* 0: ourselves */
	const char **names;	   /* of the tunnels */
	uint32_t *since_s;
	size_t n_peers;
	json_t *answer; /* names point into it */
	uint8_t *record, attrs[ATTRS_MAX];
};

/* An identifier as "10.0.0.1"; 0 where there is none. */
static uint32_t id_of(const json_t *peer, const char *key)
{
	struct cw_addr a;

	if (cw_addr_parse(cw_show_text(peer, key), &a) != CW_OK || a.family != CW_FAMILY_IPV4)
		return 0;
	return (uint32_t)a.bytes[0] << 24 | (uint32_t)a.bytes[1] << 16 | (uint32_t)a.bytes[2] << 8 | a.bytes[3];
}

static enum cw_rc put(struct cw_mrt_dump *d, size_t n)
{
	if (!n)
		return CW_E_TOO_BIG;
	return fwrite(d->record, 1, n, d->to) == n ? CW_OK : CW_E_SYSTEM;
}

static enum cw_rc take_peers(struct cw_mrt_dump *d)
{
	const json_t *list = json_object_get(d->answer, "peers"), *peer;
	size_t n = json_array_size(list), i;

	d->peers = calloc(n + 1, sizeof(*d->peers));
	d->names = calloc(n + 1, sizeof(*d->names));
	d->since_s = calloc(n + 1, sizeof(*d->since_s));
	d->record = malloc(RECORD_MAX);
	if (!d->peers || !d->names || !d->since_s || !d->record)
		return CW_E_NO_MEMORY;
	d->names[0] = "";
	d->since_s[0] = d->now_s;
	d->n_peers = n + 1;
	json_array_foreach(list, i, peer) {
		struct cw_mrt_peer *p = &d->peers[i + 1];

		p->id = id_of(peer, "peer-router-id");
		p->asn = (uint32_t)cw_show_count(peer, "asn");
		d->names[i + 1] = cw_show_text(peer, "tunnel");
		d->since_s[i + 1] = (uint32_t)cw_show_count(peer, "since-wall-s");
		if (cw_addr_parse(cw_show_text(peer, "peer"), &p->addr) != CW_OK)
			p->addr = (struct cw_addr){ 0 };
		d->peers[0].id = id_of(peer, "router-id");
		d->peers[0].asn = (uint32_t)cw_show_count(peer, "local-asn");
	}
	return put(d, cw_mrt_peer_index(d->now_s, d->peers[0].id, "causeway", d->peers, d->n_peers, d->record,
					RECORD_MAX));
}

enum cw_rc cw_mrt_dump_new(FILE *to, const json_t *peers, uint32_t now_s, struct cw_mrt_dump **ret_dump)
{
	struct cw_mrt_dump *d = calloc(1, sizeof(*d));
	enum cw_rc rc = CW_E_NO_MEMORY;

	if (d) {
		d->to = to;
		d->now_s = now_s;
		d->answer = json_deep_copy(peers);
		rc = d->answer ? take_peers(d) : CW_E_NO_MEMORY;
	}
	if (rc != CW_OK) {
		cw_mrt_dump_free(d);
		return rc;
	}
	*ret_dump = d;
	return CW_OK;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: no octets in hex. */
static bool unhex(const char *s, uint8_t *buf, size_t size, size_t *ret_n)
{
	size_t n = strlen(s) / 2;

	if (strlen(s) % 2 || n > size)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = digit(s[2 * i]), low = digit(s[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		buf[i] = (uint8_t)(high << 4 | low);
	}
	*ret_n = n;
	return true;
}

static size_t peer_of(const struct cw_mrt_dump *d, const char *tunnel)
{
	for (size_t i = 0; i < d->n_peers; i++) {
		if (strcmp(d->names[i], tunnel) == 0)
			return i;
	}
	return d->n_peers;
}

static enum cw_rc add_path(struct cw_mrt_dump *d, struct cw_mrt_rib *rib, const json_t *route)
{
	size_t peer = peer_of(d, cw_show_text(route, "tunnel")), n;
	struct cw_addr hop = { 0 };

	if (peer == d->n_peers || !json_is_string(json_object_get(route, "attributes")) ||
	    !unhex(cw_show_text(route, "attributes"), d->attrs, sizeof(d->attrs), &n))
		return CW_E_INVALID;
	if (cw_addr_parse(cw_show_text(route, "next-hop"), &hop) != CW_OK)
		hop = (struct cw_addr){ 0 };
	return cw_mrt_rib_add(rib, (uint16_t)peer, d->since_s[peer], (struct cw_span){ .p = d->attrs, .n = n },
			      &hop) ? CW_OK : CW_E_TOO_BIG;
}

enum cw_rc cw_mrt_dump_routes(struct cw_mrt_dump *d, const json_t *answer)
{
	const json_t *routes = json_object_get(answer, "routes");
	size_t n = json_array_size(routes);
	enum cw_rc rc = json_is_array(routes) ? CW_OK : CW_E_INVALID;

	/* Paths of one prefix stand together, and no page parts them. */
	for (size_t i = 0, k; rc == CW_OK && i < n; i = k) {
		const char *text = cw_show_text(json_array_get(routes, i), "prefix");
		struct cw_mrt_rib rib;
		struct cw_prefix prefix;

		if (cw_prefix_parse(text, &prefix) != CW_OK)
			return CW_E_INVALID;
		cw_mrt_rib_begin(&rib, d->now_s, d->seq++, &prefix, d->record, RECORD_MAX);
		for (k = i; rc == CW_OK && k < n; k++) {
			const json_t *route = json_array_get(routes, k);

			if (strcmp(cw_show_text(route, "prefix"), text) != 0)
				break;
			rc = add_path(d, &rib, route);
		}
		if (rc == CW_OK)
			rc = put(d, cw_mrt_rib_end(&rib));
	}
	return rc;
}

void cw_mrt_dump_free(struct cw_mrt_dump *d)
{
	if (!d)
		return;
	free(d->peers);
	free(d->names);
	free(d->since_s);
	free(d->record);
	json_decref(d->answer);
	free(d);
}
