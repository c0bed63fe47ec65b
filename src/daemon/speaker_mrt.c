/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What neighbours send, and how their sessions move, into a file in MRT format (RFC 6396). */
#include "daemon/speaker_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "wire/mrt.h"

#define MRT_BUFFER (256u << 10)

void cw_speaker_mrt_open(struct cw_speaker *sp)
{
	const char *path = sp->conf->gateway.mrt_file;

	if (!path)
		return;
	sp->mrt = malloc(MRT_BUFFER);
	sp->mrt_fd = sp->mrt ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : -1;
	if (sp->mrt_fd < 0)
		cw_log(CW_LOG_WARNING, CW_LOG_BGP_MRT, "gateway", "can't write to mrt-file %s: %s; no message is kept",
		       path, strerror(errno));
}

static struct cw_mrt_time when(const struct cw_speaker *sp)
{
	int64_t us = cw_loop_wall_us(sp->loop);

	return (struct cw_mrt_time){ .s = (uint32_t)(us / 1000000), .us = (uint32_t)(us % 1000000) };
}

static struct cw_mrt_session session_of(const struct cw_speaker *sp, size_t peer)
{
	const struct neighbour *nb = &sp->v[peer];
	const struct cw_bgp_codec *codec = cw_bgp_peer_codec(nb->machine);

	return (struct cw_mrt_session){
		.peer_asn = nb->conf->site->asn,
		.local_asn = sp->conf->gateway.asn,
		.peer = nb->conf->bgp.peer,
		.local = nb->conf->bgp.local,
		.as4 = !codec || codec->as4,
	};
}

void cw_speaker_mrt_flush(struct cw_speaker *sp)
{
	size_t done = 0;

	while (sp->mrt_fd >= 0 && done < sp->n_mrt) {
		ssize_t n = write(sp->mrt_fd, sp->mrt + done, sp->n_mrt - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			cw_log(CW_LOG_WARNING, CW_LOG_BGP_MRT, "gateway",
			       "can't write to mrt-file: %s; no message is kept from now on", strerror(errno));
			close(sp->mrt_fd);
			sp->mrt_fd = -1;
			break;
		}
		done += (size_t)n;
	}
	sp->n_mrt = 0;
}

/* Where the next record goes; what was gathered is written first if it might not fit. */
static uint8_t *room(struct cw_speaker *sp, size_t len)
{
	if (MRT_BUFFER - sp->n_mrt < CW_MRT_MESSAGE_HEAD_MAX + len)
		cw_speaker_mrt_flush(sp);
	return sp->mrt + sp->n_mrt;
}

void cw_speaker_mrt_message(struct cw_speaker *sp, size_t peer, struct cw_span message)
{
	struct cw_mrt_session session = session_of(sp, peer);
	uint8_t *at = room(sp, message.n);

	sp->n_mrt += cw_mrt_message(when(sp), &session, false, message, at, MRT_BUFFER - sp->n_mrt);
}

void cw_speaker_mrt_state(struct cw_speaker *sp, size_t peer, enum cw_bgp_state from, enum cw_bgp_state to)
{
	/* RFC 6396 4.4.1 counts the states in RFC 4271's order too, from 1. */
	struct cw_mrt_session session = session_of(sp, peer);
	uint8_t *at = room(sp, 0);

	sp->n_mrt += cw_mrt_state_change(when(sp), &session, (enum cw_mrt_state)(from + 1),
					 (enum cw_mrt_state)(to + 1), at, MRT_BUFFER - sp->n_mrt);
}

void cw_speaker_mrt_close(struct cw_speaker *sp)
{
	cw_speaker_mrt_flush(sp);
	if (sp->mrt_fd >= 0)
		close(sp->mrt_fd);
	sp->mrt_fd = -1;
	free(sp->mrt);
	sp->mrt = NULL;
}
