/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/rib_story.h"

#include <stdio.h>
#include <string.h>

#include "bgp/bgp_rib.h"

#define PREFIXES 40 /* the last ten are IPv6 */
#define SOURCES 7   /* 0 is own */
#define ATTRS 24
#define MAX_PATHS 12 /* of source 1 */

struct model_path {
	bool there, stale, doomed; /* doomed: to be swept, maybe gone already */
	uint8_t attrs, refused;
};

struct world {
	const uint8_t *at;
	size_t left;
	struct cw_bgp_store *store;
	struct cw_bgp_rib *rib;
	uint32_t handles[ATTRS];
	struct cw_prefix prefixes[PREFIXES];
	struct model_path paths[PREFIXES][SOURCES];
	struct cw_bgp_source_conf confs[SOURCES];
	/* The FIB: what it was told last. */
	uint32_t fib[PREFIXES];
	size_t n_told[PREFIXES];
	struct cw_bgp_winner told[PREFIXES][CW_BGP_MULTIPATH_MAX];
	bool unsettled; /* there is work to be done */
	char why[200];
};

#define broken(w, ...)                                                    \
	do {                                                              \
		if (!(w)->why[0])                                         \
			snprintf((w)->why, sizeof((w)->why), __VA_ARGS__); \
	} while (0)

static uint8_t take(struct world *w)
{
	if (!w->left)
		return 0;
	w->left--;
	return *w->at++;
}

/* Prefixes that nest, some in one block of the table. */
static struct cw_prefix prefix_of(size_t i)
{
	bool v6 = i >= 30;
	struct cw_prefix p = {
		.addr = { v6 ? CW_FAMILY_IPV6 : CW_FAMILY_IPV4, { 10, (uint8_t)(i / 3), (uint8_t)(i * 37) } },
		.len = (uint8_t)(i % 3 == 0 ? 16 : i % 3 == 1 ? 20 : 24),
	};

	if (i == 0 || i == 30)
		p = (struct cw_prefix){ .addr.family = p.addr.family };
	return cw_prefix_network(&p);
}

static size_t index_of(const struct world *w, const struct cw_prefix *prefix)
{
	for (size_t i = 0; i < PREFIXES; i++)
		if (!cw_prefix_compare(&w->prefixes[i], prefix))
			return i;
	return PREFIXES;
}

static enum cw_bgp_family family_of(size_t prefix)
{
	return prefix >= 30 ? CW_BGP_IPV6 : CW_BGP_IPV4;
}

static struct cw_bgp_source_conf conf_of(size_t source, uint8_t variant)
{
	return (struct cw_bgp_source_conf){
		.own = source == 0,
		.ibgp = source == 5,
		.balance = source < 5 && !(variant & 4),
		.group = source < 4 ? 1 : 2,
		.router_id = 100 - (uint32_t)source,
		.cost = variant & 1,
		.address = { CW_FAMILY_IPV4, { 10, 255, 0, (uint8_t)source } },
	};
}

static void begin(struct world *w)
{
	w->store = cw_bgp_store_new(1, SIZE_MAX);
	w->rib = cw_bgp_rib_new(w->store);
	for (size_t i = 0; i < PREFIXES; i++)
		w->prefixes[i] = prefix_of(i);
	for (size_t i = 0; i < SOURCES; i++) {
		uint16_t source = 0;

		w->confs[i] = conf_of(i, 0);
		if (i && (cw_bgp_rib_add_source(w->rib, &w->confs[i], i == 1 ? MAX_PATHS : 0, &source) != CW_OK ||
			  source != i))
			broken(w, "source %zu can't be added", i);
	}
	w->confs[0] = *cw_bgp_rib_source(w->rib, 0);
	for (uint8_t i = 0; i < ATTRS; i++) {
		uint8_t wire[2] = { i, 0 };
		struct cw_bgp_attrs_view view = {
			.wire = { wire, sizeof(wire) },
			.origin = i / 12,
			.has_med = true,
			.med = i / 2 % 2,
			.has_local_pref = i % 3 == 0,
			.local_pref = 100 + (i % 9 == 0),
			.path_len = 1 + i % 2,
			.first_as = 65000 + i / 4 % 2,
			.has_originator = i == 7,
			.originator_id = 1,
			.cluster_list.n = i == 5 ? 4 : 0,
		};
		struct cw_addr hop = { CW_FAMILY_IPV4, { 10, 255, 0, i } };

		if (cw_bgp_store_intern(w->store, &view, &hop, &w->handles[i]) != CW_OK)
			broken(w, "no attributes");
	}
}

/* ---- the naive decision: who beats whom, in so many words ---- */

static const struct cw_bgp_set *set_at(const struct world *w, size_t prefix, size_t source)
{
	return cw_bgp_store_set(w->store, w->handles[w->paths[prefix][source].attrs]);
}

/* Compares by one step; below 0: a is better. MED apart. */
static int compare(const struct world *w, size_t prefix, size_t a, size_t b, int step)
{
	const struct cw_bgp_set *x = set_at(w, prefix, a), *y = set_at(w, prefix, b);
	const struct cw_bgp_source_conf *p = &w->confs[a], *q = &w->confs[b];
	uint32_t id_a = x->has_originator ? x->originator_id : p->router_id;
	uint32_t id_b = y->has_originator ? y->originator_id : q->router_id;

	switch (step) {
	case 2:
		return q->own - p->own;
	case 3:
		return (x->local_pref < y->local_pref) - (x->local_pref > y->local_pref);
	case 4:
		return x->path_len - y->path_len;
	case 5:
		return x->origin - y->origin;
	case 6:
		return x->first_as != y->first_as ? 0 : (x->med > y->med) - (x->med < y->med);
	case 7:
		return p->ibgp - q->ibgp;
	case 8:
		return (p->cost > q->cost) - (p->cost < q->cost);
	case 9:
		return (id_a > id_b) - (id_a < id_b);
	case 10:
		return x->cluster_len - y->cluster_len;
	default:
		return cw_addr_compare(&p->address, &q->address);
	}
}

/* Returns the winners, the best first; fills in where each source's path lost. */
static size_t decide(const struct world *w, size_t prefix, size_t winners[SOURCES], uint8_t lost[SOURCES])
{
	size_t in[SOURCES], n_in = 0, n = 0; /* in: still in the running */

	for (size_t s = 0; s < SOURCES; s++) {
		lost[s] = w->paths[prefix][s].refused || w->paths[prefix][s].doomed ? 1 : 0;
		if (w->paths[prefix][s].there && !lost[s])
			in[n_in++] = s;
	}
	for (int step = 2; step <= 11 && n_in > 1; step++) {
		size_t left = 0;

		for (size_t a = 0; a < n_in; a++)
			for (size_t b = 0; b < n_in && !lost[in[a]]; b++)
				if (compare(w, prefix, in[a], in[b], step) > 0)
					lost[in[a]] = (uint8_t)step;
		for (size_t a = 0; a < n_in; a++)
			if (!lost[in[a]])
				in[left++] = in[a];
		n_in = left;
	}
	for (size_t s = 0; s < SOURCES; s++)
		if (w->paths[prefix][s].there && !lost[s])
			winners[n++] = s;
	if (!n || !w->confs[winners[0]].balance || winners[0] == 0)
		return n;
	for (size_t s = 1; s < SOURCES; s++)
		if (s != winners[0] && w->paths[prefix][s].there && lost[s] > 8 && w->confs[s].balance &&
		    w->confs[s].group == w->confs[winners[0]].group)
			winners[n++] = s;
	return n;
}

/* ---- comparing ---- */

static bool has_path(const struct world *w, size_t prefix)
{
	for (size_t s = 0; s < SOURCES; s++)
		if (w->paths[prefix][s].there)
			return true;
	return false;
}

static void check_state(struct world *w, size_t prefix, const struct cw_bgp_change *state)
{
	size_t winners[SOURCES], n;
	uint8_t lost[SOURCES];

	n = decide(w, prefix, winners, lost);
	if (state->n != n)
		broken(w, "prefix %zu has %zu winners, not %zu", prefix, state->n, n);
	for (size_t i = 0; i < n && i < state->n; i++)
		if (state->winners[i].source != winners[i] ||
		    state->winners[i].attrs != w->handles[w->paths[prefix][winners[i]].attrs])
			broken(w, "prefix %zu: winner %zu is source %u, not %zu", prefix, i,
			       state->winners[i].source, winners[i]);
	if (state->fib != w->fib[prefix])
		broken(w, "prefix %zu: its FIB tag is %u, not %u", prefix, state->fib, w->fib[prefix]);
}

static void check_paths(struct world *w, size_t prefix)
{
	struct cw_bgp_path paths[SOURCES];
	size_t n = cw_bgp_rib_paths(w->rib, &w->prefixes[prefix], paths, SOURCES), there = 0;
	size_t winners[SOURCES];
	uint8_t lost[SOURCES];

	decide(w, prefix, winners, lost);
	for (size_t s = 0; s < SOURCES; s++)
		there += w->paths[prefix][s].there;
	if (n != there)
		broken(w, "prefix %zu has %zu paths, not %zu", prefix, n, there);
	for (size_t i = 0; i < n && i < SOURCES; i++) {
		const struct model_path *path = &w->paths[prefix][paths[i].source];

		if (!path->there || paths[i].attrs != w->handles[path->attrs] ||
		    paths[i].refused != path->refused || paths[i].stale != path->stale)
			broken(w, "prefix %zu: another path by source %u", prefix, paths[i].source);
		if (paths[i].lost_at != lost[paths[i].source])
			broken(w, "prefix %zu: source %u lost at %u, not %u", prefix, paths[i].source,
			       paths[i].lost_at, lost[paths[i].source]);
	}
}

static void check_counts(struct world *w)
{
	static struct cw_bgp_rib_count want[SOURCES][CW_BGP_FAMILIES];

	memset(want, 0, sizeof(want));
	for (size_t i = 0; i < PREFIXES; i++) {
		size_t winners[SOURCES], n;
		uint8_t lost[SOURCES];

		for (size_t s = 0; s < SOURCES; s++) {
			const struct model_path *path = &w->paths[i][s];
			struct cw_bgp_rib_count *c = &want[s][family_of(i)];

			c->received += path->there;
			c->accepted += path->there && !path->refused;
			c->refused[path->refused] += path->there;
			c->stale += path->stale;
		}
		n = decide(w, i, winners, lost);
		while (n)
			want[winners[--n]][family_of(i)].selected++;
	}
	for (size_t s = 0; s < SOURCES; s++)
		for (int f = 0; f < CW_BGP_FAMILIES; f++) {
			const struct cw_bgp_rib_count *c =
				cw_bgp_rib_count(w->rib, (uint16_t)s, (enum cw_bgp_family)f);

			if (memcmp(c, &want[s][f], sizeof(*c)))
				broken(w, "counters of source %zu: received %u for %u, accepted %u for %u, selected %u for %u, "
					  "stale %u for %u",
				       s, c->received, want[s][f].received, c->accepted, want[s][f].accepted,
				       c->selected, want[s][f].selected, c->stale, want[s][f].stale);
		}
}

/* All of it; only where nothing is left to be done in slices. */
static void check_all(struct world *w)
{
	struct cw_bgp_change state;

	for (int f = 0; f < CW_BGP_FAMILIES; f++) {
		struct cw_prefix at;
		bool more = cw_bgp_rib_next(w->rib, (enum cw_bgp_family)f, NULL, &state);
		size_t n = 0;

		for (; more; more = cw_bgp_rib_next(w->rib, (enum cw_bgp_family)f, &at, &state)) {
			size_t i = index_of(w, &state.prefix);

			if (i == PREFIXES || (n && cw_prefix_compare(&at, &state.prefix) >= 0)) {
				broken(w, "the walk goes astray");
				return;
			}
			at = state.prefix;
			n++;
			check_state(w, i, &state);
		}
		if (n != cw_bgp_rib_entries(w->rib, (enum cw_bgp_family)f))
			broken(w, "%zu entries seen of %zu", n, cw_bgp_rib_entries(w->rib, (enum cw_bgp_family)f));
	}
	for (size_t i = 0; i < PREFIXES; i++) {
		check_paths(w, i);
		if (has_path(w, i) && !cw_bgp_rib_find(w->rib, &w->prefixes[i], &state))
			broken(w, "prefix %zu is missing", i);
	}
	check_counts(w);
}

/* ---- the story's steps ---- */

static void set(struct world *w)
{
	size_t prefix = take(w) % PREFIXES, source = take(w) % SOURCES;
	uint8_t b = take(w), attrs = b % ATTRS, refused = b > 220 ? 1 + b % 63 : 0;
	struct model_path *path = &w->paths[prefix][source];
	struct model_path new = { .there = true, .attrs = attrs, .refused = refused };
	enum cw_bgp_rib_what what = CW_BGP_RIB_NEW, want;
	size_t sure = 0, maybe = 0;
	enum cw_rc rc;

	for (size_t i = 0; i < PREFIXES; i++)
		if (family_of(i) == family_of(prefix) && w->paths[i][source].there) {
			sure += !w->paths[i][source].doomed;
			maybe++;
		}
	rc = cw_bgp_rib_set(w->rib, &w->prefixes[prefix], (uint16_t)source, w->handles[attrs], refused, &what);
	if (rc == CW_E_TOO_BIG) {
		if (source != 1 || maybe < MAX_PATHS || (path->there && !path->doomed))
			broken(w, "refused with %zu paths", maybe);
		path->there = path->there && !path->doomed;
		return;
	}
	if (rc != CW_OK || (source == 1 && !path->there && sure >= MAX_PATHS))
		broken(w, "taken with %zu paths: %s", sure, cw_rc_name(rc));
	want = !path->there ? CW_BGP_RIB_NEW :
	       path->attrs == attrs && path->refused == refused ? CW_BGP_RIB_SAME :
								  CW_BGP_RIB_REPLACED;
	if (what != want && !(path->doomed && what == CW_BGP_RIB_NEW))
		broken(w, "set said %d, not %d", what, want);
	*path = new;
}

static void withdraw(struct world *w)
{
	size_t prefix = take(w) % PREFIXES, source = take(w) % SOURCES;
	struct model_path *path = &w->paths[prefix][source];
	bool was = cw_bgp_rib_withdraw(w->rib, &w->prefixes[prefix], (uint16_t)source);

	if (was != path->there && !path->doomed)
		broken(w, "withdraw said %d", was);
	*path = (struct model_path){ 0 };
}

static void stale(struct world *w, bool drop)
{
	size_t source = take(w) % SOURCES;
	enum cw_bgp_family family = take(w) % 2 ? CW_BGP_IPV6 : CW_BGP_IPV4;

	if (drop)
		cw_bgp_rib_drop(w->rib, (uint16_t)source, family);
	else
		cw_bgp_rib_stale(w->rib, (uint16_t)source, family);
	for (size_t i = 0; i < PREFIXES; i++) {
		struct model_path *path = &w->paths[i][source];

		if (family_of(i) != family)
			continue;
		path->stale = path->there;
		path->doomed |= drop && path->stale;
	}
	w->unsettled |= drop;
}

/* Only what was stale before is swept. */
static void sweep(struct world *w)
{
	size_t source = take(w) % SOURCES;
	enum cw_bgp_family family = take(w) % 2 ? CW_BGP_IPV6 : CW_BGP_IPV4;

	cw_bgp_rib_sweep(w->rib, (uint16_t)source, family);
	for (size_t i = 0; i < PREFIXES; i++)
		if (family_of(i) == family)
			w->paths[i][source].doomed |= w->paths[i][source].stale;
	w->unsettled = true;
}

static void reconf(struct world *w)
{
	size_t source = 1 + take(w) % (SOURCES - 1);

	w->confs[source] = conf_of(source, take(w));
	cw_bgp_rib_set_source(w->rib, (uint16_t)source, &w->confs[source], source == 1 ? MAX_PATHS : 0);
	w->unsettled = true;
}

static void settle(struct world *w)
{
	for (int i = 0; cw_bgp_rib_work(w->rib, 1 + take(w) % 16); i++)
		if (i > 1000) {
			broken(w, "the work does not end");
			return;
		}
	for (size_t i = 0; i < PREFIXES; i++)
		for (size_t s = 0; s < SOURCES; s++)
			if (w->paths[i][s].doomed)
				w->paths[i][s] = (struct model_path){ 0 };
	for (size_t s = 0; s < SOURCES; s++)
		if (cw_bgp_rib_busy(w->rib, (uint16_t)s))
			broken(w, "source %zu is busy without work", s);
	w->unsettled = false;
	check_all(w);
}

/* The FIB takes changes and carries most of them out. */
static void changes(struct world *w, size_t max)
{
	struct cw_bgp_change change;

	while (max-- && cw_bgp_rib_next_change(w->rib, &change)) {
		size_t i = index_of(w, &change.prefix);

		if (i == PREFIXES) {
			broken(w, "a change of an unknown prefix");
			return;
		}
		if (!w->unsettled)
			check_state(w, i, &change);
		if (change.fib != w->fib[i])
			broken(w, "prefix %zu: FIB tag %u, not %u", i, change.fib, w->fib[i]);
		w->n_told[i] = change.n;
		memcpy(w->told[i], change.winners, sizeof(change.winners));
		if (take(w) % 8 == 7) { /* not yet */
			if (has_path(w, i) && !w->unsettled && !cw_bgp_rib_touch(w->rib, &change.prefix))
				broken(w, "prefix %zu can't be touched", i);
			continue;
		}
		w->fib[i] = change.n ? 1 + take(w) : 0;
		if (cw_bgp_rib_set_fib(w->rib, &change.prefix, w->fib[i]) != CW_OK && w->fib[i])
			broken(w, "prefix %zu takes no FIB tag", i);
	}
}

/* In the end, who has listened to the changes knows all. */
static void finish(struct world *w)
{
	struct cw_bgp_change state;

	settle(w);
	w->left = 0; /* no more refusals by the FIB */
	changes(w, SIZE_MAX);
	if (cw_bgp_rib_changes(w->rib))
		broken(w, "changes that are not told");
	for (size_t i = 0; i < PREFIXES; i++) {
		if (!cw_bgp_rib_find(w->rib, &w->prefixes[i], &state))
			state = (struct cw_bgp_change){ 0 };
		else if (!has_path(w, i) && !w->fib[i])
			broken(w, "prefix %zu stays without use", i);
		if (state.n != w->n_told[i])
			broken(w, "prefix %zu has %zu winners, and %zu were told", i, state.n, w->n_told[i]);
		for (size_t k = 0; k < state.n; k++)
			if (state.winners[k].source != w->told[i][k].source ||
			    state.winners[k].attrs != w->told[i][k].attrs)
				broken(w, "prefix %zu changed and nobody was told", i);
	}
	check_all(w);
}

/* No path, no tag: no memory, and no reference that is still held. */
static void take_down(struct world *w)
{
	for (size_t i = 0; i < PREFIXES; i++) {
		for (size_t s = 0; s < SOURCES; s++)
			if (w->paths[i][s].there)
				cw_bgp_rib_withdraw(w->rib, &w->prefixes[i], (uint16_t)s);
		cw_bgp_rib_set_fib(w->rib, &w->prefixes[i], 0);
	}
	memset(w->paths, 0, sizeof(w->paths));
	memset(w->fib, 0, sizeof(w->fib));
	changes(w, SIZE_MAX);
	for (int f = 0; f < CW_BGP_FAMILIES; f++)
		if (cw_bgp_rib_entries(w->rib, (enum cw_bgp_family)f))
			broken(w, "entries are left");
	for (size_t s = 1; s < SOURCES; s++)
		if (cw_bgp_rib_remove_source(w->rib, (uint16_t)s) != CW_OK)
			broken(w, "source %zu has paths", s);
}

const char *rib_story_run(const uint8_t *bytes, size_t n)
{
	static struct world world; /* its `why` is returned; one thread */
	struct world *w = &world;

	world = (struct world){ .at = bytes, .left = n };
	begin(w);
	while (w->left && !w->why[0]) {
		switch (take(w) % 16) {
		default:
			set(w);
			break;
		case 8:
		case 9:
		case 10:
			withdraw(w);
			break;
		case 11:
			stale(w, take(w) % 2);
			break;
		case 12:
			sweep(w);
			break;
		case 13:
			reconf(w);
			break;
		case 14:
			changes(w, take(w) % 32);
			break;
		case 15:
			if (take(w) % 2)
				settle(w);
			else
				cw_bgp_rib_work(w->rib, 1 + take(w) % 16);
			break;
		}
		if (!w->unsettled && take(w) % 16 == 0)
			check_all(w);
	}
	if (!w->why[0])
		finish(w);
	if (!w->why[0])
		take_down(w);
	for (size_t i = 0; i < ATTRS; i++)
		cw_bgp_store_unref(w->store, w->handles[i]);
	if (!w->why[0] && cw_bgp_store_count(w->store))
		broken(w, "%zu attribute sets are left", cw_bgp_store_count(w->store));
	cw_bgp_rib_free(w->rib);
	if (cw_bgp_store_count(w->store))
		broken(w, "the rib kept references");
	cw_bgp_store_free(w->store);
	return w->why[0] ? w->why : NULL;
}
