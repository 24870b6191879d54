"""From a graph to the segments that compute it: every different Spec is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from morello.base.errors import CallError, SearchError, quoted
from morello.base.memory import uncollected
from morello.base.sharing import same_workers
from morello.graph.frameworks import NUMPY, Framework
from morello.graph.graph import Array, Graph, Node, check
from morello.graph.operators import Constant
from morello.graph.partition import GraphPartition, by_rule
from morello.graph.patterns.expansion import EXPANSIONS
from morello.graph.patterns.groups import in_fuller_groups
from morello.graph.patterns.in_bytes import in_bytes
from morello.graph.patterns.padding import stored_in_padding
from morello.graph.patterns.rounding import without_bytes
from morello.graph.patterns.winograd import in_fewer_multiplications
from morello.graph.patterns.winograd_signals import signals_in_fewer_multiplications
from morello.graph.patterns.winograd_volumes import volumes_in_fewer_multiplications
from morello.graph.rewriting import rewritten, simplified
from morello.ir.primitives.winograd import TRANSFORMS
from morello.kernel import Kernel
from morello.models.channels_last import in_place_by_pixels
from morello.models.evicted import are_evicted
from morello.models.in_place import in_place
from morello.models.kernels import Kernels
from morello.models.light import without_light
from morello.models.plans import Plan, keep_plan, plan_question, recalled_plan
from morello.models.regrouping import Weighing, cheaper
from morello.models.remembered import RememberedCut, cut_question, recalled, remember
from morello.models.schedule import Stage, calls_of, schedule
from morello.models.segment import Segment
from morello.native.toolchain import find_compiler
from morello.options import GraphOptions, Options, check_known
from morello.request.goal import target_of
from morello.runtime.threads import thread_count

GAP = 0.02
"""How much more than the cheapest a program may cost, unless the options say otherwise."""

SECONDS = 3.0
"""The budget of each search, unless the options say otherwise."""

TILE = 2
"""The most rows of the tiles that convolutions are done by, unless the options say otherwise.

The error of tiles of 2 is no larger than that of sums of all products.
"""

LONGER = 24.0
"""The budget of a search for what takes much of the time."""

_WAYS: tuple[Callable[[Stage, Collection[Node]], Stage], ...] = (
    in_place_by_pixels,
    in_place_by_pixels,
    lambda stage, _: in_place(stage),
    lambda stage, _: stage,
)
"""Ways to store a stage, the best first.

Each is given all results that calls without kernels read or write in the ways before. The first one
is tried again, with these in rows: the other images may still be by pixels.
"""

ByNumPy = Callable[[Node, Sequence[Array]], Array]
"""A function that computes a node for the values of its inputs."""


@dataclass(frozen=True)
class CompileTime:
    """How long it took to compile a graph, in seconds.

    In the `whole`, its `kernels` were searched for, built and checked, on all cores, and its
    `weights` laid out as they take them; the `searches` are those of all kernels, one after the
    other.
    """

    whole: float = 0.0
    kernels: float = 0.0
    searches: float = 0.0
    weights: float = 0.0


@dataclass(frozen=True)
class CompiledGraph:
    """A graph as steps: segments, and nodes that are left to the framework, in the order to run.

    The `plan` says what they were made of. `time` says how long compiling took.
    """

    graph: Graph
    steps: tuple[Segment | Node, ...]
    framework: Framework
    plan: Plan
    time: CompileTime = field(default_factory=CompileTime)

    @cached_property
    def partition(self) -> GraphPartition:
        """The groups of its kernels."""
        return self.plan.partition()

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
    graph: Graph, framework: Framework = NUMPY, **options: Unpack[GraphOptions]
) -> CompiledGraph:
    """The kernels and the order of a graph, simplified, and with its nodes grouped by cost.

    Other groups than those of the rule are tried for as many seconds as `fuse_seconds` say; by
    default for 10, if enough of the time of the kernels is expected to be saved (see `regrouping`).
    Convolutions by 3x3 filters, and of signals, are done by tiles of at most so many rows as
    `winograd` says, 2 by default, where fewer multiplications are expected to save time; with 0,
    none are. Tiles of 4 save more, and have a larger error. Apart from that, this is
    `compile_partition`.
    """
    began = perf_counter()
    asked: GraphOptions = {"fuse_seconds": None, **options}
    return _compiled(_simplified(graph, asked), None, framework, asked, began)


def partitioned(graph: Graph, **options: Unpack[GraphOptions]) -> GraphPartition:
    """A graph, checked and simplified, with its nodes grouped by rule.

    The options are those of `compile_graph`.
    """
    return by_rule(_simplified(graph, options))


@uncollected()
def _simplified(graph: Graph, options: GraphOptions) -> Graph:
    tile = options.get("winograd", TILE)
    if type(tile) is not int or tile not in (0, *TRANSFORMS):
        known = ", ".join(map(str, TRANSFORMS))
        what = f"winograd is the most rows of a tile: {known} or 0, not {quoted(tile)}."
        raise SearchError(what)
    check(graph)
    cores = thread_count(options.get("threads", "all"))
    machine = replace(target_of(options.get("target", "native")), cores=cores)
    narrow = without_bytes(in_bytes(graph, machine))
    tiled = volumes_in_fewer_multiplications(simplified(narrow), tile, machine)
    expanded = rewritten(tiled, EXPANSIONS)
    grouped = in_fuller_groups(expanded, machine)
    images = in_fewer_multiplications(grouped, tile, machine)
    return stored_in_padding(signals_in_fewer_multiplications(images, tile, machine))


def compile_partition(
    partition: GraphPartition, framework: Framework = NUMPY, **options: Unpack[GraphOptions]
) -> CompiledGraph:
    """The kernels and the order of a graph that is cut into groups.

    The options are those of `morello.compile`; each search ends at a gap of 2 %, or after 3
    seconds, unless they say otherwise. Without a budget, searches for what has more than a
    hundredth of all arithmetic operations may take up to 24 seconds, and what turns out to take
    much of the time is searched for once more, for as long, if the first search was shorter and
    left a wide gap. `threads` are the most that a kernel may run on, by default all that this
    process may use: a kernel that would not gain by them runs on one. A group that no kernel
    computes is left to the framework, and if anything is, so is a segment that is not worth its
    call (see `light`). Other groups are tried for as many seconds as `fuse_seconds` say, by default
    0. Raises `MorelloError`.
    """
    return _compiled(partition.graph, partition, framework, options, perf_counter())


def _compiled(
    graph: Graph,
    given: GraphPartition | None,
    framework: Framework,
    options: GraphOptions,
    began: float,
) -> CompiledGraph:
    """`compile_partition`; without a given partition, it is that by the rule, if it is needed.

    It `began` at this time of `perf_counter`.
    """
    check_known(options, GraphOptions.__annotations__)
    asked = options.copy()
    asked.pop("winograd", None)  # it simplified the graph
    seconds = asked.pop("fuse_seconds", 0.0)
    if seconds is not None and (not isinstance(seconds, int | float) or not seconds >= 0):
        raise SearchError(f"fuse_seconds is a number of seconds, or 0, not {quoted(seconds)}.")
    known: Options = {"gap": GAP, "budget": SECONDS, "threads": "all"}
    known.update(asked)
    if (requested := known.get("compiler")) is not None:
        find_compiler(requested)  # raises, where each kernel would only have no program
    longer = 0.0 if "budget" in asked else LONGER
    machine = target_of(known.get("target", "native"))
    cut = _Cut(graph, given)
    kernels = Kernels(known, longer, lambda: are_evicted(graph, lambda: cut.first, machine))
    with same_workers():
        plan = _chosen(cut, framework, kernels, seconds)
    planned = perf_counter()
    with uncollected():
        steps = [step if isinstance(step, Node) else Segment(*step) for step in plan.steps]
    ended = perf_counter()
    taken = CompileTime(ended - began, kernels.seconds, kernels.searches, ended - planned)
    return CompiledGraph(graph, tuple(steps), framework, plan, taken)


@dataclass(frozen=True)
class _Cut:
    """A graph, and its partition if one is given."""

    graph: Graph
    given: GraphPartition | None

    @cached_property
    def first(self) -> GraphPartition:
        """The partition that is tried first: the given one, or that by the rule."""
        return self.given or by_rule(self.graph)


def _chosen(cut: _Cut, framework: Framework, kernels: Kernels, seconds: float | None) -> Plan:
    """The plan for a graph; one that was made before, if groups are chosen by cost."""

    def planned(groups: GraphPartition) -> _PlannedPartition:
        return _planned(groups, framework, kernels)

    if seconds == 0:
        plan = planned(cut.first)
        return _with_kernels(plan, RememberedCut(plan.partition, plan.cost, Weighing()), kernels)
    choosing = {**kernels.options, "fuse_seconds": seconds, "framework": framework.name}
    asked = plan_question(cut.graph, cut.given, {**choosing, "longer": kernels.longer})
    if asked:
        kept = recalled_plan(asked, cut.graph, kernels, lambda groups: planned(groups).steps)
        if kept:
            return kept
    plan, chosen = _cheapest(cut, kernels, framework, choosing)
    if asked:
        keep_plan(asked, plan.steps, plan.cost, chosen, kernels)
    return _with_kernels(plan, chosen, kernels)


def _with_kernels(plan: _PlannedPartition, cut: RememberedCut, kernels: Kernels) -> Plan:
    steps = [
        (step, _kernels(step, kernels)) if isinstance(step, Stage) else step for step in plan.steps
    ]
    partition = plan.partition
    return Plan(
        tuple(steps), partition.light, lambda: partition, lambda: plan.steps, plan.cost,
        cut.cost_at_first, cut.weighing,
    )  # fmt: skip


def _kernels(stage: Stage, kernels: Kernels) -> tuple[Kernel, ...]:
    compiled = []
    for call in stage.calls:
        kernel = kernels[call]
        if kernel is None:
            raise SearchError(f"{call.spec.expression}: there is no kernel that copies it.")
        compiled.append(kernel)
    return tuple(compiled)


@dataclass(frozen=True)
class _PlannedPartition:
    """A partition without what has no kernel, or is not worth one; its steps and their cost."""

    partition: GraphPartition
    steps: tuple[Stage | Node, ...]
    cost: float


def _cheapest(
    cut: _Cut, kernels: Kernels, framework: Framework, choosing: Mapping[str, Any]
) -> tuple[_PlannedPartition, RememberedCut]:
    """The plan for the cheapest partition that is found, that partition, the cost of the given
    one's plan, and what is known of other groups.
    """
    asked = cut_question(cut.graph, cut.given, choosing)
    known = recalled(asked, cut.graph) if asked else None
    if known:
        plan = _planned(known.partition, framework, kernels)
        if plan.partition == known.partition:
            return plan, known
    first = best = _planned(cut.first, framework, kernels)
    other, weighing = cheaper(first.partition, kernels, choosing["fuse_seconds"])
    if other != first.partition:
        second = _planned(other, framework, kernels)
        if second.cost < first.cost and second.partition.left == first.partition.left:
            best = second
    chosen = RememberedCut(best.partition, first.cost, weighing)
    if asked:
        remember(asked, chosen)
    return best, chosen


def _planned(
    partition: GraphPartition, framework: Framework, kernels: Kernels
) -> _PlannedPartition:
    """The plan for a partition, whose kernels are compiled."""
    while True:
        stages = schedule(partition)
        steps = _stored(stages, kernels)
        fewer = _possible(partition, steps, kernels)
        costs = [kernels.cost(calls_of([step])) for step in steps]
        if fewer == partition:
            fewer = without_light(partition, [*zip(stages, costs, strict=True)], framework)
        if fewer == partition:
            return _PlannedPartition(partition, tuple(steps), sum(costs))
        partition = fewer


def _possible(
    partition: GraphPartition, steps: Sequence[Stage | Node], kernels: Kernels
) -> GraphPartition:
    """The partition without the groups that have no kernel."""
    failed = {call.output.base for call in calls_of(steps) if not kernels[call]}
    groups = tuple(group for group in partition.groups if group.output not in failed)
    return replace(partition, groups=groups)


def _stored(stages: Sequence[Stage | Node], kernels: Kernels) -> list[Stage | Node]:
    """The stages, compiled: each stored in the first way in which kernels can store its results."""
    result = [*stages]
    waiting = {n: stage for n, stage in enumerate(stages) if isinstance(stage, Stage)}
    failed: set[Node] = set()
    for way in _WAYS:
        for n, stage in waiting.items():
            result[n] = way(stage, failed)
        kernels.compile(calls_of(result[n] for n in waiting))
        for n in [*waiting]:
            without = [call for call in calls_of([result[n]]) if not kernels[call]]
            failed.update(view.base for call in without for view in (*call.inputs, call.output))
            if not without:
                del waiting[n]
    return result
