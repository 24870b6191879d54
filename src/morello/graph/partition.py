"""A graph cut into groups of nodes, each of them one kernel, and what is left to the framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from morello.base.errors import SpecError
from morello.graph.graph import Graph, Node
from morello.graph.lowering import LoweredGroup, lowered
from morello.graph.operators import Cast, Constant, Conv, Dot, Input, Map, Transpose, Where
from morello.graph.views import VIEWS, view_of

ELEMENTWISE = Cast, Map, Where


@dataclass(frozen=True)
class Group:
    """The nodes of one kernel, each after its inputs; the last is the output."""

    nodes: tuple[Node, ...]
    lowered: LoweredGroup

    @property
    def output(self) -> Node:
        return self.nodes[-1]

    @cached_property
    def heavy(self) -> bool:
        """Whether it combines elements, so that it is more than elementwise."""
        return any(node.operator.heavy for node in self.nodes)

    @cached_property
    def work(self) -> int:
        """The number of arithmetic operations."""
        return self.lowered.spec.flops

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes where the kernel's arrays lie: others' outputs, inputs, constants."""
        return tuple(dict.fromkeys(view.base for view in self.lowered.inputs))


@dataclass(frozen=True)
class GraphPartition:
    """Groups, and the nodes that are in none: the framework computes these.

    Neither inputs and constants nor views are in a group, unless a kernel needs them inside.
    """

    graph: Graph
    groups: tuple[Group, ...]

    @cached_property
    def left(self) -> tuple[Node, ...]:
        """The nodes that no kernel computes, and that are no views, in order."""
        inside = {node for group in self.groups for node in group.nodes}
        free = Constant, Input, *VIEWS
        return tuple(
            node
            for node in self.graph.nodes
            if node not in inside and not isinstance(node.operator, free)
        )


def by_rule(graph: Graph) -> GraphPartition:
    """Each product, reduction, softmax and norm with the elementwise operators that follow it.

    A node joins the groups whose results nothing else reads, so that nothing is computed twice.
    An elementwise node joins at most one that is more than elementwise, a reduction, softmax or
    norm only groups that are elementwise. What cannot be a kernel is in no group.
    """
    grouping = _Grouping(graph)
    for node in graph.nodes:
        if not isinstance(node.operator, (Constant, Input)):
            grouping.add(node)
    return GraphPartition(graph, tuple(grouping.groups.values()))


class _Grouping:
    """The groups so far, by their outputs."""

    def __init__(self, graph: Graph) -> None:
        self.groups: dict[Node, Group] = {}
        self._graph = graph
        self._kept = frozenset(graph.outputs)
        self._stored: set[Node] = set()  # views that are stored by themselves

    def add(self, node: Node) -> None:
        """Put a node into a group, with as many of those before it as can be."""
        for joined in self._choices(node):
            members = dict.fromkeys(n for each in joined for n in each.members)
            try:
                spec = lowered(node, (*members, node), self._stored)
            except SpecError:
                continue
            for each in joined:
                del self.groups[each.group.output]
            self.groups[node] = Group((*members, node), spec)
            if isinstance(node.operator, VIEWS):
                self._stored.add(node)
            return

    def _choices(self, node: Node) -> Iterator[Sequence[_Joined]]:
        """The sets of groups that a node may join, the most first; none is the last."""
        before = [each for source in dict.fromkeys(node.inputs) if (each := self._before(source))]
        light = [each for each in before if not each.group.heavy]
        heavy = sorted((each for each in before if each.group.heavy), key=lambda e: -e.group.work)
        if self._stores_transposed(node):
            yield [each for each in before if not each.views][:1]
        if isinstance(node.operator, VIEWS):
            return
        if isinstance(node.operator, ELEMENTWISE):
            yield from ([each, *light] for each in heavy)
        if not isinstance(node.operator, Conv | Dot) and light:
            yield light
        yield []

    def _stores_transposed(self, node: Node) -> bool:
        """Whether a transpose would be a copy, unless the kernel before it stores the result so."""
        if not isinstance(node.operator, Transpose):
            return False
        users = [n for n in self._graph.users[node] if isinstance(n.operator, VIEWS)]
        return node in self._kept or any(view_of(user).base is user for user in users)

    def _before(self, source: Node) -> _Joined | None:
        """The group that computes what a node reads, and the views between, if only it does."""
        views: list[Node] = []
        while len(self._graph.users[source]) == 1 and source not in self._kept:
            if source in self.groups:
                return _Joined(self.groups[source], tuple(reversed(views)))
            if not isinstance(source.operator, VIEWS):
                return None
            views.append(source)
            source = source.inputs[0]
        return None


@dataclass(frozen=True)
class _Joined:
    """A group that a later node joins, and the views of its output that the node reads."""

    group: Group
    views: tuple[Node, ...]

    @property
    def members(self) -> tuple[Node, ...]:
        return (*self.group.nodes, *self.views)
