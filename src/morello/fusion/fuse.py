"""The best partition of a graph into kernels, by dynamic programming."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from morello.base.errors import SearchError, SpecError
from morello.fusion.operation_graph import OperationGraph, OperationGroup, cut
from morello.fusion.partition import Partition, in_order_of_outputs
from morello.ir.computation import Tensor
from morello.ir.spec import Spec

Price = Callable[[Spec], float]
"""Estimated seconds of one call of a Spec's kernel; infinite if it must not be one kernel."""

Growth = Callable[[Spec], bool]
"""Whether larger groups that contain the operations of a Spec are worth trying."""


def fuse(graph: OperationGraph, price: Price, grows: Growth = lambda spec: True) -> Partition:
    """The partition whose kernels take the least time in total.

    Dynamic programming from the result back. A state is the set of tensors that the kernels
    chosen so far read and do not compute, with the cheapest choice that leads to it. The last of
    these tensors is computed next, by each group with this output. So a tensor that several
    kernels read is paid for once, and the partition is optimal for any graph. A chain has as many
    states as operations; a graph has at most as many as it has cuts. Groups that contain one of
    infinite price, or one for which `grows` is false, are not tried.

    Raises `SearchError` if there is an operation that no kernel of a finite price computes.
    """
    best: dict[frozenset[Tensor], tuple[float, tuple[OperationGroup, ...]]] = {
        frozenset([graph.result]): (0.0, ())
    }
    for output in reversed(graph.operations):
        states = [wanted for wanted in best if output in wanted]
        if not states:
            continue  # in every state, a chosen group contains this operation already
        groups = [
            (group, _read(graph, group), cost)
            for group, cost in _ending(graph, output, price, grows)
        ]
        if not groups:
            raise SearchError(
                f"{cut(OperationGroup((output,))).spec.expression}: no kernel computes this by "
                "itself, and every operation needs one; `morello explain` tells why there is none."
            )
        for wanted in states:
            total, chosen = best.pop(wanted)
            for group, read, cost in groups:
                state = wanted - {output} | read
                if state not in best or total + cost < best[state][0]:
                    best[state] = total + cost, (*chosen, group)
    ((_, groups_chosen),) = best.values()
    return in_order_of_outputs(graph, groups_chosen)


def _read(graph: OperationGraph, group: OperationGroup) -> frozenset[Tensor]:
    """The tensors that a group reads and other groups compute."""
    return frozenset(t for t in group.inputs if t in graph.positions)


def _ending(
    graph: OperationGraph, output: Tensor, price: Price, grows: Growth
) -> Iterator[tuple[OperationGroup, float]]:
    """The groups with this output, and their prices.

    Groups grow by one operation at a time, in reverse topological order, so that each is visited
    once.
    """
    todo: list[tuple[Tensor, ...]] = [(output,)]
    while todo:
        members = todo.pop()
        group = OperationGroup(members)
        try:
            spec = cut(group).spec
        except SpecError:
            continue
        cost = price(spec)
        if cost == inf:
            continue
        yield group, cost
        if not grows(spec):
            continue
        before = graph.positions[members[0]]
        for source in _read(graph, group):
            if graph.positions[source] < before and graph.users[source] <= {*members}:
                todo.append((source, *members))
