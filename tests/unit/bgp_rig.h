/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_rig: one BGP session machine on a bench, with a clock that the test turns.
 *
 * What each step asks for is kept as a line of words, so that a test reads like the story it tells:
 *
 *   connect  accept  refuse  refuse(6/7)      ours:open  theirs:keepalive  ours:notify(5/1)  ours:refresh4(1)
 *   ours:close  theirs:drop (close at once)  up  down(hold-expired)  down(connection-lost,keep4)
 *   update  all4  all6(marked)  mark4  sweep6
 *
 * Lines for the log are apart: rig_log().
 */
#ifndef CW_TESTS_BGP_RIG_H
#define CW_TESTS_BGP_RIG_H

#include "bgp/bgp_peer.h"

#define OURS CW_BGP_CONN_OURS
#define THEIRS CW_BGP_CONN_THEIRS

struct rig {
	struct cw_bgp_peer *p;
	struct cw_time now;
	struct cw_bgp_actions out; /* of the last step */
	char did[4096];		   /* since the last rig_forget() */
	char log[8192];		   /* likewise, "notice 1501 text\n" */
	uint8_t sent[CW_BGP_MSG_MAX]; /* the last NOTIFICATION, whole; n_sent 0: none */
	size_t n_sent;
};

/* AS 65010, id 10.10.0.1, both ways, hold 90, IPv4 and IPv6, against AS 65515. */
struct cw_bgp_peer_conf rig_conf(void);
struct rig *rig_new(const struct cw_bgp_peer_conf *conf);
void rig_free(struct rig *r);

void rig_step(struct rig *r, const struct cw_bgp_event *ev);
void rig_event(struct rig *r, enum cw_bgp_event_kind kind, enum cw_bgp_conn conn);
/* Lets time go by, with TIMER wherever it is due. */
void rig_pass_ms(struct rig *r, int64_t ms);
/* To the next deadline, and TIMER. Returns how far that was; -1: there is none. */
int64_t rig_next_ms(struct rig *r);
void rig_forget(struct rig *r);

/* The peer's OPEN as it is by default: AS 65515, id 10.20.255.4, hold 180, every capability but 64 and roles. */
struct cw_bgp_open rig_open(void);
void hear_open(struct rig *r, enum cw_bgp_conn conn, const struct cw_bgp_open *open);
void hear(struct rig *r, enum cw_bgp_conn conn, enum cw_bgp_type type, const void *body, size_t n);
void hear_notification(struct rig *r, enum cw_bgp_conn conn, uint8_t code, uint8_t subcode);
void hear_family(struct rig *r, enum cw_bgp_event_kind kind, enum cw_bgp_family family, uint32_t count);

/* START, connect, OPEN, KEEPALIVE, and both first rounds sent; forgotten. open NULL: rig_open(). */
void rig_establish(struct rig *r, const struct cw_bgp_open *open);
struct cw_bgp_peer_view rig_view(const struct rig *r);

#define assert_did(r, words) assert_string_equal((r)->did, (words))
#define assert_state(r, s) \
	assert_string_equal(cw_bgp_state_name(cw_bgp_peer_state((r)->p)), cw_bgp_state_name(CW_BGP_STATE_##s))

/* The actions of one step in words, into buf. */
void rig_words(const struct cw_bgp_actions *out, char *buf, size_t size);

#endif
