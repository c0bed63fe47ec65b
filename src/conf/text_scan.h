/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text_scan: goes over the text of the files, token by token. Inside of text.c's work only: that
 * one opens files, this one reads what is in them and calls it back for @include.
 */
#ifndef CW_CONF_TEXT_SCAN_H
#define CW_CONF_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "conf/text.h"

#define CW_SCAN_NAME_SIZE 64 /* of a setting's name, with the closing zero */

enum cw_token {
	CW_TOKEN_START, /* nothing yet, or a value is complete */
	CW_TOKEN_NAME,
	CW_TOKEN_ASSIGN,
	CW_TOKEN_STRING,
	CW_TOKEN_VALUE,
	CW_TOKEN_OPEN,
	CW_TOKEN_COMMA,
};

/* One open bracket, or the file itself at the bottom. */
struct cw_scan_scope {
	char open;	    /* '{', '(', '[', or 0 */
	struct cw_place at;
	char name[CW_SCAN_NAME_SIZE]; /* of the setting that it is the value of; "" for an element
				       */
	int index;	    /* of the element that is being read */
	char (*members)[CW_SCAN_NAME_SIZE];
	unsigned *member_lines;
	size_t n_members;
};

struct cw_scan {
	struct cw_text *text;
	struct cw_reporter *rep;
	struct cw_scan_scope scopes[CW_TEXT_DEPTH_MAX + 1];
	size_t depth; /* open brackets */
	enum cw_token prev;
	size_t comma;	       /* where in buf the last comma is, while prev is CW_TOKEN_COMMA */
	size_t string_len;     /* of the strings that are joined so far */
	char name[CW_SCAN_NAME_SIZE]; /* the last setting's */
	unsigned n_syntax, n_duplicates;
	bool no_memory, stop;
};

/* One file while it is gone through. */
struct cw_scan_source {
	struct cw_scan *scan;
	const char *s, *end;
	const char *folder; /* of the main file, with the slash; "" for the current one */
	unsigned file, line, depth;
	bool line_failed; /* one finding a line is enough */
};

/* One more byte of the joined text. */
void cw_scan_put(struct cw_scan *scan, char c);
/* Notes where the line of the joined text that begins now comes from. */
void cw_scan_begin_line(struct cw_scan *scan, unsigned file, unsigned line);

struct cw_place cw_scan_here(const struct cw_scan_source *src);
/* A finding that leaves libconfig nothing to do; one a line. Quotes nothing of the text. */
void cw_scan_error(struct cw_scan_source *src, const char *setting, const char *reason,
		   const char *remedy);

/* Moves to the end of the line. */
void cw_scan_skip_line(struct cw_scan_source *src);

/* Goes over one file's text. */
void cw_scan_file(struct cw_scan *scan, const char *s, size_t len, unsigned file,
		  const char *folder, unsigned depth);
/* After the last file: what is still open. */
void cw_scan_end(struct cw_scan *scan);

/* In text.c: src->s stands at "@include"; takes it and goes over the file that it names. */
void cw_scan_include(struct cw_scan_source *src);

#endif
