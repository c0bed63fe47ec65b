/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mrt: each record octet by octet against RFC 6396. With a file name the test writes one of each kind there, for
 * bgpdump and its like.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#include "wire/mrt.h"

static uint8_t buf[1024];
static FILE *file;

static const struct cw_mrt_time when = { .s = 0x60000000, .us = 500000 };

static void assert_record(size_t n, const char *hex)
{
	assert_true(n > 0);
	assert_bytes((struct cw_span){ .p = buf, .n = n }, hex);
	if (file)
		assert_int_equal(fwrite(buf, 1, n, file), n);
}

static void test_message(void **state)
{
	struct cw_mrt_session session = { .peer_asn = 65515,
		.local_asn = 4200000000,
		.peer = addr_of("169.254.21.2"),
		.local = addr_of("169.254.21.1"),
		.as4 = true };
	struct cw_span message = message_of(
		"002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002");
	struct cw_span old = message_of(
		"002D 02 0000 0012 40010100 4002040201FFEB 400304A9FE1502 18C00002");
	size_t n;

	(void)state;
	n = cw_mrt_message(when, &session, false, message, buf, sizeof(buf));
	assert_record(n, "60000000 0011 0004 00000047 0007A120 0000FFEB FA56EA00 0000 0001 A9FE1502 A9FE1501"
			 "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
			 "002F 02 0000 0014 40010100 40020602010000FFEB 400304A9FE1502 18C00002");
	assert_true(n <= message.n + CW_MRT_MESSAGE_HEAD_MAX);
	for (size_t size = 0; size < n; size++)
		assert_int_equal(cw_mrt_message(when, &session, false, message, buf, size), 0);
	n = cw_mrt_message(when, &session, true, message, buf, sizeof(buf));
	assert_int_equal(buf[7], 7);
	assert_int_equal(n, 12 + 0x47);
	session.as4 = false;
	n = cw_mrt_message(when, &session, false, old, buf, sizeof(buf));
	assert_record(n, "60000000 0011 0001 00000041 0007A120 FFEB 5BA0 0000 0001 A9FE1502 A9FE1501"
			 "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
			 "002D 02 0000 0012 40010100 4002040201FFEB 400304A9FE1502 18C00002");
	session.peer = addr_of("2001:db8::2");
	session.local = addr_of("2001:db8::1");
	session.as4 = true;
	n = cw_mrt_message(when, &session, false, message, buf, sizeof(buf));
	assert_true(n > 0 && n <= message.n + CW_MRT_MESSAGE_HEAD_MAX);
	session.local = addr_of("192.0.2.1");
	assert_int_equal(cw_mrt_message(when, &session, false, message, buf, sizeof(buf)), 0);
}

static void test_state_change(void **state)
{
	const struct cw_mrt_session session = { .peer_asn = 65515,
		.local_asn = 65010,
		.peer = addr_of("2001:db8::2"),
		.local = addr_of("2001:db8::1") };

	(void)state;
	assert_record(cw_mrt_state_change(when, &session, CW_MRT_OPEN_CONFIRM, CW_MRT_ESTABLISHED, buf,
			      sizeof(buf)),
		"60000000 0011 0005 00000034 0007A120 0000FFEB 0000FDF2 0000 0002"
		"20010DB8000000000000000000000002 20010DB8000000000000000000000001 0005 0006");
}

static void test_table(void **state)
{
	const struct cw_mrt_peer peers[] = {
		{ .id = 0x0a0a0001, .asn = 65010 },
		{ .id = 0x0a14ff04, .asn = 65515, .addr = addr_of("169.254.21.2") },
		{ .id = 0x0a14ff05, .asn = 4200000000, .addr = addr_of("2001:db8::2") },
	};
	const struct cw_prefix four = prefix_of("192.0.2.0/24"), six = prefix_of("2001:db8:1::/48");
	const struct cw_addr hop4 = addr_of("169.254.21.2"), hop6 = addr_of("2001:db8::2"), none = { 0 };
	struct cw_span attrs = bytes_of("40010100 40020602010000FFEB"), own = bytes_of("40010100 400200");
	struct cw_mrt_rib rib;
	size_t n;

	(void)state;
	n = cw_mrt_peer_index(when.s, 0x0a0a0001, "main", peers, 3, buf, sizeof(buf));
	assert_record(n, "60000000 000D 0001 0000003F 0A0A0001 0004 6D61696E 0003"
			 "02 0A0A0001 00000000 0000FDF2"
			 "02 0A14FF04 A9FE1502 0000FFEB"
			 "03 0A14FF05 20010DB8000000000000000000000002 FA56EA00");
	assert_int_equal(cw_mrt_peer_index(when.s, 1, "main", peers, 3, buf, n - 1), 0);

	cw_mrt_rib_begin(&rib, when.s, 0, &four, buf, sizeof(buf));
	assert_int_equal(cw_mrt_rib_end(&rib), 0);
	assert_true(cw_mrt_rib_add(&rib, 1, 0x5fffffff, attrs, &hop4));
	assert_true(cw_mrt_rib_add(&rib, 2, 0x5ffffffe, attrs, &hop6));
	n = cw_mrt_rib_end(&rib);
	assert_record(n, "60000000 000D 0002 0000004F 00000000 18C00002 0002"
			 "0001 5FFFFFFF 0014 400304A9FE1502 40010100 40020602010000FFEB"
			 "0002 5FFFFFFE 0021 800E1110 20010DB8000000000000000000000002 40010100 40020602010000FFEB");

	cw_mrt_rib_begin(&rib, when.s, 1, &six, buf, sizeof(buf));
	assert_true(cw_mrt_rib_add(&rib, 0, 1, own, &none));
	n = cw_mrt_rib_end(&rib);
	assert_record(n, "60000000 000D 0004 0000001C 00000001 3020010DB80001 0001 0000 00000001 0007 40010100 400200");

	/* A path that does not fit leaves those that do. */
	cw_mrt_rib_begin(&rib, when.s, 1, &six, buf, n + 10);
	assert_true(cw_mrt_rib_add(&rib, 0, 1, own, &none));
	assert_false(cw_mrt_rib_add(&rib, 1, 1, attrs, &hop6));
	assert_int_equal(cw_mrt_rib_end(&rib), n);
	assert_bytes((struct cw_span){ .p = buf + 23, .n = 2 }, "0001");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_message, bytes_free),
		cmocka_unit_test_teardown(test_state_change, bytes_free),
		cmocka_unit_test_teardown(test_table, bytes_free),
	};
	int failed;

	if (argc > 1 && !(file = fopen(argv[1], "wb"))) {
		perror(argv[1]);
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (file && fclose(file) != 0)
		failed = 1;
	return failed;
}
