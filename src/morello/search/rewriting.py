"""Applying rewrites to many Specs of one kind at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from morello import engine
from morello.base import debug
from morello.engine.recorded import Recorded
from morello.ir.placements import Bools, Ints, Placements, all_rows
from morello.rewrites import Rank, Rewrite
from morello.search.graph import Dropped, Floats
from morello.search.traced_rules import TracedRules
from morello.space.encoding import SpecEncoding
from morello.space.space import Space

MOST_ROWS = 1 << 12
"""The most Specs whose rewrites are applied at once: their edges fit a core's caches."""


class LowerBound(Protocol):
    """Lower bounds on the costs of Specs."""

    def of(self, encoding: SpecEncoding, keys: Ints, placements: Placements) -> Floats:
        """The bounds of the Specs with these keys."""

    def affordable(
        self, encoding: SpecEncoding, keys: Ints, placements: Placements, cutoffs: Floats,
        rewrites: Sequence[Rewrite],
    ) -> Bools | None:  # fmt: skip
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

    def of(self, rows: Ints | Bools | slice) -> Specs:
        """Some of them."""
        return Specs(self.keys[rows], self.numbers[rows], self.limits[rows], self.cutoffs[rows])

    @staticmethod
    def concatenate(parts: Sequence[Specs]) -> Specs:
        columns = zip(*((p.keys, p.numbers, p.limits, p.cutoffs) for p in parts), strict=True)
        return Specs(*map(np.concatenate, columns))


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
    together. `children` has Specs of one kind after another: its number, their keys and slots.
    """

    edges: EdgeColumns
    limits: Ints
    cutoffs: Floats
    bounds: Floats
    child_bounds: Floats
    children: list[tuple[int, Ints, Ints]]

    def of(self, chosen: Bools) -> Applied:
        """Some of the edges."""
        slots = chosen[edge_of_slots(self.edges.arity)]
        number = np.cumsum(slots, dtype=np.int32) - np.int32(1)
        children: list[tuple[int, Ints, Ints]] = []
        for kind, keys, slot in self.children:
            rows = slots[slot].nonzero()[0]
            if len(rows):
                children.append((kind, keys[rows], number[slot[rows]]))
        return Applied(
            self.edges.of(chosen), self.limits[chosen], self.cutoffs[chosen], self.bounds[chosen],
            self.child_bounds[slots], children,
        )  # fmt: skip


def edge_of_slots(arity: Ints) -> Ints:
    """The edge that every slot belongs to."""
    return np.repeat(np.arange(len(arity), dtype=np.int32), arity)


class Rewriter:
    """Applies the rewrites of a space to Specs.

    `dropped` has the edges that exceeded their limits.
    """

    def __init__(self, space: Space, pruning: Pruning | None) -> None:
        self.space, self.pruning = space, pruning
        self.dropped: list[Dropped] = [Dropped.nothing()]
        self._traced: dict[int, TracedRules] = {}

    def apply(self, kind: int, specs: Specs, *, extents: bool) -> Iterator[Applied]:
        """The edges of all rewrites that lower only the extent, or of all others."""
        encoding = self.space.encodings[kind]
        rewrites = self.space.rewrites(encoding.kind)
        lowered = [(rewrite.lowers is Rank.EXTENT) is extents for rewrite in rewrites]
        tried = np.array(lowered, np.bool_)
        for start in range(0, len(specs.keys), MOST_ROWS):
            some = specs.of(slice(start, start + MOST_ROWS))
            allowed = None
            if self.pruning is not None:
                allowed = self.pruning.bound.affordable(
                    encoding, some.keys, self.space.placements, some.cutoffs, rewrites
                )
            if allowed is None:
                allowed = np.ones((len(rewrites), len(some.keys)), np.bool_)
            allowed &= tried[:, np.newaxis]
            yield from self.apply_rules(kind, some, allowed)

    def apply_rules(self, kind: int, specs: Specs, allowed: Bools) -> Iterator[Applied]:
        """The edges of the rewrites that are allowed, by rule and row."""
        if kind not in self._traced:
            self._traced[kind] = TracedRules(self.space, kind)
        recorded = self._traced[kind].run(specs.keys, allowed)
        if len(recorded.rule):
            yield self._admitted(specs, recorded)

    def _admitted(self, specs: Specs, recorded: Recorded) -> Applied:
        """The edges that fit their limits and may belong to a program that is cheap enough."""
        space, pruning = self.space, self.pruning
        rows, own, allocation = recorded.row, recorded.own, recorded.allocation
        limit, cutoff = specs.limits[rows], specs.cutoffs[rows]
        edges = EdgeColumns(
            specs.numbers[rows], recorded.rule, recorded.arity, own, allocation, recorded.times
        )
        children = []
        child_bounds = np.zeros(len(edges.times))
        for kind in np.unique(recorded.kind).tolist():
            slots = (recorded.kind == kind).nonzero()[0].astype(np.int32)
            encoding = space.encodings[kind]
            words = [recorded.words[slots, place] for place in range(encoding.words)]
            keys = encoding.join(words, space.placements)
            children.append((kind, keys, slots))
            if pruning is not None:
                bound = pruning.bound.of(encoding, keys, space.placements)
                child_bounds[slots] = edges.times[slots] * bound
        bounds = own + np.bincount(edge_of_slots(edges.arity), child_bounds, len(own))
        applied = Applied(edges, limit, cutoff, bounds, child_bounds, children)
        chosen: Bools = np.asarray(space.limits.fits(allocation, limit))
        if not all_rows(chosen):
            self.dropped.append(
                Dropped(edges.parent[~chosen], edges.rule[~chosen], bounds[~chosen])
            )
        if pruning is not None:
            chosen &= (bounds < engine.INFINITE) & (bounds <= cutoff)
        return applied if all_rows(chosen) else applied.of(chosen)


def show_wave(
    space: Space, bound: str, wave: int, specs: int, rewrites: int, seconds: float
) -> None:
    """Report a wave of an expansion up to a bound: how many Specs and rewrites it added."""
    debug.show(
        "search",
        f"{space}, {bound}, wave {wave}: {specs:,} Specs, {rewrites:,} "
        f"rewrites, {1e3 * seconds:.1f} ms",
    )
