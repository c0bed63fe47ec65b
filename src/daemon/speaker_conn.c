/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/speaker_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNKNOWN_LOG_S 60

static struct neighbour *peer_of(struct conn *c)
{
	return &c->speaker->v[c->peer];
}

static struct cw_tcp_way way_of(const struct cw_speaker *sp, const struct neighbour *nb)
{
	const struct cw_bgp_conf *b = &nb->conf->bgp;

	return (struct cw_tcp_way){
		.local = b->local,
		.remote = b->peer,
		.port = sp->port,
		.ttl = b->ttl,
		/* RFC 5082 3: one hop away, it has not been counted down. */
		.min_ttl = b->gtsm ? 255 : 0,
		.ifname = nb->ifname,
		.md5 = b->password,
	};
}

/* ---- in ---- */

static void step_closed(struct conn *c, int err_no)
{
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_CLOSED, .conn = c->which, .err_no = err_no };

	unsigned generation = c->generation;

	cw_speaker_step(c->speaker, c->peer, &ev);
	/* Whatever the machine made of it, nothing can come over it any more. */
	if (c->generation == generation)
		cw_speaker_conn_close(c->speaker, c, true);
}

/* Gives the machine the whole messages of the buffer. False: the connection is gone. */
static bool take_messages(struct conn *c)
{
	struct cw_speaker *sp = c->speaker;
	struct cw_bgp_peer *machine = peer_of(c)->machine;
	unsigned generation = c->generation;
	size_t at = 0;

	while (c->generation == generation && at < c->n_in) {
		struct cw_span in = { c->in + at, c->n_in - at };
		struct cw_bgp_header header = { 0 };
		struct cw_bgp_err err = { 0 };
		enum cw_rc rc = cw_bgp_header_decode(in, cw_bgp_peer_max(machine, c->which), &header,
						     &err);
		struct cw_bgp_event ev = { .kind = CW_BGP_EV_MESSAGE, .conn = c->which };

		if (rc == CW_E_BUSY)
			break;
		if (rc != CW_OK) {
			ev.kind = CW_BGP_EV_HEADER_ERROR;
			ev.err = &err;
			ev.body = (struct cw_span){ in.p, in.n < CW_BGP_HEADER_LEN ? in.n : CW_BGP_HEADER_LEN };
			cw_speaker_step(sp, c->peer, &ev);
			if (c->generation == generation)
				cw_speaker_conn_close(sp, c, false);
			return false;
		}
		if (sp->mrt_fd >= 0)
			cw_speaker_mrt_message(sp, c->peer, (struct cw_span){ in.p, header.len });
		ev.type = header.type;
		ev.body = (struct cw_span){ in.p + CW_BGP_HEADER_LEN,
					    (size_t)header.len - CW_BGP_HEADER_LEN };
		at += header.len;
		cw_speaker_step(sp, c->peer, &ev);
	}
	if (c->generation != generation)
		return false;
	c->n_in -= at;
	memmove(c->in, c->in + at, c->n_in);
	return true;
}

static void on_readable(struct conn *c)
{
	/* More than a turn's share is left for the next one: other sockets and timers wait too. */
	ssize_t n = read(c->fd, c->in + c->n_in, CONN_IN_SIZE - c->n_in);

	if (n > 0) {
		c->n_in += (size_t)n;
		take_messages(c);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	step_closed(c, n == 0 ? 0 : errno);
}

static void on_decided(struct conn *c)
{
	int err = cw_tcp_result(c->fd);
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_CONNECTED, .conn = c->which };

	c->connecting = false;
	if (err) {
		ev.kind = CW_BGP_EV_CONNECT_FAILED;
		ev.err_no = err;
		cw_speaker_conn_close(c->speaker, c, true);
	} else {
		cw_loop_rewatch(c->speaker->loop, c->fd, CW_LOOP_READ);
		c->watched_write = false;
	}
	cw_speaker_step(c->speaker, c->peer, &ev);
}

static void on_conn(void *arg, int fd, unsigned events)
{
	struct conn *c = arg;
	unsigned generation = c->generation;

	(void)fd;
	if (c->connecting) {
		on_decided(c);
		return;
	}
	if (events & CW_LOOP_WRITE)
		cw_speaker_conn_pump(c->speaker, c);
	if (c->generation == generation && (events & (CW_LOOP_READ | CW_LOOP_HANGUP)))
		on_readable(c);
}

/* ---- out ---- */

static void watch_write(struct conn *c, bool on)
{
	if (c->watched_write == on)
		return;
	c->watched_write = on;
	cw_loop_rewatch(c->speaker->loop, c->fd, CW_LOOP_READ | (on ? CW_LOOP_WRITE : 0));
}

/* Writes what is queued; tells the machine of a peer that takes nothing, and of one that does again. */
static void write_queued(struct conn *c)
{
	bool progress = false, was = c->blocked;
	struct cw_bgp_event ev = { .conn = c->which };

	c->blocked = false;
	while (c->n_out) {
		ssize_t n = send(c->fd, c->out + c->out_at, c->n_out, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			/* An error other than this shows when reading, with what the peer said before. */
			c->blocked = n == 0 || errno == EAGAIN;
			if (!c->blocked)
				c->n_out = 0;
			break;
		}
		progress = true;
		c->out_at += (size_t)n;
		c->n_out -= (size_t)n;
	}
	if (!c->n_out)
		c->out_at = 0;
	watch_write(c, c->n_out > 0);
	if (was && progress) {
		ev.kind = CW_BGP_EV_SEND_PROGRESS;
		ev.blocked = c->blocked;
		cw_speaker_step(c->speaker, c->peer, &ev);
	} else if (!was && c->blocked) {
		ev.kind = CW_BGP_EV_SEND_BLOCKED;
		cw_speaker_step(c->speaker, c->peer, &ev);
	}
}

static bool make_room(struct conn *c, size_t n)
{
	if (c->out_at && CONN_OUT_SIZE - c->out_at - c->n_out < n) {
		memmove(c->out, c->out + c->out_at, c->n_out);
		c->out_at = 0;
	}
	return CONN_OUT_SIZE - c->out_at - c->n_out >= n;
}

void cw_speaker_conn_send(struct cw_speaker *sp, struct conn *c, struct cw_span bytes)
{
	(void)sp;
	if (c->fd < 0 || !bytes.n)
		return;
	/* Half of the queue is kept free of UPDATEs. A peer that takes nothing for so long is ended by the
	 * machine's timers; until then its KEEPALIVEs are of no use to it. */
	if (!make_room(c, bytes.n))
		return;
	memcpy(c->out + c->out_at + c->n_out, bytes.p, bytes.n);
	c->n_out += bytes.n;
	if (!c->blocked)
		write_queued(c);
}

bool cw_speaker_conn_pump(struct cw_speaker *sp, struct conn *c)
{
	struct neighbour *nb = &sp->v[c->peer];
	size_t budget = CONN_OUT_SIZE;
	unsigned generation = c->generation;

	if (c->n_out)
		write_queued(c);
	while (c->generation == generation && nb->up && cw_bgp_peer_established(nb->machine) == c->which &&
	       c->n_out < CONN_OUT_SIZE / 2 && make_room(c, CONN_OUT_SIZE / 2)) {
		uint32_t updates = 0, marks = 0; /* of route refresh */
		size_t len;

		while (c->n_out < CONN_OUT_SIZE / 2 &&
		       (len = cw_bgp_out_next(nb->out, c->out + c->out_at + c->n_out,
					      CONN_OUT_SIZE - c->out_at - c->n_out)) > 0) {
			if (c->out[c->out_at + c->n_out + CW_BGP_HEADER_LEN - 1] == CW_BGP_UPDATE)
				updates++;
			else
				marks++;
			c->n_out += len;
		}
		if (!updates && !marks)
			return false;
		cw_bgp_peer_sent(nb->machine, CW_BGP_UPDATE, updates, cw_speaker_now(sp));
		cw_bgp_peer_sent(nb->machine, CW_BGP_ROUTE_REFRESH, marks, cw_speaker_now(sp));
		if (!c->blocked)
			write_queued(c);
		if (c->blocked)
			return false;
		if (budget < CONN_OUT_SIZE / 2)
			return true;
		budget -= CONN_OUT_SIZE / 2;
	}
	return false;
}

/* ---- coming and going ---- */

static bool open_conn(struct cw_speaker *sp, struct conn *c, int fd, bool connecting)
{
	c->in = malloc(CONN_IN_SIZE);
	c->out = malloc(CONN_OUT_SIZE);
	c->n_in = c->out_at = c->n_out = 0;
	c->connecting = connecting;
	c->blocked = false;
	c->watched_write = connecting;
	if (c->in && c->out &&
	    cw_loop_watch(sp->loop, fd, connecting ? CW_LOOP_WRITE : CW_LOOP_READ, on_conn, c) == CW_OK) {
		c->fd = fd;
		c->generation++;
		return true;
	}
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
	close(fd);
	return false;
}

void cw_speaker_conn_connect(struct cw_speaker *sp, size_t peer)
{
	struct neighbour *nb = &sp->v[peer];
	struct conn *c = &nb->conns[CW_BGP_CONN_OURS];
	struct cw_bgp_event ev = { .kind = CW_BGP_EV_CONNECT_FAILED, .conn = CW_BGP_CONN_OURS };
	struct cw_tcp_way way = way_of(sp, nb);
	int fd, err_no = ENOMEM;

	cw_speaker_conn_close(sp, c, true);
	if (cw_tcp_connect(&way, &fd, &err_no) == CW_OK) {
		err_no = ENOMEM;
		if (open_conn(sp, c, fd, true))
			return; /* on_decided() tells */
	}
	ev.err_no = err_no;
	cw_speaker_step(sp, peer, &ev);
}

void cw_speaker_conn_take(struct cw_speaker *sp, size_t peer, int fd)
{
	struct neighbour *nb = &sp->v[peer];
	struct conn *c = &nb->conns[CW_BGP_CONN_THEIRS];
	struct cw_tcp_way way = way_of(sp, nb);
	int err_no;

	cw_speaker_conn_close(sp, c, true);
	cw_tcp_settle(fd, &way, &err_no);
	if (!open_conn(sp, c, fd, false)) {
		struct cw_bgp_event ev = { .kind = CW_BGP_EV_CLOSED, .conn = CW_BGP_CONN_THEIRS,
					   .err_no = ENOMEM };

		cw_speaker_step(sp, peer, &ev);
	}
}

static void on_closer(void *arg, int fd, unsigned events)
{
	struct closer *cl = arg;
	char drain[4096];
	ssize_t n = read(fd, drain, sizeof(drain));

	(void)events;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	cw_loop_unwatch(cl->speaker->loop, fd);
	close(fd);
	cl->fd = -1;
}

/* Closing while the peer's bytes wait unread would send a RST, which may overtake our last words. */
void cw_speaker_close_gently(struct cw_speaker *sp, int fd)
{
	shutdown(fd, SHUT_WR);
	for (size_t i = 0; i < CLOSERS_MAX; i++) {
		struct closer *cl = &sp->closers[i];

		if (cl->fd >= 0)
			continue;
		cl->speaker = sp;
		cl->until = cw_time_add_s(cw_speaker_now(sp), CLOSER_S);
		if (cw_loop_watch(sp->loop, fd, CW_LOOP_READ, on_closer, cl) != CW_OK)
			break;
		cl->fd = fd;
		return;
	}
	close(fd);
}

void cw_speaker_conn_close(struct cw_speaker *sp, struct conn *c, bool discard)
{
	int fd = c->fd;

	if (fd < 0)
		return;
	c->fd = -1;
	c->generation++;
	cw_loop_unwatch(sp->loop, fd);
	if (!discard && c->n_out && !c->blocked && !c->connecting &&
	    send(fd, c->out + c->out_at, c->n_out, MSG_NOSIGNAL) < 0)
		discard = true;
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
	if (discard || c->connecting)
		cw_tcp_abort(fd);
	else
		cw_speaker_close_gently(sp, fd);
}

void cw_speaker_closers_turn(struct cw_speaker *sp, struct cw_time now, bool all)
{
	for (size_t i = 0; i < CLOSERS_MAX; i++) {
		struct closer *cl = &sp->closers[i];

		if (cl->fd < 0 || (!all && !cw_time_reached(cl->until, now)))
			continue;
		cw_loop_unwatch(sp->loop, cl->fd);
		close(cl->fd);
		cl->fd = -1;
	}
}

struct cw_time cw_speaker_closers_due(const struct cw_speaker *sp)
{
	struct cw_time due = CW_TIME_NEVER;

	for (size_t i = 0; i < CLOSERS_MAX; i++) {
		if (sp->closers[i].fd >= 0)
			due = cw_time_min(due, sp->closers[i].until);
	}
	return due;
}

/* ---- listening ---- */

static void stranger(struct cw_speaker *sp, const struct cw_addr *remote, const struct cw_addr *local)
{
	struct cw_time now = cw_speaker_now(sp);
	char from[CW_ADDR_TEXT_MAX], to[CW_ADDR_TEXT_MAX];

	if (!cw_time_is_never(sp->unknown_logged_at) &&
	    !cw_time_reached(cw_time_add_s(sp->unknown_logged_at, UNKNOWN_LOG_S), now))
		return;
	sp->unknown_logged_at = now;
	cw_log(CW_LOG_WARNING, CW_LOG_BGP_STRANGER, "gateway",
	       "a BGP connection from %s to %s was closed: no tunnel has that bgp-peer and bgp-address",
	       cw_addr_print(remote, from, sizeof(from)), cw_addr_print(local, to, sizeof(to)));
}

/* Without a descriptor the connection stays in line and would wake the loop for ever. */
static void pause_listeners(struct cw_speaker *sp)
{
	sp->accept_again = cw_time_add_s(cw_speaker_now(sp), ACCEPT_PAUSE_S);
	for (size_t i = 0; i < sp->n_listeners; i++)
		(void)cw_loop_rewatch(sp->loop, sp->listeners[i].fd, 0);
}

void cw_speaker_listeners_turn(struct cw_speaker *sp, struct cw_time now)
{
	if (!cw_time_reached(sp->accept_again, now))
		return;
	sp->accept_again = CW_TIME_NEVER;
	for (size_t i = 0; i < sp->n_listeners; i++)
		(void)cw_loop_rewatch(sp->loop, sp->listeners[i].fd, CW_LOOP_READ);
}

static void on_listener(void *arg, int fd, unsigned events)
{
	struct listener *l = arg;
	struct cw_speaker *sp = l->speaker;
	struct cw_addr remote, local;
	int conn, err_no;

	(void)events;
	for (int n = 0; n < ACCEPTS_A_TURN; n++) {
		enum cw_rc rc = cw_tcp_accept(fd, &conn, &remote, &local, &err_no);
		size_t i = 0;

		if (rc != CW_OK && rc != CW_E_BUSY)
			pause_listeners(sp);
		if (rc != CW_OK)
			return;
		while (i < sp->n && (!cw_addr_equal(&sp->v[i].conf->bgp.peer, &remote) ||
				     !cw_addr_equal(&sp->v[i].conf->bgp.local, &local)))
			i++;
		if (i < sp->n) {
			struct cw_bgp_event ev = { .kind = CW_BGP_EV_ACCEPTED, .conn = CW_BGP_CONN_THEIRS };

			/* run_actions() takes or refuses it */
			sp->accepted_fd = conn;
			cw_speaker_step(sp, i, &ev);
			if (sp->accepted_fd >= 0)
				cw_tcp_abort(sp->accepted_fd);
			sp->accepted_fd = -1;
			continue;
		}
		stranger(sp, &remote, &local);
		cw_tcp_abort(conn);
	}
}

static struct listener *listener_at(struct cw_speaker *sp, const struct cw_addr *addr)
{
	for (size_t i = 0; i < sp->n_listeners; i++) {
		if (cw_addr_equal(&sp->listeners[i].addr, addr))
			return &sp->listeners[i];
	}
	return NULL;
}

enum cw_rc cw_speaker_listen(struct cw_speaker *sp, char *reterr, size_t size)
{
	char text[CW_ADDR_TEXT_MAX];
	enum cw_rc rc;
	int err_no = 0;

	sp->listeners = calloc(sp->n ? sp->n : 1, sizeof(*sp->listeners));
	if (!sp->listeners)
		return CW_E_NO_MEMORY;
	for (size_t i = 0; i < sp->n; i++) {
		const struct cw_bgp_conf *b = &sp->v[i].conf->bgp;
		struct listener *l = listener_at(sp, &b->local);

		if (b->connect == CW_BGP_CONNECT_ACTIVE)
			continue;
		if (!l) {
			l = &sp->listeners[sp->n_listeners];
			*l = (struct listener){ .speaker = sp, .addr = b->local, .fd = -1 };
			rc = cw_tcp_listen(&b->local, sp->port, &l->fd, &err_no);
			if (rc == CW_OK)
				rc = cw_loop_watch(sp->loop, l->fd, CW_LOOP_READ, on_listener, l);
			if (rc != CW_OK) {
				if (l->fd >= 0)
					close(l->fd);
				snprintf(reterr, size, "can't listen for BGP on %s port %u: %s%s",
					 cw_addr_print(&b->local, text, sizeof(text)), sp->port,
					 err_no ? strerror(err_no) : cw_rc_name(rc),
					 err_no == EADDRINUSE ?
						 "; another BGP daemon runs here: stop it, or write bgp = \"external\"" :
						 "");
				return rc;
			}
			sp->n_listeners++;
		}
		rc = b->password ? cw_tcp_listen_key(l->fd, &b->peer, b->password, &err_no) : CW_OK;
		if (rc != CW_OK) {
			snprintf(reterr, size, "can't set the bgp-password of %s: %s", sp->v[i].conf->name,
				 rc == CW_E_UNSUPPORTED ? "this kernel has no TCP MD5 (CONFIG_TCP_MD5SIG)" :
							  strerror(err_no));
			return rc;
		}
	}
	return CW_OK;
}
