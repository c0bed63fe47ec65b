/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_priv: what overview and detail have in common. For src/cli/show_*.c alone.
 */
#ifndef CW_CLI_SHOW_PRIV_H
#define CW_CLI_SHOW_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_SHOW_COLUMNS 80

struct cw_text;
struct json_t;

/* Members of an object; object may be NULL or null. "" where it is no text. */
const char *cw_show_text(const struct json_t *object, const char *key);
bool cw_show_bool(const struct json_t *object, const char *key);
/* -1 where it is null or missing. */
int64_t cw_show_number(const struct json_t *object, const char *key);
/* 0 where it is null or missing. */
uint64_t cw_show_count(const struct json_t *object, const char *key);

#define CW_SHOW_LABEL 14 /* columns of "  label     " */

/* A paragraph under a label, wrapped; without a label it goes on under the one before. */
void cw_show_row(struct cw_text *out, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The tunnel's state, coloured by whether all is as wanted, then blanks up to width. */
void cw_show_state(struct cw_text *out, const struct json_t *tunnel, bool color, size_t width);

/* What is wrong with the gateway as a whole, with an empty line before it; nothing if all is well.
 */
void cw_show_notes(struct cw_text *out, const struct json_t *answer, bool color);

#define CW_SHOW_PATHS 6 /* things that may be said of a data path */
#define CW_SHOW_PATH 256 /* enough for each */

/* What is wrong with a tunnel's data path, or worth a word, whatever IKE thinks of it: thing i, or "". Returns
 * buf. */
const char *cw_show_path(const struct json_t *tunnel, size_t i, char *buf, size_t size);

/* "eth0 (static, metric 100)": the route that packets take in place of this one. Returns buf. */
const char *cw_show_by(const struct json_t *route, char *buf, size_t size);

/* "try 7 in 42s" or "try 7 is on its way", or "" where none is planned. Returns buf. */
const char *cw_show_next_try(const struct json_t *tunnel, char *buf, size_t size);

#endif
