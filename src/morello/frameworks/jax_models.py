"""Compiled graphs in operations of JAX: calls of segments, and what is left to JAX between them.

Of loops and branches that are left to it, JAX has the control, and what they contain is compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import lax

from morello.base.errors import GraphError
from morello.frameworks.jax_operators import check_known, computed
from morello.frameworks.xla import SegmentCall
from morello.graph.frameworks import JAX
from morello.graph.graph import Graph, Node
from morello.graph.operators import Constant, Foreign
from morello.graph.partition import GraphPartition
from morello.importers.recurrent import MOST_LOOP_STEPS
from morello.importers.stablehlo import StableOperation
from morello.models import CompiledGraph, Segment, compile_graph
from morello.models.compiling import compile_partition
from morello.models.constants import GivenSegment, weights_among, with_constants
from morello.models.reporting import ProgramReport, program_report
from morello.options import GraphOptions

NONE: Mapping[int, Any] = {}

_Given = tuple[Mapping[Segment, GivenSegment], Mapping[int, Any]]
"""The segments in place of a model's own, and constants (see `results_of`)."""


@dataclass(frozen=True, eq=False)
class JaxModel:
    """A compiled graph, and by operation the loops and branches that JAX controls.

    They are among what is left to JAX; those without kernels are not among `control`.
    """

    compiled: CompiledGraph
    control: Mapping[StableOperation, _Loop | _Branches]

    @property
    def has_kernels(self) -> bool:
        """Whether there are kernels, in its own segments or those of loops and branches."""
        return bool(self.compiled.segments or self.control)

    @property
    def every(self) -> Iterator[CompiledGraph]:
        """The graph, and those of all loops and branches within."""
        yield self.compiled
        for control in self.control.values():
            for region in control.regions:
                yield from region.model.every

    @property
    def cost(self) -> float:
        """The cost of all kernels in cycles, with an assumed number of steps of loops."""
        inner = sum(
            control.times * region.model.cost
            for control in self.control.values()
            for region in control.regions
        )
        return self.compiled.plan.cost + inner

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results in operations of JAX."""
        segments = (segment for compiled in self.every for segment in compiled.segments)
        return results_of(self, arrays, {segment: GivenSegment(segment) for segment in segments})

    def reports(self, arguments: tuple[str, ...], name: str = "") -> list[ProgramReport]:
        """The report of the graph, and those of loops and branches."""

        def why(operator: Foreign) -> str:
            assert isinstance(operator.key, StableOperation)
            inside = operator.key in self.control
            return "kernels compute what it contains" if inside else operator.key.reason

        report = program_report(self.compiled, arguments, why)
        reports = [replace(report, name=name, note="" if self.control else report.note)]
        for operation, control in self.control.items():
            for region in control.regions:
                types = tuple(str(node.type) for node in region.model.compiled.graph.inputs)
                if region.model.has_kernels:
                    reports += region.model.reports(types, f"{name} {operation.name}".lstrip())
        return reports


@dataclass(frozen=True)
class _Region:
    """The model of a region, which takes those of the operation's arrays with these numbers."""

    model: JaxModel
    numbers: tuple[int, ...]

    def __call__(self, arrays: Sequence[Any], given: _Given) -> list[Any]:
        return results_of(self.model, [arrays[number] for number in self.numbers], *given)


@dataclass(frozen=True)
class _Loop:
    """A loop; its steps change arrays with these numbers, and read all."""

    changed: tuple[int, ...]
    regions: tuple[_Region, ...]
    times: ClassVar[int] = MOST_LOOP_STEPS
    """How often it is taken to run its regions."""

    def __call__(self, arrays: Sequence[Any], given: _Given) -> list[Any]:
        """The arrays after all steps."""
        condition, body = self.regions

        def every(state: Sequence[Any]) -> list[Any]:
            new = dict(zip(self.changed, state, strict=True))
            return [new.get(number, array) for number, array in enumerate(arrays)]

        state = [jnp.asarray(arrays[number]) for number in self.changed]
        ended = lax.while_loop(
            lambda state: condition(every(state), given)[0],
            lambda state: body(every(state), given),
            state,
        )
        return every(ended)


@dataclass(frozen=True)
class _Branches:
    """Branches, the first one if the first array is true, or that of its number, or the last."""

    regions: tuple[_Region, ...]
    changed: ClassVar[tuple[int, ...]] = ()
    times: ClassVar[int] = 1

    def __call__(self, arrays: Sequence[Any], given: _Given) -> list[Any]:
        index, *rest = arrays
        branches = [lambda arrays, each=each: each(arrays, given) for each in self.regions]
        results: list[Any]
        if index.dtype == bool:
            results = lax.cond(index, *branches, rest)
        else:
            known = (index >= 0) & (index < len(branches))
            results = lax.switch(jnp.where(known, index, len(branches) - 1), branches, rest)
        return results


def model_of(graph: Graph, options: GraphOptions) -> JaxModel:
    """A graph, compiled; raises `GraphError` if JAX does not have what is left to it."""
    return _with_control(compile_graph(graph, JAX, **options), options)


def _with_control(compiled: CompiledGraph, options: GraphOptions) -> JaxModel:
    """A compiled graph with the loops and branches that are left."""
    control: dict[StableOperation, _Loop | _Branches] = {}
    for node in compiled.left:
        operation = _operation(node)
        if operation in control:
            continue
        inside = _controlled(operation, node.inputs, options) if operation else None
        if operation and inside:
            control[operation] = inside
        else:
            check_known(node)
    return JaxModel(compiled, control)


def _operation(node: Node) -> StableOperation | None:
    """The operation of a node that no operator computes."""
    key = node.operator.key if isinstance(node.operator, Foreign) else None
    return key if isinstance(key, StableOperation) else None


def _controlled(
    operation: StableOperation, inputs: Sequence[Node], options: GraphOptions
) -> _Loop | _Branches | None:
    """A loop or branches with kernels inside, if there are any."""
    if not operation.regions:
        return None
    body = operation.regions[-1]
    changed: tuple[int, ...] = ()
    if operation.name == "while":
        pairs = [*zip(body.inputs, body.outputs, strict=False)]
        changed = tuple(number for number, (old, new) in enumerate(pairs) if old is not new)
        last = Graph(body.inputs, tuple(body.outputs[number] for number in changed))
        every = (*operation.regions[:-1], last)
    else:
        inputs, every = inputs[1:], operation.regions
    try:
        regions = tuple(_region(graph, inputs, changed, options) for graph in every)
    except GraphError:
        return None
    if not any(region.model.has_kernels for region in regions):
        return None
    return _Loop(changed, regions) if operation.name == "while" else _Branches(regions)


def _region(
    graph: Graph, given: Sequence[Node], changed: Sequence[int], options: GraphOptions
) -> _Region:
    """The model of a region: what it is given, and is constant, is so there unless it changes.

    It has kernels if they do more than XLA would fuse into one loop.
    """
    arrays = {
        node: source.operator.array
        for number, (node, source) in enumerate(zip(graph.inputs, given, strict=True))
        if isinstance(source.operator, Constant) and number not in changed
    }
    numbers = tuple(n for n, node in enumerate(graph.inputs) if node not in arrays)
    graph = with_constants(graph, arrays)
    if any(node.operator.heavy or _has_regions(node) for node in graph.nodes):
        return _Region(model_of(graph, options), numbers)
    plain = compile_partition(GraphPartition(graph, ()), JAX, **options)
    return _Region(_with_control(plain, options), numbers)


def _has_regions(node: Node) -> bool:
    operation = _operation(node)
    return operation is not None and bool(operation.regions)


def weights_in(model: JaxModel, inputs: Collection[Node]) -> frozenset[Node]:
    """The inputs that kernels of a model would take packed, were they constant.

    Those of loops and branches take what no step changes.
    """
    weights = set(weights_among(model.compiled, inputs))
    for node in model.compiled.left:
        operation = _operation(node)
        if operation is None or operation not in model.control:
            continue
        control = model.control[operation]
        first = 0 if isinstance(control, _Loop) else 1
        for region in control.regions:
            given = {
                own: node.inputs[first + number]
                for own, number in zip(
                    region.model.compiled.graph.inputs, region.numbers, strict=True
                )
                if number not in control.changed and node.inputs[first + number] in inputs
            }
            weights |= {given[own] for own in weights_in(region.model, [*given])}
    return frozenset(weights)


def results_of(
    model: JaxModel,
    arrays: Sequence[Any],
    segments: Mapping[Segment, GivenSegment],
    constants: Mapping[int, Any] = NONE,
) -> list[Any]:
    """The results of a model in operations of JAX, by these segments in place of its own.

    The constants are given as arrays of JAX, by the `id` of each.
    """
    compiled, given = model.compiled, (segments, constants)
    values: dict[Node, Any] = dict(zip(compiled.graph.inputs, arrays, strict=True))
    others: dict[Any, list[Any]] = {}

    def value(node: Node) -> Any:
        if node not in values:
            operator, operation = node.operator, _operation(node)
            if isinstance(operator, Constant) and id(operator.array) in constants:
                values[node] = constants[id(operator.array)]
            else:
                inputs = [value(source) for source in node.inputs]
                if operation and operation in model.control and operation not in others:
                    others[operation] = model.control[operation](inputs, given)
                values[node] = computed(node, inputs, others)
        return values[node]

    for step in compiled.steps:
        if isinstance(step, Node):
            value(step)
        else:
            call = segments[step]
            every = (*map(value, step.inputs), *(constants[id(each)] for each in call.constants))
            values.update(zip(step.outputs, SegmentCall(call.segment)(*every), strict=True))
    return [value(node) for node in compiled.graph.outputs]
