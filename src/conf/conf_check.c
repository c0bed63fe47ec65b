/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/conf_int.h"
void cw_conf_check(struct cw_reader *r){ (void)r; }
