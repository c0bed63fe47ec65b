/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcharon adds a CHILD_SA's policies when it comes and deletes them when it goes, though during a
 * rekey two CHILD_SAs have equal ones. The kernel holds one policy per key, so the users of each key
 * are kept here, the best in front; only a change of the best reaches the kernel.
 */
#include "charon/charon_priv.h"

#include <stdlib.h>
#include <string.h>

/* owner: SPI of the CHILD_SA. libcharon also deletes policies of a CHILD_SA that it never came to add (the
 * kernel had refused the SA), and these may be equal to another one's in all but this. */
struct user {
	struct cw_policy policy;
	uint32_t owner;
};

struct entry {
	struct entry *next;
	struct user *users; /* users[0] is what the kernel has */
	size_t n;
};

struct cw_charon_policies {
	struct cw_kernel *kernel;
	pthread_mutex_t lock; /* held over the kernel's calls: they are short, and order matters */
	struct entry **buckets;
	size_t n_buckets, n_entries;
};

#define BUCKETS_MIN 64

static size_t hash(const struct cw_policy *p)
{
	const struct cw_prefix *ends[2] = { &p->sel.src, &p->sel.dst };
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < sizeof(ends[i]->addr.bytes); k++)
			h = (h ^ ends[i]->addr.bytes[k]) * 16777619u;
		h = (h ^ ends[i]->len) * 16777619u;
	}
	h = (h ^ (uint32_t)p->dir) * 16777619u;
	h = (h ^ p->if_id) * 16777619u;
	return (h ^ p->mark) * 16777619u;
}

static bool prefix_equal(const struct cw_prefix *a, const struct cw_prefix *b)
{
	return a->len == b->len && cw_addr_equal(&a->addr, &b->addr);
}

static bool same_key(const struct cw_policy *a, const struct cw_policy *b)
{
	return a->dir == b->dir && a->if_id == b->if_id && a->mark == b->mark &&
	       a->mark_mask == b->mark_mask && a->sel.proto == b->sel.proto &&
	       a->sel.sport == b->sel.sport && a->sel.sport_mask == b->sel.sport_mask &&
	       a->sel.dport == b->sel.dport && a->sel.dport_mask == b->sel.dport_mask &&
	       prefix_equal(&a->sel.src, &b->sel.src) && prefix_equal(&a->sel.dst, &b->sel.dst);
}

static bool same_policy(const struct cw_policy *a, const struct cw_policy *b)
{
	return a->action == b->action && a->priority == b->priority && a->reqid == b->reqid &&
	       a->tmpl_spi == b->tmpl_spi && a->tunnel_mode == b->tunnel_mode &&
	       cw_addr_equal(&a->tmpl_src, &b->tmpl_src) && cw_addr_equal(&a->tmpl_dst, &b->tmpl_dst);
}

static bool is_user(const struct user *u, const struct cw_policy *policy, uint32_t owner)
{
	return u->owner == owner && same_policy(&u->policy, policy);
}

struct cw_charon_policies *cw_charon_policies_new(struct cw_kernel *kernel)
{
	struct cw_charon_policies *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kernel = kernel;
	p->n_buckets = BUCKETS_MIN;
	p->buckets = calloc(p->n_buckets, sizeof(struct entry *));
	if (!p->buckets || pthread_mutex_init(&p->lock, NULL) != 0) {
		free(p->buckets);
		free(p);
		return NULL;
	}
	return p;
}

static void each(struct cw_charon_policies *p, bool delete)
{
	struct cw_kernel_err err;

	for (size_t i = 0; i < p->n_buckets; i++) {
		while (p->buckets[i]) {
			struct entry *e = p->buckets[i];

			p->buckets[i] = e->next;
			if (delete)
				p->kernel->ops->policy_del(p->kernel, &e->users[0].policy, &err);
			free(e->users);
			free(e);
		}
	}
	p->n_entries = 0;
}

void cw_charon_policies_free(struct cw_charon_policies *p)
{
	if (!p)
		return;
	each(p, false);
	pthread_mutex_destroy(&p->lock);
	free(p->buckets);
	free(p);
}

void cw_charon_policies_flush(struct cw_charon_policies *p)
{
	pthread_mutex_lock(&p->lock);
	each(p, true);
	pthread_mutex_unlock(&p->lock);
}

size_t cw_charon_policies_restore(struct cw_charon_policies *p)
{
	struct cw_kernel_err err;
	uint64_t last_use_s;
	size_t n = 0;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n_buckets; i++) {
		for (const struct entry *e = p->buckets[i]; e; e = e->next) {
			const struct cw_policy *policy = &e->users[0].policy;

			if (p->kernel->ops->policy_query(p->kernel, policy, &last_use_s, &err) ==
			    CW_E_NOT_FOUND)
				n += p->kernel->ops->policy_add(p->kernel, policy, &err) == CW_OK;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return n;
}

static struct entry **slot(struct cw_charon_policies *p, const struct cw_policy *policy)
{
	struct entry **at = &p->buckets[hash(policy) % p->n_buckets];

	while (*at && !same_key(&(*at)->users[0].policy, policy))
		at = &(*at)->next;
	return at;
}

/* Chains stay short; where memory is out they just stay as they are. */
static void grow(struct cw_charon_policies *p)
{
	size_t n = p->n_buckets * 2;
	struct entry **buckets = calloc(n, sizeof(struct entry *));

	if (!buckets)
		return;
	for (size_t i = 0; i < p->n_buckets; i++) {
		while (p->buckets[i]) {
			struct entry *e = p->buckets[i];
			struct entry **to = &buckets[hash(&e->users[0].policy) % n];

			p->buckets[i] = e->next;
			e->next = *to;
			*to = e;
		}
	}
	free(p->buckets);
	p->buckets = buckets;
	p->n_buckets = n;
}

static enum cw_rc add_new(struct cw_charon_policies *p, const struct cw_policy *policy,
			  uint32_t owner, struct cw_kernel_err *reterr)
{
	struct entry *e = calloc(1, sizeof(*e)), **at;
	enum cw_rc rc;

	if (e)
		e->users = malloc(sizeof(struct user));
	if (!e || !e->users) {
		free(e);
		return CW_E_NO_MEMORY;
	}
	rc = p->kernel->ops->policy_add(p->kernel, policy, reterr);
	if (rc != CW_OK) {
		free(e->users);
		free(e);
		return rc;
	}
	if (p->n_entries >= p->n_buckets)
		grow(p);
	e->users[0] = (struct user){ .policy = *policy, .owner = owner };
	e->n = 1;
	at = &p->buckets[hash(policy) % p->n_buckets];
	e->next = *at;
	*at = e;
	p->n_entries++;
	return CW_OK;
}

enum cw_rc cw_charon_policies_add(struct cw_charon_policies *p, const struct cw_policy *policy,
				  uint32_t owner, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_OK;
	struct user *users;
	struct entry *e;
	size_t i;

	pthread_mutex_lock(&p->lock);
	e = *slot(p, policy);
	if (!e) {
		rc = add_new(p, policy, owner, reterr);
		goto out;
	}
	users = realloc(e->users, (e->n + 1) * sizeof(*users));
	if (!users) {
		rc = CW_E_NO_MEMORY;
		goto out;
	}
	e->users = users;
	for (i = 0; i < e->n && users[i].policy.priority < policy->priority; i++)
		;
	/* In front there is only a change if it means something else to the kernel. */
	if (i == 0 && !same_policy(&users[0].policy, policy))
		rc = p->kernel->ops->policy_add(p->kernel, policy, reterr);
	if (rc == CW_OK) {
		memmove(&users[i + 1], &users[i], (e->n - i) * sizeof(*users));
		users[i] = (struct user){ .policy = *policy, .owner = owner };
		e->n++;
	}
out:
	pthread_mutex_unlock(&p->lock);
	return rc;
}

enum cw_rc cw_charon_policies_del(struct cw_charon_policies *p, const struct cw_policy *policy,
				  uint32_t owner, struct cw_kernel_err *reterr)
{
	enum cw_rc rc = CW_OK;
	struct entry **at, *e;
	struct cw_policy was;
	size_t i;

	pthread_mutex_lock(&p->lock);
	at = slot(p, policy);
	e = *at;
	if (!e) {
		rc = CW_E_NOT_FOUND;
		goto out;
	}
	for (i = 0; i < e->n && !is_user(&e->users[i], policy, owner); i++)
		;
	if (i == e->n) {
		rc = CW_E_NOT_FOUND;
		goto out;
	}
	if (e->n == 1) {
		rc = p->kernel->ops->policy_del(p->kernel, &e->users[0].policy, reterr);
		*at = e->next;
		free(e->users);
		free(e);
		p->n_entries--;
		goto out;
	}
	was = e->users[i].policy;
	e->n--;
	memmove(&e->users[i], &e->users[i + 1], (e->n - i) * sizeof(e->users[0]));
	if (i == 0 && !same_policy(&e->users[0].policy, &was))
		rc = p->kernel->ops->policy_add(p->kernel, &e->users[0].policy, reterr);
out:
	pthread_mutex_unlock(&p->lock);
	return rc;
}
