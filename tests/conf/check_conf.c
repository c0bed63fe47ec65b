/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_conf FILE: what `causewayd -n -f FILE` does, without the rest of the daemon.
 * check_conf --full FILE: the same of `causewayd -nn -f FILE`.
 * check_conf --print FILE: prints the canonical form also when sites are bad.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

static int print(const char *path)
{
	struct cw_conf_report report;
	struct cw_conf *conf;
	char *text = NULL;
	int code = 2;

	cw_conf_read(path, &conf, &report);
	if (conf)
		text = cw_conf_print(conf, CW_CONF_CANONICAL);
	if (text) {
		fputs(text, stdout);
		code = 0;
	}
	free(text);
	cw_conf_report_free(&report);
	cw_conf_free(conf);
	return code;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--print") == 0)
		return print(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--full") == 0)
		return cw_conf_check_main(argv[2], CW_CONF_FULL, stdout, stderr);
	if (argc == 2)
		return cw_conf_check_main(argv[1], CW_CONF_CANONICAL, stdout, stderr);
	fputs("usage: check_conf [--full | --print] FILE\n", stderr);
	return 2;
}
