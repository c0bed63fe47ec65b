/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID_LOOK_BACK 64 /* findings compared with a new one */
#define NEAREST_MAX 40 /* longer words are nobody's slip */

enum cw_rc cw_reporter_init(struct cw_reporter *rep)
{
	*rep = (struct cw_reporter){ .pool = cw_pool_new() };
	return rep->pool ? CW_OK : CW_E_NO_MEMORY;
}

void cw_reporter_free(struct cw_reporter *rep)
{
	cw_pool_free(rep->pool);
	free(rep->v);
	*rep = (struct cw_reporter){ 0 };
}

static const char *keep(struct cw_reporter *rep, const char *text)
{
	const char *copy = text && *text ? cw_pool_copy(rep->pool, text) : NULL;

	return copy ? copy : "";
}

/* A value that a site hands down to its tunnels is checked once for each: one finding is enough. */
static bool said_already(const struct cw_reporter *rep, const struct cw_place *place,
			 const char *setting, const char *value, const char *reason)
{
	for (size_t back = 0; back < rep->n && back < SAID_LOOK_BACK; back++) {
		const struct cw_report_entry *e = &rep->v[rep->n - 1 - back];

		if (e->order == place->order && strcmp(e->issue.setting, setting) == 0 &&
		    strcmp(e->issue.value, value) == 0 && strcmp(e->issue.reason, reason) == 0)
			return true;
	}
	return false;
}

void cw_reporter_add(struct cw_reporter *rep, enum cw_conf_severity severity,
		     const struct cw_place *place, const char *setting, const char *value,
		     const char *reason, const char *remedy)
{
	bool fatal = severity == CW_CONF_ERROR && place->site == CW_REPORT_NO_SITE;

	if (said_already(rep, place, setting ? setting : "", value ? value : "", reason))
		return;
	if (severity == CW_CONF_ERROR)
		rep->n_errors++;
	rep->fatal |= fatal;
	if (rep->n == CW_REPORT_MAX) {
		rep->n_lost++;
		return;
	}
	if (rep->n == rep->size) {
		size_t size = rep->size ? rep->size * 2 : 16;
		struct cw_report_entry *v = reallocarray(rep->v, size, sizeof(*v));

		if (!v) {
			rep->n_lost++;
			return;
		}
		rep->v = v;
		rep->size = size;
	}
	rep->v[rep->n++] = (struct cw_report_entry){
		.issue = {
			.severity = severity,
			.file = keep(rep, place->file),
			.line = place->line,
			.setting = keep(rep, setting),
			.value = keep(rep, value),
			.reason = keep(rep, reason),
			.remedy = keep(rep, remedy),
			.fatal = fatal,
		},
		.order = place->order,
		.site = place->site,
	};
}

/* Insertion keeps findings of one line in the order in which they were made. The list is short, and
 * mostly sorted already. */
static void sort_entries(struct cw_report_entry *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct cw_report_entry e = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].order > e.order; k--)
			v[k] = v[k - 1];
		v[k] = e;
	}
}

static void mark_site(struct cw_reporter *rep, struct cw_conf *conf,
		      const struct cw_report_entry *e)
{
	const struct cw_conf_issue *i = &e->issue;
	struct cw_site_conf *site;
	char text[1024];

	if (!conf || i->severity != CW_CONF_ERROR || e->site < 0 ||
	    (size_t)e->site >= conf->n_sites)
		return;
	site = &conf->sites[e->site];
	if (site->bad)
		return;
	site->bad = true;
	site->bad_reason = cw_pool_printf(conf->pool, "%s",
					  cw_conf_issue_print_bare(i, text, sizeof(text)));
	if (!site->bad_reason)
		rep->n_lost++;
}

enum cw_rc cw_reporter_finish(struct cw_reporter *rep, struct cw_conf *conf,
			      struct cw_conf_report *ret_report)
{
	struct cw_conf_report report = { .n_errors = rep->n_errors, .fatal = rep->fatal };
	enum cw_rc rc = CW_OK;

	sort_entries(rep->v, rep->n);
	for (size_t i = 0; i < rep->n; i++)
		mark_site(rep, conf, &rep->v[i]);
	report.v = calloc(rep->n + 1, sizeof(*report.v));
	if (report.v) {
		for (; report.n < rep->n; report.n++)
			report.v[report.n] = rep->v[report.n].issue;
		if (rep->n_lost) {
			char *text = cw_pool_printf(rep->pool, "%zu more findings are not listed",
						    rep->n_lost);

			report.v[report.n++] = (struct cw_conf_issue){
				.severity = CW_CONF_WARNING,
				.file = rep->n ? rep->v[0].issue.file : "",
				.setting = "",
				.value = "",
				.reason = text ? text : "",
				.remedy = "mend these first, then check again",
			};
		}
	}
	if (!report.v || cw_pool_failed(rep->pool) || (conf && cw_pool_failed(conf->pool)))
		rc = CW_E_NO_MEMORY;
	report.pool = rep->pool;
	rep->pool = NULL;
	*ret_report = report;
	cw_reporter_free(rep);
	return rc;
}

/* Restricted edit distance (insert, delete, replace, swap of neighbours); letter case and the kind
 * of dash count nothing. */
static unsigned distance(const char *a, const char *b)
{
	unsigned d[3][NEAREST_MAX + 2];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t j = 0; j <= nb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
		int ca = tolower((unsigned char)a[i - 1]);

		row[0] = (unsigned)i;
		ca = ca == '_' ? '-' : ca;
		for (size_t j = 1; j <= nb; j++) {
			int cb = tolower((unsigned char)b[j - 1]);
			unsigned best = up[j - 1] + (ca != cb);

			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
			    tolower((unsigned char)a[i - 2]) == cb && up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			row[j] = best;
		}
	}
	return d[na % 3][nb];
}

const char *cw_nearest(const char *text, const char *const *candidates, size_t n)
{
	size_t len = strlen(text);
	unsigned best = ((unsigned)len + 1) / 3; /* a third of the letters may be wrong */
	const char *found = NULL;

	if (len > NEAREST_MAX || len == 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!candidates[i] || strlen(candidates[i]) > NEAREST_MAX)
			continue;
		/* "lifetme" is meant for "ike-lifetime": what follows a dash counts too, a little
		 * less. */
		for (const char *c = candidates[i]; c;
		     c = strchr(c, '-') ? strchr(c, '-') + 1 : NULL) {
			unsigned d = distance(text, c) + (c != candidates[i]);

			if (d < best || (d == best && !found)) {
				best = d;
				found = candidates[i];
			}
		}
	}
	return found;
}
