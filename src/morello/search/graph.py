"""The graph of what a search has reached of a goal's space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello import engine
from morello.ir.batch import Batch
from morello.ir.placements import Ints
from morello.ir.spec import Spec
from morello.memo.answers import MemoizedAnswers
from morello.rewrites import Rewrite
from morello.space.space import Space

Floats = npt.NDArray[np.floating[Any]]


class Dropped(NamedTuple):
    """Rewrites that need too much memory: their node, rule, and a lower bound on their cost."""

    parent: Ints
    rule: Ints
    bound: Floats

    def lowest_bounds(self, nodes: int) -> Floats:
        """The lowest bound of each of so many nodes, `INFINITE` if it has none."""
        result = np.full(nodes, engine.INFINITE)
        np.minimum.at(result, self.parent, self.bound)
        return result


@dataclass
class SearchGraph:
    """A hypergraph in flat arrays: nodes (family, key), edges (parent, rule, ...), children.

    By node: the most memory that any program of the goal leaves it (`limit`), and the most that it
    may cost (`budget`). `dropped` are the rewrites that need more memory than `limit`. `known` has
    the memoized answers of nodes that were not expanded.
    """

    space: Space
    kinds: Ints
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
    dropped: Dropped
    memoized: MemoizedAnswers

    def batch(self, nodes: Ints) -> Batch:
        """The Specs of some nodes, at least one, all of the same family."""
        family = self.space.encodings[int(self.kinds[nodes[0]])]
        return family.batch(self.keys[nodes], self.space.placements)

    def spec(self, node: int) -> Spec:
        return self.batch(np.array([node])).spec()

    @property
    def bounds(self) -> engine.Bounds:
        """Every node's edges in order of their cost without limits."""
        return self.problem.bounds

    @cached_property
    def problem(self) -> engine.Problem:
        """The graph for the engine."""
        limits, nodes = self.space.limits, len(self.keys)
        cost, peak = np.full(nodes, engine.INFINITE), np.zeros(nodes, np.int64)
        known = self.memoized
        here = known.within(self.limit[known.spec], limits)
        cost[known.spec[here]], peak[known.spec[here]] = known.cost[here], known.peak[here]
        graph = engine.Hypergraph(
            self.parent,
            self.rule,
            self.own,
            self.allocation,
            self.first_child,
            self.child,
            self.times,
        )
        bounds = engine.bounds(graph, cost, peak, limits.packing)
        return engine.Problem(graph, bounds, limits.packing)

    def rewrite(self, edge: int) -> Rewrite:
        """The rewrite of an edge, made concrete for its Spec."""
        node = int(self.parent[edge])
        spec = self.spec(node)
        kind = self.space.encodings[int(self.kinds[node])].kind
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
