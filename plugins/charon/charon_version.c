/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libraries don't tell their version, and a struct that differs means a crash much later. So the
 * version string in libcharon's vici plugin is compared with what this was built for. Where that plugin
 * is not installed nothing at run time knows the version, and configure's check has to do.
 */
#include "charon/charon_priv.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* "5.9.8" as a whole string: digit.digits.digits between zero bytes. */
static bool is_version(const char *s, size_t len)
{
	unsigned dots = 0;

	if (len < 5 || len > 12 || s[0] < '4' || s[0] > '9')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.')
			dots++;
		else if ((s[i] < '0' || s[i] > '9') && i < 5)
			return false;
	}
	return dots == 2;
}

static bool find_version(const char *bytes, size_t size, char *ret, size_t ret_size)
{
	for (size_t i = 0, start = 0; i < size; i++) {
		if (bytes[i])
			continue;
		if (i > start && is_version(bytes + start, i - start)) {
			snprintf(ret, ret_size, "%s", bytes + start);
			return true;
		}
		start = i + 1;
	}
	return false;
}

/* Of the libraries that are loaded, whatever the build found. */
static bool installed_version(char *ret, size_t size)
{
	char real[PATH_MAX], path[PATH_MAX + 40];
	struct stat st;
	Dl_info info;
	char *slash;
	void *map;
	bool found = false;
	int fd;

	if (!dladdr((void *)(uintptr_t)&library_init, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, real))
		return false;
	slash = strrchr(real, '/');
	if (!slash)
		return false;
	*slash = '\0';
	snprintf(path, sizeof(path), "%s/plugins/libstrongswan-vici.so", real);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			found = find_version(map, (size_t)st.st_size, ret, size);
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

enum cw_rc cw_charon_version_check(char *reterr, size_t size)
{
	char found[32];

	if (installed_version(found, sizeof(found)) && strcmp(found, VERSION) != 0) {
		snprintf(reterr, size,
			 "built for strongSwan %s, but its libraries are version %s; build causeway again",
			 VERSION, found);
		return CW_E_UNSUPPORTED;
	}
	return CW_OK;
}
