"""The kernels of a partition, called one after the other on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from morello.api import Kernel, compile
from morello.base.errors import CallError
from morello.fusion.operation_graph import OperationGraph, cut
from morello.fusion.partition import Partition
from morello.impl.tree import Impl
from morello.ir.computation import Tensor, primitive_sizes
from morello.ir.semantics import evaluate
from morello.ir.spec import Spec
from morello.runtime.argument import Argument, Array


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel, whose operands are arrays by number."""

    kernel: Kernel
    reads: tuple[int, ...]
    writes: int


class FusedProgram:
    """The kernels of a partition. `program(*inputs, out=None)` runs them, and returns the result.

    The inputs are those of the graph, in its order, and have the types in `arguments`. Intermediate
    results are in buffers of the program, aligned to cache lines, so only one call may run at a
    time.
    """

    def __init__(self, partition: Partition, kernels: Sequence[Kernel]) -> None:
        """The kernels are those of the partition's groups, in order."""
        graph = partition.graph
        numbers = {t: n for n, t in enumerate(graph.inputs)}
        types: dict[Tensor, Argument] = {}
        steps = []
        for group, kernel in zip(partition.groups, kernels, strict=True):
            inputs = cut(group).inputs
            types |= zip((*inputs, group.output), kernel.arguments, strict=True)
            numbers[group.output] = len(numbers)
            steps.append(
                KernelCall(kernel, tuple(numbers[t] for t in inputs), numbers[group.output])
            )
        self.steps = tuple(steps)
        self.arguments = tuple(types[t] for t in (*graph.inputs, graph.result))
        self.buffers = [types[group.output].empty() for group in partition.groups[:-1]]

    def __call__(self, *inputs: Array, out: Array | None = None) -> Array:
        """Raises `CallError` for arrays that do not fit."""
        if len(inputs) != len(self.arguments) - 1:
            raise CallError(
                f"{len(inputs)} arrays are given; the program takes {len(self.arguments) - 1}."
            )
        arrays = [*inputs, *self.buffers, out]
        for step in self.steps:
            result = step.kernel(*[arrays[n] for n in step.reads], out=arrays[step.writes])
        return result


def compile_partition(partition: Partition, implement: Callable[[Spec], Impl]) -> FusedProgram:
    """Compile the program of a partition; `implement` gives the Impl of each group's Spec.

    Each kernel is compared with NumPy in float64 on random data. Raises `MorelloError`.
    """
    kernels = [compile(implement(cut(group).spec)) for group in partition.groups]
    return FusedProgram(partition, kernels)


def reference(graph: OperationGraph, inputs: Sequence[Array]) -> Array:
    """The result of a graph in float64 (integers in int64), with no rounding in between."""
    values = {
        tensor: array.astype(np.float64 if tensor.dtype.is_float else np.int64)
        for tensor, array in zip(graph.inputs, inputs, strict=True)
    }
    for tensor in graph.operations:
        assert tensor.operation is not None
        sources = [values[t] for t in tensor.inputs]
        values[tensor] = evaluate(tensor.operation, sources, primitive_sizes(tensor))[0]
    return values[graph.result]
