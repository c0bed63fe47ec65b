/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What neighbours send, and how their sessions move, into a file in MRT format (RFC 6396). */
#include "daemon/speaker_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define MRT_BUFFER (256u << 10)
#define MRT_BGP4MP_ET 17
#define MRT_STATE_CHANGE_AS4 5
#define MRT_MESSAGE_AS4 4
#define MRT_HEADER 16 /* with the microseconds of the extended timestamp */

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

static void put_addr(struct cw_writer *w, const struct cw_addr *a)
{
	cw_put_bytes(w, a->bytes, a->family == CW_FAMILY_IPV6 ? 16 : 4);
}

/* Header and what all BGP4MP records begin with (RFC 6396 4.4). len: octets that follow. */
static void put_head(struct cw_speaker *sp, size_t peer, uint16_t subtype, size_t len, struct cw_writer *w)
{
	const struct neighbour *nb = &sp->v[peer];
	const struct cw_bgp_conf *b = &nb->conf->bgp;
	bool v6 = b->peer.family == CW_FAMILY_IPV6;
	int64_t at_us = cw_loop_wall_us(sp->loop);

	cw_put_u32(w, (uint32_t)(at_us / 1000000));
	cw_put_u16(w, MRT_BGP4MP_ET);
	cw_put_u16(w, subtype);
	cw_put_u32(w, (uint32_t)(4 + 12 + (v6 ? 32 : 8) + len));
	cw_put_u32(w, (uint32_t)(at_us % 1000000));
	cw_put_u32(w, nb->conf->site->asn);
	cw_put_u32(w, sp->conf->gateway.asn);
	cw_put_u16(w, (uint16_t)nb->hop.ifindex);
	cw_put_u16(w, v6 ? 2 : 1);
	put_addr(w, &b->peer);
	put_addr(w, &b->local);
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

/* Room for a record of this length; what was gathered is written first if need be. */
static struct cw_writer record(struct cw_speaker *sp, size_t len)
{
	if (MRT_BUFFER - sp->n_mrt < MRT_HEADER + 48 + len)
		cw_speaker_mrt_flush(sp);
	return cw_writer_of(sp->mrt + sp->n_mrt, MRT_BUFFER - sp->n_mrt);
}

void cw_speaker_mrt_message(struct cw_speaker *sp, size_t peer, struct cw_span message)
{
	struct cw_writer w = record(sp, message.n);

	put_head(sp, peer, MRT_MESSAGE_AS4, message.n, &w);
	cw_put_bytes(&w, message.p, message.n);
	if (cw_writer_ok(&w))
		sp->n_mrt += cw_writer_len(&w);
}

void cw_speaker_mrt_state(struct cw_speaker *sp, size_t peer, enum cw_bgp_state from, enum cw_bgp_state to)
{
	struct cw_writer w = record(sp, 4);

	/* RFC 6396 4.4.1 counts the states from 1, in RFC 4271's order. */
	put_head(sp, peer, MRT_STATE_CHANGE_AS4, 4, &w);
	cw_put_u16(&w, (uint16_t)(from + 1));
	cw_put_u16(&w, (uint16_t)(to + 1));
	if (cw_writer_ok(&w))
		sp->n_mrt += cw_writer_len(&w);
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
