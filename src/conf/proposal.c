/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/proposal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conf/report.h"

#define WORDS_MAX 16
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Numbers behind the names: IANA "Internet Key Exchange Version 2 (IKEv2) Parameters". */
static const struct cw_alg algs[] = {
	{ .name = "aes128", .kind = CW_ALG_ENCRYPTION, .aliases = "aes128cbc" },
	{ .name = "aes192", .kind = CW_ALG_ENCRYPTION, .aliases = "aes192cbc" },
	{ .name = "aes256", .kind = CW_ALG_ENCRYPTION, .aliases = "aes256cbc" },
	{ .name = "aes128gcm16", .kind = CW_ALG_ENCRYPTION, .aead = true,
	  .aliases = "aes128gcm aes128gcm128" },
	{ .name = "aes192gcm16", .kind = CW_ALG_ENCRYPTION, .aead = true,
	  .aliases = "aes192gcm aes192gcm128" },
	{ .name = "aes256gcm16", .kind = CW_ALG_ENCRYPTION, .aead = true,
	  .aliases = "aes256gcm aes256gcm128" },
	{ .name = "chacha20poly1305", .kind = CW_ALG_ENCRYPTION, .aead = true },
	{ .name = "3des", .kind = CW_ALG_ENCRYPTION, .aliases = "des3",
	  .weak = "3DES has 64-bit blocks, which repeat within hours of traffic (RFC 8221 5)" },
	{ .name = "des", .kind = CW_ALG_ENCRYPTION,
	  .refused = "can be broken in a day (RFC 8221 5)" },
	{ .name = "null", .kind = CW_ALG_ENCRYPTION,
	  .refused = "does not encrypt, so everything could be read on the way" },

	{ .name = "sha256", .kind = CW_ALG_INTEGRITY, .aliases = "sha2_256" },
	{ .name = "sha384", .kind = CW_ALG_INTEGRITY, .aliases = "sha2_384" },
	{ .name = "sha512", .kind = CW_ALG_INTEGRITY, .aliases = "sha2_512" },
	{ .name = "sha1", .kind = CW_ALG_INTEGRITY, .aliases = "sha",
	  .weak = "SHA-1 is kept for old peers only (RFC 8247 2.3)" },
	{ .name = "md5", .kind = CW_ALG_INTEGRITY, .weak = "MD5 is broken (RFC 8247 2.3)" },

	{ .name = "prfsha256", .kind = CW_ALG_PRF },
	{ .name = "prfsha384", .kind = CW_ALG_PRF },
	{ .name = "prfsha512", .kind = CW_ALG_PRF },
	{ .name = "prfsha1", .kind = CW_ALG_PRF,
	  .weak = "SHA-1 is kept for old peers only (RFC 8247 2.2)" },
	{ .name = "prfmd5", .kind = CW_ALG_PRF, .weak = "MD5 is broken (RFC 8247 2.2)" },

	{ .name = "modp768", .kind = CW_ALG_GROUP, .aliases = "dh1",
	  .weak = "group 1 (768 bits) has been broken in public" },
	{ .name = "modp1024", .kind = CW_ALG_GROUP, .aliases = "dh2",
	  .weak = "group 2 (1024 bits) is within reach of a state (RFC 8247 2.4)" },
	{ .name = "modp1536", .kind = CW_ALG_GROUP, .aliases = "dh5",
	  .weak = "group 5 (1536 bits) is too short by now (RFC 8247 2.4)" },
	{ .name = "modp2048", .kind = CW_ALG_GROUP, .aliases = "dh14" },
	{ .name = "modp3072", .kind = CW_ALG_GROUP, .aliases = "dh15" },
	{ .name = "modp4096", .kind = CW_ALG_GROUP, .aliases = "dh16" },
	{ .name = "modp6144", .kind = CW_ALG_GROUP, .aliases = "dh17" },
	{ .name = "modp8192", .kind = CW_ALG_GROUP, .aliases = "dh18" },
	{ .name = "ecp256", .kind = CW_ALG_GROUP, .aliases = "dh19" },
	{ .name = "ecp384", .kind = CW_ALG_GROUP, .aliases = "dh20" },
	{ .name = "ecp521", .kind = CW_ALG_GROUP, .aliases = "dh21" },
	{ .name = "modp1024s160", .kind = CW_ALG_GROUP, .aliases = "dh22",
	  .weak = "group 22 has a 1024-bit modulus of unknown origin (RFC 8247 2.4)" },
	{ .name = "modp2048s224", .kind = CW_ALG_GROUP, .aliases = "dh23",
	  .weak = "group 23 has a modulus of unknown origin (RFC 8247 2.4)" },
	{ .name = "modp2048s256", .kind = CW_ALG_GROUP, .aliases = "dh24",
	  .weak = "group 24 has a modulus of unknown origin (RFC 8247 2.4)" },
	{ .name = "ecp256bp", .kind = CW_ALG_GROUP, .aliases = "dh28" },
	{ .name = "ecp384bp", .kind = CW_ALG_GROUP, .aliases = "dh29" },
	{ .name = "ecp512bp", .kind = CW_ALG_GROUP, .aliases = "dh30" },
	{ .name = "x25519", .kind = CW_ALG_GROUP, .aliases = "dh31 curve25519" },
	{ .name = "x448", .kind = CW_ALG_GROUP, .aliases = "dh32 curve448" },
};

/* What the clouds' consoles and other programs call them, with what to write here. Not taken as
 * they are, since the same word may mean more than one thing (GCMAES256 is encryption in one box of
 * the Azure portal and integrity in the next). */
static const struct {
	const char *word, *write;
} foreign[] = {
	{ "gcmaes128", "aes128gcm16" }, { "gcmaes192", "aes192gcm16" },
	{ "gcmaes256", "aes256gcm16" }, { "dhgroup1", "modp768" },
	{ "dhgroup2", "modp1024" },	{ "dhgroup14", "modp2048" },
	{ "dhgroup2048", "modp2048" },	{ "dhgroup24", "modp2048s256" },
	{ "pfs1", "modp768" },		{ "pfs2", "modp1024" },
	{ "pfs2048", "modp2048" },	{ "pfs14", "modp2048" },
	{ "pfs24", "modp2048s256" },	{ "group1", "modp768" },
	{ "group2", "modp1024" },	{ "group5", "modp1536" },
	{ "group14", "modp2048" },	{ "group15", "modp3072" },
	{ "group16", "modp4096" },	{ "group19", "ecp256" },
	{ "group20", "ecp384" },	{ "group21", "ecp521" },
	{ "group24", "modp2048s256" },	{ "aes", "aes128, aes192 or aes256" },
	{ "sha2", "sha256, sha384 or sha512" },
};

static const char *const kind_names[CW_ALG_KIND_COUNT] = {
	[CW_ALG_ENCRYPTION] = "encryption",
	[CW_ALG_INTEGRITY] = "integrity",
	[CW_ALG_PRF] = "PRF",
	[CW_ALG_GROUP] = "group",
};

const struct cw_alg *cw_alg_at(size_t i)
{
	return i < ARRAY_LEN(algs) ? &algs[i] : NULL;
}

const char *cw_alg_kind_name(enum cw_alg_kind kind)
{
	return (unsigned)kind < CW_ALG_KIND_COUNT ? kind_names[kind] : "unknown";
}

static bool in_list(const char *list, const char *word, size_t len)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && strncasecmp(list, word, len) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

static const struct cw_alg *find(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		if ((strlen(algs[i].name) == len && strncasecmp(algs[i].name, word, len) == 0) ||
		    in_list(algs[i].aliases, word, len))
			return &algs[i];
	}
	return NULL;
}

static enum cw_rc fail(struct cw_proposal_fault *fault, const char *word, size_t len,
		       const char *reason, const char *remedy)
{
	*fault = (struct cw_proposal_fault){ 0 };
	snprintf(fault->word, sizeof(fault->word), "%.*s", (int)(len < 31 ? len : 31), word);
	snprintf(fault->reason, sizeof(fault->reason), "%s", reason);
	snprintf(fault->remedy, sizeof(fault->remedy), "%s", remedy);
	return CW_E_INVALID;
}

static enum cw_rc unknown_word(struct cw_proposal_fault *fault, const char *word, size_t len)
{
	const char *names[ARRAY_LEN(algs)], *write = NULL;
	char remedy[sizeof(fault->remedy)], copy[32];

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		if (strlen(foreign[i].word) == len && strncasecmp(foreign[i].word, word, len) == 0)
			write = foreign[i].write;
	}
	if (!write) {
		for (size_t i = 0; i < ARRAY_LEN(algs); i++)
			names[i] = algs[i].refused ? NULL : algs[i].name;
		snprintf(copy, sizeof(copy), "%.*s", (int)(len < 31 ? len : 31), word);
		write = cw_nearest(copy, names, ARRAY_LEN(names));
	}
	if (write)
		snprintf(remedy, sizeof(remedy), "write %s", write);
	else
		snprintf(remedy, sizeof(remedy), "causeway.conf(5) lists the names");
	return fail(fault, word, len, "is no algorithm that is known here", remedy);
}

/* Splits text into table rows. "none" is how swanctl and Azure say "no group". */
static enum cw_rc split(const char *text, enum cw_proposal_use use, const struct cw_alg **v,
			size_t *ret_n, struct cw_proposal_fault *fault)
{
	const char *none = NULL;
	bool group = false;
	size_t n = 0;

	for (const char *word = text;; word++) {
		size_t len = strcspn(word, "-");
		const struct cw_alg *alg = find(word, len);

		if (len == 0)
			return fail(fault, "", 0, "has an empty word between two dashes",
				    "write words joined by one dash, as aes256-sha256-modp2048");
		if (len == 4 && strncasecmp(word, "none", 4) == 0) {
			none = word;
		} else if ((len == 3 && strncasecmp(word, "esn", 3) == 0) ||
			   (len == 5 && strncasecmp(word, "noesn", 5) == 0)) {
			return fail(fault, word, len, "is not set here", "use the setting esn");
		} else if (!alg) {
			return unknown_word(fault, word, len);
		} else if (alg->refused) {
			return fail(fault, word, len, alg->refused,
				    "use aes256gcm16 or aes256-sha256");
		} else {
			for (size_t i = 0; i < n; i++) {
				if (v[i] == alg)
					return fail(fault, word, len, "stands there twice",
						    "leave one out");
			}
			if (n == WORDS_MAX)
				return fail(fault, "", 0, "has too many words",
					    "make several proposals of it");
			group |= alg->kind == CW_ALG_GROUP;
			v[n++] = alg;
		}
		word += len;
		if (!*word)
			break;
	}
	if (none && use == CW_PROPOSAL_IKE)
		return fail(fault, none, 4, "leaves IKE without a group", "name one, as modp2048");
	if (none && group)
		return fail(fault, none, 4, "stands beside a group",
			    "make two proposals: one with the group, one without");
	*ret_n = n;
	return CW_OK;
}

static size_t count(const struct cw_alg *const *v, size_t n, enum cw_alg_kind kind)
{
	size_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += v[i]->kind == kind;
	return c;
}

/* What makes a proposal whole: RFC 7296 3.3.3 and, for AEAD, RFC 5282 8. */
static enum cw_rc check_whole(const struct cw_alg **v, size_t n, enum cw_proposal_use use,
			      struct cw_proposal_fault *fault)
{
	size_t n_encr = count(v, n, CW_ALG_ENCRYPTION), n_aead = 0;
	size_t n_integ = count(v, n, CW_ALG_INTEGRITY), n_prf = count(v, n, CW_ALG_PRF);

	for (size_t i = 0; i < n; i++)
		n_aead += v[i]->aead;
	if (n_encr == 0)
		return fail(fault, "", 0, "names no encryption", "add one, as aes256");
	if (n_aead && n_aead != n_encr)
		return fail(fault, "", 0, "mixes encryption with and without its own integrity",
			    "make two proposals of it");
	if (!n_aead && n_integ == 0)
		return fail(fault, "", 0, "names no integrity", "add one, as sha256");
	if (use == CW_PROPOSAL_ESP) {
		if (n_prf)
			return fail(fault, "", 0, "names a PRF, which ESP does not have",
				    "leave the word that begins with prf out");
		if (n_aead && n_integ)
			return fail(fault, "", 0,
				    "names an integrity beside one that GCM brings along",
				    "leave the word that begins with sha out");
		return CW_OK;
	}
	if (n_aead && n_integ && n_prf)
		return fail(fault, "", 0, "names an integrity beside one that GCM brings along",
			    "leave it out, keep the PRF");
	if (n_aead && !n_integ && !n_prf)
		return fail(fault, "", 0, "names no PRF, which IKE needs beside GCM",
			    "add one, as prfsha256 or prfsha384");
	if (count(v, n, CW_ALG_GROUP) == 0)
		return fail(fault, "", 0, "names no group, which IKE needs",
			    "add one, as modp2048 (dh14) or ecp384 (dh20)");
	return CW_OK;
}

/* "aes256gcm16-sha384-ecp384" in IKE: the hash can only be meant as the PRF, as in Azure's portal.
 */
static const struct cw_alg *as_prf(const struct cw_alg *integrity)
{
	char name[32];

	snprintf(name, sizeof(name), "prf%s", integrity->name);
	return find(name, strlen(name));
}

enum cw_rc cw_proposal_normalise(const char *text, enum cw_proposal_use use,
				 char ret_text[static CW_PROPOSAL_TEXT_MAX],
				 struct cw_proposal_fault *reterr_fault)
{
	const struct cw_alg *v[WORDS_MAX];
	char out[CW_PROPOSAL_TEXT_MAX];
	size_t n = 0, len = 0;
	bool aead = false;
	enum cw_rc rc = split(text, use, v, &n, reterr_fault);

	if (rc == CW_OK)
		rc = check_whole(v, n, use, reterr_fault);
	if (rc != CW_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		aead |= v[i]->aead;
	for (size_t i = 0; aead && i < n; i++) {
		if (v[i]->kind == CW_ALG_INTEGRITY)
			v[i] = as_prf(v[i]);
	}
	for (unsigned kind = 0; kind < CW_ALG_KIND_COUNT; kind++) {
		for (size_t i = 0; i < n; i++) {
			size_t word = strlen(v[i]->name);

			if (v[i]->kind != kind)
				continue;
			if (len + word + 2 > sizeof(out))
				return fail(reterr_fault, "", 0, "is too long",
					    "make several proposals of it");
			if (len)
				out[len++] = '-';
			memcpy(out + len, v[i]->name, word);
			len += word;
		}
	}
	out[len] = '\0';
	memcpy(ret_text, out, len + 1);
	return CW_OK;
}

const struct cw_alg *cw_proposal_alg(const char *normalised, size_t n)
{
	for (const char *word = normalised; *word;) {
		size_t len = strcspn(word, "-");

		if (n-- == 0)
			return find(word, len);
		word += len + (word[len] == '-');
	}
	return NULL;
}

bool cw_proposal_has(const char *normalised, enum cw_alg_kind kind)
{
	const struct cw_alg *alg;

	for (size_t i = 0; (alg = cw_proposal_alg(normalised, i)) != NULL; i++) {
		if (alg->kind == kind)
			return true;
	}
	return false;
}

bool cw_proposal_is_aead(const char *normalised)
{
	const struct cw_alg *alg = cw_proposal_alg(normalised, 0);

	return alg && alg->aead;
}
