"""The Specs that are reached in a space, as nodes of a graph."""

from __future__ import annotations

import numpy as np

from morello import engine
from morello.engine.columns import Columns
from morello.engine.tape import Recorded
from morello.ir.placements import Ints
from morello.native.loops import address
from morello.search.traces import KIND_NUMBERS
from morello.space.space import Space


class Reaching:
    """Finds the nodes of Specs; a new one is a row of `nodes`, with its kind and key."""

    def __init__(self, space: Space, nodes: Columns) -> None:
        self._space, self._reached = space, engine.Reached(nodes)
        self._numbers: Ints = np.empty(0, np.int16)  # in the space, of kinds with shared numbers
        self._keys: Ints = np.empty(0, np.int64)  # the addresses of the kinds' keys

    def specs(self, kind: int, keys: Ints) -> Ints:
        """The nodes of Specs of a kind; some may be new."""
        return self._reached.keys(kind, keys)

    def children(self, recorded: Recorded, limit: int) -> tuple[engine.RecordedEdges, Ints]:
        """The edges of rules, and the nodes of all children, some of which may be new.

        They are -1 for children of edges that exceed a limit. Kinds have the numbers that they
        share with other spaces. Raises `SearchError` if there are too many layouts or sizes.
        """
        edges, packing = engine.RecordedEdges(recorded), self._space.limits.packing
        counts = self._by_kind(edges, limit)
        reached = [
            (self._space.encodings[kind], count)
            for kind, count in enumerate(counts.tolist())
            if count
        ]
        for encoding, count in reached:
            encoding.make_room(count, self._space.placements)
        child = self._reached.children(edges, limit, packing, self._numbers, self._keys, counts)
        for encoding, _ in reached:
            encoding.check()
        return edges, child

    def _by_kind(self, edges: engine.RecordedEdges, limit: int) -> Ints:
        """How many children the edges that fit have of each kind; numbers kinds that are new."""
        space, packing = self._space, self._space.limits.packing
        missing = len(KIND_NUMBERS.kinds) - len(self._numbers)
        if missing > 0:
            self._numbers = np.concatenate([self._numbers, np.full(missing, -1, np.int16)])
        while True:
            encodings = space.encodings
            counts, unknown = edges.by_kind(limit, packing, self._numbers, len(encodings))
            if unknown < 0:
                break
            self._numbers[unknown] = space.number(KIND_NUMBERS.kinds[unknown])
        if len(self._keys) < len(encodings):
            self._keys = np.array([address(each.spec_keys.record) for each in encodings], np.int64)
        return counts
