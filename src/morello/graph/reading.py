"""Def-use chains of a graph, in which views are transparent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from morello.graph.graph import Graph, Node
from morello.graph.operators import Constant, Input
from morello.graph.views import VIEWS, shown


class Reading:
    """The uses of each node that computes something, directly or through views."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def computing(self) -> tuple[Node, ...]:
        """The nodes that compute something, in order."""
        free = Constant, Input, *VIEWS
        return tuple(node for node in self.graph.nodes if not isinstance(node.operator, free))

    @cached_property
    def kept(self) -> frozenset[Node]:
        """The nodes that an output shows."""
        return frozenset(map(shown, self.graph.outputs))

    @cached_property
    def readers(self) -> Mapping[Node, frozenset[Node]]:
        """The nodes that read each one that computes something."""
        readers: dict[Node, set[Node]] = {node: set() for node in self.computing}
        for node in self.computing:
            for source in self.sources(node):
                readers[source].add(node)
        return {node: frozenset(some) for node, some in readers.items()}

    def sources(self, node: Node) -> dict[Node, tuple[Node, ...]]:
        """The computing nodes that one reads, each with the views through which it does."""
        read: dict[Node, tuple[Node, ...]] = {}
        for source in node.inputs:
            base, views = shown(source), []
            while source is not base:
                views.append(source)
                source = source.inputs[0]
            if not isinstance(base.operator, (Constant, Input)):
                read[base] = (*dict.fromkeys((*read.get(base, ()), *views)),)
        return read

    def only_for(self, node: Node, members: set[Node]) -> bool:
        """Whether nothing but these nodes needs what a node computes."""
        return node not in self.kept and self.readers[node] <= members
