/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print_man: the parts of causeway.conf(5) that come from the tables of settings, profiles and
 * algorithms, as mdoc. tests/conf/run compares the page with it; run --update-man puts it there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "conf/profile.h"
#include "conf/proposal.h"
#include "conf/schema.h"

/* One sentence a line, as mdoc likes it. */
static void sentences(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (p[0] == '.' && p[1] == ' ') {
			fputs(".\n", stdout);
			p++;
		} else {
			fputc(*p, stdout);
		}
	}
	fputc('\n', stdout);
}

static void words(const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		printf("%s\"%s\"", i ? ", " : "", choices[i]);
}

static void limits(const struct cw_setting *s)
{
	if (s->type == CW_TYPE_NUMBER32 || s->type == CW_TYPE_NUMBER64)
		printf("From %" PRIu64 " to %" PRIu64 "%s%s.\n", s->min, s->max, s->unit ? " " : "",
		       s->unit ? s->unit : "");
	if (s->type == CW_TYPE_NETWORKS)
		printf("At most %" PRIu64 ".\n", s->max);
	if (s->type == CW_TYPE_CHOICE) {
		fputs("One of ", stdout);
		words(s->choices);
		fputs(".\n", stdout);
	}
	if (s->dflt)
		printf("Default: %s.\n", s->dflt);
	else if ((s->levels & CW_LEVEL_SITE) && s->home == CW_HOME_TUNNEL &&
		 (s->type >= CW_TYPE_NUMBER32 && s->type < CW_TYPE_COUNT))
		fputs("Default: the profile's.\n", stdout);
}

static void settings(unsigned levels, const char *title)
{
	const struct cw_setting *s;

	printf(".Ss \\&%s\n.Bl -tag -width Ds\n", title);
	for (size_t i = 0; (s = cw_setting_at(i)) != NULL; i++) {
		if (s->levels != levels)
			continue;
		printf(".It Ic %s Ar %s\n", s->name, cw_type_name(s->type));
		sentences(s->help);
		limits(s);
	}
	puts(".El");
}

static void proposals(const char *name, const struct cw_proposals *list)
{
	printf(".It Ic %s\n", name);
	for (size_t i = 0; i < list->n; i++)
		printf("%s%s\n", list->v[i], i + 1 < list->n ? "," : "");
}

static void lifetime(const char *name, const struct cw_lifetime_conf *l)
{
	printf(".It Ic %s\n%" PRIu32 " s, rekeyed %" PRIu32 " to %" PRIu32 " s before\n", name,
	       l->time_s, l->rekey_margin_s, l->rekey_margin_s + l->rekey_jitter_s);
}

static void profiles(void)
{
	const struct cw_profile *p;

	puts(".Bl -tag -width Ds");
	for (size_t i = 0; (p = cw_profile_at(i)) != NULL; i++) {
		const struct cw_tunnel_conf *v = &p->values;

		printf(".It Cm %s\n%s.\n.Bl -tag -width child-lifetime -compact\n", p->name,
		       p->about);
		printf(".It Ic ike-version\n%d\n", (int)v->ike_version);
		proposals("ike-proposals", &v->ike_proposals);
		proposals("esp-proposals", &v->esp_proposals);
		lifetime("ike-lifetime", &v->ike_lifetime);
		lifetime("child-lifetime", &v->child_lifetime);
		printf(".It Ic dpd-delay\n%" PRIu32 " s\n.It Ic dpd-timeout\n%" PRIu32 " s\n",
		       v->dpd_delay_s, v->dpd_timeout_s);
		printf(".It Ic selectors\n\"%s\"\n.It Ic mtu\n%" PRIu32 "\n.It Ic esn\n%s\n",
		       cw_selectors_name(v->selectors), v->mtu, v->esn ? "true" : "false");
		printf(".It Ic bgp-hold-time\n%" PRIu32 " s\n.It Ic max-prefixes\n%" PRIu32 "\n",
		       v->bgp.hold_s, v->bgp.max_prefixes);
		printf(".It Ic announce-limit\n%s%" PRIu32 "\n.El\n",
		       v->bgp.announce_limit ? "" : "none: ", v->bgp.announce_limit);
	}
	puts(".El\n.Pp\nThe same in all: BGP is connected from both ends with TTL 255, without GTSM, password, role,\n"
	     "graceful restart (restart time 120 s) and IPv6; the first AS number is checked; local-pref is 100;\n"
	     "after too many prefixes the pause is 60 s. There is no med, prepend, community and transit unless written.");
}

static void common(void)
{
	const struct cw_tunnel_conf *v = &cw_profile_at(0)->values;

	puts(".Pp\nAll profiles share:\n.Bl -tag -width interface-mode -compact");
	printf(".It Ic nat-traversal\n\"%s\"\n", cw_nat_traversal_name(v->nat_traversal));
	printf(".It Ic interface-mode\n\"%s\"\n", cw_interface_mode_name(v->interface_mode));
	printf(".It Ic fragmentation\n%s\n", v->fragmentation ? "true" : "false");
	printf(".It Ic mobike\n%s\n", v->mobike ? "true" : "false");
	printf(".It Ic start\n%s\n", v->start ? "true" : "false");
	printf(".It Ic retry-min\n%" PRIu32 " s\n.It Ic retry-max\n%" PRIu32
	       " s\n.It Ic retry-auth\n%" PRIu32 " s\n",
	       v->retry_min_s, v->retry_max_s, v->retry_auth_s);
	printf(".It Ic replay-window\n%" PRIu32 " packets\n", v->replay_window);
	printf(".It Ic copy-df\n%s\n.It Ic copy-ecn\n%s\n", v->copy_df ? "true" : "false",
	       v->copy_ecn ? "true" : "false");
	printf(".It Ic metric\n%" PRIu32 "\n", v->metric);
	puts(".It Ic child-lifetime-bytes , Ic child-lifetime-packets\n0, no end by volume\n.El");
}

static void algorithms(void)
{
	puts(".Bl -tag -width Ds");
	for (unsigned kind = 0; kind < CW_ALG_KIND_COUNT; kind++) {
		const struct cw_alg *a;
		bool first = true;

		printf(".It %s\n", cw_alg_kind_name(kind));
		for (size_t i = 0; (a = cw_alg_at(i)) != NULL; i++) {
			if (a->kind != kind || a->refused)
				continue;
			printf("%s%s%s", first ? "" : ",\n", a->name, a->weak ? " (weak)" : "");
			if (a->aliases)
				printf(" [%s]", a->aliases);
			first = false;
		}
		puts(".");
	}
	puts(".El");
}

static void section(const char *name, bool begin)
{
	printf(".\\\" %s of %s, printed by tests/conf/print_man\n", begin ? "begin" : "end", name);
}

int main(void)
{
	section("settings", true);
	settings(CW_LEVEL_TOP, "Top of the file");
	settings(CW_LEVEL_GATEWAY, "In gateway");
	settings(CW_LEVEL_SITE, "In a site");
	settings(CW_LEVEL_TUNNEL, "In a tunnel");
	settings(CW_LEVEL_SITE | CW_LEVEL_TUNNEL, "In a tunnel, or in a site for all its tunnels");
	section("settings", false);
	section("profiles", true);
	profiles();
	common();
	section("profiles", false);
	section("algorithms", true);
	algorithms();
	section("algorithms", false);
	return 0;
}
