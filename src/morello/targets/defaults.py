"""What is known of the costs of machines that were not measured.

The costs in `x86` were measured on Zen 5. For other microarchitectures there are ratios to
them, from published figures: the throughput of vector instructions in the instruction tables
of Agner Fog and uops.info, the bandwidths and latencies of caches in the optimization manuals
of AMD and Intel. Those of Zen 4 have been checked on one: what `morello calibrate` found of
products and of memory is within a quarter of them. What L2 and copies cost was chosen there by
the products that it makes: large ones take 0.99 to 1.07 times as long, 1.02 to 1.03 in the
middle, with twice of Zen 5's costs, which is about what calibration finds, from programs that
only read and copy. Others have not been checked; `morello calibrate` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from morello.targets.costs import GROUPS, coefficients, with_coefficients
from morello.targets.cpu import HostCPU
from morello.targets.target import Target

Ratios = Mapping[str, float]

_HALF_AS_WIDE: dict[str, float] = {f"kernels.{group}": 2.0 for group in GROUPS}
"""Registers that take two passes through every unit."""

_HALF_A_LINE: dict[str, float] = {"L2.per_line": 2.0}
"""L2 gives 32 bytes a cycle; that of Zen 5 gives 64."""

_HIDDEN: dict[str, float] = {"L2.per_line": 0.3, "kernels.copies": 4.0}
"""Of two loads and one multiply-add a cycle, sums hide what L2 gives; their copies hide nothing."""

_EIGHT_WAYS: dict[str, float] = {"kernels.block_sums_ahead": 2.0}
"""A first-level cache that eight rows a power of two apart leave no room in."""

_MESH: dict[str, float] = {
    "L2.per_line": 1.3,
    "memory.per_line": 2.5,
    "memory.per_run": 1.5,
    "memory.per_alias": 1.5,
    "kernels.divisions": 1.5,
}
"""L2 sustains 48 bytes a cycle; L3 is slices on a mesh, of which a core gets some 12 bytes."""

RATIOS: Mapping[str, Ratios] = MappingProxyType(
    {
        "Zen 1": _HALF_AS_WIDE
        | _HALF_A_LINE
        | {"L2.per_run": 1.2, "kernels.block_sums_ahead": 4.0},
        "Zen 2": _HALF_A_LINE | _EIGHT_WAYS | {"memory.per_run": 0.8},
        "Zen 3": _HALF_A_LINE | _EIGHT_WAYS,
        "Zen 4": _HALF_AS_WIDE
        | _HIDDEN
        | {
            "kernels.row_sums_ahead": 2.7,
            "kernels.block_sums_ahead": 4.0,
            "kernels.block_sums_l2": 1.95,
        },
        "Zen 5": {},
        "Zen 5 with 256-bit units": _HALF_AS_WIDE,
        "Skylake-X": _MESH | _EIGHT_WAYS,
        "Ice Lake": {  # that of clients, with one 512-bit unit and a ring
            "L2.per_line": 1.3,
            "memory.per_line": 1.5,
            "kernels.divisions": 1.5,
            "kernels.products": 2.0,
            "kernels.dots": 2.0,
        },
        "Ice Lake-SP": _MESH,
        "Sapphire Rapids": _MESH
        | {"memory.per_line": 3.0, "memory.per_run": 2.5, "memory.per_alias": 2.5},
    }
)
"""By microarchitecture, the costs that differ from those of Zen 5, as multiples of them."""


STREAMING: Mapping[str, Ratios] = MappingProxyType(
    {"Zen 4": {"kernels.dots_l2": 0.75, "kernels.row_sums_l2": 0.65}}
)
"""What costs less, or more, where operands come from memory itself."""


def microarchitecture(cpu: HostCPU) -> str:
    """The one of `RATIOS` that a CPU is of, or most like; empty if there is none."""
    if cpu.vendor in ("AuthenticAMD", "HygonGenuine"):
        return _amd(cpu.family, cpu.number)
    if cpu.vendor == "GenuineIntel" and cpu.has("avx512f"):
        return _intel(cpu)
    return ""


def _amd(family: int, model: int) -> str:
    block = model >> 4
    if family in (0x17, 0x18):
        return "Zen 1" if family == 0x18 or block in (0, 1, 2, 5) else "Zen 2"
    if family == 0x19:
        return "Zen 3" if block in (0, 2, 3, 4, 5) else "Zen 4"
    if family >= 0x1A:
        mobile = family == 0x1A and block in (2, 6)
        return "Zen 5 with 256-bit units" if mobile else "Zen 5"
    return ""


def _intel(cpu: HostCPU) -> str:
    if cpu.has("amx_tile"):
        return "Sapphire Rapids"
    if not cpu.has("avx512_vbmi2"):
        return "Skylake-X"
    servers = (0x6A, 0x6C)
    return "Ice Lake-SP" if cpu.number in servers else "Ice Lake"


def with_defaults(target: Target, cpu: HostCPU) -> Target:
    """The target with the costs that are published for a CPU's microarchitecture."""
    name = microarchitecture(cpu)
    ratios, own = RATIOS.get(name, {}), coefficients(target)
    target = replace(target, streaming=STREAMING.get(name, {}))
    return with_coefficients(target, {name: own[name] * ratios[name] for name in ratios})
