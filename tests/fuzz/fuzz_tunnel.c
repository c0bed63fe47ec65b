/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a story: a few settings of a tunnel, then events and steps of time, in any order, also
 * those that no engine would tell. After each step the machine must agree with itself. In the end the
 * engine turns out to have nothing at all and does what it is asked from then on: the tunnel has to come
 * up with one IKE_SA and one child a pair, or, if it was stopped, to end.
 */
#include "fuzz.h"

#include "conf/conf.h"
#include "tunnel/tunnel.h"

#define CALM_S 120
#define PAIRS_MAX 24
#define CHILDREN_MAX 100
#define POLL_S 5
#define CALM_IDS 1000 /* the calm engine's ids begin here: none of the story's */
#define ROUNDS_MAX 100

struct world {
	struct cw_site_conf site;
	struct cw_tunnel_conf conf;
	struct cw_tunnel *tunnel;
	uint32_t pairs, all_pairs; /* how many, and the bit mask of them */
	struct cw_time now;
	struct cw_tunnel_actions out; /* of the last step */
	bool started, stopped;
	/* what the daemon has been told */
	bool engine_knows, asked_to_resolve, asked_to_poll;
	uint32_t carrying; /* bit mask of pairs */
	/* the calm engine */
	bool calm;
	uint32_t last_id, ike_id; /* ike_id 0: none */
	struct {
		uint32_t id, pair;
	} children[CHILDREN_MAX];
	size_t n_children;
	/* orders that it has not carried out */
	uint32_t wanted; /* bit mask of pairs */
	bool ike_wanted, ike_unwanted;
	uint32_t unwanted[CW_TUNNEL_ACTIONS_MAX]; /* ids of children */
	size_t n_unwanted;
};

static struct cw_ike_event ev; /* big; one thread */
static struct cw_tunnel_view view;

static uint32_t carrying_now(const struct world *w)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < w->pairs; i++)
		mask |= (uint32_t)cw_tunnel_pair_carries(w->tunnel, i) << i;
	return mask;
}

static bool is_trying(enum cw_tunnel_state s)
{
	return s == CW_TUNNEL_RESOLVING || s == CW_TUNNEL_CONNECTING || s == CW_TUNNEL_WAITING;
}

/* What people are shown; it is big, so not at every step of the calm. */
static void check_view(const struct world *w, enum cw_tunnel_state state)
{
	cw_tunnel_view(w->tunnel, w->now, 1000000000000, &view);
	must(view.n_children_wanted == w->pairs, "%zu pairs", view.n_children_wanted);
	must(w->out.full || view.wanted_up || !w->stopped || !w->engine_knows, "stopped, and the engine answers the peer");
	must(state == view.state && view.for_s >= 0, "the view shows %s since %lld s", cw_tunnel_state_name(view.state),
	     (long long)view.for_s);
	must(view.next_try_in_s >= -1 && view.next_try_in_s <= 60, "next try in %lld s", (long long)view.next_try_in_s);
	must(!view.n_history || view.history[0].to == state || (is_trying(view.history[0].to) && is_trying(state)),
	     "in %s, and the history ends in %s", cw_tunnel_state_name(state), cw_tunnel_state_name(view.history[0].to));
	for (size_t i = 1; i < view.n_history; i++) {
		const struct cw_view_step *new = &view.history[i - 1], *old = &view.history[i];

		must(new->from == old->to || (is_trying(new->from) && is_trying(old->to)),
		     "the history goes to %s and on from %s", cw_tunnel_state_name(old->to), cw_tunnel_state_name(new->from));
		must(new->at_wall_s >= old->at_wall_s, "the history goes back in time");
	}
}

static void check(struct world *w)
{
	uint32_t mask = carrying_now(w);
	enum cw_tunnel_state state = cw_tunnel_state(w->tunnel);

	must(state > CW_TUNNEL_CONF_ERROR && state < CW_TUNNEL_STATE_COUNT, "state %d", (int)state);
	must(cw_tunnel_carries(w->tunnel) == (mask != 0), "carries() does not agree with its pairs");
	must(state != CW_TUNNEL_UP || (cw_tunnel_primary(w->tunnel) && mask == w->all_pairs), "up with pairs %x of %x", mask,
	     w->all_pairs);
	must(state != CW_TUNNEL_IKE_ONLY || cw_tunnel_primary(w->tunnel), "ike-only without an IKE_SA");
	must(w->out.full || !w->started || w->carrying == mask, "the daemon was told %x, and it is %x", w->carrying, mask);
	if (!w->calm)
		check_view(w, state);
	for (size_t i = 0; i < cw_tunnel_children(w->tunnel); i++)
		must(cw_tunnel_child(w->tunnel, i), "child %zu is not there", i);
	must(!cw_tunnel_child(w->tunnel, cw_tunnel_children(w->tunnel)), "a child too many");
}

/* What the daemon does, as far as it matters. */
static void carry_out(struct world *w, const struct cw_tunnel_action *a)
{
	bool known = false;

	switch (a->kind) {
	case CW_TA_RESOLVE:
		w->asked_to_resolve = true;
		break;
	case CW_TA_ENGINE_SET:
		w->engine_knows = true;
		break;
	case CW_TA_ENGINE_REMOVE:
		w->engine_knows = false;
		break;
	case CW_TA_INITIATE:
		must(a->pair < w->pairs, "pair %u of %u", a->pair, w->pairs);
		if (w->ike_id)
			w->wanted |= 1u << a->pair;
		else
			w->ike_wanted = w->engine_knows;
		break;
	case CW_TA_TERMINATE_IKE:
		w->ike_unwanted |= w->ike_id && a->id == w->ike_id;
		break;
	case CW_TA_TERMINATE_CHILD:
		if (w->calm && w->n_unwanted < CW_TUNNEL_ACTIONS_MAX)
			w->unwanted[w->n_unwanted++] = a->id;
		break;
	case CW_TA_POLL:
		w->asked_to_poll = true;
		break;
	case CW_TA_CARRYING:
		w->carrying = carrying_now(w);
		break;
	case CW_TA_LOG:
		must(a->level < CW_LOG_LEVEL_COUNT && a->text[0] && memchr(a->text, 0, sizeof(a->text)), "a line without text");
		break;
	case CW_TA_REKEY_CHILD:
		for (size_t i = 0; i < cw_tunnel_children(w->tunnel); i++)
			known |= cw_tunnel_child(w->tunnel, i)->child_id == a->id;
		must(known, "rekey of a child %u that is not there", a->id);
		break;
	case CW_TA_CHECK_ALIVE:
		break;
	}
}

static void step(struct world *w, const struct cw_tunnel_event *tev)
{
	cw_tunnel_step(w->tunnel, tev, w->now, &w->out);
	must(w->out.n <= CW_TUNNEL_ACTIONS_MAX, "%zu actions", w->out.n);
	for (size_t i = 0; i < w->out.n; i++)
		carry_out(w, &w->out.v[i]);
	check(w);
}

static void simple(struct world *w, enum cw_tunnel_event_kind kind)
{
	step(w, &(struct cw_tunnel_event){ .kind = kind });
}

static void timers(struct world *w)
{
	for (int i = 0; cw_time_reached(cw_tunnel_next_due(w->tunnel), w->now); i++) {
		must(i < ROUNDS_MAX, "TIMER is asked for without end");
		simple(w, CW_TEV_TIMER);
	}
}

/* To `until`, with each deadline on its way. */
static void pass(struct world *w, struct cw_time until)
{
	for (;;) {
		struct cw_time due = cw_tunnel_next_due(w->tunnel);

		if (due.us >= until.us)
			break;
		if (due.us > w->now.us)
			w->now = due;
		timers(w);
	}
	w->now = until;
	timers(w);
}

/* ---- the story ---- */

static struct cw_ike_sa_info take_ike(struct input *in)
{
	uint8_t bits = take_u8(in);
	struct cw_ike_sa_info info = {
		.ike_id = 1 + take_u8(in) % 12,
		.spi_i = take_u8(in),
		.state = (enum cw_ike_sa_state)(bits & 3),
		.version = bits & 4 ? 1 : 2,
		.initiator = bits & 8,
		.established_s_ago = bits & 16 ? take_u16(in) : 0,
		.rekey_in_s = -1,
		.expires_in_s = bits & 32 ? take_u16(in) : -1,
		.remote_id = "peer",
		.proposal = "AES_CBC_256",
	};

	return info;
}

static struct cw_child_info take_child(struct input *in)
{
	uint8_t bits = take_u8(in), ids = take_u8(in);
	struct cw_child_info info = {
		.child_id = 1 + ids % 16,
		.ike_id = 1 + (ids >> 4) % 12,
		.pair = (bits >> 3) % PAIRS_MAX,
		.state = (enum cw_child_state)((bits & 7) % 5),
		.narrowed = bits & 128,
		.spi_in = take_u8(in),
		.bytes_in = take_u8(in),
		.last_in_s_ago = -1,
		.last_out_s_ago = -1,
		.rekey_in_s = -1,
		.expires_in_s = -1,
	};

	return info;
}

static void take_event(struct input *in, enum cw_ike_event_kind kind)
{
	uint8_t bits = take_u8(in);

	memset(&ev, 0, sizeof(ev));
	ev.kind = kind;
	ev.by_us = bits & 1;
	ev.is_child = bits & 2;
	ev.cause = (enum cw_cause)(take_u8(in) % CW_CAUSE_COUNT);
	if (bits & 4)
		memset(ev.detail, 'x', sizeof(ev.detail) - 1);
	ev.ike = take_ike(in);
	ev.ike_id = ev.ike.ike_id;
	ev.old_id = 1 + take_u8(in) % 12;
	if (kind != CW_IKE_EV_SNAPSHOT) {
		ev.child = take_child(in);
		return;
	}
	ev.n_children = (bits >> 4) % (CW_IKE_CHILDREN_MAX + 1);
	for (size_t i = 0; i < ev.n_children; i++)
		ev.children[i] = take_child(in);
}

static void happen(struct world *w, struct input *in)
{
	static const enum cw_tunnel_event_kind orders[] = { CW_TEV_UP, CW_TEV_DOWN, CW_TEV_RESTART, CW_TEV_TIMER,
							    CW_TEV_SILENCE, CW_TEV_KERNEL_FAILED, CW_TEV_ENGINE_REFUSED };
	uint8_t what = take_u8(in);
	struct cw_tunnel_event tev = { .cause = CW_CAUSE_RESOLVE, .detail = "detail", .ike = &ev };

	/* Before the start there are no orders. */
	if (!w->started)
		what = (uint8_t)((what & 0xf8) | (4 + what % 3));
	switch (what % 8) {
	case 0:
		pass(w, cw_time_add_ms(w->now, take_u16(in)));
		return;
	case 1:
		w->now = cw_time_add_ms(w->now, what >> 3);
		return;
	case 2:
		tev.kind = orders[(what >> 3) % 7];
		if (tev.kind == CW_TEV_UP || tev.kind == CW_TEV_DOWN || tev.kind == CW_TEV_RESTART)
			take_u8(in);
		break;
	case 3:
		tev.kind = what & 8 ? CW_TEV_RESOLVE_FAILED : CW_TEV_RESOLVED;
		tev.remote = (struct cw_addr){ .family = CW_FAMILY_IPV4, .bytes = { 10, what } };
		w->asked_to_resolve = false;
		break;
	case 4:
	case 5:
		tev.kind = CW_TEV_IKE;
		take_event(in, (enum cw_ike_event_kind)((what >> 3) % CW_IKE_EV_SNAPSHOT));
		break;
	case 6:
		tev.kind = what & 8 ? CW_TEV_SNAPSHOT_END : CW_TEV_SNAPSHOT;
		if (what & 8)
			tev.poll_at = cw_time_add_ms(w->now, -(int64_t)take_u16(in));
		else
			take_event(in, CW_IKE_EV_SNAPSHOT);
		break;
	case 7:
		tev.kind = CW_TEV_CHILD_BROKEN;
		tev.child_id = take_u8(in) % 17;
		if (what & 8)
			cw_tunnel_child_counters(w->tunnel, tev.child_id, take_u32(in), 1, take_u32(in), 1, w->now);
		if (what == 0xff) {
			w->stopped = true;
			tev.kind = CW_TEV_STOP;
		}
		break;
	}
	step(w, &tev);
}

/* ---- the calm ---- */

static struct cw_ike_sa_info calm_ike(const struct world *w)
{
	return (struct cw_ike_sa_info){ .ike_id = w->ike_id, .state = CW_IKE_SA_ESTABLISHED, .version = 2, .initiator = true,
					.spi_i = w->ike_id, .rekey_in_s = -1, .expires_in_s = -1 };
}

static struct cw_child_info calm_child(const struct world *w, size_t i)
{
	return (struct cw_child_info){ .child_id = w->children[i].id, .ike_id = w->ike_id, .pair = w->children[i].pair,
				       .state = CW_CHILD_INSTALLED, .spi_in = w->children[i].id, .spi_out = w->children[i].id,
				       .last_in_s_ago = -1, .last_out_s_ago = -1, .rekey_in_s = -1, .expires_in_s = -1 };
}

/* The engine tells of its IKE_SA (child: NULL) or of a child. */
static void calm_tell(struct world *w, enum cw_ike_event_kind kind, const struct cw_child_info *child)
{
	memset(&ev, 0, sizeof(ev));
	ev.kind = kind;
	ev.ike = calm_ike(w);
	ev.ike_id = w->ike_id;
	ev.by_us = true;
	if (child)
		ev.child = *child;
	step(w, &(struct cw_tunnel_event){ .kind = CW_TEV_IKE, .ike = &ev });
}

static void calm_poll(struct world *w)
{
	struct cw_time poll_at = w->now;

	w->asked_to_poll = false;
	pass(w, cw_time_add_ms(w->now, 1));
	for (size_t i = 0; w->ike_id && i <= w->n_children; i += CW_IKE_CHILDREN_MAX) {
		memset(&ev, 0, sizeof(ev));
		ev.kind = CW_IKE_EV_SNAPSHOT;
		ev.ike_id = w->ike_id;
		ev.ike = calm_ike(w);
		for (size_t k = i; k < w->n_children && k < i + CW_IKE_CHILDREN_MAX; k++)
			ev.children[ev.n_children++] = calm_child(w, k);
		step(w, &(struct cw_tunnel_event){ .kind = CW_TEV_SNAPSHOT, .ike = &ev });
	}
	step(w, &(struct cw_tunnel_event){ .kind = CW_TEV_SNAPSHOT_END, .poll_at = poll_at });
}

static void calm_end_child(struct world *w, uint32_t id)
{
	for (size_t i = 0; i < w->n_children; i++) {
		struct cw_child_info child = calm_child(w, i);

		if (child.child_id != id)
			continue;
		w->children[i] = w->children[--w->n_children];
		calm_tell(w, CW_IKE_EV_CHILD_DOWN, &child);
		return;
	}
}

static void calm_engine(struct world *w)
{
	size_t n = w->n_unwanted;

	w->n_unwanted = 0;
	for (size_t i = 0; i < n; i++)
		calm_end_child(w, w->unwanted[i]);
	if (w->ike_unwanted) {
		calm_tell(w, CW_IKE_EV_IKE_DOWN, NULL);
		w->ike_id = 0;
		w->n_children = 0;
		w->wanted = 0;
		w->ike_unwanted = false;
	}
	if (w->ike_wanted && !w->ike_id) {
		w->ike_id = CALM_IDS + ++w->last_id;
		w->wanted = w->all_pairs;
		calm_tell(w, CW_IKE_EV_IKE_UP, NULL);
	}
	w->ike_wanted = false;
	for (uint32_t i = 0; w->ike_id && i < w->pairs; i++) {
		struct cw_child_info child;

		if (!(w->wanted & 1u << i))
			continue;
		w->wanted &= ~(1u << i);
		must(w->n_children < CHILDREN_MAX, "children are asked for without end");
		w->children[w->n_children].id = CALM_IDS + ++w->last_id;
		w->children[w->n_children].pair = i;
		child = calm_child(w, w->n_children++);
		calm_tell(w, CW_IKE_EV_CHILD_UP, &child);
	}
}

static bool settled(const struct world *w)
{
	if (w->stopped)
		return cw_tunnel_is_idle(w->tunnel) && cw_tunnel_state(w->tunnel) == CW_TUNNEL_DOWN;
	return cw_tunnel_state(w->tunnel) == CW_TUNNEL_UP && w->ike_id && cw_tunnel_primary(w->tunnel)->ike_id == w->ike_id &&
	       w->n_children == w->pairs && cw_tunnel_children(w->tunnel) == w->pairs;
}

static void calm_down(struct world *w)
{
	struct cw_time end = cw_time_add_s(w->now, CALM_S), poll_due = w->now;

	w->calm = true;
	w->ike_wanted = false; /* an attempt of the story is as gone as all else */
	if (!w->stopped)
		simple(w, CW_TEV_UP);
	while (w->now.us < end.us && !settled(w)) {
		pass(w, cw_time_add_ms(w->now, 50));
		if (w->asked_to_resolve) {
			w->asked_to_resolve = false;
			step(w, &(struct cw_tunnel_event){ .kind = CW_TEV_RESOLVED, .remote = { .family = CW_FAMILY_IPV4 } });
		}
		calm_engine(w);
		if (w->asked_to_poll || cw_time_reached(poll_due, w->now)) {
			poll_due = cw_time_add_s(w->now, POLL_S);
			calm_poll(w);
		}
	}
	check_view(w, cw_tunnel_state(w->tunnel));
	must(settled(w), "%d s of calm, and the tunnel is %s (%s), with %zu children", CALM_S,
	     cw_tunnel_state_name(cw_tunnel_state(w->tunnel)), cw_cause_name(view.cause), cw_tunnel_children(w->tunnel));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .at = data, .left = size };
	struct world w = {
		.site = { .name = "fuzz", .profile = "generic" },
		.conf = { .name = "fuzz-1", .remote = "peer", .retry_min_s = 1, .retry_max_s = 10, .retry_auth_s = 12 },
		.now = { 1000000000 },
	};
	uint8_t bits = take_u8(&in);

	w.pairs = bits & 4 ? 1 + take_u8(&in) % PAIRS_MAX : 1;
	w.all_pairs = (1u << w.pairs) - 1;
	w.conf.site = &w.site;
	w.conf.start = !(bits & 1);
	w.conf.ike_version = bits & 8 ? CW_IKE_V1 : CW_IKE_V2;
	if (bits & 2)
		w.conf.remote_addr.family = CW_FAMILY_IPV4;
	w.tunnel = cw_tunnel_new(&w.conf, 0, 1, w.pairs, bits, w.now);
	must(w.tunnel, "no memory");
	check(&w);
	if (bits & 16) /* what an engine may tell before the start */
		happen(&w, &in);
	w.started = true;
	simple(&w, CW_TEV_START);
	while (in.left)
		happen(&w, &in);
	calm_down(&w);
	cw_tunnel_free(w.tunnel);
	return 0;
}
