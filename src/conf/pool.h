/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool: memory that is given back all at once. A struct cw_conf and a struct cw_conf_report each
 * own one; their texts live in it.
 *
 * When memory is out the calls return NULL and the pool remembers it, so a long run of them needs
 * one question at the end. Not for secrets: what is given back is not wiped. One thread.
 */
#ifndef CW_CONF_POOL_H
#define CW_CONF_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct cw_pool;

/* NULL when memory is out. */
struct cw_pool *cw_pool_new(void);
/* Frees the pool with everything in it. NULL is fine. */
void cw_pool_free(struct cw_pool *pool);

/* size zeroed bytes, aligned for anything. */
void *cw_pool_alloc(struct cw_pool *pool, size_t size);
char *cw_pool_copy(struct cw_pool *pool, const char *text);
char *cw_pool_printf(struct cw_pool *pool, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* true once a call has failed. */
bool cw_pool_failed(const struct cw_pool *pool);

#endif
