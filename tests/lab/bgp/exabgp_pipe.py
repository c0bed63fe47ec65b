# SPDX-License-Identifier: GPL-2.0-or-later
"""ExaBGP's child: passes lines of a FIFO on as commands, and keeps what ExaBGP tells in a file.

Usage: exabgp_pipe.py FIFO FILE
"""

import os
import select
import sys


def main():
    """Until ExaBGP ends. It is always listened to, also while it takes no commands: it would wait for us."""
    fifo = os.open(sys.argv[1], os.O_RDWR)      # never at its end: the next writer is waited for
    os.set_blocking(1, False)
    data = b""
    with open(sys.argv[2], "ab", buffering=0) as events:
        while True:
            ready, room, _ = select.select([0] if data else [0, fifo], [1] if data else [], [])
            if 0 in ready:
                said = os.read(0, 1 << 16)
                if not said:
                    return
                events.write(said)
            if fifo in ready:
                data = os.read(fifo, 1 << 16)
            if room:
                data = data[os.write(1, data):]


if __name__ == "__main__":
    main()
