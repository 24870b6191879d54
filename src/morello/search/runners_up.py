"""The decisions that come next to those of a program, and how much each would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.search.budget import Progress
from morello.search.graph import SearchGraph
from morello.search.solved_graph import solve_graph


@dataclass(frozen=True)
class Decision:
    """A rewrite of a Spec, and the cost of the Spec's cheapest program that begins with it.

    `decisions` are those of that program, the rewrite first, in pre-order.
    """

    cost: float
    decisions: tuple[Rewrite, ...]

    @property
    def rewrite(self) -> Rewrite:
        return self.decisions[0]


@dataclass(frozen=True)
class Choice:
    """A Spec of a program: the decision that was taken, and the runners-up, cheapest first.

    The program runs the Spec so many `times`, and leaves it so much memory of each level after
    the first (`limits`), under which the costs are the lowest.
    """

    spec: Spec
    times: int
    limits: tuple[int, ...]
    taken: Decision
    runners_up: tuple[Decision, ...]


def choices(
    graph: SearchGraph, decisions: Sequence[Rewrite], count: int, progress: Progress | None = None
) -> list[Choice]:
    """The choices of a program of the graph's goal, one for each of its Specs, in pre-order.

    Each has up to `count` runners-up. A rewrite that costs more than its Spec's cutoff is none,
    as pruning may have removed cheaper programs that begin with it. There are no choices if the
    graph lacks the program, or has it only with loops that were merged.
    """
    edges = graph.edges_of(decisions)
    if edges is None or len(edges) > len(decisions):
        return []
    limits = graph.space.limits
    solved = solve_graph(graph, count + 1, progress)
    todo = [(1, limits.pack(graph.space.target.limits))]
    result: list[Choice] = []
    for edge, (cost, size) in zip(edges, _subprograms(graph, edges), strict=True):
        times, limit = todo.pop()
        node = int(graph.edges.parent[edge])
        others = [
            Decision(other_cost, tuple(solved.decisions_from(other, limit)))
            for other, other_cost in solved.best(node, limit, progress)
            if other != edge and other_cost <= graph.nodes.cutoff[node]
        ]
        # of the program's own decisions, those of the Spec and of the Specs below it
        own = decisions[len(result) : len(result) + size]
        taken = Decision(cost, tuple(own))
        result.append(
            Choice(graph.spec(node), times, limits.unpack(limit), taken, tuple(others[:count]))
        )
        children = _children(graph, edge)
        left = limit - int(graph.edges.allocation[edge])
        todo += [(times * int(graph.edges.times[child]), left) for child in reversed(children)]
    return result


def own_choices(impl: Impl) -> list[Choice]:
    """The choices of a complete Impl, without runners-up."""
    result: list[Choice] = []

    def add(impl: Impl, times: int, limits: Sequence[int]) -> None:
        taken = Decision(impl.cost, tuple(impl.decisions()))
        result.append(Choice(impl.spec, times, tuple(limits), taken, ()))
        held = impl.allocation or {}
        left = [limit - held.get(level, 0) for level, limit in enumerate(limits, start=1)]
        for child in impl.children:
            add(child.impl, times * child.times, left)

    add(impl, 1, impl.target.limits)
    return result


def _subprograms(graph: SearchGraph, edges: Sequence[int]) -> list[tuple[float, int]]:
    """The cost and the size of the subprogram of each edge of a program in pre-order."""
    subprograms: list[tuple[float, int]] = []
    waiting: list[tuple[float, int]] = []
    for edge in reversed(edges):
        cost, size = float(graph.edges.own[edge]), 1
        for child in _children(graph, edge):
            child_cost, child_size = waiting.pop()
            cost += int(graph.edges.times[child]) * child_cost
            size += child_size
        waiting.append((cost, size))
        subprograms.append((cost, size))
    return subprograms[::-1]


def _children(graph: SearchGraph, edge: int) -> range:
    """The positions of an edge's children."""
    return range(*graph.edges.first_child[edge : edge + 2].tolist())
