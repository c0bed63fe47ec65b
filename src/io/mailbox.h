/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mailbox: the one road from other threads to the loop.
 *
 * post() copies one fixed-size letter, never blocks on the reader, never calls back; any thread.
 * take() and fd() are for the loop alone; fd() is readable while letters wait. When it is full the
 * newest letter is refused and counted, and lost() tells the loop, which then asks everybody for
 * the whole truth again.
 */
#ifndef CW_IO_MAILBOX_H
#define CW_IO_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_mailbox;

/* Room for `slots` letters of `size` bytes. NULL: no memory or no descriptor left. */
struct cw_mailbox *cw_mailbox_new(size_t size, size_t slots);
/* No post() may be running or come later. NULL is fine. */
void cw_mailbox_free(struct cw_mailbox *box);

/* False when it was full: the letter is lost and counted. */
bool cw_mailbox_post(struct cw_mailbox *box, const void *letter);

/* Copies the oldest letter to ret_letter; false when there is none (fd is then quiet). */
bool cw_mailbox_take(struct cw_mailbox *box, void *ret_letter);

int cw_mailbox_fd(const struct cw_mailbox *box);

/* Letters refused since the last call. */
uint64_t cw_mailbox_lost(struct cw_mailbox *box);

#endif
