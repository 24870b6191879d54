"""The graph of what a search has reached of a space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from morello.rewrites import Edges, Rewrite
from morello.rewrites.tile import begins
from morello.space.space import Goal, Space
from morello.targets.target import Condition, Target

Floats = npt.NDArray[np.floating[Any]]

CHOICE = -1
"""In place of a kind's number: for a node that stands for a goal, and has an edge to each Spec."""


@dataclass(frozen=True)
class TakeSpec(Rewrite):
    """The choice among the Specs of a goal: a program's first decision, if there are several."""

    number: int

    def conditions(self, batch: Batch, target: Target) -> Iterator[Condition]:
        """None: a program of any of them will do."""
        return iter(())

    def edges(self, batch: Batch, target: Target) -> Sequence[Edges]:
        """None: it is not a rewrite of a Spec."""
        return ()


def rewrite_of(space: Space, kind: int, key: int, rule: int) -> Rewrite:
    """A rule made concrete for the Spec of a kind that has this key, or the choice of one."""
    if kind == CHOICE:
        return TakeSpec(rule)
    encoding = space.encodings[kind]
    spec = encoding.batch(np.array([key]), space.placements).spec()
    return space.rewrites(encoding.kind)[rule].concrete(spec)


def spec_and_decisions(
    goal: Goal, decisions: Sequence[Rewrite]
) -> tuple[Spec, tuple[Rewrite, ...]]:
    """The Spec that a goal's program chooses, and the decisions after that, in pre-order."""
    if len(goal) == 1:
        return goal[0], tuple(decisions)
    first, *others = decisions
    assert isinstance(first, TakeSpec)
    return goal[first.number], tuple(others)


def of_spec(goal: Goal, number: int, decisions: Sequence[Rewrite]) -> tuple[Rewrite, ...]:
    """The decisions of a goal's program, given those of a program of its Spec of this number."""
    return tuple(decisions) if len(goal) == 1 else (TakeSpec(number), *decisions)


class Nodes(NamedTuple):
    """The Specs of a graph, one per node.

    `kind` is the number of its kind in the space, and `key` the Spec in that kind's encoding. Any
    program of the goal leaves it at most `limit` of the memory, and, if the program is cheap
    enough, `cutoff` is the most that the Spec may cost in it.
    """

    kind: Ints
    key: Ints
    limit: Ints
    cutoff: Floats

    @staticmethod
    def concatenate(parts: Sequence[Nodes]) -> Nodes:
        return Nodes(*map(np.concatenate, zip(*parts, strict=True)))


class Dropped(NamedTuple):
    """Rewrites that need too much memory: their node, rule, and a lower bound on their cost."""

    parent: Ints
    rule: Ints
    bound: Floats

    @staticmethod
    def nothing() -> Dropped:
        """No rewrites."""
        return Dropped(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0))

    @staticmethod
    def concatenate(parts: Sequence[Dropped]) -> Dropped:
        return Dropped(*map(np.concatenate, zip(*parts, strict=True)))

    def lowest_bounds(self, nodes: int) -> Floats:
        """The lowest bound of each of so many nodes, `INFINITE` if it has none."""
        result = np.full(nodes, engine.INFINITE)
        np.minimum.at(result, self.parent, self.bound)
        return result


@dataclass
class SearchGraph:
    """A hypergraph of Specs and rewrites, in which node 0 is the goal, or the choice of one.

    It was expanded in so many `waves` from its `roots`: the goal or, if it is to be added to
    another graph, nodes of that. `dropped` are the rewrites that need more memory than their
    node's limit, if answers are to be memoized. `memoized` has the answers of nodes that were not
    expanded.
    """

    space: Space
    nodes: Nodes
    edges: engine.Hypergraph
    waves: int
    roots: Ints
    dropped: Dropped
    memoized: MemoizedAnswers

    @property
    def node_count(self) -> int:
        """The number of Specs."""
        return len(self.nodes.key)

    @property
    def edge_count(self) -> int:
        """The number of rewrites."""
        return len(self.edges.parent)

    def batch(self, nodes: Ints) -> Batch:
        """The Specs of some nodes, at least one, all of the same kind."""
        encoding = self.space.encodings[int(self.nodes.kind[nodes[0]])]
        return encoding.batch(self.nodes.key[nodes], self.space.placements)

    def spec(self, node: int) -> Spec:
        return self.batch(np.array([node])).spec()

    @property
    def bounds(self) -> engine.Bounds:
        """Every node's edges in order of their cost without limits."""
        return self.problem.bounds

    @cached_property
    def problem(self) -> engine.Problem:
        """The graph for the engine."""
        limits, memoized = self.space.limits, self.memoized
        cost = np.full(self.node_count, engine.INFINITE)
        peak = np.zeros(self.node_count, np.int64)
        here = memoized.within(self.nodes.limit[memoized.spec], limits)
        node = memoized.spec[here]
        cost[node], peak[node] = memoized.cost[here], memoized.peak[here]
        bounds = engine.bounds(self.edges, cost, peak, limits.packing)
        return engine.Problem(self.edges, bounds, limits.packing)

    def rewrite(self, edge: int) -> Rewrite:
        """The rewrite of an edge, made concrete for its Spec."""
        if edge not in self._rewrites:
            node, rule = int(self.edges.parent[edge]), int(self.edges.rule[edge])
            kind, key = int(self.nodes.kind[node]), int(self.nodes.key[node])
            self._rewrites[edge] = rewrite_of(self.space, kind, key, rule)
        return self._rewrites[edge]

    @cached_property
    def _rewrites(self) -> dict[int, Rewrite]:
        """The concrete rewrites so far, by edge: programs share most of theirs."""
        return {}

    def edges_of(self, decisions: Sequence[Rewrite]) -> list[int] | None:
        """The edges of a program's decisions, in pre-order; None if any is not in the graph.

        A loop may be several in the graph that were merged.
        """
        start, order, *_ = self.bounds
        remaining = iter(decisions)
        edges: list[int] = []

        def down(node: int, wanted: Rewrite) -> bool:
            leaving = order[start[node] : start[node + 1]].tolist()
            for edge in leaving:
                if self.rewrite(edge) == wanted:
                    edges.append(edge)
                    return all(down(child, next(remaining)) for child in self._children(edge))
            for edge in leaving:
                children = self._children(edge)
                if begins(self.rewrite(edge), wanted) and len(children) == 1:
                    edges.append(edge)
                    return down(children[0], wanted)
            return False

        return edges if down(0, next(remaining)) else None

    def _children(self, edge: int) -> list[int]:
        first, last = self.edges.first_child[edge : edge + 2].tolist()
        nodes: list[int] = self.edges.child[first:last].tolist()
        return nodes
