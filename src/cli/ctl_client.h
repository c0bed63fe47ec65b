/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl_client: one question to causewayd over its control socket, and the answer.
 */
#ifndef CW_CLI_CTL_CLIENT_H
#define CW_CLI_CTL_CLIENT_H

#include <stddef.h>

#include "base/rc.h"

#define CW_CTL_CLIENT_SOCKET "/run/causeway/control" /* the config's default for control-socket */
#define CW_CTL_CLIENT_WAIT_S 15

/* request: one line, with its newline. ret_answer: to be freed, zero-terminated, as it came.
 * On failure reterr says what was tried, what happened and what to do. CW_E_NOT_FOUND: nobody
 * listens; CW_E_DENIED: not for this user; CW_E_PEER: it hung up; CW_E_TIMEOUT: no whole answer in
 * CW_CTL_CLIENT_WAIT_S.
 */
enum cw_rc cw_ctl_client_ask(
	const char *path, const char *request, char **ret_answer, char *reterr, size_t size);

#endif
