/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sim/sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool sim_bad(struct sim *s, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "sim_pair: seed %" PRIu64 " (%s): ", s->seed, s->what);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return true;
}

static size_t live_children(const struct cw_tunnel *t)
{
	size_t n = 0;

	for (size_t i = 0; i < cw_tunnel_children(t); i++)
		n += cw_tunnel_child(t, i)->state == CW_CHILD_INSTALLED ||
		     cw_tunnel_child(t, i)->state == CW_CHILD_REKEYING;
	return n;
}

static bool check_host(struct sim *s, const struct host *h, const char *when, bool early)
{
	struct fake_count n = fake_ike_count(&h->ike);
	char end = h->ike.end ? 'B' : 'A';

	/* IKEv1 leaves it open to which IKE_SA a child belongs, so closing one of two can leave a
	 * child at one end only. It takes a look or two to find that out, and a peer of another
	 * make never does. */
	if (h->ike.version == 1 && n.ikes == 1 &&
		(h->stock.is || (early && n.children > h->ike.pairs)))
		return false;
	if (n.ikes != 1 || n.children != h->ike.pairs || n.others)
		return sim_bad(s, "%s, %c has %u IKE_SAs, %u children, %u leftovers", when, end, n.ikes,
			n.children, n.others);
	if (!h->tunnel)
		return false;
	if (cw_tunnel_state(h->tunnel) != CW_TUNNEL_UP)
		return sim_bad(s, "%s, %c is %s", when, end,
			cw_tunnel_state_name(cw_tunnel_state(h->tunnel)));
	if (!h->carrying || !cw_tunnel_carries(h->tunnel))
		return sim_bad(s, "%s, %c is up and does not know that it carries", when, end);
	if (live_children(h->tunnel) != n.children)
		return sim_bad(s, "%s, %c sees %zu children of %u", when, end, live_children(h->tunnel),
			n.children);
	return false;
}

bool sim_check(struct sim *s, const char *when, bool early)
{
	struct fake_count a = fake_ike_count(&s->hosts[0].ike),
			  b = fake_ike_count(&s->hosts[1].ike);

	if (check_host(s, &s->hosts[0], when, early) || check_host(s, &s->hosts[1], when, early))
		return true;
	if (a.spi_i != b.spi_i || (a.children == b.children && a.child_spis != b.child_spis))
		return sim_bad(s, "%s, the two ends have different SAs", when);
	return false;
}

bool sim_check_soon(struct sim *s, const char *when, bool early)
{
	for (int i = 0; i < 20; i++) {
		struct fake_count a = fake_ike_count(&s->hosts[0].ike),
				  b = fake_ike_count(&s->hosts[1].ike);

		if (a.children == s->hosts[0].ike.pairs && b.children == a.children && !a.others &&
			!b.others && a.child_spis == b.child_spis)
			break;
		fake_world_run_until(s->world, cw_time_add_ms(fake_world_now(s->world), 37));
	}
	return sim_check(s, when, early);
}
