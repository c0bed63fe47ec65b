/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: the file with its includes as one text that is safe to give to libconfig.
 *
 * libconfig 1.5 takes any file that fopen() opens, wraps integers over 32 bits without a word,
 * stops at the first duplicate, needs a minute for a string of 10 MB and answers everything else
 * with "syntax error". So this part goes over the text first. It reads regular files only, bounds
 * size, depth and length of everything, and finds with their right lines: bytes that are no text,
 * brackets and strings that are not closed, values without quotes, numbers that are too big and
 * duplicates. On the way it puts the included files in their place, gives integers the suffix L
 * that makes libconfig read 64 bits, and takes away a comma before a closing bracket, which
 * libconfig 1.5 refuses.
 *
 * The text may hold keys: it is wiped when freed, and no finding quotes it.
 */
#ifndef CW_CONF_TEXT_H
#define CW_CONF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/report.h"

#define CW_TEXT_SIZE_MAX (4u << 20)  /* bytes, with includes: enough for 4,000 tunnels */
#define CW_TEXT_FILES_MAX 100
#define CW_TEXT_INCLUDE_DEPTH_MAX 8
#define CW_TEXT_DEPTH_MAX 16	     /* brackets in brackets */
#define CW_TEXT_STRING_MAX 4096	     /* bytes of one string, adjacent ones joined */
#define CW_TEXT_MEMBERS_MAX 200	     /* settings in one group */

/* Begins the name given to the second of two equal names, so that libconfig reads on. */
#define CW_TEXT_DUPLICATE_PREFIX "*again-"

struct cw_text_file {
	char *name;    /* as a person would open it */
	bool exposed;  /* readable by everybody */
};

struct cw_text_line {
	unsigned file; /* index */
	unsigned line; /* from 1 */
};

struct cw_text {
	char *buf; /* ends in a zero byte */
	size_t len, size;
	struct cw_text_line *lines; /* of line i + 1 of buf */
	size_t n_lines, lines_size;
	struct cw_text_file files[CW_TEXT_FILES_MAX];
	size_t n_files;
	size_t n_read;	/* bytes read so far */
	bool broken;	/* libconfig could make nothing of it */
};

/*
 * Reads path and what it includes. Findings go to rep. ret_text is always filled and must be freed.
 * CW_OK also when there were errors (see broken); CW_E_NOT_FOUND, CW_E_DENIED, CW_E_INVALID,
 * CW_E_SYSTEM when the file itself can't be read; CW_E_NO_MEMORY.
 */
enum cw_rc cw_text_read(const char *path, struct cw_reporter *rep, struct cw_text *ret_text);

void cw_text_free(struct cw_text *text);

/* Where line (from 1) of the text came from; site is CW_REPORT_NO_SITE. */
struct cw_place cw_text_place(const struct cw_text *text, unsigned line);
bool cw_text_exposed(const struct cw_text *text, unsigned line);

#endif
