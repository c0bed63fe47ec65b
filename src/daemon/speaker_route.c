/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/speaker_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/device.h"

/* Attributes of all neighbours together. A million routes of the Internet have about 40 MiB of them; who sends so
 * much more has made them up. */
#define STORE_MAX_MIB 128u
#define CHANGES_A_TURN 1024    /* about a millisecond with the kernel's part */
#define RIB_BUDGET 16384
#define OUT_BUDGET 4096
#define GUARD_PATHS_MAX 64
#define FAULT_LOG_S 60
#define RETRY_S 10 /* what the kernel refused; what was in the way may be gone */
#define QUIET_S 10 /* without an UPDATE: a neighbour has said all that it had to say */
#define FAULT_BYTES 40 /* of an attribute, in the log */

/* ---- start and stop ---- */

static void on_fib_failed(const struct cw_prefix *prefix, uint32_t group, enum cw_rc rc,
			  const struct cw_kernel_err *err, void *arg)
{
	struct cw_speaker *sp = arg;
	struct cw_time now = cw_speaker_now(sp);
	char text[CW_PREFIX_TEXT_MAX];
	const char *why = cw_kernel_err_text(rc, err);

	if (!group)
		return; /* it was to go, and fib keeps that in mind */
	if (cw_time_is_never(sp->retry_at))
		sp->retry_at = cw_time_add_s(now, RETRY_S);
	if (sp->retrying)
		return;
	if (!cw_time_is_never(sp->foreign_logged_at) &&
	    !cw_time_reached(cw_time_add_s(sp->foreign_logged_at, FAULT_LOG_S), now))
		return;
	sp->foreign_logged_at = now;
	cw_prefix_print(prefix, text, sizeof(text));
	if (rc == CW_E_EXISTS)
		cw_log(CW_LOG_WARNING, CW_LOG_BGP_ROUTE_FOREIGN, "gateway",
		       "%s is not installed: somebody else's route to it with metric %" PRIu32
		       " is there; take that away or change learned-metric",
		       text, sp->conf->gateway.learned_metric);
	else
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway", "the kernel refuses the route to %s: %s",
		       text, why);
}

static void on_adopted(const struct cw_prefix *prefix, uint32_t group, void *arg)
{
	struct cw_speaker *sp = arg;

	(void)prefix;
	(void)group;
	sp->adopted++;
}

static const struct cw_site_conf *site_of(void *arg, uint16_t source)
{
	const struct cw_speaker *sp = arg;

	return source < sp->n_sources ? sp->site_of[source] : NULL;
}

static int by_prefix(const void *a, const void *b)
{
	return cw_prefix_compare(a, b);
}

static enum cw_rc add_neighbour(struct cw_speaker *sp, struct neighbour *nb)
{
	const struct cw_bgp_conf *b = &nb->conf->bgp;
	struct cw_bgp_source_conf source = {
		.ibgp = nb->conf->site->asn == sp->conf->gateway.asn,
		.balance = nb->conf->site->balance,
		.group = (uint16_t)(nb->conf->site - sp->conf->sites),
		.asn = nb->conf->site->asn,
		.cost = nb->cost,
		.address = b->peer,
	};
	enum cw_rc rc = cw_bgp_rib_add_source(sp->rib, &source, b->max_prefixes, &nb->source);

	if (rc != CW_OK)
		return rc;
	nb->announce = malloc((b->announce.n + 1) * sizeof(*nb->announce));
	if (!nb->announce)
		return CW_E_NO_MEMORY;
	if (b->announce.n)
		memcpy(nb->announce, b->announce.v, b->announce.n * sizeof(*nb->announce));
	qsort(nb->announce, b->announce.n, sizeof(*nb->announce), by_prefix);
	/* Neighbours are never added or removed while it runs, so that source i + 1 is neighbour i. */
	if (nb->source != (uint16_t)(nb - sp->v + 1))
		return CW_E_BUG;
	sp->site_of[nb->source] = nb->conf->site;
	nb->policy = (struct cw_bgp_policy){
		.common = &sp->common,
		.conf = b,
		.site = nb->conf->site,
		.announce = { nb->announce, b->announce.n },
		.peer_asn = nb->conf->site->asn,
		.next_hop[CW_BGP_IPV4] = b->local,
		.site_of = site_of,
		.arg = sp,
	};
	nb->export = (struct cw_bgp_export){ .user = &nb->policy, .admit = cw_bgp_policy_admit,
					     .map = cw_bgp_policy_map };
	nb->out = cw_bgp_out_new(sp->rib, sp->store, nb->source, &nb->export);
	return nb->out ? CW_OK : CW_E_NO_MEMORY;
}

/* Puts a route of our own into the RIB. */
static enum cw_rc add_own(struct cw_speaker *sp, const struct cw_prefix *prefix)
{
	static const struct cw_addr none = { 0 };
	struct cw_bgp_attrs_view view;
	enum cw_bgp_rib_what what;
	uint8_t buf[64];
	uint32_t attrs;
	size_t len = cw_bgp_attrs_own(buf, sizeof(buf));
	enum cw_rc rc = cw_bgp_attrs_read((struct cw_span){ buf, len }, &view);

	if (rc == CW_OK)
		rc = cw_bgp_store_intern(sp->store, &view, &none, &attrs);
	if (rc != CW_OK)
		return rc;
	rc = cw_bgp_rib_set(sp->rib, prefix, 0, attrs, 0, &what);
	cw_bgp_store_unref(sp->store, attrs);
	return rc;
}

static enum cw_rc add_all_own(struct cw_speaker *sp)
{
	enum cw_rc rc = CW_OK;

	for (size_t i = 0; i < sp->n; i++) {
		const struct cw_prefixes *list = &sp->v[i].conf->bgp.announce;

		for (size_t k = 0; rc == CW_OK && k < list->n; k++)
			rc = add_own(sp, &list->v[k]);
	}
	return rc;
}

enum cw_rc cw_speaker_routes_new(struct cw_speaker *sp, char *reterr, size_t size)
{
	const struct cw_gateway_conf *gw = &sp->conf->gateway;
	struct cw_fib_conf fib = { .table = gw->learned_table, .metric = gw->learned_metric };
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc;

	sp->n_sources = sp->n + 1;
	sp->site_of = calloc(sp->n_sources, sizeof(*sp->site_of));
	sp->own = calloc(sp->n + 1, sizeof(*sp->own));
	sp->peers = calloc(sp->n + 1, sizeof(*sp->peers));
	sp->aggregate_parts = calloc(gw->aggregates.n + 1, sizeof(*sp->aggregate_parts));
	sp->store = cw_bgp_store_new((uint64_t)(uintptr_t)sp ^ (uint64_t)cw_speaker_now(sp).us,
				     STORE_MAX_MIB << 20);
	sp->rib = sp->store ? cw_bgp_rib_new(sp->store) : NULL;
	if (!sp->rib || !sp->site_of || !sp->own || !sp->peers || !sp->aggregate_parts)
		return CW_E_NO_MEMORY;
	sp->common = (struct cw_bgp_policy_common){
		.asn = gw->asn,
		.outer_guarded = gw->learned_table != 254,
		.peers = sp->peers,
		.own = sp->own,
		.aggregates = &gw->aggregates,
	};
	for (size_t i = 0; i < sp->n; i++) {
		sp->own[sp->common.n_own++] = sp->v[i].conf->bgp.local;
		sp->peers[sp->common.n_peers++] = sp->v[i].conf->bgp.peer;
		rc = add_neighbour(sp, &sp->v[i]);
		if (rc != CW_OK)
			return rc;
	}
	rc = add_all_own(sp);
	if (rc == CW_OK)
		rc = cw_fib_new(&fib, on_fib_failed, sp, &sp->fib, &err);
	if (rc == CW_OK)
		rc = cw_fib_adopt(sp->fib, on_adopted, sp, &err);
	if (rc == CW_OK)
		rc = cw_speaker_watch_fib(sp);
	if (rc != CW_OK)
		snprintf(reterr, size, "can't use the kernel's routing table for learned routes: %s",
			 cw_kernel_err_text(rc, &err));
	return rc;
}

void cw_speaker_routes_free(struct cw_speaker *sp)
{
	struct cw_kernel_err err = { 0 };
	size_t removed;
	enum cw_rc rc;

	if (sp->fib) {
		cw_loop_unwatch(sp->loop, cw_fib_fd(sp->fib));
		rc = cw_fib_clear(sp->fib, &removed, &err);
		if (rc != CW_OK)
			cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
			       "not every learned route could be removed: %s",
			       cw_kernel_err_text(rc, &err));
		cw_fib_free(sp->fib);
	}
	cw_bgp_rib_free(sp->rib);
	cw_bgp_store_free(sp->store);
	for (size_t i = 0; i < sp->n; i++)
		free(sp->v[i].announce);
	free(sp->site_of);
	free(sp->outer);
	free(sp->own);
	free(sp->peers);
	free(sp->aggregate_parts);
}

/* ---- UPDATEs in ---- */

static void hex(struct cw_span bytes, char *buf, size_t size)
{
	size_t n = bytes.n < FAULT_BYTES ? bytes.n : FAULT_BYTES, len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && len + 3 < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%02x", bytes.p[i]);
	if (n < bytes.n && len + 4 < size)
		snprintf(buf + len, size - len, "...");
}

static void note_faults(struct cw_speaker *sp, struct neighbour *nb, const struct cw_bgp_update *up)
{
	const struct cw_bgp_fault *worst = &up->faults[0];
	struct cw_time now = cw_speaker_now(sp);
	size_t n = up->n_faults < CW_BGP_FAULTS_MAX ? up->n_faults : CW_BGP_FAULTS_MAX;
	char bytes[2 * FAULT_BYTES + 4];

	for (size_t i = 0; i < n; i++) {
		nb->attrs_discarded += up->faults[i].verdict == CW_BGP_DISCARD;
		if (up->faults[i].verdict > worst->verdict)
			worst = &up->faults[i];
	}
	nb->treated_as_withdrawn += up->verdict == CW_BGP_WITHDRAW;
	hex(worst->bytes, bytes, sizeof(bytes));
	if (worst->type)
		snprintf(nb->last_fault, sizeof(nb->last_fault), "%s (attribute %u) %s: %s%s%s",
			 cw_bgp_attr_name(worst->type), worst->type, worst->why,
			 cw_bgp_verdict_name(worst->verdict), *bytes ? "; octets " : "", bytes);
	else
		snprintf(nb->last_fault, sizeof(nb->last_fault), "%s: %s%s%s", worst->why,
			 cw_bgp_verdict_name(worst->verdict), *bytes ? "; octets " : "", bytes);
	nb->last_fault_wall_s = cw_loop_wall_s(sp->loop);
	if (!cw_time_is_never(nb->fault_logged_at) &&
	    !cw_time_reached(cw_time_add_s(nb->fault_logged_at, FAULT_LOG_S), now)) {
		nb->faults_unlogged++;
		return;
	}
	if (nb->faults_unlogged)
		cw_log(CW_LOG_WARNING, CW_LOG_BGP_FAULT, nb->conf->name,
		       "in an UPDATE: %s (%" PRIu32 " more like it since the last line)", nb->last_fault,
		       nb->faults_unlogged);
	else
		cw_log(CW_LOG_WARNING, CW_LOG_BGP_FAULT, nb->conf->name, "in an UPDATE: %s", nb->last_fault);
	nb->fault_logged_at = now;
	nb->faults_unlogged = 0;
}

/* Once for each reason and session. */
static void note_refusal(struct neighbour *nb, const struct cw_prefix *prefix, enum cw_bgp_refusal why)
{
	char text[CW_PREFIX_TEXT_MAX];

	if (nb->refusals_logged & UINT64_C(1) << why)
		return;
	nb->refusals_logged |= UINT64_C(1) << why;
	cw_log(why == CW_BGP_REFUSED_LISTED || why == CW_BGP_REFUSED_NOT_LISTED ? CW_LOG_INFO : CW_LOG_WARNING,
	       CW_LOG_BGP_ROUTE_REFUSED, nb->conf->name,
	       "its route to %s is not used: %s; others like it are not told of again",
	       cw_prefix_print(prefix, text, sizeof(text)), cw_bgp_refusal_text(why));
}

/* Once a session: the neighbour takes its route for held, and does not say it again by itself. */
static void note_loss(struct neighbour *nb, const struct cw_prefix *prefix, enum cw_rc rc)
{
	char text[CW_PREFIX_TEXT_MAX];

	if (nb->loss_said)
		return;
	nb->loss_said = true;
	cw_prefix_print(prefix, text, sizeof(text));
	if (rc == CW_E_TOO_BIG)
		cw_log(CW_LOG_ERROR, CW_LOG_BGP_ROUTE_REFUSED, nb->conf->name,
		       "its route to %s is lost: the attributes of all routes fill the %u MiB that there are for them; "
		       "see which neighbour sends so many different ones, then causewayctl bgp refresh",
		       text, STORE_MAX_MIB);
	else
		cw_log(CW_LOG_ERROR, CW_LOG_BGP_ROUTE_REFUSED, nb->conf->name,
		       "its route to %s is lost: no memory; when there is some, causewayctl bgp refresh", text);
}

/* Returns false where the neighbour's cap is reached. */
static bool take_routes(struct cw_speaker *sp, struct neighbour *nb, enum cw_bgp_family family,
			struct cw_span nlri, const struct cw_addr *next_hop)
{
	struct cw_cursor c = cw_cursor_of(nlri);
	struct cw_bgp_attrs_view view;
	enum cw_bgp_refusal shared = cw_bgp_policy_import(&nb->policy, &sp->update.attrs, next_hop,
							  sp->attrs, sizeof(sp->attrs), &view);
	struct cw_prefix prefix;
	bool room = true;
	uint32_t attrs;
	enum cw_rc rc = cw_bgp_store_intern(sp->store, &view, next_hop, &attrs);

	while (cw_bgp_prefix_get(&c, family, &prefix)) {
		enum cw_bgp_refusal why = shared ? shared : cw_bgp_policy_import_prefix(&nb->policy, &prefix);
		enum cw_bgp_rib_what what;
		enum cw_rc set = CW_E_NO_MEMORY;

		if (why)
			note_refusal(nb, &prefix, why);
		if (rc == CW_OK)
			set = cw_bgp_rib_set(sp->rib, &prefix, nb->source, attrs, (uint8_t)why, &what);
		if (set == CW_OK)
			continue;
		if (set == CW_E_TOO_BIG)
			room = false;
		else
			note_loss(nb, &prefix, rc);
		/* What was there before is not what the neighbour says any more. */
		cw_bgp_rib_withdraw(sp->rib, &prefix, nb->source);
	}
	if (rc == CW_OK)
		cw_bgp_store_unref(sp->store, attrs);
	return room;
}

static void lose_routes(struct cw_speaker *sp, struct neighbour *nb, enum cw_bgp_family family,
			struct cw_span nlri)
{
	struct cw_cursor c = cw_cursor_of(nlri);
	struct cw_prefix prefix;

	while (cw_bgp_prefix_get(&c, family, &prefix))
		cw_bgp_rib_withdraw(sp->rib, &prefix, nb->source);
}

static void tell_prefixes(struct cw_speaker *sp, size_t peer, enum cw_bgp_family family, bool room)
{
	struct neighbour *nb = &sp->v[peer];
	uint32_t n = cw_bgp_rib_count(sp->rib, nb->source, family)->received + (room ? 0 : 1);
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_PREFIXES, .family = family, .count = n };

	if (n == nb->told[family] || !nb->up)
		return;
	nb->told[family] = n;
	cw_speaker_step(sp, peer, &ev);
}

void cw_speaker_on_update(struct cw_speaker *sp, size_t peer, struct cw_span body)
{
	struct neighbour *nb = &sp->v[peer];
	const struct cw_bgp_codec *codec = cw_bgp_peer_codec(nb->machine);
	struct cw_bgp_update *up = &sp->update;
	bool room[CW_BGP_FAMILIES] = { true, true };
	struct cw_bgp_err err = { 0 };
	bool lost;

	if (!codec)
		return;
	nb->last_update_at = cw_speaker_now(sp);
	if (cw_bgp_update_decode(body, codec, up, &err) != CW_OK) {
		struct cw_bgp_event ev = { .kind = CW_BGP_EV_UPDATE_ERROR, .err = &err, .body = body };

		if (up->n_faults)
			note_faults(sp, nb, up);
		cw_speaker_step(sp, peer, &ev);
		return;
	}
	if (up->n_faults)
		note_faults(sp, nb, up);
	lost = up->verdict == CW_BGP_WITHDRAW;
	/* Withdrawals first: in one message the announcement wins (RFC 4271 4.3; BL-108). */
	lose_routes(sp, nb, CW_BGP_IPV4, up->withdrawn);
	if (up->unreach.present && up->unreach.family < CW_BGP_FAMILIES)
		lose_routes(sp, nb, up->unreach.family, up->unreach.nlri);
	if (up->nlri.n && codec->family[CW_BGP_IPV4]) {
		if (lost)
			lose_routes(sp, nb, CW_BGP_IPV4, up->nlri);
		else
			room[CW_BGP_IPV4] = take_routes(sp, nb, CW_BGP_IPV4, up->nlri, &up->next_hop);
	}
	if (up->reach.present && up->reach.family < CW_BGP_FAMILIES) {
		if (lost)
			lose_routes(sp, nb, up->reach.family, up->reach.nlri);
		else
			room[up->reach.family] &= take_routes(sp, nb, up->reach.family, up->reach.nlri,
							      &up->reach.next_hop);
	}
	if (up->end_of_rib && up->eor_family < CW_BGP_FAMILIES) {
		struct cw_bgp_event ev = { .kind = CW_BGP_EV_EOR, .family = up->eor_family };

		nb->end_of_rib[up->eor_family] = true;
		cw_speaker_step(sp, peer, &ev);
	}
	tell_prefixes(sp, peer, CW_BGP_IPV4, room[CW_BGP_IPV4]);
	tell_prefixes(sp, peer, CW_BGP_IPV6, room[CW_BGP_IPV6]);
}

/* ---- sessions come and go ---- */

void cw_speaker_on_up(struct cw_speaker *sp, size_t peer)
{
	struct neighbour *nb = &sp->v[peer];
	struct cw_bgp_source_conf source = *cw_bgp_rib_source(sp->rib, nb->source);

	nb->up = true;
	nb->out_started = false;
	nb->refusals_logged = 0;
	nb->loss_said = false;
	nb->last_update_at = cw_speaker_now(sp);
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		nb->told[f] = 0;
		nb->sending[f] = false;
		nb->first_round[f] = true;
		nb->end_of_rib[f] = false;
	}
	source.router_id = cw_bgp_peer_id(nb->machine);
	cw_bgp_rib_set_source(sp->rib, nb->source, &source, nb->conf->bgp.max_prefixes);
	/* The address of an interface may have come with the tunnel. */
	nb->policy.next_hop[CW_BGP_IPV6] = nb->conf->bgp.local.family == CW_FAMILY_IPV6 ?
						   nb->conf->bgp.local :
						   cw_device_addr6(nb->ifname, &nb->conf->bgp.local);
	if (nb->conf->bgp.local.family != CW_FAMILY_IPV4)
		nb->policy.next_hop[CW_BGP_IPV4] = cw_device_addr4(nb->ifname);
}

void cw_speaker_on_down(struct cw_speaker *sp, size_t peer, const bool *keep)
{
	struct neighbour *nb = &sp->v[peer];

	nb->up = false;
	cw_bgp_out_stop(nb->out);
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		if (keep[f])
			cw_bgp_rib_stale(sp->rib, nb->source, (enum cw_bgp_family)f);
		else
			cw_bgp_rib_drop(sp->rib, nb->source, (enum cw_bgp_family)f);
	}
}

void cw_speaker_send_all(struct cw_speaker *sp, size_t peer, enum cw_bgp_family family, bool marked)
{
	struct neighbour *nb = &sp->v[peer];
	const struct cw_bgp_codec *codec = cw_bgp_peer_codec(nb->machine);

	nb->sending[family] = true;
	if (!nb->out_started) {
		nb->out_started = true;
		cw_bgp_out_start(nb->out, codec, nb->conf->bgp.announce_limit);
	} else if (!nb->first_round[family]) {
		cw_bgp_out_refresh(nb->out, family, marked);
	}
	nb->first_round[family] = false;
}

/* Judges the paths to one prefix again; only towards refusing, for what else they were refused for is not kept. */
static void judge_again(struct cw_speaker *sp, const struct cw_prefix *prefix)
{
	struct cw_bgp_path paths[GUARD_PATHS_MAX];
	size_t n = cw_bgp_rib_paths(sp->rib, prefix, paths, GUARD_PATHS_MAX);

	for (size_t i = 0; i < n && i < GUARD_PATHS_MAX; i++) {
		struct neighbour *nb = paths[i].source ? &sp->v[paths[i].source - 1] : NULL;
		enum cw_bgp_refusal why = nb ? cw_bgp_policy_import_prefix(&nb->policy, prefix) : CW_BGP_ADMITTED;
		enum cw_bgp_rib_what what;

		if (why == CW_BGP_ADMITTED || paths[i].refused)
			continue;
		note_refusal(nb, prefix, why);
		if (cw_bgp_rib_set(sp->rib, prefix, nb->source, paths[i].attrs, (uint8_t)why, &what) != CW_OK)
			cw_bgp_rib_withdraw(sp->rib, prefix, nb->source);
	}
}

void cw_speaker_guard(struct cw_speaker *sp, const struct cw_addr *outer, size_t n)
{
	struct cw_addr *copy;

	if (n == sp->common.n_outer && (!n || !memcmp(outer, sp->outer, n * sizeof(*outer))))
		return;
	copy = malloc((n + 1) * sizeof(*copy));
	if (!copy)
		return; /* the old ones are still guarded; the next call tries again */
	if (n)
		memcpy(copy, outer, n * sizeof(*copy));
	free(sp->outer);
	sp->common.outer = sp->outer = copy;
	sp->common.n_outer = n;
	for (size_t i = 0; i < n; i++) {
		struct cw_prefix at = { .addr = outer[i] };
		struct cw_bgp_change state;

		for (unsigned len = 0; len <= cw_family_bits(outer[i].family); len++) {
			struct cw_prefix prefix;

			at.len = (uint8_t)len;
			prefix = cw_prefix_network(&at);
			if (cw_bgp_rib_find(sp->rib, &prefix, &state))
				judge_again(sp, &prefix);
		}
	}
}

void cw_speaker_on_net(struct cw_speaker *sp, size_t peer)
{
	struct neighbour *nb = &sp->v[peer];
	struct cw_device device;

	nb->hop = (struct cw_fib_hop){ 0 };
	if (nb->net_up && cw_device_look(nb->ifname, &device) == CW_OK) {
		nb->hop.ifindex = device.ifindex;
		nb->hop_by_gateway = device.has_neighbours;
	}
}

/* ---- changes out ---- */

/* The ways to a prefix, sorted away by the fib. A winner of ours, or one whose device is gone, is none. */
static size_t hops_of(const struct cw_speaker *sp, const struct cw_bgp_change *ch, struct cw_fib_hop *hops)
{
	size_t n = 0;

	for (size_t i = 0; i < ch->n; i++) {
		uint16_t source = ch->winners[i].source;
		const struct neighbour *nb = source ? &sp->v[source - 1] : NULL;

		if (!nb || !nb->hop.ifindex)
			continue;
		hops[n] = nb->hop;
		if (nb->hop_by_gateway) {
			hops[n].gateway = cw_bgp_set_next_hop(
				cw_bgp_store_set(sp->store, ch->winners[i].attrs));
			hops[n].onlink = true;
		}
		n++;
	}
	return n;
}

static bool same_hops(const struct cw_speaker *sp, enum cw_family family, const struct cw_fib_hop *hops,
		      size_t n)
{
	if (sp->cached_group == 0 || sp->cached_family != family || sp->n_cached_hops != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (hops[i].ifindex != sp->cached_hops[i].ifindex ||
		    hops[i].onlink != sp->cached_hops[i].onlink ||
		    !cw_addr_equal(&hops[i].gateway, &sp->cached_hops[i].gateway))
			return false;
	}
	return true;
}

/* The group for these hops: neighbours in a table mostly have the same one. 0: can't be had, and said. */
static uint32_t group_of(struct cw_speaker *sp, enum cw_family family, const struct cw_fib_hop *hops, size_t n)
{
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc;

	if (same_hops(sp, family, hops, n))
		return sp->cached_group;
	cw_fib_group_put(sp->fib, sp->cached_group);
	sp->cached_group = 0;
	rc = cw_fib_group_get(sp->fib, family, hops, n, &sp->cached_group, &err);
	if (rc != CW_OK) {
		if (!sp->fib_failed_logged)
			cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway",
			       "the kernel refuses a nexthop for learned routes: %s",
			       cw_kernel_err_text(rc, &err));
		sp->fib_failed_logged = true;
		sp->cached_group = 0;
		return 0;
	}
	sp->fib_failed_logged = false;
	sp->cached_family = family;
	sp->n_cached_hops = n;
	memcpy(sp->cached_hops, hops, n * sizeof(*hops));
	return sp->cached_group;
}

/* Keeps count of the learned routes inside each aggregate; the first and the last matter. */
static void count_aggregates(struct cw_speaker *sp, const struct cw_prefix *prefix, bool had, bool has)
{
	const struct cw_prefixes *aggregates = &sp->conf->gateway.aggregates;

	for (size_t i = 0; had != has && i < aggregates->n; i++) {
		const struct cw_prefix *a = &aggregates->v[i];

		if (prefix->len == a->len || !cw_prefix_covers(a, prefix))
			continue;
		if (has && sp->aggregate_parts[i]++ == 0)
			add_own(sp, a);
		else if (!has && --sp->aggregate_parts[i] == 0)
			cw_bgp_rib_withdraw(sp->rib, a, 0);
	}
}

static void carry_out(struct cw_speaker *sp, const struct cw_bgp_change *ch)
{
	struct cw_fib_hop hops[CW_BGP_MULTIPATH_MAX];
	size_t n = hops_of(sp, ch, hops);
	uint32_t group = n ? group_of(sp, (enum cw_family)ch->prefix.addr.family, hops, n) : 0;
	enum cw_rc rc = CW_OK;

	if (group != ch->fib) {
		rc = group ? cw_fib_route_set(sp->fib, &ch->prefix, group) :
			     cw_fib_route_del(sp->fib, &ch->prefix);
		sp->fib_dirty = true;
	}
	count_aggregates(sp, &ch->prefix, ch->fib != 0, group != 0);
	if (rc == CW_OK && group != ch->fib)
		cw_bgp_rib_set_fib(sp->rib, &ch->prefix, group);
	else if (rc == CW_E_NO_MEMORY)
		cw_bgp_rib_touch(sp->rib, &ch->prefix);
}

static bool take_changes(struct cw_speaker *sp)
{
	struct cw_bgp_change ch;

	for (size_t k = 0; k < CHANGES_A_TURN; k++) {
		if (!cw_bgp_rib_next_change(sp->rib, &ch))
			return false;
		for (size_t i = 0; i < sp->n; i++) {
			if (sp->v[i].out_started && sp->v[i].up &&
			    cw_bgp_out_update(sp->v[i].out, &ch) == CW_E_NO_MEMORY)
				cw_bgp_rib_touch(sp->rib, &ch.prefix);
		}
		carry_out(sp, &ch);
	}
	return cw_bgp_rib_changes(sp->rib) > 0;
}

static void flush(struct cw_speaker *sp)
{
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc = CW_OK;

	if (sp->resync) {
		sp->resync = false;
		rc = cw_fib_resync(sp->fib, &err);
	} else if (sp->fib_dirty) {
		sp->fib_dirty = false;
		rc = cw_fib_flush(sp->fib, &err);
	}
	if (rc == CW_E_BUSY) {
		cw_log(CW_LOG_INFO, CW_LOG_KERNEL_RESYNC, "gateway",
		       "answers of the kernel about learned routes were lost; reading everything again");
		sp->resync = true;
	} else if (rc != CW_OK) {
		cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "gateway", "learned routes can't be sent to the kernel: %s",
		       cw_kernel_err_text(rc, &err));
	}
}

static void retry_refused(struct cw_speaker *sp, struct cw_time now)
{
	struct cw_kernel_err err = { 0 };
	struct cw_fib_stats before, after;

	if (!cw_time_reached(sp->retry_at, now))
		return;
	sp->retry_at = CW_TIME_NEVER;
	sp->retrying = true;
	cw_fib_stats(sp->fib, &before);
	sp->resync |= cw_fib_retry(sp->fib, &err) == CW_E_BUSY;
	cw_fib_stats(sp->fib, &after);
	sp->retrying = false;
	if (before.failed && !after.failed)
		cw_log(CW_LOG_NOTICE, CW_LOG_BGP_ROUTE_FOREIGN, "gateway",
		       "the kernel has all learned routes now, also those that it refused");
}

/* Adopted routes that nobody announced in time go: the peers had their chance. */
static void sweep(struct cw_speaker *sp, struct cw_time now)
{
	struct cw_kernel_err err = { 0 };
	size_t removed = 0;
	bool synced = true;

	if (cw_time_is_never(sp->sweep_at))
		return;
	for (size_t i = 0; i < sp->n; i++) {
		const struct neighbour *nb = &sp->v[i];
		const struct cw_bgp_codec *codec = nb->up ? cw_bgp_peer_codec(nb->machine) : NULL;

		bool quiet = cw_time_reached(cw_time_add_s(nb->last_update_at, QUIET_S), now);

		/* Not all say End-of-RIB (FRR does to those with graceful restart alone). */
		for (int f = 0; f < CW_BGP_FAMILIES; f++)
			synced &= codec && (!codec->family[f] || nb->end_of_rib[f] || quiet);
	}
	if (!cw_time_reached(sp->sweep_at, now) && (!synced || cw_bgp_rib_changes(sp->rib)))
		return;
	sp->sweep_at = CW_TIME_NEVER;
	if (cw_fib_sweep(sp->fib, &removed, &err) == CW_OK && removed)
		cw_log(CW_LOG_NOTICE, CW_LOG_ADOPTED, "gateway",
		       "%zu of %zu learned routes of an earlier run removed: no neighbour announced them again",
		       removed, sp->adopted);
}

static void on_fib_event(const struct cw_fib_event *ev, void *arg)
{
	struct cw_speaker *sp = arg;

	if (ev->kind == CW_FIB_EV_RESYNC)
		sp->resync = true;
	else if (ev->kind == CW_FIB_EV_TAKEN &&
		 cw_fib_route_set(sp->fib, &ev->prefix, ev->group) == CW_OK)
		sp->fib_dirty = true;
}

static void on_fib(void *arg, int fd, unsigned events)
{
	struct cw_speaker *sp = arg;

	(void)fd;
	(void)events;
	cw_fib_read(sp->fib, on_fib_event, sp);
}

enum cw_rc cw_speaker_watch_fib(struct cw_speaker *sp)
{
	return cw_loop_watch(sp->loop, cw_fib_fd(sp->fib), CW_LOOP_READ, on_fib, sp);
}

/* BL-127: said when it begins, not for every prefix. */
static void note_surplus(struct neighbour *nb)
{
	uint32_t surplus = 0;

	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		surplus += cw_bgp_out_count(nb->out, (enum cw_bgp_family)f)->surplus;
	if (surplus && !nb->surplus_said)
		cw_log(CW_LOG_WARNING, CW_LOG_BGP_ANNOUNCE_LIMIT, nb->conf->name,
		       "%" PRIu32 " prefixes beyond announce-limit %" PRIu32 " are not announced to it", surplus,
		       nb->conf->bgp.announce_limit);
	nb->surplus_said = surplus > 0;
}

static bool pump(struct cw_speaker *sp, size_t i)
{
	struct neighbour *nb = &sp->v[i];
	enum cw_bgp_conn conn = cw_bgp_peer_established(nb->machine);
	bool walking, more;

	if (!nb->up || !nb->out_started || conn == CW_BGP_CONNS)
		return cw_bgp_out_work(nb->out, OUT_BUDGET);
	walking = cw_bgp_out_work(nb->out, OUT_BUDGET);
	if (!walking)
		note_surplus(nb);
	more = !nb->conns[conn].blocked && cw_speaker_conn_pump(sp, &nb->conns[conn]);
	for (int f = 0; f < CW_BGP_FAMILIES && nb->up; f++) {
		struct cw_bgp_event ev = { .kind = CW_BGP_EV_SENT_ALL, .family = (enum cw_bgp_family)f };

		/* Sending the last of one round can begin another. */
		if (!nb->sending[f] || walking || cw_bgp_out_work(nb->out, 0) ||
		    cw_bgp_out_pending(nb->out))
			continue;
		nb->sending[f] = false;
		cw_speaker_step(sp, i, &ev);
	}
	return walking || more;
}

bool cw_speaker_work(struct cw_speaker *sp, struct cw_time now)
{
	bool more = cw_bgp_rib_work(sp->rib, RIB_BUDGET);

	more |= take_changes(sp);
	flush(sp);
	retry_refused(sp, now);
	for (size_t i = 0; i < sp->n; i++)
		more |= pump(sp, i);
	sweep(sp, now);
	return more || sp->resync;
}
