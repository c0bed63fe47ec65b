/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "conf/proposal.h"

#define AT(home, row) ((char *)(home) + (row)->offset)

/* Storing without a cast to the member's type: the offset says where, the type how wide. */
#define STORE(home, row, value) memcpy(AT(home, row), &(value), sizeof(value))

static bool refuse(struct cw_reader *r, const struct cw_subject *at, const char *value,
		   const char *reason, const char *remedy)
{
	cw_report(r, CW_CONF_ERROR, at, value, reason, remedy);
	return false;
}

/* What a text may look like where a key could stand by mistake. Empty string: do not show it. */
static const char *shown(enum cw_setting_type type, const char *text)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

	switch (type) {
	case CW_TYPE_NAME:
	case CW_TYPE_IFNAME:
		return strlen(text) <= 64 ? text : "";
	case CW_TYPE_PROFILE:
	case CW_TYPE_CHOICE:
	case CW_TYPE_BOOL:
	case CW_TYPE_NUMBER32:
	case CW_TYPE_NUMBER64:
		return strlen(text) <= 32 && strspn(text, word) == strlen(text) ? text : "";
	case CW_TYPE_HOST:
	case CW_TYPE_ADDR:
	case CW_TYPE_ADDR4:
	case CW_TYPE_ADDR_LEN:
	case CW_TYPE_NETWORKS:
		return cw_value_shows_host(text) ? text : "";
	case CW_TYPE_IKE_PROPOSALS:
	case CW_TYPE_ESP_PROPOSALS:
		return strchr(text, '-') && strlen(text) < CW_VALUE_TEXT_MAX ? text : "";
	default:
		return "";
	}
}

/* Letters and digits in a row: an address has no more than four. */
static size_t longest_run(const char *text)
{
	size_t longest = 0, n;

	for (; *text; text += n ? n : 1) {
		n = strspn(text, "0123456789abcdefABCDEF");
		longest = n > longest ? n : longest;
	}
	return longest;
}

bool cw_value_shows_host(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > 80)
		return false;
	if (strspn(text, "0123456789./") == len)
		return true;
	/* Addresses with a slip in them. A key in hex has no such marks and is not told. */
	if (strpbrk(text, ".:/") && strspn(text, "0123456789abcdefABCDEF.:/, ") == len &&
	    longest_run(text) <= 4)
		return true;
	if (strchr(text, ':') && strspn(text, "0123456789abcdefABCDEF:./") == len)
		return true;
	if (!strchr(text, '.') || text[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    !strchr(".-/", text[i]))
			return false;
	}
	return true;
}

static const char *type_in_words(int type)
{
	switch (type) {
	case CONFIG_TYPE_GROUP:
		return "is a group";
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
	case CONFIG_TYPE_FLOAT:
		return "is a number";
	case CONFIG_TYPE_STRING:
		return "is a text";
	case CONFIG_TYPE_BOOL:
		return "is true or false";
	case CONFIG_TYPE_ARRAY:
	case CONFIG_TYPE_LIST:
		return "is a list";
	default:
		return "has no value";
	}
}

static bool wrong_type(struct cw_reader *r, const struct cw_setting *row, const config_setting_t *s,
		       const struct cw_subject *at)
{
	const char *value = "";

	/* A number may be a key too, where one belongs. */
	if (s->type == CONFIG_TYPE_STRING && s->value.sval)
		value = shown(row->type, s->value.sval);
	else if ((s->type == CONFIG_TYPE_INT || s->type == CONFIG_TYPE_INT64) &&
		 row->type != CW_TYPE_SECRET && row->type != CW_TYPE_KEY_FILE)
		value = cw_say(r, "%lld", config_setting_get_int64(s));
	return refuse(r, at, value, type_in_words(s->type),
		      cw_say(r, "write %s", cw_type_wanted(row->type)));
}

static const char *text_of(const config_setting_t *s)
{
	return s->type == CONFIG_TYPE_STRING ? (s->value.sval ? s->value.sval : "") : NULL;
}

/* Names (base/name.h) and what Linux takes for an interface. */
static bool is_name(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len == 0 || len > max || !isalnum((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	}
	return true;
}

static bool read_name(struct cw_reader *r, const struct cw_setting *row, const char *text,
		      void *home, const struct cw_subject *at)
{
	if (!is_name(text, (size_t)row->max))
		return refuse(r, at, shown(row->type, text), "can't be a name",
			      cw_say(r,
				     "1 to %" PRIu64
				     " of a-z A-Z 0-9 . _ -, beginning with a letter "
				     "or digit",
				     row->max));
	if (row->type == CW_TYPE_IFNAME && (strncmp(text, "cw-", 3) != 0 || !text[3]))
		return refuse(r, at, text, "does not begin with cw-",
			      "our interfaces are told from others by it; write cw-NAME");
	snprintf(AT(home, row), (size_t)row->max + 1, "%s", text);
	return true;
}

static bool read_profile(struct cw_reader *r, const struct cw_setting *row, const char *text,
			 void *home, const struct cw_subject *at)
{
	const struct cw_profile *p = cw_profile_find(text);
	const char *names[16] = { 0 }, *near;
	size_t n = 0;

	if (p) {
		STORE(home, row, p->name);
		return true;
	}
	for (; n < 16 && (p = cw_profile_at(n)) != NULL; n++)
		names[n] = p->name;
	near = cw_nearest(text, names, n);
	if (near)
		return refuse(r, at, shown(row->type, text), "is no profile",
			      cw_say(r, "did you mean \"%s\"?", near));
	return refuse(r, at, shown(row->type, text), "is no profile",
		      "profiles are azure, azure-default, azure-policy, aws, causeway, generic");
}

static bool read_choice(struct cw_reader *r, const struct cw_setting *row, const char *text,
			void *home, const struct cw_subject *at)
{
	char list[160] = "";
	size_t len = 0;

	for (unsigned i = 0; row->choices[i]; i++) {
		int n;

		if (strcmp(row->choices[i], text) == 0) {
			STORE(home, row, i);
			return true;
		}
		n = snprintf(list + len, sizeof(list) - len, "%s\"%s\"", i ? ", " : "",
			     row->choices[i]);
		if (n > 0 && (size_t)n < sizeof(list) - len)
			len += (size_t)n;
	}
	return refuse(r, at, shown(row->type, text), "is none of its words",
		      cw_say(r, "write one of %s", list));
}

/* RFC 1123 2.1, with at least one dot: a single word is more often a slip, or a key in the wrong
 * place, than the name of a far gateway. */
static bool is_dns_name(const char *text)
{
	size_t label = 0, len = strlen(text);
	bool dot = false, letter = false;

	if (len == 0 || len > 253)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '.') {
			if (label == 0 || text[i - 1] == '-')
				return false;
			dot = true;
			label = 0;
			letter = letter && text[i + 1] == '\0';
			continue;
		}
		if (!isalnum(c) && c != '-')
			return false;
		if ((c == '-' && label == 0) || ++label > 63)
			return false;
		letter |= isalpha(c) != 0;
	}
	/* The last label is not of digits alone, or 300.1.1.1 would be a name. */
	return dot && letter && text[len - 1] != '-';
}

/* Text and value of an address that nobody elsewhere can have. The reader's own is in remedy. */
static bool refuse_unfit(struct cw_reader *r, const struct cw_subject *at, const char *text,
			 const struct cw_addr *addr, const char *remedy)
{
	struct cw_addr v4 = { .family = CW_FAMILY_IPV4 };
	char buf[CW_ADDR_TEXT_MAX];

	memcpy(v4.bytes, addr->bytes + 12, 4);
	if (addr->family == CW_FAMILY_IPV6 && addr->bytes[10] == 0xff && !cw_addr_is_multicast(addr) &&
	    !cw_addr_is_link_local(addr) && !cw_addr_unfit(&v4))
		remedy = cw_say(r, "write \"%s\"", cw_addr_print(&v4, buf, sizeof(buf)));
	return refuse(r, at, text, cw_addr_unfit(addr), remedy);
}

/* RFC 6761 6.3: always this machine. */
static bool is_localhost(const char *name)
{
	static const char end[] = ".localhost";
	size_t len = strlen(name);

	if (len && name[len - 1] == '.')
		len--;
	return len >= sizeof(end) - 1 &&
	       strncasecmp(name + len - (sizeof(end) - 1), end, sizeof(end) - 1) == 0;
}

static bool read_host(struct cw_reader *r, const struct cw_setting *row, const char *text,
		      struct cw_tunnel_conf *tunnel, const struct cw_subject *at)
{
	struct cw_addr addr = { 0 };
	const char *copy;

	if (cw_addr_parse(text, &addr) != CW_OK) {
		addr = (struct cw_addr){ 0 };
		if (!is_dns_name(text))
			return refuse(
				r, at, shown(row->type, text),
				"is neither an address nor a full DNS name",
				"write the peer's public address, as \"203.0.113.11\", or a name "
				"with its domain");
		if (is_localhost(text))
			return refuse(r, at, text, "is this machine itself",
				      "write the peer's public address or its DNS name");
	} else if (cw_addr_unfit(&addr)) {
		return refuse_unfit(r, at, text, &addr, "write the peer's public address");
	}
	copy = cw_pool_copy(r->conf->pool, text);
	STORE(tunnel, row, copy);
	tunnel->remote_addr = addr;
	return true;
}

static bool read_addr(struct cw_reader *r, const struct cw_setting *row, const char *text,
		      void *home, const struct cw_subject *at)
{
	struct cw_addr addr;
	struct cw_prefix prefix;

	if (cw_addr_parse(text, &addr) != CW_OK) {
		if (cw_prefix_parse(text, &prefix) == CW_OK)
			return refuse(r, at, shown(row->type, text),
				      "has a length, which is not wanted here",
				      cw_say(r, "write %.*s", (int)strcspn(text, "/"), text));
		return refuse(
			r, at, shown(row->type, text), "is no address",
			"write four numbers from 0 to 255, as \"10.10.0.1\", or an IPv6 address");
	}
	if (row->type == CW_TYPE_ADDR4 && addr.family != CW_FAMILY_IPV4)
		return refuse(r, at, text, "is no IPv4 address",
			      "write four numbers, as \"10.10.0.1\"");
	if (cw_addr_unfit(&addr))
		return refuse_unfit(r, at, text, &addr,
				    "write the address itself, or leave the setting out where none "
				    "is meant");
	STORE(home, row, addr);
	return true;
}

/* All host bits set: RFC 919's broadcast, where there are any. */
static bool is_last(const struct cw_prefix *p)
{
	for (unsigned i = p->len; i < cw_family_bits(p->addr.family); i++) {
		if (!(p->addr.bytes[i / 8] & (0x80 >> i % 8)))
			return false;
	}
	return true;
}

static bool read_addr_len(struct cw_reader *r, const struct cw_setting *row, const char *text,
			  void *home, const struct cw_subject *at)
{
	char buf[CW_PREFIX_TEXT_MAX];
	struct cw_prefix prefix, net;
	unsigned bits;

	if (cw_prefix_parse(text, &prefix) != CW_OK)
		return refuse(r, at, shown(row->type, text), "is no address with a length",
			      "write our inside address, as \"169.254.21.1/30\"");
	if (!strchr(text, '/'))
		return refuse(r, at, text, "has no length",
			      cw_say(r, "write \"%s/30\", or /32 for the address alone", text));
	bits = cw_family_bits(prefix.addr.family);
	net = cw_prefix_network(&prefix);
	if (prefix.len < bits - 1 && cw_addr_equal(&net.addr, &prefix.addr))
		return refuse(r, at, cw_prefix_print(&prefix, buf, sizeof(buf)),
			      "is the network, not an address in it",
			      "write the address that our end of the tunnel has");
	if (prefix.addr.family == CW_FAMILY_IPV4 && prefix.len < bits - 1 && is_last(&prefix))
		return refuse(r, at, cw_prefix_print(&prefix, buf, sizeof(buf)),
			      "is the broadcast address of its network",
			      "write the address that our end of the tunnel has");
	if (cw_addr_unfit(&prefix.addr))
		return refuse_unfit(r, at, text, &prefix.addr,
				    "write our address in the tunnel and the length of its network, "
				    "as 169.254.21.1/30");
	if (prefix.len == 0)
		return refuse(r, at, cw_prefix_print(&prefix, buf, sizeof(buf)),
			      "would put the whole Internet behind the interface",
			      "write the length of the tunnel's own network, as 169.254.21.1/30");
	STORE(home, row, prefix);
	return true;
}

/* One element of a list: its own line and place. */
static struct cw_subject element_of(const struct cw_subject *at, const config_setting_t *e, int i)
{
	struct cw_subject sub = *at;

	sub.element = i;
	sub.line = e->line ? e->line : at->line;
	return sub;
}

/* What may be meant by a text that is no network. */
static const char *network_remedy(struct cw_reader *r, const char *text)
{
	const char *slash = strchr(text, '/');
	char addr[CW_ADDR_TEXT_MAX];
	struct cw_addr base, mask;
	unsigned len = 0;
	bool two = slash && strchr(slash + 1, '/');

	if (strchr(text, ',') || (two && strchr(text, ' ')))
		return "each network stands in quotes of its own, with a comma between them";
	if (strchr(text, ' '))
		return "take the space away";
	/* libconfig joins texts that follow each other. */
	if (two)
		return "two networks run into each other: is the comma between them missing?";
	if (!slash || (size_t)(slash - text) >= sizeof(addr))
		return "write address/length, as \"10.10.0.0/16\"";
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - text), text);
	if (cw_addr_parse(addr, &base) != CW_OK || cw_addr_parse(slash + 1, &mask) != CW_OK ||
	    base.family != CW_FAMILY_IPV4 || mask.family != CW_FAMILY_IPV4)
		return "write address/length, as \"10.10.0.0/16\"";
	while (len < 32 && (mask.bytes[len / 8] & (0x80 >> len % 8)))
		len++;
	for (unsigned i = len; i < 32; i++) {
		if (mask.bytes[i / 8] & (0x80 >> i % 8))
			return "write address/length, as \"10.10.0.0/16\"";
	}
	return cw_say(r, "write \"%s/%u\"", addr, len);
}

/* Why a network can't be behind a gateway, or NULL. */
static const char *network_unfit(const struct cw_prefix *net)
{
	const struct cw_addr *a = &net->addr;

	/* The whole of a family, or a big part of it that one can write in one prefix only. */
	if (cw_addr_is_unspecified(a) && net->len < (a->family == CW_FAMILY_IPV4 ? 8 : 96))
		return NULL;
	if (cw_addr_is_loopback(a) || (cw_addr_is_unspecified(a) && a->family == CW_FAMILY_IPV6))
		return "is a machine's own (loopback)";
	if (cw_addr_is_multicast(a))
		return "is multicast";
	if (a->family == CW_FAMILY_IPV6 && cw_addr_is_link_local(a))
		return "is link-local";
	return cw_addr_unfit(a) ? "is reserved: no machine has an address in it" : NULL;
}

static bool read_network(struct cw_reader *r, const char *text, struct cw_prefix *ret_prefix,
			 const struct cw_subject *at)
{
	char buf[CW_PREFIX_TEXT_MAX], mask[CW_PREFIX_TEXT_MAX];
	struct cw_prefix net;

	if (cw_prefix_parse(text, ret_prefix) != CW_OK)
		return refuse(r, at, shown(CW_TYPE_NETWORKS, text), "is no network",
			      network_remedy(r, text));
	if (!strchr(text, '/'))
		return refuse(r, at, text, "has no length",
			      cw_say(r, "write \"%s\" if the single address is meant",
				     cw_prefix_print(ret_prefix, buf, sizeof(buf))));
	if (cw_prefix_has_host_bits(ret_prefix)) {
		net = cw_prefix_network(ret_prefix);
		return refuse(r, at, cw_prefix_print(ret_prefix, buf, sizeof(buf)),
			      "is an address in a network, not the network",
			      cw_say(r, "write \"%s\"", cw_prefix_print(&net, mask, sizeof(mask))));
	}
	if (network_unfit(ret_prefix))
		return refuse(r, at, cw_prefix_print(ret_prefix, buf, sizeof(buf)),
			      cw_say(r, "can't be routed through a tunnel: it %s",
				     network_unfit(ret_prefix)),
			      "take it away");
	return true;
}

static bool read_networks(struct cw_reader *r, const struct cw_setting *row,
			  const config_setting_t *s, void *home, const struct cw_subject *at)
{
	size_t n = (size_t)config_setting_length(s);
	struct cw_prefixes list = { 0 };
	bool good = true;

	if (n > row->max)
		return refuse(r, at, "", cw_say(r, "has %zu networks", n),
			      cw_say(r, "at most %" PRIu64 "; put neighbours together", row->max));
	list.v = n ? cw_pool_alloc(r->conf->pool, n * sizeof(*list.v)) : NULL;
	for (size_t i = 0; i < n && list.v; i++) {
		const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
		struct cw_subject sub = element_of(at, e, (int)i);
		const char *text = text_of(e);

		if (!text)
			good = refuse(r, &sub, "", type_in_words(e->type),
				      "write a network in quotes, as \"10.10.0.0/16\"");
		else if (read_network(r, text, &list.v[list.n], &sub))
			list.n++;
		else
			good = false;
	}
	STORE(home, row, list);
	return good;
}

static bool read_proposals(struct cw_reader *r, const struct cw_setting *row,
			   const config_setting_t *s, void *home, const struct cw_subject *at)
{
	enum cw_proposal_use use = row->type == CW_TYPE_IKE_PROPOSALS ? CW_PROPOSAL_IKE :
									CW_PROPOSAL_ESP;
	size_t n = (size_t)config_setting_length(s);
	char text[CW_PROPOSAL_TEXT_MAX];
	struct cw_proposals list = { 0 };
	bool good = true;

	if (n == 0 || n > CW_CONF_PROPOSALS_MAX)
		return refuse(r, at, "", n ? "has too many proposals" : "is empty",
			      "write 1 to 16 proposals, or leave it out for the profile's");
	for (size_t i = 0; i < n; i++) {
		const config_setting_t *e = config_setting_get_elem(s, (unsigned)i);
		struct cw_subject sub = element_of(at, e, (int)i);
		struct cw_proposal_fault fault;
		const char *in = text_of(e);
		bool twice = false;

		if (!in) {
			good = refuse(r, &sub, "", type_in_words(e->type),
				      "write a proposal in quotes, as \"aes256-sha256-modp2048\"");
			continue;
		}
		if (cw_proposal_normalise(in, use, text, &fault) != CW_OK) {
			const char *value = shown(row->type, in);

			good = refuse(r, &sub, value,
				      *fault.word && *value
					      ? cw_say(r, "is no %s proposal: %s %s",
						       use == CW_PROPOSAL_IKE ? "IKE" : "ESP",
						       fault.word, fault.reason)
					      : cw_say(r, "is no %s proposal: it %s",
						       use == CW_PROPOSAL_IKE ? "IKE" : "ESP",
						       fault.reason),
				      fault.remedy);
			continue;
		}
		for (size_t k = 0; k < list.n; k++)
			twice |= strcmp(list.v[k], text) == 0;
		if (twice) {
			good = refuse(r, &sub, in, "stands there twice", "take one of them away");
			continue;
		}
		list.v[list.n] = cw_pool_copy(r->conf->pool, text);
		list.n += list.v[list.n] != NULL;
	}
	if (good)
		STORE(home, row, list);
	return good;
}

static bool read_number(struct cw_reader *r, const struct cw_setting *row,
			const config_setting_t *s, void *home, const struct cw_subject *at)
{
	long long in = config_setting_get_int64(s);
	uint64_t value = (uint64_t)in;
	const char *unit = row->unit ? row->unit : "";

	if (in < 0 || value < row->min || value > row->max)
		return refuse(r, at, cw_say(r, "%lld", in), "is out of range",
			      cw_say(r, "write a number from %" PRIu64 " to %" PRIu64 "%s%s",
				     row->min, row->max, *unit ? " " : "", unit));
	if (row->type == CW_TYPE_NUMBER64) {
		STORE(home, row, value);
	} else {
		uint32_t narrow = (uint32_t)value;

		STORE(home, row, narrow);
	}
	return true;
}

/* What stands there now must be a socket that a dead daemon left, or nothing. The folder above is
 * made at the start if need be. */
static bool path_for_socket(struct cw_reader *r, const char *text, const struct cw_subject *at)
{
	static const char example[] = "write the path of the socket itself, as "
				      "/run/causeway/control";
	struct stat st;

	if (text[0] != '/')
		return refuse(r, at, "", "is no absolute path", "begin it with /");
	if (text[strlen(text) - 1] == '/')
		return refuse(r, at, text, "names a folder", example);
	if (lstat(text, &st) != 0)
		return errno != ENOTDIR ||
		       refuse(r, at, text, "leads through a file that is no folder", example);
	if (S_ISDIR(st.st_mode))
		return refuse(r, at, text, "is a folder", example);
	if (!S_ISSOCK(st.st_mode))
		return refuse(r, at, text, "is there already and is no socket",
			      "take that file away, or write another path");
	return true;
}

static bool read_text(struct cw_reader *r, const struct cw_setting *row, const char *text,
		      void *home, const struct cw_subject *at)
{
	size_t len = strlen(text);
	const char *copy;

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
			return refuse(r, at, "", "holds a character that is not printable ASCII",
				      "");
	}
	if (len == 0 || len > row->max || text[0] == ' ' || text[len - 1] == ' ')
		return refuse(r, at, "", len == 0 ? "is empty" : len > row->max ? "is too long" :
			      "begins or ends with a space",
			      len ? cw_say(r, "at most %" PRIu64 " characters", row->max) :
				    "leave it out where none is meant");
	if (row->type == CW_TYPE_PATH && !path_for_socket(r, text, at))
		return false;
	copy = cw_pool_copy(r->conf->pool, text);
	STORE(home, row, copy);
	return true;
}

static bool read_from_text(struct cw_reader *r, const struct cw_setting *row, const char *text,
			   void *home, const struct cw_subject *at)
{
	switch (row->type) {
	case CW_TYPE_NAME:
	case CW_TYPE_IFNAME:
		return read_name(r, row, text, home, at);
	case CW_TYPE_PROFILE:
		return read_profile(r, row, text, home, at);
	case CW_TYPE_CHOICE:
		return read_choice(r, row, text, home, at);
	case CW_TYPE_HOST:
		return read_host(r, row, text, home, at);
	case CW_TYPE_ADDR:
	case CW_TYPE_ADDR4:
		return read_addr(r, row, text, home, at);
	case CW_TYPE_ADDR_LEN:
		return read_addr_len(r, row, text, home, at);
	default:
		return read_text(r, row, text, home, at);
	}
}

bool cw_value_read(struct cw_reader *r, const struct cw_setting *row,
		   const struct config_setting_t *s, void *home, const struct cw_subject *at)
{
	bool list = s->type == CONFIG_TYPE_ARRAY || s->type == CONFIG_TYPE_LIST;
	const char *text = text_of(s);
	bool flag;

	switch (row->type) {
	case CW_TYPE_NETWORKS:
		return list ? read_networks(r, row, s, home, at) : wrong_type(r, row, s, at);
	case CW_TYPE_IKE_PROPOSALS:
	case CW_TYPE_ESP_PROPOSALS:
		return list ? read_proposals(r, row, s, home, at) : wrong_type(r, row, s, at);
	case CW_TYPE_FILTERS:
	case CW_TYPE_COMMUNITIES:
	case CW_TYPE_LARGE_COMMUNITIES:
	case CW_TYPE_NAMES:
		return list ? cw_value_read_list(r, row, s, home, at) : wrong_type(r, row, s, at);
	case CW_TYPE_NUMBER32:
	case CW_TYPE_NUMBER64:
		if (s->type != CONFIG_TYPE_INT && s->type != CONFIG_TYPE_INT64)
			return wrong_type(r, row, s, at);
		return read_number(r, row, s, home, at);
	case CW_TYPE_BOOL:
		if (s->type != CONFIG_TYPE_BOOL)
			return wrong_type(r, row, s, at);
		flag = config_setting_get_bool(s) != 0;
		STORE(home, row, flag);
		return true;
	case CW_TYPE_GROUP:
	case CW_TYPE_GROUPS:
	case CW_TYPE_SECRET:
	case CW_TYPE_KEY_FILE:
	case CW_TYPE_COUNT:
		return text ? true : wrong_type(r, row, s, at);
	default:
		return text ? read_from_text(r, row, text, home, at) : wrong_type(r, row, s, at);
	}
}
