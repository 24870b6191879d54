"""A graph of Specs and rewrites that grows where a best-first search wants it to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello import engine
from morello.engine.arrays import INFINITE
from morello.engine.columns import Column
from morello.engine.keys import Numbering
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints
from morello.memo.answers import MemoizedAnswers
from morello.rewrites import Rewrite
from morello.search.budget import Progress
from morello.search.graph import CHOICE, Dropped, Floats, Nodes, SearchGraph, rewrite_of
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import EdgeColumns, Rewriter, Specs, edge_of_slots
from morello.space.encoding import SpecEncoding
from morello.space.ranks import common_rank
from morello.space.space import Space
from morello.targets.target import Target

_WEIGHT_BITS, _EXTENT_BITS = 20, 16

_VALUES: dict[str, tuple[npt.DTypeLike, float | None]] = {
    "limit": (np.int64, -1), "low": (np.float64, None), "low_edge": (np.int32, -1),
    "low_peak": (np.int64, 0), "complete": (np.bool_, False), "high": (np.float64, INFINITE),
    "high_edge": (np.int32, -1), "high_peak": (np.int64, 0), "estimate": (np.float64, None),
    "settled": (np.bool_, False), "cutoff": (np.float64, -1.0), "away": (np.float64, INFINITE),
    "stale": (np.int8, 2),
}  # fmt: skip
"""The dtypes of `engine.Values`, and the values of new nodes; None is for their lower bounds."""

_EDGES = {
    "parent": np.int32, "rule": np.uint8, "arity": np.uint8, "own": np.float64,
    "allocation": np.int64, "times": np.int32,
}  # fmt: skip
"""The dtypes of `EdgeColumns`."""


class _Reached:
    """The Specs of a kind that were reached: their numbers in it, and the nodes by number."""

    def __init__(self, encoding: SpecEncoding) -> None:
        self.encoding = encoding
        self.keys, self.nodes = Numbering(), Column(np.int32)
        parallel, weight, single, overwrites = map(int, common_rank(encoding.kind))
        rank = ((parallel << _WEIGHT_BITS | weight) << 1 | single) << 1 | overwrites
        self._rank = rank << _EXTENT_BITS

    def ranks(self, keys: Ints, target: Target) -> Ints:
        """The ranks of Specs as integers."""
        return self._rank + self.encoding.extents(keys, target)


class Snapshot(NamedTuple):
    """A part of a growing graph at one time, in the order of its ranks.

    `nodes` are the numbers that its nodes have in the growing graph. After its first `known`
    edges follow those that stand for edges which are not known yet.
    """

    graph: SearchGraph
    nodes: Ints
    known: int


class GrowingGraph:
    """Specs that were reached from goals, with some of their rewrites.

    The `roots` are the nodes of the goals. That of a goal of several Specs has an edge to each. Of
    each node, the rewrites
    were `applied` whose lower bounds are at most so much; the others cost at least `rest`.
    """

    def __init__(self, space: Space, bound: RelaxedBound, progress: Progress | None) -> None:
        self.space, self.bound, self.progress = space, bound, progress
        self.packing = space.limits.packing
        self._rewriter = Rewriter(space, None)
        self._reached: dict[int, _Reached] = {}
        self._kind, self._key, self._rank = Column(np.int16), Column(np.int64), Column(np.int64)
        self._bound, self._rest, self._applied = (Column(np.float64) for _ in range(3))
        self._last, self._last_use = Column(np.int32), Column(np.int32)
        self._grown = Column(np.bool_)
        self._values = {name: Column(dtype) for name, (dtype, _) in _VALUES.items()}
        self._edges = {name: Column(dtype) for name, dtype in _EDGES.items()}
        self._following, self._first_child = Column(np.int32), Column(np.int32)
        self._first_child.append(0, 1)
        self._child, self._following_use = Column(np.int32), Column(np.int32)
        self._user = Column(np.int32)
        self._order: Ints = np.empty(0, np.int32)
        self._new: list[Ints] = []
        self.roots = np.array([self._begin(goal) for goal in space.goal_batches()])
        self.limit = space.limits.pack(space.target.limits)
        values = self.values
        values.limit[self.roots], values.stale[self.roots] = self.limit, 2
        self._grown.now[self.roots] = True

    def _begin(self, goal: Batch) -> int:
        """The node of a goal; if that has several Specs, one that stands for any of them."""
        kind, keys = self.space.kind_number(goal), self.space.encoding(goal).keys(goal)
        if len(goal) == 1:
            return int(self._reach(kind, keys)[0])
        above = self._reached_of(kind)
        bound = self.bound.of(above.encoding, keys, self.space.placements)
        rank = above.ranks(keys, self.space.target)
        none, least = np.zeros(1, np.int64), bound.min(keepdims=True)
        root = self._new_nodes(CHOICE, none, least, rank[:1] + 1)
        self._rest.now[root] = INFINITE
        number: Any = np.arange(len(goal), dtype=np.uint8)
        ones = np.ones(len(goal), np.int32)
        nothing = self.space.limits.column({}, len(goal))
        free = np.zeros(len(goal))
        edges = EdgeColumns(ones * root, number, ones.astype(np.uint8), free, nothing, ones)
        self._add(edges, [(kind, keys, number)])
        return int(root[0])

    # ---- size

    @property
    def node_count(self) -> int:
        """The number of Specs that were reached."""
        return len(self._kind)

    @property
    def kind_count(self) -> int:
        """The number of kinds of Specs that were reached."""
        return len(self._reached)

    @property
    def expanded(self) -> int:
        """The number of Specs to which rewrites were applied."""
        return int(np.count_nonzero(self._applied.now >= 0))

    @property
    def edge_count(self) -> int:
        """The number of rewrites that are known."""
        return len(self._following)

    def expanded_specs(self) -> Iterator[Batch]:
        """The Specs to which rewrites were applied, one kind after another."""
        for reached in self._reached.values():
            nodes = reached.nodes.now
            keys = self._key.now[nodes[self._applied.now[nodes] >= 0]]
            if len(keys):
                yield reached.encoding.batch(keys, self.space.placements)

    def check(self) -> None:
        """Report progress; raises `BudgetError` once the budget is used up."""
        if self.progress is not None:
            self.progress(self.node_count, self.edge_count)

    # ---- growing

    def expand(self, nodes: Ints, upto: Floats) -> None:
        """Apply more rewrites to distinct nodes: those whose lower bounds are at most `upto`."""
        kinds = self._kind.now[nodes]
        for kind in np.unique(kinds).tolist():
            here = np.flatnonzero(kinds == kind)
            self._expand(kind, nodes[here], upto[here])

    def _expand(self, kind: int, nodes: Ints, upto: Floats) -> None:
        self.check()
        encoding = self._reached[kind].encoding
        keys = self._key.now[nodes]
        rewrites = self.space.rewrites(encoding.kind)
        allowed, beyond = self.bound.between(
            encoding, keys, self._applied.now[nodes], upto, rewrites
        )
        limits = np.full(len(nodes), self.limit)
        specs = Specs(keys, nodes, limits, np.full(len(nodes), np.inf))
        applied = list(self._rewriter.apply_rules(kind, specs, allowed))
        self._applied.now[nodes] = upto
        self._rest.now[nodes] = np.maximum(beyond, self._rest.now[nodes])
        self.values.stale[nodes], self._grown.now[nodes] = 2, True
        for each in applied:
            self._add(each.edges, each.children)

    def _add(self, edges: EdgeColumns, children: Sequence[tuple[int, Ints, Ints]]) -> None:
        """Add edges, and reach the Specs that they lead to (see `Applied`)."""
        child = np.empty(len(edges.times), np.int32)
        for kind, keys, slots in children:
            child[slots] = self._reach(kind, keys)
        # not the values so far, which may be infinite for lack of memory
        bounds = edges.times * self._bound.now[child]
        bounds = edges.own + np.bincount(edge_of_slots(edges.arity), bounds, len(edges.own))
        possible: Bools = bounds < INFINITE
        child, edges = child[possible[edge_of_slots(edges.arity)]], edges.of(possible)
        count, uses = len(edges.parent), len(child)
        first, first_use = len(self._following), len(self._child)
        ends = self._first_child.now[-1] + np.cumsum(edges.arity, dtype=np.int32)
        user = edges.parent[edge_of_slots(edges.arity)]
        for name, column in edges._asdict().items():
            self._edges[name].append(column, len(column))
        self._following.append(-1, count)
        self._first_child.append(ends, count)
        self._child.append(child, uses)
        self._user.append(user, uses)
        self._following_use.append(-1, uses)
        engine.chain(edges.parent, first, self._last.room, self._following.room)
        engine.chain(child, first_use, self._last_use.room, self._following_use.room)

    def _reach(self, kind: int, keys: Ints) -> Ints:
        """The nodes of Specs of a kind; some may be new."""
        reached = self._reached_of(kind)
        before = len(reached.keys.values)
        numbers = reached.keys.numbers(keys)
        count = len(reached.keys.values) - before
        if count:
            rows = np.flatnonzero(numbers >= before)[::-1]
            first = np.empty(count, np.int64)
            first[numbers[rows] - before] = rows  # the last to be written is the first row
            new, target = keys[first], self.space.target
            bound = self.bound.of(reached.encoding, new, self.space.placements)
            nodes = self._new_nodes(kind, new, bound, reached.ranks(new, target))
            reached.nodes.append(nodes, count)
        result: Ints = reached.nodes.now[numbers]
        return result

    def _reached_of(self, kind: int) -> _Reached:
        if kind not in self._reached:
            self._reached[kind] = _Reached(self.space.encodings[kind])
        return self._reached[kind]

    def _new_nodes(self, kind: int, keys: Ints, bound: Floats, rank: Ints) -> Ints:
        """Add nodes for new Specs of a kind."""
        count = len(keys)
        nodes = np.arange(self.node_count, self.node_count + count, dtype=np.int32)
        columns: list[tuple[Column, npt.ArrayLike]] = [
            (self._kind, kind), (self._key, keys), (self._rank, rank), (self._bound, bound),
            (self._rest, bound), (self._applied, -1.0), (self._last, -1), (self._last_use, -1),
            (self._grown, False),
        ]  # fmt: skip
        for column, values in columns:
            column.append(values, count)
        for name, (_, initial) in _VALUES.items():
            self._values[name].append(bound if initial is None else initial, count)
        self._new.append(nodes)
        return nodes

    # ---- values

    @property
    def values(self) -> engine.Values:
        """The values of all nodes; writing to them changes them."""
        return engine.Values(**{name: column.now for name, column in self._values.items()})

    @property
    def _edge_columns(self) -> EdgeColumns:
        return EdgeColumns(**{name: column.now for name, column in self._edges.items()})

    @property
    def _growing(self) -> engine.Growing:
        columns = self._edge_columns
        edges = engine.Hypergraph(
            columns.parent, columns.rule, columns.own, columns.allocation, self._first_child.now,
            self._child.now, columns.times,
        )  # fmt: skip
        return engine.Growing(
            edges, self._rest.now, self._last.now, self._following.now, self._last_use.now,
            self._following_use.now, self._user.now,
        )  # fmt: skip

    def reweigh(self) -> None:
        """Have all values computed anew, as the weight of what is not known changed."""
        self.values.stale[:] = 2

    def evaluate(self, weight: float) -> engine.Values:
        """Bring the values of all nodes near the best program up to date."""
        if self._new:
            new, rank = np.concatenate(self._new), self._rank.now
            self._new.clear()
            new = new[np.argsort(-rank[new], kind="stable")]
            self._order = engine.by_falling_rank(self._order, new, rank)
        graph, values = self._growing, self.values
        engine.pass_memory_on(graph, self._order, self._grown.now, values, self.packing)
        engine.evaluate(graph, self._order, values, weight, self.packing)
        return values

    def open_nodes(
        self, roots: Ints, uppers: Floats, farthest: float, weight: float
    ) -> tuple[Ints, Floats]:
        """The nodes with edges to look for, and their distances; see `engine.open_nodes`."""
        nodes, distances = engine.open_nodes(
            self._growing, self._order, self.values, roots, uppers, farthest, weight, self.packing
        )
        return nodes, distances

    def rest(self, nodes: Ints) -> Floats:
        """Lower bounds on the costs of the edges of nodes that are not known."""
        result: Floats = self._rest.now[nodes]
        return result

    # ---- programs

    def decisions(self, root: int) -> list[Rewrite]:
        """The rewrites of the cheapest program of a root that is known, in pre-order."""
        rewrites, todo = [], [root]
        choice, rules = self.values.high_edge, self._edge_columns.rule
        while todo:
            node = todo.pop()
            edge = int(choice[node])
            kind, key = int(self._kind.now[node]), int(self._key.now[node])
            rewrites.append(rewrite_of(self.space, kind, key, int(rules[edge])))
            first, last = self._first_child.now[edge : edge + 2].tolist()
            todo += self._child.now[first:last][::-1].tolist()
        return rewrites

    def snapshot(self, root: int, upper: float, *, optimistic: bool) -> Snapshot:
        """The subgraph, as it is now, of the edges that a program of a root may use.

        That program costs at most `upper`.

        If it is `optimistic`, each node that has edges which are not known has one more that
        needs no memory and costs as little as these may.
        """
        values = self.values
        within = engine.edges_within(self._growing, self._order, values, root, upper, self.packing)
        order = self._order[values.cutoff[self._order] >= 0]
        position = np.full(self.node_count, -1, np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        edges, slots = self._some_edges(within.nonzero()[0])
        edges = edges._replace(parent=position[edges.parent])
        known = len(edges.parent)
        if optimistic:
            edges = EdgeColumns.concatenate([edges, self._unknown(order)])
        nodes = Nodes(
            self._kind.now[order], self._key.now[order], values.limit[order], values.cutoff[order]
        )
        graph = SearchGraph(
            space=self.space,
            nodes=nodes,
            edges=edges.hypergraph(position[self._child.now[slots]]),
            waves=len(np.unique(self._rank.now[order])),
            roots=np.zeros(1, np.int32),
            dropped=self._dropped(position),
            memoized=MemoizedAnswers.nothing(len(order)),
        )
        return Snapshot(graph, order, known)

    def _some_edges(self, chosen: Ints) -> tuple[EdgeColumns, Ints]:
        """Some of the edges, and the numbers of their slots."""
        arity = self._edges["arity"].now[chosen]
        ends = np.cumsum(arity, dtype=np.int32)
        offset = self._first_child.now[chosen] + arity - ends
        slots = np.repeat(offset, arity) + np.arange(len(offset) and ends[-1], dtype=np.int32)
        rows = {name: slots if name == "times" else chosen for name in self._edges}
        columns = {name: column.now[rows[name]] for name, column in self._edges.items()}
        return EdgeColumns(**columns), slots

    def _dropped(self, position: Ints) -> Dropped:
        """The edges that exceed the limits of nodes, by their positions, which are -1 for some."""
        columns = self._edge_columns
        left = self.values.limit[columns.parent]
        fitting: Bools = np.asarray(self.space.limits.fits(columns.allocation, left))
        beyond: Bools = (left >= 0) & ~fitting
        edges = Dropped(columns.parent[beyond], columns.rule[beyond], columns.own[beyond])
        dropped = Dropped.concatenate([*self._rewriter.dropped, edges])
        parent = position[dropped.parent]
        here = parent >= 0
        return Dropped(parent[here], dropped.rule[here], dropped.bound[here])

    def _unknown(self, order: Ints) -> EdgeColumns:
        """Edges that stand for those of some nodes which are not known, with their positions."""
        position = np.flatnonzero(self._rest.now[order] < INFINITE).astype(np.int32)
        none: Any = np.zeros(len(position), np.uint8)
        return EdgeColumns(
            position, none, none, self._rest.now[order[position]], none.astype(np.int64),
            np.empty(0, np.int32),
        )  # fmt: skip
