/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_ike: an IKE engine behind ike_port.h that lives in memory, at one end of a fake_world.
 *
 * It speaks a much simplified IKEv2: exchanges with a window of one, retransmission, time limits,
 * INITIAL_CONTACT, rekeys, DELETE and dead peers are there; cryptography and bytes are not. Like
 * plugins/charon, orders return at once and have their effect a little later, and the records of a
 * snapshot race with events.
 */
#ifndef CW_TESTS_FAKE_IKE_H
#define CW_TESTS_FAKE_IKE_H

#include "fake/fake_world.h"
#include "tunnel/ike_port.h"

/* What the engines of others do by themselves. All false: as causeway's. */
struct fake_habits {
	bool replaces; /* a new IKE_SA of the same peer closes the older ones with DELETE */
	bool obeys_initial_contact; /* destroys what the peer says it does not have, without a word
				     */
	bool sends_no_initial_contact;
};

struct fake_ike {
	struct cw_ike port; /* first */
	struct fake_world *world;
	unsigned end;
	uint32_t epoch; /* grows with each crash: what was on its way before is void */
	/* settings, the test's to change at any time */
	struct fake_habits habits;
	uint32_t pairs;         /* children that an initiator makes */
	uint32_t key;           /* both ends must have the same */
	uint32_t refused_pairs; /* bit mask: children answered with TS_UNACCEPTABLE */
	uint32_t rekey_every_s; /* mean time from rekey to rekey of an SA; 0: none */
	bool remakes_lost; /* the rekey of a child that the peer has lost makes another one */
	uint8_t version;        /* 1: a responder's children go over to the newest IKE_SA */
	void (*post)(void *arg, const struct cw_ike_event *ev);
	void *post_arg;
	/* state */
	bool known; /* tunnel_set() came last, not tunnel_remove() */
	uint32_t index, generation, last_id;
	struct cw_time order_at;
	struct fake_sa *sas;
	uint32_t initiated; /* IKE_SAs that it began */
};

void fake_ike_init(struct fake_ike *e, struct fake_world *w, unsigned end);
/* As by kill -9: everything is forgotten, nothing is said. */
void fake_ike_crash(struct fake_ike *e);

/* Begins an IKE_SA whatever there is already. */
void fake_ike_begin(struct fake_ike *e);

/* Forgets the children of a pair, as by hand: nothing is said to anybody. */
void fake_ike_lose_children(struct fake_ike *e, uint32_t pair);
/* Would a packet that `from` sends on a pair be taken by `to`? */
bool fake_ike_passes(const struct fake_ike *from, const struct fake_ike *to, uint32_t pair);

/* What there is. */
struct fake_count {
	uint32_t ikes, children; /* established, and in use on those */
	uint32_t others; /* IKE_SAs that are half open or ending, and children that are ending */
	uint64_t spi_i;  /* of the last IKE_SA */
	uint32_t child_spis; /* sum of all SPIs of children in use: equal at both ends */
};

struct fake_count fake_ike_count(const struct fake_ike *e);

#endif
