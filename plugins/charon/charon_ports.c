/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is another IKE daemon there? libcharon's sockets can share a port with another's, and then each takes
 * the other's packets: so the ports are tried first, without sharing.
 */
#include "charon/charon_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rc.h"

/* The inode of a UDP socket on the port, from /proc/net/udp or udp6; 0: none seen. */
static unsigned long inode_of(const char *path, uint16_t port)
{
	unsigned long inode = 0, found = 0;
	unsigned local = 0;
	char line[512];
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %*s %*s %lu", &local,
			   &inode) == 2 &&
		    local == port)
			found = inode;
	}
	fclose(f);
	return found;
}

static bool holds(const char *pid, unsigned long inode)
{
	char path[300], target[64], want[64];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid, entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		found = strcmp(target, want) == 0;
	}
	closedir(dir);
	return found;
}

/* "charon-systemd (pid 123)", or "another program" where /proc does not tell. */
static const char *holder(uint16_t port, char *buf, size_t size)
{
	unsigned long inode = inode_of("/proc/net/udp", port);
	char path[64], comm[32] = "?";
	struct dirent *entry;
	DIR *dir;

	if (!inode)
		inode = inode_of("/proc/net/udp6", port);
	snprintf(buf, size, "another program");
	dir = inode ? opendir("/proc") : NULL;
	while (dir && (entry = readdir(dir))) {
		FILE *f;

		if (!isdigit((unsigned char)entry->d_name[0]) || !holds(entry->d_name, inode))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
		f = fopen(path, "re");
		if (f) {
			if (fgets(comm, sizeof(comm), f))
				comm[strcspn(comm, "\n")] = '\0';
			fclose(f);
		}
		snprintf(buf, size, "%s (pid %.20s)", comm, entry->d_name);
		break;
	}
	if (dir)
		closedir(dir);
	return buf;
}

static int try_bind(int family, uint16_t port)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const int on = 1;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	/* A kernel without IPv6 is fine. */
	if (fd < 0)
		return family == AF_INET6 ? 0 : errno;
	if (family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
		if (bind(fd, (struct sockaddr *)&in6, sizeof(in6)) < 0 && errno != EADDRNOTAVAIL)
			err = errno;
	} else if (bind(fd, (struct sockaddr *)&in4, sizeof(in4)) < 0) {
		err = errno;
	}
	close(fd);
	return err;
}

enum cw_rc cw_charon_ports_check(uint16_t port, uint16_t port_nat_t, char *reterr, size_t size)
{
	const uint16_t ports[2] = { port, port_nat_t };
	static const int families[2] = { AF_INET, AF_INET6 };
	char who[64];

	for (size_t i = 0; i < 4; i++) {
		int err = try_bind(families[i % 2], ports[i / 2]);

		if (!err)
			continue;
		if (err == EADDRINUSE) {
			snprintf(reterr, size,
				 "UDP port %u on %s is taken by %s; stop the other IKE daemon first",
				 ports[i / 2], families[i % 2] == AF_INET ? "0.0.0.0" : "[::]",
				 holder(ports[i / 2], who, sizeof(who)));
			return CW_E_BUSY;
		}
		snprintf(reterr, size, "can't bind UDP port %u: %s%s", ports[i / 2], strerror(err),
			 err == EACCES ? "; it takes root or CAP_NET_BIND_SERVICE" : "");
		return cw_rc_from_errno(err);
	}
	return CW_OK;
}
