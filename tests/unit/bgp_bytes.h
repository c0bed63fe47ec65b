/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_bytes: messages written as hex, for the tests of the BGP codecs.
 *
 * Blanks are free. Every block is as long as its bytes, so that a sanitizer sees what is read behind it;
 * bytes_free() in a test's teardown gives all of them back.
 */
#ifndef CW_TEST_BGP_BYTES_H
#define CW_TEST_BGP_BYTES_H

#include "wire/bgp_update.h"

struct cw_span bytes_of(const char *hex);
/* As the field cases write messages: without the marker. */
struct cw_span message_of(const char *hex);
/* What follows the header, which must be a good one. */
struct cw_span body_of(const char *hex);
struct cw_span copy_of(const void *p, size_t n);
int bytes_free(void **state);

void assert_bytes(struct cw_span have, const char *hex);
/* The same, with the name of a row for the message. */
void assert_row(const char *name, struct cw_span have, const char *hex);

struct cw_addr addr_of(const char *text);
struct cw_prefix prefix_of(const char *text);
/* The prefixes of a list, in text, with blanks between them. */
const char *list_of(struct cw_span list, enum cw_bgp_family family);

/* A session with everything: external, 4-octet numbers, both families. */
extern const struct cw_bgp_codec session_full;

/*
 * An UPDATE's attributes are encoded and decoded again, for this session and for one with 2-octet numbers, and
 * must come back the same.
 */
void assert_survives(struct cw_span canonical, const struct cw_bgp_codec *codec);

#endif
