/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_int.h"
#include "conf/value.h"

/* A tunnel as it would be if nothing but its name were set: what need not be printed. */
static struct cw_tunnel_conf plain_tunnel(const struct cw_conf *conf,
					  const struct cw_site_conf *site,
					  const struct cw_tunnel_conf *t, size_t k)
{
	const struct cw_profile *profile = cw_profile_find(site->profile);
	const struct cw_lifetime_conf *ike = &profile->values.ike_lifetime;
	const struct cw_lifetime_conf *child = &profile->values.child_lifetime;
	struct cw_tunnel_conf plain = profile->values, bgp = profile->values;

	bgp.inside_addr = t->inside_addr;
	bgp.bgp.peer = t->bgp.peer;
	cw_conf_complete_bgp(conf, &bgp);
	plain.bgp.local = bgp.bgp.local;
	plain.bgp.announce = bgp.bgp.announce;
	cw_conf_derive_name(site->name, k, plain.name);
	cw_conf_derive_ifname(t->name, plain.ifname);
	plain.local_addr = conf->gateway.local_addr;
	plain.public_addr = conf->gateway.public_addr;
	plain.ike_lifetime.rekey_margin_s =
		cw_profile_scale(ike->rekey_margin_s, ike->time_s, t->ike_lifetime.time_s);
	plain.ike_lifetime.rekey_jitter_s =
		cw_profile_scale(ike->rekey_jitter_s, ike->time_s, t->ike_lifetime.time_s);
	plain.child_lifetime.rekey_margin_s =
		cw_profile_scale(child->rekey_margin_s, child->time_s, t->child_lifetime.time_s);
	plain.child_lifetime.rekey_jitter_s =
		cw_profile_scale(child->rekey_jitter_s, child->time_s, t->child_lifetime.time_s);
	return plain;
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What is about BGP or an interface says nothing where there is none. */
static bool applies(const struct cw_setting *row, const struct cw_tunnel_conf *t)
{
	size_t bgp = offsetof(struct cw_tunnel_conf, bgp);

	if (row->offset >= bgp && row->offset < bgp + sizeof(t->bgp))
		return t->bgp.peer.family != CW_FAMILY_NONE;
	return t->interface_mode != CW_IF_POLICY ||
	       (row->offset != offsetof(struct cw_tunnel_conf, ifname) &&
		row->offset != offsetof(struct cw_tunnel_conf, mtu));
}

/* Is the tunnel's value to be printed? In the full form each is that there is. */
static bool said(const struct cw_conf *conf, const struct cw_site_conf *site, size_t k,
		 const struct cw_setting *row, enum cw_conf_form form)
{
	const struct cw_tunnel_conf *t = &site->tunnels[k];
	struct cw_tunnel_conf plain = plain_tunnel(conf, site, t, k);

	if (!cw_value_present(row, t))
		return false;
	return !cw_value_equal(row, t, &plain) || (form == CW_CONF_FULL && applies(row, t));
}

/* What all tunnels of a site share stands at the site. A margin that one tunnel got from its
 * lifetime and another was given is not shared, though it be the same number. */
static bool shared(const struct cw_conf *conf, const struct cw_site_conf *site,
		   const struct cw_setting *row, enum cw_conf_form form)
{
	if (!(row->levels & CW_LEVEL_SITE) || row->home != CW_HOME_TUNNEL)
		return false;
	for (size_t k = 0; k < site->n_tunnels; k++) {
		if (!cw_value_equal(row, &site->tunnels[0], &site->tunnels[k]) ||
		    !said(conf, site, k, row, form))
			return false;
	}
	return site->n_tunnels > 0;
}

static void print_row(const struct cw_setting *row, const void *home, const char *indent, FILE *out)
{
	fprintf(out, "%s%s = ", indent, row->name);
	cw_value_print(row, home, out);
	fputs(";\n", out);
}

/* A key as it is printed: the name of its file, or that it is there. row: its KEY_FILE row. */
struct printed_key {
	const char *file;
	bool there;
};

static struct printed_key key_of(const struct cw_setting *row, const struct cw_tunnel_conf *t)
{
	const struct cw_bgp_conf *b = &t->bgp;

	if (strcmp(row->name, "psk-file") == 0)
		return (struct printed_key){ t->psk_file, t->psk || t->psk_omitted };
	return (struct printed_key){ b->password_file, b->password || b->password_omitted };
}

/* What is printed of its key is the same for all tunnels of a site: it stands at the site. */
static bool shared_key(const struct cw_setting *row, const struct cw_site_conf *site)
{
	for (size_t k = 1; k < site->n_tunnels; k++) {
		struct printed_key a = key_of(row, &site->tunnels[0]);
		struct printed_key b = key_of(row, &site->tunnels[k]);

		if (!text_equal(a.file, b.file) || a.there != b.there)
			return false;
	}
	return site->n_tunnels > 0;
}

static void print_key(const struct cw_setting *row, const struct cw_tunnel_conf *t,
		      const char *indent, FILE *out)
{
	struct printed_key key = key_of(row, t);

	if (key.file) {
		fprintf(out, "%s%s = ", indent, row->name);
		cw_text_quote(key.file, out);
		fputs(";\n", out);
	} else if (key.there) {
		fprintf(out, "%s%.*s-omitted = true; # the key stands inline in the original\n",
			indent, (int)(strlen(row->name) - strlen("-file")), row->name);
	}
}

/* Printed with the key, if at all. */
static bool is_omitted(const struct cw_setting *row)
{
	return strstr(row->name, "-omitted") != NULL;
}

static void print_tunnel(const struct cw_conf *conf, const struct cw_site_conf *site, size_t k,
			 enum cw_conf_form form, FILE *out)
{
	static const char indent[] = "\t\t\t\t";
	const struct cw_tunnel_conf *t = &site->tunnels[k];
	const struct cw_setting *row;

	fputs("\t\t\t{\n", out);
	for (size_t i = 0; (row = cw_setting_at(i)) != NULL; i++) {
		if (row->type == CW_TYPE_KEY_FILE && !shared_key(row, site))
			print_key(row, t, indent, out);
		if (row->home != CW_HOME_TUNNEL || is_omitted(row) ||
		    !said(conf, site, k, row, form) || shared(conf, site, row, form))
			continue;
		print_row(row, t, indent, out);
	}
	fprintf(out, "\t\t\t}%s\n", k + 1 < site->n_tunnels ? "," : "");
}

static void print_site(const struct cw_conf *conf, size_t i, enum cw_conf_form form, FILE *out)
{
	static const char indent[] = "\t\t";
	const struct cw_site_conf *site = &conf->sites[i];
	struct cw_site_conf dflt = { 0 };
	const struct cw_setting *row;

	for (size_t k = 0; (row = cw_setting_at(k)) != NULL; k++) {
		if (row->home == CW_HOME_SITE)
			cw_value_set_default(row, &dflt);
	}
	fputs("\t{\n", out);
	for (size_t k = 0; (row = cw_setting_at(k)) != NULL; k++) {
		if (row->home == CW_HOME_SITE && cw_value_present(row, site) &&
		    (form == CW_CONF_FULL || !cw_value_equal(row, site, &dflt)))
			print_row(row, site, indent, out);
		if (row->type == CW_TYPE_KEY_FILE && shared_key(row, site))
			print_key(row, &site->tunnels[0], indent, out);
	}
	for (size_t k = 0; (row = cw_setting_at(k)) != NULL; k++) {
		if (!is_omitted(row) && shared(conf, site, row, form))
			print_row(row, &site->tunnels[0], indent, out);
	}
	fputs("\t\ttunnels = (\n", out);
	for (size_t k = 0; k < site->n_tunnels; k++)
		print_tunnel(conf, site, k, form, out);
	fprintf(out, "\t\t);\n\t}%s\n", i + 1 < conf->n_sites ? "," : "");
}

char *cw_conf_print(const struct cw_conf *conf, enum cw_conf_form form)
{
	struct cw_gateway_conf dflt = { .name = "gateway",
					.control_socket = "/run/causeway/control" };
	const struct cw_setting *row;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	if (form == CW_CONF_FULL)
		fputs("# All that is in force, from the file, the profiles and the defaults. What is not "
		      "here is not set.\n", out);
	fputs("gateway = {\n", out);
	for (size_t i = 0; (row = cw_setting_at(i)) != NULL; i++) {
		if (row->home != CW_HOME_GATEWAY)
			continue;
		cw_value_set_default(row, &dflt);
		if (cw_value_present(row, &conf->gateway) &&
		    (form == CW_CONF_FULL || !cw_value_equal(row, &conf->gateway, &dflt)))
			print_row(row, &conf->gateway, "\t", out);
	}
	fputs("};\nsites = (\n", out);
	for (size_t i = 0; i < conf->n_sites; i++)
		print_site(conf, i, form, out);
	fputs(");\n", out);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
