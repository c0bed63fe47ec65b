/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rc: what a function below the edge returns.
 *
 * A function that can fail returns enum cw_rc, fills its ret_ arguments on success only and its
 * reterr_ arguments on failure only. It neither logs nor exits: the caller at the edge knows the
 * object's name and what happens next, and says both.
 *
 * The classes matter to people: CW_E_PEER is the far side's fault, CW_E_SYSTEM is a refusal by the
 * operating system (errno travels beside it), CW_E_BUG is ours.
 */
#ifndef CW_BASE_RC_H
#define CW_BASE_RC_H

enum cw_rc {
	CW_OK = 0,
	CW_E_NO_MEMORY,
	CW_E_INVALID,	  /* the argument or the text can't be right */
	CW_E_TOO_BIG,	  /* does not fit the buffer or the limit */
	CW_E_NOT_FOUND,
	CW_E_EXISTS,
	CW_E_BUSY,	  /* try again later */
	CW_E_UNSUPPORTED, /* the kernel or the library can't do it */
	CW_E_DENIED,	  /* permission */
	CW_E_TIMEOUT,
	CW_E_PEER,
	CW_E_SYSTEM,
	CW_E_BUG,
	CW_RC_COUNT,
};

/* The code in words, for messages. Never NULL. */
const char *cw_rc_name(enum cw_rc rc);

/* The code that fits an errno value; CW_E_SYSTEM where no other does, CW_OK for 0. */
enum cw_rc cw_rc_from_errno(int err);

#endif
