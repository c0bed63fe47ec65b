/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl_sample.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define COPY(field, text) snprintf((field), sizeof(field), "%s", (text))

static struct cw_addr addr(const char *text)
{
	struct cw_addr a;

	assert_int_equal(cw_addr_parse(text, &a), CW_OK);
	return a;
}

static struct cw_prefix prefix(const char *text)
{
	struct cw_prefix p;

	assert_int_equal(cw_prefix_parse(text, &p), CW_OK);
	return p;
}

static void add_step(struct cw_tunnel_view *v, int64_t ago_s, enum cw_tunnel_state from,
	enum cw_tunnel_state to, enum cw_cause cause)
{
	v->history[v->n_history++] = (struct cw_view_step){
		.at_wall_s = SAMPLE_NOW - ago_s, .from = from, .to = to, .cause = cause
	};
}

static void ike_up(struct cw_tunnel_view *v)
{
	v->has_ike = true;
	v->ike = (struct cw_ike_sa_info){
		.ike_id = 7,
		.spi_i = 0x1122334455667788,
		.spi_r = 0x99aabbccddeeff00,
		.state = CW_IKE_SA_ESTABLISHED,
		.version = 2,
		.initiator = true,
		.local = v->local_addr,
		.remote = v->remote_addr,
		.local_port = 4500,
		.remote_port = 4500,
		.nat_local = true,
		.encap = true,
		.local_id = "198.51.100.7",
		.proposal = "AES_CBC_256/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/MODP_2048",
		.established_s_ago = 11520,
		.rekey_in_s = 13380,
		.expires_in_s = 17280,
	};
	cw_addr_print(&v->remote_addr, v->ike.remote_id, sizeof(v->ike.remote_id));
}

static void up(struct cw_tunnel_view *v)
{
	v->local_addr = addr("10.0.0.4");
	v->state = CW_TUNNEL_UP;
	v->wanted_up = true;
	v->since_wall_s = SAMPLE_NOW - 11520;
	v->for_s = 11520;
	v->last_error = CW_CAUSE_NO_ANSWER;
	v->last_error_wall_s = SAMPLE_NOW - 11700;
	COPY(v->last_error_detail, "5 requests in 62 s");
	ike_up(v);
	v->n_children_wanted = 1;
	v->n_children = 1;
	v->children[0] = (struct cw_child_info){
		.child_id = 12,
		.ike_id = 7,
		.reqid = 0x63000100,
		.spi_in = 0xc1a2b3d4,
		.spi_out = 0x00beef01,
		.state = CW_CHILD_INSTALLED,
		.encap = true,
		.proposal = "AES_CBC_256/HMAC_SHA2_256_128/MODP_2048",
		.pfs = true,
		.n_local_ts = 1,
		.local_ts[0] = prefix("0.0.0.0/0"),
		.n_remote_ts = 1,
		.remote_ts[0] = prefix("0.0.0.0/0"),
		.bytes_in = 1288490188,
		.bytes_out = 96468992,
		.packets_in = 912345,
		.packets_out = 498001,
		.last_in_s_ago = 0,
		.last_out_s_ago = 3,
		.installed_s_ago = 1260,
		.rekey_in_s = 1740,
		.expires_in_s = 2340,
	};
	v->has_link = true;
	v->link_ok = true;
	v->link_kind = CW_LINK_XFRM;
	COPY(v->ifname, "cw-azure-weu-1");
	v->if_id = 0x63770001;
	v->mtu = 1400;
	v->inside_addr = prefix("169.254.21.2/30");
	v->routes[0] = (struct cw_view_route){
		.dst = prefix("10.20.0.0/16"), .installed = true, .metric = 100, .state = CW_VIEW_ROUTE_INSTALLED
	};
	v->routes[1] = (struct cw_view_route){
		.dst = prefix("fd00:20::/48"), .installed = true, .metric = 100, .state = CW_VIEW_ROUTE_INSTALLED
	};
	v->n_routes = 2;
	add_step(v, 11520, CW_TUNNEL_CONNECTING, CW_TUNNEL_UP, CW_CAUSE_NONE);
	add_step(v, 11522, CW_TUNNEL_WAITING, CW_TUNNEL_CONNECTING, CW_CAUSE_NONE);
	add_step(v, 11700, CW_TUNNEL_CONNECTING, CW_TUNNEL_WAITING, CW_CAUSE_NO_ANSWER);
	v->bgp = (struct cw_view_bgp){ .peer = addr("169.254.21.1"), .established = true, .state = "established",
		.for_s = 11400, .received = 14, .selected = 11, .announced = 3 };
	v->bytes_in = 5368709120;
	v->bytes_out = 402653184;
	v->packets_in = 3801438;
	v->packets_out = 2075004;
	v->times_up = 1;
	v->dead_after_s = 13;
}

static void waiting(struct cw_tunnel_view *v)
{
	v->local_addr = addr("10.0.0.4");
	v->state = CW_TUNNEL_WAITING;
	v->wanted_up = true;
	v->since_wall_s = SAMPLE_NOW - 18;
	v->for_s = 18;
	v->cause = v->last_error = CW_CAUSE_AUTH_BY_PEER;
	COPY(v->detail, "AUTHENTICATION_FAILED in IKE_AUTH");
	COPY(v->last_error_detail, v->detail);
	v->last_error_wall_s = SAMPLE_NOW - 18;
	v->attempt = 7;
	v->next_try_in_s = 42;
	v->n_children_wanted = 1;
	v->has_link = true;
	v->link_ok = true;
	COPY(v->ifname, "cw-azure-weu-2");
	v->if_id = 0x63770002;
	v->mtu = 1400;
	v->routes[0] = (struct cw_view_route){ .dst = prefix("10.20.0.0/16"), .metric = 101 };
	v->n_routes = 1;
	add_step(v, 18, CW_TUNNEL_CONNECTING, CW_TUNNEL_WAITING, CW_CAUSE_AUTH_BY_PEER);
}

static void ike_only(struct cw_tunnel_view *v)
{
	v->local_addr = addr("10.0.0.4");
	v->state = CW_TUNNEL_IKE_ONLY;
	v->wanted_up = true;
	v->since_wall_s = SAMPLE_NOW - 300;
	v->for_s = 300;
	v->cause = v->last_error = CW_CAUSE_TS_UNACCEPTABLE;
	COPY(v->detail, "TS_UNACCEPTABLE for 10.10.0.0/16 === 192.168.7.0/24");
	COPY(v->last_error_detail, v->detail);
	v->last_error_wall_s = SAMPLE_NOW - 20;
	v->attempt = 4;
	v->next_try_in_s = 40;
	ike_up(v);
	v->ike.version = 1;
	v->ike.initiator = false;
	v->n_children_wanted = 2;
	v->n_children = 1;
	v->children[0] = (struct cw_child_info){
		.child_id = 3,
		.ike_id = 7,
		.pair = 1,
		.reqid = 0x63000301,
		.spi_in = 0xcafe0001,
		.spi_out = 0xcafe0002,
		.state = CW_CHILD_REKEYING,
		.proposal = "AES_GCM_16_256",
		.n_local_ts = 1,
		.local_ts[0] = prefix("10.10.0.0/16"),
		.n_remote_ts = 6,
		.remote_ts = { prefix("192.168.8.0/24"), prefix("192.168.9.0/24"),
			prefix("192.168.10.0/24"), prefix("192.168.11.0/24") },
		.narrowed = true,
		.last_in_s_ago = -1,
		.last_out_s_ago = -1,
		.rekey_in_s = -1,
		.expires_in_s = 3600,
	};
	v->last_rekey_error = CW_CAUSE_DH_GROUP;
	COPY(v->last_rekey_detail, "we offer ECP_384, the peer wants MODP_2048");
}

void sample_view(size_t i, struct cw_tunnel_view *v)
{
	static const struct {
		const char *name, *site, *profile, *remote, *remote_addr;
	} rows[SAMPLE_TUNNELS] = {
		{ "azure-weu-1", "azure-weu", "azure", "203.0.113.11", "203.0.113.11" },
		{ "azure-weu-2", "azure-weu", "azure", "203.0.113.12", "203.0.113.12" },
		{ "branch", "branch", "generic", "branch.example.net", "2001:db8:7::1" },
		{ "lab", "lab", "causeway", "lab.example.net", NULL },
		{ "oldsite", "oldsite", "generic", "192.0.2.300", NULL },
	};

	assert_true(i < SAMPLE_TUNNELS);
	*v = (struct cw_tunnel_view){ .next_try_in_s = -1 };
	COPY(v->name, rows[i].name);
	COPY(v->site, rows[i].site);
	COPY(v->profile, rows[i].profile);
	COPY(v->remote, rows[i].remote);
	if (rows[i].remote_addr)
		v->remote_addr = addr(rows[i].remote_addr);
	v->since_wall_s = SAMPLE_NOW - 86400;
	v->for_s = 86400;
	switch (i) {
	case 0:
		up(v);
		break;
	case 1:
		waiting(v);
		break;
	case 2:
		ike_only(v);
		break;
	case 3:
		v->state = CW_TUNNEL_DOWN;
		v->cause = CW_CAUSE_OPERATOR;
		v->n_children_wanted = 1;
		break;
	default:
		v->state = CW_TUNNEL_CONF_ERROR;
		v->wanted_up = true;
		v->cause = CW_CAUSE_CONFIG;
		COPY(v->conf_error,
			"causeway.conf:31: remote \"192.0.2.300\" is no address and no name");
		break;
	}
}

void sample_gateway(struct cw_gateway_view *v)
{
	*v = (struct cw_gateway_view){
		.name = "homelab",
		.version = "0.1.0",
		.ike_engine = "libcharon 5.9.8",
		.kernel = "6.1.0-18-amd64",
		.conf_path = "/etc/causeway/causeway.conf",
		.data_plane = "kernel",
		.data_plane_why = "ESP and xfrm interfaces",
		.started_wall_s = SAMPLE_NOW - 93600,
		.up_for_s = 93600,
		.forwarding4 = true,
		.xfrm_in_no_pols = 3,
		.n_conf_errors = 1,
	};
}

/* ---- BGP ---- */

static void established(struct cw_bgp_neighbour_view *v)
{
	struct cw_bgp_peer_view *p = &v->peer;

	p->state = CW_BGP_STATE_ESTABLISHED;
	p->for_s = 11400;
	p->since_wall_s = SAMPLE_NOW - 11400;
	p->times_up = 2;
	p->ours = true;
	p->hold_s = 180;
	p->keepalive_s = 60;
	p->hold_left_s = 171;
	p->keepalive_left_s = 12;
	p->peer_id = 0xa9fe1501;
	p->as4 = p->gr = true;
	p->has_our_caps = p->has_peer_caps = true;
	p->our_caps = (struct cw_bgp_caps){ .mp_any = true, .mp = { true, true }, .refresh = true, .as4 = true,
		.enhanced_refresh = true, .ext_message = true, .ext_next_hop = true, .gr = true, .gr_time_s = 120,
		.n_codes = 3, .codes = { 1, 2, 65 } };
	p->peer_caps = (struct cw_bgp_caps){ .mp_any = true, .mp = { true, false }, .refresh = true, .as4 = true,
		.role = true, .role_value = 3 };
	p->family[CW_BGP_IPV4] = (struct cw_bgp_view_family){ .offered = true, .agreed = true, .eor_in = true,
		.stale_left_s = -1 };
	p->family[CW_BGP_IPV6] = (struct cw_bgp_view_family){ .offered = true, .stale_left_s = -1 };
	v->routes[CW_BGP_IPV4] = (struct cw_bgp_view_routes){ .received = 14, .accepted = 12, .selected = 11,
		.announced = 3, .surplus = 1, .refused = { [1] = 1, [3] = 1 } };
	p->messages.in[CW_BGP_UPDATE] = 9;
	p->messages.in[CW_BGP_KEEPALIVE] = 190;
	p->messages.out[CW_BGP_OPEN] = 2;
	p->messages.out[CW_BGP_KEEPALIVE] = 191;
	p->last_error = CW_BGP_CAUSE_NOTIFICATION;
	p->last_error_wall_s = SAMPLE_NOW - 11460;
	COPY(p->last_error_text, "Cease, Administrative Shutdown (6/2): maintenance");
	p->received = (struct cw_bgp_view_notification){ .present = true, .at_wall_s = SAMPLE_NOW - 11460, .code = 6,
		.subcode = 2, .data = { 11, 'm', 'a', 'i', 'n', 't', 'e', 'n', 'a', 'n', 'c', 'e' }, .n_data = 12 };
	COPY(p->received.text, "Cease, Administrative Shutdown (6/2): maintenance");
	v->attrs_discarded = 2;
	v->treated_as_withdrawn = 1;
	COPY(v->last_fault, "ORIGIN has the value 7: octets 40010107");
	p->history[0] = (struct cw_bgp_view_step){ SAMPLE_NOW - 11400, CW_BGP_STATE_OPEN_CONFIRM,
		CW_BGP_STATE_ESTABLISHED, CW_BGP_CAUSE_NONE };
	p->history[1] = (struct cw_bgp_view_step){ SAMPLE_NOW - 11460, CW_BGP_STATE_ESTABLISHED, CW_BGP_STATE_IDLE,
		CW_BGP_CAUSE_NOTIFICATION };
	p->n_history = 2;
}

void sample_neighbour(size_t i, struct cw_bgp_neighbour_view *v)
{
	static const struct {
		const char *name, *site, *peer, *local;
		uint32_t asn;
	} rows[SAMPLE_NEIGHBOURS] = {
		{ "azure-weu-1", "azure-weu", "169.254.21.1", "169.254.21.2", 65515 },
		{ "azure-weu-2", "azure-weu", "169.254.22.1", "169.254.22.2", 65515 },
		{ "branch", "branch", "2001:db8:7777:8888:9999:aaaa:bbbb:cccc", "2001:db8:7::2", 4200000001 },
		{ "lab", "lab", "10.99.0.1", "10.99.0.2", 64512 },
	};
	struct cw_bgp_peer_view *p = &v->peer;

	assert_true(i < SAMPLE_NEIGHBOURS);
	*v = (struct cw_bgp_neighbour_view){ .net_up = i != 3, .own_networks = true };
	COPY(p->conf.name, rows[i].name);
	COPY(v->site, rows[i].site);
	snprintf(v->ifname, sizeof(v->ifname), "cw-%s", rows[i].name);
	p->conf.remote = addr(rows[i].peer);
	p->conf.local = addr(rows[i].local);
	p->conf.remote_asn = rows[i].asn;
	p->conf.local_asn = 64999;
	p->conf.router_id = 0x0a000004;
	p->next_try_in_s = p->hold_left_s = p->keepalive_left_s = p->send_hold_left_s = p->restart_left_s = -1;
	p->for_s = 125;
	p->since_wall_s = SAMPLE_NOW - 125;
	switch (i) {
	case 0:
		established(v);
		break;
	case 1:
		p->state = CW_BGP_STATE_CONNECT;
		p->last_error = CW_BGP_CAUSE_CONNECT_FAILED;
		COPY(p->last_error_text, "no answer");
		p->last_error_wall_s = SAMPLE_NOW - 5;
		p->failures = 3;
		break;
	case 2:
		p->wait = CW_BGP_WAIT_PREFIXES;
		p->cause = p->last_error = CW_BGP_CAUSE_PREFIX_LIMIT;
		COPY(p->why, "limit 4000, got 4001");
		COPY(p->last_error_text, p->why);
		p->sent = (struct cw_bgp_view_notification){ .present = true, .at_wall_s = SAMPLE_NOW - 125, .code = 6,
			.subcode = 1 };
		COPY(p->sent.text, "Cease, Maximum Number of Prefixes Reached (6/1)");
		break;
	default:
		p->wait = CW_BGP_WAIT_NET;
		p->cause = CW_BGP_CAUSE_NET_DOWN;
		break;
	}
}

void sample_route(size_t i, struct cw_bgp_route_view *v)
{
	static const struct {
		const char *prefix, *hop, *name, *why, *path;
		bool best, multipath, installed, stale;
	} rows[SAMPLE_ROUTES] = {
		{ "10.10.0.0/16", NULL, NULL, "", "", .best = true },
		{ "10.20.0.0/16", "169.254.21.1", "azure-weu-1", "", "65515", .best = true, .installed = true },
		{ "10.20.0.0/16", "169.254.22.1", "azure-weu-2", "longer AS path", "65515 65515 65515",
			.best = false },
		{ "10.21.0.0/24", "169.254.21.1", "azure-weu-1", "", "65515 {64512 64513}", .best = true },
		{ "10.22.0.0/24", "169.254.22.1", "azure-weu-2", "", "65515", .multipath = true, .installed = true,
			.stale = true },
		{ "203.0.113.128/25", "169.254.22.1", "azure-weu-2", "accept does not name it",
			"4200000001 4200000002 4200000003 4200000004 4200000005", .best = false },
		{ "2001:db8:1234:5678:9abc:def0:1234:0/112", "2001:db8:7777:8888:9999:aaaa:bbbb:cccc", "branch", "",
			"4200000001 65001", .best = true, .installed = true },
	};
	static const uint8_t attrs[] = { 0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xff, 0xeb };

	assert_true(i < SAMPLE_ROUTES);
	*v = (struct cw_bgp_route_view){ .prefix = prefix(rows[i].prefix), .own = !rows[i].name,
		.best = rows[i].best, .multipath = rows[i].multipath, .installed = rows[i].installed,
		.stale = rows[i].stale, .has_med = i == 2, .med = 100, .refused = i == 5 };
	if (rows[i].name)
		COPY(v->neighbour, rows[i].name);
	if (rows[i].hop)
		v->next_hop = v->from = addr(rows[i].hop);
	COPY(v->why_not, rows[i].why);
	COPY(v->as_path, rows[i].path);
	COPY(v->communities, i == 1 ? "65515:1 no-export" : "");
	v->attrs = (struct cw_span){ .p = attrs, .n = sizeof(attrs) };
}

static const char *port_bgp_off(void *arg)
{
	return ((struct sample *)arg)->n_neighbours ? NULL : "no tunnel has a bgp-peer";
}

static size_t port_bgp_count(void *arg)
{
	return ((struct sample *)arg)->n_neighbours;
}

static void port_bgp_view(void *arg, size_t i, struct cw_bgp_neighbour_view *ret_view)
{
	(void)arg;
	sample_neighbour(i, ret_view);
}

static enum cw_rc port_bgp_find(void *arg, const char *name, size_t *ret_i)
{
	static struct cw_bgp_neighbour_view view;
	char text[CW_ADDR_TEXT_MAX];

	for (size_t i = 0; i < ((struct sample *)arg)->n_neighbours; i++) {
		sample_neighbour(i, &view);
		if (strcmp(view.peer.conf.name, name) != 0 &&
			strcmp(cw_addr_print(&view.peer.conf.remote, text, sizeof(text)), name) != 0)
			continue;
		*ret_i = i;
		return CW_OK;
	}
	return CW_E_NOT_FOUND;
}

static void port_bgp_reset(void *arg, size_t i, enum cw_bgp_reset reset)
{
	struct sample *s = arg;

	s->reset_i = i;
	s->resets[reset]++;
}

static bool same_prefix(const struct cw_prefix *a, const struct cw_prefix *b)
{
	return a->len == b->len && cw_addr_equal(&a->addr, &b->addr);
}

static bool port_bgp_routes(void *arg, struct cw_bgp_route_query *query,
	void (*fn)(void *fn_arg, const struct cw_bgp_route_view *view), void *fn_arg)
{
	static struct cw_bgp_route_view view;
	struct sample *s = arg;
	size_t n = 0, i = 0;

	s->query = *query;
	for (; query->has_after && i < SAMPLE_ROUTES; i++) {
		sample_route(i, &view);
		if (same_prefix(&view.prefix, &query->after)) {
			while (++i < SAMPLE_ROUTES && (sample_route(i, &view), same_prefix(&view.prefix, &query->after)))
				;
			break;
		}
	}
	for (; i < SAMPLE_ROUTES; i++) {
		sample_route(i, &view);
		if (!(n && same_prefix(&view.prefix, &query->after)) && n++ == query->max)
			return true;
		query->has_after = true;
		query->after = view.prefix;
		fn(fn_arg, &view);
	}
	return false;
}

static void port_gateway(void *arg, struct cw_gateway_view *ret_view)
{
	(void)arg;
	sample_gateway(ret_view);
}

static size_t port_count(void *arg)
{
	return ((struct sample *)arg)->n_tunnels;
}

static void port_tunnel(void *arg, size_t i, struct cw_tunnel_view *ret_view)
{
	(void)arg;
	sample_view(i % SAMPLE_TUNNELS, ret_view);
}

static enum cw_rc order(
	struct sample *s, const char *name, const char *tunnel, char *reterr, size_t size)
{
	s->order = name;
	snprintf(s->tunnel, sizeof(s->tunnel), "%s", tunnel);
	if (s->answer != CW_OK && s->answer_text)
		snprintf(reterr, size, "%s", s->answer_text);
	return s->answer;
}

static enum cw_rc port_up(void *arg, const char *tunnel, char *reterr, size_t size)
{
	return order(arg, "up", tunnel, reterr, size);
}

static enum cw_rc port_down(void *arg, const char *tunnel, char *reterr, size_t size)
{
	return order(arg, "down", tunnel, reterr, size);
}

static enum cw_rc port_restart(void *arg, const char *tunnel, char *reterr, size_t size)
{
	return order(arg, "restart", tunnel, reterr, size);
}

static enum cw_rc port_rekey(void *arg, const char *tunnel, bool child, char *reterr, size_t size)
{
	((struct sample *)arg)->child = child;
	return order(arg, "rekey", tunnel, reterr, size);
}

struct cw_ctl_port sample_port(struct sample *sample)
{
	return (struct cw_ctl_port){
		.gateway_view = port_gateway,
		.tunnel_count = port_count,
		.tunnel_view = port_tunnel,
		.up = port_up,
		.down = port_down,
		.restart = port_restart,
		.rekey = port_rekey,
		.bgp_off = port_bgp_off,
		.bgp_count = port_bgp_count,
		.bgp_view = port_bgp_view,
		.bgp_find = port_bgp_find,
		.bgp_reset = port_bgp_reset,
		.bgp_routes = port_bgp_routes,
		.arg = sample,
	};
}
