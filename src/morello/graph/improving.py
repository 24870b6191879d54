"""A partition made cheaper: other groups in the place of its own, as far as they are priced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from morello.graph.fusing import Producer, cheapest
from morello.graph.graph import Node
from morello.graph.neighbours import Neighbour, neighbours
from morello.graph.partition import GraphPartition, Group
from morello.graph.reading import Reading

Wanted = Sequence[tuple[GraphPartition, Sequence[Group]]]
"""Groups of partitions, in the order in which they are to be priced."""

Pricing = Callable[[Wanted], Mapping[Group, float]]
"""The costs of groups in cycles, infinite where no kernel computes one.

Those for which there is no time are left out.
"""

LEAST_SAVED = 0.005
"""The least share of all groups' cost that others must be expected to save to be priced."""

LEAST_CYCLES = 1000.0
"""The least cycles that they must be expected to save."""


@dataclass(frozen=True)
class WeighedGroup:
    """Nodes that were priced as one group; the last is the output.

    They cost so many cycles, infinitely many if no kernel computes them, and the groups of the
    given partition that have them cost `instead`; of a group that has others, too, that is a part.
    """

    members: tuple[Node, ...]
    cost: float
    instead: float


class Improvement:
    """A partition that is made cheaper, in the order in which that promises most.

    A partition is chosen by dynamic programming (see `fusing.cheapest`), at first with estimates
    for what is not priced. The groups that it favours are priced, and another is chosen, until all
    of its groups are priced, it would save too little, or there is no time. One of several heavy
    nodes may need a long search, and is expected to save less than it might.
    """

    def __init__(
        self, partition: GraphPartition, costs: Mapping[Group, float], line: float
    ) -> None:
        """The `costs` are those of all groups in cycles; `line` is as `neighbours` takes it."""
        self._given = partition
        self._before = sum(costs[group] for group in partition.groups)
        self._least = max(LEAST_CYCLES, LEAST_SAVED * self._before)
        self._near: Sequence[Neighbour] = ()
        if self._least < self._before < inf:
            self._near = neighbours(partition, costs, line)
        self._known = dict(zip(self._near, map(costs.__getitem__, partition.groups), strict=False))
        self._hopeful = {each: each.cost for each in self._near}
        self._expected = {each: each.cost + each.saved * (1 - _chance(each)) for each in self._near}

    @property
    def expected(self) -> float:
        """The fraction of the cost that is expected to be saved."""
        if not self._near:
            return 0.0
        _, cost = self._cheapest(self._expected)
        return 1 - cost / self._before if cost <= self._before - self._least else 0.0

    @property
    def weighed(self) -> tuple[WeighedGroup, ...]:
        """The fused groups priced so far, each with the cost of the groups it would replace."""
        return tuple(
            WeighedGroup(each.members, cost, each.cost + each.saved)
            for each, cost in self._known.items()
            if each.saved and each.group
        )

    def cheapest(self, pricing: Pricing) -> GraphPartition:
        """The cheapest partition whose groups are priced; the given one if none is cheaper."""
        while self._near:
            best, reached = self._cheapest({})
            wanted: list[tuple[GraphPartition, list[Group]]] = []
            by_group: dict[Group, Neighbour] = {}
            for estimates in (self._expected, self._hopeful):
                favoured, bound = self._cheapest(estimates)
                unknown = {n.group: n for n in favoured if n.group and n not in self._known}
                if unknown and bound <= reached - self._least:
                    wanted.append((self._partition(favoured), [*unknown]))
                    by_group |= unknown
            priced = pricing(wanted) if wanted else {}
            if not priced:
                return self._partition(best) if reached < self._before else self._given
            self._known |= {by_group[group]: cost for group, cost in priced.items()}
        return self._given

    def _cheapest(self, estimates: Mapping[Neighbour, float]) -> tuple[list[Neighbour], float]:
        """The cheapest groups, and what they cost, with estimates for those that are not priced."""
        while True:
            prices = {**estimates, **self._known}
            possible = defaultdict(list, self._left)
            for each in self._near:
                if prices.get(each, inf) < inf:
                    producer = Producer(each, prices[each], each.reads)
                    possible[each.members[-1]].append(producer)
            chosen = cheapest(self._reading, possible.__getitem__)
            groups = [producer.group for producer in chosen if producer.group]
            impossible = [each for each in groups if each.group is None]
            if not impossible:
                return groups, sum(producer.price for producer in chosen)
            self._known |= dict.fromkeys(impossible, inf)

    def _partition(self, groups: Sequence[Neighbour]) -> GraphPartition:
        return replace(self._given, groups=tuple(each.group for each in groups if each.group))

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._given.graph)

    @cached_property
    def _left(self) -> Mapping[Node, list[Producer[Neighbour]]]:
        """The nodes that are in no group, which are left as they are."""
        inside = {node for group in self._given.groups for node in group.nodes}
        return {
            node: [Producer(None, 0.0, frozenset(self._reading.sources(node)))]
            for node in self._reading.computing
            if node not in inside
        }


def _chance(neighbour: Neighbour) -> float:
    """How likely a group saves what it may: less if it has several heavy nodes."""
    heavy = sum(node.operator.heavy for node in neighbour.members)
    return 1 / max(1, heavy) ** 2
