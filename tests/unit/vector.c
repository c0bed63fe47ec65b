/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vector.h"

#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *source_dir(void)
{
	const char *dir = getenv("CW_SRCDIR");

	return dir ? dir : ".";
}

size_t test_vector_load(const char *name, uint8_t buf[TEST_VECTOR_MAX])
{
	char path[512], line[512];
	unsigned byte;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/vectors/%s.hex", source_dir(), name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("%s can't be read", path);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		for (char *p = line; isxdigit((unsigned char)p[0]); p += p[2] == ' ' ? 3 : 2) {
			assert_int_equal(sscanf(p, "%2x", &byte), 1);
			assert_true(n < TEST_VECTOR_MAX);
			buf[n++] = (uint8_t)byte;
		}
	}
	fclose(f);
	assert_true(n > 0);
	return n;
}

static void try_one(const uint8_t *msg, size_t len, void (*read)(const void *msg, size_t len))
{
	uint8_t *exact = malloc(len ? len : 1);

	assert_non_null(exact);
	memcpy(exact, msg, len);
	read(exact, len);
	free(exact);
}

void test_vector_break(const uint8_t *msg, size_t len, void (*read)(const void *msg, size_t len))
{
	uint8_t copy[TEST_VECTOR_MAX];

	for (size_t cut = 0; cut <= len; cut++) {
		uint32_t told = (uint32_t)cut;

		memcpy(copy, msg, len);
		try_one(copy, cut, read);
		memcpy(copy, &told, sizeof(told)); /* nlmsg_len comes first */
		try_one(copy, cut, read);
	}
	for (size_t bit = 0; bit < len * 8; bit++) {
		memcpy(copy, msg, len);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		try_one(copy, len, read);
	}
}

void test_vector_each(
	const char *folder, void (*fn)(const char *name, const uint8_t *msg, size_t len))
{
	static uint8_t buf[TEST_VECTOR_MAX];
	char path[512], name[512];
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/tests/vectors/%s", source_dir(), folder);
	dir = opendir(path);
	if (!dir)
		fail_msg("%s can't be read", path);
	while ((entry = readdir(dir))) {
		char *dot = strstr(entry->d_name, ".hex");

		if (!dot)
			continue;
		snprintf(name, sizeof(name), "%s/%.*s", folder, (int)(dot - entry->d_name),
			entry->d_name);
		fn(name, buf, test_vector_load(name, buf));
		n++;
	}
	closedir(dir);
	assert_true(n > 0);
}
