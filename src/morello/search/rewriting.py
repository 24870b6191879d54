"""Applying rewrites to many Specs of one kind at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from morello import engine
from morello.base import debug
from morello.ir.batch import Batch
from morello.ir.placements import Bools, Ints, all_rows
from morello.rewrites import Edges, Rewrite, expand
from morello.search.graph import Dropped, Floats
from morello.space.kind import Kind
from morello.space.space import Space

ToTry = tuple[Ints, list[tuple[int, Rewrite]]]
"""Rewrites, by number, and the rows of a batch to try them on."""

_NONE = np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0)

MOST_ROWS = 1 << 16
"""With more rows, a rewrite's arrays no longer fit a core's caches."""


class LowerBound(Protocol):
    """Lower bounds on the costs of Specs."""

    def __call__(self, batch: Batch) -> Floats:
        """The bound of every Spec of a batch."""

    def affordable(
        self, batch: Batch, cutoffs: Floats, rewrites: Sequence[Rewrite]
    ) -> Bools | None:
        """Which rewrites of each Spec may begin a program within its cutoff, by rewrite and row.

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
class Specs:
    """Specs of a kind: their keys, their numbers, and their limits and cutoffs (see `Nodes`)."""

    keys: Ints
    numbers: Ints
    limits: Ints
    cutoffs: Floats

    def of(self, rows: Ints | Bools) -> Specs:
        """Some of them."""
        return Specs(self.keys[rows], self.numbers[rows], self.limits[rows], self.cutoffs[rows])

    @staticmethod
    def concatenate(parts: Sequence[Specs]) -> Specs:
        columns = zip(*((p.keys, p.numbers, p.limits, p.cutoffs) for p in parts), strict=True)
        return Specs(*map(np.concatenate, columns))


@dataclass(frozen=True)
class Rewritten:
    """Edges of one rewrite, by its number, for some Specs of a batch, by their rows."""

    rule: int
    rows: Ints
    edges: Edges


class EdgeColumns(NamedTuple):
    """Edges as columns.

    By edge: the number of its parent, its rule, how many children it has, its own cost, and its
    allocation. By slot, which is a child of an edge, in their order: how many times it runs.
    """

    parent: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    times: Ints

    @staticmethod
    def concatenate(parts: Sequence[EdgeColumns]) -> EdgeColumns:
        """The edges of all parts, which may be none."""
        return EdgeColumns(*map(np.concatenate, zip(_NO_EDGES, *parts, strict=True)))

    def of(self, chosen: Bools) -> EdgeColumns:
        """Some of the edges."""
        return EdgeColumns(
            self.parent[chosen], self.rule[chosen], self.arity[chosen], self.own[chosen],
            self.allocation[chosen], self.times[chosen[edge_of_slots(self.arity)]],
        )  # fmt: skip

    def hypergraph(self, child: Ints, roots: int = 0) -> engine.Hypergraph:
        """The graph of these edges: `child` has so many roots, and then the node of each slot."""
        first_child = np.zeros(len(self.arity) + 1, np.int32)
        np.cumsum(self.arity, out=first_child[1:], dtype=np.int32)
        first_child += np.int32(roots)
        times = np.concatenate([np.ones(roots, np.int32), self.times]) if roots else self.times
        return engine.Hypergraph(
            self.parent, self.rule, self.own, self.allocation, first_child, child, times
        )


_NO_EDGES = EdgeColumns(
    np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0),
    np.empty(0, np.int64), np.empty(0, np.int32),
)  # fmt: skip


@dataclass(frozen=True)
class Applied:
    """Rewrites applied to Specs of one kind: edges, and the Specs that they lead to.

    By edge: the limit and the cutoff of its parent, and `bounds`, a lower bound on its cost,
    children included. By slot: `child_bounds`, a lower bound on what all runs of the child cost
    together. `children` has Specs of one kind after another, with their slots.
    """

    edges: EdgeColumns
    limits: Ints
    cutoffs: Floats
    bounds: Floats
    child_bounds: Floats
    children: list[tuple[Batch, Ints]]

    def of(self, chosen: Bools) -> Applied:
        """Some of the edges."""
        slots = chosen[edge_of_slots(self.edges.arity)]
        number = np.cumsum(slots, dtype=np.int32) - np.int32(1)
        children: list[tuple[Batch, Ints]] = []
        for batch, slot in self.children:
            rows = slots[slot].nonzero()[0]
            if len(rows):
                children.append((batch[rows], number[slot[rows]]))
        return Applied(
            self.edges.of(chosen), self.limits[chosen], self.cutoffs[chosen], self.bounds[chosen],
            self.child_bounds[slots], children,
        )  # fmt: skip


def edge_of_slots(arity: Ints) -> Ints:
    """The edge that every slot belongs to."""
    return np.repeat(np.arange(len(arity), dtype=np.int32), arity)


class Rewriter:
    """Applies the rewrites of a space to Specs.

    `dropped` has the edges that exceeded their limits. `check` is called again and again, to raise
    an error when the budget is used up.
    """

    def __init__(self, space: Space, pruning: Pruning | None, check: Callable[[], None]) -> None:
        self.space, self.pruning, self._check = space, pruning, check
        self.dropped: list[Dropped] = [Dropped(*_NONE)]

    def apply(self, kind: int, specs: Specs, extents: bool) -> Iterator[Applied]:
        """The edges of all rewrites that lower only the extent, or of all others."""
        encoding = self.space.encodings[kind]
        batch = encoding.batch(specs.keys, self.space.placements)
        groups = self._affordable(encoding.kind, batch, specs.cutoffs, extents)
        yield from self._apply(specs, batch, groups)

    def apply_rules(
        self, kind: int, specs: Specs, batch: Batch, allowed: Bools
    ) -> Iterator[Applied]:
        """The edges of the rewrites that are allowed, by rule and row; `batch` has the Specs."""
        groups = self._allowed(self.space.encodings[kind].kind, batch, allowed)
        yield from self._apply(specs, batch, groups)

    def _apply(self, specs: Specs, batch: Batch, groups: Iterator[ToTry]) -> Iterator[Applied]:
        """The edges of groups of rewrites."""
        rewritten: list[Rewritten] = []
        count = 0
        for rows, rewrites in groups:
            guarded = batch if len(rows) == len(batch) else batch[rows]
            for rule, rewrite in rewrites:
                self._check()
                for edges in expand(rewrite, guarded, self.space.target):
                    rewritten.append(Rewritten(rule, rows[edges.rows], edges))
                    count += len(edges.rows)
                if count > MOST_ROWS:
                    yield self._admitted(specs, rewritten)
                    rewritten, count = [], 0
        if rewritten:
            yield self._admitted(specs, rewritten)

    def show(self, wave: int, specs: int, rewrites: int, seconds: float) -> None:
        """Report a wave of an expansion: how many Specs and rewrites it added."""
        space, pruning = self.space, self.pruning
        bound = "relaxed" if space.relaxed else "any cost"
        if pruning is not None and pruning.upper < np.inf:
            bound = f"at most {pruning.upper:,.0f} cycles"
        debug.show(
            "search",
            f"{space.goal.expression}, {bound}, wave {wave}: {specs:,} Specs, {rewrites:,} "
            f"rewrites, {1e3 * seconds:.1f} ms",
        )

    def _affordable(
        self, kind: Kind, batch: Batch, cutoffs: Floats, extents: bool
    ) -> Iterator[ToTry]:
        """The rewrites to try that lower only the extent, or all others."""
        groups = self.space.numbered(kind, extents)
        affordable = None
        if self.pruning is not None:
            rewrites = self.space.rewrites(kind)
            affordable = self.pruning.bound.affordable(batch, cutoffs, rewrites)
        if affordable is None:
            for guard, numbered in groups:
                rows = guard(batch).nonzero()[0]
                if len(rows):
                    yield rows, numbered
            return
        some = np.any(affordable, axis=1).tolist()
        for guard, numbered in groups:
            chosen = [(number, rewrite) for number, rewrite in numbered if some[number]]
            if chosen:
                admitted = affordable[[number for number, _ in chosen]].any(axis=0)
                rows = (guard(batch) & admitted).nonzero()[0]
                if len(rows):
                    yield rows, chosen

    def _allowed(self, kind: Kind, batch: Batch, allowed: Bools) -> Iterator[ToTry]:
        """As `_affordable`, for each rewrite alone, on the rows where it is allowed."""
        some = np.any(allowed, axis=1).tolist()
        for extents in (True, False):
            for guard, numbered in self.space.numbered(kind, extents):
                chosen = [(number, rewrite) for number, rewrite in numbered if some[number]]
                admitted = guard(batch) if chosen else None
                for number, rewrite in chosen:
                    rows = (admitted & allowed[number]).nonzero()[0]
                    if len(rows):
                        yield rows, [(number, rewrite)]

    def _admitted(self, specs: Specs, rewritten: Sequence[Rewritten]) -> Applied:
        """The edges that fit their limits and may belong to a program that is cheap enough."""
        limits, pruning = self.space.limits, self.pruning
        counts = [len(each.rows) for each in rewritten]
        rule, arity = (
            np.repeat(np.array(column, np.uint8), counts)
            for column in zip(*((r.rule, len(r.edges.children)) for r in rewritten), strict=True)
        )
        rows = np.concatenate([each.rows for each in rewritten])
        parent, limit, cutoff = specs.numbers[rows], specs.limits[rows], specs.cutoffs[rows]
        own, allocation = np.empty(len(rule)), np.zeros(len(rule), np.int64)
        end = 0
        for count, each in zip(counts, rewritten, strict=True):
            here = slice(end, end + count)
            own[here] = each.edges.cost
            if each.edges.allocation:
                allocation[here] = limits.column(each.edges.allocation, count)
            end += count
        times, children = self._children([each.edges for each in rewritten])
        child_bounds = np.zeros(len(times))
        if pruning is not None:
            for batch, slots in children:
                child_bounds[slots] = times[slots] * pruning.bound(batch)
        bounds = own + np.bincount(edge_of_slots(arity), child_bounds, len(own))
        edges = EdgeColumns(parent, rule, arity, own, allocation, times)
        applied = Applied(edges, limit, cutoff, bounds, child_bounds, children)
        chosen: Bools = np.asarray(limits.fits(allocation, limit))
        if not all_rows(chosen):
            self.dropped.append(Dropped(parent[~chosen], rule[~chosen], bounds[~chosen]))
        if pruning is not None:
            chosen &= (bounds < engine.INFINITE) & (bounds <= cutoff)
        return applied if all_rows(chosen) else applied.of(chosen)

    def _children(self, rewritten: Sequence[Edges]) -> tuple[Ints, list[tuple[Batch, Ints]]]:
        """How often children run, by slot; and the children of each kind, with their slots."""
        times: list[Ints] = []
        by_kind: dict[int, list[tuple[Batch, Ints]]] = defaultdict(list)
        start = 0
        for edges in rewritten:
            count, arity = len(edges.rows), len(edges.children)
            here = np.empty((count, arity), np.int32)
            slots = np.arange(start, start + count * arity, dtype=np.int32).reshape(count, arity)
            for position, child in enumerate(edges.children):
                here[:, position] = child.times
                kind = self.space.kind_number(child.batch)
                by_kind[kind].append((child.batch, slots[:, position]))
            times.append(here.ravel())
            start += count * arity
        children = []
        for parts in by_kind.values():
            batches, columns = zip(*parts, strict=True)
            children.append((Batch.concatenate(batches), np.concatenate(columns)))
        return np.concatenate(times), children
