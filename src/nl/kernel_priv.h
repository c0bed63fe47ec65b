/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_priv: what the files of the kernel backend share. For src/nl/kernel*.c alone.
 *
 * The functions of the ops table are grouped by file as below; functions named _locked expect their
 * lock to be held.
 */
#ifndef CW_NL_KERNEL_PRIV_H
#define CW_NL_KERNEL_PRIV_H

#include <pthread.h>

#include "nl/kernel.h"
#include "nl/nl_sock.h"
#include "nl/route_msg.h"
#include "nl/xfrm_msg.h"

struct kernel_nl {
	struct cw_kernel base; /* first */
	pthread_mutex_t xfrm_lock;
	struct cw_nl_sock *xfrm; /* NULL: none, for the reason in xfrm_err */
	struct cw_kernel_err xfrm_err;
	pthread_mutex_t route_lock;
	struct cw_nl_sock *route;
	struct cw_nl_sock *xfrm_events; /* NULL as xfrm */
	struct cw_nl_sock *route_events;
	int epoll_fd;
};

static inline struct kernel_nl *kernel_nl(struct cw_kernel *k)
{
	return (struct kernel_nl *)k;
}

/* Fills reterr (may be NULL) and returns rc. */
enum cw_rc cw_kernel_nl_fail(struct cw_kernel_err *reterr, enum cw_rc rc, int err, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
/* CW_OK, or CW_E_UNSUPPORTED where there is no XFRM socket. */
enum cw_rc cw_kernel_nl_has_xfrm(const struct kernel_nl *k, struct cw_kernel_err *reterr);

/* ---- kernel_sa.c ---- */
enum cw_rc cw_kernel_nl_spi_alloc(struct cw_kernel *k, const struct cw_addr *src,
	const struct cw_addr *dst, uint32_t reqid, uint32_t min, uint32_t max, uint32_t *ret_spi,
	struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_sa_add(
	struct cw_kernel *k, const struct cw_sa *sa, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_sa_query(struct cw_kernel *k, const struct cw_sa_key *key,
	struct cw_sa_stats *ret_stats, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_sa_del(
	struct cw_kernel *k, const struct cw_sa_key *key, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_sa_add_locked(
	struct kernel_nl *k, const struct cw_sa *sa, struct cw_kernel_err *reterr);
/* Removes without asking whose it is. CW_OK also when it was gone. */
enum cw_rc cw_kernel_nl_sa_del_locked(
	struct kernel_nl *k, const struct cw_sa_key *key, struct cw_kernel_err *reterr);

/* ---- kernel_move.c ---- */
enum cw_rc cw_kernel_nl_sa_update(struct cw_kernel *k, const struct cw_sa_key *key,
	const struct cw_addr *new_src, const struct cw_addr *new_dst, bool encap, uint16_t sport,
	uint16_t dport, struct cw_kernel_err *reterr);

/* ---- kernel_policy.c ---- */
enum cw_rc cw_kernel_nl_policy_add(
	struct cw_kernel *k, const struct cw_policy *policy, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_policy_query(struct cw_kernel *k, const struct cw_policy *policy,
	uint64_t *ret_last_use_s, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_policy_del(
	struct cw_kernel *k, const struct cw_policy *policy, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_policy_add_locked(
	struct kernel_nl *k, const struct cw_policy *policy, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_policy_del_locked(
	struct kernel_nl *k, const struct cw_policy *policy, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_socket_bypass(
	struct cw_kernel *k, int fd, enum cw_family family, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_socket_espinudp(
	struct cw_kernel *k, int fd, enum cw_family family, struct cw_kernel_err *reterr);

/* ---- kernel_link.c ---- */
enum cw_rc cw_kernel_nl_link_ensure(struct cw_kernel *k, const struct cw_link *want,
	struct cw_link_info *ret_info, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_link_remove(
	struct cw_kernel *k, const char *ifname, struct cw_kernel_err *reterr);
uint32_t cw_kernel_nl_link_id(struct cw_kernel *k, const char *ifname);
/* CW_E_NOT_FOUND: there is none of that name. */
enum cw_rc cw_kernel_nl_link_get_locked(struct kernel_nl *k, const char *ifname,
	struct cw_nl_link *ret_link, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_link_del_locked(
	struct kernel_nl *k, int ifindex, struct cw_kernel_err *reterr);
struct cw_kernel_links {
	struct cw_nl_link *links; /* the caller frees */
	size_t n, room;
	bool all, no_memory;
};
/* All links of ours, or all there are. */
enum cw_rc cw_kernel_nl_links_locked(struct kernel_nl *k, bool all,
	struct cw_kernel_links *ret_links, struct cw_kernel_err *reterr);

/* ---- kernel_look.c ---- */
enum cw_rc cw_kernel_nl_links_look(struct cw_kernel *k, const struct cw_link *want, size_t n,
	enum cw_link_look *ret_looks, struct cw_kernel_err *reterr);

/* ---- kernel_addr.c ---- */
/* Makes the interface's addresses be addrs[0..n); sets *ret_changed when something was done. */
enum cw_rc cw_kernel_nl_addrs_sync_locked(struct kernel_nl *k, int ifindex,
	const struct cw_prefix *addrs, size_t n, bool *ret_changed, struct cw_kernel_err *reterr);

/* ---- kernel_route.c ---- */
enum cw_rc cw_kernel_nl_routes_sync(
	struct cw_kernel *k, const struct cw_route *want, size_t n, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_routes_change(struct cw_kernel *k, const struct cw_route *add, size_t n_add,
	const struct cw_route *del, size_t n_del, struct cw_kernel_err *reterr);
/* Removes all of ours; adds their number to *removed. */
enum cw_rc cw_kernel_nl_routes_clean_locked(
	struct kernel_nl *k, size_t *removed, struct cw_kernel_err *reterr);

/* ---- kernel_way.c ---- */
void cw_kernel_nl_routes_look(struct cw_kernel *k, struct cw_route_look *looks, size_t n);

/* ---- kernel_clean.c ---- */
enum cw_rc cw_kernel_nl_clean(struct cw_kernel *k, const char *const *keep, size_t n_keep,
	size_t *ret_removed, struct cw_kernel_err *reterr);
enum cw_rc cw_kernel_nl_drops_sync(
	struct cw_kernel *k, const struct cw_policy *want, size_t n, struct cw_kernel_err *reterr);

/* ---- kernel_probe.c ---- */
enum cw_rc cw_kernel_nl_probe(struct cw_kernel *k, struct cw_kernel_caps *ret_caps);

/* ---- kernel_event.c ---- */
enum cw_rc cw_kernel_nl_events_open(struct kernel_nl *k, struct cw_kernel_err *reterr);
int cw_kernel_nl_event_fd(struct cw_kernel *k);
void cw_kernel_nl_events_read(
	struct cw_kernel *k, void (*fn)(const struct cw_kernel_event *ev, void *arg), void *arg);

/* ---- kernel_proc.c ---- */
bool cw_kernel_nl_forwarding(struct cw_kernel *k, enum cw_family family);
uint64_t cw_kernel_nl_xfrm_stat(struct cw_kernel *k, const char *name);
/* Are the settings that a tunnel needs as they shall be, on a link as the kernel told it? */
bool cw_kernel_nl_settings_fit(const struct cw_link *want, const struct cw_nl_link *link);
/* Writes those that are not; sets *ret_changed when something was written. */
enum cw_rc cw_kernel_nl_link_settings(const struct cw_link *want, const struct cw_nl_link *link,
	bool *ret_changed, struct cw_kernel_err *reterr);
/* Can the settings of interfaces be written at all? */
bool cw_kernel_nl_settings_writable(void);

#endif
