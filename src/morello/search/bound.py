"""An admissible lower bound: the optimum of the relaxed space, by sizes and levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.ir.batch import Batch
from morello.ir.forms import Ints
from morello.ir.spec import Spec
from morello.search import engine
from morello.search.budget import Progress
from morello.search.family import Family, Kind
from morello.search.graph import Floats, Space, build
from morello.search.memory import Memory
from morello.search.sizes import Sizes
from morello.targets.target import Target

_NEVER = 2 * engine.INFINITE
"""What a memory has as the cost of what cannot be done."""


@dataclass(frozen=True)
class _Table:
    """The bounds of a family's Specs, by their positions (see `Family.positions`)."""

    family: Family
    slots: Ints
    positions: Ints
    bounds: Floats
    sizes: int

    def __call__(self, batch: Batch) -> Floats:
        wanted = self.family.positions(batch)
        result: Floats = engine.look_up(wanted, self.slots, self.positions, self.bounds)
        return result


class Bound:
    """For every Spec, a cost that no program of it undercuts.

    What the relaxed space cannot do at all has an infinite bound. All that is reached from a
    Spec is noted with it, so that what a memory has of the goal is enough; what it lacks is
    worked out, and noted there. `specs` counts the relaxed Specs that this took. As pages of a
    memory may be damaged, what it says nothing of may cost nothing.
    """

    def __init__(
        self,
        goal: Spec,
        target: Target,
        sizes: Sizes,
        memory: Memory | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.space = Space(goal, target, sizes, relaxed=True)
        self.specs = 0
        self._memory = memory
        self._tables: dict[Kind, _Table] = {}
        start = self.space.goal_batch()
        if memory is None or not self._recalled(memory, start) < engine.INFINITE:
            self._memory = None
            self._work_out(memory, progress)

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

    def _work_out(self, memory: Memory | None, progress: Progress | None) -> None:
        graph = build(self.space, progress=progress)
        low = graph.bounds[3]
        self.specs = len(graph.keys)
        for index, family in enumerate(self.space.families):
            nodes = np.flatnonzero(graph.families == index)
            batch = family.batch(graph.keys[nodes], self.space.forms)
            positions = family.positions(batch)
            slots, unique, bounds = engine.least(positions, low[nodes])
            self._tables[family.kind] = _Table(family, slots, unique, bounds, family.size_count)
            if memory is not None and not family.kind.parallel:
                _, first = np.unique(positions, return_index=True)
                least = self._tables[family.kind](batch[first]).astype(np.float64)
                memory.add_relaxed(batch[first], np.where(least < engine.INFINITE, least, _NEVER))

    def _recalled(self, memory: Memory, batch: Batch) -> float:
        """What a memory has of one relaxed Spec."""
        table = self._load(memory, batch)
        return engine.INFINITE if table is None else float(table(batch)[0])

    def _load(self, memory: Memory, batch: Batch) -> _Table | None:
        """All that a memory has of a kind of relaxed Specs."""
        kind = Kind.of(batch)
        family = self.space.families[self.space.family(batch)]
        known = None if kind.parallel else memory.relaxed(kind, self.space.forms, family.most)
        if known is None:
            return None
        specs, bounds = known
        inside = family.has_sizes(specs)
        slots, unique, least = engine.least(family.positions(specs[inside]), bounds[inside])
        self._tables[kind] = _Table(family, slots, unique, least, family.size_count)
        return self._tables[kind]
