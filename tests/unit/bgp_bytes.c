/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bgp_bytes.h"

#include "wire/bgp_msg.h"

#define BLOCKS_MAX 4096
#define HEX_MAX 65600

static uint8_t *blocks[BLOCKS_MAX];
static size_t n_blocks;

const struct cw_bgp_codec session_full = {
	.as4 = true, .family = { true, true }, .max = CW_BGP_MSG_MAX
};

struct cw_span copy_of(const void *p, size_t n)
{
	uint8_t *block = malloc(n ? n : 1);

	assert_non_null(block);
	assert_true(n_blocks < BLOCKS_MAX);
	blocks[n_blocks++] = block;
	if (n)
		memcpy(block, p, n);
	return (struct cw_span){ .p = block, .n = n };
}

int bytes_free(void **state)
{
	(void)state;
	while (n_blocks)
		free(blocks[--n_blocks]);
	return 0;
}

static int digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

static size_t parse(const char *hex, uint8_t *buf)
{
	size_t n = 0;

	while (*hex) {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		assert_true(n < HEX_MAX);
		assert_true(digit(hex[0]) >= 0 && digit(hex[1]) >= 0);
		buf[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
		hex += 2;
	}
	return n;
}

struct cw_span bytes_of(const char *hex)
{
	static uint8_t buf[HEX_MAX];

	return copy_of(buf, parse(hex, buf));
}

struct cw_span message_of(const char *hex)
{
	static uint8_t buf[16 + HEX_MAX];

	memset(buf, 0xff, 16);
	return copy_of(buf, 16 + parse(hex, buf + 16));
}

struct cw_span body_of(const char *hex)
{
	struct cw_span message = message_of(hex);
	struct cw_bgp_header header;
	struct cw_bgp_err err;

	if (cw_bgp_header_decode(message, CW_BGP_MSG_EXTENDED_MAX, &header, &err) != CW_OK)
		fail_msg("%s: no message: %s", hex, err.why);
	assert_int_equal(header.len, message.n);
	return copy_of(message.p + CW_BGP_HEADER_LEN, message.n - CW_BGP_HEADER_LEN);
}

void assert_row(const char *name, struct cw_span have, const char *hex)
{
	static char text[2 * HEX_MAX + 1], wanted[2 * HEX_MAX + 1];
	struct cw_span want = bytes_of(hex);

	assert_true(have.n <= HEX_MAX);
	text[0] = wanted[0] = '\0';
	for (size_t i = 0; i < have.n; i++)
		snprintf(text + 2 * i, 3, "%02x", have.p[i]);
	for (size_t i = 0; i < want.n; i++)
		snprintf(wanted + 2 * i, 3, "%02x", want.p[i]);
	if (strcmp(text, wanted) != 0)
		fail_msg("%s: %s, not %s", name, text, wanted);
}

void assert_bytes(struct cw_span have, const char *hex)
{
	assert_row("bytes", have, hex);
}

struct cw_addr addr_of(const char *text)
{
	struct cw_addr ret;

	assert_int_equal(cw_addr_parse(text, &ret), CW_OK);
	return ret;
}

struct cw_prefix prefix_of(const char *text)
{
	struct cw_prefix ret;

	assert_int_equal(cw_prefix_parse(text, &ret), CW_OK);
	return ret;
}

const char *list_of(struct cw_span list, enum cw_bgp_family family)
{
	static char text[4096];
	struct cw_cursor c = cw_cursor_of(list);
	char one[CW_PREFIX_TEXT_MAX];
	struct cw_prefix prefix;
	size_t at = 0;

	text[0] = '\0';
	while (cw_bgp_prefix_get(&c, family, &prefix)) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "",
			cw_prefix_print(&prefix, one, sizeof(one)));
		assert_true(at < sizeof(text));
	}
	assert_true(cw_cursor_ok(&c));
	return text;
}

void assert_survives(struct cw_span canonical, const struct cw_bgp_codec *codec)
{
	static uint8_t buf[CW_BGP_MSG_EXTENDED_MAX];
	static struct cw_bgp_update update;
	const struct cw_addr hops[] = { addr_of("169.254.21.2"), addr_of("2001:db8::1") };
	const struct cw_prefix prefixes[] = { prefix_of("192.0.2.0/24"), prefix_of("2001:db8:1::/48") };
	struct cw_bgp_codec session = *codec;
	struct cw_bgp_encoder e;
	struct cw_bgp_err err;

	session.max = CW_BGP_MSG_EXTENDED_MAX;
	for (unsigned i = 0; i < 4; i++) {
		enum cw_bgp_family family = i / 2 ? CW_BGP_IPV6 : CW_BGP_IPV4;
		size_t n;

		session.as4 = i % 2;
		assert_int_equal(cw_bgp_encode_announce(&e, &session, family, canonical,
					 &hops[family], buf),
			CW_OK);
		assert_true(cw_bgp_encode_prefix(&e, &prefixes[family]));
		n = cw_bgp_encode_finish(&e);
		assert_true(n > CW_BGP_HEADER_LEN);
		assert_int_equal(cw_bgp_update_decode(copy_of(buf + CW_BGP_HEADER_LEN,
							      n - CW_BGP_HEADER_LEN),
					 &session, &update, &err),
			CW_OK);
		assert_int_equal(update.verdict, CW_BGP_ACCEPT);
		assert_int_equal(update.attrs.wire.n, canonical.n);
		assert_memory_equal(update.attrs.wire.p, canonical.p, canonical.n);
	}
}
