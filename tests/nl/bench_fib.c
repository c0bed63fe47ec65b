/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What learned routes cost on this kernel: seconds passed, seconds of processor time and context
 * switches (waits for the kernel's grace periods) of each step. In a network namespace of its own.
 * usage: bench_fib [-n ROUTES] [-b BATCH-BYTES] [-6] [-p] [-s]     -p: plain routes, -s: sorted
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "nl/fib.h"
#include "nl/fib_table.h"

static struct cw_kernel_err err;
static struct cw_prefix *prefixes;
static size_t n = 100000;
static enum cw_family family = CW_FAMILY_IPV4;

static void must(enum cw_rc rc, const char *what)
{
	if (rc == CW_OK)
		return;
	printf("%s: %s (%s)\n", what, cw_rc_name(rc), err.text);
	exit(1);
}

/* ---- time ---- */

struct usage {
	double wall_s, cpu_s;
	long switches;
};

static double seconds(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e6;
}

static struct usage usage_now(void)
{
	struct timespec t;
	struct rusage u, children;

	clock_gettime(CLOCK_MONOTONIC, &t);
	getrusage(RUSAGE_SELF, &u);
	getrusage(RUSAGE_CHILDREN, &children);
	return (struct usage){
		.wall_s = (double)t.tv_sec + (double)t.tv_nsec / 1e9,
		.cpu_s = seconds(&u) + seconds(&children),
		.switches = u.ru_nvcsw + children.ru_nvcsw,
	};
}

static void told(const char *what, const struct usage *from)
{
	struct usage to = usage_now();
	double wall_s = to.wall_s - from->wall_s, cpu_s = to.cpu_s - from->cpu_s;

	printf("%-28s %8.3f s %8.3f us/route   cpu %7.3f s %7.3f us/route   %5ld switches\n", what,
		wall_s, wall_s * 1e6 / (double)n, cpu_s, cpu_s * 1e6 / (double)n,
		to.switches - from->switches);
}

/* ---- prefixes ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static int by_prefix(const void *a, const void *b)
{
	return cw_prefix_compare(a, b);
}

/* Lengths about as in the Internet's table: of ten, six are /24 (or /48). */
static void make_prefixes(bool sorted)
{
	static const uint8_t less[10] = { 0, 0, 0, 0, 0, 0, 1, 2, 2, 4 };
	struct cw_fib_table seen;
	size_t have = 0;

	prefixes = calloc(n, sizeof(*prefixes));
	if (!prefixes)
		exit(1);
	cw_fib_table_init(&seen, family, 1);
	while (have < n) {
		uint64_t bits = next_random();
		struct cw_prefix p = { .addr.family = (uint8_t)family };
		bool made;

		p.len = (uint8_t)((family == CW_FAMILY_IPV4 ? 24 : 48) -
				  less[(bits >> 40 & 0xff) % 10]);
		if (family == CW_FAMILY_IPV4) {
			p.addr.bytes[0] = (uint8_t)(1 + bits % 126 + (bits >> 60 & 1) * 64);
			memcpy(p.addr.bytes + 1, (uint8_t *)&bits + 2, 2);
		} else {
			memcpy(p.addr.bytes, "\x20\x01", 2);
			memcpy(p.addr.bytes + 2, (uint8_t *)&bits + 1, 4);
		}
		p = cw_prefix_network(&p);
		if (p.addr.bytes[0] == 127 || !cw_fib_table_put(&seen, &p, &made) || !made)
			continue;
		prefixes[have++] = p;
	}
	cw_fib_table_clear(&seen);
	if (sorted)
		qsort(prefixes, n, sizeof(*prefixes), by_prefix);
}

/* ---- steps ---- */

static size_t refused;

static void on_failed(const struct cw_prefix *p, uint32_t group, enum cw_rc rc,
	const struct cw_kernel_err *why, void *arg)
{
	char text[CW_PREFIX_TEXT_MAX];

	(void)group;
	(void)arg;
	if (refused++ == 0)
		printf("%s: %s (%s)\n", cw_prefix_print(p, text, sizeof(text)), cw_rc_name(rc),
			why->text);
}

static void set_all(struct cw_fib *fib, uint32_t group, const char *what)
{
	struct usage u = usage_now();

	for (size_t i = 0; i < n; i++)
		must(cw_fib_route_set(fib, &prefixes[i], group), "set");
	must(cw_fib_flush(fib, &err), "flush");
	told(what, &u);
}

static void del_all(struct cw_fib *fib, const char *what)
{
	struct usage u = usage_now();

	for (size_t i = 0; i < n; i++)
		must(cw_fib_route_del(fib, &prefixes[i]), "del");
	must(cw_fib_flush(fib, &err), "flush");
	told(what, &u);
}

static void replace(struct cw_fib *fib, uint32_t group, const struct cw_fib_hop *hops,
	size_t n_hops, const char *what)
{
	struct usage u = usage_now();

	must(cw_fib_group_replace(fib, group, hops, n_hops, &err), "replace");
	told(what, &u);
}

static void batch_of_iproute2(uint32_t group)
{
	static const char *const verbs[] = { "add", "del" };
	char path[] = "/tmp/bench-fib-XXXXXX", text[CW_PREFIX_TEXT_MAX];
	int fd = mkstemp(path);

	for (size_t v = 0; fd >= 0 && v < 2; v++) {
		FILE *f = fopen(path, "w");
		struct usage u;

		for (size_t i = 0; f && i < n; i++)
			fprintf(f, "route %s %s nhid %" PRIu32 " proto 121 metric 20\n", verbs[v],
				cw_prefix_print(&prefixes[i], text, sizeof(text)), group);
		if (f)
			fclose(f);
		u = usage_now();
		if (sh("ip %s -batch %s", family == CW_FAMILY_IPV4 ? "-4" : "-6", path))
			printf("ip -batch fails\n");
		told(v ? "ip -batch, delete" : "ip -batch, add", &u);
	}
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
}

static void bench(const struct cw_fib_conf *conf)
{
	struct cw_fib_hop hops[2] = { { .ifindex = (int)if_nametoindex("a0") },
		{ .ifindex = (int)if_nametoindex("b0") } };
	struct cw_fib_stats stats;
	struct cw_fib *fib = NULL;
	uint32_t one, two;
	struct usage u;
	size_t removed = 0;

	must(cw_fib_new(conf, on_failed, NULL, &fib, &err), "new");
	must(cw_fib_group_get(fib, family, hops, 1, &one, &err), "group");
	must(cw_fib_group_get(fib, family, hops, 2, &two, &err), "group");
	set_all(fib, one, "add");
	cw_fib_stats(fib, &stats);
	printf("  %" PRIu64 " requests in %" PRIu64 " batches, %zu bytes of memory\n",
		stats.requests, stats.batches, stats.bytes);
	set_all(fib, one, "set to the same");
	replace(fib, one, &hops[1], 1, "replace the group");
	if (cw_fib_set_compat_mode(false) == CW_OK) {
		replace(fib, one, hops, 1, "  without compat_mode");
		cw_fib_set_compat_mode(true);
	}
	set_all(fib, two, "move to another group");
	u = usage_now();
	must(cw_fib_resync(fib, &err), "resync");
	told("resync, nothing lost", &u);
	cw_fib_free(fib);
	must(cw_fib_new(conf, on_failed, NULL, &fib, &err), "new");
	u = usage_now();
	must(cw_fib_adopt(fib, NULL, NULL, &err), "adopt");
	told("adopt", &u);
	must(cw_fib_group_get(fib, family, hops, 2, &two, &err), "group");
	set_all(fib, two, "claim");
	del_all(fib, "delete one by one");
	set_all(fib, two, "add again");
	u = usage_now();
	must(cw_fib_group_drop(fib, two, &removed, &err), "drop");
	told("drop the group's routes", &u);
	set_all(fib, two, "add again");
	u = usage_now();
	must(cw_fib_clear(fib, &removed, &err), "clear");
	told("clear", &u);
	if (cw_fib_has_groups(fib) &&
		sh("ip %s nexthop add id 77 dev a0 && ip nexthop add id 78 group 77",
			family == CW_FAMILY_IPV4 ? "-4" : "-6") == 0)
		batch_of_iproute2(78);
	cw_fib_free(fib);
	printf("%zu refused\n", refused);
}

int main(int argc, char **argv)
{
	struct cw_fib_conf conf = { .metric = 20 };
	bool sorted = false;
	int opt;

	while ((opt = getopt(argc, argv, "n:b:6ps")) != -1) {
		switch (opt) {
		case 'n':
			n = strtoul(optarg, NULL, 10);
			break;
		case 'b':
			conf.batch_bytes = strtoul(optarg, NULL, 10);
			break;
		case '6':
			family = CW_FAMILY_IPV6;
			break;
		case 'p':
			conf.plain = true;
			break;
		case 's':
			sorted = true;
			break;
		default:
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (n < 1 || n > 10000000) {
		printf("-n: 1 to 10000000 routes\n");
		return 2;
	}
	if (unshare(CLONE_NEWNET) < 0) {
		printf("no network namespace of our own: %s\n", strerror(errno));
		return 1;
	}
	sh("ip link set lo up; ip link add a0 type veth peer name a1; ip link add b0 type veth "
	   "peer name b1;"
	   "for i in a0 a1 b0 b1; do ip link set $i up; done; sleep 1");
	printf("%zu IPv%d routes, %s, %s\n", n, family, conf.plain ? "plain" : "over a group",
		sorted ? "sorted" : "in random order");
	make_prefixes(sorted);
	bench(&conf);
	free(prefixes);
	return refused != 0;
}
