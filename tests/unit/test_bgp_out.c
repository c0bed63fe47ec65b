/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bgp_out: a peer that reads each message and minds what it is told: nothing twice, nothing too much, nothing
 * missing in the end; full messages, End-of-RIB, refresh, the limit, a peer that stops reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp/bgp_out.h"
#include "wire/bgp_msg.h"

#define PREFIXES 3000
#define ATTRS 40

struct peer_route {
	uint32_t med; /* the number of its attributes + 1; 0: it has not this one */
	bool unheard; /* since BoRR */
};

struct world {
	uint64_t random;
	struct cw_bgp_store *store;
	struct cw_bgp_rib *rib;
	struct cw_bgp_out *out;
	uint16_t source, other; /* two neighbours; the out is toward `other` */
	uint32_t attrs[ATTRS];
	struct cw_bgp_codec codec;
	uint32_t n_mapped; /* calls of map() */
	uint32_t refuse;   /* admit() refuses numbers divisible by this; 0: none */
	uint32_t add;	   /* map() adds this to the MED */
	/* the peer */
	struct peer_route routes[CW_BGP_FAMILIES][PREFIXES];
	uint32_t n_routes[CW_BGP_FAMILIES];
	uint32_t limit; /* 0: none */
	unsigned n_messages, n_updates, n_eor[CW_BGP_FAMILIES], n_begin, n_end;
	size_t longest;
	bool refreshing; /* what it has may be said again */
};

static uint32_t roll(struct world *w, uint32_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 20) % below;
}

static struct cw_prefix prefix_of(enum cw_bgp_family family, uint32_t i)
{
	struct cw_prefix p = { .addr.family = CW_FAMILY_IPV4, .len = 24 };

	if (family == CW_BGP_IPV6) {
		p.addr.family = CW_FAMILY_IPV6;
		p.len = 48;
		p.addr.bytes[4] = (uint8_t)(i >> 8);
		p.addr.bytes[5] = (uint8_t)i;
		return p;
	}
	p.addr.bytes[0] = 10;
	p.addr.bytes[1] = (uint8_t)(i >> 8);
	p.addr.bytes[2] = (uint8_t)i;
	return p;
}

static uint32_t number_of(const struct cw_prefix *p)
{
	size_t at = p->addr.family == CW_FAMILY_IPV6 ? 4 : 1;

	return (uint32_t)(p->addr.bytes[at] << 8 | p->addr.bytes[at + 1]);
}

/* ---- policy ---- */

static uint8_t admit(void *user, const struct cw_prefix *prefix, const struct cw_bgp_winner *best,
		     uint8_t *ret_class)
{
	const struct world *w = user;

	assert_int_not_equal(best->source, w->other); /* never asked whether to send a route back */
	*ret_class = prefix->addr.family == CW_FAMILY_IPV6;
	return w->refuse && number_of(prefix) % w->refuse == 0;
}

static uint8_t map(void *user, uint16_t source, const struct cw_bgp_attrs_view *attrs,
		   const struct cw_addr *next_hop, enum cw_bgp_family family, uint8_t class, uint8_t *buf,
		   size_t size, size_t *ret_len, struct cw_addr *ret_next_hop)
{
	struct cw_bgp_attrs_edit edit = { .prepend_asn = 65010, .prepend_n = 1 };
	struct world *w = user;

	(void)source;
	assert_int_equal(class, family == CW_BGP_IPV6);
	w->n_mapped++;
	edit.set_med = true;
	edit.med = attrs->med + w->add;
	*ret_next_hop = *next_hop;
	if (family == CW_BGP_IPV6)
		*ret_next_hop = (struct cw_addr){ CW_FAMILY_IPV6, { 0xfd, [15] = 1 } };
	*ret_len = cw_bgp_attrs_edit(attrs->wire, &edit, buf, size);
	return *ret_len == 0;
}

/* ---- the peer ---- */

static void heard(struct world *w, enum cw_bgp_family family, const struct cw_prefix *p, uint32_t med)
{
	uint32_t i = number_of(p);
	struct peer_route *route = &w->routes[family][i];
	struct cw_prefix whole = prefix_of(family, i);

	assert_int_equal(cw_prefix_compare(p, &whole), 0);
	if (!med)
		assert_int_not_equal(route->med, 0); /* never taken back what it was not told */
	else if (!w->refreshing)
		assert_int_not_equal(route->med, med); /* never told twice */
	w->n_routes[family] += (med != 0) - (route->med != 0);
	*route = (struct peer_route){ .med = med };
	if (w->limit)
		assert_in_range(w->n_routes[family], 0, w->limit);
}

static void hear_all(struct world *w, enum cw_bgp_family family, struct cw_span nlri, uint32_t med)
{
	struct cw_cursor c = cw_cursor_of(nlri);
	struct cw_prefix p;

	while (cw_bgp_prefix_get(&c, family, &p))
		heard(w, family, &p, med);
}

static void hear_update(struct world *w, struct cw_span body)
{
	static struct cw_bgp_update u;
	struct cw_bgp_err err;

	assert_int_equal(cw_bgp_update_decode(body, &w->codec, &u, &err), CW_OK);
	assert_int_equal(u.verdict, CW_BGP_ACCEPT);
	if (u.end_of_rib) {
		w->n_eor[u.eor_family]++;
		return;
	}
	w->n_updates++;
	hear_all(w, CW_BGP_IPV4, u.withdrawn, 0);
	hear_all(w, CW_BGP_IPV4, u.nlri, u.attrs.med + 1);
	if (u.unreach.present)
		hear_all(w, u.unreach.family, u.unreach.nlri, 0);
	if (u.reach.present)
		hear_all(w, u.reach.family, u.reach.nlri, u.attrs.med + 1);
}

static void hear_refresh(struct world *w, struct cw_span body)
{
	struct cw_bgp_refresh refresh;
	struct cw_bgp_err err;

	assert_int_equal(cw_bgp_refresh_decode(body, &refresh, &err), CW_OK);
	for (uint32_t i = 0; i < PREFIXES; i++) {
		struct peer_route *route = &w->routes[refresh.family][i];

		if (refresh.kind == CW_BGP_REFRESH_BEGIN)
			route->unheard = route->med != 0;
		else
			assert_false(route->unheard); /* it would be taken for gone */
	}
	w->n_begin += refresh.kind == CW_BGP_REFRESH_BEGIN;
	w->n_end += refresh.kind == CW_BGP_REFRESH_END;
}

/* Reads up to max messages; true: there were so many. */
static bool pull(struct world *w, unsigned max)
{
	static uint8_t buf[CW_BGP_MSG_EXTENDED_MAX];

	while (max--) {
		size_t n = cw_bgp_out_next(w->out, buf, sizeof(buf));
		struct cw_bgp_header header;
		struct cw_bgp_err err;
		struct cw_span body = { .p = buf + CW_BGP_HEADER_LEN, .n = n - CW_BGP_HEADER_LEN };

		if (!n)
			return false;
		assert_in_range(n, CW_BGP_HEADER_LEN, w->codec.max);
		assert_int_equal(cw_bgp_header_decode((struct cw_span){ buf, n }, w->codec.max, &header, &err), CW_OK);
		assert_int_equal(header.len, n);
		w->n_messages++;
		w->longest = n > w->longest ? n : w->longest;
		if (header.type == CW_BGP_UPDATE)
			hear_update(w, body);
		else
			hear_refresh(w, body);
	}
	return true;
}

/* ---- the gateway ---- */

static void set(struct world *w, uint16_t source, enum cw_bgp_family family, uint32_t i, uint32_t attrs)
{
	struct cw_prefix p = prefix_of(family, i);
	enum cw_bgp_rib_what what;

	assert_int_equal(cw_bgp_rib_set(w->rib, &p, source, w->attrs[attrs], 0, &what), CW_OK);
}

static void withdraw(struct world *w, uint16_t source, enum cw_bgp_family family, uint32_t i)
{
	struct cw_prefix p = prefix_of(family, i);

	cw_bgp_rib_withdraw(w->rib, &p, source);
}

static void tell(struct world *w)
{
	struct cw_bgp_change change;

	while (cw_bgp_rib_next_change(w->rib, &change))
		assert_int_equal(cw_bgp_out_update(w->out, &change), CW_OK);
}

static void settle(struct world *w)
{
	do {
		tell(w);
		while (cw_bgp_out_work(w->out, 1 + roll(w, 400)))
			pull(w, 2);
		pull(w, UINT32_MAX);
	} while (cw_bgp_out_work(w->out, 0));
	assert_false(cw_bgp_out_pending(w->out));
	w->refreshing = false;
}

/* The peer has what the rib says, as policy would have it. */
static void check(struct world *w)
{
	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		const struct cw_bgp_out_count *c = cw_bgp_out_count(w->out, (enum cw_bgp_family)f);
		uint32_t wanted = 0;

		for (uint32_t i = 0; i < PREFIXES; i++) {
			struct cw_prefix p = prefix_of((enum cw_bgp_family)f, i);
			struct cw_bgp_change best;
			uint32_t med = 0, sent;
			enum cw_bgp_out_state state = cw_bgp_out_find(w->out, &p, &sent);

			if (w->codec.family[f] && cw_bgp_rib_find(w->rib, &p, &best) && best.n &&
			    best.winners[0].source != w->other && (!w->refuse || i % w->refuse))
				med = cw_bgp_store_set(w->store, best.winners[0].attrs)->med + w->add + 1;
			wanted += med != 0;
			if (w->limit && med && !w->routes[f][i].med) {
				assert_int_equal(state, CW_BGP_OUT_SURPLUS);
				continue;
			}
			assert_int_equal(w->routes[f][i].med, med);
			assert_int_equal(state, med ? CW_BGP_OUT_SENT : CW_BGP_OUT_NONE);
			assert_int_equal(sent != 0, med != 0);
		}
		assert_int_equal(c->sent, w->n_routes[f]);
		assert_int_equal(c->pending, 0);
		assert_int_equal(c->sent + c->surplus, wanted);
		if (w->limit)
			assert_int_equal(c->sent, wanted < w->limit ? wanted : w->limit);
	}
}

static struct world *world_new(uint64_t seed)
{
	static struct world world;
	struct world *w = &world;
	const struct cw_bgp_export export = { .user = w, .admit = admit, .map = map };
	const struct cw_bgp_source_conf conf = { .router_id = 1 };
	static const struct cw_addr hop = { CW_FAMILY_IPV4, { 10, 20, 255, 4 } };

	world = (struct world){ .random = seed * 0x9e3779b97f4a7c15ULL | 1 };
	w->codec = (struct cw_bgp_codec){
		.as4 = true,
		.family = { true, true },
		.max = seed % 5 ? CW_BGP_MSG_MAX : CW_BGP_MSG_EXTENDED_MAX,
	};
	w->store = cw_bgp_store_new(seed, SIZE_MAX);
	w->rib = cw_bgp_rib_new(w->store);
	assert_int_equal(cw_bgp_rib_add_source(w->rib, &conf, 0, &w->source), CW_OK);
	assert_int_equal(cw_bgp_rib_add_source(w->rib, &conf, 0, &w->other), CW_OK);
	for (uint32_t i = 0; i < ATTRS; i++) {
		struct cw_bgp_attrs_edit edit = { .set_med = true, .med = i };
		struct cw_bgp_attrs_view view;
		uint8_t own[64], wire[128];
		size_t n = cw_bgp_attrs_own(own, sizeof(own));

		n = cw_bgp_attrs_edit((struct cw_span){ own, n }, &edit, wire, sizeof(wire));
		assert_int_equal(cw_bgp_attrs_read((struct cw_span){ wire, n }, &view), CW_OK);
		assert_int_equal(cw_bgp_store_intern(w->store, &view, &hop, &w->attrs[i]), CW_OK);
	}
	w->out = cw_bgp_out_new(w->rib, w->store, w->other, &export);
	assert_non_null(w->out);
	return w;
}

static void start(struct world *w, uint32_t limit)
{
	w->limit = limit;
	cw_bgp_out_start(w->out, &w->codec, limit);
}

static void world_end(struct world *w)
{
	cw_bgp_out_free(w->out);
	cw_bgp_rib_free(w->rib);
	for (uint32_t i = 0; i < ATTRS; i++)
		cw_bgp_store_unref(w->store, w->attrs[i]);
	assert_int_equal(cw_bgp_store_count(w->store), 0); /* each reference was given back */
	cw_bgp_store_free(w->store);
}

/* 3,000 routes of 40 sets: as many full messages as it takes, End-of-RIB last, and nothing after that. */
static void test_packing(void **state)
{
	struct world *w = world_new(1);

	(void)state;
	for (uint32_t i = 0; i < PREFIXES; i++)
		set(w, w->source, CW_BGP_IPV4, i, i % ATTRS);
	assert_int_equal(cw_bgp_out_next(w->out, NULL, 0), 0); /* not started */
	start(w, 0);
	settle(w);
	check(w);
	assert_int_equal(w->n_updates, ATTRS); /* 75 prefixes of 4 octets fit a message */
	assert_int_equal(w->n_mapped, ATTRS);
	assert_int_equal(w->n_eor[CW_BGP_IPV4], 1);
	assert_int_equal(w->n_eor[CW_BGP_IPV6], 1);
	assert_true(cw_bgp_out_count(w->out, CW_BGP_IPV4)->end_of_rib);
	settle(w);
	assert_int_equal(w->n_updates, ATTRS);
	/* All with one set: three messages of 4,096 octets at most. */
	for (uint32_t i = 0; i < PREFIXES; i++)
		set(w, w->source, CW_BGP_IPV4, i, 3);
	settle(w);
	check(w);
	assert_int_equal(w->n_updates, ATTRS + 3);
	assert_in_range(w->longest, CW_BGP_MSG_MAX - 3, CW_BGP_MSG_MAX);
	/* And all withdrawn. */
	for (uint32_t i = 0; i < PREFIXES; i++)
		withdraw(w, w->source, CW_BGP_IPV4, i);
	settle(w);
	check(w);
	assert_int_equal(w->n_updates, ATTRS + 6);
	world_end(w);
}

/* BL-127: what changed and changed back, an unrelated path, a route that is only better now: no message. */
static void test_nothing_twice(void **state)
{
	struct world *w = world_new(2);
	struct cw_prefix p = prefix_of(CW_BGP_IPV4, 1);
	unsigned messages;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		set(w, w->source, CW_BGP_IPV4, i, 5);
	start(w, 0);
	settle(w);
	messages = w->n_messages;
	set(w, w->source, CW_BGP_IPV4, 1, 6);
	tell(w);
	set(w, w->source, CW_BGP_IPV4, 1, 5);
	settle(w);
	assert_true(cw_bgp_rib_touch(w->rib, &p));
	settle(w);
	withdraw(w, w->source, CW_BGP_IPV4, 2);
	tell(w);
	set(w, w->source, CW_BGP_IPV4, 2, 5);
	settle(w);
	set(w, w->source, CW_BGP_IPV4, 500, 5); /* never heard of */
	tell(w);
	withdraw(w, w->source, CW_BGP_IPV4, 500);
	settle(w);
	cw_bgp_out_policy_changed(w->out); /* and it says the same */
	settle(w);
	assert_int_equal(w->n_messages, messages);
	/* A policy that says something else: what differs, once. */
	w->refuse = 2;
	cw_bgp_out_policy_changed(w->out);
	settle(w);
	check(w);
	assert_int_equal(w->n_messages, messages + 1);
	assert_int_equal(w->n_routes[CW_BGP_IPV4], 50);
	world_end(w);
}

/* A route that the peer itself gives is not sent back; when it is best, what we said before is taken back. */
static void test_not_back(void **state)
{
	struct world *w = world_new(3);

	(void)state;
	set(w, w->source, CW_BGP_IPV4, 1, 9);
	set(w, w->other, CW_BGP_IPV4, 2, 9);
	start(w, 0);
	settle(w);
	assert_int_equal(w->n_routes[CW_BGP_IPV4], 1);
	set(w, w->other, CW_BGP_IPV4, 1, 1); /* lower MED: best now */
	settle(w);
	check(w);
	assert_int_equal(w->n_routes[CW_BGP_IPV4], 0);
	world_end(w);
}

static void test_limit(void **state)
{
	struct world *w = world_new(4);
	const struct cw_bgp_out_count *c = cw_bgp_out_count(w->out, CW_BGP_IPV4);

	(void)state;
	for (uint32_t i = 0; i < 1001; i++)
		set(w, w->source, CW_BGP_IPV4, i, i % 3);
	start(w, 1000);
	settle(w);
	check(w);
	assert_int_equal(c->sent, 1000);
	assert_int_equal(c->surplus, 1);
	/* One goes, the one that waited comes; the peer never has more than it may. */
	withdraw(w, w->source, CW_BGP_IPV4, 17);
	settle(w);
	check(w);
	assert_int_equal(c->surplus, 0);
	w->limit = 400;
	cw_bgp_out_set_limit(w->out, 400);
	w->limit = 0; /* only when it has caught up */
	settle(w);
	w->limit = 400;
	check(w);
	assert_int_equal(c->surplus, 600);
	w->limit = 0;
	cw_bgp_out_set_limit(w->out, 0);
	settle(w);
	check(w);
	assert_int_equal(c->sent, 1000);
	world_end(w);
}

static void test_refresh(void **state)
{
	struct world *w = world_new(6);
	unsigned updates;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		set(w, w->source, CW_BGP_IPV4, i, i % 7);
		set(w, w->source, CW_BGP_IPV6, i, i % 7);
	}
	start(w, 0);
	/* Asked before End-of-RIB is sent: BoRR waits for it (RFC 7313 4). */
	cw_bgp_out_refresh(w->out, CW_BGP_IPV4, true);
	while (!w->n_begin) {
		tell(w);
		cw_bgp_out_work(w->out, 100);
		pull(w, 1);
		if (w->n_begin)
			assert_int_equal(w->n_eor[CW_BGP_IPV4], 1);
	}
	w->refreshing = true;
	settle(w);
	check(w);
	assert_int_equal(w->n_begin, 1);
	assert_int_equal(w->n_end, 1);
	/* In the middle of it routes change, go, and come back the same. */
	cw_bgp_out_refresh(w->out, CW_BGP_IPV4, true);
	cw_bgp_out_work(w->out, 1);
	w->refreshing = true;
	for (uint32_t i = 0; i < 1000; i += 3)
		withdraw(w, w->source, CW_BGP_IPV4, i);
	tell(w);
	while (cw_bgp_out_work(w->out, 300)) /* all is queued again, those withdrawals in between */
		;
	for (uint32_t i = 0; i < 1000; i += 6)
		set(w, w->source, CW_BGP_IPV4, i, i % 7);
	for (uint32_t i = 1; i < 1000; i += 3)
		set(w, w->source, CW_BGP_IPV4, i, 8);
	settle(w);
	check(w);
	assert_int_equal(w->n_end, 2);
	/* Plain, of one family: only that one again, and no marks. */
	updates = w->n_updates;
	cw_bgp_out_refresh(w->out, CW_BGP_IPV6, false);
	w->refreshing = true;
	settle(w);
	assert_int_equal(w->n_updates, updates + 7); /* 143 prefixes of 7 octets fit a message */
	assert_int_equal(w->n_begin, 2);
	world_end(w);
}

/* A peer that reads nothing costs an entry for each prefix, however much goes on. */
static void test_stopped_reader(void **state)
{
	struct world *w = world_new(7);
	size_t memory = 0;

	(void)state;
	start(w, 0);
	settle(w);
	for (uint32_t round = 0; round < 60; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			if (roll(w, 4))
				set(w, w->source, CW_BGP_IPV4, i, roll(w, ATTRS));
			else
				withdraw(w, w->source, CW_BGP_IPV4, i);
		}
		tell(w);
		if (round == 20)
			memory = cw_bgp_out_memory(w->out);
	}
	assert_in_range(cw_bgp_out_memory(w->out), 0, memory + memory / 4);
	assert_in_range(cw_bgp_out_count(w->out, CW_BGP_IPV4)->pending, 1, 1000);
	settle(w);
	check(w);
	world_end(w);
}

static void test_sessions(void **state)
{
	struct world *w = world_new(8);

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		set(w, w->source, CW_BGP_IPV4, i, i % 7);
	start(w, 0);
	settle(w);
	for (int round = 0; round < 5; round++) {
		cw_bgp_out_stop(w->out);
		assert_false(cw_bgp_out_pending(w->out));
		memset(w->routes, 0, sizeof(w->routes));
		memset(w->n_routes, 0, sizeof(w->n_routes));
		if (round % 2) /* sometimes it forgets before the next one begins */
			while (cw_bgp_out_work(w->out, 300))
				;
		if (round == 3)
			w->codec.family[CW_BGP_IPV6] = false;
		set(w, w->source, CW_BGP_IPV4, 3, (uint32_t)round);
		start(w, 0);
		settle(w);
		check(w);
	}
	world_end(w);
}

/* Anything, in any order. */
static void test_stories(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct world *w = world_new(seed);
		uint32_t universe = 1 + roll(w, 300), steps = 300;
		bool up = false;

		while (steps--) {
			enum cw_bgp_family family = roll(w, 3) ? CW_BGP_IPV4 : CW_BGP_IPV6;
			uint32_t i = roll(w, universe);
			uint16_t source = roll(w, 5) ? w->source : w->other;

			switch (roll(w, 24)) {
			default:
				set(w, source, family, i, roll(w, ATTRS));
				break;
			case 0:
			case 1:
			case 2:
			case 3:
				withdraw(w, source, family, i);
				break;
			case 4:
			case 5:
				tell(w);
				break;
			case 6:
			case 7:
				pull(w, roll(w, 4));
				break;
			case 8:
			case 9:
				cw_bgp_out_work(w->out, roll(w, 60));
				break;
			case 10:
				w->refuse = roll(w, 4);
				w->add = roll(w, 3);
				cw_bgp_out_policy_changed(w->out);
				break;
			case 11:
				if (up) {
					w->refreshing = true;
					cw_bgp_out_refresh(w->out, family, roll(w, 2));
				}
				break;
			case 12:
				if (up && roll(w, 3) == 0) {
					settle(w);
					w->limit = roll(w, universe + 1);
					cw_bgp_out_set_limit(w->out, w->limit);
					i = w->limit;
					w->limit = 0;
					settle(w);
					w->limit = i;
					check(w);
				}
				break;
			case 13:
				if (roll(w, 4))
					break;
				if (up)
					cw_bgp_out_stop(w->out);
				else
					start(w, roll(w, 2) ? roll(w, universe + 1) : 0);
				memset(w->routes, 0, sizeof(w->routes));
				memset(w->n_routes, 0, sizeof(w->n_routes));
				w->refreshing = false;
				up = !up;
				break;
			}
		}
		if (!up)
			start(w, 0);
		settle(w);
		check(w);
		world_end(w);
	}
}

/* Attributes that fit no message: the routes are given up, and taken back where the peer has them. */
static void test_too_long(void **state)
{
	static const struct cw_addr hop = { CW_FAMILY_IPV4, { 10, 20, 255, 4 } };
	static uint8_t communities[4060], wire[4200];
	struct world *w = world_new(9);
	struct cw_bgp_attrs_edit edit = { .add_communities = { communities, sizeof(communities) } };
	struct cw_bgp_attrs_view view;
	struct cw_prefix p = prefix_of(CW_BGP_IPV4, 1);
	enum cw_bgp_rib_what what;
	uint8_t own[64];
	uint32_t handle;
	size_t n = cw_bgp_attrs_own(own, sizeof(own));

	(void)state;
	for (size_t i = 0; i < sizeof(communities); i++)
		communities[i] = (uint8_t)(i % 4 == 3 ? i / 4 : i % 4 == 2 ? i / 1024 : 1);
	n = cw_bgp_attrs_edit((struct cw_span){ own, n }, &edit, wire, sizeof(wire));
	assert_int_not_equal(n, 0);
	assert_int_equal(cw_bgp_attrs_read((struct cw_span){ wire, n }, &view), CW_OK);
	assert_int_equal(cw_bgp_store_intern(w->store, &view, &hop, &handle), CW_OK);
	set(w, w->source, CW_BGP_IPV4, 1, 2);
	start(w, 0);
	settle(w);
	assert_int_equal(w->n_routes[CW_BGP_IPV4], 1);
	assert_int_equal(cw_bgp_rib_set(w->rib, &p, w->source, handle, 0, &what), CW_OK);
	settle(w);
	assert_int_equal(w->n_routes[CW_BGP_IPV4], 0);
	assert_int_equal(cw_bgp_out_find(w->out, &p, NULL), CW_BGP_OUT_NONE);
	cw_bgp_store_unref(w->store, handle);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packing),
		cmocka_unit_test(test_nothing_twice),
		cmocka_unit_test(test_not_back),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_stopped_reader),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests_name("bgp_out", tests, NULL, NULL);
}
