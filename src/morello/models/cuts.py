"""Where a program is cut: what its kernels hand over, and what fewer kernels would cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from morello.graph.graph import Node
from morello.graph.neighbours import Neighbour, pairs
from morello.graph.partition import Group
from morello.graph.views import VIEWS
from morello.kernel import Kernel
from morello.models.compiling import CompiledGraph
from morello.models.schedule import PlacedCall, Stage, schedule
from morello.models.segment import Segment


@dataclass(frozen=True)
class KernelCall:
    """A kernel of a program: the number of its segment, and its group, None if it copies."""

    segment: int
    call: PlacedCall
    kernel: Kernel
    group: Group | None


@dataclass(frozen=True)
class Fusion:
    """One kernel in place of these, by number, or of parts of them, in words.

    It was compiled, and costs so many `cycles`, if these are `exact`; otherwise it costs at least
    so many, None if there is none. The `reason` says why it was not `taken`, or what that saves.
    """

    words: str
    kernels: tuple[int, ...]
    cycles: float | None
    exact: bool
    reason: str
    taken: bool = False


@dataclass(frozen=True)
class StoredResult:
    """A stored result, with the kernels that write and read it, by number.

    It is also needed by the framework, or by the caller, if it is needed `outside`. If one kernel
    writes it and one reads it, `fusion` is what both would cost as one; if not, it says why not.
    """

    node: Node
    writers: tuple[int, ...]
    readers: tuple[int, ...]
    outside: str
    fusion: Fusion


def kernel_calls(compiled: CompiledGraph) -> list[KernelCall]:
    """The kernels of a program in the order in which they run."""
    stages = [step for step in schedule(compiled.partition) if isinstance(step, Stage)]
    computed = (call.output.base for stage in stages for call in stage.calls if not call.copies)
    groups = {group.output: group for group in compiled.partition.groups}
    calls = []
    for number, segment in enumerate(compiled.segments):
        for call, kernel in zip(segment.calls, segment.kernels, strict=True):
            group = None if call.copies else groups[next(computed)]
            calls.append(KernelCall(number, call, kernel, group))
    return calls


class Cuts:
    """The cuts of a program, and what was weighed in place of its kernels."""

    def __init__(self, compiled: CompiledGraph, calls: Sequence[KernelCall]) -> None:
        self._compiled, self._calls = compiled, calls
        self.framework = compiled.framework.name
        self.writers = _numbers(
            (number, [each.call.output.base]) for number, each in enumerate(calls)
        )
        self.readers = _numbers(
            (number, [view.base for view in each.call.inputs]) for number, each in enumerate(calls)
        )
        self._members = {
            number: frozenset(n for n in each.group.nodes if not isinstance(n.operator, VIEWS))
            for number, each in enumerate(calls)
            if each.group
        }
        left = (step for step in compiled.steps if not isinstance(step, Segment))
        self._read_outside = {self._stored(each) for step in left for each in step.inputs}
        self._results = {*map(self._stored, compiled.graph.outputs)}
        self._priced = {frozenset(w.members): w.cost for w in compiled.plan.weighing.groups}

    def all(self) -> list[StoredResult]:
        """The results that kernels store, each once, in the order in which they are written."""
        pairs_by_call, cuts = self._pairs(), []
        for node, writers in self.writers.items():
            readers, outside = self.readers.get(node, ()), self.outside(node)
            ends = *writers, *readers
            if outside:
                reason = f"{outside} needs it"
            elif len(writers) > 1:
                reason = "several kernels write it"
            elif len(readers) > 1:
                reason = "several kernels read it"
            elif any(self._calls[number].group is None for number in ends):
                reason = "one of them copies"
            else:
                reason = ""
            fusion = (
                Fusion(_names(ends), ends, None, False, reason)
                if reason
                else self._fusion(ends, pairs_by_call)
            )
            cuts.append(StoredResult(node, writers, readers, outside, fusion))
        return cuts

    def weighed(self, number: int) -> list[Fusion]:
        """The groups that were priced in place of a kernel, alone or with others."""
        own = self._members.get(number, frozenset())
        return [
            self._described(frozenset(each.members), each.cost, each.instead)
            for each in self._compiled.plan.weighing.groups
            if own.intersection(each.members)
        ]

    def _described(self, members: frozenset[Node], cost: float, instead: float) -> Fusion:
        touched = tuple(n for n, own in self._members.items() if own & members)
        parts = [
            f"kernel {number + 1}" if self._members[number] <= members
            else f"a part of kernel {number + 1}"
            for number in touched
        ]  # fmt: skip
        words, against = " and ".join(parts), f"{_percent(cost, instead)} against the rule's"
        if cost == inf:
            return Fusion(words, touched, None, True, "no kernel computes it")
        if len(touched) == 1 and self._members[touched[0]] == members:
            return Fusion(words, touched, cost, True, f"taken: {against}", taken=True)
        return Fusion(words, touched, cost, True, against)

    def _pairs(self) -> dict[tuple[int, ...], Neighbour]:
        """The fused groups of pairs of kernels, by their numbers."""
        partition, line = self._compiled.partition, self._compiled.plan.weighing.line
        number_of = {each.group: n for n, each in enumerate(self._calls) if each.group}
        costs = {each.group: each.kernel.cost for each in self._calls if each.group}
        if not line or len(costs) < len(partition.groups):
            return {}
        return {
            tuple(number_of[partition.groups[each]] for each in ends): neighbour
            for ends, neighbour in pairs(partition, costs, line).items()
        }

    def _fusion(
        self, ends: tuple[int, ...], pairs_by_call: Mapping[tuple[int, ...], Neighbour]
    ) -> Fusion:
        """The fusion of the two kernels at both ends of a cut, and its cost."""
        words = _names(ends)
        before = sum(self._calls[number].kernel.cost for number in ends)
        cost = self._priced.get(frozenset().union(*(self._members[number] for number in ends)))
        if cost is not None and cost < inf:
            return Fusion(words, ends, cost, True, f"{_percent(cost, before)} as one kernel")
        near = pairs_by_call.get(ends)
        if cost == inf or (near and near.group is None):
            return Fusion(words, ends, None, True, "no kernel computes both")
        if near is None:
            return Fusion(words, ends, None, False, "one kernel was not tried")
        best = f"at best {_percent(near.cost, before)} as one kernel: not tried"
        return Fusion(words, ends, near.cost, False, best)

    def outside(self, node: Node) -> str:
        """The other reader of a result that kernels store: the framework, the caller, or ""."""
        if node in self._read_outside:
            return self.framework
        return "the caller" if node in self._results else ""

    def _stored(self, node: Node) -> Node:
        """The result of which a node is a view."""
        while node not in self.writers and isinstance(node.operator, VIEWS):
            node = node.inputs[0]
        return node


def _numbers(uses: Iterable[tuple[int, Sequence[Node]]]) -> dict[Node, tuple[int, ...]]:
    """The numbers of the kernels that use each node."""
    numbers: dict[Node, tuple[int, ...]] = {}
    for number, nodes in uses:
        for node in dict.fromkeys(nodes):
            numbers[node] = (*numbers.get(node, ()), number)
    return numbers


def _names(numbers: Iterable[int]) -> str:
    return " and ".join(f"kernel {number + 1}" for number in numbers)


def _percent(cost: float, before: float) -> str:
    return f"{cost / before - 1:+.1%}" if before else "as much"
