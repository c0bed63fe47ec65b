/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: a growing buffer for what goes to a person's terminal.
 *
 * Everything that comes from outside passes cw_text_add_safe(): control characters, C1 and bidi
 * controls and bytes that are no UTF-8 become \xNN, so that no peer's identity and no log line can
 * move the cursor or turn text around. Widths are counted in code points.
 */
#ifndef CW_CLI_TEXT_H
#define CW_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_text {
	char *s; /* zero-terminated; NULL while empty */
	size_t len, size;
	bool failed; /* memory ran out: what is there is cut */
};

void cw_text_free(struct cw_text *text);

/* As it is: for our own words and escape sequences. */
void cw_text_add(struct cw_text *text, const char *s);

/* Escaped, then blanks up to width columns. Returns the columns used. */
size_t cw_text_add_safe(struct cw_text *text, const char *s, size_t width);

/* As above, in exactly width (at least 4) columns: what is longer ends in "...". */
void cw_text_add_cut(struct cw_text *text, const char *s, size_t width);

/* Columns that cw_text_add_safe() would use. */
size_t cw_text_width(const char *s);

/* Formats, escapes and wraps between words at `columns`; the first line begins where the buffer
 * stands (at column `indent`), further ones are indented. Ends with a newline. A longer word stays
 * whole. */
void cw_text_wrap(struct cw_text *text, size_t indent, size_t columns, const char *s);

/* "18s", "4m05s", "3h12m", "12d4h". Returns buf. size: at least CW_TEXT_SHORT. */
#define CW_TEXT_SHORT 32
const char *cw_text_duration(int64_t s, char *buf, size_t size);
/* "0", "512 B", "92.0 MiB". */
const char *cw_text_bytes(uint64_t bytes, char *buf, size_t size);
/* Local time, "2025-12-01 08:48:00"; "never" for 0. */
const char *cw_text_time(int64_t wall_s, char *buf, size_t size);

#endif
