/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify: tells a service manager how the daemon is (the datagram protocol of sd_notify(3)).
 *
 * "READY=1", "STOPPING=1", "STATUS=text for people", several joined by newlines. Never blocks.
 */
#ifndef CW_IO_NOTIFY_H
#define CW_IO_NOTIFY_H

#include "base/rc.h"

/* CW_E_NOT_FOUND: nobody wants to know ($NOTIFY_SOCKET is not set), which is no failure.
 * CW_E_INVALID: the variable holds no socket's name. Else the socket's error. */
enum cw_rc cw_notify(const char *state);

#endif
