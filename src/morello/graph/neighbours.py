"""Groups that may be cheaper than those of the rule, by what they would save at the most.

A kernel for the nodes of several groups saves the transfers of the arrays between them: of the
rule's groups the costs are known, so that what another one would cost can be estimated without a
search. Only what an estimate favours is worth one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from morello.graph.graph import Node
from morello.graph.partition import GraphPartition, Group, group_of
from morello.graph.reading import Reading
from morello.graph.views import VIEWS, shown
from morello.ir.computation import MAX_COMPONENTS
from morello.ir.tensor import LINE_BYTES

LEAST_SAVED = 0.02
"""The least fraction of the cost of the kernels in its place that a group has to save."""

MOST_JOINED = 3
"""The most groups of the rule whose nodes one group may have."""

MOST_OF_AN_OUTPUT = 200
"""The most sets of nodes with the same output that are looked at, the smallest first."""


@dataclass(frozen=True, eq=False)
class Neighbour:
    """The nodes of a group that may be cheaper, if a Spec computes them; the last is the output.

    It is estimated to cost so many cycles, and to save so many. `reads` are the nodes that compute
    what it reads.
    """

    members: tuple[Node, ...]
    reads: frozenset[Node]
    cost: float
    saved: float
    make: Callable[[], Group | None] = field(repr=False)

    @cached_property
    def group(self) -> Group | None:
        """The group; None if no Spec computes it."""
        return self.make()


def neighbours(
    partition: GraphPartition, costs: Mapping[Group, float], line: float
) -> list[Neighbour]:
    """The groups of a partition, in their order, and then others that may save time.

    The `costs` are those of the groups; to write and read a cache line costs `line` cycles. Of a
    group whose nodes another one takes in part, there are all parts.
    """
    around = _Neighbourhood(partition, costs, line)
    joined = [*around.joined()]
    divided = {
        number
        for each in joined
        for number in around.touched(each.members)
        if not set(around.members[number]).issubset(each.members)
    }
    return [*around.own(), *joined, *around.parts(divided)]


def pairs(
    partition: GraphPartition, costs: Mapping[Group, float], line: float
) -> dict[tuple[int, int], Neighbour]:
    """Two groups as one, by their numbers: the second reads what the first computes, and nothing
    else does. The arguments are those of `neighbours`.
    """
    return dict(_Neighbourhood(partition, costs, line).pairs())


class _Neighbourhood:
    """The nodes of a partition's groups, which have numbers, with estimates of what they cost."""

    def __init__(
        self, partition: GraphPartition, costs: Mapping[Group, float], line: float
    ) -> None:
        self._graph, self._groups = partition.graph, partition.groups
        self._costs, self._line = [costs[group] for group in partition.groups], line
        self._reading = Reading(partition.graph)
        self._sources = {
            node: frozenset(self._reading.sources(node)) for node in self._reading.computing
        }
        self._bases = {node: frozenset(map(shown, node.inputs)) for node in self._reading.computing}
        self._lines = {node: -(-node.type.bytes // LINE_BYTES) for node in self._graph.nodes}
        self.members = [_computing(group.nodes) for group in self._groups]
        self._owner = {node: n for n, members in enumerate(self.members) for node in members}
        self._turns = {
            shown(group.output): group.output
            for group in self._groups
            if isinstance(group.output.operator, VIEWS)
        }

    def own(self) -> Iterator[Neighbour]:
        """The groups of the partition."""
        for group, members, cost in zip(self._groups, self.members, self._costs, strict=True):
            yield Neighbour(members, self._reads(members), cost, 0.0, partial(_itself, group))

    def joined(self) -> Iterator[Neighbour]:
        """The nodes of several groups that may save enough as one."""
        for output in self._owner:
            for members in self._ending(output, MOST_JOINED):
                touched = self.touched(members)
                if len(touched) == 1:
                    continue
                before = sum(self._part(number, members) for number in touched)
                cost = self._estimate(members)
                if before - cost >= LEAST_SAVED * before:
                    yield self._neighbour(members, before)

    def pairs(self) -> Iterator[tuple[tuple[int, int], Neighbour]]:
        """Two groups, if nothing but the second reads what the first computes."""
        for second, members in enumerate(self.members):
            for source in self._reads(members):
                first = self._owner.get(source)
                if first is not None and self._reading.only_for(source, {*members}):
                    both = sorted(
                        (*self.members[first], *members), key=self._graph.positions.__getitem__
                    )
                    before = self._costs[first] + self._costs[second]
                    yield (first, second), self._neighbour(tuple(both), before)

    def parts(self, divided: Collection[int]) -> Iterator[Neighbour]:
        """Some of the nodes of one of these groups."""
        for output, owner in self._owner.items():
            if owner in divided:
                for members in self._ending(output, 1):
                    if len(members) < len(self.members[owner]):
                        yield self._neighbour(members)

    def _neighbour(self, members: tuple[Node, ...], before: float | None = None) -> Neighbour:
        """These nodes as one group, in place of what costs so much."""
        cost = self._estimate(members)
        saved = 0.0 if before is None else before - cost
        return Neighbour(members, self._reads(members), cost, saved, partial(self._group, members))

    def touched(self, nodes: Iterable[Node]) -> set[int]:
        """The groups of the partition that have some of these nodes."""
        return {self._owner[node] for node in nodes if node in self._owner}

    def _ending(self, output: Node, most: int) -> Iterator[tuple[Node, ...]]:
        """The sets of nodes of so many groups with this output, that nothing else reads inside.

        They grow by one node at a time, in reverse topological order, so that each is met once.
        """
        positions = self._graph.positions
        todo: list[tuple[Node, ...]] = [(output,)]
        for members in todo:
            yield members
            inside = set(members)
            for source in sorted(self._reads(members), key=positions.__getitem__):
                if (
                    source in self._owner
                    and positions[source] < positions[members[0]]
                    and self._reading.only_for(source, inside)
                    and len(self.touched((source, *members))) <= most
                    and len(members) < MAX_COMPONENTS
                    and len(todo) < MOST_OF_AN_OUTPUT
                ):
                    todo.append((source, *members))

    def _group(self, members: Sequence[Node]) -> Group | None:
        """The group that computes these nodes, if a Spec does.

        Its result is stored in the order in which the partition stores it.
        """
        inside = {*members}
        views = {
            view
            for node in members
            for source, through in self._reading.sources(node).items()
            if source in inside
            for view in through
        }
        turn = {self._turns[members[-1]]} if members[-1] in self._turns else set()
        return group_of(inside | views | turn, self._graph, self._turns.values())

    def _reads(self, members: Sequence[Node]) -> frozenset[Node]:
        """The nodes that compute what these read, other than these."""
        return frozenset().union(*(self._sources[n] for n in members)).difference(members)

    def _part(self, number: int, members: Sequence[Node]) -> float:
        """The cost of what a group has of these nodes."""
        own = [node for node in self.members[number] if node in members]
        whole = len(own) == len(self.members[number])
        return self._costs[number] if whole else self._estimate(own)

    def _estimate(self, members: Sequence[Node]) -> float:
        """The cost of a group whose kernel reads and writes each array once."""
        return self._traffic(members) + sum(self._work[node] for node in members)

    def _traffic(self, members: Sequence[Node]) -> float:
        bases = frozenset().union(*(self._bases[node] for node in members)).difference(members)
        return self._line / 2 * sum(self._lines[node] for node in (members[-1], *bases))

    @cached_property
    def _work(self) -> Mapping[Node, float]:
        """The cost of each node besides transfers, in equal parts for a group's heavy ones."""
        work: dict[Node, float] = defaultdict(float)
        for members, cost in zip(self.members, self._costs, strict=True):
            rest = max(0.0, cost - self._traffic(members))
            bearing = [node for node in members if node.operator.heavy] or members
            for node in bearing:
                work[node] = rest / len(bearing)
        return work


def _itself(group: Group) -> Group:
    return group


def _computing(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if not isinstance(node.operator, VIEWS))
