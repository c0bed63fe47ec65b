/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf_int.h"

#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf/key.h"
#include "conf/value.h"

/* The structs that a group's settings go to. */
struct homes {
	struct cw_gateway_conf *gateway;
	struct cw_site_conf *site;
	struct cw_tunnel_conf *tunnel;
};

/* The two kinds of keys a group may give, each inline or in a file. */
enum key_kind { KEY_PSK, KEY_BGP, KEY_KINDS };

/* Where a key is put that a group gives. */
struct key_slot {
	struct cw_secret **owned[KEY_KINDS];
	struct cw_tunnel_conf *tunnel;
};

static enum key_kind key_kind_of(const struct cw_setting *row)
{
	return strncmp(row->name, "bgp-", 4) == 0 ? KEY_BGP : KEY_PSK;
}

const char *cw_say(struct cw_reader *r, const char *fmt, ...)
{
	char buf[512];
	const char *text;
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	text = cw_pool_copy(r->rep.pool, buf);
	return text ? text : "";
}

void cw_report(struct cw_reader *r, enum cw_conf_severity severity,
	       const struct cw_subject *subject, const char *value, const char *reason,
	       const char *remedy)
{
	struct cw_place place = cw_text_place(&r->text, subject->line);
	char path[160] = "", element[16] = "";

	place.site = subject->site >= 0 ? subject->site : CW_REPORT_NO_SITE;
	if (subject->tunnel >= 0)
		snprintf(path, sizeof(path), "sites[%d].tunnels[%d]", subject->site,
			 subject->tunnel);
	else if (subject->site >= 0)
		snprintf(path, sizeof(path), "sites[%d]", subject->site);
	else if (subject->gateway)
		snprintf(path, sizeof(path), "gateway");
	if (subject->element >= 0)
		snprintf(element, sizeof(element), "[%d]", subject->element);
	cw_reporter_add(&r->rep, severity, &place,
			cw_say(r, "%s%s%s%s", path, *path && *subject->name ? "." : "",
			       subject->name, element),
			value, reason, remedy);
}

static void error(struct cw_reader *r, const struct cw_subject *at, const char *reason,
		  const char *remedy)
{
	cw_report(r, CW_CONF_ERROR, at, "", reason, remedy);
}

/* What other programs call it. */
static const struct {
	const char *name, *remedy;
} foreign[] = {
	{ "pfs", "a group in esp-proposals means PFS, none means none" },
	{ "ike", "it is called ike-proposals here" },
	{ "esp", "it is called esp-proposals here" },
	{ "key", "it is called psk or psk-file here" },
	{ "secret", "it is called psk or psk-file here" },
	{ "lifetime", "there are ike-lifetime and child-lifetime" },
	{ "subnet", "it is called networks here" },
	{ "peer", "it is called remote here" },
	{ "encap", "it is called nat-traversal here" },
};

/* A name that no row has at this level. Its value is never shown: "pks" may be a slip of "psk". */
static void unknown_setting(struct cw_reader *r, const struct cw_subject *at, enum cw_level level)
{
	static const enum cw_level levels[] = { CW_LEVEL_TOP, CW_LEVEL_GATEWAY, CW_LEVEL_SITE,
						CW_LEVEL_TUNNEL };
	const char *names[CW_SETTINGS_MAX] = { 0 }, *near;
	const struct cw_setting *row;

	for (size_t i = 0; (row = cw_setting_at(i)) != NULL; i++)
		names[i] = row->levels & (unsigned)level ? row->name : NULL;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		if (strcmp(foreign[i].name, at->name) == 0) {
			error(r, at, "is not a setting that is known here", foreign[i].remedy);
			return;
		}
	}
	near = cw_nearest(at->name, names, CW_SETTINGS_MAX);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (cw_setting_find(at->name, levels[i]) < 0)
			continue;
		error(r, at, cw_say(r, "is not a setting of %s", cw_level_name(level)),
		      cw_say(r, "it belongs to %s", cw_level_name(levels[i])));
		return;
	}
	error(r, at, "is not a setting that is known here",
	      near ? cw_say(r, "did you mean %s?", near) : "causeway.conf(5) lists them all");
}

static void key_warning(struct cw_reader *r, const struct cw_subject *at,
			const struct cw_secret *key)
{
	char text[160];
	size_t len;
	const uint8_t *bytes = cw_secret_bytes(key, &len);

	if (len >= 2 && bytes[0] == bytes[len - 1] && (bytes[0] == '"' || bytes[0] == '\''))
		cw_report(r, CW_CONF_WARNING, at, "",
			  "the key begins and ends with a quote, and both are part of it",
			  "take them away unless the peer's key has them too");
	if (cw_key_unusual(bytes, len, text, sizeof(text)))
		cw_report(r, CW_CONF_WARNING, at, "",
			  cw_say(r, "the key holds what is not printable ASCII: %s", text),
			  "the peer must hold the same bytes; typed quotes and dashes are often "
			  "turned into others by editors");
}

static void take_key(struct cw_reader *r, const struct cw_subject *at, const struct key_slot *slot,
		     enum key_kind kind, struct cw_secret *key, const char *file, const char *path)
{
	struct cw_bgp_conf *bgp = &slot->tunnel->bgp;
	size_t len;

	cw_secret_bytes(key, &len);
	if (kind == KEY_BGP && len > CW_BGP_PASSWORD_MAX) {
		error(r, at, cw_say(r, "the key has %zu bytes, and TCP MD5 takes 80", len),
		      "choose a shorter one, on both sides");
		cw_secret_free(key);
		return;
	}
	key_warning(r, at, key);
	cw_secret_free(*slot->owned[kind]);
	*slot->owned[kind] = key;
	if (kind == KEY_BGP) {
		bgp->password = key;
		bgp->password_file = file;
		bgp->password_omitted = false;
		return;
	}
	slot->tunnel->psk = key;
	slot->tunnel->psk_file = file;
	slot->tunnel->psk_path = path;
	slot->tunnel->psk_omitted = false;
}

/* A remedy with the file's own name where FILE stands, so that it can be copied to a shell. */
static const char *with_path(struct cw_reader *r, const char *remedy, const char *path)
{
	const char *file = strstr(remedy, "FILE");

	return file ? cw_say(r, "%.*s%s%s", (int)(file - remedy), remedy, path,
			     file + strlen("FILE")) :
		      remedy;
}

static void read_inline_key(struct cw_reader *r, const struct cw_subject *at, const char *text,
			    const struct key_slot *slot, enum key_kind kind)
{
	struct cw_key_fault fault;
	struct cw_secret *key;

	if (cw_key_check((const uint8_t *)text, strlen(text), &fault) != CW_OK) {
		error(r, at, fault.reason, fault.remedy);
		return;
	}
	if (cw_text_exposed(&r->text, at->line)) {
		error(r, at, "a key stands in a file that everybody may read",
		      with_path(r, "chmod 0600 FILE and change the key, or put it in a psk-file",
				cw_text_place(&r->text, at->line).file));
		return;
	}
	key = cw_secret_new(text, strlen(text));
	if (key)
		take_key(r, at, slot, kind, key, NULL, NULL);
}

/* A key put where its file's name belongs looks like no path: do not show it. */
static bool shows_path(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._/-";
	const char *dot = strrchr(path, '.');

	if (strlen(path) > 80 || strspn(path, plain) != strlen(path))
		return false;
	return path[0] == '/' || strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0 ||
	       (dot && (strcmp(dot, ".psk") == 0 || strcmp(dot, ".key") == 0 ||
			strcmp(dot, ".txt") == 0 || strcmp(dot, ".secret") == 0));
}

static void read_key_file(struct cw_reader *r, const struct cw_subject *at, const char *path,
			  const struct key_slot *slot, enum key_kind kind)
{
	struct cw_key_fault fault = { "", "" };
	struct cw_secret *key = NULL;
	char *full = NULL;

	if (!*path || strlen(path) > 1024) {
		error(r, at, *path ? "is too long" : "is empty",
		      "name the file that holds the key");
		return;
	}
	if (asprintf(&full, "%s%s", path[0] == '/' ? "" : r->folder, path) < 0)
		return;
	if (cw_key_read(full, &key, &fault) != CW_OK)
		cw_report(r, CW_CONF_ERROR, at, shows_path(path) ? path : "", fault.reason,
			  with_path(r, fault.remedy, shows_path(path) ? full : "FILE"));
	else
		take_key(r, at, slot, kind, key, cw_pool_copy(r->conf->pool, path),
			 cw_pool_copy(r->conf->pool, full));
	free(full);
}

/* Reads every setting of a group that has a row, into homes; notes where each was. */
static void read_group(struct cw_reader *r, const config_setting_t *group, enum cw_level level,
		       const struct homes *homes, const struct key_slot *slot, unsigned *set,
		       const struct cw_subject *subject)
{
	int n = config_setting_length(group);
	const char *key_name[KEY_KINDS] = { 0 };

	for (int i = 0; i < n; i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);
		enum key_kind kind;
		struct cw_subject at = *subject;
		const struct cw_setting *row;
		void *home = NULL;
		int index;

		at.name = s->name;
		at.line = s->line;
		if (strncmp(s->name, CW_TEXT_DUPLICATE_PREFIX, strlen(CW_TEXT_DUPLICATE_PREFIX)) ==
		    0)
			continue; /* said already */
		index = cw_setting_find(s->name, level);
		if (index < 0) {
			unknown_setting(r, &at, level);
			continue;
		}
		row = cw_setting_at((size_t)index);
		if (row->type == CW_TYPE_GROUP || row->type == CW_TYPE_GROUPS)
			continue; /* read by their own functions */
		home = row->home == CW_HOME_GATEWAY ? (void *)homes->gateway :
		       row->home == CW_HOME_SITE ? (void *)homes->site : (void *)homes->tunnel;
		set[index] = s->line;
		if (!cw_value_read(r, row, s, home, &at))
			continue;
		if (row->type != CW_TYPE_SECRET && row->type != CW_TYPE_KEY_FILE)
			continue;
		kind = key_kind_of(row);
		if (key_name[kind]) {
			error(r, &at, cw_say(r, "stands beside %s", key_name[kind]),
			      "give one of them");
			continue;
		}
		key_name[kind] = row->name;
		if (row->type == CW_TYPE_SECRET)
			read_inline_key(r, &at, s->value.sval ? s->value.sval : "", slot, kind);
		else
			read_key_file(r, &at, s->value.sval ? s->value.sval : "", slot, kind);
	}
}

static const config_setting_t *member(const config_setting_t *group, const char *name)
{
	int n = config_setting_length(group);

	for (int i = 0; i < n; i++) {
		const config_setting_t *s = config_setting_get_elem(group, (unsigned)i);

		if (s->name && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

static void set_defaults(enum cw_home home, void *p)
{
	const struct cw_setting *row;

	for (size_t i = 0; (row = cw_setting_at(i)) != NULL; i++) {
		if (row->home == home)
			cw_value_set_default(row, p);
	}
}

void cw_conf_derive_name(const char *site_name, size_t k,
			 char ret_name[static CW_TUNNEL_NAME_MAX + 1])
{
	/* CW_CONF_TUNNELS_MAX has four digits: it always fits. */
	snprintf(ret_name, CW_TUNNEL_NAME_MAX + 1, "%.48s-%u", site_name,
		 (unsigned)(k + 1) % 10000);
}

void cw_conf_derive_ifname(const char *tunnel_name, char ret_ifname[static CW_IFNAME_SIZE])
{
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a: stable between runs and versions */

	for (const char *p = tunnel_name; *p; p++)
		hash = (hash ^ (uint8_t)*p) * UINT32_C(16777619);
	if (strlen(tunnel_name) <= CW_IFNAME_SIZE - 1 - 3)
		snprintf(ret_ifname, CW_IFNAME_SIZE, "cw-%.12s", tunnel_name);
	else
		snprintf(ret_ifname, CW_IFNAME_SIZE, "cw-%.7s-%04x", tunnel_name,
			 (hash ^ hash >> 16) & 0xffff);
}

/* Margins follow a lifetime that was set without them. */
static void scale(struct cw_lifetime_conf *l, const struct cw_lifetime_conf *profile,
		  bool margin_set, bool jitter_set)
{
	if (!margin_set)
		l->rekey_margin_s =
			cw_profile_scale(profile->rekey_margin_s, profile->time_s, l->time_s);
	if (!jitter_set)
		l->rekey_jitter_s =
			cw_profile_scale(profile->rekey_jitter_s, profile->time_s, l->time_s);
}

static bool was_set(const unsigned *set, const char *name, enum cw_level level)
{
	int i = cw_setting_find(name, level);

	return i >= 0 && set[i] != 0;
}

static bool same_family(const struct cw_addr *a, const struct cw_addr *b)
{
	return a->family == b->family;
}

void cw_conf_complete_bgp(const struct cw_conf *conf, struct cw_tunnel_conf *t)
{
	const struct cw_gateway_conf *gw = &conf->gateway;
	const struct cw_addr *own[] = { &t->inside_addr.addr, &gw->bgp_addr, &gw->router_id };

	if (t->bgp.peer.family == CW_FAMILY_NONE)
		return;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (t->bgp.local.family == CW_FAMILY_NONE && same_family(own[i], &t->bgp.peer))
			t->bgp.local = *own[i];
	}
	if (t->bgp.announce.n == 0)
		t->bgp.announce = gw->announce.n ? gw->announce : gw->networks;
}

static void complete_tunnel(struct cw_reader *r, struct cw_site_conf *site, size_t k,
			    const unsigned *set)
{
	const struct cw_profile *profile = cw_profile_find(site->profile);
	struct cw_tunnel_conf *t = &site->tunnels[k];

	t->site = site;
	if (!*t->name && *site->name)
		cw_conf_derive_name(site->name, k, t->name);
	if (!*t->ifname && *t->name)
		cw_conf_derive_ifname(t->name, t->ifname);
	if (t->local_addr.family == CW_FAMILY_NONE)
		t->local_addr = r->conf->gateway.local_addr;
	if (t->public_addr.family == CW_FAMILY_NONE)
		t->public_addr = r->conf->gateway.public_addr;
	cw_conf_complete_bgp(r->conf, t);
	scale(&t->ike_lifetime, &profile->values.ike_lifetime,
	      was_set(set, "ike-rekey-margin", CW_LEVEL_TUNNEL),
	      was_set(set, "ike-rekey-jitter", CW_LEVEL_TUNNEL));
	scale(&t->child_lifetime, &profile->values.child_lifetime,
	      was_set(set, "child-rekey-margin", CW_LEVEL_TUNNEL),
	      was_set(set, "child-rekey-jitter", CW_LEVEL_TUNNEL));
}

/* Returns the list of groups with this name, or NULL when there is none or it is no such list. */
static const config_setting_t *groups(struct cw_reader *r, const config_setting_t *group,
				      const char *name, const struct cw_subject *subject)
{
	const config_setting_t *list = member(group, name);
	struct cw_subject at = *subject;
	int n;

	if (!list)
		return NULL;
	at.name = name;
	at.line = list->line;
	n = config_setting_is_list(list) ? config_setting_length(list) : -1;
	for (int i = 0; i < n; i++) {
		if (!config_setting_is_group(config_setting_get_elem(list, (unsigned)i)))
			n = -1;
	}
	if (n < 0) {
		error(r, &at, "is not a list of groups", "write ( { ... }, { ... } )");
		return NULL;
	}
	return list;
}

static void read_tunnels(struct cw_reader *r, size_t i, const config_setting_t *group,
			 const struct cw_tunnel_conf *base)
{
	struct cw_site_conf *site = &r->conf->sites[i];
	struct cw_site_source *source = &r->sites[i];
	struct cw_subject subject = {
		.site = (int)i, .tunnel = -1, .line = source->line, .name = "", .element = -1
	};
	const config_setting_t *list = groups(r, group, "tunnels", &subject);
	size_t n = list ? (size_t)config_setting_length(list) : 0;

	if (n == 0) {
		if (list || !member(group, "tunnels"))
			error(r, &subject, "has no tunnel",
			      "write tunnels = ( { remote = \"203.0.113.11\"; } ) with the peer's "
			      "address");
		return;
	}
	site->tunnels = calloc(n, sizeof(*site->tunnels));
	source->tunnels = calloc(n, sizeof(*source->tunnels));
	if (!site->tunnels || !source->tunnels)
		return;
	site->n_tunnels = n;
	for (size_t k = 0; k < n; k++) {
		const config_setting_t *g = config_setting_get_elem(list, (unsigned)k);
		struct cw_tunnel_source *ts = &source->tunnels[k];
		struct cw_tunnel_conf *t = &site->tunnels[k];
		struct homes homes = { .tunnel = t };
		struct key_slot slot = { { &t->own_psk, &t->bgp.own_password }, t };

		*t = *base;
		memcpy(ts->set, source->set, sizeof(ts->set));
		ts->line = g->line ? g->line : source->line;
		subject.tunnel = (int)k;
		subject.line = ts->line;
		read_group(r, g, CW_LEVEL_TUNNEL, &homes, &slot, ts->set, &subject);
		complete_tunnel(r, site, k, ts->set);
	}
}

static void read_site(struct cw_reader *r, size_t i, const config_setting_t *group)
{
	struct cw_site_conf *site = &r->conf->sites[i];
	struct cw_site_source *source = &r->sites[i];
	const config_setting_t *profile = member(group, "profile");
	const struct cw_profile *p = NULL;
	struct cw_tunnel_conf base;
	struct homes homes = { .site = site, .tunnel = &base };
	struct key_slot slot = { { &site->psk, &site->bgp_password }, &base };
	struct cw_subject subject = { .site = (int)i, .tunnel = -1, .name = "", .element = -1 };

	source->line = group->line;
	subject.line = source->line;
	site->line = cw_text_place(&r->text, source->line).line;
	if (profile && profile->type == CONFIG_TYPE_STRING && profile->value.sval)
		p = cw_profile_find(profile->value.sval);
	if (!p)
		p = cw_profile_find("generic");
	set_defaults(CW_HOME_SITE, site);
	site->profile = p->name;
	base = p->values;
	read_group(r, group, CW_LEVEL_SITE, &homes, &slot, source->set, &subject);
	read_tunnels(r, i, group, &base);
}

static void read_sites(struct cw_reader *r, const config_setting_t *root)
{
	struct cw_subject subject = { .site = -1, .tunnel = -1, .name = "", .element = -1 };
	const config_setting_t *list = groups(r, root, "sites", &subject);
	size_t n = list ? (size_t)config_setting_length(list) : 0;
	size_t n_tunnels = 0;

	if (n == 0) {
		if (list || !member(root, "sites"))
			error(r, &subject, "the file names no site",
			      "write sites = ( { name = \"azure\"; profile = \"azure\"; psk-file = "
			      "\"azure.psk\"; networks = [ \"10.20.0.0/16\" ]; tunnels = ( { "
			      "remote = \"203.0.113.11\"; } ); } );");
		return;
	}
	if (n > CW_CONF_TUNNELS_MAX) {
		subject.line = list->line;
		error(r, &subject, "the file has more than 4000 sites", "");
		return;
	}
	r->conf->sites = calloc(n, sizeof(*r->conf->sites));
	r->sites = calloc(n, sizeof(*r->sites));
	if (!r->conf->sites || !r->sites)
		return;
	r->conf->n_sites = n;
	for (size_t i = 0; i < n; i++) {
		read_site(r, i, config_setting_get_elem(list, (unsigned)i));
		n_tunnels += r->conf->sites[i].n_tunnels;
		if (n_tunnels > CW_CONF_TUNNELS_MAX) {
			subject.line = r->sites[i].line;
			error(r, &subject, "the file has more than 4000 tunnels", "");
			return;
		}
	}
}

static void read_gateway(struct cw_reader *r, const config_setting_t *root)
{
	const config_setting_t *group = member(root, "gateway");
	struct cw_gateway_conf *gw = &r->conf->gateway;
	struct homes homes = { .gateway = gw };
	struct cw_subject subject = { .site = -1, .tunnel = -1, .gateway = true, .name = "",
				      .element = -1 };

	snprintf(gw->name, sizeof(gw->name), "gateway");
	gw->control_socket = "/run/causeway/control";
	set_defaults(CW_HOME_GATEWAY, gw);
	if (!group) {
		error(r, &subject, "the file has no gateway",
		      "write gateway = { name = \"homelab\"; networks = [ \"10.10.0.0/16\" ]; };");
		return;
	}
	r->gateway_line = group->line;
	subject.line = group->line;
	if (!config_setting_is_group(group)) {
		error(r, &subject, "is not a group", "write gateway = { ... };");
		return;
	}
	read_group(r, group, CW_LEVEL_GATEWAY, &homes, NULL, r->gateway_set, &subject);
}

static void read_tree(struct cw_reader *r, const config_setting_t *root)
{
	struct cw_subject subject = { .site = -1, .tunnel = -1, .name = "", .element = -1 };
	unsigned set[CW_SETTINGS_MAX] = { 0 };
	struct homes homes = { 0 };

	if (config_setting_length(root) == 0) {
		error(r, &subject, "the file is empty",
		      "causeway.conf(5) begins with examples; one is in "
		      "/etc/causeway/causeway.conf.sample");
		return;
	}
	read_group(r, root, CW_LEVEL_TOP, &homes, NULL, set, &subject);
	read_gateway(r, root);
	read_sites(r, root);
	cw_conf_check(r);
}

/* libconfig's copies of the texts, keys among them. Its scanner's own buffer is out of reach. */
static void wipe_tree(const config_setting_t *s)
{
	int n;

	if (s->type == CONFIG_TYPE_STRING && s->value.sval)
		cw_secret_wipe(s->value.sval, strlen(s->value.sval));
	n = config_setting_is_aggregate(s) ? config_setting_length(s) : 0;
	for (int i = 0; i < n; i++)
		wipe_tree(config_setting_get_elem(s, (unsigned)i));
}

static void parse(struct cw_reader *r)
{
	config_t tree;

	config_init(&tree);
	if (config_read_string(&tree, r->text.buf)) {
		read_tree(r, config_root_setting(&tree));
	} else {
		struct cw_subject at = { .site = -1, .tunnel = -1, .name = "", .element = -1,
					 .line = (unsigned)tree.error_line };
		const char *text = tree.error_text ? tree.error_text : "syntax error";

		error(r, &at, strcmp(text, "syntax error") == 0 ?
			      "the text makes no sense here" : cw_say(r, "%s", text),
		      "look at this line and the one before for a missing = or a comma too many");
	}
	wipe_tree(config_root_setting(&tree));
	config_destroy(&tree);
}

static void free_sources(struct cw_reader *r)
{
	for (size_t i = 0; r->sites && i < r->conf->n_sites; i++)
		free(r->sites[i].tunnels);
	free(r->sites);
	free(r->folder);
	cw_text_free(&r->text);
}

enum cw_rc cw_conf_read(const char *path, struct cw_conf **ret_conf,
			struct cw_conf_report *ret_report)
{
	struct cw_reader r = { .conf = calloc(1, sizeof(struct cw_conf)) };
	const char *slash = strrchr(path, '/');
	enum cw_rc rc = CW_E_NO_MEMORY, end;

	*ret_conf = NULL;
	*ret_report = (struct cw_conf_report){ 0 };
	r.folder = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	if (r.conf)
		r.conf->pool = cw_pool_new();
	if (cw_reporter_init(&r.rep) != CW_OK || !r.folder || !r.conf || !r.conf->pool) {
		cw_reporter_free(&r.rep);
		cw_conf_free(r.conf);
		free(r.folder);
		return CW_E_NO_MEMORY;
	}
	rc = cw_text_read(path, &r.rep, &r.text);
	if (rc == CW_OK && !r.text.broken)
		parse(&r);
	free_sources(&r);
	end = cw_reporter_finish(&r.rep, r.conf, ret_report);
	if (rc == CW_OK)
		rc = end;
	if (rc == CW_OK && ret_report->n_errors)
		rc = CW_E_INVALID;
	if (ret_report->fatal || (rc != CW_OK && rc != CW_E_INVALID)) {
		cw_conf_free(r.conf);
		r.conf = NULL;
	}
	*ret_conf = r.conf;
	return rc;
}
