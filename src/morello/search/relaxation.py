"""Expanding the relaxed space of goals, breadth first.

Nothing in it is pruned by cost. So a Spec may be expanded before all its parents are, and one
kind of Specs after another is expanded in a few steps, each of all Specs that were reached since
the last. Memory limits, which depend on the parents, are applied at the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from morello import engine
from morello.base import debug
from morello.engine.columns import Column
from morello.engine.keys import Numbering
from morello.engine.tape import Recorded
from morello.ir.placements import Ints
from morello.search.budget import Progress
from morello.search.graph import Floats
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
class _Reached:
    """The Specs of a kind that were reached, in the order in which they were, and their nodes.

    The first `expanded` of them are expanded.
    """

    rank: SpecRank
    rules: TracedRules
    keys: Numbering = field(default_factory=Numbering)
    nodes: Column = field(default_factory=lambda: Column(np.int32))
    expanded: int = 0

    def __len__(self) -> int:
        return len(self.keys.values)


class _Relaxation:
    """The state of an expansion.

    `reached` has the Specs of each kind, by the number of the kind in the space; `expanded`, the
    nodes that were expanded, step by step. Their edges are parts of columns: `edges` and
    `children` by node, the others by edge and child (see `engine.Expanded`).
    """

    def __init__(self, space: Space, progress: Progress | None) -> None:
        self.space, self.progress = space, progress
        self.full = space.limits.pack(space.target.limits)
        self.reached: dict[int, _Reached] = {}
        self.expanded: list[Ints] = []
        self.columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _COLUMNS}
        self.node_count = self.edge_count = 0

    def run(self) -> RelaxedSpace:
        roots = [
            self._reach(self.space.kind_number(goal), self.space.encoding(goal).keys(goal))
            for goal in self.space.goal_batches()
        ]
        waves = 0
        while (kind := self._next()) is not None:
            began, before = time.perf_counter(), self.edge_count
            specs = self._expand(kind)
            waves += 1
            if self.progress is not None:
                self.progress(self.node_count, self.edge_count)
                if debug.shows("search"):
                    edges, seconds = self.edge_count - before, time.perf_counter() - began
                    show_wave(self.space, "relaxed", waves, specs, edges, seconds)
        return self._solved(np.concatenate(roots))

    def _next(self) -> int | None:
        """The next kind to expand, if there is any: the first of those of the highest rank."""
        waiting = [
            (reached.rank, -kind)
            for kind, reached in self.reached.items()
            if reached.expanded < len(reached)
        ]
        return -max(waiting)[1] if waiting else None

    def _expand(self, kind: int) -> int:
        """Apply all rewrites to the next Specs of a kind; gives how many these are."""
        reached = self.reached[kind]
        some = slice(reached.expanded, min(len(reached), reached.expanded + MOST_ROWS))
        reached.expanded = some.stop
        keys, nodes = reached.keys.values[some].copy(), reached.nodes.now[some].copy()
        wanted = np.ones((len(reached.rules), len(keys)), np.bool_)
        self._add(nodes, reached.rules.unordered(keys, wanted))
        return len(keys)

    def _add(self, nodes: Ints, recorded: Recorded) -> None:
        """Keep the edges of nodes that may fit the memory, and reach the Specs they lead to."""
        space = self.space
        kinds, packing = len(space.encodings), space.limits.packing
        edges = engine.by_node(recorded, len(nodes), kinds, self.full, packing)
        child = np.empty(len(edges.times), np.int32)
        for kind in range(kinds):
            some = slice(edges.first[kind], edges.first[kind + 1])
            if some.start < some.stop:
                encoding, source = space.encodings[kind], edges.source[some]
                words = [recorded.words[source, place] for place in range(encoding.words)]
                child[edges.position[some]] = self._reach(
                    kind, encoding.join(words, space.placements)
                )
        self.expanded.append(nodes)
        for name, parts in self.columns.items():
            parts.append(child if name == "child" else getattr(edges, name))
        self.edge_count += len(edges.rule)

    def _reach(self, kind: int, keys: Ints) -> Ints:
        """The nodes of Specs of a kind; some may be new."""
        if kind not in self.reached:
            rank = common_rank(self.space.encodings[kind].kind)
            self.reached[kind] = _Reached(rank, TracedRules(self.space, kind))
        reached = self.reached[kind]
        numbers = reached.keys.numbers(keys)
        new = len(reached) - len(reached.nodes)
        reached.nodes.append(np.arange(self.node_count, self.node_count + new), new)
        self.node_count += new
        result: Ints = reached.nodes.now[numbers]
        return result

    def _solved(self, roots: Ints) -> RelaxedSpace:
        """Bounds on the costs of what does not exceed the memory limits."""
        space, packing = self.space, self.space.limits.packing
        graph, order = self._graph(), self._order()
        limit = engine.memory_left(graph, order, roots, self.full, packing)
        low, bound = engine.least_costs(graph, order, limit, packing)
        specs = {}
        for kind, reached in self.reached.items():
            fit = limit[reached.nodes.now] >= 0
            specs[kind] = reached.keys.values[fit], reached.nodes.now[fit]
        return RelaxedSpace(space, specs, graph, limit, low, bound)

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

    def _order(self) -> Ints:
        """All nodes by falling rank."""
        space = self.space
        common = sorted({reached.rank for reached in self.reached.values()}, reverse=True)
        extents = {
            kind: space.encodings[kind].extents(reached.keys.values, space.target)
            for kind, reached in self.reached.items()
        }
        most = max(int(extent.max()) for extent in extents.values())
        place = np.empty(self.node_count, np.int32)
        for kind, reached in self.reached.items():
            first = common.index(reached.rank) * (most + 1)
            place[reached.nodes.now] = first + most - extents[kind]
        _, order = engine.by_group(place, len(common) * (most + 1))
        return order


_COLUMNS = "edges", "children", "rule", "arity", "own", "allocation", "child", "times"
"""The columns that each step adds a part to: its nodes' counts, its edges, and their children."""


def relax(space: Space, progress: Progress | None = None) -> RelaxedSpace:
    """Solve everything that the rules of a relaxed space can reach from its goals."""
    return _Relaxation(space, progress).run()
