/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a story of one BGP session: a few settings, then bytes and messages of the peer, events, orders and
 * steps of time, in any order, also those that no owner would tell. After each step the machine must ask only
 * for what its owner can do, and agree with itself. In the end the peer turns out to be a good one: then the
 * session has to come up, and to stay.
 */
#include "fuzz.h"

#include "bgp/bgp_peer.h"

#define CALM_ROUNDS 200
#define CALM_TENS 30 /* of seconds */

enum slot { NONE, CONNECTING, UP };

struct world {
	struct cw_bgp_peer_conf conf;
	struct cw_bgp_peer *p;
	struct cw_time now;
	enum slot slot[CW_BGP_CONNS];
	bool calm;    /* look less closely: it is a long time */
	bool pending; /* a connection waits for ACCEPT or REFUSE */
	bool up, sending[CW_BGP_FAMILIES];
	uint8_t stream[CW_BGP_CONNS][256]; /* not yet framed */
	size_t n_stream[CW_BGP_CONNS];
};

static struct cw_bgp_actions out; /* big; one thread */
static struct cw_bgp_peer_view view;

static void check_view(const struct world *w)
{
	cw_bgp_peer_view(w->p, w->now, 1700000000000000, &view);
	must(view.state == cw_bgp_peer_state(w->p), "the view shows another state");
	must((view.state == CW_BGP_STATE_ESTABLISHED) == w->up, "%s, and the owner knows otherwise",
	     cw_bgp_state_name(view.state));
	must((view.state == CW_BGP_STATE_IDLE) == (view.wait != CW_BGP_WAIT_NONE), "%s waits for %s",
	     cw_bgp_state_name(view.state), cw_bgp_wait_name(view.wait));
	must(view.for_s >= 0 && view.hold_left_s >= -1 && view.hold_left_s <= 65535, "times");
	must(view.next_try_in_s >= -1 && view.next_try_in_s <= 86400, "next try in %lld s",
	     (long long)view.next_try_in_s);
	must(is_plain(view.why, "") && is_plain(view.last_error_text, "") && is_plain(view.received.text, ""),
	     "text with control characters");
	for (size_t i = 1; i < view.n_history; i++)
		must(view.history[i - 1].at_wall_s >= view.history[i].at_wall_s, "history goes back in time");
}

static void carry_out(struct world *w, const struct cw_bgp_event *ev)
{
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	for (size_t i = 0; i < out.n; i++) {
		const struct cw_bgp_action *a = &out.v[i];

		if (a->bytes.n)
			must(cw_bgp_header_decode(a->bytes, CW_BGP_MSG_MAX, &header, &err) == CW_OK &&
				     header.len == a->bytes.n,
			     "what is sent is no message");
		switch (a->kind) {
		case CW_BGP_ACT_CONNECT:
			must(w->slot[CW_BGP_CONN_OURS] == NONE, "connects twice");
			w->slot[CW_BGP_CONN_OURS] = CONNECTING;
			break;
		case CW_BGP_ACT_ACCEPT:
			must(w->pending && w->slot[CW_BGP_CONN_THEIRS] == NONE, "accepts over another");
			w->slot[CW_BGP_CONN_THEIRS] = UP;
			w->n_stream[CW_BGP_CONN_THEIRS] = 0;
			w->pending = false;
			break;
		case CW_BGP_ACT_REFUSE:
			must(w->pending, "refuses nothing");
			w->pending = false;
			break;
		case CW_BGP_ACT_SEND:
			must(w->slot[a->conn] == UP, "sends on nothing");
			break;
		case CW_BGP_ACT_CLOSE:
			must(w->slot[a->conn] != NONE, "closes nothing");
			w->slot[a->conn] = NONE;
			break;
		case CW_BGP_ACT_UP:
			must(!w->up, "up twice");
			w->up = true;
			break;
		case CW_BGP_ACT_DOWN:
			must(w->up, "down twice");
			w->up = w->sending[0] = w->sending[1] = false;
			break;
		case CW_BGP_ACT_DELIVER_UPDATE:
			must(w->up && ev->kind == CW_BGP_EV_MESSAGE && ev->type == CW_BGP_UPDATE, "no update");
			break;
		case CW_BGP_ACT_SEND_ALL:
			must(w->up && !w->sending[a->family], "sends all twice");
			w->sending[a->family] = true;
			break;
		case CW_BGP_ACT_STALE_MARK:
		case CW_BGP_ACT_STALE_SWEEP:
			must(a->family < CW_BGP_FAMILIES, "no family");
			break;
		case CW_BGP_ACT_LOG:
			must(is_plain(a->text, ""), "a line with control characters");
			break;
		}
	}
}

static void step(struct world *w, const struct cw_bgp_event *ev)
{
	cw_bgp_peer_step(w->p, ev, w->now, &out);
	carry_out(w, ev);
	must(!w->pending, "neither accepted nor refused");
	must(!(w->up && w->slot[0] != NONE && w->slot[1] != NONE), "established, and a connection more");
	if (ev->kind == CW_BGP_EV_TIMER)
		must(!cw_time_reached(cw_bgp_peer_next_due(w->p), w->now), "due again at once");
	if (!w->calm || out.n)
		check_view(w);
}

static void simple(struct world *w, enum cw_bgp_event_kind kind, enum cw_bgp_conn conn)
{
	step(w, &(struct cw_bgp_event){ .kind = kind, .conn = conn });
}

static void pass(struct world *w, int64_t ms)
{
	struct cw_time end = cw_time_add_ms(w->now, ms);

	while (cw_time_reached(cw_bgp_peer_next_due(w->p), end)) {
		struct cw_time due = cw_bgp_peer_next_due(w->p);

		if (due.us > w->now.us)
			w->now = due;
		simple(w, CW_BGP_EV_TIMER, CW_BGP_CONN_OURS);
	}
	w->now = end;
}

/* ---- the peer ---- */

static void message(struct world *w, enum cw_bgp_conn conn, uint8_t type, const uint8_t *body, size_t n)
{
	if (w->slot[conn] == UP)
		step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_MESSAGE, .conn = conn, .type = type,
				.body = { body, n } });
}

static void send_open(struct world *w, enum cw_bgp_conn conn, const struct cw_bgp_open *open)
{
	uint8_t buf[512];
	size_t n = cw_bgp_open_encode(open, buf, sizeof(buf));

	if (n)
		message(w, conn, CW_BGP_OPEN, buf + CW_BGP_HEADER_LEN, n - CW_BGP_HEADER_LEN);
}

/* What our settings ask of it. */
static struct cw_bgp_open good_open(const struct world *w)
{
	static const uint8_t partner[] = { CW_BGP_ROLE_CUSTOMER, CW_BGP_ROLE_RS_CLIENT, CW_BGP_ROLE_RS,
		CW_BGP_ROLE_PROVIDER, CW_BGP_ROLE_PEER };
	struct cw_bgp_open open = { .version = 4, .asn = w->conf.remote_asn, .hold_s = 90, .id = 0x0a140001 };

	open.caps.mp_any = open.caps.mp[0] = open.caps.mp[1] = true;
	open.caps.as4 = open.caps.refresh = open.caps.enhanced_refresh = true;
	open.caps.as4_value = open.asn;
	open.caps.role = w->conf.role <= CW_BGP_ROLE_PEER;
	open.caps.role_value = open.caps.role ? partner[w->conf.role] : 0;
	return open;
}

static void some_open(struct world *w, enum cw_bgp_conn conn, struct input *in)
{
	struct cw_bgp_open open = good_open(w);
	uint8_t what = take_u8(in), gr = take_u8(in);

	if (what & 1)
		open.hold_s = take_u16(in);
	if (what & 2)
		open.id = take_u32(in);
	if (what & 4)
		open.asn = open.caps.as4_value = take_u32(in);
	if (what & 8)
		open.caps = (struct cw_bgp_caps){ 0 };
	if (what & 16)
		open.caps.role_value = take_u8(in);
	if (what & 32)
		open.caps.enhanced_refresh = false;
	if (what & 64)
		open.caps.ext_message = true;
	open.caps.gr = gr & 1;
	open.caps.gr_restarting = gr & 2;
	open.caps.gr_notification = gr & 4;
	open.caps.gr_family[0] = open.caps.gr_forwarding[0] = gr & 8;
	open.caps.gr_family[1] = gr & 16;
	open.caps.gr_time_s = gr;
	send_open(w, conn, &open);
}

/* Bytes as TCP brings them: framed as the owner does. */
static void bytes(struct world *w, enum cw_bgp_conn conn, struct input *in)
{
	size_t n = take_u8(in), used = 0;
	struct cw_bgp_header header;
	struct cw_bgp_err err = { 0 };
	enum cw_rc rc = CW_E_BUSY;

	while (n-- && in->left && w->n_stream[conn] < sizeof(w->stream[conn]))
		w->stream[conn][w->n_stream[conn]++] = take_u8(in);
	while (w->slot[conn] == UP && used < w->n_stream[conn]) {
		struct cw_span left = { w->stream[conn] + used, w->n_stream[conn] - used };

		rc = cw_bgp_header_decode(left, cw_bgp_peer_max(w->p, conn), &header, &err);
		if (rc != CW_OK)
			break;
		message(w, conn, header.type, left.p + CW_BGP_HEADER_LEN, header.len - (size_t)CW_BGP_HEADER_LEN);
		used += header.len;
	}
	if (w->slot[conn] == UP && rc == CW_E_PEER)
		step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_HEADER_ERROR, .conn = conn, .err = &err,
				.body = { w->stream[conn] + used, CW_BGP_HEADER_LEN } });
	memmove(w->stream[conn], w->stream[conn] + used, w->n_stream[conn] - used);
	w->n_stream[conn] -= used;
	if (w->n_stream[conn] == sizeof(w->stream[conn]) || w->slot[conn] != UP)
		w->n_stream[conn] = 0;
}

/* ---- the owner ---- */

static void change(struct world *w, struct input *in)
{
	struct cw_bgp_peer_conf *c = &w->conf;
	uint8_t what = take_u8(in), value = take_u8(in);

	switch (what % 12) {
	case 0:
		c->hold_s = value < 3 ? 0 : value;
		c->hold_min_s = 0;
		break;
	case 1:
		c->max_prefixes = value;
		break;
	case 2:
		c->active = value & 1;
		c->passive = !c->active || value & 2;
		break;
	case 3:
		c->family[CW_BGP_IPV6] = value & 1;
		break;
	case 4:
		c->role = value <= CW_BGP_ROLE_PEER ? value : CW_BGP_PEER_NO_ROLE;
		c->role_strict = value & 64;
		break;
	case 5:
		c->gr = value & 1;
		c->gr_time_s = value;
		break;
	case 6:
		c->delay_open_s = value % 8;
		break;
	case 7:
		c->hold_min_s = c->hold_s && value < 90 && value <= c->hold_s ? value : 0;
		break;
	case 8:
		c->md5_generation = value;
		break;
	case 9:
		c->ext_message = value & 1;
		break;
	case 10:
		c->max_prefixes_restart_s = value;
		break;
	case 11:
		c->router_id = value + 1u;
		break;
	}
	step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONF_CHANGED, .conf = c });
}

static void connection_event(struct world *w, enum cw_bgp_conn conn, uint8_t what)
{
	switch (what % 4) {
	case 0:
		if (w->slot[CW_BGP_CONN_OURS] == CONNECTING) {
			w->slot[CW_BGP_CONN_OURS] = UP;
			w->n_stream[CW_BGP_CONN_OURS] = 0;
		}
		simple(w, CW_BGP_EV_CONNECTED, CW_BGP_CONN_OURS);
		break;
	case 1:
		if (w->slot[CW_BGP_CONN_OURS] == CONNECTING)
			w->slot[CW_BGP_CONN_OURS] = NONE;
		step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CONNECT_FAILED, .err_no = what });
		break;
	case 2:
		w->pending = true;
		simple(w, CW_BGP_EV_ACCEPTED, CW_BGP_CONN_THEIRS);
		break;
	case 3:
		w->slot[conn] = NONE;
		step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_CLOSED, .conn = conn, .err_no = what & 64 });
		break;
	}
}

static void order(struct world *w, struct input *in)
{
	static const enum cw_bgp_event_kind kinds[] = { CW_BGP_EV_START, CW_BGP_EV_STOP, CW_BGP_EV_RESET,
		CW_BGP_EV_NET_DOWN, CW_BGP_EV_NET_UP };
	uint8_t what = take_u8(in), flags = take_u8(in);
	struct cw_bgp_event ev = { .kind = kinds[what % 5], .restarting = flags & 1, .forwarding = flags & 2,
		.quiet = flags & 4, .reset = (enum cw_bgp_reset)(flags % 3), .subcode = flags & 15 };

	ev.text = flags & 16 ? "maintenance \xc3\xa4" : NULL;
	step(w, &ev);
}

static void report(struct world *w, enum cw_bgp_conn conn, struct input *in)
{
	static const enum cw_bgp_event_kind kinds[] = { CW_BGP_EV_EOR, CW_BGP_EV_PREFIXES,
		CW_BGP_EV_SENT_ALL, CW_BGP_EV_SEND_BLOCKED, CW_BGP_EV_SEND_PROGRESS,
		CW_BGP_EV_UPDATE_ERROR, CW_BGP_EV_TIMER };
	uint8_t what = take_u8(in), value = take_u8(in), data[] = { value, what };
	struct cw_bgp_err err = { .code = CW_BGP_E_UPDATE, .subcode = value, .data = { data, 2 }, .why = "odd" };
	struct cw_bgp_event ev = { .kind = kinds[what % 7], .conn = conn, .blocked = value & 1,
		.family = (enum cw_bgp_family)(value & 1), .count = value, .err = &err,
		.body = { data, 2 } };

	if (ev.kind == CW_BGP_EV_SENT_ALL)
		w->sending[ev.family] = false;
	step(w, &ev);
	if (ev.kind == CW_BGP_EV_TIMER)
		cw_bgp_peer_sent(w->p, CW_BGP_UPDATE, value, w->now);
}

static void story(struct world *w, struct input *in)
{
	uint8_t body[256], what = take_u8(in);
	enum cw_bgp_conn conn = what & 0x80 ? CW_BGP_CONN_THEIRS : CW_BGP_CONN_OURS;
	size_t n;

	switch (what & 0x0f) {
	case 0:
	case 1:
		pass(w, take_u8(in) * (what & 1 ? 10 : 1000));
		break;
	case 2:
		order(w, in);
		break;
	case 3:
	case 4:
		connection_event(w, conn, take_u8(in));
		break;
	case 5:
	case 6:
		some_open(w, conn, in);
		break;
	case 7:
	case 8:
		message(w, conn, CW_BGP_KEEPALIVE, NULL, 0);
		break;
	case 9:
		for (n = 0; n < sizeof(body) && n < take_u8(in); n++)
			body[n] = take_u8(in);
		message(w, conn, 1 + take_u8(in) % 6, body, n);
		break;
	case 10:
		bytes(w, conn, in);
		break;
	case 11:
		change(w, in);
		break;
	default:
		report(w, conn, in);
	}
}

/* A good peer from now on: whatever was, the session comes up and stays. */
static void calm(struct world *w)
{
	struct cw_bgp_open open;
	int64_t waited_ms = 0;

	for (unsigned i = 0; i < CW_BGP_CONNS; i++) {
		if (w->slot[i] != NONE)
			connection_event(w, (enum cw_bgp_conn)i, 3);
	}
	simple(w, CW_BGP_EV_START, CW_BGP_CONN_OURS);
	simple(w, CW_BGP_EV_NET_UP, CW_BGP_CONN_OURS);
	step(w, &(struct cw_bgp_event){ .kind = CW_BGP_EV_RESET, .reset = CW_BGP_RESET_HARD });
	w->calm = true;
	open = good_open(w);
	for (int round = 0; !w->up && round < CALM_ROUNDS; round++) {
		if (w->slot[CW_BGP_CONN_OURS] == CONNECTING)
			connection_event(w, CW_BGP_CONN_OURS, 0);
		else if (!w->conf.active && w->slot[CW_BGP_CONN_THEIRS] == NONE)
			connection_event(w, CW_BGP_CONN_THEIRS, 2);
		for (unsigned i = 0; i < CW_BGP_CONNS; i++) {
			send_open(w, (enum cw_bgp_conn)i, &open);
			message(w, (enum cw_bgp_conn)i, CW_BGP_KEEPALIVE, NULL, 0);
		}
		if (!w->up) {
			pass(w, 1000);
			waited_ms += 1000;
		}
	}
	must(w->up, "not up after %lld s with a good peer: %s, %s", (long long)waited_ms / 1000,
	     cw_bgp_state_name(cw_bgp_peer_state(w->p)), view.why);
	/* Hold times of less than that need signs of life more often. */
	for (int i = 0; i < CALM_TENS * 10; i++) {
		pass(w, w->conf.hold_s && w->conf.hold_s < 30 ? 1000 : 10000);
		i += w->conf.hold_s && w->conf.hold_s < 30 ? 0 : 9;
		for (unsigned i = 0; i < CW_BGP_CONNS; i++)
			message(w, (enum cw_bgp_conn)i, CW_BGP_KEEPALIVE, NULL, 0);
	}
	must(w->up, "a good session ended: %s", cw_bgp_cause_name(view.cause));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct world w = {
		.now = { 1000000 },
		.conf = { .name = "fuzz", .local_asn = 65010, .remote_asn = 65515, .router_id = 0x0a0a0001,
			  .active = true, .passive = true, .family = { true, true }, .hold_s = 90,
			  .connect_retry_s = 5, .idle_hold_min_s = 1, .idle_hold_max_s = 60, .stable_s = 60,
			  .role = CW_BGP_PEER_NO_ROLE, .gr_time_s = 120, .gr_time_max_s = 300,
			  .gr_stale_s = 90, .gr_defer_s = 60, .max_prefixes = 100,
			  .max_prefixes_warn = 80, .max_prefixes_restart_s = 300, .ttl = 1 },
	};

	if (take_u8(&in) & 1)
		w.conf.remote_asn = w.conf.local_asn;
	w.p = cw_bgp_peer_new(&w.conf, take_u8(&in), w.now);
	must(w.p, "no memory");
	simple(&w, CW_BGP_EV_START, CW_BGP_CONN_OURS);
	while (in.left)
		story(&w, &in);
	calm(&w);
	cw_bgp_peer_free(w.p);
	return 0;
}
