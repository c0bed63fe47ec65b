/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Access without a cast to the member's type: the offset says where, the type how wide. */
#define STORE(home, row, value) memcpy((char *)(home) + (row)->offset, &(value), sizeof(value))
#define LOAD(home, row, value) memcpy(&(value), (const char *)(home) + (row)->offset, sizeof(value))

void cw_value_set_default(const struct cw_setting *row, void *home)
{
	bool yes = row->dflt && strcmp(row->dflt, "true") == 0;

	/* Texts come as "...". */
	if (!row->dflt || row->home == CW_HOME_NONE)
		return;
	if (row->type == CW_TYPE_NUMBER32) {
		uint32_t number = (uint32_t)strtoul(row->dflt, NULL, 10);

		STORE(home, row, number);
	}
	if (row->type == CW_TYPE_BOOL)
		STORE(home, row, yes);
	for (unsigned i = 0; row->type == CW_TYPE_CHOICE && row->choices[i]; i++) {
		if (strncmp(row->dflt + 1, row->choices[i], strlen(row->choices[i])) == 0)
			STORE(home, row, i);
	}
}

bool cw_value_present(const struct cw_setting *row, const void *home)
{
	const void *p = (const char *)home + row->offset;
	struct cw_prefixes networks;
	struct cw_prefix prefix;
	struct cw_addr addr;
	const char *text;
	uint32_t number;
	uint64_t wide;

	switch (row->type) {
	case CW_TYPE_NAME:
	case CW_TYPE_IFNAME:
		return *(const char *)p != '\0';
	case CW_TYPE_PROFILE:
	case CW_TYPE_ID:
	case CW_TYPE_PATH:
	case CW_TYPE_TEXT:
	case CW_TYPE_HOST:
		LOAD(home, row, text);
		return text != NULL;
	case CW_TYPE_ADDR:
	case CW_TYPE_ADDR4:
		LOAD(home, row, addr);
		return addr.family != CW_FAMILY_NONE;
	case CW_TYPE_ADDR_LEN:
		LOAD(home, row, prefix);
		return prefix.addr.family != CW_FAMILY_NONE;
	case CW_TYPE_NETWORKS:
		LOAD(home, row, networks);
		return networks.n > 0;
	case CW_TYPE_FILTERS:
	case CW_TYPE_COMMUNITIES:
	case CW_TYPE_LARGE_COMMUNITIES:
	case CW_TYPE_NAMES:
		return cw_value_present_list(row, home);
	case CW_TYPE_NUMBER64:
		LOAD(home, row, wide);
		return wide <= row->max;
	case CW_TYPE_NUMBER32:
		LOAD(home, row, number);
		return number != 0 || row->min == 0;
	default:
		return row->home != CW_HOME_NONE;
	}
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool cw_value_equal(const struct cw_setting *row, const void *a, const void *b)
{
	struct cw_prefixes na, nb;
	struct cw_prefix pa, pb;
	struct cw_proposals la, lb;
	struct cw_addr aa, ab;
	const char *ta, *tb;
	uint64_t qa, qb;
	uint32_t da, db;
	bool ba, bb;

	switch (row->type) {
	case CW_TYPE_NAME:
	case CW_TYPE_IFNAME:
		return strcmp((const char *)a + row->offset, (const char *)b + row->offset) == 0;
	case CW_TYPE_PROFILE:
	case CW_TYPE_ID:
	case CW_TYPE_PATH:
	case CW_TYPE_TEXT:
	case CW_TYPE_HOST:
		LOAD(a, row, ta);
		LOAD(b, row, tb);
		return text_equal(ta, tb);
	case CW_TYPE_ADDR:
	case CW_TYPE_ADDR4:
		LOAD(a, row, aa);
		LOAD(b, row, ab);
		return cw_addr_equal(&aa, &ab);
	case CW_TYPE_ADDR_LEN:
		LOAD(a, row, pa);
		LOAD(b, row, pb);
		return cw_prefix_compare(&pa, &pb) == 0;
	case CW_TYPE_NETWORKS:
		LOAD(a, row, na);
		LOAD(b, row, nb);
		for (size_t i = 0; na.n == nb.n && i < na.n; i++) {
			if (cw_prefix_compare(&na.v[i], &nb.v[i]) != 0)
				return false;
		}
		return na.n == nb.n;
	case CW_TYPE_NUMBER32:
	case CW_TYPE_CHOICE:
		LOAD(a, row, da);
		LOAD(b, row, db);
		return da == db;
	case CW_TYPE_NUMBER64:
		LOAD(a, row, qa);
		LOAD(b, row, qb);
		return qa == qb;
	case CW_TYPE_BOOL:
		LOAD(a, row, ba);
		LOAD(b, row, bb);
		return ba == bb;
	case CW_TYPE_IKE_PROPOSALS:
	case CW_TYPE_ESP_PROPOSALS:
		LOAD(a, row, la);
		LOAD(b, row, lb);
		for (size_t i = 0; la.n == lb.n && i < la.n; i++) {
			if (strcmp(la.v[i], lb.v[i]) != 0)
				return false;
		}
		return la.n == lb.n;
	case CW_TYPE_FILTERS:
	case CW_TYPE_COMMUNITIES:
	case CW_TYPE_LARGE_COMMUNITIES:
	case CW_TYPE_NAMES:
		return cw_value_equal_list(row, a, b);
	default:
		return true;
	}
}

void cw_text_quote(const char *text, FILE *out)
{
	fputc('"', out);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\x%02x", *p);
		else
			fputc(*p, out);
	}
	fputc('"', out);
}

void cw_value_print(const struct cw_setting *row, const void *home, FILE *out)
{
	char buf[CW_PREFIX_TEXT_MAX];
	struct cw_prefixes networks;
	struct cw_proposals proposals;
	struct cw_prefix prefix;
	struct cw_addr addr;
	const char *text;
	uint64_t wide;
	uint32_t number;
	bool flag;

	switch (row->type) {
	case CW_TYPE_NAME:
	case CW_TYPE_IFNAME:
		cw_text_quote((const char *)home + row->offset, out);
		break;
	case CW_TYPE_PROFILE:
	case CW_TYPE_ID:
	case CW_TYPE_PATH:
	case CW_TYPE_TEXT:
	case CW_TYPE_HOST:
		LOAD(home, row, text);
		cw_text_quote(text ? text : "", out);
		break;
	case CW_TYPE_ADDR:
	case CW_TYPE_ADDR4:
		LOAD(home, row, addr);
		cw_text_quote(cw_addr_print(&addr, buf, sizeof(buf)), out);
		break;
	case CW_TYPE_ADDR_LEN:
		LOAD(home, row, prefix);
		cw_text_quote(cw_prefix_print(&prefix, buf, sizeof(buf)), out);
		break;
	case CW_TYPE_NETWORKS:
		LOAD(home, row, networks);
		for (size_t i = 0; i < networks.n; i++)
			fprintf(out, "%s\"%s\"", i ? ", " : "[ ",
				cw_prefix_print(&networks.v[i], buf, sizeof(buf)));
		fputs(networks.n ? " ]" : "[ ]", out);
		break;
	case CW_TYPE_IKE_PROPOSALS:
	case CW_TYPE_ESP_PROPOSALS:
		LOAD(home, row, proposals);
		for (size_t i = 0; i < proposals.n; i++)
			fprintf(out, "%s\"%s\"", i ? ", " : "[ ", proposals.v[i]);
		fputs(proposals.n ? " ]" : "[ ]", out);
		break;
	case CW_TYPE_NUMBER32:
		LOAD(home, row, number);
		fprintf(out, "%" PRIu32, number);
		break;
	case CW_TYPE_NUMBER64:
		LOAD(home, row, wide);
		fprintf(out, "%" PRIu64, wide);
		break;
	case CW_TYPE_CHOICE:
		LOAD(home, row, number);
		cw_text_quote(row->choices[number], out);
		break;
	case CW_TYPE_BOOL:
		LOAD(home, row, flag);
		fputs(flag ? "true" : "false", out);
		break;
	case CW_TYPE_FILTERS:
	case CW_TYPE_COMMUNITIES:
	case CW_TYPE_LARGE_COMMUNITIES:
	case CW_TYPE_NAMES:
		cw_value_print_list(row, home, out);
		break;
	default:
		break;
	}
}
