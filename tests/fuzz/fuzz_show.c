/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is what answers at the control socket: any JSON at all. What a person's terminal gets is
 * plain text; colour adds escape sequences and changes no word.
 */
#include "fuzz.h"

#include <jansson.h>
#include <stdbool.h>

#include "cli/show_bgp.h"
#include "cli/show_status.h"
#include "cli/text.h"

/* Takes "\033[...m" out of text. */
static void strip(char *text)
{
	char *to = text;

	for (const char *s = text; *s; s++) {
		const char *end = s[0] == '\033' && s[1] == '[' ? strchr(s, 'm') : NULL;

		if (end)
			s = end;
		else
			*to++ = *s;
	}
	*to = '\0';
}

static void show_routes(struct cw_text *out, const json_t *answer, bool color)
{
	struct cw_show_columns columns = { 0 };

	cw_show_routes(out, answer, false, &columns);
	cw_show_routes(out, answer, true, &columns); /* another page */
	(void)color;
	cw_show_routes_end(out, false, &columns);
}

static void show(const json_t *answer, void (*fn)(struct cw_text *, const json_t *, bool))
{
	struct cw_text plain = { 0 }, color = { 0 };

	fn(&plain, answer, false);
	fn(&color, answer, true);
	must(!plain.failed && !color.failed, "out of memory");
	if (plain.s)
		must(strlen(plain.s) == plain.len && is_plain(plain.s, "\n"), "not plain: %s", plain.s);
	if (color.s) {
		strip(color.s);
		must(plain.s && strcmp(plain.s, color.s) == 0, "colour changes words:\n%s\n%s", plain.s, color.s);
	}
	cw_text_free(&plain);
	cw_text_free(&color);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	json_t *answer;

	must(text, "no memory");
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	answer = json_loads(text, 0, NULL); /* as causewayctl does */
	free(text);
	if (json_is_object(answer)) {
		show(answer, cw_show_overview);
		show(answer, cw_show_detail);
		show(answer, cw_show_neighbours);
		show(answer, cw_show_neighbour);
		show(answer, show_routes);
		cw_show_all_well(answer);
	}
	json_decref(answer);
	return 0;
}
