/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: collects findings while a file is read and checked, and hands them over in the order of
 * the file. Inside src/conf only; struct cw_conf_report in conf.h is what others see.
 *
 * Texts are copied. The caller sees to it that no text holds a secret. One thread.
 */
#ifndef CW_CONF_REPORT_H
#define CW_CONF_REPORT_H

#include "conf/conf.h"
#include "conf/pool.h"

#define CW_REPORT_MAX 1000 /* findings kept; the rest is only counted */
#define CW_REPORT_NO_SITE (-1)

/* Where a finding belongs. */
struct cw_place {
	const char *file;
	unsigned line;	/* in that file; 0: the whole file */
	unsigned order; /* place in the whole text, includes counted in; orders the findings */
	int site;	/* index of the site that it is confined to, or CW_REPORT_NO_SITE */
};

struct cw_report_entry {
	struct cw_conf_issue issue;
	unsigned order;
	int site;
};

struct cw_reporter {
	struct cw_pool *pool; /* texts; goes to the report in the end */
	struct cw_report_entry *v;
	size_t n, size;
	size_t n_errors, n_lost;
	bool fatal;
};

/* CW_E_NO_MEMORY or CW_OK. */
enum cw_rc cw_reporter_init(struct cw_reporter *rep);
void cw_reporter_free(struct cw_reporter *rep);

/* setting, value, reason, remedy: see struct cw_conf_issue; NULL stands for "". An error without a
 * site is fatal. */
void cw_reporter_add(struct cw_reporter *rep, enum cw_conf_severity severity,
		     const struct cw_place *place, const char *setting, const char *value,
		     const char *reason, const char *remedy);

/* Sorts the findings, marks the sites of conf (may be NULL) that have errors, and moves everything
 * to *ret_report. The reporter is empty then. CW_E_NO_MEMORY when texts were lost on the way. */
enum cw_rc cw_reporter_finish(struct cw_reporter *rep, struct cw_conf *conf,
			      struct cw_conf_report *ret_report);

/* The candidate that text is most likely a slip of, or NULL. n candidates; NULLs are passed over.
 */
const char *cw_nearest(const char *text, const char *const *candidates, size_t n);

#endif
