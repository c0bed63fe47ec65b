/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"

#define SYNTAX_ERRORS_MAX 20
#define NAME_MAX_LEN 64

#define QUOTES "a text stands in double quotes, as name = \"azure\""

enum token {
	TOK_START, /* nothing yet, or a value is complete */
	TOK_NAME,
	TOK_ASSIGN,
	TOK_STRING,
	TOK_VALUE,
	TOK_OPEN,
	TOK_COMMA,
};

/* One open bracket, or the file itself at the bottom. */
struct scope {
	char open;	    /* '{', '(', '[', or 0 */
	struct cw_place at;
	char name[NAME_MAX_LEN]; /* of the setting that it is the value of; "" for an element */
	int index;	    /* of the element that is being read */
	char (*members)[NAME_MAX_LEN];
	unsigned *member_lines;
	size_t n_members;
};

struct scan {
	struct cw_text *text;
	struct cw_reporter *rep;
	struct scope scopes[CW_TEXT_DEPTH_MAX + 1];
	size_t depth; /* open brackets */
	enum token prev;
	size_t comma;	       /* where in buf the last comma is, while prev is TOK_COMMA */
	size_t string_len;     /* of the strings that are joined so far */
	char name[NAME_MAX_LEN]; /* the last setting's */
	unsigned n_syntax, n_duplicates;
	bool no_memory, stop;
};

/* One file while it is gone through. */
struct source {
	struct scan *scan;
	const char *s, *end;
	const char *folder; /* of the main file, with the slash; "" for the current one */
	unsigned file, line, depth;
	bool line_failed; /* one finding a line is enough */
};

static void scan_file(struct scan *scan, const char *s, size_t len, unsigned file,
		      const char *folder, unsigned depth);

/* buf and lines */

static void put(struct scan *scan, char c)
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

static void put_n(struct scan *scan, const char *s, size_t n)
{
	while (n--)
		put(scan, *s++);
}

/* Notes where the line of buf that begins now comes from. */
static void begin_line(struct scan *scan, unsigned file, unsigned line)
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

struct cw_place cw_text_place(const struct cw_text *text, unsigned line)
{
	struct cw_place place = { .file = "", .site = CW_REPORT_NO_SITE, .order = line };

	if (text->n_files)
		place.file = text->files[0].name;
	if (line > 0 && line <= text->n_lines) {
		place.file = text->files[text->lines[line - 1].file].name;
		place.line = text->lines[line - 1].line;
	}
	return place;
}

bool cw_text_exposed(const struct cw_text *text, unsigned line)
{
	return line > 0 && line <= text->n_lines && text->files[text->lines[line - 1].file].exposed;
}

void cw_text_free(struct cw_text *text)
{
	if (text->buf)
		cw_secret_wipe(text->buf, text->size);
	free(text->buf);
	free(text->lines);
	for (size_t i = 0; i < text->n_files; i++)
		free(text->files[i].name);
	*text = (struct cw_text){ 0 };
}

/* Findings */

static struct cw_place here(const struct source *src)
{
	return (struct cw_place){
		.file = src->scan->text->files[src->file].name,
		.line = src->line,
		.order = (unsigned)src->scan->text->n_lines,
		.site = CW_REPORT_NO_SITE,
	};
}

static void syntax(struct source *src, const char *setting, const char *reason, const char *remedy)
{
	struct cw_place place = here(src);
	struct scan *scan = src->scan;

	scan->text->broken = true;
	if (src->line_failed)
		return;
	src->line_failed = true;
	cw_reporter_add(scan->rep, CW_CONF_ERROR, &place, setting, "", reason, remedy);
	if (++scan->n_syntax == SYNTAX_ERRORS_MAX)
		scan->stop = true;
}

/* "sites[1].tunnels[0].remote" for name in the scope that is open now. */
static void path_of(const struct scan *scan, const char *name, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 1; i <= scan->depth; i++) {
		const struct scope *sc = &scan->scopes[i], *up = &scan->scopes[i - 1];
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

static int site_of(const struct scan *scan)
{
	if (scan->depth >= 2 && strcmp(scan->scopes[1].name, "sites") == 0 &&
	    scan->scopes[1].open == '(')
		return scan->scopes[1].index;
	return CW_REPORT_NO_SITE;
}

/* Scopes */

static void free_scope(struct scope *sc)
{
	free(sc->members);
	free(sc->member_lines);
	*sc = (struct scope){ 0 };
}

static void element_begins(struct scan *scan)
{
	struct scope *sc = &scan->scopes[scan->depth];

	if ((sc->open == '(' || sc->open == '[') && scan->prev != TOK_STRING)
		sc->index++;
}

static void open_scope(struct source *src, char c)
{
	struct scan *scan = src->scan;
	struct scope *sc;

	if (scan->depth == CW_TEXT_DEPTH_MAX) {
		syntax(src, "", "brackets are nested more than 16 deep",
		       "close the brackets; a file needs no more than 5 levels");
		scan->stop = true;
		return;
	}
	element_begins(scan);
	sc = &scan->scopes[++scan->depth];
	*sc = (struct scope){ .open = c, .at = here(src), .index = -1 };
	if (scan->prev == TOK_ASSIGN)
		snprintf(sc->name, sizeof(sc->name), "%s", scan->name);
	scan->prev = TOK_OPEN;
	put(scan, c);
}

static void close_scope(struct source *src, char c)
{
	struct scan *scan = src->scan;
	struct scope *sc = &scan->scopes[scan->depth];
	char open = c == '}' ? '{' : c == ')' ? '(' : '[';
	char reason[300];

	/* After another error brackets are easily out of step. */
	if (scan->n_syntax && (scan->depth == 0 || sc->open != open)) {
		scan->stop = true;
		return;
	}
	if (scan->depth == 0) {
		snprintf(reason, sizeof(reason), "%c closes nothing", c);
		syntax(src, "", reason, "take it away, or open it before");
		scan->stop = true;
		return;
	}
	if (sc->open != open) {
		snprintf(reason, sizeof(reason), "%c stands where the %c of %.200s:%u should be closed",
			 c, sc->open, sc->at.file, sc->at.line);
		syntax(src, "", reason, "close the brackets in the order in which they were opened");
		scan->stop = true;
		return;
	}
	if (scan->prev == TOK_COMMA && c != '}')
		scan->text->buf[scan->comma] = ' ';
	free_scope(sc);
	scan->depth--;
	scan->prev = TOK_VALUE;
	put(scan, c);
}

/* Takes the name of a setting. Returns false when it is there already. */
static bool add_member(struct source *src, const char *name)
{
	struct scan *scan = src->scan;
	struct scope *sc = &scan->scopes[scan->depth];
	struct cw_place place = here(src);
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
		syntax(src, "", "more than 200 settings in one group",
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
	snprintf(sc->members[sc->n_members], NAME_MAX_LEN, "%s", name);
	sc->member_lines[sc->n_members++] = (unsigned)scan->text->n_lines;
	return true;
}

/* Tokens. Each is copied to buf, and src->s moves past it. */

static bool value_may_come(const struct scan *scan)
{
	char open = scan->scopes[scan->depth].open;

	if (open == '(' || open == '[')
		return scan->prev == TOK_OPEN || scan->prev == TOK_COMMA;
	return scan->prev == TOK_ASSIGN;
}

static void newline(struct source *src)
{
	put(src->scan, '\n');
	src->s++;
	src->line++;
	src->line_failed = false;
	begin_line(src->scan, src->file, src->line);
}

static void skip_line(struct source *src)
{
	while (src->s < src->end && *src->s != '\n')
		src->s++;
}

/* After a value that makes no sense: goes to where the next thing may begin. */
static void skip_value(struct source *src, enum token prev)
{
	while (src->s < src->end && !strchr(";,)]}\n", *src->s))
		src->s++;
	src->scan->prev = prev;
}

static void block_comment(struct source *src)
{
	struct source begin = *src;

	src->s += 2;
	put(src->scan, ' ');
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
	syntax(&begin, "", "a comment begins here that does not end", "close it with */");
	src->scan->stop = true;
}

/* Checks and copies one string. Nothing of it may go into a finding: it may be a key. */
static void string(struct source *src)
{
	struct scan *scan = src->scan;
	const char *begin = src->s++;

	if (scan->prev != TOK_STRING) {
		if (!value_may_come(scan))
			syntax(src, "", "a text stands where none can be",
			       "write NAME = \"text\"; a \" inside a text is written \\\"");
		element_begins(scan);
		scan->string_len = 0;
	}
	for (; src->s < src->end && *src->s != '"'; src->s++, scan->string_len++) {
		unsigned char c = (unsigned char)*src->s;
		size_t left = (size_t)(src->end - src->s);

		if (c == '\n' || c == '\r') {
			syntax(src, scan->name, "the text is not closed on its line",
			       "end it with \"; a \" inside it is written \\\"");
			scan->prev = TOK_STRING;
			return;
		}
		if (c < 0x20 || c == 0x7f)
			syntax(src, scan->name, "the text holds a control character",
			       "write it as \\t or \\xNN, or take it away");
		if (c != '\\')
			continue;
		if (left > 3 && src->s[1] == 'x' && isxdigit((unsigned char)src->s[2]) &&
		    isxdigit((unsigned char)src->s[3]) && !(src->s[2] == '0' && src->s[3] == '0')) {
			src->s += 3;
		} else if (left > 1 && strchr("\\\"nrtf", src->s[1])) {
			src->s++;
		} else {
			syntax(src, scan->name, "\\ stands before a character that it means nothing to",
			       "a \\ in a text is written \\\\; known are \\\\ \\\" \\n \\r \\t \\f and \\xNN, "
			       "not \\x00");
		}
	}
	if (src->s == src->end) {
		syntax(src, scan->name, "the text is not closed", "end it with \"");
		return;
	}
	src->s++;
	if (scan->string_len > CW_TEXT_STRING_MAX) {
		syntax(src, scan->name, "the text is longer than 4096 bytes", "");
		return;
	}
	put_n(scan, begin, (size_t)(src->s - begin));
	scan->prev = TOK_STRING;
}

/* Decimal or hexadecimal, "L" for 64 bits. Returns false where it is no integer. */
static bool integer(struct source *src, const char *word, size_t len)
{
	struct scan *scan = src->scan;
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
		syntax(src, scan->name, "a hexadecimal number has no sign", "");
		return true;
	}
	if (!hex && n - i > 1 && word[i] == '0') {
		syntax(src, scan->name, "a number does not begin with 0", "take the 0 away");
		return true;
	}
	if (n >= sizeof(text)) {
		syntax(src, scan->name, "the number does not fit 64 bits", "");
		return true;
	}
	memcpy(text, word, n);
	text[n] = '\0';
	errno = 0;
	(void)strtoll(text, &end, hex ? 16 : 10);
	if (errno || *end) {
		syntax(src, scan->name, "the number does not fit 64 bits", "");
		return true;
	}
	/* Without the suffix libconfig keeps the low 32 bits. */
	put_n(scan, word, n);
	put(scan, 'L');
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

static void number(struct source *src)
{
	struct scan *scan = src->scan;
	const char *word = src->s;
	size_t len = 0, dots = 0;

	while (src->s < src->end && (isalnum((unsigned char)*src->s) || strchr("+-._", *src->s))) {
		dots += *src->s == '.';
		src->s++;
		len++;
	}
	if (!value_may_come(scan)) {
		syntax(src, "", "a number stands where none can be", "write NAME = number;");
		skip_value(src, TOK_VALUE);
		return;
	}
	element_begins(scan);
	if (!integer(src, word, len)) {
		if (dots > 1 || !is_float(word, len)) {
			syntax(src, scan->name, "the value is neither a number nor a text in quotes",
			       QUOTES "; a number has digits alone");
			skip_value(src, TOK_VALUE);
			return;
		}
		put_n(scan, word, len);
	}
	scan->prev = TOK_VALUE;
}

static void word(struct source *src)
{
	struct scan *scan = src->scan;
	const char *begin = src->s;
	char name[NAME_MAX_LEN];
	size_t len;

	while (src->s < src->end && (isalnum((unsigned char)*src->s) || strchr("-_*", *src->s)))
		src->s++;
	len = (size_t)(src->s - begin);
	if (value_may_come(scan)) {
		if (!(len == 4 && strncasecmp(begin, "true", 4) == 0) &&
		    !(len == 5 && strncasecmp(begin, "false", 5) == 0)) {
			syntax(src, scan->name, "the value has no quotes",
			       QUOTES "; without quotes stand numbers, true and false");
			skip_value(src, TOK_VALUE);
			return;
		}
		element_begins(scan);
		put_n(scan, begin, len);
		scan->prev = TOK_VALUE;
		return;
	}
	if (scan->prev == TOK_NAME) {
		syntax(src, scan->name, "no = follows the name", "write NAME = value;");
		skip_value(src, TOK_VALUE);
		return;
	}
	if (len >= sizeof(name) || *begin == '*') {
		syntax(src, "", "this can't be the name of a setting",
		       "names have letters, digits and dashes");
		skip_value(src, TOK_VALUE);
		return;
	}
	if (strchr("([", scan->scopes[scan->depth].open) && scan->scopes[scan->depth].open) {
		syntax(src, scan->name, "a name stands where a comma or a closing bracket must be",
		       "the elements of a list are set apart by commas, settings stand in { }");
		skip_value(src, TOK_VALUE);
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
	scan->prev = TOK_NAME;
}

/* Files */

static void file_finding(struct scan *scan, const struct cw_place *place, const char *value,
			 const char *reason, const char *remedy)
{
	cw_reporter_add(scan->rep, CW_CONF_ERROR, place, "", value, reason, remedy);
	scan->text->broken = true;
}

static enum cw_rc refuse_kind(struct scan *scan, const struct cw_place *place, const char *value,
			      mode_t mode)
{
	const char *kind = S_ISDIR(mode) ? "is a folder" : S_ISFIFO(mode) ? "is a FIFO" :
			   S_ISCHR(mode) || S_ISBLK(mode) ? "is a device" : "is no regular file";

	file_finding(scan, place, value, kind, "name a regular file");
	return CW_E_INVALID;
}

/* Reads one whole file into malloc()ed memory. Says itself what is wrong. */
static enum cw_rc load(struct scan *scan, const char *path, const struct cw_place *place,
		       const char *value, char **ret_buf, size_t *ret_len, bool *ret_exposed)
{
	struct stat st;
	char *buf = NULL, text[200];
	size_t len = 0, room = CW_TEXT_SIZE_MAX - scan->text->n_read;
	enum cw_rc rc = CW_OK;
	/* Without O_NONBLOCK opening a FIFO would wait for ever. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0) {
		int err = errno;

		snprintf(text, sizeof(text), "can't be opened: %s", strerror(err));
		file_finding(scan, place, value, text,
			     err == ENOENT ? "check the path" :
			     err == EACCES ? "give causewayd the right to read it" : "");
		if (fd >= 0)
			close(fd);
		return cw_rc_from_errno(err);
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return refuse_kind(scan, place, value, st.st_mode);
	}
	if ((uintmax_t)st.st_size <= room)
		buf = malloc(room = (size_t)st.st_size + 1);
	while (buf && len < room) {
		ssize_t n = read(fd, buf + len, room - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			snprintf(text, sizeof(text), "can't be read: %s", strerror(errno));
			file_finding(scan, place, value, text, "");
			rc = CW_E_SYSTEM;
		}
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	if (!buf && (uintmax_t)st.st_size <= CW_TEXT_SIZE_MAX - scan->text->n_read) {
		scan->no_memory = scan->stop = true;
		return CW_E_NO_MEMORY;
	}
	if (!buf || len == room) {
		file_finding(scan, place, value, "is bigger than 4 MiB, its includes counted in",
			     "a configuration is far smaller; is it the right file?");
		rc = CW_E_INVALID;
	}
	if (rc != CW_OK) {
		if (buf)
			cw_secret_wipe(buf, len);
		free(buf);
		return rc;
	}
	scan->text->n_read += len;
	*ret_buf = buf;
	*ret_len = len;
	*ret_exposed = (st.st_mode & S_IROTH) != 0;
	return CW_OK;
}

static enum cw_rc add_file(struct scan *scan, const char *path, const struct cw_place *from,
			   const char *folder, unsigned depth)
{
	struct cw_text *t = scan->text;
	struct cw_place place = { .file = path, .site = CW_REPORT_NO_SITE };
	bool exposed = false;
	char *buf = NULL;
	size_t len = 0;
	unsigned file = (unsigned)t->n_files;
	enum cw_rc rc;

	if (from)
		place = *from;
	rc = load(scan, path, &place, from ? path : "", &buf, &len, &exposed);
	if (rc != CW_OK)
		return rc;
	t->files[file] = (struct cw_text_file){ .name = strdup(path), .exposed = exposed };
	if (!t->files[file].name) {
		scan->no_memory = scan->stop = true;
		rc = CW_E_NO_MEMORY;
	} else {
		t->n_files++;
		scan_file(scan, buf, len, file, folder, depth);
	}
	cw_secret_wipe(buf, len);
	free(buf);
	return rc;
}

/* @include "path" at the beginning of a line, as in libconfig's manual. */
static void include(struct source *src)
{
	struct scan *scan = src->scan;
	const char *p = src->s + strlen("@include");
	const char *begin, *end;
	char *path;

	while (p < src->end && (*p == ' ' || *p == '\t'))
		p++;
	begin = p < src->end && *p == '"' ? p + 1 : NULL;
	end = begin ? memchr(begin, '"', (size_t)(src->end - begin)) : NULL;
	if (!end || end == begin || end - begin > 1024 || memchr(begin, '\n', (size_t)(end - begin)) ||
	    memchr(begin, '\\', (size_t)(end - begin))) {
		syntax(src, "", "@include needs the path of a file", "write @include \"path\"");
		skip_line(src);
		return;
	}
	if (src->depth == CW_TEXT_INCLUDE_DEPTH_MAX || scan->text->n_files == CW_TEXT_FILES_MAX) {
		syntax(src, "", "too many files include each other; does one include itself?",
		       "at most 100 files, 8 deep");
		scan->stop = true;
		return;
	}
	if (asprintf(&path, "%s%.*s", *begin == '/' ? "" : src->folder, (int)(end - begin), begin) < 0) {
		scan->no_memory = scan->stop = true;
		return;
	}
	struct cw_place place = here(src);

	(void)add_file(scan, path, &place, src->folder, src->depth + 1);
	free(path);
	put(scan, '\n');
	begin_line(scan, src->file, src->line);
	src->s = end + 1;
}

static void punctuation(struct source *src)
{
	struct scan *scan = src->scan;
	char c = *src->s;

	switch (c) {
	case '{':
	case '(':
	case '[':
		if (!value_may_come(scan) || (c == '{' && scan->scopes[scan->depth].open == '['))
			syntax(src, "", "a bracket opens where no value can be",
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
		if (scan->prev != TOK_NAME) {
			syntax(src, "", "no name stands before the =", "write NAME = value;");
			skip_value(src, TOK_VALUE);
			return;
		}
		scan->prev = TOK_ASSIGN;
		put(scan, c);
		break;
	case ',':
		if (scan->prev != TOK_VALUE && scan->prev != TOK_STRING)
			syntax(src, scan->name, "no value stands before the comma", "");
		scan->prev = TOK_COMMA;
		scan->comma = scan->text->len;
		put(scan, c);
		break;
	case ';':
		if (scan->prev == TOK_ASSIGN)
			syntax(src, scan->name, "no value stands after the =", "write NAME = value;");
		scan->prev = TOK_START;
		put(scan, c);
		break;
	default:
		/* The character may be a part of a key that lacks its quotes: it is not shown. */
		syntax(src, value_may_come(scan) || scan->prev == TOK_VALUE ? scan->name : "",
		       "a character stands where it means nothing", QUOTES);
		skip_value(src, TOK_VALUE);
		return;
	}
	src->s++;
}

static bool line_begins(const struct source *src, const char *start)
{
	const char *p = src->s;

	while (p > start && (p[-1] == ' ' || p[-1] == '\t'))
		p--;
	return p == start || p[-1] == '\n';
}

static void scan_file(struct scan *scan, const char *s, size_t len, unsigned file,
		      const char *folder, unsigned depth)
{
	struct source src = { .scan = scan, .s = s, .end = s + len, .folder = folder,
			      .file = file, .line = 1, .depth = depth };
	static const char bom[] = "\xef\xbb\xbf";

	begin_line(scan, file, 1);
	if (len >= 3 && memcmp(s, bom, 3) == 0) {
		syntax(&src, "", "the file begins with a byte order mark",
		       "save it as plain UTF-8, without BOM");
		src.s += 3;
	}
	while (src.s < src.end && !scan->stop) {
		unsigned char c = (unsigned char)*src.s;
		size_t left = (size_t)(src.end - src.s);

		if (c == '\n') {
			newline(&src);
		} else if (c == ' ' || c == '\t' || c == '\r') {
			put(scan, ' ');
			src.s++;
		} else if (c < 0x20 || c == 0x7f) {
			syntax(&src, "", c ? "a control character stands in the file" :
					     "a zero byte stands in the file",
			       "is it a text file?");
			src.s++;
		} else if (c == '#' || (c == '/' && left > 1 && src.s[1] == '/')) {
			skip_line(&src);
		} else if (c == '/' && left > 1 && src.s[1] == '*') {
			block_comment(&src);
		} else if (c == '@' && left > 8 && memcmp(src.s, "@include", 8) == 0 &&
			   line_begins(&src, s)) {
			include(&src);
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

enum cw_rc cw_text_read(const char *path, struct cw_reporter *rep, struct cw_text *ret_text)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	const char *slash = strrchr(path, '/');
	char *folder = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	enum cw_rc rc = CW_E_NO_MEMORY;

	*ret_text = (struct cw_text){ 0 };
	if (scan && folder) {
		*scan = (struct scan){ .text = ret_text, .rep = rep };
		scan->scopes[0].index = -1;
		rc = add_file(scan, path, NULL, folder, 0);
		put(scan, '\n');
		if (rc == CW_OK && !scan->stop && !scan->n_syntax && scan->depth) {
			const struct scope *sc = &scan->scopes[scan->depth];
			char reason[64];

			snprintf(reason, sizeof(reason), "the %c that opens here is never closed",
				 sc->open);
			cw_reporter_add(rep, CW_CONF_ERROR, &sc->at, sc->name, "", reason, "");
			ret_text->broken = true;
		}
		while (scan->depth)
			free_scope(&scan->scopes[scan->depth--]);
		free_scope(&scan->scopes[0]);
		if (scan->no_memory)
			rc = CW_E_NO_MEMORY;
	}
	free(folder);
	free(scan);
	return rc;
}
