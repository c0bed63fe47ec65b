/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum cw_rc cw_notify(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	enum cw_rc rc = CW_OK;
	size_t len;
	int fd;

	if (!path || !path[0])
		return CW_E_NOT_FOUND;
	len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(to.sun_path))
		return CW_E_INVALID;
	memcpy(to.sun_path, path, len + 1);
	/* '@' stands for the zero byte of an abstract name, whose length counts and which has no
	 * zero at its end (unix(7)). */
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	else
		len++;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cw_rc_from_errno(errno);
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		rc = cw_rc_from_errno(errno);
	close(fd);
	return rc;
}
