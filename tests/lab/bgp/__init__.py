# SPDX-License-Identifier: GPL-2.0-or-later
"""BGP speakers of every kind, side by side: the same questions put to each in the same words."""

from .bird import Bird
from .causeway import Causeway
from .daemon import Learned, Route, Session, expected, mirror
from .exabgp import Exabgp
from .frr import Frr
from .gobgp import Gobgp
from .openbgpd import Openbgpd
from .wire import Wire
from .world import World

PEERS = {kind.name: kind for kind in (Bird, Frr, Gobgp, Exabgp, Openbgpd)}
