"""What a rewrite is: where it applies, what it costs and holds, and what it leaves to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from morello.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Forms, Ints, some
from morello.ir.spec import Spec
from morello.targets.target import Column, Condition, Target

REMEMBERED = 8192
"""How many applied rewrites are memoized: the programs of one goal share most of theirs."""


@dataclass(frozen=True)
class Child:
    """Specs left to do, one per row, and how many times the program runs each.

    `role` says what for: the rewritten "body", the "remainder" of a loop, the "fill" of
    an output, a copy "in" or "out", or one "step" of several. `wires` gives the tensor that
    each operand is: the rewritten Spec's operands are numbered first, then the buffers that
    the rewrite adds. If empty, the operands are the rewritten Spec's, in order.
    """

    batch: Batch
    times: Ints | int = 1
    role: str = "body"
    wires: tuple[int, ...] = ()


@dataclass(frozen=True)
class Edges:
    """The hyperedges of a rewrite for the given rows of a batch.

    `cost` is in cycles and excludes the children's; `allocation` maps a level to how much
    of it the rewrite holds (lines, or registers) while its children run.
    """

    rows: Ints
    cost: Column = 0.0
    allocation: Mapping[int, Ints | int] = field(default_factory=dict)
    children: tuple[Child, ...] = ()


class Rewrite(Protocol):
    """A rewrite as data. One definition serves search, scheduling by hand, and replay."""

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        """The conditions to apply it; the first that fails gives the reason it does not apply."""
        ...

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        """Its edges for a batch of which every row meets the conditions."""
        ...

    def concrete(self, spec: Spec) -> Rewrite:
        """The rewrite with everything that depends on the Spec filled in."""
        ...

    def data(self) -> dict[str, Any]:
        """The rewrite as JSON-able data, `name` first."""
        ...

    def __hash__(self) -> int:
        """The hash of its data, so that `apply` can memoize its results."""
        ...


def expand(rewrite: Rewrite, batch: Batch, target: Target) -> Iterator[Edges]:
    """Apply a rewrite to every row of a batch where it applies."""
    holds: Bools | None = None
    for condition in rewrite.conditions(batch, target):
        holds = condition.holds if holds is None else holds & condition.holds
        if not some(holds):
            return
    rows = np.arange(len(batch)) if holds is None else holds.nonzero()[0]
    whole = len(rows) == len(batch)
    for edges in rewrite.edges(batch if whole else batch[rows], target):
        yield (
            edges
            if whole
            else Edges(rows[edges.rows], edges.cost, edges.allocation, edges.children)
        )


@dataclass(frozen=True)
class Hole:
    """A Spec left to do, how many times it runs, its role and wires (see `Child`)."""

    spec: Spec
    times: int
    role: str
    wires: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """A rewrite applied to one Spec: its own cost and allocation, and the Specs left to do."""

    cost: float
    allocation: Mapping[int, int]
    holes: tuple[Hole, ...]


@lru_cache(REMEMBERED)
def apply(rewrite: Rewrite, spec: Spec, target: Target) -> Step:
    """Apply a rewrite to one Spec; raises `RewriteError` with the reason if it does not apply."""
    batch = Batch.of([spec], Forms())
    for condition in rewrite.conditions(batch, target):
        if not condition.holds[0]:
            raise RewriteError(f"{rewrite} does not apply to {spec}: {condition.reason}.")
    (edges,) = rewrite.edges(batch, target)
    return Step(
        float(np.broadcast_to(edges.cost, 1)[0]),
        {level: int(np.broadcast_to(n, 1)[0]) for level, n in edges.allocation.items()},
        tuple(
            Hole(
                child.batch.spec(), int(np.broadcast_to(child.times, 1)[0]), child.role, child.wires
            )
            for child in edges.children
        ),
    )


def operand_index(batch: Batch, name: str) -> int:
    """The index of an operand; raises `RewriteError`, listing the operands, if there is none."""
    try:
        return batch.operation.find(name)
    except KeyError:
        known = ", ".join(o.name for o in batch.operation.operands)
        raise RewriteError(
            f"{batch.operation} has no operand {quoted(name)}; its operands are: {known}."
        ) from None


def dim_index(batch: Batch, name: str) -> int:
    """The index of a dimension; raises `RewriteError`, listing the dimensions, if there is none."""
    if name not in batch.operation.dims:
        known = ", ".join(batch.operation.dims)
        raise RewriteError(
            f"{batch.operation} has no dimension {quoted(name)}; its dimensions are: {known}."
        )
    return batch.operation.dims.index(name)


def everywhere(batch: Batch, value: bool) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The column of a condition that does not depend on the row."""
    return np.full(len(batch), value)
