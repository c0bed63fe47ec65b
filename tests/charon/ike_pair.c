/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two engines speak to each other over a veth pair between two network namespaces; the kernel's half
 * is played in memory, so it runs wherever namespaces can be made.
 *
 *   ike_pair [-v] [NAME...]	runs the named cases, or all
 *
 * Prints "ok NAME", "not ok NAME: why" or "skip NAME: why". Exit code 0: none failed; 77: all skipped.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

static const struct pair_case *const tables[] = { pair_up,    pair_refused, pair_pairs,
						   pair_alive, pair_rekey,   pair_end,	   pair_move };

static bool join(void)
{
	char pid_a[16], pid_b[16];
	const char *add[] = { "ip",   "link", "add",  "cw0",  "netns", pid_a, "type",
			      "veth", "peer", "name", "cw0", "netns", pid_b, NULL };

	snprintf(pid_a, sizeof(pid_a), "%d", (int)a.pid);
	snprintf(pid_b, sizeof(pid_b), "%d", (int)b.pid);
	if (side_ip(add) != 0)
		return false;
	return ask(&a, &(struct side_request){ .order = SIDE_NET, .addr = "192.0.2.1/24" }) == 0 &&
	       ask(&b, &(struct side_request){ .order = SIDE_NET, .addr = "192.0.2.2/24" }) == 0;
}

static void run(const struct pair_case *c)
{
	failed = false;
	why[0] = '\0';
	if (!launch(&a) || !launch(&b) || !join())
		fail("no namespaces");
	if (!failed) {
		start_engine(&a);
		start_engine(&b);
	}
	if (!failed)
		c->run();
	/* Whatever was done, no call to the kernel may have been a wrong one. */
	if (!failed && !a.dead) {
		struct fake_kernel_counts k = kernel(&a);

		if (k.wrong)
			fail("%u wrong calls to a's kernel, first: %s", k.wrong, k.wrong_text);
	}
	if (!failed && !b.dead) {
		struct fake_kernel_counts k = kernel(&b);

		if (k.wrong)
			fail("%u wrong calls to b's kernel, first: %s", k.wrong, k.wrong_text);
	}
	leave(&a);
	leave(&b);
	for (size_t k = 0; failed && !verbose && k < a.n + b.n; k++)
		tell(k < a.n ? &a : &b, k < a.n ? &a.events[k] : &b.events[k - a.n]);
	if (failed)
		printf("not ok %s: %s\n", c->name, why);
	else
		printf("ok %s\n", c->name);
	fflush(stdout);
}

static bool wanted(const char *name, int argc, char **argv)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

static bool can_run(void)
{
	int status = 1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	unsigned bad = 0;
	bool possible = can_run();

	verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct pair_case *c = tables[i]; c->name; c++) {
			if (!wanted(c->name, argc, argv))
				continue;
			if (!possible) {
				printf("skip %s: no right to make network namespaces here\n", c->name);
				continue;
			}
			run(c);
			bad += failed;
		}
	}
	if (!possible)
		return 77;
	return bad ? 1 : 0;
}
