/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * secret: key bytes that wipe themselves and that nothing prints.
 *
 * Opaque on purpose: there is no printer, and the only way to the bytes is cw_secret_bytes(), so a
 * search for that name finds every place that touches a key. A secret may hold any byte, zero too.
 * Immutable once made, so it may be read from any thread; the owner frees it.
 */
#ifndef CW_BASE_SECRET_H
#define CW_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_secret;

/* Copies len bytes (may be 0). NULL when memory is out. */
struct cw_secret *cw_secret_new(const void *bytes, size_t len);

/* Wipes and frees. NULL is fine. */
void cw_secret_free(struct cw_secret *secret);

/* Borrowed bytes, valid as long as the secret. */
const uint8_t *cw_secret_bytes(const struct cw_secret *secret, size_t *ret_len);

size_t cw_secret_len(const struct cw_secret *secret);

/* Equal in length and bytes, compared in time that does not depend on where they differ. */
bool cw_secret_equal(const struct cw_secret *a, const struct cw_secret *b);

/* Overwrites a buffer in a way that the compiler keeps. */
void cw_secret_wipe(void *bytes, size_t len);

#endif
