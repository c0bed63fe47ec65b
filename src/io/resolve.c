/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "io/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "io/loop.h"
#include "io/mailbox.h"

struct job {
	struct job *next;
	char name[CW_RESOLVE_NAME_MAX + 1];
	struct cw_resolve_answer answer;
};

/* What workers and resolver share. Everything is read and written under `lock`. */
struct shared {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* a job waits, or stopping */
	pthread_cond_t fewer; /* an idle worker has left */
	struct job *first, **last;
	size_t n_waiting;
	unsigned n_threads, n_busy; /* busy: inside lookup() */
	bool stopping;
	cw_resolve_lookup_fn *lookup;
	struct cw_mailbox *box; /* letters are struct job *; not touched once stopping */
};

struct cw_resolver {
	struct shared *shared;
	struct cw_loop *loop;
	struct cw_mailbox *box; /* owned; has room for every pending job */
	cw_resolve_fn *fn;
	void *arg;
	size_t n_pending;
};

static void shared_free(struct shared *s)
{
	pthread_cond_destroy(&s->fewer);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct job *next_job(struct shared *s)
{
	struct job *job = s->first;

	s->first = job->next;
	if (!s->first)
		s->last = &s->first;
	s->n_waiting--;
	return job;
}

static void *work(void *arg)
{
	struct shared *s = arg;
	bool last;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct job *job;

		while (!s->first && !s->stopping)
			pthread_cond_wait(&s->work, &s->lock);
		if (s->stopping)
			break;
		job = next_job(s);
		s->n_busy++;
		pthread_mutex_unlock(&s->lock);
		s->lookup(job->name, &job->answer);
		pthread_mutex_lock(&s->lock);
		s->n_busy--;
		/* Never full: it has a slot for each job that may be pending. */
		if (s->stopping || !cw_mailbox_post(s->box, &job))
			free(job);
		/* The resolver went away meanwhile and did not wait for this thread. */
		if (s->stopping) {
			last = --s->n_threads == 0;
			pthread_mutex_unlock(&s->lock);
			if (last)
				shared_free(s);
			return NULL;
		}
	}
	s->n_threads--;
	pthread_cond_signal(&s->fewer);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool can_be_a_peer(const struct cw_addr *addr)
{
	/* An address of fe80::/10 means nothing without its interface. */
	return !cw_addr_is_unspecified(addr) && !cw_addr_is_multicast(addr) &&
	       !(addr->family == CW_FAMILY_IPV6 && cw_addr_is_link_local(addr));
}

static bool add_addr(struct cw_resolve_answer *answer, const struct sockaddr *sa)
{
	struct cw_addr addr = { 0 };

	if (sa->sa_family == AF_INET) {
		addr.family = CW_FAMILY_IPV4;
		memcpy(addr.bytes, (const char *)sa + offsetof(struct sockaddr_in, sin_addr), 4);
	} else if (sa->sa_family == AF_INET6) {
		addr.family = CW_FAMILY_IPV6;
		memcpy(addr.bytes, (const char *)sa + offsetof(struct sockaddr_in6, sin6_addr), 16);
	}
	if (!can_be_a_peer(&addr))
		return false;
	for (size_t i = 0; i < answer->n_addrs; i++) {
		if (cw_addr_equal(&answer->addrs[i], &addr))
			return true;
	}
	if (answer->n_addrs < CW_RESOLVE_ADDRS)
		answer->addrs[answer->n_addrs++] = addr;
	return true;
}

static enum cw_rc rc_from_gai(int err, int sys_err)
{
	switch (err) {
	case EAI_NONAME:
#ifdef EAI_NODATA
	case EAI_NODATA:
#endif
		return CW_E_NOT_FOUND;
	case EAI_AGAIN:
		return CW_E_BUSY;
	case EAI_MEMORY:
		return CW_E_NO_MEMORY;
	case EAI_SYSTEM:
		return sys_err ? cw_rc_from_errno(sys_err) : CW_E_SYSTEM;
	default:
		return CW_E_SYSTEM;
	}
}

void cw_resolve_system(const char *name, struct cw_resolve_answer *ret_answer)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *list = NULL;
	int err, sys_err;

	ret_answer->n_addrs = 0;
	ret_answer->text[0] = '\0';
	errno = 0;
	err = getaddrinfo(name, NULL, &hints, &list);
	sys_err = errno;
	if (err) {
		char buf[128];

		ret_answer->rc = rc_from_gai(err, sys_err);
		snprintf(ret_answer->text, sizeof(ret_answer->text), "%s: %s", name,
			err == EAI_SYSTEM && sys_err ? strerror_r(sys_err, buf, sizeof(buf))
						     : gai_strerror(err));
		return;
	}
	for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
		add_addr(ret_answer, ai->ai_addr);
	freeaddrinfo(list);
	if (ret_answer->n_addrs) {
		ret_answer->rc = CW_OK;
		return;
	}
	ret_answer->rc = CW_E_NOT_FOUND;
	snprintf(ret_answer->text, sizeof(ret_answer->text),
		"%s: the resolver gave only addresses that no peer can have (such as 0.0.0.0)",
		name);
}

static void on_mail(void *arg, int fd, unsigned events)
{
	struct cw_resolver *r = arg;
	/* A callback that asks anew for an address as text is answered in the next turn. */
	size_t most = r->n_pending;
	struct job *job;

	(void)fd;
	(void)events;
	while (most-- && cw_mailbox_take(r->box, &job)) {
		r->n_pending--;
		r->fn(r->arg, &job->answer);
		free(job);
	}
}

static struct shared *shared_new(cw_resolve_lookup_fn *lookup, struct cw_mailbox *box)
{
	struct shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->lookup = lookup;
	s->box = box;
	s->last = &s->first;
	/* With default attributes these can't fail on Linux. */
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->fewer, NULL);
	return s;
}

enum cw_rc cw_resolver_new(struct cw_loop *loop, cw_resolve_lookup_fn *lookup, cw_resolve_fn *fn,
	void *arg, struct cw_resolver **ret_resolver)
{
	struct cw_resolver *r = calloc(1, sizeof(*r));
	enum cw_rc rc = CW_E_NO_MEMORY;

	if (!r)
		return rc;
	*r = (struct cw_resolver){ .loop = loop, .fn = fn, .arg = arg };
	r->box = cw_mailbox_new(sizeof(struct job *), CW_RESOLVE_PENDING);
	r->shared = r->box ? shared_new(lookup, r->box) : NULL;
	if (r->shared)
		rc = cw_loop_watch(loop, cw_mailbox_fd(r->box), CW_LOOP_READ, on_mail, r);
	if (rc != CW_OK) {
		if (r->shared)
			shared_free(r->shared);
		cw_mailbox_free(r->box);
		free(r);
		return rc;
	}
	*ret_resolver = r;
	return CW_OK;
}

void cw_resolver_free(struct cw_resolver *resolver)
{
	struct shared *s;
	struct job *job;
	bool last;

	if (!resolver)
		return;
	s = resolver->shared;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	while (s->first)
		free(next_job(s));
	pthread_cond_broadcast(&s->work);
	/* Idle workers leave at once. Busy ones may hang for as long as they like. */
	while (s->n_threads > s->n_busy)
		pthread_cond_wait(&s->fewer, &s->lock);
	last = s->n_threads == 0;
	pthread_mutex_unlock(&s->lock);
	if (last)
		shared_free(s);
	cw_loop_unwatch(resolver->loop, cw_mailbox_fd(resolver->box));
	while (cw_mailbox_take(resolver->box, &job))
		free(job);
	cw_mailbox_free(resolver->box);
	free(resolver);
}

static enum cw_rc add_thread(struct shared *s)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return CW_E_SYSTEM;
	s->n_threads++;
	return CW_OK;
}

static enum cw_rc hand_to_workers(struct shared *s, struct job *job)
{
	enum cw_rc rc = CW_OK;

	pthread_mutex_lock(&s->lock);
	if (s->n_waiting >= s->n_threads - s->n_busy && s->n_threads < CW_RESOLVE_THREADS)
		rc = add_thread(s);
	/* One more thread is a help, not a need, as long as there is any. */
	if (s->n_threads) {
		rc = CW_OK;
		*s->last = job;
		s->last = &job->next;
		s->n_waiting++;
		pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

enum cw_rc cw_resolve_start(struct cw_resolver *resolver, uint64_t token, const char *name)
{
	size_t len = strlen(name);
	struct job *job;
	enum cw_rc rc = CW_OK;

	if (len == 0 || len > CW_RESOLVE_NAME_MAX)
		return CW_E_INVALID;
	if (resolver->n_pending >= CW_RESOLVE_PENDING)
		return CW_E_BUSY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return CW_E_NO_MEMORY;
	memcpy(job->name, name, len + 1);
	job->answer.token = token;
	if (cw_addr_parse(name, &job->answer.addrs[0]) == CW_OK) {
		job->answer.n_addrs = 1;
		if (!cw_mailbox_post(resolver->box, &job))
			rc = CW_E_BUSY;
	} else {
		rc = hand_to_workers(resolver->shared, job);
	}
	if (rc != CW_OK) {
		free(job);
		return rc;
	}
	resolver->n_pending++;
	return CW_OK;
}
