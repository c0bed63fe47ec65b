/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/nl_buf.h"

#include <string.h>

#include <libmnl/libmnl.h>

struct nlmsghdr *cw_nl_begin(void *buf, size_t size, uint16_t type, uint16_t flags, size_t extra)
{
	struct nlmsghdr *nlh;

	if (size < MNL_NLMSG_HDRLEN + MNL_ALIGN(extra))
		return NULL;
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags | NLM_F_REQUEST;
	if (extra)
		mnl_nlmsg_put_extra_header(nlh, extra);
	return nlh;
}

bool cw_nl_put(struct nlmsghdr *nlh, size_t size, uint16_t type, const void *data, size_t len)
{
	size_t total = MNL_ATTR_HDRLEN + MNL_ALIGN(len);
	struct nlattr attr = { .nla_len = (uint16_t)(MNL_ATTR_HDRLEN + len), .nla_type = type };
	char *at = (char *)nlh + nlh->nlmsg_len;

	if (MNL_ATTR_HDRLEN + len > UINT16_MAX || nlh->nlmsg_len > size ||
		size - nlh->nlmsg_len < total)
		return false;
	memset(at, 0, total);
	memcpy(at, &attr, sizeof(attr));
	if (len)
		memcpy(at + MNL_ATTR_HDRLEN, data, len);
	nlh->nlmsg_len += (uint32_t)total;
	return true;
}

bool cw_nl_put_u32(struct nlmsghdr *nlh, size_t size, uint16_t type, uint32_t value)
{
	return cw_nl_put(nlh, size, type, &value, sizeof(value));
}

struct nlattr *cw_nl_nest(struct nlmsghdr *nlh, size_t size, uint16_t type)
{
	struct nlattr *nest = (struct nlattr *)((char *)nlh + nlh->nlmsg_len);

	return cw_nl_put(nlh, size, type, NULL, 0) ? nest : NULL;
}

void cw_nl_nest_end(struct nlmsghdr *nlh, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)((char *)nlh + nlh->nlmsg_len - (char *)nest);
}

bool cw_nl_whole(const void *msg, size_t len, size_t extra)
{
	const struct nlmsghdr *nlh = msg;

	if (len < MNL_NLMSG_HDRLEN || nlh->nlmsg_len < MNL_NLMSG_HDRLEN || nlh->nlmsg_len > len)
		return false;
	return nlh->nlmsg_len - MNL_NLMSG_HDRLEN >= extra;
}

bool cw_nl_head(const void *msg, size_t len, void *ret, size_t extra)
{
	if (!cw_nl_whole(msg, len, extra))
		return false;
	memcpy(ret, mnl_nlmsg_get_payload(msg), extra);
	return true;
}

/* libmnl's iterators end at the message's length rounded up, which may lie behind the buffer. */
static void sort_attrs(const char *at, const char *end, const struct nlattr **table, size_t n)
{
	memset(table, 0, n * sizeof(*table));
	while (end - at >= (ptrdiff_t)sizeof(struct nlattr)) {
		const struct nlattr *attr = (const struct nlattr *)at;
		uint16_t type;
		size_t step;

		if (!mnl_attr_ok(attr, (int)(end - at)))
			return;
		type = mnl_attr_get_type(attr);
		if (type < n)
			table[type] = attr;
		step = MNL_ALIGN((size_t)attr->nla_len);
		if (step > (size_t)(end - at))
			return;
		at += step;
	}
}

void cw_nl_attrs(const struct nlmsghdr *nlh, size_t extra, const struct nlattr **table, size_t n)
{
	const char *msg = (const char *)nlh;
	size_t skip = MNL_NLMSG_HDRLEN + MNL_ALIGN(extra);

	if (skip > nlh->nlmsg_len)
		skip = nlh->nlmsg_len;
	sort_attrs(msg + skip, msg + nlh->nlmsg_len, table, n);
}

void cw_nl_attrs_nested(const struct nlattr *attr, const struct nlattr **table, size_t n)
{
	const char *payload;

	if (!attr) {
		memset(table, 0, n * sizeof(*table));
		return;
	}
	payload = mnl_attr_get_payload(attr);
	sort_attrs(payload, payload + mnl_attr_get_payload_len(attr), table, n);
}

const void *cw_nl_attr_data(const struct nlattr *attr, size_t need)
{
	if (!attr || mnl_attr_get_payload_len(attr) < need)
		return NULL;
	return mnl_attr_get_payload(attr);
}

size_t cw_nl_attr_len(const struct nlattr *attr)
{
	return attr ? mnl_attr_get_payload_len(attr) : 0;
}

uint32_t cw_nl_attr_u32(const struct nlattr *attr, uint32_t dflt)
{
	const void *data = cw_nl_attr_data(attr, sizeof(dflt));

	if (data)
		memcpy(&dflt, data, sizeof(dflt));
	return dflt;
}

uint64_t cw_nl_attr_u64(const struct nlattr *attr, uint64_t dflt)
{
	const void *data = cw_nl_attr_data(attr, sizeof(dflt));

	if (data)
		memcpy(&dflt, data, sizeof(dflt));
	return dflt;
}

void cw_nl_attr_text(const struct nlattr *attr, char *buf, size_t size)
{
	const char *text = cw_nl_attr_data(attr, 0);
	size_t len = cw_nl_attr_len(attr), i;

	for (i = 0; text && i + 1 < size && i < len && text[i]; i++)
		buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	buf[i] = '\0';
}
