/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rc.h"

#include <errno.h>

static const char *const names[CW_RC_COUNT] = {
	[CW_OK] = "ok",
	[CW_E_NO_MEMORY] = "out of memory",
	[CW_E_INVALID] = "invalid value",
	[CW_E_TOO_BIG] = "too big",
	[CW_E_NOT_FOUND] = "not found",
	[CW_E_EXISTS] = "exists already",
	[CW_E_BUSY] = "busy",
	[CW_E_UNSUPPORTED] = "not supported here",
	[CW_E_DENIED] = "permission denied",
	[CW_E_TIMEOUT] = "timed out",
	[CW_E_PEER] = "refused by the peer",
	[CW_E_SYSTEM] = "refused by the system",
	[CW_E_BUG] = "internal error",
};

const char *cw_rc_name(enum cw_rc rc)
{
	if ((unsigned)rc >= CW_RC_COUNT)
		return "unknown result";
	return names[rc];
}

enum cw_rc cw_rc_from_errno(int err)
{
	switch (err < 0 ? -err : err) {
	case 0:
		return CW_OK;
	case ENOMEM:
	case ENOBUFS:
		return CW_E_NO_MEMORY;
	case EINVAL:
		return CW_E_INVALID;
	case ENOENT:
	case ESRCH:
	case ENODEV:
		return CW_E_NOT_FOUND;
	case EEXIST:
		return CW_E_EXISTS;
	case EBUSY:
	case EAGAIN:
		return CW_E_BUSY;
	case EOPNOTSUPP:
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
	case ENOSYS:
		return CW_E_UNSUPPORTED;
	case EPERM:
	case EACCES:
		return CW_E_DENIED;
	case ETIMEDOUT:
		return CW_E_TIMEOUT;
	default:
		return CW_E_SYSTEM;
	}
}
