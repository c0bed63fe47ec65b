/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speaker: causeway's BGP without its tunnels, for tests against other daemons in network namespaces.
 *
 *   speaker -f causeway.conf --device TUNNEL=DEVICE... [--port N] [--log LEVEL] [--outer ADDRESS]
 *
 * The same file as causewayd reads; of it only what concerns BGP is used. Each tunnel with a bgp-peer is taken to be
 * up, over the named device. causewayctl asks it as it asks causewayd. SIGHUP makes known the outer address of
 * some tunnel's far end. SIGTERM ends it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/conf.h"
#include "ctl/ctl.h"
#include "daemon/speaker.h"
#include "io/loop.h"

#define DEVICES_MAX 64

struct run {
	struct cw_loop *loop;
	struct cw_conf *conf;
	struct cw_speaker *speaker;
	struct cw_ctl_server *ctl;
	struct cw_addr outer;
};

static void gateway_view(void *arg, struct cw_gateway_view *ret_view)
{
	const struct run *r = arg;

	snprintf(ret_view->name, sizeof(ret_view->name), "%s", r->conf->gateway.name);
	snprintf(ret_view->version, sizeof(ret_view->version), "%s", CW_VERSION);
}

static size_t no_tunnels(void *arg)
{
	(void)arg;
	return 0;
}

static void no_view(void *arg, size_t i, struct cw_tunnel_view *ret_view)
{
	(void)arg;
	(void)i;
	(void)ret_view;
}

static enum cw_rc no_order(void *arg, const char *tunnel, char *reterr, size_t size)
{
	(void)arg;
	(void)tunnel;
	snprintf(reterr, size, "this is BGP alone, without tunnels");
	return CW_E_UNSUPPORTED;
}

static enum cw_rc no_rekey(void *arg, const char *tunnel, bool child, char *reterr, size_t size)
{
	(void)child;
	return no_order(arg, tunnel, reterr, size);
}

static const char *bgp_off(void *arg)
{
	(void)arg;
	return NULL;
}

static size_t bgp_count(void *arg)
{
	return cw_speaker_count(((struct run *)arg)->speaker);
}

static void bgp_view(void *arg, size_t i, struct cw_bgp_neighbour_view *ret_view)
{
	cw_speaker_view(((struct run *)arg)->speaker, i, ret_view);
}

static enum cw_rc bgp_find(void *arg, const char *name, size_t *ret_i)
{
	return cw_speaker_find(((struct run *)arg)->speaker, name, ret_i);
}

static void bgp_reset(void *arg, size_t i, enum cw_bgp_reset reset)
{
	cw_speaker_reset(((struct run *)arg)->speaker, i, reset);
}

static bool bgp_routes(void *arg, struct cw_bgp_route_query *query,
		       void (*fn)(void *fn_arg, const struct cw_bgp_route_view *view), void *fn_arg)
{
	return cw_speaker_routes(((struct run *)arg)->speaker, query, fn, fn_arg);
}

static struct cw_time on_turn(void *arg, struct cw_time now)
{
	struct run *r = arg;
	struct cw_time due = cw_speaker_turn(r->speaker, now);

	return cw_time_min(due, cw_ctl_server_turn(r->ctl, now));
}

static void on_signal(void *arg, int signo)
{
	struct run *r = arg;

	if (signo == SIGHUP)
		cw_speaker_guard(r->speaker, &r->outer, 1);
	else
		cw_loop_stop(r->loop);
}

static int fail(const char *what)
{
	fprintf(stderr, "speaker: %s\n", what);
	return 1;
}

/* The device named for a tunnel, or NULL. */
static const char *device_of(const char *const *devices, size_t n, const char *tunnel)
{
	size_t len = strlen(tunnel);

	for (size_t i = 0; i < n; i++) {
		if (strncmp(devices[i], tunnel, len) == 0 && devices[i][len] == '=')
			return devices[i] + len + 1;
	}
	return NULL;
}

static size_t collect(const struct cw_conf *conf, const char *const *devices, size_t n_devices,
		      struct cw_speaker_tunnel *tunnels)
{
	size_t n = 0;

	for (size_t i = 0; i < conf->n_sites; i++) {
		for (size_t k = 0; k < conf->sites[i].n_tunnels; k++) {
			const struct cw_tunnel_conf *t = &conf->sites[i].tunnels[k];
			const char *device = device_of(devices, n_devices, t->name);

			if (t->bgp.peer.family == CW_FAMILY_NONE || !device || n == DEVICES_MAX)
				continue;
			tunnels[n++] = (struct cw_speaker_tunnel){ .conf = t, .ifname = device,
								   .cost = t->metric };
		}
	}
	return n;
}

static int run(struct run *r, struct cw_speaker_parts *parts)
{
	const struct cw_ctl_port port = {
		.gateway_view = gateway_view, .tunnel_count = no_tunnels, .tunnel_view = no_view,
		.up = no_order, .down = no_order, .restart = no_order, .rekey = no_rekey,
		.bgp_off = bgp_off, .bgp_count = bgp_count, .bgp_view = bgp_view, .bgp_find = bgp_find,
		.bgp_reset = bgp_reset, .bgp_routes = bgp_routes, .arg = r,
	};
	char err[512];

	if (cw_speaker_new(parts, &r->speaker, err, sizeof(err)) != CW_OK)
		return fail(err);
	if (cw_ctl_server_new(r->loop, r->conf->gateway.control_socket, &port, &r->ctl, err, sizeof(err)) !=
	    CW_OK) {
		cw_speaker_free(r->speaker);
		return fail(err);
	}
	for (size_t i = 0; i < cw_speaker_count(r->speaker); i++)
		cw_speaker_net(r->speaker, i, true);
	cw_loop_on_turn(r->loop, on_turn, r);
	cw_loop_run(r->loop);
	cw_loop_on_turn(r->loop, NULL, NULL);
	cw_speaker_free(r->speaker);
	cw_ctl_server_free(r->ctl);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "port", required_argument, NULL, 'p' },
		{ "log", required_argument, NULL, 'l' },
		{ "outer", required_argument, NULL, 'o' },
		{ 0 },
	};
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
	struct cw_speaker_tunnel tunnels[DEVICES_MAX];
	const char *devices[DEVICES_MAX], *file = NULL;
	struct cw_conf_report report;
	struct run r = { 0 };
	size_t n_devices = 0;
	int c, port = CW_BGP_PORT, rc;

	while ((c = getopt_long(argc, argv, "f:", longs, NULL)) != -1) {
		if (c == 'f')
			file = optarg;
		else if (c == 'd' && n_devices < DEVICES_MAX)
			devices[n_devices++] = optarg;
		else if (c == 'p')
			port = (int)strtol(optarg, NULL, 10);
		else if (c == 'o' && cw_addr_parse(optarg, &r.outer) == CW_OK)
			continue;
		else if (c == 'l' && cw_log_level_parse(optarg) >= 0)
			cw_log_set_level((enum cw_log_level)cw_log_level_parse(optarg));
		else
			return fail("usage: speaker -f FILE --device TUNNEL=DEVICE... [--port N] "
				    "[--log LEVEL] [--outer ADDRESS]");
	}
	if (!file)
		return fail("-f FILE is missing");
	cw_log_set_sink(STDERR_FILENO, 0);
	if (cw_conf_read(file, &r.conf, &report) != CW_OK) {
		for (size_t i = 0; i < report.n; i++) {
			char line[1024];

			fprintf(stderr, "%s\n", cw_conf_issue_print(&report.v[i], line, sizeof(line)));
		}
		return fail("the file has errors");
	}
	if (cw_loop_new(&r.loop) != CW_OK || cw_loop_signals(r.loop, signals, on_signal, &r) != CW_OK)
		return fail("no event loop");
	rc = run(&r, &(struct cw_speaker_parts){
			     .conf = r.conf, .loop = r.loop, .tunnels = tunnels,
			     .n_tunnels = collect(r.conf, devices, n_devices, tunnels),
			     .port = (uint16_t)port, .seed = (uint64_t)getpid() });
	cw_loop_free(r.loop);
	cw_conf_free(r.conf);
	cw_conf_report_free(&report);
	return rc;
}
