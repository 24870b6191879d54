"""Plans that were made before, so that a later process neither groups nor places anything again.

A plan says which kernels run, in which order, and where their arrays lie. Weights are no part of
it: they are packed anew, as they are by then, and a plan is for all of the same shape. Only short
constants are told apart by their numbers, which kernels may have in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from morello.base.memory import uncollected
from morello.graph.graph import Graph, Node, TensorType
from morello.graph.operators import Constant, Foreign, Input
from morello.graph.partition import GraphPartition
from morello.graph.views import View
from morello.impl.operations import operation_data
from morello.ir.operation import Operation
from morello.kernel import Kernel
from morello.models.kernels import Kernels
from morello.models.regrouping import Weighing
from morello.models.remembered import RememberedCut, cut_data, cut_of, light_of, weighing_of
from morello.models.schedule import PlacedCall, PlacedStage, Stage, Steps, StoredCall
from morello.questions import question
from morello.tables import keep_text, kept_text

SHORT = 1 << 12
"""The most bytes of a constant whose numbers a plan may depend on."""


@dataclass(frozen=True)
class Plan:
    """The steps of a graph: stages with the kernels of their calls, and nodes that are left.

    The framework computes the `light` nodes although kernels could. The `cost` is that of the
    kernels, and `cost_at_first` of those for the groups that were given, which may be others; both
    are in cycles. The `weighing` is what was found out about groups other than those given. The
    groups, and the stages with the Specs of their calls, take long to make, and few ask for them:
    `partition` and `stages` make them.
    """

    steps: tuple[tuple[PlacedStage, tuple[Kernel, ...]] | Node, ...]
    light: frozenset[Node]
    partition: Callable[[], GraphPartition]
    stages: Callable[[], Steps]
    cost: float = 0.0
    cost_at_first: float = 0.0
    weighing: Weighing = field(default_factory=Weighing)


@uncollected()
def plan_question(
    graph: Graph, given: GraphPartition | None, options: Mapping[str, Any]
) -> str | None:
    """A hash of a graph, and of all else that its plan depends on; None if it is not to be kept."""
    places = graph.positions
    try:
        nodes = [
            [_data(node.operator), str(node.type), [places[source] for source in node.inputs]]
            for node in graph.nodes
        ]
    except TypeError:  # an operator of which it is not known what tells it from others
        return None
    groups = given and [[places[node] for node in group.nodes] for group in given.groups]
    ends = [[places.get(node) for node in some] for some in (graph.inputs, graph.outputs)]
    return question(json.dumps(["plan", nodes, ends, groups]), options)


def _data(value: object) -> object:
    """An operator, or an attribute of one, as JSON data, which differ for different ones.

    Raises `TypeError` for types of attributes that are not listed here. A node that is left to the
    framework is given by its index there.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [*map(_data, value)]
    if isinstance(value, np.dtype | TensorType):
        return str(value)
    if isinstance(value, Operation):
        return operation_data(value)
    if isinstance(value, Foreign):
        return ["Foreign", value.index]
    if isinstance(value, Input):
        return ["Input"]
    if isinstance(value, Constant) and not value.array.dtype.hasobject:
        array = value.array
        return ["Constant", array.tobytes().hex() if array.nbytes <= SHORT else value.uniform]
    attributes = [[each.name, _data(getattr(value, each.name))] for each in fields(value)]  # type: ignore[arg-type]  # raises TypeError for others
    return [type(value).__name__, attributes]


def keep_plan(asked: str, steps: Steps, cost: float, cut: RememberedCut, kernels: Kernels) -> None:
    """Keep a plan, whose calls were compiled, for a graph that is cut so."""
    places, numbers = cut.partition.graph.positions, dict[str, int]()

    def viewed(view: View) -> list[object]:
        return [places[view.base], view.shape, view.strides, view.offset]

    def called(call: StoredCall) -> list[object]:
        number = numbers.setdefault(kernels.question(call), len(numbers))
        return [number, call.copies, *map(viewed, (*call.inputs, call.output))]

    def planned(step: Stage | Node) -> object:
        if not isinstance(step, Stage):
            return places[step]
        ends = ([places[node] for node in some] for some in (step.inputs, step.outputs))
        return [[*map(called, step.calls)], *ends]

    try:
        record = {"steps": [*map(planned, steps)], "kernels": [*numbers]}
    except KeyError:  # the kernel of a call is not kept
        return
    keep_text(asked, json.dumps({**record, "cost": cost, "cut": cut_data(cut)}))


@uncollected()
def recalled_plan(
    asked: str, graph: Graph, kernels: Kernels, plan: Callable[[GraphPartition], Steps]
) -> Plan | None:
    """The plan that was kept; None if there is none, or one of its kernels does not hold.

    Its stages with their Specs are those that `plan` makes of its partition.
    """
    text = kept_text(asked)
    if text is None:
        return None
    record = json.loads(text)
    known_kernels = kernels.recall(record["kernels"])
    if known_kernels is None:
        return None
    cut, nodes = record["cut"], graph.nodes
    steps = tuple(
        nodes[data] if isinstance(data, int) else _stage(nodes, data, known_kernels)
        for data in record["steps"]
    )

    def partition() -> GraphPartition:
        return cut_of(cut, graph).partition

    return Plan(
        steps, light_of(cut, graph), partition, lambda: plan(partition()), record["cost"],
        cut["cost_at_first"], weighing_of(cut, graph),
    )  # fmt: skip


def _stage(
    nodes: Sequence[Node], data: Any, kernels: Sequence[Kernel]
) -> tuple[PlacedStage, tuple[Kernel, ...]]:
    calls, *ends = data
    inputs, outputs = (tuple(nodes[place] for place in some) for some in ends)
    placed = []
    for _, copies, *views in calls:
        *read, written = (_view(nodes, each) for each in views)
        placed.append(PlacedCall(tuple(read), written, copies=copies))
    stage = PlacedStage(tuple(placed), inputs, outputs)
    return stage, tuple(kernels[number] for number, *_ in calls)


def _view(nodes: Sequence[Node], data: Any) -> View:
    base, shape, strides, offset = data
    return View(nodes[base], tuple(shape), tuple(strides), offset)
