/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cover: which networks an agreed set of selectors leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tunnel/cover.h"

#define LIST_MAX 8

/* "a,b,c" to prefixes. */
static size_t list(const char *text, struct cw_prefix *v)
{
	char copy[256], *save = NULL;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		assert_true(n < LIST_MAX);
		assert_int_equal(cw_prefix_parse(word, &v[n++]), CW_OK);
	}
	return n;
}

/* "local=remote local=remote" to children; a '!' before one: it is being replaced. */
static size_t children_of(const char *text, struct cw_child_info *v)
{
	char copy[256], *save = NULL;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		struct cw_child_info *c = &v[n++];
		char *remote = strchr(word, '=');

		assert_non_null(remote);
		*remote++ = '\0';
		*c = (struct cw_child_info){ .state = word[0] == '!' ? CW_CHILD_REKEYED : CW_CHILD_INSTALLED };
		c->n_local_ts = list(word + (word[0] == '!'), c->local_ts);
		c->n_remote_ts = list(remote, c->remote_ts);
	}
	return n;
}

static void test_gaps(void **state)
{
	static const struct {
		const char *children, *ours, *theirs;
		const char *gaps; /* "ours=theirs", in order */
	} rows[] = {
		{ "0.0.0.0/0=0.0.0.0/0", "10.10.0.0/16", "10.20.0.0/16", "" },
		{ "0.0.0.0/0,::/0=0.0.0.0/0,::/0", "10.10.0.0/16,fd10::/48", "10.20.0.0/16,fd20::/48", "" },
		/* IKEv1 has one pair of selectors. */
		{ "0.0.0.0/0=0.0.0.0/0", "10.10.0.0/16,fd10::/48", "10.20.0.0/16,fd20::/48",
			"fd10::/48=fd20::/48 " },
		/* narrowed: outside, short, just right, wider */
		{ "10.10.0.0/16=10.99.0.0/16", "10.10.0.0/16", "10.20.0.0/16", "10.10.0.0/16=10.20.0.0/16 " },
		{ "10.10.0.0/16=10.20.5.0/24", "10.10.0.0/16", "10.20.0.0/16", "10.10.0.0/16=10.20.0.0/16 " },
		{ "10.10.5.0/24=10.20.0.0/16", "10.10.0.0/16", "10.20.0.0/16", "10.10.0.0/16=10.20.0.0/16 " },
		{ "10.10.0.0/16=10.20.0.0/16", "10.10.0.0/16", "10.20.0.0/16", "" },
		{ "10.0.0.0/8=10.16.0.0/12", "10.10.0.0/16", "10.20.0.0/16", "" },
		{ "10.10.0.0/16=10.20.0.0/16", "10.10.0.0/16,10.11.0.0/16", "10.20.0.0/16,10.21.0.0/16",
			"10.10.0.0/16=10.21.0.0/16 10.11.0.0/16=10.20.0.0/16 10.11.0.0/16=10.21.0.0/16 " },
		/* pairs: each by a child of its own, one of them narrowed */
		{ "10.10.0.0/16=10.20.0.0/16 10.10.0.0/16=10.21.0.0/16", "10.10.0.0/16",
			"10.20.0.0/16,10.21.0.0/16", "" },
		{ "10.10.0.0/16=10.20.0.0/16 10.11.0.0/16=10.20.1.0/24", "10.10.0.0/16,10.11.0.0/16",
			"10.20.0.0/16", "10.11.0.0/16=10.20.0.0/16 " },
		/* both sides must be in the same child */
		{ "10.10.0.0/16=10.20.0.0/16 10.11.0.0/16=10.21.0.0/16", "10.10.0.0/16",
			"10.20.0.0/16,10.21.0.0/16", "10.10.0.0/16=10.21.0.0/16 " },
		/* several selectors in one child */
		{ "10.10.0.0/16=10.20.0.0/16,10.21.0.0/16", "10.10.0.0/16", "10.21.0.0/16", "" },
		/* what is being replaced carries nothing new */
		{ "!0.0.0.0/0=0.0.0.0/0 10.10.0.0/16=10.20.1.0/24", "10.10.0.0/16", "10.20.0.0/16",
			"10.10.0.0/16=10.20.0.0/16 " },
		/* BGP alone: no networks of theirs, or none at all, in the file */
		{ "10.10.0.0/24=10.20.0.0/16", "10.10.0.0/16", "", "10.10.0.0/16=none " },
		{ "10.10.0.0/16=10.20.0.0/16", "10.10.0.0/16", "", "" },
		{ "10.10.0.0/16=10.20.0.0/16", "", "10.21.0.0/16", "none=10.21.0.0/16 " },
		{ "10.10.0.0/16=10.20.0.0/16", "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cw_prefix a[LIST_MAX], b[LIST_MAX];
		struct cw_child_info children[LIST_MAX];
		const struct cw_child_info *known[LIST_MAX];
		struct cw_prefixes ours = { a, list(rows[i].ours, a) }, theirs = { b, list(rows[i].theirs, b) };
		size_t n_children = children_of(rows[i].children, children), n;
		struct cw_view_gap gaps[LIST_MAX];
		char text[512] = "", x[CW_PREFIX_TEXT_MAX], y[CW_PREFIX_TEXT_MAX];

		for (size_t k = 0; k < n_children; k++)
			known[k] = &children[k];
		n = cw_cover_gaps(known, n_children, &ours, &theirs, gaps, LIST_MAX);
		for (size_t k = 0; k < n; k++) {
			size_t used = strlen(text);

			snprintf(text + used, sizeof(text) - used, "%s=%s ",
				cw_prefix_print(&gaps[k].ours, x, sizeof(x)),
				cw_prefix_print(&gaps[k].theirs, y, sizeof(y)));
		}
		if (strcmp(text, rows[i].gaps) != 0)
			fail_msg("row %zu: %s", i, text);
		/* All are counted, though there is room for none. */
		assert_int_equal(cw_cover_gaps(known, n_children, &ours, &theirs, NULL, 0), n);
	}
}

/* More selectors than are told: silence, not a false alarm. */
static void test_unknown(void **state)
{
	struct cw_prefix net;
	struct cw_prefixes ours = { &net, 1 };
	struct cw_child_info child;
	const struct cw_child_info *known = &child;

	(void)state;
	list("10.10.0.0/16", &net);
	children_of("10.1.0.0/16,10.2.0.0/16,10.3.0.0/16,10.4.0.0/16=0.0.0.0/0", &child);
	assert_int_equal(cw_cover_gaps(&known, 1, &ours, &(struct cw_prefixes){ 0 }, NULL, 0), 1);
	child.n_local_ts = CW_IKE_TS_MAX + 1;
	assert_int_equal(cw_cover_gaps(&known, 1, &ours, &(struct cw_prefixes){ 0 }, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
