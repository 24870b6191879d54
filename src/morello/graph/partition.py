"""A graph cut into groups of nodes, each of them one kernel, and what is left to the framework."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from morello.base.errors import SpecError
from morello.graph.graph import Graph, Node
from morello.graph.lowering import LoweredGroup, lowered
from morello.graph.operators import Constant, Input, Reshape, Transpose
from morello.graph.reading import Reading
from morello.graph.views import VIEWS, view_of
from morello.ir.computation import MAX_COMPONENTS


@dataclass(frozen=True)
class Group:
    """The nodes of one kernel, each after its inputs; the last is the output."""

    nodes: tuple[Node, ...]
    lowered: LoweredGroup

    @property
    def output(self) -> Node:
        return self.nodes[-1]

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes where the kernel's arrays lie: others' outputs, inputs, constants."""
        return tuple(dict.fromkeys(view.base for view in self.lowered.inputs))


@dataclass(frozen=True)
class GraphPartition:
    """Groups, and the nodes that are in none: the framework computes these.

    Neither inputs and constants nor views are in a group, unless a kernel needs them inside.
    The `light` nodes are left, or copied, by the framework although kernels could do it.
    """

    graph: Graph
    groups: tuple[Group, ...]
    light: frozenset[Node] = frozenset()

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

    A node joins groups whose results nothing else reads, so that nothing is computed twice: an
    elementwise one at most one group that is more than elementwise, and any other node none but
    elementwise groups. What cannot be a kernel is in no group.
    """
    grouping = _Grouping(graph)
    for node in graph.nodes:
        if not isinstance(node.operator, (Constant, Input)):
            grouping.add(node)
    groups = (draft.group for draft in grouping.drafts.values())
    return GraphPartition(graph, tuple(group for group in groups if group))


def apart(graph: Graph) -> GraphPartition:
    """Each node that computes something by itself."""
    groups = (group_of([node], graph) for node in Reading(graph).computing)
    return GraphPartition(graph, tuple(group for group in groups if group))


def group_of(members: Iterable[Node], graph: Graph, stored: Collection[Node] = ()) -> Group | None:
    """The group of these nodes, in the order of the graph; None if no Spec computes it."""
    nodes = tuple(sorted(members, key=graph.positions.__getitem__))
    try:
        return Group(nodes, lowered(nodes, stored))
    except SpecError:
        return None


@dataclass(frozen=True)
class _Draft:
    """Nodes that are to be one kernel, perhaps with others: by themselves they may be none."""

    nodes: tuple[Node, ...]
    group: Group | None

    @cached_property
    def heavy(self) -> bool:
        """Whether the group combines elements, so that it is more than elementwise."""
        return any(node.operator.heavy for node in self.nodes)

    @property
    def work(self) -> int:
        """The number of arithmetic operations."""
        return self.group.lowered.spec.flops if self.group else 0


class _Grouping:
    """The drafts of groups so far, by their outputs."""

    def __init__(self, graph: Graph) -> None:
        self.drafts: dict[Node, _Draft] = {}
        self._graph, self._reading = graph, Reading(graph)
        self._computing = frozenset(self._reading.computing)
        self._stored: set[Node] = set()  # views that are stored by themselves

    def add(self, node: Node) -> None:
        """Put a node into a group, with as many of those before it as can be."""
        for joined in self._choices(node):
            inside = {node}.union(*(draft.nodes for draft in joined))
            members = inside | self._views(inside)
            group = group_of(members, self._graph, self._stored)
            if group is None and (joined or not node.operator.elementwise):
                continue
            for each in joined:
                del self.drafts[each.nodes[-1]]
            self.drafts[node] = _Draft(group.nodes if group else (node,), group)
            if isinstance(node.operator, VIEWS):
                self._stored.add(node)
            return

    def _choices(self, node: Node) -> Iterator[Sequence[_Draft]]:
        """The sets of drafts that a node may join, the most first; none is the last."""
        if isinstance(node.operator, VIEWS):
            if self._stores_transposed(node):
                yield [self.drafts[node.inputs[0]]]
            return
        every = self._light_before(node)
        yield from self._joining(node, every)
        alike = self._light_before(node, node.type.size)
        if alike != every:
            yield from self._joining(node, alike)
        yield []

    def _joining(self, node: Node, light: list[_Draft]) -> Iterator[Sequence[_Draft]]:
        """These elementwise drafts, with one that is more and without."""
        if node.operator.elementwise:
            inside = {node}.union(*(draft.nodes for draft in light))
            heavy = [draft for draft in self._before(inside) if draft.heavy]
            heavy.sort(key=lambda draft: -draft.work)
            yield from ([draft, *light] for draft in heavy)
        if light and not node.operator.is_product:
            yield light

    def _light_before(self, node: Node, size: int | None = None) -> list[_Draft]:
        """The elementwise drafts that a node, or others of these, read, as many as one kernel may
        evaluate; of so many elements, if given: numbers for each row or column may have been stored
        in another shape.
        """
        inside, light = {node}, []
        while more := [
            draft
            for draft in self._before(inside)
            if not draft.heavy and size in (None, draft.nodes[-1].type.size)
        ]:
            inside = inside.union(*(draft.nodes for draft in more))
            if self._evaluations(node, inside) > MAX_COMPONENTS:
                break
            light += more
        return light

    def _evaluations(self, node: Node, inside: set[Node]) -> int:
        """How many nodes a kernel of these evaluates: each for every evaluation that reads it."""
        times = Counter((node,))
        readers = sorted(inside & self._computing, key=self._graph.positions.__getitem__)
        for reader in reversed(readers):
            for source in inside.intersection(self._reading.sources(reader)):
                times[source] += times[reader]
        return times.total()

    def _before(self, inside: set[Node]) -> list[_Draft]:
        """The drafts that these nodes read, and no others."""
        sources = {s for n in inside & self._computing for s in self._reading.sources(n)}
        outside = [s for s in sources - inside if s in self.drafts]
        known = sorted(outside, key=self._graph.positions.__getitem__)
        return [self.drafts[s] for s in known if self._reading.only_for(s, inside)]

    def _views(self, inside: set[Node]) -> set[Node]:
        """The views through which some of these nodes read others of them."""
        read = (self._reading.sources(node) for node in inside & self._computing)
        return {view for sources in read for s in sources if s in inside for view in sources[s]}

    def _stores_transposed(self, node: Node) -> bool:
        """Whether a transpose would be a copy, unless the kernel before it stores the result so."""
        source = node.inputs[0]
        if not isinstance(node.operator, Transpose) or source not in self.drafts:
            return False
        if self._graph.users[source] != (node,) or source in self._graph.outputs:
            return False
        users = [n for n in self._graph.users[node] if isinstance(n.operator, VIEWS)]
        reshaped = [n for n in users if isinstance(n.operator, Reshape)]
        copied = any(view_of(user).base is user for user in users)
        return copied or any(n in self._graph.outputs for n in (node, *reshaped))
