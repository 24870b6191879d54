"""Specs that were reached from others, which are the nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.engine.arrays import Ints
from morello.engine.columns import Columns
from morello.engine.hashing import empty_slots
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS
from morello.engine.recorded import RecordedEdges

NO_ROOM = -2
"""As a kind: there is none without a number, but some keys lack room."""


class Reached:
    """The nodes of Specs, which are the numbers of kinds, and keys.

    `nodes` has a column for each first, and may have others.
    """

    def __init__(self, nodes: Columns) -> None:
        self.nodes = nodes
        self._slots = empty_slots(0)

    def keys(self, kind: int, keys: Ints) -> Ints:
        """The nodes of Specs of a kind; some may be new."""
        before, nodes = self._room(len(keys)), np.empty(len(keys), np.int32)
        count = LOOPS.reach_keys(self._struct, kind, keys, len(keys), before, nodes)
        self.nodes.lengthen(count - before)
        return nodes

    def children(
        self, edges: RecordedEdges, limit: int, packing: LimitPacking, numbers: Ints, keys: Ints,
        counts: Ints,
    ) -> tuple[Ints, int]:  # fmt: skip
        """The nodes of the children of edges that fit a limit; -1 for those of others.

        Some nodes may be new: those of one kind come after those of another. `numbers` has the
        numbers of the kinds in the edges, -1 for those that have none, and `keys` the addresses of
        the `Keys` of those that have. `counts` becomes the number of children by kind, 0 before.

        Gives also -1, or the first kind in the edges that has no number, or `NO_ROOM` if some keys
        have no room for the children of their kinds. Then no node is reached.
        """
        nodes, child = self._room(edges.children), np.empty(edges.children, np.int32)
        starts, order = np.empty_like(counts), np.empty(edges.children, np.int32)
        lacking = np.empty(1, np.int64)
        count = LOOPS.reach(
            edges.struct, limit, packing, numbers, keys, len(counts), counts, starts, order,
            self._struct, nodes, child, lacking,
        )  # fmt: skip
        self.nodes.lengthen(count - nodes)
        return child, int(lacking[0])

    @property
    def _struct(self) -> tuple[Any, ...]:
        room = self.nodes.room
        return self._slots, len(self._slots), room["kind"], room["key"]

    def _room(self, count: int) -> int:
        """Make room for so many more nodes; gives how many there are."""
        nodes = len(self.nodes)
        self.nodes.make_room(count)
        if 2 * (nodes + count) > len(self._slots):
            self._slots = empty_slots(2 * (nodes + count))
            LOOPS.fill_slots(self._struct, nodes)
        return nodes
