"""The partition of a graph into kernels that takes the least time, by dynamic programming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from morello.base.errors import SearchError
from morello.graph.frameworks import NUMPY
from morello.graph.graph import Graph, Node
from morello.graph.partition import GraphPartition, Group, group_of
from morello.graph.reading import Reading
from morello.ir.spec import Spec

Price = Callable[[Spec], float]
"""Estimated seconds of one call of a Spec's kernel; infinite if it must not be one kernel."""

Growth = Callable[[Spec], bool]
"""Whether larger groups that contain the nodes of a Spec are worth trying."""

MOST_STATES = 1000
"""The cheapest states that are kept at a time; a graph with no more has an optimal partition."""


def by_cost(graph: Graph, price: Price, grows: Growth = lambda spec: True) -> GraphPartition:
    """The partition whose kernels take the least time in total.

    Dynamic programming from the outputs back. A state is the set of nodes that the kernels chosen
    so far read and do not compute, with the cheapest choice that leads to it. The last of these
    nodes is computed next, by each group with this output. So a node that several kernels read is
    paid for once, and the partition is optimal for any graph with few enough cuts. A chain has as
    many states as nodes. Groups that contain one of infinite price, or one for which `grows` is
    false, are not tried. What no Spec computes is left to the framework.

    Raises `SearchError` if no kernel of a finite price computes a node that a Spec could.
    """
    reading = Reading(graph)
    chosen = cheapest(reading, lambda output: [*_ending(reading, output, price, grows)])
    groups = [candidate.group for candidate in chosen if candidate.group]
    return GraphPartition(graph, tuple(groups))


@dataclass(frozen=True)
class Candidate:
    """What may compute a node: a group, or the framework if that is None; its price in seconds or
    cycles, and the nodes that it reads.
    """

    group: Group | None
    price: float
    reads: frozenset[Node]


@dataclass(frozen=True)
class _Choice:
    """The last candidate that was chosen, the choice before it, and the price of all so far."""

    price: float = 0.0
    candidate: Candidate | None = None
    before: _Choice | None = None


def cheapest(
    reading: Reading, candidates: Callable[[Node], Sequence[Candidate]]
) -> tuple[Candidate, ...]:
    """The cheapest choice of candidates for all nodes that compute something, in their order.

    `candidates` gives those for a node. Raises `SearchError` if it gives none for a node that no
    group contains.
    """
    best = {reading.kept & frozenset(reading.computing): _Choice()}
    for output in reversed(reading.computing):
        states = [wanted for wanted in best if output in wanted]
        if not states:
            continue  # in every state, a chosen group contains this node already
        possible = candidates(output)
        if not possible:
            raise SearchError(
                f"{output}: no kernel computes this by itself, and every node needs one."
            )
        for wanted in states:
            choice = best.pop(wanted)
            for candidate in possible:
                state = wanted - {output} | candidate.reads
                total = choice.price + candidate.price
                if state not in best or total < best[state].price:
                    best[state] = _Choice(total, candidate, choice)
        if len(best) > MOST_STATES:
            kept = sorted(best.items(), key=lambda item: item[1].price)[:MOST_STATES]
            best = dict(kept)
    chosen: list[Candidate] = []
    (last,) = best.values()
    while last.candidate and last.before:
        chosen.append(last.candidate)
        last = last.before
    return tuple(chosen)


def _ending(reading: Reading, output: Node, price: Price, grows: Growth) -> Iterator[Candidate]:
    """The groups with this output.

    Groups grow by one node at a time, in reverse topological order, so that each is visited once.
    """
    graph = reading.graph
    todo: list[tuple[Node, ...]] = [(output,)]
    while todo:
        members = todo.pop()
        reads = {s: views for n in members for s, views in reading.sources(n).items()}
        outside = frozenset(reads.keys() - {*members})
        inside = {*members}.union(*(reads[s] for s in reads if s in members))
        group = group_of(inside, graph)
        if group is None:
            if members == (output,):
                seconds = NUMPY.seconds((output,))
                yield Candidate(None, seconds, outside)
            continue
        cost = price(group.lowered.spec)
        if cost == inf:
            continue
        yield Candidate(group, cost, outside)
        if not grows(group.lowered.spec):
            continue
        first = graph.positions[members[0]]
        for source in outside:
            if graph.positions[source] < first and reading.only_for(source, {*members}):
                todo.append((source, *members))
