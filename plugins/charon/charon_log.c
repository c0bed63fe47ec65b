/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcharon's log in ours. It knows no errors and warnings, only how much detail a line is, and it
 * repeats what the tunnel machine says better; so at the default level it is silent. Its levels 3 and 4
 * print message bytes and keys: they are never asked for.
 */
#include "charon/charon_priv.h"

#include <stdio.h>
#include <string.h>

static level_t level_of(logger_t *this, debug_t group)
{
	const struct cw_charon *c = CW_OUTER(this, struct cw_charon, logger);

	switch (c->opt.log_level) {
	case CW_LOG_DEBUG:
		/* A line for each job, check-out and payload field: several a packet, and of no use. */
		if (group == DBG_JOB || group == DBG_MGR || group == DBG_LIB || group == DBG_ENC ||
		    group == DBG_NET)
			return LEVEL_CTRL;
		return LEVEL_DIAG;
	case CW_LOG_INFO:
		/* Each packet and job has a line there. */
		if (group == DBG_NET || group == DBG_ENC || group == DBG_JOB || group == DBG_MGR)
			return LEVEL_AUDIT;
		return LEVEL_CTRL;
	default:
		return LEVEL_SILENT;
	}
}

static void log_line(logger_t *this, debug_t group, level_t level, int thread, ike_sa_t *ike_sa,
		     const char *message)
{
	enum cw_log_level ours = level <= LEVEL_CTRL ? CW_LOG_INFO : CW_LOG_DEBUG;
	char object[CW_TUNNEL_NAME_MAX + 16] = "ike";
	const char *name;

	(void)this;
	(void)thread;
	(void)group;
	if (ike_sa) {
		name = ike_sa->get_name(ike_sa);
		if (strchr(name, '/'))
			snprintf(object, sizeof(object), "tunnel %.*s", cw_charon_name_len(name), name);
	}
	while (*message) {
		size_t len = strcspn(message, "\n");

		cw_log(ours, CW_LOG_NONE, object, "%.*s", (int)len, message);
		message += len + (message[len] == '\n');
	}
}

void cw_charon_logger_init(struct cw_charon *c)
{
	c->logger = (logger_t){
		.log = log_line,
		.get_level = level_of,
	};
}
