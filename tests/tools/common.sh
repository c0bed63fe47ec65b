# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tools share: where the tree is, and where unpacked sources and
# packages are kept. That cache serves every clone of one user; all that is in
# it can be fetched again.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/causeway

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
