/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show_priv.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/show_status.h"
#include "cli/text.h"

const char *cw_show_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

bool cw_show_bool(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

int64_t cw_show_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

uint64_t cw_show_count(const json_t *object, const char *key)
{
	int64_t n = cw_show_number(object, key);

	return n > 0 ? (uint64_t)n : 0;
}

static bool is_well(const json_t *tunnel)
{
	const json_t *link = json_object_get(tunnel, "interface");
	bool link_ok = !json_is_object(link) || cw_show_bool(link, "ok");

	return (strcmp(cw_show_text(tunnel, "state"), "up") == 0 && link_ok) ||
	       !cw_show_bool(tunnel, "wanted-up");
}

static const char *color_of(const json_t *tunnel)
{
	const char *state = cw_show_text(tunnel, "state");

	if (strcmp(state, "up") == 0)
		return is_well(tunnel) ? "\x1b[32m" : "\x1b[31m"; /* green, red */
	if (!cw_show_bool(tunnel, "wanted-up"))
		return "\x1b[2m"; /* faint */
	if (strcmp(state, "config-error") == 0 || strcmp(state, "waiting") == 0)
		return "\x1b[31m"; /* red */
	return "\x1b[33m";         /* yellow */
}

void cw_show_state(struct cw_text *out, const json_t *tunnel, bool color, size_t width)
{
	const char *state = cw_show_text(tunnel, "state");

	if (color)
		cw_text_add(out, color_of(tunnel));
	cw_text_add_safe(out, state, 0);
	if (color)
		cw_text_add(out, "\x1b[0m");
	for (size_t n = cw_text_width(state); n < width; n++)
		cw_text_add(out, " ");
}

const char *cw_show_next_try(const json_t *tunnel, char *buf, size_t size)
{
	int64_t in_s = cw_show_number(tunnel, "next-try-in-s");
	char when[CW_TEXT_SHORT];

	buf[0] = '\0';
	if (in_s < 0)
		return buf;
	cw_text_duration(in_s, when, sizeof(when));
	/* There the IKE_SA stands, and no new try is meant. */
	if (strcmp(cw_show_text(tunnel, "state"), "ike-only") == 0)
		snprintf(buf, size, "asked for again %s%s", in_s ? "in " : "now", in_s ? when : "");
	else
		snprintf(buf, size, "try %" PRIu64 " %s%s", cw_show_count(tunnel, "attempt"),
			in_s ? "in " : "now", in_s ? when : "");
	return buf;
}

const char *cw_show_one_way(const json_t *tunnel, char *buf, size_t size)
{
	int64_t for_s = cw_show_number(tunnel, "one-way-s");
	bool encap = cw_show_bool(json_object_get(tunnel, "ike"), "encap");
	char age[CW_TEXT_SHORT];

	buf[0] = '\0';
	if (for_s > 0)
		snprintf(buf, size,
			"IKE answers, but nothing comes back for %s: does %s pass both ways, and "
			"does the far side route back?",
			cw_text_duration(for_s, age, sizeof(age)), encap ? "UDP 4500" : "ESP (IP protocol 50)");
	return buf;
}

bool cw_show_all_well(const struct json_t *answer)
{
	const json_t *tunnels = json_object_get(answer, "tunnels");
	const json_t *tunnel;
	size_t i;

	json_array_foreach(tunnels, i, tunnel) {
		if (!is_well(tunnel))
			return false;
	}
	return true;
}
