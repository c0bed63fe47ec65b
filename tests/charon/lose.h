/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lose: what no order of ike_port.h does: an engine forgets a CHILD_SA and says nothing to the peer, as when
 * its DELETE is lost or somebody deletes it by hand.
 */
#ifndef CW_TESTS_CHARON_LOSE_H
#define CW_TESTS_CHARON_LOSE_H

#include <stdbool.h>
#include <stdint.h>

/* From any thread but libcharon's hooks. False: there is no such child. */
bool lose_child(uint32_t child_id);

#endif
