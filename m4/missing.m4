dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl A person who builds for the first time should learn of everything that is
dnl missing in one go, with the package that brings it.

AC_DEFUN([CW_MISSING_INIT], [cw_missing=""])

dnl CW_MISSING(WHAT, DEBIAN-PACKAGE)
AC_DEFUN([CW_MISSING], [cw_missing="$cw_missing
  $1  (Debian package: $2)"])

dnl CW_PKG(VARIABLE-PREFIX, PKG-CONFIG-MODULE, DEBIAN-PACKAGE)
AC_DEFUN([CW_PKG], [PKG_CHECK_MODULES([$1], [$2], [], [CW_MISSING([$2], [$3])])])

AC_DEFUN([CW_MISSING_REPORT], [
AS_IF([test -n "$cw_missing"], [AC_MSG_ERROR([something that the build needs is missing:
$cw_missing

On Debian or Ubuntu './run deps' in the source tree installs all of it.])])
])
