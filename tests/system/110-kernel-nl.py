# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel backend by itself: every call of kernel_port.h against a real kernel.

The program (tests/nl) makes its own two network namespaces; the lab's hosts are not used.
"""

import os
import subprocess

from lab import case, expect


def run(*needs):
    """The program, with what this kernel must have; its output goes to the case's log."""
    program = os.path.join(os.environ["CW_BUILD"], "tests/nl/test_kernel")
    done = subprocess.run([program] + ["--need-" + n for n in needs], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout, flush=True)
    bad = [line for line in done.stdout.splitlines() if not line.startswith(("--", "skip"))]
    expect(done.returncode == 0, "exit 0, not %d: %s" % (done.returncode, "; ".join(bad)[-600:]))


@case(kernels=("uml",), needs=["vti"], cost_s=30)
def vti(lab):
    """SAs, policies, VTIs and routes; BL-038, BL-055, BL-057, BL-058, BL-062, BL-063, BL-070."""
    del lab
    run("esp", "vti")


@case(kernels=("qemu",), needs=["vti", "xfrmi"], cost_s=30, timeout_s=300)
def xfrm_interfaces(lab):
    """The same with xfrm interfaces."""
    del lab
    run("esp", "vti", "xfrm")
