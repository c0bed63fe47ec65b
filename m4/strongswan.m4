dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl libstrongswan and libcharon, and the headers of the very version installed:
dnl structs differ between versions, so headers of another one are refused.
dnl No package ships the headers; './run deps' unpacks them from the
dnl distribution's source into a cache folder, where they are looked for.

AC_DEFUN([CW_STRONGSWAN], [
AC_ARG_WITH([strongswan-libdir],
	[AS_HELP_STRING([--with-strongswan-libdir=DIR],
		[where libcharon.so.0 and libstrongswan.so.0 are @<:@/usr/lib/ipsec@:>@])],
	[], [with_strongswan_libdir=/usr/lib/ipsec])
AC_ARG_WITH([strongswan-source],
	[AS_HELP_STRING([--with-strongswan-source=DIR],
		[strongSwan's source of the installed version @<:@XDG_CACHE_HOME/causeway/strongswan-VERSION@:>@])],
	[], [with_strongswan_source=default])

STRONGSWAN_LIBDIR=$with_strongswan_libdir
STRONGSWAN_VERSION=""
AC_MSG_CHECKING([for libcharon and libstrongswan])
AS_IF([test -e "$STRONGSWAN_LIBDIR/libcharon.so.0" && test -e "$STRONGSWAN_LIBDIR/libstrongswan.so.0"],
	[AC_MSG_RESULT([$STRONGSWAN_LIBDIR])
	AC_MSG_CHECKING([for their version])
	STRONGSWAN_VERSION=`sh "$srcdir/build-aux/strongswan-version" "$STRONGSWAN_LIBDIR"`
	AS_IF([test -n "$STRONGSWAN_VERSION"], [AC_MSG_RESULT([$STRONGSWAN_VERSION])],
		[AC_MSG_RESULT([unknown])
		CW_MISSING([the version of $STRONGSWAN_LIBDIR/libstrongswan.so.0], [libstrongswan])])],
	[AC_MSG_RESULT([no])
	CW_MISSING([$STRONGSWAN_LIBDIR/libcharon.so.0], [strongswan-libcharon])
	CW_MISSING([$STRONGSWAN_LIBDIR/libstrongswan.so.0], [libstrongswan])])

AS_IF([test -n "$STRONGSWAN_VERSION"], [
	AS_IF([test "x$with_strongswan_source" = xdefault],
		[with_strongswan_source="${XDG_CACHE_HOME:-$HOME/.cache}/causeway/strongswan-$STRONGSWAN_VERSION"])
	AC_MSG_CHECKING([for strongSwan's headers])
	cw_found=`sh "$srcdir/build-aux/strongswan-version" --source "$with_strongswan_source"`
	AS_IF([test ! -f "$with_strongswan_source/src/libcharon/daemon.h"],
		[AC_MSG_RESULT([no])
		CW_MISSING([strongSwan's headers in $with_strongswan_source],
			[none; './run deps' takes them from the source of strongswan $STRONGSWAN_VERSION])],
	[test "x$cw_found" != "x$STRONGSWAN_VERSION"],
		[AC_MSG_RESULT([version $cw_found])
		CW_MISSING([strongSwan's headers of version $STRONGSWAN_VERSION: those in $with_strongswan_source are $cw_found],
			[none; './run deps' takes them from the source of strongswan $STRONGSWAN_VERSION])],
	[AC_MSG_RESULT([$with_strongswan_source])])
])
STRONGSWAN_SOURCE=$with_strongswan_source
AC_SUBST([STRONGSWAN_LIBDIR])
AC_SUBST([STRONGSWAN_SOURCE])
AC_SUBST([STRONGSWAN_VERSION])
])
