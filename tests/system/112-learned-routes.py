# SPDX-License-Identifier: GPL-2.0-or-later
"""Learned routes by themselves: src/nl/fib against the guests' kernels, over groups and plain.

The program (tests/nl) makes its own network namespace; the lab's hosts are not used.
"""

import subprocess

from lab import case, expect
from lab.causeway import command


@case(kernels=("uml",), cost_s=90, timeout_s=600)
def learned_routes(lab):
    """Batches, groups, foreign routes, devices, adoption, lost answers."""
    done = subprocess.run(command("tests/nl/test_fib", lab.logdir), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout, flush=True)
    bad = [line for line in done.stdout.splitlines() if "not true" in line or "should be" in line]
    expect(done.returncode == 0, "exit 0, not %d: %s" % (done.returncode, "; ".join(bad)[-600:]))
