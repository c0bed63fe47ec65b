/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causewayctl: asks causewayd and commands it. Exit codes are listed in causewayctl(8).
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ctl_client.h"
#include "cli/dump_mrt.h"
#include "cli/show_bgp.h"
#include "cli/show_status.h"
#include "cli/text.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_NOT_UP = 1, /* status: a tunnel that is wanted up is not */
	EXIT_USAGE = 2,
	EXIT_UNREACHABLE = 3, /* causewayd does not answer */
	EXIT_REFUSED = 4,     /* no such tunnel, not possible now, not allowed */
	EXIT_INTERNAL = 5,
};

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct options {
	const char *socket;
	bool json;
	enum color color;
	long lines; /* 0: the daemon's own number */
	const char *cmd;
	const char *tunnel; /* NULL: none */
	const char *what;
	const char *peer;	/* bgp: NULL: all */
	const char *prefix;	/* routes */
	const char *received, *advertised;
	bool best, mrt;
};

static void usage(FILE *to)
{
	fputs("usage: causewayctl [-s SOCKET] [--json] [--color=auto|always|never] COMMAND\n"
	      "\n"
	      "  status [TUNNEL]          all tunnels at a glance, or one (or one site's) in full\n"
	      "  up TUNNEL                bring it up, and keep it up\n"
	      "  down TUNNEL              take it down, and keep it down\n"
	      "  restart TUNNEL           take it down and bring it up again\n"
	      "  rekey TUNNEL ike|child   make new keys now\n"
	      "  bgp [PEER]               BGP sessions at a glance, or one in full\n"
	      "  bgp refresh PEER         ask for the peer's routes again, and send ours again\n"
	      "  bgp reset PEER           end the session and begin it again\n"
	      "  routes [PREFIX] [--best | --received PEER | --advertised PEER]\n"
	      "         [--mrt]           what BGP knows, and why a path is not used; --mrt: as a\n"
	      "                           table in MRT format, for bgpdump and its like\n"
	      "  log [-n LINES]           the daemon's newest messages\n"
	      "  version                  of this program, the daemon and its parts\n"
	      "\n"
	      "-V prints the version of this program alone. See causewayctl(8).\n",
		to);
}

static void complain(const char *what)
{
	fprintf(stderr, "causewayctl: %s\n", what);
}

static bool parse_color(const char *s, enum color *ret_color)
{
	static const char *const names[] = { "auto", "always", "never" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s, names[i]) == 0) {
			*ret_color = (enum color)i;
			return true;
		}
	}
	return false;
}

static bool parse_lines(const char *s, long *ret_lines)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || end == s || *end || n < 1)
		return false;
	*ret_lines = n;
	return true;
}

/* What each command takes after its name. */
static const struct {
	const char *name;
	int least, most;
	const char *takes;
} cmds[] = {
	{ "status", 0, 1, "at most one tunnel" },
	{ "up", 1, 1, "one tunnel" },
	{ "down", 1, 1, "one tunnel" },
	{ "restart", 1, 1, "one tunnel" },
	{ "rekey", 2, 2, "a tunnel, and \"ike\" or \"child\"" },
	{ "log", 0, 0, "nothing but -n" },
	{ "version", 0, 0, "nothing" },
	{ "bgp", 0, 2, "a peer, or \"refresh\" or \"reset\" and a peer" },
	{ "routes", 0, 1, "at most one prefix" },
};

/* "bgp", "bgp PEER", "bgp refresh PEER", "bgp reset PEER" */
static bool parse_bgp(int n, char **words, struct options *opt)
{
	bool refresh = n > 1 && strcmp(words[1], "refresh") == 0;
	bool reset = n > 1 && strcmp(words[1], "reset") == 0;

	if ((refresh || reset) != (n > 2)) {
		complain("bgp takes a peer, or \"refresh\" or \"reset\" and a peer; see causewayctl -h");
		return false;
	}
	opt->cmd = refresh ? "bgp-refresh" : reset ? "bgp-reset" : "bgp";
	opt->peer = n > 1 ? words[n - 1] : NULL;
	return true;
}

static bool parse_command(int n, char **words, struct options *opt)
{
	char text[160];

	if (n == 0) {
		usage(stderr);
		return false;
	}
	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		if (strcmp(words[0], cmds[i].name) != 0)
			continue;
		if (n - 1 < cmds[i].least || n - 1 > cmds[i].most) {
			snprintf(text, sizeof(text), "%s takes %s; see causewayctl -h",
				cmds[i].name, cmds[i].takes);
			complain(text);
			return false;
		}
		opt->cmd = cmds[i].name;
		if (strcmp(opt->cmd, "routes") != 0 && (opt->best || opt->received || opt->advertised || opt->mrt)) {
			complain("--best, --received, --advertised and --mrt belong to the command routes");
			return false;
		}
		if (strcmp(opt->cmd, "bgp") == 0)
			return parse_bgp(n, words, opt);
		if (strcmp(opt->cmd, "routes") == 0) {
			opt->prefix = n > 1 ? words[1] : NULL;
			if (!opt->mrt || (!opt->advertised && !opt->json))
				return true;
			complain("--mrt has what came in: neither --advertised nor --json goes with it");
			return false;
		}
		opt->tunnel = n > 1 ? words[1] : NULL;
		opt->what = n > 2 ? words[2] : NULL;
		if (opt->what && strcmp(opt->what, "ike") != 0 && strcmp(opt->what, "child") != 0) {
			complain("rekey what? Say \"ike\" or \"child\"");
			return false;
		}
		if (opt->lines && strcmp(opt->cmd, "log") != 0) {
			complain("-n belongs to the command log");
			return false;
		}
		return true;
	}
	snprintf(text, sizeof(text), "unknown command \"%.40s\"; see causewayctl -h", words[0]);
	complain(text);
	return false;
}

/* False: *ret_exit says how to end. */
static bool parse_options(int argc, char **argv, struct options *opt, enum exit_code *ret_exit)
{
	static const struct option longs[] = {
		{ "socket", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "color", required_argument, NULL, 'c' },
		{ "lines", required_argument, NULL, 'n' },
		{ "best", no_argument, NULL, 'b' },
		{ "received", required_argument, NULL, 'r' },
		{ "advertised", required_argument, NULL, 'a' },
		{ "mrt", no_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;

	*ret_exit = EXIT_USAGE;
	while ((c = getopt_long(argc, argv, "s:n:hV", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			opt->socket = optarg;
			break;
		case 'j':
			opt->json = true;
			break;
		case 'c':
			if (parse_color(optarg, &opt->color))
				break;
			complain("--color takes auto, always or never");
			return false;
		case 'n':
			if (parse_lines(optarg, &opt->lines))
				break;
			complain("-n takes a whole number of at least 1");
			return false;
		case 'b':
			opt->best = true;
			break;
		case 'r':
			opt->received = optarg;
			break;
		case 'a':
			opt->advertised = optarg;
			break;
		case 'm':
			opt->mrt = true;
			break;
		case 'h':
			usage(stdout);
			*ret_exit = EXIT_OK;
			return false;
		case 'V':
			puts("causewayctl " CW_VERSION);
			*ret_exit = EXIT_OK;
			return false;
		default:
			fputs("See causewayctl -h.\n", stderr);
			return false;
		}
	}
	return parse_command(argc - optind, argv + optind, opt);
}

/* One line with its newline; NULL when memory is out or an argument is no UTF-8. after: where the last page of
 * routes ended, NULL for the first. */
static char *make_request(const struct options *opt, const char *after)
{
	json_t *root = json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*}", "cmd", opt->cmd, "tunnel",
		opt->tunnel, "what", opt->what, "peer", opt->peer, "prefix", opt->prefix, "received",
		opt->received, "advertised", opt->advertised, "after", after);
	char *text, *line = NULL;

	if (root && opt->best)
		json_object_set_new(root, "best", json_true());
	if (root && opt->mrt)
		json_object_set_new(root, "attributes", json_true());
	if (root && opt->lines)
		json_object_set_new(root, "lines", json_integer(opt->lines));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	json_decref(root);
	return line;
}

static bool use_color(const struct options *opt)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (opt->color != COLOR_AUTO)
		return opt->color == COLOR_ALWAYS;
	if ((no_color && no_color[0]) || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(STDOUT_FILENO);
}

static const char *member(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

static void show_log(struct cw_text *out, const json_t *answer)
{
	const json_t *line;
	char when[CW_TEXT_SHORT];
	size_t i;

	json_array_foreach(json_object_get(answer, "lines"), i, line) {
		cw_text_add(
			out, cw_text_time(json_integer_value(json_object_get(line, "at-wall-s")),
				     when, sizeof(when)));
		cw_text_add(out, " ");
		cw_text_add_safe(out, member(line, "level"), 8);
		cw_text_add_safe(out, member(line, "text"), 0);
		cw_text_add(out, "\n");
	}
}

static void show_order(struct cw_text *out, const struct options *opt)
{
	cw_text_add_safe(out, opt->tunnel, 0);
	cw_text_add(out, ": ");
	cw_text_add(out, opt->cmd);
	if (opt->what) {
		cw_text_add(out, " ");
		cw_text_add(out, opt->what);
	}
	cw_text_add(out, " ordered; causewayctl status ");
	cw_text_add_safe(out, opt->tunnel, 0);
	cw_text_add(out, " shows how it goes on\n");
}

static void show_version(struct cw_text *out, const json_t *answer)
{
	static const struct {
		const char *key, *title;
	} parts[] = {
		{ "version", "causewayd   " },
		{ "ike-engine", "IKE engine  " },
		{ "kernel", "kernel      " },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		cw_text_add(out, parts[i].title);
		cw_text_add_safe(out, member(answer, parts[i].key), 0);
		cw_text_add(out, "\n");
	}
}

static enum exit_code refused(const json_t *answer)
{
	struct cw_text out = { 0 };
	const char *code = member(answer, "code");

	cw_text_add_safe(&out, member(answer, "error"), 0);
	complain(out.s ? out.s : "refused without a reason");
	cw_text_free(&out);
	if (strcmp(code, "internal") == 0)
		return EXIT_INTERNAL;
	return strcmp(code, "busy") == 0 ? EXIT_UNREACHABLE : EXIT_REFUSED;
}

static enum exit_code show(const struct options *opt, const json_t *answer)
{
	struct cw_text out = { 0 };
	enum exit_code code = EXIT_OK;

	if (strcmp(opt->cmd, "status") == 0) {
		if (opt->tunnel)
			cw_show_detail(&out, answer, use_color(opt));
		else
			cw_show_overview(&out, answer, use_color(opt));
	} else if (strcmp(opt->cmd, "log") == 0) {
		show_log(&out, answer);
	} else if (strcmp(opt->cmd, "version") == 0) {
		show_version(&out, answer);
	} else if (strcmp(opt->cmd, "bgp") == 0) {
		if (opt->peer)
			cw_show_neighbour(&out, answer, use_color(opt));
		else
			cw_show_neighbours(&out, answer, use_color(opt));
	} else if (opt->peer) {
		cw_text_add_safe(&out, opt->peer, 0);
		cw_text_add(&out, strcmp(opt->cmd, "bgp-reset") == 0 ? ": bgp reset" : ": bgp refresh");
		cw_text_add(&out, " ordered; causewayctl bgp ");
		cw_text_add_safe(&out, opt->peer, 0);
		cw_text_add(&out, " shows how it goes on\n");
	} else {
		show_order(&out, opt);
	}
	if (out.s)
		fputs(out.s, stdout);
	if (out.failed) {
		complain("out of memory");
		code = EXIT_INTERNAL;
	}
	cw_text_free(&out);
	return code;
}

/* Prints the answer and gives the exit code that it means. */
static enum exit_code conclude(const struct options *opt, const char *text)
{
	json_t *answer = json_loads(text, 0, NULL);
	enum exit_code code = EXIT_OK;

	if (!json_is_object(answer)) {
		complain("causewayd sent no JSON: is something else listening at this socket?");
		json_decref(answer);
		return EXIT_INTERNAL;
	}
	if (opt->json)
		fputs(text, stdout);
	if (!json_is_true(json_object_get(answer, "ok")))
		code = refused(answer);
	else if (!opt->json)
		code = show(opt, answer);
	if (code == EXIT_OK && strcmp(opt->cmd, "status") == 0 && !cw_show_all_well(answer))
		code = EXIT_NOT_UP;
	json_decref(answer);
	if (fflush(stdout) != 0) {
		complain("can't write the answer");
		code = EXIT_INTERNAL;
	}
	return code;
}

/* ---- routes, a page at a time: a full table does not fit into one answer ---- */

struct pages {
	const struct options *opt;
	struct cw_show_columns columns;
	struct cw_mrt_dump *mrt;
	bool begun, any; /* JSON */
};

static enum exit_code ask(const struct options *opt, const char *request, json_t **ret_answer)
{
	char err[512], *text = NULL;
	enum exit_code code = EXIT_OK;

	if (cw_ctl_client_ask(opt->socket, request, &text, err, sizeof(err)) != CW_OK) {
		fflush(stdout);
		complain(err);
		return EXIT_UNREACHABLE;
	}
	*ret_answer = json_loads(text, 0, NULL);
	if (!json_is_object(*ret_answer)) {
		complain("causewayd sent no JSON: is something else listening at this socket?");
		code = EXIT_INTERNAL;
	} else if (!json_is_true(json_object_get(*ret_answer, "ok"))) {
		if (opt->json)
			fputs(text, stdout);
		code = refused(*ret_answer);
	}
	if (code != EXIT_OK) {
		json_decref(*ret_answer);
		*ret_answer = NULL;
	}
	free(text);
	return code;
}

static enum exit_code mrt_page(struct pages *p, const json_t *page)
{
	static const char bgp[] = "{\"cmd\":\"bgp\"}\n";
	json_t *peers = NULL;
	enum exit_code code = p->mrt ? EXIT_OK : ask(p->opt, bgp, &peers);
	enum cw_rc rc = CW_OK;

	if (code != EXIT_OK)
		return code;
	if (!p->mrt)
		rc = cw_mrt_dump_new(stdout, peers, (uint32_t)time(NULL), &p->mrt);
	json_decref(peers);
	if (rc == CW_OK)
		rc = cw_mrt_dump_routes(p->mrt, page);
	if (rc == CW_OK)
		return EXIT_OK;
	complain(rc == CW_E_INVALID ? "causewayd sent no attributes: is it older than this program?" :
		 rc == CW_E_SYSTEM ? "can't write the table" : "the table can't be made: out of memory");
	return EXIT_INTERNAL;
}

/* One object, as if it had come at once. */
static void json_page(struct pages *p, const json_t *page)
{
	const json_t *route;
	size_t i;

	if (!p->begun)
		fputs("{\"ok\":true,\"routes\":[", stdout);
	p->begun = true;
	json_array_foreach(json_object_get(page, "routes"), i, route) {
		if (p->any || i)
			putchar(',');
		json_dumpf(route, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	}
	p->any |= i > 0;
}

static enum exit_code show_page(struct pages *p, const json_t *page)
{
	struct cw_text out = { 0 };
	enum exit_code code = EXIT_OK;

	if (p->opt->mrt)
		return mrt_page(p, page);
	if (p->opt->json) {
		json_page(p, page);
		return EXIT_OK;
	}
	cw_show_routes(&out, page, p->opt->advertised != NULL, &p->columns);
	if (!json_is_string(json_object_get(page, "after")))
		cw_show_routes_end(&out, p->opt->advertised != NULL, &p->columns);
	if (out.s)
		fputs(out.s, stdout);
	if (out.failed) {
		complain("out of memory");
		code = EXIT_INTERNAL;
	}
	cw_text_free(&out);
	return code;
}

static enum exit_code all_routes(const struct options *opt)
{
	struct pages p = { .opt = opt };
	char *request = make_request(opt, NULL);
	enum exit_code code = EXIT_OK;
	bool more = true;

	if (opt->mrt && isatty(STDOUT_FILENO)) {
		complain("--mrt writes octets: send them to a file, as with \"> table.mrt\"");
		free(request);
		return EXIT_USAGE;
	}
	while (more && code == EXIT_OK) {
		json_t *page = NULL;
		const char *after;

		if (!request) {
			complain("an argument is no UTF-8");
			code = EXIT_USAGE;
			break;
		}
		code = ask(opt, request, &page);
		if (code == EXIT_OK)
			code = show_page(&p, page);
		after = json_string_value(json_object_get(page, "after"));
		more = after != NULL;
		free(request);
		request = more ? make_request(opt, after) : NULL;
		json_decref(page);
	}
	free(request);
	cw_mrt_dump_free(p.mrt);
	if (code == EXIT_OK && opt->json)
		fputs("],\"after\":null}\n", stdout);
	if (fflush(stdout) != 0) {
		complain("can't write the answer");
		code = EXIT_INTERNAL;
	}
	return code;
}

int main(int argc, char **argv)
{
	struct options opt = { .socket = CW_CTL_CLIENT_SOCKET };
	enum exit_code code;
	char err[512], *request, *answer = NULL;

	if (!parse_options(argc, argv, &opt, &code))
		return code;
	request = make_request(&opt, NULL);
	if (!request) {
		complain("a tunnel's name has letters, digits, '.', '_' and '-' only");
		return EXIT_USAGE;
	}
	if (strcmp(opt.cmd, "version") == 0 && !opt.json)
		printf("causewayctl %s\n", CW_VERSION);
	if (strcmp(opt.cmd, "routes") == 0) {
		code = all_routes(&opt);
	} else if (cw_ctl_client_ask(opt.socket, request, &answer, err, sizeof(err)) != CW_OK) {
		fflush(stdout);
		complain(err);
		code = EXIT_UNREACHABLE;
	} else {
		code = conclude(&opt, answer);
	}
	free(request);
	free(answer);
	return code;
}
