/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/text_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"

#define SYNTAX_ERRORS_MAX 20

#define QUOTES "a text stands in double quotes, as name = \"azure\""

/* buf and lines */

void cw_scan_put(struct cw_scan *scan, char c)
{
	struct cw_text *t = scan->text;

	if (t->len + 1 >= t->size) {
		/* realloc() would leave a copy of a key behind. */
		size_t size = t->size ? t->size * 2 : 4096;
		char *buf = malloc(size);

		if (!buf) {
			scan->no_memory = scan->stop = true;
			return;
		}
		if (t->buf) {
			memcpy(buf, t->buf, t->len);
			cw_secret_wipe(t->buf, t->size);
			free(t->buf);
		}
		t->buf = buf;
		t->size = size;
	}
	t->buf[t->len++] = c;
	t->buf[t->len] = '\0';
}

static void put_n(struct cw_scan *scan, const char *s, size_t n)
{
	while (n--)
		cw_scan_put(scan, *s++);
}

/* Notes where the line of buf that begins now comes from. */
void cw_scan_begin_line(struct cw_scan *scan, unsigned file, unsigned line)
{
	struct cw_text *t = scan->text;

	if (t->n_lines == t->lines_size) {
		size_t size = t->lines_size ? t->lines_size * 2 : 256;
		struct cw_text_line *v = reallocarray(t->lines, size, sizeof(*v));

		if (!v) {
			scan->no_memory = scan->stop = true;
			return;
		}
		t->lines = v;
		t->lines_size = size;
	}
	t->lines[t->n_lines++] = (struct cw_text_line){ file, line };
}

/* Findings */

struct cw_place cw_scan_here(const struct cw_scan_source *src)
{
	return (struct cw_place){
		.file = src->scan->text->files[src->file].name,
		.line = src->line,
		.order = (unsigned)src->scan->text->n_lines,
		.site = CW_REPORT_NO_SITE,
	};
}

void cw_scan_error(struct cw_scan_source *src, const char *setting, const char *reason,
		   const char *remedy)
{
	struct cw_place place = cw_scan_here(src);
	struct cw_scan *scan = src->scan;

	scan->text->broken = true;
	if (src->line_failed)
		return;
	src->line_failed = true;
	cw_reporter_add(scan->rep, CW_CONF_ERROR, &place, setting, "", reason, remedy);
	if (++scan->n_syntax == SYNTAX_ERRORS_MAX)
		scan->stop = true;
}

/* "sites[1].tunnels[0].remote" for name in the scope that is open now. */
static void path_of(const struct cw_scan *scan, const char *name, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 1; i <= scan->depth; i++) {
		const struct cw_scan_scope *sc = &scan->scopes[i], *up = &scan->scopes[i - 1];
		int k;

		if (*sc->name)
			k = snprintf(buf + n, size - n, "%s%s", n ? "." : "", sc->name);
		else
			k = snprintf(buf + n, size - n, "[%d]", up->index);
		if (k < 0 || (size_t)k >= size - n)
			return;
		n += (size_t)k;
	}
	snprintf(buf + n, size - n, "%s%s", n ? "." : "", name);
}

static int site_of(const struct cw_scan *scan)
{
	if (scan->depth >= 2 && strcmp(scan->scopes[1].name, "sites") == 0 &&
	    scan->scopes[1].open == '(')
		return scan->scopes[1].index;
	return CW_REPORT_NO_SITE;
}

/* Scopes */

static void free_scope(struct cw_scan_scope *sc)
{
	free(sc->members);
	free(sc->member_lines);
	*sc = (struct cw_scan_scope){ 0 };
}

static void element_begins(struct cw_scan *scan)
{
	struct cw_scan_scope *sc = &scan->scopes[scan->depth];

	if ((sc->open == '(' || sc->open == '[') && scan->prev != CW_TOKEN_STRING)
		sc->index++;
}

static void open_scope(struct cw_scan_source *src, char c)
{
	struct cw_scan *scan = src->scan;
	struct cw_scan_scope *sc;

	if (scan->depth == CW_TEXT_DEPTH_MAX) {
		cw_scan_error(src, "", "brackets are nested more than 16 deep",
		       "close the brackets; a file needs no more than 5 levels");
		scan->stop = true;
		return;
	}
	element_begins(scan);
	sc = &scan->scopes[++scan->depth];
	*sc = (struct cw_scan_scope){ .open = c, .at = cw_scan_here(src), .index = -1 };
	if (scan->prev == CW_TOKEN_ASSIGN)
		snprintf(sc->name, sizeof(sc->name), "%s", scan->name);
	scan->prev = CW_TOKEN_OPEN;
	cw_scan_put(scan, c);
}

static void close_scope(struct cw_scan_source *src, char c)
{
	struct cw_scan *scan = src->scan;
	struct cw_scan_scope *sc = &scan->scopes[scan->depth];
	char open = c == '}' ? '{' : c == ')' ? '(' : '[';
	char reason[300];

	/* After another error brackets are easily out of step. */
	if (scan->n_syntax && (scan->depth == 0 || sc->open != open)) {
		scan->stop = true;
		return;
	}
	if (scan->depth == 0) {
		snprintf(reason, sizeof(reason), "%c closes nothing", c);
		cw_scan_error(src, "", reason, "take it away, or open it before");
		scan->stop = true;
		return;
	}
	if (sc->open != open) {
		snprintf(reason, sizeof(reason),
			 "%c stands where the %c of %.200s:%u should be closed", c, sc->open,
			 sc->at.file, sc->at.line);
		cw_scan_error(src, "", reason,
			      "close the brackets in the order in which they were opened");
		scan->stop = true;
		return;
	}
	if (scan->prev == CW_TOKEN_COMMA && c != '}')
		scan->text->buf[scan->comma] = ' ';
	free_scope(sc);
	scan->depth--;
	scan->prev = CW_TOKEN_VALUE;
	cw_scan_put(scan, c);
}

/* Takes the name of a setting. Returns false when it is there already. */
static bool add_member(struct cw_scan_source *src, const char *name)
{
	struct cw_scan *scan = src->scan;
	struct cw_scan_scope *sc = &scan->scopes[scan->depth];
	struct cw_place place = cw_scan_here(src);
	char path[256], reason[300];

	for (size_t i = 0; i < sc->n_members; i++) {
		struct cw_place first = cw_text_place(scan->text, sc->member_lines[i]);

		if (strcmp(sc->members[i], name) != 0)
			continue;
		place.site = site_of(scan);
		path_of(scan, name, path, sizeof(path));
		snprintf(reason, sizeof(reason), "is set a second time; the first is at %.200s:%u",
			 first.file, first.line);
		cw_reporter_add(scan->rep, CW_CONF_ERROR, &place, path, "", reason,
				"take one of them away");
		return false;
	}
	if (sc->n_members == CW_TEXT_MEMBERS_MAX) {
		cw_scan_error(src, "", "more than 200 settings in one group",
		       "sites and tunnels are lists, ( { ... }, { ... } )");
		scan->stop = true;
		return true;
	}
	if (!sc->members) {
		sc->members = calloc(CW_TEXT_MEMBERS_MAX, sizeof(*sc->members));
		sc->member_lines = calloc(CW_TEXT_MEMBERS_MAX, sizeof(*sc->member_lines));
		if (!sc->members || !sc->member_lines) {
			scan->no_memory = scan->stop = true;
			return true;
		}
	}
	snprintf(sc->members[sc->n_members], CW_SCAN_NAME_SIZE, "%s", name);
	sc->member_lines[sc->n_members++] = (unsigned)scan->text->n_lines;
	return true;
}

/* Tokens. Each is copied to buf, and src->s moves past it. */

static bool value_may_come(const struct cw_scan *scan)
{
	char open = scan->scopes[scan->depth].open;

	if (open == '(' || open == '[')
		return scan->prev == CW_TOKEN_OPEN || scan->prev == CW_TOKEN_COMMA;
	return scan->prev == CW_TOKEN_ASSIGN;
}

static void newline(struct cw_scan_source *src)
{
	cw_scan_put(src->scan, '\n');
	src->s++;
	src->line++;
	src->line_failed = false;
	cw_scan_begin_line(src->scan, src->file, src->line);
}

void cw_scan_skip_line(struct cw_scan_source *src)
{
	while (src->s < src->end && *src->s != '\n')
		src->s++;
}

/* After a value that makes no sense: goes to where the next thing may begin. */
static void skip_value(struct cw_scan_source *src, enum cw_token prev)
{
	while (src->s < src->end && !strchr(";,)]}\n", *src->s))
		src->s++;
	src->scan->prev = prev;
}

static void block_comment(struct cw_scan_source *src)
{
	struct cw_scan_source begin = *src;

	src->s += 2;
	cw_scan_put(src->scan, ' ');
	while (src->s < src->end) {
		if (src->s[0] == '*' && src->s + 1 < src->end && src->s[1] == '/') {
			src->s += 2;
			return;
		}
		if (*src->s == '\n')
			newline(src);
		else
			src->s++;
	}
	cw_scan_error(&begin, "", "a comment begins here that does not end", "close it with */");
	src->scan->stop = true;
}

/* Checks and copies one string. Nothing of it may go into a finding: it may be a key. */
static void string(struct cw_scan_source *src)
{
	struct cw_scan *scan = src->scan;
	const char *begin = src->s++;

	if (scan->prev != CW_TOKEN_STRING) {
		if (!value_may_come(scan))
			cw_scan_error(src, "", "a text stands where none can be",
			       "write NAME = \"text\"; a \" inside a text is written \\\"");
		element_begins(scan);
		scan->string_len = 0;
	}
	for (; src->s < src->end && *src->s != '"'; src->s++, scan->string_len++) {
		unsigned char c = (unsigned char)*src->s;
		size_t left = (size_t)(src->end - src->s);

		if (c == '\n' || c == '\r') {
			cw_scan_error(src, scan->name, "the text is not closed on its line",
			       "end it with \"; a \" inside it is written \\\"");
			scan->prev = CW_TOKEN_STRING;
			return;
		}
		if (c < 0x20 || c == 0x7f)
			cw_scan_error(src, scan->name, "the text holds a control character",
			       "write it as \\t or \\xNN, or take it away");
		if (c != '\\')
			continue;
		if (left > 3 && src->s[1] == 'x' && isxdigit((unsigned char)src->s[2]) &&
		    isxdigit((unsigned char)src->s[3]) && !(src->s[2] == '0' && src->s[3] == '0')) {
			src->s += 3;
		} else if (left > 1 && strchr("\\\"nrtf", src->s[1])) {
			src->s++;
		} else {
			cw_scan_error(src, scan->name,
				      "\\ stands before a character that it means nothing to",
				      "a \\ in a text is written \\\\; known are \\\\ \\\" \\n \\r "
				      "\\t \\f and \\xNN, not \\x00");
		}
	}
	if (src->s == src->end) {
		cw_scan_error(src, scan->name, "the text is not closed", "end it with \"");
		return;
	}
	src->s++;
	if (scan->string_len > CW_TEXT_STRING_MAX) {
		cw_scan_error(src, scan->name, "the text is longer than 4096 bytes", "");
		return;
	}
	put_n(scan, begin, (size_t)(src->s - begin));
	scan->prev = CW_TOKEN_STRING;
}

/* Decimal or hexadecimal, "L" for 64 bits. Returns false where it is no integer. */
static bool integer(struct cw_scan_source *src, const char *word, size_t len)
{
	struct cw_scan *scan = src->scan;
	bool suffix = len > 1 && word[len - 1] == 'L', hex;
	size_t n = suffix ? len - 1 : len, i;
	char text[32];
	char *end;

	if (suffix && n > 1 && word[n - 1] == 'L')
		n--;
	i = word[0] == '+' || word[0] == '-';
	hex = n - i > 2 && word[i] == '0' && (word[i + 1] | 0x20) == 'x';
	if (n == i)
		return false;
	for (size_t k = hex ? i + 2 : i; k < n; k++) {
		if (hex ? !isxdigit((unsigned char)word[k]) : !isdigit((unsigned char)word[k]))
			return false;
	}
	if (hex && i) {
		cw_scan_error(src, scan->name, "a hexadecimal number has no sign", "");
		return true;
	}
	if (!hex && n - i > 1 && word[i] == '0') {
		cw_scan_error(src, scan->name, "a number does not begin with 0", "take the 0 away");
		return true;
	}
	if (n >= sizeof(text)) {
		cw_scan_error(src, scan->name, "the number does not fit 64 bits", "");
		return true;
	}
	memcpy(text, word, n);
	text[n] = '\0';
	errno = 0;
	(void)strtoll(text, &end, hex ? 16 : 10);
	if (errno || *end) {
		cw_scan_error(src, scan->name, "the number does not fit 64 bits", "");
		return true;
	}
	/* Without the suffix libconfig keeps the low 32 bits. */
	put_n(scan, word, n);
	cw_scan_put(scan, 'L');
	return true;
}

static bool is_float(const char *word, size_t len)
{
	size_t digits = 0, i = word[0] == '+' || word[0] == '-';

	for (; i < len && (isdigit((unsigned char)word[i]) || word[i] == '.'); i++)
		digits += word[i] != '.';
	if (digits && i < len && (word[i] | 0x20) == 'e') {
		i++;
		i += i < len && (word[i] == '+' || word[i] == '-');
		while (i < len && isdigit((unsigned char)word[i]))
			i++;
	}
	return digits && i == len;
}

static void number(struct cw_scan_source *src)
{
	struct cw_scan *scan = src->scan;
	const char *word = src->s;
	size_t len = 0, dots = 0;

	while (src->s < src->end && (isalnum((unsigned char)*src->s) || strchr("+-._", *src->s))) {
		dots += *src->s == '.';
		src->s++;
		len++;
	}
	if (!value_may_come(scan)) {
		cw_scan_error(src, "", "a number stands where none can be", "write NAME = number;");
		skip_value(src, CW_TOKEN_VALUE);
		return;
	}
	element_begins(scan);
	if (!integer(src, word, len)) {
		if (dots > 1 || !is_float(word, len)) {
			cw_scan_error(src, scan->name,
				      "the value is neither a number nor a text in quotes",
				      QUOTES "; a number has digits alone");
			skip_value(src, CW_TOKEN_VALUE);
			return;
		}
		put_n(scan, word, len);
	}
	scan->prev = CW_TOKEN_VALUE;
}

static void word(struct cw_scan_source *src)
{
	struct cw_scan *scan = src->scan;
	const char *begin = src->s;
	char name[CW_SCAN_NAME_SIZE];
	size_t len;

	while (src->s < src->end && (isalnum((unsigned char)*src->s) || strchr("-_*", *src->s)))
		src->s++;
	len = (size_t)(src->s - begin);
	if (value_may_come(scan)) {
		if (!(len == 4 && strncasecmp(begin, "true", 4) == 0) &&
		    !(len == 5 && strncasecmp(begin, "false", 5) == 0)) {
			cw_scan_error(src, scan->name, "the value has no quotes",
			       QUOTES "; without quotes stand numbers, true and false");
			skip_value(src, CW_TOKEN_VALUE);
			return;
		}
		element_begins(scan);
		put_n(scan, begin, len);
		scan->prev = CW_TOKEN_VALUE;
		return;
	}
	if (scan->prev == CW_TOKEN_NAME) {
		cw_scan_error(src, scan->name, "no = follows the name", "write NAME = value;");
		skip_value(src, CW_TOKEN_VALUE);
		return;
	}
	if (len >= sizeof(name) || *begin == '*') {
		cw_scan_error(src, "", "this can't be the name of a setting",
		       "names have letters, digits and dashes");
		skip_value(src, CW_TOKEN_VALUE);
		return;
	}
	if (strchr("([", scan->scopes[scan->depth].open) && scan->scopes[scan->depth].open) {
		cw_scan_error(
			src, scan->name, "a name stands where a comma or a closing bracket must be",
			"the elements of a list are set apart by commas, settings stand in { }");
		skip_value(src, CW_TOKEN_VALUE);
		return;
	}
	memcpy(name, begin, len);
	name[len] = '\0';
	memcpy(scan->name, name, len + 1);
	if (!add_member(src, name)) {
		char rename[32];
		int n = snprintf(rename, sizeof(rename), CW_TEXT_DUPLICATE_PREFIX "%u",
				 scan->n_duplicates++);

		put_n(scan, rename, (size_t)n);
	} else {
		put_n(scan, name, len);
	}
	scan->prev = CW_TOKEN_NAME;
}

static void punctuation(struct cw_scan_source *src)
{
	struct cw_scan *scan = src->scan;
	char c = *src->s;

	switch (c) {
	case '{':
	case '(':
	case '[':
		if (!value_may_come(scan) || (c == '{' && scan->scopes[scan->depth].open == '['))
			cw_scan_error(src, "", "a bracket opens where no value can be",
			       "write NAME = ( { ... }, { ... } ) or NAME = { ... }");
		open_scope(src, c);
		break;
	case '}':
	case ')':
	case ']':
		close_scope(src, c);
		break;
	case '=':
	case ':':
		if (scan->prev != CW_TOKEN_NAME) {
			cw_scan_error(src, "",
				      "no name stands before the =", "write NAME = value;");
			skip_value(src, CW_TOKEN_VALUE);
			return;
		}
		scan->prev = CW_TOKEN_ASSIGN;
		cw_scan_put(scan, c);
		break;
	case ',':
		if (scan->prev != CW_TOKEN_VALUE && scan->prev != CW_TOKEN_STRING)
			cw_scan_error(src, scan->name, "no value stands before the comma", "");
		scan->prev = CW_TOKEN_COMMA;
		scan->comma = scan->text->len;
		cw_scan_put(scan, c);
		break;
	case ';':
		if (scan->prev == CW_TOKEN_ASSIGN)
			cw_scan_error(src, scan->name,
				      "no value stands after the =", "write NAME = value;");
		scan->prev = CW_TOKEN_START;
		cw_scan_put(scan, c);
		break;
	default:
		/* The character may be a part of a key that lacks its quotes: it is not shown. */
		cw_scan_error(
			src, value_may_come(scan) || scan->prev == CW_TOKEN_VALUE ? scan->name : "",
			"a character stands where it means nothing", QUOTES);
		skip_value(src, CW_TOKEN_VALUE);
		return;
	}
	src->s++;
}

static bool line_begins(const struct cw_scan_source *src, const char *start)
{
	const char *p = src->s;

	while (p > start && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p == start || p[-1] == '\n';
}

void cw_scan_file(struct cw_scan *scan, const char *s, size_t len, unsigned file,
		      const char *folder, unsigned depth)
{
	struct cw_scan_source src = { .scan = scan, .s = s, .end = s + len, .folder = folder,
			      .file = file, .line = 1, .depth = depth };
	static const char bom[] = "\xef\xbb\xbf";

	cw_scan_begin_line(scan, file, 1);
	if (len >= 3 && memcmp(s, bom, 3) == 0) {
		cw_scan_error(&src, "", "the file begins with a byte order mark",
		       "save it as plain UTF-8, without BOM");
		src.s += 3;
	}
	while (src.s < src.end && !scan->stop) {
		unsigned char c = (unsigned char)*src.s;
		size_t left = (size_t)(src.end - src.s);

		if (c == '\n') {
			newline(&src);
		} else if (c == ' ' || c == '\t' || c == '\r') {
			cw_scan_put(scan, ' ');
			src.s++;
		} else if (c < 0x20 || c == 0x7f) {
			cw_scan_error(&src, "", c ? "a control character stands in the file" :
					     "a zero byte stands in the file",
			       "is it a text file?");
			src.s++;
		} else if (c == '#' || (c == '/' && left > 1 && src.s[1] == '/')) {
			cw_scan_skip_line(&src);
		} else if (c == '/' && left > 1 && src.s[1] == '*') {
			block_comment(&src);
		} else if (c == '@' && left > 8 && memcmp(src.s, "@include", 8) == 0 &&
			   line_begins(&src, s)) {
			cw_scan_include(&src);
		} else if (c == '"') {
			string(&src);
		} else if (isdigit(c) || ((c == '+' || c == '-' || c == '.') && left > 1 &&
					  (isdigit((unsigned char)src.s[1]) || src.s[1] == '.'))) {
			number(&src);
		} else if (isalpha(c) || c == '*') {
			word(&src);
		} else {
			punctuation(&src);
		}
	}
}

void cw_scan_end(struct cw_scan *scan)
{
	if (!scan->stop && !scan->n_syntax && scan->depth) {
		const struct cw_scan_scope *sc = &scan->scopes[scan->depth];
		char reason[64];

		snprintf(reason, sizeof(reason), "the %c that opens here is never closed",
			 sc->open);
		cw_reporter_add(scan->rep, CW_CONF_ERROR, &sc->at, sc->name, "", reason, "");
		scan->text->broken = true;
	}
	while (scan->depth)
		free_scope(&scan->scopes[scan->depth--]);
	free_scope(&scan->scopes[0]);
}
