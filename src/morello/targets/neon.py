"""AArch64 with Neon, which all of these CPUs have."""

from __future__ import annotations

from morello.targets.caches import beyond_nearest
from morello.targets.helpers.collect import helpers_for
from morello.targets.kernels import CASTS, standard_kernels
from morello.targets.target import Level, Target

_MEMORY_LINES = 1 << 40

_LEVELS = (
    # A core loads half a line a cycle from its L2; memory costs are those of x86.
    Level(
        "memory", _MEMORY_LINES,
        per_line=2.5, per_run=8.0, per_alias=8.0, per_write=1.0, per_alias_written=8.0,
        saturation=2.0,
    ),
    beyond_nearest(
        Level(
            "L2", 0,
            per_line=0.7, per_run=1.0, per_alias=5.0, per_write=1.2, per_alias_written=5.0,
        ),
        12288,
    ),
    Level("L1", 896, conflict_runs=2),  # of 4 ways, some of which are left to other data
    Level("registers", 32),
)  # fmt: skip

NEON = Target(
    "neon",
    "AArch64 with Neon: 32 registers of 16 bytes, 64 KiB L1, 1 MiB L2",
    "aarch64",
    _LEVELS,
    vector_bytes=(16,),
    kernels=standard_kernels((16,), False, {(4, 4): 6.0, (2, 8): 14.0, (1, 16): 40.0}, frozenset()),
    helpers=helpers_for("neon", (16,), frozenset()),
    masks=False,
    features=("neon",),
    casts=frozenset(CASTS),
)
