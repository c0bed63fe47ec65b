/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lose.h"

#include "charon/charon_compat.h"

bool lose_child(uint32_t child_id)
{
	child_sa_t *child;
	ike_sa_t *ike_sa;

	ike_sa = charon->child_sa_manager->checkout_by_id(charon->child_sa_manager, child_id, &child);
	if (!ike_sa)
		return false;
	ike_sa->destroy_child_sa(ike_sa, child->get_protocol(child), child->get_spi(child, TRUE));
	charon->ike_sa_manager->checkin(charon->ike_sa_manager, ike_sa);
	return true;
}
