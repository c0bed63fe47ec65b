/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway between a kernel, an engine and a loop that only count: what an event costs, how work is spread
 * over turns, and in which order a turn goes. The clock is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/gateway_priv.h"
#include "io/mailbox.h"

#define MANY 1000
#define EVENTS_MAX (8 * MANY)
#define WATCHES_MAX 64
#define KERNEL_FD 60
#define WORK_MAX 8 /* interfaces and tries that one turn may do: more would keep the control socket waiting */

/* ---- a loop whose clock stands still until it is told ---- */

struct cw_loop {
	struct cw_time now;
	cw_loop_turn_fn *turn;
	void *turn_arg;
	struct {
		cw_loop_fn *fn;
		void *arg;
	} watches[WATCHES_MAX];
};

enum cw_rc cw_loop_watch(struct cw_loop *loop, int fd, unsigned events, cw_loop_fn *fn, void *arg)
{
	(void)events;
	assert_true(fd >= 0 && fd < WATCHES_MAX);
	loop->watches[fd].fn = fn;
	loop->watches[fd].arg = arg;
	return CW_OK;
}

enum cw_rc cw_loop_rewatch(struct cw_loop *loop, int fd, unsigned events)
{
	(void)loop;
	(void)fd;
	(void)events;
	return CW_OK;
}

void cw_loop_unwatch(struct cw_loop *loop, int fd)
{
	if (fd >= 0 && fd < WATCHES_MAX)
		loop->watches[fd].fn = NULL;
}

void cw_loop_on_turn(struct cw_loop *loop, cw_loop_turn_fn *fn, void *arg)
{
	loop->turn = fn;
	loop->turn_arg = arg;
}

struct cw_time cw_loop_now(const struct cw_loop *loop)
{
	return loop->now;
}

int64_t cw_loop_wall_s(const struct cw_loop *loop)
{
	return loop->now.us / 1000000;
}

int64_t cw_loop_wall_us(const struct cw_loop *loop)
{
	return loop->now.us;
}

/* ---- the world: counts, and what its kernel holds ---- */

static struct {
	struct cw_kernel kernel;
	struct cw_ike ike;
	struct cw_loop loop;
	struct cw_mailbox *box;
	struct cw_conf *conf;
	struct cw_gateway *gw;
	char folder[64], conf_path[96];

	size_t ensures, looks, syncs, changes, drops, queries, added, deleted;
	size_t sets, initiated, way_looks, backlog;
	bool there[MANY + 1]; /* interfaces, by number */
	uint32_t blocked;     /* number of one that can't be made; 0: none */
	enum cw_rc set_rc, change_rc;
	struct cw_kernel_event events[EVENTS_MAX];
	size_t n_events;
	struct cw_time due; /* what the last turn said */
} w;

static void forget(void)
{
	w.ensures = w.looks = w.syncs = w.changes = w.drops = w.queries = w.added = w.deleted = 0;
	w.sets = w.initiated = w.way_looks = 0;
}

static uint32_t number_of(const struct cw_link *link)
{
	return link->id - CW_IF_ID_BASE;
}

static void tell_link(const char *ifname)
{
	struct cw_kernel_event *ev = &w.events[w.n_events++];

	assert_true(w.n_events < EVENTS_MAX);
	*ev = (struct cw_kernel_event){ .kind = CW_KEV_LINK };
	snprintf(ev->ifname, sizeof(ev->ifname), "%s", ifname);
}

static enum cw_rc probe(struct cw_kernel *k, struct cw_kernel_caps *caps)
{
	(void)k;
	*caps = (struct cw_kernel_caps){
		.xfrm = true, .esp4 = true, .esp6 = true, .vti = true, .net_admin = true,
	};
	return CW_OK;
}

static enum cw_rc sa_query(struct cw_kernel *k, const struct cw_sa_key *key, struct cw_sa_stats *stats,
			   struct cw_kernel_err *err)
{
	(void)k;
	(void)key;
	(void)err;
	*stats = (struct cw_sa_stats){ 0 };
	w.queries++;
	return CW_OK;
}

static enum cw_rc drops_sync(struct cw_kernel *k, const struct cw_policy *want, size_t n, struct cw_kernel_err *err)
{
	(void)k;
	(void)want;
	(void)n;
	(void)err;
	w.drops++;
	return CW_OK;
}

static enum cw_rc link_ensure(struct cw_kernel *k, const struct cw_link *want, struct cw_link_info *info,
			      struct cw_kernel_err *err)
{
	(void)k;
	w.ensures++;
	if (number_of(want) == w.blocked) {
		snprintf(err->text, sizeof(err->text), "another has it");
		return CW_E_EXISTS;
	}
	info->changed = !w.there[number_of(want)];
	/* As the kernel does: made, set up, given an address. */
	for (int i = 0; info->changed && i < 3; i++)
		tell_link(want->ifname);
	w.there[number_of(want)] = true;
	return CW_OK;
}

static enum cw_rc links_look(struct cw_kernel *k, const struct cw_link *want, size_t n, enum cw_link_look *looks,
			     struct cw_kernel_err *err)
{
	(void)k;
	(void)err;
	w.looks++;
	for (size_t i = 0; i < n; i++)
		looks[i] = number_of(&want[i]) == w.blocked ? CW_LINK_BLOCKED :
			   w.there[number_of(&want[i])]	    ? CW_LINK_FITS :
							      CW_LINK_DIFFERS;
	return CW_OK;
}

static enum cw_rc routes_sync(struct cw_kernel *k, const struct cw_route *want, size_t n, struct cw_kernel_err *err)
{
	(void)k;
	(void)want;
	(void)n;
	(void)err;
	w.syncs++;
	return CW_OK;
}

static enum cw_rc routes_change(struct cw_kernel *k, const struct cw_route *add, size_t n_add,
				const struct cw_route *del, size_t n_del, struct cw_kernel_err *err)
{
	(void)k;
	(void)add;
	(void)del;
	(void)err;
	w.changes++;
	w.added += n_add;
	w.deleted += n_del;
	return w.change_rc;
}

static void routes_look(struct cw_kernel *k, struct cw_route_look *looks, size_t n)
{
	(void)k;
	(void)looks;
	w.way_looks += n;
}

static enum cw_rc clean(struct cw_kernel *k, const char *const *keep, size_t n, size_t *removed,
			struct cw_kernel_err *err)
{
	(void)k;
	(void)keep;
	(void)n;
	(void)err;
	*removed = 0;
	return CW_OK;
}

static uint32_t link_id(struct cw_kernel *k, const char *ifname)
{
	(void)k;
	(void)ifname;
	return 0;
}

static int event_fd(struct cw_kernel *k)
{
	(void)k;
	return KERNEL_FD;
}

static void events_read(struct cw_kernel *k, void (*fn)(const struct cw_kernel_event *ev, void *arg), void *arg)
{
	size_t n = w.n_events;

	(void)k;
	w.n_events = 0;
	for (size_t i = 0; i < n; i++)
		fn(&w.events[i], arg);
}

static bool forwarding(struct cw_kernel *k, enum cw_family family)
{
	(void)k;
	(void)family;
	return true;
}

static const struct cw_kernel_ops kernel_ops = {
	.probe = probe,
	.sa_query = sa_query,
	.drops_sync = drops_sync,
	.link_ensure = link_ensure,
	.links_look = links_look,
	.routes_sync = routes_sync,
	.routes_change = routes_change,
	.routes_look = routes_look,
	.clean = clean,
	.link_id = link_id,
	.event_fd = event_fd,
	.events_read = events_read,
	.forwarding = forwarding,
};

static enum cw_rc tunnel_set(struct cw_ike *ike, const struct cw_ike_tunnel *t)
{
	(void)ike;
	(void)t;
	w.sets++;
	return w.set_rc;
}

static void initiate(struct cw_ike *ike, uint32_t index, uint32_t pair)
{
	(void)ike;
	(void)index;
	(void)pair;
	w.initiated++;
}

static size_t backlog(struct cw_ike *ike)
{
	(void)ike;
	return w.backlog;
}

static void one_id(struct cw_ike *ike, uint32_t id)
{
	(void)ike;
	(void)id;
}

static void terminate_ike(struct cw_ike *ike, uint32_t id, bool force)
{
	(void)ike;
	(void)id;
	(void)force;
}

static void engine_event(struct cw_ike *ike, const struct cw_kernel_event *ev)
{
	(void)ike;
	assert_int_not_equal(ev->kind, CW_KEV_LINK);
}

static void ike_begin(struct cw_ike *ike)
{
	(void)ike;
}

static void stop(struct cw_ike *ike, uint32_t wait_ms)
{
	(void)ike;
	(void)wait_ms;
}

static const struct cw_ike_ops ike_ops = {
	.begin = ike_begin,
	.tunnel_set = tunnel_set,
	.tunnel_remove = one_id,
	.initiate = initiate,
	.backlog = backlog,
	.terminate_ike = terminate_ike,
	.terminate_child = one_id,
	.rekey_ike = one_id,
	.rekey_child = one_id,
	.check_alive = one_id,
	.poll = one_id,
	.kernel_event = engine_event,
	.stop = stop,
};

static enum cw_rc alone(char *reterr, size_t size)
{
	(void)reterr;
	(void)size;
	return CW_OK;
}

/* ---- running it ---- */

/* One turn of the loop: what waits is handed over, then the gateway's turn. */
static void turn(void)
{
	int fds[] = { KERNEL_FD, cw_mailbox_fd(w.box) };

	for (size_t i = 0; i < 2; i++)
		w.loop.watches[fds[i]].fn(w.loop.watches[fds[i]].arg, fds[i], CW_LOOP_READ);
	w.due = w.loop.turn(w.loop.turn_arg, w.loop.now);
}

/* Turns as the loop makes them, until the clock has gone on by ms. */
static void pass_ms(int64_t ms)
{
	struct cw_time end = cw_time_add_ms(w.loop.now, ms);

	for (size_t turns = 0;; turns++) {
		size_t ensures = w.ensures, sets = w.sets, queries = w.queries, ways = w.way_looks;

		assert_true(turns < 1000000);
		turn();
		assert_true(w.ensures - ensures <= WORK_MAX);
		assert_true(w.sets - sets <= WORK_MAX);
		assert_true(w.queries - queries <= 2 * 16);
		assert_true(w.way_looks - ways <= 16);
		/* No tunnel's own deadline comes before the one that the loop was told. */
		for (size_t i = 0; i < w.gw->n_slots; i++)
			assert_true(cw_tunnel_next_due(w.gw->slots[i].tunnel).us >= w.due.us);
		if (w.n_events || cw_time_reached(w.due, w.loop.now))
			continue;
		if (w.due.us > end.us)
			break;
		w.loop.now = w.due;
	}
	w.loop.now = end;
}

static void write_conf(size_t n)
{
	FILE *f;

	snprintf(w.folder, sizeof(w.folder), "/tmp/cw-test-gateway-XXXXXX");
	assert_non_null(mkdtemp(w.folder));
	snprintf(w.conf_path, sizeof(w.conf_path), "%s/c.conf", w.folder);
	f = fopen(w.conf_path, "w");
	assert_non_null(f);
	fprintf(f, "gateway = { networks = [ \"10.10.0.0/16\" ]; control-socket = \"%s/s\"; };\nsites = (\n", w.folder);
	for (size_t i = 0; i < n; i++)
		fprintf(f,
			"%s{ name = \"m%zu\"; profile = \"azure\"; psk = \"0123456789abcdef\"; "
			"networks = [ \"10.%zu.%zu.0/24\" ]; tunnels = ( { remote = \"203.0.%zu.%zu\"; "
			"local-address = \"192.0.2.1\"; } ); }\n",
			i ? ", " : "", i, 100 + i / 250, i % 250, 1 + i / 250, 1 + i % 250);
	fprintf(f, ");\n");
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(w.conf_path, 0600), 0);
}

static void begin(size_t n)
{
	struct cw_conf_report report = { 0 };
	struct cw_gateway_parts parts;
	char why[256] = "";

	memset(&w, 0, sizeof(w));
	w.kernel.ops = &kernel_ops;
	w.ike.ops = &ike_ops;
	w.loop.now = (struct cw_time){ 1000000000 };
	w.box = cw_mailbox_new(sizeof(struct cw_ike_event), 64);
	assert_non_null(w.box);
	write_conf(n);
	cw_conf_read(w.conf_path, &w.conf, &report);
	assert_non_null(w.conf);
	assert_int_equal(report.n_errors, 0);
	cw_conf_report_free(&report);
	parts = (struct cw_gateway_parts){
		.conf = w.conf, .conf_path = w.conf_path, .loop = &w.loop, .box = w.box, .kernel = &w.kernel,
		.alone = alone,
	};
	assert_int_equal(cw_gateway_new(&parts, &w.gw, why, sizeof(why)), CW_OK);
	assert_int_equal(w.gw->n_slots, n);
}

static void start(size_t n)
{
	begin(n);
	cw_gateway_start(w.gw, &w.ike);
}

static void end(void)
{
	cw_gateway_free(w.gw);
	cw_mailbox_free(w.box);
	cw_conf_free(w.conf);
	unlink(w.conf_path);
	assert_int_equal(rmdir(w.folder), 0);
}

static void post(struct cw_ike_event *ev, uint32_t index)
{
	ev->index = index;
	ev->generation = cw_tunnel_generation(w.gw->slots[index].tunnel);
	assert_true(cw_mailbox_post(w.box, ev));
}

static void bring_up(uint32_t index)
{
	static struct cw_ike_event ev; /* big */

	ev = (struct cw_ike_event){ .kind = CW_IKE_EV_IKE_UP };
	ev.ike = (struct cw_ike_sa_info){
		.ike_id = 1 + index, .state = CW_IKE_SA_ESTABLISHED, .version = 2, .initiator = true,
	};
	post(&ev, index);
	ev = (struct cw_ike_event){ .kind = CW_IKE_EV_CHILD_UP };
	ev.child = (struct cw_child_info){ .child_id = 1 + index, .ike_id = 1 + index, .state = CW_CHILD_INSTALLED };
	post(&ev, index);
}

static void take_down(uint32_t index)
{
	static struct cw_ike_event ev;

	ev = (struct cw_ike_event){ .kind = CW_IKE_EV_IKE_DOWN, .ike_id = 1 + index, .cause = CW_CAUSE_PEER_DEAD };
	post(&ev, index);
}

/* ---- cases ---- */

/* From the start until all interfaces are there and all tunnels tried: as much for each, and in small parts. */
static void start_is_linear(void **state)
{
	(void)state;
	begin(MANY);
	/* The sites' networks are closed before anything else. */
	assert_int_equal(w.syncs, 1);
	assert_int_equal(w.ensures, 0);
	cw_gateway_start(w.gw, &w.ike);
	assert_int_equal(w.sets, 0);
	pass_ms(900);
	assert_int_equal(w.sets, MANY);
	assert_int_equal(w.initiated, MANY);
	for (size_t i = 1; i <= MANY; i++)
		assert_true(w.there[i]);
	/* What they told of themselves was looked at together. */
	assert_in_range(w.ensures, MANY, MANY + 2 * WORK_MAX);
	assert_in_range(w.looks, 1, 5);
	assert_in_range(w.syncs, 1, 3);
	end();
}

/* In quiet, everything is compared every CW_GATEWAY_RECONCILE_S, each thing in one go. */
static void quiet(void **state)
{
	(void)state;
	start(MANY);
	pass_ms(2000);
	forget();
	pass_ms(CW_GATEWAY_RECONCILE_S * 1000);
	assert_int_equal(w.looks, 1);
	assert_int_equal(w.syncs, 1);
	assert_int_equal(w.ensures, 0);
	assert_int_equal(w.changes, 0);
	end();
}

static void one_event(void **state)
{
	(void)state;
	start(MANY);
	pass_ms(2000);
	forget();
	w.there[501] = false;
	tell_link("cw-m500-1");
	turn();
	assert_true(w.there[501]);
	pass_ms(500);
	/* Once for what we heard, once for what we did. */
	assert_in_range(w.ensures, 1, 2);
	assert_int_equal(w.looks, 0);
	assert_int_equal(w.syncs, 0);

	/* Many events of one are one. */
	forget();
	for (int i = 0; i < 100; i++)
		tell_link("cw-m7-1");
	pass_ms(500);
	assert_int_equal(w.ensures, 1);
	assert_int_equal(w.looks, 0);

	/* And with many that are touched, all are read once. */
	forget();
	for (size_t i = 0; i < MANY; i++) {
		char name[CW_IFNAME_SIZE];

		snprintf(name, sizeof(name), "cw-m%zu-1", i);
		tell_link(name);
	}
	w.there[3] = w.there[4] = false;
	pass_ms(200);
	assert_int_equal(w.looks, 1);
	assert_int_equal(w.ensures, 2);
	assert_true(w.there[3] && w.there[4]);
	end();
}

/* A tunnel's routes come in the turn in which it carries, they alone, and go likewise. */
static void routes_of_one(void **state)
{
	(void)state;
	start(MANY);
	pass_ms(2000);
	forget();
	bring_up(7);
	turn();
	assert_int_equal(w.changes, 1);
	assert_int_equal(w.added, 1);
	assert_int_equal(w.deleted, 0);
	take_down(7);
	turn();
	assert_int_equal(w.changes, 2);
	assert_int_equal(w.added, 1);
	assert_int_equal(w.deleted, 1);
	assert_int_equal(w.syncs, 0);

	/* What is refused is compared, in the same turn. */
	forget();
	w.change_rc = CW_E_EXISTS;
	bring_up(8);
	turn();
	assert_int_equal(w.changes, 1);
	assert_int_equal(w.syncs, 1);
	w.change_rc = CW_OK;

	/* Its interface was made anew: the routes are set again. */
	pass_ms(500);
	forget();
	w.there[9] = false;
	tell_link("cw-m8-1");
	turn();
	assert_int_equal(w.changes, 1);
	assert_int_equal(w.added, 1);
	assert_int_equal(w.syncs, 0);
	end();
}

/* Routes are set once in a turn, whatever asked for it. */
static void routes_once_a_turn(void **state)
{
	(void)state;
	start(20);
	pass_ms(3000);
	forget();
	w.loop.now = cw_time_add_s(w.loop.now, CW_GATEWAY_RECONCILE_S);
	w.events[w.n_events++] = (struct cw_kernel_event){ .kind = CW_KEV_TAKEN };
	bring_up(7);
	turn();
	assert_int_equal(w.syncs, 1);
	assert_int_equal(w.changes, 0);
	end();
}

/* Routes taken away one after the other are set again at once, and then not more often than is of use. */
static void taken(void **state)
{
	(void)state;
	start(20);
	pass_ms(3000);
	forget();
	for (int i = 0; i < 100; i++) {
		w.events[w.n_events++] = (struct cw_kernel_event){ .kind = CW_KEV_TAKEN };
		turn();
		if (i == 0)
			assert_int_equal(w.syncs, 1);
		w.loop.now = cw_time_add_ms(w.loop.now, 5);
	}
	pass_ms(300);
	assert_in_range(w.syncs, 2, 4);
	end();
}

/* What can't be made is tried once, and then when something in the way has gone. */
static void blocked(void **state)
{
	const struct slot *s;

	(void)state;
	begin(20);
	w.blocked = 5;
	s = &w.gw->slots[4];
	cw_gateway_start(w.gw, &w.ike);
	pass_ms(3000);
	assert_false(s->link_ok);
	assert_string_equal(s->link_why, "another has it");
	forget();
	pass_ms(2 * CW_GATEWAY_RECONCILE_S * 1000);
	assert_int_equal(w.looks, 2);
	/* Only by the tunnel's own tries, which nothing answers. */
	assert_true(w.ensures <= w.sets);
	w.blocked = 0;
	tell_link("cw-other");
	pass_ms(1);
	assert_true(s->link_ok);
	assert_true(w.there[5]);
	end();
}

/* Attempts wait while the engine has its hands full, and are not taken for lost meanwhile. */
static void attempts_wait(void **state)
{
	static struct cw_ike_event ev;
	static struct cw_tunnel_view v;

	(void)state;
	start(20);
	w.backlog = 100;
	for (int i = 0; i < 12; i++) {
		pass_ms(CW_GATEWAY_POLL_S * 1000);
		ev = (struct cw_ike_event){ .kind = CW_IKE_EV_SNAPSHOT, .no_ike = true, .first = true, .last = true };
		ev.poll = w.gw->poll_no;
		post(&ev, 0);
		turn();
	}
	assert_int_equal(w.sets, 20);
	assert_int_equal(w.initiated, 0);
	cw_tunnel_view(w.gw->slots[7].tunnel, w.loop.now, 0, &v);
	assert_int_equal(v.state, CW_TUNNEL_CONNECTING);
	assert_int_equal(v.cause, CW_CAUSE_NONE);
	/* One that is ordered down meanwhile is not begun. */
	assert_int_equal(cw_gateway_order_down(w.gw, "m3", (char[64]){ "" }, 64), CW_OK);
	w.backlog = 0;
	pass_ms(100);
	assert_int_equal(w.initiated, 19);
	end();
}

static void engine_refuses(void **state)
{
	static struct cw_tunnel_view v;

	(void)state;
	begin(1);
	w.set_rc = CW_E_INVALID;
	cw_gateway_start(w.gw, &w.ike);
	pass_ms(100);
	assert_int_equal(w.sets, 1);
	assert_int_equal(w.initiated, 0);
	cw_tunnel_view(w.gw->slots[0].tunnel, w.loop.now, 0, &v);
	assert_int_equal(v.state, CW_TUNNEL_WAITING);
	assert_int_equal(v.cause, CW_CAUSE_ENGINE);
	assert_non_null(strstr(v.detail, "proposals"));
	w.set_rc = CW_OK;
	pass_ms(5000);
	assert_int_equal(w.initiated, 1);
	end();
}

/* Each tunnel's counters every CW_GATEWAY_SAMPLE_MS; pass_ms() sees that no turn reads many. */
static void samples(void **state)
{
	(void)state;
	start(MANY);
	pass_ms(2000);
	for (uint32_t i = 0; i < MANY; i++) {
		bring_up(i);
		turn();
	}
	forget();
	pass_ms(CW_GATEWAY_SAMPLE_MS);
	assert_in_range(w.queries, 2 * MANY - 64, 2 * MANY + 64);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_is_linear),
		cmocka_unit_test(quiet),
		cmocka_unit_test(one_event),
		cmocka_unit_test(routes_of_one),
		cmocka_unit_test(routes_once_a_turn),
		cmocka_unit_test(taken),
		cmocka_unit_test(blocked),
		cmocka_unit_test(attempts_wait),
		cmocka_unit_test(engine_refuses),
		cmocka_unit_test(samples),
	};

	cw_log_set_level(CW_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
