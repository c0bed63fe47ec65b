/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover: what the CHILD_SAs of a tunnel let pass, beside what the two sides' networks are.
 *
 * A peer may agree to less than it is asked for (RFC 7296 2.9), and all is established then. Pure.
 */
#ifndef CW_TUNNEL_COVER_H
#define CW_TUNNEL_COVER_H

#include <stddef.h>

#include "conf/conf.h"
#include "tunnel/tunnel_view.h"

/*
 * Pairs of a network of ours and one of theirs, both of one family, that no child in use holds as a whole. An
 * empty list of networks stands for any. Writes the first `max` to ret_gaps and returns how many there are; 0
 * where a child has more selectors than are known (CW_IKE_TS_MAX), since nothing can be said then.
 */
size_t cw_cover_gaps(const struct cw_child_info *const *children, size_t n_children, const struct cw_prefixes *ours,
	const struct cw_prefixes *theirs, struct cw_view_gap *ret_gaps, size_t max);

#endif
