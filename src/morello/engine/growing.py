"""The columns of a graph that a best-first search is growing, and appending to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from morello.engine.arrays import INFINITE, Floats, Ints
from morello.engine.best_first import Growing, Values
from morello.engine.columns import Columns
from morello.engine.hypergraph import Hypergraph
from morello.engine.keys import Keys
from morello.engine.limits import LimitPacking
from morello.engine.loops import LOOPS
from morello.engine.recorded import RecordedEdges
from morello.native.loops import address

_NODES: dict[str, npt.DTypeLike] = {
    "kind": np.int16, "key": np.int64, "rank": np.int64, "bound": np.float64, "rest": np.float64,
    "applied": np.float64, "group": np.int32, "last": np.int32, "last_use": np.int32,
    "grown": np.bool_,
}  # fmt: skip
_VALUES: dict[str, npt.DTypeLike] = {
    "limit": np.int64, "low": np.float64, "low_edge": np.int32, "low_peak": np.int64,
    "complete": np.bool_, "high": np.float64, "high_edge": np.int32, "high_peak": np.int64,
    "estimate": np.float64, "settled": np.bool_, "cutoff": np.float64, "away": np.float64,
    "stale": np.int8,
}  # fmt: skip
_EDGES: dict[str, npt.DTypeLike] = {
    "parent": np.int32, "rule": np.uint8, "arity": np.uint8, "own": np.float64,
    "allocation": np.int64, "following": np.int32,
}  # fmt: skip
_USES = dict.fromkeys(("child", "times", "user", "following"), np.int32)


class PositionBounds(NamedTuple):
    """The bounds of a kind's Specs, by their positions.

    A position is the key of a Spec's sizes and levels. Slots are as in `minima`, which gives a
    row. The rewrites of a row's Specs are the group of number `first_group + row`, and its bound
    is that of the cheapest. Where something else is `known` of some operands, as bits, there is a
    row for each position that has that, too.
    """

    keys: Keys
    slots: Ints
    positions: Ints
    bounds: Floats
    known: Ints
    first_group: int


class KindOfNodes:
    """A kind of Specs: their keys, of which the first columns are sizes, then levels.

    Their ranks are at least `rank`.
    """

    def __init__(
        self, keys: Keys, sizes: int, levels: int, rank: int, bounds: PositionBounds | None
    ) -> None:
        self._kept = keys, bounds
        table = [0] * 6
        if bounds is not None:
            slots, *columns = bounds[1:5]
            table = [address(slots), len(slots), *map(address, columns), bounds.first_group]
        self.record = np.array(
            [
                address(keys.record), 0 if bounds is None else address(bounds.keys.record),
                sizes, levels, rank, *table,
            ],
            np.int64,
        )  # fmt: skip
        """The struct `KindOfNodes` of growing.c."""


class GrowingColumns:
    """The nodes and edges of a graph; the rows of new nodes are to be begun.

    By node: its `kind`, `key` and `rank`; its `bound`, and the `group` of its rewrites, or -1 (see
    `PositionBounds`); up to which bound its rewrites were `applied`, and what the others cost at
    least, `rest`; and whether its memory has `grown` (see `pass_memory_on`). Those that were begun
    have `values`.
    """

    def __init__(self) -> None:
        self.nodes, self._values = Columns(_NODES, "NodeRoom"), Columns(_VALUES, "Values")
        self.edges, self.uses = Columns(_EDGES, "EdgeRoom"), Columns(_USES, "UseRoom")
        self._first_use = Columns({"of": np.int32})  # of each edge, and the end of the last one's
        self._first_use.room["of"][0] = 0
        self._first_use.lengthen(1)

    def begin(self, kinds: Ints, depths: Ints, registers: int, placed: Ints) -> None:
        """Begin all nodes that are new. `kinds` has the addresses of kinds' records.

        Each size lowers the rank of a Spec by its depth, and each level from `registers` downwards.
        By the code of an operand's placement, `placed` has what may be known of it in positions.
        """
        begun, count = len(self._values), len(self.nodes)
        if begun == count:
            return
        self._values.make_room(count - begun)
        LOOPS.begin_nodes(
            self.nodes.struct, self._values.struct, begun, count, kinds, depths, registers, placed
        )
        self._values.lengthen(count - begun)

    def begin_above(self, kind: int, nodes: Ints) -> int:
        """A node of another kind above some that were begun, of which it will have edges to each.

        There are no edges yet to these.
        """
        number, first = len(self.nodes), nodes[0]
        least = self.nodes["bound"][nodes].min()
        own = {
            "kind": kind, "key": 0, "rank": self.nodes["rank"][first] + 1, "group": -1,
            "bound": least, "low": least, "estimate": least, "rest": INFINITE, "last": -1,
            "last_use": -1,
        }  # fmt: skip
        for columns in self.nodes, self._values:
            columns.make_room(1)
            for name, column in columns.room.items():
                column[number] = own.get(name, column[first])
            columns.lengthen(1)
        return number

    def add(
        self, given: RecordedEdges, parents: Ints, child: Ints, limit: int, packing: LimitPacking
    ) -> None:
        """Append the edges of some nodes, by row, that fit a limit, and their children's nodes.

        Those that have a child without a program are left out.
        """
        edges, uses, first_use = self.edges, self.uses, self._first_use
        edges.make_room(given.edges)
        uses.make_room(given.children)
        first_use.make_room(given.edges)
        before = len(edges), len(uses)
        counts, ends = np.array(before, np.int64), first_use.room["of"][1 + before[0] :]
        LOOPS.add_edges(
            given.struct, parents, child, limit, packing, self.nodes.struct, edges.struct, ends,
            uses.struct, counts,
        )  # fmt: skip
        added, used = (counts - before).tolist()
        edges.lengthen(added)
        first_use.lengthen(added)
        uses.lengthen(used)

    @property
    def values(self) -> Values:
        """The values of all nodes that were begun; writing to them changes them."""
        return Values(*(self._values[name] for name in _VALUES))

    @property
    def growing(self) -> Growing:
        """The edges, and the lists of them."""
        nodes, edges, uses = self.nodes, self.edges, self.uses
        graph = Hypergraph(
            edges["parent"], edges["rule"], edges["own"], edges["allocation"],
            self._first_use["of"], uses["child"], uses["times"],
        )  # fmt: skip
        return Growing(
            graph, nodes["rest"], nodes["last"], edges["following"], nodes["last_use"],
            uses["following"], uses["user"],
        )  # fmt: skip
