"""A roofline model: costs derived from the published properties of a microarchitecture.

A kernel's cost counts the register operations of its bottleneck unit, on a core whose units are
as wide as its registers. So the factor of its group is the number of passes that a register takes
through narrower units, and higher where there are fewer units. A cache's costs follow from its
bandwidth and its latency, most of which are hidden behind other work; the fraction that is not
was measured with programs on Zen 5.
"""

from __future__ import annotations

from morello.ir.tensor import LINE_BYTES
from morello.targets.kernels.products import MULTIPLY_ADD
from morello.targets.machines.machine import Machine
from morello.targets.target import GROUPS, Group

UNITS = 2
"""The number of multiply-add units that the kernels' costs assume."""

DIVISION = 7.0
"""The cycles of a division of one register that they assume."""

PRODUCTS: tuple[Group, ...] = ("products", "dots", "dots_l2", "block_sums_l2", "block_sums_ahead")
"""Groups of kernels that are bound by multiply-adds."""

FULL_WAYS = 8
"""The most ways of an L1 in which eight rows a power of two apart fill a set.

Prefetched lines then evict them.
"""

EVICTED = 2.0
"""The factor on the cost of kernels that prefetch into such a cache."""

SLACK = 1.16
"""The factor of accumulators over latency times throughput, as some of them wait for operands."""

WAIT = 0.275
"""The extra cycles of a reduction step for each accumulator register that is missing.

Less than half a cycle, as the next sums start meanwhile.
"""

L2_SEEN = 0.1
"""The fraction of the transfer time of a line from L2 that is not overlapped by other work."""

L2_EXPOSED = 1 / 14
"""A run of lines from L2 costs this fraction of its latency; out-of-order execution hides the rest.
"""

L3_EXPOSED = 1 / 6
"""The fraction of the latency of the levels behind L2 that a run of lines from there costs."""


def passes(machine: Machine, register_bytes: int) -> float:
    """The passes that a register of this size takes through the units of the machine."""
    return max(1.0, register_bytes / machine.vector_bytes)


def streaming_bytes(machine: Machine, register_bytes: int) -> float:
    """The bytes per cycle that registers of this size load from L2: one register at most.

    Zen 5 gives 64-byte registers 64 bytes, and 32-byte ones 34 to 38.
    """
    return min(machine.l2_bytes, register_bytes)


def in_flight(machine: Machine, register_bytes: int) -> float:
    """How many accumulator registers keep the multiply-add units busy."""
    return SLACK * machine.latency * _multiply_adds_per_cycle(machine, register_bytes)


def _multiply_adds_per_cycle(machine: Machine, register_bytes: int) -> float:
    """The multiply-adds of registers of this size that start in a cycle.

    A single unit of 64 bytes serves as two of 32 bytes.
    """
    halves = machine.vector_bytes // register_bytes
    units = max(machine.multiply_adds, min(halves, UNITS))
    return units / passes(machine, register_bytes)


def published(machine: Machine, register_bytes: int) -> dict[str, float]:
    """The costs of a target with registers of this size, by name (see `costs`)."""
    register_passes = passes(machine, register_bytes)
    factors = dict.fromkeys(GROUPS, register_passes)
    for group in PRODUCTS:
        factors[group] = UNITS / _multiply_adds_per_cycle(machine, register_bytes)
    factors["divisions"] *= machine.division / DIVISION
    if machine.l1.ways <= FULL_WAYS:
        factors["block_sums_ahead"] *= EVICTED
    run_start = machine.l3_latency * L3_EXPOSED
    return {f"kernels.{group}": factor for group, factor in factors.items()} | {
        "L2.per_line": L2_SEEN * LINE_BYTES / machine.l2_bytes,
        "L2.per_run": machine.l2.latency * L2_EXPOSED,
        "memory.per_line": LINE_BYTES / machine.l3_bytes,
        "memory.per_run": run_start,
        "memory.per_alias": run_start,
        "memory.per_alias_written": run_start,
        "wait": WAIT * UNITS / _multiply_adds_per_cycle(machine, register_bytes),
        "overlap": MULTIPLY_ADD * factors["products"] * machine.l3_bytes / register_bytes,
    }
