"""Expanding a goal into the graph of everything the rules can reach from it.

Specs are reached in waves of falling *rank*, which every rewrite lowers. So all parents of a
Spec are expanded before it, its duplicates are merged within a wave, and the numbers of the nodes
are a topological order.

A rewrite takes about as long for one Spec as for hundreds. So a wave applies only those rewrites
that lower nothing but the last part of the rank, the extent. All others wait until the Specs of
every extent have been reached, and are then applied to these at once.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from morello import engine
from morello.base import debug
from morello.base.errors import SearchError
from morello.engine.limits import Limits
from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.memo.answers import MemoizedAnswers
from morello.search.budget import Progress
from morello.search.graph import Dropped, Floats, Nodes, SearchGraph
from morello.search.rewriting import (
    MOST_ROWS,
    Applied,
    EdgeColumns,
    Pruning,
    Rewriter,
    Specs,
    edge_of_slots,
    show_wave,
)
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space

Memo = Callable[[Batch], MemoizedAnswers]
"""Gives the answers for a batch that are memoized."""


@dataclass(frozen=True)
class Start:
    """Specs to expand, the memory they may use, and the most they may cost."""

    batch: Batch
    limit: Ints
    cutoff: Floats


@dataclass
class _Pending:
    """Children waiting for their wave: keys, slots in the array of children, and labels.

    A Spec's node number is written to its slots. Its labels are its limit and its cutoff.
    """

    keys: list[Ints] = field(default_factory=list)
    slots: list[Ints] = field(default_factory=list)
    limits: list[Ints] = field(default_factory=list)
    cutoffs: list[Floats] = field(default_factory=list)

    def add(self, keys: Ints, slots: Ints, limits: Ints, cutoffs: Floats) -> None:
        self.keys.append(keys)
        self.slots.append(slots)
        self.limits.append(limits)
        self.cutoffs.append(cutoffs)

    def merge(self, limits: Limits) -> tuple[Ints, Ints, Ints, Floats]:
        result: tuple[Ints, Ints, Ints, Floats] = engine.merge(
            np.concatenate(self.keys),
            np.concatenate(self.limits),
            np.concatenate(self.cutoffs),
            limits.packing,
        )
        return result


def _narrowed(applied: list[Applied], width: int) -> list[Applied]:
    """Every Spec's `width` edges with the lowest bounds, the first rules among equals."""
    if not applied:
        return []
    parents = np.concatenate([each.edges.parent for each in applied])
    rules = np.concatenate([each.edges.rule for each in applied])
    bounds = np.concatenate([each.bounds for each in applied])
    order = np.lexsort((rules, bounds, parents))
    ordered = parents[order]
    first = np.searchsorted(ordered, ordered)
    keep = np.empty(len(parents), np.bool_)
    keep[order] = np.arange(len(parents)) - first < width
    ends = np.cumsum([len(each.edges.rule) for each in applied])
    parts = zip(applied, np.split(keep, ends[:-1]), strict=True)
    return [each.of(kept) for each, kept in parts if kept.any()]


class _Expansion:
    """The state of one expansion, wave by wave. Kinds are given by their numbers in the space."""

    def __init__(
        self,
        space: Space,
        pruning: Pruning | None,
        memo: Memo | None,
        progress: Progress | None,
    ) -> None:
        self.space, self.pruning, self.memo, self.progress = space, pruning, memo, progress
        self.waiting: dict[SpecRank, dict[int, _Pending]] = defaultdict(dict)
        self.deferred: dict[int, list[tuple[Ints, Ints, Ints, Floats]]] = defaultdict(list)
        self.unfinished: dict[int, list[Specs]] = defaultdict(list)
        self.nodes: list[Nodes] = []
        self.edges: list[EdgeColumns] = []
        self.resolved: list[tuple[Ints, Ints]] = []  # slots, and the nodes of their children
        self.rewriter = Rewriter(space, pruning)
        self.memoized: list[MemoizedAnswers] = []
        self.node_count = self.edge_count = self.slot_count = self.root_slots = 0

    def _check(self) -> None:
        if self.progress is not None:
            self.progress(self.node_count, self.edge_count)

    def run(self, starts: Sequence[Start]) -> SearchGraph:
        for start in starts:
            count = len(start.batch)
            slots = np.arange(self.slot_count, self.slot_count + count, dtype=np.int32)
            kind = self.space.kind_number(start.batch)
            keys = self.space.encodings[kind].keys(start.batch)
            self._defer(kind, keys, slots, start.limit, start.cutoff)
            self.slot_count += count
        self.root_slots = self.slot_count
        waves = 0
        self._queue(below=(np.inf,))
        while self.waiting:
            began, before = time.perf_counter(), (self.node_count, self.edge_count)
            rank = max(self.waiting)
            for kind, pending in self.waiting.pop(rank).items():
                self._wave(kind, pending)
            self._queue(below=rank)
            *common, _ = rank
            if not any(other[:-1] == tuple(common) for other in self.waiting):
                self._finish()
                self._queue(below=tuple(common))
            waves += 1
            if self.progress is not None and debug.shows("search"):
                specs, edges = self.node_count - before[0], self.edge_count - before[1]
                show_wave(
                    self.space, self._upper(), waves, specs, edges, time.perf_counter() - began
                )
        return self._graph(waves)

    def _upper(self) -> str:
        pruning = self.rewriter.pruning
        if pruning is None or pruning.upper == np.inf:
            return "any cost"
        return f"at most {pruning.upper:,.0f} cycles"

    def _defer(self, kind: int, keys: Ints, slots: Ints, limits: Ints, cutoffs: Floats) -> None:
        """Put Specs aside until the current wave, which reached them, is complete."""
        self.deferred[kind].append((keys, slots, limits, cutoffs))

    def _queue(self, below: SpecRank) -> None:
        """Move the deferred Specs to the waves of their ranks, all of which are below `below`."""
        for kind, parts in self.deferred.items():
            self._check()  # of memory, as the next lines copy the Specs
            columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
            keys, encoding = columns[0], self.space.encodings[kind]
            common = common_rank(encoding.kind)
            extents = encoding.extents(keys, self.space.target)
            if (*common, extents.max()) >= below:
                highest = keys[[int(extents.argmax())]]
                spec = encoding.batch(highest, self.space.placements).spec()
                raise SearchError(f"{spec} was reached from a Spec whose rank is not higher.")
            for extent in np.unique(extents).tolist():
                rows = (extents == extent).nonzero()[0]
                pending = self.waiting[*common, extent].setdefault(kind, _Pending())
                pending.add(*(column[rows] for column in columns))
        self.deferred.clear()

    def _wave(self, kind: int, pending: _Pending) -> None:
        """Number the Specs of one wave and kind, and expand those that are not memoized.

        Rewrites that lower more than the extent are left to `_finish`.
        """
        keys, inverse, limits, cutoffs = pending.merge(self.space.limits)
        first = self.node_count
        self.resolved.append((np.concatenate(pending.slots), inverse + np.int32(first)))
        self.nodes.append(Nodes(np.full(len(keys), kind, np.int16), keys, limits, cutoffs))
        self.node_count += len(keys)
        numbers = np.arange(first, first + len(keys), dtype=np.int32)
        specs = Specs(keys, numbers, limits, cutoffs)
        memoized = MemoizedAnswers.nothing(len(keys))
        # The goal itself (node 0) is always expanded: a memo with all of its program would have
        # made the search unnecessary.
        if self.memo is not None and first > 0:
            memoized = self._memoized(kind, keys, limits, self.memo)
            specs = specs.of(np.setdiff1d(np.arange(len(keys)), memoized.spec))
        self.memoized.append(memoized)
        if self.pruning is not None and self.pruning.width is not None:
            applied = [
                *self.rewriter.apply(kind, specs, extents=True),
                *self.rewriter.apply(kind, specs, extents=False),
            ]
            for each in _narrowed(applied, self.pruning.width):
                self._add(each)
            return
        for each in self.rewriter.apply(kind, specs, extents=True):
            self._add(each)
        self.unfinished[kind].append(specs)
        if sum(len(waiting.keys) for waiting in self.unfinished[kind]) > MOST_ROWS:
            self._finish()

    def _finish(self) -> None:
        """Apply all rewrites that `_wave` left."""
        for kind, waiting in self.unfinished.items():
            for applied in self.rewriter.apply(kind, Specs.concatenate(waiting), extents=False):
                self._add(applied)
        self.unfinished.clear()

    def _memoized(self, kind: int, keys: Ints, limits: Ints, memo: Memo) -> MemoizedAnswers:
        """All boxes of those Specs that have an answer under their limits."""
        boxes = memo(self.space.encodings[kind].batch(keys, self.space.placements))
        within = boxes.within(limits[boxes.spec], self.space.limits)
        answered = np.zeros(len(keys), np.bool_)
        answered[boxes.spec[within]] = True
        return boxes.of(answered[boxes.spec])

    def _add(self, applied: Applied) -> None:
        """Record edges, and defer the Specs that they lead to."""
        self._check()
        edges = applied.edges
        edge, times = edge_of_slots(edges.arity), edges.times
        self.edges.append(edges)
        limits = (applied.limits - edges.allocation)[edge]
        cutoffs = (applied.cutoffs - applied.bounds)[edge]
        if self.pruning is not None:
            # A child that runs 0 times (in parallel with others) costs nothing; its cutoff
            # is the parent's, so that it is pruned as well.
            shares = (cutoffs + applied.child_bounds) / np.maximum(times, 1)
            cutoffs = np.where(times > 0, shares, applied.cutoffs[edge])
        for kind, keys, slots in applied.children:
            slot = slots + np.int32(self.slot_count)
            self._defer(kind, keys, slot, limits[slots], cutoffs[slots])
        self.edge_count += len(edges.rule)
        self.slot_count += len(times)

    def _graph(self, waves: int) -> SearchGraph:
        """The expanded graph; releases the lists of resolved slots and edges as it goes."""
        child = np.empty(self.slot_count, np.int32)
        while self.resolved:
            slots, numbers = self.resolved.pop()
            child[slots] = numbers
        edges = EdgeColumns.concatenate(self.edges)
        self.edges.clear()
        return SearchGraph(
            space=self.space,
            nodes=Nodes.concatenate(self.nodes),
            edges=edges.hypergraph(child, self.root_slots),
            waves=waves,
            roots=child[: self.root_slots],
            dropped=Dropped.concatenate(self.rewriter.dropped),
            memoized=MemoizedAnswers.concatenate(self.memoized),
        )


def build(
    space: Space,
    pruning: Pruning | None = None,
    progress: Progress | None = None,
    memo: Memo | None = None,
) -> SearchGraph:
    """Expand the space's first goal, except for pruned edges and Specs that are memoized."""
    cutoff = np.array([pruning.upper if pruning else np.inf]) * engine.NEARLY
    limit = np.array([space.limits.pack(space.target.limits)])
    goal = Start(space.goal_batches()[0], limit, cutoff)
    return _Expansion(space, pruning, memo, progress).run([goal])


def grow(
    graph: SearchGraph, nodes: Ints, pruning: Pruning | None, progress: Progress | None = None
) -> SearchGraph:
    """The graph with `nodes` expanded, which were not expanded so far because they were memoized.

    What is reached from them becomes new nodes. They are the roots of these, too, and stay so, as
    new edges may lead to them; the old nodes get copies of the edges of the roots.
    """
    kinds = graph.nodes.kind
    nodes = nodes[np.argsort(kinds[nodes], kind="stable")]
    starts = []
    for kind in np.unique(kinds[nodes]).tolist():
        here = nodes[kinds[nodes] == kind]
        starts.append(Start(graph.batch(here), graph.nodes.limit[here], graph.nodes.cutoff[here]))
    more = _Expansion(graph.space, pruning, None, progress).run(starts)
    count = np.int32(graph.node_count)
    old_node = np.full(more.node_count, -1, np.int32)
    old_node[more.roots] = nodes
    memoized = graph.memoized.of(~np.isin(graph.memoized.spec, nodes))
    return SearchGraph(
        space=graph.space,
        nodes=Nodes.concatenate([graph.nodes, more.nodes]),
        edges=_with_edges(graph.edges, more.edges, count, old_node),
        waves=graph.waves + more.waves,
        roots=graph.roots,
        dropped=_with_dropped(graph.dropped, more.dropped, count, old_node),
        memoized=replace(memoized, count=graph.node_count + more.node_count),
    )


def _with_edges(
    old: engine.Hypergraph, new: engine.Hypergraph, count: np.int32, old_node: Ints
) -> engine.Hypergraph:
    """The old edges; the new ones, whose nodes follow `count` old ones; and copies of these.

    Edges of new nodes with an `old_node` are copied for that; it is -1 for others.
    """
    copied = np.flatnonzero(old_node[new.parent] >= 0)
    chosen = np.concatenate([np.arange(len(new.parent)), copied])
    arity = np.diff(new.first_child)[chosen]
    ends = np.cumsum(arity)
    slots = np.repeat(new.first_child[chosen] - ends + arity, arity) + np.arange(arity.sum())
    parent = np.concatenate([new.parent + count, old_node[new.parent[copied]]])
    return engine.Hypergraph(
        parent=np.concatenate([old.parent, parent]),
        rule=np.concatenate([old.rule, new.rule[chosen]]),
        own=np.concatenate([old.own, new.own[chosen]]),
        allocation=np.concatenate([old.allocation, new.allocation[chosen]]),
        first_child=np.concatenate([old.first_child, old.first_child[-1] + ends]).astype(np.int32),
        child=np.concatenate([old.child, new.child[slots] + count]),
        times=np.concatenate([old.times, new.times[slots]]),
    )


def _with_dropped(old: Dropped, new: Dropped, count: np.int32, old_node: Ints) -> Dropped:
    """`_with_edges` for rewrites that were dropped."""
    copied = np.flatnonzero(old_node[new.parent] >= 0)
    copies = Dropped(old_node[new.parent[copied]], new.rule[copied], new.bound[copied])
    return Dropped.concatenate([old, new._replace(parent=new.parent + count), copies])
