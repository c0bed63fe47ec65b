/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells and takes through /proc rather than netlink. Paths are those of the calling
 * thread's network namespace.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 96

/* First number in a file, or dflt where there is none. */
static long read_number(const char *path, long dflt)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	char *end;
	long value;

	if (fd < 0)
		return dflt;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return dflt;
	text[n] = '\0';
	value = strtol(text, &end, 10);
	return end == text ? dflt : value;
}

/* 0 or errno. */
static int write_number(const char *path, long value)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld", value);
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, (size_t)len) != len)
		err = errno ? errno : EIO;
	close(fd);
	return err;
}

bool cw_kernel_nl_forwarding(struct cw_kernel *k, enum cw_family family)
{
	(void)k;
	return read_number(family == CW_FAMILY_IPV6 ? "/proc/sys/net/ipv6/conf/all/forwarding"
						    : "/proc/sys/net/ipv4/ip_forward",
		       0) != 0;
}

uint64_t cw_kernel_nl_xfrm_stat(struct cw_kernel *k, const char *name)
{
	FILE *f = fopen("/proc/thread-self/net/xfrm_stat", "re");
	size_t len = strlen(name);
	uint64_t value = 0;
	char line[128];

	(void)k;
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, len) || (line[len] != ' ' && line[len] != '\t'))
			continue;
		value = strtoull(line + len, NULL, 10);
		break;
	}
	fclose(f);
	return value;
}

bool cw_kernel_nl_settings_writable(void)
{
	return access("/proc/sys/net/ipv4/conf/default/rp_filter", W_OK) == 0;
}

/* ---- an interface's settings ---- */

struct setting {
	enum cw_nl_conf conf;
	const char *family, *name;
	int32_t value;
	bool vti_only;
	bool no_ipv6_only; /* only where the interface has no IPv6 address of ours */
};

/* Written before the interface is up. Missing ones (no IPv6 in this kernel) are passed over. */
static const struct setting settings[] = {
	/* Packets from the far side come in by the tunnel whatever route leads back. */
	{ CW_NL_CONF4_RP_FILTER, "ipv4", "rp_filter", 2, false, false },
	/* What came out of a VTI was checked against the policies of its mark. */
	{ CW_NL_CONF4_DISABLE_POLICY, "ipv4", "disable_policy", 1, true, false },
	{ CW_NL_CONF6_DISABLE_POLICY, "ipv6", "disable_policy", 1, true, false },
	/* Else removing one address takes away others of its subnet (BL-058). */
	{ CW_NL_CONF4_PROMOTE_SECONDARIES, "ipv4", "promote_secondaries", 1, false, false },
	/* Else IPv6 addresses are lost with "ip link set down" (BL-062). */
	{ CW_NL_CONF6_KEEP_ADDR_ON_DOWN, "ipv6", "keep_addr_on_down", 1, false, false },
	/* The far side is no router of ours: it shall not give us addresses or routes, and we
	 * ask for none, since that would wake up a tunnel. */
	{ CW_NL_CONF6_ACCEPT_RA, "ipv6", "accept_ra", 0, false, false },
	{ CW_NL_CONF6_AUTOCONF, "ipv6", "autoconf", 0, false, false },
	/* No link-local address, and none of the packets that announce it, where nobody wants IPv6.
	 */
	{ CW_NL_CONF6_ADDR_GEN_MODE, "ipv6", "addr_gen_mode", 1, false, true },
};

static bool has_ipv6(const struct cw_link *link)
{
	for (size_t i = 0; i < link->n_addrs; i++)
		if (link->addrs[i].addr.family == CW_FAMILY_IPV6)
			return true;
	return false;
}

static bool differs(
	const struct setting *s, const struct cw_link *want, const struct cw_nl_link *link)
{
	if ((s->vti_only && want->kind != CW_LINK_VTI) || (s->no_ipv6_only && has_ipv6(want)))
		return false;
	return link->conf[s->conf] != s->value && link->conf[s->conf] != CW_NL_CONF_NONE;
}

/* Does the tunnel work with the setting as it stands? The kernel filters by the stricter of this
 * interface's rp_filter and all's, where 2 beats 1. The IPv6 ones keep things tidy. */
static bool bearable(const struct setting *s, int32_t now)
{
	if (!strcmp(s->name, "rp_filter"))
		return now == 0 && read_number("/proc/sys/net/ipv4/conf/all/rp_filter", 0) != 1;
	return strcmp(s->name, "disable_policy") != 0;
}

bool cw_kernel_nl_settings_fit(const struct cw_link *want, const struct cw_nl_link *link)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (differs(&settings[i], want, link))
			return false;
	return true;
}

enum cw_rc cw_kernel_nl_link_settings(const struct cw_link *want, const struct cw_nl_link *link,
	bool *ret_changed, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_OK;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *s = &settings[i];
		int32_t now = link->conf[s->conf];
		char path[PATH_SIZE];
		int err;

		if (!differs(s, want, link))
			continue;
		snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", s->family, want->ifname,
			s->name);
		err = write_number(path, s->value);
		if (!err)
			*ret_changed = true;
		else if (!bearable(s, now) && rc == CW_OK)
			rc = cw_kernel_nl_fail(reterr, cw_rc_from_errno(err), err,
				"%s is %d and must be %d: %s", path, now, s->value, strerror(err));
	}
	return rc;
}
