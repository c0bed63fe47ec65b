/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/secret.h"
#include "daemon/gateway_priv.h"
#include "daemon/speaker.h"
#include "io/mailbox.h"
#include "io/notify.h"

#define WORK_A_TURN 4 /* tries and interfaces: so that the control socket is heard in between */
#define SAMPLE_A_TURN 16
#define POLL_PATIENCE_S 10 /* a snapshot that does not come is asked for again */
#define POLL_SOON_MS 100   /* pause between two snapshots on demand */
#define STOP_WAIT_MS 2000
/* A thousand attempts at once would all be slow, and to a peer that is the other end of many look like an
 * attack (RFC 7296 2.6): so the next ones wait while so much of the engine's work does. */
#define BACKLOG_MAX 4
#define BACKLOG_PAUSE_MS 10

struct cw_time cw_gateway_now(const struct cw_gateway *gw)
{
	return cw_loop_now(gw->parts.loop);
}

/* ---- actions ---- */

static void poll_soon(struct cw_gateway *gw)
{
	gw->poll_due = cw_time_min(gw->poll_due, cw_time_add_ms(cw_gateway_now(gw), POLL_SOON_MS));
}

static void carry_out(struct cw_gateway *gw, struct slot *s, const struct cw_tunnel_action *a)
{
	struct cw_ike *ike = gw->ike;

	switch (a->kind) {
	case CW_TA_RESOLVE:
		cw_gateway_resolve(gw, s);
		break;
	case CW_TA_ENGINE_SET:
		cw_gateway_engine_set(gw, s);
		break;
	case CW_TA_ENGINE_REMOVE:
		ike->ops->tunnel_remove(ike, s->index);
		break;
	case CW_TA_INITIATE:
		/* With the settings refused it would use those of an earlier try. */
		if (s->engine_refused)
			break;
		if (cw_tunnel_primary(s->tunnel))
			ike->ops->initiate(ike, s->index, a->pair);
		else
			cw_gateway_todo(gw, s, TODO_INITIATE);
		break;
	case CW_TA_TERMINATE_IKE:
		ike->ops->terminate_ike(ike, a->id, a->force);
		break;
	case CW_TA_TERMINATE_CHILD:
		ike->ops->terminate_child(ike, a->id);
		break;
	case CW_TA_REKEY_CHILD:
		ike->ops->rekey_child(ike, a->id);
		break;
	case CW_TA_CHECK_ALIVE:
		ike->ops->check_alive(ike, a->id);
		break;
	case CW_TA_POLL:
		poll_soon(gw);
		break;
	case CW_TA_CARRYING:
		cw_gateway_todo(gw, s, TODO_ROUTES);
		break;
	case CW_TA_LOG:
		cw_log(a->level, a->log_id, s->conf->name, "%s", a->text);
		break;
	}
}

void cw_gateway_step(struct cw_gateway *gw, struct slot *s, const struct cw_tunnel_event *ev)
{
	struct cw_tunnel_actions actions;

	cw_tunnel_step(s->tunnel, ev, cw_gateway_now(gw), &actions);
	for (size_t i = 0; i < actions.n; i++)
		carry_out(gw, s, &actions.v[i]);
	gw->tunnels_due = cw_time_min(gw->tunnels_due, cw_tunnel_next_due(s->tunnel));
	if (s->engine_refused)
		cw_gateway_engine_refused(gw, s);
}

/* ---- events ---- */

static struct slot *slot_of(struct cw_gateway *gw, const struct cw_ike_event *ev)
{
	struct slot *s = ev->index < gw->n_slots ? &gw->slots[ev->index] : NULL;

	return s && cw_tunnel_generation(s->tunnel) == ev->generation ? s : NULL;
}

/* Letters were refused: whatever the running snapshot did not show may be among them, so it counts for
 * nothing and is asked for anew. */
static bool mail_lost(struct cw_gateway *gw)
{
	if (!cw_mailbox_lost(gw->parts.box))
		return false;
	cw_log(CW_LOG_INFO, CW_LOG_KERNEL_RESYNC, "gateway", "IKE events were lost; asking for all SAs again");
	gw->poll_running = false;
	gw->poll_no++;
	poll_soon(gw);
	return true;
}

/* Its attempt is not with the engine yet, so no snapshot could show it. */
static bool attempt_waits(const struct slot *s)
{
	return s->todo[TODO_INITIATE] && cw_tunnel_state(s->tunnel) == CW_TUNNEL_CONNECTING;
}

static void on_snapshot(struct cw_gateway *gw, const struct cw_ike_event *ev)
{
	struct slot *s = slot_of(gw, ev);

	if (ev->poll != gw->poll_no)
		return;
	if (!ev->no_ike && s) {
		struct cw_tunnel_event tev = { .kind = CW_TEV_SNAPSHOT, .ike = ev };

		cw_gateway_step(gw, s, &tev);
	} else if (!ev->no_ike && ev->ike.state == CW_IKE_SA_ESTABLISHED) {
		/* Of no tunnel that we know: nobody would ever close it. */
		gw->ike->ops->terminate_ike(gw->ike, ev->ike.ike_id, false);
	}
	if (!ev->last || mail_lost(gw))
		return;
	gw->poll_running = false;
	gw->poll_due = cw_time_min(gw->poll_due, cw_time_add_s(cw_gateway_now(gw), CW_GATEWAY_POLL_S));
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct cw_tunnel_event end = { .kind = CW_TEV_SNAPSHOT_END, .poll_at = gw->poll_at };

		if (!gw->slots[i].unusable && !attempt_waits(&gw->slots[i]))
			cw_gateway_step(gw, &gw->slots[i], &end);
	}
}

static void on_mail(void *arg, int fd, unsigned events)
{
	struct cw_gateway *gw = arg;
	static struct cw_ike_event ev; /* big; the loop is one thread */

	(void)fd;
	(void)events;
	while (cw_mailbox_take(gw->parts.box, &ev)) {
		struct cw_tunnel_event tev = { .kind = CW_TEV_IKE, .ike = &ev };
		struct slot *s = slot_of(gw, &ev);

		if (ev.kind == CW_IKE_EV_SNAPSHOT)
			on_snapshot(gw, &ev);
		else if (s)
			cw_gateway_step(gw, s, &tev);
	}
	mail_lost(gw);
}

static void on_kernel_event(const struct cw_kernel_event *ev, void *arg)
{
	struct cw_gateway *gw = arg;

	switch (ev->kind) {
	case CW_KEV_LINK:
		cw_gateway_link_touched(gw, ev->ifname);
		return; /* the engine has no use for it */
	case CW_KEV_RESYNC:
		cw_log(CW_LOG_INFO, CW_LOG_KERNEL_RESYNC, "gateway", "kernel events were lost; reading everything again");
		gw->reconcile_due = cw_gateway_now(gw);
		poll_soon(gw);
		break;
	case CW_KEV_TAKEN:
		cw_gateway_routes_soon(gw);
		gw->drops_now = true;
		break;
	case CW_KEV_ACQUIRE:
		/* A policy without an SA: settle by comparing, whatever the reason. */
		poll_soon(gw);
		break;
	case CW_KEV_EXPIRE:
	case CW_KEV_MAPPING:
		break;
	}
	if (gw->ike)
		gw->ike->ops->kernel_event(gw->ike, ev);
}

static void on_kernel(void *arg, int fd, unsigned events)
{
	struct cw_gateway *gw = arg;

	(void)fd;
	(void)events;
	gw->kernel->ops->events_read(gw->kernel, on_kernel_event, gw);
}

static void order_poll(struct cw_gateway *gw, struct cw_time now)
{
	if (gw->poll_running && cw_time_diff_us(now, gw->poll_at) < POLL_PATIENCE_S * 1000000LL) {
		gw->poll_due = cw_time_add_s(gw->poll_at, POLL_PATIENCE_S);
		return;
	}
	gw->poll_running = true;
	gw->poll_at = now;
	gw->poll_due = cw_time_add_s(now, POLL_PATIENCE_S);
	gw->ike->ops->poll(gw->ike, ++gw->poll_no);
}

static void tunnels_turn(struct cw_gateway *gw, struct cw_time now)
{
	static const struct cw_tunnel_event timer = { .kind = CW_TEV_TIMER };

	if (!cw_time_reached(gw->tunnels_due, now))
		return;
	gw->tunnels_due = CW_TIME_NEVER;
	for (size_t i = 0; i < gw->n_slots; i++) {
		struct slot *s = &gw->slots[i];

		if (cw_time_reached(cw_tunnel_next_due(s->tunnel), now))
			cw_gateway_step(gw, s, &timer);
		gw->tunnels_due = cw_time_min(gw->tunnels_due, cw_tunnel_next_due(s->tunnel));
	}
}

static void reconcile_turn(struct cw_gateway *gw, struct cw_time now)
{
	if (cw_time_reached(gw->reconcile_due, now)) {
		gw->reconcile_due = cw_time_add_s(now, CW_GATEWAY_RECONCILE_S);
		cw_gateway_links_all(gw);
		gw->routes_due = now;
		gw->drops_now = true;
		cw_gateway_forwarding(gw);
	}
	cw_gateway_links_turn(gw, now);
	if (gw->drops_now) {
		gw->drops_now = false;
		cw_gateway_drops(gw);
	}
}

/* A few of the tunnels that wait for their interface or their next try. */
static void work_turn(struct cw_gateway *gw)
{
	struct slot *s;

	for (size_t i = 0; i < WORK_A_TURN && (s = cw_gateway_todo_take(gw, TODO_TRY)); i++)
		cw_gateway_try(gw, s);
	/* A peer that tries at our start is answered when all that need no resolver are known. */
	if (!gw->begun && !cw_gateway_todo_count(gw, TODO_TRY)) {
		gw->begun = true;
		gw->ike->ops->begin(gw->ike);
	}
	for (size_t i = 0; i < WORK_A_TURN && (s = cw_gateway_todo_take(gw, TODO_LINK));) {
		/* A try sees to it: it brings a VTI's ends, with which it would be made anew. */
		if (!s->link_asked || s->todo[TODO_TRY])
			continue;
		cw_gateway_link(gw, s);
		i++;
	}
}

/* When to go on with it. */
static struct cw_time attempts_turn(struct cw_gateway *gw, struct cw_time now)
{
	struct slot *s;

	if (!gw->begun)
		return CW_TIME_NEVER;
	for (size_t i = 0; i < WORK_A_TURN && cw_gateway_todo_count(gw, TODO_INITIATE); i++) {
		if (gw->ike->ops->backlog(gw->ike) >= BACKLOG_MAX)
			return cw_time_add_ms(now, BACKLOG_PAUSE_MS);
		s = cw_gateway_todo_take(gw, TODO_INITIATE);
		/* It may have been ordered down meanwhile, or the peer came first. */
		if (cw_tunnel_state(s->tunnel) == CW_TUNNEL_CONNECTING && !cw_tunnel_primary(s->tunnel))
			gw->ike->ops->initiate(gw->ike, s->index, 0);
	}
	return cw_gateway_todo_count(gw, TODO_INITIATE) ? now : CW_TIME_NEVER;
}

/* Each tunnel every CW_GATEWAY_SAMPLE_MS, and never many in one turn. */
static void sample_turn(struct cw_gateway *gw, struct cw_time now)
{
	size_t n = gw->n_slots < SAMPLE_A_TURN ? gw->n_slots : SAMPLE_A_TURN;

	if (!cw_time_reached(gw->sample_due, now))
		return;
	for (size_t i = 0; i < n; i++, gw->sample_next++)
		cw_gateway_sample(gw, &gw->slots[gw->sample_next % gw->n_slots]);
	gw->sample_due = cw_time_add_ms(now, n ? (int64_t)(CW_GATEWAY_SAMPLE_MS * n / gw->n_slots) :
						 CW_GATEWAY_SAMPLE_MS);
}

/* What may step a tunnel comes first; then the routes, in the same turn, since the first packet after "up"
 * must find its way; and the deadlines last, when all of it is settled. */
static struct cw_time on_turn(void *arg, struct cw_time now)
{
	struct cw_gateway *gw = arg;
	struct cw_time due, attempts_due;

	if (!gw->ike)
		return CW_TIME_NEVER;
	tunnels_turn(gw, now);
	reconcile_turn(gw, now);
	work_turn(gw);
	attempts_due = attempts_turn(gw, now);
	sample_turn(gw, now);
	cw_gateway_routes_turn(gw, now);
	cw_gateway_ways_turn(gw, now);
	due = gw->speaker ? cw_speaker_turn(gw->speaker, now) : CW_TIME_NEVER;
	if (cw_time_reached(gw->poll_due, now))
		order_poll(gw, now);

	due = cw_time_min(due, cw_ctl_server_turn(gw->ctl, now));
	if (cw_gateway_todo_count(gw, TODO_TRY) || cw_gateway_todo_count(gw, TODO_LINK))
		due = now;
	due = cw_time_min(due, cw_time_min(gw->tunnels_due, gw->reconcile_due));
	due = cw_time_min(due, cw_time_min(gw->look_due, gw->routes_due));
	due = cw_time_min(due, cw_time_min(gw->ways_due, attempts_due));
	return cw_time_min(due, cw_time_min(gw->sample_due, gw->poll_due));
}

/* ---- start and stop ---- */

/* Seed for the jitter of one tunnel: differs between tunnels and between starts. */
static uint64_t seed_of(const struct cw_gateway *gw, uint32_t index)
{
	uint64_t x = (uint64_t)gw->started_wall_s * 0x9e3779b97f4a7c15ULL ^ (uint64_t)gw->started_at.us;

	return (x ^ ((uint64_t)index + 1) * 0xbf58476d1ce4e5b9ULL) | 1;
}

static enum cw_rc make_slots(struct cw_gateway *gw)
{
	const struct cw_conf *conf = gw->parts.conf;
	size_t n = 0;

	for (size_t i = 0; i < conf->n_sites; i++) {
		if (!conf->sites[i].bad && conf->sites[i].enabled)
			n += conf->sites[i].n_tunnels;
	}
	gw->slots = calloc(n ? n : 1, sizeof(*gw->slots));
	if (!gw->slots)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		if (site->bad || !site->enabled)
			continue;
		for (size_t k = 0; k < site->n_tunnels; k++) {
			struct slot *s = &gw->slots[gw->n_slots];

			s->conf = &site->tunnels[k];
			s->index = (uint32_t)gw->n_slots;
			s->in_site = (uint32_t)k;
			s->pairs = s->conf->selectors == CW_SEL_ANY ?
					   1 : (uint32_t)cw_pair_count(&conf->gateway.networks, &site->networks);
			s->silent_since = s->one_way_since = CW_TIME_NEVER;
			s->asked_at = gw->started_at;
			s->tunnel = cw_tunnel_new(s->conf, s->index, 1, s->pairs,
						  seed_of(gw, s->index), gw->started_at);
			if (!s->tunnel)
				return CW_E_NO_MEMORY;
			gw->n_slots++;
		}
	}
	return CW_OK;
}

static enum cw_rc clean_earlier(struct cw_gateway *gw, char *reterr, size_t size)
{
	const char **keep = calloc(gw->n_slots + 1, sizeof(*keep));
	struct cw_kernel_err err = { 0 };
	size_t removed = 0, n = 0;
	enum cw_rc rc;

	if (!keep)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < gw->n_slots; i++) {
		if (cw_gateway_has_link(&gw->slots[i]))
			keep[n++] = gw->slots[i].conf->ifname;
	}
	rc = gw->kernel->ops->clean(gw->kernel, keep, n, &removed, &err);
	free(keep);
	if (rc != CW_OK) {
		snprintf(reterr, size, "can't clear what an earlier run left in the kernel: %s",
			 cw_kernel_err_text(rc, &err));
		return rc;
	}
	if (removed)
		cw_log(CW_LOG_NOTICE, CW_LOG_ADOPTED, "gateway",
		       "%zu kernel objects of an earlier run removed, interfaces and routes adopted", removed);
	return CW_OK;
}

enum cw_rc cw_gateway_new(const struct cw_gateway_parts *parts, struct cw_gateway **ret_gateway,
			  char *reterr, size_t size)
{
	struct cw_gateway *gw = calloc(1, sizeof(*gw));
	struct cw_ctl_port port;
	enum cw_rc rc;

	if (!gw) {
		snprintf(reterr, size, "%s", cw_rc_name(CW_E_NO_MEMORY));
		return CW_E_NO_MEMORY;
	}
	gw->parts = *parts;
	gw->kernel = parts->kernel;
	gw->started_at = cw_loop_now(parts->loop);
	gw->started_wall_s = cw_loop_wall_s(parts->loop);
	gw->reconcile_due = gw->sample_due = gw->poll_due = gw->started_at;
	gw->tunnels_due = gw->look_due = gw->routes_due = CW_TIME_NEVER;
	gw->looked_at = gw->routes_at = gw->started_at;
	snprintf(reterr, size, "%s", "");

	/* The control socket first: it tells whether another causewayd runs, before we touch anything. */
	cw_gateway_ctl_port(gw, &port);
	rc = cw_ctl_server_new(parts->loop, parts->conf->gateway.control_socket, &port, &gw->ctl, reterr, size);
	if (rc != CW_OK) {
		free(gw);
		return rc;
	}
	rc = parts->alone(reterr, size);
	if (rc != CW_OK) {
		cw_gateway_free(gw);
		return rc;
	}
	rc = gw->kernel->ops->probe(gw->kernel, &gw->caps);
	/* caps.why also tells of what can be done without, such as xfrm interfaces. */
	if (rc != CW_OK || !gw->caps.xfrm || !gw->caps.net_admin || (!gw->caps.esp4 && !gw->caps.esp6)) {
		snprintf(reterr, size, "%s", gw->caps.why[0] ? gw->caps.why : cw_rc_name(rc));
		rc = rc == CW_OK ? CW_E_UNSUPPORTED : rc;
	}
	if (rc == CW_OK)
		rc = make_slots(gw);
	if (rc == CW_OK)
		rc = cw_gateway_todo_new(gw);
	if (rc == CW_OK)
		rc = cw_gateway_place(gw, reterr, size);
	if (rc == CW_OK)
		rc = cw_gateway_ways_new(gw);
	if (rc == CW_OK)
		cw_gateway_bgp_place(gw);
	if (rc == CW_OK)
		rc = clean_earlier(gw, reterr, size);
	if (rc == CW_OK)
		rc = cw_resolver_new(parts->loop, cw_resolve_system, cw_gateway_resolved, gw, &gw->resolver);
	if (rc == CW_OK)
		rc = cw_loop_watch(parts->loop, gw->kernel->ops->event_fd(gw->kernel), CW_LOOP_READ, on_kernel, gw);
	if (rc == CW_OK)
		rc = cw_loop_watch(parts->loop, cw_mailbox_fd(parts->box), CW_LOOP_READ, on_mail, gw);
	if (rc != CW_OK) {
		cw_gateway_free(gw);
		return rc;
	}
	/* Before anything else: from here on the sites' networks are closed. Interfaces come with the turns. */
	cw_gateway_routes(gw);
	cw_gateway_drops(gw);
	rc = cw_gateway_bgp_new(gw, seed_of(gw, UINT32_MAX), reterr, size);
	if (rc != CW_OK) {
		cw_gateway_free(gw);
		return rc;
	}
	cw_loop_on_turn(parts->loop, on_turn, gw);
	*ret_gateway = gw;
	return CW_OK;
}

void cw_gateway_start(struct cw_gateway *gw, struct cw_ike *ike)
{
	static const struct cw_tunnel_event start = { .kind = CW_TEV_START };

	gw->ike = ike;
	for (size_t i = 0; i < gw->n_slots; i++) {
		if (!gw->slots[i].unusable)
			cw_gateway_step(gw, &gw->slots[i], &start);
	}
	cw_notify("READY=1");
}

void cw_gateway_free(struct cw_gateway *gw)
{
	struct cw_kernel_err err = { 0 };
	size_t removed;
	enum cw_rc rc;

	if (!gw)
		return;
	cw_loop_on_turn(gw->parts.loop, NULL, NULL);
	cw_loop_unwatch(gw->parts.loop, cw_mailbox_fd(gw->parts.box));
	cw_loop_unwatch(gw->parts.loop, gw->kernel->ops->event_fd(gw->kernel));
	cw_resolver_free(gw->resolver);
	/* While the tunnels still carry: the neighbours are told. */
	cw_speaker_free(gw->speaker);
	if (gw->ike)
		gw->ike->ops->stop(gw->ike, STOP_WAIT_MS);
	/* Before the control socket goes: until then nobody else starts. */
	rc = gw->n_slots ? gw->kernel->ops->clean(gw->kernel, NULL, 0, &removed, &err) : CW_OK;
	if (rc != CW_OK)
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway", "not everything of ours could be removed: %s",
		       cw_kernel_err_text(rc, &err));
	for (size_t i = 0; i < gw->n_slots; i++) {
		cw_tunnel_free(gw->slots[i].tunnel);
		cw_secret_free(gw->slots[i].psk);
	}
	free(gw->slots);
	free(gw->by_ifname);
	cw_gateway_todo_free(gw);
	cw_gateway_ways_free(gw);
	cw_ctl_server_free(gw->ctl);
	free(gw);
}
