/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: one line per happening, object first.
 *
 *   error: tunnel azure-weu-1: IKE_AUTH refused (AUTHENTICATION_FAILED); next try in 62 s [CW-1204]
 *
 * For the edge only (daemon, plugins/charon, ctl): the pure parts return results. Any thread may
 * call; a line is formatted on the caller's stack and written with one write(2). Lines go to the
 * sink (stderr by default, with syslog's <N> prefix when it is the journal) and to a ring in memory
 * that `causewayctl log` reads. Control characters and invalid bytes are printed as \xNN, so no
 * peer can forge a line. No secret may be passed: struct cw_secret has no printer.
 *
 * Levels. error: needs a person. warning: works, but not as it should. notice: a tunnel changed its
 * state. info: steps on the way. debug: everything, the protocol's own words too.
 */
#ifndef CW_BASE_LOG_H
#define CW_BASE_LOG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum cw_log_level {
	CW_LOG_ERROR,
	CW_LOG_WARNING,
	CW_LOG_NOTICE,
	CW_LOG_INFO,
	CW_LOG_DEBUG,
	CW_LOG_LEVEL_COUNT,
};

#define CW_LOG_LINE_MAX 1024 /* longer lines are cut, and end in "..." */
#define CW_LOG_RING 512	     /* lines kept for `causewayctl log` */

/* Stable ids of messages, printed in brackets and explained in causewayd(8). 0: a message without. */
enum cw_log_id {
	CW_LOG_NONE = 0,
#define CW_LOG_ID(name, number, meaning, remedy) CW_LOG_##name = (number),
#include "base/log_ids.h"
#undef CW_LOG_ID
};

const char *cw_log_level_name(enum cw_log_level level);
/* Level by name ("error" … "debug"), or -1. */
int cw_log_level_parse(const char *name);

/* Meaning and remedy of an id, or NULL. */
const char *cw_log_id_meaning(enum cw_log_id id);
const char *cw_log_id_remedy(enum cw_log_id id);

/* Lines above this level are dropped. Default CW_LOG_NOTICE. */
void cw_log_set_level(enum cw_log_level level);
enum cw_log_level cw_log_level(void);

/* Where lines go beside the ring: a file descriptor, -1 for nowhere. journal: prefix "<N>". */
void cw_log_set_sink(int fd, int journal);

/* Logs one line: "<object>: <text>". object may be NULL. */
void cw_log(enum cw_log_level level, enum cw_log_id id, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void cw_logv(enum cw_log_level level, enum cw_log_id id, const char *object, const char *fmt,
	     va_list args) __attribute__((format(printf, 4, 0)));

/* Calls fn for each of the newest max lines of the ring, oldest first. The ring's lock is held:
 * fn must not log. wall_s: seconds since 1970 when the line was made. */
void cw_log_each(size_t max,
		 void (*fn)(int64_t wall_s, enum cw_log_level level, const char *line, void *arg),
		 void *arg);

#endif
