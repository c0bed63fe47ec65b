/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAS_MAX 256
#define POLICIES_MAX 512

struct fake_sa {
	struct cw_sa_key key;
	bool used, larval;
};

struct fake {
	struct cw_kernel kernel;
	pthread_mutex_t lock;
	struct fake_sa sas[SAS_MAX];
	struct cw_policy policies[POLICIES_MAX];
	bool policy_used[POLICIES_MAX];
	struct fake_kernel_counts counts;
	uint32_t next_spi, refuse;
};

static struct fake *self(struct cw_kernel *k)
{
	return (struct fake *)(void *)k;
}

static void wrong(struct fake *f, const char *text, uint32_t spi)
{
	if (f->counts.wrong++ == 0)
		snprintf(f->counts.wrong_text, sizeof(f->counts.wrong_text), "%s 0x%08x", text, spi);
}

/* Marks are not compared: the kernel finds inbound SAs by the packet alone. */
static struct fake_sa *find(struct fake *f, const struct cw_sa_key *key)
{
	for (size_t i = 0; i < SAS_MAX; i++) {
		if (f->sas[i].used && f->sas[i].key.spi == key->spi &&
		    cw_addr_equal(&f->sas[i].key.dst, &key->dst))
			return &f->sas[i];
	}
	return NULL;
}

static struct fake_sa *room(struct fake *f)
{
	for (size_t i = 0; i < SAS_MAX; i++) {
		if (!f->sas[i].used)
			return &f->sas[i];
	}
	return NULL;
}

static enum cw_rc spi_alloc(struct cw_kernel *k, const struct cw_addr *src, const struct cw_addr *dst,
			    uint32_t reqid, uint32_t min, uint32_t max, uint32_t *ret_spi,
			    struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	struct fake_sa *sa;

	(void)max;
	(void)reterr;
	pthread_mutex_lock(&f->lock);
	if (reqid < CW_REQID_BASE || reqid >= CW_REQID_BASE + CW_REQID_SPAN)
		wrong(f, "reservation with a reqid that is not ours", reqid);
	sa = room(f);
	if (sa)
		*sa = (struct fake_sa){ .key = { .src = *src, .dst = *dst, .spi = min + f->next_spi++ },
					.used = true,
					.larval = true };
	*ret_spi = sa ? sa->key.spi : 0;
	pthread_mutex_unlock(&f->lock);
	return sa ? CW_OK : CW_E_NO_MEMORY;
}

static enum cw_rc sa_add(struct cw_kernel *k, const struct cw_sa *sa, struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	struct fake_sa *at;
	enum cw_rc rc = CW_OK;

	pthread_mutex_lock(&f->lock);
	if (f->refuse) {
		f->refuse--;
		*reterr = (struct cw_kernel_err){ .err = ENOMEM };
		rc = CW_E_SYSTEM;
		goto out;
	}
	at = find(f, &sa->key);
	if (at && !(at->larval && sa->inbound)) {
		wrong(f, "SA added twice", sa->key.spi);
		rc = CW_E_EXISTS;
		goto out;
	}
	if (!at)
		at = room(f);
	if (!at) {
		rc = CW_E_NO_MEMORY;
		goto out;
	}
	if (!sa->enc_key_len || (sa->integ && !sa->integ_key_len))
		wrong(f, "SA without a key", sa->key.spi);
	*at = (struct fake_sa){ .key = sa->key, .used = true };
	f->counts.enc = sa->enc;
	f->counts.integ = sa->integ;
	f->counts.encap = sa->encap;
	f->counts.esn = sa->esn;
	f->counts.replay_window = sa->replay_window;
	f->counts.if_id = sa->key.if_id;
	if (!sa->inbound)
		f->counts.mark = sa->key.mark;
	f->counts.reqid = sa->reqid;
	f->counts.soft_s = sa->life.soft_s;
	f->counts.hard_s = sa->life.hard_s;
out:
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static enum cw_rc sa_update(struct cw_kernel *k, const struct cw_sa_key *key,
			    const struct cw_addr *new_src, const struct cw_addr *new_dst, bool encap,
			    uint16_t sport, uint16_t dport, struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	struct fake_sa *at;

	(void)sport;
	(void)reterr;
	pthread_mutex_lock(&f->lock);
	at = find(f, key);
	if (at) {
		at->key.src = *new_src;
		at->key.dst = *new_dst;
		f->counts.moved++;
		if (encap && dport != 4500)
			f->counts.moved_port = dport;
	} else {
		wrong(f, "update of an unknown SA", key->spi);
	}
	pthread_mutex_unlock(&f->lock);
	return at ? CW_OK : CW_E_NOT_FOUND;
}

static enum cw_rc sa_query(struct cw_kernel *k, const struct cw_sa_key *key, struct cw_sa_stats *ret_stats,
			   struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	struct fake_sa *at;

	(void)reterr;
	pthread_mutex_lock(&f->lock);
	at = find(f, key);
	pthread_mutex_unlock(&f->lock);
	*ret_stats = (struct cw_sa_stats){ .bytes = 1000, .packets = 10 };
	return at ? CW_OK : CW_E_NOT_FOUND;
}

static enum cw_rc sa_del(struct cw_kernel *k, const struct cw_sa_key *key, struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	struct fake_sa *at;

	(void)reterr;
	pthread_mutex_lock(&f->lock);
	at = find(f, key);
	if (at)
		at->used = false;
	pthread_mutex_unlock(&f->lock);
	return CW_OK;
}

static bool same_policy(const struct cw_policy *a, const struct cw_policy *b)
{
	return a->dir == b->dir && a->if_id == b->if_id && a->mark == b->mark &&
	       cw_prefix_compare(&a->sel.src, &b->sel.src) == 0 &&
	       cw_prefix_compare(&a->sel.dst, &b->sel.dst) == 0;
}

static size_t policy_at(struct fake *f, const struct cw_policy *policy)
{
	size_t i;

	for (i = 0; i < POLICIES_MAX; i++) {
		if (f->policy_used[i] && same_policy(&f->policies[i], policy))
			break;
	}
	return i;
}

static enum cw_rc policy_add(struct cw_kernel *k, const struct cw_policy *policy,
			     struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	size_t i;

	(void)reterr;
	pthread_mutex_lock(&f->lock);
	if (!policy->if_id && !policy->mark && (policy->sel.src.len == 0 || policy->sel.dst.len == 0))
		wrong(f, "policy for everything without an interface", policy->reqid);
	if (policy->action == CW_POLICY_PROTECT && (!policy->tunnel_mode || !policy->reqid))
		wrong(f, "policy without tunnel mode or reqid", policy->reqid);
	i = policy_at(f, policy);
	for (size_t n = 0; i == POLICIES_MAX && n < POLICIES_MAX; n++) {
		if (!f->policy_used[n])
			i = n;
	}
	if (i < POLICIES_MAX) {
		f->policies[i] = *policy;
		f->policy_used[i] = true;
	}
	if (policy->dir == CW_DIR_OUT)
		f->counts.out_spi = policy->tmpl_spi;
	pthread_mutex_unlock(&f->lock);
	return i < POLICIES_MAX ? CW_OK : CW_E_NO_MEMORY;
}

static enum cw_rc policy_query(struct cw_kernel *k, const struct cw_policy *policy,
			       uint64_t *ret_last_use_s, struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	bool there;

	(void)reterr;
	pthread_mutex_lock(&f->lock);
	there = policy_at(f, policy) < POLICIES_MAX;
	pthread_mutex_unlock(&f->lock);
	*ret_last_use_s = 0;
	return there ? CW_OK : CW_E_NOT_FOUND;
}

static enum cw_rc policy_del(struct cw_kernel *k, const struct cw_policy *policy,
			     struct cw_kernel_err *reterr)
{
	struct fake *f = self(k);
	size_t i;

	(void)reterr;
	pthread_mutex_lock(&f->lock);
	i = policy_at(f, policy);
	if (i < POLICIES_MAX)
		f->policy_used[i] = false;
	else
		wrong(f, "deletion of an unknown policy", policy->reqid);
	pthread_mutex_unlock(&f->lock);
	return CW_OK;
}

static enum cw_rc socket_ok(struct cw_kernel *k, int fd, enum cw_family family,
			    struct cw_kernel_err *reterr)
{
	(void)k;
	(void)fd;
	(void)family;
	(void)reterr;
	return CW_OK;
}

static const struct cw_kernel_ops ops = {
	.spi_alloc = spi_alloc,
	.sa_add = sa_add,
	.sa_update = sa_update,
	.sa_query = sa_query,
	.sa_del = sa_del,
	.policy_add = policy_add,
	.policy_query = policy_query,
	.policy_del = policy_del,
	.socket_bypass = socket_ok,
	.socket_espinudp = socket_ok,
};

struct cw_kernel *fake_kernel_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->kernel.ops = &ops;
	pthread_mutex_init(&f->lock, NULL);
	return &f->kernel;
}

void fake_kernel_counts(struct cw_kernel *k, struct fake_kernel_counts *ret)
{
	struct fake *f = self(k);

	pthread_mutex_lock(&f->lock);
	*ret = f->counts;
	for (size_t i = 0; i < SAS_MAX; i++) {
		ret->sas += f->sas[i].used && !f->sas[i].larval;
		ret->larval += f->sas[i].used && f->sas[i].larval;
	}
	for (size_t i = 0; i < POLICIES_MAX; i++) {
		if (!f->policy_used[i])
			continue;
		ret->policies++;
		ret->policies_in += f->policies[i].dir == CW_DIR_IN;
		ret->policies_out += f->policies[i].dir == CW_DIR_OUT;
		ret->policies_fwd += f->policies[i].dir == CW_DIR_FWD;
	}
	pthread_mutex_unlock(&f->lock);
}

void fake_kernel_refuse(struct cw_kernel *k, uint32_t n)
{
	struct fake *f = self(k);

	pthread_mutex_lock(&f->lock);
	f->refuse = n;
	pthread_mutex_unlock(&f->lock);
}

void fake_kernel_free(struct cw_kernel *k)
{
	struct fake *f = self(k);

	pthread_mutex_destroy(&f->lock);
	free(f);
}
