"""Running a traced function: kernels, and NumPy for what is left to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from morello.base.errors import CallError
from morello.graph.graph import Array, Node, TensorType
from morello.graph.operators import Foreign
from morello.importers.numpy_tracing import (
    NumPyCall,
    ReturnedArray,
    TracedFunction,
    leaves,
    mapped,
    memory_order,
)
from morello.models import CompiledGraph, Segment
from morello.models.compiling import evaluated
from morello.models.rounding import Change, changes_of
from morello.models.schedule import PlacedStage
from morello.runtime.argument import Argument, argument
from morello.runtime.load import MAX_ARGUMENTS, MAX_RANK


class NumPyProgram:
    """A traced function whose graph is compiled."""

    def __init__(self, traced: TracedFunction, compiled: CompiledGraph) -> None:
        self.compiled = compiled
        self._traced = traced
        computed = {node for segment in compiled.segments for node in segment.outputs}
        self._fresh = [node in computed for node in compiled.graph.outputs]
        """Which outputs are arrays that kernels made for them."""

    def __call__(self, arrays: Sequence[Array]) -> Any:
        """The result of the function for arrays of the types that it was traced for.

        Raises `CallError` if NumPy computes an array of another type than it did then.
        """
        ordered = [array.transpose(memory_order(array)) for array in arrays]
        calls: dict[NumPyCall, tuple[Array, ...]] = {}
        outputs = self.compiled.run(ordered, lambda node, values: _left(node, values, calls))

        def result(each: Any) -> Any:
            if isinstance(each, ReturnedArray):
                array = outputs[each.output]
                if each.scalar:
                    return array[()]
                if self._fresh[each.output]:
                    return array
                shared = any(np.may_share_memory(array, given) for given in arrays)
                own = each.view or (array.flags.writeable and not shared)
                return array if own else array.copy()
            return each.copy() if isinstance(each, np.ndarray) else each

        return mapped(result, self._traced.returned)

    def changes(self) -> list[Change]:
        """How rounding may change each leaf of the result."""
        outputs = changes_of(self.compiled.graph)
        return [
            outputs[leaf.output] if isinstance(leaf, ReturnedArray) else Change.NONE
            for leaf in leaves(self._traced.returned)
        ]

    def builtin(
        self, arrays: Sequence[Array], otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """A builtin function of such arrays, if it is one segment with one output.

        It hands over what it does not take to `otherwise`.
        """
        returned, graph = self._traced.returned, self.compiled.graph
        if len(self.compiled.steps) != 1 or not isinstance(returned, ReturnedArray):
            return None
        (segment,) = self.compiled.steps
        (output,) = graph.outputs
        taken = [_argument(number, array) for number, array in enumerate(arrays)]
        inputs = [each for each in taken if each is not None]
        fits = len(inputs) == len(arrays) < MAX_ARGUMENTS and output.type.rank <= MAX_RANK
        if not isinstance(segment, Segment) or segment.outputs != (output,) or not fits:
            return None
        element = output.type.element
        if element is None:  # a bool, which kernels have as a byte
            return None
        result = argument("result", element, output.shape, output=True)
        if any(each.raw != each.dtype.np for each in (*inputs, result)):
            return None  # of dtypes that the buffer protocol does not have
        whole = Segment(PlacedStage(segment.calls, graph.inputs, segment.outputs), segment.kernels)
        self.compiled = replace(self.compiled, steps=(whole,))  # one has the constants, packed
        return whole.function((*inputs, result), otherwise, number=returned.scalar)


def _argument(number: int, array: Array) -> Argument | None:
    """The kind of arrays that have an array's type and strides; None if no kernel takes any."""
    element = TensorType(array.shape, array.dtype).element
    dense = array.transpose(memory_order(array)).flags.c_contiguous
    if element is None or array.ndim > MAX_RANK or not dense:
        return None
    return Argument(f"argument {number + 1}", element, array.shape, array.strides)


def _left(node: Node, values: Sequence[Array], calls: dict[NumPyCall, tuple[Array, ...]]) -> Array:
    """The result of a node that NumPy computes, each of its calls once."""
    operator = node.operator
    if not isinstance(operator, Foreign):
        return evaluated(node, values)
    call = operator.key
    assert isinstance(call, NumPyCall)
    if call not in calls:
        calls[call] = call(*values)
    results = calls[call]
    if operator.index >= len(results) or node.type != _type(results[operator.index]):
        raise CallError(f"the shape of what {operator.name} returns depends on the elements.")
    return results[operator.index]


def _type(array: Array) -> TensorType:
    return TensorType(array.shape, array.dtype)
