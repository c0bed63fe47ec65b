/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causewayd: options, start and stop order. Always in the foreground; a service manager does the rest.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "charon/cw_charon.h"
#include "conf/conf.h"
#include "daemon/gateway.h"
#include "io/loop.h"
#include "io/mailbox.h"
#include "io/notify.h"
#include "io/priv.h"
#include "nl/kernel.h"
#include "tunnel/ike_port.h"
#include "tunnel/kernel_port.h"

/* Exit codes, in causewayd(8). */
enum {
	EXIT_OK = 0,
	EXIT_CONF = 1,	  /* the config has an error (-n), or nothing in it can run */
	EXIT_USAGE = 2,
	EXIT_RUNNING = 3, /* another causewayd, or another IKE daemon, is in the way */
	EXIT_KERNEL = 4,  /* the kernel or a privilege is missing */
	EXIT_OTHER = 5,
};

/* Letters of the engine that may wait: a snapshot of 1,000 tunnels and the events of a busy second. */
#define MAILBOX_SLOTS 2048

static const char usage[] =
	"usage: causewayd [-dhnV] [-f FILE]\n"
	"  -f FILE  the config (" CW_SYSCONFDIR "/causeway/causeway.conf)\n"
	"  -n       check the config, print it in canonical form, and exit\n"
	"  -nn      the same, and print every value that is in force\n"
	"  -d       log everything, the IKE engine's own words too\n"
	"  -h       print this and exit\n"
	"  -V       print the version and exit\n";

struct options {
	const char *conf_path;
	unsigned check; /* how often -n */
	bool debug;
};

/* What the start makes, in order; undone backwards. */
struct daemon {
	struct cw_conf *conf;
	struct cw_conf_report report;
	struct cw_loop *loop;
	struct cw_mailbox *box;
	struct cw_kernel *kernel;
	struct cw_gateway *gateway;
};

static void on_signal(void *arg, int signo)
{
	struct cw_loop *loop = arg;

	if (signo == SIGHUP) {
		cw_log(CW_LOG_NOTICE, CW_LOG_CONF_NOT_READ, "causewayd",
		       "SIGHUP: a changed config is read at the next start, not while running");
		return;
	}
	cw_log(CW_LOG_INFO, CW_LOG_NONE, "causewayd", "stopping (%s)", signo == SIGTERM ? "SIGTERM" : "SIGINT");
	cw_notify("STOPPING=1");
	cw_loop_stop(loop);
}

static int exit_of(enum cw_rc rc)
{
	switch (rc) {
	case CW_OK:
		return EXIT_OK;
	case CW_E_EXISTS:
	case CW_E_BUSY:
		return EXIT_RUNNING;
	case CW_E_UNSUPPORTED:
	case CW_E_DENIED:
		return EXIT_KERNEL;
	default:
		return EXIT_OTHER;
	}
}

/* Is stderr the journal? systemd says so in $JOURNAL_STREAM by device and inode (systemd.exec(5)). */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	       st.st_dev == dev && st.st_ino == ino;
}

static void log_report(const struct cw_conf_report *report)
{
	char line[CW_LOG_LINE_MAX];

	for (size_t i = 0; i < report->n; i++) {
		bool error = report->v[i].severity == CW_CONF_ERROR;

		cw_conf_issue_print_bare(&report->v[i], line, sizeof(line));
		cw_log(error ? CW_LOG_ERROR : CW_LOG_WARNING, error ? CW_LOG_CONF_ERROR : CW_LOG_CONF_WARNING, NULL,
		       "%s", line);
	}
}

static int read_conf(struct daemon *d, const struct options *opt)
{
	cw_conf_read(opt->conf_path, &d->conf, &d->report);
	if (d->conf && !opt->debug)
		cw_log_set_level(d->conf->gateway.log_level);
	log_report(&d->report);
	if (d->conf)
		return EXIT_OK;
	cw_log(CW_LOG_ERROR, CW_LOG_CONF_ERROR, "causewayd", "nothing in %s can run; causewayd -n -f %s checks it again",
	       opt->conf_path, opt->conf_path);
	return EXIT_CONF;
}

static int fail(const char *what, enum cw_rc rc, const char *why)
{
	if (why && why[0])
		cw_log(CW_LOG_ERROR, rc == CW_E_BUSY ? CW_LOG_IKE_PORT_TAKEN : CW_LOG_NOT_STARTED, "causewayd",
		       "not started: %s", why);
	else
		cw_log(CW_LOG_ERROR, CW_LOG_NOT_STARTED, "causewayd", "not started: %s: %s", what, cw_rc_name(rc));
	return exit_of(rc);
}

static enum cw_rc alone(char *reterr, size_t size)
{
	const struct cw_charon_options charon = CW_CHARON_OPTIONS_DEFAULT;

	return cw_charon_ports_check(charon.port, charon.port_nat_t, reterr, size);
}

static int start(struct daemon *d, const struct options *opt)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
	struct cw_charon_options charon = CW_CHARON_OPTIONS_DEFAULT;
	struct cw_gateway_parts parts;
	struct cw_kernel_err kerr = { 0 };
	struct cw_ike *ike;
	char why[512] = "";
	enum cw_rc rc;

	rc = cw_priv_check(why, sizeof(why));
	if (rc == CW_OK)
		rc = cw_priv_drop(why, sizeof(why));
	if (rc != CW_OK)
		return fail("privileges", rc, why);
	rc = cw_loop_new(&d->loop);
	if (rc == CW_OK)
		rc = cw_loop_signals(d->loop, signals, on_signal, d->loop);
	if (rc != CW_OK)
		return fail("main loop", rc, NULL);
	d->box = cw_mailbox_new(sizeof(struct cw_ike_event), MAILBOX_SLOTS);
	if (!d->box)
		return fail("mailbox", CW_E_NO_MEMORY, NULL);
	rc = cw_kernel_nl_new(&d->kernel, &kerr);
	if (rc != CW_OK) {
		snprintf(why, sizeof(why), "%s: %s", kerr.text[0] ? kerr.text : "netlink",
			 kerr.err ? strerror(kerr.err) : cw_rc_name(rc));
		return fail("netlink", rc, why);
	}

	parts = (struct cw_gateway_parts){
		.conf = d->conf,
		.conf_path = opt->conf_path,
		.n_conf_errors = (unsigned)d->report.n_errors,
		.loop = d->loop,
		.box = d->box,
		.kernel = d->kernel,
		.alone = alone,
	};
	rc = cw_gateway_new(&parts, &d->gateway, why, sizeof(why));
	if (rc != CW_OK)
		return fail("gateway", rc, why);
	charon.log_level = cw_log_level();
	rc = cw_charon_start(&charon, d->kernel, d->box, &ike, why, sizeof(why));
	if (rc != CW_OK) {
		cw_log(CW_LOG_ERROR, rc == CW_E_BUSY ? CW_LOG_IKE_PORT_TAKEN : CW_LOG_IKE_START, "causewayd",
		       "not started: %s", why);
		return exit_of(rc);
	}
	cw_gateway_start(d->gateway, ike);
	cw_log(CW_LOG_NOTICE, CW_LOG_STARTED, "causewayd", "%s up, %s, config %s", CW_VERSION, ike->ops->version(ike),
	       opt->conf_path);
	return EXIT_OK;
}

static void end(struct daemon *d)
{
	bool ran = d->gateway;

	cw_gateway_free(d->gateway);
	if (d->kernel)
		d->kernel->ops->free(d->kernel);
	cw_mailbox_free(d->box);
	cw_loop_free(d->loop);
	cw_conf_report_free(&d->report);
	cw_conf_free(d->conf);
	if (ran)
		cw_log(CW_LOG_NOTICE, CW_LOG_STOPPED, "causewayd", "stopped; nothing of ours is left in the kernel");
}

static int run(const struct options *opt)
{
	struct daemon d = { 0 };
	int code;

	code = read_conf(&d, opt);
	if (code == EXIT_OK)
		code = start(&d, opt);
	if (code == EXIT_OK)
		code = exit_of(cw_loop_run(d.loop));
	end(&d);
	return code;
}

#ifdef __SANITIZE_ADDRESS__
/* libcrypto frees at exit what it keeps for each thread, but libstrongswan has unloaded the plugin that
 * brought it in by then. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
	return "leak:libcrypto.so\n";
}
#endif

int main(int argc, char **argv)
{
	struct options opt = { .conf_path = CW_SYSCONFDIR "/causeway/causeway.conf" };
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "df:hnV", longs, NULL)) != -1) {
		switch (c) {
		case 'd':
			opt.debug = true;
			break;
		case 'f':
			opt.conf_path = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK;
		case 'n':
			opt.check++;
			break;
		case 'V':
			puts("causewayd " CW_VERSION);
			return EXIT_OK;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "causewayd: unexpected argument \"%s\"\n%s", argv[optind], usage);
		return EXIT_USAGE;
	}
	if (opt.check)
		return cw_conf_check_main(opt.conf_path, opt.check > 1 ? CW_CONF_FULL : CW_CONF_CANONICAL,
					  stdout, stderr) ? EXIT_CONF : EXIT_OK;
	/* Who reads our log may end at any time; the tunnels shall not end with him. */
	signal(SIGPIPE, SIG_IGN);
	cw_log_set_sink(STDERR_FILENO, stderr_is_journal());
	if (opt.debug)
		cw_log_set_level(CW_LOG_DEBUG);
	cw_priv_no_dumps();
	return run(&opt);
}
