/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQID (CW_REQID_BASE + 256)
#define IF_ID (CW_IF_ID_BASE + 1)

static const uint8_t key[64] = { 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static struct cw_kernel_err err;
static size_t removed;

static struct cw_sa gcm(const char *src, const char *dst, uint32_t spi)
{
	return (struct cw_sa){
		.key = { .src = addr(src), .dst = addr(dst), .spi = spi },
		.reqid = REQID,
		.tunnel_mode = true,
		.enc = CW_ENC_AES_GCM_16,
		.enc_key = key,
		.enc_key_len = 36,
	};
}

static struct cw_policy any_any(enum cw_dir dir, uint32_t if_id)
{
	return (struct cw_policy){
		.sel = { .src = prefix("0.0.0.0/0"), .dst = prefix("0.0.0.0/0") },
		.dir = dir,
		.if_id = if_id,
		.priority = 1000,
		.tmpl_src = addr("192.0.2.1"),
		.tmpl_dst = addr("192.0.2.2"),
		.reqid = REQID,
		.tunnel_mode = true,
	};
}

/* ---- policies ---- */

/* BL-055: equal selectors, told apart by if_id; deleting one leaves the others. */
static void test_policy_keys(struct cw_kernel *k)
{
	struct cw_policy policy;

	for (uint32_t id = 11; id <= 13; id++)
		for (int dir = CW_DIR_IN; dir <= CW_DIR_FWD; dir++) {
			policy = any_any((enum cw_dir)dir, CW_IF_ID_BASE + id);
			CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
		}
	CHECK(sh_number("ip xfrm policy | grep -c priority") == 9);
	for (int dir = CW_DIR_IN; dir <= CW_DIR_FWD; dir++) {
		policy = any_any((enum cw_dir)dir, CW_IF_ID_BASE + 12);
		CHECK_RC(k->ops->policy_del(k, &policy, &err), CW_OK);
		CHECK_RC(k->ops->policy_del(k, &policy, &err), CW_OK);
	}
	CHECK(sh_number("ip xfrm policy | grep -c priority") == 6);
	CHECK(sh_number("ip xfrm policy | grep -c 0x6377000c") == 0);
	/* An existing key is replaced. */
	policy = any_any(CW_DIR_OUT, CW_IF_ID_BASE + 11);
	policy.priority = 77;
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	CHECK(sh_number("ip xfrm policy | grep -c priority") == 6);
	CHECK(sh_number("ip xfrm policy | grep -c 'priority 77 '") == 1);
}

static void test_policy_foreign(struct cw_kernel *k)
{
	struct cw_policy policy = any_any(CW_DIR_OUT, 0);
	uint64_t last_use_s = 99;

	policy.sel.src = prefix("10.1.0.0/16");
	policy.sel.dst = prefix("10.2.0.0/16");
	CHECK(sh("ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out priority 5 tmpl src "
		 "192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode tunnel") == 0);
	CHECK(sh("ip xfrm policy add src 10.1.0.0/16 dst 10.3.0.0/16 dir out action block") == 0);
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_E_EXISTS);
	CHECK(strstr(err.text, "not ours") != NULL);
	CHECK_RC(k->ops->policy_del(k, &policy, &err), CW_E_DENIED);
	CHECK(sh_number("ip xfrm policy | grep -c 'priority 5 '") == 1);
	policy.reqid = 1;
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_E_INVALID);
	/* Ours beside it: pass and drop have no template and are known all the same. */
	policy.reqid = REQID;
	policy.sel.dst = prefix("10.4.0.0/16");
	policy.action = CW_POLICY_PASS;
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	policy.sel.dst = prefix("10.5.0.0/16");
	policy.action = CW_POLICY_DROP;
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	CHECK_RC(k->ops->policy_query(k, &policy, &last_use_s, &err), CW_OK);
	CHECK(last_use_s == 0);
	policy.sel.dst = prefix("10.6.0.0/16");
	CHECK_RC(k->ops->policy_query(k, &policy, &last_use_s, &err), CW_E_NOT_FOUND);

	/* What we take away ourselves is not told to us, and what others take is. */
	drain_events(k, CW_KEV_TAKEN);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 8);
	CHECK(sh_number("ip xfrm policy | grep -c '^src'") == 2);
	CHECK(drain_events(k, CW_KEV_TAKEN) == 0);
	sh("ip xfrm policy flush");
	CHECK(drain_events(k, CW_KEV_TAKEN) == 1);
}

static void test_bypass(struct cw_kernel *k)
{
	int fd4 = socket(AF_INET, SOCK_DGRAM, 0), fd6 = socket(AF_INET6, SOCK_DGRAM, 0);

	CHECK_RC(k->ops->socket_bypass(k, fd4, CW_FAMILY_IPV4, &err), CW_OK);
	CHECK_RC(k->ops->socket_bypass(k, fd6, CW_FAMILY_IPV6, &err), CW_OK);
	CHECK(sh_number("ip xfrm policy | grep -c '^.*socket'") == 4);
	/* Sockets' policies are not swept away with ours. */
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 0);
	CHECK(sh_number("ip xfrm policy | grep -c '^.*socket'") == 4);
	CHECK_RC(k->ops->socket_espinudp(k, fd4, CW_FAMILY_IPV4, &err), CW_OK);
	CHECK_RC(k->ops->socket_espinudp(k, -1, CW_FAMILY_IPV4, &err), CW_E_SYSTEM);
	close(fd4);
	close(fd6);
}

void test_policies(struct cw_kernel *k)
{
	test_policy_keys(k);
	test_policy_foreign(k);
	test_bypass(k);
}

/* ---- SAs ---- */

static void test_sa_life(struct cw_kernel *k)
{
	struct cw_addr here = addr("192.0.2.1"), there = addr("192.0.2.2");
	struct cw_sa sa = gcm("192.0.2.2", "192.0.2.1", 0);
	struct cw_sa_stats stats;
	uint32_t spi = 0, other = 0;

	CHECK_RC(k->ops->spi_alloc(k, &there, &here, REQID, 0xc0000000, 0xcfffffff, &spi, &err),
		CW_OK);
	CHECK_RC(k->ops->spi_alloc(k, &there, &here, REQID, 0xc0000000, 0xcfffffff, &other, &err),
		CW_OK);
	CHECK(spi >= 0xc0000000 && spi <= 0xcfffffff && other != spi);
	CHECK_RC(k->ops->spi_alloc(k, &there, &here, 5, 1000, 2000, &other, &err), CW_E_INVALID);
	/* The only SPI of a range, twice. */
	CHECK_RC(k->ops->spi_alloc(k, &there, &here, REQID, 4000, 4000, &other, &err), CW_OK);
	CHECK(k->ops->spi_alloc(k, &there, &here, REQID, 4000, 4000, &other, &err) != CW_OK);

	sa.key.spi = spi;
	/* Promised is not there. */
	CHECK_RC(k->ops->sa_query(k, &sa.key, &stats, &err), CW_E_NOT_FOUND);
	sa.inbound = true;
	sa.replay_window = 2048;
	sa.key.if_id = IF_ID;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
	CHECK(sh_number("ip xfrm state | grep -c 'proto esp spi 0x%08x'", spi) == 1);
	CHECK(sh_number("ip xfrm state | grep -c 'replay_window 2048'") == 1);
	CHECK(sh_number("ip xfrm state | grep -c 'if_id 0x63770001'") == 1);
	CHECK(sh_number("ip xfrm state | grep -c 'flag .*af-unspec'") == 1);
	/* A finished one is never overwritten. */
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_EXISTS);
	CHECK_RC(k->ops->sa_query(k, &sa.key, &stats, &err), CW_OK);
	CHECK(stats.packets == 0 && stats.last_use_s == 0 && stats.added_s > 0);
	/* Another tunnel of ours with the same SPI can't take it away. */
	sa.key.if_id = IF_ID + 1;
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_E_DENIED);
	sa.key.if_id = IF_ID;
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_OK);
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_OK);
	CHECK_RC(k->ops->sa_query(k, &sa.key, &stats, &err), CW_E_NOT_FOUND);
	/* Inbound without a larval entry, as when that has timed out. */
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 3); /* with two larval ones */
	CHECK(sh("test -z \"$(ip xfrm state)\"") == 0);
}

static void test_sa_algorithms(struct cw_kernel *k)
{
	static const struct {
		enum cw_enc enc;
		size_t enc_len;
		enum cw_integ integ;
		size_t integ_len;
	} algos[] = {
		{ CW_ENC_AES_CBC, 16, CW_INTEG_HMAC_SHA1_96, 20 },
		{ CW_ENC_AES_CBC, 32, CW_INTEG_HMAC_SHA256_128, 32 },
		{ CW_ENC_AES_CBC, 32, CW_INTEG_HMAC_SHA384_192, 48 },
		{ CW_ENC_AES_CBC, 24, CW_INTEG_HMAC_SHA512_256, 64 },
		{ CW_ENC_3DES, 24, CW_INTEG_HMAC_MD5_96, 16 },
		{ CW_ENC_NULL, 0, CW_INTEG_HMAC_SHA256_128, 32 },
		{ CW_ENC_AES_CTR, 36, CW_INTEG_HMAC_SHA256_128, 32 },
		{ CW_ENC_AES_GCM_8, 20, CW_INTEG_NONE, 0 },
		{ CW_ENC_AES_GCM_12, 28, CW_INTEG_NONE, 0 },
		{ CW_ENC_AES_GCM_16, 36, CW_INTEG_NONE, 0 },
		{ CW_ENC_CHACHA20_POLY1305, 36, CW_INTEG_NONE, 0 },
	};
	struct cw_sa sa;
	enum cw_rc rc;

	for (uint32_t i = 0; i < sizeof(algos) / sizeof(algos[0]); i++) {
		static const uint8_t des3[24] =
			"01234567abcdefghABCDEFGH"; /* three keys that differ */

		sa = gcm("192.0.2.1", i % 2 ? "192.0.2.2" : "2001:db8::2", 0x1000 + i);
		if (i % 2 == 0)
			sa.key.src = addr("2001:db8::1");
		sa.enc = algos[i].enc;
		sa.enc_key = sa.enc == CW_ENC_3DES ? des3 : key;
		sa.enc_key_len = algos[i].enc_len;
		sa.integ = algos[i].integ;
		sa.integ_key = key;
		sa.integ_key_len = algos[i].integ_len;
		sa.esn = i % 3 == 0;
		sa.tunnel_mode = i % 4 != 0;
		rc = k->ops->sa_add(k, &sa, &err);
		if (rc == CW_E_UNSUPPORTED && strstr(err.text, "lacks"))
			printf("skip algorithm: %s\n", err.text);
		else
			CHECK_RC(rc, CW_OK);
	}
	sa.enc_key_len = 35;
	sa.key.spi++;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_INVALID);
	sa.enc_key_len = 36;
	sa.inbound = sa.esn = true;
	sa.replay_window = 0;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_INVALID);
	sa.replay_window = 1000000; /* as much as the kernel takes */
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
	CHECK(sh_number("ip xfrm state | grep -c 'replay_window 4096'") == 1);
	sa.reqid = 7;
	sa.key.spi++;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_INVALID);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
}

static void test_sa_foreign(struct cw_kernel *k)
{
	struct cw_sa sa = gcm("192.0.2.1", "192.0.2.2", 0x5001);

	CHECK(sh("ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x5001 reqid 9 mode "
		 "tunnel aead 'rfc4106(gcm(aes))' 0x%072d 128",
		      1) == 0);
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_EXISTS);
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_E_DENIED);
	CHECK_RC(k->ops->sa_update(k, &sa.key, &sa.key.src, &sa.key.dst, true, 4500, 4500, &err),
		CW_E_DENIED);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 0);
	CHECK(sh_number("ip xfrm state | grep -c 'spi 0x00005001'") == 1);
	/* An SA without a mark is there for every mark. */
	sa.key.mark = IF_ID;
	sa.key.mark_mask = 0xffffffff;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_E_EXISTS);
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_E_DENIED);
	CHECK(sh_number("ip xfrm state | grep -c 'spi 0x00005001'") == 1);
	sh("ip xfrm state flush");
	/* With two marks there are two, and each is deleted by its own. */
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
	sa.key.mark++;
	CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_OK);
	CHECK(sh_number("ip xfrm state | grep -c 'mark 0x63770001/0xffffffff'") == 1);
	sa.key.mark--;
	CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_OK);
	CHECK(sh("test -z \"$(ip xfrm state)\"") == 0);
}

void test_sas(struct cw_kernel *k)
{
	test_sa_life(k);
	test_sa_algorithms(k);
	test_sa_foreign(k);
}

/* ---- traffic ---- */

#define OUT_SPI 0x2001
#define IN_SPI 0x2002

/* The far side of one pair, by iproute2; port: of ours as it sees it. */
static void far_side(const char *our, uint16_t port)
{
	in_peer("sh -c 'ip xfrm state flush; ip xfrm policy flush; "
		"ip xfrm state add src %s dst 192.0.2.2 proto esp spi 0x2001 reqid 1 mode tunnel "
		"replay-window 128 flag af-unspec aead \"rfc4106(gcm(aes))\" "
		"0x070102030405060708090a0b0c0d0e0f10%038d 128 encap espinudp %u 4500 0.0.0.0; "
		"ip xfrm state add src 192.0.2.2 dst %s proto esp spi 0x2002 reqid 1 mode tunnel "
		"replay-window 128 flag af-unspec aead \"rfc4106(gcm(aes))\" "
		"0x070102030405060708090a0b0c0d0e0f10%038d 128 encap espinudp 4500 %u 0.0.0.0; "
		"ip xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir out tmpl src 192.0.2.2 dst "
		"%s "
		"proto esp reqid 1 mode tunnel; "
		"ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir in tmpl src %s dst "
		"192.0.2.2 "
		"proto esp reqid 1 mode tunnel'",
		our, 0, port, our, 0, port, our, our);
}

static void our_policies(struct cw_kernel *k, const char *our, const char *their)
{
	struct cw_policy policy = any_any(CW_DIR_OUT, 0);

	policy.sel.src = prefix("10.1.0.0/16");
	policy.sel.dst = prefix("10.2.0.0/16");
	policy.tmpl_src = addr(our);
	policy.tmpl_dst = addr(their);
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	policy.dir = CW_DIR_IN;
	policy.sel.src = prefix("10.2.0.0/16");
	policy.sel.dst = prefix("10.1.0.0/16");
	policy.tmpl_src = addr(their);
	policy.tmpl_dst = addr(our);
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
}

static long seq_of(const char *which, uint32_t spi)
{
	return sh_number("ip -s xfrm state get src 0.0.0.0 dst %s proto esp spi %u | sed -n "
			 "'s/.*%s \\(0x[0-9a-f]*\\).*/\\1/p'",
		spi == OUT_SPI ? "192.0.2.2" : "192.0.2.1", spi, which);
}

static int ping(int count)
{
	return sh("ping -q -i 0.01 -c %d -W 5 -I 10.1.0.1 10.2.0.1 >/dev/null", count);
}

/* A socket on UDP 4500 that takes ESP off, as an IKE daemon has one. */
static int nat_t_socket(struct cw_kernel *k, const char *at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(4500) };
	struct cw_addr a = addr(at);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&sin.sin_addr, a.bytes, 4);
	CHECK(bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	CHECK_RC(k->ops->socket_espinudp(k, fd, CW_FAMILY_IPV4, &err), CW_OK);
	return fd;
}

/* Moves: the far side gives our port another number, then our address changes; no key, counter or
 * sequence number is lost, and packets flow after each. */
static void test_moves(struct cw_kernel *k)
{
	struct cw_sa out = gcm("192.0.2.1", "192.0.2.2", OUT_SPI);
	struct cw_sa in = gcm("192.0.2.2", "192.0.2.1", IN_SPI);
	struct cw_addr here = out.key.src, there = out.key.dst, moved = addr("192.0.2.99");
	struct cw_sa_stats before, after;
	struct cw_kernel_event ev;
	int fd = nat_t_socket(k, "0.0.0.0");

	out.encap = in.encap = true;
	out.encap_sport = out.encap_dport = in.encap_sport = in.encap_dport = 4500;
	in.inbound = true;
	in.replay_window = 128;
	CHECK_RC(k->ops->sa_add(k, &out, &err), CW_OK);
	CHECK_RC(k->ops->sa_add(k, &in, &err), CW_OK);
	our_policies(k, "192.0.2.1", "192.0.2.2");
	far_side("192.0.2.1", 4500);
	CHECK(ping(10) == 0);
	CHECK_RC(k->ops->sa_query(k, &out.key, &before, &err), CW_OK);
	CHECK(before.packets == 10 && before.bytes >= 840 && before.last_use_s > 0);
	CHECK(seq_of("oseq", OUT_SPI) == 10);

	/* The same again: nothing to do. */
	CHECK_RC(k->ops->sa_update(k, &out.key, &here, &there, true, 4500, 4500, &err), CW_OK);
	CHECK(seq_of("oseq", OUT_SPI) == 10);

	/* Only ports, in place: the counter does not even jump. */
	CHECK_RC(k->ops->sa_update(k, &out.key, &here, &there, true, 4501, 4500, &err), CW_OK);
	CHECK(seq_of("oseq", OUT_SPI) == 10);
	CHECK(sh_number("ip xfrm state | grep -c 'encap type espinudp sport 4501 dport 4500'") ==
		1);
	CHECK_RC(k->ops->sa_update(k, &out.key, &here, &there, true, 4500, 4500, &err), CW_OK);
	CHECK(ping(10) == 0);

	/* The peer's port moves: the kernel says so, and the inbound SA follows. */
	drain_events(k, CW_KEV_MAPPING);
	in_peer("ip xfrm state update src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x2002 reqid 1 "
		"mode "
		"tunnel replay-window 128 flag af-unspec aead 'rfc4106(gcm(aes))' "
		"0x070102030405060708090a0b0c0d0e0f10%038d 128 encap espinudp 4777 4500 0.0.0.0",
		0);
	CHECK(ping(5) == 0);
	CHECK(wait_event(k, CW_KEV_MAPPING, 5, &ev));
	CHECK(ev.spi == IN_SPI && ev.reqid == REQID && ev.new_port == 4777);
	CHECK(cw_addr_equal(&ev.new_addr, &there) && cw_addr_equal(&ev.dst, &here));
	CHECK_RC(k->ops->sa_query(k, &in.key, &before, &err), CW_OK);
	CHECK_RC(k->ops->sa_update(k, &in.key, &there, &here, true, 4777, 4500, &err), CW_OK);
	CHECK_RC(k->ops->sa_query(k, &in.key, &after, &err), CW_OK);
	CHECK(before.packets == 25 && after.packets == before.packets);
	drain_events(k, CW_KEV_MAPPING);
	CHECK(ping(5) == 0);
	CHECK(drain_events(k, CW_KEV_MAPPING) == 0);

	/* Our address moves: outbound keeps its destination, inbound does not. */
	CHECK_RC(k->ops->sa_query(k, &out.key, &before, &err), CW_OK);
	CHECK(seq_of("oseq", OUT_SPI) == 30);
	CHECK_RC(k->ops->sa_update(k, &out.key, &moved, &there, true, 4500, 4500, &err), CW_OK);
	out.key.src = moved;
	CHECK_RC(k->ops->sa_query(k, &out.key, &after, &err), CW_OK);
	CHECK(before.packets == 30 && after.packets == 30 && after.bytes == before.bytes &&
		after.added_s == before.added_s);
	CHECK(seq_of("oseq", OUT_SPI) == 30 + 16384);
	CHECK_RC(k->ops->sa_query(k, &in.key, &before, &err), CW_OK);
	CHECK_RC(k->ops->sa_update(k, &in.key, &there, &moved, true, 4777, 4500, &err), CW_OK);
	CHECK_RC(k->ops->sa_query(k, &in.key, &after, &err), CW_E_NOT_FOUND);
	in.key.dst = moved;
	CHECK_RC(k->ops->sa_query(k, &in.key, &after, &err), CW_OK);
	CHECK(after.packets == before.packets && after.bytes == before.bytes &&
		after.added_s == before.added_s);
	CHECK(sh_number("ip -s xfrm state get src 0.0.0.0 dst 192.0.2.99 proto esp spi %u | sed -n "
			"'s/.*seq-hi 0x0, seq \\(0x[0-9a-f]*\\).*/\\1/p'",
		      IN_SPI) == 30);
	CHECK(sh_number("ip xfrm state | grep -c 192.0.2.1") == 0);
	far_side("192.0.2.99", 4500);
	our_policies(k, "192.0.2.99", "192.0.2.2");
	/* The far side was set up anew, so its counter begins again below our window: replays. */
	CHECK(ping(1) != 0);
	CHECK(k->ops->xfrm_stat(k, "XfrmInStateSeqError") > 0);
	CHECK(ping(40) == 0); /* until it has passed where it was */
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 4);
	close(fd);
}

/* From ESP in UDP to plain ESP and back, with ESN, over both lengths of replay state. */
static void test_encap_change(struct cw_kernel *k)
{
	static const uint32_t windows[] = { 32, 128 };

	for (size_t i = 0; i < 4; i++) {
		struct cw_sa sa = gcm("192.0.2.2", "192.0.2.1", 0x3001);
		struct cw_sa_stats stats;

		sa.inbound = true;
		sa.replay_window = windows[i % 2];
		sa.esn = i >= 2;
		sa.no_copy_ecn = true;
		sa.life = (struct cw_sa_life){ .soft_s = 3000, .hard_s = 3600, .hard_packets = 9 };
		sa.key.mark = IF_ID;
		sa.key.mark_mask = 0xffffffff;
		CHECK_RC(k->ops->sa_add(k, &sa, &err), CW_OK);
		CHECK_RC(k->ops->sa_update(
				 k, &sa.key, &sa.key.src, &sa.key.dst, true, 4500, 4500, &err),
			CW_OK);
		CHECK(sh_number("ip xfrm state | grep -c 'encap type espinudp sport 4500'") == 1);
		CHECK_RC(k->ops->sa_update(k, &sa.key, &sa.key.src, &sa.key.dst, false, 0, 0, &err),
			CW_OK);
		CHECK(sh_number("ip xfrm state | grep -c encap") == 0);
		CHECK(sh_number("ip xfrm state | grep -c 'mark 0x63770001/0xffffffff'") == 1);
		CHECK(sh_number("ip -s xfrm state | grep -c 'hard 9(packets)'") == 1);
		CHECK(sh_number("ip -s xfrm state | grep -c 'expire add: soft 3000(sec), hard "
				"3600(sec)'") == 1);
		CHECK_RC(k->ops->sa_query(k, &sa.key, &stats, &err), CW_OK);
		CHECK_RC(k->ops->sa_del(k, &sa.key, &err), CW_OK);
	}
}

/* BL-038: the flag on outbound SAs only, and updates work with it. */
static void test_no_pmtu_disc(struct cw_kernel *k)
{
	struct cw_sa out = gcm("192.0.2.1", "192.0.2.2", OUT_SPI);
	struct cw_sa in = gcm("192.0.2.2", "192.0.2.1", IN_SPI);
	struct cw_addr moved = addr("192.0.2.3");

	out.no_pmtu_disc = in.no_pmtu_disc = in.inbound = true;
	CHECK_RC(k->ops->sa_add(k, &out, &err), CW_OK);
	CHECK_RC(k->ops->sa_add(k, &in, &err), CW_OK);
	CHECK(sh_number("ip xfrm state | grep -c nopmtudisc") == 1);
	CHECK_RC(k->ops->sa_update(k, &in.key, &moved, &in.key.dst, true, 4500, 4500, &err), CW_OK);
	CHECK_RC(k->ops->sa_update(k, &out.key, &out.key.src, &moved, true, 4500, 4500, &err),
		CW_OK);
	CHECK(sh_number("ip xfrm state | grep -c nopmtudisc") == 1);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 2);
	/* The kernel sets it by itself, on inbound SAs too. */
	sh("sysctl -qw net.ipv4.ip_no_pmtu_disc=1");
	in.key.src = out.key.dst;
	CHECK_RC(k->ops->sa_add(k, &in, &err), CW_OK);
	CHECK_RC(k->ops->sa_update(k, &in.key, &moved, &in.key.dst, true, 4500, 4500, &err), CW_OK);
	CHECK_RC(k->ops->sa_update(k, &in.key, &moved, &in.key.dst, true, 4500, 4501, &err), CW_OK);
	CHECK_RC(k->ops->sa_del(k, &in.key, &err), CW_OK);
	sh("sysctl -qw net.ipv4.ip_no_pmtu_disc=0");
}

/* BL-057: what an acquire leaves is ours to remove though it has no SPI; others' stays. */
static void test_acquire(struct cw_kernel *k)
{
	struct cw_policy policy = any_any(CW_DIR_OUT, 0);
	struct cw_addr far = addr("10.2.0.1"), there = addr("192.0.2.2");
	struct cw_kernel_event ev;

	policy.sel.src = prefix("10.1.0.0/16");
	policy.sel.dst = prefix("10.2.0.0/16");
	CHECK_RC(k->ops->policy_add(k, &policy, &err), CW_OK);
	drain_events(k, CW_KEV_ACQUIRE);
	sh("ip xfrm policy add src 10.1.0.0/16 dst 10.7.0.0/16 dir out tmpl src 192.0.2.1 dst "
	   "192.0.2.3 proto esp reqid 1 mode tunnel");
	sh("ping -q -c 1 -W 1 -I 10.1.0.1 10.7.0.1 >/dev/null 2>&1");
	sh("ping -q -c 1 -W 1 -I 10.1.0.1 10.2.0.1 >/dev/null 2>&1");
	CHECK(wait_event(k, CW_KEV_ACQUIRE, 5, &ev));
	CHECK(ev.reqid == REQID && ev.proto == 50 && cw_addr_equal(&ev.dst, &there));
	CHECK(cw_addr_equal(&ev.sel.dst.addr, &far));
	CHECK(drain_events(k, CW_KEV_ACQUIRE) == 0); /* the foreign one is not told */
	CHECK(sh_number("ip xfrm state | grep -c 'spi 0x00000000'") == 2);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
	CHECK(removed == 2);
	CHECK(sh_number("ip xfrm state | grep -c 'spi 0x00000000 reqid 1 '") == 1);
	CHECK(sh_number("ip xfrm state | grep -c '^src'") == 1);
	CHECK(sh_number("ip xfrm policy | grep -c '^src'") == 1);
	sh("ip xfrm policy flush; ip xfrm state flush");
}

static void test_expire(struct cw_kernel *k)
{
	struct cw_sa out = gcm("192.0.2.1", "192.0.2.2", OUT_SPI), timed = out;
	struct cw_kernel_event ev;

	out.life.soft_packets = 2;
	out.life.hard_packets = 4;
	CHECK_RC(k->ops->sa_add(k, &out, &err), CW_OK);
	our_policies(k, "192.0.2.1", "192.0.2.2");
	drain_events(k, CW_KEV_EXPIRE);
	/* The kernel looks before it counts: at the third packet, and at the fifth. */
	sh("ping -q -c 3 -i 0.1 -W 1 -I 10.1.0.1 10.2.0.1 >/dev/null 2>&1");
	CHECK(wait_event(k, CW_KEV_EXPIRE, 5, &ev));
	CHECK(ev.spi == OUT_SPI && ev.reqid == REQID && !ev.hard);
	sh("ping -q -c 2 -i 0.1 -W 1 -I 10.1.0.1 10.2.0.1 >/dev/null 2>&1");
	CHECK(wait_event(k, CW_KEV_EXPIRE, 5, &ev));
	CHECK(ev.spi == OUT_SPI && ev.hard);
	timed.life.soft_s = 1;
	timed.life.hard_s = 2;
	timed.key.spi++;
	CHECK_RC(k->ops->sa_add(k, &timed, &err), CW_OK);
	CHECK(wait_event(k, CW_KEV_EXPIRE, 10, &ev));
	CHECK(ev.spi == OUT_SPI + 1);
	CHECK_RC(k->ops->clean(k, NULL, 0, &removed, &err), CW_OK);
}

/* More events than fit the socket: one RESYNC, then all is as before. */
static void test_flood(struct cw_kernel *k)
{
	struct cw_kernel_event ev;
	size_t lost = 0;

	drain_events(k, CW_KEV_RESYNC);
	for (int i = 0; i < 40 && !lost; i++) {
		sh("i=0; while [ $i -lt 100 ]; do echo link set lo mtu $((1500 + i)); i=$((i + "
		   "1)); "
		   "done | ip -batch -");
		if (i % 10 == 9)
			lost = drain_events(k, CW_KEV_RESYNC);
	}
	CHECK(lost == 1);
	CHECK(drain_events(k, CW_KEV_RESYNC) == 0);
	test_acquire(k);
	CHECK(!wait_event(k, CW_KEV_RESYNC, 0, &ev));
	sh("ip link set lo mtu 65536");
}

void test_traffic(struct cw_kernel *k)
{
	CHECK(sh("ip addr add 10.1.0.1/16 dev lo && ip route add 10.2.0.0/16 via 192.0.2.2 && "
		 "ip route add 10.7.0.0/16 via 192.0.2.2") == 0);
	CHECK(in_peer("sh -c 'ip addr add 10.2.0.1/16 dev lo && ip route add 10.1.0.0/16 via "
		      "192.0.2.1'") == 0);
	test_moves(k);
	test_encap_change(k);
	test_no_pmtu_disc(k);
	test_acquire(k);
	test_expire(k);
	test_flood(k);
}
