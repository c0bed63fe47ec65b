/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check: a test program for a real kernel, in network namespaces of its own.
 *
 * Not cmocka: the cases share one world and go on after a failed check, so that one run of a slow
 * guest tells everything. Every check prints its place when it fails; the program's exit code says
 * whether one did.
 */
#ifndef CW_TEST_NL_CHECK_H
#define CW_TEST_NL_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "tunnel/kernel_port.h"

/* Adds to the failures and prints where when cond is false. Returns cond. */
bool check(bool cond, const char *what, const char *file, int line);
#define CHECK(cond) check((cond), #cond, __FILE__, __LINE__)

/* rc must be `want`; prints the kernel's words when it is not. */
bool check_rc(enum cw_rc rc, enum cw_rc want, const struct cw_kernel_err *err, const char *what,
	const char *file, int line);
#define CHECK_RC(call, want) check_rc((call), (want), &err, #call, __FILE__, __LINE__)

/* Prints how many checks failed; the program's exit code. */
int check_end(void);

/* Exit code of a shell command. */
int run_sh(const char *command);
int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* First number that a shell command prints; -1 where there is none. */
long sh_number(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct cw_addr addr(const char *text);
struct cw_prefix prefix(const char *text);

/* Reads events until one of that kind comes or seconds pass. False then. */
bool wait_event(struct cw_kernel *k, enum cw_kernel_event_kind kind, int seconds,
	struct cw_kernel_event *ret);
/* Takes all that wait; number of those of that kind. */
size_t drain_events(struct cw_kernel *k, enum cw_kernel_event_kind kind);

/* Process that holds another network namespace; `in_peer` runs a command there. */
extern int peer_pid;
int in_peer(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void test_sas(struct cw_kernel *k);
void test_traffic(struct cw_kernel *k);
void test_policies(struct cw_kernel *k);
void test_links(struct cw_kernel *k, enum cw_link_kind kind);
void test_routes(struct cw_kernel *k, enum cw_link_kind kind);
/* Over interfaces that any kernel has. */
void test_plain_routes(struct cw_kernel *k);

#endif
