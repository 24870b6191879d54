"""An admissible lower bound: the optimum of the relaxed space, by sizes and levels."""

from __future__ import annotations

import numpy as np

from morello.ir.batch import Batch
from morello.ir.forms import Ints
from morello.ir.operation import Operation
from morello.ir.spec import Spec
from morello.search import engine
from morello.search.graph import Floats, Space, build
from morello.search.sizes import Sizes
from morello.targets.target import Target


class Bound:
    """For every Spec, a cost that no program of it undercuts.

    What the relaxed space cannot do at all has an infinite bound.
    """

    def __init__(self, goal: Spec, target: Target, sizes: Sizes) -> None:
        self._sizes = sizes
        self._levels = len(target.levels)
        self.graph = build(Space(goal, target, sizes, relaxed=True))
        low = self.graph.bounds()[3]
        self._tables: dict[Operation, Floats] = {}
        for index, family in enumerate(self.graph.space.families):
            nodes = np.flatnonzero(self.graph.families == index)
            batch = self.graph.space.batch(index, self.graph.keys[nodes])
            table = np.full(self._room(family.operation), engine.INFINITE)
            np.minimum.at(table, self._place(batch), low[nodes])
            self._tables[family.operation] = table

    def __call__(self, batch: Batch) -> Floats:
        table = self._tables.get(batch.operation)
        if table is None:
            return np.full(len(batch), engine.INFINITE)
        result: Floats = table[self._place(batch)]
        return result

    def _room(self, operation: Operation) -> int:
        return int(
            len(self._sizes.values) ** len(operation.dims) * self._levels ** len(operation.operands)
        )

    def _place(self, batch: Batch) -> Ints:
        place = np.zeros(len(batch), np.int64)
        for size in batch.sizes:
            place = place * len(self._sizes.values) + self._sizes.index[size]
        for level in batch.levels:
            place = place * self._levels + level
        return place
