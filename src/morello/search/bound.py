"""An admissible lower bound: the optimum of the relaxed space, by sizes and levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.ir.spec import Spec
from morello.memo.memory import SpaceMemo
from morello.search import engine
from morello.search.budget import Progress
from morello.search.expansion import build
from morello.search.graph import Floats, Space
from morello.search.space.family import Kind, SpecEncoding
from morello.search.space.sizes import Sizes
from morello.targets.target import Target

_NEVER = 2 * engine.INFINITE
"""The bound a memory stores for Specs that have no program; `INFINITE` marks missing ones."""


@dataclass(frozen=True)
class _Table:
    """The bounds of a family's Specs, by their positions (see `SpecEncoding.positions`)."""

    family: SpecEncoding
    slots: Ints
    positions: Ints
    bounds: Floats
    sizes: int

    def __call__(self, batch: Batch) -> Floats:
        wanted = self.family.positions(batch)
        result: Floats = engine.look_up(wanted, self.slots, self.positions, self.bounds)
        return result


class Bound:
    """A lower bound on the cost of every program of a Spec.

    The bound is infinite for Specs that have no program in the relaxed space. Bounds are stored
    for all Specs reachable from a goal together: if the memory has the goal's, all are read from
    it; otherwise, all are computed and added to it. `specs` counts the relaxed Specs expanded for
    that. Pages of a memory may be damaged, so Specs missing from it get the bound 0.
    """

    def __init__(
        self,
        goal: Spec,
        target: Target,
        sizes: Sizes,
        memory: SpaceMemo | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.space = Space(goal, target, sizes, relaxed=True)
        self.specs = 0
        self._memory = memory
        self._tables: dict[Kind, _Table] = {}
        start = self.space.goal_batch()
        if memory is None or not self._stored(memory, start) < engine.INFINITE:
            self._memory = None
            self._compute(memory, progress)

    def __call__(self, batch: Batch) -> Floats:
        kind = Kind.of(batch)
        table = self._tables.get(kind)
        if self._memory is not None:
            family = self.space.families[self.space.family(batch)]
            family.positions(batch)  # numbers sizes that are new
            if table is None or table.sizes < family.size_count:
                table = self._load(self._memory, batch)
        result = np.full(len(batch), engine.INFINITE) if table is None else table(batch)
        return result if self._memory is None else np.where(result == engine.INFINITE, 0.0, result)

    def _compute(self, memory: SpaceMemo | None, progress: Progress | None) -> None:
        """Solve the relaxed space, and add the bounds to the memory."""
        graph = build(self.space, progress=progress)
        low = graph.bounds.low
        self.specs = len(graph.keys)
        for index, family in enumerate(self.space.families):
            nodes = np.flatnonzero(graph.families == index)
            batch = family.batch(graph.keys[nodes], self.space.placements)
            positions = family.positions(batch)
            slots, unique, bounds = engine.least(positions, low[nodes])
            self._tables[family.kind] = _Table(family, slots, unique, bounds, family.size_count)
            if memory is not None and not family.kind.parallel:
                _, first = np.unique(positions, return_index=True)
                least = self._tables[family.kind](batch[first]).astype(np.float64)
                memory.add_relaxed(batch[first], np.where(least < engine.INFINITE, least, _NEVER))

    def _stored(self, memory: SpaceMemo, batch: Batch) -> float:
        """The bound that a memory has of one relaxed Spec, infinite if it has none."""
        table = self._load(memory, batch)
        return engine.INFINITE if table is None else float(table(batch)[0])

    def _load(self, memory: SpaceMemo, batch: Batch) -> _Table | None:
        """Load all bounds that a memory has of the relaxed Specs of a batch's kind."""
        kind = Kind.of(batch)
        family = self.space.families[self.space.family(batch)]
        known = None if kind.parallel else memory.relaxed(kind, self.space.placements, family.most)
        if known is None:
            return None
        specs, bounds = known
        inside = family.has_sizes(specs)
        slots, unique, least = engine.least(family.positions(specs[inside]), bounds[inside])
        self._tables[kind] = _Table(family, slots, unique, least, family.size_count)
        return self._tables[kind]
