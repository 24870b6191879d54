"""Expanding the relaxed space of goals, breadth first.

Nothing in it is pruned by cost. So a Spec may be expanded before all its parents are, and one
kind of Specs after another is expanded in a few steps, each of all Specs that were reached since
the last. Memory limits, which depend on the parents, are applied at the end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from morello import engine
from morello.base import debug
from morello.engine.columns import Columns
from morello.ir.placements import Ints
from morello.search.budget import Progress
from morello.search.graph import Floats
from morello.search.reaching import Reaching
from morello.search.rewriting import MOST_ROWS, show_wave
from morello.search.traced_rules import TracedRules
from morello.space.ranks import SpecRank, common_rank
from morello.space.space import Space


@dataclass(frozen=True)
class RelaxedSpace:
    """The relaxed space of goals, solved.

    `specs` has the keys and the nodes of all Specs that fit the memory limits, by the number of
    their kind in the space. By node: the memory that is left for it, and a lower bound on its cost.
    By edge: a lower bound on the cost of its rewrite (see `engine.least_costs`).
    """

    space: Space
    specs: dict[int, tuple[Ints, Ints]]
    graph: engine.Expanded
    limit: Ints
    low: Floats
    bound: Floats


@dataclass
class _Waiting:
    """A kind of Specs, and the nodes that wait for their expansion, in order."""

    rank: SpecRank
    rules: TracedRules
    nodes: list[Ints] = field(default_factory=list)


class _Relaxation:
    """The state of an expansion.

    `kinds` has the kinds that were reached, by their numbers in the space; `waiting`, those that
    have Specs to expand; `expanded`, the nodes that were expanded, step by step. Their edges are
    parts of columns: `edges` and `children` by node, the others by edge and child (see
    `engine.Expanded`).
    """

    def __init__(self, space: Space, progress: Progress | None) -> None:
        self.space, self.progress = space, progress
        self.full = space.limits.pack(space.target.limits)
        self.nodes = Columns({"kind": np.int16, "key": np.int64})
        self.reaching = Reaching(space, self.nodes)
        self.kinds: dict[int, _Waiting] = {}
        self.waiting: dict[int, _Waiting] = {}
        self.expanded: list[Ints] = []
        self.columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _COLUMNS}
        self.edge_count = 0

    def run(self) -> RelaxedSpace:
        roots = []
        for goal in self.space.goal_batches():
            before, encoding = len(self.nodes), self.space.encoding(goal)
            kind = self.space.kind_number(goal)
            roots.append(self.reaching.specs(kind, encoding.keys(goal)))
            self._wait(before)
        waves = 0
        while self.waiting:
            began, before = time.perf_counter(), self.edge_count
            specs = self._expand()
            waves += 1
            self._check()
            if self.progress is not None and debug.shows("search"):
                edges, seconds = self.edge_count - before, time.perf_counter() - began
                show_wave(self.space, "relaxed", waves, specs, edges, seconds)
        return self._solved(np.concatenate(roots))

    def _expand(self) -> int:
        """Apply all rewrites to the next Specs of a kind; gives how many these are.

        The kind is the first of those of the highest rank.
        """
        kind = max(self.waiting, key=lambda number: (self.waiting[number].rank, -number))
        waiting = self.waiting.pop(kind)
        nodes = np.concatenate(waiting.nodes)
        nodes, later = nodes[:MOST_ROWS], nodes[MOST_ROWS:]
        waiting.nodes.clear()
        if len(later):
            self._wait_for(kind, later)
        wanted = np.ones((len(waiting.rules), len(nodes)), np.bool_)
        self._add(nodes, waiting.rules.unordered(self.nodes["key"][nodes], wanted))
        return len(nodes)

    def _add(self, nodes: Ints, given: engine.RecordedEdges) -> None:
        """Keep the edges of nodes that may fit the memory, and reach the Specs they lead to."""
        before, packing = len(self.nodes), self.space.limits.packing
        child = self.reaching.children(given, self.full)
        self._wait(before)
        edges = engine.by_node(given, child, len(nodes), self.full, packing)
        self.expanded.append(nodes)
        for name, parts in self.columns.items():
            parts.append(getattr(edges, name))
        self.edge_count += len(edges.rule)

    def _wait(self, first: int) -> None:
        """Let nodes wait for their expansion, from the first that is new."""
        kinds = self.nodes["kind"][first:]
        for start in np.flatnonzero(np.diff(kinds, prepend=-1)).tolist():
            kind = int(kinds[start])
            count = int(np.searchsorted(kinds[start:], kind, "right"))
            nodes = np.arange(first + start, first + start + count, dtype=np.int32)
            self._wait_for(kind, nodes)

    def _wait_for(self, kind: int, nodes: Ints) -> None:
        if kind not in self.kinds:
            rank = common_rank(self.space.encodings[kind].kind)
            self.kinds[kind] = _Waiting(rank, TracedRules(self.space, kind))
        self.waiting[kind] = self.kinds[kind]
        self.kinds[kind].nodes.append(nodes)

    def _solved(self, roots: Ints) -> RelaxedSpace:
        """Bounds on the costs of what does not exceed the memory limits."""
        space, packing = self.space, self.space.limits.packing
        start, members = engine.by_group(self.nodes["kind"], len(space.encodings))
        of_kind = {kind: members[start[kind] : start[kind + 1]] for kind in self.kinds}
        order = self._order(of_kind)
        self._check()  # each of these steps may take a tenth of a second
        graph = self._graph()
        self._check()
        limit = engine.memory_left(graph, order, roots, self.full, packing)
        self._check()
        low, bound = engine.least_costs(graph, order, limit, packing)
        specs = {}
        for kind, nodes in of_kind.items():
            fit = nodes[limit[nodes] >= 0]
            specs[kind] = self.nodes["key"][fit], fit
        return RelaxedSpace(space, specs, graph, limit, low, bound)

    def _check(self) -> None:
        """Report progress, which raises once the time is up."""
        if self.progress is not None:
            self.progress(len(self.nodes), self.edge_count)

    def _graph(self) -> engine.Expanded:
        """The edges of all steps; each column's parts are let go before the next is made."""
        nodes = np.concatenate(self.expanded)
        columns = {}
        for name in _COLUMNS:
            columns[name] = np.concatenate(self.columns.pop(name))
        edges, children = columns.pop("edges"), columns.pop("children")
        first_edge, end_edge, first_child = np.empty((3, len(nodes)), np.int32)
        end_edge[nodes] = np.cumsum(edges)
        first_edge[nodes] = np.cumsum(edges) - edges
        first_child[nodes] = np.cumsum(children) - children
        return engine.Expanded(first_edge, end_edge, first_child, **columns)

    def _order(self, of_kind: Mapping[int, Ints]) -> Ints:
        """All nodes by falling rank; they are given by kind."""
        space, keys = self.space, self.nodes["key"]
        common = sorted({kind.rank for kind in self.kinds.values()}, reverse=True)
        extents = {
            kind: space.encodings[kind].extents(keys[nodes], space.target)
            for kind, nodes in of_kind.items()
        }
        most = max(int(extent.max()) for extent in extents.values())
        place = np.empty(len(self.nodes), np.int32)
        for kind, nodes in of_kind.items():
            first = common.index(self.kinds[kind].rank) * (most + 1)
            place[nodes] = first + most - extents[kind]
        _, order = engine.by_group(place, len(common) * (most + 1))
        return order


_COLUMNS = "edges", "children", "rule", "arity", "own", "allocation", "child", "times"
"""The columns that each step adds a part to: its nodes' counts, its edges, and their children."""


def relax(space: Space, progress: Progress | None = None) -> RelaxedSpace:
    """Solve everything that the rules of a relaxed space can reach from its goals."""
    return _Relaxation(space, progress).run()
