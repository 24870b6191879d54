"""Results that lie in memory as those of torch do: at the same strides, and in the same memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from morello.graph.graph import Graph, Node, apply
from morello.graph.operators import Foreign, Input, Transpose
from morello.graph.views import copy_of, shown, view_of
from morello.importers.aten import ImportedAten
from morello.importers.aten_trace import Lying


@dataclass(frozen=True, eq=False)
class Permuted:
    """A result whose dimensions lie in another order; the node has them in that order."""

    node: Node
    places: tuple[int, ...]
    """Where each dimension of the result is among those of the node."""

    def of(self, stored: torch.Tensor) -> torch.Tensor:
        return stored.permute(self.places)


@dataclass(frozen=True)
class Within:
    """A result that lies in another one, so many elements after its first one.

    Neither has a gradient because the other is made to have one.
    """

    number: int
    offset: int
    lies: Lying

    def of(self, whole: torch.Tensor) -> torch.Tensor:
        first = whole.storage_offset() + self.offset
        return whole.as_strided(self.lies.shape, self.lies.strides, first).detach()


Laid = Node | Permuted | Within | bool | int | float | None
"""A result, as `laid` has it."""


def laid(imported: ImportedAten) -> tuple[Graph, tuple[Laid, ...]]:
    """The graph whose outputs are the memory of the results, and how the results lie in it.

    Inputs and constants, and views of these, are results as they are; what torch copies in another
    order is a copy.
    """
    results: list[Laid] = [*imported.results]
    before = {*imported.memory.values()}
    new = {
        number: (result, lies)
        for number, (result, lies) in enumerate(zip(imported.results, imported.lies, strict=True))
        if isinstance(result, Node) and lies is not None and lies.memory not in before
    }
    wholes: dict[int, Lying] = {}
    for number, (result, lies) in sorted(new.items(), key=lambda each: _rank(*each[1])):
        whole = next((n for n, other in wholes.items() if other.holds(lies)), None)
        if whole is None:
            wholes[number] = lies
            results[number] = _permuted(result, lies)
        else:
            results[number] = Within(whole, lies.first - wholes[whole].first, lies)
    nodes = [each.node if isinstance(each, Permuted) else each for each in results]
    copied = {number for number, lies in wholes.items() if lies.order is not None}
    outputs = [
        _copied(node) if number in copied else node
        for number, node in enumerate(nodes)
        if isinstance(node, Node)
    ]
    count = sum(isinstance(each, Node) for each in imported.results)
    graph = imported.graph
    return Graph(graph.inputs, (*outputs, *graph.outputs[count:])), tuple(results)


def _rank(result: Node, lies: Lying) -> tuple[bool, int]:
    """The order in which results may have others in their memory: large ones without gaps first."""
    return lies.order is None, -result.type.size


def _copied(node: Node) -> Node:
    """The copy that torch makes of an input's elements, or of its own, in another order."""
    moved = isinstance(shown(node).operator, Foreign | Input) and not view_of(node).contiguous
    return copy_of(node) if moved else node


def _permuted(result: Node, lies: Lying) -> Node | Permuted:
    order = lies.order
    if order is None or lies.in_rows:
        return result
    return Permuted(apply(Transpose(order), result), tuple(map(order.index, range(len(order)))))
