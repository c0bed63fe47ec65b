/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input is a story of routes: set, withdrawn, gone stale, swept, taken to a kernel that refuses now and then. A
 * naive model acts it out beside the rib (tests/unit/rib_story.c), and both have to agree.
 */
#include "fuzz.h"

#include "unit/rib_story.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = rib_story_run(data, size);

	must(!why, "%s", why);
	return 0;
}
