"""The base of all rewrites: where one applies, what it costs and holds, and what it leaves to do.

All that is known of a rewrite is in its class, but for the C that is generated for it.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from morello.base.errors import RewriteError, quoted
from morello.ir.batch import Batch
from morello.ir.kept import Kept
from morello.ir.operation import Primitive
from morello.ir.placements import Bools, Ints, Placements, any_row
from morello.ir.spec import Spec
from morello.targets.target import Column, Condition, Target

REMEMBERED = 8192
"""How many applied rewrites are memoized: the programs of one goal share most of theirs."""

MOST_INTERNED = 512
"""How many placements are kept for the Specs that are rewritten one at a time."""


@dataclass(frozen=True)
class Child:
    """Specs left to do, one per row, and how many times the program runs each.

    `role` says what for: the rewritten "body", the "remainder" of a loop, the "fill" of
    an output, a copy "in" or "out", or one "step" of several. `tensors` gives for each operand
    the number of its tensor: the rewritten Spec's operands are numbered first, then the buffers
    that the rewrite adds. If empty, the operands are the rewritten Spec's, in order.
    """

    batch: Batch
    times: Ints | int = 1
    role: str = "body"
    tensors: tuple[int, ...] = ()


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


class Rank(IntEnum):
    """The parts of a Spec's rank, the most significant first (see `space.ranks`).

    A rewrite *lowers* a part: its children have less of it, or of a part before it, and no more
    of any part before that. So no chain of rewrites comes back to a Spec.
    """

    PARALLEL = 0
    """Whether the Spec is still to be distributed over cores."""
    OPERATION = 1
    """How many decompositions the operation may still go through."""
    SINGLE = 2
    """Whether all elements are single ones, not packed groups."""
    OVERWRITES = 3
    """Whether outputs are still to be initialized."""
    EXTENT = 4
    """How far sizes are from 1, and operands from the registers."""


@dataclass(frozen=True)
class Application:
    """A rewrite of a Spec, to describe it: the Specs it leaves, the goal's names of operands."""

    spec: Spec
    holes: Sequence[Spec]
    names: Mapping[str, str]

    def name(self, operand: str) -> str:
        """The goal's name for an operand of the operation."""
        return self.names.get(operand, operand)


@dataclass(frozen=True)
class Rewrite(ABC):
    """A rewrite as data: Spec -> part of a program, with smaller Specs left to do.

    One definition serves search, scheduling by hand, and replay. `name` is what it is called in
    JSON and as a method of `Schedule`; the search alone uses those that have none. `lowers` says
    which part of a Spec's rank it lowers.
    """

    name: ClassVar[str] = ""
    lowers: ClassVar[Rank] = Rank.EXTENT

    @abstractmethod
    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        """The conditions to apply it; the first that fails gives the reason it does not apply."""

    @abstractmethod
    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        """Its edges for a batch of which every row meets the conditions."""

    def concrete(self, spec: Spec) -> Rewrite:
        """The rewrite with everything that depends on the Spec filled in."""
        return self

    def relaxed(self, *, kept: Kept) -> Rewrite:
        """The rewrite with the ideal layout in place of its own.

        No programs cost less. Neighbours that are `kept` are along the same dimension.
        """
        return self

    @classmethod
    def successors(cls, primitive: Primitive) -> Sequence[Primitive]:
        """The other primitives whose operations it leaves, given an operation of a primitive.

        A rewrite that lowers `Rank.OPERATION` says so here; there must be no cycles.
        """
        return ()

    @property
    def silent(self) -> bool:
        """Whether the rewrite only says where operands are, so that no code is generated for it."""
        return False

    # ---- as data and as text

    def data(self) -> dict[str, Any]:
        """The rewrite as JSON-able data, `name` first; fields that are as by default are left out.

        `impl.saved` reads it back.
        """
        given = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        changed = {k: _encoded(value) for k, (value, default) in given.items() if value != default}
        return {"name": self.name} | changed

    def __str__(self) -> str:
        values = (str(getattr(self, f.name)) for f in fields(self))
        return f"{self.name}({', '.join(values)})"

    style: ClassVar[str] = "move"
    """How a listing of the program colours it: as a "loop", a "move" or a "kernel"."""
    indents: ClassVar[tuple[str, ...]] = ("in", "out", "fill", "step")
    """The roles of children that a listing indents below it."""

    def words(self, applied: Application) -> str:
        """A description, in a few words, for a listing of the program."""
        return str(self)

    def heading(self, role: str, applied: Application) -> str:
        """The line above a child with this role; none, if empty."""
        return ""

    def trait(self, spec: Spec) -> str:
        """Its part of the structure of a program (see `search.structure`); empty if it has none."""
        return f"{spec.operation} {self}"


def _encoded(value: Any) -> Any:
    """A field of a rewrite as JSON-able data."""
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    return value if isinstance(value, int | str) else str(value)


def expand(rewrite: Rewrite, batch: Batch, target: Target) -> Iterator[Edges]:
    """Apply a rewrite to every row of a batch where it applies."""
    holds: Bools | None = None
    for condition in rewrite.conditions(batch, target):
        holds = condition.holds if holds is None else holds & condition.holds
        if not any_row(holds):
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
    """A Spec left to do, how many times it runs, its role and tensors (see `Child`)."""

    spec: Spec
    times: int
    role: str
    tensors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """A rewrite applied to one Spec: its own cost and allocation, and the Specs left to do."""

    cost: float
    allocation: Mapping[int, int]
    holes: tuple[Hole, ...]


class _Interned(threading.local):
    """The placements of the Specs that this thread rewrote lately.

    To intern them anew, and to work out their tiles, would take longer than to rewrite a Spec.
    """

    def __init__(self) -> None:
        self._known = Placements()

    @property
    def placements(self) -> Placements:
        """The known placements, emptied once they are many: each new one takes longer."""
        if len(self._known.placements) > MOST_INTERNED:
            self._known = Placements()
        return self._known


_interned = _Interned()


@lru_cache(REMEMBERED)
def apply(rewrite: Rewrite, spec: Spec, target: Target) -> Step:
    """Apply a rewrite to one Spec; raises `RewriteError` with the reason if it does not apply."""
    batch = Batch.of([spec], _interned.placements)
    for condition in rewrite.conditions(batch, target):
        if not condition.holds[0]:
            raise RewriteError(f"{rewrite} does not apply to {spec}: {condition.reason}.")
    (edges,) = rewrite.edges(batch, target)
    return Step(
        float(np.asarray(edges.cost).item()),
        {level: int(np.asarray(n).item()) for level, n in edges.allocation.items()},
        tuple(
            Hole(
                child.batch.spec(),
                int(np.asarray(child.times).item()),
                child.role,
                child.tensors,
            )
            for child in edges.children
        ),
    )


def in_words(rewrite: Rewrite, spec: Spec, goal: Spec, target: Target) -> str:
    """A rewrite of a Spec, which is part of a goal, in the words of program listings."""
    holes = [hole.spec for hole in apply(rewrite, spec, target).holes]
    return rewrite.words(Application(spec, holes, goal.names_in(spec.operation)))


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


def everywhere(batch: Batch, value: bool) -> Bools:
    """The column of a condition that does not depend on the row."""
    return np.full(len(batch), value)
