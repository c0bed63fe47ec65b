/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a config file. Whatever it is: the findings are printable lines, and errors and the
 * result agree. What was read can be printed, and read and printed again it is the same; no key from
 * a file is in any of it.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"

#define KEY "qZ7wKx0v"

static char folder[] = "/dev/shm/fuzz_conf.XXXXXX";
static const char *const names[] = { "azure.psk", "branch.psk", "aws.psk", "inc-sites.inc", "c.conf", "again.conf" };

static void put(const char *name, const void *bytes, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len, "can't write %s/%s", folder, name);
	close(fd);
}

static void clear_up(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char site[] = "{ name = \"inc\"; psk-file = \"aws.psk\"; tunnels = ( { remote = \"192.0.2.9\"; } ); }";

	(void)argc;
	(void)argv;
	must(mkdtemp(folder), "can't make %s", folder);
	/* Relative paths, as a user's are; libFuzzer has opened its folders already or gets absolute ones. */
	must(chdir(folder) == 0, "can't enter %s", folder);
	atexit(clear_up);
	for (int i = 0; i < 3; i++)
		put(names[i], KEY, sizeof(KEY) - 1);
	put("inc-sites.inc", site, sizeof(site) - 1);
	return 0;
}

static void check_text(const char *text, bool key_in_input)
{
	must(key_in_input || !strstr(text, KEY), "a key is shown: %s", text);
}

/* Returns the canonical form, or NULL. */
static char *read_and_print(const char *path, bool key_in_input, enum cw_rc *ret_rc)
{
	struct cw_conf_report report;
	struct cw_conf *conf;
	size_t errors = 0;
	char line[2048], *text;

	*ret_rc = cw_conf_read(path, &conf, &report);
	for (size_t i = 0; i < report.n; i++) {
		errors += report.v[i].severity == CW_CONF_ERROR;
		cw_conf_issue_print(&report.v[i], line, sizeof(line));
		check_text(line, key_in_input);
		for (const char *s = line; *s; s++)
			must(*s >= ' ' && *s <= '~', "a finding that is not printable: %s", line);
	}
	must(*ret_rc == CW_OK || *ret_rc == CW_E_INVALID, "reading returned %s", cw_rc_name(*ret_rc));
	must((*ret_rc == CW_OK) == (report.n_errors == 0), "%zu errors, and %s", report.n_errors, cw_rc_name(*ret_rc));
	must(errors <= report.n_errors && (errors > 0) == (report.n_errors > 0), "%zu errors shown of %zu", errors,
	     report.n_errors);
	must(!conf == report.fatal, "fatal is %d, conf %p", report.fatal, (void *)conf);
	for (size_t i = 0; conf && i < conf->n_sites; i++) {
		const struct cw_site_conf *s = &conf->sites[i];

		must(!s->bad == !s->bad_reason, "site %zu: bad is %d", i, s->bad);
		must(*ret_rc != CW_OK || !s->bad, "site %zu is bad without an error", i);
		for (size_t k = 0; !s->bad && k < s->n_tunnels; k++) {
			const struct cw_tunnel_conf *t = &s->tunnels[k];

			must(t->site == s && t->name[0] && t->ifname[0] && t->remote, "tunnel %zu is not complete", k);
			must(t->psk || t->psk_omitted, "%s has no key", t->name);
			must(t->ike_proposals.n && t->esp_proposals.n, "%s has no proposals", t->name);
			must(t->ike_lifetime.time_s > t->ike_lifetime.rekey_margin_s + t->ike_lifetime.rekey_jitter_s &&
			     t->child_lifetime.time_s > t->child_lifetime.rekey_margin_s + t->child_lifetime.rekey_jitter_s,
			     "%s is rekeyed before it is made", t->name);
			must(cw_conf_tunnel(conf, t->name), "%s is not found by its name", t->name);
		}
	}
	text = conf ? cw_conf_print(conf, CW_CONF_CANONICAL) : NULL;
	if (text)
		check_text(text, key_in_input);
	cw_conf_report_free(&report);
	cw_conf_free(conf);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool key_in_input = memmem(data, size, KEY, sizeof(KEY) - 1);
	enum cw_rc rc, rc_again;
	char *text, *again = NULL;

	put("c.conf", data, size);
	text = read_and_print("c.conf", key_in_input, &rc);
	if (rc == CW_OK) {
		must(text, "a good config can't be printed");
		put("again.conf", text, strlen(text));
		again = read_and_print("again.conf", key_in_input, &rc_again);
		must(again, "the printed form can't be read");
		must(strcmp(text, again) == 0, "printed, read and printed again it differs:\n%s\n--- again:\n%s", text, again);
	}
	free(text);
	free(again);
	return 0;
}
