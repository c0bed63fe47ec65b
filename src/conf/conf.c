/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf.h"

#include <stdlib.h>
#include <string.h>

#include "conf/pool.h"
#include "conf/schema.h"

void cw_conf_free(struct cw_conf *conf)
{
	if (!conf)
		return;
	for (size_t i = 0; i < conf->n_sites; i++) {
		struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 0; k < site->n_tunnels; k++) {
			cw_secret_free(site->tunnels[k].own_psk);
			cw_secret_free(site->tunnels[k].bgp.own_password);
		}
		free(site->tunnels);
		cw_secret_free(site->psk);
		cw_secret_free(site->bgp_password);
	}
	free(conf->sites);
	cw_pool_free(conf->pool);
	free(conf);
}

void cw_conf_report_free(struct cw_conf_report *report)
{
	if (!report)
		return;
	free(report->v);
	cw_pool_free(report->pool);
	*report = (struct cw_conf_report){ 0 };
}

const struct cw_tunnel_conf *cw_conf_tunnel(const struct cw_conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_sites; i++) {
		const struct cw_site_conf *site = &conf->sites[i];

		for (size_t k = 0; k < site->n_tunnels; k++) {
			if (strcmp(site->tunnels[k].name, name) == 0)
				return &site->tunnels[k];
		}
	}
	return NULL;
}

bool cw_pair_next(struct cw_pair_walk *w)
{
	for (; w->i < w->n_ours; w->i++, w->k = 0) {
		while (w->k < w->n_theirs) {
			w->our = &w->ours[w->i];
			w->their = &w->theirs[w->k++];
			if (w->our->addr.family == w->their->addr.family)
				return true;
		}
	}
	return false;
}

size_t cw_pair_count(const struct cw_prefixes *ours, const struct cw_prefixes *theirs)
{
	struct cw_pair_walk walk = {
		.ours = ours->v, .n_ours = ours->n, .theirs = theirs->v, .n_theirs = theirs->n,
	};
	size_t n = 0;

	while (cw_pair_next(&walk))
		n++;
	return n;
}

const char *cw_nat_traversal_name(enum cw_nat_traversal v)
{
	return (unsigned)v <= CW_NAT_NEVER ? cw_names_nat_traversal[v] : "unknown";
}

const char *cw_interface_mode_name(enum cw_interface_mode v)
{
	return (unsigned)v <= CW_IF_POLICY ? cw_names_interface_mode[v] : "unknown";
}

const char *cw_selectors_name(enum cw_selectors v)
{
	return (unsigned)v <= CW_SEL_NETWORKS ? cw_names_selectors[v] : "unknown";
}

/* Copies text to buf from n on, escaping what could drive a terminal or forge a line. */
static size_t append(char *buf, size_t size, size_t n, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		bool plain = *p >= 0x20 && *p < 0x7f;

		if (n + (plain ? 1 : 4) >= size)
			break;
		if (plain) {
			buf[n++] = (char)*p;
			continue;
		}
		buf[n++] = '\\';
		buf[n++] = 'x';
		buf[n++] = hex[*p >> 4];
		buf[n++] = hex[*p & 15];
	}
	buf[n] = '\0';
	return n;
}

static const char *issue_text(const struct cw_conf_issue *issue, const char *kind, char *buf, size_t size)
{
	char line[16];
	size_t n = append(buf, size, 0, issue->file);

	if (issue->line) {
		snprintf(line, sizeof(line), ":%u", issue->line);
		n = append(buf, size, n, line);
	}
	n = append(buf, size, n, kind);
	if (*issue->setting) {
		n = append(buf, size, n, issue->setting);
		n = append(buf, size, n, ": ");
	}
	if (*issue->value) {
		n = append(buf, size, n, "\"");
		n = append(buf, size, n, issue->value);
		n = append(buf, size, n, "\" ");
	}
	n = append(buf, size, n, issue->reason);
	if (*issue->remedy) {
		n = append(buf, size, n, "; ");
		append(buf, size, n, issue->remedy);
	}
	return buf;
}

const char *cw_conf_issue_print(const struct cw_conf_issue *issue, char *buf, size_t size)
{
	return issue_text(issue, issue->severity == CW_CONF_ERROR ? ": error: " : ": warning: ", buf, size);
}

const char *cw_conf_issue_print_bare(const struct cw_conf_issue *issue, char *buf, size_t size)
{
	return issue_text(issue, ": ", buf, size);
}

int cw_conf_check_main(const char *path, enum cw_conf_form form, FILE *out, FILE *err)
{
	struct cw_conf_report report;
	struct cw_conf *conf;
	enum cw_rc rc = cw_conf_read(path, &conf, &report);
	char line[2048];
	size_t n_warnings = report.n - report.n_errors;
	char *text = NULL;
	int code = 0;

	for (size_t i = 0; i < report.n; i++)
		fprintf(err, "%s\n", cw_conf_issue_print(&report.v[i], line, sizeof(line)));
	if (rc == CW_OK)
		text = cw_conf_print(conf, form);
	if (rc == CW_E_INVALID)
		code = 2;
	else if (rc != CW_OK || !text)
		code = 1;
	if (rc == CW_E_NO_MEMORY || (rc == CW_OK && !text))
		fprintf(err, "%s: error: %s\n", path, cw_rc_name(CW_E_NO_MEMORY));
	if (text)
		fputs(text, out);
	/* After the settings, so that it is the last line on a terminal. */
	if (code == 0 && n_warnings == 0)
		fprintf(err, "%s: no errors\n", path);
	else if (code == 0)
		fprintf(err, "%s: %zu warning%s, no errors\n", path, n_warnings,
			n_warnings == 1 ? "" : "s");
	free(text);
	cw_conf_report_free(&report);
	cw_conf_free(conf);
	return code;
}
