/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bgp_priv: what the files of the BGP codecs share with each other and with nobody else.
 */
#ifndef CW_WIRE_BGP_PRIV_H
#define CW_WIRE_BGP_PRIV_H

#include "wire/bgp.h"
#include "wire/bgp_attr.h"

#define CW_BGP_MARKER_LEN 16

enum cw_family cw_bgp_addr_family(enum cw_bgp_family family);

/* Is the list made of whole prefixes of this family? If not, where the first bad one begins. */
bool cw_bgp_prefixes_check(struct cw_span list, enum cw_bgp_family family, size_t *ret_bad_at);

/* A header whose length cw_bgp_message_end() fills in; the message begins where the writer does. */
void cw_bgp_header_put(struct cw_writer *w, uint8_t type);
/* Length of the message, 0 when it did not fit. */
size_t cw_bgp_message_end(struct cw_writer *w);

/* Fills reterr and returns CW_E_PEER. */
enum cw_rc cw_bgp_fail(struct cw_bgp_err *reterr, uint8_t code, uint8_t subcode, size_t offset,
	struct cw_span data, const char *why);

/* ---- path attributes ---- */

/* One row of the table: what an attribute must look like, and what a fault in it costs. */
struct cw_bgp_attr_rule {
	const char *name;
	uint8_t flags;      /* Optional and Transitive, as they must be */
	bool internal_only; /* from an external peer it is left out unread (RFC 7606 7.5, 7.9, 7.10)
			     */
	uint16_t min, max;  /* octets of the value */
	uint8_t unit;       /* the length is a multiple of this */
	uint8_t as2_len;    /* length on a session without 4-octet numbers where it differs; 0: the
			       same */
	enum cw_bgp_verdict bad_flags, bad_value; /* bad_value: length and content */
	uint8_t subcode;                          /* of CW_BGP_E_UPDATE for bad content */
};

/* NULL: we don't know this attribute. */
const struct cw_bgp_attr_rule *cw_bgp_attr_rule(uint8_t type);

/* An attribute in whatever order, flags and length as they came. */
struct cw_bgp_attr {
	uint8_t flags, type;
	struct cw_span value;
	struct cw_span whole; /* with its header */
};

enum cw_bgp_get { CW_BGP_GET_ONE, CW_BGP_GET_END, CW_BGP_GET_BROKEN };

/* The next attribute. BROKEN: it does not fit into what is left (RFC 7606 4): `whole` is what
 * there is, and type and flags are what could be read. */
enum cw_bgp_get cw_bgp_attr_get(struct cw_cursor *c, struct cw_bgp_attr *ret_attr);

/* Header and value; the extended length bit is set when it must be and only then. */
void cw_bgp_attr_put(struct cw_writer *w, uint8_t flags, uint8_t type, struct cw_span value);
/* The header alone; len octets follow. */
void cw_bgp_attr_put_header(struct cw_writer *w, uint8_t flags, uint8_t type, size_t len);

/* Begins an attribute whose length is not known yet; returns what cw_bgp_attr_end() wants. That
 * writes the header anew, in its short form where it does. Longer than an attribute can be: the
 * writer fails. */
size_t cw_bgp_attr_begin(struct cw_writer *w, uint8_t flags, uint8_t type);
void cw_bgp_attr_end(struct cw_writer *w, size_t at);

/* Attribute 32 as a set, of the values in both spans. */
void cw_bgp_large_communities_put(
	struct cw_writer *w, uint8_t flags, struct cw_span value, struct cw_span more);

/* Notes in the view what decision and policy look at; value in canonical form and well-formed. */
void cw_bgp_attrs_note(struct cw_bgp_attrs_view *view, uint8_t type, struct cw_span value);

/* ---- AS paths: segments of a type, a count and so many numbers of 2 or 4 octets ---- */

enum cw_bgp_segment_type { /* RFC 4271 4.3, RFC 5065 3 */
	CW_BGP_AS_SET = 1,
	CW_BGP_AS_SEQUENCE = 2,
	CW_BGP_AS_CONFED_SEQUENCE = 3,
	CW_BGP_AS_CONFED_SET = 4,
};

#define CW_BGP_SEGMENT_MAX 255

struct cw_bgp_segment {
	uint8_t type;
	uint8_t n;
	struct cw_span asns; /* n numbers */
};

/* The next segment; false at the end, and on an error, which makes the cursor fail. */
bool cw_bgp_segment_get(struct cw_cursor *c, size_t width, struct cw_bgp_segment *ret_segment);

/* Why a path is malformed (RFC 7606 7.2, RFC 7607), or NULL. */
const char *cw_bgp_path_fault(struct cw_span path, size_t width, bool external);

/* AS numbers as decision counts them: RFC 4271 9.1.2.2, RFC 5065 5.3. */
unsigned cw_bgp_path_units(struct cw_span path, size_t width);

/* Writes the path with numbers of `to` octets; what does not fit into two is AS_TRANS. */
void cw_bgp_path_convert(struct cw_writer *w, struct cw_span path, size_t from, size_t to);

/* RFC 6793 4.2.3: a path with 2-octet numbers and a well-formed AS4_PATH make one with 4-octet
 * numbers. */
void cw_bgp_path_merge(struct cw_writer *w, struct cw_span path2, struct cw_span as4_path);

/* ---- text that is cut with an ellipsis ---- */

struct cw_bgp_text {
	char *buf;
	size_t size, at;
	bool full;
};

struct cw_bgp_text cw_bgp_text_of(char *buf, size_t size);
/* Adds all of it, or cuts here. */
void cw_bgp_text_add(struct cw_bgp_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A number of 2 or 4 octets. */
static inline uint32_t cw_bgp_asn_get(struct cw_cursor *c, size_t width)
{
	return width == 2 ? cw_get_u16(c) : cw_get_u32(c);
}

#endif
