/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway: owns every object of the daemon and carries their actions out.
 *
 * Wiring, no rules of its own: events come from the IKE engine (mailbox), the kernel, the resolver, the
 * control socket and the clock; each goes to one tunnel's machine; what that asks for is done here.
 * Loop thread only.
 *
 * Beside events the gateway compares on its own, since no event is trusted to arrive: interfaces and
 * routes every CW_GATEWAY_RECONCILE_S, the engine's SAs (a snapshot) every CW_GATEWAY_POLL_S, the SAs'
 * counters every CW_GATEWAY_SAMPLE_MS.
 */
#ifndef CW_DAEMON_GATEWAY_H
#define CW_DAEMON_GATEWAY_H

#include <stddef.h>

#include "base/rc.h"

struct cw_conf;
struct cw_ike;
struct cw_kernel;
struct cw_loop;
struct cw_mailbox;

#define CW_GATEWAY_POLL_S 5
#define CW_GATEWAY_RECONCILE_S 10
#define CW_GATEWAY_SAMPLE_MS 2000
#define CW_GATEWAY_SILENCE_S 3 /* data out and none in for so long: ask the peer */
/* So long after DPD would have found a dead peer, and a rekey mended a CHILD_SA that the peer had lost: say
 * that data goes one way. */
#define CW_GATEWAY_ONE_WAY_S 15

struct cw_gateway;

/* All but `ike` are borrowed and outlive the gateway. */
struct cw_gateway_parts {
	const struct cw_conf *conf;
	const char *conf_path;
	unsigned n_conf_errors;
	struct cw_loop *loop;
	struct cw_mailbox *box; /* the engine's letters: struct cw_ike_event */
	struct cw_kernel *kernel;
	/* May we be the only IKE daemon here? Asked before the kernel is touched: what bears our marks may
	 * be another causewayd's that runs. CW_OK, or why not. */
	enum cw_rc (*alone)(char *reterr, size_t size);
};

/*
 * Asks whether we are alone, looks at the kernel, cleans what an earlier run left, makes the
 * unreachable routes (so that the site's prefixes are closed before anything else happens) and listens
 * on the control socket. Interfaces are made in the loop's turns. On failure reterr has a sentence for people and nothing of ours
 * is left.
 */
enum cw_rc cw_gateway_new(const struct cw_gateway_parts *parts, struct cw_gateway **ret_gateway,
			  char *reterr, size_t size);

/* Begins: the tunnels start. The engine must run; the gateway stops it in cw_gateway_free(). */
void cw_gateway_start(struct cw_gateway *gw, struct cw_ike *ike);

/* Closes the tunnels with DELETE, stops the engine, removes everything of ours from the kernel, frees.
 * Blocks for as long as that takes, a few seconds at most. NULL is fine. */
void cw_gateway_free(struct cw_gateway *gw);

#endif
