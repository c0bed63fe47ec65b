/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library to preload: spoils XFRM requests on their way to the kernel, so that the kernel itself
 * refuses them. Compiled by the tests that use it.
 *
 *   CW_FAULT_NEWSA=FILE  while FILE holds a number above 0, each XFRM_MSG_NEWSA and UPDSA goes out with
 *                        a family that no kernel knows (EINVAL), and the number falls by one
 *   CW_FAULT_SPI=NUMBER  XFRM_MSG_ALLOCSPI may choose this SPI only
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 8192

/* True when one of the faults that FILE promises is used up by this message. */
static int take_fault(void)
{
	const char *path = getenv("CW_FAULT_NEWSA");
	char text[16] = "";
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	long left;

	if (fd < 0)
		return 0;
	left = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
	if (left > 0) {
		int n = snprintf(text, sizeof(text), "%ld\n", left - 1);

		if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
			left = 0;
	}
	close(fd);
	return left > 0;
}

static void spoil(struct nlmsghdr *h)
{
	const char *spi = getenv("CW_FAULT_SPI");

	if ((h->nlmsg_type == XFRM_MSG_NEWSA || h->nlmsg_type == XFRM_MSG_UPDSA) && take_fault()) {
		struct xfrm_usersa_info *sa = NLMSG_DATA(h);

		sa->family = 0xff;
	} else if (h->nlmsg_type == XFRM_MSG_ALLOCSPI && spi) {
		struct xfrm_userspi_info *range = NLMSG_DATA(h);

		range->min = range->max = (unsigned)strtoul(spi, NULL, 0);
	}
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static ssize_t (*real)(int, const struct msghdr *, int);
	_Alignas(struct nlmsghdr) char copy[MESSAGE_MAX];
	int protocol = -1;
	socklen_t size = sizeof(protocol);
	struct msghdr changed = *msg;
	struct iovec iov;

	if (!real)
		real = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != NETLINK_XFRM ||
	    msg->msg_iovlen != 1 || msg->msg_iov[0].iov_len > sizeof(copy) ||
	    msg->msg_iov[0].iov_len < sizeof(struct nlmsghdr))
		return real(fd, msg, flags);
	memcpy(copy, msg->msg_iov[0].iov_base, msg->msg_iov[0].iov_len);
	spoil((struct nlmsghdr *)copy);
	iov = (struct iovec){ .iov_base = copy, .iov_len = msg->msg_iov[0].iov_len };
	changed.msg_iov = &iov;
	return real(fd, &changed, flags);
}
