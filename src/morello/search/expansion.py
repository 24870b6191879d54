"""Expanding a goal into the graph of everything the rules can reach from it.

Specs are reached in waves of falling *rank*, which every rewrite lowers. So all parents of a
Spec are expanded before it, its duplicates are merged within a wave, and the numbers of the nodes
are a topological order. As a rewrite takes about as long for one Spec as for hundreds, only those
that lower no more than the extent are applied wave by wave; all others, to Specs of all extents.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from morello import debug
from morello.errors import SearchError
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints, all_rows
from morello.memo.known import KnownAnswers, concatenate
from morello.rewrites import Edges, Rewrite, expand
from morello.search import engine
from morello.search.budget import Progress
from morello.search.graph import Dropped, Floats, SearchGraph, Space
from morello.search.space.family import Kind
from morello.search.space.limits import Limits
from morello.search.space.ranks import SpecRank, ranks

Recall = Callable[[Batch], KnownAnswers]

_NONE_DROPPED = Dropped(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0))
_MOST_ROWS = 1 << 16  # with more, a rewrite's arrays no longer fit a core's caches


class LowerBound(Protocol):
    """Lower bounds on the costs of Specs."""

    def __call__(self, batch: Batch) -> Floats:
        """The bound of every Spec of a batch."""

    def affordable(
        self, batch: Batch, budgets: Floats, rewrites: Sequence[Rewrite]
    ) -> Bools | None:
        """Which rewrites of each Spec may begin a program within its budget, by rewrite and row.

        None if it is not known.
        """


@dataclass
class Pruning:
    """Leave out every edge that no program of at most `upper` cycles contains.

    With a `width`, only that many rewrites of each Spec stay, those with the lowest bounds (as in
    beam search): then the graph may lack the cheapest program, or have no program.
    """

    bound: LowerBound
    upper: float
    width: int | None = None


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


@dataclass(frozen=True)
class _Specs:
    """Specs of a family: their keys, numbers, and labels (see `_Pending`)."""

    keys: Ints
    numbers: Ints
    limits: Ints
    budgets: Floats

    def of(self, rows: Ints | Bools) -> _Specs:
        """Some of them."""
        return _Specs(self.keys[rows], self.numbers[rows], self.limits[rows], self.budgets[rows])

    @staticmethod
    def concatenate(parts: Sequence[_Specs]) -> _Specs:
        columns = zip(*((p.keys, p.numbers, p.limits, p.budgets) for p in parts), strict=True)
        return _Specs(*map(np.concatenate, columns))


@dataclass(frozen=True)
class _Rewritten:
    """What a rule makes of some rows of a batch."""

    rule: int
    rows: Ints
    edges: Edges


@dataclass(frozen=True)
class _Applied:
    """Rewrites applied to Specs of one family: edges, and the Specs that they lead to.

    By edge: its rule, and how many children it has; its parent, and the parent's limit and
    budget; its own cost and allocation; and `whole`, a lower bound on its cost, children
    included. By slot of a child: how many times it runs, and `totals`, a lower bound on what all
    runs cost together. `children` has Specs of one family after another, with their slots.
    """

    rule: Ints
    arity: Ints
    parents: _Specs
    own: Floats
    allocation: Ints
    whole: Floats
    times: Ints
    totals: Floats
    children: list[tuple[Batch, Ints]]

    def of(self, keep: Bools) -> _Applied:
        """Some of the edges."""
        slots = keep[_edge_of_slots(self.arity)]
        number = np.cumsum(slots, dtype=np.int32) - np.int32(1)
        children: list[tuple[Batch, Ints]] = []
        for batch, slot in self.children:
            rows = slots[slot].nonzero()[0]
            if len(rows):
                children.append((batch[rows], number[slot[rows]]))
        return _Applied(
            self.rule[keep], self.arity[keep], self.parents.of(keep), self.own[keep],
            self.allocation[keep], self.whole[keep], self.times[slots], self.totals[slots],
            children,
        )  # fmt: skip


def _edge_of_slots(arity: Ints) -> Ints:
    """The edge that every child's slot belongs to."""
    return np.repeat(np.arange(len(arity), dtype=np.int32), arity)


def _narrowed(applied: list[_Applied], width: int) -> list[_Applied]:
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
        recall: Recall | None,
        progress: Progress | None,
    ) -> None:
        self.space, self.pruning, self.recall, self.progress = space, pruning, recall, progress
        self.waiting: dict[SpecRank, dict[int, _Pending]] = defaultdict(dict)
        self.deferred: dict[int, list[tuple[Batch, Ints, Ints, Floats]]] = defaultdict(list)
        self.unfinished: dict[int, list[_Specs]] = defaultdict(list)
        self.edges: list[tuple[Ints, Ints, Ints, Floats, Ints]] = []  # see `_add`
        self.times: list[Ints] = []
        self.resolved: list[tuple[Ints, Ints]] = []
        self.nodes: list[tuple[int, Ints]] = []
        self.labels: list[tuple[Ints, Floats]] = []  # limits and budgets
        self.dropped: list[Dropped] = [_NONE_DROPPED]
        self.known: list[KnownAnswers] = []
        self.node_count = self.edge_count = self.slot_count = self.root_slots = 0

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
                self._show(f"wave {waves}", before, time.perf_counter() - began)
        return self._graph(waves)

    def _show(self, wave: str, before: tuple[int, int], seconds: float) -> None:
        """Report a wave, and what it added to the numbers of Specs and rewrites before it."""
        specs, rewrites = self.node_count - before[0], self.edge_count - before[1]
        space, pruning = self.space, self.pruning
        bound = "relaxed" if space.relaxed else "any cost"
        if pruning is not None and pruning.upper < np.inf:
            bound = f"at most {pruning.upper:,.0f} cycles"
        debug.show(
            "search",
            f"{space.goal.expression}, {bound}, {wave}: {specs:,} Specs, {rewrites:,} rewrites, "
            f"{1e3 * seconds:.1f} ms",
        )

    def _defer(self, batch: Batch, slots: Ints, limits: Ints, budgets: Floats) -> None:
        """Put Specs aside until the current wave, which reached them, is complete."""
        family = self.space.family(batch)
        self.deferred[family].append((batch, slots, limits, budgets))

    def _queue(self, below: SpecRank) -> None:
        """Move the deferred Specs to the waves of their ranks, all of which are below `below`."""
        for family, parts in self.deferred.items():
            if self.progress is not None:  # checks the memory, as the next lines copy the Specs
                self.progress(self.node_count, self.edge_count)
            batches, *labels = zip(*parts, strict=True)
            batch = Batch.concatenate(batches)
            keys = self.space.families[family].keys(batch)
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
        packed = self.space.families[family]
        specs = _Specs(keys, numbers, limits, budgets)
        if self.recall is not None:
            # The goal itself (node 0) is always expanded: a memory that had all of its program
            # would have made the search unnecessary.
            batch = packed.batch(keys, self.space.placements)
            recalled = self.recall(batch) if first else KnownAnswers.nothing(len(batch))
            known = self._applicable(recalled, limits)
            self.known.append(known)
            specs = specs.of(np.setdiff1d(np.arange(len(keys)), known.spec))
        if self.pruning is not None and self.pruning.width is not None:
            applied = [*self._applied(family, specs, True), *self._applied(family, specs, False)]
            for edges in _narrowed(applied, self.pruning.width):
                self._add(edges)
            return
        for edges in self._applied(family, specs, True):
            self._add(edges)
        self.unfinished[family].append(specs)
        if sum(len(waiting.keys) for waiting in self.unfinished[family]) > _MOST_ROWS:
            self._finish()

    def _finish(self) -> None:
        """Apply all rewrites that `_wave` left."""
        for family, waiting in self.unfinished.items():
            for edges in self._applied(family, _Specs.concatenate(waiting), False):
                self._add(edges)
        self.unfinished.clear()

    def _applied(self, family: int, specs: _Specs, extents: bool) -> Iterator[_Applied]:
        """The edges of all rewrites that lower only the extent, or of all others."""
        packed = self.space.families[family]
        batch = packed.batch(specs.keys, self.space.placements)
        rewritten: list[_Rewritten] = []
        count = 0
        for rows, rewrites in self._affordable(packed.kind, batch, specs.budgets, extents):
            guarded = batch if len(rows) == len(batch) else batch[rows]
            for rule, rewrite in rewrites:
                if self.progress is not None:
                    self.progress(self.node_count, self.edge_count)
                for edges in expand(rewrite, guarded, self.space.target):
                    rewritten.append(_Rewritten(rule, rows[edges.rows], edges))
                    count += len(edges.rows)
                if count > _MOST_ROWS:
                    yield self._admitted(specs, rewritten)
                    rewritten, count = [], 0
        if rewritten:
            yield self._admitted(specs, rewritten)

    def _affordable(
        self, kind: Kind, batch: Batch, budgets: Floats, extents: bool
    ) -> Iterator[tuple[Ints, list[tuple[int, Rewrite]]]]:
        """The rewrites to try, by number, with the rows to try them on."""
        affordable = None
        if self.pruning is not None:
            rewrites = self.space.rewrites(kind)
            affordable = self.pruning.bound.affordable(batch, budgets, rewrites)
        for guard, numbered in self.space.numbered(kind, extents):
            if affordable is None:
                rows = guard(batch).nonzero()[0]
            else:
                numbered = [each for each in numbered if affordable[each[0]].any()]
                if not numbered:
                    continue
                anyone = affordable[[number for number, _ in numbered]].any(axis=0)
                rows = (guard(batch) & anyone).nonzero()[0]
            if len(rows):
                yield rows, numbered

    def _applicable(self, known: KnownAnswers, limits: Ints) -> KnownAnswers:
        """All boxes of the Specs that have an answer under these limits."""
        within = known.within(limits[known.spec], self.space.limits)
        answered = np.zeros(known.count, np.bool_)
        answered[known.spec[within]] = True
        return known.of(answered[known.spec])

    def _admitted(self, specs: _Specs, rewritten: Sequence[_Rewritten]) -> _Applied:
        """The edges that fit their limits and may belong to a program that is cheap enough."""
        limits, pruning = self.space.limits, self.pruning
        counts = [len(each.rows) for each in rewritten]
        rule, arity = (
            np.repeat(np.array(column, np.uint8), counts)
            for column in zip(*((r.rule, len(r.edges.children)) for r in rewritten), strict=True)
        )
        parents = specs.of(np.concatenate([each.rows for each in rewritten]))
        own, allocation = np.empty(len(rule)), np.zeros(len(rule), np.int64)
        end = 0
        for count, each in zip(counts, rewritten, strict=True):
            here = slice(end, end + count)
            own[here] = each.edges.cost
            if each.edges.allocation:
                allocation[here] = limits.column(each.edges.allocation, count)
            end += count
        times, children = self._children([each.edges for each in rewritten])
        totals = np.zeros(len(times))
        if pruning is not None:
            for batch, slots in children:
                totals[slots] = times[slots] * pruning.bound(batch)
        whole = own + np.bincount(_edge_of_slots(arity), totals, len(own))
        applied = _Applied(rule, arity, parents, own, allocation, whole, times, totals, children)
        keep: Bools = np.asarray(limits.fits(allocation, parents.limits))
        if not all_rows(keep):
            self.dropped.append(Dropped(parents.numbers[~keep], rule[~keep], whole[~keep]))
        if pruning is not None:
            keep &= (whole < engine.INFINITE) & (whole <= parents.budgets)
        return applied if all_rows(keep) else applied.of(keep)

    def _children(self, rewritten: Sequence[Edges]) -> tuple[Ints, list[tuple[Batch, Ints]]]:
        """How often the children of edges run, by slot, and each family's, with their slots."""
        times: list[Ints] = []
        families: dict[int, list[tuple[Batch, Ints]]] = defaultdict(list)
        start = 0
        for edges in rewritten:
            count, arity = len(edges.rows), len(edges.children)
            here = np.empty((count, arity), np.int32)
            slots = np.arange(start, start + count * arity, dtype=np.int32).reshape(count, arity)
            for position, child in enumerate(edges.children):
                here[:, position] = child.times
                families[self.space.family(child.batch)].append((child.batch, slots[:, position]))
            times.append(here.ravel())
            start += count * arity
        children = []
        for parts in families.values():
            batches, columns = zip(*parts, strict=True)
            children.append((Batch.concatenate(batches), np.concatenate(columns)))
        return np.concatenate(times), children

    def _add(self, applied: _Applied) -> None:
        """Record edges, and defer the Specs that they lead to."""
        parents, times, edge = applied.parents, applied.times, _edge_of_slots(applied.arity)
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
            Dropped(*map(np.concatenate, zip(*self.dropped, strict=True))),
            concatenate(self.known) if self.known else KnownAnswers.nothing(self.node_count),
        )  # fmt: skip


def build(
    space: Space,
    pruning: Pruning | None = None,
    progress: Progress | None = None,
    recall: Recall | None = None,
) -> SearchGraph:
    """Expand the space's goal, except for pruned edges and Specs whose answers `recall` has."""
    budget = np.array([pruning.upper if pruning else np.inf]) * (1 + 1e-9)
    limit = np.array([space.limits.pack(space.target.limits)])
    goal = Start(space.goal_batch(), limit, budget)
    return _Expansion(space, pruning, recall, progress).run([goal])


def grow(
    graph: SearchGraph, nodes: Ints, pruning: Pruning | None, progress: Progress | None = None
) -> SearchGraph:
    """The graph with `nodes` expanded, which were not expanded so far because they were known."""
    space = graph.space
    nodes = nodes[np.argsort(graph.families[nodes], kind="stable")]
    starts = []
    for number in np.unique(graph.families[nodes]).tolist():
        here = nodes[graph.families[nodes] == number]
        batch = space.families[number].batch(graph.keys[here], space.placements)
        starts.append(Start(batch, graph.limit[here], graph.budget[here]))
    more = _Expansion(space, pruning, None, progress).run(starts)
    count, arity = len(graph.keys), np.diff(more.first_child)
    known = graph.known.of(~np.isin(graph.known.spec, nodes))
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
        np.concatenate([graph.families, more.families]),
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
