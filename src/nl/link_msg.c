/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nl/route_msg.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>

#include "nl/nl_buf.h"
#include "nl/xfrm_msg.h"

static bool is_xfrm(const char *kind)
{
	return !strcmp(kind, "xfrm");
}

static bool is_vti(const char *kind)
{
	return !strcmp(kind, "vti") || !strcmp(kind, "vti6");
}

bool cw_nl_link_ours(const struct cw_nl_link *link)
{
	return cw_xfrm_id_ours(link->id) &&
	       (is_xfrm(link->kind) || (is_vti(link->kind) && link->okey == link->id));
}

const char *cw_nl_link_kind(const struct cw_link *link)
{
	if (link->kind == CW_LINK_XFRM)
		return "xfrm";
	if (link->vti_local.family == CW_FAMILY_IPV6 || link->vti_remote.family == CW_FAMILY_IPV6)
		return "vti6";
	return "vti";
}

bool cw_nl_link_fits(const struct cw_nl_link *link, const struct cw_link *want)
{
	return cw_nl_link_ours(link) && link->id == want->id &&
	       !strcmp(link->kind, cw_nl_link_kind(want));
}

static bool same_end(const struct cw_addr *have, const struct cw_addr *want)
{
	if (cw_addr_is_unspecified(want))
		return cw_addr_is_unspecified(have);
	return cw_addr_equal(have, want);
}

bool cw_nl_link_vti_differs(const struct cw_nl_link *link, const struct cw_link *want)
{
	return want->kind == CW_LINK_VTI && (!same_end(&link->vti_local, &want->vti_local) ||
						    !same_end(&link->vti_remote, &want->vti_remote));
}

static bool put_vti(struct nlmsghdr *nlh, size_t size, const struct cw_link *link)
{
	bool v6 = !strcmp(cw_nl_link_kind(link), "vti6");
	size_t len = v6 ? 16 : 4;

	return cw_nl_put_u32(nlh, size, IFLA_VTI_IKEY, htonl(link->id)) &&
	       cw_nl_put_u32(nlh, size, IFLA_VTI_OKEY, htonl(link->id)) &&
	       cw_nl_put(nlh, size, IFLA_VTI_LOCAL, link->vti_local.bytes, len) &&
	       cw_nl_put(nlh, size, IFLA_VTI_REMOTE, link->vti_remote.bytes, len) &&
	       cw_nl_put_u32(nlh, size, IFLA_VTI_FWMARK, 0);
}

static bool put_info(struct nlmsghdr *nlh, size_t size, const struct cw_link *link)
{
	const char *kind = cw_nl_link_kind(link);
	struct nlattr *info = cw_nl_nest(nlh, size, IFLA_LINKINFO), *data;
	bool ok;

	if (!info || !cw_nl_put(nlh, size, IFLA_INFO_KIND, kind, strlen(kind)))
		return false;
	data = cw_nl_nest(nlh, size, IFLA_INFO_DATA);
	if (!data)
		return false;
	if (link->kind == CW_LINK_XFRM)
		ok = cw_nl_put_u32(nlh, size, IFLA_XFRM_IF_ID, link->id);
	else
		ok = put_vti(nlh, size, link);
	cw_nl_nest_end(nlh, data);
	cw_nl_nest_end(nlh, info);
	return ok;
}

static struct nlmsghdr *begin(
	uint16_t type, uint16_t flags, const struct ifinfomsg *ifi, void *buf, size_t size)
{
	struct nlmsghdr *nlh = cw_nl_begin(buf, size, type, flags, sizeof(*ifi));

	if (nlh)
		memcpy(mnl_nlmsg_get_payload(nlh), ifi, sizeof(*ifi));
	return nlh;
}

size_t cw_nl_build_newlink(const struct cw_link *link, void *buf, size_t size)
{
	struct nlmsghdr *nlh = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
		&(struct ifinfomsg){ .ifi_family = AF_UNSPEC }, buf, size);

	if (!nlh || (link->mtu && !cw_nl_put_u32(nlh, size, IFLA_MTU, link->mtu)) ||
		!cw_nl_put(nlh, size, IFLA_IFNAME, link->ifname, strlen(link->ifname) + 1) ||
		!put_info(nlh, size, link))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_setvti(int ifindex, const struct cw_link *link, void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		begin(RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex }, buf, size);

	if (!nlh || (link->mtu && !cw_nl_put_u32(nlh, size, IFLA_MTU, link->mtu)) ||
		!put_info(nlh, size, link))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_setlink(int ifindex, uint32_t mtu, bool up, void *buf, size_t size)
{
	struct ifinfomsg ifi = {
		.ifi_index = ifindex,
		.ifi_flags = up ? IFF_UP : 0,
		.ifi_change = IFF_UP,
	};
	struct nlmsghdr *nlh = begin(RTM_NEWLINK, 0, &ifi, buf, size);

	if (!nlh || (mtu && !cw_nl_put_u32(nlh, size, IFLA_MTU, mtu)))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_rename(int ifindex, const char *ifname, void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		begin(RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex }, buf, size);

	if (!nlh || ifindex <= 0 ||
		!cw_nl_put(nlh, size, IFLA_IFNAME, ifname, strlen(ifname) + 1))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_dellink(int ifindex, void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		begin(RTM_DELLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex }, buf, size);

	/* Index 0 would leave the kernel to look for other attributes to delete by. */
	return nlh && ifindex > 0 ? nlh->nlmsg_len : 0;
}

size_t cw_nl_build_getlink(const char *ifname, void *buf, size_t size)
{
	struct nlmsghdr *nlh =
		begin(RTM_GETLINK, 0, &(struct ifinfomsg){ .ifi_family = AF_UNSPEC }, buf, size);

	if (!nlh || !cw_nl_put(nlh, size, IFLA_IFNAME, ifname, strlen(ifname) + 1) ||
		!cw_nl_put_u32(nlh, size, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS))
		return 0;
	return nlh->nlmsg_len;
}

size_t cw_nl_build_link_dump(void *buf, size_t size)
{
	struct nlmsghdr *nlh = begin(
		RTM_GETLINK, NLM_F_DUMP, &(struct ifinfomsg){ .ifi_family = AF_UNSPEC }, buf, size);

	if (!nlh || !cw_nl_put_u32(nlh, size, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS))
		return 0;
	return nlh->nlmsg_len;
}

/* An all-zero end is "any", as struct cw_link has it: no address. */
static struct cw_addr vti_addr(const struct nlattr *attr)
{
	size_t len = cw_nl_attr_len(attr);
	struct cw_addr addr = { 0 };

	if (len != 4 && len != 16)
		return addr;
	memcpy(addr.bytes, cw_nl_attr_data(attr, len), len);
	addr.family = len == 4 ? CW_FAMILY_IPV4 : CW_FAMILY_IPV6;
	return cw_addr_is_unspecified(&addr) ? (struct cw_addr){ 0 } : addr;
}

/* The settings come as one array for each family, an element for each number of linux/ip.h, which count
 * from 1, and linux/ipv6.h. */
static void parse_conf(const struct nlattr *af_spec, int32_t conf[CW_NL_CONF_COUNT])
{
	static const struct {
		bool v6;
		size_t at;
	} places[CW_NL_CONF_COUNT] = {
		[CW_NL_CONF4_RP_FILTER] = { false, IPV4_DEVCONF_RP_FILTER - 1 },
		[CW_NL_CONF4_DISABLE_POLICY] = { false, IPV4_DEVCONF_NOPOLICY - 1 },
		[CW_NL_CONF4_PROMOTE_SECONDARIES] = { false, IPV4_DEVCONF_PROMOTE_SECONDARIES - 1 },
		[CW_NL_CONF6_DISABLE_POLICY] = { true, DEVCONF_DISABLE_POLICY },
		[CW_NL_CONF6_KEEP_ADDR_ON_DOWN] = { true, DEVCONF_KEEP_ADDR_ON_DOWN },
		[CW_NL_CONF6_ACCEPT_RA] = { true, DEVCONF_ACCEPT_RA },
		[CW_NL_CONF6_AUTOCONF] = { true, DEVCONF_AUTOCONF },
		[CW_NL_CONF6_ADDR_GEN_MODE] = { true, DEVCONF_ADDR_GEN_MODE },
	};
	const struct nlattr *families[AF_INET6 + 1], *v4[IFLA_INET_MAX + 1], *v6[IFLA_INET6_MAX + 1];

	cw_nl_attrs_nested(af_spec, families, AF_INET6 + 1);
	cw_nl_attrs_nested(families[AF_INET], v4, IFLA_INET_MAX + 1);
	cw_nl_attrs_nested(families[AF_INET6], v6, IFLA_INET6_MAX + 1);
	for (size_t i = 0; i < CW_NL_CONF_COUNT; i++) {
		const struct nlattr *array = places[i].v6 ? v6[IFLA_INET6_CONF] : v4[IFLA_INET_CONF];
		size_t end = (places[i].at + 1) * sizeof(int32_t);
		const char *data = cw_nl_attr_data(array, end);

		conf[i] = CW_NL_CONF_NONE;
		if (data)
			memcpy(&conf[i], data + end - sizeof(int32_t), sizeof(int32_t));
	}
}

bool cw_nl_parse_link(const void *msg, size_t len, struct cw_nl_link *ret_link)
{
	const struct nlattr *attrs[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1], *data[16];
	const struct nlmsghdr *nlh = msg;
	struct cw_nl_link link = { 0 };
	struct ifinfomsg ifi;

	_Static_assert(IFLA_VTI_MAX < 16 && IFLA_XFRM_MAX < 16, "data[] holds both kinds");
	if (!cw_nl_head(msg, len, &ifi, sizeof(ifi)) ||
		(nlh->nlmsg_type != RTM_NEWLINK && nlh->nlmsg_type != RTM_DELLINK))
		return false;
	cw_nl_attrs(nlh, sizeof(ifi), attrs, IFLA_MAX + 1);
	cw_nl_attrs_nested(attrs[IFLA_LINKINFO], info, IFLA_INFO_MAX + 1);
	cw_nl_attrs_nested(info[IFLA_INFO_DATA], data, 16);

	link.ifindex = ifi.ifi_index;
	link.up = ifi.ifi_flags & IFF_UP;
	link.gone = nlh->nlmsg_type == RTM_DELLINK;
	link.mtu = cw_nl_attr_u32(attrs[IFLA_MTU], 0);
	cw_nl_attr_text(attrs[IFLA_IFNAME], link.ifname, sizeof(link.ifname));
	cw_nl_attr_text(info[IFLA_INFO_KIND], link.kind, sizeof(link.kind));
	if (is_xfrm(link.kind)) {
		link.id = cw_nl_attr_u32(data[IFLA_XFRM_IF_ID], 0);
	} else if (is_vti(link.kind)) {
		link.id = ntohl(cw_nl_attr_u32(data[IFLA_VTI_IKEY], 0));
		link.okey = ntohl(cw_nl_attr_u32(data[IFLA_VTI_OKEY], 0));
		link.vti_local = vti_addr(data[IFLA_VTI_LOCAL]);
		link.vti_remote = vti_addr(data[IFLA_VTI_REMOTE]);
	}
	parse_conf(attrs[IFLA_AF_SPEC], link.conf);
	*ret_link = link;
	return link.ifindex > 0 && link.ifname[0];
}
