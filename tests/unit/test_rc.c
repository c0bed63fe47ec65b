/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void rc_names(void **state)
{
	(void)state;
	for (int i = 0; i < CW_RC_COUNT; i++) {
		assert_non_null(cw_rc_name(i));
		assert_true(strlen(cw_rc_name(i)) > 0);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(cw_rc_name(i), cw_rc_name(k));
	}
	assert_string_equal(cw_rc_name(CW_RC_COUNT), "unknown result");
	assert_string_equal(cw_rc_name((enum cw_rc)-1), "unknown result");
}

static void rc_from_errno(void **state)
{
	static const struct {
		int err;
		enum cw_rc rc;
	} v[] = {
		{ 0, CW_OK },
		{ ENOMEM, CW_E_NO_MEMORY },
		{ ENOBUFS, CW_E_NO_MEMORY },
		{ EINVAL, CW_E_INVALID },
		{ ENOENT, CW_E_NOT_FOUND },
		{ ESRCH, CW_E_NOT_FOUND },
		{ ENODEV, CW_E_NOT_FOUND },
		{ EEXIST, CW_E_EXISTS },
		{ EBUSY, CW_E_BUSY },
		{ EAGAIN, CW_E_BUSY },
		{ EOPNOTSUPP, CW_E_UNSUPPORTED },
		{ EPROTONOSUPPORT, CW_E_UNSUPPORTED },
		{ EPERM, CW_E_DENIED },
		{ EACCES, CW_E_DENIED },
		{ ETIMEDOUT, CW_E_TIMEOUT },
		{ EIO, CW_E_SYSTEM },
		{ -EEXIST, CW_E_EXISTS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_int_equal(cw_rc_from_errno(v[i].err), v[i].rc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc_names),
		cmocka_unit_test(rc_from_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
