# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab for tests with real kernels, real daemons and real ESP. See ../README."""

from .declare import case
from .net import G_PRIVATE, G_PUBLIC, LAN, LAN_HOST, LAN_HOST6, PLACES
from .profiles import ANY, ANY_DUAL
from .wait import Failure, Skip, expect, expect_equal, hold_true, wait_for
from . import xfrm
