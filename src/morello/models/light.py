"""Segments that a framework does without: they save less time than a call of them takes."""

from __future__ import annotations

from collections.abc import Sequence

from morello.graph.frameworks import Framework
from morello.graph.graph import Node
from morello.graph.partition import GraphPartition
from morello.graph.views import VIEWS
from morello.models.prices import CALL_S
from morello.models.schedule import Stage, calls_of
from morello.targets.calibration import hertz_of
from morello.targets.cpu import host_cpu


def without_light(
    partition: GraphPartition,
    steps: Sequence[tuple[Stage | Node, float]],
    framework: Framework,
) -> GraphPartition:
    """The partition without the groups and copies of stages that are not worth a call.

    Such a stage has no heavy node, and kernels that are predicted to take more time, with the
    call, than the framework; if all is in one stage, it is worth it, unless it only moves elements.
    The steps are given with the costs of their kernels, in cycles.
    """
    if _are_one_stage([step for step, _ in steps]):
        return partition
    hertz = hertz_of(host_cpu())
    by_output = {group.output: group for group in partition.groups}
    left: set[Node] = set()
    for stage, cycles in steps:
        if not isinstance(stage, Stage):
            continue
        stored = {call.output.base for call in stage.calls}
        nodes = [n for node in stored if node in by_output for n in by_output[node].nodes]
        if any(node.operator.heavy for node in nodes):
            continue
        computed = [node for node in nodes if not isinstance(node.operator, VIEWS)]
        copied = [node for node in stored if node not in by_output]
        ours = framework.call_s + len(stage.calls) * CALL_S + cycles / hertz
        if ours > framework.seconds((*computed, *copied), (*stage.inputs, *stage.outputs)):
            left |= stored.union(computed)
    groups = tuple(group for group in partition.groups if group.output not in left)
    return GraphPartition(partition.graph, groups, partition.light | left)


def _are_one_stage(steps: Sequence[Stage | Node]) -> bool:
    """Whether kernels compute all that has to be computed, beside views and copies of these."""
    stages = [step for step in steps if isinstance(step, Stage)]
    views = [step for step in steps if isinstance(step, Node) and isinstance(step.operator, VIEWS)]
    computed = any(
        not call.copies or not isinstance(call.output.base.operator, VIEWS)
        for call in calls_of(stages)
    )
    return computed and len(stages) + len(views) == len(steps)
