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
"""The number of multiply-add units that the kernels' costs assume."""

DIVISION = 7.0
"""The cycles of a division of one register that they assume."""

PRODUCTS = ("products", "dots", "dots_l2", "block_sums_l2", "block_sums_ahead")
"""Groups of kernels that are bound by multiply-adds."""

FULL_WAYS = 8
"""With so many ways or fewer, eight rows a power of two apart fill a set.

Lines that are prefetched evict them.
"""

EVICTED = 2.0
"""The factor on the cost of kernels that prefetch into such a cache."""

SLACK = 1.16
"""How many more sums than fill the units keep them busy while some wait for their operands."""

WAIT = 0.275
"""The cycles that a step of a reduction takes longer for each register of sums that is missing.

Fewer than half a cycle, as the next sums are begun meanwhile.
"""

L2_SEEN = 0.1
"""The fraction of the transfer time of a line from L2 that is not overlapped by other work."""

L2_EXPOSED = 1 / 14
"""A run of lines from L2 costs this fraction of its latency; out-of-order execution hides the rest.
"""

L3_EXPOSED = 1 / 6
"""The same for the latency of what is behind L2."""


def passes(machine: Machine, register_bytes: int) -> float:
    """How often a register of this size goes through units of the machine."""
    return max(1.0, register_bytes / machine.vector_bytes)


def streaming_bytes(machine: Machine, register_bytes: int) -> float:
    """The bytes that registers of this size get from L2 in a cycle: one register at most.

    Zen 5 gives 64-byte registers 64 bytes, and 32-byte ones 34 to 38.
    """
    return min(machine.l2_bytes, register_bytes)


def in_flight(machine: Machine, register_bytes: int) -> float:
    """How many registers of sums keep the multiply-add units busy."""
    return SLACK * machine.latency * _begun(machine, register_bytes)


def _begun(machine: Machine, register_bytes: int) -> float:
    """The multiply-adds of registers of this size that begin in a cycle.

    A unit of 64 bytes that is the only one is two of 32 bytes.
    """
    halves = machine.vector_bytes // register_bytes
    units = max(machine.multiply_adds, min(halves, UNITS))
    return units / passes(machine, register_bytes)


def published(machine: Machine, register_bytes: int) -> dict[str, float]:
    """The costs of a target with registers of this size, by name (see `costs`)."""
    often = passes(machine, register_bytes)
    factors = dict.fromkeys(GROUPS, often)
    for group in PRODUCTS:
        factors[group] = UNITS / _begun(machine, register_bytes)
    factors["divisions"] *= machine.division / DIVISION
    if machine.l1.ways <= FULL_WAYS:
        factors["block_sums_ahead"] *= EVICTED
    starts = machine.l3_latency * L3_EXPOSED
    return {f"kernels.{group}": factor for group, factor in factors.items()} | {
        "L2.per_line": L2_SEEN * LINE_BYTES / machine.l2_bytes,
        "L2.per_run": machine.l2.latency * L2_EXPOSED,
        "memory.per_line": LINE_BYTES / machine.l3_bytes,
        "memory.per_run": starts,
        "memory.per_alias": starts,
        "memory.per_alias_written": starts,
        "wait": WAIT * UNITS / _begun(machine, register_bytes),
    }
