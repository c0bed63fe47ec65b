/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/proposal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/profile.h"

#define IKE CW_PROPOSAL_IKE
#define ESP CW_PROPOSAL_ESP

static void normalised(void **state)
{
	static const struct {
		enum cw_proposal_use use;
		const char *in, *out;
	} v[] = {
		{ IKE, "aes256-sha256-modp2048", "aes256-sha256-modp2048" },
		{ IKE, "AES256-SHA256-DH14", "aes256-sha256-modp2048" },
		{ IKE, "dh20-sha384-aes256", "aes256-sha384-ecp384" },
		{ IKE, "aes256gcm16-prfsha384-ecp384", "aes256gcm16-prfsha384-ecp384" },
		{ IKE, "aes256gcm-sha384-ecp384", "aes256gcm16-prfsha384-ecp384" },
		{ IKE, "aes256-sha256-prfsha512-x25519", "aes256-sha256-prfsha512-x25519" },
		{ IKE, "aes256-aes128-sha256-sha1-modp2048-modp1024",
		  "aes256-aes128-sha256-sha1-modp2048-modp1024" },
		{ IKE, "aes128cbc-sha2_256-curve25519", "aes128-sha256-x25519" },
		{ IKE, "chacha20poly1305-prfsha256-dh31", "chacha20poly1305-prfsha256-x25519" },
		{ IKE, "3des-sha1-dh2", "3des-sha1-modp1024" },
		{ ESP, "aes256-sha256", "aes256-sha256" },
		{ ESP, "aes256-sha256-none", "aes256-sha256" },
		{ ESP, "aes256gcm", "aes256gcm16" },
		{ ESP, "aes192gcm128-dh24", "aes192gcm16-modp2048s256" },
		{ ESP, "sha512-aes192-dh21", "aes192-sha512-ecp521" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[CW_PROPOSAL_TEXT_MAX], again[CW_PROPOSAL_TEXT_MAX];
		struct cw_proposal_fault fault = { 0 };

		if (cw_proposal_normalise(v[i].in, v[i].use, text, &fault) != CW_OK)
			fail_msg("%s: %s %s", v[i].in, fault.word, fault.reason);
		assert_string_equal(text, v[i].out);
		assert_int_equal(cw_proposal_normalise(text, v[i].use, again, &fault), CW_OK);
		assert_string_equal(again, text);
	}
}

static void refused(void **state)
{
	static const struct {
		enum cw_proposal_use use;
		const char *in, *word, *reason, *remedy; /* parts of what is said */
	} v[] = {
		{ IKE, "", "", "empty word", "" },
		{ IKE, "aes256--sha256-modp2048", "", "empty word", "" },
		{ IKE, "aes256-sha256-modp2048-", "", "empty word", "" },
		{ IKE, "aes999-foo", "aes999", "no algorithm", "" },
		{ IKE, "aes256-sha265-modp2048", "sha265", "no algorithm", "sha256" },
		{ IKE, "aes256-sha256-mopd2048", "mopd2048", "no algorithm", "modp2048" },
		{ IKE, "GCMAES256-SHA384-ECP384", "GCMAES256", "no algorithm", "aes256gcm16" },
		{ IKE, "aes256-sha256-DHGroup14", "DHGroup14", "no algorithm", "modp2048" },
		{ IKE, "aes256-sha256-DHGroup24", "DHGroup24", "no algorithm", "modp2048s256" },
		{ ESP, "aes256-sha256-PFS2048", "PFS2048", "no algorithm", "modp2048" },
		{ ESP, "aes-256-sha256", "aes", "no algorithm", "aes256" },
		{ ESP, "aes256-sha2", "sha2", "no algorithm", "sha256" },
		{ ESP, "null-sha256", "null", "does not encrypt", "" },
		{ ESP, "des-sha256", "des", "broken in a day", "" },
		{ IKE, "aes256-sha256", "", "no group", "modp2048" },
		{ IKE, "aes256-modp2048", "", "no integrity", "sha256" },
		{ IKE, "sha256-modp2048", "", "no encryption", "aes256" },
		{ IKE, "aes256gcm16-ecp384", "", "no PRF", "prfsha384" },
		{ IKE, "aes256gcm16-sha256-prfsha256-ecp384", "", "GCM brings along", "" },
		{ IKE, "aes256gcm16-aes256-sha256-ecp384", "", "mixes", "two proposals" },
		{ IKE, "aes256-sha256-none", "none", "without a group", "" },
		{ ESP, "aes256-sha256-modp2048-none", "none", "beside a group", "two proposals" },
		{ ESP, "aes256", "", "no integrity", "" },
		{ ESP, "aes256gcm16-sha256", "", "GCM brings along", "" },
		{ ESP, "aes256-sha256-prfsha256", "", "PRF", "" },
		{ ESP, "aes256-sha256-esn", "esn", "not set here", "setting esn" },
		{ ESP, "aes256-aes256-sha256", "aes256", "twice", "" },
		{ ESP, "aes256-sha256-dh14-modp2048", "modp2048", "twice", "" },
		{ ESP,
		  "aes128-aes192-aes256-3des-sha1-sha256-sha384-sha512-md5-modp768-modp1024-"
		  "modp1536-modp2048-modp3072-modp4096-modp6144-modp8192",
		  "", "too many words", "" },
		{ ESP, "aes256 sha256", "aes256 sha256", "no algorithm", "" },
		{ ESP,
		  "a-very-long-word-"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  "a", "no algorithm", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[CW_PROPOSAL_TEXT_MAX] = "untouched";
		struct cw_proposal_fault fault = { 0 };

		assert_int_equal(cw_proposal_normalise(v[i].in, v[i].use, text, &fault),
				 CW_E_INVALID);
		assert_string_equal(text, "untouched");
		assert_string_equal(fault.word, v[i].word);
		if (!strstr(fault.reason, v[i].reason) || !strstr(fault.remedy, v[i].remedy))
			fail_msg("%s: <%s> <%s>", v[i].in, fault.reason, fault.remedy);
	}
}

/* All that Azure's and AWS's lists name can be chosen; what is weak says why. */
static void clouds_lists(void **state)
{
	static const struct {
		const char *name;
		bool weak;
	} v[] = {
		{ "aes128", false },	   { "aes192", false },	      { "aes256", false },
		{ "aes128gcm16", false },  { "aes192gcm16", false },  { "aes256gcm16", false },
		{ "3des", true },	   { "sha1", true },	      { "sha256", false },
		{ "sha384", false },	   { "sha512", false },	      { "md5", true },
		{ "modp768", true },	   { "modp1024", true },      { "modp1536", true },
		{ "modp2048", false },	   { "modp3072", false },     { "modp4096", false },
		{ "modp6144", false },	   { "modp8192", false },     { "ecp256", false },
		{ "ecp384", false },	   { "ecp521", false },	      { "modp1024s160", true },
		{ "modp2048s224", true },  { "modp2048s256", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		const struct cw_alg *alg = cw_proposal_alg(v[i].name, 0);

		assert_non_null(alg);
		assert_null(alg->refused);
		assert_int_equal(alg->weak != NULL, v[i].weak);
	}
}

/* Each name is one of libcharon's keywords (proposal_keywords_static.txt of strongSwan 5.9.8). */
static void names_are_libcharons(void **state)
{
	static const char keywords[] =
		" null des 3des aes128 aes192 aes256 aes128gcm16 aes192gcm16 aes256gcm16 "
		"chacha20poly1305 sha1 sha256 sha384 sha512 md5 prfsha1 prfsha256 prfsha384 "
		"prfsha512 prfmd5 "
		"modp768 modp1024 modp1536 modp2048 modp3072 modp4096 modp6144 modp8192 ecp256 "
		"ecp384 ecp521 "
		"modp1024s160 modp2048s224 modp2048s256 ecp256bp ecp384bp ecp512bp x25519 x448 ";
	const struct cw_alg *alg;

	(void)state;
	for (size_t i = 0; (alg = cw_alg_at(i)) != NULL; i++) {
		char word[40];

		snprintf(word, sizeof(word), " %s ", alg->name);
		if (!strstr(keywords, word))
			fail_msg("%s is no keyword of libcharon", alg->name);
	}
}

static void profiles_are_normalised(void **state)
{
	const struct cw_profile *p;

	(void)state;
	for (size_t i = 0; (p = cw_profile_at(i)) != NULL; i++) {
		const struct cw_proposals *lists[] = { &p->values.ike_proposals,
						       &p->values.esp_proposals };

		for (size_t use = 0; use < 2; use++) {
			assert_true(lists[use]->n > 0);
			for (size_t k = 0; k < lists[use]->n; k++) {
				char text[CW_PROPOSAL_TEXT_MAX];
				struct cw_proposal_fault fault;

				assert_int_equal(
					cw_proposal_normalise(lists[use]->v[k], use, text, &fault),
					CW_OK);
				assert_string_equal(text, lists[use]->v[k]);
			}
		}
	}
	assert_ptr_equal(cw_profile_find("azure"), cw_profile_at(0));
	assert_null(cw_profile_find("Azure"));
}

static void parts(void **state)
{
	(void)state;
	assert_true(cw_proposal_has("aes256-sha256-modp2048", CW_ALG_GROUP));
	assert_false(cw_proposal_has("aes256-sha256", CW_ALG_GROUP));
	assert_true(cw_proposal_is_aead("aes256gcm16-ecp384"));
	assert_false(cw_proposal_is_aead("aes256-sha256"));
	assert_null(cw_proposal_alg("aes256-sha256", 2));
	assert_null(cw_proposal_alg("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normalised),
		cmocka_unit_test(refused),
		cmocka_unit_test(clouds_lists),
		cmocka_unit_test(names_are_libcharons),
		cmocka_unit_test(profiles_are_normalised),
		cmocka_unit_test(parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
