"""AArch64 with Neon, which all of these CPUs have."""

from __future__ import annotations

from functools import cache

from morello.base.lazy import maker
from morello.targets.caches import levels
from morello.targets.helpers.collect import helpers_for
from morello.targets.kernels import CASTS, standard_kernels
from morello.targets.target import Target


@cache
def neon() -> Target:
    """AArch64 with Neon."""
    return Target(
        "neon",
        "AArch64 with Neon: 32 registers of 16 bytes, 64 KiB L1, 1 MiB L2",
        "aarch64",
        # a core loads half a line a cycle from its L2; memory costs are those of x86
        levels(l2=12288, l1=896, l1_ways=4, registers=32, l2_line=0.7, saturation=2.0),
        vector_bytes=(16,),
        kernels=standard_kernels(
            (16,), False, {(4, 4): 6.0, (2, 8): 14.0, (1, 16): 40.0}, frozenset()
        ),
        helpers=helpers_for("neon", (16,), frozenset()),
        masks=False,
        features=("neon",),
        casts=frozenset(CASTS),
    )


__getattr__ = maker(__name__, {"NEON": neon})
