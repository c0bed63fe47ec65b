/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void cw_text_free(struct cw_text *text)
{
	free(text->s);
	*text = (struct cw_text){ 0 };
}

static void add_bytes(struct cw_text *text, const char *s, size_t n)
{
	if (text->failed)
		return;
	if (text->len + n + 1 > text->size) {
		size_t size = (text->len + n + 1) * 2;
		char *grown = realloc(text->s, size);

		if (!grown) {
			text->failed = true;
			return;
		}
		text->s = grown;
		text->size = size;
	}
	if (n)
		memcpy(text->s + text->len, s, n);
	text->len += n;
	text->s[text->len] = '\0';
}

void cw_text_add(struct cw_text *text, const char *s)
{
	add_bytes(text, s, strlen(s));
}

static void add_blanks(struct cw_text *text, size_t n)
{
	while (n--)
		add_bytes(text, " ", 1);
}

/* Reads one code point; the number of its bytes, or 0 where there is no well-formed one (RFC 3629
 * 4). */
static size_t decode(const unsigned char *s, uint32_t *ret_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80             ? 1
		   : (s[0] & 0xe0) == 0xc0 ? 2
		   : (s[0] & 0xf0) == 0xe0 ? 3
		   : (s[0] & 0xf8) == 0xf0 ? 4
					   : 0;
	uint32_t point = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	if (n == 0)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return n;
}

/* May it go to a terminal? Not controls (C0, DEL, C1), nor what turns the direction of text. */
static bool harmless(uint32_t point)
{
	return point >= 0x20 && !(point >= 0x7f && point <= 0x9f) &&
	       !(point >= 0x200e && point <= 0x200f) && !(point >= 0x2028 && point <= 0x202e) &&
	       !(point >= 0x2066 && point <= 0x2069);
}

/* One code point or byte of s: bytes eaten, columns used, and added if text is given. */
static size_t add_one(struct cw_text *text, const char *s, size_t *ret_columns)
{
	const unsigned char *u = (const unsigned char *)s;
	uint32_t point = 0;
	size_t n = decode(u, &point);
	char hex[5];

	if (n && harmless(point)) {
		if (text)
			add_bytes(text, s, n);
		*ret_columns = 1;
		return n;
	}
	if (text) {
		snprintf(hex, sizeof(hex), "\\x%02x", u[0]);
		add_bytes(text, hex, 4);
	}
	*ret_columns = 4;
	return 1;
}

/* The first n bytes of s. */
static size_t add_safe(struct cw_text *text, const char *s, size_t n)
{
	size_t columns = 0, used = 0;

	while (used < n) {
		size_t wide;

		used += add_one(text, s + used, &wide);
		columns += wide;
	}
	return columns;
}

size_t cw_text_add_safe(struct cw_text *text, const char *s, size_t width)
{
	size_t columns = add_safe(text, s, strlen(s));

	if (columns < width) {
		add_blanks(text, width - columns);
		columns = width;
	}
	return columns;
}

void cw_text_add_cut(struct cw_text *text, const char *s, size_t width)
{
	size_t at = 0;

	if (cw_text_width(s) <= width) {
		cw_text_add_safe(text, s, width);
		return;
	}
	while (*s) {
		size_t wide, n = add_one(NULL, s, &wide);

		if (at + wide + 3 > width)
			break;
		add_one(text, s, &wide);
		at += wide;
		s += n;
	}
	cw_text_add(text, "...");
	add_blanks(text, width > at + 3 ? width - at - 3 : 0);
}

size_t cw_text_width(const char *s)
{
	return add_safe(NULL, s, strlen(s));
}

void cw_text_wrap(struct cw_text *text, size_t indent, size_t columns, const char *s)
{
	size_t at = indent;

	while (*s) {
		size_t blanks = strspn(s, " "), n = strcspn(s + blanks, " "), wide;

		wide = add_safe(NULL, s + blanks, n);
		if (at > indent && at + blanks + wide > columns) {
			add_bytes(text, "\n", 1);
			add_blanks(text, indent);
			at = indent;
		} else if (n) {
			add_blanks(text, blanks);
			at += blanks;
		}
		add_safe(text, s + blanks, n);
		at += wide;
		s += blanks + n;
	}
	add_bytes(text, "\n", 1);
}

const char *cw_text_duration(int64_t s, char *buf, size_t size)
{
	const int64_t minute = 60, hour = 60 * minute, day = 24 * hour;

	if (s < 0)
		snprintf(buf, size, "?");
	else if (s < minute)
		snprintf(buf, size, "%" PRId64 "s", s);
	else if (s < 10 * minute)
		snprintf(buf, size, "%" PRId64 "m%02" PRId64 "s", s / minute, s % minute);
	else if (s < hour)
		snprintf(buf, size, "%" PRId64 "m", s / minute);
	else if (s < day)
		snprintf(buf, size, "%" PRId64 "h%02" PRId64 "m", s / hour, s % hour / minute);
	else
		snprintf(buf, size, "%" PRId64 "d%" PRId64 "h", s / day, s % day / hour);
	return buf;
}

const char *cw_text_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes == 0) {
		snprintf(buf, size, "0");
		return buf;
	}
	if (bytes < 1024) {
		snprintf(buf, size, "%u B", (unsigned)bytes);
		return buf;
	}
	while (value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, size, value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *cw_text_time(int64_t wall_s, char *buf, size_t size)
{
	time_t t = (time_t)wall_s;
	struct tm tm;

	if (wall_s <= 0)
		snprintf(buf, size, "never");
	else if (!localtime_r(&t, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, size, "%" PRId64, wall_s);
	return buf;
}
