/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct ring_line {
	int64_t wall_s;
	enum cw_log_level level;
	char text[CW_LOG_LINE_MAX];
};

static const char *const level_names[CW_LOG_LEVEL_COUNT] = {
	[CW_LOG_ERROR] = "error", [CW_LOG_WARNING] = "warning", [CW_LOG_NOTICE] = "notice",
	[CW_LOG_INFO] = "info",	  [CW_LOG_DEBUG] = "debug",
};

/* syslog severities (RFC 5424 6.2.1), which the journal reads from a "<N>" prefix */
static const char journal_prefix[CW_LOG_LEVEL_COUNT] = {
	[CW_LOG_ERROR] = '3', [CW_LOG_WARNING] = '4', [CW_LOG_NOTICE] = '5',
	[CW_LOG_INFO] = '6',  [CW_LOG_DEBUG] = '7',
};

static const struct {
	enum cw_log_id id;
	const char *meaning, *remedy;
} ids[] = {
#define CW_LOG_ID(name, number, meaning, remedy) { CW_LOG_##name, meaning, remedy },
#include "base/log_ids.h"
#undef CW_LOG_ID
};

static atomic_int max_level = CW_LOG_NOTICE;
static atomic_int sink_fd = STDERR_FILENO;
static atomic_int sink_journal;

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ring_line ring[CW_LOG_RING];
static size_t ring_count; /* lines ever written; ring_count % CW_LOG_RING is the next slot */

const char *cw_log_level_name(enum cw_log_level level)
{
	return (unsigned)level < CW_LOG_LEVEL_COUNT ? level_names[level] : "unknown";
}

int cw_log_level_parse(const char *name)
{
	for (int i = 0; i < CW_LOG_LEVEL_COUNT; i++) {
		if (strcmp(name, level_names[i]) == 0)
			return i;
	}
	return -1;
}

const char *cw_log_id_meaning(enum cw_log_id id)
{
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (ids[i].id == id)
			return ids[i].meaning;
	}
	return NULL;
}

const char *cw_log_id_remedy(enum cw_log_id id)
{
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (ids[i].id == id)
			return ids[i].remedy;
	}
	return NULL;
}

void cw_log_set_level(enum cw_log_level level)
{
	atomic_store(&max_level, (int)level);
}

enum cw_log_level cw_log_level(void)
{
	return (enum cw_log_level)atomic_load(&max_level);
}

void cw_log_set_sink(int fd, int journal)
{
	atomic_store(&sink_fd, fd);
	atomic_store(&sink_journal, journal);
}

/* Length of the well-formed UTF-8 sequence at s, or 0 (RFC 3629 4). */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 :
		   s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

/* Copies text so that it stays one line and can't drive a terminal: control characters (C1 too)
 * and bytes that are no UTF-8 become \xNN. Returns the length written; ends in "..." when cut. */
static size_t escape(const char *text, char *out, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)text;
	size_t n = 0;

	while (*s) {
		size_t len = *s >= 0x20 && *s < 0x7f ? 1 : utf8_len(s);
		bool c1 = len == 2 && s[0] == 0xc2 && s[1] < 0xa0;
		size_t need = len && !c1 ? len : 4;

		if (n + need + 4 > size) {
			memcpy(out + n, "...", 3);
			n += 3;
			break;
		}
		if (len && !c1) {
			memcpy(out + n, s, len);
			s += len;
		} else {
			memcpy(out + n, "\\x", 2);
			out[n + 2] = hex[*s >> 4];
			out[n + 3] = hex[*s & 15];
			s++;
		}
		n += need;
	}
	out[n] = '\0';
	return n;
}

static void write_all(int fd, const char *buf, size_t len)
{
	/* A log that can't be written has nowhere to say so: the ring still has the line. */
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n <= 0)
			return;
		buf += n;
		len -= (size_t)n;
	}
}

void cw_logv(enum cw_log_level level, enum cw_log_id id, const char *object, const char *fmt,
	     va_list args)
{
	char raw[CW_LOG_LINE_MAX], body[CW_LOG_LINE_MAX - 16], tail[16] = "";
	char line[CW_LOG_LINE_MAX + 16];
	struct ring_line *slot;
	int n, fd = atomic_load(&sink_fd);

	if ((int)level > atomic_load(&max_level))
		return;
	n = object ? snprintf(raw, sizeof(raw), "%s: ", object) : 0;
	if (n >= 0 && (size_t)n < sizeof(raw))
		vsnprintf(raw + n, sizeof(raw) - (size_t)n, fmt, args);
	escape(raw, body, sizeof(body));
	if (id != CW_LOG_NONE)
		snprintf(tail, sizeof(tail), " [CW-%04d]", (int)id);

	pthread_mutex_lock(&ring_lock);
	slot = &ring[ring_count++ % CW_LOG_RING];
	slot->wall_s = (int64_t)time(NULL); /* wall-clock for people, never for deadlines */
	slot->level = level;
	snprintf(slot->text, sizeof(slot->text), "%s%s", body, tail);
	pthread_mutex_unlock(&ring_lock);

	if (fd < 0)
		return;
	if (atomic_load(&sink_journal))
		n = snprintf(line, sizeof(line), "<%c>%s%s\n", journal_prefix[level], body, tail);
	else
		n = snprintf(line, sizeof(line), "%s: %s%s\n", level_names[level], body, tail);
	if (n > 0)
		write_all(fd, line, (size_t)n);
}

void cw_log(enum cw_log_level level, enum cw_log_id id, const char *object, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	cw_logv(level, id, object, fmt, args);
	va_end(args);
}

void cw_log_each(size_t max,
		 void (*fn)(int64_t wall_s, enum cw_log_level level, const char *line, void *arg),
		 void *arg)
{
	size_t have, first;

	pthread_mutex_lock(&ring_lock);
	have = ring_count < CW_LOG_RING ? ring_count : CW_LOG_RING;
	first = ring_count - (max < have ? max : have);
	for (size_t i = first; i < ring_count; i++) {
		const struct ring_line *l = &ring[i % CW_LOG_RING];

		fn(l->wall_s, l->level, l->text, arg);
	}
	pthread_mutex_unlock(&ring_lock);
}
