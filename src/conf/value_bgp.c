/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENT_MAX 200 /* characters of one element of a list */

/* RFC 1997, and what RFC 7999 and 8326 added */
static const struct {
	const char *name;
	uint32_t value;
} well_known[] = {
	{ "no-export", UINT32_C(0xffffff01) },
	{ "no-advertise", UINT32_C(0xffffff02) },
	{ "no-export-subconfed", UINT32_C(0xffffff03) },
	{ "blackhole", UINT32_C(0xffff029a) },
	{ "graceful-shutdown", UINT32_C(0xffff0000) },
};

const char *cw_value_community_name(uint32_t value)
{
	for (size_t i = 0; i < sizeof(well_known) / sizeof(well_known[0]); i++) {
		if (well_known[i].value == value)
			return well_known[i].name;
	}
	return NULL;
}

struct list {
	struct cw_reader *r;
	const struct cw_subject *at;
	const config_setting_t *s;
};

static bool refuse(const struct list *l, int i, const char *value, const char *reason,
		   const char *remedy)
{
	struct cw_subject sub = *l->at;

	if (i >= 0) {
		const config_setting_t *e = config_setting_get_elem(l->s, (unsigned)i);

		sub.element = i;
		sub.line = e->line ? e->line : sub.line;
	}
	cw_report(l->r, CW_CONF_ERROR, &sub, value, reason, remedy);
	return false;
}

/* Element i as a text; NULL, and said, when it is none. */
static const char *element(const struct list *l, int i, const char *wanted)
{
	const config_setting_t *e = config_setting_get_elem(l->s, (unsigned)i);

	if (e->type == CONFIG_TYPE_STRING && e->value.sval && strlen(e->value.sval) < ELEMENT_MAX)
		return e->value.sval;
	refuse(l, i, "", e->type == CONFIG_TYPE_STRING ? "is too long" : "is no text in quotes",
	       wanted);
	return NULL;
}

/* What may be shown of a wrong element: a key could stand there by mistake. */
static const char *shown(const char *text)
{
	static const char plain[] = "0123456789abcdefABCDEF.:/ gelxact";

	return strlen(text) <= 64 && strspn(text, plain) == strlen(text) ? text : "";
}

static bool number(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text) || strlen(text) > 10)
		return false;
	*ret = strtoull(text, &end, 10);
	return *end == '\0' && *ret <= max;
}

/* "10.0.0.0/8", "10.0.0.0/8 exact", "10.0.0.0/8 ge 16 le 24" */
static bool read_filter(const struct list *l, int i, const char *text, struct cw_filter *ret)
{
	static const char remedy[] = "write \"10.20.0.0/16\" (with all inside it), "
				     "\"10.20.0.0/16 exact\", or \"10.20.0.0/16 ge 20 le 24\"";
	char copy[ELEMENT_MAX], buf[CW_PREFIX_TEXT_MAX], *save = NULL, *word;
	struct cw_prefix net;
	unsigned bits;
	uint64_t n;

	snprintf(copy, sizeof(copy), "%s", text);
	word = strtok_r(copy, " ", &save);
	if (!word || !strchr(word, '/') || cw_prefix_parse(word, &ret->prefix) != CW_OK)
		return refuse(l, i, shown(text), "is no prefix", remedy);
	if (cw_prefix_has_host_bits(&ret->prefix)) {
		net = cw_prefix_network(&ret->prefix);
		return refuse(l, i, shown(text), "has bits set beyond its length",
			      cw_say(l->r, "write \"%s\"", cw_prefix_print(&net, buf, sizeof(buf))));
	}
	bits = cw_family_bits(ret->prefix.addr.family);
	ret->ge = ret->prefix.len;
	ret->le = (uint8_t)bits;
	while ((word = strtok_r(NULL, " ", &save)) != NULL) {
		const char *value;

		if (strcmp(word, "exact") == 0) {
			ret->le = ret->prefix.len;
			continue;
		}
		value = strtok_r(NULL, " ", &save);
		if ((strcmp(word, "ge") != 0 && strcmp(word, "le") != 0) || !value ||
		    !number(value, bits, &n))
			return refuse(l, i, shown(text), "is no prefix list entry", remedy);
		if (word[0] == 'g')
			ret->ge = (uint8_t)n;
		else
			ret->le = (uint8_t)n;
	}
	if (ret->ge < ret->prefix.len || ret->ge > ret->le)
		return refuse(l, i, shown(text), "can never match",
			      cw_say(l->r, "the prefix' length %u, ge and le must not fall: %u <= ge <= le <= %u",
				     ret->prefix.len, ret->prefix.len, bits));
	return true;
}

static bool read_filters(const struct list *l, const struct cw_setting *row, size_t n, void *home)
{
	struct cw_filters out = { 0 };
	bool good = true;

	out.v = n ? cw_pool_alloc(l->r->conf->pool, n * sizeof(*out.v)) : NULL;
	for (size_t i = 0; out.v && i < n; i++) {
		const char *text = element(l, (int)i, "write a prefix in quotes, as \"10.20.0.0/16\"");

		if (text && read_filter(l, (int)i, text, &out.v[out.n]))
			out.n++;
		else
			good = false;
	}
	if (good)
		memcpy((char *)home + row->offset, &out, sizeof(out));
	return good;
}

static bool read_community(const char *text, uint32_t parts, uint8_t *ret)
{
	uint64_t max = parts == 2 ? UINT16_MAX : UINT32_MAX, n;
	char copy[ELEMENT_MAX], *save = NULL, *word;
	size_t size = parts == 2 ? 2 : 4, k = 0;

	for (size_t i = 0; parts == 2 && i < sizeof(well_known) / sizeof(well_known[0]); i++) {
		uint32_t v = well_known[i].value;

		if (strcmp(well_known[i].name, text) == 0) {
			for (int b = 0; b < 4; b++)
				ret[b] = (uint8_t)(v >> (24 - 8 * b));
			return true;
		}
	}
	snprintf(copy, sizeof(copy), "%s", text);
	if (!isdigit((unsigned char)text[0]) || strstr(text, "::") || text[strlen(text) - 1] == ':')
		return false;
	for (word = strtok_r(copy, ":", &save); word; word = strtok_r(NULL, ":", &save), k++) {
		if (k == parts || !number(word, max, &n))
			return false;
		for (size_t b = 0; b < size; b++)
			ret[k * size + b] = (uint8_t)(n >> (8 * (size - 1 - b)));
	}
	return k == parts;
}

static bool read_communities(const struct list *l, const struct cw_setting *row, size_t n,
			     void *home)
{
	bool large = row->type == CW_TYPE_LARGE_COMMUNITIES;
	size_t size = large ? 12 : 4;
	const char *remedy = large ? "write three numbers, as \"65010:1:2\"" :
				     "write two numbers up to 65535, as \"65010:100\", or no-export, "
				     "no-advertise, no-export-subconfed, blackhole, graceful-shutdown";
	struct cw_octets out = { 0 };
	bool good = true;

	out.v = n ? cw_pool_alloc(l->r->conf->pool, n * size) : NULL;
	for (size_t i = 0; out.v && i < n; i++) {
		const char *text = element(l, (int)i, remedy);

		if (text && *text && read_community(text, large ? 3 : 2, out.v + out.n)) {
			out.n += size;
			continue;
		}
		if (text)
			refuse(l, (int)i, shown(text),
			       large ? "is no large community" : "is no community", remedy);
		good = false;
	}
	if (good)
		memcpy((char *)home + row->offset, &out, sizeof(out));
	return good;
}

static bool read_names(const struct list *l, const struct cw_setting *row, size_t n, void *home)
{
	struct cw_names out = { 0 };
	bool good = true;

	out.v = n ? cw_pool_alloc(l->r->conf->pool, n * sizeof(*out.v)) : NULL;
	for (size_t i = 0; out.v && i < n; i++) {
		const char *text = element(l, (int)i, "write a site's name in quotes");

		if (text) {
			out.v[out.n] = cw_pool_copy(l->r->conf->pool, text);
			out.n += out.v[out.n] != NULL;
		}
		good &= text != NULL;
	}
	if (good)
		memcpy((char *)home + row->offset, &out, sizeof(out));
	return good;
}

bool cw_value_read_list(struct cw_reader *r, const struct cw_setting *row,
			const struct config_setting_t *s, void *home, const struct cw_subject *at)
{
	struct list l = { r, at, s };
	size_t n = (size_t)config_setting_length(s);

	if (n > row->max)
		return refuse(&l, -1, "", cw_say(r, "has %zu elements", n),
			      cw_say(r, "at most %" PRIu64, row->max));
	switch (row->type) {
	case CW_TYPE_FILTERS:
		return read_filters(&l, row, n, home);
	case CW_TYPE_COMMUNITIES:
	case CW_TYPE_LARGE_COMMUNITIES:
		return read_communities(&l, row, n, home);
	default:
		return read_names(&l, row, n, home);
	}
}

/* ---- print ---- */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void print_filter(const struct cw_filter *f, FILE *out)
{
	unsigned bits = cw_family_bits(f->prefix.addr.family);
	char buf[CW_PREFIX_TEXT_MAX];

	fprintf(out, "\"%s", cw_prefix_print(&f->prefix, buf, sizeof(buf)));
	if (f->le == f->prefix.len && f->prefix.len < bits) {
		fputs(" exact", out);
	} else {
		if (f->ge != f->prefix.len)
			fprintf(out, " ge %u", f->ge);
		if (f->le != bits)
			fprintf(out, " le %u", f->le);
	}
	fputc('"', out);
}

void cw_value_print_list(const struct cw_setting *row, const void *home, FILE *out)
{
	const void *p = (const char *)home + row->offset;
	size_t size = row->type == CW_TYPE_LARGE_COMMUNITIES ? 12 : 4;
	struct cw_filters filters = { 0 };
	struct cw_octets octets = { 0 };
	struct cw_names names = { 0 };
	const char *sep = "[ ";

	if (row->type == CW_TYPE_FILTERS)
		memcpy(&filters, p, sizeof(filters));
	else if (row->type == CW_TYPE_NAMES)
		memcpy(&names, p, sizeof(names));
	else
		memcpy(&octets, p, sizeof(octets));
	for (size_t i = 0; i < filters.n; i++, sep = ", ") {
		fputs(sep, out);
		print_filter(&filters.v[i], out);
	}
	for (size_t i = 0; i < names.n; i++, sep = ", ") {
		fputs(sep, out);
		cw_text_quote(names.v[i], out);
	}
	for (size_t i = 0; i + size <= octets.n; i += size, sep = ", ") {
		const uint8_t *c = octets.v + i;
		const char *name = size == 4 ? cw_value_community_name(be32(c)) : NULL;

		if (name)
			fprintf(out, "%s\"%s\"", sep, name);
		else if (size == 4)
			fprintf(out, "%s\"%u:%u\"", sep, c[0] << 8 | c[1], c[2] << 8 | c[3]);
		else
			fprintf(out, "%s\"%" PRIu32 ":%" PRIu32 ":%" PRIu32 "\"", sep, be32(c),
				be32(c + 4), be32(c + 8));
	}
	fputs(sep[0] == '[' ? "[ ]" : " ]", out);
}

static bool filters_equal(const struct cw_filters *a, const struct cw_filters *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++) {
		if (cw_prefix_compare(&a->v[i].prefix, &b->v[i].prefix) != 0 ||
		    a->v[i].ge != b->v[i].ge || a->v[i].le != b->v[i].le)
			return false;
	}
	return a->n == b->n;
}

static bool names_equal(const struct cw_names *a, const struct cw_names *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++) {
		if (strcmp(a->v[i], b->v[i]) != 0)
			return false;
	}
	return a->n == b->n;
}

bool cw_value_equal_list(const struct cw_setting *row, const void *a, const void *b)
{
	const void *pa = (const char *)a + row->offset, *pb = (const char *)b + row->offset;
	struct cw_filters fa, fb;
	struct cw_octets oa, ob;
	struct cw_names na, nb;

	switch (row->type) {
	case CW_TYPE_FILTERS:
		memcpy(&fa, pa, sizeof(fa));
		memcpy(&fb, pb, sizeof(fb));
		return filters_equal(&fa, &fb);
	case CW_TYPE_NAMES:
		memcpy(&na, pa, sizeof(na));
		memcpy(&nb, pb, sizeof(nb));
		return names_equal(&na, &nb);
	default:
		memcpy(&oa, pa, sizeof(oa));
		memcpy(&ob, pb, sizeof(ob));
		return oa.n == ob.n && (oa.n == 0 || memcmp(oa.v, ob.v, oa.n) == 0);
	}
}

bool cw_value_present_list(const struct cw_setting *row, const void *home)
{
	const void *p = (const char *)home + row->offset;
	struct cw_filters filters;
	struct cw_octets octets;
	struct cw_names names;

	switch (row->type) {
	case CW_TYPE_FILTERS:
		memcpy(&filters, p, sizeof(filters));
		return filters.n > 0;
	case CW_TYPE_NAMES:
		memcpy(&names, p, sizeof(names));
		return names.n > 0;
	default:
		memcpy(&octets, p, sizeof(octets));
		return octets.n > 0;
	}
}
