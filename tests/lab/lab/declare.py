# SPDX-License-Identifier: GPL-2.0-or-later
"""How a test file declares its cases."""

import itertools

REGISTER = []           # cases of the file that is being imported


class Case:
    """One case: its name within the file, what it needs, its function and arguments."""

    def __init__(self, func, name, kernels, needs, cost_s, timeout_s, args, memcheck=True):
        self.func, self.name, self.kernels, self.needs = func, name, kernels, frozenset(needs)
        self.cost_s, self.timeout_s, self.args = cost_s, timeout_s, args
        self.memcheck = memcheck


def case(kernels="any", needs=(), cost_s=5, timeout_s=120, matrix=None, name=None,
         memcheck=True):
    """Declare a function as a test case; it gets a Lab.

    kernels    "any": the cheapest kernel that has what it needs; or a tuple of "uml", "qemu"
               ("host" is taken only by `run --kernel host`): it runs once in each
    needs      features of kernel.py: "xfrmi", "nat", "netem", "vti", "nft", "libreswan"
    cost_s     about how long it takes in UML, so that guests are loaded evenly
    timeout_s  when it counts as hanging; stretched on slow kernels
    matrix     {"argument": [values]}: a case for each combination, passed by name. A value may be
               a pair (label, value) when it does not make a name itself
    memcheck   False: it counts seconds or single packets, which come out otherwise when causewayd is
               as slow as memcheck makes it; `run --valgrind` runs it without
    """
    def declare(func):
        base = name or func.__name__.replace("_", "-")
        keys = list(matrix or {})
        for combination in itertools.product(*((matrix or {})[k] for k in keys)):
            labels, args = [base], {}
            for key, value in zip(keys, combination):
                label, value = value if isinstance(value, tuple) else (value, value)
                labels.append(str(label))
                args[key] = value
            REGISTER.append(Case(func, ".".join(labels), kernels, needs, cost_s, timeout_s, args, memcheck))
        return func
    return declare
