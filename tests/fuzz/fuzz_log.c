/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is text from outside that ends up in the log. It stays one line that can't drive a terminal
 * or forge another line, of at most the promised length, cut between characters.
 */
#include "fuzz.h"

#include "base/log.h"

static void look(int64_t wall_s, enum cw_log_level level, const char *line, void *arg)
{
	(void)wall_s;
	must(level == CW_LOG_NOTICE, "another level");
	must(strlen(line) < CW_LOG_LINE_MAX, "%zu bytes", strlen(line));
	must(is_plain(line, ""), "not plain: %s", line);
	++*(int *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	int lines = 0;

	must(text, "no memory");
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	cw_log_set_sink(-1, 0);
	cw_log(CW_LOG_NOTICE, CW_LOG_STARTED, size & 1 ? text : NULL, "%s", text);
	cw_log_each(1, look, &lines);
	must(lines == 1, "%d lines", lines);
	free(text);
	return 0;
}
