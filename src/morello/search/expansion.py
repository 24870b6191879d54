"""Expanding a goal into the graph of everything the rules can reach from it.

Specs are reached in waves of falling *rank*, which every rewrite lowers. So all parents of a
Spec are expanded before it, its duplicates are merged within a wave, and the numbers of the nodes
are a topological order. As a rewrite takes about as long for one Spec as for hundreds, only those
that lower no more than the extent are applied wave by wave; all others, to Specs of all extents.
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
from morello.search.graph import Dropped, Floats, SearchGraph
from morello.search.rewriting import MOST_ROWS, Applied, Pruning, Rewriter, Specs, edge_of_slots
from morello.space.ranks import SpecRank, ranks
from morello.space.space import Space

Memo = Callable[[Batch], MemoizedAnswers]


@dataclass(frozen=True)
class Start:
    """Specs to expand, the memory they may use, and the most they may cost."""

    batch: Batch
    limit: Ints
    budget: Floats


@dataclass
class _Pending:
    """Children waiting for their wave: keys, slots in the array of children, and labels.

    A Spec's node number is written to its slot. Its labels are the memory it may use, and the
    *budget*: the most that it may cost within a program of the goal that is cheap enough.
    """

    keys: list[Ints] = field(default_factory=list)
    slots: list[Ints] = field(default_factory=list)
    limits: list[Ints] = field(default_factory=list)
    budgets: list[Floats] = field(default_factory=list)

    def add(self, keys: Ints, slots: Ints, limits: Ints, budgets: Floats) -> None:
        self.keys.append(keys)
        self.slots.append(slots)
        self.limits.append(limits)
        self.budgets.append(budgets)

    def merge(self, limits: Limits) -> tuple[Ints, Ints, Ints, Floats]:
        result: tuple[Ints, Ints, Ints, Floats] = engine.merge(
            np.concatenate(self.keys),
            np.concatenate(self.limits),
            np.concatenate(self.budgets),
            limits.packing,
        )
        return result


def _narrowed(applied: list[Applied], width: int) -> list[Applied]:
    """Every Spec's `width` edges with the lowest bounds, the first rules among equals."""
    if not applied:
        return []
    parents = np.concatenate([edges.parents.numbers for edges in applied])
    rule, whole = (
        np.concatenate(column) for column in zip(*((e.rule, e.whole) for e in applied), strict=True)
    )
    order = np.lexsort((rule, whole, parents))
    ordered = parents[order]
    first = np.searchsorted(ordered, ordered)
    keep = np.empty(len(parents), np.bool_)
    keep[order] = np.arange(len(parents)) - first < width
    ends = np.cumsum([len(edges.rule) for edges in applied])
    parts = zip(applied, np.split(keep, ends[:-1]), strict=True)
    return [edges.of(kept) for edges, kept in parts if kept.any()]


class _Expansion:
    """The state of one expansion, wave by wave."""

    def __init__(
        self,
        space: Space,
        pruning: Pruning | None,
        memoized: Memo | None,
        progress: Progress | None,
    ) -> None:
        self.space, self.pruning, self.memoized, self.progress = space, pruning, memoized, progress
        self.waiting: dict[SpecRank, dict[int, _Pending]] = defaultdict(dict)
        self.deferred: dict[int, list[tuple[Batch, Ints, Ints, Floats]]] = defaultdict(list)
        self.unfinished: dict[int, list[Specs]] = defaultdict(list)
        self.edges: list[tuple[Ints, Ints, Ints, Floats, Ints]] = []  # see `_add`
        self.times: list[Ints] = []
        self.resolved: list[tuple[Ints, Ints]] = []
        self.nodes: list[tuple[int, Ints]] = []
        self.labels: list[tuple[Ints, Floats]] = []  # limits and budgets
        self.rewriter = Rewriter(space, pruning, self._check)
        self.known: list[MemoizedAnswers] = []
        self.node_count = self.edge_count = self.slot_count = self.root_slots = 0

    def _check(self) -> None:
        if self.progress is not None:
            self.progress(self.node_count, self.edge_count)

    def run(self, starts: Sequence[Start]) -> SearchGraph:
        for start in starts:
            count = len(start.batch)
            slots = np.arange(self.slot_count, self.slot_count + count, dtype=np.int32)
            self._defer(start.batch, slots, start.limit, start.budget)
            self.times.append(np.ones(count, np.int32))
            self.slot_count += count
        self.root_slots = self.slot_count
        waves = 0
        self._queue(below=(np.inf,))
        while self.waiting:
            began, before = time.perf_counter(), (self.node_count, self.edge_count)
            rank = max(self.waiting)
            for family, pending in self.waiting.pop(rank).items():
                self._wave(family, pending)
            self._queue(below=rank)
            *common, _ = rank
            if not any(other[:-1] == tuple(common) for other in self.waiting):
                self._finish()
                self._queue(below=tuple(common))
            waves += 1
            if self.progress is not None and debug.shows("search"):
                specs, edges = self.node_count - before[0], self.edge_count - before[1]
                self.rewriter.show(waves, specs, edges, time.perf_counter() - began)
        return self._graph(waves)

    def _defer(self, batch: Batch, slots: Ints, limits: Ints, budgets: Floats) -> None:
        """Put Specs aside until the current wave, which reached them, is complete."""
        family = self.space.kind_number(batch)
        self.deferred[family].append((batch, slots, limits, budgets))

    def _queue(self, below: SpecRank) -> None:
        """Move the deferred Specs to the waves of their ranks, all of which are below `below`."""
        for family, parts in self.deferred.items():
            self._check()  # of the memory, as the next lines copy the Specs
            batches, *labels = zip(*parts, strict=True)
            batch = Batch.concatenate(batches)
            keys = self.space.encodings[family].keys(batch)
            columns = [keys, *(np.concatenate(column) for column in labels)]
            common, extents = ranks(batch, self.space.target, self.space.sizes)
            if (*common, extents.max()) >= below:
                spec = batch.spec(int(extents.argmax()))
                raise SearchError(f"{spec} was reached from a Spec whose rank is not higher.")
            for extent in np.unique(extents).tolist():
                rows = (extents == extent).nonzero()[0]
                pending = self.waiting[*common, extent].setdefault(family, _Pending())
                pending.add(*(column[rows] for column in columns))
        self.deferred.clear()

    def _wave(self, family: int, pending: _Pending) -> None:
        """Number the Specs of one wave and family, and expand those without a known answer.

        Rewrites that lower more than the extent are left to `_finish`.
        """
        keys, inverse, limits, budgets = pending.merge(self.space.limits)
        first = self.node_count
        self.resolved.append((np.concatenate(pending.slots), inverse + np.int32(first)))
        self.nodes.append((family, keys))
        self.labels.append((limits, budgets))
        self.node_count += len(keys)
        numbers = np.arange(first, first + len(keys), dtype=np.int32)
        packed = self.space.encodings[family]
        specs = Specs(keys, numbers, limits, budgets)
        if self.memoized is not None:
            # The goal itself (node 0) is always expanded: a memo with all of its program
            # would have made the search unnecessary.
            batch = packed.batch(keys, self.space.placements)
            recalled = self.memoized(batch) if first else MemoizedAnswers.nothing(len(batch))
            known = self._applicable(recalled, limits)
            self.known.append(known)
            specs = specs.of(np.setdiff1d(np.arange(len(keys)), known.spec))
        if self.pruning is not None and self.pruning.width is not None:
            applied = [
                *self.rewriter.apply(family, specs, True),
                *self.rewriter.apply(family, specs, False),
            ]
            for edges in _narrowed(applied, self.pruning.width):
                self._add(edges)
            return
        for edges in self.rewriter.apply(family, specs, True):
            self._add(edges)
        self.unfinished[family].append(specs)
        if sum(len(waiting.keys) for waiting in self.unfinished[family]) > MOST_ROWS:
            self._finish()

    def _finish(self) -> None:
        """Apply all rewrites that `_wave` left."""
        for family, waiting in self.unfinished.items():
            for edges in self.rewriter.apply(family, Specs.concatenate(waiting), False):
                self._add(edges)
        self.unfinished.clear()

    def _applicable(self, known: MemoizedAnswers, limits: Ints) -> MemoizedAnswers:
        """All boxes of the Specs that have an answer under these limits."""
        within = known.within(limits[known.spec], self.space.limits)
        answered = np.zeros(known.count, np.bool_)
        answered[known.spec[within]] = True
        return known.of(answered[known.spec])

    def _add(self, applied: Applied) -> None:
        """Record edges, and defer the Specs that they lead to."""
        parents, times, edge = applied.parents, applied.times, edge_of_slots(applied.arity)
        self.edges.append(
            (parents.numbers, applied.rule, applied.arity, applied.own, applied.allocation)
        )
        self.times.append(times)
        limits = (parents.limits - applied.allocation)[edge]
        budgets = (parents.budgets - applied.whole)[edge]
        if self.pruning is not None:
            # A child that runs 0 times (in parallel with others) costs nothing; its budget
            # is the parent's, so that it is pruned as well.
            shares = (budgets + applied.totals) / np.maximum(times, 1)
            budgets = np.where(times > 0, shares, parents.budgets[edge])
        for batch, slots in applied.children:
            self._defer(batch, slots + np.int32(self.slot_count), limits[slots], budgets[slots])
        self.edge_count += len(applied.rule)
        self.slot_count += len(times)

    def _graph(self, waves: int) -> SearchGraph:
        """The expanded graph; releases the lists of resolved slots and edges as it goes."""
        child = np.empty(self.slot_count, np.int32)
        while self.resolved:
            slots, numbers = self.resolved.pop()
            child[slots] = numbers
        none = [np.empty(0, t) for t in (np.int32, np.uint8, np.uint8, np.float64, np.int64)]
        columns = [np.concatenate(column) for column in zip(none, *self.edges, strict=True)]
        self.edges.clear()
        parent, rule, arity, own, allocation = columns
        first_child = np.zeros(len(parent) + 1, np.int32)
        np.cumsum(arity, out=first_child[1:], dtype=np.int32)
        first_child += np.int32(self.root_slots)
        limit, budget = (np.concatenate(c) for c in zip(*self.labels, strict=True))
        return SearchGraph(
            self.space,
            np.concatenate([np.full(len(k), f, np.int16) for f, k in self.nodes]),
            np.concatenate([k for _, k in self.nodes]),
            parent, rule, own, allocation, first_child, child,
            np.concatenate(self.times), waves, child[: self.root_slots], limit, budget,
            Dropped(*map(np.concatenate, zip(*self.rewriter.dropped, strict=True))),
            MemoizedAnswers.concatenate(self.known or [MemoizedAnswers.nothing(self.node_count)]),
        )  # fmt: skip


def build(
    space: Space,
    pruning: Pruning | None = None,
    progress: Progress | None = None,
    memoized: Memo | None = None,
) -> SearchGraph:
    """Expand the space's goal, except for pruned edges and Specs whose answers `memoized` has."""
    budget = np.array([pruning.upper if pruning else np.inf]) * (1 + 1e-9)
    limit = np.array([space.limits.pack(space.target.limits)])
    goal = Start(space.goal_batch(), limit, budget)
    return _Expansion(space, pruning, memoized, progress).run([goal])


def grow(
    graph: SearchGraph, nodes: Ints, pruning: Pruning | None, progress: Progress | None = None
) -> SearchGraph:
    """The graph with `nodes` expanded, which were not expanded so far because they were known."""
    space = graph.space
    nodes = nodes[np.argsort(graph.kinds[nodes], kind="stable")]
    starts = []
    for number in np.unique(graph.kinds[nodes]).tolist():
        here = nodes[graph.kinds[nodes] == number]
        starts.append(Start(graph.batch(here), graph.limit[here], graph.budget[here]))
    more = _Expansion(space, pruning, None, progress).run(starts)
    count, arity = len(graph.keys), np.diff(more.first_child)
    known = graph.memoized.of(~np.isin(graph.memoized.spec, nodes))
    # The roots of the new part stay nodes, as new edges may lead to them; the old nodes get
    # copies of their edges.
    old_node = np.full(len(more.keys), -1, np.int64)
    old_node[more.roots] = nodes
    copied = np.flatnonzero(old_node[more.parent] >= 0)
    dropped = np.flatnonzero(old_node[more.dropped.parent] >= 0)
    slots = np.repeat(
        more.first_child[copied] - np.cumsum(arity[copied]) + arity[copied], arity[copied]
    )
    slots = slots + np.arange(len(slots))
    edges = np.concatenate([np.arange(len(more.parent)), copied])
    parent = np.concatenate([more.parent + count, old_node[more.parent[copied]]])
    root_slots = more.first_child[0] if len(more.first_child) else 0
    slots = np.concatenate([np.arange(root_slots, len(more.child)), slots])
    ends = graph.first_child[-1] + np.cumsum(arity[edges])
    return SearchGraph(
        space,
        np.concatenate([graph.kinds, more.kinds]),
        np.concatenate([graph.keys, more.keys]),
        np.concatenate([graph.parent, parent]).astype(np.int32),
        np.concatenate([graph.rule, more.rule[edges]]),
        np.concatenate([graph.own, more.own[edges]]),
        np.concatenate([graph.allocation, more.allocation[edges]]),
        np.concatenate([graph.first_child, ends]).astype(np.int32),
        np.concatenate([graph.child, more.child[slots] + count]).astype(np.int32),
        np.concatenate([graph.times, more.times[slots]]),
        graph.waves + more.waves,
        graph.roots,
        np.concatenate([graph.limit, more.limit]),
        np.concatenate([graph.budget, more.budget]),
        Dropped(
            np.concatenate(
                [
                    graph.dropped.parent,
                    more.dropped.parent + np.int32(count),
                    old_node[more.dropped.parent[dropped]],
                ]
            ),
            np.concatenate([graph.dropped.rule, more.dropped.rule, more.dropped.rule[dropped]]),
            np.concatenate([graph.dropped.bound, more.dropped.bound, more.dropped.bound[dropped]]),
        ),
        replace(known, count=count + len(more.keys)),
    )
