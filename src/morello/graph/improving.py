"""A partition made cheaper: other groups in the place of its own, as far as they are priced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf

from morello.graph.fusing import Candidate, cheapest
from morello.graph.graph import Node
from morello.graph.neighbours import Neighbour, neighbours
from morello.graph.partition import GraphPartition, Group
from morello.graph.reading import Reading
from morello.graph.views import shown

Pricing = Callable[[Sequence[tuple[GraphPartition, Sequence[Group]]]], Mapping[Group, float]]
"""What some groups of partitions cost, which are given in the order in which to find that out.

Those for which there is no time are left out, and those that no kernel computes cost infinitely
much.
"""

LEAST_SAVED = 0.005
"""The least part of the cost of all groups that has to be to save, for others to be priced."""

LEAST_CYCLES = 1000.0
"""The least cycles that have to be to save."""


def improved(
    partition: GraphPartition, costs: Mapping[Group, float], line: float, pricing: Pricing
) -> GraphPartition:
    """The cheapest partition whose groups are priced; the given one if none is cheaper.

    The `costs` are those of the given groups, in cycles; to write and read a cache line costs
    `line`. The partition is chosen by dynamic programming (see `fusing.cheapest`), at first with
    estimates for what is not priced. The groups that it favours are priced, and another is chosen,
    until all of its groups are priced, it would save too little, or the time is over. Estimates
    that expect less of larger groups come first: the search for these may not end in time.
    """
    before = sum(costs.values())
    least = max(LEAST_CYCLES, LEAST_SAVED * before)
    if not least < before < inf:
        return partition
    near = neighbours(partition, costs, line)
    hopeful = {each.group: each.cost for each in near}
    careful = {each.group: each.cost + each.saved * (1 - _chance(each)) for each in near}
    known = {**costs}
    while True:
        best, reached = _cheapest(partition, near, known)
        unknown: list[tuple[GraphPartition, list[Group]]] = []
        for estimates in (careful, hopeful):
            favoured, bound = _cheapest(partition, near, {**estimates, **known})
            groups = [group for group in favoured.groups if group not in known]
            if groups and bound <= reached - least:
                unknown.append((favoured, groups))
        priced = pricing(unknown) if unknown else {}
        if not priced:
            return best if reached < before else partition
        known |= priced


def _chance(neighbour: Neighbour) -> float:
    """How likely a group saves what it may: less if it has several heavy nodes."""
    heavy = sum(node.operator.heavy for node in neighbour.group.nodes)
    return 1 / max(1, heavy) ** 2


def _cheapest(
    partition: GraphPartition, near: Sequence[Neighbour], prices: Mapping[Group, float]
) -> tuple[GraphPartition, float]:
    """The cheapest partition into these groups, and its cost. What is in no group is left."""
    reading = Reading(partition.graph)
    inside = {node for group in partition.groups for node in group.nodes}
    possible: dict[Node, list[Candidate]] = {
        node: [Candidate(None, 0.0, frozenset(reading.sources(node)))]
        for node in reading.computing
        if node not in inside
    }
    for each in near:
        price = prices.get(each.group, inf)
        if price < inf:
            candidate = Candidate(each.group, price, each.reads)
            possible.setdefault(shown(each.group.output), []).append(candidate)
    chosen = cheapest(reading, lambda output: possible.get(output, ()))
    groups = tuple(candidate.group for candidate in chosen if candidate.group)
    return replace(partition, groups=groups), sum(candidate.price for candidate in chosen)
