/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl_sample: five tunnels in five states (field case BL-079) and a port that shows them, for the
 * tests of src/ctl and src/cli.
 */
#ifndef CW_TESTS_CTL_SAMPLE_H
#define CW_TESTS_CTL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/ctl.h"

#define SAMPLE_TUNNELS 5
#define SAMPLE_NEIGHBOURS 4
#define SAMPLE_ROUTES 7
#define SAMPLE_NOW 1764590400 /* 2025-12-01 12:00:00 UTC */

struct sample {
	size_t n_tunnels; /* shown by the port */
	/* The last order: its name as in JSON, and the tunnel. */
	const char *order;
	char tunnel[64];
	bool child;
	size_t n_neighbours; /* 0: no BGP */
	unsigned resets[CW_BGP_RESET_HARD + 1]; /* ordered */
	size_t reset_i;
	struct cw_bgp_route_query query; /* the last one */
	enum cw_rc answer; /* to orders */
	const char *answer_text;
};

/* 0: azure-weu-1 up. 1: azure-weu-2 waits, attempt 7. 2: branch has IKE only. 3: lab is down by the
 * operator. 4: oldsite has an error in the file. */
void sample_view(size_t i, struct cw_tunnel_view *ret_view);
/* 0: azure-weu-1 established. 1: azure-weu-2 gets no SYN answered. 2: branch, over IPv6, announced too many. 3: lab,
 * whose tunnel is down. */
void sample_neighbour(size_t i, struct cw_bgp_neighbour_view *ret_view);
void sample_route(size_t i, struct cw_bgp_route_view *ret_view);
void sample_gateway(struct cw_gateway_view *ret_view);
struct cw_ctl_port sample_port(struct sample *sample);

#endif
