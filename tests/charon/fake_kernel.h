/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_kernel: kernel_port.h in memory, strict where the real one is lenient: what is added twice,
 * deleted unknown or left behind is counted. Any thread.
 */
#ifndef CW_TESTS_CHARON_FAKE_KERNEL_H
#define CW_TESTS_CHARON_FAKE_KERNEL_H

#include <stdint.h>

#include "tunnel/kernel_port.h"

struct fake_kernel_counts {
	uint32_t sas, larval, policies;
	uint32_t wrong; /* calls that a correct user would not make */
	uint32_t policies_in, policies_out, policies_fwd;
	uint32_t out_spi; /* SPI in the template of the newest outbound policy */
	uint32_t enc, integ, encap, esn, replay_window, if_id, mark, reqid; /* of the newest SA */
	uint32_t moved, moved_port; /* SAs given other ends; the newest encapsulation port among those but 4500 */
	uint64_t soft_s, hard_s;
	char wrong_text[80]; /* the first of them */
};

struct cw_kernel *fake_kernel_new(void);
void fake_kernel_counts(struct cw_kernel *k, struct fake_kernel_counts *ret);
/* The next n SAs are refused. */
void fake_kernel_refuse(struct cw_kernel *k, uint32_t n);
void fake_kernel_free(struct cw_kernel *k);

#endif
