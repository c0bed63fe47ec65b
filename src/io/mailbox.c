/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct cw_mailbox {
	pthread_mutex_t lock;
	size_t size, slots;
	size_t head, count; /* oldest letter, letters waiting */
	uint64_t lost;
	int fd; /* eventfd: non-zero exactly while count > 0 */
	unsigned char *letters;
};

struct cw_mailbox *cw_mailbox_new(size_t size, size_t slots)
{
	struct cw_mailbox *box;
	size_t bytes;

	if (size == 0 || slots == 0 || __builtin_mul_overflow(size, slots, &bytes) ||
		bytes > PTRDIFF_MAX)
		return NULL;
	box = calloc(1, sizeof(*box));
	if (!box)
		return NULL;
	box->size = size;
	box->slots = slots;
	box->letters = calloc(1, bytes);
	box->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!box->letters || box->fd < 0 || pthread_mutex_init(&box->lock, NULL) != 0) {
		if (box->fd >= 0)
			close(box->fd);
		free(box->letters);
		free(box);
		return NULL;
	}
	return box;
}

void cw_mailbox_free(struct cw_mailbox *box)
{
	if (!box)
		return;
	pthread_mutex_destroy(&box->lock);
	close(box->fd);
	free(box->letters);
	free(box);
}

/* The eventfd changes under the lock, with the count: else a reader that has just emptied the box
 * could swallow the signal of a letter that came in between. Neither call can fail or block: the
 * counter goes from 0 to 1 and back. */
static void ring_on(const struct cw_mailbox *box)
{
	const uint64_t one = 1;
	ssize_t n;

	do
		n = write(box->fd, &one, sizeof(one));
	while (n < 0);
}

static void ring_off(const struct cw_mailbox *box)
{
	uint64_t value;
	ssize_t n;

	do
		n = read(box->fd, &value, sizeof(value));
	while (n < 0);
}

bool cw_mailbox_post(struct cw_mailbox *box, const void *letter)
{
	bool posted = false;

	pthread_mutex_lock(&box->lock);
	if (box->count < box->slots) {
		size_t slot = (box->head + box->count) % box->slots;

		memcpy(box->letters + slot * box->size, letter, box->size);
		if (box->count++ == 0)
			ring_on(box);
		posted = true;
	} else {
		box->lost++;
	}
	pthread_mutex_unlock(&box->lock);
	return posted;
}

bool cw_mailbox_take(struct cw_mailbox *box, void *ret_letter)
{
	bool taken = false;

	pthread_mutex_lock(&box->lock);
	if (box->count > 0) {
		memcpy(ret_letter, box->letters + box->head * box->size, box->size);
		box->head = (box->head + 1) % box->slots;
		if (--box->count == 0)
			ring_off(box);
		taken = true;
	}
	pthread_mutex_unlock(&box->lock);
	return taken;
}

int cw_mailbox_fd(const struct cw_mailbox *box)
{
	return box->fd;
}

uint64_t cw_mailbox_lost(struct cw_mailbox *box)
{
	uint64_t lost;

	pthread_mutex_lock(&box->lock);
	lost = box->lost;
	box->lost = 0;
	pthread_mutex_unlock(&box->lock);
	return lost;
}
