# SPDX-License-Identifier: GPL-2.0-or-later
"""ExaBGP's child: passes lines of a FIFO on as commands, and keeps what ExaBGP tells in a file.

Usage: exabgp_pipe.py FIFO FILE
"""

import os
import select
import sys


def main():
    """Until ExaBGP ends."""
    fifo = os.open(sys.argv[1], os.O_RDWR)      # never at its end: the next writer is waited for
    with open(sys.argv[2], "ab", buffering=0) as events:
        while True:
            for fd in select.select([0, fifo], [], [])[0]:
                data = os.read(fd, 1 << 16)
                if fd == 0:
                    if not data:
                        return
                    events.write(data)
                while fd == fifo and data:
                    data = data[os.write(1, data):]


if __name__ == "__main__":
    main()
