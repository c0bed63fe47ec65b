/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vector: golden bytes from tests/vectors/, and what is done to them to make them bad.
 *
 * A file holds bytes as pairs of hex digits; lines that begin with # say where they come from.
 */
#ifndef CW_TEST_VECTOR_H
#define CW_TEST_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#define TEST_VECTOR_MAX 4096

/* Reads tests/vectors/<name>.hex below $CW_SRCDIR. Fails the test when it can't. Returns bytes. */
size_t test_vector_load(const char *name, uint8_t buf[TEST_VECTOR_MAX]);

/* Calls read for every truncation of msg[0..len) (with its netlink length as it was, and made
 * to fit) and for every single flipped bit, each in a heap block of exactly that size, so that a
 * sanitizer sees any byte read past it. */
void test_vector_break(const uint8_t *msg, size_t len, void (*read)(const void *msg, size_t len));

/* Every vector of a folder, in turn. Fails the test when there is none. */
void test_vector_each(
	const char *folder, void (*fn)(const char *name, const uint8_t *msg, size_t len));

#endif
