/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "charon/charon_priv.h"

/*
 * A key belongs to its tunnel and is found by both of the tunnel's identities, never by one of them
 * alone: two tunnels to one peer with different local identities have keys of their own.
 */

struct found {
	shared_key_t *key;
	id_match_t me, other;
};

/* A tunnel without a local identity uses its address as such, so any address may stand for it. */
static id_match_t match_local(const struct cw_charon_tunnel *t, identification_t *me)
{
	id_type_t type;

	if (!me)
		return ID_MATCH_ANY;
	if (t->local_id)
		return me->matches(me, t->local_id);
	type = me->get_type(me);
	return type == ID_IPV4_ADDR || type == ID_IPV6_ADDR ? ID_MATCH_ANY : ID_MATCH_NONE;
}

static void found_free(struct found *f)
{
	f->key->destroy(f->key);
	free(f);
}

static void founds_free(void *data)
{
	linked_list_t *list = data;

	list->destroy_function(list, (void (*)(void *))found_free);
}

static bool to_key(void *data, enumerator_t *orig, va_list args)
{
	shared_key_t **key = va_arg(args, shared_key_t **);
	id_match_t *me = va_arg(args, id_match_t *), *other = va_arg(args, id_match_t *);
	struct found *f;

	(void)data;
	if (!orig->enumerate(orig, &f))
		return FALSE;
	if (key)
		*key = f->key;
	if (me)
		*me = f->me;
	if (other)
		*other = f->other;
	return TRUE;
}

static enumerator_t *shared_enumerator(credential_set_t *this, shared_key_type_t type,
				       identification_t *me, identification_t *other)
{
	struct cw_charon *c = CW_OUTER(this, struct cw_charon, creds);
	linked_list_t *list;

	if (type != SHARED_IKE && type != SHARED_ANY)
		return NULL;
	list = linked_list_create();
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->n_tunnels; i++) {
		struct cw_charon_tunnel *t = c->tunnels[i];
		id_match_t m, o;
		struct found *f;

		if (!t)
			continue;
		m = match_local(t, me);
		o = other ? other->matches(other, t->remote_id) : ID_MATCH_ANY;
		if (m == ID_MATCH_NONE || o == ID_MATCH_NONE)
			continue;
		f = malloc(sizeof(*f));
		if (!f)
			break;
		*f = (struct found){ .key = t->psk->get_ref(t->psk), .me = m, .other = o };
		list->insert_last(list, f);
	}
	pthread_mutex_unlock(&c->lock);
	return enumerator_create_filter(list->create_enumerator(list), to_key, list, founds_free);
}

static enumerator_t *no_private(credential_set_t *this, key_type_t type, identification_t *id)
{
	(void)this;
	(void)type;
	(void)id;
	return NULL;
}

static enumerator_t *no_cert(credential_set_t *this, certificate_type_t cert, key_type_t key,
			     identification_t *id, bool trusted)
{
	(void)this;
	(void)cert;
	(void)key;
	(void)id;
	(void)trusted;
	return NULL;
}

static enumerator_t *no_cdp(credential_set_t *this, certificate_type_t type, identification_t *id)
{
	(void)this;
	(void)type;
	(void)id;
	return NULL;
}

static void no_cache(credential_set_t *this, certificate_t *cert)
{
	(void)this;
	(void)cert;
}

void cw_charon_creds_init(struct cw_charon *c)
{
	c->creds = (credential_set_t){
		.create_private_enumerator = no_private,
		.create_cert_enumerator = no_cert,
		.create_shared_enumerator = shared_enumerator,
		.create_cdp_enumerator = no_cdp,
		.cache_cert = no_cache,
	};
}
