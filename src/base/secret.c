/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/secret.h"

#include <stdlib.h>
#include <string.h>

struct cw_secret {
	size_t len;
	uint8_t bytes[];
};

struct cw_secret *cw_secret_new(const void *bytes, size_t len)
{
	struct cw_secret *secret = malloc(sizeof(*secret) + len);

	if (!secret)
		return NULL;
	secret->len = len;
	if (len)
		memcpy(secret->bytes, bytes, len);
	return secret;
}

void cw_secret_free(struct cw_secret *secret)
{
	if (!secret)
		return;
	cw_secret_wipe(secret, sizeof(*secret) + secret->len);
	free(secret);
}

const uint8_t *cw_secret_bytes(const struct cw_secret *secret, size_t *ret_len)
{
	*ret_len = secret->len;
	return secret->bytes;
}

size_t cw_secret_len(const struct cw_secret *secret)
{
	return secret->len;
}

bool cw_secret_equal(const struct cw_secret *a, const struct cw_secret *b)
{
	uint8_t diff = 0;

	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		diff |= (uint8_t)(a->bytes[i] ^ b->bytes[i]);
	return diff == 0;
}

void cw_secret_wipe(void *bytes, size_t len)
{
	explicit_bzero(bytes, len);
}
