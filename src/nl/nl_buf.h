/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_buf: netlink messages built into and read from bounded buffers.
 *
 * What libmnl leaves to its caller: that the header fits before it is written, that a message read
 * from a peer is as long as it says, and that an attribute is as long as its use needs. Building
 * never writes past the buffer; reading never looks past the message, also where its length is no
 * multiple of four. Pure: no socket, no allocation.
 *
 * Buffers must be aligned as for struct nlmsghdr. Nothing here may be dereferenced as a struct with
 * 64-bit members in place: netlink aligns to four bytes, so such structs are copied out.
 */
#ifndef CW_NL_NL_BUF_H
#define CW_NL_NL_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

/* Starts a request in buf[0..size) with `extra` zeroed bytes after the header (the family's own
 * struct, to be filled through mnl_nlmsg_get_payload()). NULL when it does not fit. */
struct nlmsghdr *cw_nl_begin(void *buf, size_t size, uint16_t type, uint16_t flags, size_t extra);

/* Append an attribute to a message in a buffer of `size` bytes; false when it does not fit. Unlike
 * libmnl's these write zeros behind a payload that is no multiple of four bytes long, so that no
 * byte of the caller's stack goes out. */
bool cw_nl_put(struct nlmsghdr *nlh, size_t size, uint16_t type, const void *data, size_t len);
bool cw_nl_put_u32(struct nlmsghdr *nlh, size_t size, uint16_t type, uint32_t value);

/* Starts an attribute that holds others; NULL when it does not fit. Without NLA_F_NESTED: the nests
 * of links are older than that flag. */
struct nlattr *cw_nl_nest(struct nlmsghdr *nlh, size_t size, uint16_t type);
void cw_nl_nest_end(struct nlmsghdr *nlh, struct nlattr *nest);

/* True when msg[0..len) begins with a whole message whose payload holds at least `extra` bytes. */
bool cw_nl_whole(const void *msg, size_t len, size_t extra);

/* Copies `extra` bytes of payload, the family's own struct, to ret. False as cw_nl_whole(). */
bool cw_nl_head(const void *msg, size_t len, void *ret, size_t extra);

/* Sorts the attributes that follow `extra` bytes of payload into table[type]; absent ones are NULL,
 * types from n on are left out. The message must have passed cw_nl_whole(). */
void cw_nl_attrs(const struct nlmsghdr *nlh, size_t extra, const struct nlattr **table, size_t n);

/* As above for the attributes inside one; attr may be NULL. */
void cw_nl_attrs_nested(const struct nlattr *attr, const struct nlattr **table, size_t n);

/* Payload of an attribute that has at least `need` bytes of it, else NULL. attr may be NULL. */
const void *cw_nl_attr_data(const struct nlattr *attr, size_t need);
size_t cw_nl_attr_len(const struct nlattr *attr);

/* Value of an attribute; dflt where it is absent or too short. */
uint32_t cw_nl_attr_u32(const struct nlattr *attr, uint32_t dflt);
uint64_t cw_nl_attr_u64(const struct nlattr *attr, uint64_t dflt);

/* Copies text, cut to size and always closed; "" where it is absent. Bytes that aren't printable
 * ASCII become '?': the kernel may echo names that others chose. */
void cw_nl_attr_text(const struct nlattr *attr, char *buf, size_t size);

#endif
