/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfrm_algo: what the kernel calls the algorithms of IKEv2, one row each.
 *
 * Key lengths are those of the key material as IKE hands it over: RFC 4106 (GCM), RFC 3686 (CTR)
 * and RFC 7634 (ChaCha20) append a salt to the key, and the kernel wants it there too.
 */
#ifndef CW_NL_XFRM_ALGO_H
#define CW_NL_XFRM_ALGO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tunnel/kernel_port.h"

struct cw_xfrm_enc {
	enum cw_enc enc;
	const char *name;     /* in the kernel's crypto layer */
	uint8_t key_bytes[3]; /* lengths allowed, without salt; 0: no more */
	uint8_t salt_bytes;
	uint16_t icv_bits; /* AEAD: bits of the check value; 0: not an AEAD */
};

struct cw_xfrm_integ {
	enum cw_integ integ;
	const char *name;
	uint8_t key_bytes;
	/* Bits left after truncation. Given to the kernel always: its own default for
	 * hmac(sha256) is 96, of an early draft, and RFC 4868 says 128. */
	uint16_t trunc_bits;
};

/* Row of an algorithm; NULL where there is none (CW_ENC_NONE and CW_INTEG_NONE have none). */
const struct cw_xfrm_enc *cw_xfrm_enc_find(enum cw_enc enc);
const struct cw_xfrm_integ *cw_xfrm_integ_find(enum cw_integ integ);

/* Row by the kernel's name; NULL where we have none. icv_bits: 0 for what is not an AEAD. */
const struct cw_xfrm_enc *cw_xfrm_enc_by_name(const char *name, uint32_t icv_bits);
const struct cw_xfrm_integ *cw_xfrm_integ_by_name(const char *name, uint32_t trunc_bits);

/* Is len (bytes, with the salt) a key length of this cipher? */
bool cw_xfrm_enc_key_ok(const struct cw_xfrm_enc *row, size_t len);

#endif
