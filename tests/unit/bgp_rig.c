/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/bgp_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cw_bgp_peer_conf rig_conf(void)
{
	return (struct cw_bgp_peer_conf){
		.name = "azure-weu-1",
		.local_asn = 65010,
		.remote_asn = 65515,
		.router_id = 0x0a0a0001,
		.local = { .family = CW_FAMILY_IPV4, .bytes = { 10, 10, 255, 1 } },
		.remote = { .family = CW_FAMILY_IPV4, .bytes = { 10, 20, 255, 4 } },
		.active = true,
		.passive = true,
		.family = { true, true },
		.hold_s = 90,
		.connect_retry_s = 8,
		.idle_hold_min_s = 1,
		.idle_hold_max_s = 60,
		.stable_s = 60,
		.role = CW_BGP_PEER_NO_ROLE,
		.gr_time_s = 120,
		.gr_time_max_s = 300,
		.gr_stale_s = 90,
		.gr_defer_s = 60,
		.max_prefixes = 100,
		.max_prefixes_warn = 80,
		.max_prefixes_restart_s = 300,
		.ttl = 2,
	};
}

struct rig *rig_new(const struct cw_bgp_peer_conf *conf)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now.us = 1000000000;
	r->p = cw_bgp_peer_new(conf, 7, r->now);
	assert_non_null(r->p);
	return r;
}

void rig_free(struct rig *r)
{
	cw_bgp_peer_free(r->p);
	free(r);
}

void rig_forget(struct rig *r)
{
	r->did[0] = r->log[0] = '\0';
	r->n_sent = 0;
}

/* ---- words ---- */

static const char *conn_name(enum cw_bgp_conn conn)
{
	return conn == OURS ? "ours" : "theirs";
}

static void word(char *buf, size_t size, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list args;

	if (at && at + 1 < size)
		at += (size_t)snprintf(buf + at, size - at, " ");
	va_start(args, fmt);
	vsnprintf(buf + at, size - at, fmt, args);
	va_end(args);
}

static void send_word(const struct cw_bgp_action *a, char *buf, size_t size)
{
	struct cw_bgp_header header = { 0 };
	struct cw_bgp_err err;
	const char *conn = conn_name(a->conn);
	struct cw_span body;

	/* Whatever is sent is a whole message that anybody can take. */
	assert_int_equal(cw_bgp_header_decode(a->bytes, CW_BGP_MSG_MAX, &header, &err), CW_OK);
	assert_int_equal(header.len, a->bytes.n);
	body = (struct cw_span){ a->bytes.p + CW_BGP_HEADER_LEN, a->bytes.n - CW_BGP_HEADER_LEN };
	switch (header.type) {
	case CW_BGP_OPEN:
		word(buf, size, "%s:open", conn);
		break;
	case CW_BGP_KEEPALIVE:
		word(buf, size, "%s:keepalive", conn);
		break;
	case CW_BGP_NOTIFICATION:
		word(buf, size, "%s:notify(%u/%u)", conn, body.p[0], body.p[1]);
		break;
	case CW_BGP_ROUTE_REFRESH:
		word(buf, size, "%s:refresh%d(%u)", conn, body.p[1] == 1 ? 4 : 6, body.p[2]);
		break;
	default:
		word(buf, size, "%s:unexpected(%u)", conn, a->bytes.p[18]);
	}
}

static int digit(enum cw_bgp_family family)
{
	return family == CW_BGP_IPV4 ? 4 : 6;
}

void rig_words(const struct cw_bgp_actions *out, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < out->n; i++) {
		const struct cw_bgp_action *a = &out->v[i];

		switch (a->kind) {
		case CW_BGP_ACT_CONNECT:
			word(buf, size, "connect");
			break;
		case CW_BGP_ACT_ACCEPT:
			word(buf, size, "accept");
			break;
		case CW_BGP_ACT_REFUSE:
			if (a->bytes.n)
				word(buf, size, "refuse(%u/%u)", a->bytes.p[19], a->bytes.p[20]);
			else
				word(buf, size, "refuse");
			break;
		case CW_BGP_ACT_SEND:
			send_word(a, buf, size);
			break;
		case CW_BGP_ACT_CLOSE:
			word(buf, size, "%s:%s", conn_name(a->conn), a->discard ? "drop" : "close");
			break;
		case CW_BGP_ACT_UP:
			word(buf, size, "up");
			break;
		case CW_BGP_ACT_DOWN:
			word(buf, size, "down(%s%s%s)", cw_bgp_cause_name(a->cause),
				a->keep[CW_BGP_IPV4] ? ",keep4" : "",
				a->keep[CW_BGP_IPV6] ? ",keep6" : "");
			break;
		case CW_BGP_ACT_DELIVER_UPDATE:
			word(buf, size, "update");
			break;
		case CW_BGP_ACT_SEND_ALL:
			word(buf, size, "all%d%s", digit(a->family), a->marked ? "(marked)" : "");
			break;
		case CW_BGP_ACT_STALE_MARK:
			word(buf, size, "mark%d", digit(a->family));
			break;
		case CW_BGP_ACT_STALE_SWEEP:
			word(buf, size, "sweep%d", digit(a->family));
			break;
		case CW_BGP_ACT_LOG:
			break;
		}
	}
}

static void note(struct rig *r)
{
	char words[1024];

	rig_words(&r->out, words, sizeof(words));
	if (words[0])
		word(r->did, sizeof(r->did), "%s", words);
	for (size_t i = 0; i < r->out.n; i++) {
		const struct cw_bgp_action *a = &r->out.v[i];
		size_t at = strlen(r->log);

		if (a->kind == CW_BGP_ACT_LOG)
			snprintf(r->log + at, sizeof(r->log) - at, "%s %u %s\n",
				cw_log_level_name(a->level), a->log_id, a->text);
		if (a->kind == CW_BGP_ACT_SEND && a->bytes.p[18] == CW_BGP_NOTIFICATION) {
			memcpy(r->sent, a->bytes.p, a->bytes.n);
			r->n_sent = a->bytes.n;
		}
	}
}

/* ---- steps ---- */

void rig_step(struct rig *r, const struct cw_bgp_event *ev)
{
	cw_bgp_peer_step(r->p, ev, r->now, &r->out);
	note(r);
	/* A deadline that is past already would make the loop spin. */
	assert_true(ev->kind != CW_BGP_EV_TIMER ||
		    !cw_time_reached(cw_bgp_peer_next_due(r->p), r->now));
}

void rig_event(struct rig *r, enum cw_bgp_event_kind kind, enum cw_bgp_conn conn)
{
	rig_step(r, &(struct cw_bgp_event){ .kind = kind, .conn = conn });
}

int64_t rig_next_ms(struct rig *r)
{
	struct cw_time due = cw_bgp_peer_next_due(r->p);
	int64_t us;

	if (cw_time_is_never(due))
		return -1;
	us = cw_time_diff_us(due, r->now);
	if (us > 0)
		r->now = due;
	rig_event(r, CW_BGP_EV_TIMER, OURS);
	return us / 1000;
}

void rig_pass_ms(struct rig *r, int64_t ms)
{
	struct cw_time end = cw_time_add_ms(r->now, ms);

	while (cw_time_reached(cw_bgp_peer_next_due(r->p), end))
		rig_next_ms(r);
	r->now = end;
}

/* ---- the peer's mouth ---- */

struct cw_bgp_open rig_open(void)
{
	return (struct cw_bgp_open){
		.version = 4,
		.asn = 65515,
		.hold_s = 180,
		.id = 0x0a14ff04,
		.caps = { .mp_any = true,
			.mp = { true, true },
			.refresh = true,
			.enhanced_refresh = true,
			.as4 = true,
			.as4_value = 65515 },
	};
}

void hear(struct rig *r, enum cw_bgp_conn conn, enum cw_bgp_type type, const void *body, size_t n)
{
	rig_step(r, &(struct cw_bgp_event){ .kind = CW_BGP_EV_MESSAGE,
			    .conn = conn,
			    .type = (uint8_t)type,
			    .body = { body, n } });
}

void hear_open(struct rig *r, enum cw_bgp_conn conn, const struct cw_bgp_open *open)
{
	uint8_t buf[512];
	size_t n = cw_bgp_open_encode(open, buf, sizeof(buf));

	assert_true(n > CW_BGP_HEADER_LEN);
	hear(r, conn, CW_BGP_OPEN, buf + CW_BGP_HEADER_LEN, n - CW_BGP_HEADER_LEN);
}

void hear_notification(struct rig *r, enum cw_bgp_conn conn, uint8_t code, uint8_t subcode)
{
	uint8_t body[2] = { code, subcode };

	hear(r, conn, CW_BGP_NOTIFICATION, body, sizeof(body));
}

void hear_family(
	struct rig *r, enum cw_bgp_event_kind kind, enum cw_bgp_family family, uint32_t count)
{
	rig_step(r, &(struct cw_bgp_event){ .kind = kind, .family = family, .count = count });
}

void rig_establish(struct rig *r, const struct cw_bgp_open *open)
{
	struct cw_bgp_open good = rig_open();

	rig_event(r, CW_BGP_EV_START, OURS);
	rig_event(r, CW_BGP_EV_CONNECTED, OURS);
	hear_open(r, OURS, open ? open : &good);
	hear(r, OURS, CW_BGP_KEEPALIVE, NULL, 0);
	assert_state(r, ESTABLISHED);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV4, 0);
	hear_family(r, CW_BGP_EV_SENT_ALL, CW_BGP_IPV6, 0);
	rig_forget(r);
}

struct cw_bgp_peer_view rig_view(const struct rig *r)
{
	struct cw_bgp_peer_view v;

	cw_bgp_peer_view(r->p, r->now, 1700000000000000, &v);
	return v;
}
