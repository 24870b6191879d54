"""The search space of a goal, and the graph of what a search has reached of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from morello.errors import SearchError
from morello.ir.batch import Batch
from morello.ir.dtype import DType
from morello.ir.operation import Operation
from morello.ir.placements import Ints, Placements
from morello.ir.spec import Spec
from morello.memo.known import KnownAnswers
from morello.rewrites import Rank, Rewrite
from morello.search import engine
from morello.search.space.family import Kind, SpecEncoding
from morello.search.space.limits import Limits
from morello.search.space.panels import Panels
from morello.search.space.rules import Guard, Rules, relaxed, rules
from morello.search.space.sizes import Sizes
from morello.targets.target import Target

Floats = npt.NDArray[np.floating[Any]]

NumberedRules = tuple[Guard, list[tuple[int, Rewrite]]]
"""Rewrites, by their positions in `Space.rewrites`, to try on the rows that a guard admits."""

_MOST_REWRITES = 256  # their numbers are stored as bytes


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


class Dropped(NamedTuple):
    """Rewrites that need too much memory: their node, rule, and a lower bound on their cost."""

    parent: Ints
    rule: Ints
    bound: Floats

    def least(self, nodes: int) -> Floats:
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
    dropped: Dropped
    known: KnownAnswers

    def batch(self, nodes: Ints) -> Batch:
        """The Specs of some nodes, at least one, all of the same family."""
        family = self.space.families[int(self.families[nodes[0]])]
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
        known = self.known
        here = known.within(self.limit[known.spec], limits)
        cost[known.spec[here]], peak[known.spec[here]] = known.cost[here], known.peak[here]
        graph = engine.Hypergraph(
            self.parent, self.own, self.allocation, self.first_child, self.child, self.times
        )
        bounds = engine.Bounds(*engine.bounds(graph, self.rule, cost, peak, limits.packing))
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
