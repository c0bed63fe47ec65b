/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key: pre-shared keys from files, and what can be said of a key without showing it.
 *
 * The bytes are taken as they stand: no encoding, no prefix such as 0x or 0s means anything. One
 * line end at the end of a file, LF or CRLF, is taken off and nothing else. Every buffer that a key
 * went through is wiped.
 */
#ifndef CW_CONF_KEY_H
#define CW_CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"
#include "base/secret.h"

#define CW_KEY_MAX 1024 /* bytes */

/* Static texts: nothing of the key or the file is in them. The reason goes on from the key's or the
 * file's name: "is empty". */
struct cw_key_fault {
	const char *reason;
	const char *remedy;
};

/*
 * Reads a key file: a regular file of at most CW_KEY_MAX bytes and a line end, that belongs to root
 * or to us, that nobody else may read or write (a group may read: 0640 is fine).
 * ret_key: to be freed with cw_secret_free().
 */
enum cw_rc cw_key_read(const char *path, struct cw_secret **ret_key, struct cw_key_fault *reterr);

/* The same checks of the bytes alone, for a key written inline. CW_E_INVALID when it can't be one.
 */
enum cw_rc cw_key_check(const uint8_t *bytes, size_t len, struct cw_key_fault *reterr);

/*
 * Characters outside printable ASCII as "U+2018 U+2019" (a byte that is no UTF-8: "byte 0xNN"),
 * each once, at most eight. Returns false when there are none.
 */
bool cw_key_unusual(const uint8_t *bytes, size_t len, char *ret_text, size_t size);

#endif
