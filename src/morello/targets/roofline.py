"""The costs that follow from what is published of a microarchitecture.

A kernel's cost counts the operations on registers that its slowest unit has to do, as a core does
them whose units are as wide as its registers; so the factor of its group is the number of
passes that a register takes through units that are narrower, and more where there are fewer of
them. A cache's costs follow from the bytes that a cycle brings from there, and from how long the
first of them take. What each leaves to be seen (most is hidden behind other work) was read off
programs on Zen 5.
"""

from __future__ import annotations

from morello.ir.batch import LINE_BYTES
from morello.targets.costs import GROUPS
from morello.targets.machines.machine import Machine

UNITS = 2
"""The units for multiply-adds that costs of kernels count on."""

DIVISION = 7.0
"""The cycles of a division of a register that they count on."""

PRODUCTS = ("products", "dots", "dots_l2", "block_sums_l2", "block_sums_ahead")
"""Kernels that multiply-adds decide."""

FULL_WAYS = 8
"""Eight rows a power of two apart take all of these ways, and leave nothing to what is fetched."""

EVICTED = 2.0
"""What fetching ahead costs there, as a factor."""

L2_SEEN = 0.1
"""The part of the cycles of a line from L2 that other work does not hide."""

L2_STARTS = 14.0
"""How much of the latency of L2 a run of lines hides: what is left is one part in so many."""

L3_STARTS = 6.0
"""The same of what is behind L2."""


def passes(machine: Machine, register_bytes: int) -> float:
    """How often a register of this size goes through units of the machine."""
    return max(1.0, register_bytes / machine.vector_bytes)


def published(machine: Machine, register_bytes: int) -> dict[str, float]:
    """The costs of a target with registers of this size, by name (see `costs`)."""
    often = passes(machine, register_bytes)
    factors = dict.fromkeys(GROUPS, often)
    for group in PRODUCTS:
        factors[group] *= UNITS / machine.multiply_adds
    factors["divisions"] *= machine.division / DIVISION
    if machine.l1.ways <= FULL_WAYS:
        factors["block_sums_ahead"] *= EVICTED
    starts = machine.l3_latency / L3_STARTS
    return {f"kernels.{group}": factor for group, factor in factors.items()} | {
        "L2.per_line": L2_SEEN * LINE_BYTES / machine.l2_bytes,
        "L2.per_run": machine.l2.latency / L2_STARTS,
        "memory.per_line": LINE_BYTES / machine.l3_bytes,
        "memory.per_run": starts,
        "memory.per_alias": starts,
    }
