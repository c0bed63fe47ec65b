/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/cw_charon.h"

#include "charon/charon_priv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define NAMESPACE "causeway"
/* NULL would mean the machine's strongswan.conf, a name a regular file; no name means no settings. */
#define NO_SETTINGS ""
/* PSK with IKEv1 and IKEv2 and no more: each plugin is code that a peer may reach. Of kernel-netlink
 * only the half that knows routes and addresses is used; charon_kernel.c comes before it. */
#define PLUGINS "nonce openssl kdf kernel-netlink socket-default"

#define FILES_ENOUGH 64u /* descriptors: it takes some 25, the tunnels none */
#define STACK_BYTES (1u << 20)

/* libcharon keeps its state in globals. */
static struct cw_charon *running;

static char namespace_key[] = NAMESPACE ".%s"; /* libcharon's prototypes know no const */

static void set_int(const char *key, unsigned value)
{
	lib->settings->set_int(lib->settings, namespace_key, (int)value, key);
}

static void set_no(const char *key)
{
	lib->settings->set_bool(lib->settings, namespace_key, FALSE, key);
}

static void set_text(const char *key, const char *value)
{
	lib->settings->set_str(lib->settings, namespace_key, (char *)(uintptr_t)value, key);
}

static void settings(const struct cw_charon_options *opt)
{
	char text[32];

	set_int("threads", opt->threads);
	set_int("port", opt->port);
	set_int("port_nat_t", opt->port_nat_t);
	set_no("install_routes");
	set_no("install_virtual_ip");
	set_no("close_ike_on_child_failure");
	set_no("make_before_break");
	set_no("follow_redirects");
	set_no("send_vendor_id");
	set_no("check_current_path");
	set_no("i_dont_care_about_security_and_use_aggressive_mode_psk");
	set_int("fragment_size", 1280);
	set_int("keep_alive", opt->keepalive_s);
	set_int("half_open_timeout", opt->half_open_s);
	set_int("cookie_threshold", opt->cookie_threshold);
	set_int("ikesa_table_size", 64);
	set_int("ikesa_table_segments", 4);
	/* The limits are the watch's (charon_watch.c): libcharon's own comes after an hour. */
	snprintf(text, sizeof(text), "%u.%03u", opt->retransmit_ms / 1000, opt->retransmit_ms % 1000);
	set_text("retransmit_timeout", text);
	snprintf(text, sizeof(text), "%.3f", opt->retransmit_base);
	set_text("retransmit_base", text);
	set_int("retransmit_limit", opt->retransmit_limit_s);
	set_int("retransmit_tries", 3600 / (opt->retransmit_limit_s ? opt->retransmit_limit_s : 1));
	/* One thread must stay free for what peers send and one for what waits. */
	set_int("processor.priority_threads.high", 1);
	set_int("processor.priority_threads.medium", 1);
}

/* libcharon does not say which it was. */
static void not_loaded(char *reterr, size_t size)
{
	struct rlimit files = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_ENOUGH)
		snprintf(reterr, size,
			 "libcharon could not load its parts with at most %llu open files; allow %u or more "
			 "(ulimit -n, LimitNOFILE=)", (unsigned long long)files.rlim_cur, FILES_ENOUGH);
	else
		snprintf(reterr, size,
			 "libcharon could not load its parts (" PLUGINS
			 "); are libstrongswan-standard-plugins and strongswan-libcharon installed?");
}

static bool boot(struct cw_charon *c, char *reterr, size_t size)
{
	if (!libcharon_init()) {
		snprintf(reterr, size, "libcharon refused to start (integrity check)");
		return false;
	}
	settings(&c->opt);
	charon->bus->add_logger(charon->bus, &c->logger);
	cw_charon_kernel_use(c->kernel);
	lib->plugins->add_static_features(lib->plugins, NAMESPACE "-kernel", cw_charon_kernel_features,
					  cw_charon_kernel_n_features, TRUE, NULL, NULL);
	if (!charon->initialize(charon, (char *)(uintptr_t)PLUGINS)) {
		not_loaded(reterr, size);
		return false;
	}
	if (!charon->socket->get_port(charon->socket, FALSE)) {
		snprintf(reterr, size, "libcharon has no UDP socket on port %u", c->opt.port);
		return false;
	}
	cw_charon_roam_take(c);
	lib->credmgr->add_set(lib->credmgr, &c->creds);
	charon->backends->add_backend(charon->backends, &c->backend);
	charon->bus->add_listener(charon->bus, &c->listener);
	return true;
}

void cw_charon_begin(struct cw_ike *ike)
{
	sigset_t all, before;

	(void)ike; /* there is one */
	/* Threads take over the mask of the one that makes them: signals are the daemon's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	charon->start(charon);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* libcharon_deinit() waits for IKE_SAs that another thread may be freeing at that moment, and can wait
 * for ever then; so all threads but those with fixed work (receiver, sender, ...) end before it. */
static void wait_idle(void)
{
	static const job_priority_t prios[] = { JOB_PRIO_HIGH, JOB_PRIO_MEDIUM, JOB_PRIO_LOW };
	unsigned busy, tries = 5000;

	lib->processor->set_threads(lib->processor, 0);
	do {
		busy = 0;
		for (size_t i = 0; i < countof(prios); i++)
			busy += lib->processor->get_working_threads(lib->processor, prios[i]);
		if (busy)
			cw_charon_pause_ms(1);
	} while (busy && --tries);
}

static void shut(struct cw_charon *c)
{
	if (charon) {
		wait_idle();
		charon->bus->remove_listener(charon->bus, &c->listener);
		charon->backends->remove_backend(charon->backends, &c->backend);
		lib->credmgr->remove_set(lib->credmgr, &c->creds);
	}
	/* Its last words may still use the logger. */
	libcharon_deinit();
	library_deinit();
}

static struct cw_charon *create(const struct cw_charon_options *opt, struct cw_kernel *kernel,
				struct cw_mailbox *box)
{
	struct cw_charon *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return NULL;
	c->ike.ops = &cw_charon_ops;
	c->opt = *opt;
	c->kernel = kernel;
	c->box = box;
	snprintf(c->version, sizeof(c->version), "libcharon %s", VERSION);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->gone, &attr);
	pthread_condattr_destroy(&attr);
	cw_charon_listener_init(c);
	cw_charon_backend_init(c);
	cw_charon_creds_init(c);
	cw_charon_logger_init(c);
	return c;
}

void cw_charon_free(struct cw_charon *c)
{
	shut(c);
	cw_charon_sas_free(c);
	for (size_t i = 0; i < c->n_tunnels; i++)
		cw_charon_tunnel_free(c->tunnels[i]);
	free(c->tunnels);
	pthread_cond_destroy(&c->gone);
	pthread_mutex_destroy(&c->lock);
	if (running == c)
		running = NULL;
	free(c);
}

/* Each of libcharon's threads would take 8 MiB of address space for its stack, and where that is limited
 * they could not be made, or nothing else got any. They use a small part of it. */
static void small_stacks(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0)
		return;
	if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0)
		(void)pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

enum cw_rc cw_charon_start(const struct cw_charon_options *opt, struct cw_kernel *kernel,
			   struct cw_mailbox *box, struct cw_ike **ret_ike, char *reterr, size_t size)
{
	sigset_t all, before;
	struct cw_charon *c;
	enum cw_rc rc;
	bool ok;

	if (running) {
		snprintf(reterr, size, "libcharon runs in this process already");
		return CW_E_EXISTS;
	}
	rc = cw_charon_version_check(reterr, size);
	if (rc == CW_OK)
		rc = cw_charon_ports_check(opt->port, opt->port_nat_t, reterr, size);
	if (rc != CW_OK)
		return rc;
	small_stacks();
	c = create(opt, kernel, box);
	if (!c) {
		snprintf(reterr, size, "no memory");
		return CW_E_NO_MEMORY;
	}
	/* Before libcharon's log is up the library would write to stderr. */
	dbg_default_set_level(LEVEL_SILENT);
	/* What the library starts by itself has our mask, as in cw_charon_begin(). */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = library_init((char *)(uintptr_t)NO_SETTINGS, NAMESPACE);
	if (!ok)
		snprintf(reterr, size, "libstrongswan refused to start");
	else
		ok = boot(c, reterr, size);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!ok) {
		cw_charon_free(c);
		return CW_E_SYSTEM;
	}
	running = c;
	*ret_ike = &c->ike;
	return CW_OK;
}
