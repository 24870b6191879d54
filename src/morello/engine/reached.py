"""Specs that were reached from others, which are the nodes of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from morello.engine.arrays import Ints
from morello.engine.columns import Columns
from morello.engine.hashing import empty_slots
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS
from morello.engine.tape import Recorded


class RecordedEdges:
    """Edges that a tape recorded, for loops over them: `edges`, with `children` in all."""

    def __init__(self, recorded: Recorded) -> None:
        self._kept = recorded
        self.edges, (self.children, width) = len(recorded.row), recorded.words.shape
        self.struct = LOOPS.struct("Edges", (*recorded[:8], self.edges, self.children, width))

    def by_kind(
        self, limit: int, packing: LimitPacking, numbers: Ints, kinds: int
    ) -> tuple[Ints, int]:
        """How many children the edges that fit a limit have, by kind.

        `numbers` has the numbers of the kinds in the edges, of which there are `kinds`. Gives also
        the first kind that has none, or -1: then the counts are not complete.
        """
        counts = np.zeros(kinds, np.int32)
        return counts, LOOPS.children_by_kind(self.struct, limit, packing, numbers, counts)


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
    ) -> Ints:  # fmt: skip
        """The nodes of the children of edges that fit a limit; -1 for those of others.

        Some nodes may be new: those of one kind come after those of another. `counts` has the
        children of each kind (see `RecordedEdges.by_kind`), and `keys` the addresses of their
        `Keys`, which have room for them.
        """
        starts, children = np.cumsum(counts, dtype=np.int32) - counts, edges.children
        nodes, child = self._room(children), np.empty(children, np.int32)
        count = LOOPS.reach(
            edges.struct, limit, packing, numbers, keys, starts, np.empty(children, np.int32),
            self._struct, nodes, child,
        )  # fmt: skip
        self.nodes.lengthen(count - nodes)
        return child

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
