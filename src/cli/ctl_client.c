/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ctl_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)256 << 20) /* a daemon gone mad must not eat the machine's memory */

static enum cw_rc no_contact(const char *path, int err, char *reterr, size_t size)
{
	switch (err) {
	case ENOENT:
	case ECONNREFUSED:
	case ENOTDIR:
		snprintf(reterr, size,
			"can't reach causewayd at %s: %s\n"
			"Is it running? Start it with \"systemctl start causeway\", or name its "
			"socket "
			"with -s.",
			path, err == ECONNREFUSED ? "nobody listens there" : strerror(err));
		return CW_E_NOT_FOUND;
	case EACCES:
	case EPERM:
		snprintf(reterr, size,
			"causewayd at %s does not talk to this user: %s\n"
			"Try sudo, or join the group that owns the socket.",
			path, strerror(err));
		return CW_E_DENIED;
	case EAGAIN:
		snprintf(reterr, size,
			"causewayd at %s does not answer within %u s\n"
			"Look at its log (\"journalctl -u causeway\").",
			path, CW_CTL_CLIENT_WAIT_S);
		return CW_E_TIMEOUT;
	case ECONNRESET:
		snprintf(reterr, size,
			"causewayd at %s hung up without an answer\n"
			"Is it just stopping? Look at its log (\"journalctl -u causeway\").",
			path);
		return CW_E_PEER;
	default:
		snprintf(reterr, size, "can't talk to causewayd at %s: %s", path, strerror(err));
		return CW_E_SYSTEM;
	}
}

/* A refusal may come before the request was taken (too many clients), and then the socket is closed
 * while we send: the answer is read all the same. */
static int send_all(int fd, const char *s)
{
	size_t left = strlen(s);

	while (left) {
		ssize_t n = send(fd, s, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EPIPE || errno == ECONNRESET ? 0 : errno;
		s += n;
		left -= (size_t)n;
	}
	return 0;
}

/* Reads to the end of the line or of the stream. */
static int receive(int fd, char **ret_answer)
{
	size_t len = 0, size = 16384;
	char *answer = malloc(size);

	while (answer) {
		ssize_t n = recv(fd, answer + len, size - len - 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !(errno == ECONNRESET && len)) {
			int err = errno;

			free(answer);
			return err;
		}
		if (n <= 0)
			break;
		len += (size_t)n;
		if (answer[len - 1] == '\n')
			break;
		if (len + 1 == size) {
			char *grown = size < ANSWER_MAX ? realloc(answer, size * 2) : NULL;

			if (!grown)
				free(answer);
			answer = grown;
			size *= 2;
		}
	}
	if (!answer)
		return ENOMEM;
	if (len == 0) {
		free(answer);
		return ECONNRESET;
	}
	answer[len] = '\0';
	*ret_answer = answer;
	return 0;
}

enum cw_rc cw_ctl_client_ask(
	const char *path, const char *request, char **ret_answer, char *reterr, size_t size)
{
	const struct timeval wait = { .tv_sec = CW_CTL_CLIENT_WAIT_S };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, err = 0;

	if (strlen(path) >= sizeof(sa.sun_path)) {
		snprintf(reterr, size,
			"the socket's path is too long (%zu characters, at most %zu): %s",
			strlen(path), sizeof(sa.sun_path) - 1, path);
		return CW_E_INVALID;
	}
	memcpy(sa.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) != 0 ||
		connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		err = errno;
	if (!err)
		err = send_all(fd, request);
	if (!err)
		err = receive(fd, ret_answer);
	if (fd >= 0)
		close(fd);
	return err ? no_contact(path, err, reterr, size) : CW_OK;
}
