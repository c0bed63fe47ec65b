/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rib_story: a story told by bytes, acted out by a rib and by a naive model beside it. The unit test tells
 * thousands of random ones, the fuzzer looks for the one that breaks something.
 */
#ifndef CW_TESTS_RIB_STORY_H
#define CW_TESTS_RIB_STORY_H

#include <stddef.h>
#include <stdint.h>

/* What was broken, in words; NULL: nothing. */
const char *rib_story_run(const uint8_t *bytes, size_t n);

#endif
