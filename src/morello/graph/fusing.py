"""The partition of a graph into kernels that takes the least time, by dynamic programming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

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
    groups = [producer.group for producer in chosen if producer.group]
    return GraphPartition(graph, tuple(groups))


W = TypeVar("W")  # a group, in some form


@dataclass(frozen=True)
class Producer(Generic[W]):
    """A candidate group that computes a node; without a group, the framework computes it.

    The price is in seconds or cycles; `reads` are the nodes that the candidate reads.
    """

    group: W | None
    price: float
    reads: frozenset[Node]


@dataclass(frozen=True)
class _Choice(Generic[W]):
    """The last producer that was chosen, the choice before it, and the price of all so far."""

    price: float = 0.0
    producer: Producer[W] | None = None
    before: _Choice[W] | None = None


def cheapest(
    reading: Reading, producers: Callable[[Node], Sequence[Producer[W]]]
) -> tuple[Producer[W], ...]:
    """The cheapest choice of producers for all nodes that compute something, in their order.

    `producers` gives those for a node. Raises `SearchError` if there is no choice, as they lack
    one for a node that no group contains.
    """
    outputs = reading.kept.intersection(reading.computing)
    best: dict[frozenset[Node], _Choice[W]] = {outputs: _Choice()}
    for output in reversed(reading.computing):
        states = [wanted for wanted in best if output in wanted]
        if not states:
            continue  # in every state, a chosen group contains this node already
        possible = producers(output)
        for wanted in states:
            choice = best.pop(wanted)
            for producer in possible:
                state = wanted - {output} | producer.reads
                total = choice.price + producer.price
                if state not in best or total < best[state].price:
                    best[state] = _Choice(total, producer, choice)
        if not best:
            raise SearchError(
                f"{output}: no kernel computes this by itself, and every node needs one."
            )
        if len(best) > MOST_STATES:
            kept = sorted(best.items(), key=lambda item: item[1].price)[:MOST_STATES]
            best = dict(kept)
    chosen: list[Producer[W]] = []
    (last,) = best.values()
    while last.producer and last.before:
        chosen.append(last.producer)
        last = last.before
    return tuple(chosen)


def _ending(
    reading: Reading, output: Node, price: Price, grows: Growth
) -> Iterator[Producer[Group]]:
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
                yield Producer(None, seconds, outside)
            continue
        cost = price(group.lowered.spec)
        if cost == inf:
            continue
        yield Producer(group, cost, outside)
        if not grows(group.lowered.spec):
            continue
        first = graph.positions[members[0]]
        for source in outside:
            if graph.positions[source] < first and reading.only_for(source, {*members}):
                todo.append((source, *members))
