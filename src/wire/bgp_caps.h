/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_caps: the capabilities inside OPEN (RFC 5492), for bgp_msg.c alone.
 */
#ifndef CW_WIRE_BGP_CAPS_H
#define CW_WIRE_BGP_CAPS_H

#include "wire/bgp_msg.h"

/*
 * Adds what one Capabilities parameter says to caps; a peer may send several, each with one or
 * more. Unknown ones are noted by their code and passed over. Returns NULL, or why it is malformed;
 * *ret_bad is then the capability, or the rest that can't be one.
 */
const char *cw_bgp_caps_read(
	struct cw_span parameter, struct cw_bgp_caps *caps, struct cw_span *ret_bad);

/* Writes each capability in a parameter of its own, ascending. asn: for capability 65. */
void cw_bgp_caps_write(struct cw_writer *w, const struct cw_bgp_caps *caps, uint32_t asn);

#endif
