"""Expanding the relaxed space of goals, breadth first.

Nothing in it is pruned by cost. So a Spec may be expanded before all its parents are, and one
kind of Specs after another is expanded in a few steps, each of all Specs that were reached since
the last. Memory limits, which depend on the parents, are applied at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from morello import engine
from morello.base import debug
from morello.base.errors import SearchError
from morello.engine.keys import Numbering
from morello.ir.placements import Ints
from morello.memo.answers import MemoizedAnswers
from morello.search.budget import Progress
from morello.search.graph import Dropped, Nodes, SearchGraph
from morello.search.rewriting import MOST_ROWS, Applied, EdgeColumns, Rewriter, Specs
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space


@dataclass
class _Reached:
    """The Specs of a kind that were reached, numbered in the order in which they were.

    To the first `expanded` of them, the rewrites that lower only the extent were applied, and to
    the first `finished`, all others.
    """

    rank: SpecRank
    keys: Numbering = field(default_factory=Numbering)
    expanded: int = 0
    finished: int = 0

    def __len__(self) -> int:
        return len(self.keys.values)


class _Relaxation:
    """The state of an expansion.

    `reached` has the Specs of each kind, by the number of the kind in the space. Edges and
    children are kept with that number; parents and children are numbers of Specs within it. The
    children have their slots as well.
    """

    def __init__(self, space: Space, progress: Progress | None) -> None:
        self.space, self.progress = space, progress
        self.rewriter = Rewriter(space, None)
        self.reached: dict[int, _Reached] = {}
        self.edges: list[tuple[int, EdgeColumns]] = []
        self.children: list[tuple[int, Ints, Ints]] = []
        self.roots: list[tuple[int, int]] = []  # kinds, and numbers within them
        self.edge_count = self.slot_count = 0

    def run(self) -> SearchGraph:
        for goal in self.space.goal_batches():
            number = self.space.kind_number(goal)
            (spec,) = self._reach(number, self.space.encoding(goal).keys(goal)).tolist()
            self.roots.append((number, spec))
        waves = 0
        while (kind := self._next()) is not None:
            began, before = time.perf_counter(), self.edge_count
            specs = self._expand(kind)
            waves += 1
            if self.progress is not None and debug.shows("search"):
                edges = self.edge_count - before
                self.rewriter.show(waves, specs, edges, time.perf_counter() - began)
        return self._graph(waves)

    def _check(self) -> None:
        if self.progress is not None:
            self.progress(sum(map(len, self.reached.values())), self.edge_count)

    def _next(self) -> int | None:
        """The next kind to expand, if there is any: the first of those of the highest rank.

        Rewrites that lower only the extent come first, in all kinds of a rank.
        """
        waiting = [
            (reached.rank, reached.expanded < len(reached), -kind)
            for kind, reached in self.reached.items()
            if reached.finished < len(reached)
        ]
        return -max(waiting)[2] if waiting else None

    def _expand(self, kind: int) -> int:
        """Apply rewrites to the next Specs of a kind; gives how many these are."""
        reached = self.reached[kind]
        extending = reached.expanded < len(reached)
        first = reached.expanded if extending else reached.finished
        last = min(len(reached), first + MOST_ROWS)
        if extending:
            reached.expanded = last
        else:
            reached.finished = last
        keys = reached.keys.values[first:last].copy()
        limit = np.full(len(keys), self.space.limits.pack(self.space.target.limits))
        cutoff = np.full(len(keys), np.inf)
        specs = Specs(keys, np.arange(first, last, dtype=np.int32), limit, cutoff)
        for applied in self.rewriter.apply(kind, specs, extending):
            self._add(kind, applied)
        return len(keys)

    def _add(self, kind: int, applied: Applied) -> None:
        """Record edges of Specs of a kind, and reach the Specs that they lead to."""
        self._check()
        self.edges.append((kind, applied.edges))
        for child_kind, keys, slots in applied.children:
            children = self._reach(child_kind, keys)
            self.children.append((child_kind, children, slots + np.int32(self.slot_count)))
        self.edge_count += len(applied.edges.rule)
        self.slot_count += len(applied.edges.times)

    def _reach(self, kind: int, keys: Ints) -> Ints:
        """The numbers of Specs within their kind; some may be new."""
        if kind not in self.reached:
            self.reached[kind] = _Reached(common_rank(self.space.encodings[kind].kind))
        return self.reached[kind].keys.numbers(keys)

    def _graph(self, waves: int) -> SearchGraph:
        """The graph, without what exceeds the memory limits."""
        space, limits = self.space, self.space.limits
        kinds, keys, position = self._sorted()
        child = np.empty(self.slot_count, np.int32)
        for kind, children, slots in self.children:
            child[slots] = position[kind][children]
        self.children.clear()
        parts = [edges._replace(parent=position[kind][edges.parent]) for kind, edges in self.edges]
        self.edges.clear()
        edges = EdgeColumns.concatenate(parts)
        parent = edges.parent
        if (child <= np.repeat(parent, edges.arity)).any():
            raise SearchError(f"{space}: a Spec was reached from one of no higher rank.")
        full = limits.pack(space.target.limits)
        start, members = engine.by_group(parent, len(keys))
        roots = np.array([position[kind][number] for kind, number in self.roots])
        limit, fit = engine.memory_left(
            edges.hypergraph(child), start, members, roots, full, limits.packing
        )
        reached = limit >= 0
        dropped = reached[parent] & ~fit
        number = np.cumsum(reached, dtype=np.int32) - np.int32(1)
        nodes = int(reached.sum())
        fitting = edges.of(fit)
        fitting = fitting._replace(parent=number[fitting.parent])
        return SearchGraph(
            space=space,
            nodes=Nodes(kinds[reached], keys[reached], limit[reached], np.full(nodes, np.inf)),
            edges=fitting.hypergraph(number[child[np.repeat(fit, edges.arity)]]),
            waves=waves,
            roots=number[roots],
            dropped=Dropped(number[parent[dropped]], edges.rule[dropped], edges.own[dropped]),
            memoized=MemoizedAnswers.nothing(nodes),
        )

    def _sorted(self) -> tuple[Ints, Ints, dict[int, Ints]]:
        """All Specs by falling rank: their kinds and keys; and each kind's positions there."""
        space = self.space
        common = sorted({reached.rank for reached in self.reached.values()}, reverse=True)
        columns = []
        for kind, reached in self.reached.items():
            columns.append(
                (
                    np.full(len(reached), kind, np.int16),
                    reached.keys.values,
                    np.full(len(reached), common.index(reached.rank)),
                    -space.encodings[kind].extents(reached.keys.values, space.target),
                )
            )
        kinds, keys, *rank = map(np.concatenate, zip(*columns, strict=True))
        order = np.lexsort(rank[::-1])
        position = np.empty(len(keys), np.int32)
        position[order] = np.arange(len(keys), dtype=np.int32)
        ends = np.cumsum([len(reached) for reached in self.reached.values()])
        positions: dict[int, Ints] = dict(
            zip(self.reached, np.split(position, ends[:-1]), strict=True)
        )
        return kinds[order], keys[order], positions


def relax(space: Space, progress: Progress | None = None) -> SearchGraph:
    """Expand everything that the rules of a relaxed space can reach from its goals."""
    return _Relaxation(space, progress).run()
