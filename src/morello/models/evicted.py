"""Whether the weights of a graph are still in a cache when the next call reads them."""

from __future__ import annotations

from collections.abc import Callable

from morello.graph.graph import Graph
from morello.graph.operators import Constant
from morello.graph.partition import GraphPartition
from morello.models.buffers import arena_of
from morello.models.schedule import Stage, schedule
from morello.targets.costs import exceeds_last_cache
from morello.targets.target import Target


def are_evicted(graph: Graph, groups: Callable[[], GraphPartition], machine: Target) -> bool:
    """Whether constants are evicted from all caches between calls.

    Between two uses of a weight, all others are read, and all that lies between the kernels of
    these groups is written and read; they are only asked for if the weights alone stay in a cache.
    """
    weights = sum(
        node.operator.array.nbytes
        for node in graph.nodes
        if isinstance(node.operator, Constant) and not node.operator.uniform
    )
    if exceeds_last_cache(weights, machine):
        return True
    return exceeds_last_cache(weights + _activations(groups()), machine)


def _activations(partition: GraphPartition) -> int:
    """The bytes of memory that a call uses for what is not constant."""
    stages = [step for step in schedule(partition) if isinstance(step, Stage)]
    ends = {node for stage in stages for node in (*stage.inputs, *stage.outputs)}
    return sum(arena_of(stage).bytes for stage in stages) + sum(node.type.bytes for node in ends)
