/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE 4096

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char bytes[];
};

struct cw_pool {
	struct chunk *chunks; /* the newest first; it alone is filled further */
	bool failed;
};

struct cw_pool *cw_pool_new(void)
{
	return calloc(1, sizeof(struct cw_pool));
}

void cw_pool_free(struct cw_pool *pool)
{
	struct chunk *next;

	if (!pool)
		return;
	for (struct chunk *c = pool->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(pool);
}

void *cw_pool_alloc(struct cw_pool *pool, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct chunk *c = pool->chunks;
	void *p;

	if (size > SIZE_MAX / 2) {
		pool->failed = true;
		return NULL;
	}
	size = (size + align - 1) / align * align;
	if (!c || c->size - c->used < size) {
		size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		c = calloc(1, sizeof(*c) + room);
		if (!c) {
			pool->failed = true;
			return NULL;
		}
		c->size = room;
		c->next = pool->chunks;
		pool->chunks = c;
	}
	p = c->bytes + c->used;
	c->used += size;
	return p;
}

char *cw_pool_copy(struct cw_pool *pool, const char *text)
{
	size_t size = strlen(text) + 1;
	char *p = cw_pool_alloc(pool, size);

	if (p)
		memcpy(p, text, size);
	return p;
}

char *cw_pool_printf(struct cw_pool *pool, const char *fmt, ...)
{
	va_list args;
	char *p = NULL;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n >= 0)
		p = cw_pool_alloc(pool, (size_t)n + 1);
	if (!p) {
		pool->failed = true;
		return NULL;
	}
	va_start(args, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, args);
	va_end(args);
	return p;
}

bool cw_pool_failed(const struct cw_pool *pool)
{
	return pool->failed;
}
