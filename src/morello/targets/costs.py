"""The coefficients of a target's costs, by name. A calibration changes these and nothing else.

"memory.per_line", "L2.per_run" and the like are transfer costs of levels, in cycles;
"kernels.loads" and the like are factors on the costs of a group of kernels; "fork" is the
overhead of a parallel loop, "start" that of each accumulator of a reduction, and "wait" that of
too few of them, in cycles; "overlap" is a share of transfers from memory (see `Target`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from morello.base.errors import TargetError, quoted
from morello.ir.spec import Spec
from morello.ir.tensor import LINE_BYTES
from morello.targets.target import GROUPS, TRANSFERS, Group, LeafKernel, Level, Target

FORK = "fork"
START = "start"
WAIT = "wait"
OVERLAP = "overlap"

PER_LINE = "memory.per_line"
L2_PER_LINE = "L2.per_line"

KEPT = 0.75
"""The share of the last cache that keeps what a goal reads, until it reads it again."""

FEW_OPERATIONS = 50
"""The most operations for each element with which a goal waits for memory.

A core computes as many vectors in the time in which memory sends one.
"""

FOLLOWS: Mapping[str, Group] = {
    "row_sums_ahead": "row_sums",
    "row_sums_l2": "row_sums",
    "block_sums_ahead": "products",
    "block_sums_l2": "products",
    "dots_l2": "dots",
}
"""Groups that compute the same as another group, but prefetch, or prefetch differently.

Which is faster depends only on memory, with operands larger than any cache. A calibration
measures smaller ones, so it keeps the ratio of their costs.
"""


FITTED_APART: frozenset[Group] = frozenset({"block_sums_ahead", "block_sums_l2"})
"""Groups of `FOLLOWS` whose times are not taken for those of the groups they follow.

Block sums of many rows, which exceed the nearest cache, take twice as long as those of few rows.
"""


def measured_as(kernel: LeafKernel) -> Group:
    """The group whose factor is fitted to the times of a kernel."""
    group = kernel.group
    return group if group in FITTED_APART else FOLLOWS.get(group, group)


def keep_ratios(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """The coefficients after a calibration, with those of `FOLLOWS` scaled like their leaders."""
    result = dict(after)
    for follower, leader in FOLLOWS.items():
        mine, its = f"kernels.{follower}", f"kernels.{leader}"
        if mine in before and its in before:
            result[mine] = before[mine] * after[its] / before[its]
    return result


def on_cores(goal: Spec, machine: Target, cores: int = 1) -> tuple[Spec, Target]:
    """A goal and its target: both for so many cores, with the costs of goals of this size."""
    if machine.cores != cores:
        machine = replace(machine, cores=cores)
    return replace(goal, parallel=cores > 1), with_costs_of(machine, goal)


def with_costs_of(target: Target, goal: Spec, *, evicted: bool = False) -> Target:
    """The target with the costs of a goal.

    Multiply-adds hide transfers from memory only in goals with a product of few rows. In others
    they would do so for tiles of few rows, which gains little, and makes many programs cost nearly
    the same. Those from L2 are hidden in all goals with products; in others, a line costs
    `l2_line`.

    A goal that takes as long as memory does has the target's `streaming` costs: its operands exceed
    the last cache, or are `evicted` from it between calls, and it does little with each element.

    A target of many machines has the costs of each of them.
    """
    if target.tunings:
        tunings = tuple(with_costs_of(t, goal, evicted=evicted) for t in target.tunings)
        return target if tunings == target.tunings else replace(target, tunings=tunings)
    products = [part for part in goal.parts if part.operation.is_product]
    if not products:
        target = _with_seen_lines(target)
    elif all(part.least_uses > target.rows for part in products):
        target = _without_overlap(target)
    if not (evicted or exceeds_last_cache(goal.bytes, target)):
        return target
    elements = sum(prod(goal.shape(number)) for number in range(len(goal.dtypes)))
    factors = dict(target.streaming)
    if not factors or goal.flops > FEW_OPERATIONS * elements:
        return target
    if PER_LINE in factors and not evicted:
        factors[PER_LINE] = 1.0 + _share_from_memory(goal.bytes, target) * (factors[PER_LINE] - 1.0)
    own = coefficients(target)
    changed = {name: own[name] * factor for name, factor in factors.items()}
    return with_coefficients(replace(target, streaming={}, from_memory=True), changed)


@lru_cache(maxsize=16)
def _without_overlap(target: Target) -> Target:
    return replace(target, overlap=0.0)


@lru_cache(maxsize=16)
def _with_seen_lines(target: Target) -> Target:
    """The target, with lines from L2 that cost at least what they do without multiply-adds."""
    cost = coefficients(target)[L2_PER_LINE]
    return with_coefficients(target, {L2_PER_LINE: max(cost, target.l2_line)})


def _share_from_memory(count: int, target: Target) -> float:
    """The share of so many bytes that are not in the last cache when they are used again.

    Caches that are shared do not evict the oldest lines, so that a part of them always stays.
    """
    return max(0.0, 1.0 - KEPT * target.last_cache * LINE_BYTES / count)


def exceeds_last_cache(count: int, target: Target) -> bool:
    """Whether so many bytes do not stay in the last cache, if its size is known.

    Half of it is not counted on, as others evict data from it.
    """
    return target.last_cache > 0 and count // LINE_BYTES > target.last_cache // 2


def coefficients(target: Target) -> dict[str, float]:
    """The coefficients of a target's costs, by name.

    The two nearest levels have none: the costs of kernels include accesses to the nearest cache.
    """
    result = {
        f"{level.name}.{kind}": float(getattr(level, kind))
        for level in target.levels[: target.nearest]
        for kind in TRANSFERS
    }
    factors = {kernel.group: kernel.factor for kernel in target.kernels}
    result |= {f"kernels.{group}": factors[group] for group in GROUPS if group in factors}
    return (
        result
        | {FORK: target.fork}
        | ({WAIT: target.accumulator_stall} if target.in_flight else {})
        | ({START: target.accumulator_start} if target.in_flight else {})
        | {OVERLAP: target.overlap}
    )


def factor_of(target: Target, group: Group) -> float:
    """The factor on the costs of a group of kernels, which the target has."""
    return next(kernel.factor for kernel in target.kernels if kernel.group == group)


def with_coefficients(target: Target, values: Mapping[str, float]) -> Target:
    """The target with these coefficients, and its own for the rest.

    Raises `TargetError` for a name that it does not have.
    """
    known = coefficients(target)
    unknown = [name for name in values if name not in known]
    if unknown:
        raise TargetError(
            f"{target.name} has no cost {quoted(unknown[0])}; it has: {', '.join(known)}."
        )
    chosen = {**known, **values}
    if chosen == known:
        return target

    def with_transfers(level: Level) -> Level:
        costs: dict[str, Any] = {kind: chosen[f"{level.name}.{kind}"] for kind in TRANSFERS}
        return replace(level, **costs)

    levels = tuple(with_transfers(level) for level in target.levels[: target.nearest])

    def with_factor(kernel: LeafKernel) -> LeafKernel:
        factor = chosen[f"kernels.{kernel.group}"]
        return kernel if factor == kernel.factor else replace(kernel, factor=factor)

    kernels = tuple(map(with_factor, target.kernels))
    return replace(
        target,
        levels=(*levels, *target.levels[target.nearest :]),
        kernels=kernels,
        fork=chosen[FORK],
        accumulator_stall=chosen.get(WAIT, 0.0),
        accumulator_start=chosen.get(START, 0.0),
        overlap=chosen[OVERLAP],
    )
