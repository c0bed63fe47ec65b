/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * charon_priv: what the parts of plugins/charon share.
 *
 * One lock (struct cw_charon's) guards the tunnel table and the table of IKE_SAs. It is innermost:
 * with it held nothing of libcharon is called that could wait for an IKE_SA or call a hook. Hooks run on
 * libcharon's threads under its bus mutex: they take the lock, copy, post and return.
 */
#ifndef CW_CHARON_PRIV_H
#define CW_CHARON_PRIV_H

#include "charon/charon_compat.h"
#include "charon/cw_charon.h"

#include <pthread.h>

#include "base/ipaddr.h"
#include "base/name.h"
#include "tunnel/ike_port.h"
#include "tunnel/kernel_port.h"

/* A tunnel that the engine knows. */
struct cw_charon_tunnel {
	uint32_t index, generation;
	char name[CW_TUNNEL_NAME_MAX + 1];
	peer_cfg_t *peer;
	ike_cfg_t *ike; /* peer's own; compared by pointer with what a responder found */
	shared_key_t *psk;
	identification_t *local_id; /* NULL: whatever address we have towards the peer */
	identification_t *remote_id;
	bool nat_never;
};

enum cw_charon_exchange { /* of ours, waiting for its response */
	CW_CHARON_X_NONE,
	CW_CHARON_X_OTHER,
	CW_CHARON_X_CHILD,
	CW_CHARON_X_CHILD_REKEY,
	CW_CHARON_X_IKE_REKEY,
};

/* A CHILD_SA that was posted as up. */
struct cw_charon_child {
	struct cw_charon_child *next;
	uint32_t id, ike_id, pair;
	uint32_t spi_in, spi_out; /* host order */
	bool replaced;		  /* a rekey put another in its place */
	bool ordered;		  /* we delete it by order */
	time_t deleted_s;	  /* when a snapshot first saw it deleted; 0: not yet */
	enum cw_cause cause;	  /* of its coming end; NONE: that of its IKE_SA */
};

/* An IKE_SA as the hooks saw it; lives from its first to its last hook. */
struct cw_charon_sa {
	struct cw_charon_sa *next;
	uint32_t ike_id;
	bool known; /* index and generation are */
	uint32_t index, generation;
	uint32_t dpd_ms;
	bool mobike;   /* we offer it */
	bool by_us;    /* we sent the first message */
	bool up;       /* IKE_UP or IKE_REKEYED was posted */
	bool down;     /* ... and IKE_DOWN after it */
	bool replaced; /* by a rekey */
	bool unwanted; /* libcharon began it by itself */
	bool closing;  /* an order or the watch ends it */
	bool ordered;
	uint32_t replaces; /* IKEv1: the IKE_SA whose children it took; 0: none */
	bool initial_contact;
	bool heard;   /* a message of the peer was understood */
	bool sent_id; /* IKEv1: our identity and proof went out */

	enum cw_cause cause; /* best known reason of its end */
	char detail[CW_IKE_TEXT_MAX];

	/* The exchange under way in each direction, and what an alert said about it before the message
	 * that ends it. */
	enum cw_charon_exchange asking, answering;
	uint32_t asking_id;
	uint32_t rekey_spi; /* CHILD_REKEY: of the child to be replaced, inbound; host order */
	uint32_t quick_pair; /* IKEv1: the pair of our newest Quick Mode */
	bool repeats; /* IKEv1: a job asks again while it waits for an answer */
	bool asking_told, answering_told; /* its failure was posted */
	bool late_child; /* a child's failure, to be posted once the IKE_SA is up */
	uint32_t late_pair;
	enum cw_cause note_cause;
	char note[CW_IKE_TEXT_MAX];
	char our_groups[48], peer_groups[48]; /* of the newest CHILD_SA rekey either side began */
	uint64_t pairs[4]; /* asked of libcharon and not there yet */

	/* The watch. Monotonic milliseconds. */
	int64_t born_ms, asked_ms, heard_ms;
	bool waiting;
	int64_t watch_ms; /* when the watch looks next; 0: no look is arranged */
};

struct cw_charon_policies;

struct cw_charon {
	struct cw_ike ike;
	struct cw_charon_options opt;
	struct cw_kernel *kernel;
	struct cw_mailbox *box;
	char version[64];

	pthread_mutex_t lock;
	pthread_cond_t gone; /* an IKE_SA left the table */
	struct cw_charon_tunnel **tunnels; /* by index; NULL: none */
	size_t n_tunnels;
	struct cw_charon_sa *sas;
	size_t n_sas;
	struct cw_charon_child *children;
	bool stopping;

	listener_t listener;
	logger_t logger;
	backend_t backend;
	credential_set_t creds;
};

/* ---- charon_conf.c ---- */

enum cw_rc cw_charon_tunnel_build(const struct cw_ike_tunnel *t,
				  struct cw_charon_tunnel **ret_tunnel);
void cw_charon_tunnel_free(struct cw_charon_tunnel *t);
/* Index and generation out of a peer_cfg's name; false where it is none of ours. */
bool cw_charon_name_parse(const char *name, uint32_t *ret_index, uint32_t *ret_generation);
/* Length of the tunnel's own name at the front of it. */
int cw_charon_name_len(const char *name);
/* 0-based pair out of a child_cfg's name. */
uint32_t cw_charon_child_pair(const char *name);
child_cfg_t *cw_charon_child_cfg(peer_cfg_t *peer, uint32_t pair);
void cw_charon_backend_init(struct cw_charon *c);

/* ---- charon_creds.c ---- */

void cw_charon_creds_init(struct cw_charon *c);

/* ---- charon_kernel.c, charon_policy.c ---- */

extern plugin_feature_t cw_charon_kernel_features[];
extern const int cw_charon_kernel_n_features;
/* The constructor that libcharon calls has no argument. */
void cw_charon_kernel_use(struct cw_kernel *kernel);
/* Sets again what somebody else took of our policies, and tells. Loop thread. */
void cw_charon_kernel_restore(void);

struct cw_charon_policies *cw_charon_policies_new(struct cw_kernel *kernel);
void cw_charon_policies_free(struct cw_charon_policies *p);
/* One more user of the policy. prio: smaller wins; among equals the newest. owner: the user's own SPI. */
enum cw_rc cw_charon_policies_add(struct cw_charon_policies *p, const struct cw_policy *policy,
				  uint32_t owner, struct cw_kernel_err *reterr);
/* One user less: the one with the same owner, action, priority, reqid, SPI and template ends. */
enum cw_rc cw_charon_policies_del(struct cw_charon_policies *p, const struct cw_policy *policy,
				  uint32_t owner, struct cw_kernel_err *reterr);
/* Takes all out of the kernel. */
void cw_charon_policies_flush(struct cw_charon_policies *p);
/* Puts back what the kernel has no more. Returns how many were. */
size_t cw_charon_policies_restore(struct cw_charon_policies *p);

/* ---- charon_listener.c ---- */

void cw_charon_listener_init(struct cw_charon *c);
/* With the lock held. Before IKE_UP it is kept and posted after it. */
void cw_charon_post_child_failed(struct cw_charon *c, struct cw_charon_sa *sa, bool by_us, uint32_t pair,
				 enum cw_cause cause, const char *detail);
/* The CHILD_SA that our exchange under way is about came to nothing. Told once; the pair may be asked for
 * again. */
void cw_charon_child_refused(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			     enum cw_cause cause, const char *detail);
void cw_charon_post_rekey_failed(struct cw_charon *c, struct cw_charon_sa *sa, bool by_us, bool is_child,
				 enum cw_cause cause, const char *detail);

/* ---- charon_message.c, charon_message_v1.c and charon_alert.c: two of the listener's hooks ---- */

bool cw_charon_message(listener_t *this, ike_sa_t *ike_sa, message_t *message, bool incoming, bool plain);
bool cw_charon_alert(listener_t *this, ike_sa_t *ike_sa, alert_t alert, va_list args);
void cw_charon_v1_in(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message);
void cw_charon_v1_out(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message);
/* The children whose end a DELETE announces get it for their cause. */
void cw_charon_in_deletes(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa, message_t *message);

/* ---- charon_blame.c: what an error means ---- */

bool cw_charon_is_v1(ike_sa_t *ike_sa);
/* The first error notify, or 0. ret_data: its data, borrowed. */
uint16_t cw_charon_error_in(message_t *message, chunk_t *ret_data);
/* IKEv2; freed by cw_charon_proposals_free(). NULL: it has none. */
linked_list_t *cw_charon_proposals_in(message_t *message);
/* Of an error about a CHILD_SA. */
enum cw_cause cw_charon_child_cause(uint16_t notify);
void cw_charon_child_detail(ike_sa_t *ike_sa, uint16_t notify, char *buf, size_t size);
/* What the peer refused with it: an IKE_SA, our proof or the first child, a child or its rekey, an IKE
 * rekey. */
void cw_charon_blame_init(struct cw_charon_sa *sa, ike_sa_t *ike_sa, uint16_t notify, chunk_t data);
void cw_charon_auth_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			   message_t *message, uint16_t notify);
void cw_charon_child_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			    uint16_t notify, chunk_t data);
void cw_charon_rekey_answer(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa,
			    uint16_t notify, chunk_t data);
/* What we would have liked; freed by cw_charon_proposals_free(), which takes NULL. */
linked_list_t *cw_charon_our_ike_proposals(ike_sa_t *ike_sa);
linked_list_t *cw_charon_our_esp_proposals(ike_sa_t *ike_sa, bool strip_groups);
void cw_charon_proposals_free(linked_list_t *list);
/* "PFS groups differ: ..."; wants: the peer's group where it named one, else NULL. */
void cw_charon_pfs_detail(const struct cw_charon_sa *sa, const char *wants, char *buf, size_t size);
void cw_charon_blame_ids(struct cw_charon_sa *sa, ike_sa_t *ike_sa, enum cw_cause cause);
/* The peer refused our key in a way that names no identity. */
void cw_charon_blame_key(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa);

/* ---- charon_pair.c: selector pairs ---- */

/* Asked of libcharon, and neither there nor refused yet. */
void cw_charon_pair_set(struct cw_charon_sa *sa, uint32_t pair, bool on);
bool cw_charon_pair_asked(const struct cw_charon_sa *sa, uint32_t pair);
/* That of the CHILD_SA that our exchange under way is to make, or CW_IKE_PAIR_UNKNOWN. */
uint32_t cw_charon_pair_under_way(const struct cw_charon_sa *sa, ike_sa_t *ike_sa);
bool cw_charon_quick_mode_runs(ike_sa_t *ike_sa);
bool cw_charon_child_rekey_runs(ike_sa_t *ike_sa);
/* Read off the first message of a Quick Mode of ours. */
uint32_t cw_charon_quick_mode_pair(ike_sa_t *ike_sa, message_t *message);

/* ---- charon_sas.c: the tables of IKE_SAs and CHILD_SAs; the lock is held for all of these ---- */

struct cw_charon_sa *cw_charon_sa_find(struct cw_charon *c, uint32_t ike_id);
/* Finds or makes it. NULL when memory is out. */
struct cw_charon_sa *cw_charon_sa_put(struct cw_charon *c, uint32_t ike_id);
/* Which tunnel is it of? By its configuration's name, else by what was found for its addresses. */
void cw_charon_sa_know(struct cw_charon *c, struct cw_charon_sa *sa, ike_sa_t *ike_sa);
void cw_charon_sa_drop(struct cw_charon *c, struct cw_charon_sa *sa);
void cw_charon_sas_free(struct cw_charon *c);
/* Keeps the best of what is known: a more telling cause replaces a vaguer one. */
void cw_charon_sa_blame(struct cw_charon_sa *sa, enum cw_cause cause, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Another IKE_SA of the same tunnel that is up and not on its way out? */
bool cw_charon_sa_has_twin(const struct cw_charon *c, const struct cw_charon_sa *sa);
/* A request of ours goes out: from now on its answer is awaited. */
void cw_charon_sa_asked(struct cw_charon *c, struct cw_charon_sa *sa);
/* When the watch ends it if nothing comes; INT64_MAX: not watched. */
int64_t cw_charon_sa_limit_ms(const struct cw_charon *c, const struct cw_charon_sa *sa);

struct cw_charon_child *cw_charon_child_find(struct cw_charon *c, uint32_t id);
struct cw_charon_child *cw_charon_child_put(struct cw_charon *c, const struct cw_child_info *info);
void cw_charon_child_drop(struct cw_charon *c, uint32_t id);
void cw_charon_children_move(struct cw_charon *c, uint32_t from_ike, uint32_t to_ike);

/* ---- charon_orders.c ---- */

extern const struct cw_ike_ops cw_charon_ops;

/* ---- cw_charon.c ---- */

/* ops->begin, defined beside start(). */
void cw_charon_begin(struct cw_ike *ike);
/* Ends an IKE_SA from a hook, where it may not be touched: by a job. */
void cw_charon_close_later(struct cw_charon *c, uint32_t ike_id);
/* The last act of stop(), defined beside start(). */
void cw_charon_free(struct cw_charon *c);

/* ---- charon_alive.c ---- */

/* Asks the peer whether it is there: by a job, whenever it was last heard of. */
void cw_charon_check_alive(struct cw_charon *c, uint32_t ike_id);
/* IKEv1, with the lock held: an R_U_THERE went out. It is repeated until something comes. */
void cw_charon_repeat_later(struct cw_charon *c, struct cw_charon_sa *sa);

/* ---- charon_mend.c ---- */

/* Sees to it that of each pair of selectors a CHILD_SA sends. The IKE_SA is the caller's. */
void cw_charon_mend(ike_sa_t *ike_sa);
/* Ends, by a job, the children that were deleted long ago; the caller has ike_sa. */
void cw_charon_forget_deleted(struct cw_charon *c, ike_sa_t *ike_sa);
/* The same from a hook: by a job. */
void cw_charon_mend_later(struct cw_charon *c, uint32_t ike_id);

/* ---- charon_roam.c ---- */

/* Before libcharon's threads run. */
void cw_charon_roam_take(struct cw_charon *c);

/* ---- charon_watch.c ---- */

/* Looks after wait_ms whether the IKE_SA still waits for an answer, and ends it if it is time. */
void cw_charon_watch_later(struct cw_charon *c, uint32_t ike_id, int64_t wait_ms);

/* ---- charon_poll.c ---- */

/* A job: posts a snapshot; the order's id is the poll's number. */
job_requeue_t cw_charon_poll_run(void *data);

/* ---- charon_job.c: orders run on libcharon's threads ---- */

struct cw_charon_order {
	struct cw_charon *c;
	uint32_t id, pair;
	bool force;
	unsigned rounds; /* terminate_run() */
	bool empty;
};

/* run gets a struct cw_charon_order, freed after it. NULL when memory is out. */
job_t *cw_charon_job(struct cw_charon *c, job_requeue_t (*run)(void *), uint32_t id, uint32_t pair,
		     bool force, job_priority_t prio);
void cw_charon_queue(struct cw_charon *c, job_requeue_t (*run)(void *), uint32_t id, uint32_t pair,
		     bool force, job_priority_t prio);
/* Gives a checked-out IKE_SA back, or ends it. */
void cw_charon_checkin(ike_sa_t *ike_sa, bool keep);

/* ---- charon_clock.c: libcharon's monotonic clock ---- */

int64_t cw_charon_now_ms(void);
time_t cw_charon_now_s(void);
/* From seconds since 1970, as the kernel tells; 0 stays 0. */
time_t cw_charon_from_wall(uint64_t wall_s);
/* A point on CLOCK_MONOTONIC. */
struct timespec cw_charon_until(uint32_t wait_ms);
void cw_charon_pause_ms(uint32_t ms);

/* ---- charon_view.c: libcharon's objects as plain structs and text ---- */

void cw_charon_view_ike(ike_sa_t *ike_sa, struct cw_ike_sa_info *ret_info);
void cw_charon_view_child(ike_sa_t *ike_sa, child_sa_t *child_sa, struct cw_child_info *ret_info);
/* Algorithms joined by "/". */
const char *cw_charon_view_proposal(proposal_t *proposal, char *buf, size_t size);
/* Proposals joined by ", "; list of proposal_t. */
const char *cw_charon_view_proposals(linked_list_t *list, char *buf, size_t size);
/* The key exchange groups that occur in the proposals, "none" where one has none. */
const char *cw_charon_view_groups(linked_list_t *list, char *buf, size_t size);
const char *cw_charon_view_group(uint16_t group, char *buf, size_t size);
const char *cw_charon_view_ts(linked_list_t *list, char *buf, size_t size);
const char *cw_charon_view_id(identification_t *id, char *buf, size_t size);
const char *cw_charon_view_notify(uint16_t type, char *buf, size_t size);
struct cw_addr cw_charon_addr(host_t *host);
host_t *cw_charon_host(const struct cw_addr *addr, uint16_t port);
/* A selector as a prefix: the smallest that holds it. */
struct cw_prefix cw_charon_prefix(traffic_selector_t *ts);

/* ---- charon_log.c ---- */

void cw_charon_logger_init(struct cw_charon *c);

/* ---- charon_version.c ---- */

/* CW_E_UNSUPPORTED where the loaded libraries are known to be of another version than the headers. */
enum cw_rc cw_charon_version_check(char *reterr, size_t size);

#endif
