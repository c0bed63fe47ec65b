/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolve: looks up the peers' names without ever stopping the loop.
 *
 * A few worker threads ask the system's resolver (getaddrinfo, so /etc/hosts and nsswitch count);
 * each answer comes back to the loop through a mailbox and is handed to one callback. Nothing is
 * cached and nothing is retried: whoever wants a name asks again before each try.
 *
 * A resolver that does not answer holds at most CW_RESOLVE_THREADS threads; further names wait
 * in line (glibc gives up by itself after attempts x timeout x servers, 10 to 60 s as a rule).
 * At most CW_RESOLVE_PENDING lookups are in the air; one more is refused.
 *
 * Only addresses that a peer can have are given: unspecified, multicast and link-local ones
 * are left out, so that a filtering resolver's 0.0.0.0 never becomes "any peer".
 *
 * All calls from the loop thread. Worker threads take no signals and inherit the capabilities of
 * the caller of cw_resolve_start().
 */
#ifndef CW_IO_RESOLVE_H
#define CW_IO_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ipaddr.h"
#include "base/rc.h"

#define CW_RESOLVE_THREADS 4
#define CW_RESOLVE_PENDING 4096
#define CW_RESOLVE_ADDRS 8
#define CW_RESOLVE_NAME_MAX 253 /* characters; RFC 1035 2.3.4 as text */
#define CW_RESOLVE_TEXT_MAX 384

struct cw_loop;
struct cw_resolver;

struct cw_resolve_answer {
	uint64_t token; /* as given to cw_resolve_start() */
	/* CW_OK: n_addrs is at least 1. CW_E_NOT_FOUND: the name has no address. CW_E_BUSY: the
	 * resolver did not answer or asks to try later. Else what the system said. */
	enum cw_rc rc;
	struct cw_addr addrs[CW_RESOLVE_ADDRS]; /* in the order of RFC 6724, each once */
	size_t n_addrs;
	char text[CW_RESOLVE_TEXT_MAX]; /* why it failed, with the name; "" on CW_OK */
};

/* The answer is valid during the call only. The callback may start further lookups, and may not
 * free the resolver. */
typedef void cw_resolve_fn(void *arg, const struct cw_resolve_answer *answer);

/* Fills rc, addrs and text of an answer; may block, runs on a worker thread. */
typedef void cw_resolve_lookup_fn(const char *name, struct cw_resolve_answer *ret_answer);

/* The system's resolver. */
void cw_resolve_system(const char *name, struct cw_resolve_answer *ret_answer);

/* lookup: cw_resolve_system, or a test's own. loop must outlive the resolver. */
enum cw_rc cw_resolver_new(struct cw_loop *loop, cw_resolve_lookup_fn *lookup, cw_resolve_fn *fn,
	void *arg, struct cw_resolver **ret_resolver);

/* Returns at once. Lookups that nobody has begun are dropped; threads that wait inside the system's
 * resolver can't be interrupted: they are left behind detached, touch nothing of ours any more, and
 * free what they hold when they return or when the process ends. No callback comes after this.
 * NULL is fine. */
void cw_resolver_free(struct cw_resolver *resolver);

/* Exactly one callback follows on CW_OK, never from inside this call; an address as text is
 * answered without a thread. CW_E_INVALID: empty or too long; CW_E_BUSY: too many in the air;
 * CW_E_SYSTEM: no thread could be made. The same token may be used again at once; the caller tells
 * old from new. */
enum cw_rc cw_resolve_start(struct cw_resolver *resolver, uint64_t token, const char *name);

#endif
