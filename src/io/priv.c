/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/priv.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static const unsigned needed[] = { CAP_NET_ADMIN, CAP_NET_BIND_SERVICE };

#define N_NEEDED (sizeof(needed) / sizeof(needed[0]))

enum cw_rc cw_priv_no_dumps(void)
{
	const struct rlimit none = { 0, 0 };

	/* The limit alone is not enough: a core_pattern that is a pipe ignores it (core(5)). */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return cw_rc_from_errno(errno);
	if (setrlimit(RLIMIT_CORE, &none) != 0)
		return cw_rc_from_errno(errno);
	return CW_OK;
}

enum cw_rc cw_priv_check(char *reterr, size_t size)
{
	if (capng_get_caps_process() != 0) {
		snprintf(reterr, size, "can't read this process's capabilities");
		return CW_E_SYSTEM;
	}
	for (size_t i = 0; i < N_NEEDED; i++) {
		if (capng_have_capability(CAPNG_EFFECTIVE, needed[i]))
			continue;
		snprintf(reterr, size,
			"%s is missing: start as root, or give it with AmbientCapabilities= "
			"in the unit (in a container: --cap-add)",
			needed[i] == CAP_NET_ADMIN ? "CAP_NET_ADMIN" : "CAP_NET_BIND_SERVICE");
		return CW_E_DENIED;
	}
	return CW_OK;
}

enum cw_rc cw_priv_drop(char *reterr, size_t size)
{
	enum cw_rc rc = cw_priv_check(reterr, size);
	capng_select_t sets = CAPNG_SELECT_CAPS;
	int err;

	if (rc != CW_OK)
		return rc;
	/* Shrinking the bounding set takes CAP_SETPCAP itself. A unit that has it shrunk
	 * already and gives no CAP_SETPCAP has done that part for us. */
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		sets = CAPNG_SELECT_BOTH;
	capng_clear(sets);
	for (size_t i = 0; i < N_NEEDED; i++) {
		err = capng_update(CAPNG_ADD,
			CAPNG_EFFECTIVE | CAPNG_PERMITTED |
				(sets == CAPNG_SELECT_BOTH ? CAPNG_BOUNDING_SET : 0),
			needed[i]);
		if (err) {
			snprintf(reterr, size, "can't choose capability %s",
				capng_capability_to_name(needed[i]));
			return CW_E_SYSTEM;
		}
	}
	err = capng_apply(sets);
	if (err) {
		snprintf(reterr, size, "can't drop capabilities (libcap-ng says %d): %s", err,
			strerror(errno));
		return CW_E_SYSTEM;
	}
	/* Those that are neither permitted nor inheritable any more have left the ambient set by
	 * themselves (capabilities(7)); the two that stay must not reach a child either. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		snprintf(reterr, size, "can't set no_new_privs: %s", strerror(errno));
		return CW_E_SYSTEM;
	}
	return CW_OK;
}

const char *cw_priv_print(char *buf, size_t size)
{
	struct rlimit core = { .rlim_cur = RLIM_INFINITY };
	bool no_dumps;
	char *caps;

	if (capng_get_caps_process() != 0) {
		snprintf(buf, size, "capabilities unknown");
		return buf;
	}
	getrlimit(RLIMIT_CORE, &core);
	no_dumps = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 && core.rlim_cur == 0;
	caps = capng_print_caps_text(CAPNG_PRINT_BUFFER, CAPNG_EFFECTIVE);
	snprintf(buf, size, "capabilities %s; %s; %s",
		capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_FULL ? "all"
		: caps && caps[0]                                        ? caps
									 : "none",
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? "no new privileges"
							    : "new privileges possible",
		no_dumps ? "no core dumps" : "core dumps possible");
	free(caps);
	return buf;
}
