/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proposal: names of algorithms, and whether a list of them makes a whole proposal.
 *
 * A proposal is words joined by dashes, "aes256-sha256-modp2048": one or more of each kind, in any
 * order and letter case. Normalising gives the one spelling that is offered, compared and printed:
 * lower case, in the order encryption, integrity, PRF, group, each by its main name. Every main
 * name is a keyword of libcharon's proposal parser, so the text can go there unchanged.
 *
 * Pure: text in, text or a fault out. Any thread.
 */
#ifndef CW_CONF_PROPOSAL_H
#define CW_CONF_PROPOSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rc.h"

#define CW_PROPOSAL_TEXT_MAX 256 /* normalised, with the closing zero */

enum cw_alg_kind {
	CW_ALG_ENCRYPTION,
	CW_ALG_INTEGRITY,
	CW_ALG_PRF,
	CW_ALG_GROUP, /* Diffie-Hellman; in an ESP proposal: PFS */
	CW_ALG_KIND_COUNT,
};

struct cw_alg {
	const char *name;
	enum cw_alg_kind kind;
	bool aead;	     /* encryption that brings its own integrity */
	const char *aliases; /* other names that are taken, set apart by spaces; NULL: none */
	const char *weak;    /* why it is warned of; NULL: fine */
	const char *refused; /* why it is not taken at all; NULL: it is */
};

enum cw_proposal_use { CW_PROPOSAL_IKE, CW_PROPOSAL_ESP };

struct cw_proposal_fault {
	char word[32];	  /* the word that is wrong; "" when something is missing */
	char reason[128];
	char remedy[128];
};

/* Table of the algorithms; NULL past its end. For printing and tests. */
const struct cw_alg *cw_alg_at(size_t i);
const char *cw_alg_kind_name(enum cw_alg_kind kind);

/* CW_E_INVALID: *reterr_fault says what is wrong. */
enum cw_rc cw_proposal_normalise(const char *text, enum cw_proposal_use use,
				 char ret_text[static CW_PROPOSAL_TEXT_MAX],
				 struct cw_proposal_fault *reterr_fault);

/* The nth (from 0) algorithm of a normalised proposal, or NULL past its end. */
const struct cw_alg *cw_proposal_alg(const char *normalised, size_t n);

/* Whether a normalised proposal has a member of this kind. */
bool cw_proposal_has(const char *normalised, enum cw_alg_kind kind);
bool cw_proposal_is_aead(const char *normalised);

#endif
