dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl Warnings and hardening. They go to AM_CFLAGS and AM_LDFLAGS, so that the
dnl user's own CFLAGS come last and win.

dnl CW_TRY_FLAGS(VARIABLE, FLAGS): appends each flag that the compiler takes.
AC_DEFUN([CW_TRY_FLAGS], [
for cw_flag in $2; do
	AC_MSG_CHECKING([whether $CC takes $cw_flag])
	cw_save_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror $cw_flag"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()],
		[AC_MSG_RESULT([yes]); $1="$$1 $cw_flag"],
		[AC_MSG_RESULT([no])])
	CFLAGS=$cw_save_CFLAGS
done
])

AC_DEFUN([CW_COMPILER_FLAGS], [
CW_CFLAGS=""
CW_LDFLAGS=""
CW_CPPFLAGS=""
CW_TRY_FLAGS([CW_CFLAGS], [-std=gnu17 -fPIE -fvisibility=hidden -fno-common dnl
	-fno-strict-aliasing -fstack-protector-strong -fstack-clash-protection dnl
	-fcf-protection -Wall -Wextra -Wshadow -Wstrict-prototypes dnl
	-Wmissing-prototypes -Wmissing-declarations -Wold-style-definition dnl
	-Wformat=2 -Wvla -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings dnl
	-Wimplicit-fallthrough -Wduplicated-cond -Wduplicated-branches dnl
	-Wlogical-op -Wnull-dereference])
CW_TRY_FLAGS([CW_LDFLAGS], [-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack])
AS_IF([test "x$enable_werror" = xyes], [CW_CFLAGS="$CW_CFLAGS -Werror"])
AS_CASE([$enable_sanitize],
	[yes], [cw_sanitize="-fsanitize=address,undefined"],
	[undefined], [cw_sanitize="-fsanitize=undefined"],
	[no], [cw_sanitize=],
	[AC_MSG_ERROR([--enable-sanitize takes nothing or "undefined", not "$enable_sanitize"])])
AS_IF([test -n "$cw_sanitize"], [
	cw_sanitize="$cw_sanitize -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	CW_CFLAGS="$CW_CFLAGS $cw_sanitize"
	CW_LDFLAGS="$CW_LDFLAGS $cw_sanitize"
])
AS_IF([test "x$enable_sanitize" != xyes], [
	dnl Fortification needs the optimiser, and a distribution's compiler may
	dnl set a level of its own already: leave that one alone.
	AC_MSG_CHECKING([whether to define _FORTIFY_SOURCE])
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#if !defined(__OPTIMIZE__) || defined(_FORTIFY_SOURCE)
#error leave it
#endif
]])], [AC_MSG_RESULT([yes]); CW_CPPFLAGS="-D_FORTIFY_SOURCE=2"], [AC_MSG_RESULT([no])])
])
AC_SUBST([CW_CFLAGS])
AC_SUBST([CW_LDFLAGS])
AC_SUBST([CW_CPPFLAGS])
])
