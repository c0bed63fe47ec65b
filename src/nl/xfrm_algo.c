/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/xfrm_algo.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct cw_xfrm_enc encs[] = {
	{ CW_ENC_3DES, "cbc(des3_ede)", { 24 }, 0, 0 },
	{ CW_ENC_NULL, "ecb(cipher_null)", { 0 }, 0, 0 },
	{ CW_ENC_AES_CBC, "cbc(aes)", { 16, 24, 32 }, 0, 0 },
	{ CW_ENC_AES_CTR, "rfc3686(ctr(aes))", { 16, 24, 32 }, 4, 0 },
	{ CW_ENC_AES_GCM_8, "rfc4106(gcm(aes))", { 16, 24, 32 }, 4, 64 },
	{ CW_ENC_AES_GCM_12, "rfc4106(gcm(aes))", { 16, 24, 32 }, 4, 96 },
	{ CW_ENC_AES_GCM_16, "rfc4106(gcm(aes))", { 16, 24, 32 }, 4, 128 },
	{ CW_ENC_CHACHA20_POLY1305, "rfc7539esp(chacha20,poly1305)", { 32 }, 4, 128 },
};

static const struct cw_xfrm_integ integs[] = {
	{ CW_INTEG_HMAC_MD5_96, "hmac(md5)", 16, 96 },
	{ CW_INTEG_HMAC_SHA1_96, "hmac(sha1)", 20, 96 },
	{ CW_INTEG_HMAC_SHA256_128, "hmac(sha256)", 32, 128 },
	{ CW_INTEG_HMAC_SHA384_192, "hmac(sha384)", 48, 192 },
	{ CW_INTEG_HMAC_SHA512_256, "hmac(sha512)", 64, 256 },
};

const struct cw_xfrm_enc *cw_xfrm_enc_find(enum cw_enc enc)
{
	for (size_t i = 0; i < COUNT(encs); i++)
		if (encs[i].enc == enc)
			return &encs[i];
	return NULL;
}

const struct cw_xfrm_integ *cw_xfrm_integ_find(enum cw_integ integ)
{
	for (size_t i = 0; i < COUNT(integs); i++)
		if (integs[i].integ == integ)
			return &integs[i];
	return NULL;
}

const struct cw_xfrm_enc *cw_xfrm_enc_by_name(const char *name, uint32_t icv_bits)
{
	for (size_t i = 0; i < COUNT(encs); i++)
		if (encs[i].icv_bits == icv_bits && !strcmp(encs[i].name, name))
			return &encs[i];
	return NULL;
}

const struct cw_xfrm_integ *cw_xfrm_integ_by_name(const char *name, uint32_t trunc_bits)
{
	for (size_t i = 0; i < COUNT(integs); i++)
		if (integs[i].trunc_bits == trunc_bits && !strcmp(integs[i].name, name))
			return &integs[i];
	return NULL;
}

bool cw_xfrm_enc_key_ok(const struct cw_xfrm_enc *row, size_t len)
{
	if (row->key_bytes[0] == 0)
		return len == 0;
	for (size_t i = 0; i < COUNT(row->key_bytes); i++)
		if (row->key_bytes[i] && len == (size_t)row->key_bytes[i] + row->salt_bytes)
			return true;
	return false;
}
