/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcharon's kernel_ipsec_t over kernel_port.h. Called on libcharon's threads, any number at once; the
 * port has its own lock. Refusals are logged here, since libcharon only learns that there was one.
 */
#include "charon/charon_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct backend {
	kernel_ipsec_t public;
	struct cw_kernel *k;
	struct cw_charon_policies *policies;
};

static struct cw_kernel *kernel_in_use;
static struct cw_charon_policies *policies_in_use; /* while libcharon has its backend */

void cw_charon_kernel_use(struct cw_kernel *kernel)
{
	kernel_in_use = kernel;
}

static struct backend *self(kernel_ipsec_t *this)
{
	return CW_OUTER(this, struct backend, public);
}

static status_t refused(enum cw_rc rc, const struct cw_kernel_err *err, const char *what,
			const char *detail)
{
	cw_log(CW_LOG_ERROR, CW_LOG_KERNEL_REFUSED, "kernel", "%s %s: %s%s%s%s%s", what, detail,
	       cw_rc_name(rc), err->err ? ", " : "", err->err ? strerrordesc_np(err->err) : "",
	       err->text[0] ? ": " : "", err->text);
	return FAILED;
}

/* ---- SAs ---- */

static void sa_text(const struct cw_sa_key *key, char *buf, size_t size)
{
	char dst[CW_ADDR_TEXT_MAX];

	snprintf(buf, size, "0x%08x to %s", key->spi, cw_addr_print(&key->dst, dst, sizeof(dst)));
}

static struct cw_sa_key sa_key(const kernel_ipsec_sa_id_t *id)
{
	return (struct cw_sa_key){
		.src = cw_charon_addr(id->src),
		.dst = cw_charon_addr(id->dst),
		.spi = ntohl(id->spi),
		.if_id = id->if_id,
		.mark = id->mark.value,
		.mark_mask = id->mark.mask,
	};
}

static kernel_feature_t get_features(kernel_ipsec_t *this)
{
	(void)this;
	return KERNEL_POLICY_SPI;
}

/* Reservations carry the tunnel's first reqid, so that those of a crashed run are known as ours.
 * libcharon doesn't pass it, but the thread that asks works on the IKE_SA. */
static uint32_t reqid_of_thread(void)
{
	ike_sa_t *ike_sa = charon->bus->get_sa(charon->bus);
	peer_cfg_t *peer = ike_sa ? ike_sa->get_peer_cfg(ike_sa) : NULL;
	child_cfg_t *child = peer ? cw_charon_child_cfg(peer, 0) : NULL;
	uint32_t reqid = CW_REQID_BASE;

	if (child) {
		reqid = child->get_reqid(child);
		child->destroy(child);
	}
	return reqid;
}

static status_t get_spi(kernel_ipsec_t *this, host_t *src, host_t *dst, uint8_t protocol,
			uint32_t *spi)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_addr from = cw_charon_addr(src), to = cw_charon_addr(dst);
	struct cw_kernel_err err = { 0 };
	uint32_t got;
	enum cw_rc rc;

	if (protocol != IPPROTO_ESP)
		return NOT_SUPPORTED;
	rc = k->ops->spi_alloc(k, &from, &to, reqid_of_thread(), KERNEL_SPI_MIN, KERNEL_SPI_MAX, &got,
			       &err);
	if (rc != CW_OK) {
		char text[CW_ADDR_TEXT_MAX];

		/* libcharon raises it when an SA is refused, but not here. */
		charon->bus->alert(charon->bus, ALERT_INSTALL_CHILD_SA_FAILED, NULL);
		return refused(rc, &err, "no SPI for", cw_addr_print(&to, text, sizeof(text)));
	}
	*spi = htonl(got);
	return SUCCESS;
}

static status_t get_cpi(kernel_ipsec_t *this, host_t *src, host_t *dst, uint16_t *cpi)
{
	(void)this;
	(void)src;
	(void)dst;
	(void)cpi;
	return NOT_SUPPORTED;
}

/* Algorithm numbers of IKEv2 are the same on both sides; private and unknown ones are refused. */
static bool map_enc(uint16_t alg, enum cw_enc *ret)
{
	switch (alg) {
	case ENCR_3DES:
	case ENCR_NULL:
	case ENCR_AES_CBC:
	case ENCR_AES_CTR:
	case ENCR_AES_GCM_ICV8:
	case ENCR_AES_GCM_ICV12:
	case ENCR_AES_GCM_ICV16:
	case ENCR_CHACHA20_POLY1305:
		*ret = (enum cw_enc)alg;
		return true;
	default:
		return false;
	}
}

static bool map_integ(uint16_t alg, enum cw_integ *ret)
{
	switch (alg) {
	case AUTH_UNDEFINED:
		*ret = CW_INTEG_NONE;
		return true;
	case AUTH_HMAC_MD5_96:
	case AUTH_HMAC_SHA1_96:
	case AUTH_HMAC_SHA2_256_128:
	case AUTH_HMAC_SHA2_384_192:
	case AUTH_HMAC_SHA2_512_256:
		*ret = (enum cw_integ)alg;
		return true;
	default:
		return false;
	}
}

static status_t add_sa(kernel_ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_add_sa_t *data)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	const lifetime_cfg_t *life = data->lifetime;
	struct cw_sa sa = {
		.key = sa_key(id),
		.reqid = data->reqid,
		.inbound = data->inbound,
		.tunnel_mode = data->mode == MODE_TUNNEL,
		.enc_key = data->enc_key.ptr,
		.enc_key_len = data->enc_key.len,
		.integ_key = data->int_key.ptr,
		.integ_key_len = data->int_key.len,
		.life = {
			.soft_bytes = life->bytes.rekey,
			.hard_bytes = life->bytes.life,
			.soft_packets = life->packets.rekey,
			.hard_packets = life->packets.life,
			.soft_s = life->time.rekey,
			.hard_s = life->time.life,
		},
		.encap = data->encap,
		.encap_sport = data->encap ? id->src->get_port(id->src) : 0,
		.encap_dport = data->encap ? id->dst->get_port(id->dst) : 0,
		.replay_window = data->replay_window,
		.esn = data->esn,
		.no_copy_df = !data->copy_df,
		.no_copy_ecn = !data->copy_ecn,
	};
	char text[80];
	enum cw_rc rc = CW_E_UNSUPPORTED;

	sa_text(&sa.key, text, sizeof(text));
	if (id->proto == IPPROTO_ESP && data->ipcomp == IPCOMP_NONE &&
	    map_enc(data->enc_alg, &sa.enc) && map_integ(data->int_alg, &sa.integ))
		rc = k->ops->sa_add(k, &sa, &err);
	if (rc != CW_OK)
		return refused(rc, &err, "can't add SA", text);
	return SUCCESS;
}

static status_t update_sa(kernel_ipsec_t *this, kernel_ipsec_sa_id_t *id,
			  kernel_ipsec_update_sa_t *data)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	struct cw_sa_key key = sa_key(id);
	struct cw_addr src = cw_charon_addr(data->new_src), dst = cw_charon_addr(data->new_dst);
	char text[80];
	enum cw_rc rc;

	rc = k->ops->sa_update(k, &key, &src, &dst, data->new_encap,
			       data->new_src->get_port(data->new_src),
			       data->new_dst->get_port(data->new_dst), &err);
	/* libcharon makes a new CHILD_SA by a rekey where an SA can't be moved. */
	if (rc == CW_E_UNSUPPORTED)
		return NOT_SUPPORTED;
	if (rc != CW_OK) {
		sa_text(&key, text, sizeof(text));
		return refused(rc, &err, "can't move SA", text);
	}
	return SUCCESS;
}

static status_t query_sa(kernel_ipsec_t *this, kernel_ipsec_sa_id_t *id,
			 kernel_ipsec_query_sa_t *data, uint64_t *bytes, uint64_t *packets,
			 time_t *last)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	struct cw_sa_key key = sa_key(id);
	struct cw_sa_stats stats = { 0 };

	(void)data;
	/* No line in the log: it may be gone by its own lifetime, and libcharon asks often. */
	if (k->ops->sa_query(k, &key, &stats, &err) != CW_OK)
		return FAILED;
	if (bytes)
		*bytes = stats.bytes;
	if (packets)
		*packets = stats.packets;
	if (last)
		*last = cw_charon_from_wall(stats.last_use_s);
	return SUCCESS;
}

static status_t del_sa(kernel_ipsec_t *this, kernel_ipsec_sa_id_t *id, kernel_ipsec_del_sa_t *data)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	struct cw_sa_key key = sa_key(id);
	char text[80];
	enum cw_rc rc = k->ops->sa_del(k, &key, &err);

	(void)data;
	if (rc != CW_OK) {
		sa_text(&key, text, sizeof(text));
		return refused(rc, &err, "can't delete SA", text);
	}
	return SUCCESS;
}

/* Everything of ours goes by name, and the kernel's clean() takes what a crash left. */
static status_t flush_sas(kernel_ipsec_t *this)
{
	(void)this;
	return SUCCESS;
}

/* ---- policies ---- */

/* Smaller wins. Classes are apart by more than a selector can shift: narrower selectors first. */
static uint32_t priority(policy_priority_t class, const struct cw_selector *sel)
{
	static const uint32_t base[] = {
		[POLICY_PRIORITY_FALLBACK] = 400000,
		[POLICY_PRIORITY_ROUTED] = 300000,
		[POLICY_PRIORITY_DEFAULT] = 200000,
		[POLICY_PRIORITY_PASS] = 100000,
	};

	return base[class] - (sel->src.len + sel->dst.len) * 256u - (sel->proto ? 128u : 0) -
	       (sel->sport_mask ? 32u : 0) - (sel->dport_mask ? 32u : 0);
}

static void port_of(traffic_selector_t *ts, uint16_t *ret_port, uint16_t *ret_mask)
{
	uint16_t from = ts->get_from_port(ts), to = ts->get_to_port(ts);

	*ret_port = from == to ? from : 0;
	*ret_mask = from == to ? UINT16_MAX : 0;
}

static struct cw_policy policy_of(const kernel_ipsec_policy_id_t *id,
				  const kernel_ipsec_manage_policy_t *data)
{
	struct cw_policy p = {
		.sel = {
			.src = cw_charon_prefix(id->src_ts),
			.dst = cw_charon_prefix(id->dst_ts),
			.proto = id->src_ts->get_protocol(id->src_ts),
		},
		.dir = id->dir == POLICY_IN ? CW_DIR_IN : id->dir == POLICY_OUT ? CW_DIR_OUT : CW_DIR_FWD,
		.if_id = id->if_id,
		.mark = id->mark.value,
		.mark_mask = id->mark.mask,
		.action = CW_POLICY_PROTECT,
	};

	if (!p.sel.proto)
		p.sel.proto = id->dst_ts->get_protocol(id->dst_ts);
	port_of(id->src_ts, &p.sel.sport, &p.sel.sport_mask);
	port_of(id->dst_ts, &p.sel.dport, &p.sel.dport_mask);
	if (!data)
		return p;
	if (data->type == POLICY_PASS)
		p.action = CW_POLICY_PASS;
	else if (data->type == POLICY_DROP)
		p.action = CW_POLICY_DROP;
	p.priority = data->manual_prio ? data->manual_prio : priority(data->prio, &p.sel);
	if (p.action == CW_POLICY_PROTECT) {
		p.tmpl_src = cw_charon_addr(data->src);
		p.tmpl_dst = cw_charon_addr(data->dst);
		p.reqid = data->sa->reqid;
		p.tunnel_mode = data->sa->mode == MODE_TUNNEL;
		/* Out: this very SA, so that a rekey changes over at one moment. In: any of the reqid,
		 * so that packets under the old SA still pass. */
		if (p.dir == CW_DIR_OUT && data->sa->esp.use)
			p.tmpl_spi = ntohl(data->sa->esp.spi);
	}
	return p;
}

static status_t policy_refused(enum cw_rc rc, const struct cw_kernel_err *err, const char *what,
			       const struct cw_policy *p)
{
	static const char *const dirs[] = { "in", "out", "fwd" };
	char src[CW_PREFIX_TEXT_MAX], dst[CW_PREFIX_TEXT_MAX], text[160];

	snprintf(text, sizeof(text), "%s to %s %s if_id 0x%x mark 0x%x",
		 cw_prefix_print(&p->sel.src, src, sizeof(src)),
		 cw_prefix_print(&p->sel.dst, dst, sizeof(dst)), dirs[p->dir], p->if_id, p->mark);
	return refused(rc, err, what, text);
}

/* The CHILD_SA whose policy it is, by the SPI of the SA that goes the policy's way. */
static uint32_t owner_of(const kernel_ipsec_manage_policy_t *data)
{
	return data->type == POLICY_IPSEC && data->sa->esp.use ? data->sa->esp.spi : 0;
}

static status_t add_policy(kernel_ipsec_t *this, kernel_ipsec_policy_id_t *id,
			   kernel_ipsec_manage_policy_t *data)
{
	struct cw_kernel_err err = { 0 };
	struct cw_policy p = policy_of(id, data);
	enum cw_rc rc;

	/* A policy for everything that is bound to no interface would cut the host off. */
	if (!p.if_id && !p.mark && (p.sel.src.len == 0 || p.sel.dst.len == 0) && !p.sel.proto) {
		snprintf(err.text, sizeof(err.text), "a default route as selector needs an interface");
		return policy_refused(CW_E_DENIED, &err, "won't add policy", &p);
	}
	rc = cw_charon_policies_add(self(this)->policies, &p, owner_of(data), &err);
	return rc == CW_OK ? SUCCESS : policy_refused(rc, &err, "can't add policy", &p);
}

static status_t query_policy(kernel_ipsec_t *this, kernel_ipsec_policy_id_t *id,
			     kernel_ipsec_query_policy_t *data, time_t *use_time)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	struct cw_policy p = policy_of(id, NULL);
	uint64_t last_s = 0;

	(void)data;
	if (k->ops->policy_query(k, &p, &last_s, &err) != CW_OK)
		return FAILED;
	*use_time = cw_charon_from_wall(last_s);
	return SUCCESS;
}

static status_t del_policy(kernel_ipsec_t *this, kernel_ipsec_policy_id_t *id,
			   kernel_ipsec_manage_policy_t *data)
{
	struct cw_kernel_err err = { 0 };
	struct cw_policy p = policy_of(id, data);
	enum cw_rc rc = cw_charon_policies_del(self(this)->policies, &p, owner_of(data), &err);

	if (rc == CW_E_NOT_FOUND)
		return NOT_FOUND;
	return rc == CW_OK ? SUCCESS : policy_refused(rc, &err, "can't delete policy", &p);
}

static status_t flush_policies(kernel_ipsec_t *this)
{
	cw_charon_policies_flush(self(this)->policies);
	return SUCCESS;
}

void cw_charon_kernel_restore(void)
{
	size_t n = policies_in_use ? cw_charon_policies_restore(policies_in_use) : 0;

	if (n)
		cw_log(CW_LOG_WARNING, CW_LOG_NONE, "kernel",
		       "%zu policies of ours had been taken away by another program; they are set again", n);
}

/* ---- sockets ---- */

static enum cw_family family_of(int family)
{
	return family == AF_INET6 ? CW_FAMILY_IPV6 : CW_FAMILY_IPV4;
}

static bool bypass_socket(kernel_ipsec_t *this, int fd, int family)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc = k->ops->socket_bypass(k, fd, family_of(family), &err);

	if (rc != CW_OK)
		refused(rc, &err, "can't exempt the IKE socket from policies,",
			family == AF_INET6 ? "IPv6" : "IPv4");
	return rc == CW_OK;
}

static bool enable_udp_decap(kernel_ipsec_t *this, int fd, int family, uint16_t port)
{
	struct cw_kernel *k = self(this)->k;
	struct cw_kernel_err err = { 0 };
	enum cw_rc rc = k->ops->socket_espinudp(k, fd, family_of(family), &err);
	char text[48];

	if (rc != CW_OK) {
		snprintf(text, sizeof(text), "IPv%c port %u", family == AF_INET6 ? '6' : '4', port);
		refused(rc, &err, "no ESP in UDP (NAT traversal) on", text);
	}
	return rc == CW_OK;
}

static void destroy(kernel_ipsec_t *this)
{
	struct backend *b = self(this);

	policies_in_use = NULL;
	cw_charon_policies_flush(b->policies);
	cw_charon_policies_free(b->policies);
	free(b);
}

static kernel_ipsec_t *create(void)
{
	struct backend *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->public = (kernel_ipsec_t){
		.get_features = get_features,
		.get_spi = get_spi,
		.get_cpi = get_cpi,
		.add_sa = add_sa,
		.update_sa = update_sa,
		.query_sa = query_sa,
		.del_sa = del_sa,
		.flush_sas = flush_sas,
		.add_policy = add_policy,
		.query_policy = query_policy,
		.del_policy = del_policy,
		.flush_policies = flush_policies,
		.bypass_socket = bypass_socket,
		.enable_udp_decap = enable_udp_decap,
		.destroy = destroy,
	};
	b->k = kernel_in_use;
	b->policies = cw_charon_policies_new(b->k);
	if (!b->policies) {
		free(b);
		return NULL;
	}
	policies_in_use = b->policies;
	return &b->public;
}

/* libcharon would have it writable. */
static char feature_name[] = "kernel-ipsec";

plugin_feature_t cw_charon_kernel_features[] = {
	PLUGIN_CALLBACK(kernel_ipsec_register, create),
		PLUGIN_PROVIDE(CUSTOM, feature_name),
};
const int cw_charon_kernel_n_features = countof(cw_charon_kernel_features);
