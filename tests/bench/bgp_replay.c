/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_replay: the two ends of `run bench bgp` that are no contestants. Both make the same table from N:
 * prefixes of mixed lengths, about N/8 sets of attributes, the order mixed. Times are CLOCK_MONOTONIC in
 * nanoseconds, on standard output, one line each.
 *
 *   bgp_replay send N LOCAL PEER ASN
 *	Opens a session from LOCAL to PEER as AS ASN and prints `up`. A line `announce` or `withdraw` on
 *	standard input makes it send all of the table from memory, and print `begin T` with the first octet
 *	and `sent T` with the last. It answers nothing but keepalives.
 *   bgp_replay watch N
 *	Hears what the kernel's IPv4 table gains and loses, in its own network namespace, and prints `full T`
 *	when all prefixes are there, `empty T` when none of them is there any more, `lost` when the kernel
 *	could not tell it all. A line `count` asks how many there are.
 *   bgp_replay sum N
 *	Prints how many sets, messages and octets the table has, and a checksum of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MSG_MAX 4096
#define HEADER 19
#define HOLD_S 240
#define ASN_TRANS 23456

struct route {
	uint32_t addr;
	uint8_t len;
};

struct bytes {
	uint8_t *v;
	size_t n, room;
};

static struct route *routes;
static size_t n_routes;
static uint64_t random_state = 0x9e3779b97f4a7c15;

static void die(const char *what)
{
	fprintf(stderr, "bgp_replay: %s: %s\n", what, errno ? strerror(errno) : "unexpected");
	exit(1);
}

static void *must(void *p)
{
	if (!p)
		die("memory");
	return p;
}

/* xorshift: the same table on every machine. */
static uint32_t rnd(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

static void say(const char *what)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("%s %lld\n", what, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	fflush(stdout);
}

/* Roughly the lengths of the public table. */
static uint8_t random_len(void)
{
	static const struct {
		uint8_t len, percent;
	} mix[] = { { 24, 58 }, { 23, 10 }, { 22, 12 }, { 21, 6 }, { 20, 6 }, { 19, 4 }, { 18, 2 }, { 16, 2 } };
	uint32_t dice = rnd(100);

	for (size_t i = 0; i < sizeof(mix) / sizeof(*mix); i++) {
		if (dice < mix[i].percent)
			return mix[i].len;
		dice -= mix[i].percent;
	}
	return 24;
}

/* n different prefixes: blocks one after the other from 11.0.0.0 on, some with a /24 inside. */
static void make_routes(size_t n)
{
	uint64_t at = 11u << 24;

	routes = must(calloc(n, sizeof(*routes)));
	while (n_routes < n) {
		uint8_t len = random_len();
		uint64_t size = 1ull << (32 - len);

		at = (at + size - 1) & ~(size - 1);
		if (at >> 24 == 127 || at >> 24 == 169) /* loopback, and where the session is */
			at = ((at >> 24) + 1) << 24;
		if (at + size > 223ull << 24)
			die("too many prefixes");
		routes[n_routes++] = (struct route){ .addr = (uint32_t)at, .len = len };
		if (len < 22 && n_routes < n && rnd(2))
			routes[n_routes++] = (struct route){ .addr = (uint32_t)at + 256 * rnd(4), .len = 24 };
		at += size;
	}
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = ((uint64_t)rnd(1u << 30) << 1 | rnd(2)) % (i + 1);
		struct route other = routes[i];

		routes[i] = routes[j];
		routes[j] = other;
	}
}

static void put(struct bytes *out, const void *data, size_t n)
{
	if (out->n + n > out->room) {
		out->room = (out->n + n) * 2;
		out->v = must(realloc(out->v, out->room));
	}
	memcpy(out->v + out->n, data, n);
	out->n += n;
}

static void put8(struct bytes *out, unsigned int value)
{
	put(out, &(uint8_t){ (uint8_t)value }, 1);
}

static void put16(struct bytes *out, unsigned int value)
{
	put(out, &(uint16_t){ htons((uint16_t)value) }, 2);
}

static void put32(struct bytes *out, uint32_t value)
{
	put(out, &(uint32_t){ htonl(value) }, 4);
}

/* A message begins; its length is filled in by finish(). */
static size_t begin(struct bytes *out, unsigned int type)
{
	static const uint8_t marker[16] = { 255, 255, 255, 255, 255, 255, 255, 255,
					    255, 255, 255, 255, 255, 255, 255, 255 };
	size_t start = out->n;

	put(out, marker, sizeof(marker));
	put16(out, 0);
	put8(out, type);
	return start;
}

static void finish16(struct bytes *out, size_t at, size_t value)
{
	out->v[at] = (uint8_t)(value >> 8);
	out->v[at + 1] = (uint8_t)value;
}

static void finish(struct bytes *out, size_t start)
{
	finish16(out, start + 16, out->n - start);
}

static void put_route(struct bytes *out, const struct route *route)
{
	uint32_t addr = htonl(route->addr);

	put8(out, route->len);
	put(out, &addr, (route->len + 7u) / 8);
}

static void put_attrs(struct bytes *out, uint32_t asn, uint32_t next_hop)
{
	unsigned int hops = 1 + rnd(5), communities = rnd(3) ? rnd(6) : 0;

	put(out, (uint8_t[]){ 0x40, 1, 1, 0 }, 4); /* ORIGIN IGP */
	put(out, (uint8_t[]){ 0x40, 2, (uint8_t)(2 + 4 * (hops + 1)), 2, (uint8_t)(hops + 1) }, 5);
	put32(out, asn);
	for (unsigned int i = 0; i < hops; i++)
		put32(out, rnd(8) ? 1 + rnd(60000) : 131072 + rnd(300000));
	put(out, (uint8_t[]){ 0x40, 3, 4 }, 3);
	put(out, &next_hop, 4);
	if (!rnd(4)) {
		put(out, (uint8_t[]){ 0x80, 4, 4 }, 3);
		put32(out, rnd(1000));
	}
	if (communities) {
		put(out, (uint8_t[]){ 0xc0, 8, (uint8_t)(4 * communities) }, 3);
		for (unsigned int i = 0; i < communities; i++)
			put32(out, (1 + rnd(60000)) << 16 | rnd(65536));
	}
}

/* All of the table; how many sets and messages. Sets have 1 to 15 prefixes, 8 in the middle. */
static struct bytes make_announce(uint32_t asn, uint32_t next_hop, size_t *ret_sets)
{
	struct bytes out = { 0 };
	size_t i = 0;

	*ret_sets = 0;
	while (i < n_routes) {
		size_t start = begin(&out, 2), attrs, many = 1 + rnd(15);

		put16(&out, 0);
		attrs = out.n;
		put16(&out, 0);
		put_attrs(&out, asn, next_hop);
		finish16(&out, attrs, out.n - attrs - 2);
		for (; many > 0 && i < n_routes; many--)
			put_route(&out, &routes[i++]);
		finish(&out, start);
		(*ret_sets)++;
	}
	return out;
}

static struct bytes make_withdraw(void)
{
	struct bytes out = { 0 };
	size_t i = 0;

	while (i < n_routes) {
		size_t start = begin(&out, 2), withdrawn = out.n;

		put16(&out, 0);
		while (i < n_routes && out.n - start + 5 + 2 <= MSG_MAX)
			put_route(&out, &routes[i++]);
		finish16(&out, withdrawn, out.n - withdrawn - 2);
		put16(&out, 0);
		finish(&out, start);
	}
	return out;
}

static struct bytes make_open(uint32_t asn, uint32_t router_id)
{
	struct bytes out = { 0 };
	size_t start = begin(&out, 1);

	put8(&out, 4);
	put16(&out, asn > 65535 ? ASN_TRANS : asn);
	put16(&out, HOLD_S);
	put(&out, &router_id, 4);
	/* one parameter: IPv4 unicast, route refresh, 4-octet AS numbers */
	put(&out, (uint8_t[]){ 16, 2, 14, 1, 4, 0, 1, 0, 1, 2, 0, 65, 4 }, 13);
	put32(&out, asn);
	finish(&out, start);
	return out;
}

static void write_all(int fd, const struct bytes *what)
{
	for (size_t at = 0; at < what->n;) {
		ssize_t n = write(fd, what->v + at, what->n - at);

		if (n < 0)
			die("write to the peer");
		at += (size_t)n;
	}
}

static void read_all(int fd, uint8_t *to, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, to, n);

		if (got <= 0)
			die("the peer has closed");
		to += got;
		n -= (size_t)got;
	}
}

static void expect_message(int fd, unsigned int type)
{
	uint8_t msg[MSG_MAX];
	size_t len;

	read_all(fd, msg, HEADER);
	len = (size_t)msg[16] << 8 | msg[17];
	if (len < HEADER || len > MSG_MAX)
		die("a message's length");
	read_all(fd, msg + HEADER, len - HEADER);
	errno = 0;
	if (msg[18] != type) {
		fprintf(stderr, "bgp_replay: message type %u in place of %u, %u/%u\n", msg[18], type, msg[19],
			msg[20]);
		exit(1);
	}
}

static int open_session(uint32_t local, uint32_t peer)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = local };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(179), .sin_addr.s_addr = peer };

	for (int tries = 0; tries < 600; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
			die("bind");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		close(fd);
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	die("connect to the peer");
	return -1;
}

/* What is left of one way through the table goes out as the peer takes it; what the peer says is read past. */
static int send_table(char **argv)
{
	uint32_t local = inet_addr(argv[3]), peer = inet_addr(argv[4]);
	uint32_t asn = (uint32_t)strtoul(argv[5], NULL, 10);
	size_t sets, left = 0;
	struct bytes announce = make_announce(asn, local, &sets), withdraw = make_withdraw();
	struct bytes hello = make_open(asn, local), alive = { 0 };
	const struct bytes *now = NULL;
	time_t last = time(NULL);
	bool at_message = true;
	int fd = open_session(local, peer);

	finish(&alive, begin(&alive, 4));
	write_all(fd, &hello);
	expect_message(fd, 1);
	write_all(fd, &alive);
	expect_message(fd, 4);
	say("up");
	for (;;) {
		struct pollfd fds[] = { { .fd = 0, .events = now ? 0 : POLLIN },
					{ .fd = fd, .events = now ? POLLIN | POLLOUT : POLLIN } };
		uint8_t skip[65536];
		char line[32];

		if (poll(fds, 2, 1000) < 0)
			die("poll");
		if (fds[0].revents) {
			if (!fgets(line, sizeof(line), stdin))
				return 0;
			now = line[0] == 'a' ? &announce : &withdraw;
			left = now->n;
			say("begin");
		}
		if (fds[1].revents & POLLIN && recv(fd, skip, sizeof(skip), MSG_DONTWAIT) == 0)
			die("the peer has closed");
		if (fds[1].revents & POLLOUT && now) {
			ssize_t n = send(fd, now->v + now->n - left, left, MSG_DONTWAIT);

			if (n < 0 && errno != EAGAIN)
				die("write to the peer");
			left -= n > 0 ? (size_t)n : 0;
			at_message = left == 0;
			if (at_message) {
				now = NULL;
				say("sent");
			}
		}
		if (at_message && time(NULL) - last > HOLD_S / 8) {
			write_all(fd, &alive);
			last = time(NULL);
		}
	}
}

/* The table as a hash: slot -> number of a route plus 1. */
static uint32_t *slots;
static uint8_t *present;
static size_t n_slots, n_present;

static size_t slot_of(uint32_t addr, uint8_t len)
{
	size_t at = (size_t)((addr * 0x9e3779b97f4a7c15ull ^ len * 0xc2b2ae3d27d4eb4full) >> 20) & (n_slots - 1);

	while (slots[at] && (routes[slots[at] - 1].addr != addr || routes[slots[at] - 1].len != len))
		at = (at + 1) & (n_slots - 1);
	return at;
}

static void hear(const struct nlmsghdr *msg, bool *filled)
{
	const struct rtmsg *rtm = NLMSG_DATA(msg);
	int left = (int)RTM_PAYLOAD(msg);
	uint32_t addr = 0, number;

	if ((msg->nlmsg_type != RTM_NEWROUTE && msg->nlmsg_type != RTM_DELROUTE) || rtm->rtm_family != AF_INET ||
	    rtm->rtm_type != RTN_UNICAST)
		return;
	for (const struct rtattr *attr = RTM_RTA(rtm); RTA_OK(attr, left); attr = RTA_NEXT(attr, left))
		if (attr->rta_type == RTA_DST)
			memcpy(&addr, RTA_DATA(attr), 4);
	number = slots[slot_of(ntohl(addr), rtm->rtm_dst_len)];
	if (!number || present[number - 1] == (msg->nlmsg_type == RTM_NEWROUTE))
		return;
	present[number - 1] ^= 1;
	n_present += present[number - 1] ? 1 : (size_t)-1;
	if (n_present == n_routes && !*filled) {
		*filled = true;
		say("full");
	} else if (n_present == 0 && *filled) {
		*filled = false;
		say("empty");
	}
}

static int watch_table(void)
{
	struct sockaddr_nl here = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	static _Alignas(struct nlmsghdr) uint8_t data[1 << 16];
	bool filled = false;

	for (n_slots = 1; n_slots < n_routes * 2; n_slots *= 2)
		;
	slots = must(calloc(n_slots, sizeof(*slots)));
	present = must(calloc(n_routes, 1));
	for (size_t i = 0; i < n_routes; i++)
		slots[slot_of(routes[i].addr, routes[i].len)] = (uint32_t)i + 1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ 1 << 30 }, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0)
		die("netlink");
	say("ready");
	for (;;) {
		struct pollfd fds[] = { { .fd = 0, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
		char line[32];
		int n;

		if (poll(fds, 2, -1) < 0)
			die("poll");
		if (fds[1].revents) {
			n = (int)recv(fd, data, sizeof(data), MSG_DONTWAIT);
			if (n < 0 && errno == ENOBUFS)
				say("lost");
			for (const struct nlmsghdr *msg = (void *)data; n > 0 && NLMSG_OK(msg, (unsigned int)n);
			     msg = NLMSG_NEXT(msg, n))
				hear(msg, &filled);
		}
		if (fds[0].revents) {
			if (!fgets(line, sizeof(line), stdin))
				return 0;
			printf("count %zu\n", n_present);
			fflush(stdout);
		}
	}
}

static int print_sum(void)
{
	size_t sets;
	struct bytes announce = make_announce(65515, inet_addr("169.254.21.1"), &sets), withdraw = make_withdraw();
	uint32_t sum = 2166136261;

	for (size_t i = 0; i < announce.n; i++)
		sum = (sum ^ announce.v[i]) * 16777619;
	printf("prefixes %zu sets %zu octets %zu withdraw-octets %zu checksum %08x\n", n_routes, sets, announce.n,
	       withdraw.n, sum);
	return 0;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (n == 0 || n > 900000) {
		fprintf(stderr, "usage: bgp_replay send N LOCAL PEER ASN | watch N | sum N\n");
		return 2;
	}
	make_routes(n);
	if (strcmp(argv[1], "send") == 0 && argc == 6)
		return send_table(argv);
	if (strcmp(argv[1], "watch") == 0)
		return watch_table();
	return print_sum();
}
