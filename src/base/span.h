/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span: a read cursor and a bounded writer over bytes.
 *
 * Every read and write is checked. Failure sticks: after the first one reads give zeros and writes do
 * nothing, so that a decoder reads straight down and asks once, at its end. Nothing is owned; numbers on
 * the wire are in network order.
 */
#ifndef CW_BASE_SPAN_H
#define CW_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of somebody else's. */
struct cw_span {
	const uint8_t *p;
	size_t n;
};

struct cw_cursor {
	const uint8_t *start, *at, *end;
	bool failed;
};

struct cw_writer {
	uint8_t *start, *at, *end;
	bool failed;
};

static inline struct cw_cursor cw_cursor_of(struct cw_span in)
{
	return (struct cw_cursor){ .start = in.p, .at = in.p, .end = in.p ? in.p + in.n : in.p };
}

static inline bool cw_cursor_ok(const struct cw_cursor *c)
{
	return !c->failed;
}

/* Bytes not yet read; none after a failure, so that a loop over what is left ends. */
static inline size_t cw_cursor_left(const struct cw_cursor *c)
{
	return c->failed ? 0 : (size_t)(c->end - c->at);
}

/* Bytes read so far: the offset for an error. */
static inline size_t cw_cursor_at(const struct cw_cursor *c)
{
	return (size_t)(c->at - c->start);
}

/* The next n bytes, as a span of the same memory; on failure an empty one. */
static inline struct cw_span cw_get_span(struct cw_cursor *c, size_t n)
{
	struct cw_span out = { .p = c->at, .n = n };

	if (n > cw_cursor_left(c) || c->failed) {
		c->failed = true;
		return (struct cw_span){ 0 };
	}
	c->at += n;
	return out;
}

static inline uint8_t cw_get_u8(struct cw_cursor *c)
{
	struct cw_span s = cw_get_span(c, 1);

	return s.n ? s.p[0] : 0;
}

static inline uint16_t cw_get_u16(struct cw_cursor *c)
{
	struct cw_span s = cw_get_span(c, 2);

	return s.n ? (uint16_t)(s.p[0] << 8 | s.p[1]) : 0;
}

static inline uint32_t cw_get_u32(struct cw_cursor *c)
{
	struct cw_span s = cw_get_span(c, 4);

	return s.n ? (uint32_t)s.p[0] << 24 | (uint32_t)s.p[1] << 16 | (uint32_t)s.p[2] << 8 |
			      s.p[3] :
		     0;
}

static inline struct cw_writer cw_writer_of(uint8_t *buf, size_t size)
{
	return (struct cw_writer){ .start = buf, .at = buf, .end = buf + size };
}

static inline bool cw_writer_ok(const struct cw_writer *w)
{
	return !w->failed;
}

static inline size_t cw_writer_len(const struct cw_writer *w)
{
	return (size_t)(w->at - w->start);
}

static inline size_t cw_writer_room(const struct cw_writer *w)
{
	return w->failed ? 0 : (size_t)(w->end - w->at);
}

static inline void cw_put_bytes(struct cw_writer *w, const void *p, size_t n)
{
	if (n > cw_writer_room(w)) {
		w->failed = true;
		return;
	}
	if (n)
		memcpy(w->at, p, n);
	w->at += n;
}

static inline void cw_put_u8(struct cw_writer *w, uint8_t v)
{
	cw_put_bytes(w, &v, 1);
}

static inline void cw_put_u16(struct cw_writer *w, uint16_t v)
{
	uint8_t b[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	cw_put_bytes(w, b, sizeof(b));
}

static inline void cw_put_u32(struct cw_writer *w, uint32_t v)
{
	uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };

	cw_put_bytes(w, b, sizeof(b));
}

/* Overwrites two bytes written before, at offset: a length that is known only now. */
static inline void cw_patch_u16(struct cw_writer *w, size_t offset, uint16_t v)
{
	if (w->failed || offset + 2 > cw_writer_len(w)) {
		w->failed = true;
		return;
	}
	w->start[offset] = (uint8_t)(v >> 8);
	w->start[offset + 1] = (uint8_t)v;
}

#endif
