/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_tables: what a route costs in the tables of src/bgp, in nanoseconds of processor time and octets of memory.
 *
 *   bgp_tables [N...]     prefixes; 4000, 100000 and 500000 if none is given
 *
 * N prefixes of mixed lengths (most /24) with N / 8 attribute sets of 60 octets, in random and in sorted order.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bgp/bgp_out.h"

struct route {
	uint32_t addr;
	uint32_t set;
	uint8_t len;
};

struct bench {
	size_t n;
	struct route *routes;
	struct cw_bgp_store *store;
	struct cw_bgp_rib *rib;
	uint16_t source;
};

static uint64_t seed;

static uint32_t roll(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % below;
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("bgp_tables");
		exit(1);
	}
	return p;
}

static int compare(const void *x, const void *y)
{
	const struct route *a = x, *b = y;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->len - b->len;
}

/* About what a full table is made of: 60 % /24, 32 % /16 to /23, some shorter and longer. */
static uint8_t some_length(void)
{
	uint32_t r = roll(100);

	if (r < 60)
		return 24;
	if (r < 92)
		return (uint8_t)(16 + roll(8));
	return (uint8_t)(r < 97 ? 10 + roll(6) : 25 + roll(8));
}

static void make_routes(struct bench *b, bool sorted)
{
	size_t n = 0, all = b->n + b->n / 4 + 64;
	struct route *r = get(all, sizeof(*r));

	while (n < b->n) { /* until there are enough different ones */
		size_t kept = 0;

		for (; n < all; n++) {
			r[n].len = some_length();
			r[n].addr = ((1 + roll(223)) << 24 | roll(1 << 24)) & UINT32_MAX << (32 - r[n].len);
		}
		qsort(r, n, sizeof(*r), compare);
		for (size_t i = 0; i < n; i++)
			if (!i || compare(&r[i], &r[kept - 1]))
				r[kept++] = r[i];
		n = kept;
	}
	for (size_t i = n - 1; i; i--) {
		size_t j = roll((uint32_t)i + 1);
		struct route swap = r[i];

		r[i] = r[j];
		r[j] = swap;
	}
	if (sorted)
		qsort(r, b->n, sizeof(*r), compare);
	for (size_t i = 0; i < b->n; i++)
		r[i].set = (uint32_t)(i / 8); /* as they come in an UPDATE */
	b->routes = r;
}

static struct cw_prefix prefix_of(const struct route *r)
{
	return (struct cw_prefix){
		.addr = { CW_FAMILY_IPV4, { (uint8_t)(r->addr >> 24), (uint8_t)(r->addr >> 16),
					    (uint8_t)(r->addr >> 8), (uint8_t)r->addr } },
		.len = r->len,
	};
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void say(const struct bench *b, const char *what, double since_us)
{
	printf("  %-34s %7.0f ns each\n", what, (now_us() - since_us) * 1000 / (double)b->n);
}

/* 60 octets: origin, a path of three, communities, and a number. */
static uint32_t intern(struct bench *b, uint32_t set, uint8_t variant)
{
	static const struct cw_addr hop = { CW_FAMILY_IPV4, { 10, 20, 255, 4 } };
	uint8_t wire[60] = {
		0x40, 1, 1, 0, 0x40, 2, 14, 2, 3, 0, 0, 0xff, 0xeb, 0, 0, 0xfd, 0xfc,
		(uint8_t)(set >> 23), (uint8_t)(set >> 15), (uint8_t)(set >> 7), (uint8_t)(set << 1), 0xc0, 8, 36, variant,
	};
	struct cw_bgp_attrs_view view;
	uint32_t handle;

	wire[20] |= 1; /* no AS 0 */
	if (cw_bgp_attrs_read((struct cw_span){ wire, sizeof(wire) }, &view) != CW_OK ||
	    cw_bgp_store_intern(b->store, &view, &hop, &handle) != CW_OK) {
		fprintf(stderr, "bgp_tables: attributes are not taken\n");
		exit(1);
	}
	return handle;
}

/* Eight prefixes to an attribute set, as out of an UPDATE. */
static void announce(struct bench *b, uint8_t variant)
{
	enum cw_bgp_rib_what what;
	uint32_t attrs = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct cw_prefix prefix = prefix_of(&b->routes[i]);

		if (i % 8 == 0) {
			cw_bgp_store_unref(b->store, attrs);
			attrs = intern(b, b->routes[i].set, variant);
		}
		if (cw_bgp_rib_set(b->rib, &prefix, b->source, attrs, 0, &what) != CW_OK) {
			fprintf(stderr, "bgp_tables: a route is not taken\n");
			exit(1);
		}
	}
	cw_bgp_store_unref(b->store, attrs);
}

/* What the FIB does: takes a change, notes what it has installed. */
static void take_changes(struct bench *b)
{
	struct cw_bgp_change change;

	while (cw_bgp_rib_next_change(b->rib, &change))
		cw_bgp_rib_set_fib(b->rib, &change.prefix, change.n ? 1 : 0);
}

static void withdraw(struct bench *b)
{
	for (size_t i = 0; i < b->n; i++) {
		struct cw_prefix prefix = prefix_of(&b->routes[i]);

		cw_bgp_rib_withdraw(b->rib, &prefix, b->source);
	}
}

static void drop(struct bench *b)
{
	double start = now_us(), worst = 0;
	bool more = true;

	cw_bgp_rib_drop(b->rib, b->source, CW_BGP_IPV4);
	while (more) {
		double from = now_us();

		more = cw_bgp_rib_work(b->rib, 4096);
		worst = now_us() - from > worst ? now_us() - from : worst;
	}
	say(b, "lose the session", start);
	printf("  %-34s %7.1f ms\n", "  the longest slice of it", worst / 1000);
}

static uint8_t admit(void *user, const struct cw_prefix *prefix, const struct cw_bgp_winner *best,
		     uint8_t *ret_class)
{
	(void)user;
	(void)prefix;
	(void)best;
	(void)ret_class;
	return 0;
}

static uint8_t map(void *user, uint16_t source, const struct cw_bgp_attrs_view *attrs,
		   const struct cw_addr *next_hop, enum cw_bgp_family family, uint8_t class, uint8_t *buf,
		   size_t size, size_t *ret_len, struct cw_addr *ret_next_hop)
{
	static const struct cw_bgp_attrs_edit edit = { .prepend_asn = 65010, .prepend_n = 1 };

	(void)user;
	(void)source;
	(void)family;
	(void)class;
	*ret_next_hop = *next_hop;
	*ret_len = cw_bgp_attrs_edit(attrs->wire, &edit, buf, size);
	return *ret_len == 0;
}

static void tell_neighbour(struct bench *b)
{
	static const struct cw_bgp_export export = { .admit = admit, .map = map };
	const struct cw_bgp_codec codec = { .as4 = true, .family = { true }, .max = CW_BGP_MSG_MAX };
	struct cw_bgp_out *out = cw_bgp_out_new(b->rib, b->store, UINT16_MAX, &export);
	double start = now_us();
	uint8_t buf[CW_BGP_MSG_MAX];
	size_t messages = 0, memory;

	if (!out)
		exit(1);
	cw_bgp_out_start(out, &codec, 0);
	while (cw_bgp_out_work(out, 4096))
		;
	memory = cw_bgp_out_memory(out);
	while (cw_bgp_out_next(out, buf, sizeof(buf)))
		messages++;
	say(b, "announce to a neighbour", start);
	printf("  %-34s %7zu, %.1f octets a prefix at most, %.1f after\n", "  messages", messages,
	       (double)memory / (double)b->n, (double)cw_bgp_out_memory(out) / (double)b->n);
	cw_bgp_out_free(out);
}

static void bench(size_t n, bool sorted)
{
	static const struct cw_bgp_source_conf conf = { .router_id = 1 };
	struct bench b = { .n = n };
	double start;
	size_t rib, store;

	seed = 88172645463325252ULL;
	make_routes(&b, sorted);
	b.store = cw_bgp_store_new(seed, SIZE_MAX);
	b.rib = b.store ? cw_bgp_rib_new(b.store) : NULL;
	if (!b.rib || cw_bgp_rib_add_source(b.rib, &conf, 0, &b.source) != CW_OK)
		exit(1);
	printf("%zu prefixes, %s\n", n, sorted ? "sorted" : "in random order");
	start = now_us();
	announce(&b, 1);
	say(&b, "insert", start);
	start = now_us();
	take_changes(&b);
	say(&b, "take the change, note it", start);
	rib = cw_bgp_rib_memory(b.rib);
	store = cw_bgp_store_memory(b.store);
	printf("  %-34s %7.1f octets a prefix, %zu sets in %.2f MB\n", "memory", (double)rib / (double)n,
	       cw_bgp_store_count(b.store), (double)store / 1e6);
	start = now_us();
	announce(&b, 1);
	say(&b, "say the same again", start);
	start = now_us();
	announce(&b, 2);
	say(&b, "replace", start);
	take_changes(&b);
	tell_neighbour(&b);
	start = now_us();
	withdraw(&b);
	say(&b, "withdraw", start);
	start = now_us();
	take_changes(&b);
	say(&b, "take the change, entry goes", start);
	printf("  %-34s %7zu octets\n", "memory after that", cw_bgp_rib_memory(b.rib) + cw_bgp_store_memory(b.store));
	announce(&b, 3);
	take_changes(&b);
	drop(&b);
	cw_bgp_rib_free(b.rib);
	cw_bgp_store_free(b.store);
	free(b.routes);
}

int main(int argc, char **argv)
{
	static const size_t usual[] = { 4000, 100000, 500000 };

	for (int i = 1; i < argc; i++)
		for (int sorted = 0; sorted < 2; sorted++)
			bench(strtoul(argv[i], NULL, 10), sorted);
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
		for (int sorted = 0; sorted < 2; sorted++)
			bench(usual[i], sorted);
	return 0;
}
