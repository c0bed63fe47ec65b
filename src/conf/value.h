/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value: one setting's value, from libconfig's tree to its struct, and from the struct to text.
 *
 * What a finding may show of a wrong value depends on what could stand there by mistake: a key that
 * was put in the wrong place must not be printed.
 */
#ifndef CW_CONF_VALUE_H
#define CW_CONF_VALUE_H

#include <stdbool.h>
#include <stdio.h>

#include "conf/conf_int.h"

struct config_setting_t;

/*
 * Checks the setting s of the file against row, its type and range, and stores it in home (the
 * struct that row->home names). What is wrong is reported, and home keeps what it had.
 * Returns whether it was stored.
 */
bool cw_value_read(struct cw_reader *r, const struct cw_setting *row,
		   const struct config_setting_t *s, void *home, const struct cw_subject *at);

/* The row's default, if it has one, to home. */
void cw_value_set_default(const struct cw_setting *row, void *home);

/* Whether the row's value is the same in two structs of its kind. */
bool cw_value_equal(const struct cw_setting *row, const void *a, const void *b);
/* Whether the row has a value in home at all: an empty list, no address, NULL and AS 0 are none. */
bool cw_value_present(const struct cw_setting *row, const void *home);
/* As it would be written in the file. */
void cw_value_print(const struct cw_setting *row, const void *home, FILE *out);

/* The same for lists of filters, communities and names (value_bgp.c). s: a list. */
bool cw_value_read_list(struct cw_reader *r, const struct cw_setting *row,
			const struct config_setting_t *s, void *home, const struct cw_subject *at);
bool cw_value_equal_list(const struct cw_setting *row, const void *a, const void *b);
bool cw_value_present_list(const struct cw_setting *row, const void *home);
void cw_value_print_list(const struct cw_setting *row, const void *home, FILE *out);
/* The name of a well-known community, or NULL. */
const char *cw_value_community_name(uint32_t value);

/* A text in quotes with libconfig's escapes. */
void cw_text_quote(const char *text, FILE *out);

/* Whether a text that should be an address or DNS name may be shown: it looks like one. */
bool cw_value_shows_host(const char *text);

#endif
