"""The structure of a program: only programs that differ in it are worth measuring.

Many of the cheapest programs differ only in the order of loops, in how a copy is made, or in how
much of a dimension stays in a cache, and run equally fast. A program's *structure* leaves this
out: it is its leaf kernels, its register tile, what it copies and in which layout, and how it is
decomposed into steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from morello.impl.tree import Impl
from morello.ir.spec import Spec
from morello.rewrites import Rewrite
from morello.search.graph import SearchGraph

Structure = frozenset[str]


class Structures:
    """The structures of a graph's programs."""

    def __init__(self, graph: SearchGraph) -> None:
        self._graph = graph
        self._copies = graph.space.goal.operation.copies
        self._traits: dict[int, Structure | None] = {}

    def of(self, edge: int, parts: Sequence[Structure]) -> Structure:
        """The structure of a program that begins with `edge` and whose children's are `parts`."""
        if edge not in self._traits:
            spec = self._graph.spec(int(self._graph.edges.parent[edge]))
            counts = self._copies or not spec.operation.copies
            self._traits[edge] = traits(self._graph.rewrite(edge), spec) if counts else None
        own = self._traits[edge]
        return Structure() if own is None else own.union(*parts)


def structure(impl: Impl) -> Structure:
    """The structure of an Impl."""
    return _of(impl, copies=impl.spec.operation.copies)


def _of(impl: Impl, copies: bool) -> Structure:
    """The structure of a part of a program; `copies` says that the whole program is a copy."""
    if impl.spec.operation.copies and not copies:
        return Structure()
    assert impl.rewrite is not None
    parts = [_of(child.impl, copies) for child in impl.children if child.times]
    return traits(impl.rewrite, impl.spec).union(*parts)


def traits(rewrite: Rewrite, spec: Spec) -> Structure:
    """The part of a program's structure that a rewrite gives."""
    trait = rewrite.trait(spec)
    return Structure([trait] if trait else [])
