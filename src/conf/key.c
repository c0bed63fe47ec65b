/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSUAL_MAX 8

static enum cw_rc fail(struct cw_key_fault *fault, enum cw_rc rc, const char *reason,
		       const char *remedy)
{
	*fault = (struct cw_key_fault){ reason, remedy };
	return rc;
}

enum cw_rc cw_key_check(const uint8_t *bytes, size_t len, struct cw_key_fault *reterr)
{
	static const uint8_t bom[] = { 0xef, 0xbb, 0xbf };

	if (len == 0)
		return fail(reterr, CW_E_INVALID, "is empty", "write the key that the peer has");
	if (len >= sizeof(bom) && memcmp(bytes, bom, sizeof(bom)) == 0)
		return fail(reterr, CW_E_INVALID, "begins with a byte order mark",
			    "save it as plain text, without BOM");
	if (len > CW_KEY_MAX)
		return fail(reterr, CW_E_TOO_BIG, "is longer than 1024 bytes",
			    "Azure takes up to 128 characters, AWS up to 64");
	if (memchr(bytes, '\0', len))
		return fail(reterr, CW_E_INVALID, "holds a zero byte",
			    "is it saved as UTF-16? save it as plain text");
	if (memchr(bytes, '\n', len) || memchr(bytes, '\r', len))
		return fail(reterr, CW_E_INVALID, "holds a line end",
			    "the key is one line; only the line end after it is taken off");
	return CW_OK;
}

static enum cw_rc check_file(const struct stat *st, struct cw_key_fault *fault)
{
	if (S_ISDIR(st->st_mode))
		return fail(fault, CW_E_INVALID, "is a folder", "name a regular file");
	if (!S_ISREG(st->st_mode))
		return fail(fault, CW_E_INVALID, "is a FIFO, a device or a socket",
			    "name a regular file");
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return fail(fault, CW_E_INVALID, "belongs to another user",
			    "chown root FILE");
	if (st->st_mode & S_IRWXO)
		return fail(fault, CW_E_INVALID, "is open to everybody",
			    "chmod 0600 FILE, and change the key if others may have read it");
	if (st->st_mode & (S_IWGRP | S_IXGRP))
		return fail(fault, CW_E_INVALID, "may be changed by its group",
			    "chmod 0600 FILE, or 0640 to let the group read it");
	/* A key and its line end fit in less, so what is bigger is some other file. */
	if (st->st_size > CW_KEY_MAX + 2)
		return fail(fault, CW_E_TOO_BIG, "is bigger than 1 KiB",
			    "it holds the key alone; is it the right file?");
	return CW_OK;
}

static size_t without_line_end(const uint8_t *bytes, size_t len)
{
	if (len && bytes[len - 1] == '\n') {
		len--;
		if (len && bytes[len - 1] == '\r')
			len--;
	}
	return len;
}

enum cw_rc cw_key_read(const char *path, struct cw_secret **ret_key, struct cw_key_fault *reterr)
{
	uint8_t buf[CW_KEY_MAX + 3];
	size_t len = 0;
	struct stat st;
	enum cw_rc rc;
	/* Without O_NONBLOCK opening a FIFO would wait for ever. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		if (err == ENOENT)
			return fail(
				reterr, CW_E_NOT_FOUND, "does not exist",
				"a relative path begins at the folder of the configuration file");
		if (err == EACCES)
			return fail(reterr, CW_E_DENIED, "may not be read",
				    "chown root FILE; the folders above it count too");
		return fail(reterr, CW_E_SYSTEM, "can't be opened", "check the path");
	}
	rc = check_file(&st, reterr);
	while (rc == CW_OK && len < sizeof(buf)) {
		ssize_t n = read(fd, buf + len, sizeof(buf) - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = fail(reterr, CW_E_SYSTEM, "can't be read", "");
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	if (rc == CW_OK) {
		len = without_line_end(buf, len);
		rc = cw_key_check(buf, len, reterr);
	}
	if (rc == CW_OK) {
		*ret_key = cw_secret_new(buf, len);
		if (!*ret_key)
			rc = fail(reterr, CW_E_NO_MEMORY, "memory is out", "");
	}
	cw_secret_wipe(buf, sizeof(buf));
	return rc;
}

/* One character of UTF-8 (RFC 3629 4). Returns its length, or 0. */
static size_t utf8_decode(const uint8_t *s, size_t left, uint32_t *ret_code)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 :
		   s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
	static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;

	if (n == 0 || n > left)
		return 0;
	code = s[0] & mask[n];
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

bool cw_key_unusual(const uint8_t *bytes, size_t len, char *ret_text, size_t size)
{
	uint32_t seen[UNUSUAL_MAX];
	size_t n_seen = 0, n = 0, step;

	ret_text[0] = '\0';
	for (size_t i = 0; i < len && n_seen < UNUSUAL_MAX; i += step) {
		uint32_t code = 0;
		bool known = false, text;
		int k;

		step = utf8_decode(bytes + i, len - i, &code);
		text = step > 0;
		if (!text) {
			step = 1;
			code = UINT32_C(0x80000000) | bytes[i];
		} else if (code >= 0x20 && code < 0x7f) {
			continue;
		}
		for (size_t j = 0; j < n_seen; j++)
			known |= seen[j] == code;
		if (known)
			continue;
		seen[n_seen++] = code;
		k = snprintf(ret_text + n, size - n, text ? "%sU+%04X" : "%sbyte 0x%02X",
			     n ? " " : "", (unsigned)(code & 0x7fffffff));
		if (k < 0 || (size_t)k >= size - n)
			break;
		n += (size_t)k;
	}
	return n_seen > 0;
}
