/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_ike_priv: the fake engine from inside; for fake_ike*.c alone.
 *
 * fake_ike.c speaks the protocol, fake_ike_port.c takes orders and tells snapshots.
 */
#ifndef CW_TESTS_FAKE_IKE_PRIV_H
#define CW_TESTS_FAKE_IKE_PRIV_H

#include "fake/fake_ike.h"

#define FAKE_QUEUE_MAX 128
#define FAKE_CHILDREN_MAX 256

enum exchange { SA_INIT, AUTH, CHILD, REKEY_CHILD, REKEY_IKE, DELETE_CHILD, DELETE_IKE, DPD };

enum refusal {
	NO_REFUSAL,
	NO_PROPOSAL,
	AUTH_FAILED,
	TS_UNACCEPTABLE,
	NOT_FOUND,
	TEMPORARY_FAILURE
};

struct fake_msg {
	uint64_t to_spi, from_spi;
	bool response;
	uint32_t mid;
	enum exchange type;
	enum refusal refusal;
	bool child_refused;          /* AUTH: the IKE_SA is fine, its child is not */
	uint32_t pair, spi, old_spi; /* SPIs of children are the sender's inbound ones */
	uint64_t new_spi;
	bool initial_contact;
	uint32_t key;
};

struct fake_child {
	uint32_t id, pair, spi_in, spi_out;
	enum cw_child_state state;
	struct cw_time at;
	bool mine; /* we made it, so we rekey it */
};

struct fake_sa {
	struct fake_sa *next;
	uint32_t id;
	uint64_t spi, peer_spi;
	bool initiator, silent, by_order;
	enum cw_ike_sa_state state;
	struct cw_time began_at, up_at, last_in;
	/* requests of ours: queue[0] is on its way while busy */
	struct fake_msg queue[FAKE_QUEUE_MAX];
	size_t n_queue;
	bool busy;
	struct cw_time sent_at, first_sent_at;
	uint32_t tries, mid;
	/* requests of the peer */
	uint32_t peer_mid; /* expected next */
	struct fake_msg answer;
	struct fake_child children[FAKE_CHILDREN_MAX];
	size_t n_children;
};

struct cw_time fake_ike_now(const struct fake_ike *e);
struct cw_ike_sa_info fake_ike_info(const struct fake_ike *e, const struct fake_sa *sa);
struct cw_child_info fake_ike_child_info(
	const struct fake_ike *e, const struct fake_sa *sa, const struct fake_child *c);

/* Forgets an IKE_SA without a word, or with the events that belong to its end. */
void fake_ike_drop(struct fake_ike *e, struct fake_sa *sa);
void fake_ike_end(struct fake_ike *e, struct fake_sa *sa, enum cw_cause cause, bool by_us);

/* Queues a request. */
void fake_ike_ask(struct fake_ike *e, struct fake_sa *sa, const struct fake_msg *m);
void fake_ike_ask_delete(struct fake_ike *e, struct fake_sa *sa, bool by_order);
void fake_ike_initiate(struct fake_ike *e, uint32_t pair);
void fake_ike_rekey_child(struct fake_ike *e, struct fake_sa *sa, struct fake_child *c);
void fake_ike_rekey(struct fake_ike *e, struct fake_sa *sa);

fake_call fake_ike_on_wire, fake_ike_tick;

#endif
