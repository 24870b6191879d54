"""The programs of a goal, the cheapest first, one of each structure.

Lazy best-first enumeration of the derivations of a hypergraph (Huang and Chiang, "Better k-best
Parsing", 2005): the first program of a rewrite takes the cheapest program of every child, and
its successors take the next cheapest program of one child. Candidates are refined only while
their lower bound is the bound, so that each further program takes little time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from morello import engine
from morello.rewrites import Rewrite
from morello.search.budget import Watch
from morello.search.graph import SearchGraph
from morello.search.structure import Structure, Structures

SLACKS = (1.02, 1.1, 1.3, 2.0, 4.0, 16.0, inf)
"""How much programs may cost, relative to the cheapest, attempt by attempt; at last anything."""

Graphs = Callable[[float, Watch], SearchGraph]
"""Gives a graph that has all programs of a goal which cost at most so much."""

_FURTHER = 1.01


class Alternative(NamedTuple):
    """A program of a Spec: a rewrite (an edge), and each child's program, by its rank."""

    cost: float
    edge: int
    ranks: tuple[int, ...]
    children: tuple[_Place, ...]
    structure: Structure


@dataclass(eq=False, slots=True)
class _Place:
    """A Spec with a memory limit, and its programs found so far, the cheapest first.

    `begun` is a heap of candidates for the next program, by a lower bound of their cost: (bound,
    position of the rewrite, ranks, children). So of equal ones, the one with the lowest rule comes
    first, whatever the numbers of edges are. Rewrites from position `next` up to
    `end` are not in it yet.
    """

    node: int
    limit: int
    next: int
    end: int
    programs: list[Alternative] = field(default_factory=list)
    structures: set[Structure] = field(default_factory=set)
    begun: list[tuple[float, int, tuple[int, ...], tuple[_Place, ...]]] = field(
        default_factory=list
    )


class Alternatives:
    """The programs of a graph's first node under the target's limits, in order of their cost.

    Only the cheapest program of each structure is given. Costs, allocations and limits are those
    of the engine.
    """

    def __init__(self, graph: SearchGraph) -> None:
        self.graph, self._limits = graph, graph.space.limits
        self._structures = Structures(graph)
        start, order, bound, *_ = graph.bounds
        most = engine.most_memory(graph.problem)
        # Views, as reading single elements of NumPy arrays is slow, and lists take much memory.
        self._start: Sequence[int] = _view(start)
        self._order: Sequence[int] = _view(order)
        self._most: Sequence[int] = _view(most)
        self._bound: Sequence[float] = _view(bound)
        self._own: Sequence[float] = _view(graph.edges.own)
        self._allocation: Sequence[int] = _view(graph.edges.allocation)
        self._first: Sequence[int] = _view(graph.edges.first_child)
        self._child: Sequence[int] = _view(graph.edges.child)
        self._times: Sequence[int] = _view(graph.edges.times)
        self._places: dict[tuple[int, int], _Place] = {}

    def within(self, cutoff: float) -> Iterator[Alternative]:
        """The programs that cost at most `cutoff`.

        The cutoff must not exceed the cost at which the graph was pruned.
        """
        goal = self._place(0, self._limits.pack(self.graph.space.target.limits))
        rank = 0
        while self._find(goal, rank, cutoff * engine.NEARLY):
            yield goal.programs[rank]
            rank += 1

    def decisions(self, program: Alternative) -> list[Rewrite]:
        """The rewrites of a program, in pre-order."""
        rewrites = [self.graph.rewrite(program.edge)]
        for child, rank in zip(program.children, program.ranks, strict=True):
            rewrites += self.decisions(child.programs[rank])
        return rewrites

    def _place(self, node: int, limit: int) -> _Place:
        """The Spec with this memory limit, lowered to the most that its programs can use."""
        limit = self._limits.smaller(limit, self._most[node])
        place = self._places.get((node, limit))
        if place is None:
            place = _Place(node, limit, self._start[node], self._start[node + 1])
            self._places[node, limit] = place
        return place

    def _find(self, place: _Place, rank: int, cutoff: float) -> bool:
        """Whether there is a program of this rank within a cutoff; if so, adds it to `programs`."""
        while len(place.programs) <= rank:
            bound = self._lower_bound(place, len(place.programs))
            if bound > cutoff or bound == inf:
                return False
            if not place.begun or self._next_bound(place) < place.begun[0][0]:
                self._push_next(place)
            else:
                self._refine(place, cutoff)
        return place.programs[rank].cost <= cutoff

    def _lower_bound(self, place: _Place, rank: int) -> float:
        """The cost of the program of this rank if it is known, else a lower bound of it."""
        if rank < len(place.programs):
            return place.programs[rank].cost
        begun = place.begun[0][0] if place.begun else inf
        return min(begun, self._next_bound(place))

    def _next_bound(self, place: _Place) -> float:
        """A lower bound of the cost of all rewrites that are not in the heap yet."""
        if place.next == place.end or self._bound[place.next] >= engine.INFINITE:
            return inf
        return self._bound[place.next]

    def _push_next(self, place: _Place) -> None:
        """Push the next rewrite, with the cheapest program of each child, if it fits its limit."""
        position, place.next = place.next, place.next + 1
        edge, bound = self._order[position], self._bound[position]
        if not self._limits.fits(self._allocation[edge], place.limit):
            return
        left = place.limit - self._allocation[edge]
        nodes = self._child[self._first[edge] : self._first[edge + 1]]
        children = tuple(self._place(node, left) for node in nodes)
        heappush(place.begun, (bound, position, (0,) * len(children), children))

    def _refine(self, place: _Place, cutoff: float) -> None:
        """Raise the lower bound of the heap's first candidate, or complete it.

        One step: tighten its bound, or look for one child's program, or record the program.
        """
        bound, position, ranks, children = place.begun[0]
        edge = self._order[position]
        times = self._times[self._first[edge] : self._first[edge + 1]]
        costs = [
            self._lower_bound(child, rank) for child, rank in zip(children, ranks, strict=True)
        ]
        if inf in costs:
            heappop(place.begun)
            return
        cost = self._own[edge] + sum(n * c for n, c in zip(times, costs, strict=True))
        if cost > bound * engine.NEARLY:
            heapreplace(place.begun, (cost, position, ranks, children))
            return
        for child, rank, count, part in zip(children, ranks, times, costs, strict=True):
            if rank == len(child.programs):
                # Search the child only while this candidate may stay the cheapest, or nearly:
                # beyond that, other candidates are refined first.
                others = min(place.begun[1:3], default=(inf,))[0]
                upto = max(min(others, self._next_bound(place)), cost * _FURTHER)
                spare = max(min(cutoff, upto) - cost, 0.0)
                room = part + spare / count if count else inf
                self._find(child, rank, room * engine.NEARLY)
                return
        heappop(place.begun)
        self._record(place, position, Alternative(cost, edge, ranks, children, frozenset()), times)

    def _record(
        self, place: _Place, position: int, program: Alternative, times: Sequence[int]
    ) -> None:
        """Record a program, unless one of its structure is known, and push its successors."""
        cost, edge, ranks, children, _ = program
        parts = [
            child.programs[rank].structure for child, rank in zip(children, ranks, strict=True)
        ]
        # A child that runs 0 times runs in parallel with others, at no cost: its best is enough.
        counted = [n for n, count in enumerate(times) if count]
        structure = self._structures.of(edge, [parts[n] for n in counted])
        if structure not in place.structures:
            place.structures.add(structure)
            place.programs.append(program._replace(structure=structure))
        # To reach every combination of ranks only once, no child is advanced that comes before
        # the last one already advanced.
        last = max((n for n in counted if ranks[n]), default=0)
        for n in counted:
            if n >= last:
                after = (*ranks[:n], ranks[n] + 1, *ranks[n + 1 :])
                heappush(place.begun, (cost, position, after, children))


def _view(column: np.ndarray[Any, np.dtype[Any]]) -> Any:
    """A sequence of Python numbers."""
    return np.ascontiguousarray(column).data


def in_order(
    graphs: Graphs, cost: float, watch: Watch, slacks: Sequence[float] = SLACKS
) -> Iterator[tuple[Alternatives, Alternative]]:
    """The cheapest program of each structure, in order of cost, with those of its graph.

    `cost` is the cost of a program of the goal, at best of the cheapest; programs cost at most the
    last of the `slacks` times as much. Raises `BudgetError` when the watch's budget is used up,
    and `MemoryError`.
    """
    seen: set[Structure] = set()
    for slack in slacks:
        graph = graphs(cost * slack, watch)
        alternatives = Alternatives(graph)
        for program in alternatives.within(cost * slack):
            watch(graph.node_count, graph.edge_count)
            if program.structure not in seen:
                seen.add(program.structure)
                yield alternatives, program
