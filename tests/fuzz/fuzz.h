/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz: what the targets share. Each is one function that takes bytes, and ends the process when
 * what must hold does not; the sanitizers watch the rest.
 */
#ifndef CW_TESTS_FUZZ_H
#define CW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's entry points; it has no header for them. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, in words that name the broken promise. */
#define must(condition, ...)                                                              \
	do {                                                                              \
		if (!(condition)) {                                                       \
			fprintf(stderr, "fuzz: SUMMARY: %s:%d: broken: ", __FILE__, __LINE__); \
			fprintf(stderr, __VA_ARGS__);                                     \
			fputc('\n', stderr);                                              \
			abort();                                                          \
		}                                                                         \
	} while (0)

/* The input, taken from the front. What is not there any more is zero. */
struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t take_u8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t take_u16(struct input *in)
{
	uint16_t high = take_u8(in);

	return (uint16_t)(high << 8 | take_u8(in));
}

static inline uint32_t take_u32(struct input *in)
{
	uint32_t high = take_u16(in);

	return high << 16 | take_u16(in);
}

/* Zero-terminated text without zeros, of at most size - 1 bytes: a length, then the bytes. */
static inline void take_text(struct input *in, char *buf, size_t size)
{
	size_t len = take_u8(in), n = 0;

	while (len-- && in->left && n + 1 < size) {
		buf[n] = (char)take_u8(in);
		n += buf[n] != '\0';
	}
	buf[n] = '\0';
}

/* Well-formed UTF-8 (RFC 3629 4) without control characters, C1 too, but for those in `but`. */
static inline int is_plain(const char *text, const char *but)
{
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		uint32_t c = *s, least = 0;
		int more = 0;

		if (c >= 0xf0 && c < 0xf8)
			c &= 7, more = 3, least = 0x10000;
		else if (c >= 0xe0)
			c &= 15, more = 2, least = 0x800;
		else if (c >= 0xc0)
			c &= 31, more = 1, least = 0x80;
		else if (c >= 0x80)
			return 0;
		if (*s >= 0xf8)
			return 0;
		for (s++; more; more--, s++) {
			if ((*s & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (*s & 0x3f);
		}
		if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return 0;
		if ((c < 0x20 || (c >= 0x7f && c < 0xa0)) && !strchr(but, (int)c))
			return 0;
	}
	return 1;
}

#endif
