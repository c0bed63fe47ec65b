/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/speaker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/speaker_priv.h"

/* RFC 4271 10 suggests 120 s to connect again and leaves the rest open. A tunnel that is there wants its routes:
 * we try soon, and slow down when it does not work. */
#define CONNECT_RETRY_S 5
#define IDLE_HOLD_MIN_S 1
#define IDLE_HOLD_MAX_S 60
#define STABLE_S 120
#define GR_TIME_MAX_S 600
#define GR_STALE_S 360
#define GR_DEFER_S 60
#define WARN_PERCENT 80

#define SWEEP_S 60 /* after the start, adopted routes that nobody announced go (BL-126) */

struct cw_time cw_speaker_now(const struct cw_speaker *sp)
{
	return cw_loop_now(sp->loop);
}

/* ---- settings ---- */

static uint8_t role_of(enum cw_bgp_role_conf role)
{
	switch (role) {
	case CW_BGP_ROLE_CONF_PROVIDER:
		return CW_BGP_ROLE_PROVIDER;
	case CW_BGP_ROLE_CONF_CUSTOMER:
		return CW_BGP_ROLE_CUSTOMER;
	case CW_BGP_ROLE_CONF_PEER:
		return CW_BGP_ROLE_PEER;
	case CW_BGP_ROLE_CONF_RS:
		return CW_BGP_ROLE_RS;
	case CW_BGP_ROLE_CONF_RS_CLIENT:
		return CW_BGP_ROLE_RS_CLIENT;
	case CW_BGP_ROLE_CONF_NONE:
		break;
	}
	return CW_BGP_PEER_NO_ROLE;
}

static uint32_t number_of(const struct cw_addr *a)
{
	return (uint32_t)a->bytes[0] << 24 | (uint32_t)a->bytes[1] << 16 |
	       (uint32_t)a->bytes[2] << 8 | a->bytes[3];
}

/* The BGP identifier (RFC 4271 4.2, 6286): the setting, else an IPv4 address that we speak BGP from. */
static uint32_t router_id(const struct cw_speaker *sp)
{
	const struct cw_gateway_conf *gw = &sp->conf->gateway;

	if (gw->router_id.family == CW_FAMILY_IPV4)
		return number_of(&gw->router_id);
	if (gw->bgp_addr.family == CW_FAMILY_IPV4)
		return number_of(&gw->bgp_addr);
	for (size_t i = 0; i < sp->n; i++) {
		if (sp->v[i].conf->bgp.local.family == CW_FAMILY_IPV4)
			return number_of(&sp->v[i].conf->bgp.local);
	}
	/* IPv6 alone: any number that is not 0 and unlikely to be the peer's will do (RFC 6286 2.1). */
	return sp->conf->gateway.asn ^ 0x80000000u ? sp->conf->gateway.asn ^ 0x80000000u : 1;
}

static struct cw_bgp_peer_conf peer_conf(const struct cw_speaker *sp, const struct neighbour *nb)
{
	const struct cw_bgp_conf *b = &nb->conf->bgp;
	struct cw_bgp_peer_conf conf = {
		.local_asn = sp->conf->gateway.asn,
		.remote_asn = nb->conf->site->asn,
		.router_id = router_id(sp),
		.local = b->local,
		.remote = b->peer,
		.active = b->connect != CW_BGP_CONNECT_PASSIVE,
		.passive = b->connect != CW_BGP_CONNECT_ACTIVE,
		.hold_s = b->hold_s,
		.hold_min_s = b->hold_min_s,
		.connect_retry_s = CONNECT_RETRY_S,
		.idle_hold_min_s = IDLE_HOLD_MIN_S,
		.idle_hold_max_s = IDLE_HOLD_MAX_S,
		.stable_s = STABLE_S,
		.ext_message = true,
		.ext_next_hop = true,
		.role = role_of(b->role),
		.role_strict = b->role_strict,
		.gr = b->graceful_restart,
		.gr_time_s = b->restart_s,
		.gr_time_max_s = GR_TIME_MAX_S,
		.gr_stale_s = GR_STALE_S,
		.gr_defer_s = GR_DEFER_S,
		.max_prefixes = b->max_prefixes,
		.max_prefixes_warn = WARN_PERCENT,
		.max_prefixes_restart_s = b->max_prefixes_restart_s,
		.ttl = b->ttl,
		.gtsm = b->gtsm,
		.md5_generation = b->password ? 1 : 0,
		.check_first_as = b->check_first_as,
	};

	memcpy(conf.name, nb->conf->name, sizeof(conf.name));
	conf.family[CW_BGP_IPV4] = b->peer.family == CW_FAMILY_IPV4 || !b->ipv6;
	conf.family[CW_BGP_IPV6] = b->ipv6 || b->peer.family == CW_FAMILY_IPV6;
	return conf;
}

/* ---- steps ---- */

static void run_action(struct cw_speaker *sp, size_t peer, const struct cw_bgp_action *a)
{
	struct neighbour *nb = &sp->v[peer];
	struct conn *c = a->conn < CW_BGP_CONNS ? &nb->conns[a->conn] : NULL;

	switch (a->kind) {
	case CW_BGP_ACT_CONNECT:
		cw_speaker_conn_connect(sp, peer);
		break;
	case CW_BGP_ACT_ACCEPT:
		cw_speaker_conn_take(sp, peer, sp->accepted_fd);
		sp->accepted_fd = -1;
		break;
	case CW_BGP_ACT_REFUSE:
		if (a->bytes.n && write(sp->accepted_fd, a->bytes.p, a->bytes.n) < 0)
			cw_tcp_abort(sp->accepted_fd);
		else
			cw_speaker_close_gently(sp, sp->accepted_fd);
		sp->accepted_fd = -1;
		break;
	case CW_BGP_ACT_SEND:
		cw_speaker_conn_send(sp, c, a->bytes);
		break;
	case CW_BGP_ACT_CLOSE:
		cw_speaker_conn_close(sp, c, a->discard);
		break;
	case CW_BGP_ACT_UP:
		cw_speaker_on_up(sp, peer);
		break;
	case CW_BGP_ACT_DOWN:
		cw_speaker_on_down(sp, peer, a->keep);
		break;
	case CW_BGP_ACT_DELIVER_UPDATE:
		break; /* after the others: cw_speaker_step() */
	case CW_BGP_ACT_SEND_ALL:
		cw_speaker_send_all(sp, peer, a->family, a->marked);
		break;
	case CW_BGP_ACT_STALE_MARK:
		cw_bgp_rib_stale(sp->rib, nb->source, a->family);
		break;
	case CW_BGP_ACT_STALE_SWEEP:
		cw_bgp_rib_sweep(sp->rib, nb->source, a->family);
		break;
	case CW_BGP_ACT_LOG:
		cw_log(a->level, a->log_id, nb->conf->name, "%s", a->text);
		break;
	}
}

void cw_speaker_step(struct cw_speaker *sp, size_t peer, const struct cw_bgp_event *ev)
{
	struct neighbour *nb = &sp->v[peer];
	enum cw_bgp_state before;
	bool deliver = false;

	if (sp->stepping) {
		/* Two connections a neighbour, each blocked or closed once within a step: it can't be full. */
		if (sp->n_later < LATER_MAX) {
			sp->later[sp->n_later].peer = peer;
			sp->later[sp->n_later++].ev = *ev;
		}
		return;
	}
	before = cw_bgp_peer_state(nb->machine);
	cw_bgp_peer_step(nb->machine, ev, cw_speaker_now(sp), &sp->actions);
	sp->stepping = true;
	for (size_t i = 0; i < sp->actions.n; i++) {
		deliver |= sp->actions.v[i].kind == CW_BGP_ACT_DELIVER_UPDATE;
		run_action(sp, peer, &sp->actions.v[i]);
	}
	sp->stepping = false;
	if (sp->mrt_fd >= 0 && before != cw_bgp_peer_state(nb->machine))
		cw_speaker_mrt_state(sp, peer, before, cw_bgp_peer_state(nb->machine));
	if (deliver)
		cw_speaker_on_update(sp, peer, ev->body);
	while (sp->n_later && !sp->stepping) {
		size_t next = sp->later[0].peer;
		struct cw_bgp_event later = sp->later[0].ev;

		memmove(&sp->later[0], &sp->later[1], --sp->n_later * sizeof(sp->later[0]));
		cw_speaker_step(sp, next, &later);
	}
}

/* ---- start and stop ---- */

static enum cw_rc make_neighbours(struct cw_speaker *sp, const struct cw_speaker_parts *parts)
{
	sp->v = calloc(parts->n_tunnels ? parts->n_tunnels : 1, sizeof(*sp->v));
	if (!sp->v)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < parts->n_tunnels; i++) {
		struct neighbour *nb = &sp->v[sp->n++];

		nb->conf = parts->tunnels[i].conf;
		nb->ifname = parts->tunnels[i].ifname;
		nb->cost = parts->tunnels[i].cost;
		nb->fault_logged_at = CW_TIME_NEVER;
		for (int k = 0; k < CW_BGP_CONNS; k++)
			nb->conns[k] = (struct conn){ .speaker = sp, .peer = i, .fd = -1,
						      .which = (enum cw_bgp_conn)k };
	}
	for (size_t i = 0; i < sp->n; i++) {
		struct cw_bgp_peer_conf conf = peer_conf(sp, &sp->v[i]);

		sp->v[i].machine = cw_bgp_peer_new(&conf, parts->seed ^ (i + 1) * 0x9e3779b97f4a7c15ULL,
						   cw_speaker_now(sp));
		if (!sp->v[i].machine)
			return CW_E_NO_MEMORY;
	}
	return CW_OK;
}

static void start(struct cw_speaker *sp)
{
	struct cw_bgp_event down = { .kind = CW_BGP_EV_NET_DOWN };
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_START };

	/* Routes that were adopted are still carried: so the peers' are, as RFC 4724 4.1 wants to know. */
	ev.restarting = ev.forwarding = sp->adopted > 0;
	sp->sweep_at = sp->adopted ? cw_time_add_s(cw_speaker_now(sp), SWEEP_S) : CW_TIME_NEVER;
	for (size_t i = 0; i < sp->n; i++) {
		cw_speaker_step(sp, i, &down);
		cw_speaker_step(sp, i, &ev);
	}
}

enum cw_rc cw_speaker_new(const struct cw_speaker_parts *parts, struct cw_speaker **ret_speaker,
			  char *reterr, size_t size)
{
	struct cw_speaker *sp = calloc(1, sizeof(*sp));
	enum cw_rc rc;

	snprintf(reterr, size, "%s", cw_rc_name(CW_E_NO_MEMORY));
	if (!sp)
		return CW_E_NO_MEMORY;
	sp->conf = parts->conf;
	sp->loop = parts->loop;
	sp->port = parts->port;
	sp->accepted_fd = sp->mrt_fd = -1;
	sp->unknown_logged_at = sp->foreign_logged_at = sp->sweep_at = CW_TIME_NEVER;
	sp->retry_at = sp->accept_again = CW_TIME_NEVER;
	for (size_t i = 0; i < CLOSERS_MAX; i++)
		sp->closers[i].fd = -1;
	rc = make_neighbours(sp, parts);
	if (rc == CW_OK)
		rc = cw_speaker_routes_new(sp, reterr, size);
	if (rc == CW_OK)
		rc = cw_speaker_listen(sp, reterr, size);
	if (rc != CW_OK) {
		cw_speaker_free(sp);
		return rc;
	}
	cw_speaker_mrt_open(sp);
	start(sp);
	*ret_speaker = sp;
	return CW_OK;
}

void cw_speaker_free(struct cw_speaker *sp)
{
	struct cw_bgp_event stop = { .kind = CW_BGP_EV_STOP, .subcode = CW_BGP_CEASE_SHUTDOWN };

	if (!sp)
		return;
	sp->stopping = true;
	for (size_t i = 0; i < sp->n; i++) {
		if (sp->v[i].machine)
			cw_speaker_step(sp, i, &stop);
		for (int k = 0; k < CW_BGP_CONNS; k++)
			cw_speaker_conn_close(sp, &sp->v[i].conns[k], false);
	}
	cw_speaker_closers_turn(sp, cw_speaker_now(sp), true);
	for (size_t i = 0; i < sp->n_listeners; i++) {
		cw_loop_unwatch(sp->loop, sp->listeners[i].fd);
		close(sp->listeners[i].fd);
	}
	free(sp->listeners);
	cw_speaker_mrt_close(sp);
	for (size_t i = 0; i < sp->n; i++)
		cw_bgp_out_free(sp->v[i].out);
	cw_speaker_routes_free(sp);
	for (size_t i = 0; i < sp->n; i++)
		cw_bgp_peer_free(sp->v[i].machine);
	free(sp->v);
	free(sp);
}

void cw_speaker_net(struct cw_speaker *sp, size_t i, bool up)
{
	struct neighbour *nb = &sp->v[i];
	struct cw_bgp_event ev = { .kind = up ? CW_BGP_EV_NET_UP : CW_BGP_EV_NET_DOWN };

	if (nb->net_up == up)
		return;
	nb->net_up = up;
	cw_speaker_on_net(sp, i);
	cw_speaker_step(sp, i, &ev);
}

void cw_speaker_reset(struct cw_speaker *sp, size_t i, enum cw_bgp_reset reset)
{
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_RESET, .reset = reset };

	cw_speaker_step(sp, i, &ev);
}

struct cw_time cw_speaker_turn(struct cw_speaker *sp, struct cw_time now)
{
	static const struct cw_bgp_event timer = { .kind = CW_BGP_EV_TIMER };
	struct cw_time due = CW_TIME_NEVER;
	bool more;

	for (size_t i = 0; i < sp->n; i++) {
		if (cw_time_reached(cw_bgp_peer_next_due(sp->v[i].machine), now))
			cw_speaker_step(sp, i, &timer);
	}
	more = cw_speaker_work(sp, now);
	cw_speaker_closers_turn(sp, now, false);
	cw_speaker_listeners_turn(sp, now);
	cw_speaker_mrt_flush(sp);
	for (size_t i = 0; i < sp->n; i++)
		due = cw_time_min(due, cw_bgp_peer_next_due(sp->v[i].machine));
	due = cw_time_min(due, cw_speaker_closers_due(sp));
	due = cw_time_min(due, sp->retry_at);
	due = cw_time_min(due, sp->accept_again);
	if (!cw_time_is_never(sp->sweep_at))
		due = cw_time_min(due, cw_time_add_s(now, 1)); /* looks whether all have said theirs */
	return more ? now : due;
}
