/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/ctl_request.h"
#include "io/loop.h"

#define CLIENTS_MAX 32
#define REQUEST_MAX 4096 /* bytes, without the newline */
#define PATIENCE_S 10    /* for the request to arrive, and for each part of the answer to be taken */
#define ACCEPT_PAUSE_S 1 /* after accept() failed for want of descriptors or memory */

struct client {
	struct cw_ctl_server *server;
	int fd;
	uid_t uid;
	struct cw_time deadline;
	char *answer; /* NULL: the request is still being read */
	size_t answer_len, answer_sent;
	size_t request_len;
	char request[REQUEST_MAX + 1]; /* room for the newline */
};

struct cw_ctl_server {
	struct cw_loop *loop;
	struct cw_ctl_port port;
	int fd;
	struct sockaddr_un addr;
	dev_t dev; /* of the socket file we made: another daemon's is not removed */
	ino_t ino;
	struct cw_time accept_again; /* NEVER: accepting */
	struct client *clients[CLIENTS_MAX];
};

static void client_drop(struct client *client)
{
	struct cw_ctl_server *server = client->server;

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (server->clients[i] == client)
			server->clients[i] = NULL;
	}
	cw_loop_unwatch(server->loop, client->fd);
	close(client->fd);
	free(client->answer);
	free(client);
}

/* Sends what the socket takes now. The client is gone afterwards if that was all or it hung up. */
static void client_send(struct client *client)
{
	struct cw_loop *loop = client->server->loop;

	while (client->answer_sent < client->answer_len) {
		ssize_t n = send(client->fd, client->answer + client->answer_sent,
			client->answer_len - client->answer_sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			if (cw_loop_rewatch(loop, client->fd, CW_LOOP_WRITE) == CW_OK)
				return;
			break;
		}
		if (n < 0)
			break;
		client->answer_sent += (size_t)n;
		client->deadline = cw_time_add_s(cw_loop_now(loop), PATIENCE_S);
	}
	client_drop(client);
}

/* Takes over `answer`. */
static void client_answer(struct client *client, char *answer)
{
	if (!answer) {
		client_drop(client);
		return;
	}
	client->answer = answer;
	client->answer_len = strlen(answer);
	client->deadline = cw_time_add_s(cw_loop_now(client->server->loop), PATIENCE_S);
	client_send(client);
}

static bool may_order(const struct client *client)
{
	return client->uid == 0 || client->uid == geteuid();
}

static char *answer_to(const struct client *client, const char *text, size_t len)
{
	struct cw_ctl_request req;
	char object[CW_TUNNEL_NAME_MAX + sizeof("tunnel ")];
	char error[256] = "";
	enum cw_rc rc = cw_ctl_request_parse(text, len, &req, error, sizeof(error));
	char *answer;

	if (rc != CW_OK)
		return cw_ctl_refusal(rc, error);
	if (!cw_ctl_cmd_is_order(req.cmd))
		return cw_ctl_request_answer(&req, &client->server->port, &rc);

	snprintf(object, sizeof(object), "tunnel %s", req.tunnel);
	if (!may_order(client)) {
		cw_log(CW_LOG_WARNING, CW_LOG_CTL_REFUSED, object,
			"uid %u may not order \"%s\": that takes root", (unsigned)client->uid,
			cw_ctl_cmd_name(req.cmd));
		snprintf(error, sizeof(error), "\"%s\" takes root (you are uid %u); try sudo",
			cw_ctl_cmd_name(req.cmd), (unsigned)client->uid);
		return cw_ctl_refusal(CW_E_DENIED, error);
	}
	answer = cw_ctl_request_answer(&req, &client->server->port, &rc);
	cw_log(CW_LOG_NOTICE, CW_LOG_NONE, object, "uid %u ordered \"%s%s\": %s",
		(unsigned)client->uid, cw_ctl_cmd_name(req.cmd),
		req.cmd != CW_CTL_REKEY ? ""
		: req.child             ? " child"
					: " ike",
		cw_rc_name(rc));
	return answer;
}

static void client_read(struct client *client)
{
	char *start = client->request + client->request_len;
	size_t room = sizeof(client->request) - client->request_len;
	ssize_t n = recv(client->fd, start, room, MSG_DONTWAIT);
	const char *newline;
	char *answer;

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			client_drop(client);
		return;
	}
	if (n == 0 && client->request_len == 0) {
		client_drop(client);
		return;
	}
	newline = memchr(start, '\n', (size_t)n);
	client->request_len += (size_t)n;
	/* The end of what the client sends ends its request as well as a newline does. */
	if (newline || (n == 0 && client->request_len <= REQUEST_MAX)) {
		size_t len = newline ? (size_t)(newline - client->request) : client->request_len;

		answer = answer_to(client, client->request, len);
	} else if (client->request_len > REQUEST_MAX) {
		answer = cw_ctl_refusal(CW_E_TOO_BIG, "a request has at most 4096 bytes");
	} else {
		return;
	}
	client_answer(client, answer);
}

static void on_client(void *arg, int fd, unsigned events)
{
	struct client *client = arg;

	(void)fd;
	/* A hangup while reading may still have a request before it; recv() tells the end. */
	if (client->answer)
		client_send(client);
	else if (events & (CW_LOOP_READ | CW_LOOP_HANGUP))
		client_read(client);
}

/* One short line fits any socket's buffer; whoever can't even take that is not waited for. */
static void turn_away(int fd)
{
	char *answer = cw_ctl_refusal(CW_E_BUSY, "32 clients are being served; try again");

	if (answer && send(fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		cw_log(CW_LOG_DEBUG, CW_LOG_NONE, "control", "a client left before its refusal");
	free(answer);
	close(fd);
}

static struct client *client_new(struct cw_ctl_server *server, int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!client)
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) {
		free(client);
		return NULL;
	}
	client->server = server;
	client->fd = fd;
	client->uid = cred.uid;
	client->deadline = cw_time_add_s(cw_loop_now(server->loop), PATIENCE_S);
	if (cw_loop_watch(server->loop, fd, CW_LOOP_READ, on_client, client) != CW_OK) {
		free(client);
		return NULL;
	}
	return client;
}

static void take_in(struct cw_ctl_server *server, int fd)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (server->clients[i])
			continue;
		server->clients[i] = client_new(server, fd);
		if (!server->clients[i])
			close(fd);
		return;
	}
	turn_away(fd);
}

static void on_listener(void *arg, int listener, unsigned events)
{
	struct cw_ctl_server *server = arg;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0) {
		take_in(server, fd);
		return;
	}
	/* Without a descriptor the connection stays in line and would wake the loop for ever. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		server->accept_again = cw_time_add_s(cw_loop_now(server->loop), ACCEPT_PAUSE_S);
		(void)cw_loop_rewatch(server->loop, listener, 0);
	}
}

struct cw_time cw_ctl_server_turn(struct cw_ctl_server *server, struct cw_time now)
{
	struct cw_time next;

	if (cw_time_reached(server->accept_again, now)) {
		server->accept_again = CW_TIME_NEVER;
		(void)cw_loop_rewatch(server->loop, server->fd, CW_LOOP_READ);
	}
	next = server->accept_again;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = server->clients[i];

		if (!client)
			continue;
		if (cw_time_reached(client->deadline, now))
			client_drop(client);
		else
			next = cw_time_min(next, client->deadline);
	}
	return next;
}

static enum cw_rc make_folder(const char *path, char *reterr, size_t size)
{
	const char *slash = strrchr(path, '/');
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (len == 0)
		return CW_OK;
	memcpy(folder, path, len);
	folder[len] = '\0';
	if (mkdir(folder, 0755) == 0 || errno == EEXIST)
		return CW_OK;
	snprintf(reterr, size, "can't make folder %s: %s", folder, strerror(errno));
	return cw_rc_from_errno(errno);
}

/* Takes away what a dead daemon left at the path. */
static enum cw_rc clear_path(const struct sockaddr_un *addr, char *reterr, size_t size)
{
	enum cw_rc rc = CW_E_SYSTEM;
	struct stat st;
	int fd, err;

	if (lstat(addr->sun_path, &st) != 0) {
		if (errno == ENOENT)
			return CW_OK;
		snprintf(reterr, size, "can't look at %s: %s", addr->sun_path, strerror(errno));
		return cw_rc_from_errno(errno);
	}
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(reterr, size,
			"%s is there already and is no socket; take it away or choose another "
			"control-socket",
			addr->sun_path);
		return CW_E_EXISTS;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		snprintf(reterr, size, "can't make a socket: %s", strerror(errno));
		return cw_rc_from_errno(errno);
	}
	err = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ? 0 : errno;
	close(fd);
	/* EAGAIN: it lives, and its line of waiting clients is full. */
	if (err == 0 || err == EAGAIN) {
		snprintf(reterr, size, "another causewayd listens at %s", addr->sun_path);
		rc = CW_E_EXISTS;
	} else if (err != ECONNREFUSED) {
		snprintf(reterr, size, "can't tell whether somebody listens at %s: %s",
			addr->sun_path, strerror(err));
		rc = cw_rc_from_errno(err);
	} else if (unlink(addr->sun_path) != 0 && errno != ENOENT) {
		snprintf(reterr, size, "can't remove the old socket %s: %s", addr->sun_path,
			strerror(errno));
		rc = cw_rc_from_errno(errno);
	} else {
		rc = CW_OK;
	}
	return rc;
}

/* The mode is set before listen(): until then nobody gets in, whatever the umask was. */
static enum cw_rc open_listener(struct cw_ctl_server *server, char *reterr, size_t size)
{
	const char *path = server->addr.sun_path;
	struct stat st;
	enum cw_rc rc;

	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0) {
		snprintf(reterr, size, "can't make a socket: %s", strerror(errno));
		return cw_rc_from_errno(errno);
	}
	if (bind(server->fd, (const struct sockaddr *)&server->addr, sizeof(server->addr)) != 0) {
		snprintf(reterr, size, "can't bind %s: %s", path, strerror(errno));
		return cw_rc_from_errno(errno);
	}
	if (stat(path, &st) != 0 || chmod(path, 0660) != 0) {
		snprintf(reterr, size, "can't set the mode of %s: %s", path, strerror(errno));
		rc = cw_rc_from_errno(errno);
		unlink(path);
		return rc;
	}
	server->dev = st.st_dev;
	server->ino = st.st_ino;
	if (listen(server->fd, CLIENTS_MAX) != 0) {
		snprintf(reterr, size, "can't listen at %s: %s", path, strerror(errno));
		return cw_rc_from_errno(errno);
	}
	rc = cw_loop_watch(server->loop, server->fd, CW_LOOP_READ, on_listener, server);
	if (rc != CW_OK)
		snprintf(reterr, size, "can't watch the socket %s: %s", path, cw_rc_name(rc));
	return rc;
}

enum cw_rc cw_ctl_server_new(struct cw_loop *loop, const char *path, const struct cw_ctl_port *port,
	struct cw_ctl_server **ret_server, char *reterr, size_t size)
{
	struct cw_ctl_server *server;
	size_t len = strlen(path);
	enum cw_rc rc;

	if (len == 0 || len >= sizeof(server->addr.sun_path)) {
		snprintf(reterr, size, "the control socket's path must have 1 to %zu characters",
			sizeof(server->addr.sun_path) - 1);
		return CW_E_INVALID;
	}
	server = calloc(1, sizeof(*server));
	if (!server) {
		snprintf(reterr, size, "out of memory");
		return CW_E_NO_MEMORY;
	}
	server->loop = loop;
	server->port = *port;
	server->fd = -1;
	server->accept_again = CW_TIME_NEVER;
	server->addr.sun_family = AF_UNIX;
	memcpy(server->addr.sun_path, path, len + 1);
	rc = make_folder(path, reterr, size);
	if (rc == CW_OK)
		rc = clear_path(&server->addr, reterr, size);
	if (rc == CW_OK)
		rc = open_listener(server, reterr, size);
	if (rc != CW_OK) {
		cw_ctl_server_free(server);
		return rc;
	}
	*ret_server = server;
	return CW_OK;
}

void cw_ctl_server_free(struct cw_ctl_server *server)
{
	struct stat st;

	if (!server)
		return;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (server->clients[i])
			client_drop(server->clients[i]);
	}
	if (server->fd >= 0) {
		cw_loop_unwatch(server->loop, server->fd);
		close(server->fd);
	}
	if (server->ino && lstat(server->addr.sun_path, &st) == 0 && st.st_dev == server->dev &&
		st.st_ino == server->ino)
		unlink(server->addr.sun_path);
	free(server);
}
