/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "conf/text_scan.h"

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

static void file_finding(struct cw_scan *scan, const struct cw_place *place, const char *value,
			 const char *reason, const char *remedy)
{
	cw_reporter_add(scan->rep, CW_CONF_ERROR, place, "", value, reason, remedy);
	scan->text->broken = true;
}

static enum cw_rc refuse_kind(struct cw_scan *scan, const struct cw_place *place, const char *value,
			      mode_t mode)
{
	const char *kind = S_ISDIR(mode) ? "is a folder" : S_ISFIFO(mode) ? "is a FIFO" :
			   S_ISCHR(mode) || S_ISBLK(mode) ? "is a device" : "is no regular file";

	file_finding(scan, place, value, kind, "name a regular file");
	return CW_E_INVALID;
}

/* Reads one whole file into malloc()ed memory. Says itself what is wrong. */
static enum cw_rc load(struct cw_scan *scan, const char *path, const struct cw_place *place,
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
			     err == ENOENT && !*value ?
			     "check the path, or begin with a copy of "
			     "/etc/causeway/causeway.conf.sample" :
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

static enum cw_rc add_file(struct cw_scan *scan, const char *path, const struct cw_place *from,
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
		cw_scan_file(scan, buf, len, file, folder, depth);
	}
	cw_secret_wipe(buf, len);
	free(buf);
	return rc;
}

/* @include "path" at the beginning of a line, as in libconfig's manual. */
void cw_scan_include(struct cw_scan_source *src)
{
	struct cw_scan *scan = src->scan;
	const char *p = src->s + strlen("@include");
	const char *begin, *end;
	char *path;

	while (p < src->end && (*p == ' ' || *p == '\t'))
		p++;
	begin = p < src->end && *p == '"' ? p + 1 : NULL;
	end = begin ? memchr(begin, '"', (size_t)(src->end - begin)) : NULL;
	if (!end || end == begin || end - begin > 1024 ||
	    memchr(begin, '\n', (size_t)(end - begin)) ||
	    memchr(begin, '\\', (size_t)(end - begin))) {
		cw_scan_error(src, "", "@include needs the path of a file",
			      "write @include \"path\"");
		cw_scan_skip_line(src);
		return;
	}
	if (src->depth == CW_TEXT_INCLUDE_DEPTH_MAX || scan->text->n_files == CW_TEXT_FILES_MAX) {
		cw_scan_error(src, "",
			      "too many files include each other; does one include itself?",
			      "at most 100 files, 8 deep");
		scan->stop = true;
		return;
	}
	if (asprintf(&path, "%s%.*s", *begin == '/' ? "" : src->folder, (int)(end - begin), begin) <
	    0) {
		scan->no_memory = scan->stop = true;
		return;
	}
	struct cw_place place = cw_scan_here(src);

	(void)add_file(scan, path, &place, src->folder, src->depth + 1);
	free(path);
	cw_scan_put(scan, '\n');
	cw_scan_begin_line(scan, src->file, src->line);
	src->s = end + 1;
}

enum cw_rc cw_text_read(const char *path, struct cw_reporter *rep, struct cw_text *ret_text)
{
	struct cw_scan *scan = calloc(1, sizeof(*scan));
	const char *slash = strrchr(path, '/');
	char *folder = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	enum cw_rc rc = CW_E_NO_MEMORY;

	*ret_text = (struct cw_text){ 0 };
	if (scan && folder) {
		*scan = (struct cw_scan){ .text = ret_text, .rep = rep };
		scan->scopes[0].index = -1;
		rc = add_file(scan, path, NULL, folder, 0);
		cw_scan_put(scan, '\n');
		cw_scan_end(scan);
		if (scan->no_memory)
			rc = CW_E_NO_MEMORY;
	}
	free(folder);
	free(scan);
	return rc;
}
