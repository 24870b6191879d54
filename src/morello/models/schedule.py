"""The order in which the parts of a graph are computed, and what runs in one segment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from morello.base.errors import SpecError
from morello.graph.graph import Graph, Node
from morello.graph.lowering import copied
from morello.graph.operators import Concat, Constant, Input
from morello.graph.partition import GraphPartition, Group
from morello.graph.views import VIEWS, View, copied_from, view_of
from morello.ir.spec import Spec
from morello.runtime.argument import row_major_strides


@dataclass(frozen=True)
class PlacedCall:
    """Where the arrays of a kernel lie: views of nodes that are stored.

    One that `copies` computes nothing: its result has the elements of its only input, in order.
    """

    inputs: tuple[View, ...]
    output: View
    copies: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class StoredCall(PlacedCall):
    """A call with the Spec of its kernel, which may be compiled later."""

    spec: Spec


@dataclass(frozen=True)
class PlacedStage:
    """Kernels that run one after the other, without the framework in between.

    The `inputs` are nodes that were stored before, the `outputs` those that are needed later.
    """

    calls: tuple[PlacedCall, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]


@dataclass(frozen=True)
class Stage(PlacedStage):
    """A stage of calls whose kernels may be compiled later."""

    calls: tuple[StoredCall, ...]


Steps = Sequence[Stage | Node]
"""Stages, and the nodes that are left to the framework, in the order to run."""


def calls_of(steps: Iterable[Stage | Node]) -> list[StoredCall]:
    """The calls of all stages, in the order to run."""
    return [call for step in steps if isinstance(step, Stage) for call in step.calls]


@dataclass(frozen=True)
class _Task:
    """The kernels that store a node, none if the framework does; and the nodes it needs stored."""

    node: Node
    calls: tuple[StoredCall, ...]
    needs: tuple[Node, ...]


def schedule(partition: GraphPartition) -> tuple[Stage | Node, ...]:
    """The stages, and the nodes that are left to the framework, in the order to run.

    Kernels run as soon as what they read is stored, so that there are few stages.
    """
    tasks = _Tasks(partition)
    order: list[list[_Task]] = []
    done: set[Node] = set(partition.graph.inputs) | tasks.constants
    waiting = tasks.in_order()
    while waiting:
        ours = _ready(waiting, done, lambda task: bool(task.calls))
        theirs = _ready(waiting, done, lambda task: not task.calls)
        order += [part for part in (ours, theirs) if part]
        waiting = [task for task in waiting if task.node not in done]
    steps: list[Stage | Node] = []  # the last one first
    later = set(partition.graph.outputs)
    for part in reversed(order):
        if part[0].calls:
            steps.append(_stage(part, later, tasks.constants))
        else:
            steps += [task.node for task in reversed(part)]
        later.update(node for task in part for node in task.needs)
    return tuple(reversed(steps))


def _ready(
    waiting: Sequence[_Task], done: set[Node], wanted: Callable[[_Task], bool]
) -> list[_Task]:
    """The tasks of a kind that can run now, one after the other; they are then done."""
    ready = []
    for task in waiting:
        if wanted(task) and task.node not in done and done.issuperset(task.needs):
            ready.append(task)
            done.add(task.node)
    return ready


def _stage(part: Sequence[_Task], later: set[Node], constants: set[Node]) -> Stage:
    stored = {task.node for task in part}
    needs = dict.fromkeys(node for task in part for node in task.needs)
    return Stage(
        tuple(call for task in part for call in task.calls),
        tuple(node for node in needs if node not in stored | constants),
        tuple(task.node for task in part if task.node in later),
    )


class _Tasks:
    """The nodes that have to be stored for the outputs of a graph, and how."""

    def __init__(self, partition: GraphPartition) -> None:
        self._graph: Graph = partition.graph
        self._groups = {group.output: group for group in partition.groups}
        self._light = partition.light
        self._stored = frozenset(n for n in self._groups if isinstance(n.operator, VIEWS))
        self._tasks: dict[Node, _Task] = {}
        self.constants: set[Node] = set()
        self._need(self._graph.outputs)

    def in_order(self) -> list[_Task]:
        """The tasks, each after those that it needs."""
        return list(self._tasks.values())

    def _need(self, nodes: Iterable[Node]) -> None:
        """Make tasks of what has to be stored for these nodes."""
        todo = [(node, False) for node in reversed(list(nodes))]
        begun: dict[Node, _Task] = {}
        while todo:
            node, ready = todo.pop()
            if node in self._tasks or node in self.constants or isinstance(node.operator, Input):
                continue
            if isinstance(node.operator, Constant):
                self.constants.add(node)
            elif ready:
                self._tasks[node] = begun[node]
            else:
                begun[node] = self._task(node)
                todo.append((node, True))
                todo += [(each, False) for each in reversed(begun[node].needs)]

    def _task(self, node: Node) -> _Task:
        if node in self._groups:
            return self._of_group(self._groups[node])
        if node in self._light or not node.type.size:
            return _Task(node, (), node.inputs)
        try:
            if isinstance(node.operator, Concat):
                return self._concat(node)
            if isinstance(node.operator, VIEWS) and (self._is_copy(node) or self._is_ours(node)):
                return self._copy(node)
        except SpecError:  # no kernel copies it
            pass
        return _Task(node, (), node.inputs)

    def _is_copy(self, node: Node) -> bool:
        """Whether the elements of a view have to be copied, whoever computed them."""
        return view_of(node, self._stored).base is node

    def _is_ours(self, node: Node) -> bool:
        """Whether the elements of a node are computed by kernels."""
        base = view_of(node, self._stored).base
        if isinstance(base.operator, VIEWS) and base not in self._groups:  # one that copies
            return self._is_ours(base.inputs[0])
        return base in self._groups or isinstance(base.operator, Concat)

    def _of_group(self, group: Group) -> _Task:
        call = StoredCall(group.lowered.inputs, whole(group.output), group.lowered.spec)
        return _Task(group.output, (call,), _bases([call]))

    def _copy(self, node: Node) -> _Task:
        view = copied_from(node, self._stored)
        lowered = copied(view)
        stored = View(node, view.shape, row_major_strides(view.shape, 1))
        call = StoredCall(lowered.inputs, stored, lowered.spec, copies=True)
        return _Task(node, (call,), _bases([call]))

    def _concat(self, node: Node) -> _Task:
        """A copy of each input to its place."""
        assert isinstance(node.operator, Concat)
        axis, joined = node.operator.axis, whole(node)
        sizes = [source.shape[axis] for source in node.inputs]
        calls = []
        for source, first in zip(node.inputs, accumulate([0, *sizes]), strict=False):
            offset = first * joined.strides[axis]
            place = View(node, source.shape, joined.strides, offset)
            lowered = copied(view_of(source, self._stored), place.strides)
            calls.append(StoredCall(lowered.inputs, place, lowered.spec, copies=True))
        return _Task(node, tuple(calls), _bases(calls))


def whole(node: Node) -> View:
    """A node's own memory, in row-major order."""
    return View(node, node.shape, row_major_strides(node.shape, 1))


def _bases(calls: Iterable[StoredCall]) -> tuple[Node, ...]:
    return tuple(dict.fromkeys(view.base for call in calls for view in call.inputs))
