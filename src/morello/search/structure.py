"""What tells programs apart that are worth comparing on a clock.

Cheapest programs come in crowds: loops in another order, a copy made in another way, more of
a dimension kept in a cache. These run alike. A program's *structure* is what remains: its
kernels, its tile of registers, what it copies and in which layout, how it is cut into steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from morello.ir.spec import Spec
from morello.rewrites import Move, Rewrite, Select, Serial, Split, Tile, ToAccumulate
from morello.rewrites.impl import Impl
from morello.rewrites.move import MoveAll
from morello.search.graph import Graph

Structure = frozenset[str]


class Structures:
    """The structures of a graph's programs."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._whole = graph.space.goal.operation.copies
        self._traits: dict[int, Structure | None] = {}

    def of(self, edge: int, parts: Sequence[Structure]) -> Structure:
        """That of a rewrite (an edge) whose children's programs have these structures."""
        if edge not in self._traits:
            spec = self._graph.spec(int(self._graph.parent[edge]))
            counts = self._whole or not spec.operation.copies
            found = traits(self._graph.rewrite(edge), spec) if counts else None
            self._traits[edge] = found
        own = self._traits[edge]
        return Structure() if own is None else own.union(*parts)


def structure(impl: Impl) -> Structure:
    """That of an Impl."""
    return _of(impl, whole=impl.spec.operation.copies)


def _of(impl: Impl, whole: bool) -> Structure:
    if impl.spec.operation.copies and not whole:
        return Structure()
    assert impl.rewrite is not None
    parts = [_of(child.impl, whole) for child in impl.children if child.times]
    return traits(impl.rewrite, impl.spec).union(*parts)


def traits(rewrite: Rewrite, spec: Spec) -> Structure:
    """What a rewrite adds to the structure of a program."""
    if isinstance(rewrite, Tile | Split | MoveAll | Serial | ToAccumulate):
        return Structure()
    operation = spec.operation
    if isinstance(rewrite, Select):
        sizes = f" {spec.sizes}" if operation.copies else ""
        return Structure([f"{rewrite}{sizes}"])
    if isinstance(rewrite, Move):
        if rewrite.layout is None:
            return Structure()
        operand = [one.name for one in operation.operands].index(rewrite.operand)
        if rewrite.vector == 0:
            return Structure([f"{operation} {rewrite.operand} as {rewrite.layout}"])
        adds_up = operation.operands[operand].written and operation.reduced
        shape = f" {spec.shape(operand)}" if adds_up else ""
        return Structure([f"{operation} {rewrite.operand}{shape} in {rewrite.vector}"])
    return Structure([f"{operation} {rewrite}"])
