/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bgp/bgp_store.h"

#include <stdlib.h>

/*
 * A handle is the number of a slab, and of a slot in it. A slab has slots of one size; its free slots are
 * chained through their first four octets, and the slabs of a class that have one are chained too. A set
 * too long for any class has a slab of its own. Slab 0 does not exist, so no handle is 0.
 */

#define SLOT_BITS 9
#define SLOTS_MAX (1U << SLOT_BITS)
#define SLABS_MAX (1U << (32 - SLOT_BITS))
#define SLAB_OCTETS 16384
#define GRAIN 16		   /* sizes of the classes are multiples of it */
#define CLASSES 64		   /* the longest is 1024 octets */
#define NO_SLOT UINT16_MAX

struct slab {
	uint8_t *mem;	     /* NULL: number free, and `next` the next free one */
	uint32_t slot_size;  /* octets */
	uint32_t next, prev; /* in the chain of its class; 0: end */
	uint16_t slots, used;
	uint16_t fresh;	     /* slots from here on were never used */
	uint16_t free_slot;  /* NO_SLOT: none */
};

struct cw_bgp_store {
	uint64_t seed;
	size_t max_octets, octets, memory;
	size_t n_sets;
	struct slab *slabs;
	uint32_t n_slabs, slabs_room; /* n_slabs: highest number + 1 */
	uint32_t free_slab;
	uint32_t partial[CLASSES]; /* slabs with a free slot, by class */
	uint32_t *table;	   /* handles, open addressing; 0: empty */
	size_t table_size;	   /* a power of two, or 0 */
};

static size_t hop_size(enum cw_family family)
{
	return cw_family_bits(family) / 8;
}

static size_t set_size(const struct cw_bgp_set *set)
{
	return sizeof(*set) + hop_size((enum cw_family)set->hop_family) + set->wire_len;
}

static struct cw_bgp_set *set_of(const struct cw_bgp_store *store, uint32_t handle)
{
	const struct slab *slab = &store->slabs[handle >> SLOT_BITS];

	return (struct cw_bgp_set *)(void *)(slab->mem + (size_t)(handle & (SLOTS_MAX - 1)) *
							 slab->slot_size);
}

/* ---- slabs ---- */

static void chain(struct cw_bgp_store *store, uint32_t number)
{
	struct slab *slab = &store->slabs[number];
	uint32_t *head = &store->partial[slab->slot_size / GRAIN - 1];

	slab->prev = 0;
	slab->next = *head;
	if (*head)
		store->slabs[*head].prev = number;
	*head = number;
}

static void unchain(struct cw_bgp_store *store, uint32_t number)
{
	struct slab *slab = &store->slabs[number];

	if (slab->prev)
		store->slabs[slab->prev].next = slab->next;
	else
		store->partial[slab->slot_size / GRAIN - 1] = slab->next;
	if (slab->next)
		store->slabs[slab->next].prev = slab->prev;
}

/* Returns a new slab's number; 0: no memory. */
static uint32_t add_slab(struct cw_bgp_store *store, size_t slot_size, size_t slots)
{
	uint32_t number = store->free_slab;
	uint8_t *mem;

	if (!number && store->n_slabs >= store->slabs_room) {
		uint32_t room = store->slabs_room ? store->slabs_room * 2 : 16;
		struct slab *slabs;

		if (room > SLABS_MAX)
			return 0;
		slabs = realloc(store->slabs, room * sizeof(*slabs));
		if (!slabs)
			return 0;
		store->slabs = slabs;
		store->slabs_room = room;
	}
	mem = malloc(slot_size * slots);
	if (!mem)
		return 0;
	if (number)
		store->free_slab = store->slabs[number].next;
	else
		number = store->n_slabs++;
	store->slabs[number] = (struct slab){
		.mem = mem,
		.slot_size = (uint32_t)slot_size,
		.slots = (uint16_t)slots,
		.free_slot = NO_SLOT,
	};
	store->memory += slot_size * slots;
	return number;
}

static void remove_slab(struct cw_bgp_store *store, uint32_t number)
{
	struct slab *slab = &store->slabs[number];

	store->memory -= (size_t)slab->slot_size * slab->slots;
	free(slab->mem);
	slab->mem = NULL;
	slab->next = store->free_slab;
	store->free_slab = number;
}

static bool is_classed(size_t slot_size)
{
	return slot_size <= (size_t)GRAIN * CLASSES;
}

/* A slot of at least this size; 0: no memory. */
static uint32_t take_slot(struct cw_bgp_store *store, size_t size)
{
	size_t slot_size = (size + GRAIN - 1) / GRAIN * GRAIN;
	uint32_t number, slot;
	struct slab *slab;

	if (!is_classed(slot_size)) {
		number = add_slab(store, slot_size, 1);
		if (number)
			store->slabs[number].used = 1;
		return number << SLOT_BITS;
	}
	number = store->partial[slot_size / GRAIN - 1];
	if (!number) {
		/* Few sets of a size: a small slab, which the next ones don't follow. */
		number = add_slab(store, slot_size,
				  store->n_sets < 1024 ? 1024 / slot_size + 1 :
							 SLAB_OCTETS / slot_size);
		if (!number)
			return 0;
		chain(store, number);
	}
	slab = &store->slabs[number];
	if (slab->free_slot != NO_SLOT) {
		slot = slab->free_slot;
		memcpy(&slab->free_slot, slab->mem + (size_t)slot * slot_size,
		       sizeof(slab->free_slot));
	} else {
		slot = slab->fresh++;
	}
	slab->used++;
	if (slab->used == slab->slots)
		unchain(store, number);
	return number << SLOT_BITS | slot;
}

static void give_slot(struct cw_bgp_store *store, uint32_t handle)
{
	uint32_t number = handle >> SLOT_BITS;
	struct slab *slab = &store->slabs[number];
	uint16_t slot = (uint16_t)(handle & (SLOTS_MAX - 1));
	bool was_full = slab->used == slab->slots;

	slab->used--;
	if (!slab->used) {
		if (!was_full)
			unchain(store, number);
		remove_slab(store, number);
		return;
	}
	memcpy(slab->mem + (size_t)slot * slab->slot_size, &slab->free_slot,
	       sizeof(slab->free_slot));
	slab->free_slot = slot;
	if (was_full)
		chain(store, number);
}

/* ---- the hash table ---- */

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_more(uint64_t h, const uint8_t *p, size_t n)
{
	uint64_t word;

	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = fold(h ^ word, 0x9e3779b97f4a7c15ULL);
	}
	word = (uint64_t)n << 56; /* so that zeros at the end count */
	memcpy(&word, p, n);
	return fold(h ^ word, 0xd1b54a32d192ed03ULL);
}

static uint32_t hash_of(const struct cw_bgp_store *store, struct cw_span wire,
			const struct cw_addr *hop, size_t hop_len)
{
	uint64_t h = hash_more(store->seed ^ hop_len, hop->bytes, hop_len);

	h = hash_more(h, wire.p, wire.n);
	return (uint32_t)(h ^ h >> 32);
}

static void table_put(struct cw_bgp_store *store, uint32_t handle, uint32_t hash)
{
	size_t mask = store->table_size - 1, at = hash & mask;

	while (store->table[at])
		at = (at + 1) & mask;
	store->table[at] = handle;
}

/* Where a growing table has no memory it becomes fuller, until it must fail. */
static bool resize_table(struct cw_bgp_store *store, size_t size)
{
	uint32_t *old = store->table, *table;
	size_t old_size = store->table_size;

	table = calloc(size, sizeof(*table));
	if (!table)
		return store->n_sets + 1 < old_size;
	store->table = table;
	store->table_size = size;
	store->memory += (size - old_size) * sizeof(*table);
	for (size_t i = 0; i < old_size; i++)
		if (old[i])
			table_put(store, old[i], set_of(store, old[i])->hash);
	free(old);
	return true;
}

/* Takes a handle out and moves up those that a search would not reach any more. */
static void table_remove(struct cw_bgp_store *store, uint32_t handle, uint32_t hash)
{
	size_t mask = store->table_size - 1, hole = hash & mask, at;

	while (store->table[hole] != handle)
		hole = (hole + 1) & mask;
	for (at = (hole + 1) & mask; store->table[at]; at = (at + 1) & mask) {
		size_t home = set_of(store, store->table[at])->hash & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			store->table[hole] = store->table[at];
			hole = at;
		}
	}
	store->table[hole] = 0;
}

/* ---- the store ---- */

struct cw_bgp_store *cw_bgp_store_new(uint64_t seed, size_t max_octets)
{
	struct cw_bgp_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->seed = seed;
	store->max_octets = max_octets;
	store->n_slabs = 1;
	return store;
}

void cw_bgp_store_free(struct cw_bgp_store *store)
{
	if (!store)
		return;
	for (uint32_t i = 1; store->slabs && i < store->n_slabs; i++)
		free(store->slabs[i].mem);
	free(store->slabs);
	free(store->table);
	free(store);
}

static bool is_same(const struct cw_bgp_set *set, struct cw_span wire, const struct cw_addr *hop,
		    size_t hop_len)
{
	return set->wire_len == wire.n && set->hop_family == hop->family &&
	       !memcmp(set->data, hop->bytes, hop_len) &&
	       !memcmp(set->data + hop_len, wire.p, wire.n);
}

enum cw_rc cw_bgp_store_intern(struct cw_bgp_store *store, const struct cw_bgp_attrs_view *view,
			       const struct cw_addr *next_hop, uint32_t *ret_handle)
{
	struct cw_span wire = view->wire;
	size_t hop_len = hop_size((enum cw_family)next_hop->family);
	uint32_t hash, handle;
	struct cw_bgp_set *set;

	if (wire.n > CW_BGP_SET_MAX)
		return CW_E_TOO_BIG;
	if (!wire.p)
		wire.p = next_hop->bytes; /* of no octets: never read, but no null pointer */
	hash = hash_of(store, wire, next_hop, hop_len);
	if (store->table_size) {
		size_t mask = store->table_size - 1;

		for (size_t at = hash & mask; store->table[at]; at = (at + 1) & mask) {
			set = set_of(store, store->table[at]);
			if (set->hash != hash || !is_same(set, wire, next_hop, hop_len))
				continue;
			set->refs++;
			*ret_handle = store->table[at];
			return CW_OK;
		}
	}
	if (sizeof(*set) + hop_len + wire.n > store->max_octets - store->octets)
		return CW_E_TOO_BIG;
	if (store->n_sets >= store->table_size / 4 * 3 &&
	    !resize_table(store, store->table_size ? store->table_size * 2 : 64))
		return CW_E_NO_MEMORY;
	handle = take_slot(store, sizeof(*set) + hop_len + wire.n);
	if (!handle)
		return CW_E_NO_MEMORY;
	set = set_of(store, handle);
	*set = (struct cw_bgp_set){
		.refs = 1,
		.hash = hash,
		.local_pref = view->has_local_pref ? view->local_pref : CW_BGP_LOCAL_PREF_DEFAULT,
		.med = view->has_med ? view->med : 0,
		.first_as = view->first_as,
		.originator_id = view->originator_id,
		.wire_len = (uint16_t)wire.n,
		.path_len = view->path_len,
		.cluster_len = (uint16_t)(view->cluster_list.n / 4),
		.origin = view->origin,
		.hop_family = next_hop->family,
		.has_originator = view->has_originator,
	};
	memcpy(set->data, next_hop->bytes, hop_len);
	memcpy(set->data + hop_len, wire.p, wire.n);
	store->octets += set_size(set);
	store->n_sets++;
	table_put(store, handle, hash);
	*ret_handle = handle;
	return CW_OK;
}

uint32_t cw_bgp_store_ref(struct cw_bgp_store *store, uint32_t handle)
{
	if (handle)
		set_of(store, handle)->refs++;
	return handle;
}

void cw_bgp_store_unref(struct cw_bgp_store *store, uint32_t handle)
{
	struct cw_bgp_set *set;

	if (!handle)
		return;
	set = set_of(store, handle);
	if (--set->refs)
		return;
	table_remove(store, handle, set->hash);
	store->octets -= set_size(set);
	store->n_sets--;
	give_slot(store, handle);
	if (!store->n_sets) {
		store->memory -= store->table_size * sizeof(*store->table);
		free(store->table);
		store->table = NULL;
		store->table_size = 0;
	} else if (store->table_size > 1024 && store->n_sets < store->table_size / 8) {
		resize_table(store, store->table_size / 2);
	}
}

const struct cw_bgp_set *cw_bgp_store_set(const struct cw_bgp_store *store, uint32_t handle)
{
	return set_of(store, handle);
}

struct cw_span cw_bgp_set_wire(const struct cw_bgp_set *set)
{
	return (struct cw_span){
		.p = set->data + hop_size((enum cw_family)set->hop_family),
		.n = set->wire_len,
	};
}

struct cw_addr cw_bgp_set_next_hop(const struct cw_bgp_set *set)
{
	struct cw_addr hop = { .family = set->hop_family };

	memcpy(hop.bytes, set->data, hop_size((enum cw_family)set->hop_family));
	return hop;
}

void cw_bgp_store_view(const struct cw_bgp_store *store, uint32_t handle,
		       struct cw_bgp_attrs_view *ret_view)
{
	struct cw_span wire = cw_bgp_set_wire(set_of(store, handle));

	if (cw_bgp_attrs_read(wire, ret_view) != CW_OK)
		*ret_view = (struct cw_bgp_attrs_view){ .wire = wire };
}

size_t cw_bgp_store_count(const struct cw_bgp_store *store)
{
	return store->n_sets;
}

size_t cw_bgp_store_octets(const struct cw_bgp_store *store)
{
	return store->octets;
}

size_t cw_bgp_store_memory(const struct cw_bgp_store *store)
{
	return sizeof(*store) + store->memory + store->slabs_room * sizeof(*store->slabs);
}
