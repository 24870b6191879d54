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
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from morello import debug
from morello.errors import SearchError
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.operation import Operation
from morello.ir.placements import Ints, Placements, all_rows
from morello.ir.spec import Spec
from morello.memo.known import KnownAnswers, concatenate
from morello.rewrites import Edges, Rank, Rewrite, expand
from morello.search import engine
from morello.search.budget import Progress
from morello.search.space.family import Kind, SpecEncoding
from morello.search.space.limits import Limits
from morello.search.space.panels import Panels
from morello.search.space.ranks import SpecRank, ranks
from morello.search.space.rules import Guard, Rules, relaxed, rules
from morello.search.space.sizes import Sizes
from morello.targets.target import Target

Floats = npt.NDArray[np.floating[Any]]
Recall = Callable[[Batch], KnownAnswers]

NumberedRules = tuple[Guard, list[tuple[int, Rewrite]]]
"""Rewrites, by their positions in `Space.rewrites`, to try on the rows that a guard admits."""

_MOST_REWRITES = 256  # their numbers are stored as bytes
_MOST_ROWS = 1 << 16  # with more, a rewrite's arrays no longer fit a core's caches


class Space:
    """The search space of a goal: its rules, sizes, and families of Specs.

    Sizes that tiling does not reach (the windows of convolutions, say) are added as they are met.
    """

    def __init__(self, goal: Spec, target: Target, sizes: Sizes, *, relaxed: bool = False) -> None:
        self.goal, self.target, self.sizes, self.relaxed = goal, target, sizes, relaxed
        self.limits = Limits(target.limits)
        self.placements = Placements()
        self._blocks = Panels.of(goal).odd_even
        self._rank = _rank(goal.operation)
        self.families: list[SpecEncoding] = []
        self._numbers: dict[tuple[Operation, tuple[DType, ...], bool], int] = {}
        self._rules: dict[Kind, list[Rules]] = {}
        self._numbered: dict[tuple[Kind, bool], list[NumberedRules]] = {}

    def family(self, batch: Batch) -> int:
        """The number of a batch's family."""
        key = batch.operation, batch.dtypes, batch.parallel
        if key not in self._numbers:
            self._numbers[key] = len(self.families)
            self.families.append(SpecEncoding(Kind(*key), self.sizes, self._rank))
        return self._numbers[key]

    def find_family(self, batch: Batch) -> SpecEncoding | None:
        """A batch's family, if it was met before."""
        number = self._numbers.get((batch.operation, batch.dtypes, batch.parallel))
        return None if number is None else self.families[number]

    def rules(self, kind: Kind) -> list[Rules]:
        """The rules for Specs of a kind."""
        if kind not in self._rules:
            groups = rules(kind, self.target, self.sizes, blocks=self._blocks)
            if self.relaxed:
                groups = relaxed(groups)
            if sum(len(group.rewrites) for group in groups) > _MOST_REWRITES:
                raise SearchError(f"{kind.operation} has more rewrites than can be searched.")
            self._rules[kind] = groups
        return self._rules[kind]

    def numbered(self, kind: Kind, extents: bool) -> list[NumberedRules]:
        """The rules with the rewrites that lower only the extent of Specs, or with all others."""
        if (kind, extents) not in self._numbered:
            numbers = count()
            groups = [
                (group.guard, [(next(numbers), rewrite) for rewrite in group.rewrites])
                for group in self.rules(kind)
            ]
            self._numbered[kind, extents] = [
                (guard, chosen)
                for guard, rewrites in groups
                if (chosen := [r for r in rewrites if (r[1].lowers is Rank.EXTENT) is extents])
            ]
        return self._numbered[kind, extents]

    def rewrites(self, kind: Kind) -> list[Rewrite]:
        """All rewrites tried on Specs of a kind; an edge's rule is a position in this list."""
        return [rewrite for group in self.rules(kind) for rewrite in group.rewrites]

    def goal_batch(self) -> Batch:
        goal = Batch.of([self.goal], self.placements)
        return goal.relaxed() if self.relaxed else goal


def _rank(operation: Operation) -> int:
    """The most dimensions of any tensor of an operation, its intermediates included."""
    tensors = [operand.dims for operand in operation.operands]
    tensors += [component.result_dims for component in operation.components]
    return max(len(dims) for dims in tensors)


def goal_sizes(goal: Spec) -> Sizes:
    """All sizes that tiling a goal can reach."""
    return Sizes(goal.sizes, Panels.of(goal).widths)


@dataclass
class SearchGraph:
    """A hypergraph in flat arrays: nodes (family, key), edges (parent, rule, ...), children.

    By node: the most memory that any program of the goal leaves it (`limit`), the most that it
    may cost (`budget`), and a lower bound on the cost of its rewrites that need more memory than
    `limit` (`dropped`). `known` has the memoized answers of nodes that were not expanded.
    """

    space: Space
    families: Ints
    keys: Ints
    parent: Ints
    rule: Ints
    own: Floats
    allocation: Ints
    first_child: Ints
    child: Ints
    times: Ints
    waves: int
    roots: Ints
    limit: Ints
    budget: Floats
    dropped: Floats
    known: KnownAnswers

    def spec(self, node: int) -> Spec:
        keys = self.keys[node : node + 1]
        family = self.space.families[int(self.families[node])]
        return family.batch(keys, self.space.placements).spec()

    @property
    def bounds(self) -> engine.Bounds:
        """Every node's edges in order of their cost without limits."""
        return self.problem.bounds

    @cached_property
    def problem(self) -> engine.Problem:
        """The graph for the engine."""
        limits, nodes = self.space.limits, len(self.keys)
        cost, peak = np.full(nodes, engine.INFINITE), np.zeros(nodes, np.int64)
        known = self.known
        here = known.within(self.limit[known.spec], limits)
        cost[known.spec[here]], peak[known.spec[here]] = known.cost[here], known.peak[here]
        graph = engine.Hypergraph(
            self.parent, self.own, self.allocation, self.first_child, self.child, self.times
        )
        by_rule = np.argsort(self.rule, kind="stable").astype(np.int32)
        bounds = engine.Bounds(*engine.bounds(graph, by_rule, cost, peak, limits.packing))
        return engine.Problem(graph, bounds, limits.packing)

    def rewrite(self, edge: int) -> Rewrite:
        """The rewrite of an edge, made concrete for its Spec."""
        node = int(self.parent[edge])
        spec = self.spec(node)
        kind = self.space.families[int(self.families[node])].kind
        return self.space.rewrites(kind)[int(self.rule[edge])].concrete(spec)

    def edges(self, decisions: Sequence[Rewrite]) -> list[int] | None:
        """The edges of a program's decisions, in pre-order; None if any is not in the graph."""
        start, order, *_ = self.bounds
        remaining = iter(decisions)
        edges: list[int] = []

        def down(node: int) -> bool:
            wanted = next(remaining)
            for edge in order[start[node] : start[node + 1]].tolist():
                if self.rewrite(edge) == wanted:
                    edges.append(edge)
                    first, last = self.first_child[edge : edge + 2].tolist()
                    return all(down(child) for child in self.child[first:last].tolist())
            return False

        return edges if down(0) else None


@dataclass
class Pruning:
    """Leave out every edge that no program of at most `upper` cycles contains.

    `estimate` gives a lower bound on the cost of every Spec of a batch. With a `width`, only that
    many rewrites of each Spec stay, those with the lowest bounds (as in beam search): then the
    graph may lack the cheapest program, or have no program.
    """

    estimate: Callable[[Batch], Floats]
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

    def of(self, rows: Ints) -> _Specs:
        """Some of them."""
        return _Specs(self.keys[rows], self.numbers[rows], self.limits[rows], self.budgets[rows])

    @staticmethod
    def concatenate(parts: Sequence[_Specs]) -> _Specs:
        columns = zip(*((p.keys, p.numbers, p.limits, p.budgets) for p in parts), strict=True)
        return _Specs(*map(np.concatenate, columns))


@dataclass(frozen=True)
class _Applied:
    """One rewrite applied to several Specs: an edge in each row.

    `whole` is a lower bound on an edge's cost, children included. The limits and budgets are the
    parents'. `times`, and the lower bounds `totals` of what all runs of a child cost together,
    are by child and row.
    """

    rule: int
    parents: Ints
    own: Floats
    allocation: Ints
    limits: Ints
    budgets: Floats
    whole: Floats
    children: Sequence[Batch]
    times: Sequence[Ints]
    totals: Sequence[Floats]

    def of(self, rows: Ints) -> _Applied:
        """Some of the rows."""
        return _Applied(
            self.rule, self.parents[rows], self.own[rows], self.allocation[rows],
            self.limits[rows], self.budgets[rows], self.whole[rows],
            [child[rows] for child in self.children],
            [times[rows] for times in self.times], [total[rows] for total in self.totals],
        )  # fmt: skip


def _narrowed(applied: list[_Applied], width: int) -> list[_Applied]:
    """Every Spec's `width` edges with the lowest bounds, the first ones among equals."""
    if not applied:
        return []
    parents = np.concatenate([edges.parents for edges in applied])
    order = np.lexsort((np.concatenate([edges.whole for edges in applied]), parents))
    ordered = parents[order]
    first = np.searchsorted(ordered, ordered)
    keep = np.empty(len(parents), np.bool_)
    keep[order] = np.arange(len(parents)) - first < width
    ends = np.cumsum([len(edges.parents) for edges in applied])
    parts = zip(applied, np.split(keep, ends[:-1]), strict=True)
    return [edges.of(kept.nonzero()[0]) for edges, kept in parts if kept.any()]


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
        self.edges: list[tuple[Ints, Floats, Ints]] = []  # parents, own costs, allocations
        self.kinds: list[tuple[int, int, int]] = []  # how many of them, their rule, children
        self.times: list[Ints] = []
        self.resolved: list[tuple[Ints, Ints]] = []
        self.nodes: list[tuple[int, Ints]] = []
        self.labels: list[tuple[Ints, Floats]] = []  # limits and budgets
        self.dropped: list[tuple[Ints, Floats]] = []
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
            applied.sort(key=lambda edges: edges.rule)
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
        for guard, rewrites in self.space.numbered(packed.kind, extents):
            rows = guard(batch).nonzero()[0]
            if not len(rows):
                continue
            here, guarded = specs, batch
            if len(rows) < len(batch):
                here, guarded = specs.of(rows), batch[rows]
            for rule, rewrite in rewrites:
                if self.progress is not None:
                    self.progress(self.node_count, self.edge_count)
                for edges in expand(rewrite, guarded, self.space.target):
                    admitted = self._admitted(rule, edges, here.of(edges.rows))
                    if len(admitted.parents):
                        yield admitted

    def _applicable(self, known: KnownAnswers, limits: Ints) -> KnownAnswers:
        """All boxes of the Specs that have an answer under these limits."""
        within = known.within(limits[known.spec], self.space.limits)
        answered = np.zeros(known.count, np.bool_)
        answered[known.spec[within]] = True
        return known.of(answered[known.spec])

    def _admitted(self, rule: int, edges: Edges, parents: _Specs) -> _Applied:
        """The edges that fit their limits and may belong to a program that is cheap enough."""
        count, limits, budgets = len(parents.keys), parents.limits, parents.budgets
        own = np.zeros(count) + edges.cost
        keep: Any = np.ones(count, np.bool_)
        allocation = self.space.limits.column(edges.allocation, count)
        if edges.allocation:
            keep = self.space.limits.fits(allocation, limits)
        times = [np.zeros(count, np.int32) + c.times for c in edges.children]
        children = [c.batch for c in edges.children]
        whole, totals = own, [own] * len(children)
        if self.pruning is not None:
            totals = [t * self.pruning.estimate(b) for t, b in zip(times, children, strict=True)]
            whole = own + sum(totals)
        if not all_rows(keep):
            self.dropped.append((parents.numbers[~keep], whole[~keep]))
        if self.pruning is not None:
            keep &= (whole < engine.INFINITE) & (whole <= budgets)
        applied = _Applied(
            rule, parents.numbers, own, allocation, limits, budgets, whole, children, times, totals
        )
        return applied if all_rows(keep) else applied.of(keep.nonzero()[0])

    def _add(self, edges: _Applied) -> None:
        """Record edges, and defer the Specs that they lead to."""
        count, children = len(edges.parents), edges.children
        self.edges.append((edges.parents, edges.own, edges.allocation))
        self.kinds.append((count, edges.rule, len(children)))
        slots = self.slot_count + np.arange(count, dtype=np.int32) * np.int32(len(children))
        remaining = edges.limits - edges.allocation
        spare = edges.budgets - edges.whole
        for position, (child, times, total) in enumerate(
            zip(children, edges.times, edges.totals, strict=True)
        ):
            budget = spare
            if self.pruning is not None:
                # A child that runs 0 times (in parallel with others) costs nothing; its budget
                # is the parent's, so that it is pruned as well.
                shares = (spare + total) / np.maximum(times, 1)
                budget = np.where(times > 0, shares, edges.budgets)
            self._defer(child, slots + np.int32(position), remaining, budget)
        if children:
            self.times.append(np.stack(edges.times, axis=1).ravel())
        self.edge_count += count
        self.slot_count += count * len(children)

    def _graph(self, waves: int) -> SearchGraph:
        """The expanded graph; releases the lists of resolved slots and edges as it goes."""
        child = np.empty(self.slot_count, np.int32)
        while self.resolved:
            slots, numbers = self.resolved.pop()
            child[slots] = numbers
        columns = [np.concatenate(c) for c in zip(*self.edges, strict=True)] if self.edges else []
        self.edges.clear()
        none = np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64)
        parent, own, allocation = columns or none
        counts, *kinds = np.array(self.kinds, np.int64).reshape(-1, 3).T
        rule, arity = (np.repeat(kind.astype(np.uint8), counts) for kind in kinds)
        first_child = np.zeros(len(parent) + 1, np.int32)
        np.cumsum(arity, out=first_child[1:], dtype=np.int32)
        first_child += np.int32(self.root_slots)
        limit, budget = (np.concatenate(c) for c in zip(*self.labels, strict=True))
        dropped = np.full(self.node_count, engine.INFINITE)
        for parents, whole in self.dropped:
            np.minimum.at(dropped, parents, whole)
        return SearchGraph(
            self.space,
            np.concatenate([np.full(len(k), f, np.int16) for f, k in self.nodes]),
            np.concatenate([k for _, k in self.nodes]),
            parent, rule, own.astype(np.float64), allocation, first_child, child,
            np.concatenate(self.times), waves, child[: self.root_slots], limit, budget, dropped,
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
        np.concatenate([graph.dropped, more.dropped]),
        replace(known, count=count + len(more.keys)),
    )
