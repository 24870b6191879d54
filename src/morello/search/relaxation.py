"""Expanding the relaxed space of a goal, breadth first.

Nothing in it is pruned by cost. So a Spec may be expanded before all its parents are, and one
family of Specs after another is expanded in a few steps, each of all Specs that were reached since
the last. Memory limits, which depend on the parents, are applied at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from morello import engine
from morello.base import debug
from morello.base.errors import SearchError
from morello.engine.keys import Numbering
from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.memo.answers import MemoizedAnswers
from morello.search.budget import Progress
from morello.search.graph import Dropped, Floats, SearchGraph
from morello.search.rewriting import MOST_ROWS, Applied, Rewriter, Specs
from morello.space.kind import Kind
from morello.space.ranks import SpecRank, common_rank, extents
from morello.space.space import Space


@dataclass
class _Family:
    """The Specs of a family that were reached, numbered in the order in which they were.

    To the first `expanded` of them, the rewrites that lower only the extent were applied, and to
    the first `finished`, all others.
    """

    rank: SpecRank
    keys: Numbering = field(default_factory=Numbering)
    expanded: int = 0
    finished: int = 0

    def __len__(self) -> int:
        return len(self.keys.values)


class _Edges(NamedTuple):
    """Edges of a family, and how often their children run; parents by number in the family."""

    parent: Ints
    rule: Ints
    arity: Ints
    own: Floats
    allocation: Ints
    times: Ints


_NO_EDGES = _Edges(
    np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8), np.empty(0),
    np.empty(0, np.int64), np.empty(0, np.int32),
)  # fmt: skip


class _Relaxation:
    """The state of an expansion: what was reached, by families and their numbers in the space.

    `children` has the numbers of children in their family, with their slots in the array of all.
    """

    def __init__(self, space: Space, progress: Progress | None) -> None:
        self.space, self.progress = space, progress
        self.rewriter = Rewriter(space, None, self._check)
        self.families: dict[int, _Family] = {}
        self.edges: list[tuple[int, _Edges]] = []
        self.children: list[tuple[int, Ints, Ints]] = []
        self.edge_count = self.slot_count = 0

    def run(self) -> SearchGraph:
        self._reach(self.space.goal_batch())
        waves = 0
        while (family := self._next()) is not None:
            began, before = time.perf_counter(), self.edge_count
            specs = self._expand(family)
            waves += 1
            if self.progress is not None and debug.shows("search"):
                edges = self.edge_count - before
                self.rewriter.show(waves, specs, edges, time.perf_counter() - began)
        return self._graph(waves)

    def _check(self) -> None:
        if self.progress is not None:
            self.progress(sum(map(len, self.families.values())), self.edge_count)

    def _next(self) -> int | None:
        """The next family to expand, if there is any: the first of those of the highest rank.

        Rewrites that lower only the extent come first, in all families of a rank.
        """
        waiting = [
            (family.rank, family.expanded < len(family), -number)
            for number, family in self.families.items()
            if family.finished < len(family)
        ]
        return -max(waiting)[2] if waiting else None

    def _expand(self, number: int) -> int:
        """Apply rewrites to the next Specs of a family; gives how many these are."""
        family = self.families[number]
        extending = family.expanded < len(family)
        first = family.expanded if extending else family.finished
        last = min(len(family), first + MOST_ROWS)
        if extending:
            family.expanded = last
        else:
            family.finished = last
        keys = family.keys.values[first:last].copy()
        limit = np.full(len(keys), self.space.limits.pack(self.space.target.limits))
        budget = np.full(len(keys), np.inf)
        specs = Specs(keys, np.arange(first, last, dtype=np.int32), limit, budget)
        for applied in self.rewriter.apply(number, specs, extending):
            self._add(number, applied)
        return len(keys)

    def _add(self, number: int, applied: Applied) -> None:
        """Record edges of a family, and reach the Specs that they lead to."""
        edges = _Edges(
            applied.parents.numbers, applied.rule, applied.arity, applied.own,
            applied.allocation, applied.times,
        )  # fmt: skip
        self.edges.append((number, edges))
        for batch, slots in applied.children:
            family, children = self._reach(batch)
            self.children.append((family, children, slots + np.int32(self.slot_count)))
        self.edge_count += len(edges.rule)
        self.slot_count += len(edges.times)

    def _reach(self, batch: Batch) -> tuple[int, Ints]:
        """The family of a batch, and the numbers of its Specs in it; some may be new."""
        number = self.space.kind_number(batch)
        if number not in self.families:
            self.families[number] = _Family(common_rank(Kind.of(batch)))
        keys = self.space.encodings[number].keys(batch)
        return number, self.families[number].keys.numbers(keys)

    def _graph(self, waves: int) -> SearchGraph:
        """The graph, without what exceeds the memory limits."""
        space, limits = self.space, self.space.limits
        families, keys, position = self._sorted()
        child = np.empty(self.slot_count, np.int32)
        for number, children, slots in self.children:
            child[slots] = position[number][children]
        self.children.clear()
        columns = [
            edges._replace(parent=position[number][edges.parent]) for number, edges in self.edges
        ]
        self.edges.clear()
        parent, rule, arity, own, allocation, times = _Edges(
            *(np.concatenate(column) for column in zip(_NO_EDGES, *columns, strict=True))
        )
        if (child <= np.repeat(parent, arity)).any():
            raise SearchError(f"{space.goal}: a Spec was reached from one of no higher rank.")
        graph = engine.Hypergraph(parent, rule, own, allocation, _starts(arity), child, times)
        full = limits.pack(space.target.limits)
        start, members = engine.by_group(parent, len(keys))
        limit, fit = engine.memory_left(graph, start, members, full, limits.packing)
        reached, slots = limit >= 0, np.repeat(fit, arity)
        dropped = reached[parent] & ~fit
        left = np.cumsum(reached, dtype=np.int32) - np.int32(1)
        nodes = int(reached.sum())
        return SearchGraph(
            space, families[reached], keys[reached], left[parent[fit]], rule[fit], own[fit],
            allocation[fit], _starts(arity[fit]), left[child[slots]], times[slots], waves,
            np.zeros(1, np.int32), limit[reached], np.full(nodes, np.inf),
            Dropped(left[parent[dropped]], rule[dropped], own[dropped]),
            MemoizedAnswers.nothing(nodes),
        )  # fmt: skip

    def _sorted(self) -> tuple[Ints, Ints, dict[int, Ints]]:
        """All Specs by falling rank: their families and keys; and each family's positions there."""
        space = self.space
        common = sorted({family.rank for family in self.families.values()}, reverse=True)
        columns = []
        for number, family in self.families.items():
            batch = space.encodings[number].batch(family.keys.values, space.placements)
            columns.append(
                (
                    np.full(len(family), number, np.int16),
                    family.keys.values,
                    np.full(len(family), common.index(family.rank)),
                    -extents(batch, space.target, space.sizes),
                )
            )
        numbers, keys, *rank = map(np.concatenate, zip(*columns, strict=True))
        order = np.lexsort(rank[::-1])
        position = np.empty(len(keys), np.int32)
        position[order] = np.arange(len(keys), dtype=np.int32)
        ends = np.cumsum([len(family) for family in self.families.values()])
        positions: dict[int, Ints] = dict(
            zip(self.families, np.split(position, ends[:-1]), strict=True)
        )
        return numbers[order], keys[order], positions


def _starts(arity: Ints) -> Ints:
    """Where the children of each edge start, and the last one's end."""
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(arity, dtype=np.int32)])


def relax(space: Space, progress: Progress | None = None) -> SearchGraph:
    """Expand everything that the rules of a relaxed space can reach from its goal."""
    return _Relaxation(space, progress).run()
