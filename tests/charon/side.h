/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * side: one engine in a process and a network namespace of its own, driven over a socket.
 *
 * The test (pair.h) makes two, joins them by a veth pair, gives orders and waits for events. Loss of the
 * peer is a SIGSTOP: its sockets stay, nothing answers.
 */
#ifndef CW_TESTS_CHARON_SIDE_H
#define CW_TESTS_CHARON_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fake_kernel.h"
#include "tunnel/ike_port.h"

struct side_tunnel {
	char name[32];
	uint32_t index, generation;
	unsigned version;
	char psk_now[64]; /* read again since; "": the same */
	char psk[64], ike[64], esp[64], local_id[64], remote_id[64]; /* "": the default */
	char esp2[64]; /* a second proposal */
	int nat;       /* enum cw_nat_traversal */
	uint32_t dpd_delay_s, dpd_timeout_s;
	uint32_t child_s, ike_s, margin_s;
	uint32_t replay_window;
	bool esn, mobike;
	bool inner_ipv6;
	char local[64], remote[64];
	uint32_t number; /* if_id and reqids; 0: no if_id */
	uint32_t mark;
	char near[4][24], far[4][24]; /* selectors NETWORKS where near[0] is set */
};

enum side_order {
	SIDE_IP,  /* ip(8) with the words of addr */
	SIDE_NET, /* addresses on the interface that the test put there */
	SIDE_START, /* force: without SIDE_BEGIN */
	SIDE_BEGIN,
	SIDE_SET,
	SIDE_REMOVE,
	SIDE_INITIATE,
	SIDE_TERMINATE,
	SIDE_TERMINATE_CHILD,
	SIDE_REKEY_IKE,
	SIDE_REKEY_CHILD,
	SIDE_ALIVE,
	SIDE_POLL,
	SIDE_LOSE,   /* id: the child that is forgotten without a word */
	SIDE_LINGER, /* libcharon leaves deleted children where they are, for an hour */
	SIDE_LEAKS,  /* libcharon is going to leak a child_cfg, see case_rekey.c */
	SIDE_EXPIRE, /* id: SPI; force: hard */
	SIDE_MAPPING, /* id: SPI; addr: of its destination; to: new address of the peer; pair: new port */
	SIDE_REFUSE, /* the kernel refuses id SAs */
	SIDE_COUNTS,
	SIDE_HOLD, /* another process takes UDP 4500; the answer is its pid */
	SIDE_STOP,
};

struct side_request {
	enum side_order order;
	uint32_t id, pair;
	bool force;
	unsigned log_level;
	char addr[96], to[64];
	struct side_tunnel tunnel;
};

struct side_report {
	bool is_event;
	enum side_order order; /* answered: IP, NET, START, SET, LOSE, COUNTS, STOP */
	int rc;
	char text[200];
	struct fake_kernel_counts counts;
	struct cw_ike_event ev;
};

/* Runs ip(8), argv[0] included; its exit code, or -1. */
int side_ip(const char *const *argv);

/* The process: serves fd until it is closed or STOP. Never returns. */
void side_run(int fd, char which) __attribute__((noreturn));

#endif
