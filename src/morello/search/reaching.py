"""The Specs that are reached in a space, as nodes of a graph."""

from __future__ import annotations

import numpy as np

from morello import engine
from morello.engine.columns import Columns
from morello.ir.placements import Bools, Ints
from morello.native.loops import address
from morello.search.traces import KIND_NUMBERS
from morello.space.encoding import FEWEST_LAYOUTS, SpecEncoding
from morello.space.space import Space


class Reaching:
    """Finds the nodes of Specs; a new one is a row of `nodes`, with its kind and key."""

    def __init__(self, space: Space, nodes: Columns) -> None:
        self._space, self._reached = space, engine.Reached(nodes)
        self._numbers: Ints = np.empty(0, np.int16)  # in the space, of kinds with shared numbers
        self._keys: Ints = np.empty(0, np.int64)  # the addresses of the kinds' keys
        self._kinds: Bools = np.empty(0, np.bool_)
        self._crowded: list[SpecEncoding] = []  # those whose numbers may not suffice

    @property
    def kind_count(self) -> int:
        """The number of kinds that were reached."""
        return int(np.count_nonzero(self._kinds))

    def specs(self, kind: int, keys: Ints) -> Ints:
        """The nodes of Specs of a kind; some may be new."""
        self._meet_kinds()
        self._kinds[kind] = True
        return self._reached.keys(kind, keys)

    def children(self, edges: engine.RecordedEdges, limit: int) -> Ints:
        """The nodes of the children of rules' edges, some of which may be new.

        They are -1 for children of edges that exceed a limit. Kinds have the numbers that they
        share with other spaces. Raises `SearchError` if there are too many layouts or sizes.
        """
        space, packing = self._space, self._space.limits.packing
        self._meet_kinds()
        while True:
            counts = np.zeros(len(self._keys), np.int32)
            child, lacking = self._reached.children(
                edges, limit, packing, self._numbers, self._keys, counts
            )
            if lacking >= 0:
                self._numbers[lacking] = space.number(KIND_NUMBERS.kinds[lacking])
                self._meet_kinds()
            elif lacking == engine.NO_ROOM:
                self._make_room(counts)
            else:
                break
        self._kinds |= counts > 0
        for encoding in self._crowded:
            encoding.check()
        if len(space.placements.placements) > FEWEST_LAYOUTS:
            for kind in counts.nonzero()[0].tolist():
                space.encodings[kind].check_layouts(space.placements)
        return child

    def _meet_kinds(self) -> None:
        """Take over what is new about kinds."""
        missing = len(KIND_NUMBERS.kinds) - len(self._numbers)
        if missing > 0:
            self._numbers = np.append(self._numbers, np.full(missing, -1, np.int16))
        new = self._space.encodings[len(self._keys) :]
        if new:
            places = np.array([address(each.spec_keys.record) for each in new], np.int64)
            self._keys = np.append(self._keys, places)
            self._kinds = np.append(self._kinds, np.zeros(len(new), np.bool_))

    def _make_room(self, counts: Ints) -> None:
        """Make room for the keys of so many children of each kind."""
        for kind in counts.nonzero()[0].tolist():
            encoding = self._space.encodings[kind]
            if encoding.make_room(int(counts[kind])) and encoding not in self._crowded:
                self._crowded.append(encoding)
