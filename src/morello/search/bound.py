"""An admissible lower bound: the optimum of the relaxed space, by sizes and levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from morello.ir.batch import Batch
from morello.ir.forms import Ints
from morello.ir.spec import Spec
from morello.search import engine
from morello.search.family import Family
from morello.search.graph import Floats, GoalSizes, Space, build
from morello.targets.target import Target


@dataclass(frozen=True)
class _Table:
    """The bounds of a family's Specs, by their positions (see `Family.positions`)."""

    family: Family
    slots: Ints
    positions: Ints
    bounds: Floats


class Bound:
    """For every Spec, a cost that no program of it undercuts.

    What the relaxed space cannot do at all has an infinite bound.
    """

    def __init__(self, goal: Spec, target: Target, sizes: GoalSizes) -> None:
        self.graph = build(Space(goal, target, sizes, relaxed=True))
        low = self.graph.bounds()[3]
        self._tables: dict[tuple[object, ...], _Table] = {}
        for index, family in enumerate(self.graph.space.families):
            nodes = np.flatnonzero(self.graph.families == index)
            batch = family.batch(self.graph.keys[nodes], self.graph.space.forms)
            slots, positions, bounds = engine.least(family.positions(batch), low[nodes])
            kind = family.kind
            key = kind.operation, kind.dtypes, kind.parallel
            self._tables[key] = _Table(family, slots, positions, bounds)

    def __call__(self, batch: Batch) -> Floats:
        table = self._tables.get((batch.operation, batch.dtypes, batch.parallel))
        if table is None:
            return np.full(len(batch), engine.INFINITE)
        wanted = table.family.positions(batch)
        result: Floats = engine.look_up(wanted, table.slots, table.positions, table.bounds)
        return result
