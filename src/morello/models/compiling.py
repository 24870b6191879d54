"""From a graph to the segments that compute it: every different Spec is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from morello.base.errors import CallError, CompileAllError, SearchError
from morello.graph.frameworks import NUMPY, Framework
from morello.graph.graph import Array, Graph, Node, check
from morello.graph.operators import Constant
from morello.graph.partition import GraphPartition, by_rule
from morello.graph.patterns.expansion import EXPANSIONS
from morello.graph.rewriting import rewritten, simplified
from morello.ir.spec import Spec
from morello.kernel import Kernel
from morello.models.announcing import announced
from morello.models.in_place import in_place
from morello.models.light import without_light
from morello.models.schedule import Stage, StoredCall, schedule
from morello.models.segment import Segment
from morello.options import Options
from morello.runtime.threads import thread_count
from morello.search.prepacking import weights_of
from morello.several import compile_all

GAP = 0.02
"""How much more than the cheapest a program may cost, unless the options say otherwise."""

SECONDS = 3.0
"""The budget of each search, unless the options say otherwise."""

_Wanted = tuple[Spec, tuple[str, ...], str]
"""A Spec, the names of its operands, and whether its weights are "constant" or "plain"."""


ByNumPy = Callable[[Node, Sequence[Array]], Array]
"""A function that computes a node for the values of its inputs."""


@dataclass(frozen=True)
class CompiledGraph:
    """A graph as steps: segments, and nodes that are left to the framework, in the order to run."""

    graph: Graph
    partition: GraphPartition
    steps: tuple[Segment | Node, ...]
    framework: Framework

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(step for step in self.steps if isinstance(step, Segment))

    @property
    def left(self) -> tuple[Node, ...]:
        """The nodes that are left to the framework."""
        return tuple(step for step in self.steps if isinstance(step, Node))

    def __call__(self, *arrays: Array) -> list[Array]:
        """The outputs for these inputs, with NumPy as the framework.

        Raises `CallError` for arrays of other types than the inputs, and `GraphError` if another
        framework has to compute a node.
        """
        if len(arrays) != len(self.graph.inputs):
            raise CallError(f"{len(arrays)} arrays are given; it takes {len(self.graph.inputs)}.")
        return self.run(arrays, evaluated)

    def run(self, arrays: Sequence[Array], left: ByNumPy) -> list[Array]:
        """The outputs for inputs of the right types; `left` computes what is left to NumPy."""
        known = dict(zip(self.graph.inputs, arrays, strict=True))

        def value(node: Node) -> Array:
            return node.operator.array if isinstance(node.operator, Constant) else known[node]

        for step in self.steps:
            values = [value(source) for source in step.inputs]
            if isinstance(step, Segment):
                known.update(zip(step.outputs, step(*values), strict=True))
            else:
                known[step] = left(step, values)
        return [value(node) for node in self.graph.outputs]


def evaluated(node: Node, values: Sequence[Array]) -> Array:
    """The result of a node as NumPy computes it, in the dtype of the node."""
    return np.asarray(node.operator.evaluate(*values)).astype(node.dtype, copy=False)


def compile_graph(
    graph: Graph, framework: Framework = NUMPY, **options: Unpack[Options]
) -> CompiledGraph:
    """The kernels and the order of a graph, simplified, and with its nodes grouped by rule.

    As `compile_partition`.
    """
    return compile_partition(partitioned(graph), framework, **options)


def partitioned(graph: Graph) -> GraphPartition:
    """A graph, checked and simplified, with its nodes grouped by rule."""
    check(graph)
    return by_rule(rewritten(simplified(graph), EXPANSIONS))


def compile_partition(
    partition: GraphPartition, framework: Framework = NUMPY, **options: Unpack[Options]
) -> CompiledGraph:
    """The kernels and the order of a graph that is cut into groups.

    The options are those of `morello.compile`; each search ends at a gap of 2 %, or after 3
    seconds, unless they say otherwise. `threads` are the most that a kernel may run on, by default
    all that this process may use: a kernel that would not gain by them runs on one. A group that no
    kernel computes is left to the framework, and if anything is, so is a segment that is not worth
    its call (see `light`). Raises `MorelloError`.
    """
    asked: Options = {"gap": GAP, "budget": SECONDS, "threads": "all", **options}
    kernels: dict[_Wanted, Kernel | None] = {}
    while True:
        stages = schedule(partition)
        steps = _without_copies(stages, kernels, asked)
        fewer = _possible(partition, steps, kernels)
        if fewer == partition:
            costs = [_cost(step, kernels) for step in steps]
            fewer = without_light(partition, [*zip(stages, costs, strict=True)], framework)
        if fewer == partition:
            break
        partition = fewer
    segments = (_segment(step, kernels) if isinstance(step, Stage) else step for step in steps)
    return CompiledGraph(partition.graph, partition, tuple(segments), framework)


def _possible(
    partition: GraphPartition,
    steps: Sequence[Stage | Node],
    kernels: dict[_Wanted, Kernel | None],
) -> GraphPartition:
    """The partition without the groups that have no kernel."""
    failed = {call.output.base for call in _calls(steps) if not kernels[_wanted(call)]}
    groups = tuple(group for group in partition.groups if group.output not in failed)
    return replace(partition, groups=groups)


def _cost(step: Stage | Node, kernels: dict[_Wanted, Kernel | None]) -> float:
    """The cost of the kernels of a step, in cycles."""
    compiled = (kernels[_wanted(call)] for call in _calls([step]))
    return sum(kernel.cost for kernel in compiled if kernel)


def _without_copies(
    stages: Sequence[Stage | Node], kernels: dict[_Wanted, Kernel | None], options: Options
) -> list[Stage | Node]:
    """The stages, compiled: in place, but for those where a kernel cannot store its result so."""
    fewer = [in_place(stage) if isinstance(stage, Stage) else stage for stage in stages]
    _compile(_calls(fewer), kernels, options)
    compiled = [
        second if all(kernels[_wanted(call)] for call in _calls([second])) else first
        for first, second in zip(stages, fewer, strict=True)
    ]
    _compile(_calls(compiled), kernels, options)
    return compiled


def _calls(stages: Iterable[Stage | Node]) -> list[StoredCall]:
    return [call for stage in stages if isinstance(stage, Stage) for call in stage.calls]


def _wanted(call: StoredCall) -> _Wanted:
    """What to compile: weights are prepacked if all that may be are constants."""
    spec = call.spec
    by_name = dict(zip(spec.arrays, call.inputs, strict=False))
    weights = [by_name[spec.name(number)] for number in weights_of(spec.operation)]
    constant = bool(weights) and all(isinstance(v.base.operator, Constant) for v in weights)
    return spec, spec.names, "constant" if constant else "plain"


def _compile(
    calls: Iterable[StoredCall], kernels: dict[_Wanted, Kernel | None], options: Options
) -> None:
    """Add the kernels that are not there yet; None for those that cannot be compiled.

    Only kernels that take long on one thread are compiled for several: others would gain little,
    and the search for them takes longer.
    """
    missing = [each for each in dict.fromkeys(map(_wanted, calls)) if each not in kernels]
    for weights in ("constant", "plain"):
        some = [each for each in missing if each[-1] == weights]
        asked: Options = {**options, "weights": weights}
        kernels |= zip(some, _compiled(some, {**asked, "threads": 1}), strict=True)
        if thread_count(asked["threads"]) > 1:
            slow = {
                each: kernel for each in some if (kernel := kernels[each]) and kernel.releases_gil
            }
            parallel = _compiled([*slow], asked)
            for (each, kernel), other in zip(slow.items(), parallel, strict=True):
                if other and other.cost < kernel.cost:
                    kernels[each] = other


def _compiled(wanted: Sequence[_Wanted], options: Options) -> list[Kernel | None]:
    """The kernels, with None for those that cannot be compiled."""
    with announced(len(wanted)) as report:
        asked: Options = {"progress": report, **options}
        try:
            results: Sequence[object] = compile_all([spec for spec, *_ in wanted], **asked)
        except CompileAllError as error:
            results = error.results
    return [result if isinstance(result, Kernel) else None for result in results]


def _segment(stage: Stage, kernels: dict[_Wanted, Kernel | None]) -> Segment:
    compiled = []
    for call in stage.calls:
        kernel = kernels[_wanted(call)]
        if kernel is None:
            raise SearchError(f"{call.spec.expression}: there is no kernel that copies it.")
        compiled.append(kernel)
    return Segment(stage, compiled)
