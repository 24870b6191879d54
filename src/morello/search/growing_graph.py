"""A graph of Specs and rewrites that grows where a best-first search wants it to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from morello import engine
from morello.engine.arrays import INFINITE
from morello.engine.recorded import Recorded
from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.memo.answers import MemoizedAnswers
from morello.native.loops import address
from morello.rewrites import Rewrite
from morello.search.budget import Progress
from morello.search.graph import CHOICE, Dropped, Floats, Nodes, SearchGraph, rewrite_of
from morello.search.reaching import Reaching
from morello.search.relaxed_bound import RelaxedBound
from morello.search.rewriting import EdgeColumns
from morello.search.traced_rules import TracedRules
from morello.space.ranks import common_rank
from morello.space.space import Space

_WEIGHT_BITS, _EXTENT_BITS = 20, 16


class _Kind:
    """A kind of Specs: its rules, and the first values of its nodes."""

    def __init__(self, space: Space, number: int, bound: RelaxedBound) -> None:
        encoding = space.encodings[number]
        operation = encoding.kind.operation
        self.kind, self._space, self._number = encoding.kind, space, number
        parallel, weight, single, overwrites = map(int, common_rank(encoding.kind))
        rank = ((parallel << _WEIGHT_BITS | weight) << 1 | single) << 1 | overwrites
        self.nodes = engine.KindOfNodes(
            encoding.spec_keys, len(operation.dims), len(operation.operands),
            rank << _EXTENT_BITS, bound.positions(encoding.kind),
        )  # fmt: skip

    @cached_property
    def rules(self) -> TracedRules:
        """The rules that apply to the kind."""
        return TracedRules(self._space, self._number)

    @cached_property
    def rewrites(self) -> Sequence[Rewrite]:
        """The rewrite of each rule."""
        return self._space.rewrites(self.kind)


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
    each node, the rewrites were `applied` whose lower bounds are at most so much; the others cost
    at least `rest`.
    """

    def __init__(self, space: Space, bound: RelaxedBound, progress: Progress | None) -> None:
        self.space, self.bound, self.progress = space, bound, progress
        self.packing = space.limits.packing
        self.limit = space.limits.pack(space.target.limits)
        self._columns = engine.GrowingColumns()
        self._reaching = Reaching(space, self._columns.nodes)
        self._kinds: list[_Kind] = []
        self._records: Ints = np.empty(0, np.int64)  # the addresses of kinds' records
        self._order: Ints = np.empty(0, np.int32)
        self.roots = np.array([self._begin(goal) for goal in space.goal_batches()])
        values = self.values
        values.limit[self.roots], values.stale[self.roots] = self.limit, 2
        self._columns.nodes["grown"][self.roots] = True

    def _begin(self, goal: Batch) -> int:
        """The node of a goal: of its Spec, or one above those of several."""
        kind, keys = self.space.kind_number(goal), self.space.encoding(goal).keys(goal)
        nodes = self._reaching.specs(kind, keys)
        self._begin_new()
        if len(goal) == 1:
            return int(nodes[0])
        root, count = self._columns.begin_above(CHOICE, nodes), len(goal)
        ones, none = np.ones(count, np.int32), np.zeros(count, np.int32)
        number, nothing = np.arange(count).astype(np.uint8), self.space.limits.column({}, count)
        edges = Recorded(
            none, number, ones.astype(np.uint8), np.zeros(count), nothing, none.astype(np.int16),
            ones, np.zeros((count, 1), np.int64), none, none,
        )  # fmt: skip
        parents = np.array([root], np.int32)
        self._columns.add(engine.RecordedEdges.of(edges), parents, nodes, self.limit, self.packing)
        return root

    # ---- size

    @property
    def node_count(self) -> int:
        """The number of Specs that were reached."""
        return len(self._columns.nodes)

    @property
    def kind_count(self) -> int:
        """The number of kinds of Specs that were reached."""
        return self._reaching.kind_count

    @property
    def expanded(self) -> int:
        """The number of Specs to which rewrites were applied."""
        return int(np.count_nonzero(self._columns.nodes["applied"] >= 0))

    @property
    def edge_count(self) -> int:
        """The number of rewrites that are known."""
        return len(self._columns.edges)

    def expanded_specs(self) -> Iterator[tuple[Batch, Floats]]:
        """The Specs to which rewrites were applied, one kind after another.

        With lower bounds on their costs under the memory that is left for them here, infinite for
        those without programs.
        """
        nodes, low = self._columns.nodes, self.values.low
        expanded = np.flatnonzero(nodes["applied"] >= 0)
        keys, kinds = nodes["key"][expanded], nodes["kind"][expanded]
        least = np.where(low[expanded] < INFINITE, low[expanded], np.inf)
        for kind in np.unique(kinds).tolist():
            here, encoding = kinds == kind, self.space.encodings[kind]
            yield encoding.batch(keys[here], self.space.placements), least[here]

    def check(self) -> None:
        """Report progress; raises `BudgetError` once the budget is used up."""
        if self.progress is not None:
            self.progress(self.node_count, self.edge_count)

    # ---- growing

    def expand(self, nodes: Ints, upto: Floats) -> None:
        """Apply more rewrites to distinct nodes: those whose lower bounds are at most `upto`."""
        kinds = self._columns.nodes["kind"][nodes]
        for kind in np.unique(kinds).tolist():
            here = np.flatnonzero(kinds == kind)
            self._expand(self._kinds[kind], nodes[here], upto[here])

    def _expand(self, kind: _Kind, nodes: Ints, upto: Floats) -> None:
        self.check()
        columns = self._columns.nodes
        allowed, beyond = self.bound.between(
            kind.kind, columns["group"][nodes], columns["applied"][nodes], upto, kind.rewrites
        )
        edges = kind.rules.edges(columns["key"][nodes], allowed)
        columns["applied"][nodes] = upto
        columns["rest"][nodes] = np.maximum(beyond, columns["rest"][nodes])
        self.values.stale[nodes], columns["grown"][nodes] = 2, True
        if edges.edges:
            child = self._reaching.children(edges, self.limit)
            self._begin_new()
            self._columns.add(edges, nodes, child, self.limit, self.packing)

    def _begin_new(self) -> None:
        """Begin the nodes that were reached last."""
        space = self.space
        while len(self._kinds) < len(space.encodings):
            self._kinds.append(_Kind(space, len(self._kinds), self.bound))
            record = address(self._kinds[-1].nodes.record)
            self._records = np.append(self._records, np.int64(record))
        self._columns.begin(
            self._records, space.sizes.depths.values, space.target.registers,
            space.placements.neighbours,
        )  # fmt: skip

    # ---- values

    @property
    def values(self) -> engine.Values:
        """The values of all nodes; writing to them changes them."""
        return self._columns.values

    def reweigh(self) -> None:
        """Have all values computed anew, as the weight of what is not known changed."""
        self.values.stale[:] = 2

    def evaluate(self, weight: float) -> engine.Values:
        """Bring the values of all nodes near the best program up to date."""
        columns = self._columns
        rank, count = columns.nodes["rank"], len(self._order)
        if count < len(rank):
            new = np.arange(count, len(rank), dtype=np.int32)
            new = new[np.argsort(-rank[new], kind="stable")]
            self._order = engine.by_falling_rank(self._order, new, rank)
        graph, values, grown = columns.growing, columns.values, columns.nodes["grown"]
        engine.pass_memory_on(graph, self._order, grown, values, self.packing)
        engine.evaluate(graph, self._order, values, weight, self.packing)
        return values

    def open_nodes(
        self, roots: Ints, uppers: Floats, farthest: float, weight: float
    ) -> tuple[Ints, Floats]:
        """The nodes with edges to look for, and their distances; see `engine.open_nodes`."""
        nodes, distances = engine.open_nodes(
            self._columns.growing,
            self._order,
            self.values,
            roots,
            uppers,
            farthest,
            weight,
            self.packing,
        )
        return nodes, distances

    def rest(self, nodes: Ints) -> Floats:
        """Lower bounds on the costs of the edges of nodes that are not known."""
        result: Floats = self._columns.nodes["rest"][nodes]
        return result

    # ---- programs

    def decisions(self, root: int) -> list[Rewrite]:
        """The rewrites of the cheapest program of a root that is known, in pre-order."""
        rewrites, todo = [], [root]
        nodes, choice, rules = self._columns.nodes, self.values.high_edge, self._edges.rule
        graph = self._columns.growing.edges
        while todo:
            node = todo.pop()
            edge = int(choice[node])
            kind, key = int(nodes["kind"][node]), int(nodes["key"][node])
            rewrites.append(rewrite_of(self.space, kind, key, int(rules[edge])))
            first, last = graph.first_child[edge : edge + 2].tolist()
            todo += graph.child[first:last][::-1].tolist()
        return rewrites

    def snapshot(self, root: int, upper: float, weight: float = 0.0) -> Snapshot:
        """A snapshot of the edges that a root's programs of at most `upper` may use.

        With a `weight`, each node that has unknown edges has one more, which needs no memory and
        costs that times as much as these do at least.
        """
        values, columns = self.values, self._columns
        within = engine.edges_within(
            columns.growing, self._order, values, root, upper, self.packing
        )
        order = self._order[values.cutoff[self._order] >= 0]
        position = np.full(self.node_count, -1, np.int32)
        position[order] = np.arange(len(order), dtype=np.int32)
        edges, slots = self._some_edges(within.nonzero()[0])
        edges = edges._replace(parent=position[edges.parent])
        known = len(edges.parent)
        if weight:
            edges = EdgeColumns.concatenate([edges, self._unknown(order, weight)])
        nodes = Nodes(
            columns.nodes["kind"][order], columns.nodes["key"][order], values.limit[order],
            values.cutoff[order],
        )  # fmt: skip
        graph = SearchGraph(
            space=self.space,
            nodes=nodes,
            edges=edges.hypergraph(position[columns.uses["child"][slots]]),
            waves=len(np.unique(columns.nodes["rank"][order])),
            roots=np.zeros(1, np.int32),
            dropped=Dropped.nothing(),
            memoized=MemoizedAnswers.nothing(len(order)),
        )
        return Snapshot(graph, order, known)

    def _some_edges(self, chosen: Ints) -> tuple[EdgeColumns, Ints]:
        """Some of the edges, and the numbers of their slots."""
        edges, graph = self._edges, self._columns.growing.edges
        arity = edges.arity[chosen]
        ends = np.cumsum(arity, dtype=np.int32)
        offset = graph.first_child[chosen] + arity - ends
        slots = np.repeat(offset, arity) + np.arange(len(offset) and ends[-1], dtype=np.int32)
        some = EdgeColumns(
            edges.parent[chosen], edges.rule[chosen], arity, edges.own[chosen],
            edges.allocation[chosen], edges.times[slots],
        )  # fmt: skip
        return some, slots

    @property
    def _edges(self) -> EdgeColumns:
        edges, uses = self._columns.edges, self._columns.uses
        return EdgeColumns(
            edges["parent"], edges["rule"], edges["arity"], edges["own"], edges["allocation"],
            uses["times"],
        )  # fmt: skip

    def _unknown(self, order: Ints, weight: float) -> EdgeColumns:
        """One edge for each of some nodes with unknown edges, in place of these."""
        rest = self._columns.nodes["rest"][order]
        position = np.flatnonzero(rest < INFINITE).astype(np.int32)
        none: Any = np.zeros(len(position), np.uint8)
        return EdgeColumns(
            position, none, none, rest[position] * weight, none.astype(np.int64),
            np.empty(0, np.int32),
        )  # fmt: skip
