/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel can do is found by trying: an SA between loopback addresses and links of each
 * kind are made and taken away again. That also makes the kernel load its modules. The ids used are
 * of our range, beyond those of any tunnel, so that leftovers of a probe that was killed are ours
 * to remove.
 */
#include "nl/kernel_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>

#include "base/secret.h"

#define PROBE_REQID CW_REQID_BASE /* tunnels are numbered from 1 */
#define PROBE_SPI 0x6377ffffu
#define PROBE_ID (CW_IF_ID_BASE + CW_IF_ID_SPAN - 1)
#define PROBE_IFNAME "cw-probe"

/* 0, or the errno of adding an SA. */
static int try_sa(struct kernel_nl *k, const char *loopback, struct cw_kernel_err *err)
{
	uint8_t key[32 + 32];
	struct cw_sa sa = {
		.key.spi = PROBE_SPI,
		.reqid = PROBE_REQID,
		.tunnel_mode = true,
		.enc = CW_ENC_AES_CBC,
		.enc_key = key,
		.enc_key_len = 32,
		.integ = CW_INTEG_HMAC_SHA256_128,
		.integ_key = key + 32,
		.integ_key_len = 32,
	};

	*err = (struct cw_kernel_err){ 0 };
	cw_addr_parse(loopback, &sa.key.src);
	sa.key.dst = sa.key.src;
	/* Random, so that nobody could use what a killed probe left. */
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return err->err = EIO;
	if (cw_kernel_nl_sa_add_locked(k, &sa, err) == CW_E_EXISTS) {
		cw_kernel_nl_sa_del_locked(k, &sa.key, NULL);
		*err = (struct cw_kernel_err){ 0 };
		cw_kernel_nl_sa_add_locked(k, &sa, err);
	}
	if (!err->err)
		cw_kernel_nl_sa_del_locked(k, &sa.key, NULL);
	cw_secret_wipe(key, sizeof(key));
	return err->err;
}

/* 0, or the errno of adding a link. */
static int try_link(struct kernel_nl *k, enum cw_link_kind kind, const char *local)
{
	struct cw_link link = { .ifname = PROBE_IFNAME, .kind = kind, .id = PROBE_ID };
	_Alignas(8) uint8_t buf[CW_ROUTE_MSG_MAX];
	struct cw_kernel_err err = { 0 };
	struct cw_nl_link there;

	if (local)
		cw_addr_parse(local, &link.vti_local);
	for (int try = 0; try < 2; try++) {
		err.err = 0;
		cw_nl_request(k->route, buf, cw_nl_build_newlink(&link, buf, sizeof(buf)), NULL,
			NULL, &err);
		if (err.err && err.err != EEXIST)
			return err.err;
		/* Made just now, or by a probe that was killed. */
		if (cw_kernel_nl_link_get_locked(k, PROBE_IFNAME, &there, NULL) == CW_OK &&
			cw_nl_link_ours(&there))
			cw_kernel_nl_link_del_locked(k, there.ifindex, NULL);
		if (!err.err)
			return 0;
	}
	return err.err;
}

struct findings {
	int esp4, esp6, xfrm_interface, vti, vti6;
	struct cw_kernel_err esp4_err;
};

static void say(struct cw_kernel_caps *caps, const char *text)
{
	if (!caps->why[0])
		snprintf(caps->why, sizeof(caps->why), "%s", text);
}

/* The first thing missing, in the order in which a person would have to mend them. */
static void explain(
	const struct kernel_nl *k, const struct findings *f, struct cw_kernel_caps *caps)
{
	char text[sizeof(caps->why)];

	if (!caps->xfrm && (k->xfrm_err.err == EPERM || k->xfrm_err.err == EACCES))
		say(caps, "NETLINK_XFRM sockets are forbidden here (seccomp or container policy); "
			  "allow "
			  "socket(AF_NETLINK, _, 6)");
	if (!caps->xfrm)
		say(caps, "no XFRM in this kernel or container: load xfrm_user on the host");
	if (!caps->net_admin)
		say(caps,
			"CAP_NET_ADMIN is missing: run as root, or give the container or unit that "
			"capability");
	if (!caps->esp4 && f->esp4 == ENOSYS) {
		snprintf(text, sizeof(text), "%.80s: load that crypto module",
			f->esp4_err.text[0] ? f->esp4_err.text
					    : "cbc(aes) or hmac(sha256) is missing");
		say(caps, text);
	}
	if (!caps->esp4)
		say(caps, "no ESP in this kernel: modprobe esp4 (CONFIG_INET_ESP); a container "
			  "needs a host "
			  "with it");
	if (!cw_kernel_nl_settings_writable())
		say(caps, "/proc/sys/net is read-only, so interfaces can't be set up: mount it "
			  "read-write in the container");
	if (!caps->xfrm_interface && caps->vti)
		say(caps, "no xfrm interfaces, so VTI is used: modprobe xfrm_interface "
			  "(CONFIG_XFRM_INTERFACE)");
	if (!caps->xfrm_interface)
		say(caps, "neither xfrm interfaces nor VTI, so only plain policies work: modprobe "
			  "xfrm_interface (CONFIG_XFRM_INTERFACE)");
	if (!caps->esp6)
		say(caps, "no ESP over IPv6: modprobe esp6 (CONFIG_INET6_ESP)");
}

enum cw_rc cw_kernel_nl_probe(struct cw_kernel *base, struct cw_kernel_caps *ret_caps)
{
	struct kernel_nl *k = kernel_nl(base);
	struct cw_kernel_caps caps = { .xfrm = k->xfrm != NULL };
	struct cw_kernel_err err;
	struct utsname names;
	struct findings f = { .esp4 = EPROTONOSUPPORT, .esp6 = EPROTONOSUPPORT };

	if (uname(&names) == 0)
		snprintf(caps.release, sizeof(caps.release), "%s", names.release);
	if (k->xfrm) {
		pthread_mutex_lock(&k->xfrm_lock);
		f.esp4 = try_sa(k, "127.0.0.1", &f.esp4_err);
		f.esp6 = try_sa(k, "::1", &err);
		pthread_mutex_unlock(&k->xfrm_lock);
	}
	pthread_mutex_lock(&k->route_lock);
	f.xfrm_interface = try_link(k, CW_LINK_XFRM, NULL);
	f.vti = try_link(k, CW_LINK_VTI, "127.0.0.1");
	f.vti6 = try_link(k, CW_LINK_VTI, "::1");
	pthread_mutex_unlock(&k->route_lock);

	caps.esp4 = f.esp4 == 0;
	caps.esp6 = f.esp6 == 0;
	caps.xfrm_interface = f.xfrm_interface == 0;
	caps.vti = f.vti == 0;
	caps.vti6 = f.vti6 == 0;
	/* Links are asked too: a container may have no XFRM and yet the capability. */
	caps.net_admin = f.esp4 != EPERM && f.xfrm_interface != EPERM;
	explain(k, &f, &caps);
	*ret_caps = caps;
	return CW_OK;
}
